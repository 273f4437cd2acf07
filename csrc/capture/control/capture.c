/* Entry to capture: sets the interpreter up at an instruction, follows, and makes the exit.
   An attempt that finds a decision of its own wrong is thrown away, and capture starts again with
   the fact noted in Marks: a call with a break inside is not inlined, a break in the middle of an
   instruction is made before it, writes to arrays that overlap are refused.  Capture is
   deterministic, so the next attempt takes the same path up to that point. */
#include "control.h"
#include "worth.h"

#include "../../config.h"

/* Instructions of one attempt, and of all, some 4 us each; attempts. */
enum { BUDGET = 200000, EFFORT = 2 * BUDGET, ATTEMPTS = 40, LEAST_EFFORT = 64 };

/* ---- one attempt ---- */

static Capture *
capture_new(Arena *arena)
{
    Capture *out = arena_alloc(arena, sizeof(Capture));
    if (out == NULL) return NULL;
    out->arena = arena;
    out->called = -1;
    out->keep = PyList_New(0);
    out->graph = out->keep ? graph_new(arena, out->keep) : NULL;
    if (out->graph == NULL) {
        Py_XDECREF(out->keep);
        return NULL;
    }
    return out;
}

void
capture_free(Capture *capture)
{
    if (capture == NULL) return;
    Py_XDECREF(capture->keep);
    arena_free(capture->arena);
}

static int
interp_begin(Interp *in)
{
    const CaptureRequest *request = in->request;
    Activation *bottom = activation_new(in, request->decoded);
    in->unbound = value_new(in, V_UNBOUND);
    in->null = value_new(in, V_NULL);
    if (bottom == NULL || in->unbound == NULL || in->null == NULL) return -1;
    int nslots = request->decoded->nlocalsplus + request->decoded->code->co_stacksize + 2;
    bottom->initial = arena_alloc(in->arena, (size_t)nslots * sizeof(Value *));
    size_t count = (size_t)request->decoded->count * sizeof(int);
    in->attempt.first_step = arena_alloc(in->arena, count);
    in->attempt.jumped_from = arena_alloc(in->arena, count);
    if (bottom->initial == NULL || in->attempt.first_step == NULL ||
        in->attempt.jumped_from == NULL)
        return -1;
    bottom->depth = request->depth;
    for (int i = 0; i < request->depth && i < 64; i++) {
        PyObject *object = request->slots[request->decoded->nlocalsplus + i];
        if (object == NULL) continue;
        int64_t rest[ITERATOR_INTS];
        bool alone = Py_REFCNT(object) == 1 && iterator_rest(object, rest);
        if (alone || array_is_spare(object)) in->temporaries.spare_slots |= (uint64_t)1 << i;
    }
    bottom->number = request->number;
    bottom->globals = request->globals;
    bottom->builtins = request->builtins;
    in->bottom = bottom;
    in->attempt.budget = (int)Py_MIN(BUDGET, in->attempt.marks->effort);
    in->graph->inlines = request->config != NULL && request->config->inline_functions;
    in->graph->tunes = request->config != NULL && request->config->autotune;
    in->graph->sizes_change = request->again;
    in->graph->fast = request->config != NULL && strcmp(request->config->numerics, "fast") == 0;
    in->attempt.unroll = request->config != NULL ? (int)request->config->unroll : 4096;
    return 0;
}

/* In code that stands for a function of heapq or bisect, what breaks is that values are compared,
   whichever branch, index or length of that code depends on it. */
static int
tell_order(Interp *in)
{
    Break *told = &in->told;
    bool compares = told->code == BREAK_BRANCH || told->code == BREAK_DATA_INDEX ||
                    told->code == BREAK_DATA_SIZE || told->code == BREAK_VARIES ||
                    told->code == BREAK_ORDER || told->code == BREAK_UNROLL;
    if (told->orders == NULL || !(compares || told->code == BREAK_ITEMS)) return 0;
    if (compares) told->code = BREAK_ORDER;
    told->hint = HINT_HEAP;
    told->detail = arena_printf(in->arena, "call of '%s'", told->orders);
    return told->detail == NULL ? -1 : 0;
}

static int
record_break(Interp *in)
{
    if (tell_order(in) < 0) return -1;
    return tell_refused_loop(in) < 0 ? -1 : VEC_PUSH(in->arena, &in->out->breaks, in->told);
}

typedef enum { ATTEMPT_ERROR = -1, ATTEMPT_AGAIN = 0, ATTEMPT_DONE = 1 } Attempt;

