/* Elementary functions of vectors that have the bits of NumPy's loops, and of a few of SciPy's.

   On x86-64 NumPy's loops for exp and log of float32 and for tanh are short (elementary.h,
   hyperbolic.h).  For most other functions they are calls: with AVX-512 of Intel's SVML, which
   NumPy contains and exports, else, and for sin and cos of float64 always, of the C library, some
   of whose functions are short, too (libm.h).  A kernel that does the same in registers fuses with
   what is around it and gives the same bits and flags.  SciPy's loops are short as well
   (special.h).  What is short needs AVX2 and FMA alone.

   Which function a loop is, this file does not believe but tries, when the process first asks: it
   compares the candidates with NumPy's loop on some thousand arguments, flags included.  NaNs
   count: the loop for tanh of float32 differs from SVML's function in their signs alone.  Which
   candidate it was is a finding (findings.c), and a process that finds it tries that candidate with
   the odd arguments alone. */
#include "numpy_api.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>

#if defined(__x86_64__)

#define ON_AVX512 __attribute__((noinline, target("avx512f,avx512dq,avx512bw,avx512vl,fma,avx2")))

typedef float F32 __attribute__((vector_size(64)));
typedef double F64 __attribute__((vector_size(64)));

/* y = f(x) vector by vector; `n` is a multiple of the lanes. */
ON_AVX512 static void
apply_f32(void *function, const float *x, float *y, int n)
{
    F32 (*f)(F32) = (F32 (*)(F32))function;
    for (int i = 0; i < n; i += 16) {
        F32 v;
        memcpy(&v, x + i, 64);
        v = f(v);
        memcpy(y + i, &v, 64);
    }
}

ON_AVX512 static void
apply_f64(void *function, const double *x, double *y, int n)
{
    F64 (*f)(F64) = (F64 (*)(F64))function;
    for (int i = 0; i < n; i += 8) {
        F64 v;
        memcpy(&v, x + i, 64);
        v = f(v);
        memcpy(y + i, &v, 64);
    }
}

/* ---- the candidates ---- */

int
elementary_bytes(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
               ? 64
               : 32;
}

VectorLoop
elementary_loop(const char *function, DType dtype, int bytes)
{
    VectorLoop loop = short_loop(function, dtype, bytes);
    return loop != NULL ? loop : special_loop(function, dtype, bytes);
}

/* A function of one vector, or loops over vectors of 32 and of 64 bytes. */
typedef struct {
    void *function;
    VectorLoop loop[2];
} Candidate;

/* By which way, of those of a candidate? */
enum { BY_32, BY_64, BY_FUNCTION, WAYS };

/* False: there is no such way. */
static bool
apply(const Candidate *candidate, int way, DType dtype, const void *x, void *y, int n)
{
    if (way == BY_FUNCTION ? candidate->function == NULL : candidate->loop[way] == NULL)
        return false;
    if (way != BY_FUNCTION)
        candidate->loop[way](x, y, n);
    else if (dtype == DT_F32)
        apply_f32(candidate->function, x, y, n);
    else
        apply_f64(candidate->function, x, y, n);
    return true;
}

static void *
numpy_library(void)
{
    static void *opened;
    if (opened != NULL) return opened;
    PyObject *file = module_object("numpy._core._multiarray_umath", "__file__");
    const char *path = file != NULL ? PyUnicode_AsUTF8(file) : NULL;
    if (path != NULL) opened = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    Py_XDECREF(file);
    PyErr_Clear();
    return opened;
}

/* NumPy's i-th function of vectors of 64 bytes for a function of C's name, and its symbol. */
static void *
function_candidate(int i, const char *function, DType dtype, char symbol[ELEMENTARY_SYMBOL])
{
    static const char *const forms[2][2] = {{"__svml_%sf16", NULL},
                                            {"__svml_%s8_ha", "__svml_%s8"}};
    const char *form = forms[dtype == DT_F64][i];
    if (form == NULL || numpy_library() == NULL) return NULL;
    snprintf(symbol, ELEMENTARY_SYMBOL, form, function);
    return dlsym(numpy_library(), symbol);
}

