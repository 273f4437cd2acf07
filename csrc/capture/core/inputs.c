/* Arrays and numbers from outside as inputs of the graph: what is guarded of an array when it is
   first seen and when its shape is needed, and the range of an int. */
#include "core.h"

#include "../../config.h"

static Value *
input_add(Interp *in, SourceId source, PyObject *object, const Type *type)
{
    Value *value = value_new(in, V_NODE);
    bool spare = source_is_spare(in, source); /* the frame's stack keeps it so */
    if (value == NULL || (!spare && keep(in, Py_NewRef(object)) == NULL)) return NULL;
    value->source = source;
    value->object = object;
    value->type = Py_TYPE(object);
    RegionId top = 0;
    value->node = graph_input(in->graph, top, type);
    if (value->node == NO_NODE) return NULL;
    if (VEC_PUSH(in->arena, &in->out->input_source, source) < 0) return NULL;
    return VEC_PUSH(in->arena, &in->memory.inputs, value) < 0 ? NULL : value;
}

Value *
array_from_source(Interp *in, SourceId source, PyObject *object, const ArrayHeader *header)
{
    Type type = {.dtype = header->dtype,
                 .form = FORM_ARRAY,
                 .rank = (uint8_t)header->rank,
                 .offset = NO_SIZE};
    Value *value = input_add(in, source, object, &type);
    if (value == NULL || dims_require(in, value, header->rank) < 0) return NULL;
    for (int axis = 0; axis < header->rank; axis++) {
        SizeId shape = size_dim(in->graph, value->node, axis, header->shape[axis]);
        SizeId stride = size_stride(in->graph, value->node, axis, header->stride[axis]);
        if (shape == NO_SIZE || stride == NO_SIZE) return NULL;
        Type *slot = &graph_node(in->graph, value->node)->type;
        slot->shape[axis] = shape;
        slot->stride[axis] = stride;
    }
    Guard guard = {.kind = GUARD_ARRAY, .source = source, .other = NO_SOURCE};
    guard.array.dtype = header->dtype;
    guard.array.rank = (uint8_t)header->rank;
    guard.array.flags = ARRAY_ALIGNED;
    int number = guard_add(in, &guard);
    if (number < 0) return NULL;
    value->guard = number + 1;
    value->guarded = true;
    return value;
}

/* Do flags leave open strides that views show?  That of contiguity says nothing about those of axes
   of length 1, nor of arrays without elements. */
static bool
strides_are_open(const ArrayHeader *header)
{
    bool open = !(header->flags & ARRAY_C_CONTIGUOUS);
    for (int axis = 0; axis < header->rank; axis++) open = open || header->shape[axis] <= 1;
    return open;
}

/* The symbol of a device's array is 2 or more: so is every length there that is no number
   (push_node), so that no rule need ask where CuPy treats an axis of one element in a way
   of its own. */
static int
device_symbol(Interp *in, const Value *value, int axis, int64_t length, SizeId *out, int64_t *least)
{
    enum { LEAST = 2 };
    if (symbol_make(in, value, axis, length, out) < 0) return -1;
    (void)size_lower(in->graph, *out, least);
    if (*least >= LEAST) return 0;
    SizeId bound = size_const(in->graph, *least = LEAST);
    if (bound == NO_SIZE) return -1;
    in->graph->sizes.at[*out].a = bound;
    return sizes_refresh(in->graph);
}

/* Lengths and strides of an array on a device, as they are guarded; of `symbols` the lengths are
   symbols. */
static int
device_sizes(Interp *in, const Value *value, const ArrayHeader *header, unsigned symbols,
             Guard *guard)
{
    Graph *g = in->graph;
    SizeId shape[MAX_RANK];
    Type type;
    for (int axis = 0; axis < header->rank; axis++) {
        guard->array.shape[axis] = header->shape[axis];
        guard->array.stride[axis] = header->stride[axis];
        if (symbols >> axis & 1) {
            if (device_symbol(in, value, axis, header->shape[axis], &shape[axis],
                              &guard->array.shape[axis]) < 0)
                return -1;
        } else if ((shape[axis] = size_const(g, header->shape[axis])) == NO_SIZE) {
            return -1;
        }
    }
    if (type_contiguous(g, &type, header->dtype, header->rank, shape) < 0) return -1;
    for (int axis = 0; axis < header->rank && guard->array.known_stride != 0; axis++)
        if ((type.stride[axis] = size_const(g, header->stride[axis])) == NO_SIZE) return -1;
    Type *to = &graph_node(g, value->node)->type;
    type.device = to->device;
    type.unaligned = to->unaligned;
    *to = type;
    return 0;
}

Answer
device_met(Interp *in, int number, int *index)
{
    Graph *g = in->graph;
    int own = g->ndevices > 0 ? g->device[0] : array_library_on(DEVICE_CUDA)->current();
    if (own < 0) { /* CUDA fails: whoever needs the device will say so */
        PyErr_Clear();
        own = number;
    }
    graph_device(g, own);
    *index = graph_device(g, number);
    return *index < 0 ? ANSWER_NO : ANSWER_YES;
}

