/* Values in guard messages, in the user's terms.  Only plain values of Python and NumPy, and sets
   of them, are shown by repr, so that no code of the user runs; texts are shortened, and values out
   of the environment are not shown. */
#include "guards.h"

/* A set or frozenset of plain values? */
static bool
is_plain_set(PyObject *object)
{
    Py_ssize_t at = 0;
    PyObject *key;
    if (!PyAnySet_CheckExact(object)) return false;
    while (set_next(object, &at, &key))
        if (!value_is_plain(key)) return false;
    return true;
}

/* Cuts a long text, between two characters. */
static void
put_cut(Text *out, const char *text)
{
    size_t length = strlen(text);
    bool quotes = strpbrk(text, "'\"") != NULL; /* what the environment holds is text */
    if (quotes && environment_holds(text)) {
        text_put(out, "<a value out of the environment>");
    } else if (length <= LONGEST_VALUE) {
        text_put(out, text);
    } else {
        length = LONGEST_VALUE;
        while ((text[length] & 0xc0) == 0x80) length--;
        text_printf(out, "%.*s...", (int)length, text);
    }
}

/* Bytes that are no text, as those of an array, say nothing: how many there are does. */
static bool
is_text(PyObject *bytes)
{
    const char *at = PyBytes_AS_STRING(bytes);
    for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(bytes); i++)
        if ((at[i] < ' ' && strchr("\t\n\r", at[i]) == NULL) || at[i] > '~' || at[i] == '\0')
            return false;
    return true;
}

/* Are there such bytes in a plain value? */
static bool
has_bytes(PyObject *plain)
{
    if (PyBytes_CheckExact(plain)) return !is_text(plain);
    if (!PyTuple_CheckExact(plain)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(plain); i++)
        if (has_bytes(PyTuple_GET_ITEM(plain, i))) return true;
    return false;
}

/* The repr of a plain value, with "<640 bytes>" for bytes that are no text.  A new reference, or
   NULL with the error set. */
static PyObject *
plain_repr(PyObject *plain)
{
    if (!has_bytes(plain)) return PyObject_Repr(plain);
    if (PyBytes_CheckExact(plain))
        return PyUnicode_FromFormat("<%zd bytes>", PyBytes_GET_SIZE(plain));
    Py_ssize_t n = PyTuple_GET_SIZE(plain);
    PyObject *list = PyList_New(n), *comma = PyUnicode_FromString(", "), *joined = NULL;
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        PyObject *repr = plain_repr(PyTuple_GET_ITEM(plain, i));
        if (repr == NULL || PyList_SetItem(list, i, repr) < 0) Py_CLEAR(list);
    }
    if (list != NULL && comma != NULL) joined = PyUnicode_Join(comma, list);
    PyObject *out = joined != NULL ? PyUnicode_FromFormat(n == 1 ? "(%U,)" : "(%U)", joined) : NULL;
    Py_XDECREF(list);
    Py_XDECREF(comma);
    Py_XDECREF(joined);
    return out;
}

/* The reprs of a plain set's entries, in the order of the entries or, where they have none, of the
   reprs: that of the set differs from run to run. */
static PyObject *
sorted_reprs(PyObject *set)
{
    PyObject *list = PySequence_List(set);
    bool ordered = list != NULL && PyList_Sort(list) == 0;
    PyErr_Clear();
    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
        PyObject *repr = plain_repr(PyList_GET_ITEM(list, i));
        if (repr == NULL || PyList_SetItem(list, i, repr) < 0) Py_CLEAR(list);
    }
    if (list != NULL && !ordered && PyList_Sort(list) < 0) Py_CLEAR(list);
    PyErr_Clear();
    return list;
}

/* "{'a', 'b'}", "frozenset({1})", "set()" */
static void
put_set(Text *out, PyObject *set)
{
    bool frozen = PyFrozenSet_CheckExact(set);
    PyObject *reprs = sorted_reprs(set);
    Py_ssize_t count = reprs != NULL ? PyList_GET_SIZE(reprs) : 0;
    Text text = {0};
    text_put(&text, frozen ? "frozenset(" : count ? "" : "set(");
    for (Py_ssize_t i = 0; i < count; i++)
        text_printf(&text, "%s%s", i ? ", " : "{", text_of_str(PyList_GET_ITEM(reprs, i)));
    text_put(&text, count ? "}" : "");
    text_put(&text, frozen || !count ? ")" : "");
    put_cut(out, text.data != NULL ? text.data : "?");
    text_free(&text);
    Py_XDECREF(reprs);
}

/* " with 3", for the entries of `set` that are not in `other`; nothing for none. */
static bool
put_beyond(Text *out, const char *how, PyObject *set, PyObject *other)
{
    PyObject *beyond = PyNumber_Subtract(set, other);
    bool any = beyond != NULL && PySet_GET_SIZE(beyond) > 0;
    if (any) text_put(out, how);
    if (any) put_set(out, beyond);
    PyErr_Clear();
    Py_XDECREF(beyond);
    return any;
}

/* How the plain set `now` differs from `wanted`. */
static void
put_set_difference(Text *out, PyObject *wanted, PyObject *now)
{
    text_put(out, "one ");
    bool more = put_beyond(out, "with ", now, wanted);
    bool less = put_beyond(out, more ? " and without " : "without ", wanted, now);
    if (!more && !less) text_put(out, "that was filled in another way");
}

