/* Numbers in a kept loop whose class nobody knows: `s = 0.0` stays Python's float where the inner
   loop that adds np.float64 to it makes no turn, or the branch that does is not taken.  The graph
   has the NumPy scalar; that is the same program as long as the number is only used where both give
   the same: an operation with a NumPy scalar of its dtype, a store into an array, an index, a
   condition, what converts it to one of Python's classes. With Python's numbers it gives such a
   number again, unless it is narrower than they are: those are computed with in its own dtype only.
   A divisor must be a number of Python's, of which loop_divides has made sure that it is not zero.
   A number may also be an int where the graph has a float (`t = 0` before a loop that makes floats
   of it). The two differ in the sign of a zero alone, which is asked of after the rest: a negated 0
   is no -0.0, and neither is 0 times a negative int. */
#include "control.h"

#include <math.h>

bool
loop_is_either(const Loop *loop, NodeId id)
{
    for (int i = 0; i < loop->either.len; i++)
        if (loop->either.at[i] == id) return true;
    return false;
}

int
loop_note_either(Interp *in, Loop *loop, NodeId id, bool ints)
{
    if (VEC_PUSH(in->arena, &loop->either, id) < 0) return -1;
    return ints ? VEC_PUSH(in->arena, &loop->either_int, id) : 0;
}

/* Is it an int from -2**bits to 2**bits? */
static bool
int_has_bits(PyObject *object, int bits)
{
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0 && number <= 1LL << bits && number >= -(1LL << bits);
}

bool
loop_const_fits(const Node *node, DType to)
{
    if (node->op != OP_const || node->type.form != FORM_PYTHON) return false;
    PyObject *object = node->attrs.object;
    if (to == DT_F32 && node->type.dtype == DT_F64)
        return (double)(float)PyFloat_AS_DOUBLE(object) == PyFloat_AS_DOUBLE(object);
    if (node->type.dtype != DT_I64) return false;
    if (to == DT_F64 || to == DT_F32) return int_has_bits(object, to == DT_F64 ? 52 : 24);
    int overflow = 0, bits = 8 * (int)dtype_size(to) - dtype_is_signed(to);
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!dtype_is_integer(to) || overflow != 0) return false;
    if (bits >= 63) return dtype_is_signed(to) || number >= 0;
    return number < 1LL << bits && number >= (dtype_is_signed(to) ? -(1LL << bits) : 0);
}

Answer
loop_divides(Interp *in, Value *divisor)
{
    if (divisor->kind == V_CONST && value_is_python_scalar(in, divisor) &&
        PyObject_Not(divisor->object) == 1)
        return interp_break(in, BREAK_UNROLL, "a division by zero");
    if (divisor->kind != V_NODE || value_is_numpy(in, divisor)) return ANSWER_YES;
    Value *zero = value_const_new(in, PyLong_FromLong(0));
    return zero == NULL ? ANSWER_ERROR : scalar_assert(in, OP_py_ne, divisor, zero);
}

/* One of Python's numbers, made a scalar to be alike with others. */
static bool
is_python(const Loop *loop, NodeId id)
{
    for (int i = 0; i < loop->python.len; i++)
        if (loop->python.at[i] == id) return true;
    return false;
}

/* The number that a conversion was made of.  Other copies are NumPy's: its constants, results of
   operations on its integers and of powers, which are checked as Python's, and what the program
   itself converts; so are casts from before the loop. */
static NodeId
converted_from(const Graph *g, const Loop *loop, NodeId id)
{
    const Node *node = graph_node(g, id);
    while (node->type.form == FORM_SCALAR &&
           ((node->op == OP_cast && id > loop->top) ||
            ((node->op == OP_copy || node->op == OP_cast) && is_python(loop, id)))) {
        id = node->args[0];
        node = graph_node(g, id);
    }
    return id;
}

/* A dtype that has not all of Python's floats, or ints. */
static bool
is_narrow(DType dtype)
{
    return dtype != DT_F64 && dtype != DT_I64 && dtype != DT_BOOL && dtype != DT_C128;
}

/* Do Python's number and NumPy's scalar of dtype `own` give the same with a scalar of dtype `with`?
   Python's is weak: it takes a narrower dtype of its kind. */
static bool
promotes_alike(DType own, DType with)
{
    if (own == with) return true;
    if (is_narrow(own)) return false;
    if (with == DT_BOOL) return true;
    return own == DT_F64 ? dtype_is_integer(with) : with == DT_F64;
}

