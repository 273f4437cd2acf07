/* The old elements that a kept loop has overwritten: plan_region_log.c. */
#ifndef PYCOMPILE_PLAN_REGION_LOG_H
#define PYCOMPILE_PLAN_REGION_LOG_H

#include "log_abi.h"
#include "plan.h"

/* The items that the loop has appended to a list. */
typedef struct {
    char *words;
    int64_t room; /* words */
} LogList;

struct RegionLog {
    KernelLog seen; /* by the kernel; first, so that its callbacks find the rest */
    RegionLog *next;
    int64_t room, used; /* entries; `used` of them when the arrays were copied */
    char *copies;
    int64_t bytes; /* of `copies` */
    int64_t all;   /* bytes of the arrays */
    bool copied, appended;
    LogArray array[LOG_ARRAYS];
    bool even[LOG_ARRAYS]; /* all elements are the same: the copy is one of them */
    LogList list[LOG_LISTS];
    PyThreadState *thread;
    bool released, interrupted;
    bool sent; /* behind a collective: a signal waits */
};

/* An empty log; NULL with the error set. */
RegionLog *region_log_take(Plan *plan);
/* Done with it: kept for the plan's next run, or freed. */
void region_log_give(Plan *plan, RegionLog *log);
/* Before a variant of the loop runs. */
void region_log_empty(RegionLog *log);
/* Is there nothing to put back, and nothing that later steps need? */
bool region_log_is_empty(const RegionLog *log);
/* Copies up to LOG_ARRAYS arrays that are written behind it; -1: no memory. */
int region_log_save(RegionLog *log, int count, const LogArray *arrays);
/* Puts the old elements back. */
void region_log_undo(const RegionLog *log);

#endif
