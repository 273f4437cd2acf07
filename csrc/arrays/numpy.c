/* What a NumPy array is, and how to read its header and those of array scalars.

   Supported are instances of exactly numpy.ndarray, of native byte order, the dtypes of graph.h
   without metadata, and at most MAX_RANK axes.  `long long` is not supported where it is a second
   64-bit integer besides `long`, since results would have to tell them apart (dtype.char 'q'). */
#define NUMPY_API_OWNER
#include "library.h"
#include "numpy_api.h"

#include "../python/python.h"

#include <stddef.h>

#define AS_NUMPY_HAS(ours, theirs)                                                                 \
    _Static_assert(offsetof(NumpyArray, ours) == offsetof(PyArrayObject_fields, theirs) &&         \
                       sizeof(((NumpyArray *)0)->ours) ==                                          \
                           sizeof(((PyArrayObject_fields *)0)->theirs),                            \
                   "the layout of an array")
AS_NUMPY_HAS(data, data);
AS_NUMPY_HAS(rank, nd);
AS_NUMPY_HAS(shape, dimensions);
AS_NUMPY_HAS(stride, strides);

PyTypeObject *numpy_array_type;
PyArray_Descr *numpy_descr[DT_COUNT];
static PyTypeObject *numpy_scalar_type[DT_COUNT];

/* The C types behind the DTypes; `long` or `long long`, whichever NumPy calls int64. */
static const int number_of_dtype[DT_COUNT] = {
    [DT_BOOL] = NPY_BOOL,     [DT_I8] = NPY_INT8,         [DT_I16] = NPY_INT16,
    [DT_I32] = NPY_INT32,     [DT_I64] = NPY_INT64,       [DT_U8] = NPY_UINT8,
    [DT_U16] = NPY_UINT16,    [DT_U32] = NPY_UINT32,      [DT_U64] = NPY_UINT64,
    [DT_F16] = NPY_FLOAT16,   [DT_F32] = NPY_FLOAT32,     [DT_F64] = NPY_FLOAT64,
    [DT_C64] = NPY_COMPLEX64, [DT_C128] = NPY_COMPLEX128, [DT_OBJECT] = NPY_OBJECT,
};

enum { NUMBERS = 32 };
static int8_t dtype_of_number[NUMBERS];
static PyTypeObject *function_type; /* the type of NumPy's functions that classes can override */

static int
tables_init(void)
{
    memset(dtype_of_number, -1, sizeof(dtype_of_number));
    for (int i = 0; i < DT_COUNT; i++) {
        if (i == DT_BF16) continue; /* numpy_bfloat16 */
        numpy_descr[i] = PyArray_DescrFromType(number_of_dtype[i]);
        if (numpy_descr[i] == NULL) return -1;
        numpy_scalar_type[i] = numpy_descr[i]->typeobj;
        if (i != DT_OBJECT) dtype_of_number[number_of_dtype[i]] = (int8_t)i;
    }
    return 0;
}

/* NumPy imports the Python functions behind these methods when they are first called.  Where a plan
   has done that in their place, code that runs while the interpreter ends would be the first, and
   imports fail then. */
static int
methods_import(void)
{
    static const char *const names[] = {"sum", "prod", "any", "all", "max",
                                        "min", "mean", "var", "std", "clip"};
    int64_t none = 1;
    PyObject *array = array_new(DT_F64, 1, &none, (const int64_t[]){sizeof(double)});
    if (array == NULL) return -1;
    memset(array_data(array), 0, sizeof(double));
    bool failed = false;
    for (size_t i = 0; i < COUNT_OF(names) && !failed; i++) {
        const char *bounds = strcmp(names[i], "clip") == 0 ? "ii" : NULL;
        PyObject *result = PyObject_CallMethod(array, names[i], bounds, 0, 1);
        failed = result == NULL;
        Py_XDECREF(result);
    }
    Py_DECREF(array);
    return failed ? -1 : 0;
}

int
arrays_init(void)
{
    if (numpy_descr[0] != NULL) return 0;
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) return -1;
    numpy_array_type = &PyArray_Type;
    if (tables_init() < 0 || numpy_errors_init() < 0) return -1;
    PyObject *function = module_object("numpy", "concatenate");
    if (function == NULL) return -1;
    function_type = (PyTypeObject *)Py_NewRef(Py_TYPE(function)); /* for ever */
    Py_DECREF(function);
    return pool_init() < 0 ? -1 : methods_import();
}

/* NumPy has no bfloat16 of its own: it is a dtype of the module ml_dtypes, known once the program
   has imported that. */
