/* A group as a loop nest.  In: the members, in program order.  Out: a Kernel and the step that
   launches it.  Steps:
   1. order the dimensions as memory has them and join those that every access walks as one;
   2. one instruction per member, loads and virtual arguments as they are met;
   3. what the target makes of it: for the host stages (in which pass over the row), homes (what is
      kept in memory) and what threads divide among them; for CUDA see cuda.c. */
#include "group.h"
#include "nest.h"

enum {
    CHUNK = 32768,
    GRAIN_PS = 4000000, /* what a thread has to do at least, where that is known to take so long */
    ROW_PS = 10000,     /* time per row and stage besides the elements' */
    PART = 8192,        /* fewest elements of a part of a row: many leaves of a pairwise sum */
    MOST_PARTS = 64,
    SHORT_ROW = 128,
    TURNED_ROWS = 16,    /* the lines of turned operands hold so many at most */
    LEAST_PARTED = 6000, /* ns: a shorter row is not worth two threads */
    CORES_OWN = 1 << 20, /* bytes that are in the cache of the core that has written them */
    MOVED_PS = 160,      /* a byte from there to another core's, and back to the next writer */
};

/* ---- 1. loops ---- */

typedef struct {
    const Nest *nest;
    Access leading;
    bool found;
    int outer, inner; /* the pair of dimensions that pair_joins is asked about */
} Scan;

/* Keeps the access that walks the most dimensions. */
static bool
collect_leading(void *context, const Access *access)
{
    Scan *s = context;
    int walked = 0, best = 0;
    for (int dim = 0; dim < s->nest->group->ndims; dim++) {
        walked += nest_value(s->nest, access->stride[dim]) != 0;
        best += nest_value(s->nest, s->leading.stride[dim]) != 0;
    }
    if (!s->found || walked > best) {
        s->leading = *access;
        s->found = true;
    }
    return true;
}

/* The access that decides the order of the loops: the first reduction's argument, else the stored
   result that walks the most dimensions. */
static Access
leading_access(const Nest *n)
{
    const Group *g = n->group;
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(n->lw->graph, g->nodes.at[i]);
        if (op_info(node->op)->kind != KIND_REDUCTION) continue;
        const Node *arg = graph_node(n->lw->graph, node->args[0]);
        Access access;
        access_of(n->lw, g, g->nodes.at[i], &arg->type, arg->storage, &access);
        return access;
    }
    Scan s = {.nest = n};
    for (int i = 0; i < g->nodes.len; i++) {
        NodeId id = g->nodes.at[i];
        Access access;
        result_access(n->lw, g, id, &access);
        collect_leading(&s, &access);
    }
    return s.leading;
}

/* Does the access walk the pair of dimensions as one? */
static bool
pair_joins(void *context, const Access *access)
{
    const Scan *s = context;
    return size_is_times(s->nest->lw->graph, access->stride[s->outer], access->stride[s->inner],
                         s->nest->group->size[s->inner]);
}

static int64_t
magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* Orders the dimensions by the strides of the leading access (for rows, the reduced ones last), and
   joins neighbours that every access walks as one. */
static int
order_loops(Nest *n)
{
    const Group *g = n->group;
    Access leading = leading_access(n);
    int order[MAX_RANK] = {0};
    for (int dim = 0; dim < g->ndims; dim++) {
        int at = dim;
        bool reduced = g->reduced >> dim & 1;
        for (; at > 0; at--) {
            int before = order[at - 1];
            bool before_reduced = g->reduced >> before & 1;
            if (!g->columns && reduced != before_reduced) {
                if (reduced) break; /* rows: the reduced dimensions come last */
            } else if (magnitude(nest_value(n, leading.stride[before])) >=
                       magnitude(nest_value(n, leading.stride[dim])))
                break;
            order[at] = before;
        }
        order[at] = dim;
    }
    for (int i = 0; i < g->ndims; i++) {
        int dim = order[i];
        Scan s = {.nest = n, .outer = i ? n->first[n->nloops - 1] : 0, .inner = dim};
        if (n->nloops > 0 && (g->reduced >> s.outer & 1) == (g->reduced >> dim & 1) &&
            group_each_access(n->lw, g, pair_joins, &s)) {
            SizeId product = size_mul(n->lw->graph, n->size[n->nloops - 1], g->size[dim]);
            if (product == NO_SIZE) return -1;
            n->size[n->nloops - 1] = product;
            n->first[n->nloops - 1] = dim;
            continue;
        }
        n->size[n->nloops] = g->size[dim];
        n->first[n->nloops++] = dim;
    }
    return 0;
}

