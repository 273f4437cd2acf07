/* Copies between views of one array: `a[1] = a[:, 2]`.

   A store reads all of its value before it writes.  NumPy copies a value first that shares the
   target's memory only where the target has several axes or runs the other way; else it goes from
   element to element, from the last one on where the value begins before the target
   (array_assign_array.c, PyArray_AssignArray).  Where the two have different strides, an element
   may have been written when it is read: NumPy does such a copy itself. */
#include "numpy.h"

/* Element p of the target is element q of the value where ahead + p * target == q * value. */
typedef struct {
    int64_t ahead, target, value, length;
} Equation;

enum { NO_END = INT32_MAX };

static Answer
break_crossing(Interp *in)
{
    return break_hinted(in, BREAK_OVERLAP, HINT_COPY,
                        "a copy between views of one array that cross");
}

static int64_t
floor_div(int64_t a, int64_t b)
{
    return size_apply(SIZE_FLOOR_DIV, a, b);
}

/* With strides above 0.  Those p and q lie on a line: the ends of its part within the arrays say
   on which side of p the elements are that are read. */
static bool
reads_written(const Equation *c)
{
    int64_t divisor = common_divisor(c->target, c->value);
    int64_t p_step = c->value / divisor, q_step = c->target / divisor, p = 0, last = c->length - 1;
    while (p < p_step && p <= last && (c->ahead + p * c->target) % c->value != 0) p++;
    if (p == p_step || p > last) return false;
    int64_t q = (c->ahead + p * c->target) / c->value;
    int64_t first = Py_MAX(0, -floor_div(q, q_step));
    int64_t end = Py_MIN(floor_div(last - p, p_step), floor_div(last - q, q_step));
    int64_t further = q - p + first * (q_step - p_step), at_end = q - p + end * (q_step - p_step);
    if (first > end) return false;
    return c->ahead > 0 ? Py_MIN(further, at_end) < 0 : Py_MAX(further, at_end) > 0;
}

/* ---- one axis ---- */

/* What a copy reads or writes, from its lowest address on. */
typedef struct {
    SizeId offset, stride;
    bool backwards;
} Line;

/* ANSWER_NO: which way it runs is not known. */
static Answer
line_of(Graph *g, const Type *type, SizeId length, Line *out)
{
    SizeId stride = type->stride[type->rank - 1];
    int64_t bound;
    *out = (Line){.offset = type->offset, .stride = stride};
    out->backwards = size_upper(g, stride, &bound) && bound < 0;
    if (!out->backwards) return size_lower(g, stride, &bound) && bound > 0 ? ANSWER_YES : ANSWER_NO;
    SizeId reach = size_mul(g, stride, size_add(g, length, size_const(g, -1)));
    out->offset = size_add(g, type->offset, reach);
    out->stride = size_mul(g, stride, size_const(g, -1));
    return out->offset == NO_SIZE || out->stride == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* A row of adjacent elements and a column with rows of at least `length` elements share at most one
   element.  Its number in the row is asserted to be no less than that in the column where the
   column begins behind the row, and no greater where before it; or it lies beyond the row's end.
   Which of the two is the target makes no difference. */
static Answer
assert_diagonal(Interp *in, const Line *row, const Line *column, SizeId item, SizeId length)
{
    Graph *g = in->graph;
    TRY(sizes_assert_at_most(in, size_mul(g, length, item), column->stride));
    SizeId zero = size_const(g, 0), between = size_sub(g, column->offset, row->offset);
    SizeId bytes = size_quotient(g, SIZE_MOD, between, column->stride);
    SizeId in_row = size_quotient(g, SIZE_FLOOR_DIV, bytes, item);
    SizeId above = size_quotient(g, SIZE_FLOOR_DIV, between, column->stride);
    SizeId to_end = size_extreme(g, SIZE_MOST, size_sub(g, length, in_row), zero);
    SizeId apart =
        size_mul(g, size_add(g, in_row, above), size_quotient(g, SIZE_FLOOR_DIV, between, item));
    SizeId safe = size_mul(g, apart, to_end);
    if (safe == NO_SIZE || PyErr_Occurred()) return ANSWER_ERROR;
    if (!size_is_const(g, safe)) return sizes_assert_at_most(in, zero, safe);
    return size_value(g, safe) >= 0 ? ANSWER_YES : break_crossing(in);
}

static Answer
lines_allowed(Interp *in, const Line *target, const Line *value, int64_t item, SizeId length)
{
    Graph *g = in->graph;
    SizeId ahead = size_sub(g, target->offset, value->offset), size = size_const(g, item);
    if (ahead == NO_SIZE || size == NO_SIZE) return ANSWER_ERROR;
    if (size_is_const(g, ahead) && size_is_const(g, target->stride) &&
        size_is_const(g, value->stride)) {
        Equation equation = {.ahead = size_value(g, ahead),
                             .target = size_value(g, target->stride),
                             .value = size_value(g, value->stride),
                             .length = Py_MIN(size_most(g, length), NO_END)};
        if (!reads_written(&equation)) return ANSWER_YES;
        if (size_is_const(g, length)) return break_crossing(in);
    }
    if (size_same(g, target->stride, size)) return assert_diagonal(in, target, value, size, length);
    if (size_same(g, value->stride, size)) return assert_diagonal(in, value, target, size, length);
    return break_crossing(in);
}

Answer
copy_allowed(Interp *in, const Copy *copy)
{
    Graph *g = in->graph;
    const Type *to = &copy->to, *from = &copy->from;
    if (to->rank != 1 || from->rank == 0 || to->device != DEVICE_HOST || from->form != FORM_ARRAY ||
        size_is_one(g, from->shape[from->rank - 1]))
        return ANSWER_YES;
    int written = storage_of(in, copy->target), read = storage_of(in, copy->value);
    if (written < 0 || read < 0) return ANSWER_ERROR;
    SizeId stride = from->stride[from->rank - 1], length = to->shape[0];
    if (written != read || size_same(g, stride, to->stride[0]) || size_is_zero(g, stride) ||
        (!copy->placed && views_apart(g, to, from)))
        return ANSWER_YES;
    Line lines[2];
    Answer known = line_of(g, to, length, &lines[0]);
    if (known == ANSWER_YES) known = line_of(g, from, length, &lines[1]);
    if (known != ANSWER_YES) return known == ANSWER_NO ? break_crossing(in) : known;
    if (lines[0].backwards != lines[1].backwards) return ANSWER_YES; /* NumPy copies the value */
    int64_t item = (int64_t)dtype_size((DType)to->dtype);
    if (copy->placed || item != (int64_t)dtype_size((DType)from->dtype)) return break_crossing(in);
    return lines_allowed(in, &lines[0], &lines[1], item, length);
}
