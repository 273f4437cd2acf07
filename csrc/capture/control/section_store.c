/* Stores to sections of arrays in the body of a kept loop: a loop inside, over the elements.

   NumPy reads all that a statement reads before it stores the first element.  An element of the
   target's own array is read in the iteration that stores it, or in an earlier one: iterations go
   backwards where that takes it. */
#include "section.h"

enum {
    LONG_ROW = 1 << 14, /* elements: NumPy takes no longer for them than the loop for the log */
};

/* A store while it is made. */
typedef struct {
    Value *target;
    int operator_; /* in place; -1: none */
    Value *value;
    SectionReads reads;
    bool forward, backward; /* only so can the iterations go */
} Each;

/* ---- what is read ---- */

/* Are the two never the same element, since an index of another axis differs? */
static Answer
is_apart(Interp *in, const Value *a, const Value *b, bool *out)
{
    NodeId base[2];
    int64_t offset[2];
    Value *zero = value_const_new(in, PyLong_FromLong(0));
    *out = false;
    if (zero == NULL) return ANSWER_ERROR;
    for (int axis = 0; axis < section_rank(a) && !*out; axis++) {
        if (axis == section_axis(a) || axis == section_axis(b)) continue;
        const Value *x = a->items[axis], *y = b->items[axis];
        if (!section_offset(in, x, &base[0], &offset[0]) ||
            !section_offset(in, y, &base[1], &offset[1]) || base[0] != base[1] ||
            offset[0] == offset[1])
            continue;
        if (base[0] == NO_NODE && (offset[0] < 0 || offset[1] < 0)) continue;
        *out = true; /* unless one of them counts from the end */
        if (base[0] == NO_NODE) return ANSWER_YES;
        TRY(scalar_assert(in, OP_py_le, zero, a->items[axis]));
        TRY(scalar_assert(in, OP_py_le, zero, b->items[axis]));
    }
    return ANSWER_YES;
}

/* Is the value the target itself, as it is after an operator in place? */
static bool
is_itself(Interp *in, const Value *target, const Value *value)
{
    if (value->kind != V_SECTION || value->of != target->of ||
        section_axis(value) != section_axis(target) || value->nitems != target->nitems)
        return false;
    for (int i = 0; i < target->nitems - 1; i++)
        if (!section_same_int(in, target->items[i], value->items[i])) return false;
    return true;
}

/* The section is of the target's array.  Which way can the iterations go? */
static Answer
find_way(Interp *in, Each *each, const Value *section)
{
    const Value *target = each->target;
    bool apart;
    int axis = section_axis(target);
    TRY(is_apart(in, target, section, &apart));
    if (apart) return ANSWER_YES;
    int64_t step, ignored;
    if (value_as_int(in, section_part(target, SECTION_STEP), &step) == ANSWER_YES &&
        value_as_int(in, section_part(section, SECTION_STEP), &ignored) == ANSWER_YES &&
        (step < 0 || ignored < 0)) {
        if (is_itself(in, target, section)) return ANSWER_YES;
        return section_fails(in, "a row that goes backwards, and is computed from its own");
    }
    if (axis != section_axis(section))
        return section_fails(in, "a row and a column of one array, one of which is stored");
    Value *start = section_part(section, SECTION_START);
    Value *to = section_part(target, SECTION_START);
    if (section_same_int(in, start, to)) return ANSWER_YES;
    NodeId base[2];
    int64_t offset[2], ahead;
    Value *zero = value_const_new(in, PyLong_FromLong(0));
    if (zero == NULL) return ANSWER_ERROR;
    bool known = section_offset(in, section->items[axis], &base[0], &offset[0]) &&
                 section_offset(in, target->items[axis], &base[1], &offset[1]) &&
                 base[0] == base[1];
    bool ends = known && base[0] == NO_NODE && (offset[0] < 0 || offset[1] < 0);
    if (!known || ends) { /* usually it is ahead, but nothing is ahead of what begins at 0 */
        bool first = value_as_int(in, start, &ahead) == ANSWER_YES && ahead == 0;
        each->backward |= first;
        each->forward |= !first;
        return scalar_assert(in, OP_py_le, first ? start : to, first ? to : start);
    }
    ahead = offset[0] - offset[1];
    each->forward |= ahead > 0;
    each->backward |= ahead < 0;
    if (base[0] == NO_NODE) return ANSWER_YES;
    TRY(scalar_assert(in, OP_py_le, zero, section->items[axis]));
    return scalar_assert(in, OP_py_le, zero, target->items[axis]);
}

/* What is read of the target's own array. */
static Answer
find_ways(Interp *in, Each *each)
{
    for (int i = 0; i < each->reads.nread; i++)
        if (each->reads.read[i]->of == each->target->of)
            TRY(find_way(in, each, each->reads.read[i]));
    return ANSWER_YES;
}

