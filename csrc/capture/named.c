/* Named tuples: V_TUPLEs whose `type` is a class of the program, made by collections.namedtuple or
   typing.NamedTuple, or derived from such a class.

   What a tuple does by itself is done as for any tuple; so the class may override none of that.
   Methods, properties and arithmetic of its own are followed. */
#include "objects.h"

bool
value_is_named(const Value *value)
{
    return value->kind == V_TUPLE && value->type != NULL && value->type != &PyTuple_Type &&
           type_is_heap(value->type);
}

static bool
has_dict(const PyTypeObject *type)
{
    return type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
}

/* A class of tuples with named fields.  Its instances may have a dict, which is empty in those made
   here: a store is a break. */
bool
type_is_named(PyTypeObject *type)
{
    static PyObject *fields;
    if (fields == NULL && (fields = PyUnicode_InternFromString("_fields")) == NULL) return false;
    if (!type_is_heap(type) || !PyType_IsSubtype(type, &PyTuple_Type) ||
        Py_TYPE(type) != &PyType_Type)
        return false;
    PyObject *names = _PyType_Lookup(type, fields);
    return names != NULL && PyTuple_CheckExact(names);
}

/* Breaks where the class does something of its own that is done as for any tuple. */
static Answer
behaves(Interp *in, PyTypeObject *type)
{
    static const char *const names[] = {
        "__iter__", "__len__", "__getitem__", "__contains__",    "__hash__",
        "__eq__",   "__ne__",  "__lt__",      "__le__",          "__gt__",
        "__ge__",   "__str__", "__format__",  "__getattribute__"};
    static const char *const absent[] = {
        "__bool__",  "__getattr__",     "__reversed__",       "__del__",
        "__index__", "__array_ufunc__", "__array_function__", "__array__"};
    for (int i = 0; i < COUNT_OF(names); i++) {
        Answer answer = type_inherits(in, type, names[i], &PyTuple_Type);
        if (answer == ANSWER_NO)
            return interp_break(in, BREAK_CALL_PYTHON, "a named tuple with its own %s", names[i]);
        if (answer != ANSWER_YES) return answer;
    }
    for (int i = 0; i < COUNT_OF(absent); i++) {
        PyObject *found;
        Answer answer = type_lookup_text(in, type, absent[i], &found);
        if (answer == ANSWER_YES && found != NULL)
            return interp_break(in, BREAK_CALL_PYTHON, "a named tuple with its own %s", absent[i]);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* One from outside whose class is of that kind, as far as can be told without an answer to give. */
bool
named_opens(Interp *in, PyTypeObject *type)
{
    if (!type_is_named(type) || has_dict(type)) return false;
    Answer answer = behaves(in, type);
    if (answer == ANSWER_NO) in->break_code = BREAK_NONE;
    return answer == ANSWER_YES;
}

/* tuple.__new__(class, iterable) */
Answer
named_make(Interp *in, Value *class_, Value *iterable, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    Answer answer = behaves(in, type);
    if (answer == ANSWER_YES) answer = iterate_all(in, iterable, V_TUPLE, out);
    if (answer == ANSWER_YES) (*out)->type = type;
    return answer;
}

/* The items as a plain tuple. */
Answer
named_items(Interp *in, Value *named, Value **out)
{
    *out = value_sequence(in, V_TUPLE, named->nitems, NULL);
    for (int i = 0; *out != NULL && i < named->nitems; i++)
        if (((*out)->items[i] = value_item(in, named, i)) == NULL) return ANSWER_ERROR;
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A field's place in the tuple, of the descriptor that namedtuple makes; -1: it is none. */
static int
field_place(Interp *in, PyObject *found)
{
    const char *kind = strrchr(Py_TYPE(found)->tp_name, '.'); /* _collections on 3.11 */
    if (kind == NULL || strcmp(kind, "._tuplegetter") != 0) return -1;
    PyObject *reduced = keep(in, PyObject_CallMethod(found, "__reduce__", NULL));
    PyObject *args = reduced && PyTuple_Check(reduced) && PyTuple_GET_SIZE(reduced) > 1
                         ? PyTuple_GET_ITEM(reduced, 1)
                         : NULL;
    if (args == NULL || !PyTuple_Check(args) || PyTuple_GET_SIZE(args) < 1) return -1;
    return (int)PyLong_AsLong(PyTuple_GET_ITEM(args, 0));
}

Answer
named_find(Interp *in, Value *named, PyObject *name, Value **out)
{
    PyObject *found;
    Value *owner = value_const(in, (PyObject *)named->type);
    *out = NULL;
    if (owner == NULL) return ANSWER_ERROR;
    if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0)
        return no_attribute(in, named, name);
    Answer answer = type_lookup(in, named->type, name, &found);
    if (answer != ANSWER_YES || found == NULL) return answer;
    int place = field_place(in, found);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    if (place < 0) return descriptor_get(in, found, named, owner, name, out);
    if (place >= named->nitems) return raise_new(in, PyExc_IndexError, "tuple index out of range");
    *out = value_item(in, named, place);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Does the class bring the operator, on its side? */
Answer
named_operates(Interp *in, const Value *value, const char *prefix, const char *operator_, bool *out)
{
    char name[24];
    PyObject *found, *key;
    *out = false;
    if (!value_is_named(value)) return ANSWER_YES;
    snprintf(name, sizeof(name), "__%s%s__", prefix, operator_);
    if ((key = interned(in, name)) == NULL) return ANSWER_ERROR;
    Answer answer = type_lookup(in, value->type, key, &found);
    *out = answer == ANSWER_YES && found != NULL && found != _PyType_Lookup(&PyTuple_Type, key);
    return answer;
}
