/* A kept loop as one kernel.  In: the loop node and its region.  Out: instructions and the
   RegionLoop.

   Arrays that the loop writes are written in place (passes/writes.c), an input's memory with a log
   of its old elements, so that a later failure can restore them. */
#include "region.h"
#include "schedule.h"

/* ---- building ---- */

typedef struct {
    Lowering *lw;
    Graph *graph;
    NodeId loop;
    const Region *region;
    Kernel *kernel;
    RegionLoop *out;
    int32_t *value; /* per node: its instruction + 1 */
    int32_t *array; /* per node: its array + 1 */
    NodeId *newest; /* per array: the version that its memory holds */
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
    if (VEC_PUSH(b->lw->arena, &b->kernel->instrs, instr) < 0) return -1;
    return b->kernel->instrs.len - 1;
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

bool
region_has(const Region *region, NodeId id)
{
    for (int i = 0; i < region->nodes.len; i++)
        if (region->nodes.at[i] == id) return true;
    for (int i = 0; i < region->params.len; i++)
        if (region->params.at[i] == id) return true;
    return false;
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
    if (region_has(b->region, id) && graph_node(b->graph, id)->op != OP_const) {
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
    if (type->rank != 1) {
        b->lw->why = "an element of an array that is no vector";
        return -1;
    }
    RegionArray a = {.logged = logged};
    if ((a.operand = operand(b, id, false)) < 0 ||
        (a.length = size_argument(b, type->shape[0])) < 0 ||
        (a.stride = size_argument(b, type->stride[0])) < 0 ||
        VEC_PUSH(b->lw->arena, &b->out->arrays, a) < 0)
        return -1;
    b->array[id] = b->out->arrays.len;
    b->newest[b->out->arrays.len - 1] = id;
    return b->out->arrays.len - 1;
}

/* ---- indices ---- */

/* Is the int linear in the induction variable? */
static bool
is_affine(const Build *b, const Instr *v)
{
    if (v->kind == INSTR_INDEX) return true;
    if (v->kind != INSTR_OP || v->dtype != DT_I64 || v->from != DT_I64) return false;
    bool once[2] = {true, true}, linear[2] = {false, false};
    for (int k = 0; k < v->nargs && k < 2; k++) {
        linear[k] = b->kernel->instrs.at[v->args[k]].affine;
        once[k] = b->kernel->instrs.at[v->args[k]].level == LEVEL_ONCE;
        if (!linear[k] && !once[k]) return false;
    }
    switch (v->op) {
    case OP_py_add:
    case OP_py_sub: return linear[0] || linear[1];
    case OP_py_mul: return linear[0] != linear[1];
    case OP_py_neg: return linear[0];
    default: return false;
    }
}

/* The index as slope * i + offset, where both are known while compiling. */
static bool
known_form(const Build *b, int32_t at, int64_t *slope, int64_t *offset)
{
    const Instr *v = &b->kernel->instrs.at[at];
    int64_t s[2], o[2];
    *slope = *offset = 0;
    if (v->kind == INSTR_INDEX) {
        *slope = 1;
        return true;
    }
    if (v->kind == INSTR_CONST && v->dtype == DT_I64) {
        memcpy(offset, v->bits, sizeof *offset);
        return *offset > -(1 << 30) && *offset < 1 << 30;
    }
    if (v->kind != INSTR_OP || v->nargs != 2 || (v->op != OP_py_add && v->op != OP_py_sub))
        return false;
    for (int k = 0; k < 2; k++)
        if (!known_form(b, v->args[k], &s[k], &o[k])) return false;
    int sign = v->op == OP_py_add ? 1 : -1;
    *slope = s[0] + sign * s[1];
    *offset = o[0] + sign * o[1];
    return true;
}

/* Finds loads like y[i - 1] in a loop that stores y[i]: they read what the previous iteration
   stored. */
static void
find_follower(Build *b, RegionElement *load)
{
    int64_t step, slope, offset, store_slope, store_offset, zero;
    load->follows = -1;
    int32_t only = -1;
    for (int i = 0; i < b->out->elements.len; i++) {
        const RegionElement *e = &b->out->elements.at[i];
        if (e->array != load->array || b->kernel->instrs.at[e->instr].kind != INSTR_STORE) continue;
        if (only >= 0) return;
        only = i;
    }
    if (only < 0 || !load->affine || !b->out->elements.at[only].affine) return;
    if (!known_form(b, b->out->step, &zero, &step) || zero != 0 ||
        !known_form(b, load->index, &slope, &offset) ||
        !known_form(b, b->out->elements.at[only].index, &store_slope, &store_offset))
        return;
    if (slope == store_slope && slope != 0 && offset == store_offset - slope * step)
        load->follows = only;
}

static int
add_element(Build *b, NodeId id)
{
    const Node *node = graph_node(b->graph, id);
    bool store = node->op == OP_element_store;
    RegionElement e = {.follows = -1};
    int32_t value = -1;
    if ((e.array = array_of(b, node->args[0], false)) < 0 ||
        (e.index = value_of(b, node->args[1])) < 0 ||
        (store && (value = value_of(b, node->args[2])) < 0))
        return -1;
    if (b->newest[e.array] != node->args[0]) {
        b->lw->why = "a loop that reads an old version of an array";
        return 0;
    }
    if (store && b->kernel->instrs.at[value].dtype != node->type.dtype) {
        b->lw->why = "a store of another dtype in a loop";
        return 0;
    }
    const Instr *index = &b->kernel->instrs.at[e.index];
    e.affine = index->affine || index->level == LEVEL_ONCE;
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

/* ---- the kernel's parts in order ---- */

/* Everything from outside the loop is loaded before the body. */
static int
build_outer(Build *b)
{
    const Node *loop = graph_node(b->graph, b->loop);
    RegionLoop *r = b->out;
    if ((r->start = value_of(b, loop->args[0])) < 0 || (r->stop = value_of(b, loop->args[1])) < 0 ||
        (r->step = value_of(b, loop->args[2])) < 0)
        return -1;
    for (int k = 3; k < loop->nargs; k++) {
        NodeId arg = loop->args[k], param = b->region->params.at[k - 2];
        NodeId result = live_result(b->lw, b->loop, k - 3);
        if (graph_node(b->graph, arg)->type.form == FORM_ARRAY) {
            NodeId root = b->lw->same_as[graph_node(b->graph, arg)->storage];
            bool logged = graph_node(b->graph, root)->op == OP_input;
            int32_t array = array_of(b, arg, logged);
            if (array < 0) return -1;
            b->array[param] = array + 1;
            b->newest[array] = param;
            continue;
        }
        RegionCarried c = {.operand = -1};
        if ((c.start = value_of(b, arg)) < 0) return -1;
        if (result != NO_NODE && (c.operand = operand(b, result, true)) < 0) return -1;
        if (VEC_PUSH(b->lw->arena, &r->carried, c) < 0) return -1;
    }
    for (int i = 0; i < b->region->nodes.len; i++) {
        NodeId id = b->region->nodes.at[i];
        const Node *node = graph_node(b->graph, id);
        if (node->op == OP_const && value_of(b, id) < 0) return -1;
        for (int k = 0; k < node->nargs; k++) {
            bool array = k == 0 && op_info(node->op)->kind == KIND_ELEMENT;
            if (array || region_has(b->region, node->args[k])) continue;
            if (value_of(b, node->args[k]) < 0) return -1;
        }
    }
    for (int i = 0; i < b->region->results.len; i++) {
        NodeId id = b->region->results.at[i];
        if (graph_node(b->graph, id)->type.form != FORM_ARRAY && !region_has(b->region, id) &&
            value_of(b, id) < 0)
            return -1;
    }
    r->body = b->kernel->instrs.len;
    return 0;
}

/* The induction variable and the carried scalars as instructions. */
static int
build_params(Build *b)
{
    Instr instr = {.kind = INSTR_INDEX, .dtype = DT_I64, .level = LEVEL_ELEMENT, .operand = -1};
    instr.node = b->region->params.at[0];
    int32_t at = emit(b, instr, 0, NULL);
    if (at < 0) return -1;
    b->value[instr.node] = at + 1;
    b->kernel->instrs.at[at].affine = true;
    int number = 0;
    for (int k = 1; k < b->region->params.len; k++) {
        instr.node = b->region->params.at[k];
        const Type *type = &graph_node(b->graph, instr.node)->type;
        if (type->form == FORM_ARRAY) continue;
        instr.kind = INSTR_CARRIED;
        instr.dtype = type->dtype;
        instr.operand = number;
        if ((at = emit(b, instr, 0, NULL)) < 0) return -1;
        b->value[instr.node] = at + 1;
        b->out->carried.at[number++].param = at;
    }
    return 0;
}

static int
build_body(Build *b)
{
    for (int i = 0; i < b->region->nodes.len && b->lw->why == NULL; i++) {
        NodeId id = b->region->nodes.at[i];
        const Node *node = graph_node(b->graph, id);
        OpKind kind = op_info(node->op)->kind;
        if (!b->lw->live[id] || kind == KIND_CONST || kind == KIND_INPUT) continue;
        if (kind == KIND_ELEMENT) {
            if (add_element(b, id) < 0) return -1;
            continue;
        }
        int32_t value = emit_operation(b, id, LEVEL_ELEMENT);
        if (value < 0) return -1;
        b->value[id] = value + 1;
        b->kernel->instrs.at[value].affine = is_affine(b, &b->kernel->instrs.at[value]);
    }
    int number = 0;
    for (int i = 0; i < b->region->results.len && b->lw->why == NULL; i++) {
        NodeId id = b->region->results.at[i];
        if (graph_node(b->graph, id)->type.form == FORM_ARRAY) {
            if (b->newest[b->array[id] - 1] != id) b->lw->why = "a loop that drops a write";
            continue;
        }
        RegionCarried *c = &b->out->carried.at[number++];
        if ((c->result = value_of(b, id)) < 0) return -1;
        if (b->kernel->instrs.at[c->result].dtype != b->kernel->instrs.at[c->start].dtype)
            b->lw->why = "a carried value that changes its dtype";
    }
    for (int i = 0; i < b->out->elements.len; i++)
        if (b->kernel->instrs.at[b->out->elements.at[i].instr].kind == INSTR_LOAD)
            find_follower(b, &b->out->elements.at[i]);
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
    b.region = &lw->graph->regions.at[graph_node(lw->graph, loop)->region[0]];
    b.kernel = arena_alloc(lw->arena, sizeof(Kernel));
    b.out = arena_alloc(lw->arena, sizeof(RegionLoop));
    b.value = arena_alloc(lw->arena, nodes * sizeof(int32_t));
    b.array = arena_alloc(lw->arena, nodes * sizeof(int32_t));
    b.newest = arena_alloc(lw->arena, nodes * sizeof(NodeId));
    if (!b.kernel || !b.out || !b.value || !b.array || !b.newest) return -1;
    b.kernel->kind = KERNEL_REGION;
    b.kernel->region = b.out;
    if (build_outer(&b) < 0 || lw->why != NULL || build_params(&b) < 0 || build_body(&b) < 0)
        return lw->why != NULL ? 0 : -1;
    return lw->why != NULL ? 0 : make_step(&b);
}

/* ---- printing ---- */

static void
put_element(const Kernel *k, int32_t number, Text *out)
{
    const RegionElement *e = &k->region->elements.at[number];
    text_printf(out, " a%d[v%d]%s", e->array, e->index, e->affine ? "" : ", checked");
    if (e->follows >= 0) text_put(out, ", what the iteration before stored");
}

void
region_print(const Graph *g, const KernelStep *step, const Kernel *k, Text *out)
{
    const RegionLoop *r = k->region;
    text_printf(out, "  for v%d in range(v%d, v%d, v%d)\n", r->body, r->start, r->stop, r->step);
    for (int i = 0; i < r->arrays.len; i++) {
        const RegionArray *a = &r->arrays.at[i];
        text_printf(out, "    a%d at b%d%s\n", i,
                    step->places[k->operands.at[a->operand].pointer].buffer,
                    a->logged ? ", written in place, old elements logged" : "");
    }
    for (int at = 0; at < k->instrs.len; at++) {
        const Instr *v = &k->instrs.at[at];
        if (v->kind == INSTR_INDEX) continue;
        text_printf(out, "    %-6s v%d: %s =", v->level == LEVEL_ONCE ? "once" : "body", at,
                    dtype_name(v->dtype));
        if (v->kind == INSTR_CONST) text_printf(out, " const 0x%llx", (long long)v->bits[0]);
        if (v->kind == INSTR_OP) text_printf(out, " %s", op_info(v->op)->name);
        if (v->kind == INSTR_CARRIED) text_printf(out, " carried %d", v->operand);
        if (v->kind == INSTR_STORE) text_put(out, " store");
        for (int k2 = 0; k2 < v->nargs; k2++)
            text_printf(out, "%sv%d", k2 ? ", " : " ", v->args[k2]);
        if (v->kind == INSTR_LOAD && v->level == LEVEL_ONCE)
            text_printf(out, " load b%d", step->places[k->operands.at[v->operand].pointer].buffer);
        if (v->kind == INSTR_STORE) text_put(out, " to");
        if (v->kind == INSTR_LOAD && v->level != LEVEL_ONCE) text_put(out, " load");
        if ((v->kind == INSTR_LOAD || v->kind == INSTR_STORE) && v->level != LEVEL_ONCE)
            put_element(k, v->operand, out);
        if (v->node != NO_NODE && graph_node(g, v->node)->line > 0)
            text_printf(out, "  # line %d", graph_node(g, v->node)->line);
        text_put(out, "\n");
    }
    for (int i = 0; i < r->carried.len; i++)
        text_printf(out, "    carried %d: from v%d, then v%d\n", i, r->carried.at[i].start,
                    r->carried.at[i].result);
}
