/* Draws from a random.Random in a kept loop, by its methods and by the functions of the module,
   which are methods of one that it hides.

   What Lib/random.py makes of the numbers of the stream is done in Python's arithmetic.  A method
   is followed where those that it calls itself are the class's own: attributes of the instance, and
   changed classes, are guarded like any attribute. */
#include "loop.h"

#include "../../arrays/arrays.h"

static PyObject *
random_module(void)
{
    return PyDict_GetItemString(PyImport_GetModuleDict(), "random");
}

/* Is the attribute the method of C, or of random.py, that it should be? */
static Answer
is_own(Interp *in, Value *self, const char *name, const char *real)
{
    PyObject *text = keep(in, PyUnicode_InternFromString(name));
    Value *method;
    if (text == NULL) return ANSWER_ERROR;
    TRY(attribute_find(in, self, text, &method));
    PyObject *found = (PyObject *)_PyType_Lookup(self->type, text);
    if (method->kind != V_METHOD || method->items[0]->object != found || found == NULL)
        return ANSWER_NO;
    if (Py_IS_TYPE(found, &PyMethodDescr_Type)) return ANSWER_YES;
    if (!PyFunction_Check(found) ||
        PyFunction_GET_GLOBALS(found) != PyModule_GetDict(random_module()))
        return ANSWER_NO;
    PyObject *called = ((PyFunctionObject *)found)->func_name;
    return PyUnicode_CompareWithASCIIString(called, real) == 0 ? ANSWER_YES : ANSWER_NO;
}

static Answer
draws_bits(Interp *in, Value *self)
{
    TRY(is_own(in, self, "_randbelow", "_randbelow_with_getrandbits"));
    return is_own(in, self, "getrandbits", "getrandbits");
}

static Answer
draw_float(Interp *in, Value *self, ArrayDraw function, Value **out)
{
    TRY(is_own(in, self, "random", "random"));
    return loop_draw_number(in, self, function, 0, NULL, FORM_PYTHON, out);
}

/* Random._randbelow */
static Answer
draw_below(Interp *in, Value *self, Value *limit, Value **out)
{
    NodeId node;
    if (value_type(in, limit) != &PyLong_Type) return ANSWER_NO;
    TRY(draws_bits(in, self));
    TRY(value_as_unpinned_node(in, limit, &node));
    if (graph_node(in->graph, node)->type.dtype != DT_I64) return ANSWER_NO;
    return loop_draw_number(in, self, DRAW_python_below, 1, &node, FORM_PYTHON, out);
}

/* ---- methods: `args` are those behind self ---- */

/* a + (b - a) * self.random() */
static Answer
uniform(Interp *in, Value *self, int n, Value *const *args, Value **out)
{
    Value *range, *number;
    if (n != 2) return ANSWER_NO;
    TRY(operate_binary(in, OPERATOR_SUB, args[1], args[0], &range));
    TRY(draw_float(in, self, DRAW_uniform_01, &number));
    TRY(operate_binary(in, OPERATOR_MUL, range, number, &number));
    return operate_binary(in, OPERATOR_ADD, args[0], number, out);
}

/* mu + z * sigma */
static Answer
normal(Interp *in, Value *self, ArrayDraw function, int n, Value *const *args, Value **out)
{
    Value *z;
    if (n != 2) return ANSWER_NO;
    TRY(draw_float(in, self, function, &z));
    TRY(operate_binary(in, OPERATOR_MUL, z, args[1], &z));
    return operate_binary(in, OPERATOR_ADD, args[0], z, out);
}

static Answer
gauss(Interp *in, Value *self, int n, Value *const *args, Value **out)
{
    return normal(in, self, DRAW_python_normal_01, n, args, out);
}

static Answer
normalvariate(Interp *in, Value *self, int n, Value *const *args, Value **out)
{
    return normal(in, self, DRAW_python_normalvariate_01, n, args, out);
}

/* -log(1.0 - self.random()) / lambd */
static Answer
expovariate(Interp *in, Value *self, int n, Value *const *args, Value **out)
{
    Value *number;
    if (n != 1) return ANSWER_NO;
    TRY(draw_float(in, self, DRAW_python_exponential_1, &number));
    return operate_binary(in, OPERATOR_DIV, number, args[0], out);
}

static Answer
between(Interp *in, Value *self, Value *start, Value *stop, Value **out)
{
    Value *width, *number;
    if (value_type(in, start) != &PyLong_Type || value_type(in, stop) != &PyLong_Type)
        return ANSWER_NO;
    TRY(operate_binary(in, OPERATOR_SUB, stop, start, &width));
    TRY(draw_below(in, self, width, &number));
    return operate_binary(in, OPERATOR_ADD, start, number, out);
}

