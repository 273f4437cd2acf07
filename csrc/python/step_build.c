/* Steps: building containers and strings, formatting, unpacking, patterns. */
#include "step.h"

static PyObject *
build_sequence(Step *s, int n)
{
    const bool tuple = s->instr->kind == I_BUILD_TUPLE;
    PyObject *result = tuple ? PyTuple_New(n) : PyList_New(n);
    for (int i = 0; i < n && result != NULL; i++) {
        PyObject *item = Py_NewRef(step_peek(s, n - i));
        if (tuple)
            PyTuple_SET_ITEM(result, i, item);
        else
            PyList_SET_ITEM(result, i, item);
    }
    return result;
}

static PyObject *
build_set(Step *s, int n)
{
    PyObject *set = PySet_New(NULL);
    for (int i = n; i > 0 && set != NULL; i--)
        if (PySet_Add(set, step_peek(s, i)) < 0) Py_CLEAR(set);
    return set;
}

static PyObject *
build_map(Step *s, int pairs)
{
    PyObject *dict = PyDict_New();
    for (int i = 2 * pairs; i > 0 && dict != NULL; i -= 2)
        if (PyDict_SetItem(dict, step_peek(s, i), step_peek(s, i - 1)) < 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *
build_map_keys(Step *s, int n)
{
    PyObject *keys = step_peek(s, 1), *dict = PyDict_New();
    for (int i = 0; i < n && dict != NULL; i++)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(keys, i), step_peek(s, 1 + n - i)) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *
build_string(Step *s, int n)
{
    PyObject *parts = PyTuple_New(n), *empty = PyUnicode_New(0, 0), *result = NULL;
    if (parts == NULL || empty == NULL) goto done;
    for (int i = 0; i < n; i++) PyTuple_SET_ITEM(parts, i, Py_NewRef(step_peek(s, n - i)));
    result = PyUnicode_Join(empty, parts);
done:
    Py_XDECREF(parts);
    Py_XDECREF(empty);
    return result;
}

StepResult
step_build(Step *s)
{
    const int n = s->instr->arg;
    switch (s->instr->kind) {
    case I_BUILD_TUPLE:
    case I_BUILD_LIST: return step_put(s, n, build_sequence(s, n));
    case I_BUILD_SET: return step_put(s, n, build_set(s, n));
    case I_BUILD_MAP: return step_put(s, 2 * n, build_map(s, n));
    case I_BUILD_MAP_KEYS: return step_put(s, n + 1, build_map_keys(s, n));
    case I_BUILD_STRING: return step_put(s, n, build_string(s, n));
    case I_BUILD_SLICE:
        return step_put(
            s, n,
            PySlice_New(step_peek(s, n), step_peek(s, n - 1), n == 3 ? step_peek(s, 1) : NULL));
    default: return step_put(s, 1, PyList_AsTuple(step_peek(s, 1)));
    }
}

static bool
is_iterable(PyObject *object)
{
    return Py_TYPE(object)->tp_iter != NULL || PySequence_Check(object);
}

static StepResult
list_extend(Step *s, PyObject *list, PyObject *iterable)
{
    if (!is_iterable(iterable)) return STEP_CANNOT;
    PyObject *same = PySequence_InPlaceConcat(list, iterable);
    Py_XDECREF(same);
    return step_drop(s, 1, same != NULL ? 0 : -1);
}

/* A call's `**` argument.  A keyword given twice is left to the interpreter, whose error names the
   function. */
static StepResult
dict_merge(Step *s, PyObject *dict, PyObject *more)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!PyDict_CheckExact(more)) return STEP_CANNOT;
    while (PyDict_Next(more, &at, &key, &value))
        if (!PyUnicode_CheckExact(key) || PyDict_Contains(dict, key) != 0) return STEP_CANNOT;
    return step_drop(s, 1, PyDict_Update(dict, more));
}

StepResult
step_extend(Step *s)
{
    const int n = s->instr->arg;
    PyObject *top = step_peek(s, 1);
    PyObject *target = step_peek(s, n + (s->instr->kind == I_MAP_ADD ? 2 : 1));
    switch (s->instr->kind) {
    case I_LIST_EXTEND: return list_extend(s, target, top);
    case I_SET_UPDATE: return step_drop(s, 1, _PySet_Update(target, top));
    case I_DICT_UPDATE:
        if (!PyDict_CheckExact(top)) return STEP_CANNOT;
        return step_drop(s, 1, PyDict_Update(target, top));
    case I_DICT_MERGE: return dict_merge(s, target, top);
    case I_LIST_APPEND: return step_drop(s, 1, PyList_Append(target, top));
    case I_SET_ADD: return step_drop(s, 1, PySet_Add(target, top));
    default: return step_drop(s, 2, PyDict_SetItem(target, step_peek(s, 2), top));
    }
}

