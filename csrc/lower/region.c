/* A kept loop as one kernel.  In: the loop node and its region, with the loops and branches in it.
   Out: instructions and the RegionLoop.

   Arrays that the loop writes are written in place (passes/writes.c), an input's memory with a log
   of its old elements, so that a later failure can restore them. */
#include "region.h"
#include "schedule.h"

/* ---- building ---- */

/* A loop or branch inside, and its statement; of an unrolled loop the values that it leaves. */
typedef struct {
    NodeId node;
    RegionStmt stmt;
    int32_t *values; /* instructions, or NULL */
    int arm;         /* of a branch, the one that is taken, where that is known */
} Maker;

typedef struct {
    Lowering *lw;
    Graph *graph;
    NodeId loop;
    Kernel *kernel;
    RegionLoop *out;
    bool *inside;       /* per node: it is in the loop's region, or in one in that */
    int32_t *value;     /* per node: its instruction + 1 */
    int32_t *array;     /* per node: its array + 1 */
    NodeId *newest;     /* per array: the version that its memory holds */
    RegionBlock *block; /* where instructions go; NULL: before the loop */
    VEC(Maker) makers;
    bool flags;
    VEC(Place) places;
    VEC(SizeId) sizes;
    VEC(int32_t) loops;
} Build;

static int32_t
emit(Build *b, Instr instr, int nargs, const int32_t *args)
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
size_argument(Build *b, SizeId id)
{
    if (id == NO_SIZE && (id = size_const(b->graph, 0)) == NO_SIZE) return -1;
    for (int i = 0; i < b->sizes.len; i++)
        if (b->sizes.at[i] == id) return i;
    return VEC_PUSH(b->lw->arena, &b->sizes, id) < 0 ? -1 : b->sizes.len - 1;
}

static int32_t
operand(Build *b, NodeId value, bool stored)
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

void
region_mark(const Graph *g, RegionId id, bool *inside)
{
    const Region *region = &g->regions.at[id];
    for (int i = 0; i < region->params.len; i++) inside[region->params.at[i]] = true;
    for (int i = 0; i < region->nodes.len; i++) {
        const Node *node = graph_node(g, region->nodes.at[i]);
        inside[region->nodes.at[i]] = true;
        for (int r = 0; r < 2; r++)
            if (node->region[r] != NO_REGION) region_mark(g, node->region[r], inside);
    }
}

static int32_t value_of(Build *b, NodeId id);

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
    return emit(b, instr, 1, &value);
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
                   .node = id,
                   .operand = -1};
    return emit(b, instr, node->nargs, args);
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
        if ((args[k] = value_of(b, node->args[k])) < 0) return -1;
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
                   .guard = node->attrs.index == CALL_OF_ROW,
                   .node = id,
                   .operand = -1};
    return emit(b, instr, node->nargs, args);
}

static int32_t
emit_operation(Build *b, NodeId id, Level level)
{
    int32_t args[3];
    const Node *node = graph_node(b->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (level == LEVEL_ELEMENT && node_is_called(b->graph, node)) return emit_call(b, id, level);
    if (node->nargs > 3 || node->nargs < 1 || node->type.rank != 0 ||
        (kind != KIND_POINTWISE && kind != KIND_PYTHON) ||
        (node->op != OP_cast && node_way(b->graph, node) > WAY_EXPRESSION)) {
        b->lw->why = "an operation without a lowering in a loop";
        return -1;
    }
    for (int k = 0; k < node->nargs; k++)
        if ((args[k] = value_of(b, node->args[k])) < 0) return -1;
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
    if (node->op == OP_const) {
        instr.kind = INSTR_CONST;
        if (constant_read(node->attrs.object, node->type.dtype, instr.bits) < 0) return -1;
        return emit(b, instr, 0, NULL);
    }
    if (node_is_virtual(&b->lw->virtuals, id) && node->op != OP_full)
        return emit_operation(b, id, LEVEL_ONCE);
    instr.kind = INSTR_LOAD;
    if ((instr.operand = operand(b, id, false)) < 0) return -1;
    return emit(b, instr, 0, NULL);
}

static int32_t
value_of(Build *b, NodeId id)
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
static int32_t
array_of(Build *b, NodeId id, bool stored)
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
    if ((a.operand = operand(b, id, false)) < 0) return -1;
    for (int k = 0; k < a.rank; k++)
        if ((a.length[k] = size_argument(b, type->shape[k])) < 0 ||
            (a.stride[k] = size_argument(b, type->stride[k])) < 0)
            return -1;
    if (VEC_PUSH(b->lw->arena, &b->out->arrays, a) < 0) return -1;
    b->array[id] = b->out->arrays.len;
    b->newest[b->out->arrays.len - 1] = id;
    return b->out->arrays.len - 1;
}

