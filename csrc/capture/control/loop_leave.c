/* Behind a kept loop: its exits.  The number of the exit is what the loop carried.  Where several
   exits lead to different Instrs, they are followed like the sides of a branch.

   A `return` from a `for` finds the iterator on the stack and drops it; nobody else sees it, so
   what is there is one that has ended.  With that the end of the loop can be had at the same depth:
   at its FOR_ITER. */
#include "control.h"

Answer
loop_put_ended(Interp *in, int from, int depth)
{
    Activation *a = in->top;
    for (int i = from; i < depth; i++) {
        PyObject *none = PyTuple_New(0), *ended = none != NULL ? PyObject_GetIter(none) : NULL;
        Py_XDECREF(none);
        Value *value = value_const_new(in, ended);
        if (value == NULL) return ANSWER_ERROR;
        a->slots[a->decoded->nlocalsplus + i] = value;
    }
    return ANSWER_YES;
}

/* Puts iterators that have ended where the Instr expects what the loop itself had on the stack;
 *out: the depth there. */
static Answer
put_stack(Interp *in, const Leaving *leaving, int number, int *out)
{
    const LoopShape *shape = leaving->shape;
    Activation *a = in->top;
    int depth = *out = a->decoded->instrs[number].depth;
    if (number == shape->exit[0])
        depth = *out = shape->base; /* FOR_ITER has dropped the iterator */
    if (shape->sides != 0) return loop_put_iterators(in, leaving, number);
    return loop_put_ended(in, shape->base, depth);
}

/* The branch for exit `first` is told apart from those for others by an Instr of its own. */
static int
branch_number(const LoopShape *shape, int first)
{
    int number = shape->head;
    while (first > 0)
        if (shape->inside[++number]) first--;
    return number;
}

int
loop_left_at(const Interp *in)
{
    const LoopShape *shape = in->leaving->shape;
    int exit = 0;
    for (int number = shape->head; number < in->top->number;)
        if (shape->inside[++number]) exit++;
    return shape->left[Py_MIN(exit, shape->nexits - 1)];
}

/* The next exit that has to be told from others, from `first` on; or `last`. */
static int
next_exit(const LoopShape *shape, int first, int last)
{
    while (first < shape->nexits && (first == 0 || first == shape->breaks)) first++;
    return first < shape->nexits ? first : last;
}

Answer
loop_leave_from(Interp *in, int first)
{
    const Leaving *leaving = in->leaving;
    const LoopShape *shape = leaving->shape;
    Activation *a = in->top;
    int last = shape->counts ? 0 : shape->nexits - 1, this = next_exit(shape, first, last);
    int next = next_exit(shape, this + 1, last);
    int to[2] = {shape->exit[this], next == last ? shape->exit[last] : -next}, depth[2];
    TRY(put_stack(in, leaving, to[0], &depth[0]));
    depth[1] = depth[0];
    if (to[1] >= 0) TRY(put_stack(in, leaving, to[1], &depth[1]));
    if (this == last) {
        a->number = to[0];
        a->depth = depth[0];
        return ANSWER_YES;
    }
    Value *number = value_const_new(in, PyLong_FromLong(this)), *test;
    if (number == NULL) return ANSWER_ERROR;
    a->number = branch_number(shape, this);
    a->depth = Py_MAX(depth[0], depth[1]);
    const BranchMark *mark = branch_mark(in, a->decoded, a->number);
    if (mark != NULL && mark->level == BRANCH_APART && to[1] == shape->exit[0] &&
        depth[1] + 1 == depth[0]) { /* the graph ends here */
        to[1] = shape->head;
        depth[1] = depth[0];
    }
    Answer answer = operate_compare(in, Py_EQ, leaving->number, number, &test);
    return answer == ANSWER_YES ? follow_both(in, test, to, depth) : answer;
}

Answer
loop_leave(Interp *in, const Leaving *leaving)
{
    const LoopShape *shape = leaving->shape;
    const Leaving *outer = in->leaving;
    bool ends = in->loop == NULL && shape->sides != 0;
    in->leaving = leaving;
    Answer answer = ends ? loop_exit_ways(in, leaving) : loop_leave_from(in, 1);
    in->leaving = outer;
    if (answer != ANSWER_BREAK || in->branched || in->attempt.again) return answer;
    return loop_unkept(in, shape->top, "its ways out lead to what is not followed as one graph");
}
