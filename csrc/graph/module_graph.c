/* The Python functions of graph/: the op table, and hooks for tests. */
#include "form.h"

/* One dict per op, from which documentation and the coverage table are made. */
static PyObject *
op_table(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *table = PyList_New(0);
    for (int i = 0; table != NULL && i < OP_COUNT; i++) {
        const OpInfo *op = op_info((Op)i);
        PyObject *row =
            Py_BuildValue("{s:s,s:i,s:i,s:z,s:z,s:s,s:z,s:s,s:I}", "name", op->name, "arity",
                          op->arity, "kind", (int)op->kind, "ufunc", op->ufunc, "c", op->c, "exact",
                          op->exact, "cuda", op->cuda, "on", op->on, "flags", op->flags);
        if (row == NULL || PyList_Append(table, row) < 0) Py_CLEAR(table);
        Py_XDECREF(row);
    }
    return table;
}

/* op_ufuncs(): the names of the operations' ufuncs, of those that have one.  A first call asks for
   them, and would wait half a millisecond for the table. */
static PyObject *
op_ufuncs(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *names = PyDict_New();
    for (int i = 0; names != NULL && i < OP_COUNT; i++) {
        const OpInfo *op = op_info((Op)i);
        PyObject *ufunc = op->ufunc == NULL ? NULL : PyUnicode_FromString(op->ufunc);
        if (op->ufunc == NULL) continue;
        if (ufunc == NULL || PyDict_SetItemString(names, op->name, ufunc) < 0) Py_CLEAR(names);
        Py_XDECREF(ufunc);
    }
    return names;
}

/* An input of the graph with this (shape, strides). */
static NodeId
layout_input(Graph *g, DType dtype, PyObject *array)
{
    PyObject *shape = PyTuple_GetItem(array, 0);
    PyObject *stride = shape == NULL ? NULL : PyTuple_GetItem(array, 1);
    if (stride == NULL) return NO_NODE;
    Type type = type_scalar(dtype, FORM_ARRAY);
    type.rank = (uint8_t)PyTuple_Size(shape);
    for (int i = 0; i < type.rank; i++) {
        type.shape[i] = size_const(g, PyLong_AsLongLong(PyTuple_GetItem(shape, i)));
        type.stride[i] = size_const(g, PyLong_AsLongLong(PyTuple_GetItem(stride, i)));
    }
    return PyErr_Occurred() ? NO_NODE : graph_input(g, 0, &type);
}

/* graph_layout(rule, dtype, [(shape, strides), ...]): the strides of a fresh result, or None. */
static PyObject *
graph_layout(PyObject *module, PyObject *args)
{
    const char *rule, *dtype_text;
    PyObject *arrays, *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "ssO!", &rule, &dtype_text, &PyList_Type, &arrays)) return NULL;
    NodeId nodes[8];
    Type type;
    int n = (int)PyList_GET_SIZE(arrays), dtype = dtype_from_name(dtype_text);
    PyObject *keep = PyList_New(0);
    Arena *arena = keep == NULL ? NULL : arena_new();
    Graph *g = arena == NULL ? NULL : graph_new(arena, keep);
    if (g == NULL || dtype < 0 || n < 1 || n > 8) goto done;
    for (int i = 0; i < n; i++)
        if ((nodes[i] = layout_input(g, (DType)dtype, PyList_GET_ITEM(arrays, i))) < 0) goto done;
    Answer answer = ANSWER_ERROR;
    if (strcmp(rule, "broadcast") == 0)
        answer = type_broadcast(g, &type, (DType)dtype, n, nodes, NULL);
    else if (strcmp(rule, "iterated") == 0)
        answer = type_iterated(g, &type, (DType)dtype, n, nodes);
    else if (strcmp(rule, "like") == 0)
        answer = type_like(g, &type, (DType)dtype, &graph_node(g, nodes[0])->type) < 0
                     ? ANSWER_ERROR
                     : ANSWER_YES;
    if (answer == ANSWER_YES) result = graph_view_sizes(g, type.rank, type.stride);
    if (answer == ANSWER_NO) result = Py_NewRef(Py_None);
done:
    if (result == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "bad layout query");
    arena_free(arena);
    Py_XDECREF(keep);
    return result;
}

static PyMethodDef methods[] = {
    {"op_table", op_table, METH_NOARGS, "The operations of the graph, one dict each."},
    {"op_ufuncs", op_ufuncs, METH_NOARGS, "The ufuncs' names by those of their operations."},
    {"graph_layout", graph_layout, METH_VARARGS, "For tests: strides of a fresh result."},
    {0},
};

int
graph_module(PyObject *module)
{
    return graph_view_init(module) < 0 ? -1 : PyModule_AddFunctions(module, methods);
}
