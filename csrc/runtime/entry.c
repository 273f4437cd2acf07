/* What is known about code objects: plans by instruction, and what capture refused.

   A state lives in its code's extra slot, one per config, and dies with the code.  All states are
   in one list, for reset.  Everything here is under the GIL. */
#include "entry.h"

static CodeState *all_states;

static void
entry_clear(Entry *entry)
{
    int nplans = entry->nplans;
    entry->nplans = entry->nrefusals = entry->compiles = 0;
    entry->given_up = false;
    for (int i = 0; i < nplans; i++) plan_release(entry->plans[i]);
}

static void
state_free(CodeState *state)
{
    for (int i = 0; state->entries != NULL && i < state->decoded->count; i++) {
        if (state->entries[i] == NULL) continue;
        entry_clear(state->entries[i]);
        mem_free(state->entries[i]);
    }
    if (state->next != NULL) state->next->previous = state->previous;
    if (state->previous != NULL)
        state->previous->next = state->next;
    else if (all_states == state)
        all_states = state->next;
    decoded_free(state->decoded);
    mem_free(state->entries);
    mem_free(state);
}

/* The code dies. */
static void
states_free(void *first)
{
    for (CodeState *state = first, *other; state != NULL; state = other) {
        other = state->other;
        state_free(state);
    }
}

int
entry_init(void)
{
    return code_extra_init(states_free);
}

static bool
is_library(PyObject *name)
{
    PyObject *names = PySys_GetObject("stdlib_module_names");
    if (name == NULL || !PyUnicode_Check(name)) return false;
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

static void
log_bytecode(const CodeState *state)
{
    if (!log_enabled(LOG_BYTECODE)) return;
    const char *name = PyUnicode_AsUTF8(state->code->co_qualname);
    Text text = {0};
    if (name == NULL || decoded_print(state->decoded, &text) < 0 || text_finish(&text) < 0)
        PyErr_Clear();
    else
        log_emit(LOG_BYTECODE, "%s\n%s", name, text.data ? text.data : "");
    text_free(&text);
}

static CodeState *
state_new(PyCodeObject *code, const Config *config)
{
    CodeState *state = mem_alloc(sizeof(CodeState));
    if (state == NULL) return NULL;
    state->code = code;
    state->config = config;
    if ((state->decoded = decode(code)) == NULL ||
        (state->entries = mem_alloc(sizeof(Entry *) * (size_t)(state->decoded->count + 1))) ==
            NULL) {
        if (state->decoded != NULL) decoded_free(state->decoded);
        mem_free(state);
        return NULL;
    }
    state->aside = state->decoded->aside != NULL;
    state->has_cells = has_cells(code);
    state->next = all_states;
    if (all_states != NULL) all_states->previous = state;
    all_states = state;
    log_bytecode(state);
    return state;
}

CodeState *
code_state(PyCodeObject *code, const Config *config)
{
    CodeState *first = code_extra_get(code);
    for (CodeState *state = first; state != NULL; state = state->other)
        if (state->config == config) return state;
    CodeState *state = state_new(code, config);
    if (state == NULL) return NULL;
    if (first != NULL) {
        state->other = first->other;
        first->other = state;
    } else if (code_extra_set(code, state) < 0) {
        state_free(state);
        return NULL;
    }
    return state;
}

bool
function_is_library(PyFunctionObject *function)
{
    return is_library(PyDict_GetItemString(function->func_globals, "__name__"));
}

/* Detached first and released afterwards: a destructor may run anything, a reset included. */
void
entry_reset(void)
{
    Plan **released = NULL;
    int count = 0, room = 0;
    for (CodeState *state = all_states; state != NULL; state = state->next)
        for (int i = 0; i < state->decoded->count; i++)
            room += state->entries[i] != NULL ? state->entries[i]->nplans : 0;
    if (room > 0 && (released = mem_alloc(sizeof(Plan *) * (size_t)room)) == NULL) PyErr_Clear();
    for (CodeState *state = all_states; state != NULL; state = state->next) {
        for (int i = 0; i < state->decoded->count; i++) {
            Entry *entry = state->entries[i];
            if (entry == NULL) continue;
            for (int k = 0; k < entry->nplans && released != NULL; k++)
                released[count++] = entry->plans[k];
            entry->nplans = entry->nrefusals = entry->compiles = 0;
            entry->given_up = false;
        }
    }
    for (int i = 0; i < count; i++) plan_release(released[i]);
    mem_free(released);
}

Entry *
entry_at(CodeState *state, int number)
{
    if (state->entries[number] == NULL) state->entries[number] = mem_alloc(sizeof(Entry));
    return state->entries[number];
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
        memmove(entry->plans + i, entry->plans + i + 1,
                sizeof(Plan *) * (size_t)(entry->nplans - i));
        plan_release(plan);
        return;
    }
}

Refusal *
entry_refusal(Entry *entry, uint64_t types)
{
    for (int i = 0; i < entry->nrefusals; i++)
        if (entry->refusals[i].types == types) return &entry->refusals[i];
    return NULL;
}

int
state_nargs(const CodeState *state)
{
    const Decoded *d = state->decoded;
    return d->argcount + d->kwonly + d->varargs + d->varkeywords;
}
