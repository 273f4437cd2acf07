/* Reports of a compile: lines of the log channels, and the record that explain and reports show.  A
   failure to report is ignored: it must not keep a program from running. */
#include "compile.h"

#include "../clock.h"
#include "guards.h"
#include "target.h"

void
stage_begin(Job *job)
{
    job->began = clock_seconds();
}

void
stage_done(Job *job, const char *stage)
{
    double now = clock_seconds(), seconds = now - job->began;
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

void
begin_record(Job *job)
{
    PyCodeObject *code = job->request->decoded->code;
    int line = job->request->decoded->instrs[job->request->number].line;
    const char *name = text_of_str(code->co_qualname), *file = text_of_str(code->co_filename);
    text_printf(&job->where, "%s (%s:%d)", name, file, line);
    tell_bytecode(job);
    stage_begin(job);
    job->started = clock_ns();
    /* Python code, which makes some of the texts, would serve a signal, and lose what its handler
       raises. */
    if (!report_wanted() && (!trace_on || signal_is_pending(PyThreadState_Get()))) return;
    job->record = PyDict_New();
    job->seconds = PyDict_New();
    PyErr_Clear();
    record_string(job->record, "kind", "none");
    BreakFrame at = told_frame(job->request->decoded, line);
    record_object(job->record, "function", told_function(&at));
    record_string(job->record, "file", file);
    record_int(job->record, "line", line);
    record_int(job->record, "first_line", code->co_firstlineno);
    record_int(job->record, "entry", job->request->number);
    record_object(job->record, "earned", PyBool_FromLong(job->request->effort > 0));
    report_hold((PyObject *)code);
    if (job->patience.twin_of != 0) record_int(job->record, "twin_of", job->patience.twin_of);
    if (job->reason != NULL) record_string(job->record, "recompile", job->reason);
    if (job->cause != NULL) record_object(job->record, "cause", Py_NewRef(job->cause));
}

/* "f (file.py:12)" */
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

static PyObject *
text_taken(Text *text)
{
    PyObject *string = text_to_str(text);
    text_free(text);
    return string;
}

/* The sources whose lengths have the size, as texts. */
static PyObject *
symbol_names(const Job *job, SizeId symbol)
{
    Graph *g = job->capture->graph;
    PyObject *names = PyList_New(0);
    for (int i = 0; names != NULL && i < g->sizes.len; i++) {
        const Size *size = &g->sizes.at[i];
        if (size->kind != SIZE_DIM || size_now(g, i) != symbol) continue;
        const Node *node = graph_node(g, size->node);
        Text text = {0};
        guard_put_source(&text, job->guards, job->capture->input_source.at[node->attrs.index]);
        if (node->type.form == FORM_ARRAY) text_printf(&text, ".shape[%d]", size->axis);
        PyObject *name = text_taken(&text);
        if (name == NULL || PyList_Append(names, name) < 0) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

/* Is it a length that the plan does not know, and no expression of others? */
static bool
is_symbol(Graph *g, SizeId id)
{
    const Size *size = &g->sizes.at[id];
    if (size->kind != SIZE_DIM || size_now(g, id) != id) return size->kind == SIZE_NUMBER;
    const Type *type = &graph_node(g, size->node)->type;
    return type->form != FORM_ARRAY || !size_is_const(g, type->shape[size->axis]);
}

/* As the graph calls them, what has them, what they were, and how short they may be. */
static void
tell_symbols(Job *job)
{
    Graph *g = job->capture->graph;
    PyObject *list = job->record != NULL ? PyList_New(0) : NULL;
    int64_t least;
    for (int i = 0; list != NULL && i < g->sizes.len; i++) {
        if (!is_symbol(g, i)) continue;
        PyObject *record = PyDict_New();
        Text name = {0};
        size_print(g, i, &name);
        record_object(record, "name", text_taken(&name));
        record_object(record, "of", symbol_names(job, i));
        record_int(record, "value", size_value(g, i));
        record_int(record, "least", size_lower(g, i, &least) ? least : 0);
        if (record == NULL || PyList_Append(list, record) < 0) PyErr_Clear();
        Py_XDECREF(record);
    }
    PyErr_Clear();
    record_object(job->record, "symbols", list);
    record_string(job->record, "fixed", job->capture->fixed);
}

void
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
    tell_symbols(job);
}

enum { MOST = 120 }; /* bytes of a source line that are shown */

/* The line of the source, without its indentation; empty where there is no file. */
static void
put_source_line(Text *out, const char *file, int line)
{
    PyObject *linecache = module_import("linecache");
    PyObject *text = linecache ? PyObject_CallMethod(linecache, "getline", "si", file, line) : NULL;
    const char *string = text != NULL && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    if (string != NULL) {
        string += strspn(string, " \t\f");
        size_t length = strcspn(string, "\r\n");
        if (length > 0)
            text_printf(out, ": %.*s%s", (int)(length > MOST ? MOST : length), string,
                        length > MOST ? "..." : "");
    }
    Py_XDECREF(text);
    Py_XDECREF(linecache);
}

PyObject *
told_function(const BreakFrame *frame)
{
    PyObject *told = NULL, *tell = NULL;
    size_t length = strlen(frame->function);
    if (length > 0 && frame->function[length - 1] == '>') /* "<lambda>", "<genexpr>" */
        tell = module_object("pycompile._source", "function_name");
    if (tell != NULL)
        told = PyObject_CallFunction(tell, "ssiii", frame->file, frame->function, frame->code.head,
                                     frame->code.line, frame->code.column);
    PyErr_Clear();
    Py_XDECREF(tell);
    if (told != NULL && PyUnicode_Check(told)) return told;
    Py_XDECREF(told);
    return PyUnicode_DecodeUTF8(frame->function, (Py_ssize_t)length, "replace");
}

static bool
same_frame(const BreakFrame *a, const BreakFrame *b)
{
    return a->line == b->line && a->code.column == b->code.column &&
           strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0;
}

/* "  file.py:12 in f: y = g(x)" for each frame, innermost first; a recursion is shown once. */
static void
put_stack(Text *out, const Break *item)
{
    for (int i = 0, same; i < item->nframes; i += same) {
        const BreakFrame *frame = &item->frames[i];
        for (same = 1; i + same < item->nframes && same_frame(frame, frame + same);) same++;
        PyObject *name = told_function(frame);
        if (name == NULL) PyErr_Clear();
        text_printf(out, "%s  %s:%d in %s", i ? "\n" : "", frame->file, frame->line,
                    name ? text_of_str(name) : frame->function);
        Py_XDECREF(name);
        put_source_line(out, frame->file, frame->line);
        if (same > 1) text_printf(out, " (%d times)", same);
    }
}

/* "PC0002: call of a C function …: call of 'f' (file.py:12)", the stack, the hint.  The log has
   each hint once, and then where that was. */
static void
put_break(Text *out, const Break *item, bool logged)
{
    const BreakFrame *at = &item->frames[0];
    text_printf(out, "%s: %s%s%s (%s:%d)\n", break_code(item->code), break_text(item->code),
                *item->detail ? ": " : "", item->detail, at->file, at->line);
    put_stack(out, item);
    const char *hint = break_hint(item), *given = NULL;
    if (*hint == '\0') return;
    if (logged) {
        Text place = {0};
        text_printf(&place, "%s at %s:%d", break_code(item->code), at->file, at->line);
        given = log_hint_given(hint, place.data ? place.data : "?");
        text_free(&place);
    }
    text_printf(out, "\n  hint: %s%s", given ? "as for " : "", given ? given : hint);
}

/* (file, line, function) of each, innermost first. */
static PyObject *
frames_list(const Break *item)
{
    PyObject *list = PyList_New(item->nframes);
    for (int i = 0; list != NULL && i < item->nframes; i++) {
        const BreakFrame *frame = &item->frames[i];
        PyObject *row = Py_BuildValue("(siN)", frame->file, frame->line, told_function(frame));
        if (row == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, row);
    }
    return list;
}

/* The line of the head of each of these functions. */
static PyObject *
heads_list(const Break *item)
{
    PyObject *list = PyList_New(item->nframes);
    for (int i = 0; list != NULL && i < item->nframes; i++) {
        PyObject *line = PyLong_FromLong(item->frames[i].code.head);
        if (line == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, line);
    }
    return list;
}

/* To the log, and to the list "breaks" of the record. */
static void
tell_break(Job *job, const Break *item)
{
    if (log_enabled(LOG_GRAPH_BREAKS)) {
        Text text = {0};
        put_break(&text, item, true);
        log_emit(LOG_GRAPH_BREAKS, "%s", text.data ? text.data : "?");
        text_free(&text);
    }
    PyObject *list = job->record != NULL ? PyDict_GetItemString(job->record, "breaks") : NULL;
    PyObject *record = list != NULL ? PyDict_New() : NULL;
    if (record != NULL) {
        record_string(record, "code", break_code(item->code));
        record_string(record, "text", break_text(item->code));
        record_string(record, "detail", *item->detail ? item->detail : NULL);
        record_string(record, "hint", break_hint(item));
        record_string(record, "file", item->frames[0].file);
        record_int(record, "line", item->frames[0].line);
        if (report_wanted()) {
            Text stack = {0};
            put_stack(&stack, item);
            record_text(record, "stack", &stack);
            text_free(&stack);
        }
        record_object(record, "frames", frames_list(item));
        record_object(record, "heads", heads_list(item));
        if (PyList_Append(list, record) < 0) PyErr_Clear();
        Py_DECREF(record);
    }
    PyErr_Clear();
}

void
tell_breaks(Job *job)
{
    record_object(job->record, "breaks", PyList_New(0));
    for (int i = 0; i < job->capture->breaks.len; i++) {
        const Break *item = &job->capture->breaks.at[i];
        if (item->code != BREAK_NONE) tell_break(job, item);
    }
}

BreakFrame
told_frame(const Decoded *decoded, int line)
{
    return (BreakFrame){.file = text_of_str(decoded->code->co_filename),
                        .function = text_of_str(decoded->code->co_qualname),
                        .line = line,
                        .code = decoded_place(decoded)};
}

/* The break for an internal error, at the line where the graph begins: `at`. */
static Break
break_of_ours(const Job *job, const char *why, BreakFrame *at)
{
    const Decoded *decoded = job->request->decoded;
    *at = told_frame(decoded, decoded->instrs[job->request->number].line);
    return (Break){.code = BREAK_LOWER, .detail = (char *)why, .nframes = 1, .frames = at};
}

void
tell_known_sizes(const Job *job)
{
    log_emit(LOG_PERF_HINTS, "%s: a plan for these sizes only: %s", where_of(job), job->refused);
}

void
tell_unlowered(Job *job, const char *why)
{
    BreakFrame at;
    Break item = break_of_ours(job, why, &at);
    tell_break(job, &item);
}

void
tell_exit(Job *job)
{
    static const char *const names[] = {"return", "break", "branch", "ways"};
    record_string(job->record, "exit", names[job->capture->exit.kind]);
    record_int(job->record, "instructions", job->capture->ninstructions);
    record_string(job->record, "unkept", job->capture->unkept);
}

void
tell_graph(Job *job)
{
    if (!wanted(job, LOG_GRAPH)) return;
    Text text = {0};
    if (graph_print(job->capture->graph, &text) < 0) PyErr_Clear();
    tell_text(job, LOG_GRAPH, "graph", &text);
    if (job->record != NULL && report_wanted())
        record_object(job->record, "graph_object", graph_view(job->capture->graph));
}

void
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

/* The bytes of each buffer, by its number, as an expression of lengths. */
static PyObject *
buffer_texts(const Job *job)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < job->program->buffers.len; i++) {
        const Type *type = &job->program->buffers.at[i].type;
        Text text = {0};
        text_printf(&text, "%d", type->form == FORM_OBJECT ? 0 : (int)dtype_size(type->dtype));
        for (int axis = 0; axis < type->rank; axis++) {
            text_put(&text, "*");
            size_print(job->capture->graph, type->shape[axis], &text);
        }
        PyObject *bytes = text_taken(&text);
        if (bytes == NULL || PyList_Append(list, bytes) < 0) Py_CLEAR(list);
        Py_XDECREF(bytes);
    }
    return list;
}