/* ---- the body ---- */

static int
add_element(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    bool store = node->op == OP_element_store;
    int rank = graph_node(b->graph, node->args[0])->type.rank;
    RegionElement e = {.source = -1};
    int32_t value = -1;
    if ((e.array = array_of(b, node->args[0], false)) < 0) return -1;
    for (int k = 0; k < rank; k++)
        if ((e.index[k] = value_of(b, node->args[1 + k])) < 0) return -1;
    if (store && (value = value_of(b, node->args[1 + rank])) < 0) return -1;
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
    if ((e.instr = emit(b, instr, store, &value)) < 0) return -1;
    if (VEC_PUSH(b->lw->arena, &b->out->elements, e) < 0) return -1;
    if (store) {
        b->array[id] = e.array + 1;
        b->newest[e.array] = id;
    } else
        b->value[id] = e.instr + 1;
    return 0;
}

/* The index among the kernel's loops of NumPy's own product; -1 with the error set. */
static int
dot_loop(Build *b, DType dtype)
{
    UfuncLoop loop;
    return array_dot_loop(dtype, &loop) < 0 ? -1 : kernel_loop(b, program_add_loop(b->lw, &loop));
}

static int
add_dot(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    RegionDot dot = {.matmul = node->attrs.ints[4] == 0};
    int at = 0;
    for (int k = 0; k < 2; k++) {
        NodeId array = node->args[at++];
        int rank = graph_node(b->graph, array)->type.rank;
        if ((dot.array[k] = array_of(b, array, false)) < 0) return -1;
        if (b->newest[dot.array[k]] != array)
            b->lw->why = "a loop that reads an old version of an array";
        for (int axis = 0; axis < rank; axis++)
            if ((dot.index[k][axis] = value_of(b, node->args[at++])) < 0) return -1;
        dot.axis[k] = (int32_t)node->attrs.ints[2 * k];
        dot.step[k] = node->attrs.ints[2 * k + 1];
    }
    if ((dot.length = value_of(b, node->args[at])) < 0 ||
        (dot.loop = dot_loop(b, node->type.dtype)) < 0)
        return -1;
    b->flags |= dtype_is_float(node->type.dtype);
    Instr instr = {.kind = INSTR_DOT,
                   .dtype = node->type.dtype,
                   .level = LEVEL_ELEMENT,
                   .operand = b->out->dots.len,
                   .node = id};
    int32_t made = emit(b, instr, 0, NULL);
    b->value[id] = made + 1;
    return made < 0 ? -1 : VEC_PUSH(b->lw->arena, &b->out->dots, dot);
}

/* A variable's value from here on. */
static int32_t
read_variable(Build *b, int32_t variable, NodeId node)
{
    Instr instr = {.kind = INSTR_CARRIED,
                   .dtype = b->out->variables.at[variable].dtype,
                   .level = LEVEL_ELEMENT,
                   .operand = variable,
                   .node = node};
    int32_t at = emit(b, instr, 0, NULL);
    if (at >= 0) b->value[node] = at + 1;
    return at;
}

static int32_t
add_variable(Build *b, DType dtype)
{
    RegionVariable variable = {.dtype = dtype, .operand = -1};
    return VEC_PUSH(b->lw->arena, &b->out->variables, variable) < 0 ? -1
                                                                    : b->out->variables.len - 1;
}

