/* Dtypes, constants, and weak Python scalars as operands.
   A Python scalar next to an array is converted as NumPy does it: by item assignment into an array
   of the loop's dtype.  Constants are converted while capturing; symbolic integers are guarded to
   the dtype's range, because NumPy raises OverflowError outside it. */
#include <float.h>
#include <math.h>

#include "numpy.h"

static int
kind_order(DType dtype)
{
    if (dtype == DT_BOOL) return 0;
    if (dtype_is_complex(dtype)) return 4;
    if (dtype_is_float(dtype)) return 3;
    return dtype_is_signed(dtype) ? 2 : 1;
}

bool
dtype_can_cast_same_kind(DType from, DType to)
{
    return kind_order(from) <= kind_order(to);
}

DType
dtype_real_of(DType dtype)
{
    return dtype == DT_C64 ? DT_F32 : dtype == DT_C128 ? DT_F64 : dtype;
}

/* ---- constants ---- */

static bool
float_overflows(double value, DType real)
{
    if (!isfinite(value)) return false;
    if (real == DT_F16) return fabs(value) >= 65520.0;
    if (real == DT_F32) return fabs(value) >= 0x1.ffffffp+127;
    if (real == DT_BF16) return fabs(value) >= 0x1.ffp+127;
    return false;
}

/* -1: OverflowError in NumPy. */
static int
put_integer(PyObject *value, DType dtype, char *bytes)
{
    /* Item assignment truncates floats. */
    PyObject *index = PyFloat_Check(value) ? PyNumber_Long(value) : PyNumber_Index(value);
    if (index == NULL) {
        PyErr_Clear();
        return -1;
    }
    size_t size = dtype_size(dtype);
    int fits = -1;
    if (dtype_is_signed(dtype)) {
        int overflow = 0;
        long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
        int64_t top = (int64_t)((UINT64_C(1) << (8 * size - 1)) - 1);
        if (!overflow && number <= top && number >= -top - 1) {
            memcpy(bytes, &number, size);
            fits = 0;
        }
    } else {
        unsigned long long number = PyLong_AsUnsignedLongLong(index);
        bool bad = PyErr_Occurred() != NULL;
        PyErr_Clear();
        if (!bad && (size == 8 || number < (UINT64_C(1) << (8 * size)))) {
            memcpy(bytes, &number, size);
            fits = 0;
        }
    }
    Py_DECREF(index);
    return fits;
}

static int
put_real(double value, DType real, char *bytes)
{
    if (float_overflows(value, real)) return -1;
    float single = (float)value;
    if (real == DT_F16) return PyFloat_Pack2(value, bytes, 1);
    uint16_t half = bfloat_bits(value);
    if (real == DT_BF16)
        memcpy(bytes, &half, sizeof half);
    else if (real == DT_F32)
        memcpy(bytes, &single, sizeof single);
    else
        memcpy(bytes, &value, sizeof value);
    return 0;
}

/* -1 where NumPy raises or warns, perhaps with an exception set. */
static int
put_scalar(PyObject *value, DType dtype, char *bytes)
{
    if (dtype == DT_BOOL) {
        int truth = PyObject_IsTrue(value);
        bytes[0] = (char)truth;
        return truth < 0 ? -1 : 0;
    }
    if (dtype_is_complex(dtype)) {
        Py_complex number = PyComplex_AsCComplex(value);
        if (number.real == -1.0 && PyErr_Occurred()) return -1;
        DType real = dtype_real_of(dtype);
        if (put_real(number.real, real, bytes) < 0) return -1;
        return put_real(number.imag, real, bytes + dtype_size(real));
    }
    if (PyComplex_Check(value)) return -1; /* ComplexWarning or TypeError */
    if (dtype_is_float(dtype)) {
        double number = PyFloat_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) return -1;
        return put_real(number, dtype, bytes);
    }
    return put_integer(value, dtype, bytes);
}

