/* Sums of floats along a row in NumPy's order, the pairwise sum of loops_utils.h.src: halves (the
   left one a multiple of 8) down to leaves of at most 128 elements, which have eight accumulators.
   The tree is walked with a stack of right halves that remain. */
#include "emit.h"

bool
is_pairwise(const Emit *e, int32_t at, int stage)
{
    return reduces_in_loop(e, at, stage) && instr_at(e, at)->order == REDUCE_PAIRWISE;
}

bool
stage_is_pairwise(const Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) return true;
    return false;
}

/* Eight accumulators, one by one, where the body has no vectors since it has a half or complex
   value. */
static void
emit_eight(Emit *e, int stage)
{
    emit_line(e, "while (j + 8 <= stop)");
    e->indent++;
    open_block(e, "for (int lane = 0; lane < 8; lane++, j++) ");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(e, "%s p%d = a%d[lane];", dtype_name(instr_at(e, i)->dtype), i, i);
    emit_body(e, stage, 1, "s");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) emit_line(e, "a%d[lane] = p%d;", i, i);
    close_block(e);
    e->indent--;
}

/* Declares the `count` vectors that hold NumPy's eight accumulators: several, since one vector
   wider than the machine's registers would be kept in memory. */
static void
declare_eight(Emit *e, int i, int lanes, int count)
{
    DType dtype = instr_at(e, i)->dtype;
    Text vector = {0};
    prelude_type(e->prelude, dtype, lanes, &vector);
    for (int part = 0; part < count; part++) {
        const char *name = accumulators[part];
        emit_line(e, "%s %s%d = (%s){} - 0;", vector.data, name, i, vector.data);
        emit_line(e, "%s%d = -%s%d;", name, i, name, i);
    }
    text_free(&vector);
}

/* Adds the eight accumulators of a leaf in NumPy's order; `part` is the first of them. */
static void
put_eight(int i, int lanes, int part, Text *out)
{
    char lane[PAIRWISE_LANES][32];
    for (int k = 0; k < PAIRWISE_LANES; k++)
        snprintf(lane[k], sizeof(lane[k]), "%s%d[%d]",
                 lanes > 1 ? accumulators[part + k / lanes] : "a", i, lanes > 1 ? k % lanes : k);
    text_printf(out, "((%s + %s) + (%s + %s)) + ((%s + %s) + (%s + %s))", lane[0], lane[1], lane[2],
                lane[3], lane[4], lane[5], lane[6], lane[7]);
}

/* ---- four places in turn ---- */

/* The additions to one accumulator wait for one another, and machines look ahead within a page of
   4 KiB.  Where a node of the tree has leaves at one depth alone, its four quarters are therefore
   summed side by side: each is a place, and has as many leaves as the others.

   With lengths counted in eights, the left half is rounded down and the right one up, so the
   lengths at depth d of a node of `u` eights are (u + 0) >> d to (u + 2^d - 1) >> d, in the order
   of the numbers of d bits read backwards; lengths differ by one at most.

   Measured in C, the loops alone, sums in ms of one by one and of four places: 131,072 f32 in the
   cache 0.032 to 0.0095, f64 0.034 to 0.019 (AVX2); 16,777,216 by two threads f32 4.4 to 3.6 and
   f64 7.3 to 5.6 (AVX2), f32 5.0 to 2.1 and f64 8.0 to 4.8 (AVX-512).  With places of 1 KiB:
   f32 5.6 (AVX2), 2.4 (AVX-512). So with AVX2 what comes from memory has places of a page at least:
   rows of 1,024 f32 4.2 to 6.8, of 2,048 f64 8.1 to 6.1. */
enum { LEAST_PLACE = 1 << 12, MOST_PLACE = 1 << 13, MOST_DEPTH = 4 };

/* Is the body short, and are places that store nothing to memory as good as the row's order? */
static bool
sums_places(const Emit *e, int stage, int lanes)
{
    enum { SHORT = 8, MOST_REGISTERS = 8 };
    int count = 0, vectors = 0;
    if (lanes == 1 || body_pair_lanes(e, stage) > 0 || e->kernel->block || e->kernel->short_rows)
        return false;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ELEMENT || v->stage != stage) continue;
        bool plain = v->kind == INSTR_CONST || v->kind == INSTR_OP || is_pairwise(e, i, stage) ||
                     reads_row(e, i);
        if (!plain) return false;
        count++;
        if (is_pairwise(e, i, stage)) vectors += PLACES * (PAIRWISE_LANES / lanes);
    }
    return count <= SHORT && vectors <= MOST_REGISTERS;
}

/* Has an earlier stage read all that this one reads? */
static bool
reads_again(const Emit *e, int stage)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        bool known = false;
        if (!reads_row(e, i) || v->stage != stage) continue;
        for (int k = 0; k < i && !known; k++)
            known = reads_row(e, k) && instr_at(e, k)->operand == v->operand &&
                    instr_at(e, k)->stage < stage;
        if (!known) return false;
    }
    return true;
}

