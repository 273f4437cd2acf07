/* Inside capture/: calls of Python's builtins, by the rows of builtins.def. */
#ifndef PYCOMPILE_BUILTINS_H
#define PYCOMPILE_BUILTINS_H

#include "objects.h"

typedef struct {
    Interp *in;
    PyObject *callable;
    const char *name; /* of a function of builtins, else NULL */
    int nargs;
    Value *const *args;
    PyObject *kwnames;
    Value **out;
} BuiltinCall;

/* The handlers that the rows name, in builtins.c, builtin_numbers.c and class_builtins.c. */
#define ABOUT(name, handler, ...) Answer handler(const BuiltinCall *call);
#define ABOUT_TYPE ABOUT
#define OBJECT ABOUT
#define OBJECT_TYPE ABOUT
#define VALUE ABOUT
#define VALUE_TYPE ABOUT
#include "builtins.def"

/* The break of a builtin that has no rule for what it is called with. */
Answer builtin_unknown(const BuiltinCall *call, const char *name);
Value *builtin_keyword(const BuiltinCall *call, const char *name); /* NULL: not given */
int builtin_keywords(const BuiltinCall *call);                     /* their number */
/* The second argument, or `start` by keyword, or NULL.  False: other keywords, or both. */
bool builtin_start(const BuiltinCall *call, Value **out);
/* len, int and float of a text: known, or a step. */
Answer builtin_of_text(const BuiltinCall *call, PyObject *callable);

static inline Answer
give(const BuiltinCall *call, Value *value)
{
    return given(call->out, value);
}

static inline Answer
give_bool(const BuiltinCall *call, bool value)
{
    return give(call, value_const(call->in, value ? Py_True : Py_False));
}

#endif