/* An int of the code, as Python's or as NumPy's. */
static bool
const_as_int(const Graph *g, NodeId id, long long *out)
{
    const Node *node = graph_node(g, id);
    if (node->op != OP_const) return false;
    PyObject *number = PyNumber_Index(node->attrs.object);
    int overflow = 0;
    *out = number != NULL ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
    bool known = number != NULL && overflow == 0;
    PyErr_Clear();
    Py_XDECREF(number);
    return known;
}

/* Do Python and NumPy compute the same of ints of NumPy's dtype, where that does not overflow?  An
   overflow leaves the loop. */
static bool
ints_compute_alike(const Graph *g, const Node *node)
{
    DType dtype = (DType)graph_node(g, node->args[0])->type.dtype;
    long long number;
    if (!dtype_is_integer(dtype) || errors_ignore_overflow(node->errors)) return false;
    switch (node->op) {
    case OP_add:
    case OP_subtract:
    case OP_multiply:
    case OP_negative:
    case OP_absolute:
    case OP_bitwise_and:
    case OP_bitwise_or:
    case OP_bitwise_xor: return true;
    case OP_invert: return dtype_is_signed(dtype);
    case OP_right_shift: return const_as_int(g, node->args[1], &number) && number >= 0;
    case OP_floor_divide:
    case OP_remainder: return const_as_int(g, node->args[1], &number) && number > 0;
    default: return false;
    }
}

static bool
compares(Op op)
{
    return op == OP_less || op == OP_less_equal || op == OP_greater || op == OP_greater_equal ||
           op == OP_equal || op == OP_not_equal;
}

typedef enum { USE_WRONG, USE_SAME, USE_EITHER } Use;

static bool
const_as_double(const Node *node, double *out)
{
    if (node->op != OP_const) return false;
    PyObject *object = node->attrs.object;
    if (!PyFloat_Check(object) && !PyLong_Check(object)) {
        *out = INFINITY; /* it may be of any size */
        return true;
    }
    *out = PyFloat_AsDouble(object);
    if (*out == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        *out = INFINITY;
    }
    return true;
}

/* The most that is added to what may be an int: all sums of a loop are exact in floats, too. */
static const double SMALL = 0x1p12;

/* Is a sum or product with what may be an int that with the float?  It is where the other operand
   is a float, or a small number; of products, where it is 1: other factors make ints that floats do
   not have, and 0 times a negative number has a sign. */
static Use
use_of_int(const Graph *g, const Loop *loop, const Node *node, bool product)
{
    for (int k = 0; k < 2; k++) {
        NodeId other = converted_from(g, loop, node->args[k]);
        const Node *from = graph_node(g, other);
        double number;
        if (!loop_is_either(loop, node->args[1 - k])) continue;
        if (loop_is_either(loop, other)) return USE_WRONG;
        while (from->op == OP_py_float) from = graph_node(g, from->args[0]);
        if (const_as_double(from, &number)) {
            if (number != floor(number)) return USE_SAME;
            if (product ? number != 1.0 : fabs(number) > SMALL) return USE_WRONG;
        } else if (dtype_is_float((DType)from->type.dtype)) {
            return USE_SAME;
        } else if (product || from->type.dtype != DT_BOOL) {
            return USE_WRONG;
        }
    }
    return USE_EITHER;
}

/* Of 0 that may be an int or float in place of a complex number.  With a complex number it becomes
   one of the class that the graph has; with another such it is 0 again. */
static Use
use_of_zero(const Graph *g, const Loop *loop, const Node *node)
{
    switch (node->op) {
    case OP_py_abs:
    case OP_py_pow: return USE_EITHER; /* the exponent is 1 or more */
    case OP_py_add:
    case OP_py_sub:
    case OP_py_mul:
    case OP_py_eq:
    case OP_py_ne: break;
    case OP_py_lt:
    case OP_py_le:
    case OP_less:
    case OP_less_equal:
    case OP_greater:
    case OP_greater_equal: return USE_SAME; /* of its absolute value */
    default: return USE_WRONG;
    }
    for (int k = 0; k < 2; k++) {
        const Node *other = graph_node(g, node->args[k]);
        if (loop_is_either(loop, node->args[k])) continue;
        bool real = other->op == OP_py_complex && graph_node(g, other->args[1])->op == OP_const;
        bool complex = other->type.dtype == DT_C128 && !real;
        bool numpy = graph_node(g, node->args[1 - k])->type.form == FORM_SCALAR;
        return complex && (!numpy || other->type.form == FORM_SCALAR) ? USE_SAME : USE_WRONG;
    }
    return USE_EITHER;
}

