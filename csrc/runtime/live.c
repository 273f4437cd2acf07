/* Loops of frames that CPython runs: whole programs enter them at their header after enough
   iterations (on-stack replacement; 3.12 and later).

   What no call announced is noticed here: a loop at a module's own level, a `while` over a few
   numbers in a function that is called once.  Each jump back to a header is counted
   (python/backedge.c); the count decides, never a clock.  After LOOK_AFTER iterations the loop is
   captured as it stands, the live iterator on the frame's stack included, if what is left of it may
   pay: a range or a list tells how often it still turns, any other loop is taken to turn AHEAD
   times as often as it has already.  Loops around it are tried first, at their next turn, since
   they contain it.  A loop that does not pay yet is looked at again after LATER times as many
   iterations, LOOKS times; one of which capture makes nothing is left to CPython for good, and its
   jumps cost nothing more.

   A plan runs inside the jump: it writes locals, stack and instruction of the frame, in which
   CPython then goes on, at the end of the loop or where the plan was left.  Nothing is stepped
   here.  When the loop comes to its header again, its plans are tried at once.

   To count a jump takes as long as a short turn.  So where the account decides, loops are counted
   as far as that allows, and rest while the compiler runs for them.

   Variables of a module are entries of its dict.  Those that its loops store are handed to capture
   as locals (python/stand_in.c), read before the plan and stored behind it; they have been bound
   before, so the dict's order stays. */
#include "live.h"

#include "balance.h"
#include "earn.h"
#include "hooks.h"
#include "run.h"

#include <alloca.h>

enum {
    LOOK_AFTER = 16,
    LATER = 8,
    LOOKS = 5,      /* at a loop that does not pay yet */
    LOOKS_TOLD = 2, /* if it tells how often it turns */
    TRIES = 8,      /* captures at one loop */
    AHEAD = 8,      /* iterations to come for each one so far, where nothing tells how many */
    MOST_PUT_OFF = 4096,
    WAIT_LEAST = 1000,   /* while the compiler runs, and after a run that was undone */
    WAIT_SHARE = 8,      /* a part of the iterations so far */
    MOST_DEOPTS = 5,     /* in a row */
    EFFORT_SHARE = 1024, /* of the instructions left to execute, one is followed by capture */
    LEAST_EFFORT = 4,    /* bodies */
    FULL_EFFORT = 1 << 15,
    MOST_LOOPS = 32,
    COUNTED = 256, /* jumps that are told to the account together */
    REST_MS = 20,
    EDGE_NS = 300,       /* until a jump is told, besides */
    LEAST_GAIN = 16,     /* a kept loop's turns are so many times as fast as CPython's, at least */
    MOST_LOST = 1000000, /* ns, by runs that turned too seldom */
};

typedef struct {
    int head;          /* idx */
    PyObject *globals; /* of the frame that made the last turn: its address alone */
    int64_t turns, next;
    int64_t lost; /* ns: what its plans took beyond what CPython's turns would have taken */
    uint8_t looks, tries, deopts;
    bool done;    /* nothing is wanted of it any more */
    bool put_off; /* a loop around was to be tried first */
    bool entered; /* told */
} LiveLoop;

struct LiveCode {
    PyCodeObject *code;     /* borrowed */
    PyCodeObject *stand_in; /* owned; NULL: of a function */
    PyObject *names;        /* owned: the stand-in's variables */
    bool useless;
    bool rests;                /* some of its loops are not counted until rests end */
    LiveCode *next, *previous; /* all */
    int nloops;
    LiveLoop loops[MOST_LOOPS];
};

_Thread_local int live_rests;
static const Config *config;
static LiveCode *all;
static struct {
    long long watched, looks, entered;
} counts;

/* ---- which loops ---- */

void
live_start(const Config *options)
{
    config = options;
}

void
live_free(LiveCode *live)
{
    if (live == NULL) return;
    if (live->next != NULL) live->next->previous = live->previous;
    if (live->previous != NULL)
        live->previous->next = live->next;
    else
        all = live->next;
    Py_XDECREF(live->stand_in);
    Py_XDECREF(live->names);
    mem_free(live);
}

static bool
is_watched_kind(PyFunctionObject *function)
{
    const int plain = CO_OPTIMIZED | CO_NEWLOCALS;
    const int suspends = CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR;
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    if ((code->co_flags & suspends) != 0) return false;
    if ((code->co_flags & plain) == plain) return true;
    return (code->co_flags & plain) == 0 &&
           PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0;
}

