/* Replacing nodes by other nodes. See rewrite.h. */
#include "rewrite.h"

#include "../arrays/arrays.h"

/* A product of two arrays that must not become one array: see type_is_transpose. */
static bool
is_product_of_two(const Graph *g, const Node *node)
{
    if (op_info(node->op)->kind != KIND_MATMUL) return false;
    const Node *a = graph_node(g, node->args[0]), *b = graph_node(g, node->args[1]);
    return a->storage != b->storage && type_is_transpose(&a->type, &b->type);
}

static void
mark_uses(Rewrite *r)
{
    const Graph *g = r->g;
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(g, i);
        OpKind kind = op_info(node->op)->kind;
        if (node->nargs == 0) continue;
        if (kind == KIND_VIEW || kind == KIND_ELEMENT) r->uses[node->args[0]] |= USE_BASE;
        for (int k = 1; node->op == OP_element_dot && k < node->nargs; k++)
            if (graph_node(g, node->args[k])->type.form == FORM_ARRAY)
                r->uses[node->args[k]] |= USE_BASE;
        if (kind == KIND_SCATTER || op_writes_element(node->op))
            r->uses[node->args[0]] |= USE_BASE | USE_WRITTEN;
        for (int k = 0; kind == KIND_REGION && k < node->nargs; k++)
            r->uses[node->args[k]] |= USE_BASE | USE_WRITTEN;
        bool own = kind == KIND_EXTERN || kind == KIND_CHOICE || is_product_of_two(g, node);
        for (int k = 0; own && k < node->nargs; k++) {
            /* An extern may return its argument or a view of it; a choice is one of its
               arguments. */
            r->uses[node->args[k]] |= USE_WRITTEN;
            r->uses[graph_node(g, node->args[k])->storage] |= USE_WRITTEN;
        }
    }
    for (int i = 1; i < g->regions.len; i++)
        for (int k = 0; k < g->regions.at[i].results.len; k++)
            r->uses[g->regions.at[i].results.at[k]] |= USE_BASE | USE_WRITTEN;
    for (int i = 0; i < g->outputs.len; i++) {
        NodeId id = g->outputs.at[i].node;
        r->uses[id] |= USE_OUTPUT | USE_ESCAPES;
        r->uses[graph_node(g, id)->storage] |= USE_ESCAPES;
    }
}

int
rewrite_begin(Rewrite *r, Graph *g)
{
    size_t n = (size_t)g->nodes.len;
    *r = (Rewrite){.g = g, .len = g->nodes.len};
    r->uses = arena_alloc(g->arena, n);
    r->to = arena_alloc(g->arena, n * sizeof(NodeId));
    if (r->uses == NULL || r->to == NULL) return -1;
    for (int i = 0; i < r->len; i++) r->to[i] = i;
    mark_uses(r);
    return 0;
}

/* May `with` replace node `id`? */
static bool
rewrite_may(const Rewrite *r, NodeId id, NodeId with)
{
    if (id == with || id >= r->len || with >= r->len) return false;
    const Node *node = graph_node(r->g, id), *other = graph_node(r->g, with);
    if (!type_same_layout(&node->type, &other->type)) return false;
    if (op_info(node->op)->kind == KIND_VIEW) {
        /* Views of this view keep their storage, so `with` must lie in the same one. */
        if (r->uses[id] & USE_OUTPUT) return false;
        bool same =
            other->storage == node->storage && type_same_place(r->g, &node->type, &other->type);
        return same || !(r->uses[id] & (USE_BASE | USE_WRITTEN));
    }
    if (r->uses[id] & (USE_ESCAPES | USE_WRITTEN)) return false;
    return !(r->uses[id] & USE_BASE) || other->storage == with;
}

bool
rewrite_node(Rewrite *r, NodeId id, NodeId with)
{
    if (!rewrite_may(r, id, with)) return false;
    r->to[id] = with;
    /* `with` now has the uses of both. */
    r->uses[with] |= r->uses[id];
    return true;
}

static NodeId
now(const Rewrite *r, NodeId id)
{
    while (id < r->len && r->to[id] != id) id = r->to[id];
    return id;
}

void
rewrite_args(const Rewrite *r, NodeId id)
{
    Node *node = graph_node(r->g, id);
    for (int i = 0; i < node->nargs; i++) node->args[i] = now(r, node->args[i]);
    if (op_info(node->op)->kind == KIND_VIEW) node->storage = now(r, node->storage);
}

void
rewrite_results(const Rewrite *r, RegionId id)
{
    Region *region = &r->g->regions.at[id];
    int kept = 0;
    for (int i = 0; i < region->nodes.len; i++) {
        NodeId node = region->nodes.at[i];
        if (node >= r->len || r->to[node] == node) region->nodes.at[kept++] = node;
    }
    region->nodes.len = kept;
    for (int i = 0; i < region->results.len; i++)
        region->results.at[i] = now(r, region->results.at[i]);
}

static int
walk_region(Rewrite *r, RegionId id, int (*visit)(Rewrite *, NodeId, void *), void *context)
{
    for (int i = 0; i < r->g->regions.at[id].nodes.len; i++) {
        NodeId node = r->g->regions.at[id].nodes.at[i];
        rewrite_args(r, node);
        if (visit(r, node, context) < 0) return -1;
        for (int k = 0; k < 2; k++) {
            RegionId inner = graph_node(r->g, node)->region[k];
            if (inner != NO_REGION && walk_region(r, inner, visit, context) < 0) return -1;
        }
    }
    rewrite_results(r, id);
    return 0;
}

