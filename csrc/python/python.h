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
    I_COUNT
} InstrKind;

/* A bytecode instruction may become several Instrs, or the reverse: 3.13's LOAD_FAST_LOAD_FAST is
   two Instrs with the same `idx` (sub = 0, 1); RETURN_CONST is CONST then RETURN; KW_NAMES +
   PRECALL + CALL is one CALL_KW whose `idx` is that of KW_NAMES.  Only an Instr with sub == 0 can
   be entered. */
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

typedef struct Decoded {
    PyCodeObject *code; /* borrowed: the code's extra slot keeps the Decoded */
    int count, nhandlers;
    Instr *instrs;
    Handler *handlers;
    int32_t *number_at; /* idx -> number of the Instr that starts there with sub 0, or -1 */
    int nunits;
    int first_traceable; /* number of the RESUME */
    int return_number;   /* number of the first RETURN with sub == 0, or -1 */
    int nlocalsplus, argcount, kwonly;
    int names_from; /* slots from here on are variables of a module (stand_in.c) */
    bool varargs, varkeywords;
    const char *aside; /* why this code is never captured (generator, class body…), or NULL */
    bool generator;    /* not captured as a frame of its own, but can be followed inline */
} Decoded;

/* The pair of stack entries under a call's arguments.  Capture, frames and exits all keep the stack
   in the version's own order, so nothing is ever permuted.  One rule reads the pair on every
   version, however it was pushed (PUSH_NULL is an instruction of its own):
       low == NULL             -> callable is high, no self    (3.11, 3.12)
       high == NULL            -> callable is low, no self     (3.13)
       neither                 -> callable is low, self (or a first argument) is high
   Only LOAD_GLOBAL with arg2 & 1, LOAD_METHOD and LOAD_SUPER_ATTR with arg2 & 1 push a pair at
   once; when they push one thing and a NULL, CALL_NULL_FIRST says which comes first (lower).  A
   bound pair is always [callable, self].  CALL_EX has such a pair too, always with a NULL in it. */
enum { CALL_NULL_FIRST = PY_VERSION_HEX < 0x030D0000 };

/* Does the caller's stack keep the arguments while a called Python function runs? Otherwise they
   are moved into the function's locals. */
static inline bool
call_keeps_arguments(InstrKind kind)
{
    return kind == I_CALL_EX && PY_VERSION_HEX < 0x030C0000;
}

/* A new Decoded, to be freed with decoded_free.  NULL with the error set. */
Decoded *decode(PyCodeObject *code);
void decoded_free(Decoded *decoded);
/* The golden form, for PYCOMPILE_LOGS=bytecode and tests. */
int decoded_print(const Decoded *decoded, Text *out);
const char *instr_name(InstrKind kind);
/* The line of the Instr, or of the last one before it that has a line. */
int line_at(const Decoded *decoded, int number);
/* The line of the code's head, and where its body begins: a line and a column in bytes, from 0; -1:
   not known. */
typedef struct {
    int head, line, column;
} CodePlace;
CodePlace decoded_place(const Decoded *decoded);
/* Number of the Instr that wrote this entry of the value stack, as the stack is before the Instr
   `number`; *entry becomes the index of the entry among that Instr's results.  -1: not known. */
int stack_writer(const Decoded *decoded, int number, int *entry);
/* Number of the STORE_LOCAL that stores this entry of the value stack, as the stack is before the
   Instr `number`, in a local; if the entry is unpacked, the part of it that the `n` indices of
   `path` lead to.  -1: there is none, or other instructions come between. */
int stack_target(const Decoded *decoded, int number, int entry, const int *path, int n);
/* Kind of a localsplus slot. */
typedef enum { SLOT_LOCAL = 1, SLOT_CELL = 2, SLOT_FREE = 4 } SlotKind;
/* The handler for an exception of the instruction at idx `at`, or NULL. */
const Handler *handler_at(const Decoded *decoded, int32_t at);
/* As handler_at, of a code that is not decoded: the idx of the handler, or -1. */
int code_handler(PyCodeObject *code, int32_t at);
int code_slot_kind(PyCodeObject *code, int slot); /* bits of SlotKind */
/* Borrowed name of a localsplus slot. */
PyObject *code_slot_name(PyCodeObject *code, int slot);
int code_length(PyCodeObject *code); /* in code units */
/* Is it a Python function that says that it is of this module? */
bool function_is_of_module(PyObject *function, const char *name);

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
/* Drops what the value stack has above so many entries. */
void frame_drop(Frame *frame, int depth);
/* Executes the prologue (COPY_FREE_VARS, MAKE_CELL), once; needed before a slot of a cell or free
   variable is read and before an exit past RESUME.  0 or -1 with the error set. */
