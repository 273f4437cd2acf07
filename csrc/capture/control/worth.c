/* The cost model: CPython's time for the operations of a graph, minus the cost of running the graph
   as a plan.
   The unit is about 30 ns, the time NumPy takes to read one element as a scalar.  A weight is the
   time that CPython and NumPy spend on the operation beyond the work that a kernel has to do as
   well.  A library call weighs against the plan, which makes the same call with overhead of its
   own; the more so where Python code fills a template, or where an argument is copied because the
   call changes it.  A pass over elements is saved where one kernel does it together with another
   pass; not where its result goes to a library call.  Only the order of magnitude has to be right:
   most graphs are worth far more or far less than their plan. */
#include "worth.h"

#include "control.h"

#include "../../config.h"

enum {
    SCALAR_READ = 1,
    SCALAR_OP = 2,
    PYTHON_OP = 1,
    VIEW_MADE = 2,
    ARRAY_MADE = 5,
    NUMBER_CHOSEN = -1, /* a jump in CPython */
    LIBRARY_CALLED = -15,
    TEMPLATE_CALLED = -50, /* through pycompile's own Python code: _calls.py, _steps.py */
    NUMBER_CALLED = -1,    /* a C function of Python's own numbers */
    LIBRARY_FOLLOWED = 12, /* Python code of NumPy's that nodes stand for: a call of it, and … */
    CODE_PER_UNIT = 12, /* … code units: it takes much longer than the array work of small calls */
    PRODUCT_CALLED = -30,
    BARE_CALLED = 10, /* a small product, without array objects (lower/bare.c) */
    BARE_WORK = 1 << 18,
    DRAWN = -150, /* the generator's state is kept */
    ARRAY_OP = 15,
    ARRAY_REDUCED = 30,
    LAUNCHED = 150,  /* what a device's library takes to start one operation */
    LOOP_KEPT = 200, /* and for each iteration: */
    ITERATED_NODE = 1,
    FEW_TRIPS = 4,      /* of a loop inside, as one along a sparse row */
    LIST_EXTENDED = 16, /* a list of what a loop appends is made */
    REPEATED = 4,       /* turns of a loop over whole arrays that ends by a value, at least */
    TURN_MADE = 8,      /* the plan's own work for one */
    ITEMS_PER_UNIT = 6, /* of a list, which a run reads into an array */
    FEW_ITEMS = 256,
    ARRAY_SCANNED = 8, /* of an operand of a library call */
    ELEMENTS_PER_UNIT = 64,
    COPIED_PER_UNIT = 40,    /* an array of the caller's is copied and, at commit, copied back */
    KEPT_PER_UNIT = 1 << 14, /* the same where the result has to be in memory anyway */
    MANY = 1 << 20,
    MOST = 1 << 28,

    RUN_WHOLE = 6,   /* guards, run and result without a frame */
    RUN_RETURN = 10, /* inside a frame that exists */
    RUN_BREAK = 8,   /* the frame is written, an instruction stepped, the next entry looked up */
    RUN_BRANCH = 8,
};

static int
by_elements(const Graph *g, const Node *node, int per_unit)
{
    int64_t most = type_elements(g, &node->type);
    for (int i = 0; i < node->nargs; i++) {
        const Type *type = &graph_node(g, node->args[i])->type;
        int64_t count = type->form == FORM_ARRAY ? type_elements(g, type) : 0;
        if (count > most) most = count;
    }
    return most / per_unit > MANY ? MANY : (int)(most / per_unit);
}

/* Python code of pycompile. */
static bool
is_template(PyObject *callable)
{
    PyObject *module = PyObject_GetAttrString(callable, "__module__");
    const char *name = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    bool ours = name != NULL && strncmp(name, "pycompile", 9) == 0;
    PyErr_Clear();
    Py_XDECREF(module);
    return ours;
}

static bool
is_library_call(const Node *node)
{
    return op_info(node->op)->kind == KIND_EXTERN || op_info(node->op)->kind == KIND_MATMUL ||
           (op_finds(node->op) && node->type.device == DEVICE_HOST);
}

