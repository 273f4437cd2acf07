/* The cost model: what a graph saves CPython, less what running it as a plan costs.

   The unit is about 30 ns, the time NumPy takes to read one element as a scalar.  Weights are what
   CPython and NumPy spend on the operation by themselves, beyond what a kernel needs for it.  A
   call of the library weighs against the plan, which makes it all the same, in a wrapping of its
   own.  Only the order of magnitude has to be right: most graphs are worth far more or far less
   than their plan. */
#include "worth.h"

#include "interp.h"

#include "../config.h"

enum {
    SCALAR_READ = 1,
    SCALAR_OP = 2,
    PYTHON_OP = 1,
    VIEW_MADE = 2,
    ARRAY_MADE = 5,
    NUMBER_CHOSEN = -1, /* a jump in CPython */
    LIBRARY_CALLED = -15,
    NUMBER_CALLED = -1, /* a C function of Python's own numbers */
    PRODUCT_CALLED = -30,
    DRAWN = -150, /* the generator's state is kept */
    ARRAY_OP = 15,
    ARRAY_REDUCED = 30,
    LOOP_KEPT = 200,
    ELEMENTS_PER_UNIT = 64,
    MANY = 1 << 20,

    RUN_WHOLE = 6,   /* guards, run and result without a frame */
    RUN_RETURN = 10, /* within a frame that was made */
    RUN_BREAK = 8,   /* the frame is written, an instruction stepped, the next entry looked up */
    RUN_BRANCH = 8,
};

static int
by_elements(const Graph *g, const Node *node)
{
    int64_t most = type_elements(g, &node->type);
    for (int i = 0; i < node->nargs; i++) {
        const Type *type = &graph_node(g, node->args[i])->type;
        int64_t count = type->form == FORM_ARRAY ? type_elements(g, type) : 0;
        if (count > most) most = count;
    }
    return most / ELEMENTS_PER_UNIT > MANY ? MANY : (int)(most / ELEMENTS_PER_UNIT);
}

static bool
takes_arrays(const Graph *g, const Node *node)
{
    for (int i = 0; i < node->nargs; i++)
        if (graph_node(g, node->args[i])->type.form == FORM_ARRAY) return true;
    return false;
}

static bool
takes_numbers(const Graph *g, const Node *node)
{
    for (int i = 0; i < node->nargs; i++)
        if (graph_node(g, node->args[i])->type.form != FORM_PYTHON) return false;
    return true;
}

/* What NumPy and CPython would spend.  *works: it is work that a plan saves; views, Python's own
   arithmetic and library calls are not, however many. */
static int
node_weight(const Graph *g, const Node *node, bool *works)
{
    OpKind kind = op_info(node->op)->kind;
    bool python = node->type.form == FORM_PYTHON;
    if (python && (node->op == OP_where || node->op == OP_py_bool)) return NUMBER_CHOSEN;
    switch (kind) {
    case KIND_INPUT:
    case KIND_CONST:
    case KIND_RESULT: return 0;
    case KIND_MATMUL: return PRODUCT_CALLED;
    case KIND_EXTERN:
        if (PyObject_HasAttrString(node->attrs.object, "save")) return DRAWN;
        return takes_numbers(g, node) ? NUMBER_CALLED : LIBRARY_CALLED;
    case KIND_PYTHON: return PYTHON_OP;
    default: break;
    }
    bool scalar = node->type.form == FORM_SCALAR, arrays = takes_arrays(g, node);
    if (kind == KIND_VIEW) return scalar ? SCALAR_READ : VIEW_MADE;
    if (python) return PYTHON_OP;
    *works = true;
    switch (kind) {
    case KIND_REGION: return LOOP_KEPT;
    case KIND_REDUCTION:
    case KIND_SCAN: return arrays ? ARRAY_REDUCED + by_elements(g, node) : SCALAR_OP;
    case KIND_FILL: return ARRAY_MADE + by_elements(g, node);
    case KIND_COPY:
    case KIND_SCATTER: return scalar ? SCALAR_READ : ARRAY_MADE + by_elements(g, node);
    default:
        if (scalar && !arrays) return SCALAR_OP;
        return ARRAY_OP + by_elements(g, node);
    }
}

static int64_t region_weight(const Graph *g, RegionId id, bool *works);

/* One of the arms of a cond, as likely as the other. */
static int64_t
cond_weight(const Graph *g, const Node *node, bool *works)
{
    return (region_weight(g, node->region[0], works) + region_weight(g, node->region[1], works)) /
           2;
}

static int64_t
region_weight(const Graph *g, RegionId id, bool *works)
{
    const Region *region = &g->regions.at[id];
    int64_t weight = 0;
    for (int i = 0; i < region->nodes.len; i++) {
        const Node *node = graph_node(g, region->nodes.at[i]);
        weight += node->op == OP_cond ? cond_weight(g, node, works) : node_weight(g, node, works);
    }
    return weight;
}

static int
run_cost(const Capture *capture, bool from_start)
{
    switch (capture->exit.kind) {
    case EXIT_BREAK: return RUN_BREAK;
    case EXIT_BRANCH: return RUN_BRANCH;
    default: return from_start ? RUN_WHOLE : RUN_RETURN;
    }
}

/* Every graph with something of NumPy in it: tests of rules for library calls, and backends other
   than our own, want those graphs too. */
static bool
has_numpy(const Graph *g)
{
    for (int i = 0; i < g->nodes.len; i++) {
        switch (op_info(g->nodes.at[i].op)->kind) {
        case KIND_INPUT:
        case KIND_CONST:
        case KIND_VIEW:
        case KIND_PYTHON:
        case KIND_RESULT: break;
        case KIND_MATMUL:
        case KIND_EXTERN: return true;
        default:
            if (g->nodes.at[i].type.form != FORM_PYTHON) return true;
        }
    }
    return false;
}

int
capture_gain(const Capture *capture, const CaptureRequest *request)
{
    const Graph *g = capture->graph;
    const Config *config = request->config;
    if (config != NULL && config->capture_all)
        return capture->exit.kind == EXIT_BREAK && capture->exit.number == request->number ? 0
                                                                                           : MANY;
    if (config != NULL && (config->plan_always || config->backend_call != NULL))
        return has_numpy(g) ? MANY : 0;
    int64_t gain = -run_cost(capture, request->number == request->decoded->first_traceable);
    bool works = false;
    gain += region_weight(g, 0, &works);
    if (!works) return 0;
    return gain > MANY ? MANY : (int)gain;
}
