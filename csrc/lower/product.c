/* A product by a device's library: a kernel without a text, that stands in chains as others do. The
   memory that the library needs besides is the plan's, so that products on two streams do not
   share it. */
#include "nest.h"

static int
add_place(Nest *n, NodeId value)
{
    Place place;
    if (place_for(n->lw, value, &place) < 0) return -1;
    return VEC_PUSH(n->lw->arena, &n->places, place);
}

int
product_build(Lowering *lw, Group *g)
{
    Nest n;
    Step step = {0};
    NodeId id = g->nodes.at[0];
    const Node *node = graph_node(lw->graph, id);
    Product product;
    if (nest_init(&n, lw, g) < 0) return -1;
    n.kernel->kind = KERNEL_PRODUCT;
    step.kernel.units = size_const(lw->graph, 1);
    if (step.kernel.units == NO_SIZE) return -1;
    bool told = product_of_node(lw->graph, id, &product);
    if (told && lw->graph->takes_product != NULL)
        told = lw->graph->takes_product(&product, &step.kernel.workspace);
    if (!told) {
        lw->why = "a product that the device's library has not";
        return 0;
    }
    for (int i = 0; i < node->nargs; i++) {
        if (i == PRODUCT_RESULT && add_place(&n, id) < 0) return -1;
        if (add_place(&n, node->args[i]) < 0) return -1;
    }
    if (node->nargs == PRODUCT_RESULT && add_place(&n, id) < 0) return -1;
    if (step.kernel.workspace > 0 &&
        nest_add_memory(&n, size_const(lw->graph, step.kernel.workspace),
                        (Device)node->type.device) < 0)
        return -1;
    step.kernel.product = arena_copy(lw->arena, &product, sizeof product);
    if (step.kernel.product == NULL) return -1;
    step_blame(lw->graph, id, &step);
    return nest_step(&n, &step);
}
