/* Calls through plans, with a frame (run_call.c: without): alternates plans, single steps and the
   interpreter over it.

        ┌──► entry here? ──plan──► guards ──► run ──► store the outcome into the frame
        │         │ none: capture                       │ return: frame_return
        │         │ refused: step to where it broke     │ break: step that instruction
        │         ▼                                     │ branch: go there
        └──── next instruction ◄────────────────────────┘
        deopt, given up, nothing useful for long: frame_resume, CPython has the rest

   Invariant: between two turns the frame is what CPython would have at `number`. */
#include "run.h"

#include "balance.h"
#include "earn.h"
#include "live.h"
#include "recompile.h"
#include "turns.h"

#include <alloca.h>

enum {
    MAX_IDLE_STEPS = 400,  /* instructions stepped without a plan before CPython gets the rest */
    MAX_IDLE_BREAKS = 24,  /* refusals passed without a plan */
    MAX_SIDE_STEPS = 4000, /* of a turn that a loop was left in */
    MOST_SIGNALS = 2,      /* in a frame, before CPython does what a signal has interrupted */
    MAX_FUTILE = 2,        /* times in a row that stepping from a refusal may not pay */
    /* in the units of capture/control/worth.c */
    STEP_COST = 2,
    REFUSAL_COST = 3,
    EARNED_SHARE = 4, /* savings over what may be spent on looking for more plans */
    MOST_EARNED = 1 << 17,
};

_Thread_local int64_t thread_saved;

/* The result of one turn of the loop. */
typedef enum {
    TURN_ERROR,  /* error set: raise at `number` */
    TURN_RETURN, /* `result` */
    TURN_STEP,   /* step the Instr `number`, then look for an entry */
    TURN_UNTIL,  /* step until the Instr `until` is done, then look for an entry */
    TURN_GO,     /* look for an entry at `number` */
    TURN_SIDE,   /* step what a loop was left for, then look for an entry */
    TURN_PLAIN,  /* step a turn of the loop as CPython would make it: turns.c */
    TURN_RESUME, /* CPython continues from `number` */
    TURN_SIGNAL, /* a signal ended the plan at `number` */
    TURN_NONE,   /* no plan holds here */
} Turn;

typedef struct {
    PyThreadState *ts;
    Frame *frame;
    Held *held;
    CodeState *state;
    Decoded *decoded;
    int number, until;
    ExitWay side; /* by which a loop was left */
    PyObject *result;
    FrameLink link;      /* around an effect that may look at the frame */
    Refusal *trail;      /* the first refusal stepped past since the last plan */
    int64_t trail_saved; /* `thread_saved` at that time */
    int trail_work;      /* what the frame held at that time */
    int64_t began_saved; /* `thread_saved` when the frame began */
    int idle_steps, idle_breaks;
    bool planned, stepped; /* a plan has run; an instruction was stepped */
    bool patient;          /* whole programs: each plan has to be earned by counted calls */
    bool waits;            /* its plans do not pay yet */
    bool for_nothing;      /* arrays without elements brought it where no plan holds */
    bool handled;          /* the last step went to a handler */
    int signals;           /* that came while plans of this frame ran */
    int retried;           /* the Instr at which a plan was given up for smaller ones; -1: none */
    bool leaves;           /* TURN_ERROR: no handler of the frame takes the error */
    Plan *beaten;          /* owned: the plan that holds, while CPython runs the call instead */
    SampleWay way;         /* of that call */
    Plan *undone;          /* owned: the plan whose run was undone: CPython runs the call again */
    Plan *watched;         /* owned: the plan that is timed up to the end of the frame */
    int64_t watched_began;
    Turns turns;
    Plan *failed; /* the plan whose guard failed last, for the message */
    int failed_guard;
} Runner;

static Roots
frame_roots(const Runner *r)
{
    return (Roots){frame_slots(r->frame), r->decoded->nlocalsplus + frame_depth(r->frame)};
}

/* ---- storing an outcome ---- */

static void
store_outcome(Runner *r, const Exit *leave, PyObject **value)
{
    PyObject **slots = frame_slots(r->frame);
    int nlocals = r->decoded->nlocalsplus, before = frame_depth(r->frame);
    PyObject **old = alloca(sizeof(PyObject *) * (size_t)(leave->nslots + before + 1));
    int nold = 0;
    for (int i = nlocals + leave->depth; i < nlocals + before; i++) {
        old[nold++] = slots[i];
        slots[i] = NULL;
    }
    for (int i = 0; i < leave->nslots; i++) {
        int slot = leave->slot_index[i];
        if (slot < nlocals + (before < leave->depth ? before : leave->depth))
            old[nold++] = slots[slot];
        slots[slot] = value[i];
    }
    frame_set_depth(r->frame, leave->depth);
    for (int i = 0; i < nold; i++) Py_XDECREF(old[i]);
}

