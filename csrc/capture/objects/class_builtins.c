/* Builtins that call methods of objects of the program's classes, or that examine classes:
   isinstance, getattr, hasattr, vars, hash, repr, len and the conversions. */
#include "builtins.h"

/* ---- classes ---- */

static bool
class_says(Interp *in, PyObject *class_, const char *name)
{
    PyObject *found;
    if (type_stored(in, (PyTypeObject *)class_, name, &found) == ANSWER_YES)
        return found == Py_True;
    PyErr_Clear(); /* no memory: treated as not known */
    return false;
}

/* A protocol: does the class have everything that the protocol names?  Breaks where something is
   missing from the class now, or can be in instances only. */
static Answer
check_protocol(const BuiltinCall *call, PyObject *class_, PyTypeObject *type, bool *out)
{
    Interp *in = call->in;
    if (!class_says(in, class_, "_is_runtime_protocol")) return builtin_unknown(call, "isinstance");
    PyObject *names = protocol_names(class_), *list = names ? PySequence_List(names) : NULL, *found;
    Py_XDECREF(names);
    if (keep(in, list) == NULL) {
        PyErr_Clear();
        return builtin_unknown(call, "isinstance");
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *name = PyList_GET_ITEM(list, i);
        if (!PyUnicode_CheckExact(name)) return builtin_unknown(call, "isinstance");
        Py_INCREF(name);
        PyUnicode_InternInPlace(&name);
        Answer answer = keep(in, name) == NULL ? ANSWER_ERROR : type_lookup(in, type, name, &found);
        if (answer != ANSWER_YES) return answer;
        if (found == NULL || found == Py_None) return builtin_unknown(call, "isinstance");
    }
    *out = true;
    return ANSWER_YES;
}

/* The hook is object's, or one of the library's, which examine the class only. */
static bool
hook_is_plain(Interp *in, PyObject *class_)
{
    static const char *const modules[] = {"collections.abc", "typing", "contextlib", "os"};
    PyObject *hook = NULL;
    if (type_stored(in, (PyTypeObject *)class_, "__subclasshook__", &hook) != ANSWER_YES)
        PyErr_Clear(); /* no memory: treated as not known */
    if (hook == NULL || Py_TYPE(hook) != &PyClassMethod_Type) return hook != NULL;
    PyObject *function = PyObject_GetAttrString(hook, "__func__");
    bool plain = false;
    for (int i = 0; function != NULL && i < COUNT_OF(modules); i++)
        plain = plain || function_is_of_module(function, modules[i]);
    Py_XDECREF(function);
    PyErr_Clear();
    return plain;
}

/* An abstract class caches a positive answer for good, a negative one until any class is registered
   with any abstract class. */
static Answer
check_abstract(const BuiltinCall *call, PyObject *class_, bool instance, PyTypeObject *type,
               bool *out)
{
    Interp *in = call->in;
    PyObject *found;
    Answer stored = type_stored(in, Py_TYPE(class_), "__subclasscheck__", &found);
    if (stored != ANSWER_YES) return stored;
    if (found == NULL ||
        !(function_is_of_module(found, "abc") || function_is_of_module(found, "typing")))
        return builtin_unknown(call, "isinstance");
    if (!*out && class_says(in, class_, "_is_protocol"))
        return instance ? check_protocol(call, class_, type, out)
                        : builtin_unknown(call, "issubclass");
    if (!class_says(in, class_, "_is_protocol") && !hook_is_plain(in, class_))
        return builtin_unknown(call, "isinstance");
    int is = PyObject_IsSubclass((PyObject *)type, class_);
    if (is < 0) { /* a protocol for which issubclass raises */
        PyErr_Clear();
        return builtin_unknown(call, "isinstance");
    }
    *out = is;
    if (is) return ANSWER_YES;
    Guard guard = {.kind = GUARD_REGISTERED, .other = NO_SOURCE, .low = abstract_token()};
    guard.source = source_of_const(in, class_);
    if (guard.source == NO_SOURCE || guard.low < 0 || guard_add(in, &guard) < 0)
        return ANSWER_ERROR;
    return ANSWER_YES;
}

