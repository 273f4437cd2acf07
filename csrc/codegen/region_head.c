/* The loops of a kept loop as C: how often they turn, the bounds of ints in them and the checks of
   indices by them (quick variant), their heads, and looks for signals. */
#include "emit.h"

/* Iterations done without a look for a signal: at once of a loop that stands alone, or altogether.
   The quick variant is not for longer inner loops than LONG_INNER. */
enum { STRIP = 1 << 16, SHORT_STRIP = 1 << 10, LOOK_AFTER = 1 << 22, LONG_INNER = 1 << 25 };

/* ---- how often ---- */

/* One whose iterations are looked at all at once, before them: emit_innermost. */
static bool
is_counted_at_once(const Emit *e, const RegionFor *loop)
{
    return e->quick && loop->innermost && loop->around != NULL && !loop->endless &&
           loop->leaves < 0;
}

/* The number of iterations; a loop that CPython would end with an error fails. */
static void
emit_count(Emit *e, const RegionFor *loop, const char *fail)
{
    int k = loop->number;
    char start[16], stop[16], step[16];
    loop = region_head(e, loop);
    if (loop->endless) {
        emit_line(e, "enum { step%d = 1 };", k);
        emit_line(e, "const int64_t count%d = __INT64_MAX__;", k);
        return;
    }
    region_name(e, loop->start, start, sizeof start);
    region_name(e, loop->stop, stop, sizeof stop);
    region_name(e, loop->step, step, sizeof step);
    if (loop->by == 1 || loop->by == -1) {
        const char *low = loop->by == 1 ? start : stop, *high = loop->by == 1 ? stop : start;
        emit_line(e, "enum { step%d = %d };", k, (int)loop->by);
        emit_line(e, "const int64_t count%d = %s < %s ? %s - %s : 0;", k, low, high, high, low);
        if (!is_counted_at_once(e, loop))
            emit_line(e, "if (RARELY((uint64_t)count%d > 1ull << 40)) %s", k, fail);
        return;
    }
    emit_line(e, "const int64_t step%d = %s;", k, step);
    emit_line(e, "int64_t count%d = 0;", k);
    emit_line(e, "if (RARELY(step%d == 0)) %s", k, fail);
    emit_line(e, "if (step%d > 0 ? %s < %s : %s > %s) {", k, start, stop, start, stop);
    emit_line(e, "    const uint64_t span = step%d > 0 ? (uint64_t)%s - %s", k, stop, start);
    emit_line(e, "                                     : (uint64_t)%s - %s;", start, stop);
    emit_line(e, "    const uint64_t stride = step%d > 0 ? step%d : -(uint64_t)step%d;", k, k, k);
    emit_line(e, "    if (RARELY((span - 1) / stride >= 1ull << 40)) %s", fail);
    emit_line(e, "    count%d = (span - 1) / stride + 1;", k);
    emit_line(e, "}");
}

/* ---- bounds ---- */

static const char BOUNDS_MUL[] =
    "INLINE int bounds_mul(i64 a, i64 b, i64 c, i64 d, i64 *l, i64 *h) {\n"
    "    i64 p, q, r, s;\n"
    "    if (__builtin_mul_overflow(a, c, &p) | __builtin_mul_overflow(a, d, &q) |\n"
    "        __builtin_mul_overflow(b, c, &r) | __builtin_mul_overflow(b, d, &s)) return 1;\n"
    "    const i64 pq = p < q ? p : q, rs = r < s ? r : s, qp = p < q ? q : p, sr = r < s ? s : "
    "r;\n"
    "    *l = pq < rs ? pq : rs;\n"
    "    *h = qp > sr ? qp : sr;\n"
    "    return 0;\n"
    "}\n";

/* For a divisor that is positive. */
static const char BOUNDS_DIV[] =
    "INLINE i64 floor_div(i64 a, i64 b) { return a / b - (a % b < 0); }\n"
    "INLINE int bounds_div(i64 a, i64 b, i64 c, i64 d, i64 *l, i64 *h) {\n"
    "    if (c <= 0 || d <= 0) return 1;\n"
    "    *l = a < 0 ? floor_div(a, c) : floor_div(a, d);\n"
    "    *h = b < 0 ? floor_div(b, d) : floor_div(b, c);\n"
    "    return 0;\n"
    "}\n";

