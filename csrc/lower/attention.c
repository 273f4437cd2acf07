/* An attention as a kernel: the domain is that of its scores, and the instructions are those of its
   region, which make a score of an element of the first product.  The four matrices are operands
   that the instructions do not name: they are accessed in tiles. */
#include "group.h"
#include "nest.h"

/* An operand whose rows are those of one of the domain's two last dimensions.  `rows`: the axis of
   its type that walks them. */
static int32_t
add_matrix(Nest *n, NodeId value, int dim, int rows, bool stored)
{
    const Group *g = n->group;
    const Type *type = &graph_node(n->lw->graph, value)->type;
    const Type *scores = &graph_node(n->lw->graph, g->nodes.at[0])->type;
    Access access = {.storage = graph_node(n->lw->graph, value)->storage,
                     .offset = type->offset,
                     .dtype = (DType)type->dtype};
    for (int i = 0; i < MAX_RANK; i++) access.stride[i] = NO_SIZE;
    for (int axis = 0, at = 0; axis < scores->rank - 2; axis++)
        if (!size_is_single(n->lw->graph, scores->shape[axis]))
            access.stride[at++] = type->stride[axis];
    access.stride[dim] = type->stride[rows];
    return instr_operand(n, &access, stored);
}

static int
add_matrices(Nest *n, NodeId attention)
{
    const Node *node = graph_node(n->lw->graph, attention);
    int queries = n->nloops - 2, keys = n->nloops - 1, last = node->type.rank - 1;
    int32_t *factor = n->kernel->cuda.factor, part = n->kernel->cuda.part;
    factor[0] = add_matrix(n, node->args[0], queries, last - 1, false);
    factor[1] = add_matrix(n, node->args[1], keys, last, false);
    factor[2] = add_matrix(n, node->args[2], keys, last - 1, false);
    factor[3] =
        add_matrix(n, attention, attention_owns_keys(part) ? keys : queries, last - 1, true);
    factor[5] = -1;
    NodeId sums = part < 0 ? live_result(n->lw, attention, 0) : NO_NODE;
    if (sums != NO_NODE) factor[5] = add_matrix(n, sums, queries, last - 1, true);
    for (int i = 4; part >= 0 && i < COUNT_OF(n->kernel->cuda.factor); i++)
        factor[i] = add_matrix(n, node->args[i - 1], queries, last - 1, false);
    return PyErr_Occurred() ? -1 : 0;
}

/* The instructions of the region; all are made per element, and the compiler moves what is the same
   for several of them. */
static int
add_scores(Nest *n, const Region *region)
{
    Lowering *lw = n->lw;
    for (int i = 0; i < region->params.len; i++) {
        bool is_index = i == 1 || i == 2;
        Instr instr = {.kind = is_index ? INSTR_INDEX : INSTR_PRODUCT,
                       .dtype = is_index ? DT_I64 : DT_F32,
                       .operand = i == 1 || i == 3,
                       .level = LEVEL_ELEMENT,
                       .node = NO_NODE};
        int32_t param = instr_emit(n, instr);
        if (param < 0) return -1;
        lw->group_of[region->params.at[i]] = n->number;
        nest_made(n, region->params.at[i], param);
    }
    for (int i = 0; i < region->nodes.len; i++) {
        NodeId id = region->nodes.at[i];
        if (graph_node(lw->graph, id)->op == OP_const) continue; /* virtual */
        lw->group_of[id] = n->number;
        int32_t value = instr_member(n, id);
        if (value < 0 || lw->why != NULL) return lw->why != NULL ? 0 : -1;
        nest_made(n, id, value);
    }
    Kernel *k = n->kernel;
    k->cuda.score = nest_instr(n, region->results.at[0]);
    if (k->cuda.part >= 0) k->cuda.slope = nest_instr(n, region->results.at[1]);
    for (int i = 0; i < k->instrs.len; i++) k->instrs.at[i].level = LEVEL_ELEMENT;
    return 0;
}

