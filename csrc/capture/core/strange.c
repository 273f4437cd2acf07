/* Arrays that are not compiled, and the break code for each sort. */
#include "core.h"

static const BreakCode of_kind[] = {
    [KIND_OBJECT] = BREAK_DTYPE_OBJECT, [KIND_STRING] = BREAK_DTYPE_STRING,
    [KIND_DATE] = BREAK_DTYPE_DATE,     [KIND_STRUCTURED] = BREAK_DTYPE_STRUCT,
    [KIND_LONG] = BREAK_DTYPE_LONG,     [KIND_SWAPPED] = BREAK_BYTE_ORDER,
    [KIND_OTHER] = BREAK_DTYPE,         [KIND_LONG_LONG] = BREAK_DTYPE_LONG_LONG,
};

BreakCode
dtype_break(PyObject *object, BreakCode otherwise)
{
    ArrayKind kind = object != NULL ? array_kind(object) : KIND_NONE;
    return kind > KIND_NUMBER ? of_kind[kind] : otherwise;
}

Answer
break_dtype(Interp *in, PyObject *object)
{
    /* Run no code of the program to make the text: a StringDType's na_object may have such code. */
    bool plain = array_dtype_check(object) || PyUnicode_CheckExact(object) ||
                 Py_TYPE(object) == &PyType_Type;
    PyObject *text = plain ? PyObject_Repr(object) : NULL;
    const char *name = text != NULL ? PyUnicode_AsUTF8(text) : Py_TYPE(object)->tp_name;
    if (name == NULL) PyErr_Clear();
    BreakCode code = dtype_break(object, BREAK_DTYPE);
    bool told = code == BREAK_DTYPE_LONG_LONG; /* the dtype's text is that of another one */
    Answer answer =
        told ? interp_break(in, code, "%s", "")
             : interp_break(in, code, "a dtype that is not compiled: %s", name ? name : "?");
    if (in->told.code == BREAK_DTYPE_DATE) in->told.code = BREAK_DTYPE; /* no array has it yet */
    Py_XDECREF(text);
    return answer;
}

bool
break_is_of_array(BreakCode code)
{
    return code == BREAK_DTYPE || code == BREAK_UNALIGNED || code == BREAK_DTYPE_LONG_LONG ||
           (code >= BREAK_DTYPE_OBJECT && code <= BREAK_BYTE_ORDER);
}

static bool
is_masked(PyTypeObject *type)
{
    for (; type != NULL; type = type->tp_base)
        if (strcmp(type->tp_name, "MaskedArray") == 0) return true;
    return false;
}

/* Searches the class's MRO without running code. */
static bool
overrides(PyTypeObject *type)
{
    static const char *const texts[] = {"__array_function__", "__array_ufunc__"};
    bool found = false;
    for (int i = 0; i < COUNT_OF(texts); i++) {
        PyObject *name = PyUnicode_InternFromString(texts[i]);
        found = found || (name != NULL && attribute_stored((PyObject *)type, name) != NULL);
        Py_XDECREF(name);
    }
    PyErr_Clear();
    return found;
}

/* For an array of numbers that cannot be a graph's input. */
static BreakCode
break_of_numbers(PyObject *object)
{
    ArrayHeader header;
    const char *why;
    if (array_read(object, &header, &why) == ANSWER_YES)
        return header.flags & ARRAY_ALIGNED ? BREAK_DTYPE : BREAK_UNALIGNED;
    return array_axes(object) > MAX_RANK ? BREAK_RANK : BREAK_DTYPE;
}

/* A container from outside that is not opened (source.c). */
static bool
is_closed(const Value *value)
{
    PyObject *object = value->object;
    return value->kind == V_OBJECT && object != NULL &&
           (PyList_CheckExact(object) || PyTuple_CheckExact(object) || PyDict_CheckExact(object) ||
            strncmp(Py_TYPE(object)->tp_name, "collections.", 12) == 0);
}

BreakCode
value_break(const Value *value, BreakCode otherwise)
{
    PyObject *object = value->object;
    if (value->kind == V_DEVICE) return BREAK_DEVICE;
    if (value->kind == V_GROWN || value->kind == V_GROWN_DICT) return BREAK_GROWN;
    if (value->kind == V_SERIES) return BREAK_ITEMS;
    if ((value->kind != V_OBJECT && value->kind != V_CONST) || object == NULL) return otherwise;
    if (array_is_exact(object) && value->kind == V_OBJECT)
        return dtype_break(object, break_of_numbers(object));
    if (array_is_exact(object) || array_scalar_check(object))
        return dtype_break(object, value->kind == V_OBJECT ? BREAK_DTYPE : otherwise);
    if (is_closed(value)) return BREAK_ITEMS;
    PyTypeObject *type = Py_TYPE(object);
    if (PyType_IsSubtype(type, array_class()))
        return is_masked(type) ? BREAK_MASKED : BREAK_ARRAY_TYPE;
    return overrides(type) ? BREAK_OVERRIDES : otherwise;
}
