/* Named tuples: V_TUPLEs whose `type` is a class of the program, made by collections.namedtuple
   or typing.NamedTuple, or derived from such a class.  Operations of tuples are done as for any
   tuple, so the class may override none of them.  Its own methods, properties and arithmetic are
   followed. */
#include "objects.h"

/* tuple.__new__(class, iterable) */
Answer
named_make(Interp *in, Value *class_, Value *iterable, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    Answer answer = named_behaves(in, type);
    if (answer == ANSWER_YES) answer = iterate_sized(in, iterable, V_TUPLE, out);
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

/* The position of a field, from the descriptor that namedtuple makes; -1: another object. */
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

/* Does the class define the operator, for its side? */
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
