/* Functions of a device's library that a plan calls as they are: products, linear algebra, sorting
   and whatever else has no kernel, operators and ufuncs of other dtypes among them.  Each gives
   fresh arrays, of types that follow from its arguments' types and from what is known; so that a
   trial on arrays of the device finds them (pycompile/_trials.py).  Functions that give views,
   write, or whose results' shapes depend on elements are not here, and are breaks. */
#include "numpy.h"

typedef struct {
    const char *name;  /* dots allowed */
    const char *kinds; /* "f" function, "m" method, "fm" both */
    int most;          /* positional arguments, the array included, up to its `out` */
} Called;

static const Called calls[] = {
    {"matmul", "f", 2},
    {"dot", "fm", 2},
    {"vdot", "f", MAX_HOLES},
    {"inner", "f", MAX_HOLES},
    {"outer", "f", 2},
    {"tensordot", "f", MAX_HOLES},
    {"kron", "f", MAX_HOLES},
    {"einsum", "f", MAX_HOLES},
    {"cross", "f", MAX_HOLES},
    {"concatenate", "f", 2},
    {"stack", "f", 2},
    {"vstack", "f", MAX_HOLES},
    {"hstack", "f", MAX_HOLES},
    {"dstack", "f", MAX_HOLES},
    {"column_stack", "f", MAX_HOLES},
    {"tile", "f", MAX_HOLES},
    {"repeat", "fm", MAX_HOLES},
    {"roll", "f", MAX_HOLES},
    {"pad", "f", MAX_HOLES},
    {"cumsum", "fm", 3},
    {"cumprod", "fm", 3},
    {"nancumsum", "f", 3},
    {"nancumprod", "f", 3},
    {"gradient", "f", MAX_HOLES},
    {"sort", "f", MAX_HOLES},
    {"argsort", "fm", MAX_HOLES},
    {"partition", "f", MAX_HOLES},
    {"argpartition", "fm", MAX_HOLES},
    {"lexsort", "f", MAX_HOLES},
    {"searchsorted", "fm", MAX_HOLES},
    {"digitize", "f", MAX_HOLES},
    {"take", "fm", 3},
    {"take_along_axis", "f", MAX_HOLES},
    {"choose", "fm", 2},
    {"tril", "f", MAX_HOLES},
    {"triu", "f", MAX_HOLES},
    {"trace", "fm", 5},
    {"nanargmax", "f", 3},
    {"nanargmin", "f", 3},
    {"nanvar", "f", 3},
    {"nanstd", "f", 3},
    {"nanmean", "f", 3},
    {"nansum", "f", 3},
    {"nanprod", "f", 3},
    {"nanmax", "f", 2},
    {"nanmin", "f", 2},
    {"median", "f", 2},
    {"percentile", "f", 3},
    {"quantile", "f", 3},
    {"average", "f", MAX_HOLES},
    {"count_nonzero", "f", MAX_HOLES},
    {"cov", "f", MAX_HOLES},
    {"corrcoef", "f", MAX_HOLES},
    {"interp", "f", MAX_HOLES},
    {"convolve", "f", MAX_HOLES},
    {"correlate", "f", MAX_HOLES},
    {"empty", "f", MAX_HOLES},
    {"empty_like", "f", MAX_HOLES},
    {"zeros", "f", MAX_HOLES},
    {"ones", "f", MAX_HOLES},
    {"full", "f", MAX_HOLES},
    {"arange", "f", MAX_HOLES},
    {"eye", "f", MAX_HOLES},
    {"identity", "f", MAX_HOLES},
    {"linspace", "f", MAX_HOLES},
    {"zeros_like", "f", MAX_HOLES},
    {"ones_like", "f", MAX_HOLES},
    {"full_like", "f", MAX_HOLES},
    {"copy", "fm", MAX_HOLES},
    {"array", "f", MAX_HOLES},
    {"fft.fft", "f", MAX_HOLES},
    {"fft.ifft", "f", MAX_HOLES},
    {"fft.rfft", "f", MAX_HOLES},
    {"fft.irfft", "f", MAX_HOLES},
    {"fft.fft2", "f", MAX_HOLES},
    {"fft.ifft2", "f", MAX_HOLES},
    {"linalg.norm", "f", MAX_HOLES},
    {"linalg.inv", "f", MAX_HOLES},
    {"linalg.pinv", "f", MAX_HOLES},
    {"linalg.solve", "f", MAX_HOLES},
    {"linalg.det", "f", MAX_HOLES},
    {"linalg.slogdet", "f", MAX_HOLES},
    {"linalg.cholesky", "f", MAX_HOLES},
    {"linalg.qr", "f", MAX_HOLES},
    {"linalg.svd", "f", MAX_HOLES},
    {"linalg.eigh", "f", MAX_HOLES},
    {"linalg.eigvalsh", "f", MAX_HOLES},
    {"linalg.matrix_power", "f", MAX_HOLES},
    {"linalg.matrix_rank", "f", MAX_HOLES},
    {"linalg.tensorinv", "f", MAX_HOLES},
    {"linalg.tensorsolve", "f", MAX_HOLES},
};

