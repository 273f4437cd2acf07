/* Drives as C: see lower/drive.c.  The text has the numbers of buffers and of sizes, and no sizes.

   Signals are looked for, and flags of kernels whose flags mean the same, once in so many turns.
   No flag is up where a kernel begins, but of those that are looked at later. */
#include "drive.h"

const char DRIVE_ABI_TEXT[] =
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
    "    /* A signal came in these turns?  The plan does a step.  Nonzero: end */\n"
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
    "static inline int64_t size_same(int64_t a, int64_t b) { return a == b; }\n"
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
    "static inline unsigned x87_flags(void)\n"
    "{\n"
    "    unsigned short status;\n"
    "    __asm__ volatile(\"fnstsw %0\" : \"=a\"(status));\n"
    "    return status;\n"
    "}\n"
    "#define MAY_HAVE_FLAGS(calls) ((__builtin_ia32_stmxcsr() | (calls ? x87_flags() : 0)) & 29)\n"
    "#else\n"
    "#define MAY_HAVE_FLAGS(calls) 1\n"
    "#endif\n"
    "/* the flags of a kernel whose modes are known for `known`, which the program is told of "
    "`reported` */\n"
    "static unsigned take_flags(KernelDrive *drive, unsigned known, unsigned reported)\n"
    "{\n"
    "    const unsigned raised = drive->read();\n"
    "    drive->clear();\n"
    "    return (raised & ~known) | (raised & reported) << 4;\n"
    "}\n"
    "static __attribute__((noinline)) void raise_flags(KernelDrive *drive, int64_t step,\n"
    "                                                  unsigned known, unsigned reported)\n"
    "{\n"
    "    drive->raised |= take_flags(drive, known, reported);\n"
    "    if (drive->raised & drive->told && drive->step < 0) drive->step = step;\n"
    "}\n";

/* Kept loops that store nothing need no more of a log. */
static const char KEPT_LOOPS_TEXT[] =
    "typedef struct {\n"
    "    KernelLog seen;\n"
    "    KernelDrive *drive;\n"
    "    int stopped;\n"
    "} DriveLog;\n"
    "static int log_nothing(KernelLog *log) { return 0; }\n"
    "static int log_stop(KernelLog *log)\n"
    "{\n"
    "    DriveLog *const own = (DriveLog *)log;\n"
    "    return own->stopped = own->drive->stop(own->drive);\n"
    "}\n"
    "/* Is a flag up that the program would be told of, perhaps for nothing? */\n"
    "static __attribute__((noinline)) int guesses_wrong(KernelDrive *drive, unsigned known,\n"
    "                                                   unsigned reported)\n"
    "{\n"
    "    const unsigned flags = take_flags(drive, known, reported);\n"
    "    if (flags & drive->told) return 1;\n"
    "    drive->raised |= flags;\n"
    "    return 0;\n"
    "}\n";

static const char *const size_functions[] = {
    [SIZE_ADD] = "size_sum",   [SIZE_MUL] = "size_times",   [SIZE_FLOOR_DIV] = "size_quotient",
    [SIZE_MOD] = "size_rest",  [SIZE_LEAST] = "size_least", [SIZE_MOST] = "size_most",
    [SIZE_SAME] = "size_same",
};

/* Turns between two looks. */
enum { TURNS = 64 };

/* ---- flags ---- */

/* A loop of a ufunc's may use the x87 unit, which kernels and what multiplies in NumPy do not. */
static bool
uses_x87(const Program *p, const KernelStep *s)
{
    return s->nloops > 0 && p->kernels.at[s->kernel]->kind != KERNEL_CALL;
}

static void
put_look(const DriveText *d, const KernelStep *s, int number)
{
    text_printf(d->out,
                "    __asm__ volatile(\"\" ::: \"memory\");\n"
                "    if (%sMAY_HAVE_FLAGS(%d)) raise_flags(drive, %d, %uu, %uu);\n",
                d->program->quiet ? "drive->told && " : "", uses_x87(d->program, s), number,
                (unsigned)s->errors >> 4, s->errors & 15u);
}

/* Those that were to be looked at later. */
static void
put_late_look(const DriveText *d)
{
    if (d->looks_later) put_look(d, &d->program->steps.at[d->flagged].kernel, d->flagged);
}

/* Behind what may raise any that nobody looks at. */
static void
put_clear(DriveText *d, bool calls)
{
    if (d->flagged < 0) return;
    text_printf(d->out, "    if (MAY_HAVE_FLAGS(%d)) drive->clear();\n", calls);
    drive_put_anchors(d);
}

