/* Which function written in Python capture follows in place of one of the library's C functions:
   pycompile/decompositions.  A module there is imported when something of a module of the library
   that it decomposes is called for the first time: all of them together take two of the five
   milliseconds that a first call may have. */
#include "control.h"

/* The module that an original says it belongs to (of a class of builtins', its own name), and the
   module that may have its decomposition. */
static struct {
    const char *original, *ours;
} places[] = {
    {"copy", "copying"},         {"functools", "functions"}, {"functools", "models"},
    {"_functools", "functions"}, {"_functools", "models"},   {"operator", "functions"},
    {"_operator", "functions"},  {"heapq", "functions"},     {"_heapq", "functions"},
    {"bisect", "functions"},     {"_bisect", "functions"},   {"itertools", "iteration"},
    {"map", "iteration"},        {"zip", "iteration"},
};
static bool added[COUNT_OF(places)];

static PyObject *decompositions; /* those that have been needed: original -> decomposition */

static int
add_decomposition(PyObject *object, PyObject *function)
{
    int there = PyDict_Contains(decompositions, object);
    if (there != 0) return there < 0 ? -1 : 0;
    /* C functions are first tried as pure calls */
    bool alone = callable_follower(object, follow_builtin) == NULL;
    if ((alone && callable_add(object, RANK_BUILTIN, follow_builtin, NULL) < 0) ||
        callable_add(object, RANK_DECOMPOSED, follow_decomposed, function) < 0)
        return -1;
    return PyDict_SetItem(decompositions, object, function);
}

static int
add_module(const char *name)
{
    char module[64];
    PyObject *object, *function;
    snprintf(module, sizeof module, "pycompile.decompositions.%s", name);
    PyObject *table = module_object(module, "TABLE");
    int failed = table == NULL ? -1 : 0;
    for (Py_ssize_t at = 0; failed == 0 && PyDict_Next(table, &at, &object, &function);)
        failed = add_decomposition(object, function);
    Py_XDECREF(table);
    return failed;
}

/* What it says it belongs to, as `places` has it, so many characters; runs no code of the object's.
 */
static const char *
module_of(PyObject *object, size_t *length)
{
    const char *name = NULL;
    PyObject *module = NULL, *self = NULL;
    if (PyCFunction_Check(object)) {
        self = PyCFunction_GET_SELF(object);
        module = ((PyCFunctionObject *)object)->m_module;
    } else if (PyFunction_Check(object)) {
        module = PyFunction_GET_MODULE(object);
    }
    if (self != NULL && PyType_Check(self))
        object = self; /* a class's method: chain.from_iterable */
    if (PyType_Check(object)) name = ((PyTypeObject *)object)->tp_name;
    if (name == NULL && module != NULL && PyUnicode_CheckExact(module) &&
        PyUnicode_IS_COMPACT_ASCII(module))
        return *length = (size_t)PyUnicode_GET_LENGTH(module), PyUnicode_DATA(module);
    *length = name == NULL ? 0 : strcspn(name, ".");
    return name;
}

int
decompositions_add(PyObject *original)
{
    size_t length;
    const char *name = module_of(original, &length);
    if (decompositions == NULL && (decompositions = PyDict_New()) == NULL) return -1;
    for (size_t i = 0; name != NULL && i < COUNT_OF(places); i++) {
        if (added[i] || strlen(places[i].original) != length ||
            memcmp(places[i].original, name, length) != 0)
            continue;
        /* another thread may come here while this one imports, and does the same */
        if (add_module(places[i].ours) < 0) return -1;
        added[i] = true;
    }
    return 0;
}

PyObject *
decomposition_of(PyObject *original)
{
    return decompositions ? PyDict_GetItemWithError(decompositions, original) : NULL;
}
