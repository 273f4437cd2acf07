/* Objects of the program that a plan refers to weakly, since the program may drop them: instances,
   functions and classes.  CPython would have freed them, so plans must not keep them alive. Each
   such object gets a weak reference, whose callback makes the guard program dead: it never holds
   again, and none of its objects is accessed any more.
   All other objects that a plan refers to are kept in one list, also those that only capture itself
   refers to (it made them). */
#include "guards.h"

enum { MAX_PARTS = 64 };

/* The watched objects may be freed with the watch, and call back. */
void
guards_unwatch(GuardProgram *program)
{
    Watch *watch = program->watch;
    program->watch = NULL;
    watch_free(watch);
}

/* A capsule stands between the callback and the program, which may be freed first. */
static PyObject *
on_death(PyObject *capsule, PyObject *Py_UNUSED(reference))
{
    GuardProgram *program = PyCapsule_GetContext(capsule);
    if (program != NULL) {
        program->dead = true;
        guards_unwatch(program); /* the watch borrows the object that is freed now */
    }
    Py_RETURN_NONE;
}

static PyMethodDef death_method = {"forget", on_death, METH_O, NULL};

static PyObject *
callback_of(GuardProgram *program)
{
    if (program->forget != NULL) return program->forget;
    PyObject *capsule = PyCapsule_New(&death_method, NULL, NULL);
    if (capsule == NULL) return NULL;
    program->forget = PyCFunction_New(&death_method, capsule);
    if (program->forget != NULL && PyCapsule_SetContext(capsule, program) < 0)
        Py_CLEAR(program->forget);
    Py_DECREF(capsule);
    return program->forget;
}

/* A C function of a module, or a method of a ufunc or of text, which keeps nothing alive; other
   bound methods are created and freed with their objects. */
static bool
is_lasting(PyObject *object)
{
    PyObject *self = PyCFunction_GET_SELF(object);
    const char *name = ((PyCFunctionObject *)object)->m_ml->ml_name;
    return self == NULL || ufunc_check(self) || PyUnicode_CheckExact(self) ||
           (PyModule_Check(self) && PyDict_GetItemString(PyModule_GetDict(self), name) == object);
}

static bool
is_mortal(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (PyCFunction_CheckExact(object)) return !is_lasting(object);
    if (PyType_Check(object))
        return (((PyTypeObject *)object)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
    if (!PyType_SUPPORTS_WEAKREFS(type)) return false;
    return PyFunction_Check(object) || PyMethod_Check(object) ||
           ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && !PyModule_Check(object));
}

static bool
is_held(const GuardProgram *program, PyObject *object)
{
    for (int i = 0; i < program->nweak; i++)
        if (program->weak[i].object == object) return true;
    return false;
}

/* Has the object no reference but pycompile's? */
static bool
is_ours(PyObject *object, PyObject *keep)
{
    Py_ssize_t held = 0, count = keep != NULL ? PyList_GET_SIZE(keep) : 0;
    for (Py_ssize_t i = 0; i < count; i++) held += PyList_GET_ITEM(keep, i) == object;
    return Py_REFCNT(object) <= held;
}

/* ANSWER_NO: it has to be kept. */
static Answer
hold_one(GuardProgram *program, PyObject *keep, PyObject *object)
{
    if (!is_mortal(object)) return ANSWER_NO;
    if (is_held(program, object)) return ANSWER_YES;
    if (is_ours(object, keep)) return ANSWER_NO;
    PyObject *callback = callback_of(program);
    PyObject *reference = callback ? PyWeakref_NewRef(object, callback) : NULL;
    if (reference == NULL) return ANSWER_ERROR;
    if (program->nweak == program->weak_room) {
        int room = program->weak_room ? program->weak_room * 2 : 8;
        WeakHold *more = mem_realloc(program->weak, (size_t)room * sizeof(WeakHold));
        if (more == NULL) {
            Py_DECREF(reference);
            return ANSWER_ERROR;
        }
        program->weak = more;
        program->weak_room = room;
    }
    program->weak[program->nweak++] = (WeakHold){object, reference};
    return ANSWER_YES;
}

/* The object's parts, borrowed, into `out`; returns how many, or -1 for an object that is compared
   by identity. */
static int
parts_of(PyObject *object, PyObject **out)
{
    static const char *const names[] = {"fget", "fset", "fdel"};
    if (Py_TYPE(object) == &PyStaticMethod_Type || Py_TYPE(object) == &PyClassMethod_Type ||
        Py_TYPE(object) == &PyProperty_Type) {
        bool property = Py_TYPE(object) == &PyProperty_Type;
        for (int i = 0; i < (property ? 3 : 1); i++) {
            out[i] = PyObject_GetAttrString(object, property ? names[i] : "__func__");
            if (out[i] == NULL) {
                PyErr_Clear();
                return -1;
            }
            Py_DECREF(out[i]); /* the descriptor has it */
        }
        return property ? 3 : 1;
    }
    if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(object) == 0 ||
        PyTuple_GET_SIZE(object) > MAX_PARTS)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
        if (!PyType_Check(out[i] = PyTuple_GET_ITEM(object, i))) return -1;
    return (int)PyTuple_GET_SIZE(object);
}

/* A descriptor, and a class's MRO or bases, refer to the object that has them and cannot be
   referenced weakly: such an object is recognised by its parts. */
int
guards_keep_wanted(GuardProgram *program, PyObject *keep, GuardCheck *check)
{
    PyObject *parts[MAX_PARTS];
    int n = check->kind == GUARD_IS && check->object != NULL ? parts_of(check->object, parts) : -1;
    bool mortal = false;
    for (int i = 0; i < n; i++) mortal = mortal || is_mortal(parts[i]);
    if (!mortal) return guards_keep(program, keep, check->object);
    for (int i = 0; i < n; i++)
        if (guards_keep(program, keep, parts[i]) < 0) return -1;
    check->nparts = n;
    check->parts = arena_copy(program->memory, parts, sizeof(PyObject *) * (size_t)n);
    check->object = (PyObject *)Py_TYPE(check->object);
    return check->parts == NULL ? -1 : 0;
}

bool
guards_has_parts(const GuardCheck *check, PyObject *object)
{
    PyObject *parts[MAX_PARTS];
    return object != NULL && (PyObject *)Py_TYPE(object) == check->object &&
           parts_of(object, parts) == check->nparts &&
           memcmp(parts, check->parts, sizeof(PyObject *) * (size_t)check->nparts) == 0;
}

int
guards_keep(GuardProgram *program, PyObject *keep, PyObject *object)
{
    if (object == NULL) return 0;
    if (program->strong == NULL) {
        if ((program->strong = PyList_New(0)) == NULL) return -1;
        PyObject_GC_UnTrack(program->strong); /* gc.get_objects and the like must not find it */
    }
    Answer answer = hold_one(program, keep, object);
    if (answer == ANSWER_NO) return PyList_Append(program->strong, object);
    return answer == ANSWER_ERROR ? -1 : 0;
}

bool
guards_hold_weakly(const GuardProgram *program, PyObject *object)
{
    return object != NULL && is_held(program, object);
}

void
guards_let_go(GuardProgram *program)
{
    if (program->forget != NULL) PyCapsule_SetContext(PyCFunction_GET_SELF(program->forget), NULL);
    for (int i = 0; i < program->nweak; i++) Py_DECREF(program->weak[i].reference);
    mem_free(program->weak);
    Py_CLEAR(program->forget);
    Py_CLEAR(program->strong);
}

bool
guards_are_dead(const GuardProgram *program)
{
    return program->dead;
}
