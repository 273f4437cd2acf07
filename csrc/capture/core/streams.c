/* Streams that run no Python code when written to: a delayed print may only go to these. */
#include "../capture.h"

static bool
is_io(PyObject *object, const char *name)
{
    PyObject *type = module_object("_io", name);
    bool is = type != NULL && object != NULL && (PyObject *)Py_TYPE(object) == type;
    Py_XDECREF(type);
    PyErr_Clear();
    return is;
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
    if (is_io(stream, "StringIO")) return true;
    if (!is_io(stream, "TextIOWrapper")) return false;
    PyObject *buffer = part(stream, "buffer"), *raw = NULL;
    bool plain = is_io(buffer, "BytesIO") || is_io(buffer, "FileIO");
    if (is_io(buffer, "BufferedWriter")) plain = is_io(raw = part(buffer, "raw"), "FileIO");
    Py_XDECREF(buffer);
    Py_XDECREF(raw);
    return plain;
}