/* ---- one plan ---- */

static uint64_t
frame_types(const Runner *r)
{
    PyObject **slots = frame_slots(r->frame);
    uint64_t locals = types_of(slots, state_nargs(r->state));
    int depth = frame_depth(r->frame);
    return depth == 0 ? locals : locals * 31 + types_of(slots + r->decoded->nlocalsplus, depth);
}

static Turn
leave_plan(Runner *r, const Exit *leave, PlanOutcome *outcome)
{
    if (leave->kind == EXIT_RETURN) {
        r->result = frame_return(r->ts, r->frame, r->decoded, outcome->value[0]);
        return TURN_RETURN;
    }
    store_outcome(r, leave, outcome->value);
    r->number = leave->number;
    if (leave->kind == EXIT_BREAK) {
        r->state->breaks++;
        if (r->state->hints.len > 0) hints_count(r->state, leave->at);
        return TURN_STEP;
    }
    if (leave->kind == EXIT_BRANCH && !outcome->condition) r->number = leave->other;
    if (leave->kind == EXIT_WAYS) {
        r->side = leave->way[outcome->way];
        r->number = r->side.number;
        frame_drop(r->frame, r->side.depth);
        return r->side.nloops > 0 ? TURN_SIDE : TURN_GO;
    }
    return TURN_GO;
}

/* The plans that the steps since a refusal have led to have paid for the steps. */
static void
judge_trail(Runner *r)
{
    if (r->trail == NULL || thread_saved <= r->trail_saved) return;
    r->trail->futile = r->trail->rest = r->trail->passed = 0;
    r->trail = NULL;
}

/* The frame ends, or CPython runs the rest.  Where the steps from a refusal have not paid a few
   times in a row, they are not made again for a while. */
static void
end_trail(Runner *r)
{
    judge_trail(r);
    if (r->trail != NULL && ++r->trail->futile >= MAX_FUTILE) credit_rest(r->trail, r->trail_work);
    r->trail = NULL;
}

/* The steps have led to turns that are left to CPython: they are made again when these are. */
static void
rest_trail(Runner *r, Entry *entry)
{
    if (r->trail == NULL) return;
    r->trail->work = (uint8_t)Py_MAX(r->trail_work, r->trail->work);
    r->trail->wait = turns_take_rest(entry);
    r->trail = NULL;
}

static void
enter_frame(void *context, int number)
{
    Runner *r = context;
    frame_link(r->ts, r->frame, r->decoded->instrs[number].at, &r->link);
}

static void
leave_frame(void *context)
{
    Runner *r = context;
    frame_unlink(r->ts, r->frame, &r->link);
}

/* The line of an effect, where the frame's stack is deep enough for its handlers. */
static void
raise_at(Runner *r, int number)
{
    const Instr *instr = &r->decoded->instrs[number];
    if (handler_at(r->decoded, instr->at) == NULL || instr->depth <= frame_depth(r->frame))
        r->number = number;
}

/* Does the Instr begin a turn of a loop around? */
static bool
begins_turn(const ExitWay *side, int number)
{
    for (int i = 0; i < side->nloops; i++)
        if (side->loop[i].again == number) return true;
    return false;
}

/* A plan of a loop that is entered in its midst has to make some turns to pay for that. */
static void
note_turns(Runner *r, Entry *entry, Plan *plan, const PlanOutcome *outcome)
{
    const ExitWay *way = &plan_exit(plan)->way[outcome->way];
    if (!begins_turn(way, r->number)) return;
    if (!plan_left_early(plan, outcome->turns)) return;
    log_emit(LOG_PERF_HINTS,
             "%s: a loop is left to CPython: it was left too often for what is not followed",
             text_of_str(r->state->code->co_qualname));
    entry_drop(entry, plan);
    entry->left_early = true;
}

/* The frame is timed from here to its end, for a plan that covers a part of it. */
static void
watch(Runner *r, Plan *plan, int64_t began)
{
    r->watched = plan_acquire(plan);
    r->watched_began = began;
}

static void
unwatch(Runner *r)
{
    if (r->watched != NULL) plan_release(r->watched);
    r->watched = NULL;
}

/* A plan has run that begins at the Instr `number`: is the rest of the frame CPython's? */
static bool
leaves_turns(Runner *r, Entry *entry, int number)
{
    return turns_ran(&r->turns, r->state, entry, number,
                     frame_slots(r->frame) + r->decoded->nlocalsplus, frame_depth(r->frame));
}

/* A backend's plan has raised what the program may handle.  It is done by smaller plans, and by
   CPython where the plan is that Instr alone. */