enum { CANDIDATES = 3 };

/* False: there is no i-th candidate. */
static bool
candidate_at(int i, const char *function, DType dtype, Candidate *out,
             char symbol[ELEMENTARY_SYMBOL])
{
    *out = (Candidate){0};
    symbol[0] = '\0';
    int bytes = elementary_bytes();
    for (int way = BY_32; i == 0 && way <= BY_64; way++)
        if (bytes >= 32 << way) out->loop[way] = elementary_loop(function, dtype, 32 << way);
    if (i > 0 && bytes == 64) out->function = function_candidate(i - 1, function, dtype, symbol);
    return out->loop[BY_32] != NULL || out->function != NULL;
}

/* ---- the comparison ---- */

/* First NaNs of several kinds, then odd numbers, then any bits, then numbers of usual sizes. */
enum { NANS = 8, ODD = 96, ANY = 2048, ARGUMENTS = 16384, FEW = 256, BLOCK = 16 };

static void
put_argument(DType dtype, char *x, int i, double value)
{
    if (dtype == DT_F32)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = value;
}

static void
put_bits(DType dtype, char *x, int i, uint64_t bits)
{
    if (dtype == DT_F32)
        ((uint32_t *)x)[i] = (uint32_t)(bits >> 32);
    else
        ((uint64_t *)x)[i] = bits;
}

static void
make_arguments(DType dtype, char *x, int n)
{
    static const double odd[] = {
        0.0, -0.0, Py_HUGE_VAL, -Py_HUGE_VAL, 1.0, -1.0, 0.5, -0.5, 2.0, 10.0, 1e-300, -1e-300,
        5e-324, -5e-324, 1e-40, -1e-40, 1e-46, 3e38, -3e38, 1.7e308, -1.7e308, 88.0, 88.72283,
        88.73, 89.0, -87.0, -87.4, -103.0, -103.98, -104.0, 700.0, 709.78, 709.79, 710.0, -700.0,
        -708.5, -744.0, -745.2, -746.0, 1e5, -1e5, 1e10, 1e22, 127.9, 128.1, -126.5, -149.5, 1023.9,
        1024.1, -1022.5, -1074.5, 0.999999, 1.000001, -0.999999, 1e-160, -1e-150, 8.0, 11.24,
        -11.3137085, 26.5, -37.5, -38.5,
        /* where another variant of glibc's exp, of which there is one without FMA, changes the last
           bit of erf, of erfc and of ndtr */
        1.075614751316607, 1.6117115002125502, 1.2264983700588346, 1.1475693583488464,
        1.0800798097625375, 1.0892203832045197, 1.2060042908415198, 1.349682904779911,
        5.09130859375, 1.31298828125, 7.767822265625, 4.43896484375, 1.83740234375, 18.43017578125,
        13.5205078125, 2.418701171875, -25.634765625, -20.5458984375, -30.994873046875,
        -3.264404296875, -19.00927734375, -7.761474609375, -16.4345703125, -9.359619140625};
    static const double scales[] = {1, 1e-4, 3, 30, 80, 700, 1e6};
    uint64_t exponent = dtype == DT_F32 ? (uint64_t)0xff << 55 : (uint64_t)0x7ff << 52;
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double unit = (double)(int64_t)state / 9223372036854775808.0; /* -1 to 1 */
        if (i < NANS)
            put_bits(dtype, x, i,
                     state | exponent | (i < 2 ? (uint64_t)1 << 51 : 0) |
                         (i & 1 ? (uint64_t)1 << 63 : 0));
        else if (i < NANS + COUNT_OF(odd))
            put_argument(dtype, x, i, odd[i - NANS]);
        else if (i % 8 == 0) /* log of what is near 1 is another formula */
            put_argument(dtype, x, i, 1 + unit / 14);
        else if (i < ANY)
            put_bits(dtype, x, i, state);
        else
            put_argument(dtype, x, i, unit * scales[(state >> 7) % COUNT_OF(scales)]);
    }
}

