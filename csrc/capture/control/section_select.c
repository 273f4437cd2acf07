/* What a row of ints selects in the body of a kept loop, `(vals[a:b] * x[cols[a:b]]).sum()`: an
   expression, as other operations on sections are, of which an element is loaded where the
   expression is computed. */
#include "section.h"

bool
section_gathers(const Value *value, const Value *array)
{
    if (value->kind != V_EXPRESSION) return false;
    if (value->position == SECTION_GATHER && part_whole(value->items[1]) == array) return true;
    for (int i = 0; i < value->nitems - 1; i++)
        if (section_gathers(value->items[i], array)) return true;
    return false;
}

Answer
section_gather(Interp *in, Value *array, Value *key, Value **out)
{
    Value *row;
    NodeId now;
    if (part_rank(in, array) != 1) return section_fails(in, "a row of indices of several axes");
    TRY(section_operand(in, key, &row));
    if (row->kind == V_SECTION &&
        !dtype_is_integer((DType)graph_node(in->graph, row->of->node)->type.dtype))
        return section_repeats(in, "an index that is no int, or a mask");
    /* The row may have no index, and then no element's load checks the part. */
    for (int axis = 0; axis < part_axis(array); axis++) {
        Value *index;
        TRY(section_index(in, part_whole(array), axis, array->items[axis], &index));
    }
    TRY(loop_array_now(in, part_whole(array), &now));
    TRY(section_expression(in, SECTION_GATHER, 1, &row, out));
    Value *items[3] = {(*out)->items[0], array, (*out)->items[1]};
    (*out)->items = arena_copy(in->arena, items, sizeof items);
    (*out)->nitems = 3;
    (*out)->node = now;
    return (*out)->items == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
gathered_element(Interp *in, const Value *value, Value *index, Value **out)
{
    NodeId now;
    TRY(loop_array_now(in, part_whole(value->items[1]), &now));
    if (now != value->node)
        return section_fails(in, "elements that are gathered from an array that is then written");
    return loop_element_load(in, value->items[1], index, out);
}
