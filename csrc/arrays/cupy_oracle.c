/* CuPy as the oracle for the dtypes of its ufuncs.

   CuPy tries a ufunc's loops in turn and takes the first to which all operands cast safely; a weak
   number of Python's has to leave the loop's dtype as it is.  For NumPy's own dtypes that gives
   what NumPy's ufunc gives, which is asked for those.  Of bfloat16 the two have different loops
   (cupy/_core/_kernel.pyx, _Ops.guess_routine), so that CuPy itself is asked. */
#include "library.h"
#include "numpy_api.h"

/* Python's class of a weak number, or False.  Borrowed. */
static PyObject *
weak_class(const Type *type)
{
    if (type->form != FORM_PYTHON) return Py_False;
    switch (type->dtype) {
    case DT_BOOL: return (PyObject *)&PyBool_Type;
    case DT_I64: return (PyObject *)&PyLong_Type;
    case DT_F64: return (PyObject *)&PyFloat_Type;
    default: return (PyObject *)&PyComplex_Type;
    }
}

/* The loop that CuPy takes: a new reference; NULL where it has none, perhaps with the error set. */
static PyObject *
find_loop(PyObject *ufunc, int nin, const Type *const *args)
{
    PyObject *ops = PyObject_GetAttrString(ufunc, "_ops"), *loop = NULL;
    PyObject *types = PyTuple_New(nin), *weaks = PyTuple_New(nin);
    for (int i = 0; i < nin && types != NULL && weaks != NULL; i++) {
        PyObject *dtype = array_dtype_object((DType)args[i]->dtype);
        if (dtype == NULL) goto done;
        PyTuple_SET_ITEM(types, i, dtype);
        PyTuple_SET_ITEM(weaks, i, Py_NewRef(weak_class(args[i])));
    }
    if (ops != NULL && types != NULL && weaks != NULL)
        loop = PyObject_CallMethod(ops, "_guess_routine_from_in_types", "OO", types, weaks);
done:
    Py_XDECREF(ops);
    Py_XDECREF(types);
    Py_XDECREF(weaks);
    if (loop == Py_None) Py_CLEAR(loop);
    return loop;
}

/* One that raises for these dtypes has an error_func. */
static bool
raises(PyObject *loop)
{
    PyObject *function = PyObject_GetAttrString(loop, "error_func");
    bool none = function == Py_None;
    Py_XDECREF(function);
    return !none;
}

static Answer
read_types(PyObject *loop, const char *name, int count, DType *out)
{
    PyObject *types = PyObject_GetAttrString(loop, name);
    bool fits = types != NULL && PyTuple_Check(types) && PyTuple_GET_SIZE(types) == count;
    for (int i = 0; i < count && fits; i++)
        fits = array_device_dtype(PyTuple_GET_ITEM(types, i), &out[i]) == ANSWER_YES;
    Py_XDECREF(types);
    return fits ? ANSWER_YES : ANSWER_NO;
}

Answer
cupy_resolve(PyObject *ufunc, int nin, const Type *const *args, DType *in, DType *out)
{
    if (mem_fault()) {
        PyErr_NoMemory();
        return ANSWER_ERROR;
    }
    PyObject *loop = find_loop(ufunc, nin, args);
    Answer answer = ANSWER_NO;
    if (loop != NULL && !raises(loop) && read_types(loop, "in_types", nin, in) == ANSWER_YES)
        answer = read_types(loop, "out_types", 1, out);
    Py_XDECREF(loop);
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) return ANSWER_ERROR;
    PyErr_Clear();
    return answer;
}

/* ---- products ---- */

/* cupy/_core/_routines_linalg.pyx; a program may set it at any time. */
int
cupy_multiplies(DType dtype)
{
    enum { DEFAULT = 1, FLOAT32 = 4, TF32 = 7 };
    static PyObject *compute_type;
    if (dtype == DT_BF16) return 0; /* CuPy has one way alone */
    if (compute_type == NULL) {
        PyObject *module = module_loaded("cupy._core._routines_linalg");
        if (module != NULL) compute_type = PyObject_GetAttrString(module, "get_compute_type");
        Py_XDECREF(module);
    }
    PyObject *descr = (PyObject *)numpy_descr[dtype];
    PyObject *type = compute_type != NULL ? PyObject_CallOneArg(compute_type, descr) : NULL;
    long number = type != NULL ? PyLong_AsLong(type) : -1;
    Py_XDECREF(type);
    PyErr_Clear();
    if (number == DEFAULT || number == FLOAT32) return 0;
    return number == TF32 && dtype == DT_F32 ? 1 : -1;
}
