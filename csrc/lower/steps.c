/* Buffers, and steps that call NumPy: extern nodes, matrix products, and every reduction, scan or
   conversion whose exact order or rounding only NumPy's own code has. */
#include "schedule.h"

/* ---- buffers ---- */

/* Bytes from the lowest to past the highest element. */
static SizeId
span_bytes(Graph *g, const Type *type)
{
    SizeId total = size_const(g, (int64_t)dtype_size(type->dtype));
    for (int axis = 0; axis < type->rank && total != NO_SIZE; axis++) {
        if (size_is_zero(g, type->shape[axis])) return size_const(g, 0);
        SizeId one_less = size_add(g, type->shape[axis], size_const(g, -1));
        if (one_less == NO_SIZE) return NO_SIZE;
        SizeId stride =
            type->stride[axis] == NO_SIZE ? size_const(g, 0) : size_walked(g, type->stride[axis]);
        if (size_value(g, stride) < 0) stride = size_mul(g, stride, size_const(g, -1));
        SizeId walked = size_mul(g, one_less, stride);
        total = walked == NO_SIZE ? NO_SIZE : size_add(g, total, walked);
    }
    return total;
}

static BufferKind
buffer_kind(const Lowering *lw, NodeId storage)
{
    const Node *node = graph_node(lw->graph, storage);
    switch (op_info(node->op)->kind) {
    case KIND_INPUT: return BUFFER_INPUT;
    case KIND_CONST: return BUFFER_CONST;
    case KIND_EXTERN:
        if (bare_suits(lw, storage)) break;
        return BUFFER_EXTERN;
    case KIND_CHOICE: return BUFFER_CHOSEN;
    case KIND_RESULT:
        if (lw->turned[storage] != 0) return BUFFER_CHOSEN;
        if (graph_node(lw->graph, node->args[0])->op == OP_join || node->op == OP_attention_sums)
            break;
        if (op_info(graph_node(lw->graph, node->args[0])->op)->kind == KIND_JUMP)
            return node->type.form == FORM_ARRAY ? BUFFER_CHOSEN : BUFFER_SCALAR;
        if (op_info(graph_node(lw->graph, node->args[0])->op)->kind != KIND_REGION)
            return BUFFER_EXTERN;
        /* its size may not be known while compiling, so it cannot be in the arena */
        return node->type.form == FORM_ARRAY ? BUFFER_OUTPUT : BUFFER_SCALAR;
    default: break;
    }
    if (lw->turned[storage] != 0) return BUFFER_CHOSEN;
    if (node->type.form == FORM_SCALAR || node->type.form == FORM_PYTHON) return BUFFER_SCALAR;
    /* A version of an input keeps the input's gaps and negative strides, which no new array has. */
    SizeId span = span_bytes(lw->graph, &node->type);
    int64_t dense = type_elements(lw->graph, &node->type) * (int64_t)dtype_size(node->type.dtype);
    bool gaps = span != NO_SIZE && size_value(lw->graph, span) > dense;
    gaps = gaps || type_has_negative_stride(lw->graph, &node->type);
    if (lw->is_output[storage] && !gaps) return BUFFER_OUTPUT;
    bool number = node->type.rank == 0 && node->type.device == DEVICE_HOST;
    return number ? BUFFER_SCALAR : BUFFER_TEMP;
}

BufferId
buffer_for(Lowering *lw, NodeId storage)
{
    storage = lw->same_as[storage];
    if (lw->buffer[storage] != NO_BUFFER) return lw->buffer[storage];
    const Node *node = graph_node(lw->graph, storage);
    Buffer b = {.kind = buffer_kind(lw, storage), .type = node->type};
    b.index = b.kind == BUFFER_INPUT ? (int32_t)node->attrs.index : 0;
    b.object = b.kind == BUFFER_CONST ? node->attrs.object : NULL;
    b.type.offset = NO_SIZE;
    b.bytes = span_bytes(lw->graph, &node->type);
    if (b.bytes == NO_SIZE) return NO_BUFFER;
    if (VEC_PUSH(lw->arena, &lw->program->buffers, b) < 0) return NO_BUFFER;
    return lw->buffer[storage] = lw->program->buffers.len - 1;
}

int
place_for(Lowering *lw, NodeId value, Place *out)
{
    const Node *node = graph_node(lw->graph, value);
    out->offset = node->type.offset;
    out->buffer = buffer_for(lw, node->storage);
    return out->buffer == NO_BUFFER ? -1 : 0;
}

