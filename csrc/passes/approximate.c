/* Elementary functions of fast graphs: where the vector math library has the function, an operation
   in registers, which fuses with its neighbours, in place of the ufunc's own loop, which is called
   block by block.  The results differ from NumPy's by a few ulp. */
#include "passes.h"

static bool
has_function(Op op)
{
    char name[OP_FUNCTION_NAME];
    return op_function(op, name) && vector_libm_has(name, op_info(op)->arity);
}

/* Numbers alone are left to the ufunc: nothing fuses with them. */
static bool
is_approximated(const Graph *g, const Node *node)
{
    DType dtype = (DType)node->type.dtype;
    if (node->op != OP_ufunc || node->type.device != DEVICE_HOST || node->type.rank == 0 ||
        (dtype != DT_F32 && dtype != DT_F64))
        return false;
    for (int i = 0; i < node->nargs; i++)
        if (graph_node(g, node->args[i])->type.dtype != dtype) return false;
    return true;
}

enum { NO_OP = -2 };

/* The operation of NumPy's ufunc, -1 for none and for other libraries' ufuncs of its name, or NO_OP
   with the error set. */
static int
op_of(PyObject *ufunc)
{
    PyObject *name = PyObject_GetAttrString(ufunc, "__name__");
    const char *text = name != NULL ? PyUnicode_AsUTF8(name) : NULL;
    int op = text == NULL ? NO_OP : op_from_ufunc(text, DEVICE_CUDA);
    if (op >= 0) {
        PyObject *known = module_object("numpy", text);
        if (known == NULL)
            op = NO_OP;
        else if (known != ufunc)
            op = -1;
        Py_XDECREF(known);
    }
    Py_XDECREF(name);
    return op;
}

int
pass_approximate(Graph *g)
{
    for (int i = 0; g->fast && i < g->nodes.len; i++) {
        Node *node = graph_node(g, i);
        if (!is_approximated(g, node)) continue;
        int op = op_of(node->attrs.object);
        if (op == NO_OP) return -1;
        if (op < 0 || op_info((Op)op)->arity != node->nargs || !has_function((Op)op)) continue;
        node->op = (Op)op;
        node->attrs.object = NULL;
    }
    return 0;
}
