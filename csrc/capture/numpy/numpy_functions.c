/* Calls of NumPy's functions and of arrays' methods, captured in the way that the row of
   numpy_functions.def says. */
#include "numpy.h"

/* ---- calls by rule ---- */

/* A call of `callable` when the plan runs. */
static Answer
call_step(Interp *in, const Rule *rule, PyObject *callable, int nargs, Value *const *args,
          PyObject *kwnames, Value **out)
{
    if (callable == NULL) return interp_break(in, BREAK_NUMPY, "numpy.%s", rule->name);
    if (rule->traits & FN_LEFT) return interp_break(in, BREAK_NUMPY, "numpy.%s", rule->name);
    WholeCall call = {.callable = callable, .nargs = nargs, .args = args, .kwnames = kwnames};
    call.opaque = rule->traits & FN_OPAQUE;
    call.untyped = rule->traits & FN_UNTYPED;
    call.changes = rule_changes(rule);
    int all = nargs + (kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames));
    for (int i = 0; (rule->traits & FN_MINDS_FLAGS) && i < all; i++) {
        bool writeable;
        if (value_is_array(in, args[i])) TRY(array_known_writeable(in, args[i], &writeable));
    }
    return call_whole(in, &call, out);
}

bool
break_is_ours(BreakCode code)
{
    return code == BREAK_NUMPY || code == BREAK_INDEX || break_is_of_array(code) ||
           code == BREAK_OPERATOR || code == BREAK_ITEMS || code == BREAK_SHAPE ||
           code == BREAK_STORE;
}

Answer
rule_apply(Interp *in, const Rule *rule, Value *const *bound, Value **out)
{
    uint8_t outer = in->memory.varies;
    in->memory.varies = rule->traits & FN_VARIES    ? VARIES_TURNS
                        : rule->traits & FN_SYMBOLS ? VARIES_SYMBOLS
                                                    : VARIES_NOT;
    Answer answer = rule->handler(in, rule, bound, out);
    in->memory.varies = outer;
    return answer;
}

Answer
rule_call(Interp *in, const Rule *rule, PyObject *callable, int nargs, Value *const *args,
          PyObject *kwnames, Value **out)
{
    Value *bound[MAX_ARGS], *selected[MAX_ARGS];
    if (rule->handler == NULL) return call_step(in, rule, callable, nargs, args, kwnames, out);
    if (nargs > 0 && nargs < MAX_ARGS - 4 && (rule->traits & FN_VARIES)) {
        Py_ssize_t nkw = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
        bool fits = nargs + nkw <= MAX_ARGS;
        for (int i = 0; fits && i < nargs + nkw; i++) {
            selected[i] = args[i];
            Answer taken = masked_selected(in, args[i], &selected[i]);
            if (answer_stops(taken)) return taken;
        }
        if (fits) args = selected;
    }
    Answer answer = rule_bind(in, rule, nargs, args, kwnames, bound);
    if (answer == ANSWER_YES) answer = rule_apply(in, rule, bound, out);
    if (answer != ANSWER_BREAK || !break_is_ours(in->break_code) || callable == NULL) return answer;
    WholeCall call = {.callable = callable, .nargs = nargs, .args = args, .kwnames = kwnames};
    call.opaque = rule->traits & FN_OPAQUE;
    call.changes = rule_changes(rule);
    return call_whole_instead(in, &call, out);
}

/* ---- NumPy's scalar types as callables: np.float32(x) ---- */

