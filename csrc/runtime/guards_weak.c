/* Objects of the program that a plan refers to.  CPython would have freed them, so plans must not
   keep them alive.

   - Weakly: instances, functions, what compile and disable return, code, classes and modules.  Each
   gets a weak reference, whose callback makes the guard program dead: it never holds again, and
   none of its objects is accessed any more.  What only the watch borrows ends the watch instead.
   - By what they hold: tuples and sets of such are copied, and the copies borrow what is in them
   (hollow); what is compared by identity and cannot be referenced weakly is recognised by its
   parts.
   - Borrowed: the namespace of the code, which is alive whenever its guards are checked, and the
   dicts of functions and modules and the members of enums of ints that are referred to weakly (a
   member by its class, which lists it).  The namespace of another function
   that is followed lives as long as its module, a function in it or the function itself: one of
   them is referred to weakly.
   - Not at all: arrays, lists, dicts, tuples of such (guards_path.c).
   - Strongly, in one list: plain values, what no program owns, what only capture itself refers to
   (it made it). */
#include "guards.h"

enum { MAX_PARTS = 64 };

void
guards_unwatch(GuardProgram *program)
{
    int kept = 0;
    watch_free(program->watch);
    program->watch = NULL;
    for (int i = 0; i < program->nweak; i++) {
        WeakHold hold = program->weak[i];
        if (hold.watched)
            Py_DECREF(hold.reference); /* which runs no code: the callback stays */
        else
            program->weak[kept++] = hold;
    }
    program->nweak = kept;
}

/* A capsule stands between the callback and the guard program, which may be freed first.  The watch
   may borrow the object that is freed now.  The reference stays until it is no longer being called
   back. */
static PyObject *
on_death(PyObject *capsule, PyObject *reference)
{
    GuardProgram *program = PyCapsule_GetContext(capsule);
    if (program == NULL) Py_RETURN_NONE;
    for (int i = 0; i < program->nweak; i++) {
        if (program->weak[i].reference != reference) continue;
        program->weak[i].object = NULL;
        program->dead = program->dead || !program->weak[i].watched;
    }
    watch_free(program->watch);
    program->watch = NULL;
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
    return PyFunction_Check(object) || PyMethod_Check(object) || PyModule_Check(object) ||
           PyCode_Check(object) || guard_of_wrapper(object) ||
           (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

static bool
is_listed(PyObject *class, const char *map, const PyObject *member)
{
    Py_ssize_t at = 0;
    PyObject *key, *value, *list = dict_named(((PyTypeObject *)class)->tp_dict, map);
    while (list != NULL && PyDict_Check(list) && PyDict_Next(list, &at, &key, &value))
        if (value == member) return true;
    return false;
}

/* Whose end the object's is: its own, or that of the class of a member that cannot be referred to
   weakly. */
static PyObject *
mortal_of(PyObject *object)
{
    PyObject *class = (PyObject *)Py_TYPE(object);
    if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) || !is_enum_member(object)) return object;
    bool listed =
        is_listed(class, "_member_map_", object) || is_listed(class, "_value2member_map_", object);
    return listed ? class : object;
}

/* `mortal`: of mortal_of(). */
static WeakHold *
find_hold(const GuardProgram *program, const PyObject *mortal)
{
    for (int i = 0; i < program->nweak; i++)
        if (program->weak[i].object == mortal) return &program->weak[i];
    return NULL;
}

/* Has the object no reference but pycompile's? */
static bool
is_ours(PyObject *object, PyObject *keep)
{
    Py_ssize_t held = 0, count = keep != NULL ? PyList_GET_SIZE(keep) : 0;
    for (Py_ssize_t i = 0; i < count; i++) held += PyList_GET_ITEM(keep, i) == object;
    return Py_REFCNT(object) <= held;
}