int
rewrite_walk(Rewrite *r, int (*visit)(Rewrite *, NodeId, void *), void *context)
{
    return walk_region(r, 0, visit, context);
}

/* ---- the top region anew ---- */

int
top_put(Graph *g, Region *top, NodeId node)
{
    return VEC_PUSH(g->arena, &top->nodes, node);
}

int
top_rebuild(Graph *g, Region *top, int (*visit)(void *context, NodeId node), void *context)
{
    *top = g->regions.at[0];
    top->nodes.at = NULL;
    top->nodes.len = top->nodes.cap = 0;
    for (int i = 0; i < g->regions.at[0].nodes.len; i++) {
        NodeId node = g->regions.at[0].nodes.at[i];
        if (visit(context, node) < 0 || top_put(g, top, node) < 0) return -1;
    }
    g->regions.at[0] = *top;
    return 0;
}

int
calls_rebuild(Graph *g, const char *const *names, int n, PyObject **function, Region *top,
              int (*visit)(void *context, NodeId node), void *context)
{
    const ArrayLibrary *library = array_library_on(DEVICE_CUDA);
    if (!graph_calls_device(g)) return 0;
    for (int i = 0; i < n; i++) function[i] = array_library_function(library, names[i]);
    int failed = top_rebuild(g, top, visit, context);
    for (int i = 0; i < n; i++) Py_XDECREF(function[i]);
    return failed;
}

void
multiplying_give_back(Multiplying *m)
{
    for (int i = 0; i < 2; i++) Py_CLEAR(m->matmul[i]);
    Py_CLEAR(m->dot);
}

int
multiplying_find(Multiplying *out)
{
    const ArrayLibrary *library = array_library_on(DEVICE_CUDA);
    *out = (Multiplying){.matmul = {module_object("operator", "matmul")}};
    if (out->matmul[0] == NULL) return -1;
    out->matmul[1] = array_library_function(library, "matmul");
    out->dot = array_library_function(library, "dot");
    if (PyErr_Occurred() == NULL) return 0;
    multiplying_give_back(out);
    return -1;
}

bool
call_multiplies(const Multiplying *m, const Graph *g, const Node *node)
{
    const PyObject *called = node->attrs.object;
    if (node->op != OP_extern || node->nargs != 2 || node->attrs.kwnames != NULL ||
        called == NULL || node->type.device == DEVICE_HOST || node->type.form != FORM_ARRAY)
        return false;
    return called == m->matmul[0] || called == m->matmul[1] ||
           (called == m->dot && graph_node(g, node->args[0])->type.rank == 2 &&
            graph_node(g, node->args[1])->type.rank == 2);
}

bool
call_axis(const Graph *g, NodeId argument, int rank, int *axis)
{
    const Node *node = graph_node(g, argument);
    PyObject *object = node->op == OP_const ? node->attrs.object : NULL;
    *axis = -1;
    if (object == Py_None) return true;
    if (object == NULL || !PyLong_CheckExact(object)) return false;
    int overflow;
    long number = PyLong_AsLongAndOverflow(object, &overflow);
    if (overflow || number < -rank || number >= rank) return false;
    *axis = (int)(number < 0 ? number + rank : number);
    return true;
}

/* ---- facts about nodes ---- */

int32_t *
node_uses(const Graph *g)
{
    size_t bytes = sizeof(int32_t) * (size_t)(g->nodes.len + 1);
    int32_t *uses = arena_alloc(g->arena, bytes);
    if (uses == NULL) return NULL;
    memset(uses, 0, bytes);
    for (int r = 0; r < g->regions.len; r++) {
        const Region *region = &g->regions.at[r];
        for (int i = 0; i < region->nodes.len; i++) {
            const Node *node = graph_node(g, region->nodes.at[i]);
            for (int k = 0; k < node->nargs; k++) uses[node->args[k]]++;
        }
        for (int i = 0; i < region->results.len; i++) uses[region->results.at[i]]++;
    }
    for (int i = 0; i < g->outputs.len; i++) uses[g->outputs.at[i].node]++;
    return uses;
}

bool
graph_calls_device(const Graph *g)
{
    for (NodeId id = 0; id < g->nodes.len; id++)
        if (graph_node(g, id)->op == OP_extern && graph_node(g, id)->type.device != DEVICE_HOST)
            return true;
    return false;
}

bool
node_is_integer(const Graph *g, NodeId id, int64_t value)
{
    const Node *node = graph_node(g, id);
    union {
        char bytes[16];
        int64_t integer;
    } read;
    if (node->op != OP_const || node->type.rank != 0 || node->type.dtype > DT_U64) return false;
    if (constant_read(node->attrs.object, (DType)node->type.dtype, &read) < 0) {
        PyErr_Clear();
        return false;
    }
    int shift = 64 - 8 * (int)dtype_size((DType)node->type.dtype);
    uint64_t wanted = (uint64_t)value << shift;
    return (uint64_t)read.integer << shift == wanted;
}
