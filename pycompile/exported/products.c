/* Products of matrices by a BLAS, with the calls that NumPy makes of it (NumPy umath/matmul.c.src):
   which routine it is decides the bits. */
#define BLAS_JOINED(before, name, after) before##name##after
#define BLAS_NAMED(before, name, after) BLAS_JOINED(before, name, after)
#define BLAS(name) BLAS_NAMED(BLAS_BEFORE, name, BLAS_AFTER)
enum { BLAS_ROWS = 101, BLAS_AS_IT_IS = 111, BLAS_TURNED = 112, BLAS_UPPER = 121 };

typedef void (*MatmulFn)(const char *a, const int64_t *as, const char *b, const int64_t *bs, char *o,
                         const int64_t *os, int64_t m, int64_t n, int64_t p);

/* Bytes along axis `axis` of `outer` leading ones of the result; an array is repeated along those
   that it lacks, or of which it has one element. */
static int64_t
outer_stride(const Run *run, const ExportedOperand *x, int core, int axis, int outer)
{
    int own = axis - (outer - (x->rank - core));
    return own < 0 || run_size(run, x->length[own]) == 1 ? 0 : run_size(run, x->stride[own]);
}

/* A product of the last two axes for each element of those in front of them. */
static __attribute__((unused)) int
matmul_all(Run *run, const ExportedCall *call, MatmulFn one)
{
    const ExportedOperand *A = &call->array, *B = &call->other, *O = &call->result;
    const char *a = run_place(run, A->place), *b = run_place(run, B->place);
    char *o = run->data[call->to];
    int rows = A->rank > 1, columns = B->rank > 1, outer = O->rank - rows - columns;
    int64_t size = A->dtype.bytes, n = run_size(run, A->length[A->rank - 1]), at[MOST_AXES] = {0};
    int64_t m = rows ? run_size(run, A->length[A->rank - 2]) : 1;
    int64_t p = columns ? run_size(run, B->length[B->rank - 1]) : 1;
    int64_t as[2] = {size, run_size(run, A->stride[A->rank - 1])};
    int64_t bs[2] = {run_size(run, B->stride[B->rank - 1 - columns]), size}, os[2] = {size, size};
    if (rows) as[0] = run_size(run, A->stride[A->rank - 2]);
    if (columns) bs[1] = run_size(run, B->stride[B->rank - 1]);
    if (rows) os[0] = run_size(run, O->stride[outer]);
    if (columns) os[1] = run_size(run, O->stride[O->rank - 1]);
    for (int axis = 0; axis < outer; axis++)
        if (run_size(run, O->length[axis]) == 0) return 0;
    for (int axis = outer; axis >= 0;) {
        one(a, as, b, bs, o, os, m, n, p);
        for (axis = outer - 1; axis >= 0; axis--) { /* the next element */
            int64_t length = run_size(run, O->length[axis]), back = ++at[axis] == length ? length : 0;
            a += outer_stride(run, A, 1 + rows, axis, outer) * (1 - back);
            b += outer_stride(run, B, 1 + columns, axis, outer) * (1 - back);
            o += run_size(run, O->stride[axis]) * (1 - back);
            if (back == 0) break;
            at[axis] = 0;
        }
    }
    return 0;
}

/* Rows of elements side by side, as far apart as an int says. */
static int
rows_fit(int64_t from_row, int64_t from_element, int64_t rows, int64_t columns, int64_t bytes)
{
    (void)rows;
    return from_element == bytes && from_row % bytes == 0 && from_row / bytes >= columns &&
           from_row / bytes <= INT32_MAX;
}

