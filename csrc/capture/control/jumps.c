/* Jumps, branches, and the head of a for loop. */
#include "control.h"

/* Number of the Instr at which execution continues without a jump. */
static void
jump_to(Interp *in, const Instr *instr, bool jump)
{
    in->top->number = jump ? instr->target : in->top->number + 1;
}

/* Is the current Instr in a loop in whose midst capture began?  Then what varies does so from turn
   to turn. */
static int
began_in_loop(Interp *in)
{
    LoopShape *shape;
    int begun = in->request->number;
    for (int top = in->bottom->number; top >= 0; top--) {
        if (loop_shape(in, in->bottom->decoded, top, &shape) < 0) return -1;
        if (shape != NULL && shape->inside[in->bottom->number] && shape->inside[begun]) return 1;
    }
    return 0;
}

/* The break for a branch that ends the graph, according to what its condition depends on. */
static Answer
tell_branch(Interp *in, Value *condition)
{
    static const BreakHint hints[] = {
        [TEST_NONE] = HINT_OF_CODE, [TEST_ENDS] = HINT_LOOP_TEST, [TEST_SKIPS] = HINT_NEXT_TURN};
    const char *why = branch_why(in);
    LoopTest test;
    if (in->leaving != NULL) {
        BreakHint ignored;
        bool first = in->break_code == BREAK_NONE;
        if (why == NULL) why = branch_what(in, &ignored);
        Answer answer = break_hinted(in, BREAK_BRANCH, HINT_OF_CODE, "%s",
                                     why != NULL ? why : "how a loop was left");
        if (answer == ANSWER_BREAK && first)
            in->told.frames[0].line = line_at(in->top->decoded, loop_left_at(in));
        return answer;
    }
    if (branch_loop(in, in->top->decoded, in->top->number, &test) < 0) return ANSWER_ERROR;
    bool loop = why == NULL && test == TEST_ENDS;
    const Break *broke = branch_broke(in, loop);
    if (broke != NULL) return interp_break_as(in, BREAK_BRANCH, broke);
    const LoopNote *refused = NULL;
    bool called = loop && in->top != in->bottom && in->loop == NULL;
    if (loop && (why = loop_is_ended(in)) == NULL) return ANSWER_ERROR;
    if (loop && !called && repeat_refusal(in, &refused) < 0) return ANSWER_ERROR;
    if (refused != NULL && (why = arena_printf(in->arena, "%s: %s", why, refused->why)) == NULL)
        return ANSWER_ERROR;
    if (called) why = "it ends a loop, in a function that is called";
    if (!value_is_unknown_scalar(in, condition)) {
        Answer answer = interp_break_told(in, BREAK_BRANCH, BREAK_VARIES, "a branch");
        int inside = began_in_loop(in);
        if (inside < 0) return ANSWER_ERROR;
        if (inside) in->told.hint = HINT_COUNTER;
        return answer;
    }
    if (!value_is_data_length(in, condition)) {
        BreakHint hint = called            ? HINT_LOOP_CALLED
                         : refused != NULL ? refused->hint
                                           : hints[loop || why == NULL ? test : TEST_NONE];
        const char *what = branch_what(in, &hint);
        if (loop && hint == HINT_SIDE_BREAKS) hint = HINT_LOOP_TEST; /* what broke is not told */
        if (why == NULL) why = what != NULL ? what : "";
        return break_hinted(in, BREAK_BRANCH, hint, "%s", why);
    }
    if (why == NULL) why = "a branch on it, whose sides do not come together";
    return break_of_size(in, BREAK_BRANCH, condition->node, why);
}

Answer
follow_both(Interp *in, Value *condition, const int to[2], const int depth[2])
{
    Activation *a = in->top;
    Answer merged = branch_merge(in, to[0], to[1], condition, depth[0], depth[1]);
    if (merged != ANSWER_NO) return merged;
    Answer repeats = a == in->bottom ? repeat_learn(in) : ANSWER_NO;
    if (repeats != ANSWER_NO) return repeats;
    Answer numbers = in->leaving == NULL ? loop_learn_numbers(in) : ANSWER_NO;
    if (numbers == ANSWER_NO && in->fork == NULL) numbers = loop_learn_sides(in);
    if (numbers != ANSWER_NO) return numbers;
    Answer stopped = tell_branch(in, condition);
    bool inner = in->fork != NULL || in->loop != NULL, even = depth[0] == depth[1] && to[1] >= 0;
    if (stopped == ANSWER_ERROR || a != in->bottom || !even || inner) return stopped;
    a->depth = depth[0];
    in->break_code = BREAK_NONE; /* building may break for its own reason */
    Answer answer = exit_branch(in, condition, to[0], to[1]);
    if (answer_stops(answer)) return answer;
    in->break_code = BREAK_BRANCH;
    in->branched = answer == ANSWER_YES; /* else inputs overlap: capture.c sees it at the end */
    return ANSWER_BREAK;
}

