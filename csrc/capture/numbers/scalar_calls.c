/* C functions, operators and methods on Python numbers that came out of arrays.
   A few have an op (KIND_PYTHON); any other is a step of the plan that calls the real function on
   the real number, so that every bit, big integers included, is CPython's.  An exception that it
   raises is a deopt, and so is a result of another type than the table says.  Results that are not
   numbers (mostly text) are V_PURE: not in the graph, made when the plan commits. */
#include "numbers.h"

#include "../../config.h"

enum { MOST_ARGS = 8 };

typedef struct {
    const char *module, *name;
    int least, most; /* arguments */
    /* Type of the result: f float, i int, b bool, c complex, several letters: a tuple of them; s:
       text */
    const char *gives;
} Function;

static const Function functions[] = {
    {"math", "atan2", 2, 2, "f"},        {"math", "ceil", 1, 1, "i"},
    {"math", "comb", 2, 2, "i"},         {"math", "copysign", 2, 2, "f"},
    {"math", "factorial", 1, 1, "i"},    {"math", "floor", 1, 1, "i"},
    {"math", "fma", 3, 3, "f"},          {"math", "fmod", 2, 2, "f"},
    {"math", "frexp", 1, 1, "fi"},       {"math", "gcd", 1, 8, "i"},
    {"math", "hypot", 1, 8, "f"},        {"math", "isclose", 2, 2, "b"},
    {"math", "isfinite", 1, 1, "b"},     {"math", "isinf", 1, 1, "b"},
    {"math", "isnan", 1, 1, "b"},        {"math", "isqrt", 1, 1, "i"},
    {"math", "lcm", 1, 8, "i"},          {"math", "ldexp", 2, 2, "f"},
    {"math", "log", 1, 2, "f"},          {"math", "modf", 1, 1, "ff"},
    {"math", "nextafter", 2, 2, "f"},    {"math", "perm", 1, 2, "i"},
    {"math", "pow", 2, 2, "f"},          {"math", "remainder", 2, 2, "f"},
    {"math", "trunc", 1, 1, "i"},        {"math", NULL, 1, 1, "f"}, /* sin … */
    {"cmath", "phase", 1, 1, "f"},       {"cmath", "polar", 1, 1, "ff"},
    {"cmath", "isnan", 1, 1, "b"},       {"cmath", "isinf", 1, 1, "b"},
    {"cmath", "isfinite", 1, 1, "b"},    {"cmath", "isclose", 2, 2, "b"},
    {"cmath", "rect", 2, 2, "c"},        {"cmath", NULL, 1, 2, "c"},
    {"builtins", "hash", 1, 1, "i"},     {"builtins", "hex", 1, 1, "s"},
    {"builtins", "oct", 1, 1, "s"},      {"builtins", "bin", 1, 1, "s"},
    {"builtins", "chr", 1, 1, "s"},      {"builtins", "repr", 1, 1, "s"},
    {"builtins", "ascii", 1, 1, "s"},    {"builtins", "format", 1, 2, "s"},
    {"builtins", "pow", 3, 3, "i"},      {"float", "is_integer", 1, 1, "b"},
    {"float", "hex", 1, 1, "s"},         {"int", "bit_length", 1, 1, "i"},
    {"int", "bit_count", 1, 1, "i"},     {"int", "is_integer", 1, 1, "b"},
    {"complex", "conjugate", 1, 1, "c"},
};

/* Functions of math that take a sequence, or are not functions of one number. */
static bool
is_odd(const char *name)
{
    return strcmp(name, "fsum") == 0 || strcmp(name, "prod") == 0 || strcmp(name, "dist") == 0 ||
           strcmp(name, "sumprod") == 0;
}

static const Function *
function_of(const char *module, const char *name, int nargs)
{
    for (int i = 0; i < COUNT_OF(functions); i++) {
        const Function *found = &functions[i];
        if (strcmp(found->module, module) != 0 || nargs < found->least || nargs > found->most)
            continue;
        if (found->name == NULL ? !is_odd(name) : strcmp(found->name, name) == 0) return found;
    }
    return NULL;
}

