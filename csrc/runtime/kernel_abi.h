/* What a generated kernel sees.  Repeated word for word at the top of every generated file (which
   includes no header): codegen/file.c prints it from KERNEL_ABI_TEXT, and
   tests/codegen/test_kernel_abi.py compares the two. */
#ifndef PYCOMPILE_KERNEL_ABI_H
#define PYCOMPILE_KERNEL_ABI_H

#include <stdint.h>

typedef struct {
    int (*call)(void *context, char *const *data, const int64_t *dimensions, const int64_t *strides,
                void *auxdata);
    void *context, *auxdata;
} KernelLoop;

typedef struct {
    char *const *ptr;       /* pointer arguments, offsets applied */
    const int64_t *size;    /* integer arguments */
    const KernelLoop *loop; /* block calls */
    char *scratch;          /* this thread's, 64-byte aligned */
} KernelArgs;

/* Does units [begin, end).  0, or nonzero: deopt. */
typedef int (*KernelFn)(const KernelArgs *args, int64_t begin, int64_t end);

#endif
