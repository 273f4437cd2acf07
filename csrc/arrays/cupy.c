/* CuPy's arrays, read and made without a call of Python's.

   A CuPy array is an instance of a Cython class.  Its fields are declared in cupy/_core/core.pxd
   (_ndarray_base) and cupy/cuda/memory.pxd (MemoryPointer); their places are those of CuPy
   14.2. Before the first array is read, an array made by CuPy itself is compared with them, field
   by field: where one differs, CuPy's arrays are opaque objects, as those of any class.

   Memory is what CuPy's allocator gives, so that its pool, its limits and its errors stay. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cupy.h"
#include "numpy_api.h"

#include <dlfcn.h>

typedef struct { /* std::vector<Py_ssize_t> */
    int64_t *begin, *end, *room;
} Vector;

typedef struct { /* _ndarray_base */
    PyObject_HEAD void *methods;
    PyObject *weak;
    Py_ssize_t size;
    Vector shape, stride;
    int c_contiguous, f_contiguous, index_32_bits;
    PyObject *dtype, *memory, *base;
} CupyArray;

static PyTypeObject *array_type, *pointer_type;
static newfunc array_base_new;
static void *(*new_memory)(size_t bytes, const void *nothrow); /* C++'s operator new, which … */
static const void *no_throw;                                   /* … returns NULL with this */
static PyObject *no_arguments;
static int state; /* 0: not tried, 1: known, -1: not known */

static const CupyPointer *
pointer_of(const CupyArray *array)
{
    return (const CupyPointer *)array->memory;
}

/* ---- at the first array ---- */

void *
cupy_offered(const char *module, const char *name, const char *signature)
{
    PyObject *from = module_loaded(module);
    PyObject *all = from != NULL ? PyObject_GetAttrString(from, "__pyx_capi__") : NULL;
    PyObject *capsule = all != NULL ? PyDict_GetItemString(all, name) : NULL;
    void *function = capsule != NULL ? PyCapsule_GetPointer(capsule, signature) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(from);
    PyErr_Clear();
    return function;
}

PyTypeObject *
cupy_type_named(const char *module, const char *name)
{
    PyObject *from = module_loaded(module);
    PyObject *found = from != NULL ? PyObject_GetAttrString(from, name) : NULL;
    Py_XDECREF(from);
    PyErr_Clear();
    return found != NULL && PyType_Check(found) ? (PyTypeObject *)found : NULL; /* for ever */
}

enum { PROBE_ADDRESS = 0x1000, PROBE_ROWS = 3, PROBE_COLUMNS = 5 };

/* An array of CuPy's own making, over memory that is never touched. */
static PyObject *
make_probe(void)
{
    PyObject *memory = module_loaded("cupy.cuda.memory"), *cupy = module_loaded("cupy");
    PyObject *unowned = NULL, *pointer = NULL, *array = NULL;
    if (memory == NULL || cupy == NULL) goto done;
    unowned = PyObject_CallMethod(memory, "UnownedMemory", "iiOi", PROBE_ADDRESS, 4096, Py_None, 0);
    if (unowned == NULL) goto done;
    pointer = PyObject_CallMethod(memory, "MemoryPointer", "Oi", unowned, 0);
    if (pointer == NULL) goto done;
    array =
        PyObject_CallMethod(cupy, "ndarray", "(ii)sO", PROBE_ROWS, PROBE_COLUMNS, "f4", pointer);
done:
    Py_XDECREF(memory);
    Py_XDECREF(cupy);
    Py_XDECREF(unowned);
    Py_XDECREF(pointer);
    PyErr_Clear();
    return array;
}

static bool
probe_agrees(PyObject *object)
{
    const CupyArray *array = (const CupyArray *)object;
    const int64_t item = 4;
    if (Py_TYPE(object) != array_type || array->size != PROBE_ROWS * PROBE_COLUMNS) return false;
    if (array->c_contiguous != 1 || array->f_contiguous != 0 || array->index_32_bits != 1)
        return false;
    if (array->shape.end - array->shape.begin != 2 || array->stride.end - array->stride.begin != 2)
        return false;
    if (array->shape.begin[0] != PROBE_ROWS || array->shape.begin[1] != PROBE_COLUMNS ||
        array->stride.begin[0] != PROBE_COLUMNS * item || array->stride.begin[1] != item)
        return false;
    if (array->dtype != (PyObject *)numpy_descr[DT_F32] || array->base != Py_None) return false;
    return array->memory != NULL && Py_TYPE(array->memory) == pointer_type &&
           pointer_of(array)->data == PROBE_ADDRESS && pointer_of(array)->device == 0;
}

