/* Symbolic values: making them, and reading what is known of them.  See values.h. */
#include "../../config.h"
#include "core.h"

/* ---- pointer map: open addressing, never deletes ---- */

static size_t
pointer_hash(const void *key)
{
    uint64_t bits = (uint64_t)(uintptr_t)key;
    bits = (bits >> 4) * 0x9E3779B97F4A7C15ULL;
    return (size_t)(bits >> 20);
}

void *
map_get(const PointerMap *map, const void *key)
{
    if (map->len == 0) return NULL;
    size_t mask = (size_t)map->cap - 1;
    for (size_t i = pointer_hash(key) & mask;; i = (i + 1) & mask) {
        if (map->keys[i] == NULL) return NULL;
        if (map->keys[i] == key) return map->values[i];
    }
}

static void
map_insert(PointerMap *map, const void *key, void *value)
{
    size_t mask = (size_t)map->cap - 1;
    size_t i = pointer_hash(key) & mask;
    while (map->keys[i] != NULL && map->keys[i] != key) i = (i + 1) & mask;
    if (map->keys[i] == NULL) map->len++;
    map->keys[i] = key;
    map->values[i] = value;
}

int
map_add(Arena *arena, PointerMap *map, const void *key, void *value)
{
    if (map->len * 2 >= map->cap) {
        PointerMap bigger = {.cap = map->cap ? map->cap * 2 : 32};
        bigger.keys = arena_alloc(arena, (size_t)bigger.cap * sizeof(void *));
        bigger.values = arena_alloc(arena, (size_t)bigger.cap * sizeof(void *));
        if (bigger.keys == NULL || bigger.values == NULL) return -1;
        for (int i = 0; i < map->cap; i++)
            if (map->keys[i] != NULL) map_insert(&bigger, map->keys[i], map->values[i]);
        *map = bigger;
    }
    map_insert(map, key, value);
    return 0;
}

int
map_put(Interp *in, PointerMap *map, const void *key, void *value)
{
    return map_add(in->arena, map, key, value);
}

/* ---- making values ---- */

PyObject *
keep(Interp *in, PyObject *object)
{
    if (object == NULL) return NULL;
    int failed = PyList_Append(in->out->keep, object);
    Py_DECREF(object);
    return failed < 0 ? NULL : object;
}

bool
is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

PyObject *
module_kept(Interp *in, const char *module, const char *name)
{
    return keep(in, module_object(module, name));
}

Value *
value_new(Interp *in, ValueKind kind)
{
    Value *value = arena_alloc(in->arena, sizeof(Value));
    if (value == NULL) return NULL;
    value->kind = kind;
    value->source = NO_SOURCE;
    value->node = NO_NODE;
    value->serial = in->attempt.values.len;
    return VEC_PUSH(in->arena, &in->attempt.values, value) < 0 ? NULL : value;
}

Value *
value_const(Interp *in, PyObject *object)
{
    if (keep(in, Py_NewRef(object)) == NULL) return NULL;
    bool tuple = PyTuple_CheckExact(object);
    Value *value = value_new(in, tuple ? V_TUPLE : V_CONST);
    if (value == NULL) return NULL;
    value->object = object;
    value->type = Py_TYPE(object);
    value->guarded = true;
    if (!tuple) return value;
    value->nitems = value->cap = (int)PyTuple_GET_SIZE(object);
    value->items = arena_alloc(in->arena, (size_t)value->nitems * sizeof(Value *));
    return value->items == NULL ? NULL : value;
}

Value *
value_const_new(Interp *in, PyObject *object)
{
    if (object == NULL) return NULL;
    Value *value = value_const(in, object);
    Py_DECREF(object);
    return value;
}

Value *
value_node(Interp *in, NodeId node)
{
    Value *value = value_new(in, V_NODE);
    if (value == NULL) return NULL;
    value->node = node;
    value->guarded = value->pinned = true;
    return value;
}

