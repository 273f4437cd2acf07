/* Pure functions, types and methods of Python's library: called while capturing when their
   arguments are known. */
#include "objects.h"

/* ---- which are pure ---- */

static const char *const texts[] = {"repr", "ascii", "format", "chr", "hex", "oct", "bin", NULL};
static const char *const numbers[] = {"round", "divmod", "pow", "ord", "hash", "issubclass", NULL};
static const char *const clocks[] = {
    "time",         "time_ns",      "perf_counter",    "perf_counter_ns", "monotonic",
    "monotonic_ns", "process_time", "process_time_ns", "thread_time",     NULL};

/* Every argument is known without a further guard, or is a scalar whose text can be made at
   commit. */
static Answer
call_text(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    if (nargs == 0) return fold_call(in, callable, nargs, args, out);
    return text_of_value(in, callable, nargs, args, out);
}

/* operator.add(a, b) is a + b; ANSWER_NO for operator's other functions. */
static Answer
call_operator(Interp *in, const char *name, int nargs, Value *const *args, Value **out)
{
    bool result;
    Answer answer;
    for (int i = 0; nargs == 2 && i < IN_PLACE; i++)
        if (strcmp(name, operators[i].function) == 0)
            return operate_binary(in, i, args[0], args[1], out);
    for (int i = 0; nargs == 2 && i < 6; i++)
        if (strcmp(name, comparison_names[i]) == 0)
            return operate_compare(in, i, args[0], args[1], out);
    if (nargs == 2 && strcmp(name, "getitem") == 0)
        return operate_subscript(in, args[0], args[1], out);
    if (nargs == 1 && strcmp(name, "neg") == 0)
        return operate_unary(in, I_UNARY_NEGATIVE, args[0], out);
    if (nargs == 1 && strcmp(name, "pos") == 0)
        return operate_unary(in, I_UNARY_POSITIVE, args[0], out);
    if (nargs == 1 && (strcmp(name, "invert") == 0 || strcmp(name, "inv") == 0))
        return operate_unary(in, I_UNARY_INVERT, args[0], out);
    if (nargs == 1 && strcmp(name, "not_") == 0)
        return operate_unary(in, I_UNARY_NOT, args[0], out);
    if (nargs != 2) return ANSWER_NO;
    if (strcmp(name, "contains") == 0)
        answer = operate_contains(in, args[1], args[0], &result);
    else if (strcmp(name, "is_") == 0 || strcmp(name, "is_not") == 0)
        answer = operate_is(in, args[0], args[1], &result);
    else
        return ANSWER_NO;
    if (answer != ANSWER_YES) return answer;
    *out = value_const(in, result != (strcmp(name, "is_not") == 0) ? Py_True : Py_False);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Functions of os.path that work on text alone: no file is accessed. */
static Answer
call_path(Interp *in, PyObject *callable, const char *name, int nargs, Value *const *args,
          Value **out)
{
    static const char *const names[] = {"_path_normpath", "_path_splitroot", "_path_splitroot_ex",
                                        NULL};
    if (nargs == 1 && strcmp(name, "fspath") == 0) {
        PyTypeObject *type = value_type(in, args[0]);
        *out = args[0];
        if (type == &PyUnicode_Type || type == &PyBytes_Type) return ANSWER_YES;
        return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    }
    return is_one_of(name, names) ? fold_named(in, callable, nargs, args, NULL, out) : ANSWER_NO;
}

/* The call on numbers that kept varying, as on those that arrays give. */
static Answer
call_on_unknown(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    PyObject *module = ((PyCFunctionObject *)callable)->m_module;
    Value *unknown[2] = {NULL, NULL};
    if (nargs < 1 || nargs > 2) return ANSWER_NO;
    for (int i = 0; i < nargs; i++) {
        NodeId node;
        if (!value_is_python_scalar(in, args[i])) return ANSWER_NO;
        TRY(value_as_node(in, args[i], &node));
        if ((unknown[i] = value_node(in, node)) == NULL) return ANSWER_ERROR;
    }
    return scalar_call(in, callable, PyUnicode_AsUTF8(module),
                       ((PyCFunctionObject *)callable)->m_ml->ml_name, nargs, unknown, out);
}

/* math and cmath: computed while capturing, else of what the run tells. */
static Answer
call_mathematics(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out)
{
    int all = nargs + (kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0);
    Value **listed = arena_alloc(in->arena, sizeof(Value *) * (size_t)(all + 1));
    if (listed == NULL) return ANSWER_ERROR;
    bool walked = false;
    for (int i = 0; i < all; i++) {
        listed[i] = args[i];
        if (args[i]->kind != V_ITER && args[i]->kind != V_VIEW) continue;
        Answer items = iterate_all(in, args[i], V_LIST, &listed[i]);
        if (items != ANSWER_YES) return items;
        walked = true;
    }
    if (walked) {
        Value *again = value_const(in, callable);
        return again ? call_value(in, again, nargs, listed, kwnames, out) : ANSWER_ERROR;
    }
    Answer answer = fold_named(in, callable, nargs, args, kwnames, out);
    if (answer != ANSWER_BREAK || in->raising.raised != NULL || in->loop != NULL) return answer;
    WholeCall call = {.callable = callable, .nargs = nargs, .args = args, .kwnames = kwnames};
    BreakNote note = break_take(in);
    answer = kwnames == NULL ? call_on_unknown(in, callable, nargs, args, out) : ANSWER_NO;
    return break_unless(in, answer != ANSWER_NO ? answer : call_whole(in, &call, out), &note);
}

/* A function of the module `random` that is C. */
static Answer
call_random(Interp *in, PyObject *self, const char *name, int nargs, Value *const *args,
            PyObject *kwnames, Value **out)
{
    Value *generator = value_const(in, self);
    if (generator == NULL) return ANSWER_ERROR;
    Answer answer = kwnames == NULL
                        ? in->above->draw_compiled(in, generator, name, nargs, args, out)
                        : ANSWER_NO;
    if (answer != ANSWER_NO) return answer;
    return break_hinted(in, BREAK_CLOCK, in->loop != NULL ? HINT_DRAWN : HINT_OF_CODE, "random.%s",
                        name);
}

static Answer
call_c_function(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                Value **out)
{
    PyObject *self = PyCFunction_GET_SELF(callable),
             *module = ((PyCFunctionObject *)callable)->m_module;
    const char *name = ((PyCFunctionObject *)callable)->m_ml->ml_name;
    const char *from = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    if (self == (PyObject *)&PyDict_Type && strcmp(name, "fromkeys") == 0 && nargs > 0 && nargs < 3)
        return dict_fromkeys(in, nargs, args, out);
    if (strcmp(name, "__new__") == 0 && (nargs == 0 || args[0]->object != self)) return ANSWER_NO;
    if (self == (PyObject *)&PyLong_Type || self == (PyObject *)&PyFloat_Type ||
        self == (PyObject *)&PyBytes_Type || strcmp(name, "maketrans") == 0)
        return fold_named(in, callable, nargs, args, kwnames, out);
    if (self != NULL && PyObject_TypeCheck(self, &PyBaseObject_Type) && !PyModule_Check(self) &&
        strcmp(Py_TYPE(self)->tp_name, "Random") == 0)
        return call_random(in, self, name, nargs, args, kwnames, out);
    if (self != NULL && object_is_pattern(self))
        return fold_named(in, callable, nargs, args, kwnames, out);
    if (from == NULL) {
        PyErr_Clear();
        return ANSWER_NO;
    }
    if (strcmp(from, "posix") == 0 && kwnames == NULL)
        return call_path(in, callable, name, nargs, args, out);
    if (strcmp(from, "time") == 0 && is_one_of(name, clocks))
        return interp_break(in, BREAK_CLOCK, "time.%s", name);
    if (strcmp(from, "builtins") == 0) {
        if (is_one_of(name, texts) && kwnames == NULL)
            return call_text(in, callable, nargs, args, out);
        if (strcmp(name, "id") == 0) return interp_break(in, BREAK_IDENTITY, "%s", "");
        if (strcmp(name, "locals") == 0) return interp_break(in, BREAK_LOCALS, "%s", "");
        if (is_one_of(name, numbers)) return fold_named(in, callable, nargs, args, kwnames, out);
    }
    if (strcmp(from, "_operator") == 0 && kwnames == NULL)
        return call_operator(in, name, nargs, args, out);
    if (strcmp(from, "math") == 0 || strcmp(from, "cmath") == 0)
        return call_mathematics(in, callable, nargs, args, kwnames, out);
    if (strcmp(from, "_json") == 0) return fold_named(in, callable, nargs, args, kwnames, out);
    return ANSWER_NO;
}

/* str.upper(text), list.append(items, x): the method, called on the first argument. */
static Answer
fold_descriptor(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                Value **out)
{
    if (nargs == 0) return ANSWER_NO;
    PyTypeObject *type = value_type(in, args[0]);
    if (type == NULL) return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    const char *called = PyUnicode_AsUTF8(PyDescr_NAME(callable));
    Answer drawn = strcmp(PyDescr_TYPE(callable)->tp_name, "_random.Random") == 0 && kwnames == NULL
                       ? in->above->draw_compiled(in, args[0], called, nargs - 1, args + 1, out)
                       : ANSWER_NO;
    if (drawn != ANSWER_NO) return drawn;
    if (PyDescr_TYPE(callable) != type || type == array_class() ||
        (args[0]->kind == V_NODE && value_is_numpy(in, args[0])) ||
        (type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return ANSWER_NO;
    const char *name = PyUnicode_AsUTF8(PyDescr_NAME(callable));
    if (name == NULL) return ANSWER_ERROR;
    return builtin_method(in, args[0], name, nargs - 1, args + 1, kwnames, out);
}

/* ---- the re module: its functions keep a cache, which is not observable ---- */

static bool
is_of_re(PyObject *function)
{
    static const char *const names[] = {"compile", "match", "fullmatch", "search", "findall",
                                        "sub",     "subn",  "split",     "escape", NULL};
    PyObject *globals = PyFunction_GET_GLOBALS(function);
    PyObject *module = PyDict_GetItemString(globals, "__name__");
    PyObject *modules = PyImport_GetModuleDict(), *re = PyDict_GetItemString(modules, "re");
    if (module == NULL || re == NULL || !PyModule_Check(re) || PyModule_GetDict(re) != globals)
        return false;
    const char *name = PyUnicode_AsUTF8(((PyFunctionObject *)function)->func_name);
    return name != NULL && is_one_of(name, names) &&
           PyDict_GetItemString(globals, name) == function;
}

Answer
call_pure(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
          Value **out)
{
    if (PyCFunction_Check(callable))
        return call_c_function(in, callable, nargs, args, kwnames, out);
    if (Py_TYPE(callable) == &PyMethodDescr_Type || Py_TYPE(callable) == &PyWrapperDescr_Type)
        return fold_descriptor(in, callable, nargs, args, kwnames, out);
    if (PyFunction_Check(callable) && is_of_re(callable))
        return fold_named(in, callable, nargs, args, kwnames, out);
    if (callable == (PyObject *)&PyUnicode_Type && nargs == 1 && kwnames == NULL)
        return call_text(in, callable, nargs, args, out);
    if (callable == (PyObject *)&PyBytes_Type || callable == (PyObject *)&PyComplex_Type ||
        callable == (PyObject *)&PyUnicode_Type)
        return fold_named(in, callable, nargs, args, kwnames, out);
    if (callable == (PyObject *)&PyLong_Type && (kwnames != NULL || nargs == 2))
        return fold_named(in, callable, nargs, args, kwnames, out);
    if (callable == (PyObject *)&PyBaseObject_Type && nargs == 0 && kwnames == NULL) {
        *out = value_sequence(in, V_INSTANCE, 0, NULL);
        if (*out == NULL) return ANSWER_ERROR;
        (*out)->type = &PyBaseObject_Type;
        return ANSWER_YES;
    }
    return ANSWER_NO;
}
