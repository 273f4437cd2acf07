/* Calls of ufuncs and of their methods. */
#include "numpy.h"

/* Is the error that is set about a keyword which the callee does not know? */
static bool
is_unknown_keyword(PyObject *name)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *told = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    const char *key = PyUnicode_AsUTF8(name);
    const char *at = told != NULL ? strstr(told, "unexpected keyword argument '") : NULL;
    bool found = at != NULL && key != NULL && type == PyExc_TypeError;
    if (found) at = strchr(at, '\'') + 1;
    found = found && strncmp(at, key, strlen(key)) == 0 && at[strlen(key)] == '\'';
    Py_XDECREF(text);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return found;
}

/* Keywords that every ufunc has; with stand-ins some of them warn. */
static bool
is_keyword_of_ufuncs(PyObject *name)
{
    static const char *const names[] = {"out",   "where", "casting",   "order",
                                        "dtype", "subok", "signature", "sig"};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return true;
    return false;
}

/* A keyword that a ufunc of `nargs` operands does not have.  ANSWER_NO: it may have it. */
static Answer
raise_keyword(Interp *in, PyObject *ufunc, int nargs, PyObject *name)
{
    if (is_keyword_of_ufuncs(name)) return ANSWER_NO;
    PyObject *one = PyFloat_FromDouble(1), *args = one ? PyTuple_New(nargs) : NULL;
    PyObject *named = args ? Py_BuildValue("{OO}", name, Py_None) : NULL, *result = NULL;
    for (int i = 0; args != NULL && i < nargs; i++) PyTuple_SET_ITEM(args, i, Py_NewRef(one));
    if (named != NULL) result = PyObject_Call(ufunc, args, named);
    Py_XDECREF(named);
    Py_XDECREF(args);
    Py_XDECREF(one);
    Py_XDECREF(result);
    if (result == NULL && is_unknown_keyword(name)) return raise_error(in);
    PyErr_Clear();
    return ANSWER_NO;
}

static int
ufunc_number(PyObject *ufunc, const char *name)
{
    PyObject *count = PyObject_GetAttrString(ufunc, name);
    int number = count == NULL ? -1 : (int)PyLong_AsLong(count);
    Py_XDECREF(count);
    PyErr_Clear();
    return number;
}

/* The ufunc has only loops of Python objects, which call code of the program. */
static bool
ufunc_is_objects(PyObject *ufunc)
{
    PyObject *types = PyObject_GetAttrString(ufunc, "types");
    bool objects = types != NULL && PyList_Check(types);
    for (Py_ssize_t i = 0; objects && i < PyList_GET_SIZE(types); i++) {
        const char *text = PyUnicode_AsUTF8(PyList_GET_ITEM(types, i));
        objects = text != NULL && strspn(text, "O->") == strlen(text);
    }
    Py_XDECREF(types);
    PyErr_Clear();
    return objects;
}

/* The call as a node, where the arguments are plain: inputs, dtype, one output. */
static Answer
ufunc_as_node(Interp *in, PyObject *ufunc, int nin, int nargs, Value *const *args,
              PyObject *kwnames, Value **out)
{
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames), npos = nargs;
    Value *target = npos == nin + 1 ? args[nin] : NULL;
    DType dtype = DT_OBJECT;
    if (npos > nin && (function_traits(ufunc) & FN_NAMED_OUT))
        return interp_break(in, BREAK_NUMPY, "ufunc '%s' of %d arguments", ufunc_name(ufunc), npos);
    if (npos != nin && npos != nin + 1)
        return interp_break(in, BREAK_SHAPE, "ufunc '%s' of %d arguments", ufunc_name(ufunc), npos);
    for (int k = 0; k < nkw; k++) {
        const char *key = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, k));
        Value *value = args[npos + k];
        if (key == NULL) return ANSWER_ERROR;
        if (strcmp(key, "out") == 0 && target == NULL) {
            target = value;
            if (value->kind == V_TUPLE && value->nitems == 1)
                if ((target = value_item(in, value, 0)) == NULL) return ANSWER_ERROR;
        } else if (strcmp(key, "dtype") == 0) {
            TRY(value_as_dtype(in, value, &dtype));
        } else if (!value_is_default(value, key, strlen(key),
                                     strcmp(key, "casting") == 0 ? "same_kind" : "")) {
            if (raise_keyword(in, ufunc, nin, PyTuple_GET_ITEM(kwnames, k)) == ANSWER_ERROR)
                return ANSWER_ERROR;
            return interp_break(in, BREAK_NUMPY, "ufunc '%s' with %s=", ufunc_name(ufunc), key);
        }
    }
    Value *result;
    TRY(emit_ufunc(in, ufunc, nin, args, dtype == DT_OBJECT ? -1 : (int)dtype, &result));
    if (value_absent(target)) {
        *out = result;
        return ANSWER_YES;
    }
    return write_result(in, target, result->node, out);
}

