/* One plan: capture, passes, lower, codegen, load; or a backend of the user's in place of the last
   three.  Whatever of ours fails here is logged and the program runs in CPython; only what must not
   be lost (KeyboardInterrupt) or was asked for (fullgraph) gets out as an error. */
#include "plan.h"

#include "../codegen/codegen.h"
#include "../passes/passes.h"

#include <time.h>

typedef struct {
    const CaptureRequest *request;
    const Config *config;
    const char *reason;
    int64_t patience; /* what a plan has to gain per run, or the C compiler is not run for it */
    bool postponed;
    Capture *capture;
    OutputNotes *notes;
    GuardProgram *guards;
    Program *program;
    Code *code;
    PyObject *record;  /* NULL: nobody collects */
    PyObject *seconds; /* stage -> seconds */
    Text where;        /* "f (file.py:12)" */
    Text dumped;       /* the graph as PYCOMPILE_LOGS=graph:… last showed it */
    struct timespec began;
} Job;

static _Thread_local int depth; /* compiles in progress on this thread */

bool
compile_is_running(void)
{
    return depth > 0;
}

/* ---- what is told ---- */

static void
stage_done(Job *job, const char *stage)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - job->began.tv_sec) +
                     1e-9 * (double)(now.tv_nsec - job->began.tv_nsec);
    job->began = now;
    if (job->seconds != NULL) record_object(job->seconds, stage, PyFloat_FromDouble(seconds));
}

static void
tell_bytecode(Job *job)
{
    if (!log_enabled(LOG_BYTECODE)) return;
    Text text = {0};
    if (decoded_print(job->request->decoded, &text) < 0) PyErr_Clear();
    log_emit(LOG_BYTECODE, "%s from instruction %d\n%s", job->where.data ? job->where.data : "?",
             job->request->number, text.data ? text.data : "");
    text_free(&text);
}

static void
begin_record(Job *job)
{
    PyCodeObject *code = job->request->decoded->code;
    int line = job->request->decoded->instrs[job->request->number].line;
    const char *name = PyUnicode_AsUTF8(code->co_qualname);
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    PyErr_Clear();
    text_printf(&job->where, "%s (%s:%d)", name ? name : "?", file ? file : "?", line);
    tell_bytecode(job);
    clock_gettime(CLOCK_MONOTONIC, &job->began);
    if (!report_wanted()) return;
    job->record = PyDict_New();
    job->seconds = PyDict_New();
    PyErr_Clear();
    record_string(job->record, "kind", "none");
    record_string(job->record, "function", name);
    record_string(job->record, "file", file);
    record_int(job->record, "line", line);
    record_int(job->record, "entry", job->request->number);
    if (job->reason != NULL) record_string(job->record, "recompile", job->reason);
}

static const char *
where_of(const Job *job)
{
    return job->where.data ? job->where.data : "?";
}

static void
tell_text(Job *job, LogChannel channel, const char *key, Text *text)
{
    if (log_enabled(channel))
        log_emit(channel, "%s\n%s", where_of(job), text->data ? text->data : "");
    record_text(job->record, key, text);
    text_free(text);
}

static bool
wanted(const Job *job, LogChannel channel)
{
    return job->record != NULL || log_enabled(channel);
}

static void
tell_guards(Job *job)
{
    if (!wanted(job, LOG_GUARDS)) return;
    PyObject *list = job->record != NULL ? PyList_New(0) : NULL;
    Text all = {0};
    for (int i = 0; i < guards_count(job->guards); i++) {
        Text one = {0};
        if (guards_explain(job->guards, i, NULL, &one) < 0) PyErr_Clear();
        text_printf(&all, "%s%s", i ? "\n" : "", one.data ? one.data : "?");
        PyObject *text = list != NULL ? text_to_str(&one) : NULL;
        if (text == NULL || PyList_Append(list, text) < 0) PyErr_Clear();
        Py_XDECREF(text);
        text_free(&one);
    }
    if (log_enabled(LOG_GUARDS))
        log_emit(LOG_GUARDS, "%s\n%s", where_of(job), all.data ? all.data : "");
    if (list != NULL) record_object(job->record, "guards", list);
    text_free(&all);
}

