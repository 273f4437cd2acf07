/* The statements of a kept loop: loops and branches in it, and what they leave. */
#include "region_build.h"

/* The loop's params: its variable, what it carries, the arrays that it writes. */
static int
build_params(Build *b, const Node *node, const Region *region, RegionFor *loop)
{
    Instr index = {.kind = INSTR_INDEX, .dtype = DT_I64, .level = LEVEL_ELEMENT, .operand = -1};
    index.node = region->params.at[0];
    if ((loop->index = region_emit(b, index, 0, NULL)) < 0) return -1;
    b->value[index.node] = loop->index + 1;
    int number = 0;
    for (int k = 1; k < region->params.len; k++) {
        NodeId param = region->params.at[k];
        if (!region_is_array(b, param)) {
            if (region_read(b, loop->carried.at[number++].variable, param) < 0) return -1;
            continue;
        }
        int32_t array = b->array[node->args[k + 2]] - 1;
        if (b->newest[array] != node->args[k + 2]) b->lw->why = "a loop that drops a write";
        b->array[param] = array + 1;
        b->newest[array] = param;
    }
    return 0;
}

/* What the body leaves: the next values of what is carried, the last versions of arrays. */
static int
build_next(Build *b, const Region *region, RegionFor *loop)
{
    int number = 0;
    for (int i = 0; i < region->results.len && b->lw->why == NULL; i++) {
        NodeId id = region->results.at[i];
        if (region_leaves_array(b, id, "a loop that drops a write")) continue;
        RegionCarried *c = &loop->carried.at[number++];
        if ((c->next = region_value(b, id)) < 0) return -1;
        if (b->kernel->instrs.at[c->next].dtype != b->out->variables.at[c->variable].dtype)
            b->lw->why = "a carried value that changes its dtype";
    }
    return 0;
}

/* Of the graph: in the kernel it may be an argument (sized.c). */
static bool
is_constant(const Build *b, NodeId id, int64_t wanted)
{
    const Node *node = graph_node(b->graph, id);
    uint64_t bits[2];
    if (node->op != OP_const || node->type.rank != 0 || node->type.dtype != DT_I64) return false;
    return constant_read(node->attrs.object, DT_I64, bits) == 0 &&
           memcmp(bits, &wanted, sizeof wanted) == 0;
}

/* A range so long that only a break ends its loop, as a `while` has it. */
static bool
is_endless(const Build *b, const Node *node, const RegionFor *loop)
{
    return loop->leaves >= 0 && is_constant(b, node->args[0], 0) &&
           is_constant(b, node->args[1], INT64_MAX) && is_constant(b, node->args[2], 1);
}

/* What a loop that reduces leaves in each iteration. */
static int
build_folded(Build *b, const Node *node, const Region *region, RegionFor *loop)
{
    if ((loop->each = region_value(b, region->results.at[0])) < 0) return -1;
    DType dtype = b->kernel->instrs.at[loop->each].dtype;
    loop->folds = node->op;
    b->flags |= dtype_is_float(dtype);
    return (loop->folded = region_variable(b, dtype)) < 0 ? -1 : 0;
}

int
region_loop_of(Build *b, NodeId id, RegionBlock *block, RegionFor **out)
{
    const Node *node = graph_node(b->graph, id);
    const Region *region = &b->graph->regions.at[node->region[0]];
    RegionFor *loop = arena_alloc(b->lw->arena, sizeof(RegionFor));
    if (loop == NULL) return -1;
    loop->number = b->out->nloops++;
    loop->leaves = -1;
    if ((loop->start = region_value(b, node->args[0])) < 0 ||
        (loop->stop = region_value(b, node->args[1])) < 0 ||
        (loop->step = region_value(b, node->args[2])) < 0)
        return -1;
    for (int k = 3; k < node->nargs; k++) {
        if (region_is_array(b, node->args[k])) continue;
        RegionCarried c = {.first = region_value(b, node->args[k])};
        if (c.first < 0 ||
            (c.variable = region_variable(b, b->kernel->instrs.at[c.first].dtype)) < 0 ||
            VEC_PUSH(b->lw->arena, &loop->carried, c) < 0)
            return -1;
        if (node->attrs.nints > 0 && node->attrs.ints[0] == k - 3) loop->leaves = c.variable;
    }
    loop->endless = is_endless(b, node, loop);
    RegionStmt stmt = {.instr = -1, .loop = loop};
    if (block != NULL && VEC_PUSH(b->lw->arena, block, stmt) < 0) return -1;
    b->block = &loop->body;
    *out = loop;
    if (build_params(b, node, region, loop) < 0 || region_nodes(b, node->region[0]) < 0) return -1;
    if (b->lw->why == NULL && (op_folds(node->op) ? build_folded(b, node, region, loop)
                                                  : build_next(b, region, loop)) < 0)
        return -1;
    b->block = block;
    return 0;
}

