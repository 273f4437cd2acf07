/* Guards, entries, plans, exits; the toolchain, the cache, threads, logs. */
#ifndef PYCOMPILE_RUNTIME_H
#define PYCOMPILE_RUNTIME_H

#include "../capture/capture.h"
#include "../config.h"
#include "../lower/lower.h"
#include "../python/python.h"
#include "kernel_abi.h"

/* ---- config.c ---- */
/* Interned and immortal: equal options give the same pointer.  NULL with TypeError or ValueError
   set.  `options` is a dict. */
const Config *config_from_options(PyObject *options);
/* A number from the environment; of bytes (…_BYTES) also as 5M.  `otherwise` where the variable is
   not set, or not from `low` to `high`; `told`: warn of that. */
int64_t number_from(const char *variable, int64_t otherwise, int64_t low, int64_t high, bool told);
/* A switch from the environment. */
bool bool_from(const char *variable, bool otherwise);

/* ---- log.c ---- */
typedef enum {
    LOG_RECOMPILES,
    LOG_GRAPH_BREAKS,
    LOG_GUARDS,
    LOG_BYTECODE,
    LOG_GRAPH,
    LOG_SCHEDULE,
    LOG_OUTPUT_CODE,
    LOG_PERF_HINTS,
    LOG_CACHE,
    LOG_COUNT
} LogChannel;
bool log_enabled(LogChannel channel);
/* Passes the text to the logger `pycompile.CHANNEL`, a hint (LOG_PERF_HINTS) once.  Never leaves an
   exception set. */
