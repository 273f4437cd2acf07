/* PYCOMPILE_TRACE: what happens, as lines of JSON, in one file for each process; docs/trace.md has
   the format.

   Nothing here runs Python code, since runs are told of at any moment: only the warning does, for
   which trace_put and the end of the trace are the time.  The file is opened for each line and
   closed again: a program may close every descriptor that it does not know.  Runs of plans are
   added up and written as windows of time, of which later ones are longer, so that a long program's
   file stays small.  A line that cannot be written is warned of and ends the trace.  Everything is
   under the GIL. */
#include "../clock.h"
#include "entry.h"
#include "hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

bool trace_on, runs_are_told;

enum { SHORTEST_NS = 10000000, SHARE = 32, DEEPEST = 8 };

static Text folder, facts; /* facts: what the first line of each file says of the program */
static char path[4096];    /* of this process's file; empty: not made yet */
static int64_t since_epoch;
static int unwritable;  /* errno, of which the program was not warned yet */
static long parent;     /* the process that has forked this one, or 0 */
static int32_t process; /* changes with a fork: what the parent has counted is not this one's */

/* ---- JSON ---- */

static void
put_quoted(Text *out, const char *string)
{
    text_put(out, "\"");
    for (const char *at = string; *at != '\0';) {
        size_t plain = 0;
        while ((unsigned char)at[plain] >= ' ' && at[plain] != '"' && at[plain] != '\\') plain++;
        if (plain > 0) text_printf(out, "%.*s", (int)plain, at);
        at += plain;
        if (*at == '\n')
            text_put(out, "\\n");
        else if (*at != '\0')
            text_printf(out, "\\u%04x", (unsigned char)*at);
        at += *at != '\0';
    }
    text_put(out, "\"");
}

/* Without printf's decimal point, which follows the program's locale. */
static void
put_double(Text *out, double value)
{
    char *digits = isfinite(value) ? PyOS_double_to_string(value, 'r', 0, 0, NULL) : NULL;
    text_put(out, digits != NULL ? digits : "null");
    PyMem_Free(digits);
}

static void put_value(Text *out, PyObject *value, int depth);

/* "key": value for each, separated by commas. */
static void
put_members(Text *out, PyObject *dict, int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (bool first = true; PyDict_Next(dict, &at, &key, &value); first = false) {
        text_put(out, first ? "" : ", ");
        put_quoted(out, text_of_str(key));
        text_put(out, ": ");
        put_value(out, value, depth);
    }
}

static void
put_items(Text *out, PyObject *sequence, int depth)
{
    text_put(out, "[");
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
        text_put(out, i ? ", " : "");
        put_value(out, PySequence_Fast_GET_ITEM(sequence, i), depth);
    }
    text_put(out, "]");
}

/* What records are made of; anything else is null. */
static void
put_value(Text *out, PyObject *value, int depth)
{
    if (PyBool_Check(value))
        text_put(out, value == Py_True ? "true" : "false");
    else if (PyLong_CheckExact(value))
        text_printf(out, "%lld", PyLong_AsLongLong(value));
    else if (PyFloat_CheckExact(value))
        put_double(out, PyFloat_AS_DOUBLE(value));
    else if (PyUnicode_CheckExact(value))
        put_quoted(out, text_of_str(value));
    else if (depth > 0 && (PyList_CheckExact(value) || PyTuple_CheckExact(value)))
        put_items(out, value, depth - 1);
    else if (depth > 0 && PyDict_CheckExact(value)) {
        text_put(out, "{");
        put_members(out, value, depth - 1);
        text_put(out, "}");
    } else
        text_put(out, "null");
}

static void
put_time(Text *out, const char *key, int64_t monotonic)
{
    int64_t us = (monotonic + since_epoch) / 1000;
    text_printf(out, ", \"%s\": %lld.%06lld", key, (long long)(us / 1000000),
                (long long)(us % 1000000));
}

/* ---- the file ---- */

