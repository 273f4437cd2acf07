/* In-place writes to arrays on a device: operators, stores, out=, fill.

   As on the host, a write is a scatter, which is done at commit.  A kernel then writes the
   program's own memory, so a graph writes one place of each array from outside, and reads that
   array elsewhere only before: another write or read ends the graph.  What is read of the place is
   the value itself.  Arrays made by the graph are written freely.

   CuPy reads all operands before it writes: it copies those that overlap the output (_kernel.pyx,
   _copy_in_args_if_needed).  It casts as the same kind, and without restriction where it stores by
   a subscript. */
#include "numpy.h"

/* The scatter that wrote the input's memory in this graph; NULL: none. */
static const Node *
last_write(Interp *in, NodeId array)
{
    int storage = storage_find(in, graph_node(in->graph, array)->storage);
    if (storage < 0 || !in->memory.storages.at[storage].written || input_of(in, array) == NULL)
        return NULL;
    return graph_node(in->graph, in->memory.storages.at[storage].version);
}

Answer
device_array(Interp *in, Value *value, NodeId *out)
{
    if (storage_of(in, value->node) < 0) return ANSWER_ERROR;
    if (input_of(in, value->node) != NULL) { /* a view of it is one of the memory as it is */
        *out = value->node;
        return ANSWER_YES;
    }
    TRY_NODE(*out, array_current(in, value->node));
    return ANSWER_YES;
}

Answer
device_contents(Interp *in, Value *value, NodeId *out)
{
    Type type = node_type(in, value->node);
    TRY(device_is_current(in, &type));
    return device_elements(in, value, out);
}

Answer
device_elements(Interp *in, Value *value, NodeId *out)
{
    const Node *write = last_write(in, value->node);
    if (write == NULL) return device_array(in, value, out);
    if (write->op == OP_store)
        return device_break(in, value, "a read, behind a store by integers,");
    Type type = node_type(in, value->node), place = *write->attrs.view;
    *out = write->args[1];
    Type written = node_type(in, *out);
    if (!type_same_place(in->graph, &type, &place) || !type_same_shape(&written, &place))
        return device_break(in, value, "a read, where another part was written,");
    if (written.device == DEVICE_HOST)
        return device_break(in, value, "a read, where a number of the host was stored,");
    return ANSWER_YES;
}

Answer
device_argument(Interp *in, Value *value, NodeId *out)
{
    TRY(device_contents(in, value, out));
    Type type = node_type(in, value->node), have = node_type(in, *out);
    for (int i = 0; i < type.rank; i++)
        if (!size_same(in->graph, type.stride[i], have.stride[i]))
            return device_break(in, value, "a call with what was written, not in C order,");
    return ANSWER_YES;
}

/* ---- a place and a value ---- */

/* Is the value what the place already holds?  `x[i] += y` ends with a store of what it has just
   written. */
static bool
is_that_place(Interp *in, const Value *array, const Type *place, const Value *value)
{
    if (!value_is_on_device(value)) return false;
    const Node *a = graph_node(in->graph, array->node), *b = graph_node(in->graph, value->node);
    int storage = storage_find(in, a->storage);
    bool same =
        a->storage == b->storage || (storage >= 0 && storage == storage_find(in, b->storage));
    return same && type_same_place(in->graph, place, &b->type);
}

/* CuPy stores a number by its kernel `fill`, or clears the memory: a zero then is positive. */
static Answer
number_stored(Interp *in, const Type *place, NodeId *value)
{
    Type from = node_type(in, *value);
    DType dtype = (DType)place->dtype;
    if (!dtype_can_cast_same_kind((DType)from.dtype, dtype))
        return interp_break(in, BREAK_DEVICE, "a number stored in an array of %s",
                            dtype_long_name(dtype));
    if (from.dtype != DT_F64 || !type_is_contiguous(in->graph, place))
        return device_cast(in, *value, dtype, (Device)place->device, value);
    NodeId both[2];
    Type type = type_scalar(DT_F64, FORM_SCALAR);
    TRY(node_cast(in, *value, DT_F64, &both[0]));
    TRY_NODE(both[1], node_float(in, 0.0, DT_F64));
    TRY_NODE(*value, graph_add(in->graph, in->region, OP_add, 2, both, &type, NULL));
    return device_cast(in, *value, dtype, (Device)place->device, value);
}

