/* Products of matrices by cuBLASLt.

   It multiplies matrices in Fortran order.  A matrix in C order is its transpose there, so that it
   is asked for the transpose of the result: the second factor by the first, each as it lies.

   A product is asked for when a graph has one.  cuBLASLt's heuristic names an algorithm for the
   matrices at hand, which is kept with what describes them: the first question takes 100 ms, later
   ones 0.2.  Before it is trusted with an epilogue, a small product with it is computed and
   compared with what the host computes, infinity and NaN among its elements: an epilogue that
   answers anything else, or is less exact than the operations it stands for, is not used.

   All of this happens with the GIL.  Products are kept for ever, with the addresses of their last
   row: descriptions belong to no launch. */
#include "../clock.h"
#include "cuda.h"

#include <math.h>

enum {
    MOST_NUMBERS = 64,
    MOST_WORKSPACE = 32 << 20, /* what NVIDIA advises for Hopper */
    WORKSPACE_ALIGNED = 256,   /* which is more than a plan's memory is */
    RELAXED = 2,               /* CU_STREAM_CAPTURE_MODE_RELAXED */
    NON_BLOCKING = 1,          /* CU_STREAM_NON_BLOCKING */
    /* cublasComputeType_t, cudaDataType_t */
    COMPUTE_F32 = 68,
    COMPUTE_TF32 = 77,
    TYPE_F32 = 0,
    TYPE_F16 = 2,
    TYPE_BF16 = 14,
    /* cublasLtMatmulDescAttributes_t */
    DESC_TURN_A = 3,
    DESC_TURN_B = 4,
    DESC_EPILOGUE = 7,
    DESC_BIAS = 8,
    DESC_BIAS_TYPE = 26,
    /* cublasLtEpilogue_t: bits */
    EPILOGUE_RELU = 2,
    EPILOGUE_BIAS = 4,
    EPILOGUE_GELU = 32,
    /* cublasLtMatrixLayoutAttribute_t */
    LAYOUT_BATCH = 5,
    LAYOUT_STEP = 6,
    /* cublasLtMatmulPreferenceAttributes_t */
    PREFER_WORKSPACE = 1,
    PREFER_ALIGNED_A = 5, /* then of B, C and D */
};

typedef struct { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} Found;

typedef struct CudaProduct {
    Product product;
    int device;
    bool there; /* false: cuBLASLt has it not, or has failed */
    void *desc, *layout[PRODUCT_MATRICES];
    Found found;
    struct CudaProduct *next;
} CudaProduct;

static struct {
    void *handle;
    void *stream; /* of our own: products are recorded on it, and tried */
    bool tried, broken;
} devices[MOST_NUMBERS];

static CudaProduct *products;

/* ---- what cuBLASLt is told ---- */

static int
type_of(const Product *p)
{
    return p->dtype == DT_F16 ? TYPE_F16 : p->dtype == DT_BF16 ? TYPE_BF16 : TYPE_F32;
}

static int
describe_matrix(const CublasLt *lt, const Product *p, int which, void **out)
{
    int64_t rows = which == PRODUCT_RIGHT ? p->inner : p->rows;
    int64_t columns = which == PRODUCT_LEFT ? p->inner : p->columns;
    bool turned = which < PRODUCT_RESULT && p->turned[which];
    int32_t batch = (int32_t)p->batch;
    /* in Fortran order the length of a row comes first */
    int failed = lt->layout_create(out, type_of(p), (uint64_t)(turned ? rows : columns),
                                   (uint64_t)(turned ? columns : rows), p->lead[which]);
    if (failed || p->batch == 1) return failed;
    failed = lt->layout_set(*out, LAYOUT_BATCH, &batch, sizeof batch);
    if (failed) return failed;
    return lt->layout_set(*out, LAYOUT_STEP, &p->step[which], sizeof p->step[which]);
}

/* Frees what describe has made. */
static void
forget(const CublasLt *lt, CudaProduct *c)
{
    if (c->desc != NULL) lt->desc_destroy(c->desc);
    for (int i = 0; i < PRODUCT_MATRICES; i++)
        if (c->layout[i] != NULL) lt->layout_destroy(c->layout[i]);
    c->desc = NULL;
    memset(c->layout, 0, sizeof c->layout);
}

