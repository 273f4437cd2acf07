/* What Python sees of this folder: what the eager backend, warnings and operators need; hooks for
   tests. */
#include "library.h"
#include "numpy_api.h"

/* Reads dtype, shape and strides from Python arguments; 0 or -1. */
static int
parse_layout(PyObject *dtype, PyObject *shape, PyObject *stride, DType *out, int *rank,
             int64_t *dims, int64_t *strides)
{
    Answer answer = array_dtype_from_object(dtype, out);
    if (answer == ANSWER_NO) PyErr_SetString(PyExc_TypeError, "unsupported dtype");
    if (answer != ANSWER_YES) return -1;
    if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > MAX_RANK ||
        (stride != Py_None &&
         (!PyTuple_Check(stride) || PyTuple_GET_SIZE(stride) != PyTuple_GET_SIZE(shape)))) {
        PyErr_SetString(PyExc_TypeError, "shape and strides are tuples of one length");
        return -1;
    }
    *rank = (int)PyTuple_GET_SIZE(shape);
    for (int i = 0; i < *rank; i++) {
        dims[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
        if (stride != Py_None) strides[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(stride, i));
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *
test_array_new(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *dtype, *shape, *stride = Py_None;
    DType type;
    int rank;
    int64_t dims[MAX_RANK], strides[MAX_RANK];
    if (!PyArg_ParseTuple(args, "OO|O", &dtype, &shape, &stride)) return NULL;
    if (parse_layout(dtype, shape, stride, &type, &rank, dims, strides) < 0) return NULL;
    return array_new(type, rank, dims, stride == Py_None ? NULL : strides);
}

static PyObject *
py_array_view(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *base, *dtype, *shape, *stride;
    long long offset;
    DType type;
    int rank;
    int64_t dims[MAX_RANK], strides[MAX_RANK];
    if (!PyArg_ParseTuple(args, "O!OOOL", &PyArray_Type, &base, &dtype, &shape, &stride, &offset))
        return NULL;
    if (parse_layout(dtype, shape, stride, &type, &rank, dims, strides) < 0) return NULL;
    return array_view(base, type, rank, dims, strides, offset);
}

static PyObject *
py_array_store(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs == 3) return array_store(args[0], args[1], args[2]) < 0 ? NULL : Py_NewRef(Py_None);
    PyErr_SetString(PyExc_TypeError, "array_store(array, by, value)");
    return NULL;
}

/* library_read(object) -> (library, dtype, shape, strides, flags, address, device), why not (a
   str), or None for an object of no library. */
static PyObject *
library_read(PyObject *Py_UNUSED(self), PyObject *object)
{
    ArrayHeader header = {0};
    const char *why = NULL;
    const ArrayLibrary *library = array_library_of(object);
    if (library == NULL) Py_RETURN_NONE;
    if (library->read(object, &header, &why) != ANSWER_YES) return PyUnicode_FromString(why);
    PyObject *shape = PyTuple_New(header.rank), *stride = PyTuple_New(header.rank);
    for (int i = 0; shape != NULL && stride != NULL && i < header.rank; i++) {
        PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(header.shape[i]));
        PyTuple_SET_ITEM(stride, i, PyLong_FromLongLong(header.stride[i]));
    }
    return Py_BuildValue("(ssNNIKi)", library->name, dtype_long_name(header.dtype), shape, stride,
                         header.flags, (unsigned long long)(uintptr_t)header.data,
                         header.device_number);
}

static PyObject *
test_cupy_without_device(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *array;
    Py_ssize_t stream = 0, current = 0, use = 0;
    if (!PyArg_ParseTuple(args, "O|nnn", &array, &stream, &current, &use)) return NULL;
    bool known = cupy_is_exact(array);
    cupy_without_device((void *)stream, (int (*)(void))current, (int (*)(int))use);
    return PyBool_FromLong(known);
}

static PyObject *
test_array_read(PyObject *Py_UNUSED(self), PyObject *object)
{
    ArrayHeader header;
    const char *why = NULL;
    if (array_read(object, &header, &why) != ANSWER_YES) return PyUnicode_FromString(why);
    return Py_BuildValue("(iiI)", (int)header.dtype, header.rank, header.flags);
}

/* Scalar to bytes and back: (same scalar again, the Python scalar), or None. */
static PyObject *
test_array_box(PyObject *Py_UNUSED(self), PyObject *scalar)
{
    DType dtype;
    char bytes[16];
    if (array_scalar_read(scalar, &dtype, bytes) != ANSWER_YES) Py_RETURN_NONE;
    return Py_BuildValue("(NN)", array_box(dtype, bytes, false), array_box(dtype, bytes, true));
}

