/* Stand-ins: real Python objects that stand for values, so that CPython's own containers do what
   depends on their order of comparing, hashing and moving things.

   A method of a list (sort, remove, slices …), a set or a comparison of sequences is carried out on
   a real container whose entries stand for the values: plain constants for themselves, tuples as
   tuples of stand-ins, and everything else as a Token, one per value, so that identity is kept.
   A Token that is compared or called follows that in the interpreter; when that cannot be followed
   the real operation is made to fail, and the answer is kept in Interp.shadow_answer.  */
#include "core.h"

typedef struct {
    PyObject_HEAD Interp *in;
    Value *value;
    int hashed; /* 1 + the bottom's step at which its own `__hash__` was followed first, or 0 */
} Token;

static PyTypeObject token_type;

/* Makes the real operation fail; `answer` is what capture returns then. */
static void
token_fail(Interp *in, Answer answer)
{
    in->stand_ins.failed = true;
    in->stand_ins.answer = answer;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "not followed");
}

/* A truth value that becomes known, under guards; -1 where the real operation has to fail. */
static int
token_truth(Interp *in, Value *value)
{
    int known;
    Value *node;
    Answer answer = value_truth(in, value, &known, &node);
    if (answer == ANSWER_YES && known < 0) {
        bool is_true = false;
        answer = condition_known(in, node, &is_true);
        known = is_true;
        bool length = answer == ANSWER_NO && value_is_data_length(in, node);
        if (answer == ANSWER_NO)
            answer = length ? break_of_size(in, BREAK_OPERATOR, node->node, "a comparison of it")
                            : interp_break_told(in, BREAK_OPERATOR, BREAK_ORDER, "");
    }
    if (answer == ANSWER_YES) return known;
    token_fail(in, answer);
    return -1;
}

static bool
may_be_nan(Interp *in, Value *value)
{
    PyTypeObject *type = value->kind == V_NODE ? value_type(in, value) : NULL;
    return type != NULL && !value_is_array(in, value) && !PyType_IsSubtype(type, &PyLong_Type);
}

/* The number is not a NaN, guarded: in containers a NaN equals itself, outside it does not. */
static bool
is_itself(Interp *in, Value *value)
{
    if (in->stand_ins.failed) return false;
    if (value->kind == V_CONST) return !object_has_nan(value->object);
    if (!may_be_nan(in, value)) return true;
    Value *result;
    Answer answer = operate_compare(in, Py_EQ, value, value, &result);
    if (answer == ANSWER_YES) return token_truth(in, result) == 1;
    token_fail(in, answer);
    return false;
}

/* Containers ask for identity before they ask a class of the program's for equality. */
static Answer
is_one_object(Interp *in, Value *left, Value *right, bool *out)
{
    bool left_is = left->kind == V_OBJECT || left->kind == V_INSTANCE;
    bool right_is = right->kind == V_OBJECT || right->kind == V_INSTANCE;
    *out = false;
    return left_is && right_is ? operate_is(in, left, right, out) : ANSWER_YES;
}

static PyObject *
token_compare(PyObject *a, PyObject *b, int operator_)
{
    Interp *in = ((Token *)a)->in;
    Value *left = unshadow(in, a), *right = left ? unshadow(in, b) : NULL, *result;
    if (right == NULL) return NULL;
    Answer answer = may_be_nan(in, left) && may_be_nan(in, right) && operator_ == Py_EQ
                        ? branch_identity(in, left, right) /* in containers a NaN equals itself */
                        : ANSWER_YES;
    bool same = false;
    if (answer == ANSWER_YES && operator_ == Py_EQ) answer = is_one_object(in, left, right, &same);
    if (answer != ANSWER_YES) {
        token_fail(in, answer);
        return NULL;
    }
    if (same) Py_RETURN_TRUE;
    bool deep = in->attempt.nesting > 40;
    in->attempt.nesting++;
    answer = deep ? interp_break(in, BREAK_OPERATOR, "values nested deeply")
                  : operate_compare(in, operator_, left, right, &result);
    in->attempt.nesting--;
    if (answer != ANSWER_YES) {
        token_fail(in, answer);
        return NULL;
    }
    int known = token_truth(in, result);
    if (known == 0 && operator_ == Py_EQ && !is_itself(in, left) && !is_itself(in, right)) {
        if (!in->stand_ins.failed)
            token_fail(in, interp_break(in, BREAK_OPERATOR, "NaNs, which may be the same object"));
        return NULL;
    }
    if (in->stand_ins.failed) return NULL;
    return known < 0 ? NULL : PyBool_FromLong(known);
}

/* As the program's class has it. */
static Answer
token_own_hash(Token *token, Py_hash_t *out)
{
    Interp *in = token->in;
    TRY(operate_hash(in, token->value, out));
    in->stand_ins.hashed++;
    if (token->hashed == 0) token->hashed = in->attempt.steps;
    return ANSWER_YES;
}

int
shadow_hashed(PyObject *object)
{
    return Py_TYPE(object) == &token_type ? ((Token *)object)->hashed : 0;
}

