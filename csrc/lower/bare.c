/* Calls of NumPy on bare memory (arrays/bare.c), where the arrays are small: kernels of the kind
   KERNEL_CALL.  Their results and temporaries are in the arena, and no array object is made.
   Products are such anywhere, the others in loops.

   A call of much work stays one by Python: it may use threads, and lets others run. */
#include "nest.h"

#include "../arrays/bare.h"

enum { MOST_WORK = 1 << 18 }; /* products and elements; beyond, the objects do not matter */

typedef struct {
    Bare bare;
    int nloops;
    SizeId size[3];
    int axis[3][3];    /* by operand, the result last, and loop: the axis, or -1 */
    int copied;        /* so many of its vectors are perhaps copied */
    BareNumber number; /* … in the place of `bare`; or 0 */
    UfuncLoop loop;
} BareCall;

static bool
bare_multiplies(const BareCall *c)
{
    return c->number == 0 &&
           (c->bare == BARE_DOT || c->bare == BARE_VECTORS || c->bare == BARE_MATMUL);
}

static const Type *
argument(const Graph *g, const Node *node, int i)
{
    return &graph_node(g, node->args[i])->type;
}

static bool
calls(const Node *node, const char *name)
{
    PyObject *function = node->op == OP_extern ? module_object("numpy", name) : NULL;
    if (function == NULL) PyErr_Clear();
    Py_XDECREF(function); /* NumPy has it */
    return function != NULL && node->attrs.object == function;
}

static bool
is_dot(const Graph *g, const Node *node, BareCall *c)
{
    const Type *a = argument(g, node, 0), *b = argument(g, node, 1);
    if (a->rank != 1 || b->rank != 1) return false;
    *c = (BareCall){BARE_DOT, 1, {a->shape[0]}, {{0}, {0}, {-1}}, 2, 0, {0}};
    return true;
}

static bool
is_matmul(const Graph *g, const Node *node, BareCall *c)
{
    const Type *a = argument(g, node, 0), *b = argument(g, node, 1);
    if (a->rank > 2 || b->rank > 2 || a->rank == 0 || b->rank == 0) return false;
    bool rows = a->rank == 2, columns = b->rank == 2;
    if (!rows && !columns) {
        *c = (BareCall){BARE_VECTORS, 1, {a->shape[0]}, {{0}, {0}, {-1}}, 0, 0, {0}};
        return true;
    }
    SizeId one = size_const((Graph *)g, 1);
    *c = (BareCall){BARE_MATMUL,
                    3,
                    {rows ? a->shape[0] : one, b->shape[0], columns ? b->shape[1] : one},
                    {{rows ? 0 : -1, a->rank - 1, -1},
                     {-1, 0, columns ? 1 : -1},
                     {rows ? 0 : -1, -1, columns ? rows : -1}},
                    0,
                    0,
                    {0}};
    return one != NO_SIZE;
}

static bool
is_find(const Graph *g, const Node *node, BareCall *c)
{
    const Type *a = argument(g, node, 0);
    if (a->rank != 1 || node->attrs.keepdims || a->dtype == DT_F16) return false;
    Bare bare = node->op == OP_argmax ? BARE_ARGMAX : BARE_ARGMIN;
    *c = (BareCall){bare, 1, {a->shape[0]}, {{0}, {-1}}, 1, 0, {0}};
    return true;
}

static bool
is_select(const Graph *g, const Node *node, BareCall *c)
{
    const Type *a = argument(g, node, 0), *mask = argument(g, node, 1);
    if (node->type.form != FORM_ARRAY || a->rank != 1 || mask->rank != 1) return false;
    if (!type_is_contiguous(g, a) || !type_is_contiguous(g, mask)) return false;
    *c = (BareCall){
        BARE_SELECT, 2, {a->shape[0], node->type.shape[0]}, {{0, -1}, {0, -1}, {-1, 0}}, 0, 0, {0}};
    return true;
}

