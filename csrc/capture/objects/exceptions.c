/* Exceptions as values: a V_INSTANCE whose `exception` has the fields of BaseException.
   In: calls of exception classes, or errors that C code set while it was called during capture.
   Out: values that handlers test, read and drop.  An exception that was raised has a traceback,
   which only CPython can make: where one leaves the graph, capture stops before the raise. */
#include "objects.h"

#include <limits.h>

static bool
is_heap(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

/* ---- reading one without running code of the program ---- */

static bool
is_printable(PyObject *object)
{
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
            if (!is_printable(PyTuple_GET_ITEM(object, i))) return false;
        return true;
    }
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyBytes_CheckExact(object) || object == Py_None;
}

/* The C class from which the exception class derives. */
static PyTypeObject *
builtin_base(PyTypeObject *type)
{
    while (is_heap(type)) type = type->tp_base;
    return type;
}

/* It holds its args and nothing else that its construction computes. */
static bool
is_simple(PyTypeObject *type)
{
    PyTypeObject *plain = (PyTypeObject *)PyExc_Exception, *base = builtin_base(type);
    if (base->tp_new != plain->tp_new) return false;
    return base->tp_init == plain->tp_init || base == (PyTypeObject *)PyExc_StopIteration ||
           base == (PyTypeObject *)PyExc_SystemExit ||
           base == (PyTypeObject *)PyExc_AttributeError ||
           PyType_IsSubtype(base, (PyTypeObject *)PyExc_NameError) ||
           PyType_IsSubtype(base, (PyTypeObject *)PyExc_ImportError);
}

/* The known args, if making their text runs no code of the program: borrowed, or NULL. */
static Answer
printable_args(Interp *in, Value *exception, PyObject **out)
{
    Answer answer = value_known(in, exception->exception->args, out);
    if (answer == ANSWER_YES && !is_printable(*out)) answer = ANSWER_NO;
    return answer;
}

/* An exception of a class of NumPy's, made by NumPy's code. */
static bool
is_of_numpy(const Value *exception)
{
    PyObject *real = exception->exception->real;
    if (real == NULL || !is_heap(exception->type)) return false;
    PyObject *module = PyObject_GetAttrString((PyObject *)exception->type, "__module__");
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    bool numpy = name != NULL && strncmp(name, "numpy.", 6) == 0;
    Py_XDECREF(module);
    PyErr_Clear();
    return numpy;
}

