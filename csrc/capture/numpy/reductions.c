/* Reductions and scans.
   A reduction is an op where NumPy's loops fix its order (pairwise float sums) and a kernel repeats
   that order; where NumPy works in buffered chunks of converted values (a float32 sum in float64,
   float16, complex), it is a call of NumPy's reduce.  mean, var and std follow
   numpy/_core/_methods.py step by step. */
#include "numpy.h"

typedef struct {
    int n; /* axes that are reduced, ascending */
    int axes[MAX_RANK];
    bool keepdims;
    int64_t count; /* how many elements are reduced to one … */
    SizeId size;   /* … which may change from turn to turn */
} Reduction;

Answer
value_as_axis(Interp *in, Value *value, int rank, int *axis)
{
    int64_t number;
    if (value_type(in, value) == &PyBool_Type) /* NumPy accepts a bool in some places only */
        return interp_break(in, BREAK_NUMPY, "a bool as axis");
    Answer answer = value_as_int(in, value, &number);
    if (answer == ANSWER_NO) return break_unknown_number(in, BREAK_NUMPY, value, "an axis");
    if (answer_stops(answer)) return answer;
    if (number < -rank || number >= rank)
        return interp_break(in, BREAK_SHAPE, "axis %lld is out of bounds", (long long)number);
    *axis = (int)(number < 0 ? number + rank : number);
    return ANSWER_YES;
}

Answer
value_as_axes(Interp *in, Value *value, int rank, int *n, int *axes)
{
    *n = -1;
    if (value_absent(value)) return ANSWER_YES;
    if (!value_is_sequence(value)) {
        *n = 1;
        return value_as_axis(in, value, rank, &axes[0]);
    }
    if (value->nitems > rank) return interp_break(in, BREAK_SHAPE, "more axes than dimensions");
    *n = 0;
    for (int i = 0; i < value->nitems; i++) {
        Value *item = value_item(in, value, i);
        if (item == NULL) return ANSWER_ERROR;
        TRY(value_as_axis(in, item, rank, &axes[i]));
        for (int k = 0; k < i; k++)
            if (axes[k] == axes[i]) return interp_break(in, BREAK_SHAPE, "an axis given twice");
        (*n)++;
    }
    return ANSWER_YES;
}

static Answer
parse_reduction(Interp *in, const Rule *rule, Value *const *args, const Type *type, Reduction *out)
{
    Value *axis = rule_arg(rule, args, "axis");
    if (axis != NULL && axis->kind == V_LIST)
        return interp_break(in, BREAK_SHAPE, "a list as axis");
    TRY(value_as_axes(in, axis, type->rank, &out->n, out->axes));
    TRY(value_as_flag(in, rule_arg(rule, args, "keepdims"), false, &out->keepdims));
    if (out->n < 0) {
        out->n = type->rank;
        for (int i = 0; i < out->n; i++) out->axes[i] = i;
    }
    for (int i = 1; i < out->n; i++) /* ascending */
        for (int k = i; k > 0 && out->axes[k - 1] > out->axes[k]; k--) {
            int axis_ = out->axes[k];
            out->axes[k] = out->axes[k - 1];
            out->axes[k - 1] = axis_;
        }
    out->size = size_const(in->graph, 1);
    for (int i = 0; i < out->n; i++)
        out->size = size_mul(in->graph, out->size, type->shape[out->axes[i]]);
    out->count = size_value(in->graph, out->size);
    return out->size == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}

/* NumPy raises, or warns, where fewer are reduced. */
static Answer
reduces_so_many(Interp *in, const Reduction *r, int64_t least)
{
    if (size_is_const(in->graph, r->size)) return ANSWER_YES; /* the caller has looked */
    return sizes_assert_at_most(in, size_const(in->graph, least), r->size);
}

/* The largest and the smallest of floats are found row by row only where there are columns: NumPy
   leaves out axes of one element.  A sum's kernel has both orders. */
static Answer
columns_are_some(Interp *in, const Type *from, const Reduction *r, Op op)
{
    int axes[MAX_RANK], n = type_axes(in->graph, from, axes), behind = n;
    int64_t least;
    if (!type_varies(in, from) || type_is_measured(in, from) || dtype_is_integer(from->dtype) ||
        (op != OP_max && op != OP_min))
        return ANSWER_YES;
    for (bool reduced = false; behind > 0 && !reduced; behind -= !reduced)
        for (int i = 0; i < r->n; i++) reduced = reduced || r->axes[i] == axes[behind - 1];
    if (behind <= 0 || behind == n) return ANSWER_YES;
    for (int i = behind; i < n; i++)
        if (size_lower(in->graph, from->shape[axes[i]], &least) && least > 1) return ANSWER_YES;
    return length_is_some(in, from->shape[axes[n - 1]], 2);
}

