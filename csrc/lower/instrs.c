/* The instructions of a kernel: one per member of its group, loads and virtual arguments as they
   are met, stores where a member's result must be in memory.  Levels (how often a value is
   computed) follow from the arguments. */
#include "nest.h"

int32_t
instr_emit(Nest *n, Instr instr)
{
    Kernel *k = n->kernel;
    if (k->instrs.len >= MAX_INSTRS) {
        n->lw->why = "a kernel of too many instructions";
    }
    return VEC_PUSH(n->lw->arena, &k->instrs, instr) < 0 ? -1 : k->instrs.len - 1;
}

int32_t
instr_args(Nest *n, Instr instr, int nargs, const int32_t *args)
{
    for (int i = 0; i < nargs; i++)
        if (args[i] < 0) return -1;
    instr.nargs = nargs;
    if (nargs > 0) {
        instr.args = arena_copy(n->lw->arena, args, sizeof(*args) * (size_t)nargs);
        if (instr.args == NULL) return -1;
    }
    for (int i = 0; i < nargs; i++) {
        const Instr *arg = &n->kernel->instrs.at[args[i]];
        Level level = arg->kind == INSTR_REDUCE ? LEVEL_ROW : arg->level;
        if (level > instr.level) instr.level = level;
    }
    return instr_emit(n, instr);
}

/* Hashes what access_equal compares. */
static uint32_t
access_hash(const Nest *n, const Access *access)
{
    uint32_t hash = found_mix(2, (uint64_t)(uint32_t)access->storage << 8 | access->dtype);
    hash = found_mix(hash, (uint64_t)nest_value(n, access->offset));
    for (int dim = 0; dim < n->group->ndims; dim++)
        hash = found_mix(hash, (uint64_t)nest_value(n, access->stride[dim]));
    return hash;
}

/* One pointer per place, shared by accesses that differ in strides only. */
static int32_t
pointer_to(Nest *n, const Place *place)
{
    uint32_t hash = found_mix(3, (uint64_t)(uint32_t)place->buffer << 32 | (uint32_t)place->offset);
    uint32_t at = hash;
    for (int32_t i; (i = found_next(n, hash, &at)) >= 0;)
        if (i < n->places.len && n->places.at[i].buffer == place->buffer &&
            n->places.at[i].offset == place->offset)
            return i;
    if (VEC_PUSH(n->lw->arena, &n->places, *place) < 0) return -1;
    return found_add(n, hash, n->places.len - 1) < 0 ? -1 : n->places.len - 1;
}

int32_t
instr_operand(Nest *n, const Access *access, bool stored)
{
    uint32_t hash = access_hash(n, access), at = hash;
    for (int32_t i; (i = found_next(n, hash, &at)) >= 0;)
        if (i < n->accesses.len && access_equal(n->lw, n->group, &n->accesses.at[i], access)) {
            if (stored) n->kernel->operands.at[i].stored = true;
            return i;
        }
    Operand operand = {.dtype = access->dtype, .stored = stored};
    Place place = {.offset = access->offset};
    if ((place.buffer = buffer_for(n->lw, access->storage)) == NO_BUFFER) return -1;
    const Buffer *buffer = &n->lw->program->buffers.at[place.buffer];
    operand.by_value = n->kernel->device != DEVICE_HOST && buffer->type.device == DEVICE_HOST;
    const Graph *graph = n->lw->graph;
    for (int i = 0; i < n->nloops; i++) {
        SizeId stride = n->first[i] < 0 ? NO_SIZE : access->stride[n->first[i]];
        bool known = size_is_const(graph, stride);
        int64_t value = size_value(graph, stride);
        bool last = i == n->nloops - 1;
        if (known && value == 0)
            operand.stride[i] = STRIDE_ZERO;
        else if (last && known && value == (int64_t)dtype_size(access->dtype))
            operand.stride[i] = STRIDE_UNIT;
        else if ((operand.stride[i] = nest_size(n, stride)) < 0)
            return -1;
    }
    if ((operand.pointer = pointer_to(n, &place)) < 0 ||
        VEC_PUSH(n->lw->arena, &n->accesses, *access) < 0 ||
        VEC_PUSH(n->lw->arena, &n->loads, -1) < 0 ||
        VEC_PUSH(n->lw->arena, &n->kernel->operands, operand) < 0 ||
        found_add(n, hash, n->accesses.len - 1) < 0)
        return -1;
    return n->accesses.len - 1;
}

