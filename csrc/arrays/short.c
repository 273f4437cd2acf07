/* The functions of elementary.h, hyperbolic.h and libm.h in the extension module: compared with
   NumPy's loops, and called by kernels in which copies would be long; the tables that all read. */
#include "../elementary.h"
#include "../hyperbolic.h"
#include "../libm.h"
#include "numpy_api.h"

#if defined(__x86_64__)

/* ---- odd arguments ---- */

/* Two versions of a function in the C library may give NaNs of other signs, so NumPy's own loop
   is asked, when it is known. */
enum { EXP, LOG, SIN, COS, ASKED };
static const char *const asked_names[ASKED] = {"exp", "log", "sin", "cos"};
static UfuncLoop asked[ASKED];

static double
by_loop(const UfuncLoop *loop, double x)
{
    double y;
    char *data[] = {(char *)&x, (char *)&y};
    int64_t one = 1, strides[] = {sizeof x, sizeof y};
    loop->call(loop->context, data, &one, strides, loop->auxdata);
    return y;
}

#define BY_LOOP(name, which)                                                                       \
    static double of_pycompile_##name(double x)                                                    \
    {                                                                                              \
        return by_loop(&asked[which], x);                                                          \
    }
BY_LOOP(exp, EXP)
BY_LOOP(log, LOG)
BY_LOOP(sin, SIN)
BY_LOOP(cos, COS)

/* Which of them a function of float64 is; -1: none. */
static int
asked_at(const char *function, DType dtype)
{
    for (int i = 0; i < ASKED; i++)
        if (dtype == DT_F64 && strcmp(asked_names[i], function) == 0) return i;
    return -1;
}

void
short_by_loop(const char *function, DType dtype, const UfuncLoop *loop)
{
    int i = asked_at(function, dtype);
    if (i < 0 || asked[i].call != NULL) return;
    asked[i] = *loop;
    Py_XINCREF(asked[i].owner);
}

/* ---- tables ---- */

static const _Alignas(64) unsigned tanh_f32_table[] = {TANH_F32_TABLE};
static const _Alignas(64) unsigned long long tanh_f64_table[] = {TANH_F64_TABLE};

/* The same by intervals: of hyperbolic.h, for vectors of 32 bytes. */
static _Alignas(64) unsigned of_pycompile_tanh_f32[32 * 8];
static _Alignas(64) unsigned long long of_pycompile_tanh_f64[16 * 32];

static const double *of_pycompile_log_table, *of_pycompile_sine_table; /* NULL: not found */

/* Once: it takes longer than all else about these functions. */
static void
find_log_table(void)
{
    static bool searched;
    if (!searched) of_pycompile_log_table = libm_log_table();
    searched = true;
}

static void
find_sine_table(void)
{
    static bool searched;
    if (!searched) of_pycompile_sine_table = libm_sine_table();
    searched = true;
}

static void
make_tanh_tables(void)
{
    for (int at = 0; at < 32 * 8; at++)
        of_pycompile_tanh_f32[at] = tanh_f32_table[at % 8 * 32 + at / 8];
    for (int at = 0; at < 16 * 18; at++) {
        int row = at / 16, place = row == 0 ? 0 : 18 - row;
        of_pycompile_tanh_f64[at % 16 * 32 + place] = tanh_f64_table[at];
    }
}

/* For a function by its name, or a link's name. */
static void
make_tables(const char *name)
{
    static bool made;
    if (strstr(name, "log_") != NULL || strcmp(name, "log") == 0) find_log_table();
    if (strstr(name, "sine_") != NULL || strcmp(name, "sin") == 0 || strcmp(name, "cos") == 0)
        find_sine_table();
    if (made || strstr(name, "tanh") == NULL) return;
    made = true;
    make_tanh_tables();
}

/* ---- loops ---- */

#include "vector_loops.h"

/* y = f(x) for `n` elements, a multiple of the lanes, as kernels compute it (codegen/functions.c).
 */
#define LOOP(NAME, name, NUMBER, INTEGER, BYTES)                                                   \
    TARGET_##BYTES static void name##_##BYTES(const void *x, void *y, int n)                       \
    {                                                                                              \
        typedef NUMBER T __attribute__((vector_size(BYTES)));                                      \
        for (int i = 0; i < n * (int)sizeof(NUMBER); i += BYTES) {                                 \
            T r;                                                                                   \
            memcpy(&r, (const char *)x + i, BYTES);                                                \
            r = name##_of_##BYTES(r);                                                              \
            memcpy((char *)y + i, &r, BYTES);                                                      \
        }                                                                                          \
    }
#define FUNCTION(NAME, name, NUMBER, INTEGER, BYTES)                                               \
    TARGET_##BYTES static NUMBER __attribute__((vector_size(BYTES))) name##_of_##BYTES(            \
        NUMBER __attribute__((vector_size(BYTES))) a)                                              \
    {                                                                                              \
        typedef NUMBER T __attribute__((vector_size(BYTES)));                                      \
        typedef INTEGER B __attribute__((vector_size(BYTES), unused));                             \
        typedef unsigned INTEGER U __attribute__((vector_size(BYTES), unused));                    \
        if (!NAME##_IS_PLAIN(V##BYTES)) {                                                          \
            NAME##_ODD(V##BYTES)                                                                   \
        }                                                                                          \
        NAME##_PLAIN(V##BYTES)                                                                     \
    }                                                                                              \
    LOOP(NAME, name, NUMBER, INTEGER, BYTES)