int frame_prologue(Frame *frame, const Decoded *decoded);

/* How a frame is left.  Each consumes the frame: nothing of it may be touched afterwards. */
/* Continues the frame from `idx` (of an Instr with sub == 0) in the interpreter; returns the result
   of the whole call.  After frame_prologue an idx before RESUME means RESUME. */
PyObject *frame_resume(PyThreadState *ts, Frame *frame, int idx);
/* Leaves through a RETURN instruction of the code with `result` (stolen) as the value. */
PyObject *frame_return(PyThreadState *ts, Frame *frame, const Decoded *decoded, PyObject *result);
/* With the error indicator set: unwinds as if the Instr `number` had raised it. */
PyObject *frame_raise(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number);
/* As frame_raise, past the frame's handlers: for an error that is not the program's.  The frame's
   stack need not be that of the Instr. */
PyObject *frame_raise_out(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number);

/* With the error indicator set by the Instr `number`: if the frame has a handler for it, puts the
   frame there (traceback entry, stack), clears the error and returns the number of the handler's
   first Instr.  -1: there is no handler, and nothing was done.  The frame is not consumed. */
int frame_unwind(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number);
/* The exception that this thread is handling, borrowed; None if there is none. */
PyObject *handled_exception(void);
/* Sets the exception being handled to `before` (stolen), as POP_EXCEPT does. */
void handled_put(PyThreadState *ts, PyObject *before);

/* Makes the frame current with its instruction pointer at `at`, for a call made on its behalf;
   frame_unlink undoes it.  `FrameLink` is opaque storage. */
typedef struct {
    void *saved[4];
} FrameLink;
void frame_link(PyThreadState *ts, Frame *frame, int at, FrameLink *link);
void frame_unlink(PyThreadState *ts, Frame *frame, FrameLink *link);

/* Does the end of the generator or coroutine run code: has it begun, not ended, and is there a
   handler where it waits, or another one that it waits for? */
bool generator_end_runs(PyObject *object);

/* ---- step.c: one instruction on the real frame through the object API ---- */

typedef enum {
    STEP_ERROR = -1, /* error indicator set: frame_raise at this instruction */
    STEP_CANNOT = 0, /* nothing was done; the interpreter must execute it: frame_resume from it */
    STEP_NEXT = 1,   /* done; the number of the next instruction (sub == 0) is in *next */
} StepResult;

/* Binary operators have the numbers of BINARY_OP's argument; in-place ones begin at IN_PLACE. */
enum {
#define OPERATOR(name, ...) OPERATOR_##name,
#include "operators.def"
    IN_PLACE,
};
typedef struct {
    const char *symbol, *method, *function, *in_place; /* see operators.def */
} Operator;
extern const Operator operators[IN_PLACE];
/* By Py_LT and so on: names of functions of the module operator, and of __NAME__ methods. */
extern const char *const comparison_names[6];
extern const char *const comparison_symbols[6];
/* The function that executes I_BINARY with this arg (PyNumber_Add …); NULL if it is unknown. */
binaryfunc binary_function(int operator_);

/* NumPy's operators check whether the interpreter called them, and may then write into an operand
   that only its stack holds (arrays/elision.c).  A step calls them from here instead.  So `operand`
   says into which operand the operator would write (0, 1, -1 for none), and `call` whether a call
   may lead to such an operator: the interpreter must then execute the call. */
typedef struct {
    int (*operand)(int operator_, PyObject *left, PyObject *right);
    bool (*call)(PyObject *callable, PyObject *const *args, Py_ssize_t nargs);
} StepElision;
void step_elision(const StepElision *elision); /* `elision` is static */