#define MATMUL(NAME, T, L)                                                                         \
    void BLAS(L##gemm)(int, int, int, BLAS_INT, BLAS_INT, BLAS_INT, T, const void *, BLAS_INT,     \
                       const void *, BLAS_INT, T, void *, BLAS_INT);                               \
    void BLAS(L##gemv)(int, int, BLAS_INT, BLAS_INT, T, const void *, BLAS_INT, const void *,      \
                       BLAS_INT, T, void *, BLAS_INT);                                             \
    void BLAS(L##syrk)(int, int, int, BLAS_INT, BLAS_INT, T, const void *, BLAS_INT, T, void *,    \
                       BLAS_INT);                                                                  \
    T BLAS(L##dot)(BLAS_INT, const void *, BLAS_INT, const void *, BLAS_INT);                      \
    static void matmul_plain_##NAME(const char *a, const int64_t *as, const char *b,               \
                                    const int64_t *bs, char *o, const int64_t *os, int64_t m,      \
                                    int64_t n, int64_t p)                                          \
    {                                                                                              \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t k = 0; k < p; k++) {                                                      \
                T sum = 0;                                                                         \
                for (int64_t j = 0; j < n; j++)                                                    \
                    sum += *(const T *)(a + i * as[0] + j * as[1]) *                               \
                           *(const T *)(b + j * bs[0] + k * bs[1]);                                \
                *(T *)(o + i * os[0] + k * os[1]) = sum;                                           \
            }                                                                                      \
    }                                                                                              \
    /* matrix (rows x inner) times vector */                                                       \
    static void matmul_vector_##NAME(const char *a, int64_t from_row, int64_t from_element,        \
                                     const char *v, int64_t step, char *o, int64_t to_step,        \
                                     int64_t rows, int64_t inner)                                  \
    {                                                                                              \
        int turned = !rows_fit(from_row, from_element, rows, inner, sizeof(T));                    \
        BLAS(L##gemv)(turned ? 102 : BLAS_ROWS, BLAS_AS_IT_IS, (BLAS_INT)rows, (BLAS_INT)inner,  \
                      1, a, (BLAS_INT)((turned ? from_element : from_row) / (int64_t)sizeof(T)),   \
                      v, (BLAS_INT)(step / (int64_t)sizeof(T)), 0, o,                              \
                      (BLAS_INT)(to_step / (int64_t)sizeof(T)));                                   \
    }                                                                                              \
    static void matmul_matrix_##NAME(const char *a, const int64_t *as, const char *b,              \
                                     const int64_t *bs, char *o, int64_t lead, int64_t m,          \
                                     int64_t n, int64_t p)                                         \
    {                                                                                              \
        int64_t size = sizeof(T);                                                                  \
        int at = rows_fit(as[0], as[1], m, n, size) ? BLAS_AS_IT_IS : BLAS_TURNED;                 \
        int bt = rows_fit(bs[0], bs[1], n, p, size) ? BLAS_AS_IT_IS : BLAS_TURNED;                 \
        BLAS_INT la = (BLAS_INT)(as[at == BLAS_TURNED] / size);                                    \
        BLAS_INT lb = (BLAS_INT)(bs[bt == BLAS_TURNED] / size), lo = (BLAS_INT)(lead / size);      \
        if (a != b || m != p || as[0] != bs[1] || as[1] != bs[0] || at == bt) {                    \
            BLAS(L##gemm)(BLAS_ROWS, at, bt, (BLAS_INT)m, (BLAS_INT)p, (BLAS_INT)n, 1, a, la, b,   \
                          lb, 0, o, lo);                                                           \
            return;                                                                                \
        }                                                                                          \
        BLAS(L##syrk)(BLAS_ROWS, BLAS_UPPER, at, (BLAS_INT)p, (BLAS_INT)n, 1, a,                   \
                      at == BLAS_AS_IT_IS ? la : lb, 0, o, lo);                                    \
        for (int64_t i = 0; i < p; i++)                                                            \
            for (int64_t k = i + 1; k < p; k++)                                                    \
                *(T *)(o + k * lead + i * size) = *(const T *)(o + i * lead + k * size);           \
    }                                                                                              \
    static void matmul_one_##NAME(const char *a, const int64_t *as, const char *b,                 \
                                  const int64_t *bs, char *o, const int64_t *os, int64_t m,        \
                                  int64_t n, int64_t p)                                            \
    {                                                                                              \
        int64_t size = sizeof(T);                                                                  \
        int left = rows_fit(as[0], as[1], m, n, size) || rows_fit(as[1], as[0], n, m, size);       \
        int right = rows_fit(bs[0], bs[1], n, p, size) || rows_fit(bs[1], bs[0], p, n, size);      \
        int zero = m == 0 || n == 0 || p == 0, scalar = n == 1 && (m == 1 || p == 1);              \
        if (!zero && m == 1 && p == 1) {                                                           \
            T sum = BLAS(L##dot)((BLAS_INT)n, a, (BLAS_INT)(as[1] / size), b,                      \
                                 (BLAS_INT)(bs[0] / size));                                        \
            *(T *)o = sum;                                                                         \
        } else if (!zero && !scalar && m == 1 && right && rows_fit(as[1], size, n, 1, size))       \
            matmul_vector_##NAME(b, bs[1], bs[0], a, as[1], o, os[1], p, n);                       \
        else if (!zero && !scalar && p == 1 && left && rows_fit(bs[0], size, n, 1, size))          \
            matmul_vector_##NAME(a, as[0], as[1], b, bs[0], o, os[0], m, n);                       \
        else if (!zero && m > 1 && n > 1 && p > 1 && left && right &&                              \
                 rows_fit(os[0], os[1], m, p, size))                                               \
            matmul_matrix_##NAME(a, as, b, bs, o, os[0], m, n, p);                                 \
        else                                                                                       \
            matmul_plain_##NAME(a, as, b, bs, o, os, m, n, p);                                     \
    }                                                                                              \
    static __attribute__((unused)) int call_matmul_##NAME(Run *run, const ExportedCall *call)      \
    {                                                                                              \
        return matmul_all(run, call, matmul_one_##NAME);                                           \
    }
MATMUL(f64, double, d)
MATMUL(f32, float, s)
