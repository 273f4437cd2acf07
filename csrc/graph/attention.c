/* Which attentions the kernel for Hopper (capability 9.0) takes: its copy engine moves boxes of up
   to five dimensions, of which rows and elements are two. */
#include "graph.h"

enum { ALIGNED = 16, MOST_ROWS = INT32_MAX, BOX_AXES = 3 };

/* Can rows of the array, along the axis `rows`, be copied in boxes by the copy engine?  Its last
   two axes are those of a matrix, the elements of whose rows lie side by side. */
static bool
fits_boxes(const Graph *g, const Type *type, int rows)
{
    int counted = 0;
    if (size_value(g, type->shape[rows]) >= MOST_ROWS) return false;
    for (int axis = 0; axis < type->rank; axis++) {
        bool batch = axis < type->rank - 2;
        int64_t stride = size_value(g, type->stride[axis]);
        if (!batch && axis != rows) continue; /* elements of a row are side by side */
        if (batch && (stride == 0 || size_is_one(g, type->shape[axis]))) continue;
        if (stride <= 0 || !size_divides(g, ALIGNED, type->stride[axis]) ||
            stride >= INT64_C(1) << 40)
            return false;
        counted += batch;
    }
    return counted <= BOX_AXES;
}

bool
attention_on_hopper(const Graph *g, const Type *q, const Type *k, const Type *v)
{
    return g->capability == CAPABILITY_HOPPER && fits_boxes(g, q, q->rank - 2) &&
           fits_boxes(g, k, k->rank - 1) && fits_boxes(g, v, v->rank - 2);
}

bool
attention_has_head(const Graph *g, const Type *q, const Type *k, const Type *v)
{
    int64_t head = size_value(g, q->shape[q->rank - 1]);
    if (!size_is_const(g, q->shape[q->rank - 1]) || !size_is_const(g, v->shape[v->rank - 1]) ||
        size_value(g, v->shape[v->rank - 1]) != head)
        return false;
    if (head == ATTENTION_HEAD) return true;
    return (head == 32 || head == 128) && attention_on_hopper(g, q, k, v);
}
