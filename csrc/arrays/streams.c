/* Generators of random numbers in kept loops: a *stream* is a copy of a generator's state with the
   functions that draw from it.

   A step before the loop makes a stream of the program's generator, an array of bytes; the loop's
   kernel draws from it; a step behind the loop puts the state back (pycompile/_calls.py).  A kernel
   begins with the state of before, so that one that fails leaves nothing to undo.

   Bit generators are NumPy's own functions, on the copy: what is known here is how their states lie
   in memory (NumPy 2.5 random/src/pcg64/pcg64.h, mt19937/mt19937.h, sfc64/sfc64.h), which
   _calls.stream_is_known compares with what they say of themselves.  Distributions are those that
   the NumPy which runs exports, for which the same bits are no promise between versions; those of
   RandomState, which it does not export, never change (random/src/legacy/legacy-distributions.c).
   Python's are Lib/random.py and Modules/_randommodule.c.

   A draw that is not sure to be what NumPy does (a scale below 0, a bound that is none) fails: the
   loop is left to CPython. */
#include "../python/python.h"
#include "numpy_api.h"

#include <dlfcn.h>
#include <math.h>
#include <numpy/random/bitgen.h>

/* ---- states ---- */

typedef struct {
    uint32_t key[TWISTER_WORDS];
    int at;
} Twister;

typedef struct {
    uint64_t state[2], inc[2];
} Pcg;

/* As behind bitgen_t.state, but for the place of the Pcg. */
typedef struct {
    union {
        Twister twister;
        Pcg pcg;
        uint64_t sfc[4];
    };
    int has_half; /* of a number of 64 bits 32 are left: … */
    uint32_t half;
    int64_t has_normal; /* of a pair of normal numbers one is left: … */
    double normal;
} StreamState;

typedef struct {
    Pcg *pcg;
    int has_half;
    uint32_t half;
} NumpyPcg;

typedef struct {
    uint64_t words[4];
    int has_half;
    uint32_t half;
} NumpySfc;

typedef enum { STREAM_NONE, STREAM_PCG, STREAM_SFC, STREAM_TWISTER, STREAM_PYTHON } StreamKind;

typedef void (*AnyFunction)(void);

/* What a kernel sees of it is `functions` (codegen/region_draw.c).  The places in `bits` and in
   `pcg` are those of the memory in which it lies. */
typedef struct {
    const AnyFunction *functions; /* the first one begins a run */
    int64_t kind;
    bitgen_t bits;
    NumpyPcg pcg;
    NumpySfc sfc;
    StreamState before, after;
    _Alignas(16) Pcg words; /* NumPy loads 128 bits at once */
} Stream;

_Static_assert(sizeof(Stream) % sizeof(uint64_t) == 0, "a stream is an array of words");

static StreamKind
kind_of(PyObject *object)
{
    const char *dot = strrchr(Py_TYPE(object)->tp_name, '.');
    const char *name = dot != NULL ? dot + 1 : Py_TYPE(object)->tp_name;
    if (strcmp(name, "PCG64") == 0 || strcmp(name, "PCG64DXSM") == 0) return STREAM_PCG;
    if (strcmp(name, "SFC64") == 0) return STREAM_SFC;
    if (strcmp(name, "MT19937") == 0) return STREAM_TWISTER;
    return strcmp(name, "Random") == 0 ? STREAM_PYTHON : STREAM_NONE;
}

static bitgen_t *
bits_of(PyObject *object)
{
    PyObject *capsule = PyObject_GetAttrString(object, "capsule");
    bitgen_t *bits = capsule != NULL ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
    Py_XDECREF(capsule); /* the object keeps it */
    return bits;
}

