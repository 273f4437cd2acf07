/* Sizes of arrays from outside, as long as nothing needs them as numbers.
   len(x), x.shape[i] and x.size of an array whose shape is not guarded are int inputs, read from
   the array's header (SOURCE_SIZE): loops over them, arithmetic with them and ranges of them hold
   for every length.  A use that needs the number while capturing pins the array (value_known);
   where an array ends up pinned, sizes_settle makes its known sizes constants of the graph. */
#include "core.h"

bool
array_is_unpinned(Interp *in, const Value *array)
{
    return value_is_array(in, array) && !array->pinned && array->guard != 0 &&
           array->source != NO_SOURCE && graph_node(in->graph, array->node)->type.rank > 0;
}

SizeId
array_length(const Interp *in, const Value *array, int axis)
{
    return graph_node(in->graph, array->node)->type.shape[axis];
}

Answer
array_size(Interp *in, Value *array, int axis, Value **out)
{
    SizeId shape = graph_node(in->graph, array->node)->type.shape[axis];
    PyObject *number = keep(in, PyLong_FromLongLong(size_value(in->graph, shape)));
    SourceId source = source_add(in, SOURCE_SIZE, array->source, axis, NULL, NULL);
    if (number == NULL || source == NO_SOURCE) return ANSWER_ERROR;
    *out = value_from_source(in, source, number);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->sized = array;
    return value_in_range(in, *out, 0, INT64_MAX);
}

Answer
array_sizes(Interp *in, Value *array, Value **out)
{
    int rank = graph_node(in->graph, array->node)->type.rank;
    Value *tuple = value_sequence(in, V_TUPLE, rank, NULL);
    if (tuple == NULL) return ANSWER_ERROR;
    for (int axis = 0; axis < rank; axis++) {
        Answer answer = array_size(in, array, axis, &tuple->items[axis]);
        if (answer != ANSWER_YES) return answer;
    }
    *out = tuple;
    return ANSWER_YES;
}

Answer
array_elements(Interp *in, Value *array, Value **out)
{
    int rank = graph_node(in->graph, array->node)->type.rank;
    Answer answer = array_size(in, array, 0, out);
    for (int axis = 1; axis < rank && answer == ANSWER_YES; axis++) {
        Value *size;
        answer = array_size(in, array, axis, &size);
        if (answer == ANSWER_YES) answer = operate_binary(in, OPERATOR_MUL, *out, size, out);
    }
    return answer;
}

/* ---- lengths that come out of data ---- */

int
note_data_length(Interp *in, const Value *value)
{
    for (int i = 0; value->kind == V_TUPLE && i < value->nitems; i++)
        if (note_data_length(in, value->items[i]) < 0) return -1;
    return value->kind == V_NODE ? VEC_PUSH(in->arena, &in->data_lengths, value->node) : 0;
}

static bool
is_data_length(const Interp *in, NodeId id)
{
    for (int i = 0; i < in->data_lengths.len; i++)
        if (in->data_lengths.at[i] == id) return true;
    return false;
}

/* Sets *found where the expression contains a length; false where it contains anything else. */
static bool
only_lengths(Interp *in, NodeId id, int depth, bool *found)
{
    enum { DEEPEST = 8 };
    const Node *node = graph_node(in->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_CONST || kind == KIND_INPUT) return true;
    if (node->type.form != FORM_PYTHON || depth > DEEPEST) return false;
    if (is_data_length(in, id)) return *found = true;
    if (kind == KIND_EXTERN || kind == KIND_RESULT || kind == KIND_REGION) return false;
    for (int i = 0; i < node->nargs; i++)
        if (!only_lengths(in, node->args[i], depth + 1, found)) return false;
    return true;
}

bool
value_is_data_length(Interp *in, const Value *value)
{
    bool found = false;
    return value->kind == V_NODE && only_lengths(in, value->node, 0, &found) && found;
}

/* ---- at the end ---- */

static void
drop_guards(Interp *in, SourceId source)
{
    int kept = 0;
    for (int i = 0; i < in->out->guards.len; i++)
        if (in->out->guards.at[i].source != source)
            in->out->guards.at[kept++] = in->out->guards.at[i];
    in->out->guards.len = kept;
}

/* The input `at` becomes a constant; the later inputs move up. */
static void
drop_input(Interp *in, int at)
{
    Graph *g = in->graph;
    Value *value = in->memory.inputs.at[at];
    Node *node = graph_node(g, value->node);
    node->op = OP_const;
    node->attrs.object = value->object;
    node->attrs.index = 0;
    drop_guards(in, value->source);
    for (int i = at; i + 1 < in->memory.inputs.len; i++) {
        in->memory.inputs.at[i] = in->memory.inputs.at[i + 1];
        g->inputs.at[i] = g->inputs.at[i + 1];
        in->out->input_source.at[i] = in->out->input_source.at[i + 1];
        graph_node(g, g->inputs.at[i])->attrs.index = i;
    }
    in->memory.inputs.len--;
    g->inputs.len--;
    in->out->input_source.len--;
}

/* No length is less than nothing. */
static void
drop_vain_guards(Interp *in)
{
    int kept = 0;
    for (int i = 0; i < in->out->guards.len; i++) {
        const Guard *guard = &in->out->guards.at[i];
        bool length = in->out->sources.at[guard->source].kind == SOURCE_SIZE;
        if (!length || guard->kind != GUARD_INT_RANGE || guard->low > 0 || guard->high != INT64_MAX)
            in->out->guards.at[kept++] = *guard;
    }
    in->out->guards.len = kept;
}

void
sizes_settle(Interp *in)
{
    drop_vain_guards(in);
    for (int i = in->memory.inputs.len - 1; i >= 0; i--) {
        Value *value = in->memory.inputs.at[i];
        bool size = in->out->sources.at[value->source].kind == SOURCE_SIZE;
        int axis = in->out->sources.at[value->source].index;
        if (size && value->sized != NULL && value->sized->pinned &&
            size_is_const(in->graph, array_length(in, value->sized, axis)))
            drop_input(in, i);
    }
}

int
note_class_asked(Interp *in, const Value *value)
{
    if (in->loop == NULL || value->kind != V_NODE || value_is_array(in, value)) return 0;
    LoopAsked asked = {.number = value->node, .line = in->graph->line};
    return VEC_PUSH(in->arena, &in->loop->asked, asked);
}
