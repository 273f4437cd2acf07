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
storage_write(Interp *in, NodeId node, NodeId version)
{
    int storage = storage_of(in, node);
    if (storage < 0) return -1;
    in->memory.storages.at[storage].version = version;
    in->memory.storages.at[storage].written = true;
    return VEC_PUSH(in->arena, &in->memory.versions,
                    (Version){.node = version, .storage = storage});
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
