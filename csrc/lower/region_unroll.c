/* Loops in a kept loop that make few turns, known beforehand: the turns, one after the other. */
#include "region_build.h"

enum { MOST_UNROLLED = 8, MOST_UNROLLED_NODES = 64 };

static int
count_nodes(const Graph *g, RegionId id)
{
    const Region *region = &g->regions.at[id];
    int count = region->nodes.len;
    for (int i = 0; i < region->nodes.len; i++)
        for (int r = 0; r < 2; r++) {
            RegionId inner = graph_node(g, region->nodes.at[i])->region[r];
            if (inner != NO_REGION) count += count_nodes(g, inner);
        }
    return count;
}

static bool
constant_arg(Build *b, NodeId id, int64_t *out)
{
    int32_t at = region_value(b, id);
    if (at < 0 || b->kernel->instrs.at[at].kind != INSTR_CONST) return false;
    memcpy(out, b->kernel->instrs.at[at].bits, sizeof *out);
    return *out > -(1 << 20) && *out < 1 << 20;
}

/* How many turns the loop makes, if it is to be unrolled; else -1. */
int
region_turns(Build *b, NodeId id, int64_t *start, int64_t *step)
{
    int64_t stop;
    const Node *node = graph_node(b->graph, id);
    if (node->attrs.nints > 0 || op_folds(node->op)) return -1; /* it may be left */
    if (!constant_arg(b, node->args[0], start) || !constant_arg(b, node->args[1], &stop) ||
        !constant_arg(b, node->args[2], step) || *step == 0)
        return -1;
    int64_t span = *step > 0 ? stop - *start : *start - stop, by = *step > 0 ? *step : -*step;
    int64_t turns = span <= 0 ? 0 : (span - 1) / by + 1;
    bool small = turns <= MOST_UNROLLED &&
                 turns * count_nodes(b->graph, node->region[0]) <= MOST_UNROLLED_NODES;
    return small ? (int)turns : -1;
}

static int32_t
emit_number(Build *b, NodeId node, int64_t number)
{
    Instr instr = {
        .kind = INSTR_CONST, .dtype = DT_I64, .level = LEVEL_ELEMENT, .operand = -1, .node = node};
    memcpy(instr.bits, &number, sizeof number);
    return region_emit(b, instr, 0, NULL);
}

/* One turn; `values`: of what is carried, before it and after it. */
static int
build_turn(Build *b, NodeId id, int64_t index, int32_t *values, int32_t *next)
{
    const Node *node = graph_node(b->graph, id);
    const Region *region = &b->graph->regions.at[node->region[0]];
    int number = 0;
    int32_t at = emit_number(b, region->params.at[0], index);
    if (at < 0) return -1;
    b->value[region->params.at[0]] = at + 1;
    for (int k = 1; k < region->params.len; k++) {
        NodeId param = region->params.at[k];
        if (!region_is_array(b, param)) {
            b->value[param] = values[number++] + 1;
            continue;
        }
        int32_t array = b->array[node->args[k + 2]];
        b->array[param] = array;
        b->newest[array - 1] = param;
    }
    if (region_nodes(b, node->region[0]) < 0) return -1;
    number = 0;
    for (int i = 0; i < region->results.len && b->lw->why == NULL; i++) {
        NodeId result = region->results.at[i];
        if (region_leaves_array(b, result, "a loop that drops a write")) continue;
        if ((next[number++] = region_value(b, result)) < 0) return -1;
    }
    if (b->lw->why == NULL) memcpy(values, next, sizeof(int32_t) * (size_t)number);
    return 0;
}

int
region_unrolled(Build *b, NodeId id, int turns, int64_t start, int64_t step)
{
    const Node *node = graph_node(b->graph, id);
    size_t bytes = sizeof(int32_t) * (size_t)(node->nargs + 1);
    int32_t *values = arena_alloc(b->lw->arena, bytes), *next = arena_alloc(b->lw->arena, bytes);
    int number = 0;
    if (values == NULL || next == NULL) return -1;
    for (int k = 3; k < node->nargs; k++) {
        if (!region_is_array(b, node->args[k])) {
            if ((values[number++] = region_value(b, node->args[k])) < 0) return -1;
        } else if (b->newest[b->array[node->args[k]] - 1] != node->args[k])
            b->lw->why = "a loop that drops a write";
    }
    for (int turn = 0; turn < turns && b->lw->why == NULL; turn++)
        if (build_turn(b, id, start + turn * step, values, next) < 0) return -1;
    if (b->lw->why != NULL) return 0;
    Maker maker = {.node = id, .values = values};
    return VEC_PUSH(b->lw->arena, &b->makers, maker);
}