static Py_hash_t
token_hash(PyObject *self)
{
    Interp *in = ((Token *)self)->in;
    Value *value = ((Token *)self)->value;
    PyObject *known;
    PyTypeObject *type;
    Py_hash_t hash;
    Answer answer;
    switch (value->kind) {
    case V_LIST:
    case V_DICT:
    case V_SET:
        PyErr_Format(PyExc_TypeError, "unhashable type: '%s'", value_type(in, value)->tp_name);
        return -1;
    case V_CONST:
    case V_PURE:
    case V_NODE:
        answer = value_is_array(in, value) ? ANSWER_NO : value_known(in, value, &known);
        if (answer == ANSWER_YES && type_is_heap(Py_TYPE(known))) answer = key_is_plain(in, known);
        if (answer == ANSWER_YES) return PyObject_Hash(known);
        break;
    case V_OBJECT:
    case V_INSTANCE:
    case V_FUNCTION:
        type = value_type(in, value);
        answer = type == NULL                ? ANSWER_ERROR
                 : value->kind == V_FUNCTION ? ANSWER_YES
                                             : type_is_by_identity(in, type);
        if (answer == ANSWER_YES && value->kind == V_OBJECT) answer = guard_is(in, value);
        if (answer == ANSWER_YES) return (Py_hash_t)((uintptr_t)value >> 4);
        if (answer == ANSWER_NO) answer = token_own_hash((Token *)self, &hash);
        if (answer == ANSWER_YES) return hash;
        break;
    default: answer = ANSWER_NO; break;
    }
    if (answer == ANSWER_NO)
        answer = interp_break(in, BREAK_OPERATOR, "a key that is not known: %s",
                              value_describe(in, value));
    token_fail(in, answer);
    return -1;
}

static PyObject *
token_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Interp *in = ((Token *)self)->in;
    Value *values[8], *result;
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (n > COUNT_OF(values) || kwargs != NULL) {
        PyErr_SetString(PyExc_SystemError, "a stand-in called with too much");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if ((values[i] = unshadow(in, PyTuple_GET_ITEM(args, i))) == NULL) return NULL;
    in->writes.dirty = true;
    Answer answer = call_value(in, ((Token *)self)->value, (int)n, values, NULL, &result);
    if (answer == ANSWER_YES) return shadow(in, result);
    token_fail(in, answer);
    return NULL;
}

static PyTypeObject token_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pycompile.stand_in",
    .tp_basicsize = sizeof(Token),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_richcompare = token_compare,
    .tp_hash = token_hash,
    .tp_call = token_call,
};

/* ---- from values to stand-ins and back ---- */

/* Remembers `object` as the stand-in of the value and keeps it alive; a new reference to it. */
static PyObject *
stand_for(Interp *in, PyObject *object, Value *value)
{
    if (keep(in, Py_XNewRef(object)) == NULL ||
        map_put(in, &in->stand_ins.shadowed, object, value) < 0)
        Py_CLEAR(object);
    return object;
}

PyObject *
shadow_token(Interp *in, Value *value)
{
    Token *token = map_get(&in->stand_ins.tokens, value);
    if (token != NULL) return Py_NewRef((PyObject *)token);
    if (PyType_Ready(&token_type) < 0) return NULL;
    token = PyObject_New(Token, &token_type);
    if (token == NULL) return NULL;
    token->in = in;
    token->value = value;
    token->hashed = 0;
    if (keep(in, Py_NewRef((PyObject *)token)) == NULL ||
        map_put(in, &in->stand_ins.tokens, value, token) < 0)
        Py_CLEAR(token);
    return (PyObject *)token;
}

static PyObject *
shadow_tuple(Interp *in, Value *value)
{
    PyObject *tuple = map_get(&in->stand_ins.tokens, value);
    if (tuple != NULL) return Py_NewRef(tuple);
    if (value->object != NULL && value->source == NO_SOURCE && object_is_plain(value->object))
        return stand_for(in, Py_NewRef(value->object), value);
    tuple = shadow_items(in, value);
    if (tuple != NULL) Py_SETREF(tuple, PyList_AsTuple(tuple));
    tuple = stand_for(in, tuple, value);
    if (tuple != NULL && map_put(in, &in->stand_ins.tokens, value, tuple) < 0) Py_CLEAR(tuple);
    return tuple;
}

PyObject *
shadow(Interp *in, Value *value)
{
    if (value->kind == V_CONST && object_is_plain(value->object) && !object_has_nan(value->object))
        return stand_for(in, Py_NewRef(value->object), value);
    if (value->kind == V_TUPLE && (value->type == NULL || value->type == &PyTuple_Type))
        return shadow_tuple(in, value);
    if (value->kind == V_SLICE || value->kind == V_RANGE) {
        PyObject *known;
        Answer answer = value_known(in, value, &known);
        if (answer == ANSWER_ERROR) return NULL;
        if (answer == ANSWER_BREAK) break_take(in); /* a stand-in serves as well */
        if (answer == ANSWER_YES && object_is_plain(known))
            return stand_for(in, Py_NewRef(known), value);
    }
    return shadow_token(in, value);
}