static const char *
break_file(const Job *job, const Break *item)
{
    const Graph *g = job->capture->graph;
    return item->file >= 0 && item->file < g->files.len ? g->files.at[item->file] : NULL;
}

/* To the log, and to the list "breaks" of the record. */
static void
tell_break(Job *job, const Break *item, const char *file)
{
    if (log_enabled(LOG_GRAPH_BREAKS))
        log_emit(LOG_GRAPH_BREAKS, "%s %s%s%s (%s:%d)%s%s%s%s", break_code(item->code),
                 break_text(item->code), item->detail ? ": " : "", item->detail ? item->detail : "",
                 file ? file : "?", item->line, *break_hint(item->code) ? "\n  hint: " : "",
                 break_hint(item->code), item->stack ? "\n" : "", item->stack ? item->stack : "");
    PyObject *list = job->record != NULL ? PyDict_GetItemString(job->record, "breaks") : NULL;
    PyObject *record = list != NULL ? PyDict_New() : NULL;
    if (record != NULL) {
        record_string(record, "code", break_code(item->code));
        record_string(record, "text", break_text(item->code));
        record_string(record, "detail", item->detail);
        record_string(record, "hint", break_hint(item->code));
        record_string(record, "file", file);
        record_int(record, "line", item->line);
        record_string(record, "stack", item->stack);
        if (PyList_Append(list, record) < 0) PyErr_Clear();
        Py_DECREF(record);
    }
    PyErr_Clear();
}

static void
tell_breaks(Job *job)
{
    record_object(job->record, "breaks", PyList_New(0));
    for (int i = 0; i < job->capture->breaks.len; i++) {
        const Break *item = &job->capture->breaks.at[i];
        if (item->code != BREAK_NONE) tell_break(job, item, break_file(job, item));
    }
}

/* A graph without a lowering: a mistake of ours, told with the line where the graph begins. */
static void
tell_unlowered(Job *job, const char *why)
{
    const Decoded *decoded = job->request->decoded;
    const char *file = PyUnicode_AsUTF8(decoded->code->co_filename);
    Break item = {.code = BREAK_LOWER, .detail = (char *)why};
    item.line = decoded->instrs[job->request->number].line;
    tell_break(job, &item, file);
}

static void
tell_exit(Job *job)
{
    static const char *const names[] = {"return", "break", "branch"};
    record_string(job->record, "exit", names[job->capture->exit.kind]);
    record_int(job->record, "instructions", job->capture->ninstructions);
}

static void
tell_graph(Job *job)
{
    if (!wanted(job, LOG_GRAPH)) return;
    Text text = {0};
    if (graph_print(job->capture->graph, &text) < 0) PyErr_Clear();
    tell_text(job, LOG_GRAPH, "graph", &text);
    if (job->record != NULL)
        record_object(job->record, "graph_object", graph_view(job->capture->graph));
}

static void
dump_pass(void *context, const char *pass, const Graph *graph)
{
    Job *job = context;
    if (!log_enabled(LOG_GRAPH) || !log_wants_pass(pass)) return;
    Text text = {0};
    if (graph_print(graph, &text) < 0) PyErr_Clear();
    bool same =
        job->dumped.data != NULL && text.data != NULL && strcmp(job->dumped.data, text.data) == 0;
    if (same)
        log_emit(LOG_GRAPH, "%s after %s: unchanged", where_of(job), pass);
    else
        log_emit(LOG_GRAPH, "%s after %s\n%s", where_of(job), pass, text.data ? text.data : "");
    text_free(&job->dumped);
    job->dumped = text;
}

static long long
buffer_bytes(const Job *job, const Buffer *buffer)
{
    return buffer->type.form == FORM_ARRAY
               ? (long long)type_elements(job->capture->graph, &buffer->type) *
                     (long long)dtype_size((DType)buffer->type.dtype)
               : 0;
}

