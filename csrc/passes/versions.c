/* Versions of storages.  See versions.h. */
#include "versions.h"

bool
storage_is_fresh(const Graph *g, NodeId storage)
{
    switch (op_info(graph_node(g, storage)->op)->kind) {
    case KIND_INPUT:
    case KIND_CONST:
    case KIND_EXTERN:
    case KIND_CHOICE:
    case KIND_RESULT: return false;
    default: return true;
    }
}

/* ---- a view as a box ---- */

static bool
is_constant(const Graph *g, const Type *type)
{
    return type_is_known(g, type) && size_is_const(g, type->offset);
}

/* The index of the view's first element, from its offset; false when no element begins there. */
static bool
first_index(const Graph *g, const Type *root, const int *order, int n, int64_t offset, Box *box)
{
    if (offset < 0) return false;
    for (int k = 0; k < n; k++) {
        int64_t stride = size_value(g, root->stride[order[k]]);
        box->low[k] = box->high[k] = offset / stride;
        box->step[k] = 0;
        offset %= stride;
        if (box->low[k] >= size_value(g, root->shape[order[k]])) return false;
    }
    return offset == 0;
}

/* False when the view is not a box in its storage's axes. */
static bool
to_box(const Graph *g, const Type *root, const int *order, int n, const Type *view, Box *box)
{
    if (!first_index(g, root, order, n, size_value(g, view->offset), box)) return false;
    for (int i = 0; i < view->rank; i++) {
        int64_t length = size_value(g, view->shape[i]), stride = size_value(g, view->stride[i]);
        if (length <= 1 || stride == 0) continue;
        int k = 0;
        while (k < n && llabs(stride) < size_value(g, root->stride[order[k]])) k++;
        if (k == n || stride % size_value(g, root->stride[order[k]]) != 0) return false;
        if (box->step[k] != 0) return false; /* two axes of the view walk one of the storage's */
        int64_t step = stride / size_value(g, root->stride[order[k]]);
        int64_t last = box->low[k] + step * (length - 1);
        if (last < 0 || last >= size_value(g, root->shape[order[k]])) return false;
        box->high[k] = step > 0 ? last : box->low[k];
        box->low[k] = step > 0 ? box->low[k] : last;
        box->step[k] = llabs(step);
    }
    return true;
}

/* Have the two boxes no index of storage axis `k` in common? */
static bool
apart_on(const Box *a, const Box *b, int k)
{
    if (a->high[k] < b->low[k] || b->high[k] < a->low[k]) return true;
    int64_t step = common_divisor(a->step[k], b->step[k]);
    return step > 1 && (a->low[k] - b->low[k]) % step != 0;
}

/* The axes of a storage that boxes are made of, by falling stride; -1: it has none. */
static int
storage_axes(const Graph *g, const Type *root, int *order)
{
    return is_constant(g, root) ? type_dense_axes(g, root, order) : -1;
}

static Span
span_of(const Graph *g, const Type *root, const Type *view)
{
    Span span = {.kind = SPAN_OTHER};
    int order[MAX_RANK];
    if (!is_constant(g, root) || !is_constant(g, view)) return span;
    if (type_elements(g, view) == 0) {
        span.kind = SPAN_EMPTY;
        return span;
    }
    int n = storage_axes(g, root, order);
    if (n >= 0 && view->dtype == root->dtype && to_box(g, root, order, n, view, &span.box))
        span.kind = SPAN_BOX;
    return span;
}

/* Have the two no element in common, as far as boxes tell? */
static bool
spans_apart(const Span *a, const Span *b, int axes)
{
    if (a->kind == SPAN_EMPTY || b->kind == SPAN_EMPTY) return true;
    if (a->kind == SPAN_OTHER || b->kind == SPAN_OTHER) return false;
    for (int k = 0; k < axes; k++)
        if (apart_on(&a->box, &b->box, k)) return true;
    return false;
}

/* Widens `hull` to hold `span` too, with all elements in between. */
static void
cover(Span *hull, const Span *span, int axes)
{
    if (span->kind == SPAN_EMPTY || hull->kind == SPAN_OTHER) return;
    if (hull->kind == SPAN_EMPTY || span->kind == SPAN_OTHER) {
        *hull = *span;
    } else {
        for (int k = 0; k < axes; k++) {
            if (span->box.low[k] < hull->box.low[k]) hull->box.low[k] = span->box.low[k];
            if (span->box.high[k] > hull->box.high[k]) hull->box.high[k] = span->box.high[k];
        }
    }
    for (int k = 0; k < axes; k++) hull->box.step[k] = 1;
}

/* ---- the chain ---- */

int
versions_begin(Versions *v, const Graph *g)
{
    *v = (Versions){.g = g, .len = g->nodes.len};
    v->number = arena_alloc(g->arena, (size_t)g->nodes.len * sizeof(int));
    return v->number == NULL ? -1 : 0;
}

