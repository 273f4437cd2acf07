/* Sizes of arrays from outside, while nothing needs them as numbers.

   len(x), x.shape[i] and x.size of an array whose shape is not guarded are ints that come in, as an
   argument does, from the array's header (SOURCE_SIZE): loops over them, arithmetic and ranges of
   them hold for every length.  What needs the number while capturing pins the array (value_known),
   and where an array ends up pinned, sizes_settle makes its sizes constants of the graph. */
#include "core.h"

bool
array_is_loose(Interp *in, const Value *array)
{
    return value_is_array(in, array) && !array->pinned && array->guard != 0 &&
           array->source != NO_SOURCE && graph_node(in->graph, array->node)->type.rank > 0;
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
    (*out)->of = array;
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

/* The input at `at` becomes a constant, and the others move up. */
static void
drop_input(Interp *in, int at)
{
    Graph *g = in->graph;
    Value *value = in->inputs.at[at];
    Node *node = graph_node(g, value->node);
    node->op = OP_const;
    node->attrs.object = value->object;
    node->attrs.index = 0;
    drop_guards(in, value->source);
    for (int i = at; i + 1 < in->inputs.len; i++) {
        in->inputs.at[i] = in->inputs.at[i + 1];
        g->inputs.at[i] = g->inputs.at[i + 1];
        in->out->input_source.at[i] = in->out->input_source.at[i + 1];
        graph_node(g, g->inputs.at[i])->attrs.index = i;
    }
    in->inputs.len--;
    g->inputs.len--;
    in->out->input_source.len--;
}

void
sizes_settle(Interp *in)
{
    for (int i = in->inputs.len - 1; i >= 0; i--) {
        Value *value = in->inputs.at[i];
        bool size = in->out->sources.at[value->source].kind == SOURCE_SIZE;
        if (size && value->of != NULL && value->of->pinned) drop_input(in, i);
    }
}
