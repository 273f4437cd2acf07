/* Inside capture/: Python's scalars that stay symbolic, and numbers that come out of arrays. */
#ifndef PYCOMPILE_CAPTURE_NUMBERS_H
#define PYCOMPILE_CAPTURE_NUMBERS_H

#include "../numpy/numpy.h"

/* ---- scalars.c: operators, Python's own scalars ---- */
/* A Python scalar computed by `op` of the operands; `seen` is its value now, or NULL (stolen). */
Value *scalar_emit(Interp *in, Op op, DType dtype, int nargs, Value *const *operands,
                   PyObject *seen);
/* float(v), int(v), bool(v) of a scalar that stays symbolic. */
Answer scalar_convert(Interp *in, Value *value, DType dtype, Value **out);
/* What a symbolic scalar is while capturing; borrowed, or NULL. */
PyObject *scalar_seen(const Value *value);
DType scalar_dtype(Interp *in, Value *value);
/* ANSWER_NO: not kept symbolic. */
Answer scalar_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer scalar_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);

/* ---- scalar_calls.c: numbers out of arrays; each ANSWER_NO: not of that kind ---- */
Answer scalar_call(Interp *in, PyObject *callable, const char *module, const char *name, int nargs,
                   Value *const *args, Value **out);
Answer scalar_type_call(Interp *in, PyTypeObject *type, int nargs, Value *const *args, Value **out);
Answer scalar_operator(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer scalar_comparison(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer scalar_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer scalar_method(Interp *in, Value *self, const char *name, int nargs, Value **out);
Answer scalar_attribute(Interp *in, Value *self, const char *name, Value **out);

/* ---- collective.c: over numbers that come out of arrays; ANSWER_NO: others ---- */
Answer collective_sum(Interp *in, Value *items, Value *start, Value **out);
Answer collective_math(Interp *in, const char *name, Value *sequence, Value **out);
Answer collective_extreme(Interp *in, const char *name, Value *items, Value **out);
Answer collective_sorted(Interp *in, Value *items, bool backwards, Value **out);
Answer collective_of_array(Interp *in, const char *name, Value *array, Value **out);

/* ---- loose.c: objects of plain classes that only the run tells; each ANSWER_NO where it is not
 * concerned ---- */
bool value_is_loose(Interp *in, const Value *value);
/* Operands of an operator: a number of a class that is not known as a float, where that is all the
   same to the other one. */
Answer loose_operands(Interp *in, Value **left, Value **right);
/* A member of an enum of ints, beside an array, as its int; other values as they are.  Comparisons
   are numbered from IN_PLACE on. */
Answer loose_member(Interp *in, int operator_, Value *other, Value **value);
/* pair[test] */
Answer loose_choice(Interp *in, Value *pair, Value *test, Value **out);
Answer loose_extreme(Interp *in, const char *name, Value *items, Value **out);
Answer loose_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* The same where the result's length is not known. */
Answer loose_collect(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
Answer loose_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);
/* table[key], or table.get(key, otherwise), of constants with a key out of an array. */
Answer loose_lookup(Interp *in, Value *table, Value *key, Value *otherwise, Value **out);
Answer loose_contains(Interp *in, Value *key, Value *table, Value **out);
/* set(items), Counter(items), dict(pairs) … of numbers out of arrays. */
Answer loose_gather(Interp *in, PyObject *type, int nargs, Value *const *args, Value **out);

#endif