static Answer
branch(Interp *in, const Instr *instr, Value *condition)
{
    const Activation *a = in->top;
    bool on_false = instr->kind == I_JUMP_IF_FALSE || instr->kind == I_JUMP_IF_FALSE_OR_POP ||
                    instr->kind == I_JUMP_IF_NOT_NONE;
    bool keeps = instr->kind == I_JUMP_IF_FALSE_OR_POP || instr->kind == I_JUMP_IF_TRUE_OR_POP;
    int to[2], depth[2];
    to[on_false] = instr->target;
    to[!on_false] = a->number + 1;
    depth[on_false] = keeps ? a->depth : a->depth - 1;
    depth[!on_false] = a->depth - 1;
    return follow_both(in, condition, to, depth);
}

/* The break's line is the loop's own, and its detail says why it did not stay a loop.  One that
   computes with whole arrays alone is none that would. */
static int
tell_loop(Interp *in, int head)
{
    const char *why = loop_why(in, head);
    if (why == NULL) return -1;
    in->told.frames[0].line = line_at(in->bottom->decoded, head);
    in->told.hint = HINT_TURNS;
    if (strcmp(why, loop_without_elements) == 0) {
        int whole = loop_computes_arrays(in, head);
        if (whole != 0) return Py_MIN(whole, 0);
    }
    in->told.detail =
        arena_printf(in->arena, "%s, which did not stay a loop: %s", in->told.detail, why);
    return in->told.detail == NULL ? -1 : loop_hint(in, head, HINT_KEPT, &in->told.hint);
}

/* Where the outermost loop around the bottom's current Instr begins its turns, if it has jumped
   back and was not reached before `step`; -1: there is none. */
static int
outermost_unrolled(const Interp *in, int step)
{
    const Activation *a = in->bottom;
    for (int head = 0; head <= a->number; head++) {
        if (in->attempt.jumped_from[head] < a->number || a->decoded->instrs[head].sub != 0)
            continue;
        return in->attempt.first_step[head] > 1 + step ? head : -1;
    }
    return -1;
}

/* The unrolling budget is spent: the next attempt stops before the outermost loop that has jumped
   back, and that loop's body is captured by itself. */
static Answer
unrolled_too_far(Interp *in, int most)
{
    Activation *a = in->top;
    Answer numbers = loop_learn_numbers(in);
    if (numbers == ANSWER_NO && in->fork == NULL) numbers = loop_learn_sides(in);
    if (numbers != ANSWER_NO) return numbers;
    const char *what =
        in->loop == NULL
            ? "a loop unrolled to more than %d instructions"
            : "a loop over items inside of it, unrolled, has more than %d instructions";
    Answer answer = interp_break(in, BREAK_UNROLL, what, most);
    if (answer == ANSWER_ERROR || a != in->bottom || in->loop != NULL) return answer;
    int head = outermost_unrolled(in, in->attempt.marks->stop_at);
    Answer repeats = repeat_learn_turns(in, head >= 0 ? head : a->number);
    if (repeats != ANSWER_NO) return repeats;
    if (head >= 0) {
        in->attempt.learn->stop_at = in->attempt.first_step[head] - 1;
        if (tell_loop(in, head) < 0) return ANSWER_ERROR;
        if (break_copy(in->attempt.learn_arena, &in->told, &in->attempt.learn->stop) < 0)
            return ANSWER_ERROR;
        in->attempt.again = true;
        return answer;
    }
    return tell_loop(in, a->decoded->instrs[a->number].target) < 0 ? ANSWER_ERROR : answer;
}

/* Turns of an unrolled loop have most often spent them: then the loop is what is too long, unless
   it would stay a loop if it were followed further (loop_learn_numbers). */
