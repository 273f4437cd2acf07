/* Arrays on a device: attributes, and parts by basic indexing, which are views.  Their rules are
   NumPy's (views.c, index.c, shape_functions.c) and differ where CuPy does: an element is an array
   of rank 0. */
#include "numpy.h"

/* ---- attributes ---- */

static Answer
sizes_of(Interp *in, int n, const SizeId *sizes, Value **out)
{
    Value *tuple = value_sequence(in, V_TUPLE, n, NULL);
    for (int i = 0; tuple != NULL && i < n; i++)
        TRY(number_of_size(in, sizes[i], &tuple->items[i]));
    *out = tuple;
    return tuple == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The axes in reverse, or of `mT` the last two swapped. */
static Answer
transposed(Interp *in, Value *array, bool last_two, Value **out)
{
    NodeId node;
    int axes[MAX_RANK];
    TRY(device_array(in, array, &node));
    int rank = node_type(in, node).rank;
    if (last_two && rank < 2) return interp_break(in, BREAK_SHAPE, "mT of fewer than 2 dimensions");
    for (int i = 0; i < rank; i++)
        axes[i] = last_two && i < rank - 2 ? i : last_two ? 2 * rank - 3 - i : rank - 1 - i;
    TRY(node_transpose(in, node, axes, &node));
    return push_node(in, node, out);
}

/* ANSWER_NO: another attribute. */
static Answer
number_of(Interp *in, const Type *type, const char *name, Value **out)
{
    SizeId item = size_const(in->graph, (int64_t)dtype_size((DType)type->dtype)), number;
    if (strcmp(name, "ndim") == 0)
        number = size_const(in->graph, type->rank);
    else if (strcmp(name, "size") == 0)
        number = type_count(in->graph, type);
    else if (strcmp(name, "itemsize") == 0)
        number = item;
    else if (strcmp(name, "nbytes") == 0)
        number = size_mul(in->graph, type_count(in->graph, type), item);
    else
        return ANSWER_NO;
    return number == NO_SIZE ? ANSWER_ERROR : number_of_size(in, number, out);
}

Answer
device_find(Interp *in, Value *array, PyObject *name, Value **out)
{
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) return ANSWER_ERROR;
    Type type = node_type(in, array->node);
    if (strcmp(text, "shape") == 0) return sizes_of(in, type.rank, type.shape, out);
    if (strcmp(text, "strides") == 0) return sizes_of(in, type.rank, type.stride, out);
    if (strcmp(text, "T") == 0 && type.rank < 2) { /* the array itself (CuPy's core.pyx) */
        *out = array;
        return ANSWER_YES;
    }
    if (strcmp(text, "T") == 0) return transposed(in, array, false, out);
    if (strcmp(text, "mT") == 0) return transposed(in, array, true, out);
    Answer answer = number_of(in, &type, text, out);
    if (answer != ANSWER_NO) return answer;
    if (strcmp(text, "device") == 0)
        return device_object(in, device_index((Device)type.device), out);
    if (strcmp(text, "dtype") == 0)
        *out = value_const_new(in, array_dtype_object((DType)type.dtype));
    else if (device_method_rule(text) != NULL || device_calls_method(text)) {
        *out = value_sequence(in, V_BUILTIN_METHOD, 1, &array);
        if (*out != NULL) (*out)->name = text;
    } else
        return interp_break(in, BREAK_DEVICE, "'%s' of %s", text, device_library(in, array)->array);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- parts ---- */

static bool
has_array(const Value *key)
{
    for (int i = 0; key->kind == V_TUPLE && i < key->nitems; i++)
        if (key->items[i] != NULL && value_is_on_device(key->items[i])) return true;
    return value_is_on_device(key);
}

Answer
device_part(Interp *in, Value *array, Value *key, NodeId *out)
{
    NodeId node;
    bool element;
    TRY(device_array(in, array, &node));
    Answer answer = has_array(key) ? ANSWER_NO : node_index(in, node, key, &element, out);
    if (answer == ANSWER_NO)
        return device_break(in, array, "a part, not by known numbers and slices,");
    if (answer != ANSWER_YES) return answer;
    Type type = node_type(in, *out);
    return type_elements(in->graph, &type) > 0 ? lengths_are_several(in, &type)
                                               : device_break(in, array, "a part without elements");
}

Answer
subscript_of_device(Interp *in, Value *array, Value *key, Value **out)
{
    NodeId node;
    Answer taken = has_array(key) ? device_take(in, array, key, out) : ANSWER_NO;
    if (taken != ANSWER_NO) return taken;
    TRY(device_part(in, array, key, &node));
    return push_node(in, node, out);
}
