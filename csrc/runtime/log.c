/* Channels of text about compiling: PYCOMPILE_LOGS, or levels set on the loggers themselves.

   A channel is on when PYCOMPILE_LOGS names it, or when the program has set a level on its logger
   (`pycompile.CHANNEL`) or on `pycompile` that lets it through; the root's level does not count, so
   that an application in debug mode is not flooded with dumps.  All of it is for compile time. */
#include "../passes/passes.h"
#include "cache.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVEL_DEBUG = 10, LEVEL_INFO = 20 };

static const struct {
    const char *name;
    int level;
} channels[LOG_COUNT] = {
    [LOG_RECOMPILES] = {"recompiles", LEVEL_INFO},
    [LOG_GRAPH_BREAKS] = {"graph_breaks", LEVEL_INFO},
    [LOG_GUARDS] = {"guards", LEVEL_DEBUG},
    [LOG_BYTECODE] = {"bytecode", LEVEL_DEBUG},
    [LOG_GRAPH] = {"graph", LEVEL_DEBUG},
    [LOG_SCHEDULE] = {"schedule", LEVEL_DEBUG},
    [LOG_OUTPUT_CODE] = {"output_code", LEVEL_DEBUG},
    [LOG_PERF_HINTS] = {"perf_hints", LEVEL_INFO},
    [LOG_CACHE] = {"cache", LEVEL_DEBUG},
};

enum { MAX_DETAIL = 512 };

/* What PYCOMPILE_LOGS or set_logs asks for. */
typedef struct {
    bool asked[LOG_COUNT];
    char passes[MAX_DETAIL]; /* ",cse,dce," */
} Wanted;

static Wanted wanted;
static char *spelled; /* the specification as given; malloc; NULL: none */
static bool prepared; /* the loggers' levels and the handler have been set */
static struct {
    bool open;
    long before;     /* its former level */
} opened[LOG_COUNT]; /* the loggers whose level pycompile has set */

/* ---- hints that were given ---- */

enum { MOST_GIVEN = 1024 };
static Digest given[MOST_GIVEN];
static int ngiven;

/* Was the hint given before? The same is found of a code again and again: for each shape, and for
   each closure.  After very many the first ones may be given again. */
static bool
is_given(const char *text)
{
    Hash hash;
    hash_begin(&hash);
    hash_add_string(&hash, text);
    Digest digest = hash_end(&hash);
    for (int i = 0; i < Py_MIN(ngiven, MOST_GIVEN); i++)
        if (memcmp(&given[i], &digest, sizeof(digest)) == 0) return true;
    given[ngiven++ % MOST_GIVEN] = digest;
    if (ngiven == 2 * MOST_GIVEN) ngiven = MOST_GIVEN;
    return false;
}

static struct {
    const char *hint;
    char place[200];
} hinted[128];
static int nhinted;

const char *
log_hint_given(const char *hint, const char *place)
{
    for (int i = 0; i < nhinted; i++)
        if (hinted[i].hint == hint) return hinted[i].place;
    if (nhinted == COUNT_OF(hinted)) return NULL;
    text_copy_cut(hinted[nhinted].place, sizeof(hinted[0].place), place);
    hinted[nhinted++].hint = hint;
    return NULL;
}

void
log_forget_hints(void)
{
    ngiven = nhinted = 0;
}

/* ---- the levels of the loggers ---- */

/* logging.getLogger(name), a new reference; NULL with the error set. */
static PyObject *
get_logger(PyObject *logging, const char *channel)
{
    char name[64];
    snprintf(name, sizeof(name), "pycompile%s%s", *channel ? "." : "", channel);
    return PyObject_CallMethod(logging, "getLogger", "s", name);
}

/* The logger of a name, borrowed, or NULL without an error where nobody has asked for it: most
   channels are never asked for, and `getLogger` would make it. */
static PyObject *
made_logger(PyObject *logging, const char *channel)
{
    char name[64];
    snprintf(name, sizeof(name), "pycompile%s%s", *channel ? "." : "", channel);
    PyObject *class = PyObject_GetAttrString(logging, "Logger");
    PyObject *manager = class != NULL ? PyObject_GetAttrString(class, "manager") : NULL;
    PyObject *made = manager != NULL ? PyObject_GetAttrString(manager, "loggerDict") : NULL;
    PyObject *found = made != NULL && PyDict_Check(made) ? PyDict_GetItemString(made, name) : NULL;
    Py_XDECREF(class);
    Py_XDECREF(manager);
    Py_XDECREF(made); /* the manager has it */
    return found;
}