/* Of ints that doubles hold, divided by positive ones; of a quotient that becomes an int. */
static const char BOUNDS_QUOTIENT[] =
    "INLINE int bounds_quotient(i64 a, i64 b, i64 c, i64 d, f64 *l, f64 *h) {\n"
    "    const i64 top = (i64)1 << 53;\n"
    "    if (c <= 0 || d > top || a < -top || b > top) return 1;\n"
    "    *l = (f64)a / (f64)(a < 0 ? c : d);\n"
    "    *h = (f64)b / (f64)(b < 0 ? d : c);\n"
    "    return 0;\n"
    "}\n";

static int32_t
depth_of(const Emit *e, int32_t at)
{
    const RegionLoop *r = e->kernel->region;
    return r->home[at] < 0 ? -1 : r->loop[r->home[at]]->depth;
}

/* The lowest (or highest) of the value's, as far as known before a loop of that depth. */
static void
bound_name(const Emit *e, int32_t at, int32_t depth, char which, char *out, size_t size)
{
    const Instr *v = instr_at(e, at);
    if (v->kind == INSTR_CONST && depth_of(e, at) >= 0)
        snprintf(out, size, "(i64)0x%llxull", (unsigned long long)v->bits[0]);
    else if (depth_of(e, at) < depth)
        region_name(e, at, out, size);
    else
        snprintf(out, size, "%c%d", which, at);
}

static void
emit_index_bounds(Emit *e, int32_t at, const char *fail)
{
    const RegionLoop *r = e->kernel->region;
    const RegionFor *loop = r->loop[r->home[at]];
    int32_t depth = r->ranged[at];
    char low[32], high[32], step[32];
    bool down = loop->by < 0;
    if (loop->by == 0) { /* taken to go upwards */
        bound_name(e, loop->step, depth, 'l', step, sizeof step);
        emit_line(e, "if (RARELY(%s <= 0)) %s", step, fail);
    }
    bound_name(e, down ? loop->stop : loop->start, depth, 'l', low, sizeof low);
    bound_name(e, down ? loop->start : loop->stop, depth, 'h', high, sizeof high);
    emit_line(e, "const i64 l%d = %s%s, h%d = %s%s;", at, low, down ? " + 1" : "", at, high,
              down ? "" : " - 1");
}

static void
use_helper(Emit *e, const char *name, const char *text)
{
    if (prelude_first(e->prelude, name)) text_put(e->prelude->head, text);
}

static void
emit_value_bounds(Emit *e, int32_t at, const char *fail)
{
    const Instr *v = instr_at(e, at);
    int32_t depth = e->kernel->region->ranged[at];
    char l[2][32] = {"0", "0"}, h[2][32] = {"0", "0"};
    bool largest;
    for (int k = 0, from = v->op == OP_where; from + k < v->nargs && k < 2; k++) {
        bound_name(e, v->args[from + k], depth, 'l', l[k], sizeof l[k]);
        bound_name(e, v->args[from + k], depth, 'h', h[k], sizeof h[k]);
    }
    emit_line(e, "%s l%d, h%d;", dtype_name(v->dtype), at, at);
    switch (v->op) {
    case OP_py_div:
        use_helper(e, "bounds_quotient", BOUNDS_QUOTIENT);
        emit_line(e, "if (RARELY(bounds_quotient(%s, %s, %s, %s, &l%d, &h%d))) %s", l[0], h[0],
                  l[1], h[1], at, at, fail);
        break;
    case OP_where: {
        char than = region_extreme(e->kernel, at, &largest) && largest ? '>' : '<';
        emit_line(e, "l%d = %s %c %s ? %s : %s;", at, l[0], than, l[1], l[0], l[1]);
        emit_line(e, "h%d = %s %c %s ? %s : %s;", at, h[0], than, h[1], h[0], h[1]);
        break;
    }
    case OP_add:
    case OP_py_add:
        emit_line(e,
                  "if (RARELY(__builtin_add_overflow(%s, %s, &l%d) | "
                  "__builtin_add_overflow(%s, %s, &h%d))) %s",
                  l[0], l[1], at, h[0], h[1], at, fail);
        break;
    case OP_subtract:
    case OP_py_sub:
        emit_line(e,
                  "if (RARELY(__builtin_sub_overflow(%s, %s, &l%d) | "
                  "__builtin_sub_overflow(%s, %s, &h%d))) %s",
                  l[0], h[1], at, h[0], l[1], at, fail);
        break;
    case OP_negative:
    case OP_py_neg:
        emit_line(e,
                  "if (RARELY(__builtin_sub_overflow((i64)0, %s, &l%d) | "
                  "__builtin_sub_overflow((i64)0, %s, &h%d))) %s",
                  h[0], at, l[0], at, fail);
        break;
    case OP_multiply:
    case OP_py_mul:
        use_helper(e, "bounds_mul", BOUNDS_MUL);
        emit_line(e, "if (RARELY(bounds_mul(%s, %s, %s, %s, &l%d, &h%d))) %s", l[0], h[0], l[1],
                  h[1], at, at, fail);
        break;
    case OP_py_floordiv:
        use_helper(e, "bounds_div", BOUNDS_DIV);
        emit_line(e, "if (RARELY(bounds_div(%s, %s, %s, %s, &l%d, &h%d))) %s", l[0], h[0], l[1],
                  h[1], at, at, fail);
        break;
    case OP_py_mod:
        emit_line(e, "if (RARELY(%s <= 0)) %s", l[1], fail);
        emit_line(e, "l%d = 0, h%d = %s - 1;", at, at, h[1]);
        break;
    default: emit_line(e, "l%d = %s, h%d = %s;", at, l[0], at, h[0]); break;
    }
}

