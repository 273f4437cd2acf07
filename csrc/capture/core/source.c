/* From sources to values: objects from outside, and the guards that their use emits.
   A fact is guarded when it is used: an array's shape when an operation needs it (value_pin), a
   scalar's value when it decides the graph (value_known), an item when it is read.  Objects that
   can change or be aliased are found again by identity (Interp.by_object), so that two paths to one
   object give one Value, under a SAME guard. */
#include "../../config.h"
#include "core.h"

/* Guards that the source is this very object; a global is watched instead. */
static int
guard_identity(Interp *in, SourceId source, PyObject *object)
{
    SourceKind kind = source_kind(in, source);
    if (kind == SOURCE_CONST) return 0;
    return guard_simple(in, kind == SOURCE_GLOBAL ? GUARD_GLOBAL : GUARD_IS, source, object);
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
    if (PyBool_Check(object)) return scalar_from_source(in, source, object, DT_BOOL, FORM_PYTHON);
    if (PyFloat_CheckExact(object))
        return scalar_from_source(in, source, object, DT_F64, FORM_PYTHON);
    if (PyComplex_CheckExact(object))
        return scalar_from_source(in, source, object, DT_C128, FORM_PYTHON);
    int overflow;
    (void)PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!overflow) return scalar_from_source(in, source, object, DT_I64, FORM_PYTHON);
    if (int_is_unsigned(object)) return scalar_from_source(in, source, object, DT_U64, FORM_PYTHON);
    if (guard_simple(in, GUARD_VALUE, source, object) < 0) return NULL;
    Value *value = value_const(in, object);
    if (value != NULL) value->source = source;
    return value;
}

/* ---- containers ---- */

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

/* An object that is not opened, by a guard that asks why, and its exact type. */
static Value *
closed_value(Interp *in, SourceId source, PyObject *object, Guard guard)
{
    Value *value = value_object(in, object, source);
    guard.source = source;
    guard.other = NO_SOURCE;
    guard.object = (PyObject *)Py_TYPE(object);
    if (value == NULL || guard_add(in, &guard) < 0) return NULL;
    value->guarded = true;
    return value;
}

static Value *
sequence_value(Interp *in, ValueKind kind, SourceId source, PyObject *object)
{
    enum { LONGEST = 10000 };
    Py_ssize_t length = sequence_length(object);
    if (length > LONGEST) {
        Guard guard = {.kind = GUARD_LONGER, .low = LONGEST};
        return closed_value(in, source, object, guard);
    }
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

/* An array that graphs do not take; it is an object like others. */
static Value *
strange_value(Interp *in, SourceId source, PyObject *object)
{
    Guard guard = {.kind = GUARD_STRANGE, .low = array_kind(object)};
    return closed_value(in, source, object, guard);
}

static Value *
value_made(Interp *in, SourceId source, PyObject *object)
{
    ArrayHeader header;
    const ArrayLibrary *library = array_library_of(object);
    if (library != NULL && !array_is_input(object)) return strange_value(in, source, object);
    if (library != NULL && array_header(object, &header) == ANSWER_YES) {
        if (array_is_exact(object)) return array_from_source(in, source, object, &header);
        int device;
        Answer met = device_met(in, header.device_number, &device);
        if (met == ANSWER_YES)
            return device_from_source(in, source, object, library, &header, device);
        return met == ANSWER_NO ? strange_value(in, source, object) : NULL;
    }
    if (PyTuple_CheckExact(object) || (PyTuple_Check(object) && named_opens(in, Py_TYPE(object))))
        return sequence_value(in, V_TUPLE, source, object);
    Value *series = in->above->series_from_source(in, source, object);
    if (series != NULL || PyErr_Occurred()) return series;
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

Value *
value_from_source(Interp *in, SourceId source, PyObject *object)
{
    Value *value = value_of_source(in, source);
    if (value != NULL) return value;
    value = value_resolve(in, source, object);
    if (value != NULL && source_has_value(in, source, value) < 0) return NULL;
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
        Value *series = in->above->series_from_source(in, source, object);
        if (series != NULL || PyErr_Occurred()) return series;
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
        return scalar_from_source(in, source, object, dtype, FORM_SCALAR);
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

/* Guards, once, that the source is this object, or nothing (NULL). */
int
guard_there(Interp *in, SourceId source, PyObject *object)
{
    return guard_found(in, source, GUARD_UNBOUND, source, NULL, object) == ANSWER_YES ? 0 : -1;
}