void
live_watch(PyFunctionObject *function)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    if (config == NULL || config->capture_all || !is_watched_kind(function) ||
        !code_has_loop(code) || function_is_library(function) || earn_is_installed(function))
        return;
    CodeNote *note = code_note(code);
    if (note != NULL && note->live == NULL && (note->live = mem_alloc(sizeof(LiveCode))) != NULL) {
        LiveCode *live = note->live;
        live->code = code;
        live->next = all;
        if (all != NULL) all->previous = live;
        all = live;
        if (backedge_watch(code))
            counts.watched++;
        else
            live->useless = true;
    }
    PyErr_Clear();
}

void
live_watch_running(void)
{
    frames_visit(live_watch);
}

static void
on_ended(void)
{
    for (LiveCode *live = all; live != NULL; live = live->next) {
        live->useless = true;
        backedge_end(live->code);
    }
}

/* Jumps that are not told any more are told again. */
static void
on_rested(void)
{
    for (LiveCode *live = all; live != NULL; live = live->next) {
        if (!live->rests || live->useless) continue;
        live->rests = false;
        backedge_end(live->code);
        backedge_watch(live->code);
    }
}

static EdgeResult
rest(LiveCode *live)
{
    if (!account_decides(config)) return EDGE_GO;
    live->rests = true;
    backedge_rest(REST_MS);
    return EDGE_DONE;
}

/* It is counted and no more. */
static EdgeResult
go_on(LiveCode *live)
{
    static int jumps;
    if (++jumps < COUNTED) return EDGE_GO;
    jumps = 0;
    return account_counts(COUNTED) ? EDGE_GO : rest(live);
}

static LiveLoop *
loop_at(LiveCode *live, int head)
{
    for (int i = 0; i < live->nloops; i++)
        if (live->loops[i].head == head) return &live->loops[i];
    if (live->nloops == MOST_LOOPS) return NULL;
    live->loops[live->nloops] = (LiveLoop){.head = head, .next = LOOK_AFTER};
    return &live->loops[live->nloops++];
}

/* ---- the frame as capture and plans see it ---- */

typedef struct {
    PyThreadState *ts;
    Frame *frame;
    LiveCode *live;
    LiveLoop *loop;
    CodeState *state;
    Decoded *decoded;
    int head;         /* the Instr jumped to */
    int number;       /* the Instr at which plans begin */
    int first;        /* slot of the first variable that is in the module's dict */
    int nnames;       /* of such variables */
    int depth;        /* of the value stack */
    int64_t began;    /* the look at this jump, without a capture */
    PyObject **slots; /* the frame's, these variables (owned), the stack */
    PyObject *rest;   /* owned: what stands for the loop's iterator on the stack, or NULL */
    Plan *failed;     /* the plan whose guard failed last */
    int failed_guard;
} Live;

static CodeState *
state_in(Frame *frame, PyCodeObject *code)
{
    return code_state(code, frame_globals(frame), frame_builtins(frame), config);
}

static CodeState *
live_state(Live *l)
{
    LiveCode *live = l->live;
    if (!frame_is_of_module(l->frame)) {
        const int plain = CO_OPTIMIZED | CO_NEWLOCALS;
        return (live->code->co_flags & plain) == plain ? state_in(l->frame, live->code) : NULL;
    }
    if (live->stand_in == NULL) live->stand_in = code_stand_in(live->code, &live->names);
    return live->stand_in != NULL ? state_in(l->frame, live->stand_in) : NULL;
}

static int
live_room(const Live *l)
{
    return l->decoded->nlocalsplus + l->decoded->code->co_stacksize + 1;
}

static PyObject **
frame_stack(const Live *l)
{
    return frame_slots(l->frame) + l->live->code->co_nlocalsplus;
}

static void
read_slots(Live *l, PyObject **room)
{
    int nlocals = l->live->code->co_nlocalsplus;
    memset(room, 0, sizeof(PyObject *) * (size_t)live_room(l));
    memcpy(room, frame_slots(l->frame), sizeof(PyObject *) * (size_t)nlocals);
    for (int i = 0; i < l->nnames; i++) {
        PyObject *name = PyTuple_GET_ITEM(l->live->names, i);
        PyObject *value = dict_told(frame_globals(l->frame), name);
        room[l->first + i] = Py_XNewRef(value);
    }
    PyObject **stack = room + l->decoded->nlocalsplus;
    memcpy(stack, frame_stack(l), sizeof(PyObject *) * (size_t)l->depth);
    if (l->rest != NULL) stack[l->depth - 1] = l->rest;
    l->slots = room;
}

