/* What functions of NumPy do with small arrays, on bare memory: without array objects, the error
   state and the checks of a call, which take a microsecond or two each.  It is NumPy's own code
   that computes, called with the arguments that NumPy would give it.  */
#include "numpy_api.h"

static inline void
copy_items(const char *data, int64_t stride, int64_t n, size_t item, char *to)
{
    for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * item, data + i * stride, item);
}

static const char *
copy_of(const char *data, int64_t stride, int64_t n, size_t item, char *to)
{
    switch (item) { /* so that the compiler knows it */
    case 8: copy_items(data, stride, n, 8, to); break;
    case 4: copy_items(data, stride, n, 4, to); break;
    default: copy_items(data, stride, n, item, to);
    }
    return to;
}

/* NumPy common/cblasfuncs.c, _bad_strides: NumPy multiplies a copy of such a vector.  The copy is
   made at *to, which moves behind it. */
static const char *
straight(const char *data, int64_t *stride, int64_t n, size_t item, char **to)
{
    if (*stride > 0 && *stride % (int64_t)item == 0) return data;
    const char *copy = copy_of(data, *stride, n, item, *to);
    *to += (size_t)n * item;
    *stride = (int64_t)item;
    return copy;
}

/* NumPy multiplies what is one number without BLAS. */
static void
one_product(DType dtype, const char *a, const char *b, char *out)
{
    double x, y;
    float u, v;
    if (dtype == DT_F64) {
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        x *= y;
        memcpy(out, &x, sizeof x);
    } else {
        memcpy(&u, a, sizeof u);
        memcpy(&v, b, sizeof v);
        u *= v;
        memcpy(out, &u, sizeof u);
    }
}

static int
call_vectors(void *context, char *const *data, const int64_t *dimensions, const int64_t *strides,
             void *auxdata)
{
    PyArray_DotFunc *const *dot = context;
    DType dtype = (DType)(uintptr_t)auxdata;
    size_t item = dtype_size(dtype);
    int64_t n = dimensions[0], step[2] = {strides[0], strides[1]};
    char *copies = data[3];
    memset(data[2], 0, item);
    if (n == 1) one_product(dtype, data[0], data[1], data[2]);
    if (n <= 1) return 0;
    const char *a = straight(data[0], &step[0], n, item, &copies);
    const char *b = straight(data[1], &step[1], n, item, &copies);
    (*dot)((void *)(uintptr_t)a, step[0], (void *)(uintptr_t)b, step[1], data[2], n, NULL);
    return 0;
}

/* NumPy ufunc_object.c, PyUFunc_GeneralizedFunctionInternal: a dimension of length 1, and one that
   is missing, has no stride. */
static int
call_matrices(void *context, char *const *data, const int64_t *dimensions, const int64_t *strides,
              void *auxdata)
{
    static const char of[6][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 2}, {2, 0}, {2, 2}};
    enum { OPERANDS = 3, LOOPS = 3 };
    char *args[OPERANDS] = {data[0], data[1], data[2]};
    npy_intp all[1 + LOOPS] = {1, dimensions[0], dimensions[1], dimensions[2]};
    npy_intp steps[OPERANDS + COUNT_OF(of)] = {0};
    for (int i = 0; i < COUNT_OF(of); i++)
        steps[OPERANDS + i] =
            dimensions[(int)of[i][1]] == 1 ? 0 : strides[of[i][0] * LOOPS + of[i][1]];
    PyUFuncGenericFunction loop = (PyUFuncGenericFunction)(uintptr_t)context;
    loop(args, all, steps, auxdata);
    return 0;
}

