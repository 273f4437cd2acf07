/* Gradients in what is followed: one graph has the function and its pullback.
   pycompile/derivatives/_followed.py is followed in place of a gradient's own code: it takes the
   arguments apart, calls the function, and asks for the pullback of the nodes that this has made,
   which it gets as text of NumPy code, and which is followed, too.  Here is what it needs of the
   graph.  Where something cannot be followed the call ends the graph, and a tape differentiates. */
#include "control.h"

/* How far the program is: what a function does is what is different behind it. */
typedef struct {
    int nodes, writes, effects, changes;
    int drawn;      /* serial number of the last draw's token */
    int references; /* to the leaves */
    int around;     /* since when changes are counted at the mark around this one */
} Mark;

/* Numbers do not count: their identity tells nothing, and a tape gives the function its own, too.
 */
static int
leaf_references(Interp *in, const Value *leaves, int *count)
{
    *count = 0;
    for (int i = 0; i < leaves->nitems; i++) {
        const Value *leaf = leaves->items[i];
        int stacked, held;
        if (graph_node(in->graph, leaf->node)->type.form == FORM_PYTHON) continue;
        if (value_references(in, leaf, &stacked, &held) < 0) return -1;
        *count += stacked + held;
    }
    return 0;
}

static int
mark_now(Interp *in, const Value *leaves, Mark *out)
{
    *out = (Mark){
        .nodes = in->graph->nodes.len,
        .writes = in->memory.writes.len,
        .effects = in->writes.effects.len,
        .changes = in->writes.changes,
        .around = in->writes.counted_since,
        .drawn = in->memory.drawn == NULL ? -1 : in->memory.drawn->serial,
    };
    return leaf_references(in, leaves, &out->references);
}

static Answer
known_mark(Interp *in, Value *value, Mark *out)
{
    PyObject *known;
    TRY(value_known(in, value, &known));
    return PyArg_ParseTuple(known, "iiiiiii", &out->nodes, &out->writes, &out->effects,
                            &out->changes, &out->drawn, &out->references, &out->around)
               ? ANSWER_YES
               : ANSWER_ERROR;
}

static Answer
follow_mark(const Call *c, const void *Py_UNUSED(row))
{
    Mark m;
    if (mark_now(c->in, c->args[0], &m) < 0) return ANSWER_ERROR;
    PyObject *mark = Py_BuildValue("iiiiiii", m.nodes, m.writes, m.effects, m.changes, m.drawn,
                                   m.references, m.around);
    c->in->writes.counted_since = c->in->attempt.values.len;
    return given(c->out, value_const_new(c->in, mark));
}

static Answer
no_leaf(Interp *in, Value *value)
{
    return interp_break(in, BREAK_DERIVATIVE, "the gradient with respect to %s",
                        value_describe(in, value));
}

static Answer
number_or_array(Interp *in, Value *value, NodeId *out)
{
    return value_is_on_device(value) ? device_operand(in, value, out)
                                     : value_as_node(in, value, out);
}

/* A node of its own for what is differentiated: the function may reach the array by itself, too. */
static Answer
follow_leaf(const Call *c, const void *Py_UNUSED(row))
{
    Interp *in = c->in;
    NodeId node;
    if (in->loop != NULL)
        return interp_break(in, BREAK_DERIVATIVE, "a gradient in a loop over elements");
    VARYING(in, answer, number_or_array(in, c->args[0], &node));
    if (answer != ANSWER_YES) return answer == ANSWER_NO ? no_leaf(in, c->args[0]) : answer;
    Type type = graph_node(in->graph, node)->type;
    bool real = dtype_is_float((DType)type.dtype) || dtype_is_complex((DType)type.dtype);
    if (!real || type.form == FORM_OBJECT) return no_leaf(in, c->args[0]);
    if (type.form == FORM_PYTHON && type.dtype != DT_F64) return no_leaf(in, c->args[0]);
    Op op = type.form == FORM_ARRAY ? OP_as_strided : OP_copy;
    if (type.form == FORM_PYTHON) op = OP_py_float;
    TRY_NODE(node, graph_add(in->graph, in->region, op, 1, &node, &type, NULL));
    if (VEC_PUSH(in->arena, &in->memory.leaves, node) < 0) return ANSWER_ERROR;
    return push_node(in, node, c->out);
}

