/* Calls of library functions by a plan.  Results are compared with capture's prediction; a
   difference, like any exception, is a deopt: nothing has been committed. */
#include "plan.h"

#include <alloca.h>

/* A copy of an array in the arena, with the same strides: gaps influence how NumPy computes. */
static PyObject *
copy_of_temporary(Run *run, int index)
{
    const PlanBuffer *buffer = &run->plan->buffers[index];
    DType dtype = (DType)buffer->type.dtype;
    int rank = buffer->type.rank;
    int64_t shape[MAX_RANK], stride[MAX_RANK], low = 0, bytes = (int64_t)dtype_size(dtype);
    run_type(run, &buffer->type, shape, stride);
    for (int i = 0; i < rank; i++) {
        int64_t reach = shape[i] == 0 ? 0 : (shape[i] - 1) * stride[i];
        if (reach < 0) low -= reach;
        bytes += reach < 0 ? -reach : reach;
    }
    PyObject *memory = array_new(DT_U8, 1, &bytes, NULL);
    if (memory == NULL) return NULL;
    PyObject *array = array_view(memory, dtype, rank, shape, stride, low);
    Py_DECREF(memory);
    if (array != NULL && array_copy_strided(array_data(array), stride, run->data[index], stride,
                                            rank, shape, dtype, threads_share) < 0)
        Py_CLEAR(array);
    return array;
}

/* The array whose memory argument number `i` shows: for temporaries one copy for all arguments of
   the call, since NumPy may check whether two of them share memory.  A new reference. */
static PyObject *
extern_memory(Run *run, const PlanExtern *step, int i, PyObject *const *memory)
{
    int index = step->args[i].buffer;
    if (run->plan->buffers[index].kind != BUFFER_TEMP)
        return Py_XNewRef(run_buffer_object(run, index));
    if (run->plan->buffers[index].type.device != DEVICE_HOST) {
        PyErr_SetString(PyExc_NotImplementedError, "an array on a device that has gaps");
        return NULL;
    }
    for (int k = 0; k < i; k++)
        if (memory[k] != NULL && step->args[k].buffer == index) return Py_NewRef(memory[k]);
    return copy_of_temporary(run, index);
}

/* Argument number `i` as an object, a new reference; memory[i] gets the array whose memory it
   shows, also a new reference. */
static PyObject *
extern_arg(Run *run, const PlanExtern *step, int i, PyObject **memory)
{
    PlanPlace place = step->args[i];
    const Type *type = &step->arg_types[i];
    const PlanBuffer *buffer = &run->plan->buffers[place.buffer];
    DType dtype = (DType)type->dtype;
    int64_t shape[MAX_RANK], stride[MAX_RANK], offset = run_size(run, place.offset);
    if (type->form != FORM_ARRAY) {
        if (run->object[place.buffer] != NULL || buffer->kind == BUFFER_CONST)
            return Py_XNewRef(run_buffer_object(run, place.buffer));
        return array_box(dtype, run->data[place.buffer] + offset, type->form == FORM_PYTHON);
    }
    run_type(run, type, shape, stride);
    /* Arena memory must not be visible outside: the callee may keep its argument. */
    if (buffer->is_whole_array && buffer->kind != BUFFER_SCALAR) {
        PyObject *whole = memory[i] = extern_memory(run, step, i, memory);
        if (whole == NULL) return NULL;
        bool same =
            offset == 0 && type->rank == buffer->type.rank && type->dtype == buffer->type.dtype;
        for (int axis = 0; same && axis < type->rank; axis++)
            same = shape[axis] == run_size(run, buffer->type.shape[axis]) &&
                   stride[axis] == run_size(run, buffer->type.stride[axis]);
        if (same) return Py_NewRef(whole);
        return array_library_on((Device)type->device)
            ->view(whole, dtype, type->rank, shape, stride, offset);
    }
    return run_new_array(dtype, type->rank, shape, stride, run->data[place.buffer] + offset);
}

/* Takes `object` (stolen) as the contents of a buffer, if it is what was predicted.  What a backend
   made is given to the program as the program's own call would: perhaps read-only. */
