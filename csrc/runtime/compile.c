/* Making one plan: capture, passes, lower, codegen, load; or a user's backend in place of the last
   three (compile_backend.c).  An internal failure is logged and the program runs in CPython; only
   KeyboardInterrupt and errors that were asked for (fullgraph) are raised. */
#include "compile.h"

#include "../clock.h"
#include "entry.h"
#include "hooks.h"
#include "target.h"
#include "twins.h"

#include "../export/export.h"
#include "../passes/passes.h"

static _Thread_local int depth; /* compiles in progress on this thread */
static struct {
    long long captures, instructions, plans, twins, postponed, numbered;
    double seconds;
    PyObject *recompiles, *breaks; /* dicts of how often, by reason; NULL: none yet */
} counts;                          /* of the process */

/* One more of this key, which may be one of very many.  Keeps a set exception. */
static void
count_one(PyObject **dict, const char *name)
{
    enum { MOST = 1000 };
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (*dict == NULL) *dict = PyDict_New();
    PyObject *key = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace"), *one = NULL;
    PyObject *before = *dict != NULL && key != NULL ? PyDict_GetItemWithError(*dict, key) : NULL;
    if (before == NULL && *dict != NULL && PyDict_GET_SIZE(*dict) >= MOST)
        Py_XSETREF(key, PyUnicode_FromString("others"));
    if (*dict != NULL && key != NULL) {
        before = PyDict_GetItemWithError(*dict, key);
        one = PyLong_FromLongLong(1 + (before != NULL ? PyLong_AsLongLong(before) : 0));
    }
    if (one != NULL) PyDict_SetItem(*dict, key, one);
    Py_XDECREF(one);
    Py_XDECREF(key);
    PyErr_Restore(type, value, trace);
}

void
counts_recompiled(const char *reason)
{
    count_one(&counts.recompiles, reason);
}

static void
count_breaks(const Capture *capture)
{
    for (int i = 0; i < capture->breaks.len; i++) {
        BreakCode code = capture->breaks.at[i].code;
        Text name = {0};
        if (code == BREAK_NONE) continue;
        text_printf(&name, "%s: %s", break_code(code), break_text(code));
        if (name.data != NULL) count_one(&counts.breaks, name.data);
        text_free(&name);
    }
}

bool
calls_are_left(void)
{
    return (depth | stance_eager) > 0 || interpreter_ends();
}

enum {                    /* in the units of capture/control/worth.c */
       FOLLOW_COST = 70,  /* an instruction */
       PLAN_COST = 10000, /* passes, lowering, C text, and the plan itself: 0.3 ms */
};

/* ---- stages ---- */

static bool
leaves_by_exception(const Capture *capture)
{
    return capture->breaks.len > 0 && capture->breaks.at[capture->breaks.len - 1].leaves;
}

static Answer
stage_capture(Job *job, CompileNote *note)
{
    job->capture = capture(job->request);
    if (job->capture == NULL) return ANSWER_ERROR;
    stage_done(job, "capture");
    counts.instructions += job->capture->ninstructions;
    job->interrupted = job->postponed = job->capture->interrupted;
    if (job->interrupted) return ANSWER_NO;
    note->cut = job->capture->cut && job->request->until > 0;
    note->useful = job->capture->useful && !note->cut;
    note->recurses = job->capture->recurses;
    note->gain = job->capture->gain;
    note->saves = job->capture->saves;
    note->cost = FOLLOW_COST * (int64_t)job->capture->ninstructions;
    note->exit = job->capture->exit.kind;
    note->at = job->capture->exit.at;
    note->called = job->capture->called;
    note_break(job, note);
    count_breaks(job->capture);
    tell_breaks(job);
    tell_exit(job);
    if (job->config->fullgraph && job->capture->exit.kind != EXIT_RETURN) {
        if (leaves_by_exception(job->capture)) { /* CPython raises the program's own error */
            note->exit = EXIT_RETURN;
            return ANSWER_NO;
        }
        raise_break(job, note);
        return ANSWER_ERROR;
    }
    if (!job->capture->useful) tell_left(job);
    return note->useful ? ANSWER_YES : ANSWER_NO;
}

/* The plan does not save enough per run yet. */
static Answer
postpone(Job *job, bool on_disk)
{
    job->postponed = true;
    job->on_disk = on_disk;
    record_string(job->record, "kind", "postponed");
    return ANSWER_NO;
}

static Answer
stage_graph(Job *job)
{
    dump_pass(job, "capture", job->capture->graph);
    if (run_passes(job->capture->graph, dump_pass, job) < 0) return ANSWER_ERROR;
    stage_done(job, "passes");
    tell_graph(job);
    stage_begin(job);
    job->guards = guards_new(job->capture, job->request->decoded->code);
    if (job->guards == NULL) return ANSWER_ERROR;
    stage_done(job, "guards");
    tell_guards(job);
    stage_begin(job);
    return ANSWER_YES;
}

static CodeOrigin
origin_of(const Job *job)
{
    const PyCodeObject *code = job->request->decoded->code;
    return (CodeOrigin){text_of_str(code->co_qualname), text_of_str(code->co_filename),
                        code->co_firstlineno, NULL};
}

