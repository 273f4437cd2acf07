/* Where writes go: in place, into a copy that is made before them, or into the input at commit.
   Afterwards each scatter and each loop says which (`Write`), and values that would be read too
   late have been copied.

   Arrays that a kept loop writes are written in place. Fresh ones and inputs that nobody else reads
   later are written themselves, inputs with a log of their old elements so that a later failure can
   restore them; of others a copy is written.  An input of which a scatter writes a small part is
   written itself, too, when that part has been saved.

   A version of an input is written over an earlier one where that one is no longer needed and
   differs from the input only in what is written: a time loop then has two versions that take
   turns, and where it reads the older one only at the element that it writes, one.

   A copy of a large array has only the elements that the scatter does not write.  They are copied
   before the operations that compute the value, so that these can store into the copy.

   Each write asks which nodes read a storage, and where, so this is found once and kept up to date
   as nodes are inserted and arguments change. Inserted nodes are collected and put into the top
   region at the end. Every node that has a place must be live, so the pass runs after dce. */
#include "writes.h"

/* Copies of smaller arrays are whole: copies of parts would take kernels of their own. */
enum { PARTS_BYTES = 64 * 1024 };

/* ---- which nodes read what, and where ---- */

static bool
is_view(const Graph *g, NodeId id)
{
    return op_info(graph_node(g, id)->op)->kind == KIND_VIEW;
}

/* Adds facts for the nodes that have none yet. */
static int
facts_room(Writes *w)
{
    for (NodeId id = w->facts.len; id < w->g->nodes.len; id++) {
        Fact alone = {.root = id,
                      .first_result = NO_NODE,
                      .next_result = NO_NODE,
                      .copied_by = NO_NODE,
                      .began = NO_NODE};
        if (VEC_PUSH(w->g->arena, &w->facts, alone) < 0) return -1;
    }
    return 0;
}

/* Notes that live node `id` has the argument `value`. */
static int
add_read(Writes *w, NodeId id, NodeId value)
{
    Fact *storage = fact(w, storage_of(w, value));
    storage->nreads++;
    if (is_view(w->g, id)) return 0;
    if (VEC_PUSH(w->g->arena, &w->reads, (Read){id, storage->reads}) < 0) return -1;
    storage->reads = w->reads.len;
    return 0;
}

static int
add_reads(Writes *w, NodeId id)
{
    const Node *node = graph_node(w->g, id);
    for (int k = 0; fact(w, id)->live && k < node->nargs; k++)
        if (add_read(w, id, node->args[k]) < 0) return -1;
    return 0;
}

/* The arm of a cond that each node of the top region is in. */
static int
find_arms(Writes *w)
{
    const Region *top = &w->g->regions.at[0];
    VEC(int32_t) around = {0}; /* per open cond: the arm that it is in */
    VEC(int32_t) loops = {0};  /* per open repeat: the one around it */
    VEC(int32_t) opened = {0}; /* per open cond or repeat: its number */
    int32_t arm = 0, loop = 0, number = 0;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        Op op = graph_node(w->g, id)->op;
        if (op == OP_otherwise) arm = around.at[around.len - 1];
        if (op == OP_join || op == OP_again) arm = around.at[--around.len], opened.len--;
        if (op == OP_again) fact(w, id)->ends = loop;
        if (op == OP_again) loop = loops.at[--loops.len];
        fact(w, id)->arm = arm;
        fact(w, id)->loop = loop;
        bool enters = op == OP_enter;
        if ((op == OP_branch || enters) && VEC_PUSH(w->g->arena, &around, arm) < 0) return -1;
        if (enters && VEC_PUSH(w->g->arena, &loops, loop) < 0) return -1;
        if ((op == OP_branch || enters) && VEC_PUSH(w->g->arena, &opened, ++number) < 0) return -1;
        if (enters) loop = id;
        if (op != OP_branch && op != OP_otherwise && op != OP_stay) continue;
        Arm made = {.around = around.at[around.len - 1], .number = opened.at[opened.len - 1]};
        if (VEC_PUSH(w->g->arena, &w->arms, made) < 0) return -1;
        arm = w->arms.len;
    }
    return 0;
}

static void
mark_within(Writes *w, RegionId number, int32_t place)
{
    const Region *region = &w->g->regions.at[number];
    for (int i = 0; i < region->nodes.len; i++) {
        const Node *node = graph_node(w->g, region->nodes.at[i]);
        fact(w, region->nodes.at[i])->within = place;
        for (int r = 0; r < 2; r++)
            if (node->region[r] != NO_REGION) mark_within(w, node->region[r], place);
    }
}