/* The written value is what a call has made of a copy of the array. */
static bool
writes_changed_copy(const Graph *g, const Node *node)
{
    const Node *value = graph_node(g, node->args[1]);
    if (op_info(value->op)->kind == KIND_RESULT) value = graph_node(g, value->args[0]);
    if (op_info(value->op)->kind != KIND_EXTERN) return false;
    for (int i = 0; i < value->nargs; i++)
        if (graph_node(g, value->args[i])->storage == graph_node(g, node->args[0])->storage)
            return true;
    return false;
}

static bool
takes_arrays(const Graph *g, const Node *node)
{
    for (int i = 0; i < node->nargs; i++)
        if (graph_node(g, node->args[i])->type.form == FORM_ARRAY) return true;
    return false;
}

/* An array of some elements is among its arguments, or its result. */
static bool
has_axes(const Graph *g, const Node *node)
{
    int axes = node->type.rank;
    for (int i = 0; i < node->nargs; i++) axes += graph_node(g, node->args[i])->type.rank;
    return axes > 0;
}

static bool
takes_numbers(const Graph *g, const Node *node)
{
    for (int i = 0; i < node->nargs; i++)
        if (graph_node(g, node->args[i])->type.form != FORM_PYTHON) return false;
    return true;
}

/* Facts about the graph while its nodes are weighed. */
typedef struct {
    Graph *graph;
    const Capture *capture;
    bool *kept;    /* by storage: a library call takes an array of it */
    bool *read;    /* by node: it is an argument or an output */
    bool *used;    /* by node: it is an argument */
    uint8_t *live; /* by node: graph_live */
    bool *dead;    /* by node: made by an instruction that broke, or never used; or NULL */
    bool certain;  /* only loops count whose turns are known */
    bool works; /* there is work that a plan saves; views, Python's arithmetic and library calls are
                   not such work */
    bool on_arrays;     /* … and on more than single numbers */
    NodeId variable[8]; /* of the loops around, whose ranges are known, and … */
    int64_t middle[8];  /* … what is in the middle of them */
    int nvariables;
    int repeats;   /* around the node */
    int arms;      /* of branches around the node */
    int64_t turns; /* expected of a loop of unknown length */
} Scale;

static int64_t
elements_written(const Graph *g, const Node *node)
{
    return type_elements(g, node->attrs.view != NULL ? node->attrs.view : &node->type);
}

/* Is it the memory of an input as it was when the graph began? */
static bool
is_of_caller(const Graph *g, NodeId version)
{
    const Node *node = graph_node(g, version);
    return op_info(node->op)->kind == KIND_INPUT && node->attrs.index < g->inputs.len &&
           g->inputs.at[node->attrs.index] == version;
}

/* What copying an array of the caller's takes that the program does not copy. */
static int
copied_weight(const Graph *g, const Node *node)
{
    return -(int)Py_MIN(type_elements(g, &node->type) / COPIED_PER_UNIT, MANY);
}

/* Is the input an array that a run makes of a list or text? */
static bool
is_series(const Capture *capture, int input)
{
    return capture->sources.at[capture->input_source.at[input]].kind == SOURCE_SERIES;
}

/* What it takes to read the lists and text of which the graph has arrays. */
static int64_t
series_weight(const Capture *capture)
{
    const Graph *g = capture->graph;
    int64_t items = 0;
    for (int i = 0; i < capture->input_source.len; i++)
        if (is_series(capture, i)) items += type_elements(g, &graph_node(g, g->inputs.at[i])->type);
    return -items / ITEMS_PER_UNIT;
}

/* A part of an array.  What NumPy writes into an array of the caller's, a plan that goes on with
   the array writes into a copy of it.  In an arm of a branch a write is an effect with a condition:
   of a few elements CPython does it as fast. */