/* May it raise flags?  Python's operations on floats do, and those of loops that are called. */
static bool
raises(const Program *p, const KernelStep *s)
{
    const Kernel *k = p->kernels.at[s->kernel];
    bool found = s->nloops > 0;
    for (int i = 0; i < k->instrs.len && !found; i++) {
        const Instr *v = &k->instrs.at[i];
        bool moves = v->kind == INSTR_LOAD || v->kind == INSTR_CONST || v->kind == INSTR_STORE;
        bool silent = v->kind == INSTR_OP && op_info(v->op)->kind != KIND_PYTHON &&
                      op_info(v->op)->flags & OPF_NO_FLAGS;
        bool floats = dtype_is_float(v->dtype) || dtype_is_complex(v->dtype) ||
                      dtype_is_float(v->from) || dtype_is_complex(v->from);
        found = floats && !moves && !silent;
    }
    return found;
}

bool
codegen_looks_once(const Program *p)
{
    int looks = 0;
    bool once = true;
    for (int i = 0; i < p->steps.len; i++) {
        const KernelStep *s = &p->steps.at[i].kernel;
        if (p->steps.at[i].kind != STEP_KERNEL) continue;
        once = once && !s->region && (!s->checks_flags || s->errors == 0);
        looks += s->checks_flags;
    }
    return once && looks > 0;
}

/* ---- steps ---- */

static bool
is_kept_loop(const Program *p, const Step *step)
{
    return step->kind == STEP_KERNEL && step->kernel.region && step_is_driven(p, step);
}

/* The function by which sizes in the plan's memory become what those in variables are. */
static void
put_sizes_function(const DriveText *d)
{
    const Graph *g = d->graph;
    if (!drive_measures(d)) return;
    text_printf(d->out,
                "\nstatic __attribute__((noinline)) void\n"
                "sizes%d(KernelDrive *drive",
                d->number);
    for (SizeId id = 0; id < g->sizes.len; id++)
        if (d->measured[id] && g->sizes.at[id].kind == SIZE_NUMBER)
            text_printf(d->out, ", int64_t s%d", id);
    text_put(d->out, ")\n{\n");
    for (SizeId id = 0; id < g->sizes.len; id++) {
        const Size *size = &g->sizes.at[id];
        if (d->measured[id] && size->kind == SIZE_NUMBER)
            text_printf(d->out, "    drive->size[%d] = s%d;\n", id, id);
        else if (d->measured[id])
            text_printf(d->out, "    drive->size[%d] = %s(drive->size[%d], drive->size[%d]);\n", id,
                        size_functions[size->kind], size->a, size->b);
    }
    text_put(d->out, "}\n");
}

static void
put_sizes(const DriveText *d)
{
    if (!drive_measures(d)) return;
    text_printf(d->out, "    sizes%d(drive", d->number);
    for (SizeId id = 0; id < d->graph->sizes.len; id++)
        if (d->measured[id] && d->graph->sizes.at[id].kind == SIZE_NUMBER)
            text_printf(d->out, ", s%d", id);
    text_put(d->out, ");\n");
}

/* The sizes that follow from the number. */
static void
put_measured(const DriveText *d, NodeId node)
{
    const Graph *g = d->graph;
    bool *has = mem_alloc((size_t)g->sizes.len + 1);
    for (SizeId id = 0; has != NULL && id < g->sizes.len; id++) {
        const Size *size = &g->sizes.at[id];
        has[id] = size->kind >= SIZE_ADD ? has[size->a] || has[size->b]
                                         : size->kind == SIZE_NUMBER && size->node == node;
        if (!has[id] || !d->used[id] || size->kind == SIZE_NUMBER) continue;
        text_printf(d->out, "    s%d = %s(s%d, s%d);\n", id, size_functions[size->kind], size->a,
                    size->b);
    }
    mem_free(has);
}

static void
put_number(const DriveText *d, NodeId node)
{
    for (SizeId id = 0; id < d->graph->sizes.len; id++)
        if (d->graph->sizes.at[id].kind == SIZE_NUMBER && d->graph->sizes.at[id].node == node)
            text_printf(d->out, "    s%d = drive->size[%d];\n", id, id);
}

