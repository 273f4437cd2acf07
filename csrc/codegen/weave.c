/* Several vectors in one turn of a loop, operation by operation.

   A body that is one long chain waits for each of its operations, some four cycles.  The processor
   does the next vector's meanwhile only as far as its window reaches, some 224 operations, and a
   long body is as long as that.  So the bodies of two or four vectors take turns:

       const f64x8 v2 = mul_f64x8(v0, v1);
       const f64x8 v2b = mul_f64x8(v0b, v1b);

   Measured, x = maximum(x * a + b, c) fifty times on 1,000 elements: f64 29.7 to 12.3 us, f32 17.5
   to 9.3.  The C compiler takes 65 ms more for these 600 lines, which is what MOST_LINES allows. */
#include "emit.h"

enum {
    MOST_WAYS = 4,
    MOST_LINES = 640,
    WINDOW = 224,   /* operations that the processor looks at together */
    LATENCY = 4,    /* cycles, of most operations … */
    SLOW = 20,      /* … and of a division, which also keeps others from beginning … */
    SLOW_EACH = 10, /* … for so many */
};

static const char *const suffixes[MOST_WAYS] = {"", "b", "c", "d"};

const char *
way_suffix(const Emit *e)
{
    return suffixes[e->way];
}

typedef struct {
    int count;   /* operations, loads and stores */
    int chain;   /* cycles of the longest chain */
    int halves;  /* half cycles that the operations take if none waits */
    int live;    /* values that are in registers at once */
    bool simple; /* there is nothing but plain operations */
} Body;

static bool
is_slow(Op op)
{
    return op == OP_divide || op == OP_reciprocal || op == OP_sqrt;
}

static bool
in_body(const Emit *e, int32_t at, int stage)
{
    const Instr *v = instr_at(e, at);
    return v->level == LEVEL_ELEMENT && v->stage == stage;
}

/* Adds the instruction, and sets when its value is ready. */
static void
add_to_body(const Emit *e, int32_t at, int stage, int32_t *ready, int32_t *last, Body *body)
{
    const Instr *v = instr_at(e, at);
    int after = 0;
    for (int a = 0; a < v->nargs; a++) {
        if (!in_body(e, v->args[a], stage)) continue;
        after = Py_MAX(after, ready[v->args[a]]);
        /* stores come last */
        last[v->args[a]] = v->kind == INSTR_STORE ? e->kernel->instrs.len : at;
    }
    body->count++;
    last[at] = at;
    switch (v->kind) {
    case INSTR_LOAD:
    case INSTR_STORE: body->halves++; break;
    case INSTR_OP:
        if (op_info(v->op)->flags & OPF_SPECIAL || op_info(v->op)->kind == KIND_PYTHON)
            body->simple = false;
        body->halves += is_slow(v->op) ? 2 * SLOW_EACH : 1;
        after += is_slow(v->op) ? SLOW : LATENCY;
        break;
    case INSTR_CONST:
    case INSTR_CHECK: break;
    default: body->simple = false; break;
    }
    ready[at] = after;
    body->chain = Py_MAX(body->chain, after);
}

static void
find_live(const Emit *e, int stage, const int32_t *last, Body *body)
{
    for (int at = 0; at < e->kernel->instrs.len; at++) {
        int live = 0;
        if (!in_body(e, at, stage)) continue;
        for (int before = 0; before <= at; before++)
            live += in_body(e, before, stage) && last[before] >= at;
        body->live = Py_MAX(body->live, live);
    }
}

/* How many vectors take turns; 1: none. */
int
weave_ways(const Emit *e, int stage)
{
    Body body = {.simple = true};
    int n = e->kernel->instrs.len, registers = e->vector_bytes == 64 ? 28 : 14;
    if (n < WINDOW / 8 || is_columns(e) || e->beside) return 1;
    int32_t *ready = mem_alloc(sizeof(int32_t) * (size_t)n * 2), *last;
    if (ready == NULL) {
        e->out->failed = true;
        return 1;
    }
    last = ready + n;
    for (int at = 0; at < n; at++)
        if (in_body(e, at, stage)) add_to_body(e, at, stage, ready, last, &body);
    int overlapping = Py_MAX(1, WINDOW / Py_MAX(1, body.count)), ways = 1;
    if (body.simple && body.chain / overlapping > body.halves && 2 * body.count <= MOST_LINES) {
        find_live(e, stage, last, &body);
        while (ways < MOST_WAYS && 2 * ways * body.live <= registers &&
               2 * ways * body.count <= MOST_LINES)
            ways *= 2;
    }
    mem_free(ready);
    return ways;
}

/* Moves a line from *text to the output; false at its end. */
static bool
put_line(Emit *e, const char **text)
{
    const char *end = strchr(*text, '\n');
    if (end == NULL) return false;
    text_printf(e->out, "%.*s", (int)(end + 1 - *text), *text);
    *text = end + 1;
    return true;
}

void
emit_woven(Emit *e, int stage, int lanes, int ways)
{
    Text *out = e->out, values[MOST_WAYS] = {{0}};
    char positions[MOST_WAYS][24];
    const char *lines[MOST_WAYS], *position = e->position;
    bool comments = e->comments;
    for (e->way = 0; e->way < ways; e->way++) {
        snprintf(positions[e->way], sizeof(positions[0]), e->way > 0 ? "(j + %d)" : "j",
                 e->way * lanes);
        e->position = positions[e->way];
        e->out = &values[e->way];
        e->comments = comments && e->way == 0;
        emit_values(e, stage, lanes);
        lines[e->way] = values[e->way].data != NULL ? values[e->way].data : "";
    }
    e->out = out;
    while (put_line(e, &lines[0]))
        for (int way = 1; way < ways; way++) put_line(e, &lines[way]);
    for (e->way = 0; e->way < ways; e->way++) {
        e->position = positions[e->way];
        emit_roots(e, stage, "a");
    }
    for (int way = 0; way < ways; way++) text_free(&values[way]);
    e->way = 0;
    e->position = position;
    e->comments = comments;
}
