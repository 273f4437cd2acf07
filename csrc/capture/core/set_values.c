/* Sets as values: their entries, and the order of iterating over them. */
#include "core.h"

int
set_refresh(Interp *in, Value *set)
{
    Py_ssize_t at = 0;
    PyObject *key;
    set->items = NULL;
    set->nitems = set->cap = 0;
    while (set_next(set->object, &at, &key)) {
        Value *item = unshadow(in, key);
        if (item == NULL || value_append(in, set, item) < 0) return -1;
    }
    return 0;
}

/* A new value for a real set (stolen). */
Value *
set_value(Interp *in, PyObject *real)
{
    Value *set = real ? value_sequence(in, V_SET, 0, NULL) : NULL;
    if (set == NULL) {
        Py_XDECREF(real);
        return NULL;
    }
    set->object = keep(in, real);
    set->type = &PySet_Type;
    return set->object == NULL || set_refresh(in, set) < 0 ? NULL : set;
}

/* The set at `source`, with its whole table guarded. */
Value *
set_from_source(Interp *in, SourceId source, PyObject *object)
{
    Py_ssize_t at = 0;
    PyObject *key;
    if (PySet_GET_SIZE(object) > 2000) return value_object(in, object, source);
    while (set_next(object, &at, &key))
        if (!object_is_plain(key)) return value_object(in, object, source);
    PyObject *now = keep(in, set_clone(object));
    if (now == NULL || guard_simple(in, GUARD_VALUE, source, now) < 0) return NULL;
    Value *set =
        PyFrozenSet_CheckExact(object) ? value_const(in, now) : set_value(in, set_clone(object));
    if (set != NULL) set->source = source;
    return set;
}
