/* What the kernel of a kept loop is given to log what it overwrites.  Repeated word for word at the
   top of a generated file with such a kernel: LOG_ABI_TEXT in codegen/region_log.c. */
#ifndef PYCOMPILE_LOG_ABI_H
#define PYCOMPILE_LOG_ABI_H

#include <stdint.h>

/* An array whose old elements are logged. */
typedef struct {
    char *data;
    int64_t bytes, rank; /* of an element; axes */
    int64_t length[4], stride[4];
} LogArray;

/* An element as it was: its address, with its bytes, at most 8, in the upper eight bits.  What
   `range` has logged lies between entries in its own form. */
typedef struct {
    uint64_t place, old;
} LogEntry;

/* Entries are appended at `at` while `logs` is not 0: until the arrays are copied as a whole. */
typedef struct KernelLog {
    LogEntry *at, *end;
    LogEntry *from; /* the first entry: it moves as the log grows */
    int64_t logs;
    const LogArray *array;
    int64_t narrays;
    int64_t iterations, entries;        /* an estimate, made before the loop */
    int64_t alongs;                     /* its stores that are logged by `along`, beside these */
    int (*more)(struct KernelLog *log); /* before the loop, and when at == end; nonzero: fail */
    int (*stop)(struct KernelLog *log); /* nonzero: a signal came */
    int (*range)(struct KernelLog *log, char *first, int64_t step, int64_t count,
                 int64_t bytes); /* logs elements; nonzero: fail */
    /* Room for elements that the loop logs itself, one before each store: the number of the
       first entry for them.  Behind them is the entry in whose place the loop counts them.
       -1: not to be logged; -2: fail */
    int64_t (*along)(struct KernelLog *log, char *first, int64_t step, int64_t count,
                     int64_t bytes);
    char *(*grow)(struct KernelLog *log, int64_t list, int64_t words,
                  int64_t *room); /* more for a list's items; NULL: fail */
} KernelLog;

#endif