/* The last third first. */
static void
share_by_thirds(CopyPart part, const void *context, int64_t units, int64_t Py_UNUSED(unit_bytes))
{
    for (int64_t end = units, begin; end > 0; end = begin) {
        begin = end * 2 / 3;
        part(context, begin, end);
    }
}

static PyObject *
test_array_copy(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *dst, *src;
    ArrayHeader to, from;
    const char *why = "shapes differ";
    if (!PyArg_ParseTuple(args, "OO", &dst, &src)) return NULL;
    if (array_read(dst, &to, &why) != ANSWER_YES || array_read(src, &from, &why) != ANSWER_YES ||
        to.rank != from.rank || to.dtype != from.dtype ||
        !PyArray_CompareLists((const npy_intp *)to.shape, (const npy_intp *)from.shape, to.rank)) {
        PyErr_SetString(PyExc_TypeError, why);
        return NULL;
    }
    if (array_copy_strided(to.data, to.stride, from.data, from.stride, to.rank, to.shape, to.dtype,
                           share_by_thirds) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* (ufunc, arguments: dtypes or int, float, complex) -> tuple of dtypes, or None. */
static PyObject *
test_ufunc_resolve(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *ufunc, *operands;
    if (!PyArg_ParseTuple(args, "O!O!", &PyUFunc_Type, &ufunc, &PyTuple_Type, &operands))
        return NULL;
    int nin = (int)PyTuple_GET_SIZE(operands), nout = ((PyUFuncObject *)ufunc)->nout;
    Type types[8] = {0};
    const Type *pointers[8];
    DType dtypes[16];
    if (nin > 8 || nout > 8) return PyErr_Format(PyExc_ValueError, "too many operands");
    for (int i = 0; i < nin; i++) {
        PyObject *operand = PyTuple_GET_ITEM(operands, i);
        DType dtype;
        Answer answer = array_dtype_from_object(operand, &dtype);
        if (answer != ANSWER_YES) return PyErr_Format(PyExc_TypeError, "bad operand");
        types[i].dtype = (uint8_t)dtype;
        types[i].form = PyType_Check(operand) ? FORM_PYTHON : FORM_ARRAY;
        pointers[i] = &types[i];
    }
    Answer answer = ufunc_resolve(ufunc, nin, pointers, nout, dtypes, dtypes + nin);
    if (answer == ANSWER_ERROR) return NULL;
    if (answer == ANSWER_NO) Py_RETURN_NONE;
    PyObject *tuple = PyTuple_New(nin + nout);
    for (int i = 0; tuple != NULL && i < nin + nout; i++)
        PyTuple_SET_ITEM(tuple, i, array_dtype_object(dtypes[i]));
    return tuple;
}

typedef struct {
    const char *name[64];
    void *there[64];
    int count;
} Places;

static void *
new_place(void *context, const char *name)
{
    Places *places = context;
    if (places->count == COUNT_OF(places->name) || strncmp(name, "of_pycompile_", 13) != 0)
        return NULL;
    places->name[places->count] = name;
    return &places->there[places->count++];
}

/* What elementary_link sets of ours in a kernel's file: addresses by name. */
static PyObject *
test_vector_links(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    Places places = {.count = 0};
    PyObject *dict = PyDict_New();
    elementary_link(new_place, &places);
    for (int i = 0; dict != NULL && i < places.count; i++) {
        PyObject *address = PyLong_FromVoidPtr(places.there[i]);
        if (address == NULL || PyDict_SetItemString(dict, places.name[i], address) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(address);
    }
    return dict;
}

/* The loop of short.c or special.c over 1-d arrays, with vectors of so many bytes: the flags that
   it raised; None when there is no such loop, or the machine lacks the vectors. */
static PyObject *
test_vector_loop(PyObject *Py_UNUSED(self), PyObject *args)
{
    const char *function;
    PyArrayObject *x, *y;
    int bytes;
    if (!PyArg_ParseTuple(args, "sO!O!i", &function, &PyArray_Type, &x, &PyArray_Type, &y, &bytes))
        return NULL;
    DType dtype = PyArray_TYPE(x) == NPY_FLOAT ? DT_F32 : DT_F64;
    int64_t n = PyArray_SIZE(x), lanes = bytes / (int64_t)dtype_size(dtype);
    if ((bytes != 32 && bytes != 64) || n % lanes != 0 || PyArray_NBYTES(x) != PyArray_NBYTES(y))
        return PyErr_Format(PyExc_ValueError, "no whole number of vectors");
    VectorLoop loop = elementary_loop(function, dtype, bytes);
    if (loop == NULL || elementary_bytes() < bytes) Py_RETURN_NONE;
    fp_flags_clear();
    loop(PyArray_DATA(x), PyArray_DATA(y), (int)n);
    return PyLong_FromLong(fp_flags_read());
}

/* Runs a one-input ufunc's own loop over 1-d arrays; None when there is no such loop. */
static PyObject *
test_ufunc_loop(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *ufunc, *in, *out;
    ArrayHeader from, to;
    const char *why = NULL;
    if (!PyArg_ParseTuple(args, "OOO", &ufunc, &in, &out)) return NULL;
    if (array_read(in, &from, &why) != ANSWER_YES || array_read(out, &to, &why) != ANSWER_YES)
        return PyErr_Format(PyExc_TypeError, "%s", why);
    DType dtypes[2] = {from.dtype, to.dtype};
    UfuncLoop loop;
    Answer answer = ufunc_loop(ufunc, 1, 1, dtypes, &loop);
    if (answer == ANSWER_ERROR) return NULL;
    if (answer == ANSWER_NO) Py_RETURN_NONE;
    char *data[2] = {from.data, to.data};
    int64_t strides[2] = {from.stride[0], to.stride[0]};
    int result = loop.call(loop.context, data, from.shape, strides, loop.auxdata);
    Py_DECREF(loop.owner);
    return Py_BuildValue("(iii)", result, loop.needs_api, loop.no_float_error);
}

/* As though the process began: nothing that probes have shown is known. */
static PyObject *
test_findings_forget(PyObject *Py_UNUSED(self), PyObject *kept)
{
    int keep = PyObject_IsTrue(kept);
    if (keep < 0) return NULL;
    findings_forget(keep);
    elementary_forget();
    Py_RETURN_NONE;
}

static PyObject *
test_findings_key(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    Text key = {0};
    PyObject *text = findings_key(&key) < 0 ? NULL : text_to_str(&key);
    text_free(&key);
    return text;
}

/* From now on probes try the code of this function, whatever they are to try; None: no longer. */
static PyObject *
test_elementary_pretend(PyObject *Py_UNUSED(self), PyObject *function)
{
    const char *name = function == Py_None ? "" : PyUnicode_AsUTF8(function);
    if (name == NULL) return NULL;
    elementary_pretend(name);
    Py_RETURN_NONE;
}

static PyObject *
test_elementary_probes(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(elementary_probes());
}

static PyObject *
test_error_mask(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    int mask = array_error_mask();
    return mask < 0 ? NULL : PyLong_FromLong(mask);
}

/* Calls `callable` with floating-point errors raised. */
static PyObject *
test_errors_raise(PyObject *Py_UNUSED(self), PyObject *callable)
{
    PyObject *token = array_errors_raise_begin(0);
    if (token == NULL) return NULL;
    PyObject *result = PyObject_CallNoArgs(callable);
    if (array_errors_raise_end(token) < 0) Py_CLEAR(result);
    return result;
}

static PyObject *
test_fp_flags(PyObject *Py_UNUSED(self), PyObject *args)
{
    double a, b;
    if (!PyArg_ParseTuple(args, "dd", &a, &b)) return NULL;
    fp_flags_clear();
    volatile double x = a, y = b, quotient = x / y;
    (void)quotient;
    unsigned flags = fp_flags_read();
    fp_flags_clear();
    return Py_BuildValue("(II)", flags, fp_flags_read());
}

static PyObject *
py_pool_set_limit(PyObject *Py_UNUSED(self), PyObject *bytes)
{
    size_t limit = PyLong_AsSize_t(bytes);
    if (limit == (size_t)-1 && PyErr_Occurred()) return NULL;
    pool_set_limit(limit);
    Py_RETURN_NONE;
}

static PyObject *
py_pool_held(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromSize_t(pool_held());
}

static PyObject *
py_pool_rests(PyObject *Py_UNUSED(self), PyObject *seen)
{
    uint64_t clock = PyLong_AsUnsignedLongLong(seen);
    if (PyErr_Occurred()) return NULL;
    bool rests = pool_rests(&clock);
    return Py_BuildValue("NK", PyBool_FromLong(rests), (unsigned long long)clock);
}

static PyObject *
py_pool_clear(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    pool_clear();
    Py_RETURN_NONE;
}

/* 0: raise, 1: ignore; -1 with the error set. */
static int
warnings_mode(PyObject *object)
{
    long mode = PyLong_AsLong(object);
    if (mode == WARNINGS_RAISE || mode == WARNINGS_IGNORE) return (int)mode;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no such mode");
    return -1;
}

static PyObject *
py_warnings_begin(PyObject *Py_UNUSED(self), PyObject *object)
{
    int mode = warnings_mode(object);
    return mode < 0 ? NULL : array_warnings_begin((ArrayWarnings)mode);
}

static PyObject *
py_warnings_end(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *object, *filters;
    if (!PyArg_ParseTuple(args, "OO!", &object, &PyList_Type, &filters)) return NULL;
    int mode = warnings_mode(object);
    if (mode < 0) return NULL;
    array_warnings_end((ArrayWarnings)mode, Py_NewRef(filters));
    Py_RETURN_NONE;
}

static PyObject *
py_warnings_active(PyObject *Py_UNUSED(self), PyObject *object)
{
    int mode = warnings_mode(object);
    return mode < 0 ? NULL : PyBool_FromLong(array_warnings_active((ArrayWarnings)mode));
}

/* _operand_fits(operator, array, other): see array_operand_fits. */
static PyObject *
operand_fits(PyObject *Py_UNUSED(self), PyObject *args)
{
    int operator_;
    PyObject *array, *other;
    if (!PyArg_ParseTuple(args, "iOO", &operator_, &array, &other)) return NULL;
    return PyBool_FromLong(array_operand_fits(operator_, array, other));
}

static PyMethodDef methods[] = {
    {"_operand_fits", operand_fits, METH_VARARGS, NULL},
    {"warnings_begin", py_warnings_begin, METH_O, "From here on warnings are raised, or ignored."},
    {"warnings_end", py_warnings_end, METH_VARARGS, "Up to here, with what warnings_begin gave."},
    {"warnings_active", py_warnings_active, METH_O, "Whether it is so in this thread."},
    {"test_array_new", test_array_new, METH_VARARGS, "array_new(dtype, shape, strides=None)."},
    {"array_view", py_array_view, METH_VARARGS,
     "array_view(base, dtype, shape, strides, offset): a view with NumPy's own base."},
    {"library_read", library_read, METH_O, "For tests: an array's header as its library has it."},
    {"test_cupy_without_device", test_cupy_without_device, METH_VARARGS,
     "test_cupy_without_device(array, stream=0, current=0, use=0): CuPy's stream is that; the last "
     "two are addresses of C functions, int(void) and int(int)."},
    {"array_store", (PyCFunction)(void (*)(void))py_array_store, METH_FASTCALL,
     "array[by] = value, where their memory is apart."},
    {"test_array_read", test_array_read, METH_O, "(dtype, rank, flags), or why not."},
    {"test_array_box", test_array_box, METH_O, "An array scalar read and boxed again."},
    {"test_array_copy", test_array_copy, METH_VARARGS, "array_copy_strided(dst, src), in parts."},
    {"test_ufunc_resolve", test_ufunc_resolve, METH_VARARGS, "ufunc_resolve(ufunc, operands)."},
    {"test_vector_links", test_vector_links, METH_NOARGS, "What kernels read and call, by name."},
    {"test_vector_loop", test_vector_loop, METH_VARARGS,
     "test_vector_loop(function, x, y, bytes): flags, of a loop of kernels' from x to y."},
    {"test_ufunc_loop", test_ufunc_loop, METH_VARARGS, "A ufunc's loop from one array to another."},
    {"test_findings_forget", test_findings_forget, METH_O,
     "As though no probe was made; whether findings are read and kept from now on."},
    {"test_findings_key", test_findings_key, METH_NOARGS, "What findings depend on."},
    {"test_elementary_pretend", test_elementary_pretend, METH_O,
     "Tries the code of another function."},
    {"test_elementary_probes", test_elementary_probes, METH_NOARGS, "How many were made."},
    {"test_error_mask", test_error_mask, METH_NOARGS, "array_error_mask()."},
    {"test_errors_raise", test_errors_raise, METH_O, "Calls with floating-point errors raised."},
    {"test_fp_flags", test_fp_flags, METH_VARARGS, "Flags raised by a / b, and after clearing."},
    {"pool_set_limit", py_pool_set_limit, METH_O, "Bounds the bytes that the pool keeps."},
    {"pool_held", py_pool_held, METH_NOARGS, "Bytes that the pool keeps."},
    {"pool_rests", py_pool_rests, METH_O, "(nothing is kept or in use, clock): after a second."},
    {"pool_clear", py_pool_clear, METH_NOARGS, "Gives the pool's memory back."},
    {"stream_open", py_stream_open, METH_VARARGS,
     "stream_open(bits, generator): a copy of its state, for the draws of a kept loop."},
    {"stream_state", py_stream_state, METH_O, "The state that a stream was made of, as bytes."},
    {"stream_close", py_stream_close, METH_VARARGS,
     "stream_close(stream, bits, generator): puts the state there that draws have left, unless it "
     "has changed meanwhile: ValueError."},
    {"stream_restore", py_stream_restore, METH_VARARGS,
     "stream_restore(stream, bits, generator): puts the state of before there."},
    {NULL, NULL, 0, NULL},
};

int
arrays_module(PyObject *module)
{
    return arrays_init() < 0 ? -1 : PyModule_AddFunctions(module, methods);
}
