/* Options: defaults from config.def and the environment, overridden per compiled function.

   A Config is made once for each set of values and lives for ever, so that plans can be told apart
   by its address. */
#include "hooks.h"

#include <stdlib.h>

typedef struct Interned {
    Config config;
    struct Interned *next;
} Interned;

static Interned *interned;
static Config defaults;

/* ---- one value ---- */

/* The string as the interpreter's interned one, which is never freed; NULL with the error set. */
static const char *
intern_string(PyObject *value)
{
    Py_INCREF(value);
    PyUnicode_InternInPlace(&value); /* the reference is kept for ever */
    return PyUnicode_AsUTF8(value);
}

static int
set_BOOL(const char *name, bool *out, PyObject *value)
{
    if (!PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "option %s is True or False, not %R", name, value);
        return -1;
    }
    *out = value == Py_True;
    return 0;
}

static int
set_INT(const char *name, int64_t *out, PyObject *value)
{
    if (!PyLong_Check(value)) {
        PyErr_Format(PyExc_TypeError, "option %s is an int, not %R", name, value);
        return -1;
    }
    long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred()) return -1;
    *out = number;
    return 0;
}

static int
set_STRING(const char *name, const char **out, PyObject *value)
{
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "option %s is a str, not %R", name, value);
        return -1;
    }
    *out = intern_string(value);
    return *out != NULL ? 0 : -1;
}

/* 0, or -1 with TypeError or ValueError. */
static int
set_option(Config *config, const char *name, PyObject *value)
{
    if (strcmp(name, "backend") == 0 && PyCallable_Check(value) && !PyUnicode_Check(value)) {
        config->backend = "python";
        config->backend_call = value;
        return 0;
    }
#define OPTION(option, type, ...)                                                                  \
    if (strcmp(name, #option) == 0) return set_##type(name, &config->option, value);
#include "../config.def"
#undef OPTION
    PyErr_Format(PyExc_TypeError, "unknown option %s", name);
    return -1;
}

static int
check(const Config *config)
{
    if (config->backend_call == NULL && strcmp(config->backend, "c") != 0) {
        PyErr_SetString(PyExc_ValueError, "option backend is \"c\" or a callable");
        return -1;
    }
    const char *negative = config->recompile_limit < 0 ? "recompile_limit"
                           : config->unroll < 0        ? "unroll"
                           : config->threads < 0       ? "threads"
                           : config->pool_bytes < 0    ? "pool_bytes"
                                                       : NULL;
    if (negative == NULL) return 0;
    PyErr_Format(PyExc_ValueError, "option %s is not negative", negative);
    return -1;
}

/* ---- interning ---- */

/* Strings are interned, so that equal ones have one address. */
static bool
equal(const Config *a, const Config *b)
{
#define OPTION(name, type, ...)                                                                    \
    if (a->name != b->name) return false;
#include "../config.def"
#undef OPTION
    return a->backend_call == b->backend_call;
}

static const Config *
intern(const Config *config)
{
    for (Interned *at = interned; at != NULL; at = at->next)
        if (equal(&at->config, config)) return &at->config;
    Interned *fresh = mem_alloc(sizeof(Interned));
    if (fresh == NULL) return NULL;
    fresh->config = *config;
    Py_XINCREF(fresh->config.backend_call);
    fresh->next = interned;
    interned = fresh;
    return &fresh->config;
}

/* What is one per process follows the last request that names it. */
static void
apply(const Config *config)
{
    if (config->threads != defaults.threads) threads_set_count((int)config->threads);
    if (config->pool_bytes != defaults.pool_bytes) pool_set_limit((size_t)config->pool_bytes);
}

const Config *
config_from_options(PyObject *options)
{
    Config config = defaults;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    if (!PyDict_Check(options)) {
        PyErr_Format(PyExc_TypeError, "options is a dict, not %R", options);
        return NULL;
    }
    while (PyDict_Next(options, &position, &key, &value)) {
        const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
        if (name == NULL) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_TypeError, "the name of an option is a str, not %R", key);
            return NULL;
        }
        if (set_option(&config, name, value) < 0) return NULL;
    }
    if (check(&config) < 0) return NULL;
    const Config *result = intern(&config);
    if (result != NULL) apply(result);
    return result;
}

/* ---- defaults ---- */

static const char *
default_string(const char *text)
{
    PyObject *string = PyUnicode_InternFromString(text); /* kept for ever */
    return string != NULL ? PyUnicode_AsUTF8(string) : NULL;
}

/* A whole number from the environment; what is not one is ignored, with a warning. */
static int
number_from(const char *variable, int64_t otherwise, int64_t *out)
{
    const char *text = variable != NULL ? getenv(variable) : NULL;
    char *end;
    *out = otherwise;
    if (text == NULL || *text == '\0') return 0;
    long long number = strtoll(text, &end, 10);
    if (*end != '\0' || number < 0) {
        log_warn("%s=%s is no whole number, 0 or more: ignored", variable, text);
        return 0;
    }
    *out = number;
    return 0;
}

int
config_init(void)
{
    int64_t number;
#define DEFAULT_INT(name, value, variable)                                                         \
    if (number_from(variable, value, &number) < 0) return -1;                                      \
    defaults.name = number;
#define DEFAULT_BOOL(name, value, variable)                                                        \
    if (number_from(variable, value, &number) < 0) return -1;                                      \
    defaults.name = number != 0;
#define DEFAULT_STRING(name, value, variable)                                                      \
    if ((defaults.name = default_string(value)) == NULL) return -1;
#define OPTION(name, type, value, variable, ...) DEFAULT_##type(name, value, variable)
#include "../config.def"
#undef OPTION
    pool_set_limit((size_t)defaults.pool_bytes);
    threads_ask(defaults.threads);
    return 0;
}

/* ---- what users see ---- */

static PyObject *
box_BOOL(bool value)
{
    return PyBool_FromLong(value);
}

static PyObject *
box_INT(int64_t value)
{
    return PyLong_FromLongLong(value);
}

static PyObject *
box_STRING(const char *value)
{
    return PyUnicode_FromString(value);
}

static int
describe(PyObject *list, const char *name, PyObject *value, const char *variable, const char *help)
{
    if (value == NULL) return -1;
    PyObject *row = Py_BuildValue("(sNzs)", name, value, variable, help);
    int result = row != NULL ? PyList_Append(list, row) : -1;
    Py_XDECREF(row);
    return result;
}

PyObject *
config_describe(void)
{
    PyObject *list = PyList_New(0);
    if (list == NULL) return NULL;
#define OPTION(name, type, value, variable, in_key, help)                                          \
    if (describe(list, #name, box_##type(defaults.name), variable, help) < 0) goto fail;
#include "../config.def"
#undef OPTION
    return list;
fail:
    Py_DECREF(list);
    return NULL;
}

static PyObject *
py_config_describe(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return config_describe();
}

/* Options to an opaque number, equal for equal options. */
static PyObject *
test_config(PyObject *Py_UNUSED(self), PyObject *options)
{
    const Config *config = config_from_options(options);
    return config != NULL ? PyLong_FromVoidPtr((void *)config) : NULL;
}

PyMethodDef config_methods[] = {
    {"config_describe", py_config_describe, METH_NOARGS, "[(name, default, variable, help)]."},
    {"test_config", test_config, METH_O, "config_from_options: the address of the Config."},
    {NULL, NULL, 0, NULL},
};
