/* Repeats, which passes/arms.c has laid out between the marks enter, stay and again: loops of
   steps.

   What is carried is in buffers that are given it by a carry step at either end of the body.  An
   array is carried as an object, without a copy: the buffer becomes the memory that the turn has
   made, and the next turn makes its own in memory that has become free.  The loop
   has as many arrays of each layout as are carried and made in a turn, so two take turns where one
   is carried.

   Memory of an input that turns write is saved before the loop begins, for an undo.

   Invariants: nothing is written into memory that is carried; buffers from outside that a turn
   reads live until the last turn ends, and array objects that turns make as long as the loop. */
#include "schedule.h"

/* The number of the innermost repeat that a storage is made in. */
static int
loop_of(const Lowering *lw, NodeId storage)
{
    return lw->loop[storage];
}

int
repeat_find(Lowering *lw, NodeId id, int *loop)
{
    Op op = graph_node(lw->graph, id)->op;
    if (op == OP_again) {
        const Repeat *ended = &lw->repeats.at[*loop - 1];
        lw->repeats.at[*loop - 1].again = id;
        *loop = ended->around;
    }
    lw->loop[id] = *loop;
    if (op != OP_enter) return 0;
    Repeat repeat = {.enter = id, .around = *loop};
    if (VEC_PUSH(lw->arena, &lw->repeats, repeat) < 0) return -1;
    *loop = lw->repeats.len;
    return 0;
}

/* What is carried in place `index`: a result of the enter, which is in the same buffer as that of
   the again; NO_NODE: nobody reads it. */
static NodeId
carried_in(const Lowering *lw, const Repeat *repeat, int index)
{
    NodeId inside = live_result(lw, repeat->enter, index);
    return inside != NO_NODE ? inside : live_result(lw, repeat->again, index);
}

static void
need_value(Lowering *lw, NodeId value)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    lw->needed[storage] = true;
    if (graph_node(lw->graph, value)->type.form == FORM_ARRAY)
        lw->is_output[storage] = lw->is_output[lw->same_as[storage]] = true;
}

void
repeat_need(Lowering *lw)
{
    for (int r = 0; r < lw->repeats.len; r++) {
        const Repeat *repeat = &lw->repeats.at[r];
        const Node *enter = graph_node(lw->graph, repeat->enter);
        const Node *again = graph_node(lw->graph, repeat->again);
        lw->needed[graph_node(lw->graph, again->args[0])->storage] = true;
        for (int i = 0; i < node_versions_from(enter); i++) {
            NodeId inside = carried_in(lw, repeat, i), after = live_result(lw, repeat->again, i);
            if (inside == NO_NODE) continue;
            if (after != NO_NODE) lw->same_as[after] = inside;
            lw->needed[inside] = true;
            need_value(lw, enter->args[i]);
            need_value(lw, again->args[1 + i]);
        }
    }
}

/* ---- the arrays that a turn makes for the next ---- */

/* Is it memory that steps of the loop write, and no array that a library function returns? */
static bool
is_made(const Lowering *lw, const Repeat *repeat, int loop, NodeId storage)
{
    const Node *node = graph_node(lw->graph, storage);
    if (loop_of(lw, storage) != loop || storage == repeat->enter) return false;
    switch (op_info(node->op)->kind) {
    case KIND_INPUT:
    case KIND_CONST:
    case KIND_EXTERN: return false;
    case KIND_RESULT: return graph_node(lw->graph, node->args[0])->op == OP_join;
    default: return true;
    }
}

/* `seen`: per storage; swaps in a row choose among the same arrays again and again. */
static void
mark_made(Lowering *lw, int loop, NodeId value, bool *seen)
{
    NodeId storage = lw->same_as[graph_node(lw->graph, value)->storage];
    const Node *node = graph_node(lw->graph, storage);
    if (seen[storage]) return;
    seen[storage] = true;
    if (node->op == OP_choose) {
        mark_made(lw, loop, node->args[1], seen);
        mark_made(lw, loop, node->args[2], seen);
    } else if (is_made(lw, &lw->repeats.at[loop - 1], loop, storage))
        lw->turned[storage] = loop;
}

