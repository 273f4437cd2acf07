/* Watches: zero-cost guards on dict keys, types and functions.

   3.12 and later: one dict watcher and one type watcher are called before changes.  The parts of
   all watches are in a hash table by the object's address, and the callback clears `valid` of the
   watches concerned.  3.11 has no watchers: watch_holds compares the dict's version tag (and the
   value, if the tag changed for another key) and the type's version tag. The members of functions
   are compared by pointer on every version: that costs less than watching all functions.

   A watch owns nothing that could hold an object of the program: it must keep none alive, and
   freeing it, which happens while guards are checked, must run no code.  So objects are borrowed,
   and of values and members only those are owned that are plain (value_is_plain).  Another object
   may lie where one was that is borrowed; what the watch then takes for the same has the same type,
   and is one of those of which the guards check at each call all that they rely on. */
#include "internal.h"

#include "python.h"

typedef enum { PART_KEY, PART_TYPE, PART_FUNCTION } PartKind;

/* What was there when the part was armed. */
typedef struct {
    PyObject *object;   /* owned if plain, else borrowed */
    PyTypeObject *type; /* of one that is borrowed */
    bool owned;
} Seen;

typedef struct Part {
    PartKind kind;
    Watch *watch;
    struct Part *next;  /* of the same watch */
    struct Part *chain; /* of the same bucket */
    PyObject *object;   /* borrowed: dict, type or function; NULL once it died */
    PyObject *key;      /* owned: a dict's; NULL means every key */
    Seen value;         /* the key's (3.11), or the member of a function */
    PyObject **member;  /* of a function */
    Seen *items;        /* of the function's tuple of defaults, where that is borrowed */
    Py_ssize_t nitems;
    uint64_t version; /* 3.11 */
} Part;

struct Watch {
    bool valid;
    /* In the order in which they were added: what one part borrows, an earlier one holds.
       functions: those that watch_holds must compare. */
    Part *parts, *functions;
    Part **end_of_parts, **end_of_functions;
};

#define WATCHERS (PY_VERSION_HEX >= 0x030C0000)

/* ---- the table of parts by object, 3.12+ ---- */

#if WATCHERS
enum { NBUCKETS = 1024 };
static Part *buckets[NBUCKETS];
static int dict_watcher = -1, type_watcher = -1;

static Part **
bucket_of(PyObject *object)
{
    uintptr_t address = (uintptr_t)object >> 4;
    return &buckets[(address ^ (address >> 10)) % NBUCKETS];
}

static void
table_add(Part *part)
{
    Part **bucket = bucket_of(part->object);
    part->chain = *bucket;
    *bucket = part;
}

static bool
table_has(PyObject *object)
{
    for (Part *part = *bucket_of(object); part != NULL; part = part->chain)
        if (part->object == object) return true;
    return false;
}

static void
table_remove(Part *part)
{
    for (Part **at = bucket_of(part->object); *at != NULL; at = &(*at)->chain) {
        if (*at != part) continue;
        *at = part->chain;
        return;
    }
}

static bool
same_key(PyObject *watched, PyObject *changed)
{
    if (watched == NULL || changed == NULL || watched == changed) return true;
    if (!PyUnicode_CheckExact(watched) || !PyUnicode_CheckExact(changed)) return true;
    return PyUnicode_Compare(watched, changed) == 0;
}

static int
on_dict_event(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *value)
{
    (void)value;
    const bool one_key = event == PyDict_EVENT_ADDED || event == PyDict_EVENT_MODIFIED ||
                         event == PyDict_EVENT_DELETED;
    for (Part **at = bucket_of(dict); *at != NULL;) {
        Part *part = *at;
        if (part->object == dict && (!one_key || same_key(part->key, key)))
            part->watch->valid = false;
        if (part->object == dict && event == PyDict_EVENT_DEALLOCATED) {
            *at = part->chain;
            part->object = NULL;
        } else {
            at = &part->chain;
        }
    }
    return 0;
}

static int
on_type_event(PyTypeObject *type)
{
    for (Part *part = *bucket_of((PyObject *)type); part != NULL; part = part->chain)
        if (part->object == (PyObject *)type) part->watch->valid = false;
    return 0;
}

/* Takes the last free number but one: the next library that watches types gets the number that it
   would get otherwise, which its messages name, and one that takes all still gets to the last. */
static int
add_type_watcher(void)
{
    int ids[32], count = 0;
    while (count < 32 && (ids[count] = PyType_AddWatcher(on_type_event)) >= 0) count++;
    if (count == 0) return -1;
    PyErr_Clear();
    const int kept = count > 1 ? count - 2 : 0;
    for (int i = 0; i < count; i++)
        if (i != kept && PyType_ClearWatcher(ids[i]) < 0) return -1;
    return ids[kept];
}

int
watch_init(void)
{
    if (dict_watcher < 0) dict_watcher = PyDict_AddWatcher(on_dict_event);
    if (dict_watcher < 0) return -1;
    if (type_watcher < 0) type_watcher = add_type_watcher();
    return type_watcher < 0 ? -1 : 0;
}
#else
static void
table_add(Part *part)
{
    (void)part;
}

