/* What is known about code objects: plans by instruction, and what capture refused.
   A state is kept in its code's extra slot, one per config and namespace, and freed with the code.
   All states are in one list, for reset.  Everything here runs under the GIL.

   Code is executed in several namespaces by templates, factories and modules that are loaded again;
   each has its own plans, and its own account of what they cost.  Nothing tells that a namespace is
   gone or no longer used.  So there are MOST_SPACES of them; another one takes the place of one in
   which no plan ran for a while, and until there is such a one CPython runs its calls. */
#include "entry.h"

#include "live.h"

#include <alloca.h>

enum {
    MOST_SPACES = 64,
    FIRST_LEFT = 64, /* calls in namespaces without a state, before one takes a place */
    MOST_LEFT = 1 << 16,
};

unsigned entry_epoch;
static CodeState *all_states;

/* Sets the entry to its initial state; the objects that it owned were taken over. */
static void
entry_forget(Entry *entry)
{
    entry->nplans = entry->nrefusals = entry->misses = entry->rest = entry->nvaried = 0;
    entry->given_up = entry->told = entry->left_early = false;
    entry->lost = NULL;
    entry->credit = (Credit){0};
    entry->turns = (TurnsNote){0};
    entry->behind = (Refusal){.until = -1};
    entry->earned_at = 0;
    entry->waiting = NULL;
}

static void
entry_clear(Entry *entry)
{
    int nplans = entry->nplans, nrefusals = entry->nrefusals;
    Waiting *waiting = entry->waiting;
    mem_free(entry->lost);
    mem_free(entry->credit.recurring);
    entry_forget(entry);
    waiting_free(waiting);
    for (int i = 0; i < nrefusals; i++) guards_free(entry->refusals[i].guards);
    for (int i = 0; i < nplans; i++) plan_release(entry->plans[i]);
}

static void
state_unlink(CodeState *state)
{
    if (state->next != NULL) state->next->previous = state->previous;
    if (state->previous != NULL)
        state->previous->next = state->next;
    else
        all_states = state->next;
}

static void
state_free(CodeState *state)
{
    for (int i = 0; i < state->decoded->count; i++) {
        if (state->entries[i] == NULL) continue;
        entry_clear(state->entries[i]);
        mem_free(state->entries[i]);
    }
    mem_free(state->entries);
    mem_free(state->hints.at);
    mem_free(state->varied.at);
    mem_free(state);
}

/* The code is freed.  Freeing its plans may run code of the program, which must not find a state
   whose code is gone: all states leave the list before the first is freed.  CPython calls this for
   every slot of a code that uses any: `extra` may be NULL. */
static void
note_free(void *extra)
{
    CodeNote *note = extra;
    if (note == NULL) return; /* CPython made room for it with another slot */
    for (CodeState *state = note->states; state != NULL; state = state->other) state_unlink(state);
    for (CodeState *state = note->states, *other; state != NULL; state = other) {
        other = state->other;
        state_free(state);
    }
    if (note->decoded != NULL) decoded_free(note->decoded);
    live_free(note->live);
    mem_free(note);
}

int
entry_init(void)
{
    return code_extra_init(note_free);
}

CodeNote *
code_note_peek(PyCodeObject *code)
{
    return code_extra_get(code);
}

CodeNote *
code_note(PyCodeObject *code)
{
    CodeNote *note = code_extra_get(code);
    if (note != NULL) return note;
    if ((note = mem_alloc(sizeof(CodeNote))) == NULL) return NULL;
    if (code_extra_set(code, note) == 0) return note;
    mem_free(note);
    return NULL;
}

bool
module_is_library(PyObject *name)
{
    PyObject *names = PySys_GetObject("stdlib_module_names");
    if (name == NULL || !PyUnicode_Check(name)) return false;
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) PyErr_Clear();
    if (text == NULL || strstr(text, ".tests.") != NULL) return false;
    Py_ssize_t length = PyUnicode_GET_LENGTH(name);
    Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, length, 1);
    PyObject *top = PyUnicode_Substring(name, 0, dot < 0 ? length : dot);
    if (top == NULL) {
        PyErr_Clear();
        return false;
    }
    bool found = PyUnicode_CompareWithASCIIString(top, "numpy") == 0 ||
                 PyUnicode_CompareWithASCIIString(top, "pycompile") == 0 ||
                 (names != NULL && PySequence_Contains(names, top) == 1);
    PyErr_Clear();
    Py_DECREF(top);
    return found;
}