static int
write_weight(const Scale *scale, NodeId id)
{
    const Graph *g = scale->graph;
    const Node *node = graph_node(g, id);
    int64_t part = elements_written(g, node), whole = type_elements(g, &node->type);
    int per_unit = scale->kept[node->storage] ? KEPT_PER_UNIT : ELEMENTS_PER_UNIT;
    bool read = scale->arms > 0 ? scale->live[id] : scale->used[id];
    int copied =
        is_of_caller(g, node->args[0]) && read && part < whole ? copied_weight(g, node) : 0;
    int device = node->type.device != DEVICE_HOST ? LAUNCHED : 0, made = ARRAY_MADE;
    if (scale->arms > 0 && device == 0 && part == 1) made = 0;
    return made + device + (int)Py_MIN(part / per_unit, MANY) + copied;
}

/* x[mask], which arrays/select.c does faster than NumPy. */
static int
selection_weight(Scale *scale, const Node *node)
{
    enum { WORTH = 64 };
    int elements = by_elements(scale->graph, node, ELEMENTS_PER_UNIT);
    scale->works = scale->works || elements >= WORTH;
    return LIBRARY_CALLED + elements;
}

/* The int as it is in this call, if it is known: ints from outside are as they were seen, a loop's
   variable is taken to be in the middle of its range. */
static bool
seen_int(const Scale *scale, NodeId id, int depth, int64_t *out)
{
    enum { DEEPEST = 6 };
    const Node *node = graph_node(scale->graph, id);
    int64_t a, b;
    for (int i = 0; i < scale->nvariables; i++)
        if (scale->variable[i] == id) {
            *out = scale->middle[i];
            return true;
        }
    if (node->op == OP_const && node->attrs.object != NULL &&
        PyLong_CheckExact(node->attrs.object)) {
        int overflow;
        *out = PyLong_AsLongLongAndOverflow(node->attrs.object, &overflow);
        return overflow == 0;
    }
    if (node->op == OP_input && node->attrs.index < scale->capture->seen.len) {
        *out = scale->capture->seen.at[node->attrs.index];
        return *out != SEEN_NOTHING;
    }
    if (node->op == OP_copy && node->nargs == 1)
        return seen_int(scale, node->args[0], depth + 1, out);
    if (depth == DEEPEST || node->nargs != 2 || !seen_int(scale, node->args[0], depth + 1, &a) ||
        !seen_int(scale, node->args[1], depth + 1, &b))
        return false;
    switch (node->op) {
    case OP_py_add: return !__builtin_add_overflow(a, b, out);
    case OP_py_sub: return !__builtin_sub_overflow(a, b, out);
    case OP_py_mul: return !__builtin_mul_overflow(a, b, out);
    case OP_py_floordiv: *out = b > 0 ? a / b : 0; return b > 0;
    default: return false;
    }
}

/* How often a loop goes round, or -1 where its bounds are not known.  *middle: of its variable. */
static int64_t
seen_trips(const Scale *scale, const Node *loop, int64_t *middle)
{
    int64_t bound[3], by;
    *middle = 0;
    for (int i = 0; i < 3; i++)
        if (!seen_int(scale, loop->args[i], 0, &bound[i]) || bound[i] > MOST || bound[i] < -MOST)
            return -1;
    if ((by = bound[2]) == 0) return -1;
    *middle = (bound[0] + bound[1]) / 2;
    int64_t span = by > 0 ? bound[1] - bound[0] : bound[0] - bound[1];
    return span <= 0 ? 0 : (span - 1) / (by > 0 ? by : -by) + 1;
}

static bool
has_constant_range(const Graph *g, const Node *loop)
{
    for (int i = 0; i < 3; i++)
        if (graph_node(g, loop->args[i])->op != OP_const) return false;
    return true;
}

/* The longest axis of an array that the loop itself reads or writes, in branches, too: along it, it
   mostly goes.  Not of a list, which is read by the way. */