static Answer
reduced_type(Interp *in, const Type *from, const Reduction *r, DType dtype, Type *out)
{
    TRY(order_is_seen(in, from, 1, from));
    if (r->n == from->rank && !r->keepdims) {
        *out = type_scalar(dtype, FORM_SCALAR);
        return ANSWER_YES;
    }
    bool reduced[MAX_RANK] = {false};
    for (int i = 0; i < r->n; i++) reduced[r->axes[i]] = true;
    TRY(layout_is_fixed(in, from));
    int made = type_reduced(in->graph, out, dtype, from, reduced, r->keepdims);
    return made < 0 ? ANSWER_ERROR : layout_is_fixed(in, out);
}

static Answer
reduce_op(Interp *in, Op op, NodeId node, const Reduction *r, DType dtype, NodeId *out)
{
    Type from = node_type(in, node), type;
    TRY(columns_are_some(in, &from, r, op));
    TRY(reduced_type(in, &from, r, dtype, &type));
    int64_t ints[MAX_RANK];
    for (int i = 0; i < r->n; i++) ints[i] = r->axes[i];
    Attrs attrs = {.ints = ints, .nints = r->n, .keepdims = r->keepdims};
    TRY_NODE(*out, graph_add(in->graph, in->region, op, 1, &node, &type, &attrs));
    return ANSWER_YES;
}

static PyObject *
axes_object(Interp *in, const Reduction *r)
{
    PyObject *tuple = PyTuple_New(r->n);
    for (int i = 0; tuple != NULL && i < r->n; i++)
        PyTuple_SET_ITEM(tuple, i, PyLong_FromLong(r->axes[i]));
    return keep(in, tuple);
}

/* ufunc.reduce(array, axis, dtype, None, keepdims) when the plan runs. */
static Answer
reduce_extern(Interp *in, const char *method, NodeId node, const Reduction *r, DType dtype,
              NodeId *out)
{
    PyObject *callable = numpy_object(method), *axes = axes_object(in, r);
    PyObject *descr = keep(in, array_dtype_object(dtype));
    if (callable == NULL || axes == NULL || descr == NULL) return ANSWER_ERROR;
    Type from = node_type(in, node), type;
    TRY(reduced_type(in, &from, r, dtype, &type));
    NodeId args[5] = {node};
    TRY_NODE(args[1], node_object(in, axes));
    TRY_NODE(args[2], node_object(in, descr));
    TRY_NODE(args[3], node_object(in, Py_None));
    TRY_NODE(args[4], node_object(in, r->keepdims ? Py_True : Py_False));
    return node_extern(in, callable, 5, args, &type, out);
}

/* numpy.NAME(array, axis, **keywords) when the plan runs, for dtypes of which no op has NumPy's
   bits. `names` and `objects` are the keywords; the type is found by trial. */
static Answer
axis_extern(Interp *in, const char *name, NodeId node, Value *axis, int n, const char *const *names,
            PyObject *const *objects, NodeId *out)
{
    NodeId args[6] = {node};
    PyObject *known = Py_None, *kwnames = keep(in, PyTuple_New(n));
    if (kwnames == NULL) return ANSWER_ERROR;
    if (axis != NULL && value_known(in, axis, &known) != ANSWER_YES)
        return interp_break(in, BREAK_NUMPY, "an axis that is not known");
    TRY_NODE(args[1], node_object(in, known));
    for (int i = 0; i < n; i++) {
        PyObject *text = PyUnicode_InternFromString(names[i]);
        if (text == NULL || objects[i] == NULL) return ANSWER_ERROR;
        PyTuple_SET_ITEM(kwnames, i, text);
        TRY_NODE(args[2 + i], node_object(in, objects[i]));
    }
    return node_trial(in, numpy_object(name), 2 + n, args, n ? kwnames : NULL, out);
}

/* np.add.reduce and np.multiply.reduce take small integers as int64 or uint64. */
static DType
sum_dtype(DType dtype)
{
    if (dtype == DT_BOOL) return DT_I64;
    if (!dtype_is_integer(dtype)) return dtype;
    return dtype_is_signed(dtype) ? DT_I64 : DT_U64;
}

