/* In which pass over the row an instruction is executed, and where values are kept that a later
   pass reads.  Even stages are loops over the row, odd ones block calls. */
#include "nest.h"

/* The first even stage that can read the value from registers or memory. */
static int
available(const Instr *arg)
{
    if (arg->kind == INSTR_LOAD || arg->level == LEVEL_ONCE) return 0;
    if (arg->kind == INSTR_REDUCE)
        return arg->order == REDUCE_CALL ? arg->stage + 1 : arg->stage + 2;
    if (arg->kind == INSTR_CALL && arg->level == LEVEL_ELEMENT) return arg->stage + 1;
    return arg->stage;
}

static void
assign_stages(Nest *n)
{
    Kernel *k = n->kernel;
    bool columns = k->kind == KERNEL_COLUMNS;
    k->nstages = 1;
    for (int i = 0; i < k->instrs.len; i++) {
        Instr *instr = &k->instrs.at[i];
        int stage = 0;
        for (int a = 0; a < instr->nargs; a++) {
            int from = available(&k->instrs.at[instr->args[a]]);
            if (columns && k->instrs.at[instr->args[a]].kind == INSTR_REDUCE) from = 0;
            if (from > stage) stage = from;
        }
        bool memory = instr->level == LEVEL_ELEMENT &&
                      (instr->kind == INSTR_CALL ||
                       (instr->kind == INSTR_REDUCE && instr->order == REDUCE_CALL && !columns));
        instr->stage = stage + memory;
        if (instr->stage >= k->nstages) k->nstages = instr->stage + 1;
    }
}

/* Is the value cheaper to compute again than to keep? At most one load and an operation on it. */
static bool
cheap(const Kernel *k, const Instr *instr)
{
    int loads = 0;
    if (instr->kind == INSTR_INDEX) return true;
    if (instr->kind != INSTR_OP) return false;
    switch (instr->op) {
    case OP_add:
    case OP_subtract:
    case OP_multiply:
    case OP_negative:
    case OP_absolute: break;
    default: return false;
    }
    for (int a = 0; a < instr->nargs; a++) {
        const Instr *arg = &k->instrs.at[instr->args[a]];
        if (arg->level == LEVEL_ELEMENT && arg->kind != INSTR_LOAD) return false;
        loads += arg->level == LEVEL_ELEMENT;
    }
    return loads <= 1;
}

/* Does the instruction read its arguments from memory, not from registers? */
static bool
reads_memory(const Instr *user)
{
    return user->level == LEVEL_ELEMENT &&
           (user->kind == INSTR_CALL || (user->kind == INSTR_REDUCE && user->order == REDUCE_CALL));
}

/* How a value is read. */
typedef struct {
    bool memory;   /* some reader needs it in memory */
    int last;      /* the last stage in which it is read; -1: in none */
    int32_t store; /* the first instruction that stores it where it can be kept; -1: none */
} Wanted;

static bool home_fits(const Instr *value, int32_t stride);

/* A cheap value is computed again in a later stage, unless it is in memory anyway. */
static void
find_wanted(const Kernel *k, Wanted *wanted)
{
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *user = &k->instrs.at[i];
        wanted[i] = (Wanted){.last = -1, .store = -1};
        for (int a = 0; a < user->nargs; a++) {
            Wanted *of = &wanted[user->args[a]];
            const Instr *value = &k->instrs.at[user->args[a]];
            bool later = user->stage > value->stage;
            of->memory |= reads_memory(user) || (later && !cheap(k, value));
            of->last = user->stage > of->last ? user->stage : of->last;
            if (user->kind == INSTR_STORE && of->store < 0 && user->dtype == value->dtype &&
                home_fits(value, k->operands.at[user->operand].stride[k->nloops - 1]))
                of->store = i;
        }
    }
}

/* True when something other than `call` reads value `at` in the call's stage or later. */
static bool
read_besides(const Kernel *k, const Instr *call, int32_t at)
{
    for (int i = at + 1; i < k->instrs.len; i++) {
        const Instr *user = &k->instrs.at[i];
        for (int a = 0; a < user->nargs; a++)
            if (user->args[a] == at && user != call && user->stage >= call->stage) return true;
    }
    return false;
}

/* A call may write over its argument, as ufuncs may with `out`, if it is the argument's last
   reader. */
static bool
takes_over(const Kernel *k, const Instr *call, int slot)
{
    for (int a = 0; call->kind == INSTR_CALL && a < call->nargs; a++) {
        const Instr *arg = &k->instrs.at[call->args[a]];
        if (arg->home == HOME_SCRATCH && arg->slot == slot && arg->level == LEVEL_ELEMENT &&
            dtype_size(arg->dtype) == dtype_size(call->dtype))
            return !read_besides(k, call, call->args[a]);
    }
    return false;
}

