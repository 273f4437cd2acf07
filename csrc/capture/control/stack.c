/* Instructions that move values between the stack and the locals, and those that make containers.
 */
#include "control.h"

/* Of a module: the variable may be one of builtins, or the error is another one. */
static Answer
unbound_local(Interp *in, int slot)
{
    if (slot >= in->top->decoded->names_from)
        return interp_break(in, BREAK_INSTRUCTION, "a variable of the module without a value");
    return raise_new(in, PyExc_UnboundLocalError,
                     "cannot access local variable '%U' where it is not associated with a value",
                     code_slot_name(in->top->decoded->code, slot));
}

static Answer
load_local(Interp *in, const Instr *instr)
{
    Value *value = slot_load(in, in->top, instr->arg);
    if (value == NULL) return ANSWER_ERROR;
    if (value->kind == V_UNBOUND) {
        if (instr->kind == I_LOAD_LOCAL) return unbound_local(in, instr->arg);
        value = in->null;
    }
    if (instr->kind == I_LOAD_CLEAR) in->top->slots[instr->arg] = in->unbound;
    return pushed(in, value);
}

/* The n topmost values as an array in the arena. */
static Value **
operands(Interp *in, int n)
{
    Value **items = arena_alloc(in->arena, (size_t)n * sizeof(Value *));
    for (int i = 0; items != NULL && i < n; i++)
        if ((items[i] = top_value(in, n - i)) == NULL) return NULL;
    return items;
}

static Answer
build_sequence(Interp *in, ValueKind kind, int n)
{
    Value **items = operands(in, n);
    Value *value = items ? value_sequence(in, kind, n, items) : NULL;
    if (value == NULL) return ANSWER_ERROR;
    in->top->depth -= n;
    return pushed(in, value);
}

static Answer
build_set(Interp *in, int n)
{
    Value *set = set_value(in, PySet_New(NULL));
    if (set == NULL) return ANSWER_ERROR;
    for (int i = n; i > 0; i--) {
        Value *item = top_value(in, i);
        Answer answer = item ? set_add(in, set, item) : ANSWER_ERROR;
        if (answer != ANSWER_YES) return answer;
    }
    in->top->depth -= n;
    return pushed(in, set);
}

static Answer
build_map(Interp *in, const Instr *instr)
{
    Value *dict = value_sequence(in, V_DICT, 0, NULL);
    if (dict == NULL) return ANSWER_ERROR;
    bool pairs = instr->kind == I_BUILD_MAP;
    int n = instr->arg, used = pairs ? 2 * n : n + 1;
    for (int i = 0; i < n; i++) {
        Value *value = top_value(in, pairs ? used - 2 * i - 1 : used - i);
        Value *key = pairs ? top_value(in, used - 2 * i) : top_value(in, 1);
        if (value == NULL || key == NULL) return ANSWER_ERROR;
        if (!pairs && (key = value_item(in, key, i)) == NULL) return ANSWER_ERROR;
        PyObject *object;
        Answer answer = dict_key(in, key, &object);
        if (answer == ANSWER_YES) answer = dict_store(in, dict, object, value);
        if (answer != ANSWER_YES) return answer;
    }
    in->top->depth -= used;
    return pushed(in, dict);
}

/* ---- growing containers that comprehensions and displays make ---- */

/* Into what is no container that this graph made: capture began in the midst. */
static Answer
not_followed(Interp *in, const Instr *instr)
{
    const char *what = instr->kind == I_LIST_APPEND || instr->kind == I_LIST_EXTEND ? "list"
                       : instr->kind == I_MAP_ADD                                   ? "dict"
                                                                                    : "set";
    return break_hinted(in, BREAK_INSTRUCTION, HINT_BEGUN,
                        "an item for a %s that Python has begun to fill", what);
}

static Answer
extend(Interp *in, const Instr *instr)
{
    Value *iterable = top_value(in, 1), *target = top_value(in, instr->arg + 1), *ignored;
    if (iterable == NULL || target == NULL) return ANSWER_ERROR;
    if (target->kind != (instr->kind == I_LIST_EXTEND ? V_LIST : V_SET))
        return not_followed(in, instr);
    const char *name = target->kind == V_LIST ? "extend" : "update";
    Answer answer = builtin_method(in, target, name, 1, &iterable, NULL, &ignored);
    if (answer == ANSWER_YES) in->top->depth--;
    return answer;
}

