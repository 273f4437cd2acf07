/* Floating-point events: what np.errstate says about them, and the hardware's flags.

   The current errstate is a capsule in NumPy's context variable.  Facts derived from it are cached
   for the last few capsules (each held by a reference, so that its address is not reused): the mask
   of modes other than 'ignore', and capsules in which these modes are 'raise'. */
#include "numpy_api.h"

#include <fenv.h>

typedef struct {
    PyObject *capsule;     /* owned; NULL: the entry is free */
    PyObject *raising[16]; /* by the mask of events that raise, others being ignored; owned; made at
                              first use */
    int mask;
    bool raises_already; /* every mode is 'ignore' or 'raise' */
} State;

enum { STATES = 4 };
static State states[STATES];
static int next_state;
static PyObject *context_variable, *get_extobj_dict, *make_extobj;

static const struct {
    const char *name;
    int bit;
} modes[] = {
    {"divide", FP_DIVIDE}, {"over", FP_OVERFLOW}, {"under", FP_UNDERFLOW}, {"invalid", FP_INVALID}};

int
numpy_errors_init(void)
{
    PyObject *umath = module_import("numpy._core.umath");
    if (umath == NULL) return -1;
    context_variable = PyObject_GetAttrString(umath, "_extobj_contextvar");
    get_extobj_dict = PyObject_GetAttrString(umath, "_get_extobj_dict");
    make_extobj = PyObject_GetAttrString(umath, "_make_extobj");
    Py_DECREF(umath);
    return context_variable && get_extobj_dict && make_extobj ? 0 : -1;
}

/* Reads the modes of the current errstate, which is `capsule`, into an entry of the cache. */
static State *
state_make(PyObject *capsule)
{
    PyObject *dict = PyObject_CallNoArgs(get_extobj_dict);
    if (dict == NULL) return NULL;
    State fresh = {.raises_already = true};
    for (int i = 0; i < COUNT_OF(modes); i++) {
        PyObject *mode = PyDict_GetItemString(dict, modes[i].name);
        if (mode == NULL || !PyUnicode_Check(mode)) {
            Py_DECREF(dict);
            PyErr_SetString(PyExc_SystemError, "unexpected form of NumPy's error state");
            return NULL;
        }
        if (PyUnicode_CompareWithASCIIString(mode, "ignore") == 0) continue;
        fresh.mask |= modes[i].bit;
        if (PyUnicode_CompareWithASCIIString(mode, "raise") != 0) fresh.raises_already = false;
    }
    Py_DECREF(dict);
    State *state = &states[next_state++ % STATES];
    State old = *state;
    fresh.capsule = Py_NewRef(capsule);
    *state = fresh;
    Py_XDECREF(old.capsule);
    for (int i = 0; i < COUNT_OF(old.raising); i++) Py_XDECREF(old.raising[i]);
    return state;
}

/* The cache entry of the current errstate; NULL with the error set. */
static State *
state_current(void)
{
    PyObject *capsule;
    if (PyContextVar_Get(context_variable, NULL, &capsule) < 0) return NULL;
    if (capsule == NULL) {
        PyErr_SetString(PyExc_SystemError, "NumPy's error state has no value");
        return NULL;
    }
    State *state = NULL;
    for (int i = 0; i < STATES; i++)
        if (states[i].capsule == capsule) state = &states[i];
    if (state == NULL) state = state_make(capsule);
    Py_DECREF(capsule);
    return state;
}

int
array_error_mask(void)
{
    State *state = state_current();
    return state != NULL ? state->mask : -1;
}

/* Adds to `state`, which must be the current errstate, the capsule with 'raise' for the events of
   `mask` and 'ignore' for the others. */
static int
state_make_raising(State *state, unsigned mask)
{
    PyObject *keywords = PyDict_New(), *none = PyTuple_New(0);
    int result = keywords == NULL || none == NULL ? -1 : 0;
    for (int i = 0; i < COUNT_OF(modes) && result == 0; i++) {
        PyObject *mode = PyUnicode_InternFromString(mask & modes[i].bit ? "raise" : "ignore");
        result = mode ? PyDict_SetItemString(keywords, modes[i].name, mode) : -1;
        Py_XDECREF(mode);
    }
    if (result == 0 && (state->raising[mask] = PyObject_Call(make_extobj, none, keywords)) == NULL)
        result = -1;
    Py_XDECREF(keywords);
    Py_XDECREF(none);
    return result;
}

