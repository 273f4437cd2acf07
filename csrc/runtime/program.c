/* Whole programs: every function is a candidate, and code without array work is dismissed.

   Each code object has a standing, kept in its extra slot.  WATCHED: the first calls are looked at
   for arrays: in the arguments and what they hold, in the closure, in the globals that the code
   names.  With none in LOOKS calls the code is DISMISSED: its functions get the interpreter's own
   vectorcall back and cost nothing from then on.  With one it is a CANDIDATE: calls
   are counted until it is hot (earn.c), then go through run_call, until so many in a row ran no
   plan.  Standings depend on counts alone, never on time.

   Capture-all (a test of capture, not a way to run programs) makes every function a candidate, the
   library's too, plans whatever can be captured, and counts how much of each call plans did. */
#include "earn.h"
#include "hooks.h"
#include "live.h"

enum {
    LOOKS = 8,       /* calls without an array before code is dismissed */
    SEEN_COST = 4,   /* of a call that is intercepted, in the units of capture/control/worth.c */
    IDLE_CALLS = 32, /* calls in a row without a plan before a candidate is dismissed */
    LOOKED = 64,     /* calls that are told to the account together */
};

static bool active, ended, capture_all;
static const Config *config;

bool
program_is_running(void)
{
    return active;
}

/* ---- counts, for capture-all ---- */

/* The counts of all code objects of one place, freed ones included. */
struct Counter {
    Counter *next;
    PyObject *file, *name; /* owned */
    int line;
    const char *aside; /* static text: why it is never captured, or NULL */
    long long whole, part, left;
};

enum { NBUCKETS = 4096 };
static Counter *counters[NBUCKETS];

static Counter *
counter_of(PyCodeObject *code)
{
    Py_hash_t hash = PyObject_Hash(code->co_filename) * 31 + code->co_firstlineno;
    Counter **bucket = &counters[(size_t)hash % NBUCKETS];
    for (Counter *at = *bucket; at != NULL; at = at->next)
        if (at->line == code->co_firstlineno &&
            PyUnicode_Compare(at->file, code->co_filename) == 0 &&
            PyUnicode_Compare(at->name, code->co_qualname) == 0)
            return at;
    Counter *fresh = mem_alloc(sizeof(Counter));
    if (fresh == NULL) return NULL;
    *fresh = (Counter){.next = *bucket, .line = code->co_firstlineno};
    fresh->file = Py_NewRef(code->co_filename);
    fresh->name = Py_NewRef(code->co_qualname);
    return *bucket = fresh;
}

static void
count(CodeNote *note, PyCodeObject *code, const CodeState *state, Ran ran)
{
    if (note->counter == NULL) note->counter = counter_of(code);
    if (note->counter == NULL) {
        PyErr_Clear();
        return;
    }
    if (state != NULL) note->counter->aside = state->decoded->aside;
    if (ran == RAN_WHOLE)
        note->counter->whole++;
    else if (ran == RAN_PART)
        note->counter->part++;
    else
        note->counter->left++;
}

/* ---- is there an array? ---- */

/* An array, or an object of the array library. */
static bool
is_of_arrays(PyObject *object)
{
    if (object == NULL) return false;
    if (PyObject_TypeCheck(object, array_class())) return true;
    if (PyModule_Check(object)) {
        const char *name = PyModule_GetName(object);
        if (name == NULL) PyErr_Clear();
        return name != NULL && strncmp(name, "numpy", 5) == 0;
    }
    const char *type =
        PyType_Check(object) ? ((PyTypeObject *)object)->tp_name : Py_TYPE(object)->tp_name;
    return strncmp(type, "numpy.", 6) == 0;
}

/* An attribute that the code names, of an instance of a class of the program. */
static bool
holds_array(PyObject *object, PyObject *names)
{
    if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
    Py_ssize_t count = Py_MIN(PyTuple_GET_SIZE(names), LOOKED_NAMES);
    for (Py_ssize_t i = 0; i < count; i++)
        if (is_of_arrays(attribute_stored(object, PyTuple_GET_ITEM(names, i)))) return true;
    return false;
}

static bool
has_array(PyObject *object, PyObject *names)
{
    if (object == NULL) return false;
    if (is_of_arrays(object)) return true;
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object))
        return PySequence_Fast_GET_SIZE(object) > 0 &&
               is_of_arrays(PySequence_Fast_GET_ITEM(object, 0));
    PyObject *key, *value;
    Py_ssize_t position = 0;
    if (PyDict_CheckExact(object))
        return PyDict_Next(object, &position, &key, &value) && is_of_arrays(value);
    return holds_array(object, names);
}

