/* Records of compiles and runs, collected between report_begin and report_end; nested ones share
   the list, and each knows where its own records begin. Under the GIL; a failure to record must not
   disturb the program. */
#include "runtime.h"

static PyObject *records; /* a list while reports are collected */
static PyObject *held;    /* a dict of what records are of, by address; NULL: nothing yet */
static int collectors;

Py_ssize_t
report_begin(void)
{
    if (collectors++ > 0) return PyList_GET_SIZE(records);
    if ((records = PyList_New(0)) != NULL) {
        runs_are_told = true;
        return 0;
    }
    collectors = 0;
    return -1;
}

PyObject *
report_end(void)
{
    if (collectors == 0) return PyList_New(0);
    if (--collectors > 0) return PyList_GetSlice(records, 0, PyList_GET_SIZE(records));
    PyObject *out = records;
    records = NULL;
    runs_are_told = trace_on;
    Py_CLEAR(held);
    return out;
}

bool
report_wanted(void)
{
    return records != NULL;
}

int
report_add(PyObject *record)
{
    return records == NULL || record == NULL ? 0 : PyList_Append(records, record);
}

void
report_hold(PyObject *object)
{
    if (records == NULL) return;
    if (held == NULL) held = PyDict_New();
    PyObject *address = held != NULL ? PyLong_FromVoidPtr(object) : NULL;
    if (address == NULL || PyDict_SetItem(held, address, object) < 0) PyErr_Clear();
    Py_XDECREF(address);
}

void
record_object(PyObject *record, const char *key, PyObject *value)
{
    if (value == NULL || record == NULL || PyDict_SetItemString(record, key, value) < 0)
        PyErr_Clear();
    Py_XDECREF(value);
}

void
record_text(PyObject *record, const char *key, Text *text)
{
    if (record != NULL) record_object(record, key, text_to_str(text));
}

void
record_string(PyObject *record, const char *key, const char *value)
{
    if (record == NULL) return;
    record_object(record, key,
                  value ? PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "replace")
                        : Py_NewRef(Py_None));
}

void
record_int(PyObject *record, const char *key, long long value)
{
    if (record != NULL) record_object(record, key, PyLong_FromLongLong(value));
}

PyObject *
errors_class(const char *name)
{
    return module_object("pycompile._errors", name);
}
