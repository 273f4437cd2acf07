/* Operands of what NumPy does elementwise, as nodes, and results as values. */
#include "numpy.h"

static Answer
break_operand(Interp *in, Value *value)
{
    BreakCode code = value_break(value, BREAK_OPERATOR);
    const char *what = value_describe(in, value);
    PyTypeObject *type = value_type(in, value);
    if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    PyObject *method = NULL;
    if (type != NULL && code == BREAK_OPERATOR)
        TRY(type_lookup_text(in, type, "__array__", &method));
    if (method != NULL)
        return break_hinted(in, code, HINT_AS_ARRAY, "%s, which NumPy makes an array of", what);
    if (value_is_wide(value)) return break_hinted(in, code, HINT_WIDE, "an operand: %s", what);
    return code == BREAK_OPERATOR
               ? interp_break(in, code, "an operand that is neither array nor number: %s", what)
               : interp_break(in, code, "an operand: %s", what);
}

bool
value_is_loose_number(Interp *in, const Value *value)
{
    PyObject *number = value_is_opaque_object(in, value) ? object_sample(in, value) : NULL;
    return number != NULL && (PyLong_Check(number) || PyFloat_Check(number) ||
                              PyComplex_Check(number) || array_scalar_check(number));
}

/* Is the object that the node gives one of two between which a branch decides (loose_choice)?
   `depth` bounds the walk. */
static bool
is_of_branch(Interp *in, NodeId id, int depth)
{
    const Node *node = graph_node(in->graph, id);
    OpKind kind = op_info(node->op)->kind;
    if (kind == KIND_REGION || node->op == OP_pick) return true;
    bool walks = (kind == KIND_EXTERN || kind == KIND_RESULT) && depth > 0;
    for (int i = 0; walks && i < node->nargs; i++)
        if (graph_node(in->graph, node->args[i])->type.form == FORM_OBJECT &&
            is_of_branch(in, node->args[i], depth - 1))
            return true;
    return false;
}

/* A number of a class that is known only when the plan runs. */
static Answer
break_loose(Interp *in, NodeId node)
{
    if (is_of_branch(in, node, 8))
        return break_hinted(
            in, BREAK_OPERATOR, HINT_EITHER,
            "a number that is Python's or NumPy's, according to the branches that were taken");
    return break_hinted(in, BREAK_OPERATOR, HINT_LOOSE,
                        "a number whose class is only known when the code runs");
}

Answer
operand(Interp *in, Value *value, NodeId *out)
{
    Answer answer = value_as_node(in, value, out);
    if (answer == ANSWER_NO) return break_operand(in, value);
    if (answer != ANSWER_YES) return answer;
    if (node_type(in, *out).dtype == DT_OBJECT) {
        const Opaque *opaque = opaque_of(in, *out);
        PyObject *sample = opaque_sample(in, value);
        if (value_is_loose_number(in, value)) return break_loose(in, *out);
        BreakCode told = dtype_break(sample, opaque ? opaque->why : BREAK_DATA_SIZE);
        BreakCode code = dtype_break(sample, BREAK_DTYPE);
        if (told == BREAK_DATA_SIZE) return break_of_size(in, code, *out, "an operand");
        bool part = told == BREAK_VARIES || told == BREAK_DATA_INDEX;
        answer = interp_break_told(in, code, told,
                                   part ? "an operand, a part of an array" : "an operand");
        if (told == BREAK_VARIES) in->told.hint = HINT_PLACE;
        return answer;
    }
    TRY_NODE(*out, array_current(in, *out));
    return ANSWER_YES;
}

Answer
array_operand(Interp *in, Value *value, NodeId *out)
{
    TRY(operand(in, value, out));
    if (node_type(in, *out).form == FORM_PYTHON)
        return interp_break(in, BREAK_NUMPY, "a Python number where an array is expected");
    return ANSWER_YES;
}

/* NumPy raises MemoryError at once, so a break is needed: a node that nobody reads is never
   made. */
static bool
is_too_large(const Interp *in, NodeId node)
{
    const Node *n = graph_node(in->graph, node);
    if (n->type.form != FORM_ARRAY || op_info(n->op)->kind == KIND_VIEW || n->op == OP_input)
        return false;
    double bytes = (double)dtype_size((DType)n->type.dtype);
    for (int i = 0; i < n->type.rank; i++) bytes *= (double)node_extent(in, node, i);
    return bytes > 0x1p40;
}

