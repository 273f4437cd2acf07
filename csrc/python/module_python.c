/* The Python functions of python/: hooks for tests, none for users.

   _decode(code) -> str; _instrs(code) -> list of tuples; _handlers(code) likewise
   _drive(function, args, kwargs, steps, action, value, trace, call, signal) calls the function
   through the hook and steps its frame: `steps` instructions (-1: as far as possible), then
   `action`: "resume", "raise" value, "return" value.  The list `trace` gets the idx of each
   instruction and why stepping ended; `call` (or None) is called with each Python callee;
   `signal`, if not 0, is raised just before the call.
   _hook_is_armed(), _thread_is_plain(code)
   _watch() -> capsule; _watch_add(watch, kind, object, key); _watch_holds(watch);
   _watch_rearm(watch) */
#include "python.h"

#include <signal.h>

static PyObject *
hook_decode(PyObject *self, PyObject *code)
{
    (void)self;
    if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "a code object is needed");
    Decoded *decoded = decode((PyCodeObject *)code);
    if (decoded == NULL) return NULL;
    Text out = {0};
    PyObject *result = decoded_print(decoded, &out) < 0 ? NULL : text_to_str(&out);
    text_free(&out);
    decoded_free(decoded);
    return result;
}

static PyObject *
instr_tuple(const Instr *instr)
{
    return Py_BuildValue("(siiiiiiiii)", instr_name(instr->kind), instr->arg, instr->arg2,
                         instr->idx, instr->at, instr->next, instr->target, instr->line,
                         instr->depth, instr->sub);
}

static PyObject *
hook_instrs(PyObject *self, PyObject *code)
{
    (void)self;
    if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "a code object is needed");
    Decoded *decoded = decode((PyCodeObject *)code);
    PyObject *list = decoded ? PyList_New(decoded->count) : NULL;
    for (int i = 0; list != NULL && i < decoded->count; i++) {
        PyObject *tuple = instr_tuple(&decoded->instrs[i]);
        if (tuple == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, tuple);
    }
    decoded_free(decoded);
    return list;
}

static PyObject *
hook_handlers(PyObject *self, PyObject *code)
{
    (void)self;
    if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "a code object is needed");
    Decoded *decoded = decode((PyCodeObject *)code);
    PyObject *list = decoded ? PyList_New(decoded->nhandlers) : NULL;
    for (int i = 0; list != NULL && i < decoded->nhandlers; i++) {
        const Handler *handler = &decoded->handlers[i];
        int target = handler->target < 0 ? -1 : decoded->instrs[handler->target].idx;
        PyObject *tuple = Py_BuildValue("(iiiii)", handler->start, handler->end, target,
                                        handler->depth, handler->lasti);
        if (tuple == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, tuple);
    }
    decoded_free(decoded);
    return list;
}

/* ---- driving a frame ---- */

typedef struct {
    Decoded *decoded;
    long steps;
    const char *action;
    PyObject *value, *trace; /* borrowed */
    PyObject *call;          /* borrowed; NULL: none */
} Drive;

static PyObject *call_observer; /* borrowed from the innermost drive */

static PyObject *
observed_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *seen = PyObject_CallOneArg(call_observer, callable);
    if (seen == NULL) return NULL;
    Py_DECREF(seen);
    return PyObject_Vectorcall(callable, args, nargsf, kwnames);
}

static void
note(PyObject *trace, PyObject *owned)
{
    if (trace != NULL && (owned == NULL || PyList_Append(trace, owned) < 0)) PyErr_Clear();
    Py_XDECREF(owned);
}

static PyObject *
finish(PyThreadState *ts, Frame *frame, Drive *drive, int number)
{
    const Instr *instr = &drive->decoded->instrs[number];
    note(drive->trace, PyUnicode_FromFormat("%s at %d", drive->action, instr->idx));
    if (strcmp(drive->action, "return") == 0)
        return frame_return(ts, frame, drive->decoded, Py_NewRef(drive->value));
    if (strcmp(drive->action, "raise") == 0) {
        PyErr_SetObject((PyObject *)Py_TYPE(drive->value), drive->value);
        return frame_raise(ts, frame, drive->decoded, number);
    }
    return frame_resume(ts, frame, instr->idx);
}

static PyObject *
drive_frame(PyThreadState *ts, Frame *frame, void *context)
{
    Drive *drive = context;
    const Decoded *decoded = drive->decoded;
    int number = decoded->first_traceable, next = number;
    if (decoded->aside != NULL) return frame_resume(ts, frame, 0);
    if (frame_prologue(frame, decoded) < 0) return frame_raise(ts, frame, decoded, number);
    for (long i = 0; drive->steps < 0 || i < drive->steps; i++) {
        const Instr *instr = &decoded->instrs[number];
        note(drive->trace, PyLong_FromLong(instr->idx));
        if (frame_depth(frame) != instr->depth)
            note(drive->trace,
                 PyUnicode_FromFormat("depth %d, not %d", frame_depth(frame), instr->depth));
        StepResult result =
            frame_step(ts, frame, decoded, number, drive->call ? observed_call : NULL, &next);
        if (result == STEP_ERROR) return frame_raise(ts, frame, decoded, number);
        if (result == STEP_CANNOT) {
            note(drive->trace, PyUnicode_FromFormat("cannot %s", instr_name(instr->kind)));
            return frame_resume(ts, frame, instr->idx);
        }
        number = next;
        if (thread_is_observed(ts, decoded->code))
            return frame_resume(ts, frame, decoded->instrs[number].idx);
    }
    return finish(ts, frame, drive, number);
}

