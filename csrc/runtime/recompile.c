/* Recompiles: places for whose values no plan holds.  What is said of them, and of those that are
   given up; and where the stance (stance.c) rules out that a plan is made. */
#include "recompile.h"

enum { WARNED_GAIN = 100 }; /* a plan's saving per run from which its loss is worth a warning */

void
state_describe(const CodeState *state, int number, Text *out)
{
    BreakFrame at = told_frame(state->decoded, state->decoded->instrs[number].line);
    PyObject *name = told_function(&at);
    if (name == NULL) PyErr_Clear();
    text_printf(out, "%s (%s:%d)", name ? text_of_str(name) : at.function, at.file, at.line);
    Py_XDECREF(name);
}

/* ---- another plan ---- */

/* To the log. */
static void
tell(const Miss *miss, const char *reason, const Varied *varied)
{
    const char *remedy = varied->remedy != NULL ? varied->remedy : "", *given = NULL;
    Text where = {0};
    if (!log_enabled(LOG_RECOMPILES)) return;
    state_describe(miss->state, miss->number, &where);
    const char *place = where.data ? where.data : "?";
    if (*remedy != '\0') given = log_hint_given(remedy, place);
    log_emit(LOG_RECOMPILES, "%s: recompiled because %s%s%s%s", place, reason,
             *remedy ? "\n  hint: " : "", given ? "as for " : "", given ? given : remedy);
    text_free(&where);
}

/* How many facts keep the plan from holding; 0: that is not known. */
static int
count_facts(const Miss *miss, Plan *plan)
{
    GuardFacts *facts = guards_facts_new();
    if (facts == NULL) return PyErr_Clear(), 0;
    guards_facts_add(facts, plan_guards(plan), &miss->roots);
    int count = guards_facts_count(facts);
    guards_facts_free(facts);
    return count;
}

/* The guard of the plan that fails; -1: none does. */
static int
guard_that_fails(const Miss *miss, Plan *plan)
{
    GuardProgram *guards = plan_guards(plan);
    int failed = -1;
    PyObject **reached = mem_alloc(sizeof(PyObject *) * ((size_t)guards_sources(guards) + 1));
    if (reached == NULL) return PyErr_Clear(), -1;
    if (guards_check(guards, &miss->roots, reached, &failed)) failed = -1;
    mem_free(reached);
    return failed;
}

/* The plan, owned, from which least differs: what its guard wants tells most.  Of several such ones
   the one that was tried last. */
static Plan *
plan_nearest(const Miss *miss, int *failed)
{
    Plan *nearest = plan_acquire(miss->failed);
    int nplans = miss->entry->nplans, least = nplans > 1 ? count_facts(miss, nearest) : 0;
    for (int i = 0; i < miss->entry->nplans && least > 1; i++) {
        Plan *plan = plan_acquire(miss->entry->plans[i]); /* texts may run code that resets all */
        int count = count_facts(miss, plan), guard = guard_that_fails(miss, plan);
        bool nearer = count > 0 && count < least && guard >= 0;
        if (nearer) {
            least = count;
            *failed = guard;
        }
        plan_release(nearer ? nearest : plan);
        if (nearer) nearest = plan;
    }
    return nearest;
}

static void
tell_reason(const Miss *miss, Reason *out)
{
    int failed = miss->failed_guard;
    Plan *plan = plan_nearest(miss, &failed);
    if (guards_explain(plan_guards(plan), failed, &miss->roots, &out->text) < 0) PyErr_Clear();
    hints_varied(miss->state, plan_guards(plan), failed, &miss->roots, &out->varied);
    if (out->text.data != NULL) tell(miss, out->text.data, &out->varied);
    plan_release(plan);
}

void
reason_find(const Miss *miss, uint64_t types, Reason *out)
{
    int failed = miss->failed_guard;
    Plan *plan = miss->failed;
    GuardProgram *guards = plan != NULL
                               ? plan_guards(plan)
                               : entry_failed_refusal(miss->entry, types, &miss->roots, &failed);
    if (plan != NULL) plan_acquire(plan); /* a collection may run code that resets all */
    /* First: what is told may collect garbage, and with it what the plan's guards refer to. */
    if (guards != NULL) entry_varied(miss->entry, guards, failed, &miss->roots, miss->number == 0);
    if (plan != NULL) {
        tell_reason(miss, out);
        plan_release(plan);
    }
}

