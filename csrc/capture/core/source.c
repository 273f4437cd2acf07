/* From sources to values: objects from outside, and the guards that their use emits.
   A fact is guarded when it is used: an array's shape when an operation needs it (value_pin), a
   scalar's value when it decides the graph (value_known), an item when it is read.  Objects that
   can change or be aliased are found again by identity (Interp.by_object), so that two paths to one
   object give one Value, under a SAME guard. */
#include "../../config.h"
#include "core.h"

/* The innermost line outside pycompile: for code of pycompile that stands for a library function,
   the line of the call. */
static void
set_place(const Interp *in, Guard *guard)
{
    const Activation *a = in->top;
    guard->file = a != NULL ? a->file : 0;
    guard->line = in->attempt.line;
    if (a == NULL || a->caller == NULL || !code_is_ours(a)) return;
    while (a->caller != NULL && code_is_ours(a)) a = a->caller;
    guard->file = a->file;
    guard->line = line_at(a->decoded, a->number);
}

int
guard_add(Interp *in, const Guard *guard)
{
    Guard copy = *guard;
    set_place(in, &copy);
    if (VEC_PUSH(in->arena, &in->out->guards, copy) < 0) return -1;
    return in->out->guards.len - 1;
}

bool
guard_has_other(GuardKind kind)
{
    enum { ONE, TWO };
    static const uint8_t sources[] = {
#define GUARD(name, sources, ...) sources,
#include "../guards.def"
    };
    return sources[kind] == TWO;
}

int
guard_simple(Interp *in, GuardKind kind, SourceId source, PyObject *object)
{
    Guard guard = {.kind = kind, .source = source, .other = NO_SOURCE, .object = object};
    return guard_add(in, &guard);
}

SourceId
source_add(Interp *in, SourceKind kind, SourceId base, int index, PyObject *key, PyObject *object)
{
    for (int i = in->out->sources.len - 1, n = 0; i >= 0 && n < 64; i--, n++) {
        const Source *s = &in->out->sources.at[i];
        if (s->kind == kind && s->base == base && s->index == index && s->key == key &&
            s->object == object)
            return i;
    }
    if (key != NULL && keep(in, Py_NewRef(key)) == NULL) return NO_SOURCE;
    if (object != NULL && keep(in, Py_NewRef(object)) == NULL) return NO_SOURCE;
    Source source = {.kind = kind, .base = base, .index = index, .key = key, .object = object};
    if (VEC_PUSH(in->arena, &in->out->sources, source) < 0) return NO_SOURCE;
    return in->out->sources.len - 1;
}

SourceId
source_of_const(Interp *in, PyObject *object)
{
    return source_add(in, SOURCE_CONST, NO_SOURCE, 0, NULL, object);
}

static SourceKind
source_kind(Interp *in, SourceId source)
{
    return in->out->sources.at[source].kind;
}

bool
source_is_stacked(const Interp *in, SourceId id)
{
    if (id == NO_SOURCE) return false;
    const Source *source = &in->out->sources.at[id];
    return source->kind == SOURCE_SLOT && source->index >= in->bottom->decoded->nlocalsplus;
}

bool
source_is_spare(const Interp *in, SourceId id)
{
    if (!source_is_stacked(in, id)) return false;
    int entry = in->out->sources.at[id].index - in->bottom->decoded->nlocalsplus;
    return entry < 64 && (in->temporaries.spare_slots >> entry & 1) != 0;
}

/* Guards that the source is this very object; a global is watched instead. */
static int
guard_identity(Interp *in, SourceId source, PyObject *object)
{
    SourceKind kind = source_kind(in, source);
    if (kind == SOURCE_CONST) return 0;
    return guard_simple(in, kind == SOURCE_GLOBAL ? GUARD_GLOBAL : GUARD_IS, source, object);
}

