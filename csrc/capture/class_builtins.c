/* Builtins that ask objects of the program's classes, or ask about classes: isinstance, getattr,
   hasattr, vars, hash, repr, len and the conversions. */
#include "objects.h"

typedef struct {
    Interp *in;
    int nargs;
    Value *const *args;
    Value **out;
} Ask;

static Answer
give(const Ask *ask, Value *value)
{
    return given(ask->out, value);
}

static Answer
give_bool(const Ask *ask, bool value)
{
    return give(ask, value_const(ask->in, value ? Py_True : Py_False));
}

static Answer
unknown(const Ask *ask, const char *name)
{
    return interp_break(ask->in, BREAK_CALL_C, "call of '%s' on values that are not known", name);
}

/* ---- classes ---- */

static bool
is_of_module(PyObject *function, const char *name)
{
    PyObject *module = PyFunction_Check(function) ? PyFunction_GetModule(function) : NULL;
    return module != NULL && PyUnicode_Check(module) &&
           PyUnicode_CompareWithASCIIString(module, name) == 0;
}

static bool
class_says(Interp *in, PyObject *class_, const char *name)
{
    PyObject *found;
    if (type_stored(in, (PyTypeObject *)class_, name, &found) == ANSWER_YES)
        return found == Py_True;
    PyErr_Clear(); /* no memory: then it is not known */
    return false;
}

/* A protocol: is everything that it names there on the class?  What only an instance has, or what
   is missing now, is not looked into. */
static Answer
check_protocol(const Ask *ask, PyObject *class_, PyTypeObject *type, bool *out)
{
    Interp *in = ask->in;
    if (!class_says(in, class_, "_is_runtime_protocol")) return unknown(ask, "isinstance");
    PyObject *names = protocol_names(class_), *list = names ? PySequence_List(names) : NULL, *found;
    Py_XDECREF(names);
    if (keep(in, list) == NULL) {
        PyErr_Clear();
        return unknown(ask, "isinstance");
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *name = PyList_GET_ITEM(list, i);
        if (!PyUnicode_CheckExact(name)) return unknown(ask, "isinstance");
        Py_INCREF(name);
        PyUnicode_InternInPlace(&name);
        Answer answer = keep(in, name) == NULL ? ANSWER_ERROR : type_lookup(in, type, name, &found);
        if (answer != ANSWER_YES) return answer;
        if (found == NULL || found == Py_None) return unknown(ask, "isinstance");
    }
    *out = true;
    return ANSWER_YES;
}

/* The hook is object's, or one of the library's, which look at the class only. */
static bool
hook_is_plain(Interp *in, PyObject *class_)
{
    static const char *const modules[] = {"collections.abc", "typing", "contextlib", "os"};
    PyObject *hook = NULL;
    if (type_stored(in, (PyTypeObject *)class_, "__subclasshook__", &hook) != ANSWER_YES)
        PyErr_Clear(); /* no memory: then it is not known */
    if (hook == NULL || Py_TYPE(hook) != &PyClassMethod_Type) return hook != NULL;
    PyObject *function = PyObject_GetAttrString(hook, "__func__");
    bool plain = false;
    for (int i = 0; function != NULL && i < COUNT_OF(modules); i++)
        plain = plain || is_of_module(function, modules[i]);
    Py_XDECREF(function);
    PyErr_Clear();
    return plain;
}

/* An abstract class remembers whom it has said yes to for good, and no until any class is
   registered with any. */