/* Is the operand loaded once, once per row or for each element? */
static Level
operand_level(const Nest *n, int32_t operand)
{
    const Operand *o = &n->kernel->operands.at[operand];
    if (o->stride[n->nloops - 1] != STRIDE_ZERO) return LEVEL_ELEMENT;
    for (int i = 0; i < n->nloops - 1; i++)
        if (o->stride[i] != STRIDE_ZERO) return LEVEL_ROW;
    return LEVEL_ONCE;
}

static int32_t
load_value(Nest *n, const Access *access, NodeId node)
{
    int32_t operand = instr_operand(n, access, false);
    if (operand < 0) return -1;
    if (n->loads.at[operand] >= 0) return n->loads.at[operand];
    return n->loads.at[operand] = instr_emit(n, (Instr){.kind = INSTR_LOAD,
                                                        .dtype = access->dtype,
                                                        .operand = operand,
                                                        .level = operand_level(n, operand),
                                                        .node = node});
}

static int32_t
cast_value(Nest *n, int32_t value, DType to, NodeId node)
{
    Device device = n->kernel->device;
    if (value < 0) return -1;
    DType from = n->kernel->instrs.at[value].dtype;
    if (from == to) return value;
    if (!op_is_on(OP_cast, from, device) || !op_is_on(OP_cast, to, device))
        n->lw->why = "a conversion of half or complex numbers inside a kernel";
    if (!dtype_is_integer(to) || dtype_is_float(from)) n->flags |= dtype_is_float(from);
    return instr_args(
        n, (Instr){.kind = INSTR_OP, .op = OP_cast, .dtype = to, .from = from, .node = node}, 1,
        &value);
}

/* The bytes of a scalar known while compiling; with none there is no kernel. */
static void
constant_bits(Nest *n, const Node *node, uint64_t bits[2])
{
    PyObject *object = node->attrs.object;
    if (object != NULL && constant_read(object, node->type.dtype, bits) == 0) return;
    PyErr_Clear();
    n->lw->why = object == NULL ? "a constant without a value" : "a constant of another dtype";
}

static int32_t argument(Nest *n, NodeId member, NodeId value);

/* Iterations of an unrolled loop often differ only in a number.  In a program of many kernels
   numbers are arguments, so that such iterations share one compiled kernel.  Floats that follow
   from sizes always are; to divide by an int, compilers have shorter ways where they know it. */
static bool
is_an_argument(const Nest *n, const Node *node)
{
    enum { MANY = 8 };
    DType dtype = node->type.dtype;
    if (dtype_is_float(dtype) && is_sized(n->lw, node)) return true;
    return n->lw->groups.len > MANY && dtype != DT_F16 && !dtype_is_complex(dtype) &&
           dtype_size(dtype) <= sizeof(int64_t);
}

/* The value of a virtual node. */
static int32_t
virtual_value(Nest *n, NodeId id)
{
    const Node *node = graph_node(n->lw->graph, id);
    if (nest_instr(n, id) >= 0) return nest_instr(n, id);
    int32_t value;
    if (node->op == OP_const) {
        Instr instr = {.kind = INSTR_CONST, .dtype = node->type.dtype, .node = id};
        constant_bits(n, node, instr.bits);
        if (is_an_argument(n, node)) {
            if (VEC_PUSH(n->lw->arena, &n->numbers, (int64_t)instr.bits[0]) < 0) return -1;
            instr.bits[0] = 0;
            instr.argument = n->numbers.len;
        }
        value = instr_emit(n, instr);
    } else if (node->op == OP_full)
        value = cast_value(n, argument(n, id, node->args[0]), node->type.dtype, id);
    else
        value = instr_member(n, id);
    if (value >= 0) nest_made(n, id, value);
    return value;
}

