/* Many small kernels of one text in one launch on a device: a step of an optimiser does the same
   for each of its parameters, and a launch takes longer than such a kernel.

   1. Before scheduling: a *component* is what is connected by values in the device's memory.  Where
      several components have the same operations, each is a part (Lowering.part), so that its
   kernels hold nothing of another one.
   2. When the kernels are there: where components have the same kernels, the first ones become one
      step, the second ones another, and so on.  Its grid has a row of blocks for each, and the
      arguments that differ are a table.  Components depend on nothing of one another, so that a
   step can wait for the last of its kernels, whose numbers of the host are there by then. */
#include "schedule.h"

enum { LEAST_TOGETHER = 3 };

/* ---- 1. components ---- */

typedef struct {
    Lowering *lw;
    Device device;   /* of the nodes that are looked at */
    NodeId *up;      /* per node: another one of its component; a root: itself */
    int32_t *number; /* per node of a component: the how-manieth it is of its component, from 1 */
    int32_t *count;  /* per root */
    uint64_t *hash;  /* per root: of its operations */
    bool *bad;       /* per root: there is something in it that is no kernel of the device */
} Components;

static NodeId
root_of(const Components *c, NodeId id)
{
    while (c->up[id] != id) id = c->up[id] = c->up[c->up[id]];
    return id;
}

/* The component of `id` has what `value` is computed from.  Numbers of the host, and single
   elements that come from outside, may belong to many. */
static void
connect(Components *c, NodeId id, NodeId value)
{
    const Graph *g = c->lw->graph;
    NodeId storage = graph_node(g, value)->storage;
    const Node *node = graph_node(g, storage);
    if (device_target((Device)node->type.device) != c->device) return;
    if (node->op == OP_input && type_elements(g, &node->type) <= 1) return;
    if (c->device == DEVICE_HOST && node->type.form != FORM_ARRAY) return;
    if (node_is_virtual(&c->lw->virtuals, storage) && !c->lw->needed[storage]) {
        for (int k = 0; k < node->nargs; k++) connect(c, id, node->args[k]);
        return;
    }
    NodeId a = root_of(c, id), b = root_of(c, storage);
    if (a != b) c->up[a > b ? a : b] = a > b ? b : a;
}

static bool
is_kernels(const Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    OpKind kind = op_info(node->op)->kind;
    return node->type.device != DEVICE_HOST && lw->arm[id] == 0 && lw->same_as[id] == id &&
           (kind == KIND_POINTWISE || kind == KIND_REDUCTION || kind == KIND_VIEW);
}

static void
find_components(Components *c)
{
    const Lowering *lw = c->lw;
    for (NodeId id = 0; id < lw->nnodes; id++) c->up[id] = id;
    for (NodeId id = 0; id < lw->nnodes; id++) {
        const Node *node = graph_node(lw->graph, id);
        if (!lw->live[id]) continue;
        if (op_info(node->op)->kind == KIND_VIEW || op_info(node->op)->kind == KIND_RESULT)
            connect(c, id, id);
        for (int k = 0; k < node->nargs; k++) connect(c, id, node->args[k]);
    }
}

static uint64_t
mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static void
hash_components(Components *c)
{
    const Lowering *lw = c->lw;
    const Graph *g = lw->graph;
    for (NodeId id = 0; id < lw->nnodes; id++) {
        const Node *node = graph_node(g, id);
        NodeId root = root_of(c, id);
        if (!lw->live[id] || node->op == OP_input || node->op == OP_const) continue;
        if (root == id && node->type.device == DEVICE_HOST) continue; /* connected to nothing */
        if (node_is_virtual(&lw->virtuals, id) && !lw->needed[id]) continue;
        if (!is_kernels(lw, id)) c->bad[root] = true;
        c->number[id] = ++c->count[root];
        uint64_t hash = mixed(c->hash[root], (uint64_t)node->op << 8 | node->type.dtype);
        if (node->type.device > DEVICE_CUDA) hash = mixed(hash, node->type.device);
        for (int k = 0; k < node->nargs; k++) {
            NodeId arg = graph_node(g, node->args[k])->storage;
            hash = mixed(hash, (uint64_t)c->number[arg] << 8 | graph_node(g, arg)->type.dtype);
        }
        c->hash[root] = hash;
    }
}

