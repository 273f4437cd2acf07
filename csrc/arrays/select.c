/* x[mask] and x[mask] = values for the commonest arrays: dense ones, with a dense mask of all their
   axes or of the leading ones.  NumPy takes a branch per element of the mask; here elements are
   moved without one and, where the processor has it, eight at a time.  All else is left to NumPy,
   with its messages.  (Arrays of indices are, too: what NumPy does for them was not beaten.)

   A large mask is selected by in blocks, which threads divide: what is true in each is counted
   first, and says where the elements of the next one go.

   The GIL is held throughout: the mask that was counted is the one that selects. */
#include "numpy_api.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAS_COMPRESS 1
#endif

static const uint64_t ONES = UINT64_C(0x0101010101010101);

/* A dense array of elements that are their bytes. */
static bool
is_plain(PyObject *object)
{
    if (!PyArray_CheckExact(object)) return false;
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_ISCARRAY_RO(array) && PyArray_ISNOTSWAPPED(array) &&
           !PyDataType_REFCHK(PyArray_DESCR(array)) && PyArray_ITEMSIZE(array) > 0;
}

/* A new array of `count` times the axes of `array` from `axis` on.  *item is set to the bytes of
   what one element of a mask selects. */
static PyObject *
new_selected(PyArrayObject *array, npy_intp count, int axis, size_t *item)
{
    npy_intp shape[NPY_MAXDIMS];
    const char *why;
    int rank = 0, dtype = numpy_dtype_from_descr(PyArray_DESCR(array), &why);
    shape[rank++] = count;
    *item = (size_t)PyArray_ITEMSIZE(array);
    for (int i = axis; i < PyArray_NDIM(array); i++) {
        shape[rank++] = PyArray_DIM(array, i);
        *item *= (size_t)PyArray_DIM(array, i);
    }
    if (dtype >= 0 && rank <= MAX_RANK)
        return array_new((DType)dtype, rank, (const int64_t *)shape, NULL);
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    return PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape, NULL, NULL, 0, NULL);
}

/* ---- selecting ---- */

/* The sum of a word's bytes. */
static inline npy_intp
sum_of_bytes(uint64_t word)
{
    static const uint64_t even = UINT64_C(0x00FF00FF00FF00FF);
    return (npy_intp)(((word & even) + (word >> 8 & even)) * UINT64_C(0x0001000100010001) >> 48);
}

/* The number of true elements; -1 where a byte is neither 0 nor 1. */
static npy_intp
count_true(const char *mask, npy_intp n)
{
    uint64_t odd = 0;
    npy_intp count = 0, i = 0;
    while (i + 16 <= n) {
        uint64_t words[2], sum[2] = {0, 0};
        for (int turn = 0; turn < 255 && i + 16 <= n; turn++, i += 16) { /* no byte overflows */
            memcpy(words, mask + i, sizeof words);
            sum[0] += words[0];
            sum[1] += words[1];
            odd |= (words[0] | words[1]) & ~ONES;
        }
        count += sum_of_bytes(sum[0]) + sum_of_bytes(sum[1]);
    }
    for (; i < n; i++) {
        odd |= (uint64_t)(unsigned char)mask[i] & ~ONES;
        count += mask[i];
    }
    return odd ? -1 : count;
}

/* `i`, behind the stretches of 64 bytes from there on that have no true element. */
static inline npy_intp
behind_empty(const char *mask, npy_intp i, npy_intp n)
{
    uint64_t words[8];
    for (; i + 64 <= n; i += 64) {
        memcpy(words, mask + i, sizeof words);
        if (words[0] | words[1] | words[2] | words[3]) break;
        if (words[4] | words[5] | words[6] | words[7]) break;
    }
    return i;
}

/* Up to 8 elements are written beyond those selected so far as long as there is room for them. */
#define DEFINE_COMPRESS(NAME, TYPE)                                                                \
    static void NAME(const TYPE *from, const char *mask, npy_intp n, TYPE *to, npy_intp count)     \
    {                                                                                              \
        npy_intp i = 0, k = 0;                                                                     \
        for (; i + 8 <= n && k + 8 <= count; i += 8) {                                             \
            uint64_t word;                                                                         \
            memcpy(&word, mask + i, 8);                                                            \
            if (word == 0) {                                                                       \
                i = behind_empty(mask, i + 8, n) - 8;                                              \
                continue;                                                                          \
            }                                                                                      \
            for (int e = 0; e < 8; e++) {                                                          \
                to[k] = from[i + e];                                                               \
                k += mask[i + e];                                                                  \
            }                                                                                      \
        }                                                                                          \
        for (; k < count; i++) {                                                                   \
            i = behind_empty(mask, i, n);                                                          \
            if (mask[i]) to[k++] = from[i];                                                        \
        }                                                                                          \
    }

