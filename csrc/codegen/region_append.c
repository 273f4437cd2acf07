/* What a kept loop appends to lists.

   The items of a list are words of 8 bytes, one for each number (two for a complex one), in memory
   of the log's that grows (runtime/plan_region_log.c).  While the loop runs the place of that
   memory, the words used and those that there is room for are variables, with the number of the
   list's array; behind the loop the first two go to the array, and the plan makes Python's objects
   of the words (arrays/rows.c).  A run that is undone leaves them unused. */
#include "emit.h"

static int
words_of(const Emit *e, int32_t at)
{
    return dtype_is_complex(instr_at(e, at)->dtype) ? 2 : 1;
}

void
region_lists(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = 0; i < r->arrays.len; i++) {
        if (!r->arrays.at[i].grows) continue;
        emit_line(e, "char *rows%d = 0;", i);
        emit_line(e, "int64_t used%d = 0, room%d = 0;", i, i);
    }
}

/* The number of the list among those of the kernel. */
static int
list_number(const Emit *e, int32_t array)
{
    int number = 0;
    for (int32_t i = 0; i < array; i++) number += e->kernel->region->arrays.at[i].grows;
    return number;
}

void
region_append(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    int words = 0, list = v->operand;
    char name[16];
    for (int k = 0; k < v->nargs; k++) words += words_of(e, v->args[k]);
    emit_line(e, "if (RARELY(used%d + %d > room%d) &&", list, words, list);
    emit_line(e, "    !(rows%d = log->grow(log, %d, used%d + %d, &room%d))) %s", list,
              list_number(e, list), list, words, list, REGION_FAIL);
    for (int k = 0, word = 0; k < v->nargs; word += words_of(e, v->args[k++])) {
        region_name(e, v->args[k], name, sizeof name);
        emit_line(e, "__builtin_memcpy(rows%d + 8 * (used%d + %d), &%s, sizeof %s);", list, list,
                  word, name, name);
    }
    emit_line(e, "used%d += %d;", list, words);
}

void
region_appended(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = 0; i < r->arrays.len; i++) {
        if (!r->arrays.at[i].grows) continue;
        emit_line(e, "((i64 *)q%d)[0] = (i64)rows%d;", r->arrays.at[i].operand, i);
        emit_line(e, "((i64 *)q%d)[1] = used%d;", r->arrays.at[i].operand, i);
    }
}
