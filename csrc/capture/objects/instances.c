/* Instances made here: calls of classes, and the methods of `object` and `type` that Python code
   calls by name.
   class(…) is meta.__call__, then __new__ and __init__ as found on the class.  object.__new__ gives
   a V_INSTANCE; the real object is made when the graph ends. */
#include "objects.h"

static Answer
cannot_make(Interp *in, PyTypeObject *type)
{
    const char *why = "which is made in C";
    PyObject *name = interned(in, "__del__");
    if (name == NULL) return ANSWER_ERROR;
    if (_PyType_Lookup(type, name) != NULL)
        why = "which has __del__";
    else if (type_is_heap(type))
        why = "whose making runs code in C";
    return break_hinted(in, BREAK_CALL_PYTHON, HINT_MADE, "an instance of class '%s', %s",
                        type->tp_name, why);
}

static int
count_all(int nargs, PyObject *kwnames)
{
    return nargs + (kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0);
}

static Answer
call_with(Interp *in, Value *function, Value *first, int nargs, Value *const *args,
          PyObject *kwnames, Value **out)
{
    Value *method = function ? bound_method(in, function, first) : NULL;
    return method ? call_value(in, method, nargs, args, kwnames, out) : ANSWER_ERROR;
}

/* ---- object.__new__ and __init__ ---- */

bool
type_has_python_end(const PyTypeObject *type)
{
    static destructor of_python; /* what every Python class has, and no C class */
    if (of_python == NULL) {
        PyObject *made = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "made");
        if (made == NULL) {
            PyErr_Clear();
            return false;
        }
        of_python = ((PyTypeObject *)made)->tp_dealloc;
        Py_DECREF(made);
    }
    return type->tp_dealloc == of_python;
}

/* object.__new__ makes it, with attributes of its own only: no builtin base. */
static bool
is_plain_class(const PyTypeObject *type)
{
    for (; type != &PyBaseObject_Type; type = type->tp_base)
        if (!type_is_heap(type) || type->tp_itemsize != 0 ||
            (!type_has_python_end(type) && /* a C class with state of its own */
             type->tp_basicsize != type->tp_base->tp_basicsize))
            return false;
    return true;
}

static bool
is_new_of(PyObject *found, PyTypeObject *type)
{
    return found != NULL && PyCFunction_Check(found) &&
           PyCFunction_GET_SELF(found) == (PyObject *)type &&
           strcmp(((PyCFunctionObject *)found)->m_ml->ml_name, "__new__") == 0;
}

static bool
is_object_new(PyObject *found)
{
    return is_new_of(found, &PyBaseObject_Type);
}

static Answer
excess(Interp *in, PyTypeObject *type, const char *own)
{
    if (own != NULL)
        return raise_new(in, PyExc_TypeError, "object.%s() takes exactly one argument (the %s)",
                         own, own[2] == 'n' ? "type to instantiate" : "instance to initialize");
    return raise_new(in, PyExc_TypeError, "%.200s() takes no arguments", type->tp_name);
}

/* `extra`: there are arguments besides the class. */
static Answer
object_new(Interp *in, Value *class_, int extra, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    PyObject *found;
    Answer answer = type_lookup_text(in, type, "__new__", &found);
    bool own_new = type->tp_new != PyBaseObject_Type.tp_new, own_init;
    if (answer != ANSWER_YES) return answer;
    answer = type_inherits(in, type, "__init__", &PyBaseObject_Type);
    if (answer == ANSWER_ERROR) return answer;
    own_init = answer == ANSWER_NO;
    if (extra && (own_new || !own_init)) return excess(in, type, own_new ? "__new__" : NULL);
    answer = type_lookup_text(in, type, "__del__", &found);
    if (answer != ANSWER_YES) return answer;
    if (!is_plain_class(type) || found != NULL || type->tp_finalize != NULL)
        return cannot_make(in, type);
    if (type->tp_flags & Py_TPFLAGS_IS_ABSTRACT) return raise_abstract(in, type);
    answer = type_lookup_text(in, type, "__abstractmethods__", &found);
    if (answer != ANSWER_YES) return answer;
    *out = value_sequence(in, V_INSTANCE, 0, NULL);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->type = type;
    return ANSWER_YES;
}

static Answer
object_init(Interp *in, Value *object, int extra)
{
    PyTypeObject *type = value_type(in, object);
    if (type == NULL)
        return PyErr_Occurred()
                   ? ANSWER_ERROR
                   : interp_break(in, BREAK_EXCEPTION, "object.__init__ with arguments");
    if (extra == 0) return ANSWER_YES;
    PyObject *found;
    Answer answer = type_lookup_text(in, type, "__new__", &found);
    if (answer == ANSWER_YES) answer = type_inherits(in, type, "__init__", &PyBaseObject_Type);
    if (answer == ANSWER_ERROR) return answer;
    return answer == ANSWER_NO || is_object_new(found)
               ? excess(in, type, answer == ANSWER_NO ? "__init__" : NULL)
               : ANSWER_YES;
}

