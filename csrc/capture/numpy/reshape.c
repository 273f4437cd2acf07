/* Reshapes: whether NumPy gives a view or a copy, and with which strides.

   Where axes of one element make a view of what is a copy otherwise, and both lie alike, a copy is
   made for all lengths, unless the program could tell (copies_are_unseen). */
#include "numpy.h"

enum { MOST_OPEN = 4 }; /* axes that may be of one element, of which each choice is looked at */

/* Axes of more than one element. */
typedef struct {
    int n;
    SizeId shape[MAX_RANK], stride[MAX_RANK];
} Axes;

typedef enum {
    RESHAPE_COPY,   /* the new array lies in C order … */
    RESHAPE_PLAIN,  /* … and so does this view */
    RESHAPE_STRIDED /* a view with strides of its own */
} Reshape;

/* Is `a` as much as `b`, 0, more or less?  ANSWER_NO: not known.  `assumed`: nothing is guarded. */
static Answer
sizes_order(Interp *in, SizeId a, SizeId b, bool assumed, int *order)
{
    Graph *g = in->graph;
    bool more;
    *order = 0;
    if (size_same(g, a, b)) return ANSWER_YES;
    if (size_value(g, a) == size_value(g, b)) return assumed ? ANSWER_NO : symbols_unite(in, a, b);
    Answer answer = assumed ? size_is_surely_more(in, a, b, &more) : size_is_more(in, a, b, &more);
    *order = more ? 1 : -1;
    if (answer != ANSWER_NO || assumed) return answer;
    SizeId between = more ? size_sub(g, a, b) : size_sub(g, b, a);
    return size_guard(in, size_sub(g, between, size_const(g, 1)), false);
}

/* As NumPy's _attempt_nocopy_reshape finds the strides for C order. */
static Answer
reshape_strides(Interp *in, const Axes *old, int rank, const SizeId *shape, bool assumed,
                SizeId *stride, Reshape *how)
{
    Graph *g = in->graph;
    int oi = 0, oj = 1, ni = 0, nj = 1, order;
    while (ni < rank && oi < old->n) {
        SizeId np = shape[ni], op = old->shape[oi];
        TRY(sizes_order(in, np, op, assumed, &order));
        while (order != 0 && nj < rank && oj < old->n) {
            if (order > 0)
                op = size_mul(g, op, old->shape[oj++]);
            else
                np = size_mul(g, np, shape[nj++]);
            TRY(sizes_order(in, np, op, assumed, &order));
        }
        if (order != 0) { /* all that is left on both sides is as much */
            oj = old->n;
            nj = rank;
        }
        for (int k = oi; k < oj - 1; k++) {
            SizeId covered = size_mul(g, old->shape[k + 1], old->stride[k + 1]);
            if (size_same(g, old->stride[k], covered)) continue;
            *how = RESHAPE_COPY;
            for (int i = k; i <= k + 1 && !assumed; i++) TRY(length_is_some(in, old->shape[i], 2));
            TRY(sizes_order(in, old->stride[k], covered, assumed, &order));
            return order == 0 ? ANSWER_NO : ANSWER_YES;
        }
        stride[nj - 1] = old->stride[oj - 1];
        for (int k = nj - 1; k > ni; k--) stride[k - 1] = size_mul(g, stride[k], shape[k]);
        ni = nj++;
        oi = oj++;
    }
    *how = RESHAPE_STRIDED;
    for (int k = ni; k < rank; k++) /* of one element */
        stride[k] = ni > 0 ? stride[ni - 1] : size_const(g, 1);
    return ANSWER_YES;
}

/* With the lengths as they are; the guards that this takes are made. */
static Answer
reshape_of_axes(Interp *in, const Type *from, int rank, const SizeId *shape, SizeId *stride,
                Reshape *how)
{
    Axes old = {0};
    bool contiguous;
    TRY(layout_has_order(in, from, 'C', &contiguous));
    *how = RESHAPE_PLAIN;
    if (contiguous) return ANSWER_YES;
    for (int i = 0; i < from->rank; i++) {
        if (size_value(in->graph, from->shape[i]) == 1) {
            TRY(length_is_some(in, from->shape[i], 2)); /* known, where it is no number yet */
            continue;
        }
        old.shape[old.n] = from->shape[i];
        old.stride[old.n++] = from->stride[i];
    }
    TRY(reshape_strides(in, &old, rank, shape, false, stride, how));
    if (*how == RESHAPE_COPY) return ANSWER_YES;
    return lengths_are_several(in, from); /* the strides of others follow other ones */
}

