/* Products of matrices on a device as a library of products is told of them: BLAS's terms, in C
   order. */
#include "graph.h"

enum { ALIGNED = 16 }; /* bytes, of arrays and of the arena: more is not asked for */

typedef struct {
    const Graph *g;
    const Type *result;
    Product *out;
} Telling;

static int64_t
length_of(const Graph *g, const Type *type, int from_end)
{
    return type->rank < from_end ? 1 : size_value(g, type->shape[type->rank - from_end]);
}

/* The distance from row to row of a matrix whose elements lie side by side in rows, or in columns
   (*turned).  False: in neither. */
static bool
tell_matrix(const Telling *t, const Type *type, int which, bool *turned)
{
    int64_t item = (int64_t)dtype_size((DType)type->dtype);
    int64_t rows = length_of(t->g, type, 2), columns = length_of(t->g, type, 1);
    int64_t down = size_value(t->g, type->stride[type->rank - 2]);
    int64_t across = size_value(t->g, type->stride[type->rank - 1]);
    if (down % item != 0 || across % item != 0) return false;
    if ((across == item || columns == 1) && (rows == 1 || down >= columns * item)) {
        *turned = false;
        t->out->lead[which] = rows == 1 ? columns : down / item;
        return true;
    }
    if ((down == item || rows == 1) && (columns == 1 || across >= rows * item)) {
        *turned = true;
        t->out->lead[which] = columns == 1 ? rows : across / item;
        return true;
    }
    return false;
}

/* The axes before the matrix, walked as one by a fixed distance, which is 0 for one matrix that all
   products share. */
static bool
tell_batch(const Telling *t, const Type *type, int which)
{
    int64_t item = (int64_t)dtype_size((DType)type->dtype), count = 1, step = 0;
    for (int from_end = 3; from_end <= t->result->rank; from_end++) {
        int64_t length = length_of(t->g, t->result, from_end);
        if (length == 1) continue;
        bool has = length_of(t->g, type, from_end) == length;
        int64_t stride = has ? size_value(t->g, type->stride[type->rank - from_end]) : 0;
        if (stride < 0 || stride % item != 0) return false;
        if (count == 1)
            step = stride / item;
        else if (stride / item != step * count)
            return false;
        count *= length;
    }
    t->out->step[which] = step;
    t->out->batch = count;
    return true;
}

static int64_t
alignment(const Telling *t, NodeId id, int which)
{
    const Type *type = &graph_node(t->g, id)->type;
    const Node *storage = graph_node(t->g, graph_node(t->g, id)->storage);
    int64_t item = (int64_t)dtype_size((DType)type->dtype), aligned = ALIGNED;
    int64_t offset = size_value(t->g, type->offset), step = t->out->step[which] * item;
    if (storage->type.unaligned) return item;
    while (aligned > item && (offset % aligned != 0 || step % aligned != 0)) aligned /= 2;
    return aligned;
}

static bool
tell_argument(const Telling *t, NodeId id, int which)
{
    const Type *type = &graph_node(t->g, id)->type;
    bool turned = false;
    if (type->form != FORM_ARRAY || type->rank < 2 || type->rank > t->result->rank ||
        type->device != t->result->device || type->dtype != t->result->dtype ||
        !type_is_known(t->g, type) || !size_is_const(t->g, type->offset) ||
        !tell_matrix(t, type, which, &turned) || !tell_batch(t, type, which))
        return false;
    t->out->aligned[which] = alignment(t, id, which);
    if (which < PRODUCT_RESULT) t->out->turned[which] = turned;
    return which < PRODUCT_RESULT || !turned;
}

