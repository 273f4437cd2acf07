/* A group as a loop nest.  In: the members, in program order.  Out: a Kernel and the step that
   launches it.  Steps:
   1. order the dimensions as memory has them and join those that every access walks as one;
   2. one instruction per member, loads and virtual arguments as they are met;
   3. levels (how often), stages (which pass over the row), homes (what rests in memory). */
#include "schedule.h"

enum { BLOCK = 2048, CHUNK = 32768, MAX_INSTRS = 2000 };

typedef struct {
    Lowering *lw;
    Group *group;
    int number;
    Kernel *kernel;
    int nloops;
    int first[MAX_RANK];   /* per loop: its innermost dimension of the group (strides) */
    SizeId size[MAX_RANK]; /* per loop */
    bool reduces;
    int32_t *value_of;    /* per node: instruction + 1 */
    VEC(Access) accesses; /* per operand */
    VEC(SizeId) sizes;
    VEC(Place) places;
    VEC(int32_t) loops;
    bool flags, fallible;
} Nest;

/* ---- 1. loops ---- */

static int64_t
value_at(const Nest *n, SizeId id)
{
    return size_value(n->lw->graph, id);
}

typedef struct {
    const Nest *nest;
    Access leading;
    bool found;
    int outer, inner; /* dimensions of a pair that is being tried */
} Scan;

static bool
collect_leading(void *context, const Access *access)
{
    Scan *s = context;
    int walked = 0, best = 0;
    for (int dim = 0; dim < s->nest->group->ndims; dim++) {
        walked += value_at(s->nest, access->stride[dim]) != 0;
        best += value_at(s->nest, s->leading.stride[dim]) != 0;
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
        const Node *node = graph_node(n->lw->graph, id);
        Access access;
        const Type *type = op_info(node->op)->kind == KIND_SCATTER ? node->attrs.view : &node->type;
        access_of(n->lw, g, id, type, id, &access);
        collect_leading(&s, &access);
    }
    return s.leading;
}

static bool
pair_joins(void *context, const Access *access)
{
    const Scan *s = context;
    int64_t outer = value_at(s->nest, access->stride[s->outer]);
    int64_t inner = value_at(s->nest, access->stride[s->inner]);
    return outer == inner * value_at(s->nest, s->nest->group->size[s->inner]);
}

static int64_t
magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

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
            } else if (magnitude(value_at(n, leading.stride[before])) >=
                       magnitude(value_at(n, leading.stride[dim])))
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

static int
append_unit_loop(Nest *n)
{
    SizeId one = size_const(n->lw->graph, 1);
    if (one == NO_SIZE) return -1;
    n->size[n->nloops] = one;
    n->first[n->nloops++] = -1;
    return 0;
}

static int32_t
size_argument(Nest *n, SizeId id)
{
    for (int i = 0; i < n->sizes.len; i++)
        if (n->sizes.at[i] == id) return i;
    if (VEC_PUSH(n->lw->arena, &n->sizes, id) < 0) return -1;
    return n->sizes.len - 1;
}

static int
make_loops(Nest *n)
{
    Group *g = n->group;
    Kernel *k = n->kernel;
    if (order_loops(n) < 0) return -1;
    int reduced = 0;
    for (int i = 0; i < n->nloops; i++) reduced += g->reduced >> n->first[i] & 1;
    if (reduced > 1) {
        n->lw->why = "a reduction over several runs of memory";
        return 0;
    }
    if (n->nloops == 0 || (n->reduces && reduced == 0))
        if (append_unit_loop(n) < 0) return -1;
    k->kind = g->columns ? KERNEL_COLUMNS : n->reduces || n->nloops > 1 ? KERNEL_ROWS : KERNEL_FLAT;
    k->nloops = n->nloops;
    for (int i = 0; i < n->nloops; i++)
        if ((k->size[i] = size_argument(n, n->size[i])) < 0) return -1;
    return 0;
}

/* ---- 2. instructions ---- */

static int32_t
emit(Nest *n, Instr instr)
{
    Kernel *k = n->kernel;
    if (k->instrs.len >= MAX_INSTRS) {
        n->lw->why = "a kernel of too many instructions";
    }
    return VEC_PUSH(n->lw->arena, &k->instrs, instr) < 0 ? -1 : k->instrs.len - 1;
}

static int32_t
emit_args(Nest *n, Instr instr, int nargs, const int32_t *args)
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
    return emit(n, instr);
}