/* add.reduce or multiply.reduce with dtype `to`. */
static Answer
reduce_sum(Interp *in, bool product, NodeId node, const Reduction *r, DType to, NodeId *out)
{
    DType from = (DType)node_type(in, node).dtype;
    Op op = product ? OP_prod : OP_sum;
    bool integers = to == DT_I64 || to == DT_U64;
    bool whole = from == DT_BOOL || dtype_is_integer(from);
    if (integers && whole) {
        TRY(node_cast(in, node, to, &node));
        return reduce_op(in, op, node, r, to, out);
    }
    if (from == to && (to == DT_F32 || to == DT_F64)) return reduce_op(in, op, node, r, to, out);
    if (!dtype_can_cast_same_kind(from, to))
        return interp_break(in, BREAK_SHAPE, "%s summed as %s", dtype_long_name(from),
                            dtype_long_name(to));
    return reduce_extern(in, product ? "multiply.reduce" : "add.reduce", node, r, to, out);
}

/* The array of a reduction, and the axes to be reduced.  Scalars and arrays of rank 0 are not
   taken. */
static Answer
reduction_of(Interp *in, const Rule *rule, Value *const *args, NodeId *node, Reduction *r)
{
    TRY(array_operand(in, args[0], node));
    Type type = node_type(in, *node);
    if (type.rank == 0) return interp_break(in, BREAK_NUMPY, "%s of a scalar", rule->name);
    return parse_reduction(in, rule, args, &type, r);
}

static Answer
finish(Interp *in, const Rule *rule, Value *const *args, NodeId result, Value **out)
{
    Value *target = rule_arg(rule, args, "out");
    if (value_absent(target)) return push_node(in, result, out);
    NodeId node;
    TRY(array_operand(in, target, &node));
    Type have = node_type(in, result), want = node_type(in, node);
    if (!type_same_shape(&have, &want) || have.dtype != want.dtype)
        return interp_break(in, BREAK_NUMPY, "%s with an out= of another type", rule->name);
    return write_result(in, target, result, out);
}

Answer
do_sum(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    Reduction r;
    TRY(reduction_of(in, rule, args, &node, &r));
    DType to = sum_dtype((DType)node_type(in, node).dtype);
    TRY(value_as_dtype(in, rule_arg(rule, args, "dtype"), &to));
    TRY(reduce_sum(in, rule->data[0] == 'p', node, &r, to, &node));
    return finish(in, rule, args, node, out);
}

/* OP_max or OP_min */
static Answer
reduce_extreme(Interp *in, Op op, NodeId node, const Reduction *r, NodeId *out)
{
    DType dtype = (DType)node_type(in, node).dtype;
    if (dtype == DT_BOOL) op = op == OP_max ? OP_any : OP_all;
    if (!dtype_is_complex(dtype) && dtype != DT_F16) return reduce_op(in, op, node, r, dtype, out);
    const char *method = op == OP_max ? "maximum.reduce" : "minimum.reduce";
    return reduce_extern(in, method, node, r, dtype, out);
}

/* max, min, all, any: `data` is the op's name */
Answer
do_reduce(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    Reduction r;
    TRY(reduction_of(in, rule, args, &node, &r));
    Op op = (Op)op_from_name(rule->data);
    if (op == OP_all || op == OP_any) {
        TRY(node_cast(in, node, DT_BOOL, &node));
        TRY(reduce_op(in, op, node, &r, DT_BOOL, &node));
        return finish(in, rule, args, node, out);
    }
    if (r.count == 0) return interp_break(in, BREAK_SHAPE, "%s of nothing", rule->name);
    TRY(reduces_so_many(in, &r, 1));
    TRY(reduce_extreme(in, op, node, &r, &node));
    return finish(in, rule, args, node, out);
}

Answer
do_arg_reduce(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    Reduction r;
    TRY(reduction_of(in, rule, args, &node, &r));
    Type from = node_type(in, node), type;
    DType dtype = (DType)from.dtype;
    if (r.count == 0) return interp_break(in, BREAK_SHAPE, "%s of nothing", rule->name);
    TRY(reduces_so_many(in, &r, 1));
    Value *axis = rule_arg(rule, args, "axis");
    if (axis != NULL && value_is_sequence(axis))
        return interp_break(in, BREAK_SHAPE, "%s along several axes", rule->name);
    if (dtype_is_complex(dtype) || dtype == DT_F16) {
        const char *names[1] = {"keepdims"};
        PyObject *objects[1] = {r.keepdims ? Py_True : Py_False};
        TRY(axis_extern(in, rule->name, node, rule_arg(rule, args, "axis"), 1, names, objects,
                        &node));
        return finish(in, rule, args, node, out);
    }
    /* The result is in C order, whatever the argument's order is. */
    Type plain;
    if (type_contiguous(in->graph, &plain, dtype, from.rank, from.shape) < 0) return ANSWER_ERROR;
    TRY(reduced_type(in, &plain, &r, DT_I64, &type));
    int64_t ints[MAX_RANK];
    for (int i = 0; i < r.n; i++) ints[i] = r.axes[i];
    Attrs attrs = {.ints = ints, .nints = r.n, .keepdims = r.keepdims};
    Op op = (Op)op_from_name(rule->data);
    TRY_NODE(node, graph_add(in->graph, in->region, op, 1, &node, &type, &attrs));
    return finish(in, rule, args, node, out);
}