/* Has another kernel put the virtual value into memory before this one runs, in the order of the
   groups?  Those that copy values at commit are the last, and take values from memory alone: what
   such a value follows from need not be there, or has been written. */
static bool
is_in_memory(const Nest *n, NodeId storage)
{
    Op op = graph_node(n->lw->graph, storage)->op;
    int made_by = n->lw->group_of[storage];
    if (op == OP_full && !group_copies(n->group)) return false;
    return made_by >= 0 && made_by < n->number;
}

/* The instruction that computes or loads `value`, an argument of `member`. */
static int32_t
argument(Nest *n, NodeId member, NodeId value)
{
    const Lowering *lw = n->lw;
    const Node *node = graph_node(lw->graph, value);
    NodeId storage = node->storage;
    const Node *root = graph_node(lw->graph, storage);
    if (lw->group_of[storage] == n->number && nest_instr(n, storage) >= 0 &&
        op_info(root->op)->kind != KIND_SCATTER)
        return nest_instr(n, storage);
    if (node_is_virtual(&lw->virtuals, storage) && !is_in_memory(n, storage))
        return virtual_value(n, storage);
    Access access;
    if (node_is_virtual(&lw->virtuals, member)) {
        /* a rank-0 member: its arguments have rank 0, or one element */
        access =
            (Access){.storage = storage, .offset = node->type.offset, .dtype = node->type.dtype};
        for (int i = 0; i < MAX_RANK; i++) access.stride[i] = NO_SIZE;
    } else
        access_read(lw, n->group, member, value, &access);
    return load_value(n, &access, value);
}

int
program_add_loop(Lowering *lw, const UfuncLoop *loop)
{
    Program *p = lw->program;
    int at = 0;
    while (at < p->loops.len &&
           !(p->loops.at[at].call == loop->call && p->loops.at[at].context == loop->context &&
             p->loops.at[at].auxdata == loop->auxdata))
        at++;
    return at == p->loops.len && VEC_PUSH(lw->arena, &p->loops, *loop) < 0 ? -1 : at;
}

int
program_ufunc_loop(Lowering *lw, PyObject *ufunc, int nin, const DType *dtypes, bool *flags)
{
    UfuncLoop loop;
    Answer answer = ufunc_loop(ufunc, nin, 1, dtypes, &loop);
    if (answer == ANSWER_ERROR) return -1;
    if (answer == ANSWER_YES && loop.needs_api) {
        Py_XDECREF(loop.owner);
        answer = ANSWER_NO;
    }
    if (answer == ANSWER_NO) {
        lw->why = "a ufunc without a strided loop";
        return 0;
    }
    /* the keep list owns what the loop needs from now on */
    int kept = loop.owner == NULL ? 0 : PyList_Append(lw->graph->keep, loop.owner);
    Py_XDECREF(loop.owner);
    if (kept < 0) return -1;
    if (!loop.no_float_error) *flags = true;
    return program_add_loop(lw, &loop);
}

PyObject *
numpy_ufunc(Lowering *lw, const char *name)
{
    PyObject *ufunc = module_object("numpy", name);
    if (ufunc == NULL) return NULL;
    int kept = PyList_Append(lw->graph->keep, ufunc);
    Py_DECREF(ufunc); /* the keep list has it */
    return kept < 0 ? NULL : ufunc;
}

/* The index among the kernel's loops of the ufunc's loop for these dtypes; -1 with the error
   set. */
