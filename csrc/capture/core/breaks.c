/* Why capture stops.  Only the first reason is recorded: later ones are its consequences. */
#include "core.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *code, *text, *hint;
} break_rows[] = {
    {"", "", ""},
#define BREAK(code, name, text, hint) {code, text, hint},
#include "../breaks.def"
};

static const char *const hint_rows[] = {
    "",
#define HINT(code, name, when, hint) hint,
#include "../breaks.def"
};

int
break_frame(Arena *arena, const Decoded *decoded, int number, BreakFrame *out)
{
    const char *file = text_of_str(decoded->code->co_filename);
    const char *name = text_of_str(decoded->code->co_qualname);
    out->file = arena_copy(arena, file, strlen(file) + 1);
    out->function = arena_copy(arena, name, strlen(name) + 1);
    out->line = line_at(decoded, number);
    out->code = decoded_place(decoded);
    return out->file == NULL || out->function == NULL ? -1 : 0;
}

/* The frames that are being followed, innermost first. */
static int
user_stack(Interp *in, Break *out)
{
    int room = 0;
    for (const Activation *a = in->top; a != NULL; a = a->caller) room++;
    out->nframes = 0;
    out->frames = arena_alloc(in->arena, sizeof(BreakFrame) * (size_t)(room + 1));
    if (out->frames == NULL) return -1;
    for (const Activation *a = in->top; a != NULL; a = a->caller) {
        if (a->caller != NULL && code_is_model(a)) continue;
        if (break_frame(in->arena, a->decoded, a->number, &out->frames[out->nframes++]) < 0)
            return -1;
    }
    return 0;
}

int
user_line(Interp *in, BreakFrame *out)
{
    const Activation *a = in->top;
    while (a->caller != NULL && code_is_model(a)) a = a->caller;
    return break_frame(in->arena, a->decoded, a->number, out);
}

const BreakFrame *
break_at(const Break *told)
{
    const char *file = told->frames[told->nframes - 1].file;
    int i = 0;
    while (strcmp(told->frames[i].file, file) != 0) i++;
    return &told->frames[i];
}

bool
names_line(const char *text)
{
    const char *at = strstr(text, "line ");
    return at != NULL && at[5] >= '0' && at[5] <= '9';
}

/* The library function for which pycompile's own code is being followed, or NULL. */
static const char *
followed_instead(const Interp *in)
{
    const char *name = NULL;
    for (const Activation *a = in->top; a != NULL && a->caller != NULL; a = a->caller) {
        if (!code_is_model(a)) break;
        name = text_of_str(a->decoded->code->co_qualname);
    }
    return name;
}