static bool
is_known(void)
{
    PyTypeObject *base = cupy_type_named("cupy._core.core", "_ndarray_base");
    void *cxx = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    array_type = cupy_type_named("cupy", "ndarray");
    pointer_type = cupy_type_named("cupy.cuda.memory", "MemoryPointer");
    if (cxx != NULL) {
        new_memory = (void *(*)(size_t, const void *))dlsym(cxx, "_ZnwmRKSt9nothrow_t");
        no_throw = dlsym(cxx, "_ZSt7nothrow");
    }
    no_arguments = PyTuple_New(0);
    if (base == NULL || array_type == NULL || pointer_type == NULL || new_memory == NULL ||
        no_throw == NULL || no_arguments == NULL)
        return false;
    if (array_type->tp_basicsize != (Py_ssize_t)sizeof(CupyArray) ||
        pointer_type->tp_basicsize != (Py_ssize_t)sizeof(CupyPointer))
        return false;
    array_base_new = base->tp_new;
    PyObject *probe = make_probe();
    bool agrees = probe != NULL && probe_agrees(probe);
    Py_XDECREF(probe);
    return agrees && cupy_blocks_find(pointer_type);
}

bool
cupy_is_exact(PyObject *object)
{
    if (state > 0) return Py_TYPE(object) == array_type;
    if (state < 0 || strcmp(Py_TYPE(object)->tp_name, "ndarray") != 0) return false;
    PyTypeObject *class_ =
        cupy_type_named("cupy", "ndarray"); /* another's class of that name is none */
    Py_XDECREF(class_);
    if (class_ == NULL || Py_TYPE(object) != class_) return false;
    state = is_known() ? 1 : -1;
    return state > 0 && Py_TYPE(object) == array_type;
}

/* ---- reading ---- */

/* Those of NumPy's own, and bfloat16. */
static int
cupy_dtype(PyArray_Descr *descr, const char **why)
{
    int dtype = numpy_dtype_from_descr(descr, why);
    return dtype < 0 && descr == numpy_bfloat16() ? DT_BF16 : dtype;
}

Answer
array_device_dtype(PyObject *object, DType *out)
{
    const char *why;
    PyArray_Descr *descr = NULL;
    Answer answer = array_dtype_from_object(object, out);
    if (answer != ANSWER_NO) return answer;
    if (PyArray_DescrConverter(object, &descr) && cupy_dtype(descr, &why) == DT_BF16) {
        *out = DT_BF16;
        answer = ANSWER_YES;
    }
    PyErr_Clear();
    Py_XDECREF((PyObject *)descr);
    return answer;
}

static int
dtype_of(const CupyArray *array, const char **why)
{
    if (!PyArray_DescrCheck(array->dtype)) {
        *why = "unsupported dtype";
        return -1;
    }
    return cupy_dtype((PyArray_Descr *)array->dtype, why);
}

Answer
cupy_read(PyObject *object, ArrayHeader *out, const char **why)
{
    if (!cupy_is_exact(object)) {
        *why = "not an array";
        return ANSWER_NO;
    }
    const CupyArray *array = (const CupyArray *)object;
    int dtype = dtype_of(array, why);
    if (dtype < 0) return ANSWER_NO;
    if (array->shape.end - array->shape.begin > MAX_RANK) {
        *why = "too many axes";
        return ANSWER_NO;
    }
    out->data = (char *)pointer_of(array)->data;
    out->rank = (int)(array->shape.end - array->shape.begin);
    out->dtype = (DType)dtype;
    out->flags = ARRAY_WRITEABLE;
    if (array->c_contiguous) out->flags |= ARRAY_C_CONTIGUOUS;
    if (array->f_contiguous) out->flags |= ARRAY_F_CONTIGUOUS;
    if (((uintptr_t)out->data & (dtype_size((DType)dtype) - 1)) == 0) out->flags |= ARRAY_ALIGNED;
    if (((uintptr_t)out->data & 7) == 0) out->flags |= ARRAY_ALIGNED_8;
    if (((uintptr_t)out->data & 15) == 0) out->flags |= ARRAY_ALIGNED_16;
    out->shape = array->shape.begin;
    out->stride = array->stride.begin;
    out->base = array->base;
    out->device_number = pointer_of(array)->device;
    return ANSWER_YES;
}

bool
cupy_is_like(PyObject *object, const ArrayLike *like)
{
    const char *why;
    if (Py_TYPE(object) != array_type || state <= 0) return false;
    const CupyArray *array = (const CupyArray *)object;
    if (array->shape.end - array->shape.begin != like->rank) return false;
    if ((like->flags & ARRAY_C_CONTIGUOUS) && !array->c_contiguous) return false;
    if (pointer_of(array)->device != like->device_number) return false;
    uintptr_t unit = like->flags & ARRAY_ALIGNED_16 ? 16 : dtype_size(like->dtype);
    if ((uintptr_t)pointer_of(array)->data & (unit - 1)) return false;
    if (array->dtype != (PyObject *)numpy_descr[like->dtype] &&
        dtype_of(array, &why) != (int)like->dtype)
        return false;
    return array_lies_like(array->shape.begin, array->stride.begin, like);
}

