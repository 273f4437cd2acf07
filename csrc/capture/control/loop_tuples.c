/* Orders and equalities of tuples of numbers in a kept loop: `heap[child] < heap[parent]` where the
   items are (distance, node).

   The first pair that differs decides.  It differs where the two are not equal and not one object,
   which is the same but for a NaN: the loop is left to CPython where the left one is one.  Where
   some of the numbers are NumPy's, so is the answer, if it is not that all pairs are equal: a bool
   of which nobody may ask more than whether it is true (loop_either.c). */
#include "loop.h"

static bool
are_numbers(Interp *in, const Value *tuple)
{
    if (tuple->kind != V_TUPLE || (tuple->type != NULL && tuple->type != &PyTuple_Type))
        return false;
    for (int i = 0; i < tuple->nitems; i++)
        if (tuple->items == NULL || tuple->items[i] == NULL ||
            !value_is_number(in, tuple->items[i]))
            return false;
    return tuple->nitems > 0;
}

static bool
any_of_numpy(Interp *in, const Value *tuple)
{
    for (int i = 0; i < tuple->nitems; i++)
        if (value_is_numpy(in, tuple->items[i])) return true;
    return false;
}

/* The truth of a comparison, as one of Python's bools. */
static Answer
truth_of(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *outcome, *node;
    int known;
    TRY(operate_compare(in, operator_, left, right, &outcome));
    TRY(value_truth(in, outcome, &known, &node));
    *out = known < 0 ? node : value_const(in, known ? Py_True : Py_False);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
assert_no_nan(Interp *in, Value *number)
{
    Value *itself;
    TRY(truth_of(in, Py_EQ, number, number, &itself));
    if (itself->kind == V_CONST)
        return itself->object == Py_True ? ANSWER_YES : interp_break(in, BREAK_UNROLL, "a NaN");
    return scalar_emit(in, OP_py_assert, DT_BOOL, 1, &itself, NULL) == NULL ? ANSWER_ERROR
                                                                            : ANSWER_YES;
}

/* What holds from a pair on: it decides by `strict`, or is equal and `rest` holds. */
static Answer
from_pair(Interp *in, int strict, Value *left, Value *right, Value *rest, Value **out)
{
    Value *equal, *before;
    TRY(assert_no_nan(in, left));
    TRY(truth_of(in, Py_EQ, left, right, &equal));
    TRY(operate_binary(in, OPERATOR_AND, equal, rest, out));
    if (strict == Py_EQ) return ANSWER_YES;
    TRY(truth_of(in, strict, left, right, &before));
    return operate_binary(in, OPERATOR_OR, before, *out, out);
}

/* As NumPy's bool, whose class nobody knows. */
static Answer
made_either(Interp *in, Value **truth)
{
    Type type = {.dtype = DT_BOOL, .form = FORM_SCALAR, .offset = NO_SIZE};
    NodeId node;
    if ((*truth)->kind == V_CONST) return ANSWER_YES;
    TRY_NODE(node, graph_add(in->graph, in->region, OP_cast, 1, &(*truth)->node, &type, NULL));
    *truth = value_node(in, node);
    if (*truth == NULL) return ANSWER_ERROR;
    return loop_note_either(in, in->loop, node, false) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
loop_compare_tuples(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    static const int STRICT[] = {[Py_LT] = Py_LT, [Py_LE] = Py_LT, [Py_EQ] = Py_EQ,
                                 [Py_NE] = Py_NE, [Py_GT] = Py_GT, [Py_GE] = Py_GT};
    bool equals = operator_ == Py_LE || operator_ == Py_EQ || operator_ == Py_GE;
    if (in->loop == NULL || !are_numbers(in, left) || !are_numbers(in, right) ||
        left->nitems != right->nitems)
        return ANSWER_NO;
    *out = value_const(in, equals ? Py_True : Py_False);
    if (*out == NULL) return ANSWER_ERROR;
    for (int i = left->nitems; i-- > 0;)
        TRY(from_pair(in, STRICT[operator_], left->items[i], right->items[i], *out, out));
    bool decided = operator_ == Py_EQ || operator_ == Py_NE;
    bool numpy = !decided && (any_of_numpy(in, left) || any_of_numpy(in, right));
    return numpy ? made_either(in, out) : ANSWER_YES;
}