Answer
instructions_spent(Interp *in)
{
    bool earned = in->request->effort > 0;
    BreakHint hint = earned ? HINT_EARNED : HINT_OF_CODE;
    Answer numbers = earned ? ANSWER_NO : loop_learn_numbers(in); /* more may be followed then */
    if (numbers != ANSWER_NO) return numbers;
    in->attempt.learn->cut = true;
    Answer answer =
        break_hinted(in, BREAK_TOO_LONG, hint, "more instructions than capture may follow");
    if (answer == ANSWER_ERROR || in->top != in->bottom || in->loop != NULL) return answer;
    int head = outermost_unrolled(in, -1);
    if (head < 0) return answer;
    const char *why = NULL;
    if (loop_refusal(in, head, &why) < 0) return ANSWER_ERROR;
    if (why != NULL && strcmp(why, loop_without_elements) == 0) return answer;
    in->told.code = BREAK_UNROLL;
    in->told.detail = "a loop unrolled until capture may follow no more instructions";
    return tell_loop(in, head) < 0 ? ANSWER_ERROR : answer;
}

/* Has the loop read elements and computed numbers only so far? */
static bool
computes_numbers(const Interp *in, int head, int end)
{
    const Decoded *d = in->bottom->decoded;
    int first = line_at(d, head), last = first, elements = 0;
    for (int i = head; i <= end; i++) last = Py_MAX(last, d->instrs[i].line);
    for (NodeId id = 0; id < in->graph->nodes.len; id++) {
        const Node *node = graph_node(in->graph, id);
        OpKind kind = op_info(node->op)->kind;
        bool mine = node->file == in->bottom->file;
        if (kind == KIND_INPUT || kind == KIND_CONST || (mine && node->line < first)) continue;
        if (node->type.rank > 0) return false;
        bool reads = node->nargs > 0 && graph_node(in->graph, node->args[0])->type.rank > 0;
        elements += mine && node->line <= last && reads;
    }
    return elements > 0;
}

static bool
begins_turn(const LoopShape *shape, int number)
{
    return number == shape->head || number == shape->top || number == shape->begin;
}

/* A jump that is about to be made: one that goes back counts against the unrolling budget.  Of
   numbers less is unrolled: a plan saves little of each, and 500 of them take the C compiler a
   second.  3.11 ends the body of a `while` with a conditional one. */
static Answer
jump_back(Interp *in, const Instr *instr)
{
    Activation *a = in->top;
    const Turn *turn = in->turn;
    if (instr->target > a->number) return ANSWER_YES;
    if (turn != NULL && turn->of == a && begins_turn(turn->shape, instr->target)) return ANSWER_YES;
    int most = in->attempt.unroll, few = Py_MAX(most / 8, 1), before = a->back_jumps / few;
    a->back_jumps += a->number - instr->target;
    if (a == in->bottom) in->attempt.jumped_from[instr->target] = a->number;
    if (a == in->bottom && in->loop == NULL && a->back_jumps / few > before &&
        computes_numbers(in, instr->target, a->number))
        return unrolled_too_far(in, few);
    return a->back_jumps > most ? unrolled_too_far(in, most) : ANSWER_YES;
}

/* By the truth of the value, which stands for the one on top of the stack. */
static Answer
conditional(Interp *in, const Instr *instr, Value *value)
{
    Value *node;
    if (value == NULL) return ANSWER_ERROR;
    int known;
    bool on_true = instr->kind == I_JUMP_IF_TRUE || instr->kind == I_JUMP_IF_TRUE_OR_POP ||
                   instr->kind == I_JUMP_IF_NONE;
    bool keeps = instr->kind == I_JUMP_IF_FALSE_OR_POP || instr->kind == I_JUMP_IF_TRUE_OR_POP;
    Answer answer = value_truth(in, value, &known, &node);
    if (answer != ANSWER_YES) return answer;
    if (known < 0) {
        bool is_true = false;
        answer = condition_known(in, node, &is_true);
        if (answer == ANSWER_NO) return branch(in, instr, node);
        if (answer != ANSWER_YES) return answer;
        known = is_true;
    }
    bool jump = (known != 0) == on_true;
    if (jump && (answer = jump_back(in, instr)) != ANSWER_YES) return answer;
    if (!keeps || !jump) in->top->depth--;
    jump_to(in, instr, jump);
    return ANSWER_YES;
}