/* An array of a library whose memory is a device's: its shape and layout are guarded at once. */
Value *
device_from_source(Interp *in, SourceId source, PyObject *object, const ArrayLibrary *library,
                   const ArrayHeader *header, int device)
{
    Type type = type_scalar(header->dtype, FORM_ARRAY);
    bool contiguous = (header->flags & ARRAY_C_CONTIGUOUS) != 0;
    type.device = (uint8_t)device_at(device);
    type.unaligned = !(header->flags & ARRAY_ALIGNED_16);
    Value *value = input_add(in, source, object, &type);
    if (value == NULL || dims_require(in, value, header->rank) < 0) return NULL;
    value->kind = V_DEVICE;
    unsigned symbols = symbols_of(in, value, header);
    Guard guard = {.kind = GUARD_ARRAY, .source = source, .other = NO_SOURCE};
    guard.array.dtype = header->dtype;
    guard.array.rank = (uint8_t)header->rank;
    guard.array.library = (uint8_t)(library - array_libraries);
    guard.array.device_number = header->device_number;
    guard.array.flags =
        ARRAY_ALIGNED | (contiguous ? ARRAY_C_CONTIGUOUS : 0) | (header->flags & ARRAY_ALIGNED_16);
    guard.array.known_shape = (uint8_t)((1u << header->rank) - 1);
    guard.array.least_shape = (uint8_t)symbols;
    if (symbols == 0 && strides_are_open(header))
        guard.array.known_stride = guard.array.known_shape;
    if (device_sizes(in, value, header, symbols, &guard) < 0) return NULL;
    int number = guard_add(in, &guard);
    if (number < 0) return NULL;
    value->guard = number + 1;
    value->guarded = value->pinned = true;
    return value;
}

int
value_pin(Interp *in, Value *value)
{
    if (value->pinned) return 0;
    value->pinned = true;
    ArrayHeader header;
    const char *why;
    Type *type = &graph_node(in->graph, value->node)->type;
    if (type->form != FORM_ARRAY || value->guard == 0) return 0;
    if (array_read(value->object, &header, &why) != ANSWER_YES) {
        PyErr_SetString(PyExc_SystemError, "an array changed while it was captured");
        return -1;
    }
    Guard *guard = &in->out->guards.at[value->guard - 1];
    bool contiguous = (header.flags & ARRAY_C_CONTIGUOUS) != 0;
    guard_place(in, guard);
    unsigned symbols = symbols_of(in, value, &header);
    guard->array.known_shape = (uint8_t)((1u << header.rank) - 1);
    guard->array.least_shape = (uint8_t)symbols;
    bool exact = strides_are_open(&header);
    if (symbols != 0) exact = false;
    if (contiguous)
        guard->array.flags |= ARRAY_C_CONTIGUOUS;
    else if (!exact)
        guard->array.flags |= ARRAY_F_CONTIGUOUS;
    if (exact) guard->array.known_stride = guard->array.known_shape;
    SizeId shape[MAX_RANK];
    for (int axis = 0; axis < header.rank; axis++) {
        guard->array.shape[axis] = header.shape[axis];
        guard->array.stride[axis] = header.stride[axis];
        if (symbols >> axis & 1) {
            guard->array.shape[axis] = LEAST_SYMBOL;
            if (symbol_make(in, value, axis, header.shape[axis], &shape[axis]) < 0) return -1;
            guard = &in->out->guards.at[value->guard - 1];
            (void)size_lower(in->graph, shape[axis], &guard->array.shape[axis]);
        } else if ((shape[axis] = size_const(in->graph, header.shape[axis])) == NO_SIZE) {
            return -1;
        }
    }
    type = &graph_node(in->graph, value->node)->type;
    Type pinned = *type;
    if (!exact) {
        if (type_dense(in->graph, &pinned, header.dtype, header.rank, shape, contiguous) < 0)
            return -1;
    } else {
        for (int axis = 0; axis < header.rank; axis++) {
            pinned.shape[axis] = shape[axis];
            pinned.stride[axis] = size_const(in->graph, header.stride[axis]);
            if (pinned.stride[axis] == NO_SIZE) return -1;
        }
    }
    /* It may also have nodes that a loop made while its sizes were symbols: the loop's param, and
       versions that a store in the loop makes. */
    const Type symbolic = *type;
    for (NodeId id = value->node; id < in->graph->nodes.len; id++) {
        Type *same = &graph_node(in->graph, id)->type;
        if (type_same_array(same, &symbolic)) *same = pinned;
    }
    return 0;
}

