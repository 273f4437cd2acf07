/* Sums and products of sections in the body of a kept loop.  A sum is a loop inside that gives it
   (OP_loop_sum), and a product of two sections one node (OP_element_dot), which calls what NumPy
   calls.  A loop with other functions of rows is tried as a repeat. */
#include "section.h"

/* ---- sums ---- */

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
summed_number(Interp *in, Value *value, NodeId *out)
{
    TRY(value_as_unpinned_node(in, value, out));
    DType dtype = (DType)graph_node(in->graph, *out)->type.dtype, to = dtype;
    bool integer = dtype_is_integer(dtype) || dtype == DT_BOOL;
    if (!integer && dtype != DT_F32 && dtype != DT_F64)
        return section_fails(in, "a sum of rows of such numbers");
    if (integer) to = dtype == DT_BOOL || dtype_is_signed(dtype) ? DT_I64 : DT_U64;
    if (to == dtype) return ANSWER_YES;
    Type type = {.dtype = to, .form = FORM_SCALAR, .offset = NO_SIZE};
    *out = graph_add(in->graph, in->region, OP_cast, 1, out, &type, NULL);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* Follows what an iteration gives. */
static Answer
follow_each(Interp *in, SectionReads *reads, Value *value, NodeId node, Type *type)
{
    RegionId outer;
    Value *element;
    NodeId number;
    TRY(section_region(in, reads, node, &outer));
    RegionId region = in->region;
    Answer answer = section_element(in, reads, value, &element);
    if (answer == ANSWER_YES) answer = summed_number(in, element, &number);
    in->region = outer;
    if (answer != ANSWER_YES) return answer;
    *type = (Type){
        .dtype = graph_node(in->graph, number)->type.dtype, .form = FORM_SCALAR, .offset = NO_SIZE};
    return VEC_PUSH(in->graph->arena, &in->graph->regions.at[region].results, number) < 0
               ? ANSWER_ERROR
               : ANSWER_YES;
}

static Answer
row_sum(Interp *in, Value *operand, Value **out)
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
    NodeId node = graph_add(g, in->region, OP_loop_sum, 3, args, &none, NULL);
    if (node == NO_NODE) return ANSWER_ERROR;
    TRY(follow_each(in, &reads, value, node, &type));
    loop_to_end(g, in->region, node);
    node = graph_add(g, in->region, OP_result, 1, &node, &type, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    in->loop->sections = true;
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
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
is_arithmetic(const Value *value)
{
    if (value->kind != V_EXPRESSION) return true;
    bool plain = section_arithmetic((int)value->position) || value->position == -1;
    for (int i = 0; i < value->nitems - 1; i++) plain = plain && is_arithmetic(value->items[i]);
    return plain;
}

/* x, y = a[i] - a[j]: all elements of the row, since each may raise a floating-point flag. */
Answer
section_unpack(Interp *in, Value *row, int count, Value **items)
{
    int64_t step;
    Value *number = value_const_new(in, PyLong_FromLong(count));
    SectionReads reads = {.origin = first_section(row)};
    if (number == NULL) return ANSWER_ERROR;
    if (reads.origin == NULL || !is_arithmetic(row))
        return section_fails(in, "an assignment that unpacks a function of rows");
    if (value_as_int(in, section_part(reads.origin, SECTION_STEP), &step) != ANSWER_YES)
        return section_fails(in, "an assignment that unpacks a slice whose step is not a constant");
    TRY(section_consume(in, row));
    TRY(scalar_assert(in, OP_py_eq, section_length(row), number));
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

/* Functions and methods of rows that only repeats have, beside ufuncs. */
static const char *const functions[] = {"mean", "max", "min", "amax", "amin", "where"};

/* Is it one of these, by its name as a method or as NumPy's object? */
static bool
is_function(const char *name, PyObject *callable)
{
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(functions) && !found; i++)
        found =
            name != NULL ? strcmp(name, functions[i]) == 0 : callable == numpy_object(functions[i]);
    return found;
}

Answer
section_method(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
               Value **out)
{
    Value *self = method->items[0];
    if (strcmp(method->name, "dot") == 0 && nargs == 1 && kwnames == NULL)
        return section_product(in, false, self, args[0], out);
    if (strcmp(method->name, "sum") == 0 && nargs == 0 && kwnames == NULL)
        return row_sum(in, self, out);
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
    if (nargs == 1 && callable == numpy_object("sum")) return row_sum(in, args[0], out);
    if (nargs == 2 && callable == numpy_object("dot"))
        return section_product(in, false, args[0], args[1], out);
    if (nargs == 2 && callable == numpy_object("matmul"))
        return section_product(in, true, args[0], args[1], out);
    bool known =
        ufunc_check(callable) || callable == python_builtin("abs") || is_function(NULL, callable);
    return known ? section_repeats(in, "a function of rows") : ANSWER_NO;
}

Answer
section_find(Interp *in, Value *value, PyObject *name, Value **out)
{
    const char *text = text_of_str(name);
    bool known = strcmp(text, "dot") == 0 || strcmp(text, "sum") == 0;
    if (is_function(text, NULL) && value_is_section(in, value))
        return section_repeats(in, "a function of rows");
    if (!known || !value_is_section(in, value))
        return interp_break(in, BREAK_UNROLL, "'%s' of %s", text, value_describe(in, value));
    *out = value_sequence(in, V_BUILTIN_METHOD, 1, &value);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->name = text;
    return ANSWER_YES;
}