/* The tensor map of a matrix, whose rows are along the last but one axis or, with `turned`, along
   the last.  Batch axes that repeat it have no dimension. */
static TensorMap
map_of(Nest *n, int factor, const Type *type, bool turned, int rows)
{
    enum { LEAST_STRIDE = 16 };
    Graph *g = n->lw->graph;
    const Operand *o = &n->kernel->operands.at[n->kernel->cuda.factor[factor]];
    int last = type->rank - 1, columns = turned ? last - 1 : last, dim = 2;
    TensorMap map = {.place = o->pointer, .dtype = o->dtype};
    for (int i = 0; i < MAP_RANK; i++) {
        map.size[i] = size_const(g, map.box[i] = 1);
        map.stride[i] = size_const(g, LEAST_STRIDE);
    }
    map.size[0] = type->shape[columns];
    map.box[0] = (int32_t)Py_MIN(size_value(g, type->shape[columns]), BOX_COLUMNS);
    map.size[1] = type->shape[turned ? last : last - 1];
    map.stride[1] = type->stride[turned ? last : last - 1];
    map.box[1] = rows;
    for (int axis = 0; axis < last - 1; axis++) {
        if (size_is_one(g, type->shape[axis]) || size_value(g, type->stride[axis]) == 0) continue;
        map.size[dim] = type->shape[axis];
        map.stride[dim++] = type->stride[axis];
    }
    return map;
}

static int
add_maps(Nest *n, const Node *node, KernelStep *step)
{
    const Graph *g = n->lw->graph;
    step->nmaps = MOST_MAPS;
    step->maps = arena_alloc(n->lw->arena, sizeof(TensorMap) * MOST_MAPS);
    if (step->maps == NULL) return -1;
    for (int i = 0; i < MOST_MAPS; i++)
        step->maps[i] = map_of(n, i, &graph_node(g, node->args[i])->type, i == 1,
                               i == 0 ? QUERY_TILE : KEY_TILE);
    return PyErr_Occurred() ? -1 : 0;
}

static int
lay_out(Nest *n, NodeId attention, KernelStep *step)
{
    const Graph *g = n->lw->graph;
    const Node *node = graph_node(g, attention);
    const Type *type[3];
    for (int i = 0; i < 3; i++) type[i] = &graph_node(g, node->args[i])->type;
    bool hopper = node->op == OP_attention && attention_on_hopper(g, type[0], type[1], type[2]);
    n->kernel->cuda.head = (int32_t)size_value(g, type[0]->shape[type[0]->rank - 1]);
    if (cuda_schedule_attention(n, hopper, step) < 0) return -1;
    return hopper ? add_maps(n, node, step) : 0;
}

int
attention_build(Lowering *lw, Group *g)
{
    Nest n;
    NodeId id = g->nodes.at[0];
    const Region *region = &lw->graph->regions.at[graph_node(lw->graph, id)->region[0]];
    const Type *scores = &graph_node(lw->graph, region->params.at[0])->type;
    int axes[MAX_RANK];
    if (nest_init(&n, lw, g) < 0) return -1;
    g->ndims = n.nloops = domain_squeezed(lw->graph, scores, g->size, axes);
    n.kernel->kind = KERNEL_ATTENTION;
    bool back = graph_node(lw->graph, id)->op == OP_attention_back;
    n.kernel->cuda.part = back ? (int32_t)graph_node(lw->graph, id)->attrs.index : -1;
    n.kernel->nloops = n.nloops;
    n.kernel->nstages = 1;
    for (int i = 0; i < n.nloops; i++) {
        n.first[i] = i;
        n.size[i] = g->size[i];
        if ((n.kernel->size[i] = nest_size(&n, n.size[i])) < 0) return -1;
    }
    Step step = {0};
    if (add_matrices(&n, id) < 0 || add_scores(&n, region) < 0 || lay_out(&n, id, &step.kernel) < 0)
        return -1;
    if (lw->why != NULL) return 0;
    step_blame(lw->graph, id, &step);
    return nest_step(&n, &step);
}