static void
tell_program(Job *job)
{
    if (wanted(job, LOG_SCHEDULE)) {
        Text text = {0};
        if (program_print(job->capture->graph, job->program, &text) < 0) PyErr_Clear();
        tell_text(job, LOG_SCHEDULE, "schedule", &text);
    }
    if (wanted(job, LOG_OUTPUT_CODE)) {
        Text text = {0};
        if (codegen_c(job->capture->graph, job->program, true, &text) < 0) PyErr_Clear();
        tell_text(job, LOG_OUTPUT_CODE, "source", &text);
    }
    long long read = 0, written = 0;
    for (int i = 0; i < job->program->buffers.len; i++) {
        const Buffer *buffer = &job->program->buffers.at[i];
        if (buffer->kind == BUFFER_INPUT || buffer->kind == BUFFER_CONST)
            read += buffer_bytes(job, buffer);
        if (buffer->kind == BUFFER_OUTPUT) written += buffer_bytes(job, buffer);
    }
    record_int(job->record, "kernels", job->program->kernels.len);
    record_int(job->record, "bytes_read", read);
    record_int(job->record, "bytes_written", written);
}

/* ---- stages ---- */

/* GraphBreakError with the user's line. */
static void
raise_break(Job *job)
{
    const Break *item = NULL;
    if (job->capture->breaks.len > 0) item = &job->capture->breaks.at[job->capture->breaks.len - 1];
    PyObject *class = errors_class("GraphBreakError"), *error = NULL;
    if (class == NULL) return;
    if (item != NULL && item->code != BREAK_NONE) {
        const char *file = break_file(job, item);
        const char *hint = break_hint(item->code), *stack = item->stack ? item->stack : "";
        bool ends = *stack != '\0' && stack[strlen(stack) - 1] == '\n';
        Text text = {0};
        text_printf(&text, "%s: %s%s%s (%s:%d)%s%.*s", break_code(item->code),
                    break_text(item->code), item->detail ? ": " : "",
                    item->detail ? item->detail : "", file ? file : "?", item->line,
                    *stack ? "\n" : "", (int)strlen(stack) - ends, stack);
        if (hint != NULL && *hint != '\0') text_printf(&text, "\n  hint: %s", hint);
        PyObject *message = text_to_str(&text);
        text_free(&text);
        if (message != NULL)
            error = PyObject_CallFunction(class, "Nszi", message, break_code(item->code), file,
                                          item->line);
    } else {
        error = PyObject_CallFunction(class, "s", "the function does not fit into one graph");
    }
    if (error != NULL) PyErr_SetObject(class, error);
    Py_XDECREF(error);
    Py_DECREF(class);
}

static void
note_break(const Job *job, CompileNote *note)
{
    if (job->capture->breaks.len == 0 || !log_enabled(LOG_PERF_HINTS)) return;
    const Break *item = &job->capture->breaks.at[job->capture->breaks.len - 1];
    note->code = item->code;
    note->line = item->line;
    if (item->detail != NULL) strncpy(note->detail, item->detail, sizeof(note->detail) - 1);
}

static Answer
stage_capture(Job *job, CompileNote *note)
{
    job->capture = capture(job->request);
    if (job->capture == NULL) return ANSWER_ERROR;
    stage_done(job, "capture");
    note->useful = job->capture->useful;
    note->gain = job->capture->gain;
    note->exit = job->capture->exit.kind;
    note->at = job->capture->exit.at;
    note_break(job, note);
    tell_breaks(job);
    tell_exit(job);
    if (job->config->fullgraph && job->capture->exit.kind != EXIT_RETURN) {
        raise_break(job);
        return ANSWER_ERROR;
    }
    return job->capture->useful ? ANSWER_YES : ANSWER_NO;
}

