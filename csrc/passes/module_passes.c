/* The Python functions of passes/, for tests and for inspection. */
#include "passes.h"

/* pass_names(preparation=False): the passes in order. */
static PyObject *
pass_names(PyObject *module, PyObject *args)
{
    int prepares = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "|p", &prepares)) return NULL;
    PyObject *names = PyList_New(0);
    for (int i = prepares ? pass_count() : 0; names != NULL && pass_name(i) != NULL; i++) {
        if (!prepares && i == pass_count()) break;
        PyObject *name = PyUnicode_FromString(pass_name(i));
        if (name == NULL || PyList_Append(names, name) < 0) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

/* A library that has all products, those of float32 by TF32. */
static bool
takes_all(Product *product, int64_t *workspace)
{
    product->tf32 = product->dtype == DT_F32;
    *workspace = 0;
    return true;
}

/* graph_pass(graph, name, capability=0): the Graph after a pass, or after all of them for the name
   "all". */
static PyObject *
graph_pass(PyObject *module, PyObject *args)
{
    PyObject *view, *result = NULL;
    const char *name;
    int capability = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "Os|i", &view, &name, &capability)) return NULL;
    PyObject *keep = PyList_New(0);
    Arena *arena = keep == NULL ? NULL : arena_new();
    Graph *g = arena == NULL ? NULL : graph_from_view(arena, keep, view);
    if (g == NULL) goto done;
    g->takes_product = takes_all;
    g->capability = capability;
    int status = strcmp(name, "all") == 0 ? run_passes(g, NULL, NULL) : run_pass(g, name);
    if (status == 0 && graph_verify(g) == 0) result = graph_view(g);
done:
    arena_free(arena);
    Py_XDECREF(keep);
    return result;
}

static PyMethodDef methods[] = {
    {"pass_names", pass_names, METH_VARARGS,
     "pass_names(preparation=False): names of the passes in order, or of those that prepare a "
     "graph "
     "for lowering."},
    {"graph_pass", graph_pass, METH_VARARGS,
     "graph_pass(graph, name, capability=0): the Graph (or its text) after one pass, or after "
     "\"all\", for a device of this capability."},
    {0},
};

int
passes_module(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
