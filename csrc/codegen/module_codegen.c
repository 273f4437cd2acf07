/* The Python functions of lower/ and codegen/: hooks for tests. */
#include "../passes/passes.h"
#include "codegen.h"

/* lower_graph(text, keep=[], comments=True, vector_bytes=the machine's) -> (schedule, C):
   NotImplementedError when a node has no lowering. */
static PyObject *
lower_graph(PyObject *module, PyObject *args)
{
    const char *text, *why = NULL;
    PyObject *keep = NULL, *result = NULL;
    int comments = 1, bytes = 0;
    Text schedule = {0}, source = {0};
    Answer answer;
    (void)module;
    if (!PyArg_ParseTuple(args, "s|O!pi", &text, &PyList_Type, &keep, &comments, &bytes))
        return NULL;
    keep = keep == NULL ? PyList_New(0) : Py_NewRef(keep);
    Arena *arena = keep == NULL ? NULL : arena_new();
    Graph *graph = arena == NULL ? NULL : graph_parse(arena, keep, text);
    bool prepared = graph != NULL && run_preparation(graph, NULL, NULL) == 0;
    Program *program = !prepared ? NULL : lower(graph, &answer, &why);
    if (program == NULL) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_NotImplementedError, "no lowering: %s", why);
        goto done;
    }
    if (program_print(graph, program, &schedule) < 0 ||
        (bytes ? codegen_c_for(graph, program, comments, bytes, &source)
               : codegen_c(graph, program, comments, &source)) < 0)
        goto done;
    result = Py_BuildValue("(NN)", text_to_str(&schedule), text_to_str(&source));
done:
    text_free(&schedule);
    text_free(&source);
    arena_free(arena);
    Py_XDECREF(keep);
    return result;
}

static PyMethodDef methods[] = {
    {"lower_graph", lower_graph, METH_VARARGS, "For tests: a graph's schedule and source."},
    {0},
};

int
codegen_module(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
