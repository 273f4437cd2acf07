/* Strides of fresh arrays, as NumPy lays them out.

   An axis of one element is laid out as the others are nested, of which NumPy's order does not tell
   (nditer takes its stride as 0): x.T * 2 of n by m has the strides (8, 8 * m), and (8, 8) where m
   is 1.  Where a symbol may make a length 1, a stride is what it is else and, times 1 where the
   length is 1, the difference.  What walks over elements takes the former, by size_walked. */
#include "form.h"

/* ---- one order of axes ---- */

/* Dense strides with the last axis of `order` innermost; `order` NULL is C order. An array without
   elements has strides 0, as in NumPy. */
static int
lay_out(Graph *g, Type *out, DType dtype, int rank, const SizeId *shape, const int *order)
{
    *out = type_scalar(dtype, FORM_ARRAY);
    out->rank = (uint8_t)rank;
    bool empty = shape_is_empty(g, rank, shape);
    SizeId stride = size_const(g, empty ? 0 : (int64_t)dtype_size(dtype));
    for (int i = rank - 1; i >= 0 && stride != NO_SIZE; i--) {
        int axis = order == NULL ? i : order[i];
        out->shape[axis] = shape[axis];
        out->stride[axis] = stride;
        if (!empty) stride = size_mul(g, stride, shape[axis]);
    }
    return stride == NO_SIZE ? -1 : 0;
}

int
type_dense(Graph *g, Type *out, DType dtype, int rank, const SizeId *shape, bool c_order)
{
    int order[MAX_RANK];
    for (int i = 0; i < rank; i++) order[i] = rank - 1 - i;
    return lay_out(g, out, dtype, rank, shape, c_order ? NULL : order);
}

int
type_contiguous(Graph *g, Type *out, DType dtype, int rank, const SizeId *shape)
{
    return lay_out(g, out, dtype, rank, shape, NULL);
}

/* ---- results for known lengths, and for those that are no 1 where they may be ---- */

enum { POINTWISE_ARGS = 4 }; /* no op takes more */

typedef enum { OF_UFUNC, OF_ITERATOR, OF_REDUCTION, OF_COPY, OF_JOIN } LayoutKind;

typedef struct {
    LayoutKind kind;
    DType dtype;
    int nargs;
    Type args[POINTWISE_ARGS];
    const DType *ins;    /* of a ufunc's loop; NULL: the arguments' own */
    const bool *reduced; /* axes */
    bool keepdims;
    int axis;      /* along which arrays are joined */
    SizeId length; /* … to one of this length */
} Layout;

Answer
type_common_shape(const Graph *g, int n, const Type *const *types, int *rank, SizeId *shape)
{
    *rank = 0;
    for (int k = 0; k < n; k++)
        if (types[k]->rank > *rank) *rank = types[k]->rank;
    for (int i = 0; i < *rank; i++) {
        shape[i] = NO_SIZE;
        for (int k = 0; k < n; k++) {
            int axis = i - (*rank - types[k]->rank);
            if (axis < 0) continue;
            SizeId size = types[k]->shape[axis];
            if (shape[i] == NO_SIZE || size_is_one(g, shape[i]))
                shape[i] = size;
            else if (!size_is_one(g, size) && size != shape[i])
                return ANSWER_NO;
        }
    }
    return ANSWER_YES;
}

/* Stride of an argument along an axis of the common shape; 0 where it is broadcast. */
static int64_t
iterated_stride(const Graph *g, const Type *type, int rank, const SizeId *shape, int i)
{
    int axis = i - (rank - type->rank);
    if (axis < 0 || size_is_one(g, shape[i]) || size_is_one(g, type->shape[axis])) return 0;
    return size_value(g, type->stride[axis]);
}

/* Must axis `a` be nested deeper than axis `b`, which is the deeper one so far? 1: yes, 0: no, -1:
   no argument tells. */
static int
goes_deeper(const Graph *g, int nargs, const Type *const *types, int rank, const SizeId *shape,
            int a, int b)
{
    int answer = -1;
    for (int k = 0; k < nargs; k++) {
        int64_t outer = llabs(iterated_stride(g, types[k], rank, shape, a));
        int64_t inner = llabs(iterated_stride(g, types[k], rank, shape, b));
        if (outer == 0 || inner == 0) continue;
        if (inner <= outer)
            answer = 0; /* on conflict C order wins */
        else if (answer < 0)
            answer = 1;
    }
    return answer;
}

