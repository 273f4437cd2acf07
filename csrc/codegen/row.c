/* One row of a kernel, or one block of it, stage by stage: the loop over the row (vectors first,
   then the remaining elements), reductions, block calls.  Names as in c.c. */
#include "emit.h"

/* ---- calls ---- */

void
emit_call(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text pointers = {0}, strides = {0};
    for (int k = 0; k < v->nargs; k++) {
        memory_pointer(e, v->args[k], &pointers, &strides);
        text_put(&pointers, ", ");
        text_put(&strides, ", ");
    }
    bool row = is_row_value(e, at);
    memory_pointer(e, at, &pointers, &strides);
    if (row) {
        emit_line(e, "%s s%d;", dtype_name(v->dtype), at);
        Text unused = {0};
        prelude_type(e->prelude, v->dtype, 1, &unused);
        text_free(&unused);
    }
    open_block(e, "");
    if (e->comments && v->node != NO_NODE)
        emit_line(e, "/* line %d: %s */", graph_node(e->graph, v->node)->line,
                  op_info(v->op)->name);
    emit_line(e, "char *const data[] = {%s};", pointers.data);
    emit_line(e, "const int64_t dimensions[] = {%s}, strides[] = {%s};", row ? "1" : "m",
              strides.data);
    emit_line(e, "const KernelLoop *const loop = &args->loop[%d];", v->loop);
    emit_line(e, "if (call_loop(loop, data, dimensions, strides)) return 1;");
    close_block(e);
    text_free(&pointers);
    text_free(&strides);
}

/* ---- the loop over a row ---- */

static bool
stores_here(const Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    if (v->kind != INSTR_STORE || v->level != LEVEL_ELEMENT || v->stage != stage) return false;
    const Instr *value = instr_at(e, v->args[0]);
    if (value->kind == INSTR_REDUCE && is_columns(e)) return false;
    /* a call has written its result there */
    return !(value->kind == INSTR_CALL && value->home == HOME_OPERAND && value->slot == v->operand);
}

static bool
checks_here(const Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    return v->kind == INSTR_CHECK && v->level == LEVEL_ELEMENT && v->stage == stage;
}

/* Is the value kept in scratch by this stage, for later ones? */
static bool
rests_here(const Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    return v->home == HOME_SCRATCH && v->stage == stage && v->kind != INSTR_CALL &&
           v->kind != INSTR_REDUCE && v->level == LEVEL_ELEMENT;
}

bool
has_roots(const Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        bool column =
            is_columns(e) && instr_at(e, i)->kind == INSTR_REDUCE && instr_at(e, i)->stage == stage;
        if (stores_here(e, i, stage) || checks_here(e, i, stage) || rests_here(e, i, stage) ||
            reduces_in_loop(e, i, stage) || column)
            return true;
    }
    return false;
}

static void
emit_rest(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    DType stored = v->dtype == DT_BOOL && e->lanes > 1 ? DT_I8 : v->dtype;
    Text line = {0};
    body_value(e, at);
    text_put(&line, "*(");
    prelude_memory(e->prelude, stored, e->lanes, &line);
    text_printf(&line, " *)(t%d + %s * %d) = %s", v->slot, e->position, scratch_step(e, v),
                stored == v->dtype ? "" : "-");
    if (v->dtype == DT_BOOL)
        body_mask(e, at, 1, &line);
    else
        body_name(e, at, &line);
    emit_line(e, "%s;", line.data);
    text_free(&line);
}

/* Column accumulators are in scratch, and in registers (a3) while one or four rows are added. */
void
emit_columns_memory(Emit *e, int stage, bool store)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->kind != INSTR_REDUCE || v->stage != stage) continue;
        DType kept = v->dtype == DT_BOOL && e->lanes > 1 ? DT_I8 : v->dtype;
        int bytes = (int)dtype_size(v->dtype);
        Text memory = {0}, type = {0};
        prelude_memory(e->prelude, kept, e->lanes, &memory);
        prelude_type(e->prelude, kept, e->lanes, &type);
        if (store)
            emit_line(e, "*(%s *)(t%d + j * %d) = a%d;", memory.data, v->slot, bytes, i);
        else
            emit_line(e, "%s a%d = *(const %s *)(t%d + j * %d);", type.data, i, memory.data,
                      v->slot, bytes);
        text_free(&memory);
        text_free(&type);
    }
}

