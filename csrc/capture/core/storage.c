/* Which version of its memory an array reads.
   Graph nodes never write: a write makes a new version of a storage.  An array of the program keeps
   the node that it was made as; its contents after a write are the same view (shape, strides,
   offset) of the storage's last version.
   Invariant: Interp.versions lists every node that is or was the version of a recorded storage, the
   root included; a node's own `storage` is always one of these or an unwritten producer. */
#include "core.h"

int
storage_find(const Interp *in, NodeId holder)
{
    for (int i = in->memory.versions.len - 1; i >= 0; i--)
        if (in->memory.versions.at[i].node == holder) return in->memory.versions.at[i].storage;
    return -1;
}

int
storage_of(Interp *in, NodeId node)
{
    NodeId holder = graph_node(in->graph, node)->storage;
    int found = storage_find(in, holder);
    if (found >= 0) return found;
    Storage storage = {.root = holder, .version = holder};
    found = in->memory.storages.len;
    if (VEC_PUSH(in->arena, &in->memory.storages, storage) < 0) return -1;
    if (VEC_PUSH(in->arena, &in->memory.versions, (Version){.node = holder, .storage = found}) < 0)
        return -1;
    return found;
}

int
storage_becomes(Interp *in, int storage, NodeId version)
{
    in->memory.storages.at[storage].version = version;
    in->memory.storages.at[storage].written = true;
    return VEC_PUSH(in->arena, &in->memory.versions,
                    (Version){.node = version, .storage = storage});
}

int
storage_write(Interp *in, NodeId node, NodeId version)
{
    ArrayWrite write = {.storage = storage_of(in, node), .version = version};
    if (write.storage < 0 || VEC_PUSH(in->arena, &in->memory.writes, write) < 0) return -1;
    return storage_becomes(in, write.storage, version);
}

int
storage_write_part(Interp *in, NodeId node, NodeId version, NodeId value, const Type *place)
{
    if (storage_write(in, node, version) < 0) return -1;
    ArrayWrite *write = &in->memory.writes.at[in->memory.writes.len - 1];
    write->place = *place;
    return (write->value = value_node(in, value)) == NULL ? -1 : 0;
}

void
storage_note_key(Interp *in, Value *key, Value *stored)
{
    ArrayWrite *write = &in->memory.writes.at[in->memory.writes.len - 1];
    write->key = key;
    write->stored = stored;
}

int
window_add(Interp *in, NodeId node, Value *array)
{
    return VEC_PUSH(in->arena, &in->memory.windows, (Window){.node = node, .array = array});
}

Value *
window_of(const Interp *in, NodeId node)
{
    const Node *n = graph_node(in->graph, node);
    for (; in->memory.windows.len > 0; n = graph_node(in->graph, node = n->args[0])) {
        for (int i = 0; i < in->memory.windows.len; i++)
            if (in->memory.windows.at[i].node == node) return in->memory.windows.at[i].array;
        if (op_info(n->op)->kind != KIND_VIEW) break;
    }
    return NULL;
}

bool
node_is_leaf(const Interp *in, NodeId node)
{
    for (int i = 0; i < in->memory.leaves.len; i++)
        if (in->memory.leaves.at[i] == node) return true;
    return false;
}

bool
node_shows_leaf(const Interp *in, NodeId node)
{
    while (!node_is_leaf(in, node)) {
        const Node *n = graph_node(in->graph, node);
        if (op_info(n->op)->kind != KIND_VIEW) return false;
        node = n->args[0];
    }
    return true;
}

NodeId
array_current(Interp *in, NodeId node)
{
    const Node *n = graph_node(in->graph, node);
    if (n->type.form != FORM_ARRAY) return node;
    int found = storage_find(in, n->storage);
    if (found < 0) return node;
    NodeId version = in->memory.storages.at[found].version;
    if (version == n->storage) return node;
    Type type = n->type;
    Value *window = window_of(in, node);
    bool whole = type_same_array(&type, &graph_node(in->graph, version)->type);
    if (whole && window == NULL) return version;
    Op op = graph_view_is_readonly(in->graph, node) ? OP_broadcast : OP_as_strided;
    NodeId view = graph_add(in->graph, in->region, op, 1, &version, &type, NULL);
    if (view != NO_NODE && window != NULL && window_add(in, view, window) < 0) return NO_NODE;
    return view;
}

/* ---- copies that are views for some lengths ---- */

int
copy_note(Interp *in, NodeId of, NodeId copy)
{
    LateCopy late = {.of = storage_of(in, of), .copy = copy};
    if (late.of < 0) return -1;
    late.version = in->memory.storages.at[late.of].version;
    return VEC_PUSH(in->arena, &in->memory.copies, late);
}

void
copy_is_copied(Interp *in, NodeId copy, NodeId to)
{
    for (int i = 0; i < in->memory.copies.len; i++)
        if (in->memory.copies.at[i].copy == copy) in->memory.copies.at[i].copy = to;
}

/* Neither is written afterwards, nor leaves the copy the graph. */
static bool
is_unseen(const Interp *in, const LateCopy *late)
{
    const Graph *g = in->graph;
    bool unseen = in->memory.storages.at[late->of].version == late->version;
    int own = storage_find(in, late->copy);
    if (own >= 0) unseen = unseen && in->memory.storages.at[own].version == late->copy;
    for (int i = 0; i < g->outputs.len && unseen; i++)
        unseen = g->nodes.at[g->outputs.at[i].node].storage != late->copy;
    return unseen;
}

Answer
copies_are_unseen(Interp *in)
{
    for (int i = 0; i < in->memory.copies.len; i++)
        if (!is_unseen(in, &in->memory.copies.at[i])) {
            in->attempt.learn->copies_seen = in->attempt.again = true;
            return ANSWER_NO;
        }
    return ANSWER_YES;
}