/* ---- extern steps ---- */

typedef struct {
    Lowering *lw;
    ExternStep step;
    VEC(Place) args;
    VEC(Type) types;
} Call;

static int
keep(Lowering *lw, PyObject *object)
{
    if (object == NULL) return -1;
    int kept = PyList_Append(lw->graph->keep, object);
    Py_DECREF(object); /* the keep list has it */
    return kept;
}

static int
push_value(Call *c, NodeId value)
{
    Place place;
    if (place_for(c->lw, value, &place) < 0) return -1;
    Type type = graph_node(c->lw->graph, value)->type;
    type.offset = NO_SIZE; /* it is in the place */
    if (VEC_PUSH(c->lw->arena, &c->types, type) < 0) return -1;
    return VEC_PUSH(c->lw->arena, &c->args, place);
}

/* `object` is a new reference or NULL with the error set. */
static int
push_object(Call *c, PyObject *object)
{
    if (keep(c->lw, object) < 0) return -1;
    Type type = {.dtype = DT_OBJECT, .form = FORM_OBJECT};
    Buffer b = {.kind = BUFFER_CONST, .type = type, .object = object};
    if (VEC_PUSH(c->lw->arena, &c->lw->program->buffers, b) < 0) return -1;
    Place place = {.buffer = c->lw->program->buffers.len - 1, .offset = NO_SIZE};
    if (VEC_PUSH(c->lw->arena, &c->types, type) < 0) return -1;
    return VEC_PUSH(c->lw->arena, &c->args, place);
}

/* numpy.NAME or numpy.NAME.METHOD, kept. */
static int
set_callable(Call *c, const char *name, const char *method)
{
    PyObject *object = module_object("numpy", name);
    if (object != NULL && method != NULL) {
        PyObject *bound = PyObject_GetAttrString(object, method);
        Py_DECREF(object);
        object = bound;
    }
    c->step.callable = object;
    return keep(c->lw, object);
}

static int
set_keywords(Call *c, PyObject *names)
{
    c->step.kwnames = names;
    return keep(c->lw, names);
}

static int
set_results(Call *c, int n, const BufferId *results)
{
    c->step.results = arena_copy(c->lw->arena, results, sizeof(BufferId) * (size_t)(n ? n : 1));
    c->step.nresults = n;
    return c->step.results == NULL ? -1 : 0;
}

/* The call's return value is the node's value. */
static int
take_result(Call *c, NodeId id)
{
    BufferId result = buffer_for(c->lw, id);
    if (result == NO_BUFFER) return -1;
    c->lw->program->buffers.at[result].kind = BUFFER_EXTERN;
    return set_results(c, 1, &result);
}

static int
push_keepdims(Call *c, const Node *node)
{
    if (!node->attrs.keepdims) return 0;
    if (push_object(c, Py_NewRef(Py_True)) < 0) return -1;
    return set_keywords(c, Py_BuildValue("(s)", "keepdims"));
}

/* ufunc.reduce(x, axis, dtype, keepdims=…) */
static int
call_reduce(Call *c, NodeId id)
{
    const Node *node = graph_node(c->lw->graph, id);
    bool logic = op_info(node->op)->flags & OPF_COMPARES;
    PyObject *dtype = logic ? Py_NewRef(Py_None) : array_dtype_object(node->type.dtype);
    if (set_callable(c, op_info(node->op)->ufunc, "reduce") < 0 ||
        push_value(c, node->args[0]) < 0 || push_object(c, graph_view_ints(&node->attrs)) < 0 ||
        push_object(c, dtype) < 0 || push_keepdims(c, node) < 0)
        return -1;
    return take_result(c, id);
}

/* ndarray.argmax(x, axis, keepdims=…): axis None when every axis is reduced. */
static int
call_arg_reduce(Call *c, NodeId id)
{
    const Node *node = graph_node(c->lw->graph, id);
    const char *name = node->op == OP_argmax ? "argmax" : "argmin";
    bool array = graph_node(c->lw->graph, node->args[0])->type.form == FORM_ARRAY;
    PyObject *axis =
        node->attrs.nints == 1 ? PyLong_FromLongLong(node->attrs.ints[0]) : Py_NewRef(Py_None);
    if (set_callable(c, array ? "ndarray" : name, array ? name : NULL) < 0 ||
        push_value(c, node->args[0]) < 0 || push_object(c, axis) < 0 || push_keepdims(c, node) < 0)
        return -1;
    return take_result(c, id);
}