static int
find_reads(Writes *w)
{
    const Graph *g = w->g;
    const Region *top = &g->regions.at[0];
    for (int r = 0; r < g->regions.len; r++)
        for (int i = 0; i < g->regions.at[r].nodes.len; i++)
            fact(w, g->regions.at[r].nodes.at[i])->live = true;
    for (int i = 0; i < top->nodes.len; i++) {
        const Node *node = graph_node(g, top->nodes.at[i]);
        fact(w, top->nodes.at[i])->order = i + 1;
        for (int r = 0; r < 2; r++)
            if (node->region[r] != NO_REGION) mark_within(w, node->region[r], i + 1);
    }
    for (NodeId id = 0; id < g->nodes.len; id++)
        if (fact(w, id)->order == 0 && add_reads(w, id) < 0) return -1;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (add_reads(w, id) < 0) return -1;
    }
    for (int i = 0; i < g->outputs.len; i++) {
        const Node *node = graph_node(g, g->outputs.at[i].node);
        fact(w, node->storage)->noutputs++;
        if (node->op == OP_commit) fact(w, storage_of(w, node->args[1]))->committed = true;
    }
    return 0;
}

static void
find_results(Writes *w)
{
    for (NodeId id = w->facts.len; id-- > 0;) {
        const Node *node = graph_node(w->g, id);
        if (!fact(w, id)->live || node->op != OP_result) continue;
        fact(w, id)->next_result = fact(w, node->args[0])->first_result;
        fact(w, node->args[0])->first_result = id;
    }
}

static int
find_virtuals(Writes *w)
{
    bool *live = arena_alloc(w->g->arena, (size_t)w->facts.len);
    for (int i = 0; live != NULL && i < w->facts.len; i++) live[i] = w->facts.at[i].live;
    return live == NULL ? -1 : virtuals_find(&w->virtuals, w->g, live);
}

/* Iterates over the nodes other than views that read the storage; a node with two such arguments
   comes twice. *at is -1 at first. False: no more. */
bool
next_read(const Writes *w, NodeId storage, int32_t *at, NodeId *id)
{
    for (int32_t i = *at < 0 ? fact(w, storage)->reads : *at; i != 0; i = w->reads.at[i - 1].next) {
        const Node *node = graph_node(w->g, w->reads.at[i - 1].node);
        bool still = false;
        for (int k = 0; k < node->nargs; k++) still |= storage_of(w, node->args[k]) == storage;
        if (!still) continue;
        *id = w->reads.at[i - 1].node;
        *at = w->reads.at[i - 1].next;
        return true;
    }
    return false;
}

int
replace_argument(Writes *w, NodeId id, int k, NodeId value)
{
    Node *node = graph_node(w->g, id);
    NodeId *args = arena_copy(w->g->arena, node->args, sizeof(NodeId) * (size_t)node->nargs);
    if (args == NULL) return -1;
    fact(w, storage_of(w, args[k]))->nreads--;
    args[k] = value;
    node->args = args;
    return add_read(w, id, value);
}

NodeId
result_of(const Writes *w, NodeId of, int index)
{
    NodeId id = fact(w, of)->first_result;
    while (id != NO_NODE && graph_node(w->g, id)->attrs.index != index)
        id = fact(w, id)->next_result;
    return id;
}

/* ---- insertion ---- */

static int
put_before(Writes *w, NodeId before, NodeId id)
{
    int32_t number = w->inserted.len + 1;
    if (VEC_PUSH(w->g->arena, &w->inserted, (Inserted){.node = id, .last = number}) < 0) return -1;
    int32_t first = fact(w, before)->inserted;
    if (first == 0) {
        fact(w, before)->inserted = number;
        return 0;
    }
    w->inserted.at[w->inserted.at[first - 1].last - 1].next = number;
    w->inserted.at[first - 1].last = number;
    return 0;
}

/* A new node before `before`, which is in the top region; NO_NODE with the error set. */
static NodeId
insert_before(Writes *w, NodeId before, Op op, int nargs, const NodeId *args, const Type *type,
              const Attrs *attrs)
{
    NodeId id = graph_make(w->g, op, nargs, args, type, attrs);
    if (id == NO_NODE || facts_room(w) < 0) return NO_NODE;
    fact(w, id)->live = true;
    fact(w, id)->order = fact(w, before)->order;
    fact(w, id)->arm = fact(w, before)->arm;
    return put_before(w, before, id) < 0 || add_reads(w, id) < 0 ? NO_NODE : id;
}

/* Inputs come first: capture puts each where it is first used, perhaps between the operations that
   compute a value, and what is made of it could not be put before these. */
static int
place_inputs(const Writes *w)
{
    Region *top = &w->g->regions.at[0];
    NodeId *others = arena_alloc(w->g->arena, sizeof(NodeId) * ((size_t)top->nodes.len + 1));
    int inputs = 0, rest = 0;
    if (others == NULL) return -1;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        if (op_info(graph_node(w->g, id)->op)->kind == KIND_INPUT)
            top->nodes.at[inputs++] = id;
        else
            others[rest++] = id;
    }
    if (rest > 0) memcpy(&top->nodes.at[inputs], others, sizeof(NodeId) * (size_t)rest);
    return 0;
}