Answer
do_scan(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    TRY(array_operand(in, args[0], &node));
    Type type = node_type(in, node);
    if (type.rank == 0) return interp_break(in, BREAK_NUMPY, "%s of a scalar", rule->name);
    int axis = 0;
    Value *given = rule_arg(rule, args, "axis");
    if (!value_absent(given)) {
        TRY(value_as_axis(in, given, type.rank, &axis));
    } else if (type.rank > 1) {
        if (type_is_measured(in, &type)) return break_length(in);
        SizeId flat = type_count(in->graph, &type);
        TRY(node_reshape(in, node, 1, &flat, &node));
    }
    DType from = (DType)type.dtype, to = sum_dtype(from);
    TRY(value_as_dtype(in, rule_arg(rule, args, "dtype"), &to));
    if (!dtype_can_cast_same_kind(from, to))
        return break_hinted(in, BREAK_DTYPE, HINT_CONVERT, "%s of %s as %s", rule->name,
                            dtype_long_name(from), dtype_long_name(to));
    if (dtype_is_complex(to) || to == DT_F16) {
        const char *names[1] = {"dtype"};
        PyObject *objects[1] = {keep(in, array_dtype_object(to))};
        TRY(axis_extern(in, rule->name, node, given, 1, names, objects, &node));
        return finish(in, rule, args, node, out);
    }
    Type result;
    TRY(type_iterated(in->graph, &result, to, 1, &node));
    TRY(node_cast(in, node, to, &node));
    Attrs attrs = {.index = axis};
    TRY_NODE(node, graph_add(in->graph, in->region, (Op)op_from_name(rule->data), 1, &node, &result,
                             &attrs));
    return finish(in, rule, args, node, out);
}

/* ---- mean, var, std: numpy/_core/_methods.py ---- */

/* true_divide(x, count, out=x, casting='unsafe') for an int64 count, or type(x)(x / count). */
static Answer
divide_by_count(Interp *in, NodeId node, SizeId count, NodeId *out)
{
    Type from = node_type(in, node);
    NodeId args[2] = {node};
    Value *number;
    if (size_is_const(in->graph, count)) {
        TRY_NODE(args[1], node_int(in, size_value(in->graph, count), DT_I64));
    } else {
        TRY(number_of_size(in, count, &number));
        TRY(node_form(in, number->node, FORM_SCALAR, &args[1]));
    }
    TRY(node_named(in, "divide", 2, args, &node));
    TRY(node_cast(in, node, (DType)from.dtype, out));
    graph_node(in->graph, *out)->type = from; /* np.divide writes over the sum: same layout */
    return ANSWER_YES;
}

/* The dtype in which sums are computed: `*half` where the mean is converted back to float16. */
static DType
mean_dtype(DType from, bool *half)
{
    *half = from == DT_F16;
    if (from == DT_BOOL || dtype_is_integer(from)) return DT_F64;
    return from == DT_F16 ? DT_F32 : from;
}

static Answer
mean_setup(Interp *in, const Rule *rule, Value *const *args, NodeId *node, Reduction *r,
           DType *dtype, bool *given)
{
    TRY(reduction_of(in, rule, args, node, r));
    if (r->count == 0) return interp_break(in, BREAK_SHAPE, "%s of an empty slice", rule->name);
    TRY(reduces_so_many(in, r, 1));
    Value *value = rule_arg(rule, args, "dtype");
    *given = !value_absent(value);
    if (!*given) return ANSWER_YES;
    TRY(value_as_dtype(in, value, dtype));
    if (!dtype_is_float(*dtype) && !dtype_is_complex(*dtype))
        return break_hinted(in, BREAK_DTYPE, HINT_CONVERT, "%s as %s", rule->name,
                            dtype_long_name(*dtype));
    return ANSWER_YES;
}

Answer
do_mean(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    Reduction r;
    DType dtype;
    bool given, half = false;
    TRY(mean_setup(in, rule, args, &node, &r, &dtype, &given));
    if (!given) dtype = mean_dtype((DType)node_type(in, node).dtype, &half);
    TRY(reduce_sum(in, false, node, &r, dtype, &node));
    TRY(divide_by_count(in, node, r.size, &node));
    if (half) TRY(node_cast(in, node, DT_F16, &node));
    return finish(in, rule, args, node, out);
}