static int32_t
find_operand(Nest *n, const Access *access, bool stored)
{
    for (int i = 0; i < n->accesses.len; i++)
        if (access_equal(n->lw, n->group, &n->accesses.at[i], access)) {
            if (stored) n->kernel->operands.at[i].stored = true;
            return i;
        }
    Operand operand = {.dtype = access->dtype, .stored = stored};
    Place place = {.offset = access->offset};
    if ((place.buffer = buffer_for(n->lw, access->storage)) == NO_BUFFER) return -1;
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
        else if ((operand.stride[i] = size_argument(n, stride)) < 0)
            return -1;
    }
    /* one pointer per place, shared by accesses that differ in strides only */
    for (operand.pointer = 0; operand.pointer < n->places.len; operand.pointer++) {
        const Place *p = &n->places.at[operand.pointer];
        if (p->buffer == place.buffer && p->offset == place.offset) break;
    }
    if (operand.pointer == n->places.len && VEC_PUSH(n->lw->arena, &n->places, place) < 0)
        return -1;
    if (VEC_PUSH(n->lw->arena, &n->accesses, *access) < 0 ||
        VEC_PUSH(n->lw->arena, &n->kernel->operands, operand) < 0)
        return -1;
    return n->accesses.len - 1;
}

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
emit_load(Nest *n, const Access *access, NodeId node)
{
    int32_t operand = find_operand(n, access, false);
    if (operand < 0) return -1;
    for (int i = 0; i < n->kernel->instrs.len; i++) {
        const Instr *instr = &n->kernel->instrs.at[i];
        if (instr->kind == INSTR_LOAD && instr->operand == operand) return i;
    }
    return emit(n, (Instr){.kind = INSTR_LOAD,
                           .dtype = access->dtype,
                           .operand = operand,
                           .level = operand_level(n, operand),
                           .node = node});
}

static int32_t
emit_cast(Nest *n, int32_t value, DType to, NodeId node)
{
    if (value < 0) return -1;
    DType from = n->kernel->instrs.at[value].dtype;
    if (from == to) return value;
    if (!op_is_exact(OP_cast, from) || !op_is_exact(OP_cast, to))
        n->lw->why = "a conversion of half or complex numbers inside a kernel";
    if (!dtype_is_integer(to) || dtype_is_float(from)) n->flags |= dtype_is_float(from);
    return emit_args(
        n, (Instr){.kind = INSTR_OP, .op = OP_cast, .dtype = to, .from = from, .node = node}, 1,
        &value);
}

/* The bytes of a scalar known while compiling. */
static int
constant_bits(Nest *n, const Node *node, uint64_t bits[2])
{
    PyObject *object = node->attrs.object;
    DType have;
    bits[0] = bits[1] = 0;
    ArrayHeader header;
    const char *why;
    if (object == NULL) {
        n->lw->why = "a constant without a value";
        return 0;
    }
    if (array_scalar_read(object, &have, bits) == ANSWER_YES) {
        if (have == node->type.dtype) return 0;
    } else if (array_read(object, &header, &why) == ANSWER_YES &&
               header.dtype == node->type.dtype) {
        memcpy(bits, header.data, dtype_size(header.dtype));
        return 0;
    }
    /* anything else by NumPy: dtype.type(object) */
    PyObject *dtype = array_dtype_object(node->type.dtype), *scalar = NULL;
    if (dtype == NULL) return -1;
    PyObject *type = PyObject_GetAttrString(dtype, "type");
    if (type != NULL) scalar = PyObject_CallOneArg(type, object);
    Py_XDECREF(type);
    Py_DECREF(dtype);
    if (scalar == NULL) return -1;
    bits[0] = bits[1] = 0;
    Answer answer = array_scalar_read(scalar, &have, bits);
    Py_DECREF(scalar);
    if (answer != ANSWER_YES || have != node->type.dtype) n->lw->why = "a constant of odd dtype";
    return 0;
}

static int32_t member_value(Nest *n, NodeId id);
static int32_t argument(Nest *n, NodeId member, NodeId value);

static int32_t
virtual_value(Nest *n, NodeId id)
{
    const Node *node = graph_node(n->lw->graph, id);
    if (n->value_of[id]) return n->value_of[id] - 1;
    int32_t value;
    if (node->op == OP_const) {
        Instr instr = {.kind = INSTR_CONST, .dtype = node->type.dtype, .node = id};
        if (constant_bits(n, node, instr.bits) < 0) return -1;
        value = emit(n, instr);
    } else if (node->op == OP_full)
        value = emit_cast(n, argument(n, id, node->args[0]), node->type.dtype, id);
    else
        value = member_value(n, id);
    if (value >= 0) n->value_of[id] = value + 1;
    return value;
}