/* Bytes of an element of the sums. */
static int
sum_size(const Emit *e, int stage)
{
    size_t size = sizeof(float);
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage) && dtype_size(instr_at(e, i)->dtype) > size)
            size = dtype_size(instr_at(e, i)->dtype);
    return (int)size;
}

static void
declare_depth(Emit *e)
{
    if (!prelude_first(e->prelude, "leaf_depth")) return;
    text_put(
        e->prelude->head,
        "/* The depth of a sum's leaves, of at most 128 elements, if all have the same and are\n"
        "   four or more; 0: not so. */\n"
        "static int leaf_depth(int64_t length)\n"
        "{\n"
        "    const int64_t eights = length / 8;\n"
        "    int depth = 2;\n"
        "    if (length % 8) return 0;\n"
        "    while ((eights + (1 << depth) - 1) >> depth > 16) depth++;\n"
        "    return eights >> (depth - 1) > 16 ? depth : 0;\n"
        "}\n"
        "static const unsigned char backwards[16] = {0, 8, 4, 12, 2, 10, 6, 14,\n"
        "                                            1, 9, 5, 13, 3, 11, 7, 15};\n");
}

/* Adds the eight elements at `each` in the leaf of a place to its accumulators. */
static void
emit_place(Emit *e, int stage, int lanes, int place)
{
    const char *position = e->position;
    int parts = PAIRWISE_LANES / lanes;
    for (int part = 0; part < parts; part++) {
        char at[48];
        snprintf(at, sizeof at, part ? "(at%d + each + %d)" : "(at%d + each)", place, part * lanes);
        e->position = at;
        e->part = place * parts + part;
        open_block(e, "");
        emit_body(e, stage, lanes, "a");
        close_block(e);
    }
    e->part = 0;
    e->position = position;
}

/* Memory is better read in its order, so the next row is. */
static void
emit_prefetch_in_turn(Emit *e, int stage)
{
    const char *position = e->position;
    e->position = "(4 * (at0 + each) - 3 * j)";
    emit_prefetch_next(e, stage, PLACES * PAIRWISE_LANES);
    e->position = position;
}

/* Sums the leaf that comes next at each place. */
static void
emit_leaves(Emit *e, int stage, int lanes)
{
    int parts = PAIRWISE_LANES / lanes;
    emit_line(e, "const int turn = backwards[leaf] >> (%d - depth);", MOST_DEPTH);
    for (int place = 0; place < PLACES; place++)
        emit_line(e, "const int64_t long%d = ((eights%d + turn) >> depth) * 8;", place, place);
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) declare_eight(e, i, lanes, PLACES * parts);
    emit_line(e, "int64_t each = 0;");
    open_block(e, "for (; each < long0; each += 8) ");
    emit_prefetch_in_turn(e, stage);
    for (int place = 0; place < PLACES; place++) emit_place(e, stage, lanes, place);
    close_block(e);
    for (int place = 1; place < PLACES; place++) {
        emit_line(e, "if (long%d > long0) {", place);
        e->indent++;
        emit_place(e, stage, lanes, place);
        close_block(e);
    }
    for (int place = 0; place < PLACES; place++) emit_line(e, "at%d += long%d;", place, place);
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_pairwise(e, i, stage)) continue;
        for (int place = 0; place < PLACES; place++) {
            Text sum = {0};
            put_eight(i, lanes, place * parts, &sum);
            emit_line(e, "q%d[%d] = %s;", i, place, sum.data);
            text_free(&sum);
        }
    }
}

/* The node of `length` elements at j, whose leaves are `even` deep: p becomes its sum. */
static void
emit_node_by_places(Emit *e, int stage, int lanes)
{
    static const char *const up[] = {"eights", "(eights + 2)", "(eights + 1)", "(eights + 3)"};
    emit_line(e, "const int64_t eights = length / 8;");
    emit_line(e, "const int depth = even - 2;");
    for (int place = 0; place < PLACES; place++)
        emit_line(e, "const int64_t eights%d = %s >> 2;", place, up[place]);
    emit_line(e, "int64_t at0 = j, at1 = at0 + eights0 * 8, at2 = at1 + eights1 * 8, "
                 "at3 = at2 + eights2 * 8;");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(e, "%s q%d[%d], before%d[%d][%d];", dtype_name(instr_at(e, i)->dtype), i,
                      PLACES, i, MOST_DEPTH, PLACES);
    open_block(e, "for (int leaf = 0;;) ");
    emit_leaves(e, stage, lanes);
    emit_line(e, "int level = 0;");
    open_block(e, "for (; leaf >> level & 1; level++) ");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(e, "for (int k = 0; k < %d; k++) q%d[k] = before%d[level][k] + q%d[k];",
                      PLACES, i, i, i);
    close_block(e);
    emit_line(e, "if (++leaf >> depth) break;");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(e, "for (int k = 0; k < %d; k++) before%d[level][k] = q%d[k];", PLACES, i, i);
    close_block(e);
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(e, "p%d = (q%d[0] + q%d[1]) + (q%d[2] + q%d[3]);", i, i, i, i, i);
    emit_line(e, "j += length;");
}

