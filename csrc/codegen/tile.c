/* Rows with operands that are dense across the rows (x + x.T).

   The kernel takes many rows at a time and, of those, TILE_COLUMNS elements.  Each such operand is
   first transposed into a tile in the thread's scratch, by vectors; the rows then read the tile
   like any other operand.

       for (rows of a tile)
           for (base …; base += 128)
               turn_u32(tile, source, stride, rows, m);
               for (k …)  one span of row i + k

   Of a large square that is read with its transpose, tiles are taken in pairs on both sides of the
   diagonal, so that memory is read once: 26 ms to 21 on two cores.

   A row of the tile's source is TILE_ROW_BYTES side by side in memory.  Rows of the source are
   often a multiple of 4096 bytes apart, so that lines of one column share few sets of the caches: a
   line is best used up at once, and 1024 bytes are a length at which memory is about as fast as for
   whole rows.  The tile then lies in the second-level cache.

   Measured, x + x.T of 4096 x 4096 f64 on one core: 72 ms with 128 bytes, 60 with 512, 50 with 1024
   to 4096 bytes; vectors that do not begin in the middle of a line take 47. */
#include "emit.h"

enum { SPAN = TILE_COLUMNS };

/* Swaps blocks of `step` lanes between vectors `step` apart: after steps 1, 2, 4 … the matrix is
   transposed. */
static void
put_masks(Text *out, int lanes, int step)
{
    text_printf(out, "#undef LOW%d\n#undef HIGH%d\n#define LOW%d", step, step, step);
    for (int l = 0; l < lanes; l++)
        text_printf(out, "%s%d", l ? "," : " ", l & step ? lanes + l - step : l);
    text_printf(out, "\n#define HIGH%d", step);
    for (int l = 0; l < lanes; l++)
        text_printf(out, "%s%d", l ? "," : " ", l & step ? lanes + l : l + step);
    text_put(out, "\n");
}

static void
put_block(Text *out, int lanes)
{
    for (int i = 0; i < lanes; i++)
        text_printf(out, "            V v%d = *(const M *)(p + (j + %d) * across + k * %s);\n", i,
                    i, "(int64_t)sizeof(S)");
    for (int step = 1; step < lanes; step *= 2)
        for (int i = 0; i < lanes; i++)
            if (!(i & step))
                text_printf(out, "            SWAP(v%d, v%d, LOW%d, HIGH%d)\n", i, i + step, step,
                            step);
    for (int i = 0; i < lanes; i++)
        text_printf(out,
                    "            *(M *)(t + ((k + %d) * %d + j) * (int64_t)sizeof(S)) = v%d;\n", i,
                    SPAN, i);
}

/* Blocks of lanes x lanes elements; the last one of a row or a column lies over the one before
   where they are no multiple of that, and so does the second where vectors are aligned from there
   on. */
static void
define_turn(Emit *e, int bytes)
{
    char key[16];
    snprintf(key, sizeof key, "turn_u%d", bytes * 8);
    if (!prelude_first(e->prelude, key)) return;
    int lanes = e->vector_bytes / bytes;
    Text *out = e->prelude->head;
    for (int step = 1; step < lanes; step *= 2) put_masks(out, lanes, step);
    prelude_shuffle(e->prelude);
    text_put(out, "#define SWAP(a, b, low, high) \\\n"
                  "    { const V s = a; a = SHUFFLE(s, b, low); b = SHUFFLE(s, b, high); }\n");
    text_printf(out,
                "/* t[k][j] = p[j][k] */\n"
                "static void\nturn_u%d(char *t, const char *p, int64_t across, int64_t rows, "
                "int64_t m)\n{\n",
                bytes * 8);
    text_printf(out, "    typedef %s S __attribute__((may_alias, aligned(1)));\n",
                bytes == 4 ? "unsigned" : "__UINT64_TYPE__");
    text_printf(out, "    typedef %s V __attribute__((vector_size(%d)));\n",
                bytes == 4 ? "unsigned" : "__UINT64_TYPE__", e->vector_bytes);
    text_printf(out, "    typedef %s I __attribute__((vector_size(%d), unused));\n",
                bytes == 4 ? "int" : "__INT64_TYPE__", e->vector_bytes);
    text_printf(out, "    typedef V M __attribute__((may_alias, aligned(1)));\n");
    text_printf(out,
                "    const int64_t lastj = m - %d, lastk = rows - %d;\n"
                "    int64_t head = across %% %d ? 0 : (int64_t)(-(unsigned long)p %% %d / "
                "sizeof(S));\n",
                lanes, lanes, e->vector_bytes, e->vector_bytes);
    text_printf(out, "    if (head == 0) head = %d;\n", lanes);
    text_put(out, "    for (int64_t j = 0; lastj >= 0 && lastk >= 0;) {\n"
                  "        for (int64_t k = 0;;) {\n");
    put_block(out, lanes);
    text_printf(out,
                "            if (k == lastk) break;\n"
                "            k = k == 0 ? head : k + %d;\n"
                "            if (k > lastk) k = lastk;\n"
                "        }\n"
                "        if (j == lastj) return;\n"
                "        j = j + %d > lastj ? lastj : j + %d;\n"
                "    }\n",
                lanes, lanes, lanes);
    text_put(out, "    for (int64_t j = 0; j < m; j++)\n"
                  "        for (int64_t k = 0; k < rows; k++)\n");
    text_printf(out,
                "            *(S *)(t + (k * %d + j) * (int64_t)sizeof(S)) =\n"
                "                *(const S *)(p + j * across + k * (int64_t)sizeof(S));\n}\n",
                SPAN);
}

