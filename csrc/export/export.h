/* A program as C that needs no Python: tables of what a call of an exported function checks,
   evaluates and does (pycompile/exported/library.h), beside its kernels.  What has no C is a reason
   why it cannot be exported. */
#ifndef PYCOMPILE_EXPORT_H
#define PYCOMPILE_EXPORT_H

#include "../codegen/codegen.h"

/* What is exported. */
struct Decoded;
typedef struct ExportWanted {
    const char *name, *told;  /* what names in C begin with; the function's, in messages */
    PyObject *names, *values; /* tuples by slot: of what the library's caller passes the name, else
                                 None; what the function's arguments were while capturing */
    const struct Decoded *decoded;
    int vector_bytes;    /* of the vectors in the text; 0: this machine's */
    const char *refused; /* why it was not lowered, or NULL */
    PyObject *made;      /* what export_program gives; NULL: it did not come to it */
} ExportWanted;

/* A new dict for pycompile/_export.py: "reasons", "loops", "written" (by argument), "value" and
   "tables", and where there are no reasons "abi", "kernels" and "careful" (C texts).  `reached`: by
   source, what it is now.  NULL with the error set. */
struct Capture;
PyObject *export_program(const ExportWanted *wanted, const struct Capture *capture,
                         Program *program, PyObject *const *reached);

#endif