static int64_t
longest_axis(const Capture *capture, RegionId id)
{
    const Graph *g = capture->graph;
    int64_t longest = 0;
    const Region *body = &g->regions.at[id];
    for (int i = 0; i < body->nodes.len; i++) {
        const Node *inner = graph_node(g, body->nodes.at[i]);
        for (int r = 0; inner->op == OP_cond && r < 2; r++)
            longest = Py_MAX(longest, longest_axis(capture, inner->region[r]));
        for (int k = 0; k < inner->nargs; k++) {
            const Node *arg = graph_node(g, inner->args[k]);
            const Type *type = &arg->type;
            if (is_of_caller(g, inner->args[k]) && is_series(capture, (int)arg->attrs.index))
                continue;
            for (int axis = 0; type->form == FORM_ARRAY && axis < type->rank; axis++)
                longest = Py_MAX(longest, size_value(g, type->shape[axis]));
        }
    }
    return longest;
}

static int64_t iterations_weight(Scale *scale, const Node *loop, int64_t likely);

/* One iteration's. */
static int64_t
body_weight(Scale *scale, RegionId id)
{
    const Region *body = &scale->graph->regions.at[id];
    int64_t once = body->nodes.len * ITERATED_NODE;
    for (int i = 0; i < body->nodes.len; i++) {
        const Node *inner = graph_node(scale->graph, body->nodes.at[i]);
        if (inner->op == OP_loop || op_folds(inner->op))
            once += iterations_weight(scale, inner, FEW_TRIPS);
        else if (inner->op == OP_cond && !scale->certain) /* each arm as likely as the other */
            once +=
                (body_weight(scale, inner->region[0]) + body_weight(scale, inner->region[1])) / 2;
    }
    return Py_MIN(once, MOST);
}

/* Of all iterations, those of the loops inside included.  `likely`: how often the loop goes round
   where that is not known, or where it may be left before its end. */
static int64_t
iterations_weight(Scale *scale, const Node *loop, int64_t likely)
{
    int64_t middle, trips = seen_trips(scale, loop, &middle);
    const Region *body = &scale->graph->regions.at[loop->region[0]];
    bool known = trips >= 0 && scale->nvariables < COUNT_OF(scale->variable);
    if (known) {
        scale->variable[scale->nvariables] = body->params.at[0];
        scale->middle[scale->nvariables++] = middle;
    }
    int64_t once = body_weight(scale, loop->region[0]);
    scale->nvariables -= known;
    if (scale->certain) return known && loop->attrs.nints == 0 ? Py_MIN(trips * once, MOST) : 0;
    if (trips < 0 || (loop->attrs.nints > 0 && trips > likely)) trips = Py_MIN(likely, MOST);
    /* another call, for which the plan may hold, too, may have more to do */
    if (!has_constant_range(scale->graph, loop)) trips = Py_MAX(trips, Py_MIN(likely, MOST));
    return Py_MIN(trips * once, MOST);
}

/* The lists that a loop of few turns makes longer, and the generators from which it draws; 0: it
   may make more turns. */
static int
lists_of_few(const Capture *capture, NodeId loop)
{
    for (int i = 0; i < capture->few.len; i++)
        if (capture->few.at[i].loop == loop) return capture->few.at[i].lists;
    return 0;
}

static int
loop_weight(Scale *scale, NodeId id)
{
    const Node *node = graph_node(scale->graph, id);
    int64_t middle, trips = seen_trips(scale, node, &middle);
    int lists = lists_of_few(scale->capture, id);
    if (lists > 0 && trips >= 0) /* of an append or two, a turn's nodes are not as many units */
        return (int)(trips * body_weight(scale, node->region[0]) / 4) - lists * LIST_EXTENDED;
    int64_t likely = Py_MAX(longest_axis(scale->capture, node->region[0]), scale->turns);
    return LOOP_KEPT + (int)Py_MIN(iterations_weight(scale, node, likely), MOST - LOOP_KEPT);
}

