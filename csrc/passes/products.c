/* Products of matrices on a device, by its library of products.  In: calls of the array library's
   `matmul`, and what a program does with their results element by element.  Out: `product` nodes,
   each with as much of that as the library does before it rounds and stores an element:

       p = x @ w
       p + b                 a row that is added to each row
       r + p                 a matrix of the same shape
       maximum(s, 0)         of the sum so far
       gelu(s)               in its form with tanh, however it is written

   A gelu is known by its values: a chain of +, -, *, /, powers, tanh and exp with numbers is an
   analytic function, so that one which is gelu at many places over the whole range is gelu.  Values
   in between must have no other use.  Whether the library has the product, with all of that, with
   less, or not at all, is its answer (Graph.takes_product); what it has not stays as it is. */
#include "../arrays/arrays.h"
#include "rewrite.h"

#include <math.h>

enum {
    PLACES = 72,     /* at which functions are compared */
    MOST_NODES = 40, /* of one gelu */
    MOST_STAGES = 4, /* a product alone, with one addend, with two, and with a function */
};

typedef struct {
    NodeId node; /* whose value it is */
    double at[PLACES];
} Function;

/* What the product does if `out` is its result. */
typedef struct {
    NodeId out, bias, added;
    int flags;
} Stage;

typedef struct {
    Graph *g;
    Multiplying multiplying;
    PyObject *astype; /* of the library; NULL: it has none */
    int32_t *uses;    /* per node, outputs included */
    NodeId *user;     /* per node: one that has it as an argument */
    int len;          /* of the arrays by node */
    bool *gone;       /* per node: nothing reads it any more */
    Function *function;
    int nfunctions;
} Products;

/* ---- addends ---- */

/* The node that alone has the value as an argument, once; NO_NODE: there is none. */
static NodeId
only_user(const Products *p, NodeId id)
{
    NodeId user = p->user[id];
    return p->uses[id] == 1 && user != NO_NODE && !p->gone[user] ? user : NO_NODE;
}

static bool
is_result(const Products *p, NodeId id, NodeId of)
{
    const Type *type = &graph_node(p->g, id)->type, *first = &graph_node(p->g, of)->type;
    return type->device == first->device && type->dtype == first->dtype &&
           type_same_shape(type, first);
}

/* The sum of what the stage gives and one of the addends that a product may have. */
static bool
add_addend(const Products *p, NodeId product, Stage *stage)
{
    NodeId sum = only_user(p, stage->out);
    if (sum == NO_NODE || graph_node(p->g, sum)->op != OP_add || !is_result(p, sum, product))
        return false;
    const Node *node = graph_node(p->g, sum);
    NodeId other = node->args[node->args[0] == stage->out];
    if (graph_node(p->g, other)->type.device == DEVICE_HOST) return false;
    if (!(stage->flags & PRODUCT_BIAS) && product_has_bias(p->g, other, &node->type)) {
        stage->bias = other;
        stage->flags |= PRODUCT_BIAS;
    } else if (!(stage->flags & PRODUCT_RESIDUAL) && is_result(p, other, product)) {
        stage->added = other;
        stage->flags |= PRODUCT_RESIDUAL;
    } else
        return false;
    stage->out = sum;
    return true;
}

/* ---- functions of one value ---- */

