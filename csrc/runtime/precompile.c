/* The plan of a call that is not made: pycompile's `f.precompile(...)`.

   Capture reads the values that the function's frame would have, which needs no frame: arguments
   and cells as at the first instruction, nothing else.  So nothing of the function runs, and no
   exception of its own comes.  What the program would do for itself after a break has no values to
   capture with: only the plan of the function's start is made. */
#include "recompile.h"

#include "hooks.h"

#include <alloca.h>

/* A plan of the entry that holds for the values; NULL: none, and `miss` says why. */
static Plan *
find_plan(Miss *miss)
{
    Entry *entry = miss->entry;
    entry_bury(entry);
    for (int i = 0; i < entry->nplans; i++) {
        GuardProgram *guards = plan_guards(entry->plans[i]);
        PyObject **reached = alloca(sizeof(PyObject *) * (size_t)(guards_sources(guards) + 1));
        int failed;
        if (guards_check(guards, &miss->roots, reached, &failed)) return entry->plans[i];
        if (i > 0) continue;
        miss->failed = entry->plans[0];
        miss->failed_guard = failed;
    }
    return NULL;
}

static bool
reaches_end(const Plan *plan)
{
    return plan_exit(plan)->kind == EXIT_RETURN;
}

/* 1: the call is one plan; 0: it is not; -1: the error is set. */
static int
make_plan(Miss *miss, PyFunctionObject *function, uint64_t types)
{
    CodeState *state = miss->state;
    CaptureRequest request = {
        .decoded = state->decoded,
        .globals = function->func_globals,
        .builtins = function->func_builtins,
        .function = function,
        .slots = miss->roots.slots,
        .number = miss->number,
        .varied = miss->entry->varied,
        .nvaried = miss->entry->nvaried,
        .recurses = state->recurses,
        .config = state->config,
        .again = miss->entry->nplans > 0,
    };
    const Patience patience = {.waits = true};
    CompileNote note;
    Plan *plan = NULL;
    Answer answer;
    Reason reason = {0};
    reason_find(miss, types, &reason);
    do
        answer =
            compile_plan(&request, reason.text.data, reason.varied.cause, patience, &plan, &note);
    while (note.interrupted && PyErr_CheckSignals() == 0);
    if (!note.interrupted && answer != ANSWER_ERROR) reason_count(&reason, state);
    reason_free(&reason);
    if (answer == ANSWER_ERROR || note.interrupted) return -1;
    if (note.code != BREAK_NONE) hints_note(state, &note);
    state->recurses = state->recurses || note.recurses;
    bool whole = plan != NULL && reaches_end(plan);
    recompile_take(miss, types, &note, plan);
    return whole;
}

static int
look(CodeState *state, PyFunctionObject *function, PyObject *const *slots)
{
    int number = state->decoded->first_traceable;
    Miss miss = {.state = state, .entry = entry_at(state, number), .number = number};
    miss.roots = (Roots){slots, state->decoded->nlocalsplus};
    if (miss.entry == NULL) return -1;
    Plan *plan = find_plan(&miss);
    if (plan != NULL) return reaches_end(plan);
    uint64_t types = types_of(slots, state_nargs(state));
    if (entry_refusal(miss.entry, types, &miss.roots) != NULL) return 0;
    return make_plan(&miss, function, types);
}

int
precompile_slots(PyCodeObject *code, PyFunctionObject *function, PyObject *values, PyObject **slots)
{
    PyObject *closure = function->func_closure;
    Py_ssize_t nfree = closure != NULL ? PyTuple_GET_SIZE(closure) : 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); i++)
        slots[i] = Py_NewRef(PyTuple_GET_ITEM(values, i));
    for (Py_ssize_t i = 0; i < nfree; i++)
        slots[code->co_nlocalsplus - nfree + i] = Py_NewRef(PyTuple_GET_ITEM(closure, i));
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        if ((code_slot_kind(code, i) & SLOT_CELL) == 0) continue;
        PyObject *cell = PyCell_New(slots[i]);
        if (cell == NULL) return -1;
        Py_XSETREF(slots[i], cell);
    }
    return 0;
}

int
precompile(CodeState *state, PyFunctionObject *function, PyObject *values)
{
    PyCodeObject *code = state->code;
    if (PyTuple_GET_SIZE(values) != state_nargs(state)) {
        PyErr_Format(PyExc_TypeError, "%U has %d arguments, not %zd", code->co_qualname,
                     state_nargs(state), PyTuple_GET_SIZE(values));
        return -1;
    }
    if (state->aside) return 0;
    size_t n = (size_t)code->co_nlocalsplus + 1;
    PyObject **slots = mem_alloc(sizeof(PyObject *) * n);
    if (slots == NULL) return -1;
    Py_INCREF(code); /* and with it the state */
    state->running++;
    int status = precompile_slots(code, function, values, slots);
    if (status == 0) status = look(state, function, slots);
    state->running--;
    for (size_t i = 0; i < n; i++) Py_XDECREF(slots[i]);
    mem_free(slots);
    Py_DECREF(code);
    return status;
}