static Turn
try_again(Runner *r, Entry *entry, Plan *of, Again again)
{
    const Exit *leave = plan_exit(of);
    bool alone = leave->kind == EXIT_BRANCH && leave->number == leave->other;
    if (again == AGAIN_SAME && alone && instr_is_alone(r->decoded, r->number)) return TURN_STEP;
    if (again == AGAIN_SAME && r->retried == r->number) return TURN_RESUME;
    r->retried = r->number;
    entry_give_way(entry, of);
    return TURN_GO;
}

/* `of`: the plan, or the one that it is a twin of. */
static Turn
run_plan(Runner *r, Entry *entry, Plan *of, Plan *plan, const Roots *roots,
         PyObject *const *reached)
{
    const Exit *leave = plan_exit(plan);
    PlanOutcome outcome = {.roots = roots,
                           .value = alloca(sizeof(PyObject *) * (size_t)(leave->nslots + 1)),
                           .enter = enter_frame,
                           .leave = leave_frame,
                           .context = r};
    int number = r->number;
    plan_acquire(plan);
    r->held->covered = plan_is_whole(plan);
    SampleWay way = sample_way(plan, r->state->config);
    if (sample_is_plain(way)) {
        r->beaten = plan;
        r->way = way;
        return TURN_RESUME;
    }
    Turn turn;
    int64_t began = sample_begin(way);
    if (r->watched == plan)
        plan->balance.repeats = true;
    else if (r->watched == NULL && way == SAMPLE_WATCHED && !r->held->covered)
        watch(r, plan, began);
    plan_acquire(of);
    TwinsLook look = twins_look(of, plan, reached);
    PlanResult done = plan_run_told(r->state, plan, reached, &outcome);
    int64_t took = sample_end(plan, r->state->code, way, began, done == PLAN_DONE);
    if (look.began != 0 && done == PLAN_DONE) twins_ran(r->state, of, plan, look);
    Again again = done == PLAN_DEOPT ? again_take() : AGAIN_NOT;
    if (again != AGAIN_NOT) {
        turn = try_again(r, entry, of, again);
        plan_release(of);
        plan_release(plan);
        return turn;
    }
    plan_release(of);
    switch (done) {
    case PLAN_DONE:
        r->retried = -1;
        r->state->plan_runs++;
        r->planned = true;
        thread_saved += plan_gain(plan);
        credit_run(r->state, entry, plan);
        judge_trail(r);
        r->idle_steps = r->idle_breaks = 0;
        if (leave->kind == EXIT_WAYS) note_turns(r, entry, plan, &outcome);
        turn = leave_plan(r, leave, &outcome);
        if ((turn == TURN_STEP || turn == TURN_GO) && leaves_turns(r, entry, number))
            turn = TURN_RESUME;
        break;
    case PLAN_DEOPT:
        balance_undone(r->state, plan, took, outcome.interrupted);
        unwatch(r);
        turn = outcome.interrupted ? TURN_SIGNAL : TURN_RESUME;
        if (!outcome.interrupted) r->undone = plan_acquire(plan);
        break;
    default:
        if (outcome.number >= 0) raise_at(r, outcome.number);
        turn = TURN_ERROR;
    }
    plan_release(plan);
    return turn;
}

/* What a capture here looks at. */
static CaptureRequest
request_here(const Runner *r, const Entry *entry)
{
    return (CaptureRequest){
        .decoded = r->decoded,
        .globals = frame_globals(r->frame),
        .builtins = frame_builtins(r->frame),
        .function = frame_function(r->frame),
        .slots = frame_slots(r->frame),
        .depth = frame_depth(r->frame),
        .number = r->number,
        .varied = entry->varied,
        .nvaried = entry->nvaried,
        .recurses = r->state->recurses,
        .config = r->state->config,
        .again = entry->nplans > 0,
    };
}

static Turn
try_plans(Runner *r, Entry *entry)
{
    Roots roots = frame_roots(r);
    r->failed = NULL;
    entry_bury(entry);
    if (twins_arrive(entry) < 0) return TURN_ERROR;
    PyObject **reached = alloca(sizeof(PyObject *) * (size_t)(most_sources(entry) + 1));
    for (int i = 0; i < entry->nplans; i++) {
        Plan *plan = entry->plans[i];
        int failed;
        Plan *holds = plan_that_holds(plan, &roots, reached, &failed);
        if (holds == NULL) {
            if (i > 0) continue;
            r->failed = plan;
            r->failed_guard = failed;
            continue;
        }
        if (i > 0) entry_to_front(entry, i);
        entry_hit(entry, holds);
        if (holds == plan && twins_wanted(plan, reached))
            return twins_make(plan, request_here(r, entry)) == ANSWER_ERROR ? TURN_ERROR : TURN_GO;
        return run_plan(r, entry, plan, holds, &roots, reached);
    }
    return TURN_NONE;
}

