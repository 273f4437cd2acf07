/* What earlier attempts have found out about loops (Marks): which are unrolled, and to which types
   they change locals.

   A function that is followed from several places has its loop once for each, with the name of
   that place.  What was found out at another place is taken for granted until something else is
   found at this one, so that the number of attempts does not grow with the number of calls. */
#include "loop.h"

enum { REFUSALS = 3 }; /* from so many places, and the loop is not tried from others */

const char *
loop_refused(const Interp *in, int number)
{
    const Marks *marks = in->attempt.marks;
    LoopName loop = loop_name(in->top, number);
    const char *elsewhere = NULL;
    for (int i = 0, n = 0; i < marks->no_loop.len; i++) {
        const LoopNote *note = &marks->no_loop.at[i];
        if (loop_is(&note->loop, &loop)) return note->why;
        if (loop_is_of_code(&note->loop, &loop) && ++n == REFUSALS) elsewhere = note->why;
    }
    return elsewhere;
}

const char *
loop_note(const Interp *in, int number)
{
    const char *why = loop_refused(in, number);
    LoopName loop = loop_name(in->top, number);
    for (int i = in->attempt.unkept.len - 1; i >= 0 && why == NULL; i--)
        if (loop_is(&in->attempt.unkept.at[i].loop, &loop)) why = in->attempt.unkept.at[i].why;
    return why;
}

BreakHint
loop_note_hint(const Interp *in, int number, BreakHint otherwise)
{
    const Marks *marks = in->attempt.marks;
    LoopName loop = loop_name(in->top, number);
    for (int i = 0; i < marks->no_loop.len; i++)
        if (loop_is(&marks->no_loop.at[i].loop, &loop) && marks->no_loop.at[i].hint != HINT_OF_CODE)
            return marks->no_loop.at[i].hint;
    if (loop_refused(in, number) != NULL) return otherwise; /* the reason that is told */
    for (int i = in->attempt.unkept.len - 1; i >= 0; i--) {
        const LoopNote *note = &in->attempt.unkept.at[i];
        if (loop_is(&note->loop, &loop)) return note->hint != HINT_OF_CODE ? note->hint : otherwise;
    }
    return otherwise;
}

int
loop_learn_refusal(Interp *in, int number, char *why)
{
    BreakHint told = in->break_code != BREAK_NONE ? in->told.hint : HINT_OF_CODE;
    BreakHint hint = told == HINT_DRAWN   ? HINT_LOOP_DRAWS
                     : told == HINT_TURNS ? told /* of an inner loop */
                                          : HINT_OF_CODE;
    LoopNote note = {.loop = loop_name(in->top, number), .why = why, .hint = hint};
    return VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->no_loop, note);
}

bool
loop_is_of_numbers(const Interp *in, int number)
{
    const Marks *marks = in->attempt.marks;
    LoopName loop = loop_name(in->top, number);
    for (int i = 0; i < marks->of_numbers.len; i++)
        if (loop_is(&marks->of_numbers.at[i], &loop)) return true;
    return false;
}

/* What was found out about branches of the loop when it was unrolled. */
static void
forget_branches(Marks *marks, const Activation *a, const LoopShape *shape)
{
    int kept = 0;
    for (int i = 0; i < marks->branches.len; i++) {
        const BranchMark *mark = &marks->branches.at[i];
        if (mark->code != a->decoded->code || !shape->inside[mark->number])
            marks->branches.at[kept++] = *mark;
    }
    marks->branches.len = kept;
}

Answer
loop_learn_numbers(Interp *in)
{
    const Activation *a = in->top;
    bool learnt = false;
    for (int number = 0; number <= a->number && in->loop == NULL; number++) {
        LoopShape *shape;
        if (loop_shape(in, a->decoded, number, &shape) < 0) return ANSWER_ERROR;
        if (shape == NULL || shape->top != number || !shape->inside[a->number]) continue;
        const char *why = loop_note(in, number);
        if (why == NULL || strcmp(why, loop_without_elements) != 0) continue;
        int arrays = loop_computes_arrays(in, shape->head);
        if (arrays < 0) return ANSWER_ERROR;
        if (arrays > 0 || loop_is_of_numbers(in, number)) continue;
        LoopName loop = loop_name(a, number);
        if (VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->of_numbers, loop) < 0)
            return ANSWER_ERROR;
        forget_branches(in->attempt.learn, a, shape);
        learnt = true;
    }
    if (!learnt) return ANSWER_NO;
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

const LoopType *
loop_learnt_type(const Interp *in, const LoopName *loop, int slot)
{
    const Marks *marks = in->attempt.marks;
    const LoopType *elsewhere = NULL;
    for (int i = 0; i < marks->loop_types.len; i++) {
        const LoopType *type = &marks->loop_types.at[i];
        if (type->slot == slot && loop_is(&type->loop, loop)) return type;
        if (type->slot == slot && loop_is_of_code(&type->loop, loop)) elsewhere = type;
    }
    return elsewhere;
}

Answer
loop_learn_type(Interp *in, const LoopName *loop, int slot, const Type *type)
{
    const LoopType *known = loop_learnt_type(in, loop, slot);
    if (known != NULL && loop_is(&known->loop, loop)) return ANSWER_NO;
    LoopType learnt = {.loop = *loop, .slot = slot, .dtype = type->dtype, .form = type->form};
    return VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->loop_types, learnt) < 0
               ? ANSWER_ERROR
               : ANSWER_YES;
}
