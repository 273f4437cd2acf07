/* Making arrays and scalars.

   Fresh arrays own their data, as NumPy's do; large ones get theirs from the pool, with the pool's
   handler in the array's `mem_handler`, so that NumPy's own code can resize and free them. */
#include "numpy_api.h"

_Static_assert(sizeof(npy_intp) == sizeof(int64_t), "shapes and strides are passed on as they are");

/* NumPy's tracemalloc domain: numpy/core/include/numpy/ndarraytypes.h has no public name for it. */
enum { NUMPY_TRACE_DOMAIN = 389047 };

/* Dense strides in the axis order of `stride`: the largest outermost; among equals an axis of size
   1 innermost, so that strides that are dense already stay the same. */
static void
dense_strides(int rank, const int64_t *shape, const int64_t *stride, int64_t item, npy_intp *out)
{
    int order[MAX_RANK];
    for (int i = 0; i < rank; i++) {
        int64_t key = Py_ABS(stride[i]);
        int at = i;
        for (; at > 0; at--) {
            int64_t before = Py_ABS(stride[order[at - 1]]);
            bool stays = before > key || (before == key && shape[order[at - 1]] != 1);
            if (stays) break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (int at = rank - 1; at >= 0; at--) {
        out[order[at]] = item;
        if (shape[order[at]] != 0) item *= shape[order[at]];
    }
}

static bool
is_c_order(int rank, const int64_t *shape, const int64_t *stride, int64_t item)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (shape[i] != 1 && stride[i] != item) return false;
        item *= shape[i];
    }
    return true;
}

/* Are these the strides that NumPy chooses by itself? That is faster than passing them. */
static bool
is_default_order(int rank, const int64_t *shape, const int64_t *stride, int64_t item)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (stride[i] != item || shape[i] == 0) return false;
        item *= shape[i];
    }
    return true;
}

/* Are the strides those of a dense array already? They are then used as they are, since axes of
   length 1 also have the strides that NumPy's own functions would give them. */
static bool
fills_memory(int rank, const int64_t *shape, const int64_t *stride, int64_t item, int64_t bytes)
{
    int64_t reach = item;
    for (int i = 0; i < rank; i++) {
        if (stride[i] <= 0 || shape[i] == 0) return false;
        reach += (shape[i] - 1) * stride[i];
    }
    return reach == bytes;
}

static PyObject *
new_from_numpy(DType dtype, int rank, const int64_t *shape, npy_intp *strides, void *data)
{
    PyArray_Descr *descr = numpy_descr[dtype];
    Py_INCREF(descr);
    return PyArray_NewFromDescr(&PyArray_Type, descr, rank, (const npy_intp *)shape, strides, data,
                                data != NULL ? NPY_ARRAY_WRITEABLE : 0, NULL);
}

/* An array whose data is a block of the pool. */
static PyObject *
new_from_pool(DType dtype, int rank, const int64_t *shape, npy_intp *strides, size_t bytes)
{
    void *data = pool_take(bytes);
    if (data == NULL) return PyErr_NoMemory();
    PyObject *array = new_from_numpy(dtype, rank, shape, strides, data);
    if (array == NULL) {
        pool_give(data);
        return NULL;
    }
    PyArrayObject_fields *fields = (PyArrayObject_fields *)array;
    fields->mem_handler = Py_NewRef(pool_handler());
    fields->flags |= NPY_ARRAY_OWNDATA;
    PyTraceMalloc_Track(NUMPY_TRACE_DOMAIN, (uintptr_t)data, bytes);
    return array;
}

PyObject *
array_new(DType dtype, int rank, const int64_t *shape, const int64_t *stride)
{
    if (mem_fault()) return PyErr_NoMemory();
    int64_t item = (int64_t)numpy_itemsize(dtype), bytes = item;
    bool overflow = false;
    for (int i = 0; i < rank; i++) overflow |= __builtin_mul_overflow(bytes, shape[i], &bytes);

    npy_intp dense[MAX_RANK], *strides = NULL;
    if (stride != NULL && !overflow && is_default_order(rank, shape, stride, item)) {
        strides = NULL;
    } else if (stride != NULL && !overflow && fills_memory(rank, shape, stride, item, bytes)) {
        for (int i = 0; i < rank; i++) dense[i] = stride[i];
        strides = dense;
    } else if (rank > 1 && stride != NULL && !is_c_order(rank, shape, stride, item)) {
        dense_strides(rank, shape, stride, item, dense);
        strides = dense;
    }
    if (bytes >= POOL_SMALLEST && !overflow && pool_is_welcome())
        return new_from_pool(dtype, rank, shape, strides, (size_t)bytes);
    return new_from_numpy(dtype, rank, shape, strides, NULL);
}