static NodeId
const_node(Interp *in, PyObject *scalar, DType dtype, Form form)
{
    if (scalar == NULL) return NO_NODE;
    Type type = type_scalar(dtype, form);
    NodeId node = graph_const(in->graph, in->region, scalar, &type);
    Py_DECREF(scalar);
    return node;
}

Answer
node_scalar(Interp *in, PyObject *value, DType dtype, NodeId *out)
{
    char bytes[16] = {0};
    if (put_scalar(value, dtype, bytes) < 0) {
        PyErr_Clear();
        return interp_break(in, BREAK_SHAPE, "a Python number that does not fit %s",
                            dtype_long_name(dtype));
    }
    TRY_NODE(*out, const_node(in, array_box(dtype, bytes, false), dtype, FORM_SCALAR));
    return ANSWER_YES;
}

NodeId
node_int(Interp *in, int64_t value, DType dtype)
{
    char bytes[16] = {0};
    memcpy(bytes, &value, sizeof value);
    return const_node(in, array_box(dtype, bytes, false), dtype, FORM_SCALAR);
}

NodeId
node_float(Interp *in, double value, DType dtype)
{
    char bytes[16] = {0};
    put_real(value, dtype_real_of(dtype), bytes);
    return const_node(in, array_box(dtype, bytes, false), dtype, FORM_SCALAR);
}

NodeId
node_object(Interp *in, PyObject *object)
{
    return const_node(in, Py_NewRef(object), DT_OBJECT, FORM_OBJECT);
}

/* ---- casts ---- */

/* The Python object of a constant scalar node, or NULL. */
static PyObject *
constant_of(const Interp *in, NodeId node)
{
    const Node *n = graph_node(in->graph, node);
    return n->op == OP_const && n->type.rank == 0 && n->type.form != FORM_ARRAY ? n->attrs.object
                                                                                : NULL;
}

Answer
node_known(Interp *in, NodeId node, PyObject **out)
{
    const Node *n = graph_node(in->graph, node);
    *out = constant_of(in, node);
    if (*out != NULL) return ANSWER_YES;
    if (n->op != OP_input || n->type.form != FORM_PYTHON || in->region != 0) return ANSWER_NO;
    return value_known(in, in->memory.inputs.at[n->attrs.index], out);
}

/* The frame's value that the node is, or NULL.  What a loop carries is an input of its region. */
static Value *
frame_input(Interp *in, const Node *node, NodeId id)
{
    int64_t index = node->attrs.index;
    if (node->op != OP_input || index < 0 || index >= in->memory.inputs.len) return NULL;
    Value *value = in->memory.inputs.at[index];
    return value->node == id ? value : NULL;
}

static Answer
cast_node(Interp *in, NodeId node, DType dtype, NodeId *out)
{
    Type type = node_type(in, node);
    if (type.rank == 0) {
        uint8_t device = type.device;
        type = type_scalar(dtype, type.form == FORM_PYTHON ? FORM_SCALAR : (Form)type.form);
        type.device = device;
    } else if (type_broadcast(in->graph, &type, dtype, 1, &node, NULL) != ANSWER_YES)
        return ANSWER_ERROR;
    TRY_NODE(*out, graph_add(in->graph, in->region, OP_cast, 1, &node, &type, NULL));
    return ANSWER_YES;
}

/* In a kept loop Python's int that meets an integer of another dtype must fit it: NumPy raises
   where it does not, and so the loop is left. */
static Answer
assert_fits(Interp *in, NodeId node, DType dtype)
{
    Type wide = type_scalar(DT_I64, FORM_SCALAR), truth = type_scalar(DT_BOOL, FORM_PYTHON);
    NodeId both[2] = {node, node}, test;
    if (dtype == DT_U64) {
        TRY_NODE(both[0], const_node(in, PyLong_FromLong(0), DT_I64, FORM_PYTHON));
    } else {
        TRY(cast_node(in, node, dtype, &both[0]));
        TRY_NODE(both[0], graph_add(in->graph, in->region, OP_cast, 1, &both[0], &wide, NULL));
    }
    Op op = dtype == DT_U64 ? OP_py_le : OP_py_eq;
    TRY_NODE(test, graph_add(in->graph, in->region, op, 2, both, &truth, NULL));
    TRY_NODE(test, graph_add(in->graph, in->region, OP_py_assert, 1, &test, &truth, NULL));
    return ANSWER_YES;
}

