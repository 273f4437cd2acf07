/* Objects and effects of a plan.  All objects are made before the first effect, so that every
   failure without a visible effect comes first. */
#include "cuda.h"

/* Borrowed; NULL when the argument is absent. */
static PyObject *
arg(const Run *run, const PlanBuild *build, int i)
{
    return i < build->nargs && build->args[i] != NO_BUILD ? run->built[build->args[i]] : NULL;
}

static PyObject *
build_tuple(const Run *run, const PlanBuild *build)
{
    PyObject *tuple = PyTuple_New(build->nargs);
    for (int i = 0; tuple != NULL && i < build->nargs; i++)
        PyTuple_SET_ITEM(tuple, i, Py_XNewRef(arg(run, build, i)));
    return tuple;
}

static PyObject *
build_list(const Run *run, const PlanBuild *build)
{
    PyObject *list = PyList_New(build->nargs);
    for (int i = 0; list != NULL && i < build->nargs; i++)
        PyList_SET_ITEM(list, i, Py_XNewRef(arg(run, build, i)));
    return list;
}

static PyObject *
build_set(const Run *run, const PlanBuild *build)
{
    PyObject *set = PySet_New(NULL);
    for (int i = 0; set != NULL && i < build->nargs; i++)
        if (PySet_Add(set, arg(run, build, i)) < 0) Py_CLEAR(set);
    return set;
}

