/* Calls of gufuncs such as numpy.fft's, with their rows divided among threads.

   NumPy calls a gufunc's inner loop with rows and the strides from row to row; it treats each row
   by itself and runs without the GIL.  So parts of the rows may be computed at the same time, with
   the same bits.  (NumPy's own Python threads may run such a loop at the same time, too.)

   Followed are gufuncs of operands with at most one core dimension, the results given by `out`; all
   else is called as NumPy does it.

     1. The loop is the one that NumPy takes; it may want other dtypes (an FFT of complex64 is one
   of complex128, rounded).
     2. Outer axes are broadcast, put into the order of the result's memory, and joined where all
        operands allow.  The last one gives the rows of one call of the loop.
     3. A unit is a group of rows that no vector of the loop's crosses: a loop that has other code
        for the rows that are left over treats the same rows so.
     4. Rows of an operand that lie across its memory (an FFT along the first axis), or that the
   loop wants in another dtype, are gathered into scratch, a few at once: whole cache lines are
   read, where NumPy reads an element of each and converts whole arrays.  Results are put back so.

   Measured on two cores, 512x512 complex128: fft2 in 0.9 ms instead of 2.9. */
#include "numpy_api.h"

enum {
    OPERANDS = 4,
    GROUP = 16,             /* rows of a unit: a multiple of the rows that a vector holds */
    SCRATCH = 256 << 10,    /* bytes, a part of the second-level cache */
    MOST_SCRATCH = 4 << 20, /* threads keep it; longer rows are left to NumPy */
    ELEMENT_PS = 4000,      /* of a transform of some hundred elements */
    PADDING = 64,    /* bytes between gathered rows, so that they are not all in the same sets */
    LEAST = 1 << 14, /* elements; fewer are not worth it */
};

typedef struct {
    float real, imag;
} Pair32;
typedef struct {
    double real, imag;
} Pair64;

/* Copies elements between rows of any strides, dtypes included. */
typedef void (*RowsCopy)(char *to, npy_intp to_row, npy_intp to_step, const char *from,
                         npy_intp from_row, npy_intp from_step, npy_intp rows, npy_intp length);

typedef struct {
    char *data;
    int core;                  /* the number of its core dimension, -1: none */
    npy_intp step, length;     /* of the core dimension, in bytes and elements */
    npy_intp stride[MAX_RANK]; /* of the outer axes */
    int type, loop_type;       /* in memory, and to the loop */
    RowsCopy copy;             /* into scratch, or of a result out of it; NULL: as it lies */
    int64_t at, pitch;         /* in scratch: where, and bytes from one row to the next */
    bool upon;                 /* a result: written where operand 0 is in scratch */
} Operand;

struct Gufunc {
    PyUFuncGenericFunction loop;
    void *data;
    int noperands, nresults; /* the last operands are results */
    Operand operand[OPERANDS];
    int rank; /* of the outer axes, at least 1 */
    npy_intp shape[MAX_RANK];
    int64_t groups; /* of the last outer axis */
    npy_intp rows;  /* that go through scratch at once, 0: none do */
    int64_t scratch_bytes, units, unit_ps;
};

/* ---- what a thread does ---- */

/* The elements in the inner loop where they are neighbours on both sides, else the rows: columns of
   memory are read by whole cache lines. */
#define ROWS_COPY(name, To, From, value)                                                           \
    static void name(char *to, npy_intp to_row, npy_intp to_step, const char *from,                \
                     npy_intp from_row, npy_intp from_step, npy_intp rows, npy_intp length)        \
    {                                                                                              \
        if (to_step == sizeof(To) && from_step == sizeof(From)) {                                  \
            for (npy_intp i = 0; i < rows; i++)                                                    \
                for (npy_intp k = 0; k < length; k++) {                                            \
                    From x = ((const From *)(from + i * from_row))[k];                             \
                    ((To *)(to + i * to_row))[k] = value;                                          \
                }                                                                                  \
            return;                                                                                \
        }                                                                                          \
        for (npy_intp k = 0; k < length; k++)                                                      \
            for (npy_intp i = 0; i < rows; i++) {                                                  \
                From x = *(const From *)(from + i * from_row + k * from_step);                     \
                *(To *)(to + i * to_row + k * to_step) = value;                                    \
            }                                                                                      \
    }

