/* Private to python/: one instruction at a time on the real frame.

   The frame is linked while a step runs, and its stack is valid whenever Python code may run:
   operands stay on the stack until the result is known, then step_put replaces them.  A step that
   fails leaves a valid stack, at least as deep as any handler needs. */
#ifndef PYCOMPILE_STEP_H
#define PYCOMPILE_STEP_H

#include "internal.h"

#include "python.h"

typedef struct {
    PyThreadState *ts;
    Frame *frame;
    const Decoded *decoded;
    const Instr *instr;
    StepCall call;
    int next; /* number of the Instr that follows; a taken jump sets it */
} Step;

/* The n-th entry from the top of the stack, from 1. */
static inline PyObject **
step_at(Step *s, int n)
{
    return &s->frame->localsplus[s->frame->stacktop - n];
}

static inline PyObject *
step_peek(Step *s, int n)
{
    return *step_at(s, n);
}

static inline void
step_push(Step *s, PyObject *owned)
{
    s->frame->localsplus[s->frame->stacktop++] = owned;
}

static inline PyObject *
step_pop(Step *s)
{
    return s->frame->localsplus[--s->frame->stacktop];
}

static inline PyObject *
step_name(Step *s)
{
    return PyTuple_GET_ITEM(s->decoded->code->co_names, s->instr->arg);
}

extern const StepElision *elision; /* NULL: not set yet */

/* Replaces the n top entries by `result` (stolen).  NULL: STEP_ERROR, and the entries stay. */
StepResult step_put(Step *s, int n, PyObject *result);
/* As step_put, for an instruction without a result; `failed` is what its function returned. */
StepResult step_drop(Step *s, int n, int failed);
/* Serves the eval breaker if it is set. */
StepResult step_check_breaker(Step *s);
/* Pushes a value and a NULL as a call's pair, in the version's order. */
void step_push_with_null(Step *s, PyObject *owned);

/* step_object.c */
StepResult step_attribute(Step *s);
StepResult step_operator(Step *s);
StepResult step_subscript(Step *s);
/* step_methods.c: false: no Python function of a class's does it, and nothing was done.  *out is a
   new reference, NULL with the error set. */
bool step_binary_method(Step *s, int operator_, PyObject *left, PyObject *right, PyObject **out);
bool step_compare_method(Step *s, int operator_, PyObject *left, PyObject *right, PyObject **out);
/* __NAME__ of args[0], called with all of them. */
bool step_own_method(Step *s, const char *name, int nargs, PyObject *const *args, PyObject **out);
/* step_build.c */
StepResult step_build(Step *s);
StepResult step_extend(Step *s);
StepResult step_format(Step *s);
StepResult step_unpack(Step *s);
StepResult step_match(Step *s);
/* step_call.c */
StepResult step_call(Step *s);
StepResult step_function(Step *s);
StepResult step_super(Step *s);
StepResult step_with(Step *s);
StepResult step_import(Step *s);
/* step_handler.c */
StepResult step_handler(Step *s);
/* breaker.c: the frame is linked; 0, or -1 with the error set */
int breaker_serve(PyThreadState *ts);
int breaker_init(void);

/* backedge.c: the bits by which the tool that watches loops is seen in eight events' bytes. */
uint64_t backedge_tools(void);
/* Is sys.monitoring called to give the tool back? */
bool backedge_is_calling(void);

/* hook.c: leaves the hook installed (3.11); every fresh frame goes to `entered`.  `rests`: it is
   removed while frames are of no use, until arrays are made again. */
void hook_stay(PyObject *(*entered)(PyThreadState *ts, Frame *frame), bool rests);

#endif
