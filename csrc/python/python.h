/* Everything that depends on the CPython version: decoding bytecode, reading and writing frames,
   the frame hook, one-instruction steps, watching.  No other folder includes an internal header,
   tests PY_VERSION_HEX, or knows an opcode number.

   An idx is a code-unit index (2 bytes each), the same in clean and in adaptive code.
   A slot numbers localsplus: locals, cells and free variables first (0 .. nlocalsplus-1), then the
   value stack (nlocalsplus + depth). */
#ifndef PYCOMPILE_PYTHON_H
#define PYCOMPILE_PYTHON_H

#include "../base.h"

/* ---- decode*.c, stack_name.c: bytecode of any version as one neutral form ---- */

typedef enum {
#define INSTR(name, ...) I_##name,
#include "instructions.def"
#undef INSTR
    I_COUNT
} InstrKind;

/* Neutral forms split what a version packs: 3.13's LOAD_FAST_LOAD_FAST is two Instrs with the same
   `idx` (sub = 0, 1); RETURN_CONST is CONST then RETURN; KW_NAMES + PRECALL + CALL is one CALL_KW
   whose `idx` is KW_NAMES'.  Only an Instr with sub == 0 can be entered. */
typedef struct {
    InstrKind kind;
    int32_t arg;    /* slot, constant index, name index, count, operator: see instructions.def */
    int32_t arg2;   /* flags of the kind: method bit, push-null bit, names tuple */
    int32_t idx;    /* of the first prefix: where the frame is entered */
    int32_t at;     /* of the opcode itself: what tracebacks name */
    int32_t next;   /* idx of the instruction after this one, caches skipped */
    int32_t target; /* jumps and FOR_ITER: number of the Instr jumped to; else -1 */
    int32_t line;   /* 0 when unknown */
    int16_t depth;  /* value-stack depth before it; -1 if unreachable */
    uint8_t sub;
} Instr;

typedef struct {
    int32_t start, end; /* idx, half open */
    int32_t target;     /* number of the handler's first Instr */
    int32_t depth;
    bool lasti;
} Handler;

typedef struct {
    PyCodeObject *code; /* borrowed: a Decoded lives in its code's extra slot */
    int count, nhandlers;
    Instr *instrs;
    Handler *handlers;
    int32_t *number_at; /* idx -> number of the Instr that starts there with sub 0, or -1 */
    int nunits;
    int first_traceable; /* number of the RESUME */
    int return_number;   /* number of the first RETURN with sub == 0, or -1 */
    int nlocalsplus, argcount, kwonly;
    bool varargs, varkeywords;
    const char *aside; /* why this code is never captured (generator, class body…), or NULL */
    bool generator;    /* aside as a frame of its own, but can be followed in place */
} Decoded;

/* The pair of stack entries under a call's arguments.  Capture, frames and exits all keep the stack
   in the version's own order, so nothing is ever permuted.  One rule reads the pair on every
   version, whatever pushed it (PUSH_NULL is an instruction of its own, in the version's order):
       low == NULL             -> callable is high, no self    (3.11, 3.12)
       high == NULL            -> callable is low, no self     (3.13)
       neither                 -> callable is low, self (or a first argument) is high
   Only LOAD_GLOBAL with arg2 & 1, LOAD_METHOD and LOAD_SUPER_ATTR with arg2 & 1 push a pair at
   once; when they push one thing and a NULL, CALL_NULL_FIRST says which comes first (lower).  A
   bound pair is always [callable, self].  CALL_EX has such a pair too, always with a NULL in it. */
enum { CALL_NULL_FIRST = PY_VERSION_HEX < 0x030D0000 };

/* CPython's frame holds the arguments of a Python function while that runs; else they have gone
   into its locals. */
static inline bool
call_keeps_arguments(InstrKind kind)
{
    return kind == I_CALL_EX && PY_VERSION_HEX < 0x030C0000;
}