static int
describe(const CublasLt *lt, CudaProduct *c)
{
    const Product *p = &c->product;
    uint64_t somewhere = UINT64_C(0x7f0000000010); /* aligned as rows are; the heuristic may ask */
    int32_t turned = 1, type = type_of(p);
    uint32_t epilogue = (p->flags & PRODUCT_RELU ? EPILOGUE_RELU : 0) |
                        (p->flags & PRODUCT_GELU ? EPILOGUE_GELU : 0) |
                        (p->flags & PRODUCT_BIAS ? EPILOGUE_BIAS : 0);
    int failed = lt->desc_create(&c->desc, p->tf32 ? COMPUTE_TF32 : COMPUTE_F32, TYPE_F32);
    if (!failed && p->turned[PRODUCT_RIGHT])
        failed = lt->desc_set(c->desc, DESC_TURN_A, &turned, sizeof turned);
    if (!failed && p->turned[PRODUCT_LEFT])
        failed = lt->desc_set(c->desc, DESC_TURN_B, &turned, sizeof turned);
    if (!failed && epilogue != 0)
        failed = lt->desc_set(c->desc, DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (!failed && p->flags & PRODUCT_BIAS)
        failed = lt->desc_set(c->desc, DESC_BIAS_TYPE, &type, sizeof type);
    if (!failed && p->flags & PRODUCT_BIAS)
        failed = lt->desc_set(c->desc, DESC_BIAS, &somewhere, sizeof somewhere);
    for (int i = 0; i < PRODUCT_MATRICES && !failed; i++)
        failed = describe_matrix(lt, p, i, &c->layout[i]);
    return failed;
}

/* What the heuristic names, the best first, up to `room`. */
static int
ask(const CublasLt *lt, CudaProduct *c, Found *found, int room, int *count)
{
    static const int order[] = {PRODUCT_RIGHT, PRODUCT_LEFT, PRODUCT_ADDED, PRODUCT_RESULT};
    void *preference = NULL;
    uint64_t most = MOST_WORKSPACE;
    int failed = lt->preference_create(&preference);
    *count = 0;
    if (failed) return failed;
    failed = lt->preference_set(preference, PREFER_WORKSPACE, &most, sizeof most);
    for (int i = 0; i < COUNT_OF(order) && !failed; i++) {
        uint32_t aligned = (uint32_t)c->product.aligned[order[i]];
        failed = lt->preference_set(preference, PREFER_ALIGNED_A + i, &aligned, sizeof aligned);
    }
    if (!failed)
        failed = lt->algorithms(devices[c->device].handle, c->desc, c->layout[PRODUCT_RIGHT],
                                c->layout[PRODUCT_LEFT], c->layout[PRODUCT_ADDED],
                                c->layout[PRODUCT_RESULT], preference, room, found, count);
    lt->preference_destroy(preference);
    return failed;
}

static bool
is_usable(const Found *found)
{
    return found->state == 0 && found->workspace <= MOST_WORKSPACE;
}

/* The heuristic's first choice. */
static int
choose(const CublasLt *lt, CudaProduct *c)
{
    int count, failed = ask(lt, c, &c->found, 1, &count);
    c->there = !failed && count == 1 && is_usable(&c->found);
    return failed;
}

/* Of memory that has as many bytes more. */
static void *
workspace_in(uint64_t memory)
{
    uint64_t mask = WORKSPACE_ALIGNED - 1;
    return (void *)(uintptr_t)((memory + mask) & ~mask);
}

static int
multiply(const CublasLt *lt, CudaProduct *c, const uint64_t *words, void *stream)
{
    const Product *p = &c->product;
    bool adds = p->flags & PRODUCT_RESIDUAL;
    float one = 1, beta = adds;
    int behind = PRODUCT_FIXED, failed = 0;
    if (p->flags & PRODUCT_BIAS)
        failed = lt->desc_set(c->desc, DESC_BIAS, &words[behind++], sizeof(uint64_t));
    if (failed) return failed;
    void *result = (void *)(uintptr_t)words[PRODUCT_RESULT];
    const void *added = adds ? (const void *)(uintptr_t)words[behind++] : result;
    void *workspace = c->found.workspace > 0 ? workspace_in(words[behind]) : NULL;
    return lt->multiply(devices[c->device].handle, c->desc, &one,
                        (const void *)(uintptr_t)words[PRODUCT_RIGHT], c->layout[PRODUCT_RIGHT],
                        (const void *)(uintptr_t)words[PRODUCT_LEFT], c->layout[PRODUCT_LEFT],
                        &beta, added, c->layout[PRODUCT_ADDED], result, c->layout[PRODUCT_RESULT],
                        c->found.algorithm, workspace, c->found.workspace, stream);
}

/* ---- a probe ---- */

enum { SIDE = 64, ELEMENTS = SIDE * SIDE, HALF = 2 };

/* The arrays of a probe in host memory, in the order of a product's places. */
typedef struct {
    const Product *product;
    double of[PRODUCT_FIXED + 2][ELEMENTS]; /* what they hold, after rounding to the dtype */
    char bytes[ELEMENTS * sizeof(float)];   /* one of them as it is on the device */
    uint64_t at[MOST_PRODUCT_PLACES];       /* … where it is */
} Probe;

static void
put_element(const Probe *t, char *bytes, int i, double *value)
{
    float number = (float)*value;
    if (t->product->dtype == DT_BF16) {
        uint16_t bits = bfloat_bits(number);
        memcpy(bytes + (size_t)i * HALF, &bits, sizeof bits);
        *value = bfloat_value(bits);
        return;
    }
    if (t->product->dtype == DT_F32) {
        memcpy(bytes + (size_t)i * sizeof number, &number, sizeof number);
        *value = number;
        return;
    }
    if (PyFloat_Pack2(*value, bytes + (size_t)i * HALF, PY_LITTLE_ENDIAN) < 0) PyErr_Clear();
    *value = PyFloat_Unpack2(bytes + (size_t)i * HALF, PY_LITTLE_ENDIAN);
}

static double
get_element(const Probe *t, int i)
{
    float number;
    uint16_t bits;
    if (t->product->dtype == DT_BF16) {
        memcpy(&bits, t->bytes + (size_t)i * HALF, sizeof bits);
        return bfloat_value(bits);
    }
    if (t->product->dtype == DT_F16)
        return PyFloat_Unpack2(t->bytes + (size_t)i * HALF, PY_LITTLE_ENDIAN);
    memcpy(&number, t->bytes + (size_t)i * sizeof number, sizeof number);
    return number;
}

/* A matrix with one element in each row; values from -2 to 2 that repeat only after long, and some
   special ones.  What gelu makes of infinity differs between its own formulas. */
static double
probe_value(const Product *p, int place, int i)
{
    if (place == PRODUCT_LEFT) return i % SIDE == (i / SIDE * 7 + 3) % SIDE ? 1.25 : 0;
    if (i == 5) return p->flags & PRODUCT_GELU ? 1e4 : INFINITY;
    if (i == 7) return -1e4;
    if (i == 9) return NAN;
    return (double)((unsigned)i * 2654435761u >> 20) / 1024 - 2;
}

static double
probe_result(const Probe *t, int row, int column)
{
    const Product *p = t->product;
    double sum = 0;
    int behind = PRODUCT_FIXED;
    for (int k = 0; k < SIDE; k++)
        sum += t->of[PRODUCT_LEFT][row * SIDE + k] * t->of[PRODUCT_RIGHT][k * SIDE + column];
    if (p->flags & PRODUCT_BIAS) sum += t->of[behind++][column];
    if (p->flags & PRODUCT_RESIDUAL) sum += t->of[behind][row * SIDE + column];
    if (p->flags & PRODUCT_RELU) return sum <= 0 ? 0 : sum;
    if (p->flags & PRODUCT_GELU)
        return 0.5 * sum * (1 + tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
    return sum;
}

/* Is the result in t->bytes what it should be? */
static bool
probe_agrees(const Probe *t)
{
    double tolerance = t->product->dtype == DT_F16    ? 1.0 / 1024
                       : t->product->dtype == DT_BF16 ? 1.0 / 128
                       : t->product->tf32             ? 5e-3
                                                      : 2e-6;
    for (int i = 0; i < ELEMENTS; i++) {
        double wanted = probe_result(t, i / SIDE, i % SIDE), found = get_element(t, i);
        if (isnan(wanted) != isnan(found)) return false;
        if (isnan(wanted) || wanted == found) continue;
        if (!(fabs(wanted - found) <= tolerance * (1 + fabs(wanted)))) return false;
    }
    return true;
}

static int
probe_run(const CudaDriver *driver, const CublasLt *lt, Probe *t, CudaProduct *c, void *stream)
{
    int places = product_places(t->product, (int64_t)c->found.workspace), failed = 0;
    int filled = places - (c->found.workspace > 0);
    size_t item = dtype_size((DType)t->product->dtype), bytes = ELEMENTS * item;
    for (int place = 0; place < places && !failed; place++) {
        failed = driver->memory_take(&t->at[place], place < filled ? bytes : c->found.workspace);
        if (failed || place >= filled || place == PRODUCT_RESULT) continue;
        for (int i = 0; i < ELEMENTS; i++) {
            t->of[place][i] = probe_value(t->product, place, i);
            put_element(t, t->bytes, i, &t->of[place][i]);
        }
        failed = driver->copy_to_device(t->at[place], t->bytes, bytes, stream);
        if (!failed) failed = driver->stream_wait(stream);
    }
    if (!failed) failed = multiply(lt, c, t->at, stream);
    if (!failed) failed = driver->copy_to_host(t->bytes, t->at[PRODUCT_RESULT], bytes, stream);
    int waited = driver->stream_wait(stream);
    for (int place = 0; place < places; place++)
        if (t->at[place] != 0) driver->memory_give(t->at[place]);
    return failed ? failed : waited;
}

/* Can the device's cuBLASLt be trusted with these flags?  Nothing of it is part of a capture that
   the thread may have under way. */
static bool
try_out(const CudaDriver *driver, const CublasLt *lt, const Product *like, int device)
{
    Product small = {.dtype = like->dtype, .flags = like->flags, .tf32 = like->tf32};
    CudaProduct c = {.device = device};
    int mode = RELAXED;
    small.rows = small.columns = small.inner = SIDE;
    small.batch = 1;
    for (int i = 0; i < PRODUCT_MATRICES; i++) small.lead[i] = SIDE, small.aligned[i] = 16;
    c.product = small;
    Probe *t = mem_alloc(sizeof(Probe));
    if (t == NULL) {
        PyErr_Clear();
        return false;
    }
    t->product = &c.product;
    int failed = describe(lt, &c);
    if (!failed) failed = choose(lt, &c);
    bool agrees = !failed && c.there && driver->capture_mode(&mode) == 0;
    if (agrees) {
        failed = probe_run(driver, lt, t, &c, devices[device].stream);
        agrees = !failed && probe_agrees(t);
        driver->capture_mode(&mode);
    }
    if (!agrees)
        log_emit(LOG_PERF_HINTS,
                 "products of %s with epilogue %d are not left to cuBLASLt: it %s (%d)",
                 dtype_long_name((DType)like->dtype), (int)like->flags,
                 failed    ? "fails"
                 : c.there ? "is less exact than the operations, or has other NaNs"
                           : "has none",
                 failed);
    forget(lt, &c);
    mem_free(t);
    return agrees;
}

/* By flags, and 0 for float16, 1 for float32, 2 for float32 by TF32, 3 for bfloat16; 0: not tried.
 */
static bool
is_trusted(const CudaDriver *driver, const CublasLt *lt, const Product *p, int device)
{
    static signed char trusted[MOST_NUMBERS][2 * PRODUCT_GELU][4];
    int kind = p->dtype == DT_F16 ? 0 : p->dtype == DT_BF16 ? 3 : 1 + (p->tf32 != 0);
    signed char *known = &trusted[device][p->flags][kind];
    if (*known == 0) *known = try_out(driver, lt, p, device) ? 1 : -1;
    return *known > 0;
}

/* ---- the fastest of several algorithms ---- */

enum { MOST_FOUND = 8, ROUNDS = 3, LAUNCHES = 5 };

/* From a matrix' first element to behind its last, of all in the batch. */
static size_t
matrix_bytes(const Product *p, int which)
{
    int64_t rows = which == PRODUCT_RIGHT ? p->inner : p->rows;
    int64_t columns = which == PRODUCT_LEFT ? p->inner : p->columns;
    bool turned = which < PRODUCT_RESULT && p->turned[which];
    int64_t count = p->lead[which] * (turned ? columns : rows) + p->step[which] * (p->batch - 1);
    return (size_t)count * dtype_size((DType)p->dtype);
}

/* Memory for the product's arrays, which hold ones, or something like that, and for what any of the
   algorithms needs besides.  What was taken is in `words` in any case. */
static int
take_arrays(const CudaDriver *driver, const Product *p, const Found *found, int count,
            uint64_t *words, void *stream)
{
    static const unsigned ones[] = {[0] = 0x3f800000, [1] = 0x3c003c00, [2] = 0x3f803f80};
    unsigned word = ones[p->dtype == DT_F16 ? 1 : p->dtype == DT_BF16 ? 2 : 0];
    size_t besides = 0;
    for (int i = 0; i < count; i++) besides = Py_MAX(besides, found[i].workspace);
    int places = product_places(p, (int64_t)besides), failed = 0;
    for (int place = 0; place < places && !failed; place++) {
        bool bias = place == PRODUCT_FIXED && p->flags & PRODUCT_BIAS;
        bool last = place == places - 1 && besides > 0;
        size_t bytes = last                    ? besides
                       : bias                  ? matrix_bytes(p, PRODUCT_RESULT)
                       : place < PRODUCT_FIXED ? matrix_bytes(p, place)
                                               : matrix_bytes(p, PRODUCT_ADDED);
        failed = driver->memory_take(&words[place], bytes + sizeof word);
        if (!failed) failed = driver->memory_set(words[place], word, bytes / sizeof word, stream);
    }
    return failed;
}

/* Of a launch, at best, in nanoseconds; INT64_MAX: it fails. */
static int64_t
time_of(const CudaDriver *driver, const CublasLt *lt, CudaProduct *c, const uint64_t *words)
{
    int64_t least = INT64_MAX;
    void *stream = devices[c->device].stream;
    if (multiply(lt, c, words, stream) != 0 || driver->stream_wait(stream) != 0) return INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t began = clock_ns();
        for (int i = 0; i < LAUNCHES; i++)
            if (multiply(lt, c, words, stream) != 0) return INT64_MAX;
        if (driver->stream_wait(stream) != 0) return INT64_MAX;
        least = Py_MIN(least, (clock_ns() - began) / LAUNCHES);
    }
    return least;
}

/* c->found becomes the fastest; on any failure it stays the heuristic's first choice. */
static void
time_all(const CudaDriver *driver, const CublasLt *lt, CudaProduct *c, const Found *found,
         int count)
{
    uint64_t words[MOST_PRODUCT_PLACES] = {0};
    int64_t first = 0, least = INT64_MAX;
    int best = 0;
    if (take_arrays(driver, &c->product, found, count, words, devices[c->device].stream) == 0)
        for (int i = 0; i < count; i++) {
            c->found = found[i];
            int64_t ns = is_usable(&found[i]) ? time_of(driver, lt, c, words) : INT64_MAX;
            if (i == 0) first = ns;
            if (ns < least) least = ns, best = i;
        }
    driver->stream_wait(devices[c->device].stream);
    for (int place = 0; place < MOST_PRODUCT_PLACES; place++)
        if (words[place] != 0) driver->memory_give(words[place]);
    c->found = found[best];
    if (least != INT64_MAX)
        log_emit(LOG_PERF_HINTS,
                 "a product of %lld by %lld by %lld: of %d algorithms number %d takes %lld ns, the "
                 "first %lld",
                 (long long)c->product.rows, (long long)c->product.inner,
                 (long long)c->product.columns, count, best, (long long)least, (long long)first);
}

/* What is chosen is for the shape, the device and the library. */
static void
note_name(const CudaDriver *driver, const CublasLt *lt, const CudaProduct *c, char *out,
          size_t size)
{
    char device[128] = "?", hex[DIGEST_HEX];
    int version = 0;
    size_t library = lt->version();
    Hash hash;
    driver->device_name(device, sizeof device, c->device);
    driver->driver_version(&version);
    hash_begin(&hash);
    hash_add(&hash, &c->product, sizeof c->product);
    hash_add_string(&hash, device);
    hash_add(&hash, &version, sizeof version);
    hash_add(&hash, &library, sizeof library);
    Digest digest = hash_end(&hash);
    digest_hex(&digest, hex);
    snprintf(out, size, PRODUCT_NOTES "%s", hex);
}

/* What was chosen for the product by another process, which has tried it, too: without the question
   that takes cuBLASLt 100 ms, and without probes.  The note is sealed: no other bytes may reach
   cuBLASLt. */
static bool
read_choice(const char *name, Found *out)
{
    char text[NOTE_BYTES];
    unsigned byte;
    if (cache_read_sealed(name, text) != ANSWER_YES || strlen(text) != 2 * sizeof *out)
        return false;
    for (size_t i = 0; i < sizeof *out; i++) {
        if (sscanf(text + 2 * i, "%2x", &byte) != 1) return false;
        ((unsigned char *)out)[i] = (unsigned char)byte;
    }
    return is_usable(out);
}

static void
write_choice(const char *name, const Found *found)
{
    enum { MOST_NOTES = 256 };
    CacheNoteName names[MOST_NOTES];
    char text[NOTE_BYTES];
    _Static_assert(2 * sizeof *found < NOTE_BYTES, "a choice fits a note");
    if (cache_list_notes(PRODUCT_NOTES, names, MOST_NOTES) >= MOST_NOTES) return;
    for (size_t i = 0; i < sizeof *found; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)found)[i]);
    cache_write_sealed(name, text);
}