static int
loop_index(Nest *n, PyObject *ufunc, int nin, const DType *dtypes)
{
    int at = program_ufunc_loop(n->lw, ufunc, nin, dtypes, &n->flags);
    if (at < 0 || n->lw->why != NULL) return at;
    for (int i = 0; i < n->loops.len; i++)
        if (n->loops.at[i] == at) return i;
    return VEC_PUSH(n->lw->arena, &n->loops, at) < 0 ? -1 : n->loops.len - 1;
}

/* Is the argument a copy that the kernel reads at the original, whose layout may give a call other
   bits? */
static bool
is_read_elsewhere(const Nest *n, NodeId arg, const Instr *instr)
{
    const Graph *g = n->lw->graph;
    if (instr->kind != INSTR_LOAD || instr->node == NO_NODE) return false;
    const Node *read = graph_node(g, instr->node);
    if (read->storage == graph_node(g, arg)->storage) return false;
    return read->type.dtype == DT_F16 || type_runs_backwards(g, &read->type);
}

/* Is the argument, whose array is contiguous, read with a stride because the kernel's rows lie
   across it?  Loops for half floats have other bits then. */
static bool
is_read_across(const Nest *n, const Instr *instr)
{
    if (instr->kind != INSTR_LOAD || instr->dtype != DT_F16 || instr->level != LEVEL_ELEMENT)
        return false;
    return n->kernel->operands.at[instr->operand].stride[n->nloops - 1] != STRIDE_UNIT;
}

/* The value computed for each element, so that it is in memory where a ufunc's loop can read it. */
static int32_t
copy_of(Nest *n, NodeId node, int32_t value)
{
    DType dtype = n->kernel->instrs.at[value].dtype;
    Instr copy = {.kind = INSTR_OP,
                  .op = OP_positive,
                  .dtype = dtype,
                  .from = dtype,
                  .level = LEVEL_ELEMENT,
                  .node = node};
    return instr_args(n, copy, 1, &value);
}

/* Gives an argument memory of its own where NumPy's array has other strides than what the kernel
   would read: some loops give other bits then.  np.power, for example, squares when its exponent is
   2 and has stride 0; that of np.full((n,), 2.0) is not 0. */
static int32_t
spread(Nest *n, NodeId call, NodeId arg, int32_t value)
{
    Graph *g = n->lw->graph;
    const Instr *instr = &n->kernel->instrs.at[value];
    const Type *type = &graph_node(g, arg)->type;
    bool once = instr->level != LEVEL_ELEMENT && instr->kind != INSTR_LOAD;
    if (!once && !is_read_elsewhere(n, arg, instr) && !is_read_across(n, instr)) return value;
    if (type_is_single(g, type) || !type_has_as_many(g, type, node_domain(n->lw, call)))
        return value;
    return copy_of(n, call, value);
}

/* Does the result have each of the nest's elements? Then the ufunc's loop runs over all of them, as
   in NumPy, even where all arguments have stride 0: called for one element it may give other bits
   (square of complex numbers). */
static bool
is_of_every_element(const Nest *n, const Type *type)
{
    Graph *g = n->lw->graph;
    SizeId elements = size_const(g, 1);
    for (int dim = 0; dim < n->group->ndims; dim++)
        elements = size_mul(g, elements, n->group->size[dim]);
    return !type_is_single(g, type) && size_same(g, type_count(g, type), elements);
}

