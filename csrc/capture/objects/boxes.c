/* Objects of classes of the program that derive from a builtin container: `class Config(dict)`.
   Such a value is an object like any other, V_OBJECT from outside or V_INSTANCE made here, with its
   class and attributes; in addition, `core` is its contents as a container of the builtin kind.
   Methods are looked up on the class, guarded; where the look-up finds the builtin class's own
   method, it is applied to the core.  So overriding methods are followed, and others are the
   builtin's.
   The core of an object from outside has the object's own source: it is read and changed without
   the methods of the class, in guards and at commit (python/contents.c).  The program never has a
   core itself, only items read from it, iterators over it and views of it. */
#include "../containers/methods.h"
#include "objects.h"

static PyTypeObject *
native_base(PyTypeObject *type)
{
    static PyTypeObject *const bases[] = {&PyList_Type, &PyDict_Type};
    if (!type_is_heap(type) || is_enum_class((PyObject *)type)) return NULL;
    while (type_is_heap(type) && type_has_python_end(type)) type = type->tp_base;
    for (int i = 0; i < COUNT_OF(bases); i++)
        if (type == bases[i]) return type;
    return NULL;
}

PyTypeObject *
box_base(const Value *object)
{
    bool is = object->kind == V_OBJECT || (object->kind == V_INSTANCE && object->core != NULL);
    return is && object->type != NULL ? native_base(object->type) : NULL;
}