static Answer
call_scalar_type(Interp *in, PyObject *type, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out)
{
    DType dtype;
    if (kwnames != NULL || nargs != 1) return interp_break(in, BREAK_NUMPY, "a scalar type's call");
    Answer answer = array_dtype_from_object(type, &dtype);
    if (answer == ANSWER_NO) return break_dtype(in, type);
    if (answer == ANSWER_ERROR) return answer;
    NodeId node;
    if (value_is_wide(args[0])) { /* it has no node, and np.uint64(x) may hold it */
        TRY(node_scalar(in, args[0]->object, dtype, &node));
        return push_node(in, node, out);
    }
    if (value_is_loose_number(in, args[0])) return call_simple(in, type, 1, args, out);
    TRY(operand(in, args[0], &node));
    Type have = node_type(in, node);
    if (have.rank > 0 && have.dtype == dtype && args[0]->kind == V_NODE) {
        *out = args[0]; /* the argument itself */
        return ANSWER_YES;
    }
    if (have.rank > 0 && have.dtype != dtype)
        TRY(cast_fresh(in, node, dtype, 'K', &node));
    else
        TRY(node_cast(in, node, dtype, &node));
    if (have.rank == 0) TRY(node_form(in, node, FORM_SCALAR, &node));
    /* In a kept loop a cast alone may be that of an operand, which is Python's: loop_either.c. */
    if (have.rank == 0 && have.form == FORM_PYTHON && in->loop != NULL) {
        Type same = node_type(in, node);
        TRY_NODE(node, graph_add(in->graph, in->region, OP_copy, 1, &node, &same, NULL));
    }
    return push_node(in, node, out);
}

/* ---- calls by row ---- */

static WholeCall
whole_call(const Call *call)
{
    return (WholeCall){.callable = call->object,
                       .nargs = call->nargs,
                       .args = call->args,
                       .kwnames = call->kwnames};
}

/* Follows a call of `function` in the program's place. */
static Answer
follow_function(Interp *in, PyObject *function, int nargs, Value *const *args, PyObject *kwnames,
                Value **out)
{
    Value *value = value_const(in, function);
    return value == NULL ? ANSWER_ERROR : call_value(in, value, nargs, args, kwnames, out);
}

/* 1 when the callable says that it comes from NumPy. */
static bool
is_from_numpy(PyObject *callable)
{
    PyObject *module = PyObject_GetAttrString(callable, "__module__");
    const char *name = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    bool found = name != NULL && strncmp(name, "numpy", 5) == 0 && (name[5] == '.' || !name[5]);
    Py_XDECREF(module);
    PyErr_Clear();
    return found;
}

static bool
is_scalar_type(PyObject *callable)
{
    PyObject *generic = numpy_object("generic");
    return PyType_Check(callable) && generic != NULL &&
           PyType_IsSubtype((PyTypeObject *)callable, (PyTypeObject *)generic) &&
           is_from_numpy(callable);
}

/* The type of all of NumPy's public functions that take arrays. */
static bool
is_dispatcher(PyObject *callable)
{
    return array_function_check(callable) && is_from_numpy(callable);
}

/* Follows the decomposition, or makes the call a step where the decomposition breaks. */
static Answer
decompose(const Call *call, PyObject *function)
{
    Interp *in = call->in;
    Answer answer =
        follow_function(in, function, call->nargs, call->args, call->kwnames, call->out);
    if (answer == ANSWER_BREAK) in->raising.raised = NULL; /* NumPy's error may differ */
    if (answer != ANSWER_BREAK || in->writes.dirty) return answer;
    BreakNote note = break_take(in);
    WholeCall whole = whole_call(call);
    answer = is_dispatcher(call->object) ? call_whole(in, &whole, call->out) : ANSWER_NO;
    return break_unless(in, answer, &note);
}

/* In turns np.median of all elements is one node, which needs no array objects
   (arrays/bare_number.c). */
static Answer
median_in_turns(const Call *call)
{
    Interp *in = call->in;
    NodeId node;
    if (call->object != numpy_object("median") || call->nargs != 1 || call->kwnames != NULL ||
        !sizes_may_vary(in) || !value_is_array(in, call->args[0]))
        return ANSWER_NO;
    TRY(array_operand(in, call->args[0], &node));
    Type type = node_type(in, node);
    bool real = type.dtype == DT_F64 || type.dtype == DT_F32;
    if (type.device != DEVICE_HOST || !real || type.rank == 0 || type.rank > 2) return ANSWER_NO;
    Type number = type_scalar((DType)type.dtype, FORM_SCALAR);
    TRY(node_extern(in, call->object, 1, &node, &number, &node));
    return push_node(in, node, call->out);
}