/* ---- for all lengths alike ---- */

/* The axes where those of `ones` have one element, and all others more. */
static Answer
axes_without(Interp *in, const Type *from, unsigned ones, int rank, SizeId *shape, Axes *out)
{
    Graph *g = in->graph;
    Type type = *from;
    for (int axis = 0; axis < from->rank; axis++) {
        SizeId length = from->shape[axis], one = size_const(g, 1);
        for (int i = 0; i < from->rank && ones & 1u << axis; i++) {
            type.shape[i] = size_where(g, type.shape[i], length, one);
            type.stride[i] = size_where(g, type.stride[i], length, one);
        }
        for (int i = 0; i < rank && ones & 1u << axis; i++)
            shape[i] = size_where(g, shape[i], length, one);
    }
    out->n = 0;
    for (int i = 0; i < from->rank; i++) {
        if (type.shape[i] == NO_SIZE || type.stride[i] == NO_SIZE) return ANSWER_ERROR;
        if (size_is_const(g, type.shape[i]) && size_value(g, type.shape[i]) == 1) continue;
        out->shape[out->n] = type.shape[i];
        out->stride[out->n++] = type.stride[i];
    }
    return ANSWER_YES;
}

static Answer
reshape_without(Interp *in, const Type *from, unsigned ones, int rank, const SizeId *shape,
                Reshape *how)
{
    Graph *g = in->graph;
    Axes old;
    SizeId sizes[MAX_RANK], stride[MAX_RANK];
    SizeId step = size_const(g, (int64_t)dtype_size((DType)from->dtype));
    memcpy(sizes, shape, sizeof(SizeId) * (size_t)rank);
    TRY(axes_without(in, from, ones, rank, sizes, &old));
    bool plain = true;
    for (int i = old.n - 1; i >= 0; i--) {
        plain = plain && size_same(g, old.stride[i], step);
        step = size_mul(g, step, old.shape[i]);
    }
    *how = RESHAPE_PLAIN;
    return plain ? ANSWER_YES : reshape_strides(in, &old, rank, sizes, true, stride, how);
}

/* The axes that may have one element, where these are symbols; others are guarded to have more
   where there are such. */
static Answer
open_axes(Interp *in, const Type *type, unsigned *open)
{
    Graph *g = in->graph;
    unsigned others = 0;
    int64_t least;
    *open = 0;
    for (int i = 0, n = 0; i < type->rank; i++) {
        SizeId length = type->shape[i];
        if (size_is_const(g, length)) continue;
        if (!size_lower(g, length, &least) || size_value(g, length) < 2) return ANSWER_NO;
        if (least > 1) continue;
        if (n++ == MOST_OPEN) return ANSWER_NO;
        *(g->sizes.at[length].kind == SIZE_DIM && least == 1 ? open : &others) |= 1u << i;
    }
    for (int i = 0; i < type->rank && *open != 0; i++)
        if (others & 1u << i) TRY(length_is_some(in, type->shape[i], 2));
    return *open != 0 ? ANSWER_YES : ANSWER_NO;
}

/* Is it a copy, or a view that lies like one, where these axes have one element?  It is a copy
   where none has. */
static Answer
is_alike(Interp *in, const Type *from, unsigned ones, int rank, const SizeId *shape)
{
    Reshape how;
    TRY(reshape_without(in, from, ones, rank, shape, &how));
    return how == RESHAPE_COPY || (how == RESHAPE_PLAIN && ones != 0) ? ANSWER_YES : ANSWER_NO;
}

/* With each choice of the open axes; those that are alike with no other are taken out. */
static Answer
choices_are_alike(Interp *in, const Type *from, unsigned *open, int rank, const SizeId *shape)
{
    for (int i = 0; i < from->rank; i++) {
        if (!(*open & 1u << i)) continue;
        Answer answer = is_alike(in, from, 1u << i, rank, shape);
        if (answer == ANSWER_NO) *open &= ~(1u << i);
        if (answer_stops(answer)) return answer;
    }
    unsigned ones = *open;
    do {
        TRY(is_alike(in, from, ones, rank, shape));
        ones = (ones - 1) & *open;
    } while (ones != *open);
    return ANSWER_YES;
}

