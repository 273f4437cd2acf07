/* Drives as C: see lower/drive.c.  The text has the numbers of buffers and of sizes, and no sizes.
 */
#include "emit.h"

static const char DRIVE_ABI_TEXT[] =
    "typedef struct KernelDrive {\n"
    "    char *const *data;      /* by buffer */\n"
    "    int64_t *size;          /* by size */\n"
    "    const int64_t *grain;   /* by step: of more units of a kernel other threads take some */\n"
    "    const KernelLoop *loop; /* block calls of all kernels, one after the other */\n"
    "    char *scratch;          /* 64-byte aligned */\n"
    "    unsigned raised, told;  /* flags so far, of known modes above; those that end the run */\n"
    "    int64_t step;           /* that has failed, or raised one that ends the run */\n"
    "    void (*clear)(void);\n"
    "    unsigned (*read)(void); /* the flags since `clear` */\n"
    "    /* A signal came?  The plan does a step.  Nonzero: end */\n"
    "    int (*stop)(struct KernelDrive *drive);\n"
    "    int (*plan)(struct KernelDrive *drive, int64_t step);\n"
    "} KernelDrive;\n";

static const char HELPERS_TEXT[] =
    "typedef __UINT64_TYPE__ uint64_t;\n"
    "/* as size_apply in graph/size.c */\n"
    "static inline int64_t size_sum(int64_t a, int64_t b)\n"
    "{\n"
    "    return (int64_t)((uint64_t)a + (uint64_t)b);\n"
    "}\n"
    "static inline int64_t size_times(int64_t a, int64_t b)\n"
    "{\n"
    "    return (int64_t)((uint64_t)a * (uint64_t)b);\n"
    "}\n"
    "static inline int64_t size_least(int64_t a, int64_t b) { return a < b ? a : b; }\n"
    "static inline int64_t size_most(int64_t a, int64_t b) { return a > b ? a : b; }\n"
    "static inline int64_t size_quotient(int64_t a, int64_t b)\n"
    "{\n"
    "    if (b == 0 || b == -1) return b == 0 ? 0 : size_times(a, -1);\n"
    "    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));\n"
    "}\n"
    "static inline int64_t size_rest(int64_t a, int64_t b)\n"
    "{\n"
    "    if (b == 0 || b == -1) return 0;\n"
    "    return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);\n"
    "}\n"
    "/* Kernels that call no loops leave the flags of the x87 unit as they are, and mostly raise "
    "none. */\n"
    "#if defined(__x86_64__)\n"
    "#define MAY_HAVE_FLAGS(calls) (calls || __builtin_ia32_stmxcsr() & 29)\n"
    "#else\n"
    "#define MAY_HAVE_FLAGS(calls) 1\n"
    "#endif\n"
    "/* the flags of a kernel whose modes are known for `known`, which the program is told of "
    "`reported` */\n"
    "static void raise_flags(KernelDrive *drive, int64_t step, unsigned known, unsigned reported)\n"
    "{\n"
    "    const unsigned raised = drive->read();\n"
    "    drive->raised |= (raised & ~known) | (raised & reported) << 4;\n"
    "    if (drive->raised & drive->told && drive->step < 0) drive->step = step;\n"
    "}\n";

static const char *const size_functions[] = {
    [SIZE_ADD] = "size_sum",  [SIZE_MUL] = "size_times",   [SIZE_FLOOR_DIV] = "size_quotient",
    [SIZE_MOD] = "size_rest", [SIZE_LEAST] = "size_least", [SIZE_MOST] = "size_most",
};

typedef struct {
    const Graph *graph;
    const Program *program;
    Text *out;
    const int32_t *first_loop; /* by step of the program */
} Writer;

static void
put_place(const Writer *w, Place place)
{
    text_printf(w->out, "drive->data[%d]", place.buffer);
    bool none = size_is_const(w->graph, place.offset) && size_value(w->graph, place.offset) == 0;
    if (!none) text_printf(w->out, " + drive->size[%d]", place.offset);
}

static void
put_plan(const Writer *w, int number)
{
    text_printf(w->out, "    if (drive->plan(drive, %d)) return 1;\n", number);
}

/* ---- steps ---- */

static void
put_call(const Writer *w, const KernelStep *s, int number)
{
    text_put(w->out, "            char *const ptr[] = {");
    for (int i = 0; i < s->nplaces; i++) {
        put_place(w, s->places[i]);
        text_put(w->out, ", ");
    }
    text_put(w->out, "0};\n            const int64_t size[] = {");
    for (int i = 0; i < s->nsizes; i++) text_printf(w->out, "drive->size[%d], ", s->sizes[i]);
    text_printf(
        w->out,
        "0};\n"
        "            const KernelArgs args = {ptr, size, drive->loop + %d, drive->scratch};\n",
        w->first_loop[number]);
    if (s->checks_flags)
        text_printf(w->out, "            if (MAY_HAVE_FLAGS(%d)) drive->clear();\n", s->nloops > 0);
    text_printf(w->out,
                "            if (k%d(&args, 0, units)) {\n"
                "                drive->step = %d;\n"
                "                return 1;\n"
                "            }\n",
                s->kernel, number);
    if (s->checks_flags)
        text_printf(w->out,
                    "            __asm__ volatile(\"\" ::: \"memory\");\n"
                    "            if (MAY_HAVE_FLAGS(%d)) raise_flags(drive, %d, %uu, %uu);\n",
                    s->nloops > 0, number, (unsigned)s->errors >> 4, s->errors & 15u);
}

