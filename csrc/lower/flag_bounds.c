/* Which kernels need not look at each element.  A kernel that only looks for floating-point flags
   (commit.c) needs no values: where the bounds of what it reads show that nothing can overflow, be
   divided by zero or be invalid, no element does.  The bounds take one pass at the speed of memory
   (codegen/flag_bounds.c); where they do not show it, the kernel computes the elements as others
   do.

   Measured on two cores, with what plan_batch.c and together.c do: Adam on 60 arrays of up to 8,192
   f64 from 1.22 to 0.74 ms, f32 0.43 to 0.30; on 60 of 65,536 f64 18.9 to 13.5, f32 8.2 to 5.3; on
   300 of 16,384, a plan each, f64 28.1 to 23.5, f32 14.1 to 9.6. */
#include "nest.h"

static const bool has_bounds[OP_COUNT] = {
#define BOUNDS(op, text) [OP_##op] = true,
#include "flag_bounds.def"
};

static bool
is_float(DType dtype)
{
    return dtype == DT_F32 || dtype == DT_F64;
}

/* The operation has bounds, or is a bool, of which there are none, and raises nothing. */
static bool
op_suits(Op op, DType from, DType to)
{
    if (to == DT_BOOL) return (op_info(op)->flags & OPF_NO_FLAGS) != 0 && op != OP_positive;
    return has_bounds[op] && is_float(to) && (is_float(from) || (op == OP_where && from == to));
}

static bool
instr_suits(const Kernel *k, const Instr *v)
{
    bool known = is_float(v->dtype) || v->dtype == DT_BOOL;
    if (v->level == LEVEL_ONCE) return v->kind != INSTR_CALL && v->kind != INSTR_STORE;
    if (v->kind == INSTR_OP)
        for (int i = 0; i < v->nargs; i++) {
            const Instr *arg = &k->instrs.at[v->args[i]];
            if (!is_float(arg->dtype) && arg->dtype != DT_BOOL) return false;
            if (is_float(v->dtype) && !is_float(arg->dtype) && !(v->op == OP_where && i == 0))
                return false;
        }
    switch (v->kind) {
    case INSTR_LOAD: return known;
    case INSTR_CHECK: return known;
    case INSTR_OP: return known && op_suits(v->op, v->from, v->dtype);
    default: return false;
    }
}

bool
bounds_suit(const Nest *n)
{
    const Kernel *k = n->kernel;
    bool checks = false;
    unsigned told = n->group != NULL ? n->group->errors : 0;
    if (told & FP_UNDERFLOW) return false; /* of that bounds say nothing */
    if (n->lw->graph->fast || !n->flags || k->nstages != 1 || k->nslots > 0 || k->block > 0 ||
        k->tile_rows > 0 || k->beside || (k->kind != KERNEL_FLAT && k->kind != KERNEL_ROWS))
        return false;
    for (int i = 0; i < k->instrs.len; i++) {
        if (!instr_suits(k, &k->instrs.at[i])) return false;
        checks = checks || k->instrs.at[i].kind == INSTR_CHECK;
    }
    return checks;
}

bool
bounds_suit_group(const Lowering *lw, const Group *g)
{
    if (g->device != DEVICE_HOST || lw->graph->fast) return false;
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(lw->graph, g->nodes.at[i]);
        if (lw->needed[g->nodes.at[i]] && lw->commit_of[g->nodes.at[i]] == NO_NODE) return false;
        DType dtype = (DType)node->type.dtype;
        if (!op_suits(node->op, dtype == DT_BOOL ? dtype : DT_F64, dtype)) return false;
    }
    return true;
}