/* Executes the bytecode instruction that begins with the Instr `number` (sub == 0; all its parts at
   once) as the interpreter would.  The frame is linked meanwhile, so tracebacks, warnings and
   sys._getframe are as in the interpreter.  `call` replaces PyObject_Vectorcall, so that callees
   are offered to capture; it may be NULL.  The frame's depth must be that of the Instr.  The code
   that ran may have started tracing or changed locals: after each step test thread_is_observed and
   read the slots again.  The result is STEP_CANNOT for RETURN and instructions of exception groups,
   for RAISE and RERAISE where the frame has no handler, and for an error whose text only the
   interpreter knows (unbound names, unpacking).  After STEP_ERROR at a RAISE without operands or a
   RERAISE, only frame_unwind is correct. */
typedef PyObject *(*StepCall)(PyObject *callable, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);
StepResult frame_step(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number,
                      StepCall call, int *next);

/* ---- hook.c: PEP 523, armed only across one call ---- */

/* Receives a frame from the hook and returns the result of the whole call.  The frame is fresh
   (nothing has run, free variables are not copied), and the hook is disarmed already. */
typedef PyObject *(*FrameHandler)(PyThreadState *ts, Frame *frame, void *context);

/* Calls `function` with the hook armed for it alone; `handler` gets the frame.  It is a plain call
   if there is a foreign hook, tracing, profiling or monitoring, or if the recursion limit is
   near. */
PyObject *hook_call(PyFunctionObject *function, PyObject *const *args, size_t nargsf,
                    PyObject *kwnames, FrameHandler handler, void *context);
/* Calls the function as the interpreter does; what only the caller's stack holds, the function may
   end, as it may if the interpreter enters it from an instruction. */
PyObject *function_call(PyFunctionObject *function, PyObject *const *args, size_t nargsf,
                        PyObject *kwnames);
/* Tells what finds the function of a callable that stands for one (NULL: it stands for none). */
void hook_knows(PyFunctionObject *(*behind)(PyObject *callable));
/* The interpreter's own vectorcall of functions. */
extern vectorcallfunc function_natural;

/* Is there an argument whose end may show, and that only the caller holds? */
static inline bool
call_has_temporary(PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    for (Py_ssize_t i = 0; i < n; i++)
        if (Py_REFCNT(args[i]) == 1 &&
            (Py_TYPE(args[i])->tp_weaklistoffset != 0 || PyObject_IS_GC(args[i])))
            return true;
    return false;
}

/* True when nothing observes this thread (tracing, profiling, monitoring) and the eval breaker is
   clear: a plan may run without a frame. */
bool thread_is_plain(PyThreadState *ts, PyCodeObject *code);
/* The lasting half of it: does tracing, profiling or monitoring observe the thread? */
bool thread_is_observed(PyThreadState *ts, PyCodeObject *code);
/* Is so little of the recursion limit left that pycompile steps aside? */
bool recursion_is_nearly_spent(PyThreadState *ts);
/* Has the interpreter begun to take itself down?  What runs from then on (__del__, callbacks of
   weak references, generators that are closed) is CPython's: there may be no modules any more.
   Functions of atexit and threads that are waited for run before. */
bool interpreter_ends(void);
/* True while the hook is installed (tests assert false after every call). */
bool hook_is_armed(void);
/* 3.11, where the resident hook is removed while frames are of no use: notes that a frame was of
   use, and that an array was made, so that the next frames may be. */
void hook_is_of_use(void);
void hook_wake(void);
bool hook_may_rest(void); /* the resident hook may be removed while it is of no use (3.11) */
int hook_init(void);      /* refuses unknown versions, free threading: -1 with ImportError */

/* ---- breaker.c: what the eval breaker asks for ---- */
bool breaker_is_set(PyThreadState *ts);
/* Is a signal's handler to be called, and on this thread? */
bool signal_is_pending(PyThreadState *ts);
/* Has another thread waited for the GIL for a switch interval?  Only a GIL that is given away then
   certainly changes hands: one that waits is woken each time, and counts its interval anew. */
