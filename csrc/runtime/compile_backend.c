/* Backends that are Python callables: one is called with the graph and example inputs; the callable
   that it returns is the program's only step. */
#include "compile.h"

static PyObject *
example_inputs(Job *job)
{
    const Capture *c = job->capture;
    Roots roots = {job->request->slots, job->request->decoded->nlocalsplus + job->request->depth};
    PyObject **reached = mem_alloc(sizeof(PyObject *) * (size_t)(c->sources.len + 1));
    PyObject *list = reached ? PyList_New(c->input_source.len) : NULL;
    int failed;
    if (list != NULL && (!guards_check(job->guards, &roots, reached, &failed) ||
                         !guards_fill(job->guards, reached))) {
        PyErr_SetString(PyExc_SystemError, "a guard fails on the values that were captured");
        Py_CLEAR(list);
    }
    for (int i = 0; list != NULL && i < c->input_source.len; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(reached[c->input_source.at[i]]));
    mem_free(reached);
    return list;
}

/* A program of one call: the backend's callable with all inputs; it returns a list of all
   outputs. */
static Program *
program_of_call(Job *job, PyObject *callable)
{
    Capture *c = job->capture;
    const Graph *g = c->graph;
    Program *p = arena_alloc(c->arena, sizeof(Program));
    Step step = {.kind = STEP_EXTERN};
    ExternStep *call = &step.external;
    size_t nin = (size_t)g->inputs.len + 1, nout = (size_t)g->outputs.len + 1;
    call->callable = callable;
    call->backend = job->config->backend_call;
    call->args = arena_alloc(c->arena, sizeof(Place) * nin);
    call->arg_types = arena_alloc(c->arena, sizeof(Type) * nin);
    call->results = arena_alloc(c->arena, sizeof(BufferId) * nout);
    if (!p || !call->args || !call->arg_types || !call->results) return NULL;
    for (int i = 0; i < g->inputs.len; i++) {
        Type type = graph_node(g, g->inputs.at[i])->type;
        Buffer buffer = {.kind = BUFFER_INPUT, .type = type, .index = i, .bytes = NO_SIZE};
        call->args[call->nargs] = (Place){p->buffers.len, NO_SIZE};
        call->arg_types[call->nargs++] = type;
        if (VEC_PUSH(c->arena, &p->buffers, buffer) < 0) return NULL;
    }
    for (int i = 0; i < g->outputs.len; i++) {
        const Node *node = graph_node(g, g->outputs.at[i].node);
        Type type = node->type;
        int same = i;
        for (int k = i - 1; k >= 0; k--)
            if (g->outputs.at[k].node == g->outputs.at[i].node) same = k;
        Buffer buffer = {.kind = BUFFER_EXTERN, .type = type, .bytes = NO_SIZE};
        call->results[call->nresults++] = p->buffers.len;
        Located at = {
            .node = g->outputs.at[i].node, .place = {g->inputs.len + same, NO_SIZE}, .type = type};
        if (node->op == OP_commit) {
            at.written = true;
            at.view = *node->attrs.view;
        }
        if (VEC_PUSH(c->arena, &p->buffers, buffer) < 0 || VEC_PUSH(c->arena, &p->located, at) < 0)
            return NULL;
    }
    return VEC_PUSH(c->arena, &p->steps, step) < 0 ? NULL : p;
}

/* What a backend that asks is told of a capture beside its graph. */
static PyObject *
unseen_writes(const Capture *c)
{
    long writes = 0;
    for (int i = 0; i < c->builds.len; i++) {
        const Build *build = &c->builds.at[i];
        writes +=
            build->kind == EFFECT_STORE_PART || (build->kind == EFFECT_WRITE && build->when != 0);
    }
    return PyLong_FromLong(writes);
}

static PyObject *
effects(const Capture *c)
{
    long count = 0;
    for (int i = 0; i < c->builds.len; i++) count += c->builds.at[i].kind >= EFFECT_STORE_ATTR;
    return PyLong_FromLong(count);
}

static int
input_of(const Capture *c, SourceId source)
{
    for (int i = 0; i < c->input_source.len; i++)
        if (c->input_source.at[i] == source) return i;
    return -1;
}

/* Steals the item. */
static void
put_in_list(PyObject **list, PyObject *item)
{
    if (item == NULL || PyList_Append(*list, item) < 0) Py_CLEAR(*list);
    Py_XDECREF(item);
}

static uint64_t
path_of(const Capture *c, SourceId id)
{
    if (id == NO_SOURCE) return 0;
    const Source *source = &c->sources.at[id];
    uint64_t base = source->kind == SOURCE_GLOBAL ? 0 : path_of(c, source->base);
    return source_path(base, source->kind, source->index, source->key);
}

static PyObject *
fixed_values(const Capture *c)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < c->guards.len; i++) {
        const Guard *guard = &c->guards.at[i];
        bool is_given = guard->kind == GUARD_VALUE &&
                        (PyFloat_Check(guard->object) || PyComplex_Check(guard->object) ||
                         PyUnicode_Check(guard->object) || array_scalar_check(guard->object));
        if (is_given)
            put_in_list(&list, Py_BuildValue("OiK", guard->object, input_of(c, guard->source),
                                             (unsigned long long)path_of(c, guard->source)));
    }
    return list;
}