int
watch_init(void)
{
    return 0;
}
#endif

/* ---- parts ---- */

static void
seen_set(Seen *seen, PyObject *object)
{
    PyObject *before = seen->owned ? seen->object : NULL;
    seen->object = object;
    seen->type = object != NULL ? Py_TYPE(object) : NULL;
    seen->owned = object != NULL && value_is_plain(object);
    if (seen->owned) Py_INCREF(object);
    Py_XDECREF(before);
}

/* Do guards check all that they rely on of an object of this type? */
static bool
is_looked_at(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !(type->tp_flags & Py_TPFLAGS_HAVE_GC) ||
           PyList_CheckExact(object) || PyDict_CheckExact(object) || PySet_CheckExact(object) ||
           PyFunction_Check(object) || PyModule_Check(object) || PyType_Check(object);
}

/* Is it what it was, or an object in its place of which guards check all? */
static bool
seen_holds(const Seen *seen, PyObject *object)
{
    if (object != seen->object) return false;
    return object == NULL || seen->owned || (Py_TYPE(object) == seen->type && is_looked_at(object));
}

static void
items_free(Part *part)
{
    for (Py_ssize_t i = 0; i < part->nitems; i++)
        if (part->items[i].owned) Py_DECREF(part->items[i].object);
    mem_free(part->items);
    part->items = NULL;
    part->nitems = 0;
}

/* Another tuple may lie where one was that is borrowed: it is the same if it has the same items. */
static Answer
items_set(Part *part, PyObject *tuple)
{
    items_free(part);
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    part->items = mem_alloc(sizeof(Seen) * (size_t)(count + 1));
    if (part->items == NULL) return ANSWER_ERROR;
    for (; part->nitems < count; part->nitems++) {
        seen_set(&part->items[part->nitems], PyTuple_GET_ITEM(tuple, part->nitems));
        if (!seen_holds(&part->items[part->nitems], PyTuple_GET_ITEM(tuple, part->nitems)))
            return ANSWER_NO;
    }
    return ANSWER_YES;
}

static bool
items_hold(const Part *part, PyObject *tuple)
{
    if (PyTuple_GET_SIZE(tuple) != part->nitems) return false;
    for (Py_ssize_t i = 0; i < part->nitems; i++)
        if (!seen_holds(&part->items[i], PyTuple_GET_ITEM(tuple, i))) return false;
    return true;
}

static void
part_free(Part *part)
{
#if WATCHERS
    if (part->object != NULL && part->kind != PART_FUNCTION) {
        table_remove(part);
        /* At interpreter exit dicts are freed without an event. */
        if (part->kind == PART_KEY && !table_has(part->object) && !interpreter_ends() &&
            PyDict_Unwatch(dict_watcher, part->object) < 0)
            PyErr_Clear();
        /* A type stays watched, since it may be freed already; its events then find no part. */
    }
#endif
    Py_XDECREF(part->key);
    if (part->value.owned) Py_DECREF(part->value.object);
    items_free(part);
    mem_free(part);
}

/* Has the function the member that it had when the part was armed? */
static bool
function_holds(const Part *part)
{
    PyObject *now = *part->member;
    return now == part->value.object && (part->items == NULL || items_hold(part, now));
}

#if !WATCHERS
static bool
part_holds(Part *part)
{
    if (part->kind == PART_FUNCTION) return function_holds(part);
    if (part->kind == PART_TYPE)
        return ((PyTypeObject *)part->object)->tp_version_tag == part->version;
    uint64_t version = ((PyDictObject *)part->object)->ma_version_tag;
    if (version == part->version) return true;
    if (part->key == NULL) return false;
    PyObject *value = dict_stored(part->object, part->key); /* runs no code of the program */
    if (!seen_holds(&part->value, value)) return false;
    part->version = version;
    return true;
}

static Answer
arm_dict(Part *part)
{
    PyObject *value = part->key ? dict_stored(part->object, part->key) : NULL;
    if (value != NULL && stored_is_untold(value)) return ANSWER_NO;
    seen_set(&part->value, value);
    part->version = ((PyDictObject *)part->object)->ma_version_tag;
    return ANSWER_YES;
}

