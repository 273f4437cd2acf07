/* Calls of a ufunc's own loop in kept loops, as C: what NumPy computes in no way that an expression
   would.  The arguments and the result are variables, which have no stride, as NumPy's own
   arguments of no axes have none. */
#include "emit.h"

void
region_call(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    char name[16];
    Text data = {0}, strides = {0};
    for (int k = 0; k < v->nargs; k++) {
        region_name(e, v->args[k], name, sizeof name);
        text_printf(&data, "(char *)&%s, ", name);
        text_put(&strides, "0, ");
    }
    emit_line(e, "%s v%d;", dtype_name(v->dtype), at);
    open_block(e, "");
    emit_line(e, "char *const data[] = {%s(char *)&v%d};", data.data, at);
    emit_line(e, "const int64_t one = 1, strides[] = {%s0};", strides.data);
    emit_line(e, "if (RARELY(call_loop(&args->loop[%d], data, &one, strides))) %s", v->loop,
              REGION_FAIL);
    close_block(e);
    e->mark[at] = e->body;
    text_free(&data);
    text_free(&strides);
}
