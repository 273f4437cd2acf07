/* For perf_hints and explain: where the graphs of each function break, which values varied, and
   what its code has been through. */
#include "entry.h"
#include "hooks.h"
#include "../clock.h"

enum { MAX_PLACES = 16, MAX_VARIED_NOTES = 8 };

void
hints_note(CodeState *state, const CompileNote *note)
{
    for (int i = 0; i < state->hints.len; i++)
        if (state->hints.at[i].at == note->at) return;
    if (state->hints.at == NULL &&
        (state->hints.at = mem_alloc(sizeof(BreakNote) * MAX_PLACES)) == NULL) {
        PyErr_Clear();
        return;
    }
    if (state->hints.len == MAX_PLACES) return;
    BreakNote *fresh = &state->hints.at[state->hints.len++];
    *fresh =
        (BreakNote){.at = note->at, .code = note->code, .hint = note->hint, .line = note->line};
    memcpy(fresh->detail, note->detail, sizeof(fresh->detail));
}

void
hints_count(CodeState *state, int at)
{
    for (int i = 0; i < state->hints.len; i++)
        if (state->hints.at[i].at == at) state->hints.at[i].count++;
}

/* ---- what varied ---- */

/* The note of this name and place, made if there is room; NULL: none. */
static VariedNote *
varied_note(CodeState *state, const char *name, const char *place)
{
    VariedNote fresh = {0};
    text_copy_cut(fresh.name, sizeof(fresh.name), name);
    text_copy_cut(fresh.place, sizeof(fresh.place), place);
    for (int i = 0; i < state->varied.len; i++) {
        VariedNote *at = &state->varied.at[i];
        if (strcmp(at->name, fresh.name) == 0 && strcmp(at->place, fresh.place) == 0) return at;
    }
    if (state->varied.at == NULL &&
        (state->varied.at = mem_alloc(sizeof(VariedNote) * MAX_VARIED_NOTES)) == NULL)
        PyErr_Clear();
    if (state->varied.at == NULL || state->varied.len == MAX_VARIED_NOTES) return NULL;
    state->varied.at[state->varied.len] = fresh;
    return &state->varied.at[state->varied.len++];
}

static void
note_value(VariedNote *note, const char *value)
{
    char cut[sizeof(note->value[0])];
    if (value == NULL) return;
    text_copy_cut(cut, sizeof(cut), value);
    for (int i = 0; i < note->nvalues; i++)
        if (strcmp(note->value[i], cut) == 0) return;
    if (note->nvalues == VALUES_NOTED)
        note->more = true;
    else
        memcpy(note->value[note->nvalues++], cut, sizeof(cut));
}

/* "x.shape[0] ==" without its last word: what varied.  False: the text does not end so. */
static bool
cut_operator(Text *name)
{
    char *at = name->data != NULL ? strrchr(name->data, ' ') : NULL;
    if (at == NULL || (strcmp(at, " ==") != 0 && strcmp(at, " is") != 0)) return false;
    *at = '\0';
    return true;
}

/* For reports: why no plan held. */
static PyObject *
cause_of(const GuardSaid *said)
{
    PyObject *record = runs_are_told ? PyDict_New() : NULL;
    record_string(record, "guard", said->name.data);
    record_string(record, "old", said->value.data);
    record_string(record, "new", said->now.data);
    if (said->place.len > 3) /* " (file.py:12)" */
        record_object(
            record, "place",
            PyUnicode_DecodeUTF8(said->place.data + 2, (Py_ssize_t)said->place.len - 3, "replace"));
    record_string(record, "remedy", said->remedy);
    PyErr_Clear();
    return record;
}

