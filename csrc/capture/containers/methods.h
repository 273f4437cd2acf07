/* Inside capture/: calls of methods of the builtin containers. */
#ifndef PYCOMPILE_METHODS_H
#define PYCOMPILE_METHODS_H

#include "containers.h"

typedef struct {
    Interp *in;
    Value *self;
    Value *core; /* for an instance of a class derived from a builtin container: that container */
    const char *name;
    int nargs;
    Value *const *args;
    PyObject *kwnames;
    Value **out;
} Method;

static inline Answer
give(const Method *m, Value *value)
{
    return given(m->out, value);
}

static inline Answer
give_none(const Method *m)
{
    return give(m, value_const(m->in, Py_None));
}

#endif