/* ---- capture at an entry ---- */

static Miss
miss_at(const Runner *r, Entry *entry)
{
    return (Miss){r->state, entry, r->number, frame_roots(r), r->failed, r->failed_guard};
}

/* How many times the usual number of steps a frame may make without a plan: one that has saved much
   may spend a part of that on looking for more. */
static int64_t
allowance(const Runner *r)
{
    int64_t earned = thread_saved - r->began_saved;
    if (earned <= 0) return 1;
    if (earned > MOST_EARNED) earned = MOST_EARNED;
    return 1 + earned / EARNED_SHARE / (MAX_IDLE_STEPS * STEP_COST);
}

static bool
is_idle(const Runner *r)
{
    int64_t most = MAX_IDLE_STEPS * allowance(r);
    return r->idle_steps > most ||
           (r->trail != NULL && r->trail_saved - thread_saved > most * STEP_COST);
}

static Turn
take_refusal(Runner *r, Refusal *refusal)
{
    Roots roots = frame_roots(r);
    if (credit_leaves(refusal, &roots)) return TURN_RESUME;
    if (++r->idle_breaks > MAX_IDLE_BREAKS * allowance(r)) return TURN_RESUME;
    if (r->trail == NULL) {
        r->trail = refusal;
        r->trail_saved = thread_saved;
        r->trail_work = credit_work(&roots);
    }
    thread_saved -= REFUSAL_COST;
    r->until = refusal->until;
    return TURN_UNTIL;
}

/* The only function that gives an entry up: no plan holds, and another would not pay.  CPython runs
   this call up to where the entry's last plan ended, or up to the last call of a function in it,
   which has plans of its own; entries behind that are looked for again.  Without such an
   instruction CPython runs the rest of the frame. */
static Turn
give_up(Runner *r, Entry *entry)
{
    Miss miss = miss_at(r, entry);
    if (r->state->config->fullgraph && entry->credit.refused < MAX_REFUSED)
        return recompile_limit(&miss), TURN_ERROR;
    recompile_given_up(&miss);
    entry->given_up = true;
    entry_missed(entry);
    return take_refusal(r, &entry->behind);
}

/* The graph does not pay yet; in a function with loops, the code after it may. */
static Turn
pass_unearned(Runner *r, const Entry *entry)
{
    r->trail = NULL;
    r->waits = true;
    if (r->state->loops == 0 || entry->unearned < 0 || ++r->idle_breaks > MAX_IDLE_BREAKS)
        return TURN_RESUME;
    r->until = entry->unearned;
    return TURN_UNTIL;
}

/* Notes the number of further calls after which a plan's savings would reach its cost. */
static void
note_unearned(Runner *r, Entry *entry, const CompileNote *note, const Patience *patience)
{
    Text where = {0};
    int64_t calls = earn_calls(code_note_peek(r->state->code), r->state);
    int64_t wanted = earn_calls_wanted(patience, note->on_disk, note->gain);
    entry->earned_at = Py_MAX(wanted, calls + 1);
    entry->unearned = note->exit != EXIT_RETURN ? note->at : -1;
    state_describe(r->state, r->number, &where);
    log_emit(LOG_PERF_HINTS,
             "%s: left to CPython for %lld calls: until then compiling costs more than it saves",
             where.data ? where.data : "?", (long long)(entry->earned_at - calls));
    text_free(&where);
}

/* Is a capture to be put off?  *turn says what is done instead. */
static bool
is_unearned(Runner *r, const Entry *entry, Turn *turn)
{
    const CodeNote *note = code_note_peek(r->state->code);
    if (!r->patient) return false;
    if (earn_calls(note, r->state) < entry->earned_at) {
        *turn = pass_unearned(r, entry);
        return true;
    }
    *turn = TURN_RESUME;
    bool hot = earn_is_hot(note, r->state);
    if (!hot) end_trail(r);
    return !hot;
}

/* The compiler was just started for this place: code after it may get one of its own. */
static Turn
pass_started(Runner *r, const CompileNote *note)
{
    r->trail = NULL;
    r->waits = true;
    if (note->exit == EXIT_RETURN || ++r->idle_breaks > MAX_IDLE_BREAKS) return TURN_RESUME;
    r->until = note->at;
    return TURN_UNTIL;
}