/* ---- calling a class ---- */

static Answer
call_new(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    PyObject *found;
    Answer answer = type_lookup_text(in, type, "__new__", &found);
    if (answer != ANSWER_YES) return answer;
    if (is_object_new(found)) return object_new(in, class_, count_all(nargs, kwnames), out);
    if (box_is_new(found)) return box_new(in, found, type, out);
    PyObject *name = interned(in, "__new__");
    Value *function;
    if (found == NULL || name == NULL || Py_TYPE(found) != &PyStaticMethod_Type)
        return name == NULL ? ANSWER_ERROR : cannot_make(in, type);
    answer = descriptor_get(in, found, NULL, class_, name, &function);
    if (answer != ANSWER_YES) return answer;
    return call_with(in, function, class_, nargs, args, kwnames, out);
}

/* The class whose methods are followed: for a model's class the model. */
static PyTypeObject *
type_followed(Interp *in, Value *object)
{
    return model_real(object) != NULL ? object->type : value_type(in, object);
}

static Answer
call_init(Interp *in, Value *object, int nargs, Value *const *args, PyObject *kwnames)
{
    PyTypeObject *type = type_followed(in, object);
    PyObject *found;
    Value *result;
    PyObject *plain;
    Answer answer = type_lookup_text(in, type, "__init__", &found);
    if (answer == ANSWER_YES) answer = type_stored(in, &PyBaseObject_Type, "__init__", &plain);
    if (answer != ANSWER_YES) return answer;
    if (found == plain) return object_init(in, object, count_all(nargs, kwnames));
    if (object->core != NULL && found != NULL && Py_TYPE(found) == &PyWrapperDescr_Type &&
        PyDescr_TYPE(found) == box_base(object))
        return box_method(in, object, "__init__", nargs, args, kwnames, &result);
    if (found == NULL || !PyFunction_Check(found)) return cannot_make(in, type);
    answer = call_with(in, value_of_const(in, found), object, nargs, args, kwnames, &result);
    if (answer == ANSWER_YES && !(result->kind == V_CONST && result->object == Py_None))
        return raise_new(in, PyExc_TypeError, "__init__() should return None, not '%.200s'",
                         value_describe(in, result));
    return answer;
}

/* type.__call__(class, …) */
static Answer
type_call(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object;
    if (!type_is_heap(type)) return cannot_make(in, type);
    Answer answer = call_new(in, class_, nargs, args, kwnames, out);
    if (answer != ANSWER_YES) return answer;
    PyTypeObject *made = type_followed(in, *out);
    if (made == NULL) return PyErr_Occurred() ? ANSWER_ERROR : cannot_make(in, type);
    if (!PyType_IsSubtype(made, type)) return ANSWER_YES;
    return call_init(in, *out, nargs, args, kwnames);
}

Answer
class_call(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    PyTypeObject *type = (PyTypeObject *)class_->object, *meta = Py_TYPE(type);
    if (is_enum_class((PyObject *)type)) return enum_call(in, class_, nargs, args, kwnames, out);
    if (type_is_partial(type)) return partial_make(in, class_, nargs, args, kwnames, out);
    if (meta != &PyType_Type && type_is_heap(meta)) {
        PyObject *call;
        Answer answer = type_inherits(in, meta, "__call__", &PyType_Type);
        if (answer == ANSWER_ERROR) return answer;
        if (answer == ANSWER_NO) {
            answer = type_lookup_text(in, meta, "__call__", &call);
            if (answer != ANSWER_YES) return answer;
            if (call == NULL || !PyFunction_Check(call)) return cannot_make(in, type);
            return call_with(in, value_of_const(in, call), class_, nargs, args, kwnames, out);
        }
    } else if (meta != &PyType_Type && meta->tp_call != PyType_Type.tp_call) {
        return cannot_make(in, type);
    }
    return type_call(in, class_, nargs, args, kwnames, out);
}

/* ---- methods of object and type, by name ---- */

