/* Calls: finding the callable, binding its arguments, and inlining functions. */
#include "control.h"

/* ---- functions of Python, inlined ---- */

static SourceId
source_of_part(Interp *in, Value *function, const char *name)
{
    PyObject *key = keep(in, PyUnicode_InternFromString(name));
    return key == NULL ? NO_SOURCE : source_add(in, SOURCE_ATTR, function->source, 0, key, NULL);
}

/* A part of a function (its code, its defaults) that the program may replace: guarded to be this
   object. */
static int
guard_part(Interp *in, Value *function, const char *name, PyObject *part)
{
    if (function->source == NO_SOURCE) return 0; /* made by pycompile, or by the program */
    SourceId source = source_of_part(in, function, name);
    return source == NO_SOURCE ? -1 : guard_there(in, source, part ? part : Py_None);
}

/* Guards that the dict of a function's keyword defaults is this object, where an entry changes. */
static int
guard_keyword_default(Interp *in, Value *function, PyObject *name, PyObject *object)
{
    if (function->source == NO_SOURCE) return 0;
    SourceId source = source_of_part(in, function, "__kwdefaults__");
    if (source != NO_SOURCE) source = source_add(in, SOURCE_ITEM, source, 0, name, NULL);
    return source == NO_SOURCE ? -1 : guard_there(in, source, object);
}

