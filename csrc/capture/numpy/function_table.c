/* The rows of numpy_functions.def, and the callable that each describes.
   Functions are recognised by identity (core/callables.c): the rows' names are looked up once, so
   that neither a user's function of the same name nor a patched numpy is mistaken for NumPy's. */
#include "numpy.h"

static const Rule rules[] = {
#define RULE(name, kinds, handler, required, signature, data, traits)                              \
    {name, kinds, DONE_BY_RULE, handler, required, signature, data, traits},
#define STEP(name, kinds, traits) {name, kinds, DONE_BY_STEP, NULL, 0, "", "", traits},
#define DECOMPOSED(name, function, traits)                                                         \
    {name, "f", DONE_BY_DECOMPOSED, NULL, 0, "", function, traits},
#define UFUNC(name, reduction, traits) {name, "f", DONE_BY_UFUNC, NULL, 0, "", reduction, traits},
#define TEXT(name, traits) {name, "f", DONE_BY_TEXT, NULL, 0, "", "", traits},
#define DRAW(name, method) {name, "f", DONE_BY_DRAW, NULL, 0, "", method, 0},
#define PYTHON(name, traits) {name, "p", DONE_BY_PYTHON, NULL, 0, "", "", traits},
#include "numpy_functions.def"
};

static Arena *arena;       /* of the map, for the life of the process */
static PointerMap methods; /* attribute of ndarray -> the row of its name */
static int waiting[COUNT_OF(rules)], nwaiting = -1; /* rows whose callables do not exist yet */

static bool
is_function(const Rule *rule)
{
    return rule->kinds[0] != 'm';
}

static bool
is_method(const Rule *rule)
{
    return strchr(rule->kinds, 'm') != NULL;
}

/* MODULE.NAME where the module is loaded; borrowed, lives for ever; NULL without an error. */
static PyObject *
python_object(const char *path)
{
    char module[32];
    const char *dot = strchr(path, '.');
    snprintf(module, sizeof module, "%.*s", (int)(dot - path), path);
    PyObject *from = module_loaded(module);
    PyObject *found = from != NULL ? PyObject_GetAttrString(from, dot + 1) : NULL;
    Py_XDECREF(from);
    PyErr_Clear();
    return found;
}

/* Looks up the callables of modules that were imported since the last time. */
static int
note_functions(void)
{
    int left = 0;
    for (int i = 0; i < nwaiting; i++) {
        const Rule *rule = &rules[waiting[i]];
        PyObject *object =
            rule->way == DONE_BY_PYTHON ? python_object(rule->name) : numpy_object(rule->name);
        if (object == NULL)
            waiting[left++] = waiting[i];
        else if (callable_add(object, RANK_NUMPY, follow_numpy, rule) < 0)
            return -1; /* the rows before it are noted again */
    }
    nwaiting = left;
    return 0;
}

/* Finds the callables of the methods' rows; once. */
static int
note_methods(void)
{
    static bool noted;
    if (noted) return 0;
    if (arena == NULL && (arena = arena_new()) == NULL) return -1;
    for (int i = 0; i < COUNT_OF(rules); i++) {
        char path[80];
        if (!is_method(&rules[i])) continue;
        snprintf(path, sizeof path, "ndarray.%s", rules[i].name);
        PyObject *object = numpy_object(path);
        if (object != NULL && map_add(arena, &methods, object, (void *)&rules[i]) < 0) return -1;
    }
    noted = true;
    return 0;
}

int
numpy_callables(void)
{
    if (nwaiting < 0) {
        nwaiting = 0;
        for (int i = 0; i < COUNT_OF(rules); i++)
            if (is_function(&rules[i])) waiting[nwaiting++] = i;
    }
    return note_functions();
}

/* The row of a function, of any WAY_; NULL where it has none, perhaps with the error set. */
static const Rule *
row_of_function(PyObject *callable)
{
    const Follower *found = callable_follower(callable, follow_numpy);
    return found == NULL ? NULL : found->row;
}

const Rule *
rule_of_function(PyObject *callable)
{
    const Rule *found = row_of_function(callable);
    return found != NULL && (found->way == DONE_BY_RULE || found->way == DONE_BY_STEP) ? found
                                                                                       : NULL;
}

const Rule *
rule_of_method(const char *name)
{
    enum { PLACES = 1024 };
    static const Rule *places[PLACES]; /* by their names; of those with the same the last */
    static bool filled;
    _Static_assert(COUNT_OF(rules) < PLACES, "one place is free");
    for (int i = COUNT_OF(rules) - 1; i >= 0 && !filled; i--) {
        uint32_t at = text_hash(rules[i].name) % PLACES;
        if (!is_method(&rules[i])) continue;
        while (places[at] != NULL && strcmp(places[at]->name, rules[i].name) != 0)
            at = (at + 1) % PLACES;
        if (places[at] == NULL) places[at] = &rules[i];
    }
    filled = true;
    uint32_t at = text_hash(name) % PLACES;
    while (places[at] != NULL && strcmp(places[at]->name, name) != 0) at = (at + 1) % PLACES;
    return places[at];
}