/* The instruction that gives `value`, an argument of `member`. */
static int32_t
argument(Nest *n, NodeId member, NodeId value)
{
    const Lowering *lw = n->lw;
    const Node *node = graph_node(lw->graph, value);
    NodeId storage = node->storage;
    const Node *root = graph_node(lw->graph, storage);
    if (lw->group_of[storage] == n->number && n->value_of[storage] &&
        op_info(root->op)->kind != KIND_SCATTER)
        return n->value_of[storage] - 1;
    if (node_is_virtual(lw, storage) &&
        !(lw->buffer[storage] != NO_BUFFER && root->op != OP_const && root->op != OP_full))
        return virtual_value(n, storage);
    Access access;
    if (node_is_virtual(lw, member)) {
        /* a rank-0 member: its arguments have rank 0, or one element */
        access =
            (Access){.storage = storage, .offset = node->type.offset, .dtype = node->type.dtype};
        for (int i = 0; i < MAX_RANK; i++) access.stride[i] = NO_SIZE;
    } else
        access_of(lw, n->group, member, &node->type, storage, &access);
    return emit_load(n, &access, value);
}

static int
loop_index(Nest *n, PyObject *ufunc, int nin, const DType *dtypes)
{
    UfuncLoop loop;
    Answer answer = ufunc_loop(ufunc, nin, 1, dtypes, &loop);
    if (answer == ANSWER_ERROR) return -1;
    if (answer == ANSWER_YES && loop.needs_api) {
        Py_XDECREF(loop.owner);
        answer = ANSWER_NO;
    }
    if (answer == ANSWER_NO) {
        n->lw->why = "a ufunc without a strided loop";
        return 0;
    }
    /* the keep list owns what the loop needs from now on */
    int kept = loop.owner == NULL ? 0 : PyList_Append(n->lw->graph->keep, loop.owner);
    Py_XDECREF(loop.owner);
    if (kept < 0) return -1;
    Program *p = n->lw->program;
    int at = 0;
    while (at < p->loops.len &&
           !(p->loops.at[at].call == loop.call && p->loops.at[at].context == loop.context &&
             p->loops.at[at].auxdata == loop.auxdata))
        at++;
    if (at == p->loops.len && VEC_PUSH(n->lw->arena, &p->loops, loop) < 0) return -1;
    if (!loop.no_float_error) n->flags = true;
    for (int i = 0; i < n->loops.len; i++)
        if (n->loops.at[i] == at) return i;
    return VEC_PUSH(n->lw->arena, &n->loops, at) < 0 ? -1 : n->loops.len - 1;
}

static PyObject *
numpy_ufunc(Nest *n, const char *name)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL) return NULL;
    PyObject *ufunc = PyObject_GetAttrString(numpy, name);
    Py_DECREF(numpy);
    if (ufunc == NULL) return NULL;
    int kept = PyList_Append(n->lw->graph->keep, ufunc);
    Py_DECREF(ufunc); /* the keep list has it */
    return kept < 0 ? NULL : ufunc;
}

enum { MAX_ARGS = 32 };

static int32_t
emit_call(Nest *n, NodeId id, int nargs, const int32_t *args)
{
    const Node *node = graph_node(n->lw->graph, id);
    PyObject *ufunc = node->attrs.object;
    if (op_info(node->op)->kind != KIND_UFUNC) ufunc = numpy_ufunc(n, op_info(node->op)->ufunc);
    if (ufunc == NULL) return -1;
    DType dtypes[MAX_ARGS + 1];
    for (int i = 0; i < nargs; i++) dtypes[i] = n->kernel->instrs.at[args[i]].dtype;
    dtypes[nargs] = node->type.dtype;
    int loop = loop_index(n, ufunc, nargs, dtypes);
    if (loop < 0) return -1;
    return emit_args(n,
                     (Instr){.kind = INSTR_CALL,
                             .op = node->op,
                             .dtype = node->type.dtype,
                             .loop = loop,
                             .node = id},
                     nargs, args);
}