/* Positional and keyword arguments in one array; kwnames in *names (owned or NULL). */
static PyObject **
vector_of(PyObject *args, PyObject *kwargs, PyObject **names)
{
    Py_ssize_t nargs = PyTuple_GET_SIZE(args), nkw = kwargs ? PyDict_GET_SIZE(kwargs) : 0, at = 0;
    PyObject **vector = mem_alloc((size_t)(nargs + nkw + 1) * sizeof(PyObject *)), *key, *value;
    *names = nkw && vector ? PyTuple_New(nkw) : NULL;
    if (vector == NULL || (nkw && *names == NULL)) {
        mem_free(vector);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < nargs; i++) vector[i] = PyTuple_GET_ITEM(args, i);
    for (Py_ssize_t i = 0; i < nkw && PyDict_Next(kwargs, &at, &key, &value); i++) {
        vector[nargs + i] = value;
        PyTuple_SET_ITEM(*names, i, Py_NewRef(key));
    }
    return vector;
}

static PyObject *
hook_drive(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *function, *args, *kwargs = NULL, *value = Py_None, *trace = NULL, *call = NULL;
    Drive drive = {.steps = -1, .action = "resume"};
    int signal_number = 0;
    if (!PyArg_ParseTuple(arguments, "O!O!|O!lsOO!Oi", &PyFunction_Type, &function, &PyTuple_Type,
                          &args, &PyDict_Type, &kwargs, &drive.steps, &drive.action, &value,
                          &PyList_Type, &trace, &call, &signal_number))
        return NULL;
    drive.value = value;
    drive.trace = trace;
    drive.call = call == Py_None ? NULL : call;
    PyObject *names, **vector = vector_of(args, kwargs, &names), *result = NULL;
    if (vector == NULL) return NULL;
    drive.decoded = decode((PyCodeObject *)PyFunction_GET_CODE(function));
    if (drive.decoded != NULL) {
        PyObject *outer = call_observer;
        call_observer = drive.call;
        if (signal_number != 0) raise(signal_number);
        result = hook_call((PyFunctionObject *)function, vector, (size_t)PyTuple_GET_SIZE(args),
                           names, drive_frame, &drive);
        call_observer = outer;
    }
    decoded_free(drive.decoded);
    Py_XDECREF(names);
    mem_free(vector);
    return result;
}

static PyObject *
hook_armed(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(hook_is_armed());
}

static PyObject *
hook_plain(PyObject *self, PyObject *code)
{
    (void)self;
    PyCodeObject *watched = PyCode_Check(code) ? (PyCodeObject *)code : NULL;
    return PyBool_FromLong(thread_is_plain(PyThreadState_Get(), watched));
}

/* ---- watches ---- */

static void
capsule_free(PyObject *capsule)
{
    watch_free(PyCapsule_GetPointer(capsule, "watch"));
}

static PyObject *
hook_watch(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    Watch *watch = watch_new();
    PyObject *capsule = watch ? PyCapsule_New(watch, "watch", capsule_free) : NULL;
    if (capsule == NULL) watch_free(watch);
    return capsule;
}

static PyObject *
answer_object(Answer answer)
{
    return answer == ANSWER_ERROR ? NULL : PyBool_FromLong(answer == ANSWER_YES);
}

static PyObject *
hook_watch_add(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *capsule, *watched, *key = NULL;
    const char *kind;
    if (!PyArg_ParseTuple(arguments, "OsO|O", &capsule, &kind, &watched, &key)) return NULL;
    Watch *watch = PyCapsule_GetPointer(capsule, "watch");
    if (watch == NULL) return NULL;
    if (strcmp(kind, "key") == 0) return answer_object(watch_dict_key(watch, watched, key));
    if (strcmp(kind, "type") == 0) return answer_object(watch_type(watch, (PyTypeObject *)watched));
    if (key == NULL) return PyErr_Format(PyExc_TypeError, "which member?");
    return answer_object(watch_function(watch, (PyFunctionObject *)watched, key));
}

static PyObject *
hook_watch_holds(PyObject *self, PyObject *capsule)
{
    (void)self;
    Watch *watch = PyCapsule_GetPointer(capsule, "watch");
    return watch ? PyBool_FromLong(watch_holds(watch)) : NULL;
}

static PyObject *
hook_watch_rearm(PyObject *self, PyObject *capsule)
{
    (void)self;
    Watch *watch = PyCapsule_GetPointer(capsule, "watch");
    return watch ? answer_object(watch_rearm(watch)) : NULL;
}

static PyObject *
hook_states_made(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyLong_FromUnsignedLongLong(thread_states_made());
}

static PyMethodDef methods[] = {
    {"_decode", hook_decode, METH_O, NULL},
    {"_instrs", hook_instrs, METH_O, NULL},
    {"_handlers", hook_handlers, METH_O, NULL},
    {"_drive", hook_drive, METH_VARARGS, NULL},
    {"_hook_is_armed", hook_armed, METH_NOARGS, NULL},
    {"_thread_is_plain", hook_plain, METH_O, NULL},
    {"_thread_states_made", hook_states_made, METH_NOARGS, NULL},
    {"_watch", hook_watch, METH_NOARGS, NULL},
    {"_watch_add", hook_watch_add, METH_VARARGS, NULL},
    {"_watch_holds", hook_watch_holds, METH_O, NULL},
    {"_watch_rearm", hook_watch_rearm, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int
python_module(PyObject *module)
{
    if (hook_init() < 0 || watch_init() < 0 || contents_init() < 0 || attribute_init() < 0)
        return -1;
    return PyModule_AddFunctions(module, methods);
}