static Answer
extern_result(Run *run, const PlanExtern *step, int index, PyObject *object)
{
    const PlanBuffer *buffer = &run->plan->buffers[index];
    const Type *type = &buffer->type;
    ArrayHeader header;
    const char *why;
    Py_XSETREF(run->object[index], object);
    if (type->form == FORM_OBJECT) return ANSWER_YES;
    if (type->form != FORM_ARRAY) {
        run->data[index] = run->scalars + (size_t)buffer->scalar * BOX_BYTES;
        return run_read_scalar(object, type, run->data[index]);
    }
    if (array_library_on((Device)type->device)->read(object, &header, &why) != ANSWER_YES ||
        header.rank != type->rank || header.dtype != (DType)type->dtype)
        return ANSWER_NO;
    int64_t elements = 1;
    for (int i = 0; i < header.rank; i++) {
        if (header.shape[i] != run_size(run, type->shape[i])) return ANSWER_NO;
        elements *= header.shape[i];
    }
    /* Strides of axes with one element, and of empty arrays, have no meaning. */
    for (int i = 0; elements > 0 && i < header.rank; i++)
        if (header.shape[i] != 1 && header.stride[i] != run_size(run, type->stride[i]))
            return ANSWER_NO;
    if (elements > 0 && !(header.flags & ARRAY_ALIGNED)) return ANSWER_NO;
    if (type->device != DEVICE_HOST &&
        ((run->plan->uses_device &&
          header.device_number != run->plan->device[device_index((Device)type->device)]) ||
         !(type->unaligned || header.flags & ARRAY_ALIGNED_16)))
        return ANSWER_NO;
    bool writeable = header.flags & ARRAY_WRITEABLE;
    if (writeable && type->frozen && step->backend != NULL)
        array_freeze(object);
    else if (writeable ? type->frozen : buffer->written)
        return ANSWER_NO;
    run->data[index] = header.data;
    return ANSWER_YES;
}

/* An array that later steps write must not share memory with the call's arguments. */
static bool
results_are_apart(const Run *run, const PlanExtern *step, PyObject *const *args)
{
    ArrayHeader result, arg;
    const char *low, *high, *arg_low, *arg_high;
    for (int i = 0; i < step->nresults; i++) {
        int index = step->results[i];
        if (index < 0 || !run->plan->buffers[index].written ||
            array_header(run->object[index], &result) != ANSWER_YES)
            continue;
        array_extent(&result, &low, &high);
        for (int k = 0; k < step->nargs; k++) {
            if (array_library_of(args[k]) == NULL || array_header(args[k], &arg) != ANSWER_YES)
                continue;
            array_extent(&arg, &arg_low, &arg_high);
            if (low < arg_high && arg_low < high) return false;
        }
    }
    return true;
}

static Answer
extern_results(Run *run, const PlanExtern *step, PyObject *value)
{
    if (!step->sequence) return extern_result(run, step, step->results[0], Py_NewRef(value));
    PyObject *items = PySequence_Fast(value, "a list of results is expected");
    if (items == NULL) return ANSWER_ERROR;
    Answer answer = PySequence_Fast_GET_SIZE(items) == step->nresults ? ANSWER_YES : ANSWER_NO;
    for (int i = 0; answer == ANSWER_YES && i < step->nresults; i++)
        answer = extern_result(run, step, step->results[i],
                               Py_NewRef(PySequence_Fast_GET_ITEM(items, i)));
    Py_DECREF(items);
    return answer;
}

/* ---- what a backend's callable gave, for its warning ---- */

static void
put_lengths(Text *out, const int64_t *length, int rank, char open, char close)
{
    text_printf(out, "%c", open);
    for (int i = 0; i < rank; i++) text_printf(out, "%s%lld", i ? ", " : "", (long long)length[i]);
    text_printf(out, "%c", close);
}