static void
tune(const CudaDriver *driver, const CublasLt *lt, CudaProduct *c)
{
    Found found[MOST_FOUND];
    int count, mode = RELAXED;
    if (ask(lt, c, found, MOST_FOUND, &count) != 0 || count < 2) return;
    if (driver->capture_mode(&mode) != 0) return; /* the thread may be capturing a stream */
    time_all(driver, lt, c, found, count);
    driver->capture_mode(&mode);
}

/* ---- products of the program ---- */

static CudaProduct *
known_product(const Product *p, int device)
{
    for (CudaProduct *c = products; c != NULL; c = c->next)
        if (c->device == device && memcmp(&c->product, p, sizeof *p) == 0) return c;
    return NULL;
}

/* Makes the handle and the stream.  False: this device has no products. */
static bool
begin_device(const CudaDriver *driver, const CublasLt *lt, int device)
{
    int failed;
    if (device >= MOST_NUMBERS || devices[device].broken) return false;
    if (devices[device].tried) return true;
    devices[device].tried = true;
    if ((failed = lt->create(&devices[device].handle)) == 0 &&
        (failed = driver->stream_create(&devices[device].stream, NON_BLOCKING)) == 0)
        return true;
    devices[device].broken = true;
    log_emit(LOG_PERF_HINTS, "products are left to CuPy: cuBLASLt does not start (%d)", failed);
    return false;
}

