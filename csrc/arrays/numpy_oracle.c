/* NumPy as the oracle: dtypes, the loop that a ufunc would choose, and that loop itself.

   All of this calls NumPy's Python-level API and is for compile time only.  An exception of NumPy's
   other than MemoryError is ANSWER_NO: NumPy will raise it again when the program runs. */
#include "numpy_api.h"

enum { MAX_OPERANDS = 32 };

/* After a failed call: ANSWER_NO with the exception dropped, unless memory ran out. */
static Answer
refused(void)
{
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) return ANSWER_ERROR;
    PyErr_Clear();
    return ANSWER_NO;
}

PyObject *
array_dtype_object(DType dtype)
{
    if (dtype == DT_BF16 && numpy_bfloat16() == NULL) {
        PyErr_SetString(PyExc_ImportError, "bfloat16 without the module ml_dtypes");
        return NULL;
    }
    return Py_NewRef((PyObject *)numpy_descr[dtype]);
}

Answer
array_dtype_from_object(PyObject *object, DType *out)
{
    PyArray_Descr *descr = NULL;
    if (!PyArray_DescrConverter(object, &descr)) return refused();
    const char *why;
    int dtype = numpy_dtype_from_descr(descr, &why);
    Py_DECREF(descr);
    if (dtype < 0) return ANSWER_NO;
    *out = (DType)dtype;
    return ANSWER_YES;
}

bool
ufunc_check(PyObject *object)
{
    return PyObject_TypeCheck(object, &PyUFunc_Type);
}

const char *
ufunc_name(PyObject *ufunc)
{
    const char *name = ((PyUFuncObject *)ufunc)->name;
    return name != NULL ? name : "?";
}

PyObject *
ufunc_made_of(PyObject *ufunc)
{
    return ((PyUFuncObject *)ufunc)->obj;
}

int
ufunc_arity(PyObject *ufunc)
{
    return ((PyUFuncObject *)ufunc)->nin << 8 | ((PyUFuncObject *)ufunc)->nout;
}

bool
ufunc_is_library(PyObject *ufunc)
{
    static PyObject *module; /* has all of them, also those without a public name */
    if (module == NULL) module = module_import("numpy._core.umath");
    PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, ufunc_name(ufunc));
    PyErr_Clear();
    Py_XDECREF(found); /* the module has it */
    return found == ufunc;
}

/* What resolve_dtypes wants for an argument: a dtype, or int, float, complex for a weak one.
   Python's bool is not weak, and no argument is if all are Python's: NumPy then uses their default
   dtypes (and two weak ints would resolve to an object loop in comparisons).  Borrowed. */
static PyObject *
resolve_operand(const Type *type, bool all_weak)
{
    if (type->form == FORM_PYTHON && !all_weak) {
        if (dtype_is_integer((DType)type->dtype)) return (PyObject *)&PyLong_Type;
        if (type->dtype == DT_F64) return (PyObject *)&PyFloat_Type;
        if (type->dtype == DT_C128) return (PyObject *)&PyComplex_Type;
    }
    return (PyObject *)numpy_descr[type->dtype];
}

/* Reads `count` dtypes from a tuple of dtype objects. */
static Answer
read_dtypes(PyObject *tuple, int first, int count, DType *out)
{
    for (int i = 0; i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, first + i);
        const char *why;
        int dtype =
            PyArray_DescrCheck(item) ? numpy_dtype_from_descr((PyArray_Descr *)item, &why) : -1;
        if (dtype < 0) return ANSWER_NO;
        out[i] = (DType)dtype;
    }
    return ANSWER_YES;
}

Answer
ufunc_resolve(PyObject *ufunc, int nin, const Type *const *args, int nout, DType *in, DType *out)
{
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    if (!ufunc_check(ufunc) || u->nin != nin || u->nout != nout) return ANSWER_NO;
    if (mem_fault()) {
        PyErr_NoMemory();
        return ANSWER_ERROR;
    }
    PyObject *operands = PyTuple_New(nin + nout), *resolved = NULL;
    if (operands == NULL) return ANSWER_ERROR;
    bool all_weak = true;
    for (int i = 0; i < nin; i++) all_weak &= args[i]->form == FORM_PYTHON;
    for (int i = 0; i < nin && all_weak; i++) /* NumPy makes it int64, or else uint64 */
        if (args[i]->dtype == DT_U64) return ANSWER_NO;
    for (int i = 0; i < nin + nout; i++) {
        PyObject *operand = i < nin ? resolve_operand(args[i], all_weak) : Py_None;
        PyTuple_SET_ITEM(operands, i, Py_NewRef(operand));
    }

    Answer answer;
    resolved = PyObject_CallMethod(ufunc, "resolve_dtypes", "(O)", operands);
    if (resolved == NULL)
        answer = refused();
    else if (!PyTuple_Check(resolved) || PyTuple_GET_SIZE(resolved) != nin + nout)
        answer = ANSWER_NO;
    else if ((answer = read_dtypes(resolved, 0, nin, in)) == ANSWER_YES)
        answer = read_dtypes(resolved, nin, nout, out);
    Py_DECREF(operands);
    Py_XDECREF(resolved);
    return answer;
}

