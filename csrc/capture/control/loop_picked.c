/* What a list of a few ints selects of an array in the body of a kept loop, and where it is stored:

     a[[k, p]] = a[[p, k]]        b[[i, j]] = b[[j, i]]

   It is read where it is stored (V_PICKED), all of it before the first store: of an array with two
   axes column by column, in a loop inside. */
#include "section.h"

enum { PICKED = 8 }; /* ints */

bool
key_is_picked(Interp *in, const Value *array, const Value *key)
{
    return key->kind == V_LIST && key->nitems > 0 && key->nitems <= PICKED &&
           value_is_array(in, array);
}

const char *
describe_picked(Interp *in, Value *picked)
{
    (void)in;
    (void)picked;
    return "what a list of ints selects of an array";
}

/* The ints of the list, in bounds. */
static Answer
picked_ints(Interp *in, Value *array, Value *key, Value **out)
{
    for (int i = 0; i < key->nitems; i++) {
        NodeId index;
        Value *item = value_item(in, key, i);
        if (item == NULL) return ANSWER_ERROR;
        if (item->kind == V_CONST && PyBool_Check(item->object))
            return section_fails(in, "a list of bools as an index");
        TRY(loop_index(in, item, &index));
        if (graph_node(in->graph, index)->type.dtype != DT_I64)
            return section_fails(in, "an index that is no int");
        TRY(part_index_checked(in, array, 0, index));
        if ((out[i] = value_node(in, index)) == NULL) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

Answer
picked_take(Interp *in, Value *array, Value *key, Value **out)
{
    Value *ints[PICKED];
    if (part_rank(in, array) > 2)
        return section_fails(in, "a list of ints as an index of an array with more than two axes");
    TRY(picked_ints(in, array, key, ints));
    if ((*out = value_sequence(in, V_PICKED, key->nitems, ints)) == NULL) return ANSWER_ERROR;
    (*out)->of = array;
    (*out)->type = array_class();
    return loop_array_now(in, array, &(*out)->node);
}

/* ---- stores ---- */

static Answer
key_at(Interp *in, Value *index, Value *column, Value **out)
{
    Value *both[2] = {index, column};
    *out = column != NULL ? value_sequence(in, V_TUPLE, 2, both) : index;
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Of one column, or of an array with one axis where `column` is NULL. */
static Answer
store_each(Interp *in, Value *array, Value *const *to, const Value *from, Value *column)
{
    Value *key, *read[PICKED];
    for (int i = 0; i < from->nitems; i++) {
        TRY(key_at(in, from->items[i], column, &key));
        TRY(loop_element_load(in, from->of, key, &read[i]));
    }
    for (int i = 0; i < from->nitems; i++) {
        TRY(key_at(in, to[i], column, &key));
        TRY(loop_element_store(in, array, key, read[i]));
    }
    return ANSWER_YES;
}

static Answer
store_columns(Interp *in, Value *array, Value *const *to, const Value *from)
{
    SectionReads reads = {0};
    StoreLoop loop;
    Value *ends[3] = {value_const_new(in, PyLong_FromLong(0)), NULL,
                      value_const_new(in, PyLong_FromLong(1))};
    Value row = {.kind = V_PART, .of = array, .nitems = 1}, other = row, *length;
    if (ends[0] == NULL || ends[2] == NULL) return ANSWER_ERROR;
    TRY(part_length(in, &row, &ends[1]));
    other.of = from->of;
    TRY(part_length(in, &other, &length));
    if (from->of != array) TRY(loop_assert(in, OP_py_eq, ends[1], length));
    TRY(section_loop_begin(in, array, ends, &reads, &loop));
    return section_loop_end(in, &loop, store_each(in, array, to, from, reads.position));
}

Answer
picked_store(Interp *in, Value *array, Value *key, Value *value)
{
    Value *to[PICKED];
    NodeId now;
    int rank = part_rank(in, array);
    if (value->kind != V_PICKED || value->nitems != key->nitems ||
        part_rank(in, value->of) != rank ||
        graph_node(in->graph, value->of->node)->type.dtype !=
            graph_node(in->graph, array->node)->type.dtype)
        return section_fails(in, "a store at a list of ints of something else than what such a "
                                 "list selects");
    TRY(loop_writes(in, array));
    TRY(picked_ints(in, array, key, to));
    TRY(loop_array_now(in, value->of, &now));
    if (now != value->node)
        return section_fails(in, "what a list of ints selects of an array that is then written");
    return rank == 1 ? store_each(in, array, to, value, NULL) : store_columns(in, array, to, value);
}