/* The names of a call's ** argument, which must not occur twice. */
static Answer
dict_merge(Interp *in, const Instr *instr)
{
    Value *mapping = top_value(in, 1), *target = top_value(in, instr->arg + 1);
    if (mapping == NULL || target == NULL) return ANSWER_ERROR;
    mapping = model_dict(in, mapping);
    if (mapping->kind != V_DICT || target->kind != V_DICT)
        return interp_break(in, BREAK_INSTRUCTION, "merging a mapping that is not a known dict");
    for (int i = 0; instr->kind == I_DICT_MERGE && i < mapping->nitems; i += 2)
        if (dict_find(in, target, mapping->items[i]->object) >= 0)
            return interp_break(in, BREAK_EXCEPTION, "TypeError is raised here");
    Answer answer = dict_update(in, target, mapping);
    if (answer == ANSWER_YES) in->top->depth--;
    return answer;
}

/* A list that the turn of the innermost kept loop has made, as a display with * does. */
static bool
is_of_turn(const Interp *in, const Value *list)
{
    return list->kind == V_LIST && list->source == NO_SOURCE && list->serial >= in->turn->made;
}

static Answer
append_one(Interp *in, const Instr *instr)
{
    int operands_ = instr->kind == I_MAP_ADD ? 2 : 1;
    Value *value = top_value(in, 1), *target = top_value(in, instr->arg + operands_), *ignored;
    if (value == NULL || target == NULL) return ANSWER_ERROR;
    PyTypeObject *type = value_type(in, target); /* a real one where capture began inside */
    if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    Answer answer;
    if (in->loop != NULL && instr->kind == I_LIST_APPEND && is_of_turn(in, target)) {
        answer = value_append(in, target, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
    } else if (instr->kind == I_LIST_APPEND && type == &PyList_Type) {
        answer = builtin_method(in, target, "append", 1, &value, NULL, &ignored);
    } else if (instr->kind == I_SET_ADD && target->kind == V_SET) {
        answer = set_add(in, target, value);
    } else if (instr->kind == I_MAP_ADD && target->kind == V_DICT) {
        Value *key = top_value(in, 2);
        answer = key ? operate_store_subscript(in, target, key, value) : ANSWER_ERROR;
    } else {
        return not_followed(in, instr);
    }
    if (answer == ANSWER_YES) in->top->depth -= operands_;
    return answer;
}

/* ---- unpacking ---- */

/* Takes as many items as CPython does: one more than are wanted, or with a starred target all. */
static Answer
unpacked_items(Interp *in, Value *sequence, int before, bool star, Value **out)
{
    Value *iterator, *rest;
    TRY(iterator_of(in, sequence, &iterator));
    TRY(iterate_some(in, sequence, iterator, before + !star, V_LIST, out));
    if (!star || (*out)->nitems < before) return ANSWER_YES;
    TRY(iterate_list(in, sequence, iterator, &rest));
    for (int i = 0; i < rest->nitems; i++)
        if (value_append(in, *out, rest->items[i]) < 0) return ANSWER_ERROR;
    return ANSWER_YES;
}

/* A tuple that was made here, or is known: its items are there without an iterator, which would be
   one more object that the arm of a branch has changed. */
static Answer
unpack_tuple(Interp *in, Value *tuple)
{
    in->top->depth--;
    for (int i = tuple->nitems; i > 0; i--) {
        Value *item = value_item(in, tuple, i - 1);
        if (item == NULL || push(in, item) < 0) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* The items of an array whose length is known only when the plan runs: a step that makes sure of
   their number.  ANSWER_NO: it is no such array, or it is left to an iterator. */
static Answer
unpack_opaque(Interp *in, Value *array, int count)
{
    bool fits = count > 0 && in->loop == NULL && value_is_opaque(in, array) &&
                opaque_sample(in, array) != NULL;
    if (!fits) return ANSWER_NO;
    PyObject *class_ = calls_object(in, "Unpack"), *callable = NULL;
    if (class_ != NULL) callable = keep(in, PyObject_CallFunction(class_, "i", count));
    if (callable == NULL) return ANSWER_ERROR;
    Value *items;
    TRY(call_simple(in, callable, 1, &array, &items));
    if (items->kind != V_TUPLE || items->nitems != count)
        return interp_break(in, BREAK_ITERATION, "items of an array");
    return unpack_tuple(in, items);
}

static Answer
unpack(Interp *in, const Instr *instr)
{
    Value *sequence = top_value(in, 1), *items;
    if (sequence == NULL) return ANSWER_ERROR;
    bool made = sequence->source == NO_SOURCE || in->loop != NULL;
    if (sequence->kind == V_TUPLE && made && sequence->box == NULL && instr->kind == I_UNPACK &&
        instr->arg == sequence->nitems)
        return unpack_tuple(in, sequence);
    bool row =
        sequence->kind == V_PART || sequence->kind == V_SECTION || sequence->kind == V_EXPRESSION;
    if (row && instr->kind == I_UNPACK) return part_unpack(in, sequence, instr->arg);
    Answer opaque = instr->kind == I_UNPACK ? unpack_opaque(in, sequence, instr->arg) : ANSWER_NO;
    if (opaque != ANSWER_NO) return opaque;
    PyTypeObject *type = value_type(in, sequence);
    if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    if (type != NULL && type_is_no_iterable(type))
        return raise_new(in, PyExc_TypeError, "cannot unpack non-iterable %.200s object",
                         type->tp_name);
    bool star = instr->kind == I_UNPACK_EX;
    int before = star ? instr->arg & 255 : instr->arg, after = star ? instr->arg >> 8 : 0;
    TRY(unpacked_items(in, sequence, before, star, &items));
    int middle = items->nitems - before - after;
    if (middle < 0)
        return raise_new(in, PyExc_ValueError,
                         "not enough values to unpack (expected %s%d, got %d)",
                         star ? "at least " : "", before + after, items->nitems);
    if (!star && middle != 0)
        return raise_new(in, PyExc_ValueError, "too many values to unpack (expected %d)", before);
    in->top->depth--;
    for (int i = items->nitems; i > before + middle; i--)
        if (push(in, items->items[i - 1]) < 0) return ANSWER_ERROR;
    if (star) {
        Value *rest = value_sequence(in, V_LIST, middle, items->items + before);
        if (push(in, rest) < 0) return ANSWER_ERROR;
    }
    for (int i = before; i > 0; i--)
        if (push(in, items->items[i - 1]) < 0) return ANSWER_ERROR;
    return ANSWER_YES;
}

static Answer
list_to_tuple(Interp *in)
{
    Value *list = top_value(in, 1), *tuple;
    if (list == NULL) return ANSWER_ERROR;
    Answer answer = iterate_all(in, list, V_TUPLE, &tuple);
    if (answer != ANSWER_YES) return answer;
    in->top->depth--;
    return pushed(in, tuple);
}

static Answer
build_slice(Interp *in, int n)
{
    Value *items[3] = {top_value(in, n), top_value(in, n - 1), NULL};
    items[2] = n == 3 ? top_value(in, 1) : value_const(in, Py_None);
    if (items[0] == NULL || items[1] == NULL || items[2] == NULL) return ANSWER_ERROR;
    in->top->depth -= n;
    return pushed(in, value_sequence(in, V_SLICE, 3, items));
}

/* A local of the frame drops what it held before: its destruction may run code (a generator's
   finally, __del__), and that comes before the next instruction.  Of one that has not been read
   only this is guarded.  Arrays that a call which has just begun has for arguments are the
   caller's, too. */
static Answer
local_goes(Interp *in, int slot)
{
    bool fresh = in->request->number == in->bottom->decoded->first_traceable;
    const Value *old = in->top->slots[slot];
    if (in->top != in->bottom || (old != NULL && old->source == NO_SOURCE)) return ANSWER_YES;
    SourceId source =
        old != NULL ? old->source : source_add(in, SOURCE_SLOT, NO_SOURCE, slot, NULL, NULL);
    if (source == NO_SOURCE) return ANSWER_ERROR;
    if (in->out->sources.at[source].kind != SOURCE_SLOT)
        return ANSWER_YES; /* something else refers to it, too */
    PyObject *object = in->request->slots[in->out->sources.at[source].index];
    if (fresh && (object == NULL || array_is_exact(object))) return ANSWER_YES;
    return place_goes(in, source, object);
}

Answer
locals_go(Interp *in, const int *slots, int count)
{
    Answer answer = ANSWER_YES;
    for (int i = 0; answer == ANSWER_YES && i < count; i++) answer = local_goes(in, slots[i]);
    return answer;
}

/* Is the value still on the frame's stack, or in the local that the Instr has stored it to? */
static bool
is_still_there(const Activation *a, const Instr *instr, const Value *value)
{
    Value *const *stack = a->slots + a->decoded->nlocalsplus;
    for (int i = 0; i < a->depth; i++)
        if (stack[i] == value) return true;
    return instr->kind == I_STORE_LOCAL && a->slots[instr->arg] == value;
}

Answer
stack_goes(Interp *in, const Instr *instr)
{
    const Activation *a = in->bottom;
    Answer answer = ANSWER_YES;
    for (int i = 0; answer == ANSWER_YES && i < in->request->depth && i < 64; i++) {
        int slot = a->decoded->nlocalsplus + i;
        PyObject *object = in->request->slots[slot];
        if (object == NULL || (in->temporaries.used_slots >> i & 1) != 0) continue;
        const Value *value = a->initial[slot];
        if (value != NULL ? is_still_there(a, instr, value) : a->depth > i) continue;
        in->temporaries.used_slots |= (uint64_t)1 << i;
        SourceId source = source_add(in, SOURCE_SLOT, NO_SOURCE, slot, NULL, NULL);
        answer = source == NO_SOURCE ? ANSWER_ERROR : place_goes(in, source, object);
    }
    return answer;
}

Answer
follow_stack(Interp *in, const Instr *instr)
{
    Activation *a = in->top;
    switch (instr->kind) {
    case I_CONST: return pushed(in, value_const(in, code_const(in, instr->arg)));
    case I_LOAD_LOCAL:
    case I_LOAD_CLEAR: return load_local(in, instr);
    case I_STORE_LOCAL: {
        Value *value = top_value(in, 1);
        if (value == NULL) return ANSWER_ERROR;
        if (instr->arg >= a->decoded->names_from && in->request->slots[instr->arg] == NULL)
            return interp_break(in, BREAK_STORE, "a variable that is new in the module");
        Answer answer = local_goes(in, instr->arg);
        if (answer != ANSWER_YES) return answer;
        a->slots[instr->arg] = value->kind == V_NULL ? in->unbound : value;
        a->depth--;
        return ANSWER_YES;
    }
    case I_DELETE_LOCAL: {
        Value *value = slot_load(in, a, instr->arg);
        if (value == NULL) return ANSWER_ERROR;
        if (value->kind == V_UNBOUND) return unbound_local(in, instr->arg);
        Answer answer = local_goes(in, instr->arg);
        if (answer == ANSWER_YES) a->slots[instr->arg] = in->unbound;
        return answer;
    }
    case I_POP: a->depth--; return ANSWER_YES;
    case I_COPY: return pushed(in, top_value(in, instr->arg));
    case I_SWAP: {
        Value *top = top_value(in, 1), *other = top_value(in, instr->arg);
        if (top == NULL || other == NULL) return ANSWER_ERROR;
        *stack_at(in, 1) = other;
        *stack_at(in, instr->arg) = top;
        return ANSWER_YES;
    }
    case I_PUSH_NULL: return pushed(in, in->null);
    case I_BUILD_TUPLE: return build_sequence(in, V_TUPLE, instr->arg);
    case I_BUILD_LIST: return build_sequence(in, V_LIST, instr->arg);
    case I_BUILD_SET: return build_set(in, instr->arg);
    case I_BUILD_MAP:
    case I_BUILD_MAP_KEYS: return build_map(in, instr);
    case I_BUILD_STRING: return build_string(in, instr->arg);
    case I_BUILD_SLICE: return build_slice(in, instr->arg);
    case I_LIST_EXTEND:
    case I_SET_UPDATE: return extend(in, instr);
    case I_DICT_UPDATE:
    case I_DICT_MERGE: return dict_merge(in, instr);
    case I_LIST_APPEND:
    case I_SET_ADD:
    case I_MAP_ADD: return append_one(in, instr);
    case I_LIST_TO_TUPLE: return list_to_tuple(in);
    case I_FORMAT: return format_value(in, instr);
    case I_UNPACK:
    case I_UNPACK_EX: return unpack(in, instr);
    default: return interp_break(in, BREAK_INSTRUCTION, "%s", instr_name(instr->kind));
    }
}
