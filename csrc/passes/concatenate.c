/* A concatenate, and an array of numbers in nested lists, become an empty array whose parts are
   written one by one. */
#include "passes.h"

typedef struct {
    Graph *g;
    VEC(NodeId) order; /* the new top region */
} Split;

static NodeId
add(Split *s, Op op, int nargs, const NodeId *args, const Type *type, const Attrs *attrs)
{
    NodeId id = graph_make(s->g, op, nargs, args, type, attrs);
    if (id == NO_NODE || VEC_PUSH(s->g->arena, &s->order, id) < 0) return NO_NODE;
    return id;
}

static NodeId
split(Split *s, NodeId id)
{
    Graph *g = s->g;
    Node node = *graph_node(g, id);
    int axis = (int)node.attrs.index;
    SizeId offset = size_const(g, 0);
    NodeId whole = add(s, OP_empty, 0, NULL, &node.type, NULL);
    for (int k = 0; k < node.nargs && whole != NO_NODE; k++) {
        Type view = node.type;
        if (offset == NO_SIZE) return NO_NODE;
        view.shape[axis] = graph_node(g, node.args[k])->type.shape[axis];
        view.offset = offset;
        Attrs attrs = {.view = &view};
        SizeId bytes = size_mul(g, view.shape[axis], size_walked(g, node.type.stride[axis]));
        if (bytes == NO_SIZE) return NO_NODE;
        offset = size_add(g, offset, bytes);
        whole = add(s, OP_scatter, 2, (NodeId[]){whole, node.args[k]}, &node.type, &attrs);
        if (whole != NO_NODE) {
            graph_node(g, whole)->line = node.line;
            graph_node(g, whole)->file = node.file;
        }
    }
    return whole;
}

/* ---- arrays of numbers ---- */

/* An array that pycompile._steps.build makes: its items in order, NULL for a hole. */
typedef struct {
    PyObject *build, *hole; /* borrowed: their module has them */
    VEC(PyObject *) items;
} Built;

static bool
find_step(const char *name, PyObject **out)
{
    *out = module_object("pycompile._steps", name);
    if (*out == NULL) PyErr_Clear();
    Py_XDECREF(*out);
    return *out != NULL;
}

/* 0, or -1 with the error set. */
static int
flatten(Graph *g, Built *b, PyObject *item)
{
    if (!PyList_CheckExact(item))
        return VEC_PUSH(g->arena, &b->items, item == b->hole ? NULL : item);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(item); i++)
        if (flatten(g, b, PyList_GET_ITEM(item, i)) < 0) return -1;
    return 0;
}

/* NumPy stores the number as it is, or as what float64 makes of it. */
static bool
is_stored_as(const Type *number, const Type *array)
{
    return number->rank == 0 && number->form != FORM_ARRAY && number->form != FORM_OBJECT &&
           (number->dtype == array->dtype ||
            (array->dtype == DT_F64 && (number->dtype == DT_I64 || number->dtype == DT_F32)));
}

static bool
is_constant_of(PyObject *item, const Type *array)
{
    return array->dtype == DT_F64 && (PyFloat_CheckExact(item) || PyLong_CheckExact(item));
}

/* ANSWER_NO: another node, or one of other items than numbers. */
static Answer
find_built(Graph *g, const Node *node, Built *b)
{
    enum { FIXED = 2, MOST = 64 };
    if (node->op != OP_extern || node->nargs <= FIXED || node->type.form != FORM_ARRAY ||
        node->type.device != DEVICE_HOST || !find_step("build", &b->build) ||
        node->attrs.object != b->build || !find_step("HOLE", &b->hole))
        return ANSWER_NO;
    PyObject *list = graph_node(g, node->args[0])->attrs.object;
    b->items.len = 0;
    if (flatten(g, b, list) < 0) return ANSWER_ERROR;
    int hole = FIXED;
    if (b->items.len > MOST || b->items.len != type_elements(g, &node->type) ||
        !type_is_contiguous(g, &node->type))
        return ANSWER_NO;
    for (int i = 0; i < b->items.len; i++)
        if (b->items.at[i] == NULL
                ? hole == node->nargs ||
                      !is_stored_as(&graph_node(g, node->args[hole++])->type, &node->type)
                : !is_constant_of(b->items.at[i], &node->type))
            return ANSWER_NO;
    return hole == node->nargs ? ANSWER_YES : ANSWER_NO;
}

static NodeId
add_constant(Split *s, PyObject *item)
{
    double value = PyFloat_AsDouble(item);
    Type type = type_scalar(DT_F64, FORM_PYTHON);
    if (value == -1 && PyErr_Occurred()) return NO_NODE;
    PyObject *object = PyFloat_FromDouble(value);
    int kept = object == NULL ? -1 : PyList_Append(s->g->keep, object);
    Py_XDECREF(object);
    return kept < 0 ? NO_NODE : add(s, OP_const, 0, NULL, &type, &(Attrs){.object = object});
}

static NodeId
build(Split *s, NodeId id, const Built *b)
{
    Graph *g = s->g;
    Node node = *graph_node(g, id);
    int hole = 2;
    Type number = type_scalar((DType)node.type.dtype, FORM_SCALAR), view = number;
    NodeId whole = add(s, OP_empty, 0, NULL, &node.type, NULL);
    view.form = FORM_ARRAY;
    for (int i = 0; i < b->items.len && whole != NO_NODE; i++) {
        NodeId item = b->items.at[i] != NULL ? add_constant(s, b->items.at[i]) : node.args[hole++];
        if (item != NO_NODE && graph_node(g, item)->type.dtype != number.dtype)
            item = add(s, OP_cast, 1, &item, &number, NULL);
        view.offset = size_const(g, i * (int64_t)dtype_size(number.dtype));
        Attrs attrs = {.view = &view};
        if (item == NO_NODE || view.offset == NO_SIZE) return NO_NODE;
        whole = add(s, OP_scatter, 2, (NodeId[]){whole, item}, &node.type, &attrs);
        if (whole != NO_NODE) {
            graph_node(g, whole)->line = node.line;
            graph_node(g, whole)->file = node.file;
        }
    }
    return whole;
}

int
pass_concatenate(Graph *g)
{
    Split s = {.g = g};
    Built b = {0};
    NodeId *instead = NULL;
    int nodes = g->nodes.len;
    for (int i = 0; i < g->regions.at[0].nodes.len; i++) {
        NodeId id = g->regions.at[0].nodes.at[i];
        bool joined = graph_node(g, id)->op == OP_concatenate;
        Answer built = joined ? ANSWER_NO : find_built(g, graph_node(g, id), &b);
        if (built == ANSWER_ERROR) return -1;
        if (!joined && built == ANSWER_NO) {
            if (VEC_PUSH(g->arena, &s.order, id) < 0) return -1;
            continue;
        }
        if (instead == NULL && (instead = graph_same(g)) == NULL) return -1;
        if ((instead[id] = joined ? split(&s, id) : build(&s, id, &b)) == NO_NODE) return -1;
    }
    if (instead == NULL) return 0;
    graph_replace(g, instead, nodes);
    Region *top = &g->regions.at[0];
    top->nodes.at = s.order.at;
    top->nodes.len = s.order.len;
    top->nodes.cap = s.order.cap;
    return 0;
}