char *
cupy_data(PyObject *array)
{
    return (char *)pointer_of((const CupyArray *)array)->data;
}

/* ---- making ---- */

PyObject *
cupy_memory(size_t bytes, char **data)
{
    if (mem_fault()) return PyErr_NoMemory();
    PyObject *pointer = cupy_blocks_take(bytes);
    if (pointer != NULL) *data = (char *)((CupyPointer *)pointer)->data;
    return pointer;
}

/* False: there is no memory. */
static bool
fill_vector(Vector *vector, int rank, const int64_t *values)
{
    size_t bytes = sizeof(int64_t) * (size_t)rank;
    int64_t *begin = new_memory(bytes > 0 ? bytes : sizeof(int64_t), no_throw);
    if (begin == NULL) return false;
    memcpy(begin, values, bytes);
    *vector = (Vector){begin, begin + rank, begin + rank};
    return true;
}

static bool
is_dense(int rank, const int64_t *shape, const int64_t *stride, int64_t item, bool c_order)
{
    for (int i = 0; i < rank; i++) {
        int axis = c_order ? rank - 1 - i : i;
        if (shape[axis] != 1 && stride[axis] != item) return false;
        item *= shape[axis];
    }
    return true;
}

/* An array over the memory of `pointer`, to which the array takes the caller's reference. */
static CupyArray *
array_over(PyObject *pointer, DType dtype, int rank, const int64_t *shape, const int64_t *stride)
{
    int64_t item = (int64_t)dtype_size(dtype), size = 1;
    for (int i = 0; i < rank; i++) size *= shape[i];
    CupyArray *array = (CupyArray *)array_base_new(array_type, no_arguments, NULL);
    if (array == NULL) {
        Py_DECREF(pointer);
        return NULL;
    }
    Py_XSETREF(array->memory, pointer);
    if (!fill_vector(&array->shape, rank, shape) || !fill_vector(&array->stride, rank, stride)) {
        Py_DECREF(array);
        PyErr_NoMemory();
        return NULL;
    }
    array->size = size;
    array->c_contiguous = size == 0 || is_dense(rank, shape, stride, item, true);
    array->f_contiguous = size == 0 || is_dense(rank, shape, stride, item, false);
    array->index_32_bits = size * item <= INT64_C(1) << 31;
    Py_INCREF(numpy_descr[dtype]);
    Py_XSETREF(array->dtype, (PyObject *)numpy_descr[dtype]);
    return array;
}

PyObject *
cupy_over(PyObject *memory, DType dtype, int rank, const int64_t *shape, const int64_t *stride)
{
    return (PyObject *)array_over(memory, dtype, rank, shape, stride);
}

void
cupy_name_long_long(PyObject *object)
{
    CupyArray *array = (CupyArray *)object;
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_LONGLONG);
    if (descr != NULL && descr->type_num != numpy_descr[DT_I64]->type_num)
        Py_XSETREF(array->dtype, (PyObject *)descr);
    else
        Py_XDECREF(descr);
}

PyObject *
cupy_new(DType dtype, int rank, const int64_t *shape, const int64_t *stride)
{
    int64_t bytes = (int64_t)dtype_size(dtype);
    char *data;
    for (int i = 0; i < rank; i++) bytes *= shape[i];
    PyObject *pointer = cupy_memory((size_t)bytes, &data);
    return pointer == NULL ? NULL : (PyObject *)array_over(pointer, dtype, rank, shape, stride);
}

PyObject *
cupy_view(PyObject *object, DType dtype, int rank, const int64_t *shape, const int64_t *stride,
          int64_t offset)
{
    CupyArray *of = (CupyArray *)object;
    PyObject *step = PyLong_FromLongLong(offset), *pointer = NULL;
    if (step != NULL) pointer = PyNumber_Add(of->memory, step);
    Py_XDECREF(step);
    CupyArray *array = pointer == NULL ? NULL : array_over(pointer, dtype, rank, shape, stride);
    if (array == NULL) return NULL;
    array->index_32_bits = array->index_32_bits && of->index_32_bits;
    if (dtype == DT_I64) /* by the name that the base's has */
        Py_XSETREF(array->dtype, Py_NewRef(of->dtype));
    PyObject *base = of->base != Py_None ? of->base : object; /* never a view itself */
    Py_INCREF(base);
    Py_XSETREF(array->base, base);
    return (PyObject *)array;
}