static bool
is_array(const Build *b, NodeId id)
{
    return graph_node(b->graph, id)->type.form == FORM_ARRAY;
}

static int build_nodes(Build *b, RegionId region);

/* The loop's params: its variable, what it carries, the arrays that it writes. */
static int
build_params(Build *b, const Node *node, const Region *region, RegionFor *loop)
{
    Instr index = {.kind = INSTR_INDEX, .dtype = DT_I64, .level = LEVEL_ELEMENT, .operand = -1};
    index.node = region->params.at[0];
    if ((loop->index = emit(b, index, 0, NULL)) < 0) return -1;
    b->value[index.node] = loop->index + 1;
    int number = 0;
    for (int k = 1; k < region->params.len; k++) {
        NodeId param = region->params.at[k];
        if (!is_array(b, param)) {
            if (read_variable(b, loop->carried.at[number++].variable, param) < 0) return -1;
            continue;
        }
        int32_t array = b->array[node->args[k + 2]] - 1;
        if (b->newest[array] != node->args[k + 2]) b->lw->why = "a loop that drops a write";
        b->array[param] = array + 1;
        b->newest[array] = param;
    }
    return 0;
}

/* What the body leaves: the next values of what is carried, the last versions of arrays. */
static int
build_next(Build *b, const Region *region, RegionFor *loop)
{
    int number = 0;
    for (int i = 0; i < region->results.len && b->lw->why == NULL; i++) {
        NodeId id = region->results.at[i];
        if (is_array(b, id)) {
            if (b->newest[b->array[id] - 1] != id) b->lw->why = "a loop that drops a write";
            continue;
        }
        RegionCarried *c = &loop->carried.at[number++];
        if ((c->next = value_of(b, id)) < 0) return -1;
        if (b->kernel->instrs.at[c->next].dtype != b->out->variables.at[c->variable].dtype)
            b->lw->why = "a carried value that changes its dtype";
    }
    return 0;
}

static bool
is_constant(const Build *b, int32_t at, int64_t wanted)
{
    const Instr *v = &b->kernel->instrs.at[at];
    return v->kind == INSTR_CONST && memcmp(v->bits, &wanted, sizeof wanted) == 0;
}

/* A range so long that only a break ends its loop, as a `while` has it. */
static bool
is_endless(const Build *b, const RegionFor *loop)
{
    return loop->leaves >= 0 && is_constant(b, loop->start, 0) &&
           is_constant(b, loop->stop, INT64_MAX) && is_constant(b, loop->step, 1);
}

/* What a loop that reduces leaves in each iteration. */
static int
build_folded(Build *b, const Node *node, const Region *region, RegionFor *loop)
{
    if ((loop->each = value_of(b, region->results.at[0])) < 0) return -1;
    DType dtype = b->kernel->instrs.at[loop->each].dtype;
    loop->folds = node->op;
    b->flags |= dtype_is_float(dtype);
    return (loop->folded = add_variable(b, dtype)) < 0 ? -1 : 0;
}

static int
build_loop(Build *b, NodeId id, RegionBlock *block, RegionFor **out)
{
    const Node *node = graph_node(b->graph, id);
    const Region *region = &b->graph->regions.at[node->region[0]];
    RegionFor *loop = arena_alloc(b->lw->arena, sizeof(RegionFor));
    if (loop == NULL) return -1;
    loop->number = b->out->nloops++;
    loop->leaves = -1;
    if ((loop->start = value_of(b, node->args[0])) < 0 ||
        (loop->stop = value_of(b, node->args[1])) < 0 ||
        (loop->step = value_of(b, node->args[2])) < 0)
        return -1;
    for (int k = 3; k < node->nargs; k++) {
        if (is_array(b, node->args[k])) continue;
        RegionCarried c = {.first = value_of(b, node->args[k])};
        if (c.first < 0 ||
            (c.variable = add_variable(b, b->kernel->instrs.at[c.first].dtype)) < 0 ||
            VEC_PUSH(b->lw->arena, &loop->carried, c) < 0)
            return -1;
        if (node->attrs.nints > 0 && node->attrs.ints[0] == k - 3) loop->leaves = c.variable;
    }
    loop->endless = is_endless(b, loop);
    RegionStmt stmt = {.instr = -1, .loop = loop};
    if (block != NULL && VEC_PUSH(b->lw->arena, block, stmt) < 0) return -1;
    b->block = &loop->body;
    *out = loop;
    if (build_params(b, node, region, loop) < 0 || build_nodes(b, node->region[0]) < 0) return -1;
    if (b->lw->why == NULL && (op_folds(node->op) ? build_folded(b, node, region, loop)
                                                  : build_next(b, region, loop)) < 0)
        return -1;
    b->block = block;
    return 0;
}

