/* Inside codegen/: the helper functions that op-table expressions name. */
#ifndef PYCOMPILE_PRELUDE_H
#define PYCOMPILE_PRELUDE_H

#include "../graph/graph.h"

/* Prints a call of helper `name` for `dtype` and `lanes` into the expression, and the helper's own
   text, once, into the file's head. */
typedef struct {
    Text *head;
    Text done;      /* names of those that are printed, a NUL behind each … */
    uint32_t *slot; /* … and a hash table of where they stand in it, + 1 */
    uint32_t slots, used;
    uint32_t types[DT_COUNT]; /* the lanes for which a type is printed: a bit each */
    int vector_bytes;
    char missing[64]; /* the first helper asked for that the table does not have, or "" */
} Prelude;

void prelude_begin(Prelude *p);
void prelude_end(Prelude *p); /* frees all but `head` */
/* True the first time that `key`, the name of a text in the head, is asked for. */
bool prelude_first(Prelude *p, const char *key);
/* Generation fails in the end: there is no text for `name` on `lanes` elements of `dtype`. */
void prelude_miss(Prelude *p, const char *name, DType dtype, int lanes);
/* The name of a helper for these lanes, defined from now on: "add_f32x16". */
void prelude_use(Prelude *p, const char *name, DType dtype, int lanes, Text *out);
/* A helper for vector booleans, which are masks of whatever width: its text in a and b; or NULL. */
const char *prelude_mask_text(const char *name);
/* Conversion helper, "cast_f64_i32x8"; `lanes` > 1: vectors of equal length. */
void prelude_cast(Prelude *p, DType from, DType to, int lanes, Text *out);
void prelude_splat(Prelude *p, DType dtype, int lanes, Text *out);
/* "f32x16", defined from now on; and its form for memory, "f32x16m" (any alignment, any alias). */
void prelude_type(Prelude *p, DType dtype, int lanes, Text *out);
void prelude_memory(Prelude *p, DType dtype, int lanes, Text *out);
/* -1 as a variable: a compiler turns x * -1.0 and x / -1.0 into -x, which has another sign when x
   is NaN. */
const char *prelude_minus_one(Prelude *p, DType dtype);
/* Strided access: gather_f32x16(p, stride), scatter_f32x16(p, stride, v). */
void prelude_gather(Prelude *p, DType dtype, int lanes, Text *out);
/* A store of one vector of the machine's width that bypasses the caches. */
void prelude_stream(Prelude *p, DType dtype, int lanes, Text *out);
/* forget_invalid(): the floating-point flag "invalid" is as if not raised. */
void prelude_forget_invalid(Prelude *p);
void prelude_scatter(Prelude *p, DType dtype, int lanes, Text *out);
/* The integer type of a comparison's lanes: -1 is true. */
DType mask_dtype(int bytes);

#endif