ROWS_COPY(copy_f32, float, float, x)
ROWS_COPY(copy_f64, double, double, x)
ROWS_COPY(copy_c64, Pair32, Pair32, x)
ROWS_COPY(copy_c128, Pair64, Pair64, x)
ROWS_COPY(widen_f32, double, float, x)
ROWS_COPY(widen_c64, Pair64, Pair32, ((Pair64){x.real, x.imag}))
ROWS_COPY(complex_f32, Pair64, float, ((Pair64){x, 0}))
ROWS_COPY(complex_f64, Pair64, double, ((Pair64){x, 0}))
ROWS_COPY(narrow_f64, float, double, (float)x)
ROWS_COPY(narrow_c128, Pair32, Pair64, ((Pair32){(float)x.real, (float)x.imag}))

static const struct {
    int from, to;
    RowsCopy copy;
} copies[] = {
    {NPY_FLOAT, NPY_FLOAT, copy_f32},      {NPY_DOUBLE, NPY_DOUBLE, copy_f64},
    {NPY_CFLOAT, NPY_CFLOAT, copy_c64},    {NPY_CDOUBLE, NPY_CDOUBLE, copy_c128},
    {NPY_FLOAT, NPY_DOUBLE, widen_f32},    {NPY_CFLOAT, NPY_CDOUBLE, widen_c64},
    {NPY_FLOAT, NPY_CDOUBLE, complex_f32}, {NPY_DOUBLE, NPY_CDOUBLE, complex_f64},
    {NPY_DOUBLE, NPY_FLOAT, narrow_f64},   {NPY_CDOUBLE, NPY_CFLOAT, narrow_c128},
};

static RowsCopy
copy_for(int from, int to)
{
    for (int i = 0; i < COUNT_OF(copies); i++)
        if (copies[i].from == from && copies[i].to == to) return copies[i].copy;
    return NULL;
}

static npy_intp
size_of_type(int type)
{
    return type == NPY_FLOAT ? 4 : type == NPY_CDOUBLE ? 16 : 8;
}

/* Rows [first, first + rows) of the last outer axis, where the operands' other axes lead to `at`.
 */
static void
call_loop(const Gufunc *call, char *scratch, char *const *at, npy_intp first, npy_intp rows)
{
    char *data[OPERANDS];
    npy_intp dimensions[1 + OPERANDS] = {rows}, steps[2 * OPERANDS];
    int nsteps = call->noperands, last = call->rank - 1, results = nsteps - call->nresults;
    for (int i = 0; i < call->noperands; i++) {
        const Operand *o = &call->operand[i];
        npy_intp row = o->stride[last], width = size_of_type(o->loop_type);
        char *from = at[i] + first * row;
        if (o->copy != NULL && i < results)
            o->copy(scratch + o->at, o->pitch, width, from, row, o->step, rows, o->length);
        data[i] = o->copy != NULL ? scratch + o->at : from;
        steps[i] = o->copy != NULL ? (npy_intp)o->pitch : row;
        if (o->core < 0) continue;
        dimensions[1 + o->core] = o->length;
        steps[nsteps++] = o->copy != NULL ? width : o->step;
    }
    call->loop(data, dimensions, steps, call->data);
    for (int i = results; i < call->noperands; i++) {
        const Operand *o = &call->operand[i];
        if (o->copy != NULL)
            o->copy(at[i] + first * o->stride[last], o->stride[last], o->step, scratch + o->at,
                    o->pitch, size_of_type(o->loop_type), rows, o->length);
    }
}

void
gufunc_part(const Gufunc *call, char *scratch, int64_t begin, int64_t end)
{
    int last = call->rank - 1;
    while (begin < end) {
        char *at[OPERANDS];
        int64_t run = begin / call->groups, group = begin % call->groups;
        int64_t ngroups = Py_MIN(end - begin, call->groups - group);
        for (int i = 0; i < call->noperands; i++) {
            int64_t rest = run;
            at[i] = call->operand[i].data;
            for (int axis = last - 1; axis >= 0; axis--) {
                at[i] += rest % call->shape[axis] * call->operand[i].stride[axis];
                rest /= call->shape[axis];
            }
        }
        /* without scratch all groups go by one call of the loop, which makes tables of its own */
        npy_intp most = call->rows > 0 ? call->rows : ngroups * GROUP;
        npy_intp first = group * GROUP, stop = Py_MIN(first + ngroups * GROUP, call->shape[last]);
        for (; first < stop; first += most)
            call_loop(call, scratch, at, first, Py_MIN(most, stop - first));
        begin += ngroups;
    }
}

