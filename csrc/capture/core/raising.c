/* Raising: an exception that the program raises becomes a value; following stops with a break, and
   goes on where a handler is found. */
#include "core.h"

static int
step_now(Interp *in)
{
    const Activation *bottom = in->bottom;
    return in->attempt.steps - 1 - bottom->decoded->instrs[bottom->number].sub;
}

Value *
exception_new(Interp *in, PyTypeObject *type, Value *args)
{
    Value *value = value_sequence(in, V_INSTANCE, 0, NULL);
    Exception *exception = arena_alloc(in->arena, sizeof(Exception));
    if (value == NULL || exception == NULL || args == NULL) return NULL;
    *exception = (Exception){.args = args, .made = step_now(in), .raised = -1};
    value->type = type;
    value->exception = exception;
    return value;
}

static bool
is_of_numpy(PyTypeObject *type)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)type, "__module__");
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    bool is = text != NULL && strncmp(text, "numpy.", 6) == 0;
    PyErr_Clear();
    Py_XDECREF(name);
    return is;
}

/* ": name 'x' is not defined": the text of an exception that is made of one text, or is NumPy's. */
static const char *
told_text(Interp *in, const Exception *e)
{
    const Value *text = e->args != NULL && e->args->object == NULL && e->args->nitems == 1
                            ? e->args->items[0]
                            : NULL;
    PyObject *string = text != NULL && text->kind == V_CONST ? text->object : NULL;
    if (e->args != NULL && e->args->object != NULL && PyTuple_GET_SIZE(e->args->object) == 1)
        string = PyTuple_GET_ITEM(e->args->object, 0);
    if (e->real != NULL && is_of_numpy(Py_TYPE(e->real)))
        string = keep(in, PyObject_Str(e->real)); /* for an AxisError and the like */
    const char *told =
        string != NULL && PyUnicode_CheckExact(string) ? PyUnicode_AsUTF8(string) : NULL;
    PyErr_Clear(); /* of lone surrogates */
    if (told == NULL || *told == '\0' || environment_holds(told)) return "";
    told = arena_printf(in->arena, ": %s", told);
    return told != NULL ? told : "";
}

Value *
exception_of_object(Interp *in, PyObject *real)
{
    PyObject *args = keep(in, PyObject_GetAttrString(real, "args"));
    if (args == NULL || keep(in, Py_NewRef(real)) == NULL) return NULL;
    Value *tuple = value_sequence(in, V_TUPLE, 0, NULL); /* every raise makes a new one */
    for (Py_ssize_t i = 0; tuple != NULL && i < PyTuple_GET_SIZE(args); i++) {
        Value *item = value_const(in, PyTuple_GET_ITEM(args, i));
        if (item == NULL || value_append(in, tuple, item) < 0) return NULL;
    }
    Value *value = exception_new(in, Py_TYPE(real), tuple);
    if (value != NULL) value->exception->real = real;
    return value;
}

Answer
raise_again(Interp *in, Value *exception)
{
    if (in->break_code != BREAK_NONE) return ANSWER_BREAK;
    Exception *e = exception->exception;
    bool before = e->raised >= 0 && e->line != in->attempt.line;
    char where[32] = "here";
    if (e->raised < 0) {
        e->raised = step_now(in);
        e->line = in->attempt.line;
    }
    if (before) snprintf(where, sizeof(where), "at line %d", e->line);
    Answer answer = interp_break(in, BREAK_EXCEPTION, "%s is raised %s%s", exception->type->tp_name,
                                 where, told_text(in, e));
    if (in->loop == NULL || !in->loop->parts) in->raising.raised = exception;
    return answer;
}

static Value *
context_of(const Value *value)
{
    return value->exception != NULL ? value->exception->context : NULL;
}

/* Takes the exception out of the chain of handled ones, as CPython does.  The chain may be a ring:
   a second pointer at half the speed detects that. */
static void
leave_chain(Value *handled, const Value *exception)
{
    const Value *behind = handled;
    bool moves = false;
    for (Value *o = handled; context_of(o) != NULL; moves = !moves) {
        if (context_of(o) == exception) {
            o->exception->context = NULL;
            return;
        }
        o = context_of(o);
        if (o == behind) return;
        if (moves) behind = context_of(behind);
    }
}

Answer
raise_value(Interp *in, Value *exception)
{
    Value *handled = in->raising.handled;
    if (handled != NULL && handled != exception) {
        leave_chain(handled, exception);
        exception->exception->context = handled;
    }
    exception->exception->part_of = NULL;
    return raise_again(in, exception);
}

Answer
raise_error(Interp *in)
{
    PyObject *type = PyErr_Occurred();
    if (type != NULL && (PyErr_GivenExceptionMatches(type, PyExc_MemoryError) ||
                         PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt)))
        return ANSWER_ERROR;
    PyObject *real = type != NULL ? error_take() : NULL;
    if (real == NULL) return interp_break(in, BREAK_EXCEPTION, "an exception is raised here");
    if (PyException_SetTraceback(real, Py_None) < 0) PyErr_Clear();
    PyException_SetContext(real, NULL); /* not one that capture's caller handles */
    Value *exception = exception_of_object(in, real);
    Py_DECREF(real);
    return exception ? raise_value(in, exception) : ANSWER_ERROR;
}

Answer
raise_new(Interp *in, PyObject *type, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    PyErr_FormatV(type, format, args);
    va_end(args);
    return raise_error(in);
}

Value *
raised_take(Interp *in, PyObject *type)
{
    Value *raised = in->raising.raised;
    if (raised == NULL || in->attempt.again ||
        !PyErr_GivenExceptionMatches((PyObject *)raised->type, type))
        return NULL;
    in->raising.raised = NULL;
    break_take(in);
    in->attempt.blame = 0;
    return raised;
}
