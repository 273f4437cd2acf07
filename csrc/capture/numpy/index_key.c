/* The key of a subscript: its items, and the view that one without arrays and masks gives. */
#include "index.h"

/* An int as a size: a number that is known from now on, or one that changes from turn to turn. */
static Answer
int_as_size(Interp *in, Value *value, SizeId *out)
{
    int64_t number;
    bool loose = sizes_may_vary(in) && value_is_loose_number(in, value);
    Answer picked = loose ? picked_number(in, value, DT_I64, &value) : ANSWER_NO;
    if (answer_stops(picked)) return picked;
    Answer answer = size_of_length(in, value, out);
    if (answer != ANSWER_NO) return answer;
    answer = value_as_int(in, value, &number);
    if (answer == ANSWER_NO) return size_of_number(in, value, out);
    if (answer != ANSWER_YES) return answer;
    *out = size_const(in->graph, number);
    return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
slice_bound(Interp *in, Value *value, SizeId *out)
{
    *out = NO_SIZE;
    if (value_absent(value)) return ANSWER_YES;
    Answer answer = int_as_size(in, value, out);
    if (answer != ANSWER_NO) return answer;
    answer = break_unknown_number(in, BREAK_INDEX, value, "a bound of a slice");
    if (in->told.hint == HINT_COMPUTED) in->told.hint = HINT_COMPUTED_BOUND;
    return answer;
}

static Answer
parse_slice(Interp *in, Value *value, Item *item)
{
    Value *parts[3] = {NULL, NULL, NULL};
    if (value->kind == V_CONST) {
        PySliceObject *slice = (PySliceObject *)value->object;
        PyObject *objects[3] = {slice->start, slice->stop, slice->step};
        for (int i = 0; i < 3; i++)
            if ((parts[i] = value_const(in, objects[i])) == NULL) return ANSWER_ERROR;
    } else {
        for (int i = 0; i < value->nitems && i < 3; i++)
            if ((parts[i] = value_item(in, value, i)) == NULL) return ANSWER_ERROR;
    }
    item->kind = ITEM_SLICE;
    TRY(slice_bound(in, parts[0], &item->start));
    TRY(slice_bound(in, parts[1], &item->stop));
    TRY(slice_bound(in, parts[2], &item->step));
    if (item->step == NO_SIZE) return ANSWER_YES;
    if (size_value(in->graph, item->step) == 0)
        return interp_break(in, BREAK_SHAPE, "a slice of step 0");
    if (size_varies_in_run(in->graph, item->step))
        return break_unknown_number(in, BREAK_INDEX, parts[2], "the step of a slice");
    return ANSWER_YES;
}

/* A list of numbers, one of which is not known. */
static Answer
break_index(Interp *in, Value *value)
{
    for (int i = 0; value->kind == V_LIST && i < value->nitems; i++) {
        Value *item = value_item(in, value, i);
        if (item == NULL) return ANSWER_ERROR;
        if (item->kind == V_NODE && value_is_number(in, item))
            return interp_break_told(in, BREAK_INDEX, break_of_index(in, item),
                                     "a list of numbers as an index");
    }
    BreakCode code = value_break(value, BREAK_INDEX);
    return code == BREAK_INDEX ? interp_break(in, code, "an index of this kind")
                               : interp_break(in, code, "an index: %s", value_describe(in, value));
}

static Answer
parse_item(Interp *in, Value *value, Item *item)
{
    *item = (Item){.value = value};
    if (value->kind == V_SLICE || (value->kind == V_CONST && PySlice_Check(value->object)))
        return parse_slice(in, value, item);
    if (value->kind == V_CONST && (value->object == Py_None || value->object == Py_Ellipsis)) {
        item->kind = value->object == Py_None ? ITEM_NEW : ITEM_ELLIPSIS;
        return ANSWER_YES;
    }
    if (value->kind == V_NODE) {
        Type type = node_type(in, value->node);
        if (type.dtype == DT_BOOL)
            item->kind = ITEM_MASK;
        else if (dtype_is_integer((DType)type.dtype))
            item->kind = ITEM_ARRAY;
        else
            return interp_break(in, BREAK_INDEX, "an index that is no integer");
        if (type.form == FORM_ARRAY || type.dtype == DT_BOOL) return ANSWER_YES;
    }
    Answer answer = int_as_size(in, value, &item->start);
    if (answer == ANSWER_YES && !(value->kind == V_CONST && PyBool_Check(value->object))) {
        item->kind = ITEM_INT;
        return answer;
    }
    if (answer_stops(answer)) return answer;
    if (value->kind == V_NODE && item->kind == ITEM_ARRAY) return ANSWER_YES;
    return break_index(in, value);
}

Answer
key_parse(Interp *in, Value *key, Item *items, int *n, bool *advanced)
{
    *n = 1;
    *advanced = false;
    if (key->kind != V_TUPLE) {
        TRY(parse_item(in, key, &items[0]));
    } else {
        if (key->nitems > MAX_ITEMS) return interp_break(in, BREAK_INDEX, "a very long index");
        *n = key->nitems;
        for (int i = 0; i < *n; i++) {
            Value *item = value_item(in, key, i);
            if (item == NULL) return ANSWER_ERROR;
            TRY(parse_item(in, item, &items[i]));
        }
    }
    for (int i = 0; i < *n; i++) *advanced = *advanced || items[i].kind >= ITEM_MASK;
    return ANSWER_YES;
}

static Answer
add_axis(Interp *in, Type *type, SizeId shape, SizeId stride)
{
    if (type->rank == MAX_RANK) return interp_break(in, BREAK_RANK, "more than 8 dimensions");
    if (shape == NO_SIZE || stride == NO_SIZE) return ANSWER_ERROR;
    type->shape[type->rank] = shape;
    type->stride[type->rank] = stride;
    type->rank++;
    return ANSWER_YES;
}

/* The printed form is of known numbers only. */
static void
note(Interp *in, BasicIndex *out, SizeId start, SizeId stop, SizeId step)
{
    if (out->nints + 3 > COUNT_OF(out->ints)) return;
    out->known = out->known && size_is_const(in->graph, start) && size_is_const(in->graph, stop) &&
                 size_is_const(in->graph, step);
    out->ints[out->nints++] = size_value(in->graph, start);
    out->ints[out->nints++] = size_value(in->graph, stop);
    out->ints[out->nints++] = size_value(in->graph, step);
}

/* offset + count * stride */
static Answer
move(Interp *in, Type *type, SizeId count, SizeId stride)
{
    type->offset = size_add(in->graph, type->offset, size_mul(in->graph, count, stride));
    return type->offset == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* An index that may be negative, as one from the beginning. */
static Answer
index_from_start(Interp *in, SizeId index, SizeId length, SizeId *out)
{
    Graph *g = in->graph;
    SizeId zero = size_const(g, 0), last = size_add(g, length, size_const(g, -1));
    bool known = size_is_const(g, index) && size_is_const(g, length);
    int64_t at = size_value(g, index), n = size_value(g, length);
    if (known && (at < -n || at >= n))
        return interp_break(in, BREAK_SHAPE, "index %lld is out of bounds", (long long)at);
    TRY(sizes_assert_at_most(in, index, last));
    *out = index;
    if (size_at_most(g, zero, index)) return ANSWER_YES;
    TRY(sizes_assert_at_most(in, size_sub(g, zero, length), index));
    *out = size_at_most(g, index, size_const(g, -1))
               ? size_add(g, index, length)
               : size_quotient(g, SIZE_MOD, index, length); /* -length <= index < length */
    return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* A bound of a slice that may be negative: `length` is added to it then. */
static SizeId
bound_from_start(Graph *g, SizeId bound, SizeId length)
{
    SizeId zero = size_const(g, 0), one_less = size_const(g, -1);
    if (size_at_most(g, zero, bound)) return bound;
    if (size_at_most(g, bound, one_less)) return size_add(g, bound, length);
    /* -1 where it is negative, else 0 */
    SizeId sign = size_extreme(g, SIZE_MOST, size_extreme(g, SIZE_LEAST, bound, zero), one_less);
    return sign == NO_SIZE ? NO_SIZE : size_sub(g, bound, size_mul(g, sign, length));
}

/* Between the sizes `low` and `high`, as Python clips it. */
static SizeId
clipped(Graph *g, SizeId bound, SizeId low, SizeId high)
{
    SizeId below = bound == NO_SIZE ? NO_SIZE : size_extreme(g, SIZE_LEAST, bound, high);
    return below == NO_SIZE ? NO_SIZE : size_extreme(g, SIZE_MOST, below, low);
}

/* How far it goes at each step, and whether downwards: guarded, where a length decides. */
static Answer
slice_step(Interp *in, const Item *item, SizeId *step, bool *down)
{
    Graph *g = in->graph;
    *down = false;
    *step = item->step == NO_SIZE ? size_const(g, 1) : item->step;
    if (item->step == NO_SIZE) return ANSWER_YES;
    TRY(size_decide(in, *step, down));
    if (*down) *step = size_mul(g, size_const(g, -1), *step);
    return size_is_const(g, *step) ? ANSWER_YES : length_is_some(in, *step, 1);
}

/* CPython Objects/sliceobject.c, PySlice_AdjustIndices, of sizes: the first index and the number of
   elements; *stop is where it would end. */
static Answer
slice_range(Interp *in, const Item *item, SizeId length, SizeId step, bool down, SizeId *start,
            SizeId *stop, SizeId *count)
{
    Graph *g = in->graph;
    SizeId low = size_const(g, down ? -1 : 0), high = size_add(g, length, low);
    if (low == NO_SIZE || high == NO_SIZE || step == NO_SIZE) return ANSWER_ERROR;
    *start = item->start == NO_SIZE
                 ? (down ? high : low)
                 : clipped(g, bound_from_start(g, item->start, length), low, high);
    *stop = item->stop == NO_SIZE ? (down ? low : high)
                                  : clipped(g, bound_from_start(g, item->stop, length), low, high);
    if (*start == NO_SIZE || *stop == NO_SIZE) return ANSWER_ERROR;
    SizeId reach = down ? size_sub(g, *start, *stop) : size_sub(g, *stop, *start);
    SizeId steps = size_add(g, reach, size_add(g, step, size_const(g, -1)));
    if (reach == NO_SIZE || steps == NO_SIZE) return ANSWER_ERROR;
    SizeId whole = size_quotient(g, SIZE_FLOOR_DIV, steps, step);
    *count = whole == NO_SIZE ? NO_SIZE : size_extreme(g, SIZE_MOST, whole, size_const(g, 0));
    return *count == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
take_slice(Interp *in, const Item *item, SizeId length, SizeId stride, BasicIndex *out)
{
    Graph *g = in->graph;
    SizeId step, start, stop, count;
    bool down;
    TRY(slice_step(in, item, &step, &down));
    TRY(slice_range(in, item, length, step, down, &start, &stop, &count));
    if (down) step = size_mul(g, size_const(g, -1), step);
    /* NumPy mapping.c, get_view_from_index: of a slice without elements the step is 1 */
    if (!size_is_single(g, step) && size_of_symbols(g, count)) TRY(length_is_some(in, count, 1));
    bool none = size_is_zero(g, count);
    if (!none) TRY(move(in, &out->type, start, stride));
    note(in, out, start, stop, step);
    SizeId walked = none ? stride : size_mul(g, stride, step);
    return add_axis(in, &out->type, count, walked);
}

Answer
key_view(Interp *in, const Type *from, const Item *items, int n, BasicIndex *out)
{
    Graph *g = in->graph;
    int taken = 0, axis = 0;
    bool ellipsis = false;
    for (int i = 0; i < n; i++) {
        taken += items[i].kind == ITEM_INT || items[i].kind == ITEM_SLICE;
        if (items[i].kind == ITEM_ELLIPSIS && ellipsis)
            return interp_break(in, BREAK_SHAPE, "two Ellipses in an index");
        ellipsis = ellipsis || items[i].kind == ITEM_ELLIPSIS;
    }
    if (taken > from->rank) return interp_break(in, BREAK_SHAPE, "too many indices");
    *out = (BasicIndex){.type = type_scalar((DType)from->dtype, FORM_ARRAY), .known = true};
    out->type.device = from->device;
    SizeId one = size_const(g, 1), zero = size_const(g, 0);
    out->type.offset = from->offset == NO_SIZE ? zero : from->offset;
    if (one == NO_SIZE || zero == NO_SIZE) return ANSWER_ERROR;
    for (int i = 0; i <= n; i++) {
        Item all = {.kind = ITEM_ELLIPSIS};
        const Item *item = i < n ? &items[i] : &all;
        if (i == n && ellipsis) break;
        SizeId length = axis < from->rank ? from->shape[axis] : zero;
        SizeId stride = axis < from->rank ? from->stride[axis] : zero;
        if (item->kind == ITEM_NEW) {
            TRY(add_axis(in, &out->type, one, zero));
        } else if (item->kind == ITEM_INT) {
            SizeId index = NO_SIZE;
            TRY(index_from_start(in, item->start, length, &index));
            TRY(move(in, &out->type, index, stride));
            note(in, out, index, size_add(g, index, one), zero);
            axis++;
        } else if (item->kind == ITEM_SLICE) {
            TRY(take_slice(in, item, length, stride, out));
            axis++;
        } else {
            int rest = i == n ? from->rank - axis : from->rank - taken;
            for (int k = 0; k < rest; k++, axis++) {
                TRY(add_axis(in, &out->type, from->shape[axis], from->stride[axis]));
                note(in, out, zero, from->shape[axis], one);
            }
        }
    }
    out->element = out->type.rank == 0 && !ellipsis;
    return ANSWER_YES;
}

Answer
node_index(Interp *in, NodeId array, Value *key, bool *element, NodeId *out)
{
    Type from = node_type(in, array);
    Item items[MAX_ITEMS];
    BasicIndex index;
    int n;
    bool advanced;
    TRY(key_parse(in, key, items, &n, &advanced));
    if (advanced) return ANSWER_NO;
    TRY(key_view(in, &from, items, n, &index));
    *element = index.element;
    if (!index.known) return node_view(in, OP_as_strided, array, &index.type, 0, NULL, out);
    return node_view(in, OP_slice, array, &index.type, index.nints, index.ints, out);
}

Answer
key_mask(Interp *in, const Item *items, int n, NodeId *out)
{
    if (n != 1 || items[0].kind != ITEM_MASK) return ANSWER_NO;
    TRY(operand(in, items[0].value, out));
    Type type = node_type(in, *out);
    return type.form == FORM_ARRAY && type.rank > 0 ? ANSWER_YES : ANSWER_NO;
}

PyObject *
numpy_step(Interp *in, const char *name)
{
    return module_kept(in, "pycompile._steps", name);
}

Answer
key_template(Interp *in, Value *key, const Item *items, int n, PyObject **out, int *narrays,
             NodeId *arrays)
{
    PyObject *hole = numpy_step(in, "HOLE");
    PyObject *tuple = hole == NULL ? NULL : PyTuple_New(n);
    if (tuple == NULL || keep(in, tuple) == NULL) return ANSWER_ERROR;
    *narrays = 0;
    for (int i = 0; i < n; i++) {
        PyObject *object = hole;
        Value *value = key->kind == V_TUPLE ? value_item(in, key, i) : key;
        if (items[i].kind >= ITEM_MASK) {
            TRY(operand(in, value, &arrays[(*narrays)++]));
        } else {
            Answer answer = value_known(in, value, &object);
            if (answer == ANSWER_NO) return interp_break(in, BREAK_INDEX, "an unknown index");
            if (answer != ANSWER_YES) return answer;
        }
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(object));
    }
    *out = tuple;
    return ANSWER_YES;
}
