/* What a repeat carries from turn to turn: which arrays it can, and the params and results that
   stand for them. */
#include "repeat.h"

bool
repeat_carries(const Graph *g, const Type *type)
{
    return type->form == FORM_ARRAY && type->device == DEVICE_HOST && type->dtype != DT_OBJECT &&
           type_is_compact(g, type) && type_elements(g, type) > 0;
}

NodeId
repeat_param(Interp *in, const Repeat *r, NodeId first)
{
    Type type = graph_node(in->graph, first)->type;
    type.offset = NO_SIZE;
    return graph_input(in->graph, r->region, &type);
}

Answer
repeat_add_result(Interp *in, Repeat *r, NodeId node)
{
    return VEC_PUSH(in->arena, &r->results, node) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static bool
has_node(const Nodes *nodes, NodeId id)
{
    for (int i = 0; i < nodes->len; i++)
        if (nodes->at[i] == id) return true;
    return false;
}

/* Each is there once: swaps in a row choose among the same two again and again. */
int
repeat_find_chosen(Interp *in, NodeId array, Nodes *out)
{
    if (VEC_PUSH(in->arena, out, array) < 0) return -1;
    for (int i = 0; i < out->len; i++) {
        const Node *node = graph_node(in->graph, out->at[i]);
        for (int k = 1; node->op == OP_choose && k < node->nargs; k++)
            if (!has_node(out, node->args[k]) && VEC_PUSH(in->arena, out, node->args[k]) < 0)
                return -1;
    }
    return 0;
}