bool gil_is_wanted(PyThreadState *ts);
/* No other thread of this interpreter could have had the GIL meanwhile. */
bool thread_is_alone(void);
/* How many Python states threads have had so far, one more at each call; 0: no memory, without an
   error.  A thread without one gets one before it can set an error (PyGILState_Ensure), so if two
   calls give neighbours, no thread of the pool has reported any in between. */
uint64_t thread_states_made(void);
/* Does what a set eval breaker asks for (signals, pending calls, garbage collection, giving the GIL
   to a waiting thread) with the frame linked at the Instr `number`.  0, or -1 with the error set,
   for frame_raise there. */
int frame_serve_breaker(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number);

/* ---- backedge.c: loops that the interpreter runs ---- */

typedef enum {
    EDGE_GO,    /* the interpreter goes on where the frame says now */
    EDGE_DONE,  /* the same, and no more is wanted of this jump */
    EDGE_ERROR, /* the error that is set is raised as if by the instruction jumped to */
} EdgeResult;

typedef struct {
    /* After a jump back from the idx `from` to `to` in the current frame, whose stack and
       instruction are valid; they may be changed.  `ended`: before no more are told. */
    EdgeResult (*taken)(PyThreadState *ts, Frame *frame, int from, int to);
    void (*ended)(void);
    void (*rested)(void); /* the time of backedge_rest is over */
} BackEdges;

/* All of this does nothing on 3.11. */
void backedge_start(const BackEdges *edges); /* static */
void backedge_stop(void);                    /* for good */
/* From now on jumps of this code are told, those of running frames included.  False: it cannot be
   done. */
bool backedge_watch(PyCodeObject *code);
void backedge_end(PyCodeObject *code);
/* Asks for `rested`, once, at a jump or call of the main thread some ms later. */
void backedge_rest(int ms);
bool code_has_loop(PyCodeObject *code);
/* The functions of this thread's frames, those of modules included. */
void frames_visit(void (*visit)(PyFunctionObject *function));

/* A frame that the interpreter runs, and that is current: the instruction at idx is the next, and
   what tracebacks name. */
void frame_set_running(Frame *frame, int idx);
/* Are its variables those of a module? */
bool frame_is_of_module(Frame *frame);
/* frame_unwind for such a frame. */
int frame_unwind_running(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number);

/* What gives the rest of the iterator's items, of a range or of an object of the class `indexed`,
   as an iterable: a new reference.  NULL: there is none, perhaps with the error set. */
PyObject *iterator_left(PyObject *iterator, PyTypeObject *indexed);

/* ---- stand_in.c: the code of a module with variables as locals ---- */
/* A new reference, with the names of these variables, which are its last slots, in order.  NULL:
   there is none, perhaps with the error set. */
PyCodeObject *code_stand_in(PyCodeObject *code, PyObject **names);
bool code_stands_in(PyCodeObject *code);
/* The first slot of a variable; co_nlocalsplus for any other code. */
int stand_in_names(PyCodeObject *code);

/* ---- intercept.c: every Python function that the program makes ---- */

typedef struct {
    /* 3.12+: called for each new function; true: `called` gets its calls.  It must be cheap, since
       closures are made in hot loops, run no Python code and set no exception. */
    bool (*made)(PyFunctionObject *function);
    vectorcallfunc called;
    /* 3.11: called for each fresh frame of a function call.  NULL with no exception set: the frame
       was not taken, and nothing was done. */
    PyObject *(*entered)(PyThreadState *ts, Frame *frame);
    bool rests; /* 3.11: the hook may be removed while frames are of no use */
    /* Called before somebody begins to observe all calls: every function must be released for
       good. */
    void (*end)(void);
    BackEdges loops;
} Interceptor;

/* Starts interception, which never ends; `interceptor` is static.  -1 with the error set. */
int intercept_start(const Interceptor *interceptor);
/* Intercepts a function that was made before, or released.  Does nothing on 3.11. */
void intercept(PyFunctionObject *function);
/* Releases a function: the interpreter makes its calls again. */
void intercept_end(PyFunctionObject *function);
/* Called when no function of this code is intercepted any more: its calls may be specialised. */
void intercept_code_end(PyCodeObject *code);
/* Calls through `called` take C recursion: is a good part of it used up? */
bool intercept_is_deep(void);
bool is_intercepted(PyFunctionObject *function);
/* Calls the function as the interpreter does, never through `called`. */
PyObject *function_enter(PyFunctionObject *function, PyObject *const *args, size_t nargsf,
                         PyObject *kwnames);

