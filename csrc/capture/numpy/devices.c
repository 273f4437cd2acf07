/* `with cupy.cuda.Device(1):` the current device.  What is done in such a block is done on that
   device, as CuPy does it: kernels, calls and new arrays are of Graph.current.  CuPy warns of an
   operation whose operand is on another device, and whether it can be done at all depends on the
   machine, so that it is a break; but it copies such an array when it is asked to (asarray, copy),
   which is a call in the graph, from one device to the other.

   The frame is never left within a block, since the program would have to enter it: capture then
   stops in front of it. */
#include "numpy.h"

/* The library's class, new reference; NULL, without an error, where there is none. */
static PyObject *
class_of_devices(void)
{
    return array_library_function(array_library_on(DEVICE_CUDA), "cuda.Device");
}

bool
value_is_device(const Value *value)
{
    if (value->object == NULL) return false;
    if (value->kind != V_PURE && value->kind != V_OBJECT && value->kind != V_CONST) return false;
    PyTypeObject *type = value->kind == V_PURE ? value->type : Py_TYPE(value->object);
    const char *dot = type != NULL ? strrchr(type->tp_name, '.') : NULL;
    if (type == NULL || strcmp(dot != NULL ? dot + 1 : type->tp_name, "Device") != 0) return false;
    PyObject *class_ = class_of_devices();
    Py_XDECREF(class_);
    return (PyObject *)type == class_;
}

/* The device that the number makes: an object that is made where it leaves. */
static Answer
device_of_number(Interp *in, Value *number, Value **out)
{
    PyObject *class_ = keep(in, class_of_devices());
    *out = class_ == NULL ? NULL : value_sequence(in, V_PURE, 1, &number);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->object = class_;
    (*out)->type = (PyTypeObject *)class_;
    return ANSWER_YES;
}

Answer
device_object(Interp *in, int index, Value **out)
{
    Value *number = value_const_new(in, PyLong_FromLong(in->graph->device[index]));
    return number == NULL ? ANSWER_ERROR : device_of_number(in, number, out);
}

/* cupy.cuda.Device(number) */
static Answer
follow_class(const Call *call, const void *Py_UNUSED(row))
{
    PyObject *known;
    if (call->nargs != 1 || call->kwnames != NULL) return ANSWER_NO;
    Answer answer = value_known(call->in, call->args[0], &known);
    if (answer != ANSWER_YES) return answer;
    if (!PyLong_CheckExact(known)) return ANSWER_NO;
    Value *number = value_const(call->in, known);
    return number == NULL ? ANSWER_ERROR : device_of_number(call->in, number, call->out);
}

int
device_class_callables(void)
{
    PyObject *class_ = class_of_devices();
    int failed = class_ == NULL ? 0 : callable_add(class_, RANK_NUMPY, follow_class, NULL);
    Py_XDECREF(class_);
    return failed;
}

/* ---- blocks ---- */

/* Its number; one from outside is guarded by identity: nobody gives a device another number. */
static Answer
number_of_device(Interp *in, Value *device, int *out)
{
    PyObject *object, *number = NULL;
    if (device->kind == V_PURE) {
        number = Py_NewRef(device->items[0]->object);
    } else {
        TRY(object_known(in, device, &object));
        number = PyObject_GetAttrString(object, "id");
    }
    long value = number == NULL ? -1 : PyLong_AsLong(number);
    Py_XDECREF(number);
    *out = value < 0 || value > INT_MAX ? -1 : (int)value;
    PyErr_Clear();
    return *out < 0 ? interp_break(in, BREAK_DEVICE, "a device of no number") : ANSWER_YES;
}

Answer
device_enter(Interp *in, Value *device)
{
    InterpDevices *d = &in->devices;
    int number, index;
    TRY(number_of_device(in, device, &number));
    Answer met =
        in->loop == NULL && d->depth < DEVICES_DEEP ? device_met(in, number, &index) : ANSWER_NO;
    if (met == ANSWER_NO)
        return interp_break(in, BREAK_DEVICE, "a block of a device, in a loop or of many");
    if (met != ANSWER_YES) return met;
    if (d->depth == 0)
        d->step = in->attempt.steps - 1 - in->bottom->decoded->instrs[in->bottom->number].sub;
    d->entered[d->depth] = device;
    d->before[d->depth++] = in->graph->current;
    in->graph->current = (uint8_t)index;
    return ANSWER_YES;
}

Answer
device_block_method(Interp *in, Value *device, const char *name, Value **out)
{
    InterpDevices *d = &in->devices;
    if (strcmp(name, "__enter__") == 0) {
        *out = device;
        return device_enter(in, device);
    }
    if (strcmp(name, "__exit__") != 0 || d->depth == 0 || d->entered[d->depth - 1] != device)
        return interp_break(in, BREAK_DEVICE, "'%s' of a device", name);
    in->graph->current = d->before[--d->depth];
    return given(out, value_const(in, Py_None));
}

/* ---- arrays elsewhere ---- */

bool
device_is_elsewhere(const Interp *in, const Value *value)
{
    return value_is_on_device(value) &&
           device_index((Device)node_type(in, value->node).device) != in->graph->current;
}

/* CuPy copies the memory as it is.  Arrays in other orders it copies twice, or refuses. */
Answer
device_move(Interp *in, PyObject *callable, Value *value, Value **out)
{
    NodeId node;
    TRY(device_elements(in, value, &node));
    Type from = node_type(in, node), type;
    if (!type_is_contiguous(in->graph, &from) || type_elements(in->graph, &from) == 0)
        return device_break(in, value, "a copy to another device, not in C order,");
    if (type_contiguous(in->graph, &type, (DType)from.dtype, from.rank, from.shape) < 0)
        return ANSWER_ERROR;
    type.device = (uint8_t)device_at(in->graph->current);
    type.long_long = from.long_long;
    TRY(node_extern(in, callable, 1, &node, &type, &node));
    return push_node(in, node, out);
}
