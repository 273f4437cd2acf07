/* NumPy's Python code: np.r_ and its kin, and the functions and classes that are
   followed like the program's own.  NumPy's other Python functions are steps, or left to
   CPython. */
#include "numpy.h"

/* ---- np.r_, np.c_, np.mgrid, np.ogrid ---- */

/* A slice whose bounds, and so the result's shape, are known only when the plan runs. */
static bool
has_open_bounds(Interp *in, Value *key)
{
    PyObject *ignored;
    SizeId length;
    if (key->kind == V_TUPLE)
        for (int i = 0; i < key->nitems; i++) {
            Value *item = value_item(in, key, i);
            if (item != NULL && item->kind == V_SLICE && has_open_bounds(in, item)) return true;
        }
    if (key->kind != V_SLICE) return false;
    for (int i = 0; i < 3; i++)
        if (size_of_length(in, key->items[i], &length) != ANSWER_YES &&
            value_known(in, key->items[i], &ignored) != ANSWER_YES)
            return true;
    return false;
}

/* object[key] of np.r_ and its kin is a step whose shape a trial finds. */
static Answer
index_trick(Interp *in, PyObject *function, int nargs, Value *const *args, Value **out)
{
    static const char *const names[][2] = {{"r_", "join_rows"},
                                           {"c_", "join_columns"},
                                           {"mgrid", "full_grid"},
                                           {"ogrid", "open_grid"}};
    PyObject *found = NULL;
    const char *name = NULL;
    for (int i = 0; nargs == 2 && i < COUNT_OF(names); i++)
        if (args[0]->object != NULL && args[0]->object == numpy_object(names[i][0])) {
            name = names[i][1];
            found = _PyType_Lookup(Py_TYPE(args[0]->object), interned(in, "__getitem__"));
        }
    if (name == NULL || found != function) return ANSWER_NO;
    if (args[1]->kind == V_CONST && PyUnicode_Check(args[1]->object))
        return interp_break(in, BREAK_NUMPY, "a matrix out of text, which looks at the frame");
    if (args[0]->kind != V_CONST) {
        Answer answer = guard_is(in, args[0]);
        if (answer != ANSWER_YES) return answer;
    }
    WholeCall call = {.callable = calls_object(in, name), .nargs = 1, .args = args + 1};
    if (call.callable == NULL) return ANSWER_ERROR;
    call.opaque = has_open_bounds(in, args[1]);
    return PyErr_Occurred() ? ANSWER_ERROR : call_whole(in, &call, out);
}

/* ---- which Python code is followed ---- */

static bool
is_followed(PyObject *function, const char *module)
{
    static const char *const rows[][2] = {
        {"numpy._core._ufunc_config", ""},
        {"numpy._core.numeric", "fromfunction"},
        {"numpy._core.getlimits", "finfo."},
        {"numpy.lib._index_tricks_impl", "IndexExpression."},
        {"numpy.lib._index_tricks_impl", "ndindex."},
    };
    const char *name = PyUnicode_AsUTF8(((PyFunctionObject *)function)->func_qualname);
    if (name == NULL) PyErr_Clear();
    for (int i = 0; name != NULL && i < COUNT_OF(rows); i++)
        if (strcmp(rows[i][0], module) == 0 && strncmp(name, rows[i][1], strlen(rows[i][1])) == 0)
            return true;
    return false;
}

/* Calls that make arrays of a class derived from ndarray. */
static BreakCode
makes_subclass(const char *module, const char *name)
{
    if (strncmp(module, "numpy.ma.", 9) == 0) return BREAK_MASKED;
    return strncmp(name, "matrix.", 7) == 0 ? BREAK_ARRAY_TYPE : BREAK_NUMPY;
}

Answer
numpy_python_call(Interp *in, PyObject *function, const char *module, int nargs, Value *const *args,
                  Value **out)
{
    Answer answer = index_trick(in, function, nargs, args, out);
    if (answer != ANSWER_NO || is_followed(function, module)) return answer;
    PyObject *qualname = ((PyFunctionObject *)function)->func_qualname;
    const char *name = PyUnicode_AsUTF8(qualname);
    if (name == NULL) return ANSWER_ERROR;
    bool calls_back = strncmp(name, "vectorize.", 10) == 0;
    BreakCode made = makes_subclass(module, name);
    BreakCode told = nargs > 0 ? value_break(args[0], made) : made;
    char text[128];
    snprintf(text, sizeof(text), "call of '%s'", name);
    return calls_back ? interp_break(in, BREAK_CALLBACK, "%s", text)
                      : interp_break_told(in, BREAK_NUMPY, told, text);
}