static void
forget_slots(Live *l)
{
    for (int i = 0; i < l->nnames; i++) Py_CLEAR(l->slots[l->first + i]);
    Py_CLEAR(l->rest);
}

/* ---- where a plan begins ---- */

/* Is it of NumPy or math, or one of Python's that only compute? */
static bool
is_pure(PyObject *object)
{
    static const char *const names[] = {"abs", "len",   "max",  "min",  "sum",
                                        "int", "float", "bool", "round"};
    if (PyModule_Check(object)) {
        const char *name = PyModule_GetName(object);
        if (name == NULL) PyErr_Clear();
        return name != NULL && (strcmp(name, "numpy") == 0 || strcmp(name, "math") == 0);
    }
    for (int i = 0; i < COUNT_OF(names); i++) {
        PyObject *builtin = python_builtin(names[i]);
        if (builtin == NULL) PyErr_Clear();
        if (builtin == object) return true;
    }
    return !PyCallable_Check(object);
}

static PyObject *
global_value(const Live *l, int name)
{
    PyObject *key = PyTuple_GET_ITEM(l->decoded->code->co_names, name);
    PyObject *value = dict_stored(frame_globals(l->frame), key);
    if (value == NULL && PyDict_Check(frame_builtins(l->frame)))
        value = dict_stored(frame_builtins(l->frame), key);
    return value != NULL && stored_is_untold(value) ? NULL : value;
}

/* The object of which the Instr `number` takes an attribute; NULL: not known. */
static PyObject *
attribute_owner(const Live *l, int number)
{
    const Instr *load = &l->decoded->instrs[number - 1];
    if (load->kind == I_LOAD_LOCAL) {
        int slot = load->arg - (load->arg >= l->first ? l->first : 0);
        if (load->arg < l->first) return frame_slots(l->frame)[slot];
        return dict_told(frame_globals(l->frame), PyTuple_GET_ITEM(l->live->names, slot));
    }
    return load->kind == I_LOAD_GLOBAL ? global_value(l, load->arg) : NULL;
}

/* An attribute that is read without running code: a function of a module (but for its submodules,
   such as numpy.random), or what an object stores, if it is not called. */
static bool
is_pure_attribute(const Live *l, int number)
{
    const Instr *instr = &l->decoded->instrs[number];
    PyObject *owner = attribute_owner(l, number), *found = NULL;
    PyObject *name = PyTuple_GET_ITEM(l->decoded->code->co_names, instr->arg);
    PyErr_Clear();
    if (owner == NULL) return false;
    if (array_class() == Py_TYPE(owner)) return instr->kind == I_LOAD_ATTR;
    if ((found = attribute_stored(owner, name)) == NULL)
        found = attribute_stored((PyObject *)Py_TYPE(owner), name);
    if (found == NULL) return false;
    if (PyModule_Check(owner)) return is_pure(owner) && !PyModule_Check(found);
    return Py_TYPE(owner)->tp_getattro == PyObject_GenericGetAttr && instr->kind == I_LOAD_ATTR &&
           !PyCallable_Check(found) && Py_TYPE(found)->tp_descr_get == NULL;
}

/* May a test be done twice, the Instrs from `top` to the body? */
static bool
is_pure_test(const Live *l, int top)
{
    for (int i = top; i < l->head; i++) {
        const Instr *instr = &l->decoded->instrs[i];
        PyObject *object;
        switch (instr->kind) {
        case I_NOP:
        case I_CONST:
        case I_LOAD_LOCAL:
        case I_LOAD_DEREF:
        case I_POP:
        case I_COPY:
        case I_SWAP:
        case I_PUSH_NULL:
        case I_UNARY_NEGATIVE:
        case I_UNARY_POSITIVE:
        case I_UNARY_NOT:
        case I_UNARY_INVERT:
        case I_TO_BOOL:
        case I_COMPARE:
        case I_IS:
        case I_CONTAINS:
        case I_SUBSCRIPT:
        case I_CALL:
        case I_JUMP:
        case I_JUMP_IF_FALSE:
        case I_JUMP_IF_TRUE:
        case I_JUMP_IF_NONE:
        case I_JUMP_IF_NOT_NONE: break;
        case I_BINARY:
            if (instr->arg >= IN_PLACE) return false;
            break;
        case I_LOAD_GLOBAL:
            object = global_value(l, instr->arg);
            if (object == NULL || !is_pure(object)) return false;
            break;
        case I_LOAD_ATTR:
        case I_LOAD_METHOD:
            if (i == top || !is_pure_attribute(l, i)) return false;
            break;
        default: return false;
        }
    }
    return true;
}