void
reason_count(const Reason *reason, CodeState *state)
{
    state->compiles++;
    if (reason->text.data == NULL) return;
    state->recompiles++;
    counts_recompiled(reason->varied.what.data ? reason->varied.what.data : "?");
}

void
reason_free(Reason *reason)
{
    text_free(&reason->text);
    varied_free(&reason->varied);
}

void
recompile_take(const Miss *miss, uint64_t types, const CompileNote *note, Plan *plan)
{
    Entry *entry = miss->entry;
    int64_t limit = miss->state->config->recompile_limit;
    bool goes_on = note->exit != EXIT_RETURN;
    entry->given_up = false;
    entry->behind = (Refusal){.until = goes_on ? note->at : note->called};
    credit_tried(entry, limit, &miss->roots, note, plan);
    if (plan == NULL) {
        entry_refuse(entry, types, note->guards, goes_on && !note->useful ? note->at : -1);
        return;
    }
    entry_take(entry, plan, limit);
    miss->state->planned = true;
}

/* ---- a place that is given up ---- */

/* The line of another place of the function, about which the warning said to change the same; 0:
   none did. */
static int
line_said(const CodeState *state, Entry *entry, const char *remedies)
{
    static const Digest none;
    Hash hash;
    hash_begin(&hash);
    hash_add_string(&hash, remedies);
    entry->advice = none;
    Digest advice = hash_end(&hash);
    int line = 0;
    for (int i = 0; i < state->decoded->count && line == 0; i++)
        if (state->entries[i] != NULL &&
            memcmp(&advice, &state->entries[i]->advice, sizeof(advice)) == 0)
            line = Py_MAX(state->decoded->instrs[i].line, 1);
    entry->advice = advice;
    return line;
}

/* All that keeps plans from holding now, and what the program may change; false where nothing
   does. */
static bool
put_facts(const Miss *miss, Text *because, Text *remedies)
{
    const Entry *entry = miss->entry;
    GuardFacts *facts = guards_facts_new();
    Plan *plans[MAX_PLANS];
    int nplans = entry->nplans;
    if (facts == NULL) {
        PyErr_Clear();
        return false;
    }
    memcpy(plans, entry->plans, sizeof(Plan *) * (size_t)nplans);
    for (int i = 0; i < nplans; i++)
        plan_acquire(plans[i]); /* texts may run code that resets all */
    for (int i = 0; i < nplans; i++) guards_facts_add(facts, plan_guards(plans[i]), &miss->roots);
    for (int i = 0; i < nplans; i++) plan_release(plans[i]);
    bool differs = guards_facts_put(facts, because, remedies);
    guards_facts_free(facts);
    return differs;
}

bool
recompile_is_spent(const Miss *miss)
{
    const CodeState *state = miss->state;
    return miss->failed != NULL && state->recompiles >= state->config->accumulated_recompile_limit;
}

static const char *
limit_name(const Miss *miss)
{
    return recompile_is_spent(miss) ? "accumulated_recompile_limit" : "recompile_limit";
}

/* As put_facts; the remedy is one for the limit. */
static void
explain_failures(const Miss *miss, bool warns, Text *because, Text *remedy)
{
    Text remedies = {0};
    if (put_facts(miss, because, &remedies)) {
        const char *given = remedies.data ? remedies.data : "";
        int line = warns ? line_said(miss->state, miss->entry, given) : 0;
        if (line > 0)
            text_printf(remedy, "as said of another place of this function, line %d", line);
        else if (strcmp(given, guard_counted) == 0 || strstr(given, guard_of_turns) != NULL)
            text_put(remedy, given);
        else
            text_printf(remedy, "%s%sraise the option %s", given, *given ? "; or " : "",
                        limit_name(miss));
    }
    text_free(&remedies);
}