static void
put_shapes(const Graph *g, Text *out)
{
    for (int i = 0; i < g->inputs.len; i++) {
        const Type *type = &graph_node(g, g->inputs.at[i])->type;
        Text one = {0};
        if (type->form != FORM_ARRAY) continue;
        type_print(g, type, &one); /* strides follow in braces */
        if (one.data != NULL)
            text_printf(out, "%s%.*s", out->len > 0 ? ", " : "", (int)strcspn(one.data, "{"),
                        one.data);
        text_free(&one);
    }
}

/* Do the loops of this call alone take so much longer than the C compiler that it is waited for?
   Perhaps there is no other call.  Not where the user asked that nobody waits. */
static bool
pays_at_once(const Job *job)
{
    enum { TIMES = 2 };
    bool asks = job->patience.compile > 0 || job->patience.unless_paid;
    return asks && job->capture->certain >= TIMES * COMPILE_COST;
}

/* The code of the program's kernels on one device. */
static Answer
make_code(Job *job, Device device)
{
    Text source = {0};
    bool straight;
    Answer answer = ANSWER_ERROR;
    if (targets[device].emit(job->capture->graph, job->program, false, &source, &straight) == 0 &&
        text_finish(&source) == 0) {
        stage_done(job, "codegen");
        straight = straight || (job->config->quick_code && !job->capture->graph->fast);
        bool later = (job->config->background || job->patience.later) && !job->patience.waits;
        CodeHow how = job->capture->gain < job->patience.compile ? CODE_FOUND
                      : later && !pays_at_once(job)              ? CODE_LATER
                                                                 : CODE_COMPILED;
        job->text ^= text_hash(source.data) | 1;
        CodeOrigin origin = origin_of(job);
        Text shapes = {0};
        put_shapes(job->capture->graph, &shapes);
        origin.shapes = shapes.data;
        int64_t began = clock_ns();
        CodeTicket ticket;
        answer = code_load(device, source.data, straight, job->config, &origin, how, &ticket,
                           &job->codes.on[device]);
        if (how == CODE_COMPILED) job->waited_ns += clock_ns() - began;
        if (answer == ANSWER_NO && how == CODE_FOUND) postpone(job, false);
        if (answer == ANSWER_NO && how == CODE_COMPILED) /* it ends the wait for a compiler */
            job->interrupted = job->postponed = signal_is_pending(PyThreadState_Get());
        stage_done(job, "compile");
        if (ticket != 0) {
            job->later = (LaterCode){ticket, source, shapes, straight, origin};
            record_string(job->record, "code", "background");
            return ANSWER_YES;
        }
        text_free(&shapes);
        if (answer == ANSWER_YES) record_string(job->record, "code", code_found_in());
    }
    text_free(&source);
    if (answer == ANSWER_NO && !job->postponed)
        fail_softly(job, "compile", targets[device].problem());
    return answer;
}

static bool
graph_uses_device(const Graph *g)
{
    for (int i = 0; i < g->inputs.len; i++)
        if (graph_node(g, g->inputs.at[i])->type.device != DEVICE_HOST) return true;
    return false;
}

/* Returns why there is no program, a literal, or NULL. */
static const char *
describe_devices(Graph *g)
{
    const char *why = NULL;
    for (int device = 0; graph_uses_device(g) && device < TARGET_COUNT && why == NULL; device++)
        if (targets[device].describe != NULL) why = targets[device].describe(g);
    return why;
}

static Answer
stage_code(Job *job)
{
    Answer answer = ANSWER_YES;
    job->capture->graph->exported = job->patience.exports != NULL;
    job->capture->graph->saves = !job->capture->graph->exported;
    const char *why = describe_devices(job->capture->graph);
    if (run_preparation(job->capture->graph, dump_pass, job) < 0) return ANSWER_ERROR;
    job->program = why != NULL ? NULL : lower(job->capture->graph, &answer, &why);
    if (job->program == NULL) {
        if (PyErr_Occurred()) return ANSWER_ERROR;
        job->refused = why;
        if (job->patience.exports != NULL) job->patience.exports->refused = why;
        if (graph_has_symbols(job->capture->graph)) return ANSWER_NO;
        tell_unlowered(job, why);
        fail_softly(job, "lower", why);
        if (!job->config->fullgraph) return ANSWER_NO;
        raise_unlowered(job, "lower", why);
        return ANSWER_ERROR;
    }
    stage_done(job, "lower");
    tell_program(job);
    stage_begin(job);
    if (job->patience.exports != NULL) return stage_export(job);
    for (int device = 0; device < TARGET_COUNT && answer == ANSWER_YES; device++)
        if (program_uses(job->program, (Device)device)) answer = make_code(job, (Device)device);
    return answer;
}

/* ---- the pipeline ---- */