/* Casting reductions of integers: each element is converted, then combined. */
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
    arg = emit_cast(n, arg, node->type.dtype, id);
    if (arg < 0) return -1;
    if (instr.order == REDUCE_PAIRWISE) n->flags = true;
    if (instr.order == REDUCE_CALL && n->kernel->kind != KERNEL_COLUMNS) {
        PyObject *ufunc = numpy_ufunc(n, op_info(node->op)->ufunc);
        if (ufunc == NULL) return -1;
        DType dtypes[3] = {instr.dtype, instr.dtype, instr.dtype};
        if ((instr.loop = loop_index(n, ufunc, 2, dtypes)) < 0) return -1;
        /* the loop reads memory: a value that is the same in all of the row has none */
        if (n->kernel->instrs.at[arg].level != LEVEL_ELEMENT &&
            n->kernel->instrs.at[arg].kind != INSTR_LOAD)
            n->lw->why = "a reduction of a value that does not vary";
    }
    return emit_args(n, instr, 1, &arg);
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
    int32_t first = emit_cast(n, args[0], given, id), step = emit_cast(n, args[1], given, id);
    int32_t next = emit_cast(n, emit_args(n, op, 2, (int32_t[]){first, step}), dtype, id);
    int32_t start = emit_cast(n, first, dtype, id);
    op = (Instr){.kind = INSTR_OP, .op = OP_subtract, .dtype = dtype, .from = dtype, .node = id};
    int32_t delta = emit_args(n, op, 2, (int32_t[]){next, start});
    int32_t index = emit_cast(
        n,
        emit(n, (Instr){.kind = INSTR_INDEX, .dtype = DT_I64, .level = LEVEL_ELEMENT, .node = id}),
        dtype, id);
    op.op = OP_multiply;
    int32_t run = emit_args(n, op, 2, (int32_t[]){index, delta});
    op.op = OP_add;
    return emit_args(n, op, 2, (int32_t[]){start, run});
}

static int32_t
emit_operation(Nest *n, NodeId id, int nargs, int32_t *args)
{
    const Node *node = graph_node(n->lw->graph, id);
    const OpInfo *info = op_info(node->op);
    DType dtype = node_loop_dtype(n->lw->graph, node);
    if (node->op == OP_cast) return emit_cast(n, args[0], node->type.dtype, id);
    for (int i = 0; i < nargs && info->kind == KIND_POINTWISE; i++) {
        args[i] = emit_cast(n, args[i], node->op == OP_where && i == 0 ? DT_BOOL : dtype, id);
        if (args[i] < 0) return -1;
    }
    if (info->kind == KIND_PYTHON && info->flags & OPF_FALLIBLE) n->fallible = true;
    if (!(info->flags & OPF_NO_FLAGS) && info->kind == KIND_POINTWISE &&
        (dtype_is_float(dtype) || node->op == OP_floor_divide || node->op == OP_remainder))
        n->flags = true;
    return emit_args(n,
                     (Instr){.kind = INSTR_OP,
                             .op = node->op,
                             .dtype = node->type.dtype,
                             .from = info->kind == KIND_PYTHON && nargs > 0
                                         ? n->kernel->instrs.at[args[0]].dtype
                                         : dtype,
                             .node = id},
                     nargs, args);
}

static int32_t
member_value(Nest *n, NodeId id)
{
    const Node *node = graph_node(n->lw->graph, id);
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
    case KIND_SCATTER: return emit_cast(n, args[0], node->type.dtype, id);
    case KIND_COPY: return emit_cast(n, args[0], node->type.dtype, id);
    case KIND_FILL:
        if (node->op == OP_full) return emit_cast(n, args[0], node->type.dtype, id);
        return emit_index(n, id, args);
    default:
        if (node_is_call(n->lw->graph, node)) return emit_call(n, id, nargs, args);
        return emit_operation(n, id, nargs, args);
    }
}

