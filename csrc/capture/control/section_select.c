/* What masks and rows of ints select in the body of a kept loop:

     (vals[a:b] * x[cols[a:b]]).sum()
     out[i] = np.where(a[i] > 0, a[i], b[i])
     a[i][a[i] > 2] = 0.0

   What is gathered and what is chosen are expressions, as other operations on sections are: an
   element is loaded, or chosen, where the expression is computed.  A store under a mask is one of
   all elements, those that are not selected as they are. */
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
        return section_fails(in, "an index that is no int, or a mask");
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
section_where(Interp *in, Value *const *args, Value **out)
{
    return section_expression(in, SECTION_WHERE, 3, args, out);
}

Answer
section_masked(Interp *in, Value *array, Value *mask, Value *value)
{
    Value *target, *chosen, *parts[3] = {mask, value, NULL};
    if (part_rank(in, array) != 1 || value_is_section(in, value))
        return section_fails(in, "a store to what a mask selects, other than of a number");
    TRY(section_take(in, array, NULL, &target));
    parts[2] = target;
    TRY(section_where(in, parts, &chosen));
    return section_store(in, target, -1, chosen);
}

/* Two numbers of Python's, as NumPy's of their default dtype. */
static Answer
both_python(Interp *in, NodeId *nodes)
{
    const Type *a = &graph_node(in->graph, nodes[0])->type;
    const Type *b = &graph_node(in->graph, nodes[1])->type;
    if (a->form != FORM_PYTHON || b->form != FORM_PYTHON) return ANSWER_YES;
    DType dtype = a->dtype == DT_F64 || b->dtype == DT_F64 ? DT_F64 : DT_I64;
    for (int i = 0; i < 2; i++) {
        DType from = (DType)graph_node(in->graph, nodes[i])->type.dtype;
        if (from != DT_F64 && from != DT_I64)
            return section_fails(in, "np.where of numbers of different types");
        TRY(node_cast(in, nodes[i], dtype, &nodes[i]));
        TRY(node_form(in, nodes[i], FORM_SCALAR, &nodes[i]));
    }
    return ANSWER_YES;
}

/* Of one dtype, that of NumPy's numbers among the two. */
static Answer
alike(Interp *in, NodeId *nodes)
{
    TRY(both_python(in, nodes));
    for (int i = 0; i < 2; i++) {
        Type type = graph_node(in->graph, nodes[i])->type;
        Type other = graph_node(in->graph, nodes[1 - i])->type;
        if (type.form != FORM_PYTHON || other.form != FORM_SCALAR) continue;
        bool weak = dtype_is_float((DType)other.dtype)
                        ? type.dtype == DT_F64 || type.dtype == DT_I64
                        : dtype_is_integer((DType)other.dtype) && type.dtype == DT_I64;
        if (!weak) return section_fails(in, "np.where of numbers of different types");
        TRY(node_cast(in, nodes[i], (DType)other.dtype, &nodes[i]));
    }
    const Type *a = &graph_node(in->graph, nodes[0])->type;
    const Type *b = &graph_node(in->graph, nodes[1])->type;
    bool same = a->dtype == b->dtype && a->form != FORM_ARRAY && b->form != FORM_ARRAY &&
                (a->form == FORM_SCALAR || b->form == FORM_SCALAR) && a->dtype != DT_F16;
    return same ? ANSWER_YES : section_fails(in, "np.where of numbers of different types");
}

Answer
select_element(Interp *in, const Value *value, Value *const *operands, Value **out)
{
    NodeId nodes[3], now;
    if (value->position == SECTION_GATHER) {
        TRY(loop_array_now(in, part_whole(value->items[1]), &now));
        if (now != value->node)
            return section_fails(in,
                                 "elements that are gathered from an array that is then written");
        return loop_element_load(in, value->items[1], operands[0], out);
    }
    for (int i = 0; i < 3; i++)
        if (value_as_node(in, operands[i], &nodes[i]) != ANSWER_YES)
            return section_fails(in, "np.where of what is no number");
    if (graph_node(in->graph, nodes[0])->type.dtype != DT_BOOL)
        return section_fails(in, "np.where whose condition is no bool");
    TRY(alike(in, nodes + 1));
    Type type = type_scalar((DType)graph_node(in->graph, nodes[1])->type.dtype, FORM_SCALAR);
    NodeId node = graph_add(in->graph, in->region, OP_where, 3, nodes, &type, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