/* Puts the inserted nodes into the top region. */
static int
place_inserted(Writes *w)
{
    Region *top = &w->g->regions.at[0];
    VEC(NodeId) order = {0};
    if (w->inserted.len == 0) return 0;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        for (int32_t k = fact(w, id)->inserted; k != 0; k = w->inserted.at[k - 1].next)
            if (VEC_PUSH(w->g->arena, &order, w->inserted.at[k - 1].node) < 0) return -1;
        if (VEC_PUSH(w->g->arena, &order, id) < 0) return -1;
    }
    top->nodes.at = order.at;
    top->nodes.len = order.len;
    top->nodes.cap = order.cap;
    return 0;
}

/* ---- facts ---- */

/* An array that a library function returned, perhaps a view of memory that the program can see:
   writes go to that array itself. The run checks that it shares no memory with the call's
   arguments (runtime/plan_extern.c). */
static bool
is_library(const Writes *w, NodeId storage)
{
    const Node *node = graph_node(w->g, storage);
    if (node->op == OP_result) node = graph_node(w->g, node->args[0]);
    return node->op == OP_extern && node->type.form == FORM_ARRAY;
}

/* The `enter` or `again` of which the storage is a result, or NULL. */
static const Node *
carried_by(const Writes *w, NodeId storage)
{
    const Node *node = graph_node(w->g, storage);
    if (node->op != OP_result) return NULL;
    const Node *mark = graph_node(w->g, node->args[0]);
    return mark->op == OP_enter || mark->op == OP_again ? mark : NULL;
}

/* A version of memory of the plan's that turns of a repeat write. */
static bool
is_turned(const Writes *w, NodeId storage)
{
    const Node *mark = carried_by(w, storage);
    return mark != NULL && graph_node(w->g, storage)->attrs.index >= node_versions_from(mark);
}

bool
version_is_turned(const Writes *w, NodeId storage)
{
    for (;;) {
        const Node *node = graph_node(w->g, storage);
        if (node->op == OP_scatter)
            storage = storage_of(w, node->args[0]);
        else if (choice_is_same(w, storage))
            storage = storage_of(w, node->args[2]);
        else
            return is_turned(w, storage);
    }
}

/* Was it carried by a repeat as an object?  Then it may be memory of the program's, which also
   others have. */
static bool
is_carried(const Writes *w, NodeId storage)
{
    return carried_by(w, storage) != NULL && !is_turned(w, storage);
}

/* Is the storage read after node `after`, by nodes, those in loops further on among them, outputs
   or a commit, perhaps as what a choice has chosen? */
static bool
used_after(const Writes *w, NodeId storage, NodeId after)
{
    int32_t at = -1, place = fact(w, after)->order;
    NodeId id;
    const Fact *of = fact(w, storage);
    if (of->committed || of->noutputs > 0) return true;
    if (is_carried(w, storage) || of->loop != fact(w, after)->loop) return true; /* the next turn */
    while (next_read(w, storage, &at, &id)) {
        if (choice_is_same(w, id)) continue; /* it reads what is written */
        int32_t at_top = fact(w, id)->order, around = fact(w, id)->within;
        if (at_top > 0 ? at_top > place : around == 0 || around > place) return true;
        if (graph_node(w->g, id)->op == OP_choose && used_after(w, id, after)) return true;
    }
    return false;
}

/* Is the version read, apart from the one output that commits it? */
static bool
read_by_nodes(const Writes *w, NodeId storage)
{
    return fact(w, storage)->nreads > 0 || fact(w, storage)->noutputs > 1;
}

/* Is a new version of the storage written after node `after`? */
static bool
written_after(const Writes *w, NodeId storage, NodeId after)
{
    int32_t at = -1;
    NodeId id;
    while (next_read(w, storage, &at, &id)) {
        const Node *node = graph_node(w->g, id);
        if (fact(w, id)->order > fact(w, after)->order && node->op == OP_scatter &&
            storage_of(w, node->args[0]) == storage)
            return true;
    }
    return false;
}

/* Is the storage read in a region or in an arm, so not exactly once? */
static bool
read_in_regions(const Writes *w, NodeId storage)
{
    const Graph *g = w->g;
    for (int r = 1; r < g->regions.len; r++)
        for (int i = 0; i < g->regions.at[r].results.len; i++)
            if (storage_of(w, g->regions.at[r].results.at[i]) == storage) return true;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Fact *at = fact(w, id);
        if (!at->live || (at->order > 0 && at->arm == 0)) continue;
        const Node *node = graph_node(g, id);
        for (int k = 0; k < node->nargs; k++)
            if (storage_of(w, node->args[k]) == storage) return true;
    }
    return false;
}

/* ---- scatters ---- */

/* A copy before node `before` that must be in memory. */
static NodeId
kept_copy(Writes *w, NodeId before, NodeId of, const Type *type)
{
    return insert_before(w, before, OP_copy, 1, &of, type, &(Attrs){.index = COPY_KEPT});
}