/* The value without leading axes of length 1 that the place has not, broadcast to its shape. */
static Answer
spread(Interp *in, const Type *place, NodeId *value)
{
    Type have = node_type(in, *value);
    int extra = Py_MAX(have.rank - place->rank, 0);
    for (int i = 0; i < extra; i++)
        if (size_value(in->graph, have.shape[i]) != 1)
            return interp_break(in, BREAK_SHAPE, "a value of more dimensions than its target");
    if (extra > 0) {
        Type view = have;
        view.rank = place->rank;
        for (int i = 0; i < view.rank; i++) {
            view.shape[i] = have.shape[i + extra];
            view.stride[i] = have.stride[i + extra];
        }
        TRY(node_view(in, OP_squeeze, *value, &view, 0, NULL, value));
        have = view;
    }
    if (type_same_shape(&have, place)) return ANSWER_YES;
    return node_broadcast(in, *value, place->rank, place->shape, value);
}

/* Has an array been written before an effect that may run code of the program?  The kernels at
   commit are launched at the first write. */
static bool
is_behind_effect(const Interp *in)
{
    for (int i = 0; i < in->memory.storages.len; i++)
        if (in->memory.storages.at[i].commit > 0) return true;
    return false;
}

/* Was something stored by integers?  That is done behind all kernels at commit. */
static bool
stores_by_integers(const Interp *in)
{
    for (int i = 0; i < in->memory.writes.len; i++)
        if (in->memory.writes.at[i].key != NULL) return true;
    return false;
}