/* What the drive has in variables goes to the plan, and comes back. */
static void
put_plan(DriveText *d, int number)
{
    const Step *step = &d->program->steps.at[number];
    put_late_look(d);
    put_sizes(d);
    drive_put_shared(d, step, false);
    text_printf(d->out, "    if (drive->plan(drive, %d)) return 1;\n", number);
    drive_put_shared(d, step, true);
    if (step->kind == STEP_MEASURE) {
        put_number(d, step->measure.node);
        put_measured(d, step->measure.node);
    }
    bool raises_any = step->kind == STEP_KERNEL || step->kind == STEP_EXTERN;
    if (raises_any && !d->program->quiet) put_clear(d, true);
    if (raises_any && d->program->quiet && d->flagged >= 0) drive_put_anchors(d);
    text_put(d->out, "    soon = 1;\n");
}

/* Nobody knows how long a call takes, but of a few elements it is no more than a few turns. */
static void
put_soon(const DriveText *d, const KernelStep *s)
{
    enum { FEW = 256, AS_TURNS = 8 };
    const Kernel *k = d->program->kernels.at[s->kernel];
    if (s->nloops == 0) return;
    if (uses_x87(d->program, s)) {
        text_put(d->out, "    soon = 1;\n");
        return;
    }
    text_printf(d->out, "    left -= %d;\n", AS_TURNS);
    for (int loop = 0; loop < k->nloops; loop++)
        text_printf(d->out, "    soon |= s%d > %d;\n", s->sizes[k->size[loop]], FEW);
}

static void
put_flags_behind(DriveText *d, const Step *step, int number)
{
    const KernelStep *s = &step->kernel;
    put_soon(d, s);
    if (s->checks_flags)
        drive_put_anchor(d, step);
    else if (raises(d->program, s)) {
        drive_put_anchor(d, step);
        put_clear(d, uses_x87(d->program, s));
    }
    if (s->checks_flags && (uses_x87(d->program, s) || !d->looks_later)) put_look(d, s, number);
}

static void
put_each_place(const DriveText *d, const KernelStep *s, int count)
{
    for (int i = 0; i < count; i++) {
        drive_put_place(d, s->places[i]);
        text_put(d->out, ", ");
    }
}

static void
put_each_size(const DriveText *d, const KernelStep *s, int count)
{
    for (int i = 0; i < count; i++) text_printf(d->out, "s%d, ", s->sizes[i]);
}

/* The condition that the kernel fails. */
static void
put_inline_call(const DriveText *d, const KernelStep *s, int number)
{
    const Turned *turned = &d->turned[s->kernel];
    text_printf(d->out, "    if (turn%d(", turned->kernel);
    put_each_place(d, s, turned->places);
    put_each_size(d, s, turned->sizes);
    text_printf(d->out, "drive->loop + %d, drive->scratch, 0, units)) {\n", d->first_loop[number]);
}

static void
put_arguments(const DriveText *d, const KernelStep *s, int number, const char *scratch)
{
    text_put(d->out, "    char *const ptr[] = {");
    put_each_place(d, s, s->nplaces);
    text_put(d->out, "0};\n    const int64_t size[] = {");
    put_each_size(d, s, s->nsizes);
    text_printf(d->out,
                "0};\n"
                "    const KernelArgs args = {ptr, size, drive->loop + %d, %s};\n",
                d->first_loop[number], scratch);
}

static void
put_far_call(const DriveText *d, const KernelStep *s, int number)
{
    put_arguments(d, s, number, "drive->scratch");
    text_printf(d->out, "    if (k%d(&args, 0, units)) {\n", s->kernel);
}

static void
put_call(DriveText *d, const Step *step, int number)
{
    const KernelStep *s = &step->kernel;
    bool others = !s->checks_flags && raises(d->program, s); /* which nobody is told of */
    if (uses_x87(d->program, s) || others) put_late_look(d);
    if (others && d->program->quiet)
        text_put(d->out,
                 "    if (!drive->told && MAY_HAVE_FLAGS(1)) drive->raised |= drive->read();\n");
    (d->turned[s->kernel].kernel < 0 ? put_far_call : put_inline_call)(d, s, number);
    put_late_look(d);
    text_printf(d->out, "    drive->step = %d;\n    return 1;\n    }\n", number);
    put_flags_behind(d, step, number);
}