/* Adds a row of one element, for kernels that have no dimension for the row. */
static int
append_unit_loop(Nest *n)
{
    SizeId one = size_const(n->lw->graph, 1);
    if (one == NO_SIZE) return -1;
    n->size[n->nloops] = one;
    n->first[n->nloops++] = -1;
    return 0;
}

int32_t
nest_size(Nest *n, SizeId id)
{
    uint32_t hash = found_mix(1, (uint32_t)id), at = hash;
    for (int32_t i; (i = found_next(n, hash, &at)) >= 0;)
        if (i < n->sizes.len && n->sizes.at[i] == id) return i;
    if (VEC_PUSH(n->lw->arena, &n->sizes, id) < 0) return -1;
    return found_add(n, hash, n->sizes.len - 1) < 0 ? -1 : n->sizes.len - 1;
}

/* Are the reduced loops, if they are several, those before the row of a host's columns, and does
   each reduction walk them as one?  Then its order is that of a single one. */
static bool
goes_down(const Nest *n, int reduced)
{
    const Group *g = n->group;
    if (reduced <= 1) return true;
    if (!g->columns || g->device != DEVICE_HOST) return false;
    for (int i = n->nloops - 1 - reduced; i < n->nloops - 1; i++)
        if (!(g->reduced >> n->first[i] & 1)) return false;
    return sums_collapse(n->lw, g);
}

static int
make_loops(Nest *n)
{
    Group *g = n->group;
    Kernel *k = n->kernel;
    if (order_loops(n) < 0) return -1;
    int reduced = 0;
    for (int i = 0; i < n->nloops; i++) reduced += g->reduced >> n->first[i] & 1;
    if (!goes_down(n, reduced)) {
        n->lw->why = "a reduction over several runs of memory";
        return 0;
    }
    if (n->nloops == 0 || (n->reduces && reduced == 0))
        if (append_unit_loop(n) < 0) return -1;
    k->kind = g->columns ? KERNEL_COLUMNS : n->reduces || n->nloops > 1 ? KERNEL_ROWS : KERNEL_FLAT;
    k->nloops = n->nloops;
    k->downs = g->columns ? reduced : 0;
    int64_t least;
    bool rows = k->kind == KERNEL_ROWS && n->nloops == 2 && !n->reduces;
    k->lone = (g->columns || rows) && g->device == DEVICE_HOST &&
              (!size_lower(n->lw->graph, n->size[n->nloops - 1], &least) || least < 2);
    k->short_rows = k->kind == KERNEL_ROWS && k->nloops > 1 &&
                    nest_value(n, n->size[n->nloops - 1]) < SHORT_ROW;
    for (int i = 0; i < n->nloops; i++)
        if ((k->size[i] = nest_size(n, n->size[i])) < 0) return -1;
    return 0;
}

/* ---- the step ---- */

/* Roughly how many operations an element takes. */
static int64_t
weight(const Kernel *k)
{
    int64_t w = 1;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        if (v->level != LEVEL_ELEMENT || (k->bounded && v->kind != INSTR_LOAD)) continue;
        w += v->kind == INSTR_CALL ? 8 : k->bounded ? 4 : 1;
    }
    return w;
}

/* Roughly the time of an element in one thread with all data in the caches, in picoseconds: vectors
   of 32 bytes, about three operations or two loads or stores in a nanosecond.  It is right to a
   factor of two or three, which is enough to tell whether waking a thread pays. */