/* Capture broke inside an inlined call: the next attempt breaks at the call. */
static Attempt
learn_no_inline(Interp *in, Marks *marks, Arena *arena)
{
    Break inner;
    int number = in->attempt.blame > 0 ? in->attempt.blame - 1 : in->bottom->number;
    if (break_copy(arena, &in->told, &inner) < 0 ||
        VEC_PUSH(arena, &marks->no_inline, number) < 0 || VEC_PUSH(arena, &marks->inner, inner) < 0)
        return ATTEMPT_ERROR;
    return ATTEMPT_AGAIN;
}

/* The next attempt breaks before the step `step` of the bottom activation. */
static Attempt
learn_stop(Interp *in, Marks *marks, Arena *arena, int step)
{
    marks->stop_at = step;
    return break_copy(arena, &in->told, &marks->stop) < 0 ? ATTEMPT_ERROR : ATTEMPT_AGAIN;
}

/* Has the graph read the list in which its warnings are recorded?  Then it ends before the first.
 */
static bool
reads_warnings(Interp *in)
{
    const PyObject *list = in->writes.recorded;
    if (list == NULL || map_get(&in->sources.by_object, list) == NULL) return false;
    interp_break(in, BREAK_OUTPUT, "a warning that is recorded in a list that is read");
    return true;
}

static Attempt
finish(Interp *in, Marks *marks, Arena *arena, Answer answer)
{
    if (answer == ANSWER_ERROR) return ATTEMPT_ERROR;
    if (reads_warnings(in)) return learn_stop(in, marks, arena, in->writes.recorded_step);
    bool broke = answer != ANSWER_YES;
    if (in->attempt.again) return ATTEMPT_AGAIN;
    if (broke && !in->branched) {
        Answer learnt = loop_learn_sides(in);
        if (learnt == ANSWER_NO) learnt = repeat_learn_break(in);
        if (learnt != ANSWER_NO) return learnt == ANSWER_ERROR ? ATTEMPT_ERROR : ATTEMPT_AGAIN;
    }
    if (in->branched) {
        if (record_break(in) < 0) return ATTEMPT_ERROR;
        answer = ANSWER_YES;
    } else if (broke) {
        const Instr *instr = &in->request->decoded->instrs[in->bottom->number];
        if (in->raising.raised != NULL) {
            in->told.leaves = handler_at(in->request->decoded, instr->at) == NULL;
            if (in->told.leaves) in->told.hint = HINT_RAISED;
        }
        int since = handlers_alive_since(in);
        if (since >= 0) return learn_stop(in, marks, arena, since);
        if (in->break_inlined) return learn_no_inline(in, marks, arena);
        if (instr->sub != 0)
            return learn_stop(in, marks, arena, in->attempt.steps - 1 - instr->sub);
        if (in->writes.dirty || in->writes.dirty_before)
            return learn_stop(in, marks, arena, in->attempt.steps - 1);
        if (record_break(in) < 0) return ATTEMPT_ERROR;
        in->break_code = BREAK_NONE;
        answer = in->attempt.parted ? exit_on(in, in->bottom->number)
                                    : exit_break(in, in->bottom->number);
    } else {
        answer = exit_return(in, in->bottom->result);
    }
    if (answer == ANSWER_ERROR) return ATTEMPT_ERROR;
    if (answer == ANSWER_YES) (void)copies_are_unseen(in);
    if (in->attempt.again) return ATTEMPT_AGAIN;
    if (answer == ANSWER_YES) return ATTEMPT_DONE;
    if (answer == ANSWER_NO) { /* inputs overlap */
        break_hinted(in, BREAK_OVERLAP, in->writes.overlap.hint, "%s", "");
        if (marks->refuse_writes) return learn_stop(in, marks, arena, 0);
        marks->refuse_writes = true;
        marks->overlap = in->writes.overlap;
        return ATTEMPT_AGAIN;
    }
    /* An object cannot be built: leave everything to CPython, or only what follows the step that
       made it. */
    bool earlier =
        in->raising.unbuilt > 0 && (marks->stop_at < 0 || in->raising.unbuilt - 1 < marks->stop_at);
    return learn_stop(in, marks, arena, earlier ? in->raising.unbuilt - 1 : 0);
}

/* What the ints among the inputs are, for the estimate of what a plan saves. */
static int
note_seen(Interp *in)
{
    for (int i = 0; i < in->memory.inputs.len; i++) {
        PyObject *object = in->memory.inputs.at[i]->object;
        int64_t number = SEEN_NOTHING;
        int overflow = 0;
        if (object != NULL && PyLong_CheckExact(object))
            number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (VEC_PUSH(in->arena, &in->out->seen, overflow ? SEEN_NOTHING : number) < 0) return -1;
    }
    return 0;
}