/* ---- watch.c: zero-cost guards ---- */

/* A watch borrows the dicts, types and functions that it is given: they are alive whenever it is
   asked, or watch_free comes first (3.12+: dicts may die before).  It owns nothing whose end runs
   code, so that watch_free runs none, and allocates nothing that the collector counts.  A watch
   holds while nothing it covers has changed.  `valid` is read on the warm path.  3.12+: dict and
   type watchers clear it; on 3.11 watch_holds compares version tags. */
typedef struct Watch Watch;
Watch *watch_new(void); /* NULL with the error set */
void watch_free(Watch *watch);
/* Each returns ANSWER_NO if the object cannot be watched: it then needs a guard per call. */
Answer watch_dict_key(Watch *watch, PyObject *dict, PyObject *key); /* key NULL: every key */
Answer watch_type(Watch *watch, PyTypeObject *type);
/* Does a change of this attribute of a type end its watches? On 3.13 renaming a class does not. */
bool watch_sees_of_type(PyObject *name);
/* `name`: __code__, __defaults__ or __kwdefaults__. */
Answer watch_function(Watch *watch, PyFunctionObject *function, PyObject *name);
/* True while all of it is unchanged.  It may be false without a change, though seldom: after false
   the caller compares the values used and calls watch_rearm. */
bool watch_holds(Watch *watch);
Answer watch_rearm(Watch *watch);
int watch_init(void);

/* ---- attribute.c: what is stored under a name; runs no Python code ---- */
int attribute_init(void);
/* Borrowed; NULL when there is nothing, never with the error set.  `name` is an interned str.
   Module: its dict's entry.  Type: the raw entry along its MRO.  Function: __code__, __defaults__,
   __kwdefaults__, __closure__ (None where absent), __globals__, __name__, __qualname__, __module__,
   else its dict's.  Bound method:
   __func__, __self__.  Anything else: its __slots__ member, else the entry of its own dict.
   What is stored may be untold: a key of the dict has the name's hash, and only code of the
   program's knows whether it equals the name.  No guard holds for that. */
PyObject *attribute_stored(PyObject *object, PyObject *name);
bool stored_is_untold(PyObject *stored);
/* A dict's entry (of a derived class: without its methods) under a key that is a constant
   (key_is_constant); it may be untold, too. */
PyObject *dict_stored(PyObject *dict, PyObject *key);
/* As dict_stored, but NULL where the entry is untold. */
PyObject *dict_told(PyObject *dict, PyObject *key);
/* As dict_told, of a name in ASCII. */
PyObject *dict_named(PyObject *dict, const char *name);

/* One of Python's own builtins, whatever the running frame's builtins are.  Borrowed; NULL with the
   error set. */
PyObject *python_builtin(const char *name);
/* Borrowed, or NULL without an error: an entry of the class's own dict, or its __mro__, or a heap
   class's __name__, __qualname__ and __bases__. */
PyObject *type_own_stored(PyTypeObject *type, PyObject *name);
/* As type_own_stored, for a class; for an instance its __dict__, created if necessary. */
PyObject *attribute_own(PyObject *object, PyObject *name);
bool type_has_dict(const PyTypeObject *type); /* for its instances' attributes */
/* The object's __dict__ if it has been created; else NULL. */
PyObject *instance_dict(PyObject *object);
/* Stores directly into the object's slot or dict (a class's own dict), without setters and
   __setattr__; `value` NULL deletes.  0, or -1 with the error set. */
int attribute_put(PyObject *object, PyObject *name, PyObject *value);

/* Has the object no attributes of its own, apart from slots? */
bool instance_is_bare(PyObject *self);

/* ---- abstract.c: abstract classes and protocols ---- */
/* A number that grows whenever a class is registered with an abstract class; -1 with the error
   set. */
int64_t abstract_token(void);
/* The names of a protocol's members, any iterable of them: a new reference; NULL with the error
   set. */
