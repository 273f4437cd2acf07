/* Why a loop did not stay a loop, for the message of the break where its unrolling ended.  In: what
   loop.c refused.  Out: a text with the line in question. */
#include "loop.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- what an instruction of the body is, in the user's terms ---- */

static const char *
in_words(const Decoded *d, int number)
{
    switch (d->instrs[number].kind) {
    case I_RETURN: return "a return";
    case I_YIELD: return "a yield";
    case I_RAISE: return "a raise";
    case I_UNPACK_EX: return "an assignment that unpacks";
    case I_BUILD_SET:
    case I_SET_UPDATE:
    case I_DICT_UPDATE:
    case I_BUILD_MAP_KEYS: return "a set or dict that is made";
    case I_DELETE_LOCAL:
    case I_DELETE_DEREF:
    case I_DELETE_GLOBAL:
    case I_DELETE_ATTR:
    case I_DELETE_SUBSCRIPT: return "a `del`";
    case I_LOAD_SUPER_ATTR: return "a use of super()";
    case I_GET_LEN:
    case I_MATCH_CLASS:
    case I_MATCH_KEYS:
    case I_MATCH_MAPPING:
    case I_MATCH_SEQUENCE: return "a `match` by patterns";
    case I_LOAD_ASSERTION_ERROR: return "an assert";
    case I_LOAD_BUILD_CLASS: return "a class that is made";
    case I_BUILD_STRING:
    case I_FORMAT: return "text that is made";
    case I_STORE_ATTR: return "a store to an attribute";
    case I_STORE_GLOBAL:
    case I_STORE_NAME: return "a store to a global variable";
    case I_LOAD_CELL: /* what it takes of this function */
    case I_MAKE_FUNCTION: return "a function, lambda or comprehension that is made";
    case I_JUMP_IF_NONE:
    case I_JUMP_IF_NOT_NONE:
    case I_IS: return "a test with `is`";
    case I_LOAD_CLEAR: return "a comprehension";
    case I_BEFORE_WITH: return "a with block";
    case I_IMPORT_NAME: return "an import";
    default: return "an instruction that is not followed in a loop";
    }
}

/* ---- notes ---- */

static Answer
add_note(Interp *in, int head, BreakHint hint, const char *format, va_list args)
{
    LoopNote note = {.loop = loop_name(in->top, head),
                     .why = arena_vprintf(in->arena, format, args),
                     .hint = hint};
    if (note.why == NULL || VEC_PUSH(in->arena, &in->attempt.unkept, note) < 0) return ANSWER_ERROR;
    return ANSWER_NO;
}

Answer
loop_not_kept(Interp *in, int head, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Answer answer = add_note(in, head, HINT_OF_CODE, format, args);
    va_end(args);
    return answer;
}

Answer
loop_of_arrays(Interp *in, int head, BreakHint hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Answer answer = add_note(in, head, hint, format, args);
    va_end(args);
    return answer;
}

/* The inner function that shares the variable; NULL: none, it is a variable of an outer one. */
static const PyCodeObject *
who_shares(const PyCodeObject *code, PyObject *name)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *inner = PyTuple_GET_ITEM(code->co_consts, i);
        if (!PyCode_Check(inner)) continue;
        PyObject *names = PyObject_GetAttrString(inner, "co_freevars");
        int has = names != NULL ? PySequence_Contains(names, name) : -1;
        Py_XDECREF(names);
        if (has < 0) PyErr_Clear(); /* only a message is the poorer */
        if (has > 0) return (const PyCodeObject *)inner;
    }
    return NULL;
}