/* Without an identity (max, min) the first row is copied. */
static void
emit_column(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    Text value = {0};
    body_value(e, v->args[0]);
    if (v->dtype == DT_BOOL)
        body_mask(e, v->args[0], 1, &value);
    else
        body_name(e, v->args[0], &value);
    if (e->row == 0 && (v->op == OP_max || v->op == OP_min))
        emit_line(e, "if (first) a%d = %s;", at, value.data);
    emit_accumulate(e, at, "a");
    text_free(&value);
}

const char *const accumulators[8] = {"a", "ab", "ac", "ad", "ae", "af", "ag", "ah"};

void
emit_roots(Emit *e, int stage, const char *acc)
{
    for (int i = 0; i < e->kernel->instrs.len && e->kernel->in_place; i++)
        if (stores_here(e, i, stage) || checks_here(e, i, stage))
            body_value(e, instr_at(e, i)->args[0]);
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (stores_here(e, i, stage))
            body_store(e, i);
        else if (checks_here(e, i, stage))
            body_check(e, i);
        else if (rests_here(e, i, stage))
            emit_rest(e, i);
        else if (is_columns(e) && v->kind == INSTR_REDUCE && v->stage == stage)
            emit_column(e, i);
        else if (reduces_in_loop(e, i, stage)) {
            body_value(e, v->args[0]);
            bool pairwise = is_pairwise(e, i, stage);
            const char *name = e->lanes == 1             ? pairwise ? "p" : acc
                               : pairwise || e->ways > 1 ? accumulators[e->part]
                                                         : "a";
            emit_accumulate(e, i, name);
        }
    }
}

void
emit_values(Emit *e, int stage, int lanes)
{
    body_begin(e, stage, lanes);
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (stores_here(e, i, stage) || checks_here(e, i, stage))
            body_value(e, instr_at(e, i)->args[0]);
        else if (rests_here(e, i, stage))
            body_value(e, i);
    }
}

void
emit_body(Emit *e, int stage, int lanes, const char *acc)
{
    body_begin(e, stage, lanes);
    if (is_columns(e)) emit_columns_memory(e, stage, false);
    emit_roots(e, stage, acc);
    if (is_columns(e)) emit_columns_memory(e, stage, true);
}

/* Vectors per iteration: several if one would wait for the accumulator of the one before, and the
   body is short. */
static int
ways_of_loop(const Emit *e, int stage)
{
    enum { SHORT = 12 };
    int count = 0, reductions = 0, extremes = 0;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ELEMENT || v->stage != stage) continue;
        count++;
        reductions += reduces_in_loop(e, i, stage);
        extremes += reduces_in_loop(e, i, stage) && is_extreme(e, i);
    }
    if (reductions == 0 || count > SHORT || e->kernel->short_rows) return 1;
    return extremes > 1 ? 2 : 4; /* more would not fit the registers */
}

/* The loop over stretches that are long enough to be read from four places in turn, a line of the
   caches from each. */
static void
emit_places(Emit *e, int stage, int lanes)
{
    enum { EACH = 2 };
    int size = e->vector_bytes / lanes;
    const char *position = e->position;
    emit_line(e, "while (m - j >= %d) {", PLACES * LEAST_STRETCH / size);
    e->indent++;
    emit_line(e, "const int64_t apart = m - j < %d ? (m - j) / %d * %d : %d;",
              PLACES * STRETCH / size, PLACES * EACH * lanes, EACH * lanes, STRETCH / size);
    emit_line(e, "for (const int64_t stop = j + apart; j < stop; j += %d) {", EACH * lanes);
    e->indent++;
    for (int i = 0; i < PLACES * EACH; i++) {
        char place[48];
        snprintf(place, sizeof place, "(j + %d * apart + %d)", i / EACH, i % EACH * lanes);
        e->position = place;
        e->part = i % e->ways;
        open_block(e, "");
        emit_body(e, stage, lanes, "a");
        close_block(e);
        e->position = position;
    }
    e->part = 0;
    close_block(e);
    emit_line(e, "j += %d * apart;", PLACES - 1);
    close_block(e);
}

