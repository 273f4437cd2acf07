/* Enumerations.  Members are constants, and the results of enum's own methods on them depend on
   nothing else, so they are computed while capturing. */
#include "objects.h"

static Answer
folded(Interp *in, PyObject *result, Value **out)
{
    if (result == NULL) return raise_error(in);
    *out = value_const_new(in, result);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Colour(2) */
Answer
enum_call(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    PyObject *value, *missing;
    if (nargs != 1 || kwnames != NULL || Py_TYPE(type) != (PyTypeObject *)enum_name("EnumType"))
        return break_hinted(in, BREAK_CALL_PYTHON, HINT_MADE, "a call of the enum '%s'",
                            type->tp_name);
    Answer answer = value_known(in, args[0], &value);
    if (answer == ANSWER_YES) answer = type_lookup_text(in, type, "_missing_", &missing);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO || !enum_code_is_plain(missing) || PyObject_CheckBuffer(value) ||
        (type_is_heap(Py_TYPE(value)) && !is_enum_member(value)))
        return break_hinted(in, BREAK_CALL_PYTHON, HINT_MADE, "a call of the enum '%s'",
                            type->tp_name);
    return folded(in, PyObject_CallOneArg((PyObject *)type, value), out);
}

Answer
enum_members(Interp *in, PyObject *class_, Value **out)
{
    PyObject *list = PySequence_List(class_);
    PyObject *members = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return folded(in, members, out);
}