/* Capture knows loops by where they are entered: a `while` by its test, which is done once more, a
   `for` by what it goes over, whose rest is taken from the iterator if nobody else has that.
   -1: there is no such place.  A `while` may wait for what another thread does. */
static int
find_entry(Live *l)
{
    const Decoded *d = l->decoded;
    if (d->instrs[l->head].kind != I_FOR_ITER) {
        if (!thread_is_alone()) return -1;
        int top = loop_first_test(d, l->head);
        return top >= 0 && d->instrs[top].sub == 0 && is_pure_test(l, top) ? top : -1;
    }
    PyObject *iterator = frame_stack(l)[l->depth - 1];
    if (l->head == 0 || d->instrs[l->head - 1].kind != I_GET_ITER || iterator == NULL ||
        Py_REFCNT(iterator) != 1)
        return -1;
    l->rest = iterator_left(iterator, array_class());
    if (l->rest == NULL) PyErr_Clear();
    return l->rest != NULL ? l->head - 1 : -1;
}

static Roots
live_roots(const Live *l)
{
    return (Roots){l->slots, l->decoded->nlocalsplus + l->depth};
}

/* ---- how a plan leaves the frame ---- */

/* The module's variables; 0, or -1 with the error set. */
static int
store_names(Live *l, const Exit *leave, PyObject **value)
{
    int failed = 0;
    for (int i = 0; i < leave->nslots; i++) {
        int name = leave->slot_index[i] - l->first;
        if (name < 0 || name >= l->nnames) continue;
        PyObject *key = PyTuple_GET_ITEM(l->live->names, name), *stored = value[i];
        value[i] = NULL;
        if (failed == 0)
            failed = stored != NULL ? PyDict_SetItem(frame_globals(l->frame), key, stored)
                                    : PyDict_DelItem(frame_globals(l->frame), key);
        Py_XDECREF(stored);
    }
    return failed;
}

/* Locals and stack; what they held before is dropped last, since that may run code which sees the
   frame. */
static void
store_slots(Live *l, const Exit *leave, PyObject **value, int idx)
{
    PyObject **slots = frame_slots(l->frame);
    int nlocals = l->live->code->co_nlocalsplus, shift = l->decoded->nlocalsplus - nlocals;
    PyObject **old = alloca(sizeof(PyObject *) * (size_t)(leave->nslots + l->depth + 1));
    int nold = 0;
    for (int i = nlocals + leave->depth; i < nlocals + l->depth; i++) {
        old[nold++] = slots[i];
        slots[i] = NULL;
    }
    for (int i = 0; i < leave->nslots; i++) {
        int slot = leave->slot_index[i];
        if (slot >= l->decoded->nlocalsplus)
            slot -= shift;
        else if (slot >= nlocals)
            continue;
        if (slot < nlocals + Py_MIN(l->depth, leave->depth)) old[nold++] = slots[slot];
        slots[slot] = value[i];
    }
    frame_set_depth(l->frame, leave->depth);
    frame_set_running(l->frame, idx);
    for (int i = 0; i < nold; i++) Py_XDECREF(old[i]);
}

static int
idx_of(const Live *l, int number)
{
    return l->decoded->instrs[number].idx;
}

/* A RETURN of this very object, where the code has only such (RETURN_CONST); -1: none. */
static int
constant_return(const Live *l, PyObject *result)
{
    const Decoded *d = l->decoded;
    for (int i = 0; i + 1 < d->count; i++)
        if (d->instrs[i].kind == I_CONST && d->instrs[i + 1].kind == I_RETURN &&
            PyTuple_GET_ITEM(d->code->co_consts, d->instrs[i].arg) == result)
            return i;
    return -1;
}

static int
leave_by_return(Live *l, PyObject *result)
{
    int number = l->decoded->return_number, constant = -1;
    if (number < 0 && (constant = constant_return(l, result)) < 0) {
        Py_DECREF(result);
        PyErr_SetString(PyExc_SystemError, "pycompile: a result for code that never returns");
        return -1;
    }
    int32_t slot = l->decoded->nlocalsplus;
    const Exit leave = {.nslots = constant < 0, .slot_index = &slot, .depth = constant < 0};
    store_slots(l, &leave, &result, idx_of(l, constant < 0 ? number : constant));
    if (constant >= 0) Py_DECREF(result);
    return 0;
}

