/* Attributes of arrays and array scalars. */
#include <strings.h>

#include "numpy.h"

static Answer
push_const(Interp *in, PyObject *object, Value **out)
{
    *out = value_const_new(in, object);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A new tuple at each call. */
static Answer
push_sizes(Interp *in, int n, const SizeId *sizes, Value **out)
{
    *out = value_sequence(in, V_TUPLE, n, NULL);
    for (int i = 0; *out != NULL && i < n; i++)
        TRY(number_of_size(in, sizes[i], &(*out)->items[i]));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
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
    PyObject *module = module_import("operator");
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
    SizeId behind = size_const(in->graph, imaginary ? (int64_t)dtype_size(real) : 0);
    type.offset = size_add(in->graph, type.offset, behind);
    if (type.offset == NO_SIZE) return ANSWER_ERROR;
    TRY(node_view(in, OP_as_strided, node, &type, 0, NULL, &node));
    return push_node(in, node, out);
}

/* Is it a method of arrays? */
static bool
is_method(const char *name)
{
    PyObject *text = PyUnicode_InternFromString(name);
    PyObject *found = text != NULL ? attribute_stored((PyObject *)array_class(), text) : NULL;
    bool method = found != NULL && Py_IS_TYPE(found, &PyMethodDescr_Type);
    Py_XDECREF(text);
    PyErr_Clear();
    return method;
}

/* Those that tell where the elements are have a hint of their own. */
static Answer
not_followed(Interp *in, const char *name)
{
    static const char *const memory[] = {"data", "ctypes", "__array_interface__",
                                         "__array_struct__"};
    BreakHint hint = HINT_OF_CODE;
    if (is_method(name)) {
        const char *method = arena_printf(in->arena, "method '%s' of an array", name);
        return method == NULL ? ANSWER_ERROR
                              : interp_break_told(in, BREAK_ATTRIBUTE, BREAK_CALL_C, method);
    }
    for (int i = 0; i < COUNT_OF(memory); i++)
        if (strcmp(name, memory[i]) == 0) hint = HINT_MEMORY;
    return break_hinted(in, BREAK_ATTRIBUTE, hint, "attribute '%s' of an array", name);
}

static Answer
number_attribute(Interp *in, const Type *type, const char *name, Value **out)
{
    bool bytes = strcmp(name, "nbytes") == 0;
    if ((strcmp(name, "size") == 0 || bytes) && type_varies(in, type)) {
        SizeId all = size_const(in->graph, bytes ? (int64_t)dtype_size((DType)type->dtype) : 1);
        all = size_mul(in->graph, all, type_count(in->graph, type));
        return all == NO_SIZE ? ANSWER_ERROR : number_of_size(in, all, out);
    }
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
        return not_followed(in, name);
    return push_const(in, PyLong_FromLongLong(number), out);
}

/* Of an array whose shape is not known: dtype and rank are constants, anything else is a step. */
static Answer
opaque_attribute(Interp *in, Value *array, const char *name, Value **out)
{
    static const char *const known[] = {"dtype", "ndim", "itemsize"};
    static const char *const asked[] = {"shape", "size", "nbytes", "strides",
                                        "T",     "mT",   "real",   "imag"};
    enum { LENGTHS = 4 };
    for (int i = 0; i < COUNT_OF(known); i++)
        if (strcmp(name, known[i]) == 0)
            return push_const(in, PyObject_GetAttrString(opaque_sample(in, array), name), out);
    for (int i = 0; i < COUNT_OF(asked); i++)
        if (strcmp(name, asked[i]) == 0) {
            TRY(call_simple(in, attribute_getter(in, name), 1, &array, out));
            return i < LENGTHS && note_data_length(in, *out) < 0 ? ANSWER_ERROR : ANSWER_YES;
        }
    return not_followed(in, name);
}

/* `x.flat` and `x.flags`, before anything is read from them: represented as methods of these names
   that are not called. */
static Answer
part_attribute(Interp *in, Value *array, const char *name, Value **out)
{
    *out = value_sequence(in, V_BUILTIN_METHOD, 1, &array);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->name = name;
    return ANSWER_YES;
}

bool
value_is_flags(Interp *in, const Value *value)
{
    return value->kind == V_BUILTIN_METHOD && strcmp(value->name, "flags") == 0 &&
           value_is_array(in, value->items[0]);
}

Answer
array_known_writeable(Interp *in, Value *array, bool *out)
{
    ArrayHeader header;
    const char *why;
    if (storage_of(in, array->node) < 0) return ANSWER_ERROR;
    TRY(branch_aliased(in, array->node,
                       "the flags of one of the arrays that it leaves are asked for"));
    *out = !graph_view_is_readonly(in->graph, array->node);
    Value *input = input_of(in, array->node);
    if (input == NULL || !*out) return ANSWER_YES;
    if (array_read(input->object, &header, &why) != ANSWER_YES ||
        !(header.flags & ARRAY_WRITEABLE) || !input->guard)
        return interp_break(in, BREAK_ATTRIBUTE, "the flags of a read-only array");
    in->out->guards.at[input->guard - 1].array.flags |= ARRAY_WRITEABLE;
    return ANSWER_YES;
}

/* What is asked of a flag: orders, of which the first, or both, decide. */
static const struct {
    const char *name, *orders;
} order_flags[] = {{"c_contiguous", "C"}, {"contiguous", "C"}, {"f_contiguous", "F"},
                   {"fortran", "F"},      {"forc", "CF"},      {"fnc", "FC"}};

/* ANSWER_NO: another flag. */
static Answer
flag_of_order(Interp *in, Value *array, const char *name, bool *set)
{
    NodeId node;
    bool has[2] = {true, true};
    int i = 0;
    while (i < COUNT_OF(order_flags) && strcasecmp(name, order_flags[i].name) != 0) i++;
    if (i == COUNT_OF(order_flags)) return ANSWER_NO;
    VARYING(in, answer, array_operand(in, array, &node));
    if (answer != ANSWER_YES) return answer;
    Type type = node_type(in, node);
    const char *orders = order_flags[i].orders;
    bool none = type_elements(in->graph, &type) == 0;
    for (int k = 0; orders[k] != 0 && !none; k++)
        TRY(layout_has_order(in, &type, orders[k], &has[k]));
    *set = strcmp(orders, "CF") == 0   ? has[0] || has[1]
           : strcmp(orders, "FC") == 0 ? has[0] && !has[1]
                                       : has[0];
    return ANSWER_YES;
}

/* Attributes have small letters, keys have capitals. */
static bool
is_spelt(const char *name, bool key)
{
    for (; *name != 0; name++)
        if (key ? Py_ISLOWER(*name) : Py_ISUPPER(*name)) return false;
    return true;
}

Answer
emit_flag(Interp *in, Value *flags, PyObject *name, bool key, Value **out)
{
    const char *text = PyUnicode_AsUTF8(name);
    bool set = false, named = text != NULL && is_spelt(text, key);
    PyErr_Clear();
    Answer answer = named ? flag_of_order(in, flags->items[0], text, &set) : ANSWER_NO;
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO && (!named || strcasecmp(text, "writeable") != 0))
        return interp_break(in, BREAK_ATTRIBUTE, "flag '%s' of an array", text ? text : "?");
    if (answer == ANSWER_NO) TRY(array_known_writeable(in, flags->items[0], &set));
    return push_const(in, PyBool_FromLong(set), out);
}