static bool
is_take(const Graph *g, const Node *node, BareCall *c)
{
    const Type *a = argument(g, node, 0), *index = argument(g, node, 1);
    int last = index->rank - 1;
    if (!type_is_contiguous(g, &node->type) || !type_is_contiguous(g, index)) return false;
    *c = (BareCall){BARE_TAKE,
                    2,
                    {a->shape[0], type_count((Graph *)g, index)},
                    {{0, -1}, {-1, last}, {-1, last}},
                    0,
                    0,
                    {0}};
    return c->size[1] != NO_SIZE;
}

/* Of all elements of one axis or two. */
static bool
is_number(const Graph *g, const Node *node, BareNumber number, BareCall *c)
{
    const Type *a = argument(g, node, 0);
    int rows = a->rank == 2 ? 0 : -1, columns = a->rank - 1;
    if (a->rank == 0 || a->rank > 2 || node->type.form != FORM_SCALAR) return false;
    if (node->op != OP_extern && node->attrs.nints != a->rank) return false;
    SizeId outer = rows < 0 ? size_const((Graph *)g, 1) : a->shape[0];
    *c = (BareCall){.number = number,
                    .nloops = 2,
                    .size = {outer, a->shape[columns]},
                    .axis = {{rows, columns}, {-1, -1}}};
    return outer != NO_SIZE;
}

static bool
is_scan(const Graph *g, const Node *node, BareCall *c)
{
    const Type *a = argument(g, node, 0);
    if (a->rank != 1 || a->dtype != node->type.dtype) return false;
    *c = (BareCall){.number = BARE_SCAN, .nloops = 1, .size = {a->shape[0]}, .axis = {{0}, {0}}};
    return true;
}

static bool
find_call(const Graph *g, const Node *node, BareCall *c)
{
    switch (node->op) {
    case OP_matmul: return is_matmul(g, node, c);
    case OP_argmax:
    case OP_argmin: return is_find(g, node, c);
    case OP_compress: return is_select(g, node, c);
    case OP_take: return is_take(g, node, c);
    case OP_max: return is_number(g, node, BARE_MAX, c);
    case OP_min: return is_number(g, node, BARE_MIN, c);
    case OP_cumsum: return is_scan(g, node, c);
    default: break;
    }
    if (node->nargs == 1 && calls(node, "median")) return is_number(g, node, BARE_MEDIAN, c);
    return node->nargs == 2 && calls(node, "dot") && is_dot(g, node, c);
}

/* Is it, with arrays of one dtype, and of a length that has a bound? */
static bool
suits(const Lowering *lw, NodeId id, BareCall *c)
{
    Graph *g = lw->graph;
    const Node *node = graph_node(g, id);
    int64_t work, most, product = 1, sum = 0;
    if (node->type.device != DEVICE_HOST || node->type.form == FORM_OBJECT) return false;
    for (int i = 0; i < node->nargs; i++)
        if (argument(g, node, i)->form != FORM_ARRAY) return false;
    if (!find_call(g, node, c)) return false;
    bool multiplies = bare_multiplies(c);
    bool apart = c->number == 0 && (c->bare == BARE_SELECT || c->bare == BARE_TAKE);
    if (lw->loop[id] == 0 && !multiplies) return false;
    if (g->exported && (lw->loop[id] == 0 || c->number != 0)) return false; /* what needs Python */
    for (int i = 0; i < c->nloops; i++) {
        int64_t length = Py_MAX(size_value(g, c->size[i]), 1);
        product *= length;
        sum += length;
        work = apart ? sum : product;
        if (!size_upper(g, c->size[i], &most) || work > MOST_WORK) return false;
    }
    for (int i = 0; i < node->nargs && multiplies; i++)
        if (argument(g, node, i)->dtype != node->type.dtype) return false;
    DType dtype = (DType)argument(g, node, 0)->dtype;
    Answer answer = c->number != 0 ? bare_number_loop(c->number, dtype, &c->loop)
                                   : bare_loop(c->bare, dtype, &c->loop);
    if (answer == ANSWER_ERROR) PyErr_Clear();
    return answer == ANSWER_YES;
}