static Answer
stage_graph(Job *job)
{
    if ((job->notes = outputs_note(job->capture)) == NULL) return ANSWER_ERROR;
    dump_pass(job, "capture", job->capture->graph);
    if (run_passes(job->capture->graph, dump_pass, job) < 0) return ANSWER_ERROR;
    stage_done(job, "passes");
    tell_graph(job);
    job->guards = guards_new(job->capture, job->request->decoded->code);
    if (job->guards == NULL) return ANSWER_ERROR;
    tell_guards(job);
    return ANSWER_YES;
}

static void
fail_softly(Job *job, const char *stage, const char *why)
{
    record_string(job->record, "kind", "failed");
    record_string(job->record, "why", why);
    log_emit(LOG_PERF_HINTS, "%s: left to CPython: %s: %s", where_of(job), stage, why ? why : "?");
}

static Answer
stage_code(Job *job)
{
    Answer answer = ANSWER_YES;
    const char *why = NULL;
    job->program = lower(job->capture->graph, &answer, &why);
    if (job->program == NULL) {
        if (PyErr_Occurred()) return ANSWER_ERROR;
        tell_unlowered(job, why);
        fail_softly(job, "lower", why);
        return ANSWER_NO;
    }
    stage_done(job, "lower");
    tell_program(job);
    if (job->program->kernels.len == 0) return ANSWER_YES;
    Text source = {0};
    answer = ANSWER_ERROR;
    if (codegen_c(job->capture->graph, job->program, false, &source) == 0 &&
        text_finish(&source) == 0) {
        stage_done(job, "codegen");
        bool cached = job->capture->gain < job->patience;
        answer = code_load(source.data, job->config, cached, &job->code);
        job->postponed = cached && answer == ANSWER_NO;
        stage_done(job, "compile");
    }
    text_free(&source);
    if (job->postponed) record_string(job->record, "kind", "postponed");
    if (answer == ANSWER_NO && !job->postponed) fail_softly(job, "compile", "the C compiler");
    return answer;
}

/* ---- backends that are Python callables ---- */

static PyObject *
example_inputs(Job *job)
{
    const Capture *c = job->capture;
    Roots roots = {job->request->slots, job->request->decoded->nlocalsplus + job->request->depth};
    PyObject **reached = mem_alloc(sizeof(PyObject *) * (size_t)(c->sources.len + 1));
    PyObject *list = reached ? PyList_New(c->input_source.len) : NULL;
    int failed;
    if (list != NULL && !guards_check(job->guards, &roots, reached, &failed)) {
        PyErr_SetString(PyExc_SystemError, "a guard fails on the values that were captured");
        Py_CLEAR(list);
    }
    for (int i = 0; list != NULL && i < c->input_source.len; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(reached[c->input_source.at[i]]));
    mem_free(reached);
    return list;
}

/* A program of one call: backend's callable over all inputs, a list of all outputs back. */
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
        Type type = graph_node(g, g->outputs.at[i])->type;
        int same = i;
        for (int k = i - 1; k >= 0; k--)
            if (g->outputs.at[k] == g->outputs.at[i]) same = k;
        Buffer buffer = {.kind = BUFFER_EXTERN, .type = type, .bytes = NO_SIZE};
        call->results[call->nresults++] = p->buffers.len;
        Located at = {
            .node = g->outputs.at[i], .place = {g->inputs.len + same, NO_SIZE}, .type = type};
        if (VEC_PUSH(c->arena, &p->buffers, buffer) < 0 || VEC_PUSH(c->arena, &p->located, at) < 0)
            return NULL;
    }
    return VEC_PUSH(c->arena, &p->steps, step) < 0 ? NULL : p;
}

static Answer
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
    if (!PyCallable_Check(callable)) {
        PyObject *category = errors_class("BackendError");
        if (category != NULL)
            PyErr_Format(category, "a backend must return a callable, not %s",
                         Py_TYPE(callable)->tp_name);
        Py_XDECREF(category);
        goto done;
    }
    if (PyList_Append(job->capture->keep, callable) < 0) goto done;
    if ((job->program = program_of_call(job, callable)) != NULL) answer = ANSWER_YES;
    stage_done(job, "backend");
