/* Whole programs: since the user did not ask for plans, captures, loads and compiles have to be
   earned.
   A candidate is captured when it is hot: after many calls, or a few calls with much work, judged
   by the sizes that can be seen: arrays, counts and lengths that its loops probably go through.
   Code of installed packages is a library to most programs, called a few times for many purposes:
   it is hot much later, each further capture needs new heat, and a capture without a plan doubles
   the price of the next.
   A plan is made when its saving, times the expected runs, exceeds its cost: as many calls are
   expected as there were, and, for a loop that is running, the rest of its iterations.
   All of it is counted, never timed, so that it is the same in every run. */
#include "earn.h"

enum {
    HOT = 16,            /* calls */
    HOT_INSTALLED = 256, /* of code in installed packages */
    MOST_PRICE = HOT_INSTALLED * 32,
    FRUITLESS = 8, /* captures without a plan, after which new heat is needed */
    EFFORT = 2048, /* instructions to follow for a price of HOT */
    EFFORT_INSTALLED = 128,
    ELEMENTS_PER_CALL = 1 << 12, /* that count as another call, for code without loops */
    TURNS_PER_CALL = 64,         /* iterations of a loop that count as a call */
    NESTED_TURNS_PER_CALL = 8,
    MOST_TURNS = 1 << 30,
    MOST_COUNTED = 1 << 14,
    NS_PER_TURN = 40,     /* of a loop in CPython, at least */
    TURNS_UNKNOWN = 1000, /* assumed for a loop of unknown length */
    TURNS_UNKNOWN_INSTALLED = 16,
    MOST_LOOPS = 32,
    /* in the units of capture/control/worth.c */
    LOAD_COST = 50000, /* passes, lowering, and loading what is on disk: 1.5 ms */
};

/* ---- the code ---- */

/* Except a package's own tests, which are programs. */
bool
earn_is_installed(PyFunctionObject *function)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    PyObject *name = dict_named(function->func_globals, "__name__");
    const char *module = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    if (file == NULL || (module != NULL && strstr(module, ".tests.") != NULL)) return false;
    return strstr(file, "/site-packages/") != NULL || strstr(file, "/dist-packages/") != NULL;
}

typedef struct {
    int head, end; /* numbers of Instrs: the jump's target, the last jump to it */
} LoopRange;

static int
find_loops(const Decoded *d, LoopRange *loops)
{
    int n = 0;
    for (int i = 0; i < d->count; i++) {
        int head = d->instrs[i].target, at = 0;
        if (head < 0 || head > i) continue;
        while (at < n && loops[at].head != head) at++;
        if (at == MOST_LOOPS) continue;
        if (at == n) n++;
        loops[at] = (LoopRange){head, i};
    }
    return n;
}

static int
loops_around(const LoopRange *loops, int n, int number)
{
    int around = 0;
    for (int i = 0; i < n; i++) around += loops[i].head <= number && number <= loops[i].end;
    return around;
}

void
earn_learn_code(CodeState *state)
{
    LoopRange loops[MOST_LOOPS];
    int n = find_loops(state->decoded, loops);
    for (int i = 0; i < n; i++) {
        int depth = loops_around(loops, n, loops[i].head);
        if (depth > state->loops) state->loops = (uint8_t)depth;
        if (state->decoded->instrs[loops[i].head].kind != I_FOR_ITER) state->open_loop = true;
    }
}

/* ---- heat ---- */

/* The work that one call can be seen to have. */
typedef struct {
    int64_t elements; /* of arrays */
    int64_t turns;    /* iterations over containers and counts in sight */
} Sight;

static void
add(int64_t *to, int64_t more)
{
    if (more > 0) *to = Py_MIN(*to + Py_MIN(more, MOST_TURNS), MOST_TURNS);
}

/* Runs no Python code. */
static void
see(Sight *sight, PyObject *object)
{
    ArrayHeader header;
    const char *why;
    if (object == NULL) return;
    if (PyLong_CheckExact(object)) {
        int overflow;
        add(&sight->turns, PyLong_AsLongAndOverflow(object, &overflow));
    } else if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        add(&sight->turns, PySequence_Fast_GET_SIZE(object));
    } else if (PyDict_CheckExact(object)) {
        add(&sight->turns, PyDict_GET_SIZE(object));
    } else if (array_read(object, &header, &why) == ANSWER_YES) {
        int64_t elements = 1;
        for (int k = 0; k < header.rank; k++) elements *= header.shape[k];
        add(&sight->elements, elements);
        add(&sight->turns, elements);
    }
}

