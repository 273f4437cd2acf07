/* Which loops are tried as repeats, and what attempts have found out about them.

   One is tried where a branch that ends it would end the graph, where it would be unrolled to more
   than the budget or to a plan of many steps, where a turn breaks at a number that turns may have
   as it comes, and where slices that move cannot be those of a kept loop (loop.c). */
#include "repeat.h"

/* In one graph: each takes an attempt, which follows again all that is before it. */
enum { MOST_LOOPS = 12 };

LoopNote *
repeat_note(const Interp *in, int number)
{
    Marks *marks = in->attempt.learn;
    LoopName loop = loop_name(in->top, number);
    for (int i = 0; i < marks->repeats.len; i++)
        if (loop_is(&marks->repeats.at[i].loop, &loop)) return &marks->repeats.at[i];
    return NULL;
}

int
repeat_note_new(Interp *in, const LoopShape *shape)
{
    LoopNote note = {.loop = loop_name(in->top, shape->top)};
    return VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->repeats, note);
}

/* The innermost loop that the current Instr is in; it is entered, not gone on with. */
static int
loop_around(Interp *in, LoopShape **out)
{
    const Decoded *d = in->top->decoded;
    int at = in->top->number, size = d->count + 1;
    *out = NULL;
    for (int top = 0; top < d->count; top++) {
        LoopShape *shape;
        if (loop_shape(in, d, top, &shape) < 0) return -1;
        if (shape == NULL || shape->top != top || shape->inside[in->request->number]) continue;
        bool within = shape->inside[at] || (shape->top <= at && at < shape->head);
        int length = 0;
        for (int i = 0; i < d->count; i++) length += shape->inside[i];
        if (!within || length >= size) continue;
        size = length;
        *out = shape;
    }
    return 0;
}

/* Branches in the loop may meet within a turn. */
static void
forget_branches(Interp *in, const LoopShape *shape)
{
    Marks *marks = in->attempt.learn;
    const PyCodeObject *code = in->top->decoded->code;
    int kept = 0;
    for (int i = 0; i < marks->branches.len; i++) {
        const BranchMark *mark = &marks->branches.at[i];
        bool within = shape->inside[mark->number] ||
                      (shape->top <= mark->number && mark->number < shape->head);
        if (mark->code != code || !within) marks->branches.at[kept++] = *mark;
    }
    marks->branches.len = kept;
}