/* "it stores 's', which the lambda of line 3 shares". */
static const char *
shares_in_words(Interp *in, const Scan *scan)
{
    const Decoded *d = in->top->decoded;
    PyObject *name = code_slot_name(d->code, scan->shared);
    const PyCodeObject *by = who_shares(d->code, name);
    if (by == NULL)
        return arena_printf(in->arena,
                            "it stores '%s', a variable of the function around this one (use a "
                            "local one in the loop), line %d",
                            text_of_str(name), line_at(d, scan->refused));
    const char *of = text_of_str(by->co_name);
    bool lambda = strcmp(of, "<lambda>") == 0;
    return arena_printf(in->arena,
                        "it stores '%s', which %s%s%s of line %d shares (use another variable in "
                        "the loop), line %d",
                        text_of_str(name), lambda ? "the lambda" : "'", lambda ? "" : of,
                        lambda ? "" : "'", by->co_firstlineno, line_at(d, scan->refused));
}

/* The next instruction of the loop that is not followed, on another line: what is in the way when
   the first is mended.  0: there is none. */
static int
refused_next(const Decoded *d, const Scan *scan)
{
    const char *words = in_words(d, scan->refused);
    for (int i = scan->refused + 1; i < d->count; i++)
        if (scan->shape->inside[i] && !loop_follows(&d->instrs[i]) &&
            line_at(d, i) != line_at(d, scan->refused) && strcmp(in_words(d, i), words) != 0)
            return i;
    return 0;
}

/* Why a loop has not the form. */
static const char *
form_in_words(Interp *in, const Scan *scan)
{
    const Decoded *d = in->top->decoded;
    if (scan->why != NULL) return scan->why;
    if (scan->shared >= 0) return shares_in_words(in, scan);
    InstrKind kind = d->instrs[scan->refused].kind; /* one inside would begin with another Instr */
    if (kind == I_SET_ADD || kind == I_MAP_ADD)
        return "it is a comprehension (store into an array in a `for` loop: out = np.zeros(n))";
    int next = refused_next(d, scan);
    const char *words = in_words(d, scan->refused);
    if (next == 0)
        return arena_printf(in->arena, "it contains %s, line %d", words, line_at(d, scan->refused));
    return arena_printf(in->arena, "it contains %s, line %d, and %s, line %d", words,
                        line_at(d, scan->refused), in_words(d, next), line_at(d, next));
}

Answer
loop_has(Interp *in, const Scan *scan)
{
    const char *why = form_in_words(in, scan);
    if (why == NULL ||
        (scan->why == NULL && loop_note_side_of(in, scan->shape, scan->refused, why) < 0))
        return ANSWER_ERROR;
    return loop_not_kept(in, scan->shape->top, "%s", why);
}

/* "Python's int", "a numpy.int32" or "an array". */
static const char *
type_words(Interp *in, const Type *type)
{
    const char *name = dtype_long_name((DType)type->dtype);
    if (type->rank > 0 || type->form == FORM_ARRAY) return "an array";
    if (type->form != FORM_PYTHON) return arena_printf(in->arena, "a numpy.%s", name);
    return dtype_is_integer((DType)type->dtype) ? "Python's int"
           : type->dtype == DT_F64              ? "Python's float"
           : type->dtype == DT_BOOL             ? "Python's bool"
                                                : "Python's complex";
}

const char *
loop_type_changes(Interp *in, int slot, const Type *from, const Type *to)
{
    const char *name = loop_slot_text(in, slot);
    const char *before = type_words(in, from), *after = type_words(in, to);
    if (before == NULL || after == NULL) return NULL;
    bool numpy = to->rank == 0 && to->form == FORM_SCALAR;
    return arena_printf(in->arena, "'%s' is %s before it and %s in it%s%s%s", name, before, after,
                        numpy ? " (begin with np." : "",
                        numpy ? dtype_long_name((DType)to->dtype) : "", numpy ? "(...))" : "");
}

/* The loop's notes have the name of the Instr at which it is entered.  *out is NULL where no loop
   has the head. */
static int
loop_of(Interp *in, int head, LoopShape **out)
{
    for (int top = head; top >= 0; top--) {
        if (loop_shape(in, in->top->decoded, top, out) < 0) return -1;
        if (*out != NULL && (*out)->head == head) return 0;
    }
    *out = NULL;
    return 0;
}

