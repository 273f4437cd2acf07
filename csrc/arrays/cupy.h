/* Inside arrays/: what cupy.c and cupy_blocks.c know of CuPy's objects. */
#ifndef PYCOMPILE_ARRAYS_CUPY_H
#define PYCOMPILE_ARRAYS_CUPY_H

#include "library.h"

typedef struct { /* MemoryPointer */
    PyObject_HEAD void *methods;
    intptr_t data;
    int device;
    PyObject *memory;
} CupyPointer;

/* A C function of this signature that a Cython module offers to others; NULL without an error. */
void *cupy_offered(const char *module, const char *name, const char *signature);
/* The module's type of this name, for ever; NULL without an error. */
PyTypeObject *cupy_type_named(const char *module, const char *name);

/* ---- cupy_blocks.c ---- */
/* Called once, with the type of memory pointers.  False: memory cannot be had from CuPy. */
bool cupy_blocks_find(PyTypeObject *pointer);
/* A new MemoryPointer to so many bytes of the current device; NULL with the error set. */
PyObject *cupy_blocks_take(size_t bytes);

#endif