int
value_guard_type(Interp *in, Value *value)
{
    if (value->guarded || value->source == NO_SOURCE) return 0;
    value->guarded = true;
    if (source_kind(in, value->source) == SOURCE_CONST &&
        !(Py_TYPE(value->object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) /* its class cannot be set */
        return 0;
    int guard = guard_simple(in, GUARD_TYPE, value->source, (PyObject *)Py_TYPE(value->object));
    if (guard < 0) return -1;
    value->guard = guard + 1;
    return 0;
}

/* ---- arrays and scalars become inputs ---- */

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

static Value *
array_value(Interp *in, SourceId source, PyObject *object, const ArrayHeader *header)
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
   (device_lengths_hold), so that no rule need ask where CuPy treats an axis of one element in a way
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

/* An array of a library whose memory is a device's: its shape and layout are guarded at once. */
static Value *
device_value(Interp *in, SourceId source, PyObject *object, const ArrayLibrary *library,
             const ArrayHeader *header)
{
    Type type = type_scalar(header->dtype, FORM_ARRAY);
    bool contiguous = (header->flags & ARRAY_C_CONTIGUOUS) != 0;
    type.device = (uint8_t)library->device;
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
    set_place(in, guard);
    unsigned symbols = symbols_of(in, value, &header);
    guard->array.known_shape = (uint8_t)((1u << header.rank) - 1);
    guard->array.least_shape = (uint8_t)symbols;
    bool exact = strides_are_open(&header);
    if (contiguous) guard->array.flags |= ARRAY_C_CONTIGUOUS;
    if (symbols != 0) exact = false;
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
        if (type_contiguous(in->graph, &pinned, header.dtype, header.rank, shape) < 0) return -1;
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

static Value *
scalar_value(Interp *in, SourceId source, PyObject *object, DType dtype, Form form)
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
    return value;
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

Answer
value_in_range(Interp *in, Value *value, int64_t low, int64_t high)
{
    int overflow;
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

/* The object is used as it is, since changes are watched: it is a constant, or a global that this
   function does not store. */
static bool
global_is_steady(Interp *in, SourceId source)
{
    const Source *s = &in->out->sources.at[source];
    if (s->kind == SOURCE_CONST) return true;
    if (s->kind != SOURCE_GLOBAL) return false;
    for (const Activation *a = in->top; a != NULL; a = a->caller)
        for (int i = 0; i < a->decoded->count; i++) {
            const Instr *instr = &a->decoded->instrs[i];
            if (instr->kind == I_STORE_GLOBAL &&
                PyTuple_GET_ITEM(a->decoded->code->co_names, instr->arg) == s->key)
                return false;
        }
    return true;
}

static Value *
const_from_source(Interp *in, SourceId source, PyObject *object)
{
    if (guard_identity(in, source, object) < 0) return NULL;
    Value *value = value_const(in, object);
    if (value != NULL) value->source = source;
    return value;
}

static Value *
python_scalar_value(Interp *in, SourceId source, PyObject *object)
{
    if (global_is_steady(in, source)) return const_from_source(in, source, object);
    if (PyBool_Check(object)) return scalar_value(in, source, object, DT_BOOL, FORM_PYTHON);
    if (PyFloat_CheckExact(object)) return scalar_value(in, source, object, DT_F64, FORM_PYTHON);
    if (PyComplex_CheckExact(object)) return scalar_value(in, source, object, DT_C128, FORM_PYTHON);
    int overflow;
    (void)PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!overflow) return scalar_value(in, source, object, DT_I64, FORM_PYTHON);
    if (int_is_unsigned(object)) return scalar_value(in, source, object, DT_U64, FORM_PYTHON);
    if (guard_simple(in, GUARD_VALUE, source, object) < 0) return NULL;
    Value *value = value_const(in, object);
    if (value != NULL) value->source = source;
    return value;
}

/* ---- containers ---- */

static Value *
container_value(Interp *in, ValueKind kind, SourceId source, PyObject *object, int nitems)
{
    Value *value = value_sequence(in, kind, nitems, NULL);
    if (value == NULL || keep(in, Py_NewRef(object)) == NULL) return NULL;
    value->source = source;
    value->object = object;
    value->type = Py_TYPE(object);
    if (source_kind(in, source) != SOURCE_CONST &&
        guard_simple(in, GUARD_TYPE, source, (PyObject *)Py_TYPE(object)) < 0)
        return NULL;
    return value;
}

uint64_t
source_path_of(Interp *in, SourceId id)
{
    if (id == NO_SOURCE) return 0;
    const Source *source = &in->out->sources.at[id];
    uint64_t base = source->kind == SOURCE_GLOBAL ? 0 : source_path_of(in, source->base);
    return source_path(base, source->kind, source->index, source->key);
}

const VariedPath *
source_varied(Interp *in, SourceId id)
{
    const CaptureRequest *request = in->request;
    if (request->nvaried == 0 || id == NO_SOURCE) return NULL;
    uint64_t path = source_path_of(in, id);
    for (int i = 0; i < request->nvaried; i++)
        if (request->varied[i].path == path) return &request->varied[i];
    return NULL;
}

/* Under capture_all, where what is not captured may have no other way to run, the first values that
   a guard fails for have plans of their own. */
bool
varied_is_planned(const Interp *in, const VariedPath *varied)
{
    enum { MOST_VALUES = 512 };
    const Config *config = in->request->config;
    return config != NULL && config->capture_all && varied->failed <= MOST_VALUES;
}

/* A list or dict whose guard on its length kept failing: a plan for each length would not pay. */
static bool
has_grown(Interp *in, SourceId id)
{
    const Decoded *d = in->request->decoded;
    const Source *source = &in->out->sources.at[id];
    if (source->kind == SOURCE_SLOT && d->varkeywords &&
        source->index == d->argcount + d->kwonly + d->varargs)
        return false; /* each call makes a new one */
    const VariedPath *varied = source_varied(in, id);
    return varied != NULL && varied->unsteady && !varied_is_planned(in, varied);
}

static Value *
sequence_value(Interp *in, ValueKind kind, SourceId source, PyObject *object)
{
    Py_ssize_t length = sequence_length(object);
    if (length > 10000) return value_object(in, object, source);
    Value *value = container_value(in, kind, source, object, (int)length);
    if (value == NULL) return NULL;
    if (kind == V_TUPLE && source_kind(in, source) == SOURCE_CONST) return value;
    Guard guard = {.kind = GUARD_LENGTH, .source = source, .other = NO_SOURCE, .low = length};
    return guard_add(in, &guard) < 0 ? NULL : value;
}

static Value *
dict_value(Interp *in, SourceId source, PyObject *object)
{
    Py_ssize_t at = 0, length = PyDict_GET_SIZE(object);
    PyObject *key, *item;
    if (length > 2000 || has_grown(in, source)) return value_object(in, object, source);
    while (PyDict_Next(object, &at, &key, &item)) {
        if (key_is_constant(key)) continue;
        Answer plain =
            is_enum_member(key) ? enum_is_plain(in, Py_TYPE(key), "__hash__", "__eq__") : ANSWER_NO;
        if (plain == ANSWER_ERROR) return NULL;
        if (plain == ANSWER_NO) return value_object(in, object, source);
    }
    PyObject *names = dict_keys(object);
    if (keep(in, names) == NULL) return NULL;
    if (PyTuple_GET_SIZE(names) != length) /* an OrderedDict changed by dict's methods */
        return value_object(in, object, source);
    Value *value = container_value(in, V_DICT, source, object, 2 * (int)length);
    if (value == NULL || guard_simple(in, GUARD_KEYS, source, names) < 0) return NULL;
    for (int i = 0; i < length; i++) {
        value->items[2 * i] = value_const(in, PyTuple_GET_ITEM(names, i));
        if (value->items[2 * i] == NULL) return NULL;
    }
    return value;
}

Value *
native_from_source(Interp *in, SourceId source, PyObject *object)
{
    if (PyDict_Check(object)) return dict_value(in, source, object);
    bool tuple = PyTuple_Check(object);
    if (PyList_Check(object) && has_grown(in, source)) return value_object(in, object, source);
    return sequence_value(in, tuple ? V_TUPLE : V_LIST, source, object);
}

static Value *
method_value(Interp *in, SourceId source, PyObject *object)
{
    static PyObject *func_name, *self_name;
    if (func_name == NULL && (func_name = PyUnicode_InternFromString("__func__")) == NULL)
        return NULL;
    if (self_name == NULL && (self_name = PyUnicode_InternFromString("__self__")) == NULL)
        return NULL;
    Value *value = container_value(in, V_METHOD, source, object, 2);
    if (value == NULL) return NULL;
    SourceId func = source_add(in, SOURCE_ATTR, source, 0, func_name, NULL);
    SourceId self = source_add(in, SOURCE_ATTR, source, 0, self_name, NULL);
    if (func == NO_SOURCE || self == NO_SOURCE) return NULL;
    value->items[0] = value_from_source(in, func, PyMethod_GET_FUNCTION(object));
    value->items[1] = value_from_source(in, self, PyMethod_GET_SELF(object));
    return value->items[0] == NULL || value->items[1] == NULL ? NULL : value;
}

/* The start, stop and step of a slice or a range are sources of their own, read like attributes. */
static Value *
ends_value(Interp *in, ValueKind kind, SourceId source, PyObject *object)
{
    static const char *const names[3] = {"start", "stop", "step"};
    Value *value = container_value(in, kind, source, object, 3);
    for (int i = 0; value != NULL && i < 3; i++) {
        PyObject *name = interned(in, names[i]);
        PyObject *end = name != NULL ? attribute_stored(object, name) : NULL;
        SourceId part =
            end == NULL ? NO_SOURCE : source_add(in, SOURCE_ATTR, source, 0, name, NULL);
        if (part == NO_SOURCE) return NULL;
        if ((value->items[i] = value_from_source(in, part, end)) == NULL) return NULL;
    }
    return value;
}

static Value *
cell_value(Interp *in, SourceId source, PyObject *object)
{
    Value *value = value_object(in, object, source);
    if (value == NULL) return NULL;
    value->kind = V_CELL;
    value->guarded = true;
    value->nitems = value->cap = 1;
    value->items = arena_alloc(in->arena, sizeof(Value *));
    return value->items == NULL ? NULL : value;
}

/* ---- objects that are their identity ---- */

static bool
is_identity(Interp *in, SourceId source, PyObject *object)
{
    if (PyModule_CheckExact(object) || PyType_Check(object) || PyCFunction_Check(object) ||
        Py_TYPE(object) == &PyMethodDescr_Type || Py_TYPE(object) == &PyClassMethodDescr_Type ||
        Py_TYPE(object) == &PyWrapperDescr_Type || Py_TYPE(object) == &PyGetSetDescr_Type ||
        Py_TYPE(object) == &PyMemberDescr_Type || Py_TYPE(object) == &PyProperty_Type ||
        Py_TYPE(object) == &PyStaticMethod_Type || Py_TYPE(object) == &PyClassMethod_Type ||
        PyCode_Check(object) || ufunc_check(object) || array_library_ufunc_check(object))
        return true;
    if (strstr(Py_TYPE(object)->tp_name, "cython_function_or_method") != NULL) return true;
    if (array_function_check(object) || array_any_dtype_check(object)) return true;
    if (is_enum_member(object)) return true;
    if (typing_is_union(object) || object_is_pattern(object)) return true;
    if (PyFunction_Check(object)) {
        /* Guard the code of a function that each call makes anew, not the function; one that has a
           rule is followed by its identity. */
        SourceKind kind = source_kind(in, source);
        return kind == SOURCE_GLOBAL || kind == SOURCE_CONST || callable_followers(object) != NULL;
    }
    /* A callable of another kind in a global (np.vectorize's, functools.partial). */
    return false;
}

static bool
is_singleton(PyObject *object)
{
    return object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented;
}

/* ---- lists that are only appended to ---- */

static bool
appends(const Decoded *d, int number)
{
    if (number < 0 || number >= d->count) return false;
    const Instr *instr = &d->instrs[number];
    if (instr->kind != I_LOAD_ATTR && instr->kind != I_LOAD_METHOD) return false;
    PyObject *name = PyTuple_GET_ITEM(d->code->co_names, instr->arg);
    return PyUnicode_CompareWithASCIIString(name, "append") == 0;
}

/* The value loaded at `number` becomes part of the function's result. */
static bool
returns(const Decoded *d, int number)
{
    while (number < d->count &&
           (d->instrs[number].kind == I_LOAD_LOCAL || d->instrs[number].kind == I_CONST))
        number++;
    if (number < d->count && d->instrs[number].kind == I_BUILD_TUPLE) number++;
    return number < d->count && d->instrs[number].kind == I_RETURN;
}

/* A list that is used as a log: the code only appends to it.  It is not opened, since its length
   differs from call to call.  A use that this scan overlooks is a graph break, nothing worse. */
static bool
is_log(Interp *in, SourceId source)
{
    const Activation *a = in->top;
    if (source_kind(in, source) == SOURCE_ITEM) return false;
    if (source_kind(in, source) != SOURCE_SLOT) return appends(a->decoded, a->number + 1);
    const Decoded *d = in->bottom->decoded;
    int slot = (int)in->out->sources.at[source].index;
    bool found = false;
    for (int i = 0; i < d->count && slot < d->nlocalsplus; i++) {
        if (d->instrs[i].kind != I_LOAD_LOCAL || d->instrs[i].arg != slot) continue;
        if (appends(d, i + 1))
            found = true;
        else if (!returns(d, i))
            return false;
    }
    return found;
}

/* A deque that still grows is not opened until it is full. */
static Value *
deque_value(Interp *in, SourceId source, PyObject *object)
{
    int64_t most = deque_most(object);
    bool log = is_log(in, source), full = sequence_length(object) == most;
    if (!log && (full || !has_grown(in, source)))
        return in->above->model_from_source(in, source, object);
    Guard filling = {.kind = GUARD_FILLING, .source = source, .other = NO_SOURCE, .low = most};
    if (!log && most >= 0 && guard_add(in, &filling) < 0) return NULL;
    return value_object(in, object, source);
}

static Value *
value_made(Interp *in, SourceId source, PyObject *object)
{
    ArrayHeader header;
    const char *why;
    if (array_is_exact(object)) {
        if (array_read(object, &header, &why) == ANSWER_YES && (header.flags & ARRAY_ALIGNED))
            return array_value(in, source, object, &header);
        return value_object(in, object, source);
    }
    const ArrayLibrary *library = array_library_of(object);
    if (library != NULL && library->read(object, &header, &why) == ANSWER_YES &&
        (header.flags & ARRAY_ALIGNED))
        return device_value(in, source, object, library, &header);
    if (PyTuple_CheckExact(object) || (PyTuple_Check(object) && named_opens(in, Py_TYPE(object))))
        return sequence_value(in, V_TUPLE, source, object);
    if (PyErr_Occurred()) return NULL;
    if (PyList_CheckExact(object))
        return is_log(in, source) || has_grown(in, source)
                   ? value_object(in, object, source)
                   : sequence_value(in, V_LIST, source, object);
    if (in->above->model_holds(object))
        return deque_check(object) ? deque_value(in, source, object)
                                   : in->above->model_from_source(in, source, object);
    if (PyErr_Occurred()) return NULL;
    if (PySet_CheckExact(object)) return set_from_source(in, source, object);
    if (PyDict_CheckExact(object)) return dict_value(in, source, object);
    if (PyMethod_Check(object)) return method_value(in, source, object);
    if (PyCell_Check(object)) return cell_value(in, source, object);
    if (PySlice_Check(object)) return ends_value(in, V_SLICE, source, object);
    if (Py_TYPE(object) == &PyRange_Type) return ends_value(in, V_RANGE, source, object);
    return value_object(in, object, source);
}

static Value *value_resolve(Interp *in, SourceId source, PyObject *object);

static const void *
source_key(SourceId source)
{
    return (const void *)(((uintptr_t)source + 1) << 4);
}

Value *
value_of_source(const Interp *in, SourceId source)
{
    return map_get(&in->sources.by_source, source_key(source));
}

Value *
value_from_source(Interp *in, SourceId source, PyObject *object)
{
    Value *value = value_of_source(in, source);
    if (value != NULL) return value;
    value = value_resolve(in, source, object);
    if (value != NULL && map_put(in, &in->sources.by_source, source_key(source), value) < 0)
        return NULL;
    return value;
}

static Value *
value_resolve(Interp *in, SourceId source, PyObject *object)
{
    if (object == NULL) {
        Value *value = value_new(in, V_UNBOUND);
        if (value == NULL || guard_simple(in, GUARD_UNBOUND, source, NULL) < 0) return NULL;
        value->source = source;
        return value;
    }
    if (is_singleton(object)) return const_from_source(in, source, object);
    if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
        PyComplex_CheckExact(object))
        return python_scalar_value(in, source, object);
    if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object)) {
        if (global_is_steady(in, source)) return const_from_source(in, source, object);
        bool compared = PyUnicode_CheckExact(object) && text_is_compared(in, source);
        if (!compared && guard_simple(in, GUARD_VALUE, source, object) < 0) return NULL;
        Value *value = value_const(in, object);
        if (value == NULL) return NULL;
        value->source = source;
        value->compared = compared;
        return value;
    }
    DType dtype;
    char bytes[16];
    if (array_scalar_read(object, &dtype, bytes) == ANSWER_YES) {
        if (global_is_steady(in, source)) return const_from_source(in, source, object);
        return scalar_value(in, source, object, dtype, FORM_SCALAR);
    }
    Value *known = map_get(&in->sources.by_object, object);
    if (known != NULL) {
        if (known->source == source || known->source == NO_SOURCE) return known;
        Guard guard = {.kind = GUARD_SAME, .source = source, .other = known->source};
        return guard_add(in, &guard) < 0 ? NULL : known;
    }
    if (PyFrozenSet_CheckExact(object)) return set_from_source(in, source, object);
    if (is_identity(in, source, object)) return const_from_source(in, source, object);
    if (PyErr_Occurred()) return NULL;
    Value *value = value_made(in, source, object);
    if (value == NULL || map_put(in, &in->sources.by_object, object, value) < 0) return NULL;
    /* Perhaps nothing else is guarded of it: `hasattr(c, "v")`. */
    in->out->sources.at[source].found = value->kind == V_OBJECT;
    return VEC_PUSH(in->arena, &in->sources.outside, value) < 0 ? NULL : value;
}