/* Does the loop compute with whole arrays?  Then it is none that would stay a loop, and the break
   is told as in other code. */
static bool
computes_arrays(const Interp *in, const LoopShape *shape)
{
    const Decoded *d = in->top->decoded;
    int first = line_at(d, shape->top), last = first;
    int begin = d->code->co_firstlineno, end = begin; /* else it is in a function that is called */
    for (int i = 0; i < d->count; i++) {
        if (shape->inside[i]) last = Py_MAX(last, d->instrs[i].line);
        end = Py_MAX(end, d->instrs[i].line);
    }
    for (NodeId id = 0; id < in->graph->nodes.len; id++) {
        const Node *node = graph_node(in->graph, id);
        OpKind kind = op_info(node->op)->kind;
        bool elsewhere = node->file != in->top->file || node->line < begin || node->line > end;
        bool whole = kind == KIND_REDUCTION || kind == KIND_SCAN || kind == KIND_MATMUL ||
                     ((kind == KIND_POINTWISE || kind == KIND_UFUNC) && node->type.rank > 0);
        if (whole && (elsewhere || (node->line >= first && node->line <= last))) return true;
    }
    return false;
}

int
loop_computes_arrays(Interp *in, int head)
{
    LoopShape *shape;
    if (loop_of(in, head, &shape) < 0) return -1;
    return shape != NULL && computes_arrays(in, shape);
}

const char *
loop_is_ended(Interp *in)
{
    for (int top = in->top->number; top >= 0; top--) {
        LoopShape *shape;
        if (loop_shape(in, in->top->decoded, top, &shape) < 0) return NULL;
        if (shape != NULL && shape->inside[in->top->number] && computes_arrays(in, shape))
            return "it ends a loop, whose turns compute with whole arrays";
    }
    return "it ends a loop";
}

/* ---- loops over something else than a range ---- */

/* An array that the iterator goes over, itself or as a part of zip and the like; NULL: none. */
static Value *
array_of_iterator(Interp *in, Value *iterator)
{
    if (value_is_array(in, iterator)) return iterator;
    if (iterator->kind != V_ITER || value_is_generator(iterator)) return NULL;
    Value *array = iterator->walked != NULL ? array_of_iterator(in, iterator->walked) : NULL;
    bool parts = iterator->name != NULL && strcmp(iterator->name, "zip") == 0;
    for (int i = 0; parts && i < iterator->nitems && array == NULL; i++)
        array = array_of_iterator(in, iterator->items[i]);
    return array;
}

static Value *
iterator_of_loop(const Interp *in, const LoopShape *shape)
{
    const Activation *a = in->top;
    return a->number >= shape->head && shape->base < a->depth
               ? a->slots[a->decoded->nlocalsplus + shape->base]
               : NULL;
}

static const char *
name_of(const Interp *in, const Value *value)
{
    for (int i = 0; i < in->top->decoded->nlocalsplus; i++)
        if (in->top->slots[i] == value)
            return text_of_str(code_slot_name(in->top->decoded->code, i));
    return NULL;
}

/* The loop goes over the elements of an array: the array, else NULL. */
static Value *
elements_of(Interp *in, const LoopShape *shape)
{
    Value *iterator = shape->counts ? iterator_of_loop(in, shape) : NULL;
    Value *array = iterator != NULL ? array_of_iterator(in, iterator) : NULL;
    return array != NULL && graph_node(in->graph, array->node)->type.rank == 1 ? array : NULL;
}