/* The arm of a branch whose condition compares two constants; -1: the condition is not known. */
static int
known_arm(const Build *b, int32_t condition)
{
    const Instr *v = &b->kernel->instrs.at[condition];
    int64_t value[2];
    if (v->kind == INSTR_OP && v->op == OP_py_bool) v = &b->kernel->instrs.at[v->args[0]];
    if (v->kind != INSTR_OP || v->nargs != 2) return -1;
    for (int k = 0; k < 2; k++) {
        const Instr *arg = &b->kernel->instrs.at[v->args[k]];
        if (arg->kind != INSTR_CONST || arg->dtype != DT_I64) return -1;
        memcpy(&value[k], arg->bits, sizeof value[k]);
    }
    switch (v->op) {
    case OP_py_eq: return !(value[0] == value[1]);
    case OP_py_ne: return !(value[0] != value[1]);
    case OP_py_lt: return !(value[0] < value[1]);
    case OP_py_le: return !(value[0] <= value[1]);
    default: return -1;
    }
}

/* Only the arm that is taken. */
static int
build_arm(Build *b, NodeId id, int arm)
{
    RegionId number = graph_node(b->graph, id)->region[arm];
    const Region *region = &b->graph->regions.at[number];
    Maker maker = {.node = id, .arm = arm};
    int count = 0;
    if (region_nodes(b, number) < 0) return -1;
    maker.values = arena_alloc(b->lw->arena, sizeof(int32_t) * (size_t)(region->results.len + 1));
    if (maker.values == NULL) return -1;
    for (int i = 0; i < region->results.len && b->lw->why == NULL; i++) {
        NodeId value = region->results.at[i];
        if (region_leaves_array(b, value, "a branch that drops a write")) continue;
        if ((maker.values[count++] = region_value(b, value)) < 0) return -1;
    }
    return b->lw->why != NULL ? 0 : VEC_PUSH(b->lw->arena, &b->makers, maker);
}

/* Both arms end with a store to one element: it becomes one store behind the branch, so that what
   is left of the arms may become a choice between two values. */
static int
sink_store(Build *b, RegionIf *branch)
{
    RegionElement *e[2];
    RegionMerged merged;
    for (int arm = 0; arm < 2; arm++) {
        const RegionBlock *block = &branch->arm[arm];
        int32_t at = block->len > 0 ? block->at[block->len - 1].instr : -1;
        if (at < 0 || b->kernel->instrs.at[at].kind != INSTR_STORE) return 0;
        e[arm] = &b->out->elements.at[b->kernel->instrs.at[at].operand];
        merged.arm[arm] = b->kernel->instrs.at[at].args[0];
    }
    if (e[0]->array != e[1]->array || memcmp(e[0]->index, e[1]->index, sizeof e[0]->index) != 0)
        return 0;
    Instr store = b->kernel->instrs.at[e[1]->instr];
    RegionElement element = *e[1];
    merged.variable = region_variable(b, store.dtype);
    if (merged.variable < 0 || VEC_PUSH(b->lw->arena, &branch->merged, merged) < 0) return -1;
    Instr value = {.kind = INSTR_CARRIED,
                   .dtype = store.dtype,
                   .level = LEVEL_ELEMENT,
                   .operand = merged.variable,
                   .node = store.node};
    int32_t read = region_emit(b, value, 0, NULL);
    store.operand = b->out->elements.len;
    if ((element.instr = region_emit(b, store, 1, &read)) < 0) return -1;
    for (int arm = 0; arm < 2; arm++) branch->arm[arm].len--;
    return VEC_PUSH(b->lw->arena, &b->out->elements, element);
}

/* The arms start from the same versions of the arrays, and leave what memory holds then. */
static int
build_branch(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    RegionIf *branch = arena_alloc(b->lw->arena, sizeof(RegionIf));
    int narrays = b->out->arrays.len;
    NodeId *before = arena_copy(b->lw->arena, b->newest, sizeof(NodeId) * (size_t)(narrays + 1));
    RegionBlock *block = b->block;
    RegionStmt stmt = {.instr = -1, .branch = branch};
    if (branch == NULL || before == NULL ||
        (branch->condition = region_value(b, node->args[0])) < 0 ||
        VEC_PUSH(b->lw->arena, block, stmt) < 0)
        return -1;
    for (int arm = 0; arm < 2 && b->lw->why == NULL; arm++) {
        const Region *region = &b->graph->regions.at[node->region[arm]];
        memcpy(b->newest, before, sizeof(NodeId) * (size_t)narrays);
        b->block = &branch->arm[arm];
        if (region_nodes(b, node->region[arm]) < 0) return -1;
        int number = 0;
        for (int i = 0; i < region->results.len && b->lw->why == NULL; i++) {
            NodeId value = region->results.at[i];
            if (region_leaves_array(b, value, "a branch that drops a write")) continue;
            int32_t at = region_value(b, value);
            if (at < 0) return -1;
            RegionMerged merged = {.arm = {at, -1}};
            if (arm == 1)
                branch->merged.at[number].arm[1] = at;
            else if ((merged.variable = region_variable(b, b->kernel->instrs.at[at].dtype)) < 0 ||
                     VEC_PUSH(b->lw->arena, &branch->merged, merged) < 0)
                return -1;
            number++;
        }
    }
    b->block = block;
    return b->lw->why != NULL ? 0 : sink_store(b, branch);
}