static void
put_array(Text *out, DType dtype, int rank, const int64_t *shape, const int64_t *stride)
{
    text_put(out, dtype_long_name(dtype));
    put_lengths(out, shape, rank, '[', ']');
    if (rank > 0) text_put(out, " with strides ");
    if (rank > 0) put_lengths(out, stride, rank, '(', ')');
}

/* "NoneType", "float64[3] with strides (8)", and of the flags those that may be what is wrong. */
static void
put_found(Text *out, PyObject *object)
{
    ArrayHeader header;
    const char *why;
    if (array_read(object, &header, &why) != ANSWER_YES) {
        text_put(out, Py_TYPE(object)->tp_name);
        return;
    }
    put_array(out, header.dtype, header.rank, header.shape, header.stride);
    if (!(header.flags & ARRAY_WRITEABLE)) text_put(out, ", read-only");
    if (!(header.flags & ARRAY_ALIGNED)) text_put(out, ", not aligned");
}

static void
put_expected(Text *out, const Run *run, const Type *type)
{
    const char *name = dtype_long_name((DType)type->dtype);
    int64_t shape[MAX_RANK], stride[MAX_RANK];
    if (type->form == FORM_ARRAY) {
        run_type(run, type, shape, stride);
        put_array(out, (DType)type->dtype, type->rank, shape, stride);
    } else {
        text_printf(out, type->form == FORM_PYTHON ? "a Python number (%s)" : "numpy.%s", name);
    }
}

/* Why `value` is not what the graph's outputs are. */
static void
put_difference(Text *out, Run *run, const PlanExtern *step, PyObject *value)
{
    const char *plural = step->nresults == 1 ? "" : "s";
    if (!PyList_Check(value) && !PyTuple_Check(value)) {
        text_printf(out, "returned %s, not a list of the graph's %d output%s",
                    Py_TYPE(value)->tp_name, step->nresults, plural);
        return;
    }
    if (PySequence_Size(value) != step->nresults) {
        text_printf(out, "returned %zd results, and the graph has %d output%s",
                    PySequence_Size(value), step->nresults, plural);
        return;
    }
    for (int i = 0; i < step->nresults; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(value, i);
        if (extern_result(run, step, step->results[i], Py_NewRef(item)) == ANSWER_YES) continue;
        PyErr_Clear();
        text_printf(out, "returned as result %d ", i);
        put_found(out, item);
        text_put(out, ", and that output of the graph is ");
        put_expected(out, run, &run->plan->buffers[step->results[i]].type);
        return;
    }
    text_put(out, "returned an input's own memory as a result that is written later");
}

/* The plan's only step failed: warns, once per backend. */
static void
tell_backend(Run *run, const PlanExtern *step, PyObject *value)
{
    Text difference = {0};
    PyObject *type, *error, *trace;
    if (value == NULL) {
        backend_call_raised(step->backend);
        return;
    }
    PyErr_Fetch(&type, &error, &trace);
    put_difference(&difference, run, step, value);
    backend_gave_other(step->backend, difference.data != NULL ? difference.data : "");
    text_free(&difference);
    PyErr_Restore(type, error, trace);
}

/* ---- the call ---- */

/* Calls with floating-point events that the program would see, and warnings, as errors: a deopt.  A
   backend that asks for it gets the program's own errstate.
   Where that can be no more, they are told as the program's own calls would. */
static PyObject *
call_library(const Run *run, const PlanExtern *step, PyObject *const *args)
{
    Py_ssize_t nkeywords = step->kwnames == NULL ? 0 : PyTuple_GET_SIZE(step->kwnames);
    if (step->numbers || run->sent)
        return PyObject_Vectorcall(
            step->callable, args,
            (size_t)(step->nargs - nkeywords) | PY_VECTORCALL_ARGUMENTS_OFFSET, step->kwnames);
    bool asks = step->backend != NULL && PyObject_HasAttrString(step->backend, "takes_errors");
    PyObject *token = asks ? NULL : array_errors_raise_begin(step->errors);
    if (token == NULL && !asks) return NULL;
    PyObject *filters = array_warnings_begin(WARNINGS_RAISE);
    if (filters == NULL) {
        if (token != NULL && array_errors_raise_end(token) < 0) PyErr_Clear();
        return NULL;
    }
    PyObject *handler = step->large ? pool_serve_begin() : NULL;
    PyObject *value = PyObject_Vectorcall(
        step->callable, args, (size_t)(step->nargs - nkeywords) | PY_VECTORCALL_ARGUMENTS_OFFSET,
        step->kwnames);
    if (handler != NULL) pool_serve_end(handler);
    array_warnings_end(WARNINGS_RAISE, filters);
    if (token != NULL && array_errors_raise_end(token) < 0) Py_CLEAR(value);
    return value;
}