static bool
has_arrays(PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    for (Py_ssize_t i = 0; i < Py_MIN(nargs, LOOKED_ARGS); i++)
        if (has_array(args[i], names)) return true;
    return false;
}

/* Does the code name an array or NumPy?  Most code of a package for arrays names NumPy, so names
   count in the program's own code only.  Runs no Python code: names are looked up in exact dicts by
   interned strings. */
static bool
is_worth_it(const CodeNote *note, PyFunctionObject *function, PyObject *const *args,
            Py_ssize_t nargs)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    PyObject *names = code->co_names;
    if (has_arrays(args, nargs, names)) return true;
    Py_ssize_t ncells = function->func_closure ? PyTuple_GET_SIZE(function->func_closure) : 0;
    for (Py_ssize_t i = 0; i < Py_MIN(ncells, LOOKED_ARGS); i++)
        if (has_array(PyCell_GET(PyTuple_GET_ITEM(function->func_closure, i)), names)) return true;
    if (note->installed) return false;
    for (Py_ssize_t i = 0; i < Py_MIN(PyTuple_GET_SIZE(names), LOOKED_NAMES); i++) {
        PyObject *found = dict_told(function->func_globals, PyTuple_GET_ITEM(names, i));
        if (is_of_arrays(found)) return true;
    }
    return false;
}

/* ---- standings ---- */

static bool
is_ours(PyFunctionObject *function)
{
    PyObject *name = dict_named(function->func_globals, "__name__");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text == NULL) PyErr_Clear();
    return text != NULL && strncmp(text, "pycompile", 9) == 0 &&
           (text[9] == '\0' || text[9] == '.');
}

static int
first_standing(PyFunctionObject *function)
{
    const int suspends = CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR;
    const int plain = CO_OPTIMIZED | CO_NEWLOCALS;
    const int flags = ((PyCodeObject *)function->func_code)->co_flags;
    if ((flags & plain) != plain || is_ours(function)) return STANDING_DISMISSED;
    if (capture_all) return STANDING_CANDIDATE;
    return (flags & suspends) != 0 || function_is_library(function) ? STANDING_DISMISSED
                                                                    : STANDING_WATCHED;
}

/* The code's note with its first standing.  NULL: out of memory; CPython runs the code. */
static CodeNote *
judge(PyFunctionObject *function)
{
    CodeNote *note = code_note((PyCodeObject *)function->func_code);
    if (note == NULL)
        PyErr_Clear();
    else if (note->standing == STANDING_NONE) {
        note->standing = first_standing(function);
        note->installed = note->standing == STANDING_WATCHED && earn_is_installed(function);
    }
    return note;
}

static inline CodeNote *
standing_of(PyFunctionObject *function)
{
    CodeNote *note = code_note_peek((PyCodeObject *)function->func_code);
    return note != NULL && note->standing != STANDING_NONE ? note : judge(function);
}

/* Code that is not dismissed from the start gets its note with the first call, since
   _interpreters.call only takes code without one. */
static bool
on_made(PyFunctionObject *function)
{
    if (ended) return false;
    const CodeNote *note = code_note_peek((PyCodeObject *)function->func_code);
    if (note != NULL && note->standing != STANDING_NONE)
        return note->standing != STANDING_DISMISSED;
    if (first_standing(function) != STANDING_DISMISSED) return true;
    judge(function);
    live_watch(function); /* perhaps a module that is about to run */
    return false;
}

static void
dismiss(CodeNote *note, PyCodeObject *code)
{
    note->standing = STANDING_DISMISSED;
    intercept_code_end(code);
}

void
program_dismiss(PyCodeObject *code)
{
    CodeNote *note = code_note(code);
    if (note == NULL)
        PyErr_Clear();
    else if (note->standing != STANDING_DISMISSED)
        dismiss(note, code);
}

/* Are more calls looked at than the account allows?  It is asked once in LOOKED calls. */
static bool
looks_too_much(CodeNote *note, bool skipped)
{
    static int counts[2];
    static bool too_much;
    if (!account_decides(config)) return false;
    note->looks[skipped]++;
    counts[skipped]++;
    if (counts[0] + counts[1] < LOOKED) return too_much;
    too_much = !account_looks(counts[0], counts[1]);
    counts[0] = counts[1] = 0;
    return too_much;
}

/* Code whose plans have not saved what it took to look at its calls, and to which another one would
   give little: a library's, most of which never gets one, and the program's own of which captures
   come to nothing, or that is short and has no arrays, or has had its time.  Loops in it are
   counted all the same (live.c). */