Value *
value_sequence(Interp *in, ValueKind kind, int n, Value *const *items)
{
    Value *value = value_new(in, kind);
    if (value == NULL) return NULL;
    value->nitems = value->cap = n;
    value->guarded = true;
    size_t size = (size_t)n * sizeof(Value *);
    value->items =
        items != NULL ? arena_copy(in->arena, items, size) : arena_alloc(in->arena, size);
    return value->items == NULL ? NULL : value;
}

int
value_append(Interp *in, Value *sequence, Value *item)
{
    if (sequence->nitems == sequence->cap &&
        arena_grow(in->arena, (void **)&sequence->items, &sequence->cap, sequence->nitems,
                   sizeof(Value *)) < 0)
        return -1;
    sequence->items[sequence->nitems++] = item;
    return 0;
}

/* An iterator of the frame's stack, or of another one there: guards ask whether nobody else has it. */
static bool
is_left_alone(const Interp *in, SourceId source)
{
    while (source != NO_SOURCE && in->out->sources.at[source].kind == SOURCE_WALKED)
        source = in->out->sources.at[source].base;
    return source_is_spare(in, source);
}

Value *
value_object(Interp *in, PyObject *object, SourceId source)
{
    Value *value = value_new(in, V_OBJECT);
    if (value == NULL) return NULL;
    if (!is_left_alone(in, source) && keep(in, Py_NewRef(object)) == NULL) return NULL;
    value->object = object;
    value->type = Py_TYPE(object);
    value->source = source;
    return value;
}

/* The entry of a dict opened from outside; its keys were made constants when it was opened. */
Value *
value_item(Interp *in, Value *container, int i)
{
    Value *item = container->items[i];
    if (item != NULL) return item;
    PyObject *object = container->object;
    if (container->source == NO_SOURCE) {
        item = value_const(in, PyTuple_GET_ITEM(object, i));
    } else {
        PyObject *key = NULL, *real;
        if (container->kind == V_DICT) {
            key = container->items[i - 1]->object;
            real = PyDict_GetItemWithError(object, key);
        } else {
            real = sequence_entry(object, i);
        }
        if (real == NULL) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "a container lost an item");
            return NULL;
        }
        if (key == NULL && (key = keep(in, PyLong_FromLong(i))) == NULL) return NULL;
        SourceId source = source_add(in, SOURCE_ITEM, container->source, i, key, NULL);
        if (source == NO_SOURCE) return NULL;
        item = value_from_source(in, source, real);
    }
    container->items[i] = item;
    return item;
}

/* ---- asking ---- */

static const Type *
node_type(Interp *in, const Value *value)
{
    return &graph_node(in->graph, value->node)->type;
}

bool
value_is_array(Interp *in, const Value *value)
{
    return value->kind == V_NODE && node_type(in, value)->form == FORM_ARRAY;
}

bool
value_is_numpy(Interp *in, const Value *value)
{
    if (value->kind == V_CONST)
        return array_scalar_check(value->object) || array_is_exact(value->object);
    return value->kind == V_NODE &&
           (node_type(in, value)->form == FORM_ARRAY || node_type(in, value)->form == FORM_SCALAR ||
            opaque_sample(in, value) != NULL);
}

int
note_class_asked(Interp *in, const Value *value)
{
    if (in->loop == NULL || value->kind != V_NODE || value_is_array(in, value)) return 0;
    LoopAsked asked = {.number = value->node, .line = in->graph->line};
    return VEC_PUSH(in->arena, &in->loop->asked, asked);
}

bool
value_is_python_scalar(Interp *in, const Value *value)
{
    if (value->kind == V_NODE) return node_type(in, value)->form == FORM_PYTHON;
    if (value->kind != V_CONST) return false;
    PyObject *object = value->object;
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
           PyComplex_CheckExact(object);
}

static PyTypeObject *
python_type(DType dtype)
{
    switch (dtype) {
    case DT_BOOL: return &PyBool_Type;
    case DT_I64:
    case DT_U64: return &PyLong_Type;
    case DT_F64: return &PyFloat_Type;
    default: return &PyComplex_Type;
    }
}

