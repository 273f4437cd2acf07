/* Steps: operators whose methods are Python functions, called so that they can be offered to
   capture.

   What CPython does in slots of C is done here in the same order: CPython Objects/abstract.c,
   binary_op1 and binary_iop1; Objects/typeobject.c, SLOT1BINFULL; Objects/object.c,
   do_richcompare. */
#include "step.h"

static bool
is_heap(PyObject *object)
{
    return PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
}

/* What the class has under __PREFIXNAME__, borrowed; NULL: nothing, or with an error set. */
static PyObject *
method_of(PyTypeObject *type, const char *prefix, const char *name)
{
    PyObject *text = PyUnicode_FromFormat("__%s%s__", prefix, name);
    if (text == NULL) return NULL;
    PyUnicode_InternInPlace(&text);
    PyObject *found = _PyType_Lookup(type, text);
    Py_DECREF(text);
    return found;
}

static bool
is_python(PyObject *method)
{
    return method != NULL && PyFunction_Check(method);
}

/* Calling it is what the slot does: not so of None, descriptors of the program's and the like. */
static bool
is_plain(PyObject *method)
{
    return method == NULL || PyFunction_Check(method) || Py_IS_TYPE(method, &PyWrapperDescr_Type);
}

/* method(args…), a new reference; NotImplemented where there is none. */
static PyObject *
call_method(Step *s, PyObject *method, int nargs, PyObject *const *args)
{
    PyObject *all[4] = {NULL};
    if (method == NULL) return Py_NewRef(Py_NotImplemented);
    for (int i = 0; i < nargs; i++) all[i + 1] = args[i];
    Py_INCREF(method); /* the call may take it from the class */
    PyObject *result =
        s->call(method, all + 1, (size_t)nargs | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(method);
    return result;
}

/* The first answer of these methods that is not NotImplemented; that is the last one's. */
static PyObject *
first_answer(Step *s, int n, PyObject *const *methods, PyObject *const (*args)[2])
{
    PyObject *result = NULL;
    for (int i = 0; i < n; i++) {
        result = call_method(s, methods[i], 2, args[i]);
        if (result != Py_NotImplemented) break;
        if (i + 1 < n) Py_DECREF(result);
    }
    return result;
}

/* ---- binary operators ---- */

/* NULL for a sequence's own `+`, which comes after all methods. */
static PyObject *
of_number(PyTypeObject *type, PyObject *method)
{
    PySequenceMethods *m = type->tp_as_sequence;
    bool joins = method != NULL && Py_IS_TYPE(method, &PyWrapperDescr_Type) && m != NULL &&
                 ((PyWrapperDescrObject *)method)->d_wrapped == (void *)m->sq_concat;
    return joins ? NULL : method;
}

/* Sequences that are repeated, or extended in place, are left to CPython. */
static bool
may_repeat(PyObject *object, int operator_)
{
    PySequenceMethods *m = Py_TYPE(object)->tp_as_sequence;
    if (m == NULL) return false;
    return (operator_ % IN_PLACE == OPERATOR_MUL && m->sq_repeat != NULL) ||
           (operator_ == IN_PLACE + OPERATOR_ADD && m->sq_inplace_concat != NULL);
}

static PyObject *
no_answer(int operator_, PyObject *left, PyObject *right)
{
    PySequenceMethods *m = Py_TYPE(left)->tp_as_sequence;
    if (operator_ % IN_PLACE == OPERATOR_ADD && m != NULL && m->sq_concat != NULL)
        return m->sq_concat(left, right);
    const char *symbol = operators[operator_ % IN_PLACE].symbol;
    const char *more = operator_ >= IN_PLACE ? "=" : operator_ == OPERATOR_POW ? " or pow()" : "";
    PyErr_Format(PyExc_TypeError, "unsupported operand type(s) for %s%s: '%.100s' and '%.100s'",
                 symbol, more, Py_TYPE(left)->tp_name, Py_TYPE(right)->tp_name);
    return NULL;
}

bool
step_binary_method(Step *s, int operator_, PyObject *left, PyObject *right, PyObject **out)
{
    if (s->call == NULL || (!is_heap(left) && !is_heap(right))) return false;
    PyTypeObject *mine = Py_TYPE(left), *yours = Py_TYPE(right);
    const char *name = operators[operator_ % IN_PLACE].method;
    PyObject *in_place = operator_ >= IN_PLACE ? method_of(mine, "i", name) : NULL;
    PyObject *method = of_number(mine, method_of(mine, "", name));
    PyObject *reflected = mine != yours ? method_of(yours, "r", name) : NULL;
    bool first = reflected != NULL && PyType_IsSubtype(yours, mine) &&
                 method_of(mine, "r", name) != reflected;
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    if (!is_python(in_place) && !is_python(method) && !is_python(reflected)) return false;
    if (!is_plain(in_place) || !is_plain(method) || !is_plain(reflected)) return false;
    if (may_repeat(left, operator_) || may_repeat(right, operator_)) return false;
    PyObject *methods[] = {in_place, first ? reflected : method, first ? method : reflected};
    PyObject *const straight[2] = {left, right}, *const turned[2] = {right, left};
    PyObject *args[3][2];
    for (int i = 0; i < 3; i++) {
        bool turns = i > 0 && first == (i == 1);
        memcpy(args[i], turns ? turned : straight, sizeof(args[i]));
    }
    *out = first_answer(s, 3, methods, (PyObject *const(*)[2])args);
    if (*out == Py_NotImplemented) Py_SETREF(*out, no_answer(operator_, left, right));
    return true;
}

/* ---- comparisons ---- */

static PyObject *
not_compared(int operator_, PyObject *left, PyObject *right)
{
    if (operator_ == Py_EQ || operator_ == Py_NE)
        return PyBool_FromLong((left == right) == (operator_ == Py_EQ));
    PyErr_Format(PyExc_TypeError, "'%s' not supported between instances of '%.100s' and '%.100s'",
                 comparison_symbols[operator_], Py_TYPE(left)->tp_name, Py_TYPE(right)->tp_name);
    return NULL;
}

bool
step_compare_method(Step *s, int operator_, PyObject *left, PyObject *right, PyObject **out)
{
    static const int swapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
    if (s->call == NULL || (!is_heap(left) && !is_heap(right))) return false;
    PyTypeObject *mine = Py_TYPE(left), *yours = Py_TYPE(right);
    PyObject *method = method_of(mine, "", comparison_names[operator_]);
    PyObject *reflected = method_of(yours, "", comparison_names[swapped[operator_]]);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    if (!is_python(method) && !is_python(reflected)) return false;
    if (!is_plain(method) || !is_plain(reflected)) return false;
    bool first = mine != yours && PyType_IsSubtype(yours, mine);
    PyObject *methods[] = {first ? reflected : method, first ? method : reflected};
    PyObject *args[2][2] = {{left, right}, {right, left}};
    if (first) args[0][0] = right, args[0][1] = left, args[1][0] = left, args[1][1] = right;
    *out = first_answer(s, 2, methods, (PyObject *const(*)[2])args);
    if (*out == Py_NotImplemented) Py_SETREF(*out, not_compared(operator_, left, right));
    return true;
}

/* ---- what one class alone decides ---- */

bool
step_own_method(Step *s, const char *name, int nargs, PyObject *const *args, PyObject **out)
{
    if (s->call == NULL || !is_heap(args[0])) return false;
    PyObject *method = method_of(Py_TYPE(args[0]), "", name);
    if (!is_python(method)) {
        PyErr_Clear();
        return false;
    }
    *out = call_method(s, method, nargs, args);
    return true;
}
