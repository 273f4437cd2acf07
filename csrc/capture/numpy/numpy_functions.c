/* Calls of NumPy's functions and of arrays' methods, captured in the way that the row of
   numpy_functions.def says. */
#include "numpy.h"

/* ---- binding arguments to a signature ---- */

/* Reads the signature's next name, without its marks, or `|` or `/`; false at its end.  *mark is
   '!' where the argument must be absent or its default, '*' where it takes the rest, else 0. */
static bool
next_name(const char **at, const char **name, size_t *length, char *mark)
{
    const char *p = *at;
    while (*p == ' ') p++;
    if (*p == '\0') return false;
    *mark = 0;
    if (*p == '*') {
        *mark = '*';
        p++;
    }
    *name = p;
    *length = strcspn(p, " !");
    p += *length;
    if (*p == '!') {
        *mark = '!';
        p += strcspn(p, " ");
    }
    *at = p;
    return true;
}

static bool
is_divider(const char *name, size_t length)
{
    return length == 1 && (name[0] == '|' || name[0] == '/');
}

static int
rule_index(const Rule *rule, const char *wanted)
{
    const char *at = rule->signature, *name;
    size_t length;
    char mark;
    for (int i = 0; next_name(&at, &name, &length, &mark);) {
        if (is_divider(name, length)) continue;
        if (strlen(wanted) == length && strncmp(name, wanted, length) == 0) return i;
        i++;
    }
    return -1;
}

Value *
rule_arg(const Rule *rule, Value *const *args, const char *name)
{
    int index = rule_index(rule, name);
    return index < 0 ? NULL : args[index];
}

static bool
is_named(const char *name, size_t length, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strlen(*names) == length && strncmp(name, *names, length) == 0) return true;
    return false;
}

/* The argument, which the rule does not use, has its default value.  `text`: the default up to the
   next space, where it is a text. */
static bool
is_default(const Value *value, const char *name, size_t length, const char *text)
{
    static const char *const by_none[] = {"axis",   "copy", "device", "dtype", "kind",
                                          "like",   "mean", "order",  "out",   "shape",
                                          "stable", "min",  "max",    NULL};
    static const char *const by_true[] = {"where", "subok", NULL};
    if (value == NULL) return true;
    if (value_is_none(value)) return is_named(name, length, by_none);
    if (value_absent(value)) return true;
    if (value->kind != V_CONST) return false;
    if (value->object == Py_True) return is_named(name, length, by_true);
    if (!PyUnicode_Check(value->object)) return false;
    const char *given = PyUnicode_AsUTF8(value->object);
    if (given == NULL) return PyErr_Clear(), false;
    size_t end = strcspn(text, " ");
    return end > 0 && strlen(given) == end && strncmp(given, text, end) == 0;
}

static Answer
check_bound(Interp *in, const Rule *rule, Value **bound)
{
    const char *at = rule->signature, *name;
    size_t length;
    char mark;
    for (int i = 0; next_name(&at, &name, &length, &mark);) {
        if (is_divider(name, length)) continue;
        if (i < rule->required && bound[i] == NULL)
            return interp_break(in, BREAK_SHAPE, "%s without its arguments", rule->name);
        if (mark == '!' && !is_default(bound[i], name, length, name + length + 1))
            return interp_break(in, BREAK_NUMPY, "%s with %.*s=", rule->name, (int)length, name);
        i++;
    }
    return ANSWER_YES;
}

static Answer
bind(Interp *in, const Rule *rule, int nargs, Value *const *args, PyObject *kwnames, Value **bound)
{
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames), npos = nargs, taken = 0;
    const char *at = rule->signature, *name;
    size_t length;
    char mark;
    memset(bound, 0, MAX_ARGS * sizeof *bound);
    bool positional = true;
    int named = 0; /* index of the first argument that may come by keyword */
    for (int i = 0; next_name(&at, &name, &length, &mark);) {
        if (is_divider(name, length)) {
            if (name[0] == '/')
                named = i;
            else
                positional = false;
            continue;
        }
        if (mark == '*') {
            bound[i] = value_sequence(in, V_TUPLE, npos - taken, args + taken);
            if (bound[i] == NULL) return ANSWER_ERROR;
            taken = npos;
            positional = false;
        } else if (positional && taken < npos) {
            bound[i] = args[taken++];
        }
        i++;
    }
    if (taken < npos) return interp_break(in, BREAK_NUMPY, "%s called this way", rule->name);
    for (int k = 0; k < nkw; k++) {
        const char *key = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, k));
        if (key == NULL) return ANSWER_ERROR;
        int index = rule_index(rule, key);
        if (index < named || bound[index] != NULL)
            return interp_break(in, BREAK_NUMPY, "%s with %s=", rule->name, key);
        bound[index] = args[npos + k];
    }
    return check_bound(in, rule, bound);
}