static Answer
known_name(Interp *in, Value *value, PyObject **out)
{
    Answer answer = value_known(in, value, out);
    if (answer == ANSWER_YES && !PyUnicode_CheckExact(*out)) answer = ANSWER_NO;
    if (answer == ANSWER_NO)
        return interp_break(in, BREAK_ATTRIBUTE, "an attribute whose name is not known");
    if (answer_stops(answer)) return answer;
    Py_INCREF(*out);
    PyUnicode_InternInPlace(out);
    *out = keep(in, *out);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
none(Interp *in, Answer answer, Value **out)
{
    if (answer != ANSWER_YES) return answer;
    *out = value_const(in, Py_None);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* object.__eq__ and __ne__ are in special.c. */
static Answer
method_of_object(Interp *in, const char *name, int nargs, Value *const *args, int all, Value **out)
{
    PyObject *key;
    Value *self = nargs > 0 ? args[0] : NULL;
    if (self == NULL) return ANSWER_NO;
    if (strcmp(name, "__init__") == 0) return none(in, object_init(in, self, all - 1), out);
    if (self->kind != V_OBJECT && self->kind != V_INSTANCE) return ANSWER_NO;
    if (self->type == &PyFunction_Type) return ANSWER_NO; /* function_store has its rules */
    if (value_guard_type(in, self) < 0) return ANSWER_ERROR;
    bool get = strcmp(name, "__getattribute__") == 0, set = strcmp(name, "__setattr__") == 0;
    if ((get || strcmp(name, "__delattr__") == 0) && nargs == 2 && all == 2) {
        Answer answer = known_name(in, args[1], &key);
        if (answer != ANSWER_YES) return answer;
        if (!get) return none(in, generic_store(in, self, key, NULL), out);
        answer = generic_find(in, self, key, out);
        return answer == ANSWER_YES && *out == NULL ? attribute_missing(in, self, key) : answer;
    }
    if (set && nargs == 3 && all == 3) {
        Answer answer = known_name(in, args[1], &key);
        return answer == ANSWER_YES ? none(in, generic_store(in, self, key, args[2]), out) : answer;
    }
    return ANSWER_NO;
}

/* A method of a builtin type, called on an object of exactly that type. */
static Answer
builtin_by_type(Interp *in, PyTypeObject *owner, const char *name, int nargs, Value *const *args,
                PyObject *kwnames, Value **out)
{
    Value *self = args[0];
    bool builtin = self->kind != V_OBJECT && self->kind != V_INSTANCE;
    if (owner == box_base(self))
        return box_method(in, self, name, nargs - 1, args + 1, kwnames, out);
    PyTypeObject *type = builtin ? value_type(in, self) : NULL;
    if (type == NULL) return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    if (!PyType_IsSubtype(type, owner)) return ANSWER_NO;
    if (self->kind == V_NODE && value_is_numpy(in, self))
        return array_has_method(name)
                   ? array_method(in, self, name, nargs - 1, args + 1, kwnames, out)
                   : ANSWER_NO;
    return builtin_method(in, self, name, nargs - 1, args + 1, kwnames, out);
}

Answer
call_descriptor(Interp *in, Value *descriptor, int nargs, Value *const *args, PyObject *kwnames,
                Value **out)
{
    PyObject *object = descriptor->object;
    int all = count_all(nargs, kwnames);
    if (is_object_new(object)) {
        if (nargs == 0 || args[0]->kind != V_CONST || !PyType_Check(args[0]->object))
            return ANSWER_NO;
        PyTypeObject *type = (PyTypeObject *)args[0]->object;
        return type_is_heap(type) ? object_new(in, args[0], all - 1, out) : ANSWER_NO;
    }
    if (box_is_new(object) && nargs > 0 && args[0]->kind == V_CONST &&
        PyType_Check(args[0]->object) && type_is_heap((PyTypeObject *)args[0]->object))
        return box_new(in, object, (PyTypeObject *)args[0]->object, out);
    if (is_new_of(object, &PyTuple_Type) && nargs == 2 && all == 2 && args[0]->kind == V_CONST &&
        PyType_Check(args[0]->object) && type_is_named((PyTypeObject *)args[0]->object))
        return named_make(in, args[0], args[1], out);
    if (Py_TYPE(object) != &PyWrapperDescr_Type && Py_TYPE(object) != &PyMethodDescr_Type)
        return ANSWER_NO;
    PyTypeObject *owner = PyDescr_TYPE(object);
    const char *name = PyUnicode_AsUTF8(PyDescr_NAME(object));
    if (name == NULL || nargs == 0) return name == NULL ? ANSWER_ERROR : ANSWER_NO;
    if (owner == &PyBaseObject_Type) return method_of_object(in, name, nargs, args, all, out);
    if (owner == &PyType_Type && strcmp(name, "__call__") == 0 && args[0]->kind == V_CONST &&
        PyType_Check(args[0]->object) && args[0]->object != (PyObject *)&PyType_Type)
        return type_call(in, args[0], nargs - 1, args + 1, kwnames, out);
    return builtin_by_type(in, owner, name, nargs, args, kwnames, out);
}