/* Of a single unit no other thread takes any. */
static void
put_kernel(const Writer *w, const KernelStep *s, int number)
{
    bool single = size_is_const(w->graph, s->units) && size_value(w->graph, s->units) == 1;
    text_put(w->out, "    {\n");
    if (single)
        text_put(w->out, "        const int64_t units = 1;\n        {\n");
    else
        text_printf(w->out,
                    "        const int64_t units = drive->size[%d];\n"
                    "        if (units > drive->grain[%d]) {\n"
                    "            if (drive->plan(drive, %d)) return 1;\n"
                    "        } else if (units != 0) {\n",
                    s->units, number, number);
    put_call(w, s, number);
    text_put(w->out, "        }\n    }\n");
}

/* Sizes come behind those that they are of. */
static void
put_measure(const Writer *w, const MeasureStep *m)
{
    const Graph *g = w->graph;
    bool *has = mem_alloc((size_t)g->sizes.len + 1);
    for (SizeId id = 0; has != NULL && id < g->sizes.len; id++) {
        const Size *size = &g->sizes.at[id];
        if (size->kind == SIZE_NUMBER && size->node == m->node) {
            has[id] = true;
            text_printf(w->out, "    __builtin_memcpy(&drive->size[%d], ", id);
            put_place(w, m->from);
            text_put(w->out, ", 8);\n");
        } else if (size->kind >= SIZE_ADD && (has[size->a] || has[size->b])) {
            has[id] = true;
            text_printf(w->out, "    drive->size[%d] = %s(drive->size[%d], drive->size[%d]);\n", id,
                        size_functions[size->kind], size->a, size->b);
        }
    }
    mem_free(has);
}

/* All at once. */
static void
put_moves(const Writer *w, const CarryStep *c)
{
    for (int i = 0; i < c->nmoves; i++) {
        DType dtype = (DType)w->program->buffers.at[c->to[i]].type.dtype;
        text_printf(w->out, "    char move%d[%d];\n    __builtin_memcpy(move%d, ", i,
                    (int)dtype_size(dtype), i);
        put_place(w, c->from[i]);
        text_printf(w->out, ", sizeof move%d);\n", i);
    }
    for (int i = 0; i < c->nmoves; i++)
        text_printf(w->out, "    __builtin_memcpy(drive->data[%d], move%d, sizeof move%d);\n",
                    c->to[i], i, i);
}

static void
put_carry(const Writer *w, const Step *step, int number)
{
    const CarryStep *c = &step->carry;
    text_put(w->out, "    if (drive->stop(drive)) return 1;\n");
    if (!step_is_driven(w->program, step))
        put_plan(w, number);
    else {
        text_put(w->out, "    if (drive->raised & drive->told) return 1;\n    {\n");
        put_moves(w, c);
        text_put(w->out, "    }\n");
    }
    if (c->condition.buffer == NO_BUFFER) return;
    text_put(w->out, "    if (*(");
    put_place(w, c->condition);
    text_printf(w->out, ")) goto step%d;\n", c->target);
}

static void
put_jump(const Writer *w, const JumpStep *jump)
{
    text_put(w->out, "    ");
    if (jump->condition.buffer != NO_BUFFER) {
        text_put(w->out, "if (!*(");
        put_place(w, jump->condition);
        text_put(w->out, ")) ");
    }
    text_printf(w->out, "goto step%d;\n", jump->target);
}

static void
put_step(const Writer *w, int number)
{
    const Step *step = &w->program->steps.at[number];
    if (step->kind == STEP_CARRY)
        put_carry(w, step, number);
    else if (!step_is_driven(w->program, step))
        put_plan(w, number);
    else if (step->kind == STEP_JUMP)
        put_jump(w, &step->jump);
    else if (step->kind == STEP_MEASURE)
        put_measure(w, &step->measure);
    else
        put_kernel(w, &step->kernel, number);
}

/* ---- the functions ---- */

static void
put_drive(const Writer *w, int number)
{
    const Drive *drive = &w->program->drives.at[number];
    bool *labelled = mem_alloc((size_t)w->program->steps.len + 1);
    if (labelled == NULL) return; /* the text is not finished: text_finish */
    for (int i = drive->first; i <= drive->last; i++) {
        const Step *step = &w->program->steps.at[i];
        if (step->kind == STEP_JUMP) labelled[step->jump.target] = true;
        if (step->kind == STEP_CARRY && step->carry.condition.buffer != NO_BUFFER)
            labelled[step->carry.target] = true;
    }
    text_printf(w->out, "\nint\ndrive%d(KernelDrive *drive)\n{\n", number);
    for (int i = drive->first; i <= drive->last + 1; i++) {
        if (labelled[i]) text_printf(w->out, "step%d:;\n", i);
        if (i <= drive->last) put_step(w, i);
    }
    text_put(w->out, "    return 0;\n}\n");
    mem_free(labelled);
}

void
drive_head(const Program *program, Text *out)
{
    if (program->drives.len == 0) return;
    text_put(out, DRIVE_ABI_TEXT);
    text_put(out, HELPERS_TEXT);
    for (int i = 0; i < program->kernels.len; i++)
        text_printf(out,
                    "__attribute__((noinline)) int k%d(const KernelArgs *args, int64_t begin, "
                    "int64_t end);\n",
                    i);
}

int
drive_write(const Graph *graph, const Program *program, Text *out)
{
    int32_t *first = mem_alloc(sizeof(int32_t) * ((size_t)program->steps.len + 1));
    Writer w = {graph, program, out, first};
    if (first == NULL) return -1;
    for (int d = 0; d < program->drives.len; d++) {
        int32_t loops = 0;
        for (int i = program->drives.at[d].first; i <= program->drives.at[d].last; i++) {
            first[i] = loops;
            if (program->steps.at[i].kind == STEP_KERNEL)
                loops += program->steps.at[i].kernel.nloops;
        }
        put_drive(&w, d);
    }
    mem_free(first);
    return 0;
}
