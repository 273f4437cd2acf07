/* Subscripts of arrays, read and written.
   Basic indexing (ints, slices, Ellipsis, None) is a view; ints for all axes give an array scalar.
   Reads with integer arrays or masks are calls of NumPy when the plan runs; the shape of a masked
   result depends on the data.  Assignment to a basic index is a scatter; with a mask and a scalar,
   it is `where` and a scatter; other assignments are a call that returns the whole array anew,
   which is not made where nobody reads it (places.c). */
#include "numpy.h"

typedef struct {
    Type type;    /* type of the view */
    bool element; /* ints for all axes and no Ellipsis: an array scalar */
    bool known;   /* it is of known numbers only */
    int nints;    /* start, stop, step per axis of the argument, for the printed form */
    int64_t ints[3 * MAX_RANK];
} BasicIndex;

typedef enum { ITEM_INT, ITEM_SLICE, ITEM_NEW, ITEM_ELLIPSIS, ITEM_MASK, ITEM_ARRAY } ItemKind;

typedef struct {
    ItemKind kind;
    SizeId start, stop; /* NO_SIZE: not given */
    int64_t step;
    Value *value; /* ITEM_MASK, ITEM_ARRAY */
} Item;

enum { MAX_ITEMS = 2 * MAX_RANK + 2 };