/* The arguments that the function changes, a bit each: the first, and out where all arguments of
   the signature may be positional. */
static unsigned
changed_bits(const Rule *rule)
{
    int index = rule_index(rule, "out");
    bool out = index >= 0 && index < 32 && strchr(rule->signature, '*') == NULL;
    return (rule->traits & FN_CHANGES ? 1 : 0) | (out ? 1u << index : 0);
}

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
    call.changes = changed_bits(rule);
    int all = nargs + (kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames));
    for (int i = 0; (rule->traits & FN_MINDS_FLAGS) && i < all; i++) {
        bool writeable;
        if (value_is_array(in, args[i])) TRY(array_known_writeable(in, args[i], &writeable));
    }
    return call_whole(in, &call, out);
}

/* May another way of capturing the call be tried after this break?  Not where NumPy itself would
   refuse it. */
static bool
break_is_ours(BreakCode code)
{
    return code == BREAK_NUMPY || code == BREAK_INDEX || break_is_of_array(code) ||
           code == BREAK_OPERATOR || code == BREAK_ITEMS || code == BREAK_SHAPE ||
           code == BREAK_STORE;
}

/* The rule's own nodes; whether it takes arrays whose lengths change from turn to turn, it says. */
static Answer
by_rule(Interp *in, const Rule *rule, Value *const *bound, Value **out)
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
    Answer answer = bind(in, rule, nargs, args, kwnames, bound);
    if (answer == ANSWER_YES) answer = by_rule(in, rule, bound, out);
    if (answer != ANSWER_BREAK || !break_is_ours(in->break_code) || callable == NULL) return answer;
    WholeCall call = {.callable = callable, .nargs = nargs, .args = args, .kwnames = kwnames};
    call.opaque = rule->traits & FN_OPAQUE;
    call.changes = changed_bits(rule);
    return call_whole_instead(in, &call, out);
}

/* ---- ufuncs as callables ---- */

static int
ufunc_number(PyObject *ufunc, const char *name)
{
    PyObject *count = PyObject_GetAttrString(ufunc, name);
    int number = count == NULL ? -1 : (int)PyLong_AsLong(count);
    Py_XDECREF(count);
    PyErr_Clear();
    return number;
}

/* The ufunc has only loops of Python objects, which call code of the program. */
static bool
ufunc_is_objects(PyObject *ufunc)
{
    PyObject *types = PyObject_GetAttrString(ufunc, "types");
    bool objects = types != NULL && PyList_Check(types);
    for (Py_ssize_t i = 0; objects && i < PyList_GET_SIZE(types); i++) {
        const char *text = PyUnicode_AsUTF8(PyList_GET_ITEM(types, i));
        objects = text != NULL && strspn(text, "O->") == strlen(text);
    }
    Py_XDECREF(types);
    PyErr_Clear();
    return objects;
}

static Answer raise_keyword(Interp *in, PyObject *ufunc, int nargs, PyObject *name);