int
repeat_place(Lowering *lw)
{
    for (int loop = 1; loop <= lw->repeats.len; loop++) {
        const Repeat *repeat = &lw->repeats.at[loop - 1];
        const Node *again = graph_node(lw->graph, repeat->again);
        size_t bytes = sizeof(bool) * ((size_t)lw->nnodes + 1);
        bool *seen = arena_alloc(lw->arena, bytes);
        if (seen == NULL) return -1;
        memset(seen, 0, bytes);
        for (int i = 1; i <= node_versions_from(again); i++) {
            bool array = graph_node(lw->graph, again->args[i])->type.form == FORM_ARRAY;
            if (array && carried_in(lw, repeat, i - 1) != NO_NODE)
                mark_made(lw, loop, again->args[i], seen);
        }
    }
    return 0;
}

/* ---- steps ---- */

typedef struct {
    Lowering *lw;
    VEC(Place) from;
    VEC(BufferId) to, fresh, pool, dropped;
} Carry;

static int
moves(Carry *c, const Repeat *repeat, const NodeId *values, int count)
{
    for (int i = 0; i < count; i++) {
        NodeId into = carried_in(c->lw, repeat, i);
        Place from;
        if (into == NO_NODE) continue;
        BufferId to = buffer_for(c->lw, into);
        if (to == NO_BUFFER || place_for(c->lw, values[i], &from) < 0 ||
            VEC_PUSH(c->lw->arena, &c->from, from) < 0 || VEC_PUSH(c->lw->arena, &c->to, to) < 0)
            return -1;
    }
    return 0;
}

static int
add_block(Carry *c, const Type *type)
{
    Lowering *lw = c->lw;
    Buffer block = {.kind = BUFFER_OUTPUT, .type = *type, .pooled = true};
    block.type.offset = NO_SIZE;
    block.bytes = size_const(lw->graph, 0); /* it is in no arena */
    if (block.bytes == NO_SIZE || VEC_PUSH(lw->arena, &lw->program->buffers, block) < 0) return -1;
    return VEC_PUSH(lw->arena, &c->pool, lw->program->buffers.len - 1);
}

/* One array for each that a turn makes, and one for each that is carried of such a layout. */
static int
add_pool(Carry *c, int loop)
{
    Lowering *lw = c->lw;
    for (NodeId id = 0; id < lw->nnodes; id++) {
        BufferId buffer = lw->buffer[id];
        if (lw->turned[id] != loop || buffer == NO_BUFFER ||
            lw->program->buffers.at[buffer].kind != BUFFER_CHOSEN)
            continue;
        if (VEC_PUSH(lw->arena, &c->fresh, buffer) < 0) return -1;
    }
    for (int i = 0; i < c->fresh.len; i++) {
        Type type = lw->program->buffers.at[c->fresh.at[i]].type;
        bool first = true;
        for (int k = 0; k < i; k++)
            first &= !type_same_layout(&type, &lw->program->buffers.at[c->fresh.at[k]].type);
        if (add_block(c, &type) < 0) return -1;
        for (int k = 0; k < c->to.len && first; k++)
            if (type_same_layout(&type, &lw->program->buffers.at[c->to.at[k]].type) &&
                add_block(c, &type) < 0)
                return -1;
    }
    return 0;
}

/* Array objects of the turn that has ended, which would keep others from their memory. */
static int
add_dropped(Carry *c, int loop)
{
    Lowering *lw = c->lw;
    for (NodeId id = 0; id < lw->nnodes; id++) {
        BufferId buffer = lw->buffer[id];
        if (buffer == NO_BUFFER || loop_of(lw, id) != loop || lw->same_as[id] != id) continue;
        const Buffer *b = &lw->program->buffers.at[buffer];
        bool carried = false;
        for (int i = 0; i < c->to.len; i++) carried |= c->to.at[i] == buffer;
        for (int i = 0; i < c->fresh.len; i++) carried |= c->fresh.at[i] == buffer;
        if (carried || b->type.form != FORM_ARRAY ||
            (b->kind != BUFFER_CHOSEN && b->kind != BUFFER_EXTERN))
            continue;
        if (VEC_PUSH(lw->arena, &c->dropped, buffer) < 0) return -1;
    }
    return 0;
}

static int
loop_numbered(const Lowering *lw, NodeId mark)
{
    int number = 1;
    while (lw->repeats.at[number - 1].enter != mark && lw->repeats.at[number - 1].again != mark)
        number++;
    return number;
}

static int
push_carry(Carry *c, Step *step)
{
    CarryStep *carry = &step->carry;
    *carry = (CarryStep){.nmoves = c->to.len,
                         .from = c->from.at,
                         .to = c->to.at,
                         .nfresh = c->fresh.len,
                         .fresh = c->fresh.at,
                         .npool = c->pool.len,
                         .pool = c->pool.at,
                         .ndropped = c->dropped.len,
                         .dropped = c->dropped.at,
                         .condition = carry->condition,
                         .target = carry->target};
    return VEC_PUSH(c->lw->arena, &c->lw->program->steps, *step);
}

