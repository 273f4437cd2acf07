/* Machine limits: np.finfo, np.iinfo. */
#include "numpy.h"

/* The dtype's name, which finfo and iinfo take; a number stands for its type.  A new reference;
   NULL without an error where it is not known. */
static PyObject *
limits_argument(Interp *in, Value *value)
{
    if (value->kind == V_NODE && !value_is_array(in, value) && !value_is_opaque(in, value))
        return Py_XNewRef(value_type(in, value));
    PyObject *object;
    if (object_known(in, value, &object) != ANSWER_YES) return NULL;
    DType ignored;
    bool number = PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
                  PyComplex_CheckExact(object) || array_scalar_check(object);
    if (number) return Py_NewRef(Py_TYPE(object));
    return array_dtype_from_object(object, &ignored) == ANSWER_YES ? Py_NewRef(object) : NULL;
}

/* Calls the class while capturing.  An error is the program's; where the class warns, the program
   has to call it. */
Answer
limits_made(Interp *in, PyObject *class_, PyObject *argument, PyObject **out)
{
    PyObject *filters = array_warnings_begin(WARNINGS_RAISE);
    if (filters == NULL) return ANSWER_ERROR;
    PyObject *object = PyObject_CallOneArg(class_, argument);
    array_warnings_end(WARNINGS_RAISE, filters);
    if (object == NULL && PyErr_ExceptionMatches(PyExc_Warning)) {
        PyErr_Clear();
        return interp_break(in, BREAK_NUMPY, "a call that warns");
    }
    *out = object == NULL ? NULL : keep(in, object);
    return object != NULL && *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* finfo ("f"): one object per dtype for ever; iinfo: a new object at each call. */
Answer
do_limits(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    PyObject *class_ = numpy_object(rule->name), *object;
    PyObject *argument = limits_argument(in, args[0]);
    if (argument == NULL) {
        if (PyErr_Occurred()) return ANSWER_ERROR;
        return interp_break(in, BREAK_NUMPY, "%s of what is not known", rule->name);
    }
    if (keep(in, argument) == NULL) return ANSWER_ERROR;
    TRY(limits_made(in, class_, argument, &object));
    if (object == NULL) return raise_error(in);
    if (rule->data[0] == 'f') {
        *out = value_const(in, object);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    Value *known = value_const(in, argument);
    *out = known == NULL ? NULL : value_sequence(in, V_PURE, 1, &known);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->object = class_;
    (*out)->type = (PyTypeObject *)class_;
    return ANSWER_YES;
}

bool
value_is_limits(const Value *value)
{
    if (value->object == NULL) return false;
    if (value->kind == V_PURE) return value->object == numpy_object("iinfo");
    return value->kind == V_CONST && (PyObject *)Py_TYPE(value->object) == numpy_object("finfo");
}