static bool
has_cells(PyCodeObject *code)
{
    for (int i = 0; i < code->co_nlocalsplus; i++)
        if (code_slot_kind(code, i) & SLOT_CELL) return true;
    return false;
}

static CodeState *
state_new(CodeNote *note, PyCodeObject *code, const Config *config)
{
    if (note->decoded == NULL && (note->decoded = decode(code)) == NULL) return NULL;
    CodeState *state = mem_alloc(sizeof(CodeState));
    if (state == NULL) return NULL;
    state->code = code;
    state->config = config;
    state->decoded = note->decoded;
    state->entries = mem_alloc(sizeof(Entry *) * (size_t)(state->decoded->count + 1));
    if (state->entries == NULL) {
        mem_free(state);
        return NULL;
    }
    state->aside = state->decoded->aside != NULL;
    state->has_cells = has_cells(code);
    state->next = all_states;
    if (all_states != NULL) all_states->previous = state;
    all_states = state;
    return state;
}

/* ---- namespaces ---- */

static bool
has_paid(const CodeState *state)
{
    for (int i = 0; i < state->decoded->count; i++)
        for (int k = 0; state->entries[i] != NULL && k < state->entries[i]->nplans; k++)
            if (state->entries[i]->plans[k]->debt <= 0) return true;
    return false;
}

/* One in which no plan has run since this was asked last: the one looked up longest ago; or NULL.
 */
static CodeState *
find_idle(const CodeNote *note, const Config *config)
{
    CodeState *idle = NULL;
    for (CodeState *state = note->states; state != NULL; state = state->other) {
        if (state->config != config) continue;
        if (state->plan_runs == state->runs_seen && state->running == 0) idle = state;
        state->runs_seen = state->plan_runs;
    }
    return idle;
}

static void
tell_spaces(CodeNote *note, const PyCodeObject *code)
{
    if (note->told) return;
    note->told = true;
    log_emit(LOG_RECOMPILES,
             "%s (%s:%d) runs in more than %d namespaces: its globals are another dict each time; "
             "CPython runs it in those that have no plans",
             text_of_str(code->co_qualname), text_of_str(code->co_filename), code->co_firstlineno,
             MOST_SPACES);
}

/* Moves the entries' contents to `to` and counts them; what they own is still to be released.  With
   `varied` they keep which values and lengths were others from call to call. */
static int
detach_entries(CodeState *state, Entry *to, bool varied)
{
    int count = 0;
    state->plan_runs = state->compiles = state->recompiles = state->runs_seen = 0;
    state->breaks = state->deopts = state->deopts_timed = state->undone_ns = 0;
    state->recurses = false;
    state->deopt_why[0] = '\0';
    state->varied.len = 0;
    state->calls = (SampledCalls){0};
    state->account = (Account){0};
    state->planned = state->met = state->told = false;
    state->barren = 0;
    state->ticket = 0;
    for (int i = 0; i < state->decoded->count; i++) {
        if (state->entries[i] == NULL) continue;
        to[count] = *state->entries[i];
        entry_forget(state->entries[i]);
        if (varied) state->entries[i]->nvaried = to[count].nvaried;
        count++;
    }
    return count;
}

/* How many entries the state has. */
static int
count_entries(const CodeState *state)
{
    int count = 0;
    for (int i = 0; i < state->decoded->count; i++) count += state->entries[i] != NULL;
    return count;
}

/* Gives the state to another namespace.  The plans' ends may run code of the program, even code
   that frees the state's. */
static int
hand_over(CodeState *state, PyObject *globals, PyObject *builtins)
{
    Entry *detached = mem_alloc(sizeof(Entry) * (size_t)(count_entries(state) + 1));
    if (detached == NULL) return -1;
    int count = detach_entries(state, detached, false);
    state->globals = globals;
    state->builtins = builtins;
    state->heat = (Heat){0};
    for (int i = 0; i < count; i++) entry_clear(&detached[i]);
    mem_free(detached);
    return 0;
}

/* CPython runs this call.  Now and then the namespace gets the place of one that is idle, for its
   next calls; where that one's plans have not paid, the next waits for twice as many. */