/* Inputs that turns write (passes/writes.c), with which the outermost loop begins, are saved. */
static int
save_turned(Lowering *lw, const Node *enter)
{
    SavedParts saved = {0};
    for (int k = node_versions_from(enter); k < enter->nargs; k++) {
        NodeId storage = graph_node(lw->graph, enter->args[k])->storage;
        const Node *node = graph_node(lw->graph, storage);
        if (node->op == OP_input && save_part(lw, &saved, storage, &node->type) < 0) return -1;
    }
    return save_step(lw, &saved, enter);
}

static int
enter_step(Lowering *lw, NodeId mark)
{
    Carry c = {.lw = lw};
    const Node *node = graph_node(lw->graph, mark);
    const Repeat *repeat = &lw->repeats.at[loop_numbered(lw, mark) - 1];
    Step step = {.kind = STEP_CARRY, .line = node->line, .file = node->file};
    step.carry.condition.buffer = NO_BUFFER;
    if (save_turned(lw, node) < 0 || moves(&c, repeat, node->args, node_versions_from(node)) < 0 ||
        push_carry(&c, &step) < 0)
        return -1;
    return VEC_PUSH(lw->arena, &lw->open, lw->program->steps.len - 1);
}

/* The arrays of the first turn are given out where the loop is entered. */
static int
again_step(Lowering *lw, NodeId mark)
{
    Program *p = lw->program;
    Carry c = {.lw = lw};
    const Node *node = graph_node(lw->graph, mark);
    int loop = loop_numbered(lw, mark), stay = lw->open.at[--lw->open.len];
    int enter = lw->open.at[--lw->open.len];
    Step step = {.kind = STEP_CARRY, .line = node->line, .file = node->file};
    step.carry.target = enter + 1;
    if (place_for(lw, node->args[0], &step.carry.condition) < 0 ||
        moves(&c, &lw->repeats.at[loop - 1], node->args + 1, node_versions_from(node)) < 0 ||
        add_pool(&c, loop) < 0 || add_dropped(&c, loop) < 0 || push_carry(&c, &step) < 0)
        return -1;
    CarryStep *begin = &p->steps.at[enter].carry, *end = &p->steps.at[p->steps.len - 1].carry;
    begin->nfresh = end->nfresh;
    begin->fresh = end->fresh;
    begin->npool = end->npool;
    begin->pool = end->pool;
    begin->ndropped = end->ndropped;
    begin->dropped = end->dropped;
    p->steps.at[stay].jump.target = p->steps.len;
    return 0;
}

static int
stay_step(Lowering *lw, NodeId mark)
{
    const Node *node = graph_node(lw->graph, mark);
    Step step = {.kind = STEP_JUMP, .line = node->line, .file = node->file};
    if (place_for(lw, node->args[0], &step.jump.condition) < 0 ||
        VEC_PUSH(lw->arena, &lw->program->steps, step) < 0)
        return -1;
    return VEC_PUSH(lw->arena, &lw->open, lw->program->steps.len - 1);
}

int
repeat_step(Lowering *lw, NodeId mark)
{
    switch (graph_node(lw->graph, mark)->op) {
    case OP_enter: return enter_step(lw, mark);
    case OP_stay: return stay_step(lw, mark);
    default: return again_step(lw, mark);
    }
}

/* ---- lifetimes ---- */

/* Are the buffer's contents the same in each turn, or is it an object? */
static bool
lives_on(const Buffer *b, bool before)
{
    return b->kind != BUFFER_TEMP || before;
}

static void
extend_over(Lowering *lw, int enter, int again)
{
    const Program *p = lw->program;
    for (BufferId id = 0; id < p->buffers.len; id++) {
        int first = lw->first_step[id], last = lw->last_step[id];
        if (last <= enter || first > again || !lives_on(&p->buffers.at[id], first <= enter))
            continue;
        lw->first_step[id] = Py_MIN(first, enter);
        lw->last_step[id] = Py_MAX(last, again);
    }
}

void
repeat_extend(Lowering *lw)
{
    const Program *p = lw->program;
    for (int again = 0; again < p->steps.len; again++) {
        const Step *step = &p->steps.at[again];
        if (step->kind == STEP_CARRY && step->carry.condition.buffer != NO_BUFFER)
            extend_over(lw, step->carry.target - 1, again);
    }
}
