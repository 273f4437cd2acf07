/* Objects of the library's C classes made inside (collections.deque, operator.itemgetter, …): a
   V_INSTANCE of a model, a Python class that does what the C class does
   (pycompile/decompositions/models.py), so that everything that follows instances follows them.

   The program sees the class that is modelled: value_type gives it, and of the model's attributes
   the program's code gets those that the real class has.  One that leaves is made by the model's
   `_leave`: a function and the slots that are its arguments.  What is immutable is opened from
   outside under a guard on its identity, by what __reduce__ gives.

   A container from outside is an instance of the model with a source, made at once.  The container
   in its slot `_data` or `_items` has the same source: it reads what the real object holds, and
   changes of it are effects on the real object.  Its other slots are read once and not stored. */
#include "objects.h"

/* class -> model, model -> class; the models that are opened from outside; class -> the slot that
   holds its data */
static PyObject *models, *reals, *opened, *held;
/* Python class -> what it has while its model is right, name -> (attribute, its code); None: it was
   changed before */
static PyObject *originals, *absent;

static int
models_load(void)
{
    if (reals != NULL) return 0;
    PyObject *module = module_import("pycompile.decompositions.models");
    if (module != NULL) {
        models = PyObject_GetAttrString(module, "MODELS");
        opened = PyObject_GetAttrString(module, "OPENED");
        held = PyObject_GetAttrString(module, "HELD");
        originals = PyObject_GetAttrString(module, "ORIGINALS");
        absent = PyObject_GetAttrString(module, "Absent");
        reals = PyObject_GetAttrString(module, "REALS");
        Py_DECREF(module);
    }
    bool all = reals && models && opened && held && originals && absent;
    return all ? 0 : -1;
}

/* Only classes of these modules have a model: checked before anything is imported. */
static bool
may_have_model(const PyTypeObject *type)
{
    const char *name = type->tp_name;
    return strncmp(name, "collections.", 12) == 0 || strncmp(name, "operator.", 9) == 0 ||
           strncmp(name, "functools.", 10) == 0 || strcmp(name, "Counter") == 0;
}

/* The class that stands for it, or NULL; borrowed. */
static PyObject *
model_for(PyTypeObject *type)
{
    if (!may_have_model(type) || models_load() < 0) return NULL;
    return PyDict_GetItemWithError(models, (PyObject *)type);
}

static bool
is_original(PyObject *wanted, PyObject *found)
{
    PyObject *attribute = PyTuple_GET_ITEM(wanted, 0);
    if (found == NULL) return attribute == absent;
    return found == attribute &&
           (!PyFunction_Check(found) || PyFunction_GET_CODE(found) == PyTuple_GET_ITEM(wanted, 1));
}