unsigned
function_traits(PyObject *callable)
{
    const Rule *found = row_of_function(callable);
    if (found == NULL && note_methods() == 0) found = map_get(&methods, callable);
    PyErr_Clear();
    return found == NULL ? 0 : found->traits;
}

const char *
ufunc_reduction(PyObject *ufunc)
{
    const Rule *found = row_of_function(ufunc);
    PyErr_Clear();
    return found != NULL && found->way == DONE_BY_UFUNC && found->data[0] != '\0' ? found->data
                                                                                  : NULL;
}

PyObject *
numpy_decomposition(PyObject *callable)
{
    static PyObject *made[COUNT_OF(rules)]; /* by row, for the life of the process */
    const Rule *found = row_of_function(callable);
    if (found == NULL || found->way != DONE_BY_DECOMPOSED) return NULL;
    PyObject **function = &made[found - rules];
    if (*function == NULL) {
        char module[64];
        const char *dot = strrchr(found->data, '.');
        snprintf(module, sizeof module, "pycompile.decompositions.%.*s", (int)(dot - found->data),
                 found->data);
        *function = module_object(module, dot + 1);
    }
    return *function;
}

/* ---- the table in Python ---- */

static PyStructSequence_Field fields[] = {
    {"name", "numpy.NAME, and of the method; of `python` MODULE.NAME"},
    {"kinds", "f: function, m: method of arrays, p: function of Python's"},
    {"way", "how a call is done: rule, step, decomposed, ufunc, text, draw, python"},
    {"signature", "of a rule"},
    {"data", "what the way needs to know: of a decomposition FILE.FUNCTION"},
    {"traits", "what is peculiar about it, as bits: attributes of this class"},
    {NULL, NULL},
};
static PyStructSequence_Desc description = {"pycompile._C.NumpyFunction",
                                            "A row of csrc/capture/numpy/numpy_functions.def.",
                                            fields, COUNT_OF(fields) - 1};
static PyTypeObject *row_type;

static PyObject *
row_object(const Rule *rule)
{
    static const char *const ways[] = {"rule", "step", "decomposed", "ufunc",
                                       "text", "draw", "python"};
    PyObject *row = PyStructSequence_New(row_type);
    PyObject *parts[] = {
        PyUnicode_FromString(rule->name),      PyUnicode_FromString(rule->kinds),
        PyUnicode_FromString(ways[rule->way]), PyUnicode_FromString(rule->signature),
        PyUnicode_FromString(rule->data),      PyLong_FromUnsignedLong(rule->traits)};
    bool whole = row != NULL;
    for (int i = 0; i < COUNT_OF(parts); i++) {
        whole = whole && parts[i] != NULL;
        if (row != NULL)
            PyStructSequence_SetItem(row, i, parts[i]);
        else
            Py_XDECREF(parts[i]);
    }
    if (!whole) Py_CLEAR(row);
    return row;
}

static PyObject *
py_numpy_functions(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    PyObject *list = PyList_New(COUNT_OF(rules));
    for (int i = 0; list != NULL && i < COUNT_OF(rules); i++) {
        PyObject *row = row_object(&rules[i]);
        if (row == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, row);
    }
    return list;
}

static PyMethodDef methods_of_module[] = {
    {"numpy_functions", py_numpy_functions, METH_NOARGS,
     "The rows of csrc/capture/numpy/numpy_functions.def, a NumpyFunction each."},
    {NULL, NULL, 0, NULL},
};

int
function_table_module(PyObject *module)
{
    static const struct {
        const char *name;
        unsigned bit;
    } traits[] = {
#define TRAIT(name, meaning) {#name, FN_##name},
#include "numpy_traits.def"
    };
    if (row_type == NULL) row_type = PyStructSequence_NewType(&description);
    if (row_type == NULL || PyModule_AddObjectRef(module, "NumpyFunction", (PyObject *)row_type))
        return -1;
    for (int i = 0; i < COUNT_OF(traits); i++) {
        PyObject *bit = PyLong_FromUnsignedLong(traits[i].bit);
        int failed =
            bit == NULL ? -1 : PyObject_SetAttrString((PyObject *)row_type, traits[i].name, bit);
        Py_XDECREF(bit);
        if (failed < 0) return -1;
    }
    return PyModule_AddFunctions(module, methods_of_module);
}