/* Borrowed by nobody: free with decoded_free.  NULL with the error set. */
Decoded *decode(PyCodeObject *code);
void decoded_free(Decoded *decoded);
/* The golden form, for PYCOMPILE_LOGS=bytecode and tests. */
int decoded_print(const Decoded *decoded, Text *out);
const char *instr_name(InstrKind kind);
/* Number of the Instr that wrote this entry of the value stack, as it is before the
   Instr `number`; *entry becomes which of its results it is.  -1: not known. */
int stack_writer(const Decoded *decoded, int number, int *entry);
/* Number of the STORE_LOCAL that takes this entry of the value stack, as it is before the Instr
   `number`, into a local; or the part of it that the `n` indices of `path` lead to, where it is
   unpacked.  -1: there is none, or something else comes between. */
int stack_target(const Decoded *decoded, int number, int entry, const int *path, int n);
/* Kind of a localsplus slot. */
typedef enum { SLOT_LOCAL = 1, SLOT_CELL = 2, SLOT_FREE = 4 } SlotKind;
/* The handler of what the instruction at idx `at` raises, or NULL. */
const Handler *handler_at(const Decoded *decoded, int32_t at);
int code_slot_kind(PyCodeObject *code, int slot); /* bits of SlotKind */
/* Borrowed name of a localsplus slot. */
PyObject *code_slot_name(PyCodeObject *code, int slot);

/* ---- frame.c: the interpreter's own frame ---- */

typedef struct _PyInterpreterFrame Frame;

PyCodeObject *frame_code(Frame *frame);         /* borrowed */
PyFunctionObject *frame_function(Frame *frame); /* borrowed */
PyObject *frame_globals(Frame *frame);          /* borrowed */
PyObject *frame_builtins(Frame *frame);         /* borrowed */
/* The localsplus array.  Stack entries at and above frame_depth are uninitialised. */
PyObject **frame_slots(Frame *frame);
int frame_depth(Frame *frame);
void frame_set_depth(Frame *frame, int depth);
/* Does what the prologue does (COPY_FREE_VARS, MAKE_CELL), once; needed before any slot that is a
   cell or free variable is read and before an exit past RESUME.  0 or -1 with the error set. */
int frame_prologue(Frame *frame, const Decoded *decoded);

/* How a frame is left.  Each consumes the frame: nothing of it may be touched afterwards. */
/* Runs the frame on from `idx` (of an Instr with sub == 0) in the interpreter; the result of the
   whole call.  After frame_prologue an idx before RESUME means RESUME. */
PyObject *frame_resume(PyThreadState *ts, Frame *frame, int idx);
/* Leaves through a RETURN instruction of the code with `result` (stolen) as the value. */
PyObject *frame_return(PyThreadState *ts, Frame *frame, const Decoded *decoded, PyObject *result);
/* The error indicator is set; unwinds as though the instruction numbered `number` had raised it. */
PyObject *frame_raise(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number);

/* The error indicator is set by the Instr `number`, and the frame has a handler for it: places the
   frame there (traceback entry, stack) and takes the error.  Number of the handler's first Instr;
   -1 when there is no handler, and nothing was done.  The frame is not consumed. */
int frame_unwind(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number);
/* What this thread is handling, borrowed; None for nothing. */
PyObject *handled_exception(void);
/* What is being handled becomes `before` (stolen), as POP_EXCEPT does. */
void handled_put(PyThreadState *ts, PyObject *before);

/* Makes the frame current with its instruction pointer at `at`, for a call made on its behalf, and
   puts things back.  `FrameLink` is opaque storage. */
typedef struct {
    void *saved[4];
} FrameLink;
void frame_link(PyThreadState *ts, Frame *frame, int at, FrameLink *link);
void frame_unlink(PyThreadState *ts, Frame *frame, FrameLink *link);

/* ---- step.c: one instruction on the real frame through the object API ---- */