/* Has an earlier element the same index of an axis of the same length? */
static bool
checked_already(const Emit *e, const RegionFor *loop, int number, int axis)
{
    const RegionLoop *r = e->kernel->region;
    const RegionElement *element = &r->elements.at[number];
    int32_t length = r->arrays.at[element->array].length[axis];
    for (int i = 0; i <= number; i++) {
        const RegionElement *other = &r->elements.at[i];
        if (!region_within(r, loop, other->instr)) continue;
        int rank = i < number ? r->arrays.at[other->array].rank : axis;
        for (int k = 0; k < rank; k++)
            if (other->checked[k] == loop->depth && other->index[k] == element->index[axis] &&
                r->arrays.at[other->array].length[k] == length)
                return true;
    }
    return false;
}

static void
emit_check(Emit *e, const RegionFor *loop, const RegionElement *element, int axis, const char *fail)
{
    int32_t length = e->kernel->region->arrays.at[element->array].length[axis];
    int32_t at = element->index[axis];
    const Instr *v = instr_at(e, at);
    char low[32], high[32];
    if (v->kind == INSTR_CONST && (int64_t)v->bits[0] < 0) {
        emit_line(e, "if (RARELY(n%d < -(i64)0x%llxull)) %s", length,
                  (unsigned long long)v->bits[0], fail);
        return;
    }
    bound_name(e, at, loop->depth, 'l', low, sizeof low);
    bound_name(e, at, loop->depth, 'h', high, sizeof high);
    emit_line(e, "if (RARELY((%s < 0) | (%s >= n%d))) %s", low, high, length, fail);
}

/* The bounds that can be computed before this loop, and the checks of indices that have them. */
static void
emit_bounds(Emit *e, const RegionFor *loop, const char *fail)
{
    const RegionLoop *r = e->kernel->region;
    for (int32_t at = r->body; at < e->kernel->instrs.len; at++) {
        const Instr *v = instr_at(e, at);
        if (!region_bounded(r, at) || r->ranged[at] != loop->depth || !region_within(r, loop, at) ||
            v->kind == INSTR_CONST)
            continue;
        if (v->kind == INSTR_INDEX)
            emit_index_bounds(e, at, fail);
        else
            emit_value_bounds(e, at, fail);
    }
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *element = &r->elements.at[i];
        if (!region_within(r, loop, element->instr)) continue;
        for (int axis = 0; axis < r->arrays.at[element->array].rank; axis++)
            if (element->checked[axis] == loop->depth && !checked_already(e, loop, i, axis))
                emit_check(e, loop, element, axis, fail);
    }
}

/* ---- heads ---- */

/* A counter is far from the ends of int64: lower/region_carried.c. */
static void
emit_far(Emit *e, int32_t variable)
{
    emit_line(e, "if (RARELY((uint64_t)x%d + (1ull << 61) > 1ull << 62)) %s", variable,
              REGION_FAIL);
}

void
region_look(Emit *e, const RegionFor *loop, const char *iterations, bool at_once)
{
    emit_line(e, "if (RARELY(%s(turns += %s) > %d)) {", at_once ? "(uint64_t)" : "", iterations,
              LOOK_AFTER);
    e->indent++;
    if (at_once) emit_line(e, "if ((uint64_t)%s > %d) %s", iterations, LONG_INNER, REGION_FAIL);
    emit_line(e, "turns = 0;");
    emit_line(e, "if (log->stop(log)) %s", REGION_FAIL);
    for (; e->quick && loop != NULL; loop = loop->around)
        for (int i = 0; i < loop->carried.len; i++)
            if (loop->carried.at[i].counts) emit_far(e, loop->carried.at[i].variable);
    e->indent--;
    emit_line(e, "}");
}