/* The next instructions read only items of the shape. */
static bool
takes_items(const Interp *in)
{
    const Activation *a = in->top;
    if (a->number + 2 >= a->decoded->count) return false;
    const Instr *next = &a->decoded->instrs[a->number + 1];
    return next->kind == I_UNPACK || (next->kind == I_CONST && next[1].kind == I_SUBSCRIPT);
}

/* Attributes that need no guard of the shape; ANSWER_NO: another attribute. */
static Answer
unpinned_attribute(Interp *in, Value *array, const char *name, Value **out)
{
    const Type *type = &graph_node(in->graph, array->node)->type;
    if (strcmp(name, "shape") == 0 && takes_items(in)) return array_sizes(in, array, out);
    if (strcmp(name, "size") == 0) return array_elements(in, array, out);
    if (strcmp(name, "ndim") == 0) return push_const(in, PyLong_FromLong(type->rank), out);
    if (strcmp(name, "dtype") == 0)
        return push_const(in, array_dtype_object((DType)type->dtype), out);
    return ANSWER_NO;
}

/* The object at `source`, which is an array's base; its Value in *out. */
static Answer
base_of_input(Interp *in, Value *input, Value **out)
{
    PyObject *name = keep(in, PyUnicode_InternFromString("base"));
    SourceId source = NO_SOURCE;
    if (name != NULL && input->source != NO_SOURCE)
        source = source_add(in, SOURCE_ATTR, input->source, 0, name, NULL);
    if (source == NO_SOURCE)
        return PyErr_Occurred() ? ANSWER_ERROR
                                : interp_break(in, BREAK_ATTRIBUTE, "the base of an array");
    *out = value_from_source(in, source, array_base(input->object));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* x.base, where it is known: of an array from outside, of a view of one, of a kernel's result. The
   base of a view of a view is the first array, where it is an array. */
static Answer
array_base_of(Interp *in, Value *array, Value **out)
{
    *out = value_const(in, Py_None);
    if (*out == NULL || !value_is_array(in, array)) return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    if (storage_of(in, array->node) < 0) return ANSWER_ERROR;
    if (node_shows_leaf(in, array->node))
        return interp_break(in, BREAK_DERIVATIVE, "the base of what is differentiated");
    TRY(branch_aliased(in, array->node,
                       "the base of one of the arrays that it leaves is asked for"));
    Value *input = input_of(in, array->node);
    Value *window = window_of(in, array->node);
    if (window == array)
        return interp_break(in, BREAK_ATTRIBUTE, "the base of a view of its own kind");
    if (window != NULL) {
        *out = window;
        return ANSWER_YES;
    }
    if (input == NULL) {
        NodeId root = in->memory.storages.at[storage_of(in, array->node)].root;
        OpKind kind = op_info(graph_node(in->graph, root)->op)->kind;
        bool fresh = kind == KIND_POINTWISE || kind == KIND_UFUNC || kind == KIND_COPY ||
                     kind == KIND_FILL || kind == KIND_REDUCTION || kind == KIND_SCAN;
        if (root == array->node && fresh) return ANSWER_YES;
        return interp_break(in, BREAK_ATTRIBUTE, "the base of an array that is made here");
    }
    if (array == input) return base_of_input(in, input, out);
    ArrayHeader header;
    const char *why;
    bool owns =
        array_read(input->object, &header, &why) == ANSWER_YES && (header.flags & ARRAY_OWNS);
    if (!owns || input->guard == 0)
        return interp_break(in, BREAK_ATTRIBUTE, "the base of a view of a view");
    in->out->guards.at[input->guard - 1].array.flags |= ARRAY_OWNS;
    *out = input;
    return ANSWER_YES;
}

Answer
array_attribute(Interp *in, Value *array, const char *name, Value **out)
{
    NodeId node;
    bool opaque = value_is_opaque(in, array);
    if (strcmp(name, "flat") == 0 && (opaque || value_is_array(in, array)))
        return part_attribute(in, array, "flat", out);
    if (strcmp(name, "flags") == 0 && value_is_array(in, array) && node_is_leaf(in, array->node))
        TRY(push_node(in, graph_node(in->graph, array->node)->args[0], &array));
    if (strcmp(name, "flags") == 0 && value_is_array(in, array))
        return part_attribute(in, array, "flags", out);
    if (opaque) return opaque_attribute(in, array, name, out);
    if (array_is_unpinned(in, array)) {
        Answer answer = unpinned_attribute(in, array, name, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (strcmp(name, "device") == 0) return push_const(in, PyUnicode_FromString("cpu"), out);
    if (strcmp(name, "base") == 0) return array_base_of(in, array, out);
    VARYING(in, answer, array_operand(in, array, &node));
    if (answer != ANSWER_YES) return answer;
    Type type = node_type(in, node);
    bool scalar = type.form == FORM_SCALAR;
    if (strcmp(name, "shape") == 0) return push_sizes(in, type.rank, type.shape, out);
    if (strcmp(name, "strides") == 0) {
        TRY(layout_is_fixed(in, &type));
        return push_sizes(in, type.rank, type.stride, out);
    }
    if (strcmp(name, "dtype") == 0)
        return push_const(in, array_dtype_object((DType)type.dtype), out);
    if (strcmp(name, "T") == 0 && !scalar) return transposed(in, node, false, out);
    if (strcmp(name, "mT") == 0 && !scalar) return transposed(in, node, true, out);
    bool is_complex = dtype_is_complex((DType)type.dtype);
    if ((strcmp(name, "real") == 0 && !is_complex) || (scalar && strcmp(name, "T") == 0)) {
        *out = array;
        return ANSWER_YES;
    }
    if (strcmp(name, "real") == 0 || (strcmp(name, "imag") == 0 && is_complex))
        return part_view(in, node, name[0] == 'i', out);
    if (strcmp(name, "imag") == 0)
        return call_simple(in, attribute_getter(in, name), 1, &array, out);
    return number_attribute(in, &type, name, out);
}

/* x.flat = v, x.real = v and x.imag = v write elements; a store to shape or strides changes the
   array object itself. */
Answer
array_set_attribute(Interp *in, Value *array, const char *name, Value *value)
{
    static const char *const names[] = {"flat", "real", "imag"};
    Value *none, *part, *all;
    for (int i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) != 0) continue;
        bool splits = dtype_is_complex((DType)node_type(in, array->node).dtype);
        if (i > 0 && value_is_array(in, array) && (splits || i == 1)) {
            if ((all = value_const(in, Py_Ellipsis)) == NULL) return ANSWER_ERROR;
            TRY(array_attribute(in, array, name, &part));
            return emit_store_subscript(in, part, all, value);
        }
        Value *args[3] = {array, value_const_new(in, PyUnicode_FromString(name)), value};
        WholeCall call = {.callable = calls_object(in, "set_attribute"), .nargs = 3, .args = args};
        if (call.callable == NULL || args[1] == NULL) return ANSWER_ERROR;
        call.changes = 1;
        return call_whole(in, &call, &none);
    }
    return interp_break(in, BREAK_STORE, "a store to attribute '%s' of an array", name);
}
