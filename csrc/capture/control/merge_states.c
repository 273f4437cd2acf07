/* Merging the changes of two arms to the state before them: containers, attributes of objects, the
   frame's slots. */
#include "merge.h"

/* The value's state after the arm: changed by it, or as before. */
static const State *
state_or(const World *changed, const State *before)
{
    for (int k = 0; k < changed->nvalues; k++)
        if (changed->states[k].value == before->value) return &changed->states[k];
    return before;
}

static Value *
state_item(const State *state, PyObject *name)
{
    for (int i = 0; i + 1 < state->nitems; i += 2)
        if (state->items[i]->object == name) return state->items[i + 1];
    return NULL;
}

/* The attributes of an object from outside after both arms; `x` and `y` are those that the arms
   stored. */
static Answer
merge_attributes(Merge *m, Value *object, const State *x, const State *y)
{
    const State *states[2] = {x, y};
    Value *all = value_sequence(m->in, V_DICT, 0, NULL);
    if (all == NULL) return ANSWER_ERROR;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i + 1 < states[k]->nitems; i += 2) {
            Value *name = states[k]->items[i], *both[2], *merged;
            State known = {.nitems = all->nitems, .items = all->items};
            if (state_item(&known, name->object) != NULL) continue;
            for (int arm = 0; arm < 2; arm++) {
                both[arm] = state_item(states[arm], name->object);
                Answer found = ANSWER_YES;
                if (both[arm] == NULL) /* as it was before */
                    found = own_find(m->in, object, name->object, false, true, &both[arm]);
                if (found == ANSWER_YES && (both[arm] == NULL || both[arm]->kind == V_UNBOUND))
                    found = ANSWER_NO;
                if (found != ANSWER_YES) return found;
            }
            Answer answer = merge_value(m, both[0], both[1], &merged);
            if (answer != ANSWER_YES) return answer;
            if (value_append(m->in, all, name) < 0 || value_append(m->in, all, merged) < 0)
                return ANSWER_ERROR;
        }
    object->items = all->items;
    object->nitems = object->cap = all->nitems;
    object->mutated = true;
    return ANSWER_YES;
}

/* Objects that were first read in an arm, and whose attributes the arms stored. */
static Answer
merge_met(Merge *m, const World *before, const World arms[2])
{
    for (int arm = 0; arm < 2; arm++)
        for (int i = 0; i < arms[arm].nvalues; i++) {
            Value *value = arms[arm].states[i].value;
            if (value->serial < before->nvalues || value->nitems > 0) continue; /* done */
            State none = {.value = value};
            const State *x = state_or(&arms[0], &none), *y = state_or(&arms[1], &none);
            Answer answer = merge_attributes(m, value, x, y);
            if (answer != ANSWER_YES) return answer;
        }
    return ANSWER_YES;
}

static Answer
not_merged(Merge *m, Value *value)
{
    return merge_changes(m, "its sides change", value);
}

/* Containers from before the fork that an arm changed. */
Answer
merge_changed(Merge *m, const World *before, const World arms[2])
{
    for (int i = 0; i < before->nvalues && arms[0].nvalues + arms[1].nvalues > 0; i++) {
        const State *was = &before->states[i];
        const State *x = state_or(&arms[0], was), *y = state_or(&arms[1], was);
        if (x == y) continue;
        Value *value = x->value, **items, *of = x->of;
        if (value->kind == V_NODE) return not_merged(m, value);
        if (value->kind == V_OBJECT && x->of == y->of) {
            Answer stored = merge_attributes(m, value, x, y);
            if (stored == ANSWER_NO) return not_merged(m, value);
            if (stored != ANSWER_YES) return stored;
            continue;
        }
        if (x->of != y->of) { /* its __dict__ was made in an arm */
            if (x->of == NULL || y->of == NULL) return not_merged(m, value);
            Answer merged = merge_value(m, x->of, y->of, &of);
            if (merged == ANSWER_YES && of->kind != x->of->kind) merged = ANSWER_NO;
            if (merged == ANSWER_NO) return not_merged(m, value);
            if (merged != ANSWER_YES) return merged;
        }
        items = arena_alloc(m->in->arena, sizeof(Value *) * (size_t)(x->nitems + 1));
        if (items == NULL) return ANSWER_ERROR;
        Answer answer = merge_items(m, x, y, items);
        if (answer == ANSWER_NO) return not_merged(m, value);
        if (answer != ANSWER_YES) return answer;
        value->items = items;
        value->nitems = x->nitems;
        value->cap = x->nitems + 1;
        value->of = of;
        value->position = x->position;
    }
    return merge_met(m, before, arms);
}

static Answer
lose(Merge *m, Value **out)
{
    *out = value_new(m->in, V_LOST);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->object = (PyObject *)m->d->code;
    (*out)->position = m->number;
    (*out)->nitems = m->keep ? BRANCH_APART : BRANCH_KEEPS;
    (*out)->items = NULL;
    return ANSWER_YES;
}

/* For messages: which slot is being merged. */
static int
name_slot(Merge *m, int slot)
{
    m->name = NULL;
    if (slot >= m->d->nlocalsplus) return 0;
    m->name = arena_printf(m->in->arena, "'%s'", text_of_str(code_slot_name(m->d->code, slot)));
    return m->name == NULL ? -1 : 0;
}

Answer
merge_slots(Merge *m, const World arms[2])
{
    Activation *a = m->in->top;
    int nlocals = m->d->nlocalsplus;
    if (arms[0].depth != arms[1].depth) return ANSWER_NO;
    a->depth = arms[0].depth;
    for (int slot = 0; slot < nlocals + a->depth; slot++) {
        Value *x = arms[0].slots[slot], *y = arms[1].slots[slot];
        if (a == m->in->bottom && x == NULL) x = a->initial[slot];
        if (a == m->in->bottom && y == NULL) y = a->initial[slot];
        if (x == NULL && y == NULL) {
            a->slots[slot] = NULL;
            continue;
        }
        if (x == NULL || y == NULL) { /* unchanged since the entry and not read */
            if (a != m->in->bottom) return merge_apart(m, "one side alone sets a variable");
            a->slots[slot] = NULL;
            Value *entry = slot_load(m->in, a, slot);
            if (entry == NULL) return ANSWER_ERROR;
            if (x == NULL) x = entry;
            if (y == NULL) y = entry;
        }
        a->slots[slot] = x;
        if (x == y) continue;
        int reads = m->join == JOIN_TURN ? loop_reads(m->in, m->turn->shape, m->d, slot)
                                         : branch_reads(m->in, m->d, m->join, slot);
        if (reads < 0) return ANSWER_ERROR;
        Answer answer = m->turn != NULL ? loop_slot_changes(m->in, slot, x, y) : ANSWER_YES;
        if (answer != ANSWER_YES) return answer;
        answer = name_slot(m, slot) < 0 ? ANSWER_ERROR : ANSWER_NO;
        if (answer == ANSWER_NO && (reads || m->keep))
            answer = merge_value(m, x, y, &a->slots[slot]);
        if (!reads && (answer == ANSWER_NO || answer == ANSWER_BREAK)) {
            break_take(m->in);
            answer = lose(m, &a->slots[slot]);
        }
        if (answer == ANSWER_NO)
            answer =
                merge_differ(m, m->name != NULL ? m->name : "the value of an expression", x, y);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}
