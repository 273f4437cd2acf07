/* What is stored under an attribute's name, read without running Python code: for guards, which
   must not run any, and for capture, which must see what guards will see.  Nothing is made for it,
   but for the __dict__ of an instance that attribute_own is asked for, which has to be the
   program's own: with the collector off, since what it frees could be what guards are looking at.

   Layouts: CPython 3.11 to 3.13 Include/internal/pycore_object.h and pycore_dict.h. */
#include "internal.h"

#include "python.h"

#include <structmember.h>

/* Stands for an entry that only code of the program's could tell; nothing else is this object. */
static PyTypeObject untold_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pycompile.untold",
    .tp_flags = Py_TPFLAGS_DEFAULT,
};
static struct {
    PyObject_HEAD
} untold = {PyObject_HEAD_INIT(&untold_type)};

int
attribute_init(void)
{
    return PyType_Ready(&untold_type);
}

bool
stored_is_untold(PyObject *stored)
{
    return stored == &untold.ob_base;
}

static bool
same_name(PyObject *a, PyObject *b)
{
    return ((PyASCIIObject *)a)->hash == ((PyASCIIObject *)b)->hash && PyUnicode_Compare(a, b) == 0;
}

/* Names in code are interned, and so are most keys; object.__setattr__ takes any string, and so
   does the dict from which a __dict__ is filled. */
static PyObject *
values_get(PyObject *self, PyDictValues *values, PyObject *name)
{
    PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(self))->ht_cached_keys;
    if (keys == NULL || keys->dk_kind == DICT_KEYS_GENERAL) return NULL;
    PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(keys);
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++)
        if (entries[i].me_key == name) return values->values[i];
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++)
        if (entries[i].me_key != NULL && same_name(entries[i].me_key, name))
            return values->values[i];
    return NULL;
}

static Py_ssize_t
index_at(const PyDictKeysObject *keys, size_t i)
{
    int bits = DK_LOG_SIZE(keys);
    if (bits < 8) return ((const int8_t *)keys->dk_indices)[i];
    if (bits < 16) return ((const int16_t *)keys->dk_indices)[i];
    if (bits < 32) return ((const int32_t *)keys->dk_indices)[i];
    return (Py_ssize_t)((const int64_t *)keys->dk_indices)[i];
}

/* Not all keys are strings: goes the way of CPython's Objects/dictobject.c,
   dictkeys_generic_lookup, up to a key of the same hash that is the program's, which may say that
   it equals this one. */
static PyObject *
general_get(PyDictKeysObject *keys, PyObject *key, Py_hash_t hash)
{
    PyDictKeyEntry *entries = DK_ENTRIES(keys);
    size_t mask = (size_t)DK_SIZE(keys) - 1, perturb = (size_t)hash, i = (size_t)hash & mask;
    for (;; perturb >>= 5 /* PERTURB_SHIFT */, i = (i * 5 + perturb + 1) & mask) {
        Py_ssize_t at = index_at(keys, i);
        if (at == DKIX_EMPTY) return NULL;
        if (at < 0) continue; /* a deleted entry */
        if (entries[at].me_key == key) return entries[at].me_value;
        if (entries[at].me_hash != hash) continue;
        if (!key_is_constant(entries[at].me_key)) return &untold.ob_base;
        if (PyObject_RichCompareBool(entries[at].me_key, key, Py_EQ) == 1)
            return entries[at].me_value;
    }
}

PyObject *
dict_stored(PyObject *dict, PyObject *key)
{
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    Py_hash_t hash = PyObject_Hash(key);
    if (keys->dk_kind == DICT_KEYS_GENERAL) return general_get(keys, key, hash);
    return _PyDict_GetItem_KnownHash(dict, key, hash);
}

PyObject *
dict_told(PyObject *dict, PyObject *key)
{
    PyObject *stored = dict_stored(dict, key);
    return stored != NULL && stored_is_untold(stored) ? NULL : stored;
}

PyObject *
dict_named(PyObject *dict, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *found = key != NULL && PyDict_Check(dict) ? dict_told(dict, key) : NULL;
    if (key == NULL) PyErr_Clear();
    Py_XDECREF(key);
    return found;
}

/* As object.__getattribute__ does, without the methods of a derived class. */
static PyObject *
dict_get(PyObject *dict, PyObject *name)
{
    return dict == NULL || !PyDict_Check(dict) ? NULL : dict_stored(dict, name);
}