static void
see_all(Sight *sight, PyObject *tuple)
{
    Py_ssize_t n = tuple != NULL ? PyTuple_GET_SIZE(tuple) : 0;
    for (Py_ssize_t i = 0; i < Py_MIN(n, LOOKED_NAMES); i++) see(sight, PyTuple_GET_ITEM(tuple, i));
}

/* A constant tuple of ints is most often the shape of an array that the code makes. */
static void
see_shape(Sight *sight, PyObject *object)
{
    int64_t elements = 1;
    if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(object) < 2) return;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
        int overflow;
        PyObject *item = PyTuple_GET_ITEM(object, i);
        int64_t size = PyLong_CheckExact(item) ? PyLong_AsLongAndOverflow(item, &overflow) : -1;
        if (size < 0 || size > MOST_TURNS) return;
        elements = Py_MIN(elements * size, MOST_TURNS);
    }
    add(&sight->turns, elements);
}

/* Bounds of loops may also be constants, globals, and items of the arguments. */
static void
see_around(Sight *sight, PyFunctionObject *function, PyObject *const *args, Py_ssize_t nargs)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    PyObject *closure = function->func_closure;
    see_all(sight, code->co_consts);
    for (Py_ssize_t i = 0; i < Py_MIN(PyTuple_GET_SIZE(code->co_consts), LOOKED_NAMES); i++)
        see_shape(sight, PyTuple_GET_ITEM(code->co_consts, i));
    for (Py_ssize_t i = 0; closure != NULL && i < PyTuple_GET_SIZE(closure); i++)
        see(sight, PyCell_GET(PyTuple_GET_ITEM(closure, i)));
    for (Py_ssize_t i = 0; i < Py_MIN(PyTuple_GET_SIZE(code->co_names), LOOKED_NAMES); i++) {
        PyObject *name = PyTuple_GET_ITEM(code->co_names, i);
        see(sight, dict_told(function->func_globals, name));
        for (Py_ssize_t k = 0; k < nargs; k++)
            if (args[k] != NULL && (Py_TYPE(args[k])->tp_flags & Py_TPFLAGS_HEAPTYPE))
                see(sight, attribute_stored(args[k], name));
    }
}

/* The loops of installed code are not analysed before it is hot. */
static int64_t
heat_of(const CodeNote *note, const CodeState *state, PyFunctionObject *function,
        PyObject *const *args, Py_ssize_t nargs)
{
    Sight sight = {0};
    nargs = Py_MIN(nargs, LOOKED_ARGS);
    for (Py_ssize_t i = 0; i < nargs; i++) see(&sight, args[i]);
    if (note->installed || state->loops == 0) return 1 + sight.elements / ELEMENTS_PER_CALL;
    see_around(&sight, function, args, nargs);
    if (state->open_loop && sight.elements > 0) return HOT;
    return 1 + sight.turns / (state->loops == 1 ? TURNS_PER_CALL : NESTED_TURNS_PER_CALL);
}

/* The program's own code is hot by namespace: a template that is executed again and again is called
   a few times each time. */
static const Heat *
heat_in(const CodeNote *note, const CodeState *state)
{
    return note->installed ? &note->heat : &state->heat;
}

void
earn_by_call(CodeNote *note, CodeState *state, PyFunctionObject *function, PyObject *const *args,
             Py_ssize_t nargs)
{
    Heat *heat = note->installed ? &note->heat : &state->heat;
    if (note->price == 0) note->price = note->installed ? HOT_INSTALLED : HOT;
    if (heat->calls < INT32_MAX) heat->calls++;
    if (heat->work >= note->price) return;
    int64_t work = heat->work + heat_of(note, state, function, args, nargs);
    heat->work = (int32_t)Py_MIN(work, note->price);
}

void
earn_by_skipped(CodeNote *note, CodeState *state)
{
    Heat *heat = note->installed ? &note->heat : &state->heat;
    if (heat->calls < INT32_MAX) heat->calls++;
    if (heat->work < note->price) heat->work++;
}

int64_t
earn_promise(CodeState *state, PyFunctionObject *function, PyObject *const *args, Py_ssize_t nargs)
{
    Sight sight = {0};
    if (!state->judged) earn_learn_code(state);
    state->judged = true;
    if (state->loops == 0) return 0;
    nargs = Py_MIN(nargs, LOOKED_ARGS);
    for (Py_ssize_t i = 0; i < nargs; i++) see(&sight, args[i]);
    see_around(&sight, function, args, nargs);
    int64_t counted = Py_MIN(sight.turns - sight.elements, MOST_COUNTED);
    if (state->loops > 1) counted = counted * counted / 4;
    return Py_MAX(counted, sight.elements) * NS_PER_TURN;
}