/* Gives the value that the scatter writes memory of its own. */
static NodeId
copy_value(Writes *w, NodeId scatter)
{
    NodeId value = graph_node(w->g, scatter)->args[1];
    Type from = graph_node(w->g, value)->type, type;
    if (type_like(w->g, &type, (DType)from.dtype, &from) < 0) return NO_NODE;
    type.form = from.form;
    NodeId copy = kept_copy(w, scatter, value, &type);
    return copy == NO_NODE || replace_argument(w, scatter, 1, copy) < 0 ? NO_NODE : copy;
}

/* Makes argument `k` of the node the copy, or the same view of it. */
static int
read_copy(Writes *w, NodeId id, int k, NodeId copy)
{
    NodeId arg = graph_node(w->g, id)->args[k], instead = copy;
    if (is_view(w->g, arg)) {
        Type type = graph_node(w->g, arg)->type;
        instead = insert_before(w, id, OP_as_strided, 1, &copy, &type, NULL);
    }
    return instead == NO_NODE ? -1 : replace_argument(w, id, k, instead);
}

/* Makes the nodes behind the scatter that read the old version (passes may move reads there) read a
   copy from before it. The library's array itself must be written, since it may be a view of other
   memory, which a copy would not be. ANSWER_NO: not all reads are by such nodes. */
static Answer
detach_readers(Writes *w, NodeId storage, NodeId scatter)
{
    Graph *g = w->g;
    if (fact(w, storage)->committed || fact(w, storage)->noutputs > 0 ||
        read_in_regions(w, storage))
        return ANSWER_NO;
    VEC(NodeId) readers = {0};
    int32_t at = -1;
    NodeId id;
    while (next_read(w, storage, &at, &id))
        if (fact(w, id)->order > fact(w, scatter)->order && VEC_PUSH(g->arena, &readers, id) < 0)
            return ANSWER_ERROR;
    Type type = graph_node(g, storage)->type;
    type.form = FORM_ARRAY;
    NodeId copy = kept_copy(w, scatter, storage, &type);
    if (copy == NO_NODE) return ANSWER_ERROR;
    for (int i = readers.len; i-- > 0;) /* next_read finds the newest first */
        for (int k = 0; k < graph_node(g, readers.at[i])->nargs; k++)
            if (storage_of(w, graph_node(g, readers.at[i])->args[k]) == storage &&
                read_copy(w, readers.at[i], k, copy) < 0)
                return ANSWER_ERROR;
    return ANSWER_YES;
}

/* Can the value be written into the input's memory at commit? Yes if no node reads the new
   version. */
static bool
goes_at_commit(const Writes *w, NodeId id)
{
    const Node *node = graph_node(w->g, id), *value = graph_node(w->g, node->args[1]);
    const Node *old = graph_node(w->g, storage_of(w, node->args[0]));
    return op_info(old->op)->kind == KIND_INPUT && !read_by_nodes(w, id) &&
           value->type.dtype == old->type.dtype && fact(w, id)->noutputs > 0;
}

/* Readers of parts of the old version that come behind the scatter, in the same arm, read copies of
   these parts instead.  ANSWER_NO: there are other readers than choices that may be in its memory.
 */
static Answer
detach_parts(Writes *w, NodeId old, NodeId scatter)
{
    Graph *g = w->g;
    VEC(NodeId) readers = {0};
    int32_t at = -1;
    NodeId id;
    if (fact(w, old)->committed || fact(w, old)->noutputs > 0) return ANSWER_NO;
    while (next_read(w, old, &at, &id)) {
        const Node *node = graph_node(g, id);
        if (fact(w, id)->order == 0) return ANSWER_NO;
        if (fact(w, id)->order <= fact(w, scatter)->order) continue;
        if (choice_stays(w, id, scatter, old)) continue;
        OpKind kind = op_info(node->op)->kind;
        bool any_layout = kind == KIND_COPY || kind == KIND_SCATTER ||
                          (kind == KIND_POINTWISE && node_way(g, node) == WAY_EXPRESSION);
        if (fact(w, id)->arm != fact(w, scatter)->arm || !any_layout) return ANSWER_NO;
        for (int k = 0; k < node->nargs; k++)
            if (node->args[k] == old) return ANSWER_NO;
        if (VEC_PUSH(g->arena, &readers, id) < 0) return ANSWER_ERROR;
    }
    for (int i = 0; i < readers.len; i++)
        for (int k = 0; k < graph_node(g, readers.at[i])->nargs; k++) {
            NodeId part = graph_node(g, readers.at[i])->args[k];
            Type from = graph_node(g, part)->type, type;
            if (storage_of(w, part) != old) continue;
            if (fact(w, part)->order > fact(w, scatter)->order) {
                if (!type_is_known(g, &from) || !size_is_const(g, from.offset)) return ANSWER_NO;
                part = insert_before(w, scatter, OP_as_strided, 1, &old, &from, NULL);
                if (part == NO_NODE) return ANSWER_ERROR;
            }
            if (type_like(g, &type, (DType)from.dtype, &from) < 0) return ANSWER_ERROR;
            type.form = from.form;
            NodeId copy = kept_copy(w, scatter, part, &type);
            if (copy == NO_NODE || replace_argument(w, readers.at[i], k, copy) < 0)
                return ANSWER_ERROR;
        }
    return ANSWER_YES;
}