/* The loop's result for `n` elements, and the flags that it raises. */
static unsigned
by_numpy(const UfuncLoop *loop, DType dtype, char *x, char *y, int64_t n)
{
    int64_t size = (int64_t)dtype_size(dtype), strides[] = {size, size};
    char *data[] = {x, y};
    fp_flags_clear();
    loop->call(loop->context, data, &n, strides, loop->auxdata);
    return fp_flags_read();
}

/* Has this way the loop's bits, and its flags, for the first `n` arguments: by blocks of elements
   and, of all arguments, of odd ones each? */
static bool
is_the_same(const UfuncLoop *loop, const Candidate *candidate, int way, DType dtype, int n)
{
    static _Alignas(64) char x[ARGUMENTS * 8], wanted[ARGUMENTS * 8], got[ARGUMENTS * 8];
    _Alignas(64) char one[64];
    size_t size = dtype_size(dtype), bytes = (size_t)n * size;
    int lanes = 64 / (int)size;
    make_arguments(dtype, x, n);
    for (size_t at = 0; at < bytes; at += BLOCK * size) {
        unsigned flags = by_numpy(loop, dtype, x + at, wanted + at, BLOCK);
        fp_flags_clear();
        if (!apply(candidate, way, dtype, x + at, got + at, BLOCK)) return true;
        if (fp_flags_read() != flags) return false;
    }
    if (memcmp(wanted, got, bytes) != 0) return false;
    for (int i = 0; i < 2 * ODD && n == ARGUMENTS; i++) {
        for (int k = 0; k < lanes; k++) memcpy(one + (size_t)k * size, x + (size_t)i * size, size);
        unsigned flags = by_numpy(loop, dtype, one, wanted, 1);
        fp_flags_clear();
        apply(candidate, way, dtype, one, got, lanes);
        if (fp_flags_read() != flags) return false;
    }
    return true;
}

static bool
is_the_loop(const UfuncLoop *loop, const Candidate *candidate, DType dtype, int n)
{
    bool same = true;
    for (int way = 0; way < WAYS && same; way++) same = is_the_same(loop, candidate, way, dtype, n);
    return same;
}

/* ---- what is known ---- */

typedef struct {
    char function[16], symbol[ELEMENTARY_SYMBOL];
    PyObject *ufunc; /* whose loop was tried */
    DType dtype;
    bool known; /* else: there is none */
} Known;

static Known found[64];
static int nfound;

static int probes;

/* The name of the finding; false: it has none. */
static bool
finding_name(const Known *known, char out[FINDING_NAME])
{
    uint64_t file = 0;
    if (!ufunc_is_library(known->ufunc) && (file = finding_of_file(known->ufunc)) == 0)
        return false;
    return snprintf(out, FINDING_NAME, "%s.%s.%" PRIx64, known->function, dtype_name(known->dtype),
                    file) < FINDING_NAME;
}

static char pretended[32]; /* for tests: the function whose code is tried; empty: the right one */

/* Is the i-th candidate the loop, for so many arguments? */
static bool
try_candidate(Known *known, int i, const UfuncLoop *loop, int n)
{
    Candidate candidate;
    const char *function = *pretended != '\0' ? pretended : known->function;
    return candidate_at(i, function, known->dtype, &candidate, known->symbol) &&
           is_the_loop(loop, &candidate, known->dtype, n);
}

/* Sets known->known and the symbol by a finding: the number behind the candidate's, 0 for none.
   False: there is no finding that holds. */
static bool
by_finding(Known *known, const char *name, const UfuncLoop *loop)
{
    int64_t candidate;
    if (!finding_known(name, &candidate) || candidate < 0 || candidate > CANDIDATES) return false;
    known->known = candidate > 0 && try_candidate(known, (int)candidate - 1, loop, FEW);
    return candidate == 0 || known->known;
}