static const CublasLt *
library_of_products(const CudaDriver **driver)
{
    static bool told;
    const char *why = "a CUDA driver without what products need";
    *driver = cuda_driver(&why);
    const CublasLt *lt = *driver != NULL && (*driver)->has_products ? cuda_cublaslt(&why) : NULL;
    if (lt == NULL && !told) log_emit(LOG_PERF_HINTS, "products are left to CuPy: %s", why);
    told = told || lt == NULL;
    return lt;
}

/* Memory for what the algorithm needs besides the matrices.  Returns what the driver does. */
static int
take_workspace(const CudaDriver *driver, const CudaProduct *c, uint64_t *memory)
{
    int mode = RELAXED, failed = driver->capture_mode(&mode); /* the thread may be capturing */
    if (failed) return failed;
    failed = driver->memory_take(memory, c->found.workspace);
    driver->capture_mode(&mode);
    return failed;
}

/* Does the library take what its heuristic named?  It is recorded and not run, at addresses that
   nothing is at: what it refuses later ends each run of a plan.  The workspace is memory, since an
   algorithm may have it cleared first, which the driver records for memory only. */
static bool
is_recorded(const CudaDriver *driver, CudaProduct *c)
{
    uint64_t words[MOST_PRODUCT_PLACES], memory = 0;
    void *graph = NULL;
    for (int i = 0; i < MOST_PRODUCT_PLACES; i++)
        words[i] = UINT64_C(0x7f0000000040) + ((uint64_t)i << 36); /* aligned as an arena's parts */
    if (c->found.workspace > 0) {
        if (take_workspace(driver, c, &memory) != 0) return false;
        words[product_places(&c->product, (int64_t)c->found.workspace) - 1] = memory;
    }
    bool recorded = cuda_product_graph(driver, c, words, &graph) == 0;
    if (recorded) driver->graph_destroy(graph);
    if (memory != 0) driver->memory_give(memory);
    return recorded;
}