static int32_t
emit_call(Nest *n, NodeId id, int nargs, int32_t *args)
{
    const Node *node = graph_node(n->lw->graph, id);
    PyObject *ufunc = node->attrs.object;
    if (op_info(node->op)->kind != KIND_UFUNC) ufunc = numpy_ufunc(n->lw, op_info(node->op)->ufunc);
    if (ufunc == NULL) return -1;
    DType dtypes[MAX_ARGS + 1];
    bool whole = is_of_every_element(n, &node->type);
    for (int i = 0; i < nargs && (nargs > 1 || whole); i++)
        if ((args[i] = spread(n, id, node->args[i], args[i])) < 0) return -1;
    for (int i = 0; i < nargs; i++) dtypes[i] = n->kernel->instrs.at[args[i]].dtype;
    dtypes[nargs] = node->type.dtype;
    int loop = loop_index(n, ufunc, nargs, dtypes);
    if (loop < 0) return -1;
    return instr_args(n,
                      (Instr){.kind = INSTR_CALL,
                              .op = node->op,
                              .dtype = node->type.dtype,
                              .loop = loop,
                              .level = whole ? LEVEL_ELEMENT : LEVEL_ONCE,
                              .node = id},
                      nargs, args);
}

/* A reduction of integers that casts converts each element, then combines. */
static int32_t
emit_reduction(Nest *n, NodeId id, int32_t arg)
{
    const Node *node = graph_node(n->lw->graph, id);
    Instr instr = {.kind = INSTR_REDUCE,
                   .op = node->op,
                   .dtype = node->type.dtype,
                   .node = id,
                   .level = LEVEL_ELEMENT};
    reduction_form(n->lw->graph, node, &instr.order);
    if (!op_finds(node->op)) arg = cast_value(n, arg, node->type.dtype, id);
    if (arg < 0) return -1;
    if (op_finds(node->op)) instr.from = n->kernel->instrs.at[arg].dtype;
    if (instr.order == REDUCE_PAIRWISE) n->flags = true;
    bool calls = instr.order == REDUCE_CALL || instr.order == REDUCE_EXTREME;
    if (calls && n->kernel->kind != KERNEL_COLUMNS) {
        bool flags = n->flags;
        PyObject *ufunc = numpy_ufunc(n->lw, op_info(node->op)->ufunc);
        if (ufunc == NULL) return -1;
        DType dtypes[3] = {instr.dtype, instr.dtype, instr.dtype};
        if ((instr.loop = loop_index(n, ufunc, 2, dtypes)) < 0) return -1;
        /* NumPy loops_minmax.dispatch.c.src: the loops of maximum and minimum raise nothing */
        if (instr.order == REDUCE_EXTREME) n->flags = flags;
        /* the loop reads memory, which a value that is constant along the row does not have */
        const Instr *value = &n->kernel->instrs.at[arg];
        if (value->level != LEVEL_ELEMENT && value->kind != INSTR_LOAD &&
            (arg = copy_of(n, id, arg)) < 0)
            return -1;
    }
    return instr_args(n, instr, 1, &arg);
}

static int32_t
emit_index(Nest *n, NodeId id, const int32_t *args)
{
    /* NumPy arraytypes.c.src, @NAME@_fill: start + i * ((start + step) - start) */
    DType dtype = graph_node(n->lw->graph, id)->type.dtype;
    if (args[0] < 0 || args[1] < 0) return -1;
    DType given = n->kernel->instrs.at[args[0]].dtype;
    if (given != n->kernel->instrs.at[args[1]].dtype) given = DT_F64;
    Instr op = {.kind = INSTR_OP, .op = OP_add, .dtype = given, .from = given, .node = id};
    int32_t first = cast_value(n, args[0], given, id), step = cast_value(n, args[1], given, id);
    int32_t next = cast_value(n, instr_args(n, op, 2, (int32_t[]){first, step}), dtype, id);
    int32_t start = cast_value(n, first, dtype, id);
    if (type_is_single(n->lw->graph, &graph_node(n->lw->graph, id)->type))
        return start; /* a single element has no position along a row */
    op = (Instr){.kind = INSTR_OP, .op = OP_subtract, .dtype = dtype, .from = dtype, .node = id};
    int32_t delta = instr_args(n, op, 2, (int32_t[]){next, start});
    int32_t index = cast_value(
        n,
        instr_emit(
            n, (Instr){.kind = INSTR_INDEX, .dtype = DT_I64, .level = LEVEL_ELEMENT, .node = id}),
        dtype, id);
    op.op = OP_multiply;
    int32_t run = instr_args(n, op, 2, (int32_t[]){index, delta});
    op.op = OP_add;
    return instr_args(n, op, 2, (int32_t[]){start, run});
}

