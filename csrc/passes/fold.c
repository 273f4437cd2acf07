/* Constant folding: an operation on constants becomes the constant that NumPy or Python computes.

   pycompile._eager, the reference executor, computes it, so no rule is written twice. Not folded
   are operations that would raise, warn or report (which has to happen each time the program runs),
   ufuncs that are not NumPy's own (they may have side effects), and long arrays. */
#include "../arrays/arrays.h"
#include "rewrite.h"

enum { FOLDED_ELEMENTS = 4096 };

static bool
is_foldable(const Graph *g, const Node *node)
{
    if (node->nargs == 0 || node->type.dtype == DT_OBJECT) return false;
    OpKind kind = op_info(node->op)->kind;
    if (kind != KIND_POINTWISE && kind != KIND_PYTHON && kind != KIND_UFUNC) return false;
    for (int i = 0; i < node->type.rank; i++)
        if (!size_is_const(g, node->type.shape[i])) return false;
    if (type_elements(g, &node->type) > FOLDED_ELEMENTS) return false;
    for (int i = 0; i < node->nargs; i++) {
        const Node *arg = graph_node(g, node->args[i]);
        if (arg->op != OP_const || arg->type.dtype == DT_OBJECT) return false;
    }
    return kind != KIND_UFUNC || ufunc_is_library(node->attrs.object);
}

/* A new reference to the value, or to NotImplemented; NULL with the error set. */
static PyObject *
evaluate(const Graph *g, NodeId id)
{
    PyObject *eager = module_import("pycompile._eager");
    PyObject *view = eager == NULL ? NULL : graph_view_node(g, id);
    PyObject *value = view == NULL ? NULL : PyObject_CallMethod(eager, "fold", "O", view);
    Py_XDECREF(eager);
    Py_XDECREF(view);
    if (value != NULL && value != Py_NotImplemented && graph_node(g, id)->type.dtype == DT_BF16)
        Py_SETREF(value, PyNumber_Float(value)); /* a number stands for it: array_box */
    return value;
}

/* Turns the node itself into the constant, so that references to it stay valid. */
static int
visit(Rewrite *r, NodeId id, void *context)
{
    (void)context;
    if (!is_foldable(r->g, graph_node(r->g, id))) return 0;
    /* A returned array is a new object in every call; a constant would be the same one. */
    if (graph_node(r->g, id)->type.rank > 0 && (r->uses[id] & (USE_ESCAPES | USE_WRITTEN)))
        return 0;
    PyObject *value = evaluate(r->g, id);
    if (value == NULL) return -1;
    int status = 0;
    if (value != Py_NotImplemented && (status = PyList_Append(r->g->keep, value)) == 0) {
        Node *node = graph_node(r->g, id);
        node->op = OP_const;
        node->nargs = 0;
        node->attrs = (Attrs){.object = value};
    }
    Py_DECREF(value);
    return status;
}

int
pass_fold(Graph *graph)
{
    Rewrite r;
    return rewrite_begin(&r, graph) < 0 ? -1 : rewrite_walk(&r, visit, NULL);
}