/* The type of a NumPy scalar of this dtype (np.float64); borrowed. */
static PyTypeObject *
scalar_type(Interp *in, DType dtype)
{
    PyObject *descr = array_dtype_object(dtype);
    PyObject *type = descr ? PyObject_GetAttrString(descr, "type") : NULL;
    Py_XDECREF(descr);
    return (PyTypeObject *)keep(in, type);
}

/* NULL where the type is not one of the static types. */
static PyTypeObject *
iterator_type(const Value *value)
{
    if (value->generator != NULL) return value->type;
    if (value->name == NULL) return NULL;
    if (strcmp(value->name, "zip") == 0) return &PyZip_Type;
    if (strcmp(value->name, "enumerate") == 0) return &PyEnum_Type;
    return NULL;
}

PyTypeObject *
type_of_const(Interp *Py_UNUSED(in), Value *value)
{
    return Py_TYPE(value->object);
}

PyTypeObject *
type_of_object(Interp *in, Value *value)
{
    return value_guard_type(in, value) < 0 ? NULL : Py_TYPE(value->object);
}

PyTypeObject *
type_of_node(Interp *in, Value *value)
{
    const Type *type = node_type(in, value);
    if (type->form == FORM_ARRAY) return array_class();
    if (type->form == FORM_SCALAR) return scalar_type(in, type->dtype);
    if (opaque_sample(in, value) != NULL) return array_class();
    return type->form == FORM_PYTHON ? python_type(type->dtype) : NULL;
}

PyTypeObject *
type_of_tuple(Interp *Py_UNUSED(in), Value *value)
{
    return value->type != NULL ? value->type : &PyTuple_Type;
}

PyTypeObject *
type_of_iterator(Interp *Py_UNUSED(in), Value *value)
{
    return iterator_type(value);
}

PyTypeObject *
type_recorded(Interp *Py_UNUSED(in), Value *value)
{
    return value->type;
}

PyTypeObject *
type_of_choice(Interp *in, Value *value)
{
    (void)choice_asked(in, value);
    return NULL;
}

const char *
describe_nothing(Interp *Py_UNUSED(in), Value *Py_UNUSED(value))
{
    return "nothing";
}

const char *
describe_iterator(Interp *Py_UNUSED(in), Value *Py_UNUSED(value))
{
    return "an iterator";
}

const char *
describe_name(Interp *Py_UNUSED(in), Value *value)
{
    return value->name;
}

const char *
describe_grown(Interp *Py_UNUSED(in), Value *Py_UNUSED(value))
{
    return "a list to which a loop has appended";
}

const char *
describe_object(Interp *Py_UNUSED(in), Value *value)
{
    return Py_TYPE(value->object)->tp_name;
}

/* The name of a callable. */
const char *
describe_const(Interp *in, Value *value)
{
    const char *name = NULL;
    if (!PyCallable_Check(value->object)) return NULL;
    PyObject *qualname = PyObject_GetAttrString(value->object, "__qualname__");
    if (qualname == NULL) {
        PyErr_Clear();
        qualname = PyObject_GetAttrString(value->object, "__name__");
    }
    if (qualname != NULL && PyUnicode_Check(qualname) && keep(in, Py_NewRef(qualname)))
        name = PyUnicode_AsUTF8(qualname);
    Py_XDECREF(qualname);
    return name;
}

/* ---- what is known ---- */

/* Items of a sequence as a new tuple; NULL with *answer telling why. */
static PyObject *
known_items(Interp *in, Value *value, Answer *answer)
{
    PyObject *tuple = PyTuple_New(value->nitems);
    *answer = tuple ? ANSWER_YES : ANSWER_ERROR;
    for (int i = 0; tuple != NULL && i < value->nitems; i++) {
        PyObject *object = NULL;
        Value *item = value_item(in, value, i);
        *answer = item ? value_known(in, item, &object) : ANSWER_ERROR;
        if (*answer == ANSWER_YES)
            PyTuple_SET_ITEM(tuple, i, Py_NewRef(object));
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *
known_dict(PyObject *items)
{
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict != NULL && i + 1 < PyTuple_GET_SIZE(items); i += 2)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(items, i), PyTuple_GET_ITEM(items, i + 1)) < 0)
            Py_CLEAR(dict);
    return dict;
}

