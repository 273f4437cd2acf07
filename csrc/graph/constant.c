/* Constants: their bytes, and their text.

   A scalar is written as Python writes it, a complex number as c(real, imaginary), and a NaN whose
   bits are not the default NaN's as bits(0x…), so that every bit can be read back. An array is the
   list of its elements in C order, or @n when it is long. Elements are read through the buffer
   protocol, so that nothing here depends on the array library. */
#include "form.h"

/* ---- bytes ---- */

uint16_t
bfloat_bits(double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double
bfloat_value(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Of the two floats in a complex number. */
static DType
part_dtype(DType dtype)
{
    return dtype == DT_C64 ? DT_F32 : DT_F64;
}

static void
write_float(double value, DType dtype, char *bytes)
{
    size_t size = dtype_size(dtype);
    float narrow = (float)value;
    uint16_t half = bfloat_bits(value);
    if (dtype == DT_BF16) {
        memcpy(bytes, &half, sizeof half);
        return;
    }
    if (size == 8)
        memcpy(bytes, &value, 8);
    else if (size == 4)
        memcpy(bytes, &narrow, 4);
    else if (PyFloat_Pack2(value, bytes, 1) < 0) { /* too large for f16: infinity, as in a cast */
        PyErr_Clear();
        PyFloat_Pack2(copysign(Py_HUGE_VAL, value), bytes, 1);
    }
}

static int
read_number(PyObject *value, DType dtype, char *bytes)
{
    size_t size = dtype_size(dtype);
    if (dtype == DT_BOOL) {
        int truth = PyObject_IsTrue(value);
        *bytes = truth > 0;
        return truth < 0 ? -1 : 0;
    }
    if (dtype_is_complex(dtype)) {
        Py_complex number = PyComplex_AsCComplex(value);
        write_float(number.real, part_dtype(dtype), bytes);
        write_float(number.imag, part_dtype(dtype), bytes + size / 2);
    } else if (dtype_is_float(dtype)) {
        write_float(PyFloat_AsDouble(value), dtype, bytes);
    } else {
        unsigned long long number = PyLong_AsUnsignedLongLongMask(value);
        memcpy(bytes, &number, size); /* little-endian machines only, as the generated code is */
    }
    return PyErr_Occurred() ? -1 : 0;
}

static bool
is_python_number(PyObject *value)
{
    return PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value) ||
           PyComplex_CheckExact(value);
}

/* The buffer's elements have this dtype: its format as the struct module and PEP 3118 write it. */
static bool
format_is(const Py_buffer *buffer, DType dtype)
{
    static const char *const formats[] = {
        [DT_BOOL] = "?", [DT_I8] = "b",  [DT_I16] = "h", [DT_I32] = "i",  [DT_I64] = "l",
        [DT_U8] = "B",   [DT_U16] = "H", [DT_U32] = "I", [DT_U64] = "L",  [DT_F16] = "e",
        [DT_BF16] = "",  [DT_F32] = "f", [DT_F64] = "d", [DT_C64] = "Zf", [DT_C128] = "Zd"};
    const char *format = buffer->format == NULL ? "B" : buffer->format;
    if (strcmp(format, "q") == 0) format = "l"; /* long long, where it is as long as long */
    if (strcmp(format, "Q") == 0) format = "L";
    return dtype < DT_OBJECT && strcmp(format, formats[dtype]) == 0 &&
           (size_t)buffer->itemsize == dtype_size(dtype);
}

int
constant_read(PyObject *value, DType dtype, void *bytes)
{
    memset(bytes, 0, 16);
    if (is_python_number(value)) return read_number(value, dtype, bytes);
    Py_buffer buffer;
    if (PyObject_GetBuffer(value, &buffer, PyBUF_FULL_RO) < 0) return -1;
    bool fits = buffer.ndim == 0 && format_is(&buffer, dtype);
    if (fits) memcpy(bytes, buffer.buf, dtype_size(dtype));
    PyBuffer_Release(&buffer);
    if (!fits) PyErr_Format(PyExc_TypeError, "not a scalar of dtype %s", dtype_name(dtype));
    return fits ? 0 : -1;
}

/* ---- printing ---- */

static uint64_t
read_bits(const char *bytes, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, size);
    return bits;
}

static double
read_float(const char *bytes, DType dtype)
{
    size_t size = dtype_size(dtype);
    float narrow;
    double wide;
    if (dtype == DT_BF16) return bfloat_value((uint16_t)read_bits(bytes, size));
    if (size == 2) return PyFloat_Unpack2(bytes, 1);
    if (size == 4) {
        memcpy(&narrow, bytes, 4);
        return narrow;
    }
    memcpy(&wide, bytes, 8);
    return wide;
}

/* The shortest digits that read back as the same float of this size. */
static char *
float_digits(double value, size_t size)
{
    if (size == 8) return PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    for (int precision = 6;; precision++) {
        char *digits = PyOS_double_to_string(value, 'g', precision, Py_DTSF_ADD_DOT_0, NULL);
        if (digits == NULL) return NULL;
        double again = PyOS_string_to_double(digits, NULL, NULL);
        if ((float)again == (float)value || precision == 9) return digits;
        PyMem_Free(digits);
    }
}