static int
hold_new(GuardProgram *program, PyObject *object, bool watched)
{
    PyObject *callback = callback_of(program);
    PyObject *reference = callback ? PyWeakref_NewRef(object, callback) : NULL;
    if (reference == NULL) return -1;
    if (program->nweak == program->weak_room) {
        int room = program->weak_room ? program->weak_room * 2 : 8;
        WeakHold *more = mem_realloc(program->weak, (size_t)room * sizeof(WeakHold));
        if (more == NULL) {
            Py_DECREF(reference);
            return -1;
        }
        program->weak = more;
        program->weak_room = room;
    }
    program->weak[program->nweak++] = (WeakHold){object, reference, watched};
    return 0;
}

int
guards_keep_watched(GuardProgram *program, PyObject *object)
{
    if (!is_mortal(object) || find_hold(program, object) != NULL) return 0;
    return hold_new(program, object, true);
}

/* ANSWER_NO: it is not to be referred to weakly. */
static Answer
hold_one(GuardProgram *program, PyObject *keep, PyObject *object)
{
    if (object == NULL || !is_mortal(object = mortal_of(object))) return ANSWER_NO;
    WeakHold *hold = find_hold(program, object);
    if (hold != NULL) {
        hold->watched = false;
        return ANSWER_YES;
    }
    if (is_ours(object, keep)) return ANSWER_NO;
    return hold_new(program, object, false) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

int
guards_keep_mortal(GuardProgram *program, PyObject *keep, PyObject *object)
{
    return hold_one(program, keep, object) == ANSWER_ERROR ? -1 : 0;
}

/* A dict that lives as long as something that is referred to weakly, or whose code runs in it. */
static bool
is_lent(const GuardProgram *program, const PyObject *object)
{
    if (object == program->globals || object == program->builtins) return true;
    for (int i = 0; i < program->nweak && PyDict_Check(object); i++) {
        PyObject *holder = program->weak[i].object;
        if (holder == NULL || program->weak[i].watched) continue;
        if (PyFunction_Check(holder) && (((PyFunctionObject *)holder)->func_globals == object ||
                                         ((PyFunctionObject *)holder)->func_builtins == object))
            return true;
        if (PyModule_Check(holder) && PyModule_GetDict(holder) == object) return true;
    }
    return false;
}

/* Something that lives no longer than the namespace, and keeps it: the module, or a function that
   is in it; NULL if there is none.  Borrowed. */
static PyObject *
owner_of(PyObject *namespace)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    PyObject *name = dict_named(namespace, "__name__");
    bool text = name != NULL && PyUnicode_CheckExact(name);
    PyObject *module = text ? dict_told(PyImport_GetModuleDict(), name) : NULL;
    if (module != NULL && PyModule_Check(module) && PyModule_GetDict(module) == namespace)
        return module;
    while (PyDict_Next(namespace, &at, &key, &value))
        if (PyFunction_Check(value) && PyFunction_GET_GLOBALS(value) == namespace) return value;
    return NULL;
}

/* The namespace of a function that is followed but not known itself.  `function`: the one that
   capture met, or NULL. */
static int
borrow_namespace(GuardProgram *program, PyObject *keep, PyObject *namespace, PyObject *function)
{
    if (namespace == NULL || is_lent(program, namespace)) return 0;
    PyObject *owner = owner_of(namespace);
    return guards_keep_mortal(program, keep, owner != NULL ? owner : function);
}

int
guards_keep_namespaces(GuardProgram *program, const Capture *capture)
{
    PyObject *keep = capture->keep;
    for (int i = 0; i < capture->guards.len; i++)
        if (program->checks[i].kind == GUARD_NAMESPACE &&
            borrow_namespace(program, keep, program->checks[i].object,
                             capture->guards.at[i].object) < 0)
            return -1;
    for (int i = 0; i < program->nsources; i++)
        if (program->sources[i].kind == SOURCE_GLOBAL &&
            (borrow_namespace(program, keep, program->sources[i].object, NULL) < 0 ||
             borrow_namespace(program, keep, program->sources[i].builtins, NULL) < 0))
            return -1;
    return 0;
}

