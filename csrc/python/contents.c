/* The contents of builtin containers and of instances of derived classes, read and changed without
   the methods of the derived class: for guards, which must run no code, for capture, which must see
   what guards will see, and for commits, whose changes capture has followed already. */
#include "python.h"

static PyTypeObject *deque_type;

int
contents_init(void)
{
    if (deque_type == NULL) deque_type = (PyTypeObject *)module_object("_collections", "deque");
    return deque_type == NULL ? -1 : 0;
}

bool
deque_check(PyObject *object)
{
    return object != NULL && Py_TYPE(object) == deque_type;
}

int64_t
deque_most(PyObject *deque)
{
    PyObject *most = PyObject_GetAttrString(deque, "maxlen");
    int64_t result = most != NULL && PyLong_Check(most) ? PyLong_AsLongLong(most) : -1;
    Py_XDECREF(most);
    PyErr_Clear();
    return result;
}

Py_ssize_t
sequence_length(PyObject *object)
{
    if (PyTuple_Check(object)) return PyTuple_GET_SIZE(object);
    if (PyList_Check(object)) return PyList_GET_SIZE(object);
    return deque_check(object) ? Py_TYPE(object)->tp_as_sequence->sq_length(object) : -1;
}

PyObject *
sequence_entry(PyObject *object, Py_ssize_t i)
{
    if (i < 0 || i >= sequence_length(object)) return NULL;
    if (PyTuple_Check(object)) return PyTuple_GET_ITEM(object, i);
    if (PyList_Check(object)) return PyList_GET_ITEM(object, i);
    PyObject *item = Py_TYPE(object)->tp_as_sequence->sq_item(object, i);
    Py_XDECREF(item); /* the deque holds it */
    if (item == NULL) PyErr_Clear();
    return item;
}

/* A mirror of CPython's Objects/rangeobject.c, rangeiterobject (3.11), and
   Include/internal/pycore_range.h, _PyRangeIterObject (3.12 and 3.13). */
typedef struct {
    PyObject_HEAD
#if PY_VERSION_HEX < 0x030C0000
        long index,
        start, step, len;
#else
        long start,
        step, len;
#endif
} RangeIterator;
#if PY_VERSION_HEX >= 0x030E0000
#error "check the layouts of iterators"
#endif

/* Mirrors of seqiterobject in Objects/iterobject.c, of enumobject and reversedobject in
   Objects/enumobject.c and of zipobject in Python/bltinmodule.c, as far as they are the same in
   CPython 3.11 to 3.13. */
typedef struct {
    PyObject_HEAD Py_ssize_t index;
    PyObject *walked; /* NULL: it has ended */
} SequenceIterator;
typedef SequenceIterator Reversed;

typedef struct {
    PyObject_HEAD Py_ssize_t index;
    PyObject *walked, *result, *long_index;
} Enumerate;

typedef struct {
    PyObject_HEAD Py_ssize_t size;
    PyObject *iterators, *result;
    bool strict;
} Zip;

PyObject *
iterator_walked(PyObject *object, int part)
{
    if (Py_TYPE(object) == &PySeqIter_Type) return ((SequenceIterator *)object)->walked;
    if (Py_TYPE(object) == &PyReversed_Type) return ((Reversed *)object)->walked;
    if (Py_TYPE(object) == &PyEnum_Type) return ((Enumerate *)object)->walked;
    if (Py_TYPE(object) == &PyZip_Type) return sequence_entry(((Zip *)object)->iterators, part);
    return NULL;
}

bool
iterator_rest(PyObject *object, int64_t rest[ITERATOR_INTS])
{
    memset(rest, 0, ITERATOR_INTS * sizeof(int64_t));
    if (Py_TYPE(object) == &PySeqIter_Type || Py_TYPE(object) == &PyReversed_Type) {
        rest[ITERATOR_NEXT] = ((SequenceIterator *)object)->index;
        return ((SequenceIterator *)object)->walked != NULL;
    }
    if (Py_TYPE(object) == &PyEnum_Type) {
        rest[ITERATOR_NEXT] = ((Enumerate *)object)->index;
        return ((Enumerate *)object)->long_index == NULL;
    }
    if (Py_TYPE(object) == &PyZip_Type) {
        rest[ITERATOR_PARTS] = ((Zip *)object)->size;
        return !((Zip *)object)->strict;
    }
    if (Py_TYPE(object) != &PyRangeIter_Type) return false;
    const RangeIterator *iterator = (const RangeIterator *)object;
    int64_t start = iterator->start, left = iterator->len, step = iterator->step;
#if PY_VERSION_HEX < 0x030C0000
    left -= iterator->index;
    start += iterator->index * step;
#endif
    rest[ITERATOR_NEXT] = start;
    rest[ITERATOR_STOP] = left <= 0 ? start : start + (left - 1) * step + (step > 0 ? 1 : -1);
    rest[ITERATOR_STEP] = step;
    return true;
}

