/* Steps: attributes, operators, subscripts. */
#include "step.h"

static StepResult
load_method(Step *s)
{
    PyObject *object = step_peek(s, 1), *found = NULL;
    int unbound = _PyObject_GetMethod(object, step_name(s), &found);
    if (found == NULL) return STEP_ERROR;
    if (unbound) {
        *step_at(s, 1) = found;
        step_push(s, object);
        return STEP_NEXT;
    }
    (void)step_pop(s);
    step_push_with_null(s, found);
    Py_DECREF(object);
    return STEP_NEXT;
}

StepResult
step_attribute(Step *s)
{
    PyObject *object = step_peek(s, 1);
    switch (s->instr->kind) {
    case I_LOAD_ATTR: return step_put(s, 1, PyObject_GetAttr(object, step_name(s)));
    case I_LOAD_METHOD: return load_method(s);
    case I_STORE_ATTR:
        return step_drop(s, 2, PyObject_SetAttr(object, step_name(s), step_peek(s, 2)));
    default: return step_drop(s, 1, PyObject_SetAttr(object, step_name(s), NULL));
    }
}

static PyObject *
binary(Step *s, int operator_, PyObject *left, PyObject *right)
{
    PyObject *result;
    if (step_binary_method(s, operator_, left, right, &result)) return result;
    int into = elision != NULL ? elision->operand(operator_, left, right) : -1;
    if (into < 0) return binary_function(operator_)(left, right);
    binaryfunc in_place = binary_function(IN_PLACE + operator_ % IN_PLACE);
    return into == 0 ? in_place(left, right) : in_place(right, left);
}

/* A new bool from a C truth value, or NULL for -1. */
static PyObject *
bool_or_error(int truth, bool negate)
{
    if (truth < 0) return NULL;
    return PyBool_FromLong(negate ? !truth : truth);
}

static PyObject *
compare(Step *s, PyObject *left, PyObject *right, const Instr *instr)
{
    PyObject *result;
    if (!step_compare_method(s, instr->arg, left, right, &result))
        result = PyObject_RichCompare(left, right, instr->arg);
    if (result == NULL || !instr->arg2) return result;
    int truth = PyObject_IsTrue(result);
    Py_DECREF(result);
    return bool_or_error(truth, false);
}

static PyObject *
unary(Step *s, const char *name, unaryfunc function)
{
    PyObject *top = step_peek(s, 1), *result;
    return step_own_method(s, name, 1, &top, &result) ? result : function(top);
}

/* 1 or 0; -1 with the error set. */
static int
contains(Step *s, PyObject *container, PyObject *item)
{
    PyObject *args[] = {container, item}, *result;
    if (!step_own_method(s, "contains", 2, args, &result))
        return PySequence_Contains(container, item);
    int truth = result == NULL ? -1 : PyObject_IsTrue(result);
    Py_XDECREF(result);
    return truth;
}

StepResult
step_operator(Step *s)
{
    PyObject *top = step_peek(s, 1);
    const int arg = s->instr->arg;
    switch (s->instr->kind) {
    case I_UNARY_POSITIVE: return step_put(s, 1, unary(s, "pos", PyNumber_Positive));
    case I_UNARY_NEGATIVE: return step_put(s, 1, unary(s, "neg", PyNumber_Negative));
    case I_UNARY_INVERT: return step_put(s, 1, unary(s, "invert", PyNumber_Invert));
    case I_UNARY_NOT: return step_put(s, 1, bool_or_error(PyObject_IsTrue(top), true));
    case I_TO_BOOL: return step_put(s, 1, bool_or_error(PyObject_IsTrue(top), false));
    case I_BINARY:
        if (binary_function(arg) == NULL) return STEP_CANNOT;
        return step_put(s, 2, binary(s, arg, step_peek(s, 2), top));
    case I_COMPARE: return step_put(s, 2, compare(s, step_peek(s, 2), top, s->instr));
    case I_IS: return step_put(s, 2, PyBool_FromLong((step_peek(s, 2) == top) ^ arg));
    default: return step_put(s, 2, bool_or_error(contains(s, top, step_peek(s, 2)), arg));
    }
}

static PyObject *
item(Step *s, PyObject *object, PyObject *key)
{
    PyObject *args[] = {object, key}, *result;
    bool taken = step_own_method(s, "getitem", 2, args, &result);
    return taken ? result : PyObject_GetItem(object, key);
}

static int
store_item(Step *s, PyObject *object, PyObject *key, PyObject *value)
{
    PyObject *args[] = {object, key, value}, *result;
    if (!step_own_method(s, "setitem", 3, args, &result))
        return PyObject_SetItem(object, key, value);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* [.., object, start, stop]: loads or stores object[start:stop]. */
static StepResult
slice(Step *s)
{
    PyObject *key = PySlice_New(step_peek(s, 2), step_peek(s, 1), NULL);
    if (key == NULL) return STEP_ERROR;
    PyObject *object = step_peek(s, 3);
    StepResult result;
    if (s->instr->kind == I_SLICE_LOAD)
        result = step_put(s, 3, item(s, object, key));
    else
        result = step_drop(s, 4, store_item(s, object, key, step_peek(s, 4)));
    Py_DECREF(key);
    return result;
}

StepResult
step_subscript(Step *s)
{
    PyObject *key = step_peek(s, 1), *object = step_peek(s, 2);
    switch (s->instr->kind) {
    case I_SUBSCRIPT: return step_put(s, 2, item(s, object, key));
    case I_STORE_SUBSCRIPT: return step_drop(s, 3, store_item(s, object, key, step_peek(s, 3)));
    case I_DELETE_SUBSCRIPT: return step_drop(s, 2, PyObject_DelItem(object, key));
    default: return slice(s);
    }
}
