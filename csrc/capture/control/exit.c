/* How capture ends: effects in program order, the frame's changed slots. */
#include "control.h"

/* ---- effects ---- */

static Answer
failed(Interp *in)
{
    return PyErr_Occurred() || in->break_code == BREAK_NONE ? ANSWER_ERROR : ANSWER_BREAK;
}

static Answer
guard_differs(Interp *in, GuardKind kind, SourceId source, SourceId other)
{
    Guard guard = {.kind = kind, .source = source, .other = other};
    return other == NO_SOURCE || guard_add(in, &guard) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Guards that a dict from outside is not the __dict__ of an object whose attributes were read,
   where either was changed. */
static Answer
guard_not_dict(Interp *in, const Value *dict)
{
    for (int i = 0; i < in->sources.outside.len; i++) {
        const Value *object = in->sources.outside.at[i];
        if (object->kind != V_OBJECT || !(object->mutated || dict->mutated) ||
            object->attributes != NULL || object->type == NULL || !type_has_dict(object->type))
            continue;
        if (instance_dict(object->object) == dict->object) return ANSWER_NO;
        Answer answer = guard_differs(in, GUARD_NOT_DICT, dict->source, object->source);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* The same for the attributes that the program stored on functions, and for namespaces in which it
   stored. */
static Answer
guard_not_stored(Interp *in, const Value *dict)
{
    for (int i = 0; i < in->writes.stored_globals.len; i++) {
        PyObject *holder = in->writes.stored_globals.at[i].dict;
        bool known = false;
        for (int k = 0; k < i; k++) known = known || in->writes.stored_globals.at[k].dict == holder;
        if (known || PyType_Check(holder)) continue;
        if (holder == dict->object) return ANSWER_NO;
        if (!PyDict_Check(holder) && instance_dict(holder) == dict->object) return ANSWER_NO;
        Answer answer = guard_differs(in, PyDict_Check(holder) ? GUARD_NOT_SAME : GUARD_NOT_DICT,
                                      dict->source, source_of_const(in, holder));
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* The object of a source from which a value was made, or NULL. */
static PyObject *
object_of(const Interp *in, SourceId id)
{
    if (id == NO_SOURCE) return NULL;
    if (in->out->sources.at[id].kind == SOURCE_CONST) return in->out->sources.at[id].object;
    const Value *value = value_of_source(in, id);
    return value == NULL ? NULL : value->object;
}

/* Guards that a changed dict is not what a function keeps: its attributes, or its defaults. */
static Answer
guard_not_kept(Interp *in, const Value *dict, SourceId id)
{
    Source source = in->out->sources.at[id];
    PyObject *object = object_of(in, id), *holder = object_of(in, source.base);
    if (object != NULL && PyFunction_Check(object) &&
        ((PyFunctionObject *)object)->func_dict == dict->object)
        return ANSWER_NO;
    if (source.kind != SOURCE_ATTR || holder == NULL || !PyFunction_Check(holder) ||
        PyUnicode_CompareWithASCIIString(source.key, "__kwdefaults__") != 0)
        return ANSWER_YES;
    if (PyFunction_GET_KW_DEFAULTS(holder) == dict->object) return ANSWER_NO;
    return guard_differs(in, GUARD_NOT_SAME, dict->source, id);
}

/* Guards that a changed dict is not this namespace, whose names were read. */
static Answer
guard_not_namespace(Interp *in, const Value *dict, PyObject *namespace)
{
    if (namespace == NULL) return ANSWER_YES;
    if (namespace == dict->object) return ANSWER_NO;
    SourceId other = source_of_const(in, namespace);
    for (int i = 0; i < in->out->guards.len; i++) {
        const Guard *guard = &in->out->guards.at[i];
        if (guard->kind == GUARD_NOT_SAME && guard->source == dict->source && guard->other == other)
            return ANSWER_YES;
    }
    return guard_differs(in, GUARD_NOT_SAME, dict->source, other);
}

/* Guards that a changed dict is not read by other ways than its items. */
static Answer
guard_not_read(Interp *in, const Value *dict)
{
    Answer answer = ANSWER_YES;
    for (int i = 0, n = in->out->sources.len; answer == ANSWER_YES && i < n; i++) {
        Source source = in->out->sources.at[i];
        answer = guard_not_kept(in, dict, i);
        if (source.kind != SOURCE_GLOBAL || answer != ANSWER_YES) continue;
        answer = guard_not_namespace(in, dict, source.object);
        if (answer == ANSWER_YES && source.base != NO_SOURCE)
            answer = guard_not_namespace(in, dict, object_of(in, source.base));
    }
    return answer;
}

/* Guards that a changed container from outside is not another one that was read. */
static Answer
guard_distinct(Interp *in)
{
    for (int i = 0; i < in->sources.outside.len; i++) {
        if (in->sources.outside.at[i]->kind != V_DICT && !dict_is_apart(in->sources.outside.at[i]))
            continue;
        Answer answer = guard_not_dict(in, in->sources.outside.at[i]);
        if (answer == ANSWER_YES) answer = guard_not_stored(in, in->sources.outside.at[i]);
        if (answer == ANSWER_YES && in->sources.outside.at[i]->mutated)
            answer = guard_not_read(in, in->sources.outside.at[i]);
        if (answer != ANSWER_YES) return answer;
    }
    for (int i = 0; i < in->sources.outside.len; i++) {
        Value *value = in->sources.outside.at[i];
        if (!value->mutated) continue;
        for (int k = 0; k < in->sources.outside.len; k++) {
            Value *other = in->sources.outside.at[k];
            if (other == value || other->type != value->type || (other->mutated && k < i) ||
                other == value->core || other == value->box)
                continue;
            Guard guard = {.kind = GUARD_NOT_SAME, .source = value->source, .other = other->source};
            if (guard_add(in, &guard) < 0) return ANSWER_ERROR;
        }
    }
    return ANSWER_YES;
}

/* A store to a cell that this call of the function made, when the function returns: it is visible
   only if an object that holds the cell leaves. */
static bool
stores_own_cell(const Interp *in, const Effect *effect)
{
    if (effect->kind != EFFECT_STORE_CELL || in->out->exit.kind != EXIT_RETURN ||
        in->request->number != in->request->decoded->first_traceable)
        return false;
    const Source *source = &in->out->sources.at[effect->args[0]->source];
    return source->kind == SOURCE_SLOT &&
           !(code_slot_kind(in->request->decoded->code, source->index) & SLOT_FREE);
}

static Answer
build_effect(Interp *in, const Effect *effect)
{
    BuildId *args = build_all(in, effect->nargs, effect->args);
    if (args == NULL) return failed(in);
    Build build = {.kind = effect->kind,
                   .nargs = effect->nargs,
                   .args = args,
                   .object = effect->object,
                   .node = NO_NODE,
                   .source = effect->source};
    build.number = effect->number;
    if (effect->when != NULL && !build_is_check(effect->kind, effect->nargs)) {
        BuildId when = build_value(in, effect->when);
        if (when == NO_BUILD) return failed(in);
        build.when = when + 1;
    }
    return VEC_PUSH(in->arena, &in->out->builds, build) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Builds the stores to those cells that leave; building one may let another leave. */
static Answer
build_own_cells(Interp *in)
{
    bool *done = arena_alloc(in->arena, (size_t)in->writes.effects.len + 1);
    if (done == NULL) return ANSWER_ERROR;
    memset(done, 0, (size_t)in->writes.effects.len + 1);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < in->writes.effects.len; i++) {
            const Effect *effect = &in->writes.effects.at[i];
            if (done[i] || !stores_own_cell(in, effect) || effect->args[0]->built <= 0) continue;
            done[i] = more = true;
            Answer answer = build_effect(in, effect);
            if (answer != ANSWER_YES) return answer;
        }
    }
    return ANSWER_YES;
}

static Answer
build_effects(Interp *in)
{
    if (in->memory.drawn != NULL && build_value(in, in->memory.drawn) == NO_BUILD)
        return failed(in);
    for (int i = 0; i < in->writes.texts.len; i++)
        if (in->writes.texts.at[i]->kind == V_PURE &&
            build_value(in, in->writes.texts.at[i]) == NO_BUILD)
            return failed(in);
    Answer settled = generators_settle(in);
    if (settled != ANSWER_YES) return settled;
    for (int i = 0; i < in->writes.effects.len; i++) {
        Effect *effect = &in->writes.effects.at[i];
        if (writes_commit(in, i + 1) < 0) return failed(in);
        if (stores_own_cell(in, effect)) continue;
        Answer built = build_effect(in, effect);
        if (built != ANSWER_YES) return built;
    }
    Answer own = build_own_cells(in);
    if (own != ANSWER_YES) return own;
    Answer answer = guard_distinct(in);
    return answer == ANSWER_YES ? writes_finish(in) : answer;
}

/* ---- exits ---- */

/* The frame can be left: no state is in force that only CPython can establish. */
static Answer
exit_is_plain(Interp *in)
{
    int since = handlers_alive_since(in);
    if (since < 0) return ANSWER_YES;
    in->raising.unbuilt = since + 1;
    return interp_break(in, BREAK_WITH, "a handler or an error state that was entered here");
}

Answer
exit_return(Interp *in, Value *result)
{
    Exit *exit = &in->out->exit;
    if (in->errstate.depth > 0 || in->devices.depth > 0) {
        Answer plain = exit_is_plain(in);
        if (plain != ANSWER_YES) return plain;
    }
    exit->kind = EXIT_RETURN;
    exit->number = in->bottom->number;
    exit->nslots = 1;
    exit->slot_index = arena_alloc(in->arena, sizeof(int32_t));
    exit->slot_value = arena_alloc(in->arena, sizeof(BuildId));
    if (exit->slot_index == NULL || exit->slot_value == NULL) return ANSWER_ERROR;
    BuildId build = build_value(in, result);
    if (build == NO_BUILD) return failed(in);
    exit->slot_value[0] = build;
    return build_effects(in);
}

/* Methods in C that are on the stack, waiting to be called: an error names the class only where
   CPython has the function and the object, as after LOAD_METHOD. */
static int
split_methods(Interp *in, Value **stack, int depth)
{
    for (int i = 0; i < depth; i++) {
        Value *method = stack[i];
        int low = CALL_NULL_FIRST ? i - 1 : i, null = CALL_NULL_FIRST ? low : i + 1;
        if (method == NULL || method->kind != V_BUILTIN_METHOD || !method->paired || null < 0 ||
            null >= depth || stack[null] != in->null)
            continue;
        PyTypeObject *type = value_type(in, method->items[0]);
        PyObject *name = interned(in, method->name);
        PyObject *found = type != NULL && name != NULL ? _PyType_Lookup(type, name) : NULL;
        if (PyErr_Occurred()) return -1;
        if (found == NULL || type_is_heap(type) ||
            !PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR))
            continue;
        stack[low + 1] = method->items[0];
        if ((stack[low] = value_const(in, found)) == NULL) return -1;
    }
    return 0;
}

static Answer
exit_state(Interp *in, Exit *exit)
{
    Answer plain = exit_is_plain(in);
    if (plain != ANSWER_YES) return plain;
    Activation *a = in->bottom;
    int nlocals = a->decoded->nlocalsplus, n = nlocals + a->depth;
    exit->depth = a->depth;
    exit->slot_index = arena_alloc(in->arena, (size_t)n * sizeof(int32_t));
    exit->slot_value = arena_alloc(in->arena, (size_t)n * sizeof(BuildId));
    Value **slots = arena_copy(in->arena, a->slots, (size_t)n * sizeof(Value *));
    if (exit->slot_index == NULL || exit->slot_value == NULL || slots == NULL) return ANSWER_ERROR;
    if (split_methods(in, slots + nlocals, a->depth) < 0) return ANSWER_ERROR;
    for (int slot = 0; slot < n; slot++) {
        Value *value = slots[slot];
        if (value == NULL || value == a->initial[slot]) continue;
        BuildId build = NO_BUILD;
        if (value->kind == V_LOST) return branch_wants(in, value);
        if (value->kind != V_UNBOUND && (build = build_value(in, value)) == NO_BUILD)
            return failed(in);
        exit->slot_index[exit->nslots] = slot;
        exit->slot_value[exit->nslots++] = build;
    }
    return build_effects(in);
}

Answer
exit_break(Interp *in, int number)
{
    in->out->exit =
        (Exit){.kind = EXIT_BREAK, .number = number, .at = number, .condition = NO_BUILD};
    return exit_state(in, &in->out->exit);
}

Answer
exit_branch(Interp *in, Value *condition, int on_true, int on_false)
{
    in->out->exit = (Exit){.kind = EXIT_BRANCH, .number = on_true, .other = on_false};
    in->out->exit.at = in->bottom->number;
    BuildId build = build_value(in, condition);
    if (build == NO_BUILD) return failed(in);
    in->out->exit.condition = build;
    return exit_state(in, &in->out->exit);
}

/* Not at an Instr that is stepped, but where the next graph begins. */
Answer
exit_on(Interp *in, int number)
{
    Value *always = value_const(in, Py_True);
    return always == NULL ? ANSWER_ERROR : exit_branch(in, always, number, number);
}

Answer
exit_ways(Interp *in, const Leaving *leaving, int nways, const ExitWay *ways, BuildId turns)
{
    Exit *exit = &in->out->exit;
    *exit = (Exit){.kind = EXIT_WAYS, .at = in->bottom->number, .turns = turns, .nways = nways};
    exit->number = exit->at;
    exit->way = arena_copy(in->arena, ways, sizeof(ExitWay) * (size_t)nways);
    if (exit->way == NULL) return ANSWER_ERROR;
    exit->condition = build_value(in, leaving->number);
    return exit->condition == NO_BUILD ? failed(in) : exit_state(in, exit);
}