/* The level set on the logger itself, 0 when none is; errors count as none. */
static long
own_level(PyObject *logging, const char *channel)
{
    PyObject *logger = made_logger(logging, channel);
    PyObject *level = logger != NULL ? PyObject_GetAttrString(logger, "level") : NULL;
    long value = level != NULL ? PyLong_AsLong(level) : 0;
    Py_XDECREF(level);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return value;
}

static int
set_level(PyObject *logging, int channel, long level)
{
    PyObject *logger = get_logger(logging, channels[channel].name);
    PyObject *done = logger != NULL ? PyObject_CallMethod(logger, "setLevel", "l", level) : NULL;
    Py_XDECREF(logger);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* Restores the former levels of loggers that were opened for channels no longer asked for, unless
   the program has changed them since. */
static void
close_loggers(void)
{
    PyObject *logging = module_loaded("logging");
    for (int i = 0; i < LOG_COUNT && logging != NULL; i++) {
        if (!opened[i].open || wanted.asked[i]) continue;
        opened[i].open = false;
        if (own_level(logging, channels[i].name) == LEVEL_DEBUG &&
            set_level(logging, i, opened[i].before) < 0)
            PyErr_Clear();
    }
    Py_XDECREF(logging);
}

/* ---- the specification ---- */

static int
channel_from_name(const char *name, size_t length)
{
    for (int i = 0; i < LOG_COUNT; i++)
        if (strlen(channels[i].name) == length && memcmp(channels[i].name, name, length) == 0)
            return i;
    return -1;
}

static int
unknown_channel(const char *name, size_t length)
{
    char known[256] = "all, graph:PASS, graph:all", wrong[64];
    for (int i = 0; i < LOG_COUNT; i++) {
        strcat(known, ", ");
        strcat(known, channels[i].name);
    }
    snprintf(wrong, sizeof(wrong), "%.*s", (int)Py_MIN(length, 60), name);
    PyErr_Format(PyExc_ValueError, "no channel %s; the channels are %s", wrong, known);
    return -1;
}

static bool
is_pass(const char *name, size_t length)
{
    for (int i = 0; pass_name(i) != NULL; i++)
        if (strlen(pass_name(i)) == length && memcmp(pass_name(i), name, length) == 0) return true;
    return length == 3 && memcmp(name, "all", 3) == 0;
}

static int
unknown_pass(const char *item, size_t length)
{
    Text known = {0};
    char wrong[64];
    text_put(&known, "all");
    for (int i = 0; pass_name(i) != NULL; i++) text_printf(&known, ", %s", pass_name(i));
    snprintf(wrong, sizeof(wrong), "%.*s", (int)Py_MIN(length, 60), item);
    if (text_finish(&known) == 0)
        PyErr_Format(PyExc_ValueError, "no pass %s; there are graph: with %s", wrong, known.data);
    text_free(&known);
    return -1;
}

/* One item: "graph", "graph:cse", "all". */
static int
configure_item(const char *item, size_t length, Wanted *out)
{
    const char *colon = memchr(item, ':', length);
    size_t name = colon != NULL ? (size_t)(colon - item) : length;
    if (colon == NULL && name == 3 && memcmp(item, "all", 3) == 0) {
        memset(out->asked, true, sizeof(out->asked));
        return 0;
    }
    int channel = channel_from_name(item, name);
    if (channel < 0) return unknown_channel(item, name);
    if (colon != NULL && (channel != LOG_GRAPH || !is_pass(colon + 1, length - name - 1)))
        return unknown_pass(item, length);
    out->asked[channel] = true;
    if (colon != NULL && strlen(out->passes) + length < sizeof(out->passes) - 2) {
        if (*out->passes == '\0') strcpy(out->passes, ",");
        strncat(out->passes, colon + 1, length - name - 1);
        strcat(out->passes, ",");
    }
    return 0;
}

/* Channels and details ("graph:cse") as PYCOMPILE_LOGS spells them; -1 with ValueError. */
static int
log_configure(const char *spec)
{
    Wanted fresh = {0};
    for (const char *at = spec; *at != '\0'; at += *at != '\0') {
        size_t length = strcspn(at, ", ");
        if (length > 0 && configure_item(at, length, &fresh) < 0) return -1;
        at += length;
    }
    char *copy = strdup(spec);
    if (copy == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    free(spelled);
    spelled = copy;
    wanted = fresh;
    prepared = false;
    close_loggers();
    log_forget_hints();
    return 0;
}

bool
log_wants_pass(const char *pass)
{
    char item[80];
    if (*wanted.passes == '\0') return false;
    if (strstr(wanted.passes, ",all,") != NULL) return true;
    snprintf(item, sizeof(item), ",%s,", pass);
    return strstr(wanted.passes, item) != NULL;
}

/* ---- the loggers ---- */

/* Has the program itself turned the channel on through `logging`, if it uses that? */
static bool
wanted_by_level(LogChannel channel)
{
    PyObject *logging = module_loaded("logging");
    if (logging == NULL) return false;
    long level = own_level(logging, channels[channel].name);
    if (level == 0) level = own_level(logging, "");
    Py_DECREF(logging);
    return level > 0 && level <= channels[channel].level;
}

/* A pending exception, set aside while Python code runs. */
typedef struct {
    PyObject *type, *value, *traceback;
} Pending;

bool
log_enabled(LogChannel channel)
{
    if (wanted.asked[channel]) return true;
    /* Python code would serve it, and what the program's handler raises would be lost. */
    if (signal_is_pending(PyThreadState_Get())) return false;
    Pending p;
    PyErr_Fetch(&p.type, &p.value, &p.traceback);
    bool by_level = wanted_by_level(channel);
    PyErr_Restore(p.type, p.value, p.traceback);
    return by_level;
}

/* Installs a handler to stderr with the bare text, unless another handler would get it already. */
static int
add_handler(PyObject *logging, PyObject *root)
{
    PyObject *has = PyObject_CallMethod(root, "hasHandlers", NULL);
    int answer = has != NULL ? PyObject_IsTrue(has) : -1;
    Py_XDECREF(has);
    if (answer != 0) return answer < 0 ? -1 : 0;
    /* logging's own last-resort handler: it writes to the present sys.stderr. */
    PyObject *handler = PyObject_CallMethod(logging, "_StderrHandler", NULL);
    PyObject *format = PyObject_CallMethod(logging, "Formatter", "s", "[%(name)s] %(message)s");
    PyObject *done = handler != NULL && format != NULL
                         ? PyObject_CallMethod(handler, "setFormatter", "O", format)
                         : NULL;
    Py_XSETREF(done, done != NULL ? PyObject_CallMethod(root, "addHandler", "O", handler) : NULL);
    Py_XDECREF(handler);
    Py_XDECREF(format);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* Opens the loggers of the channels that are asked for; once. */
static int
prepare(PyObject *logging)
{
    bool any = false;
    prepared = true;
    for (int i = 0; i < LOG_COUNT; i++) {
        if (!wanted.asked[i]) continue;
        any = true;
        if (opened[i].open) continue;
        opened[i].before = own_level(logging, channels[i].name);
        if (set_level(logging, i, LEVEL_DEBUG) < 0) return -1;
        opened[i].open = true;
    }
    if (!any) return 0;
    PyObject *root = get_logger(logging, "");
    int result = root != NULL ? add_handler(logging, root) : -1;
    Py_XDECREF(root);
    return result;
}

static int
emit(LogChannel channel, const char *text)
{
    PyObject *logging = module_import("logging"), *logger = NULL, *done = NULL;
    if (logging == NULL) return -1;
    if (prepared || prepare(logging) == 0) {
        logger = get_logger(logging, channels[channel].name);
        if (logger != NULL)
            done = PyObject_CallMethod(logger, "log", "iss", channels[channel].level, "%s", text);
    }
    Py_DECREF(logging);
    Py_XDECREF(logger);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static void
trace_hint(const char *text)
{
    PyObject *record = PyDict_New();
    record_string(record, "text", text);
    trace_put("hint", 0, record);
}

void
log_emit(LogChannel channel, const char *format, ...)
{
    Pending p;
    va_list args;
    char *text = NULL;
    bool traced = trace_on && channel == LOG_PERF_HINTS, logged = log_enabled(channel);
    if (!logged && !traced) return;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) return;
    PyErr_Fetch(&p.type, &p.value, &p.traceback);
    bool again = channel == LOG_PERF_HINTS && is_given(text);
    if (traced && !again) trace_hint(text);
    if (logged && !again && emit(channel, text) < 0) PyErr_Clear();
    PyErr_Restore(p.type, p.value, p.traceback);
    free(text);
}

/* The frames that the warnings module passes over when it counts levels. */
static bool
is_import_machinery(PyCodeObject *code)
{
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    if (file == NULL) PyErr_Clear();
    return file != NULL && strstr(file, "importlib") != NULL && strstr(file, "_bootstrap") != NULL;
}

/* Frames whose lines must not be blamed for a warning. */
static bool
is_of_ours(PyFrameObject *frame)
{
    PyObject *globals = PyFrame_GetGlobals(frame);
    PyObject *name = dict_named(globals, "__name__");
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    Py_DECREF(globals);
    if (text == NULL) PyErr_Clear();
    if (text == NULL) return false;
    if (strcmp(text, "importlib") == 0) return true; /* import_module */
    return strncmp(text, "pycompile", 9) == 0 && (text[9] == '\0' || text[9] == '.');
}

/* The stack level of the innermost frame outside pycompile and the import system; 1 is the current
   frame.  Starting in a frame of the import system, PyErr_WarnEx counts every frame; otherwise it
   skips the import system's. */
static int
level_of_program(void)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    bool counts_all = false;
    int level = 0;
    for (bool first = true; frame != NULL; first = false) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        bool machinery = is_import_machinery(code), ours = is_of_ours(frame);
        Py_DECREF(code);
        if (first) counts_all = machinery;
        level += counts_all || !machinery;
        if (!machinery && !ours) break;
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_SETREF(frame, back);
    }
    bool found = frame != NULL;
    Py_XDECREF(frame);
    return found ? level : 1;
}

/* A str of text that may not be UTF-8, as a path. */
static PyObject *
str_of(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* Issues the warning, with a text that is short for `details`. */
static void
warn_short(const char *text, const char *details)
{
    Pending p;
    PyErr_Fetch(&p.type, &p.value, &p.traceback);
    PyObject *category = errors_class("PycompileWarning"),
             *warn = module_object("warnings", "warn");
    PyObject *message = NULL, *done = NULL;
    if (category != NULL)
        message = PyObject_CallFunction(category, "NN", str_of(text), str_of(details));
    if (message != NULL && warn != NULL)
        done = PyObject_CallFunction(warn, "OOn", message, Py_None, level_of_program());
    PyErr_Clear();
    Py_XDECREF(category);
    Py_XDECREF(warn);
    Py_XDECREF(message);
    Py_XDECREF(done);
    PyErr_Restore(p.type, p.value, p.traceback);
}

/* Where the text is cut for a line of so many bytes: behind the last of its parts that fit, in the
   order of `marks`, unless that is next to nothing, else behind a word; what is in brackets is one
   part. */
static size_t
cut_at(const char *text, size_t room, const char *const *marks)
{
    size_t cut = 0;
    if (strlen(text) < room) return strlen(text);
    for (; *marks != NULL && cut < room / 3; marks++) {
        int depth = 0;
        for (size_t i = 0; i < room; i++) {
            depth += strchr("([{", text[i]) != NULL;
            depth -= strchr(")]}", text[i]) != NULL;
            if (depth <= 0 && strncmp(text + i, *marks, strlen(*marks)) == 0) cut = i;
        }
    }
    if (cut >= room / 3) return cut;
    for (cut = room - 1; cut > room / 3; cut--) /* a value that was shortened may lack a bracket */
        if (text[cut] == ' ') return cut;
    return room - 1;
}

enum { WIDE = 100 }; /* characters of a line of a warning */

/* In three lines at most, behind "; " or ": " where that fits.  No word is divided. */
static void
put_lines(Text *out, const char *text)
{
    static const char *const marks[] = {"; ", ": ", NULL};
    for (int line = 1; *text != '\0'; line++) {
        if (line > 1) text_put(out, "\n  ");
        size_t cut = cut_at(text, line > 1 ? WIDE - 2 : WIDE, marks);
        if (text[cut] == ';' || text[cut] == ':') cut++;
        cut += strcspn(text + cut, " ");
        text_printf(out, "%.*s", (int)cut, text);
        text += cut + strspn(text + cut, " ");
        if (line == 3 && *text != '\0') {
            text_put(out, "…");
            return;
        }
    }
}

void
log_warn(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    Text told = {0};
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) return;
    put_lines(&told, text);
    warn_short(told.data != NULL ? told.data : text, text);
    text_free(&told);
    free(text);
}

/* A line of a warning.  What is too long for one ends in "…". */
static void
put_line(Text *out, const char *start, const char *text, bool advice)
{
    static const char *const of_advice[] = {"; ", ": ", ", ", NULL};
    static const char *const of_facts[] = {"; ", NULL};
    char line[WIDE];
    text_printf(out, "%s%s", out->len ? "\n  " : "", start);
    size_t cut = cut_at(text, WIDE - 2 - strlen(start), advice ? of_advice : of_facts);
    text_copy_cut(line, cut + 1, text);
    text_printf(out, "%s%s", line, strlen(line) < strlen(text) ? "…" : "");
}

void
log_warn_lines(int n, const char *const *starts, const char *const *texts, const char *details)
{
    Text told = {0};
    for (int i = 0; i < n; i++)
        put_line(&told, starts[i], texts[i] != NULL ? texts[i] : "?", i > 1);
    warn_short(told.data != NULL ? told.data : "?", details);
    text_free(&told);
}

/* Warns of the error that is set, and clears it. */
static void
warn_of_variable(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *message = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    if (message != NULL) log_warn("PYCOMPILE_LOGS: %s", message);
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

int
log_init(void)
{
    const char *spec = getenv("PYCOMPILE_LOGS");
    char *known = spec != NULL ? calloc(1, strlen(spec) + 2) : NULL;
    if (known == NULL) return 0; /* out of memory: nothing is logged */
    Wanted ignored = {0};
    for (const char *at = spec; *at != '\0'; at += *at != '\0') {
        size_t length = strcspn(at, ", ");
        if (length > 0 && configure_item(at, length, &ignored) < 0)
            warn_of_variable();
        else
            strcat(strncat(known, at, length), ",");
        at += length;
    }
    if (log_configure(known) < 0) warn_of_variable();
    free(known);
    return 0;
}

/* ---- hooks ---- */

static PyObject *
py_log_configure(PyObject *Py_UNUSED(self), PyObject *spec)
{
    const char *text = PyUnicode_AsUTF8(spec);
    if (text == NULL || log_configure(text) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *
py_log_spec(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return PyUnicode_FromString(spelled != NULL ? spelled : "");
}

static PyObject *
py_log_channels(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < LOG_COUNT; i++) {
        PyObject *name = PyUnicode_FromString(channels[i].name);
        if (name == NULL || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *
test_log_emit(PyObject *Py_UNUSED(self), PyObject *args)
{
    const char *channel, *text;
    if (!PyArg_ParseTuple(args, "ss", &channel, &text)) return NULL;
    int number = channel_from_name(channel, strlen(channel));
    if (number < 0) return PyErr_Format(PyExc_ValueError, "no channel %s", channel);
    log_emit((LogChannel)number, "%s", text);
    return PyBool_FromLong(log_enabled((LogChannel)number));
}

static PyObject *
test_log_wants_pass(PyObject *Py_UNUSED(self), PyObject *pass)
{
    const char *name = PyUnicode_AsUTF8(pass);
    return name != NULL ? PyBool_FromLong(log_wants_pass(name)) : NULL;
}

PyMethodDef log_methods[] = {
    {"log_configure", py_log_configure, METH_O, "Channels as PYCOMPILE_LOGS spells them."},
    {"log_spec", py_log_spec, METH_NOARGS, "What log_configure was given last."},
    {"log_channels", py_log_channels, METH_NOARGS, "Names of the channels."},
    {"test_log_emit", test_log_emit, METH_VARARGS, "Emits; whether the channel is on."},
    {"test_log_wants_pass", test_log_wants_pass, METH_O, "Whether the pass's graph is asked for."},
    {NULL, NULL, 0, NULL},
};