Answer
device_is_current(Interp *in, const Type *type)
{
    if (device_index((Device)type->device) == in->graph->current) return ANSWER_YES;
    return interp_break(in, BREAK_DEVICE, "an array of another device than the current one");
}

Answer
push_node(Interp *in, NodeId node, Value **out)
{
    if (is_too_large(in, node)) return interp_break(in, BREAK_TOO_LARGE, "more than 1 TiB");
    *out = value_node(in, node);
    if (*out == NULL) return ANSWER_ERROR;
    Type type = node_type(in, node);
    OpKind kind = op_info(graph_node(in->graph, node)->op)->kind;
    if (type.device == DEVICE_HOST) return ANSWER_YES;
    (*out)->kind = V_DEVICE;
    if (kind != KIND_VIEW && kind != KIND_INPUT) TRY(device_is_current(in, &type));
    return lengths_are_several(in, &type);
}

/* ---- arrays whose lengths change from turn to turn ---- */

Answer
lengths_fit(Interp *in, NodeId *node, Type *with)
{
    Graph *g = in->graph;
    Type type = node_type(in, *node);
    bool changed = false;
    for (int i = 1; i <= type.rank && i <= with->rank; i++) {
        SizeId *own = &type.shape[type.rank - i], to = with->shape[with->rank - i];
        if (*own == to || size_is_one(g, *own) || size_is_one(g, to)) continue;
        if (size_is_const(g, *own) && size_is_const(g, to)) continue;
        TRY(sizes_assert_same(in, *own, to));
        if (type_now(g, &type) < 0 || type_now(g, with) < 0) return ANSWER_ERROR;
        to = with->shape[with->rank - i];
        changed = changed || *own != to;
        *own = to;
    }
    return changed ? node_view(in, OP_as_strided, *node, &type, 0, NULL, node) : ANSWER_YES;
}

Answer
lengths_agree(Interp *in, int nargs, NodeId *args)
{
    for (int k = 1; k < nargs; k++)
        for (int m = 0; m < k; m++) {
            Type with = node_type(in, args[m]);
            TRY(lengths_fit(in, &args[k], &with));
        }
    return ANSWER_YES;
}

/* ---- one of two numbers ---- */

/* ANSWER_NO: it is no number of that dtype. */
static Answer
side_as_python(Interp *in, NodeId side, DType dtype, NodeId *out)
{
    Type type = node_type(in, side), python = type_scalar(dtype, FORM_PYTHON);
    PyObject *object = graph_node(in->graph, side)->attrs.object;
    if (type.form == FORM_SCALAR && type.dtype == dtype)
        return node_form(in, side, FORM_PYTHON, out);
    if (type.form == FORM_PYTHON && type.dtype == dtype) {
        *out = side;
        return ANSWER_YES;
    }
    int overflow = 0;
    bool known = graph_node(in->graph, side)->op == OP_const && object != NULL;
    bool is_int = known && PyLong_CheckExact(object);
    if (is_int) PyLong_AsLongLongAndOverflow(object, &overflow);
    bool fits = dtype == DT_I64 ? is_int && overflow == 0 : known && PyFloat_CheckExact(object);
    if (!fits) return ANSWER_NO;
    TRY_NODE(*out, graph_const(in->graph, in->region, object, &python));
    return ANSWER_YES;
}

/* The number that a kept loop leaves as Python's or NumPy's (loop_pick_class): one number. */
static bool
is_same_number(Interp *in, const Node *pick, DType dtype)
{
    const Node *python = graph_node(in->graph, pick->args[0]);
    return python->type.form == FORM_PYTHON && python->type.dtype == dtype && python->nargs == 1 &&
           python->args[0] == pick->args[1] &&
           (python->op == OP_py_int || python->op == OP_py_float);
}

Answer
picked_number(Interp *in, const Value *value, DType dtype, Value **out)
{
    const Node *pick = graph_node(in->graph, value->node);
    Type type = type_scalar(dtype, FORM_PYTHON);
    NodeId chosen;
    if (pick->op != OP_pick) return ANSWER_NO;
    if (is_same_number(in, pick, dtype)) {
        *out = value_node(in, pick->args[0]);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    NodeId sides[2] = {pick->args[0], pick->args[1]}, args[3] = {pick->args[2]};
    TRY(side_as_python(in, sides[1], dtype, &args[1]));
    TRY(side_as_python(in, sides[0], dtype, &args[2]));
    TRY_NODE(chosen, graph_add(in->graph, in->region, OP_where, 3, args, &type, NULL));
    *out = value_node(in, chosen);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
