/* A loop of the program, kept as a loop: one kernel, one unit.

   Carried scalars are locals of the kernel.  An array that the loop writes is copied into its
   result first and then written there in place, which no one can see before the plan commits;
   arrays that are only read are read where they are.  Indices are checked as Python does, negative
   ones from the end; one that is out of bounds is a deopt, so that CPython runs the loop and raises
   at its line. */
#include "nest.h"

typedef struct {
    Nest nest;
    NodeId loop;
    const Region *body;
    RegionLoop *out;
    int32_t *array_of; /* per node of the body, a version of an array: its operand + 1 */
    VEC(int32_t) length;
    VEC(int32_t) from, to;
} Builder;

static NodeId
result_node(const Graph *g, NodeId loop, int index)
{
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->op == OP_result && node->args[0] == loop && node->attrs.index == index) return id;
    }
    return NO_NODE;
}

/* An operand for a vector: the one loop of its kernel is the array's axis. */
static int32_t
vector_operand(Builder *b, NodeId storage, const Type *type, SizeId stride, bool stored)
{
    Nest *n = &b->nest;
    Access access = {.storage = storage, .offset = type->offset, .dtype = type->dtype};
    for (int i = 0; i < MAX_RANK; i++) access.stride[i] = NO_SIZE;
    access.stride[0] = stride;
    int before = n->kernel->operands.len;
    int32_t operand = instr_operand(n, &access, stored);
    if (operand < 0) return -1;
    int32_t length = nest_size(n, type->shape[0]);
    if (length < 0) return -1;
    if (operand == before) return VEC_PUSH(n->lw->arena, &b->length, length) < 0 ? -1 : operand;
    b->length.at[operand] = length;
    return operand;
}

static int32_t
scalar_operand_length(Builder *b)
{
    while (b->length.len < b->nest.kernel->operands.len)
        if (VEC_PUSH(b->nest.lw->arena, &b->length, -1) < 0) return -1;
    return 0;
}

/* A scalar from outside: virtual, or loaded once. */
static int32_t
outer_value(Builder *b, NodeId value)
{
    Nest *n = &b->nest;
    const Node *node = graph_node(n->lw->graph, value);
    if (n->value_of[value]) return n->value_of[value] - 1;
    int32_t at;
    if (node_is_virtual(n->lw, node->storage))
        at = instr_virtual(n, node->storage);
    else {
        Access access = {
            .storage = node->storage, .offset = node->type.offset, .dtype = node->type.dtype};
        for (int i = 0; i < MAX_RANK; i++) access.stride[i] = NO_SIZE;
        at = instr_load(n, &access, value);
    }
    if (at < 0 || scalar_operand_length(b) < 0) return -1;
    n->value_of[value] = at + 1;
    return at;
}

static bool
is_array(const Builder *b, NodeId id)
{
    return graph_node(b->nest.lw->graph, id)->type.form == FORM_ARRAY;
}

/* Carried arrays: read in place, or copied to the result and written there. */
static int
bind_array(Builder *b, int index, NodeId first, NodeId param)
{
    Nest *n = &b->nest;
    Graph *g = n->lw->graph;
    const Type *type = &graph_node(g, first)->type;
    if (type->rank != 1) {
        n->lw->why = "a loop over elements of an array that is no vector";
        return 0;
    }
    int32_t from = vector_operand(b, graph_node(g, first)->storage, type, type->stride[0], false);
    if (from < 0) return -1;
    b->array_of[param] = from + 1;
    NodeId result = result_node(g, b->loop, index);
    if (b->body->results.at[index] == param && (result == NO_NODE || !n->lw->live[result]))
        return 0;
    if (result == NO_NODE) {
        n->lw->why = "a loop that writes an array nobody reads";
        return 0;
    }
    const Type *made = &graph_node(g, result)->type;
    int32_t to = vector_operand(b, result, made, made->stride[0], true);
    if (to < 0 || VEC_PUSH(n->lw->arena, &b->from, from) < 0 ||
        VEC_PUSH(n->lw->arena, &b->to, to) < 0)
        return -1;
    b->array_of[param] = to + 1;
    return 0;
}

