/* Functions as objects.  Attributes that the program stores on a function made here are kept in
   `attributes`, a V_DICT by name, and stored when the function is made; on a function from outside
   such a store is an effect, and is found again by the function's identity. */
#include "objects.h"

/* The attribute that the program stored; *out NULL where it stored none. */
static Answer
stored_find(Interp *in, Value *function, PyObject *name, Value **out)
{
    *out = NULL;
    if (function->kind != V_FUNCTION) {
        *out = pending_find(in, function->object, name);
        return ANSWER_YES;
    }
    if (function->attributes == NULL) return ANSWER_YES;
    int at = dict_find(in, function->attributes, name);
    if (at < -1) return ANSWER_ERROR;
    return at < 0 ? ANSWER_YES : given(out, value_item(in, function->attributes, at));
}

static Answer
made_find(Interp *in, Value *function, PyObject *name, Value **out)
{
    PyCodeObject *code = (PyCodeObject *)function->object;
    const char *text = PyUnicode_AsUTF8(name);
    Value *none = value_const(in, Py_None);
    if (text == NULL || none == NULL) return ANSWER_ERROR;
    if (strcmp(text, "__name__") == 0) return given(out, value_const(in, code->co_name));
    if (strcmp(text, "__qualname__") == 0) return given(out, value_const(in, code->co_qualname));
    if (strcmp(text, "__defaults__") == 0)
        return given(out, function->items[0] ? function->items[0] : none);
    if (strcmp(text, "__code__") == 0) return given(out, value_const(in, function->object));
    if (strcmp(text, "__class__") == 0)
        return given(out, value_const(in, (PyObject *)&PyFunction_Type));
    if (strcmp(text, "__doc__") == 0) {
        PyObject *first =
            PyTuple_GET_SIZE(code->co_consts) > 0 ? PyTuple_GET_ITEM(code->co_consts, 0) : Py_None;
        return given(out, PyUnicode_CheckExact(first) ? value_const(in, first) : none);
    }
    if (strcmp(text, "__module__") == 0) {
        PyObject *module = dict_named(function->globals_of->object, "__name__");
        return given(out, module ? value_const(in, module) : none);
    }
    if (_PyType_Lookup(&PyFunction_Type, name) != NULL) return no_attribute(in, function, name);
    return ANSWER_YES;
}

static Answer
outside_find(Interp *in, Value *function, PyObject *name, Value **out)
{
    PyFunctionObject *object = (PyFunctionObject *)function->object;
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) return ANSWER_ERROR;
    if (strcmp(text, "__class__") == 0)
        return given(out, value_const(in, (PyObject *)&PyFunction_Type));
    bool part = strcmp(text, "__code__") == 0 || strcmp(text, "__defaults__") == 0 ||
                strcmp(text, "__kwdefaults__") == 0;
    bool identity = strcmp(text, "__name__") == 0 || strcmp(text, "__qualname__") == 0 ||
                    strcmp(text, "__module__") == 0 || strcmp(text, "__doc__") == 0;
    if (!part && !identity && _PyType_Lookup(&PyFunction_Type, name) != NULL)
        return no_attribute(in, function, name);
    SourceId base =
        function->source != NO_SOURCE ? function->source : source_of_const(in, (PyObject *)object);
    if (base == NO_SOURCE) return ANSWER_ERROR;
    PyObject *found = attribute_stored((PyObject *)object, name);
    Answer told = stored_told(in, found, name);
    if (told != ANSWER_YES) return told;
    if (found == NULL) /* absent now, which is guarded */
        return guard_simple(in, GUARD_ATTR_ABSENT, base, name) < 0 ? ANSWER_ERROR : ANSWER_YES;
    SourceId source = source_add(in, SOURCE_ATTR, base, 0, name, NULL);
    return source == NO_SOURCE ? ANSWER_ERROR : given(out, value_from_source(in, source, found));
}

Answer
function_find(Interp *in, Value *function, PyObject *name, Value **out)
{
    Answer answer = stored_find(in, function, name, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    if (function->kind == V_FUNCTION) return made_find(in, function, name, out);
    if (value_guard_type(in, function) < 0) return ANSWER_ERROR;
    return outside_find(in, function, name, out);
}

/* Attributes that determine what a call of the function does. */
static bool
is_part(PyObject *name)
{
    static const char *const parts[] = {"__code__",    "__defaults__",    "__kwdefaults__",
                                        "__closure__", "__globals__",     "__class__",
                                        "__dict__",    "__type_params__", "__builtins__"};
    for (int i = 0; i < COUNT_OF(parts); i++)
        if (PyUnicode_CompareWithASCIIString(name, parts[i]) == 0) return true;
    return false;
}

Answer
function_store(Interp *in, Value *function, PyObject *name, Value *value)
{
    if (value == NULL || is_part(name))
        return interp_break(in, BREAK_STORE, "attribute '%s' of a function",
                            PyUnicode_AsUTF8(name));
    if (PyUnicode_CompareWithASCIIString(name, "__name__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__qualname__") == 0) {
        PyTypeObject *type = value_type(in, value);
        if (type != &PyUnicode_Type)
            return PyErr_Occurred() ? ANSWER_ERROR
                                    : interp_break(in, BREAK_EXCEPTION, "a name must be a string");
    }
    if (function->kind == V_FUNCTION) {
        if (function->attributes == NULL &&
            (function->attributes = value_sequence(in, V_DICT, 0, NULL)) == NULL)
            return ANSWER_ERROR;
        return dict_store(in, function->attributes, name, value);
    }
    if (in->writes.refuse_writes) return break_of_overlap(in);
    if (pending_find(in, function->object, name) == NULL) TRY(attribute_goes(in, function, name));
    Value *args[2] = {function, value};
    if (effect_add(in, EFFECT_STORE_ATTR, name, NO_SOURCE, 2, args) < 0) return ANSWER_ERROR;
    return pending_store(in, function->object, name, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
}