static int
leave_plan(Live *l, const Exit *leave, PlanOutcome *outcome)
{
    if (leave->kind == EXIT_RETURN) return leave_by_return(l, outcome->value[0]);
    const ExitWay *way = leave->kind == EXIT_WAYS ? &leave->way[outcome->way] : NULL;
    int number = leave->kind == EXIT_BRANCH && !outcome->condition ? leave->other : leave->number;
    int failed = store_names(l, leave, outcome->value);
    store_slots(l, leave, outcome->value, idx_of(l, way != NULL ? way->number : number));
    if (way != NULL) frame_drop(l->frame, way->depth);
    return failed;
}

/* A RERAISE that no handler covers; -1: none. */
static int
bare_reraise(const Decoded *d)
{
    for (int i = 0; i < d->count; i++)
        if (d->instrs[i].kind == I_RERAISE && d->instrs[i].arg == 0 && d->instrs[i].sub == 0 &&
            handler_at(d, d->instrs[i].at) == NULL)
            return i;
    return -1;
}

/* The frame goes on at `number`, with `pushed` (stolen) in place of its whole stack. */
static void
go_on_with(Live *l, int number, PyObject *pushed)
{
    int32_t slot = l->decoded->nlocalsplus;
    const Exit leave = {.nslots = 1, .slot_index = &slot, .depth = 1};
    store_slots(l, &leave, &pushed, idx_of(l, number));
}

/* The Instr `number` has raised the error that is set.  CPython looks for a handler at the loop's
   header, so where another one is right, or none, the frame is put there. */
static EdgeResult
raise_in_frame(Live *l, int number)
{
    const Decoded *d = l->decoded;
    const Instr *instr = &d->instrs[number];
    const Handler *here = handler_at(d, d->instrs[l->head].at);
    const Handler *right = handler_at(d, instr->at);
    int again = -1;
    if (right == NULL && here != NULL) again = bare_reraise(d);
    if (right != here && right != NULL && right->depth <= frame_depth(l->frame)) {
        int handler = frame_unwind_running(l->ts, l->frame, d, number);
        frame_set_running(l->frame, idx_of(l, handler));
        return EDGE_GO;
    }
    frame_set_running(l->frame, instr->at);
    if (right == here || again < 0) return EDGE_ERROR;
    PyFrameObject *object = PyThreadState_GetFrame(l->ts);
    if (object != NULL) PyTraceBack_Here(object);
    Py_XDECREF((PyObject *)object);
    go_on_with(l, again, error_take());
    return EDGE_GO;
}

/* ---- plans ---- */

/* An effect that may look at the frame: it is current anyway. */
static void
enter_frame(void *context, int number)
{
    Live *l = context;
    frame_set_running(l->frame, l->decoded->instrs[number].at);
}

static void
leave_frame(void *context)
{
    (void)context;
}

/* A run that is undone leaves the iteration to CPython.  The next one would most likely end alike:
   each time CPython gets more iterations before. */
static EdgeResult
after_deopt(Live *l, Plan *plan, int64_t took, bool interrupted)
{
    LiveLoop *loop = l->loop;
    balance_undone(l->state, plan, took, interrupted);
    loop->next = loop->turns + 1;
    if (interrupted) return EDGE_GO;
    balance_judge(l->state, plan, 0);
    if (++loop->deopts >= MOST_DEOPTS) return EDGE_DONE;
    loop->next = loop->turns + ((int64_t)WAIT_LEAST << loop->deopts);
    return EDGE_GO;
}

static void
tell_entered(Live *l)
{
    counts.entered++;
    if (l->loop->entered) return;
    l->loop->entered = true;
    log_emit(LOG_PERF_HINTS,
             "%s (%s:%d): a running loop is entered by a plan, after %lld iterations",
             text_of_str(l->decoded->code->co_qualname), text_of_str(l->decoded->code->co_filename),
             l->decoded->instrs[l->head].line, (long long)l->loop->turns);
}

/* It does not pay.  Of a loop that tells how often it turns, that is known of its later turns, too:
   it is looked at once more, for it may have more of them then. */
static EdgeResult
look_later(LiveLoop *loop, bool told)
{
    loop->next = loop->turns * LATER;
    return ++loop->looks >= (told ? LOOKS_TOLD : LOOKS) ? EDGE_DONE : EDGE_GO;
}