static int64_t
element_ps(const Kernel *k)
{
    int64_t total = 0;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        int64_t bytes = (int64_t)dtype_size(v->dtype);
        if (v->level != LEVEL_ELEMENT) continue;
        if (k->bounded) {
            total += v->kind == INSTR_LOAD ? BOUNDS_MEMORY_PS * bytes : 0;
            continue;
        }
        switch (v->kind) {
        case INSTR_CALL: total += 1000; break;
        case INSTR_LOAD:
        case INSTR_STORE: total += 15 * bytes; break;
        case INSTR_REDUCE: total += v->order == REDUCE_CALL ? 400 : 20 * bytes; break;
        default:
            switch (v->op) {
            case OP_divide:
            case OP_reciprocal:
            case OP_sqrt:
            case OP_floor_divide:
            case OP_remainder: total += 80 * bytes; break;
            default:
                total += op_info(v->op)->flags & OPF_SPECIAL  ? SPECIAL_PS
                         : op_info(v->op)->flags & OPF_DEVICE ? 80 * bytes
                                                              : 10 * bytes;
                break;
            }
        }
    }
    return total;
}

/* Can a single row be divided among threads? Yes if it is read in one pass, and its reductions have
   the order of a tree, or any. */
static bool
row_has_parts(const Nest *n)
{
    const Kernel *k = n->kernel;
    if (k->kind != KERNEL_ROWS || k->nloops != 1 || k->tile_rows > 0 || !n->reduces) return false;
    if (!size_is_const(n->lw->graph, n->size[0]) || nest_value(n, n->size[0]) < 2 * PART)
        return false;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        if (v->kind == INSTR_CALL || (v->level == LEVEL_ROW && v->stage == 0)) return false;
        if (v->level == LEVEL_ELEMENT && v->stage != 0) return false;
        if (v->kind == INSTR_REDUCE && v->order == REDUCE_CALL) return false;
    }
    return nest_value(n, n->size[0]) * element_ps(k) >= LEAST_PARTED * (int64_t)1000;
}

/* The parts' results are kept in a temporary, in the order of the reductions. */
static int
make_parts(Nest *n, KernelStep *step)
{
    Kernel *k = n->kernel;
    Graph *g = n->lw->graph;
    int64_t parts = 2, reductions = 0, length = nest_value(n, n->size[0]);
    while (parts < MOST_PARTS && length / (2 * parts) >= PART) parts *= 2;
    for (int i = 0; i < k->instrs.len; i++) reductions += k->instrs.at[i].kind == INSTR_REDUCE;
    Buffer b = {.kind = BUFFER_TEMP, .type = {.dtype = DT_I64, .form = FORM_ARRAY, .rank = 1}};
    b.type.offset = NO_SIZE;
    b.type.shape[0] = size_const(g, parts * reductions);
    b.type.stride[0] = size_const(g, (int64_t)sizeof(int64_t));
    b.bytes = size_const(g, parts * reductions * (int64_t)sizeof(int64_t));
    step->units = size_const(g, parts);
    if (step->units == NO_SIZE || b.bytes == NO_SIZE || b.type.shape[0] == NO_SIZE ||
        b.type.stride[0] == NO_SIZE || VEC_PUSH(n->lw->arena, &n->lw->program->buffers, b) < 0 ||
        (k->nparts = nest_size(n, step->units)) < 0)
        return -1;
    Place place = {.buffer = n->lw->program->buffers.len - 1, .offset = NO_SIZE};
    k->parts = step->parts = true;
    k->partial = n->places.len;
    step->grain = 1;
    step->unit_ps = length / parts * element_ps(k);
    return VEC_PUSH(n->lw->arena, &n->places, place);
}

