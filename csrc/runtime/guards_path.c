/* Objects of the program that a plan must not hold: arrays (which their owner may resize while
   nobody else has them, not even weakly), lists, dicts and what else cannot be referenced weakly.
   Capture has found them at a place, guarded to hold this very object, and took them for constants.
   Such a constant becomes another name of the place, and the guard on its identity one on its type:
   what else the plan relies on is guarded of the object that is there.  A descriptor, which is
   recognised by its parts (guards_weak.c), becomes another name of its place, too, and is still
   guarded to be that one.

   A dict in which names are looked up, such as builtins of the program's own, is kept.

   Where two such objects are two, they stay two; a second place of one object must have the same as
   the first. */
#include "guards.h"

static bool
is_by_identity(const GuardCheck *check, const PyObject *object)
{
    return (check->kind == GUARD_IS || check->kind == GUARD_GLOBAL) && check->object == object &&
           check->parts == NULL;
}

static bool
is_array(PyObject *object)
{
    return array_is_exact(object) || array_library_of(object) != NULL;
}

/* Can what it holds be the program's?  Numbers, text and such cannot. */
static bool
holds_objects(PyObject *tuple)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        if (PyTuple_CheckExact(item) ? holds_objects(item) : PyObject_IS_GC(item)) return true;
        if (is_array(item)) return true;
    }
    return false;
}

static bool
is_found_again(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (PyTuple_CheckExact(object)) return holds_objects(object);
    if (is_array(object) || PyList_CheckExact(object) || PyDict_CheckExact(object) ||
        PySet_CheckExact(object) || deque_check(object))
        return true;
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(object) &&
           !PyType_SUPPORTS_WEAKREFS(type) && !PyTuple_Check(object) &&
           type->tp_basicsize >= (Py_ssize_t)sizeof(PyObject);
}

/* Are globals or builtins looked up in it?  These guards look into the very dict. */
static bool
is_namespace(const GuardProgram *program, const PyObject *object)
{
    for (int i = 0; i < program->nsources; i++)
        if (program->sources[i].kind == SOURCE_GLOBAL &&
            (program->sources[i].object == object || program->sources[i].builtins == object))
            return true;
    return false;
}

/* Where the constant was found: the check of a place that is reached before the constant, or NULL.
 */
static GuardCheck *
find_place(GuardProgram *program, int constant)
{
    for (int i = 0; i < program->nchecks; i++) {
        GuardCheck *check = &program->checks[i];
        const GuardSource *place = &program->sources[check->source];
        if (is_by_identity(check, program->sources[constant].object) &&
            place->kind != SOURCE_CONST && place->base < constant && place->made == NULL)
            return check;
    }
    return NULL;
}

static void
guard_type(GuardCheck *check)
{
    check->kind = GUARD_TYPE;
    check->object = (PyObject *)Py_TYPE(check->object);
}

/* Of a constant tuple nobody has guarded the length. */
static void
guard_length(GuardProgram *program, int source, const GuardCheck *at)
{
    program->checks[program->nchecks++] =
        (GuardCheck){.kind = GUARD_LENGTH,
                     .source = source,
                     .other = NO_SOURCE,
                     .low = PyTuple_GET_SIZE(program->sources[source].object),
                     .file = at->file,
                     .line = at->line};
}

/* The constant is what is at the place now; other places must have the same. */
static void
find_again(GuardProgram *program, int constant, GuardCheck *first)
{
    GuardSource *source = &program->sources[constant];
    const GuardSource *place = &program->sources[first->source];
    PyObject *object = source->object;
    const bool parts = guards_knows_parts(object);
    if (!parts) guard_type(first);
    if (!parts && PyTuple_CheckExact(object)) guard_length(program, constant, first);
    for (int i = 0; i < program->nchecks && !parts; i++) {
        GuardCheck *check = &program->checks[i];
        if (!is_by_identity(check, object)) continue;
        check->kind = GUARD_SAME;
        check->other = constant;
        check->object = NULL;
    }
    source->kind = place->kind;
    source->base = place->base;
    source->index = place->index;
    source->key = place->key;
    source->object = place->object;
    source->builtins = place->builtins;
}

static bool
is_constant(const GuardProgram *program, const PyObject *object)
{
    for (int i = 0; i < program->nsources; i++)
        if (program->sources[i].kind == SOURCE_CONST && program->sources[i].object == object)
            return true;
    return false;
}

/* Arrays that capture has met on its way to something else: it does not use their contents. */
static void
guard_types_of_passed(GuardProgram *program)
{
    for (int i = 0; i < program->nchecks; i++) {
        GuardCheck *check = &program->checks[i];
        if (check->object != NULL && is_by_identity(check, check->object) &&
            array_is_exact(check->object) && !is_constant(program, check->object))
            guard_type(check);
    }
}

int
guards_find_again(GuardProgram *program)
{
    int32_t *found = mem_alloc((size_t)(program->nsources + 1) * sizeof(int32_t));
    if (found == NULL) return -1;
    GuardCheck apart = {.kind = GUARD_DIFFERENT, .other = NO_SOURCE};
    int nfound = 0, failed = 0;
    for (int i = 0; i < program->nsources; i++) {
        const GuardSource *source = &program->sources[i];
        bool again = source->kind == SOURCE_CONST &&
                     (is_found_again(source->object) || guards_knows_parts(source->object)) &&
                     !is_namespace(program, source->object);
        GuardCheck *place = again ? find_place(program, i) : NULL;
        if (place == NULL) continue;
        find_again(program, i, place);
        apart.file = place->file;
        apart.line = place->line;
        found[nfound++] = i;
    }
    if (nfound > 1) {
        apart.source = found[0];
        failed = guard_group(program, &apart, found, nfound);
        program->checks[program->nchecks++] = apart;
    }
    mem_free(found);
    guard_types_of_passed(program);
    return failed;
}