static bool
is_barren(const CodeNote *note, PyObject *const *args, Py_ssize_t nargs)
{
    const CodeState *state = note->states;
    if (state == NULL) return note->installed;
    const Account *account = &state->account;
    bool paid = account_has_paid(account, note->looks[0], note->looks[1]);
    if (state->ticket != 0) return false;
    if (state->planned) return !paid;
    return note->installed || account_is_vain(account) ||
           (account_is_short(account) && !(paid && has_arrays(args, nargs, state->code->co_names)));
}

/* Does this call go through plans? */
static bool
decide(CodeNote *note, PyFunctionObject *function, PyObject *const *args, Py_ssize_t nargs)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    bool candidate = note->standing == STANDING_CANDIDATE;
    if (candidate && looks_too_much(note, false) && is_barren(note, args, nargs))
        dismiss(note, code);
    if (candidate) return note->standing == STANDING_CANDIDATE;
    if (note->standing != STANDING_WATCHED) return false;
    if (config->plan_always || is_worth_it(note, function, args, nargs)) {
        note->standing = STANDING_CANDIDATE;
        note->calls = 0;
        return true;
    }
    if (++note->calls >= LOOKS) dismiss(note, code);
    return false;
}

/* Is the first plan of code without loops still to be earned?  Then nothing else can run.  A plan
   that saves less than it takes to see the calls is not waited for. */
static bool
waits(CodeNote *note, CodeState *state, PyObject *const *args, Py_ssize_t nargs)
{
    const Entry *entry = entry_peek(state, state->decoded->first_traceable);
    if (state->loops > 0 || entry == NULL) return false;
    int64_t calls = entry->earned_at - earn_calls(note, state);
    if (calls <= 0) return false;
    SkippedCalls like = skipped_calls(args, nargs);
    if (calls > COMPILE_COST / SEEN_COST)
        dismiss(note, state->code);
    else
        state_skip(state, (int32_t)Py_MIN(calls, like.most), like);
    return true;
}

/* The state under which a candidate runs; NULL: CPython runs this call. */
static CodeState *
candidate_state(CodeNote *note, PyFunctionObject *function, PyObject *const *args, Py_ssize_t nargs)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    bool patient = !capture_all && !config->plan_always && !report_wanted();
    if (calls_are_left()) return NULL;
    if (patient && note->installed) earn_by_call(note, NULL, function, args, nargs);
    if (patient && note->installed && note->states == NULL && !earn_is_hot(note, NULL)) return NULL;
    CodeState *state = code_state(code, function->func_globals, function->func_builtins, config);
    if (state == NULL) {
        PyErr_Clear();
        return NULL;
    }
    if (capture_all) {
        if (!state->aside) return state;
        count(note, code, state, RAN_LEFT);
        return NULL;
    }
    if (state->aside) {
        dismiss(note, code);
        return NULL;
    }
    if (!patient) return state;
    state->account.installed = note->installed;
    if (!note->installed && account_decides(config)) return state;
    if (!state->judged) earn_learn_code(state);
    state->judged = state->patient = true;
    if (!note->installed) earn_by_call(note, state, function, args, nargs);
    if (state->plan_runs > 0) return state;
    if (earn_is_hopeless(note)) dismiss(note, code);
    return earn_is_hot(note, state) && !waits(note, state, args, nargs) ? state : NULL;
}

/* One of the calls that nobody looks at?  It counts as they all do. */
static bool
is_skipped(CodeNote *note, PyFunctionObject *function, PyObject *const *args, Py_ssize_t nargs)
{
    CodeState *state = note->states;
    if (state == NULL || !state_serves(state, function->func_globals, function->func_builtins))
        return false;
    bool skipped = state_skips(state, args, nargs);
    if (skipped)
        earn_by_skipped(note, state);
    else
        state_looks(state);
    if (skipped && looks_too_much(note, true) && is_barren(note, args, nargs)) {
        dismiss(note, state->code);
        intercept_end(function);
    }
    return skipped;
}

/* Ends a call of a candidate. */
static void
judge_run(CodeNote *note, PyCodeObject *code, const CodeState *state, Ran ran)
{
    if (capture_all)
        count(note, code, state, ran);
    else if (ran != RAN_LEFT && !(ran == RAN_WAITS && account_is_hopeless(&state->account)))
        note->idle = 0;
    else if ((note->idle += 1 + Py_MIN(state->skips, IDLE_CALLS)) >= IDLE_CALLS)
        dismiss(note, code);
}

/* ---- calls (3.12+) and frames (3.11) ---- */

