/* The Python functions of lower/ and codegen/: hooks for tests. */
#include "../passes/passes.h"
#include "codegen.h"

/* (schedule, source) of a graph's text.  `variant`: the bytes of vectors, 0 for the machine's; of a
   device its capability, 0 for any. */
static PyObject *
lower_text(const char *text, PyObject *keep, Device device, bool comments, int variant)
{
    const char *why = NULL;
    PyObject *result = NULL;
    Text schedule = {0}, source = {0};
    Answer answer;
    keep = keep == NULL ? PyList_New(0) : Py_NewRef(keep);
    Arena *arena = keep == NULL ? NULL : arena_new();
    Graph *graph = arena == NULL ? NULL : graph_parse(arena, keep, text);
    if (graph != NULL && device == DEVICE_CUDA) graph->capability = variant;
    bool prepared = graph != NULL && run_preparation(graph, NULL, NULL) == 0;
    Program *program = !prepared ? NULL : lower(graph, &answer, &why);
    if (program == NULL) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_NotImplementedError, "no lowering: %s", why);
        goto done;
    }
    if (program_print(graph, program, &schedule) < 0) goto done;
    int written = device == DEVICE_CUDA ? codegen_cuda(graph, program, comments, &source, NULL)
                  : variant ? codegen_c_for(graph, program, comments, variant, &source, NULL)
                            : codegen_c(graph, program, comments, &source, NULL);
    if (written < 0) goto done;
    result = Py_BuildValue("(NN)", text_to_str(&schedule), text_to_str(&source));
done:
    text_free(&schedule);
    text_free(&source);
    arena_free(arena);
    Py_XDECREF(keep);
    return result;
}

/* lower_graph(text, keep=[], comments=True, vector_bytes=the machine's) -> (schedule, C):
   NotImplementedError when a node has no lowering. */
static PyObject *
lower_graph(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *text;
    PyObject *keep = NULL;
    int comments = 1, bytes = 0;
    if (!PyArg_ParseTuple(args, "s|O!pi", &text, &PyList_Type, &keep, &comments, &bytes))
        return NULL;
    return lower_text(text, keep, DEVICE_HOST, comments, bytes);
}

/* lower_cuda(text, comments=True, capability=0) -> (schedule, CUDA) */
static PyObject *
lower_cuda(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *text;
    int comments = 1, capability = 0;
    if (!PyArg_ParseTuple(args, "s|pi", &text, &comments, &capability)) return NULL;
    return lower_text(text, NULL, DEVICE_CUDA, comments, capability);
}

static PyMethodDef methods[] = {
    {"lower_graph", lower_graph, METH_VARARGS, "For tests: a graph's schedule and source."},
    {"lower_cuda", lower_cuda, METH_VARARGS, "For tests: a graph's schedule and CUDA source."},
    {0},
};

int
codegen_module(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
