/* Options: defaults from config.def and the environment, overridden per compiled function.
   There is one Config for each set of values; it lives for ever, so that plans can be told apart by
   its address. */
#include "hooks.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

extern char **environ;

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

static bool parse_number(const char *text, bool bytes, int64_t *out);

static int
set_BOOL(const char *name, bool *out, PyObject *value, int64_t low, int64_t high)
{
    (void)low, (void)high;
    if (!PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "option %s is True or False, not %R", name, value);
        return -1;
    }
    *out = value == Py_True;
    return 0;
}

/* "0 to 256", "1 or more" */
static void
put_range(Text *out, int64_t low, int64_t high)
{
    if (high == INT64_MAX)
        text_printf(out, "%lld or more", (long long)low);
    else
        text_printf(out, "%lld to %lld", (long long)low, (long long)high);
}

static int
in_range(const char *name, int64_t number, PyObject *value, int64_t low, int64_t high)
{
    if (number >= low && number <= high) return 0;
    Text range = {0};
    put_range(&range, low, high);
    PyErr_Format(PyExc_ValueError, "option %s is %s, not %R", name, range.data ? range.data : "?",
                 value);
    text_free(&range);
    return -1;
}

/* One of more than 64 bits is the nearest that there is. */
static int
set_INT(const char *name, int64_t *out, PyObject *value, int64_t low, int64_t high)
{
    bool bytes = strstr(name, "_bytes") != NULL;
    if (bytes && PyUnicode_Check(value)) {
        const char *text = PyUnicode_AsUTF8(value);
        if (text == NULL) return -1;
        if (parse_number(text, true, out)) return in_range(name, *out, value, low, high);
        PyErr_Format(PyExc_ValueError, "option %s is a number with or without K, M or G, not %R",
                     name, value);
        return -1;
    }
    if (!PyLong_Check(value) || PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "option %s is an int%s, not %R", name,
                     bytes ? " or text such as '10M'" : "", value);
        return -1;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (number == -1 && PyErr_Occurred()) return -1;
    *out = overflow == 0 ? number : overflow > 0 ? INT64_MAX : INT64_MIN;
    return in_range(name, *out, value, low, high);
}

static int
set_STRING(const char *name, const char **out, PyObject *value, int64_t low, int64_t high)
{
    (void)low, (void)high;
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "option %s is a str, not %R", name, value);
        return -1;
    }
    *out = intern_string(value);
    return *out != NULL ? 0 : -1;
}

static bool
is_choice(const char *text, const char *one, const char *other)
{
    return strcmp(text, one) == 0 || strcmp(text, other) == 0;
}

static int
set_CHOICE(const char *name, const char **out, PyObject *value, const char *one, const char *other)
{
    if (set_STRING(name, out, value, 0, 0) < 0) return -1;
    if (is_choice(*out, one, other)) return 0;
    PyErr_Format(PyExc_ValueError, "%s must be '%s' or '%s', not '%s'", name, one, other, *out);
    return -1;
}