/* tuple.__new__ of a class of named tuples, which runs no code of the class. */
static PyObject *
known_named(PyTypeObject *type, PyObject *items)
{
    PyObject *args = PyTuple_Pack(1, items);
    PyObject *object = args ? PyTuple_Type.tp_new(type, args, NULL) : NULL;
    Py_XDECREF(args);
    return object;
}

Answer
known_container(Interp *in, Value *value, PyObject **out)
{
    Answer answer;
    if (in->attempt.nesting > 40) return ANSWER_NO; /* a container may contain itself */
    in->attempt.nesting++;
    PyObject *items = known_items(in, value, &answer), *object = NULL;
    in->attempt.nesting--;
    if (items == NULL) return answer;
    switch (value->kind) {
    case V_TUPLE:
        object = value->type == NULL || value->type == &PyTuple_Type
                     ? Py_NewRef(items)
                     : known_named(value->type, items);
        break;
    case V_LIST: object = PySequence_List(items); break;
    case V_DICT: object = known_dict(items); break;
    case V_SLICE:
        object = PySlice_New(PyTuple_GET_ITEM(items, 0), PyTuple_GET_ITEM(items, 1),
                             PyTuple_GET_ITEM(items, 2));
        break;
    case V_RANGE: object = PyObject_Call((PyObject *)&PyRange_Type, items, NULL); break;
    default: break;
    }
    Py_DECREF(items);
    *out = keep(in, object);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A number whose guard kept failing is as unknown as one out of an array; so is one whose guard
   failed once, where capture gets as far without its value. */
static bool
is_unsteady(Interp *in, SourceId id)
{
    const Config *config = in->request->config;
    const VariedPath *varied = source_varied(in, id);
    bool all = config != NULL && config->capture_all;
    if (varied == NULL || varied_is_planned(in, varied)) return false;
    if (varied->unsteady && !all) return true;
    if (in->attempt.marks->by_value) return false;
    in->attempt.learn->asked = true;
    return true;
}

/* A Python scalar that depends on inputs only: guards them by value and becomes a constant. */
Answer
known_scalar(Interp *in, Value *value, PyObject **out)
{
    if (value->object == NULL || value_is_array(in, value)) return ANSWER_NO;
    for (int i = 0; i < value->nitems; i++) {
        PyObject *ignored;
        Answer answer = value_known(in, value->items[i], &ignored);
        if (answer != ANSWER_YES) return answer;
    }
    if (value->nitems == 0 && value->sized != NULL) { /* a size */
        if (value_pin(in, value->sized) < 0) return ANSWER_ERROR;
        int axis = in->out->sources.at[value->source].index;
        SizeId length = array_length(in, value->sized, axis);
        if (!size_is_const(in->graph, length))
            return size_specialise(in, length, "a length of which the number is needed");
    } else if (value->nitems == 0) {
        if (value->source == NO_SOURCE || is_unsteady(in, value->source)) return ANSWER_NO;
        Guard *guard = value->guard ? &in->out->guards.at[value->guard - 1] : NULL;
        if (guard != NULL) {
            guard->kind = GUARD_VALUE;
            guard->object = value->object;
        } else if (guard_simple(in, GUARD_VALUE, value->source, value->object) < 0) {
            return ANSWER_ERROR;
        }
    }
    value->kind = V_CONST;
    *out = value->object;
    return ANSWER_YES;
}

Answer
known_const(Interp *Py_UNUSED(in), Value *value, PyObject **out)
{
    *out = value->object;
    return ANSWER_YES;
}

Answer
known_tuple(Interp *in, Value *value, PyObject **out)
{
    if (value->source != NO_SOURCE || value->object == NULL) return known_container(in, value, out);
    *out = value->object;
    return ANSWER_YES;
}

Answer
value_as_int(Interp *in, Value *value, int64_t *out)
{
    if (value->kind != V_CONST && value->kind != V_NODE) return ANSWER_NO;
    if (value->kind == V_NODE) {
        const Type *type = node_type(in, value);
        if (type->rank != 0 || type->form == FORM_ARRAY ||
            !(type->dtype == DT_BOOL || dtype_is_integer(type->dtype)))
            return ANSWER_NO;
    }
    PyObject *object;
    Answer answer = value_known(in, value, &object);
    if (answer != ANSWER_YES) return answer;
    if (!PyLong_Check(object) && !array_scalar_check(object)) return ANSWER_NO;
    PyObject *index = PyNumber_Index(object);
    if (index == NULL) {
        PyErr_Clear();
        return ANSWER_NO;
    }
    int overflow;
    *out = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    return overflow ? ANSWER_NO : ANSWER_YES;
}

/* ---- as nodes ---- */

/* The type of a constant scalar; ANSWER_NO when it is none that the graph takes.  `wide`: ints of
   up to 64 bits without a sign are taken. */
static Answer
const_type(PyObject *object, bool wide, Type *type)
{
    *type = (Type){.form = FORM_PYTHON, .offset = NO_SIZE};
    DType dtype;
    char bytes[16];
    if (PyBool_Check(object)) {
        type->dtype = DT_BOOL;
    } else if (PyLong_CheckExact(object)) {
        int overflow;
        (void)PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow && !(wide && int_is_unsigned(object))) return ANSWER_NO;
        type->dtype = overflow ? DT_U64 : DT_I64;
    } else if (PyFloat_CheckExact(object)) {
        type->dtype = DT_F64;
    } else if (PyComplex_CheckExact(object)) {
        type->dtype = DT_C128;
    } else if (array_scalar_read(object, &dtype, bytes) == ANSWER_YES) {
        type->dtype = dtype;
        type->form = FORM_SCALAR;
    } else {
        return ANSWER_NO;
    }
    return ANSWER_YES;
}

