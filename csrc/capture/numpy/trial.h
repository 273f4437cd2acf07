/* Inside capture/numpy/: trial calls, by which capture learns the types of a step's results. */
#ifndef PYCOMPILE_CAPTURE_TRIAL_H
#define PYCOMPILE_CAPTURE_TRIAL_H

#include "numpy.h"

typedef enum {
#define FORM(name, meaning) STEP_##name,
#define FIELD(name, meaning)
#define ASKED FIELD
#include "step_values.def"
} StepForm;

typedef enum {
#define FORM(name, meaning)
#define FIELD(name, meaning) PART_##name,
#define ASKED FORM
#include "step_values.def"
} StepPart;

/* The call that is tried; objects are borrowed.  See step_values.def. */
typedef struct {
    PyObject *callable, *args, *kwargs;
    int n;
    const NodeId *holes;
    const SizeId *lengths; /* per hole: what length the int is, or NO_SIZE; NULL: none is */
    PyObject *changed;     /* tuple of the numbers of the holes that are changed */
    bool opaque, untyped, direct, fresh;
} Attempt;

/* A part of a StepValue; borrowed. */
static inline PyObject *
step_part(PyObject *value, StepPart part)
{
    return PyStructSequence_GetItem(value, part);
}
static inline StepForm
step_form(PyObject *value)
{
    return (StepForm)PyLong_AsLong(step_part(value, PART_form));
}

/* A template's Hole of that number, borrowed; NULL with the error set. */
PyObject *template_hole(Interp *in, int number);
/* *value: the StepValue that describes the result; *callable: the callable for the plan.  Both are
   kept. */
Answer trial_run(Interp *in, const Attempt *attempt, PyObject **value, PyObject **callable);
/* An array's type from dtype, shape and strides. */
Answer trial_array_type(Interp *in, PyObject *value, Type *out);
/* The type of the call's result in the plan. */
Answer trial_type(Interp *in, PyObject *value, Type *out);

/* ---- trial_sizes.c: results whose lengths follow from symbols ---- */
enum { TRIALS = 4, MOST_KNOWN = 24 };
typedef struct {
    SizeId size;
    int64_t at[TRIALS];
} KnownSize;
typedef struct {
    Graph *graph;
    int n; /* lengths of the arguments, and how many elements these have */
    KnownSize known[MOST_KNOWN];
    bool *varies; /* by size: a symbol that they are made of */
} Lengths;
void length_note(Lengths *t, SizeId size);
/* Trials vary the symbols that the size is made of. */
void length_varies(Lengths *t, SizeId size);
/* The graph's lengths are those of this trial; `kept` are those of the call, which trial 0 has.
   Symbols that `varies` has not (NULL: it has all) are as in the call. */
void lengths_set(Graph *g, const int64_t *kept, int nsizes, int trial, const bool *varies);
/* ANSWER_NO: it follows from nothing that is known here. */
Answer length_follows(Lengths *t, const int64_t *wanted, SizeId *out);

#endif