/* Sets c->there, and what goes with it. */
static void
find_algorithm(const CudaDriver *driver, const CublasLt *lt, CudaProduct *c)
{
    char name[sizeof(CacheNoteName)];
    note_name(driver, lt, c, name, sizeof name);
    c->there = read_choice(name, &c->found) && describe(lt, c) == 0 && is_recorded(driver, c);
    if (c->there) return;
    forget(lt, c);
    if (is_trusted(driver, lt, &c->product, c->device) && describe(lt, c) == 0 &&
        choose(lt, c) == 0 && c->there) {
        if (c->product.tuned) tune(driver, lt, c);
        c->there = is_recorded(driver, c);
    }
    if (c->there)
        write_choice(name, &c->found);
    else
        forget(lt, c);
}

static bool
takes_on_device(Product *product, int device, int64_t *workspace)
{
    const CudaDriver *driver;
    const CublasLt *lt = library_of_products(&driver);
    int way = array_library_on(DEVICE_CUDA)->multiplies((DType)product->dtype);
    if (lt == NULL || way < 0 || product->batch > INT32_MAX || !begin_device(driver, lt, device))
        return false;
    product->tf32 = way;
    CudaProduct *c = known_product(product, device);
    if (c == NULL) {
        if ((c = mem_alloc(sizeof(CudaProduct))) == NULL) {
            PyErr_Clear();
            return false;
        }
        *c = (CudaProduct){.product = *product, .device = device, .next = products};
        products = c;
        find_algorithm(driver, lt, c);
    }
    *workspace = c->found.workspace > 0 ? (int64_t)c->found.workspace + WORKSPACE_ALIGNED : 0;
    return c->there;
}