/* Only a cached look-up gives a type its version tag. */
static Answer
arm_type(Part *part)
{
    static PyObject *any_name;
    PyTypeObject *type = (PyTypeObject *)part->object;
    if (any_name == NULL) any_name = PyUnicode_InternFromString("__doc__");
    if (any_name == NULL) return ANSWER_ERROR;
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG))
        (void)_PyType_Lookup(type, any_name);
    part->version = type->tp_version_tag;
    return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) && part->version ? ANSWER_YES
                                                                                  : ANSWER_NO;
}
#else
static Answer
arm_dict(Part *part)
{
    return PyDict_Watch(dict_watcher, part->object) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* A change calls the watcher once and removes the version tag; without a tag further changes are
   not reported. */
static Answer
arm_type(Part *part)
{
    if (PyType_Watch(type_watcher, part->object) < 0) return ANSWER_ERROR;
    return PyUnstable_Type_AssignVersionTag((PyTypeObject *)part->object) ? ANSWER_YES : ANSWER_NO;
}
#endif

static Answer
arm_function(Part *part)
{
    PyFunctionObject *function = (PyFunctionObject *)part->object;
    PyObject *now = *part->member;
    seen_set(&part->value, now);
    bool borrowed = part->member == &function->func_defaults && now != NULL && !part->value.owned;
    return borrowed ? items_set(part, now) : ANSWER_YES;
}

static Answer
part_arm(Part *part)
{
    if (part->object == NULL) return ANSWER_NO;
    switch (part->kind) {
    case PART_KEY: return arm_dict(part);
    case PART_TYPE: return arm_type(part);
    default: return arm_function(part);
    }
}

static Answer
watch_add(Watch *watch, PartKind kind, PyObject *object, PyObject *key, PyObject **member)
{
    Part *part = mem_alloc(sizeof(Part));
    if (part == NULL) return ANSWER_ERROR;
    part->kind = kind;
    part->watch = watch;
    part->object = object;
    part->key = Py_XNewRef(key);
    part->member = member;
    if (kind != PART_FUNCTION) table_add(part);
    Answer armed = part_arm(part);
    if (armed != ANSWER_YES) {
        part_free(part);
        return armed;
    }
    Part ***end = kind == PART_FUNCTION ? &watch->end_of_functions : &watch->end_of_parts;
    **end = part;
    *end = &part->next;
    return ANSWER_YES;
}

bool
watch_sees_of_type(PyObject *name)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyUnicode_CompareWithASCIIString(name, "__name__") != 0 &&
           PyUnicode_CompareWithASCIIString(name, "__qualname__") != 0;
#else
    (void)name;
    return true;
#endif
}

/* ---- watches ---- */

Watch *
watch_new(void)
{
    Watch *watch = mem_alloc(sizeof(Watch));
    if (watch == NULL) return NULL;
    watch->valid = true;
    watch->end_of_parts = &watch->parts;
    watch->end_of_functions = &watch->functions;
    return watch;
}

static void
parts_free(Part *part)
{
    while (part != NULL) {
        Part *next = part->next;
        part_free(part);
        part = next;
    }
}

void
watch_free(Watch *watch)
{
    if (watch == NULL) return;
    parts_free(watch->parts);
    parts_free(watch->functions);
    mem_free(watch);
}

Answer
watch_dict_key(Watch *watch, PyObject *dict, PyObject *key)
{
    if (!PyDict_Check(dict) || (key != NULL && !PyUnicode_CheckExact(key))) return ANSWER_NO;
    return watch_add(watch, PART_KEY, dict, key, NULL);
}

Answer
watch_type(Watch *watch, PyTypeObject *type)
{
    return watch_add(watch, PART_TYPE, (PyObject *)type, NULL, NULL);
}

/* The member's own address, or NULL. */
static PyObject **
function_member(PyFunctionObject *function, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__code__") == 0) return &function->func_code;
    if (PyUnicode_CompareWithASCIIString(name, "__defaults__") == 0)
        return &function->func_defaults;
    if (PyUnicode_CompareWithASCIIString(name, "__kwdefaults__") == 0)
        return &function->func_kwdefaults;
    return NULL;
}

/* The dict of keyword defaults is watched as a whole: another may lie where it was. */
Answer
watch_function(Watch *watch, PyFunctionObject *function, PyObject *name)
{
    PyObject **member = function_member(function, name);
    if (member == NULL) return ANSWER_NO;
    if (member == &function->func_kwdefaults && *member != NULL) {
        Answer answer = watch_dict_key(watch, *member, NULL);
        if (answer != ANSWER_YES) return answer;
    }
    return watch_add(watch, PART_FUNCTION, (PyObject *)function, NULL, member);
}

bool
watch_holds(Watch *watch)
{
    if (!watch->valid) return false;
    /* first: a function holds the dict of its keyword defaults */
    for (Part *part = watch->functions; part != NULL; part = part->next)
        if (!function_holds(part)) return watch->valid = false;
#if !WATCHERS
    for (Part *part = watch->parts; part != NULL; part = part->next)
        if (!part_holds(part)) return watch->valid = false;
#endif
    return true;
}

static Answer
arm_all(Part *part)
{
    for (; part != NULL; part = part->next) {
        Answer armed = part_arm(part);
        if (armed != ANSWER_YES) return armed;
    }
    return ANSWER_YES;
}

Answer
watch_rearm(Watch *watch)
{
    Answer armed = ANSWER_YES;
    for (Part *part = watch->functions; part != NULL && armed == ANSWER_YES; part = part->next)
        if (!function_holds(part)) armed = ANSWER_NO; /* its dict may be gone */
    if (armed == ANSWER_YES) armed = arm_all(watch->parts);
    watch->valid = armed == ANSWER_YES;
    return armed;
}