/* A pointwise or Python operation on instructions that exist already. */
static int32_t
operation_value(Nest *n, NodeId id, int nargs, int32_t *args)
{
    const Node *node = graph_node(n->lw->graph, id);
    const OpInfo *info = op_info(node->op);
    DType dtype = node_loop_dtype(n->lw->graph, node);
    if (node->op == OP_cast) return cast_value(n, args[0], node->type.dtype, id);
    for (int i = 0; i < nargs && info->kind == KIND_POINTWISE; i++) {
        args[i] = cast_value(n, args[i], node->op == OP_where && i == 0 ? DT_BOOL : dtype, id);
        if (args[i] < 0) return -1;
    }
    if (info->kind == KIND_PYTHON && info->flags & OPF_FALLIBLE) n->fallible = true;
    if (info->flags & OPF_SPECIAL && node->type.device == DEVICE_HOST) n->silent = true;
    if (!(info->flags & OPF_NO_FLAGS) && info->kind == KIND_POINTWISE &&
        (dtype_is_float(dtype) || node->op == OP_floor_divide || node->op == OP_remainder))
        n->flags = true;
    return instr_args(n,
                      (Instr){.kind = INSTR_OP,
                              .op = node->op,
                              .dtype = node->type.dtype,
                              .guard = node->op == OP_where && node->attrs.index == WHERE_GUARDS,
                              .from = info->kind == KIND_PYTHON && nargs > 0
                                          ? n->kernel->instrs.at[args[0]].dtype
                                          : dtype,
                              .node = id},
                      nargs, args);
}

/* An element of an array in memory, by an index that is a value of the kernel. */
static int32_t
emit_gather(Nest *n, NodeId id)
{
    const Node *node = graph_node(n->lw->graph, id);
    Instr instr = {.kind = INSTR_GATHER, .dtype = node->type.dtype, .node = id};
    Access access;
    for (int i = 0; i < 2; i++) {
        SizeId size = size_const(n->lw->graph, node->attrs.ints[i]);
        int32_t at = size == NO_SIZE ? -1 : nest_size(n, size);
        if (at < 0) return -1;
        instr.bits[i] = (uint64_t)at;
    }
    int32_t index = cast_value(n, argument(n, id, node->args[1]), DT_I64, id);
    if (index < 0) return -1;
    access_read(n->lw, n->group, id, node->args[0], &access);
    if ((instr.operand = instr_operand(n, &access, false)) < 0) return -1;
    instr.level = operand_level(n, instr.operand);
    return instr_args(n, instr, 1, &index);
}

int32_t
instr_member(Nest *n, NodeId id)
{
    const Node *node = graph_node(n->lw->graph, id);
    if (op_info(node->op)->kind == KIND_GATHER) return emit_gather(n, id);
    int32_t args[MAX_ARGS];
    int skip = op_info(node->op)->kind == KIND_SCATTER, nargs = node->nargs - skip;
    if (nargs > MAX_ARGS) {
        n->lw->why = "a ufunc of too many arguments";
        return -1;
    }
    for (int i = 0; i < nargs; i++) {
        args[i] = argument(n, id, node->args[i + skip]);
        if (args[i] < 0) return -1;
    }
    switch (op_info(node->op)->kind) {
    case KIND_REDUCTION: return emit_reduction(n, id, args[0]);
    case KIND_SCATTER: return cast_value(n, args[0], node->type.dtype, id);
    case KIND_COPY: return cast_value(n, args[0], node->type.dtype, id);
    case KIND_FILL:
        if (node->op == OP_full) return cast_value(n, args[0], node->type.dtype, id);
        return emit_index(n, id, args);
    default:
        if (node_way(n->lw->graph, node) == WAY_BLOCKS) return emit_call(n, id, nargs, args);
        return operation_value(n, id, nargs, args);
    }
}