static Answer
check_abstract(const Ask *ask, PyObject *class_, bool instance, PyTypeObject *type, bool *out)
{
    Interp *in = ask->in;
    PyObject *found;
    Answer stored = type_stored(in, Py_TYPE(class_), "__subclasscheck__", &found);
    if (stored != ANSWER_YES) return stored;
    if (found == NULL || !(is_of_module(found, "abc") || is_of_module(found, "typing")))
        return unknown(ask, "isinstance");
    if (!*out && class_says(in, class_, "_is_protocol"))
        return instance ? check_protocol(ask, class_, type, out) : unknown(ask, "issubclass");
    if (!class_says(in, class_, "_is_protocol") && !hook_is_plain(in, class_))
        return unknown(ask, "isinstance");
    int is = PyObject_IsSubclass((PyObject *)type, class_);
    if (is < 0) { /* a protocol that is not to be asked */
        PyErr_Clear();
        return unknown(ask, "isinstance");
    }
    *out = is;
    if (is) return ANSWER_YES;
    Guard guard = {.kind = GUARD_REGISTERED, .other = NO_SOURCE, .low = abstract_token()};
    guard.source = source_of_const(in, class_);
    if (guard.source == NO_SOURCE || guard.low < 0 || guard_add(in, &guard) < 0)
        return ANSWER_ERROR;
    return ANSWER_YES;
}

/* Is type(object) a subclass, as meta.__instancecheck__ says? */
static Answer
check_one(const Ask *ask, PyObject *class_, bool instance, PyTypeObject *type, bool *out)
{
    Interp *in = ask->in;
    PyTypeObject *meta = Py_TYPE(class_);
    const char *name = instance ? "__instancecheck__" : "__subclasscheck__";
    if (!PyType_Check(class_)) return unknown(ask, "isinstance");
    if (guard_class(in, class_) < 0) return ANSWER_ERROR;
    *out = PyType_IsSubtype(type, (PyTypeObject *)class_);
    if (instance && type == (PyTypeObject *)class_) return ANSWER_YES; /* exact: nobody is asked */
    Answer answer = meta == &PyType_Type || !type_is_heap(meta)
                        ? ANSWER_YES
                        : type_inherits(in, meta, name, &PyType_Type);
    if (answer == ANSWER_YES) return type_derives(in, type, (PyTypeObject *)class_, out);
    if (answer == ANSWER_ERROR) return answer;
    PyObject *found;
    if (type_stored(in, meta, name, &found) != ANSWER_YES) return ANSWER_ERROR;
    if (found == NULL || !PyFunction_Check(found)) return unknown(ask, "isinstance");
    if (is_of_module(found, "abc") || is_of_module(found, "typing"))
        return check_abstract(ask, class_, instance, type, out);
    Value *function = value_of_const(in, found), *result, *node;
    Value *args[2] = {value_const(in, class_), ask->args[0]};
    int known;
    if (function == NULL || args[0] == NULL) return ANSWER_ERROR;
    answer = call_value(in, function, 2, args, NULL, &result);
    if (answer == ANSWER_YES) answer = value_truth(in, result, &known, &node);
    if (answer != ANSWER_YES) return answer;
    if (known < 0) return unknown(ask, "isinstance");
    *out = known;
    return ANSWER_YES;
}