/* Captures for values for which no plan holds. */
static Answer
make_plan(Runner *r, Entry *entry, const Reason *reason, Plan **plan, CompileNote *note)
{
    CaptureRequest request = request_here(r, entry);
    Patience patience = {0};
    CodeNote *earned = r->patient ? code_note_peek(r->state->code) : NULL;
    if (earned != NULL) {
        patience = earn_patience(earned, r->state, r->number,
                                 request.slots + r->decoded->nlocalsplus, request.depth);
        request.effort = earn_effort(earned);
    }
    if (r->held->accounts) {
        int64_t effort = account_effort(&r->state->account, r->decoded->count);
        patience.later = earned == NULL;
        patience.unless_paid =
            patience.later && (r->held->program || !r->state->config->background);
        request.effort = earned != NULL ? Py_MIN(request.effort, effort) : effort;
    }
    int64_t began = account_clock(CLOCK_THREAD_CPUTIME_ID);
    if (r->held->accounts)
        request.until = account_until(&r->state->account, r->decoded->count, began);
    Answer answer =
        compile_plan(&request, reason->text.data, reason->varied.cause, patience, plan, note);
    account_captured(&r->state->account, r->decoded->count,
                     account_clock(CLOCK_THREAD_CPUTIME_ID) - began, note->waited_ns,
                     answer == ANSWER_YES || note->waiting != NULL);
    if (note->code != BREAK_NONE) hints_note(r->state, note);
    r->state->recurses = r->state->recurses || note->recurses;
    if (earned != NULL) earn_by_capture(earned, r->state, note->useful && !note->postponed);
    entry_waits(entry, note->waiting);
    r->state->ticket = waiting_ticket(note->waiting);
    if (note->postponed) {
        if (!note->interrupted) note_unearned(r, entry, note, &patience);
        return answer;
    }
    reason_count(reason, r->state);
    return answer;
}

/* Arrays without elements, where a plan is there for all that have some: CPython runs these, and
   what no plan holds for in the rest of the frame. */
static bool
is_for_nothing(const Runner *r, const Entry *entry)
{
    Roots roots = frame_roots(r);
    const Config *config = r->state->config;
    bool is_seen = config->fullgraph || config->backend_call != NULL; /* whatever its lengths */
    for (int i = 0; i < entry->nplans && !is_seen; i++)
        if (guards_meet_empty(plan_guards(entry->plans[i]), &roots)) return true;
    return false;
}

static Turn
wait_longer(Runner *r)
{
    r->trail = NULL;
    r->waits = true;
    return TURN_RESUME;
}

/* A plan waits at the entry for its code. */
static Turn
take_waiting(Runner *r, Entry *entry, const Miss *miss)
{
    Plan *plan = NULL;
    CompileNote note;
    if (background_runs(waiting_ticket(entry->waiting))) return wait_longer(r);
    Answer answer = waiting_take(&entry->waiting, &plan, &note);
    r->state->ticket = waiting_ticket(entry->waiting);
    if (answer == ANSWER_ERROR) return TURN_ERROR;
    if (answer == ANSWER_NO) return wait_longer(r);
    recompile_take(miss, frame_types(r), &note, plan);
    return plan == NULL ? TURN_NONE : TURN_GO;
}

/* No plan holds: makes one, unless that would not pay. */
static Turn
try_capture(Runner *r, Entry *entry)
{
    r->for_nothing = r->for_nothing || is_for_nothing(r, entry);
    if (r->for_nothing) return take_refusal(r, &entry->behind);
    Miss miss = miss_at(r, entry);
    Answer allowed = recompile_allowed(&miss, !r->held->accounts && !r->patient);
    if (allowed == ANSWER_NO) return take_refusal(r, &entry->behind);
    r->leaves = allowed == ANSWER_ERROR;
    if (r->leaves) return TURN_ERROR;
    int64_t limit = r->state->config->recompile_limit;
    Roots roots = frame_roots(r);
    if (entry->waiting != NULL) return take_waiting(r, entry, &miss);
    if (r->held->accounts && !account_allows(&r->state->account, r->decoded->count))
        return wait_longer(r);
    if (entry->nplans > 0 && !account_explains(r->state->config)) {
        r->trail = NULL;
        return TURN_RESUME;
    }
    bool follows = r->trail != NULL && r->trail != &entry->behind;
    int64_t calls = follows ? 1 + r->trail->passed : 1;
    if (recompile_is_spent(&miss) || !credit_allows(entry, limit, &roots, calls))
        return give_up(r, entry);
    Turn instead;
    if (is_unearned(r, entry, &instead)) return instead;
    Plan *plan = NULL;
    uint64_t types = frame_types(r);
    CompileNote note = {0};
    Reason reason = {0};
    reason_find(&miss, types, &reason);
    Answer answer = make_plan(r, entry, &reason, &plan, &note);
    reason_free(&reason);
    if (note.interrupted) return TURN_SIGNAL;
    if (note.waiting != NULL) return pass_started(r, &note);
    if (note.postponed) return pass_unearned(r, entry);
    if (answer == ANSWER_NO && note.cut) { /* the next one may take longer */
        guards_free(note.guards);
        return wait_longer(r);
    }
    if (answer == ANSWER_ERROR) {
        r->leaves = note.raised >= 0;
        if (r->leaves) r->number = note.raised;
        return TURN_ERROR;
    }
    miss.roots = frame_roots(r);
    recompile_take(&miss, types, &note, plan);
    return answer == ANSWER_NO ? TURN_NONE : TURN_GO;
}