/* Is such a number a bool, of which more is asked than whether it is true?  The sum of two is an
   int of Python's, and a bool of NumPy's. */
static bool
computes_with_bool(const Graph *g, const Loop *loop, const Node *node)
{
    bool any = false;
    for (int k = 0; k < node->nargs; k++)
        any |= loop_is_either(loop, node->args[k]) &&
               graph_node(g, node->args[k])->type.dtype == DT_BOOL;
    switch (node->op) {
    case OP_py_bool:
    case OP_py_float:
    case OP_py_int:
    case OP_py_eq:
    case OP_py_ne:
    case OP_py_lt:
    case OP_py_le: return false;
    default: return any && !compares(node->op);
    }
}

static Use
use_in_operation(const Graph *g, const Loop *loop, const Node *node)
{
    bool ints = loop->asks_ints, narrow = false;
    DType own = (DType)node->type.dtype;
    if (loop->asks_zeros) return use_of_zero(g, loop, node);
    if (computes_with_bool(g, loop, node)) return USE_WRONG;
    bool product = node->op == OP_py_mul || node->op == OP_multiply;
    bool sum = node->op == OP_py_add || node->op == OP_add || node->op == OP_py_sub ||
               node->op == OP_subtract;
    if (ints && (node->op == OP_py_neg || node->op == OP_negative)) return USE_WRONG;
    if (ints && (product || sum)) return use_of_int(g, loop, node, product);
    switch (node->op) {
    case OP_cast: /* nodes_widen */
        return is_python(loop, (NodeId)(node - graph_node(g, 0))) ? USE_EITHER : USE_WRONG;
    case OP_py_bool:
    case OP_py_float: /* math.sqrt(s), float(s) … */
    case OP_py_int: return USE_SAME;
    case OP_py_abs:
    case OP_py_real:
    case OP_py_imag:
        return graph_node(g, node->args[0])->type.dtype == DT_C128 ? USE_EITHER : USE_WRONG;
    case OP_py_neg:
    case OP_negative:
    case OP_absolute:
    case OP_invert:
        return node->op == OP_invert || (is_narrow(own) && own != DT_F32)
                   ? ints_compute_alike(g, node) ? USE_EITHER : USE_WRONG
                   : USE_EITHER;
    case OP_bitwise_and:
    case OP_bitwise_or:
    case OP_bitwise_xor:
    case OP_right_shift:
    case OP_floor_divide:
    case OP_remainder:
        if (!ints_compute_alike(g, node)) return USE_WRONG;
        break;
    case OP_py_add:
    case OP_py_sub:
    case OP_py_mul:
    case OP_py_eq:
    case OP_py_ne:
    case OP_py_lt:
    case OP_py_le:
    case OP_divide:
    case OP_add:
    case OP_subtract:
    case OP_multiply:
    case OP_less:
    case OP_less_equal:
    case OP_greater:
    case OP_greater_equal:
    case OP_equal:
    case OP_not_equal: break;
    default: return USE_WRONG;
    }
    for (int k = 0; k < 2; k++) {
        NodeId other = converted_from(g, loop, node->args[k]);
        const Node *from = graph_node(g, other);
        if (!loop_is_either(loop, node->args[1 - k])) continue;
        own = (DType)graph_node(g, node->args[1 - k])->type.dtype;
        narrow |= is_narrow(own) && !ints_compute_alike(g, node) &&
                  !(compares(node->op) && dtype_is_integer(own));
        if (loop_is_either(loop, other) || from->type.form == FORM_PYTHON) continue;
        if (!promotes_alike(own, (DType)from->type.dtype)) return USE_WRONG;
        /* A constant in the loop may have been Python's. */
        if (from->op != OP_const || other < loop->top) return USE_SAME;
    }
    bool divisor = node->op == OP_divide && loop_is_either(loop, node->args[1]);
    return narrow || divisor ? USE_WRONG : USE_EITHER;
}