bool
earn_is_hot(const CodeNote *note, const CodeState *state)
{
    return heat_in(note, state)->work >= note->price;
}

int64_t
earn_calls(const CodeNote *note, const CodeState *state)
{
    return heat_in(note, state)->calls;
}

bool
earn_is_hopeless(const CodeNote *note)
{
    return note->price > MOST_PRICE;
}

int64_t
earn_effort(const CodeNote *note)
{
    return note->installed ? (int64_t)note->price / HOT_INSTALLED * EFFORT_INSTALLED * HOT
                           : (int64_t)note->price * EFFORT;
}

void
earn_by_capture(CodeNote *note, CodeState *state, bool fruitful)
{
    if (fruitful) {
        if (note->installed) note->heat.work = 0;
        return;
    }
    if (!note->installed && ++note->fruitless < FRUITLESS) return;
    note->fruitless = 0;
    note->heat.work = state->heat.work = 0;
    if (!earn_is_hopeless(note)) note->price *= 2;
}

/* ---- the saving that a plan needs ---- */

int64_t
earn_turns_left(PyObject *iterator)
{
    if (iterator == NULL) return -1;
    PyTypeObject *type = Py_TYPE(iterator);
    if (type != &PyRangeIter_Type && type != &PyListIter_Type && type != &PyTupleIter_Type)
        return -1;
    Py_ssize_t left = PyObject_LengthHint(iterator, -1);
    if (left < 0) PyErr_Clear();
    return left;
}

/* The remaining iterations of the loops around the Instr `number`; the iterators of `for` loops are
   on the value stack. */
static int64_t
turns_to_come(const CodeNote *note, const CodeState *state, int number, PyObject *const *stack,
              int depth)
{
    LoopRange loops[MOST_LOOPS];
    int open = loops_around(loops, find_loops(state->decoded, loops), number);
    int64_t unknown = note->installed ? TURNS_UNKNOWN_INSTALLED : TURNS_UNKNOWN, turns = 1;
    for (int i = 0; i < depth && open > 0; i++) {
        int64_t left = earn_turns_left(stack[i]);
        if (left < 0) continue;
        open--;
        turns = Py_MIN(turns * (left + 1), MOST_TURNS);
    }
    while (open-- > 0) turns = Py_MIN(turns * unknown, MOST_TURNS);
    return turns;
}

Patience
earn_patience(const CodeNote *note, const CodeState *state, int number, PyObject *const *stack,
              int depth)
{
    int64_t turns = state->loops > 0 ? turns_to_come(note, state, number, stack, depth) : 1;
    int64_t runs = Py_MAX(earn_calls(note, state), 1) * turns;
    return (Patience){.load = LOAD_COST / runs, .compile = COMPILE_COST / runs, .turns = turns};
}

int64_t
earn_calls_wanted(const Patience *patience, bool on_disk, int gain)
{
    int64_t saved = Py_MAX(gain, 1) * patience->turns;
    return ((on_disk ? LOAD_COST : COMPILE_COST) + saved - 1) / saved;
}

/* ---- loops that are running ---- */

LoopSight
earn_loop(const CodeState *state, int number, PyObject *const *stack, int depth, int64_t otherwise)
{
    LoopRange loops[MOST_LOOPS];
    LoopSight sight = {.end = number, .own = otherwise, .around = 1};
    int n = find_loops(state->decoded, loops);
    bool counted = state->decoded->instrs[number].kind == I_FOR_ITER && depth > 0;
    for (int i = 0; i < n; i++)
        if (loops[i].head == number) sight.end = loops[i].end;
    int64_t left = counted ? earn_turns_left(stack[depth - 1]) : -1;
    if ((sight.told = left >= 0)) sight.own = left;
    for (int i = 0; i < depth - counted; i++) {
        left = earn_turns_left(stack[i]);
        if (left > 0) sight.around = Py_MIN(sight.around * (left + 1), MOST_TURNS);
    }
    sight.own = Py_MIN(sight.own, MOST_TURNS);
    return sight;
}

int
earn_loops_around(const CodeState *state, int number, int *heads, int most)
{
    LoopRange loops[MOST_LOOPS];
    int n = find_loops(state->decoded, loops), found = 0;
    for (int i = 0; i < n && found < most; i++)
        if (loops[i].head < number && number <= loops[i].end) heads[found++] = loops[i].head;
    return found;
}

Patience
earn_live_patience(int64_t runs)
{
    return (Patience){
        .load = Py_MAX(LOAD_COST / runs, 1), .compile = Py_MAX(COMPILE_COST / runs, 1), .turns = 1};
}