/* Of a single unit no other thread takes any. */
static void
put_kernel(DriveText *d, const Step *step, int number)
{
    const KernelStep *s = &step->kernel;
    bool single = size_is_const(d->graph, s->units) && size_value(d->graph, s->units) == 1;
    text_printf(d->out,
                single ? "    {\n    const int64_t units = 1;\n"
                       : "    {\n    const int64_t units = s%d;\n",
                s->units);
    if (!single) {
        text_printf(d->out, "    if (units > drive->grain[%d]) {\n", number);
        put_plan(d, number);
        text_put(d->out, "    } else if (units != 0) {\n");
    }
    put_call(d, step, number);
    text_put(d->out, single ? "    }\n" : "    }\n    }\n");
}

/* The quick variant of a kept loop.  Where that gives up the plan does the loop, in this turn and
   in those to come. */
static void
put_kept_loop(DriveText *d, const Step *step, int number)
{
    const KernelStep *s = &step->kernel;
    text_put(d->out, "    {\n");
    put_late_look(d);
    put_arguments(d, s, number, "(char *)&log.seen");
    text_printf(d->out, "    if (careful%d || k%d(&args, 0, 1)", number, s->kernel);
    if (s->checks_flags)
        text_printf(d->out, " ||\n        (MAY_HAVE_FLAGS(%d) && guesses_wrong(drive, %uu, %uu))",
                    uses_x87(d->program, s), (unsigned)s->errors >> 4, s->errors & 15u);
    text_printf(d->out,
                ") {\n"
                "    if (log.stopped) return 1;\n"
                "    drive->clear();\n"
                "    careful%d = 1;\n",
                number);
    put_plan(d, number);
    text_put(d->out, "    }\n");
    if (!s->checks_flags) put_clear(d, true);
    text_put(d->out, "    }\n");
}

/* What the drive's kept loops have in common, and which of them the plan does. */
static void
put_kept_loops_begin(const DriveText *d)
{
    bool any = false;
    for (int i = d->first; i <= d->last; i++) {
        const Step *step = &d->program->steps.at[i];
        if (!is_kept_loop(d->program, step)) continue;
        any = true;
        text_printf(d->out, "    int careful%d = 0;\n", i);
    }
    if (any)
        text_put(d->out,
                 "    DriveLog log = {{.more = log_nothing, .stop = log_stop}, drive, 0};\n");
}

/* Sizes come behind those that they are of. */
static void
put_measure(const DriveText *d, const MeasureStep *m)
{
    for (SizeId id = 0; id < d->graph->sizes.len; id++) {
        const Size *size = &d->graph->sizes.at[id];
        if (size->kind != SIZE_NUMBER || size->node != m->node) continue;
        text_printf(d->out, "    __builtin_memcpy(&s%d, ", id);
        drive_put_place(d, m->from);
        text_put(d->out, ", 8);\n");
    }
    put_measured(d, m->node);
}

/* All at once. */
static void
put_moves(const DriveText *d, const CarryStep *c)
{
    text_put(d->out, "    {\n");
    for (int i = 0; i < c->nmoves; i++) {
        DType dtype = (DType)d->program->buffers.at[c->to[i]].type.dtype;
        text_printf(d->out, "    char move%d[%d];\n    __builtin_memcpy(move%d, ", i,
                    (int)dtype_size(dtype), i);
        drive_put_place(d, c->from[i]);
        text_printf(d->out, ", sizeof move%d);\n", i);
    }
    for (int i = 0; i < c->nmoves; i++) {
        text_put(d->out, "    __builtin_memcpy(");
        drive_put_buffer(d, c->to[i]);
        text_printf(d->out, ", move%d, sizeof move%d);\n", i, i);
    }
    text_put(d->out, "    }\n");
}

static void
put_carry(DriveText *d, const Step *step, int number)
{
    const CarryStep *c = &step->carry;
    text_put(d->out, "    if (--left < 0 || soon) {\n");
    put_late_look(d);
    text_printf(d->out,
                "    if (drive->stop(drive)) return 1;\n"
                "    if (drive->raised & drive->told) return 1;\n"
                "    left = %d;\n"
                "    soon = 0;\n"
                "    }\n",
                TURNS);
    if (!step_is_driven(d->program, step))
        put_plan(d, number);
    else
        put_moves(d, c);
    if (c->condition.buffer == NO_BUFFER) return;
    text_put(d->out, "    if (*(");
    drive_put_place(d, c->condition);
    text_printf(d->out, ")) goto step%d;\n", c->target);
}

static void
put_jump(const DriveText *d, const JumpStep *jump)
{
    text_put(d->out, "    ");
    if (jump->condition.buffer != NO_BUFFER) {
        text_put(d->out, "if (!*(");
        drive_put_place(d, jump->condition);
        text_put(d->out, ")) ");
    }
    text_printf(d->out, "goto step%d;\n", jump->target);
}