/* Kept, the loop might have been worth a plan. */
static void
tell_left_loop(Capture *capture)
{
    if (capture->unkept == NULL) return;
    const char *both =
        arena_printf(capture->arena, "%s; unrolled, %s", capture->unkept, capture->left);
    if (both != NULL) capture->left = both;
    PyErr_Clear();
}

static Attempt
attempt(const CaptureRequest *request, Marks *marks, Arena *marks_arena, Capture **out)
{
    Arena *arena = arena_new();
    Capture *capture = arena ? capture_new(arena) : NULL;
    Attempt result = ATTEMPT_ERROR;
    if (capture == NULL) {
        arena_free(arena);
        return ATTEMPT_ERROR;
    }
    Interp in = {.kinds = value_kinds,
                 .above = &things_above,
                 .out = capture,
                 .arena = arena,
                 .graph = capture->graph,
                 .request = request};
    capture->entry = request->number;
    capture->globals = request->globals;
    capture->builtins = request->builtins;
    in.attempt.marks = marks;
    in.attempt.learn = marks;
    in.attempt.learn_arena = marks_arena;
    in.attempt.nobstacles = marks->obstacles.len;
    in.writes.refuse_writes = marks->refuse_writes;
    in.writes.overlap = marks->overlap;
    if (interp_begin(&in) == 0) {
        Value *ignored;
        Answer answer = interp_run(&in, in.bottom, &ignored);
        in.top = in.bottom;
        marks->effort -= Py_MIN(BUDGET, marks->effort) - Py_MAX(in.attempt.budget, 0);
        result = finish(&in, marks, marks_arena, answer);
        if (marks->interrupted && result != ATTEMPT_ERROR) {
            capture->interrupted = true;
            *out = capture;
            return ATTEMPT_DONE;
        }
        if (result == ATTEMPT_DONE && obstacles_guard(&in) < 0) result = ATTEMPT_ERROR;
    }
    if (result == ATTEMPT_DONE) {
        sizes_settle(&in);
        quiet_settle(&in);
    }
    if (result == ATTEMPT_DONE && marks->fixed_why != NULL &&
        (capture->fixed = arena_printf(in.arena, "%s", marks->fixed_why)) == NULL)
        result = ATTEMPT_ERROR;
    if (result == ATTEMPT_DONE && (note_seen(&in) < 0 || tell_unrolled(&in) < 0))
        result = ATTEMPT_ERROR;
    if (result == ATTEMPT_DONE) {
        capture->gain = capture_gain(capture, request);
        capture->useful = capture->gain > 0;
        bool last = marks->effort <= LEAST_EFFORT; /* or else the last try */
        bool left = last || (capture->useful && !repeat_has_many_steps(capture->graph));
        Answer turns = left ? ANSWER_NO : repeat_learn_unrolled(&in, capture->useful);
        if (turns != ANSWER_NO) {
            capture_free(capture);
            return turns == ANSWER_ERROR ? ATTEMPT_ERROR : ATTEMPT_AGAIN;
        }
        capture->saves = capture->useful ? capture_saves(capture, request) : 0;
        if (!capture->useful) tell_left_loop(capture);
        capture->recurses = marks->recurses;
        capture->certain = capture_certain(capture);
        capture->most_items = capture_most_items(capture);
        *out = capture;
    } else {
        capture_free(capture);
    }
    return result;
}

/* A loop of this code that tries have found not to stay one, and have then unrolled; NULL: none. */
static const LoopNote *
unrolled_in_vain(const CaptureRequest *request, const Marks *marks)
{
    for (int i = 0; i < marks->no_loop.len; i++)
        if (marks->no_loop.at[i].loop.code == request->decoded->code) return &marks->no_loop.at[i];
    return NULL;
}

/* The tries are spent, or the instructions of all of them: nothing is captured.  What is told is a
   loop whose turns they followed, if there is one: dividing the function would not help. */