Answer
box_core(Interp *in, Value *object, Value **out)
{
    *out = object->core;
    if (*out != NULL || object->kind != V_OBJECT || object->source == NO_SOURCE ||
        native_base(object->type) == NULL)
        return ANSWER_YES;
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    Value *core = native_from_source(in, object->source, object->object);
    if (core == NULL) return ANSWER_ERROR;
    if (core->kind == V_OBJECT) return ANSWER_YES; /* too large, or keys with their own hash */
    core->box = object;
    *out = object->core = core;
    return VEC_PUSH(in->arena, &in->sources.outside, core) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
box_inherits(Interp *in, Value *object, const char *name, Value **core)
{
    Answer answer = box_core(in, object, core);
    if (answer != ANSWER_YES || *core == NULL) return answer;
    answer = type_inherits(in, object->type, name, native_base(object->type));
    if (answer == ANSWER_NO) *core = NULL;
    return answer == ANSWER_ERROR ? answer : ANSWER_YES;
}

/* ---- the builtin class's methods ---- */

static Answer
cannot(const Method *m)
{
    return interp_break(m->in, BREAK_CALL_C, "method '%s' of %s", m->name,
                        value_describe(m->in, m->self));
}

/* dict.__getitem__ looks for __missing__ on the class. */
static Answer
do_getitem(const Method *m)
{
    Interp *in = m->in;
    if (m->core->kind == V_DICT) {
        PyObject *key;
        Answer answer = dict_key(in, m->args[0], &key);
        if (answer != ANSWER_YES) return answer;
        int at = dict_find(in, m->core, key);
        if (at < -1) return raise_error(in);
        if (at < 0) {
            answer = special_call(in, m->self, "__missing__", 1, m->args, m->out);
            if (answer != ANSWER_YES || *m->out != NULL) return answer;
        }
    }
    return operate_subscript(in, m->core, m->args[0], m->out);
}

static Answer
do_setitem(const Method *m)
{
    Answer answer = operate_store_subscript(m->in, m->core, m->args[0], m->args[1]);
    return answer == ANSWER_YES ? give_none(m) : answer;
}

static Answer
do_delitem(const Method *m)
{
    Answer answer = operate_delete_subscript(m->in, m->core, m->args[0]);
    return answer == ANSWER_YES ? give_none(m) : answer;
}

static Answer
do_len(const Method *m)
{
    return give(m, value_const_new(m->in, PyLong_FromLongLong(container_length(m->in, m->core))));
}

static Answer
do_contains(const Method *m)
{
    bool found;
    Answer answer = operate_contains(m->in, m->args[0], m->core, &found);
    return answer == ANSWER_YES ? give(m, value_const(m->in, found ? Py_True : Py_False)) : answer;
}

static Answer
do_iter(const Method *m)
{
    return iterator_of(m->in, m->core, m->out);
}

static Answer
do_reversed(const Method *m)
{
    return call_builtin(m->in, (PyObject *)&PyReversed_Type, 1, &m->core, NULL, m->out);
}

/* __init__ called again: a list is emptied, a dict is not. */
static Answer
do_init(const Method *m)
{
    bool list = m->core->kind == V_LIST;
    Value *ignored;
    Answer answer = ANSWER_YES;
    if (m->nargs > 1 || (list && m->kwnames != NULL)) return cannot(m);
    if (list && m->core->nitems > 0)
        answer = builtin_method(m->in, m->core, "clear", 0, NULL, NULL, &ignored);
    if (answer == ANSWER_YES && (m->nargs > 0 || m->kwnames != NULL))
        answer = builtin_method(m->in, m->core, list ? "extend" : "update", m->nargs, m->args,
                                m->kwnames, &ignored);
    return answer == ANSWER_YES ? give_none(m) : answer;
}

/* An operand as the builtin class's methods see it: they ignore overriding methods, except that
   some call __iter__. */
static Answer
box_operand(const Method *m, Value **out)
{
    Value *core = NULL, *arg = m->args[0];
    Answer answer = value_is_object(arg) ? box_inherits(m->in, arg, "__iter__", &core) : ANSWER_YES;
    *out = core != NULL ? core : arg;
    return answer;
}

static Answer
do_operator(const Method *m)
{
    static const struct {
        const char *name;
        int operator_;
    } known[] = {{"__add__", OPERATOR_ADD},
                 {"__iadd__", IN_PLACE + OPERATOR_ADD},
                 {"__or__", OPERATOR_OR},
                 {"__ior__", IN_PLACE + OPERATOR_OR}};
    static const char *const compares[] = {"__lt__", "__le__", "__eq__",
                                           "__ne__", "__gt__", "__ge__"};
    Value *other;
    Answer answer = box_operand(m, &other);
    if (answer != ANSWER_YES) return answer;
    bool same = other->kind == m->core->kind;
    for (int i = 0; i < COUNT_OF(known); i++)
        if (strcmp(m->name, known[i].name) == 0)
            return same ? operate_binary(m->in, known[i].operator_, m->core, other, m->out)
                        : cannot(m);
    for (int i = 0; i < COUNT_OF(compares); i++)
        if (strcmp(m->name, compares[i]) == 0)
            return same ? operate_compare(m->in, i, m->core, other, m->out) : cannot(m);
    return cannot(m);
}

static const struct {
    const char *name;
    int nargs;
    Answer (*call)(const Method *);
} methods[] = {
    {"__getitem__", 1, do_getitem},   {"__setitem__", 2, do_setitem},
    {"__delitem__", 1, do_delitem},   {"__len__", 0, do_len},
    {"__iter__", 0, do_iter},         {"__contains__", 1, do_contains},
    {"__reversed__", 0, do_reversed}, {"__init__", -1, do_init},
};

Answer
box_method(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
           PyObject *kwnames, Value **out)
{
    Method m = {in, object, NULL, name, nargs, args, kwnames, out};
    Answer answer = box_core(in, object, &m.core);
    if (answer != ANSWER_YES) return answer;
    if (m.core == NULL) return cannot(&m);
    for (int i = 0; i < COUNT_OF(methods); i++) {
        if (strcmp(name, methods[i].name) != 0) continue;
        if (methods[i].nargs >= 0 && (nargs != methods[i].nargs || kwnames != NULL))
            return cannot(&m);
        return methods[i].call(&m);
    }
    if (name[0] == '_' && nargs == 1 && kwnames == NULL)
        answer = do_operator(&m);
    else if (name[0] == '_')
        return cannot(&m);
    else
        answer = builtin_method(in, m.core, name, nargs, args, kwnames, out);
    if (answer == ANSWER_YES && *out == m.core) *out = object;
    return answer;
}

/* ---- operators whose methods the class does not have ---- */

/* *out: the core, where the class has the builtin's methods under all of these names. */
static Answer
plain_operand(Interp *in, Value *value, int n, const char (*names)[24], Value **out)
{
    *out = value;
    if (!value_is_object(value) || box_base(value) == NULL) return ANSWER_YES;
    Value *core = NULL;
    for (int i = 0; i < n; i++) {
        Answer answer = box_inherits(in, value, names[i], &core);
        if (answer != ANSWER_YES || core == NULL) return answer;
    }
    *out = core;
    return ANSWER_YES;
}

Answer
box_operands(Interp *in, int n, const char (*names)[24], Value *left, Value *right, Value *both[2])
{
    both[0] = left;
    both[1] = right;
    if (value_is_numpy(in, left) || value_is_numpy(in, right) ||
        (box_base(left) == NULL && box_base(right) == NULL))
        return ANSWER_NO;
    Answer answer = plain_operand(in, left, n, names, &both[0]);
    if (answer == ANSWER_YES) answer = plain_operand(in, right, n, names, &both[1]);
    if (answer != ANSWER_YES) return answer;
    return value_is_object(both[0]) || value_is_object(both[1]) ? ANSWER_NO : ANSWER_YES;
}

/* ---- instances made here ---- */

bool
box_is_new(PyObject *found)
{
    return found != NULL && PyCFunction_Check(found) &&
           (PyCFunction_GET_SELF(found) == (PyObject *)&PyList_Type ||
            PyCFunction_GET_SELF(found) == (PyObject *)&PyDict_Type) &&
           strcmp(((PyCFunctionObject *)found)->m_ml->ml_name, "__new__") == 0;
}

/* list.__new__ and dict.__new__ make an empty one, whatever their arguments. */
Answer
box_new(Interp *in, PyObject *new, PyTypeObject *type, Value **out)
{
    PyTypeObject *base = native_base(type);
    PyObject *ends, *abstract;
    Answer answer = type_lookup_text(in, type, "__del__", &ends);
    if (answer == ANSWER_YES) answer = type_lookup_text(in, type, "__abstractmethods__", &abstract);
    if (answer != ANSWER_YES) return answer;
    if (base == NULL || PyCFunction_GET_SELF(new) != (PyObject *)base || ends != NULL ||
        abstract != NULL || type->tp_finalize != NULL || (type->tp_flags & Py_TPFLAGS_IS_ABSTRACT))
        return break_hinted(in, BREAK_CALL_PYTHON, HINT_MADE, "an instance of class '%s'",
                            type->tp_name);
    Value *made = value_sequence(in, V_INSTANCE, 0, NULL);
    Value *core = value_sequence(in, base == &PyList_Type ? V_LIST : V_DICT, 0, NULL);
    if (made == NULL || core == NULL) return ANSWER_ERROR;
    made->type = type;
    made->core = core;
    core->box = made;
    *out = made;
    return ANSWER_YES;
}