/* The call as a node, where the arguments are plain: inputs, dtype, one output. */
static Answer
ufunc_as_node(Interp *in, PyObject *ufunc, int nin, int nargs, Value *const *args,
              PyObject *kwnames, Value **out)
{
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames), npos = nargs;
    Value *target = npos == nin + 1 ? args[nin] : NULL;
    DType dtype = DT_OBJECT;
    if (npos > nin && (function_traits(ufunc) & FN_NAMED_OUT))
        return interp_break(in, BREAK_NUMPY, "ufunc '%s' of %d arguments", ufunc_name(ufunc), npos);
    if (npos != nin && npos != nin + 1)
        return interp_break(in, BREAK_SHAPE, "ufunc '%s' of %d arguments", ufunc_name(ufunc), npos);
    for (int k = 0; k < nkw; k++) {
        const char *key = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, k));
        Value *value = args[npos + k];
        if (key == NULL) return ANSWER_ERROR;
        if (strcmp(key, "out") == 0 && target == NULL) {
            target = value;
            if (value->kind == V_TUPLE && value->nitems == 1)
                if ((target = value_item(in, value, 0)) == NULL) return ANSWER_ERROR;
        } else if (strcmp(key, "dtype") == 0) {
            TRY(value_as_dtype(in, value, &dtype));
        } else if (!is_default(value, key, strlen(key),
                               strcmp(key, "casting") == 0 ? "same_kind" : "")) {
            if (raise_keyword(in, ufunc, nin, PyTuple_GET_ITEM(kwnames, k)) == ANSWER_ERROR)
                return ANSWER_ERROR;
            return interp_break(in, BREAK_NUMPY, "ufunc '%s' with %s=", ufunc_name(ufunc), key);
        }
    }
    Value *result;
    TRY(emit_ufunc(in, ufunc, nin, args, dtype == DT_OBJECT ? -1 : (int)dtype, &result));
    if (value_absent(target)) {
        *out = result;
        return ANSWER_YES;
    }
    return write_result(in, target, result->node, out);
}

static Answer
call_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    int nin = ufunc_number(ufunc, "nin"), nout = ufunc_number(ufunc, "nout");
    if (ufunc_is_objects(ufunc))
        return interp_break(in, BREAK_DTYPE_OBJECT, "ufunc '%s' of Python objects",
                            ufunc_name(ufunc));
    WholeCall call = {.callable = ufunc, .nargs = nargs, .args = args, .kwnames = kwnames};
    for (int i = nin; i < nargs && i < 32; i++) call.changes |= 1u << i;
    if (nout > 1) return call_whole(in, &call, out);
    Answer answer = ufunc_as_node(in, ufunc, nin, nargs, args, kwnames, out);
    if (answer != ANSWER_BREAK || !break_is_ours(in->break_code)) return answer;
    return call_whole_instead(in, &call, out);
}

/* ---- methods of ufuncs ---- */

/* add.reduce(x, axis=0) is sum(x, axis=0), and so on. */
static Answer
reduce_by_rule(Interp *in, PyObject *ufunc, int nargs, Value *const *args, PyObject *kwnames,
               Value **out)
{
    const char *name = ufunc_reduction(ufunc);
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames);
    if (name == NULL || nargs < 1 || nargs > 2 || nkw > 3) return ANSWER_NO;
    const Rule *rule = rule_of_function(numpy_object(name));
    Value *all[MAX_ARGS] = {args[0]}, *bound[MAX_ARGS];
    bool axis = nargs == 2;
    for (int k = 0; k < nkw; k++) {
        PyObject *key = PyTuple_GET_ITEM(kwnames, k);
        axis = axis || PyUnicode_CompareWithASCIIString(key, "axis") == 0;
        if (PyUnicode_CompareWithASCIIString(key, "axis") != 0 &&
            PyUnicode_CompareWithASCIIString(key, "keepdims") != 0 &&
            (PyUnicode_CompareWithASCIIString(key, "dtype") != 0 || name[0] == 'a'))
            return ANSWER_NO;
    }
    all[1] = nargs == 2 ? args[1] : value_const_new(in, PyLong_FromLong(0));
    if (all[1] == NULL) return ANSWER_ERROR;
    int npos = axis && nargs == 1 ? 1 : 2;
    for (int k = 0; k < nkw; k++) all[npos + k] = args[nargs + k];
    TRY(bind(in, rule, npos, all, kwnames, bound));
    return by_rule(in, rule, bound, out);
}

/* NumPy umath/ufunc_object.c, ufunc_outer: an axis of one element for each of the second operand's
   is behind those of the first, and the ufunc is called.  ANSWER_NO: its rule is another one. */
