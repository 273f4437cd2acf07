/* Calls: finding out what the callable is, and the instructions. */
#include "control.h"

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
    PyObject *module = dict_named(PyFunction_GET_GLOBALS(function), "__name__");
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
    if (found == NULL)
        return raise_new(in, PyExc_TypeError, "'%.200s' object is not callable",
                         callable->type->tp_name);
    if (Py_TYPE(found) == &PyWrapperDescr_Type)
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

/* C code that no table names: a function, a class, a descriptor. */
static Answer
follow_compiled(const Call *c)
{
    const Follower *asked = callable_follower(c->object, follow_builtin);
    if (asked == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    return asked == NULL ? follow_builtin(c, NULL) : ANSWER_NO;
}

/* A bound C function that each attribute access makes anew: itertools.chain.from_iterable */
static Answer
follow_bound(const Call *c)
{
    PyObject *self = PyCFunction_Check(c->object) ? PyCFunction_GET_SELF(c->object) : NULL;
    if (self == NULL || PyModule_Check(self)) return ANSWER_NO;
    PyObject *function = decomposition_of(c->object);
    PyErr_Clear(); /* not hashable */
    return function == NULL ? ANSWER_NO : follow_decomposed(c, function);
}

/* A constant that no table names, as its type says. */
static Answer
follow_by_type(const Call *c)
{
    Interp *in = c->in;
    PyObject *object = c->object, *names = c->kwnames;
    Value *callable = c->callable, *const *args = c->args, **out = c->out;
    int n = c->nargs;
    bool type = PyType_Check(object), python = PyFunction_Check(object);
    Answer answer = ANSWER_NO;
    if (PyExceptionClass_Check(object)) answer = exception_make(in, callable, n, args, names, out);
    if (answer == ANSWER_NO) answer = follow_exception_method(c);
    if (answer == ANSWER_NO && is_enum_member(object))
        answer = call_special(in, callable, n, args, names, out);
    if (answer == ANSWER_NO && names == NULL) answer = output_write(in, object, n, args, out);
    if (answer == ANSWER_NO && type) answer = model_make(in, object, n, args, names, out);
    if (answer == ANSWER_NO && !python) answer = follow_compiled(c);
    if (answer == ANSWER_NO) answer = follow_numpy_type(c, NULL);
    if (answer == ANSWER_NO) answer = follow_bound(c);
    if (answer == ANSWER_NO && python) answer = call_python(in, callable, n, args, names, out);
    if (answer == ANSWER_NO && type && type_is_heap((PyTypeObject *)object))
        answer = class_call(in, callable, n, args, names, out);
    return answer == ANSWER_NO ? call_descriptor(in, callable, n, args, names, out) : answer;
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
    bool method = Py_IS_TYPE(object, &PyMethodDescr_Type) && c->nargs > 0;
    BreakCode code = method ? value_break(c->args[0], BREAK_CALL_C) : BREAK_CALL_C;
    PyObject *self = PyCFunction_Check(object) ? PyCFunction_GET_SELF(object) : NULL;
    if (self != NULL && array_is_exact(self)) code = dtype_break(self, BREAK_CALL_C);
    return interp_break(c->in, code, "call of '%s'", value_describe(c->in, c->callable));
}

/* Has the graph got a call of a library function since it had so many nodes? */
static bool
calls_since(const Interp *in, int nnodes)
{
    for (NodeId id = nnodes; id < in->graph->nodes.len; id++)
        if (op_info(graph_node(in->graph, id)->op)->kind == KIND_EXTERN) return true;
    return false;
}

/* For the cost model: CPython would have run the function's Python code, of which the functions
   that it calls are a part. */
static void
note_library(Interp *in, PyObject *function, int calls, int length)
{
    int own = in->loop == NULL ? array_function_length(function) : 0;
    if (own <= in->out->library_code - length) return;
    in->out->library_calls = calls + 1;
    in->out->library_code = length + own;
}

/* NumPy would make an array of rows of a kept loop: what is told is the function's name. */
static Answer
tell_rows(Interp *in, const Call *call)
{
    bool numpy = ufunc_check(call->object) || array_function_check(call->object);
    if (in->loop == NULL || !numpy || in->told.hint != HINT_AS_ARRAY) return ANSWER_BREAK;
    for (int i = 0; i < call->nargs; i++) {
        if (!value_is_section(in, call->args[i])) continue;
        in->told.code = BREAK_UNROLL;
        in->told.hint = HINT_OF_CODE;
        in->told.detail =
            arena_printf(in->arena, "a call of '%s' on %s", value_describe(in, call->callable),
                         value_describe(in, call->args[i]));
        return in->told.detail == NULL ? ANSWER_ERROR : ANSWER_BREAK;
    }
    return ANSWER_BREAK;
}

Answer
call_const(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    Call call = {in, callable, callable->object, nargs, args, kwnames, out};
    if (in->loop != NULL) {
        Answer section = section_call(in, call.object, nargs, args, kwnames, out);
        if (section != ANSWER_NO) return section;
    }
    if (decompositions_add(call.object) < 0) return ANSWER_ERROR;
    int nnodes = in->graph->nodes.len;
    int calls = in->out->library_calls, length = in->out->library_code;
    Answer answer = call_followed(&call, RANK_OWN);
    if (answer == ANSWER_NO) answer = follow_by_type(&call);
    if (answer == ANSWER_YES && array_function_check(call.object) && !calls_since(in, nnodes))
        note_library(in, call.object, calls, length);
    if (answer == ANSWER_BREAK) return tell_rows(in, &call);
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
    for (int i = 0; i < all; i++) with_self[i + 1] = args[i];
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
    if (value_is_device(self)) return device_block_method(in, self, method->name, out);
    if (value_is_section(in, self)) return section_method(in, method, nargs, args, kwnames, out);
    if (self->exception != NULL)
        return exception_method(in, self, method->name, nargs, args, kwnames, out);
    if (value_is_on_device(self))
        return device_method(in, self, method->name, nargs, args, kwnames, out);
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
