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
   2. Else %5 is a copy of %1 with the write, which is made in the memory of %8, without %6.
   3. In turns of a repeat, whose memory all arms write, 1. holds for all writes and choices of a
      turn or is asked of each: for all where a version is read only before later writes that may
      come in the same turn.  So both arms of a branch, and arms in arms, write in place. */
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

/* ---- 3. ---- */

enum { MOST_WRITES = 64 }; /* bits of a set */

/* The versions that a turn makes of the memory that it began with. */
typedef struct {
    const Writes *w;
    NodeId enter, began;
    int first, end; /* positions in the top region: of `enter` and of `again` */
    NodeId write[MOST_WRITES];
    int nwrites;
} Turn;

static bool
is_version(const Turn *t, NodeId id)
{
    return fact(t->w, id)->began == t->began;
}

/* Is one in an arm of a cond and the other in its other arm, so that no turn has both? */
static bool
exclude(const Writes *w, int32_t one, int32_t other)
{
    for (int32_t a = one; a != 0; a = w->arms.at[a - 1].around)
        for (int32_t b = other; b != 0; b = w->arms.at[b - 1].around)
            if (a != b && w->arms.at[a - 1].number == w->arms.at[b - 1].number) return true;
    return false;
}

static bool
is_in(const Writes *w, int32_t arm, int32_t around)
{
    while (arm != 0 && arm != around) arm = w->arms.at[arm - 1].around;
    return arm == around;
}

/* Has a choice what the memory has, where nobody reads the versions that it chooses from?  If the
   arm is taken, then only writes that the arm's version comes from; if not, the other's. */
static bool
choice_agrees(const Turn *t, int32_t arm, uint64_t left, uint64_t other)
{
    for (int i = 0; i < t->nwrites; i++) {
        uint64_t bit = (uint64_t)1 << i;
        int32_t at = fact(t->w, t->write[i])->arm;
        if ((left & bit) && !(other & bit) && !is_in(t->w, at, arm)) return false;
        if ((other & bit) && !(left & bit) && !exclude(t->w, at, arm)) return false;
    }
    return true;
}

/* Notes the choice if it makes a version.  False: nothing is known of it. */
static bool
note_choice(const Turn *t, NodeId id)
{
    const Writes *w = t->w;
    NodeId other = graph_node(w->g, id)->args[2], join;
    int at;
    if (!is_version(t, storage_of(w, other))) return true;
    NodeId left = left_version(w, id, &join, &at);
    if (left == NO_NODE || !is_version(t, left) || storage_of(w, other) != other) return false;
    int32_t arm = fact(w, graph_node(w->g, join)->args[at])->arm;
    if (!choice_agrees(t, arm, fact(w, left)->made_by, fact(w, other)->made_by)) return false;
    fact(w, id)->began = t->began;
    fact(w, id)->made_by = fact(w, left)->made_by | fact(w, other)->made_by;
    return true;
}

/* Notes the node if it makes a version.  False: nothing is known of it. */
static bool
note_version(Turn *t, NodeId id)
{
    const Writes *w = t->w;
    const Node *node = graph_node(w->g, id);
    if (node->op == OP_choose) return note_choice(t, id);
    if (node->op != OP_scatter) return true;
    NodeId before = storage_of(w, node->args[0]);
    if (!is_version(t, before)) return true;
    if (t->nwrites == MOST_WRITES || fact(w, id)->loop != t->enter) return false;
    fact(w, id)->began = t->began;
    fact(w, id)->made_by = fact(w, before)->made_by | (uint64_t)1 << t->nwrites;
    t->write[t->nwrites++] = id;
    return true;
}

/* Has the memory the version where the node reads it? */
static bool
finds_version(const Turn *t, NodeId id, NodeId version)
{
    const Writes *w = t->w;
    for (int i = 0; i < t->nwrites; i++) {
        const Fact *write = fact(w, t->write[i]);
        bool before = write->order < fact(w, id)->order;
        bool known = (fact(w, version)->made_by >> i & 1) != 0;
        if (before && !known && !exclude(w, write->arm, fact(w, id)->arm)) return false;
    }
    return true;
}

/* Is the version read in the turn alone, and where the memory has it?  Not by a repeat or loop in
   the turn, which may write it. */
static bool
is_found(const Turn *t, NodeId version)
{
    const Writes *w = t->w;
    int32_t at = -1;
    NodeId id;
    if (fact(w, version)->noutputs > 0 || fact(w, version)->committed) return false;
    while (next_read(w, version, &at, &id)) {
        Op op = graph_node(w->g, id)->op;
        if (fact(w, id)->order <= t->first || fact(w, id)->order > t->end) return false;
        if (op == OP_choose && is_version(t, id)) continue;
        if (op == OP_choose || op == OP_loop || op == OP_enter) return false;
        if (!finds_version(t, id, version)) return false;
    }
    return true;
}

int
turn_stays(Writes *w, NodeId enter, NodeId began)
{
    const Region *top = &w->g->regions.at[0];
    Turn t = {.w = w, .enter = enter, .began = began, .first = fact(w, enter)->order};
    fact(w, began)->began = began;
    for (t.end = t.first; t.end == t.first || fact(w, top->nodes.at[t.end - 1])->ends != enter;)
        if (!note_version(&t, top->nodes.at[t.end++])) return 0;
    for (int i = t.first; i < t.end; i++)
        if (is_version(&t, top->nodes.at[i]) && !is_found(&t, top->nodes.at[i])) return 0;
    for (int i = t.first; i < t.end; i++) {
        NodeId id = top->nodes.at[i];
        if (!is_version(&t, id) || id == began) continue;
        fact(w, id)->turned = true;
        fact(w, id)->root = fact(w, began)->root;
        if (graph_node(w->g, id)->op == OP_choose && make_same(w, id, began) < 0) return -1;
    }
    return 0;
}
