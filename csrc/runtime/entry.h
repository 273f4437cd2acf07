/* Private to runtime/: what is known about a code object under one config. */
#ifndef PYCOMPILE_RUNTIME_ENTRY_H
#define PYCOMPILE_RUNTIME_ENTRY_H

#include "plan.h"

enum {
    MAX_PLANS = 64,
    MAX_REFUSALS = 8,
    MAX_REFUSED = 32, /* captures that came to nothing before another has to be earned */
    MAX_VARIED = 2,   /* guards on a value that failed before it is not guarded so again */
    MAX_MISSES = 32,  /* balance of misses over hits at which plans past the limit are dropped */
    HIT_WORTH = 4,    /* misses that one hit makes up for */
    KEPT_PLANS = 4,   /* of those that have paid, when the others are dropped */
    SLOTS_WATCHED = 64,
    PATHS_WATCHED = 16, /* values and lengths that vary */
    /* in the units of capture/control/worth.c */
    COMPILE_COST = 3000000, /* the C compiler's run: 90 ms */
};

/* What capture said no to: the types of what the frame held then and the guards under which it said
   so, and what to do instead. */
typedef struct {
    uint64_t types;
    GuardProgram *guards; /* owned; NULL: the types alone */
    int32_t until;  /* step to this Instr and past it, then look again; -1: CPython has the rest */
    int32_t futile; /* times in a row that stepping on led to nothing */
} Refusal;

/* What making plans at an entry has cost and what they have saved; see credit.c. */
typedef struct {
    int lost;          /* plans that went before they had paid, or that came to nothing */
    int refused;       /* captures that were not worth a plan */
    uint8_t backoff;   /* tries past the limit since a plan has paid */
    uint8_t misjudged; /* of those, the ones that a large call had promised more for */
    int gain;          /* of the last plan, per run */
    int64_t price;     /* of the last try */
    int64_t earned;    /* towards the next try */
    uint64_t text;     /* of the last plan's kernels */
    uint8_t sizes[SLOTS_WATCHED]; /* at the last try, by slot: bits of the number of elements */
} Credit;

/* Never freed before its code, so pointers to it stay good across a reset. */
typedef struct {
    int nplans, nrefusals;
    int misses;    /* once given up: calls that no plan held for, less what hits make up for */
    bool given_up; /* the last call that no plan held for was CPython's, for want of credit */
    bool told;     /* the program was */
    Credit credit;
    Refusal behind; /* where to look again when it is given up */
    int nvaried;
    VariedPath varied[PATHS_WATCHED]; /* guards on values, lengths and keys that failed */
    int64_t earned_at; /* whole programs: calls of the code before which no plan of it pays */
    int32_t unearned;  /* the Instr where the graph that does not pay yet ended, or -1 */
    Plan *plans[MAX_PLANS];
    Refusal refusals[MAX_REFUSALS];
} Entry;

/* What whole programs remember of a code object (program.c). */
typedef enum {
    VERDICT_NONE,      /* not looked at */
    VERDICT_WATCHED,   /* a few calls are looked at for arrays */
    VERDICT_CANDIDATE, /* calls go through plans */
    VERDICT_LEFT,      /* CPython's for good */
} Verdict;

typedef struct Counter Counter; /* program.c */

/* In the code's extra slot. */
typedef struct {
    CodeState *states; /* one per config */
    Counter *counter;  /* NULL: nobody counts */
    uint8_t verdict;
    uint8_t calls;     /* looked at */
    uint16_t idle;     /* calls in a row in which no plan ran */
    int32_t seen;      /* calls of the candidate; this and the rest: earn.c */
    int32_t heat;      /* what they had to do */
    int32_t price;     /* heat at which it is captured; 0: not known */
    uint8_t fruitless; /* captures that came to nothing since it was hot */
    bool installed;    /* code of an installed package */
} CodeNote;

/* NULL when there is none; no exception. */
CodeNote *code_note_peek(PyCodeObject *code);
/* Made at first use; NULL with the error set. */
CodeNote *code_note(PyCodeObject *code);

/* For perf_hints: a place at which graphs of this code break. */
typedef struct {
    int32_t at; /* the Instr */
    BreakCode code;
    int32_t line;
    long long count; /* runs that left a plan here */
    char detail[96];
} BreakNote;

