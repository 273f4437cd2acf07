/* Text made of values: known now, or made when the plan commits. */
#include "numpy.h"

enum { DEEPEST = 24 }; /* nesting of containers, which may contain themselves */

/* Nothing of the value remains to be guarded or computed. */
bool
is_settled(Interp *in, Value *value, int depth)
{
    if (value->kind == V_CONST) return true;
    if (in->kinds[value->kind].parts != PARTS_ITEMS) return false;
    if (depth == DEEPEST) return false;
    for (int i = 0; i < value->nitems; i++) {
        Value *item = value_item(in, value, i);
        if (item == NULL || !is_settled(in, item, depth + 1)) return false;
    }
    return true;
}

/* A copy of the value in its present state, of objects that print without running code of the
   program.  NULL without an error where that is impossible. */
static Value *
snapshot(Interp *in, Value *value, int depth)
{
    if (depth == DEEPEST) return NULL;
    if (value->kind == V_CONST)
        return object_is_plain(value->object) || array_scalar_check(value->object) ||
                       array_dtype_check(value->object)
                   ? value
                   : NULL;
    if (value->kind == V_NODE && value_is_array(in, value))
        return freeze_array(in, value, &value) == ANSWER_YES ? value : NULL;
    if (value->kind == V_NODE || value->kind == V_PURE) return value;
    if (in->kinds[value->kind].parts == PARTS_NONE) return NULL;
    if (value->kind == V_TUPLE && value->type != NULL && value->type != &PyTuple_Type) return NULL;
    Value *copy = value_sequence(in, value->kind, value->nitems, NULL);
    for (int i = 0; copy != NULL && i < value->nitems; i++) {
        Value *item = value->items[i] ? value->items[i] : value_item(in, value, i);
        if (item == NULL) return NULL;
        copy->items[i] = snapshot(in, item, depth + 1);
        if (copy->items[i] == NULL) return NULL;
    }
    return copy;
}

/* The text that a pure callable makes of the arguments: made now, or at commit. */
Answer
text_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    bool settled = true;
    if (callable == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nargs; i++) settled = settled && is_settled(in, args[i], 0);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    Value *pure = value_sequence(in, V_PURE, nargs, args);
    if (pure == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nargs; i++) {
        if ((pure->items[i] = snapshot(in, args[i], 0)) != NULL) continue;
        if (PyErr_Occurred()) return ANSWER_ERROR;
        return interp_break(in, value_break(args[i], BREAK_OPERATOR), "text of %s",
                            value_describe(in, args[i]));
    }
    if (settled && nargs == 1 && args[0]->kind == V_CONST && array_dtype_check(args[0]->object)) {
        PyObject *text = PyObject_CallOneArg(callable, args[0]->object);
        *out = value_const_new(in, text);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (settled) return fold_call(in, callable, nargs, pure->items, out);
    if (keep(in, Py_NewRef(callable)) == NULL) return ANSWER_ERROR;
    pure->object = callable;
    pure->type = &PyUnicode_Type;
    *out = pure;
    return VEC_PUSH(in->arena, &in->writes.texts, pure) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
text_numpy(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    if (nargs == 0) return ANSWER_NO;
    PyObject *keywords = keep(in, PyDict_New()), *known;
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    if (keywords == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nkw; i++) {
        Answer answer = value_known(in, args[nargs + i], &known);
        if (answer_stops(answer)) return answer;
        if (answer == ANSWER_NO || !object_is_plain(known))
            return interp_break(in, BREAK_NUMPY, "text of an array with arguments not known");
        if (PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, i), known) < 0) return ANSWER_ERROR;
    }
    if (nkw > 0) {
        PyObject *maker = module_kept(in, "pycompile._calls", "Keywords");
        callable = maker ? PyObject_CallFunctionObjArgs(maker, callable, keywords, NULL) : NULL;
        if (keep(in, callable) == NULL) return ANSWER_ERROR;
    }
    return text_call(in, callable, nargs, args, out);
}

Answer
freeze_array(Interp *in, Value *value, Value **out)
{
    NodeId node;
    Answer answer = value_as_node(in, value, &node);
    if (answer != ANSWER_YES) return answer;
    Type from = graph_node(in->graph, node)->type, type;
    if (type_like(in->graph, &type, (DType)from.dtype, &from) < 0) return ANSWER_ERROR;
    NodeId copy = graph_add(in->graph, in->region, OP_copy, 1, &node, &type, NULL);
    *out = copy == NO_NODE ? NULL : value_node(in, copy);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