PyObject *
iterator_left(PyObject *iterator, PyTypeObject *indexed)
{
    int64_t rest[ITERATOR_INTS];
    if (!iterator_rest(iterator, rest)) return NULL;
    if (Py_TYPE(iterator) == &PyRangeIter_Type)
        return PyObject_CallFunction((PyObject *)&PyRange_Type, "LLL",
                                     (long long)rest[ITERATOR_NEXT], (long long)rest[ITERATOR_STOP],
                                     (long long)rest[ITERATOR_STEP]);
    PyObject *walked = iterator_walked(iterator, 0);
    if (Py_TYPE(iterator) != &PySeqIter_Type || Py_TYPE(walked) != indexed) return NULL;
    PyObject *index = PyLong_FromLongLong(rest[ITERATOR_NEXT]);
    PyObject *from = index ? PySlice_New(index, NULL, NULL) : NULL;
    PyObject *left = from ? PyObject_GetItem(walked, from) : NULL;
    Py_XDECREF(index);
    Py_XDECREF(from);
    return left;
}

bool
key_is_constant(PyObject *key)
{
    if (PyTuple_CheckExact(key)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
            if (!key_is_constant(PyTuple_GET_ITEM(key, i))) return false;
        return true;
    }
    if (PyFloat_CheckExact(key))
        return !isnan(PyFloat_AS_DOUBLE(key)); /* a NaN only equals itself by identity */
    return PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyBool_Check(key) ||
           key == Py_None || PyBytes_CheckExact(key) || Py_TYPE(key) == &PyType_Type;
}

bool
value_is_plain(PyObject *object)
{
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
            if (!value_is_plain(PyTuple_GET_ITEM(object, i))) return false;
        return true;
    }
    return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
           PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyBytes_CheckExact(object);
}

/* Iterating over an OrderedDict hashes its keys, which runs code unless they are constants. */
static bool
keys_are_constants(PyObject *dict)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(dict, &at, &key, &value))
        if (!key_is_constant(key)) return false;
    return true;
}

/* An OrderedDict has an order of its own, which PyDict_Keys does not follow. */
PyObject *
dict_keys(PyObject *dict)
{
    if (PyODict_Check(dict) && !keys_are_constants(dict)) return PyTuple_New(0);
    if (!PyODict_Check(dict)) {
        PyObject *list = PyDict_Keys(dict), *keys = list ? PyList_AsTuple(list) : NULL;
        Py_XDECREF(list);
        return keys;
    }
    PyObject *iterator = PyODict_Type.tp_iter(dict);
    PyObject *keys = iterator ? PySequence_Tuple(iterator) : NULL;
    Py_XDECREF(iterator);
    return keys;
}

static bool
walked_in_order(PyObject *dict, PyObject *keys, bool (*equal)(PyObject *, PyObject *))
{
    if (!keys_are_constants(dict)) return false;
    PyObject *iterator = PyODict_Type.tp_iter(dict), *key;
    bool same = iterator != NULL;
    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(keys); i++) {
        key = PyIter_Next(iterator);
        same = key != NULL && equal(key, PyTuple_GET_ITEM(keys, i));
        Py_XDECREF(key);
    }
    Py_XDECREF(iterator);
    PyErr_Clear();
    return same;
}

bool
dict_keys_are(PyObject *dict, PyObject *keys, bool (*equal)(PyObject *, PyObject *))
{
    Py_ssize_t at = 0, i = 0;
    PyObject *key, *value;
    if (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
    if (PyODict_Check(dict)) return walked_in_order(dict, keys, equal);
    while (PyDict_Next(dict, &at, &key, &value))
        if (!equal(key, PyTuple_GET_ITEM(keys, i++))) return false;
    return true;
}

/* ---- changes ---- */

/* The builtin class whose methods change the contents; NULL: the object's own class. */
static PyTypeObject *
base_of(PyObject *object)
{
    if (PyList_Check(object)) return &PyList_Type;
    if (PyODict_Check(object)) return &PyODict_Type;
    if (PyDict_Check(object)) return &PyDict_Type;
    if (PySet_Check(object)) return &PySet_Type;
    return NULL;
}

int
item_put(PyObject *object, PyObject *key, PyObject *value)
{
    PyTypeObject *base = base_of(object);
    if (base == NULL || base->tp_as_mapping == NULL || !base->tp_as_mapping->mp_ass_subscript)
        return value ? PyObject_SetItem(object, key, value) : PyObject_DelItem(object, key);
    return base->tp_as_mapping->mp_ass_subscript(object, key, value);
}

PyObject *
base_method_call(PyObject *name, PyObject *const *args, size_t nargs)
{
    PyTypeObject *base = base_of(args[0]);
    PyObject *method = base == NULL || base == Py_TYPE(args[0]) ? NULL : _PyType_Lookup(base, name);
    if (method == NULL) return PyObject_VectorcallMethod(name, args, nargs, NULL);
    return PyObject_Vectorcall(method, args, nargs, NULL);
}

/* A function of pycompile's: its self is a capsule of its own method. */
static bool
is_ours(PyObject *callback)
{
    if (!PyCFunction_CheckExact(callback)) return false;
    PyObject *self = PyCFunction_GET_SELF(callback);
    return self != NULL && PyCapsule_IsValid(self, NULL) &&
           PyCapsule_GetPointer(self, NULL) == ((PyCFunctionObject *)callback)->m_ml;
}

bool
object_end_is_told(PyObject *object)
{
    if (Py_TYPE(object)->tp_weaklistoffset == 0) return false;
    PyObject *weak = *PyObject_GET_WEAKREFS_LISTPTR(object);
    for (; weak != NULL; weak = (PyObject *)((PyWeakReference *)weak)->wr_next) {
        PyObject *callback = ((PyWeakReference *)weak)->wr_callback;
        if (callback != NULL && !is_ours(callback)) return true;
    }
    return false;
}