/* Everything that the body takes from outside is there before it begins. */
static int
bind_outer(Builder *b)
{
    Nest *n = &b->nest;
    const Graph *g = n->lw->graph;
    for (int i = 0; i < b->body->nodes.len; i++) {
        const Node *node = graph_node(g, b->body->nodes.at[i]);
        for (int k = 0; k < node->nargs; k++) {
            NodeId arg = node->args[k];
            bool inside = n->value_of[arg] != 0 || b->array_of[arg] != 0;
            for (int j = 0; j < b->body->nodes.len && !inside; j++)
                inside = b->body->nodes.at[j] == arg;
            if (inside) continue;
            if (!is_array(b, arg)) {
                if (outer_value(b, arg) < 0) return -1;
                continue;
            }
            const Type *type = &graph_node(g, arg)->type;
            if (type->rank != 1) n->lw->why = "a loop over elements of an array that is no vector";
            if (n->lw->why != NULL) return 0;
            int32_t at =
                vector_operand(b, graph_node(g, arg)->storage, type, type->stride[0], false);
            if (at < 0) return -1;
            b->array_of[arg] = at + 1;
        }
    }
    return 0;
}

static int32_t
body_element(Builder *b, NodeId id)
{
    Nest *n = &b->nest;
    const Node *node = graph_node(n->lw->graph, id);
    bool store = node->op == OP_element_store;
    int32_t array = b->array_of[node->args[0]];
    int32_t args[2] = {n->value_of[node->args[1]] - 1, -1};
    if (store) {
        b->array_of[id] = array;
        args[1] = instr_cast(n, n->value_of[node->args[2]] - 1, node->type.dtype, id);
    }
    n->fallible = true;
    return instr_args(n,
                      (Instr){.kind = store ? INSTR_ELEMENT_STORE : INSTR_ELEMENT_LOAD,
                              .dtype = node->type.dtype,
                              .operand = array - 1,
                              .node = id},
                      store ? 2 : 1, args);
}

static int
body_node(Builder *b, NodeId id)
{
    Nest *n = &b->nest;
    const Node *node = graph_node(n->lw->graph, id);
    OpKind kind = op_info(node->op)->kind;
    int32_t args[MAX_ARGS], at;
    if (n->value_of[id] || b->array_of[id] || kind == KIND_INPUT) return 0;
    if (kind == KIND_ELEMENT)
        at = body_element(b, id);
    else if (kind == KIND_CONST)
        at = instr_virtual(n, id);
    else if ((kind == KIND_POINTWISE && !node_is_call(n->lw->graph, node)) || kind == KIND_PYTHON) {
        for (int k = 0; k < node->nargs && k < MAX_ARGS; k++)
            args[k] = n->value_of[node->args[k]] - 1;
        at = instr_operation(n, id, node->nargs, args);
    } else {
        n->lw->why = "a loop with an operation that has no scalar expression";
        return 0;
    }
    if (at < 0) return -1;
    n->value_of[id] = at + 1;
    return 0;
}

/* The loop's variable and what it carries. */
static int
bind_params(Builder *b)
{
    Nest *n = &b->nest;
    const Node *node = graph_node(n->lw->graph, b->loop);
    RegionLoop *out = b->out;
    out->ncarried = node->nargs - 3;
    size_t bytes = sizeof(int32_t) * (size_t)(out->ncarried + 1);
    out->param = arena_alloc(n->lw->arena, bytes);
    out->first = arena_alloc(n->lw->arena, bytes);
    out->next = arena_alloc(n->lw->arena, bytes);
    if (out->param == NULL || out->first == NULL || out->next == NULL) return -1;
    int32_t *bound[] = {&out->start, &out->stop, &out->step};
    for (int k = 0; k < 3; k++)
        if ((*bound[k] = outer_value(b, node->args[k])) < 0) return -1;
    for (int i = 0; i < out->ncarried; i++) {
        NodeId first = node->args[3 + i];
        out->param[i] = out->first[i] = out->next[i] = -1;
        if (!is_array(b, first) && (out->first[i] = outer_value(b, first)) < 0) return -1;
    }
    for (int i = -1; i < out->ncarried; i++) {
        NodeId param = b->body->params.at[1 + i];
        if (i >= 0 && is_array(b, param)) {
            if (bind_array(b, i, node->args[3 + i], param) < 0) return -1;
            if (n->lw->why != NULL) return 0;
            continue;
        }
        Instr instr = {.kind = INSTR_PARAM,
                       .dtype = graph_node(n->lw->graph, param)->type.dtype,
                       .node = param};
        int32_t at = instr_emit(n, instr);
        if (at < 0) return -1;
        n->value_of[param] = at + 1;
        *(i < 0 ? &out->variable : &out->param[i]) = at;
    }
    return 0;
}