/* ---- the arguments ---- */

static bool
any_unknown(Interp *in, int nargs, Value *const *args)
{
    for (int i = 0; i < nargs; i++)
        if (value_is_unknown_scalar(in, args[i])) return true;
    return false;
}

static DType
dtype_of(char letter)
{
    return letter == 'f' ? DT_F64 : letter == 'i' ? DT_I64 : letter == 'b' ? DT_BOOL : DT_C128;
}

/* callable(args) as a step. */
static Answer
scalar_step(Interp *in, PyObject *callable, const char *gives, int nargs, Value *const *args,
            Value **out)
{
    NodeId nodes[MOST_ARGS], node;
    if (nargs > MOST_ARGS) return ANSWER_NO;
    for (int i = 0; i < nargs; i++) {
        if (!value_is_number(in, args[i])) return ANSWER_NO;
        Answer answer = value_as_node(in, args[i], &nodes[i]);
        if (answer != ANSWER_YES) return answer;
    }
    int n = (int)strlen(gives);
    Type type =
        n == 1 ? type_scalar(dtype_of(gives[0]), FORM_PYTHON) : type_scalar(DT_OBJECT, FORM_OBJECT);
    Answer answer = node_extern(in, callable, nargs, nodes, &type, &node);
    if (answer != ANSWER_YES) return answer;
    if (n == 1) {
        *out = value_node(in, node);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    Value *items[4];
    for (int i = 0; i < n; i++) {
        Attrs attrs = {.index = i};
        Type each = type_scalar(dtype_of(gives[i]), FORM_PYTHON);
        NodeId result = graph_add(in->graph, in->region, OP_result, 1, &node, &each, &attrs);
        if (result == NO_NODE || (items[i] = value_node(in, result)) == NULL) return ANSWER_ERROR;
    }
    *out = value_sequence(in, V_TUPLE, n, items);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* An object of exactly `type` that a pure callable makes when the plan commits. */
static Answer
scalar_pure(Interp *in, PyTypeObject *type, PyObject *callable, Value *self, Value **out)
{
    *out = value_sequence(in, V_PURE, 1, &self);
    if (*out == NULL || keep(in, Py_NewRef(callable)) == NULL) return ANSWER_ERROR;
    (*out)->object = callable;
    (*out)->type = type;
    return ANSWER_YES;
}

static DType
number_dtype(Interp *in, const Value *value)
{
    if (value->kind == V_NODE) return (DType)graph_node(in->graph, value->node)->type.dtype;
    return PyBool_Check(value->object)         ? DT_BOOL
           : PyLong_CheckExact(value->object)  ? DT_I64
           : PyFloat_CheckExact(value->object) ? DT_F64
                                               : DT_C128;
}

/* ---- functions ---- */

/* The operation that is the function of math: of its name, but for two. */
static Op
own_op(const char *name, int nargs)
{
    char own[32];
    if (strcmp(name, "fabs") == 0) return OP_py_abs;
    snprintf(own, sizeof own, "py_%s", name);
    int op = op_from_name(own);
    static const char *const others[] = {"py_complex", "py_real", "py_imag"};
    for (int i = 0; i < COUNT_OF(others); i++)
        if (strcmp(own, others[i]) == 0) return OP_COUNT;
    return op >= 0 && op_info((Op)op)->arity == nargs ? (Op)op : OP_COUNT;
}

/* math.isnan and the like of a double. */
static Answer
own_test(Interp *in, const char *name, Value *number, Value **out)
{
    Value *magnitude, *infinite = value_const_new(in, PyFloat_FromDouble(Py_HUGE_VAL));
    if (infinite == NULL) return ANSWER_ERROR;
    if (strcmp(name, "isnan") == 0) {
        Value *both[2] = {number, number};
        *out = scalar_emit(in, OP_py_ne, DT_BOOL, 2, both, NULL);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    magnitude = scalar_emit(in, OP_py_abs, DT_F64, 1, &number, NULL);
    Value *both[2] = {magnitude, infinite};
    Op op = strcmp(name, "isinf") == 0 ? OP_py_eq : OP_py_lt;
    *out = magnitude == NULL ? NULL : scalar_emit(in, op, DT_BOOL, 2, both, NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* An int, or one of NumPy's that int64 holds, as Python's. */
static Answer
own_int(Interp *in, Value *arg, Value **out)
{
    if (!value_is_number(in, arg)) return ANSWER_NO;
    if (value_is_numpy(in, arg) && arg->kind != V_NODE) return ANSWER_NO;
    DType from = number_dtype(in, arg);
    if ((!dtype_is_integer(from) && from != DT_BOOL) || from == DT_U64) return ANSWER_NO;
    return scalar_convert(in, arg, DT_I64, out);
}

/* math.gcd of any number of ints, and math.isqrt, in a kept loop. */
static Answer
own_function_of_ints(Interp *in, const char *name, int nargs, Value *const *args, Value **out)
{
    bool gcd = strcmp(name, "gcd") == 0;
    Value *both[2], *zero = value_const_new(in, PyLong_FromLong(0));
    if (in->loop == NULL || (!gcd && strcmp(name, "isqrt") != 0)) return ANSWER_NO;
    if (zero == NULL) return ANSWER_ERROR;
    TRY(own_int(in, args[0], &both[0]));
    *out = scalar_emit(in, gcd ? OP_py_gcd : OP_py_isqrt, DT_I64, 1 + gcd,
                       (Value *[]){both[0], zero}, NULL);
    for (int i = 1; i < nargs && *out != NULL; i++) {
        both[0] = *out;
        TRY(own_int(in, args[i], &both[1]));
        *out = scalar_emit(in, OP_py_gcd, DT_I64, 2, both, NULL);
    }
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A function of math of two numbers, in a kept loop. */
static Answer
own_function_of_two(Interp *in, const char *name, Value *const *args, Value **out)
{
    Op op = own_op(name, 2);
    Value *numbers[2];
    if (in->loop == NULL || op == OP_COUNT) return ANSWER_NO;
    for (int i = 0; i < 2; i++) {
        if (!value_is_number(in, args[i])) return ANSWER_NO;
        DType from = number_dtype(in, args[i]);
        if (value_is_numpy(in, args[i]) && args[i]->kind != V_NODE) return ANSWER_NO;
        if (from == DT_F16 || dtype_is_complex(from)) return ANSWER_NO;
        TRY(scalar_convert(in, args[i], DT_F64, &numbers[i]));
    }
    *out = scalar_emit(in, op, DT_F64, 2, numbers, NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
own_function(Interp *in, const char *name, Value *arg, Value **out)
{
    Op op = own_op(name, 1);
    Value *number;
    bool truncates = in->loop != NULL && strcmp(name, "trunc") == 0 && arg->kind == V_NODE;
    if (truncates && graph_node(in->graph, arg->node)->type.dtype == DT_F64)
        return scalar_convert(in, arg, DT_I64, out);
    bool tests = in->loop != NULL && (strcmp(name, "isnan") == 0 || strcmp(name, "isinf") == 0 ||
                                      strcmp(name, "isfinite") == 0);
    if ((op == OP_COUNT && !tests) || arg->kind != V_NODE) return ANSWER_NO;
    if (in->loop == NULL && op > OP_py_tanh && !(op == OP_py_floor || op == OP_py_ceil) &&
        op != OP_py_abs)
        return ANSWER_NO; /* a step, which is called once */
    DType from = (DType)graph_node(in->graph, arg->node)->type.dtype;
    bool rounds = op == OP_py_floor || op == OP_py_ceil;
    if (from != DT_F64 && (rounds || from == DT_F16 || dtype_is_complex(from))) return ANSWER_NO;
    Answer answer = scalar_convert(in, arg, DT_F64, &number);
    if (answer != ANSWER_YES) return answer;
    if (tests) return own_test(in, name, number, out);
    *out = scalar_emit(in, op, rounds ? DT_I64 : DT_F64, 1, &number, NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* round(number), and round(number, digits) of Python's, in a kept loop. */
static Answer
own_round(Interp *in, int nargs, Value *const *args, Value **out)
{
    Value *both[2];
    if (args[0]->kind != V_NODE || (value_is_numpy(in, args[0]) && nargs == 2)) return ANSWER_NO;
    DType from = number_dtype(in, args[0]);
    if (nargs == 1 && !value_is_numpy(in, args[0]) && from != DT_F64)
        return from == DT_C128 ? ANSWER_NO : scalar_convert(in, args[0], DT_I64, out);
    if (from != DT_F64 && (nargs == 2 || from != DT_F32)) return ANSWER_NO;
    TRY(scalar_convert(in, args[0], DT_F64, &both[0]));
    if (nargs == 2) TRY(own_int(in, args[1], &both[1]));
    *out = nargs == 1 ? scalar_emit(in, OP_py_round, DT_I64, 1, both, NULL)
                      : scalar_emit(in, OP_py_round_to, DT_F64, 2, both, NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
round_number(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    if (nargs > 2 || !value_is_number(in, args[0])) return ANSWER_NO;
    bool none = nargs == 2 && args[1]->kind == V_CONST && args[1]->object == Py_None;
    DType dtype = value_is_numpy(in, args[0]) ? DT_COUNT : number_dtype(in, args[0]);
    if (dtype == DT_C128) return ANSWER_NO;
    Answer own = in->loop != NULL ? own_round(in, none ? 1 : nargs, args, out) : ANSWER_NO;
    if (own != ANSWER_NO) return own;
    if (nargs == 1 || none) return scalar_step(in, callable, "i", 1, args, out);
    if (dtype == DT_COUNT) { /* complex numbers and bools have no __round__ */
        DType number = DT_OBJECT;
        char bytes[16];
        if (args[0]->kind == V_NODE)
            number = (DType)graph_node(in->graph, args[0]->node)->type.dtype;
        else if (array_scalar_read(args[0]->object, &number, bytes) == ANSWER_ERROR)
            return ANSWER_ERROR;
        if (!dtype_is_integer(number) && !dtype_is_float(number))
            return interp_break(in, BREAK_NUMPY, "round() of %s", dtype_long_name(number));
    }
    if (dtype == DT_COUNT) return array_method(in, args[0], "round", 1, args + 1, NULL, out);
    return scalar_step(in, callable, dtype == DT_F64 ? "f" : "i", 2, args, out);
}

static Answer
divmod_numbers(Interp *in, Value *const *args, Value **out)
{
    enum { FLOORDIV = 2, MOD = 6 };
    Value *parts[2];
    if (!value_is_python_scalar(in, args[0]) || !value_is_python_scalar(in, args[1]))
        return ANSWER_NO;
    Answer answer = operate_binary(in, FLOORDIV, args[0], args[1], &parts[0]);
    if (answer == ANSWER_YES) answer = operate_binary(in, MOD, args[0], args[1], &parts[1]);
    if (answer != ANSWER_YES) return answer;
    *out = value_sequence(in, V_TUPLE, 2, parts);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
scalar_call(Interp *in, PyObject *callable, const char *module, const char *name, int nargs,
            Value *const *args, Value **out)
{
    if (strcmp(module, "builtins") == 0 && nargs == 2 &&
        (value_is_numpy(in, args[0]) || value_is_numpy(in, args[1]))) {
        if (strcmp(name, "pow") == 0) return operate_binary(in, 8, args[0], args[1], out);
        if (strcmp(name, "divmod") == 0) {
            Call call = {
                .in = in, .object = numpy_object("divmod"), .nargs = 2, .args = args, .out = out};
            return follow_numpy_type(&call, NULL);
        }
    }
    if (strcmp(module, "math") == 0 && nargs == 1) {
        Answer answer = numbers_math(in, name, args[0], out);
        if (answer != ANSWER_NO) return answer;
    }
    if (!any_unknown(in, nargs, args)) return ANSWER_NO;
    if (strcmp(module, "builtins") == 0) {
        if (strcmp(name, "round") == 0) return round_number(in, callable, nargs, args, out);
        if (strcmp(name, "divmod") == 0 && nargs == 2) return divmod_numbers(in, args, out);
        Answer absolute =
            strcmp(name, "abs") == 0 && nargs == 1 ? complex_absolute(in, args[0], out) : ANSWER_NO;
        if (absolute != ANSWER_NO) return absolute;
        if (strcmp(name, "abs") == 0 && nargs == 1 && value_is_python_scalar(in, args[0]) &&
            number_dtype(in, args[0]) == DT_C128)
            return scalar_step(in, callable, "f", 1, args, out);
        if (strcmp(name, "pow") == 0 && nargs == 2)
            return operate_binary(in, 8, args[0], args[1], out);
    }
    if (strcmp(module, "math") == 0 && nargs > 0) {
        Answer answer = own_function_of_ints(in, name, nargs, args, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (strcmp(module, "math") == 0 && nargs == 1) {
        Answer answer = own_function(in, name, args[0], out);
        if (answer != ANSWER_NO) return answer;
    }
    if (strcmp(module, "math") == 0 && nargs == 2) {
        Answer answer = own_function_of_two(in, name, args, out);
        if (answer != ANSWER_NO) return answer;
    }
    const Function *found = function_of(module, name, nargs);
    if (found == NULL) return ANSWER_NO;
    if (found->gives[0] == 's') return text_call(in, callable, nargs, args, out);
    return scalar_step(in, callable, found->gives, nargs, args, out);
}

Answer
scalar_type_call(Interp *in, PyTypeObject *type, int nargs, Value *const *args, Value **out)
{
    if (nargs == 0 || !any_unknown(in, nargs, args)) return ANSWER_NO;
    if (type == &PyComplex_Type && in->loop != NULL) {
        Answer answer = complex_new(in, nargs, args, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (type == &PyComplex_Type) return scalar_step(in, (PyObject *)type, "c", nargs, args, out);
    return ANSWER_NO;
}

/* ---- operators ---- */

Answer
scalar_operator_step(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *args[2] = {left, right};
    if (!any_unknown(in, 2, args) || !value_is_number(in, left) || !value_is_number(in, right))
        return ANSWER_NO;
    bool complex = number_dtype(in, left) == DT_C128 || number_dtype(in, right) == DT_C128;
    bool real = number_dtype(in, left) == DT_F64 || number_dtype(in, right) == DT_F64;
    const char *name = operators[operator_ % IN_PLACE].function;
    bool shifts = strcmp(name, "lshift") == 0 || strcmp(name, "rshift") == 0;
    bool powers = strcmp(name, "pow") == 0;
    bool adds = powers || strcmp(name, "add") == 0 || strcmp(name, "sub") == 0 ||
                strcmp(name, "mul") == 0 || strcmp(name, "truediv") == 0;
    const char *gives = complex && adds                           ? "c"
                        : !complex && !real && (shifts || powers) ? "i"
                                                                  : NULL;
    if (gives == NULL) return ANSWER_NO;
    PyObject *function = module_kept(in, "operator", name);
    return function == NULL ? ANSWER_ERROR : scalar_step(in, function, gives, 2, args, out);
}

Answer
scalar_compare_step(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *args[2] = {left, right};
    if (!any_unknown(in, 2, args)) return ANSWER_NO;
    PyObject *function = module_kept(in, "operator", comparison_names[operator_]);
    return function == NULL ? ANSWER_ERROR : scalar_step(in, function, "b", 2, args, out);
}

Answer
scalar_unary_step(Interp *in, InstrKind operator_, Value *operand, Value **out)
{
    if (!value_is_unknown_scalar(in, operand)) return ANSWER_NO;
    DType dtype = number_dtype(in, operand);
    const char *name = operator_ == I_UNARY_NEGATIVE   ? "neg"
                       : operator_ == I_UNARY_POSITIVE ? "pos"
                                                       : "invert";
    bool invert = operator_ == I_UNARY_INVERT;
    if (dtype == DT_F64 || (dtype == DT_BOOL && invert) || (dtype == DT_C128 && invert))
        return ANSWER_NO;
    if (invert && dtype == DT_U64) { /* ~x == -x - 1 */
        Value *negated = scalar_emit(in, OP_py_neg, DT_U64, 1, &operand, NULL);
        Value *one = value_const_new(in, PyLong_FromLong(1));
        return negated == NULL || one == NULL ? ANSWER_ERROR
                                              : scalar_binary(in, OPERATOR_SUB, negated, one, out);
    }
    if (invert && dtype == DT_I64) { /* ~x == -1 - x */
        Value *minus_one = value_const_new(in, PyLong_FromLong(-1));
        return minus_one == NULL ? ANSWER_ERROR
                                 : scalar_binary(in, OPERATOR_SUB, minus_one, operand, out);
    }
    PyObject *function = module_kept(in, "operator", name);
    if (function == NULL) return ANSWER_ERROR;
    return scalar_step(in, function, dtype == DT_C128 ? "c" : "i", 1, &operand, out);
}

/* ---- methods and attributes ---- */

Answer
scalar_method(Interp *in, Value *self, const char *name, int nargs, Value **out)
{
    if (nargs != 0 || !value_is_unknown_scalar(in, self)) return ANSWER_NO;
    DType dtype = number_dtype(in, self);
    if (strcmp(name, "conjugate") == 0 && dtype != DT_C128 && dtype != DT_BOOL) {
        *out = self;
        return ANSWER_YES;
    }
    const char *type_name = dtype == DT_F64 ? "float" : dtype == DT_C128 ? "complex" : "int";
    PyTypeObject *type = dtype == DT_F64    ? &PyFloat_Type
                         : dtype == DT_C128 ? &PyComplex_Type
                                            : &PyLong_Type;
    PyObject *method = PyObject_GetAttrString((PyObject *)type, name);
    if (method == NULL) {
        PyErr_Clear();
        return ANSWER_NO;
    }
    if (keep(in, method) == NULL) return ANSWER_ERROR;
    const Config *config = in->request->config;
    bool ratio = strcmp(name, "as_integer_ratio") == 0;
    if (ratio && config != NULL && config->backend_lengths) /* a derivative refuses it */
        return call_simple(in, method, 1, &self, out);
    if (ratio) return scalar_pure(in, &PyTuple_Type, method, self, out);
    const Function *found = function_of(type_name, name, 1);
    if (found == NULL) return ANSWER_NO;
    if (found->gives[0] == 's') return scalar_pure(in, &PyUnicode_Type, method, self, out);
    return scalar_step(in, method, found->gives, 1, &self, out);
}

Answer
scalar_attribute(Interp *in, Value *self, const char *name, Value **out)
{
    if (self->kind != V_NODE || !value_is_python_scalar(in, self)) return ANSWER_NO;
    DType dtype = number_dtype(in, self);
    bool real = strcmp(name, "real") == 0, imag = strcmp(name, "imag") == 0;
    bool whole = dtype == DT_I64;
    if (dtype == DT_C128 && (real || imag)) {
        PyObject *get = module_kept(in, "operator", "attrgetter");
        PyObject *function = get ? keep(in, PyObject_CallFunction(get, "s", name)) : NULL;
        return function == NULL ? ANSWER_ERROR : scalar_step(in, function, "f", 1, &self, out);
    }
    if (dtype != DT_F64 && !whole) return ANSWER_NO;
    if (real || (whole && strcmp(name, "numerator") == 0)) {
        *out = self;
        return ANSWER_YES;
    }
    if (imag)
        *out = value_const_new(in, whole ? PyLong_FromLong(0) : PyFloat_FromDouble(0.0));
    else if (whole && strcmp(name, "denominator") == 0)
        *out = value_const_new(in, PyLong_FromLong(1));
    else
        return ANSWER_NO;
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