static PyObject *
on_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyFunctionObject *function = (PyFunctionObject *)callable;
    if (interpreter_ends()) return function_call(function, args, nargsf, kwnames);
    CodeNote *note = standing_of(function);
    bool deep = intercept_is_deep();
    if (note != NULL && !deep && is_skipped(note, function, args, PyVectorcall_NARGS(nargsf)))
        return function_call(function, args, nargsf, kwnames);
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (note != NULL && !note->called) {
        note->called = true;
        if (note->standing != STANDING_DISMISSED) live_watch(function);
    }
    if (note != NULL && deep && !capture_all) dismiss(note, (PyCodeObject *)function->func_code);
    bool candidate = note != NULL && decide(note, function, args, nargs);
    CodeState *state = candidate && !deep ? candidate_state(note, function, args, nargs) : NULL;
    if (note == NULL || deep || note->standing == STANDING_DISMISSED) intercept_end(function);
    if (state == NULL) return function_call(function, args, nargsf, kwnames);
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(function->func_code);
    Ran ran;
    PyObject *result = run_call(state, function, args, nargsf, kwnames, &ran);
    judge_run(note, code, state, ran);
    Py_DECREF(code);
    return result;
}

static PyObject *
on_frame(PyThreadState *ts, Frame *frame)
{
    if (calls_are_left()) { /* frames of pycompile itself say nothing about the program */
        hook_is_of_use();
        return NULL;
    }
    PyFunctionObject *function = frame_function(frame);
    CodeNote *note = standing_of(function);
    if (note == NULL || note->standing == STANDING_DISMISSED) return NULL;
    const PyCodeObject *code = (PyCodeObject *)function->func_code;
    if (frame_code(frame) != code) return NULL;
    int nargs = code->co_argcount + code->co_kwonlyargcount;
    if (!decide(note, function, frame_slots(frame), nargs)) return NULL;
    hook_is_of_use();
    CodeState *state = candidate_state(note, function, frame_slots(frame), nargs);
    if (state == NULL || !thread_is_plain(ts, state->code)) return NULL;
    PyCodeObject *held = (PyCodeObject *)Py_NewRef((PyObject *)state->code);
    Ran ran;
    PyObject *result = run_fresh_frame(state, ts, frame, &ran);
    judge_run(note, held, state, ran);
    Py_DECREF(held);
    return result;
}

/* ---- what Python sees ---- */

/* Visits every function that exists. */
static int
sweep(void (*visit)(PyFunctionObject *function))
{
    PyObject *gc = module_import("gc");
    PyObject *all = gc != NULL ? PyObject_CallMethod(gc, "get_objects", NULL) : NULL;
    Py_XDECREF(gc);
    if (all == NULL) return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++) {
        PyObject *object = PyList_GET_ITEM(all, i);
        if (PyFunction_Check(object)) visit((PyFunctionObject *)object);
    }
    Py_DECREF(all);
    return 0;
}

static void
take(PyFunctionObject *function)
{
    if (on_made(function)) intercept(function);
}

static void
let_go(PyFunctionObject *function)
{
    intercept_end(function);
    intercept_code_end((PyCodeObject *)function->func_code);
}

static void
on_end(void)
{
    if (ended) return;
    ended = true;
    backedge_stop();
    if (sweep(let_go) < 0) PyErr_Clear();
}

static PyObject *
py_program_start(PyObject *Py_UNUSED(self), PyObject *options)
{
    static Interceptor interceptor = {
        .made = on_made, .called = on_call, .entered = on_frame, .end = on_end};
    if (active) Py_RETURN_NONE;
    if ((config = config_from_options(options)) == NULL) return NULL;
    capture_all = config->capture_all;
    interceptor.rests = !capture_all;
    interceptor.loops = live_edges;
    live_start(config);
    if (intercept_start(&interceptor) < 0) return NULL;
    if (hook_may_rest()) array_tell_made(hook_wake);
    active = true;
    if (sweep(take) < 0) return NULL;
    live_watch_running();
    Py_RETURN_NONE;
}

static PyObject *
py_program_counts(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < NBUCKETS; i++) {
        for (const Counter *at = counters[i]; list != NULL && at != NULL; at = at->next) {
            PyObject *row = Py_BuildValue("(OOiLLLz)", at->file, at->name, at->line, at->whole,
                                          at->part, at->left, at->aside);
            if (row == NULL || PyList_Append(list, row) < 0) Py_CLEAR(list);
            Py_XDECREF(row);
        }
    }
    return list;
}

static PyObject *
py_program_is_running(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(active);
}

PyMethodDef program_methods[] = {
    {"program_start", py_program_start, METH_O,
     "program_start(options)\n\nEvery function is a candidate from now on."},
    {"program_counts", py_program_counts, METH_NOARGS,
     "program_counts() -> [(file, function, line, whole, part, left, why)]\n\nWith capture_all."},
    {"program_is_running", py_program_is_running, METH_NOARGS, "program_is_running() -> bool"},
    {NULL, NULL, 0, NULL},
};