/* In an arm of a repeat the scatter may be in the memory that turns write, if nothing else of the
   arm reads the old version: neither what it writes nor what comes later. */
static int
prepare_arm(Writes *w, NodeId id, NodeId old)
{
    if (fact(w, id)->arm == fact(w, old)->arm || !version_is_turned(w, old))
        return arm_stays(w, id);
    if (detach_parts(w, old, id) == ANSWER_ERROR) return -1;
    if (storage_of(w, graph_node(w->g, id)->args[1]) == old && copy_value(w, id) == NO_NODE)
        return -1;
    return arm_stays(w, id);
}

/* May the scatter write the input itself, a small part of which is saved first (lower/writes.c)?  A
   copy of all of it would take longer. */
static bool
writes_saved(const Writes *w, NodeId id, NodeId old)
{
    const Node *input = graph_node(w->g, fact(w, old)->root);
    return w->g->saves && input->op == OP_input && fact(w, id)->arm == 0 &&
           fact(w, id)->loop == 0 &&
           write_is_saved(w->g, &input->type, graph_node(w->g, id)->attrs.view);
}

/* Did a kept loop leave it, in memory that it wrote? */
static bool
is_of_loop(const Writes *w, NodeId storage)
{
    const Node *node = graph_node(w->g, storage);
    return node->op == OP_result && graph_node(w->g, node->args[0])->op == OP_loop;
}

/* Can the memory of the old version be written? Yes if nobody reads it any more. */
static Answer
goes_in_place(Writes *w, NodeId id)
{
    NodeId old = storage_of(w, graph_node(w->g, id)->args[0]);
    NodeId value;
    if (fact(w, id)->turned) {
        NodeId from = storage_of(w, graph_node(w->g, id)->args[1]);
        bool apart = fact(w, from)->root != fact(w, old)->root;
        return apart || copy_value(w, id) != NO_NODE ? ANSWER_YES : ANSWER_ERROR;
    }
    bool library = is_library(w, fact(w, old)->root);
    bool known = choice_is_same(w, old) || is_of_loop(w, old);
    bool own =
        version_is_turned(w, old) || storage_is_fresh(w->g, known ? fact(w, old)->root : old);
    bool saved = writes_saved(w, id, old);
    own = own || saved;
    if (own && fact(w, id)->arm != 0 && prepare_arm(w, id, old) < 0) return ANSWER_ERROR;
    value = graph_node(w->g, id)->args[1];
    bool in_place = (own || library) && !used_after(w, old, id);
    if (!in_place && (saved || version_is_turned(w, old))) {
        Answer detached = detach_parts(w, old, id);
        if (detached == ANSWER_ERROR) return ANSWER_ERROR;
        in_place = detached == ANSWER_YES;
    }
    if (library && !in_place) {
        Answer detached = detach_readers(w, old, id);
        if (detached == ANSWER_ERROR) return ANSWER_ERROR;
        in_place = detached == ANSWER_YES;
    }
    if (in_place && (library || saved) && storage_of(w, value) == old &&
        (value = copy_value(w, id)) == NO_NODE)
        return ANSWER_ERROR;
    in_place = in_place && storage_of(w, value) != old;
    /* With no elements nothing is written, and a copy would have other strides. */
    return in_place || type_elements(w->g, &graph_node(w->g, old)->type) == 0 ? ANSWER_YES
                                                                              : ANSWER_NO;
}

/* The first of the elementwise operations directly before the scatter, back to the node that makes
   `old`: before it, the old version is the same as at the scatter. */
static NodeId
before_value(const Writes *w, NodeId scatter, NodeId old)
{
    const Region *top = &w->g->regions.at[0];
    int at = fact(w, scatter)->order - 1;
    for (; at > 0; at--) {
        NodeId id = top->nodes.at[at - 1];
        OpKind kind = op_info(graph_node(w->g, id)->op)->kind;
        bool passed = kind == KIND_POINTWISE || kind == KIND_UFUNC || kind == KIND_VIEW ||
                      kind == KIND_CONST || kind == KIND_FILL;
        if (!passed || id == old) break;
    }
    return top->nodes.at[at];
}

