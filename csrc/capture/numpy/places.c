/* Views at places that only the run tells: A[p] of a number p out of an array.

   The step array[key] makes the view itself, and raises what Python would.  Its shape is known all
   the same, so what is copied of it (`A[p].copy()`, `A[k] = A[p]`) is an array like any other: a
   pivot's rows can be exchanged in the graph.  Everything else is done by steps that take the view.

   A store to such a place, or by a list or an array of integers, makes a copy of the whole array in
   the graph, for those who read it.  Into an array from outside the value is stored by NumPy itself
   at commit; before, the plan makes sure that the store cannot fail.

   The view is one of the memory as it is when the step runs, and a graph writes memory at commit
   only.  So a copy made after a write takes a view of the version of then, other steps do not
   follow, and a view of what was made or written here does not leave. */
#include "numpy.h"

int
place_note(Interp *in, const Value *view, Value *array, Value *key, const Type *part)
{
    Opaque *opaque = opaque_of(in, view->node);
    int storage = storage_of(in, array->node);
    if (opaque == NULL || storage < 0) return storage;
    opaque->of = array;
    opaque->key = key;
    opaque->version = in->memory.storages.at[storage].version;
    opaque->part = *part;
    opaque->step = in->attempt.steps;
    return 0;
}

static const Opaque *
placed(Interp *in, const Value *view)
{
    const Opaque *opaque = value_is_opaque(in, view) ? opaque_of(in, view->node) : NULL;
    return opaque == NULL || opaque->of == NULL ? NULL : opaque;
}

/* The storage is as it was when the view was taken. */
static bool
is_current(Interp *in, const Opaque *view)
{
    int storage = storage_of(in, view->of->node);
    return storage >= 0 && in->memory.storages.at[storage].version == view->version;
}

Answer
place_copy(Interp *in, const Value *view, NodeId *out)
{
    const Opaque *opaque = placed(in, view);
    if (opaque == NULL) return ANSWER_NO;
    Type type, part = opaque->part;
    NodeId node = view->node;
    if (!is_current(in, opaque)) {
        Value *again;
        TRY(emit_subscript(in, opaque->of, opaque->key, &again));
        node = again->node;
    }
    PyObject *copy = keep(in, PyObject_GetAttrString((PyObject *)array_class(), "copy"));
    if (copy == NULL ||
        type_contiguous(in->graph, &type, (DType)part.dtype, part.rank, part.shape) < 0)
        return ANSWER_ERROR;
    type.form = FORM_ARRAY;
    return node_extern(in, copy, 1, &node, &type, out);
}

Answer
place_read(Interp *in, const Value *view, bool product, NodeId *out)
{
    enum { SMALL = 1 << 10 }; /* elements: a step with them takes no less than to copy them */
    const Opaque *opaque = placed(in, view);
    if (opaque == NULL || type_elements(in->graph, &opaque->part) > SMALL) return ANSWER_NO;
    bool alike =
        type_is_contiguous(in->graph, &opaque->part) || (opaque->part.rank == 1 && !product);
    return alike ? place_copy(in, view, out) : ANSWER_NO;
}

Answer
place_taken(Interp *in, const Opaque *view)
{
    int storage = storage_of(in, view->of->node);
    if (storage < 0) return ANSWER_ERROR;
    if (in->memory.storages.at[storage].written || input_of(in, view->of->node) == NULL)
        return interp_break_told(in, BREAK_INDEX, view->why,
                                 "a view of an array that is made or written here");
    in->memory.storages.at[storage].shown = view->why;
    return ANSWER_YES;
}

Answer
place_leaves(Interp *in, const Value *view)
{
    const Opaque *opaque = placed(in, view);
    if (opaque == NULL) return ANSWER_YES;
    Value *input = input_of(in, opaque->of->node);
    if (input != NULL && opaque->version == input->node) return ANSWER_YES;
    if (in->raising.unbuilt == 0 || opaque->step < in->raising.unbuilt)
        in->raising.unbuilt = opaque->step;
    return interp_break_told(in, BREAK_INDEX, opaque->why,
                             "a view of an array that is made or written here");
}