static void
by_probe(Known *known, const char *name, const UfuncLoop *loop)
{
    int candidate = 0;
    probes++;
    for (int i = 0; i < CANDIDATES && !known->known; i++) {
        known->known = try_candidate(known, i, loop, ARGUMENTS);
        candidate = known->known ? i + 1 : 0;
    }
    if (name != NULL) finding_note(name, candidate);
}

static void
find(Known *known)
{
    UfuncLoop loop = {0};
    char name[FINDING_NAME];
    DType dtypes[] = {known->dtype, known->dtype};
    bool is_there = ufunc_loop(known->ufunc, 1, 1, dtypes, &loop) == ANSWER_YES && !loop.needs_api;
    if (is_there && ufunc_is_library(known->ufunc))
        short_by_loop(known->function, known->dtype, &loop);
    bool named = is_there && finding_name(known, name);
    if (is_there && !(named && by_finding(known, name, &loop)))
        by_probe(known, named ? name : NULL, &loop);
    Py_XDECREF(loop.owner);
    PyErr_Clear();
    fp_flags_clear();
}

static const Known *
known_as(const char *function, DType dtype)
{
    for (int i = 0; i < nfound; i++)
        if (found[i].dtype == dtype && strcmp(found[i].function, function) == 0) return &found[i];
    return NULL;
}

bool
elementary_is_known(const char *function, PyObject *ufunc, DType dtype)
{
    const Known *known = known_as(function, dtype);
    if (known != NULL) return known->known && known->ufunc == ufunc;
    if (dtype != DT_F32 && dtype != DT_F64) return false;
    if (strlen(function) >= sizeof found[0].function) return false;
    if (!ufunc_is_library(ufunc)) {
        /* not now: its loop would report the odd arguments */
        if (!foreign_is_silent()) return false;
        /* by float64, since rounding to float32 hides what would make a difference now and then */
        if (dtype == DT_F32 && !elementary_is_known(function, ufunc, DT_F64)) return false;
    }
    if (nfound == COUNT_OF(found)) return false;
    Known *fresh = &found[nfound];
    *fresh = (Known){.dtype = dtype, .ufunc = Py_NewRef(ufunc)};
    strcpy(fresh->function, function);
    find(fresh);
    nfound++;
    return fresh->known;
}

const char *
elementary_symbol(const char *function, DType dtype)
{
    const Known *known = known_as(function, dtype);
    return known != NULL && known->known ? known->symbol : NULL;
}

void
elementary_link(void *(*place)(void *context, const char *name), void *context)
{
    for (int i = 0; i < nfound; i++) {
        char name[ELEMENTARY_SYMBOL + 8];
        if (!found[i].known || found[i].symbol[0] == '\0') continue;
        snprintf(name, sizeof name, "of_numpy%s", found[i].symbol);
        void **pointer = place(context, name);
        if (pointer != NULL) *pointer = dlsym(numpy_library(), found[i].symbol);
    }
    short_link(place, context);
    special_link(place, context);
}

void
elementary_forget(void)
{
    while (nfound > 0) Py_CLEAR(found[--nfound].ufunc);
}

void
elementary_pretend(const char *function)
{
    snprintf(pretended, sizeof pretended, "%s", function);
}

int
elementary_probes(void)
{
    return probes;
}

#else

int
elementary_bytes(void)
{
    return 0;
}

VectorLoop
elementary_loop(const char *function, DType dtype, int bytes)
{
    (void)function, (void)dtype, (void)bytes;
    return NULL;
}

bool
elementary_is_known(const char *function, PyObject *ufunc, DType dtype)
{
    (void)function, (void)ufunc, (void)dtype;
    return false;
}

const char *
elementary_symbol(const char *function, DType dtype)
{
    (void)function, (void)dtype;
    return NULL;
}

void
elementary_link(void *(*place)(void *context, const char *name), void *context)
{
    (void)place, (void)context;
}

void
elementary_forget(void)
{
}

void
elementary_pretend(const char *function)
{
    (void)function;
}

int
elementary_probes(void)
{
    return 0;
}

#endif
