/* Arrays that an arm of a branch writes (capture/control/merge_writes.c).

       branch(%test)
       %5 = scatter(%1, …)
       %6 = copy(%5)
       …
       join(%6, %7)
       %8 = result(join)
       %9 = choose(%test, %8, %1, version=1)

   1. Where %1 is memory of the plan that only %9 reads behind the scatter, %5 is written in place,
      and %9 = choose(%test, %5, %1, version=2) is in that memory, whether the arm is taken or not.
   2. Else %5 is a copy of %1 with the write, which is made in the memory of %8, without %6. */
#include "writes.h"

/* ---- 1. ---- */

/* The last version that the arm leaves to the choice, which nobody else takes, or NO_NODE.  *join,
 *at: the argument that is its copy. */
static NodeId
left_version(const Writes *w, NodeId choice, NodeId *join, int *at)
{
    const Graph *g = w->g;
    const Node *node = graph_node(g, choice), *result = graph_node(g, node->args[1]);
    if (node->attrs.index != CHOICE_VERSION || result->op != OP_result) return NO_NODE;
    if (fact(w, node->args[1])->nreads != 1 || fact(w, node->args[1])->noutputs > 0) return NO_NODE;
    *join = result->args[0];
    if (graph_node(g, *join)->op != OP_join) return NO_NODE;
    for (int i = 0; i < 2; i++) {
        *at = (int)(2 * result->attrs.index) + i;
        const Node *copy = graph_node(g, graph_node(g, *join)->args[*at]);
        if (copy->op == OP_copy) return copy->args[0];
    }
    return NO_NODE;
}

/* Will the version be in the memory of `scatter`, which is that of `old`?  Then each write from
   there to it is the last that reads the version before it. */
static bool
stays(const Writes *w, NodeId version, NodeId scatter, NodeId old)
{
    const Node *node = graph_node(w->g, version);
    if (version == scatter) return true;
    if (node->op == OP_choose) return choice_stays(w, version, scatter, old);
    if (node->op != OP_scatter) return false;
    NodeId before = storage_of(w, node->args[0]), id;
    int32_t at = -1;
    if (before == old || storage_of(w, node->args[1]) == before) return false;
    if (fact(w, before)->committed || fact(w, before)->noutputs > 0) return false;
    while (next_read(w, before, &at, &id))
        if (fact(w, id)->order > fact(w, version)->order) return false;
    return stays(w, before, scatter, old);
}

bool
choice_stays(const Writes *w, NodeId choice, NodeId scatter, NodeId old)
{
    NodeId join;
    int at;
    if (graph_node(w->g, choice)->op != OP_choose) return false;
    NodeId version = left_version(w, choice, &join, &at);
    return version != NO_NODE && graph_node(w->g, choice)->args[2] == old &&
           stays(w, version, scatter, old);
}

static int
make_same(Writes *w, NodeId choice, NodeId old)
{
    NodeId join;
    int at;
    NodeId version = left_version(w, choice, &join, &at);
    if (version == NO_NODE) return 0;
    NodeId empty = graph_node(w->g, join)->args[at ^ 1];
    if (replace_argument(w, join, at, empty) < 0 || replace_argument(w, choice, 1, version) < 0)
        return -1;
    graph_node(w->g, choice)->attrs.index = CHOICE_SAME;
    fact(w, choice)->root = fact(w, old)->root;
    return 0;
}

int
arm_stays(Writes *w, NodeId scatter)
{
    NodeId old = storage_of(w, graph_node(w->g, scatter)->args[0]), id;
    int32_t at = -1, place = fact(w, scatter)->order;
    VEC(NodeId) choices = {0};
    const Fact *of = fact(w, old);
    if (of->committed || of->noutputs > 0 || of->loop != fact(w, scatter)->loop ||
        storage_of(w, graph_node(w->g, scatter)->args[1]) == old)
        return 0;
    if (of->loop != 0 && !version_is_turned(w, old)) return 0;
    while (next_read(w, old, &at, &id)) {
        if (fact(w, id)->order <= place || choice_is_same(w, id)) continue;
        if (!choice_stays(w, id, scatter, old)) return 0;
        if (VEC_PUSH(w->g->arena, &choices, id) < 0) return -1;
    }
    for (int i = 0; i < choices.len; i++)
        if (make_same(w, choices.at[i], old) < 0) return -1;
    return 0;
}

/* ---- 2. ---- */

/* Can the version be made in the memory of the arm's result, of which `copy` is the arm's value? It
   is in memory that the arm has made, and nobody else reads it. */
static bool
is_in_result(const Writes *w, NodeId copy)
{
    const Graph *g = w->g;
    const Node *node = graph_node(g, copy);
    if (node->op != OP_copy || node->attrs.index == COPY_KEPT) return false;
    NodeId version = node->args[0], at = version;
    if (graph_node(g, version)->op != OP_scatter ||
        !type_same_layout(&node->type, &graph_node(g, version)->type))
        return false;
    while (graph_node(g, at)->op == OP_scatter) {
        if (graph_node(g, at)->attrs.index != WRITE_IN_PLACE) return false;
        if (fact(w, at)->noutputs > 0 || fact(w, at)->committed) return false;
        at = graph_node(g, at)->args[0];
    }
    return storage_is_fresh(g, at) && fact(w, at)->arm == fact(w, copy)->arm &&
           fact(w, at)->noutputs == 0 && !fact(w, at)->committed && fact(w, version)->nreads == 1;
}

int
arm_results(Writes *w, NodeId join)
{
    for (int k = 0; k < graph_node(w->g, join)->nargs; k++) {
        NodeId copy = graph_node(w->g, join)->args[k];
        if (is_in_result(w, copy) &&
            replace_argument(w, join, k, graph_node(w->g, copy)->args[0]) < 0)
            return -1;
    }
    return 0;
}
