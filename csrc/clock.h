/* The monotonic clock, and the time in which a thread ran. */
#ifndef PYCOMPILE_CLOCK_H
#define PYCOMPILE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t
clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of this thread: without what other threads and processes had the processor for. */
static inline int64_t
clock_ran_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline double
clock_seconds(void)
{
    return 1e-9 * (double)clock_ns();
}

#endif
