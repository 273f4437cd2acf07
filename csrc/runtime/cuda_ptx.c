/* What an assembler gets wrong in PTX.  NVRTC's before CUDA 13.4 makes one instruction of the
   larger (smaller) of three integers of 32 or 16 bits, which sm_90 and newer have, and forgets the
   minus of an operand: max(max(a, -b), c) becomes max(a, b, c).  It does not when it does not
   optimise. */
#include "cuda.h"

#include <ctype.h>

/* Between `at` and `end` the register is named. */
static bool
is_named(const char *at, const char *end, const char *name, size_t length)
{
    for (; at + length <= end; at++)
        if (memcmp(at, name, length) == 0 && !isdigit((unsigned char)at[length])) return true;
    return false;
}

static bool
begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool
is_extreme(const char *instruction)
{
    return (begins(instruction, "max.s") || begins(instruction, "min.s")) &&
           !begins(instruction + 5, "64");
}

/* What a register holds: its value, or part of it, as another's. */
static bool
is_moved(const char *instruction)
{
    return begins(instruction, "mov") || begins(instruction, "cvt") || begins(instruction, "selp");
}

/* Whether the register's value is an operand of a maximum, by up to `moves` others. */
static bool
is_compared(const char *text, const char *end, const char *name, size_t length, int moves)
{
    for (const char *line = text, *next; line < end; line = next) {
        next = line + strcspn(line, "\n");
        next = next < end ? next + 1 : end;
        const char *instruction = line + strspn(line, " \t");
        const char *made = memchr(line, '%', (size_t)(next - line));
        const char *given = made != NULL ? memchr(made, ',', (size_t)(next - made)) : NULL;
        if (given == NULL || !is_named(given, next, name, length)) continue;
        if (is_extreme(instruction)) return true;
        if (moves > 0 && is_moved(instruction) &&
            is_compared(text, end, made, (size_t)(given - made), moves - 1))
            return true;
    }
    return false;
}

/* Registers are those of a function. */
static bool
may_go_in(const char *text, const char *end)
{
    enum { MOVES = 4 };
    for (const char *at = strstr(text, "neg.s"); at != NULL && at < end; at = strstr(at, "neg.s")) {
        const char *made = strchr(at, '%'), *given = made != NULL ? strchr(made, ',') : NULL;
        if (given == NULL) return false;
        if (is_compared(text, end, made, (size_t)(given - made), MOVES)) return true;
        at = given;
    }
    return false;
}

bool
cuda_minus_may_go(const char *ptx)
{
    static const char FUNCTION[] = ".entry ";
    for (const char *at = strstr(ptx, FUNCTION), *next; at != NULL; at = next) {
        next = strstr(at + 1, FUNCTION);
        if (may_go_in(at, next != NULL ? next : at + strlen(at))) return true;
    }
    return false;
}