/* The ints that are of the dtype and fit int64. */
static void
range_of(DType dtype, int64_t *low, int64_t *high)
{
    int bits = 8 * (int)dtype_size(dtype);
    bool is_signed = dtype_is_signed(dtype);
    *high = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - is_signed)) - 1;
    *low = is_signed ? -*high - 1 : 0;
}

/* A symbolic Python int converted to an integer of another width. */
static Answer
guard_weak_range(Interp *in, NodeId node, DType dtype)
{
    int64_t low, high;
    if (dtype == DT_I64) return ANSWER_YES;
    range_of(dtype, &low, &high);
    if (node_in_range(in, node, low, high)) return ANSWER_YES;
    Value *input = frame_input(in, graph_node(in->graph, node), node);
    if (input == NULL && in->loop != NULL) return assert_fits(in, node, dtype);
    if (input == NULL)
        return break_hinted(in, BREAK_OPERATOR, HINT_NARROW,
                            "Python's int, which is computed here, meets numpy.%s",
                            dtype_long_name(dtype));
    Answer answer = value_in_range(in, input, low, high);
    if (answer != ANSWER_NO) return answer;
    return interp_break(in, BREAK_SHAPE, "a Python int that does not fit %s",
                        dtype_long_name(dtype));
}

Answer
node_cast(Interp *in, NodeId node, DType dtype, NodeId *out)
{
    Type type = node_type(in, node);
    PyObject *constant = constant_of(in, node);
    bool python = type.form == FORM_PYTHON;
    if (constant != NULL && python) return node_scalar(in, constant, dtype, out);
    if (type.dtype == dtype) {
        *out = node;
        return ANSWER_YES;
    }
    if (dtype_is_complex(type.dtype) && !dtype_is_complex(dtype) && dtype != DT_BOOL)
        return interp_break(in, BREAK_SHAPE, "complex values cast to %s", dtype_long_name(dtype));
    if (python && type.dtype == DT_U64 && dtype_is_integer(dtype)) {
        Type wide = type_scalar(DT_I64, FORM_PYTHON); /* leaves the loop where it does not fit */
        TRY_NODE(node, graph_add(in->graph, in->region, OP_py_int, 1, &node, &wide, NULL));
        type.dtype = DT_I64;
        if (dtype == DT_I64) return node_form(in, node, FORM_SCALAR, out);
    }
    if (python && type.dtype == DT_I64 && dtype_is_integer(dtype))
        TRY(guard_weak_range(in, node, dtype));
    /* NumPy converts a Python int to a float through double, which rounds twice. */
    if (python && dtype_is_integer((DType)type.dtype) && dtype_is_float(dtype) && dtype != DT_F64)
        TRY(cast_node(in, node, DT_F64, &node));
    return cast_node(in, node, dtype, out);
}