/* Can the value be kept in memory of this stride? A call needs unit stride, as in a fresh array. */
static bool
home_fits(const Instr *value, int32_t stride)
{
    return stride == STRIDE_UNIT || (value->kind != INSTR_CALL && stride != STRIDE_ZERO);
}

/* Adds a scratch array; false with lw->why set where there are too many. */
static bool
add_slot(Nest *n)
{
    if (n->kernel->nslots == MAX_SLOTS) {
        n->lw->why = "a kernel of too many scratch rows";
        return false;
    }
    n->kernel->nslots++;
    return true;
}

static int
assign_homes(Nest *n)
{
    Kernel *k = n->kernel;
    int free_after[MAX_SLOTS];
    if (k->nstages == 1) return 0; /* there is no later stage */
    Wanted *wanted = arena_alloc(n->lw->arena, sizeof(Wanted) * (size_t)k->instrs.len);
    if (wanted == NULL) return -1;
    find_wanted(k, wanted);
    for (int i = 0; i < k->instrs.len; i++) {
        Instr *v = &k->instrs.at[i];
        if (v->level != LEVEL_ELEMENT || v->kind == INSTR_LOAD || v->kind == INSTR_STORE ||
            v->kind == INSTR_REDUCE)
            continue;
        int last = wanted[i].memory ? wanted[i].last : -1;
        if (last < 0 && v->kind != INSTR_CALL) continue;
        if (wanted[i].store >= 0) {
            v->home = HOME_OPERAND;
            v->slot = k->instrs.at[wanted[i].store].operand;
            continue;
        }
        int slot = 0, bytes = (int)dtype_size(v->dtype);
        while (slot < k->nslots && free_after[slot] >= v->stage &&
               !(free_after[slot] == v->stage && takes_over(k, v, slot)))
            slot++;
        if (slot == k->nslots && !add_slot(n)) return 0;
        if (bytes > k->slot_bytes[slot]) k->slot_bytes[slot] = bytes;
        free_after[slot] = last < v->stage ? v->stage : last;
        v->home = HOME_SCRATCH;
        v->slot = slot;
    }
    return 0;
}

/* A max or min falls back on the ufunc's loop (REDUCE_EXTREME), which reads memory: a value that is
   not kept gets a scratch row, written only then. */
static void
extreme_scratch(Nest *n)
{
    Kernel *k = n->kernel;
    if (k->kind == KERNEL_COLUMNS) return;
    for (int i = 0; i < k->instrs.len; i++) {
        Instr *v = &k->instrs.at[i];
        if (v->kind != INSTR_REDUCE || v->order != REDUCE_EXTREME) continue;
        const Instr *value = &k->instrs.at[v->args[0]];
        if (value->kind == INSTR_LOAD || value->level != LEVEL_ELEMENT || value->home != HOME_NONE)
            continue;
        if (k->nslots == 64) {
            n->lw->why = "a kernel of too many scratch rows";
            return;
        }
        k->slot_bytes[k->nslots] = (int)dtype_size(value->dtype);
        v->home = HOME_SCRATCH;
        v->slot = k->nslots++;
    }
}

static bool
has_row_reduction(const Kernel *k)
{
    if (k->kind == KERNEL_COLUMNS) return false;
    for (int i = 0; i < k->instrs.len; i++)
        if (k->instrs.at[i].kind == INSTR_REDUCE) return true;
    return false;
}

/* Accumulators of a column reduction are in scratch, too. */
static void
column_accumulators(Nest *n)
{
    Kernel *k = n->kernel;
    for (int i = 0; i < k->instrs.len; i++) {
        Instr *v = &k->instrs.at[i];
        if (v->kind != INSTR_REDUCE) continue;
        if (!add_slot(n)) return;
        v->home = HOME_SCRATCH;
        v->slot = k->nslots - 1;
        k->slot_bytes[v->slot] = (int)dtype_size(v->dtype);
    }
}

/* Is the operand dense along the loop outside the row's, instead of along the row? */
static bool
lies_across(const Nest *n, const Operand *o)
{
    int row = n->nloops - 1;
    int64_t bytes = (int64_t)dtype_size(o->dtype);
    if (o->stored || (bytes != 4 && bytes != 8) || o->dtype == DT_C64) return false;
    if (o->stride[row] < 0 || o->stride[row - 1] < 0) return false;
    SizeId step = n->sizes.at[o->stride[row - 1]];
    return size_is_const(n->lw->graph, step) && nest_value(n, step) == bytes &&
           nest_value(n, n->size[row - 1]) >= 8 && nest_value(n, n->size[row]) >= 8;
}

