/* super(): attributes of the classes behind a given class in an instance's MRO.  A V_SUPER's items
   are the class and the instance (or class) for which it looks up. */
#include "objects.h"

/* __class__ and the first argument of the function being followed. */
static Answer
implied(Interp *in, Value *pair[2])
{
    Activation *a = in->top;
    const Decoded *d = a->decoded;
    PyCodeObject *code = d->code;
    pair[0] = NULL;
    for (int slot = 0; slot < d->nlocalsplus; slot++) {
        if (!(code_slot_kind(code, slot) & SLOT_FREE) ||
            PyUnicode_CompareWithASCIIString(code_slot_name(code, slot), "__class__") != 0)
            continue;
        Value *cell = slot_load(in, a, slot);
        if (cell == NULL) return ANSWER_ERROR;
        if (cell->kind != V_CELL) return interp_break(in, BREAK_INSTRUCTION, "super()");
        Answer answer = cell_load(in, cell, &pair[0]);
        if (answer != ANSWER_YES) return answer;
    }
    if (pair[0] == NULL || d->argcount == 0) return interp_break(in, BREAK_INSTRUCTION, "super()");
    pair[1] = slot_load(in, a, 0);
    if (pair[1] == NULL) return ANSWER_ERROR;
    if (pair[1]->kind == V_CELL && (code_slot_kind(code, 0) & SLOT_CELL)) {
        Answer answer = cell_load(in, pair[1], &pair[1]);
        if (answer != ANSWER_YES) return answer;
    }
    return pair[1]->kind == V_UNBOUND ? interp_break(in, BREAK_INSTRUCTION, "super()") : ANSWER_YES;
}

/* The class whose MRO is searched; NULL when super() would raise. */
static PyTypeObject *
start_of(Interp *in, PyTypeObject *cls, Value *self)
{
    if (self->kind == V_CONST && PyType_Check(self->object) &&
        PyType_IsSubtype((PyTypeObject *)self->object, cls))
        return (PyTypeObject *)self->object;
    PyTypeObject *type = value_type(in, self);
    return type != NULL && PyType_IsSubtype(type, cls) ? type : NULL;
}

Answer
super_new(Interp *in, int nargs, Value *const *args, Value **out)
{
    Value *pair[2];
    if (nargs != 0 && nargs != 2) return interp_break(in, BREAK_INSTRUCTION, "super of one class");
    if (nargs == 0) {
        Answer answer = implied(in, pair);
        if (answer != ANSWER_YES) return answer;
    } else {
        pair[0] = args[0];
        pair[1] = args[1];
    }
    if (pair[0]->kind != V_CONST || !PyType_Check(pair[0]->object) ||
        start_of(in, (PyTypeObject *)pair[0]->object, pair[1]) == NULL)
        return PyErr_Occurred() ? ANSWER_ERROR : interp_break(in, BREAK_INSTRUCTION, "super()");
    *out = value_sequence(in, V_SUPER, 2, pair);
    if (*out != NULL) (*out)->type = &PySuper_Type;
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
super_find(Interp *in, Value *super, PyObject *name, Value **out)
{
    PyTypeObject *cls = (PyTypeObject *)super->items[0]->object;
    Value *self = super->items[1];
    PyTypeObject *start = start_of(in, cls, self);
    *out = NULL;
    if (start == NULL || start->tp_mro == NULL ||
        PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return no_attribute(in, super, name);
    bool through_class = self->kind == V_CONST && (PyObject *)start == self->object;
    Value *owner = value_const(in, (PyObject *)start);
    PyObject *mro_name = interned(in, "__mro__"), *ignored, *found = NULL;
    if (owner == NULL || mro_name == NULL) return ANSWER_ERROR;
    Answer answer = type_own_lookup(in, start, mro_name, &ignored);
    PyObject *mro = start->tp_mro;
    Py_ssize_t n = PyTuple_GET_SIZE(mro), at = 0;
    while (at < n && PyTuple_GET_ITEM(mro, at) != (PyObject *)cls) at++;
    for (at++; answer == ANSWER_YES && found == NULL && at < n; at++) {
        PyObject *class_ = PyTuple_GET_ITEM(mro, at);
        if ((*out = pending_find(in, class_, name)) != NULL) return ANSWER_YES;
        answer = type_own_lookup(in, (PyTypeObject *)class_, name, &found);
    }
    if (answer != ANSWER_YES) return answer;
    if (found == NULL) return no_attribute(in, super, name);
    return descriptor_get(in, found, through_class ? NULL : self, owner, name, out);
}