/* Copies the state of the generator, or puts it `back`; but for what is left of a pair. */
static void
copy_state(StreamKind kind, void *of, StreamState *state, bool back)
{
#define COPY(there, here)                                                                          \
    (back ? memcpy(&(there), &(here), sizeof(here)) : memcpy(&(here), &(there), sizeof(here)))
    if (kind == STREAM_PCG) {
        NumpyPcg *there = of;
        COPY(*there->pcg, state->pcg);
        COPY(there->has_half, state->has_half);
        COPY(there->half, state->half);
    } else if (kind == STREAM_SFC) {
        NumpySfc *there = of;
        COPY(there->words, state->sfc);
        COPY(there->has_half, state->has_half);
        COPY(there->half, state->half);
    } else if (kind == STREAM_TWISTER) {
        COPY(*(Twister *)of, state->twister);
    } else {
        PythonRandom *there = of;
        COPY(there->key, state->twister.key);
        COPY(there->at, state->twister.at);
    }
#undef COPY
}

/* ---- a run ---- */

/* Where the functions of the bit generator find the state. */
static void *
run_state(Stream *s)
{
    switch ((StreamKind)s->kind) {
    case STREAM_PCG: return &s->pcg;
    case STREAM_SFC: return &s->sfc;
    default: return &s->after.twister;
    }
}

static void
begin(Stream *s)
{
    StreamKind kind = (StreamKind)s->kind;
    s->after = s->before;
    s->bits.state = run_state(s);
    s->pcg.pcg = &s->words;
    if (kind == STREAM_PCG || kind == STREAM_SFC) copy_state(kind, s->bits.state, &s->after, true);
}

/* What the run has left. */
static void
end(Stream *s)
{
    StreamKind kind = (StreamKind)s->kind;
    if (kind != STREAM_PCG && kind != STREAM_SFC) return;
    s->pcg.pcg = &s->words;
    copy_state(kind, run_state(s), &s->after, false);
}

/* ---- draws: 0, or 1 for what CPython is to do ---- */

/* Around what may raise floating-point flags, of which NumPy tells nobody. */
static unsigned
flags_kept(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr();
#else
    return fp_flags_read();
#endif
}

static void
flags_back(unsigned flags)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(flags);
#else
    (void)flags;
    fp_flags_clear();
#endif
}

static bool
is_moderate(double x)
{
    return x >= -1e150 && x <= 1e150;
}

/* Not below 0, and what is multiplied by it is a normal number. */
static bool
is_scale(double x)
{
    return (x >= 1e-150 && x <= 1e150) || (x == 0 && !signbit(x));
}

static bool
is_positive(double x)
{
    return x >= 1e-150 && x <= 1e150;
}

/* NumPy's distributions. */
static struct {
    double (*normal_01)(bitgen_t *);
    double (*exponential_1)(bitgen_t *);
    double (*uniform)(bitgen_t *, double, double);
    double (*normal)(bitgen_t *, double, double);
    double (*exponential)(bitgen_t *, double);
    double (*lognormal)(bitgen_t *, double, double);
    double (*gamma)(bitgen_t *, double, double);
    double (*gamma_1)(bitgen_t *, double);
    double (*laplace)(bitgen_t *, double, double);
    double (*logistic)(bitgen_t *, double, double);
    double (*gumbel)(bitgen_t *, double, double);
    double (*rayleigh)(bitgen_t *, double);
    double (*weibull)(bitgen_t *, double);
    int64_t (*poisson)(bitgen_t *, double);
    void (*integers)(bitgen_t *, uint64_t, uint64_t, npy_intp, bool, uint64_t *);
} numpy;

static const struct {
    const char *name;
    void *place;
} exported[] = {
    {"random_standard_normal", &numpy.normal_01},
    {"random_standard_exponential", &numpy.exponential_1},
    {"random_uniform", &numpy.uniform},
    {"random_normal", &numpy.normal},
    {"random_exponential", &numpy.exponential},
    {"random_lognormal", &numpy.lognormal},
    {"random_gamma", &numpy.gamma},
    {"random_standard_gamma", &numpy.gamma_1},
    {"random_laplace", &numpy.laplace},
    {"random_logistic", &numpy.logistic},
    {"random_gumbel", &numpy.gumbel},
    {"random_rayleigh", &numpy.rayleigh},
    {"random_weibull", &numpy.weibull},
    {"random_poisson", &numpy.poisson},
    {"random_bounded_uint64_fill", &numpy.integers},
};

