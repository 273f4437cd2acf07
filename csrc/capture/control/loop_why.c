/* Why a loop did not stay a loop, for the message of the break where its unrolling ended.  In: what
   loop.c refused.  Out: a text with the line in question. */
#include "control.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- what an instruction of the body is, in the user's terms ---- */

static bool
is_conditional(const Instr *instr)
{
    switch (instr->kind) {
    case I_JUMP_IF_FALSE:
    case I_JUMP_IF_TRUE:
    case I_JUMP_IF_NONE:
    case I_JUMP_IF_NOT_NONE:
    case I_JUMP_IF_FALSE_OR_POP:
    case I_JUMP_IF_TRUE_OR_POP: return true;
    default: return false;
    }
}

/* The instruction computes the condition of a jump. */
static bool
leads_to_branch(const Decoded *d, int number)
{
    for (int i = number; i < d->count && i < number + 4; i++) {
        if (is_conditional(&d->instrs[i])) return true;
        switch (d->instrs[i].kind) {
        case I_COMPARE:
        case I_CONTAINS:
        case I_IS:
        case I_TO_BOOL:
        case I_UNARY_NOT: break;
        default: return false;
        }
    }
    return false;
}

static const char *
in_words(const Decoded *d, int number)
{
    if (leads_to_branch(d, number)) return "a branch";
    switch (d->instrs[number].kind) {
    case I_GET_ITER:
    case I_FOR_ITER: return "an inner loop";
    case I_COMPARE:
    case I_CONTAINS:
    case I_IS:
    case I_TO_BOOL:
    case I_UNARY_NOT: return "a comparison or truth value";
    case I_JUMP: return "a break or continue";
    case I_RETURN: return "a return";
    case I_YIELD: return "a yield";
    case I_RAISE: return "a raise";
    case I_CALL_KW:
    case I_CALL_EX: return "a call with keywords, * or **";
    case I_UNPACK:
    case I_UNPACK_EX: return "an assignment that unpacks";
    case I_BUILD_TUPLE: return "a tuple, such as an index for several axes";
    case I_BUILD_LIST:
    case I_BUILD_SET:
    case I_BUILD_MAP:
    case I_BUILD_MAP_KEYS: return "a list, set or dict that is made";
    case I_BUILD_STRING:
    case I_FORMAT: return "text that is made";
    case I_BUILD_SLICE:
    case I_SLICE_LOAD:
    case I_SLICE_STORE: return "a slice";
    case I_STORE_ATTR: return "a store to an attribute";
    case I_STORE_GLOBAL:
    case I_STORE_NAME: return "a store to a global variable";
    case I_STORE_DEREF:
    case I_LOAD_CELL: return "a variable that an inner function shares";
    case I_MAKE_FUNCTION: return "a function that is made";
    case I_BEFORE_WITH: return "a with block";
    case I_IMPORT_NAME: return "an import";
    case I_UNARY_INVERT: return "the operator ~";
    default: return "an instruction that is not followed in a loop";
    }
}

/* The line of a loop inside of the body; 0: there is none.  CPython moves the test of a `while`
   behind its body, so the line is that of the jump back or of where it goes. */
static int
inner_loop(const Decoded *d, int head)
{
    for (int i = head + 1; i < d->count && i < d->instrs[head].target; i++) {
        const Instr *instr = &d->instrs[i];
        if (instr->target > head && instr->target <= i)
            return Py_MIN(line_at(d, i), line_at(d, instr->target));
    }
    return 0;
}

/* ---- notes ---- */

Answer
loop_not_kept(Interp *in, int head, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    LoopNote note = {head, arena_copy(in->arena, text, strlen(text) + 1)};
    if (note.why == NULL || VEC_PUSH(in->arena, &in->attempt.unkept, note) < 0) return ANSWER_ERROR;
    return ANSWER_NO;
}

Answer
loop_has(Interp *in, int head, int number)
{
    const Decoded *d = in->bottom->decoded;
    int inner = inner_loop(d, head);
    if (inner > 0) return loop_not_kept(in, head, "it contains an inner loop, line %d", inner);
    return loop_not_kept(in, head, "it contains %s, line %d", in_words(d, number),
                         line_at(d, number));
}

const char *
loop_why(const Interp *in, int head)
{
    const Marks *marks = in->attempt.marks;
    for (int i = 0; i < marks->no_loop.len; i++)
        if (marks->no_loop.at[i] == head) return marks->no_loop_why.at[i];
    for (int i = in->attempt.unkept.len - 1; i >= 0; i--)
        if (in->attempt.unkept.at[i].number == head) return in->attempt.unkept.at[i].why;
    return "only a `for` loop over a range does";
}