/* A plan has run, for so long in the loop's turns.  A loop that is begun a million times, for five
   turns each, is hot as well; but to enter it takes as long as many of CPython's turns.  Of turns
   that run kernels of arrays nobody knows the time. */
static EdgeResult
weigh(Live *l, const Plan *plan, int64_t in_turns)
{
    LiveLoop *loop = l->loop;
    if (!sample_allowed(config) || !plan_turns_in_regions(plan)) return EDGE_GO;
    int64_t took = sample_took(l->began) + EDGE_NS;
    loop->lost = Py_MAX(loop->lost + took - in_turns * LEAST_GAIN, -MOST_LOST);
    if (loop->lost < MOST_LOST) return EDGE_GO;
    account_lost(loop->lost);
    loop->lost = 0;
    return look_later(loop, false);
}

static EdgeResult
run_live(Live *l, Entry *entry, Plan *plan, const Roots *roots, PyObject *const *reached)
{
    const Exit *leave = plan_exit(plan);
    PlanOutcome outcome = {.roots = roots,
                           .value = alloca(sizeof(PyObject *) * (size_t)(leave->nslots + 1)),
                           .enter = enter_frame,
                           .leave = leave_frame,
                           .context = l};
    EdgeResult result = EDGE_GO;
    SampleWay way = sample_way(plan, l->state->config);
    if (sample_is_plain(way)) {
        l->loop->next = l->loop->turns + WAIT_LEAST;
        return EDGE_GO;
    }
    plan_acquire(plan);
    tell_entered(l);
    int64_t began = sample_begin(way), loops = timed_loops.ns;
    loops_timed++;
    PlanResult done = plan_run_told(l->state, plan, reached, &outcome);
    loops_timed--;
    int64_t took = sample_end(plan, l->state->code, way, began, done == PLAN_DONE);
    switch (done) {
    case PLAN_DONE:
        l->state->plan_runs++;
        thread_saved += plan_gain(plan);
        credit_run(l->state, entry, plan);
        l->loop->deopts = 0;
        l->loop->next = l->loop->turns + 1;
        result = leave_plan(l, leave, &outcome) < 0 ? EDGE_ERROR
                                                    : weigh(l, plan, timed_loops.ns - loops);
        break;
    case PLAN_DEOPT: result = after_deopt(l, plan, took, outcome.interrupted); break;
    default: result = raise_in_frame(l, outcome.number >= 0 ? outcome.number : l->head);
    }
    plan_release(plan);
    return result;
}

/* A variable of the module without a value may not get one from a plan: it would be added to the
   dict in another order. */
static bool
adds_names(const Live *l, const Plan *plan)
{
    const Exit *leave = plan_exit(plan);
    for (int i = 0; i < leave->nslots && leave->kind != EXIT_RETURN; i++) {
        int slot = leave->slot_index[i];
        if (slot >= l->first && slot < l->decoded->nlocalsplus && l->slots[slot] == NULL)
            return true;
    }
    return false;
}

/* ANSWER_NO: no plan holds. */
static Answer
try_plans(Live *l, Entry *entry, EdgeResult *result)
{
    Roots roots = live_roots(l);
    l->failed = NULL;
    entry_bury(entry);
    PyObject **reached = alloca(sizeof(PyObject *) * (size_t)(most_sources(entry) + 1));
    for (int i = 0; i < entry->nplans; i++) {
        Plan *plan = entry->plans[i];
        int failed;
        if (adds_names(l, plan)) continue;
        if (!guards_check(plan_guards(plan), &roots, reached, &failed)) {
            if (i > 0) continue;
            l->failed = plan;
            l->failed_guard = failed;
            continue;
        }
        if (i > 0) entry_to_front(entry, i);
        entry_hit(entry, plan);
        *result = run_live(l, entry, plan, &roots, reached);
        return ANSWER_YES;
    }
    return ANSWER_NO;
}

/* ---- capture ---- */

/* Instructions that capture may follow. */
static int64_t
live_effort(const Live *l, const LoopSight *sight)
{
    if (config->plan_always) return FULL_EFFORT;
    int64_t left = sight->own * sight->around / EFFORT_SHARE * (sight->end - l->head);
    return Py_MIN(left, FULL_EFFORT);
}

