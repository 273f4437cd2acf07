/* Arrays from before a branch that its arms write.

   In the graph a write makes a new version of its memory, so behind the branch there is a choice
   between the version that the arm leaves, if it was taken, and the one from before:

       cond(test) { %5 = scatter(%1, …) }
       %8 = choose(test, result of the cond, %1, version=1)

   Nothing is copied where the arm was not taken, and where nobody reads %8 there is no %8.

   At commit what the arm wrote is written, and nothing else, and only if the arm was taken: other
   threads could tell.  (A loop whose turns write is written back as it leaves the array: repeat.c.)
   InterpMemory.writes lists all writes in program order; those of an arm get their condition here,
   and the values that they store become results of the cond. */
#include "merge.h"

/* ---- which arrays ---- */

bool
storage_is_mergeable(const Interp *in, const Storage *storage)
{
    const Graph *g = in->graph;
    const Node *root = graph_node(g, storage->root);
    if (in->loop != NULL || (in->turn != NULL && in->turn->region == 0)) return false;
    if (root->type.device != DEVICE_HOST || type_is_measured(in, &root->type)) return false;
    switch (op_info(root->op)->kind) {
    case KIND_CONST:
    case KIND_EXTERN: /* it may be memory that others have, of which a copy would not do */
    case KIND_CHOICE: return false;
    case KIND_RESULT: return graph_node(g, root->args[0])->op == OP_cond;
    default: return true;
    }
}

/* ---- what the arms stored ---- */

/* A number that is the same wherever it is computed: a constant, or one that is cast. */
static Answer
constant_outside(Merge *m, NodeId id, NodeId *out)
{
    Graph *g = m->in->graph;
    const Node *node = graph_node(g, id);
    Type type = node->type;
    if (type.rank > 0 || type.form == FORM_ARRAY) return ANSWER_NO;
    if (node->op == OP_const) {
        *out = graph_const(g, m->outer, node->attrs.object, &type);
        return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
    }
    if (node->op != OP_cast) return ANSWER_NO;
    TRY(constant_outside(m, node->args[0], out));
    *out = graph_add(g, m->outer, OP_cast, 1, out, &type, NULL);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* The value that arm `which` stored, for the rest of the graph. */
static Answer
stored_leaves(Merge *m, int which, Value *stored, Value **out)
{
    Interp *in = m->in;
    NodeId node = stored->node, nodes[2], constant;
    Type from = graph_node(in->graph, node)->type, type = from;
    *out = stored;
    if (merge_is_outer(m, stored)) return ANSWER_YES;
    Answer answer = constant_outside(m, node, &constant);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_YES)
        return (*out = value_node(in, constant)) == NULL ? ANSWER_ERROR : ANSWER_YES;
    if (from.form == FORM_ARRAY) {
        if (type_like(in->graph, &type, (DType)from.dtype, &from) < 0) return ANSWER_ERROR;
        type.form = FORM_ARRAY;
        TRY_NODE(nodes[which], graph_add(in->graph, m->arm[which], OP_copy, 1, &node, &type,
                                         &(Attrs){.index = COPY_LEFT}));
        TRY_NODE(nodes[1 - which],
                 graph_add(in->graph, m->arm[1 - which], OP_empty, 0, NULL, &type, NULL));
    } else {
        Value *zero = choice_zero(in, &type);
        if (zero == NULL) return ANSWER_ERROR;
        nodes[which] = node;
        TRY(merge_node(m, m->arm[1 - which], zero, &nodes[1 - which]));
        if (!type_same_layout(&type, &graph_node(in->graph, nodes[1 - which])->type))
            return ANSWER_NO;
    }
    return merge_result(m, nodes, out);
}

/* ---- the versions ---- */

/* The memory as arm `which` leaves it. */
static Answer
version_leaves(Merge *m, int which, NodeId version, Value **out)
{
    Graph *g = m->in->graph;
    Type type = graph_node(g, version)->type;
    NodeId nodes[2];
    nodes[which] = version;
    TRY_NODE(nodes[1 - which], graph_add(g, m->arm[1 - which], OP_empty, 0, NULL, &type, NULL));
    return merge_result(m, nodes, out);
}

/* ---- one storage in one arm ---- */

enum { MOST_WRITES = 8 }; /* that are done one by one at commit */