/* var, and std where `data` is "s" */
Answer
do_var(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node, mean, pair[2];
    Reduction r;
    DType dtype;
    bool given;
    int64_t ddof = 0;
    TRY(mean_setup(in, rule, args, &node, &r, &dtype, &given));
    DType from = (DType)node_type(in, node).dtype;
    if (!given) dtype = from == DT_BOOL || dtype_is_integer(from) ? DT_F64 : from;
    Value *given_ddof = rule_arg(rule, args, "ddof");
    if (given_ddof != NULL && value_as_int(in, given_ddof, &ddof) != ANSWER_YES)
        return interp_break(in, BREAK_NUMPY, "a ddof that is not a known int");
    if (ddof < -INT32_MAX) /* NumPy's own count overflows and warns */
        return interp_break(in, BREAK_NUMPY, "so many degrees of freedom");
    SizeId freedom = size_sub(in->graph, r.size, size_const(in->graph, ddof));
    if (!size_is_const(in->graph, freedom) && !size_varies_in_run(in->graph, freedom))
        TRY(length_is_some(in, freedom, 1));
    if (ddof >= r.count) return interp_break(in, BREAK_SHAPE, "degrees of freedom <= 0");
    TRY(reduces_so_many(in, &r, ddof + 1));
    if (dtype_is_complex(from) || (given && dtype_is_complex(dtype))) {
        if (given)
            return break_hinted(in, BREAK_DTYPE, HINT_CONVERT, "%s as complex numbers", rule->name);
        const char *names[2] = {"ddof", "keepdims"};
        PyObject *objects[2] = {keep(in, PyLong_FromLongLong(ddof)),
                                r.keepdims ? Py_True : Py_False};
        TRY(axis_extern(in, rule->name, node, rule_arg(rule, args, "axis"), 2, names, objects,
                        &node));
        return finish(in, rule, args, node, out);
    }
    Reduction kept = r;
    kept.keepdims = true;
    TRY(reduce_sum(in, false, node, &kept, dtype, &mean));
    TRY(divide_by_count(in, mean, r.size, &mean));
    pair[0] = node;
    pair[1] = mean;
    TRY(node_named(in, "subtract", 2, pair, &node));
    TRY(node_named(in, "square", 1, &node, &node));
    TRY(reduce_sum(in, false, node, &r, dtype, &node));
    TRY(divide_by_count(in, node, freedom, &node));
    if (rule->data[0] == 's') {
        Type type = node_type(in, node);
        TRY(node_named(in, "sqrt", 1, &node, &node));
        graph_node(in->graph, node)->type = type;
    }
    return finish(in, rule, args, node, out);
}

Answer
do_ptp(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node, pair[2];
    Reduction r;
    TRY(reduction_of(in, rule, args, &node, &r));
    DType dtype = (DType)node_type(in, node).dtype;
    if (r.count == 0) return interp_break(in, BREAK_SHAPE, "ptp of nothing");
    if (dtype == DT_BOOL) return interp_break(in, BREAK_SHAPE, "ptp of bool");
    TRY(reduces_so_many(in, &r, 1));
    TRY(reduce_extreme(in, OP_max, node, &r, &pair[0]));
    TRY(reduce_extreme(in, OP_min, node, &r, &pair[1]));
    TRY(node_named(in, "subtract", 2, pair, &node));
    return finish(in, rule, args, node, out);
}

static bool
count_is_python(void)
{
    PyObject *count = PyObject_CallFunction(numpy_object("count_nonzero"), "i", 1);
    bool python = count != NULL && PyLong_CheckExact(count);
    Py_XDECREF(count);
    PyErr_Clear();
    return python;
}

/* np.count_nonzero(a, axis=None, *, keepdims=False): over the whole array it gives an int or, in
   newer versions, an array scalar. */
Answer
do_count_nonzero(Interp *in, const Rule *rule, Value *const *args, Value **out)
{
    NodeId node;
    Reduction r;
    TRY(reduction_of(in, rule, args, &node, &r));
    bool all = value_absent(rule_arg(rule, args, "axis")) && !r.keepdims;
    TRY(node_cast(in, node, DT_BOOL, &node));
    TRY(node_cast(in, node, DT_I64, &node));
    TRY(reduce_op(in, OP_sum, node, &r, DT_I64, &node));
    if (all && count_is_python()) TRY(node_form(in, node, FORM_PYTHON, &node));
    return push_node(in, node, out);
}