/* What is taken for granted of ints that are carried where a loop begins. */
static void
emit_carried(Emit *e, const RegionFor *loop)
{
    for (int i = 0; e->quick && i < loop->carried.len; i++) {
        const RegionCarried *c = &loop->carried.at[i];
        if (c->counts && !c->continues) emit_far(e, c->variable);
        if (loop->shrinks == c->variable)
            emit_line(e, "if (RARELY(x%d < %s)) %s", c->variable,
                      loop->ends_below ? "-(1ll << 62)" : "0", REGION_FAIL);
    }
}

/* One that makes few iterations, though nobody knows how many. */
static void
emit_shrinking(Emit *e, const RegionFor *loop)
{
    char text[64];
    region_look(e, loop->around, "64", false);
    emit_carried(e, loop);
    snprintf(text, sizeof text, "for (int64_t t%d = 0;; t%d++) ", loop->number, loop->number);
    open_block(e, text);
    region_body(e, loop);
    close_block(e);
}

/* One whose outcome is known: region_bits.c.  Where the loop around is independent it is looked at
   afterwards whether the int was negative. */
static void
emit_bits(Emit *e, const RegionFor *loop)
{
    const RegionFor *around = loop->around;
    if (around != NULL && around->innermost && around->independent)
        emit_line(e, "over%d |= x%d;", around->number, loop->bits);
    else
        emit_line(e, "if (RARELY(x%d < 0)) %s", loop->bits, REGION_FAIL);
    emit_line(e, "const i64 bits%d = __builtin_popcountll(x%d);", loop->number, loop->bits);
    for (int i = 0; i < loop->carried.len; i++) {
        const RegionCarried *c = &loop->carried.at[i];
        if (c->variable == loop->bits)
            emit_line(e, "x%d = 0;", c->variable);
        else if (c->variable == loop->leaves)
            emit_line(e, "x%d = 1;", c->variable);
        else {
            int64_t first;
            bool near = region_constant(e->kernel, c->first, &first) &&
                        first > -(INT64_C(1) << 61) && first < INT64_C(1) << 61;
            if (!near) emit_far(e, c->variable);
            emit_line(e, "x%d += bits%d * %lld;", c->variable, loop->number, (long long)c->each);
        }
    }
}

/* Does it count bits?  Of that gcc makes no vectors without AVX-512. */
static bool
counts_bits(const RegionFor *loop)
{
    for (int i = 0; i < loop->body.len; i++)
        if (loop->body.at[i].loop != NULL && loop->body.at[i].loop->bits >= 0) return true;
    return false;
}

/* A loop of few operations in which an iteration waits for the one before, or whose step is a
   variable, so that the C compiler makes no vectors of it.  Four iterations at a time take 0.75 of
   the time in a search for the largest, in shortest paths and in a bubble sort
   (benchmarks/loop_programs.py).  Not where iterations of the loop around are done together: these
   wait for nothing, and are long for the C compiler. */
static bool
is_short_chain(const Emit *e, const RegionFor *loop)
{
    enum { SHORT = 24 };
    int operations = 0;
    if (instr_at(e, loop->index)->operand >= 0) return false; /* of lanes */
    for (int32_t at = e->kernel->region->body; at < e->kernel->instrs.len; at++)
        operations += e->kernel->region->home[at] == loop->number &&
                      instr_at(e, at)->kind != INSTR_CARRIED &&
                      instr_at(e, at)->kind != INSTR_CONST;
    bool vectors =
        loop->independent && loop->carried.len == 0 && loop->by != 0 && !counts_bits(loop);
    return loop->leaves < 0 && operations <= SHORT && !vectors;
}

/* A turn that calls a ufunc's loop takes as long as so many others. */
static int
turn_weight(const Emit *e, const RegionFor *loop)
{
    enum { CALL_WEIGHT = 16 };
    int weight = 1;
    for (int32_t at = e->kernel->region->body; at < e->kernel->instrs.len; at++)
        if (e->kernel->region->home[at] == loop->number && instr_at(e, at)->kind == INSTR_CALL)
            weight += CALL_WEIGHT;
    return weight;
}

