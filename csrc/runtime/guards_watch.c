/* Facts that need no check at each call: globals, attributes of modules and classes, code and
   defaults of functions are watched; a source that depends on watched facts only is steady.
   Invariant: while the watch holds, a steady source's object is `seen`, and a check that is not in
   `run` holds. */
#include "guards.h"

static Answer
watch_key(GuardProgram *program, PyObject *dict, PyObject *key)
{
    if (dict == NULL || !PyDict_CheckExact(dict)) return ANSWER_NO;
    return watch_dict_key(program->watch, dict, key);
}

bool
source_is_behind(const GuardSource *source)
{
    return source->kind == SOURCE_GLOBAL && source->builtins != NULL &&
           dict_stored(source->object, source->key) == NULL;
}

static Answer
watch_global(GuardProgram *program, const GuardSource *source)
{
    Answer answer = watch_key(program, source->object, source->key);
    if (answer != ANSWER_YES || source->builtins == NULL) return answer;
    /* A global of the same name may shadow a builtin later; the watch on the globals notices
       that. */
    return source_is_behind(source) ? watch_key(program, source->builtins, source->key)
                                    : ANSWER_YES;
}

/* The watch borrows the base: its end is the watch's. */
static Answer
watch_attribute(GuardProgram *program, PyObject *base, PyObject *name)
{
    bool module = PyModule_Check(base), type = PyType_Check(base);
    if (!module && !type && !PyFunction_Check(base)) return ANSWER_NO;
    if (type && !watch_sees_of_type(name)) return ANSWER_NO;
    if (guards_keep_watched(program, base) < 0) return ANSWER_ERROR;
    if (module) return watch_key(program, PyModule_GetDict(base), name);
    if (type) return watch_type(program->watch, (PyTypeObject *)base);
    if (PyUnicode_CompareWithASCIIString(name, "__closure__") == 0) return ANSWER_YES;
    return watch_function(program->watch, (PyFunctionObject *)base, name);
}

/* Dicts that belong to a function or a class and seldom change. */
static bool
is_steady_dict(PyObject *name)
{
    static const char *const names[] = {"__kwdefaults__", "_member_map_", "_value2member_map_"};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return true;
    return false;
}

/* A keyword default or a member of an enum; the entries of other dicts change too often to be
   watched. */
static Answer
watch_item(GuardProgram *program, const GuardSource *source, PyObject *base)
{
    const GuardSource *holder = &program->sources[source->base];
    if (PyTuple_CheckExact(base)) return ANSWER_YES;
    if (holder->kind != SOURCE_ATTR || source->key == NULL || !is_steady_dict(holder->key))
        return ANSWER_NO;
    return watch_key(program, base, source->key);
}

/* An object whose type cannot be assigned to. */
static bool
type_is_fixed(PyObject *object)
{
    return object != NULL && !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
           !PyModule_Check(object);
}

static Answer
source_is_steady(GuardProgram *program, int number, PyObject *const *reached)
{
    const GuardSource *source = &program->sources[number];
    if (source->kind == SOURCE_CONST) return ANSWER_YES;
    if (source->moves == MOST_MOVES) return ANSWER_NO;
    if (source->kind == SOURCE_GLOBAL) return watch_global(program, source);
    if (source->base < 0 || !program->sources[source->base].steady) return ANSWER_NO;
    PyObject *base = reached[source->base];
    if (base == NULL) return ANSWER_NO;
    switch (source->kind) {
    case SOURCE_ATTR: return watch_attribute(program, base, source->key);
    case SOURCE_ITEM: return watch_item(program, source, base);
    case SOURCE_SIZE:
    case SOURCE_REST:
    case SOURCE_WALKED: return ANSWER_NO;
    case SOURCE_TYPE: return type_is_fixed(base) ? ANSWER_YES : ANSWER_NO;
    default: return ANSWER_NO;
    }
}