/* ufunc.accumulate(x, axis, dtype) */
static int
call_scan(Call *c, NodeId id)
{
    const Node *node = graph_node(c->lw->graph, id);
    if (set_callable(c, op_info(node->op)->ufunc, "accumulate") < 0 ||
        push_value(c, node->args[0]) < 0 ||
        push_object(c, PyLong_FromLongLong(node->attrs.index)) < 0 ||
        push_object(c, array_dtype_object(node->type.dtype)) < 0)
        return -1;
    return take_result(c, id);
}

/* Passes a new array with the node's layout as the last argument. */
static int
give_result(Call *c, NodeId id)
{
    const Node *node = graph_node(c->lw->graph, id);
    if (node->type.form != FORM_ARRAY || node->type.rank == 0) return take_result(c, id);
    c->lw->is_output[id] = true;
    BufferId result = buffer_for(c->lw, id);
    c->step.out = true;
    return push_value(c, id) < 0 || set_results(c, 1, &result) < 0 ? -1 : 0;
}

/* The order in which astype gives the node's layout; 0: in none, as where NumPy casts into memory
   that it has (the quotient of a mean, over its sum).  -1 with an exception. */
static int
cast_order(Graph *g, const Node *node)
{
    Type like;
    char order = type_order(g, &node->type);
    if (order != 'K') return order;
    const Type *from = &graph_node(g, node->args[0])->type;
    if (type_like(g, &like, (DType)node->type.dtype, from) < 0) return -1;
    return type_same_layout(&like, &node->type) ? order : 0;
}

/* ndarray.astype(x, dtype, order), or cast_into(x, out) */
static int
call_cast_array(Call *c, NodeId id)
{
    const Node *node = graph_node(c->lw->graph, id);
    int order = cast_order(c->lw->graph, node);
    if (order < 0) return -1;
    if (order == 0) {
        c->step.callable = module_object("pycompile._calls", "cast_into");
        if (keep(c->lw, c->step.callable) < 0 || push_value(c, node->args[0]) < 0) return -1;
        return give_result(c, id);
    }
    if (set_callable(c, "ndarray", "astype") < 0 || push_value(c, node->args[0]) < 0 ||
        push_object(c, array_dtype_object(node->type.dtype)) < 0 ||
        push_object(c, PyUnicode_FromFormat("%c", order)) < 0)
        return -1;
    return take_result(c, id);
}

/* Of a scalar the dtype's own type is called. */
static int
call_cast(Call *c, NodeId id)
{
    const Node *node = graph_node(c->lw->graph, id);
    if (graph_node(c->lw->graph, node->args[0])->type.form == FORM_ARRAY)
        return call_cast_array(c, id);
    PyObject *dtype = array_dtype_object(node->type.dtype);
    PyObject *type = dtype == NULL ? NULL : PyObject_GetAttrString(dtype, "type");
    Py_XDECREF(dtype);
    c->step.callable = type;
    if (keep(c->lw, type) < 0 || push_value(c, node->args[0]) < 0) return -1;
    return take_result(c, id);
}

/* matmul(a, b, out) */
static int
call_matmul(Call *c, NodeId id)
{
    const Node *node = graph_node(c->lw->graph, id);
    if (set_callable(c, "matmul", NULL) < 0 || push_value(c, node->args[0]) < 0 ||
        push_value(c, node->args[1]) < 0)
        return -1;
    return give_result(c, id);
}

/* ufunc(args…, out=…).  `out` fixes the layout: the arguments are cast already, so NumPy might
   choose another one than for the program's own operands. */
static int
call_ufunc(Call *c, NodeId id)
{
    const Node *node = graph_node(c->lw->graph, id);
    const char *name = op_info(node->op)->ufunc;
    c->step.callable = node->attrs.object;
    if (name != NULL && set_callable(c, name, NULL) < 0) return -1;
    for (int k = 0; k < node->nargs; k++)
        if (push_value(c, node->args[k]) < 0) return -1;
    if (give_result(c, id) < 0) return -1;
    return c->step.out ? set_keywords(c, Py_BuildValue("(s)", "out")) : 0;
}