static PyObject *
instance_get(PyObject *self, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(self);
    if (!(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
        if (type->tp_dictoffset == 0) return NULL;
        PyObject **dict = _PyObject_GetDictPtr(self);
        return dict == NULL ? NULL : dict_get(*dict, name);
    }
#if PY_VERSION_HEX < 0x030C0000
    PyDictValues *values = *_PyObject_ValuesPointer(self);
    if (values != NULL) return values_get(self, values, name);
    return dict_get(*_PyObject_ManagedDictPointer(self), name);
#elif PY_VERSION_HEX < 0x030D0000
    PyDictOrValues place = *_PyObject_DictOrValuesPointer(self);
    if (_PyDictOrValues_IsValues(place))
        return values_get(self, _PyDictOrValues_GetValues(place), name);
    return dict_get(_PyDictOrValues_GetDict(place), name);
#else
    if (type->tp_flags & Py_TPFLAGS_INLINE_VALUES) {
        PyDictValues *values = _PyObject_InlineValues(self);
        if (values->valid) return values_get(self, values, name);
    }
    return dict_get((PyObject *)_PyObject_GetManagedDict(self), name);
#endif
}

PyObject *
instance_dict(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (PyModule_Check(self)) return PyModule_GetDict(self);
    if (!(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
        PyObject **dict = type->tp_dictoffset ? _PyObject_GetDictPtr(self) : NULL;
        return dict == NULL ? NULL : *dict;
    }
#if PY_VERSION_HEX < 0x030C0000
    return *_PyObject_ManagedDictPointer(self);
#elif PY_VERSION_HEX < 0x030D0000
    PyDictOrValues place = *_PyObject_DictOrValuesPointer(self);
    return _PyDictOrValues_IsValues(place) ? NULL : _PyDictOrValues_GetDict(place);
#else
    return (PyObject *)_PyObject_GetManagedDict(self);
#endif
}

static bool
values_are_empty(PyObject *self, const PyDictValues *values)
{
    const PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(self))->ht_cached_keys;
    if (keys == NULL) return false;
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++)
        if (values->values[i] != NULL) return false;
    return true;
}

