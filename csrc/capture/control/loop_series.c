/* A V_SERIES as a value: its items are Python's numbers, read from its array; those of text are
   letters, of which nothing but comparisons is known. */
#include "control.h"

Value *
series_from_source(Interp *in, SourceId source, PyObject *object)
{
    DType dtype;
    if (!series_is_noted(in, source) || !series_dtype(object, &dtype)) return NULL;
    PyObject *array = keep(in, series_array(dtype, series_length(object, dtype)));
    SourceId numbers = source_add(in, SOURCE_SERIES, source, dtype, NULL, NULL);
    if (array == NULL || numbers == NO_SOURCE) return NULL;
    Value *value = value_object(in, object, source), *of = value_from_source(in, numbers, array);
    if (value == NULL || of == NULL) return NULL;
    value->kind = V_SERIES;
    value->of = of;
    value->guarded = true;
    return value;
}

/* The item as Python's number; the small ints of bytes are one object each. */
static Answer
number_of(Interp *in, const Value *series, Value *item, Value **out)
{
    NodeId node;
    TRY(value_as_unpinned_node(in, item, &node));
    bool is_float = graph_node(in->graph, node)->type.dtype == DT_F64;
    *out = scalar_emit(in, is_float ? OP_py_float : OP_py_int, is_float ? DT_F64 : DT_I64, 1, &item,
                       NULL);
    if (*out == NULL) return ANSWER_ERROR;
    SeriesItem read = {.node = (*out)->node, .path = source_path_of(in, series->source)};
    bool list = series->type == &PyList_Type;
    return list && VEC_PUSH(in->arena, &in->items, read) < 0 ? ANSWER_ERROR : ANSWER_YES;
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
    TRY(operate_subscript(in, series->of, key, &item));
    TRY(number_of(in, series, item, out));
    if (series->type != &PyUnicode_Type) return ANSWER_YES;
    item = *out;
    *out = value_sequence(in, V_LETTER, 1, &item);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The methods of lists and bytes are CPython's. */
Answer
series_find(Interp *in, Value *series, PyObject *name, Value **Py_UNUSED(out))
{
    return interp_break(in, BREAK_CALL_C, "the attribute '%s' of %s", text_of_str(name),
                        value_describe(in, series));
}

/* ---- letters ---- */

const char *
describe_letter(Interp *Py_UNUSED(in), Value *Py_UNUSED(letter))
{
    return "a letter of a str";
}

/* The number of the letter, which the value is or has. */
static Answer
letter_number(Interp *in, Value *value, Value **out)
{
    if (value->kind == V_LETTER) return given(out, value->items[0]);
    bool one = value->kind == V_CONST && PyUnicode_CheckExact(value->object) &&
               PyUnicode_GET_LENGTH(value->object) == 1;
    if (!one)
        return interp_break(in, BREAK_OPERATOR, "a letter of a str, compared with %s",
                            value_describe(in, value));
    return given(
        out, value_const_new(in, PyLong_FromUnsignedLong(PyUnicode_READ_CHAR(value->object, 0))));
}

Answer
letter_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *numbers[2];
    if (left->kind != V_LETTER && right->kind != V_LETTER) return ANSWER_NO;
    TRY(letter_number(in, left, &numbers[0]));
    TRY(letter_number(in, right, &numbers[1]));
    return operate_compare(in, operator_, numbers[0], numbers[1], out);
}