/* The axes from outermost to innermost, as NumPy shape.c, PyArray_CreateMultiSortedStridePerm,
   sorts those of arrays that are joined: as below, but from the other end. */
static void
sort_joined(const Graph *g, int nargs, const Type *const *types, int rank, const SizeId *shape,
            int *order)
{
    for (int i = 0; i < rank; i++) order[i] = i;
    for (int i = 1; i < rank; i++) {
        int place = i, axis = order[i];
        for (int j = i - 1; j >= 0; j--) {
            int deeper = goes_deeper(g, nargs, types, rank, shape, order[j], axis);
            if (deeper == 1) place = j;
            if (deeper == 0) break;
        }
        for (int j = i; j > place; j--) order[j] = order[j - 1];
        order[place] = axis;
    }
}

/* The axes from outermost to innermost, as NumPy nditer_constr.c, npyiter_find_best_axis_ordering,
   sorts them: a stable insertion sort that starts from C order. */
static void
sort_axes(const Graph *g, int nargs, const Type *const *types, int rank, const SizeId *shape,
          int *order)
{
    int perm[MAX_RANK]; /* fastest first */
    for (int i = 0; i < rank; i++) perm[i] = rank - 1 - i;
    for (int i = 1; i < rank; i++) {
        int place = i, axis = perm[i];
        for (int j = i - 1; j >= 0; j--) {
            int deeper = goes_deeper(g, nargs, types, rank, shape, axis, perm[j]);
            if (deeper == 1) place = j;
            if (deeper == 0) break;
        }
        for (int j = i; j > place; j--) perm[j] = perm[j - 1];
        perm[place] = axis;
    }
    for (int i = 0; i < rank; i++) order[i] = perm[rank - 1 - i];
}

