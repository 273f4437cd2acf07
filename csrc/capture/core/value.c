/* Symbolic values: making them, and asking what they are.  See values.h. */
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

Value *
value_object(Interp *in, PyObject *object, SourceId source)
{
    Value *value = value_new(in, V_OBJECT);
    if (value == NULL || keep(in, Py_NewRef(object)) == NULL) return NULL;
    value->object = object;
    value->type = Py_TYPE(object);
    value->source = source;
    return value;
}

/* ---- asking ---- */

bool
value_is_array(Interp *in, const Value *value)
{
    return value->kind == V_NODE && value_node_type(in, value)->form == FORM_ARRAY;
}

bool
value_is_numpy(Interp *in, const Value *value)
{
    if (value->kind == V_CONST)
        return array_scalar_check(value->object) || array_is_exact(value->object);
    return value->kind == V_NODE &&
           (value_node_type(in, value)->form == FORM_ARRAY ||
            value_node_type(in, value)->form == FORM_SCALAR || opaque_sample(in, value) != NULL);
}

bool
value_is_python_scalar(Interp *in, const Value *value)
{
    if (value->kind == V_NODE) return value_node_type(in, value)->form == FORM_PYTHON;
    if (value->kind != V_CONST) return false;
    PyObject *object = value->object;
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
           PyComplex_CheckExact(object);
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