/* Rows of all products are rows of one where they share the second factor. */
static void
join_rows(Product *p)
{
    bool joins = p->batch > 1 && p->step[PRODUCT_RIGHT] == 0 && !p->turned[PRODUCT_LEFT];
    for (int i = 0; i < PRODUCT_MATRICES; i++)
        if (i != PRODUCT_RIGHT && p->step[i] != p->rows * p->lead[i]) joins = false;
    if (!joins) return;
    p->rows *= p->batch;
    p->batch = 1;
    for (int i = 0; i < PRODUCT_MATRICES; i++) p->step[i] = 0;
}

bool
product_of(const Graph *g, NodeId left, NodeId right, NodeId added, int flags, const Type *result,
           Product *out)
{
    const Telling t = {g, result, out};
    int index = device_index((Device)result->device);
    *out = (Product){.dtype = result->dtype,
                     .flags = flags,
                     .tuned = g->tunes,
                     .device = index > 0 ? g->device[index] : -1};
    if (result->rank < 2 || (result->dtype != DT_F32 && !dtype_is_half((DType)result->dtype)) ||
        !type_is_known(g, result) || !type_is_contiguous(g, result) ||
        type_elements(g, result) == 0)
        return false;
    out->rows = length_of(g, result, 2);
    out->columns = length_of(g, result, 1);
    if (!tell_argument(&t, left, PRODUCT_LEFT) || !tell_argument(&t, right, PRODUCT_RIGHT))
        return false;
    out->inner = length_of(g, &graph_node(g, left)->type, 1);
    if (out->inner == 0 || length_of(g, &graph_node(g, left)->type, 2) != out->rows ||
        length_of(g, &graph_node(g, right)->type, 2) != out->inner ||
        length_of(g, &graph_node(g, right)->type, 1) != out->columns)
        return false;
    out->lead[PRODUCT_RESULT] = out->columns;
    out->step[PRODUCT_RESULT] = out->batch > 1 ? out->rows * out->columns : 0;
    int64_t item = (int64_t)dtype_size((DType)result->dtype);
    out->aligned[PRODUCT_RESULT] = ALIGNED;
    while (out->aligned[PRODUCT_RESULT] > item &&
           out->step[PRODUCT_RESULT] * item % out->aligned[PRODUCT_RESULT] != 0)
        out->aligned[PRODUCT_RESULT] /= 2;
    if (added == NO_NODE) {
        out->lead[PRODUCT_ADDED] = out->lead[PRODUCT_RESULT];
        out->step[PRODUCT_ADDED] = out->step[PRODUCT_RESULT];
        out->aligned[PRODUCT_ADDED] = out->aligned[PRODUCT_RESULT];
    } else if (!type_same_shape(&graph_node(g, added)->type, result) ||
               !tell_argument(&t, added, PRODUCT_ADDED))
        return false;
    join_rows(out);
    return true;
}

bool
product_of_node(const Graph *g, NodeId id, Product *out)
{
    const Node *node = graph_node(g, id);
    int flags = (int)node->attrs.index;
    NodeId added = flags & PRODUCT_RESIDUAL ? node->args[node->nargs - 1] : NO_NODE;
    return product_of(g, node->args[0], node->args[1], added, flags, &node->type, out);
}

bool
product_has_bias(const Graph *g, NodeId row, const Type *result)
{
    const Type *type = &graph_node(g, row)->type;
    const Node *storage = graph_node(g, graph_node(g, row)->storage);
    int64_t item = (int64_t)dtype_size((DType)type->dtype);
    if (type->form != FORM_ARRAY || type->rank < 1 || type->rank > result->rank ||
        type->device != result->device || type->dtype != result->dtype || !type_is_known(g, type) ||
        !size_is_const(g, type->offset) || storage->type.unaligned ||
        size_value(g, type->offset) % ALIGNED != 0)
        return false;
    for (int axis = 0; axis < type->rank - 1; axis++)
        if (size_value(g, type->shape[axis]) != 1) return false;
    return length_of(g, type, 1) == length_of(g, result, 1) &&
           (length_of(g, type, 1) == 1 || size_value(g, type->stride[type->rank - 1]) == item);
}