static Answer
copies_alike(Interp *in, const Type *from, int rank, const SizeId *shape)
{
    SizeId least[MAX_RANK], two = size_const(in->graph, 2);
    unsigned all, open;
    if (two == NO_SIZE) return ANSWER_ERROR;
    TRY(open_axes(in, from, &all));
    for (int i = 0; i < from->rank; i++) {
        Size *size = &in->graph->sizes.at[from->shape[i]];
        least[i] = size->a;
        if (all & 1u << i) size->a = two;
    }
    open = all;
    Answer answer = choices_are_alike(in, from, &open, rank, shape);
    for (int i = from->rank - 1; i >= 0; i--)
        if (all & 1u << i) in->graph->sizes.at[from->shape[i]].a = least[i];
    for (int i = 0; i < from->rank && answer == ANSWER_YES; i++)
        if ((all & ~open) >> i & 1) answer = length_is_some(in, from->shape[i], 2);
    return answer;
}

static Answer
reshape_how(Interp *in, const Type *from, int rank, const SizeId *shape, SizeId *stride,
            Reshape *how, bool *alike)
{
    static const char why[] = "a reshape of an array with gaps";
    *alike = false;
    if (type_is_contiguous(in->graph, from)) {
        *how = RESHAPE_PLAIN;
        return ANSWER_YES;
    }
    bool inner = in->loop != NULL || in->turn != NULL || in->fork != NULL;
    if (from->device == DEVICE_HOST && !inner && !in->attempt.marks->copies_seen) {
        Answer answer = copies_alike(in, from, rank, shape);
        *alike = answer == ANSWER_YES;
        *how = RESHAPE_COPY;
        if (answer != ANSWER_NO) return answer;
    }
    Answer answer = reshape_of_axes(in, from, rank, shape, stride, how);
    if (answer == ANSWER_NO) answer = sizes_specialise(in, from, why);
    return answer == ANSWER_NO ? interp_break(in, BREAK_SHAPE, "%s", why) : answer;
}

/* CuPy (_routines_manipulation.pyx, _get_strides_for_nocopy_reshape) gives an axis of length 1 the
   stride of the axis before it; to the first ones a step past all that the first longer axis
   covers. */
static void
lend_strides(Graph *g, int rank, const SizeId *shape, SizeId *stride)
{
    int first = 0;
    while (first < rank && size_value(g, shape[first]) == 1) first++;
    for (int i = 0; i < rank && first < rank; i++)
        if (size_value(g, shape[i]) == 1)
            stride[i] = i < first ? size_mul(g, shape[first], stride[first]) : stride[i - 1];
}

Answer
node_reshape(Interp *in, NodeId array, int rank, const SizeId *shape, NodeId *out)
{
    Graph *g = in->graph;
    Type from = node_type(in, array), type = from;
    int64_t ints[MAX_RANK];
    bool host = from.device == DEVICE_HOST, alike;
    Reshape how;
    for (int i = 0; i < rank; i++) ints[i] = size_value(g, shape[i]);
    TRY(lengths_are_some(in, rank, shape));
    if (!host && rank == from.rank && memcmp(shape, from.shape, sizeof(SizeId) * (size_t)rank) == 0)
        return node_view(in, OP_reshape, array, &from, rank, ints, out);
    TRY(reshape_how(in, &from, rank, shape, type.stride, &how, &alike));
    if (how == RESHAPE_COPY && !host)
        return interp_break(in, BREAK_DEVICE, "a reshape that makes a copy");
    if (how == RESHAPE_COPY) {
        NodeId copied = array;
        TRY(node_copy(in, array, 'C', &array));
        if (alike && copy_note(in, copied, array) < 0) return ANSWER_ERROR;
        type.offset = node_type(in, array).offset; /* the first of its memory */
    }
    if (!host && how == RESHAPE_STRIDED) lend_strides(g, rank, shape, type.stride);
    type.form = FORM_ARRAY;
    type.rank = (uint8_t)rank;
    /* NumPy ctors.c, _array_fill_strides: unlike fresh arrays, also for a view without elements */
    SizeId step = size_const(g, (int64_t)dtype_size((DType)from.dtype));
    for (int i = rank - 1; i >= 0; i--) {
        type.shape[i] = shape[i];
        if (how != RESHAPE_STRIDED) type.stride[i] = step;
        if (ints[i] != 0) step = size_mul(g, step, shape[i]);
        if (step == NO_SIZE || type.stride[i] == NO_SIZE) return ANSWER_ERROR;
    }
    return node_view(in, OP_reshape, array, &type, rank, ints, out);
}