Answer
node_weak(Interp *in, NodeId number, DType dtype, NodeId *out)
{
    TRY(guard_weak_range(in, number, dtype));
    Type type = type_scalar(dtype, FORM_SCALAR);
    Op op = dtype == DT_I64 ? OP_copy : OP_cast;
    TRY_NODE(*out, graph_add(in->graph, in->region, op, 1, &number, &type, NULL));
    return VEC_PUSH(in->arena, &in->loop->python, *out) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
nodes_widen(Interp *in, NodeId *args)
{
    for (int k = 0; k < 2; k++) {
        const Type *weak = &graph_node(in->graph, args[k])->type;
        const Type *other = &graph_node(in->graph, args[1 - k])->type;
        int64_t low, high;
        bool ints = weak->form == FORM_PYTHON && weak->dtype == DT_I64 &&
                    other->form == FORM_SCALAR && dtype_is_integer((DType)other->dtype);
        if (!ints || dtype_size((DType)other->dtype) == 8) continue;
        range_of((DType)other->dtype, &low, &high);
        if (node_in_range(in, args[k], low, high)) continue;
        TRY(node_weak(in, args[k], DT_I64, &args[k]));
        TRY(cast_node(in, args[1 - k], DT_I64, &args[1 - k]));
        return VEC_PUSH(in->arena, &in->loop->python, args[1 - k]) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    return ANSWER_YES;
}

Answer
node_form(Interp *in, NodeId node, Form form, NodeId *out)
{
    Type type = node_type(in, node);
    *out = node;
    if (type.form == form) return ANSWER_YES;
    PyObject *constant = constant_of(in, node);
    if (constant != NULL && form == FORM_SCALAR) return node_scalar(in, constant, type.dtype, out);
    bool computes = !dtype_is_complex((DType)type.dtype) && type.dtype != DT_F16;
    if (form == FORM_PYTHON && !computes)
        return break_hinted(in, BREAK_DTYPE, HINT_CONVERT,
                            "a Python number out of complex or half numbers");
    type = type_scalar((DType)type.dtype, form);
    Op op = form == FORM_PYTHON ? OP_py_item : OP_copy;
    TRY_NODE(*out, graph_add(in->graph, in->region, op, 1, &node, &type, NULL));
    return ANSWER_YES;
}

/* ---- arguments that are known ---- */

bool
value_is_none(const Value *value)
{
    return value->kind == V_CONST && value->object == Py_None;
}

bool
value_absent(const Value *value)
{
    if (value == NULL || value_is_none(value)) return true;
    /* NumPy's own functions pass this on for "not given" */
    return value->object != NULL && value->object == numpy_object("_NoValue");
}

Answer
value_as_flag(Interp *in, Value *value, bool fallback, bool *out)
{
    *out = fallback;
    if (value == NULL || (value_absent(value) && !value_is_none(value))) return ANSWER_YES;
    PyObject *object;
    Answer answer = value_known(in, value, &object);
    if (answer_stops(answer)) return answer;
    bool known = answer == ANSWER_YES && PyLong_Check(object);
    long number = known ? PyLong_AsLong(object) : -1; /* NumPy accepts some other ints */
    PyErr_Clear();
    if (number != 0 && number != 1)
        return interp_break(in, BREAK_NUMPY, "a flag that is not a known bool");
    *out = number == 1;
    return ANSWER_YES;
}

Answer
object_known(Interp *in, Value *value, PyObject **out)
{
    if (value->kind != V_OBJECT) return value_known(in, value, out);
    if (value->object == NULL) return ANSWER_NO;
    *out = value->object;
    if (value->source == NO_SOURCE) return ANSWER_YES;
    Guard guard = {
        .kind = GUARD_IS, .source = value->source, .other = NO_SOURCE, .object = value->object};
    return guard_add(in, &guard) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
value_as_dtype_by(Interp *in, Value *value, Answer (*read)(PyObject *object, DType *out),
                  DType *out)
{
    if (value_absent(value)) return ANSWER_YES;
    PyObject *object;
    /* Do not guard an object that is not a supported dtype by identity: the guard would keep it
       alive. */
    if (value->kind == V_OBJECT && value->object != NULL && value->source != NO_SOURCE &&
        read(value->object, out) == ANSWER_NO)
        return break_dtype(in, value->object);
    Answer known = object_known(in, value, &object);
    if (known == ANSWER_NO)
        return break_hinted(in, BREAK_DTYPE, HINT_NAME_DTYPE, "a dtype that is not known");
    if (answer_stops(known)) return known;
    Answer answer = read(object, out);
    if (answer != ANSWER_NO) return answer;
    return break_dtype(in, object);
}

Answer
value_as_dtype(Interp *in, Value *value, DType *out)
{
    return value_as_dtype_by(in, value, array_dtype_from_object, out);
}

Answer
value_as_device_dtype(Interp *in, Value *value, DType *out)
{
    return value_as_dtype_by(in, value, array_device_dtype, out);
}
