/* Reads and writes of array elements in a kept loop's body, as nodes on the array's version. */
#include "section.h"

NodeId *
loop_array_version(Interp *in, Value *array)
{
    for (int i = 0; i < in->loop->narrays; i++)
        if (in->loop->array[i] == array) return &in->loop->version[i];
    return NULL;
}

static Answer
not_a_loop(Interp *in, const char *why)
{
    return interp_break(in, BREAK_UNROLL, "%s", why);
}

Answer
loop_index(Interp *in, Value *key, NodeId *out)
{
    Answer answer = value_as_unpinned_node(in, key, out);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO) return not_a_loop(in, "an index that is no int");
    const Type *type = &graph_node(in->graph, *out)->type;
    DType dtype = (DType)type->dtype;
    if (dtype == DT_U64 && type->form == FORM_PYTHON) { /* leaves the loop if it is that large */
        Value *index = scalar_emit(in, OP_py_int, DT_I64, 1, &key, NULL);
        return index == NULL ? ANSWER_ERROR : value_as_unpinned_node(in, index, out);
    }
    if (!dtype_is_integer(dtype) || dtype == DT_U64 || type->rank != 0 || type->form == FORM_ARRAY)
        return not_a_loop(in, "an index that is no int");
    if (dtype == DT_I64) return ANSWER_YES;
    Type index = {.dtype = DT_I64, .form = FORM_SCALAR, .offset = NO_SIZE};
    *out = graph_add(in->graph, in->region, OP_cast, 1, out, &index, NULL);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* The indices of what the key gives, after those of the part that it is a key of; their number in
 *n, and that of the array's axes in *rank. */
