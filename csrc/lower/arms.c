/* The arms of conds, which passes/arms.c has laid out between marks: `branch` and `otherwise`
   become jumps of the program, and the values of a `join` are copied into the memory of its
   results.

   What a repeat computes before it stays, and its body, are arms of their own (repeat.c); so is
   what comes behind a `measure`, which may be at places, and of sizes, that nobody knows before.

   Invariants: groups hold nodes of one arm only, so that what an arm does happens when it is taken
   and not otherwise, floating-point flags and deopts included; a virtual scalar from outside that
   an arm uses is computed outside. */
#include "schedule.h"

int
arms_find(Lowering *lw)
{
    const Region *top = &lw->graph->regions.at[0];
    VEC(int) around = {0}; /* per open cond: the arm that it is in */
    int arm = 0, loop = 0;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        Op op = graph_node(lw->graph, id)->op;
        if (op == OP_otherwise) arm = around.at[around.len - 1];
        if (op == OP_join || op == OP_again) arm = around.at[--around.len];
        lw->arm[id] = arm;
        if (repeat_find(lw, id, &loop) < 0) return -1;
        bool begins = op == OP_branch || op == OP_enter;
        if (begins && VEC_PUSH(lw->arena, &around, arm) < 0) return -1;
        if (begins || op == OP_otherwise || op == OP_stay || op == OP_measure) arm = ++lw->narms;
    }
    return 0;
}

/* ---- what arms need in memory ---- */

/* A virtual scalar from outside the arm must be computed outside, so it needs memory. */
static void
need_crossing(Lowering *lw, int arm, NodeId value)
{
    NodeId storage = graph_node(lw->graph, value)->storage;
    const Node *node = graph_node(lw->graph, storage);
    if (!node_is_virtual(&lw->virtuals, storage) || node->op == OP_const || node->op == OP_full)
        return;
    if (lw->arm[storage] != arm) {
        lw->needed[storage] = true;
        return;
    }
    for (int k = 0; k < node->nargs; k++) need_crossing(lw, arm, node->args[k]);
}

/* Both arms make their value in the result's memory. */
static void
place_result(Lowering *lw, NodeId result)
{
    const Node *node = graph_node(lw->graph, result);
    const Node *join = graph_node(lw->graph, node->args[0]);
    for (int i = 0; i < 2; i++) {
        NodeId value = join->args[2 * node->attrs.index + i];
        if (graph_node(lw->graph, value)->op == OP_empty) continue;
        while (graph_node(lw->graph, value)->op == OP_scatter) /* it is written in place */
            value = graph_node(lw->graph, value)->args[0];
        lw->same_as[value] = result;
        lw->needed[value] = lw->needed[result] = true;
    }
}

void
arms_need(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (int i = 0; i < g->regions.at[0].nodes.len; i++) {
        NodeId id = g->regions.at[0].nodes.at[i];
        const Node *node = graph_node(g, id);
        if (!lw->live[id]) continue;
        if (node->op == OP_result && graph_node(g, node->args[0])->op == OP_join)
            place_result(lw, id);
        for (int k = 0; k < node->nargs; k++) need_crossing(lw, lw->arm[id], node->args[k]);
        if (node->op == OP_branch || node->op == OP_stay || node->op == OP_measure)
            lw->needed[graph_node(g, node->args[0])->storage] = true;
    }
    repeat_need(lw);
}

/* ---- marks as steps ---- */

static int
measure_step(Lowering *lw, NodeId mark)
{
    const Node *node = graph_node(lw->graph, mark);
    Step step = {.kind = STEP_MEASURE, .line = node->line, .file = node->file};
    step.measure.node = mark;
    if (place_for(lw, node->args[0], &step.measure.from) < 0) return -1;
    return VEC_PUSH(lw->arena, &lw->program->steps, step);
}

int
arms_step(Lowering *lw, NodeId mark)
{
    const Node *node = graph_node(lw->graph, mark);
    Program *p = lw->program;
    if (node->op == OP_enter || node->op == OP_stay || node->op == OP_again)
        return repeat_step(lw, mark);
    if (node->op == OP_measure) return measure_step(lw, mark);
    Step step = {.kind = STEP_JUMP, .line = node->line};
    if (node->op != OP_branch) { /* the target of the open jump is here */
        int from = lw->open.at[--lw->open.len];
        bool jumps = node->op == OP_otherwise;
        p->steps.at[from].jump.target = p->steps.len + jumps;
        if (!jumps) return 0;
        step.jump.condition.buffer = NO_BUFFER;
    } else if (place_for(lw, node->args[0], &step.jump.condition) < 0) {
        return -1;
    }
    if (VEC_PUSH(lw->arena, &p->steps, step) < 0) return -1;
    return VEC_PUSH(lw->arena, &lw->open, p->steps.len - 1);
}