static int
make_units(Nest *n, KernelStep *step)
{
    Kernel *k = n->kernel;
    Graph *g = n->lw->graph;
    int64_t per_unit = 1, elements = CHUNK * 4 / (3 + weight(k));
    /* a body with functions takes long for few instructions */
    if (k->kind != KERNEL_COLUMNS) elements = Py_MIN(elements, GRAIN_PS / (1 + element_ps(k)));
    int row = n->nloops - 1;
    if (row_has_parts(n)) return make_parts(n, step);
    if (k->kind == KERNEL_ROWS) {
        SizeId units = n->nloops == 1 ? size_const(g, 1) : n->size[0];
        for (int i = 1; i < row && units != NO_SIZE; i++) units = size_mul(g, units, n->size[i]);
        if (units == NO_SIZE) return -1;
        step->units = units;
        per_unit = nest_value(n, n->size[row]);
    } else {
        step->units = n->size[row];
        if (k->kind == KERNEL_COLUMNS)
            for (int i = 0; i < row; i++) per_unit *= nest_value(n, n->size[i]);
    }
    int64_t row_ps = k->beside ? ROW_PS / 8 : k->kind == KERNEL_ROWS ? ROW_PS : 0;
    step->unit_ps = per_unit * element_ps(k) + row_ps * k->nstages;
    step->grain = elements / (per_unit < 1 ? 1 : per_unit);
    if (step->grain < 1) step->grain = 1;
    if (k->tile_rows > 0) step->grain = (step->grain + TURNED_ROWS - 1) / TURNED_ROWS * TURNED_ROWS;
    if (k->kind == KERNEL_COLUMNS) {
        int64_t half = nest_value(n, n->size[row]) / 2, least = half < 1024 ? 1024 : half;
        step->grain = Py_MAX(step->grain, Py_MIN(least, BLOCK));
    }
    return 0;
}

/* Appends the constants to the integer arguments, each at a place of its own even if values are
   equal, so that kernels that differ only in constants have the same text. */
static int
place_numbers(Nest *n)
{
    int32_t behind = n->sizes.len;
    for (int i = 0; i < n->kernel->instrs.len; i++) {
        Instr *v = &n->kernel->instrs.at[i];
        if (v->kind == INSTR_CONST && v->argument > 0) v->argument += behind;
    }
    for (int i = 0; i < n->numbers.len; i++) {
        SizeId bits = size_const(n->lw->graph, n->numbers.at[i]);
        if (bits == NO_SIZE || VEC_PUSH(n->lw->arena, &n->sizes, bits) < 0) return -1;
    }
    return 0;
}

int
nest_step(Nest *n, Step *step)
{
    Program *p = n->lw->program;
    KernelStep *s = &step->kernel;
    if (place_numbers(n) < 0) return -1;
    step->kind = STEP_KERNEL;
    s->kernel = p->kernels.len;
    s->nplaces = n->places.len;
    s->places = n->places.at;
    s->nsizes = n->sizes.len;
    s->sizes = n->sizes.at;
    s->nloops = n->loops.len;
    s->loops = n->loops.at;
    s->device = n->kernel->device;
    s->checks_flags = n->kernel->flags =
        n->flags && s->device == DEVICE_HOST && !n->lw->graph->fast;
    s->errors = n->group != NULL ? n->group->errors : 0;
    s->component = n->group != NULL ? n->lw->component[n->group->nodes.at[0]] : 0;
    s->fallible = n->fallible;
    s->silent =
        n->silent && n->kind == NEST_FIRST; /* what is asked before needs no asking at commit */
    if (VEC_PUSH(n->lw->arena, &p->kernels, n->kernel) < 0) return -1;
    if (n->kind == NEST_FIRST) return VEC_PUSH(n->lw->arena, &p->steps, *step);
    s->checks_flags = false;
    return VEC_PUSH(n->lw->arena, &p->commits, *step);
}

bool
kernel_has_text(const Kernel *kernel)
{
    return kernel->kind != KERNEL_PRODUCT;
}

Device
kernel_device(const Kernel *kernel)
{
    return kernel->device;
}

int
nest_init(Nest *n, Lowering *lw, Group *g)
{
    *n = (Nest){.lw = lw, .group = g, .number = (int)(g - lw->groups.at)};
    n->kernel = arena_alloc(lw->arena, sizeof(Kernel));
    if (n->kernel != NULL) n->kernel->device = g == NULL ? DEVICE_HOST : g->device;
    lw->nest++;
    lw->nfound = 0;
    return n->kernel == NULL ? -1 : 0;
}