/* ---- the loop ---- */

/* A number that NumPy converts for a whole row as it does for one element. */
static Answer
stores_alike(Interp *in, DType to, const Value *value)
{
    if (value->kind != V_NODE || to == DT_F64) return ANSWER_YES;
    const Type *from = &graph_node(in->graph, value->node)->type;
    return dtype_is_integer((DType)from->dtype) && dtype_is_float(to)
               ? section_fails(in, "a store of an int into a row of smaller floats")
               : ANSWER_YES;
}

static Answer
store_element(Interp *in, Each *each)
{
    Value *key, *stored, *old;
    const Value *target = each->target;
    DType to = (DType)graph_node(in->graph, target->of->node)->type.dtype;
    TRY(section_key(in, target, each->reads.position, &key));
    if (each->operator_ >= 0) TRY(loop_element_load(in, target->of, key, &old));
    TRY(section_element(in, &each->reads, each->value, &stored));
    TRY(stores_alike(in, to, stored));
    if (each->operator_ >= 0) {
        TRY(section_computed(in, each->operator_, old, stored, &stored));
        bool same = stored->kind == V_NODE && graph_node(in->graph, stored->node)->type.dtype == to;
        if (!dtype_is_float(to) && !same)
            return section_fails(in, "an operator in place on a row of other numbers (write it "
                                     "without: a[i] = a[i] + ...)");
    }
    return loop_element_store(in, target->of, key, stored);
}

/* From the target's first element to its last one, or the other way. */
static Answer
way(Interp *in, const Each *each, Value *ends[3])
{
    int64_t ignored;
    for (int i = 0; i < 3; i++) ends[i] = section_part(each->target, SECTION_START + i);
    if (!each->backward) return ANSWER_YES;
    Value *one = value_const_new(in, PyLong_FromLong(1)), *stop;
    if (one == NULL) return ANSWER_ERROR;
    if (each->forward)
        return section_fails(in, "a row that is computed from elements of its own on both sides");
    if (value_as_int(in, ends[2], &ignored) != ANSWER_YES || ignored != 1)
        return section_fails(in, "a slice with a step that is computed from elements before it");
    TRY(operate_binary(in, OPERATOR_SUB, ends[0], one, &stop));
    TRY(operate_binary(in, OPERATOR_SUB, ends[1], one, &ends[0]));
    ends[1] = stop;
    ends[2] = value_const_new(in, PyLong_FromLong(-1));
    return ends[2] == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
emit_loop(Interp *in, Each *each)
{
    Graph *g = in->graph;
    Value *ends[3];
    NodeId args[4], node, *version = loop_array_version(in, each->target->of);
    RegionId outer;
    Type none = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    TRY(way(in, each, ends));
    for (int i = 0; i < 3; i++) TRY(value_as_unpinned_node(in, ends[i], &args[i]));
    args[3] = *version;
    Type type = graph_node(g, *version)->type;
    TRY_NODE(node, graph_add(g, in->region, OP_loop, 4, args, &none, NULL));
    TRY(section_region(in, &each->reads, node, &outer));
    RegionId body = in->region;
    *version = graph_input(g, body, &type);
    Answer answer = *version == NO_NODE ? ANSWER_ERROR : store_element(in, each);
    in->region = outer;
    if (answer != ANSWER_YES) return answer;
    if (VEC_PUSH(g->arena, &g->regions.at[body].results, *version) < 0) return ANSWER_ERROR;
    loop_to_end(g, in->region, node);
    TRY_NODE(*version, graph_add(g, in->region, OP_result, 1, &node, &type, NULL));
    return ANSWER_YES;
}

Answer
section_store(Interp *in, Value *target, int operator_, Value *value)
{
    Each each = {
        .target = target, .operator_ = operator_, .value = value, .reads = {.origin = target}};
    Value *row;
    TRY(section_operand(in, value, &row));
    if (row != NULL && operator_ < 0 && is_itself(in, target, row)) return ANSWER_YES;
    TRY(loop_writes(in, target->of));
    if (row != NULL) {
        each.value = row;
        TRY(section_agrees(in, target, row));
        TRY(section_consume(in, row));
        TRY(section_reads(in, &each.reads, row));
        if (section_gathers(row, target->of))
            return section_fails(in, "a store of elements of the same array, gathered");
        TRY(find_ways(in, &each));
    }
    const Type *type = &graph_node(in->graph, target->of->node)->type;
    in->loop->sections = true;
    in->loop->long_rows |=
        type->rank > 1 && size_value(in->graph, type->shape[section_axis(target)]) >= LONG_ROW;
    return emit_loop(in, &each);
}
