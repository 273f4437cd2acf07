/* For tests: graphs and guards without capture. */
#include "guards.h"
#include "hooks.h"
#include "plan.h"
#include "target.h"

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
        Build box = {.kind = BUILD_BOX, .node = c->graph->outputs.at[i].node, .output = i};
        if (push_build(c, box) < 0) return -1;
    }
    if (push_build(c, (Build){.kind = BUILD_TUPLE, .nargs = n, .args = args}) < 0) return -1;
    *value = n;
    c->exit = (Exit){.kind = EXIT_RETURN, .nslots = 1, .slot_index = slot, .slot_value = value};
    return 0;
}

static Plan *
synthetic_plan(Capture *c, const Config *config, bool passes)
{
    Answer answer = ANSWER_YES;
    const char *why = NULL;
    Codes codes = {{NULL}};
    Text source = {0};
    Plan *plan = NULL;
    GuardProgram *guards = NULL;
    const CodeOrigin origin = {"test", "test", 0, NULL};
    if (passes && run_passes(c->graph, NULL, NULL) < 0) return NULL;
    if (run_preparation(c->graph, NULL, NULL) < 0) return NULL;
    Program *program = lower(c->graph, &answer, &why);
    if (program == NULL) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_NotImplementedError, "lower: %s", why);
        return NULL;
    }
    for (int device = 0; device < TARGET_COUNT; device++) {
        if (!program_uses(program, (Device)device)) continue;
        bool straight;
        CodeTicket ticket;
        text_free(&source);
        source = (Text){0};
        if (targets[device].emit(c->graph, program, false, &source, &straight) < 0 ||
            text_finish(&source) < 0)
            goto done;
        answer = code_load((Device)device, source.data, straight, config, &origin, CODE_COMPILED,
                           &ticket, &codes.on[device]);
        if (answer == ANSWER_NO)
            PyErr_Format(PyExc_RuntimeError, "no code: %s", targets[device].problem());
        if (answer != ANSWER_YES) goto done;
    }
    if ((guards = guards_new(c, NULL)) == NULL) goto done;
    plan = plan_new(c, program, codes, guards, &origin, true, false);
    codes = (Codes){{NULL}};
done:
    codes_release(&codes);
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
        PlanOutcome outcome = {.roots = &roots, .value = &result};
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

/* test_fail_after(n) -> the former value: after n possible failures, all later ones happen; -1:
   none. */
static PyObject *
hook_fail_after(PyObject *self, PyObject *argument)
{
    (void)self;
    long n = PyLong_AsLong(argument);
    if (n == -1 && PyErr_Occurred()) return NULL;
    return PyLong_FromLong(mem_fail_after(n));
}

/* ---- guards ---- */

typedef struct {
    Capture capture;
    GuardProgram *program;
} TestGuards;

static void
test_guards_free(PyObject *capsule)
{
    TestGuards *test = PyCapsule_GetPointer(capsule, "guards");
    guards_free(test->program);
    synthetic_free(&test->capture);
    mem_free(test);
}

static int
kind_number(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    PyErr_Format(PyExc_ValueError, "unknown kind %s", name);
    return -1;
}

static int
test_source(Capture *c, PyObject *row)
{
    static const char *const names[] = {"SLOT", "CELL", "GLOBAL", "ATTR", "ITEM", "CONST", "TYPE"};
    const char *name;
    Source source = {0};
    PyObject *key, *object;
    if (!PyArg_ParseTuple(row, "siiOO", &name, &source.base, &source.index, &key, &object))
        return -1;
    int kind = kind_number(names, COUNT_OF(names), name);
    if (kind < 0 || PyList_Append(c->keep, key) < 0 || PyList_Append(c->keep, object) < 0)
        return -1;
    source.kind = (SourceKind)kind;
    source.key = key == Py_None ? NULL : key;
    source.object = object == Py_None ? NULL : object;
    return VEC_PUSH(c->arena, &c->sources, source);
}

/* An ARRAY guard wants what `example` is: low is known_shape, high is known_stride. */
static int
test_array_guard(Guard *guard, PyObject *example)
{
    ArrayHeader header;
    const char *why;
    if (array_read(example, &header, &why) != ANSWER_YES) {
        PyErr_SetString(PyExc_TypeError, why);
        return -1;
    }
    guard->array.dtype = header.dtype;
    guard->array.rank = (uint8_t)header.rank;
    guard->array.flags = header.flags & (ARRAY_C_CONTIGUOUS | ARRAY_WRITEABLE);
    guard->array.known_shape = (uint8_t)guard->low;
    guard->array.known_stride = (uint8_t)guard->high;
    memcpy(guard->array.shape, header.shape, sizeof(int64_t) * (size_t)header.rank);
    memcpy(guard->array.stride, header.stride, sizeof(int64_t) * (size_t)header.rank);
    return 0;
}

static int
test_guard(Capture *c, PyObject *row)
{
    static const char *const names[] = {
#define GUARD(name, ...) #name,
#include "../capture/guards.def"
    };
    const char *name;
    Guard guard = {0};
    PyObject *object;
    long long low, high;
    if (!PyArg_ParseTuple(row, "siiOLLi", &name, &guard.source, &guard.other, &object, &low, &high,
                          &guard.line))
        return -1;
    int kind = kind_number(names, COUNT_OF(names), name);
    if (kind < 0 || PyList_Append(c->keep, object) < 0) return -1;
    guard.kind = (GuardKind)kind;
    guard.object = object;
    guard.low = low;
    guard.high = high;
    guard.file = c->graph->files.len - 1;
    if (kind == GUARD_ARRAY && test_array_guard(&guard, object) < 0) return -1;
    if (kind == GUARD_SCALAR) guard.array.dtype = (DType)low;
    return VEC_PUSH(c->arena, &c->guards, guard);
}

