/* Private to loop_section.c and loop_section_store.c: sections of arrays in a kept loop's body. */
#ifndef PYCOMPILE_CAPTURE_SECTION_H
#define PYCOMPILE_CAPTURE_SECTION_H

#include "control.h"

/* Where the parts of a V_SECTION of an array of `rank` axes are among its items, behind the indices
   of the other axes.  At its own axis is the start as the program has it. */
enum { SECTION_START, SECTION_STOP, SECTION_STEP, SECTION_LENGTH, SECTION_PARTS };

static inline Value *
section_part(const Value *section, int part)
{
    return section->items[section->nitems - SECTION_PARTS + part];
}

static inline int
section_rank(const Value *section)
{
    return section->nitems - SECTION_PARTS;
}

static inline int
section_axis(const Value *section)
{
    return (int)section->position;
}

/* Are the two ints the same whenever the code runs? */
bool section_same_int(Interp *in, const Value *a, const Value *b);
/* The int, an expression of constants and another int: *base + offset; *base is NULL for a
 * constant.
 */
bool section_offset(Interp *in, const Value *value, NodeId *base, int64_t *offset);
/* ANSWER_YES: the value in terms of V_SECTION and V_EXPRESSION, if it has an axis; *out is NULL of
   numbers.  It breaks for other values. */
Answer section_operand(Interp *in, Value *value, Value **out);
/* The length of a V_SECTION or V_EXPRESSION. */
Value *section_length(const Value *value);
Answer section_test(Interp *in, Op op, Value *left, Value *right);
/* It is to have the target's length. */
Answer section_agrees(Interp *in, Value *target, Value *value);
/* It is computed here. */
Answer section_consume(Interp *in, Value *value);
Answer section_fails(Interp *in, const char *why);

/* section_store.c: target[...] = value, or target op= value where operator_ is not -1. */
Answer section_store(Interp *in, Value *target, int operator_, Value *value);

#endif