Answer
exception_text(Interp *in, Value *exception, bool repr, Value **out)
{
    PyTypeObject *type = exception->type;
    PyObject *name = keep(in, PyUnicode_InternFromString(repr ? "__repr__" : "__str__"));
    PyObject *found, *args, *text = NULL;
    if (name == NULL) return ANSWER_ERROR;
    if (is_of_numpy(exception)) {
        PyObject *real = exception->exception->real;
        *out = value_const_new(in, repr ? PyObject_Repr(real) : PyObject_Str(real));
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    Answer answer = type_lookup(in, type, name, &found);
    if (answer != ANSWER_YES) return answer;
    if (found != NULL && PyFunction_Check(found)) {
        Value *function = value_of_const(in, found);
        return function ? call_value(in, function, 1, &exception, NULL, out) : ANSWER_ERROR;
    }
    if (exception->exception->parts != NULL && !repr && found != NULL &&
        Py_TYPE(found) == &PyWrapperDescr_Type) {
        *out = value_const_new(in, group_text(exception));
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    answer = printable_args(in, exception, &args);
    if (!answer_stops(answer) && repr) {
        PyObject *ignored, *own_name = interned(in, "__name__");
        Answer named = own_name ? type_own_lookup(in, type, own_name, &ignored) : ANSWER_ERROR;
        if (named != ANSWER_YES) answer = named;
    }
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO || found == NULL || Py_TYPE(found) != &PyWrapperDescr_Type)
        return interp_break(in, BREAK_OPERATOR, "text of %s", value_describe(in, exception));
    if (exception->exception->real != NULL) {
        text = repr ? PyObject_Repr(exception->exception->real)
                    : PyObject_Str(exception->exception->real);
    } else if (repr && is_heap(type)) {
        PyObject *own = PyType_GetName(type);
        if (own != NULL && PyTuple_GET_SIZE(args) == 1)
            text = PyUnicode_FromFormat("%U(%R)", own, PyTuple_GET_ITEM(args, 0));
        else if (own != NULL)
            text = PyUnicode_FromFormat("%U%R", own, args);
        Py_XDECREF(own);
    } else {
        PyTypeObject *class_ = is_heap(type) ? PyDescr_TYPE(found) : type;
        PyObject *real = PyObject_Call((PyObject *)class_, args, NULL);
        if (real != NULL) text = repr ? PyObject_Repr(real) : PyObject_Str(real);
        Py_XDECREF(real);
    }
    if (text == NULL) return raise_error(in);
    *out = value_const_new(in, text);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- making ---- */

/* Classes whose objects hold more than args: CPython makes one, and its fields are read. */
static Answer
make_real(Interp *in, PyTypeObject *type, Value *args, Value **out)
{
    PyObject *known, *real;
    Answer answer = is_heap(type) ? ANSWER_NO : value_known(in, args, &known);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO || !is_printable(known))
        return interp_break(in, BREAK_CALL_C, "an exception of class '%s'", type->tp_name);
    real = keep(in, PyObject_Call((PyObject *)type, known, NULL));
    if (real == NULL) return raise_error(in);
    *out = exception_of_object(in, real);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
exception_make(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
               Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    Value *tuple = value_sequence(in, V_TUPLE, nargs, args), *ignored;
    if (tuple == NULL) return ANSWER_ERROR;
    if (Py_TYPE(type) != &PyType_Type || type->tp_new != builtin_base(type)->tp_new ||
        type->tp_finalize != NULL || type->tp_getattro != PyObject_GenericGetAttr ||
        type->tp_setattro != PyObject_GenericSetAttr)
        return break_hinted(in, BREAK_CALL_PYTHON, HINT_MADE, "an exception of class '%s'",
                            type->tp_name);
    if (type_is_group(type) && nkw == 0) return group_make(in, type, nargs, args, out);
    if (!is_simple(type)) {
        if (nkw != 0)
            return interp_break(in, BREAK_CALL_C, "an exception of class '%s'", type->tp_name);
        return make_real(in, type, tuple, out);
    }
    PyObject *name = keep(in, PyUnicode_InternFromString("__init__")), *found;
    if (name == NULL) return ANSWER_ERROR;
    Answer answer = type_lookup(in, type, name, &found);
    if (answer != ANSWER_YES) return answer;
    if ((*out = exception_new(in, type, tuple)) == NULL) return ANSWER_ERROR;
    if (found == NULL || !PyFunction_Check(found)) {
        if (nkw == 0) return ANSWER_YES;
        return interp_break(in, BREAK_CALL_C, "an exception of class '%s'", type->tp_name);
    }
    Value **with_self = arena_alloc(in->arena, ((size_t)(nargs + nkw) + 1) * sizeof(Value *));
    Value *init = value_const(in, found);
    if (with_self == NULL || init == NULL) return ANSWER_ERROR;
    with_self[0] = *out;
    memcpy(with_self + 1, args, (size_t)(nargs + nkw) * sizeof(Value *));
    answer = call_value(in, init, nargs + 1, with_self, kwnames, &ignored);
    if (answer == ANSWER_YES && !(ignored->kind == V_CONST && ignored->object == Py_None))
        return raise_new(in, PyExc_TypeError, "__init__() should return None, not '%.200s'",
                         value_describe(in, ignored));
    return answer;
}

/* ---- attributes and methods ---- */

static Answer
give(Interp *in, Value *value, Value **out)
{
    return given(out, value != NULL ? value : value_const(in, Py_None));
}

Value *
exception_traceback(Interp *in, Value *exception)
{
    Exception *e = exception->exception;
    if (e->traceback != NULL) return e->traceback;
    if ((e->traceback = value_sequence(in, V_INSTANCE, 0, NULL)) == NULL) return NULL;
    e->traceback->type = &PyTraceBack_Type;
    return e->traceback;
}

/* An attribute that a C class keeps in the object itself. */
static Answer
own_part(Interp *in, Value *exception, PyObject *name, Value **out)
{
    Exception *e = exception->exception;
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) return ANSWER_ERROR;
    if (strcmp(text, "args") == 0) return give(in, e->args, out);
    if (e->parts != NULL && strcmp(text, "exceptions") == 0) return give(in, e->parts, out);
    if (e->parts != NULL && strcmp(text, "message") == 0) return give(in, e->message, out);
    if (strcmp(text, "__cause__") == 0) return give(in, e->cause, out);
    if (strcmp(text, "__context__") == 0) {
        Answer answer = e->context == NULL && e->raised >= 0 ? handled_nothing(in) : ANSWER_YES;
        return answer == ANSWER_YES ? give(in, e->context, out) : answer;
    }
    if (strcmp(text, "__traceback__") == 0 && !e->wraps)
        return give(in, e->raised >= 0 ? exception_traceback(in, exception) : NULL, out);
    if (strcmp(text, "__suppress_context__") == 0)
        return give(in, value_const(in, e->suppress ? Py_True : Py_False), out);
    if (e->real == NULL && (strcmp(text, "value") == 0 || strcmp(text, "code") == 0)) {
        if (strcmp(text, "code") == 0 && e->args->nitems > 1) return give(in, e->args, out);
        return give(in, e->args->nitems > 0 ? value_item(in, e->args, 0) : NULL, out);
    }
    if (e->real != NULL && text[0] != '_') {
        PyObject *read = keep(in, PyObject_GetAttr(e->real, name));
        if (read == NULL) return raise_error(in);
        if (is_printable(read) || PyType_Check(read)) return give(in, value_const(in, read), out);
    }
    return interp_break(in, BREAK_ATTRIBUTE, "attribute '%s' of %s", text,
                        value_describe(in, exception));
}

/* Kept by a C class in the object: `args`, `__cause__`, `errno` … */
static bool
is_own_part(PyObject *found)
{
    return found != NULL &&
           (Py_TYPE(found) == &PyGetSetDescr_Type || Py_TYPE(found) == &PyMemberDescr_Type) &&
           !is_heap(PyDescr_TYPE(found));
}

Answer
exception_attribute(Interp *in, Value *exception, PyObject *name, Value **out)
{
    PyObject *found;
    Answer answer = type_lookup(in, exception->type, name, &found);
    if (answer != ANSWER_YES) return answer;
    if (is_own_part(found)) return own_part(in, exception, name, out);
    if (is_of_numpy(exception) && found != NULL && Py_TYPE(found) == &PyMemberDescr_Type)
        return own_part(in, exception, name, out);
    if (found != NULL &&
        (Py_TYPE(found) == &PyMethodDescr_Type || Py_TYPE(found) == &PyWrapperDescr_Type)) {
        *out = value_sequence(in, V_BUILTIN_METHOD, 1, &exception);
        if (*out == NULL) return ANSWER_ERROR;
        (*out)->name = PyUnicode_AsUTF8(name);
        return (*out)->name == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    return instance_attribute(in, exception, name, out);
}

static bool
is_exception(const Value *value)
{
    return value->exception != NULL;
}

Answer
exception_attribute_store(Interp *in, Value *exception, PyObject *name, Value *value, bool *done)
{
    PyObject *found;
    Exception *e = exception->exception;
    Answer answer = type_lookup(in, exception->type, name, &found);
    *done = false;
    if (answer != ANSWER_YES || !is_own_part(found)) return answer;
    *done = true;
    const char *text = PyUnicode_AsUTF8(name);
    bool none = value->kind == V_CONST && value->object == Py_None;
    if (text == NULL) return ANSWER_ERROR;
    if (strcmp(text, "args") == 0 && e->real == NULL) {
        Value *items;
        answer = iterate_sized(in, value, V_TUPLE, &items);
        if (answer == ANSWER_YES) e->args = items;
        return answer;
    }
    if (strcmp(text, "__traceback__") == 0 && value == e->traceback && value != NULL)
        return ANSWER_YES;
    if (strcmp(text, "__cause__") == 0 && (none || is_exception(value))) {
        e->cause = none ? NULL : value;
        e->suppress = true;
        return ANSWER_YES;
    }
    if (strcmp(text, "__context__") == 0 && (none || is_exception(value))) {
        if (none && e->raised >= 0 && (answer = handled_nothing(in)) != ANSWER_YES) return answer;
        e->context = none ? NULL : value;
        return ANSWER_YES;
    }
    if (strcmp(text, "__suppress_context__") == 0 && value->kind == V_CONST &&
        PyBool_Check(value->object)) {
        e->suppress = value->object == Py_True;
        return ANSWER_YES;
    }
    return interp_break(in, BREAK_STORE, "attribute '%s' of %s", text,
                        value_describe(in, exception));
}

static Answer
add_note(Interp *in, Value *exception, Value *note)
{
    PyObject *name = keep(in, PyUnicode_InternFromString("__notes__"));
    if (name == NULL) return ANSWER_ERROR;
    Value *notes;
    Answer answer = own_find(in, exception, name, false, false, &notes);
    if (answer != ANSWER_YES) return answer;
    if (notes != NULL && notes->kind == V_LIST)
        return value_append(in, notes, note) < 0 ? ANSWER_ERROR : ANSWER_YES;
    Value *list = value_sequence(in, V_LIST, 1, &note);
    return list ? attribute_store(in, exception, name, list) : ANSWER_ERROR;
}

Answer
exception_method(Interp *in, Value *exception, const char *name, int nargs, Value *const *args,
                 PyObject *kwnames, Value **out)
{
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    Exception *e = exception->exception;
    if (strcmp(name, "__init__") == 0 && nkw == 0 && is_simple(exception->type)) {
        if ((e->args = value_sequence(in, V_TUPLE, nargs, args)) == NULL) return ANSWER_ERROR;
        return give(in, NULL, out);
    }
    if (strcmp(name, "__str__") == 0 && nargs == 0 && nkw == 0)
        return exception_text(in, exception, false, out);
    if (strcmp(name, "__repr__") == 0 && nargs == 0 && nkw == 0)
        return exception_text(in, exception, true, out);
    bool text = nargs == 1 && args[0]->kind == V_CONST && PyUnicode_CheckExact(args[0]->object);
    if (strcmp(name, "add_note") == 0 && nkw == 0 && text) {
        Answer answer = add_note(in, exception, args[0]);
        return answer == ANSWER_YES ? give(in, NULL, out) : answer;
    }
    if (strcmp(name, "with_traceback") == 0 && nargs == 1 && nkw == 0 &&
        ((args[0]->kind == V_CONST && args[0]->object == Py_None) || args[0] == e->traceback))
        return give(in, exception, out);
    Answer answer = nkw == 0 ? group_method(in, exception, name, nargs, args, out) : ANSWER_NO;
    if (answer != ANSWER_NO) return answer;
    return interp_break(in, BREAK_CALL_C, "call of '%s' of %s", name,
                        value_describe(in, exception));
}

/* ---- what is being handled ---- */

Answer
handled_nothing(Interp *in)
{
    if (handled_exception() != Py_None)
        return break_hinted(in, BREAK_EXCEPTION, HINT_HANDLER,
                            "what the caller handles is asked for");
    SourceId source = source_add(in, SOURCE_HANDLED, NO_SOURCE, 0, NULL, NULL);
    if (source == NO_SOURCE || guard_simple(in, GUARD_IS, source, Py_None) < 0) return ANSWER_ERROR;
    return ANSWER_YES;
}

Answer
handled_call(Interp *in, PyObject *callable, int nargs, Value **out)
{
    if (!PyCFunction_Check(callable) || nargs != 0) return ANSWER_NO;
    bool info = strcmp(((PyCFunctionObject *)callable)->m_ml->ml_name, "exc_info") == 0;
    Value *handled = in->raising.handled, *none = value_const(in, Py_None);
    Answer answer = handled == NULL ? handled_nothing(in) : ANSWER_YES;
    if (answer != ANSWER_YES || none == NULL) return none ? answer : ANSWER_ERROR;
    Value *parts[3] = {none, none, none};
    if (handled != NULL) {
        parts[0] = value_const(in, (PyObject *)handled->type);
        parts[1] = handled;
        parts[2] = exception_traceback(in, handled);
        if (parts[0] == NULL || parts[2] == NULL) return ANSWER_ERROR;
    }
    *out = info ? value_sequence(in, V_TUPLE, 3, parts) : parts[1];
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- raising ---- */

static int
earliest(const Value *exception, int depth)
{
    const Exception *e = exception != NULL ? exception->exception : NULL;
    if (e == NULL || depth > 20) return INT_MAX;
    int step = e->raised >= 0 ? e->raised : INT_MAX;
    int cause = earliest(e->cause, depth + 1), context = earliest(e->context, depth + 1);
    if (cause < step) step = cause;
    return context < step ? context : step;
}

int
exception_step(const Value *exception)
{
    return earliest(exception, 0);
}
