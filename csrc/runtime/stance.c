/* The stance (pycompile.set_stance), by which the program rules out that plans are made.  It is one
   for the process.  It is looked at where a plan would be made (recompile.c); under "force_eager",
   which leaves plans aside, where a call asks whether it is CPython's anyway (calls_are_left). */
#include "hooks.h"

int stance_eager;
Stance stance;
static const char *const stance_names[] = {"default", "force_eager", "eager_on_recompile",
                                           "fail_on_recompile", "eager_then_compile"};

bool
stance_is_default(void)
{
    return stance == STANCE_DEFAULT || stance == STANCE_EAGER_THEN_COMPILE;
}

/* set_stance(name, /) -> the name before */
static PyObject *
set_stance(PyObject *Py_UNUSED(self), PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL, *before;
    if (text == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "a stance is a str, not %R", name);
    if (text == NULL) return NULL;
    for (int i = 0; i < COUNT_OF(stance_names); i++) {
        if (strcmp(text, stance_names[i]) != 0) continue;
        before = stance_names[stance];
        stance = (Stance)i;
        stance_eager = stance == STANCE_FORCE_EAGER;
        return PyUnicode_FromString(before);
    }
    PyErr_Format(PyExc_ValueError,
                 "a stance is 'default', 'force_eager', 'eager_on_recompile', 'fail_on_recompile' "
                 "or 'eager_then_compile', not %R",
                 name);
    return NULL;
}

PyMethodDef stance_methods[] = {
    {"set_stance", set_stance, METH_O, "set_stance(name, /) -> the stance before"},
    {NULL, NULL, 0, NULL},
};
