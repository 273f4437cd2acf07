/* np.errstate: NumPy's own Python code is followed down to the context variable that holds the
   state.
   A state is represented as a change of the state in which the plan begins (ErrorState); each node
   is made under one state (Graph.errors) and checked under it.  The frame is never left while a
   changed state is in force, since the program's context manager would have to be entered: capture
   then stops before the change. */
#include "numpy.h"

/* An error state, or the token that restores one; `position` holds the state. */
static Value *
state_value(Interp *in, PyTypeObject *type, ErrorState errors)
{
    Value *value = value_sequence(in, V_INSTANCE, 0, NULL);
    if (value == NULL) return NULL;
    value->type = type;
    value->position = errors;
    return value;
}

bool
value_is_error_state(const Value *value)
{
    return value->kind == V_INSTANCE &&
           (value->type == &PyCapsule_Type || value->type == &PyContextToken_Type);
}

Answer
errstate_make(Interp *in, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    PyObject *keywords = PyDict_New();
    Answer answer = keywords ? ANSWER_YES : ANSWER_ERROR;
    for (int i = 0; answer == ANSWER_YES && kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i), *known;
        answer = value_known(in, args[nargs + i], &known);
        if (answer == ANSWER_YES && known != Py_None &&
            (!PyUnicode_CheckExact(known) || PyUnicode_CompareWithASCIIString(name, "call") == 0))
            answer = ANSWER_NO;
        if (answer == ANSWER_NO)
            answer = interp_break(in, BREAK_NUMPY, "an error state that is not known");
        else if (answer == ANSWER_YES && PyDict_SetItem(keywords, name, known) < 0)
            answer = ANSWER_ERROR;
    }
    ErrorState errors = 0;
    if (answer == ANSWER_YES) {
        answer = array_errors_change(in->graph->errors, keywords, &errors);
        if (answer == ANSWER_NO) answer = raise_error(in);
    }
    Py_XDECREF(keywords);
    if (answer != ANSWER_YES) return answer;
    *out = state_value(in, &PyCapsule_Type, errors);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
errstate_method(Interp *in, const char *name, int nargs, Value *const *args, Value **out)
{
    Value *value = nargs == 1 ? args[0] : NULL;
    bool known = value != NULL && value_is_error_state(value);
    if (known && strcmp(name, "set") == 0 && value->type == &PyCapsule_Type) {
        *out = state_value(in, &PyContextToken_Type, in->graph->errors);
        if (in->errstate.depth++ == 0)
            in->errstate.step =
                in->attempt.steps - 1 - in->bottom->decoded->instrs[in->bottom->number].sub;
    } else if (known && strcmp(name, "reset") == 0 && value->type == &PyContextToken_Type &&
               in->errstate.depth > 0) {
        in->errstate.depth--;
        *out = value_const(in, Py_None);
    } else {
        return interp_break(in, BREAK_NUMPY, "NumPy's error state is read or set");
    }
    in->graph->errors = (ErrorState)value->position;
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