/* The arm of a branch whose condition compares two constants; -1: the condition is not known. */
static int
known_arm(const Build *b, int32_t condition)
{
    const Instr *v = &b->kernel->instrs.at[condition];
    int64_t value[2];
    if (v->kind == INSTR_OP && v->op == OP_py_bool) v = &b->kernel->instrs.at[v->args[0]];
    if (v->kind != INSTR_OP || v->nargs != 2) return -1;
    for (int k = 0; k < 2; k++) {
        const Instr *arg = &b->kernel->instrs.at[v->args[k]];
        if (arg->kind != INSTR_CONST || arg->dtype != DT_I64) return -1;
        memcpy(&value[k], arg->bits, sizeof value[k]);
    }
    switch (v->op) {
    case OP_py_eq: return !(value[0] == value[1]);
    case OP_py_ne: return !(value[0] != value[1]);
    case OP_py_lt: return !(value[0] < value[1]);
    case OP_py_le: return !(value[0] <= value[1]);
    default: return -1;
    }
}

/* Only the arm that is taken. */
static int
build_arm(Build *b, NodeId id, int arm)
{
    RegionId number = graph_node(b->graph, id)->region[arm];
    const Region *region = &b->graph->regions.at[number];
    Maker maker = {.node = id, .arm = arm};
    int count = 0;
    if (build_nodes(b, number) < 0) return -1;
    maker.values = arena_alloc(b->lw->arena, sizeof(int32_t) * (size_t)(region->results.len + 1));
    if (maker.values == NULL) return -1;
    for (int i = 0; i < region->results.len && b->lw->why == NULL; i++) {
        NodeId value = region->results.at[i];
        if (is_array(b, value)) {
            if (b->newest[b->array[value] - 1] != value) b->lw->why = "a branch that drops a write";
        } else if ((maker.values[count++] = value_of(b, value)) < 0)
            return -1;
    }
    return b->lw->why != NULL ? 0 : VEC_PUSH(b->lw->arena, &b->makers, maker);
}

/* Both arms end with a store to one element: it becomes one store behind the branch, so that what
   is left of the arms may become a choice between two values. */
static int
sink_store(Build *b, RegionIf *branch)
{
    RegionElement *e[2];
    RegionMerged merged;
    for (int arm = 0; arm < 2; arm++) {
        const RegionBlock *block = &branch->arm[arm];
        int32_t at = block->len > 0 ? block->at[block->len - 1].instr : -1;
        if (at < 0 || b->kernel->instrs.at[at].kind != INSTR_STORE) return 0;
        e[arm] = &b->out->elements.at[b->kernel->instrs.at[at].operand];
        merged.arm[arm] = b->kernel->instrs.at[at].args[0];
    }
    if (e[0]->array != e[1]->array || memcmp(e[0]->index, e[1]->index, sizeof e[0]->index) != 0)
        return 0;
    Instr store = b->kernel->instrs.at[e[1]->instr];
    RegionElement element = *e[1];
    merged.variable = add_variable(b, store.dtype);
    if (merged.variable < 0 || VEC_PUSH(b->lw->arena, &branch->merged, merged) < 0) return -1;
    Instr value = {.kind = INSTR_CARRIED,
                   .dtype = store.dtype,
                   .level = LEVEL_ELEMENT,
                   .operand = merged.variable,
                   .node = store.node};
    int32_t read = emit(b, value, 0, NULL);
    store.operand = b->out->elements.len;
    if ((element.instr = emit(b, store, 1, &read)) < 0) return -1;
    for (int arm = 0; arm < 2; arm++) branch->arm[arm].len--;
    return VEC_PUSH(b->lw->arena, &b->out->elements, element);
}