typedef enum {
    STEP_ERROR = -1, /* error indicator set: frame_raise at this instruction */
    STEP_CANNOT = 0, /* nothing was done, and the interpreter must do it: frame_resume from it */
    STEP_NEXT = 1,   /* done; the number of the next instruction (sub == 0) is in *next */
} StepResult;

/* Binary operators are numbered as BINARY_OP's argument; those in place from IN_PLACE on. */
enum {
#define OPERATOR(name, ...) OPERATOR_##name,
#include "operators.def"
#undef OPERATOR
    IN_PLACE,
};
typedef struct {
    const char *symbol, *method, *function, *in_place; /* see operators.def */
} Operator;
extern const Operator operators[IN_PLACE];
/* By Py_LT and so on: functions of the module operator, and __NAME__ of classes. */
extern const char *const comparison_names[6];
/* What I_BINARY does for its arg (PyNumber_Add …); NULL for an operator that is not known. */
binaryfunc binary_function(int operator_);

/* NumPy's operators look whether the interpreter called them, and may then write into an operand
   that only its stack holds.  In a step they see us instead.  So `operand` says for an operator of
   these into which (0, 1, -1 for none), and `call` whether a call may come to such an operator: the
   interpreter must do it. */
typedef struct {
    int (*operand)(int operator_, PyObject *left, PyObject *right);
    bool (*call)(PyObject *callable, PyObject *const *args, Py_ssize_t nargs);
} StepElision;
void step_elision(const StepElision *elision); /* static */

/* Does what the interpreter would do at the bytecode instruction that begins with the Instr
   `number` (sub == 0; all its parts are done at once), with the frame linked around whatever may
   run Python code, so tracebacks, warnings and sys._getframe are natural.  `call` replaces
   PyObject_Vectorcall for calls of Python functions, so that callees are offered to capture; it
   may be NULL.  The frame's depth must be that of the Instr.  What ran may have switched tracing on
   or changed locals: test thread_is_observed and read the slots anew after each step.  RETURN and
   the instructions of exception groups answer STEP_CANNOT, as do RAISE and RERAISE where the frame
   has no handler, and an instruction that would raise an error whose text only the interpreter
   knows (unbound names, unpacking).  After STEP_ERROR at a RAISE without operands or a RERAISE,
   only frame_unwind is right. */
typedef PyObject *(*StepCall)(PyObject *callable, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);
StepResult frame_step(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number,
                      StepCall call, int *next);

/* ---- hook.c: PEP 523, armed only across one call ---- */

/* What the hook hands a frame to: the result of the whole call.  The frame is fresh (nothing has
   run, free variables not copied) and the hook is already disarmed. */
typedef PyObject *(*FrameHandler)(PyThreadState *ts, Frame *frame, void *context);

/* Calls `function` with the hook armed for it and for nothing else; when the frame comes, `handler`
   gets it.  Steps aside (plain call) for a foreign hook, tracing, profiling, monitoring, or
   recursion nearly spent.  A set eval breaker is served before the handler runs, as RESUME would.
 */
PyObject *hook_call(PyFunctionObject *function, PyObject *const *args, size_t nargsf,
                    PyObject *kwnames, FrameHandler handler, void *context);
/* True when nothing observes this thread (tracing, profiling, monitoring) and the eval breaker is
   clear: a plan may run without a frame. */
bool thread_is_plain(PyThreadState *ts, PyCodeObject *code);
/* The half of it that no waiting cures: tracing, profiling, monitoring. */
bool thread_is_observed(PyThreadState *ts, PyCodeObject *code);
/* True while our hook is installed (tests assert false after every call). */
bool hook_is_armed(void);
/* 3.11, where frames are offered only for as long as some are of use: this one is; there is a new
   array, which may make the next ones so. */
void hook_is_of_use(void);
void hook_wake(void);
bool hook_may_rest(void); /* it is there to stay, and goes while it is of no use (3.11) */
int hook_init(void);      /* refuses unknown versions, free threading: -1 with ImportError */

