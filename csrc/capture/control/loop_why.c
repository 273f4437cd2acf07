/* Why a loop did not stay a loop, for the message of the break where its unrolling ended.  In: what
   loop.c refused.  Out: a text with the line in question. */
#include "control.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- what an instruction of the body is, in the user's terms ---- */

static const char *
in_words(const Decoded *d, int number)
{
    switch (d->instrs[number].kind) {
    case I_CONTAINS:
    case I_IS: return "a test with `in` or `is`";
    case I_JUMP: return "a break";
    case I_RETURN: return "a return";
    case I_YIELD: return "a yield";
    case I_RAISE: return "a raise";
    case I_CALL_KW:
    case I_CALL_EX: return "a call with keywords, * or **";
    case I_UNPACK_EX: return "an assignment that unpacks";
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
    default: return "an instruction that is not followed in a loop";
    }
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
    const Instr *instr = &d->instrs[number];
    const char *what = in_words(d, number);
    /* CPython moves the test of a `while` behind its body. */
    int line = line_at(d, number);
    if (instr->target >= 0 && instr->target <= number) {
        what = "an inner `while` loop";
        line = Py_MIN(line, line_at(d, instr->target));
    } else if (instr->target >= d->instrs[head].target) {
        what = "a break or return";
    }
    return loop_not_kept(in, head, "it contains %s, line %d", what, line);
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