static Answer
make_plan(Live *l, Entry *entry, const LoopSight *sight, int64_t runs, Plan **plan,
          CompileNote *note)
{
    CaptureRequest request = {
        .decoded = l->decoded,
        .globals = frame_globals(l->frame),
        .builtins = frame_builtins(l->frame),
        .function = frame_function(l->frame),
        .slots = l->slots,
        .depth = l->depth,
        .number = l->number,
        .varied = entry->varied,
        .nvaried = entry->nvaried,
        .turns = sight->own,
        .effort = live_effort(l, sight),
        .config = config,
        .again = entry->nplans > 0,
    };
    Patience patience = {0};
    Account *account = &l->state->account;
    bool accounts = account_decides(config);
    if (!config->plan_always) patience = earn_live_patience(runs);
    if (accounts)
        request.effort = Py_MIN(request.effort, account_effort(account, l->decoded->count));
    int64_t began = clock_ran_ns();
    if (accounts) request.until = account_until(account, l->decoded->count, began);
    Answer answer = compile_plan(&request, NULL, NULL, patience, plan, note);
    if (accounts)
        account_captured(account, l->decoded->count, clock_ran_ns() - began, note->waited_ns,
                         answer == ANSWER_YES || note->waiting != NULL);
    return answer;
}

/* Does the plan that was not made end in the loop, so that it would run once for each
   iteration? */
static bool
ends_inside(const Live *l, const LoopSight *sight, const CompileNote *note)
{
    return note->exit != EXIT_RETURN && note->at >= l->head && note->at <= sight->end;
}

/* The compiler runs, or the account does not allow more. */
static EdgeResult
wait_for(Live *l)
{
    LiveLoop *loop = l->loop;
    EdgeResult result = rest(l->live);
    int64_t turns = Py_MAX(WAIT_LEAST, loop->turns / WAIT_SHARE);
    loop->next = loop->turns + (result == EDGE_GO ? turns : 1);
    return result;
}

static EdgeResult
take_plan(Live *l, Entry *entry, const CompileNote *note, Plan *plan)
{
    int64_t limit = config->recompile_limit;
    Roots roots = live_roots(l);
    EdgeResult result = EDGE_GO;
    credit_tried(entry, limit, &roots, note, plan);
    entry_take(entry, plan, limit);
    l->loop->next = l->loop->turns + 1;
    l->began = clock_ns(); /* the account has what it took so far */
    try_plans(l, entry, &result);
    return result;
}

/* A plan waits for its code. */
static EdgeResult
take_waiting(Live *l, Entry *entry)
{
    Plan *plan = NULL;
    CompileNote note;
    if (background_runs(waiting_ticket(entry->waiting))) return wait_for(l);
    Answer answer = waiting_take(&entry->waiting, &plan, &note);
    if (answer == ANSWER_ERROR) return EDGE_ERROR;
    if (answer == ANSWER_NO) return wait_for(l);
    if (plan != NULL) return take_plan(l, entry, &note, plan);
    guards_free(note.guards);
    return EDGE_DONE;
}

static EdgeResult
try_capture(Live *l, Entry *entry, const LoopSight *sight)
{
    LiveLoop *loop = l->loop;
    Plan *plan = NULL;
    CompileNote note = {0};
    Roots roots = live_roots(l);
    int64_t limit = config->recompile_limit;
    if (!credit_allows(entry, limit, &roots, 1) || loop->tries >= TRIES) return EDGE_DONE;
    if (account_decides(config) && !account_affords(&l->state->account, l->decoded->count))
        return wait_for(l);
    counts.looks++;
    loop->tries++;
    if (l->failed != NULL)
        entry_varied(entry, plan_guards(l->failed), l->failed_guard, &roots, false);
    Answer answer = make_plan(l, entry, sight, sight->around, &plan, &note);
    if (note.postponed && ends_inside(l, sight, &note))
        answer = make_plan(l, entry, sight, sight->around * sight->own, &plan, &note);
    entry_waits(entry, note.waiting);
    if (answer == ANSWER_ERROR) return EDGE_ERROR;
    if (note.postponed) return look_later(loop, sight->told);
    l->state->compiles++;
    if (note.waiting != NULL) return wait_for(l);
    if (answer == ANSWER_NO) {
        guards_free(note.guards);
        bool hurried = live_effort(l, sight) < FULL_EFFORT && !sight->told;
        return hurried || note.cut ? look_later(loop, sight->told) : EDGE_DONE;
    }
    return take_plan(l, entry, &note, plan);
}