struct CodeState {
    PyCodeObject *code; /* borrowed: the state dies with it */
    const Config *config;
    Decoded *decoded;
    Entry **entries;            /* by number of the Instr; NULL: never came here */
    bool aside;                 /* never captured: generators, class bodies, library code */
    bool has_cells;             /* cells of its own: always run with a frame */
    CodeState *other;           /* the same code under another config */
    CodeState *next, *previous; /* all states */
    long long plan_runs, compiles, recompiles, breaks, deopts;
    char deopt_why[DEOPT_WHY]; /* of the last one, while somebody collects reports */
    double plan_seconds;       /* in plans, while somebody collects reports */
    bool judged;               /* `loops` and `open_loop` are known */
    bool patient;              /* whole programs: nobody asked for plans, so they have to pay */
    uint8_t loops;             /* how deep they are nested */
    bool open_loop;            /* there is one that is no `for` */
    VEC(BreakNote) hints;      /* empty unless perf_hints are asked for; mem_realloc */
};

/* hints.c: a capture has broken; a run has left a plan at the Instr `at`. */
void hints_note(CodeState *state, const CompileNote *note);
void hints_count(CodeState *state, int at);
/* hints.c: what the code has been through, into the dict; zeros for NULL. */
void hints_record(const CodeState *state, PyObject *record);
/* hints.c: plan_run, timed for the reports. */
PlanResult plan_run_told(CodeState *state, Plan *plan, PyObject *const *reached,
                         PlanOutcome *outcome);
/* Calls `visit` for every state that there is. */
void states_visit(void (*visit)(const CodeState *state, void *context), void *context);

/* NULL with the error set. */
Entry *entry_at(CodeState *state, int number);
/* NULL when none. */
static inline Entry *
entry_peek(const CodeState *state, int number)
{
    return state->entries[number];
}
void entry_to_front(Entry *entry, int plan);
void entry_drop(Entry *entry, Plan *plan);
void entry_bury(Entry *entry); /* drops the plans whose guards are dead */
/* NULL when none holds for what the roots give.  Runs no Python code. */
Refusal *entry_refusal(Entry *entry, uint64_t types, const Roots *roots);
/* The guards of the newest refusal of these types that fail, and which; NULL when there is none. */
GuardProgram *entry_failed_refusal(Entry *entry, uint64_t types, const Roots *roots, int *failed);
/* This guard failed: what it wanted one value of may be unsteady, a container whose length it
   wanted may be growing. */
void entry_varied(Entry *entry, const GuardProgram *guards, int failed);
/* No plan held at an entry that makes no more: plans that hardly ever hold are dropped. */
void entry_missed(Entry *entry);
/* Takes the plan over, in place of another where there is no room; `limit`: of plans that have not
   paid yet. */
void entry_take(Entry *entry, Plan *plan, int64_t limit);

static inline void
entry_hit(Entry *entry)
{
    entry->misses = entry->misses > HIT_WORTH ? entry->misses - HIT_WORTH : 0;
}
/* Takes `guards` over. */
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
/* Of the standard library, NumPy or pycompile: not offered to capture at a break. */
bool function_is_library(PyFunctionObject *function);
/* Arguments in localsplus, `*` and `**` ones included. */
int state_nargs(const CodeState *state);

/* ---- credit.c ---- */
/* No plan holds for what the roots give: whether to make one.  Counts the call. */
bool credit_allows(Entry *entry, int64_t limit, const Roots *roots);
/* What became of it: `plan`, which is not yet among the entry's, or NULL. */
void credit_tried(Entry *entry, int64_t limit, const Roots *roots, const CompileNote *note,
                  Plan *plan);
void credit_paid(Entry *entry);
/* Plans of the entry that have not paid yet. */
int credit_unpaid(const Entry *entry);
enum { HIT_SHARE = 8 }; /* what plans save over what may be spent on trying */
/* The plan has run. */
static inline void
credit_run(Entry *entry, Plan *plan)
{
    bool owed = plan->debt > 0;
    plan->debt -= plan->saves;
    entry->credit.earned += plan->saves / HIT_SHARE;
    if (owed && plan->debt <= 0) credit_paid(entry);
}

#endif
