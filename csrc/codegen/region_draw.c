/* What a kept loop draws from streams of random numbers.

   A stream is an array of words, of which the first is the place of the functions that draw from it
   (arrays/streams.c).  The first of these begins a run with the state of before, so that there is
   nothing to undo where one fails. */
#include "../arrays/arrays.h"
#include "emit.h"

void
region_streams(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = 0; i < r->arrays.len; i++) {
        if (!r->arrays.at[i].draws) continue;
        emit_line(e, "void (*const *const draws%d)(void) = *(void (*const **)(void))q%d;", i,
                  r->arrays.at[i].operand);
        emit_line(e, "((void (*)(void *))draws%d[0])(q%d);", i, r->arrays.at[i].operand);
    }
}

void
region_draw(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    ArrayDraw draw = (ArrayDraw)graph_node(e->graph, v->node)->attrs.index;
    const char *type = dtype_name(v->dtype), *takes = array_draw_takes_ints(draw) ? "i64" : "f64";
    char name[DRAW_NUMBERS][16] = {"0", "0"};
    for (int k = 0; k < v->nargs; k++) region_name(e, v->args[k], name[k], sizeof name[k]);
    emit_line(e, "%s v%d; /* %s */", type, at, array_draw_name(draw));
    emit_line(e, "if (RARELY(((int (*)(void *, %s, %s, %s *))draws%d[%d])(q%d, %s, %s, &v%d))) %s",
              takes, takes, type, v->operand, (int)draw + 1,
              e->kernel->region->arrays.at[v->operand].operand, name[0], name[1], at, REGION_FAIL);
    e->mark[at] = e->body;
}