static const char *
goes_over(Interp *in, LoopShape *shape)
{
    static const char only[] = "only loops over ranges or arrays, and `while` loops do";
    const Value *array = elements_of(in, shape), *iterator = iterator_of_loop(in, shape);
    const char *name = array != NULL ? name_of(in, array) : NULL;
    Value *other_thing = array == NULL && iterator != NULL ? iterator->walked : NULL;
    if (other_thing != NULL && !value_is_array(in, other_thing)) {
        const char *what = value_named(in, other_thing);
        return what == NULL ? NULL
                            : arena_printf(in->arena, "%s, and this one goes over %s", only, what);
    }
    if (array == NULL) return only;
    Scan scan; /* would it be kept if it went over a range? */
    int fits = loop_scan(in, in->top->decoded, shape, true, &scan);
    if (fits < 0) return NULL;
    const char *other = "";
    if (fits == 0 && scan.why != loop_without_elements &&
        (other = form_in_words(in, &scan)) == NULL)
        return NULL;
    for (int i = 0; fits > 0 && i < scan.narrays && *other == '\0'; i++) {
        Value *written = in->top->slots[scan.array_slot[i]];
        const char *unfit = written == NULL || value_is_array(in, written)
                                ? NULL
                                : loop_unfit_array(in, &scan, scan.array_slot[i], written);
        if (unfit != NULL &&
            (other = arena_printf(in->arena, "it writes elements of '%s', which %s",
                                  loop_slot_text(in, scan.array_slot[i]), unfit)) == NULL)
            return NULL;
    }
    const char *and = *other != '\0' ? "; and " : "";
    if (name == NULL)
        return arena_printf(in->arena,
                            "%s, and this one goes over other things than the elements of arrays "
                            "(go over indices, and read elements)%s%s",
                            only, and, other);
    return arena_printf(
        in->arena,
        "%s, and this one goes over other things than the elements of arrays (write `for i in "
        "range(len(%s))`, and %s[i])%s%s",
        only, name, name, and, other);
}

int
loop_refusal(Interp *in, int head, const char **why)
{
    LoopShape *shape;
    if (loop_of(in, head, &shape) < 0) return -1;
    *why = loop_note(in, shape != NULL ? shape->top : head);
    return 0;
}

const char *
loop_why(Interp *in, int head)
{
    LoopShape *shape;
    if (loop_of(in, head, &shape) < 0) return NULL;
    const char *why = loop_note(in, shape != NULL ? shape->top : head);
    if (why != NULL) return why;
    if (shape == NULL) return "only loops over ranges or arrays, and `while` loops do";
    if (shape->counts) return goes_over(in, shape);
    Scan scan; /* of a `while` in whose midst the graph began */
    int fits = loop_scan(in, in->top->decoded, shape, false, &scan);
    if (fits < 0) return NULL;
    if (fits == 0) return form_in_words(in, &scan);
    why = loop_note(in, shape->top);
    return why != NULL ? why : "the graph begins in its midst";
}

int
loop_hint(Interp *in, int head, BreakHint otherwise, BreakHint *out)
{
    LoopShape *shape;
    if (loop_of(in, head, &shape) < 0) return -1;
    *out = loop_note_hint(in, shape != NULL ? shape->top : head, otherwise);
    if (*out == HINT_LOOP_ARRAYS)
        *out = shape != NULL && computes_arrays(in, shape) ? HINT_TURNS : otherwise;
    return 0;
}

Answer
inner_loop_unkept(Interp *in, int head)
{
    const char *why = loop_why(in, head);
    if (why == NULL) return ANSWER_ERROR;
    BreakHint hint;
    if (loop_hint(in, head, HINT_OF_CODE, &hint) < 0) return ANSWER_ERROR;
    if (in->top == in->turn->of)
        return break_hinted(in, BREAK_UNROLL, hint, "an inner loop that did not stay one: %s", why);
    return break_hinted(in, BREAK_UNROLL, hint,
                        "the loop of '%s', which it calls, did not stay one: %s",
                        text_of_str(in->top->decoded->code->co_name), why);
}

/* ---- breaks in the body of such a loop ---- */

/* The innermost loop around the bottom's current instruction that was to stay a loop and did not,
   or that goes over an array's elements and would as a loop over a range; else *out is NULL. */