static Answer
follow_on_device(const Call *c, const void *Py_UNUSED(row))
{
    PyObject *answer = value_is_on_device(c->args[0]) ? Py_True : Py_False;
    return given(c->out, value_const(c->in, answer));
}

/* filled(shape, value, dtype): an array on a device, which costs nothing where it is read. */
static Answer
follow_filled(const Call *c, const void *Py_UNUSED(row))
{
    Interp *in = c->in;
    int rank;
    SizeId shape[MAX_RANK];
    DType dtype;
    Type type;
    NodeId node;
    TRY(shape_sizes(in, c->args[0], &rank, shape));
    TRY(value_as_device_dtype(in, c->args[2], &dtype));
    TRY(value_as_node(in, c->args[1], &node));
    TRY(node_cast(in, node, dtype, &node));
    if (type_contiguous(in->graph, &type, dtype, rank, shape) < 0) return ANSWER_ERROR;
    type.device = (uint8_t)device_at(in->graph->current);
    TRY_NODE(node, graph_add(in->graph, in->region, OP_full, 1, &node, &type, NULL));
    return push_node(in, node, c->out);
}

/* Has the function written into what is differentiated?  The tape knows what that means. */
static Answer
leaves_are_read(Interp *in, const Value *leaves, int first)
{
    for (int i = 0; i < leaves->nitems; i++) {
        int storage = storage_find(in, graph_node(in->graph, leaves->items[i]->node)->storage);
        for (int k = first; k < in->memory.writes.len; k++)
            if (in->memory.writes.at[k].storage == storage)
                return interp_break(in, BREAK_DERIVATIVE,
                                    "the function writes into an array that is differentiated");
    }
    return ANSWER_YES;
}

/* returned(mark, leaves): the graph ends where the function did what only a tape can judge. */
static Answer
follow_returned(const Call *c, const void *Py_UNUSED(row))
{
    Interp *in = c->in;
    Mark before, now;
    TRY(known_mark(in, c->args[0], &before));
    if (mark_now(in, c->args[1], &now) < 0) return ANSWER_ERROR;
    TRY(leaves_are_read(in, c->args[1], before.writes));
    if (now.drawn != before.drawn)
        return interp_break(in, BREAK_DERIVATIVE, "the function draws random numbers");
    /* The program would see that a leaf is no object of its own. */
    if (now.references != before.references)
        return interp_break(in, BREAK_DERIVATIVE, "the function keeps what is differentiated");
    return given(c->out, value_const(in, Py_None));
}

/* NULL: it is no number from outside. */
static Value *
number_from_outside(Interp *in, NodeId node)
{
    if (graph_node(in->graph, node)->type.form != FORM_PYTHON) return NULL;
    for (int i = 0; i < in->memory.inputs.len; i++)
        if (in->memory.inputs.at[i]->node == node) return in->memory.inputs.at[i];
    return NULL;
}

/* A value of the forward pass as it was there: its memory may have been written since.  A number
   that comes from outside keeps its source: it may become a length. */
static Answer
value_then(Interp *in, NodeId node, Value **out)
{
    Type type = graph_node(in->graph, node)->type;
    Value *number = number_from_outside(in, node);
    if (number != NULL) return given(out, number);
    NodeId now = type.form == FORM_ARRAY ? array_current(in, node) : node;
    type.offset = NO_SIZE; /* of a copy */
    if (now != NO_NODE && now != node)
        now = graph_add(in->graph, in->region, OP_copy, 1, &node, &type, NULL);
    return now == NO_NODE ? ANSWER_ERROR : push_node(in, now, out);
}

static Answer
symbol_named(Interp *in, PyObject *name, Value **out)
{
    SizeId size = size_parse(in->graph, PyUnicode_AsUTF8(name));
    return size == NO_SIZE ? ANSWER_ERROR : number_of_size(in, size, out);
}