/* Elements of any type with so many bytes, and of any alignment: text is aligned to a byte. */
#define ANY_ELEMENT __attribute__((aligned(1), may_alias))
typedef uint16_t ANY_ELEMENT Bytes2;
typedef uint32_t ANY_ELEMENT Bytes4;
typedef uint64_t ANY_ELEMENT Bytes8;
typedef struct __attribute__((packed, may_alias)) {
    uint64_t half[2];
} Bytes16;

DEFINE_COMPRESS(compress_1, uint8_t)
DEFINE_COMPRESS(compress_2, Bytes2)
DEFINE_COMPRESS(compress_4, Bytes4)
DEFINE_COMPRESS(compress_8, Bytes8)
DEFINE_COMPRESS(compress_16, Bytes16)

#ifdef HAS_COMPRESS
/* The bits of 8 bytes that are 0 or 1. */
static inline unsigned
bits_of(uint64_t word)
{
    return (unsigned)(word * UINT64_C(0x0102040810204080) >> 56);
}

/* Compressed in a register and stored whole: the store of a part is slow on some processors. */
__attribute__((target("avx512f,avx512vl"))) static void
compress_8_vectors(const Bytes8 *from, const char *mask, npy_intp n, Bytes8 *to, npy_intp count)
{
    npy_intp i = 0, k = 0;
    for (; i + 8 <= n && k + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, mask + i, 8);
        __m512i all = _mm512_loadu_si512(from + i);
        _mm512_storeu_si512(to + k, _mm512_maskz_compress_epi64((__mmask8)bits_of(word), all));
        k += (npy_intp)(word * ONES >> 56);
    }
    compress_8(from + i, mask + i, n - i, to + k, count - k);
}

__attribute__((target("avx512f,avx512vl"))) static void
compress_4_vectors(const Bytes4 *from, const char *mask, npy_intp n, Bytes4 *to, npy_intp count)
{
    npy_intp i = 0, k = 0;
    for (; i + 8 <= n && k + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, mask + i, 8);
        __m256i all = _mm256_loadu_si256((const __m256i *)(from + i));
        _mm256_storeu_si256((__m256i *)(to + k),
                            _mm256_maskz_compress_epi32((__mmask8)bits_of(word), all));
        k += (npy_intp)(word * ONES >> 56);
    }
    compress_4(from + i, mask + i, n - i, to + k, count - k);
}

/* AVX2 has no such instruction: elements are permuted as a table says.  In it are, for the bits of
   a mask, the places of the elements that it selects, a byte each, the first one lowest.  An
   element of 8 bytes is two of 4, so that its bits stand for two places. */
#define BIT(b, e) ((uint64_t)(b) >> (e) & 1)
#define PLACE(b, e, rest) ((rest) << 8 * BIT(b, e) | (e) * BIT(b, e))
#define PLACES(b)                                                                                  \
    PLACE(b, 0,                                                                                    \
          PLACE(b, 1,                                                                              \
                PLACE(b, 2,                                                                        \
                      PLACE(b, 3,                                                                  \
                            PLACE(b, 4, PLACE(b, 5, PLACE(b, 6, PLACE(b, 7, UINT64_C(0)))))))))
#define PAIR(b, e, rest) ((rest) << 16 * BIT(b, e) | (2 * (e) + 256 * (2 * (e) + 1)) * BIT(b, e))
#define PAIRS(b) PAIR(b, 0, PAIR(b, 1, PAIR(b, 2, PAIR(b, 3, UINT64_C(0)))))
#define OF_4(OF, b) OF(b), OF((b) + 1), OF((b) + 2), OF((b) + 3)
#define OF_16(OF, b) OF_4(OF, b), OF_4(OF, (b) + 4), OF_4(OF, (b) + 8), OF_4(OF, (b) + 12)
#define OF_64(OF, b) OF_16(OF, b), OF_16(OF, (b) + 16), OF_16(OF, (b) + 32), OF_16(OF, (b) + 48)

static const uint64_t places[256] = {OF_64(PLACES, 0), OF_64(PLACES, 64), OF_64(PLACES, 128),
                                     OF_64(PLACES, 192)};
static const uint64_t pairs[16] = {OF_16(PAIRS, 0)};

__attribute__((target("avx2"))) static inline __m256i
permuted(__m256i all, uint64_t by)
{
    return _mm256_permutevar8x32_epi32(all, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)by)));
}

