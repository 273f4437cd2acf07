/* Private to runtime/: what is known about a code object under one config. */
#ifndef PYCOMPILE_RUNTIME_ENTRY_H
#define PYCOMPILE_RUNTIME_ENTRY_H

#include "account.h"
#include "cache.h"
#include "plan.h"

enum {
    MAX_PLANS = 64,
    MAX_REFUSALS = 8,
    MAX_REFUSED = 32, /* captures without a plan before another has to be earned */
    MAX_VARIED = 2,  /* failures of a guard on a value after which the value is not guarded again */
    MAX_MISSES = 32, /* balance of misses over hits at which plans past the limit rest */
    HIT_WORTH = 4,   /* misses that one hit makes up for, at least */
    CHECKED_PER_UNIT = 2, /* plans whose guards fail in the time of a unit */
    REST = 8,             /* resting plans are looked at in one call of so many */
    SLOTS_WATCHED = 64,
    PATHS_WATCHED = 32, /* varying values and lengths */
    /* in the units of capture/control/worth.c */
    COMPILE_COST = 3000000, /* the C compiler's run: 90 ms */
};

/* A refusal of capture: the types of the frame's values, the guards under which capture refused,
   and what the runtime does instead. */
typedef struct {
    uint64_t types;
    GuardProgram *guards; /* owned; NULL: the types alone */
    int32_t until;  /* step up to and past this Instr, then look for an entry; -1: CPython runs the
                       rest */
    int32_t futile; /* times in a row that stepping from here paid nothing */
    int32_t wait;   /* then: calls that CPython runs before it is tried again */
    int32_t rest;   /* how many these were last time */
    int32_t passed; /* calls that CPython ran for the one that tries again */
    uint8_t work;   /* the most that a call had in which it paid nothing, in bits */
} Refusal;

/* waiting.c: a plan that waits for its code. */
typedef struct Waiting Waiting;
void waiting_free(Waiting *waiting);
/* Of its compile; 0 for NULL. */
CodeTicket waiting_ticket(const Waiting *waiting);
/* Its compiler runs no more.  ANSWER_YES: *at is gone, and *note is its capture's; without a plan
   the compiler has failed, and the note is one of a refusal.  ANSWER_NO: it waits on. ANSWER_ERROR:
   as of compile_plan. */
Answer waiting_take(Waiting **at, Plan **plan, CompileNote *note);

/* Calls with arguments of the same types and shapes, once no more plans are made for each. */
enum { RECURRING = 32 };
typedef struct {
    uint64_t kind;
    int64_t missed; /* what a plan for them would have saved */
    int32_t calls;
} Recurring;

/* The cost of making plans at an entry and their savings; see credit.c. */
typedef struct {
    Recurring *recurring;         /* RECURRING of them; owned, or NULL */
    int lost;                     /* plans dropped before they had paid, and tries without a plan */
    int refused;                  /* captures that were not worth a plan */
    uint8_t next_recurring;       /* where to look first for one to forget */
    uint8_t backoff;              /* tries past the limit since a plan last paid */
    uint8_t misjudged;            /* of those, the ones that a large call had justified */
    uint8_t doubts;               /* tries for calls that recurred since a plan last paid */
    int64_t gain;                 /* of the last plan, per run; 0: none was worth it yet */
    int64_t price;                /* of the last try */
    int64_t earned;               /* towards the next try */
    uint64_t text;                /* of the last plan's kernels */
    uint8_t sizes[SLOTS_WATCHED]; /* by slot, for the last plan: bits of the number of elements */
    uint8_t most; /* the same of all arrays of a call, at most in the tries so far */
} Credit;

/* Turns of a loop in which plans of the entry run: turns.c. */
typedef struct {
    int32_t rest, length; /* calls until they are compared again, and how many there were */
    bool slower;          /* what was found last: CPython has such turns */
} TurnsNote;

/* An entry is never freed before its code, so pointers to it stay valid across a reset. */
typedef struct {
    int nplans, nrefusals;
    int misses; /* once given up: calls for which no plan held, less those that hits make up for */
    int rest;   /* calls until its plans are looked at again; 0: they do not rest */
    bool left_early; /* a loop that begins a turn here was left too often after a few turns */
    bool given_up;   /* the last call without a plan was left to CPython, for lack of credit */
    bool told;       /* the program was told */
    char *lost;      /* what was told; mem_alloc, or NULL */
    Digest advice;   /* of what the warning said to change */
    Credit credit;
    TurnsNote turns;
    Refusal behind; /* once given up: the refusal that says where to look next */
    int nvaried;
    VariedPath varied[PATHS_WATCHED]; /* guards on values, lengths and keys that failed */
    int64_t earned_at; /* whole programs: calls of the code before which no plan of it pays */
    int32_t unearned;  /* the Instr at which the graph that does not pay yet ended, or -1 */
    Waiting *waiting;  /* owned: its next plan, whose code is compiled in the background, or NULL */
    Plan *plans[MAX_PLANS];
    Refusal refusals[MAX_REFUSALS];
} Entry;