static int
refused_around(Interp *in, LoopShape **out)
{
    for (int top = in->top->number; top >= 0; top--) {
        if (loop_shape(in, in->top->decoded, top, out) < 0) return -1;
        if (*out != NULL && (*out)->inside[in->top->number] &&
            (loop_note(in, (*out)->top) != NULL || elements_of(in, *out) != NULL))
            return 0;
    }
    *out = NULL;
    return 0;
}

/* Does the loop store arrays that it computes?  Where the graph has begun in its midst, this is
   seen by what its locals hold. */
static bool
hands_on_arrays(Interp *in, const LoopShape *shape)
{
    const Decoded *d = in->top->decoded;
    for (int i = 1; i < d->count; i++) {
        InstrKind made = d->instrs[i - 1].kind;
        bool computed = made == I_BINARY || made == I_CALL || made == I_CALL_KW ||
                        made == I_CALL_EX || made == I_LOAD_LOCAL;
        if (!shape->inside[i] || d->instrs[i].kind != I_STORE_LOCAL || !computed) continue;
        Value *value = in->top->slots[d->instrs[i].arg];
        if (value != NULL && value_is_array(in, value) &&
            graph_node(in->graph, value->node)->type.rank > 0)
            return true;
    }
    return false;
}

int
tell_refused_loop(Interp *in)
{
    bool by_value = in->told.code == BREAK_BRANCH || in->told.code == BREAK_DATA_SIZE ||
                    in->told.code == BREAK_VARIES || in->told.hint == HINT_LOOP_INSIDE;
    LoopShape *shape = NULL;
    if (by_value && refused_around(in, &shape) < 0) return -1;
    if (shape == NULL || computes_arrays(in, shape)) return 0;
    bool ends = in->told.code == BREAK_BRANCH && branch_hint_ends_loop(in->told.hint);
    if (ends && hands_on_arrays(in, shape)) return 0;
    const char *why = loop_note(in, shape->top);
    if (why != NULL && strcmp(why, loop_without_elements) == 0)
        return 0;           /* what it computes with has not been seen */
    bool own = why == NULL; /* the break has a reason of its own, beside the loop's */
    if (own && (why = goes_over(in, shape)) == NULL) return -1;
    own = (own && !branch_hint_ends_loop(in->told.hint)) || in->told.code != BREAK_BRANCH;
    bool decides = in->told.code == BREAK_BRANCH || in->told.code == BREAK_VARIES;
    BreakHint hint = loop_note_hint(in, shape->top, HINT_KEPT);
    if (hint == HINT_LOOP_ARRAYS) hint = HINT_KEPT;
    if (hint == HINT_TURNS && decides) /* a branch has a hint for whole arrays */
        hint = in->told.code == BREAK_VARIES ? HINT_LOOP_ARRAYS : in->told.hint;
    if (decides) in->told.hint = hint;
    in->told.detail = arena_printf(
        in->arena, "%s%sthe loop of line %d did not stay a loop: %s", own ? in->told.detail : "",
        own && *in->told.detail != '\0' ? "; " : "", line_at(in->top->decoded, shape->top), why);
    return in->told.detail == NULL ? -1 : 0;
}

/* The outermost loop of the frame's own that this attempt has unrolled.  Of one that computes with
   whole arrays there is something to tell where its turns make up a long graph. */
int
tell_unrolled(Interp *in)
{
    enum { LONG = 1024 }; /* instructions */
    const Decoded *d = in->bottom->decoded;
    for (int number = 0; number < d->count && in->top == in->bottom; number++) {
        const char *why = loop_note(in, number);
        LoopShape *shape;
        if (why == NULL || strcmp(why, loop_without_elements) == 0) continue;
        if (loop_shape(in, d, number, &shape) < 0) return -1;
        if (shape == NULL || shape->top != number || in->attempt.first_step[shape->head] == 0)
            continue;
        if (in->out->ninstructions < LONG && computes_arrays(in, shape)) continue;
        in->out->unkept = arena_printf(in->arena, "the loop of line %d did not stay a loop: %s",
                                       line_at(d, shape->top), why);
        return in->out->unkept == NULL ? -1 : 0;
    }
    return 0;
}
