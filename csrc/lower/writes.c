/* In whose memory each new version is, as decided by passes/writes.c. */
#include "schedule.h"

/* The new version takes over the memory of the old one. */
static void
take_over(Lowering *lw, NodeId version, NodeId storage)
{
    NodeId root = lw->same_as[storage];
    lw->same_as[version] = root;
    lw->needed[version] = true;
    if (lw->is_output[version]) lw->is_output[root] = true;
}

static void
place_scatter(Lowering *lw, NodeId id)
{
    NodeId old = graph_node(lw->graph, graph_node(lw->graph, id)->args[0])->storage;
    if (node_commits(lw->graph, id)) return;
    if (graph_node(lw->graph, id)->attrs.index != WRITE_IN_PLACE) {
        lw->why = "a write that no pass has prepared";
        return;
    }
    take_over(lw, id, old);
    lw->needed[old] = true;
}

/* An array that the loop carries; `result`: its last version, if that is read. */
static void
place_carried(Lowering *lw, NodeId old, NodeId result)
{
    NodeId root = lw->same_as[graph_node(lw->graph, old)->storage];
    OpKind kind = op_info(graph_node(lw->graph, root)->op)->kind;
    if (kind != KIND_INPUT && !type_is_copyable(lw->graph, &graph_node(lw->graph, old)->type)) {
        lw->why = "a loop over a fresh array of unknown size";
        return;
    }
    lw->needed[root] = true;
    if (result != NO_NODE) take_over(lw, result, root);
}

static void
place_loop(Lowering *lw, NodeId loop)
{
    const Node *node = graph_node(lw->graph, loop);
    if (node->attrs.index != WRITE_IN_PLACE) {
        lw->why = "a loop over an array whose old elements are wanted later";
        return;
    }
    for (int k = 3; k < node->nargs && lw->why == NULL; k++) {
        NodeId result = live_result(lw, loop, k - 3);
        if (graph_node(lw->graph, node->args[k])->type.form == FORM_ARRAY)
            place_carried(lw, node->args[k], result);
        if (result != NO_NODE) lw->needed[result] = true;
    }
}

/* A repeat's versions are all in one memory. */
static void
place_turned(Lowering *lw, NodeId mark)
{
    const Node *node = graph_node(lw->graph, mark);
    int before = node->op == OP_again;
    for (int k = node_versions_from(node); k + before < node->nargs; k++) {
        NodeId result = live_result(lw, mark, k);
        NodeId storage = graph_node(lw->graph, node->args[before + k])->storage;
        lw->needed[lw->same_as[storage]] = true;
        if (result != NO_NODE) take_over(lw, result, storage);
    }
}

/* A virtual node that reads memory which is written later is computed once, before the write. */
static int
keep_readers(Lowering *lw)
{
    const Graph *g = lw->graph;
    const Region *top = &g->regions.at[0];
    bool *written =
        arena_alloc(lw->arena, (size_t)lw->nnodes); /* per storage: written by a later node */
    if (written == NULL) return -1;
    for (int i = top->nodes.len; i-- > 0;) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(g, id);
        if (!lw->live[id]) continue;
        if (node->op == OP_scatter && !node_commits(g, id))
            written[graph_node(g, node->args[0])->storage] = true;
        if (!node_is_virtual(&lw->virtuals, id)) continue;
        for (int k = 0; k < node->nargs; k++)
            if (written[graph_node(g, node->args[k])->storage]) lw->needed[id] = true;
    }
    return 0;
}

int
writes_place(Lowering *lw)
{
    const Region *top = &lw->graph->regions.at[0];
    for (int i = 0; i < top->nodes.len && lw->why == NULL; i++) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(lw->graph, id);
        if (!lw->live[id]) continue;
        if (node->op == OP_scatter) place_scatter(lw, id);
        if (node->op == OP_loop) place_loop(lw, id);
        if (node->op == OP_enter || node->op == OP_again) place_turned(lw, id);
        if (node->op == OP_choose && node->attrs.index == CHOICE_SAME) {
            take_over(lw, id, graph_node(lw->graph, node->args[2])->storage);
            lw->needed[graph_node(lw->graph, node->args[2])->storage] = true;
        }
        if (node->op == OP_copy && node->attrs.index == COPY_KEPT) lw->needed[id] = true;
    }
    return keep_readers(lw);
}

/* ---- what an undo puts back ---- */

int
save_part(Lowering *lw, SavedParts *saved, NodeId input, const Type *part)
{
    SavedPart one = {.buffer = buffer_for(lw, input), .type = *part};
    return one.buffer == NO_BUFFER || VEC_PUSH(lw->arena, saved, one) < 0 ? -1 : 0;
}

int
save_step(Lowering *lw, const SavedParts *saved, const Node *of)
{
    Step step = {.kind = STEP_SAVE, .save = {.nparts = saved->len, .parts = saved->at}};
    if (saved->len == 0) return 0;
    step.line = of->line;
    step.file = of->file;
    return VEC_PUSH(lw->arena, &lw->program->steps, step);
}

/* Is all of the type known where a run begins? */
static bool
is_known_before(const Graph *g, const Type *type)
{
    bool varies = size_varies_in_run(g, type->offset);
    for (int i = 0; i < type->rank; i++)
        varies |= size_varies_in_run(g, type->shape[i]) || size_varies_in_run(g, type->stride[i]);
    return !varies;
}

int
save_scattered(Lowering *lw)
{
    const Graph *g = lw->graph;
    const Region *top = &g->regions.at[0];
    SavedParts saved = {0};
    const Node *first = NULL;
    for (int i = 0; i < top->nodes.len; i++) {
        const Node *node = graph_node(g, top->nodes.at[i]);
        NodeId root = lw->same_as[top->nodes.at[i]];
        bool writes = lw->live[top->nodes.at[i]] && node->op == OP_scatter &&
                      root != top->nodes.at[i] && graph_node(g, root)->op == OP_input;
        if (!writes || lw->turned[root] != 0) continue;
        const Type *part = node->attrs.view;
        if (!is_known_before(g, part)) part = &graph_node(g, root)->type;
        if (save_part(lw, &saved, root, part) < 0) return -1;
        if (first == NULL) first = node;
    }
    return save_step(lw, &saved, first);
}