/* What whole programs record about a code object (program.c). */
typedef enum {
    STANDING_NONE,      /* not examined */
    STANDING_WATCHED,   /* its first calls are examined for arrays */
    STANDING_CANDIDATE, /* calls go through plans */
    STANDING_DISMISSED, /* CPython's for good */
} Standing;

typedef struct Counter Counter;   /* program.c */
typedef struct LiveCode LiveCode; /* live.c */

/* What candidates have done so far (earn.c). */
typedef struct {
    int32_t calls, work;
} Heat;

/* In the code's extra slot. */
typedef struct {
    CodeState *states; /* one per config and namespace, the one looked up last first */
    Decoded *decoded;  /* theirs; NULL: there is none yet */
    int32_t left;      /* calls left to CPython since … */
    int32_t wait;      /* … of that many one looks for a namespace whose place it may take */
    bool told;         /* the program was told that some are left */
    Counter *counter;  /* NULL: calls are not counted */
    LiveCode *live;    /* its loops; NULL: they are not counted */
    uint8_t standing;
    uint8_t calls;     /* calls examined so far */
    uint16_t idle;     /* calls in a row in which no plan ran */
    Heat heat;         /* of installed code; this and the following: earn.c */
    int32_t price;     /* heat at which it is captured; 0: unknown */
    uint8_t fruitless; /* captures without a plan since it was hot */
    bool installed;    /* code of an installed package */
    bool called;       /* it is not its first call */
    int64_t looks[2];  /* calls that were looked at, and that were skipped */
} CodeNote;

/* NULL when there is none; no exception. */
CodeNote *code_note_peek(PyCodeObject *code);
/* Made at first use; NULL with the error set. */
CodeNote *code_note(PyCodeObject *code);

/* For perf_hints: a place at which graphs of this code break. */
typedef struct {
    int32_t at; /* the Instr */
    BreakCode code;
    const char *hint; /* a literal */
    int32_t line;
    long long count; /* runs that left a plan at this Instr */
    char detail[DETAIL_NOTED];
} BreakNote;

/* For perf_hints: what varied, so that plans were made anew or a place was given up. */
enum { VALUES_NOTED = 5 };
typedef struct {
    char name[128];               /* "x.shape[0]"; without values, the sentence about the guard */
    char place[64];               /* " (file.py:12)" */
    char value[VALUES_NOTED][72]; /* the first different ones */
    int nvalues;
    bool more;          /* other values came, too */
    const char *remedy; /* may be empty */
    long long count;
} VariedNote;

struct CodeState {
    PyCodeObject *code; /* borrowed: the state dies with it */
    const Config *config;
    /* The namespace, which may be gone: addresses that are only compared with those of a frame or a
       function, which are alive.  Another dict that has got such an address is the namespace then:
       the guards of plans look into it anew. */
    PyObject *globals, *builtins;
    int running;         /* frames that run through it: it keeps its namespace */
    long long runs_seen; /* plan_runs when a namespace was looked for last */
    Heat heat;           /* whole programs, of the program's own code */
    Decoded *decoded;    /* the note's */
    Entry **entries;     /* by number of the Instr; NULL: never reached */
    bool aside;          /* never captured: generators, class bodies, library code */
    Account account;
    SampledCalls calls;
    bool has_cells;             /* cells of its own: always run with a frame */
    bool recurses;              /* capture followed too many calls of a function by itself */
    CodeState *other;           /* the same code in another namespace, or under another config */
    CodeState *next, *previous; /* all states */
    long long plan_runs, compiles, recompiles, breaks, deopts;
    long long deopts_timed; /* of these, and what was lost with them */
    int64_t undone_ns;
    char deopt_why[DEOPT_WHY]; /* reason of the last deopt, while reports or hints are wanted */
    double plan_seconds;       /* time in plans, likewise */
    int32_t skips;       /* so many of the next calls need not be looked at: CPython runs them … */
    unsigned skip_epoch; /* … in this epoch … */
    PyTypeObject *skip_type; /* … with a first argument of this type: its address alone */
    bool plain_timed;        /* a plain call is timed, to compare it: those inside are plain, too */
    int barren;              /* calls in a row with a look for plans, none of which ran */
    bool told;               /* the program was told that it is compiled no more */
    bool met;                /* "eager_then_compile": a call has come that had no plan */
    bool planned;            /* a place of it has, or had, a plan */
    CodeTicket ticket;       /* else: what its last plan waits for; 0: nothing */
    bool judged;             /* `loops` and `open_loop` are known */
    bool patient;         /* whole programs: each plan has to be earned by counted calls: earn.c */
    uint8_t loops;        /* how deep they are nested */
    bool open_loop;       /* one of them is not a `for` loop */
    VEC(BreakNote) hints; /* empty unless perf_hints are on; mem_alloc */
    VEC(VariedNote) varied; /* mem_alloc */
};

