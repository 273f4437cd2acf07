/* Instructions that are graphs of their own.  Where a plan of a backend's has raised what the
   program may handle, its line is noted.  There a graph ends before and behind each instruction
   that may raise: CPython does the one that does, and goes to the handler with what graphs have
   computed. */
#include "control.h"

#include "../../config.h"

static PyObject *raising; /* (file, line) */
static _Thread_local Again asked;
static _Thread_local PyObject *followed;

Again
again_take(void)
{
    Again taken = asked;
    asked = AGAIN_NOT;
    return taken;
}

bool
again_is_asked(void)
{
    return asked != AGAIN_NOT;
}

PyObject *
again_followed(void)
{
    PyObject *taken = followed;
    followed = NULL;
    return taken;
}

static PyObject *
values_vary(PyObject *self, PyObject *paths)
{
    (void)self;
    if (!PyTuple_Check(paths)) return PyErr_Format(PyExc_TypeError, "paths are a tuple");
    Py_XSETREF(followed, Py_NewRef(paths));
    asked = AGAIN_NEW;
    Py_RETURN_NONE;
}

static PyObject *
raised_at(PyObject *self, PyObject *place)
{
    (void)self;
    if (raising == NULL && (raising = PySet_New(NULL)) == NULL) return NULL;
    int known = PySet_Contains(raising, place);
    if (known < 0 || PySet_Add(raising, place) < 0) return NULL;
    asked = known ? AGAIN_SAME : AGAIN_NEW;
    Py_RETURN_NONE;
}

/* Can what it gives depend on numbers in such a way that it raises? */
static bool
may_raise(InstrKind kind)
{
    switch (kind) {
    case I_UNARY_POSITIVE:
    case I_UNARY_NEGATIVE:
    case I_UNARY_INVERT:
    case I_BINARY:
    case I_COMPARE:
    case I_SUBSCRIPT:
    case I_STORE_SUBSCRIPT:
    case I_SLICE_LOAD:
    case I_SLICE_STORE:
    case I_UNPACK:
    case I_FORMAT:
    case I_CALL:
    case I_CALL_KW:
    case I_CALL_EX: return true;
    default: return false;
    }
}

static bool
is_noted(const PyCodeObject *code, int line)
{
    PyObject *place = Py_BuildValue("(Oi)", code->co_filename, line);
    bool noted = place != NULL && PySet_Contains(raising, place) == 1;
    Py_XDECREF(place);
    PyErr_Clear();
    return noted;
}

bool
instr_is_alone(const Decoded *d, int number)
{
    if (raising == NULL || d->instrs[number].sub != 0) return false;
    for (int i = number; i < d->count && (i == number || d->instrs[i].sub != 0); i++)
        if (may_raise(d->instrs[i].kind) && is_noted(d->code, d->instrs[i].line)) return true;
    return false;
}

/* Ends the graph before the Instr, if that, or the one before it, is a graph of its own. */
Answer
end_alone(Interp *in, int number)
{
    const Activation *a = in->top;
    const Instr *instr = &a->decoded->instrs[number];
    if (raising == NULL || in->request->config == NULL || !in->request->config->backend_call ||
        instr->sub != 0)
        return ANSWER_YES;
    bool alone = instr_is_alone(a->decoded, number);
    bool ends = alone || (a == in->bottom && in->attempt.was_alone);
    if (a == in->bottom && in->attempt.steps == 0) ends = false;
    if (a == in->bottom) in->attempt.was_alone = alone;
    if (!ends) return ANSWER_YES;
    in->attempt.parted = a == in->bottom;
    return interp_break(in, BREAK_EXCEPTION, "an exception was raised by this line before");
}

PyMethodDef alone_methods[] = {
    {"raised_at", raised_at, METH_O,
     "raised_at((file, line))\n\nA plan that is running raises what the program may handle, at "
     "this line: the program goes on before the plan, by smaller ones."},
    {"values_vary", values_vary, METH_O,
     "values_vary(paths)\n\nA plan that is running takes values for granted that it must not, by "
     "the paths to them: the program goes on before the plan, by another one."},
    {NULL, NULL, 0, NULL},
};