/* Nonzero for an empty array, of which NumPy raises an error. */
static int
call_find(void *context, char *const *data, const int64_t *dimensions, const int64_t *strides,
          void *auxdata)
{
    PyArray_ArgFunc *const *find = context;
    npy_intp found = 0;
    int64_t n = dimensions[0], step = strides[0];
    size_t item = (size_t)(uintptr_t)auxdata;
    if (n == 0) return 1;
    const char *from = step == (int64_t)item ? data[0] : copy_of(data[0], step, n, item, data[2]);
    if ((*find)((void *)(uintptr_t)from, n, &found, NULL) < 0) return 1;
    memcpy(data[1], &found, sizeof found);
    return 0;
}

static int
call_select(void *Py_UNUSED(context), char *const *data, const int64_t *dimensions,
            const int64_t *Py_UNUSED(strides), void *auxdata)
{
    return !select_dense(data[0], data[1], dimensions[0], data[2], (size_t)(uintptr_t)auxdata,
                         dimensions[1]);
}

static inline int
take_rows(const char *from, int64_t step, int64_t n, const char *by, int64_t count, size_t row,
          char *to)
{
    for (int64_t i = 0; i < count; i++, to += row) {
        int64_t at;
        memcpy(&at, by + i * (int64_t)sizeof at, sizeof at);
        if (at < 0) at += n;
        if (at < 0 || at >= n) return 1;
        memcpy(to, from + at * step, row);
    }
    return 0;
}

static int
call_take(void *Py_UNUSED(context), char *const *data, const int64_t *dimensions,
          const int64_t *strides, void *Py_UNUSED(auxdata))
{
    enum { STEP = 0, ROW = 5 }; /* by operand and loop */
    int64_t n = dimensions[0], count = dimensions[1], step = strides[STEP];
    size_t row = (size_t)strides[ROW];
    switch (row) { /* so that the compiler knows it */
    case 8: return take_rows(data[0], step, n, data[1], count, 8, data[2]);
    case 4: return take_rows(data[0], step, n, data[1], count, 4, data[2]);
    default: return take_rows(data[0], step, n, data[1], count, row, data[2]);
    }
}

/* ANSWER_NO: it has no such loop. */
static Answer
matrices_loop(DType dtype, UfuncLoop *out)
{
    PyUFuncObject *u = (PyUFuncObject *)module_object("numpy", "matmul");
    int number = numpy_descr[dtype]->type_num;
    Answer answer = u == NULL ? ANSWER_ERROR : ANSWER_NO;
    for (int i = 0; u != NULL && i < u->ntypes && answer == ANSWER_NO; i++) {
        if (u->types[3 * i] != number || u->functions[i] == NULL) continue;
        *out = (UfuncLoop){.call = call_matrices,
                           .context = (void *)(uintptr_t)u->functions[i],
                           .auxdata = u->data == NULL ? NULL : (void *)(uintptr_t)u->data[i]};
        answer = ANSWER_YES;
    }
    Py_XDECREF(u);
    return answer;
}

Answer
bare_loop(Bare bare, DType dtype, UfuncLoop *out)
{
    PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(numpy_descr[dtype]);
    bool real = dtype == DT_F64 || dtype == DT_F32;
    *out = (UfuncLoop){.call = call_find, .auxdata = (void *)(uintptr_t)dtype_size(dtype)};
    switch (bare) {
    case BARE_VECTORS:
        if (real && array_dot_loop(dtype, out) < 0) return ANSWER_ERROR;
        return real ? ANSWER_YES : ANSWER_NO;
    case BARE_MATMUL: return real ? matrices_loop(dtype, out) : ANSWER_NO;
    case BARE_DOT:
        out->call = call_vectors;
        out->context = &functions->dotfunc;
        out->auxdata = (void *)(uintptr_t)dtype;
        return real ? ANSWER_YES : ANSWER_NO;
    case BARE_ARGMAX: out->context = &functions->argmax; break;
    case BARE_ARGMIN: out->context = &functions->argmin; break;
    case BARE_SELECT: out->call = call_select; break;
    case BARE_TAKE: out->call = call_take; break;
    }
    return ANSWER_YES;
}
