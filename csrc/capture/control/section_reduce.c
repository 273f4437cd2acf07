/* Functions of sections in the body of a kept loop.  A ufunc of floats is an expression, computed
   where it is stored or reduced (section_each.c); a reduction is a loop inside that gives it
   (OP_loop_sum …), and a product of two sections one node (OP_element_dot), which calls what NumPy
   calls. */
#include "section.h"

/* ---- reductions ---- */

/* The first section that the value is made of. */
static const Value *
first_section(const Value *value)
{
    if (value->kind == V_SECTION) return value;
    const Value *found = NULL;
    for (int i = 0; value->kind == V_EXPRESSION && found == NULL && i < value->nitems - 1; i++)
        found = first_section(value->items[i]);
    return found;
}

/* NumPy adds small ints as int64 or uint64. */
static Answer
reduced_number(Interp *in, Op op, Value *value, NodeId *out)
{
    TRY(value_as_unpinned_node(in, value, out));
    DType dtype = (DType)graph_node(in->graph, *out)->type.dtype, to = dtype;
    bool integer = dtype_is_integer(dtype) || (dtype == DT_BOOL && op == OP_loop_sum);
    if (!integer && dtype != DT_F32 && dtype != DT_F64)
        return section_fails(in, "a reduction of rows of such numbers");
    if (op == OP_loop_sum && integer)
        to = dtype == DT_BOOL || dtype_is_signed(dtype) ? DT_I64 : DT_U64;
    if (to == dtype) return ANSWER_YES;
    Type type = {.dtype = to, .form = FORM_SCALAR, .offset = NO_SIZE};
    *out = graph_add(in->graph, in->region, OP_cast, 1, out, &type, NULL);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* Follows what an iteration gives. */
static Answer
follow_each(Interp *in, Op op, SectionReads *reads, Value *value, NodeId node, Type *type)
{
    RegionId outer;
    Value *element;
    NodeId number;
    TRY(section_region(in, reads, node, &outer));
    RegionId region = in->region;
    Answer answer = section_element(in, reads, value, &element);
    if (answer == ANSWER_YES) answer = reduced_number(in, op, element, &number);
    in->region = outer;
    if (answer != ANSWER_YES) return answer;
    *type = (Type){
        .dtype = graph_node(in->graph, number)->type.dtype, .form = FORM_SCALAR, .offset = NO_SIZE};
    return VEC_PUSH(in->graph->arena, &in->graph->regions.at[region].results, number) < 0
               ? ANSWER_ERROR
               : ANSWER_YES;
}

static Answer
reduce(Interp *in, Op op, Value *operand, Value **out)
{
    Value *value;
    Graph *g = in->graph;
    NodeId args[3];
    Type none = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE}, type;
    TRY(section_operand(in, operand, &value));
    TRY(section_consume(in, value));
    SectionReads reads = {.origin = first_section(value)};
    TRY(section_reads(in, &reads, value));
    for (int i = 0; i < 3; i++)
        TRY(value_as_unpinned_node(in, section_part(reads.origin, SECTION_START + i), &args[i]));
    NodeId node = graph_add(g, in->region, op, 3, args, &none, NULL);
    if (node == NO_NODE) return ANSWER_ERROR;
    TRY(follow_each(in, op, &reads, value, node, &type));
    loop_to_end(g, in->region, node);
    node = graph_add(g, in->region, OP_result, 1, &node, &type, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    in->loop->sections = true;
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The sum divided by how many there are, as numpy/_core/_methods.py does for doubles; of nothing
   NumPy warns. */
static Answer
mean(Interp *in, Value *operand, Value **out)
{
    Value *value, *length, *zero = value_const_new(in, PyLong_FromLong(0)), *sum;
    if (zero == NULL) return ANSWER_ERROR;
    TRY(section_operand(in, operand, &value));
    length = section_length(value);
    if (length->kind == V_CONST && length->object == Py_None)
        return section_fails(in, "a mean of a slice whose step is not a constant");
    TRY(loop_assert(in, OP_py_lt, zero, length));
    TRY(reduce(in, OP_loop_sum, value, &sum));
    if (graph_node(in->graph, sum->node)->type.dtype != DT_F64)
        return section_fails(in, "a mean of other numbers than doubles");
    return operate_binary(in, OPERATOR_DIV, sum, length, out);
}

/* ---- products ---- */

/* The array as it is now and the indices of the section's first element. */
static Answer
first_element(Interp *in, const Value *section, NodeId *args, int *n, int64_t *ints)
{
    if (value_as_int(in, section_part(section, SECTION_STEP), &ints[1]) != ANSWER_YES)
        return section_fails(in, "a product of slices whose step is not a constant");
    ints[0] = section_axis(section);
    TRY(loop_array_now(in, section->of, &args[(*n)++]));
    for (int axis = 0; axis < section_rank(section); axis++) {
        Value *index = axis == section_axis(section) ? section_part(section, SECTION_START)
                                                     : section->items[axis];
        TRY(loop_index(in, index, &args[(*n)++]));
    }
    return ANSWER_YES;
}

static Answer
product_operand(Interp *in, Value *value, Value **out)
{
    TRY(section_operand(in, value, out));
    if (*out == NULL) return section_fails(in, "a product of a row with a number");
    return (*out)->kind == V_SECTION ? ANSWER_YES
                                     : section_fails(in, "a product of rows that are computed");
}

Answer
section_product(Interp *in, bool at, Value *left, Value *right, Value **out)
{
    enum { MOST = 2 * (1 + LOOP_RANK) + 1 };
    Value *a, *b;
    NodeId args[MOST];
    int64_t ints[5] = {[4] = !at};
    int n = 0;
    TRY(product_operand(in, left, &a));
    TRY(product_operand(in, right, &b));
    TRY(section_agrees(in, a, b));
    TRY(first_element(in, a, args, &n, ints));
    int second = n;
    TRY(first_element(in, b, args, &n, ints + 2));
    TRY(value_as_unpinned_node(in, section_length(a), &args[n++]));
    DType dtype = (DType)graph_node(in->graph, args[0])->type.dtype;
    if (dtype != graph_node(in->graph, args[second])->type.dtype ||
        (!dtype_is_integer(dtype) && dtype != DT_F32 && dtype != DT_F64))
        return section_fails(in, "a product of rows of different or other numbers");
    Type type = {.dtype = dtype, .form = FORM_SCALAR, .offset = NO_SIZE};
    Attrs attrs = {.nints = 5};
    if ((attrs.ints = arena_copy(in->arena, ints, sizeof ints)) == NULL) return ANSWER_ERROR;
    NodeId node = graph_add(in->graph, in->region, OP_element_dot, n, args, &type, &attrs);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    in->loop->sections = true;
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- single elements ---- */

/* Is each element what NumPy's scalars give: sums, products and the like? */
static bool
is_plain_arithmetic(const Value *value)
{
    bool square = value->object != NULL && value->object == numpy_object("square");
    if (value->kind != V_EXPRESSION) return true;
    if (!square && (value->object != NULL ||
                    !(section_arithmetic((int)value->position) || value->position == -1)))
        return false;
    for (int i = 0; i < value->nitems - 1; i++)
        if (!is_plain_arithmetic(value->items[i])) return false;
    return true;
}

/* x, y = a[i] - a[j]: all elements of the row, since each may raise a floating-point flag. */
Answer
section_unpack(Interp *in, Value *row, int count, Value **items)
{
    int64_t step;
    Value *number = value_const_new(in, PyLong_FromLong(count));
    SectionReads reads = {.origin = first_section(row)};
    if (number == NULL) return ANSWER_ERROR;
    if (reads.origin == NULL || !is_plain_arithmetic(row))
        return section_fails(in, "an assignment that unpacks a function of rows");
    if (value_as_int(in, section_part(reads.origin, SECTION_STEP), &step) != ANSWER_YES)
        return section_fails(in, "an assignment that unpacks a slice whose step is not a constant");
    TRY(section_consume(in, row));
    TRY(loop_assert(in, OP_py_eq, section_length(row), number));
    TRY(section_reads(in, &reads, row));
    for (int i = 0; i < count; i++) {
        Value *ahead = value_const_new(in, PyLong_FromLongLong(i * step));
        Value *start = section_part(reads.origin, SECTION_START);
        if (ahead == NULL) return ANSWER_ERROR;
        TRY(operate_binary(in, OPERATOR_ADD, start, ahead, &reads.position));
        TRY(section_element(in, &reads, row, &items[i]));
        if (row->kind == V_SECTION) continue;
        bool node = items[i]->kind == V_NODE;
        Type type = node ? graph_node(in->graph, items[i]->node)->type : (Type){.dtype = DT_OBJECT};
        if (!dtype_is_float((DType)type.dtype) || type.form != FORM_SCALAR)
            return section_fails(in,
                                 "an assignment that unpacks a row of other numbers than floats");
    }
    return ANSWER_YES;
}

/* ---- calls ---- */

static const struct {
    const char *name;
    Op op;
} reductions[] = {
    /* OP_input: the mean */
    {"mean", OP_input},   {"sum", OP_loop_sum},  {"max", OP_loop_max},
    {"min", OP_loop_min}, {"amax", OP_loop_max}, {"amin", OP_loop_min},
};

static Answer
reduce_by(Interp *in, Op op, Value *operand, Value **out)
{
    return op == OP_input ? mean(in, operand, out) : reduce(in, op, operand, out);
}

/* Ufuncs of floats.  NumPy's loops for fmax and fmin give other zeros at other positions, and its
   power has shortcuts for one exponent of all elements. */
static const char *const ufuncs[] = {
    "exp",      "exp2",       "expm1",    "log",       "log2",    "log10",    "log1p",   "sin",
    "cos",      "tan",        "arcsin",   "arccos",    "arctan",  "sinh",     "cosh",    "tanh",
    "arcsinh",  "arccosh",    "arctanh",  "cbrt",      "arctan2", "hypot",    "degrees", "radians",
    "deg2rad",  "rad2deg",    "fmod",     "logaddexp", "sqrt",    "absolute", "square",  "negative",
    "positive", "reciprocal", "sign",     "floor",     "ceil",    "trunc",    "rint",    "maximum",
    "minimum",  "add",        "subtract", "multiply",  "divide",  "copysign",
};

/* Does a section that the value is made of go backwards, or nobody knows?  NumPy's loops then may
   take other paths, with other bits. */
static bool
goes_backwards(Interp *in, const Value *value)
{
    int64_t step;
    if (value->kind == V_SECTION)
        return value_as_int(in, section_part(value, SECTION_STEP), &step) != ANSWER_YES || step < 0;
    for (int i = 0; value->kind == V_EXPRESSION && i < value->nitems - 1; i++)
        if (goes_backwards(in, value->items[i])) return true;
    return false;
}

static Answer
call_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, Value **out)
{
    if (nargs < 1 || nargs > 2) return section_fails(in, "a call of a ufunc with such arguments");
    TRY(section_expression(in, SECTION_CALL, nargs, args, out));
    (*out)->object = ufunc;
    return goes_backwards(in, *out) ? section_fails(in, "a function of a row that goes backwards")
                                    : ANSWER_YES;
}

Answer
section_method(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
               Value **out)
{
    Value *self = method->items[0];
    if (strcmp(method->name, "dot") == 0 && nargs == 1 && kwnames == NULL)
        return section_product(in, false, self, args[0], out);
    for (size_t i = 0; i < COUNT_OF(reductions) && nargs == 0 && kwnames == NULL; i++)
        if (strcmp(method->name, reductions[i].name) == 0)
            return reduce_by(in, reductions[i].op, self, out);
    return interp_break(in, BREAK_UNROLL, "'%s' of %s with arguments", method->name,
                        value_describe(in, self));
}

Answer
section_call(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
             Value **out)
{
    bool any = false;
    for (int i = 0; i < nargs && !any; i++) any = value_is_section(in, args[i]);
    if (!any || kwnames != NULL) return ANSWER_NO;
    for (size_t i = 0; i < COUNT_OF(reductions) && nargs == 1; i++)
        if (callable == numpy_object(reductions[i].name))
            return reduce_by(in, reductions[i].op, args[0], out);
    if (nargs == 3 && callable == numpy_object("where")) return section_where(in, args, out);
    if (nargs == 2 && callable == numpy_object("dot"))
        return section_product(in, false, args[0], args[1], out);
    if (nargs == 2 && callable == numpy_object("matmul"))
        return section_product(in, true, args[0], args[1], out);
    if (nargs == 1 && callable == python_builtin("abs"))
        return call_ufunc(in, numpy_object("absolute"), nargs, args, out);
    for (size_t i = 0; i < COUNT_OF(ufuncs); i++)
        if (callable == numpy_object(ufuncs[i])) return call_ufunc(in, callable, nargs, args, out);
    return ANSWER_NO;
}

Answer
section_find(Interp *in, Value *value, PyObject *name, Value **out)
{
    const char *text = text_of_str(name);
    bool known = strcmp(text, "dot") == 0;
    for (size_t i = 0; i < COUNT_OF(reductions) && !known; i++)
        known = strcmp(text, reductions[i].name) == 0;
    if (!known || !value_is_section(in, value))
        return interp_break(in, BREAK_UNROLL, "'%s' of %s", text, value_describe(in, value));
    *out = value_sequence(in, V_BUILTIN_METHOD, 1, &value);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->name = text;
    return ANSWER_YES;
}
