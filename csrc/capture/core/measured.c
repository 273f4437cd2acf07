/* Ints that change from turn to turn of a repeat, as sizes of arrays: `a[i, k + 1:]` is a view
   whose lengths and place are expressions over i and k.

   An int is a symbol of sizes from a `measure` node on, which stands directly behind what makes the
   int.  What Python computes from such ints in sums, products and quotients becomes an expression,
   so that lengths can be compared.  A loop's variable is bounded by the range that it goes over.
   What bounds do not show is asserted: the plan is left to CPython where it is not so. */
#include "../../config.h"
#include "core.h"

enum { NO_HINT = 64, MOST_DEEP = 16 };

/* Another backend is given sizes that are known before the graph runs. */
bool
sizes_may_vary(const Interp *in)
{
    const Config *config = in->request->config;
    return in->turn != NULL && in->loop == NULL && (config == NULL || config->backend_call == NULL);
}

/* ---- ints as sizes ---- */

/* The region that has the node, and the place behind it there; a param's is the beginning. */
static RegionId
region_of(const Graph *g, NodeId number, int *at)
{
    for (RegionId r = g->regions.len; r-- > 0;) {
        const Region *region = &g->regions.at[r];
        *at = 0;
        for (int i = 0; i < region->params.len; i++)
            if (region->params.at[i] == number) return r;
        for (int i = region->nodes.len; i-- > 0;) {
            *at = i + 1;
            if (region->nodes.at[i] == number) return r;
        }
    }
    return NO_REGION;
}

/* A `measure` directly behind what makes the int. */
static NodeId
measure_behind(Interp *in, NodeId number)
{
    Graph *g = in->graph;
    int at;
    RegionId id = region_of(g, number, &at);
    Type none = type_scalar(DT_OBJECT, FORM_OBJECT);
    if (id == NO_REGION) return graph_add(g, in->region, OP_measure, 1, &number, &none, NULL);
    NodeId node = graph_make(g, OP_measure, 1, &number, &none, NULL);
    Region *region = &g->regions.at[id];
    if (node == NO_NODE || VEC_PUSH(g->arena, &region->nodes, node) < 0) return NO_NODE;
    memmove(&region->nodes.at[at + 1], &region->nodes.at[at],
            sizeof(NodeId) * (size_t)(region->nodes.len - 1 - at));
    region->nodes.at[at] = node;
    return node;
}

static const Ranged *
range_of(const Interp *in, NodeId number)
{
    for (int i = in->memory.ranged.len; i-- > 0;)
        if (in->memory.ranged.at[i].param == number) return &in->memory.ranged.at[i];
    return NULL;
}

int
range_note(Interp *in, NodeId param, NodeId start, NodeId stop, int64_t step)
{
    Ranged range = {.param = param, .start = start, .stop = stop, .step = step};
    return VEC_PUSH(in->arena, &in->memory.ranged, range);
}

static Answer size_of_node(Interp *in, NodeId node, int depth, SizeId *out);