/* The items of a tuple of classes. */
static int
classes_of(PyObject *tuple, const void **out, int *nobjects)
{
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) == 0 ||
        PyTuple_GET_SIZE(tuple) > MAX_PARTS)
        return -1;
    *nobjects = (int)PyTuple_GET_SIZE(tuple);
    for (Py_ssize_t i = 0; i < *nobjects; i++) {
        out[i] = PyTuple_GET_ITEM(tuple, i);
        if (!PyType_Check(PyTuple_GET_ITEM(tuple, i))) return -1;
    }
    return *nobjects;
}

/* What identifies the object, into `out`, the first *nobjects of them objects that it has; returns
   how many, or -1 for an object that is compared by identity. */
static int
parts_of(PyObject *object, const void **out, int *nobjects)
{
    static const char *const names[] = {"fget", "fset", "fdel"};
    if (Py_TYPE(object) == &PyMemberDescr_Type || Py_TYPE(object) == &PyGetSetDescr_Type) {
        *nobjects = 1;
        out[0] = PyDescr_TYPE(object);
        out[1] = Py_TYPE(object) == &PyMemberDescr_Type
                     ? (const void *)((PyMemberDescrObject *)object)->d_member
                     : (const void *)((PyGetSetDescrObject *)object)->d_getset;
        return 2;
    }
    if (Py_TYPE(object) == &PyStaticMethod_Type || Py_TYPE(object) == &PyClassMethod_Type ||
        Py_TYPE(object) == &PyProperty_Type) {
        bool property = Py_TYPE(object) == &PyProperty_Type;
        *nobjects = property ? 3 : 1;
        for (int i = 0; i < *nobjects; i++) {
            PyObject *part = PyObject_GetAttrString(object, property ? names[i] : "__func__");
            if (part == NULL) {
                PyErr_Clear();
                return -1;
            }
            Py_DECREF(part); /* the descriptor has it */
            out[i] = part;
        }
        return *nobjects;
    }
    if (ufunc_check(object) && (out[0] = ufunc_made_of(object)) != NULL) {
        *nobjects = 1;
        out[1] = (const void *)(uintptr_t)ufunc_arity(object);
        return 2;
    }
    if (!typing_is_union(object)) return classes_of(object, out, nobjects);
    PyObject *members = PyObject_GetAttrString(object, "__args__");
    int n = members != NULL ? classes_of(members, out, nobjects) : -1;
    Py_XDECREF(members); /* the union has it */
    PyErr_Clear();
    return n;
}

bool
guards_knows_parts(PyObject *object)
{
    const void *parts[MAX_PARTS];
    int nobjects;
    return parts_of(object, parts, &nobjects) >= 0;
}

/* ---- tuples and sets of what is referred to weakly ---- */

static PyObject *
hollow_tuple(GuardProgram *program, PyObject *keep, PyObject *of, Hollow *hollow)
{
    PyObject *made = hollow->object = PyTuple_New(PyTuple_GET_SIZE(of));
    if (made == NULL) return NULL;
    PyObject_GC_UnTrack(made);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(of); i++) {
        PyObject *item = PyTuple_GET_ITEM(of, i);
        if (guards_keep_value(program, keep, &item) < 0) return NULL;
        PyTuple_SET_ITEM(made, i, item);
    }
    return made;
}

static PyObject *
hollow_set(GuardProgram *program, PyObject *keep, PyObject *of, Hollow *hollow)
{
    PyObject *made = hollow->object = set_clone(of);
    if (made == NULL) return NULL;
    set_lend(made);
    PySetObject *set = (PySetObject *)made;
    for (Py_ssize_t i = 0; i <= set->mask; i++)
        if (guards_keep_value(program, keep, &set->table[i].key) < 0) return NULL;
    return made;
}

