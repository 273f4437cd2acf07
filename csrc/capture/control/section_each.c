/* What a loop over the elements of sections reads, in each iteration, and computes. */
#include "section.h"

/* Is the step of one the other's, negated? */
static bool
goes_back(Interp *in, const Value *a, const Value *b)
{
    int64_t x, y;
    return value_as_int(in, section_part(a, SECTION_STEP), &x) == ANSWER_YES &&
           value_as_int(in, section_part(b, SECTION_STEP), &y) == ANSWER_YES && x == -y;
}

static Answer
add_read(Interp *in, SectionReads *reads, const Value *section)
{
    NodeId now;
    Value *apart = NULL;
    const Value *origin = reads->origin;
    if (reads->nread == SECTION_READS) return section_fails(in, "a statement of too many rows");
    TRY(loop_array_now(in, section->of, &now));
    if (section->node != NO_NODE && section->node != now)
        return section_fails(in, "rows that are computed from an array that is then written");
    Value *start = section_part(section, SECTION_START), *to = section_part(origin, SECTION_START);
    bool turned = goes_back(in, section, origin);
    if (!turned && !section_same_int(in, section_part(section, SECTION_STEP),
                                     section_part(origin, SECTION_STEP)))
        return section_fails(in, "slices of different steps in one statement");
    reads->turned[reads->nread] = turned;
    if (turned)
        TRY(operate_binary(in, OPERATOR_ADD, start, to, &apart));
    else if (!section_same_int(in, start, to))
        TRY(operate_binary(in, OPERATOR_SUB, start, to, &apart));
    reads->read[reads->nread] = section;
    reads->apart[reads->nread++] = apart;
    return ANSWER_YES;
}

Answer
section_reads(Interp *in, SectionReads *reads, const Value *value)
{
    if (value->kind == V_SECTION) return add_read(in, reads, value);
    for (int i = 0; value->kind == V_EXPRESSION && i < value->nitems - 1; i++)
        TRY(section_reads(in, reads, value->items[i]));
    return ANSWER_YES;
}

Answer
section_key(Interp *in, const Value *section, Value *position, Value **out)
{
    Value *items[LOOP_RANK];
    int rank = section_rank(section);
    for (int axis = 0; axis < rank; axis++)
        items[axis] = axis == section_axis(section) ? position : section->items[axis];
    *out = rank == 1 ? position : value_sequence(in, V_TUPLE, rank, items);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
load_element(Interp *in, const SectionReads *reads, const Value *section, Value **out)
{
    Value *position = reads->position, *key;
    int at = 0;
    while (at < reads->nread && reads->read[at] != section) at++;
    if (at < reads->nread && reads->turned[at])
        TRY(operate_binary(in, OPERATOR_SUB, reads->apart[at], position, &position));
    else if (at < reads->nread && reads->apart[at] != NULL)
        TRY(operate_binary(in, OPERATOR_ADD, position, reads->apart[at], &position));
    TRY(section_key(in, section, position, &key));
    return loop_element_load(in, section->of, key, out);
}

/* Rows are computed in floats: ints of arrays wrap round, those of elements do not. */
static Answer
are_floats(Interp *in, const Value *value, bool logic)
{
    DType dtype =
        value->kind == V_NODE ? (DType)graph_node(in->graph, value->node)->type.dtype : DT_OBJECT;
    return dtype_is_float(dtype) || (logic && dtype == DT_BOOL)
               ? ANSWER_YES
               : section_fails(in, "arithmetic on rows of other numbers than floats");
}

Answer
section_computed(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    if (right == NULL)
        TRY(operate_unary(in, I_UNARY_NEGATIVE, left, out));
    else
        TRY(operate_binary(in, operator_, left, right, out));
    return are_floats(in, *out, !section_arithmetic(operator_));
}

/* A call of a ufunc, as of the elements. */
static Answer
call_of(Interp *in, const Value *value, Value *const *operands, Value **out)
{
    Value *callable = value_const(in, value->object);
    if (callable == NULL) return ANSWER_ERROR;
    for (int i = 0; i < value->nitems - 1; i++)
        if (operands[i]->kind == V_NODE) TRY(are_floats(in, operands[i], false));
    NodeId before = in->graph->nodes.len;
    TRY(call_const(in, callable, value->nitems - 1, operands, NULL, out));
    TRY(are_floats(in, *out, false));
    Node *node = graph_node(in->graph, (*out)->node);
    if ((*out)->node >= before && node_is_called(in->graph, node)) node->attrs.index = CALL_OF_ROW;
    return ANSWER_YES;
}

Answer
section_element(Interp *in, const SectionReads *reads, Value *value, Value **out)
{
    Value *operands[3] = {NULL, NULL, NULL};
    *out = value;
    if (value->kind == V_SECTION) return load_element(in, reads, value, out);
    if (value->kind != V_EXPRESSION) return ANSWER_YES;
    for (int i = 0; i < value->nitems - 1; i++)
        TRY(section_element(in, reads, value->items[i], &operands[i]));
    if (value->object != NULL) return call_of(in, value, operands, out);
    if (value->position == SECTION_WHERE || value->position == SECTION_GATHER)
        return select_element(in, value, operands, out);
    if (value->position >= SECTION_COMPARE && value->position < SECTION_COMPARE + 6)
        return operate_compare(in, (int)value->position - SECTION_COMPARE, operands[0], operands[1],
                               out);
    return section_computed(in, (int)value->position, operands[0], operands[1], out);
}

Answer
section_region(Interp *in, SectionReads *reads, NodeId node, RegionId *outer)
{
    Graph *g = in->graph;
    RegionId region = graph_region(g, node);
    Type index = {.dtype = DT_I64, .form = FORM_PYTHON, .offset = NO_SIZE};
    if (region == NO_REGION) return ANSWER_ERROR;
    graph_node(g, node)->region[0] = region;
    NodeId position = graph_input(g, region, &index);
    if (position == NO_NODE || (reads->position = value_node(in, position)) == NULL)
        return ANSWER_ERROR;
    *outer = in->region;
    in->region = region;
    return ANSWER_YES;
}