void
tell_program(Job *job)
{
    if (wanted(job, LOG_SCHEDULE)) {
        Text text = {0};
        if (program_print(job->capture->graph, job->program, &text) < 0) PyErr_Clear();
        tell_text(job, LOG_SCHEDULE, "schedule", &text);
    }
    if (wanted(job, LOG_OUTPUT_CODE)) {
        for (int device = 0; device < TARGET_COUNT; device++) {
            Text text = {0};
            if (!program_uses(job->program, (Device)device)) continue;
            if (targets[device].emit(job->capture->graph, job->program, true, &text, NULL) < 0)
                PyErr_Clear();
            tell_text(job, LOG_OUTPUT_CODE, "source", &text);
        }
    }
    if (job->record != NULL) record_object(job->record, "buffers", buffer_texts(job));
    long long read = 0, written = 0, made = 0;
    for (int i = 0; i < job->program->buffers.len; i++) {
        const Buffer *buffer = &job->program->buffers.at[i];
        if (buffer->kind == BUFFER_INPUT || buffer->kind == BUFFER_CONST)
            read += buffer_bytes(job, buffer);
        if (buffer->kind == BUFFER_OUTPUT && buffer->released == 0)
            written += buffer_bytes(job, buffer);
        if (buffer->kind == BUFFER_OUTPUT || buffer->kind == BUFFER_TEMP ||
            buffer->kind == BUFFER_EXTERN)
            made += buffer_bytes(job, buffer);
    }
    record_int(job->record, "kernels", job->program->kernels.len);
    record_int(job->record, "bytes_read", read);
    record_int(job->record, "bytes_written", written);
    record_int(job->record, "bytes_made", made);
    record_int(job->record, "bytes_arena", job->program->arena_bytes[DEVICE_HOST]);
}