/* Is it a product of small arrays of floats? */
static bool
is_bare_product(const Scale *scale, const Node *node)
{
    const Graph *g = scale->graph;
    if (node->nargs != 2) return false;
    const Type *a = &graph_node(g, node->args[0])->type, *b = &graph_node(g, node->args[1])->type;
    bool floats = a->dtype == b->dtype && (a->dtype == DT_F64 || a->dtype == DT_F32);
    if (!floats || a->rank > 2 || b->rank > 2 || a->device != DEVICE_HOST) return false;
    int64_t columns = b->rank == 2 ? size_value(g, b->shape[1]) : 1;
    return type_elements(g, a) <= BARE_WORK / Py_MAX(columns, 1);
}

bool
node_is_median(const Node *node)
{
    return node->op == OP_extern && node->attrs.object == numpy_object("median");
}

/* A call that a loop makes without array objects. */
static bool
is_bare_call(const Scale *scale, const Node *node)
{
    if (scale->repeats == 0 || !(node_is_median(node) || op_finds(node->op))) return false;
    const Type *a = &graph_node(scale->graph, node->args[0])->type;
    return (a->rank == 1 || !op_finds(node->op)) && a->device == DEVICE_HOST &&
           type_elements(scale->graph, a) <= BARE_WORK;
}

static int
node_weight(Scale *scale, NodeId id)
{
    const Graph *g = scale->graph;
    const Node *node = graph_node(g, id);
    OpKind kind = op_info(node->op)->kind;
    bool python = node->type.form == FORM_PYTHON;
    bool jumps = node->op == OP_where || node->op == OP_py_bool || node->op == OP_py_assert;
    if (python && jumps) return NUMBER_CHOSEN;
    if (node->op == OP_commit) return 0; /* of a scatter, which has a weight */
    switch (kind) {
    case KIND_INPUT:
    case KIND_CONST:
    case KIND_CHOICE:
    case KIND_RESULT: return 0;
    case KIND_MATMUL:
        if (!is_bare_product(scale, node)) return PRODUCT_CALLED;
        scale->works = true;
        return BARE_CALLED;
    case KIND_EXTERN:
        if (node->op == OP_store && node->type.device != DEVICE_HOST) {
            scale->works = true;
            return ARRAY_REDUCED + LAUNCHED;
        }
        if ((node->op == OP_compress || node->op == OP_pick) && !scale->read[id]) return 0;
        if (node->op == OP_store && !scale->live[id]) return 0;
        if (node->op == OP_compress) return selection_weight(scale, node);
        if (node->op == OP_take || is_bare_call(scale, node)) {
            scale->works = true;
            return BARE_CALLED;
        }
        if (callable_draws(node->attrs.object)) return DRAWN;
        if (takes_numbers(g, node)) return NUMBER_CALLED;
        if (node->type.device != DEVICE_HOST && device_has_kernel(node->attrs.object)) {
            scale->works = true;
            return ARRAY_REDUCED + LAUNCHED;
        }
        return is_template(node->attrs.object) ? TEMPLATE_CALLED : LIBRARY_CALLED;
    case KIND_PYTHON: return PYTHON_OP;
    default: break;
    }
    bool scalar = node->type.form == FORM_SCALAR, arrays = takes_arrays(g, node);
    if (kind == KIND_VIEW) return scalar ? SCALAR_READ : VIEW_MADE;
    if (python) return PYTHON_OP;
    if (kind == KIND_SCATTER && writes_changed_copy(g, node))
        return scale->live[id] || scale->arms == 0 ? -ARRAY_MADE + 2 * copied_weight(g, node) : 0;
    bool bare = is_bare_call(scale, node);
    if (is_library_call(node) && !bare) return LIBRARY_CALLED;
    scale->works = true;
    if (bare) return BARE_CALLED;
    scale->on_arrays = scale->on_arrays || has_axes(g, node);
    int elements =
        by_elements(g, node, scale->kept[node->storage] ? KEPT_PER_UNIT : ELEMENTS_PER_UNIT);
    if (node->type.device != DEVICE_HOST) elements += LAUNCHED;
    switch (kind) {
    case KIND_REGION: return loop_weight(scale, id);
    case KIND_REDUCTION:
        if (!arrays) return SCALAR_OP;
        if (node->type.device != DEVICE_HOST) return ARRAY_REDUCED + LAUNCHED;
        return ARRAY_REDUCED + by_elements(g, node, KEPT_PER_UNIT);
    case KIND_SCAN: return arrays ? ARRAY_SCANNED : SCALAR_OP;
    case KIND_FILL:
        if (node->op == OP_empty) return scale->used[id] ? ARRAY_MADE : 0;
        return ARRAY_MADE + elements;
    case KIND_SCATTER: return scalar ? SCALAR_READ : write_weight(scale, id);
    case KIND_COPY:
        if (node->attrs.index == COPY_LEFT) return 0;
        return scalar ? SCALAR_READ : ARRAY_MADE + elements;
    default:
        if (scalar && !arrays) return SCALAR_OP;
        return ARRAY_OP + elements;
    }
}