/* The arms start from the same versions of the arrays, and leave what memory holds then. */
static int
build_branch(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    RegionIf *branch = arena_alloc(b->lw->arena, sizeof(RegionIf));
    int narrays = b->out->arrays.len;
    NodeId *before = arena_copy(b->lw->arena, b->newest, sizeof(NodeId) * (size_t)(narrays + 1));
    RegionBlock *block = b->block;
    RegionStmt stmt = {.instr = -1, .branch = branch};
    if (branch == NULL || before == NULL || (branch->condition = value_of(b, node->args[0])) < 0 ||
        VEC_PUSH(b->lw->arena, block, stmt) < 0)
        return -1;
    for (int arm = 0; arm < 2 && b->lw->why == NULL; arm++) {
        const Region *region = &b->graph->regions.at[node->region[arm]];
        memcpy(b->newest, before, sizeof(NodeId) * (size_t)narrays);
        b->block = &branch->arm[arm];
        if (build_nodes(b, node->region[arm]) < 0) return -1;
        int number = 0;
        for (int i = 0; i < region->results.len && b->lw->why == NULL; i++) {
            NodeId value = region->results.at[i];
            if (is_array(b, value)) {
                if (b->newest[b->array[value] - 1] != value)
                    b->lw->why = "a branch that drops a write";
                continue;
            }
            int32_t at = value_of(b, value);
            if (at < 0) return -1;
            RegionMerged merged = {.arm = {at, -1}};
            if (arm == 1)
                branch->merged.at[number].arm[1] = at;
            else if ((merged.variable = add_variable(b, b->kernel->instrs.at[at].dtype)) < 0 ||
                     VEC_PUSH(b->lw->arena, &branch->merged, merged) < 0)
                return -1;
            number++;
        }
    }
    b->block = block;
    return b->lw->why != NULL ? 0 : sink_store(b, branch);
}

/* A result of the loop or branch `of`, after it. */
static int
build_result(Build *b, NodeId id, const Maker *of)
{
    const Node *node = graph_node(b->graph, id), *maker = graph_node(b->graph, node->args[0]);
    const Region *region = &b->graph->regions.at[maker->region[of->arm]];
    int number = 0;
    for (int i = 0; i < node->attrs.index; i++) number += !is_array(b, region->results.at[i]);
    if (is_array(b, id)) {
        /* A loop's is that of its argument, also where the body was never built. */
        NodeId same = maker->op == OP_loop ? maker->args[3 + node->attrs.index]
                                           : region->results.at[node->attrs.index];
        int32_t array = b->array[same];
        b->array[id] = array;
        b->newest[array - 1] = id;
        return 0;
    }
    if (of->values != NULL) {
        b->value[id] = of->values[number] + 1;
        return 0;
    }
    if (op_folds(maker->op)) return read_variable(b, of->stmt.loop->folded, id) < 0 ? -1 : 0;
    int32_t variable = of->stmt.loop != NULL ? of->stmt.loop->carried.at[number].variable
                                             : of->stmt.branch->merged.at[number].variable;
    return read_variable(b, variable, id) < 0 ? -1 : 0;
}

/* The latest: an unrolled body has made it several times. */
static const Maker *
find_maker(const Build *b, NodeId node)
{
    for (int i = b->makers.len - 1; i >= 0; i--)
        if (b->makers.at[i].node == node) return &b->makers.at[i];
    return NULL;
}

/* ---- unrolled loops ---- */

enum { MOST_UNROLLED = 8, MOST_UNROLLED_NODES = 64 };

static int
count_nodes(const Graph *g, RegionId id)
{
    const Region *region = &g->regions.at[id];
    int count = region->nodes.len;
    for (int i = 0; i < region->nodes.len; i++)
        for (int r = 0; r < 2; r++) {
            RegionId inner = graph_node(g, region->nodes.at[i])->region[r];
            if (inner != NO_REGION) count += count_nodes(g, inner);
        }
    return count;
}