static void
hollow_free(Hollow *hollow)
{
    PyObject *object = hollow->object;
    if (object == NULL) return;
    for (Py_ssize_t i = 0; PyTuple_Check(object) && i < PyTuple_GET_SIZE(object); i++)
        PyTuple_SET_ITEM(object, i, NULL);
    if (PyAnySet_Check(object)) set_forget(object);
    Py_DECREF(object);
}

int
guards_keep_value(GuardProgram *program, PyObject *keep, PyObject **object)
{
    bool tuple = *object != NULL && PyTuple_CheckExact(*object);
    bool set = *object != NULL && PyAnySet_CheckExact(*object);
    if ((!tuple && !set) || value_is_plain(*object)) return guards_keep(program, keep, *object);
    Hollow *hollow = arena_alloc(program->memory, sizeof(Hollow));
    if (hollow == NULL) return -1;
    hollow->next = program->hollows;
    program->hollows = hollow;
    PyObject *copy = tuple ? hollow_tuple(program, keep, *object, hollow)
                           : hollow_set(program, keep, *object, hollow);
    if (copy == NULL) return -1;
    *object = copy;
    return 0;
}

/* ---- what is wanted ---- */

/* A descriptor, a class's MRO or bases, a union and a ufunc of a Python function refer to objects
   of the program and cannot be referenced weakly: such an object is recognised by its parts. */
int
guards_keep_wanted(GuardProgram *program, PyObject *keep, GuardCheck *check)
{
    const void *parts[MAX_PARTS];
    int nobjects = 0;
    bool identity = check->kind == GUARD_IS || check->kind == GUARD_GLOBAL;
    int n = identity && check->object != NULL ? parts_of(check->object, parts, &nobjects) : -1;
    bool mortal = false;
    for (int i = 0; n >= 0 && i < nobjects; i++)
        mortal = mortal || is_mortal((PyObject *)(uintptr_t)parts[i]);
    if (!mortal && !identity) return guards_keep_value(program, keep, &check->object);
    if (!mortal) return guards_keep(program, keep, check->object);
    for (int i = 0; i < nobjects; i++)
        if (guards_keep(program, keep, (PyObject *)(uintptr_t)parts[i]) < 0) return -1;
    check->nparts = n;
    check->parts = arena_copy(program->memory, parts, sizeof(void *) * (size_t)n);
    check->object = (PyObject *)Py_TYPE(check->object);
    return check->parts == NULL ? -1 : 0;
}

bool
guards_has_parts(const GuardCheck *check, PyObject *object)
{
    const void *parts[MAX_PARTS];
    int nobjects;
    return object != NULL && (PyObject *)Py_TYPE(object) == check->object &&
           parts_of(object, parts, &nobjects) == check->nparts &&
           memcmp(parts, check->parts, sizeof(void *) * (size_t)check->nparts) == 0;
}

int
guards_keep(GuardProgram *program, PyObject *keep, PyObject *object)
{
    if (object == NULL) return 0;
    Answer answer = hold_one(program, keep, object);
    if (answer != ANSWER_NO) return answer == ANSWER_ERROR ? -1 : 0;
    if (is_lent(program, object)) return 0;
    if (program->strong == NULL) {
        if ((program->strong = PyList_New(0)) == NULL) return -1;
        PyObject_GC_UnTrack(program->strong); /* gc.get_objects and the like must not find it */
    }
    return PyList_Append(program->strong, object);
}

bool
guards_hold_weakly(const GuardProgram *program, PyObject *object)
{
    return object != NULL && find_hold(program, mortal_of(object)) != NULL;
}

void
guards_let_go(GuardProgram *program)
{
    if (program->forget != NULL) PyCapsule_SetContext(PyCFunction_GET_SELF(program->forget), NULL);
    watch_free(program->watch);
    for (Hollow *hollow = program->hollows; hollow != NULL; hollow = hollow->next)
        hollow_free(hollow);
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