/* The bounds of a variable that goes over a range; NO_SIZE: not known. */
static Answer
range_bounds(Interp *in, const Ranged *range, int depth, SizeId *least, SizeId *most)
{
    SizeId first, stop;
    bool down = range->step < 0;
    TRY(size_of_node(in, range->start, depth + 1, &first));
    TRY(size_of_node(in, range->stop, depth + 1, &stop));
    SizeId last = size_add(in->graph, stop, size_const(in->graph, down ? 1 : -1));
    *least = down ? last : first;
    *most = down ? first : last;
    return last == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

static int64_t
likely_value(Interp *in, SizeId least, SizeId most)
{
    int64_t low = NO_HINT, high = NO_HINT;
    bool has_low = least != NO_SIZE, has_high = most != NO_SIZE;
    if (has_low) low = size_value(in->graph, least);
    if (has_high) high = size_value(in->graph, most);
    if (!has_low) low = high;
    if (!has_high) high = low;
    return low + (high - low) / 2;
}

static bool
was_measured(const Interp *in, NodeId number, RegionId region, SizeId *out)
{
    for (int i = 0; i < in->memory.measured.len; i++) {
        const Measured *measured = &in->memory.measured.at[i];
        if (measured->number != number || measured->region != region) continue;
        *out = measured->size;
        return true;
    }
    return false;
}

static Answer
symbol_of(Interp *in, NodeId number, int depth, SizeId *out)
{
    SizeId least = NO_SIZE, most = NO_SIZE;
    if (was_measured(in, number, NO_REGION, out)) return ANSWER_YES;
    if (in->turn == NULL) return ANSWER_NO;
    const Ranged *range = range_of(in, number);
    if (range != NULL) {
        Ranged copy = *range;
        Answer answer = range_bounds(in, &copy, depth, &least, &most);
        if (answer_stops(answer)) return answer;
        if (answer == ANSWER_NO) least = most = NO_SIZE;
    }
    NodeId node = measure_behind(in, number);
    if (node == NO_NODE) return ANSWER_ERROR;
    *out = size_number(in->graph, node, least, most, likely_value(in, least, most));
    Measured measured = {.number = number, .size = *out, .region = NO_REGION};
    return *out == NO_SIZE || VEC_PUSH(in->arena, &in->memory.measured, measured) < 0 ? ANSWER_ERROR
                                                                                      : ANSWER_YES;
}

/* A length of an array is that; another number from outside is a symbol, or known from now on. */
static Answer
size_of_input(Interp *in, NodeId node, SizeId *out)
{
    for (int i = 0; i < in->memory.inputs.len; i++) {
        int64_t number;
        if (in->memory.inputs.at[i]->node != node) continue;
        Value *sized = in->memory.inputs.at[i]->sized;
        if (sized != NULL) {
            if (value_pin(in, sized) < 0) return ANSWER_ERROR;
            int axis = in->out->sources.at[in->memory.inputs.at[i]->source].index;
            *out = array_length(in, sized, axis);
            return ANSWER_YES;
        }
        Answer answer = symbol_of_int(in, in->memory.inputs.at[i], out);
        if (answer != ANSWER_NO) return answer;
        if (in->turn == NULL) return ANSWER_NO;
        TRY(value_as_int(in, in->memory.inputs.at[i], &number));
        *out = size_const(in->graph, number);
        return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
    }
    return ANSWER_NO;
}

static Answer
size_of_pair(Interp *in, Op op, const NodeId *args, int depth, SizeId *out)
{
    Graph *g = in->graph;
    SizeId a, b;
    TRY(size_of_node(in, args[0], depth + 1, &a));
    TRY(size_of_node(in, args[1], depth + 1, &b));
    switch (op) {
    case OP_py_add: *out = size_add(g, a, b); break;
    case OP_py_sub: *out = size_sub(g, a, b); break;
    case OP_py_mul: *out = size_mul(g, a, b); break;
    default: *out = size_quotient(g, op == OP_py_mod ? SIZE_MOD : SIZE_FLOOR_DIV, a, b); break;
    }
    return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* Bits of which the other int is a known number: a remainder, or a product or quotient with a power
   of two, which Python's ints have for negative ones, too.  ANSWER_NO: others. */
static Answer
size_of_bits(Interp *in, Op op, const NodeId *args, int depth, SizeId *out)
{
    enum { MOST_SHIFT = 32 };
    Graph *g = in->graph;
    SizeId a, b;
    TRY(size_of_node(in, args[0], depth + 1, &a));
    TRY(size_of_node(in, args[1], depth + 1, &b));
    if (op == OP_bitwise_and && size_is_const(g, a)) {
        SizeId known = a;
        a = b;
        b = known;
    }
    if (!size_is_const(g, b)) return ANSWER_NO;
    int64_t bits = size_value(g, b), mask = op != OP_bitwise_and ? bits : bits < 0 ? ~bits : bits;
    if (op == OP_bitwise_and ? (mask & (mask + 1)) != 0 || mask > UINT32_MAX
                             : bits < 0 || bits > MOST_SHIFT)
        return ANSWER_NO;
    SizeId power = size_const(g, op == OP_bitwise_and ? mask + 1 : INT64_C(1) << bits);
    SizeId rest = op == OP_bitwise_and ? size_quotient(g, SIZE_MOD, a, power) : NO_SIZE;
    *out = op == OP_py_lshift   ? size_mul(g, a, power)
           : op == OP_py_rshift ? size_quotient(g, SIZE_FLOOR_DIV, a, power)
           : bits < 0           ? size_sub(g, a, rest)
                                : rest;
    return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* What `min` and `max` choose of two ints.  ANSWER_NO: another choice. */
static Answer
size_of_choice(Interp *in, const Node *choice, int depth, SizeId *out)
{
    const Node *test = graph_node(in->graph, choice->args[0]);
    if (test->op != OP_py_lt && test->op != OP_py_le) return ANSWER_NO;
    NodeId first = test->args[0], second = test->args[1];
    bool least = choice->args[1] == first && choice->args[2] == second;
    if (!least && (choice->args[1] != second || choice->args[2] != first)) return ANSWER_NO;
    SizeId a, b;
    TRY(size_of_node(in, first, depth + 1, &a));
    TRY(size_of_node(in, second, depth + 1, &b));
    *out = size_extreme(in->graph, least ? SIZE_LEAST : SIZE_MOST, a, b);
    return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* ANSWER_NO: it is no int of Python's. */
static Answer
size_of_node(Interp *in, NodeId id, int depth, SizeId *out)
{
    const Node *node = graph_node(in->graph, id);
    int64_t number;
    if (node->type.form != FORM_PYTHON || node->type.dtype != DT_I64) return ANSWER_NO;
    switch (depth > MOST_DEEP ? OP_input : node->op) {
    case OP_const:
        number = PyLong_AsLongLong(node->attrs.object);
        if (number == -1 && PyErr_Occurred()) return ANSWER_ERROR;
        *out = size_const(in->graph, number);
        return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
    case OP_py_add:
    case OP_py_sub:
    case OP_py_mul:
    case OP_py_mod:
    case OP_py_floordiv: return size_of_pair(in, node->op, node->args, depth, out);
    case OP_py_neg:
        TRY(size_of_node(in, node->args[0], depth + 1, out));
        *out = size_mul(in->graph, size_const(in->graph, -1), *out);
        return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
    case OP_bitwise_and:
    case OP_py_lshift:
    case OP_py_rshift: {
        Answer answer = size_of_bits(in, node->op, node->args, depth, out);
        if (answer != ANSWER_NO) return answer;
        break;
    }
    case OP_where: {
        Answer answer = size_of_choice(in, node, depth, out);
        if (answer != ANSWER_NO) return answer;
        break;
    }
    case OP_input: {
        Answer answer = size_of_input(in, id, out);
        if (answer != ANSWER_NO) return answer;
        break;
    }
    default: break;
    }
    return symbol_of(in, id, depth, out);
}

/* One of NumPy's ints as one of Python's. */
static Answer
python_int(Interp *in, NodeId *number)
{
    Type type = graph_node(in->graph, *number)->type;
    Type to = type_scalar(DT_I64, FORM_SCALAR);
    if (type.form != FORM_SCALAR || !dtype_is_integer((DType)type.dtype) || type.dtype == DT_U64)
        return ANSWER_NO;
    if (type.dtype != DT_I64)
        TRY_NODE(*number, graph_add(in->graph, in->region, OP_cast, 1, number, &to, NULL));
    to.form = FORM_PYTHON;
    TRY_NODE(*number, graph_add(in->graph, in->region, OP_py_item, 1, number, &to, NULL));
    return ANSWER_YES;
}

Answer
size_of_number(Interp *in, Value *value, SizeId *out)
{
    NodeId number;
    if (!sizes_may_vary(in) || value->kind != V_NODE || value_is_array(in, value) ||
        value_is_opaque(in, value))
        return ANSWER_NO;
    TRY(value_as_unpinned_node(in, value, &number));
    if (graph_node(in->graph, number)->type.form != FORM_SCALAR)
        return size_of_node(in, number, 0, out);
    Measured measured = {.number = number, .region = in->region};
    if (was_measured(in, number, in->region, out)) return ANSWER_YES;
    TRY(python_int(in, &number));
    TRY(size_of_node(in, number, 0, out));
    measured.size = *out;
    return VEC_PUSH(in->arena, &in->memory.measured, measured) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Of lengths alone, and ints from outside that are symbols; it must not be looked for among what
   can be measured. */
static bool
is_of_lengths(Interp *in, const Value *value)
{
    if (value->kind == V_CONST) return PyLong_CheckExact(value->object);
    if (value->kind != V_NODE) return false;
    if (value->nitems == 0 && value->sized == NULL) return int_is_open(in, value);
    for (int i = 0; i < value->nitems; i++)
        if (!is_of_lengths(in, value->items[i])) return false;
    return true;
}

Answer
size_of_length(Interp *in, Value *value, SizeId *out)
{
    if (value->kind != V_NODE || !is_of_lengths(in, value) || !symbols_in_use(in) ||
        in->loop != NULL)
        return ANSWER_NO;
    return size_of_node(in, value->node, 0, out);
}

Answer
int_as_length(Interp *in, Value *value, SizeId *out)
{
    int64_t number;
    if (value->kind != V_CONST) return size_of_length(in, value, out);
    if (!PyLong_CheckExact(value->object)) return ANSWER_NO;
    TRY(value_as_int(in, value, &number));
    *out = size_const(in->graph, number);
    return *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- sizes as ints ---- */

static NodeId
const_int(Interp *in, int64_t number)
{
    Type type = type_scalar(DT_I64, FORM_PYTHON);
    PyObject *object = keep(in, PyLong_FromLongLong(number));
    return object == NULL ? NO_NODE : graph_const(in->graph, in->region, object, &type);
}

static NodeId number_node(Interp *in, SizeId size);

static Value *
value_of_symbol(Interp *in, const Size *size)
{
    Value *length, *array = in->memory.inputs.at[graph_node(in->graph, size->node)->attrs.index];
    if (graph_node(in->graph, array->node)->type.form != FORM_ARRAY) return array; /* an int */
    return array_size(in, array, size->axis, &length) == ANSWER_YES ? length : NULL;
}

/* The lesser of two ints, or the greater. */
static NodeId
extreme_node(Interp *in, bool least, NodeId a, NodeId b)
{
    Type truth = type_scalar(DT_BOOL, FORM_PYTHON), type = type_scalar(DT_I64, FORM_PYTHON);
    NodeId order[2] = {a, b};
    NodeId test = graph_add(in->graph, in->region, OP_py_le, 2, order, &truth, NULL);
    NodeId args[3] = {test, least ? a : b, least ? b : a};
    return test == NO_NODE ? NO_NODE
                           : graph_add(in->graph, in->region, OP_where, 3, args, &type, NULL);
}

/* 1 where two ints are equal, else 0. */
static NodeId
same_node(Interp *in, const NodeId *both)
{
    Type truth = type_scalar(DT_BOOL, FORM_PYTHON), type = type_scalar(DT_I64, FORM_PYTHON);
    NodeId args[3] = {graph_add(in->graph, in->region, OP_py_eq, 2, both, &truth, NULL),
                      const_int(in, 1), const_int(in, 0)};
    for (int i = 0; i < COUNT_OF(args); i++)
        if (args[i] == NO_NODE) return NO_NODE;
    return graph_add(in->graph, in->region, OP_where, 3, args, &type, NULL);
}

static NodeId
pair_node(Interp *in, const Size *size)
{
    static const Op ops[] = {[SIZE_ADD] = OP_py_add,
                             [SIZE_MUL] = OP_py_mul,
                             [SIZE_FLOOR_DIV] = OP_py_floordiv,
                             [SIZE_MOD] = OP_py_mod};
    Type type = type_scalar(DT_I64, FORM_PYTHON);
    NodeId args[2];
    if ((args[0] = number_node(in, size->a)) == NO_NODE ||
        (args[1] = number_node(in, size->b)) == NO_NODE)
        return NO_NODE;
    if (size->kind == SIZE_LEAST || size->kind == SIZE_MOST)
        return extreme_node(in, size->kind == SIZE_LEAST, args[0], args[1]);
    if (size->kind == SIZE_SAME) return same_node(in, args);
    return graph_add(in->graph, in->region, ops[size->kind], 2, args, &type, NULL);
}

static NodeId
number_node(Interp *in, SizeId id)
{
    if (size_is_const(in->graph, id)) return const_int(in, size_value(in->graph, id));
    Size size = in->graph->sizes.at[id];
    if (size.kind == SIZE_NUMBER) return graph_node(in->graph, size.node)->args[0];
    if (size.kind == SIZE_DIM) {
        Value *length = value_of_symbol(in, &size);
        return length == NULL ? NO_NODE : length->node;
    }
    return pair_node(in, &size);
}

static Answer
extreme_of_symbols(Interp *in, SizeId id, Value **out)
{
    const Size size = in->graph->sizes.at[id];
    Value *both[2];
    NodeId nodes[2];
    PyObject *seen = keep(in, PyLong_FromLongLong(size_value(in->graph, id)));
    TRY(number_of_size(in, size.a, &both[0]));
    TRY(number_of_size(in, size.b, &both[1]));
    for (int i = 0; i < 2; i++) TRY(value_as_unpinned_node(in, both[i], &nodes[i]));
    NodeId node = extreme_node(in, size.kind == SIZE_LEAST, nodes[0], nodes[1]);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    if (seen == NULL || *out == NULL) return ANSWER_ERROR;
    (*out)->object = seen;
    (*out)->nitems = 2;
    (*out)->items = arena_copy(in->arena, both, sizeof both);
    return (*out)->items == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* By Python's operators, so that what decides by the number can be guarded. */
static Answer
number_of_symbols(Interp *in, SizeId id, Value **out)
{
    static const int python[] = {[SIZE_ADD] = OPERATOR_ADD,
                                 [SIZE_MUL] = OPERATOR_MUL,
                                 [SIZE_FLOOR_DIV] = OPERATOR_FLOORDIV,
                                 [SIZE_MOD] = OPERATOR_MOD};
    Size size = in->graph->sizes.at[id];
    Value *a, *b;
    if (size.kind == SIZE_DIM) return given(out, value_of_symbol(in, &size));
    if (size.kind == SIZE_LEAST || size.kind == SIZE_MOST) return extreme_of_symbols(in, id, out);
    if (size.kind == SIZE_SAME) {
        NodeId node = number_node(in, id);
        return given(out, node == NO_NODE ? NULL : value_node(in, node));
    }
    TRY(number_of_size(in, size.a, &a));
    TRY(number_of_size(in, size.b, &b));
    return operate_binary(in, python[size.kind], a, b, out);
}

Answer
number_of_size(Interp *in, SizeId size, Value **out)
{
    if (size_is_const(in->graph, size)) {
        *out = value_const_new(in, PyLong_FromLongLong(size_value(in->graph, size)));
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (size_of_symbols(in->graph, size)) return number_of_symbols(in, size, out);
    NodeId node = number_node(in, size);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- what bounds do not show ---- */

Answer
sizes_compare(Interp *in, Op op, SizeId a, SizeId b, NodeId *out)
{
    Type truth = type_scalar(DT_BOOL, FORM_PYTHON);
    NodeId both[2];
    TRY_NODE(both[0], number_node(in, a));
    TRY_NODE(both[1], number_node(in, b));
    TRY_NODE(*out, graph_add(in->graph, in->region, op, 2, both, &truth, NULL));
    return ANSWER_YES;
}

static Answer
assert_order(Interp *in, Op op, SizeId a, SizeId b)
{
    Type truth = type_scalar(DT_BOOL, FORM_PYTHON);
    NodeId test;
    TRY(sizes_compare(in, op, a, b, &test));
    TRY_NODE(test, graph_add(in->graph, in->region, OP_py_assert, 1, &test, &truth, NULL));
    return ANSWER_YES;
}

Answer
sizes_assert_at_most(Interp *in, SizeId a, SizeId b)
{
    if (size_at_most(in->graph, a, b)) return ANSWER_YES;
    if (size_of_symbols(in->graph, a) && size_of_symbols(in->graph, b)) {
        SizeId between = size_sub(in->graph, b, a);
        Answer answer = size_guard(in, between, false);
        return answer != ANSWER_NO ? answer
                                   : size_specialise(in, between, "a length that is too small");
    }
    return assert_order(in, OP_py_le, a, b);
}

Answer
sizes_assert_same(Interp *in, SizeId a, SizeId b)
{
    if (size_same(in->graph, a, b)) return ANSWER_YES;
    if (size_of_symbols(in->graph, a) && size_of_symbols(in->graph, b))
        return symbols_unite(in, a, b);
    return assert_order(in, OP_py_eq, a, b);
}