#define FLOATS(name) static int draw_##name(Stream *s, double a, double b, double *out)
#define INTS(name) static int draw_##name(Stream *s, int64_t a, int64_t b, int64_t *out)
#define NOT_USED(x) (void)(x)

/* As in FLOATS, of a function that may raise flags. */
#define GUARDED(name, fits, call)                                                                  \
    FLOATS(name)                                                                                   \
    {                                                                                              \
        NOT_USED(a), NOT_USED(b);                                                                  \
        if (!(fits)) return 1;                                                                     \
        unsigned flags = flags_kept();                                                             \
        *out = call;                                                                               \
        flags_back(flags);                                                                         \
        return 0;                                                                                  \
    }

FLOATS(normal_01)
{
    NOT_USED(a), NOT_USED(b);
    *out = numpy.normal_01(&s->bits);
    return 0;
}

FLOATS(exponential_1)
{
    NOT_USED(a), NOT_USED(b);
    *out = numpy.exponential_1(&s->bits);
    return 0;
}

FLOATS(uniform)
{
    if (!is_moderate(a) || !is_moderate(b) || !is_scale(b - a)) return 1;
    *out = numpy.uniform(&s->bits, a, b - a);
    return 0;
}

FLOATS(normal)
{
    if (!is_moderate(a) || !is_scale(b)) return 1;
    *out = numpy.normal(&s->bits, a, b);
    return 0;
}

FLOATS(exponential)
{
    NOT_USED(b);
    if (!is_scale(a)) return 1;
    *out = numpy.exponential(&s->bits, a);
    return 0;
}

GUARDED(lognormal, is_moderate(a) && is_scale(b), numpy.lognormal(&s->bits, a, b))
GUARDED(gamma, is_positive(a) && is_scale(b), numpy.gamma(&s->bits, a, b))
GUARDED(gamma_1, is_positive(a), numpy.gamma_1(&s->bits, a))
GUARDED(laplace, is_moderate(a) && is_scale(b), numpy.laplace(&s->bits, a, b))
GUARDED(logistic, is_moderate(a) && is_scale(b), numpy.logistic(&s->bits, a, b))
GUARDED(gumbel, is_moderate(a) && is_scale(b), numpy.gumbel(&s->bits, a, b))
GUARDED(rayleigh, is_scale(a), numpy.rayleigh(&s->bits, a))
GUARDED(weibull, is_positive(a), numpy.weibull(&s->bits, a))

static int
draw_poisson(Stream *s, double a, double b, int64_t *out)
{
    NOT_USED(b);
    if (!is_scale(a) || a > 1e15) return 1;
    unsigned flags = flags_kept();
    *out = numpy.poisson(&s->bits, a);
    flags_back(flags);
    return 0;
}

static int
bounded(Stream *s, int64_t low, int64_t high, bool masked, int64_t *out)
{
    if (low >= high) return 1;
    uint64_t made;
    numpy.integers(&s->bits, (uint64_t)low, (uint64_t)high - 1 - (uint64_t)low, 1, masked, &made);
    *out = (int64_t)made;
    return 0;
}

INTS(integers)
{
    return bounded(s, a, b, false, out);
}

/* ---- RandomState's ---- */

INTS(legacy_integers)
{
    return bounded(s, a, b, true, out);
}

FLOATS(legacy_uniform)
{
    if (!is_moderate(a) || !is_moderate(b)) return 1;
    *out = numpy.uniform(&s->bits, a, b - a);
    return 0;
}

static double
next_double(Stream *s)
{
    return s->bits.next_double(s->bits.state);
}

static double
legacy_gauss(Stream *s)
{
    StreamState *state = &s->after;
    if (state->has_normal) {
        state->has_normal = 0;
        double left = state->normal;
        state->normal = 0.0;
        return left;
    }
    double x1, x2, r2;
    do {
        x1 = 2.0 * next_double(s) - 1.0;
        x2 = 2.0 * next_double(s) - 1.0;
        r2 = x1 * x1 + x2 * x2;
    } while (r2 >= 1.0 || r2 == 0.0);
    double f = sqrt(-2.0 * log(r2) / r2);
    state->normal = f * x1;
    state->has_normal = 1;
    return f * x2;
}