static void
print_float(const char *bytes, DType dtype, Text *out)
{
    static const uint64_t plain_nan[DT_COUNT] = {[DT_F16] = 0x7e00,
                                                 [DT_BF16] = 0x7fc0,
                                                 [DT_F32] = 0x7fc00000,
                                                 [DT_F64] = 0x7ff8000000000000};
    size_t size = dtype_size(dtype);
    double value = read_float(bytes, dtype);
    uint64_t bits = read_bits(bytes, size);
    if (value != value && bits != plain_nan[dtype]) {
        text_printf(out, "bits(0x%llx)", (unsigned long long)bits);
        return;
    }
    char *digits = float_digits(value, size);
    text_put(out, digits == NULL ? "nan" : digits);
    if (digits == NULL) PyErr_Clear();
    PyMem_Free(digits);
}

static void
print_element(const char *bytes, DType dtype, Text *out)
{
    size_t size = dtype_size(dtype);
    if (dtype == DT_BOOL) {
        text_put(out, *bytes ? "True" : "False");
    } else if (dtype_is_float(dtype)) {
        print_float(bytes, dtype, out);
    } else if (dtype_is_complex(dtype)) {
        text_put(out, "c(");
        print_float(bytes, part_dtype(dtype), out);
        text_put(out, ", ");
        print_float(bytes + size / 2, part_dtype(dtype), out);
        text_put(out, ")");
    } else {
        uint64_t bits = read_bits(bytes, size);
        int shift = 64 - 8 * (int)size;
        if (dtype_is_signed(dtype))
            text_printf(out, "%lld", (long long)((int64_t)(bits << shift) >> shift));
        else
            text_printf(out, "%llu", (unsigned long long)bits);
    }
}

/* Visits the elements in C order. */
static void
print_elements(const Py_buffer *buffer, DType dtype, int axis, const char *at, Text *out)
{
    if (axis == buffer->ndim) {
        if (out->len > 0 && out->data[out->len - 1] != '[') text_put(out, ", ");
        print_element(at, dtype, out);
        return;
    }
    for (Py_ssize_t i = 0; i < buffer->shape[axis]; i++)
        print_elements(buffer, dtype, axis + 1, at + i * buffer->strides[axis], out);
}

void
constant_print(const Graph *g, const Node *node, Text *out)
{
    PyObject *value = node->attrs.object;
    const Type *type = &node->type;
    char bytes[16];
    Py_buffer buffer;
    if (value == NULL) {
        text_put(out, "None");
    } else if (type->dtype == DT_OBJECT) {
        object_print(g, value, out);
    } else if (type->rank == 0 && constant_read(value, (DType)type->dtype, bytes) == 0) {
        print_element(bytes, (DType)type->dtype, out);
    } else if (type->rank > 0 && type_elements(g, type) <= CONSTANT_PRINTED &&
               PyObject_GetBuffer(value, &buffer, PyBUF_FULL_RO) == 0) {
        text_put(out, "[");
        print_elements(&buffer, (DType)type->dtype, 0, buffer.buf, out);
        text_put(out, "]");
        PyBuffer_Release(&buffer);
    } else {
        PyErr_Clear();
        object_print_place(g, value, out);
    }
}

/* ---- parsing ---- */

static void
skip(const char **text, const char *what)
{
    while (**text != '\0' && strchr(what, **text) != NULL) ++*text;
}

static int
bad(const char *text)
{
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "bad constant at '%.20s'", text);
    return -1;
}

static int
parse_float(const char **text, DType dtype, char *bytes)
{
    char *end;
    if (strncmp(*text, "bits(", 5) == 0) {
        uint64_t bits = strtoull(*text + 5, &end, 16);
        memcpy(bytes, &bits, dtype_size(dtype));
        if (*end != ')') return bad(*text);
        *text = end + 1;
        return 0;
    }
    double value = PyOS_string_to_double(*text, &end, NULL);
    if (end == *text || PyErr_Occurred()) {
        PyErr_Clear();
        return bad(*text);
    }
    write_float(value, dtype, bytes);
    *text = end;
    return 0;
}

static int
parse_element(const char **text, DType dtype, char *bytes)
{
    size_t size = dtype_size(dtype);
    if (dtype_is_float(dtype)) return parse_float(text, dtype, bytes);
    if (dtype_is_complex(dtype)) {
        if (strncmp(*text, "c(", 2) != 0) return bad(*text);
        *text += 2;
        if (parse_float(text, part_dtype(dtype), bytes) < 0) return -1;
        skip(text, ", ");
        if (parse_float(text, part_dtype(dtype), bytes + size / 2) < 0 || **text != ')')
            return bad(*text);
        ++*text;
        return 0;
    }
    if (dtype == DT_BOOL) {
        bool truth = strncmp(*text, "True", 4) == 0;
        if (!truth && strncmp(*text, "False", 5) != 0) return bad(*text);
        *bytes = truth;
        *text += truth ? 4 : 5;
        return 0;
    }
    char *end;
    uint64_t value = **text == '-' ? (uint64_t)strtoll(*text, &end, 10) : strtoull(*text, &end, 10);
    if (end == *text) return bad(*text);
    memcpy(bytes, &value, size);
    *text = end;
    return 0;
}