/* Steals nothing; `base` may be NULL. */
static PyObject *
array_over(DType dtype, int rank, const int64_t *shape, const int64_t *stride, char *data,
           PyObject *base, int flags)
{
    PyArray_Descr *descr = numpy_descr[dtype];
    Py_INCREF(descr);
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, descr, rank, (const npy_intp *)shape,
                             (const npy_intp *)stride, data, flags & NPY_ARRAY_WRITEABLE, NULL);
    if (array == NULL || base == NULL) return array;
    if (PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0) Py_CLEAR(array);
    return array;
}

PyObject *
array_view(PyObject *base, DType dtype, int rank, const int64_t *shape, const int64_t *stride,
           int64_t offset)
{
    if (mem_fault()) return PyErr_NoMemory();
    int flags = PyArray_FLAGS((PyArrayObject *)base);
    PyObject *view = array_over(dtype, rank, shape, stride, array_data(base) + offset, base, flags);
    if (view != NULL && ((unsigned)flags & WARN_ON_WRITE))
        ((PyArrayObject_fields *)view)->flags |= (int)WARN_ON_WRITE;
    return view;
}

void
array_freeze(PyObject *view)
{
    PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
}

/* ---- scalars ---- */

#define BOX(name, Class)                                                                           \
    case name: {                                                                                   \
        PyObject *scalar = PyArrayScalar_New(Class);                                               \
        if (scalar != NULL)                                                                        \
            memcpy(&PyArrayScalar_VAL(scalar, Class), bytes,                                       \
                   sizeof(PyArrayScalar_VAL(scalar, Class)));                                      \
        return scalar;                                                                             \
    }

static PyObject *box_python(DType dtype, const void *bytes);

static PyObject *
box_scalar(DType dtype, const void *bytes)
{
    switch (dtype) {
        BOX(DT_I8, Int8)
        BOX(DT_I16, Int16)
        BOX(DT_I32, Int32)
        BOX(DT_I64, Int64)
        BOX(DT_U8, UInt8)
        BOX(DT_U16, UInt16)
        BOX(DT_U32, UInt32)
        BOX(DT_U64, UInt64)
        BOX(DT_F16, Half)
        BOX(DT_F32, Float32)
        BOX(DT_F64, Float64)
        BOX(DT_C64, Complex64)
        BOX(DT_C128, Complex128)
    case DT_BF16:
        return box_python(dtype, bytes); /* no scalar of NumPy's: a number stands for it */
    case DT_BOOL:
        return Py_NewRef(*(const uint8_t *)bytes ? PyArrayScalar_True : PyArrayScalar_False);
    default: PyErr_SetString(PyExc_SystemError, "array_box: no scalar of this dtype"); return NULL;
    }
}

#define VALUE(T) (*(const T *)bytes)

static PyObject *
box_python(DType dtype, const void *bytes)
{
    switch (dtype) {
    case DT_BOOL: return PyBool_FromLong(VALUE(uint8_t));
    case DT_I8: return PyLong_FromLong(VALUE(int8_t));
    case DT_I16: return PyLong_FromLong(VALUE(int16_t));
    case DT_I32: return PyLong_FromLong(VALUE(int32_t));
    case DT_I64: return PyLong_FromLongLong(VALUE(int64_t));
    case DT_U8: return PyLong_FromLong(VALUE(uint8_t));
    case DT_U16: return PyLong_FromLong(VALUE(uint16_t));
    case DT_U32: return PyLong_FromUnsignedLong(VALUE(uint32_t));
    case DT_U64: return PyLong_FromUnsignedLongLong(VALUE(uint64_t));
    case DT_F16: {
        PyObject *half = box_scalar(dtype, bytes);
        PyObject *value = half != NULL ? PyNumber_Float(half) : NULL;
        Py_XDECREF(half);
        return value;
    }
    case DT_BF16: return PyFloat_FromDouble(bfloat_value(VALUE(uint16_t)));
    case DT_F32: return PyFloat_FromDouble(VALUE(float));
    case DT_F64: return PyFloat_FromDouble(VALUE(double));
    case DT_C64: return PyComplex_FromDoubles(VALUE(float), ((const float *)bytes)[1]);
    case DT_C128: return PyComplex_FromDoubles(VALUE(double), ((const double *)bytes)[1]);
    default:
        PyErr_SetString(PyExc_SystemError, "array_box: no Python scalar of this dtype");
        return NULL;
    }
}

PyObject *
array_box(DType dtype, const void *bytes, bool python)
{
    if (mem_fault()) return PyErr_NoMemory();
    return python ? box_python(dtype, bytes) : box_scalar(dtype, bytes);
}
