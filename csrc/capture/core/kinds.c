/* Operations on values that depend on their kind: each calls the function in the kind's row of
   value_kinds.def, and has the default for rows without one. */
#include "core.h"

#include <assert.h>

/* For an operation that always applies: ANSWER_NO becomes a break. */
static Answer
settled(const Interp *in, Answer answer)
{
    assert(answer_agrees(in, answer) && (answer != ANSWER_NO || in->attempt.again));
    (void)in;
    return answer;
}

PyTypeObject *
value_type(Interp *in, Value *value)
{
    const KindOfValue *kind = &in->kinds[value->kind];
    if (kind->exact != NULL) return kind->exact;
    return kind->type != NULL ? kind->type(in, value) : NULL;
}

bool
value_is_wide(const Value *value)
{
    int overflow = 0;
    if (value->kind == V_CONST && PyLong_CheckExact(value->object))
        (void)PyLong_AsLongLongAndOverflow(value->object, &overflow);
    return overflow != 0;
}

bool
int_is_unsigned(PyObject *number)
{
    (void)PyLong_AsUnsignedLongLong(number);
    bool fits = PyErr_Occurred() == NULL;
    PyErr_Clear();
    return fits;
}

const char *
value_describe(Interp *in, Value *value)
{
    if (value_is_wide(value)) return "an int that does not fit int64";
    const KindOfValue *kind = &in->kinds[value->kind];
    const char *name = kind->describe != NULL ? kind->describe(in, value) : NULL;
    PyErr_Clear();
    if (name != NULL) return name;
    if (value_is_opaque_object(in, value)) return Py_TYPE(object_sample(in, value))->tp_name;
    if (value_is_array(in, value) || value_is_opaque(in, value)) return "an array";
    PyTypeObject *type = value_type(in, value);
    PyErr_Clear();
    return type != NULL ? type->tp_name : "an object known only when the code runs";
}

const char *
value_named(Interp *in, Value *value)
{
    const char *kind = value_describe(in, value);
    const Activation *a = in->top;
    for (int i = 0; i < a->decoded->nlocalsplus; i++)
        if (a->slots[i] == value || (a->slots[i] == NULL && a->initial != NULL &&
                                     a->initial[i] == value)) /* read since a fork */
            return arena_printf(in->arena, "'%s' (%s)",
                                text_of_str(code_slot_name(a->decoded->code, i)), kind);
    return kind;
}

Answer
value_known(Interp *in, Value *value, PyObject **out)
{
    const KindOfValue *kind = &in->kinds[value->kind];
    Answer answer = kind->known != NULL ? kind->known(in, value, out) : ANSWER_NO;
    assert(answer_agrees(in, answer));
    return answer;
}

Answer
value_truth(Interp *in, Value *value, int *known, Value **node)
{
    const KindOfValue *kind = &in->kinds[value->kind];
    *known = -1;
    *node = NULL;
    if (kind->truth != NULL) return settled(in, kind->truth(in, value, known, node));
    return interp_break(in, value_break(value, BREAK_OPERATOR), "truth of %s",
                        value_describe(in, value));
}

int64_t
container_length(Interp *in, Value *value)
{
    const KindOfValue *kind = &in->kinds[value->kind];
    return kind->length != NULL ? kind->length(in, value) : -1;
}

Answer
container_contains(Interp *in, Value *item, Value *container, bool *out)
{
    const KindOfValue *kind = &in->kinds[container->kind];
    Answer answer = kind->contains != NULL ? kind->contains(in, item, container, out) : ANSWER_NO;
    assert(answer_agrees(in, answer));
    return answer;
}

Answer
value_subscript(Interp *in, Value *object, Value *key, Value **out)
{
    return settled(in, in->kinds[object->kind].subscript(in, object, key, out));
}

Answer
value_attribute(Interp *in, Value *object, PyObject *name, Value **out)
{
    const KindOfValue *kind = &in->kinds[object->kind];
    return settled(in, kind->attribute != NULL ? kind->attribute(in, object, name, out)
                                               : in->above->no_attribute(in, object, name));
}

Answer
value_store(Interp *in, Value *object, PyObject *name, Value *stored)
{
    const KindOfValue *kind = &in->kinds[object->kind];
    return settled(in, kind->store != NULL ? kind->store(in, object, name, stored)
                                           : in->above->cannot_store(in, object, name));
}