/* A call that the program makes: its results are result nodes, or the node itself. */
static int
call_object(Call *c, NodeId id)
{
    Lowering *lw = c->lw;
    const Graph *g = lw->graph;
    const Node *node = graph_node(g, id);
    VEC(BufferId) results = {0};
    for (NodeId other = lw->first_result[id]; other != NO_NODE; other = lw->next_result[other]) {
        const Node *r = graph_node(g, other);
        while (results.len <= r->attrs.index)
            if (VEC_PUSH(lw->arena, &results, NO_BUFFER) < 0) return -1;
        if ((results.at[r->attrs.index] = buffer_for(lw, other)) == NO_BUFFER) return -1;
    }
    if (results.len == 0) {
        BufferId only = buffer_for(lw, id);
        if (only == NO_BUFFER || VEC_PUSH(lw->arena, &results, only) < 0) return -1;
    }
    c->step.callable = node->attrs.object;
    c->step.kwnames = node->attrs.kwnames;
    for (int k = 0; k < node->nargs; k++)
        if (push_value(c, node->args[k]) < 0) return -1;
    return set_results(c, results.len, results.at);
}

bool
library_has(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    if (node->type.device != DEVICE_HOST) return false; /* the calls below are NumPy's */
    switch (op_info(node->op)->kind) {
    case KIND_UFUNC:
    case KIND_REDUCTION: return true;
    case KIND_POINTWISE: return node->op == OP_cast || op_info(node->op)->ufunc != NULL;
    default: return false;
    }
}

static int
step_choose(Lowering *lw, NodeId id)
{
    const Node *node = graph_node(lw->graph, id);
    Step step = {.kind = STEP_CHOOSE, .line = node->line};
    if (node->attrs.index == CHOICE_SAME) return 0; /* it is there already */
    step.choose.object = lw->is_output[id];
    if (place_for(lw, node->args[0], &step.choose.condition) < 0 ||
        place_for(lw, node->args[1], &step.choose.of[0]) < 0 ||
        place_for(lw, node->args[2], &step.choose.of[1]) < 0 ||
        (step.choose.to = buffer_for(lw, id)) == NO_BUFFER)
        return -1;
    return VEC_PUSH(lw->arena, &lw->program->steps, step);
}

void
step_blame(const Graph *graph, NodeId id, Step *step)
{
    const Node *node = graph_node(graph, id);
    if (node->line == 0 || (step->line != 0 && node->file != step->file)) return;
    step->file = node->file;
    if (step->line == 0 || node->line < step->line) step->line = node->line;
    if (node->line > step->last_line) step->last_line = node->line;
}

int
step_external(Lowering *lw, Group *group)
{
    NodeId id = group->nodes.at[0];
    const Node *node = graph_node(lw->graph, id);
    if (op_info(node->op)->kind == KIND_JUMP) return arms_step(lw, id);
    if (node->op == OP_choose) return step_choose(lw, id);
    if (op_info(node->op)->kind == KIND_REGION) return region_build(lw, id);
    if (op_info(node->op)->kind == KIND_ATTENTION) return attention_build(lw, group);
    if (node->op == OP_product) return product_build(lw, group);
    if (bare_suits(lw, id)) return bare_build(lw, group);
    if (op_info(node->op)->kind == KIND_SCAN && node->type.device != DEVICE_HOST)
        return scan_build(lw, group);
    Call c = {.lw = lw};
    int failed;
    switch (op_info(node->op)->kind) {
    case KIND_EXTERN: failed = call_object(&c, id); break;
    case KIND_MATMUL: failed = call_matmul(&c, id); break;
    case KIND_SCAN: failed = call_scan(&c, id); break;
    case KIND_UFUNC: failed = call_ufunc(&c, id); break;
    case KIND_POINTWISE:
        if (node->op != OP_cast && op_info(node->op)->ufunc == NULL) {
            lw->why = "an operation without an expression or a ufunc";
            return 0;
        }
        failed = node->op == OP_cast ? call_cast(&c, id) : call_ufunc(&c, id);
        break;
    case KIND_REDUCTION:
        failed = op_finds(node->op) ? call_arg_reduce(&c, id) : call_reduce(&c, id);
        break;
    default: lw->why = "an operation without a lowering"; return 0;
    }
    if (failed < 0) return -1;
    c.step.errors = node->errors;
    c.step.current = node->current;
    c.step.sends = node->op == OP_collective;
    c.step.how = c.step.sends ? (uint8_t)node->attrs.index : 0;
    c.step.nargs = c.args.len;
    c.step.args = c.args.at;
    c.step.arg_types = c.types.at;
    Step step = {.kind = STEP_EXTERN, .external = c.step};
    step_blame(lw->graph, id, &step);
    return VEC_PUSH(lw->arena, &lw->program->steps, step);
}
