/* Loop nest to source text. */
#ifndef PYCOMPILE_CODEGEN_H
#define PYCOMPILE_CODEGEN_H

#include "../lower/lower.h"

/* One C file for all kernels of the program; symbols are k0, k1, …  The text depends on the loop
   nests alone: no sizes that are arguments, no addresses, no names of the user's, so that programs
   that differ in those share a cache entry.  With `comments`, each loop names the user's lines
   (for PYCOMPILE_LOGS=output_code; not what is compiled).  -1 with the error set. */
int codegen_c(const Graph *graph, const Program *program, bool comments, Text *out);

/* The same for vectors of a given size; codegen_c takes the machine's. */
int codegen_c_for(const Graph *graph, const Program *program, bool comments, int vector_bytes,
                  Text *out);

/* ---- module_codegen.c: adds what Python sees of this folder; 0 or -1 ---- */
int codegen_module(PyObject *module);

#endif