/* ---- reads by lists ---- */

static bool
is_integer(Interp *in, const Value *value)
{
    if (value->kind == V_CONST)
        return PyLong_CheckExact(value->object) ||
               (array_scalar_check(value->object) && PyIndex_Check(value->object));
    if (value->kind != V_NODE || value_is_array(in, value) || value_is_opaque(in, value))
        return false;
    return dtype_is_integer((DType)node_type(in, value->node).dtype);
}

static bool
is_list_of_integers(Interp *in, Value *value)
{
    if (value->kind != V_LIST) return false;
    for (int i = 0; i < value->nitems; i++) {
        Value *item = value_item(in, value, i);
        if (item == NULL || !is_integer(in, item)) return false;
    }
    return value->nitems > 0;
}

static bool
is_plain_slice(Interp *in, Value *value)
{
    PyObject *known;
    if (value->kind == V_CONST) return PySlice_Check(value->object);
    for (int i = 0; value->kind == V_SLICE && i < value->nitems; i++)
        if (value_known(in, value->items[i], &known) != ANSWER_YES) return false;
    return value->kind == V_SLICE;
}

bool
key_gathers(Interp *in, Value *key)
{
    bool any = is_list_of_integers(in, key);
    if (key->kind != V_TUPLE) return any;
    for (int i = 0; i < key->nitems; i++) {
        Value *item = value_item(in, key, i);
        if (item == NULL) return false;
        bool list = is_list_of_integers(in, item);
        if (!list && !is_integer(in, item) && !is_plain_slice(in, item)) return false;
        any = any || list;
    }
    return any;
}

/* ---- stores ---- */

/* A number that only the run tells, a slice with one, a list, or an array of integers.  A number
   that may become known does so here: as an index it would in any case. */
static Answer
is_open(Interp *in, Value *item)
{
    int64_t known;
    Answer open = ANSWER_NO;
    if (item->kind == V_LIST) return ANSWER_YES;
    for (int i = 0; item->kind == V_SLICE && i < item->nitems && open == ANSWER_NO; i++)
        open = is_open(in, item->items[i]);
    if (item->kind == V_SLICE) return open;
    if (item->kind != V_NODE || value_is_opaque(in, item)) return ANSWER_NO;
    Type type = node_type(in, item->node);
    if (type.dtype == DT_BOOL || !dtype_is_integer((DType)type.dtype)) return ANSWER_NO;
    if (type.form == FORM_ARRAY) return ANSWER_YES;
    Answer answer = value_as_int(in, item, &known);
    return answer == ANSWER_YES ? ANSWER_NO : answer == ANSWER_NO ? ANSWER_YES : answer;
}

static Answer
key_is_open(Interp *in, Value *key)
{
    if (key->kind != V_TUPLE) return is_open(in, key);
    for (int i = 0; i < key->nitems; i++) {
        Value *item = value_item(in, key, i);
        if (item == NULL) return ANSWER_ERROR;
        Answer answer = is_open(in, item);
        if (answer != ANSWER_NO) return answer;
    }
    return ANSWER_NO;
}

/* A copy of the array, which nobody writes. */
static Answer
array_now(Interp *in, NodeId node, Value **out)
{
    Type from = node_type(in, node), type;
    if (type_like(in->graph, &type, (DType)from.dtype, &from) < 0) return ANSWER_ERROR;
    type.form = FORM_ARRAY;
    TRY_NODE(node, graph_add(in->graph, in->region, OP_copy, 1, &node, &type, NULL));
    return given(out, value_node(in, node));
}

