/* Calls through plans: without a frame where a plan covers the whole call; otherwise the hook makes
   a frame and run.c takes over. */
#include "run.h"

#include "balance.h"
#include "earn.h"
#include "hooks.h"
#include "live.h"
#include "prices.h"

#include <alloca.h>

/* Positional arguments, keywords and defaults in localsplus order.  False: a frame is needed. */
static bool
bind(const CodeState *state, PyFunctionObject *function, PyObject *const *args, Py_ssize_t nargs,
     PyObject *kwnames, PyObject **slots)
{
    PyCodeObject *code = state->code;
    int total = code->co_argcount + code->co_kwonlyargcount;
    if (nargs > code->co_argcount || (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS))) return false;
    memcpy(slots, args, sizeof(PyObject *) * (size_t)nargs);
    memset(slots + nargs, 0, sizeof(PyObject *) * (size_t)(code->co_nlocalsplus - nargs));
    Py_ssize_t nkeywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < nkeywords; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        int i = code->co_posonlyargcount;
        while (i < total && PyTuple_GET_ITEM(code->co_localsplusnames, i) != name) i++;
        if (i == total || slots[i] != NULL) return false;
        slots[i] = args[nargs + k];
    }
    PyObject *defaults = function->func_defaults;
    Py_ssize_t ndefaults =
        defaults && PyTuple_CheckExact(defaults) ? PyTuple_GET_SIZE(defaults) : 0;
    for (int i = 0; i < total; i++) {
        if (slots[i] != NULL) continue;
        Py_ssize_t d = i - (code->co_argcount - ndefaults);
        if (i >= code->co_argcount || d < 0) return false;
        slots[i] = PyTuple_GET_ITEM(defaults, d);
    }
    PyObject *closure = function->func_closure;
    Py_ssize_t nfree = closure ? PyTuple_GET_SIZE(closure) : 0;
    for (Py_ssize_t i = 0; i < nfree; i++)
        slots[code->co_nlocalsplus - nfree + i] = PyTuple_GET_ITEM(closure, i);
    return true;
}