static int
emit_store(Nest *n, NodeId id, int32_t value)
{
    const Node *node = graph_node(n->lw->graph, id);
    Access access;
    if (op_info(node->op)->kind == KIND_REDUCTION) {
        Type type = node->type;
        bool row = n->lw->row_level[id];
        /* the result walks the kept dimensions, as a row-level member without them would */
        access = (Access){.storage = id, .dtype = type.dtype, .offset = type.offset};
        SizeId kept[MAX_RANK];
        int count = 0;
        for (int axis = 0; axis < type.rank; axis++)
            if (value_at(n, type.shape[axis]) != 1) kept[count++] = type.stride[axis];
        for (int dim = 0, at = 0; dim < n->group->ndims; dim++)
            access.stride[dim] = n->group->reduced >> dim & 1 ? NO_SIZE
                                 : at < count                 ? kept[at++]
                                                              : NO_SIZE;
        (void)row;
    } else {
        const Type *type = op_info(node->op)->kind == KIND_SCATTER ? node->attrs.view : &node->type;
        access_of(n->lw, n->group, id, type, id, &access);
    }
    int32_t operand = find_operand(n, &access, true);
    if (operand < 0) return -1;
    Level level = operand_level(n, operand);
    return emit_args(n,
                     (Instr){.kind = INSTR_STORE,
                             .dtype = access.dtype,
                             .operand = operand,
                             .level = level,
                             .node = id},
                     1, &value) < 0
               ? -1
               : 0;
}

static int
emit_members(Nest *n)
{
    for (int i = 0; i < n->group->nodes.len; i++) {
        NodeId id = n->group->nodes.at[i];
        int32_t value = member_value(n, id);
        if (n->lw->why != NULL) return 0;
        if (value < 0) return -1;
        n->value_of[id] = value + 1;
        if (n->lw->needed[id] && emit_store(n, id, value) < 0) return -1;
        if (n->lw->why != NULL) return 0;
    }
    return 0;
}

/* ---- 3. stages and homes ---- */

/* First even stage at which the value can be had from registers or memory. */
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

static bool
reads_memory(const Instr *user)
{
    return user->level == LEVEL_ELEMENT &&
           (user->kind == INSTR_CALL || (user->kind == INSTR_REDUCE && user->order == REDUCE_CALL));
}

/* The last stage in which value `at` is wanted from memory; -1: never. */
static int
last_wanted(const Kernel *k, int32_t at)
{
    const Instr *value = &k->instrs.at[at];
    int last = -1;
    for (int i = at + 1; i < k->instrs.len; i++) {
        const Instr *user = &k->instrs.at[i];
        for (int a = 0; a < user->nargs; a++) {
            if (user->args[a] != at) continue;
            bool later = user->stage > value->stage;
            /* what is cheap is computed again */
            if (reads_memory(user) || (later && !cheap(k, value)))
                last = user->stage > last ? user->stage : last;
        }
    }
    return last;
}

/* A call may write where it reads its argument, as ufuncs may with `out`. */
static bool
takes_over(const Kernel *k, const Instr *call, int slot)
{
    for (int a = 0; call->kind == INSTR_CALL && a < call->nargs; a++) {
        const Instr *arg = &k->instrs.at[call->args[a]];
        if (arg->home == HOME_SCRATCH && arg->slot == slot && arg->level == LEVEL_ELEMENT &&
            dtype_size(arg->dtype) == dtype_size(call->dtype))
            return true;
    }
    return false;
}