/* ---- a call ---- */

static bool
is_plain_array(PyObject *object)
{
    return PyArray_CheckExact(object) && PyArray_ISBEHAVED_RO((PyArrayObject *)object) &&
           PyArray_NDIM((PyArrayObject *)object) <= MAX_RANK;
}

/* What resolve_dtypes wants for an operand; a new reference, NULL with or without an error. */
static PyObject *
dtype_of(PyObject *operand, bool is_number)
{
    if (!is_number) return Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)operand));
    if (PyLong_CheckExact(operand) || PyFloat_CheckExact(operand))
        return Py_NewRef((PyObject *)Py_TYPE(operand)); /* a weak one */
    if (PyArray_IsScalar(operand, Float) || PyArray_IsScalar(operand, Double))
        return (PyObject *)PyArray_DescrFromScalar(operand);
    return NULL;
}

/* The number of the loop that NumPy takes for the operands; -1, with or without an error: it is not
   known. */
static int
loop_for(const PyUFuncObject *u, PyObject *const *operands)
{
    PyObject *given = PyTuple_New(u->nargs), *found = NULL;
    int at = -1;
    for (int i = 0; given != NULL && i < u->nargs; i++) {
        PyObject *dtype = dtype_of(operands[i], u->core_num_dims[i] == 0);
        if (dtype == NULL) goto done;
        PyTuple_SET_ITEM(given, i, dtype);
    }
    if (given == NULL) goto done;
    found = PyObject_CallMethod((PyObject *)u, "resolve_dtypes", "(O)", given);
    if (found == NULL || !PyTuple_Check(found) || PyTuple_GET_SIZE(found) != u->nargs) goto done;
    for (int loop = 0; loop < u->ntypes && at < 0; loop++) {
        at = loop;
        for (int i = 0; i < u->nargs; i++) {
            PyObject *dtype = PyTuple_GET_ITEM(found, i);
            if (!PyArray_DescrCheck(dtype) || !PyArray_ISNBO(((PyArray_Descr *)dtype)->byteorder) ||
                ((PyArray_Descr *)dtype)->type_num != u->types[loop * u->nargs + i])
                at = -1;
        }
    }
done:
    Py_XDECREF(given);
    Py_XDECREF(found);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_MemoryError)) PyErr_Clear();
    return at;
}

/* The axis of operand number `i` from what `axes` says of it; false: not followed. */
static bool
read_axis(PyObject *axes, int i, const PyUFuncObject *u, PyObject *operand, int *axis)
{
    PyObject *item = PyList_GET_ITEM(axes, i);
    if (!PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) != u->core_num_dims[i]) return false;
    if (u->core_num_dims[i] == 0) return true;
    int rank = PyArray_NDIM((PyArrayObject *)operand);
    int overflow;
    if (!PyLong_CheckExact(PyTuple_GET_ITEM(item, 0))) return false;
    long number = PyLong_AsLongAndOverflow(PyTuple_GET_ITEM(item, 0), &overflow);
    if (overflow || number < -rank || number >= rank) return false;
    *axis = (int)(number < 0 ? number + rank : number);
    return true;
}

/* The operands of gufunc(*args, axes=[…], out=…), borrowed; false: not followed. */
static bool
read_operands(const PyUFuncObject *u, PyObject *args, PyObject *kwargs, PyObject **operands,
              PyObject **axes)
{
    if (u->nargs > OPERANDS || u->nout != 1 || PyTuple_GET_SIZE(args) != u->nin || kwargs == NULL ||
        PyDict_GET_SIZE(kwargs) != 2)
        return false;
    PyObject *out = PyDict_GetItemString(kwargs, "out");
    *axes = PyDict_GetItemString(kwargs, "axes");
    if (out == NULL || *axes == NULL || !PyList_CheckExact(*axes) ||
        PyList_GET_SIZE(*axes) != u->nargs)
        return false;
    for (int i = 0; i < u->nin; i++) operands[i] = PyTuple_GET_ITEM(args, i);
    operands[u->nin] = out;
    for (int i = 0; i < u->nargs; i++)
        if (u->core_num_dims[i] > 1 || (u->core_num_dims[i] == 1 && !is_plain_array(operands[i])))
            return false;
    return is_plain_array(out) && PyArray_ISWRITEABLE((PyArrayObject *)out);
}

