/* Names of NumPy, looked up once.  NumPy imports some of its submodules (random, fft, polynomial,
   ma) when the program first reads them, which takes longer than a capture: a name in a module that
   is not imported yet gives NULL, and is looked up again next time. */
#include "numpy.h"

/* `from`.`name`, a new reference.  NULL without an error where it does not exist; *later is set
   where it may exist later. */
static PyObject *
part_of(PyObject *from, const char *name, bool last, bool *later)
{
    PyObject *found;
    if (PyModule_CheckExact(from)) {
        found = Py_XNewRef(PyDict_GetItemString(PyModule_GetDict(from), name));
        /* a submodule that is not imported, or a name of one that is being imported */
        *later = found == NULL && (!last || from != numpy_object(""));
    } else {
        found = PyObject_GetAttrString(from, name);
    }
    PyErr_Clear();
    return found;
}

/* A new reference; NULL without an error. */
static PyObject *
walk(const char *path, bool *later)
{
    char name[64];
    PyObject *object = *path == '\0' ? module_import("numpy") : Py_XNewRef(numpy_object(""));
    PyErr_Clear();
    while (object != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");
        if (length >= sizeof name) {
            Py_CLEAR(object);
            break;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        path += length + (path[length] == '.');
        Py_SETREF(object, part_of(object, name, *path == '\0', later));
    }
    return object;
}

/* ---- what was looked up ---- */

typedef struct {
    char *path;
    uint32_t hash;
    PyObject *object; /* NULL: there is none */
} Name;

/* For the life of the process; in C, since some five hundred names are looked up when a process
   first captures: as a dict of strings, which has to intern them, that took twice the time. */
static Name *noted; /* a power of two of places, a quarter of them free at least */
static uint32_t places, nnames;

/* The name's place, or a free one. */
static Name *
place_of(const char *path, uint32_t hash)
{
    uint32_t at = hash & (places - 1);
    while (noted[at].path != NULL && (noted[at].hash != hash || strcmp(noted[at].path, path) != 0))
        at = (at + 1) & (places - 1);
    return &noted[at];
}

static int
make_room(void)
{
    if (4 * (nnames + 1) < 3 * places) return 0;
    Name *before = noted;
    uint32_t room = places, wanted = places ? 2 * places : 1024;
    Name *fresh = mem_alloc(wanted * sizeof *fresh);
    if (fresh == NULL) return -1;
    noted = fresh;
    places = wanted;
    for (uint32_t i = 0; i < room; i++)
        if (before[i].path != NULL) *place_of(before[i].path, before[i].hash) = before[i];
    mem_free(before);
    return 0;
}

/* Takes over the object; -1: it was not noted. */
static int
note_name(const char *path, uint32_t hash, PyObject *object)
{
    char *copy = make_room() == 0 ? mem_alloc(strlen(path) + 1) : NULL;
    if (copy == NULL) return -1;
    strcpy(copy, path);
    *place_of(path, hash) = (Name){copy, hash, object};
    nnames++;
    return 0;
}

PyObject *
numpy_object(const char *path)
{
    uint32_t hash = (uint32_t)text_hash(path);
    const Name *found = places > 0 ? place_of(path, hash) : NULL;
    if (found != NULL && found->path != NULL) return found->object;
    bool later = false;
    PyObject *object = walk(path, &later);
    if (object == NULL && later) return NULL;
    /* without memory the reference is nobody's: a bound method has no other owner */
    if (note_name(path, hash, object) < 0) PyErr_Clear();
    return object;
}

int
numpy_load_submodule(PyObject *module, PyObject *name)
{
    if (module != numpy_object("")) return 0;
    PyObject *names = PyDict_GetItemString(PyModule_GetDict(module), "__numpy_submodules__");
    if (names == NULL || !PySet_CheckExact(names)) return 0;
    int known = PySet_Contains(names, name);
    if (known <= 0) return known;
    PyObject *path = PyUnicode_FromFormat("numpy.%U", name);
    const char *text = path != NULL ? PyUnicode_AsUTF8(path) : NULL;
    PyObject *loaded = text != NULL ? module_import(text) : NULL;
    Py_XDECREF(path);
    if (loaded == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Clear(); /* CPython will raise it */
    Py_XDECREF(loaded);
    return 0;
}