static PyObject *
convert(PyObject *value, int conversion)
{
    switch (conversion) {
    case 1: return PyObject_Str(value);
    case 2: return PyObject_Repr(value);
    case 3: return PyObject_ASCII(value);
    default: return Py_NewRef(value);
    }
}

StepResult
step_format(Step *s)
{
    const bool has_spec = s->instr->arg2 == 1;
    PyObject *spec = has_spec ? step_peek(s, 1) : NULL;
    PyObject *value = convert(step_peek(s, has_spec ? 2 : 1), s->instr->arg);
    if (value == NULL) return STEP_ERROR;
    if (s->instr->arg2 != 2 && !(spec == NULL && PyUnicode_CheckExact(value)))
        Py_SETREF(value, PyObject_Format(value, spec));
    return step_put(s, has_spec ? 2 : 1, value);
}

/* ---- unpacking: items go to a list first, then in reverse to the stack ---- */

/* Takes `count` items; `after` more must follow the starred one (-1: there is none).  -1 with the
   error set, whose text is the interpreter's. */
static int
take_items(PyObject *iterator, PyObject *items, int count, int after)
{
    for (int i = 0; i < count; i++) {
        PyObject *item = PyIter_Next(iterator);
        if (item == NULL) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError,
                             after >= 0
                                 ? "not enough values to unpack (expected at least %d, got %d)"
                                 : "not enough values to unpack (expected %d, got %d)",
                             after >= 0 ? count + after : count, i);
            return -1;
        }
        int failed = PyList_Append(items, item);
        Py_DECREF(item);
        if (failed < 0) return -1;
    }
    return 0;
}

static int
check_exhausted(PyObject *iterator, int count)
{
    PyObject *item = PyIter_Next(iterator);
    if (item == NULL) return PyErr_Occurred() ? -1 : 0;
    Py_DECREF(item);
    PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", count);
    return -1;
}

/* Takes the remaining items as a list, and the last `after` of them as items of their own. */
static int
take_rest(PyObject *iterator, PyObject *items, int before, int after)
{
    PyObject *rest = PySequence_List(iterator), *tail = NULL;
    int result = -1;
    if (rest == NULL) return -1;
    Py_ssize_t length = PyList_GET_SIZE(rest);
    if (length < after) {
        PyErr_Format(PyExc_ValueError,
                     "not enough values to unpack (expected at least %d, got %zd)", before + after,
                     before + length);
        goto done;
    }
    tail = PyList_GetSlice(rest, length - after, length);
    if (tail == NULL || PyList_SetSlice(rest, length - after, length, NULL) < 0) goto done;
    if (PyList_Append(items, rest) < 0) goto done;
    for (int i = 0; i < after; i++)
        if (PyList_Append(items, PyList_GET_ITEM(tail, i)) < 0) goto done;
    result = 0;
done:
    Py_XDECREF(tail);
    Py_DECREF(rest);
    return result;
}

static PyObject *
unpacked(PyObject *sequence, int before, int after)
{
    PyObject *items = PyList_New(0), *iterator = PyObject_GetIter(sequence);
    bool star = after >= 0;
    if (items == NULL || iterator == NULL) goto failed;
    if (take_items(iterator, items, before, after) < 0) goto failed;
    if ((star ? take_rest(iterator, items, before, after) : check_exhausted(iterator, before)) < 0)
        goto failed;
    Py_DECREF(iterator);
    return items;
failed:
    Py_XDECREF(iterator);
    Py_XDECREF(items);
    return NULL;
}

StepResult
step_unpack(Step *s)
{
    const bool star = s->instr->kind == I_UNPACK_EX;
    const int before = star ? s->instr->arg & 0xff : s->instr->arg;
    const int after = star ? s->instr->arg >> 8 : -1;
    PyObject *sequence = step_peek(s, 1);
    if (!is_iterable(sequence)) return STEP_CANNOT;
    PyObject *items = unpacked(sequence, before, after);
    if (items == NULL) return STEP_ERROR;
    (void)step_pop(s);
    for (Py_ssize_t i = PyList_GET_SIZE(items); i > 0; i--)
        step_push(s, Py_NewRef(PyList_GET_ITEM(items, i - 1)));
    Py_DECREF(items);
    Py_DECREF(sequence);
    return STEP_NEXT;
}

StepResult
step_match(Step *s)
{
    PyObject *subject = step_peek(s, 1);
    switch (s->instr->kind) {
    case I_GET_LEN: {
        Py_ssize_t length = PyObject_Length(subject);
        return step_put(s, 0, length < 0 ? NULL : PyLong_FromSsize_t(length));
    }
    case I_MATCH_MAPPING:
        return step_put(s, 0,
                        PyBool_FromLong(PyType_HasFeature(Py_TYPE(subject), Py_TPFLAGS_MAPPING)));
    default:
        return step_put(s, 0,
                        PyBool_FromLong(PyType_HasFeature(Py_TYPE(subject), Py_TPFLAGS_SEQUENCE)));
    }
}