/* The key as it is now: lists and arrays may change later. */
static Answer
key_now(Interp *in, Value *key, int depth, Value **out)
{
    enum { DEEPEST = 4 };
    *out = key;
    if (key->kind == V_NODE && value_is_array(in, key)) {
        NodeId node;
        TRY(operand(in, key, &node));
        return array_now(in, node, out);
    }
    if ((key->kind != V_TUPLE && key->kind != V_LIST) || key->object != NULL) return ANSWER_YES;
    if (depth == DEEPEST || key->core != NULL || key->box != NULL) return ANSWER_NO;
    if ((*out = value_sequence(in, key->kind, key->nitems, NULL)) == NULL) return ANSWER_ERROR;
    for (int i = 0; i < key->nitems; i++) {
        Value *item = value_item(in, key, i);
        if (item == NULL) return ANSWER_ERROR;
        TRY(key_now(in, item, depth + 1, &(*out)->items[i]));
    }
    return ANSWER_YES;
}

/* The plan goes on only where `low` is below the other number, or the same if `equal`. */
static Answer
assert_order(Interp *in, NodeId low, NodeId high, bool equal)
{
    NodeId both[2] = {low, high}, test;
    Type truth = type_scalar(DT_BOOL, FORM_PYTHON);
    Op op = equal ? OP_py_le : OP_py_lt;
    TRY_NODE(test, graph_add(in->graph, in->region, op, 2, both, &truth, NULL));
    TRY_NODE(test, graph_add(in->graph, in->region, OP_py_assert, 1, &test, &truth, NULL));
    return ANSWER_YES;
}

/* … where the integer is an index of an axis of this length. */
static Answer
assert_index(Interp *in, Value *value, int64_t length)
{
    NodeId number, ends[2];
    TRY(operand(in, value, &number));
    if (node_type(in, number).dtype == DT_U64) return ANSWER_NO;
    if (node_type(in, number).form != FORM_PYTHON) {
        TRY(node_cast(in, number, DT_I64, &number));
        TRY(node_form(in, number, FORM_PYTHON, &number));
    }
    for (int i = 0; i < 2; i++) {
        Type type = type_scalar(DT_I64, FORM_PYTHON);
        PyObject *end = keep(in, PyLong_FromLongLong(i == 0 ? -length : length));
        if (end == NULL) return ANSWER_ERROR;
        TRY_NODE(ends[i], graph_const(in->graph, in->region, end, &type));
    }
    TRY(assert_order(in, ends[0], number, true));
    return assert_order(in, number, ends[1], false);
}

/* A slice that raises nothing: its bounds are integers, and its step is known. */
static bool
is_slice_of_integers(Interp *in, Value *item)
{
    int64_t step;
    if (item->kind != V_SLICE || item->nitems != 3) return false;
    for (int i = 0; i < 3; i++)
        if (!value_absent(item->items[i]) && !is_integer(in, item->items[i])) return false;
    return value_absent(item->items[2]) ||
           (value_as_int(in, item->items[2], &step) == ANSWER_YES && step != 0);
}

/* The same for an integer, or for those of a list.  ANSWER_NO: it is neither, or a known index that
   is none. */
static Answer
assert_item(Interp *in, Value *item, int64_t length)
{
    if (is_slice_of_integers(in, item)) return ANSWER_YES;
    if (item->kind == V_LIST) {
        if (!is_list_of_integers(in, item)) return ANSWER_NO;
        for (int i = 0; i < item->nitems; i++)
            TRY(assert_item(in, value_item(in, item, i), length));
        return ANSWER_YES;
    }
    int64_t known;
    if (!is_integer(in, item)) return ANSWER_NO;
    Answer answer = value_as_int(in, item, &known);
    if (answer == ANSWER_NO) return assert_index(in, item, length);
    return answer != ANSWER_YES || (known >= -length && known < length) ? answer : ANSWER_NO;
}