/* ---- where a compile ends ---- */

void
raise_graph_break(const Break *item)
{
    PyObject *class = errors_class("GraphBreakError"), *error = NULL;
    if (class == NULL) return;
    Text text = {0};
    put_break(&text, item, false);
    PyObject *message = text_to_str(&text);
    text_free(&text);
    if (message != NULL)
        error = PyObject_CallFunction(class, "Nszi", message, break_code(item->code),
                                      item->frames[0].file, item->frames[0].line);
    if (error != NULL) PyErr_SetObject(class, error);
    Py_XDECREF(error);
    Py_DECREF(class);
}

/* The Instr of the line that the break names, which need not be the one where the graph ends. */
static int
instr_of_break(const Job *job, const Break *item)
{
    const Decoded *decoded = job->request->decoded;
    int at = job->capture->exit.at, line = item->frames[item->nframes - 1].line;
    for (int i = 0; decoded->instrs[at].line != line && i < decoded->count; i++)
        if (decoded->instrs[i].line == line) return i;
    return at;
}

void
raise_break(Job *job, CompileNote *note)
{
    const Break *item = NULL;
    if (job->capture->breaks.len > 0) item = &job->capture->breaks.at[job->capture->breaks.len - 1];
    if (item != NULL && item->code != BREAK_NONE) {
        note->raised = instr_of_break(job, item);
        raise_graph_break(item);
        return;
    }
    PyObject *class = errors_class("GraphBreakError");
    if (class != NULL) PyErr_SetString(class, "the function does not fit into one graph");
    Py_XDECREF(class);
}