/* Of a ufunc's arguments: Python's float becomes a double there, too, unless another is smaller. */
static Use
use_in_call(const Graph *g, const Loop *loop, const Node *node)
{
    for (int k = 0; k < node->nargs; k++)
        if (graph_node(g, converted_from(g, loop, node->args[k]))->type.dtype != DT_F64)
            return USE_WRONG;
    return USE_SAME;
}

/* An operation of Python's on complex numbers or on int64, made NumPy's: numbers/complexes.c and
   numpy/ops.c. */
static bool
is_computed(const Graph *g, const Node *copy)
{
    const Node *node = graph_node(g, copy->args[0]);
    bool numpy = false;
    if (op_info(node->op)->kind != KIND_PYTHON || node->nargs == 0) return false;
    for (int i = 0; i < node->nargs; i++)
        numpy |= graph_node(g, node->args[i])->type.form == FORM_SCALAR;
    return graph_node(g, node->args[0])->type.dtype == DT_C128 ||
           (node->type.dtype == DT_I64 && numpy);
}

bool
loop_moves(const Loop *loop, NodeId id)
{
    for (int i = 0; i < loop->moved.len; i++)
        if (loop->moved.at[i] == id) return true;
    return false;
}

/* Does a list get the number with its class, which is not known? */
static bool
stores_class(const Loop *loop, NodeId id, const Node *node, int k)
{
    bool stores = node->op == OP_element_append || node->op == OP_element_unshift ||
                  (node->op == OP_element_put && k > 1) || (node->op == OP_element_set && k > 2);
    return stores && !loop_moves(loop, id);
}

/* How the node uses its argument number `k`, which is such a number. */
static Use
use_of(const Graph *g, const Loop *loop, const Node *node, int k)
{
    switch (op_info(node->op)->kind) {
    case KIND_PYTHON:
    case KIND_POINTWISE:
        return node->op == OP_where ? k == 0 ? USE_SAME : USE_EITHER
                                    : use_in_operation(g, loop, node);
    case KIND_COPY: return loop->asks_zeros || is_computed(g, node) ? USE_EITHER : USE_WRONG;
    case KIND_UFUNC: return use_in_call(g, loop, node);
    case KIND_ELEMENT: /* an index, or what is stored; a list has it with its class */
        return stores_class(loop, (NodeId)(node - graph_node(g, 0)), node, k) ? USE_WRONG
                                                                              : USE_SAME;
    case KIND_REGION:
        return node->op == OP_cond             ? USE_SAME
               : node->op == OP_loop && k >= 3 ? USE_EITHER
                                               : USE_WRONG;
    default: return USE_WRONG;
    }
}

/* Is what a loop or branch gives in place `index` such a number? */
static bool
result_is_either(const Graph *g, const Loop *loop, const Node *of, int64_t index)
{
    for (int r = 0; r < 2 && of->region[r] != NO_REGION; r++)
        if (loop_is_either(loop, g->regions.at[of->region[r]].results.at[index])) return true;
    return of->op == OP_loop && loop_is_either(loop, of->args[3 + index]);
}

