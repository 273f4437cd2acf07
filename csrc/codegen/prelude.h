/* Inside codegen/: the helper functions that expressions of ops.def call. */
#ifndef PYCOMPILE_PRELUDE_H
#define PYCOMPILE_PRELUDE_H

#include "../graph/graph.h"

/* A helper whose text is so long that copies of it count.  There is another of the same name after
   "called_", which calls a function of the extension module. */
typedef struct {
    char name[40];
    size_t bytes; /* of its text */
    bool single;  /* of one element */
} LongHelper;

enum { MAX_BODIES = 16 };

/* The head of a generated file, to which types and helpers are added once, when first used. */
typedef struct {
    Text *head;
    Text done;      /* names of those that are printed, each followed by a NUL … */
    uint32_t *slot; /* … and a hash table of their positions in it, + 1 */
    uint32_t slots, used;
    uint32_t types[DT_COUNT]; /* the numbers of lanes for which a type is printed, or-ed */
    int vector_bytes;
    bool own, fast;    /* elementary functions: NumPy's own, else the vector math library's */
    bool lane_by_lane; /* a helper is a loop over lanes, or what gcc turns into one */
    LongHelper body[MAX_BODIES];
    int bodies;
    char missing[64]; /* the first helper that was asked for and does not exist, or "" */
} Prelude;

void prelude_begin(Prelude *p);
void prelude_end(Prelude *p); /* frees all but `head` */
/* True the first time that it is called with this `key`: the text of that name is to be printed. */
bool prelude_first(Prelude *p, const char *key);
/* Notes that there is no text for `name` on `lanes` elements of `dtype`: generation fails at the
   end. */
void prelude_miss(Prelude *p, const char *name, DType dtype, int lanes);
/* Prints the name of a helper for these lanes, "add_f32x16", and defines it at first use. */
void prelude_use(Prelude *p, const char *name, DType dtype, int lanes, Text *out);
/* The text, in a and b, of a helper for vector booleans, which are masks of any width; or NULL. */
const char *prelude_mask_text(const char *name);
/* casts.c: conversion helper, "cast_f64_i32x8"; `lanes` > 1: vectors of equal length. */
void prelude_cast(Prelude *p, DType from, DType to, int lanes, Text *out);
void prelude_splat(Prelude *p, DType dtype, int lanes, Text *out);
/* Prints "f32x16", or its form for memory, "f32x16m" (any alignment, may alias); defined at first
   use. */
void prelude_type(Prelude *p, DType dtype, int lanes, Text *out);
void prelude_define_type(Prelude *p, DType dtype, int lanes);
void prelude_memory(Prelude *p, DType dtype, int lanes, Text *out);
/* -1 as a variable: a compiler would turn x * -1.0 and x / -1.0 into -x, which has another sign
   when x is NaN. */
const char *prelude_minus_one(Prelude *p, DType dtype);
/* Strided access: gather_f32x16(p, stride), scatter_f32x16(p, stride, v). */
void prelude_gather(Prelude *p, DType dtype, int lanes, Text *out);
/* All lanes of a vector combined by a helper of two arguments, whose order must not matter:
   "fold_add_i32x16"(v).  Vectors of masks: by "and" or "or". */
void prelude_fold(Prelude *p, const char *name, DType dtype, int lanes, Text *out);
/* A store of one vector of the machine's width that bypasses the caches. */
void prelude_stream(Prelude *p, DType dtype, int lanes, Text *out);
/* "upper_half" or "lower_half" of a vector of 64 bytes of floats, on x86-64. */
void prelude_half(Prelude *p, int upper, Text *out);
/* Defines forget_invalid(), which clears the floating-point flag "invalid". */
void prelude_forget_invalid(Prelude *p);
void prelude_scatter(Prelude *p, DType dtype, int lanes, Text *out);
/* Defines SHUFFLE(a, b, …), the lanes of a and b of these numbers; gcc takes them as a vector of I.
 */
void prelude_shuffle(Prelude *p);
/* "INLINE f32x16 NAME_f32x16(f32x16 a, f32x16 b)", the head of a helper's definition. */
void prelude_signature(Prelude *p, Text *out, const char *name, int arity, bool compares,
                       DType dtype, int lanes);
/* Defines a helper that does lane by lane what that for one lane does. */
void prelude_lanewise(Prelude *p, const char *name, int arity, DType dtype, int lanes);

/* ---- functions.c ---- */

/* Defines the helper of an elementary function of ops.def, by the C function's name; false: it is
   none, or has no text. */
bool prelude_function(Prelude *p, const char *name, DType dtype, int lanes);

/* ---- machine.c ---- */

/* The text of a helper for floats in terms of the machine's instructions; false: there is none for
   this width. */
bool machine_helper(const Prelude *p, const char *name, DType dtype, int lanes, Text *out);
/* As machine_helper, of integers, for gcc alone. */
bool machine_integer(const Prelude *p, const char *name, DType dtype, int lanes, Text *out);
/* Whether the machine converts floats to u32 and u64. */
bool machine_casts_unsigned(void);
/* The instruction that converts a whole vector of the machine's, into `out`; false: none is known.
   GCC finds these by optimisation alone, and those of different halves not even then. */
bool machine_cast(const Prelude *p, DType from, DType to, int lanes, char out[16]);
/* Whether it has none for a whole register of integers, but moves bytes within one. */
bool machine_narrows_by_shuffle(const Prelude *p, DType from, DType to, int lanes);

/* The integer type of a comparison's lanes: -1 is true. */
DType mask_dtype(int bytes);

#endif