static double
gelu(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static void
fill_places(double *at)
{
    for (int i = 0; i < PLACES; i++) at[i] = -12 + 24.0 * i / (PLACES - 1);
    at[0] = -30, at[PLACES - 1] = 30;
}

/* A number of the program's, whatever dtype it was converted to. */
static bool
is_number(const Graph *g, NodeId id, double *value)
{
    const Node *node = graph_node(g, id);
    while (node->op == OP_cast && node->type.rank == 0) node = graph_node(g, node->args[0]);
    if (node->op != OP_const || node->attrs.object == NULL || node->type.rank != 0 ||
        node->type.form == FORM_OBJECT)
        return false;
    *value = PyFloat_AsDouble(node->attrs.object);
    if (PyErr_Occurred()) PyErr_Clear(), *value = NAN;
    return isfinite(*value);
}

static const Function *
function_of(const Products *p, NodeId id)
{
    for (int i = p->nfunctions; i-- > 0;)
        if (p->function[i].node == id) return &p->function[i];
    return NULL;
}

/* The values of an argument at all places. */
static bool
argument_at(const Products *p, NodeId id, double *at)
{
    const Function *function = function_of(p, id);
    double number;
    if (function != NULL) {
        memcpy(at, function->at, sizeof function->at);
        return true;
    }
    if (!is_number(p->g, id, &number)) return false;
    for (int i = 0; i < PLACES; i++) at[i] = number;
    return true;
}

/* The operations of which functions are made. */
static bool
apply(Op op, double a, double b, double *out)
{
    switch (op) {
    case OP_add: *out = a + b; return true;
    case OP_subtract: *out = a - b; return true;
    case OP_multiply: *out = a * b; return true;
    case OP_divide: *out = a / b; return true;
    case OP_power: *out = pow(a, b); return true;
    case OP_negative: *out = -a; return true;
    case OP_positive: *out = a; return true;
    case OP_square: *out = a * a; return true;
    case OP_reciprocal: *out = 1 / a; return true;
    case OP_tanh: *out = tanh(a); return true;
    case OP_exp: *out = exp(a); return true;
    default: return false;
    }
}

/* Conversions between floats, that of an array to its own dtype among them. */
static bool
is_conversion(const Products *p, const Node *node)
{
    if (node->nargs == 0) return false;
    const Type *from = &graph_node(p->g, node->args[0])->type;
    bool call = node->op == OP_extern && node->nargs == 2 && p->astype != NULL &&
                node->attrs.object == p->astype && node->attrs.kwnames == NULL;
    return (node->op == OP_cast || call) && node->type.form == FORM_ARRAY &&
           dtype_is_float((DType)node->type.dtype) && dtype_is_float((DType)from->dtype) &&
           dtype_size((DType)node->type.dtype) <= sizeof(float);
}

/* Adds the node to the functions of the value if it is one. */
static bool
add_function(Products *p, NodeId id)
{
    const Node *node = graph_node(p->g, id);
    Function *function = &p->function[p->nfunctions];
    double args[2][PLACES] = {{0}};
    bool depends = false;
    if (node->nargs < 1 || node->nargs > 2 || p->nfunctions == MOST_NODES) return false;
    if (!type_same_shape(&node->type, &graph_node(p->g, p->function[0].node)->type)) return false;
    if (is_conversion(p, node)) {
        const Function *of = function_of(p, node->args[0]);
        if (of == NULL) return false;
        *function = *of;
    } else {
        for (int k = 0; k < node->nargs; k++) {
            depends = depends || function_of(p, node->args[k]) != NULL;
            if (!argument_at(p, node->args[k], args[k])) return false;
        }
        if (!depends || !dtype_is_float((DType)node->type.dtype)) return false;
        for (int i = 0; i < PLACES; i++)
            if (!apply(node->op, args[0][i], args[1][i], &function->at[i])) return false;
    }
    function->node = id;
    p->nfunctions++;
    return true;
}

/* Numbers may have been rounded to the value's dtype. */
static bool
is_gelu(const Products *p, const Function *function)
{
    double places[PLACES],
        tolerance = graph_node(p->g, p->function[0].node)->type.dtype == DT_F16 ? 1.5e-4 : 2e-6;
    fill_places(places);
    for (int i = 0; i < PLACES; i++)
        if (!(fabs(function->at[i] - gelu(places[i])) <= tolerance)) return false;
    return true;
}

/* Are all uses of the value, and of what is computed from it, on the way to `out`? */
static bool
is_private(const Products *p, NodeId out)
{
    bool wanted[MOST_NODES + 1] = {false};
    int seen = 0, all = 0;
    for (int i = p->nfunctions; i-- > 0;) {
        const Function *function = &p->function[i];
        const Node *node = graph_node(p->g, function->node);
        wanted[i] = wanted[i] || function->node == out;
        if (!wanted[i]) continue;
        if (function->node != out) all += p->uses[function->node];
        for (int k = 0; i > 0 && k < node->nargs; k++) {
            const Function *arg = function_of(p, node->args[k]);
            if (arg == NULL) continue;
            wanted[arg - p->function] = true;
            seen++;
        }
    }
    return seen == all;
}

/* maximum(value, 0), the only use of the value. */
static bool
add_relu(const Products *p, NodeId product, Stage *stage)
{
    NodeId user = only_user(p, stage->out);
    double number;
    if (user == NO_NODE || graph_node(p->g, user)->op != OP_maximum || !is_result(p, user, product))
        return false;
    const Node *node = graph_node(p->g, user);
    NodeId other = node->args[node->args[0] == stage->out];
    if (!is_number(p->g, other, &number) || number != 0) return false;
    stage->out = user;
    stage->flags |= PRODUCT_RELU;
    return true;
}

static bool
add_gelu(Products *p, NodeId product, Stage *stage)
{
    const Region *top = &p->g->regions.at[0];
    int at = 0;
    p->function[0].node = stage->out;
    fill_places(p->function[0].at);
    p->nfunctions = 1;
    while (at < top->nodes.len && top->nodes.at[at] != stage->out) at++;
    for (at++; at < top->nodes.len && p->nfunctions < MOST_NODES; at++) {
        NodeId id = top->nodes.at[at];
        if (p->gone[id] || !add_function(p, id)) continue;
        if (!is_result(p, id, product) || !is_gelu(p, &p->function[p->nfunctions - 1]) ||
            !is_private(p, id))
            continue;
        stage->out = id;
        stage->flags |= PRODUCT_GELU;
        return true;
    }
    return false;
}

/* ---- the whole ---- */

/* What the product may do, least first.  Returns how many stages there are. */
static int
find_stages(Products *p, NodeId product, Stage *stages)
{
    int count = 1;
    stages[0] = (Stage){.out = product, .bias = NO_NODE, .added = NO_NODE};
    for (Stage next = stages[0]; count < MOST_STAGES - 1 && add_addend(p, product, &next);)
        stages[count++] = next;
    Stage last = stages[count - 1];
    if (add_relu(p, product, &last) || add_gelu(p, product, &last)) stages[count++] = last;
    return count;
}

static bool
is_taken(const Products *p, NodeId id, const Stage *stage)
{
    const Node *node = graph_node(p->g, id);
    Product product;
    int64_t workspace;
    return product_of(p->g, node->args[0], node->args[1], stage->added, stage->flags,
                      &graph_node(p->g, stage->out)->type, &product) &&
           p->g->takes_product(&product, &workspace);
}

/* Nobody reads it any more, and it has no effect. */
static void
drop(Products *p, NodeId id)
{
    const Node *node = graph_node(p->g, id);
    OpKind kind = op_info(node->op)->kind;
    if (p->gone[id] || p->uses[id] > 0) return;
    if (kind != KIND_POINTWISE && !call_multiplies(&p->multiplying, p->g, node) &&
        !is_conversion(p, node))
        return;
    if (node->type.device == DEVICE_HOST) return;
    p->gone[id] = true;
    for (int k = 0; k < node->nargs; k++) {
        p->uses[node->args[k]]--;
        drop(p, node->args[k]);
    }
}

/* The stage's last node becomes the product. */
static int
fuse(Products *p, NodeId id, const Stage *stage)
{
    Graph *g = p->g;
    Node call = *graph_node(g, id), *out = graph_node(g, stage->out);
    NodeId given[4] = {call.args[0], call.args[1]};
    int count = 2;
    if (stage->bias != NO_NODE) given[count++] = stage->bias;
    if (stage->added != NO_NODE) given[count++] = stage->added;
    NodeId *args = arena_copy(g->arena, given, sizeof(NodeId) * (size_t)count);
    if (args == NULL) return -1;
    for (int i = 0; i < count; i++) p->uses[args[i]]++;
    Node before = *out;
    out->op = OP_product;
    out->args = args;
    out->nargs = count;
    out->attrs = (Attrs){.index = stage->flags};
    for (int k = 0; k < before.nargs; k++) {
        p->uses[before.args[k]]--;
        drop(p, before.args[k]);
    }
    return 0;
}

static int
fuse_all(Products *p)
{
    Region *top = &p->g->regions.at[0];
    int kept = 0;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        Stage stages[MOST_STAGES];
        if (p->gone[id] || !call_multiplies(&p->multiplying, p->g, graph_node(p->g, id))) continue;
        int stage = find_stages(p, id, stages);
        while (stage-- > 0 && !is_taken(p, id, &stages[stage])) continue;
        if (stage >= 0 && fuse(p, id, &stages[stage]) < 0) return -1;
    }
    for (int i = 0; i < top->nodes.len; i++)
        if (!p->gone[top->nodes.at[i]]) top->nodes.at[kept++] = top->nodes.at[i];
    top->nodes.len = kept;
    return 0;
}