static Turn
turn_here(Runner *r)
{
    Entry *entry = entry_at(r->state, r->number);
    if (entry == NULL) {
        PyErr_Clear();
        return TURN_RESUME;
    }
    if (entry->left_early) return TURN_RESUME;
    if (turns_left_plain(entry)) {
        rest_trail(r, entry);
        return TURN_RESUME;
    }
    if (r->turns.steps && entry == r->turns.entry) return TURN_PLAIN;
    for (int round = 0; round < 2; round++) {
        r->failed = NULL;
        Turn turn = entry->nplans > 0 ? try_plans(r, entry) : TURN_NONE;
        if (turn != TURN_NONE) return turn;
        Roots roots = frame_roots(r);
        Refusal *refusal = entry_refusal(entry, frame_types(r), &roots);
        if (refusal != NULL) return take_refusal(r, refusal);
        if (round == 1) break;
        turn = try_capture(r, entry);
        if (turn != TURN_GO && turn != TURN_NONE) return turn;
    }
    return TURN_RESUME;
}

/* ---- single steps ---- */

static _Thread_local const Config *step_config;

/* Calls of Python functions at a break are offered to capture. */
static PyObject *
offered_call(const Config *config, PyObject *callable, PyObject *const *args, size_t nargsf,
             PyObject *kwnames)
{
    if (Py_TYPE(callable) != &PyFunction_Type) goto plain;
    PyFunctionObject *function = (PyFunctionObject *)callable;
    if (program_is_running()) goto plain; /* the callee is intercepted anyway */
    if (function_is_library(function)) goto plain;
    CodeState *state = code_state((PyCodeObject *)function->func_code, function->func_globals,
                                  function->func_builtins, config);
    if (state == NULL)
        PyErr_Clear();
    else if (!state->aside)
        return run_call(state, function, args, nargsf, kwnames, NULL);
plain:
    if (Py_TYPE(callable) == &PyFunction_Type && !is_intercepted((PyFunctionObject *)callable))
        return function_call((PyFunctionObject *)callable, args, nargsf, kwnames);
    return PyObject_Vectorcall(callable, args, nargsf, kwnames);
}

/* Derivatives want to know of random numbers (pycompile/derivatives/_draws.py). */
static int
note_draws(PyObject *callable, PyObject *arguments, PyObject *result)
{
    static PyObject *noted;
    if (noted == NULL && (noted = module_object("pycompile.derivatives._draws", "noted")) == NULL)
        return -1;
    PyObject *none = PyObject_CallFunctionObjArgs(noted, callable, arguments, result, NULL);
    Py_XDECREF(none);
    return none == NULL ? -1 : 0;
}

static PyObject *
step_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const Config *config = step_config;
    bool draws = function_is_of_module(callable, "random"); /* and so may C code */
    if (!config->backend_draws || (PyFunction_Check(callable) && !draws))
        return offered_call(config, callable, args, nargsf, kwnames);
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *arguments = PyTuple_New(n);
    if (arguments == NULL) return NULL;
    for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(arguments, i, Py_NewRef(args[i]));
    PyObject *result = PyObject_Vectorcall(callable, args, nargsf, kwnames);
    if (result != NULL && note_draws(callable, arguments, result) < 0) Py_CLEAR(result);
    Py_DECREF(arguments);
    return result;
}

/* Unwinds as CPython does, without tracing: continues in this frame's handler, where an entry is
   looked for as anywhere.  PUSH_EXC_INFO is executed at once, so that no plan begins before it. */
static Turn
handle_error(Runner *r)
{
    int handler = frame_unwind(r->ts, r->frame, r->decoded, r->number), next;
    if (handler < 0) return TURN_ERROR;
    r->number = handler;
    r->handled = true;
    if (r->decoded->instrs[handler].kind != I_PUSH_EXC_INFO) return TURN_GO;
    frame_step(r->ts, r->frame, r->decoded, handler, NULL, &next); /* cannot fail */
    r->number = next;
    return TURN_GO;
}