void log_emit(LogChannel channel, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Where the log has given the hint; NULL: not yet, and now it does, at `place`.  `hint` is static.
 */
const char *log_hint_given(const char *hint, const char *place);
void log_forget_hints(void); /* they may be given again */
/* Issues a PycompileWarning, of three lines at most; `details` has all.  Never raises, even where
   the program turns warnings into errors, since it is about pycompile, not the program.  A pending
   exception stays set. */
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As log_warn, a line each, with its start: what, why, what to do; the text is short for
   `details`. */
void log_warn_lines(int n, const char *const *starts, const char *const *texts,
                    const char *details);
bool log_wants_pass(const char *pass);

/* ---- backend.c: failures of the program's own backends, each reported once in a warning ---- */
/* Reports that the backend raised the set exception, which stays set; not where the exception goes
   to the program anyway. */
void backend_raised(PyObject *backend);
/* Sets BackendError: the backend returned `made`, which cannot be called. */
void backend_gave_no_callable(PyObject *backend, PyObject *made);
/* Sets BackendError: the backend returned None, which leaves the graph to CPython, and fullgraph
   asks for a plan. */
void backend_declined(PyObject *backend);
/* The function that the backend made raised the set exception, which stays set. */
void backend_call_raised(PyObject *backend);
/* It returned something else than the graph's outputs: `what`, a predicate. */
void backend_gave_other(PyObject *backend, const char *what);

/* ---- guards*.c: one flat program ---- */
typedef struct GuardProgram GuardProgram;
/* `code` names the slots in texts.  NULL with the error set. */
GuardProgram *guards_new(const Capture *capture, PyCodeObject *code);
void guards_free(GuardProgram *guards);
/* The roots of sources. */
typedef struct {
    PyObject *const *slots; /* localsplus and stack; unbound is NULL */
    int nslots;
} Roots;
/* Fills `reached` (one borrowed object per source) while checking.  True: all hold.  False: the
   number of the failed guard is in *failed; no exception.  Runs no Python code. */
bool guards_check(GuardProgram *guards, const Roots *roots, PyObject **reached, int *failed);
/* Where they hold, before the run: reads the numbers of lists and text into the arrays that
   guards_check has made room for.  False: they are not all of one class; no exception. */
bool guards_fill(const GuardProgram *guards, PyObject *const *reached);
bool guards_have_fills(const GuardProgram *guards);
/* Behind the run: lets go of large ones.  `in_vain`: that took far longer than the rest of the run;
   the guards hold for shorter lists only. */
void guards_filled(GuardProgram *guards, bool in_vain);
/* After other threads have run: does all that guards_check has found hold, and are the objects that
   the plan has taken from the program still the same?  `reached` is what guards_check filled. */
bool guards_hold_still(const GuardProgram *guards, const Roots *roots, PyObject *const *reached);
int guards_sources(const GuardProgram *guards);
/* Highest slot that a source reads, or -1. */
int guards_last_slot(const GuardProgram *guards);
/* The text of the guard that fails against `roots`: "x.shape[0] == 32, now 64 (file.py:12)". With
   `roots` NULL, without a failure: "x.shape[0] == 32 (file.py:12)".  -1 with the error set. */
int guards_explain(GuardProgram *guards, int number, const Roots *roots, Text *out);
int guards_count(const GuardProgram *guards);
/* The types of what compile and disable return, for texts. */
void guards_know_wrappers(PyTypeObject *compiled, PyTypeObject *disabled);
/* The parts of the text of a failed guard: "x.shape[0] ==", "32", "64", " (file.py:12)".  `value`
   and `now` are empty where the name says it all. */
typedef struct {
    Text name, value, now, place;
    const char *remedy; /* a literal */
} GuardSaid;
void said_free(GuardSaid *said);
/* Of guard `number`, which fails against `roots`. */
void guards_say(GuardProgram *guards, int number, const Roots *roots, GuardSaid *out);
/* What differs from the values for which plans were made: guards_differ.c. */
typedef struct GuardFacts GuardFacts;
GuardFacts *guards_facts_new(void); /* NULL with the error set */
void guards_facts_free(GuardFacts *facts);
/* Adds each guard that fails against `roots`, consequences of one another left out. */
void guards_facts_add(GuardFacts *facts, GuardProgram *guards, const Roots *roots);
int guards_facts_count(const GuardFacts *facts);
/* "n == 1, 2, now 3 (file.py:12); …", and what the program may change, without repetitions.  False:
   nothing differs. */
bool guards_facts_put(const GuardFacts *facts, Text *because, Text *remedies);
/* The remedy for the item of a loop that Python runs: more plans are none. */
extern const char guard_counted[];
/* … and for an array whose shape a loop changes that Python runs: neither are they there. */
extern const char guard_of_turns[];
/* Keeps an object (NULL: none) that the plan refers to: alive as long as the guards can hold, or,
   where the program may drop it, weakly.  `keep`: objects that the capture still holds, or NULL. -1
   with the error set. */
int guards_keep(GuardProgram *guards, PyObject *keep, PyObject *object);
bool guards_hold_weakly(const GuardProgram *guards, PyObject *object);
/* In a build with assertions: does what they keep alive reach nothing of the program?  0, or -1
   with the error set. */
int guards_verify_kept(const GuardProgram *guards);
/* An object referred to weakly is gone: the guards never hold again. */
bool guards_are_dead(const GuardProgram *guards);
/* Has an array no elements whose lengths are symbols?  There is next to nothing to compute. */
bool guards_meet_empty(const GuardProgram *guards, const Roots *roots);
/* Calls `note` with the paths (source_path, size_path) of what is another than the guards want: the
   value, length or keys that guard `failed` compares, lengths of arrays, and (`ints`) ints, which
   have not failed themselves. */
void guards_varied(const GuardProgram *guards, int failed, bool ints, const Roots *roots,
                   void (*note)(void *of, uint64_t path, bool failed), void *of);

/* ---- toolchain.c, cache.c, code.c: source to loaded code ---- */
typedef struct Code Code; /* a loaded file of one target, reference counted */
typedef struct {
    Code *on[TARGET_COUNT]; /* NULL where a program has no kernels */
} Codes;
/* The function that is compiled, for people: texts that are not owned, never NULL but for shapes,
   which are then unknown. */
typedef struct {
    const char *function, *file;
    int line;
    const char *shapes; /* of the graph's inputs: "f64[100,3], f64[3]" */
} CodeOrigin;
/* What is done where the code is neither in memory nor on disk. */
typedef enum {
    CODE_COMPILED, /* it is compiled */
    CODE_LATER,    /* it is compiled in the background */
    CODE_FOUND,    /* nothing: ANSWER_NO */
} CodeHow;
/* A compile in the background; 0: none. */
typedef long long CodeTicket;
enum { NO_ROOM = -1 }; /* for one that was not started, since as many run as there are CPUs */
/* Finds the code, or compiles it.  ANSWER_NO: there is no compiler, or it failed (warned once,
   logged), and CPython runs the function; or, with CODE_LATER, the code comes later: *ticket is not
   0 then.  `straight`: see codegen_c. */
Answer code_load(Device device, const char *source, bool straight, const Config *config,
                 const CodeOrigin *origin, CodeHow how, CodeTicket *ticket, Code **out);
/* Is the code still to come?  Cheap: a system call. */
bool background_runs(CodeTicket ticket);
/* Where the last code_load had its code from: "memory", "disk", "compiler", "background". */
const char *code_found_in(void);
void *code_symbol(Code *code, const char *name); /* NULL when missing */
void code_release(Code *code);
void codes_release(Codes *codes);

/* ---- threads.c ---- */
/* Runs fn over [0, units) on the pool and the caller; chunks are claimed one at a time, so nobody
   waits for a thread that is not running, and workers are woken only where `unit_ps`, what a unit
   takes, makes it pay.  The GIL is the caller's business.  Returns the OR of the
   kernels' results.  The floating-point flags that were raised are added (or-ed) to *flags, which
   the caller starts at 0; with `flags` NULL they are neither cleared nor read. */
int threads_run(KernelFn fn, const KernelArgs *args, int64_t scratch_bytes, int64_t units,
                int64_t grain, int64_t unit_ps, unsigned *flags);
/* As threads_run, without flags and scratch, for units that may wait for the one before: they are
   claimed one by one, in their order. */
int threads_run_tiles(KernelFn fn, const KernelArgs *args, int64_t tiles, int64_t tile_ps);
/* The calling thread's scratch, which it keeps: at least `bytes`, aligned to 64; NULL, without an
   error set, when there is no memory. */
char *thread_scratch(int64_t bytes);
/* A CopyShare: divides a copy among the pool and the caller, who keeps the GIL. */
void threads_share(CopyPart part, const void *context, int64_t units, int64_t unit_bytes);
/* Takes what a wake-up costs from the cache folder, where the process keeps it at its end. */
void threads_recall(void);
int threads_count(void);
/* Of them those for which there is an idle processor; all where their number was asked for. */
int threads_idle(void);
void threads_set_count(int n);
void threads_ask(int64_t n); /* sets how many `threads=0` means; 0: the number of CPUs */

/* ---- plan_new.c, plan.c ---- */
typedef struct Plan Plan;
/* Copies all that it needs out of the capture and the program.  `sequence`: externs give their
   results in a sequence even if there is one; `origin`: of code that it compiles later.  Takes
   guards and codes over, also on failure.  One reference.  NULL with the error set.  Without the
   code on the host it does not run before plan_link. */
Plan *plan_new(const Capture *capture, const Program *program, Codes codes, GuardProgram *guards,
               const CodeOrigin *origin, bool whole, bool sequence);
/* Takes the code over, also on failure; 0, or -1 with the error set. */
int plan_link(Plan *plan, Code *code);
/* What it needs in rare cases only is compiled in the background. */
void plan_compile_later(Plan *plan);
Plan *plan_acquire(Plan *plan);
void plan_release(Plan *plan);
GuardProgram *plan_guards(Plan *plan);
void plan_trim(Plan *plan); /* frees memory that its next run would reuse */

typedef enum {
    PLAN_ERROR =
        -1, /* the error is set; *number in the outcome says where, or is -1: at the entry */
    PLAN_DEOPT = 0, /* nothing was committed: CPython runs the original code from the entry */
    PLAN_DONE = 1,
} PlanResult;

/* The results of a plan.  The caller gives room for exit->nslots values and gets new references, in
   exit order, to store into the frame (or to return). */
typedef struct {
    const Roots *roots; /* of the guards */
    PyObject **value;   /* NULL entries are unbound or C NULL */
    bool condition;     /* EXIT_BRANCH */
    int way;            /* EXIT_WAYS */
    int64_t turns;      /* the same */
    int number;         /* PLAN_ERROR */
    bool interrupted;   /* PLAN_DEOPT: caused by a signal, whose handler has to run */
    int64_t filled_ns;  /* how long guards_fill took, and … */
    int64_t filled_at;  /* … when it ended; 0: it had nothing to do */
    /* Makes the frame current at an Instr around an effect that may read the frame; NULL: no
       frame. */
    void (*enter)(void *context, int number);
    void (*leave)(void *context);
    void *context;
} PlanOutcome;
/* The guards must just have passed and filled `reached`, whose objects are borrowed. */
PlanResult plan_run(Plan *plan, PyObject *const *reached, PlanOutcome *outcome);
/* The reason of a plan's last deopt, kept while runs are told of. */
enum { DEOPT_WHY = 160 }; /* bytes */
const char *plan_deopt_why(void);
/* The plan covers the whole call: entry at the start, exit by return; it runs without a frame. */
bool plan_is_whole(const Plan *plan);
const Exit *plan_exit(const Plan *plan);
int plan_gain(const Plan *plan); /* Capture.gain */
/* Is all of its work kept loops, whose time is taken (TimedLoops)? */
bool plan_turns_in_regions(const Plan *plan);
/* The loop of the plan was left after so many turns.  True: it mostly is after too few to pay. */
bool plan_left_early(Plan *plan, int64_t turns);

/* ---- entry.c: (code object, instruction) -> plans, most recently hit first ---- */
typedef struct CodeState CodeState;
/* The state for a code object in a namespace (the globals and builtins of its frames) under a
   config, made at first use, kept in the code's extra slot and freed with the code.  NULL with the
   error set; without one: the code runs in too many namespaces, and CPython runs this call.  May
   run code of the program then. */
CodeState *code_state(PyCodeObject *code, PyObject *globals, PyObject *builtins,
                      const Config *config);
int entry_init(void);
/* Drops every plan of every code object; with `varied` the next ones are made for what has varied.
 */
void entry_reset(bool varied);

/* ---- run_call.c, run.c: calls through plans, without a frame and with one ---- */
/* How much of a call plans have done. */
typedef enum {
    RAN_LEFT,
    RAN_PART,
    RAN_WHOLE,
    RAN_WAITS, /* nothing: the C compiler has to be earned first, or the plan pauses */
} Ran;
/* Calls the function, whose code `state` belongs to, through its plans.  `ran` NULL: the user asked
   for plans, so none has to be earned. */
PyObject *run_call(CodeState *state, PyFunctionObject *function, PyObject *const *args,
                   size_t nargsf, PyObject *kwnames, Ran *ran);
/* Runs a fresh frame of it, for which nothing has been tried; the caller keeps its code alive. */
PyObject *run_fresh_frame(CodeState *state, PyThreadState *ts, Frame *frame, Ran *ran);

/* ---- program.c: whole programs, where every function is a candidate ---- */
/* Calls of Python functions are offered to plans by interception. */
bool program_is_running(void);
/* Leaves the functions of this code to CPython from now on, however they are called. */
void program_dismiss(PyCodeObject *code);

/* ---- function.c: what pycompile.compile and pycompile.disable return ---- */
extern PyTypeObject CompiledFunction_Type, DisabledFunction_Type;

/* ---- frame_call.c: what calls another callable from a frame of the program's code ---- */
extern PyTypeObject FrameCall_Type;

/* ---- compile.c, compile_tell.c: capture, passes, lower, codegen, load: one plan ---- */
enum { DETAIL_NOTED = 400 }; /* room for a break's detail: most have less than 100 characters */
typedef struct {
    bool useful;      /* the graph has array work */
    bool recurses;    /* Capture.recurses */
    bool interrupted; /* ANSWER_NO: Capture.interrupted; nothing was found out */
    bool cut;         /* ANSWER_NO: Capture.cut, by the account: later there may be a better plan */
    bool postponed;   /* ANSWER_NO: it saves less than `patience` demands */
    bool on_disk; /* postponed: it saves less than loading costs; else less than compiling costs */
    struct Waiting *waiting; /* postponed: not for what it saves, but since its code is compiled in
                                the background; the caller's */
    int gain;                /* Capture.gain */
    int saves;               /* Capture.saves */
    int64_t waited_ns;       /* for the C compiler */
    int64_t cost;     /* cost of the attempt, in the units of capture/control/worth.c, without the C
                         compiler's */
    uint64_t text;    /* of the kernels' source; 0: it came to none */
    ExitKind exit;    /* the exit of the capture, useful or not */
    int32_t at;       /* EXIT_BREAK, EXIT_BRANCH: the Instr that broke or branched */
    int32_t called;   /* Capture.called */
    int32_t raised;   /* ANSWER_ERROR: the Instr of a GraphBreakError's line, or -1 */
    BreakCode code;   /* BREAK_NONE unless perf_hints are on; the break's code and place */
    const char *hint; /* a literal */
    int32_t line;
    char detail[DETAIL_NOTED];
    GuardProgram *guards; /* ANSWER_NO: the guards of the refusal, for the caller; may be NULL */
} CompileNote;
/* The saving per run below which a plan is postponed; zeros: none is.  And whether it waits. */
typedef struct {
    int64_t load,
        compile;      /* to be lowered and loaded from disk; to have the C compiler run for it */
    int64_t turns;    /* of the loops around it, that were assumed */
    bool later;       /* the C compiler is not waited for … */
    bool unless_paid; /* … but where this call alone pays for it */
    bool waits;       /* it is waited for, whatever the options say */
    int64_t twin_of;  /* the number of the plan that a twin is made of (twins.c); 0: none is */
    struct ExportWanted *exports; /* no plan is made: the program is exported; NULL: it is not */
} Patience;
/* `reason` is the failed guard's text, `cause` what records tell of it; both may be NULL.
   ANSWER_NO: no plan.  ANSWER_ERROR: the error that is set is raised in the program
   (GraphBreakError under fullgraph, KeyboardInterrupt). */
Answer compile_plan(const CaptureRequest *request, const char *reason, PyObject *cause,
                    Patience patience, Plan **out, CompileNote *note);
/* A recompile for this reason was made: for pycompile.counters. */
void counts_recompiled(const char *reason);
/* Sets GraphBreakError: the break's code, text, detail, place, stack and hint. */
void raise_graph_break(const Break *item);
/* The frame of a break at this line; "?" for missing text.  Borrows from the code. */
BreakFrame told_frame(const Decoded *decoded, int line);
/* The function's name, with its column where its line has several of that name: a new reference, or
   NULL with the error set.  May run Python code. */
PyObject *told_function(const BreakFrame *frame);
/* Are all calls CPython's?  Inside compile_plan, for this thread; under the stance "force_eager";
   and once the interpreter ends. */
bool calls_are_left(void);

/* ---- stance.c ---- */
typedef enum {
    STANCE_DEFAULT,
    STANCE_FORCE_EAGER,
    STANCE_EAGER_ON_RECOMPILE,
    STANCE_FAIL_ON_RECOMPILE,
    STANCE_EAGER_THEN_COMPILE,
} Stance;
extern Stance stance;
extern int stance_eager; /* 1: the stance is "force_eager" */
/* May code be compiled that no call of the user's asks for? */
bool stance_is_default(void);

/* ---- report.c: records for explain and logs ---- */
/* Each compile adds a record (a dict) to the reports being collected; see _explain.py. */
Py_ssize_t report_begin(void);
PyObject *report_end(void); /* a new list of records */
/* A class of pycompile._errors, a new reference. */
PyObject *errors_class(const char *name);
bool report_wanted(void);
int report_add(PyObject *record);
/* Keeps it alive as long as records are collected: the counts of a code die with it. */
void report_hold(PyObject *object);
/* Adds an entry to a record; where that fails, the entry is dropped. */
void record_text(PyObject *record, const char *key, Text *text);
void record_string(PyObject *record, const char *key, const char *value);
void record_int(PyObject *record, const char *key, long long value);
void record_object(PyObject *record, const char *key, PyObject *value); /* stolen, may be NULL */

/* ---- trace.c ---- */
extern bool trace_on;      /* events are written */
extern bool runs_are_told; /* runs of plans are timed: report_wanted() || trace_on */
/* Writes an event; `record` is stolen and may be NULL: none.  `began` (clock_ns) may be 0.  Never
   fails. */
void trace_put(const char *event, int64_t began, PyObject *record);
/* A record that names the code; NULL, without an error, while nothing is traced. */
PyObject *trace_record(const CodeState *state);
/* The plan is to run with these.  This and the next two run no Python code. */
void trace_meets(Plan *plan, PyObject *const *reached);
/* The plan has run. */
void trace_ran(Plan *plan, int64_t began, int64_t ended, bool undone);
/* Writes the runs of the plan that were not written yet. */
void trace_rest(Plan *plan);
/* Nothing is traced from now on; `record` is the last event's, or no dict. */
void trace_end(PyObject *record);

/* ---- module_runtime.c: adds this folder's functions for Python; 0 or -1 ---- */
int runtime_module(PyObject *module);

#endif