/* The default of positional parameter `i` of `argcount`, counted from the end. */
static Answer
positional_default(Interp *in, Value *function, int i, int argcount, Value **out)
{
    *out = NULL;
    if (function->kind == V_FUNCTION) {
        Value *defaults = function->items[0];
        int at = defaults ? i - (argcount - defaults->nitems) : -1;
        if (at < 0) return ANSWER_YES;
        *out = value_item(in, defaults, at);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    PyObject *defaults = PyFunction_GET_DEFAULTS(function->object);
    if (guard_part(in, function, "__defaults__", defaults) < 0) return ANSWER_ERROR;
    Py_ssize_t at = defaults ? i - (argcount - PyTuple_GET_SIZE(defaults)) : -1;
    if (at < 0) return ANSWER_YES;
    *out = value_of_const(in, PyTuple_GET_ITEM(defaults, at));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
keyword_default(Interp *in, Value *function, PyObject *name, Value **out)
{
    *out = NULL;
    if (function->kind == V_FUNCTION) {
        Value *defaults = function->items[1];
        int at = defaults ? dict_find(in, defaults, name) : -1;
        if (at < -1) return ANSWER_ERROR;
        if (at >= 0) *out = defaults->items[at];
        return ANSWER_YES;
    }
    PyObject *defaults = PyFunction_GET_KW_DEFAULTS(function->object);
    if (guard_part(in, function, "__kwdefaults__", defaults) < 0) return ANSWER_ERROR;
    if (defaults == NULL) return ANSWER_YES;
    PyObject *object = PyDict_GetItemWithError(defaults, name);
    if ((object == NULL && PyErr_Occurred()) ||
        guard_keyword_default(in, function, name, object) < 0)
        return ANSWER_ERROR;
    if (object == NULL) return ANSWER_YES;
    *out = value_of_const(in, object);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
bind_keywords(Interp *in, Activation *a, Value *function, int nargs, Value *const *args,
              PyObject *kwnames)
{
    const Decoded *d = a->decoded;
    int named = d->argcount + d->kwonly, nkw = (int)PyTuple_GET_SIZE(kwnames);
    Value *rest = d->varkeywords ? a->slots[named + d->varargs] : NULL;
    for (int k = 0; k < nkw; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        Value *value = args[nargs + k];
        int at = named;
        for (int i = d->code->co_posonlyargcount; i < named; i++) {
            PyObject *parameter = code_slot_name(d->code, i);
            if (parameter == name || PyUnicode_Compare(parameter, name) == 0) at = i;
        }
        if (at < named) {
            if (a->slots[at] != NULL) return raise_arguments(in, function, nargs, kwnames);
            a->slots[at] = value;
        } else {
            if (rest == NULL) return raise_arguments(in, function, nargs, kwnames);
            Answer answer = dict_store(in, rest, name, value);
            if (answer != ANSWER_YES) return answer;
        }
    }
    return ANSWER_YES;
}

/* Fills the parameters; nargs positional, then one value per keyword name. */
static Answer
bind_arguments(Interp *in, Activation *a, Value *function, int nargs, Value *const *args,
               PyObject *kwnames)
{
    const Decoded *d = a->decoded;
    int named = d->argcount + d->kwonly, taken = nargs < d->argcount ? nargs : d->argcount;
    for (int i = 0; i < taken; i++) a->slots[i] = args[i];
    if (nargs > taken && !d->varargs) return raise_arguments(in, function, nargs, kwnames);
    if (d->varargs) {
        a->slots[named] = value_sequence(in, V_TUPLE, nargs - taken, args + taken);
        if (a->slots[named] == NULL) return ANSWER_ERROR;
    }
    if (d->varkeywords) {
        a->slots[named + d->varargs] = value_sequence(in, V_DICT, 0, NULL);
        if (a->slots[named + d->varargs] == NULL) return ANSWER_ERROR;
    }
    if (kwnames != NULL) {
        Answer answer = bind_keywords(in, a, function, nargs, args, kwnames);
        if (answer != ANSWER_YES) return answer;
    }
    for (int i = 0; i < named; i++) {
        if (a->slots[i] != NULL) continue;
        Answer answer =
            i < d->argcount
                ? positional_default(in, function, i, d->argcount, &a->slots[i])
                : keyword_default(in, function, code_slot_name(d->code, i), &a->slots[i]);
        if (answer != ANSWER_YES) return answer;
        if (a->slots[i] == NULL) return raise_arguments(in, function, nargs, kwnames);
    }
    for (int i = 0; i < d->nlocalsplus; i++)
        if (a->slots[i] == NULL) a->slots[i] = in->unbound;
    return ANSWER_YES;
}

enum { DEEPEST = 150 }; /* nested inlined calls of a function by itself */

/* The break that an earlier attempt found inside the call at this place, or NULL. */
static const Break *
marked(Interp *in)
{
    for (int i = 0; i < in->attempt.marks->no_inline.len; i++)
        if (in->attempt.marks->no_inline.at[i] == in->bottom->number)
            return &in->attempt.marks->inner.at[i];
    return NULL;
}

/* The function followed in place of functools.singledispatch's own, which keeps weak references to
   choose by class; it gets the other's closure.  NULL: another function. */
static PyObject *
dispatch_for(PyObject *function)
{
    static PyObject *ours;
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    if (PyUnicode_CompareWithASCIIString(code->co_qualname, "singledispatch.<locals>.dispatch") !=
        0)
        return NULL;
    PyObject *module = PyDict_GetItemString(PyFunction_GET_GLOBALS(function), "__name__");
    if (module == NULL || !PyUnicode_Check(module) ||
        PyUnicode_CompareWithASCIIString(module, "functools") != 0)
        return NULL;
    if (ours == NULL) ours = module_object("pycompile.decompositions.functions", "dispatch");
    PyObject *mine = ours ? PyCode_GetFreevars((PyCodeObject *)PyFunction_GET_CODE(ours)) : NULL;
    PyObject *theirs = mine ? PyCode_GetFreevars(code) : NULL;
    int same = theirs ? PyObject_RichCompareBool(mine, theirs, Py_EQ) : 0;
    Py_XDECREF(mine);
    Py_XDECREF(theirs);
    PyErr_Clear();
    return same == 1 ? ours : NULL;
}

Answer
call_inlined(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
             Value **out)
{
    Answer logged = output_log(in, function, nargs, args, kwnames, out);
    if (logged != ANSWER_NO) return logged;
    bool made = function->kind == V_FUNCTION;
    PyObject *code = made ? function->object : PyFunction_GET_CODE(function->object);
    const char *name = PyUnicode_AsUTF8(((PyCodeObject *)code)->co_qualname);
    if (name == NULL) return ANSWER_ERROR;
    const Break *inner = in->region == 0 ? marked(in) : NULL;
    if (inner != NULL)
        return interp_break_as(
            in, inner->code == BREAK_GENERATOR ? BREAK_GENERATOR : BREAK_CALL_PYTHON, inner);
    PyObject *dispatch = made ? NULL : dispatch_for(function->object);
    PyObject *followed = dispatch ? PyFunction_GET_CODE(dispatch) : code;
    const Decoded *decoded = decoded_for(in, (PyCodeObject *)followed);
    if (decoded == NULL) return ANSWER_ERROR;
    int suspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    if (decoded->aside != NULL && !decoded->generator)
        return interp_break(
            in, decoded->code->co_flags & suspends ? BREAK_GENERATOR : BREAK_CALL_PYTHON,
            "call of '%s': %s", name, decoded->aside);
    for (Activation *a = in->top; a != NULL; a = a->caller)
        if (a->decoded == decoded && in->inlined > DEEPEST)
            return interp_break(in, BREAK_CALL_PYTHON, "call of '%s' by itself", name);
    Activation *activation = activation_new(in, decoded);
    if (activation == NULL) return ANSWER_ERROR;
    if (!made && guard_part(in, function, "__code__", code) < 0) return ANSWER_ERROR;
    activation->function = function;
    activation->globals =
        made ? function->globals_of->object : PyFunction_GET_GLOBALS(function->object);
    if (dispatch != NULL) activation->globals = PyFunction_GET_GLOBALS(dispatch);
    activation->builtins =
        made ? in->top->builtins : ((PyFunctionObject *)function->object)->func_builtins;
    if (in->top == in->bottom && !made) in->out->called = in->bottom->number;
    Answer answer = bind_arguments(in, activation, function, nargs, args, kwnames);
    return answer == ANSWER_YES ? interp_run(in, activation, out) : answer;
}

/* ---- dispatch ---- */

static Answer
follow_graph_break(const Call *call, const void *Py_UNUSED(row))
{
    return interp_break(call->in, BREAK_REQUESTED, "%s", "");
}

static Answer
follow_is_compiling(const Call *call, const void *Py_UNUSED(row))
{
    return given(call->out, value_const(call->in, Py_True));
}

static Answer
call_python(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
            Value **out)
{
    PyObject *function = callable->object;
    Call call = {in, callable, function, nargs, args, kwnames, out};
    Answer answer = call_pure(in, function, nargs, args, kwnames, out);
    if (answer == ANSWER_NO) answer = call_followed(&call, RANK_PYTHON);
    if (answer != ANSWER_NO) return answer;
    PyObject *module = PyDict_GetItemString(PyFunction_GET_GLOBALS(function), "__name__");
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    if (name != NULL && strncmp(name, "numpy", 5) == 0 && (name[5] == 0 || name[5] == '.')) {
        answer = numpy_python_call(in, function, name, nargs, args, out);
        if (answer != ANSWER_NO) return answer;
    }
    return call_inlined(in, callable, nargs, args, kwnames, out);
}

/* type(callable).__call__(callable, …) */
static Answer
call_special(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
             Value **out)
{
    PyObject *found, *key = interned(in, "__call__");
    Value *owner = value_const(in, (PyObject *)callable->type), *method;
    if (key == NULL || owner == NULL || value_guard_type(in, callable) < 0) return ANSWER_ERROR;
    Answer answer = type_lookup(in, callable->type, key, &found);
    if (answer != ANSWER_YES) return answer;
    if (found == NULL || Py_TYPE(found) == &PyWrapperDescr_Type)
        return interp_break(in, BREAK_CALL_C, "call of %s", value_describe(in, callable));
    answer = descriptor_get(in, found, callable, owner, key, &method);
    if (answer != ANSWER_YES) return answer;
    if (in->attempt.nesting > 40)
        return interp_break(in, BREAK_CALL_C, "call of %s", value_describe(in, callable));
    in->attempt.nesting++;
    answer = call_value(in, method, nargs, args, kwnames, out);
    in->attempt.nesting--;
    return answer;
}

static bool
is_function(const Value *value)
{
    return value->kind == V_FUNCTION ||
           ((value->kind == V_CONST || value->kind == V_OBJECT) && PyFunction_Check(value->object));
}

/* ---- constants: NumPy's, Python's, ours, the program's ---- */

static Answer
follow_error_state(const Call *c, const void *Py_UNUSED(row))
{
    return errstate_make(c->in, c->nargs, c->args, c->kwnames, c->out);
}

/* types.MethodType(function, object) */
static Answer
follow_method_type(const Call *c, const void *Py_UNUSED(row))
{
    if (c->nargs != 2 || c->kwnames != NULL || !is_function(c->args[0]) ||
        (c->args[1]->kind == V_CONST && c->args[1]->object == Py_None))
        return ANSWER_NO;
    return given(c->out, bound_method(c->in, c->args[0], c->args[1]));
}

static PyObject *decompositions; /* pycompile.decompositions.TABLE, from the first call on */

/* Adds the decompositions.  C functions are first tried as pure calls. */
static int
add_decompositions(void)
{
    PyObject *object, *function;
    Py_ssize_t at = 0;
    if (decompositions != NULL) return 0;
    PyObject *table = module_object("pycompile.decompositions", "TABLE");
    if (table == NULL || !PyDict_Check(table)) {
        Py_XDECREF(table);
        return -1;
    }
    while (PyDict_Next(table, &at, &object, &function)) {
        bool alone = callable_follower(object, follow_builtin) == NULL;
        if ((alone && callable_add(object, RANK_BUILTIN, follow_builtin, NULL) < 0) ||
            callable_add(object, RANK_DECOMPOSED, follow_decomposed, function) < 0) {
            Py_DECREF(table);
            return -1;
        }
    }
    decompositions = table;
    return 0;
}

int
control_callables(void)
{
    static NamedCallable named[] = {
        {"pycompile._api", "graph_break", RANK_PYTHON, follow_graph_break, false},
        {"pycompile._api", "is_compiling", RANK_PYTHON, follow_is_compiling, false},
    };
    static bool begun;
    PyObject *maker = array_errors_maker();
    if (!begun &&
        ((maker != NULL && callable_add(maker, RANK_OWN, follow_error_state, NULL) < 0) ||
         callable_add((PyObject *)&PyMethod_Type, RANK_OWN, follow_method_type, NULL) < 0))
        return -1;
    begun = maker != NULL;
    return callables_add_named(COUNT_OF(named), named);
}

/* ---- constants by type ---- */

static Answer
follow_exception_class(const Call *c)
{
    if (!PyExceptionClass_Check(c->object)) return ANSWER_NO;
    return exception_make(c->in, c->callable, c->nargs, c->args, c->kwnames, c->out);
}

/* BaseException.__init__(error, …) and the like */
static Answer
follow_exception_method(const Call *c)
{
    if (Py_TYPE(c->object) != &PyWrapperDescr_Type || c->nargs == 0 ||
        c->args[0]->exception == NULL ||
        !PyType_IsSubtype(c->args[0]->type, PyDescr_TYPE(c->object)))
        return ANSWER_NO;
    return exception_method(c->in, c->args[0], ((PyWrapperDescrObject *)c->object)->d_base->name,
                            c->nargs - 1, c->args + 1, c->kwnames, c->out);
}

static Answer
follow_enum_member(const Call *c)
{
    if (!is_enum_member(c->object)) return ANSWER_NO;
    return call_special(c->in, c->callable, c->nargs, c->args, c->kwnames, c->out);
}

static Answer
follow_stream_method(const Call *c)
{
    if (c->kwnames != NULL) return ANSWER_NO;
    return output_write(c->in, c->object, c->nargs, c->args, c->out);
}

static Answer
follow_modelled(const Call *c)
{
    if (!PyType_Check(c->object)) return ANSWER_NO;
    return model_make(c->in, c->object, c->nargs, c->args, c->kwnames, c->out);
}

/* Is it C code: a function, a class, a descriptor? */
static Answer
follow_compiled(const Call *c)
{
    if (PyFunction_Check(c->object)) return ANSWER_NO;
    const Follower *asked = callable_follower(c->object, follow_builtin);
    if (asked == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    return asked == NULL ? follow_builtin(c, NULL) : ANSWER_NO;
}

static Answer
follow_of_numpy(const Call *c)
{
    return follow_numpy_type(c, NULL);
}

/* A bound C function that each attribute access makes anew: itertools.chain.from_iterable */
static Answer
follow_bound(const Call *c)
{
    PyObject *self = PyCFunction_Check(c->object) ? PyCFunction_GET_SELF(c->object) : NULL;
    if (self == NULL || PyModule_Check(self)) return ANSWER_NO;
    PyObject *function = PyDict_GetItemWithError(decompositions, c->object);
    PyErr_Clear(); /* not hashable */
    return function == NULL ? ANSWER_NO : follow_decomposed(c, function);
}

static Answer
follow_python(const Call *c)
{
    if (!PyFunction_Check(c->object)) return ANSWER_NO;
    return call_python(c->in, c->callable, c->nargs, c->args, c->kwnames, c->out);
}

static Answer
follow_class(const Call *c)
{
    if (!PyType_Check(c->object) || !type_is_heap((PyTypeObject *)c->object)) return ANSWER_NO;
    return class_call(c->in, c->callable, c->nargs, c->args, c->kwnames, c->out);
}

static Answer
follow_descriptor(const Call *c)
{
    return call_descriptor(c->in, c->callable, c->nargs, c->args, c->kwnames, c->out);
}

/* No rule follows the call: the break. */
static Answer
not_followed(const Call *c)
{
    PyObject *object = c->object;
    if (ufunc_check(object) || array_function_check(object))
        return interp_break(c->in, BREAK_NUMPY, "call of '%s'", value_describe(c->in, c->callable));
    if (PyCFunction_Check(object) &&
        strcmp(((PyCFunctionObject *)object)->m_ml->ml_name, "__build_class__") == 0)
        return interp_break(c->in, BREAK_CLASS, "a class is made here");
    if (Py_TYPE(object)->tp_call == NULL && !type_is_heap(Py_TYPE(object)))
        return raise_new(c->in, PyExc_TypeError, "'%.200s' object is not callable",
                         Py_TYPE(object)->tp_name);
    return interp_break(c->in, BREAK_CALL_C, "call of '%s'", value_describe(c->in, c->callable));
}

Answer
call_const(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    static Answer (*const by_type[])(const Call *) = {
        follow_exception_class, follow_exception_method,
        follow_enum_member,     follow_stream_method,
        follow_modelled,        follow_compiled,
        follow_of_numpy,        follow_bound,
        follow_python,          follow_class,
        follow_descriptor,
    };
    Call call = {in, callable, callable->object, nargs, args, kwnames, out};
    if (add_decompositions() < 0) return ANSWER_ERROR;
    Answer answer = call_followed(&call, RANK_OWN);
    for (int i = 0; answer == ANSWER_NO && i < COUNT_OF(by_type); i++) answer = by_type[i](&call);
    return answer == ANSWER_NO ? not_followed(&call) : answer;
}

Answer
call_object(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
            Value **out)
{
    PyObject *object = callable->object;
    if (callable->kind == V_INSTANCE) return call_special(in, callable, nargs, args, kwnames, out);
    if (PyFunction_Check(object)) {
        if (value_guard_type(in, callable) < 0) return ANSWER_ERROR;
        return call_python(in, callable, nargs, args, kwnames, out);
    }
    if (decorated_kind(object) != DECORATED_NOT)
        return decorated_call(in, callable, nargs, args, kwnames, out);
    if (callable->source != NO_SOURCE && lru_check(object))
        return lru_call(in, callable, nargs, args, kwnames, out);
    if (type_is_partial(callable->type))
        return partial_call(in, callable, nargs, args, kwnames, out);
    Value *model;
    Answer answer = model_open(in, callable, &model);
    if (answer == ANSWER_YES) return call_special(in, model, nargs, args, kwnames, out);
    if (answer_stops(answer)) return answer;
    return call_special(in, callable, nargs, args, kwnames, out);
}

Answer
call_method(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
            Value **out)
{
    int all = nargs + (kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0);
    if (method->object != NULL && value_item(in, method, 1) != NULL &&
        value_is_random(in, method->items[1]))
        return draw_bound(in, method, nargs, args, kwnames, out);
    Value **with_self = arena_alloc(in->arena, ((size_t)all + 1) * sizeof(Value *));
    if (with_self == NULL) return ANSWER_ERROR;
    with_self[0] = method->items[1];
    memcpy(with_self + 1, args, (size_t)all * sizeof(Value *));
    return call_value(in, method->items[0], nargs + 1, with_self, kwnames, out);
}

Answer
call_builtin_method(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out)
{
    Value *self = method->items[0];
    if (self->object != NULL && self->object == array_errors_variable()) {
        int all = nargs + (kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0);
        return errstate_method(in, method->name, all, args, out);
    }
    if (self->exception != NULL)
        return exception_method(in, self, method->name, nargs, args, kwnames, out);
    if (self->kind == V_NODE && value_is_numpy(in, self))
        return array_method(in, self, method->name, nargs, args, kwnames, out);
    if (value_is_random(in, self))
        return draw_method(in, self, method->name, nargs, args, kwnames, out);
    if (value_is_opaque_object(in, self))
        return object_method(in, self, method->name, nargs, args, kwnames, out);
    if (self->kind == V_CONST && ufunc_check(self->object)) {
        PyObject *of_ufunc = keep(in, PyObject_GetAttrString(self->object, method->name));
        Call call = {in, method, of_ufunc, nargs, args, kwnames, out};
        return of_ufunc ? follow_numpy_type(&call, NULL) : raise_error(in);
    }
    return builtin_method(in, self, method->name, nargs, args, kwnames, out);
}

Answer
call_node(Interp *in, Value *node, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    if (value_is_opaque_object(in, node))
        return object_method(in, node, "__call__", nargs, args, kwnames, out);
    return interp_break(in, BREAK_CALL_C, "call of %s", value_describe(in, node));
}

/* ---- the instructions ---- */

/* Splits the pair under the arguments into the callable and self (or NULL). */
static Value *
pair_callable(Value *low, Value *high, Value **self)
{
    *self = NULL;
    if (low->kind == V_NULL) return high;
    if (high->kind != V_NULL) *self = high;
    return low;
}

static Answer
call_ex(Interp *in, const Instr *instr)
{
    bool has_keywords = instr->arg & 1;
    Value *keywords = has_keywords ? top_value(in, 1) : NULL;
    Value *positional = top_value(in, 1 + has_keywords), *items, *self, *result;
    Value *high = top_value(in, 2 + has_keywords), *low = top_value(in, 3 + has_keywords);
    if (positional == NULL || high == NULL || low == NULL || (has_keywords && keywords == NULL))
        return ANSWER_ERROR;
    Value *callable = pair_callable(low, high, &self);
    if (has_keywords) keywords = model_dict(in, keywords);
    if (has_keywords && keywords->kind != V_DICT)
        return interp_break(in, BREAK_CALL_PYTHON, "** of something that is not a known dict");
    Answer answer = iterate_sized(in, positional, V_LIST, &items);
    if (answer != ANSWER_YES) return answer;
    int nargs = items->nitems, nkw = has_keywords ? keywords->nitems / 2 : 0;
    PyObject *names = nkw ? PyTuple_New(nkw) : NULL;
    if (nkw && names == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nkw; i++) {
        Value *value = value_item(in, keywords, 2 * i + 1);
        PyObject *name = keywords->items[2 * i]->object;
        PyTuple_SET_ITEM(names, i, Py_NewRef(name));
        if (value == NULL || value_append(in, items, value) < 0) answer = ANSWER_ERROR;
        if (!PyUnicode_CheckExact(name))
            answer = raise_new(in, PyExc_TypeError, "keywords must be strings");
    }
    if (names != NULL && keep(in, names) == NULL) return ANSWER_ERROR;
    if (answer != ANSWER_YES) return answer;
    answer = call_value(in, callable, nargs, items->items, names, &result);
    if (answer != ANSWER_YES) return answer;
    in->top->depth -= 3 + has_keywords;
    return push(in, result) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
follow_call(Interp *in, const Instr *instr)
{
    if (instr->kind == I_CALL_EX) return call_ex(in, instr);
    PyObject *kwnames = NULL;
    int on_stack = 0, n = instr->arg;
    if (instr->kind == I_CALL_KW) {
        if (instr->arg2 >= 0) {
            kwnames = code_const(in, instr->arg2);
        } else {
            Value *names = top_value(in, 1);
            if (names == NULL) return ANSWER_ERROR;
            kwnames = names->object;
            on_stack = 1;
        }
    }
    Value **args = arena_alloc(in->arena, ((size_t)n + 1) * sizeof(Value *));
    if (args == NULL) return ANSWER_ERROR;
    for (int i = 0; i < n; i++)
        if ((args[i + 1] = top_value(in, n - i + on_stack)) == NULL) return ANSWER_ERROR;
    Value *high = top_value(in, n + 1 + on_stack), *low = top_value(in, n + 2 + on_stack), *self;
    if (high == NULL || low == NULL) return ANSWER_ERROR;
    Value *callable = pair_callable(low, high, &self), *result;
    args[0] = self;
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    Answer answer =
        call_value(in, callable, n - nkw + (self != NULL), args + (self == NULL), kwnames, &result);
    if (answer != ANSWER_YES) return answer;
    in->top->depth -= n + 2 + on_stack;
    return push(in, result) < 0 ? ANSWER_ERROR : ANSWER_YES;
}