bool
bare_suits(const Lowering *lw, NodeId id)
{
    BareCall call;
    return suits(lw, id, &call);
}

/* ---- the kernel ---- */

static int32_t
add_operand(Nest *n, const BareCall *c, int number, NodeId value, bool stored)
{
    const Type *type = &graph_node(n->lw->graph, value)->type;
    Access access = {.storage = graph_node(n->lw->graph, value)->storage,
                     .offset = type->offset,
                     .dtype = (DType)type->dtype};
    for (int i = 0; i < MAX_RANK; i++) {
        int axis = i < c->nloops ? c->axis[number][i] : -1;
        access.stride[i] = axis < 0 ? NO_SIZE : size_walked(n->lw->graph, type->stride[axis]);
    }
    return instr_operand(n, &access, stored);
}

static int
add_instrs(Nest *n, const BareCall *c, NodeId id)
{
    const Node *node = graph_node(n->lw->graph, id);
    int32_t args[2], result;
    for (int i = 0; i < node->nargs; i++) {
        int32_t operand = add_operand(n, c, i, node->args[i], false);
        if (operand < 0) return -1;
        Instr load = {.kind = INSTR_LOAD,
                      .dtype = n->kernel->operands.at[operand].dtype,
                      .operand = operand,
                      .node = id};
        if ((args[i] = instr_emit(n, load)) < 0) return -1;
    }
    Instr call = {.kind = INSTR_CALL, .op = node->op, .dtype = (DType)node->type.dtype, .node = id};
    if ((result = instr_args(n, call, node->nargs, args)) < 0) return -1;
    int32_t to = add_operand(n, c, node->nargs, id, true);
    Instr store = {.kind = INSTR_STORE, .dtype = call.dtype, .operand = to, .node = id};
    return to < 0 || instr_args(n, store, 1, &result) < 0 ? -1 : 0;
}

/* The loop that is called, and memory for the copies. */
static int
add_loop(Nest *n, const BareCall *c, DType dtype)
{
    int64_t most, columns = 1;
    int32_t at = program_add_loop(n->lw, &c->loop);
    if (at < 0 || VEC_PUSH(n->lw->arena, &n->loops, at) < 0) return -1;
    bool gathers = c->number == BARE_MEDIAN, copies = gathers || c->copied > 0;
    n->kernel->partial = copies ? n->places.len : -1;
    if (!copies || !size_upper(n->lw->graph, c->size[0], &most)) return 0;
    if (gathers && !size_upper(n->lw->graph, c->size[1], &columns)) return 0;
    int64_t each = gathers ? 8 : c->copied * (int64_t)dtype_size(dtype);
    SizeId bytes = size_const(n->lw->graph, most * columns * each);
    return nest_add_memory(n, bytes, DEVICE_HOST);
}

int
bare_build(Lowering *lw, Group *g)
{
    Nest n;
    Step step = {0};
    NodeId id = g->nodes.at[0];
    const Node *node = graph_node(lw->graph, id);
    DType dtype = (DType)argument(lw->graph, node, 0)->dtype;
    BareCall c;
    if (!suits(lw, id, &c) || nest_init(&n, lw, g) < 0) return -1;
    n.kernel->kind = KERNEL_CALL;
    n.kernel->nstages = 1;
    n.fallible = true;
    n.flags = bare_multiplies(&c) || c.number == BARE_MEDIAN || c.number == BARE_SCAN;
    g->ndims = n.nloops = n.kernel->nloops = c.nloops;
    for (int i = 0; i < n.nloops; i++) {
        n.first[i] = i;
        n.size[i] = g->size[i] = c.size[i];
        if ((n.kernel->size[i] = nest_size(&n, n.size[i])) < 0) return -1;
    }
    if (add_instrs(&n, &c, id) < 0 || add_loop(&n, &c, dtype) < 0) return -1;
    step.kernel.units = size_const(lw->graph, 1);
    step.kernel.grain = 1;
    if (step.kernel.units == NO_SIZE) return -1;
    step_blame(lw->graph, id, &step);
    return nest_step(&n, &step);
}
