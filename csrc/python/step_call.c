/* Steps: calls, making functions, super, with, import. */
#include "step.h"

/* A name interned once; NULL with the error set. */
static PyObject *
interned(PyObject **cache, const char *name)
{
    if (*cache == NULL) *cache = PyUnicode_InternFromString(name);
    return *cache;
}

/* ---- calls ---- */

static PyObject *
call_vector(Step *s, PyObject *callable, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    StepCall call = s->call != NULL ? s->call : PyObject_Vectorcall;
    return call(callable, args, nargs | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
}

static bool
may_elide(PyObject *callable, PyObject *const *args, Py_ssize_t nargs)
{
    return elision != NULL && elision->call(callable, args, nargs);
}

/* A bound method of a Python function becomes [function, self] on the stack. */
static void
open_method(PyObject **pair, PyObject *method)
{
    pair[0] = Py_NewRef(PyMethod_GET_FUNCTION(method));
    pair[1] = Py_NewRef(PyMethod_GET_SELF(method));
    Py_DECREF(method);
}

/* `__call__` of an object whose class has it as a Python function, a borrowed reference; NULL: it
   is called otherwise. */
static PyObject *
call_of_object(Step *s, PyObject *callable)
{
    static PyObject *name;
    if (s->call == NULL || Py_TYPE(callable)->tp_call == NULL) return NULL;
    if (!PyType_HasFeature(Py_TYPE(callable), Py_TPFLAGS_HEAPTYPE)) return NULL;
    if (interned(&name, "__call__") == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *found = _PyType_Lookup(Py_TYPE(callable), name);
    return found != NULL && PyFunction_Check(found) ? found : NULL;
}

static StepResult
call_pair(Step *s, int n, PyObject *kwnames, int above)
{
    PyObject **pair = step_at(s, n + 2 + above);
    PyObject *callable = pair[0] != NULL ? pair[0] : pair[1];
    bool has_self = pair[0] != NULL && pair[1] != NULL;
    if (!has_self && may_elide(callable, pair + 2, n)) return STEP_CANNOT;
    if (!has_self && Py_IS_TYPE(callable, &PyMethod_Type)) {
        open_method(pair, callable);
        callable = pair[0];
        has_self = true;
    }
    PyObject *function = has_self ? NULL : call_of_object(s, callable);
    if (function != NULL) { /* CPython calls it from C: the arguments stay on the stack */
        pair[1] = callable;
        pair[0] = Py_NewRef(Py_None);
        callable = Py_NewRef(function);
        has_self = true;
    }
    size_t nargs = (size_t)(n + has_self - (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
    PyObject *result = call_vector(s, callable, pair + 2 - has_self, nargs, kwnames);
    if (function != NULL) Py_DECREF(function);
    return step_put(s, n + 2 + above, result);
}

/* The function that the call comes to, a borrowed reference, and what is its first argument, of a
   method or an object, or NULL.  NULL: it comes to another callable. */
static PyObject *
function_called(Step *s, PyObject *callable, PyObject **self)
{
    *self = NULL;
    if (PyFunction_Check(callable) || PyCFunction_CheckExact(callable)) return callable;
    bool method = Py_IS_TYPE(callable, &PyMethod_Type);
    *self = method ? PyMethod_GET_SELF(callable) : callable;
    return method ? PyMethod_GET_FUNCTION(callable) : call_of_object(s, callable);
}

/* function(self, *args, **kwargs) through `s->call`; without `self` if that is NULL. */
static PyObject *
call_function_ex(Step *s, PyObject *function, PyObject *self, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t first = self != NULL, nkw = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
    Py_ssize_t nargs = first + PyTuple_GET_SIZE(args);
    PyObject **vector = mem_alloc((size_t)(nargs + nkw + 1) * sizeof(PyObject *));
    PyObject *kwnames = nkw ? PyTuple_New(nkw) : NULL, *result = NULL;
    if (vector == NULL || (nkw && kwnames == NULL)) goto done;
    if (self != NULL) vector[1] = self;
    for (Py_ssize_t i = first; i < nargs; i++) vector[1 + i] = PyTuple_GET_ITEM(args, i - first);
    Py_INCREF(function); /* the call may take it from the class */
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; i < nkw && PyDict_Next(kwargs, &at, &key, &value); i++) {
        vector[1 + nargs + i] = Py_NewRef(value);
        PyTuple_SET_ITEM(kwnames, i, Py_NewRef(key));
    }
    result = call_vector(s, function, vector + 1, (size_t)nargs, kwnames);
    Py_DECREF(function);
    for (Py_ssize_t i = 0; i < nkw; i++) Py_DECREF(vector[1 + nargs + i]);
done:
    Py_XDECREF(kwnames);
    mem_free(vector);
    return result;
}

static bool
keys_are_strings(PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value))
        if (!PyUnicode_Check(key)) return false;
    return true;
}

static StepResult
call_ex(Step *s)
{
    const int has_keywords = s->instr->arg & 1;
    PyObject *kwargs = has_keywords ? step_peek(s, 1) : NULL;
    PyObject **args = step_at(s, 1 + has_keywords), **pair = step_at(s, 3 + has_keywords);
    PyObject *callable = pair[0] != NULL ? pair[0] : pair[1];
    if (pair[0] != NULL && pair[1] != NULL) return STEP_CANNOT;
    if (kwargs != NULL && !PyDict_CheckExact(kwargs)) return STEP_CANNOT;
    if (may_elide(callable, args, 1)) return STEP_CANNOT;
    if (!PyTuple_CheckExact(*args)) {
        if (Py_TYPE(*args)->tp_iter == NULL && !PySequence_Check(*args)) return STEP_CANNOT;
        PyObject *tuple = PySequence_Tuple(*args);
        if (tuple == NULL) return STEP_ERROR;
        Py_SETREF(*args, tuple);
    }
    PyObject *result, *self;
    PyObject *function = s->call != NULL ? function_called(s, callable, &self) : NULL;
    if (function != NULL && (!kwargs || keys_are_strings(kwargs)))
        result = call_function_ex(s, function, self, *args, kwargs);
    else
        result = PyObject_Call(callable, *args, kwargs);
    return step_put(s, 3 + has_keywords, result);
}

StepResult
step_call(Step *s)
{
    const Instr *instr = s->instr;
    StepResult result;
    if (instr->kind == I_CALL)
        result = call_pair(s, instr->arg, NULL, 0);
    else if (instr->kind == I_CALL_EX)
        result = call_ex(s);
    else if (instr->arg2 < 0)
        result = call_pair(s, instr->arg, step_peek(s, 1), 1);
    else
        result =
            call_pair(s, instr->arg, PyTuple_GET_ITEM(s->decoded->code->co_consts, instr->arg2), 0);
    return result == STEP_NEXT ? step_check_breaker(s) : result;
}

/* ---- functions ---- */

static PyObject **
function_part(PyFunctionObject *function, int flag)
{
    switch (flag) {
    case 1: return &function->func_defaults;
    case 2: return &function->func_kwdefaults;
    case 4: return &function->func_annotations;
    default: return &function->func_closure;
    }
}

/* Parts lie under the code in the order of their flags (3.11, 3.12). */
static StepResult
make_function(Step *s)
{
    PyObject *function = PyFunction_New(step_peek(s, 1), s->frame->f_globals);
    if (function == NULL) return STEP_ERROR;
    int parts = 1;
    for (int flag = 8; flag > 0; flag >>= 1) {
        if (!(s->instr->arg & flag)) continue;
        PyObject *part = Py_NewRef(step_peek(s, ++parts));
        Py_XSETREF(*function_part((PyFunctionObject *)function, flag), part);
    }
    return step_put(s, parts, function);
}

StepResult
step_function(Step *s)
{
    if (s->instr->kind == I_MAKE_FUNCTION) return make_function(s);
    PyObject *function = step_pop(s), *value = step_pop(s);
    step_push(s, function);
    Py_XSETREF(*function_part((PyFunctionObject *)function, s->instr->arg), value);
    return STEP_NEXT;
}

/* ---- super ---- */

StepResult
step_super(Step *s)
{
    PyObject **operands = step_at(s, 3);
    const bool method = s->instr->arg2 & 1;
    const size_t nargs = s->instr->arg2 & 2;
    PyObject *super = PyObject_Vectorcall(operands[0], operands + 1, nargs, NULL);
    if (super == NULL) return STEP_ERROR;
    PyObject *found = PyObject_GetAttr(super, step_name(s));
    Py_DECREF(super);
    StepResult result = step_put(s, 3, found);
    if (result == STEP_NEXT && method) step_push_with_null(s, step_pop(s));
    return result;
}

/* ---- with ---- */

/* enter(), of a bound method or another callable. */
static PyObject *
call_enter(Step *s, PyObject *enter)
{
    PyObject *args[] = {NULL, enter};
    if (!Py_IS_TYPE(enter, &PyMethod_Type)) return call_vector(s, enter, args + 1, 0, NULL);
    args[1] = PyMethod_GET_SELF(enter);
    return call_vector(s, PyMethod_GET_FUNCTION(enter), args + 1, 1, NULL);
}

StepResult
step_with(Step *s)
{
    static PyObject *enter_name, *exit_name;
    if (!interned(&enter_name, "__enter__") || !interned(&exit_name, "__exit__")) return STEP_ERROR;
    PyObject *manager = step_peek(s, 1);
    PyTypeObject *type = Py_TYPE(manager);
    if (!_PyType_Lookup(type, enter_name) || !_PyType_Lookup(type, exit_name)) return STEP_CANNOT;
    PyObject *enter = _PyObject_LookupSpecial(manager, enter_name);
    if (enter == NULL) return STEP_ERROR;
    StepResult result = step_put(s, 1, _PyObject_LookupSpecial(manager, exit_name));
    if (result == STEP_NEXT) result = step_put(s, 0, call_enter(s, enter));
    Py_DECREF(enter);
    return result;
}

/* ---- import ---- */

static StepResult
import_name(Step *s)
{
    static PyObject *import;
    PyObject *builtins = s->frame->f_builtins;
    if (!interned(&import, "__import__")) return STEP_ERROR;
    if (!PyDict_CheckExact(builtins)) return STEP_CANNOT;
    PyObject *function = dict_told(builtins, import);
    if (function == NULL) return STEP_CANNOT;
    PyObject *args[] = {step_name(s), s->frame->f_globals, Py_None, step_peek(s, 1),
                        step_peek(s, 2)};
    Py_INCREF(function);
    PyObject *module = PyObject_Vectorcall(function, args, 5, NULL);
    Py_DECREF(function);
    return step_put(s, 2, module);
}

/* A missing name, or a module with its own look-up, is left to the interpreter. */
static StepResult
import_from(Step *s)
{
    PyObject *module = step_peek(s, 1);
    if (!PyModule_CheckExact(module)) return STEP_CANNOT;
    PyObject *value = dict_told(PyModule_GetDict(module), step_name(s));
    if (value == NULL) return STEP_CANNOT;
    step_push(s, Py_NewRef(value));
    return STEP_NEXT;
}

static StepResult
load_build_class(Step *s)
{
    static PyObject *name;
    PyObject *builtins = s->frame->f_builtins;
    if (!interned(&name, "__build_class__")) return STEP_ERROR;
    if (!PyDict_CheckExact(builtins)) return STEP_CANNOT;
    PyObject *value = dict_told(builtins, name);
    if (value == NULL) return STEP_CANNOT;
    step_push(s, Py_NewRef(value));
    return STEP_NEXT;
}

StepResult
step_import(Step *s)
{
    switch (s->instr->kind) {
    case I_IMPORT_NAME: return import_name(s);
    case I_IMPORT_FROM: return import_from(s);
    default: return load_build_class(s);
    }
}
