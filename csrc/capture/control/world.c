/* The interpreter's state at a fork: saved, compared, restored.  Values are compared by their
   contents, so that every change is found: also that of a list to which an arm appended. */
#include "control.h"

/* At each fork all values are saved that there are, compared and taken back: in what is unrolled or
   inlined that is the greater part of the work, and grows with the square of its length.  As many
   values take as long as one instruction that is followed.  A function that calls itself twice has
   its forks as often as it is called, and is left alone sooner. */
enum { SAVED_PER_INSTRUCTION = 64, SAVED_IN_RECURSION = 2 };

static bool
has_state(const Value *value)
{
    return value->kind != V_CONST && value->kind != V_TUPLE && value->kind != V_NULL &&
           value->kind != V_UNBOUND;
}

static int
state_of(Interp *in, Value *value, State *out)
{
    *out = (State){.value = value,
                   .kind = value->kind,
                   .node = value->node,
                   .nitems = value->nitems,
                   .of = value->of,
                   .position = value->position,
                   .mutated = value->mutated};
    if (value->exception != NULL) {
        out->exception = arena_copy(in->arena, value->exception, sizeof *value->exception);
        if (out->exception == NULL) return -1;
    }
    if (value->nitems == 0 || !has_state(value)) return 0;
    size_t size = (size_t)value->nitems * sizeof(Value *);
    if (value->items == NULL) return 0;
    return (out->items = arena_copy(in->arena, value->items, size)) == NULL ? -1 : 0;
}

/* Items that had not been read may have been fetched from outside meanwhile. */
static bool
is_fetched(const Value *value)
{
    return value->source != NO_SOURCE && value->kind != V_CELL;
}

/* Its cause, its context, its traceback. */
static bool
exception_changed(const State *state)
{
    const Exception *before = state->exception;
    return before != NULL && memcmp(before, state->value->exception, sizeof *before) != 0;
}

static bool
is_changed(const State *state)
{
    const Value *value = state->value;
    if (state->kind == V_CONST || state->kind == V_TUPLE || state->kind == V_NULL ||
        state->kind == V_UNBOUND)
        return false;
    if (value->kind == V_CONST && state->kind == V_NODE) return false; /* it became known */
    if (value->kind != state->kind || value->nitems != state->nitems || value->of != state->of ||
        value->position != state->position || exception_changed(state))
        return true;
    if (state->kind == V_NODE) return value->node != state->node;
    for (int i = 0; i < state->nitems && state->items != NULL; i++)
        if (value->items[i] != state->items[i] && (state->items[i] != NULL || !is_fetched(value)))
            return true;
    return false;
}

int
world_save(Interp *in, World *world)
{
    const Activation *a = in->top;
    *world = (World){.nvalues = in->attempt.values.len,
                     .nslots = a->decoded->nlocalsplus + a->depth,
                     .neffects = in->writes.effects.len,
                     .nglobals = in->writes.stored_globals.len,
                     .nstorages = in->memory.storages.len,
                     .nwrites = in->memory.writes.len,
                     .depth = a->depth,
                     .nodes = in->graph->nodes.len};
    world->states = arena_alloc(in->arena, sizeof(State) * (size_t)(world->nvalues + 1));
    if (world->states == NULL) return -1;
    in->attempt.budget -=
        world->nvalues / (is_recursion(a) ? SAVED_IN_RECURSION : SAVED_PER_INSTRUCTION);
    for (int i = 0; i < world->nvalues; i++)
        if (state_of(in, in->attempt.values.at[i], &world->states[i]) < 0) return -1;
#define COPY(to, from, count)                                                                      \
    if ((world->to = arena_copy(in->arena, from, sizeof(*world->to) * (size_t)(count))) == NULL && \
        (count) > 0)                                                                               \
    return -1
    COPY(slots, a->slots, world->nslots);
    COPY(effects, in->writes.effects.at, world->neffects);
    COPY(globals, in->writes.stored_globals.at, world->nglobals);
    COPY(storages, in->memory.storages.at, world->nstorages);
#undef COPY
    return 0;
}

static bool
same_bytes(const void *a, const void *b, size_t size, int count)
{
    return count == 0 || memcmp(a, b, size * (size_t)count) == 0;
}

/* An effect that can be done under an arm's condition. */
static bool
may_be_left_out(const Effect *effect)
{
    return effect->kind == EFFECT_STORE_ATTR || effect->kind == EFFECT_CALL;
}

static bool
changes_its_first(const Effect *effect)
{
    return effect->kind == EFFECT_STORE_ITEM || effect->kind == EFFECT_DELETE_ITEM ||
           effect->kind == EFFECT_DELETE_ATTR || effect->kind == EFFECT_METHOD;
}

/* A value of an array whose memory it is. */
static Value *
array_of_memory(const Interp *in, const World *w, NodeId root)
{
    for (int i = 0; i < w->nvalues; i++) {
        Value *value = w->states[i].value;
        if (value->kind == V_NODE && graph_node(in->graph, value->node)->storage == root)
            return value;
    }
    return NULL;
}

