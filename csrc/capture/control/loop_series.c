/* A V_SERIES as a value: its items are Python's numbers, read from its array. */
#include "control.h"

/* The item as Python's number. */
static Answer
number_of(Interp *in, Value *item, Value **out)
{
    NodeId node;
    TRY(value_as_unpinned_node(in, item, &node));
    bool is_float = graph_node(in->graph, node)->type.dtype == DT_F64;
    *out = scalar_emit(in, is_float ? OP_py_float : OP_py_int, is_float ? DT_F64 : DT_I64, 1, &item,
                       NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Known and not among the items that were seen?  Python's message is then not NumPy's. */
static Answer
is_in_bounds(Interp *in, const Value *series, Value *key, bool *out)
{
    int64_t index;
    Answer answer = key->kind == V_CONST ? value_as_int(in, key, &index) : ANSWER_NO;
    Py_ssize_t length = PySequence_Size(series->object);
    *out = answer != ANSWER_YES || (index >= -length && index < length);
    return answer == ANSWER_ERROR || length < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
series_item(Interp *in, Value *series, Value *key, Value **out)
{
    Value *item;
    bool bounds = true;
    PyTypeObject *type = value_type(in, key);
    if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    TRY(is_in_bounds(in, series, key, &bounds));
    if (!value_is_number(in, key) || type == &PyFloat_Type || !bounds)
        return interp_break(in, BREAK_INDEX, "a subscript of %s", value_describe(in, series));
    TRY(in->loop != NULL ? loop_element_load(in, series->of, key, &item)
                         : operator_subscript(in, series->of, key, &item));
    return number_of(in, item, out);
}

/* The methods of lists and bytes are CPython's. */
Answer
series_find(Interp *in, Value *series, PyObject *name, Value **Py_UNUSED(out))
{
    return interp_break(in, BREAK_CALL_C, "the attribute '%s' of %s", text_of_str(name),
                        value_describe(in, series));
}
