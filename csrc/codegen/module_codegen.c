/* The Python functions of lower/ and codegen/: hooks for tests, texts for
   libraries. */
#include "../arrays/arrays.h"
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

/* function_text(pointer) -> C that defines the pointer `of_pycompile_…` of a kernel's file, which a
   process with Python sets itself; None: there is none. */
static PyObject *
function_text(PyObject *Py_UNUSED(module), PyObject *pointer)
{
    const char *name = PyUnicode_AsUTF8(pointer);
    Text text = {0};
    PyObject *made = NULL;
    if (name == NULL) return NULL;
    if (!codegen_function_text(name, &text)) made = Py_NewRef(Py_None);
    if (made == NULL && text_finish(&text) == 0) made = text_to_str(&text);
    text_free(&text);
    return made;
}

/* function_pointer(C's name, ufunc, dtype's) -> (pointer, bytes of its vectors) of the function
   that has the bits of the ufunc's loop; None: it is not known. */
static PyObject *
function_pointer(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *name, *dtype;
    PyObject *ufunc;
    char pointer[40];
    int bytes;
    if (!PyArg_ParseTuple(args, "sOs", &name, &ufunc, &dtype)) return NULL;
    DType of = strcmp(dtype, dtype_name(DT_F32)) == 0 ? DT_F32 : DT_F64;
    if (!elementary_is_known(name, ufunc, of)) Py_RETURN_NONE;
    if (!codegen_function_pointer(name, of, pointer, &bytes)) Py_RETURN_NONE;
    return Py_BuildValue("(si)", pointer, bytes);
}

static PyMethodDef methods[] = {
    {"function_text", function_text, METH_O, "The C of an elementary function, for libraries."},
    {"function_pointer", function_pointer, METH_VARARGS, "Of a function with a loop's bits."},
    {"lower_graph", lower_graph, METH_VARARGS, "For tests: a graph's schedule and source."},
    {"lower_cuda", lower_cuda, METH_VARARGS, "For tests: a graph's schedule and CUDA source."},
    {0},
};

int
codegen_module(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