Answer
call_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    int nin = ufunc_number(ufunc, "nin"), nout = ufunc_number(ufunc, "nout");
    if (ufunc_is_objects(ufunc))
        return interp_break(in, BREAK_DTYPE_OBJECT, "ufunc '%s' of Python objects",
                            ufunc_name(ufunc));
    WholeCall call = {.callable = ufunc, .nargs = nargs, .args = args, .kwnames = kwnames};
    for (int i = nin; i < nargs && i < 32; i++) call.changes |= 1u << i;
    if (nout > 1) return call_whole(in, &call, out);
    Answer answer = ufunc_as_node(in, ufunc, nin, nargs, args, kwnames, out);
    if (answer != ANSWER_BREAK || !break_is_ours(in->break_code)) return answer;
    return call_whole_instead(in, &call, out);
}

/* ---- methods ---- */

/* add.reduce(x, axis=0) is sum(x, axis=0), and so on. */
static Answer
reduce_by_rule(Interp *in, PyObject *ufunc, int nargs, Value *const *args, PyObject *kwnames,
               Value **out)
{
    const char *name = ufunc_reduction(ufunc);
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames);
    if (name == NULL || nargs < 1 || nargs > 2 || nkw > 3) return ANSWER_NO;
    const Rule *rule = rule_of_function(numpy_object(name));
    Value *all[MAX_ARGS] = {args[0]}, *bound[MAX_ARGS];
    bool axis = nargs == 2;
    for (int k = 0; k < nkw; k++) {
        PyObject *key = PyTuple_GET_ITEM(kwnames, k);
        axis = axis || PyUnicode_CompareWithASCIIString(key, "axis") == 0;
        if (PyUnicode_CompareWithASCIIString(key, "axis") != 0 &&
            PyUnicode_CompareWithASCIIString(key, "keepdims") != 0 &&
            (PyUnicode_CompareWithASCIIString(key, "dtype") != 0 || name[0] == 'a'))
            return ANSWER_NO;
    }
    all[1] = nargs == 2 ? args[1] : value_const_new(in, PyLong_FromLong(0));
    if (all[1] == NULL) return ANSWER_ERROR;
    int npos = axis && nargs == 1 ? 1 : 2;
    for (int k = 0; k < nkw; k++) all[npos + k] = args[nargs + k];
    TRY(rule_bind(in, rule, npos, all, kwnames, bound));
    return rule_apply(in, rule, bound, out);
}

/* NumPy umath/ufunc_object.c, ufunc_outer: an axis of one element for each of the second operand's
   is behind those of the first, and the ufunc is called.  ANSWER_NO: its rule is another one. */
static Answer
outer_by_rule(Interp *in, PyObject *ufunc, int nargs, Value *const *args, PyObject *kwnames,
              Value **out)
{
    NodeId nodes[2], result;
    if (nargs != 2 || kwnames != NULL || PyErr_Occurred()) return ANSWER_NO;
    for (int i = 0; i < 2; i++) {
        if (!value_is_array(in, args[i]) || value_is_opaque(in, args[i])) return ANSWER_NO;
        TRY(operand(in, args[i], &nodes[i]));
    }
    Type first = node_type(in, nodes[0]), second = node_type(in, nodes[1]);
    if (first.rank == 0 || second.rank == 0 || first.rank + second.rank > MAX_RANK)
        return ANSWER_NO;
    for (int i = 0; i < second.rank; i++, first.rank++) {
        first.shape[first.rank] = size_const(in->graph, 1);
        first.stride[first.rank] = size_const(in->graph, 0);
        if (first.shape[first.rank] == NO_SIZE || first.stride[first.rank] == NO_SIZE)
            return ANSWER_ERROR;
    }
    TRY(node_view(in, OP_expand_dims, nodes[0], &first, 0, NULL, &nodes[0]));
    TRY(node_ufunc(in, ufunc, 2, nodes, -1, &result));
    return push_node(in, result, out);
}

Answer
call_ufunc_method(Interp *in, PyObject *method, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out)
{
    PyObject *ufunc = PyCFunction_GET_SELF(method);
    const char *name = ((PyCFunctionObject *)method)->m_ml->ml_name;
    if (ufunc_is_objects(ufunc))
        return interp_break(in, BREAK_DTYPE_OBJECT, "ufunc '%s' of Python objects",
                            ufunc_name(ufunc));
    WholeCall call = {.callable = method, .nargs = nargs, .args = args, .kwnames = kwnames};
    if (strcmp(name, "at") == 0) call.changes = 1;
    if (strcmp(name, "reduce") == 0 || strcmp(name, "accumulate") == 0) call.changes = 1 << 3;
    if (strcmp(name, "reduceat") == 0) call.changes = 1 << 4;
    if (strcmp(name, "reduce") == 0) {
        Answer answer = reduce_by_rule(in, ufunc, nargs, args, kwnames, out);
        if (answer == ANSWER_BREAK) return call_whole_instead(in, &call, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (strcmp(name, "outer") == 0) {
        VARYING(in, answer, outer_by_rule(in, ufunc, nargs, args, kwnames, out));
        if (answer == ANSWER_BREAK) return call_whole_instead(in, &call, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (strcmp(name, "at") == 0 || strncmp(name, "reduce", 6) == 0 ||
        strcmp(name, "accumulate") == 0 || strcmp(name, "outer") == 0)
        return call_whole(in, &call, out);
    return interp_break(in, BREAK_NUMPY, "method '%s' of a ufunc", name);
}