static void
put_failures(Text *out, const Text *because, const Text *remedy)
{
    if (because->len > 0)
        text_printf(out, "; because %s. To have it compiled: %s", because->data,
                    remedy->data ? remedy->data : "?");
}

/* What, why, and what to do. */
static void
warn_given_up(const Miss *miss, const char *where, const Text *because, const Text *remedy,
              const char *details)
{
    Text what = {0};
    long long compiles = miss->state->compiles;
    const char *path = strchr(where, '('), *slash = path ? strrchr(path, '/') : NULL;
    int name = slash != NULL ? (int)(path + 1 - where) : 0; /* up to the file's folder */
    text_printf(&what, "%.*s%s was compiled %lld time%s; CPython runs it where no plan holds", name,
                where, slash ? slash + 1 : where, compiles, compiles == 1 ? "" : "s");
    const char *starts[] = {"pycompile: ", "because ", "To have it compiled: "};
    const char *texts[] = {what.data, because->data, remedy->data};
    log_warn_lines(because->len > 0 ? 3 : 1, starts, texts, details);
    text_free(&what);
}

/* Plans made here that have not paid, the dropped ones included. */
static int
plans_unpaid(const Entry *entry)
{
    return credit_unpaid(entry) + entry->credit.lost;
}

void
recompile_given_up(const Miss *miss)
{
    CodeState *state = miss->state;
    Entry *entry = miss->entry;
    if (entry->told || (state->told && recompile_is_spent(miss))) return;
    state->told = recompile_is_spent(miss);
    Text where = {0}, because = {0}, remedy = {0}, told = {0};
    Varied varied = {0};
    int gain = 0;
    for (int i = 0; i < entry->nplans; i++)
        if (plan_gain(entry->plans[i]) > gain) gain = plan_gain(entry->plans[i]);
    if (gain == 0) return;                      /* refused for many types: no plan is lost */
    Plan *plan = plan_acquire(entry->plans[0]); /* texts may run code that resets all */
    const char *unkept = plan->unkept;
    entry->told = true;
    state_describe(state, miss->number, &where);
    if (miss->failed != NULL) {
        plan_acquire(miss->failed);
        hints_varied(state, plan_guards(miss->failed), miss->failed_guard, &miss->roots, &varied);
        plan_release(miss->failed);
    }
    int unpaid = plans_unpaid(entry);
    long long compiles = state->compiles;
    bool warns = gain >= WARNED_GAIN && !program_is_running();
    explain_failures(miss, warns, &because, &remedy);
    text_printf(&told, "%s was compiled %lld time%s, and ", where.data ? where.data : "?", compiles,
                compiles == 1 ? "" : "s");
    if (recompile_is_spent(miss))
        text_printf(&told, "that is as often as a function may be compiled again (option %s)",
                    limit_name(miss));
    else if (unpaid >= state->config->recompile_limit)
        text_printf(&told, "%d plan%s of this place %s not paid yet", unpaid,
                    unpaid == 1 ? "" : "s", unpaid == 1 ? "has" : "have");
    else
        text_printf(&told, "%d of these tries came to nothing worth a plan", entry->credit.refused);
    text_printf(&told, "; CPython runs what no plan holds for%s%s", unkept ? "; " : "",
                unkept ? unkept : "");
    put_failures(&told, &because, &remedy);
    const char *what = told.data ? told.data : "?";
    mem_free(entry->lost);
    if ((entry->lost = mem_alloc(strlen(what) + 1)) != NULL)
        strcpy(entry->lost, what);
    else
        PyErr_Clear();
    log_emit(LOG_RECOMPILES, "%s", what);
    PyObject *record = trace_record(state);
    record_string(record, "text", what);
    record_object(record, "cause", Py_XNewRef(varied.cause));
    trace_put("given_up", 0, record);
    if (warns) warn_given_up(miss, where.data ? where.data : "?", &because, &remedy, what);
    varied_free(&varied);
    text_free(&told);
    if (plan != NULL) plan_release(plan);
    text_free(&because);
    text_free(&remedy);
    text_free(&where);
}