/* Saves the state that the call is about to change outside the plan: `save` adds to the list how to
   restore it, (function, argument, …). */
static int
save_outside(Run *run, const PlanExtern *step, PyObject *const *args)
{
    if (run->saved == NULL && (run->saved = PyList_New(0)) == NULL) return -1;
    PyObject **all = (PyObject **)alloca(sizeof(PyObject *) * (size_t)(step->nargs + 1));
    all[0] = run->saved;
    memcpy(all + 1, args, sizeof(PyObject *) * (size_t)step->nargs);
    PyObject *done = PyObject_Vectorcall(step->save, all, (size_t)step->nargs + 1, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* The plan deopts: restores the state that its calls changed outside.  Keeps a set exception. */
void
run_saved_restore(Run *run)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    for (Py_ssize_t i = PyList_GET_SIZE(run->saved); i-- > 0;) {
        PyObject *entry = PyList_GET_ITEM(run->saved, i);
        PyObject *rest = PyTuple_GetSlice(entry, 1, PyTuple_GET_SIZE(entry)), *done = NULL;
        if (rest != NULL) done = PyObject_Call(PyTuple_GET_ITEM(entry, 0), rest, NULL);
        if (done == NULL) PyErr_WriteUnraisable(PyTuple_GET_ITEM(entry, 0));
        Py_XDECREF(rest);
        Py_XDECREF(done);
    }
    PyErr_Restore(type, value, trace);
}

/* The list of what a kept loop has appended: no array object is made for that. */
static Answer
run_appended(Run *run, const PlanExtern *step)
{
    const char *rows = run->data[step->args[0].buffer] + run_size(run, step->args[0].offset);
    run->why = "a signal, while a list was made";
    PyObject *list = array_rows_list(step->appended, (const int64_t *)(const void *)rows);
    return list == NULL ? ANSWER_ERROR : extern_result(run, step, step->results[0], list);
}

Answer
run_extern(Run *run, const PlanExtern *step)
{
    if (step->appended != NULL) return run_appended(run, step);
    Answer answer = ANSWER_ERROR;
    PyObject *value = NULL;
    int made = 0;
    /* A spare place in front, which the callee may use (PY_VECTORCALL_ARGUMENTS_OFFSET). */
    PyObject **args = (PyObject **)alloca(sizeof(PyObject *) * (size_t)(step->nargs + 1)) + 1;
    PyObject **memory = (PyObject **)alloca(sizeof(PyObject *) * (size_t)(step->nargs + 1));
    memset(memory, 0, sizeof(PyObject *) * (size_t)step->nargs);
    for (; made < step->nargs; made++)
        if ((args[made] = extern_arg(run, step, made, memory)) == NULL) goto done;
    run->yielded = run->yielded || (!step->numbers && !thread_is_alone());
    if (step->save != NULL && save_outside(run, step, args) < 0) goto done;
    run->why =
        "a library function that raised, warned or gave another shape, dtype or class than before";
    if ((value = call_library(run, step, args)) != NULL) answer = extern_results(run, step, value);
    if (answer == ANSWER_YES && !results_are_apart(run, step, args)) answer = ANSWER_NO;
    if (step->backend != NULL && answer != ANSWER_YES) tell_backend(run, step, value);
done:
    for (int i = 0; i < made; i++) Py_DECREF(args[i]);
    for (int i = 0; i < step->nargs; i++) Py_XDECREF(memory[i]);
    Py_XDECREF(value);
    return answer;
}