/* A new array with the elements of `old` that lie in one of the parts. */
static NodeId
copy_parts(Writes *w, NodeId before, NodeId old, const Type *whole, const Type *part, int count)
{
    NodeId made = insert_before(w, before, OP_empty, 0, NULL, whole, NULL);
    for (int i = 0; i < count && made != NO_NODE; i++) {
        Type *place = arena_copy(w->g->arena, &part[i], sizeof(Type));
        NodeId from = insert_before(w, before, OP_as_strided, 1, &old, &part[i], NULL);
        if (place == NULL || from == NO_NODE) return NO_NODE;
        NodeId root = fact(w, made)->root, args[] = {made, from};
        Attrs attrs = {.view = place, .index = WRITE_IN_PLACE};
        made = insert_before(w, before, OP_scatter, 2, args, whole, &attrs);
        if (made != NO_NODE) fact(w, made)->root = root;
    }
    return made;
}

/* A new array, made before the scatter, with the elements of `old` that the scatter does not write.
 */
static NodeId
copy_around(Writes *w, NodeId scatter, NodeId old)
{
    Graph *g = w->g;
    Type whole = graph_node(g, old)->type, part[2 * MAX_RANK];
    const Type *view = graph_node(g, scatter)->attrs.view;
    int count;
    whole.form = FORM_ARRAY;
    if (type_walks_alike(g, view, &whole) && size_same(g, view->offset, whole.offset))
        return insert_before(w, scatter, OP_empty, 0, NULL, &whole, NULL);
    Answer around = ANSWER_NO;
    int64_t elements = type_elements(g, &whole);
    bool large = elements * (int64_t)dtype_size((DType)whole.dtype) >= PARTS_BYTES;
    if (large && type_elements(g, view) >= elements / 2)
        around = versions_around(g, &whole, view, part, &count);
    if (around == ANSWER_ERROR) return NO_NODE;
    if (around == ANSWER_YES)
        return copy_parts(w, before_value(w, scatter, old), old, &whole, part, count);
    return insert_before(w, scatter, OP_copy, 1, &old, &whole, NULL);
}

/* ---- memory of an earlier version ---- */

/* Is the argument read at the element that the elementwise node makes? */
static bool
reads_same(const Writes *w, NodeId id, NodeId arg)
{
    const Node *node = graph_node(w->g, id);
    OpKind kind = op_info(node->op)->kind;
    return (kind == KIND_POINTWISE || kind == KIND_UFUNC) &&
           type_same_shape(&graph_node(w->g, arg)->type, &node->type);
}

/* A value is in the kernel of its arguments if it reads them at the element that it makes, else in
   a later one. */
static void
find_levels(const Writes *w)
{
    const Region *top = &w->g->regions.at[0];
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        const Node *node = graph_node(w->g, id);
        int32_t level = 0;
        for (int k = 0; k < node->nargs; k++) {
            NodeId storage = storage_of(w, node->args[k]);
            OpKind kind = op_info(graph_node(w->g, storage)->op)->kind;
            bool memory = kind == KIND_INPUT || kind == KIND_CONST || kind == KIND_FILL;
            bool same =
                node->op == OP_scatter || (kind != KIND_SCATTER && kind != KIND_REDUCTION &&
                                           storage == node->args[k] && reads_same(w, id, storage));
            level = Py_MAX(level, fact(w, storage)->level + !(memory || same));
        }
        fact(w, id)->level = level;
    }
}

/* Can the scatter's kernel write over the version? It must not read it but at the element that it
   writes, and nobody may read it later. */
static bool
is_replaceable(const Writes *w, NodeId version, NodeId scatter)
{
    const Type *view = graph_node(w->g, version)->attrs.view;
    int32_t at = -1, level = fact(w, storage_of(w, graph_node(w->g, scatter)->args[1]))->level;
    NodeId id;
    if (used_after(w, version, scatter)) return false;
    while (next_read(w, version, &at, &id)) {
        const Node *node = graph_node(w->g, id);
        if (fact(w, id)->order == 0 || fact(w, id)->arm != 0 || node->op == OP_scatter)
            return false;
        if (fact(w, id)->level < level) continue;
        for (int k = 0; k < node->nargs; k++) {
            NodeId arg = node->args[k];
            if (storage_of(w, arg) != version) continue;
            bool same = type_same_place(w->g, &graph_node(w->g, arg)->type, view);
            if (!same || !reads_same(w, id, arg)) return false;
        }
    }
    return true;
}

/* An earlier version, in memory of its own, which differs from the input `old` only where the
   scatter writes, and which nobody needs any more: the scatter writes over it.  NO_NODE: none. */
static NodeId
replaceable(const Writes *w, NodeId scatter, NodeId old)
{
    enum { MOST_TRIED = 4 };
    const Type *view = graph_node(w->g, scatter)->attrs.view;
    NodeId version = fact(w, old)->copied_by;
    if (fact(w, scatter)->arm != 0) return NO_NODE;
    for (int i = 0; i < MOST_TRIED && version != NO_NODE; i++) {
        if (fact(w, version)->arm == 0 &&
            type_same_place(w->g, graph_node(w->g, version)->attrs.view, view) &&
            is_replaceable(w, version, scatter))
            return version;
        version = fact(w, version)->copied_by;
    }
    return NO_NODE;
}