FLOATS(legacy_normal_01)
{
    NOT_USED(a), NOT_USED(b);
    *out = legacy_gauss(s);
    return 0;
}

FLOATS(legacy_normal)
{
    if (!is_moderate(a) || !is_scale(b)) return 1;
    *out = a + b * legacy_gauss(s);
    return 0;
}

FLOATS(legacy_exponential)
{
    NOT_USED(b);
    if (!is_scale(a)) return 1;
    *out = a * -log(1.0 - next_double(s));
    return 0;
}

/* ---- Python's ---- */

static uint32_t
twisted(uint32_t high, uint32_t low)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return (y >> 1) ^ ((low & 1) ? 0x9908b0dfu : 0);
}

static void
twist(Twister *t)
{
    enum { AHEAD = 397 };
    uint32_t *key = t->key;
    for (int i = 0; i < TWISTER_WORDS - AHEAD; i++)
        key[i] = key[i + AHEAD] ^ twisted(key[i], key[i + 1]);
    for (int i = TWISTER_WORDS - AHEAD; i < TWISTER_WORDS - 1; i++)
        key[i] = key[i + AHEAD - TWISTER_WORDS] ^ twisted(key[i], key[i + 1]);
    key[TWISTER_WORDS - 1] = key[AHEAD - 1] ^ twisted(key[TWISTER_WORDS - 1], key[0]);
    t->at = 0;
}

