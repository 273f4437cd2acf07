/* Loop nest to source text. */
#ifndef PYCOMPILE_CODEGEN_H
#define PYCOMPILE_CODEGEN_H

#include "../lower/lower.h"

/* One C file for all kernels of the program; symbols are k0, k1, …  The text depends only on the
   loop nests: it contains no sizes that are arguments, no addresses and no names of the user's, so
   that programs that differ in those share a cache entry.  With `comments` it names the user's
   lines (for PYCOMPILE_LOGS=output_code; the text without is compiled).  -1 with the error set. */
int codegen_c(const Graph *graph, const Program *program, bool comments, Text *out);

/* The same for vectors of a given size; codegen_c takes the machine's. */
int codegen_c_for(const Graph *graph, const Program *program, bool comments, int vector_bytes,
                  Text *out);

/* All loops are over vectors that lie side by side, and keep nothing from one turn to the next: a
   compiler finds nothing in them that is worth its time. */
bool codegen_is_straight(const Graph *graph, const Program *program);

/* ---- module_codegen.c: adds this folder's functions to the module; 0 or -1 ---- */
int codegen_module(PyObject *module);

#endif