/* _guards(code, sources, guards) -> capsule.  A source is (kind, base, index, key, object), a guard
   (kind, source, other, object, low, high, line); None for no object. */
static PyObject *
hook_guards(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *code, *sources, *guards, *capsule = NULL;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyCode_Type, &code, &PyList_Type, &sources, &PyList_Type,
                          &guards))
        return NULL;
    TestGuards *test = mem_alloc(sizeof(TestGuards));
    if (test == NULL) return NULL;
    Capture *c = &test->capture;
    bool good = (c->arena = arena_new()) != NULL && (c->keep = PyList_New(0)) != NULL &&
                (c->graph = graph_new(c->arena, c->keep)) != NULL &&
                graph_file(c->graph, "/folder/file.py") >= 0;
    for (Py_ssize_t i = 0; good && i < PyList_GET_SIZE(sources); i++)
        good = test_source(c, PyList_GET_ITEM(sources, i)) == 0;
    for (Py_ssize_t i = 0; good && i < PyList_GET_SIZE(guards); i++)
        good = test_guard(c, PyList_GET_ITEM(guards, i)) == 0;
    if (good) good = PyList_Append(c->keep, code) == 0;
    if (good) test->program = guards_new(c, (PyCodeObject *)code);
    if (test->program != NULL) capsule = PyCapsule_New(test, "guards", test_guards_free);
    if (capsule != NULL) return capsule;
    synthetic_free(c);
    mem_free(test);
    return NULL;
}

/* The program, which holds for the slots or not; NULL: the arguments are others.  *count: how many
   objects were reached. */
static GuardProgram *
check_slots(PyObject *args, Roots *roots, bool *holds, int *failed, int *count)
{
    PyObject *capsule, *slots;
    if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyTuple_Type, &slots)) return NULL;
    TestGuards *test = PyCapsule_GetPointer(capsule, "guards");
    if (test == NULL) return NULL;
    int sources = guards_sources(test->program);
    PyObject **reached = mem_alloc(sizeof(PyObject *) * (size_t)(sources + 1));
    if (reached == NULL) return NULL;
    *roots = (Roots){&PyTuple_GET_ITEM(slots, 0), (int)PyTuple_GET_SIZE(slots)};
    *holds = guards_check(test->program, roots, reached, failed);
    for (int i = 0; i < sources; i++) *count += reached[i] != NULL;
    mem_free(reached);
    return test->program;
}

/* _guards_check(guards, slots) -> None when all hold, else the failed one's text. */
static PyObject *
hook_guards_check(PyObject *self, PyObject *args)
{
    (void)self;
    Roots roots;
    bool holds;
    int failed, count = 0;
    GuardProgram *program = check_slots(args, &roots, &holds, &failed, &count);
    if (program == NULL) return NULL;
    if (holds) Py_RETURN_NONE;
    Text text = {0};
    PyObject *result = NULL;
    if (guards_explain(program, failed, &roots, &text) == 0) result = text_to_str(&text);
    text_free(&text);
    return result;
}

/* _guards_reached(guards, slots) -> how many objects a check reaches. */
static PyObject *
hook_guards_reached(PyObject *self, PyObject *args)
{
    (void)self;
    Roots roots;
    bool holds;
    int failed, count = 0;
    if (check_slots(args, &roots, &holds, &failed, &count) == NULL) return NULL;
    return PyLong_FromLong(count);
}

/* _guards_covered(guards) -> how many guards need no check while the watch holds. */
static PyObject *
hook_guards_covered(PyObject *self, PyObject *capsule)
{
    (void)self;
    TestGuards *test = PyCapsule_GetPointer(capsule, "guards");
    return test ? PyLong_FromLong(test->program->nchecks - test->program->nrun) : NULL;
}

/* test_wave_sizes(stored, cache): small arrays make waves, too; (0, 0): as usual. */
static PyObject *
hook_wave_sizes(PyObject *Py_UNUSED(self), PyObject *args)
{
    long long stored, cache;
    if (!PyArg_ParseTuple(args, "LL", &stored, &cache)) return NULL;
    waves_set_sizes(stored, cache);
    Py_RETURN_NONE;
}

/* test_lower_refuses(text or None): no graph is lowered, with this reason. */
static PyObject *
hook_lower_refuses(PyObject *self, PyObject *text)
{
    static PyObject *kept;
    (void)self;
    const char *why = text == Py_None ? NULL : PyUnicode_AsUTF8(text);
    if (why == NULL && PyErr_Occurred()) return NULL;
    Py_XSETREF(kept, Py_NewRef(text));
    lower_refuse(why);
    Py_RETURN_NONE;
}

PyMethodDef test_methods[] = {
    {"test_fail_after", hook_fail_after, METH_O, NULL},
    {"test_wave_sizes", hook_wave_sizes, METH_VARARGS, NULL},
    {"test_lower_refuses", hook_lower_refuses, METH_O, NULL},
    {"_run_graph", hook_run_graph, METH_VARARGS, NULL},
    {"_guards", hook_guards, METH_VARARGS, NULL},
    {"_guards_check", hook_guards_check, METH_VARARGS, NULL},
    {"_guards_reached", hook_guards_reached, METH_VARARGS, NULL},
    {"_guards_covered", hook_guards_covered, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
