/* np.linalg.solve, inv and cholesky of float64 matrices, by the LAPACK that is beside the BLAS and
   with the calls that NumPy makes of it (NumPy linalg/umath_linalg.cpp). */
#define LAPACK(name) BLAS_NAMED(LAPACK_BEFORE, name, LAPACK_AFTER)
void LAPACK(dgesv)(const BLAS_INT *n, const BLAS_INT *columns, double *a, const BLAS_INT *lda,
                   BLAS_INT *pivots, double *b, const BLAS_INT *ldb, BLAS_INT *info);
void LAPACK(dpotrf)(const char *part, const BLAS_INT *n, double *a, const BLAS_INT *lda,
                    BLAS_INT *info, size_t part_length);

/* A matrix, or a vector as one of a column. */
typedef struct {
    char *data;
    int64_t rows, columns, step[2];
} Matrix;

static Matrix
matrix_of(const Run *run, const ExportedOperand *of, char *data)
{
    Matrix m = {data, run_size(run, of->length[0]), 1, {run_size(run, of->stride[0]), 0}};
    if (of->rank == 2) m.columns = run_size(run, of->length[1]);
    if (of->rank == 2) m.step[1] = run_size(run, of->stride[1]);
    return m;
}

/* Columns behind one another, as LAPACK has them: to it, or `back`. */
static void
matrix_copy(const Matrix *m, double *columns, int back)
{
    for (int64_t j = 0; j < m->columns; j++)
        for (int64_t i = 0; i < m->rows; i++) {
            double *each = (double *)(m->data + i * m->step[0] + j * m->step[1]);
            if (back)
                *each = columns[j * m->rows + i];
            else
                columns[j * m->rows + i] = *each;
        }
}

/* a x = b in place of b; 0, or -1 where NumPy raises. */
static int
solve(BLAS_INT n, BLAS_INT columns, double *a, double *b, BLAS_INT *pivots)
{
    BLAS_INT info = 0, rows = n > 0 ? n : 1;
    LAPACK(dgesv)(&n, &columns, a, &rows, pivots, b, &rows, &info);
    return info == 0 ? 0 : -1;
}

static int
call_equations(Run *run, const ExportedCall *call, int inverts)
{
    Matrix a = matrix_of(run, &call->array, run_place(run, call->array.place));
    Matrix out = matrix_of(run, &call->result, run->data[call->to]);
    int64_t n = a.rows, columns = out.columns;
    char *frame = run->frame;
    double *room = (double *)run_allocate(run, (n * n + n * columns + n) * 8);
    if (room == NULL) return -1;
    double *b = room + n * n;
    matrix_copy(&a, room, 0);
    if (inverts) {
        memset(b, 0, (size_t)(n * n) * sizeof *b);
        for (int64_t i = 0; i < n; i++) b[i * n + i] = 1;
    } else {
        Matrix given = matrix_of(run, &call->other, run_place(run, call->other.place));
        matrix_copy(&given, b, 0);
    }
    int failed = solve((BLAS_INT)n, (BLAS_INT)columns, room, b, (BLAS_INT *)(b + n * columns));
    if (!failed) matrix_copy(&out, b, 1);
    run_give_back(run, frame);
    return failed;
}

static __attribute__((unused)) int
call_solve(Run *run, const ExportedCall *call)
{
    return call_equations(run, call, 0);
}

static __attribute__((unused)) int
call_inv(Run *run, const ExportedCall *call)
{
    return call_equations(run, call, 1);
}

static __attribute__((unused)) int
call_cholesky(Run *run, const ExportedCall *call)
{
    Matrix a = matrix_of(run, &call->array, run_place(run, call->array.place));
    Matrix out = matrix_of(run, &call->result, run->data[call->to]);
    char *frame = run->frame;
    double *room = (double *)run_allocate(run, a.rows * a.rows * 8);
    if (room == NULL) return -1;
    BLAS_INT n = (BLAS_INT)a.rows, rows = n > 0 ? n : 1, info = 0;
    matrix_copy(&a, room, 0);
    LAPACK(dpotrf)("L", &n, room, &rows, &info, 1);
    for (int64_t j = 1; j < a.rows; j++) memset(room + j * a.rows, 0, (size_t)j * sizeof *room);
    if (info == 0) matrix_copy(&out, room, 1);
    run_give_back(run, frame);
    return info == 0 ? 0 : -1;
}