/* ---- the tree ---- */

/* Goes down to the next leaf, or to a node whose leaves are `even` deep. */
static void
emit_way_down(Emit *e, int stage, bool places)
{
    open_block(e, "while (length > 128) ");
    if (places) {
        int size = sum_size(e, stage);
        bool any = e->vector_bytes == 64 || reads_again(e, stage);
        emit_line(e, "if (length >= %d && length <= %d && (even = leaf_depth(length)) > 0) break;",
                  any ? 264 : PLACES * LEAST_PLACE / size, PLACES * MOST_PLACE / size);
    }
    emit_line(e, "int64_t half = length / 2;");
    emit_line(e, "half -= half %% 8;");
    emit_line(e, "todo[top] = length - half;");
    emit_line(e, "done[top++] = 0;");
    emit_line(e, "length = half;");
    close_block(e);
}

/* A leaf of fewer than 8 elements is summed one by one from -0.0; x + -0.0 is x.

   What is long to compute fills a register, of which first one half is added and then the other:
   sums of exp, 4096 rows of 1024 float32 on two cores with AVX-512, 3.6 to 2.9 ms. */
static void
emit_leaf(Emit *e, int stage, int lanes)
{
    emit_line(e, "const int64_t stop = j + length;");
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_pairwise(e, i, stage)) continue;
        if (lanes > 1) {
            declare_eight(e, i, lanes, PAIRWISE_LANES / lanes);
        } else {
            emit_line(e, "%s a%d[8];", dtype_name(instr_at(e, i)->dtype), i);
            emit_line(e, "for (int lane = 0; lane < 8; lane++) a%d[lane] = -0.0;", i);
        }
    }
    open_block(e, "if (length >= 8) ");
    if (body_pair_lanes(e, stage) > 0) {
        open_block(e, "while (j + 16 <= stop) ");
        emit_prefetch_next(e, stage, 16);
        emit_body(e, stage, body_pair_lanes(e, stage), "a");
        emit_line(e, "j += 16;");
        close_block(e);
    }
    if (lanes > 1) {
        open_block(e, "while (j + 8 <= stop) ");
        emit_prefetch_next(e, stage, 8);
        for (e->part = 0; e->part < PAIRWISE_LANES / lanes; e->part++) {
            open_block(e, "");
            emit_body(e, stage, lanes, "a");
            close_block(e);
            emit_line(e, "j += %d;", lanes);
        }
        e->part = 0;
        close_block(e);
    } else {
        emit_eight(e, stage);
    }
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        if (!is_pairwise(e, i, stage)) continue;
        Text sum = {0};
        put_eight(i, lanes, 0, &sum);
        emit_line(e, "p%d = %s;", i, sum.data);
        text_free(&sum);
    }
    close_block(e);
    emit_line(e, "REST");
    open_block(e, "for (; j < stop; j++) ");
    emit_body(e, stage, 1, "s");
    close_block(e);
}

/* Adds up what is complete, and goes to the right half that comes next; leaves the loop at the
   root. */
static void
emit_way_up(Emit *e, int stage)
{
    open_block(e, "while (top > 0 && done[top - 1]) ");
    emit_line(e, "top--;");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) emit_line(e, "p%d = left%d[top] + p%d;", i, i, i);
    close_block(e);
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage)) {
            emit_line(e, "if (top == 0) s%d = %sp%d;", i, e->kernel->parts ? "" : "0 + ", i);
            emit_line(e, "else left%d[top - 1] = p%d;", i, i);
        }
    emit_line(e, "if (top == 0) break;");
    emit_line(e, "done[top - 1] = 1;");
    emit_line(e, "length = todo[top - 1];");
}

void
emit_pairwise_loop(Emit *e, int stage)
{
    int lanes = body_lanes(e, stage);
    bool places = sums_places(e, stage, lanes);
    declare_accumulators(e, stage, lanes);
    if (places) declare_depth(e);
    open_block(e, "");
    if (lanes > 1) emit_next_rows(e, stage);
    emit_line(e, "int64_t j = 0, length = m, todo[64];");
    emit_line(e, "int top = 0, done[64];");
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(e, "%s left%d[64];", dtype_name(instr_at(e, i)->dtype), i);
    open_block(e, "for (;;) ");
    if (places) emit_line(e, "int even = 0;");
    emit_way_down(e, stage, places);
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (is_pairwise(e, i, stage))
            emit_line(e, "%s p%d = -0.0;", dtype_name(instr_at(e, i)->dtype), i);
    if (places) {
        open_block(e, "if (even) ");
        emit_node_by_places(e, stage, lanes);
        close_block(e);
        open_block(e, "else ");
        emit_leaf(e, stage, lanes);
        close_block(e);
    } else
        emit_leaf(e, stage, lanes);
    emit_way_up(e, stage);
    close_block(e);
    if (lanes > 1) fold_lanes(e, stage, lanes);
    close_block(e);
}