void
recompile_limit(const Miss *miss)
{
    Text detail = {0}, because = {0}, remedy = {0};
    const Decoded *decoded = miss->state->decoded;
    BreakFrame at = told_frame(decoded, decoded->instrs[miss->number].line);
    int unpaid = plans_unpaid(miss->entry);
    if (recompile_is_spent(miss))
        text_printf(&detail, "%lld recompiles of the function (accumulated_recompile_limit)",
                    miss->state->recompiles);
    else
        text_printf(&detail, "%d plan%s", unpaid, unpaid == 1 ? "" : "s");
    explain_failures(miss, false, &because, &remedy);
    put_failures(&detail, &because, &remedy);
    Break item = {.code = BREAK_LIMIT, .detail = detail.data, .nframes = 1, .frames = &at};
    raise_graph_break(&item);
    text_free(&detail);
    text_free(&because);
    text_free(&remedy);
}

/* ---- the stance ---- */

/* RecompileError(message, function, file, line, guard, old, new, remedy) */
static void
set_error(const Miss *miss, const Text *message, const GuardSaid *said, const char *remedy)
{
    const Decoded *decoded = miss->state->decoded;
    BreakFrame at = told_frame(decoded, decoded->instrs[miss->number].line);
    Text guard = {0};
    if (said->name.data != NULL)
        text_printf(&guard, "%s%s%s", said->name.data, said->value.data ? " " : "",
                    said->value.data ? said->value.data : "");
    PyObject *class = errors_class("RecompileError"), *function = told_function(&at);
    PyObject *error =
        class == NULL || function == NULL
            ? NULL
            : PyObject_CallFunction(class, "zOsizzzz", message->data, function, at.file, at.line,
                                    guard.data, said->value.data, said->now.data, remedy);
    if (error != NULL) PyErr_SetObject(class, error);
    text_free(&guard);
    Py_XDECREF(error);
    Py_XDECREF(function);
    Py_XDECREF(class);
}

/* Sets RecompileError. */
static void
raise_recompile(const Miss *miss)
{
    static const char ahead[] = "compile it before, by a call or f.precompile(...)";
    Text where = {0}, because = {0}, remedy = {0}, message = {0};
    GuardSaid said = {0};
    bool differs = put_facts(miss, &because, &remedy);
    if (miss->failed != NULL) {
        plan_acquire(miss->failed);
        guards_say(plan_guards(miss->failed), miss->failed_guard, &miss->roots, &said);
        plan_release(miss->failed);
    }
    state_describe(miss->state, miss->number, &where);
    text_printf(&remedy, "%s%s", remedy.len > 0 ? "; or " : "", ahead);
    text_printf(&message,
                "%s would have to be compiled%s, and the stance is \"fail_on_recompile\": %s. To "
                "avoid that: %s",
                where.data ? where.data : "?", miss->entry->nplans > 0 ? " again" : "",
                differs ? because.data : "no plan was made here",
                remedy.data ? remedy.data : ahead);
    set_error(miss, &message, &said, remedy.data);
    said_free(&said);
    text_free(&where);
    text_free(&because);
    text_free(&remedy);
    text_free(&message);
}

/* Does the code have a first call without plans? */
static bool
is_first(CodeState *state)
{
    bool first = !state->met && state->compiles == 0;
    state->met = true;
    return first;
}

Answer
recompile_allowed(const Miss *miss, bool asked)
{
    switch (stance) {
    case STANCE_DEFAULT: return ANSWER_YES;
    case STANCE_EAGER_THEN_COMPILE: return is_first(miss->state) ? ANSWER_NO : ANSWER_YES;
    case STANCE_FORCE_EAGER: /* set by the call that runs */
    case STANCE_EAGER_ON_RECOMPILE: return ANSWER_NO;
    case STANCE_FAIL_ON_RECOMPILE:
        if (!asked && miss->entry->nplans == 0) return ANSWER_NO;
        raise_recompile(miss);
        return ANSWER_ERROR;
    }
    return ANSWER_YES;
}
