/* A kept loop of the program: what lowering hands to codegen/region.c besides the instructions of
   the kernel.

   Instructions before `body` are executed once, the others once per iteration, in order:
   INSTR_INDEX is the induction variable, INSTR_CARRIED a carried scalar, INSTR_LOAD and INSTR_STORE
   at element level touch element `operand` of `elements`.

   The kernel is called in phases, by its argument `begin`:
     REGION_PREPARE  checks what can be checked before the loop; leaves the bytes that the log needs
                     and the iterations in scratch[0] and scratch[1]
     REGION_RUN      runs; scratch is the log.  Nonzero: it has undone its own writes
     REGION_UNDO     puts back what REGION_RUN wrote into logged arrays, from the log */
#ifndef PYCOMPILE_REGION_H
#define PYCOMPILE_REGION_H

#include "kernel.h"

typedef struct {
    int32_t operand;        /* of the kernel: pointer to the first element */
    int32_t length, stride; /* indices into KernelArgs.size */
    bool logged;            /* an input's memory, written in place: old elements are logged */
} RegionArray;

typedef struct {
    int32_t start, param, result; /* instructions */
    int32_t operand;              /* where the last value goes, or -1 */
} RegionCarried;

typedef struct {
    int32_t instr, array;
    int32_t index;   /* instruction */
    bool affine;     /* index = first + t * step: checked before the loop */
    int32_t follows; /* a load: reads what the store `follows` (index into elements) wrote one
                        iteration before; -1: none */
} RegionElement;

struct RegionLoop {
    int32_t start, stop, step; /* instructions */
    int32_t body;
    VEC(RegionArray) arrays;
    VEC(RegionCarried) carried;
    VEC(RegionElement) elements;
};

typedef struct RegionLoop RegionLoop;

#endif
