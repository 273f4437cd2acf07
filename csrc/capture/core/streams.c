/* Where text goes: streams, handlers of loggers, and how warnings are shown.  A print, log call or
   warning may only be put off where none of this runs code of the program's. */
#include "../capture.h"

/* A name, interned at its first use for good: these questions are asked in each run. */
typedef struct {
    const char *text;
    PyObject *object;
} Name;

static PyObject *
interned_name(Name *name)
{
    if (name->object == NULL && (name->object = PyUnicode_InternFromString(name->text)) != NULL &&
        PyObject_Hash(name->object) == -1)
        Py_CLEAR(name->object);
    if (name->object == NULL) PyErr_Clear();
    return name->object;
}

/* What the object stores itself under the name (a class: or a base), borrowed, or NULL. */
static PyObject *
stored(PyObject *object, Name *name)
{
    PyObject *key = interned_name(name);
    return key == NULL ? NULL : attribute_stored(object, key);
}

#define STORED(object, name)                                                                       \
    ({                                                                                             \
        static Name name_ = {name, NULL};                                                          \
        stored(object, &name_);                                                                    \
    })

/* The module, borrowed, where it is imported. */
static PyObject *
imported(Name *name)
{
    PyObject *key = interned_name(name);
    PyObject *module = key ? PyDict_GetItemWithError(PyImport_GetModuleDict(), key) : NULL;
    if (module == NULL) PyErr_Clear();
    return module != NULL && PyModule_Check(module) ? module : NULL;
}

static Name io_module = {"_io", NULL}, logging_module = {"logging", NULL},
            handlers_module = {"logging.handlers", NULL}, warnings_module = {"warnings", NULL};

static bool
is_io(PyObject *object, Name *name)
{
    PyObject *io = imported(&io_module);
    return io != NULL && object != NULL && (PyObject *)Py_TYPE(object) == stored(io, name);
}

/* A new reference, or NULL without an error. */
static PyObject *
part(PyObject *object, const char *name)
{
    PyObject *found = object ? PyObject_GetAttrString(object, name) : NULL;
    if (found == NULL) PyErr_Clear();
    return found;
}

bool
stream_is_plain(PyObject *stream)
{
    static Name text = {"StringIO", NULL}, wrapper = {"TextIOWrapper", NULL},
                bytes = {"BytesIO", NULL}, file = {"FileIO", NULL},
                writer = {"BufferedWriter", NULL};
    if (is_io(stream, &text)) return true;
    if (!is_io(stream, &wrapper)) return false;
    PyObject *buffer = part(stream, "buffer"), *raw = NULL;
    bool plain = is_io(buffer, &bytes) || is_io(buffer, &file);
    if (is_io(buffer, &writer)) plain = is_io(raw = part(buffer, "raw"), &file);
    Py_XDECREF(buffer);
    Py_XDECREF(raw);
    return plain;
}

/* ---- loggers ---- */

/* Is it a function that this module defines? */
static bool
is_function_of(PyObject *function, PyObject *module)
{
    return module != NULL && function != NULL && PyFunction_Check(function) &&
           PyFunction_GET_GLOBALS(function) == PyModule_GetDict(module);
}

/* The class is the library's, and so are these methods, which the object has from it. */
static bool
behaves(PyObject *object, Name *methods)
{
    PyObject *modules[] = {imported(&logging_module), imported(&handlers_module)};
    for (; methods->text != NULL; methods++) {
        PyObject *found = stored((PyObject *)Py_TYPE(object), methods);
        bool known = is_function_of(found, modules[0]) || is_function_of(found, modules[1]);
        if (!known || stored(object, methods) != NULL) return false;
    }
    return true;
}

static bool
is_empty_list(PyObject *object)
{
    return object != NULL && PyList_CheckExact(object) && PyList_GET_SIZE(object) == 0;
}

static bool
is_absent(PyObject *object)
{
    return object == NULL || object == Py_None;
}

static bool
formatter_is_plain(PyObject *formatter)
{
    static Name methods[] = {{"format", NULL},
                             {"formatTime", NULL},
                             {"formatMessage", NULL},
                             {"formatException", NULL},
                             {"formatStack", NULL},
                             {"usesTime", NULL},
                             {NULL, NULL}};
    static Name of_style[] = {
        {"format", NULL}, {"_format", NULL}, {"usesTime", NULL}, {NULL, NULL}};
    if (is_absent(formatter)) return true;
    PyObject *style = STORED(formatter, "_style");
    return STORED(formatter, "converter") == NULL && behaves(formatter, methods) && style != NULL &&
           behaves(style, of_style) && is_absent(STORED(style, "_defaults"));
}

typedef enum { NOT_KNOWN, NOWHERE, TO_ITS_STREAM, TO_STDERR } HandlerGo;

/* Where a handler of the library's writes. */
static HandlerGo
handler_goes(PyObject *handler)
{
    static struct {
        Name *module, class_;
        HandlerGo go;
    } rows[] = {
        {&logging_module, {"StreamHandler", NULL}, TO_ITS_STREAM},
        {&logging_module, {"FileHandler", NULL}, TO_ITS_STREAM},
        {&logging_module, {"NullHandler", NULL}, NOWHERE},
        {&logging_module, {"_StderrHandler", NULL}, TO_STDERR},
        {&handlers_module, {"RotatingFileHandler", NULL}, TO_ITS_STREAM},
        {&handlers_module, {"TimedRotatingFileHandler", NULL}, TO_ITS_STREAM},
        {&handlers_module, {"WatchedFileHandler", NULL}, TO_ITS_STREAM},
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        PyObject *module = imported(rows[i].module);
        PyObject *class_ = module ? stored(module, &rows[i].class_) : NULL;
        if (class_ == (PyObject *)Py_TYPE(handler)) return rows[i].go;
    }
    return NOT_KNOWN;
}

