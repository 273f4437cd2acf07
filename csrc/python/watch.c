/* Watches: zero-cost guards on dict keys, types and functions.

   3.12 and later: one dict watcher and one type watcher are called before changes.  The parts of
   all watches are in a hash table by the object's address, and the callback clears `valid` of the
   watches concerned.  3.11 has no watchers: watch_holds compares the dict's version tag (and the
   value, if the tag changed for another key) and the type's version tag. Functions are compared by
   pointer on every version: that costs less than watching all of them. */
#include "internal.h"

#include "python.h"

typedef enum { PART_KEY, PART_TYPE, PART_FUNCTION } PartKind;

typedef struct Part {
    PartKind kind;
    Watch *watch;
    struct Part *next;  /* of the same watch */
    struct Part *chain; /* of the same bucket */
    PyObject *object;   /* borrowed: dict, type or function; NULL once it died */
    PyObject *key;      /* owned: a dict's; NULL means every key */
    PyObject *value;    /* owned: the key's, 3.11 */
    uint64_t version;   /* 3.11 */
    PyObject *code, *defaults, *kwdefaults; /* owned: a function's */
} Part;

struct Watch {
    bool valid;
    Part *parts, *functions; /* functions: those that watch_holds must compare */
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
    Py_XDECREF(part->value);
    Py_XDECREF(part->code);
    Py_XDECREF(part->defaults);
    Py_XDECREF(part->kwdefaults);
    mem_free(part);
}

/* Has the function the parts that it had when the part was armed? */
static bool
function_holds(const Part *part)
{
    PyFunctionObject *function = (PyFunctionObject *)part->object;
    return function->func_code == part->code && function->func_defaults == part->defaults &&
           function->func_kwdefaults == part->kwdefaults;
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
    PyObject *value = PyDict_GetItemWithError(part->object, part->key);
    if (value == NULL) PyErr_Clear();
    if (value != part->value) return false;
    part->version = version;
    return true;
}

static Answer
arm_dict(Part *part)
{
    PyObject *value = part->key ? PyDict_GetItemWithError(part->object, part->key) : NULL;
    if (value == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    Py_XSETREF(part->value, Py_XNewRef(value));
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
    Py_XSETREF(part->code, Py_XNewRef(function->func_code));
    Py_XSETREF(part->defaults, Py_XNewRef(function->func_defaults));
    Py_XSETREF(part->kwdefaults, Py_XNewRef(function->func_kwdefaults));
    return ANSWER_YES;
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
watch_add(Watch *watch, PartKind kind, PyObject *object, PyObject *key)
{
    Part *part = mem_alloc(sizeof(Part));
    if (part == NULL) return ANSWER_ERROR;
    part->kind = kind;
    part->watch = watch;
    part->object = object;
    part->key = Py_XNewRef(key);
    if (kind != PART_FUNCTION) table_add(part);
    Answer armed = part_arm(part);
    if (armed != ANSWER_YES) {
        part_free(part);
        return armed;
    }
    Part **list = kind == PART_FUNCTION ? &watch->functions : &watch->parts;
    part->next = *list;
    *list = part;
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
    if (watch != NULL) watch->valid = true;
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
    return watch_add(watch, PART_KEY, dict, key);
}

Answer
watch_type(Watch *watch, PyTypeObject *type)
{
    return watch_add(watch, PART_TYPE, (PyObject *)type, NULL);
}

Answer
watch_function(Watch *watch, PyFunctionObject *function)
{
    PyObject *kwdefaults = function->func_kwdefaults;
    if (kwdefaults != NULL) {
        Answer answer = watch_dict_key(watch, kwdefaults, NULL);
        if (answer != ANSWER_YES) return answer;
    }
    return watch_add(watch, PART_FUNCTION, (PyObject *)function, NULL);
}

bool
watch_holds(Watch *watch)
{
    if (!watch->valid) return false;
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
    Answer armed = arm_all(watch->parts);
    if (armed == ANSWER_YES) armed = arm_all(watch->functions);
    watch->valid = armed == ANSWER_YES;
    return armed;
}
