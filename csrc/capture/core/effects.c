/* Effects: changes that others can see, kept in program order until commit. */
#include "core.h"

#include <stdarg.h>

/* Classes and functions may have a value for each way to them. */
static bool
same_object(const Value *a, const Value *b)
{
    return a == b || (a->kind == V_CONST && b->kind == V_CONST && a->object == b->object);
}

static bool
same_target(const Effect *effect, BuildKind kind, PyObject *object, Value *const *args)
{
    if (effect->kind != kind) return false;
    switch (kind) {
    case EFFECT_STORE_ATTR:
    case EFFECT_DELETE_ATTR:
        return effect->object == object && same_object(effect->args[0], args[0]);
    case EFFECT_STORE_CELL: return effect->args[0] == args[0];
    default: return false;
    }
}

/* A later store to the same place replaces the value of the earlier one, since nothing reads it in
   between. */
int
effect_add(Interp *in, BuildKind kind, PyObject *object, SourceId source, int nargs,
           Value *const *args)
{
    int first = in->fork != NULL ? in->fork->neffects : 0;
    for (int i = in->writes.effects.len - 1; i >= first; i--) {
        Effect *old = &in->writes.effects.at[i];
        if (old->when != NULL) break;
        if (old->kind == EFFECT_CALL && old->nargs == CALL_ARGS) break; /* the call may read it */
        if (kind == EFFECT_STORE_ATTR && same_target(old, EFFECT_DELETE_ATTR, object, args)) break;
        if (kind == EFFECT_STORE_GLOBAL && old->kind == EFFECT_DELETE_GLOBAL &&
            old->object == object && old->source == source)
            break; /* it is added again, behind the others */
        if ((kind != EFFECT_DELETE_ATTR && same_target(old, kind, object, args)) ||
            (kind == EFFECT_STORE_GLOBAL && old->kind == kind && old->object == object &&
             old->source == source)) {
            old->args[nargs - 1] = args[nargs - 1];
            return 0;
        }
    }
    if (object != NULL && keep(in, Py_NewRef(object)) == NULL) return -1;
    Effect effect = {.kind = kind, .nargs = nargs, .object = object, .source = source};
    effect.number = in->bottom->number;
    for (int i = 0; i < nargs; i++) effect.args[i] = args[i];
    return VEC_PUSH(in->arena, &in->writes.effects, effect);
}

/* ---- what was stored under names, and is not committed yet ---- */

static bool
is_pending(const StoredGlobal *stored, PyObject *holder, PyObject *name)
{
    return stored->dict == holder &&
           (stored->name == name || PyUnicode_Compare(stored->name, name) == 0);
}

Value *
pending_find(Interp *in, PyObject *holder, PyObject *name)
{
    for (int i = 0; i < in->writes.stored_globals.len; i++)
        if (is_pending(&in->writes.stored_globals.at[i], holder, name))
            return in->writes.stored_globals.at[i].value;
    return NULL;
}

int
pending_store(Interp *in, PyObject *holder, PyObject *name, Value *value)
{
    for (int i = 0; i < in->writes.stored_globals.len; i++) {
        StoredGlobal *stored = &in->writes.stored_globals.at[i];
        if (!is_pending(stored, holder, name)) continue;
        stored->value = value;
        return 0;
    }
    StoredGlobal stored = {.dict = holder, .name = name, .value = value};
    return VEC_PUSH(in->arena, &in->writes.stored_globals, stored);
}

Answer
break_of_overlap(Interp *in)
{
    return interp_break(in, BREAK_STORE, "a change of an object that overlaps another one");
}

/* Fetches the items of a list that were not read yet, since their places will move. */
Answer
container_moves(Interp *in, Value *container)
{
    Answer answer = container_changes(in, container);
    if (answer != ANSWER_YES || container->source == NO_SOURCE || container->kind != V_LIST)
        return answer;
    for (int i = 0; i < container->nitems; i++)
        if (value_item(in, container, i) == NULL) return ANSWER_ERROR;
    return ANSWER_YES;
}

/* Finds an iterator over the container among the values that the program can reach. */
static bool
is_walked(const Value *value, const Value *container, int depth)
{
    if (value == NULL || depth > 4) return false;
    if (value->kind == V_ITER) {
        const Value *of = value->walked;
        if (of == container || (of != NULL && of->kind == V_VIEW && of->dict == container))
            return !value->mutated;
        if (of != NULL && is_walked(of, container, depth + 1)) return true;
        if (of != NULL && of->kind == V_SET) return false; /* it has the set's own items */
    } else if (value->kind != V_TUPLE && value->kind != V_LIST && value->kind != V_CELL &&
               value->kind != V_INSTANCE) {
        return false;
    }
    for (int i = 0; i < value->nitems; i++)
        if (is_walked(value->items[i], container, depth + 1)) return true;
    return value->kind == V_INSTANCE && (is_walked(value->attributes, container, depth + 1) ||
                                         is_walked(value->core, container, depth + 1));
}

/* A dict or set is about to gain or lose an entry.  The behaviour of an iterator over it then
   depends on the layout of its table, so capture stops while the iterator can still be built in its
   present state. */
Answer
container_resizes(Interp *in, Value *container)
{
    for (Activation *a = in->top; a != NULL; a = a->caller) {
        int n = a->decoded->nlocalsplus + a->depth;
        for (int i = 0; i < n; i++)
            if (is_walked(a->slots[i], container, 0))
                return interp_break(in, BREAK_ITERATION, "a change of %s while it is walked",
                                    value_describe(in, container));
    }
    return ANSWER_YES;
}

static bool
was_there(const Value *object, int made)
{
    return object == NULL || object->source != NO_SOURCE || object->serial < made;
}

void
change_count(Interp *in, const Value *object)
{
    in->writes.changes += was_there(object, in->writes.counted_since);
}

int
change_note(Interp *in, const Value *object, const char *format, ...)
{
    const char *text = NULL;
    BreakFrame at;
    for (Turn *turn = in->turn; in->loop != NULL && turn != NULL; turn = turn->around) {
        if (!was_there(object, turn->made) || turn->change != NULL) continue;
        if (text == NULL) {
            va_list args;
            va_start(args, format);
            text = arena_vprintf(in->arena, format, args);
            va_end(args);
            if (text == NULL || user_line(in, &at) < 0) return -1;
        }
        const char *loop = text_of_str(turn->of->decoded->code->co_qualname);
        bool here = strcmp(at.function, loop) == 0;
        turn->change = arena_printf(in->arena, "%s, line %d%s%s%s", text, at.line,
                                    here ? "" : " of '", here ? "" : at.function, here ? "" : "'");
        if (turn->change == NULL) return -1;
    }
    return 0;
}

Answer
container_changes(Interp *in, Value *container)
{
    change_count(in, container);
    if (in->loop != NULL && change_note(in, container, "an object other than arrays: %s",
                                        value_named(in, container)) < 0)
        return ANSWER_ERROR;
    if (container->source == NO_SOURCE) return ANSWER_YES;
    if (in->writes.refuse_writes) return break_of_overlap(in);
    if (container->kind == V_DICT && container->object != NULL &&
        dict_named(container->object, "__builtins__") != NULL)
        return interp_break(in, BREAK_STORE, "a change of a module's namespace by its dict");
    container->mutated = true;
    return ANSWER_YES;
}
