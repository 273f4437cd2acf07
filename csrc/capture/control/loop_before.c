/* Loops over arrays whose shape is not known before the code runs, as np.zeros(n) of a varying n.

   In the graph that makes such an array it is an object, of which no element can be read or written
   in a native loop.  In a graph that begins behind that it is an input of any shape.  So the graph
   ends at the statement of the outermost loop, and the loop begins the next one. */
#include "control.h"

/* The Instr that CPython does between the two graphs: the first of the statement where that makes
   what a `for` goes over, else the last before the loop.  -1: there is none. */
static int
last_before(const Decoded *d, const LoopShape *shape)
{
    int number = shape->top;
    if (!shape->counts) return number > 0 && d->instrs[number - 1].target < 0 ? number - 1 : -1;
    while (number > 0 && (d->instrs[number].depth > shape->base || d->instrs[number].sub != 0))
        number--;
    return d->instrs[number].depth == shape->base ? number : -1;
}

Answer
loop_begins_graph(Interp *in, const LoopShape *shape, const char *what)
{
    const Activation *of = in->top;
    for (const Turn *turn = in->turn; turn != NULL; turn = turn->around) {
        shape = turn->shape;
        of = turn->of;
    }
    if (of != in->bottom || in->fork != NULL) return ANSWER_NO;
    int number = last_before(of->decoded, shape);
    int first = number < 0 ? 0 : in->attempt.first_step[number]; /* 1: the graph begins here */
    if (first <= 1 || first <= 1 + in->attempt.marks->stop_at) return ANSWER_NO;
    Answer answer = break_hinted(in, BREAK_DATA_SIZE, HINT_LOOP_BEHIND,
                                 "a loop uses elements of %s, whose shape is only known when the "
                                 "code runs: the loop begins a graph of its own",
                                 what);
    if (answer == ANSWER_ERROR) return answer;
    Marks *learn = in->attempt.learn;
    learn->stop_at = first - 1;
    in->told.nframes = 1;
    if (break_copy(in->attempt.learn_arena, &in->told, &learn->stop) < 0 ||
        break_frame(in->attempt.learn_arena, of->decoded, number, learn->stop.frames) < 0)
        return ANSWER_ERROR;
    in->attempt.again = true;
    return ANSWER_BREAK;
}
