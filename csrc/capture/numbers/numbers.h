/* Inside capture/: Python's scalars that stay symbolic, and numbers that come out of arrays. */
#ifndef PYCOMPILE_CAPTURE_NUMBERS_H
#define PYCOMPILE_CAPTURE_NUMBERS_H

#include "../numpy/numpy.h"

/* The op that makes a Python number of this class: bool, int or float. */
static inline Op
python_conversion(DType dtype)
{
    return dtype == DT_BOOL ? OP_py_bool : dtype == DT_F64 ? OP_py_float : OP_py_int;
}

/* ---- scalars.c: operators, Python's own scalars ---- */
/* A Python scalar computed by `op` from the operands; `seen` (stolen) is its value while capturing,
   or NULL. */
Value *scalar_emit(Interp *in, Op op, DType dtype, int nargs, Value *const *operands,
                   PyObject *seen);
/* In a kept loop: leaves it where the comparison of two numbers does not hold. */
Answer scalar_assert(Interp *in, Op op, Value *left, Value *right);
/* The scalar as the given dtype, `exact`: of the same number; ANSWER_NO where Python would not
   convert it so. */
Answer scalar_as(Interp *in, Value *value, DType dtype, bool exact, Value **out);
/* float(v), int(v), bool(v) of a scalar that stays symbolic. */
Answer scalar_convert(Interp *in, Value *value, DType dtype, Value **out);
/* The value of a symbolic scalar while capturing; borrowed, or NULL. */
PyObject *scalar_seen(const Value *value);
DType scalar_dtype(Interp *in, Value *value);
/* ANSWER_NO: not kept symbolic. */
Answer scalar_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer scalar_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);

/* ---- scalar_calls.c: numbers out of arrays, by a step that calls Python's own function where
   there is no op; each ANSWER_NO: not of that kind ---- */
Answer scalar_call(Interp *in, PyObject *callable, const char *module, const char *name, int nargs,
                   Value *const *args, Value **out);
Answer scalar_type_call(Interp *in, PyTypeObject *type, int nargs, Value *const *args, Value **out);
Answer scalar_operator_step(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer scalar_compare_step(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer scalar_unary_step(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer scalar_method(Interp *in, Value *self, const char *name, int nargs, Value **out);
Answer scalar_attribute(Interp *in, Value *self, const char *name, Value **out);

/* ---- complexes.c: complex numbers in the body of a kept loop; each ANSWER_NO: others ---- */
Answer complex_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer complex_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer complex_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer complex_absolute(Interp *in, Value *value, Value **out);
Answer complex_conjugate(Interp *in, Value *value, Value **out);
Answer complex_attribute(Interp *in, Value *self, const char *name, Value **out);
/* complex(...) */
Answer complex_new(Interp *in, int nargs, Value *const *args, Value **out);
/* The number as a complex one; a real one of NumPy's or Python's is converted. */
Answer complex_node(Interp *in, Value *value, NodeId *out);

/* ---- numbers.c: sums and the like over numbers that come out of arrays; ANSWER_NO: others ---- */
Answer numbers_sum(Interp *in, Value *items, Value *start, Value **out);
Answer numbers_math(Interp *in, const char *name, Value *sequence, Value **out);
Answer numbers_extreme(Interp *in, const char *name, Value *items, Value **out);
Answer numbers_sorted(Interp *in, Value *items, bool backwards, Value **out);
Answer numbers_of_array(Interp *in, const char *name, Value *array, Value **out);

/* ---- loose.c: objects of plain classes known only when the plan runs; each ANSWER_NO for others
   ---- */
bool value_is_loose(Interp *in, const Value *value);
/* The operands of an operator; a number of unknown class becomes a float where the operation does
   not depend on its class. */
Answer loose_operands(Interp *in, Value **left, Value **right);
Answer loose_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
/* Of one of two floats that is stored in an array, whose class is no matter there, the number. */
Answer loose_stored(Interp *in, const Value *array, Value **value);
/* A member of an enum of ints, next to an array, becomes its int; other values are unchanged.
   Comparisons are numbered from IN_PLACE on. */
Answer loose_member(Interp *in, int operator_, Value *other, Value **value);
/* pair[test].  For messages: the variable's name in quotes, or NULL, and the line of the branch. */
Answer loose_choice(Interp *in, Value *pair, Value *test, const char *name, int line, Value **out);
Answer loose_extreme(Interp *in, const char *name, Value *items, Value *test, Value **out);
Answer loose_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* As loose_call, for a result of unknown length. */
Answer loose_collect(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
Answer loose_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);
/* table[key], or table.get(key, otherwise), of a table of constants with a key out of an array. */
Answer loose_lookup(Interp *in, Value *table, Value *key, Value *otherwise, Value **out);
Answer loose_contains(Interp *in, Value *key, Value *table, Value **out);
/* set(items), Counter(items), dict(pairs) … of numbers out of arrays. */
Answer loose_gather(Interp *in, PyObject *type, int nargs, Value *const *args, Value **out);

#endif