typedef struct {
    uint64_t hash;
    NodeId root;
} Hashed;

static int
by_hash(const void *left, const void *right)
{
    const Hashed *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return a->root - b->root;
}

/* On the host, where inputs are written, components share no kernel, unless their arrays are tiny:
   a kernel that walks four arrays is faster than one that walks 24, and kernels of one component
   are all alike, so that a step of an optimiser is one text, however many parameters there are.
   Their launches are shared by the runtime (plan_batch.c).  Measured on two cores, Adam on 60
   arrays of 65,536 f64 from 17.0 to 14.6 ms, of up to 8,192 f32 from 0.38 to 0.30. */
static int
divide_host(Lowering *lw)
{
    enum { TINY = 4 << 10 }; /* bytes of an array */
    const Graph *g = lw->graph;
    Components c = {.lw = lw, .device = DEVICE_HOST};
    size_t n = (size_t)lw->nnodes + 1;
    bool writes = false;
    for (int i = 0; i < g->outputs.len; i++) writes = writes || g->outputs.at[i].at_once;
    if (!writes) return 0;
    if ((c.up = arena_alloc(lw->arena, n * sizeof(*c.up))) == NULL ||
        (c.number = arena_alloc(lw->arena, n * sizeof(*c.number))) == NULL)
        return -1;
    find_components(&c);
    for (NodeId id = 0; id < lw->nnodes; id++) {
        const Type *type = &graph_node(g, id)->type;
        NodeId root = root_of(&c, id);
        if (!lw->live[id] || type->form != FORM_ARRAY || type->device != DEVICE_HOST ||
            c.number[root] != 0 ||
            type_elements(g, type) * (int64_t)dtype_size((DType)type->dtype) < TINY)
            continue;
        c.number[root] = ++lw->nparts;
    }
    for (NodeId id = 0; id < lw->nnodes; id++)
        if (lw->live[id]) lw->part[id] = c.number[root_of(&c, id)];
    return 0;
}

int
together_divide(Lowering *lw)
{
    Components c = {.lw = lw, .device = DEVICE_CUDA};
    size_t n = (size_t)lw->nnodes + 1;
    VEC(Hashed) found = {0};
    for (NodeId id = 0; id < lw->nnodes; id++)
        lw->on_device = lw->on_device || (lw->live[id] && is_kernels(lw, id));
    if (!lw->on_device) return divide_host(lw);
    if ((c.up = arena_alloc(lw->arena, n * sizeof(*c.up))) == NULL ||
        (c.number = arena_alloc(lw->arena, n * sizeof(*c.number))) == NULL ||
        (c.count = arena_alloc(lw->arena, n * sizeof(*c.count))) == NULL ||
        (c.hash = arena_alloc(lw->arena, n * sizeof(*c.hash))) == NULL ||
        (c.bad = arena_alloc(lw->arena, n)) == NULL)
        return -1;
    find_components(&c);
    hash_components(&c);
    for (NodeId id = 0; id < lw->nnodes; id++)
        if (c.count[id] > 0 && !c.bad[id] &&
            VEC_PUSH(lw->arena, &found, (Hashed){c.hash[id], id}) < 0)
            return -1;
    if (found.len > 0) qsort(found.at, (size_t)found.len, sizeof(Hashed), by_hash);
    int *number = arena_alloc(lw->arena, n * sizeof(int)); /* per root */
    if (number == NULL) return -1;
    for (int i = 0, end; i < found.len; i = end) {
        for (end = i; end < found.len && found.at[end].hash == found.at[i].hash;) end++;
        for (int k = i; k < end && end - i >= LEAST_TOGETHER; k++)
            number[found.at[k].root] = ++lw->ncomponents;
    }
    for (NodeId id = 0; id < lw->nnodes; id++)
        if (c.number[id] > 0) lw->part[id] = lw->component[id] = number[root_of(&c, id)];
    lw->nparts = lw->ncomponents;
    return 0;
}