/* Is type(object) a subclass, by meta.__instancecheck__? */
static Answer
check_one(const BuiltinCall *call, PyObject *class_, bool instance, PyTypeObject *type, bool *out)
{
    Interp *in = call->in;
    PyTypeObject *meta = Py_TYPE(class_);
    const char *name = instance ? "__instancecheck__" : "__subclasscheck__";
    if (!PyType_Check(class_)) return builtin_unknown(call, "isinstance");
    if (guard_class(in, class_) < 0) return ANSWER_ERROR;
    *out = PyType_IsSubtype(type, (PyTypeObject *)class_);
    if (instance && type == (PyTypeObject *)class_) return ANSWER_YES; /* exact: no hook runs */
    Answer answer = meta == &PyType_Type || !type_is_heap(meta)
                        ? ANSWER_YES
                        : type_inherits(in, meta, name, &PyType_Type);
    if (answer == ANSWER_YES) return type_derives(in, type, (PyTypeObject *)class_, out);
    if (answer == ANSWER_ERROR) return answer;
    PyObject *found;
    if (type_stored(in, meta, name, &found) != ANSWER_YES) return ANSWER_ERROR;
    if (found == NULL || !PyFunction_Check(found)) return builtin_unknown(call, "isinstance");
    if (function_is_of_module(found, "abc") || function_is_of_module(found, "typing"))
        return check_abstract(call, class_, instance, type, out);
    Value *function = value_of_const(in, found), *result, *node;
    Value *args[2] = {value_const(in, class_), call->args[0]};
    int known;
    if (function == NULL || args[0] == NULL) return ANSWER_ERROR;
    answer = call_value(in, function, 2, args, NULL, &result);
    if (answer == ANSWER_YES) answer = value_truth(in, result, &known, &node);
    if (answer != ANSWER_YES) return answer;
    if (known < 0) return builtin_unknown(call, "isinstance");
    *out = known;
    return ANSWER_YES;
}