static Answer
follow_either(Interp *in, Loop *loop, NodeId id)
{
    const Graph *g = in->graph;
    const Node *node = graph_node(g, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_RESULT) {
        const Node *of = graph_node(g, node->args[0]);
        bool either = op_info(of->op)->kind == KIND_REGION && !loop_is_either(loop, id) &&
                      result_is_either(g, loop, of, node->attrs.index);
        return either && VEC_PUSH(in->arena, &loop->either, id) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    for (int k = 0; k < node->nargs; k++) {
        if (!loop_is_either(loop, node->args[k])) continue;
        Use use = use_of(g, loop, node, k);
        if (use == USE_WRONG) {
            loop->wrong = node->args[k];
            loop->wrong_line = node->line;
            return ANSWER_NO;
        }
        if (use == USE_SAME) continue;
        NodeId next = kind == KIND_REGION ? g->regions.at[node->region[0]].params.at[k - 2] : id;
        if (!loop_is_either(loop, next) && VEC_PUSH(in->arena, &loop->either, next) < 0)
            return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* What a loop carries is such a number in the next iteration, too, and where that begins. */
static Answer
carried_either(Interp *in, Loop *loop, NodeId id, bool *more)
{
    const Graph *g = in->graph;
    const Node *node = graph_node(g, id);
    if (node->op != OP_loop) return ANSWER_YES;
    const Region *body = &g->regions.at[node->region[0]];
    for (int i = 0; i < body->results.len; i++) {
        NodeId param = body->params.at[1 + i];
        if (!loop_is_either(loop, body->results.at[i]) || loop_is_either(loop, param)) continue;
        if (graph_node(g, param)->type.form != FORM_SCALAR) return ANSWER_NO;
        if (VEC_PUSH(in->arena, &loop->either, param) < 0) return ANSWER_ERROR;
        *more = true;
    }
    return ANSWER_YES;
}

static Answer
all_harmless(Interp *in, Loop *loop, NodeId top)
{
    const Graph *g = in->graph;
    for (bool more = loop->either.len > 0; more;) {
        more = false;
        Answer answer = ANSWER_YES;
        for (NodeId id = top + 1; id < g->nodes.len && answer == ANSWER_YES; id++)
            answer = follow_either(in, loop, id);
        for (NodeId id = top; id < g->nodes.len && answer == ANSWER_YES; id++)
            answer = carried_either(in, loop, id, &more);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* Does the body ask for the class of such a number? */
static bool
asks_for_class(Loop *loop)
{
    for (int i = 0; i < loop->asked.len; i++) {
        if (!loop_is_either(loop, loop->asked.at[i].number)) continue;
        loop->wrong = loop->asked.at[i].number;
        loop->wrong_line = loop->asked.at[i].line;
        return true;
    }
    return false;
}

/* The same of those in another list; `asked` is the loop that asks this. */
static Answer
others_harmless(Interp *in, Loop *loop, Loop *asked, const void *list)
{
    memcpy(&asked->either, list, sizeof asked->either);
    Answer answer = all_harmless(in, asked, loop->top);
    loop->wrong = asked->wrong;
    loop->wrong_line = asked->wrong_line;
    return answer;
}

Answer
either_is_harmless(Interp *in, Loop *loop, NodeId top)
{
    loop->top = top;
    Answer answer = all_harmless(in, loop, top);
    if (answer == ANSWER_YES && asks_for_class(loop)) answer = ANSWER_NO;
    if (answer == ANSWER_YES && loop->either_int.len > 0) {
        Loop ints = *loop;
        ints.asks_ints = true;
        answer = others_harmless(in, loop, &ints, &loop->either_int);
    }
    if (answer != ANSWER_YES || loop->zeros.len == 0) return answer;
    Loop zeros = *loop;
    zeros.asks_zeros = true;
    return others_harmless(in, loop, &zeros, &loop->zeros);
}

/* ---- for messages ---- */

/* The name of the local whose number this is, or is computed from; NULL: not known. */
static const char *
name_of_either(const Interp *in, const Loop *loop, NodeId id, int deep)
{
    const Graph *g = in->graph;
    for (int i = 0; i < loop->locals.len; i++)
        if (loop->locals.at[i].node == id) return loop->locals.at[i].name;
    const Node *node = graph_node(g, id);
    const char *name = NULL;
    if (deep == 16) return NULL;
    if (op_info(node->op)->kind == KIND_RESULT) {
        const Node *of = graph_node(g, node->args[0]);
        if (op_info(of->op)->kind != KIND_REGION) return NULL;
        for (int r = 0; r < 2 && of->region[r] != NO_REGION && name == NULL; r++)
            name = name_of_either(
                in, loop, g->regions.at[of->region[r]].results.at[node->attrs.index], deep + 1);
        return name;
    }
    for (int k = 0; k < node->nargs && name == NULL; k++)
        if (loop_is_either(loop, node->args[k]))
            name = name_of_either(in, loop, node->args[k], deep + 1);
    return name;
}

const char *
loop_either_why(Interp *in, const Loop *loop)
{
    const char *name = loop->wrong_line > 0 ? name_of_either(in, loop, loop->wrong, 0) : NULL;
    if (name == NULL)
        return "a number is Python's or NumPy's, according to the branches that were taken, and "
               "it is used where that matters";
    const char *numpy = dtype_long_name((DType)graph_node(in->graph, loop->wrong)->type.dtype);
    const char *python = strncmp(numpy, "float", 5) == 0  ? "float"
                         : strncmp(numpy, "bool", 4) == 0 ? "bool"
                                                          : "int";
    return arena_printf(
        in->arena,
        "after some branches '%s' is Python's %s, after others a numpy.%s, which makes a "
        "difference in line %d (make it one of the two wherever it is set: %s(...) or np.%s(...))",
        name, python, numpy, loop->wrong_line, python, numpy);
}