PyArray_Descr *
numpy_bfloat16(void)
{
    if (numpy_descr[DT_BF16] != NULL) return numpy_descr[DT_BF16];
    PyObject *module = module_loaded("ml_dtypes"), *type = NULL;
    PyArray_Descr *descr = NULL;
    if (module != NULL) type = PyObject_GetAttrString(module, "bfloat16");
    bool found = type != NULL && PyArray_DescrConverter(type, &descr);
    if (found && PyDataType_ELSIZE(descr) == (npy_intp)dtype_size(DT_BF16))
        numpy_descr[DT_BF16] = (PyArray_Descr *)Py_NewRef((PyObject *)descr); /* for ever */
    Py_XDECREF((PyObject *)descr);
    Py_XDECREF(type);
    Py_XDECREF(module);
    PyErr_Clear();
    return numpy_descr[DT_BF16];
}

/* -1 for unsupported type numbers. */
static int
numpy_dtype_from_number(int type_number)
{
    return type_number >= 0 && type_number < NUMBERS ? dtype_of_number[type_number] : -1;
}

int
numpy_dtype_from_descr(PyArray_Descr *descr, const char **why)
{
    int dtype = numpy_dtype_from_number(descr->type_num);
    if (dtype < 0) {
        *why = "unsupported dtype";
        return -1;
    }
    if (descr == numpy_descr[dtype]) return dtype;
    if (!PyArray_ISNBO(descr->byteorder)) {
        *why = "foreign byte order";
        return -1;
    }
    if (PyDataType_METADATA(descr) != NULL && PyDataType_METADATA(descr) != Py_None) {
        *why = "dtype with metadata";
        return -1;
    }
    bool fields = PyDataType_NAMES(descr) != NULL && PyDataType_NAMES(descr) != Py_None;
    if (fields || descr->typeobj != numpy_descr[dtype]->typeobj) {
        *why = "numbers with fields, or of another class";
        return -1;
    }
    return dtype;
}

static unsigned
flags_read(int flags)
{
    unsigned out = 0;
    if (flags & NPY_ARRAY_C_CONTIGUOUS) out |= ARRAY_C_CONTIGUOUS;
    if (flags & NPY_ARRAY_F_CONTIGUOUS) out |= ARRAY_F_CONTIGUOUS;
    if (flags & NPY_ARRAY_ALIGNED) out |= ARRAY_ALIGNED;
    if (flags & NPY_ARRAY_OWNDATA) out |= ARRAY_OWNS;
    /* An array for which NumPy warns of a write (results of broadcast_arrays) counts as
       read-only. */
    if ((flags & NPY_ARRAY_WRITEABLE) && !((unsigned)flags & WARN_ON_WRITE)) out |= ARRAY_WRITEABLE;
    return out;
}

static void (*on_array_made)(void);

static PyObject *
alloc_and_tell(PyTypeObject *type, Py_ssize_t count)
{
    PyObject *array = PyType_GenericAlloc(type, count);
    if (array != NULL) on_array_made();
    return array;
}

void
array_tell_made(void (*made)(void))
{
    on_array_made = made;
    if (PyArray_Type.tp_alloc == PyType_GenericAlloc) PyArray_Type.tp_alloc = alloc_and_tell;
}

Answer
array_read(PyObject *object, ArrayHeader *out, const char **why)
{
    if (!PyArray_CheckExact(object)) {
        *why = PyArray_Check(object) ? "subclass of ndarray" : "not an array";
        return ANSWER_NO;
    }
    const PyArrayObject_fields *array = (const PyArrayObject_fields *)object;
    int dtype = numpy_dtype_from_descr(array->descr, why);
    if (dtype < 0) return ANSWER_NO;
    if (array->nd > MAX_RANK) {
        *why = "too many axes";
        return ANSWER_NO;
    }
    if (array->flags & NPY_ARRAY_WRITEBACKIFCOPY) {
        *why = "array with a pending write-back";
        return ANSWER_NO;
    }
    out->data = array->data;
    out->rank = array->nd;
    out->dtype = (DType)dtype;
    out->flags = flags_read(array->flags);
    if (((uintptr_t)array->data & 7) == 0) out->flags |= ARRAY_ALIGNED_8;
    out->shape = (const int64_t *)array->dimensions;
    out->stride = (const int64_t *)array->strides;
    out->base = array->base;
    return ANSWER_YES;
}

