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

static DType
dtype_of(const Interp *in, const Value *value)
{
    bool node = value->kind == V_NODE;
    return node ? (DType)graph_node(in->graph, value->node)->type.dtype : DT_OBJECT;
}

static Answer
are_floats(Interp *in, const Value *value)
{
    return dtype_is_float(dtype_of(in, value))
               ? ANSWER_YES
               : section_fails(in, "arithmetic on rows of other numbers than floats and ints");
}

/* Are all of them ints, one of NumPy's among them? */
static bool
are_ints(Interp *in, int n, Value *const *operands)
{
    bool numpy = false;
    for (int i = 0; i < n; i++) {
        bool python = operands[i]->kind == V_CONST && PyLong_CheckExact(operands[i]->object);
        if (!python && !dtype_is_integer(dtype_of(in, operands[i]))) return false;
        numpy |= value_is_numpy(in, operands[i]);
    }
    return numpy;
}

/* Ints of rows wrap round, those of elements do not. */
static Answer
of_ints(Interp *in, const char *ufunc, int n, Value *const *operands, Value **out)
{
    NodeId nodes[2], result;
    for (int i = 0; i < n; i++) TRY(value_as_unpinned_node(in, operands[i], &nodes[i]));
    TRY(node_of_rows(in, ufunc, n, nodes, &result));
    *out = value_node(in, result);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
section_computed(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *operands[2] = {left, right};
    int n = 1 + (right != NULL);
    bool logic = !section_arithmetic(operator_);
    if (are_ints(in, n, operands)) {
        const char *ufunc = right == NULL ? "negative" : array_operators[operator_].ufunc;
        return of_ints(in, ufunc, n, operands, out);
    }
    if (right == NULL)
        TRY(operate_unary(in, I_UNARY_NEGATIVE, left, out));
    else
        TRY(operate_binary(in, operator_, left, right, out));
    bool sum = right != NULL && (operator_ == OPERATOR_ADD || operator_ == OPERATOR_SUB);
    DType dtype = dtype_of(in, *out); /* products of complex rows are contracted, of numbers not */
    if ((logic && dtype == DT_BOOL) || (sum && dtype == DT_C128)) return ANSWER_YES;
    return are_floats(in, *out);
}

Answer
section_element(Interp *in, const SectionReads *reads, Value *value, Value **out)
{
    Value *operands[2] = {NULL, NULL};
    *out = value;
    if (value->kind == V_SECTION) return load_element(in, reads, value, out);
    if (value->kind != V_EXPRESSION) return ANSWER_YES;
    for (int i = 0; i < value->nitems - 1; i++)
        TRY(section_element(in, reads, value->items[i], &operands[i]));
    if (value->position == SECTION_GATHER) return gathered_element(in, value, operands[0], out);
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