/* "an array of dtype <U3" */
static bool
put_other_array(Text *out, PyObject *object)
{
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    PyObject *string = dtype != NULL && array_dtype_check(dtype) ? PyObject_Str(dtype) : NULL;
    if (string != NULL) {
        text_put(out, "an array of dtype ");
        put_cut(out, text_of_str(string));
    }
    Py_XDECREF(dtype);
    Py_XDECREF(string);
    PyErr_Clear();
    return string != NULL;
}

/* "an array float64[3, 4]" */
static bool
put_array(Text *out, PyObject *object)
{
    ArrayHeader header;
    if (array_library_of(object) == NULL) return false;
    if (array_header(object, &header) != ANSWER_YES) return put_other_array(out, object);
    text_printf(out, "an array %s[", dtype_long_name(header.dtype));
    for (int i = 0; i < header.rank; i++)
        text_printf(out, "%s%lld", i ? ", " : "", (long long)header.shape[i]);
    text_put(out, "]");
    return true;
}

/* "Color.RED" */
static bool
put_enum_member(Text *out, PyObject *object)
{
    if (!is_enum_member(object)) return false;
    PyObject *key = PyUnicode_InternFromString("_name_");
    PyObject *name = key != NULL ? attribute_stored(object, key) : NULL;
    bool named = name != NULL && PyUnicode_Check(name);
    if (named) text_printf(out, "%s.%s", Py_TYPE(object)->tp_name, text_of_str(name));
    Py_XDECREF(key);
    PyErr_Clear();
    return named;
}

bool
guard_array_scalar(PyObject *object)
{
    DType dtype;
    char bytes[32];
    return array_scalar_read(object, &dtype, bytes) == ANSWER_YES;
}

static PyTypeObject *wrappers[2];

void
guards_know_wrappers(PyTypeObject *compiled, PyTypeObject *disabled)
{
    wrappers[0] = compiled;
    wrappers[1] = disabled;
}

bool
guard_of_wrapper(PyObject *object)
{
    return Py_IS_TYPE(object, wrappers[0]) || Py_IS_TYPE(object, wrappers[1]);
}

void
guard_put_object(Text *out, PyObject *object)
{
    if (object == NULL) {
        text_put(out, "missing");
    } else if (PyType_Check(object)) {
        text_put(out, ((PyTypeObject *)object)->tp_name);
    } else if (value_is_plain(object) || guard_array_scalar(object) || array_dtype_check(object)) {
        PyObject *repr = value_is_plain(object) ? plain_repr(object) : PyObject_Repr(object);
        const char *string = repr ? PyUnicode_AsUTF8(repr) : NULL;
        put_cut(out, string ? string : "?");
        if (string == NULL) PyErr_Clear();
        Py_XDECREF(repr);
    } else if (is_plain_set(object)) {
        put_set(out, object);
    } else if (PyFunction_Check(object)) {
        text_printf(out, "function %s", text_of_str(((PyFunctionObject *)object)->func_qualname));
    } else if (PyCode_Check(object)) { /* names its function: see guard_put_source */
        text_printf(out, "function %s", text_of_str(((PyCodeObject *)object)->co_qualname));
    } else if (PyModule_Check(object)) {
        const char *name = PyModule_GetName(object);
        text_printf(out, "module %s", name ? name : "?");
        if (name == NULL) PyErr_Clear();
    } else if (PyMethod_Check(object)) {
        guard_put_object(out, PyMethod_GET_FUNCTION(object));
        text_put(out, " as a method");
    } else if (guard_of_wrapper(object) || PyCFunction_Check(object) || ufunc_check(object) ||
               array_function_check(object)) {
        PyObject *name = PyObject_GetAttrString(object, "__name__");
        const char *string = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        text_printf(out, "function %s", string ? string : "?");
        Py_XDECREF(name);
        PyErr_Clear();
    } else if (PyList_CheckExact(object) || PyDict_CheckExact(object)) {
        text_printf(out, "a %s of %zd", Py_TYPE(object)->tp_name, PyObject_Size(object));
    } else if (!put_array(out, object) && !put_enum_member(out, object)) {
        text_printf(out, "<%s object>", Py_TYPE(object)->tp_name);
    }
}

void
guard_put_other(Text *out, PyObject *wanted, PyObject *now)
{
    Text before = {0}, after = {0};
    guard_put_object(&before, wanted);
    guard_put_object(&after, now);
    bool same = before.data != NULL && after.data != NULL && strcmp(before.data, after.data) == 0;
    bool values = wanted != NULL && now != NULL && (value_is_plain(wanted) || is_plain_set(wanted));
    bool hidden = same || after.len > LONGEST_VALUE; /* the texts do not show the difference */
    if (hidden && values && is_plain_set(wanted) && is_plain_set(now))
        put_set_difference(out, wanted, now);
    else if (same && values && !is_plain_set(wanted) && has_bytes(wanted))
        text_put(out, "others");
    else if (same && values)
        text_put(out, "another that begins alike");
    else if (same && strncmp(after.data, "a ", 2) == 0)
        text_printf(out, "another %s", after.data + 2);
    else
        text_printf(out, "%s%s", same ? "another " : "", after.data ? after.data : "?");
    text_free(&before);
    text_free(&after);
}