static const ArrayLibrary *
any_library(void)
{
    return array_library_on(DEVICE_CUDA);
}

static bool
is_written_by(PyObject *keyword)
{
    return PyUnicode_CompareWithASCIIString(keyword, "out") == 0 ||
           PyUnicode_CompareWithASCIIString(keyword, "overwrite_input") == 0;
}

/* An array that the call writes in place: not followed. */
static Answer
refuse_output(Interp *in, const Called *called, int nargs, Value *const *args, PyObject *kwnames)
{
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames);
    for (int k = 0; k < nkw; k++)
        if (is_written_by(PyTuple_GET_ITEM(kwnames, k)) && !value_absent(args[nargs + k]))
            return interp_break(in, BREAK_DEVICE, "'%s' with %s=", called->name,
                                text_of_str(PyTuple_GET_ITEM(kwnames, k)));
    return nargs <= called->most
               ? ANSWER_YES
               : interp_break(in, BREAK_DEVICE, "'%s' of %d arguments", called->name, nargs);
}

/* What becomes a kernel where lengths are known (passes/gathers.c, scans.c) makes them known,
   unless the program has declared that they vary. */
static Answer
know_lengths(Interp *in, PyObject *callable, int nargs, Value *const *args)
{
    if (!device_has_kernel(callable)) return ANSWER_YES;
    for (int i = 0; i < nargs; i++) {
        if (args[i]->kind != V_DEVICE) continue;
        Type type = node_type(in, args[i]->node);
        bool declared = false;
        for (int axis = 0; axis < type.rank; axis++)
            declared = declared || symbol_dim(in, type.shape[axis]) != NULL;
        Answer answer = declared ? ANSWER_NO : sizes_specialise(in, &type, "a scan or a gather");
        if (answer != ANSWER_NO) return answer;
    }
    return ANSWER_YES;
}

/* A step that calls `callable`, kept. */
static Answer
call_device(Interp *in, const Called *called, PyObject *callable, int nargs, Value *const *args,
            PyObject *kwnames, Value **out)
{
    const char *name = called->name;
    if (callable == NULL) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_AttributeError)) return ANSWER_ERROR;
        PyErr_Clear();
        return interp_break(in, BREAK_DEVICE, "'%s' of %s", name, any_library()->array);
    }
    TRY(refuse_output(in, called, nargs, args, kwnames));
    bool copies = strcmp(name, "copy") == 0 || strcmp(name, "array") == 0;
    if (copies && nargs == 1 && kwnames == NULL && device_is_elsewhere(in, args[0]))
        return device_move(in, callable, args[0], out);
    TRY(know_lengths(in, callable, nargs, args));
    WholeCall call = {
        .callable = callable, .nargs = nargs, .args = args, .kwnames = kwnames, .device = true};
    Answer answer = call_whole(in, &call, out);
    if (answer != ANSWER_BREAK || in->break_code != BREAK_NUMPY) return answer;
    BreakNote note = break_take(in);
    return interp_break(in, BREAK_DEVICE, "'%s' of %s: %s", name, any_library()->array,
                        note.told.detail);
}

/* The library's function of this name, kept; NULL, perhaps with the error set, where it has none.
 */
static PyObject *
function_named(Interp *in, const char *name)
{
    return keep(in, array_library_function(any_library(), name));
}

