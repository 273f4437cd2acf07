/* Objects of the typing module that annotations consist of: Union[int, float], List[int] and the
   like are computed while capturing, and so is the class that isinstance checks for one.  They
   never change; one from outside is guarded by identity. */
#include "objects.h"

/* Is it of a class of typing itself? */
static bool
is_typing(PyObject *object)
{
    static PyObject *key;
    PyTypeObject *type = Py_TYPE(object);
    if (!type_is_heap(type)) return false;
    if (key == NULL && (key = PyUnicode_InternFromString("__module__")) == NULL) {
        PyErr_Clear();
        return false;
    }
    PyObject *module = type_own_stored(type, key);
    return module != NULL && PyUnicode_Check(module) && type->tp_name[0] == '_' &&
           PyUnicode_CompareWithASCIIString(module, "typing") == 0;
}

/* Such an object, a class, None, or a tuple of them. */
Answer
typing_known(Interp *in, Value *value, PyObject **out)
{
    if (value->kind == V_OBJECT && is_typing(value->object)) {
        *out = value->object;
        return guard_is(in, value);
    }
    if (value->kind != V_TUPLE || value->object != NULL) return value_known(in, value, out);
    PyObject *tuple = keep(in, PyTuple_New(value->nitems)), *item;
    if (tuple == NULL) return ANSWER_ERROR;
    for (int i = 0; i < value->nitems; i++) {
        Value *part = value_item(in, value, i);
        Answer answer = part ? typing_known(in, part, &item) : ANSWER_ERROR;
        if (answer != ANSWER_YES) return answer;
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(item));
    }
    *out = tuple;
    return ANSWER_YES;
}

static bool
is_parameter(PyObject *object)
{
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++)
            if (!is_parameter(PySequence_Fast_GET_ITEM(object, i))) return false;
        return true;
    }
    return PyType_Check(object) || object == Py_None || object == Py_Ellipsis ||
           is_typing(object) || PyUnicode_CheckExact(object) || PyLong_CheckExact(object) ||
           strcmp(Py_TYPE(object)->tp_name, "types.GenericAlias") == 0 || typing_is_union(object);
}

Answer
typing_subscript(Interp *in, Value *object, Value *key, Value **out)
{
    PyObject *alias, *parameters;
    if ((object->kind != V_OBJECT && object->kind != V_CONST) || !is_typing(object->object))
        return ANSWER_NO;
    Answer answer = typing_known(in, object, &alias);
    if (answer == ANSWER_YES) answer = typing_known(in, key, &parameters);
    if (answer == ANSWER_YES && !is_parameter(parameters)) answer = ANSWER_NO;
    if (answer != ANSWER_YES) return answer;
    PyObject *made = PyObject_GetItem(alias, parameters);
    if (made == NULL) return raise_error(in);
    *out = value_const_new(in, made);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The class that isinstance(x, typing.List) checks; other values unchanged. */
Answer
typing_class(Interp *in, Value *value, Value **out)
{
    PyObject *alias;
    *out = value;
    if ((value->kind != V_OBJECT && value->kind != V_CONST) || !is_typing(value->object))
        return ANSWER_YES;
    const char *name = Py_TYPE(value->object)->tp_name;
    if (strcmp(name, "_SpecialGenericAlias") != 0 && strcmp(name, "_CallableType") != 0 &&
        strcmp(name, "_TupleType") != 0)
        return ANSWER_YES;
    Answer answer = typing_known(in, value, &alias);
    PyObject *origin = answer == ANSWER_YES ? PyObject_GetAttrString(alias, "__origin__") : NULL;
    if (answer == ANSWER_YES && (origin == NULL || !PyType_Check(origin))) {
        PyErr_Clear();
        Py_XDECREF(origin);
        return ANSWER_YES;
    }
    if (answer == ANSWER_YES) *out = value_const_new(in, origin);
    return *out == NULL ? ANSWER_ERROR : answer;
}