Answer
call_value(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    const KindOfValue *kind = &in->kinds[callable->kind];
    if (kind->call != NULL) return settled(in, kind->call(in, callable, nargs, args, kwnames, out));
    return interp_break(in, BREAK_CALL_C, "call of %s", value_describe(in, callable));
}

/* ---- iteration ---- */

Answer
break_iteration(Interp *in, Value *value)
{
    const PyTypeObject *type = value_type(in, value);
    PyErr_Clear();
    BreakCode code = value_break(value, BREAK_ITERATION);
    bool iterator = code == BREAK_ITERATION && type != NULL && type->tp_iternext != NULL &&
                    value->kind == V_OBJECT;
    BreakHint hint = type == &PyGen_Type ? HINT_RESUMED : iterator ? HINT_ITERATOR : HINT_OF_CODE;
    return break_hinted(in, code, hint, "iteration over %s", value_describe(in, value));
}

static Answer
no_iteration(Interp *in, Value *value)
{
    if (value_is_opaque_object(in, value)) /* a list that a library function makes */
        return interp_break_told(in, BREAK_ITERATION, BREAK_DATA_SIZE,
                                 "iteration over what a library function returns");
    return break_iteration(in, value);
}

Answer
iterator_of(Interp *in, Value *iterable, Value **out)
{
    const KindOfValue *kind = &in->kinds[iterable->kind];
    return settled(in, kind->iterate != NULL ? kind->iterate(in, iterable, out)
                                             : no_iteration(in, iterable));
}

Answer
iterator_next(Interp *in, Value *iterator, Value **out)
{
    const KindOfValue *kind = &in->kinds[iterator->kind];
    return settled(in,
                   kind->next != NULL ? kind->next(in, iterator, out) : no_iteration(in, iterator));
}

Answer
iterate_some(Interp *in, Value *iterable, Value *iterator, int most, ValueKind kind, Value **out)
{
    bool dirty = in->writes.dirty, before = in->writes.dirty_before;
    Value *item, *all = value_sequence(in, kind, 0, NULL);
    if (all == NULL) return ANSWER_ERROR;
    while (all->nitems < most) {
        Answer answer = iterator_next(in, iterator, &item);
        if (iterator != iterable && iterable->kind != V_OBJECT && iterable->kind != V_INSTANCE) {
            in->writes.dirty = dirty; /* nobody else has the iterator */
            in->writes.dirty_before = before;
        }
        if (answer != ANSWER_YES) return answer;
        if (item == NULL) break;
        if (all->nitems > in->attempt.unroll)
            return interp_break(in, BREAK_UNROLL, "more items than the unrolling budget");
        if (value_append(in, all, item) < 0) return ANSWER_ERROR;
    }
    *out = all;
    return ANSWER_YES;
}

Answer
iterate_rest(Interp *in, Value *iterable, Value *iterator, ValueKind kind, Value **out)
{
    return iterate_some(in, iterable, iterator, INT_MAX, kind, out);
}

Answer
iterate_all(Interp *in, Value *iterable, ValueKind kind, Value **out)
{
    Value *iterator;
    TRY(iterator_of(in, iterable, &iterator));
    return iterate_rest(in, iterable, iterator, kind, out);
}

/* ---- what the layers above do ---- */

Answer
operate_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    return settled(in, in->above->binary(in, operator_, left, right, out));
}

Answer
operate_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    return settled(in, in->above->compare(in, operator_, left, right, out));
}

Answer
operate_unary(Interp *in, InstrKind operator_, Value *operand, Value **out)
{
    return settled(in, in->above->unary(in, operator_, operand, out));
}

Answer
operate_is(Interp *in, Value *left, Value *right, bool *out)
{
    return settled(in, in->above->is(in, left, right, out));
}

Answer
operate_hash(Interp *in, Value *object, Py_hash_t *out)
{
    return settled(in, in->above->hash(in, object, out));
}

Answer
operate_contains(Interp *in, Value *item, Value *container, bool *out)
{
    return settled(in, in->above->contains(in, item, container, out));
}

Answer
operate_subscript(Interp *in, Value *object, Value *key, Value **out)
{
    return settled(in, in->above->subscript(in, object, key, out));
}

Answer
operate_store_subscript(Interp *in, Value *object, Value *key, Value *value)
{
    return settled(in, in->above->store_subscript(in, object, key, value));
}

Answer
operate_delete_subscript(Interp *in, Value *object, Value *key)
{
    return settled(in, in->above->delete_subscript(in, object, key));
}