static Answer
randrange(Interp *in, Value *self, int n, Value *const *args, Value **out)
{
    if (n == 1) return draw_below(in, self, args[0], out);
    return n == 2 ? between(in, self, args[0], args[1], out) : ANSWER_NO;
}

static Answer
randint(Interp *in, Value *self, int n, Value *const *args, Value **out)
{
    Value *one = value_const_new(in, PyLong_FromLong(1)), *stop;
    if (one == NULL) return ANSWER_ERROR;
    if (n != 2 || value_type(in, args[1]) != &PyLong_Type) return ANSWER_NO;
    TRY(is_own(in, self, "randrange", "randrange"));
    TRY(operate_binary(in, OPERATOR_ADD, args[1], one, &stop));
    return between(in, self, args[0], stop, out);
}

static Answer
choice(Interp *in, Value *self, int n, Value *const *args, Value **out)
{
    Value *length, *at;
    if (n != 1 || part_rank(in, args[0]) != 1) return ANSWER_NO;
    TRY(part_length(in, args[0], &length));
    TRY(draw_below(in, self, length, &at));
    return loop_element_load(in, args[0], at, out);
}

enum { MOST_PARAMETERS = 3 };

static const struct {
    const char *name;
    Answer (*follow)(Interp *in, Value *self, int n, Value *const *args, Value **out);
    bool filled; /* it gets the defaults, too */
} methods[] = {
    {"uniform", uniform, false},
    {"gauss", gauss, true},
    {"normalvariate", normalvariate, true},
    {"expovariate", expovariate, true},
    {"randrange", randrange, false},
    {"randint", randint, false},
    {"choice", choice, false},
};

/* Puts the function's defaults behind the `n` arguments, self not counted; how many there are then,
   or -1 with the error set. */
static int
fill_defaults(Interp *in, PyObject *function, int n, Value **args)
{
    PyObject *defaults = PyFunction_GET_DEFAULTS(function);
    int all = ((PyCodeObject *)PyFunction_GET_CODE(function))->co_argcount - 1;
    int first = defaults == NULL ? all : all - (int)PyTuple_GET_SIZE(defaults);
    for (; n >= first && n < all && n < MOST_PARAMETERS; n++)
        if ((args[n] = value_const(in, PyTuple_GET_ITEM(defaults, n - first))) == NULL) return -1;
    return n;
}

Answer
loop_draw_python(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out)
{
    PyObject *module = random_module(), *called = function->object;
    Value *all[MOST_PARAMETERS];
    if (module == NULL || kwnames != NULL || nargs < 1 || nargs > 1 + MOST_PARAMETERS ||
        !PyFunction_Check(called) || PyFunction_GET_GLOBALS(called) != PyModule_GetDict(module) ||
        draw_class(in, args[0]) != DRAWS_PYTHON)
        return ANSWER_NO;
    PyObject *name = ((PyFunctionObject *)called)->func_name;
    for (int i = 0; i < COUNT_OF(methods); i++) {
        if (PyUnicode_CompareWithASCIIString(name, methods[i].name) != 0) continue;
        if (in->loop == NULL) return loop_learn_numbers(in);
        int n = nargs - 1;
        memcpy(all, args + 1, sizeof(Value *) * (size_t)n);
        if (methods[i].filled) n = fill_defaults(in, called, n, all);
        if (n < 0 || call_guard_part(in, function, "__code__", PyFunction_GET_CODE(called)) < 0 ||
            call_guard_part(in, function, "__defaults__", PyFunction_GET_DEFAULTS(called)) < 0)
            return ANSWER_ERROR;
        return methods[i].follow(in, args[0], n, all, out);
    }
    return ANSWER_NO;
}

/* random() and getrandbits(k), which are C */
Answer
loop_draw_compiled(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                   Value **out)
{
    NodeId node;
    bool bits = strcmp(name, "getrandbits") == 0 && nargs == 1;
    if (draw_class(in, self) != DRAWS_PYTHON || !(bits || (strcmp(name, "random") == 0 && !nargs)))
        return ANSWER_NO;
    if (in->loop == NULL) return loop_learn_numbers(in);
    if (!bits) return loop_draw_number(in, self, DRAW_uniform_01, 0, NULL, FORM_PYTHON, out);
    if (value_type(in, args[0]) != &PyLong_Type) return ANSWER_NO;
    TRY(value_as_unpinned_node(in, args[0], &node));
    return loop_draw_number(in, self, DRAW_python_bits, 1, &node, FORM_PYTHON, out);
}