/* ---- 2. steps ---- */

enum { JOINED = -1 }; /* members of a step that another has taken up */

/* The number of the component that a step is of; 0: none. */
static int
component_of(const Program *p, int step)
{
    return p->steps.at[step].kind == STEP_KERNEL ? p->steps.at[step].kernel.component : 0;
}

/* The steps of one component, in order. */
typedef struct {
    int first, count; /* in a list of steps */
    bool done;
} Chain;

static bool
may_join(const Lowering *lw, const KernelStep *s)
{
    return s->blocks[1] == NO_SIZE && s->nmaps == 0 &&
           lw->program->kernels.at[s->kernel]->kind != KERNEL_COLUMNS;
}

static bool
chains_alike(const Lowering *lw, const int *steps, const Chain *a, const Chain *b)
{
    const Program *p = lw->program;
    if (a->count != b->count) return false;
    for (int i = 0; i < a->count; i++) {
        const KernelStep *x = &p->steps.at[steps[a->first + i]].kernel;
        const KernelStep *y = &p->steps.at[steps[b->first + i]].kernel;
        if (x->nplaces != y->nplaces || x->nsizes != y->nsizes ||
            !kernel_alike(p->kernels.at[x->kernel], p->kernels.at[y->kernel]))
            return false;
    }
    return true;
}

static bool
same_place(const Lowering *lw, const Place *a, const Place *b)
{
    return a->buffer == b->buffer && size_same(lw->graph, a->offset, b->offset);
}

/* Is argument `i`, of places and then sizes, the same in both? */
static bool
same_argument(const Lowering *lw, const KernelStep *a, const KernelStep *b, int i)
{
    if (i < a->nplaces) return same_place(lw, &a->places[i], &b->places[i]);
    return size_same(lw->graph, a->sizes[i - a->nplaces], b->sizes[i - a->nplaces]);
}

/* How many of these chains, which are alike, may share launches. */
static int
most_members(const Lowering *lw, const int *steps, const Chain *chains, const int *like, int count)
{
    int most = count;
    for (int k = 0; k < chains[like[0]].count; k++) {
        const KernelStep *first = &lw->program->steps.at[steps[chains[like[0]].first + k]].kernel;
        int all = first->nplaces + first->nsizes, own = 0;
        if (!may_join(lw, first)) return 1;
        for (int i = 0; i < all; i++) {
            bool same = true;
            for (int m = 1; m < count && same; m++) {
                const Step *step = &lw->program->steps.at[steps[chains[like[m]].first + k]];
                same = same_argument(lw, first, &step->kernel, i);
            }
            own += !same;
        }
        if (own > 0) most = Py_MIN(most, (LAUNCH_WORDS - all + own) / own);
    }
    return most;
}

/* Lays out the arguments, of which `own` are not the same for all kernels. */
static void
lay_table(LaunchTable *table, const bool *own, int count)
{
    for (int i = 0; i < count; i++) table->shared += !own[i];
    for (int i = 0, shared = 0; i < count; i++)
        table->at[i] = own[i] ? table->shared + table->own++ : shared++;
}