static bool
constant_arg(Build *b, NodeId id, int64_t *out)
{
    int32_t at = value_of(b, id);
    if (at < 0 || b->kernel->instrs.at[at].kind != INSTR_CONST) return false;
    memcpy(out, b->kernel->instrs.at[at].bits, sizeof *out);
    return *out > -(1 << 20) && *out < 1 << 20;
}

/* How many turns the loop makes, if it is to be unrolled; else -1. */
static int
turns_unrolled(Build *b, NodeId id, int64_t *start, int64_t *step)
{
    int64_t stop;
    const Node *node = graph_node(b->graph, id);
    if (node->attrs.nints > 0 || op_folds(node->op)) return -1; /* it may be left */
    if (!constant_arg(b, node->args[0], start) || !constant_arg(b, node->args[1], &stop) ||
        !constant_arg(b, node->args[2], step) || *step == 0)
        return -1;
    int64_t span = *step > 0 ? stop - *start : *start - stop, by = *step > 0 ? *step : -*step;
    int64_t turns = span <= 0 ? 0 : (span - 1) / by + 1;
    bool small = turns <= MOST_UNROLLED &&
                 turns * count_nodes(b->graph, node->region[0]) <= MOST_UNROLLED_NODES;
    return small ? (int)turns : -1;
}

static int32_t
emit_number(Build *b, NodeId node, int64_t number)
{
    Instr instr = {
        .kind = INSTR_CONST, .dtype = DT_I64, .level = LEVEL_ELEMENT, .operand = -1, .node = node};
    memcpy(instr.bits, &number, sizeof number);
    return emit(b, instr, 0, NULL);
}

/* One turn; `values`: of what is carried, before it and after it. */
static int
build_turn(Build *b, NodeId id, int64_t index, int32_t *values, int32_t *next)
{
    const Node *node = graph_node(b->graph, id);
    const Region *region = &b->graph->regions.at[node->region[0]];
    int number = 0;
    int32_t at = emit_number(b, region->params.at[0], index);
    if (at < 0) return -1;
    b->value[region->params.at[0]] = at + 1;
    for (int k = 1; k < region->params.len; k++) {
        NodeId param = region->params.at[k];
        if (!is_array(b, param)) {
            b->value[param] = values[number++] + 1;
            continue;
        }
        int32_t array = b->array[node->args[k + 2]];
        b->array[param] = array;
        b->newest[array - 1] = param;
    }
    if (build_nodes(b, node->region[0]) < 0) return -1;
    number = 0;
    for (int i = 0; i < region->results.len && b->lw->why == NULL; i++) {
        NodeId result = region->results.at[i];
        if (is_array(b, result)) {
            if (b->newest[b->array[result] - 1] != result) b->lw->why = "a loop that drops a write";
        } else if ((next[number++] = value_of(b, result)) < 0)
            return -1;
    }
    if (b->lw->why == NULL) memcpy(values, next, sizeof(int32_t) * (size_t)number);
    return 0;
}

static int
build_unrolled(Build *b, NodeId id, int turns, int64_t start, int64_t step)
{
    const Node *node = graph_node(b->graph, id);
    size_t bytes = sizeof(int32_t) * (size_t)(node->nargs + 1);
    int32_t *values = arena_alloc(b->lw->arena, bytes), *next = arena_alloc(b->lw->arena, bytes);
    int number = 0;
    if (values == NULL || next == NULL) return -1;
    for (int k = 3; k < node->nargs; k++) {
        if (!is_array(b, node->args[k])) {
            if ((values[number++] = value_of(b, node->args[k])) < 0) return -1;
        } else if (b->newest[b->array[node->args[k]] - 1] != node->args[k])
            b->lw->why = "a loop that drops a write";
    }
    for (int turn = 0; turn < turns && b->lw->why == NULL; turn++)
        if (build_turn(b, id, start + turn * step, values, next) < 0) return -1;
    if (b->lw->why != NULL) return 0;
    Maker maker = {.node = id, .values = values};
    return VEC_PUSH(b->lw->arena, &b->makers, maker);
}

