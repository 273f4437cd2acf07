/* Reductions in kept loops, as C: `(a[i, :k] * b[:k]).sum()`.

   The iterations are done in strips, each of which keeps its numbers in `each`; a helper then
   reduces them.  The strips of a sum of floats are the leaves of NumPy's pairwise sum, walked with
   a stack of the right halves that remain, as in row.c.

   Of a max or min of floats with a NaN, or that is a zero of either sign, NumPy's order says which
   one it is: then the loop fails. */
#include "emit.h"

enum { LEAF = 128 };

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

static const char EXTREME_INTS[] =
    "INLINE %s loop_%s_%s(const %s *each, int64_t n, %s m) {\n"
    "    for (int64_t j = 0; j < n; j++) m = each[j] %s m ? each[j] : m;\n"
    "    return m;\n"
    "}\n";

/* `odd`: bit 0 if there was a NaN, 1 for a zero, 2 for a negative one. */
static const char EXTREME_FLOATS[] =
    "INLINE %s loop_%s_%s(const %s *each, int64_t n, %s m, int *odd) {\n"
    "    %s nan = 0, zero = 0, minus = 0;\n"
    "    for (int64_t j = 0; j < n; j++) {\n"
    "        const %s x = each[j];\n"
    "        %s bits;\n"
    "        __builtin_memcpy(&bits, &x, sizeof x);\n"
    "        nan |= x != x;\n"
    "        zero |= bits == 0;\n"
    "        minus |= bits == (%s)1 << (8 * sizeof x - 1);\n"
    "        m = x %s m ? x : m;\n"
    "    }\n"
    "    *odd |= (int)(nan | zero << 1 | minus << 2);\n"
    "    return m;\n"
    "}\n";

static void
use_helper(Emit *e, const RegionFor *loop, DType dtype)
{
    const char *t = dtype_name(dtype), *than = loop->folds == OP_loop_max ? ">" : "<";
    const char *which = loop->folds == OP_loop_max ? "max" : "min";
    bool sum = loop->folds == OP_loop_sum;
    char name[32];
    Text *head = e->prelude->head;
    snprintf(name, sizeof name, "%s_%s", sum ? "sum" : which, t);
    if (!prelude_first(e->prelude, name)) return;
    if (sum && dtype_is_float(dtype))
        text_printf(head, SUM_FLOATS, t, t, t, t, t, t, t, t, t, t);
    else if (sum)
        text_printf(head, SUM_INTS, t, t, t, t, t);
    else if (dtype_is_float(dtype)) {
        const char *bits = dtype == DT_F32 ? "__UINT32_TYPE__" : "__UINT64_TYPE__";
        text_printf(head, EXTREME_FLOATS, t, which, t, t, t, bits, t, bits, bits, than);
    } else
        text_printf(head, EXTREME_INTS, t, which, t, t, t, than);
}

/* The iterations from `from` to `to`. */
static void
emit_strip(Emit *e, const RegionFor *loop)
{
    int k = loop->number;
    char text[96];
    if (e->quick) region_before_iterations(e, loop);
    region_row_calls(e, loop);
    if (e->quick && loop->independent) emit_line(e, "#pragma GCC ivdep");
    snprintf(text, sizeof text, "for (int64_t t%d = from%d; t%d < to%d; t%d++) ", k, k, k, k, k);
    open_block(e, text);
    region_body(e, loop);
    close_block(e);
    e->strip = NULL;
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
    emit_line(e, "while (length%d > %d) {", k, LEAF);
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

/* Strips whose results are combined in any order. */
static void
emit_strips(Emit *e, const RegionFor *loop, const char *first, const char *combine)
{
    int k = loop->number;
    char text[64];
    emit_line(e, "x%d = %s;", loop->folded, first);
    snprintf(text, sizeof text, "while (from%d < count%d) ", k, k);
    open_block(e, text);
    emit_line(e, "const int64_t to%d = count%d - from%d > %d ? from%d + %d : count%d;", k, k, k,
              LEAF, k, LEAF, k);
    emit_strip(e, loop);
    emit_line(e, "x%d = %s(each%d, n%d_here, x%d%s);", loop->folded, combine, k, k, loop->folded,
              strncmp(combine, "loop_", 5) == 0 && strstr(combine, "_f") ? ", &odd" : "");
    close_block(e);
}

/* Infinity or the most that the dtype has, where the loop starts. */
static void
put_first(DType dtype, bool largest, char *out, size_t size)
{
    int bits = 8 * (int)dtype_size(dtype);
    const char *t = dtype_name(dtype);
    if (dtype_is_float(dtype))
        snprintf(out, size, "%s(%s)__builtin_inf()", largest ? "-" : "", t);
    else if (!dtype_is_signed(dtype))
        snprintf(out, size, "%s(%s)0", largest ? "" : "~", t);
    else
        snprintf(out, size, "(%s)(%s(uint64_t)1 << %d%s)", t, largest ? "" : "(", bits - 1,
                 largest ? "" : ") - 1");
}

static void
emit_extreme(Emit *e, const RegionFor *loop, DType dtype)
{
    bool largest = loop->folds == OP_loop_max;
    char first[64], combine[32];
    put_first(dtype, largest, first, sizeof first);
    snprintf(combine, sizeof combine, "loop_%s_%s", largest ? "max" : "min", dtype_name(dtype));
    emit_line(e, "if (count%d == 0) %s", loop->number, REGION_FAIL);
    if (dtype_is_float(dtype)) emit_line(e, "int odd = 0;");
    emit_strips(e, loop, first, combine);
    if (dtype_is_float(dtype))
        emit_line(e, "if (RARELY((odd & 1) || (x%d == 0 && odd >= 6))) %s", loop->folded,
                  REGION_FAIL);
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
    use_helper(e, loop, dtype);
    snprintf(text, sizeof text, "count%d", k);
    region_look(e, loop->around, text, true);
    emit_line(e, "%s each%d[%d] __attribute__((aligned(64)));", t, k, LEAF);
    emit_line(e, "int64_t from%d = 0;", k);
    if (loop->folds != OP_loop_sum)
        emit_extreme(e, loop, dtype);
    else if (dtype_is_float(dtype))
        emit_pairwise(e, loop, t);
    else {
        snprintf(text, sizeof text, "sum_%s", t);
        emit_strips(e, loop, "0", text);
    }
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