static uint32_t
next_32(void *state)
{
    Twister *t = state;
    if (t->at >= TWISTER_WORDS) twist(t);
    uint32_t y = t->key[t->at++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

static double
python_double(void *state)
{
    uint32_t a = next_32(state) >> 5, b = next_32(state) >> 6;
    return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
}

FLOATS(uniform_01)
{
    NOT_USED(a), NOT_USED(b);
    *out = next_double(s);
    return 0;
}

/* Two calls, as Python makes them: the compiler would make one of both. */
static double (*volatile sine)(double) = sin;
static double (*volatile cosine)(double) = cos;

/* Random.gauss(0, 1) */
FLOATS(python_normal_01)
{
    NOT_USED(a), NOT_USED(b);
    StreamState *state = &s->after;
    if (state->has_normal) {
        state->has_normal = 0;
        *out = state->normal;
        state->normal = 0.0;
        return 0;
    }
    double angle = next_double(s) * 6.283185307179586;
    double radius = sqrt(-2.0 * log(1.0 - next_double(s)));
    *out = cosine(angle) * radius;
    state->normal = sine(angle) * radius;
    state->has_normal = 1;
    return 0;
}

/* Random.normalvariate(0, 1) */
FLOATS(python_normalvariate_01)
{
    NOT_USED(a), NOT_USED(b);
    double z, u2;
    do {
        double u1 = next_double(s);
        u2 = 1.0 - next_double(s);
        z = 4 * exp(-0.5) / sqrt(2.0) * (u1 - 0.5) / u2;
    } while (!(z * z / 4.0 <= -log(u2)));
    *out = z;
    return 0;
}

FLOATS(python_exponential_1)
{
    NOT_USED(a), NOT_USED(b);
    *out = -log(1.0 - next_double(s));
    return 0;
}

/* Random.getrandbits */
static uint64_t
random_bits(Stream *s, int k)
{
    if (k <= 32) return next_32(s->bits.state) >> (32 - k);
    uint64_t low = next_32(s->bits.state);
    return low | (uint64_t)(next_32(s->bits.state) >> (64 - k)) << 32;
}

INTS(python_below)
{
    NOT_USED(b);
    if (a <= 0) return 1;
    int k = 64 - __builtin_clzll((unsigned long long)a);
    uint64_t made;
    do made = random_bits(s, k);
    while (made >= (uint64_t)a);
    *out = (int64_t)made;
    return 0;
}

INTS(python_bits)
{
    NOT_USED(b);
    if (a <= 0 || a > 63) return 1;
    *out = (int64_t)random_bits(s, (int)a);
    return 0;
}

static const AnyFunction functions[] = {
    (AnyFunction)begin,
#define DRAW(name, ...) (AnyFunction) draw_##name,
#define METHOD(...)
#include "draws.def"
};

const char *
array_draw_name(ArrayDraw draw)
{
    static const char *const names[] = {
#define DRAW(name, result) #name,
#define METHOD(...)
#include "draws.def"
    };
    return names[draw];
}

DType
array_draw_dtype(ArrayDraw draw)
{
    static const DType dtypes[] = {
#define DRAW(name, result) result,
#define METHOD(...)
#include "draws.def"
    };
    return dtypes[draw];
}

bool
array_draw_takes_ints(ArrayDraw draw)
{
    return array_draw_dtype(draw) == DT_I64 && draw != DRAW_poisson;
}

/* ---- streams as arrays ---- */

/* The functions that NumPy exports; -1 with the error set. */
static int
find_exported(void)
{
    if (numpy.normal_01 != NULL) return 0;
    PyObject *module = PyImport_ImportModule("numpy.random._generator");
    PyObject *file = module != NULL ? PyObject_GetAttrString(module, "__file__") : NULL;
    const char *path = file != NULL ? PyUnicode_AsUTF8(file) : NULL;
    void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    for (int i = COUNT_OF(exported) - 1; i >= 0 && library != NULL; i--) {
        void *found = dlsym(library, exported[i].name);
        if (found == NULL) PyErr_Format(PyExc_TypeError, "NumPy has no %s", exported[i].name);
        if (found == NULL) break;
        memcpy(exported[i].place, &found, sizeof found);
    }
    if (library == NULL && path != NULL) PyErr_SetString(PyExc_TypeError, "NumPy's own is hidden");
    Py_XDECREF(file);
    Py_XDECREF(module);
    return PyErr_Occurred() ? -1 : 0;
}

/* What is left of a pair of normal numbers lies in a RandomState behind a pointer to its own copy
   of the bit generator's functions (NumPy 2.5 random/mtrand.pyx, _aug_state); NULL: it is not
   found. */
typedef struct {
    bitgen_t *bits;
    int has_normal;
    double normal;
} NumpyNormal;

static NumpyNormal *
numpy_normal(PyObject *generator, const bitgen_t *bits)
{
    char *begin = (char *)(generator + 1);
    char *stop = (char *)generator + Py_TYPE(generator)->tp_basicsize;
    for (char *at = begin; at + sizeof(NumpyNormal) <= stop; at += sizeof(void *)) {
        NumpyNormal *there = (NumpyNormal *)at;
        char *of = (char *)there->bits;
        if (of >= begin && of + sizeof(bitgen_t) <= stop && (uintptr_t)of % sizeof(void *) == 0 &&
            memcmp(of, bits, sizeof(bitgen_t)) == 0)
            return there;
    }
    return NULL;
}

/* 0, or -1 with the error set. */
static int
copy_normal(StreamKind kind, PyObject *generator, const bitgen_t *bits, StreamState *state,
            bool back)
{
    if (kind == STREAM_PYTHON && back) {
        PyObject *normal =
            state->has_normal ? PyFloat_FromDouble(state->normal) : Py_NewRef(Py_None);
        int failed = normal == NULL || PyObject_SetAttrString(generator, "gauss_next", normal) < 0;
        Py_XDECREF(normal);
        return -failed;
    }
    if (kind == STREAM_PYTHON) {
        PyObject *normal = PyObject_GetAttrString(generator, "gauss_next");
        state->has_normal = normal != NULL && normal != Py_None;
        if (state->has_normal) state->normal = PyFloat_AsDouble(normal);
        Py_XDECREF(normal);
        return PyErr_Occurred() ? -1 : 0;
    }
    if (strcmp(Py_TYPE(generator)->tp_name, "numpy.random.mtrand.RandomState") != 0) return 0;
    NumpyNormal *there = numpy_normal(generator, bits);
    if (there == NULL) {
        PyErr_SetString(PyExc_TypeError, "a RandomState that is not known");
        return -1;
    }
    if (back) {
        there->has_normal = state->has_normal != 0;
        there->normal = state->normal;
    } else {
        state->has_normal = there->has_normal != 0;
        state->normal = there->normal;
    }
    return 0;
}

/* The state of the bit generator of NumPy's, or random.Random, `object` and of its `generator`:
   from there, or back.  0, or -1 with the error set. */
static int
copy_all(StreamKind kind, PyObject *object, PyObject *generator, StreamState *state, bool back)
{
    bitgen_t *bits = kind != STREAM_PYTHON ? bits_of(object) : NULL;
    if (bits == NULL && kind != STREAM_PYTHON) return -1;
    copy_state(kind, bits != NULL ? bits->state : (void *)object, state, back);
    return copy_normal(kind, generator, bits, state, back);
}

static int
fill(Stream *s, PyObject *object, PyObject *generator)
{
    memset(s, 0, sizeof *s);
    s->functions = functions;
    s->kind = kind_of(object);
    if (s->kind == STREAM_NONE) {
        PyErr_SetString(PyExc_TypeError, "a generator whose state is not known");
        return -1;
    }
    s->bits = (bitgen_t){.next_double = python_double, .next_uint32 = next_32};
    if (s->kind != STREAM_PYTHON) {
        bitgen_t *bits = bits_of(object);
        if (bits == NULL || find_exported() < 0) return -1;
        s->bits = *bits;
    }
    return copy_all((StreamKind)s->kind, object, generator, &s->before, false);
}

PyObject *
py_stream_open(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *object, *generator;
    npy_intp words = sizeof(Stream) / sizeof(uint64_t);
    if (!PyArg_ParseTuple(args, "OO", &object, &generator)) return NULL;
    PyObject *array = PyArray_SimpleNew(1, &words, NPY_UINT64);
    Stream *s = array != NULL ? PyArray_DATA((PyArrayObject *)array) : NULL;
    if (s == NULL) return NULL;
    if ((uintptr_t)s % 16 != 0) PyErr_SetString(PyExc_TypeError, "memory that is not aligned");
    if (PyErr_Occurred() || fill(s, object, generator) < 0)
        Py_CLEAR(array);
    else
        begin(s);
    return array;
}

static Stream *
stream_in(PyObject *array)
{
    Stream *s = NULL;
    if (PyArray_CheckExact(array) &&
        PyArray_NBYTES((PyArrayObject *)array) == (npy_intp)sizeof(Stream))
        s = PyArray_DATA((PyArrayObject *)array);
    if (s != NULL && s->functions == functions) return s;
    PyErr_SetString(PyExc_TypeError, "no stream");
    return NULL;
}

PyObject *
py_stream_state(PyObject *Py_UNUSED(self), PyObject *array)
{
    Stream *s = stream_in(array);
    return s == NULL ? NULL : PyBytes_FromStringAndSize((const char *)&s->before, sizeof s->before);
}

PyObject *
py_stream_close(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *array, *object, *generator;
    if (!PyArg_ParseTuple(args, "OOO", &array, &object, &generator)) return NULL;
    Stream *s = stream_in(array), now;
    if (s == NULL || fill(&now, object, generator) < 0) return NULL;
    if (now.kind != s->kind || memcmp(&now.before, &s->before, sizeof now.before) != 0)
        return PyErr_Format(PyExc_ValueError, "another thread has drawn");
    end(s);
    if (copy_all((StreamKind)s->kind, object, generator, &s->after, true) < 0) return NULL;
    Py_RETURN_NONE;
}

PyObject *
py_stream_restore(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *array, *object, *generator;
    if (!PyArg_ParseTuple(args, "OOO", &array, &object, &generator)) return NULL;
    Stream *s = stream_in(array);
    if (s == NULL || copy_all((StreamKind)s->kind, object, generator, &s->before, true) < 0)
        return NULL;
    Py_RETURN_NONE;
}