/* Calls the text, `told`: a function, and the nodes and symbols that it takes before `more`. */
static Answer
call_text(Interp *in, PyObject *told, const Value *more, Value **out)
{
    PyObject *function, *ids, *symbols;
    if (!PyArg_ParseTuple(told, "OOO", &function, &ids, &symbols)) return ANSWER_ERROR;
    int n = (int)PyTuple_GET_SIZE(ids), all = n + (int)PyTuple_GET_SIZE(symbols);
    Value **args = arena_alloc(in->arena, (size_t)(all + more->nitems + 1) * sizeof(Value *));
    if (args == NULL) return ANSWER_ERROR;
    for (int i = 0; i < n; i++)
        TRY(value_then(in, (NodeId)PyLong_AsLong(PyTuple_GET_ITEM(ids, i)), &args[i]));
    for (int i = n; i < all; i++) TRY(symbol_named(in, PyTuple_GET_ITEM(symbols, i - n), &args[i]));
    for (int i = 0; i < more->nitems; i++) args[all + i] = more->items[i];
    Value *callable = value_const(in, function);
    return callable ? call_value(in, callable, all + more->nitems, args, NULL, out) : ANSWER_ERROR;
}

static int (*simplified)(Graph *graph);

void
derivatives_simplify_by(int (*simplify)(Graph *graph))
{
    simplified = simplify;
}

/* What has been done since the mark as the passes will have it: what a tape differentiates, to the
 * bit. */
static PyObject *
part_view(Interp *in, NodeId mark, int nleaves, const NodeId *leaves, int nouts, const NodeId *outs)
{
    Graph *part = graph_part(in->graph, in->region, mark, nleaves, leaves, nouts, outs);
    return part == NULL || simplified(part) < 0 ? NULL : graph_view(part);
}

static PyObject *
numbers_of(int n, const NodeId *nodes)
{
    PyObject *ids = PyTuple_New(n);
    for (int i = 0; ids != NULL && i < n; i++) PyTuple_SET_ITEM(ids, i, PyLong_FromLong(nodes[i]));
    return ids;
}

/* What is made of the part from the leaves to `outs`, by that function of _followed.py: a text, or
   a str that tells why there is none.  A graph for any length is worth more than the gradient in
   it: a plan for each length would be made of all that is around. */
static PyObject *
text_of(Interp *in, const char *by, NodeId mark, int n, int nouts, const NodeId *nodes,
        PyObject *how)
{
    int most = in->graph->nodes.len;
    PyObject *write = module_kept(in, "pycompile.derivatives._followed", by), *told = NULL;
    PyObject *graph = write ? part_view(in, mark, n, nodes, nouts, nodes + n) : NULL;
    PyObject *ids = graph != NULL && !PyErr_Occurred() ? numbers_of(n, nodes) : NULL;
    if (ids != NULL) told = PyObject_CallFunction(write, "OOiO", graph, ids, most, how);
    Py_XDECREF(graph);
    Py_XDECREF(ids);
    return keep(in, told);
}

/* The text for values in the place of the leaves, or of cotangents of what they lead to. */
static Answer
follow_text(const Call *c, const char *by, const Mark *mark, const Value *outs, const Value *given,
            PyObject *how)
{
    Interp *in = c->in;
    const Value *leaves = c->args[1];
    int n = leaves->nitems;
    NodeId *nodes = arena_alloc(in->arena, sizeof *nodes * (size_t)(n + outs->nitems + 1));
    if (nodes == NULL) return ANSWER_ERROR;
    for (int i = 0; i < n; i++) nodes[i] = leaves->items[i]->node;
    for (int i = 0; i < outs->nitems; i++) {
        Answer answer = number_or_array(in, outs->items[i], &nodes[n + i]);
        if (answer == ANSWER_NO) return no_leaf(in, outs->items[i]);
        if (answer != ANSWER_YES) return answer;
    }
    in->writes.counted_since = mark->around;
    PyObject *told = text_of(in, by, mark->nodes, n, outs->nitems, nodes, how);
    if (told == NULL) return ANSWER_ERROR;
    in->attempt.learn->left_open = PyUnicode_Check(told);
    if (PyUnicode_Check(told))
        return interp_break(in, BREAK_DERIVATIVE, "%s", PyUnicode_AsUTF8(told));
    return call_text(in, told, given, c->out);
}