/* 0, or -1 with TypeError or ValueError. */
static int
set_option(Config *config, const char *name, PyObject *value)
{
    if (strcmp(name, "backend") == 0 && PyCallable_Check(value) && !PyUnicode_Check(value)) {
        config->backend = "python";
        config->backend_call = value;
        config->backend_lengths = PyObject_HasAttrString(value, "takes_lengths");
        config->backend_draws = PyObject_HasAttrString(value, "notes_draws");
        return 0;
    }
    if (strcmp(name, "dynamic") == 0 && PyDict_Check(value)) {
        config->dims = value;
        return 0;
    }
#define OPTION(option, type, default_value, variable, in_key, low, high, ...)                      \
    if (strcmp(name, #option) == 0) return set_##type(name, &config->option, value, low, high);
#include "../config.def"
    PyErr_Format(PyExc_TypeError, "unknown option %s", name);
    return -1;
}

/* ---- interning ---- */

/* Declared lengths are a new dict at each decoration; its rows are of strings and ints.  An error
   is no equality, and cleared. */
static bool
same_dims(PyObject *a, PyObject *b)
{
    if (a == NULL || b == NULL) return a == b;
    int same = PyObject_RichCompareBool(a, b, Py_EQ);
    if (same < 0) PyErr_Clear();
    return same > 0;
}

/* Strings are interned, so that equal ones have one address. */
static bool
equal(const Config *a, const Config *b)
{
#define OPTION(name, type, ...)                                                                    \
    if (a->name != b->name) return false;
#include "../config.def"
    return a->backend_call == b->backend_call && same_dims(a->dims, b->dims);
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
    Py_XINCREF(fresh->config.dims);
    fresh->next = interned;
    interned = fresh;
    return &fresh->config;
}

/* Options of the whole process get the value of the last request that names them. */
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
    if (config.backend_call == NULL && strcmp(config.backend, "c") != 0) {
        PyErr_SetString(PyExc_ValueError, "option backend is \"c\" or a callable");
        return NULL;
    }
    const Config *result = intern(&config);
    if (result != NULL) apply(result);
    return result;
}

/* ---- defaults ---- */

static const char *
interned_text(const char *text)
{
    PyObject *string = PyUnicode_InternFromString(text); /* kept for ever */
    return string != NULL ? PyUnicode_AsUTF8(string) : NULL;
}

static const char *
choice_from(const char *variable, const char *text, const char *one, const char *other)
{
    const char *given = variable != NULL ? getenv(variable) : NULL;
    if (given != NULL && is_choice(given, one, other))
        text = given;
    else if (given != NULL && *given != '\0')
        log_warn("%s=%s is neither %s nor %s: ignored", variable, given, one, other);
    return interned_text(text);
}

/* A number; a number of bytes may end in K, M or G (powers of 1024). */
static bool
parse_number(const char *text, bool bytes, int64_t *out)
{
    static const char suffixes[] = "KMG";
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool fits = errno == 0 && end != text;
    const char *suffix =
        bytes && *end != '\0' ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    if (suffix != NULL) {
        int shift = 10 * (int)(suffix - suffixes + 1);
        fits = fits && number <= INT64_MAX >> shift && number >= 0;
        if (fits) number <<= shift;
        end++;
        if (strcmp(end, "iB") == 0) end += 2;
    }
    *out = number;
    return fits && *end == '\0';
}

int64_t
number_from(const char *variable, int64_t otherwise, int64_t low, int64_t high, bool told)
{
    const char *text = variable != NULL ? getenv(variable) : NULL;
    if (text == NULL || *text == '\0') return otherwise;
    int64_t number;
    bool bytes = strstr(variable, "_BYTES") != NULL;
    bool parsed = parse_number(text, bytes, &number);
    if (parsed && number >= low && number <= high) return number;
    if (!told) return otherwise;
    Text range = {0};
    put_range(&range, low, high);
    const char *allowed = range.data ? range.data : "?";
    if (parsed)
        log_warn("%s=%s is too %s: %s; ignored", variable, text, number < low ? "small" : "large",
                 allowed);
    else
        log_warn("%s=%s is not a whole number%s (%s): ignored", variable, text,
                 bytes ? ", which may end with K, M or G" : "", allowed);
    text_free(&range);
    return otherwise;
}

bool
bool_from(const char *variable, bool otherwise)
{
    static const char *const words[2][4] = {{"0", "false", "no", "off"},
                                            {"1", "true", "yes", "on"}};
    const char *text = variable != NULL ? getenv(variable) : NULL;
    if (text == NULL || *text == '\0') return otherwise;
    for (int i = 0; i < 2 * COUNT_OF(words[0]); i++)
        if (strcasecmp(text, words[i & 1][i >> 1]) == 0) return (i & 1) != 0;
    log_warn("%s=%s is neither 1 (true, yes, on) nor 0 (false, no, off): ignored", variable, text);
    return otherwise;
}

/* ---- misspelt variables ---- */

enum { LONGEST_VARIABLE = 40, MISSPELT = 2 };

/* The number of letters to insert, delete or change to turn one into the other (edit distance). */
static int
edit_distance(const char *a, size_t length, const char *b)
{
    int row[LONGEST_VARIABLE + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++) row[j] = (int)j;
    for (size_t i = 1; i <= length; i++) {
        int before = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= width; j++) {
            int least = before + (a[i - 1] != b[j - 1]);
            before = row[j];
            if (row[j] + 1 < least) least = row[j] + 1;
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    return row[width];
}

/* How to ask for the option that the variable seems to be meant for, where no variable sets it;
   NULL: it is none. */
static const char *
option_meant(const char *variable, size_t length)
{
    static const struct {
        const char *option, *variable, *asked;
    } options[] = {
        {"mode", NULL, "mode=..."},
        {"backend", NULL, "backend=..."},
        {"fullgraph", NULL, "fullgraph=..."},
#define OPTION(name, type, value, variable, ...) {#name, variable, "options={'" #name "': ...}"},
#include "../config.def"
    };
    const char *asked = NULL;
    int least = MISSPELT + 1;
    for (int i = 0; i < COUNT_OF(options); i++) {
        char name[LONGEST_VARIABLE + 1];
        if (options[i].variable != NULL) continue;
        int written = snprintf(name, sizeof(name), "PYCOMPILE_%s", options[i].option);
        for (int k = 0; k < written; k++) name[k] = (char)toupper((unsigned char)name[k]);
        int distance = edit_distance(variable, length, name);
        bool near = distance == 0 || strlen(options[i].option) > 2 * MISSPELT; /* not by chance */
        if (!near || distance >= least) continue;
        asked = options[i].asked;
        least = distance;
    }
    return asked;
}

/* Of the build, the tests and the benchmarks; PYCOMPILE_TEST_… are theirs, too. */
static bool
is_of_development(const char *variable, size_t length)
{
    static const char *const known[] = {"PYCOMPILE_BUILD_FLAGS", "PYCOMPILE_FUZZ",
                                        "PYCOMPILE_GOLDEN",      "PYCOMPILE_LEAK_CALLS",
                                        "PYCOMPILE_OUTCOMES",    "PYCOMPILE_TESTS"};
    for (int i = 0; i < COUNT_OF(known); i++)
        if (strlen(known[i]) == length && strncmp(variable, known[i], length) == 0) return true;
    return strncmp(variable, "PYCOMPILE_TEST_", 15) == 0;
}

/* Warns of variables with the prefix that are none: what they were meant for does not happen. */
static void
tell_unknown(void)
{
    static const char *const known[] = {
        "PYCOMPILE_LOGS",        "PYCOMPILE_DISABLE",         "PYCOMPILE_CUDA_DEBUG",
        "PYCOMPILE_TRACE",       "PYCOMPILE_CACHE",           "PYCOMPILE_CACHE_DIR",
        "PYCOMPILE_CACHE_BYTES", "PYCOMPILE_COMPILE_TIMEOUT",
#define OPTION(name, type, value, variable, ...) variable,
#include "../config.def"
    };
    for (char **variable = environ; *variable != NULL; variable++) {
        size_t length = strcspn(*variable, "=");
        if (strncmp(*variable, "PYCOMPILE_", 10) != 0 || length == 10 ||
            is_of_development(*variable, length))
            continue;
        if (length > LONGEST_VARIABLE) {
            log_warn("%.*s… is no variable of pycompile's: ignored", LONGEST_VARIABLE, *variable);
            continue;
        }
        const char *nearest = NULL;
        int least = MISSPELT + 1;
        for (int i = 0; i < COUNT_OF(known); i++) {
            int distance = known[i] != NULL ? edit_distance(*variable, length, known[i]) : least;
            if (distance < least) nearest = known[i];
            if (distance < least) least = distance;
        }
        const char *meant = least > 0 ? option_meant(*variable, length) : NULL;
        if (meant != NULL)
            log_warn("%.*s is no variable of pycompile's: ignored; there is pycompile.compile(%s)",
                     (int)length, *variable, meant);
        else if (least > 0)
            log_warn("%.*s is no variable of pycompile's: ignored%s%s%s", (int)length, *variable,
                     nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "?" : "");
    }
}

int
config_init(void)
{
#define DEFAULT_INT(name, value, variable, low, high)                                              \
    defaults.name = number_from(variable, value, low, high, true);
#define DEFAULT_BOOL(name, value, variable, low, high) defaults.name = bool_from(variable, value);
/* No variable has such an option's value. */
#define DEFAULT_STRING(name, value, variable, low, high)                                           \
    if ((defaults.name = interned_text(value)) == NULL) return -1;
#define DEFAULT_CHOICE(name, value, variable, one, other)                                          \
    if ((defaults.name = choice_from(variable, value, one, other)) == NULL) return -1;
#define OPTION(name, type, value, variable, in_key, low, high, ...)                                \
    DEFAULT_##type(name, value, variable, low, high)
#include "../config.def"
    number_from("PYCOMPILE_COMPILE_TIMEOUT", 0, 1, 1 << 20, true); /* toolchain.c, likewise */
    number_from("PYCOMPILE_CACHE_BYTES", 0, 1, INT64_MAX, true); /* cache.c reads it when needed */
    tell_unknown();
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

static PyObject *
box_CHOICE(const char *value)
{
    return box_STRING(value);
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

/* A list of (name, default, variable, help). */
static PyObject *
config_describe(void)
{
    PyObject *list = PyList_New(0);
    if (list == NULL) return NULL;
#define OPTION(name, type, value, variable, in_key, low, high, help)                               \
    if (describe(list, #name, box_##type(defaults.name), variable, help) < 0) goto fail;
#include "../config.def"
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

/* Options as an opaque number, equal for equal options. */
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
