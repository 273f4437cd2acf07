/* Short rows side by side: each lane of a vector holds a row.  A loop over three elements is
   unrolled, and values of a row are computed for a vector of rows.  Each row's sum is in NumPy's
   own order, since a lane adds in order.

       for (rows unit …)
           if (as many rows as lanes are left in the loop before the row's)
               values of the rows; per stage the elements 0, 1, … of all these rows
           else one row, as everywhere

   The text is for one length of rows.  Names: v values of the rows and of their elements, a …
   accumulators.  Where a max or min needs the ufunc's own loop, these rows are done one by one.

   Measured, distances of 1000 x 1000 points of three f64 on two cores: 12.3 to 2.2 ms. */
#include "emit.h"

enum { PAIRS = 8 }; /* accumulators of NumPy's pairwise sum, from eight elements on */

/* The lanes of every value: as many as a vector has of the widest. */
static int
lanes_of_rows(const Emit *e)
{
    int widest = 1;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        int bytes = (int)dtype_size(v->dtype);
        if (v->level == LEVEL_ONCE && v->kind != INSTR_REDUCE) continue;
        if (v->kind == INSTR_OP && (int)dtype_size(v->from) > bytes)
            bytes = (int)dtype_size(v->from);
        if (bytes > widest) widest = bytes;
    }
    return e->vector_bytes / widest;
}

/* ---- a stage ---- */

static void
emit_element(Emit *e, int stage, const char *position, int part)
{
    e->position = position;
    e->part = part;
    body_begin(e, stage, e->beside);
    open_block(e, "");
    emit_roots(e, stage, "a");
    close_block(e);
    e->part = 0;
    e->position = "j";
}

static void
emit_element_at(Emit *e, int stage, int at)
{
    char position[12];
    snprintf(position, sizeof position, "%d", at);
    emit_element(e, stage, position, 0);
}

static bool
has_pairs(const Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (reduces_in_loop(e, i, stage) && instr_at(e, i)->order == REDUCE_PAIRWISE) return true;
    return false;
}

/* Adds each of eight elements to an accumulator of its own, and the remaining ones to the sum. */
static void
emit_eights(Emit *e, int stage)
{
    int length = e->kernel->beside, whole = length / PAIRS * PAIRS;
    char head[64];
    snprintf(head, sizeof head, "for (int64_t j = 0; j < %d; j += %d) ", whole, PAIRS);
    open_block(e, head);
    for (int part = 0; part < PAIRS; part++) {
        char position[12];
        snprintf(position, sizeof position, "(j + %d)", part);
        emit_element(e, stage, position, part);
    }
    close_block(e);
    add_pairs(e, stage);
    for (int at = whole; at < length; at++) emit_element_at(e, stage, at);
}

static void
emit_elements(Emit *e, int stage)
{
    int length = e->kernel->beside;
    if (length < PAIRS) {
        for (int at = 0; at < length; at++) emit_element_at(e, stage, at);
    } else if (has_pairs(e, stage)) {
        emit_eights(e, stage);
    } else {
        char head[48];
        snprintf(head, sizeof head, "for (int64_t j = 0; j < %d; j++) ", length);
        open_block(e, head);
        emit_element(e, stage, "j", 0);
        close_block(e);
    }
}

static void
emit_stage(Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level == LEVEL_ROW && v->stage == stage && v->kind != INSTR_REDUCE) rows_value(e, i);
    }
    if (!has_roots(e, stage)) return;
    declare_beside(e, stage, e->kernel->beside < PAIRS ? 1 : PAIRS);
    emit_elements(e, stage);
    finish_beside(e, stage);
}

/* ---- the rows ---- */

static void
emit_many(Emit *e, int across)
{
    int lanes = e->beside = lanes_of_rows(e);
    Text head = {0};
    text_printf(&head, "if (unit >= single && i%d + %d <= n%d && unit + %d <= end) ", across, lanes,
                e->kernel->size[across], lanes);
    open_block(e, head.data);
    text_free(&head);
    body_begin(e, 0, lanes);
    for (int stage = 0; stage < e->kernel->nstages; stage++) {
        body_begin(e, stage, lanes);
        emit_stage(e, stage);
    }
    e->beside = 0;
    emit_line(e, "unit += %d;", lanes);
    emit_line(e, "continue;");
    close_block(e);
}

void
emit_beside(Emit *e)
{
    const Kernel *k = e->kernel;
    int across = k->nloops - 2;
    open_block(e, "for (int64_t unit = begin, single = begin; unit < end;) ");
    emit_row_place(e);
    emit_line(e, "const int64_t base = 0, m = n%d;", k->size[across + 1]);
    emit_row_pointers(e, across + 1, NULL, false);
    emit_many(e, across);
    open_block(e, "");
    emit_span(e);
    close_block(e);
    emit_line(e, "unit++;");
    close_block(e);
}
