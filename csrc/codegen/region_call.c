/* Calls of a ufunc's own loop in kept loops, as C: what NumPy computes in no way that an expression
   would.

   For one number its arguments and its result are variables, which have no stride, as NumPy's own
   arguments of no axes have none.  Of rows NumPy calls the loop for all elements.  In the quick
   variant a loop over a row's elements is done in strips, whose arguments are computed first, by
   the statements before the call; then the loop is called for the strip, and the iterations read
   what it gave.  Elsewhere it is called for one element, as for the last of a strip. */
#include "emit.h"

enum { LEAF = 128 }; /* iterations of a strip */

bool
region_calls_row(const Emit *e, const RegionFor *loop)
{
    bool calls = false;
    if (!e->quick || !loop->innermost || loop->leaves >= 0 || loop->carried.len > 0) return false;
    if (!loop->independent) return false;
    for (int i = 0; i < loop->body.len; i++) {
        int32_t at = loop->body.at[i].instr;
        if (at < 0) return false; /* a branch */
        const Instr *v = instr_at(e, at);
        if (v->kind == INSTR_CALL && v->guard) calls = true;
        if (v->kind == INSTR_STORE && i + 1 < loop->body.len) return false;
    }
    return calls;
}

/* An argument is in memory of its own for each iteration, unless it is the same in all. */
static bool
is_spread(const Emit *e, const RegionFor *loop, int32_t at)
{
    return e->kernel->region->home[at] == loop->number;
}

void
region_row_calls(Emit *e, const RegionFor *loop)
{
    int k = loop->number;
    char text[96], name[16];
    if (!region_calls_row(e, loop)) return;
    e->strip = loop;
    for (int i = 0; i < loop->body.len; i++) {
        int32_t at = loop->body.at[i].instr;
        const Instr *v = instr_at(e, at);
        if (v->kind != INSTR_CALL || !v->guard) continue;
        emit_line(e, "%s row%d[%d] __attribute__((aligned(64)));", dtype_name(v->dtype), at, LEAF);
        open_block(e, "");
        for (int a = 0; a < v->nargs; a++)
            if (is_spread(e, loop, v->args[a]))
                emit_line(e, "%s arg%d[%d] __attribute__((aligned(64)));",
                          dtype_name(instr_at(e, v->args[a])->dtype), a, LEAF);
        emit_line(e, "#pragma GCC ivdep");
        snprintf(text, sizeof text, "for (int64_t t%d = from%d; t%d < to%d; t%d++) ", k, k, k, k,
                 k);
        open_block(e, text);
        for (int before = 0; before < i; before++)
            region_statement(e, &loop->body, loop->body.at[before].instr, loop);
        for (int a = 0; a < v->nargs; a++) {
            region_name(e, v->args[a], name, sizeof name);
            if (is_spread(e, loop, v->args[a]))
                emit_line(e, "arg%d[t%d - from%d] = %s;", a, k, k, name);
        }
        close_block(e);
        for (int before = 0; before < i; before++) /* the iterations make them again */
            e->mark[loop->body.at[before].instr] = e->body - 1;
        Text data = {0}, strides = {0};
        for (int a = 0; a < v->nargs; a++) {
            bool spread = is_spread(e, loop, v->args[a]);
            region_name(e, v->args[a], name, sizeof name);
            if (spread)
                text_printf(&data, "(char *)arg%d, ", a);
            else
                text_printf(&data, "(char *)&%s, ", name);
            text_printf(&strides, "%d, ",
                        spread ? (int)dtype_size(instr_at(e, v->args[a])->dtype) : 0);
        }
        emit_line(e, "char *const data[] = {%s(char *)row%d};", data.data, at);
        emit_line(e, "const int64_t m = to%d - from%d, strides[] = {%s%d};", k, k, strides.data,
                  (int)dtype_size(v->dtype));
        emit_line(e, "if (m > 0 && RARELY(call_loop(&args->loop[%d], data, &m, strides))) %s",
                  v->loop, REGION_FAIL);
        close_block(e);
        text_free(&data);
        text_free(&strides);
    }
}

void
region_call(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    char name[16];
    Text data = {0}, strides = {0};
    if (e->strip != NULL && v->guard && e->kernel->region->home[at] == e->strip->number) {
        emit_line(e, "const %s v%d = row%d[t%d - from%d];", dtype_name(v->dtype), at, at,
                  e->strip->number, e->strip->number);
        e->mark[at] = e->body;
        return;
    }
    for (int k = 0; k < v->nargs; k++) {
        region_name(e, v->args[k], name, sizeof name);
        text_printf(&data, "(char *)&%s, ", name);
        bool same = !v->guard || instr_at(e, v->args[k])->level == LEVEL_ONCE;
        text_printf(&strides, "%d, ", same ? 0 : (int)dtype_size(instr_at(e, v->args[k])->dtype));
    }
    emit_line(e, "%s v%d;", dtype_name(v->dtype), at);
    open_block(e, "");
    emit_line(e, "char *const data[] = {%s(char *)&v%d};", data.data, at);
    emit_line(e, "const int64_t one = 1, strides[] = {%s%d};", strides.data,
              v->guard ? (int)dtype_size(v->dtype) : 0);
    emit_line(e, "if (RARELY(call_loop(&args->loop[%d], data, &one, strides))) %s", v->loop,
              REGION_FAIL);
    close_block(e);
    e->mark[at] = e->body;
    text_free(&data);
    text_free(&strides);
}