void
hints_varied(CodeState *state, GuardProgram *guards, int number, const Roots *roots, Varied *out)
{
    GuardSaid said = {0};
    guards_say(guards, number, roots, &said);
    bool valued = said.value.data != NULL && cut_operator(&said.name);
    if (!valued) { /* a sentence */
        GuardSaid sentence = {.place = said.place, .remedy = said.remedy};
        said.place = (Text){0};
        said_free(&said);
        said = sentence;
        if (guards_explain(guards, number, roots, &said.name) < 0) PyErr_Clear();
        if (said.name.len > said.place.len) /* its last word is the place */
            said.name.data[said.name.len -= said.place.len] = '\0';
    }
    VariedNote *note = varied_note(state, said.name.data ? said.name.data : "?",
                                   said.place.data ? said.place.data : "");
    if (note != NULL) {
        note->count++;
        note->remedy = said.remedy ? said.remedy : "";
        note_value(note, said.value.data);
        note_value(note, said.now.data);
    }
    text_printf(&out->what, "%s: %s%s", text_of_str(state->code->co_qualname),
                said.name.data ? said.name.data : "?", said.place.data ? said.place.data : "");
    out->remedy = said.remedy;
    out->cause = cause_of(&said);
    said_free(&said);
}

void
varied_free(Varied *varied)
{
    text_free(&varied->what);
    Py_CLEAR(varied->cause);
}

/* ---- time in plans ---- */

/* The log has each reason once, until there is another one. */
static void
note_undone(CodeState *state)
{
    const char *why = plan_deopt_why();
    if (strcmp(state->deopt_why, why) != 0) {
        log_emit(LOG_PERF_HINTS, "%s: a run was undone and left to CPython: %s",
                 text_of_str(state->code->co_qualname), why);
        PyObject *record = trace_record(state);
        record_string(record, "why", why);
        trace_put("undone", 0, record);
    }
    text_copy_cut(state->deopt_why, sizeof(state->deopt_why), why);
}

/* A few turns may read of lists that are long.  Are they fewer than any loop's gain makes up for?
 */
static void
judge_fill(const CodeState *state, Plan *plan, const PlanOutcome *outcome)
{
    enum { RUN_NS = 2000 }; /* what a run without turns takes, at most */
    if (outcome->filled_ns < LONG_NS) return;
    int64_t turns_ns = clock_ns() - outcome->filled_at - RUN_NS;
    bool in_vain = turns_ns * LOOP_GAIN < outcome->filled_ns && sample_allowed(state->config);
    guards_filled(plan->guards, in_vain);
}

PlanResult
plan_run_told(CodeState *state, Plan *plan, PyObject *const *reached, PlanOutcome *outcome)
{
    bool told = runs_are_told;
    int64_t began = told ? clock_ns() : 0;
    plan_acquire(plan);
    if (trace_on) trace_meets(plan, reached); /* the run may be these arrays' end */
    PlanResult result = plan_run(plan, reached, outcome);
    if (outcome->filled_at != 0 && result == PLAN_DONE) judge_fill(state, plan, outcome);
    plan_release(plan);
    if (told) {
        int64_t ended = clock_ns();
        state->plan_seconds += 1e-9 * (double)(ended - began);
        if (trace_on) trace_ran(plan, began, ended, result == PLAN_DEOPT);
    }
    /* Whether the log is wanted is only asked now: that takes a call of `logging`, in which CPython
       would serve a signal, and what its handler raises would be lost. */
    if (result == PLAN_DEOPT && (told || (!outcome->interrupted && log_enabled(LOG_PERF_HINTS))))
        note_undone(state);
    return result;
}

/* ---- what Python sees ---- */

