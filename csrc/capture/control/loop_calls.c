/* Does the body of a loop call a function that reads or writes elements?  Such a loop is kept where
   it would be refused for having no elements itself.

   This is asked before the body is followed, of the names that it loads, and is no more than a
   guess: what is called is known when the body is followed. */
#include "loop.h"

enum { CALLS_DEEP = 3 };

static int code_uses_elements(Interp *in, PyCodeObject *code, PyObject *globals, int depth);

static int
function_uses_elements(Interp *in, PyObject *function, int depth)
{
    if (function == NULL || !PyFunction_Check(function)) return 0;
    return code_uses_elements(in, (PyCodeObject *)PyFunction_GET_CODE(function),
                              PyFunction_GET_GLOBALS(function), depth);
}

static PyObject *
global_at(const Decoded *d, int number, PyObject *globals)
{
    PyObject *name = PyTuple_GET_ITEM(d->code->co_names, d->instrs[number].arg);
    return dict_told(globals, name);
}

static int
code_uses_elements(Interp *in, PyCodeObject *code, PyObject *globals, int depth)
{
    const Decoded *d = decoded_for(in, code);
    int uses = 0;
    if (d == NULL) return -1;
    for (int i = 0; i < d->count && uses == 0; i++) {
        InstrKind kind = d->instrs[i].kind;
        if (kind == I_SUBSCRIPT || kind == I_STORE_SUBSCRIPT) return 1;
        if (kind == I_LOAD_GLOBAL && depth < CALLS_DEEP) {
            uses = function_uses_elements(in, global_at(d, i, globals), depth + 1);
            if (PyErr_Occurred()) return -1;
        }
    }
    return uses;
}

/* What an Instr loads: a value, or an object that has not been read yet. */
typedef struct {
    Value *value;
    PyObject *object;
} Loaded;

/* A variable, or what its cell holds. */
static Loaded
variable_at(const Interp *in, int slot)
{
    Loaded loaded = {.value = in->top->slots[slot]};
    if (loaded.value == NULL) loaded.object = in->request->slots[slot];
    if (loaded.value != NULL && loaded.value->kind == V_CELL) {
        if (loaded.value->items[0] == NULL) loaded.object = loaded.value->object;
        loaded.value = loaded.value->items[0];
    }
    if (loaded.object != NULL && PyCell_Check(loaded.object))
        loaded.object = PyCell_GET(loaded.object);
    return loaded;
}

static int
loaded_uses_elements(Interp *in, const Loaded *loaded)
{
    const Value *value = loaded->value;
    if (value == NULL) return function_uses_elements(in, loaded->object, 0);
    if (value->kind == V_FUNCTION)
        return code_uses_elements(in, (PyCodeObject *)value->object, value->globals_of->object, 0);
    return value->kind == V_CONST || value->kind == V_OBJECT
               ? function_uses_elements(in, value->object, 0)
               : 0;
}

/* An attribute, where that is a module's or in the class; NULL: not known. */
static PyObject *
attribute_of(Interp *in, const Loaded *loaded, PyObject *name)
{
    Value *value = loaded->value;
    PyObject *object = loaded->object;
    if (value != NULL && (value->kind == V_CONST || value->kind == V_OBJECT))
        object = value->object;
    if (object != NULL && PyModule_CheckExact(object))
        return dict_told(PyModule_GetDict(object), name);
    PyTypeObject *type = object != NULL ? Py_TYPE(object) : NULL;
    if (value != NULL && value->kind == V_INSTANCE) type = value_type(in, value);
    return type != NULL ? _PyType_Lookup(type, name) : NULL;
}

int
loop_calls_use_elements(Interp *in, const LoopShape *shape)
{
    const Activation *a = in->top;
    const Decoded *d = a->decoded;
    Loaded loaded = {0};
    int uses = 0;
    for (int i = shape->head; i < d->count && uses == 0; i++) {
        if (!shape->inside[i]) continue;
        const Instr *instr = &d->instrs[i];
        switch (instr->kind) {
        case I_LOAD_LOCAL:
        case I_LOAD_DEREF:
            loaded = variable_at(in, instr->arg);
            uses = loaded_uses_elements(in, &loaded);
            break;
        case I_LOAD_GLOBAL:
            loaded = (Loaded){.object = global_at(d, i, a->globals)};
            uses = loaded_uses_elements(in, &loaded);
            break;
        case I_LOAD_ATTR:
        case I_LOAD_METHOD: {
            PyObject *name = PyTuple_GET_ITEM(d->code->co_names, instr->arg);
            loaded = (Loaded){.object = attribute_of(in, &loaded, name)};
            uses = loaded_uses_elements(in, &loaded);
            break;
        }
        default: break;
        }
        if (PyErr_Occurred()) return -1;
    }
    return uses;
}