/* The plan holds, but CPython runs the call: see sample.c and balance.c. */
static Answer
run_plain(Held *held, Plan *plan, SampleWay way, PyFunctionObject *function, PyObject *const *args,
          size_t nargsf, PyObject *kwnames, PyObject **result)
{
    plan_acquire(plan);
    bool compared = !sample_is_paused(way);
    held->ran = sample_ran(way, RAN_LEFT);
    live_rests += compared;
    int64_t began = sample_begin(way);
    *result = function_call(function, args, nargsf, kwnames);
    sample_end(plan, held->state->code, way, began, *result != NULL);
    live_rests -= compared;
    plan_release(plan);
    return *result == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* CPython's run in place of one that was undone after `took` ns. */
static PyObject *
run_again(Held *held, Plan *plan, int64_t took, bool interrupted, PyFunctionObject *function,
          PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    balance_undone(held->state, plan, took, interrupted);
    if (interrupted) return hook_call(function, args, nargsf, kwnames, run_interrupted, held);
    if (again_take() != AGAIN_NOT)
        return hook_call(function, args, nargsf, kwnames, run_frame, held);
    int64_t began = clock_ns();
    PyObject *result = function_call(function, args, nargsf, kwnames);
    balance_judge(held->state, plan, result != NULL ? sample_plain_took(began) : 0);
    return result;
}

/* ANSWER_NO: nothing was done; *missed is set when no plan holds.  A deopt runs the whole call in
   CPython. */
static Answer
run_frameless(Held *held, Entry *entry, PyFunctionObject *function, PyObject *const *args,
              size_t nargsf, PyObject *kwnames, PyObject **result, bool *missed)
{
    CodeState *state = held->state;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyCodeObject *code = state->code;
    Roots roots = {args, (int)nargs};
    bool bound = false, direct = kwnames == NULL && nargs == code->co_argcount &&
                                 code->co_kwonlyargcount == 0 &&
                                 !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
    PyObject **slots = NULL;
    if (twins_arrive(entry) < 0) return ANSWER_ERROR;
    PyObject **reached = alloca(sizeof(PyObject *) * (size_t)(most_sources(entry) + 1));
    for (int i = 0; i < entry->nplans; i++) {
        Plan *of = entry->plans[i], *plan;
        GuardProgram *guards = plan_guards(of);
        if (!direct || guards_last_slot(guards) >= nargs) {
            if (!bound) {
                slots = alloca(sizeof(PyObject *) * (size_t)(code->co_nlocalsplus + 1));
                if (!bind(state, function, args, nargs, kwnames, slots)) return ANSWER_NO;
                roots = (Roots){slots, code->co_nlocalsplus};
                bound = true;
            }
        }
        int failed;
        if ((plan = plan_that_holds(of, &roots, reached, &failed)) == NULL) continue;
        if (!plan_is_whole(plan) || twins_asks(of)) return ANSWER_NO;
        if (i > 0) entry_to_front(entry, i);
        entry_hit(entry, plan);
        SampleWay way = sample_way(plan, state->config);
        if (sample_is_plain(way))
            return run_plain(held, plan, way, function, args, nargsf, kwnames, result);
        PlanOutcome outcome = {.roots = &roots, .value = result};
        plan_acquire(of);
        plan_acquire(plan);
        int64_t began = sample_begin(way);
        TwinsLook look = twins_look(of, plan, reached);
        PlanResult done = plan_run_told(state, plan, reached, &outcome);
        int64_t took = sample_end(plan, code, way, began, done == PLAN_DONE);
        if (done == PLAN_DONE) {
            state->plan_runs++;
            thread_saved += plan_gain(plan);
            credit_run(state, entry, plan);
            if (look.began != 0) twins_ran(state, of, plan, look);
        } else if (done == PLAN_DEOPT) {
            if (again_is_asked()) entry_give_way(entry, of);
            *result =
                run_again(held, plan, took, outcome.interrupted, function, args, nargsf, kwnames);
        }
        plan_release(plan);
        plan_release(of);
        return done == PLAN_ERROR || *result == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    *missed = true;
    return ANSWER_NO;
}

/* No plan holds, and the entry refused these values before, or is given up with no later entry:
   arming the hook would gain nothing. */
static bool
is_refused(const CodeState *state, Entry *entry, PyFunctionObject *function, PyObject *const *args,
           Py_ssize_t nargs, PyObject *kwnames)
{
    if (!entry->given_up && entry->nrefusals == 0) return false;
    Roots roots = {args, (int)nargs};
    if (kwnames != NULL || nargs != state_nargs(state) || nargs != state->code->co_argcount ||
        (entry->given_up && function->func_closure != NULL)) {
        PyObject **slots = alloca(sizeof(PyObject *) * (size_t)(state->code->co_nlocalsplus + 1));
        if (!bind(state, function, args, nargs, kwnames, slots)) return false;
        roots = (Roots){slots, state->code->co_nlocalsplus};
    }
    if (entry->given_up) {
        if (!credit_leaves(&entry->behind, &roots)) return false;
        entry_missed(entry);
        return !credit_allows(entry, state->config->recompile_limit, &roots, 1);
    }
    Refusal *refusal = entry_refusal(entry, types_of(roots.slots, state_nargs(state)), &roots);
    return refusal != NULL && credit_leaves(refusal, &roots);
}

/* fullgraph: the function's code can never be captured. */
static PyObject *
raise_aside(const CodeState *state)
{
    const Decoded *decoded = state->decoded;
    BreakFrame at = told_frame(decoded, state->code->co_firstlineno);
    Break item = {.code = decoded->generator ? BREAK_GENERATOR : BREAK_INSTRUCTION,
                  .detail = (char *)decoded->aside,
                  .nframes = 1,
                  .frames = &at};
    raise_graph_break(&item);
    return NULL;
}

/* What a former process has learnt of the function that is called first. */
static void
learn_prices(CodeState *state)
{
    int64_t price_ns, saved_ns;
    if (!state->account.tried && prices_find(state->code, &price_ns, &saved_ns))
        account_knows(&state->account, price_ns, saved_ns);
}

/* Would a look for entries come to nothing?  There are no plans, and none may be made now. */
static bool
waits_for_account(CodeState *state, PyFunctionObject *function, PyObject *const *args,
                  Py_ssize_t nargs)
{
    Account *account = &state->account;
    if (state->planned) return false;
    if (state->ticket != 0 && background_runs(state->ticket)) return true;
    if (state->ticket != 0 && !account->fruitless) return false;
    if (account->stride > 0 && account->untimed > 1) return true;
    if (account->stride == 0 && !account->running) learn_prices(state);
    account->promised_ns = earn_promise(state, function, args, nargs);
    return !account_allows(account, state->decoded->count);
}

/* There is nothing to compile in such calls: CPython has them. */
static PyObject *
call_refused(CodeState *state, PyFunctionObject *function, PyObject *const *args, size_t nargsf,
             PyObject *kwnames)
{
    Account *account = &state->account;
    if (!account_decides(state->config)) return function_call(function, args, nargsf, kwnames);
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    bool timed = account_times(account);
    SkippedCalls like = skipped_calls(args, nargs);
    if (!timed) state_skip(state, account_skips_refused(account, like.most), like);
    int64_t began = timed ? account_clock(CLOCK_MONOTONIC) : 0;
    account->running = account->running || timed;
    PyObject *result = function_call(function, args, nargsf, kwnames);
    if (timed) {
        account->running = false;
        state->skips = 0;
        account_plain(account, account_clock(CLOCK_MONOTONIC) - began);
    }
    return result;
}

enum { BARREN = 8 };

/* A call that no plan covers: CPython's time in it is what compiling is earned with.  Where looking
   for plans in a frame has come to nothing BARREN times in a row, a few calls are skipped. */
static PyObject *
call_accounted(Held *held, PyFunctionObject *function, PyObject *const *args, size_t nargsf,
               PyObject *kwnames)
{
    CodeState *state = held->state;
    Account *account = &state->account;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    bool plain = waits_for_account(state, function, args, nargs);
    bool timed = account_times(account);
    SkippedCalls like = skipped_calls(args, nargs); /* the call may take its arguments away */
    if (plain && !timed) state_skip(state, account_skips_untimed(account, like.most), like);
    int64_t spent = account_spent(), began = timed ? account_clock(CLOCK_MONOTONIC) : 0;
    account->running = account->running || timed;
    if (plain) held->ran = RAN_WAITS;
    PyObject *result = plain ? function_call(function, args, nargsf, kwnames)
                             : call_sampled(held, function, args, nargsf, kwnames);
    if (held->ran == RAN_WHOLE || held->ran == RAN_PART)
        state->barren = 0;
    else if (!plain && ++state->barren >= BARREN && !timed)
        state_skip(state, account_skips_refused(account, like.most), like);
    if (timed) {
        account->running = false;
        state->skips = 0;
        if (held->ran != RAN_WHOLE)
            account_plain(account,
                          account_clock(CLOCK_MONOTONIC) - began - (account_spent() - spent));
    }
    return result;
}

static PyObject *
call_held(Held *held, PyFunctionObject *function, PyObject *const *args, size_t nargsf,
          PyObject *kwnames)
{
    CodeState *state = held->state;
    Entry *entry = entry_peek(state, state->decoded->first_traceable);
    PyObject *result = NULL;
    bool missed = entry != NULL && (entry->nplans == 0 || entry_rests(entry));
    if (calls_are_left() || state->plain_timed) goto plain;
    if (state->aside && state->config->fullgraph) return raise_aside(state);
    if (state->aside) state_skip(state, INT32_MAX, skipped_calls(args, PyVectorcall_NARGS(nargsf)));
    if (state->aside) goto plain;
    if (entry != NULL && !state->has_cells && !missed &&
        thread_is_plain(PyThreadState_Get(), state->code)) {
        long long runs = state->plan_runs;
        Answer answer =
            run_frameless(held, entry, function, args, nargsf, kwnames, &result, &missed);
        if (state->plan_runs != runs) {
            held->ran = RAN_WHOLE;
            state->barren = 0;
        }
        if (answer != ANSWER_NO) return result;
    }
    if (!missed || !is_refused(state, entry, function, args, PyVectorcall_NARGS(nargsf), kwnames)) {
        held->accounts = account_decides(state->config);
        return held->accounts ? call_accounted(held, function, args, nargsf, kwnames)
                              : call_sampled(held, function, args, nargsf, kwnames);
    }
    return call_refused(state, function, args, nargsf, kwnames);
plain:
    return function_call(function, args, nargsf, kwnames);
}

/* The state is freed with its code, which the function may lose during the call. */
PyObject *
run_call(CodeState *state, PyFunctionObject *function, PyObject *const *args, size_t nargsf,
         PyObject *kwnames, Ran *ran)
{
    PyCodeObject *code = (PyCodeObject *)Py_NewRef((PyObject *)state->code);
    Held held = {.state = state, .program = ran != NULL};
    PyObject *result = call_held(&held, function, args, nargsf, kwnames);
    if (ran != NULL) *ran = held.ran;
    Py_DECREF(code);
    return result;
}

PyObject *
run_fresh_frame(CodeState *state, PyThreadState *ts, Frame *frame, Ran *ran)
{
    Held held = {.state = state, .program = true, .accounts = account_decides(state->config)};
    bool timed = held.accounts && account_times(&state->account);
    int64_t spent = account_spent(), began = timed ? account_clock(CLOCK_MONOTONIC) : 0;
    PyObject *result = run_frame(ts, frame, &held);
    if (timed && held.ran != RAN_WHOLE)
        account_plain(&state->account,
                      account_clock(CLOCK_MONOTONIC) - began - (account_spent() - spent));
    *ran = held.ran;
    return result;
}

/* ---- what this process has learnt ---- */

enum { LEAST_SAVES = 64 }; /* of a run, in the units of capture/control/worth.c */

/* What the runs of its plans have saved, by the model, in ns, of which it knows little in short
   calls; -1: captures came to nothing. */
static int64_t
saved_by(const CodeState *state)
{
    int64_t saves = 0;
    int plans = 0;
    for (int i = 0; i < state->decoded->count; i++) {
        const Entry *entry = state->entries[i];
        for (int k = 0; entry != NULL && k < entry->nplans; k++, plans++) {
            const Plan *plan = entry->plans[k];
            if (plan->saves >= LEAST_SAVES && !plan->sample.slower) saves += plan->saves;
        }
    }
    if (state->plan_runs == 0 && state->account.fruitless) return -1;
    return plans == 0 ? 0 : state->plan_runs * (saves / plans) * UNIT_NS;
}

static void
put_price(const CodeState *state, void *Py_UNUSED(context))
{
    const Account *account = &state->account;
    if (account->tried && account_decides(state->config))
        prices_put(state->code, account->price_ns, saved_by(state));
}

static PyObject *
prices_keep(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    states_visit(put_price, NULL);
    prices_write();
    Py_RETURN_NONE;
}

PyMethodDef prices_methods[] = {
    {"prices_keep", prices_keep, METH_NOARGS,
     "prices_keep()\n\nNotes what captures have cost and plans have saved, beside the disk cache: "
     "at exit."},
    {NULL, NULL, 0, NULL},
};