static PyObject *
text_object(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *
values_of(const VariedNote *note)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < note->nvalues; i++) {
        PyObject *value = text_object(note->value[i]);
        if (value == NULL || PyList_Append(list, value) < 0) Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

static PyObject *
varied_of(const CodeState *state)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < state->varied.len; i++) {
        const VariedNote *at = &state->varied.at[i];
        PyObject *row =
            Py_BuildValue("(NNLNNs)", text_object(at->name), text_object(at->place), at->count,
                          values_of(at), PyBool_FromLong(at->more), at->remedy);
        if (row == NULL || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *
places_of(const CodeState *state)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < state->hints.len; i++) {
        const BreakNote *at = &state->hints.at[i];
        PyObject *row = Py_BuildValue("(iLsssN)", at->line, at->count, break_code(at->code),
                                      break_text(at->code), at->hint, text_object(at->detail));
        if (row == NULL || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* What was said of the places that are given up. */
static PyObject *
lost_of(const CodeState *state)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < state->decoded->count; i++) {
        const Entry *entry = state->entries[i];
        if (entry == NULL || !entry->given_up || entry->lost == NULL) continue;
        PyObject *text = text_object(entry->lost);
        if (text == NULL || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

void
hints_record(const CodeState *state, PyObject *record)
{
    static const CodeState none;
    long long given_up = 0, slower = 0, paused = 0;
    for (int i = 0; state != NULL && i < state->decoded->count; i++) {
        const Entry *entry = state->entries[i];
        if (entry == NULL) continue;
        given_up += entry->given_up;
        for (int k = 0; k < entry->nplans; k++) {
            slower += entry->plans[k]->sample.slower;
            paused += entry->plans[k]->balance.pause > 0;
        }
    }
    if (state == NULL) state = &none;
    slower += calls_slower(state);
    record_int(record, "given_up", given_up);
    record_int(record, "slower", slower);
    record_int(record, "paused", paused);
    record_int(record, "plan_runs", state->plan_runs);
    record_int(record, "compiles", state->compiles);
    record_int(record, "recompiles", state->recompiles);
    record_int(record, "breaks", state->breaks);
    record_int(record, "deopts", state->deopts);
}

/* Those that were not timed count as the mean of the others. */
static double
seconds_undone(const CodeState *state)
{
    if (state->deopts_timed == 0) return 0;
    return 1e-9 * (double)state->undone_ns / (double)state->deopts_timed * (double)state->deopts;
}

static void
add_state(const CodeState *state, void *context)
{
    PyObject *list = context, *record = PyDict_New();
    if (record == NULL) {
        PyErr_Clear();
        return;
    }
    BreakFrame at = told_frame(state->decoded, state->code->co_firstlineno);
    record_object(record, "function", told_function(&at));
    record_object(record, "file", Py_NewRef(state->code->co_filename));
    record_int(record, "line", state->code->co_firstlineno);
    hints_record(state, record);
    record_string(record, "deopt_why", state->deopt_why);
    record_object(record, "undone_seconds", PyFloat_FromDouble(seconds_undone(state)));
    record_object(record, "plan_seconds", PyFloat_FromDouble(state->plan_seconds));
    record_object(record, "places", places_of(state));
    record_object(record, "lost", lost_of(state));
    record_object(record, "varied", varied_of(state));
    if (PyList_Append(list, record) < 0) PyErr_Clear();
    Py_DECREF(record);
}

static PyObject *
py_hints(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);
    if (list != NULL) states_visit(add_state, list);
    return list;
}

static void
put_rests(const CodeState *state, void *Py_UNUSED(context))
{
    for (int i = 0; i < state->decoded->count; i++)
        for (int k = 0; state->entries[i] != NULL && k < state->entries[i]->nplans; k++)
            trace_rest(state->entries[i]->plans[k]);
}

static PyObject *
py_trace_end(PyObject *Py_UNUSED(self), PyObject *record)
{
    states_visit(put_rests, NULL);
    trace_end(record);
    Py_RETURN_NONE;
}

static PyObject *
py_hints_tell(PyObject *Py_UNUSED(self), PyObject *text)
{
    const char *string = PyUnicode_AsUTF8(text);
    if (string == NULL) return NULL;
    log_emit(LOG_PERF_HINTS, "%s", string);
    Py_RETURN_NONE;
}

PyMethodDef hints_methods[] = {
    {"hints", py_hints, METH_NOARGS,
     "hints() -> list of dict: what each function's code went through"},
    {"trace_end", py_trace_end, METH_O, "trace_end(record)\n\nThe last runs, and the last line."},
    {"hints_tell", py_hints_tell, METH_O, "To the logger pycompile.perf_hints."},
    {NULL, NULL, 0, NULL},
};
