/* Subscripts that are assigned.
   Assignment to a basic index is a scatter; with a mask and a scalar, it is `where` and a scatter;
   other assignments are a call that returns the whole array anew, which is not made where nobody
   reads it (places.c). */
#include "index.h"

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
    uint8_t outer = in->memory.varies;
    if (outer == VARIES_NOT) in->memory.varies = VARIES_SYMBOLS;
    Answer answer = array_operand(in, target, &node);
    in->memory.varies = outer;
    TRY(answer);
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
    TRY(key_mask(in, items, n, &mask));
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
    return *at < 0 ? ANSWER_NO : key_mask(in, items + *at, 1, mask);
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
    const Item whole = {.kind = ITEM_SLICE, .start = NO_SIZE, .stop = NO_SIZE, .step = NO_SIZE};
    Item basic[MAX_ITEMS + MAX_RANK];
    BasicIndex index;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < (i == at ? by.rank : 1); k++)
            basic[count++] = i == at ? whole : items[i];
    TRY(key_view(in, &from, basic, count, &index));
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
    Answer masked = given.rank == 0 ? key_mask(in, items, n, &mask) : ANSWER_NO;
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
    TRY(key_template(in, key, items, n, &template, &narrays, args + 3));
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
        TRY(key_parse(in, key, items, &n, &advanced));
        Answer answer = write_masked(in, array, node, items, n, value);
        if (answer != ANSWER_NO) return answer;
    }
    TRY(key_parse(in, key, items, &n, &advanced));
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
    TRY(key_view(in, &type, items, n, &index));
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
    VARYING(in, answer, key_placed_view(in, array, key, &placed, &copy.to)); /* as the store does */
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
