/* Attributes of arrays and array scalars. */
#include "numpy_rules.h"

static Answer
push_const(Interp *in, PyObject *object, Value **out)
{
    *out = value_const_new(in, object);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
push_sizes(Interp *in, int n, const SizeId *sizes, Value **out)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple != NULL && i < n; i++) {
        PyObject *size = PyLong_FromLongLong(size_value(in->graph, sizes[i]));
        if (size == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, size);
    }
    return push_const(in, tuple, out);
}

static Answer
transposed(Interp *in, NodeId node, bool last_two, Value **out)
{
    Type type = node_type(in, node);
    int permutation[MAX_RANK], rank = type.rank;
    if (last_two && rank < 2) return interp_break(in, BREAK_SHAPE, "mT of fewer than 2 dimensions");
    for (int i = 0; i < rank; i++) permutation[i] = last_two ? i : rank - 1 - i;
    if (last_two) {
        permutation[rank - 1] = rank - 2;
        permutation[rank - 2] = rank - 1;
    }
    TRY(node_transpose(in, node, permutation, &node));
    return push_node(in, node, out);
}

/* operator.attrgetter(name), borrowed */
PyObject *
attribute_getter(Interp *in, const char *name)
{
    PyObject *module = PyImport_ImportModule("operator");
    PyObject *get = module == NULL ? NULL : PyObject_CallMethod(module, "attrgetter", "s", name);
    Py_XDECREF(module);
    return keep(in, get);
}

/* Real or imaginary part of a complex array: a view of every other number. */
static Answer
part_view(Interp *in, NodeId node, bool imaginary, Value **out)
{
    Type type = node_type(in, node);
    DType real = dtype_real_of((DType)type.dtype);
    if (type.form == FORM_SCALAR) {
        PyObject *get = attribute_getter(in, imaginary ? "imag" : "real");
        if (get == NULL) return ANSWER_ERROR;
        type = type_scalar(real, FORM_SCALAR);
        TRY(node_extern(in, get, 1, &node, &type, &node));
        return push_node(in, node, out);
    }
    type.dtype = (uint8_t)real;
    int64_t offset = size_value(in->graph, type.offset);
    type.offset = size_const(in->graph, offset + (imaginary ? (int64_t)dtype_size(real) : 0));
    TRY(node_view(in, OP_as_strided, node, &type, 0, NULL, &node));
    return push_node(in, node, out);
}

static Answer
number_attribute(Interp *in, const Type *type, const char *name, Value **out)
{
    int64_t elements = type_elements(in->graph, type);
    int64_t itemsize = (int64_t)dtype_size((DType)type->dtype);
    int64_t number;
    if (strcmp(name, "ndim") == 0)
        number = type->rank;
    else if (strcmp(name, "size") == 0)
        number = elements;
    else if (strcmp(name, "itemsize") == 0)
        number = itemsize;
    else if (strcmp(name, "nbytes") == 0)
        number = elements * itemsize;
    else
        return interp_break(in, BREAK_ATTRIBUTE, "attribute '%s' of an array", name);
    return push_const(in, PyLong_FromLongLong(number), out);
}

/* Of an array whose shape is not known: dtype and rank are, the rest is asked at run time. */
static Answer
opaque_attribute(Interp *in, Value *array, const char *name, Value **out)
{
    static const char *const known[] = {"dtype", "ndim", "itemsize"};
    static const char *const asked[] = {"shape", "size", "nbytes", "strides",
                                        "T",     "mT",   "real",   "imag"};
    for (int i = 0; i < COUNT_OF(known); i++)
        if (strcmp(name, known[i]) == 0)
            return push_const(in, PyObject_GetAttrString(opaque_sample(in, array), name), out);
    for (int i = 0; i < COUNT_OF(asked); i++)
        if (strcmp(name, asked[i]) == 0)
            return call_simple(in, attribute_getter(in, name), 1, &array, out);
    return interp_break(in, BREAK_ATTRIBUTE, "attribute '%s' of an array", name);
}

/* `x.flat`, until it is subscripted or called for: a method of that name without its call. */
static Answer
flat_attribute(Interp *in, Value *array, Value **out)
{
    *out = value_sequence(in, V_BUILTIN_METHOD, 1, &array);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->name = "flat";
    return ANSWER_YES;
}

Answer
array_attribute(Interp *in, Value *array, const char *name, Value **out)
{
    NodeId node;
    bool opaque = value_is_opaque(in, array);
    if (strcmp(name, "flat") == 0 && (opaque || value_is_array(in, array)))
        return flat_attribute(in, array, out);
    if (opaque) return opaque_attribute(in, array, name, out);
    TRY(array_operand(in, array, &node));
    Type type = node_type(in, node);
    bool scalar = type.form == FORM_SCALAR;
    if (strcmp(name, "shape") == 0) return push_sizes(in, type.rank, type.shape, out);
    if (strcmp(name, "strides") == 0) return push_sizes(in, type.rank, type.stride, out);
    if (strcmp(name, "dtype") == 0)
        return push_const(in, array_dtype_object((DType)type.dtype), out);
    if (strcmp(name, "T") == 0 && !scalar) return transposed(in, node, false, out);
    if (strcmp(name, "mT") == 0 && !scalar) return transposed(in, node, true, out);
    bool is_complex = dtype_is_complex((DType)type.dtype);
    if (strcmp(name, "real") == 0 && !is_complex) {
        *out = array;
        return ANSWER_YES;
    }
    if (strcmp(name, "real") == 0 || (strcmp(name, "imag") == 0 && is_complex))
        return part_view(in, node, name[0] == 'i', out);
    if (strcmp(name, "imag") == 0 || (scalar && strcmp(name, "T") == 0))
        return call_simple(in, attribute_getter(in, name), 1, &array, out);
    return number_attribute(in, &type, name, out);
}

/* x.flat = v, x.real = v and x.imag = v write elements; shape and strides change the array itself.
 */
Answer
array_set_attribute(Interp *in, Value *array, const char *name, Value *value)
{
    static const char *const names[] = {"flat", "real", "imag"};
    Value *none;
    for (int i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) != 0) continue;
        Value *args[3] = {array, value_const_new(in, PyUnicode_FromString(name)), value};
        WholeCall call = {
            .callable = whole_function(in, "set_attribute"), .nargs = 3, .args = args};
        if (call.callable == NULL || args[1] == NULL) return ANSWER_ERROR;
        call.changes = 1;
        return call_whole(in, &call, &none);
    }
    return interp_break(in, BREAK_STORE, "a store to attribute '%s' of an array", name);
}