/* An int as a size: a number that is known from now on, or one that changes from turn to turn. */
static Answer
int_as_size(Interp *in, Value *value, SizeId *out)
{
    int64_t number;
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
    SizeId step;
    item->kind = ITEM_SLICE;
    TRY(slice_bound(in, parts[0], &item->start));
    TRY(slice_bound(in, parts[1], &item->stop));
    TRY(slice_bound(in, parts[2], &step));
    if (!size_is_const(in->graph, step))
        return break_unknown_number(in, BREAK_INDEX, parts[2], "the step of a slice");
    item->step = step == NO_SIZE ? 1 : size_value(in->graph, step);
    if (item->step == 0) return interp_break(in, BREAK_SHAPE, "a slice of step 0");
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

/* The items of a key; *advanced is set where it contains masks or arrays. */
static Answer
parse_key(Interp *in, Value *key, Item *items, int *n, bool *advanced)
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
note(Interp *in, BasicIndex *out, SizeId start, SizeId stop, int64_t step)
{
    if (out->nints + 3 > COUNT_OF(out->ints)) return;
    out->known = out->known && size_is_const(in->graph, start) && size_is_const(in->graph, stop);
    out->ints[out->nints++] = size_value(in->graph, start);
    out->ints[out->nints++] = size_value(in->graph, stop);
    out->ints[out->nints++] = step;
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

/* CPython Objects/sliceobject.c, PySlice_AdjustIndices, of sizes: the first index and the number of
   elements; *stop is where it would end. */
static Answer
slice_range(Interp *in, const Item *item, SizeId length, SizeId *start, SizeId *stop, SizeId *count)
{
    Graph *g = in->graph;
    bool down = item->step < 0;
    SizeId low = size_const(g, down ? -1 : 0), high = size_add(g, length, low);
    SizeId step = size_const(g, down ? -item->step : item->step);
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
    SizeId start, stop, count;
    TRY(slice_range(in, item, length, &start, &stop, &count));
    /* NumPy mapping.c, get_view_from_index: of a slice without elements the step is 1 */
    if (item->step != 1 && size_of_symbols(g, count)) TRY(length_is_some(in, count, 1));
    bool none = size_is_zero(g, count);
    if (!none) TRY(move(in, &out->type, start, stride));
    note(in, out, start, stop, item->step);
    SizeId walked = none ? stride : size_mul(g, stride, size_const(g, item->step));
    return add_axis(in, &out->type, count, walked);
}

static Answer
basic_index(Interp *in, const Type *from, const Item *items, int n, BasicIndex *out)
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
            note(in, out, index, size_add(g, index, one), 0);
            axis++;
        } else if (item->kind == ITEM_SLICE) {
            TRY(take_slice(in, item, length, stride, out));
            axis++;
        } else {
            int rest = i == n ? from->rank - axis : from->rank - taken;
            for (int k = 0; k < rest; k++, axis++) {
                TRY(add_axis(in, &out->type, from->shape[axis], from->stride[axis]));
                note(in, out, zero, from->shape[axis], 1);
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
    TRY(parse_key(in, key, items, &n, &advanced));
    if (advanced) return ANSWER_NO;
    TRY(basic_index(in, &from, items, n, &index));
    *element = index.element;
    if (!index.known) return node_view(in, OP_as_strided, array, &index.type, 0, NULL, out);
    return node_view(in, OP_slice, array, &index.type, index.nints, index.ints, out);
}

/* ---- integer arrays ---- */

/* pycompile._steps.NAME, which performs a kind of subscript when the plan runs. */
PyObject *
numpy_step(Interp *in, const char *name)
{
    return module_kept(in, "pycompile._steps", name);
}

/* The index as a step's argument: a tuple of the known items, with `_steps.HOLE` in the place of
   each array. */
static Answer
index_template(Interp *in, Value *key, const Item *items, int n, PyObject **out, int *narrays,
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

/* An index of integers, some of which are not known: it gives a view, where it does not name one
   element.  The first such integer; NULL: it is another index. */
static Value *
unknown_place(Interp *in, const Type *from, const Item *items, int n)
{
    Value *first = NULL;
    int taken = 0;
    for (int i = 0; i < n; i++) {
        bool number = items[i].kind == ITEM_ARRAY && value_is_number(in, items[i].value);
        if (items[i].kind >= ITEM_MASK && !number) return NULL;
        if (number && first == NULL) first = items[i].value;
        taken += number || items[i].kind == ITEM_INT;
    }
    return taken < from->rank ? first : NULL;
}

static Answer
told_mask(Interp *in)
{
    Answer answer = interp_break_told(in, BREAK_INDEX, BREAK_DATA_SIZE, "a mask as index");
    if (in->told.code == BREAK_DATA_SIZE) in->told.hint = HINT_MASK;
    return answer;
}

static Answer
advanced_read(Interp *in, NodeId array, Value *key, const Item *items, int n, NodeId *out)
{
    for (int i = 0; i < n; i++)
        if (items[i].kind == ITEM_MASK) return told_mask(in);
    Type from = node_type(in, array);
    Value *number = unknown_place(in, &from, items, n);
    if (number != NULL)
        return interp_break_told(in, BREAK_INDEX, break_of_index(in, number),
                                 "a view of an array that is made or written here");
    NodeId args[MAX_ITEMS + 2];
    PyObject *template;
    int narrays;
    TRY(index_template(in, key, items, n, &template, &narrays, args + 2));
    PyObject *function = numpy_step(in, "take");
    if (function == NULL) return ANSWER_ERROR;
    TRY_NODE(args[0], node_object(in, template));
    args[1] = array;
    return node_trial(in, function, narrays + 2, args, NULL, out);
}

/* Does the index contain a boolean array, whose number of true elements is the result's length? A
   list that contains itself does not. */
static bool
key_has_mask(Interp *in, Value *key, int depth)
{
    if (depth > MAX_RANK) return false;
    if (key->kind == V_TUPLE || key->kind == V_LIST) {
        for (int i = 0; i < key->nitems; i++) {
            Value *item = value_item(in, key, i);
            if (item != NULL && key_has_mask(in, item, depth + 1)) return true;
        }
        return false;
    }
    return key->kind == V_NODE && node_type(in, key->node).dtype == DT_BOOL;
}

/* The only item of a key, where it is a mask that is an array. */
static Answer
only_mask(Interp *in, const Item *items, int n, NodeId *out)
{
    if (n != 1 || items[0].kind != ITEM_MASK) return ANSWER_NO;
    TRY(operand(in, items[0].value, out));
    Type type = node_type(in, *out);
    return type.form == FORM_ARRAY && type.rank > 0 ? ANSWER_YES : ANSWER_NO;
}

/* A mask has the lengths of the axes that it selects from. */
static Answer
mask_fits(Interp *in, NodeId array, NodeId mask)
{
    Type from = node_type(in, array), by = node_type(in, mask);
    for (int i = 0; i < by.rank && i < from.rank; i++)
        if (!size_is_const(in->graph, from.shape[i]) || !size_is_const(in->graph, by.shape[i]))
            TRY(sizes_assert_same(in, from.shape[i], by.shape[i]));
    return ANSWER_YES;
}

static Answer
subscript_node(Interp *in, Value *array, Value *key, Value **out)
{
    NodeId node, result;
    TRY(array_operand(in, array, &node));
    if (node_type(in, node).form != FORM_ARRAY)
        return interp_break(in, BREAK_INDEX, "a subscript of a scalar");
    bool element;
    Answer answer = node_index(in, node, key, &element, &result);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_YES) {
        if (element) TRY(node_form(in, result, FORM_SCALAR, &result));
        return push_node(in, result, out);
    }
    Item items[MAX_ITEMS];
    NodeId mask;
    int n;
    bool advanced;
    TRY(parse_key(in, key, items, &n, &advanced));
    answer = only_mask(in, items, n, &mask);
    if (answer == ANSWER_YES) TRY(mask_fits(in, node, mask));
    if (answer == ANSWER_YES) answer = masked_read(in, node, mask, out);
    if (answer != ANSWER_NO) return answer;
    TRY(advanced_read(in, node, key, items, n, &result));
    return push_node(in, result, out);
}

/* The type of the view that a key of integers and slices names.  *placed: but for its place, which
   only the run tells.  ANSWER_NO: it is another key. */
static Answer
view_of_key(Interp *in, Value *array, Value *key, bool *placed, Type *part)
{
    if (!value_is_array(in, array)) return ANSWER_NO;
    NodeId node;
    TRY(array_operand(in, array, &node));
    Type from = node_type(in, node);
    Item items[MAX_ITEMS];
    BasicIndex index;
    int n;
    bool advanced;
    TRY(parse_key(in, key, items, &n, &advanced));
    *placed = unknown_place(in, &from, items, n) != NULL;
    if (advanced && (!*placed || !type_is_known(in->graph, &from))) return ANSWER_NO;
    for (int i = 0; i < n; i++)
        if (items[i].kind == ITEM_ARRAY)
            items[i] = (Item){.kind = ITEM_INT, .start = size_const(in->graph, 0)};
    TRY(basic_index(in, &from, items, n, &index));
    *part = index.type;
    if (*placed) part->offset = NO_SIZE;
    return ANSWER_YES;
}

Answer
emit_subscript(Interp *in, Value *array, Value *key, Value **out)
{
    VARYING(in, made, subscript_node(in, array, key, out));
    if (made != ANSWER_BREAK) return made;
    Answer answer;
    Value *args[2] = {array, key};
    WholeCall call = {.callable = module_kept(in, "operator", "getitem"), .nargs = 2, .args = args};
    if (call.callable == NULL) return ANSWER_ERROR;
    call.opaque = key_has_mask(in, key, 0);
    Type part;
    BreakNote note = break_take(in);
    in->memory.varies = VARIES_SYMBOLS; /* it only looks */
    bool placed;
    Answer view = view_of_key(in, array, key, &placed, &part);
    in->memory.varies = varied_;
    if (view == ANSWER_ERROR) return view;
    break_take(in);
    call.placed = view == ANSWER_YES && placed;
    call.fixed = key_gathers(in, key);
    break_put(in, &note);
    answer = call_whole_instead(in, &call, out);
    if (answer == ANSWER_YES && call.placed && place_note(in, *out, array, key, &part) < 0)
        return ANSWER_ERROR;
    return answer;
}

/* ---- writing ---- */

/* The value is what the place already holds: `x[i] += y` ends with a store of what it has just
   written. */
static bool
is_that_place(Interp *in, NodeId value, NodeId version, const Type *place)
{
    const Node *node = graph_node(in->graph, value);
    if (node->storage != version || node->type.dtype != place->dtype) return false;
    if (!type_same_shape(&node->type, place)) return false;
    for (int i = 0; i < place->rank; i++)
        if (node->type.stride[i] != place->stride[i]) return false;
    return size_same(in->graph, node->type.offset, place->offset);
}

/* NumPy stores a scalar in integers by way of a Python int, which must be in range, while a cast of
   the scalar would wrap.  The cast of a Python int guards its range. */
bool
stores_as_cast(Interp *in, NodeId value, DType to)
{
    const Node *node = graph_node(in->graph, value);
    DType from = (DType)node->type.dtype;
    if (node->type.rank > 0 || !dtype_is_integer(to) || from == to || from == DT_BOOL) return true;
    if (dtype_is_integer(from)) {
        if (node->type.form == FORM_PYTHON) return true;
        bool grows = dtype_size(from) < dtype_size(to);
        return dtype_is_signed(from) == dtype_is_signed(to) ? grows : grows && dtype_is_signed(to);
    }
    if (node->op != OP_const || !PyFloat_Check(node->attrs.object)) return false;
    double number = PyFloat_AS_DOUBLE(node->attrs.object);
    return number >= 0 && number <= 127;
}

static Answer write_place(Interp *in, Value *array, const Type *place, NodeId value);

/* A write to a view of another dtype than its storage (x.view(np.uint8), x.real of complex
   numbers): a step writes it in a copy of the storage, which is the storage's next version. */
static Answer
write_through(Interp *in, Value *array, const Type *place, NodeId version, NodeId value)
{
    Type whole = node_type(in, version);
    if (in->loop != NULL || !size_is_const(in->graph, place->offset))
        return interp_break(in, BREAK_STORE, "a write through a view of another dtype");
    PyObject *class_ = calls_object(in, "WriteThrough"), *writer = NULL;
    PyObject *dtype = keep(in, array_dtype_object((DType)place->dtype));
    PyObject *shape = keep(in, graph_view_sizes(in->graph, place->rank, place->shape));
    PyObject *strides = keep(in, graph_view_sizes(in->graph, place->rank, place->stride));
    int64_t offset = size_value(in->graph, place->offset) - size_value(in->graph, whole.offset);
    if (class_ != NULL && dtype != NULL && shape != NULL && strides != NULL)
        writer = keep(
            in, PyObject_CallFunction(class_, "OLOO", dtype, (long long)offset, shape, strides));
    if (writer == NULL) return ANSWER_ERROR;
    NodeId args[2] = {version, value}, written;
    TRY(node_extern(in, writer, 2, args, &whole, &written));
    return write_place(in, array, &whole, written);
}

/* Where lengths that change from turn to turn cannot be shown to be equal, they are asserted to be,
   and *value becomes a view of the target's shape. */
static Answer
value_fits(Interp *in, NodeId *value, const Type *place)
{
    Graph *g = in->graph;
    Type have = node_type(in, *value), view = have;
    bool same = true;
    for (int i = 1; i <= have.rank; i++) {
        SizeId from = have.shape[have.rank - i], to = place->shape[place->rank - i];
        if (size_same(g, from, to) || size_is_one(g, from)) continue;
        if (size_is_const(g, from) && size_is_const(g, to))
            return interp_break(in, BREAK_SHAPE, "a value that does not fit its target");
        TRY(sizes_assert_same(in, from, to));
        if (size_same(g, from, to)) continue;
        view.shape[have.rank - i] = to;
        same = false;
    }
    return same ? ANSWER_YES : node_view(in, OP_as_strided, *value, &view, 0, NULL, value);
}

/* Writes `value` to a view `place` of `array`: casts as item assignment does, broadcasts, and makes
   the storage's next version. */
static Answer
write_place(Interp *in, Value *array, const Type *place, NodeId value)
{
    int storage = storage_of(in, array->node);
    if (storage < 0) return ANSWER_ERROR;
    DType held = (DType)node_type(in, in->memory.storages.at[storage].version).dtype;
    TRY(write_allowed(in, array));
    if (type_repeats(in->graph, place)) return interp_break(in, BREAK_SHARED, "%s", "");
    if (is_that_place(in, value, in->memory.storages.at[storage].version, place)) return ANSWER_YES;
    Copy copy = {.target = array->node, .value = value, .to = *place, .from = node_type(in, value)};
    TRY(copy_allowed(in, &copy));
    if (held != (DType)place->dtype)
        return write_through(in, array, place, in->memory.storages.at[storage].version, value);
    if (!stores_as_cast(in, value, (DType)place->dtype))
        return interp_break(in, BREAK_STORE, "a scalar stored in integers that may not hold it");
    TRY(node_cast(in, value, (DType)place->dtype, &value));
    Type have = node_type(in, value);
    if (have.rank > place->rank) { /* leading axes of length 1 are dropped */
        int extra = have.rank - place->rank;
        for (int i = 0; i < extra; i++)
            if (!size_is_one(in->graph, have.shape[i]))
                return interp_break(in, BREAK_SHAPE, "a value of more dimensions than its target");
        Type view = have;
        view.rank = place->rank;
        for (int i = 0; i < view.rank; i++) {
            view.shape[i] = have.shape[i + extra];
            view.stride[i] = have.stride[i + extra];
        }
        TRY(node_view(in, OP_squeeze, value, &view, 0, NULL, &value));
        have = view;
    }
    TRY(value_fits(in, &value, place));
    Type view = *place;
    NodeId args[2] = {in->memory.storages.at[storage].version, value};
    Type whole = node_type(in, args[0]);
    Attrs attrs = {.view = &view};
    NodeId version;
    TRY_NODE(version, graph_add(in->graph, in->region, OP_scatter, 2, args, &whole, &attrs));
    return storage_write_part(in, array->node, version, value, place) < 0 ? ANSWER_ERROR
                                                                          : ANSWER_YES;
}

Answer
node_write(Interp *in, Value *target, NodeId value)
{
    NodeId node;
    TRY(array_operand(in, target, &node));
    Type place = node_type(in, node), have = node_type(in, value);
    /* An output is never broadcast: neither may it grow. */
    if (have.rank > place.rank)
        return interp_break(in, BREAK_SHAPE, "a result that does not fit its output");
    return write_place(in, target, &place, value);
}

/* x[mask] = value, of a value for all of x from which the mask chooses. */
static Answer
write_mask(Interp *in, Value *array, NodeId node, NodeId mask, NodeId value)
{
    NodeId result;
    Type from = node_type(in, node), shape = node_type(in, mask);
    for (int i = 0; i < shape.rank; i++)
        if (shape.shape[i] != from.shape[i])
            return interp_break(in, BREAK_SHAPE, "a mask of another shape");
    TRY(mask_widened(in, mask, from.rank, &mask));
    TRY(node_cast(in, value, (DType)from.dtype, &value));
    TRY(node_where(in, mask, value, node, &result));
    return node_write(in, array, result);
}

/* NumPy (mapping.c, array_assign_boolean_subscript) stores by a mask of the array's own rank
   element by element, and copies nothing that shares the array's memory, as it does for every other
   index: a value or a mask that is a view of the array is read while the store changes it.  An
   array that is its own mask is read at each element just before that is written.  NO_NODE for a
   value that is a new array. */
static Answer
mask_store_allowed(Interp *in, NodeId array, NodeId mask, NodeId value)
{
    Type type = node_type(in, array), by = node_type(in, mask);
    if (by.form != FORM_ARRAY || by.rank == 0 || by.rank != type.rank) return ANSWER_YES;
    int storage = storage_of(in, array), of_mask = storage_of(in, mask);
    if (storage < 0 || of_mask < 0) return ANSWER_ERROR;
    bool seen = of_mask == storage && !type_same_place(in->graph, &type, &by);
    if (value != NO_NODE && node_type(in, value).form == FORM_ARRAY) {
        int of_value = storage_of(in, value);
        if (of_value < 0) return ANSWER_ERROR;
        seen = seen || of_value == storage;
    }
    if (!seen) return ANSWER_YES;
    return break_hinted(in, BREAK_OVERLAP, HINT_COPY,
                        "a store by a mask, of a view of the array or by one");
}

/* x[mask] = value, where the value is made of what this mask selects of other arrays.  ANSWER_NO:
   it is another one. */
static Answer
write_masked(Interp *in, Value *array, NodeId node, const Item *items, int n, const Value *value)
{
    NodeId mask, elements;
    Type type = node_type(in, node);
    TRY(only_mask(in, items, n, &mask));
    TRY(masked_elements(in, value, mask, (DType)type.dtype, &elements));
    Type given = node_type(in, elements);
    if (!type_same_shape(&given, &type)) return ANSWER_NO;
    TRY(mask_store_allowed(in, node, mask, NO_NODE));
    return write_mask(in, array, node, mask, elements);
}

/* The only advanced item, where it is a mask: its place among them. */
static Answer
mask_among_slices(Interp *in, const Item *items, int n, int *at, NodeId *mask)
{
    *at = -1;
    for (int i = 0; i < n; i++) {
        if (items[i].kind < ITEM_MASK) continue;
        if (items[i].kind == ITEM_ARRAY || *at >= 0) return ANSWER_NO;
        *at = i;
    }
    return *at < 0 ? ANSWER_NO : only_mask(in, items + *at, 1, mask);
}

/* How many axes a view has of such items, an Ellipsis's not counted. */
static int
axes_of_items(const Item *items, int n, bool *ellipsis)
{
    int axes = 0;
    for (int i = 0; i < n; i++) {
        axes += items[i].kind == ITEM_SLICE || items[i].kind == ITEM_NEW;
        *ellipsis = *ellipsis || items[i].kind == ITEM_ELLIPSIS;
    }
    return axes;
}

/* x[1:, mask] = value, of a number: a mask of some axes of x[1:, :]. */
static Answer
write_mask_among_slices(Interp *in, Value *array, NodeId node, const Item *items, int n,
                        NodeId value)
{
    int at, count = 0;
    NodeId mask, view, result;
    TRY(mask_among_slices(in, items, n, &at, &mask));
    Type from = node_type(in, node), by = node_type(in, mask);
    const Item whole = {.kind = ITEM_SLICE, .start = NO_SIZE, .stop = NO_SIZE, .step = 1};
    Item basic[MAX_ITEMS + MAX_RANK];
    BasicIndex index;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < (i == at ? by.rank : 1); k++)
            basic[count++] = i == at ? whole : items[i];
    TRY(basic_index(in, &from, basic, count, &index));
    bool before = false, behind = false;
    int front = axes_of_items(items, at, &before);
    int rest = axes_of_items(items + at + 1, n - at - 1, &behind);
    if (before) front = index.type.rank - by.rank - rest;
    for (int i = 0; i < by.rank; i++)
        if (by.shape[i] != index.type.shape[front + i]) return ANSWER_NO;
    TRY(node_view(in, OP_as_strided, node, &index.type, 0, NULL, &view));
    TRY(mask_widened(in, mask, index.type.rank - front, &mask));
    TRY(node_cast(in, value, (DType)from.dtype, &value));
    TRY(node_where(in, mask, value, view, &result));
    return write_place(in, array, &index.type, result);
}

static Answer
advanced_write(Interp *in, Value *array, NodeId node, Value *key, const Item *items, int n,
               NodeId value)
{
    Type type = node_type(in, node), fresh, given = node_type(in, value);
    if (n == 1 && items[0].kind == ITEM_MASK) {
        NodeId mask;
        TRY(operand(in, items[0].value, &mask));
        TRY(mask_store_allowed(in, node, mask, value));
    }
    NodeId mask;
    Answer masked = given.rank == 0 ? only_mask(in, items, n, &mask) : ANSWER_NO;
    if (answer_stops(masked)) return masked;
    bool casts = given.form != FORM_PYTHON || stores_as_cast(in, value, (DType)type.dtype);
    if (masked == ANSWER_YES && node_type(in, mask).rank <= type.rank && casts)
        return write_mask(in, array, node, mask, value);
    if (n > 1 && given.rank == 0 && casts) {
        Answer answer = write_mask_among_slices(in, array, node, items, n, value);
        if (answer != ANSWER_NO) return answer;
    }
    NodeId args[MAX_ITEMS + 3], result;
    PyObject *template;
    int narrays;
    TRY(index_template(in, key, items, n, &template, &narrays, args + 3));
    PyObject *function = numpy_step(in, "put");
    if (function == NULL) return ANSWER_ERROR;
    TRY_NODE(args[0], node_object(in, template));
    args[1] = node;
    args[2] = value;
    TRY(fresh_type(in, &fresh, (DType)type.dtype, &type, 'K'));
    TRY(node_extern(in, function, narrays + 3, args, &fresh, &result));
    return node_write(in, array, result);
}

/* How many elements are stored is known to the run alone: none would be tried that fit a list. */
static bool
has_mask(const Item *items, int n)
{
    for (int i = 0; i < n; i++)
        if (items[i].kind == ITEM_MASK) return true;
    return false;
}

static Answer
store_node(Interp *in, Value *array, Value *key, Value *value)
{
    NodeId node, from;
    TRY(array_operand(in, array, &node));
    Type type = node_type(in, node);
    if (type.form != FORM_ARRAY) return interp_break(in, BREAK_STORE, "a store into a scalar");
    Item items[MAX_ITEMS];
    int n;
    bool advanced;
    if (value_is_opaque(in, value)) {
        TRY(parse_key(in, key, items, &n, &advanced));
        Answer answer = write_masked(in, array, node, items, n, value);
        if (answer != ANSWER_NO) return answer;
    }
    TRY(parse_key(in, key, items, &n, &advanced));
    if (value_is_sequence(value) && has_mask(items, n))
        TRY(array_from_list(in, value, NULL, &from));
    else
        TRY(operand(in, value, &from));
    if (advanced) return advanced_write(in, array, node, key, items, n, from);
    int integers = 0;
    for (int i = 0; i < n; i++) integers += items[i].kind == ITEM_INT;
    if (integers == n && n == type.rank && node_type(in, from).rank > 0)
        return interp_break(in, BREAK_SHAPE, "an array assigned to one element");
    BasicIndex index;
    TRY(basic_index(in, &type, items, n, &index));
    return write_place(in, array, &index.type, from);
}

static Answer
store_or_step(Interp *in, Value *array, Value *key, Value *value)
{
    VARYING(in, answer, store_node(in, array, key, value));
    if (answer != ANSWER_BREAK) return answer;
    Value *args[3] = {array, key, value}, *none;
    WholeCall call = {.callable = module_kept(in, "operator", "setitem"), .nargs = 3, .args = args};
    if (call.callable == NULL) return ANSWER_ERROR;
    call.changes = 1;
    return call_whole_instead(in, &call, &none);
}

/* A value that is a view of the array, where only the run tells the place of one of the two. */
static Answer
placed_store_allowed(Interp *in, Value *array, Value *key, Value *value)
{
    const Opaque *view = value_is_opaque(in, value) ? opaque_of(in, value->node) : NULL;
    if (!value_is_array(in, array) ||
        (view != NULL ? view->of == NULL : !value_is_array(in, value)))
        return ANSWER_YES;
    Copy copy = {.target = array->node, .value = value->node, .placed = true};
    if (view != NULL) copy.value = view->of->node;
    copy.from = view != NULL ? view->part : node_type(in, value->node);
    if (storage_of(in, copy.target) != storage_of(in, copy.value)) return ANSWER_YES;
    bool placed;
    VARYING(in, answer, view_of_key(in, array, key, &placed, &copy.to)); /* as the store does */
    if (answer != ANSWER_YES) return answer == ANSWER_NO ? ANSWER_YES : answer;
    return placed || view != NULL ? copy_allowed(in, &copy) : ANSWER_YES;
}

Answer
emit_store_subscript(Interp *in, Value *array, Value *key, Value *value)
{
    Value *at = NULL, *stored = NULL;
    NodeId copy;
    TRY(placed_store_allowed(in, array, key, value));
    Answer copied = place_copy(in, value, &copy);
    if (answer_stops(copied)) return copied;
    if (copied == ANSWER_YES && (value = value_node(in, copy)) == NULL) return ANSWER_ERROR;
    Answer open = open_store(in, array, key, value, &at, &stored);
    if (open == ANSWER_ERROR) return open;
    int before = in->memory.writes.len;
    TRY(store_or_step(in, array, key, value));
    if (open == ANSWER_YES && in->memory.writes.len == before + 1) open_stored(in, at, stored);
    return ANSWER_YES;
}
