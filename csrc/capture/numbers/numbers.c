/* sum, min, max, any, all, sorted, math.fsum and similar over numbers that come out of arrays: a
   step of the plan that calls the real function on the real numbers, where no chain of operations
   has its bits (sum adds floats with compensation, math.fsum exactly) or its order. */
#include "numbers.h"

enum { MOST = 64 }; /* most numbers as arguments of one step */

typedef struct {
    int n;
    bool unknown; /* one of them is known only when the plan runs */
    bool same;    /* all are of one type … */
    Type type;    /* … this one, the type of the first */
    bool real, complex;
    NodeId nodes[MOST + 1];
} Numbers;

/* The items as nodes; ANSWER_NO: not all are numbers, or all are known. */
static Answer
read_numbers(Interp *in, Value *items, Value *also, Numbers *out)
{
    *out = (Numbers){.same = true};
    if (items->nitems > MOST || (items->nitems == 0 && also == NULL)) return ANSWER_NO;
    for (int i = 0; i < items->nitems + (also != NULL); i++) {
        Value *item = i < items->nitems ? items->items[i] : also;
        bool number = item->kind == V_NODE
                          ? !value_is_array(in, item) && !value_is_opaque(in, item)
                          : item->kind == V_CONST && (value_is_python_scalar(in, item) ||
                                                      array_scalar_check(item->object));
        if (!number) return ANSWER_NO;
        out->unknown = out->unknown || (item->kind == V_NODE && item->object == NULL);
    }
    if (!out->unknown) return ANSWER_NO;
    for (int i = 0; i < items->nitems + (also != NULL); i++) {
        Value *item = i < items->nitems ? items->items[i] : also;
        Answer answer = value_as_node(in, item, &out->nodes[i]);
        if (answer != ANSWER_YES) return answer;
        Type type = graph_node(in->graph, out->nodes[i])->type;
        if (type.form != FORM_PYTHON && type.form != FORM_SCALAR) return ANSWER_NO;
        if (i == 0) out->type = type;
        out->same = out->same && type.dtype == out->type.dtype && type.form == out->type.form;
        out->real = out->real || type.dtype == DT_F64;
        out->complex = out->complex || type.dtype == DT_C128;
        out->n = i + 1;
    }
    return ANSWER_YES;
}

static Answer
step(Interp *in, const char *name, int n, const NodeId *nodes, Type type, Value **out)
{
    NodeId node;
    PyObject *function = numpy_step(in, name);
    if (function == NULL) return ANSWER_ERROR;
    Answer answer = node_extern(in, function, n, nodes, &type, &node);
    if (answer != ANSWER_YES) return answer;
    *out = value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* sum(items, start) of Python's numbers with a float or complex number among them. */
Answer
numbers_sum(Interp *in, Value *items, Value *start, Value **out)
{
    Numbers all;
    Answer answer = read_numbers(in, items, start, &all);
    if (answer != ANSWER_YES) return answer;
    for (int i = 0; i < all.n; i++)
        if (graph_node(in->graph, all.nodes[i])->type.form != FORM_PYTHON) return ANSWER_NO;
    if (!all.real && !all.complex) return ANSWER_NO;
    Type type = type_scalar(all.complex ? DT_C128 : DT_F64, FORM_PYTHON);
    return step(in, "sum_of", all.n, all.nodes, type, out);
}

/* math.fsum, math.prod of one sequence. */
Answer
numbers_math(Interp *in, const char *name, Value *sequence, Value **out)
{
    Numbers all;
    Value *items;
    bool product = strcmp(name, "prod") == 0;
    if (!product && strcmp(name, "fsum") != 0) return ANSWER_NO;
    if (sequence->kind != V_LIST && sequence->kind != V_TUPLE) return ANSWER_NO;
    Answer answer = iterate_all(in, sequence, V_LIST, &items);
    if (answer == ANSWER_YES) answer = read_numbers(in, items, NULL, &all);
    if (answer != ANSWER_YES) return answer;
    for (int i = 0; i < all.n; i++) {
        Type type = graph_node(in->graph, all.nodes[i])->type;
        if (product && type.form != FORM_PYTHON) return ANSWER_NO;
    }
    if (all.complex) return ANSWER_NO;
    Type type = type_scalar(!product || all.real ? DT_F64 : DT_I64, FORM_PYTHON);
    return step(in, product ? "product_of" : "exact_sum_of", all.n, all.nodes, type, out);
}

/* max and min of numbers of one type. */
Answer
numbers_extreme(Interp *in, const char *name, Value *items, Value **out)
{
    Numbers all;
    Answer answer = read_numbers(in, items, NULL, &all);
    if (answer != ANSWER_YES) return answer;
    if (!all.same || all.complex || all.n < 2) return ANSWER_NO;
    if (branch_apart(in)) return break_choice(in, name);
    answer =
        step(in, strcmp(name, "max") == 0 ? "max_of" : "min_of", all.n, all.nodes, all.type, out);
    if (answer != ANSWER_YES) return answer;
    return branch_chosen(in, (*out)->node) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* sorted(items) of numbers of one type, as a list. */
Answer
numbers_sorted(Interp *in, Value *items, bool backwards, Value **out)
{
    Numbers all;
    Value *sorted;
    Answer answer = read_numbers(in, items, NULL, &all);
    if (answer != ANSWER_YES) return answer;
    if (!all.same || all.complex) return ANSWER_NO;
    if (branch_apart(in)) return break_choice(in, "sorted");
    Type type = type_scalar(DT_OBJECT, FORM_OBJECT);
    answer = step(in, backwards ? "sorted_down" : "sorted_up", all.n, all.nodes, type, &sorted);
    if (answer != ANSWER_YES) return answer;
    *out = value_sequence(in, V_LIST, all.n, NULL);
    for (int i = 0; *out != NULL && i < all.n; i++) {
        Attrs attrs = {.index = i};
        NodeId node =
            graph_add(in->graph, in->region, OP_result, 1, &sorted->node, &all.type, &attrs);
        if (node == NO_NODE || branch_chosen(in, node) < 0 ||
            ((*out)->items[i] = value_node(in, node)) == NULL)
            return ANSWER_ERROR;
    }
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* max, min, any and all of the elements of an array of one axis. */
Answer
numbers_of_array(Interp *in, const char *name, Value *array, Value **out)
{
    NodeId node;
    if (!value_is_array(in, array) || value_is_opaque(in, array)) return ANSWER_NO;
    Answer answer = value_as_sized_node(in, array, &node);
    if (answer != ANSWER_YES) return answer;
    Type type = graph_node(in->graph, node)->type;
    if (type.rank != 1 || type_elements(in->graph, &type) < 2) return ANSWER_NO;
    if (!size_is_const(in->graph, type.shape[0])) TRY(length_is_some(in, type.shape[0], 1));
    bool test = strcmp(name, "any") == 0 || strcmp(name, "all") == 0;
    if (!test && (type.dtype == DT_C64 || type.dtype == DT_C128)) return ANSWER_NO;
    PyObject *function = python_builtin(name);
    Type gives =
        test ? type_scalar(DT_BOOL, FORM_PYTHON) : type_scalar((DType)type.dtype, FORM_SCALAR);
    NodeId result;
    if (function == NULL) return ANSWER_ERROR;
    answer = node_extern(in, function, 1, &node, &gives, &result);
    if (answer != ANSWER_YES) return answer;
    *out = value_node(in, result);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}