/* ---- breaker.c: what the eval breaker asks for ---- */
bool breaker_is_set(PyThreadState *ts);
/* The program's handler of a signal is to be called, on this thread. */
bool signal_is_pending(PyThreadState *ts);
/* Does what a set eval breaker asks for (signals, pending calls, garbage collection, giving the GIL
   to a waiting thread) with the frame linked at the Instr `number`: 0, or -1 with the error set:
   frame_raise there. */
int frame_serve_breaker(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number);

/* ---- intercept.c: every Python function that the program makes ---- */

typedef struct {
    /* 3.12+: a function has just been made; true: `called` gets its calls.  Closures are made in
       hot loops: cheap.  Runs no Python code and sets no exception. */
    bool (*made)(PyFunctionObject *function);
    vectorcallfunc called;
    /* 3.11: a fresh frame of a function call.  NULL with no exception set: not taken, nothing was
       done. */
    PyObject *(*entered)(PyThreadState *ts, Frame *frame);
    bool rests; /* 3.11: it need not be told of frames while they are of no use */
    /* Somebody is about to watch all calls: every function is to be let go, for good. */
    void (*end)(void);
} Interceptor;

/* For ever; `interceptor` is static.  -1 with the error set. */
int intercept_start(const Interceptor *interceptor);
/* A function made before, or one that was let go.  3.12+; nothing on 3.11. */
void intercept(PyFunctionObject *function);
/* Lets a function go: its calls are the interpreter's again. */
void intercept_end(PyFunctionObject *function);
/* No function of this code is intercepted any more: calls may be specialised. */
void intercept_code_end(PyCodeObject *code);
/* Calls through `called` take C recursion, of which a good part is spent. */
bool intercept_is_deep(void);
/* The call as the interpreter makes it, never through `called`. */
PyObject *function_call(PyFunctionObject *function, PyObject *const *args, size_t nargsf,
                        PyObject *kwnames);

/* ---- watch.c: zero-cost guards ---- */

/* A watch borrows the dicts, types and functions that it is given: the caller keeps them alive
   until watch_free.  A watch holds while nothing it covers has changed.  `valid` is read on the
   warm path.  3.12+: dict and type watchers clear it; on 3.11 watch_holds compares version tags. */
typedef struct Watch Watch;
Watch *watch_new(void); /* NULL with the error set */
void watch_free(Watch *watch);
/* Each: ANSWER_NO when the thing cannot be watched (guard it per call then). */
Answer watch_dict_key(Watch *watch, PyObject *dict, PyObject *key); /* key NULL: every key */
Answer watch_type(Watch *watch, PyTypeObject *type);
/* Is a type that gets another attribute of this name told? 3.13 renames classes silently. */
bool watch_sees_of_type(PyObject *name);
Answer watch_function(Watch *watch, PyFunctionObject *function); /* code, defaults, kwdefaults */
/* True while all of it is unchanged; a false positive never, a false alarm seldom: after false the
   caller compares the values used and calls watch_rearm. */
bool watch_holds(Watch *watch);
Answer watch_rearm(Watch *watch);
int watch_init(void);

/* ---- attribute.c: what is stored under a name; runs no Python code, makes no dict ---- */
/* Borrowed; NULL when there is nothing, never with the error set.  `name` is an interned str.
   Module: its dict's entry.  Type: the raw entry along its MRO.  Function: __code__, __defaults__,
   __kwdefaults__, __closure__ (None where absent), __globals__, __name__, __qualname__, __module__,
   else its dict's.  Bound method:
   __func__, __self__.  Anything else: its __slots__ member, else the entry of its own dict. */
PyObject *attribute_stored(PyObject *object, PyObject *name);

/* One of Python's own builtins, whatever the running frame's are.  Borrowed; NULL with the error
 * set. */
PyObject *python_builtin(const char *name);
/* Borrowed, or NULL without an error: the entry of the class's own dict, or its __mro__, and of a
   heap class __name__, __qualname__ and __bases__. */
