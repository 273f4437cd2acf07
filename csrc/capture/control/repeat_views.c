/* Locals of a repeat that have a view of one memory in each turn, at another place: `above = x[i]`.

   Carried is the place, an int that sizes have; the view is made of it in each turn.  Nobody can
   ask which object it is: a turn leaves one that it has made, in one local, and nobody else has the
   first one. */
#include "repeat.h"

const CarriedView *
repeat_view(const Repeat *r, int at)
{
    for (int i = 0; i < r->views.len; i++)
        if (r->views.at[i].at == at) return &r->views.at[i];
    return NULL;
}

/* Is it a view of memory of the host, of a known layout?  Then *storage is that. */
static bool
is_view(Interp *in, const Value *value, int *storage)
{
    if (value == NULL || value->kind != V_NODE || !value_is_array(in, value) ||
        value_is_opaque(in, value) || value->leaves_as != NULL)
        return false;
    const Node *node = graph_node(in->graph, value->node);
    if (node->type.device != DEVICE_HOST || node->type.form != FORM_ARRAY ||
        node->storage == value->node || node->type.offset == NO_SIZE ||
        type_is_measured(in, &node->type) || graph_view_is_readonly(in->graph, value->node))
        return false;
    *storage = storage_of(in, value->node);
    return *storage >= 0;
}

static Answer
place_of(Interp *in, const Value *view, NodeId *out)
{
    Value *place;
    TRY(number_of_size(in, graph_node(in->graph, view->node)->type.offset, &place));
    return value_as_unpinned_node(in, place, out);
}

Answer
repeat_carries_view(Interp *in, Repeat *r, Value *value, NodeId *place)
{
    CarriedView view = {.at = r->slots.len};
    int stacked, held;
    if (!is_view(in, value, &view.storage)) return ANSWER_NO;
    if (value_references(in, value, &stacked, &held) < 0) return ANSWER_ERROR;
    if (stacked + held > 1) return ANSWER_NO;
    view.type = graph_node(in->graph, value->node)->type;
    TRY(place_of(in, value, place));
    return VEC_PUSH(in->arena, &r->views, view) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
repeat_make_views(Interp *in, const Repeat *r)
{
    for (int i = 0; i < r->views.len; i++) {
        const CarriedView *view = &r->views.at[i];
        const Region *region = &in->graph->regions.at[r->region];
        Value *place = value_node(in, region->params.at[1 + view->at]), *made;
        Type type = view->type;
        if (place == NULL) return ANSWER_ERROR;
        TRY(size_of_number(in, place, &type.offset));
        NodeId base = in->memory.storages.at[view->storage].version, node;
        TRY_NODE(node, graph_add(in->graph, in->region, OP_as_strided, 1, &base, &type, NULL));
        if ((made = value_node(in, node)) == NULL) return ANSWER_ERROR;
        made->guarded = made->pinned = true;
        in->top->slots[r->slots.at[view->at]] = made;
    }
    return ANSWER_YES;
}

/* Has the turn made it, and left it in this local alone? */
static bool
is_new(const Interp *in, const Repeat *r, const CarriedView *view, const Value *left)
{
    bool made = false;
    for (int i = r->made; i < in->attempt.values.len && !made; i++)
        made = in->attempt.values.at[i] == left;
    for (int i = 0; i < r->scan.nslots; i++) {
        int slot = r->scan.slot[i];
        if (slot != r->slots.at[view->at] && in->top->slots[slot] == left && r->scan.read_first[i])
            return false;
    }
    return made;
}

Answer
repeat_view_left(Interp *in, const Repeat *r, const CarriedView *view, NodeId *place)
{
    Value *left = in->top->slots[r->slots.at[view->at]];
    int storage;
    if (!is_view(in, left, &storage) || storage != view->storage || !is_new(in, r, view, left) ||
        !type_same_layout(&graph_node(in->graph, left->node)->type, &view->type))
        return ANSWER_NO;
    RegionId outer = in->region;
    in->region = r->region;
    Answer answer = place_of(in, left, place);
    in->region = outer;
    return answer;
}
