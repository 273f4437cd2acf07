/* Entries of classes by name, guarded. */
#include "core.h"

PyObject *
interned(Interp *in, const char *text)
{
    return keep(in, PyUnicode_InternFromString(text));
}

Answer
stored_told(Interp *in, PyObject *stored, PyObject *name)
{
    if (stored == NULL || !stored_is_untold(stored)) return ANSWER_YES;
    return interp_break(in, BREAK_ATTRIBUTE, "'%s', which a key with an __eq__ of its own may be",
                        text_of_str(name));
}

Answer
entry_stored(Interp *in, PyObject *dict, PyObject *key, PyObject **out)
{
    *out = dict == NULL ? NULL : dict_stored(dict, key);
    return stored_told(in, *out, key);
}

Answer
type_stored(Interp *in, PyTypeObject *type, const char *name, PyObject **out)
{
    PyObject *key = interned(in, name);
    if (key == NULL) return ANSWER_ERROR;
    *out = _PyType_Lookup(type, key);
    return ANSWER_YES;
}

/* Guards, once, that the source is the object found there. */
Answer
guard_found(Interp *in, SourceId source, GuardKind absent, SourceId absent_source,
            PyObject *absent_name, PyObject *found)
{
    if (source == NO_SOURCE) return ANSWER_ERROR;
    const void *key = (const void *)((((uintptr_t)source + 1) << 4) | 8); /* not a Value */
    if (map_get(&in->sources.by_source, key) != NULL) return ANSWER_YES;  /* guarded before */
    if (map_put(in, &in->sources.by_source, key, in->null) < 0) return ANSWER_ERROR;
    if (found == NULL)
        return guard_simple(in, absent, absent_source, absent_name) < 0 ? ANSWER_ERROR : ANSWER_YES;
    if (keep(in, Py_NewRef(found)) == NULL) return ANSWER_ERROR;
    return guard_simple(in, GUARD_IS, source, found) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
type_lookup(Interp *in, PyTypeObject *type, PyObject *name, PyObject **out)
{
    *out = _PyType_Lookup(type, name);
    if (!type_is_heap(type)) return ANSWER_YES; /* a static type cannot change */
    SourceId base = source_of_const(in, (PyObject *)type);
    if (base == NO_SOURCE) return ANSWER_ERROR;
    SourceId source = source_add(in, SOURCE_ATTR, base, 0, name, NULL);
    return guard_found(in, source, GUARD_ATTR_ABSENT, base, name, *out);
}

Answer
type_lookup_text(Interp *in, PyTypeObject *type, const char *name, PyObject **out)
{
    PyObject *key = interned(in, name);
    return key == NULL ? ANSWER_ERROR : type_lookup(in, type, key, out);
}

Answer
type_inherits(Interp *in, PyTypeObject *type, const char *name, PyTypeObject *from)
{
    PyObject *found, *key = interned(in, name);
    if (key == NULL) return ANSWER_ERROR;
    Answer answer = type_lookup(in, type, key, &found);
    if (answer != ANSWER_YES) return answer;
    PyObject *theirs = _PyType_Lookup(from, key);
    if (found == theirs) return ANSWER_YES;
    /* A C type may set a slot to the very function that it would inherit. */
    bool same =
        found != NULL && theirs != NULL && Py_TYPE(found) == &PyWrapperDescr_Type &&
        Py_TYPE(theirs) == &PyWrapperDescr_Type &&
        ((PyWrapperDescrObject *)found)->d_wrapped == ((PyWrapperDescrObject *)theirs)->d_wrapped;
    return same ? ANSWER_YES : ANSWER_NO;
}