/* Integers, lists of such and slices, one for each axis that is named. */
static Answer
assert_key(Interp *in, Value *array, Value *key)
{
    Type type = node_type(in, array->node);
    int count = key->kind == V_TUPLE ? key->nitems : 1;
    if (count > type.rank || !type_is_known(in->graph, &type)) return ANSWER_NO;
    for (int i = 0; i < count; i++) {
        Value *item = key->kind == V_TUPLE ? value_item(in, key, i) : key;
        if (item == NULL) return ANSWER_ERROR;
        if (is_plain_slice(in, item)) continue;
        TRY(assert_item(in, item, size_value(in->graph, type.shape[i])));
    }
    return ANSWER_YES;
}

/* How many elements a plain slice selects of an axis of this length; -1: not known. */
static int64_t
slice_count(Interp *in, const Value *value, int64_t length)
{
    PyObject *parts[3] = {Py_None, Py_None, Py_None}, *slice;
    Py_ssize_t start, stop, step;
    for (int i = 0; value->kind == V_SLICE && i < value->nitems && i < 3; i++)
        if (value_known(in, value->items[i], &parts[i]) != ANSWER_YES) return -1;
    slice = value->kind == V_SLICE ? PySlice_New(parts[0], parts[1], parts[2])
                                   : Py_NewRef(value->object);
    int failed = slice == NULL || PySlice_Unpack(slice, &start, &stop, &step) < 0;
    Py_XDECREF(slice);
    if (!failed) return PySlice_AdjustIndices(length, &start, &stop, step);
    PyErr_Clear();
    return -1;
}

/* The axes of what is selected by a key that assert_key has taken.  Lists, and integers beside
   them, make one axis, which comes first where a slice stands between them.  ANSWER_NO: not known.
 */
static Answer
selected_type(Interp *in, const Type *from, Value *key, Type *out)
{
    int count = key->kind == V_TUPLE ? key->nitems : 1, at = -1;
    int64_t picked = 1;
    bool lists = false, closed = false, apart = false;
    *out = (Type){.dtype = from->dtype, .form = FORM_ARRAY};
    for (int i = 0; i < from->rank; i++) {
        Value *item = i >= count ? NULL : key->kind == V_TUPLE ? value_item(in, key, i) : key;
        int64_t length = size_value(in->graph, from->shape[i]);
        if (i < count && item == NULL) return ANSWER_ERROR;
        if (item != NULL && item->kind == V_SLICE && !is_plain_slice(in, item)) return ANSWER_NO;
        if (item != NULL && !is_plain_slice(in, item)) {
            int64_t n = item->kind == V_LIST ? item->nitems : 1;
            if (n != 1 && picked != 1 && picked != n) return ANSWER_NO;
            if (n != 1) picked = n;
            lists = lists || item->kind == V_LIST;
            apart = apart || closed;
            if (at < 0) at = out->rank;
            continue;
        }
        if (item != NULL && (length = slice_count(in, item, length)) < 0) return ANSWER_NO;
        closed = at >= 0;
        out->shape[out->rank++] = size_const(in->graph, length);
    }
    if (!lists) return ANSWER_YES;
    if (apart) at = 0;
    memmove(&out->shape[at + 1], &out->shape[at], sizeof(SizeId) * (size_t)(out->rank - at));
    out->shape[at] = size_const(in->graph, picked);
    out->rank++;
    return ANSWER_YES;
}

/* What the store would raise of its key is raised by a step that reads there.  *out (may be NULL)
   becomes the type of what is there; ANSWER_NO: that is not known. */
static Answer
read_there(Interp *in, Value *array, Value *key, Type *out)
{
    Value *read;
    Type from = node_type(in, array->node);
    Answer answer = assert_key(in, array, key);
    if (answer == ANSWER_YES && out != NULL) return selected_type(in, &from, key, out);
    if (answer != ANSWER_NO) return answer;
    answer = emit_subscript(in, array, key, &read);
    if (answer != ANSWER_YES || out == NULL) return answer;
    if (read->kind != V_NODE || value_is_opaque(in, read)) return ANSWER_NO;
    *out = node_type(in, read->node);
    return ANSWER_YES;
}

