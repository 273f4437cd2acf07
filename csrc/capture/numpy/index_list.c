/* A few ints in a list as an index, some of which turns compute:

     a[[k, p]] = a[[p, k]]        a[[k, p], k:] *= 2

   Each is the place of a view, as it would be alone (core/measured.c): what is read is a new array
   of these views, what is stored goes to one after the other.  ANSWER_NO: another index, or a
   layout that the result would have to follow; NumPy is called then. */
#include "numpy.h"

enum { MOST_INTS = 8 };

/* The list among the key's items, which comes first; NULL: there is none. */
static Value *
list_of(Interp *in, Value *key)
{
    bool several = key->kind == V_TUPLE && key->nitems > 0;
    Value *list = several ? value_item(in, key, 0) : key;
    return list != NULL && list->kind == V_LIST ? list : NULL;
}

/* Are the other items slices?  Ints among them would be another list's. */
static Answer
others_are_slices(Interp *in, Value *key)
{
    for (int i = 1; key->kind == V_TUPLE && i < key->nitems; i++) {
        Value *item = value_item(in, key, i);
        if (item == NULL) return ANSWER_ERROR;
        bool slice = item->kind == V_CONST && PySlice_Check(item->object);
        if (item->kind != V_SLICE && !slice) return ANSWER_NO;
    }
    return ANSWER_YES;
}

static bool
is_int(Interp *in, const Value *item)
{
    if (item->kind == V_CONST) return PyLong_CheckExact(item->object);
    return item->kind == V_NODE && value_is_number(in, item) &&
           node_type(in, item->node).dtype == DT_I64;
}

/* The keys of the views, which are *count. */
static Answer
view_keys(Interp *in, NodeId array, Value *key, Value **keys, int *count)
{
    Value *list = list_of(in, key);
    bool computed = false;
    if (node_type(in, array).device != DEVICE_HOST || list == NULL || list->nitems == 0 ||
        list->nitems > MOST_INTS)
        return ANSWER_NO;
    TRY(others_are_slices(in, key));
    for (int i = 0; i < list->nitems; i++) {
        Value *item = value_item(in, list, i);
        if (item == NULL) return ANSWER_ERROR;
        if (!is_int(in, item)) return ANSWER_NO;
        computed |= item->kind == V_NODE;
        keys[i] = item;
        if (key->kind != V_TUPLE) continue;
        Value **items = arena_copy(in->arena, key->items, sizeof(Value *) * (size_t)key->nitems);
        if (items == NULL) return ANSWER_ERROR;
        items[0] = item;
        if ((keys[i] = value_sequence(in, V_TUPLE, key->nitems, items)) == NULL)
            return ANSWER_ERROR;
    }
    *count = list->nitems;
    return computed ? ANSWER_YES : ANSWER_NO;
}

/* Views of rows whose elements follow one another: what is made of others has not the layout of an
   array that NumPy makes of them. */
static Answer
take_views(Interp *in, NodeId array, Value *const *keys, int count, NodeId *views)
{
    for (int i = 0; i < count; i++) {
        bool element;
        TRY(node_index(in, array, keys[i], &element, &views[i]));
        Type type = node_type(in, views[i]);
        if (!type_is_contiguous(in->graph, &type)) return ANSWER_NO;
    }
    return ANSWER_YES;
}

static Answer
read_views(Interp *in, NodeId array, Value *key, NodeId *out)
{
    Value *keys[MOST_INTS];
    NodeId views[MOST_INTS];
    int count;
    TRY(view_keys(in, array, key, keys, &count));
    TRY(take_views(in, array, keys, count, views));
    return nodes_stack(in, 0, count, views, out);
}

static Answer
write_views(Interp *in, NodeId array, Value *key, NodeId value)
{
    Value *keys[MOST_INTS], *target, *at;
    NodeId views[MOST_INTS], parts[MOST_INTS];
    Type to = node_type(in, array), from = node_type(in, value);
    int count;
    TRY(view_keys(in, array, key, keys, &count));
    bool fits = from.form == FORM_ARRAY && from.dtype == to.dtype && from.rank == to.rank &&
                size_same(in->graph, from.shape[0], size_const(in->graph, count));
    if (!fits) return ANSWER_NO;
    TRY(take_views(in, array, keys, count, views));
    for (int i = 0; i < count; i++) {
        bool element;
        if ((at = value_const_new(in, PyLong_FromLong(i))) == NULL) return ANSWER_ERROR;
        TRY(node_index(in, value, at, &element, &parts[i]));
    }
    for (int i = 0; i < count; i++) {
        if ((target = value_node(in, views[i])) == NULL) return ANSWER_ERROR;
        TRY(node_write(in, target, parts[i]));
    }
    return ANSWER_YES;
}

/* What breaks is NumPy's to do, unless capture starts again. */
static Answer
or_numpy(Interp *in, Answer answer)
{
    if (answer != ANSWER_BREAK || in->attempt.again) return answer;
    break_take(in);
    return ANSWER_NO;
}

Answer
index_list_read(Interp *in, Value *array, Value *key, Value **out)
{
    NodeId node, result;
    if (list_of(in, key) == NULL || !sizes_may_vary(in)) return ANSWER_NO;
    TRY(array_operand(in, array, &node));
    VARYING(in, answer, read_views(in, node, key, &result));
    return answer == ANSWER_YES ? push_node(in, result, out) : or_numpy(in, answer);
}

Answer
index_list_write(Interp *in, Value *array, Value *key, Value *value)
{
    NodeId node, from;
    if (list_of(in, key) == NULL || !sizes_may_vary(in)) return ANSWER_NO;
    if (value_is_opaque(in, value)) return ANSWER_NO;
    TRY(array_operand(in, array, &node));
    TRY(or_numpy(in, operand(in, value, &from)));
    VARYING(in, answer, write_views(in, node, key, from));
    return or_numpy(in, answer);
}