PyObject *type_own_stored(PyTypeObject *type, PyObject *name);
/* The same of a class; of an instance its __dict__, made if need be. */
PyObject *attribute_own(PyObject *object, PyObject *name);
/* Its __dict__, where it has been made; NULL otherwise. */
PyObject *instance_dict(PyObject *object);
/* The bare store into the object's slot or dict (of a class: its own dict), past every setter and
   __setattr__; `value` NULL deletes.  0, or -1 with the error set. */
int attribute_put(PyObject *object, PyObject *name, PyObject *value);

/* It has no attributes of its own, members of its class's slots aside. */
bool instance_is_bare(PyObject *self);
/* Its end, as far as one level of it shows, runs no code of the program's: no __del__, no generator
   that is still to be closed. */
bool object_is_quiet(PyObject *object);

/* ---- abstract.c: abstract classes and protocols ---- */
/* A number that grows with each class registered with any abstract class; -1 with the error set. */
int64_t abstract_token(void);
/* The names of a protocol's members, any iterable of them: a new reference; NULL with the error
   set. */
PyObject *protocol_names(PyObject *protocol);

/* ---- error.c ---- */
/* The set error as an exception object (a new reference), cleared; NULL with another error set. */
PyObject *error_take(void);
/* ---- lru.c: what functools.lru_cache has kept ---- */
/* A wrapper that can be read. */
bool lru_check(PyObject *object);
/* The key of a call, a new reference: `args` are all arguments, those named by kwnames last. */
PyObject *lru_key(PyObject *wrapper, PyObject *args, PyObject *kwnames);
PyObject *lru_find(PyObject *wrapper, PyObject *key); /* borrowed, or NULL without an error */

/* ---- contents.c: what containers hold, past the methods of classes derived from theirs ---- */
int contents_init(void);
bool deque_check(PyObject *object);           /* of exactly that class */
int64_t deque_most(PyObject *deque);          /* maxlen; -1 for None */
Py_ssize_t sequence_length(PyObject *object); /* of a tuple, list or deque; -1 of others */
PyObject *sequence_entry(PyObject *object, Py_ssize_t i); /* borrowed; NULL without an error */
/* A dict with this key finds it by each that equals it, and no code of the program's runs. */
bool key_is_constant(PyObject *key);
/* The keys in order, a new tuple, and whether they are these; not all, and false, of an OrderedDict
   that has others than constants: to walk it may run code. */
PyObject *dict_keys(PyObject *dict);
bool dict_keys_are(PyObject *dict, PyObject *keys, bool (*equal)(PyObject *, PyObject *));
int item_put(PyObject *object, PyObject *key, PyObject *value); /* value NULL deletes */
/* args[0].name(args…), the method being that of the builtin class. */
PyObject *base_method_call(PyObject *name, PyObject *const *args, size_t nargs);
/* A weak reference to the object, which is of a builtin class or NumPy's, calls something when it
   dies. */
bool object_end_is_told(PyObject *object);

/* ---- set_layout.c: sets and frozensets with their table as it lies ---- */
PyObject *set_clone(PyObject *set); /* walked in the same order, whatever happens to both */
/* The next entry, borrowed, of a walk that begins with *at == 0. */
bool set_next(PyObject *set, Py_ssize_t *at, PyObject **key);
bool set_same_layout(PyObject *a, PyObject *b, bool (*equal)(PyObject *, PyObject *));

/* ---- code_extra.c: one pointer of ours per code object ---- */
/* `free_extra` gets the pointer when the code dies.  -1 with ImportError. */
int code_extra_init(void (*free_extra)(void *));
void *code_extra_get(PyCodeObject *code); /* NULL when there is none */
int code_extra_set(PyCodeObject *code, void *extra);

/* ---- module_python.c: adds what Python sees of this folder; 0 or -1 ---- */
int python_module(PyObject *module);

#endif
