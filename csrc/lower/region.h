/* A kept loop of the program, with the loops and branches in it: what lowering hands to
   codegen/region.c besides the instructions of the kernel.

   The body is a tree of statements.  Instructions before `body` are executed once, before the
   loop; the others stand in the tree, each at one place and in the order of their numbers:
   INSTR_INDEX is the induction variable of the loop around it, INSTR_CARRIED reads a variable,
   INSTR_LOAD and INSTR_STORE at element level touch element `operand` of `elements`.  A variable
   holds what a loop carries from iteration to iteration, or what the arms of a branch give. */
#ifndef PYCOMPILE_REGION_H
#define PYCOMPILE_REGION_H

#include "kernel.h"

enum { ELEMENT_RANK = 4 }; /* arrays with more axes are not read by element */

typedef struct {
    int32_t operand; /* of the kernel: pointer to the first element */
    int32_t rank;
    int32_t length[ELEMENT_RANK], stride[ELEMENT_RANK]; /* indices into KernelArgs.size */
    bool logged; /* an input's memory, written in place: old elements are logged */
} RegionArray;

typedef struct {
    DType dtype;
    int32_t operand; /* where the last value goes, or -1 */
} RegionVariable;

typedef struct RegionFor RegionFor;
typedef struct RegionIf RegionIf;

/* One of the three; the others are NULL, `instr` then being -1. */
typedef struct {
    int32_t instr;
    RegionFor *loop;
    RegionIf *branch;
} RegionStmt;

typedef VEC(RegionStmt) RegionBlock;

typedef struct {
    int32_t variable;
    int32_t first, next; /* instructions: before the loop, and at the end of an iteration */
} RegionCarried;

struct RegionFor {
    int32_t number;
    int32_t start, stop, step, index; /* instructions */
    VEC(RegionCarried) carried;
    RegionBlock body;
};

typedef struct {
    int32_t variable;
    int32_t arm[2]; /* instructions: its value at the end of each arm */
} RegionMerged;

struct RegionIf {
    int32_t condition; /* instruction */
    VEC(RegionMerged) merged;
    RegionBlock arm[2];
};

typedef struct {
    int32_t instr, array;
    int32_t index[ELEMENT_RANK]; /* instructions */
    bool
        affine; /* each index is first + t * step in the loop around it: checked before that loop */
    int32_t follows; /* a load: reads what the store `follows` (index into elements) wrote one
                        iteration before; -1: none */
} RegionElement;

struct RegionLoop {
    int32_t body;
    int32_t nloops;
    RegionFor *top;
    VEC(RegionArray) arrays;
    VEC(RegionVariable) variables;
    VEC(RegionElement) elements;
};

typedef struct RegionLoop RegionLoop;

#endif