done:
    Py_XDECREF(view);
    Py_XDECREF(inputs);
    Py_XDECREF(callable);
    return answer;
}

/* ---- the pipeline ---- */

/* An effect may look at the frame. */
static bool
needs_frame(const Capture *capture)
{
    for (int i = 0; i < capture->builds.len; i++)
        if (capture->builds.at[i].kind == EFFECT_CALL) return true;
    return false;
}

static bool
starts_whole(const Job *job)
{
    return job->request->number == job->request->decoded->first_traceable &&
           job->capture->exit.kind == EXIT_RETURN && !needs_frame(job->capture);
}

static Answer
run_stages(Job *job, Plan **out, CompileNote *note)
{
    bool native = job->config->backend_call == NULL;
    Answer answer = stage_capture(job, note);
    if (answer == ANSWER_YES) answer = stage_graph(job);
    if (answer == ANSWER_YES) answer = native ? stage_code(job) : stage_backend(job);
    if (answer != ANSWER_YES) return answer;
    *out = plan_new(job->capture, job->notes, job->program, job->code, job->guards,
                    starts_whole(job), !native);
    job->code = NULL;
    job->guards = NULL;
    if (*out == NULL) return ANSWER_ERROR;
    record_string(job->record, "kind", "plan");
    return ANSWER_YES;
}

/* An error of our own is logged and forgotten; the program has not asked for it. */
static Answer
judge_error(Job *job)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return ANSWER_ERROR;
    PyObject *asked = NULL, *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    asked = errors_class("PycompileError");
    bool is_asked = asked != NULL && PyErr_GivenExceptionMatches(type, asked);
    Py_XDECREF(asked);
    PyErr_Clear();
    if (is_asked) {
        PyErr_Restore(type, value, trace);
        return ANSWER_ERROR;
    }
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *string = text ? PyUnicode_AsUTF8(text) : NULL;
    Text why = {0};
    text_printf(&why, "%s: %s", type ? ((PyTypeObject *)type)->tp_name : "?",
                string ? string : "?");
    PyErr_Clear();
    fail_softly(job, "error", why.data);
    text_free(&why);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Clear();
    return ANSWER_NO;
}

/* The guards under which there is no plan: with other values there may be one. */
static void
note_guards(Job *job, CompileNote *note)
{
    if (job->guards == NULL && job->capture != NULL)
        job->guards = guards_new(job->capture, job->request->decoded->code);
    if (job->guards == NULL) PyErr_Clear();
    note->guards = job->guards;
    job->guards = NULL;
}

static void
end_job(Job *job)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (job->record != NULL) {
        record_object(job->record, "seconds", Py_XNewRef(job->seconds));
        if (report_add(job->record) < 0) PyErr_Clear();
    }
    Py_XDECREF(job->record);
    Py_XDECREF(job->seconds);
    guards_free(job->guards);
    if (job->code != NULL) code_release(job->code);
    if (job->capture != NULL) capture_free(job->capture);
    text_free(&job->where);
    text_free(&job->dumped);
    PyErr_Restore(type, value, trace);
}

Answer
compile_plan(const CaptureRequest *request, const char *reason, int64_t patience, Plan **out,
             CompileNote *note)
{
    Job job = {.request = request, .config = request->config, .reason = reason};
    job.patience = patience;
    *note = (CompileNote){0};
    depth++;
    begin_record(&job);
    if (reason != NULL && log_enabled(LOG_RECOMPILES))
        log_emit(LOG_RECOMPILES, "%s: recompiled because %s", where_of(&job), reason);
    Answer answer = run_stages(&job, out, note);
    if (answer == ANSWER_ERROR) answer = judge_error(&job);
    note->postponed = job.postponed;
    if (answer == ANSWER_NO && !job.postponed) note_guards(&job, note);
    end_job(&job);
    depth--;
    return answer;
}
