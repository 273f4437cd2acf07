/* What is known of a value, as a Python object or an int, and the node of one. */
#include "../../config.h"
#include "core.h"

/* Items of a sequence as a new tuple; NULL with *answer telling why. */
static PyObject *
known_items(Interp *in, Value *value, Answer *answer)
{
    PyObject *tuple = PyTuple_New(value->nitems);
    *answer = tuple ? ANSWER_YES : ANSWER_ERROR;
    for (int i = 0; tuple != NULL && i < value->nitems; i++) {
        PyObject *object = NULL;
        Value *item = value_item(in, value, i);
        *answer = item ? value_known(in, item, &object) : ANSWER_ERROR;
        if (*answer == ANSWER_YES)
            PyTuple_SET_ITEM(tuple, i, Py_NewRef(object));
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *
known_dict(PyObject *items)
{
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict != NULL && i + 1 < PyTuple_GET_SIZE(items); i += 2)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(items, i), PyTuple_GET_ITEM(items, i + 1)) < 0)
            Py_CLEAR(dict);
    return dict;
}

/* tuple.__new__ of a class of named tuples, which runs no code of the class. */
static PyObject *
known_named(PyTypeObject *type, PyObject *items)
{
    PyObject *args = PyTuple_Pack(1, items);
    PyObject *object = args ? PyTuple_Type.tp_new(type, args, NULL) : NULL;
    Py_XDECREF(args);
    return object;
}

Answer
known_container(Interp *in, Value *value, PyObject **out)
{
    Answer answer;
    if (in->attempt.nesting > 40) return ANSWER_NO; /* a container may contain itself */
    in->attempt.nesting++;
    PyObject *items = known_items(in, value, &answer), *object = NULL;
    in->attempt.nesting--;
    if (items == NULL) return answer;
    switch (value->kind) {
    case V_TUPLE:
        object = value->type == NULL || value->type == &PyTuple_Type
                     ? Py_NewRef(items)
                     : known_named(value->type, items);
        break;
    case V_LIST: object = PySequence_List(items); break;
    case V_DICT: object = known_dict(items); break;
    case V_SLICE:
        object = PySlice_New(PyTuple_GET_ITEM(items, 0), PyTuple_GET_ITEM(items, 1),
                             PyTuple_GET_ITEM(items, 2));
        break;
    case V_RANGE: object = PyObject_Call((PyObject *)&PyRange_Type, items, NULL); break;
    default: break;
    }
    Py_DECREF(items);
    *out = keep(in, object);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A number whose guard kept failing is as unknown as one out of an array; so is one whose guard
   failed once, where capture gets as far without its value. */
static bool
is_unsteady(Interp *in, SourceId id)
{
    const Config *config = in->request->config;
    const VariedPath *varied = source_varied(in, id);
    bool all = config != NULL && config->capture_all;
    if (varied != NULL && varied->followed) return true;
    if (varied == NULL || varied_is_planned(in, varied)) return false;
    if (varied->unsteady && !all) return true;
    if (in->attempt.marks->by_value) return false;
    in->attempt.learn->asked = true;
    return true;
}

/* A Python scalar that depends on inputs only: guards them by value and becomes a constant. */
Answer
known_scalar(Interp *in, Value *value, PyObject **out)
{
    if (value->object == NULL || value_is_array(in, value)) return ANSWER_NO;
    for (int i = 0; i < value->nitems; i++) {
        PyObject *ignored;
        Answer answer = value_known(in, value->items[i], &ignored);
        if (answer != ANSWER_YES) return answer;
    }
    if (value->nitems == 0 && value->sized != NULL) { /* a size */
        if (value_pin(in, value->sized) < 0) return ANSWER_ERROR;
        int axis = in->out->sources.at[value->source].index;
        SizeId length = array_length(in, value->sized, axis);
        if (!size_is_const(in->graph, length))
            return size_specialise(in, length, "a length of which the number is needed");
    } else if (value->nitems == 0) {
        if (value->source == NO_SOURCE || is_unsteady(in, value->source)) return ANSWER_NO;
        Guard *guard = value->guard ? &in->out->guards.at[value->guard - 1] : NULL;
        if (guard != NULL) {
            guard->kind = GUARD_VALUE;
            guard->object = value->object;
        } else if (guard_simple(in, GUARD_VALUE, value->source, value->object) < 0) {
            return ANSWER_ERROR;
        }
    }
    value->kind = V_CONST;
    *out = value->object;
    return ANSWER_YES;
}

Answer
known_const(Interp *Py_UNUSED(in), Value *value, PyObject **out)
{
    *out = value->object;
    return ANSWER_YES;
}

Answer
known_tuple(Interp *in, Value *value, PyObject **out)
{
    if (value->source != NO_SOURCE || value->object == NULL) return known_container(in, value, out);
    *out = value->object;
    return ANSWER_YES;
}

Answer
value_as_int(Interp *in, Value *value, int64_t *out)
{
    if (value->kind != V_CONST && value->kind != V_NODE) return ANSWER_NO;
    if (value->kind == V_NODE) {
        const Type *type = value_node_type(in, value);
        if (type->rank != 0 || type->form == FORM_ARRAY ||
            !(type->dtype == DT_BOOL || dtype_is_integer(type->dtype)))
            return ANSWER_NO;
    }
    PyObject *object;
    Answer answer = value_known(in, value, &object);
    if (answer != ANSWER_YES) return answer;
    if (!PyLong_Check(object) && !array_scalar_check(object)) return ANSWER_NO;
    PyObject *index = PyNumber_Index(object);
    if (index == NULL) {
        PyErr_Clear();
        return ANSWER_NO;
    }
    int overflow;
    *out = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    return overflow ? ANSWER_NO : ANSWER_YES;
}

/* Makes the text of a V_PURE that depends on arguments alone: guards them, and the value is a
   constant from here on. */
Answer
pure_known(Interp *in, Value *pure, PyObject **out)
{
    PyObject *args = PyTuple_New(pure->nitems), *object;
    Answer answer = args ? ANSWER_YES : ANSWER_ERROR;
    for (int i = 0; answer == ANSWER_YES && i < pure->nitems; i++) {
        answer = value_known(in, pure->items[i], &object);
        if (answer == ANSWER_YES) PyTuple_SET_ITEM(args, i, Py_NewRef(object));
    }
    if (answer == ANSWER_YES) {
        *out = keep(in, PyObject_Call(pure->object, args, NULL));
        if (*out == NULL) {
            PyErr_Clear(); /* the plan's own call raises it again, as a deopt */
            answer = ANSWER_NO;
        } else {
            pure->kind = V_CONST;
            pure->object = *out;
            pure->items = NULL;
            pure->nitems = 0;
        }
    }
    Py_XDECREF(args);
    return answer;
}

/* ---- as nodes ---- */

/* The type of a constant scalar; ANSWER_NO when it is none that the graph takes.  `wide`: ints of
   up to 64 bits without a sign are taken. */
static Answer
const_type(PyObject *object, bool wide, Type *type)
{
    *type = (Type){.form = FORM_PYTHON, .offset = NO_SIZE};
    DType dtype;
    char bytes[16];
    if (PyBool_Check(object)) {
        type->dtype = DT_BOOL;
    } else if (PyLong_CheckExact(object)) {
        int overflow;
        (void)PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow && !(wide && int_is_unsigned(object))) return ANSWER_NO;
        type->dtype = overflow ? DT_U64 : DT_I64;
    } else if (PyFloat_CheckExact(object)) {
        type->dtype = DT_F64;
    } else if (PyComplex_CheckExact(object)) {
        type->dtype = DT_C128;
    } else if (array_scalar_read(object, &dtype, bytes) == ANSWER_YES) {
        type->dtype = dtype;
        type->form = FORM_SCALAR;
    } else {
        return ANSWER_NO;
    }
    return ANSWER_YES;
}