static Answer
element_indices(Interp *in, Value *array, Value *key, Value **indices, int *n, int *rank)
{
    bool several = key->kind == V_TUPLE;
    int before = part_axis(array), given = several ? key->nitems : 1;
    *n = before + given;
    *rank = before + part_rank(in, array);
    if (*rank < 1 || *rank > LOOP_RANK)
        return not_a_loop(in, "a subscript of something that is no array of a few axes");
    if (*n > *rank || given == 0)
        return not_a_loop(in, "a subscript that gives no element but a part");
    for (int i = 0; i < *n; i++) {
        indices[i] = i < before ? array->items[i] : several ? value_item(in, key, i - before) : key;
        if (indices[i] == NULL) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

Answer
loop_array_now(Interp *in, Value *array, NodeId *out)
{
    NodeId *version = loop_array_version(in, array);
    if (version != NULL) {
        *out = *version;
        return ANSWER_YES;
    }
    int storage = storage_of(in, array->node);
    if (storage < 0) return ANSWER_ERROR;
    for (int i = 0; i < in->loop->narrays; i++)
        if (storage_of(in, in->loop->array[i]->node) == storage)
            return not_a_loop(in, "a view of an array that it writes");
    return value_as_unpinned_node(in, array, out);
}

/* The array's version and the indices as nodes. */
static Answer
element_args(Interp *in, Value *array, int n, Value *const *indices, NodeId *args)
{
    Answer answer = loop_array_now(in, array, &args[0]);
    for (int k = 0; k < n && answer == ANSWER_YES; k++)
        answer = loop_index(in, indices[k], &args[1 + k]);
    return answer;
}

/* Several indices, or a mask. */
static bool
is_row(Interp *in, Value *key)
{
    return value_is_section(in, key) || part_rank(in, key) == 1;
}

/* `checked`: the key is in bounds. */
static Answer
load(Interp *in, Value *array, Value *key, bool checked, Value **out)
{
    NodeId args[1 + LOOP_RANK];
    Value *indices[LOOP_RANK], *whole = part_whole(array);
    int n, rank;
    if (key->kind == V_LIST) return section_repeats(in, "a list as an index");
    if (key_has_slice(key)) return section_take(in, array, key, out);
    if (is_row(in, key)) return section_gather(in, array, key, out);
    TRY(element_indices(in, array, key, indices, &n, &rank));
    TRY(element_args(in, whole, n, indices, args));
    if (n < rank) return part_take(in, whole, n, indices, args + 1, checked, out);
    Type type = {.dtype = graph_node(in->graph, args[0])->type.dtype,
                 .form = FORM_SCALAR,
                 .offset = NO_SIZE};
    NodeId node = graph_add(in->graph, in->region, OP_element_load, 1 + n, args, &type, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
loop_element_load(Interp *in, Value *array, Value *key, Value **out)
{
    return load(in, array, key, false, out);
}

Answer
loop_item_at(Interp *in, Value *array, Value *position, Value **out)
{
    return load(in, array, position, true, out);
}

/* Is it one of several constants, according to the way that was taken? */
static bool
is_one_of_constants(const Graph *g, NodeId number)
{
    const Node *node = graph_node(g, number);
    if (node->op == OP_const) return true;
    if (node->op == OP_where)
        return is_one_of_constants(g, node->args[1]) && is_one_of_constants(g, node->args[2]);
    const Node *of = node->op == OP_result ? graph_node(g, node->args[0]) : NULL;
    if (of == NULL || of->op != OP_cond) return false;
    for (int arm = 0; arm < 2; arm++)
        if (!is_one_of_constants(g, g->regions.at[of->region[arm]].results.at[node->attrs.index]))
            return false;
    return true;
}

/* A store that would convert to a dtype that does not hold all such numbers. */
static Answer
not_stored(Interp *in, NodeId number, DType dtype)
{
    const Node *node = graph_node(in->graph, number);
    const Type *from = &node->type;
    const char *to = dtype_long_name(dtype);
    bool python = from->form == FORM_PYTHON;
    const char *what = python && from->dtype == DT_I64   ? "int"
                       : python && from->dtype == DT_F64 ? "float"
                                                         : dtype_long_name((DType)from->dtype);
    if (python && node->op != OP_const && is_one_of_constants(in->graph, number))
        return interp_break(in, BREAK_UNROLL,
                            "a store of Python's %s into an array of %s (make it np.%s(...) on "
                            "each way, not behind it)",
                            what, to, to);
    const char *by = dtype == DT_I64 && dtype_is_float((DType)from->dtype) ? "int" : to;
    return interp_break(in, BREAK_UNROLL, "a store of %s%s into an array of %s (store %s%s(...))",
                        python ? "Python's " : "numpy.", what, to, by == to ? "np." : "", by);
}

/* Does the dtype hold all numbers of the other one, or is it bool, which any number becomes? */
static bool
holds_all(DType to, DType from)
{
    size_t wide = dtype_size(to), narrow = dtype_size(from);
    if (to == DT_BOOL || from == DT_BOOL) return true;
    if (!dtype_is_signed(to)) return !dtype_is_signed(from) && wide >= narrow;
    return !dtype_is_signed(from) ? wide > narrow : wide >= narrow;
}

static Answer
cast_number(Interp *in, NodeId number, DType to, NodeId *out)
{
    Type type = {.dtype = to, .form = FORM_SCALAR, .offset = NO_SIZE};
    *out = graph_add(in->graph, in->region, OP_cast, 1, &number, &type, NULL);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* An int that an array of ints takes.  Where the dtype does not hold it NumPy raises, or wraps
   round an int of its own: an exit. */
static Answer
stored_int(Interp *in, NodeId *number, DType to)
{
    const Node *node = graph_node(in->graph, *number);
    DType from = (DType)node->type.dtype;
    NodeId wide = *number, back;
    bool held = holds_all(to, from) || loop_const_fits(node, to);
    bool is_unsigned = from == DT_U64;
    if (is_unsigned && !held && node->type.form != FORM_PYTHON) return ANSWER_NO;
    if (from != DT_I64 && !held && cast_number(in, *number, DT_I64, &wide) != ANSWER_YES)
        return ANSWER_ERROR;
    if (cast_number(in, *number, to, number) != ANSWER_YES) return ANSWER_ERROR;
    if (held) return ANSWER_YES;
    if (cast_number(in, *number, DT_I64, &back) != ANSWER_YES) return ANSWER_ERROR;
    Value *given = value_node(in, wide), *expected;
    Value *zero = value_const_new(in, PyLong_FromLong(0));
    if (given == NULL || zero == NULL) return ANSWER_ERROR;
    if (is_unsigned || to == DT_U64) TRY(scalar_assert(in, OP_py_le, zero, given));
    if (to == DT_U64) return ANSWER_YES;
    expected = value_node(in, back);
    return expected == NULL ? ANSWER_ERROR : scalar_assert(in, OP_py_eq, expected, given);
}

static bool
is_int(DType dtype)
{
    return dtype == DT_BOOL || dtype_is_integer(dtype);
}

static Answer
store_section(Interp *in, Value *array, Value *key, Value *value)
{
    Value *section;
    TRY(section_take(in, array, key, &section));
    return section_store(in, section, -1, value);
}

/* Would NumPy's array of the numbers convert each to the dtype as it converts the number itself? */
static bool
converts_each(Interp *in, DType to, const Value *numbers)
{
    for (int i = 0; i < numbers->nitems; i++) {
        NodeId node;
        Value *item = numbers->items == NULL ? NULL : numbers->items[i];
        if (item == NULL || !value_is_number(in, item) ||
            value_as_unpinned_node(in, item, &node) != ANSWER_YES)
            return false;
        DType from = (DType)graph_node(in->graph, node)->type.dtype;
        bool real = from == DT_F64 || from == DT_I64;
        if (to == DT_F64 ? !real : to != DT_I64 || from != DT_I64) return false;
    }
    return true;
}

/* row[...] = a, b, c: a store of each. */
static Answer
store_numbers(Interp *in, Value *array, Value *key, const Value *numbers)
{
    Value *keys[LOOP_RANK], *length, *count, *whole = part_whole(array);
    int n, rank;
    TRY(element_indices(in, array, key, keys, &n, &rank));
    DType to = (DType)graph_node(in->graph, whole->node)->type.dtype;
    if (n != rank - 1 || !converts_each(in, to, numbers))
        return not_a_loop(in, "a store of a list or tuple that is no row of numbers");
    Value shown = {.kind = V_PART, .of = whole, .nitems = n};
    TRY(part_length(in, &shown, &length));
    if ((count = value_const_new(in, PyLong_FromLong(numbers->nitems))) == NULL)
        return ANSWER_ERROR;
    TRY(scalar_assert(in, OP_py_eq, length, count));
    for (int i = 0; i < numbers->nitems; i++) {
        keys[n] = value_const_new(in, PyLong_FromLong(i));
        Value *each = keys[n] == NULL ? NULL : value_sequence(in, V_TUPLE, rank, keys);
        if (each == NULL) return ANSWER_ERROR;
        TRY(loop_element_store(in, whole, each, numbers->items[i]));
    }
    return ANSWER_YES;
}

Answer
loop_element_store(Interp *in, Value *array, Value *key, Value *value)
{
    NodeId args[2 + LOOP_RANK];
    Value *indices[LOOP_RANK];
    int n, rank;
    if (key->kind == V_LIST) return section_repeats(in, "a list as an index");
    if (key_has_slice(key)) return store_section(in, array, key, value);
    if (is_row(in, key)) return section_repeats(in, "a store to what a mask or a row selects");
    if (value_is_sequence(value) && value->nitems > 0) return store_numbers(in, array, key, value);
    TRY(element_indices(in, array, key, indices, &n, &rank));
    if (n == rank - 1) return store_section(in, array, key, value);
    if (n < rank) return not_a_loop(in, "a store to a part of an array");
    array = part_whole(array);
    int nargs = 1 + n;
    Answer answer = element_args(in, array, n, indices, args);
    if (answer == ANSWER_YES) answer = value_as_unpinned_node(in, value, &args[nargs]);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO) return not_a_loop(in, "a store of no scalar");
    TRY(loop_writes(in, array));
    NodeId *version = loop_array_version(in, array);
    Type type = graph_node(in->graph, args[0])->type;
    Type from = graph_node(in->graph, args[nargs])->type;
    if (from.rank != 0 || from.form == FORM_ARRAY) return not_a_loop(in, "a store of an array");
    if (from.dtype != type.dtype && is_int((DType)type.dtype) && is_int((DType)from.dtype)) {
        answer = stored_int(in, &args[nargs], (DType)type.dtype);
        if (answer == ANSWER_NO) return not_stored(in, args[nargs], type.dtype);
        if (answer != ANSWER_YES) return answer;
    } else if (from.dtype != type.dtype && type.dtype == DT_C128) {
        answer = complex_node(in, value, &args[nargs]);
        if (answer == ANSWER_NO) return not_stored(in, args[nargs], type.dtype);
        if (answer != ANSWER_YES) return answer;
    } else if (from.dtype != type.dtype) {
        bool widens =
            dtype_is_float(type.dtype) &&
            (dtype_is_float(from.dtype) || dtype_is_integer(from.dtype) || from.dtype == DT_BOOL);
        if (!widens) return not_stored(in, args[nargs], type.dtype);
        Type scalar = {.dtype = DT_F64, .form = FORM_SCALAR, .offset = NO_SIZE};
        /* NumPy converts a Python int to a float through double, which rounds twice. */
        if (from.form == FORM_PYTHON && is_int((DType)from.dtype) && type.dtype != DT_F64 &&
            (args[nargs] = graph_add(in->graph, in->region, OP_cast, 1, &args[nargs], &scalar,
                                     NULL)) == NO_NODE)
            return ANSWER_ERROR;
        scalar.dtype = type.dtype;
        args[nargs] = graph_add(in->graph, in->region, OP_cast, 1, &args[nargs], &scalar, NULL);
        if (args[nargs] == NO_NODE) return ANSWER_ERROR;
    }
    NodeId node = graph_add(in->graph, in->region, OP_element_store, nargs + 1, args, &type, NULL);
    if (node == NO_NODE) return ANSWER_ERROR;
    *version = node;
    return ANSWER_YES;
}