static int64_t region_weight(Scale *scale, RegionId id);

/* Does it make all turns of its range? */
static bool
makes_all_turns(const Graph *g, const Node *repeat)
{
    NodeId leaves = g->regions.at[repeat->region[0]].results.at[repeat->attrs.ints[0]];
    return graph_node(g, leaves)->op == OP_const;
}

/* An array of which a step leaves a changed copy, in place of the memory that turns write, is
   copied by the step and once more behind it. */
static int64_t
left_weight(const Graph *g, NodeId left)
{
    const Node *made = graph_node(g, graph_node(g, left)->storage);
    if (made->op == OP_result) made = graph_node(g, made->args[0]);
    return op_info(made->op)->kind == KIND_EXTERN ? 2 * copied_weight(g, graph_node(g, left)) : 0;
}

/* All turns of a loop over whole arrays. */
static int64_t
repeat_weight(Scale *scale, const Node *node)
{
    const Graph *g = scale->graph;
    const Region *body = &g->regions.at[node->region[0]];
    int64_t middle, trips = seen_trips(scale, node, &middle);
    scale->repeats++;
    int64_t once = region_weight(scale, node->region[0]);
    scale->repeats--;
    if (trips < 0 || (trips > REPEATED && !makes_all_turns(g, node))) trips = REPEATED;
    int64_t copied = 0;
    for (int i = 3 + node_versions_from(node); i < node->nargs; i++) {
        once += left_weight(g, body->results.at[i - 3]);
        if (is_of_caller(g, node->args[i]))
            copied += copied_weight(g, graph_node(g, node->args[i]));
    }
    return Py_MIN(trips, MOST) * (once - TURN_MADE) + copied;
}

/* A branch's arms, each as likely as the other. */
static int64_t
cond_weight(Scale *scale, const Node *node)
{
    scale->arms++;
    int64_t both = region_weight(scale, node->region[0]) + region_weight(scale, node->region[1]);
    scale->arms--;
    return both / 2;
}

static int64_t
region_weight(Scale *scale, RegionId id)
{
    const Region *region = &scale->graph->regions.at[id];
    int64_t weight = 0;
    for (int i = 0; i < region->nodes.len; i++) {
        if (scale->dead != NULL && scale->dead[region->nodes.at[i]]) continue;
        const Node *node = graph_node(scale->graph, region->nodes.at[i]);
        weight += node->op == OP_cond     ? cond_weight(scale, node)
                  : node->op == OP_repeat ? repeat_weight(scale, node)
                                          : node_weight(scale, region->nodes.at[i]);
    }
    return weight;
}

static int
note_read(Scale *scale)
{
    const Graph *g = scale->graph;
    size_t count = (size_t)g->nodes.len;
    if ((scale->live = graph_live(g)) == NULL) return -1;
    if ((scale->used = arena_alloc(g->arena, count + 1)) == NULL) return -1;
    memset(scale->used, false, count);
    for (NodeId id = 0; id < g->nodes.len; id++)
        for (int k = 0; k < graph_node(g, id)->nargs; k++)
            scale->used[graph_node(g, id)->args[k]] = true;
    if ((scale->read = arena_copy(g->arena, scale->used, count + 1)) == NULL) return -1;
    for (int i = 0; i < g->outputs.len; i++) scale->read[g->outputs.at[i].node] = true;
    for (int i = 1; i < g->regions.len; i++)
        for (int k = 0; k < g->regions.at[i].results.len; k++)
            scale->read[g->regions.at[i].results.at[k]] = true;
    return 0;
}