/* Loops and branches; their results come right behind them. */
static int
build_inner(Build *b, NodeId id)
{
    RegionFor *loop = NULL;
    int64_t start, step;
    bool branch = graph_node(b->graph, id)->op == OP_cond;
    int turns = branch ? -1 : turns_unrolled(b, id, &start, &step);
    if (turns >= 0) return build_unrolled(b, id, turns, start, step);
    if (branch) {
        int32_t condition = value_of(b, graph_node(b->graph, id)->args[0]);
        if (condition < 0) return -1;
        int arm = known_arm(b, condition);
        if (arm >= 0) return build_arm(b, id, arm);
    }
    if (branch ? build_branch(b, id) < 0 : build_loop(b, id, b->block, &loop) < 0) return -1;
    if (b->lw->why != NULL) return 0;
    Maker maker = {.node = id};
    for (int i = b->block->len - 1; maker.stmt.loop == NULL && maker.stmt.branch == NULL; i--)
        maker.stmt = b->block->at[i];
    return VEC_PUSH(b->lw->arena, &b->makers, maker);
}

static int
build_nodes(Build *b, RegionId number)
{
    const Region *region = &b->graph->regions.at[number];
    for (int i = 0; i < region->nodes.len && b->lw->why == NULL; i++) {
        NodeId id = region->nodes.at[i];
        const Node *node = graph_node(b->graph, id);
        OpKind kind = op_info(node->op)->kind;
        int failed = 0;
        if (!b->lw->live[id] || kind == KIND_CONST || kind == KIND_INPUT) continue;
        if (kind == KIND_ELEMENT)
            failed = node->op == OP_element_dot ? add_dot(b, id) : add_element(b, id);
        else if (kind == KIND_REGION)
            failed = build_inner(b, id);
        else if (kind == KIND_COPY) { /* the same number, of another class */
            int32_t value = value_of(b, node->args[0]);
            if (value < 0) return -1;
            b->value[id] = value + 1;
            b->flags |=
                dtype_is_complex((DType)node->type.dtype); /* Python's operations, made NumPy's */
        } else if (kind == KIND_RESULT)
            failed = build_result(b, id, find_maker(b, node->args[0]));
        else {
            int32_t value = emit_operation(b, id, LEVEL_ELEMENT);
            if (value < 0) return -1;
            b->value[id] = value + 1;
        }
        if (failed < 0) return -1;
    }
    return 0;
}

/* ---- before the loop ---- */

/* What a region and those in it take from outside the loop. */
static int
load_outer(Build *b, RegionId number)
{
    const Region *region = &b->graph->regions.at[number];
    for (int i = 0; i < region->nodes.len; i++) {
        NodeId id = region->nodes.at[i];
        const Node *node = graph_node(b->graph, id);
        if (node->op == OP_const && value_of(b, id) < 0) return -1;
        for (int k = 0; k < node->nargs; k++) {
            NodeId arg = node->args[k];
            bool element = op_info(node->op)->kind == KIND_ELEMENT && is_array(b, arg);
            bool array = element || (node->op == OP_loop && is_array(b, arg));
            if (b->inside[arg]) continue;
            if ((array ? array_of(b, arg, false) : value_of(b, arg)) < 0) return -1;
        }
        for (int r = 0; r < 2; r++)
            if (node->region[r] != NO_REGION && load_outer(b, node->region[r]) < 0) return -1;
    }
    for (int i = 0; i < region->results.len; i++) {
        NodeId id = region->results.at[i];
        if (!is_array(b, id) && !b->inside[id] && value_of(b, id) < 0) return -1;
    }
    return 0;
}

/* Everything from outside the loop is loaded before the body; results go to memory behind it. */
static int
build_outer(Build *b)
{
    const Node *loop = graph_node(b->graph, b->loop);
    for (int k = 0; k < loop->nargs; k++) {
        NodeId arg = loop->args[k];
        if (!is_array(b, arg)) {
            if (value_of(b, arg) < 0) return -1;
            continue;
        }
        if (array_of(b, arg, true) < 0) return -1;
    }
    if (load_outer(b, loop->region[0]) < 0) return -1;
    b->out->body = b->kernel->instrs.len;
    return 0;
}