static Answer
outer_by_rule(Interp *in, PyObject *ufunc, int nargs, Value *const *args, PyObject *kwnames,
              Value **out)
{
    NodeId nodes[2], result;
    if (nargs != 2 || kwnames != NULL || PyErr_Occurred()) return ANSWER_NO;
    for (int i = 0; i < 2; i++) {
        if (!value_is_array(in, args[i]) || value_is_opaque(in, args[i])) return ANSWER_NO;
        TRY(operand(in, args[i], &nodes[i]));
    }
    Type first = node_type(in, nodes[0]), second = node_type(in, nodes[1]);
    if (first.rank == 0 || second.rank == 0 || first.rank + second.rank > MAX_RANK)
        return ANSWER_NO;
    for (int i = 0; i < second.rank; i++, first.rank++) {
        first.shape[first.rank] = size_const(in->graph, 1);
        first.stride[first.rank] = size_const(in->graph, 0);
        if (first.shape[first.rank] == NO_SIZE || first.stride[first.rank] == NO_SIZE)
            return ANSWER_ERROR;
    }
    TRY(node_view(in, OP_expand_dims, nodes[0], &first, 0, NULL, &nodes[0]));
    TRY(node_ufunc(in, ufunc, 2, nodes, -1, &result));
    return push_node(in, result, out);
}

static Answer
call_ufunc_method(Interp *in, PyObject *method, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out)
{
    PyObject *ufunc = PyCFunction_GET_SELF(method);
    const char *name = ((PyCFunctionObject *)method)->m_ml->ml_name;
    if (ufunc_is_objects(ufunc))
        return interp_break(in, BREAK_DTYPE_OBJECT, "ufunc '%s' of Python objects",
                            ufunc_name(ufunc));
    WholeCall call = {.callable = method, .nargs = nargs, .args = args, .kwnames = kwnames};
    if (strcmp(name, "at") == 0) call.changes = 1;
    if (strcmp(name, "reduce") == 0 || strcmp(name, "accumulate") == 0) call.changes = 1 << 3;
    if (strcmp(name, "reduceat") == 0) call.changes = 1 << 4;
    if (strcmp(name, "reduce") == 0) {
        Answer answer = reduce_by_rule(in, ufunc, nargs, args, kwnames, out);
        if (answer == ANSWER_BREAK) return call_whole_instead(in, &call, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (strcmp(name, "outer") == 0) {
        VARYING(in, answer, outer_by_rule(in, ufunc, nargs, args, kwnames, out));
        if (answer == ANSWER_BREAK) return call_whole_instead(in, &call, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (strcmp(name, "at") == 0 || strncmp(name, "reduce", 6) == 0 ||
        strcmp(name, "accumulate") == 0 || strcmp(name, "outer") == 0)
        return call_whole(in, &call, out);
    return interp_break(in, BREAK_NUMPY, "method '%s' of a ufunc", name);
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

Answer
follow_decomposed(const Call *call, const void *function)
{
    PyObject *object = call->object, *ours = (PyObject *)function;
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
    call.changes = changed_bits(rule);
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

/* Is the error that is set about a keyword which the callee does not know? */
static bool
is_unknown_keyword(PyObject *name)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *told = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    const char *key = PyUnicode_AsUTF8(name);
    const char *at = told != NULL ? strstr(told, "unexpected keyword argument '") : NULL;
    bool found = at != NULL && key != NULL && type == PyExc_TypeError;
    if (found) at = strchr(at, '\'') + 1;
    found = found && strncmp(at, key, strlen(key)) == 0 && at[strlen(key)] == '\'';
    Py_XDECREF(text);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return found;
}

/* Keywords that every ufunc has; with stand-ins some of them warn. */
static bool
is_keyword_of_ufuncs(PyObject *name)
{
    static const char *const names[] = {"out",   "where", "casting",   "order",
                                        "dtype", "subok", "signature", "sig"};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return true;
    return false;
}

/* A keyword that a ufunc of `nargs` operands does not have.  ANSWER_NO: it may have it. */
static Answer
raise_keyword(Interp *in, PyObject *ufunc, int nargs, PyObject *name)
{
    if (is_keyword_of_ufuncs(name)) return ANSWER_NO;
    PyObject *one = PyFloat_FromDouble(1), *args = one ? PyTuple_New(nargs) : NULL;
    PyObject *named = args ? Py_BuildValue("{OO}", name, Py_None) : NULL, *result = NULL;
    for (int i = 0; args != NULL && i < nargs; i++) PyTuple_SET_ITEM(args, i, Py_NewRef(one));
    if (named != NULL) result = PyObject_Call(ufunc, args, named);
    Py_XDECREF(named);
    Py_XDECREF(args);
    Py_XDECREF(one);
    Py_XDECREF(result);
    if (result == NULL && is_unknown_keyword(name)) return raise_error(in);
    PyErr_Clear();
    return ANSWER_NO;
}