static void
wait_for_place(CodeNote *note, PyCodeObject *code, const Config *config, PyObject *globals,
               PyObject *builtins)
{
    if (++note->left < note->wait) return;
    note->left = 0;
    CodeState *idle = find_idle(note, config);
    int32_t wait = Py_MAX(note->wait, FIRST_LEFT);
    if (idle != NULL) wait = has_paid(idle) ? FIRST_LEFT : Py_MIN(2 * wait, MOST_LEFT);
    note->wait = wait;
    if (idle != NULL && hand_over(idle, globals, builtins) < 0) PyErr_Clear();
    if (idle == NULL) tell_spaces(note, code);
}

CodeState *
code_state(PyCodeObject *code, PyObject *globals, PyObject *builtins, const Config *config)
{
    CodeNote *note = code_note(code);
    int count = 0;
    if (note == NULL) return NULL;
    for (CodeState **at = &note->states; *at != NULL; at = &(*at)->other) {
        CodeState *state = *at;
        count += state->config == config;
        if (state->config != config || !state_serves(state, globals, builtins)) continue;
        *at = state->other;
        state->other = note->states;
        return note->states = state;
    }
    if (count >= MOST_SPACES && !config->fullgraph) {
        wait_for_place(note, code, config, globals, builtins);
        return NULL;
    }
    CodeState *state = state_new(note, code, config);
    if (state == NULL) return NULL;
    state->globals = globals;
    state->builtins = builtins;
    state->other = note->states;
    return note->states = state;
}

bool
function_is_library(PyFunctionObject *function)
{
    return module_is_library(dict_named(function->func_globals, "__name__"));
}

/* Detaches first and releases afterwards: a destructor may run any code, even a reset. */
void
entry_reset(bool varied)
{
    int count = 0, room = 0;
    entry_epoch++;
    for (CodeState *state = all_states; state != NULL; state = state->next)
        room += count_entries(state);
    Entry *detached = mem_alloc(sizeof(Entry) * (size_t)(room + 1));
    if (detached == NULL) {
        PyErr_Clear();
        return;
    }
    for (CodeState *state = all_states; state != NULL; state = state->next)
        count += detach_entries(state, detached + count, varied);
    for (int i = 0; i < count; i++) entry_clear(&detached[i]);
    mem_free(detached);
}

Entry *
entry_at(CodeState *state, int number)
{
    Entry *entry = state->entries[number];
    if (entry != NULL || (entry = mem_alloc(sizeof(Entry))) == NULL) return entry;
    entry_forget(entry);
    return state->entries[number] = entry;
}

void
entry_to_front(Entry *entry, int plan)
{
    Plan *hit = entry->plans[plan];
    memmove(entry->plans + 1, entry->plans, sizeof(Plan *) * (size_t)plan);
    entry->plans[0] = hit;
}

void
entry_drop(Entry *entry, Plan *plan)
{
    for (int i = 0; i < entry->nplans; i++) {
        if (entry->plans[i] != plan) continue;
        entry->nplans--;
        entry->credit.lost += plan->debt > 0;
        memmove(entry->plans + i, entry->plans + i + 1,
                sizeof(Plan *) * (size_t)(entry->nplans - i));
        plan_release(plan);
        return;
    }
}

void
entry_bury(Entry *entry)
{
    for (int i = 0; i < entry->nplans; i++) {
        if (!guards_are_dead(plan_guards(entry->plans[i]))) continue;
        entry_drop(entry, entry->plans[i]); /* which may run code of the program */
        i = -1;
    }
}

void
entry_missed(Entry *entry)
{
    if (!entry->given_up || entry->nplans == 0 || entry->rest > 0) return;
    if (++entry->misses < MAX_MISSES) return;
    int nplans = entry->nplans, dropped = 0;
    Plan *plans[MAX_PLANS];
    entry->nplans = 0;
    for (int i = 0; i < nplans; i++) {
        Plan *plan = entry->plans[i];
        if (credit_used(plan)) {
            plan_trim(plan);
            entry->plans[entry->nplans++] = plan;
            continue;
        }
        entry->credit.lost += plan->debt > 0;
        plans[dropped++] = plan;
    }
    entry->misses = entry->nplans > 0 ? MAX_MISSES : 0;
    entry->rest = entry->nplans > 0 ? REST : 0;
    for (int i = 0; i < dropped; i++) plan_release(plans[i]);
}

