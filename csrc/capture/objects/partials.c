/* functools.partial and functools.update_wrapper.
   A V_PARTIAL's items are the function, the positional arguments as a V_TUPLE, and the keyword
   arguments as a V_DICT.  A partial from outside stays a V_OBJECT, whose parts are read when it is
   called. */
#include "objects.h"

enum { FUNCTION, ARGUMENTS, KEYWORDS };

/* functools.NAME, borrowed for ever; NULL when nobody has imported it. */
static PyObject *
functools(PyObject **slot, const char *name)
{
    if (*slot != NULL) return *slot;
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "functools") : NULL;
    if (module != NULL) *slot = PyObject_GetAttrString(module, name);
    PyErr_Clear();
    return *slot;
}

bool
type_is_partial(const PyTypeObject *type)
{
    static PyObject *class_;
    return (const PyObject *)type == functools(&class_, "partial");
}

/* ---- making ---- */

/* `dict` with the keyword arguments added. */
static Answer
add_keywords(Interp *in, Value *dict, Value *const *values, PyObject *kwnames)
{
    int n = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    for (int i = 0; i < n; i++) {
        Answer answer = dict_store(in, dict, PyTuple_GET_ITEM(kwnames, i), values[i]);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

static int
append_all(Interp *in, Value *to, Value *from)
{
    for (int i = 0; from != NULL && i < from->nitems; i++) {
        Value *item = value_item(in, from, i);
        if (item == NULL || value_append(in, to, item) < 0) return -1;
    }
    return 0;
}

static PyTypeObject *
type_of_callable(Interp *in, Value *callable)
{
    switch (callable->kind) {
    case V_FUNCTION:
    case V_METHOD:
    case V_BUILTIN_METHOD: return &PyFunction_Type; /* one that can be called */
    default: return value_type(in, callable);
    }
}

Answer
partial_make(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
             Value **out)
{
    PyTypeObject *type = nargs > 0 ? type_of_callable(in, args[0]) : NULL;
    if (PyErr_Occurred()) return ANSWER_ERROR;
    if (nargs == 0)
        return raise_new(in, PyExc_TypeError, "type 'partial' takes at least one argument");
    if (type == NULL)
        return interp_break(in, BREAK_CALL_C, "functools.partial of %s",
                            value_describe(in, args[0]));
    if (type->tp_call == NULL)
        return raise_new(in, PyExc_TypeError, "the first argument must be callable");
    if (args[0]->kind == V_OBJECT && type_is_partial(type)) /* partial() would take it apart */
        return interp_break(in, BREAK_CALL_C, "functools.partial of a partial");
    const Value *inner = args[0]->kind == V_PARTIAL ? args[0] : NULL;
    Value *items[3] = {inner ? inner->items[FUNCTION] : args[0],
                       value_sequence(in, V_TUPLE, 0, NULL), value_sequence(in, V_DICT, 0, NULL)};
    if (items[ARGUMENTS] == NULL || items[KEYWORDS] == NULL ||
        append_all(in, items[ARGUMENTS], inner ? inner->items[ARGUMENTS] : NULL) < 0 ||
        append_all(in, items[KEYWORDS], inner ? inner->items[KEYWORDS] : NULL) < 0)
        return ANSWER_ERROR;
    for (int i = 1; i < nargs; i++)
        if (value_append(in, items[ARGUMENTS], args[i]) < 0) return ANSWER_ERROR;
    Answer answer = add_keywords(in, items[KEYWORDS], args + nargs, kwnames);
    if (answer != ANSWER_YES) return answer;
    if ((*out = value_sequence(in, V_PARTIAL, 3, items)) == NULL) return ANSWER_ERROR;
    (*out)->type = (PyTypeObject *)class_->object;
    return ANSWER_YES;
}

/* ---- calling ---- */

/* The parts of a partial from outside, guarded as they are used; as a V_PARTIAL that never
   leaves. */
static Answer
partial_open(Interp *in, Value *object, Value **out)
{
    static const char *const names[3] = {"func", "args", "keywords"};
    Value *items[3];
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    SourceId base =
        object->source != NO_SOURCE ? object->source : source_of_const(in, object->object);
    if (base == NO_SOURCE) return ANSWER_ERROR;
    for (int i = 0; i < 3; i++) {
        PyObject *name = interned(in, names[i]);
        PyObject *part = name ? attribute_stored(object->object, name) : NULL;
        if (part == NULL) return interp_break(in, BREAK_CALL_C, "call of functools.partial");
        SourceId source = source_add(in, SOURCE_ATTR, base, 0, name, NULL);
        items[i] = source == NO_SOURCE ? NULL : value_from_source(in, source, part);
        if (items[i] == NULL) return ANSWER_ERROR;
    }
    if (items[ARGUMENTS]->kind != V_TUPLE || items[KEYWORDS]->kind != V_DICT)
        return interp_break(in, BREAK_CALL_C, "call of functools.partial");
    return given(out, value_sequence(in, V_PARTIAL, 3, items));
}

static Answer
call_parts(Interp *in, Value *partial, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    Value *all = value_sequence(in, V_LIST, 0, NULL), *named = value_sequence(in, V_DICT, 0, NULL);
    if (all == NULL || named == NULL || append_all(in, all, partial->items[ARGUMENTS]) < 0 ||
        append_all(in, named, partial->items[KEYWORDS]) < 0)
        return ANSWER_ERROR;
    for (int i = 0; i < nargs; i++)
        if (value_append(in, all, args[i]) < 0) return ANSWER_ERROR;
    Answer answer = add_keywords(in, named, args + nargs, kwnames);
    if (answer != ANSWER_YES) return answer;
    int positional = all->nitems, n = named->nitems / 2;
    PyObject *names = n > 0 ? keep(in, PyTuple_New(n)) : NULL;
    if (n > 0 && names == NULL) return ANSWER_ERROR;
    for (int i = 0; i < n; i++) {
        PyTuple_SET_ITEM(names, i, Py_NewRef(named->items[2 * i]->object));
        if (value_append(in, all, named->items[2 * i + 1]) < 0) return ANSWER_ERROR;
    }
    return call_value(in, partial->items[FUNCTION], positional, all->items, names, out);
}

Answer
partial_call(Interp *in, Value *partial, int nargs, Value *const *args, PyObject *kwnames,
             Value **out)
{
    Value *parts = partial;
    if (partial->kind != V_PARTIAL) {
        Answer answer = partial_open(in, partial, &parts);
        if (answer != ANSWER_YES) return answer;
    }
    return call_parts(in, parts, nargs, args, kwnames, out);
}

/* ---- attributes ---- */

Answer
partial_find(Interp *in, Value *partial, PyObject *name, Value **out)
{
    const char *text = PyUnicode_AsUTF8(name);
    *out = NULL;
    if (text == NULL) return ANSWER_ERROR;
    if (strcmp(text, "func") == 0) return given(out, partial->items[FUNCTION]);
    if (strcmp(text, "args") == 0) return given(out, partial->items[ARGUMENTS]);
    if (strcmp(text, "keywords") == 0) return given(out, partial->items[KEYWORDS]);
    if (strcmp(text, "__class__") == 0)
        return given(out, value_const(in, (PyObject *)partial->type));
    if (_PyType_Lookup(partial->type, name) != NULL) return no_attribute(in, partial, name);
    return ANSWER_YES;
}

/* ---- update_wrapper ---- */

/* The function's own name, doc and module, as update_wrapper copies them. */
static Answer
copy_part(Interp *in, Value *wrapper, Value *wrapped, const char *text)
{
    PyObject *name = interned(in, text);
    Value *part;
    if (name == NULL) return ANSWER_ERROR;
    Answer answer = function_find(in, wrapped, name, &part);
    if (answer != ANSWER_YES || part == NULL) return answer;
    return function_store(in, wrapper, name, part);
}

/* The attributes that the program stored on a function made here, except those that are copied by
   name. */
static Answer
copy_stored(Interp *in, Value *wrapper, const Value *stored)
{
    for (int i = 0; stored != NULL && i + 1 < stored->nitems; i += 2) {
        PyObject *name = stored->items[i]->object;
        if (_PyType_Lookup(&PyFunction_Type, name) != NULL) continue;
        Answer answer = function_store(in, wrapper, name, stored->items[i + 1]);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* Neither function has annotations or type parameters. */
static bool
is_plain(const Value *function)
{
    if (function->kind == V_FUNCTION) return function->items[2] == NULL;
    PyFunctionObject *object = (PyFunctionObject *)function->object;
    return object->func_annotations == NULL &&
           (object->func_dict == NULL || PyDict_GET_SIZE(object->func_dict) == 0);
}

/* Reading __annotations__ of a function without any creates an empty dict; so both have one
   then. */
static Answer
share_annotations(Interp *in, Value *wrapper, Value *wrapped)
{
    PyObject *name = interned(in, "__annotations__");
    int at =
        name != NULL && wrapped->attributes != NULL ? dict_find(in, wrapped->attributes, name) : -1;
    if (name == NULL || at < -1) return ANSWER_ERROR;
    Value *shared =
        at < 0 ? value_sequence(in, V_DICT, 0, NULL) : value_item(in, wrapped->attributes, at);
    if (shared == NULL) return ANSWER_ERROR;
    Answer answer = at < 0 ? function_store(in, wrapped, name, shared) : ANSWER_YES;
    return answer == ANSWER_YES ? function_store(in, wrapper, name, shared) : answer;
}

/* update_wrapper(wrapper, wrapped) as called by wraps(): both are functions, and no object has to
   be created for it. */
static Answer
update_wrapper(Interp *in, Value *wrapper, Value *wrapped, Value **out)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__"};
    PyObject *link = interned(in, "__wrapped__");
    bool functions = wrapper->kind == V_FUNCTION && wrapped->kind == V_FUNCTION;
    if (link == NULL) return ANSWER_ERROR;
    if (!functions || !is_plain(wrapper) || !is_plain(wrapped)) return ANSWER_NO;
    Answer answer = ANSWER_YES;
    for (int i = 0; i < COUNT_OF(names) && answer == ANSWER_YES; i++)
        answer = copy_part(in, wrapper, wrapped, names[i]);
    if (answer == ANSWER_YES) answer = share_annotations(in, wrapper, wrapped);
    if (answer == ANSWER_YES) answer = copy_stored(in, wrapper, wrapped->attributes);
    if (answer == ANSWER_YES) answer = function_store(in, wrapper, link, wrapped);
    *out = wrapper;
    return answer;
}

static Value *
argument(int nargs, Value *const *args, PyObject *kwnames, int at, const char *name)
{
    int n = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    for (int i = 0; i < n; i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), name) == 0)
            return args[nargs + i];
    return at < nargs ? args[at] : NULL;
}

Answer
wrapper_call(Interp *in, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    static PyObject *assigned, *updated;
    Value *parts[4] = {argument(nargs, args, kwnames, 0, "wrapper"),
                       argument(nargs, args, kwnames, 1, "wrapped"),
                       argument(nargs, args, kwnames, 2, "assigned"),
                       argument(nargs, args, kwnames, 3, "updated")};
    bool usual =
        (parts[2] == NULL || parts[2]->object == functools(&assigned, "WRAPPER_ASSIGNMENTS")) &&
        (parts[3] == NULL || parts[3]->object == functools(&updated, "WRAPPER_UPDATES"));
    if (parts[0] == NULL || parts[1] == NULL || !usual) return ANSWER_NO;
    return update_wrapper(in, parts[0], parts[1], out);
}