PyObject *protocol_names(PyObject *protocol);

/* ---- error.c ---- */
/* Clears the set error and returns it as an exception object (a new reference); NULL with another
   error set. */
PyObject *error_take(void);
/* ---- lru.c: the cache of functools.lru_cache ---- */
/* Is the object such a wrapper, and can its cache be read? */
bool lru_check(PyObject *object);
/* The key of a call, a new reference: `args` are all arguments, those named by kwnames last. */
PyObject *lru_key(PyObject *wrapper, PyObject *args, PyObject *kwnames);
PyObject *lru_find(PyObject *wrapper, PyObject *key); /* borrowed, or NULL without an error */

/* ---- contents.c: contents of containers, without the methods of derived classes ---- */
int contents_init(void);
bool deque_check(PyObject *object);  /* of exactly this class */
int64_t deque_most(PyObject *deque); /* maxlen; -1 for None */
/* What an iterator has left, in ints.  Of a range: start, stop and step of such a range; of one
   over a sequence, also backwards, the next position; of an enumerate the next number; of a zip how
   many iterators it is made of. */
enum { ITERATOR_NEXT, ITERATOR_STOP, ITERATOR_STEP, ITERATOR_PARTS, ITERATOR_INTS };
/* False: it is none of these, or has ended. */
bool iterator_rest(PyObject *object, int64_t rest[ITERATOR_INTS]);
/* What an iterator over a sequence, an enumerate or a zip goes over, borrowed; `part`: of a zip,
   else 0.  NULL: it is none. */
PyObject *iterator_walked(PyObject *object, int part);
Py_ssize_t sequence_length(PyObject *object); /* of a tuple, list or deque; -1 for others */
PyObject *sequence_entry(PyObject *object, Py_ssize_t i); /* borrowed; NULL without an error */
/* Can the key be looked up in a dict by an equal one without running code of the program's? */
bool key_is_constant(PyObject *key);
/* None, a number, text, bytes, or a tuple of such values: it holds no object of the program, and
   its repr and its end run no code. */
bool value_is_plain(PyObject *object);
/* The keys in order, as a new tuple; and whether they are these.  For an OrderedDict with keys
   other than constants, whose iteration may run code: an empty tuple, and false. */
PyObject *dict_keys(PyObject *dict);
bool dict_keys_are(PyObject *dict, PyObject *keys, bool (*equal)(PyObject *, PyObject *));
int item_put(PyObject *object, PyObject *key, PyObject *value); /* value NULL deletes */
/* args[0].name(args…) with the method of the builtin class. */
PyObject *base_method_call(PyObject *name, PyObject *const *args, size_t nargs);
/* Has the object a weak reference with a callback that is not pycompile's? */
bool object_end_is_told(PyObject *object);

/* ---- random.Random ---- */

enum { TWISTER_WORDS = 624 };
/* An object of the class: CPython 3.13 Modules/_randommodule.c, RandomObject; in 3.11 and 3.12
   likewise. */
typedef struct {
    PyObject_HEAD int at;
    uint32_t key[TWISTER_WORDS];
} PythonRandom;

/* ---- set_layout.c: sets and frozensets with the layout of their table ---- */
PyObject *set_clone(PyObject *set); /* keeps the order, also after equal changes to both */
/* The next entry, borrowed; *at is 0 at first.  False: no more. */
bool set_next(PyObject *set, Py_ssize_t *at, PyObject **key);
bool set_same_layout(PyObject *a, PyObject *b, bool (*equal)(PyObject *, PyObject *));
/* A clone gives up its references to the entries, which somebody else holds; set_forget has to be
   called before it is freed.  The collector does not see it. */
void set_lend(PyObject *clone);
void set_forget(PyObject *clone);

/* ---- code_extra.c: one pointer per code object ---- */
/* `free_extra` gets the pointer when the code dies.  -1 with ImportError. */
int code_extra_init(void (*free_extra)(void *));
void *code_extra_get(PyCodeObject *code); /* NULL when there is none */
int code_extra_set(PyCodeObject *code, void *extra);

/* ---- module_python.c: adds this folder's functions to the module; 0 or -1 ---- */
int python_module(PyObject *module);

#endif
