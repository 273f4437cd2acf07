/* The array libraries, a row each. */
#include "library.h"

const ArrayLibrary array_libraries[] = {
    [LIBRARY_NUMPY] = {"NumPy",        "an array", "numpy",       "numpy.ufunc", DEVICE_HOST,
                       array_is_exact, array_read, array_is_like, array_new,     array_view,
                       array_data,     NULL,       NULL,          NULL,          NULL,
                       NULL,           NULL,       NULL,          NULL,          NULL,
                       NULL,           NULL},
    [LIBRARY_CUPY] = {"CuPy",       "a CuPy array",      "cupy",       "cupy._core._kernel.ufunc",
                      DEVICE_CUDA,  cupy_is_exact,       cupy_read,    cupy_is_like,
                      cupy_new,     cupy_view,           cupy_data,    cupy_memory,
                      cupy_over,    cupy_name_long_long, cupy_stream,  cupy_current,
                      cupy_use,     cupy_begin,          cupy_changed, cupy_end,
                      cupy_resolve, cupy_multiplies},
};
_Static_assert(COUNT_OF(array_libraries) == LIBRARY_COUNT, "a row per library");

const ArrayLibrary *
array_library_of(PyObject *object)
{
    for (int i = 0; i < LIBRARY_COUNT; i++)
        if (array_libraries[i].is_exact(object)) return &array_libraries[i];
    return NULL;
}

const ArrayLibrary *
array_library_on(Device device)
{
    static const Library on[] = {[DEVICE_HOST] = LIBRARY_NUMPY, [DEVICE_CUDA] = LIBRARY_CUPY};
    _Static_assert(COUNT_OF(on) == TARGET_COUNT, "a library per device");
    return &array_libraries[on[device_target(device)]];
}

bool
array_library_ufunc_check(PyObject *object)
{
    for (int i = 0; i < LIBRARY_COUNT; i++)
        if (array_libraries[i].device != DEVICE_HOST &&
            strcmp(Py_TYPE(object)->tp_name, array_libraries[i].ufunc) == 0)
            return true;
    return false;
}

Answer
array_header(PyObject *object, ArrayHeader *out)
{
    const char *why;
    Answer answer = ANSWER_NO;
    for (int i = 0; i < LIBRARY_COUNT && answer == ANSWER_NO; i++)
        answer = array_libraries[i].read(object, out, &why);
    return answer;
}

const int64_t *
array_lengths_elsewhere(PyObject *object, int *rank)
{
    ArrayHeader header;
    if (array_header(object, &header) != ANSWER_YES) return NULL;
    *rank = header.rank;
    return header.shape;
}

bool
array_is_input(PyObject *object)
{
    ArrayHeader header;
    return array_header(object, &header) == ANSWER_YES && (header.flags & ARRAY_ALIGNED) != 0;
}

PyObject *
array_library_function(const ArrayLibrary *library, const char *name)
{
    PyObject *found = module_loaded(library->module);
    while (found != NULL && name != NULL) {
        const char *dot = strchr(name, '.');
        size_t length = dot != NULL ? (size_t)(dot - name) : strlen(name);
        PyObject *part = PyUnicode_FromStringAndSize(name, (Py_ssize_t)length);
        Py_SETREF(found, part != NULL ? PyObject_GetAttr(found, part) : NULL);
        Py_XDECREF(part);
        name = dot != NULL ? dot + 1 : NULL;
    }
    if (found == NULL) PyErr_Clear();
    return found;
}