/* Gives the scatter memory for its version: that of an earlier one, or a copy of the old one. */
static int
give_memory(Writes *w, NodeId scatter, NodeId old)
{
    bool input = op_info(graph_node(w->g, old)->op)->kind == KIND_INPUT;
    NodeId memory = input ? replaceable(w, scatter, old) : NO_NODE;
    if (memory == NO_NODE) memory = copy_around(w, scatter, old);
    if (memory == NO_NODE || replace_argument(w, scatter, 0, memory) < 0) return -1;
    if (!input) return 0;
    fact(w, scatter)->copied_by = fact(w, old)->copied_by;
    fact(w, old)->copied_by = scatter;
    return 0;
}

/* Has the scatter's value gone by the time of the commit?  A library's array may have been written,
   and an input on a device, where kernels that copy values at commit run in any order. */
static bool
value_goes(const Writes *w, NodeId scatter)
{
    const Graph *g = w->g;
    NodeId from = storage_of(w, graph_node(g, scatter)->args[1]);
    if (is_library(w, fact(w, from)->root)) return written_after(w, from, scatter);
    if (graph_node(g, from)->type.device == DEVICE_HOST ||
        op_info(graph_node(g, from)->op)->kind != KIND_INPUT)
        return false;
    for (int i = 0; i < g->outputs.len; i++)
        if (g->outputs.at[i].root == from && graph_node(g, g->outputs.at[i].node)->op == OP_scatter)
            return true;
    return false;
}

/* Decides where the scatter writes: at commit, in place, or in place in a copy of the old version
   without what is overwritten. */
static int
prepare_scatter(Writes *w, NodeId id)
{
    Graph *g = w->g;
    if (goes_at_commit(w, id)) {
        if (value_goes(w, id) && copy_value(w, id) == NO_NODE) return -1;
        graph_node(g, id)->attrs.index = WRITE_AT_COMMIT;
        fact(w, storage_of(w, graph_node(g, id)->args[1]))->committed = true;
        return 0;
    }
    NodeId old = storage_of(w, graph_node(g, id)->args[0]);
    Answer in_place = goes_in_place(w, id);
    if (in_place == ANSWER_ERROR) return -1;
    if (in_place == ANSWER_NO) {
        if (give_memory(w, id, old) < 0) return -1;
        old = storage_of(w, graph_node(g, id)->args[0]);
    }
    graph_node(g, id)->attrs.index = WRITE_IN_PLACE;
    fact(w, id)->root = fact(w, old)->root;
    return 0;
}

/* ---- loops ---- */

/* Is the storage read once the loop has begun, by anything but one argument of the loop? A virtual
   node counts, since it reads where it is used, and so does a write at commit that copies it. */
static bool
seen_later(const Writes *w, NodeId storage, NodeId loop)
{
    int32_t at = -1, place = fact(w, loop)->order;
    NodeId id;
    if (fact(w, storage)->noutputs > 0 || fact(w, storage)->committed) return true;
    while (next_read(w, storage, &at, &id)) {
        if (id != loop) {
            int32_t at_top = fact(w, id)->order, around = fact(w, id)->within;
            bool later = at_top > 0 ? at_top > place : around == 0 || around >= place;
            if (later || (id < w->virtuals.count && node_is_virtual(&w->virtuals, id))) return true;
            continue;
        }
        int uses = 0;
        for (int k = 0; k < graph_node(w->g, id)->nargs; k++)
            uses += storage_of(w, graph_node(w->g, id)->args[k]) == storage;
        if (uses > 1) return true;
    }
    return false;
}

/* Makes the loop's array argument one that it may write in place. ANSWER_NO: it would have to be
   copied, and a copy cannot have its layout (type_is_copyable). */
static Answer
prepare_array(Writes *w, NodeId loop, int arg)
{
    Graph *g = w->g;
    NodeId old = graph_node(g, loop)->args[arg];
    NodeId storage = storage_of(w, old), root = fact(w, storage)->root;
    OpKind kind = op_info(graph_node(g, root)->op)->kind;
    bool memory = kind == KIND_INPUT || storage_is_fresh(g, root);
    if (!memory || old != storage || seen_later(w, storage, loop)) {
        Type type = graph_node(g, old)->type;
        if (!type_is_copyable(g, &type)) return ANSWER_NO;
        type.form = FORM_ARRAY;
        root = insert_before(w, loop, OP_copy, 1, &old, &type, NULL);
        if (root == NO_NODE || replace_argument(w, loop, arg, root) < 0) return ANSWER_ERROR;
    }
    NodeId result = result_of(w, loop, arg - 3);
    if (result != NO_NODE) fact(w, result)->root = root;
    return ANSWER_YES;
}

static int
prepare_loop(Writes *w, NodeId loop)
{
    Answer answer = ANSWER_YES;
    for (int k = 3; k < graph_node(w->g, loop)->nargs && answer == ANSWER_YES; k++)
        if (graph_node(w->g, graph_node(w->g, loop)->args[k])->type.form == FORM_ARRAY)
            answer = prepare_array(w, loop, k);
    graph_node(w->g, loop)->attrs.index = answer == ANSWER_YES ? WRITE_IN_PLACE : WRITE_IMPOSSIBLE;
    return answer == ANSWER_ERROR ? -1 : 0;
}

