/* Which classes are named tuples without code besides that of collections. */
#include "core.h"

bool
value_is_named(const Value *value)
{
    return value->kind == V_TUPLE && value->type != NULL && value->type != &PyTuple_Type &&
           type_is_heap(value->type);
}

/* A class of tuples with named fields.  Its instances may have a dict, which is empty in those made
   here, since a store is a break. */
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

/* Breaks where the class overrides a method that is done here as for any tuple. */
Answer
named_behaves(Interp *in, PyTypeObject *type)
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
            return break_hinted(in, BREAK_CALL_PYTHON, HINT_MADE, "a named tuple with its own %s",
                                names[i]);
        if (answer != ANSWER_YES) return answer;
    }
    for (int i = 0; i < COUNT_OF(absent); i++) {
        PyObject *found;
        Answer answer = type_lookup_text(in, type, absent[i], &found);
        if (answer == ANSWER_YES && found != NULL)
            return break_hinted(in, BREAK_CALL_PYTHON, HINT_MADE, "a named tuple with its own %s",
                                absent[i]);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* A tuple from outside of such a class.  Where the look-up fails, the answer is no. */
bool
named_opens(Interp *in, PyTypeObject *type)
{
    if (!type_is_named(type) || type_has_dict(type)) return false;
    Answer answer = named_behaves(in, type);
    if (answer == ANSWER_BREAK) break_take(in);
    return answer == ANSWER_YES;
}