/* A value that is computed into an input at commit (commit.c): stored then, and before only
   computed for its flags, of which a device has none. */
static int
emit_commit(Nest *n, NodeId id, NodeId scatter, int32_t value)
{
    const Node *node = graph_node(n->lw->graph, scatter);
    Instr instr = {.kind = INSTR_CHECK, .dtype = node->type.dtype, .node = id};
    if (n->kind == NEST_COMMIT) {
        Access access;
        written_access(n->lw, n->group, scatter, &access);
        instr.kind = INSTR_STORE;
        if ((instr.operand = instr_operand(n, &access, true)) < 0) return -1;
        instr.level = operand_level(n, instr.operand);
    } else if (n->kernel->device != DEVICE_HOST) {
        return 0;
    }
    return instr_args(n, instr, 1, &value) < 0 ? -1 : 0;
}

static int
emit_store(Nest *n, NodeId id, int32_t value)
{
    const Node *node = graph_node(n->lw->graph, id);
    Access access;
    NodeId scatter = n->lw->commit_of[id];
    if (scatter != NO_NODE) return emit_commit(n, id, scatter, value);
    if (n->kind == NEST_COMMIT) return 0;
    if (op_info(node->op)->kind == KIND_REDUCTION) {
        Type type = node->type;
        /* the result walks the kept dimensions alone */
        access = (Access){.storage = id, .dtype = type.dtype, .offset = type.offset};
        SizeId kept[MAX_RANK];
        int count = 0;
        for (int axis = 0; axis < type.rank; axis++)
            if (!size_is_single(n->lw->graph, type.shape[axis]))
                kept[count++] = size_walked(n->lw->graph, type.stride[axis]);
        for (int dim = 0, at = 0; dim < n->group->ndims; dim++)
            access.stride[dim] = n->group->reduced >> dim & 1 ? NO_SIZE
                                 : at < count                 ? kept[at++]
                                                              : NO_SIZE;
    } else {
        const Type *type = op_info(node->op)->kind == KIND_SCATTER ? node->attrs.view : &node->type;
        access_of(n->lw, n->group, id, type, id, &access);
    }
    int32_t operand = instr_operand(n, &access, true);
    if (operand < 0) return -1;
    Level level = operand_level(n, operand);
    return instr_args(n,
                      (Instr){.kind = INSTR_STORE,
                              .dtype = access.dtype,
                              .operand = operand,
                              .level = level,
                              .node = id},
                      1, &value) < 0
               ? -1
               : 0;
}

/* A value that nobody reads is computed for its flags; a call has raised its own. */
static int
emit_check(Nest *n, NodeId id, int32_t value)
{
    const Instr *made = &n->kernel->instrs.at[value];
    Instr check = {.kind = INSTR_CHECK, .dtype = made->dtype, .node = id};
    if (made->kind == INSTR_CALL) return 0;
    return instr_args(n, check, 1, &value) < 0 ? -1 : 0;
}

int
instr_members(Nest *n)
{
    for (int i = 0; i < n->group->nodes.len; i++) {
        NodeId id = n->group->nodes.at[i];
        int32_t value = instr_member(n, id);
        if (n->lw->why != NULL) return 0;
        if (value < 0) return -1;
        nest_made(n, id, value);
        bool checked = n->lw->checked[id] && !n->lw->needed[id] && n->kind == NEST_FIRST;
        if (n->lw->needed[id] && emit_store(n, id, value) < 0) return -1;
        if (checked && emit_check(n, id, value) < 0) return -1;
        if (n->lw->why != NULL) return 0;
    }
    return 0;
}