/* A class that is watched for this attribute. */
static bool
is_watched_class(const GuardProgram *program, const GuardCheck *check, PyObject *object)
{
    if (object == NULL || !PyType_Check(object)) return false;
    for (int i = 0; i < program->nsources; i++) {
        const GuardSource *source = &program->sources[i];
        if (source->kind == SOURCE_ATTR && source->base == check->source && source->steady &&
            source->key == check->object)
            return true;
    }
    return false;
}

/* Holds as long as its sources' objects are the same. */
static bool
check_is_covered(const GuardProgram *program, const GuardCheck *check, PyObject *const *reached)
{
    if (!program->sources[check->source].steady) return false;
    if (check->other >= 0 && !program->sources[check->other].steady) return false;
    for (int i = 0; i < check->ngroup; i++)
        if (!program->sources[check->group[i]].steady) return false;
    PyObject *object = reached[check->source];
    switch (check->kind) {
    case GUARD_IS:
    case GUARD_GLOBAL:
    case GUARD_UNBOUND:
    case GUARD_SAME:
    case GUARD_NOT_SAME:
    case GUARD_DIFFERENT: return true;
    case GUARD_NAMESPACE: return true; /* a function cannot get another */
    case GUARD_VALUE: return !PySet_CheckExact(check->object);
    case GUARD_INT_RANGE:
    case GUARD_SCALAR: return true; /* immutable */
    case GUARD_TYPE: return type_is_fixed(object);
    case GUARD_LENGTH:
    case GUARD_LONGER: return PyTuple_CheckExact(object);
    case GUARD_ATTR_ABSENT: return is_watched_class(program, check, object);
    default: return false;
    }
}

static void
mark_used(GuardProgram *program, bool *wanted, int source)
{
    for (; source >= 0 && !wanted[source]; source = program->sources[source].base)
        wanted[source] = true;
}

/* Makes the lists: which sources are needed at run time, and how each is reached. */
static int
make_lists(GuardProgram *program, PyObject *const *reached)
{
    bool *wanted = mem_alloc((size_t)program->nsources + 1);
    if (wanted == NULL) return -1;
    program->nfixed = program->nslots = program->nreach = program->nrun = program->nneeded = 0;
    for (int i = 0; i < program->nchecks; i++) {
        const GuardCheck *check = &program->checks[i];
        if (check_is_covered(program, check, reached)) continue;
        program->run[program->nrun++] = i;
        mark_used(program, wanted, check->source);
        mark_used(program, wanted, check->other);
        for (int k = 0; k < check->ngroup; k++) mark_used(program, wanted, check->group[k]);
    }
    for (int i = 0; i < program->nsources; i++)
        if (program->sources[i].used) mark_used(program, wanted, i);
    for (int i = 0; i < program->nsources; i++) {
        const GuardSource *source = &program->sources[i];
        if (!wanted[i]) continue;
        if (source->steady)
            program->fixed[program->nfixed++] = i;
        else if (source->kind == SOURCE_SLOT)
            program->slots[program->nslots++] = (SlotRead){i, source->index};
        else
            program->reach[program->nreach++] = i;
        if (source->used) program->needed[program->nneeded++] = i;
    }
    mem_free(wanted);
    return 0;
}

static int
mark_steady(GuardProgram *program, PyObject *const *reached)
{
    for (int i = 0; i < program->nsources; i++) {
        program->sources[i].steady = false;
        Answer answer = source_is_steady(program, i, reached);
        if (answer == ANSWER_ERROR) return -1;
        program->sources[i].steady = answer == ANSWER_YES;
        program->sources[i].behind = answer == ANSWER_YES && source_is_behind(&program->sources[i]);
        program->sources[i].seen = reached[i];
    }
    return 0;
}

int
guards_watch(GuardProgram *program, PyObject *const *reached)
{
    guards_unwatch(program);
    if ((program->watch = watch_new()) != NULL && mark_steady(program, reached) == 0 &&
        make_lists(program, reached) == 0)
        return 0;
    guards_unwatch(program); /* the lists are those of the watch before */
    return -1;
}