PyObject *
shadow_items(Interp *in, Value *sequence)
{
    PyObject *list = PyList_New(sequence->nitems);
    for (int i = 0; list != NULL && i < sequence->nitems; i++) {
        Value *item = value_item(in, sequence, i);
        PyObject *object = item ? shadow(in, item) : NULL;
        if (object == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, object);
    }
    return list;
}

/* The entries of a real tuple or list, as a sequence of the kind. */
static Value *
unshadow_items(Interp *in, PyObject *object, ValueKind kind)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    Value *sequence = value_sequence(in, kind, (int)n, NULL);
    for (Py_ssize_t i = 0; sequence != NULL && i < n; i++) {
        sequence->items[i] = unshadow(in, PySequence_Fast_GET_ITEM(object, i));
        if (sequence->items[i] == NULL) return NULL;
    }
    return sequence;
}

/* The entries of a real dict without other references; its keys are constants. */
static Value *
unshadow_dict(Interp *in, PyObject *object)
{
    Value *dict = value_sequence(in, V_DICT, 0, NULL);
    Py_ssize_t at = 0;
    PyObject *key, *item;
    while (dict != NULL && PyDict_Next(object, &at, &key, &item)) {
        Value *name = value_const(in, key), *value = unshadow(in, item);
        if (name == NULL || value == NULL || value_append(in, dict, name) < 0 ||
            value_append(in, dict, value) < 0)
            return NULL;
    }
    return dict;
}

Value *
unshadow(Interp *in, PyObject *object)
{
    if (Py_TYPE(object) == &token_type) return ((Token *)object)->value;
    Value *value = map_get(&in->stand_ins.shadowed, object);
    if (value != NULL) return value;
    if (PyList_CheckExact(object)) return unshadow_items(in, object, V_LIST);
    if (PySet_CheckExact(object)) return set_value(in, Py_NewRef(object));
    if (PyDict_CheckExact(object)) return unshadow_dict(in, object);
    if (PyTuple_CheckExact(object) && PyTuple_GET_SIZE(object) > 0) /* every run needs a new one */
        return unshadow_items(in, object, V_TUPLE);
    return value_const(in, object);
}

int
unshadow_into(Interp *in, PyObject *list, Value *sequence)
{
    Value *now = unshadow_items(in, list, sequence->kind);
    if (now == NULL) return -1;
    sequence->items = now->items;
    sequence->nitems = now->nitems;
    sequence->cap = now->cap;
    return 0;
}

Answer
shadow_done(Interp *in, PyObject *result, Value **out)
{
    Answer answer = in->stand_ins.failed ? in->stand_ins.answer : ANSWER_YES;
    in->stand_ins.failed = false;
    if (answer != ANSWER_YES) {
        Py_XDECREF(result);
        if (answer == ANSWER_BREAK) PyErr_Clear();
        return answer;
    }
    if (result == NULL) return raise_error(in);
    if (out != NULL) {
        *out = unshadow(in, result);
        if (*out == NULL) answer = ANSWER_ERROR;
    }
    Py_DECREF(result);
    return answer;
}

/* ---- sequences compared, and searched ---- */

/* The comparisons have not changed the sequence itself. */
static bool
is_still(Interp *in, const Value *sequence, PyObject *list)
{
    if (sequence->nitems != PyList_GET_SIZE(list)) return false;
    for (int i = 0; i < sequence->nitems; i++) {
        PyObject *object = PyList_GET_ITEM(list, i);
        const Value *was = Py_TYPE(object) == &token_type
                               ? ((Token *)object)->value
                               : map_get(&in->stand_ins.shadowed, object);
        const Value *now = sequence->items[i];
        if (was != now &&
            (was == NULL || now == NULL || was->object != now->object || was->object == NULL))
            return false;
    }
    return true;
}

Answer
shadow_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    PyObject *a = shadow_items(in, left), *b = a ? shadow_items(in, right) : NULL, *result = NULL;
    if (b != NULL) {
        in->writes.dirty = true;
        result = PyObject_RichCompare(a, b, operator_);
    }
    bool failed = b == NULL, same = !failed && is_still(in, left, a) && is_still(in, right, b);
    Py_XDECREF(a);
    Py_XDECREF(b);
    if (failed) return ANSWER_ERROR;
    Answer answer = shadow_done(in, result, out);
    if (answer == ANSWER_YES && !same)
        return interp_break(in, BREAK_OPERATOR, "lists that change while they are compared");
    return answer;
}

Answer
shadow_contains(Interp *in, Value *sequence, Value *item, bool *out)
{
    PyObject *list = shadow_items(in, sequence), *key = list ? shadow(in, item) : NULL;
    if (key == NULL) {
        Py_XDECREF(list);
        return ANSWER_ERROR;
    }
    if (sequence->kind == V_TUPLE) Py_SETREF(list, PyList_AsTuple(list));
    int found = list ? PySequence_Contains(list, key) : -1;
    Py_XDECREF(list);
    Py_DECREF(key);
    *out = found > 0;
    return shadow_done(in, found < 0 ? NULL : Py_NewRef(Py_None), NULL);
}