/* Is it a square beyond the caches that is read with its transpose?  In the caches, pairs of tiles
   save nothing: 1000 x 1000 f32 0.34 ms row by row, 0.41 in pairs. */
static bool
reads_mirrored(const Nest *n)
{
    const Kernel *k = n->kernel;
    int64_t side = nest_value(n, n->size[0]);
    if (n->nloops != 2 || k->size[0] != k->size[1]) return false;
    for (int i = 0; i < k->operands.len; i++)
        for (int j = 0; j < k->operands.len; j++) {
            const Operand *turned = &k->operands.at[i], *plain = &k->operands.at[j];
            if (turned->turned && !plain->turned && !plain->stored &&
                turned->pointer == plain->pointer && turned->dtype == plain->dtype &&
                turned->across == plain->stride[0] && plain->stride[1] == STRIDE_UNIT)
                return side * side * (int64_t)dtype_size(plain->dtype) >= BEYOND_CACHES;
        }
    return false;
}

/* Kernels of one pass over each row read such operands through tiles (codegen/tile.c). */
static void
turn_operands(Nest *n)
{
    Kernel *k = n->kernel;
    if (k->kind != KERNEL_ROWS || n->nloops < 2 || k->nstages > 1 || k->nslots > 0) return;
    if (n->group->in_place) return; /* a tile would be read before all of it is stored */
    for (int i = 0; i < k->instrs.len; i++)
        if (k->instrs.at[i].kind == INSTR_REDUCE || k->instrs.at[i].kind == INSTR_CALL) return;
    int widest = 0;
    for (int i = 0; i < k->operands.len; i++) {
        Operand *o = &k->operands.at[i];
        if (!lies_across(n, o)) continue;
        o->turned = true;
        o->across = o->stride[n->nloops - 1];
        o->stride[n->nloops - 1] = STRIDE_UNIT;
        if ((int)dtype_size(o->dtype) > widest) widest = (int)dtype_size(o->dtype);
    }
    if (widest > 0) k->tile_rows = TILE_ROW_BYTES / widest;
    k->mirrored = widest > 0 && reads_mirrored(n);
}

static int64_t
tile_bytes(const Kernel *k)
{
    int64_t total = 0;
    for (int i = 0; i < k->operands.len; i++) total += k->operands.at[i].turned ? TILE_BYTES : 0;
    return total;
}

static bool
vectorizes(DType dtype)
{
    return dtype != DT_F16 && !dtype_is_complex(dtype) && dtype != DT_OBJECT;
}

/* Can each lane of a vector compute a row of its own? */
static bool
fits_beside(const Kernel *k)
{
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        if (v->kind == INSTR_CALL || v->order == REDUCE_CALL) return false;
        if (v->level == LEVEL_ONCE && v->kind != INSTR_REDUCE) continue;
        if (!vectorizes(v->dtype)) return false;
        if (v->kind == INSTR_OP && (op_info(v->op)->kind == KIND_PYTHON || !vectorizes(v->from)))
            return false;
        if (v->kind != INSTR_STORE) continue;
        const Instr *value = &k->instrs.at[v->args[0]];
        if (value->kind == INSTR_LOAD && value->dtype == DT_BOOL) return false; /* moved as bytes */
        if (k->operands.at[v->operand].stride[k->nloops - 2] == STRIDE_ZERO) return false;
    }
    return true;
}

/* Is all that the elements of a row are for sums in NumPy's order, whose eight accumulators are a
   vector of the row, and is nothing of another dtype?  Then these are faster made row by row, and
   added up for eight rows at once.  Measured on one core, distances of 1000 x 1000 points of 16 f32
   2.4 ms to 1.3, of 8 1.5 to 1.1, of 32 3.9 to 2.2; of 16 f64 2.6 to 1.4. */
static bool
sums_are_upright(const Kernel *k, int64_t length)
{
    int row = k->nloops - 1;
    DType dtype = DT_OBJECT;
    if (length % 8 != 0) return false;
    for (int i = 0; i < k->operands.len; i++)
        if (k->operands.at[i].stride[row] != STRIDE_UNIT &&
            k->operands.at[i].stride[row] != STRIDE_ZERO)
            return false;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        bool reduces = v->kind == INSTR_REDUCE;
        if (reduces && (v->order != REDUCE_PAIRWISE || v->stage != 0)) return false;
        if (!reduces && (v->level != LEVEL_ELEMENT || v->kind == INSTR_CONST)) continue;
        if (!reduces && v->kind != INSTR_LOAD && v->kind != INSTR_OP) return false;
        if (dtype == DT_OBJECT) dtype = v->dtype;
        if (v->dtype != dtype || (dtype != DT_F32 && dtype != DT_F64)) return false;
        if (v->kind == INSTR_OP && v->from != dtype) return false;
        for (int a = 0; a < v->nargs; a++) {
            const Instr *arg = &k->instrs.at[v->args[a]];
            if (arg->level == LEVEL_ROW || arg->kind == INSTR_REDUCE) return false;
        }
    }
    return dtype != DT_OBJECT;
}