static void
assign_homes(Nest *n)
{
    Kernel *k = n->kernel;
    int free_after[64];
    if (k->kind == KERNEL_COLUMNS && k->nstages == 1) return;
    for (int i = 0; i < k->instrs.len; i++) {
        Instr *v = &k->instrs.at[i];
        if (v->level != LEVEL_ELEMENT || v->kind == INSTR_LOAD || v->kind == INSTR_STORE ||
            v->kind == INSTR_REDUCE)
            continue;
        int last = last_wanted(k, i);
        if (last < 0 && v->kind != INSTR_CALL) continue;
        for (int u = i + 1; u < k->instrs.len && v->home == HOME_NONE; u++) {
            const Instr *store = &k->instrs.at[u];
            if (store->kind == INSTR_STORE && store->args[0] == i && store->dtype == v->dtype &&
                k->operands.at[store->operand].stride[k->nloops - 1] != STRIDE_ZERO) {
                v->home = HOME_OPERAND;
                v->slot = store->operand;
            }
        }
        if (v->home != HOME_NONE) continue;
        int slot = 0, bytes = (int)dtype_size(v->dtype);
        while (slot < k->nslots && free_after[slot] >= v->stage &&
               !(free_after[slot] == v->stage && takes_over(k, v, slot)))
            slot++;
        if (slot == 64) {
            n->lw->why = "a kernel of too many scratch rows";
            return;
        }
        if (slot == k->nslots) k->nslots++;
        if (bytes > k->slot_bytes[slot]) k->slot_bytes[slot] = bytes;
        free_after[slot] = last < v->stage ? v->stage : last;
        v->home = HOME_SCRATCH;
        v->slot = slot;
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

/* Accumulators of a column reduction rest in scratch too. */
static void
column_accumulators(Nest *n)
{
    Kernel *k = n->kernel;
    for (int i = 0; i < k->instrs.len; i++) {
        Instr *v = &k->instrs.at[i];
        if (v->kind != INSTR_REDUCE) continue;
        if (k->nslots == 64) {
            n->lw->why = "a kernel of too many scratch rows";
            return;
        }
        k->slot_bytes[k->nslots] = (int)dtype_size(v->dtype);
        v->home = HOME_SCRATCH;
        v->slot = k->nslots++;
    }
}

static int64_t
scratch_bytes(const Nest *n)
{
    const Kernel *k = n->kernel;
    int64_t length = k->block ? k->block : value_at(n, n->size[n->nloops - 1]), total = 0;
    for (int i = 0; i < k->nslots; i++)
        total += (length * k->slot_bytes[i] + 63) / 64 * 64 + SLOT_GAP;
    return total;
}

/* ---- the step ---- */

static int64_t
weight(const Kernel *k)
{
    int64_t w = 1;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        if (v->level == LEVEL_ELEMENT) w += v->kind == INSTR_CALL ? 8 : 1;
    }
    return w;
}

static int
make_units(Nest *n, KernelStep *step)
{
    Kernel *k = n->kernel;
    Graph *g = n->lw->graph;
    int64_t per_unit = 1, elements = CHUNK * 4 / (3 + weight(k));
    int row = n->nloops - 1;
    if (k->kind == KERNEL_ROWS) {
        SizeId units = n->nloops == 1 ? size_const(g, 1) : n->size[0];
        for (int i = 1; i < row && units != NO_SIZE; i++) units = size_mul(g, units, n->size[i]);
        if (units == NO_SIZE) return -1;
        step->units = units;
        per_unit = value_at(n, n->size[row]);
    } else {
        step->units = n->size[row];
        if (k->kind == KERNEL_COLUMNS)
            for (int i = 0; i < row; i++) per_unit *= value_at(n, n->size[i]);
    }
    step->grain = elements / (per_unit < 1 ? 1 : per_unit);
    if (step->grain < 1) step->grain = 1;
    if (k->kind == KERNEL_COLUMNS && step->grain < 256) step->grain = 256;
    return 0;
}

static int
make_step(Nest *n)
{
    Program *p = n->lw->program;
    Step step = {.kind = STEP_KERNEL};
    KernelStep *s = &step.kernel;
    step.line = graph_node(n->lw->graph, n->group->nodes.at[0])->line;
    *s = (KernelStep){.kernel = p->kernels.len,
                      .nplaces = n->places.len,
                      .places = n->places.at,
                      .nsizes = n->sizes.len,
                      .sizes = n->sizes.at,
                      .nloops = n->loops.len,
                      .loops = n->loops.at,
                      .scratch_bytes = scratch_bytes(n),
                      .checks_flags = n->flags,
                      .fallible = n->fallible};
    if (make_units(n, s) < 0) return -1;
    if (VEC_PUSH(n->lw->arena, &p->kernels, n->kernel) < 0) return -1;
    return VEC_PUSH(n->lw->arena, &p->steps, step);
}

int
nest_build(Lowering *lw, Group *g)
{
    Nest n = {.lw = lw, .group = g, .number = (int)(g - lw->groups.at)};
    n.kernel = arena_alloc(lw->arena, sizeof(Kernel));
    n.value_of = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)lw->nnodes);
    if (n.kernel == NULL || n.value_of == NULL) return -1;
    for (int i = 0; i < g->nodes.len; i++)
        if (op_info(graph_node(lw->graph, g->nodes.at[i])->op)->kind == KIND_REDUCTION)
            n.reduces = true;
    if (make_loops(&n) < 0 || (lw->why == NULL && emit_members(&n) < 0)) return -1;
    if (lw->why != NULL) return 0;
    assign_stages(&n);
    assign_homes(&n);
    if (n.kernel->kind == KERNEL_COLUMNS) column_accumulators(&n);
    if (lw->why != NULL) return 0;
    bool whole_row = has_row_reduction(n.kernel);
    n.kernel->block =
        (n.kernel->nstages > 1 || n.kernel->kind == KERNEL_COLUMNS) && !whole_row ? BLOCK : 0;
    n.kernel->row_scratch = n.kernel->block ? -1 : n.kernel->size[n.nloops - 1];
    return make_step(&n);
}