static void
note_kept(Scale *scale)
{
    const Graph *g = scale->graph;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->op == OP_compress && !scale->read[id]) continue;
        for (int k = 0; is_library_call(node) && k < node->nargs; k++)
            scale->kept[graph_node(g, node->args[k])->storage] = true;
    }
}

static int
run_cost(const Capture *capture, bool from_start)
{
    switch (capture->exit.kind) {
    case EXIT_BREAK: return RUN_BREAK;
    case EXIT_BRANCH:
    case EXIT_WAYS: return RUN_BRANCH;
    default: return from_start ? RUN_WHOLE : RUN_RETURN;
    }
}

/* Also graphs without work for kernels, if they contain anything of NumPy: tests of rules for
   library calls, and backends other than "c", need those. */
bool
capture_has_numpy(const Capture *capture)
{
    const Graph *g = capture->graph;
    for (int i = 0; i < g->nodes.len; i++) {
        switch (op_info(g->nodes.at[i].op)->kind) {
        case KIND_INPUT:
        case KIND_CONST:
        case KIND_VIEW:
        case KIND_PYTHON:
        case KIND_CHOICE:
        case KIND_RESULT: break;
        case KIND_MATMUL:
        case KIND_EXTERN: return true;
        default:
            if (g->nodes.at[i].type.form != FORM_PYTHON) return true;
        }
    }
    return false;
}

/* Finds nodes that nothing depends on.  Arguments come before the nodes that take them. */
static int
note_dead(Scale *scale)
{
    const Graph *g = scale->graph;
    scale->dead = arena_alloc(scale->graph->arena, (size_t)g->nodes.len + 1);
    if (scale->dead == NULL) return -1;
    memset(scale->dead, true, (size_t)g->nodes.len);
    for (int i = 0; i < g->outputs.len; i++) scale->dead[g->outputs.at[i].node] = false;
    for (int i = 1; i < g->regions.len; i++)
        for (int k = 0; k < g->regions.at[i].nodes.len; k++)
            scale->dead[g->regions.at[i].nodes.at[k]] = false;
    for (NodeId id = g->nodes.len; id-- > 0;) {
        const Node *node = graph_node(g, id);
        if (op_info(node->op)->kind == KIND_EXTERN && node->op != OP_compress)
            scale->dead[id] = false;
        if (scale->dead[id]) continue;
        for (int k = 0; k < node->nargs; k++) scale->dead[node->args[k]] = false;
    }
    return 0;
}

/* The library function's own name; "": it has none, NULL: without memory. */
static const char *
name_of_called(Graph *g, PyObject *callable)
{
    PyObject *name = PyObject_GetAttrString(callable, "__name__");
    bool told = name != NULL && PyUnicode_Check(name) && !is_template(callable);
    const char *text = told ? arena_printf(g->arena, "%s", text_of_str(name)) : "";
    PyErr_Clear();
    Py_XDECREF(name);
    return text;
}

/* " (svd, matmul)" for the library functions that the graph calls, the first ones where there are
   many, "" where they have no names of their own; NULL: it calls none. */
static const char *
called_names(Graph *g)
{
    enum { MOST_NAMES = 4 };
    const char *names[MOST_NAMES], *text = NULL;
    int n = 0;
    for (NodeId id = 0; id < g->nodes.len && n < MOST_NAMES; id++) {
        const Node *node = graph_node(g, id);
        bool is_product = op_info(node->op)->kind == KIND_MATMUL;
        bool is_call = op_info(node->op)->kind == KIND_EXTERN && node->attrs.object != NULL;
        if (!is_product && !is_call) continue;
        if (text == NULL) text = "";
        const char *name = is_product ? "matmul" : name_of_called(g, node->attrs.object);
        bool known = name == NULL || *name == '\0';
        for (int i = 0; i < n && !known; i++) known = strcmp(names[i], name) == 0;
        if (known) continue;
        names[n++] = name;
        if (n == MOST_NAMES)
            text = arena_printf(g->arena, "%s, ...", text);
        else
            text = arena_printf(g->arena, "%s%s%s", text, n > 1 ? ", " : "", name);
        if (text == NULL) return "";
    }
    return n == 0 ? text : arena_printf(g->arena, " (%s)", text);
}

