/* Memory from before a repeat that its turns write.

   Turns write a copy: the memory is carried as versions, found when the body has been followed.
   What in the body reads it as it was before the loop reads a param instead. */
#include "repeat.h"

Answer
repeat_is_turned(Interp *in, const Repeat *r, NodeId array)
{
    Nodes all = {0};
    if (repeat_find_chosen(in, array, &all) < 0) return ANSWER_ERROR;
    for (int i = 0; i < all.len; i++) {
        int storage = storage_find(in, graph_node(in->graph, all.at[i])->storage);
        if (storage < 0) continue;
        for (int k = 0; k < r->turned.len; k++)
            if (r->turned.at[k].storage == storage) return ANSWER_YES;
        for (int k = 0; k < r->moved.len; k++)
            if (r->moved.at[k].storage == storage) return ANSWER_YES;
    }
    return ANSWER_NO;
}

/* May turns write a copy of the memory, which is written back at commit? */
static bool
is_copied_back(const Graph *g, NodeId root)
{
    const Node *node = graph_node(g, root);
    if (node->type.device != DEVICE_HOST || !type_is_copyable(g, &node->type)) return false;
    switch (op_info(node->op)->kind) {
    case KIND_CONST:
    case KIND_EXTERN: /* others may have the memory, too */
    case KIND_CHOICE: return false;
    case KIND_RESULT: {
        Op of = graph_node(g, node->args[0])->op;
        return of == OP_cond || of == OP_repeat || of == OP_loop;
    }
    default: return true;
    }
}

Answer
repeat_take_turned(Interp *in, Repeat *r, const World *before)
{
    for (int i = 0; i < in->memory.storages.len; i++) {
        Storage *storage = &in->memory.storages.at[i];
        bool known = i < before->nstorages;
        NodeId first = known ? before->storages[i].version : storage->root;
        bool moves = repeat_moves(in, r, i);
        if (!world_is_older(in, before, storage) || (storage->version == first && !moves)) continue;
        if (!is_copied_back(in->graph, storage->root)) return ANSWER_NO;
        TurnedStorage turned = {.storage = i, .first = first, .last = storage->version};
        if (moves ? VEC_PUSH(in->arena, &r->moved, turned) < 0
                  : VEC_PUSH(in->arena, &r->turned, turned) < 0)
            return ANSWER_ERROR;
        storage->version = first;
        storage->written = known && before->storages[i].written;
    }
    in->memory.writes.len = before->nwrites;
    return ANSWER_YES;
}

static void
mark_inside(const Graph *g, RegionId id, bool *inside)
{
    const Region *region = &g->regions.at[id];
    for (int i = 0; i < region->params.len; i++) inside[region->params.at[i]] = true;
    for (int i = 0; i < region->nodes.len; i++) {
        const Node *node = graph_node(g, region->nodes.at[i]);
        inside[region->nodes.at[i]] = true;
        for (int k = 0; k < 2; k++)
            if (node->region[k] != NO_REGION) mark_inside(g, node->region[k], inside);
    }
}

/* What in the body reads the memory as it was before the loop reads the param instead. */
typedef struct {
    Interp *in;
    RegionId body;
    NodeId before, param;
    const bool *inside;
    int count;     /* length of the two arrays */
    NodeId *moved; /* by a view from outside: the same view of the param, or NO_NODE */
    int views;
} Redirect;

/* The value, as what is in the body reads it; NO_NODE with the error set. */
static NodeId
redirected(Redirect *r, NodeId value)
{
    Graph *g = r->in->graph;
    if (value == r->before) return r->param;
    bool outer = value < r->count && !r->inside[value];
    if (!outer || graph_node(g, value)->storage != r->before) return value;
    if (r->moved[value] != NO_NODE) return r->moved[value];
    Type type = graph_node(g, value)->type;
    Op op = graph_view_is_readonly(g, value) ? OP_broadcast : OP_as_strided;
    NodeId view = graph_make(g, op, 1, &r->param, &type, NULL);
    Region *region = &g->regions.at[r->body];
    if (view == NO_NODE || VEC_PUSH(g->arena, &region->nodes, view) < 0) return NO_NODE;
    memmove(&region->nodes.at[1], &region->nodes.at[0],
            sizeof(NodeId) * (size_t)(region->nodes.len - 1));
    region->nodes.at[0] = view;
    r->views++;
    return r->moved[value] = view;
}

static int
redirect_region(Redirect *r, RegionId id)
{
    Graph *g = r->in->graph;
    for (int i = 0; i < g->regions.at[id].nodes.len; i++) {
        int views = r->views;
        NodeId at = g->regions.at[id].nodes.at[i];
        for (int k = 0; k < graph_node(g, at)->nargs; k++) {
            NodeId to = redirected(r, graph_node(g, at)->args[k]);
            if (to == NO_NODE) return -1;
            graph_node(g, at)->args[k] = to;
        }
        if (id == r->body) i += r->views - views; /* they are put in front */
        Node *node = graph_node(g, at);
        if (node->storage == r->before) node->storage = r->param;
        for (int k = 0; k < 2; k++)
            if (node->region[k] != NO_REGION && redirect_region(r, node->region[k]) < 0) return -1;
    }
    return 0;
}

int
repeat_redirect(Interp *in, RegionId body, NodeId before, NodeId param)
{
    Graph *g = in->graph;
    size_t count = (size_t)g->nodes.len;
    bool *inside = arena_alloc(in->arena, count + 1);
    Redirect r = {.in = in, .body = body, .before = before, .param = param, .inside = inside};
    r.count = (int)count;
    r.moved = arena_alloc(in->arena, sizeof(NodeId) * (count + 1));
    if (inside == NULL || r.moved == NULL) return -1;
    for (size_t i = 0; i < count; i++) r.moved[i] = NO_NODE;
    mark_inside(g, body, inside);
    return redirect_region(&r, body);
}

Answer
repeat_carry_turned(Interp *in, Repeat *r)
{
    for (int i = 0; i < r->turned.len; i++) {
        const TurnedStorage *turned = &r->turned.at[i];
        NodeId param = repeat_param(in, r, turned->first);
        if (param == NO_NODE || repeat_redirect(in, r->region, turned->first, param) < 0 ||
            VEC_PUSH(in->arena, &r->args, turned->first) < 0)
            return ANSWER_ERROR;
        TRY(repeat_add_result(in, r, turned->last));
    }
    return ANSWER_YES;
}

Answer
repeat_leave_turned(Interp *in, const Repeat *r, NodeId repeat)
{
    for (int i = 0; i < r->turned.len; i++) {
        const TurnedStorage *turned = &r->turned.at[i];
        NodeId root = in->memory.storages.at[turned->storage].root;
        Type type = graph_node(in->graph, turned->first)->type;
        Attrs attrs = {.index = r->slots.len + i};
        type.offset = NO_SIZE;
        NodeId node = graph_add(in->graph, in->region, OP_result, 1, &repeat, &type, &attrs);
        if (node == NO_NODE || storage_write(in, root, node) < 0) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}