/* A result of the loop or branch `of`, after it. */
static int
build_result(Build *b, NodeId id, const Maker *of)
{
    const Node *node = graph_node(b->graph, id), *maker = graph_node(b->graph, node->args[0]);
    const Region *region = &b->graph->regions.at[maker->region[of->arm]];
    int number = 0;
    for (int i = 0; i < node->attrs.index; i++)
        number += !region_is_array(b, region->results.at[i]);
    if (region_is_array(b, id)) {
        /* A loop's is that of its argument, also where the body was never built. */
        NodeId same = maker->op == OP_loop ? maker->args[3 + node->attrs.index]
                                           : region->results.at[node->attrs.index];
        int32_t array = b->array[same];
        b->array[id] = array;
        b->newest[array - 1] = id;
        return 0;
    }
    if (of->values != NULL) {
        b->value[id] = of->values[number] + 1;
        return 0;
    }
    if (op_folds(maker->op)) return region_read(b, of->stmt.loop->folded, id) < 0 ? -1 : 0;
    int32_t variable = of->stmt.loop != NULL ? of->stmt.loop->carried.at[number].variable
                                             : of->stmt.branch->merged.at[number].variable;
    return region_read(b, variable, id) < 0 ? -1 : 0;
}

/* The latest: an unrolled body has made it several times. */
static const Maker *
find_maker(const Build *b, NodeId node)
{
    for (int i = b->makers.len - 1; i >= 0; i--)
        if (b->makers.at[i].node == node) return &b->makers.at[i];
    return NULL;
}

/* Loops and branches; their results come right behind them. */
static int
build_inner(Build *b, NodeId id)
{
    RegionFor *loop = NULL;
    int64_t start, step;
    bool branch = graph_node(b->graph, id)->op == OP_cond;
    int turns = branch ? -1 : region_turns(b, id, &start, &step);
    if (turns >= 0) return region_unrolled(b, id, turns, start, step);
    if (branch) {
        int32_t condition = region_value(b, graph_node(b->graph, id)->args[0]);
        if (condition < 0) return -1;
        int arm = known_arm(b, condition);
        if (arm >= 0) return build_arm(b, id, arm);
    }
    if (branch ? build_branch(b, id) < 0 : region_loop_of(b, id, b->block, &loop) < 0) return -1;
    if (b->lw->why != NULL) return 0;
    Maker maker = {.node = id};
    for (int i = b->block->len - 1; maker.stmt.loop == NULL && maker.stmt.branch == NULL; i--)
        maker.stmt = b->block->at[i];
    return VEC_PUSH(b->lw->arena, &b->makers, maker);
}

int
region_nodes(Build *b, RegionId number)
{
    const Region *region = &b->graph->regions.at[number];
    for (int i = 0; i < region->nodes.len && b->lw->why == NULL; i++) {
        NodeId id = region->nodes.at[i];
        const Node *node = graph_node(b->graph, id);
        OpKind kind = op_info(node->op)->kind;
        int failed = 0;
        if (!b->lw->live[id] || kind == KIND_CONST || kind == KIND_INPUT) continue;
        if (op_is_of_list(node->op))
            failed = region_add_list(b, id);
        else if (node->op == OP_element_draw || node->op == OP_element_drawn)
            failed = region_add_draw(b, id);
        else if (kind == KIND_ELEMENT)
            failed = node->op == OP_element_dot ? region_add_dot(b, id) : region_add_element(b, id);
        else if (kind == KIND_REGION)
            failed = build_inner(b, id);
        else if (kind == KIND_COPY) { /* the same number, of another class */
            int32_t value = region_value(b, node->args[0]);
            if (value < 0) return -1;
            b->value[id] = value + 1;
            /* Python's operations, made NumPy's */
            b->flags |= dtype_is_complex((DType)node->type.dtype);
        } else if (kind == KIND_RESULT)
            failed = build_result(b, id, find_maker(b, node->args[0]));
        else {
            int32_t value = region_operation_value(b, id, LEVEL_ELEMENT);
            if (value < 0) return -1;
            b->value[id] = value + 1;
        }
        if (failed < 0) return -1;
    }
    return 0;
}