static Answer
check_classes(const Ask *ask, PyObject *classes, bool instance, PyTypeObject *type, bool *out)
{
    *out = false;
    if (Py_TYPE(classes) != &PyTuple_Type) {
        if (PyType_Check(classes)) return check_one(ask, classes, instance, type, out);
        /* int | float: a union of plain classes. */
        PyObject *parts = PyObject_GetAttrString(classes, "__args__");
        PyErr_Clear();
        if (parts == NULL || strcmp(Py_TYPE(classes)->tp_name, "types.UnionType") != 0 ||
            keep(ask->in, parts) == NULL)
            return unknown(ask, "isinstance");
        classes = parts;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes) && !*out; i++) {
        Answer answer = check_classes(ask, PyTuple_GET_ITEM(classes, i), instance, type, out);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

static Answer
do_isinstance(const Ask *ask)
{
    if (ask->nargs != 2) return unknown(ask, "isinstance");
    PyTypeObject *type = value_type(ask->in, ask->args[0]);
    PyObject *classes;
    bool is;
    if (type == NULL) return PyErr_Occurred() ? ANSWER_ERROR : unknown(ask, "isinstance");
    Answer answer = value_known(ask->in, ask->args[1], &classes);
    if (answer == ANSWER_NO) return unknown(ask, "isinstance");
    if (answer == ANSWER_YES) answer = check_classes(ask, classes, true, type, &is);
    if (answer != ANSWER_YES || is || !type_is_heap(type))
        return answer == ANSWER_YES ? give_bool(ask, is) : answer;
    /* It may say that it is of another class. */
    answer = type_inherits(ask->in, type, "__class__", &PyBaseObject_Type);
    if (answer == ANSWER_YES && type->tp_getattro != PyObject_GenericGetAttr)
        answer = type_inherits(ask->in, type, "__getattribute__", &PyBaseObject_Type);
    if (answer == ANSWER_NO) return unknown(ask, "isinstance");
    return answer == ANSWER_YES ? give_bool(ask, false) : answer;
}

static Answer
do_issubclass(const Ask *ask)
{
    PyObject *classes;
    bool is;
    if (ask->nargs != 2 || ask->args[0]->kind != V_CONST || !PyType_Check(ask->args[0]->object))
        return unknown(ask, "issubclass");
    Answer answer = value_known(ask->in, ask->args[1], &classes);
    if (answer == ANSWER_NO) return unknown(ask, "issubclass");
    if (answer == ANSWER_YES)
        answer = check_classes(ask, classes, false, (PyTypeObject *)ask->args[0]->object, &is);
    return answer == ANSWER_YES ? give_bool(ask, is) : answer;
}

/* ---- attributes by name ---- */

static Answer
attribute_name(const Ask *ask, PyObject **out)
{
    Answer answer = ask->nargs >= 2 ? value_known(ask->in, ask->args[1], out) : ANSWER_NO;
    if (answer == ANSWER_YES && !PyUnicode_CheckExact(*out)) answer = ANSWER_NO;
    if (answer == ANSWER_NO) return unknown(ask, "getattr");
    if (answer == ANSWER_YES) {
        Py_INCREF(*out);
        PyUnicode_InternInPlace(out);
        *out = keep(ask->in, *out);
    }
    return answer == ANSWER_YES && *out == NULL ? ANSWER_ERROR : answer;
}

static Answer
do_getattr(const Ask *ask)
{
    PyObject *name;
    Answer answer = attribute_name(ask, &name);
    if (answer != ANSWER_YES) return answer;
    if (ask->nargs != 3) return attribute_load(ask->in, ask->args[0], name, ask->out);
    answer = attribute_find(ask->in, ask->args[0], name, ask->out);
    bool missing = answer == ANSWER_YES && *ask->out == NULL;
    if (answer == ANSWER_NO) missing = raised_take(ask->in, PyExc_AttributeError) != NULL;
    return missing ? give(ask, ask->args[2]) : answer;
}

static Answer
do_hasattr(const Ask *ask)
{
    PyObject *name;
    Value *found;
    Answer answer = ask->nargs == 2 ? attribute_name(ask, &name) : unknown(ask, "hasattr");
    if (answer != ANSWER_YES) return answer;
    PyTypeObject *type = value_type(ask->in, ask->args[0]);
    PyObject *on_type = type != NULL ? _PyType_Lookup(type, name) : NULL;
    bool may_lack = on_type != NULL && Py_TYPE(on_type) == &PyMemberDescr_Type &&
                    ask->args[0]->kind == V_OBJECT; /* a member may be NULL */
    if (type != NULL && !type_is_heap(type) && type->tp_dictoffset == 0 && !may_lack &&
        type->tp_getattro == PyObject_GenericGetAttr && ask->args[0]->kind != V_SUPER)
        return give_bool(ask, on_type != NULL);
    answer = attribute_find(ask->in, ask->args[0], name, &found);
    if (answer == ANSWER_NO && raised_take(ask->in, PyExc_AttributeError) != NULL)
        return give_bool(ask, false);
    return answer == ANSWER_YES ? give_bool(ask, found != NULL) : answer;
}

static Answer
do_setattr(const Ask *ask, bool delete)
{
    PyObject *name;
    Answer answer =
        ask->nargs == (delete ? 2 : 3) ? attribute_name(ask, &name) : unknown(ask, "setattr");
    if (answer == ANSWER_YES)
        answer = delete ? attribute_delete(ask->in, ask->args[0], name)
                        : attribute_store(ask->in, ask->args[0], name, ask->args[2]);
    return answer == ANSWER_YES ? give(ask, value_const(ask->in, Py_None)) : answer;
}

static Answer
do_vars(const Ask *ask)
{
    PyObject *name = interned(ask->in, "__dict__");
    if (ask->nargs != 1 || !value_is_object(ask->args[0])) return unknown(ask, "vars");
    return name ? attribute_load(ask->in, ask->args[0], name, ask->out) : ANSWER_ERROR;
}

/* ---- methods behind builtins ---- */

/* The generated __repr__ of a dataclass guards against a repr within itself, by a function around
   the real one; here that is the recursion limit's business. */
static Answer
call_repr(const Ask *ask, const char *name, Value *object)
{
    Interp *in = ask->in;
    PyObject *found;
    Answer answer = type_lookup_text(in, object->type, name, &found);
    if (answer != ANSWER_YES) return answer;
    PyObject *inner = found != NULL && PyFunction_Check(found)
                          ? attribute_stored(found, interned(in, "__wrapped__"))
                          : NULL;
    PyObject *qualname = inner ? ((PyCodeObject *)PyFunction_GET_CODE(found))->co_qualname : NULL;
    const char *text = qualname ? PyUnicode_AsUTF8(qualname) : NULL;
    if (text == NULL || !PyFunction_Check(inner) || strstr(text, "recursive_repr.<locals>") == NULL)
        return special_call(in, object, name, 0, NULL, ask->out);
    Value *function = value_of_const(in, inner);
    return function ? call_value(in, function, 1, &object, NULL, ask->out) : ANSWER_ERROR;
}

/* Text of members by this method and __str__; the class's name is in it. */
static Answer
enum_text_is_plain(Interp *in, PyTypeObject *type, const char *method)
{
    PyObject *ignored, *name = interned(in, "__name__");
    Answer answer = name ? type_own_lookup(in, type, name, &ignored) : ANSWER_ERROR;
    return answer == ANSWER_YES ? enum_is_plain(in, type, method, "__str__") : answer;
}

/* str(object): __str__, else __repr__. */
static Answer
text_of(const Ask *ask, bool repr, Value *object)
{
    Interp *in = ask->in;
    if (object->exception != NULL) return exception_text(in, object, repr, ask->out);
    if (object->kind == V_CONST) {
        Answer plain = enum_text_is_plain(in, object->type, "__repr__");
        if (plain != ANSWER_YES) return plain == ANSWER_NO ? unknown(ask, "str") : plain;
        PyObject *text = repr ? PyObject_Repr(object->object) : PyObject_Str(object->object);
        return text == NULL ? raise_error(in) : give(ask, value_const_new(in, text));
    }
    *ask->out = NULL;
    Answer answer = ANSWER_YES;
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    if (!repr) {
        answer = type_inherits(in, object->type, "__str__", &PyBaseObject_Type);
        if (answer == ANSWER_NO) {
            answer = call_repr(ask, "__str__", object);
            if (answer == ANSWER_YES && *ask->out == NULL) return unknown(ask, "str");
        }
    }
    if (answer == ANSWER_YES && *ask->out == NULL) answer = call_repr(ask, "__repr__", object);
    if (answer != ANSWER_YES) return answer;
    if (*ask->out == NULL || value_type(in, *ask->out) != &PyUnicode_Type)
        return unknown(ask, "repr");
    return ANSWER_YES;
}

Answer
object_text(Interp *in, Value *object, bool repr, Value **out)
{
    Ask ask = {.in = in, .nargs = 1, .args = &object, .out = out};
    return text_of(&ask, repr, object);
}

Answer
object_format(Interp *in, Value *object, Value *spec, Value **out)
{
    Ask ask = {.in = in, .nargs = 1, .args = &object, .out = out};
    PyObject *known;
    Answer answer = value_known(in, spec, &known);
    if (answer == ANSWER_YES && !PyUnicode_Check(known)) answer = ANSWER_NO;
    if (answer != ANSWER_YES) return answer == ANSWER_NO ? unknown(&ask, "format") : answer;
    if (object->kind == V_CONST) {
        answer = enum_text_is_plain(in, object->type, "__format__");
        if (answer != ANSWER_YES) return answer == ANSWER_NO ? unknown(&ask, "format") : answer;
        PyObject *text = PyObject_Format(object->object, known);
        return text == NULL ? raise_error(in) : give(&ask, value_const_new(in, text));
    }
    answer = special_call(in, object, "__format__", 1, &spec, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    answer = type_inherits(in, object->type, "__format__", &PyBaseObject_Type);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO || !PyUnicode_Check(known) || PyUnicode_GET_LENGTH(known) != 0)
        return unknown(&ask, "format");
    return text_of(&ask, false, object);
}

/* A number by `name`, or by __index__, which must be of this very type. */
static Answer
number_of(const Ask *ask, const char *name, bool by_index, PyTypeObject *type)
{
    Interp *in = ask->in;
    Value *object = ask->args[0], *result;
    if (object->kind == V_CONST) return unknown(ask, name);
    Answer answer = special_call(in, object, name, 0, NULL, &result);
    PyObject *stored = NULL;
    if (answer == ANSWER_YES && result == NULL)
        answer = type_stored(in, object->type, name, &stored);
    if (answer == ANSWER_YES && stored != NULL) return unknown(ask, name); /* C code */
    if (answer == ANSWER_YES && result == NULL && by_index)
        answer = special_call(in, object, "__index__", 0, NULL, &result);
    if (answer != ANSWER_YES) return answer;
    if (result == NULL) return unknown(ask, name);
    PyTypeObject *made = value_type(in, result);
    if (made == &PyLong_Type && by_index && type == &PyFloat_Type && result->kind == V_CONST) {
        PyObject *real = PyNumber_Float(result->object);
        return real == NULL ? raise_error(in) : give(ask, value_const_new(in, real));
    }
    if (made != type) return PyErr_Occurred() ? ANSWER_ERROR : unknown(ask, name);
    return give(ask, result);
}

static Answer
do_hash(const Ask *ask)
{
    Interp *in = ask->in;
    Value *object = ask->args[0], *result;
    PyObject *known;
    if (object->kind == V_CONST) return unknown(ask, "hash");
    Answer answer = special_call(in, object, "__hash__", 0, NULL, &result);
    if (answer != ANSWER_YES) return answer;
    if (result == NULL) return unknown(ask, "hash");
    answer = value_known(in, result, &known);
    if (answer == ANSWER_NO || (answer == ANSWER_YES && !PyLong_CheckExact(known)))
        return unknown(ask, "hash");
    if (answer != ANSWER_YES) return answer;
    /* As slot_tp_hash: what fits is taken as it is, but -1. */
    Py_ssize_t hash = PyLong_AsSsize_t(known);
    if (hash == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        hash = PyObject_Hash(known);
    }
    return give(ask, value_const_new(in, PyLong_FromSsize_t(hash == -1 ? -2 : hash)));
}

static Answer
do_len(const Ask *ask)
{
    Interp *in = ask->in;
    Answer answer = special_call(in, ask->args[0], "__len__", 0, NULL, ask->out);
    if (answer != ANSWER_YES) return answer;
    if (*ask->out == NULL) return unknown(ask, "len");
    PyTypeObject *type = value_type(in, *ask->out);
    if (type == &PyLong_Type && value_in_range(in, *ask->out, 0, INT64_MAX) == ANSWER_YES)
        return ANSWER_YES;
    return PyErr_Occurred() ? ANSWER_ERROR : unknown(ask, "len");
}

/* round(x), round(x, n), divmod(x, y): the method of x. */
static Answer
do_method(const Ask *ask, const char *name)
{
    Answer answer =
        special_call(ask->in, ask->args[0], name, ask->nargs - 1, ask->args + 1, ask->out);
    if (answer != ANSWER_YES) return answer;
    if (*ask->out == NULL ||
        ((*ask->out)->kind == V_CONST && (*ask->out)->object == Py_NotImplemented))
        return unknown(ask, name);
    return ANSWER_YES;
}

/* ---- dispatch ---- */

static Answer
about_classes(const Ask *ask, const char *name)
{
    if (strcmp(name, "isinstance") == 0) return do_isinstance(ask);
    if (strcmp(name, "issubclass") == 0) return do_issubclass(ask);
    if (strcmp(name, "getattr") == 0) return do_getattr(ask);
    if (strcmp(name, "hasattr") == 0) return do_hasattr(ask);
    if (strcmp(name, "setattr") == 0) return do_setattr(ask, false);
    if (strcmp(name, "delattr") == 0) return do_setattr(ask, true);
    if (strcmp(name, "vars") == 0) return do_vars(ask);
    return ANSWER_NO;
}

static Answer
of_objects(const Ask *ask, const char *name)
{
    if (strcmp(name, "len") == 0) return do_len(ask);
    if (strcmp(name, "hash") == 0) return do_hash(ask);
    if (strcmp(name, "repr") == 0) return text_of(ask, true, ask->args[0]);
    if (strcmp(name, "abs") == 0) return do_method(ask, "__abs__");
    if (strcmp(name, "round") == 0) return do_method(ask, "__round__");
    if (strcmp(name, "divmod") == 0) return do_method(ask, "__divmod__");
    if (strcmp(name, "format") == 0 && ask->nargs <= 2) {
        Value *none = value_const_new(ask->in, PyUnicode_FromString(""));
        if (none == NULL) return ANSWER_ERROR;
        return object_format(ask->in, ask->args[0], ask->nargs == 2 ? ask->args[1] : none,
                             ask->out);
    }
    return ANSWER_NO;
}

Answer
call_class_builtin(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out)
{
    Ask ask = {.in = in, .nargs = nargs, .args = args, .out = out};
    if (callable == (PyObject *)&PySuper_Type && kwnames == NULL)
        return super_new(in, nargs, args, out);
    if (kwnames != NULL || nargs == 0) return ANSWER_NO;
    bool object = value_is_object(args[0]);
    if (callable == (PyObject *)&PyFloat_Type && object && nargs == 1)
        return number_of(&ask, "__float__", true, &PyFloat_Type);
    if (callable == (PyObject *)&PyLong_Type && object && nargs == 1)
        return number_of(&ask, "__int__", true, &PyLong_Type);
    if (callable == (PyObject *)&PyComplex_Type && object && nargs == 1)
        return number_of(&ask, "__complex__", false, &PyComplex_Type);
    if (callable == (PyObject *)&PyBool_Type && object && nargs == 1) {
        Value *node;
        int known;
        Answer truth = value_truth(in, args[0], &known, &node);
        if (truth != ANSWER_YES) return truth;
        return known >= 0 ? give_bool(&ask, known) : give(&ask, node);
    }
    if (callable == (PyObject *)&PyUnicode_Type && object && nargs == 1)
        return text_of(&ask, false, args[0]);
    if (callable == (PyObject *)&PyReversed_Type && object && nargs == 1)
        return iterator_backwards(in, args[0], out);
    if (!PyCFunction_Check(callable)) return ANSWER_NO;
    PyCFunctionObject *function = (PyCFunctionObject *)callable;
    if (function->m_module == NULL || !PyUnicode_Check(function->m_module) ||
        PyUnicode_CompareWithASCIIString(function->m_module, "builtins") != 0)
        return ANSWER_NO;
    const char *name = function->m_ml->ml_name;
    if (strcmp(name, "len") == 0 && nargs == 1 && args[0]->kind == V_CONST &&
        is_enum_class(args[0]->object)) {
        Answer plain = enum_is_plain(in, Py_TYPE(args[0]->object), "__len__", NULL);
        if (plain != ANSWER_YES) return plain == ANSWER_NO ? unknown(&ask, name) : plain;
        Py_ssize_t n = PyObject_Length(args[0]->object);
        return n < 0 ? raise_error(in) : give(&ask, value_const_new(in, PyLong_FromSsize_t(n)));
    }
    Answer answer = about_classes(&ask, name);
    if (answer != ANSWER_NO || in->break_code != BREAK_NONE || !object) return answer;
    return of_objects(&ask, name);
}