Answer
follow_decomposed(const Call *call, const void *function)
{
    PyObject *object = call->object, *ours = (PyObject *)function;
    Answer answer = median_in_turns(call);
    if (answer != ANSWER_NO) return answer;
    if (!any_opaque(call->in, call->nargs, call->args)) return decompose(call, ours);
    bool plain = PyFunction_Check(object) || PyType_Check(object) || !is_from_numpy(object);
    if (!plain || is_dispatcher(object) || !PyFunction_Check(ours)) return ANSWER_NO;
    return follow_function(call->in, ours, call->nargs, call->args, call->kwnames, call->out);
}

static Answer
follow_text(const Call *call, const Rule *rule)
{
    Answer answer =
        text_numpy(call->in, call->object, call->nargs, call->args, call->kwnames, call->out);
    if (answer != ANSWER_NO || !(rule->traits & FN_LEFT)) return answer;
    return interp_break(call->in, BREAK_NUMPY, "numpy.%s", rule->name);
}

/* NumPy asks the library of such an array for the function. */
static Answer
arguments_on_host(const Call *call, const Rule *rule)
{
    int n = call->nargs + (call->kwnames != NULL ? (int)PyTuple_GET_SIZE(call->kwnames) : 0);
    for (int i = 0; i < n; i++)
        if (value_is_on_device(call->args[i]))
            return interp_break(call->in, BREAK_DEVICE, "NumPy's %s of %s", rule->name,
                                device_library(call->in, call->args[i])->array);
    return ANSWER_YES;
}

Answer
follow_numpy(const Call *call, const void *row)
{
    const Rule *rule = row;
    PyObject *function;
    switch (rule->way) {
    case DONE_BY_RULE:
    case DONE_BY_STEP:
        TRY(arguments_on_host(call, rule));
        return rule_call(call->in, rule, call->object, call->nargs, call->args, call->kwnames,
                         call->out);
    case DONE_BY_TEXT: return follow_text(call, rule);
    case DONE_BY_DRAW:
        return draw_function(call->in, rule->data, call->nargs, call->args, call->kwnames,
                             call->out);
    case DONE_BY_DECOMPOSED:
        function = numpy_decomposition(call->object);
        PyErr_Clear();
        return function == NULL ? ANSWER_NO : follow_decomposed(call, function);
    default: return ANSWER_NO;
    }
}

/* ---- those without a row, by type ---- */

static bool
is_ufunc_method(PyObject *callable)
{
    return PyCFunction_Check(callable) && PyCFunction_GET_SELF(callable) != NULL &&
           ufunc_check(PyCFunction_GET_SELF(callable));
}

static bool
is_other(PyObject *callable)
{
    return is_from_numpy(callable) && !PyFunction_Check(callable) && !PyType_Check(callable);
}

static Answer
follow_ufunc(const Call *c)
{
    return call_ufunc(c->in, c->object, c->nargs, c->args, c->kwnames, c->out);
}

static Answer
follow_ufunc_method(const Call *c)
{
    return call_ufunc_method(c->in, c->object, c->nargs, c->args, c->kwnames, c->out);
}

static Answer
follow_scalar_type(const Call *c)
{
    return call_scalar_type(c->in, c->object, c->nargs, c->args, c->kwnames, c->out);
}

/* A step whose results' shapes are read after it has run. */
static Answer
follow_dispatcher(const Call *call)
{
    WholeCall whole = whole_call(call);
    whole.opaque = true;
    return call_whole(call->in, &whole, call->out);
}

static Answer
break_other(const Call *call)
{
    PyObject *name = PyObject_GetAttrString(call->object, "__name__");
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text == NULL) text = "?";
    bool objects = strcmp(text, "frompyfunc") == 0;
    Answer answer = interp_break(call->in, objects ? BREAK_DTYPE_OBJECT : BREAK_NUMPY,
                                 "call of numpy's '%s'", text);
    Py_XDECREF(name);
    PyErr_Clear();
    return answer;
}

