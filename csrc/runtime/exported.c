/* A function as a library without Python: what capture and lowering made of a call that is not made
   goes to export/, and no plan is made of it. */
#include "compile.h"
#include "recompile.h"

#include "../export/export.h"

#include <alloca.h>

/* Ints that the caller passes are any: a loop over so many turns is kept. */
static int
fill_varied(const ExportWanted *wanted, VariedPath *varied)
{
    int count = 0;
    for (int i = 0; i < PyTuple_GET_SIZE(wanted->names); i++)
        if (PyTuple_GET_ITEM(wanted->names, i) != Py_None &&
            (PyLong_CheckExact(PyTuple_GET_ITEM(wanted->values, i)) ||
             PyFloat_CheckExact(PyTuple_GET_ITEM(wanted->values, i))))
            varied[count++] = (VariedPath){
                .path = source_path(0, SOURCE_SLOT, i, NULL), .failed = 1, .unsteady = true};
    return count;
}

static Answer
follow(CodeState *state, PyFunctionObject *function, PyObject *const *slots, ExportWanted *wanted)
{
    VariedPath *varied = alloca(sizeof(VariedPath) * (size_t)(PyTuple_GET_SIZE(wanted->names) + 1));
    CaptureRequest request = {
        .decoded = state->decoded,
        .varied = varied,
        .nvaried = fill_varied(wanted, varied),
        .globals = function->func_globals,
        .builtins = function->func_builtins,
        .function = function,
        .slots = slots,
        .number = state->decoded->first_traceable,
        .config = state->config,
    };
    const Patience patience = {.waits = true, .exports = wanted};
    CompileNote note;
    Plan *plan = NULL;
    Answer answer;
    do answer = compile_plan(&request, NULL, NULL, patience, &plan, &note);
    while (note.interrupted && PyErr_CheckSignals() == 0);
    guards_free(note.guards);
    return PyErr_Occurred() ? ANSWER_ERROR : answer;
}

PyObject *
export_function(CodeState *state, PyFunctionObject *function, const char *name, const char *told,
                PyObject *names, PyObject *values, int vector_bytes)
{
    PyCodeObject *code = state->code;
    ExportWanted wanted = {
        .name = name, .told = told, .names = names, .values = values, .vector_bytes = vector_bytes};
    if (PyTuple_GET_SIZE(values) != state_nargs(state) ||
        PyTuple_GET_SIZE(names) != PyTuple_GET_SIZE(values))
        return PyErr_Format(PyExc_TypeError, "%U has %d arguments, not %zd", code->co_qualname,
                            state_nargs(state), PyTuple_GET_SIZE(values));
    size_t n = (size_t)code->co_nlocalsplus + 1;
    PyObject **slots = mem_alloc(sizeof(PyObject *) * n);
    if (slots == NULL) return NULL;
    Py_INCREF(code); /* and with it the state */
    state->running++;
    Answer answer = precompile_slots(code, function, values, slots) < 0
                        ? ANSWER_ERROR
                        : follow(state, function, slots, &wanted);
    state->running--;
    for (size_t i = 0; i < n; i++) Py_XDECREF(slots[i]);
    mem_free(slots);
    Py_DECREF(code);
    if (answer == ANSWER_ERROR) {
        Py_CLEAR(wanted.made);
        return NULL;
    }
    if (wanted.made != NULL) return wanted.made;
    if (wanted.refused != NULL) return PyUnicode_FromString(wanted.refused);
    return PyUnicode_FromString(
        "it computes nothing with arrays or NumPy's numbers: views, lengths and "
        "Python's numbers by themselves are nothing that a library computes");
}