/* Is there an effect that may read the frame? */
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
    if (answer == ANSWER_YES && note->gain < job->patience.load) answer = postpone(job, true);
    if (answer == ANSWER_YES) note->cost += PLAN_COST;
    if (answer == ANSWER_YES) answer = stage_graph(job);
    if (answer == ANSWER_YES && !native && graph_uses_device(job->capture->graph)) {
        fail_softly(job, "backend", "arrays on a device, with which no backend is called");
        return ANSWER_NO;
    }
    if (answer == ANSWER_YES) answer = native ? stage_code(job) : stage_backend(job);
    if (answer != ANSWER_YES) return answer;
    const CodeOrigin origin = origin_of(job);
    *out = plan_new(job->capture, job->program, job->codes, job->guards, &origin, starts_whole(job),
                    !native);
    job->codes = (Codes){{NULL}};
    job->guards = NULL;
    if (*out == NULL) return ANSWER_ERROR;
    if (job->config->background || job->patience.later) plan_compile_later(*out);
    bool symbols = graph_has_symbols(job->capture->graph) && job->config->twin_after > 0;
    if (native && symbols && job->patience.twin_of == 0) twins_may_come(*out);
    (*out)->number = ++counts.numbered;
    record_string(job->record, "kind", "plan");
    record_int(job->record, "plan", (*out)->number);
    return ANSWER_YES;
}

/* Logs and clears an internal error. */
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
    Py_CLEAR(text);
    PyErr_Clear();
    bool whole = job->config->fullgraph && job->config->backend_call == NULL;
    if (whole) raise_unlowered(job, "error", why.data);
    text_free(&why);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return whole ? ANSWER_ERROR : ANSWER_NO;
}

/* Stores the guards under which there is no plan: with other values there may be one. */
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
        trace_put("compile", job->started, Py_NewRef(job->record));
    }
    Py_XDECREF(job->record);
    Py_XDECREF(job->seconds);
    guards_free(job->guards);
    codes_release(&job->codes);
    text_free(&job->later.source);
    text_free(&job->later.shapes);
    if (job->capture != NULL) capture_free(job->capture);
    text_free(&job->where);
    text_free(&job->dumped);
    PyErr_Restore(type, value, trace);
}

/* Of lengths that are symbols, for which there is no lowering. */
static void
forget_capture(Job *job)
{
    tell_known_sizes(job);
    guards_free(job->guards);
    codes_release(&job->codes);
    capture_free(job->capture);
    job->guards = NULL;
    job->capture = NULL;
    job->refused = NULL;
    stage_begin(job);
}

Answer
compile_plan(const CaptureRequest *request, const char *reason, PyObject *cause, Patience patience,
             Plan **out, CompileNote *note)
{
    Job job = {.request = request, .config = request->config, .reason = reason, .cause = cause};
    job.patience = patience;
    *note = (CompileNote){.raised = -1};
    double began = clock_seconds();
    depth++;
    begin_record(&job);
    Answer answer = run_stages(&job, out, note);
    CaptureRequest known = *request;
    if (answer == ANSWER_NO && job.refused != NULL && patience.exports == NULL &&
        graph_has_symbols(job.capture->graph)) {
        forget_capture(&job);
        known.known = true;
        job.request = &known;
        answer = run_stages(&job, out, note);
    }
    if (answer == ANSWER_ERROR) answer = judge_error(&job);
    note->postponed = job.postponed;
    note->interrupted = job.interrupted;
    note->text = job.text;
    note->on_disk = job.on_disk;
    note->waited_ns = job.waited_ns;
    if (answer == ANSWER_NO && !job.postponed) note_guards(&job, note);
    counts.captures++;
    if (patience.twin_of == 0)
        counts.plans += answer == ANSWER_YES;
    else
        counts.twins += answer == ANSWER_YES;
    if (answer == ANSWER_YES && job.later.ticket != 0) {
        note->waiting = waiting_new(&job, *out, note);
        *out = NULL;
        answer = note->waiting != NULL ? ANSWER_NO : ANSWER_ERROR;
    }
    counts.postponed += job.postponed;
    end_job(&job);
    findings_keep();
    counts.seconds += clock_seconds() - began;
    depth--;
    return answer;
}

/* ---- what Python sees ---- */

static PyObject *
py_compile_counts(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    PyObject *recompiles = counts.recompiles ? PyDict_Copy(counts.recompiles) : PyDict_New();
    PyObject *breaks = counts.breaks ? PyDict_Copy(counts.breaks) : PyDict_New();
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:d,s:d,s:N,s:N}", "captures", counts.captures,
                         "instructions", counts.instructions, "plans", counts.plans, "twins",
                         counts.twins, "postponed", counts.postponed, "seconds",
                         1e-9 * (double)account_spent(), "capture_seconds", counts.seconds,
                         "recompiles", recompiles, "breaks", breaks);
}

PyMethodDef compile_methods[] = {
    {"compile_counts", py_compile_counts, METH_NOARGS,
     "compile_counts() -> dict\n\nCaptures so far, the instructions that they followed in the end, "
     "plans made, plans that did not pay yet, what all of it has cost the program, the time in "
     "captures, and recompiles and graph breaks by reason."},
    {NULL, NULL, 0, NULL},
};
