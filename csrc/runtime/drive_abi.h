/* What the function that drives a loop of a plan's steps is given (lower/drive.c).  Repeated word
   for word at the top of a generated file with such a function: DRIVE_ABI_TEXT in codegen/drive.c.
 */
#ifndef PYCOMPILE_DRIVE_ABI_H
#define PYCOMPILE_DRIVE_ABI_H

#include "kernel_abi.h"

typedef struct KernelDrive {
    char *const *data;      /* by buffer */
    int64_t *size;          /* by size */
    const int64_t *grain;   /* by step: of more units of a kernel other threads take some */
    const KernelLoop *loop; /* block calls of all kernels, one after the other */
    char *scratch;          /* 64-byte aligned */
    unsigned raised, told;  /* flags so far, of known modes above; those that end the run */
    int64_t step;           /* that has failed, or raised one that ends the run */
    void (*clear)(void);
    unsigned (*read)(void); /* the flags since `clear` */
    /* A signal came in these turns?  The plan does a step.  Nonzero: end */
    int (*stop)(struct KernelDrive *drive);
    int (*plan)(struct KernelDrive *drive, int64_t step);
} KernelDrive;

#endif