static Answer
const_node(Interp *in, Value *value, NodeId *out)
{
    Type type;
    /* The node of a scalar that became known is kept, since it has the same value. */
    if (value->node == NO_NODE || in->region != 0) {
        if (const_type(value->object, in->loop != NULL, &type) != ANSWER_YES) return ANSWER_NO;
        *out = graph_const(in->graph, in->region, value->object, &type);
        /* In a kept loop a constant alone may be Python's, converted: loop_either.c. */
        if (in->loop != NULL && type.form == FORM_SCALAR && *out != NO_NODE)
            *out = graph_add(in->graph, in->region, OP_copy, 1, out, &type, NULL);
        if (*out == NO_NODE) return ANSWER_ERROR;
        if (in->region == 0) value->node = *out;
        return ANSWER_YES;
    }
    *out = value->node;
    return ANSWER_YES;
}

Answer
value_wide_node(Interp *in, Value *value, NodeId *out)
{
    Type type = type_scalar(DT_U64, FORM_PYTHON);
    if (!value_is_wide(value) || !int_is_unsigned(value->object)) return ANSWER_NO;
    *out = graph_const(in->graph, in->region, value->object, &type);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

Answer
value_as_unpinned_node(Interp *in, Value *value, NodeId *out)
{
    if (value->kind == V_CONST) return const_node(in, value, out);
    if (value->kind != V_NODE) return ANSWER_NO;
    if (value_node_type(in, value)->form != FORM_ARRAY) {
        *out = value->node;
        return ANSWER_YES;
    }
    *out = array_current(in, value->node);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

Answer
value_as_node(Interp *in, Value *value, NodeId *out)
{
    if (value->kind == V_NODE && !value->pinned && value_pin(in, value) < 0) return ANSWER_ERROR;
    if (value->kind == V_NODE && in->memory.varies != VARIES_TURNS &&
        type_varies(in, value_node_type(in, value)) &&
        !(in->memory.varies == VARIES_SYMBOLS &&
          !type_is_measured(in, value_node_type(in, value)))) {
        Type type = *value_node_type(in, value);
        Answer answer = sizes_specialise(in, &type, "an array of a length that is not known");
        if (answer != ANSWER_NO) return answer;
        return interp_break(in, BREAK_SHAPE, "an array whose length changes from turn to turn");
    }
    return value_as_unpinned_node(in, value, out);
}

Answer
value_as_sized_node(Interp *in, Value *value, NodeId *out)
{
    uint8_t outer = in->memory.varies;
    if (outer == VARIES_NOT) in->memory.varies = VARIES_SYMBOLS;
    Answer answer = value_as_node(in, value, out);
    in->memory.varies = outer;
    return answer;
}