/* The first fields of the struct that the docstring of ufunc._get_strided_loop documents; the rest
   differs between versions. */
typedef struct {
    StridedLoop strided_loop;
    void *context;
    void *auxdata;
    npy_bool requires_pyapi;
    npy_bool no_floatingpoint_errors;
} UfuncCallInfo;

static const char CALL_INFO_NAME[] = "numpy_1.24_ufunc_call_info";

/* Fills `out` from a capsule that _get_strided_loop has completed. */
static Answer
read_call_info(PyObject *capsule, UfuncLoop *out)
{
    UfuncCallInfo *info = PyCapsule_GetPointer(capsule, CALL_INFO_NAME);
    if (info == NULL) return refused();
    if (info->strided_loop == NULL) return ANSWER_NO;
    *out = (UfuncLoop){
        .call = info->strided_loop,
        .context = info->context,
        .auxdata = info->auxdata,
        .needs_api = info->requires_pyapi,
        .no_float_error = info->no_floatingpoint_errors,
        .owner = Py_NewRef(capsule),
    };
    return ANSWER_YES;
}

/* Are the resolved dtypes the requested ones? Otherwise it is another loop. */
static bool
same_dtypes(PyObject *resolved, int count, const DType *dtypes)
{
    DType got[MAX_OPERANDS];
    if (!PyTuple_Check(resolved) || PyTuple_GET_SIZE(resolved) != count) return false;
    if (read_dtypes(resolved, 0, count, got) != ANSWER_YES) return false;
    return memcmp(got, dtypes, (size_t)count * sizeof(DType)) == 0;
}

static int
call_dot(void *context, char *const *data, const int64_t *dimensions, const int64_t *strides,
         void *Py_UNUSED(auxdata))
{
    PyArray_DotFunc *const *dot = context;
    (*dot)(data[0], strides[0], data[1], strides[1], data[2], dimensions[0], NULL);
    return 0;
}

int
array_dot_loop(DType dtype, UfuncLoop *out)
{
    PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(numpy_descr[dtype]);
    *out = (UfuncLoop){.call = call_dot, .context = &functions->dotfunc};
    return 0;
}

Answer
ufunc_loop(PyObject *ufunc, int nin, int nout, const DType *dtypes, UfuncLoop *out)
{
    int count = nin + nout;
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    if (!ufunc_check(ufunc) || u->nin != nin || u->nout != nout || u->core_enabled)
        return ANSWER_NO;
    if (mem_fault()) {
        PyErr_NoMemory();
        return ANSWER_ERROR;
    }
    PyObject *operands = PyTuple_New(count), *pair = NULL, *none = NULL;
    if (operands == NULL) return ANSWER_ERROR;
    for (int i = 0; i < count; i++) PyTuple_SET_ITEM(operands, i, array_dtype_object(dtypes[i]));

    Answer answer = ANSWER_NO;
    pair = PyObject_CallMethod(ufunc, "_resolve_dtypes_and_context", "(O)", operands);
    if (pair == NULL) {
        answer = refused();
        goto done;
    }
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) goto done;
    if (!same_dtypes(PyTuple_GET_ITEM(pair, 0), count, dtypes)) goto done;
    PyObject *capsule = PyTuple_GET_ITEM(pair, 1);
    none = PyObject_CallMethod(ufunc, "_get_strided_loop", "(O)", capsule);
    answer = none != NULL ? read_call_info(capsule, out) : refused();
    out->foreign = !ufunc_is_library(ufunc);
    out->shared = out->foreign && foreign_is_shared(ufunc);
done:
    Py_DECREF(operands);
    Py_XDECREF(pair);
    Py_XDECREF(none);
    return answer;
}