static int
stop_whole(const CaptureRequest *request, Marks *marks, Arena *arena)
{
    bool loop = marks->stop_at >= 0 && marks->stop.code == BREAK_UNROLL;
    const char *spent = marks->effort < LEAST_EFFORT
                            ? "its tries followed as many instructions as capture may"
                            : "capture began again too often";
    marks->cut = marks->effort < LEAST_EFFORT;
    marks->effort = LEAST_EFFORT;
    marks->stop_at = 0;
    if (loop) return 0;
    Break *stop = &marks->stop;
    const LoopNote *note = unrolled_in_vain(request, marks);
    *stop = (Break){.code = BREAK_TOO_LONG,
                    .hint = request->effort > 0 ? HINT_EARNED : HINT_OF_CODE,
                    .nframes = 1,
                    .frames = arena_alloc(arena, sizeof(BreakFrame))};
    stop->detail = arena_printf(
        arena, "%s: each branch, loop or call that cannot be in the graph takes a try", spent);
    if (note != NULL && stop->detail != NULL) {
        stop->hint = note->hint != HINT_OF_CODE ? note->hint : HINT_KEPT;
        stop->detail =
            arena_printf(arena, "%s; the loop of line %d did not stay a loop: %s", stop->detail,
                         line_at(request->decoded, note->loop.number), note->why);
    }
    return stop->detail == NULL || stop->frames == NULL
               ? -1
               : break_frame(arena, request->decoded, request->number, stop->frames);
}

static Capture *
follow(const CaptureRequest *request, Marks *marks)
{
    Arena *arena = arena_new();
    Capture *out = NULL;
    Attempt result = ATTEMPT_ERROR;
    if (arena == NULL) return NULL;
    if ((marks->keep = PyList_New(0)) == NULL) {
        arena_free(arena);
        return NULL;
    }
    for (int i = 0; i < ATTEMPTS; i++) {
        if (i < ATTEMPTS - 1) marks->cut = false;
        result = attempt(request, marks, arena, &out);
        if (result != ATTEMPT_AGAIN) break;
        if (i == ATTEMPTS - 2 || marks->effort < LEAST_EFFORT) {
            i = ATTEMPTS - 2;
            if (stop_whole(request, marks, arena) < 0) break;
        }
    }
    Py_CLEAR(marks->keep);
    arena_free(arena);
    if (out != NULL) out->cut = marks->cut && request->effort > 0 && request->effort < EFFORT;
    return out;
}

/* The capture is worth a plan, or reaches the function's end, where the other does not, or it saves
   clearly more. */
static bool
is_better(const Capture *capture, const Capture *other)
{
    bool ends = capture->exit.kind == EXIT_RETURN, other_ends = other->exit.kind == EXIT_RETURN;
    if (capture->useful != other->useful) return capture->useful;
    if (ends != other_ends) return ends;
    return capture->saves > other->saves + other->saves / 4;
}

/* With lengths that are symbols, or with known ones where that gets further, or where there is to
   be no plan: larger arrays may be worth one. */
static Capture *
follow_either(const CaptureRequest *request, Marks *marks)
{
    Marks open = *marks;
    Capture *first = follow(request, &open), *second;
    bool ends = first != NULL && first->exit.kind == EXIT_RETURN &&
                (first->useful || !capture_has_numpy(first)); /* of views alone there is no plan */
    bool alone = first == NULL || first->interrupted || ends || open.declared || open.left_open ||
                 !graph_has_symbols(first->graph);
    if (!alone) {
        Marks known = *marks;
        known.symbol_tries = MOST_TRIES;
        known.fixed_why = "with lengths that vary less of it would be compiled";
        second = follow(request, &known);
        open.asked = open.asked || known.asked;
        open.had_series = open.had_series || known.had_series;
        if (second != NULL && (!first->useful || is_better(second, first))) {
            capture_free(first);
            first = second;
        } else {
            capture_free(second);
        }
    }
    marks->asked = open.asked;
    marks->had_series = open.had_series;
    return first;
}

/* Numbers that have varied once stay symbolic where that costs little: one graph for all values is
   better than one for each, unless the graph for one value is clearly better.  So is an array made
   of a list, unless the graph ends where the list is used otherwise. */
Capture *
capture(const CaptureRequest *request)
{
    int64_t effort = request->effort > 0 ? request->effort : EFFORT;
    Marks open = {.stop_at = -1, .effort = effort, .recurses = request->recurses};
    Marks closed = open;
    Capture *first = follow_either(request, &open), *second;
    if (first == NULL || first->interrupted) return first;
    closed.by_value = open.asked;
    closed.no_series = open.had_series && !(first->useful && first->exit.kind == EXIT_RETURN);
    if (!closed.by_value && !closed.no_series) return first;
    /* a refusal holds for lists of any length only where they are no arrays */
    bool refused = closed.no_series && !first->useful;
    if ((second = follow(request, &closed)) != NULL && !refused && !is_better(second, first)) {
        capture_free(second);
        return first;
    }
    capture_free(first);
    return second;
}