/* An int that the function may have made, of what is not known, and whose value is given. */
static bool
is_given_int(const Capture *c, const Guard *guard)
{
    if (guard->kind != GUARD_VALUE || !PyLong_CheckExact(guard->object)) return false;
    SourceKind kind = c->sources.at[guard->source].kind;
    return kind != SOURCE_CELL && kind != SOURCE_GLOBAL && kind != SOURCE_CONST;
}

static PyObject *
constants(const Capture *c)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; i < c->guards.len; i++)
        if (is_given_int(c, &c->guards.at[i])) return list;
    for (int i = 0; list != NULL && i < c->builds.len; i++) {
        PyObject *object = c->builds.at[i].object;
        if (c->builds.at[i].kind == BUILD_CONST &&
            (PyFloat_Check(object) || PyComplex_Check(object) || array_scalar_check(object)))
            put_in_list(&list, Py_NewRef(object));
    }
    return list;
}

/* What lies at this depth of the value stack at the exit: the position of an output, -2 - that of
   an input, or -1. */
static PyObject *
operand_at(const Job *job, int32_t depth)
{
    const Capture *c = job->capture;
    for (int i = 0; i < c->exit.nslots; i++) {
        int32_t slot = job->request->decoded->nlocalsplus + depth;
        if (c->exit.slot_index[i] != slot || c->exit.slot_value[i] == NO_BUILD) continue;
        const Build *build = &c->builds.at[c->exit.slot_value[i]];
        if (build->kind == BUILD_BOX) return PyLong_FromLong(build->output);
        int input = build->kind == BUILD_SOURCE ? input_of(c, build->source) : -1;
        if (input >= 0) return PyLong_FromLong(-2 - input);
    }
    return PyLong_FromLong(-1);
}

/* Of a capture that ends before container[key] = value: the value and the container. */
static PyObject *
stored(const Job *job)
{
    const Exit *exit = &job->capture->exit;
    if (exit->kind != EXIT_BREAK) return Py_NewRef(Py_None);
    InstrKind kind = job->request->decoded->instrs[exit->number].kind;
    bool of_slice = kind == I_SLICE_STORE;
    if (kind != I_STORE_SUBSCRIPT && !of_slice) return Py_NewRef(Py_None);
    int32_t first = exit->depth - (of_slice ? 4 : 3);
    return Py_BuildValue("(NN)", operand_at(job, first), operand_at(job, first + 1));
}

/* A callable with these attributes is told how many writes to arrays from before the graph no
   output tells of (stores that the array does itself, and those that a condition decides), how many
   effects a run has, which floats, complex numbers and texts have values that the graph takes for
   granted (NumPy's ints as well; with the positions of those among its inputs, or -1, and paths),
   which numbers it hands on that no run computes, and what is stored where behind it. */
static int
tell_more(Job *job, PyObject *callable)
{
    if (!PyObject_HasAttrString(callable, "unseen_writes")) return 0;
    const struct {
        const char *name;
        PyObject *value;
    } told[] = {{"unseen_writes", unseen_writes(job->capture)},
                {"effects", effects(job->capture)},
                {"fixed_values", fixed_values(job->capture)},
                {"constants", constants(job->capture)},
                {"stored", stored(job)}};
    int status = 0;
    for (int i = 0; i < COUNT_OF(told); i++) {
        if (told[i].value == NULL) status = -1;
        if (status == 0) status = PyObject_SetAttrString(callable, told[i].name, told[i].value);
        Py_XDECREF(told[i].value);
    }
    return status;
}

Answer
stage_backend(Job *job)
{
    PyObject *view = NULL, *inputs = NULL, *callable = NULL;
    Answer answer = ANSWER_ERROR;
    if ((view = graph_view(job->capture->graph)) == NULL || (inputs = example_inputs(job)) == NULL)
        goto done;
    callable = PyObject_CallFunctionObjArgs(job->config->backend_call, view, inputs, NULL);
    if (callable == NULL) {
        backend_raised(job->config->backend_call);
        goto done;
    }
    if (callable == Py_None) {
        fail_softly(job, "backend", "it declined this graph: it returned None");
        if (job->config->fullgraph) backend_declined(job->config->backend_call);
        answer = job->config->fullgraph ? ANSWER_ERROR : ANSWER_NO;
        goto done;
    }
    if (!PyCallable_Check(callable)) {
        backend_gave_no_callable(job->config->backend_call, callable);
        goto done;
    }
    if (tell_more(job, callable) < 0) goto done;
    if (PyList_Append(job->capture->keep, callable) < 0) goto done;
    if ((job->program = program_of_call(job, callable)) != NULL) answer = ANSWER_YES;
    stage_done(job, "backend");
done:
    Py_XDECREF(view);
    Py_XDECREF(inputs);
    Py_XDECREF(callable);
    return answer;
}