/* Makes one step of `count` alike ones, in the place of the last. */
static int
join(Lowering *lw, const int *alike, int count)
{
    Program *p = lw->program;
    KernelStep made = p->steps.at[alike[0]].kernel;
    int nplaces = made.nplaces, nsizes = made.nsizes, last = 0;
    size_t n = (size_t)count;
    Place *places = arena_alloc(lw->arena, sizeof(Place) * (n * (size_t)nplaces + 1));
    SizeId *sizes = arena_alloc(lw->arena, sizeof(SizeId) * (n * (size_t)nsizes + 1));
    bool *own = arena_alloc(lw->arena, (size_t)(nplaces + nsizes + 1));
    made.table.at = arena_alloc(lw->arena, sizeof(int32_t) * (size_t)(nplaces + nsizes + 1));
    if (places == NULL || sizes == NULL || own == NULL || made.table.at == NULL) return -1;
    for (int m = 0; m < count; m++) {
        KernelStep *member = &p->steps.at[alike[m]].kernel;
        for (int i = 0; i < nplaces; i++) places[m * nplaces + i] = member->places[i];
        for (int i = 0; i < nsizes; i++) sizes[m * nsizes + i] = member->sizes[i];
        for (int i = 0; i < nplaces + nsizes; i++)
            own[i] = own[i] || !same_argument(lw, &made, member, i);
        made.blocks[0] = size_extreme(lw->graph, SIZE_MOST, made.blocks[0], member->blocks[0]);
        if (made.blocks[0] == NO_SIZE) return -1;
        member->members = JOINED;
        if (alike[m] > last) last = alike[m];
    }
    made.places = places;
    made.sizes = sizes;
    made.nplaces *= count;
    made.nsizes *= count;
    made.members = count;
    lay_table(&made.table, own, nplaces + nsizes);
    p->steps.at[last].kernel = made;
    return 0;
}

/* Joins the steps of the chains that are like number `first`: as many as share launches. */
static int
join_chains(Lowering *lw, const int *steps, Chain *chains, int first)
{
    int *like = arena_alloc(lw->arena, sizeof(int) * ((size_t)lw->ncomponents + 1));
    int *alike = arena_alloc(lw->arena, sizeof(int) * ((size_t)lw->ncomponents + 1));
    int count = 0;
    if (like == NULL || alike == NULL) return -1;
    for (int i = first; i <= lw->ncomponents; i++)
        if (!chains[i].done && chains_alike(lw, steps, &chains[first], &chains[i]))
            like[count++] = i;
    count = most_members(lw, steps, chains, like, count);
    for (int m = 0; m < count; m++) chains[like[m]].done = true;
    for (int k = 0; count > 1 && k < chains[first].count; k++) {
        for (int m = 0; m < count; m++) alike[m] = steps[chains[like[m]].first + k];
        if (join(lw, alike, count) < 0) return -1;
    }
    return 0;
}

int
together_join(Lowering *lw)
{
    Program *p = lw->program;
    int n = p->steps.len, kept = 0;
    for (int i = 0; i < n; i++)
        if (p->steps.at[i].kind == STEP_JUMP || p->steps.at[i].kind == STEP_CARRY ||
            p->steps.at[i].kind == STEP_MEASURE)
            return 0;
    Chain *chains = arena_alloc(lw->arena, sizeof(Chain) * ((size_t)lw->ncomponents + 1));
    int *steps = arena_alloc(lw->arena, sizeof(int) * ((size_t)n + 1));
    if (chains == NULL || steps == NULL) return -1;
    for (int i = 0; i < n; i++)
        if (component_of(p, i) > 0) chains[component_of(p, i)].count++;
    for (int c = 1; c <= lw->ncomponents; c++) {
        chains[c].first = chains[c - 1].first + chains[c - 1].count;
        chains[c].done = chains[c].count == 0;
    }
    for (int c = 1; c <= lw->ncomponents; c++) chains[c].count = 0;
    for (int i = 0; i < n; i++) {
        Chain *chain = &chains[component_of(p, i)];
        if (component_of(p, i) > 0) steps[chain->first + chain->count++] = i;
    }
    for (int c = 1; c <= lw->ncomponents; c++)
        if (!chains[c].done && join_chains(lw, steps, chains, c) < 0) return -1;
    for (int i = 0; i < n; i++)
        if (p->steps.at[i].kind != STEP_KERNEL || p->steps.at[i].kernel.members != JOINED)
            p->steps.at[kept++] = p->steps.at[i];
    p->steps.len = kept;
    return 0;
}