#define FUNCTIONS(NAME, name, NUMBER, INTEGER)                                                     \
    FUNCTION(NAME, name, NUMBER, INTEGER, 32)                                                      \
    FUNCTION(NAME, name, NUMBER, INTEGER, 64)

FUNCTIONS(EXP_F32, exp_f32, float, int)
FUNCTIONS(LOG_F32, log_f32, float, int)
FUNCTIONS(TANH_F32, tanh_f32, float, int)
FUNCTIONS(TANH_F64, tanh_f64, double, long long)
FUNCTIONS(EXP_F64, exp_f64, double, long long)
FUNCTIONS(LOG_F64, log_f64, double, long long)
FUNCTIONS(SIN_F64, sin_f64, double, long long)
FUNCTIONS(COS_F64, cos_f64, double, long long)

/* ---- what kernels read and call ---- */

void
short_link(LinkPlace place, void *context)
{
    static const Link links[] = {
        {"of_pycompile_tanh_f32", of_pycompile_tanh_f32},
        {"of_pycompile_tanh_f64", of_pycompile_tanh_f64},
        {"of_pycompile_exp_table", libm_exp_table},
        {"of_pycompile_exp_f32x8", (const void *)exp_f32_of_32},
        {"of_pycompile_exp_f32x16", (const void *)exp_f32_of_64},
        {"of_pycompile_log_f32x8", (const void *)log_f32_of_32},
        {"of_pycompile_log_f32x16", (const void *)log_f32_of_64},
        {"of_pycompile_tanh_f32x8", (const void *)tanh_f32_of_32},
        {"of_pycompile_tanh_f32x16", (const void *)tanh_f32_of_64},
        {"of_pycompile_tanh_f64x4", (const void *)tanh_f64_of_32},
        {"of_pycompile_tanh_f64x8", (const void *)tanh_f64_of_64},
        {"of_pycompile_exp_f64x4", (const void *)exp_f64_of_32},
        {"of_pycompile_exp_f64x8", (const void *)exp_f64_of_64},
        {"of_pycompile_log_f64x4", (const void *)log_f64_of_32},
        {"of_pycompile_log_f64x8", (const void *)log_f64_of_64},
        {"of_pycompile_sin_f64x4", (const void *)sin_f64_of_32},
        {"of_pycompile_sin_f64x8", (const void *)sin_f64_of_64},
        {"of_pycompile_cos_f64x4", (const void *)cos_f64_of_32},
        {"of_pycompile_cos_f64x8", (const void *)cos_f64_of_64},
    };
    static const struct {
        const char *name;
        const double *const *there;
    } found[] = {{"of_pycompile_log_table", &of_pycompile_log_table},
                 {"of_pycompile_sine_table", &of_pycompile_sine_table}};
    for (int i = 0; i < COUNT_OF(links); i++) {
        const void **pointer = (const void **)place(context, links[i].name);
        if (pointer == NULL) continue;
        make_tables(links[i].name);
        *pointer = links[i].there;
    }
    for (int i = 0; i < COUNT_OF(found); i++) {
        const void **pointer = (const void **)place(context, found[i].name);
        if (pointer == NULL) continue;
        make_tables(found[i].name);
        *pointer = *found[i].there;
    }
}

/* ---- by their names ---- */

VectorLoop
short_loop(const char *function, DType dtype, int bytes)
{
    static const struct {
        const char *function;
        DType dtype;
        VectorLoop loop[2]; /* by vectors of 32 and 64 bytes */
    } functions[] = {
        {"exp", DT_F32, {exp_f32_32, exp_f32_64}},    {"log", DT_F32, {log_f32_32, log_f32_64}},
        {"tanh", DT_F32, {tanh_f32_32, tanh_f32_64}}, {"tanh", DT_F64, {tanh_f64_32, tanh_f64_64}},
        {"exp", DT_F64, {exp_f64_32, exp_f64_64}},    {"log", DT_F64, {log_f64_32, log_f64_64}},
        {"sin", DT_F64, {sin_f64_32, sin_f64_64}},    {"cos", DT_F64, {cos_f64_32, cos_f64_64}},
    };
    VectorLoop found = NULL;
    make_tables(function);
    for (int i = 0; i < COUNT_OF(functions); i++)
        if (functions[i].dtype == dtype && strcmp(functions[i].function, function) == 0)
            found = functions[i].loop[bytes == 64];
    int asks = asked_at(function, dtype);
    if (asks < 0) return found;
    bool has_table = asks == EXP || (asks == LOG ? of_pycompile_log_table != NULL
                                                 : of_pycompile_sine_table != NULL);
    return asked[asks].call != NULL && has_table ? found : NULL;
}

#else

void
short_by_loop(const char *function, DType dtype, const UfuncLoop *loop)
{
    (void)function, (void)dtype, (void)loop;
}

void
short_link(LinkPlace place, void *context)
{
    (void)place, (void)context;
}

VectorLoop
short_loop(const char *function, DType dtype, int bytes)
{
    (void)function, (void)dtype, (void)bytes;
    return NULL;
}

#endif
