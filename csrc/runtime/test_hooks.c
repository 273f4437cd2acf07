/* For tests: graphs and guards without capture. */
#include "hooks.h"
#include "plan.h"

#include "../codegen/codegen.h"
#include "../passes/passes.h"

static void
synthetic_free(Capture *c)
{
    Py_XDECREF(c->keep);
    arena_free(c->arena);
}

static int
push_build(Capture *c, Build build)
{
    build.number = 0;
    return VEC_PUSH(c->arena, &c->builds, build);
}

/* A capture whose inputs are slots and whose result is the tuple of the graph's outputs. */
static int
synthetic_capture(Capture *c, const char *text)
{
    if ((c->arena = arena_new()) == NULL || (c->keep = PyList_New(0)) == NULL ||
        (c->graph = graph_parse(c->arena, c->keep, text)) == NULL)
        return -1;
    for (int i = 0; i < c->graph->inputs.len; i++) {
        Source source = {.kind = SOURCE_SLOT, .base = NO_SOURCE, .index = i};
        if (VEC_PUSH(c->arena, &c->sources, source) < 0 ||
            VEC_PUSH(c->arena, &c->input_source, i) < 0)
            return -1;
    }
    int n = c->graph->outputs.len;
    BuildId *args = arena_alloc(c->arena, sizeof(BuildId) * (size_t)(n + 1));
    int32_t *slot = arena_alloc(c->arena, sizeof(int32_t));
    BuildId *value = arena_alloc(c->arena, sizeof(BuildId));
    if (args == NULL || slot == NULL || value == NULL) return -1;
    for (int i = 0; i < n; i++) {
        args[i] = i;
        if (push_build(c, (Build){.kind = BUILD_BOX, .node = c->graph->outputs.at[i]}) < 0)
            return -1;
    }
    if (push_build(c, (Build){.kind = BUILD_TUPLE, .nargs = n, .args = args}) < 0) return -1;
    *value = n;
    c->exit = (Exit){.kind = EXIT_RETURN, .nslots = 1, .slot_index = slot, .slot_value = value};
    return 0;
}

static Plan *
synthetic_plan(Capture *c, const Config *config, bool passes)
{
    OutputNotes *notes = outputs_note(c);
    Answer answer = ANSWER_YES;
    const char *why = NULL;
    Code *code = NULL;
    Text source = {0};
    Plan *plan = NULL;
    GuardProgram *guards = NULL;
    if (notes == NULL || (passes && run_passes(c->graph, NULL, NULL) < 0)) return NULL;
    Program *program = lower(c->graph, config, &answer, &why);
    if (program == NULL) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_NotImplementedError, "lower: %s", why);
        return NULL;
    }
    if (program->kernels.len > 0) {
        if (codegen_c(c->graph, program, false, &source) < 0 || text_finish(&source) < 0) goto done;
        answer = code_load(source.data, config, &code);
        if (answer == ANSWER_NO) PyErr_SetString(PyExc_RuntimeError, "the C compiler failed");
        if (answer != ANSWER_YES) goto done;
    }
    if ((guards = guards_new(c, NULL)) == NULL) {
        if (code != NULL) code_release(code);
        goto done;
    }
    plan = plan_new(c, notes, program, code, guards, true, false);
done:
    text_free(&source);
    return plan;
}

static PyObject *
run_once(Plan *plan, PyObject *inputs)
{
    Roots roots = {PySequence_Fast_ITEMS(inputs), (int)PySequence_Fast_GET_SIZE(inputs)};
    GuardProgram *guards = plan_guards(plan);
    PyObject **reached = mem_alloc(sizeof(PyObject *) * (size_t)(guards_sources(guards) + 1));
    PyObject *result = NULL;
    int failed;
    if (reached == NULL) return NULL;
    if (!guards_check(guards, &roots, reached, &failed)) {
        PyErr_Format(PyExc_ValueError, "guard %d fails", failed);
    } else {
        PlanOutcome outcome = {.value = &result};
        if (plan_run(plan, reached, &outcome) == PLAN_DEOPT)
            PyErr_SetString(PyExc_RuntimeError, "deopt");
    }
    mem_free(reached);
    return result;
}

/* _run_graph(text, inputs, passes=True, options={}) -> tuple of the outputs. RuntimeError("deopt"),
   NotImplementedError when a node has no lowering. */
static PyObject *
hook_run_graph(PyObject *self, PyObject *args)
{
    (void)self;
    const char *text;
    PyObject *inputs, *options = NULL, *result = NULL, *list = NULL, *made = NULL;
    int passes = 1;
    Capture c = {0};
    Plan *plan = NULL;
    if (!PyArg_ParseTuple(args, "sO|pO!", &text, &inputs, &passes, &PyDict_Type, &options))
        return NULL;
    if (lower == NULL || codegen_c == NULL || run_passes == NULL || code_load == NULL) {
        PyErr_SetString(PyExc_NotImplementedError, "no lowering yet");
        return NULL;
    }
    const Config *config;
    if ((made = options ? Py_NewRef(options) : PyDict_New()) != NULL &&
        (config = config_from_options(made)) != NULL &&
        (list = PySequence_Fast(inputs, "inputs must be a sequence")) != NULL &&
        synthetic_capture(&c, text) == 0 && (plan = synthetic_plan(&c, config, passes)) != NULL)
        result = run_once(plan, list);
    plan_release(plan);
    synthetic_free(&c);
    Py_XDECREF(made);
    Py_XDECREF(list);
    return result;
}

/* test_fail_after(n) -> what was left before: after n chances to fail, all of them fail; -1: none. */
static PyObject *
hook_fail_after(PyObject *self, PyObject *argument)
{
    (void)self;
    long n = PyLong_AsLong(argument);
    if (n == -1 && PyErr_Occurred()) return NULL;
    return PyLong_FromLong(mem_fail_after(n));
}

PyMethodDef test_methods[] = {
    {"test_fail_after", hook_fail_after, METH_O, NULL},
    {"_run_graph", hook_run_graph, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