int
nest_add_memory(Nest *n, SizeId bytes, Device device)
{
    Graph *g = n->lw->graph;
    Buffer b = {.kind = BUFFER_TEMP,
                .type = {.dtype = DT_U8, .form = FORM_ARRAY, .rank = 1, .device = (uint8_t)device}};
    b.type.offset = NO_SIZE;
    b.type.shape[0] = b.bytes = bytes;
    b.type.stride[0] = size_const(g, 1);
    if (b.bytes == NO_SIZE || b.type.stride[0] == NO_SIZE ||
        VEC_PUSH(n->lw->arena, &n->lw->program->buffers, b) < 0)
        return -1;
    Place place = {.buffer = n->lw->program->buffers.len - 1, .offset = NO_SIZE};
    return VEC_PUSH(n->lw->arena, &n->places, place);
}

/* The lines of the nodes that may deopt or report; the first node's if there are none. */
static void
blame_lines(const Lowering *lw, const Group *g, Step *step)
{
    for (int i = 0; i < g->nodes.len; i++) {
        const Node *node = graph_node(lw->graph, g->nodes.at[i]);
        if ((op_info(node->op)->flags & OPF_FALLIBLE) || node_may_report(lw->graph, node))
            step_blame(lw->graph, g->nodes.at[i], step);
    }
    if (step->line == 0) step_blame(lw->graph, g->nodes.at[0], step);
}

/* What a library call has returned was written by the caller's core, which takes the memory again
   for a later call.  Where the kernel has little work with it, sharing costs more than it saves:
   np.exp(np.pad(x, ...)) of 480 KB took 183 us with a second core, 145 without.  The parts of a row
   have to be put together, whoever computes them. */
static int64_t
bytes_of_library(const Nest *n)
{
    int64_t bytes = 0;
    for (int i = 0; i < n->places.len; i++) {
        BufferId id = n->places.at[i].buffer;
        const Buffer *b = &n->lw->program->buffers.at[id];
        bool seen = b->kind != BUFFER_EXTERN || b->type.form != FORM_ARRAY;
        for (int k = 0; k < i && !seen; k++) seen = n->places.at[k].buffer == id;
        if (seen) continue;
        bytes += type_elements(n->lw->graph, &b->type) * (int64_t)dtype_size(b->type.dtype);
    }
    return bytes;
}

static void
leave_to_caller(const Nest *n, KernelStep *step)
{
    int64_t units = nest_value(n, step->units), moved = bytes_of_library(n);
    if (!step->parts && moved < CORES_OWN && units * step->unit_ps / 2 < moved * MOVED_PS)
        step->grain = Py_MAX(step->grain, units);
}

static int
host_schedule(Nest *n, KernelStep *step)
{
    if (stages_assign(n) < 0) return -1;
    if (n->lw->why != NULL) return 0;
    step->scratch_bytes = stages_scratch_bytes(n, step);
    n->kernel->bounded = step->bounded = bounds_suit(n);
    if (make_units(n, step) < 0) return -1;
    leave_to_caller(n, step);
    return 0;
}

/* Fills in what the target's launch needs, by device; 0 or -1, lw->why may be set. */
static int (*const schedules[])(Nest *n, KernelStep *step) = {
    [DEVICE_HOST] = host_schedule,
    [DEVICE_CUDA] = cuda_schedule,
};
_Static_assert(COUNT_OF(schedules) == TARGET_COUNT, "a schedule per target");

Answer
nest_build(Lowering *lw, Group *g, NestKind kind)
{
    Nest n;
    if (nest_init(&n, lw, g) < 0) return ANSWER_ERROR;
    n.kind = kind;
    n.kernel->in_place = kind == NEST_COMMIT || g->in_place;
    for (int i = 0; i < g->nodes.len; i++)
        if (op_info(graph_node(lw->graph, g->nodes.at[i])->op)->kind == KIND_REDUCTION)
            n.reduces = true;
    if (make_loops(&n) < 0 || (lw->why == NULL && instr_members(&n) < 0)) return ANSWER_ERROR;
    Step step = {0};
    if (lw->why == NULL && schedules[device_target(g->device)](&n, &step.kernel) < 0)
        return ANSWER_ERROR;
    if (lw->why != NULL) return ANSWER_NO;
    blame_lines(lw, g, &step);
    if (kind == NEST_COMMIT && step.kernel.scratch_bytes > 0) return ANSWER_NO;
    return nest_step(&n, &step) < 0 ? ANSWER_ERROR : ANSWER_YES;
}
