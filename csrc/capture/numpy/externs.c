/* Externs: calls of NumPy's own functions from a plan, where no op gives the function's bits. */
#include "trial.h"

Answer
break_length(Interp *in)
{
    return interp_break(in, BREAK_SHAPE, "an array whose length changes from turn to turn");
}

Answer
node_extern(Interp *in, PyObject *callable, int nargs, const NodeId *args, const Type *type,
            NodeId *out)
{
    return node_extern_kw(in, callable, nargs, args, NULL, type, out);
}

Answer
node_extern_kw(Interp *in, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames,
               const Type *type, NodeId *out)
{
    Attrs attrs = {.object = callable, .kwnames = kwnames};
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_extern, nargs, args, type, &attrs));
    return ANSWER_YES;
}

/* ---- the type by trial ---- */

/* The stand-in for the argument in a trial; kept. */
static PyObject *
trial_argument(Interp *in, NodeId node, Attempt *attempt, NodeId *holes)
{
    const Node *n = graph_node(in->graph, node);
    if (n->op == OP_const) return n->attrs.object;
    holes[attempt->n] = node;
    return template_hole(in, attempt->n++);
}

/* Calls the callable on stand-ins for the arguments. */
static Answer
try_call(Interp *in, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames,
         PyObject **value)
{
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames), npos = nargs - nkw;
    NodeId *holes = arena_alloc(in->arena, (size_t)nargs * sizeof *holes);
    Attempt attempt = {.callable = callable,
                       .args = keep(in, PyTuple_New(npos)),
                       .kwargs = keep(in, PyDict_New()),
                       .changed = keep(in, PyTuple_New(0)),
                       .holes = holes,
                       .direct = true,
                       .fresh = true};
    PyObject *ignored;
    if (!holes || !attempt.args || !attempt.kwargs || !attempt.changed) return ANSWER_ERROR;
    for (int i = 0; i < nargs; i++) {
        PyObject *argument = trial_argument(in, args[i], &attempt, holes);
        if (argument == NULL) return ANSWER_ERROR;
        if (i < npos)
            PyTuple_SET_ITEM(attempt.args, i, Py_NewRef(argument));
        else if (PyDict_SetItem(attempt.kwargs, PyTuple_GET_ITEM(kwnames, i - npos), argument) < 0)
            return ANSWER_ERROR;
    }
    return trial_run(in, &attempt, value, &ignored);
}

Answer
node_trial(Interp *in, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames,
           NodeId *out)
{
    Type type;
    PyObject *value;
    if (callable == NULL) return interp_break(in, BREAK_NUMPY, "a function that NumPy has not");
    TRY(try_call(in, callable, nargs, args, kwnames, &value));
    TRY(trial_type(in, value, &type));
    TRY(node_extern_kw(in, callable, nargs, args, kwnames, &type, out));
    bool borrows = step_form(value) == STEP_ARRAY && step_part(value, PART_owns) == Py_False;
    return borrows && VEC_PUSH(in->arena, &in->memory.borrowers, *out) < 0 ? ANSWER_ERROR
                                                                           : ANSWER_YES;
}
