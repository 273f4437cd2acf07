/* A kept loop as one kernel.  In: the loop node and its region, with the loops and branches in it.
   Out: instructions and the RegionLoop.

   Arrays that the loop writes are written in place (passes/writes.c), an input's memory with a log
   of its old elements, so that a later failure can restore them. */
#include "region.h"
#include "schedule.h"

/* ---- building ---- */

/* A loop or branch inside, and its statement. */
typedef struct {
    NodeId node;
    RegionStmt stmt;
} Maker;

typedef struct {
    Lowering *lw;
    Graph *graph;
    NodeId loop;
    Kernel *kernel;
    RegionLoop *out;
    bool *inside;          /* per node: it is in the loop's region, or in one in that */
    int32_t *value;        /* per node: its instruction + 1 */
    int32_t *array;        /* per node: its array + 1 */
    NodeId *newest;        /* per array: the version that its memory holds */
    RegionBlock *block;    /* where instructions go; NULL: before the loop */
    RegionFor *around;     /* the loop whose body `block` is in */
    int arms;              /* branches of that loop around `block` */
    VEC(RegionFor *) home; /* per instruction: the loop whose body it is in; NULL: none */
    VEC(Maker) makers;
    bool flags;
    VEC(Place) places;
    VEC(SizeId) sizes;
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
        VEC_PUSH(b->lw->arena, &b->home, b->block != NULL ? b->around : NULL) < 0 ||
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

static int32_t
emit_operation(Build *b, NodeId id, Level level)
{
    int32_t args[3];
    const Node *node = graph_node(b->graph, id);
    OpKind kind = op_info(node->op)->kind;
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
array_of(Build *b, NodeId id, bool logged)
{
    if (b->array[id]) return b->array[id] - 1;
    const Type *type = &graph_node(b->graph, id)->type;
    if (type->rank < 1 || type->rank > ELEMENT_RANK) {
        b->lw->why = "an element of an array with too many axes";
        return -1;
    }
    int nlogged = logged;
    for (int i = 0; i < b->out->arrays.len; i++) nlogged += b->out->arrays.at[i].logged;
    if (nlogged > LOG_ARRAYS) {
        b->lw->why = "a loop that writes too many arrays";
        return -1;
    }
    RegionArray a = {.logged = logged, .rank = type->rank};
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

/* ---- indices ---- */

/* Does the value keep through the iterations of the loop whose body is being built? */
static bool
is_fixed(const Build *b, int32_t at)
{
    return b->home.at[at] != b->around;
}

/* Is the int, about to be an instruction of the body, linear in the loop's variable? */
static bool
is_affine(const Build *b, const Instr *v)
{
    if (b->arms > 0)
        return false; /* what is done in an arm only must not be done before the loop */
    if (v->kind != INSTR_OP || v->dtype != DT_I64 || v->from != DT_I64) return false;
    bool fixed[2] = {true, true}, linear[2] = {false, false};
    for (int k = 0; k < v->nargs && k < 2; k++) {
        fixed[k] = is_fixed(b, v->args[k]);
        linear[k] = !fixed[k] && b->kernel->instrs.at[v->args[k]].affine;
        if (!linear[k] && !fixed[k]) return false;
    }
    switch (v->op) {
    case OP_py_add:
    case OP_py_sub: return linear[0] || linear[1];
    case OP_py_mul: return linear[0] != linear[1];
    case OP_py_neg: return linear[0];
    default: return false;
    }
}

/* An index as slope * i + base + offset; `base` is an instruction before the loop, or -1. */
typedef struct {
    int64_t slope, offset;
    int32_t base;
} Linear;

/* Whether slope and offset are known while compiling. */
static bool
known_form(const Build *b, int32_t at, Linear *out)
{
    const Instr *v = &b->kernel->instrs.at[at];
    Linear arg[2];
    *out = (Linear){.base = -1};
    if (at == b->around->index) {
        out->slope = 1;
        return true;
    }
    if (v->kind == INSTR_CONST && v->dtype == DT_I64) {
        memcpy(&out->offset, v->bits, sizeof out->offset);
        return out->offset > -(1 << 30) && out->offset < 1 << 30;
    }
    bool sum = v->kind == INSTR_OP && v->nargs == 2 && (v->op == OP_py_add || v->op == OP_py_sub);
    if (!sum || !known_form(b, v->args[0], &arg[0]) || !known_form(b, v->args[1], &arg[1]) ||
        (arg[1].base >= 0 && (v->op == OP_py_sub || arg[0].base >= 0))) {
        out->base = at;
        return is_fixed(b, at);
    }
    int sign = v->op == OP_py_add ? 1 : -1;
    out->slope = arg[0].slope + sign * arg[1].slope;
    out->offset = arg[0].offset + sign * arg[1].offset;
    out->base = arg[0].base >= 0 ? arg[0].base : arg[1].base;
    return true;
}

static bool
is_store(const Build *b, const RegionElement *e)
{
    return b->kernel->instrs.at[e->instr].kind == INSTR_STORE;
}

/* The one store of the loop into the array, which is done in every iteration; or -1. */
static int32_t
only_store(const Build *b, int32_t array, int32_t first)
{
    int32_t only = -1;
    for (int i = first; i < b->out->elements.len; i++) {
        const RegionElement *e = &b->out->elements.at[i];
        if (e->array != array || !is_store(b, e)) continue;
        if (only >= 0) return -1;
        only = i;
    }
    return only >= 0 && b->out->elements.at[only].affine &&
                   !is_fixed(b, b->out->elements.at[only].instr)
               ? only
               : -1;
}

/* Finds loads like y[i - 1] in a loop that stores y[i]: they read what the previous iteration
   stored.  `first`: the first element in the loop. */
static void
find_follower(Build *b, RegionElement *load, int32_t first)
{
    Linear step;
    int32_t only = only_store(b, load->array, first);
    if (only < 0 || !load->affine || !known_form(b, b->around->step, &step) || step.base >= 0 ||
        step.slope != 0)
        return;
    const RegionElement *store = &b->out->elements.at[only];
    bool moves = false;
    for (int k = 0; k < b->out->arrays.at[load->array].rank; k++) {
        Linear from, to;
        if (!known_form(b, load->index[k], &from) || !known_form(b, store->index[k], &to) ||
            from.slope != to.slope || from.base != to.base ||
            from.offset != to.offset - from.slope * step.offset)
            return;
        moves = moves || from.slope != 0;
    }
    if (moves) load->follows = only;
}

/* ---- the body ---- */

static int
add_element(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    bool store = node->op == OP_element_store;
    int rank = graph_node(b->graph, node->args[0])->type.rank;
    RegionElement e = {.follows = -1, .affine = b->arms == 0};
    int32_t value = -1;
    if ((e.array = array_of(b, node->args[0], false)) < 0) return -1;
    for (int k = 0; k < rank; k++) {
        if ((e.index[k] = value_of(b, node->args[1 + k])) < 0) return -1;
        e.affine &= is_fixed(b, e.index[k]) || b->kernel->instrs.at[e.index[k]].affine;
    }
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
    b->kernel->instrs.at[loop->index].affine = true;
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

static int
build_loop(Build *b, NodeId id, RegionBlock *block, RegionFor **out)
{
    const Node *node = graph_node(b->graph, id);
    const Region *region = &b->graph->regions.at[node->region[0]];
    RegionFor *loop = arena_alloc(b->lw->arena, sizeof(RegionFor)), *around = b->around;
    if (loop == NULL) return -1;
    loop->number = b->out->nloops++;
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
    }
    RegionStmt stmt = {.instr = -1, .loop = loop};
    if (block != NULL && VEC_PUSH(b->lw->arena, block, stmt) < 0) return -1;
    int arms = b->arms;
    int32_t first = b->out->elements.len;
    b->block = &loop->body;
    b->around = *out = loop;
    b->arms = 0;
    if (build_params(b, node, region, loop) < 0 || build_nodes(b, node->region[0]) < 0 ||
        build_next(b, region, loop) < 0)
        return -1;
    for (int i = first; i < b->out->elements.len && b->lw->why == NULL; i++) {
        RegionElement *e = &b->out->elements.at[i];
        if (!is_store(b, e) && !is_fixed(b, e->instr)) find_follower(b, e, first);
    }
    b->block = block;
    b->around = around;
    b->arms = arms;
    return 0;
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
    b->arms++;
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
    b->arms--;
    b->block = block;
    return 0;
}

/* A result of the loop or branch `of`, after it. */
static int
build_result(Build *b, NodeId id, const RegionStmt *of)
{
    const Node *node = graph_node(b->graph, id), *maker = graph_node(b->graph, node->args[0]);
    const Region *region = &b->graph->regions.at[maker->region[0]];
    int number = 0;
    for (int i = 0; i < node->attrs.index; i++) number += !is_array(b, region->results.at[i]);
    if (is_array(b, id)) {
        int32_t array = b->array[region->results.at[node->attrs.index]];
        b->array[id] = array;
        b->newest[array - 1] = id;
        return 0;
    }
    int32_t variable = of->loop != NULL ? of->loop->carried.at[number].variable
                                        : of->branch->merged.at[number].variable;
    return read_variable(b, variable, id) < 0 ? -1 : 0;
}

static const RegionStmt *
find_statement(const Build *b, NodeId maker)
{
    for (int i = 0; i < b->makers.len; i++)
        if (b->makers.at[i].node == maker) return &b->makers.at[i].stmt;
    return NULL;
}

/* Loops and branches; their results come right behind them. */
static int
build_inner(Build *b, NodeId id)
{
    RegionFor *loop = NULL;
    if (graph_node(b->graph, id)->op == OP_cond ? build_branch(b, id) < 0
                                                : build_loop(b, id, b->block, &loop) < 0)
        return -1;
    if (b->lw->why != NULL) return 0;
    Maker maker = {.node = id, .stmt = b->block->at[b->block->len - 1]};
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
            failed = add_element(b, id);
        else if (kind == KIND_REGION)
            failed = build_inner(b, id);
        else if (kind == KIND_COPY) { /* the same number, of another class */
            int32_t value = value_of(b, node->args[0]);
            if (value < 0) return -1;
            b->value[id] = value + 1;
        } else if (kind == KIND_RESULT)
            failed = build_result(b, id, find_statement(b, node->args[0]));
        else {
            int32_t value = emit_operation(b, id, LEVEL_ELEMENT);
            if (value < 0) return -1;
            b->value[id] = value + 1;
            b->kernel->instrs.at[value].affine = is_affine(b, &b->kernel->instrs.at[value]);
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
            bool element = k == 0 && op_info(node->op)->kind == KIND_ELEMENT;
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
        NodeId root = b->lw->same_as[graph_node(b->graph, arg)->storage];
        if (array_of(b, arg, graph_node(b->graph, root)->op == OP_input) < 0) return -1;
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
    return place_results(&b) < 0 ? -1 : make_step(&b);
}
