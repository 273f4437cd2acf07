/* Sums in kept loops, as C: `(a[i, :k] * b[:k]).sum()`.

   The iterations are done in strips, each of which keeps its numbers in `each`; a helper then adds
   them.  The strips of a sum of floats are the leaves of NumPy's pairwise sum, walked with a stack
   of the right halves that remain, as in row.c. */
#include "emit.h"

static const char SUM_FLOATS[] =
    "typedef %s eight_%s __attribute__((vector_size(8 * sizeof(%s))));\n"
    "INLINE %s sum_%s(const %s *each, int64_t n) {\n"
    "    %s p = -0.0;\n"
    "    int64_t j = 0;\n"
    "    if (n >= 8) {\n"
    "        eight_%s a = *(const eight_%s *)each;\n"
    "        for (j = 8; j + 8 <= n; j += 8) a += *(const eight_%s *)(each + j);\n"
    "        p = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));\n"
    "    }\n"
    "    for (; j < n; j++) p += each[j];\n"
    "    return p;\n"
    "}\n";

static const char SUM_INTS[] = "INLINE %s sum_%s(const %s *each, int64_t n, %s sum) {\n"
                               "    uint64_t s = (uint64_t)sum;\n"
                               "    for (int64_t j = 0; j < n; j++) s += (uint64_t)each[j];\n"
                               "    return (%s)s;\n"
                               "}\n";

void
use_sum(Emit *e, DType dtype)
{
    const char *t = dtype_name(dtype);
    char name[32];
    snprintf(name, sizeof name, "sum_%s", t);
    if (!prelude_first(e->prelude, name)) return;
    if (dtype_is_float(dtype))
        text_printf(e->prelude->head, SUM_FLOATS, t, t, t, t, t, t, t, t, t, t);
    else
        text_printf(e->prelude->head, SUM_INTS, t, t, t, t, t);
}

/* The iterations from `from` to `to`. */
static void
emit_strip(Emit *e, const RegionFor *loop)
{
    int k = loop->number;
    char text[96];
    if (e->quick) region_before_iterations(e, loop);
    if (e->quick && loop->independent) emit_line(e, "#pragma GCC ivdep");
    snprintf(text, sizeof text, "for (int64_t t%d = from%d; t%d < to%d; t%d++) ", k, k, k, k, k);
    open_block(e, text);
    region_body(e, loop);
    close_block(e);
    if (e->quick) region_after_iterations(e, loop);
    emit_line(e, "const int64_t n%d_here = to%d - from%d;", k, k, k);
    emit_line(e, "from%d = to%d;", k, k);
}

static void
emit_pairwise(Emit *e, const RegionFor *loop, const char *t)
{
    int k = loop->number;
    emit_line(e, "int64_t length%d = count%d, todo%d[64];", k, k, k);
    emit_line(e, "int top%d = 0, done%d[64];", k, k);
    emit_line(e, "%s left%d[64];", t, k);
    open_block(e, "for (;;) ");
    emit_line(e, "while (length%d > %d) {", k, SUM_LEAF);
    emit_line(e, "    int64_t half = length%d / 2;", k);
    emit_line(e, "    half -= half %% 8;");
    emit_line(e, "    todo%d[top%d] = length%d - half;", k, k, k);
    emit_line(e, "    done%d[top%d++] = 0;", k, k);
    emit_line(e, "    length%d = half;", k);
    emit_line(e, "}");
    emit_line(e, "const int64_t to%d = from%d + length%d;", k, k, k);
    emit_strip(e, loop);
    emit_line(e, "%s p = sum_%s(each%d, n%d_here);", t, t, k, k);
    emit_line(e, "while (top%d > 0 && done%d[top%d - 1]) p = left%d[--top%d] + p;", k, k, k, k, k);
    emit_line(e, "x%d = 0 + p;", loop->folded);
    emit_line(e, "if (top%d == 0) break;", k);
    emit_line(e, "left%d[top%d - 1] = p;", k, k);
    emit_line(e, "done%d[top%d - 1] = 1;", k, k);
    emit_line(e, "length%d = todo%d[top%d - 1];", k, k, k);
    close_block(e);
}

