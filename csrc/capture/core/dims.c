/* Lengths that the program declares: `dynamic={"x": {0: "batch"}}` of compile, and mark_dynamic.

   A declared length is a symbol from the first plan on, axes of one name are one symbol, and its
   only guards are what was declared.  Where the code needs it as a number, decides by it, or needs
   it to be equal to another, capture ends with a DimensionError: what was asked for cannot be.  A
   call whose lengths are not as declared is not bound by it. */
#include "core.h"

#include "../../config.h"

/* The name of the argument that the array is, borrowed; NULL: it is none of the function's. */
static PyObject *
argument_name(const Interp *in, const Value *array)
{
    const Source *source = &in->out->sources.at[array->source];
    if (in->request->number != 0) return NULL;
    if (source->kind == SOURCE_CELL && source->base != NO_SOURCE)
        source = &in->out->sources.at[source->base];
    const Decoded *d = in->bottom->decoded;
    if (source->kind != SOURCE_SLOT || source->index >= d->nlocalsplus) return NULL;
    return code_slot_name(d->code, source->index);
}

/* The axes that are declared of the array, a dict of rows by pycompile._shapes; NULL: none. */
static PyObject *
axes_by_name(const Interp *in, const Value *array)
{
    PyObject *dims = in->request->config != NULL ? in->request->config->dims : NULL;
    PyObject *name = dims != NULL ? argument_name(in, array) : NULL;
    return name != NULL ? PyDict_GetItem(dims, name) : NULL;
}

/* What mark_dynamic was told of this very array; its module is there once it has been called. */
static PyObject *
axes_by_mark(const Value *array)
{
    PyObject *name = PyUnicode_InternFromString("pycompile._shapes");
    PyObject *module = name != NULL ? PyImport_GetModule(name) : NULL, *axes = NULL;
    Py_XDECREF(name);
    if (module != NULL) axes = PyObject_CallMethod(module, "marked", "O", array->object);
    Py_XDECREF(module);
    if (axes == NULL) PyErr_Clear();
    Py_XDECREF(axes); /* the module has it as long as the array is there */
    return axes == Py_None ? NULL : axes;
}

bool
dim_of(const Interp *in, const Value *array, int axis, Dim *out)
{
    PyObject *axes = axes_by_name(in, array), *number = PyLong_FromLong(axis), *row = NULL;
    if (axes != NULL && number != NULL) row = PyDict_GetItem(axes, number);
    if (row == NULL && number != NULL && (axes = axes_by_mark(array)) != NULL)
        row = PyDict_GetItem(axes, number);
    Py_XDECREF(number);
    PyErr_Clear();
    if (row == NULL) return false;
    if (PyList_Append(in->out->keep, row) < 0) { /* mark_dynamic may replace it */
        PyErr_Clear();
        return false;
    }
    *out = (Dim){.name = PyTuple_GET_ITEM(row, 0),
                 .least = PyLong_AsLongLong(PyTuple_GET_ITEM(row, 1)),
                 .most = PyLong_AsLongLong(PyTuple_GET_ITEM(row, 2)),
                 .divisor = PyLong_AsLongLong(PyTuple_GET_ITEM(row, 3))};
    if (!PyErr_Occurred()) return true;
    PyErr_Clear(); /* no row of ours */
    return false;
}

bool
dim_allows(const Dim *dim, int64_t length)
{
    return length >= dim->least && length <= dim->most && length % dim->divisor == 0;
}

bool
dim_is_same(const Dim *a, const Dim *b)
{
    return a->name != NULL && b->name != NULL && PyUnicode_Compare(a->name, b->name) == 0;
}

void
dim_put(Text *out, const Dim *dim)
{
    text_printf(out, "'%s' (%lld", PyUnicode_AsUTF8(dim->name), (long long)dim->least);
    if (dim->most == INT64_MAX)
        text_put(out, " or more");
    else
        text_printf(out, " to %lld", (long long)dim->most);
    if (dim->divisor > 1) text_printf(out, ", a multiple of %lld", (long long)dim->divisor);
    text_put(out, ")");
}

/* An axis that is declared of an argument and that its array of `rank` axes has not; -1: none. */
static long
dim_beyond(const Interp *in, const Value *array, int rank, const char **name)
{
    PyObject *axes = axes_by_name(in, array), *axis, *row;
    Py_ssize_t position = 0;
    while (axes != NULL && PyDict_Next(axes, &position, &axis, &row)) {
        long number = PyLong_AsLong(axis);
        if (number < rank) continue;
        *name = PyUnicode_AsUTF8(argument_name(in, array));
        return number;
    }
    return -1;
}

/* The innermost line that is the program's. */
static void
put_line(const Interp *in, Text *out)
{
    const Activation *a = in->top;
    int line = in->attempt.line;
    for (; a != NULL && a->caller != NULL && code_is_ours(a); a = a->caller)
        line = line_at(a->caller->decoded, a->caller->number);
    const char *file = a == NULL ? NULL : PyUnicode_AsUTF8(a->decoded->code->co_filename);
    text_printf(out, "%s:%d", file != NULL ? file : "?", line);
}

/* Raises DimensionError of a text that begins with the line. */
static void
raise_here(Interp *in, Text *text)
{
    PyObject *class = module_kept(in, "pycompile._errors", "DimensionError");
    if (class != NULL)
        PyErr_SetString(class, text->data != NULL ? text->data : "a declared length");
    text_free(text);
}

Answer
dim_refuse(Interp *in, const Dim *dim, const char *what, const Dim *other)
{
    Text text = {0};
    put_line(in, &text);
    text_put(&text, ": the length ");
    dim_put(&text, dim);
    text_printf(&text, " %s", what);
    if (other != NULL) text_put(&text, " ");
    if (other != NULL) dim_put(&text, other);
    text_put(&text, other != NULL ? "; give both one name, or one of them none"
                                  : "; change the code, or give the length no name");
    raise_here(in, &text);
    return ANSWER_ERROR;
}

int
dims_require(Interp *in, const Value *array, int rank)
{
    const char *name;
    long axis = dim_beyond(in, array, rank, &name);
    if (axis < 0) return 0;
    Text text = {0};
    put_line(in, &text);
    text_printf(&text, ": `dynamic` names axis %ld of '%s', an array of %d dimensions", axis, name,
                rank);
    raise_here(in, &text);
    return -1;
}

const Dim *
symbol_dim(const Interp *in, SizeId size)
{
    for (int i = 0; i < in->memory.symbols.len; i++)
        if (in->memory.symbols.at[i].size == size && in->memory.symbols.at[i].dim.name != NULL)
            return &in->memory.symbols.at[i].dim;
    return NULL;
}