static const Version *
version_of(const Versions *v, NodeId storage)
{
    return storage < v->len && v->number[storage] > 0 ? &v->versions.at[v->number[storage] - 1]
                                                      : NULL;
}

int
versions_add(Versions *v, NodeId scatter)
{
    const Node *node = graph_node(v->g, scatter);
    NodeId old = node->args[0];
    const Version *before = version_of(v, old);
    Version made = {.root = before ? before->root : old, .jump = old, .depth = 1};
    int order[MAX_RANK];
    int axes = storage_axes(v->g, &node->type, order);
    made.wrote = made.hull = span_of(v->g, &node->type, node->attrs.view);
    if (before != NULL) {
        const Version *jumped = version_of(v, before->jump);
        int depth = jumped ? jumped->depth : 0, further = 0;
        const Version *second = jumped ? version_of(v, jumped->jump) : NULL;
        if (second != NULL) further = second->depth;
        made.depth = before->depth + 1;
        if (jumped != NULL && before->depth - depth == depth - further) {
            made.jump = jumped->jump;
            cover(&made.hull, &before->hull, axes);
            cover(&made.hull, &jumped->hull, axes);
        }
    }
    v->number[scatter] = v->versions.len + 1;
    return VEC_PUSH(v->g->arena, &v->versions, made);
}

NodeId
versions_root(const Versions *v, NodeId storage)
{
    const Version *version = version_of(v, storage);
    return version ? version->root : storage;
}

bool
versions_pass_by(const Versions *v, NodeId storage, const Type *type)
{
    const Version *at = version_of(v, storage);
    if (at == NULL) return true;
    const Type *whole = &graph_node(v->g, storage)->type;
    int order[MAX_RANK];
    int axes = storage_axes(v->g, whole, order);
    Span read = span_of(v->g, whole, type);
    while (at != NULL) {
        NodeId to = at->jump;
        if (!spans_apart(&read, &at->hull, axes)) {
            if (!spans_apart(&read, &at->wrote, axes)) return false;
            to = graph_node(v->g, storage)->args[0];
        }
        storage = to;
        at = version_of(v, storage);
    }
    return true;
}

/* ---- what a view covers and leaves out ---- */

bool
versions_covers(const Graph *g, const Type *whole, const Type *outer, const Type *inner)
{
    int order[MAX_RANK];
    Span big = span_of(g, whole, outer), small = span_of(g, whole, inner);
    int axes = storage_axes(g, whole, order);
    if (small.kind == SPAN_EMPTY) return true;
    if (type_same_place(g, outer, inner)) return true;
    if (axes < 0 || big.kind != SPAN_BOX || small.kind != SPAN_BOX) return false;
    for (int k = 0; k < axes; k++)
        if (big.box.step[k] > 1 || big.box.low[k] > small.box.low[k] ||
            big.box.high[k] < small.box.high[k])
            return false;
    return true;
}

/* The box from `low` to `high` of the storage, as a view.  0 or -1. */
static int
box_type(Graph *g, const Type *whole, const int *order, int axes, const Box *box, Type *out)
{
    int64_t offset = 0;
    *out = *whole;
    for (int k = 0; k < axes; k++) {
        int axis = order[k];
        offset += box->low[k] * size_value(g, whole->stride[axis]);
        out->shape[axis] = size_const(g, box->high[k] - box->low[k] + 1);
        if (out->shape[axis] == NO_SIZE) return -1;
    }
    out->offset = size_const(g, offset);
    return out->offset == NO_SIZE ? -1 : 0;
}

Answer
versions_around(Graph *g, const Type *whole, const Type *view, Type *part, int *count)
{
    int order[MAX_RANK];
    Span inner = span_of(g, whole, view);
    int axes = storage_axes(g, whole, order);
    if (axes < 0 || inner.kind != SPAN_BOX) return ANSWER_NO;
    for (int k = 0; k < axes; k++)
        if (inner.box.step[k] > 1) return ANSWER_NO;
    Box rest = {0}; /* shrinks to the view, an axis at a time, from the outermost */
    for (int k = 0; k < axes; k++) rest.high[k] = size_value(g, whole->shape[order[k]]) - 1;
    *count = 0;
    for (int k = 0; k < axes; k++) {
        Box before = rest, behind = rest;
        before.high[k] = inner.box.low[k] - 1;
        behind.low[k] = inner.box.high[k] + 1;
        if (before.high[k] >= before.low[k] &&
            box_type(g, whole, order, axes, &before, &part[(*count)++]) < 0)
            return ANSWER_ERROR;
        if (behind.high[k] >= behind.low[k] &&
            box_type(g, whole, order, axes, &behind, &part[(*count)++]) < 0)
            return ANSWER_ERROR;
        rest.low[k] = inner.box.low[k];
        rest.high[k] = inner.box.high[k];
    }
    return ANSWER_YES;
}