static int
place_results(Build *b)
{
    const Node *node = graph_node(b->graph, b->loop);
    int number = 0;
    for (int k = 3; k < node->nargs; k++) {
        if (is_array(b, node->args[k])) continue;
        NodeId result = live_result(b->lw, b->loop, k - 3);
        int32_t variable = b->out->top->carried.at[number++].variable;
        if (result == NO_NODE) continue;
        if ((b->out->variables.at[variable].operand = operand(b, result, true)) < 0) return -1;
    }
    return 0;
}

static int
make_step(Build *b)
{
    Program *p = b->lw->program;
    Step step = {.kind = STEP_KERNEL};
    step_blame(b->graph, b->loop, &step);
    step.kernel = (KernelStep){.kernel = p->kernels.len,
                               .nplaces = b->places.len,
                               .places = b->places.at,
                               .nsizes = b->sizes.len,
                               .sizes = b->sizes.at,
                               .nloops = b->loops.len,
                               .loops = b->loops.at,
                               .units = size_const(b->graph, 1),
                               .grain = 1,
                               .checks_flags = b->flags,
                               .errors = graph_node(b->graph, b->loop)->errors,
                               .fallible = true,
                               .region = true};
    if (step.kernel.units == NO_SIZE || VEC_PUSH(b->lw->arena, &p->kernels, b->kernel) < 0)
        return -1;
    return VEC_PUSH(b->lw->arena, &p->steps, step);
}

static int
make_room(Build *b)
{
    size_t bytes = sizeof(RegionAsked) * (size_t)(b->kernel->instrs.len + 1);
    b->out->asked = arena_alloc(b->lw->arena, bytes);
    return b->out->asked == NULL ? -1 : 0;
}

static int
find_facts(Build *b)
{
    Arena *arena = b->lw->arena;
    if (region_bounds(arena, b->kernel, b->out) < 0 ||
        region_carried(arena, b->kernel, b->out) < 0 ||
        region_modulo(arena, b->graph, b->kernel, b->out) < 0)
        return -1;
    region_reuse(b->kernel, b->out);
    return 0;
}

static int
analyse(Build *b)
{
    bool lanes;
    if (make_room(b) < 0) return -1;
    region_order(b->kernel, b->out, b->out->top);
    region_bits(b->kernel, b->out->top);
    if (find_facts(b) < 0 || region_lanes(b->lw->arena, b->kernel, b->out, &lanes) < 0) return -1;
    return !lanes ? 0 : make_room(b) < 0 ? -1 : find_facts(b);
}

int
region_build(Lowering *lw, NodeId loop)
{
    size_t nodes = (size_t)lw->graph->nodes.len + 1;
    Build b = {.lw = lw, .graph = lw->graph, .loop = loop};
    b.kernel = arena_alloc(lw->arena, sizeof(Kernel));
    b.out = arena_alloc(lw->arena, sizeof(RegionLoop));
    b.inside = arena_alloc(lw->arena, nodes);
    b.value = arena_alloc(lw->arena, nodes * sizeof(int32_t));
    b.array = arena_alloc(lw->arena, nodes * sizeof(int32_t));
    b.newest = arena_alloc(lw->arena, nodes * sizeof(NodeId));
    if (!b.kernel || !b.out || !b.inside || !b.value || !b.array || !b.newest) return -1;
    region_mark(lw->graph, graph_node(lw->graph, loop)->region[0], b.inside);
    b.kernel->kind = KERNEL_REGION;
    b.kernel->region = b.out;
    if (build_outer(&b) < 0 || (lw->why == NULL && build_loop(&b, loop, NULL, &b.out->top) < 0))
        return lw->why != NULL ? 0 : -1;
    if (lw->why != NULL) return 0;
    if (analyse(&b) < 0) return -1;
    return place_results(&b) < 0 ? -1 : make_step(&b);
}
