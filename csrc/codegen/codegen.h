/* Loop nest to source text. */
#ifndef PYCOMPILE_CODEGEN_H
#define PYCOMPILE_CODEGEN_H

#include "../lower/lower.h"

/* One C file for all kernels of the program; symbols are k0, k1, …  The text depends only on the
   loop nests: it contains no sizes that are arguments, no addresses and no names of the user's, so
   that programs that differ in those share a cache entry.  With `comments` it names the user's
   lines (for PYCOMPILE_LOGS=output_code; the text without is compiled).  `straight`, which may be
   NULL: an optimising compiler finds nothing in it that is worth its time.  -1 with the error set.
 */
int codegen_c(const Graph *graph, const Program *program, bool comments, Text *out, bool *straight);

/* Begins each kernel of a file that several compilers may divide among themselves: with
   -DPARTS=n -DPART=i, n no more than MAX_PARTS, the file has the kernels of the i-th of n parts
   alone, and the n objects make one library, in which variables that the runtime sets are weak
   symbols. */
#define PART_MARK "\n#if HERE("
enum { MAX_PARTS = 8 };

/* As codegen_c, for vectors of a given size; codegen_c takes the machine's, and so does 0. */
int codegen_c_for(const Graph *graph, const Program *program, bool comments, int vector_bytes,
                  Text *out, bool *straight);

/* CUDA for all kernels of that device: k0, k1, … by their numbers in the program, and kN_done for
   those in parts.  Arguments are the step's places, then its integers, 8 bytes each: a pointer to
   the device's memory, or the bytes of a number of the host's.  *straight, if given, is false. */
int codegen_cuda(const Graph *graph, const Program *program, bool comments, Text *out,
                 bool *straight);

bool codegen_has_region(const Program *program);
/* Do the flags of all kernels mean the same?  Then whoever drives a `quiet` program may look for
   them behind its last step, with `told` = 0. */
bool codegen_looks_once(const Program *program);
/* The careful variants of kept loops (region.c), under the same symbols. */
int codegen_careful(const Graph *graph, const Program *program, int vector_bytes, Text *out);
/* The types of what such files call and are called with, for C that calls them. */
void codegen_abi(Text *out);

/* ---- functions.c: elementary functions for libraries without Python ---- */
/* C that defines such a file's pointer `of_pycompile_…`; false: there is none of this name. */
bool codegen_function_text(const char *pointer, Text *out);
/* The pointer to the vector function that has the bits of a ufunc's loop, by C's name, and the
   bytes of its vectors; false: none is known. */
bool codegen_function_pointer(const char *name, DType dtype, char out[40], int *bytes);

/* ---- module_codegen.c: adds this folder's functions to the module; 0 or -1 ---- */
int codegen_module(PyObject *module);

#endif