/* Steps one instruction.  TURN_GO: done, `number` is the next. */
static Turn
step_one(Runner *r)
{
    int next = 0;
    step_config = r->state->config;
    r->idle_steps++;
    r->stepped = true;
    thread_saved -= STEP_COST;
    int64_t before = thread_saved;
    StepCall call = r->turns.steps ? NULL : step_call;
    StepResult result = frame_step(r->ts, r->frame, r->decoded, r->number, call, &next);
    if (thread_saved > before) r->idle_steps = r->idle_breaks = 0; /* saved by plans of a callee */
    switch (result) {
    case STEP_NEXT: r->number = next; return TURN_GO;
    case STEP_CANNOT: return TURN_RESUME;
    default: return thread_is_observed(r->ts, r->state->code) ? TURN_ERROR : handle_error(r);
    }
}

/* Handles signals, and notices a tool that has begun to trace this thread. */
static Turn
look_up(Runner *r)
{
    if (breaker_is_set(r->ts) && frame_serve_breaker(r->ts, r->frame, r->decoded, r->number) < 0)
        return TURN_ERROR;
    return thread_is_observed(r->ts, r->state->code) ? TURN_RESUME : TURN_GO;
}

/* Does an instruction from `number` on have another exception handler? */
static bool
handlers_change(const Runner *r)
{
    const Decoded *d = r->decoded;
    const Handler *here = handler_at(d, d->instrs[r->number].at);
    for (int i = r->number + 1; i < d->count; i++)
        if (handler_at(d, d->instrs[i].at) != here) return true;
    return false;
}

/* A signal came while a plan ran, which has had no effect: the program's handler runs at the plan's
   entry.  Then the plan runs again: most handlers change nothing that it has seen, and its guards
   ask. After MOST_SIGNALS CPython continues from there, where each turn of a loop answers the next.
   So it does where a `try` may begin behind the entry: the signal is most likely meant to be caught
   by it, so CPython goes there first and serves it at its next call or jump.  RESUME would serve it
   at the line of the def, which is never right. */
static Turn
take_signal(Runner *r)
{
    int entry = r->number;
    if (entry == r->decoded->first_traceable) r->number++;
    if (handlers_change(r)) return TURN_RESUME;
    Turn turn = look_up(r);
    if (turn != TURN_GO || ++r->signals > MOST_SIGNALS) return turn == TURN_GO ? TURN_RESUME : turn;
    r->number = entry;
    return TURN_GO;
}

static Turn
step_until(Runner *r)
{
    for (;;) {
        bool last = r->number == r->until;
        r->handled = false;
        Turn turn = step_one(r);
        if (turn != TURN_GO) return turn;
        if ((turn = look_up(r)) != TURN_GO) return turn;
        if (last || r->handled) return TURN_GO;
        if (is_idle(r)) return TURN_RESUME;
    }
}

/* The rest of a turn that a loop was left in.  A loop inside may have plans of its own. */
static Turn
step_side(Runner *r)
{
    const ExitWay *side = &r->side;
    for (int steps = 0, around = 0; steps < MAX_SIDE_STEPS; steps++) {
        int from = r->number;
        const Entry *entry = r->state->entries[from];
        if (from == side->loop[around].again) {
            if (entry == NULL || !entry->left_early) return TURN_GO;
            if (++around == side->nloops) return TURN_RESUME; /* plain turns take less time */
        }
        if (from < side->loop[around].first || from > side->loop[around].last) return TURN_GO;
        r->idle_steps = 0;
        r->handled = false;
        Turn turn = step_one(r);
        if (turn == TURN_GO) turn = look_up(r);
        if (turn != TURN_GO) return turn;
        if (r->number <= from && !r->handled && !begins_turn(side, r->number)) return TURN_GO;
    }
    return TURN_RESUME;
}

/* Nothing is compiled in it, nor is it charged.  One that takes too many steps, as the last one
   may, goes on in CPython. */
static Turn
step_plain(Runner *r)
{
    int entry = r->number, instrs = 0;
    int64_t before = thread_saved;
    Turn turn = TURN_GO;
    do {
        if (++instrs > TURNS_STEPS) turn = TURN_RESUME;
        if (turn == TURN_GO) turn = step_one(r);
        if (turn == TURN_GO) turn = look_up(r);
    } while (turn == TURN_GO && r->number != entry);
    r->idle_steps = 0;
    thread_saved = before;
    if (turn == TURN_GO && turns_stepped(&r->turns, r->state, instrs)) return TURN_RESUME;
    return turn;
}