static Answer
guard_code(Interp *in, PyObject *function)
{
    PyObject *name = interned(in, "__code__");
    SourceId base = name ? source_of_const(in, function) : NO_SOURCE;
    if (base == NO_SOURCE) return ANSWER_ERROR;
    SourceId source = source_add(in, SOURCE_ATTR, base, 0, name, NULL);
    if (source == NO_SOURCE) return ANSWER_ERROR;
    return guard_there(in, source, PyFunction_GET_CODE(function)) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Does the class have everything that its model assumes?  `in`: emits guards for that, or NULL. */
static Answer
class_is_original(Interp *in, PyTypeObject *type)
{
    PyObject *all = PyDict_GetItemWithError(originals, (PyObject *)type), *name, *wanted;
    if (all == NULL) return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_YES; /* cannot change */
    Py_ssize_t at = 0;
    Answer answer = PyDict_Check(all) ? ANSWER_YES : ANSWER_NO;
    while (answer == ANSWER_YES && PyDict_Next(all, &at, &name, &wanted)) {
        PyObject *found = type_own_stored(type, name);
        if (!is_original(wanted, found)) return ANSWER_NO;
        if (in == NULL) continue;
        answer = type_own_lookup(in, type, name, &found);
        if (answer == ANSWER_YES && found != NULL && PyFunction_Check(found))
            answer = guard_code(in, found);
    }
    return answer;
}

PyTypeObject *
model_real(const Value *value)
{
    if (value->kind != V_INSTANCE || reals == NULL || value->exception != NULL) return NULL;
    return (PyTypeObject *)PyDict_GetItemWithError(reals, (PyObject *)value->type);
}

bool
is_model_method(const Value *value)
{
    return value->kind == V_METHOD && value->items[1] != NULL &&
           model_real(value->items[1]) != NULL;
}

PyObject *
model_method(const Value *method, PyObject **name)
{
    PyObject *function = method->items[0]->object;
    if (function == NULL || !PyFunction_Check(function)) return NULL;
    *name = ((PyFunctionObject *)function)->func_name;
    return _PyType_Lookup(model_real(method->items[1]), *name);
}

PyTypeObject *
type_of_instance(Interp *Py_UNUSED(in), Value *value)
{
    PyTypeObject *real = model_real(value);
    return real != NULL ? real : value->type;
}

PyTypeObject *
type_of_method(Interp *Py_UNUSED(in), Value *value)
{
    PyObject *name, *real = is_model_method(value) ? model_method(value, &name) : NULL;
    PyObject *function = value->items[0] != NULL ? value->items[0]->object : NULL;
    if (function != NULL && Py_TYPE(function) == &PyMethodDescr_Type) return &PyCFunction_Type;
    if (function != NULL && Py_TYPE(function) == &PyWrapperDescr_Type)
        return NULL; /* of a type without a public name */
    return real == NULL || PyFunction_Check(real) ? &PyMethod_Type : &PyCFunction_Type;
}

static Answer
make(Interp *in, PyObject *model, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    Value *class_ = value_const(in, model);
    return class_ ? class_call(in, class_, nargs, args, kwnames, out) : ANSWER_ERROR;
}

Answer
model_make(Interp *in, PyObject *type, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    PyObject *model = model_for((PyTypeObject *)type);
    if (model == NULL) return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    Answer answer = class_is_original(in, (PyTypeObject *)type);
    if (answer != ANSWER_YES) return answer;
    return make(in, model, nargs, args, kwnames, out);
}

/* The results of __reduce__ as arguments; NULL without an error where they have another form. */
static PyObject *
parts_of(Interp *in, PyObject *object)
{
    PyObject *reduced = keep(in, PyObject_CallMethod(object, "__reduce__", NULL));
    if (reduced == NULL) {
        PyErr_Clear();
        return NULL;
    }
    if (!PyTuple_Check(reduced) || PyTuple_GET_SIZE(reduced) != 2) return NULL;
    bool own = PyTuple_GET_ITEM(reduced, 0) == (PyObject *)Py_TYPE(object);
    PyObject *args = PyTuple_GET_ITEM(reduced, 1);
    return own && PyTuple_CheckExact(args) ? args : NULL;
}

/* A part, which is a constant; a slice is opened, since arrays and sequences read its fields. */
static Value *
part_value(Interp *in, PyObject *part)
{
    if (!PySlice_Check(part)) return value_of_const(in, part);
    PySliceObject *slice = (PySliceObject *)part;
    Value *items[3] = {value_const(in, slice->start), value_const(in, slice->stop),
                       value_const(in, slice->step)};
    for (int i = 0; i < 3; i++)
        if (items[i] == NULL) return NULL;
    return value_sequence(in, V_SLICE, 3, items);
}

Answer
model_open(Interp *in, Value *object, Value **out)
{
    PyObject *model = model_for(object->type);
    if (model == NULL || !PySet_Contains(opened, (PyObject *)object->type))
        return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    PyObject *parts = parts_of(in, object->object);
    if (parts == NULL) return ANSWER_NO;
    Answer answer = guard_is(in, object);
    if (answer != ANSWER_YES) return answer;
    int n = (int)PyTuple_GET_SIZE(parts);
    Value **args = arena_alloc(in->arena, ((size_t)n + 1) * sizeof(Value *));
    for (int i = 0; args != NULL && i < n; i++)
        if ((args[i] = part_value(in, PyTuple_GET_ITEM(parts, i))) == NULL) return ANSWER_ERROR;
    return args ? make(in, model, n, args, NULL, out) : ANSWER_ERROR;
}

/* ---- containers from outside ---- */

bool
model_holds(PyObject *object)
{
    return may_have_model(Py_TYPE(object)) && models_load() == 0 &&
           PyDict_GetItemWithError(held, (PyObject *)Py_TYPE(object)) != NULL &&
           class_is_original(NULL, Py_TYPE(object)) == ANSWER_YES;
}

static int
slot_put(Interp *in, Value *object, const char *text, Value *value)
{
    PyObject *name = interned(in, text);
    Value *key = name && value ? value_const(in, name) : NULL;
    if (key == NULL || value_append(in, object, key) < 0) return -1;
    return value_append(in, object, value);
}

static int
deque_slots(Interp *in, Value *object)
{
    int64_t most = deque_most(object->object);
    Guard guard = {.kind = GUARD_MOST, .source = object->source, .other = NO_SOURCE, .low = most};
    PyObject *number = most < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(most);
    if (keep(in, number) == NULL || guard_add(in, &guard) < 0) return -1;
    if (slot_put(in, object, "maxlen", value_const(in, number)) < 0) return -1;
    return slot_put(in, object, "_changes", value_const_new(in, PyLong_FromLong(0)));
}

/* The factory of a defaultdict may be a method of that very dict. */
static int
factory_slot(Interp *in, Value *object)
{
    PyObject *name = interned(in, "default_factory");
    PyObject *factory = name ? attribute_stored(object->object, name) : NULL;
    if (factory == NULL) return -1;
    SourceId source = source_add(in, SOURCE_ATTR, object->source, 0, name, NULL);
    if (source == NO_SOURCE) return -1;
    return slot_put(in, object, "default_factory", value_from_source(in, source, factory));
}

Value *
model_from_source(Interp *in, SourceId source, PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject *model = PyDict_GetItemWithError(models, type);
    PyObject *slot = PyDict_GetItemWithError(held, type);
    if (!instance_is_bare(object)) return value_object(in, object, source);
    Answer original = class_is_original(in, Py_TYPE(object)); /* model_holds has checked it */
    if (original != ANSWER_YES)
        return original == ANSWER_NO ? value_object(in, object, source) : NULL;
    Value *data = native_from_source(in, source, object);
    if (data == NULL || data->kind == V_OBJECT) return data;
    if (type_has_dict(Py_TYPE(object)) && guard_simple(in, GUARD_BARE, source, NULL) < 0)
        return NULL; /* they have no model */
    Value *made = value_sequence(in, V_INSTANCE, 0, NULL);
    if (made == NULL || model == NULL || slot == NULL) return NULL;
    made->source = source;
    made->object = object;
    made->type = (PyTypeObject *)model;
    if (data->kind == V_DICT) data->owner = made;
    if (VEC_PUSH(in->arena, &in->sources.outside, data) < 0 ||
        map_put(in, &in->sources.by_object, object, made) < 0 ||
        slot_put(in, made, PyUnicode_AsUTF8(slot), data) < 0)
        return NULL;
    if (deque_check(object)) return deque_slots(in, made) < 0 ? NULL : made;
    if (_PyType_Lookup((PyTypeObject *)model, interned(in, "default_factory")) != NULL)
        return factory_slot(in, made) < 0 ? NULL : made;
    return made;
}

/* ---- attributes ---- */

bool
model_asks(Interp *in, PyObject *name)
{
    return (PyUnicode_CompareWithASCIIString(name, "_data") == 0 ||
            PyUnicode_CompareWithASCIIString(name, "_items") == 0) &&
           code_is_model(in->top);
}

Answer
model_shows(Interp *in, Value *object, PyObject *name, bool *out)
{
    PyTypeObject *real = model_real(object);
    *out = true;
    if (real == NULL || code_is_model(in->top)) return ANSWER_YES;
    PyObject *mine = _PyType_Lookup(object->type, name);
    if (type_has_dict(object->type)) {
        Value *own;
        Answer answer = own_find(in, object, name, false, false, &own);
        if (answer != ANSWER_YES || own != NULL) return answer;
    }
    PyObject *theirs;
    Answer found = type_lookup(in, real, name, &theirs);
    if (found != ANSWER_YES) return found;
    *out = theirs != NULL;
    if (theirs == NULL && type_has_dict(object->type) && PyUnicode_READ_CHAR(name, 0) == '_')
        return no_attribute(in, object, name); /* update_wrapper would have stored it */
    if (theirs == NULL || PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return ANSWER_YES;
    if (mine == NULL || mine == _PyType_Lookup(&PyBaseObject_Type, name))
        return no_attribute(in, object, name);
    return ANSWER_YES;
}

Answer
model_stores(Interp *in, Value *object, PyObject *name)
{
    PyTypeObject *real = model_real(object);
    if (real == NULL || code_is_model(in->top)) return ANSWER_YES;
    PyObject *mine = _PyType_Lookup(object->type, name);
    bool covers = mine == NULL || mine == Py_None || PyUnicode_CheckExact(mine); /* __module__ */
    if (type_has_dict(object->type) && covers) return ANSWER_YES;
    return interp_break(in, BREAK_STORE, "attribute '%s' of %s", PyUnicode_AsUTF8(name),
                        real->tp_name);
}

/* ---- the container inside ---- */

static Value *
slot_of(Interp *in, Value *object, PyObject *name)
{
    Value *value;
    return own_find(in, object, name, true, false, &value) == ANSWER_YES ? value : NULL;
}

Value *
model_dict(Interp *in, Value *value)
{
    Value *core = NULL;
    if (box_base(value) == &PyDict_Type && box_inherits(in, value, "__iter__", &core) == ANSWER_YES)
        return core != NULL ? core : value;
    if (model_real(value) == NULL) return value;
    PyObject *name = interned(in, "_data");
    Value *dict = name ? slot_of(in, value, name) : NULL;
    return dict != NULL && dict->kind == V_DICT ? dict : value;
}

Value *
model_list(Interp *in, Value *value)
{
    if (model_real(value) == NULL || !deque_check(value->object)) return value;
    PyObject *name = interned(in, "_items");
    return name ? slot_of(in, value, name) : NULL;
}

Value *
model_holder(Interp *in, Value *list)
{
    for (int i = 0; i < in->attempt.values.len; i++) {
        Value *value = in->attempt.values.at[i];
        if (model_real(value) == NULL) continue;
        for (int k = 1; k < value->nitems; k += 2)
            if (value->items[k] == list) return value;
    }
    return list;
}

Value *
model_parts(Interp *in, Value *object, PyObject **maker)
{
    PyObject *leave = PyObject_GetAttrString((PyObject *)object->type, "_leave");
    Value *parts = value_sequence(in, V_TUPLE, 0, NULL);
    if (keep(in, leave) == NULL || parts == NULL) return NULL;
    if (!PyTuple_Check(leave)) return NULL;
    *maker = PyTuple_GET_ITEM(leave, 0);
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(leave); i++) {
        Value *part = slot_of(in, object, PyTuple_GET_ITEM(leave, i));
        if (part == NULL || value_append(in, parts, part) < 0) return NULL;
    }
    return parts;
}