/* ---- repeats ---- */

/* May turns write the input itself, whose elements are saved before the loop (lower/repeat.c)?  Not
   where code of others runs in a turn, or a kept loop that logs what it writes each time. */
static bool
turns_write_input(const Writes *w, NodeId enter, NodeId storage)
{
    const Graph *g = w->g;
    const Region *top = &g->regions.at[0];
    const Node *input = graph_node(g, storage);
    bool known = op_info(input->op)->kind == KIND_INPUT && input->type.device == DEVICE_HOST &&
                 input->type.rank <= SAVED_AXES;
    if (!g->saves || !known || fact(w, enter)->arm != 0 || fact(w, enter)->loop != 0) return false;
    for (int i = fact(w, enter)->order; fact(w, top->nodes.at[i])->ends != enter; i++) {
        const Node *node = graph_node(g, top->nodes.at[i]);
        if (op_info(node->op)->kind == KIND_EXTERN) return false;
        for (int k = 3; node->op == OP_loop && k < node->nargs; k++)
            if (graph_node(g, node->args[k])->type.form == FORM_ARRAY) return false;
    }
    return true;
}

/* The memory that turns write is the plan's own or an input's, and nobody else reads it from then
   on. */
static int
prepare_enter(Writes *w, NodeId enter)
{
    Graph *g = w->g;
    for (int k = node_versions_from(graph_node(g, enter)); k < graph_node(g, enter)->nargs; k++) {
        NodeId old = graph_node(g, enter)->args[k], storage = storage_of(w, old);
        NodeId root = fact(w, storage)->root;
        bool own = storage_is_fresh(g, root) || version_is_turned(w, storage) ||
                   turns_write_input(w, enter, storage);
        bool inside = fact(w, storage)->loop == fact(w, enter)->loop;
        if (!own || !inside || old != storage || seen_later(w, storage, enter)) {
            Type type = graph_node(g, old)->type;
            type.form = FORM_ARRAY;
            root = insert_before(w, enter, OP_copy, 1, &old, &type, &(Attrs){.index = COPY_KEPT});
            if (root == NO_NODE || replace_argument(w, enter, k, root) < 0) return -1;
        }
        NodeId result = result_of(w, enter, k);
        if (result == NO_NODE) continue;
        fact(w, result)->root = root;
        if (turn_stays(w, enter, result) < 0) return -1;
    }
    return 0;
}

/* What a turn leaves is in the memory that it began with: a version that went elsewhere is copied
   there. */
static int
prepare_again(Writes *w, NodeId again)
{
    Graph *g = w->g;
    NodeId enter = fact(w, again)->ends;
    for (int k = node_versions_from(graph_node(g, again)); k + 1 < graph_node(g, again)->nargs;
         k++) {
        NodeId left = graph_node(g, again)->args[1 + k], began = result_of(w, enter, k);
        NodeId result = result_of(w, again, k);
        if (began == NO_NODE) continue;
        if (fact(w, storage_of(w, left))->root != fact(w, began)->root) {
            Type whole = graph_node(g, began)->type;
            Type *view = arena_copy(g->arena, &whole, sizeof whole);
            NodeId args[2] = {began, left};
            Attrs attrs = {.view = view, .index = WRITE_IN_PLACE};
            if (view == NULL) return -1;
            view->offset = size_const(g, 0);
            left = insert_before(w, again, OP_scatter, 2, args, &whole, &attrs);
            if (left == NO_NODE || replace_argument(w, again, 1 + k, left) < 0) return -1;
            fact(w, left)->root = fact(w, began)->root;
        }
        if (result != NO_NODE) fact(w, result)->root = fact(w, began)->root;
    }
    return 0;
}

int
pass_writes(Graph *g)
{
    Writes w = {.g = g};
    if (place_inputs(&w) < 0 || facts_room(&w) < 0 || find_reads(&w) < 0 || find_arms(&w) < 0 ||
        find_virtuals(&w) < 0)
        return -1;
    find_results(&w);
    find_levels(&w);
    for (int i = 0; i < g->regions.at[0].nodes.len; i++) {
        NodeId id = g->regions.at[0].nodes.at[i];
        Op op = graph_node(g, id)->op;
        if (op == OP_scatter && prepare_scatter(&w, id) < 0) return -1;
        if (op == OP_loop && prepare_loop(&w, id) < 0) return -1;
        if (op == OP_enter && prepare_enter(&w, id) < 0) return -1;
        if (op == OP_again && prepare_again(&w, id) < 0) return -1;
        if (op == OP_join && arm_results(&w, id) < 0) return -1;
    }
    return place_inserted(&w) < 0 ? -1 : pass_dce(g);
}
