/* The monotonic clock, and the time in which a thread ran. */
#ifndef PYCOMPILE_CLOCK_H
#define PYCOMPILE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t
clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t
clock_ns(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

/* Of this thread: without what other threads and processes had the processor for. */
static inline int64_t
clock_ran_ns(void)
{
    return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

static inline double
clock_seconds(void)
{
    return 1e-9 * (double)clock_ns();
}

#endif