/* Changes when every plan is dropped, so that functions whose calls are skipped are looked at
 * again.
 */
extern unsigned entry_epoch;
static inline PyTypeObject *
first_type(PyObject *const *args, Py_ssize_t nargs)
{
    return nargs > 0 ? Py_TYPE(args[0]) : NULL;
}
/* Is this one of the calls that nobody looks at?  Counts it.  A first argument of another type ends
   them: it may be an array. */
static inline bool
state_skips(CodeState *state, PyObject *const *args, Py_ssize_t nargs)
{
    return state->skips > 0 && --state->skips > 0 && state->skip_epoch == entry_epoch &&
           state->skip_type == first_type(args, nargs);
}
/* The calls like this one: the type of their first argument, and how many may be skipped at most.
 */
typedef struct {
    PyTypeObject *type; /* compared only */
    int32_t most;
} SkippedCalls;
static inline SkippedCalls
skipped_calls(PyObject *const *args, Py_ssize_t nargs)
{
    return (SkippedCalls){first_type(args, nargs), account_most_skips(args, nargs)};
}
/* So many of the next calls, those inside this one included, need not be looked at. */
static inline void
state_skip(CodeState *state, int32_t calls, SkippedCalls like)
{
    state->skips = calls;
    state->skip_epoch = entry_epoch;
    state->skip_type = like.type;
}
/* This one is looked at, before those that were to be skipped are over: so many less have come. */
static inline void
state_looks(CodeState *state)
{
    if (state->skips > 0) state->account.untimed = Py_MIN(state->skips, state->account.stride);
    state->skips = 0;
}
/* sample_calls.c: how many kinds of calls with several plans are left to CPython. */
int calls_slower(const CodeState *state);
/* credit.c: the elements of an array, of those in a list or tuple, or of a cell's contents. */
int64_t credit_elements(PyObject *object);
/* hints.c: notes that a capture broke; that a run left a plan at the Instr `at`. */
void hints_note(CodeState *state, const CompileNote *note);
void hints_count(CodeState *state, int at);
/* hints.c: notes what failed guard `number` of a plan found against `roots`, and tells it. */
typedef struct {
    Text what;          /* "f: x.shape[0] (file.py:12)", without values where they are told apart */
    const char *remedy; /* a literal, or NULL */
    PyObject *cause;    /* for records: owned, or NULL where there are none */
} Varied;
void hints_varied(CodeState *state, GuardProgram *guards, int number, const Roots *roots,
                  Varied *out);
void varied_free(Varied *varied);
/* hints.c: adds the code's counts to the dict; zeros for NULL. */
void hints_record(const CodeState *state, PyObject *record);
/* hints.c: plan_run with its time taken for the reports. */
PlanResult plan_run_told(CodeState *state, Plan *plan, PyObject *const *reached,
                         PlanOutcome *outcome);
/* Calls `visit` for every state that there is. */
void states_visit(void (*visit)(const CodeState *state, void *context), void *context);

/* Is it of this namespace? */
static inline bool
state_serves(const CodeState *state, PyObject *globals, PyObject *builtins)
{
    return state->globals == globals && state->builtins == builtins;
}
/* NULL with the error set. */
Entry *entry_at(CodeState *state, int number);
/* NULL when none. */
static inline Entry *
entry_peek(const CodeState *state, int number)
{
    return state->entries[number];
}
void entry_to_front(Entry *entry, int plan);
/* The plan has asked for another one in its place: capture.h, Again. */
void entry_give_way(Entry *entry, Plan *plan);
void entry_drop(Entry *entry, Plan *plan);
void entry_bury(Entry *entry); /* drops the plans whose guards are dead */
/* The refusal whose guards hold for the roots; NULL: none.  Runs no Python code. */
Refusal *entry_refusal(Entry *entry, uint64_t types, const Roots *roots);
/* The guards of the newest refusal of these types, which fail, and the number of the failed one;
   NULL when there is none. */