static int
write_all(int fd, const Text *text)
{
    for (size_t done = 0; done < text->len;) {
        ssize_t count = write(fd, text->data + done, text->len - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return -1;
        done += (size_t)count;
    }
    return 0;
}

static void
put_line(const Text *text, int flags)
{
    if (text->failed) return; /* no memory: this line is lost */
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
    unwritable = fd < 0 || write_all(fd, text) < 0 ? errno : 0;
    if (fd >= 0) close(fd);
    if (unwritable == 0) return;
    trace_on = false;
    runs_are_told = report_wanted();
}

static void
warn_unwritable(void)
{
    int failed = unwritable;
    unwritable = 0;
    if (failed != 0)
        log_warn("PYCOMPILE_TRACE: the trace ends here, since %s cannot be written: %s", path,
                 strerror(failed));
}

/* The first line of the file, which is made. */
static void
begin_file(void)
{
    Text line = {0};
    snprintf(path, sizeof(path), "%s/%ld-%llx.jsonl", folder.data, (long)getpid(),
             (unsigned long long)(clock_ns() + since_epoch));
    text_put(&line, "{\"event\": \"begin\"");
    put_time(&line, "time", clock_ns());
    text_printf(&line, ", \"pid\": %ld, \"forked_from\": ", (long)getpid());
    text_printf(&line, parent != 0 ? "%ld" : "null", parent);
    text_printf(&line, "%s%s}\n", facts.len > 0 ? ", " : "", facts.len > 0 ? facts.data : "");
    put_line(&line, O_CREAT | O_EXCL);
    text_free(&line);
}

static void
end_line(Text *line)
{
    text_put(line, "}\n");
    if (*path == '\0') begin_file();
    if (trace_on) put_line(line, 0);
    text_free(line);
}

void
trace_put(const char *event, int64_t began, PyObject *record)
{
    Text line = {0};
    PyObject *type, *value, *trace;
    if (record == NULL || !trace_on) {
        Py_XDECREF(record);
        return;
    }
    PyErr_Fetch(&type, &value, &trace);
    text_printf(&line, "{\"event\": \"%s\"", event);
    put_time(&line, "time", clock_ns());
    if (began > 0) put_time(&line, "from", began);
    text_put(&line, PyDict_GET_SIZE(record) > 0 ? ", " : "");
    put_members(&line, record, DEEPEST);
    end_line(&line);
    Py_DECREF(record);
    warn_unwritable();
    PyErr_Restore(type, value, trace);
}

PyObject *
trace_record(const CodeState *state)
{
    PyObject *record = trace_on ? PyDict_New() : NULL;
    if (record == NULL) {
        PyErr_Clear();
        return NULL;
    }
    record_string(record, "function", text_of_str(state->code->co_qualname));
    record_string(record, "file", text_of_str(state->code->co_filename));
    record_int(record, "line", state->code->co_firstlineno);
    return record;
}

/* ---- runs of plans ---- */

enum { LEAST, MOST, SUM, LENGTH_FACTS };

static bool
is_length(const PlanSize *size)
{
    return size->kind == SIZE_DIM;
}

/* "lengths": {"d0_0": [least, most, mean]} of the window's runs. */
static void
put_lengths(Text *line, const Plan *plan)
{
    const int64_t *length = plan->traced.length;
    bool some = false;
    for (int i = 0; i < plan->ndynamic && plan->traced.met > 0; i++, length += LENGTH_FACTS) {
        const PlanSize *size = &plan->dynamic[i];
        if (!is_length(size)) continue;
        text_printf(line, "%s\"d%d_%d\": [%lld, %lld, ", some ? ", " : ", \"lengths\": {",
                    size->node, size->axis, (long long)length[LEAST], (long long)length[MOST]);
        put_double(line, (double)length[SUM] / (double)plan->traced.met);
        text_put(line, "]");
        some = true;
    }
    text_put(line, some ? "}" : "");
}

void
trace_meets(Plan *plan, PyObject *const *reached)
{
    TraceRuns *window = &plan->traced;
    if (plan->ndynamic == 0) return;
    if (window->length == NULL)
        window->length =
            arena_alloc(plan->memory, sizeof(int64_t) * LENGTH_FACTS * (size_t)plan->ndynamic);
    int64_t *length = window->length, value;
    bool first = window->process != process || window->met == 0;
    window->met = first ? 1 : window->met + 1;
    for (int i = 0; i < plan->ndynamic && length != NULL; i++, length += LENGTH_FACTS) {
        const PlanSize *size = &plan->dynamic[i];
        if (!is_length(size) || plan_size_read(plan, size, reached, &value) != ANSWER_YES) continue;
        length[LEAST] = first ? value : Py_MIN(length[LEAST], value);
        length[MOST] = first ? value : Py_MAX(length[MOST], value);
        length[SUM] = first ? value : length[SUM] + value;
    }
    if (length == NULL) window->met = 0;
    PyErr_Clear();
}

static void
put_window(Plan *plan, int64_t now)
{
    TraceRuns *window = &plan->traced;
    Text line = {0};
    text_put(&line, "{\"event\": \"runs\"");
    put_time(&line, "time", now);
    put_time(&line, "from", window->from);
    text_printf(&line, ", \"plan\": %lld, \"runs\": %lld, \"undone\": %lld",
                (long long)plan->number, (long long)window->runs, (long long)window->undone);
    text_printf(&line, ", \"seconds\": %lld.%09lld", (long long)(window->ns / 1000000000),
                (long long)(window->ns % 1000000000));
    put_lengths(&line, plan);
    end_line(&line);
    window->runs = window->undone = window->ns = window->met = 0;
    window->due = now + Py_MAX(SHORTEST_NS, (now - window->first) / SHARE);
}

void
trace_ran(Plan *plan, int64_t began, int64_t ended, bool undone)
{
    TraceRuns *window = &plan->traced;
    if (window->process != process)
        *window = (TraceRuns){.process = process, .met = window->met, .length = window->length};
    if (window->first == 0) window->first = began;
    if (window->runs == 0) window->from = began;
    window->runs++;
    window->undone += undone;
    window->ns += ended - began;
    if (ended >= window->due && plan->number > 0) put_window(plan, ended);
}

void
trace_rest(Plan *plan)
{
    bool counts = trace_on && plan->traced.process == process && plan->number > 0;
    if (counts && plan->traced.runs > 0) put_window(plan, clock_ns());
}

/* ---- what Python sees ---- */

static void
forked(void)
{
    parent = *path != '\0' ? atol(strrchr(path, '/') + 1) : parent;
    *path = '\0';
    process++;
}

static PyObject *
py_trace_begin(PyObject *Py_UNUSED(self), PyObject *args)
{
    const char *name;
    PyObject *said;
    static bool watches;
    if (!PyArg_ParseTuple(args, "sO!", &name, &PyDict_Type, &said)) return NULL;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    since_epoch = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - clock_ns();
    text_free(&folder);
    text_free(&facts);
    text_put(&folder, name);
    put_members(&facts, said, DEEPEST);
    if (text_finish(&folder) < 0 || text_finish(&facts) < 0) return NULL;
    if (!watches && pthread_atfork(NULL, NULL, forked) != 0) return PyErr_NoMemory();
    watches = trace_on = runs_are_told = true;
    parent = 0;
    begin_file();
    warn_unwritable();
    Py_RETURN_NONE;
}

static PyObject *
py_trace_put(PyObject *Py_UNUSED(self), PyObject *args)
{
    const char *event;
    PyObject *record;
    if (!PyArg_ParseTuple(args, "sO!", &event, &PyDict_Type, &record)) return NULL;
    trace_put(event, 0, Py_NewRef(record));
    Py_RETURN_NONE;
}

void
trace_end(PyObject *record)
{
    if (PyDict_Check(record)) trace_put("end", 0, Py_NewRef(record));
    warn_unwritable();
    trace_on = false;
    runs_are_told = report_wanted();
    *path = '\0';
}

PyMethodDef trace_methods[] = {
    {"trace_begin", py_trace_begin, METH_VARARGS,
     "trace_begin(folder, facts)\n\nTraces into a new file of the folder from now on."},
    {"trace_put", py_trace_put, METH_VARARGS, "trace_put(event, record)\n\nA line of the trace."},
    {NULL, NULL, 0, NULL},
};