bool
instance_is_bare(PyObject *self)
{
    PyObject *dict = instance_dict(self);
    if (dict != NULL) return PyDict_CheckExact(dict) && PyDict_GET_SIZE(dict) == 0;
    if (!(Py_TYPE(self)->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return true;
#if PY_VERSION_HEX < 0x030C0000
    PyDictValues *values = *_PyObject_ValuesPointer(self);
    return values == NULL || values_are_empty(self, values);
#elif PY_VERSION_HEX < 0x030D0000
    PyDictOrValues place = *_PyObject_DictOrValuesPointer(self);
    if (!_PyDictOrValues_IsValues(place)) return true;
    return values_are_empty(self, _PyDictOrValues_GetValues(place));
#else
    if (!(Py_TYPE(self)->tp_flags & Py_TPFLAGS_INLINE_VALUES)) return true;
    PyDictValues *values = _PyObject_InlineValues(self);
    return !values->valid || values_are_empty(self, values);
#endif
}

static PyObject *
or_none(PyObject *self)
{
    return self == NULL ? Py_None : self;
}

static PyObject *
function_get(PyObject *self, PyObject *name)
{
    PyFunctionObject *function = (PyFunctionObject *)self;
    if (PyUnicode_CompareWithASCIIString(name, "__code__") == 0) return function->func_code;
    if (PyUnicode_CompareWithASCIIString(name, "__defaults__") == 0)
        return or_none(function->func_defaults);
    if (PyUnicode_CompareWithASCIIString(name, "__kwdefaults__") == 0)
        return or_none(function->func_kwdefaults);
    if (PyUnicode_CompareWithASCIIString(name, "__closure__") == 0)
        return or_none(function->func_closure);
    if (PyUnicode_CompareWithASCIIString(name, "__globals__") == 0) return function->func_globals;
    if (PyUnicode_CompareWithASCIIString(name, "__name__") == 0) return function->func_name;
    if (PyUnicode_CompareWithASCIIString(name, "__qualname__") == 0) return function->func_qualname;
    if (PyUnicode_CompareWithASCIIString(name, "__doc__") == 0) return or_none(function->func_doc);
    if (PyUnicode_CompareWithASCIIString(name, "__module__") == 0)
        return or_none(function->func_module);
    return dict_get(function->func_dict, name);
}

static PyObject *
method_get(PyObject *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__func__") == 0) return PyMethod_GET_FUNCTION(self);
    if (PyUnicode_CompareWithASCIIString(name, "__self__") == 0) return PyMethod_GET_SELF(self);
    return NULL;
}

/* A name in __slots__, or a read-only member of a C type; *is_slot tells an empty slot from
   none. */
static PyObject *
slot_get(PyObject *self, PyObject *name, bool *is_slot)
{
    PyObject *found = _PyType_Lookup(Py_TYPE(self), name);
    *is_slot = false;
    if (found == NULL || Py_TYPE(found) != &PyMemberDescr_Type) return NULL;
    PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
    bool factory =
        PyDict_Check(self) && member->type == T_OBJECT; /* default_factory of a defaultdict */
    if (member->type != T_OBJECT_EX && !factory &&
        (member->type != T_OBJECT || !(member->flags & READONLY)))
        return NULL;
    if (!PyType_IsSubtype(Py_TYPE(self), PyDescr_TYPE(found)))
        return NULL; /* a descriptor of another class */
    *is_slot = true;
    PyObject *value = *(PyObject **)((char *)self + member->offset);
    return value == NULL && factory ? Py_None : value;
}

PyObject *
attribute_stored(PyObject *self, PyObject *name)
{
    if (!PyUnicode_CheckExact(name) || ((PyASCIIObject *)name)->hash == -1) return NULL;
    if (PyModule_Check(self)) return dict_get(PyModule_GetDict(self), name);
    if (PyType_Check(self)) return _PyType_Lookup((PyTypeObject *)self, name);
    if (PyFunction_Check(self)) return function_get(self, name);
    if (PyMethod_Check(self)) return method_get(self, name);
    bool is_slot;
    PyObject *value = slot_get(self, name, &is_slot);
    return is_slot ? value : instance_get(self, name);
}

bool
type_has_dict(const PyTypeObject *type)
{
    return type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0;
}

PyObject *
type_own_stored(PyTypeObject *type, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__mro__") == 0) return type->tp_mro;
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        if (PyUnicode_CompareWithASCIIString(name, "__name__") == 0)
            return ((PyHeapTypeObject *)type)->ht_name;
        if (PyUnicode_CompareWithASCIIString(name, "__qualname__") == 0)
            return ((PyHeapTypeObject *)type)->ht_qualname;
        if (PyUnicode_CompareWithASCIIString(name, "__bases__") == 0) return type->tp_bases;
    }
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict(type);
    Py_XDECREF(dict); /* the type holds it */
#else
    PyObject *dict = type->tp_dict;
#endif
    return dict_get(dict, name);
}

PyObject *
attribute_own(PyObject *self, PyObject *name)
{
    if (PyType_Check(self)) return type_own_stored((PyTypeObject *)self, name);
    if (!type_has_dict(Py_TYPE(self))) return NULL;
    PyObject *dict = instance_dict(self);
    if (dict != NULL) return dict;
    bool collects = PyGC_Disable() != 0; /* guards are being checked: nothing may be freed */
    dict = PyObject_GenericGetDict(self, NULL);
    if (collects) PyGC_Enable();
    if (dict == NULL) PyErr_Clear();
    Py_XDECREF(dict); /* the object holds it */
    return dict;
}

int
attribute_put(PyObject *self, PyObject *name, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(self);
    if (PyType_Check(self)) return PyType_Type.tp_setattro(self, name, value);
    PyObject *found = _PyType_Lookup(type, name);
    if (found == NULL || Py_TYPE(found)->tp_descr_set == NULL ||
        Py_TYPE(found) == &PyMemberDescr_Type || Py_TYPE(found) == &PyGetSetDescr_Type)
        return PyObject_GenericSetAttr(self, name, value);
    PyObject *dict =
        PyObject_GenericGetDict(self, NULL); /* an entry that a data descriptor hides */
    if (dict == NULL) return -1;
    int failed = value ? PyDict_SetItem(dict, name, value) : PyDict_DelItem(dict, name);
    Py_DECREF(dict);
    return failed;
}