void
array_like(ArrayLike *like)
{
    static const struct {
        unsigned flag;
        int own;
    } table[] = {
        {ARRAY_C_CONTIGUOUS, NPY_ARRAY_C_CONTIGUOUS},
        {ARRAY_F_CONTIGUOUS, NPY_ARRAY_F_CONTIGUOUS},
        {ARRAY_WRITEABLE, NPY_ARRAY_WRITEABLE},
        {ARRAY_ALIGNED, NPY_ARRAY_ALIGNED},
        {ARRAY_OWNS, NPY_ARRAY_OWNDATA},
    };
    like->own_values = 0;
    for (int i = 0; i < COUNT_OF(table); i++)
        if (like->flags & table[i].flag) like->own_values |= (unsigned)table[i].own;
    like->own_flags = like->own_values | NPY_ARRAY_WRITEBACKIFCOPY; /* must not be set */
    if (like->flags & ARRAY_WRITEABLE) like->own_flags |= WARN_ON_WRITE;
    like->misaligned = like->flags & ARRAY_ALIGNED_8 ? 7 : 0;
}

/* Of an array some of whose lengths are bounded, and which lies like a new one. */
static bool
has_lengths(const int64_t *shape, const int64_t *strides, const ArrayLike *like)
{
    int64_t stride = (int64_t)dtype_size(like->dtype);
    int step = like->flags & ARRAY_F_CONTIGUOUS ? 1 : -1, i = step > 0 ? 0 : like->rank - 1;
    for (; i >= 0 && i < like->rank; i += step) {
        int64_t length = shape[i], wanted = like->shape[i];
        if (strides[i] != stride || length < wanted) return false;
        if (length != wanted && !(like->least_shape >> i & 1)) return false;
        stride *= length;
    }
    return true;
}

bool
array_lies_like(const int64_t *shape, const int64_t *stride, const ArrayLike *like)
{
    if (like->least_shape != 0) return has_lengths(shape, stride, like);
    for (int i = 0, known = like->known_shape; known != 0; i++, known >>= 1)
        if ((known & 1) && shape[i] != like->shape[i]) return false;
    for (int i = 0, known = like->known_stride; known != 0; i++, known >>= 1)
        if ((known & 1) && stride[i] != like->stride[i]) return false;
    return true;
}

bool
array_is_like(PyObject *object, const ArrayLike *like)
{
    const char *why;
    if (!PyArray_CheckExact(object)) return false;
    const PyArrayObject_fields *array = (const PyArrayObject_fields *)object;
    if (array->nd != like->rank || ((unsigned)array->flags & like->own_flags) != like->own_values ||
        ((uintptr_t)array->data & like->misaligned) != 0)
        return false;
    if (array->descr != numpy_descr[like->dtype] &&
        numpy_dtype_from_descr(array->descr, &why) != (int)like->dtype)
        return false;
    return array_lies_like(array->dimensions, array->strides, like);
}

int
array_axes(PyObject *array)
{
    return PyArray_NDIM((PyArrayObject *)array);
}

PyObject *
array_base(PyObject *array)
{
    PyObject *base = PyArray_BASE((PyArrayObject *)array);
    return base == NULL ? Py_None : base;
}

void
array_extent(const ArrayHeader *header, const char **low, const char **high)
{
    *low = *high = header->data;
    for (int axis = 0; axis < header->rank; axis++) {
        if (header->shape[axis] == 0) {
            *low = *high = header->data;
            return;
        }
        int64_t reach = (header->shape[axis] - 1) * header->stride[axis];
        *(reach < 0 ? low : high) += reach;
    }
    *high += dtype_size(header->dtype);
}

Answer
array_scalar_read(PyObject *object, DType *dtype, void *bytes)
{
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < DT_OBJECT; i++) {
        if (type != numpy_scalar_type[i]) continue;
        *dtype = (DType)i;
        /* PyDoubleScalarObject and its like: the value follows the object header. */
        memcpy(bytes, (char *)object + offsetof(PyDoubleScalarObject, obval),
               numpy_itemsize((DType)i));
        return ANSWER_YES;
    }
    return ANSWER_NO;
}

bool
array_scalar_check(PyObject *object)
{
    return PyArray_IsScalar(object, Generic);
}

bool
array_bool_check(PyObject *object)
{
    return PyArray_IsScalar(object, Bool);
}

bool
array_function_check(PyObject *object)
{
    return Py_TYPE(object) == function_type;
}

int
array_function_length(PyObject *function)
{
    PyObject *python = PyObject_GetAttrString(function, "_implementation"); /* NumPy 2.0 */
    int length = 0;
    if (python != NULL && PyFunction_Check(python))
        length = code_length((PyCodeObject *)PyFunction_GET_CODE(python));
    PyErr_Clear();
    Py_XDECREF(python);
    return length;
}