static NodeId
version_before(const World *before, const Storage *storage, int number)
{
    return number < before->nstorages ? before->storages[number].version : storage->root;
}

/* Adds what the arm stored to the writes of the rest.  *only: the value, where it alone is all that
   the version holds; else NULL.  ANSWER_NO: there are too many, or a loop wrote. */
static Answer
leave_writes(Merge *m, int which, const World *arm, int number, Value *when, Value **only)
{
    Interp *in = m->in;
    int count = 0;
    *only = NULL;
    for (int i = 0; i < arm->nwrites; i++) {
        if (arm->writes[i].storage != number) continue;
        bool whole = arm->writes[i].value == NULL && arm->writes[i].key == NULL;
        if (++count > MOST_WRITES || whole) return ANSWER_NO;
    }
    for (int i = 0; i < arm->nwrites; i++) {
        ArrayWrite write = arm->writes[i];
        if (write.storage != number) continue;
        const Value *stored = write.value;
        if (write.key != NULL) {
            TRY(arm_leaves(m, which, write.key, &write.key));
            TRY(stored_leaves(m, which, write.stored, &write.stored));
            write.value = NULL; /* of the arm's memory */
        } else
            TRY(stored_leaves(m, which, write.value, &write.value));
        TRY(arm_condition(m, which, when, write.when, &write.when));
        if (VEC_PUSH(in->arena, &in->memory.writes, write) < 0) return ANSWER_ERROR;
        if (write.key != NULL) continue;
        const Type *whole = &graph_node(in->graph, in->memory.storages.at[number].root)->type;
        Type made = graph_node(in->graph, stored->node)->type;
        if (type_like(in->graph, &made, (DType)made.dtype, &made) < 0) return ANSWER_ERROR;
        bool fresh = write.value->node == NO_NODE && made.form == FORM_ARRAY;
        if (count == 1 && arm->writes[i].when == NULL && fresh &&
            type_same_place(in->graph, &write.place, whole) && type_same_layout(&made, whole))
            *only = write.value;
    }
    return ANSWER_YES;
}

static Answer
merge_storage(Merge *m, int which, const World *arm, int number, Value *when)
{
    Interp *in = m->in;
    const Storage *storage = &arm->storages[number];
    Type whole = graph_node(in->graph, storage->root)->type;
    Value *left = NULL;
    /* a turn leaves versions, and nothing is written at commit but the last one */
    Answer listed = in->turn != NULL ? ANSWER_NO : leave_writes(m, which, arm, number, when, &left);
    if (answer_stops(listed)) return listed;
    if (left == NULL) TRY(version_leaves(m, which, storage->version, &left));
    ArrayWrite all = {.storage = number, .value = left, .place = whole, .when = when};
    if (listed == ANSWER_NO && VEC_PUSH(in->arena, &in->memory.writes, all) < 0)
        return ANSWER_ERROR;
    Waiting waiting = {.op = OP_scatter, .index = number, .args = {when, left}, .type = whole};
    waiting.type.offset = NO_SIZE;
    return VEC_PUSH(in->arena, &m->waiting, waiting) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
merge_writes(Merge *m, const World *before, const World arms[2])
{
    Interp *in = m->in;
    for (int which = 0; which < 2; which++) {
        Value *when = m->test;
        for (int i = 0; i < arms[which].nstorages; i++) {
            const Storage *storage = &arms[which].storages[i];
            if (!world_is_older(in, before, storage) ||
                storage->version == version_before(before, storage, i))
                continue;
            if (which == 1 && when == m->test)
                when = scalar_emit(in, OP_logical_not, DT_BOOL, 1, &m->test, NULL);
            if (when == NULL) return ANSWER_ERROR;
            TRY(merge_storage(m, which, &arms[which], i, when));
        }
    }
    return ANSWER_YES;
}

Answer
writes_meet(Merge *m, const Waiting *w)
{
    Interp *in = m->in;
    NodeId args[3] = {NO_NODE, w->args[1]->node, in->memory.storages.at[w->index].version};
    TRY(value_as_node(in, w->args[0], &args[0]));
    Attrs attrs = {.index = CHOICE_VERSION};
    NodeId node = graph_add(in->graph, m->outer, OP_choose, 3, args, &w->type, &attrs);
    return node == NO_NODE || storage_becomes(in, w->index, node) < 0 ? ANSWER_ERROR : ANSWER_YES;
}
