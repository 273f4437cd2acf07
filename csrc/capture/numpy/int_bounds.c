/* Between which values Python's int that the graph computes lies, where its node says so: it is one
   of a few constants, a remainder, a comparison's result.  Such an int may meet a narrower integer
   of NumPy's, which would raise OverflowError for one that does not fit. */
#include "numpy.h"

enum { DEPTH = 8 }; /* of a walk from a node to its arguments */

static bool bounds_of(const Interp *in, NodeId node, int depth, int64_t *low, int64_t *high);

static bool
constant_bounds(PyObject *object, int64_t *low, int64_t *high)
{
    int overflow;
    if (object == NULL || !PyLong_Check(object)) return false;
    *low = *high = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

/* The bounds of what is one of both. */
static bool
either(const Interp *in, NodeId a, NodeId b, int depth, int64_t *low, int64_t *high)
{
    int64_t other_low, other_high;
    if (!bounds_of(in, a, depth, low, high) || !bounds_of(in, b, depth, &other_low, &other_high))
        return false;
    *low = Py_MIN(*low, other_low);
    *high = Py_MAX(*high, other_high);
    return true;
}

/* What a branch leaves behind. */
static bool
result_bounds(const Interp *in, const Node *n, int depth, int64_t *low, int64_t *high)
{
    const Graph *g = in->graph;
    const Node *of = graph_node(g, n->args[0]);
    int64_t i = n->attrs.index;
    if (of->op != OP_cond || of->region[0] == NO_REGION || of->region[1] == NO_REGION) return false;
    const Region *a = &g->regions.at[of->region[0]], *b = &g->regions.at[of->region[1]];
    return i < a->results.len && i < b->results.len &&
           either(in, a->results.at[i], b->results.at[i], depth, low, high);
}

/* A remainder has the sign of a divisor that is not 0. */
static bool
remainder_bounds(const Interp *in, const Node *n, int depth, int64_t *low, int64_t *high)
{
    int64_t least, most;
    if (!bounds_of(in, n->args[1], depth, &least, &most) || least <= 0) return false;
    *low = 0;
    *high = most - 1;
    return true;
}

static bool
bounds_of(const Interp *in, NodeId node, int depth, int64_t *low, int64_t *high)
{
    const Node *n = graph_node(in->graph, node);
    if (depth == DEPTH || n->type.rank != 0 || n->type.form != FORM_PYTHON) return false;
    if (n->op == OP_const) return constant_bounds(n->attrs.object, low, high);
    if (n->type.dtype == DT_BOOL) {
        *low = 0;
        *high = 1;
        return true;
    }
    if (n->type.dtype != DT_I64) return false;
    switch (n->op) {
    case OP_py_int: return bounds_of(in, n->args[0], depth + 1, low, high);
    case OP_py_mod: return remainder_bounds(in, n, depth + 1, low, high);
    case OP_where: return either(in, n->args[1], n->args[2], depth + 1, low, high);
    case OP_result: return result_bounds(in, n, depth + 1, low, high);
    default: return false;
    }
}

bool
node_in_range(const Interp *in, NodeId node, int64_t low, int64_t high)
{
    int64_t least, most;
    return bounds_of(in, node, 0, &least, &most) && least >= low && most <= high;
}