/* Carried scalars go to their results behind the loop. */
static int
store_results(Builder *b)
{
    Nest *n = &b->nest;
    Graph *g = n->lw->graph;
    for (int i = 0; i < b->out->ncarried; i++) {
        if (b->out->param[i] < 0) continue;
        b->out->next[i] = n->value_of[b->body->results.at[i]] - 1;
        NodeId result = result_node(g, b->loop, i);
        if (result == NO_NODE || !n->lw->live[result]) continue;
        Access access = {.storage = result, .dtype = graph_node(g, result)->type.dtype};
        access.offset = NO_SIZE;
        for (int k = 0; k < MAX_RANK; k++) access.stride[k] = NO_SIZE;
        int32_t operand = instr_operand(n, &access, true);
        if (operand < 0 || scalar_operand_length(b) < 0) return -1;
        Instr store = {
            .kind = INSTR_STORE, .dtype = access.dtype, .operand = operand, .node = result};
        if (instr_args(n, store, 1, &b->out->param[i]) < 0) return -1;
    }
    return 0;
}

static int
build_body(Builder *b)
{
    Nest *n = &b->nest;
    if (bind_params(b) < 0) return -1;
    if (n->lw->why == NULL && bind_outer(b) < 0) return -1;
    b->out->begin = n->kernel->instrs.len;
    for (int i = 0; i < b->body->nodes.len && n->lw->why == NULL; i++)
        if (body_node(b, b->body->nodes.at[i]) < 0) return -1;
    if (n->lw->why != NULL) return 0;
    b->out->end = n->kernel->instrs.len;
    return store_results(b);
}

int
region_build(Lowering *lw, Group *g)
{
    Builder b = {.loop = g->nodes.at[0]};
    const Node *node = graph_node(lw->graph, b.loop);
    if (node->op != OP_loop) {
        lw->why = "a conditional region";
        return 0;
    }
    if (nest_init(&b.nest, lw, g) < 0) return -1;
    b.body = &lw->graph->regions.at[node->region[0]];
    b.out = arena_alloc(lw->arena, sizeof(RegionLoop));
    b.array_of = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)lw->nnodes);
    if (b.out == NULL || b.array_of == NULL) return -1;
    Nest *n = &b.nest;
    SizeId one = size_const(lw->graph, 1);
    if (one == NO_SIZE) return -1;
    /* the kernel's one loop stands for the axis of each vector; it is not walked as such */
    n->nloops = 1;
    n->size[0] = one;
    n->kernel->kind = KERNEL_REGION;
    n->kernel->nloops = 1;
    n->kernel->region = b.out;
    if ((n->kernel->size[0] = nest_size(n, one)) < 0) return -1;
    g->ndims = 1; /* accesses have one dimension */
    if (build_body(&b) < 0) return -1;
    if (lw->why != NULL) return 0;
    n->fallible = true;
    b.out->length = b.length.at;
    b.out->narrays = b.from.len;
    b.out->from = b.from.at;
    b.out->to = b.to.at;
    Step step = {.line = node->line, .kernel = {.units = one, .grain = 1}};
    return nest_step(n, &step);
}

/* The result of a loop is an array of its own, dense, whatever the strides of what came in; views
   of it by strides that are not known while compiling cannot be placed in it. */
int
region_prepare(Lowering *lw)
{
    Graph *g = lw->graph;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        Node *node = graph_node(g, id);
        if (node->op != OP_result ||
            op_info(graph_node(g, node->args[0])->op)->kind != KIND_REGION ||
            node->type.form != FORM_ARRAY || node->type.rank != 1)
            continue;
        SizeId dense = size_const(g, (int64_t)dtype_size(node->type.dtype));
        if (dense == NO_SIZE) return -1;
        node = graph_node(g, id);
        if (node->type.stride[0] == dense) continue;
        node->type.stride[0] = dense;
        node->type.offset = NO_SIZE;
        for (NodeId other = 0; other < g->nodes.len; other++)
            if (other != id && lw->live[other] && graph_node(g, other)->storage == id)
                lw->why = "a view of what a loop wrote, by strides of its input";
    }
    return 0;
}