/* Outer axes are those of the result but its core dimension; an input broadcasts to them. */
static bool
set_operand(Gufunc *call, int i, PyArrayObject *array, int axis, const PyArrayObject *result,
            int result_axis)
{
    Operand *o = &call->operand[i];
    int rank = PyArray_NDIM(array), outer = PyArray_NDIM(result) - 1;
    o->data = PyArray_BYTES(array);
    o->step = PyArray_STRIDE(array, axis);
    o->length = PyArray_DIM(array, axis);
    o->type = PyArray_TYPE(array);
    if (rank - 1 > outer) return false;
    for (int to = outer - 1, from = rank - 1; to >= 0; to--) {
        int of_result = to < result_axis ? to : to + 1;
        npy_intp length = PyArray_DIM(result, of_result), stride = 0;
        if (from == axis) from--;
        if (from >= 0) {
            if (PyArray_DIM(array, from) == length)
                stride = PyArray_STRIDE(array, from);
            else if (PyArray_DIM(array, from) != 1)
                return false;
            from--;
        }
        call->shape[to] = length;
        o->stride[to] = length == 1 ? 0 : stride;
    }
    return true;
}

static void
swap_axes(Gufunc *call, int a, int b)
{
    npy_intp length = call->shape[a];
    call->shape[a] = call->shape[b];
    call->shape[b] = length;
    for (int i = 0; i < call->noperands; i++) {
        npy_intp *stride = call->operand[i].stride, kept = stride[a];
        stride[a] = stride[b];
        stride[b] = kept;
    }
}

static npy_intp
size_of(npy_intp stride)
{
    return stride < 0 ? -stride : stride;
}

/* The result's smallest stride comes last; axes of one element go, and those that all operands go
   through in one are one. */
static void
order_axes(Gufunc *call)
{
    const npy_intp *by = call->operand[call->noperands - 1].stride;
    for (int a = 1; a < call->rank; a++)
        for (int b = a; b > 0 && size_of(by[b - 1]) < size_of(by[b]); b--)
            swap_axes(call, b - 1, b);
    int kept = 0;
    for (int a = 0; a < call->rank; a++) {
        if (call->shape[a] == 1) continue;
        bool joins = kept > 0;
        for (int i = 0; i < call->noperands && joins; i++) {
            const npy_intp *stride = call->operand[i].stride;
            joins = stride[kept - 1] == stride[a] * call->shape[a];
        }
        npy_intp length = joins ? call->shape[kept - 1] * call->shape[a] : call->shape[a];
        if (!joins) kept++;
        call->shape[kept - 1] = length;
        for (int i = 0; i < call->noperands; i++)
            call->operand[i].stride[kept - 1] = call->operand[i].stride[a];
    }
    if (kept == 0) {
        call->shape[0] = 1;
        for (int i = 0; i < call->noperands; i++) call->operand[i].stride[0] = 0;
        kept = 1;
    }
    call->rank = kept;
}

/* Whether the loop may write a result where it has read the operand, element for element, which
   pocketfft allows for transforms from complex to complex: only numpy.fft's functions have the
   trait DIVIDED, and other gufuncs need not allow it.  Less scratch stays in the cache. */
static bool
may_overwrite(const Operand *input, const Operand *result)
{
    return input->copy != NULL && input->loop_type == result->loop_type &&
           input->length == result->length;
}

/* Says which operands go through scratch, and how many rows do at once; false: not followed. */
static bool
plan_scratch(Gufunc *call)
{
    int last = call->rank - 1;
    int64_t row_bytes = 0;
    for (int i = 0; i < call->noperands; i++) {
        Operand *o = &call->operand[i];
        npy_intp row = size_of(o->stride[last]);
        bool result = i >= call->noperands - call->nresults;
        if (o->core < 0) continue;
        RowsCopy copy = result ? copy_for(o->loop_type, o->type) : copy_for(o->type, o->loop_type);
        if (copy == NULL) return false;
        bool across = row != 0 && row < size_of(o->step) && call->shape[last] > 1;
        if (o->type == o->loop_type && !across) continue;
        o->copy = copy;
        o->pitch = (o->length * size_of_type(o->loop_type) + 63) / 64 * 64 + PADDING;
        o->upon = result && may_overwrite(&call->operand[0], o);
        if (!o->upon) row_bytes += o->pitch;
    }
    if (GROUP * row_bytes > MOST_SCRATCH) return false;
    call->rows = row_bytes == 0 ? 0 : Py_MAX(SCRATCH / row_bytes / GROUP * GROUP, GROUP);
    for (int i = 0; i < call->noperands; i++) {
        Operand *o = &call->operand[i];
        if (o->copy == NULL || o->upon) continue; /* operand 0 is at 0 */
        o->at = call->scratch_bytes;
        call->scratch_bytes += call->rows * o->pitch;
    }
    return true;
}