static Turn
take_turn(Runner *r, Held *held)
{
    Turn turn = turn_here(r);
    if (turn == TURN_STEP) {
        turn = step_one(r);
        if (turn == TURN_GO) turn = look_up(r);
    } else if (turn == TURN_UNTIL) {
        turn = step_until(r);
    } else if (turn == TURN_SIDE) {
        turn = step_side(r);
    } else if (turn == TURN_PLAIN) {
        turn = step_plain(r);
    } else if (turn == TURN_SIGNAL) {
        turn = take_signal(r);
    } else if (turn == TURN_GO && (turn = look_up(r)) == TURN_GO && is_idle(r)) {
        turn = TURN_RESUME;
    }
    if (r->planned)
        held->ran = turn == TURN_RETURN && !r->stepped ? RAN_WHOLE : RAN_PART;
    else if (r->waits)
        held->ran = RAN_WAITS;
    return turn;
}

/* The same, timed. */
static PyObject *
resume_turns(Runner *r)
{
    live_rests++;
    PyObject *result = frame_resume(r->ts, r->frame, r->decoded->instrs[r->number].idx);
    if (result != NULL) turns_judge(&r->turns, r->state);
    live_rests--;
    return result;
}

/* CPython runs the rest of the frame. */
static PyObject *
resume(Runner *r, Held *held)
{
    const Instr *at = &r->decoded->instrs[r->number];
    if (r->turns.leaves) return resume_turns(r);
    Plan *beaten = r->beaten, *undone = r->undone;
    if (beaten == NULL && undone == NULL) return frame_resume(r->ts, r->frame, at->idx);
    if (beaten != NULL) held->ran = sample_ran(r->way, held->ran);
    bool compared = beaten != NULL && !sample_is_paused(r->way);
    live_rests += compared;
    int64_t began = beaten != NULL ? sample_begin(r->way) : clock_ns();
    PyObject *result = frame_resume(r->ts, r->frame, at->idx);
    if (beaten != NULL)
        sample_end(beaten, r->state->code, r->way, began, result != NULL);
    else
        balance_judge(r->state, undone, result != NULL ? sample_plain_took(began) : 0);
    live_rests -= compared;
    plan_release(beaten != NULL ? beaten : undone);
    return result;
}

/* The frame has ended as it should, or not. */
static void
end_watch(Runner *r, bool done)
{
    /* Where another plan pauses, CPython has run the rest, as it does not where that holds. */
    if (r->watched != NULL && done && r->beaten == NULL)
        balance_good(r->watched, sample_took(r->watched_began));
    unwatch(r);
}

/* `turn` ends the loop over the frame. */
static PyObject *
end_frame(Runner *r, Held *held, Turn turn)
{
    if (turn == TURN_RETURN) return r->result;
    if (turn != TURN_ERROR) return resume(r, held);
    return r->leaves ? frame_raise_out(r->ts, r->frame, r->decoded, r->number)
                     : frame_raise(r->ts, r->frame, r->decoded, r->number);
}

/* `turn` of a frame that has just begun leads to the next ones, up to its end. */
static PyObject *
drive(Runner *r, Turn turn)
{
    while (turn == TURN_GO) turn = take_turn(r, r->held);
    end_trail(r);
    PyObject *result = end_frame(r, r->held, turn);
    turns_end(&r->turns);
    end_watch(r, result != NULL);
    r->state->running--;
    return result;
}

/* False: *result is the frame's, which another namespace than the state's has, or which has failed.
 */
static bool
begin_frame(Runner *r, PyObject **result)
{
    CodeState *state = r->state;
    r->number = r->decoded->first_traceable;
    r->began_saved = thread_saved;
    r->held->ran = RAN_LEFT;
    if (frame_prologue(r->frame, r->decoded) < 0) {
        *result = frame_raise(r->ts, r->frame, r->decoded, r->number);
        return false;
    }
    if (!state_serves(state, frame_globals(r->frame), frame_builtins(r->frame))) {
        *result = resume(r, r->held); /* another namespace has got its place meanwhile */
        return false;
    }
    state->running++;
    return true;
}

static Runner
runner_of(PyThreadState *ts, Frame *frame, Held *held)
{
    return (Runner){.ts = ts,
                    .frame = frame,
                    .held = held,
                    .state = held->state,
                    .decoded = held->state->decoded,
                    .retried = -1,
                    .patient = held->program && held->state->patient};
}

PyObject *
run_interrupted(PyThreadState *ts, Frame *frame, void *context)
{
    Runner r = runner_of(ts, frame, context);
    PyObject *result;
    return begin_frame(&r, &result) ? drive(&r, take_signal(&r)) : result;
}

PyObject *
run_frame(PyThreadState *ts, Frame *frame, void *context)
{
    Runner r = runner_of(ts, frame, context);
    PyObject *result;
    /* Threads that wait for the GIL set the eval breaker all the time; that must not prevent the
       plan. The breaker is served after the prologue, since a signal's handler may read the free
       variables. */
    return begin_frame(&r, &result) ? drive(&r, look_up(&r)) : result;
}