bool
cuda_takes_product(Product *product, int64_t *workspace)
{
    const ArrayLibrary *library = array_library_on(DEVICE_CUDA);
    int current, device = (int)product->device;
    if (cuda_current(&current) != ANSWER_YES) return false;
    if (device < 0 || device == current) return takes_on_device(product, current, workspace);
    bool takes = library->use(device) == 0 && takes_on_device(product, device, workspace);
    takes = library->use(current) == 0 && takes;
    PyErr_Clear();
    return takes;
}

CudaProduct *
cuda_product(const Product *product)
{
    int device = (int)product->device;
    if (device < 0 && cuda_current(&device) != ANSWER_YES) return NULL;
    CudaProduct *c = known_product(product, device);
    return c != NULL && c->there ? c : NULL;
}

int
cuda_multiply(CudaProduct *c, const uint64_t *words, void *stream)
{
    const char *why;
    const CublasLt *lt = cuda_cublaslt(&why);
    int failed = multiply(lt, c, words, stream);
    if (failed && c->there)
        log_emit(LOG_PERF_HINTS, "cuBLASLt failed (%d): this product is left to CuPy", failed);
    if (failed) c->there = false;
    return failed;
}

int
cuda_product_graph(const CudaDriver *driver, CudaProduct *c, const uint64_t *words, void **graph)
{
    const char *why;
    void *stream = devices[c->device].stream;
    int mode = RELAXED, failed = driver->capture_mode(&mode);
    if (failed) return failed;
    failed = driver->capture_begin(stream, RELAXED);
    if (!failed) {
        int refused = multiply(cuda_cublaslt(&why), c, words, stream);
        failed = driver->capture_end(stream, graph);
        if (!failed && refused) driver->graph_destroy(*graph);
        if (!failed) failed = refused;
    }
    driver->capture_mode(&mode);
    return failed;
}