/* The name, if it is a function that compares the items of a list. */
static const char *
of_order(const char *name)
{
    static const char *const starts[] = {"heap", "nlargest", "nsmallest", "bisect", "insort"};
    for (int i = 0; name != NULL && i < COUNT_OF(starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) return name;
    return NULL;
}

/* Is the text "call of 'name'" already, whatever comes behind? */
static bool
is_call_of(const char *text, const char *name)
{
    static const char start[] = "call of '";
    size_t length = strlen(name), begin = sizeof(start) - 1;
    return strncmp(text, start, begin) == 0 && strncmp(text + begin, name, length) == 0 &&
           text[begin + length] == '\'';
}

/* The code's own hint; where that says to move something behind the array code, one that does not
   if it is there already. */
static BreakHint
hint_by_place(const Interp *in, BreakCode code)
{
    BreakHint last = code == BREAK_OUTPUT      ? HINT_SHOWN_LAST
                     : code == BREAK_CALL_C    ? HINT_CALLED_LAST
                     : code == BREAK_STORE     ? HINT_STORED_LAST
                     : code == BREAK_FINALIZER ? HINT_DROPPED_LAST
                                               : HINT_OF_CODE;
    if (last == HINT_OF_CODE || work_is_behind(in)) return HINT_OF_CODE;
    return code_stands_in(in->bottom->decoded->code) ? HINT_DROPPED_LAST : last; /* a module's */
}

static Answer
break_as_text(Interp *in, BreakCode code, BreakHint hint, const char *text)
{
    if (hint == HINT_OF_CODE) hint = hint_by_place(in, code);
    in->break_code = code;
    in->raising.raised = NULL; /* the caller that raises sets it */
    in->break_inlined = in->inlined > 0;
    in->told.code = code;
    in->told.hint = hint;
    in->told.leaves = false; /* see capture.c */
    const char *ours = followed_instead(in);
    in->told.orders = of_order(ours);
    if (ours != NULL && is_call_of(text, ours)) ours = NULL;
    in->told.detail =
        ours == NULL ? arena_copy(in->arena, text, strlen(text) + 1)
                     : arena_printf(in->arena, "call of '%s'%s%s", ours, *text ? ": " : "", text);
    return in->told.detail == NULL || user_stack(in, &in->told) < 0 ? ANSWER_ERROR : ANSWER_BREAK;
}

static Answer
break_formatted(Interp *in, BreakCode code, BreakHint hint, const char *format, va_list args)
{
    if (in->break_code != BREAK_NONE) return ANSWER_BREAK; /* the first reason is the reason */
    const char *text = arena_vprintf(in->arena, format, args);
    return text == NULL ? ANSWER_ERROR : break_as_text(in, code, hint, text);
}

Answer
interp_break(Interp *in, BreakCode code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Answer answer = break_formatted(in, code, HINT_OF_CODE, format, args);
    va_end(args);
    return answer;
}

Answer
break_hinted(Interp *in, BreakCode code, BreakHint hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Answer answer = break_formatted(in, code, hint, format, args);
    va_end(args);
    return answer;
}

/* Does no frame that is followed handle what is raised at its instruction? */
static bool
leaves_frames(const Interp *in)
{
    for (const Activation *a = in->top; a != NULL; a = a->caller)
        if (handler_at(a->decoded, a->decoded->instrs[a->number].at) != NULL) return false;
    return true;
}

Answer
break_raised(Interp *in, const char *format, ...)
{
    if (in->break_code != BREAK_NONE) return ANSWER_BREAK;
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(in->arena, format, args);
    va_end(args);
    if (text == NULL) return ANSWER_ERROR;
    Answer answer = break_as_text(in, BREAK_EXCEPTION, HINT_RAISED, text);
    in->told.leaves = leaves_frames(in);
    return answer;
}

Answer
interp_break_told(Interp *in, BreakCode code, BreakCode told, const char *detail)
{
    if (in->break_code != BREAK_NONE) return ANSWER_BREAK;
    Answer answer = interp_break(in, code, "%s", detail);
    in->told.code = told;
    return answer;
}

/* Is it, or is it in, the item of a `for` loop that Python runs: on the stack, or in a local that
   such a loop sets? */
static bool
is_counted(const Interp *in, const Value *number)
{
    const Decoded *d = in->bottom->decoded;
    SourceId id = number->source;
    while (id != NO_SOURCE && in->out->sources.at[id].base != NO_SOURCE)
        id = in->out->sources.at[id].base;
    if (id == NO_SOURCE || in->out->sources.at[id].kind != SOURCE_SLOT) return false;
    int slot = in->out->sources.at[id].index, entry = slot - d->nlocalsplus;
    if (entry >= 0) {
        int writer = stack_writer(d, in->request->number, &entry);
        return writer >= 0 && d->instrs[writer].kind == I_FOR_ITER;
    }
    for (int i = 0; i + 1 < d->count; i++) {
        if (d->instrs[i].kind != I_FOR_ITER) continue;
        int n = d->instrs[i + 1].kind == I_UNPACK ? d->instrs[i + 1].arg + 1 : 1;
        for (int k = i + 1; k <= i + n && k < d->count; k++)
            if (d->instrs[k].kind == I_STORE_LOCAL && d->instrs[k].arg == slot) return true;
    }
    return false;
}

/* Does a mask decide the length, or the array's shape?  `depth` bounds the walk. */
static bool
is_by_mask(Interp *in, NodeId id, int depth)
{
    const Node *node = graph_node(in->graph, id);
    const Opaque *opaque = opaque_of(in, id);
    if (opaque != NULL && opaque->mask != NO_NODE) return true;
    for (int i = 0; i < node->nargs && depth > 0; i++) {
        const Type *type = &graph_node(in->graph, node->args[i])->type;
        if (type->dtype == DT_BOOL && type->rank > 0) return true;
        if (type->rank == 0 && is_by_mask(in, node->args[i], depth - 1)) return true;
    }
    return false;
}

/* The hint for what depends on the length or shape. */
static void
tell_size(Interp *in, NodeId id)
{
    if (in->told.code == BREAK_DATA_SIZE && is_by_mask(in, id, 8)) in->told.hint = HINT_MASK;
}

/* Does it come of Python's numbers alone, through functions of NumPy's?  `depth` bounds the walk.
 */
static bool
is_of_numbers(const Graph *g, NodeId id, int depth)
{
    const Node *node = graph_node(g, id);
    if (node->type.rank > 0 || node->type.form == FORM_ARRAY || depth == 0) return false;
    if (op_info(node->op)->kind == KIND_INPUT) return node->type.form == FORM_PYTHON;
    for (int i = 0; i < node->nargs; i++)
        if (!is_of_numbers(g, node->args[i], depth - 1)) return false;
    return true;
}

/* Could the caller compute it?  It comes of what the function was given, by operations alone: none
   of its loops and none of its writes.  `budget` bounds the walk. */
static bool
is_of_arguments(const Interp *in, NodeId id, int *budget)
{
    const Node *node = graph_node(in->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_INPUT || kind == KIND_CONST) return true;
    if (--*budget < 0 || kind == KIND_REGION || kind == KIND_SCATTER ||
        node->op == OP_element_store)
        return false;
    for (int i = 0; i < node->nargs; i++)
        if (!is_of_arguments(in, node->args[i], budget)) return false;
    return true;
}

static BreakHint
hint_of_number(const Interp *in, NodeId number)
{
    int budget = 100;
    if (is_of_numbers(in->graph, number, 32)) return HINT_OF_NUMBERS;
    bool begins = in->request->number == in->request->decoded->first_traceable;
    return begins && is_of_arguments(in, number, &budget) ? HINT_OUT_OF_ARRAY : HINT_COMPUTED;
}

/* The node that made the first of the arrays of unknown length from which this one comes. */
static NodeId
first_of_unknown_size(Interp *in, NodeId id)
{
    enum { DEEPEST = 64 };
    for (int depth = 0; depth < DEEPEST; depth++) {
        const Node *node = graph_node(in->graph, id);
        NodeId before = NO_NODE;
        for (int i = 0; i < node->nargs && before == NO_NODE; i++)
            if (opaque_of(in, node->args[i]) != NULL) before = node->args[i];
        if (before == NO_NODE) break;
        id = before;
    }
    return id;
}

/* Where the unknown length came from, if that is another line of the function. */
static const char *
with_origin(Interp *in, NodeId id, const char *what)
{
    const Node *first = graph_node(in->graph, first_of_unknown_size(in, id));
    bool here = first->file == in->top->file &&
                first->line != in->top->decoded->instrs[in->top->number].line;
    if (!here || first->line == 0) return what;
    return arena_printf(in->arena, "%s, of a length that line %d decides", what, first->line);
}

Answer
break_of_size(Interp *in, BreakCode code, NodeId node, const char *what)
{
    if (in->break_code != BREAK_NONE) return ANSWER_BREAK;
    if ((what = with_origin(in, node, what)) == NULL) return ANSWER_ERROR;
    Answer answer = interp_break_told(in, code, BREAK_DATA_SIZE, what);
    tell_size(in, node);
    return answer;
}

Answer
break_unknown_number(Interp *in, BreakCode code, Value *number, const char *what)
{
    if (in->break_code != BREAK_NONE) return ANSWER_BREAK;
    if (number->kind != V_NODE) return interp_break(in, code, "%s that is not a known int", what);
    bool of_data = value_is_unknown_scalar(in, number);
    Answer answer = interp_break_told(in, code, of_data ? BREAK_DATA_SIZE : BREAK_VARIES, what);
    if (of_data && !value_is_data_length(in, number))
        in->told.hint = hint_of_number(in, number->node);
    else if (of_data)
        tell_size(in, number->node);
    if (!of_data && is_counted(in, number)) in->told.hint = HINT_COUNTER;
    return answer;
}

BreakCode
break_of_index(Interp *in, const Value *number)
{
    bool of_data = value_is_unknown_scalar(in, number) ||
                   graph_node(in->graph, number->node)->type.form != FORM_PYTHON;
    return of_data ? BREAK_DATA_INDEX : BREAK_VARIES;
}

/* A number that the key is made of, or is; NULL: none. */
static Value *
number_of_key(Interp *in, Value *key, int depth)
{
    if (key->kind == V_NODE && value_is_number(in, key)) return key;
    if ((key->kind != V_TUPLE && key->kind != V_SLICE) || depth == 4) return NULL;
    for (int i = 0; i < key->nitems; i++) {
        Value *item = value_item(in, key, i);
        Value *number = item != NULL ? number_of_key(in, item, depth + 1) : NULL;
        if (number != NULL) return number;
    }
    return NULL;
}

/* Is it, or does it contain, what the graph makes: text, an object of a step? */
static bool
is_made(Interp *in, Value *key, int depth)
{
    if (key->kind == V_PURE || key->kind == V_NODE) return true;
    bool made = false;
    for (int i = 0; key->kind == V_TUPLE && depth < 4 && i < key->nitems && !made; i++) {
        Value *item = value_item(in, key, i);
        made = item != NULL && is_made(in, item, depth + 1);
    }
    return made;
}

Answer
break_key(Interp *in, Value *key, const char *what)
{
    if (in->break_code != BREAK_NONE) return ANSWER_BREAK;
    const Value *number = number_of_key(in, key, 0);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    if (number == NULL && is_made(in, key, 0))
        return PyErr_Occurred() ? ANSWER_ERROR
                                : break_hinted(in, BREAK_INDEX, HINT_MADE_KEY,
                                               "%s that is only known when the code runs", what);
    if (number == NULL) return interp_break(in, BREAK_INDEX, "%s that is not known", what);
    Answer answer = interp_break_told(in, BREAK_INDEX, break_of_index(in, number), what);
    if (in->told.code == BREAK_DATA_INDEX) in->told.hint = HINT_KEY;
    if (in->told.code == BREAK_VARIES && is_counted(in, number)) in->told.hint = HINT_COUNTER;
    return answer;
}

Answer
interp_break_as(Interp *in, BreakCode code, const Break *told)
{
    if (in->break_code != BREAK_NONE) return ANSWER_BREAK;
    in->break_code = code;
    in->raising.raised = NULL;
    in->break_inlined = in->inlined > 0;
    return break_copy(in->arena, told, &in->told) < 0 ? ANSWER_ERROR : ANSWER_BREAK;
}

BreakNote
break_take(Interp *in)
{
    BreakNote note = {in->break_code, in->told, in->break_inlined};
    in->break_code = BREAK_NONE;
    return note;
}

Answer
break_put(Interp *in, const BreakNote *note)
{
    in->break_code = note->code;
    in->told = note->told;
    in->break_inlined = note->inlined;
    return note->code != BREAK_NONE ? ANSWER_BREAK : ANSWER_NO;
}

Answer
break_unless(Interp *in, Answer answer, const BreakNote *note)
{
    if (answer == ANSWER_YES || answer == ANSWER_ERROR || in->raising.raised != NULL) return answer;
    return break_put(in, note);
}

int
break_copy(Arena *arena, const Break *from, Break *out)
{
    size_t size = sizeof(BreakFrame) * (size_t)from->nframes;
    *out = *from;
    out->detail = arena_copy(arena, from->detail, strlen(from->detail) + 1);
    out->frames = arena_alloc(arena, size + 1);
    if (out->detail == NULL || out->frames == NULL) return -1;
    for (int i = 0; i < from->nframes; i++) {
        BreakFrame frame = from->frames[i];
        frame.file = arena_copy(arena, frame.file, strlen(frame.file) + 1);
        frame.function = arena_copy(arena, frame.function, strlen(frame.function) + 1);
        if (frame.file == NULL || frame.function == NULL) return -1;
        out->frames[i] = frame;
    }
    return 0;
}

const char *
break_text(BreakCode code)
{
    return break_rows[code].text;
}

const char *
break_hint(const Break *item)
{
    return item->hint != HINT_OF_CODE ? hint_rows[item->hint] : break_rows[item->code].hint;
}

const char *
break_code(BreakCode code)
{
    return break_rows[code].code;
}
