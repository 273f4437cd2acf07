/* Elementary functions of whole arrays become operations in registers, which fuse with their
   neighbours, in place of the ufunc's own loop, which is called block by block: where the code
   of NumPy's own loop, or SciPy's, is known, whose bits and flags they then have
   (arrays/elementary.c), and in fast graphs where the vector math library has the function, whose
   results differ by a few ulp.

   Measured on two cores, softmax of 100,000 rows of 10 float32: 1.9 times as fast. */
#include "../arrays/arrays.h"
#include "passes.h"

static bool
has_function(const Graph *g, const Node *node, Op op)
{
    char name[OP_FUNCTION_NAME];
    if (!op_function(op, name)) return false;
    bool known = g->inlines && op_info(op)->arity == 1 && node_way(g, node) == WAY_BLOCKS &&
                 elementary_is_known(name, node->attrs.object, (DType)node->type.dtype);
    if (known || op_info(op)->flags & OPF_SPECIAL) return known;
    return g->fast && vector_libm_has(name, op_info(op)->arity);
}

/* Numbers alone are left to the ufunc, since nothing fuses with them, but in kept loops, where a
   call takes three times as long as what is called. */
static bool
is_candidate(const Graph *g, const Node *node, bool in_loop)
{
    DType dtype = (DType)node->type.dtype;
    if (node->op != OP_ufunc || node->type.device != DEVICE_HOST ||
        (node->type.rank == 0 && !in_loop) || (dtype != DT_F32 && dtype != DT_F64))
        return false;
    for (int i = 0; i < node->nargs; i++)
        if (graph_node(g, node->args[i])->type.dtype != dtype) return false;
    return true;
}

/* The operation of NumPy's ufunc, or of SciPy's; -1 for none and for other libraries' ufuncs of its
   name. */
static int
op_of(PyObject *ufunc)
{
    if (!ufunc_check(ufunc)) return -1;
    int special = op_from_name(ufunc_name(ufunc));
    if (special >= 0 && op_info((Op)special)->flags & OPF_SPECIAL)
        return foreign_is_shared(ufunc) ? special : -1;
    int op = op_from_ufunc(ufunc_name(ufunc), DEVICE_CUDA);
    return op >= 0 && ufunc_is_library(ufunc) ? op : -1;
}

static void
each_of(Graph *g, RegionId id, bool in_loop)
{
    const Region *region = &g->regions.at[id];
    for (int i = 0; i < region->nodes.len; i++) {
        Node *node = graph_node(g, region->nodes.at[i]);
        for (int k = 0; k < 2 && node->region[k] != NO_REGION; k++)
            each_of(g, node->region[k], node->op == OP_loop || (in_loop && node->op == OP_cond));
        if (!is_candidate(g, node, in_loop)) continue;
        int op = op_of(node->attrs.object);
        if (op < 0 || op_info((Op)op)->arity != node->nargs || !has_function(g, node, (Op)op))
            continue;
        node->op = (Op)op;
        node->attrs.object = NULL;
    }
}

int
pass_functions(Graph *g)
{
    if (g->fast || g->inlines) each_of(g, 0, false);
    return 0;
}
