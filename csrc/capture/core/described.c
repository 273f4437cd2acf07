/* The type of a value, and what a break calls it, by its kind: columns of value_kinds.def. */
#include "core.h"

static PyTypeObject *
python_type(DType dtype)
{
    switch (dtype) {
    case DT_BOOL: return &PyBool_Type;
    case DT_I64:
    case DT_U64: return &PyLong_Type;
    case DT_F64: return &PyFloat_Type;
    default: return &PyComplex_Type;
    }
}

/* The type of a NumPy scalar of this dtype (np.float64); borrowed. */
static PyTypeObject *
scalar_type(Interp *in, DType dtype)
{
    PyObject *descr = array_dtype_object(dtype);
    PyObject *type = descr ? PyObject_GetAttrString(descr, "type") : NULL;
    Py_XDECREF(descr);
    return (PyTypeObject *)keep(in, type);
}

/* NULL where the type is not one of the static types. */
static PyTypeObject *
iterator_type(const Value *value)
{
    if (value->generator != NULL) return value->type;
    if (value->name == NULL) return NULL;
    if (strcmp(value->name, "zip") == 0) return &PyZip_Type;
    if (strcmp(value->name, "enumerate") == 0) return &PyEnum_Type;
    return NULL;
}

PyTypeObject *
type_of_const(Interp *Py_UNUSED(in), Value *value)
{
    return Py_TYPE(value->object);
}

PyTypeObject *
type_of_object(Interp *in, Value *value)
{
    return value_guard_type(in, value) < 0 ? NULL : Py_TYPE(value->object);
}

PyTypeObject *
type_of_node(Interp *in, Value *value)
{
    const Type *type = value_node_type(in, value);
    if (type->form == FORM_ARRAY) return array_class();
    if (type->form == FORM_SCALAR) return scalar_type(in, type->dtype);
    if (opaque_sample(in, value) != NULL) return array_class();
    return type->form == FORM_PYTHON ? python_type(type->dtype) : NULL;
}

PyTypeObject *
type_of_tuple(Interp *Py_UNUSED(in), Value *value)
{
    return value->type != NULL ? value->type : &PyTuple_Type;
}

PyTypeObject *
type_of_iterator(Interp *Py_UNUSED(in), Value *value)
{
    return iterator_type(value);
}

PyTypeObject *
type_recorded(Interp *Py_UNUSED(in), Value *value)
{
    return value->type;
}

PyTypeObject *
type_of_choice(Interp *in, Value *value)
{
    (void)choice_asked(in, value);
    return NULL;
}

const char *
describe_nothing(Interp *Py_UNUSED(in), Value *Py_UNUSED(value))
{
    return "nothing";
}

const char *
describe_iterator(Interp *Py_UNUSED(in), Value *Py_UNUSED(value))
{
    return "an iterator";
}

const char *
describe_name(Interp *Py_UNUSED(in), Value *value)
{
    return value->name;
}

const char *
describe_grown(Interp *Py_UNUSED(in), Value *value)
{
    if (value->kind == V_GROWN_DICT) return "a dict that a loop has changed";
    return "a list to which a loop has appended";
}

const char *
describe_object(Interp *Py_UNUSED(in), Value *value)
{
    return Py_TYPE(value->object)->tp_name;
}

/* The name of a callable. */
const char *
describe_const(Interp *in, Value *value)
{
    const char *name = NULL;
    if (!PyCallable_Check(value->object)) return NULL;
    PyObject *qualname = PyObject_GetAttrString(value->object, "__qualname__");
    if (qualname == NULL) {
        PyErr_Clear();
        qualname = PyObject_GetAttrString(value->object, "__name__");
    }
    if (qualname != NULL && PyUnicode_Check(qualname) && keep(in, Py_NewRef(qualname)))
        name = PyUnicode_AsUTF8(qualname);
    Py_XDECREF(qualname);
    return name;
}

bool
value_is_object(const Value *value)
{
    return value->kind == V_OBJECT || value->kind == V_INSTANCE ||
           (value->kind == V_CONST && is_enum_member(value->object));
}