/* What a stretch without a true element would read is left alone: of a sparse mask, most lines. */
__attribute__((target("avx2"))) static void
compress_8_permuted(const Bytes8 *from, const char *mask, npy_intp n, Bytes8 *to, npy_intp count)
{
    npy_intp i = 0, k = 0;
    for (; i + 8 <= n && k + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, mask + i, 8);
        if (word == 0) {
            i = behind_empty(mask, i + 8, n) - 8;
            continue;
        }
        unsigned bits = bits_of(word);
        __m256i low = _mm256_loadu_si256((const __m256i *)(from + i));
        __m256i high = _mm256_loadu_si256((const __m256i *)(from + i + 4));
        npy_intp first = (npy_intp)((word << 32) * ONES >> 56);
        _mm256_storeu_si256((__m256i *)(to + k), permuted(low, pairs[bits & 15]));
        _mm256_storeu_si256((__m256i *)(to + k + first), permuted(high, pairs[bits >> 4]));
        k += (npy_intp)(word * ONES >> 56);
    }
    compress_8(from + i, mask + i, n - i, to + k, count - k);
}

__attribute__((target("avx2"))) static void
compress_4_permuted(const Bytes4 *from, const char *mask, npy_intp n, Bytes4 *to, npy_intp count)
{
    npy_intp i = 0, k = 0;
    for (; i + 8 <= n && k + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, mask + i, 8);
        if (word == 0) {
            i = behind_empty(mask, i + 8, n) - 8;
            continue;
        }
        __m256i all = _mm256_loadu_si256((const __m256i *)(from + i));
        _mm256_storeu_si256((__m256i *)(to + k), permuted(all, places[bits_of(word)]));
        k += (npy_intp)(word * ONES >> 56);
    }
    compress_4(from + i, mask + i, n - i, to + k, count - k);
}
#endif

static void
compress_rows(const char *from, const char *mask, char *to, size_t item, npy_intp count)
{
    for (npy_intp i = 0; count > 0; i++)
        if (mask[i]) {
            memcpy(to, from + (size_t)i * item, item);
            to += item;
            count--;
        }
}

static void
compress(const void *from, const char *mask, npy_intp n, void *to, size_t item, npy_intp count)
{
#ifdef HAS_COMPRESS
    if ((item == 8 || item == 4) && __builtin_cpu_supports("avx512vl")) {
        if (item == 8)
            compress_8_vectors(from, mask, n, to, count);
        else
            compress_4_vectors(from, mask, n, to, count);
        return;
    }
    if ((item == 8 || item == 4) && __builtin_cpu_supports("avx2")) {
        if (item == 8)
            compress_8_permuted(from, mask, n, to, count);
        else
            compress_4_permuted(from, mask, n, to, count);
        return;
    }
#endif
    switch (item) {
    case 1: compress_1(from, mask, n, to, count); break;
    case 2: compress_2(from, mask, n, to, count); break;
    case 4: compress_4(from, mask, n, to, count); break;
    case 8: compress_8(from, mask, n, to, count); break;
    case 16: compress_16(from, mask, n, to, count); break;
    default: compress_rows(from, mask, to, item, count);
    }
}

bool
select_dense(const char *from, const char *mask, npy_intp n, char *to, size_t item, npy_intp count)
{
    if (count_true(mask, n) != count) return false;
    compress(from, mask, n, to, item, count);
    return true;
}

enum { BLOCKS = 256, LEAST_BLOCK = 1 << 15 }; /* the most, and elements of the mask */

typedef struct {
    const char *from, *mask;
    char *to;
    size_t item;                /* bytes of what one element of the mask selects */
    npy_intp n, block, nblocks; /* elements of the mask, and of a block of them */
    npy_intp *before;           /* true elements before each block, and before the end */
} Selection;

static npy_intp
block_length(const Selection *s, int64_t i)
{
    return Py_MIN(s->block, s->n - i * s->block);
}

static void
count_blocks(const void *context, int64_t begin, int64_t end)
{
    const Selection *s = context;
    for (int64_t i = begin; i < end; i++)
        s->before[i + 1] = count_true(s->mask + i * s->block, block_length(s, i));
}

static void
compress_blocks(const void *context, int64_t begin, int64_t end)
{
    const Selection *s = context;
    for (int64_t i = begin; i < end; i++)
        compress(s->from + (size_t)(i * s->block) * s->item, s->mask + i * s->block,
                 block_length(s, i), s->to + (size_t)s->before[i] * s->item, s->item,
                 s->before[i + 1] - s->before[i]);
}