/* Loops around this one get the next turn of theirs. */
static bool
puts_off(Live *l, const LoopSight *sight)
{
    int heads[MOST_LOOPS], n = earn_loops_around(l->state, l->head, heads, MOST_LOOPS);
    bool any = false;
    if (l->loop->put_off || config->plan_always) return false;
    for (int i = 0; i < n; i++) {
        LiveLoop *around = loop_at(l->live, idx_of(l, heads[i]));
        if (around == NULL || around->tries > 0 || around->looks > 0) continue;
        around->next = Py_MIN(around->next, around->turns + 1);
        any = true;
    }
    l->loop->put_off = true;
    int64_t turn = sight->told ? sight->own + 1 : l->loop->turns;
    if (any) l->loop->next = l->loop->turns + Py_MIN(turn, MOST_PUT_OFF);
    return any;
}

static EdgeResult
look_closer(Live *l)
{
    Entry *entry = entry_at(l->state, l->number);
    EdgeResult result = EDGE_GO;
    if (entry == NULL) return EDGE_DONE;
    if (entry->nplans > 0 && try_plans(l, entry, &result) == ANSWER_YES) return result;
    if (entry->waiting != NULL) return take_waiting(l, entry);
    LoopSight sight =
        earn_loop(l->state, l->head, frame_stack(l), l->depth, l->loop->turns * AHEAD);
    if (live_effort(l, &sight) < (int64_t)LEAST_EFFORT * (sight.end - l->head))
        return look_later(l->loop, sight.told);
    if (puts_off(l, &sight)) return EDGE_GO;
    if (!stance_is_default()) return wait_for(l);
    return try_capture(l, entry, &sight);
}

static EdgeResult
look(Live *l)
{
    l->state = live_state(l);
    if (l->state == NULL && !PyErr_Occurred()) { /* too many namespaces */
        l->loop->next = l->loop->turns + WAIT_LEAST;
        return EDGE_GO;
    }
    if (l->state == NULL || l->state->aside) return EDGE_DONE;
    l->decoded = l->state->decoded;
    l->head = l->decoded->number_at[l->loop->head];
    l->depth = frame_depth(l->frame);
    l->first = l->decoded->names_from;
    l->nnames = l->decoded->nlocalsplus - l->first;
    if (l->head < 0 || l->decoded->instrs[l->head].depth != l->depth ||
        (l->number = find_entry(l)) < 0)
        return EDGE_DONE;
    PyObject **room = alloca(sizeof(PyObject *) * (size_t)live_room(l));
    read_slots(l, room);
    l->state->running++;
    EdgeResult result = look_closer(l);
    l->state->running--;
    forget_slots(l);
    return result;
}

/* ---- a jump back ---- */

static EdgeResult
on_back_edge(PyThreadState *ts, Frame *frame, int from, int to)
{
    (void)from;
    PyCodeObject *code = frame_code(frame);
    CodeNote *note = code_note_peek(code);
    LiveCode *live = note != NULL ? note->live : NULL;
    LiveLoop *loop = live != NULL && !live->useless ? loop_at(live, to) : NULL;
    if (loop == NULL || loop->done) return EDGE_DONE;
    if (++loop->turns < loop->next) return go_on(live);
    if (loop->globals != frame_globals(frame)) loop->tries = 0; /* plans are each namespace's own */
    loop->globals = frame_globals(frame);
    if (calls_are_left() || live_rests > 0 || thread_is_observed(ts, code) ||
        recursion_is_nearly_spent(ts)) {
        loop->next = loop->turns + WAIT_LEAST;
        return EDGE_GO;
    }
    int64_t began = clock_ns();
    Live l = {.ts = ts, .frame = frame, .live = live, .loop = loop, .began = began};
    EdgeResult result = look(&l);
    if (result != EDGE_ERROR) PyErr_Clear();
    loop->done = result == EDGE_DONE && !live->rests;
    return result;
}

const BackEdges live_edges = {on_back_edge, on_ended, on_rested};

/* ---- what Python sees ---- */

static PyObject *
py_live_counts(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("{s:L,s:L,s:L}", "watched", counts.watched, "looks", counts.looks,
                         "entered", counts.entered);
}

PyMethodDef live_methods[] = {
    {"test_live_counts", py_live_counts, METH_NOARGS,
     "test_live_counts() -> dict\n\nCodes whose loops are counted, captures of running loops, and "
     "how often one was entered by a plan."},
    {NULL, NULL, 0, NULL},
};
