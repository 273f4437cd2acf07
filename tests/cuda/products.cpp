// A cuBLASLt that computes on the CPU, for tests: libcublasLt.so.13.  Matrices are in Fortran order, as
// cuBLASLt's are.  What is not as its documentation asks is refused, and the tests can have it refuse,
// fail, or answer wrongly.
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#define EXECUTOR_HOST
#include "device.h"

#define API extern "C" __attribute__((visibility("default"))) int

extern "C" int executor_current();
extern "C" bool executor_is_here(const void *at);
extern "C" bool executor_record(void *stream, void (*call)(const void *), const void *bytes, size_t count);

extern "C" {
__attribute__((visibility("default"))) int products_refused, products_failing, products_wrong, products_workspace; // to be set
// How many algorithms there are, and which of them is no slow one; the one of the last product.
__attribute__((visibility("default"))) int products_offered = 1, products_best, products_algorithm;
__attribute__((visibility("default"))) int products_asked, products_made, products_epilogue, products_tf32;
}

struct Desc {
    int compute, turned[2], epilogue, bias_type;
    const char *bias;
};
struct Layout {
    int type;
    uint64_t rows, columns;
    int64_t lead, step;
    int batch;
};
struct Preference {
    uint64_t workspace;
    uint32_t aligned[4]; // of A, B, C, D
};
struct Found {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};
enum { SUCCESS = 0, INVALID = 7, FAILED = 13, REFUSED = 15, MAGIC = 0x5ca1ab1e };

extern "C" __attribute__((visibility("default"))) size_t cublasLtGetVersion() { return 130100; }
// Of the current device.
static bool is_handle(void *handle) { return handle == (void *)(size_t)(0x17 + executor_current()); }
API cublasLtCreate(void **handle) { *handle = (void *)(size_t)(0x17 + executor_current()); return SUCCESS; }
API cublasLtMatmulDescCreate(void **out, int compute, int scale)
{
    *out = new Desc{compute, {0, 0}, 1, -1, nullptr};
    return scale == 0 && (compute == 68 || compute == 77) ? SUCCESS : INVALID;
}
API cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes)
{
    Desc *d = (Desc *)desc;
    if (bytes != (attribute == 8 ? 8 : 4)) return INVALID;
    if (attribute == 3 || attribute == 4)
        memcpy(&d->turned[attribute - 3], value, 4);
    else if (attribute == 7)
        memcpy(&d->epilogue, value, 4);
    else if (attribute == 8)
        memcpy(&d->bias, value, 8);
    else if (attribute == 26)
        memcpy(&d->bias_type, value, 4);
    else
        return INVALID;
    return SUCCESS;
}
API cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t lead)
{
    *out = new Layout{type, rows, columns, lead, 0, 1};
    return (type == 0 || type == 2 || type == 14) && lead >= (int64_t)rows ? SUCCESS : INVALID;
}
API cublasLtMatmulDescDestroy(void *desc) { delete (Desc *)desc; return SUCCESS; }
API cublasLtMatrixLayoutDestroy(void *layout) { delete (Layout *)layout; return SUCCESS; }
API cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes)
{
    Layout *l = (Layout *)layout;
    if (attribute == 5 && bytes == 4)
        memcpy(&l->batch, value, 4);
    else if (attribute == 6 && bytes == 8)
        memcpy(&l->step, value, 8);
    else
        return INVALID;
    return SUCCESS;
}
API cublasLtMatmulPreferenceCreate(void **out)
{
    *out = new Preference{0, {256, 256, 256, 256}};
    return SUCCESS;
}
API cublasLtMatmulPreferenceDestroy(void *preference) { delete (Preference *)preference; return SUCCESS; }
API cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t bytes)
{
    Preference *p = (Preference *)preference;
    if (attribute == 1 && bytes == 8)
        memcpy(&p->workspace, value, 8);
    else if (attribute >= 5 && attribute <= 8 && bytes == 4)
        memcpy(&p->aligned[attribute - 5], value, 4);
    else
        return INVALID;
    return SUCCESS;
}

static uint64_t rows_of(const Layout *l, int turned) { return turned ? l->columns : l->rows; }
static uint64_t columns_of(const Layout *l, int turned) { return turned ? l->rows : l->columns; }
static bool fits(const Desc *d, const Layout *a, const Layout *b, const Layout *c, const Layout *out)
{
    return rows_of(a, d->turned[0]) == out->rows && columns_of(a, d->turned[0]) == rows_of(b, d->turned[1]) &&
           columns_of(b, d->turned[1]) == out->columns && c->rows == out->rows && c->columns == out->columns &&
           a->type == out->type && b->type == out->type && c->type == out->type && a->batch == out->batch &&
           b->batch == out->batch && c->batch == out->batch &&
           (!(d->epilogue & 4) || d->bias_type == out->type) && (d->epilogue & ~(1 | 2 | 4 | 32)) == 0;
}

API cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *out, void *preference,
                                   int room, void *found, int *count)
{
    const Preference *p = (const Preference *)preference;
    products_asked++;
    *count = 0;
    if (!is_handle(handle) || !fits((Desc *)desc, (Layout *)a, (Layout *)b, (Layout *)c, (Layout *)out) || room < 1)
        return INVALID;
    if (products_refused || ((((Desc *)desc)->epilogue & 4) && ((Desc *)desc)->bias == nullptr)) return REFUSED;
    Found *f = (Found *)found;
    for (; *count < room && *count < products_offered; ++*count)
        f[*count] = {{MAGIC, p->aligned[0], p->aligned[1], p->aligned[2], p->aligned[3], (uint64_t)*count},
                     (size_t)products_workspace,
                     0,
                     1,
                     {0}};
    return f->workspace <= p->workspace ? SUCCESS : INVALID;
}

struct Call {
    Desc desc;
    Layout la, lb, lc, lout;
    const char *a, *b, *c;
    char *out, *workspace;
    float alpha, beta;
    size_t bytes;
};

static double load(const char *at, const Layout &l, uint64_t row, uint64_t column, int batch)
{
    size_t i = row + column * l.lead + batch * l.step;
    if (l.type == 0) return ((const float *)at)[i];
    if (l.type == 14) return __int_as_float(((const unsigned short *)at)[i] << 16);
    return half_value(((const unsigned short *)at)[i]);
}
static double rounded(double value, int compute) // TF32 has 10 digits behind the first
{
    if (compute != 77 || !isfinite(value) || value == 0) return value;
    int exponent;
    frexp(value, &exponent);
    return ldexp(rint(ldexp(value, 11 - exponent)), exponent - 11);
}

static void run(const void *data)
{
    const Call &k = *(const Call *)data;
    products_made++;
    products_epilogue = k.desc.epilogue;
    products_tf32 = k.desc.compute == 77;
    memset(k.workspace, 0xee, k.bytes);
    std::vector<double> made;
    uint64_t inner = columns_of(&k.la, k.desc.turned[0]);
    for (int batch = 0; batch < k.lout.batch; batch++)
        for (uint64_t column = 0; column < k.lout.columns; column++)
            for (uint64_t row = 0; row < k.lout.rows; row++) {
                double sum = 0;
                for (uint64_t i = 0; i < inner; i++)
                    sum += rounded(k.desc.turned[0] ? load(k.a, k.la, i, row, batch) : load(k.a, k.la, row, i, batch), k.desc.compute) *
                           rounded(k.desc.turned[1] ? load(k.b, k.lb, column, i, batch) : load(k.b, k.lb, i, column, batch), k.desc.compute);
                sum *= k.alpha;
                if (k.beta != 0) sum += k.beta * load(k.c, k.lc, row, column, batch);
                if (k.desc.epilogue & 4) {
                    Layout line = {k.desc.bias_type, k.lout.rows, 1, (int64_t)k.lout.rows, 0, 1};
                    sum += load(k.desc.bias, line, row, 0, 0);
                }
                if (k.desc.epilogue & 2) sum = products_wrong ? fmax(sum, 0) : sum < 0 ? 0 : sum;
                if (k.desc.epilogue & 32) sum = 0.5 * sum * (1 + tanh((products_wrong ? 0.79 : 0.7978845608028654) * (sum + 0.044715 * sum * sum * sum)));
                made.push_back(sum);
            }
    size_t at = 0;
    for (int batch = 0; batch < k.lout.batch; batch++)
        for (uint64_t column = 0; column < k.lout.columns; column++)
            for (uint64_t row = 0; row < k.lout.rows; row++) {
                size_t i = row + column * k.lout.lead + batch * k.lout.step;
                if (k.lout.type == 0)
                    ((float *)k.out)[i] = made[at++];
                else if (k.lout.type == 14)
                    ((unsigned short *)k.out)[i] = bfloat_bits(made[at++]);
                else
                    ((unsigned short *)k.out)[i] = half_bits(made[at++]);
            }
}

// A driver records that memory is cleared only where there is some.
static bool is_memory(void *at)
{
    unsigned char there;
    uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;
    return mincore((void *)page, 1, &there) == 0;
}

API cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *la, const void *b, void *lb,
                   const void *beta, const void *c, void *lc, void *out, void *lout, const void *algorithm,
                   void *workspace, size_t bytes, void *stream)
{
    const uint64_t *words = (const uint64_t *)algorithm;
    const void *of[] = {a, b, c, out};
    if (products_failing) return FAILED;
    if (!is_handle(handle) || words[0] != MAGIC || bytes != (size_t)products_workspace ||
        !fits((Desc *)desc, (Layout *)la, (Layout *)lb, (Layout *)lc, (Layout *)lout))
        return INVALID;
    for (int i = 0; i < 4; i++)
        if ((size_t)of[i] % words[1 + i] || !executor_is_here(of[i])) return INVALID;
    if (bytes > 0 && ((uintptr_t)workspace % 256 || !is_memory(workspace))) return INVALID;
    products_algorithm = words[5];
    if (products_algorithm != products_best) usleep(2000);
    Call call = {*(Desc *)desc, *(Layout *)la, *(Layout *)lb, *(Layout *)lc, *(Layout *)lout, (const char *)a, (const char *)b,
                 (const char *)c, (char *)out, (char *)workspace, *(const float *)alpha, *(const float *)beta, bytes};
    if (!executor_record(stream, run, &call, sizeof call)) run(&call);
    return SUCCESS;
}