bool
world_is_pure(Interp *in, const World *w, bool writes, Value **changed)
{
    *changed = NULL;
    if (in->writes.effects.len < w->neffects || in->writes.stored_globals.len != w->nglobals ||
        !same_bytes(in->writes.effects.at, w->effects, sizeof(Effect), w->neffects) ||
        !same_bytes(in->writes.stored_globals.at, w->globals, sizeof(StoredGlobal), w->nglobals))
        return false;
    for (int i = w->neffects; i < in->writes.effects.len; i++) {
        const Effect *effect = &in->writes.effects.at[i];
        if (may_be_left_out(effect)) continue;
        *changed = changes_its_first(effect) ? effect->args[0] : NULL;
        return false;
    }
    for (int i = 0; i < in->memory.storages.len; i++) {
        const Storage *now = &in->memory.storages.at[i];
        NodeId before = i < w->nstorages ? w->storages[i].version : now->root;
        bool commits = i < w->nstorages && now->commit != w->storages[i].commit;
        bool written = world_is_older(in, w, now) && now->version != before;
        if ((written && !(writes && storage_is_mergeable(in, now))) || commits) {
            *changed = array_of_memory(in, w, now->root);
            return false;
        }
    }
    for (int i = 0; i < w->nvalues; i++) {
        const State *state = &w->states[i];
        *changed = state->value;
        if (state->value->kind == V_ITER &&
            (state->value->position != state->position || state->value->mutated != state->mutated))
            return false;
        if (exception_changed(state)) return false;
        if (state->value->kind != state->kind && is_changed(state)) return false;
    }
    *changed = NULL;
    return true;
}

bool
world_changed(const World *w)
{
    for (int i = 0; i < w->nvalues; i++)
        if (is_changed(&w->states[i])) return true;
    return false;
}

/* An object from outside that was first read in an arm, and whose attributes the program stored. */
static bool
is_stored_to(const Value *value)
{
    return value->kind == V_OBJECT && value->source != NO_SOURCE && value->nitems > 0;
}

/* Arrays from before have their versions of then. */
static int
take_back_writes(Interp *in, const World *world, World *changed)
{
    size_t bytes = sizeof(Storage) * (size_t)in->memory.storages.len;
    changed->nstorages = in->memory.storages.len;
    changed->nwrites = in->memory.writes.len - world->nwrites;
    changed->storages = arena_copy(in->arena, in->memory.storages.at, bytes);
    changed->writes = arena_copy(in->arena, in->memory.writes.at + world->nwrites,
                                 sizeof(ArrayWrite) * (size_t)changed->nwrites);
    if ((changed->storages == NULL && bytes > 0) ||
        (changed->writes == NULL && changed->nwrites > 0))
        return -1;
    in->memory.writes.len = world->nwrites;
    for (int i = 0; i < in->memory.storages.len; i++) {
        Storage *storage = &in->memory.storages.at[i];
        if (!world_is_older(in, world, storage)) continue;
        bool known = i < world->nstorages;
        storage->version = known ? world->storages[i].version : storage->root;
        storage->written = known && world->storages[i].written;
    }
    return 0;
}

int
world_take_back(Interp *in, const World *world, World *changed)
{
    Activation *a = in->top;
    *changed = (World){.nslots = a->decoded->nlocalsplus + a->depth,
                       .depth = a->depth,
                       .neffects = in->writes.effects.len - world->neffects};
    size_t effects = sizeof(Effect) * (size_t)changed->neffects;
    changed->effects = arena_copy(in->arena, in->writes.effects.at + world->neffects, effects);
    if (changed->effects == NULL && effects > 0) return -1;
    in->writes.effects.len = world->neffects;
    if (take_back_writes(in, world, changed) < 0) return -1;
    changed->states = arena_alloc(in->arena, sizeof(State) * (size_t)(in->attempt.values.len + 1));
    changed->slots = arena_copy(in->arena, a->slots, sizeof(Value *) * (size_t)changed->nslots);
    if (changed->states == NULL || (changed->slots == NULL && changed->nslots > 0)) return -1;
    for (int i = 0; i < world->nvalues; i++) {
        const State *state = &world->states[i];
        if (!is_changed(state)) continue;
        Value *value = state->value;
        if (state_of(in, value, &changed->states[changed->nvalues++]) < 0) return -1;
        if (state->nitems > value->cap && state->nitems > value->nitems) value->cap = 0;
        if (state->items != NULL) {
            size_t size = sizeof(Value *) * (size_t)state->nitems;
            if ((value->items = arena_copy(in->arena, state->items, size)) == NULL) return -1;
            value->cap = state->nitems;
        }
        value->nitems = state->nitems;
        value->of = state->of;
        value->position = state->position;
        value->node = state->node;
    }
    for (int i = world->nvalues; i < in->attempt.values.len; i++) {
        Value *value = in->attempt.values.at[i];
        if (!is_stored_to(value)) continue;
        if (state_of(in, value, &changed->states[changed->nvalues++]) < 0) return -1;
        value->nitems = value->cap = 0;
    }
    for (int i = 0; i < world->nslots; i++) {
        Value *before = world->slots[i];
        if (before == NULL && a == in->bottom) before = a->initial[i]; /* read since */
        a->slots[i] = before;
    }
    a->depth = world->depth;
    return 0;
}