/* Counts what the mask selects; -1 where a byte is neither 0 nor 1. */
static npy_intp
selection_count(Selection *s, CopyShare share)
{
    s->block = Py_MAX(LEAST_BLOCK, (s->n / BLOCKS + 8) / 8 * 8);
    s->nblocks = (s->n + s->block - 1) / s->block;
    s->before[0] = 0;
    share(count_blocks, s, s->nblocks, s->block);
    for (npy_intp i = 0; i < s->nblocks; i++) {
        if (s->before[i + 1] < 0) return -1;
        s->before[i + 1] += s->before[i];
    }
    return s->before[s->nblocks];
}

/* ANSWER_NO: not arrays that are done here. */
static Answer
select_by_mask(PyObject *object, PyObject *by, CopyShare share, PyObject **out)
{
    if (!is_plain(object) || !is_plain(by)) return ANSWER_NO;
    PyArrayObject *array = (PyArrayObject *)object, *mask = (PyArrayObject *)by;
    int rank = PyArray_NDIM(mask);
    if (PyArray_TYPE(mask) != NPY_BOOL || rank == 0 || rank > PyArray_NDIM(array)) return ANSWER_NO;
    for (int i = 0; i < rank; i++)
        if (PyArray_DIM(mask, i) != PyArray_DIM(array, i)) return ANSWER_NO;
    npy_intp before[BLOCKS + 1];
    Selection s = {.from = PyArray_BYTES(array),
                   .mask = PyArray_BYTES(mask),
                   .n = PyArray_SIZE(mask),
                   .before = before};
    npy_intp count = selection_count(&s, share);
    if (count < 0) return ANSWER_NO;
    *out = new_selected(array, count, rank, &s.item);
    if (*out == NULL) return ANSWER_ERROR;
    s.to = PyArray_BYTES((PyArrayObject *)*out);
    share(compress_blocks, &s, s.nblocks, s.block * (1 + 2 * (npy_intp)s.item));
    return ANSWER_YES;
}

PyObject *
array_select(PyObject *array, PyObject *by, CopyShare share)
{
    PyObject *out = NULL;
    return select_by_mask(array, by, share, &out) == ANSWER_NO ? PyObject_GetItem(array, by) : out;
}

/* ---- storing ---- */

#define DEFINE_EXPAND(NAME, TYPE)                                                                  \
    static void NAME(const TYPE *from, const char *mask, TYPE *to, npy_intp count)                 \
    {                                                                                              \
        for (npy_intp i = 0, k = 0; k < count; i++) {                                              \
            to[i] = mask[i] ? from[k] : to[i];                                                     \
            k += mask[i];                                                                          \
        }                                                                                          \
    }

DEFINE_EXPAND(expand_1, uint8_t)
DEFINE_EXPAND(expand_2, Bytes2)
DEFINE_EXPAND(expand_4, Bytes4)
DEFINE_EXPAND(expand_8, Bytes8)
DEFINE_EXPAND(expand_16, Bytes16)

/* False: elements of this size are not done here. */
static bool
expand(const void *from, const char *mask, void *to, size_t item, npy_intp count)
{
    switch (item) {
    case 1: expand_1(from, mask, to, count); return true;
    case 2: expand_2(from, mask, to, count); return true;
    case 4: expand_4(from, mask, to, count); return true;
    case 8: expand_8(from, mask, to, count); return true;
    case 16: expand_16(from, mask, to, count); return true;
    default: return false;
    }
}

/* Whether it was done. */
static bool
store_by_mask(PyObject *object, PyObject *by, PyObject *value)
{
    if (!is_plain(object) || !is_plain(by) || !is_plain(value)) return false;
    PyArrayObject *array = (PyArrayObject *)object, *mask = (PyArrayObject *)by,
                  *from = (PyArrayObject *)value;
    if (PyArray_TYPE(mask) != NPY_BOOL || !PyArray_SAMESHAPE(array, mask) ||
        PyArray_NDIM(from) != 1 || PyArray_DESCR(array) != PyArray_DESCR(from) ||
        !PyArray_ISWRITEABLE(array))
        return false;
    ArrayHeader to, by_mask, values;
    const char *why;
    if (array_read(object, &to, &why) != ANSWER_YES ||
        array_read(by, &by_mask, &why) != ANSWER_YES ||
        array_read(value, &values, &why) != ANSWER_YES || !arrays_ranges_apart(&to, &by_mask) ||
        !arrays_ranges_apart(&to, &values))
        return false;
    npy_intp count = count_true(PyArray_BYTES(mask), PyArray_SIZE(mask));
    return count == PyArray_SIZE(from) &&
           expand(PyArray_DATA(from), PyArray_BYTES(mask), PyArray_DATA(array),
                  (size_t)PyArray_ITEMSIZE(array), count);
}

int
array_store(PyObject *array, PyObject *by, PyObject *value)
{
    return store_by_mask(array, by, value) ? 0 : PyObject_SetItem(array, by, value);
}