static const Called *
method_named(const char *name)
{
    for (int i = 0; i < COUNT_OF(calls); i++)
        if (strchr(calls[i].kinds, 'm') != NULL && strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

bool
device_calls_method(const char *name)
{
    return method_named(name) != NULL;
}

Answer
device_call_method(Interp *in, const char *name, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out)
{
    PyObject *type = function_named(in, "ndarray");
    PyObject *method = type == NULL ? NULL : keep(in, PyObject_GetAttrString(type, name));
    return call_device(in, method_named(name), method, nargs, args, kwnames, out);
}

/* ---- parts by arrays of integers ---- */

static bool
is_whole_slice(const Value *value)
{
    if (value->kind == V_SLICE) {
        for (int i = 0; i < value->nitems; i++)
            if (!value_is_none(value->items[i])) return false;
        return true;
    }
    if (value->kind != V_CONST || !PySlice_Check(value->object)) return false;
    const PySliceObject *slice = (const PySliceObject *)value->object;
    return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

/* The array of integers that alone is in a key beside whole slices, and its axis. ANSWER_NO: it is
   another key. */
static Answer
integers_of(Interp *in, Value *key, Value **array, int *axis)
{
    *array = key;
    *axis = 0;
    if (key->kind == V_TUPLE) {
        *array = NULL;
        for (int i = 0; i < key->nitems; i++) {
            Value *item = value_item(in, key, i);
            if (item == NULL) return ANSWER_ERROR;
            if (is_whole_slice(item)) continue;
            if (*array != NULL || item->kind != V_DEVICE) return ANSWER_NO;
            *array = item;
            *axis = i;
        }
    }
    if (*array == NULL || (*array)->kind != V_DEVICE) return ANSWER_NO;
    Type type = node_type(in, (*array)->node);
    return dtype_is_integer((DType)type.dtype) && type.rank > 0 ? ANSWER_YES : ANSWER_NO;
}

Answer
device_take(Interp *in, Value *array, Value *key, Value **out)
{
    Value *indices, *args[3] = {array};
    int axis = 0;
    TRY(integers_of(in, key, &indices, &axis));
    args[1] = indices;
    if ((args[2] = value_const_new(in, PyLong_FromLong(axis))) == NULL) return ANSWER_ERROR;
    static const Called called = {"take", "f", 3};
    return call_device(in, &called, function_named(in, "take"), 3, args, NULL, out);
}

/* ---- calls that become kernels ---- */

bool
device_has_kernel(PyObject *callable)
{
    static const char *const names[] = {"cumsum",          "cumprod", "ndarray.cumsum",
                                        "ndarray.cumprod", "take",    "ndarray.take"};
    bool found = false;
    for (int i = 0; i < COUNT_OF(names) && !found; i++) {
        PyObject *known = array_library_function(any_library(), names[i]);
        found = known != NULL && known == callable;
        Py_XDECREF(known);
    }
    return found;
}

/* ---- what has a rule, but no kernel ---- */

Answer
device_or_call(Interp *in, Answer answer, const char *name, int most, PyObject *callable, int nargs,
               Value *const *args, PyObject *kwnames, Value **out)
{
    const Called called = {name, "", most};
    if (answer != ANSWER_BREAK || in->writes.dirty || in->raising.raised != NULL ||
        (in->break_code != BREAK_DEVICE && in->break_code != BREAK_NUMPY))
        return answer;
    BreakNote note = break_take(in);
    answer = call_device(in, &called, callable, nargs, args, kwnames, out);
    return break_unless(in, answer, &note);
}

/* How many parameters of the signature are before the output. */
static int
before_output(const char *signature)
{
    const char *output = strstr(signature, " out!");
    int count = 1;
    for (const char *at = signature; output != NULL && at < output; at++) count += *at == ' ';
    return output == NULL ? MAX_HOLES : count;
}

Answer
device_rule_or_call(Interp *in, const Rule *rule, PyObject *callable, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out)
{
    Answer answer = device_rule(in, rule, nargs, args, kwnames, out);
    if (rule->handler == device_fill) return answer; /* it writes */
    if (strcmp(rule->name, "where") == 0 && nargs < rule->required)
        return answer; /* cupy.where(condition): the shapes depend on elements */
    return device_or_call(in, answer, rule->name, before_output(rule->signature), callable, nargs,
                          args, kwnames, out);
}

/* operator.NAME, kept. */
static PyObject *
operator_named(Interp *in, const char *name)
{
    return keep(in, module_object("operator", name));
}

Answer
device_operator(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *both[2] = {left, right};
    Answer answer = device_binary(in, operator_, left, right, out);
    if (answer != ANSWER_BREAK || operator_ < 0 || operator_ >= IN_PLACE) return answer;
    const Operator *plain = &operators[operator_];
    return device_or_call(in, answer, plain->symbol, 2, operator_named(in, plain->function), 2,
                          both, NULL, out);
}

Answer
device_comparison(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    static const char *const names[] = {"lt", "le", "eq", "ne", "gt", "ge"};
    Value *both[2] = {left, right};
    Answer answer = device_compare(in, operator_, left, right, out);
    if (answer != ANSWER_BREAK) return answer;
    return device_or_call(in, answer, names[operator_], 2, operator_named(in, names[operator_]), 2,
                          both, NULL, out);
}

Answer
device_unary_operator(Interp *in, int operator_, Value *operand, Value **out)
{
    const char *name = operator_ == I_UNARY_NEGATIVE   ? "neg"
                       : operator_ == I_UNARY_POSITIVE ? "pos"
                                                       : "invert";
    Answer answer = device_unary(in, operator_, operand, out);
    if (answer != ANSWER_BREAK) return answer;
    return device_or_call(in, answer, name, 1, operator_named(in, name), 1, &operand, NULL, out);
}

/* ---- functions ---- */

static Answer
follow_device_call(const Call *call, const void *row)
{
    return call_device(call->in, row, call->object, call->nargs, call->args, call->kwnames,
                       call->out);
}

/* Functions that give an array of the device as it is, where it is in C order.  The last copies an
   array in another order, and the call becomes a kernel (passes/copies.c). */
static const Called converters[] = {
    {"asarray", "", 1}, {"asanyarray", "", 1}, {"ascontiguousarray", "f", 1}};

static Answer
follow_converter(const Call *call, const void *row)
{
    Interp *in = call->in;
    const Called *called = row;
    if (call->nargs == 1 && call->kwnames == NULL && call->args[0]->kind == V_DEVICE) {
        Type type = node_type(in, call->args[0]->node);
        if (called->kinds[0] != 'f' && device_is_elsewhere(in, call->args[0]))
            return device_move(in, call->object, call->args[0], call->out);
        *call->out = call->args[0];
        if (type.rank > 0 && type_is_contiguous(in->graph, &type)) return ANSWER_YES;
        if (called->kinds[0] == 'f') return follow_device_call(call, row);
    }
    return interp_break(in, BREAK_DEVICE, "'%s' called this way", called->name);
}

/* A ufunc of the library for which there is no operation. */
static Answer
follow_other_ufunc(const Call *call, const void *Py_UNUSED(row))
{
    PyObject *count = PyObject_GetAttrString(call->object, "nin");
    PyObject *name = keep(call->in, PyObject_GetAttrString(call->object, "name"));
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    int nin = count != NULL ? (int)PyLong_AsLong(count) : -1;
    Py_XDECREF(count);
    if (!PyErr_Occurred() && (nin < 0 || text == NULL))
        PyErr_SetString(PyExc_TypeError, "a ufunc without its name and inputs");
    if (nin < 0 || text == NULL) return ANSWER_ERROR;
    const Called called = {text, "f", nin};
    return call_device(call->in, &called, call->object, call->nargs, call->args, call->kwnames,
                       call->out);
}

/* Those that device.c has a rule for are asked for first. */
static int
add_other_ufuncs(const char *name)
{
    PyObject *module = module_loaded(name), *found;
    PyObject *all = module != NULL ? PyModule_GetDict(module) : NULL; /* borrowed */
    Py_ssize_t at = 0;
    int failed = 0;
    while (all != NULL && !failed && PyDict_Next(all, &at, NULL, &found))
        if (array_library_ufunc_check(found))
            failed = callable_add(found, RANK_NUMPY, follow_other_ufunc, NULL);
    Py_XDECREF(module);
    return failed;
}

static int
add_function(const char *name, Follow follow, const void *row)
{
    PyObject *callable = array_library_function(any_library(), name);
    int failed = callable == NULL ? 0 : callable_add(callable, RANK_NUMPY, follow, row);
    Py_XDECREF(callable);
    return failed;
}

int
device_call_callables(void)
{
    if (device_class_callables() < 0) return -1;
    for (int i = 0; i < COUNT_OF(converters); i++)
        if (add_function(converters[i].name, follow_converter, &converters[i]) < 0) return -1;
    for (int i = 0; i < COUNT_OF(calls); i++) {
        if (calls[i].kinds[0] == 'f' &&
            add_function(calls[i].name, follow_device_call, &calls[i]) < 0)
            return -1;
    }
    return add_other_ufuncs(any_library()->module) < 0 ? -1
                                                       : add_other_ufuncs("cupyx.scipy.special");
}
