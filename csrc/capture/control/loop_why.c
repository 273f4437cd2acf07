/* Why a loop did not stay a loop, for the message of the break where its unrolling ended.  In: what
   loop.c refused.  Out: a text with the line in question. */
#include "loop.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- what an instruction of the body is, in the user's terms ---- */

static const char *
in_words(const Decoded *d, int number)
{
    switch (d->instrs[number].kind) {
    case I_CONTAINS: return "a test with `in`";
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
    case I_JUMP_IF_NONE:
    case I_JUMP_IF_NOT_NONE:
    case I_IS: return "a test with `is`";
    case I_LIST_APPEND:
    case I_SET_ADD:
    case I_MAP_ADD: return "a comprehension";
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
    return loop_not_kept(in, head, "it contains %s, line %d", in_words(d, number),
                         line_at(d, number));
}

static const char *
note_of(const Interp *in, int number)
{
    const Marks *marks = in->attempt.marks;
    for (int i = 0; i < marks->no_loop.len; i++)
        if (marks->no_loop.at[i] == number) return marks->no_loop_why.at[i];
    for (int i = in->attempt.unkept.len - 1; i >= 0; i--)
        if (in->attempt.unkept.at[i].number == number) return in->attempt.unkept.at[i].why;
    return NULL;
}

/* The loop's notes have the name of the Instr at which it is entered. */
static LoopShape *
loop_of(Interp *in, int head)
{
    LoopShape *shape;
    for (int top = head; top >= 0; top--)
        if (loop_shape(in, in->bottom->decoded, top, &shape) == 0 && shape != NULL &&
            shape->head == head)
            return shape;
    return NULL;
}

/* Does the loop compute with whole arrays?  Then it is none that would stay a loop, and the break
   is told as in other code. */
static bool
computes_arrays(const Interp *in, const LoopShape *shape)
{
    const Decoded *d = in->bottom->decoded;
    int first = line_at(d, shape->top), last = first;
    for (int i = 0; i < d->count; i++)
        if (shape->inside[i]) last = Py_MAX(last, d->instrs[i].line);
    for (NodeId id = 0; id < in->graph->nodes.len; id++) {
        const Node *node = graph_node(in->graph, id);
        OpKind kind = op_info(node->op)->kind;
        bool whole = kind == KIND_REDUCTION || kind == KIND_SCAN || kind == KIND_MATMUL ||
                     ((kind == KIND_POINTWISE || kind == KIND_UFUNC) && node->type.rank > 0);
        if (whole && node->line >= first && node->line <= last) return true;
    }
    return false;
}

bool
loop_computes_arrays(Interp *in, int head)
{
    const LoopShape *shape = loop_of(in, head);
    return shape != NULL && computes_arrays(in, shape);
}

const char *
loop_refusal(Interp *in, int head)
{
    const LoopShape *shape = loop_of(in, head);
    return note_of(in, shape != NULL ? shape->top : head);
}

const char *
loop_why(Interp *in, int head)
{
    LoopShape *shape = loop_of(in, head);
    const char *why = note_of(in, shape != NULL ? shape->top : head);
    if (why != NULL) return why;
    if (shape == NULL || shape->counts) return "only loops over ranges and `while` loops do";
    Scan scan; /* of a `while` in whose midst the graph began */
    int fits = loop_scan(in, in->bottom->decoded, shape, &scan);
    if (fits == 0 && scan.why == NULL) loop_has(in, shape->top, scan.refused);
    why = fits == 0 && scan.why != NULL ? scan.why : note_of(in, shape->top);
    return why != NULL ? why : "the graph begins in its midst";
}

/* ---- breaks in the body of such a loop ---- */

/* The innermost loop around the bottom's current instruction that was to stay a loop and did not,
   or NULL. */
static const LoopShape *
refused_around(Interp *in)
{
    LoopShape *shape;
    for (int top = in->bottom->number; top >= 0; top--)
        if (loop_shape(in, in->bottom->decoded, top, &shape) == 0 && shape != NULL &&
            shape->inside[in->bottom->number] && note_of(in, shape->top) != NULL)
            return shape;
    return NULL;
}

int
tell_refused_loop(Interp *in)
{
    bool by_value = in->told.code == BREAK_BRANCH || in->told.code == BREAK_DATA_SIZE ||
                    in->told.code == BREAK_VARIES;
    const LoopShape *shape = by_value ? refused_around(in) : NULL;
    if (shape == NULL || computes_arrays(in, shape)) return 0;
    in->told.hint = in->told.code == BREAK_BRANCH ? HINT_REFUSED : in->told.hint;
    in->told.detail =
        arena_printf(in->arena, "%s%sthe loop of line %d did not stay a loop: %s",
                     in->told.code == BREAK_BRANCH ? "" : in->told.detail,
                     in->told.code == BREAK_BRANCH || *in->told.detail == '\0' ? "" : "; ",
                     line_at(in->bottom->decoded, shape->top), note_of(in, shape->top));
    return in->told.detail == NULL ? -1 : 0;
}