/* Is the row made of whole vectors, which are summed fast row by row? Measured, sums of rows of f64
   row by row took, relative to side by side: of 8 elements 1.0, of 32 0.6 of the time; where one
   row is combined with many (pairwise distances), of 16 1.8, of 32 0.7. */
static bool
row_is_vectors(const Nest *n, int64_t length)
{
    const Kernel *k = n->kernel;
    bool repeats = false;
    for (int i = 0; i < k->operands.len; i++) {
        int stride = k->operands.at[i].stride[k->nloops - 1];
        if (stride != STRIDE_UNIT && stride != STRIDE_ZERO) return false;
        repeats |= stride == STRIDE_UNIT && k->operands.at[i].stride[k->nloops - 2] == STRIDE_ZERO;
    }
    return length % 8 == 0 && length > (repeats ? 16 : 8);
}

/* Short rows are computed side by side (codegen/beside.c). */
static void
lay_beside(Nest *n)
{
    enum { LONGEST = 32, LEAST_ROWS = 32 };
    Kernel *k = n->kernel;
    int row = n->nloops - 1;
    if (k->kind != KERNEL_ROWS || n->nloops < 2 || k->tile_rows > 0 || !n->reduces) return;
    if (!size_is_const(n->lw->graph, n->size[row])) return;
    int64_t length = nest_value(n, n->size[row]);
    if (length < 2 || length > LONGEST || nest_value(n, n->size[row - 1]) < LEAST_ROWS) return;
    bool upright = sums_are_upright(k, length);
    if ((!upright && row_is_vectors(n, length)) || !fits_beside(k)) return;
    k->beside = (int32_t)length;
    k->upright = upright;
    for (int i = 0; i < k->operands.len; i++) {
        Operand *o = &k->operands.at[i];
        o->dense = o->stride[row - 1] >= 0 &&
                   size_is_const(n->lw->graph, n->sizes.at[o->stride[row - 1]]) &&
                   nest_value(n, n->sizes.at[o->stride[row - 1]]) == (int64_t)dtype_size(o->dtype);
    }
}

/* Rows of which the beginning of the run tells how long they can be. */
static int64_t
scratch_of_rows(const Nest *n, SizeId most, KernelStep *step)
{
    const Kernel *k = n->kernel;
    step->scratch_row = most;
    for (int i = 0; i < k->nslots; i++) step->scratch_each += k->slot_bytes[i];
    return k->nslots * (63 + SLOT_GAP);
}

int64_t
stages_scratch_bytes(const Nest *n, KernelStep *step)
{
    const Kernel *k = n->kernel;
    if (k->tile_rows > 0) return tile_bytes(k);
    SizeId row = n->size[n->nloops - 1];
    int64_t most = size_most(n->lw->graph, row), total = 0;
    int64_t length = k->block ? k->block : most;
    if (k->nslots > 0 && length > MOST_ROW) {
        SizeId longest = size_ceiling(n->lw->graph, row);
        if (longest != NO_SIZE && !size_is_const(n->lw->graph, longest))
            return scratch_of_rows(n, longest, step);
        n->lw->why = "a row of a length that has no bound";
    }
    for (int i = 0; i < k->nslots; i++) {
        /* for rows side by side, a vector for each element */
        int64_t bytes = k->beside ? 64 : k->slot_bytes[i];
        total += (length * bytes + 63) / 64 * 64 + SLOT_GAP;
    }
    return total;
}

int
stages_assign(Nest *n)
{
    Kernel *k = n->kernel;
    assign_stages(n);
    if (assign_homes(n) < 0) return -1;
    if (k->kind == KERNEL_COLUMNS) column_accumulators(n);
    extreme_scratch(n);
    bool blocks = k->nstages > 1 || k->kind == KERNEL_COLUMNS;
    k->block = blocks && !has_row_reduction(k) ? BLOCK : 0;
    k->row_scratch = k->block ? -1 : k->size[n->nloops - 1];
    turn_operands(n);
    lay_beside(n);
    return 0;
}