/* numpy.ndarray(shape, dtype, buffer, offset, strides) over a bytearray. */
static PyObject *
make_array(const Graph *g, const Type *type, PyObject *memory, int64_t offset)
{
    static const char *const names[] = {
        [DT_BOOL] = "?", [DT_I8] = "i1",  [DT_I16] = "i2", [DT_I32] = "i4", [DT_I64] = "i8",
        [DT_U8] = "u1",  [DT_U16] = "u2", [DT_U32] = "u4", [DT_U64] = "u8", [DT_F16] = "f2",
        [DT_BF16] = "V", [DT_F32] = "f4", [DT_F64] = "f8", [DT_C64] = "c8", [DT_C128] = "c16"};
    PyObject *numpy = module_import("numpy"), *array = NULL;
    PyObject *shape = graph_view_sizes(g, type->rank, type->shape);
    PyObject *stride = graph_view_sizes(g, type->rank, type->stride);
    if (numpy == NULL || shape == NULL || stride == NULL) goto done;
    array = PyObject_CallMethod(numpy, "ndarray", "OsOLO", shape, names[type->dtype], memory,
                                (long long)offset, stride);
done:
    Py_XDECREF(numpy);
    Py_XDECREF(shape);
    Py_XDECREF(stride);
    return array;
}

/* The first byte of a type's elements and one past the last, relative to the first element. */
static void
extent(const Graph *g, const Type *type, int64_t *low, int64_t *high)
{
    *low = 0;
    *high = (int64_t)dtype_size((DType)type->dtype);
    for (int i = 0; i < type->rank; i++) {
        int64_t n = size_value(g, type->shape[i]);
        int64_t span = n > 0 ? (n - 1) * size_value(g, type->stride[i]) : 0;
        *(span < 0 ? low : high) += span;
    }
}

static int
parse_elements(const Graph *g, const Type *type, const char **text, int axis, char *at)
{
    if (axis == type->rank) {
        skip(text, ", ");
        return parse_element(text, (DType)type->dtype, at);
    }
    for (int64_t i = 0; i < size_value(g, type->shape[axis]); i++)
        if (parse_elements(g, type, text, axis + 1, at + i * size_value(g, type->stride[axis])) < 0)
            return -1;
    return 0;
}

static PyObject *
parse_array(const Graph *g, const Type *type, const char *text)
{
    int64_t low, high;
    extent(g, type, &low, &high);
    PyObject *memory = PyByteArray_FromStringAndSize(NULL, high - low), *array = NULL;
    if (memory == NULL) return NULL;
    char *data = PyByteArray_AS_STRING(memory);
    memset(data, 0, (size_t)(high - low));
    const char *at = text;
    bool list = *at == '[';
    if (type->rank > 0) skip(&at, "[");
    if ((type->rank > 0 && !list) || parse_elements(g, type, &at, 0, data - low) < 0) {
        bad(at);
    } else {
        skip(&at, "] ");
        if (*at != '\0')
            bad(at);
        else
            array = make_array(g, type, memory, -low);
    }
    Py_DECREF(memory);
    if (array != NULL && type->form == FORM_SCALAR) {
        PyObject *empty = PyTuple_New(0);
        Py_SETREF(array, empty == NULL ? NULL : PyObject_GetItem(array, empty));
        Py_XDECREF(empty);
    }
    return array;
}

PyObject *
constant_parse(const Graph *g, const Type *type, const char *text)
{
    if (type->dtype == DT_OBJECT || text[0] == '@') return object_parse(g, text);
    char bytes[16] = {0};
    const char *at = text;
    if (type->dtype == DT_BF16 && type->rank == 0) /* a number stands for it: array_box */
        return parse_element(&at, DT_BF16, bytes) < 0
                   ? NULL
                   : PyFloat_FromDouble(read_float(bytes, DT_BF16));
    if (type->form != FORM_PYTHON) return parse_array(g, type, text);
    if (parse_element(&at, (DType)type->dtype, bytes) < 0) return NULL;
    int64_t integer;
    double parts[2];
    memcpy(&integer, bytes, 8);
    memcpy(parts, bytes, 16);
    switch (type->dtype) {
    case DT_BOOL: return PyBool_FromLong(bytes[0]);
    case DT_I64: return PyLong_FromLongLong(integer);
    case DT_U64: return PyLong_FromUnsignedLongLong((uint64_t)integer);
    case DT_F64: return PyFloat_FromDouble(parts[0]);
    case DT_C128: return PyComplex_FromDoubles(parts[0], parts[1]);
    default: return PyErr_Format(PyExc_ValueError, "no Python number has this dtype");
    }
}
