/* What is found out of sizes after nodes have them: that a symbol is another size, and that it is
   larger than was known, which decides extremes.

   What always holds: where a symbol has been united with a size, no node's type has the symbol any
   more, and the size does not contain it.  Whoever found it out sees to it that it is so. */
#include "graph.h"

static SizeId
made_anew(Graph *g, const Size *size, SizeId a, SizeId b)
{
    if (a == NO_SIZE || b == NO_SIZE) return NO_SIZE;
    switch (size->kind) {
    case SIZE_ADD: return size_add(g, a, b);
    case SIZE_MUL: return size_mul(g, a, b);
    case SIZE_FLOOR_DIV:
    case SIZE_MOD: return size_quotient(g, size->kind, a, b);
    case SIZE_SAME: return size_if_same(g, a, b);
    default: return size_extreme(g, size->kind, a, b);
    }
}

SizeId
size_where(Graph *g, SizeId id, SizeId symbol, SizeId is)
{
    if (id == symbol) return is;
    const Size size = g->sizes.at[id];
    if (size_is_const(g, id) || size.kind < SIZE_ADD) return id;
    SizeId a = size_where(g, size.a, symbol, is), b = size_where(g, size.b, symbol, is);
    return a == size.a && b == size.b ? id : made_anew(g, &size, a, b);
}

SizeId
size_walked(const Graph *graph, SizeId id)
{
    Graph *g = (Graph *)graph; /* in which the form is entered */
    if (!g->loose || size_is_const(g, id)) return id;
    const Size size = g->sizes.at[id];
    if (size.kind < SIZE_ADD) return id;
    if (size.kind == SIZE_SAME) return size_const(g, 0);
    SizeId a = size_walked(g, size.a), b = size_walked(g, size.b);
    return a == size.a && b == size.b ? id : made_anew(g, &size, a, b);
}

SizeId
size_now(Graph *g, SizeId id)
{
    if (!g->united || id == NO_SIZE || size_is_const(g, id)) return id;
    const Size size = g->sizes.at[id];
    if (size.kind < SIZE_ADD) {
        for (int i = 0; i < g->equals.len; i++)
            if (g->equals.at[i].symbol == id) return size_now(g, g->equals.at[i].is);
        return id;
    }
    SizeId a = size_now(g, size.a), b = size_now(g, size.b);
    bool sum = size.kind == SIZE_ADD || size.kind == SIZE_MUL;
    return sum && a == size.a && b == size.b ? id : made_anew(g, &size, a, b);
}

int
type_now(Graph *g, Type *type)
{
    if (!g->united || type->form != FORM_ARRAY) return 0;
    for (int i = 0; i < type->rank; i++) {
        type->shape[i] = size_now(g, type->shape[i]);
        type->stride[i] = size_now(g, type->stride[i]);
        if (type->shape[i] == NO_SIZE || type->stride[i] == NO_SIZE) return -1;
    }
    bool has_offset = type->offset != NO_SIZE;
    type->offset = size_now(g, type->offset);
    return has_offset && type->offset == NO_SIZE ? -1 : 0;
}

int
node_sizes_now(Graph *g, Node *node)
{
    if (type_now(g, &node->type) < 0) return -1;
    return node->attrs.view == NULL ? 0 : type_now(g, node->attrs.view);
}

int
sizes_refresh(Graph *g)
{
    g->united = true;
    for (NodeId id = 0; id < g->nodes.len; id++)
        if (node_sizes_now(g, graph_node(g, id)) < 0) return -1;
    return 0;
}

static bool
contains(const Graph *g, SizeId id, SizeId symbol)
{
    const Size *size = &g->sizes.at[id];
    if (id == symbol) return true;
    return size->kind >= SIZE_ADD && (contains(g, size->a, symbol) || contains(g, size->b, symbol));
}

int
size_unite(Graph *g, SizeId symbol, SizeId with)
{
    SizeEqual equal = {symbol, size_now(g, with)};
    if (equal.is == NO_SIZE) return -1;
    assert(!contains(g, equal.is, symbol));
    if (VEC_PUSH(g->arena, &g->equals, equal) < 0) return -1;
    return sizes_refresh(g);
}

bool
size_solved(Graph *g, SizeId zero, SizeId *symbol, SizeId *is)
{
    *symbol = NO_SIZE;
    for (SizeId id = 0; id < g->sizes.len; id++) {
        const Size *size = &g->sizes.at[id];
        if (size->kind != SIZE_DIM || size->a == NO_SIZE || !contains(g, zero, id)) continue;
        SizeId rest = size_sub(g, zero, id), turned = size_add(g, zero, id);
        bool positive = rest != NO_SIZE && !contains(g, rest, id);
        bool negative = turned != NO_SIZE && !contains(g, turned, id);
        if (!positive && !negative) continue;
        *symbol = id; /* the last one: the others are read by more nodes */
        *is = positive ? size_sub(g, size_const(g, 0), rest) : turned;
    }
    if (*symbol != NO_SIZE && *is != NO_SIZE) return true;
    PyErr_Clear();
    return false;
}