/* The plan goes on only where a value of this type fits the place, by a step that looks there. */
static Answer
assert_fits(Interp *in, Value *array, Value *key, const Type *given)
{
    Value *args[3] = {array, key, NULL}, *fits;
    NodeId test;
    PyObject *shape = keep(in, graph_view_sizes(in->graph, given->rank, given->shape));
    WholeCall call = {.callable = numpy_step(in, "fits"), .nargs = 3, .args = args};
    if (shape == NULL || call.callable == NULL || (args[2] = value_const(in, shape)) == NULL)
        return ANSWER_ERROR;
    TRY(call_whole(in, &call, &fits));
    if (fits->kind != V_NODE) return ANSWER_NO;
    Type type = node_type(in, fits->node);
    if (type.form != FORM_PYTHON || type.dtype != DT_BOOL) return ANSWER_NO;
    TRY_NODE(test, graph_add(in->graph, in->region, OP_py_assert, 1, &fits->node, &type, NULL));
    return ANSWER_YES;
}

/* Whatever the store would raise makes the plan leave it to CPython: of its key and, at commit too
   late for an error, of a value that does not fit. */
static Answer
assert_store(Interp *in, Value *array, Value *key, const Type *given)
{
    Type place;
    if (given->rank == 0) return read_there(in, array, key, NULL);
    Answer answer = read_there(in, array, key, &place);
    if (answer == ANSWER_NO) return assert_fits(in, array, key, given);
    if (answer == ANSWER_YES && !type_broadcasts(in->graph, given, &place)) return ANSWER_NO;
    return answer;
}

static Answer
store_now(Interp *in, Value *array, Value *key, Value *value, Value **at, Value **stored)
{
    NodeId now, from;
    TRY(key_is_open(in, key));
    TRY(array_operand(in, array, &now)); /* its sizes are known from here on */
    TRY(operand(in, value, &from));
    DType to = (DType)node_type(in, now).dtype;
    if (!stores_as_cast(in, from, to)) return ANSWER_NO;
    TRY(node_cast(in, from, to, &from)); /* which NumPy stores as it is */
    Type given_type = node_type(in, from);
    TRY(assert_store(in, array, key, &given_type));
    TRY(key_now(in, key, 0, at));
    if (given_type.form == FORM_ARRAY) return array_now(in, from, stored);
    return given(stored, value_node(in, from));
}

Answer
open_store(Interp *in, Value *array, Value *key, Value *value, Value **at, Value **stored)
{
    if (in->loop != NULL || in->writes.dirty || in->raising.raised != NULL) return ANSWER_NO;
    if (sizes_may_vary(in)) return ANSWER_NO; /* it is a place like any other */
    if (!value_is_array(in, array) || storage_of(in, array->node) < 0) return ANSWER_NO;
    const Value *input = input_of(in, array->node); /* a view of it takes another key */
    if (input == NULL || array->node != input->node) return ANSWER_NO;
    BreakNote none = break_take(in);
    Answer answer = store_now(in, array, key, value, at, stored);
    if (answer == ANSWER_ERROR) return answer;
    break_take(in);
    break_put(in, &none);
    if (in->raising.raised != NULL) in->raising.raised = NULL;
    return answer == ANSWER_YES ? ANSWER_YES : ANSWER_NO;
}

void
open_stored(Interp *in, Value *at, Value *stored)
{
    const ArrayWrite *write = &in->memory.writes.at[in->memory.writes.len - 1];
    NodeId made = write->value != NULL ? write->value->node : NO_NODE;
    if (made == NO_NODE || graph_node(in->graph, made)->op != OP_extern) return;
    graph_node(in->graph, made)->op = OP_store;
    storage_note_key(in, at, stored);
}