static Answer
write_place(Interp *in, Value *array, const Type *given, NodeId value)
{
    Type fit = *given;
    const Type *place = &fit;
    const Node *write = last_write(in, array->node);
    DType from = (DType)node_type(in, value).dtype, to = (DType)place->dtype;
    Device device = (Device)place->device;
    if (in->loop != NULL) return device_break(in, array, "a write, in a loop,");
    TRY(device_is_current(in, place));
    if (stores_by_integers(in))
        return device_break(in, array, "a write, behind a store by integers,");
    if (type_repeats(in->graph, place))
        return device_break(in, array, "a write to elements that share memory");
    if (write != NULL && !type_same_place(in->graph, write->attrs.view, place))
        return device_break(in, array, "a second write, to another part,");
    if (is_behind_effect(in))
        return device_break(in, array, "a write, behind an effect that follows another,");
    if (!op_is_on(OP_cast, from, device) || !op_is_on(OP_cast, to, device))
        return device_break(in, array, "a write of this dtype");
    TRY(write_allowed(in, array));
    TRY(lengths_fit(in, &value, &fit));
    if (node_type(in, value).form == FORM_ARRAY)
        TRY(node_cast(in, value, to, &value));
    else
        TRY(number_stored(in, place, &value));
    if (node_type(in, value).form == FORM_ARRAY) TRY(spread(in, place, &value));
    int storage = storage_of(in, array->node);
    if (storage < 0) return ANSWER_ERROR;
    NodeId args[2] = {in->memory.storages.at[storage].version, value}, version;
    Type whole = node_type(in, args[0]), view = *place;
    Attrs attrs = {.view = &view};
    TRY_NODE(version, graph_add(in->graph, in->region, OP_scatter, 2, args, &whole, &attrs));
    return storage_write(in, array->node, version) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- the program's writes ---- */

Answer
device_write_result(Interp *in, Value *target, NodeId result, Value **out)
{
    NodeId node;
    TRY(device_array(in, target, &node));
    Type place = node_type(in, node), have = node_type(in, result);
    if (!dtype_can_cast_same_kind((DType)have.dtype, (DType)place.dtype))
        return interp_break(in, BREAK_DEVICE, "%s written in place into %s",
                            dtype_long_name((DType)have.dtype),
                            dtype_long_name((DType)place.dtype));
    if (have.rank > place.rank || !type_broadcasts(in->graph, &have, &place))
        return interp_break(in, BREAK_SHAPE, "a result that does not fit its output");
    TRY(write_place(in, target, &place, result));
    *out = target;
    return ANSWER_YES;
}

/* A number that CuPy makes an array of this dtype of, whatever its value is. */
static bool
takes_number(Interp *in, DType dtype, const Value *value)
{
    Type type;
    if (!value_is_python_scalar(in, value)) return false;
    type.dtype = value->kind == V_CONST ? (PyBool_Check(value->object)        ? DT_BOOL
                                           : PyLong_CheckExact(value->object) ? DT_I64
                                                                              : DT_F64)
                                        : node_type(in, value->node).dtype;
    if (dtype_is_float(dtype)) return type.dtype != DT_C128;
    return dtype == (DType)type.dtype;
}

/* x[mask] = number: what is there elsewhere is written again.  ANSWER_NO: another store. */
static Answer
store_by_mask(Interp *in, Value *array, Value *key, Value *value)
{
    NodeId whole, now, mask, number;
    if (key->kind != V_DEVICE || node_type(in, key->node).dtype != DT_BOOL) return ANSWER_NO;
    TRY(device_array(in, array, &whole));
    Type place = node_type(in, whole), chosen = node_type(in, key->node);
    if (chosen.rank == place.rank) TRY(lengths_fit(in, &(NodeId){key->node}, &place));
    chosen = node_type(in, key->node);
    if (!type_same_shape(&place, &chosen) || type_elements(in->graph, &place) == 0 ||
        !takes_number(in, (DType)place.dtype, value))
        return ANSWER_NO;
    TRY(device_contents(in, array, &now));
    TRY(device_operand(in, key, &mask));
    TRY(device_operand(in, value, &number));
    TRY(device_chosen(in, mask, number, now, &now));
    return write_place(in, array, &place, now);
}

/* The value in C order, of one element, of one for each of a row's, or of one for each element that
   is stored.  ANSWER_NO: it has another shape. */
static Answer
values_stored(Interp *in, const Type *array, const Type *index, NodeId *value)
{
    Type type = node_type(in, *value);
    SizeId shape[2 * MAX_RANK];
    int rank = index->rank + array->rank - 1, lead = rank - type.rank;
    if (type.rank > rank || rank > MAX_RANK) return ANSWER_NO;
    memcpy(shape, index->shape, sizeof(SizeId) * index->rank);
    memcpy(shape + index->rank, array->shape + 1, sizeof(SizeId) * (size_t)(array->rank - 1));
    int64_t elements = type_elements(in->graph, &type);
    int from = elements == 1 ? type.rank : 0;
    for (int i = from; i < type.rank; i++)
        if (!size_same(in->graph, type.shape[i], shape[lead + i])) return ANSWER_NO;
    int missing = elements == 1 ? 0 : lead; /* all axes of the integers, or none */
    if (missing > 0 && missing != index->rank) return ANSWER_NO;
    if (!op_is_on(OP_cast, (DType)type.dtype, DEVICE_CUDA)) return ANSWER_NO;
    TRY(node_cast(in, *value, (DType)array->dtype, value));
    type = node_type(in, *value);
    return type_is_contiguous(in->graph, &type) ? ANSWER_YES : node_copy(in, *value, 'C', value);
}

/* x[integers] = array, the one write of its graph: done at commit, by kernels of the runtime's
   (runtime/cuda_put.c).  ANSWER_NO: another store. */
static Answer
store_by_integers(Interp *in, Value *array, Value *key, Value *value)
{
    NodeId nodes[3], version;
    Value *at, *stored;
    if (key->kind != V_DEVICE || value->kind != V_DEVICE) return ANSWER_NO;
    if (storage_of(in, array->node) < 0) return ANSWER_ERROR;
    const Value *input = input_of(in, array->node);
    if (input == NULL || input->node != array->node)
        return ANSWER_NO; /* a view takes another key */
    Type type = node_type(in, array->node), index = node_type(in, key->node);
    if (!dtype_is_integer((DType)index.dtype) || index.dtype == DT_U64 || index.rank == 0 ||
        type.rank == 0 || !type_is_contiguous(in->graph, &type) ||
        type_elements(in->graph, &type) == 0 || type_elements(in->graph, &index) == 0 ||
        !op_is_on(OP_cast, (DType)type.dtype, DEVICE_CUDA))
        return ANSWER_NO;
    if (in->loop != NULL || in->memory.writes.len > 0 || in->writes.dirty || is_behind_effect(in))
        return device_break(in, array, "a store by integers, beside other writes or in a loop,");
    if (in->graph->current != 0) /* the effect is done on the plan's own device */
        return device_break(in, array, "a store by integers, in a block of a device,");
    TRY(device_is_current(in, &type));
    TRY(device_operand(in, key, &nodes[1]));
    TRY(device_operand(in, value, &nodes[2]));
    TRY(values_stored(in, &type, &index, &nodes[2]));
    index = node_type(in, nodes[1]);
    if (!type_is_contiguous(in->graph, &index)) TRY(node_copy(in, nodes[1], 'C', &nodes[1]));
    TRY(write_allowed(in, array));
    TRY(push_node(in, nodes[1], &at));
    TRY(push_node(in, nodes[2], &stored));
    nodes[0] = in->memory.storages.at[storage_of(in, array->node)].version;
    PyObject *setitem = keep(in, module_object("operator", "setitem"));
    if (setitem == NULL) return ANSWER_ERROR;
    Attrs attrs = {.object = setitem};
    TRY_NODE(version, graph_add(in->graph, in->region, OP_store, 3, nodes, &type, &attrs));
    if (storage_write(in, array->node, version) < 0) return ANSWER_ERROR;
    storage_note_key(in, at, stored);
    return ANSWER_YES;
}

/* CuPy copies the memory of an array of another device where both are in C order, of one shape and
   dtype. */
static Answer
take_here(Interp *in, const Type *place, Value **value)
{
    if (!device_is_elsewhere(in, *value)) return ANSWER_YES;
    Type type = node_type(in, (*value)->node);
    PyObject *copy = keep(in, array_library_function(device_library(in, *value), "asarray"));
    if (copy == NULL) return ANSWER_ERROR;
    if (type.dtype != place->dtype || !type_same_shape(&type, place) ||
        !type_is_contiguous(in->graph, place))
        return device_is_current(in, &type);
    return device_move(in, copy, *value, value);
}

Answer
device_store(Interp *in, Value *array, Value *key, Value *value)
{
    NodeId part, node;
    Answer stored = store_by_mask(in, array, key, value);
    if (stored == ANSWER_NO) stored = store_by_integers(in, array, key, value);
    if (stored != ANSWER_NO) return stored;
    TRY(device_part(in, array, key, &part));
    Type place = node_type(in, part);
    if (is_that_place(in, array, &place, value)) return ANSWER_YES;
    TRY(take_here(in, &place, &value));
    TRY(device_operand(in, value, &node));
    return write_place(in, array, &place, node);
}

/* x.fill(number) */
Answer
device_fill(Interp *in, const Rule *Py_UNUSED(rule), Value *const *args, Value **out)
{
    NodeId array, node;
    if (!value_is_python_scalar(in, args[1])) return device_break(in, args[0], "fill");
    TRY(device_array(in, args[0], &array));
    Type place = node_type(in, array);
    if (type_elements(in->graph, &place) == 0) return device_break(in, args[0], "fill");
    TRY(device_operand(in, args[1], &node));
    TRY(write_place(in, args[0], &place, node));
    *out = value_const(in, Py_None);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