/* y2 = the tile of operand 2 */
static void
emit_turns(Emit *e)
{
    const Kernel *k = e->kernel;
    int before = 0;
    for (int o = 0; o < k->operands.len; o++) {
        const Operand *operand = &k->operands.at[o];
        if (!operand->turned) continue;
        int bytes = (int)dtype_size(operand->dtype);
        define_turn(e, bytes);
        Text line = {0};
        for (int loop = 0; loop < k->nloops - 1; loop++)
            if (operand->stride[loop] != STRIDE_ZERO)
                text_printf(&line, " + f%d * n%d", loop, operand->stride[loop]);
        emit_line(e, "char *const y%d = args->scratch + %d;", o, before);
        emit_line(e, "turn_u%d(y%d, q%d%s + base * n%d, n%d, rows, m);", bytes * 8, o, o, line.data,
                  operand->across, operand->across);
        before += TILE_BYTES;
        text_free(&line);
    }
}

static void
emit_tile_pointers(Emit *e)
{
    const Kernel *k = e->kernel;
    for (int o = 0; o < k->operands.len; o++) {
        const Operand *operand = &k->operands.at[o];
        if (operand->turned)
            emit_line(e, "char *const r%d = y%d + k * %d;", o, o,
                      SPAN * (int)dtype_size(operand->dtype));
        else
            emit_row_pointer(e, o, k->nloops - 1, "base");
    }
}

static void
close_loops(Emit *e, int count)
{
    for (int i = 0; i < count; i++) {
        e->indent--;
        emit_line(e, "}");
    }
}

/* A tile of `rows` rows from row f1 on (of the loop outside the row's), and `m` columns from `base`
   on. */
static void
emit_tile(Emit *e)
{
    int across = e->kernel->nloops - 2;
    emit_turns(e);
    emit_line(e, "for (int64_t k = 0; k < rows; k++) {");
    e->indent++;
    emit_line(e, "const int64_t i%d = f%d + k;", across, across);
    emit_tile_pointers(e);
    emit_span(e);
    close_loops(e, 1);
}

/* Each tile on or right of the diagonal, and its mirror image while both are in the caches.  So a
   unit is the part of a row from the diagonal on, and the part of a column below it. */
static void
emit_mirrored(Emit *e)
{
    int n = e->kernel->size[0];
    emit_line(e, "for (int64_t unit = begin, side; unit < end; unit += side) {");
    e->indent++;
    emit_line(e, "side = end - unit < %d ? end - unit : %d;", SPAN, SPAN);
    emit_line(e, "for (int64_t beside = unit, width = side; beside < n%d; beside += width) {", n);
    e->indent++;
    emit_line(e, "const int diagonal = beside == unit;");
    emit_line(e, "if (!diagonal) width = n%d - beside < %d ? n%d - beside : %d;", n, SPAN, n, SPAN);
    emit_line(e, "for (int below = 0; below < 2 - diagonal; below++) {");
    e->indent++;
    emit_line(e, "const int64_t f0 = below ? beside : unit, rows = below ? width : side;");
    emit_line(e, "const int64_t base = below ? unit : beside, m = below ? side : width;");
    emit_tile(e);
    close_loops(e, 3);
}

void
emit_tiles(Emit *e)
{
    const Kernel *k = e->kernel;
    int across = k->nloops - 2;
    if (k->mirrored) {
        emit_mirrored(e);
        return;
    }
    emit_line(e, "for (int64_t unit = begin, rows; unit < end; unit += rows) {");
    e->indent++;
    if (across > 0) emit_line(e, "int64_t rest = unit;");
    for (int i = across; i > 0; i--) {
        emit_line(e, "const int64_t f%d = rest %% n%d;", i, k->size[i]);
        emit_line(e, "rest /= n%d;", k->size[i]);
    }
    emit_line(e, "const int64_t f0 = %s;", across > 0 ? "rest" : "unit");
    for (int i = 0; i < across; i++) emit_line(e, "const int64_t i%d = f%d;", i, i);
    emit_line(e, "rows = n%d - f%d;", k->size[across], across);
    emit_line(e, "if (rows > end - unit) rows = end - unit;");
    emit_line(e, "if (rows > %d) rows = %d;", k->tile_rows, k->tile_rows);
    emit_line(e, "for (int64_t base = 0; base < n%d; base += %d) {", k->size[across + 1], SPAN);
    e->indent++;
    emit_line(e, "const int64_t m = n%d - base < %d ? n%d - base : %d;", k->size[across + 1], SPAN,
              k->size[across + 1], SPAN);
    emit_tile(e);
    close_loops(e, 2);
}