/* One that goes on until it is left. */
static void
emit_endless(Emit *e, const RegionFor *loop)
{
    char text[64];
    emit_carried(e, loop);
    snprintf(text, sizeof text, "for (int64_t t%d = 0;; t%d++) ", loop->number, loop->number);
    open_block(e, text);
    snprintf(text, sizeof text, "%d", turn_weight(e, loop));
    region_look(e, loop, text, false);
    region_body(e, loop);
    close_block(e);
}

/* An innermost loop, with what is done before its iterations.  One that stands alone is cut into
   strips, since it may be long, and one that may be left, since nobody knows. */
static void
emit_innermost(Emit *e, const RegionFor *loop)
{
    int k = loop->number, most = loop->leaves >= 0 ? SHORT_STRIP : STRIP;
    int weight = turn_weight(e, loop);
    bool strips = loop->around == NULL || loop->leaves >= 0;
    char text[96], more[24] = "";
    if (strips) emit_carried(e, loop);
    if (loop->leaves >= 0) snprintf(more, sizeof more, " && !x%d", loop->leaves);
    if (strips) {
        snprintf(text, sizeof text, "for (int64_t from%d = 0; from%d < count%d%s;) ", k, k, k,
                 more);
        open_block(e, text);
        emit_line(e, "const int64_t to%d = count%d - from%d > %d ? from%d + %d : count%d;", k, k, k,
                  most, k, most, k);
        snprintf(text, sizeof text, weight > 1 ? "(to%d - from%d) * %d" : "to%d - from%d", k, k,
                 weight);
    } else {
        snprintf(text, sizeof text, "if (count%d != 0) ", k);
        open_block(e, text);
        emit_line(e, "const int64_t from%d = 0, to%d = count%d;", k, k, k);
        snprintf(text, sizeof text, weight > 1 ? "count%d * %d" : "count%d", k, weight);
    }
    region_look(e, strips ? loop : loop->around, text, !strips);
    if (!strips) emit_carried(e, loop);
    region_before_iterations(e, loop);
    if (loop->independent) emit_line(e, "#pragma GCC ivdep");
    if (is_short_chain(e, loop)) emit_line(e, "#pragma GCC unroll 4");
    snprintf(text, sizeof text, "for (int64_t t%d = from%d; t%d < to%d; t%d++) ", k, k, k, k, k);
    open_block(e, text);
    region_body(e, loop);
    close_block(e);
    region_after_iterations(e, loop);
    if (strips) emit_line(e, "from%d = to%d;", k, k);
    close_block(e);
}

void
region_begin(Emit *e)
{
    emit_count(e, e->kernel->region->top, "return 1;");
    region_log(e);
}

void
region_loop(Emit *e, const RegionFor *loop)
{
    int k = loop->number;
    bool outermost = loop == e->kernel->region->top;
    const char *fail = outermost ? "return 1;" : REGION_FAIL;
    char head[96], first[32];
    if (e->quick && !outermost && loop->bits >= 0) {
        emit_bits(e, loop);
        return;
    }
    emit_count(e, loop, fail);
    if (e->quick) emit_bounds(e, loop, fail);
    if (outermost) region_log(e);
    if (loop->folds != OP_input) {
        region_fold(e, loop);
        return;
    }
    if (e->quick && loop->innermost) {
        if (loop->shrinks >= 0)
            emit_shrinking(e, loop);
        else if (loop->endless)
            emit_endless(e, loop);
        else
            emit_innermost(e, loop);
        return;
    }
    emit_carried(e, loop);
    snprintf(first, sizeof first, "int64_t t%d = 0", k);
    if (e->quick && loop->together > 0) {
        first[0] = '\0';
        emit_line(e, "int64_t t%d = 0;", k);
        snprintf(head, sizeof head, "for (; t%d + %d <= count%d; t%d += %d) ", k, loop->together, k,
                 k, loop->together);
        open_block(e, head);
        region_look(e, loop, "1", false);
        region_lanes_body(e, loop);
        close_block(e);
    }
    snprintf(head, sizeof head, "for (%s; t%d < count%d; t%d++) ", first, k, k, k);
    open_block(e, head);
    snprintf(head, sizeof head, "%d",
             e->quick ? turn_weight(e, loop) : Py_MAX(64, turn_weight(e, loop)));
    region_look(e, loop, head, false);
    region_body(e, loop);
    close_block(e);
}