static Answer
start_again(Interp *in, const LoopShape *shape)
{
    if (!in->attempt.again) in->attempt.learn->stop_at = -1;
    forget_branches(in, shape);
    in->attempt.again = in->attempt.repeats = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

Answer
repeat_learn(Interp *in)
{
    LoopShape *shape;
    if (in->turn != NULL || in->leaving != NULL) return ANSWER_NO;
    if (loop_around(in, &shape) < 0) return ANSWER_ERROR;
    if (shape == NULL || shape->nexits < 2 || repeat_note(in, shape->top) != NULL ||
        in->attempt.learn->repeats.len == MOST_LOOPS)
        return ANSWER_NO;
    return repeat_note_new(in, shape) < 0 ? ANSWER_ERROR : start_again(in, shape);
}

Answer
repeat_learn_kept(Interp *in, const LoopShape *shape)
{
    if (repeat_note(in, shape->top) != NULL || in->attempt.learn->repeats.len == MOST_LOOPS)
        return ANSWER_NO;
    return repeat_note_new(in, shape) < 0 ? ANSWER_ERROR : start_again(in, shape);
}

/* The outermost loop that the Instr is in of those that were not tried yet, if capture did not
   begin in it. */
static int
loop_at(Interp *in, int at, LoopShape **out)
{
    const Decoded *d = in->bottom->decoded;
    *out = NULL;
    for (int top = 0; top <= at && *out == NULL; top++) {
        LoopShape *shape;
        if (loop_shape(in, d, top, &shape) < 0) return -1;
        if (shape != NULL && shape->top == top && shape->inside[at] &&
            !shape->inside[in->request->number] && repeat_note(in, top) == NULL)
            *out = shape;
    }
    return 0;
}

Answer
repeat_learn_turns(Interp *in, int at)
{
    LoopShape *shape;
    if (in->leaving != NULL || in->loop != NULL || in->top != in->bottom) return ANSWER_NO;
    if (loop_at(in, at, &shape) < 0) return ANSWER_ERROR;
    if (shape == NULL || in->attempt.learn->repeats.len == MOST_LOOPS) return ANSWER_NO;
    return repeat_note_new(in, shape) < 0 ? ANSWER_ERROR : start_again(in, shape);
}

bool
repeat_has_many_steps(const Graph *g)
{
    enum { MANY = 64 };
    const Region *top = &g->regions.at[0];
    int steps = 0;
    for (int i = 0; i < top->nodes.len; i++) {
        OpKind kind = op_info(graph_node(g, top->nodes.at[i])->op)->kind;
        steps += kind == KIND_REDUCTION || kind == KIND_MATMUL || kind == KIND_SCAN ||
                 kind == KIND_EXTERN || kind == KIND_REGION;
    }
    return steps >= MANY;
}

/* A loop that was worth a plan when it was unrolled, and is not as a repeat: it is unrolled. */
static Answer
unlearn_unrolled(Interp *in)
{
    Marks *marks = in->attempt.learn;
    for (int i = 0; i < marks->repeats.len; i++) {
        LoopNote *note = &marks->repeats.at[i];
        if (!note->pays || note->why != NULL) continue;
        note->why = "";
        return ANSWER_BREAK;
    }
    return ANSWER_NO;
}

static Answer
learn_unrolled(Interp *in, int count, const LoopNote *notes, bool pays)
{
    Marks *marks = in->attempt.learn;
    for (int i = 0; i < count; i++) {
        const LoopName *loop = &notes[i].loop;
        if (loop->code != in->bottom->decoded->code) continue;
        Answer answer = repeat_learn_turns(in, loop->number);
        if (answer == ANSWER_BREAK) marks->repeats.at[marks->repeats.len - 1].pays = pays;
        if (answer != ANSWER_NO) return answer;
    }
    return ANSWER_NO;
}

Answer
repeat_learn_unrolled(Interp *in, bool pays)
{
    const Marks *marks = in->attempt.marks;
    Answer answer = pays ? ANSWER_NO : unlearn_unrolled(in);
    if (answer != ANSWER_NO) return answer;
    answer = learn_unrolled(in, marks->no_loop.len, marks->no_loop.at, pays);
    if (answer != ANSWER_NO || !pays) return answer;
    return learn_unrolled(in, in->attempt.unkept.len, in->attempt.unkept.at, pays);
}

Answer
repeat_learn_break(Interp *in)
{
    switch (in->told.code) {
    case BREAK_DATA_SIZE:
    case BREAK_DATA_INDEX:
    case BREAK_VARIES: return repeat_learn_turns(in, in->bottom->number);
    default: return ANSWER_NO;
    }
}

int
repeat_refusal(Interp *in, const LoopNote **out)
{
    LoopShape *shape;
    *out = NULL;
    if (loop_around(in, &shape) < 0) return -1;
    const LoopNote *note = shape != NULL ? repeat_note(in, shape->top) : NULL;
    if (note == NULL) return 0;
    if (note->why != NULL && *note->why != '\0') {
        *out = note;
    } else if (note->at_first != NULL) {
        LoopNote *told = arena_copy(in->arena, note, sizeof *note);
        if (told == NULL) return -1;
        told->why = told->at_first;
        *out = told;
    }
    return 0;
}

Answer
repeat_refuse(Interp *in, const Repeat *r, const char *why)
{
    char *kept = arena_copy(in->attempt.learn_arena, why, strlen(why) + 1);
    if (kept == NULL) return ANSWER_ERROR;
    LoopNote *note = repeat_note(in, r->scan.number);
    note->why = kept;
    if (*kept != '\0' || note->at_first == NULL) note->hint = r->hint;
    return start_again(in, r->scan.shape);
}

Answer
repeat_begin_later(Interp *in, const Repeat *r, NodeId first)
{
    const LoopShape *shape = r->scan.shape;
    LoopNote *note = repeat_note(in, shape->top);
    if (graph_node(in->graph, first)->type.form != FORM_PYTHON || note->later ||
        (r->iterator == NULL && shape->begin == shape->top))
        return ANSWER_NO;
    const char *why = r->why != NULL ? r->why : "";
    note->at_first = arena_copy(in->attempt.learn_arena, why, strlen(why) + 1);
    if (note->at_first == NULL) return ANSWER_ERROR;
    if (*why == '\0') note->at_first = NULL;
    note->hint = r->hint;
    note->later = true;
    return start_again(in, shape);
}

/* ---- locals whose array turns write ---- */

bool
repeat_object_stays(const Interp *in, const Repeat *r, int slot)
{
    const LoopNote *note = repeat_note(in, r->scan.shape->top);
    return slot < 64 && (note->objects >> slot & 1) != 0;
}

/* Branches behind the loop do not have to stay apart for what this attempt was. */
static void
forget_apart(Interp *in, const Repeat *r)
{
    Marks *marks = in->attempt.learn;
    BranchMark *mark = branch_mark(in, in->top->decoded, r->scan.shape->top);
    *mark = marks->branches.at[--marks->branches.len];
}

/* Learns that the array of the local that the param stands for stays.  ANSWER_NO: there is none. */
static Answer
learn_object(Interp *in, const Repeat *r, NodeId param)
{
    const Region *region = &in->graph->regions.at[r->region];
    LoopNote *note = repeat_note(in, r->scan.shape->top);
    for (int i = 0; i < r->nread && i + 1 < region->params.len; i++) {
        int slot = r->slots.at[i];
        if (region->params.at[1 + i] != param || slot >= 64) continue;
        note->objects |= (uint64_t)1 << slot;
        return ANSWER_YES;
    }
    return ANSWER_NO;
}

Answer
repeat_learn_object(Interp *in, const Repeat *r)
{
    const BranchMark *mark = branch_mark(in, in->top->decoded, r->scan.shape->top);
    if (mark != NULL && mark->level == BRANCH_APART &&
        learn_object(in, r, in->memory.met) == ANSWER_YES)
        forget_apart(in, r);
    return ANSWER_BREAK;
}

Answer
repeat_learn_passed(Interp *in, const Repeat *r, const Value *array)
{
    if (array->kind != V_NODE || learn_object(in, r, array->node) != ANSWER_YES) return ANSWER_NO;
    return start_again(in, r->scan.shape);
}