/* Why a graph is not worth a plan. */
static const char *
left_because(const Scale *scale)
{
    Graph *g = scale->graph;
    const char *name = called_names(g), *text = NULL;
    if (name != NULL)
        text = arena_printf(g->arena,
                            scale->on_arrays
                                ? "apart from calls of library functions%s, its array work takes "
                                  "less time, at this size, than a plan would"
                                : "its array work is calls of library functions%s, which take "
                                  "the same time in a plan",
                            name);
    PyErr_Clear();
    if (text != NULL) return text;
    return scale->on_arrays ? "its array work takes less time, at this size, than a plan would"
           : scale->works   ? "its work on single numbers takes less time than a plan would"
                            : "it has no array work that a plan saves: views, and arithmetic on "
                              "Python's numbers, take the same time in one";
}

static int
model_gain(const Capture *capture, const CaptureRequest *request, const char **left)
{
    Graph *g = capture->graph;
    *left = "it has nothing of NumPy";
    int64_t gain = -run_cost(capture, request->number == request->decoded->first_traceable);
    Scale scale = {
        .graph = g, .capture = capture, .kept = arena_alloc(g->arena, (size_t)g->nodes.len + 1)};
    scale.turns = request->turns;
    if (scale.kept == NULL || note_read(&scale) < 0) {
        PyErr_Clear();
        return 0;
    }
    note_kept(&scale);
    if (capture->exit.kind == EXIT_BREAK && note_dead(&scale) < 0) {
        PyErr_Clear();
        return 0;
    }
    gain += region_weight(&scale, 0) + series_weight(capture);
    gain += (int64_t)LIBRARY_FOLLOWED * capture->library_calls;
    gain += capture->library_code / CODE_PER_UNIT;
    if (!scale.works) {
        *left = left_because(&scale);
        return 0;
    }
    if (gain <= 0) *left = left_because(&scale);
    return (int)Py_MIN(gain, MOST);
}

int64_t
capture_most_items(const Capture *capture)
{
    int count = 0;
    for (int i = 0; i < capture->input_source.len; i++) count += is_series(capture, i);
    return FEW_ITEMS + (int64_t)capture->certain * ITEMS_PER_UNIT / 2 / Py_MAX(count, 1);
}

int
capture_certain(Capture *capture)
{
    Graph *g = capture->graph;
    Scale scale = {.graph = g, .capture = capture, .certain = true};
    int64_t gain = 0;
    const Region *top = &g->regions.at[0];
    for (int i = 0; i < top->nodes.len; i++) {
        const Node *node = graph_node(g, top->nodes.at[i]);
        if (node->op == OP_loop) gain += iterations_weight(&scale, node, 0);
    }
    return (int)Py_MIN(gain, MOST);
}

int
capture_gain(Capture *capture, const CaptureRequest *request)
{
    const Config *config = request->config;
    capture->left = "it has nothing of NumPy";
    if (config != NULL && config->capture_all)
        return capture->exit.kind == EXIT_BREAK && capture->exit.number == request->number ? 0
                                                                                           : MANY;
    if (config != NULL && (config->plan_always || config->backend_call != NULL))
        return capture_has_numpy(capture) ? MANY : 0;
    return model_gain(capture, request, &capture->left);
}

int
capture_saves(const Capture *capture, const CaptureRequest *request)
{
    const char *left;
    int gain = capture->gain < MANY ? capture->gain : model_gain(capture, request, &left);
    return gain < 1 ? 1 : gain;
}