/* pullback(mark, leaves, outs, ones): the leaves' cotangents, of cotangents `ones` of `outs` */
static Answer
follow_pullback(const Call *c, const void *Py_UNUSED(row))
{
    Mark mark;
    TRY(known_mark(c->in, c->args[0], &mark));
    return follow_text(c, "text", &mark, c->args[2], c->args[3], Py_None);
}

/* Has it done what would be done again for each item, and can be seen? */
static bool
has_effects(const Interp *in, const Mark *before)
{
    int drawn = in->memory.drawn == NULL ? -1 : in->memory.drawn->serial;
    for (int i = before->writes; i < in->memory.writes.len; i++)
        if (in->memory.storages.at[in->memory.writes.at[i].storage].root < before->nodes)
            return true;
    return drawn != before->drawn || in->writes.effects.len != before->effects ||
           in->writes.changes != before->changes;
}

/* batched(mark, leaves, columns, outs, how): for each of `outs`, which were computed of the leaves,
   an array of what it is for each item of `columns`, arrays of what is in the leaves' place. */
static Answer
follow_batched(const Call *c, const void *Py_UNUSED(row))
{
    Mark mark;
    PyObject *how;
    TRY(known_mark(c->in, c->args[0], &mark));
    TRY(value_known(c->in, c->args[4], &how));
    if (has_effects(c->in, &mark))
        return interp_break(c->in, BREAK_DERIVATIVE, "a batch of a function with side effects");
    return follow_text(c, "text_for_items", &mark, c->args[3], c->args[2], how);
}

/* Of what has no gradient in a graph. */
static Answer
follow_refused(const Call *c, const void *Py_UNUSED(row))
{
    PyObject *why;
    TRY(value_known(c->in, c->args[0], &why));
    return interp_break(c->in, BREAK_DERIVATIVE, "%s", PyUnicode_AsUTF8(why));
}

/* pycompile.grad and its kin: what they make is a function of _followed.py, and jvp's.
 */
static Answer
follow_maker(const Call *c, const void *Py_UNUSED(row))
{
    int runs = tape_runs();
    if (runs != 0) return runs < 0 ? ANSWER_ERROR : ANSWER_NO;
    const char *name = PyUnicode_AsUTF8(((PyFunctionObject *)c->object)->func_name);
    PyObject *maker = name ? module_kept(c->in, "pycompile.derivatives._followed", name) : NULL;
    Value *callable = maker ? value_const(c->in, maker) : NULL;
    return callable == NULL ? ANSWER_ERROR
                            : call_value(c->in, callable, c->nargs, c->args, c->kwnames, c->out);
}

int
derivative_callables(void)
{
    static NamedCallable named[] = {
        {"pycompile.derivatives._api", "value_and_grad", RANK_PYTHON, follow_maker, false},
        {"pycompile.derivatives._api", "grad", RANK_PYTHON, follow_maker, false},
        {"pycompile.derivatives._api", "jacrev", RANK_PYTHON, follow_maker, false},
        {"pycompile.derivatives._api", "jacfwd", RANK_PYTHON, follow_maker, false},
        {"pycompile.derivatives._api", "hessian", RANK_PYTHON, follow_maker, false},
        {"pycompile.derivatives._api", "jvp", RANK_PYTHON, follow_maker, false},
        {"pycompile.derivatives._vmap", "vmap", RANK_PYTHON, follow_maker, false},
        {"pycompile.derivatives._trees", "is_on_device", RANK_PYTHON, follow_on_device, false},
        {"pycompile.derivatives._in_graph", "mark", RANK_PYTHON, follow_mark, false},
        {"pycompile.derivatives._in_graph", "leaf", RANK_PYTHON, follow_leaf, false},
        {"pycompile.derivatives._followed", "filled", RANK_PYTHON, follow_filled, false},
        {"pycompile.derivatives._in_graph", "returned", RANK_PYTHON, follow_returned, false},
        {"pycompile.derivatives._in_graph", "pullback", RANK_PYTHON, follow_pullback, false},
        {"pycompile.derivatives._in_graph", "batched", RANK_PYTHON, follow_batched, false},
        {"pycompile.derivatives._in_graph", "refused", RANK_PYTHON, follow_refused, false},
    };
    return callables_add_named(COUNT_OF(named), named);
}