static Answer
check_classes(const BuiltinCall *call, PyObject *classes, bool instance, PyTypeObject *type,
              bool *out)
{
    *out = false;
    if (Py_TYPE(classes) != &PyTuple_Type) {
        if (PyType_Check(classes)) return check_one(call, classes, instance, type, out);
        /* int | float: a union of plain classes. */
        PyObject *parts = PyObject_GetAttrString(classes, "__args__");
        PyErr_Clear();
        if (parts == NULL || !typing_is_union(classes) || keep(call->in, parts) == NULL)
            return builtin_unknown(call, "isinstance");
        classes = parts;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes) && !*out; i++) {
        Answer answer = check_classes(call, PyTuple_GET_ITEM(classes, i), instance, type, out);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

Answer
builtin_isinstance(const BuiltinCall *call)
{
    PyTypeObject *type = value_type(call->in, call->args[0]);
    PyObject *classes;
    bool is;
    Value *asked;
    if (type == NULL) return PyErr_Occurred() ? ANSWER_ERROR : builtin_unknown(call, "isinstance");
    if (note_class_asked(call->in, call->args[0]) < 0) return ANSWER_ERROR;
    Answer answer = typing_class(call->in, call->args[1], &asked);
    if (answer == ANSWER_YES) answer = value_known(call->in, asked, &classes);
    if (answer == ANSWER_NO) return builtin_unknown(call, "isinstance");
    if (answer == ANSWER_YES) answer = check_classes(call, classes, true, type, &is);
    if (answer != ANSWER_YES || is || !type_is_heap(type))
        return answer == ANSWER_YES ? give_bool(call, is) : answer;
    /* The object may claim another class. */
    answer = type_inherits(call->in, type, "__class__", &PyBaseObject_Type);
    if (answer == ANSWER_YES && type->tp_getattro != PyObject_GenericGetAttr)
        answer = type_inherits(call->in, type, "__getattribute__", &PyBaseObject_Type);
    if (answer == ANSWER_NO) return builtin_unknown(call, "isinstance");
    return answer == ANSWER_YES ? give_bool(call, false) : answer;
}

Answer
builtin_issubclass(const BuiltinCall *call)
{
    PyObject *classes;
    bool is;
    if (call->args[0]->kind != V_CONST || !PyType_Check(call->args[0]->object))
        return builtin_unknown(call, "issubclass");
    Answer answer = value_known(call->in, call->args[1], &classes);
    if (answer == ANSWER_NO) return builtin_unknown(call, "issubclass");
    if (answer == ANSWER_YES)
        answer = check_classes(call, classes, false, (PyTypeObject *)call->args[0]->object, &is);
    return answer == ANSWER_YES ? give_bool(call, is) : answer;
}

/* ---- attributes by name ---- */

static Answer
attribute_name(const BuiltinCall *call, PyObject **out)
{
    Answer answer = value_known(call->in, call->args[1], out);
    if (answer == ANSWER_YES && !PyUnicode_CheckExact(*out)) answer = ANSWER_NO;
    if (answer == ANSWER_NO) return builtin_unknown(call, "getattr");
    if (answer == ANSWER_YES) {
        Py_INCREF(*out);
        PyUnicode_InternInPlace(out);
        *out = keep(call->in, *out);
    }
    return answer == ANSWER_YES && *out == NULL ? ANSWER_ERROR : answer;
}

Answer
builtin_getattr(const BuiltinCall *call)
{
    PyObject *name;
    Answer answer = attribute_name(call, &name);
    if (answer != ANSWER_YES) return answer;
    if (call->nargs != 3) return attribute_load(call->in, call->args[0], name, call->out);
    answer = attribute_find(call->in, call->args[0], name, call->out);
    bool missing = answer == ANSWER_YES && *call->out == NULL;
    if (answer == ANSWER_BREAK) missing = raised_take(call->in, PyExc_AttributeError) != NULL;
    return missing ? give(call, call->args[2]) : answer;
}

Answer
builtin_hasattr(const BuiltinCall *call)
{
    PyObject *name;
    Value *found;
    Answer answer = attribute_name(call, &name);
    if (answer != ANSWER_YES) return answer;
    if (note_class_asked(call->in, call->args[0]) < 0) return ANSWER_ERROR;
    PyTypeObject *type = value_type(call->in, call->args[0]);
    PyObject *on_type = type != NULL ? _PyType_Lookup(type, name) : NULL;
    bool may_lack = on_type != NULL && Py_TYPE(on_type) == &PyMemberDescr_Type &&
                    call->args[0]->kind == V_OBJECT; /* a slot may be empty */
    if (type != NULL && !type_is_heap(type) && type->tp_dictoffset == 0 && !may_lack &&
        type->tp_getattro == PyObject_GenericGetAttr && call->args[0]->kind != V_SUPER)
        return give_bool(call, on_type != NULL);
    answer = attribute_find(call->in, call->args[0], name, &found);
    if (answer == ANSWER_BREAK && raised_take(call->in, PyExc_AttributeError) != NULL)
        return give_bool(call, false);
    return answer == ANSWER_YES ? give_bool(call, found != NULL) : answer;
}

static Answer
set_or_delete(const BuiltinCall *call, bool delete)
{
    PyObject *name;
    Answer answer = attribute_name(call, &name);
    if (answer == ANSWER_YES)
        answer = delete ? attribute_delete(call->in, call->args[0], name)
                        : attribute_store(call->in, call->args[0], name, call->args[2]);
    return answer == ANSWER_YES ? give(call, value_const(call->in, Py_None)) : answer;
}

Answer
builtin_setattr(const BuiltinCall *call)
{
    return set_or_delete(call, false);
}

Answer
builtin_delattr(const BuiltinCall *call)
{
    return set_or_delete(call, true);
}

Answer
builtin_super(const BuiltinCall *call)
{
    return super_new(call->in, call->nargs, call->args, call->out);
}

/* The value of a member of an enum class; of other classes an ordinary value. */
Answer
builtin_len_of_enum(const BuiltinCall *call)
{
    PyObject *class_ = call->args[0]->object;
    if (call->args[0]->kind != V_CONST || !is_enum_class(class_)) return ANSWER_NO;
    Answer plain = enum_is_plain(call->in, Py_TYPE(class_), "__len__", NULL);
    if (plain != ANSWER_YES) return plain == ANSWER_NO ? builtin_unknown(call, "len") : plain;
    int n;
    plain = enum_count(call->in, (PyTypeObject *)class_, &n);
    return plain != ANSWER_YES ? plain : give(call, value_const_new(call->in, PyLong_FromLong(n)));
}

Answer
builtin_vars(const BuiltinCall *call)
{
    PyObject *name = interned(call->in, "__dict__");
    if (!value_is_object(call->args[0])) return builtin_unknown(call, "vars");
    return name ? attribute_load(call->in, call->args[0], name, call->out) : ANSWER_ERROR;
}

/* ---- methods behind builtins ---- */

/* The generated __repr__ of a dataclass is wrapped in a function that detects recursion; here the
   recursion limit does so. */
static Answer
call_repr(const BuiltinCall *call, const char *name, Value *object)
{
    Interp *in = call->in;
    PyObject *found;
    Answer answer = type_lookup_text(in, object->type, name, &found);
    if (answer != ANSWER_YES) return answer;
    PyObject *inner = found != NULL && PyFunction_Check(found)
                          ? attribute_stored(found, interned(in, "__wrapped__"))
                          : NULL;
    PyObject *qualname = inner ? ((PyCodeObject *)PyFunction_GET_CODE(found))->co_qualname : NULL;
    const char *text = qualname ? PyUnicode_AsUTF8(qualname) : NULL;
    if (text == NULL || !PyFunction_Check(inner) || strstr(text, "recursive_repr.<locals>") == NULL)
        return special_call(in, object, name, 0, NULL, call->out);
    Value *function = value_of_const(in, inner);
    return function ? call_value(in, function, 1, &object, NULL, call->out) : ANSWER_ERROR;
}

/* Text of enum members, by this method and __str__; it contains the class's name. */
static Answer
enum_text_is_plain(Interp *in, PyTypeObject *type, const char *method)
{
    PyObject *ignored, *name = interned(in, "__name__");
    Answer answer = name ? type_own_lookup(in, type, name, &ignored) : ANSWER_ERROR;
    return answer == ANSWER_YES ? enum_is_plain(in, type, method, "__str__") : answer;
}

/* str(object): __str__, else __repr__. */
static Answer
text_of(const BuiltinCall *call, bool repr, Value *object)
{
    Interp *in = call->in;
    if (object->exception != NULL) return exception_text(in, object, repr, call->out);
    if (object->kind == V_CONST) {
        Answer plain = enum_text_is_plain(in, object->type, "__repr__");
        if (plain != ANSWER_YES) return plain == ANSWER_NO ? builtin_unknown(call, "str") : plain;
        PyObject *text = repr ? PyObject_Repr(object->object) : PyObject_Str(object->object);
        return text == NULL ? raise_error(in) : give(call, value_const_new(in, text));
    }
    *call->out = NULL;
    Answer answer = ANSWER_YES;
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    if (!repr) {
        answer = type_inherits(in, object->type, "__str__", &PyBaseObject_Type);
        if (answer == ANSWER_NO) {
            answer = call_repr(call, "__str__", object);
            if (answer == ANSWER_YES && *call->out == NULL) return builtin_unknown(call, "str");
        }
    }
    if (answer == ANSWER_YES && *call->out == NULL) answer = call_repr(call, "__repr__", object);
    if (answer != ANSWER_YES) return answer;
    if (*call->out == NULL || value_type(in, *call->out) != &PyUnicode_Type)
        return builtin_unknown(call, "repr");
    return ANSWER_YES;
}

Answer
object_text(Interp *in, Value *object, bool repr, Value **out)
{
    BuiltinCall call = {.in = in, .nargs = 1, .args = &object, .out = out};
    return text_of(&call, repr, object);
}

Answer
object_format(Interp *in, Value *object, Value *spec, Value **out)
{
    BuiltinCall call = {.in = in, .nargs = 1, .args = &object, .out = out};
    PyObject *known;
    Answer answer = value_known(in, spec, &known);
    if (answer == ANSWER_YES && !PyUnicode_Check(known)) answer = ANSWER_NO;
    if (answer != ANSWER_YES)
        return answer == ANSWER_NO ? builtin_unknown(&call, "format") : answer;
    if (object->kind == V_CONST) {
        answer = enum_text_is_plain(in, object->type, "__format__");
        if (answer != ANSWER_YES)
            return answer == ANSWER_NO ? builtin_unknown(&call, "format") : answer;
        PyObject *text = PyObject_Format(object->object, known);
        return text == NULL ? raise_error(in) : give(&call, value_const_new(in, text));
    }
    answer = special_call(in, object, "__format__", 1, &spec, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    answer = type_inherits(in, object->type, "__format__", &PyBaseObject_Type);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO || !PyUnicode_Check(known) || PyUnicode_GET_LENGTH(known) != 0)
        return builtin_unknown(&call, "format");
    return text_of(&call, false, object);
}

/* A number by the method `name`, or by __index__; its result must be of exactly this type. */
static Answer
number_of(const BuiltinCall *call, const char *name, bool by_index, PyTypeObject *type)
{
    Interp *in = call->in;
    Value *object = call->args[0], *result;
    if (object->kind == V_CONST) return builtin_unknown(call, name);
    Answer answer = special_call(in, object, name, 0, NULL, &result);
    PyObject *stored = NULL;
    if (answer == ANSWER_YES && result == NULL)
        answer = type_stored(in, object->type, name, &stored);
    if (answer == ANSWER_YES && stored != NULL) return builtin_unknown(call, name); /* C code */
    if (answer == ANSWER_YES && result == NULL && by_index)
        answer = special_call(in, object, "__index__", 0, NULL, &result);
    if (answer != ANSWER_YES) return answer;
    if (result == NULL) return builtin_unknown(call, name);
    PyTypeObject *made = value_type(in, result);
    if (made == &PyLong_Type && by_index && type == &PyFloat_Type && result->kind == V_CONST) {
        PyObject *real = PyNumber_Float(result->object);
        return real == NULL ? raise_error(in) : give(call, value_const_new(in, real));
    }
    if (made != type) return PyErr_Occurred() ? ANSWER_ERROR : builtin_unknown(call, name);
    return give(call, result);
}

Answer
object_hash(const BuiltinCall *call)
{
    Py_hash_t hash;
    Answer answer = special_hash(call->in, call->args[0], &hash);
    if (answer == ANSWER_NO) return builtin_unknown(call, "hash");
    if (answer != ANSWER_YES) return answer;
    return give(call, value_const_new(call->in, PyLong_FromSsize_t(hash)));
}

Answer
object_len(const BuiltinCall *call)
{
    Interp *in = call->in;
    Answer answer = special_call(in, call->args[0], "__len__", 0, NULL, call->out);
    if (answer != ANSWER_YES) return answer;
    if (*call->out == NULL) return builtin_unknown(call, "len");
    PyTypeObject *type = value_type(in, *call->out);
    if (type == &PyLong_Type && value_in_range(in, *call->out, 0, INT64_MAX) == ANSWER_YES)
        return ANSWER_YES;
    return PyErr_Occurred() ? ANSWER_ERROR : builtin_unknown(call, "len");
}

/* round(x), round(x, n), divmod(x, y): the method of x. */
static Answer
by_method(const BuiltinCall *call, const char *name)
{
    Answer answer =
        special_call(call->in, call->args[0], name, call->nargs - 1, call->args + 1, call->out);
    if (answer != ANSWER_YES) return answer;
    if (*call->out == NULL ||
        ((*call->out)->kind == V_CONST && (*call->out)->object == Py_NotImplemented))
        return builtin_unknown(call, name);
    return ANSWER_YES;
}

Answer
object_abs(const BuiltinCall *call)
{
    return by_method(call, "__abs__");
}

Answer
object_round(const BuiltinCall *call)
{
    return by_method(call, "__round__");
}

Answer
object_divmod(const BuiltinCall *call)
{
    return by_method(call, "__divmod__");
}

Answer
object_repr(const BuiltinCall *call)
{
    return text_of(call, true, call->args[0]);
}

Answer
object_str(const BuiltinCall *call)
{
    return text_of(call, false, call->args[0]);
}

Answer
object_formatted(const BuiltinCall *call)
{
    Value *none = value_const_new(call->in, PyUnicode_FromString(""));
    if (none == NULL) return ANSWER_ERROR;
    return object_format(call->in, call->args[0], call->nargs == 2 ? call->args[1] : none,
                         call->out);
}

Answer
object_float(const BuiltinCall *call)
{
    return number_of(call, "__float__", true, &PyFloat_Type);
}

Answer
object_int(const BuiltinCall *call)
{
    return number_of(call, "__int__", true, &PyLong_Type);
}

Answer
object_complex(const BuiltinCall *call)
{
    return number_of(call, "__complex__", false, &PyComplex_Type);
}

Answer
object_bool(const BuiltinCall *call)
{
    Value *node;
    int known;
    Answer answer = value_truth(call->in, call->args[0], &known, &node);
    if (answer != ANSWER_YES) return answer;
    return known >= 0 ? give_bool(call, known) : give(call, node);
}

Answer
object_reversed(const BuiltinCall *call)
{
    return iterator_backwards(call->in, call->args[0], call->out);
}