static Answer
const_node(Interp *in, Value *value, NodeId *out)
{
    Type type;
    /* The node of a scalar that became known is kept, since it has the same value. */
    if (value->node == NO_NODE || in->region != 0) {
        if (const_type(value->object, in->loop != NULL, &type) != ANSWER_YES) return ANSWER_NO;
        *out = graph_const(in->graph, in->region, value->object, &type);
        /* In a kept loop a constant alone may be Python's, converted: loop_either.c. */
        if (in->loop != NULL && type.form == FORM_SCALAR && *out != NO_NODE)
            *out = graph_add(in->graph, in->region, OP_copy, 1, out, &type, NULL);
        if (*out == NO_NODE) return ANSWER_ERROR;
        if (in->region == 0) value->node = *out;
        return ANSWER_YES;
    }
    *out = value->node;
    return ANSWER_YES;
}

Answer
value_wide_node(Interp *in, Value *value, NodeId *out)
{
    Type type = type_scalar(DT_U64, FORM_PYTHON);
    if (!value_is_wide(value) || !int_is_unsigned(value->object)) return ANSWER_NO;
    *out = graph_const(in->graph, in->region, value->object, &type);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

Answer
value_as_unpinned_node(Interp *in, Value *value, NodeId *out)
{
    if (value->kind == V_CONST) return const_node(in, value, out);
    if (value->kind != V_NODE) return ANSWER_NO;
    if (node_type(in, value)->form != FORM_ARRAY) {
        *out = value->node;
        return ANSWER_YES;
    }
    *out = array_current(in, value->node);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

Answer
value_as_node(Interp *in, Value *value, NodeId *out)
{
    if (value->kind == V_NODE && !value->pinned && value_pin(in, value) < 0) return ANSWER_ERROR;
    if (value->kind == V_NODE && in->memory.varies != VARIES_TURNS &&
        type_varies(in, node_type(in, value)) &&
        !(in->memory.varies == VARIES_SYMBOLS && !type_is_measured(in, node_type(in, value)))) {
        Type type = *node_type(in, value);
        Answer answer = sizes_specialise(in, &type, "an array of a length that is not known");
        if (answer != ANSWER_NO) return answer;
        return interp_break(in, BREAK_SHAPE, "an array whose length changes from turn to turn");
    }
    return value_as_unpinned_node(in, value, out);
}

Answer
value_as_sized_node(Interp *in, Value *value, NodeId *out)
{
    uint8_t outer = in->memory.varies;
    if (outer == VARIES_NOT) in->memory.varies = VARIES_SYMBOLS;
    Answer answer = value_as_node(in, value, out);
    in->memory.varies = outer;
    return answer;
}

bool
value_is_object(const Value *value)
{
    return value->kind == V_OBJECT || value->kind == V_INSTANCE ||
           (value->kind == V_CONST && is_enum_member(value->object));
}

bool
value_is_generator(const Value *value)
{
    return value->kind == V_ITER && value->generator != NULL;
}

Opaque *
opaque_of(Interp *in, NodeId node)
{
    for (int i = in->memory.opaques.len - 1; i >= 0; i--)
        if (in->memory.opaques.at[i].node == node) return &in->memory.opaques.at[i];
    return NULL;
}

bool
value_is_opaque(const Interp *in, const Value *value)
{
    return value->kind == V_NODE && graph_node(in->graph, value->node)->type.form == FORM_OBJECT;
}

PyObject *
opaque_sample(Interp *in, const Value *value)
{
    Opaque *opaque = opaque_of(in, value->node);
    return opaque == NULL || !array_is_exact(opaque->sample) ? NULL : opaque->sample;
}

/* Makes the text of a V_PURE that depends on arguments alone: guards them, and the value is a
   constant from here on. */
Answer
pure_known(Interp *in, Value *pure, PyObject **out)
{
    PyObject *args = PyTuple_New(pure->nitems), *object;
    Answer answer = args ? ANSWER_YES : ANSWER_ERROR;
    for (int i = 0; answer == ANSWER_YES && i < pure->nitems; i++) {
        answer = value_known(in, pure->items[i], &object);
        if (answer == ANSWER_YES) PyTuple_SET_ITEM(args, i, Py_NewRef(object));
    }
    if (answer == ANSWER_YES) {
        *out = keep(in, PyObject_Call(pure->object, args, NULL));
        if (*out == NULL) {
            PyErr_Clear(); /* the plan's own call raises it again, as a deopt */
            answer = ANSWER_NO;
        } else {
            pure->kind = V_CONST;
            pure->object = *out;
            pure->items = NULL;
            pure->nitems = 0;
        }
    }
    Py_XDECREF(args);
    return answer;
}

static bool
is_of_modules(const Activation *a, const char *prefix)
{
    PyObject *name = dict_named(a->globals, "__name__");
    return name != NULL && PyUnicode_Check(name) &&
           strncmp(text_of_str(name), prefix, strlen(prefix)) == 0;
}

bool
code_is_model(const Activation *a)
{
    return is_of_modules(a, "pycompile.decompositions.");
}

bool
code_is_ours(const Activation *a)
{
    return is_of_modules(a, "pycompile.");
}

bool
value_is_number(Interp *in, const Value *value)
{
    if (value->kind == V_CONST)
        return value_is_python_scalar(in, value) || array_scalar_check(value->object);
    if (value->kind != V_NODE) return false;
    Form form = (Form)graph_node(in->graph, value->node)->type.form;
    return form == FORM_PYTHON || form == FORM_SCALAR;
}

bool
value_is_unknown_scalar(Interp *in, const Value *value)
{
    return value->kind == V_NODE && value->object == NULL && value_is_number(in, value);
}

bool
value_is_opaque_object(Interp *in, const Value *value)
{
    return value_is_opaque(in, value) && opaque_sample(in, value) == NULL &&
           opaque_of(in, value->node) != NULL;
}

PyObject *
object_sample(Interp *in, const Value *value)
{
    Opaque *opaque = opaque_of(in, value->node);
    return opaque == NULL ? NULL : opaque->sample;
}

const Activation *
generator_suspended(const Value *iterator)
{
    const Generator *generator = iterator->generator;
    if (iterator->kind != V_ITER || generator == NULL) return NULL;
    return generator->running || generator->finished ? NULL : generator->activation;
}