static int
allocate(Products *p)
{
    Arena *arena = p->g->arena;
    size_t n = (size_t)p->g->nodes.len + 1;
    p->len = p->g->nodes.len;
    p->uses = node_uses(p->g);
    p->user = arena_alloc(arena, n * sizeof(NodeId));
    p->gone = arena_alloc(arena, n * sizeof(bool));
    p->function = arena_alloc(arena, (MOST_NODES + 1) * sizeof(Function));
    if (p->uses == NULL || p->user == NULL || p->gone == NULL || p->function == NULL) return -1;
    for (size_t i = 0; i < n; i++) p->user[i] = NO_NODE;
    for (int i = 0; i < p->g->regions.at[0].nodes.len; i++) {
        NodeId id = p->g->regions.at[0].nodes.at[i];
        for (int k = 0; k < graph_node(p->g, id)->nargs; k++)
            p->user[graph_node(p->g, id)->args[k]] = id;
    }
    return 0;
}

/* A product is computed later than the program does, which it must not be where memory is written
   meanwhile. */
static bool
is_worth_it(const Graph *g)
{
    bool calls = false;
    for (NodeId id = 0; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->type.device == DEVICE_HOST) continue;
        if (node->op == OP_scatter && node->attrs.index == WRITE_IN_PLACE) return false;
        calls = calls || node->op == OP_extern;
    }
    return calls && g->takes_product != NULL;
}

int
pass_products(Graph *g)
{
    Products p = {.g = g};
    const ArrayLibrary *library = array_library_on(DEVICE_CUDA);
    if (!is_worth_it(g)) return 0;
    if (multiplying_find(&p.multiplying) < 0) return -1;
    p.astype = array_library_function(library, "ndarray.astype");
    int failed = PyErr_Occurred() || allocate(&p) < 0 || fuse_all(&p) < 0 ? -1 : 0;
    multiplying_give_back(&p.multiplying);
    Py_XDECREF(p.astype);
    return failed;
}
