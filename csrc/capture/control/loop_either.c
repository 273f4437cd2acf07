/* Numbers in a kept loop whose class nobody knows: `s = 0.0` stays Python's float where the inner
   loop that adds np.float64 to it makes no turn, or the branch that does is not taken.  The graph
   has the NumPy scalar; that is the same program as long as the number is only used where both give
   the same: an operation with a NumPy scalar of its dtype, a store into an array, a condition. With
   Python's numbers it gives such a number again; a divisor must be a number of Python's, of which
   loop_divides has made sure that it is not zero. */
#include "control.h"

static bool
is_either(const Loop *loop, NodeId id)
{
    for (int i = 0; i < loop->either.len; i++)
        if (loop->either.at[i] == id) return true;
    return false;
}

Answer
loop_divides(Interp *in, Value *divisor)
{
    if (divisor->kind == V_CONST && value_is_python_scalar(in, divisor) &&
        PyObject_Not(divisor->object) == 1)
        return interp_break(in, BREAK_UNROLL, "a division by zero");
    if (divisor->kind != V_NODE || value_is_numpy(in, divisor)) return ANSWER_YES;
    Value *operands[2] = {divisor, value_const_new(in, PyLong_FromLong(0))}, *test, *ignored;
    if (operands[1] == NULL) return ANSWER_ERROR;
    test = scalar_emit(in, OP_py_ne, DT_BOOL, 2, operands, NULL);
    ignored = test != NULL ? scalar_emit(in, OP_py_assert, DT_BOOL, 1, &test, NULL) : NULL;
    return ignored != NULL ? ANSWER_YES : ANSWER_ERROR;
}

/* The number that a conversion was made of. */
static NodeId
converted_from(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    while ((node->op == OP_cast || node->op == OP_copy) && node->type.form == FORM_SCALAR) {
        id = node->args[0];
        node = graph_node(g, id);
    }
    return id;
}

/* Do Python's number and NumPy's scalar of dtype `own` give the same with a scalar of dtype `with`?
   Python's is weak: it takes a narrower dtype of its kind. */
static bool
promotes_alike(DType own, DType with)
{
    if (own == with || with == DT_BOOL) return true;
    return own == DT_F64 ? dtype_is_integer(with) : with == DT_F64;
}

typedef enum { USE_WRONG, USE_SAME, USE_EITHER } Use;

static Use
use_in_operation(const Graph *g, const Loop *loop, const Node *node)
{
    switch (node->op) {
    case OP_py_bool: return USE_SAME;
    case OP_py_neg:
    case OP_negative:
    case OP_absolute: return USE_EITHER;
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
        NodeId other = converted_from(g, node->args[k]);
        const Node *from = graph_node(g, other);
        DType own = (DType)graph_node(g, node->args[1 - k])->type.dtype;
        if (!is_either(loop, node->args[1 - k]) || is_either(loop, other) ||
            from->type.form != FORM_SCALAR)
            continue;
        if (!promotes_alike(own, (DType)from->type.dtype)) return USE_WRONG;
        /* A constant may have been Python's. */
        if (from->op != OP_const) return USE_SAME;
    }
    return node->op == OP_divide && is_either(loop, node->args[1]) ? USE_WRONG : USE_EITHER;
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
    case KIND_ELEMENT:
        return node->op == OP_element_store && k == node->nargs - 1 ? USE_SAME : USE_WRONG;
    case KIND_REGION: return node->op == OP_cond ? USE_SAME : k >= 3 ? USE_EITHER : USE_WRONG;
    default: return USE_WRONG;
    }
}

/* Is what a loop or branch gives in place `index` such a number? */
static bool
result_is_either(const Graph *g, const Loop *loop, const Node *of, int64_t index)
{
    for (int r = 0; r < 2 && of->region[r] != NO_REGION; r++)
        if (is_either(loop, g->regions.at[of->region[r]].results.at[index])) return true;
    return of->op == OP_loop && is_either(loop, of->args[3 + index]);
}

static Answer
follow_either(Interp *in, Loop *loop, NodeId id)
{
    const Graph *g = in->graph;
    const Node *node = graph_node(g, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_RESULT) {
        const Node *of = graph_node(g, node->args[0]);
        bool either = op_info(of->op)->kind == KIND_REGION && !is_either(loop, id) &&
                      result_is_either(g, loop, of, node->attrs.index);
        return either && VEC_PUSH(in->arena, &loop->either, id) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    for (int k = 0; k < node->nargs; k++) {
        if (!is_either(loop, node->args[k])) continue;
        Use use = use_of(g, loop, node, k);
        if (use == USE_WRONG) return ANSWER_NO;
        if (use == USE_SAME) continue;
        NodeId next = kind == KIND_REGION ? g->regions.at[node->region[0]].params.at[k - 2] : id;
        if (!is_either(loop, next) && VEC_PUSH(in->arena, &loop->either, next) < 0)
            return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* A loop that carries such a number starts from one, too; the outermost one gives none. */
static bool
carries_either(const Graph *g, const Loop *loop, NodeId id, bool outermost)
{
    const Node *node = graph_node(g, id);
    if (node->op != OP_loop) return false;
    const Region *body = &g->regions.at[node->region[0]];
    for (int i = 0; i < body->results.len; i++)
        if (is_either(loop, body->results.at[i]) &&
            (outermost || !is_either(loop, body->params.at[1 + i])))
            return true;
    return false;
}

Answer
either_is_harmless(Interp *in, Loop *loop, NodeId top)
{
    const Graph *g = in->graph;
    if (loop->either.len == 0) return ANSWER_YES;
    for (NodeId id = top + 1; id < g->nodes.len; id++) {
        Answer answer = follow_either(in, loop, id);
        if (answer != ANSWER_YES) return answer;
    }
    for (NodeId id = top; id < g->nodes.len; id++)
        if (carries_either(g, loop, id, id == top)) return ANSWER_NO;
    return ANSWER_YES;
}