static bool
are_apart(const Gufunc *call, PyObject *const *operands)
{
    ArrayHeader result, input;
    const char *low, *high, *from, *to;
    int out = call->noperands - 1;
    if (array_header(operands[out], &result) != ANSWER_YES) return false;
    array_extent(&result, &low, &high);
    for (int i = 0; i < out; i++) {
        if (call->operand[i].core < 0) continue;
        if (array_header(operands[i], &input) != ANSWER_YES) return false;
        array_extent(&input, &from, &to);
        if (low < to && from < high) return false;
    }
    return true;
}

/* Fills `call`, which is zeroed; false: not followed.  `numbers` gets those that operands without a
   core dimension are. */
static bool
plan_call(const PyUFuncObject *u, PyObject *const *operands, PyObject *axes, Gufunc *call,
          double *numbers)
{
    int axis[OPERANDS], out = u->nargs - 1;
    npy_intp length[OPERANDS];
    if (u->core_num_dim_ix > OPERANDS || u->core_num_dims[out] != 1) return false;
    int at = loop_for(u, operands);
    if (at < 0) return false;
    const char *types = u->types + at * u->nargs;
    call->loop = u->functions[at];
    call->data = u->data == NULL ? NULL : (void *)u->data[at];
    call->noperands = u->nargs;
    call->nresults = u->nout;
    for (int i = 0; i < u->nargs; i++)
        if (!read_axis(axes, i, u, operands[i], &axis[i])) return false;
    PyArrayObject *result = (PyArrayObject *)operands[out];
    call->rank = PyArray_NDIM(result) - 1;
    for (int i = 0; i < u->core_num_dim_ix; i++) length[i] = -1;
    for (int i = 0; i < u->nargs; i++) {
        Operand *o = &call->operand[i];
        o->core = -1;
        if (u->core_num_dims[i] == 0) {
            double number = PyFloat_AsDouble(operands[i]);
            o->data = (char *)&numbers[i];
            if (PyErr_Occurred()) return PyErr_Clear(), false;
            if (types[i] == NPY_FLOAT)
                *(float *)o->data = (float)number;
            else if (types[i] == NPY_DOUBLE)
                numbers[i] = number;
            else
                return false;
            continue;
        }
        if (!set_operand(call, i, (PyArrayObject *)operands[i], axis[i], result, axis[out]))
            return false;
        o->core = u->core_dim_ixs[u->core_offsets[i]];
        o->loop_type = types[i];
        if (o->length < 1 || (length[o->core] >= 0 && length[o->core] != o->length)) return false;
        length[o->core] = o->length;
    }
    if (!are_apart(call, operands)) return false;
    order_axes(call);
    if (!plan_scratch(call)) return false;
    call->units = call->groups = (call->shape[call->rank - 1] + GROUP - 1) / GROUP;
    for (int i = 0; i < call->rank - 1; i++) call->units *= call->shape[i];
    int64_t longest = Py_MAX(call->operand[0].length, call->operand[out].length);
    call->unit_ps = longest * GROUP * ELEMENT_PS;
    return call->units > 1 && call->units * GROUP * longest >= LEAST;
}

PyObject *
gufunc_call(PyObject *gufunc, PyObject *args, PyObject *kwargs, GufuncShare share)
{
    const PyUFuncObject *u = (const PyUFuncObject *)gufunc;
    PyObject *operands[OPERANDS], *axes;
    double numbers[OPERANDS] = {0};
    Gufunc call = {0};
    if (!read_operands(u, args, kwargs, operands, &axes) ||
        !plan_call(u, operands, axes, &call, numbers))
        return PyErr_Occurred() ? NULL : PyObject_Call(gufunc, args, kwargs);
    int flags = share(&call, call.units, call.unit_ps, call.scratch_bytes);
    if (PyErr_Occurred()) return NULL;
    int reported = flags <= 0 ? 0 : array_error_mask();
    if (reported < 0) return NULL;
    /* An error: NumPy tells of it. */
    if (flags < 0 || (flags & reported) != 0) return PyObject_Call(gufunc, args, kwargs);
    return Py_NewRef(operands[u->nargs - 1]);
}