Answer
follow_numpy_type(const Call *call, const void *Py_UNUSED(none))
{
    static const struct {
        bool (*is)(PyObject *);
        Answer (*follow)(const Call *);
    } kinds[] = {
        {ufunc_check, follow_ufunc},
        {is_ufunc_method, follow_ufunc_method},
        {is_scalar_type, follow_scalar_type},
        {is_dispatcher, follow_dispatcher},
        {is_other, break_other},
    };
    for (int i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].is(call->object)) return kinds[i].follow(call);
    return ANSWER_NO;
}

bool
numpy_is_known(PyObject *callable)
{
    if (is_dispatcher(callable)) return true;
    if (!PyFunction_Check(callable) && !PyCFunction_Check(callable)) return false;
    bool known = rule_of_function(callable) != NULL;
    PyErr_Clear();
    return known;
}

bool
array_has_method(const char *name)
{
    return rule_of_method(name) != NULL;
}

/* The method as a function of `self` and its arguments; borrowed, NULL without an error. */
static PyObject *
method_function(Interp *in, Value *self, bool scalar, const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "%s.%s", scalar ? "generic" : "ndarray", name);
    PyObject *found = numpy_object(path);
    if (found != NULL || !scalar) return found;
    PyObject *type = (PyObject *)value_type(in, self); /* float64.hex */
    found = type == NULL ? NULL : keep(in, PyObject_GetAttrString(type, name));
    PyErr_Clear();
    return found;
}

static Answer
method_step(Interp *in, const Rule *rule, PyObject *callable, int nargs, Value *const *args,
            PyObject *kwnames, Value **out)
{
    if (callable == NULL) return interp_break(in, BREAK_NUMPY, "array method '%s'", rule->name);
    if ((rule->traits & FN_MAY_CHANGE) && nargs + (kwnames != NULL) > 1)
        return interp_break(in, BREAK_NUMPY, "%s in place", rule->name);
    WholeCall call = {.callable = callable, .nargs = nargs, .args = args, .kwnames = kwnames};
    call.opaque = rule->traits & FN_OPAQUE;
    call.untyped = (rule->traits & FN_OPAQUE_UNTYPED) && value_is_opaque(in, args[0]);
    call.changes = rule_changes(rule);
    return call_whole(in, &call, out);
}

Answer
array_method(Interp *in, Value *array, const char *name, int nargs, Value *const *args,
             PyObject *kwnames, Value **out)
{
    const Rule *rule = rule_of_method(name);
    bool scalar = !value_is_array(in, array) && !value_is_opaque(in, array);
    PyObject *callable = method_function(in, array, scalar, name);
    Value *all[MAX_ARGS + 1];
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames);
    if (nargs + nkw > MAX_ARGS) return interp_break(in, BREAK_NUMPY, "%s of many arguments", name);
    all[0] = array;
    for (int i = 0; i < nargs + nkw; i++) all[i + 1] = args[i];
    if (rule == NULL) return interp_break(in, BREAK_NUMPY, "array method '%s'", name);
    if (rule->traits & FN_VARIES) {
        Answer answer = masked_selected(in, array, &all[0]);
        if (answer_stops(answer)) return answer;
        array = all[0];
    }
    if (strcmp(name, "copy") == 0 && nargs + nkw == 0 && value_is_opaque(in, array)) {
        NodeId copy;
        Answer answer = place_copy(in, array, &copy);
        if (answer != ANSWER_NO) return answer == ANSWER_YES ? push_node(in, copy, out) : answer;
    }
    if (rule->way == DONE_BY_STEP || value_is_opaque(in, array) ||
        (scalar && !(rule->traits & FN_OF_SCALARS)))
        return method_step(in, rule, callable, nargs + 1, all, kwnames, out);
    return rule_call(in, rule, callable, nargs + 1, all, kwnames, out);
}