void
entry_take(Entry *entry, Plan *plan, int64_t limit)
{
    bool full = entry->nplans == MAX_PLANS;
    entry->misses = entry->rest = 0;
    if (full || credit_unpaid(entry) >= limit) {
        int last = entry->nplans - 1; /* the one that was hit longest ago */
        while (!full && last >= 0 && credit_used(entry->plans[last])) last--;
        if (last >= 0)
            entry_drop(entry, entry->plans[last]); /* which may run code of the program */
    }
    if (entry->nplans == MAX_PLANS) { /* a nested call has made plans meanwhile */
        plan_release(plan);
        return;
    }
    entry->plans[entry->nplans++] = plan;
    entry_to_front(entry, entry->nplans - 1);
    for (int64_t i = limit; i < entry->nplans; i++) plan_trim(entry->plans[i]);
}

static void
note_varied(void *of, uint64_t path, bool failed)
{
    Entry *entry = of;
    int i = 0;
    if (path == 0) return;
    while (i < entry->nvaried && entry->varied[i].path != path) i++;
    if (i == PATHS_WATCHED) return;
    if (i == entry->nvaried) entry->varied[entry->nvaried++] = (VariedPath){.path = path};
    VariedPath *varied = &entry->varied[i];
    if (varied->failed < (failed ? INT32_MAX : 1)) varied->failed++;
    varied->unsteady = varied->failed >= MAX_VARIED;
}

/* No plan of it may take the values at these paths for granted. */
static void
follow_values(Entry *entry, PyObject *paths)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(paths); k++) {
        uint64_t path = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(paths, k));
        note_varied(entry, path, true);
        for (int i = 0; i < entry->nvaried; i++)
            entry->varied[i].followed = entry->varied[i].followed || entry->varied[i].path == path;
    }
    PyErr_Clear();
}

void
entry_give_way(Entry *entry, Plan *plan)
{
    PyObject *paths = again_followed();
    if (paths != NULL) follow_values(entry, paths);
    Py_XDECREF(paths);
    entry_drop(entry, plan);
}

void
entry_varied(Entry *entry, const GuardProgram *guards, int failed, const Roots *roots, bool ints)
{
    guards_varied(guards, failed, ints, roots, note_varied, entry);
}

static bool
refusal_holds(const Refusal *refusal, const Roots *roots, int *failed)
{
    GuardProgram *guards = refusal->guards;
    *failed = -1;
    if (guards == NULL) return true;
    if (guards_last_slot(guards) >= roots->nslots) return false;
    PyObject **reached = alloca(sizeof(PyObject *) * (size_t)(guards_sources(guards) + 1));
    return guards_check(guards, roots, reached, failed);
}

GuardProgram *
entry_failed_refusal(Entry *entry, uint64_t types, const Roots *roots, int *failed)
{
    for (int i = entry->nrefusals - 1; i >= 0; i--)
        if (entry->refusals[i].types == types)
            return refusal_holds(&entry->refusals[i], roots, failed) ? NULL
                                                                     : entry->refusals[i].guards;
    return NULL;
}

Refusal *
entry_refusal(Entry *entry, uint64_t types, const Roots *roots)
{
    int failed;
    for (int i = 0; i < entry->nrefusals; i++)
        if (entry->refusals[i].types == types && refusal_holds(&entry->refusals[i], roots, &failed))
            return &entry->refusals[i];
    return NULL;
}

void
entry_refuse(Entry *entry, uint64_t types, GuardProgram *guards, int until)
{
    GuardProgram *evicted = NULL;
    if (entry->nrefusals == MAX_REFUSALS) {
        evicted = entry->refusals[0].guards;
        memmove(entry->refusals, entry->refusals + 1, sizeof(Refusal) * (size_t)(MAX_REFUSALS - 1));
        entry->nrefusals--;
    }
    entry->refusals[entry->nrefusals++] =
        (Refusal){.types = types, .guards = guards, .until = until};
    guards_free(evicted);
}

int
state_nargs(const CodeState *state)
{
    const Decoded *d = state->decoded;
    return d->argcount + d->kwonly + d->varargs + d->varkeywords;
}

/* `visit` may allocate, so that the collector frees codes and their states: a reference to its code
   protects the state being visited. */
void
states_visit(void (*visit)(const CodeState *state, void *context), void *context)
{
    CodeState *state = all_states, *next;
    if (state != NULL) Py_INCREF(state->code);
    for (; state != NULL; state = next) {
        visit(state, context);
        if ((next = state->next) != NULL) Py_INCREF(next->code);
        Py_DECREF(state->code);
    }
}
