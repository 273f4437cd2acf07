/* What an activation holds: locals, cells and the value stack. */
#include "core.h"

Value *
slot_load(Interp *in, Activation *activation, int slot)
{
    Value *value = activation->slots[slot];
    if (value != NULL) return value;
    if (activation != in->bottom) {
        PyErr_SetString(PyExc_SystemError, "an empty slot in an inlined function");
        return NULL;
    }
    int nlocals = activation->decoded->nlocalsplus;
    PyObject *object = in->request->slots[slot];
    if (object == NULL && slot >= nlocals) {
        value = in->null;
    } else {
        SourceId source = source_add(in, SOURCE_SLOT, NO_SOURCE, slot, NULL, NULL);
        if (source == NO_SOURCE) return NULL;
        value = value_from_source(in, source, object);
    }
    activation->initial[slot] = activation->slots[slot] = value;
    return value;
}

int
push(Interp *in, Value *value)
{
    Activation *a = in->top;
    if (value == NULL) return -1;
    if (a->depth > a->decoded->code->co_stacksize) {
        PyErr_SetString(PyExc_SystemError, "the symbolic stack overflows");
        return -1;
    }
    a->slots[a->decoded->nlocalsplus + a->depth++] = value;
    return 0;
}

PyObject *
code_const(Interp *in, int index)
{
    return PyTuple_GET_ITEM(in->top->decoded->code->co_consts, index);
}

PyObject *
code_name(Interp *in, int index)
{
    return PyTuple_GET_ITEM(in->top->decoded->code->co_names, index);
}