/* Strips whose sums are added in any order. */
static void
emit_strips(Emit *e, const RegionFor *loop, const char *t)
{
    int k = loop->number;
    char text[64];
    emit_line(e, "x%d = 0;", loop->folded);
    snprintf(text, sizeof text, "while (from%d < count%d) ", k, k);
    open_block(e, text);
    emit_line(e, "const int64_t to%d = count%d - from%d > %d ? from%d + %d : count%d;", k, k, k,
              SUM_LEAF, k, SUM_LEAF, k);
    emit_strip(e, loop);
    emit_line(e, "x%d = sum_%s(each%d, n%d_here, x%d);", loop->folded, t, k, k, loop->folded);
    close_block(e);
}

/* What nobody reads is computed for its flags: the C compiler would leave out the whole loop. */
static void
keep_flags(Emit *e, const RegionFor *loop, DType dtype)
{
    if (!e->flags && !dtype_is_float(dtype)) return;
    emit_line(e, "__asm__ volatile(\"\" : : \"%s\"(x%d));", body_constraint(e, loop->each),
              loop->folded);
}

void
region_fold(Emit *e, const RegionFor *loop)
{
    int k = loop->number;
    char text[32];
    DType dtype = instr_at(e, loop->each)->dtype;
    const char *t = dtype_name(dtype);
    use_sum(e, dtype);
    snprintf(text, sizeof text, "count%d", k);
    region_look(e, loop->around, text, true);
    emit_line(e, "%s each%d[%d] __attribute__((aligned(64)));", t, k, SUM_LEAF);
    emit_line(e, "int64_t from%d = 0;", k);
    (dtype_is_float(dtype) ? emit_pairwise : emit_strips)(e, loop, t);
    keep_flags(e, loop, dtype);
}

/* ---- products ---- */

/* The first element's address; an index may count from the end. */
static void
put_vector(const Emit *e, const RegionDot *dot, int k, Text *out)
{
    const RegionArray *array = &e->kernel->region->arrays.at[dot->array[k]];
    char name[16];
    text_printf(out, "(char *)q%d", array->operand);
    for (int axis = 0; axis < array->rank; axis++) {
        region_name(e, dot->index[k][axis], name, sizeof name);
        text_printf(out, " + (%s < 0 ? %s + n%d : %s) * n%d", name, name, array->length[axis], name,
                    array->stride[axis]);
    }
}

/* np.dot copies vectors that go backwards or stand still, and multiplies what is one number. */
void
region_dot(Emit *e, int32_t at, const RegionFor *loop)
{
    const Instr *v = instr_at(e, at);
    const RegionLoop *r = e->kernel->region;
    const RegionDot *dot = &r->dots.at[v->operand];
    const char *t = dtype_name(v->dtype);
    char length[16];
    Text first[2] = {{0}};
    int stride[2];
    region_name(e, dot->length, length, sizeof length);
    for (int k = 0; k < 2; k++) {
        put_vector(e, dot, k, &first[k]);
        stride[k] = r->arrays.at[dot->array[k]].stride[dot->axis[k]];
    }
    region_look(e, loop, length, false);
    emit_line(e, "%s v%d = 0;", t, at);
    open_block(e, "");
    emit_line(e, "char *const data[] = {%s, %s, (char *)&v%d};", first[0].data, first[1].data, at);
    emit_line(e, "const int64_t strides[] = {n%d * %lld, n%d * %lld}, m = %s;", stride[0],
              (long long)dot->step[0], stride[1], (long long)dot->step[1], length);
    emit_line(e, "const KernelLoop *const loop = &args->loop[%d];", dot->loop);
    if (!dot->matmul) {
        emit_line(e, "if (m > 1 && (strides[0] <= 0 || strides[1] <= 0)) %s", REGION_FAIL);
        emit_line(e, "if (m == 1) v%d = *(%s *)data[0] * *(%s *)data[1];", at, t, t);
    }
    emit_line(e, "if (m > %d && loop->call(loop->context, data, &m, strides, loop->auxdata)) %s",
              !dot->matmul, REGION_FAIL);
    close_block(e);
    e->mark[at] = e->body;
    text_free(&first[0]);
    text_free(&first[1]);
}