static Answer
none_test(Interp *in, const Instr *instr)
{
    Value *value = top_value(in, 1), *none = value_const(in, Py_None);
    if (value == NULL || none == NULL) return ANSWER_ERROR;
    if (value_is_loose(in, value)) {
        Value *both[2] = {value, none}, *same;
        PyObject *is = module_kept(in, "operator", "is_");
        Answer asked = is ? loose_call(in, is, 2, both, &same) : ANSWER_ERROR;
        if (asked != ANSWER_NO) return asked == ANSWER_YES ? conditional(in, instr, same) : asked;
    }
    bool is_none;
    Answer answer = operate_is(in, value, none, &is_none);
    bool jump = is_none == (instr->kind == I_JUMP_IF_NONE);
    if (answer == ANSWER_YES && jump) answer = jump_back(in, instr);
    if (answer != ANSWER_YES) return answer;
    in->top->depth--;
    jump_to(in, instr, jump);
    return ANSWER_YES;
}

/* What lay on the value stack where capture began: an iterator, after a break inside of its loop,
   or what is iterated over, after the break that made it.  A function that is inlined is given it,
   and its loop is another one. */
static bool
is_under_way(Interp *in, const Value *iterator)
{
    return in->top == in->bottom && iterator->kind == V_OBJECT &&
           source_is_stacked(in, iterator->source);
}

static void
tell_turn(Interp *in)
{
    in->break_code = in->told.code = BREAK_TURN;
    in->told.hint = HINT_OF_CODE;
    in->told.detail = "";
}

/* What is left of a loop in whose midst capture began. */
static Answer
keep_rest(Interp *in, Value *iterator)
{
    Value **entry = &in->top->slots[in->top->decoded->nlocalsplus + in->top->depth - 1], *rest;
    TRY(loop_under_way(in, iterator, &rest));
    *entry = rest;
    Answer answer = capture_loop(in, rest);
    if (answer != ANSWER_NO) return answer;
    *entry = iterator;
    return loop_learn_numbers(in);
}

static Answer
for_iter(Interp *in, const Instr *instr)
{
    Value *iterator = top_value(in, 1), *item;
    if (iterator == NULL) return ANSWER_ERROR;
    if (is_under_way(in, iterator)) {
        Answer answer = keep_rest(in, iterator);
        if (answer != ANSWER_NO) return answer;
    }
    Answer learnt = series_learn_walk(in, iterator);
    if (learnt != ANSWER_NO) return learnt;
    if (loop_goes_over(in, iterator)) {
        Answer answer = capture_loop(in, iterator);
        if (answer != ANSWER_NO) return answer;
    }
    Answer rest = repeat_keep_rest(in, iterator);
    if (rest != ANSWER_NO) return rest;
    bool unrolls = in->loop == NULL || iterator_unrolls(in, iterator);
    if (!unrolls && (loop_goes_over(in, iterator) || in->top != in->turn->of))
        return inner_loop_unkept(in, in->top->number);
    Answer answer = iterator_next(in, iterator, &item);
    if (answer == ANSWER_BREAK && !in->attempt.again && loop_goes_over(in, iterator)) {
        Answer numbers = loop_learn_numbers(in);
        if (numbers != ANSWER_NO) return numbers;
    }
    if (answer == ANSWER_BREAK && in->break_code == BREAK_ITERATION && is_under_way(in, iterator))
        tell_turn(in);
    if (answer != ANSWER_YES) return answer;
    if (item == NULL) {
        in->top->depth--;
        jump_to(in, instr, true);
        return ANSWER_YES;
    }
    if (push(in, item) < 0) return ANSWER_ERROR;
    jump_to(in, instr, false);
    return ANSWER_YES;
}

static Answer
get_iter(Interp *in)
{
    Value *iterable = top_value(in, 1), *iterator;
    if (iterable == NULL) return ANSWER_ERROR;
    Answer answer = iterator_of(in, iterable, &iterator);
    if (answer == ANSWER_BREAK && in->break_code == BREAK_ITERATION && is_under_way(in, iterable))
        tell_turn(in);
    if (answer != ANSWER_YES) return answer;
    in->top->depth--;
    return push(in, iterator) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
follow_jump(Interp *in, const Instr *instr)
{
    Answer answer;
    switch (instr->kind) {
    case I_JUMP:
        if ((answer = jump_back(in, instr)) == ANSWER_YES) jump_to(in, instr, true);
        return answer;
    case I_JUMP_IF_NONE:
    case I_JUMP_IF_NOT_NONE: return none_test(in, instr);
    case I_GET_ITER: return get_iter(in);
    case I_FOR_ITER: return for_iter(in, instr);
    default: return conditional(in, instr, top_value(in, 1));
    }
}