static void
put_step(DriveText *d, int number)
{
    const Step *step = &d->program->steps.at[number];
    if (step->kind == STEP_CARRY)
        put_carry(d, step, number);
    else if (!step_is_driven(d->program, step))
        put_plan(d, number);
    else if (step->kind == STEP_JUMP)
        put_jump(d, &step->jump);
    else if (step->kind == STEP_MEASURE)
        put_measure(d, &step->measure);
    else
        (step->kernel.region ? put_kept_loop : put_kernel)(d, step, number);
}

/* ---- the functions ---- */

static void
find_labels(DriveText *d)
{
    for (int i = d->first; i <= d->last; i++) {
        const Step *step = &d->program->steps.at[i];
        if (step->kind == STEP_JUMP) d->labelled[step->jump.target] = true;
        if (step->kind == STEP_CARRY && step->carry.condition.buffer != NO_BUFFER)
            d->labelled[step->carry.target] = true;
    }
}

static void
find_flagged(DriveText *d)
{
    d->flagged = -1;
    d->looks_later = !d->program->drives.at[d->number].exact;
    for (int i = d->first; i <= d->last; i++) {
        const Step *step = &d->program->steps.at[i];
        if (!step_is_driven(d->program, step) || step->kind != STEP_KERNEL ||
            !step->kernel.checks_flags)
            continue;
        if (d->flagged < 0) d->flagged = i;
        d->looks_later &= step->kernel.errors == d->program->steps.at[d->flagged].kernel.errors;
    }
    d->looks_later &= d->flagged >= 0;
}

static void
find_loops(DriveText *d)
{
    int32_t loops = 0;
    for (int i = d->first; i <= d->last; i++) {
        const Step *step = &d->program->steps.at[i];
        d->first_loop[i] = loops;
        if (step->kind == STEP_KERNEL) loops += step->kernel.nloops;
    }
}

static void
put_drive(DriveText *d)
{
    find_labels(d);
    find_flagged(d);
    find_loops(d);
    drive_locals_find(d);
    put_sizes_function(d);
    text_printf(d->out,
                "\nint\ndrive%d(KernelDrive *drive)\n{\n"
                "    int left = %d, soon = 0; /* turns before the next look */\n",
                d->number, TURNS);
    drive_locals_begin(d);
    put_kept_loops_begin(d);
    for (int i = d->first; i <= d->last + 1; i++) {
        if (d->labelled[i]) text_printf(d->out, "step%d:;\n", i);
        if (i <= d->last) put_step(d, i);
    }
    put_late_look(d);
    drive_locals_end(d);
    put_sizes(d);
    text_put(d->out, "    return 0;\n}\n");
}

void
drive_head(const Program *program, const Turned *turned, Text *out)
{
    if (program->drives.len == 0) return;
    text_put(out, DRIVE_ABI_TEXT);
    text_put(out, HELPERS_TEXT);
    if (codegen_has_region(program)) text_put(out, KEPT_LOOPS_TEXT);
    for (int i = 0; i < program->kernels.len; i++)
        if (turned[i].kernel < 0)
            text_printf(out,
                        "__attribute__((noinline)) int k%d(const KernelArgs *args, int64_t begin, "
                        "int64_t end);\n",
                        i);
}

int
drive_write(const Graph *graph, const Program *program, const Turned *turned, Text *out)
{
    for (int i = 0; i < program->drives.len; i++) {
        size_t steps = (size_t)program->steps.len + 1, buffers = (size_t)program->buffers.len + 1;
        size_t sizes = (size_t)graph->sizes.len + 1;
        DriveText d = {.graph = graph,
                       .program = program,
                       .out = out,
                       .number = i,
                       .first = program->drives.at[i].first,
                       .last = program->drives.at[i].last,
                       .turned = turned,
                       .first_loop = mem_alloc(steps * sizeof(int32_t)),
                       .labelled = mem_alloc(steps + 3 * buffers + 2 * sizes)};
        bool ready = d.first_loop != NULL && d.labelled != NULL;
        if (ready) {
            d.left = d.labelled + steps;
            d.local = d.left + buffers;
            d.fixed = d.local + buffers;
            d.measured = d.fixed + buffers;
            d.used = d.measured + sizes;
            put_drive(&d);
        }
        mem_free(d.first_loop);
        mem_free(d.labelled);
        if (!ready) return -1;
    }
    return 0;
}