PyObject *
array_errors_raise_begin(ErrorState errors)
{
    State *state = state_current();
    if (state == NULL) return NULL;
    if (state->raises_already && errors == 0) return Py_NewRef(Py_None);
    unsigned mask = errors_mask(errors, (unsigned)state->mask);
    if (state->raising[mask] == NULL && state_make_raising(state, mask) < 0) return NULL;
    return PyContextVar_Set(context_variable, state->raising[mask]);
}

PyObject *
array_errors_variable(void)
{
    return context_variable;
}

PyObject *
array_errors_maker(void)
{
    return make_extobj;
}

/* The mode that the keywords set for an event, borrowed; NULL if they do not. */
static PyObject *
mode_given(PyObject *keywords, const char *name)
{
    PyObject *mode = PyDict_GetItemString(keywords, name);
    if (mode == NULL || mode == Py_None) mode = PyDict_GetItemString(keywords, "all");
    return mode == Py_None ? NULL : mode;
}

Answer
array_errors_change(ErrorState base, PyObject *keywords, ErrorState *out)
{
    PyObject *none = PyTuple_New(0);
    PyObject *made = none ? PyObject_Call(make_extobj, none, keywords) : NULL;
    Py_XDECREF(none);
    if (made == NULL) return ANSWER_NO;
    Py_DECREF(made);
    *out = base;
    for (int i = 0; i < COUNT_OF(modes); i++) {
        PyObject *mode = mode_given(keywords, modes[i].name);
        if (mode == NULL) continue;
        bool ignored = PyUnicode_CompareWithASCIIString(mode, "ignore") == 0;
        unsigned bit = (unsigned)modes[i].bit;
        *out = (ErrorState)((*out & ~bit) | bit << 4 | (ignored ? 0 : bit));
    }
    return ANSWER_YES;
}

int
array_errors_raise_end(PyObject *token)
{
    int result = 0;
    if (token != Py_None) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        result = PyContextVar_Reset(context_variable, token);
        if (result < 0) {
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(traceback);
        } else {
            PyErr_Restore(type, value, traceback);
        }
    }
    Py_DECREF(token);
    return result;
}

/* ---- the hardware's flags ---- */

#if defined(__x86_64__)
#include <xmmintrin.h>

/* The same bits in MXCSR and in the x87 status word: invalid 1, divide 4, overflow 8, underflow
   16.  The C library's functions do the same but rewrite the whole x87 environment, which is 10
   times slower. */
enum { HARDWARE_FLAGS = 0x3f };

static inline unsigned
x87_flags(void)
{
    uint16_t status;
    __asm__ volatile("fnstsw %0" : "=a"(status));
    return status & HARDWARE_FLAGS;
}

void
fp_flags_clear(void)
{
    unsigned csr = _mm_getcsr();
    if (csr & HARDWARE_FLAGS) _mm_setcsr(csr & ~(unsigned)HARDWARE_FLAGS);
    if (x87_flags()) __asm__ volatile("fnclex");
}

unsigned
fp_flags_read(void)
{
    unsigned flags = _mm_getcsr() | x87_flags();
    return (flags & 4 ? FP_DIVIDE : 0) | (flags & 8 ? FP_OVERFLOW : 0) |
           (flags & 16 ? FP_UNDERFLOW : 0) | (flags & 1 ? FP_INVALID : 0);
}

#else

void
fp_flags_clear(void)
{
    feclearexcept(FE_ALL_EXCEPT);
}

unsigned
fp_flags_read(void)
{
    int flags = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    return (flags & FE_DIVBYZERO ? FP_DIVIDE : 0) | (flags & FE_OVERFLOW ? FP_OVERFLOW : 0) |
           (flags & FE_UNDERFLOW ? FP_UNDERFLOW : 0) | (flags & FE_INVALID ? FP_INVALID : 0);
}

#endif
