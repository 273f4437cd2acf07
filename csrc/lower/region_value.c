/* The numbers of a kept loop and the elements that it reads and writes, as instructions. */
#include "region_build.h"

int32_t
region_emit(Build *b, Instr instr, int nargs, const int32_t *args)
{
    for (int i = 0; i < nargs; i++)
        if (args[i] < 0) return -1;
    instr.nargs = nargs;
    if (nargs > 0) {
        instr.args = arena_copy(b->lw->arena, args, sizeof(int32_t) * (size_t)nargs);
        if (instr.args == NULL) return -1;
    }
    RegionStmt stmt = {.instr = b->kernel->instrs.len};
    if (VEC_PUSH(b->lw->arena, &b->kernel->instrs, instr) < 0 ||
        (b->block != NULL && VEC_PUSH(b->lw->arena, b->block, stmt) < 0))
        return -1;
    return stmt.instr;
}

static int32_t
region_size(Build *b, SizeId id)
{
    if (id == NO_SIZE && (id = size_const(b->graph, 0)) == NO_SIZE) return -1;
    for (int i = 0; i < b->sizes.len; i++)
        if (b->sizes.at[i] == id) return i;
    return VEC_PUSH(b->lw->arena, &b->sizes, id) < 0 ? -1 : b->sizes.len - 1;
}

int32_t
region_operand(Build *b, NodeId value, bool stored)
{
    Place place;
    if (place_for(b->lw, value, &place) < 0) return -1;
    Operand o = {.pointer = b->places.len,
                 .dtype = graph_node(b->graph, value)->type.dtype,
                 .stored = stored};
    if (VEC_PUSH(b->lw->arena, &b->places, place) < 0 ||
        VEC_PUSH(b->lw->arena, &b->kernel->operands, o) < 0)
        return -1;
    return b->kernel->operands.len - 1;
}

static int32_t
cast(Build *b, int32_t value, DType to, Level level, NodeId node)
{
    if (value < 0) return -1;
    DType from = b->kernel->instrs.at[value].dtype;
    if (from == to) return value;
    if (!op_is_exact(OP_cast, from) || !op_is_exact(OP_cast, to))
        b->lw->why = "a conversion of half or complex numbers in a loop";
    b->flags |= dtype_is_float(from);
    Instr instr = {.kind = INSTR_OP,
                   .op = OP_cast,
                   .dtype = to,
                   .from = from,
                   .level = level,
                   .node = node,
                   .operand = -1};
    return region_emit(b, instr, 1, &value);
}

/* Is it an integer of NumPy's that may wrap round under the program's own np.errstate?  Not one of
   64 bits with a sign: what is known of the bounds of indices holds since those do not. */
static bool
may_wrap(const Node *node)
{
    return errors_ignore_overflow(node->errors) && node->type.dtype != DT_I64 &&
           op_may_overflow(node->op, (DType)node->type.dtype);
}

static int32_t
emit_node(Build *b, NodeId id, DType from, Level level, const int32_t *args)
{
    const Node *node = graph_node(b->graph, id);
    Instr instr = {.kind = INSTR_OP,
                   .op = node->op,
                   .dtype = node->type.dtype,
                   .from = from,
                   .level = level,
                   .wraps = may_wrap(node),
                   .node = id,
                   .operand = -1};
    return region_emit(b, instr, node->nargs, args);
}

/* Python's arithmetic converts its arguments itself: codegen/python_ops.c. */
static int32_t
emit_python(Build *b, NodeId id, Level level, const int32_t *args)
{
    DType from = DT_I64;
    for (int k = 0; k < graph_node(b->graph, id)->nargs; k++)
        if (b->kernel->instrs.at[args[k]].dtype != DT_I64)
            from = b->kernel->instrs.at[args[k]].dtype;
    return emit_node(b, id, from, level, args);
}

/* The index among the kernel's loops of one of the program's, `at`; -1 with the error set. */
static int
kernel_loop(Build *b, int at)
{
    for (int i = 0; i < b->loops.len; i++)
        if (b->loops.at[i] == at) return i;
    return at < 0 || VEC_PUSH(b->lw->arena, &b->loops, at) < 0 ? -1 : b->loops.len - 1;
}