static bool
handler_is_plain(PyObject *handler)
{
    static Name methods[] = {{"handle", NULL},  {"emit", NULL},    {"format", NULL},
                             {"filter", NULL},  {"flush", NULL},   {"handleError", NULL},
                             {"acquire", NULL}, {"release", NULL}, {NULL, NULL}};
    HandlerGo go = handler_goes(handler);
    if (go == NOT_KNOWN || !behaves(handler, methods) ||
        !is_empty_list(STORED(handler, "filters")) ||
        !formatter_is_plain(STORED(handler, "formatter")) || !is_absent(STORED(handler, "namer")) ||
        !is_absent(STORED(handler, "rotator")))
        return false;
    if (go == NOWHERE) return true;
    PyObject *stream = go == TO_STDERR ? PySys_GetObject("stderr") : STORED(handler, "stream");
    return is_absent(stream) || stream_is_plain(stream);
}

/* Is the message of this level shown at all?  Loggers note that for each level. */
static bool
is_enabled(PyObject *logger, PyObject *level)
{
    PyObject *notes = STORED(logger, "_cache");
    PyObject *noted = NULL;
    if (notes != NULL && PyDict_CheckExact(notes)) noted = PyDict_GetItemWithError(notes, level);
    PyErr_Clear();
    if (STORED(logger, "disabled") == Py_True || noted == Py_False) return false;
    if (noted == Py_True) return true;
    PyObject *answer = PyObject_CallMethod(logger, "isEnabledFor", "O", level);
    bool enabled = answer != Py_False;
    Py_XDECREF(answer);
    PyErr_Clear();
    return enabled;
}

static bool
takes_level(PyObject *handler, PyObject *level)
{
    PyObject *least = STORED(handler, "level");
    return least == NULL || !PyLong_CheckExact(least) ||
           PyLong_AsLong(level) >= PyLong_AsLong(least);
}

bool
logger_is_plain(PyObject *logger, PyObject *level)
{
    static Name methods[] = {{"_log", NULL},       {"handle", NULL},       {"filter", NULL},
                             {"makeRecord", NULL}, {"callHandlers", NULL}, {"findCaller", NULL},
                             {NULL, NULL}};
    PyObject *logging = imported(&logging_module);
    static Name asked[] = {{"isEnabledFor", NULL}, {NULL, NULL}};
    if (logging == NULL || !behaves(logger, asked)) return false;
    if (!is_enabled(logger, level)) return true;
    if (!behaves(logger, methods) || !is_empty_list(STORED(logger, "filters")) ||
        STORED(logging, "_logRecordFactory") != STORED(logging, "LogRecord"))
        return false;
    int found = 0;
    for (PyObject *at = logger; !is_absent(at); at = STORED(at, "parent")) {
        PyObject *handlers = STORED(at, "handlers");
        if (handlers == NULL || !PyList_CheckExact(handlers)) return false;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(handlers); i++, found++) {
            PyObject *handler = PyList_GET_ITEM(handlers, i);
            if (takes_level(handler, level) && !handler_is_plain(handler)) return false;
        }
        if (STORED(at, "propagate") != Py_True) break;
    }
    PyObject *last = STORED(logging, "lastResort");
    return found > 0 || is_absent(last) || handler_is_plain(last);
}

/* ---- warnings ---- */

/* A filter's pattern, which is matched without code of the program's. */
static bool
is_pattern(PyObject *object)
{
    return object == Py_None || PyUnicode_CheckExact(object) ||
           strcmp(Py_TYPE(object)->tp_name, "re.Pattern") == 0;
}

static bool
filters_are_plain(PyObject *filters)
{
    if (filters == NULL || !PyList_CheckExact(filters)) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); i++) {
        PyObject *filter = PyList_GET_ITEM(filters, i);
        if (!PyTuple_CheckExact(filter) || PyTuple_GET_SIZE(filter) != 5 ||
            !is_pattern(PyTuple_GET_ITEM(filter, 1)) || !is_pattern(PyTuple_GET_ITEM(filter, 3)) ||
            !PyType_CheckExact(PyTuple_GET_ITEM(filter, 2)))
            return false;
    }
    return true;
}

WarningsGo
warnings_go(PyObject **list)
{
    static Name functions[] = {{"showwarning", NULL},
                               {"formatwarning", NULL},
                               {"_showwarnmsg", NULL},
                               {"_formatwarnmsg", NULL},
                               {"_formatwarnmsg_impl", NULL}};
    PyObject *module = imported(&warnings_module);
    if (module == NULL || !filters_are_plain(STORED(module, "filters"))) return WARNINGS_TO_PROGRAM;
    for (int i = 0; i < COUNT_OF(functions); i++)
        if (!is_function_of(stored(module, &functions[i]), module)) return WARNINGS_TO_PROGRAM;
    PyObject *show = STORED(module, "_showwarnmsg_impl");
    if (is_function_of(show, module)) {
        PyObject *stream = PySys_GetObject("stderr");
        return is_absent(stream) || stream_is_plain(stream) ? WARNINGS_TO_STDERR
                                                            : WARNINGS_TO_PROGRAM;
    }
    if (show == NULL || !PyCFunction_CheckExact(show)) return WARNINGS_TO_PROGRAM;
    *list = PyCFunction_GET_SELF(show);
    bool appends = *list != NULL && PyList_CheckExact(*list) &&
                   strcmp(((PyCFunctionObject *)show)->m_ml->ml_name, "append") == 0;
    return appends ? WARNINGS_TO_LIST : WARNINGS_TO_PROGRAM;
}
