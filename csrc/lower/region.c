/* A kept loop as one kernel.  In: the loop node and its region, with the loops and branches in it.
   Out: instructions and the RegionLoop.

   Arrays that the loop writes are written in place (passes/writes.c), an input's memory with a log
   of its old elements, so that a later failure can restore them. */
#include "region_build.h"

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

/* ---- before the loop ---- */

/* What a region and those in it take from outside the loop. */
static int
load_outer(Build *b, RegionId number)
{
    const Region *region = &b->graph->regions.at[number];
    for (int i = 0; i < region->nodes.len; i++) {
        NodeId id = region->nodes.at[i];
        const Node *node = graph_node(b->graph, id);
        if (node->op == OP_const && region_value(b, id) < 0) return -1;
        for (int k = 0; k < node->nargs; k++) {
            NodeId arg = node->args[k];
            bool element = op_info(node->op)->kind == KIND_ELEMENT && region_is_array(b, arg);
            bool array = element || (node->op == OP_loop && region_is_array(b, arg));
            if (b->inside[arg]) continue;
            if ((array ? region_array(b, arg, false) : region_value(b, arg)) < 0) return -1;
        }
        for (int r = 0; r < 2; r++)
            if (node->region[r] != NO_REGION && load_outer(b, node->region[r]) < 0) return -1;
    }
    for (int i = 0; i < region->results.len; i++) {
        NodeId id = region->results.at[i];
        if (!region_is_array(b, id) && !b->inside[id] && region_value(b, id) < 0) return -1;
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
        if (!region_is_array(b, arg)) {
            if (region_value(b, arg) < 0) return -1;
            continue;
        }
        if (region_array(b, arg, true) < 0) return -1;
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
        if (region_is_array(b, node->args[k])) continue;
        NodeId result = live_result(b->lw, b->loop, k - 3);
        int32_t variable = b->out->top->carried.at[number++].variable;
        if (result == NO_NODE) continue;
        if ((b->out->variables.at[variable].operand = region_operand(b, result, true)) < 0)
            return -1;
    }
    return 0;
}

/* Is it arithmetic of NumPy's integers of 64 bits, for which Python's operations stand? */
static bool
is_of_int64(const Graph *g, const Instr *v)
{
    const Node *node = v->node != NO_NODE ? graph_node(g, v->node) : NULL;
    bool arithmetic = v->op == OP_py_add || v->op == OP_py_sub || v->op == OP_py_mul ||
                      v->op == OP_py_neg || v->op == OP_py_abs;
    if (node == NULL || !arithmetic || v->dtype != DT_I64) return false;
    for (int k = 0; k < node->nargs; k++)
        if (graph_node(g, node->args[k])->type.form == FORM_SCALAR) return true;
    return false;
}

/* Has the loop integers of NumPy's whose wrapping round is looked for? */
static bool
checks_numpy_ints(const Graph *g, const Kernel *kernel)
{
    for (int i = 0; i < kernel->instrs.len; i++) {
        const Instr *v = &kernel->instrs.at[i];
        bool checked = !v->wraps && v->dtype == v->from && op_may_overflow(v->op, v->dtype);
        if (v->kind == INSTR_OP && (checked || is_of_int64(g, v))) return true;
    }
    return false;
}

/* Does it write the program's memory, or append to lists?  What a plan makes itself needs no
   undoing once the loop is done. */
static bool
keeps_log(const RegionLoop *r)
{
    for (int i = 0; i < r->arrays.len; i++)
        if (r->arrays.at[i].logged || r->arrays.at[i].grows) return true;
    return false;
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
                               .region = true,
                               .keeps_log = keeps_log(b->out),
                               .numpy_ints = checks_numpy_ints(b->graph, b->kernel)};
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
    return region_small(arena, b->kernel, b->out);
}

/* What has been made is looked at as the rest was. */
static int
find_again(Build *b)
{
    return make_room(b) < 0 ? -1 : find_facts(b);
}

static int
analyse(Build *b)
{
    enum { ROUNDS = 4 }; /* a part of a loop may be split again */
    Arena *arena = b->lw->arena;
    bool any;
    if (make_room(b) < 0) return -1;
    region_order(b->kernel, b->out, b->out->top);
    region_bits(b->kernel, b->out->top);
    if (find_facts(b) < 0 || region_lanes(arena, b->kernel, b->out, &any) < 0 ||
        (any && find_again(b) < 0))
        return -1;
    any = true;
    for (int round = 0; any && round < ROUNDS; round++)
        if (region_split(arena, b->kernel, b->out, &any) < 0 || (any && find_again(b) < 0))
            return -1;
    return 0;
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
    if (build_outer(&b) < 0 || (lw->why == NULL && region_loop_of(&b, loop, NULL, &b.out->top) < 0))
        return lw->why != NULL ? 0 : -1;
    if (lw->why != NULL) return 0;
    if (analyse(&b) < 0) return -1;
    return place_results(&b) < 0 ? -1 : make_step(&b);
}