static PyObject *
build_dict(const Run *run, const PlanBuild *build)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i + 1 < build->nargs; i += 2)
        if (PyDict_SetItem(dict, arg(run, build, i), arg(run, build, i + 1)) < 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *
globals_of(PyObject *object)
{
    return object != NULL && PyFunction_Check(object) ? PyFunction_GET_GLOBALS(object) : object;
}

/* A function whose globals name no builtins has those of the frame that makes it, which need not be
   the current one. */
static PyObject *
new_function(PyObject *code, PyObject *globals, PyObject *builtins)
{
    PyObject *function = globals ? PyFunction_New(code, globals) : NULL;
    if (function == NULL || builtins == NULL || dict_named(globals, "__builtins__") != NULL)
        return function;
    Py_SETREF(((PyFunctionObject *)function)->func_builtins, Py_NewRef(builtins));
    return function;
}

static PyObject *
build_function(const Run *run, const PlanBuild *build)
{
    PyObject *globals = globals_of(arg(run, build, 0));
    PyObject *function = new_function(build->object, globals, arg(run, build, 5));
    if (function == NULL) return NULL;
    static int (*const set[])(PyObject *, PyObject *) = {
        NULL,
        PyFunction_SetDefaults,
        PyFunction_SetKwDefaults,
        PyFunction_SetAnnotations,
        PyFunction_SetClosure,
    };
    for (int i = 1; i < COUNT_OF(set); i++) {
        PyObject *part = arg(run, build, i);
        if (part == NULL || set[i](function, part) == 0) continue;
        Py_DECREF(function);
        return NULL;
    }
    return function;
}

static PyObject *
build_iterator(const Run *run, const PlanBuild *build)
{
    PyObject *iterator = PyObject_GetIter(arg(run, build, 0));
    int i = 0;
    if (build->nargs == 2 && iterator != NULL) {
        PyObject *none = PyObject_CallMethod(iterator, "__setstate__", "O", arg(run, build, 1));
        if (none == NULL) Py_CLEAR(iterator);
        Py_XDECREF(none);
        return iterator;
    }
    if (iterator != NULL && Py_IS_TYPE(iterator, &PySeqIter_Type) && build->index > 1) {
        /* over an array: its items are made one by one */
        i = build->index - 1;
        PyObject *none = PyObject_CallMethod(iterator, "__setstate__", "i", i);
        if (none == NULL) Py_CLEAR(iterator);
        Py_XDECREF(none);
    }
    for (; iterator != NULL && i < build->index; i++) {
        PyObject *item = PyIter_Next(iterator);
        if (item == NULL) {
            if (PyErr_Occurred()) Py_CLEAR(iterator);
            break;
        }
        Py_DECREF(item);
    }
    return iterator;
}

static PyObject *
build_instance(const PlanBuild *build)
{
    PyObject *none = PyTuple_New(0);
    if (none == NULL) return NULL;
    PyObject *instance = PyBaseObject_Type.tp_new((PyTypeObject *)build->object, none, NULL);
    Py_DECREF(none);
    return instance;
}

/* Calls `callable` with all built arguments from `first` on. */
static PyObject *
call_built(const Run *run, const PlanBuild *build, PyObject *callable)
{
    PyObject *args[16] = {NULL}, **at = args;
    if (build->nargs > COUNT_OF(args) &&
        (at = mem_alloc(sizeof(PyObject *) * (size_t)build->nargs)) == NULL)
        return NULL;
    for (int i = 0; i < build->nargs; i++) at[i] = arg(run, build, i);
    PyObject *result = PyObject_Vectorcall(callable, at, (size_t)build->nargs, NULL);
    if (at != args) mem_free(at);
    return result;
}

static PyObject *
call_method(const Run *run, const PlanBuild *build)
{
    PyObject *args[16];
    if (build->nargs > COUNT_OF(args)) {
        PyErr_SetString(PyExc_SystemError, "a method effect with too many arguments");
        return NULL;
    }
    for (int i = 0; i < build->nargs; i++) args[i] = arg(run, build, i);
    return base_method_call(build->object, args, (size_t)build->nargs);
}

static PyObject *
build_range(const Run *run, const PlanBuild *build)
{
    return call_built(run, build, (PyObject *)&PyRange_Type);
}

static PyObject *
build_object(Run *run, const PlanBuild *build)
{
    switch (build->kind) {
    case BUILD_CONST: return Py_NewRef(build->object);
    case BUILD_BOX: return run_box(run, build->box);
    case BUILD_TUPLE: return build_tuple(run, build);
    case BUILD_LIST: return build_list(run, build);
    case BUILD_SET: return build_set(run, build);
    case BUILD_DICT: return build_dict(run, build);
    case BUILD_SLICE:
        return PySlice_New(arg(run, build, 0), arg(run, build, 1), arg(run, build, 2));
    case BUILD_CELL: return PyCell_New(arg(run, build, 0));
    case BUILD_FUNCTION: return build_function(run, build);
    case BUILD_METHOD: return PyMethod_New(arg(run, build, 0), arg(run, build, 1));
    case BUILD_ITER: return build_iterator(run, build);
    case BUILD_RANGE: return build_range(run, build);
    case BUILD_INSTANCE: return build_instance(build);
    case BUILD_CALL: return call_built(run, build, build->object);
    case BUILD_CHOOSE: return Py_XNewRef(arg(run, build, arg(run, build, 0) == Py_True ? 1 : 2));
    default: break;
    }
    PyErr_Format(PyExc_SystemError, "build kind %d is not an object", (int)build->kind);
    return NULL;
}

/* Warnings are recorded in a list that the plan does not read. */
static bool
is_apart(const Run *run, const PyObject *list)
{
    for (int i = 0; i < guards_sources(run->plan->guards); i++)
        if (run->reached[i] == list) return false;
    return true;
}

/* Does what is told go where it runs no code of the program's, as when the plan was made? */
static bool
output_is_plain(const Run *run, const PlanBuild *build)
{
    PyObject *list = NULL;
    if (PyLong_Check(build->object)) return logger_is_plain(arg(run, build, 0), build->object);
    if (PyUnicode_CompareWithASCIIString(build->object, "stdout") == 0) {
        PyObject *stream = PySys_GetObject("stdout");
        return stream != NULL && stream_is_plain(stream);
    }
    bool recorded = PyUnicode_CompareWithASCIIString(build->object, "list") == 0;
    if (warnings_go(&list) != (recorded ? WARNINGS_TO_LIST : WARNINGS_TO_STDERR)) return false;
    return !recorded || is_apart(run, list);
}

static int
check_output(const Run *run, const PlanBuild *build)
{
    if (output_is_plain(run, build)) return 0;
    PyErr_SetString(PyExc_SystemError, "code of the program would run");
    return -1;
}

int
run_builds(Run *run)
{
    const Plan *plan = run->plan;
    for (int i = 0; i < plan->nbuilds; i++) {
        const PlanBuild *build = &plan->builds[i];
        bool taken = build->when == 0 || run->built[build->when - 1] == Py_True;
        if (build->kind == EFFECT_WRITE && build->snapshot >= 0 && taken) {
            PyObject **copy = &run->built[plan->nbuilds + build->snapshot];
            if ((*copy = run_copy(run, build->box)) == NULL) return -1;
        }
        if (build_is_check(build->kind, build->nargs) && check_output(run, build) < 0) return -1;
        if (build->kind >= EFFECT_STORE_ATTR || build->kind == BUILD_NULL ||
            build->kind == BUILD_SOURCE) /* nothing to make, or made already */
            continue;
        if ((run->built[i] = build_object(run, build)) == NULL) return -1;
    }
    return 0;
}

/* ---- effects ---- */

/* Copies the contents of an output, or its snapshot, into the array or the part of it that changed.
   Broadcast and overlap are handled by array_copy_strided. */
static int
write_array(Run *run, const PlanBuild *build, PyObject *array)
{
    const PlanBox *box = &run->plan->boxes[build->box];
    int64_t shape[MAX_RANK], stride[MAX_RANK], view_shape[MAX_RANK], view_stride[MAX_RANK];
    ArrayHeader header, copied;
    const char *why;
    const char *from = run->data[box->place.buffer] + run_size(run, box->place.offset);
    PyObject *copy = build->snapshot >= 0 ? run->built[run->plan->nbuilds + build->snapshot] : NULL;
    if (array_read(array, &header, &why) != ANSWER_YES ||
        (copy != NULL && array_read(copy, &copied, &why) != ANSWER_YES)) {
        PyErr_SetString(PyExc_SystemError, "a written array is no array any more");
        return -1;
    }
    run_type(run, &box->type, shape, stride);
    const int64_t *from_stride = stride, *to_stride = header.stride;
    char *to = header.data;
    if (copy != NULL) {
        from = copied.data;
        from_stride = copied.stride;
    }
    if (box->partial) {
        run_type(run, &box->view, view_shape, view_stride);
        to += run_size(run, box->view.offset);
        to_stride = view_stride;
    }
    return array_copy_strided(to, to_stride, from, from_stride, box->type.rank, shape,
                              (DType)box->type.dtype, threads_share);
}

/* A kept loop has written the array in place. */
static bool
plan_box_is_written(const Run *run, const PlanBuild *build)
{
    return run->plan->boxes[build->box].in_place;
}

static int
store_global(Run *run, int number)
{
    const PlanBuild *build = &run->plan->builds[number];
    return PyDict_SetItem(globals_of(run->built[number]), build->object, arg(run, build, 0));
}

/* An array stores the part itself, but for one on a device that has a kernel for it. */
static int
store_part(PyObject *array, PyObject *key, PyObject *value)
{
    const ArrayLibrary *library = array_library_of(array);
    if (library != NULL && library->device == DEVICE_CUDA && cuda_put(array, key, value)) return 0;
    return PyObject_SetItem(array, key, value);
}

static int
run_effect(Run *run, int number)
{
    const PlanBuild *build = &run->plan->builds[number];
    PyObject *target = arg(run, build, 0), *key = arg(run, build, 1), *result;
    switch (build->kind) {
    case EFFECT_STORE_ATTR: return attribute_put(target, build->object, key);
    case EFFECT_DELETE_ATTR: return attribute_put(target, build->object, NULL);
    case EFFECT_STORE_ITEM: return item_put(target, key, arg(run, build, 2));
    case EFFECT_DELETE_ITEM: return item_put(target, key, NULL);
    case EFFECT_STORE_GLOBAL: return store_global(run, number);
    case EFFECT_DELETE_GLOBAL: return PyDict_DelItem(globals_of(run->built[number]), build->object);
    case EFFECT_STORE_CELL: return PyCell_Set(target, key);
    case EFFECT_CALL:
        if ((result = PyObject_Call(target, key, arg(run, build, 2))) == NULL) return -1;
        Py_DECREF(result);
        return 0;
    case EFFECT_POP_EXCEPT: handled_put(PyThreadState_Get(), Py_NewRef(target)); return 0;
    case EFFECT_METHOD:
        if ((result = call_method(run, build)) == NULL) return -1;
        Py_DECREF(result);
        return 0;
    case EFFECT_WRITE:
    case EFFECT_STORE_PART:
        if (!run->committed && run_commits(run) < 0) return -1;
        run->committed = true;
        if (build->kind == EFFECT_STORE_PART) return store_part(run->built[number], target, key);
        if (plan_box_is_written(run, build)) return 0;
        return write_array(run, build, run->built[number]);
    default: break;
    }
    PyErr_Format(PyExc_SystemError, "build kind %d is no effect", (int)build->kind);
    return -1;
}

int
run_effects(Run *run, PlanOutcome *outcome)
{
    const Plan *plan = run->plan;
    for (int i = 0; i < plan->neffects; i++) {
        const PlanBuild *build = &plan->builds[plan->effects[i]];
        if (build_is_check(build->kind, build->nargs)) continue; /* made before */
        if (build->when > 0 && run->built[build->when - 1] != Py_True) continue;
        bool enters = build->kind == EFFECT_CALL && outcome->enter != NULL;
        if (enters) outcome->enter(outcome->context, build->number);
        int failed = run_effect(run, plan->effects[i]);
        if (enters) outcome->leave(outcome->context);
        if (failed == 0) continue;
        outcome->number = build->number;
        return -1;
    }
    return 0;
}
