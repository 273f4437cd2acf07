/* What a plan keeps alive keeps nothing of the program alive: asked of each plan in a build with
   assertions.  Of the program are modules, namespaces, functions and classes but those of Python,
   of NumPy, of pycompile and of installed packages, and the instances of its classes.  Not asked
   where a backend of the program's made the code: its callable lives as long as the plan. */
#include "entry.h"
#include "guards.h"

#ifndef NDEBUG
typedef struct {
    Arena *arena;
    PyObject *seen; /* a dict, by address */
    VEC(PyObject *) open;
} Walk;

static int
walk_to(PyObject *object, void *context)
{
    Walk *walk = context;
    Py_ssize_t before = PyDict_GET_SIZE(walk->seen);
    PyObject *address = PyLong_FromVoidPtr(object);
    int failed =
        address == NULL || PyDict_SetItem(walk->seen, address, Py_None) < 0 ||
        (PyDict_GET_SIZE(walk->seen) > before && VEC_PUSH(walk->arena, &walk->open, object) < 0);
    Py_XDECREF(address);
    return failed;
}

static bool
is_of_program(PyObject *name)
{
    if (name == NULL || !PyUnicode_Check(name) || module_is_library(name)) return false;
    PyObject *module = dict_told(PyImport_GetModuleDict(), name);
    PyObject *file = module != NULL && PyModule_Check(module)
                         ? dict_named(PyModule_GetDict(module), "__file__")
                         : NULL;
    const char *path = file != NULL && PyUnicode_Check(file) ? PyUnicode_AsUTF8(file) : NULL;
    PyErr_Clear();
    return path == NULL || strstr(path, "/lib/python") == NULL;
}

static bool
class_is_of_program(PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 &&
           is_of_program(dict_named(type->tp_dict, "__module__"));
}

/* Its module's name, where the object is not looked into. */
static bool
has_module(PyObject *object, bool *of_program)
{
    PyObject *names = PyFunction_Check(object) ? PyFunction_GET_GLOBALS(object)
                      : PyModule_Check(object) ? PyModule_GetDict(object)
                      : PyDict_Check(object) && dict_named(object, "__builtins__") ? object
                                                                                   : NULL;
    *of_program = names != NULL          ? is_of_program(dict_named(names, "__name__"))
                  : PyType_Check(object) ? class_is_of_program((PyTypeObject *)object)
                                         : class_is_of_program(Py_TYPE(object));
    return names != NULL || PyType_Check(object);
}

static int
walk_from(Walk *walk, PyObject *kept)
{
    if (walk_to(kept, walk) != 0) return -1;
    while (walk->open.len > 0) {
        PyObject *object = walk->open.at[--walk->open.len];
        bool of_program;
        if ((has_module(object, &of_program) && !of_program) || object == PyImport_GetModuleDict())
            continue;
        if (of_program) {
            PyErr_Format(PyExc_SystemError, "a plan keeps %.200R, and with it %.200R", kept,
                         object);
            return -1;
        }
        traverseproc traverse = Py_TYPE(object)->tp_traverse;
        if (PyObject_IS_GC(object) && traverse != NULL && traverse(object, walk_to, walk) != 0)
            return -1;
    }
    return 0;
}
#endif

int
guards_verify_kept(const GuardProgram *program)
{
#ifdef NDEBUG
    (void)program;
    return 0;
#else
    if (program->strong == NULL) return 0;
    Walk all = {.arena = arena_new(), .seen = PyDict_New()};
    int failed = all.arena == NULL || all.seen == NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(program->strong) && !failed; i++)
        failed = walk_from(&all, PyList_GET_ITEM(program->strong, i)) < 0;
    Py_XDECREF(all.seen);
    arena_free(all.arena);
    return failed ? -1 : 0;
#endif
}
