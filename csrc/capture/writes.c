/* In-place writes to arrays that came from outside.

   A plan commits the last version of each input's storage into the user's array.  That is right as
   long as no other input shares its memory (NO_OVERLAP guards), and the array may be written. */
#include "value.h"

Value *
input_of(Interp *in, NodeId node)
{
    NodeId root = in->storages.at[storage_of(in, node)].root;
    for (int i = 0; i < in->inputs.len; i++)
        if (in->inputs.at[i]->node == root) return in->inputs.at[i];
    return NULL;
}

Answer
write_allowed(Interp *in, Value *array)
{
    if (storage_of(in, array->node) < 0) return ANSWER_ERROR;
    Value *input = input_of(in, array->node);
    if (input == NULL) return ANSWER_YES;
    if (in->refuse_writes)
        return interp_break(in, BREAK_OVERLAP, "a write to an array that overlaps another one");
    ArrayHeader header;
    const char *why;
    if (array_read(input->object, &header, &why) != ANSWER_YES || !(header.flags & ARRAY_WRITEABLE))
        return interp_break(in, BREAK_READONLY, "the array is read-only");
    for (int axis = 0; axis < header.rank; axis++)
        if (header.stride[axis] == 0 && header.shape[axis] > 1)
            return interp_break(in, BREAK_OVERLAP, "the array's elements share memory");
    if (input->guard) in->out->guards.at[input->guard - 1].array.flags |= ARRAY_WRITEABLE;
    return ANSWER_YES;
}

/* First and last byte of an array's memory. */
static void
memory_range(const ArrayHeader *header, const char **low, const char **high)
{
    *low = *high = header->data;
    for (int axis = 0; axis < header->rank; axis++) {
        if (header->shape[axis] == 0) {
            *high = *low;
            return;
        }
        int64_t reach = (header->shape[axis] - 1) * header->stride[axis];
        if (reach < 0)
            *low += reach;
        else
            *high += reach;
    }
    *high += dtype_size(header->dtype);
}

static bool
arrays_overlap(PyObject *a, PyObject *b)
{
    ArrayHeader ha, hb;
    const char *why, *low_a, *high_a, *low_b, *high_b;
    if (array_read(a, &ha, &why) != ANSWER_YES || array_read(b, &hb, &why) != ANSWER_YES)
        return true;
    memory_range(&ha, &low_a, &high_a);
    memory_range(&hb, &low_b, &high_b);
    return low_a < high_b && low_b < high_a;
}

Answer
writes_finish(Interp *in)
{
    for (int i = 0; i < in->storages.len; i++) {
        Storage *storage = &in->storages.at[i];
        Value *input = storage->written ? input_of(in, storage->root) : NULL;
        if (input == NULL) continue;
        for (int k = 0; k < in->inputs.len; k++) {
            Value *other = in->inputs.at[k];
            if (other == input) continue;
            if (graph_node(in->graph, other->node)->type.form != FORM_ARRAY) continue;
            if (arrays_overlap(input->object, other->object)) return ANSWER_NO;
            Guard guard = {
                .kind = GUARD_NO_OVERLAP, .source = input->source, .other = other->source};
            if (guard_add(in, &guard) < 0) return ANSWER_ERROR;
        }
        Build effect = {.kind = EFFECT_WRITE,
                        .node = storage->version,
                        .source = input->source,
                        .number = in->bottom->number};
        if (VEC_PUSH(in->arena, &in->out->builds, effect) < 0) return ANSWER_ERROR;
        if (VEC_PUSH(in->graph->arena, &in->graph->outputs, storage->version) < 0)
            return ANSWER_ERROR;
    }
    return ANSWER_YES;
}