void
raise_unlowered(Job *job, const char *stage, const char *why)
{
    BreakFrame at;
    Break item = break_of_ours(job, why && *why ? why : stage, &at);
    raise_graph_break(&item);
}

void
note_break(const Job *job, CompileNote *note)
{
    if (job->capture->breaks.len == 0 || !(trace_on || log_enabled(LOG_PERF_HINTS))) return;
    const Break *item = &job->capture->breaks.at[job->capture->breaks.len - 1];
    const BreakFrame *inner = &item->frames[0];
    note->code = item->code;
    note->hint = break_hint(item);
    note->line = item->frames[item->nframes - 1].line;
    Text text = {0};
    text_put(&text, item->detail);
    if (item->nframes > 1)
        text_printf(&text, "%sin %s (%s:%d)", *item->detail ? ", " : "", inner->function,
                    inner->file, inner->line);
    if (text.data != NULL) text_copy_cut(note->detail, sizeof(note->detail), text.data);
    text_free(&text);
}

/* The log tells it of whole functions that were to be compiled, not of each part between breaks,
   nor of the functions of a whole program. */
void
tell_left(Job *job)
{
    const Decoded *decoded = job->request->decoded;
    record_string(job->record, "why", job->capture->left);
    if (job->request->number == decoded->first_traceable && !program_is_running() &&
        job->capture->exit.kind == EXIT_RETURN)
        log_emit(LOG_PERF_HINTS, "%s: left to CPython: %s", where_of(job), job->capture->left);
}

void
fail_softly(Job *job, const char *stage, const char *why)
{
    record_string(job->record, "kind", "failed");
    record_string(job->record, "why", why);
    log_emit(LOG_PERF_HINTS, "%s: left to CPython: %s: %s", where_of(job), stage, why ? why : "?");
}