/* A number that a ufunc's own loop gives. */
static int32_t
emit_call(Build *b, NodeId id, Level level)
{
    int32_t args[MAX_CALLED + 1];
    DType dtypes[MAX_CALLED + 1];
    const Node *node = graph_node(b->graph, id);
    bool named = op_info(node->op)->kind != KIND_UFUNC;
    PyObject *ufunc = named ? numpy_ufunc(b->lw, op_info(node->op)->ufunc) : node->attrs.object;
    if (ufunc == NULL) return -1;
    for (int k = 0; k < node->nargs; k++) {
        if ((args[k] = region_value(b, node->args[k])) < 0) return -1;
        dtypes[k] = b->kernel->instrs.at[args[k]].dtype;
    }
    dtypes[node->nargs] = (DType)node->type.dtype;
    int loop = program_ufunc_loop(b->lw, ufunc, node->nargs, dtypes, &b->flags);
    if (loop < 0 || b->lw->why != NULL || (loop = kernel_loop(b, loop)) < 0) return -1;
    Instr instr = {.kind = INSTR_CALL,
                   .op = node->op,
                   .dtype = node->type.dtype,
                   .loop = loop,
                   .level = level,
                   .node = id,
                   .operand = -1};
    return region_emit(b, instr, node->nargs, args);
}

