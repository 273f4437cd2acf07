/* Gradients in what is followed: one graph has the function and its pullback.
   pycompile/derivatives/_followed.py is followed in place of a gradient's own code: it takes the
   arguments apart, calls the function, and asks for the pullback of the nodes that this has made,
   which it gets as text of NumPy code, and which is followed, too.  Here is what it needs of the
   graph.  Where something cannot be followed the call ends the graph, and a tape differentiates. */
#include "control.h"

/* How many nodes there are, and how many writes. */
static Answer
follow_mark(const Call *c, const void *Py_UNUSED(row))
{
    if (c->in->loop != NULL)
        return interp_break(c->in, BREAK_DERIVATIVE, "a gradient in a loop over elements");
    PyObject *mark = Py_BuildValue("ii", c->in->graph->nodes.len, c->in->memory.writes.len);
    return given(c->out, value_const_new(c->in, mark));
}

static Answer
no_leaf(Interp *in, Value *value)
{
    return interp_break(in, BREAK_DERIVATIVE, "the gradient with respect to %s",
                        value_describe(in, value));
}

/* A node of its own for what is differentiated: the function may reach the same array as a
 * constant. */
static Answer
follow_leaf(const Call *c, const void *Py_UNUSED(row))
{
    Interp *in = c->in;
    NodeId node;
    Answer answer = value_as_node(in, c->args[0], &node);
    if (answer != ANSWER_YES) return answer == ANSWER_NO ? no_leaf(in, c->args[0]) : answer;
    Type type = graph_node(in->graph, node)->type;
    bool real = dtype_is_float((DType)type.dtype) || dtype_is_complex((DType)type.dtype);
    if (!real || type.form == FORM_OBJECT || type.device != DEVICE_HOST)
        return no_leaf(in, c->args[0]);
    if (type.form == FORM_PYTHON && type.dtype != DT_F64) return no_leaf(in, c->args[0]);
    Op op = type.form == FORM_ARRAY ? OP_as_strided : OP_copy;
    if (type.form == FORM_PYTHON) op = OP_py_float;
    TRY_NODE(node, graph_add(in->graph, in->region, op, 1, &node, &type, NULL));
    return given(c->out, value_node(in, node));
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

/* The text has lengths as numbers. */
static Answer
know_sizes(Interp *in, NodeId mark)
{
    for (NodeId id = mark; id < in->graph->nodes.len; id++) {
        Type type = graph_node(in->graph, id)->type;
        Answer answer = sizes_specialise(in, &type, "a length in a gradient");
        if (answer_stops(answer)) return answer;
        if (!type_is_known(in->graph, &type))
            return interp_break(in, BREAK_DERIVATIVE, "a length that changes from turn to turn");
    }
    return ANSWER_YES;
}

/* A value of the forward pass as it was there: its memory may have been written since. */
static Value *
value_then(Interp *in, NodeId node)
{
    Type type = graph_node(in->graph, node)->type;
    NodeId now = type.form == FORM_ARRAY ? array_current(in, node) : node;
    if (now != NO_NODE && now != node)
        now = graph_add(in->graph, in->region, OP_copy, 1, &node, &type, NULL);
    return now == NO_NODE ? NULL : value_node(in, now);
}

/* Calls the text, `told`: a function, and the nodes that it takes before `one`. */
static Answer
call_text(Interp *in, PyObject *told, Value *one, Value **out)
{
    PyObject *function = PyTuple_GetItem(told, 0), *ids = PyTuple_GetItem(told, 1);
    if (ids == NULL) return ANSWER_ERROR;
    int n = (int)PyTuple_GET_SIZE(ids);
    Value **args = arena_alloc(in->arena, ((size_t)n + 1) * sizeof(Value *));
    if (args == NULL) return ANSWER_ERROR;
    for (int i = 0; i < n; i++) {
        args[i] = value_then(in, (NodeId)PyLong_AsLong(PyTuple_GET_ITEM(ids, i)));
        if (args[i] == NULL) return ANSWER_ERROR;
    }
    args[n] = one;
    Value *callable = value_const(in, function);
    return callable == NULL ? ANSWER_ERROR : call_value(in, callable, n + 1, args, NULL, out);
}

static int (*simplified)(Graph *graph);

void
derivatives_simplify_by(int (*simplify)(Graph *graph))
{
    simplified = simplify;
}

/* The forward pass as the passes will have it: what a tape differentiates, to the bit. */
static PyObject *
forward_pass(Interp *in, NodeId mark, int nleaves, const NodeId *leaves, NodeId out)
{
    Graph *part = graph_part(in->graph, in->region, mark, nleaves, leaves, out);
    return part == NULL || simplified(part) < 0 ? NULL : graph_view(part);
}

/* The text of the pullback from `out` to the leaves; a str tells why there is none. */
static PyObject *
text_of(Interp *in, NodeId mark, const Value *leaves, NodeId out)
{
    int n = leaves->nitems, most = in->graph->nodes.len;
    PyObject *write = module_kept(in, "pycompile.derivatives._followed", "text");
    PyObject *ids = write ? PyTuple_New(n) : NULL, *graph = NULL, *told = NULL;
    NodeId *nodes = arena_alloc(in->arena, sizeof *nodes * (size_t)(n + 1));
    for (int i = 0; ids != NULL && nodes != NULL && i < n; i++) {
        nodes[i] = leaves->items[i]->node;
        PyTuple_SET_ITEM(ids, i, PyLong_FromLong(nodes[i]));
    }
    if (ids != NULL && nodes != NULL) graph = forward_pass(in, mark, n, nodes, out);
    if (graph != NULL && !PyErr_Occurred())
        told = PyObject_CallFunction(write, "OOi", graph, ids, most);
    Py_XDECREF(graph);
    Py_XDECREF(ids);
    return keep(in, told);
}

/* pullback(mark, leaves, out, one): the leaves' cotangents, of a cotangent `one` of `out` */
static Answer
follow_pullback(const Call *c, const void *Py_UNUSED(row))
{
    Interp *in = c->in;
    PyObject *known;
    int mark, writes;
    NodeId out;
    TRY(value_known(in, c->args[0], &known));
    if (!PyArg_ParseTuple(known, "ii", &mark, &writes)) return ANSWER_ERROR;
    TRY(value_as_node(in, c->args[2], &out));
    TRY(leaves_are_read(in, c->args[1], writes));
    TRY(know_sizes(in, mark));
    PyObject *told = text_of(in, mark, c->args[1], out);
    if (told == NULL) return ANSWER_ERROR;
    if (PyUnicode_Check(told))
        return interp_break(in, BREAK_DERIVATIVE, "%s", PyUnicode_AsUTF8(told));
    return call_text(in, told, c->args[3], c->out);
}

/* Of what has no gradient in a graph. */
static Answer
follow_refused(const Call *c, const void *Py_UNUSED(row))
{
    PyObject *why;
    TRY(value_known(c->in, c->args[0], &why));
    return interp_break(c->in, BREAK_DERIVATIVE, "%s", PyUnicode_AsUTF8(why));
}

/* pycompile.grad, value_and_grad: what they make is a function of _followed.py. */
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
        {"pycompile.derivatives._followed", "mark", RANK_PYTHON, follow_mark, false},
        {"pycompile.derivatives._followed", "leaf", RANK_PYTHON, follow_leaf, false},
        {"pycompile.derivatives._followed", "pullback", RANK_PYTHON, follow_pullback, false},
        {"pycompile.derivatives._followed", "refused", RANK_PYTHON, follow_refused, false},
    };
    return callables_add_named(COUNT_OF(named), named);
}