Answer
guard_is(Interp *in, Value *value)
{
    if (value->source == NO_SOURCE) return ANSWER_YES;
    return guard_simple(in, GUARD_IS, value->source, value->object) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Guards, once, that the source is this object, or nothing (NULL). */
int
guard_there(Interp *in, SourceId source, PyObject *object)
{
    return guard_found(in, source, GUARD_UNBOUND, source, NULL, object) == ANSWER_YES ? 0 : -1;
}

/* A bool that depends on inputs only: for a comparison of an int argument with a constant, a range
   guard is enough; other inputs are guarded by value. */
Answer
condition_known(Interp *in, Value *condition, bool *out)
{
    PyObject *object;
    Answer outcome = outcome_condition(in, condition, out);
    if (outcome != ANSWER_NO) return outcome;
    if (condition->object != NULL && condition->nitems == 2) {
        Op op = graph_node(in->graph, condition->node)->op;
        bool is_true = condition->object == Py_True;
        for (int side = 0; side < 2; side++) {
            Value *symbol = condition->items[side], *bound = condition->items[!side];
            int64_t limit;
            if (symbol->kind != V_NODE || bound->kind != V_CONST ||
                !PyLong_CheckExact(bound->object) || value_as_int(in, bound, &limit) != ANSWER_YES)
                continue;
            if (limit < -(1LL << 60) || limit > 1LL << 60 || (op != OP_py_lt && op != OP_py_le))
                continue;
            int64_t low = INT64_MIN, high = INT64_MAX;
            bool strict = (op == OP_py_lt) == is_true;
            /* symbol < limit when it is the left side and the test holds, or the right and it fails
             */
            if ((side == 0) == is_true)
                high = limit - strict;
            else
                low = limit + strict;
            Answer answer = value_in_range(in, symbol, low, high);
            if (answer_stops(answer)) return answer;
            if (answer == ANSWER_NO) continue;
            *out = is_true;
            return ANSWER_YES;
        }
    }
    *out = condition->object == Py_True;
    Answer answer = condition_of_lengths(in, condition);
    if (answer != ANSWER_NO) return answer;
    answer = value_known(in, condition, &object);
    if (answer == ANSWER_YES) *out = object == Py_True;
    return answer;
}
