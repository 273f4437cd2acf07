/* Calls of NumPy's own functions from a plan, where no op has the function's bits. */
#include "numpy.h"

Answer
node_extern(Interp *in, PyObject *callable, int nargs, const NodeId *args, const Type *type,
            NodeId *out)
{
    return node_extern_kw(in, callable, nargs, args, NULL, type, out);
}

Answer
node_extern_kw(Interp *in, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames,
               const Type *type, NodeId *out)
{
    Attrs attrs = {.object = callable, .kwnames = kwnames};
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_extern, nargs, args, type, &attrs));
    return ANSWER_YES;
}

/* ---- result types by trial ---- */

enum { MAX_TRIAL_ELEMENTS = 1 << 22 };

/* An axis of length 1 may have any stride, and results are laid out by it: np.newaxis gives 0.
   Steals the array. */
static PyObject *
with_odd_strides(PyObject *array, const Type *type, const int64_t *shape, const int64_t *stride)
{
    ArrayHeader header;
    const char *why;
    int64_t strides[MAX_RANK];
    bool odd = false;
    if (array == NULL || array_read(array, &header, &why) != ANSWER_YES) return array;
    for (int i = 0; i < header.rank; i++) {
        strides[i] = shape[i] == 1 ? stride[i] : header.stride[i];
        odd = odd || strides[i] != header.stride[i];
    }
    if (!odd) return array;
    PyObject *view = array_view(array, (DType)type->dtype, header.rank, shape, strides, 0);
    Py_DECREF(array); /* the view has it */
    return view;
}

/* What stands for an argument in a trial: the constant itself, or zeros; a new reference. */
static PyObject *
trial_argument(Interp *in, NodeId node, int64_t *elements)
{
    const Node *n = graph_node(in->graph, node);
    if (n->op == OP_const) return Py_NewRef(n->attrs.object);
    char zero[16] = {0};
    if (n->type.form != FORM_ARRAY)
        return array_box((DType)n->type.dtype, zero, n->type.form == FORM_PYTHON);
    int64_t shape[MAX_RANK], stride[MAX_RANK];
    for (int i = 0; i < n->type.rank; i++) {
        shape[i] = size_value(in->graph, n->type.shape[i]);
        stride[i] = size_value(in->graph, n->type.stride[i]);
    }
    int64_t count = type_elements(in->graph, &n->type);
    if ((*elements += count) > MAX_TRIAL_ELEMENTS) return NULL;
    PyObject *array = array_new((DType)n->type.dtype, n->type.rank, shape, stride);
    if (array != NULL)
        memset(array_data(array), 0, (size_t)count * dtype_size((DType)n->type.dtype));
    return with_odd_strides(array, &n->type, shape, stride);
}

/* True when `result` may share memory with any of `args`. */
static bool
shares_memory(PyObject *result, PyObject *args)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *other = PyTuple_GET_ITEM(args, i);
        if (!array_is_exact(other)) continue;
        PyObject *shares =
            PyObject_CallFunctionObjArgs(numpy_object("may_share_memory"), result, other, NULL);
        bool found = shares != Py_False;
        Py_XDECREF(shares);
        if (found) return true;
    }
    return false;
}

/* The type of one array or number. */
static Answer
type_of_external(Interp *in, PyObject *result, PyObject *args, Type *type, bool *borrows)
{
    ArrayHeader header;
    DType dtype;
    char bytes[16];
    const char *why;
    if (array_read(result, &header, &why) == ANSWER_YES) {
        if (shares_memory(result, args)) return ANSWER_NO;
        *borrows = !(header.flags & ARRAY_OWNS);
        *type = type_scalar(header.dtype, FORM_ARRAY);
        type->rank = (uint8_t)header.rank;
        for (int i = 0; i < header.rank; i++) {
            type->shape[i] = size_const(in->graph, header.shape[i]);
            type->stride[i] = size_const(in->graph, header.stride[i]);
        }
        return ANSWER_YES;
    }
    if (array_scalar_read(result, &dtype, bytes) == ANSWER_YES) {
        *type = type_scalar(dtype, FORM_SCALAR);
        return ANSWER_YES;
    }
    if (PyBool_Check(result))
        *type = type_scalar(DT_BOOL, FORM_PYTHON);
    else if (PyLong_CheckExact(result))
        *type = type_scalar(DT_I64, FORM_PYTHON);
    else if (PyFloat_CheckExact(result))
        *type = type_scalar(DT_F64, FORM_PYTHON);
    else if (PyComplex_CheckExact(result))
        *type = type_scalar(DT_C128, FORM_PYTHON);
    else
        return ANSWER_NO;
    return ANSWER_YES;
}

/* Calls with warnings and floating-point events off. */
static PyObject *
call_quietly(PyObject *callable, PyObject *args, PyObject *kwargs)
{
    PyObject *quietly = module_object("pycompile._steps", "quietly");
    PyObject *result = NULL;
    if (quietly != NULL)
        result = PyObject_CallFunctionObjArgs(quietly, callable, args,
                                              kwargs == NULL ? Py_None : kwargs, NULL);
    Py_XDECREF(quietly);
    return result;
}

/* Calls it on stand-ins for the arguments. */
static Answer
try_call(Interp *in, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames,
         Type *type, bool *borrows)
{
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames), npos = nargs - nkw;
    PyObject *tuple = PyTuple_New(npos), *kwargs = nkw ? PyDict_New() : NULL, *result = NULL;
    int64_t elements = 0;
    Answer answer = tuple == NULL || (nkw && kwargs == NULL) ? ANSWER_ERROR : ANSWER_YES;
    for (int i = 0; answer == ANSWER_YES && i < nargs; i++) {
        PyObject *argument = trial_argument(in, args[i], &elements);
        if (argument == NULL) {
            answer = PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
        } else if (i < npos) {
            PyTuple_SET_ITEM(tuple, i, argument);
        } else {
            PyObject *name = PyTuple_GET_ITEM(kwnames, i - npos);
            if (PyDict_SetItem(kwargs, name, argument) < 0) answer = ANSWER_ERROR;
            Py_DECREF(argument);
        }
    }
    if (answer == ANSWER_YES) {
        result = call_quietly(callable, tuple, kwargs);
        if (result != NULL)
            answer = type_of_external(in, result, tuple, type, borrows);
        else
            answer = PyErr_ExceptionMatches(PyExc_MemoryError) ? ANSWER_ERROR : ANSWER_NO;
        if (answer == ANSWER_NO) PyErr_Clear();
    }
    Py_XDECREF(tuple);
    Py_XDECREF(kwargs);
    Py_XDECREF(result);
    if (answer != ANSWER_NO) return answer;
    return interp_break(in, BREAK_NUMPY, "a call whose result cannot be told beforehand");
}

Answer
node_trial(Interp *in, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames,
           NodeId *out)
{
    Type type;
    bool borrows = false;
    TRY(try_call(in, callable, nargs, args, kwnames, &type, &borrows));
    TRY(node_extern_kw(in, callable, nargs, args, kwnames, &type, out));
    return borrows && VEC_PUSH(in->arena, &in->borrowers, *out) < 0 ? ANSWER_ERROR : ANSWER_YES;
}