/* Does a backend say of a float that its value is no part of the plan? */
static Answer
is_open(const Interp *in, PyObject *number, DType dtype)
{
    const Config *config = in->request->config;
    PyObject *backend = config != NULL ? config->backend_call : NULL;
    if (backend == NULL || dtype_is_integer(dtype) || dtype == DT_BOOL ||
        !PyObject_HasAttrString(backend, "is_open"))
        return ANSWER_NO;
    PyObject *said = PyObject_CallMethod(backend, "is_open", "O", number);
    if (said == NULL) return ANSWER_ERROR;
    Answer answer = said == Py_True ? ANSWER_YES : ANSWER_NO;
    Py_DECREF(said);
    return answer;
}

Value *
scalar_from_source(Interp *in, SourceId source, PyObject *object, DType dtype, Form form)
{
    Type type = {.dtype = (uint8_t)dtype, .form = (uint8_t)form, .offset = NO_SIZE};
    Value *value = input_add(in, source, object, &type);
    if (value == NULL) return NULL;
    Guard guard = {.source = source, .other = NO_SOURCE};
    if (form == FORM_SCALAR) {
        guard.kind = GUARD_SCALAR;
        guard.array.dtype = dtype;
    } else if (dtype == DT_U64) {
        guard.kind = GUARD_INT_RANGE; /* of 64 bits without a sign */
        guard.low = 0;
        guard.high = -1;
    } else if (dtype == DT_I64) {
        guard.kind = GUARD_INT_RANGE; /* an exact int in the range */
        guard.low = INT64_MIN;
        guard.high = INT64_MAX;
    } else {
        guard.kind = GUARD_TYPE;
        guard.object = (PyObject *)Py_TYPE(object);
    }
    int number = guard_add(in, &guard);
    if (number < 0) return NULL;
    value->guard = number + 1;
    value->guarded = value->pinned = true;
    Answer open = is_open(in, object, dtype);
    if (open == ANSWER_YES) value->object = NULL;
    return open == ANSWER_ERROR ? NULL : value;
}

/* A branch goes by a declared length. */
static Answer
refuse_range(Interp *in, const Dim *dim, int64_t low, int64_t high)
{
    char what[128];
    if (low > dim->least)
        snprintf(what, sizeof(what), "decides a branch, by which it would be %lld or more",
                 (long long)low);
    else
        snprintf(what, sizeof(what), "decides a branch, by which it would be %lld or less",
                 (long long)high);
    return dim_refuse(in, dim, what, NULL);
}

/* For symbol + constant and symbol - constant, guards the symbol itself with the range moved. */
static Answer
derived_in_range(Interp *in, Value *value, int64_t low, int64_t high)
{
    Op op = graph_node(in->graph, value->node)->op;
    Value *symbol = value->items[0], *moved = value->items[1];
    if (op == OP_py_add && symbol->kind == V_CONST) {
        symbol = value->items[1];
        moved = value->items[0];
    }
    if ((op != OP_py_add && op != OP_py_sub) || moved->kind != V_CONST) return ANSWER_NO;
    int64_t by;
    Answer answer = value_as_int(in, moved, &by);
    if (answer != ANSWER_YES) return answer;
    if (op == OP_py_add) by = -by;
    if (__builtin_add_overflow(low, by, &low)) low = by > 0 ? INT64_MAX : INT64_MIN;
    if (__builtin_add_overflow(high, by, &high)) high = by > 0 ? INT64_MAX : INT64_MIN;
    return value_in_range(in, symbol, low, high);
}

/* Of a list that a kept loop changes. */
static bool
is_length_in_loop(const Interp *in, const Value *value)
{
    return value->kind == V_NODE && graph_node(in->graph, value->node)->op == OP_element_length;
}

Answer
value_in_range(Interp *in, Value *value, int64_t low, int64_t high)
{
    int overflow;
    if (is_length_in_loop(in, value)) return low <= 0 && high == INT64_MAX ? ANSWER_YES : ANSWER_NO;
    if (value->object == NULL || !PyLong_CheckExact(value->object)) return ANSWER_NO;
    int64_t seen = PyLong_AsLongLongAndOverflow(value->object, &overflow);
    if (overflow || seen < low || seen > high) return ANSWER_NO;
    if (value->kind == V_CONST) return ANSWER_YES;
    if (value->kind == V_NODE && value->nitems == 2) return derived_in_range(in, value, low, high);
    if (value->kind != V_NODE || value->nitems != 0 || value->guard == 0) return ANSWER_NO;
    Guard *guard = &in->out->guards.at[value->guard - 1];
    if (guard->kind != GUARD_INT_RANGE) return ANSWER_NO;
    Dim dim;
    if (value->sized != NULL &&
        dim_of(in, value->sized, in->out->sources.at[value->source].index, &dim) &&
        dim_allows(&dim, seen) && (low > dim.least || high < dim.most))
        return refuse_range(in, &dim, low, high);
    if (low > guard->low) guard->low = low;
    if (high < guard->high) guard->high = high;
    return ANSWER_YES;
}