GuardProgram *entry_failed_refusal(Entry *entry, uint64_t types, const Roots *roots, int *failed);
/* Records that this guard failed: its value may be unsteady, or its container growing.  `ints`:
   other ints that are not what they were may be lengths (symbols.c). */
void entry_varied(Entry *entry, const GuardProgram *guards, int failed, const Roots *roots,
                  bool ints);
/* Counts a call without a plan at an entry that makes no more.  Where plans hardly ever hold, those
   that have been of little use are dropped, and the others rest. */
void entry_missed(Entry *entry);
/* Takes the plan over, replacing another where there is no room; `limit`: of plans in debt. */
void entry_take(Entry *entry, Plan *plan, int64_t limit);

/* waiting.c: this plan waits there, in place of another thread's if there is one; NULL: nothing
   changes. */
void entry_waits(Entry *entry, Waiting *waiting);

/* The plan, which is one of the entry's, holds. */
static inline void
entry_hit(Entry *entry, const Plan *plan)
{
    int worth = Py_MAX(HIT_WORTH, plan->saves / entry->nplans * CHECKED_PER_UNIT);
    entry->misses = Py_MAX(entry->misses - worth, 0);
    entry->rest = 0;
}

/* Is this call not to look at the entry's plans?  Counts the call. */
static inline bool
entry_rests(Entry *entry)
{
    if (entry->rest == 0) return false;
    if (--entry->rest > 0) return true;
    entry->rest = REST;
    return false;
}
/* Records a refusal; takes `guards` over. */
void entry_refuse(Entry *entry, uint64_t types, GuardProgram *guards, int until);
/* A fingerprint of the types of `count` objects. */
static inline uint64_t
types_of(PyObject *const *objects, int count)
{
    uint64_t hash = (uint64_t)count;
    for (int i = 0; i < count; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)(objects[i] ? Py_TYPE(objects[i]) : NULL)) *
               0x9E3779B97F4A7C15u;
    return hash;
}
/* Is it of the standard library, NumPy or pycompile?  Such calls are not offered to capture at a
   break. */
bool function_is_library(PyFunctionObject *function);
bool module_is_library(PyObject *name);
/* Arguments in localsplus, `*` and `**` ones included. */
int state_nargs(const CodeState *state);

/* ---- credit.c ---- */
/* Counts a call for which no plan holds, and decides whether to make one.  `calls`: how many it
   stands for. */
bool credit_allows(Entry *entry, int64_t limit, const Roots *roots, int64_t calls);
/* Records the result of the try: `plan`, which is not yet among the entry's, or NULL. */
void credit_tried(Entry *entry, int64_t limit, const Roots *roots, const CompileNote *note,
                  Plan *plan);
void credit_paid(Entry *entry);
/* The work that a call can be seen to have, in bits: its arrays and ints. */
int credit_work(const Roots *roots);
/* Does CPython run this call from the refusal on?  Counts the call. */
bool credit_leaves(Refusal *refusal, const Roots *roots);
/* Stepping from the refusal has paid nothing in a call with so much work, a few times in a row. */
void credit_rest(Refusal *refusal, int work);
/* How many plans of the entry are still in debt. */
int credit_unpaid(const Entry *entry);
enum {
    HIT_SHARE = 8,   /* the share of plans' savings that may be spent on tries is one in … */
    LEAST_SAVED = 8, /* a run counts as if it had saved so much: of calls that take a microsecond
                        the model knows no more than that a plan takes less */
};
/* The plan has run. */
static inline void
credit_run(CodeState *state, Entry *entry, Plan *plan)
{
    bool owed = plan->debt > 0;
    plan->debt -= Py_MAX(plan->saves, LEAST_SAVED);
    entry->credit.earned += plan->saves / HIT_SHARE;
    account_saves(&state->account, plan->saves * UNIT_NS);
    if (owed && plan->debt <= 0) credit_paid(entry);
}
/* Its runs have saved what making it again would cost: it stays. */
static inline bool
credit_used(const Plan *plan)
{
    return plan->debt <= plan->used_at;
}

#endif