static void
emit_plain_loop(Emit *e, int stage)
{
    int lanes = body_lanes(e, stage);
    e->ways = lanes > 1 ? ways_of_loop(e, stage) : 1;
    declare_accumulators(e, stage, lanes);
    open_block(e, "");
    if (lanes > 1) emit_next_rows(e, stage);
    emit_line(e, "int64_t j = 0;");
    if (e->ways > 1 && reads_from_places(e, stage)) emit_places(e, stage, lanes);
    if (e->ways > 1) {
        emit_line(e, "for (; j <= m - %d; j += %d) {", e->ways * lanes, lanes);
        e->indent++;
        emit_prefetch_ahead(e, stage, lanes);
        emit_prefetch_next(e, stage, e->ways * lanes);
        for (e->part = 0; e->part < e->ways; e->part++) {
            open_block(e, "");
            emit_body(e, stage, lanes, "a");
            close_block(e);
            if (e->part + 1 < e->ways) emit_line(e, "j += %d;", lanes);
        }
        e->part = 0;
        close_block(e);
    }
    int skipped = e->ways == 1 ? skipped_operand(e) : -1;
    if (skipped >= 0) {
        int stretch = emit_skip(e, skipped, lanes);
        emit_line(e, "for (const int64_t stop = j + %d; j < stop; j += %d) {", stretch, lanes);
        e->indent++;
        emit_body(e, stage, lanes, "a");
        close_block(e);
        close_block(e);
    }
    bool head = stage_has_head(e, stage);
    const char *end = head ? "until" : "m";
    if (head) open_block(e, "for (int64_t until = head;; until = m) ");
    int woven = lanes > 1 && e->ways == 1 && skipped < 0 ? weave_ways(e, stage) : 1;
    if (woven > 1) {
        emit_line(e, "for (; j <= %s - %d; j += %d) {", end, woven * lanes, woven * lanes);
        e->indent++;
        emit_prefetch_next(e, stage, woven * lanes);
        emit_woven(e, stage, lanes, woven);
        close_block(e);
    }
    if (lanes > 1) {
        emit_line(e, "for (; j <= %s - %d; j += %d) {", end, lanes, lanes);
        e->indent++;
        emit_prefetch_next(e, stage, lanes);
        emit_body(e, stage, lanes, "a");
        close_block(e);
        fold_lanes(e, stage, lanes);
        e->ways = 1;
    }
    if (lanes > 1) emit_line(e, "REST");
    emit_line(e, "for (; j < %s; j++) {", end);
    e->indent++;
    emit_body(e, stage, 1, "s");
    close_block(e);
    if (head) {
        emit_line(e, "if (until == m) break;");
        close_block(e);
    }
    close_block(e);
}

/* ---- stages ---- */

void
emit_row_values(Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ROW || v->stage != stage || v->kind == INSTR_REDUCE) continue;
        if (v->kind == INSTR_CALL)
            emit_call(e, i);
        else
            scalar_value(e, i);
    }
}

void
emit_row_loop(Emit *e, int stage)
{
    if (!has_roots(e, stage)) return;
    Text body = {0}, *out = begin_divisors(e, &body);
    e->in_row_loop = true;
    if (stage_is_pairwise(e, stage))
        emit_pairwise_loop(e, stage);
    else
        emit_plain_loop(e, stage);
    e->in_row_loop = false;
    end_divisors(e, out, false);
}

void
emit_stage_loops(Emit *e, int stage)
{
    emit_row_loop(e, stage);
    finish_extremes(e, stage);
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ELEMENT || v->stage != stage) continue;
        if (v->kind == INSTR_CALL) emit_call(e, i);
        if (v->kind == INSTR_REDUCE && v->order == REDUCE_CALL && !is_columns(e))
            emit_reduce_call(e, i);
    }
}

void
emit_span(Emit *e)
{
    emit_stream_flags(e);
    for (int stage = 0; stage < e->kernel->nstages; stage++) {
        emit_row_values(e, stage);
        if (pieces_wanted(e, stage)) {
            emit_row_values(e, stage + 1);
            emit_pieces(e, stage++);
        } else
            emit_stage_loops(e, stage);
    }
}
