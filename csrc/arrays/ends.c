/* Whether dropping a reference runs code of the program's: a __del__, the callback of a weak
   reference, what a generator does when it is closed.
   What would die is walked as the collector walks it (tp_traverse).  What has another owner lives
   on; but an object whose end runs code counts wherever it is met, since its other owners may be
   dropped in the same run. */
#include "../python/python.h"
#include "numpy_api.h"

enum { MAX_DEPTH = 64, MOST_OBJECTS = 1 << 20 };

typedef struct {
    PyObject *kept; /* a list, whose references do not count; or NULL */
    int depth, objects;
} Walk;

static int dies(PyObject *object, Walk *walk);

/* Holds no references, and its end is not told: numbers, text, None; or is never at its end. */
static inline bool
is_leaf(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    bool number = type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type;
    if (number) return true; /* most of what containers hold, without a look at its bases */
    if (type->tp_flags & Py_TPFLAGS_HAVE_GC) {
        if (PyType_Check(object) || PyModule_CheckExact(object)) return true;
        return (PyDict_CheckExact(object) || PyTuple_CheckExact(object)) && Py_SIZE(object) == 0;
    }
    return type->tp_weaklistoffset == 0 && type->tp_finalize == NULL &&
           !PyArray_IsScalar(object, Void);
}

/* Does its own end run code, whatever dies with it? */
static bool
is_loud(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    if (type->tp_del != NULL || object_end_is_told(object)) return true;
    return type->tp_finalize != NULL && generator_end_runs(object);
}

static Py_ssize_t
references(PyObject *object, PyObject *kept)
{
    Py_ssize_t count = Py_REFCNT(object);
    for (Py_ssize_t i = 0; kept != NULL && count > 1 && i < PyList_GET_SIZE(kept); i++)
        count -= PyList_GET_ITEM(kept, i) == object;
    return count;
}

/* A reference to the object goes. */
static int
goes(PyObject *object, void *context)
{
    Walk *walk = context;
    if (is_leaf(object)) return 0;
    if (references(object, walk->kept) <= 1) return dies(object, walk);
    return is_loud(object);
}

static int
object_items_go(PyArrayObject *array, Walk *walk)
{
    PyArray_Descr *descr = PyArray_DESCR(array);
    if (!PyDataType_REFCHK(descr) || !PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA)) return 0;
    if (descr->type_num != NPY_OBJECT || !PyArray_ISONESEGMENT(array)) return 1;
    PyObject **items = PyArray_DATA(array);
    for (npy_intp i = PyArray_SIZE(array); i-- > 0;)
        if (items[i] != NULL && goes(items[i], walk)) return 1;
    return 0;
}

static int
array_dies(PyArrayObject *array, Walk *walk)
{
    if (PyArray_CHKFLAGS(array, NPY_ARRAY_WRITEBACKIFCOPY) || object_items_go(array, walk))
        return 1;
    PyObject *base = PyArray_BASE(array);
    return base != NULL && goes(base, walk);
}

/* Not 0: its end runs code, or there is too much to be looked at. */
static int
dies(PyObject *object, Walk *walk)
{
    const PyTypeObject *type = Py_TYPE(object);
    if (is_loud(object)) return 1;
    if (++walk->objects > MOST_OBJECTS || walk->depth == MAX_DEPTH) return 1;
    walk->depth++;
    int loud = PyArray_Check(object) ? array_dies((PyArrayObject *)object, walk) : 0;
    if (PyArray_IsScalar(object, Void) && ((PyVoidScalarObject *)object)->base != NULL)
        loud = goes(((PyVoidScalarObject *)object)->base, walk);
    if (!loud && type->tp_traverse != NULL && PyObject_IS_GC(object))
        loud = type->tp_traverse(object, goes, walk);
    walk->depth--;
    return loud;
}

bool
object_ends_quietly(PyObject *object, Py_ssize_t drops, PyObject *kept)
{
    if (stored_is_untold(object)) return false; /* only the program's __eq__ knows what is there */
    if (is_leaf(object)) return true;
    if (PyArray_CheckExact(object) && PyArray_BASE((PyArrayObject *)object) == NULL &&
        !PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)object)))
        return !object_end_is_told(object) &&
               !PyArray_CHKFLAGS((PyArrayObject *)object, NPY_ARRAY_WRITEBACKIFCOPY);
    Walk walk = {.kept = kept};
    return Py_REFCNT(object) > drops ? !is_loud(object) : !dies(object, &walk);
}

bool
array_ends_quietly(PyObject *object)
{
    if (Py_REFCNT(object) > 1) return true; /* others hold it, too */
    return object_ends_quietly(object, 1, NULL);
}