static Answer
lay_out_reduction(Graph *g, const Layout *l, Type *out)
{
    const Type *from = &l->args[0];
    int order[MAX_RANK], left[MAX_RANK], place[MAX_RANK], rank = 0, n = 0;
    SizeId shape[MAX_RANK];
    sort_axes(g, 1, &from, from->rank, from->shape, order);
    for (int i = 0; i < from->rank; i++) {
        if (l->reduced[i] && !l->keepdims) continue;
        place[i] = rank;
        shape[rank++] = l->reduced[i] ? size_const(g, 1) : from->shape[i];
    }
    for (int i = 0; i < from->rank; i++)
        if (!l->reduced[order[i]] || l->keepdims) left[n++] = place[order[i]];
    return lay_out(g, out, l->dtype, rank, shape, left) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
lay_out_iterated(Graph *g, const Layout *l, Type *out)
{
    int rank, order[MAX_RANK];
    SizeId shape[MAX_RANK];
    const Type *types[POINTWISE_ARGS];
    for (int k = 0; k < l->nargs; k++) types[k] = &l->args[k];
    Answer answer = type_common_shape(g, l->nargs, types, &rank, shape);
    if (answer != ANSWER_YES) return answer;
    sort_axes(g, l->nargs, types, rank, shape, order);
    return lay_out(g, out, l->dtype, rank, shape, order) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* NumPy ufunc_object.c, try_trivial_single_output_loop: when all arguments that are not 0-d have
   one shape and are all C or all F contiguous, the result is made in that order without an
   iterator.  Those of more than one axis must have the loop's dtype `ins` already.  ANSWER_NO when
   that does not apply. */
static Answer
lay_out_trivial(Graph *g, const Layout *l, Type *out)
{
    const Type *first = NULL;
    bool c_order = true, f_order = true;
    for (int k = 0; k < l->nargs; k++) {
        const Type *type = &l->args[k];
        if (type->rank == 0) continue;
        if (first == NULL) first = type;
        if (type->rank != first->rank ||
            memcmp(type->shape, first->shape, sizeof(SizeId) * type->rank) != 0)
            return ANSWER_NO;
        if (type->rank == 1) continue; /* any stride will do */
        if (l->ins != NULL && type->dtype != l->ins[k]) return ANSWER_NO;
        c_order = c_order && type_is_contiguous(g, type);
        f_order = f_order && type_is_fortran(g, type);
    }
    if (first == NULL || (!c_order && !f_order)) return ANSWER_NO;
    int order[MAX_RANK], rank = first->rank;
    SizeId shape[MAX_RANK];
    memcpy(shape, first->shape, sizeof(shape));
    for (int i = 0; i < rank; i++) order[i] = c_order ? i : rank - 1 - i;
    return lay_out(g, out, l->dtype, rank, shape, order) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* NumPy ctors.c, PyArray_NewLikeArray with 'K': C or F order where `like` has it, else the axes of
   `like` by falling stride. */
static Answer
lay_out_copy(Graph *g, const Layout *l, Type *out)
{
    const Type *like = &l->args[0];
    int order[MAX_RANK], rank = like->rank;
    for (int i = 0; i < rank; i++) order[i] = i;
    bool f_order = type_is_fortran(g, like), c_order = type_is_contiguous(g, like);
    for (int i = 1; i < rank && !c_order; i++) /* insertion sort, stable */
        for (int j = i; j > 0; j--) {
            int64_t a = llabs(size_value(g, like->stride[order[j - 1]]));
            int64_t b = llabs(size_value(g, like->stride[order[j]]));
            if (!f_order && a >= b) break;
            int axis = order[j];
            order[j] = order[j - 1];
            order[j - 1] = axis;
        }
    return lay_out(g, out, l->dtype, rank, like->shape, order) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
lay_out_joined(Graph *g, const Layout *l, Type *out)
{
    int order[MAX_RANK], rank = l->args[0].rank;
    SizeId shape[MAX_RANK];
    const Type *types[POINTWISE_ARGS];
    for (int k = 0; k < l->nargs; k++) types[k] = &l->args[k];
    memcpy(shape, l->args[0].shape, sizeof(shape));
    shape[l->axis] = l->length;
    sort_joined(g, l->nargs, types, rank, shape, order);
    return lay_out(g, out, l->dtype, rank, shape, order) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
lay_out_as_seen(Graph *g, const Layout *l, Type *out)
{
    Answer answer = ANSWER_NO;
    switch (l->kind) {
    case OF_COPY: return lay_out_copy(g, l, out);
    case OF_REDUCTION: return lay_out_reduction(g, l, out);
    case OF_JOIN: return lay_out_joined(g, l, out);
    case OF_UFUNC: answer = lay_out_trivial(g, l, out); break;
    case OF_ITERATOR: break;
    }
    return answer == ANSWER_NO ? lay_out_iterated(g, l, out) : answer;
}

/* ---- lengths that may be 1 ---- */

/* What a length is where it is 1: a symbol that is another size then. */
typedef struct {
    SizeId length, symbol, is;
} Single;

static bool
is_solved(Graph *g, SizeId length, Single *out)
{
    *out = (Single){.length = length};
    return size_may_be_single(g, length) &&
           size_solved(g, size_sub(g, length, size_const(g, 1)), &out->symbol, &out->is);
}

bool
single_is_told(Graph *g, SizeId length)
{
    Single single;
    return is_solved(g, length, &single);
}

/* Those that are taken as no 1 here. */
typedef struct {
    int n;
    SizeId at[POINTWISE_ARGS * MAX_RANK];
} Others;

static bool
find_single(Graph *g, const Layout *l, const Others *others, Single *out)
{
    for (int k = 0; k < l->nargs; k++)
        for (int i = 0; i < l->args[k].rank; i++) {
            SizeId length = l->args[k].shape[i];
            bool other = size_is_const(g, length);
            for (int at = 0; at < others->n; at++) other = other || others->at[at] == length;
            if (!other && is_solved(g, length, out)) return true;
        }
    return false;
}

/* The same where the length is 1. */
static int
make_single(Graph *g, const Single *single, Layout *l, Others *others)
{
    for (int k = 0; k < l->nargs; k++)
        for (int i = 0; i < l->args[k].rank; i++) {
            SizeId *both[] = {&l->args[k].shape[i], &l->args[k].stride[i]};
            for (int at = 0; at < COUNT_OF(both); at++)
                if ((*both[at] = size_where(g, *both[at], single->symbol, single->is)) == NO_SIZE)
                    return -1;
        }
    for (int i = 0; i < others->n; i++)
        others->at[i] = size_where(g, others->at[i], single->symbol, single->is);
    return 0;
}

/* What it is else and, where the length is 1, the difference. */
static SizeId
either(Graph *g, const Single *single, SizeId none, SizeId one)
{
    if (size_where(g, none, single->symbol, single->is) == one) return none;
    SizeId is = size_if_same(g, single->length, size_const(g, 1));
    return is == NO_SIZE ? NO_SIZE : size_add(g, none, size_mul(g, is, size_sub(g, one, none)));
}

/* Arguments that are all in C order give such a result, whatever the lengths are. */
static bool
is_told(const Graph *g, const Layout *l)
{
    bool told = true;
    for (int k = 0; k < l->nargs; k++)
        told = told && (l->args[k].rank < 2 || type_is_contiguous(g, &l->args[k]));
    return told;
}

static Answer
lay_out_open(Graph *g, const Layout *l, const Others *others, Type *out)
{
    Single single;
    if (is_told(g, l) || !find_single(g, l, others, &single)) return lay_out_as_seen(g, l, out);
    Layout one = *l;
    Others without = *others, in_one = *others;
    Type of_one;
    without.at[without.n++] = single.length;
    Answer answer = lay_out_open(g, l, &without, out);
    if (answer != ANSWER_YES) return answer;
    if (make_single(g, &single, &one, &in_one) < 0) return ANSWER_ERROR;
    if ((answer = lay_out_open(g, &one, &in_one, &of_one)) != ANSWER_YES) return answer;
    for (int i = 0; i < out->rank; i++) {
        if (shape_is_empty(g, of_one.rank, of_one.shape)) return ANSWER_YES; /* another plan's */
        out->stride[i] = either(g, &single, out->stride[i], of_one.stride[i]);
        if (out->stride[i] == NO_SIZE) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

static Answer
laid_out(Graph *g, const Layout *l, Type *out)
{
    Others none = {.n = 0};
    return lay_out_open(g, l, &none, out);
}

int
type_reduced(Graph *g, Type *out, DType dtype, const Type *from, const bool *reduced, bool keepdims)
{
    Layout l = {.kind = OF_REDUCTION, .dtype = dtype, .nargs = 1, .args = {*from}};
    l.reduced = reduced;
    l.keepdims = keepdims;
    uint8_t device = from->device;
    Answer answer = laid_out(g, &l, out);
    out->device = device;
    return answer == ANSWER_YES ? 0 : -1;
}

Device
device_of(const Graph *g, int nargs, const NodeId *args)
{
    for (int k = 0; k < nargs; k++)
        if (graph_node(g, args[k])->type.device != DEVICE_HOST)
            return (Device)graph_node(g, args[k])->type.device;
    return DEVICE_HOST;
}

static Answer
of_nodes(Graph *g, Type *out, LayoutKind kind, DType dtype, int nargs, const NodeId *args,
         const DType *ins)
{
    Layout l = {.kind = kind, .dtype = dtype, .nargs = nargs, .ins = ins};
    assert(nargs <= POINTWISE_ARGS);
    for (int k = 0; k < nargs; k++) l.args[k] = graph_node(g, args[k])->type;
    Answer answer = laid_out(g, &l, out);
    if (answer == ANSWER_YES) out->device = (uint8_t)device_of(g, nargs, args);
    return answer;
}

Answer
type_iterated(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args)
{
    return of_nodes(g, out, OF_ITERATOR, dtype, nargs, args, NULL);
}

Answer
type_broadcast(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args, const DType *ins)
{
    return of_nodes(g, out, OF_UFUNC, dtype, nargs, args, ins);
}

Answer
type_joined(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args, int axis,
            SizeId length)
{
    Layout l = {.kind = OF_JOIN, .dtype = dtype, .nargs = nargs, .axis = axis, .length = length};
    if (nargs > POINTWISE_ARGS) return ANSWER_NO;
    for (int k = 0; k < nargs; k++) {
        l.args[k] = graph_node(g, args[k])->type;
        for (int i = 0; i < l.args[k].rank; i++)
            if (size_value(g, l.args[k].stride[i]) == 0 && !size_is_one(g, l.args[k].shape[i]))
                return ANSWER_NO;
    }
    return laid_out(g, &l, out);
}

int
type_like(Graph *g, Type *out, DType dtype, const Type *like)
{
    Layout l = {.kind = OF_COPY, .dtype = dtype, .nargs = 1, .args = {*like}};
    uint8_t device = like->device;
    Answer answer = laid_out(g, &l, out);
    out->device = device;
    return answer == ANSWER_YES ? 0 : -1;
}