int32_t
region_operation_value(Build *b, NodeId id, Level level)
{
    int32_t args[3];
    const Node *node = graph_node(b->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (node->op == OP_copy && node->type.rank == 0) return region_value(b, node->args[0]);
    if (level == LEVEL_ELEMENT && node_is_called(b->graph, node)) return emit_call(b, id, level);
    if (node->nargs > 3 || node->nargs < 1 || node->type.rank != 0 ||
        (kind != KIND_POINTWISE && kind != KIND_PYTHON) ||
        (node->op != OP_cast && node_way(b->graph, node) > WAY_EXPRESSION)) {
        b->lw->why = "an operation without a lowering in a loop";
        return -1;
    }
    for (int k = 0; k < node->nargs; k++)
        if ((args[k] = region_value(b, node->args[k])) < 0) return -1;
    if (kind == KIND_PYTHON) return emit_python(b, id, level, args);
    DType from = node_loop_dtype(b->graph, node);
    if (node->op == OP_cast) return cast(b, args[0], node->type.dtype, level, id);
    for (int k = 0; k < node->nargs; k++)
        args[k] = cast(b, args[k], node->op == OP_where && k == 0 ? DT_BOOL : from, level, id);
    if (!(op_info(node->op)->flags & OPF_NO_FLAGS)) b->flags = true;
    return emit_node(b, id, from, level, args);
}

/* A value from outside the loop. */
static int32_t
outer_value(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    Instr instr = {.dtype = node->type.dtype, .level = LEVEL_ONCE, .node = id, .operand = -1};
    if (node->type.rank != 0 || node->type.dtype == DT_OBJECT) {
        b->lw->why = "an array used as a number in a loop";
        return -1;
    }
    bool sized = is_sized(b->lw, node);
    if (node->op == OP_const && !sized) {
        instr.kind = INSTR_CONST;
        if (constant_read(node->attrs.object, node->type.dtype, instr.bits) < 0) return -1;
        return region_emit(b, instr, 0, NULL);
    }
    /* one that is needed may read what has been written since (lower/writes.c) */
    bool stored = b->lw->needed[id] && b->lw->group_of[id] >= 0;
    if (!sized && !stored && node_is_virtual(&b->lw->virtuals, id) && node->op != OP_full)
        return region_operation_value(b, id, LEVEL_ONCE);
    instr.kind = INSTR_LOAD;
    if ((instr.operand = region_operand(b, id, false)) < 0) return -1;
    return region_emit(b, instr, 0, NULL);
}

int32_t
region_value(Build *b, NodeId id)
{
    if (b->value[id]) return b->value[id] - 1;
    if (b->inside[id] && graph_node(b->graph, id)->op != OP_const) {
        b->lw->why = "a loop that uses a value before it is made";
        return -1;
    }
    int32_t value = outer_value(b, id);
    if (value >= 0) b->value[id] = value + 1;
    return value;
}

/* The number of the array that a node's value lives in, added at first use. */
int32_t
region_array(Build *b, NodeId id, bool stored)
{
    if (b->array[id]) return b->array[id] - 1;
    const Type *type = &graph_node(b->graph, id)->type;
    if (type->rank < 1 || type->rank > ELEMENT_RANK) {
        b->lw->why = "an element of an array with too many axes";
        return -1;
    }
    int nlogged = stored;
    for (int i = 0; i < b->out->arrays.len; i++) nlogged += b->out->arrays.at[i].stored;
    if (nlogged > LOG_ARRAYS) {
        b->lw->why = "a loop that writes too many arrays";
        return -1;
    }
    SizeId row = type->stride[type->rank - 1];
    NodeId root = b->lw->same_as[graph_node(b->graph, id)->storage];
    RegionArray a = {.stored = stored, .rank = type->rank};
    a.logged = stored && graph_node(b->graph, root)->op == OP_input;
    a.unit = row != NO_SIZE && size_value(b->graph, row) == (int64_t)dtype_size(type->dtype);
    if ((a.operand = region_operand(b, id, false)) < 0) return -1;
    for (int k = 0; k < a.rank; k++)
        if ((a.length[k] = region_size(b, type->shape[k])) < 0 ||
            (a.stride[k] = region_size(b, size_walked(b->graph, type->stride[k]))) < 0)
            return -1;
    if (VEC_PUSH(b->lw->arena, &b->out->arrays, a) < 0) return -1;
    b->array[id] = b->out->arrays.len;
    b->newest[b->out->arrays.len - 1] = id;
    return b->out->arrays.len - 1;
}

/* ---- elements ---- */

int
region_add_element(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    bool store = node->op == OP_element_store;
    int rank = graph_node(b->graph, node->args[0])->type.rank;
    RegionElement e = {.source = -1};
    int32_t value = -1;
    if ((e.array = region_array(b, node->args[0], false)) < 0) return -1;
    for (int k = 0; k < rank; k++)
        if ((e.index[k] = region_value(b, node->args[1 + k])) < 0) return -1;
    if (store && (value = region_value(b, node->args[1 + rank])) < 0) return -1;
    if (b->newest[e.array] != node->args[0]) {
        b->lw->why = "a loop that reads an old version of an array";
        return 0;
    }
    if (store && b->kernel->instrs.at[value].dtype != node->type.dtype) {
        b->lw->why = "a store of another dtype in a loop";
        return 0;
    }
    Instr instr = {.kind = store ? INSTR_STORE : INSTR_LOAD,
                   .dtype = node->type.dtype,
                   .level = LEVEL_ELEMENT,
                   .operand = b->out->elements.len,
                   .node = id};
    if ((e.instr = region_emit(b, instr, store, &value)) < 0) return -1;
    if (VEC_PUSH(b->lw->arena, &b->out->elements, e) < 0) return -1;
    if (store) {
        b->array[id] = e.array + 1;
        b->newest[e.array] = id;
    } else
        b->value[id] = e.instr + 1;
    return 0;
}

int
region_add_list(Build *b, NodeId id)
{
    enum { MOST = 2 + ROWS_NUMBERS };
    const Node *node = graph_node(b->graph, id);
    bool writes = op_writes_element(node->op);
    int32_t args[MOST], array = region_array(b, node->args[0], false);
    if (array < 0) return -1;
    if (node->nargs - 1 > MOST || b->newest[array] != node->args[0]) {
        b->lw->why = "a loop that appends long items, or uses an old version of a list";
        return 0;
    }
    for (int k = 1; k < node->nargs; k++)
        if ((args[k - 1] = region_value(b, node->args[k])) < 0) return -1;
    Instr instr = {.kind = INSTR_LIST,
                   .dtype = node->type.dtype,
                   .level = LEVEL_ELEMENT,
                   .operand = array,
                   .node = id};
    int32_t made = region_emit(b, instr, node->nargs - 1, args);
    b->out->arrays.at[array].grows = true;
    b->out->arrays.at[array].keyed |= op_is_of_dict(node->op);
    if (writes) {
        b->array[id] = array + 1;
        b->newest[array] = id;
    } else {
        b->value[id] = made + 1;
    }
    return made < 0 ? -1 : 0;
}

int
region_add_draw(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    int32_t args[DRAW_NUMBERS], array = region_array(b, node->args[0], false);
    if (array < 0) return -1;
    if (node->op == OP_element_drawn) {
        b->value[id] = b->value[node->args[0]];
        return 0;
    }
    if (b->newest[array] != node->args[0]) {
        b->lw->why = "a loop that draws from an old version of a stream";
        return 0;
    }
    for (int k = 1; k < node->nargs; k++)
        if ((args[k - 1] = region_value(b, node->args[k])) < 0) return -1;
    Instr instr = {.kind = INSTR_DRAW,
                   .dtype = array_draw_dtype((ArrayDraw)node->attrs.index),
                   .level = LEVEL_ELEMENT,
                   .operand = array,
                   .node = id};
    int32_t made = region_emit(b, instr, node->nargs - 1, args);
    b->out->arrays.at[array].draws = true;
    b->array[id] = array + 1;
    b->newest[array] = id;
    b->value[id] = made + 1;
    return made < 0 ? -1 : 0;
}

/* The index among the kernel's loops of NumPy's own product; -1 with the error set. */
static int
dot_loop(Build *b, DType dtype)
{
    UfuncLoop loop;
    return array_dot_loop(dtype, &loop) < 0 ? -1 : kernel_loop(b, program_add_loop(b->lw, &loop));
}

int
region_add_dot(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    RegionDot dot = {.matmul = node->attrs.ints[4] == 0};
    int at = 0;
    for (int k = 0; k < 2; k++) {
        NodeId array = node->args[at++];
        int rank = graph_node(b->graph, array)->type.rank;
        if ((dot.array[k] = region_array(b, array, false)) < 0) return -1;
        if (b->newest[dot.array[k]] != array)
            b->lw->why = "a loop that reads an old version of an array";
        for (int axis = 0; axis < rank; axis++)
            if ((dot.index[k][axis] = region_value(b, node->args[at++])) < 0) return -1;
        dot.axis[k] = (int32_t)node->attrs.ints[2 * k];
        dot.step[k] = node->attrs.ints[2 * k + 1];
    }
    if ((dot.length = region_value(b, node->args[at])) < 0 ||
        (dot.loop = dot_loop(b, node->type.dtype)) < 0)
        return -1;
    b->flags |= dtype_is_float(node->type.dtype);
    Instr instr = {.kind = INSTR_DOT,
                   .dtype = node->type.dtype,
                   .level = LEVEL_ELEMENT,
                   .operand = b->out->dots.len,
                   .node = id};
    int32_t made = region_emit(b, instr, 0, NULL);
    b->value[id] = made + 1;
    return made < 0 ? -1 : VEC_PUSH(b->lw->arena, &b->out->dots, dot);
}

/* ---- variables ---- */

/* A variable's value from here on. */
int32_t
region_read(Build *b, int32_t variable, NodeId node)
{
    Instr instr = {.kind = INSTR_CARRIED,
                   .dtype = b->out->variables.at[variable].dtype,
                   .level = LEVEL_ELEMENT,
                   .operand = variable,
                   .node = node};
    int32_t at = region_emit(b, instr, 0, NULL);
    if (at >= 0) b->value[node] = at + 1;
    return at;
}

int32_t
region_variable(Build *b, DType dtype)
{
    RegionVariable variable = {.dtype = dtype, .operand = -1};
    return VEC_PUSH(b->lw->arena, &b->out->variables, variable) < 0 ? -1
                                                                    : b->out->variables.len - 1;
}
