/* Private to section*.c: sections of arrays in a kept loop's body. */
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
/* The int, an expression of constants and another int: *base + *offset; *base is NO_NODE for a
   constant. */
bool section_offset(Interp *in, const Value *value, NodeId *base, int64_t *offset);
/* ANSWER_YES: the value in terms of V_SECTION and V_EXPRESSION, if it has an axis; *out is NULL of
   numbers.  It breaks for other values. */
Answer section_operand(Interp *in, Value *value, Value **out);
/* The length of a V_SECTION or V_EXPRESSION. */
Value *section_length(const Value *value);
/* Tests that both are as long. */
Answer section_agrees(Interp *in, Value *a, Value *b);
bool section_arithmetic(int operator_); /* + - * / */
/* The part of the array of `n` axes that the keys give; the one on `axis` is a slice. */
/* The index as an int that is checked; a negative constant is counted from the end. */
Answer section_index(Interp *in, Value *array, int axis, Value *index, Value **out);
Answer section_new(Interp *in, Value *array, int n, Value *const *keys, int axis, Value **out);
/* A part as it is now, whatever is written later; operations stay as they are. */
Answer section_read_now(Interp *in, Value *part, Value **out);
/* It is computed here. */
Answer section_consume(Interp *in, Value *value);
Answer section_fails(Interp *in, const char *why);

/* An operation that is computed where it is used.  SECTION_GATHER takes elements of the array
   items[1], as it is now, at the ints of items[0]. */
enum { SECTION_GATHER = -2 };
Answer section_expression(Interp *in, int operator_, int n, Value *const *operands, Value **out);

enum { SECTION_READS = 16 };

/* What a loop over the elements of `origin` reads in each iteration. */
typedef struct {
    const Value *origin;
    int nread;
    const Value *read[SECTION_READS];
    Value *apart[SECTION_READS]; /* how far ahead of the origin's elements theirs are; NULL: not */
    bool turned[SECTION_READS];  /* they go the other way: of the sum of both indices */
    Value *position;             /* in the loop's body: the index on the origin's axis */
} SectionReads;

/* Adds the sections that the value is made of. */
Answer section_reads(Interp *in, SectionReads *reads, const Value *value);
/* The key of the element at that position on the section's axis. */
Answer section_key(Interp *in, const Value *section, Value *position, Value **out);
/* The operator on elements; the right one is NULL for minus. */
Answer section_computed(Interp *in, int operator_, Value *left, Value *right, Value **out);
/* The value's element in the iteration. */
Answer section_element(Interp *in, const SectionReads *reads, Value *value, Value **out);
/* The loop's region and its variable, made the current region; `*outer` was it before. */
Answer section_region(Interp *in, SectionReads *reads, NodeId node, RegionId *outer);

/* section_select.c: what a row of ints selects */
/* The one at the index. */
Answer gathered_element(Interp *in, const Value *value, Value *index, Value **out);
/* Does the value gather elements of the array? */
bool section_gathers(const Value *value, const Value *array);

/* section_store.c: target[...] = value, or target op= value where operator_ is not -1. */
Answer section_store(Interp *in, Value *target, int operator_, Value *value);

#endif
