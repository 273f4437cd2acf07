/* Opaque values: known only when the plan runs.
   Arrays whose shape is known only then (x[mask], nonzero) are nodes of FORM_OBJECT, of which
   capture knows dtype and rank by a sample.  Every operation on one is again a step, until a number
   results. Views of opaque arrays are made by NumPy; so an opaque array that has views is not
   written, and neither is an array from outside of which an opaque one is a view.
   Objects of NumPy that are not arrays are known by a sample, too.  x.flat[key], always a step, is
   here as well. */
#include "numpy.h"

/* ---- opaque arrays ---- */

Answer
opaque_value(Interp *in, NodeId node, PyObject *sample, bool viewed, Value **out)
{
    Opaque opaque = {.node = node,
                     .sample = sample,
                     .viewed = viewed,
                     .why = BREAK_DATA_SIZE,
                     .whole = NO_NODE,
                     .mask = NO_NODE};
    if (keep(in, Py_NewRef(sample)) == NULL || VEC_PUSH(in->arena, &in->memory.opaques, opaque) < 0)
        return ANSWER_ERROR;
    return push_node(in, node, out);
}

bool
any_opaque(const Interp *in, int n, Value *const *values)
{
    for (int i = 0; i < n; i++)
        if (values[i] != NULL && value_is_opaque(in, values[i])) return true;
    return false;
}

/* ---- objects that are not arrays and are known only when the plan runs ---- */

Answer
object_value(Interp *in, NodeId node, PyObject *sample, Value **out)
{
    return opaque_value(in, node, sample, false, out);
}

Answer
object_input(Interp *in, Value *object, PyObject *sample, Value **out)
{
    Type type = type_scalar(DT_OBJECT, FORM_OBJECT);
    bool outside = object->kind != V_CONST && object->source != NO_SOURCE;
    NodeId node;
    if ((*out = map_get(&in->memory.objects, object->object)) != NULL) return ANSWER_YES;
    if (outside) {
        if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
        TRY_NODE(node, graph_input(in->graph, 0, &type));
    } else {
        TRY_NODE(node, node_object(in, object->object));
    }
    TRY(object_value(in, node, sample, out));
    if (outside) {
        (*out)->source = object->source;
        (*out)->pinned = true;
        if (VEC_PUSH(in->arena, &in->out->input_source, object->source) < 0 ||
            VEC_PUSH(in->arena, &in->memory.inputs, *out) < 0)
            return ANSWER_ERROR;
    }
    return map_put(in, &in->memory.objects, object->object, *out) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* A method of the sample's class that runs only code of NumPy and Python and leaves the object
   unchanged; kept, NULL without error. */
static PyObject *
object_function(Interp *in, const Value *object, const char *name)
{
    static const char *const changing[] = {"append",
                                           "extend",
                                           "insert",
                                           "pop",
                                           "remove",
                                           "clear",
                                           "reverse",
                                           "sort",
                                           "add",
                                           "discard",
                                           "update",
                                           "setdefault",
                                           "popitem",
                                           "intersection_update",
                                           "difference_update",
                                           "symmetric_difference_update",
                                           "subtract"};
    for (int i = 0; i < COUNT_OF(changing); i++)
        if (strcmp(name, changing[i]) == 0) return NULL;
    PyObject *sample = opaque_of(in, object->node)->sample;
    PyObject *found = PyObject_GetAttrString((PyObject *)Py_TYPE(sample), name);
    if (found == NULL || !PyCallable_Check(found)) {
        Py_XDECREF(found);
        PyErr_Clear();
        return NULL;
    }
    return keep(in, found);
}

Answer
object_attribute(Interp *in, Value *object, const char *name, Value **out)
{
    if (object_function(in, object, name) == NULL)
        return call_simple(in, attribute_getter(in, name), 1, &object, out);
    *out = value_sequence(in, V_BUILTIN_METHOD, 1, &object);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->name = name;
    return ANSWER_YES;
}

Answer
object_method(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
              PyObject *kwnames, Value **out)
{
    Value *all[MAX_HOLES + 1] = {object};
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames);
    PyObject *function = object_function(in, object, name);
    if (function == NULL || nargs + nkw > MAX_HOLES)
        return interp_break(in, BREAK_ATTRIBUTE, "method '%s' of an object of NumPy", name);
    for (int i = 0; i < nargs + nkw; i++) all[i + 1] = args[i];
    WholeCall call = {
        .callable = function, .nargs = nargs + 1, .args = all, .kwnames = kwnames, .opaque = true};
    PyObject *sample = opaque_of(in, object->node)->sample;
    call.untyped = PyAnySet_Check(sample) || PyDict_Check(sample) || PyList_Check(sample);
    return call_whole(in, &call, out);
}

/* ---- x.flat[key] ---- */

bool
value_is_flat(const Interp *in, const Value *value)
{
    return value->kind == V_BUILTIN_METHOD && strcmp(value->name, "flat") == 0 &&
           (value_is_opaque(in, value->items[0]) ||
            (value->items[0]->kind == V_NODE &&
             node_type(in, value->items[0]->node).form == FORM_ARRAY));
}

Answer
emit_flat_subscript(Interp *in, Value *flat, Value *key, Value **out)
{
    Value *args[2] = {flat->items[0], key};
    WholeCall call = {.callable = calls_object(in, "flat_get"), .nargs = 2, .args = args};
    if (call.callable == NULL) return ANSWER_ERROR;
    call.opaque = key->kind == V_NODE && node_type(in, key->node).dtype == DT_BOOL;
    for (int i = 0; key->kind == V_SLICE && i < key->nitems; i++)
        call.opaque = call.opaque || key->items[i]->kind != V_CONST;
    return call_whole(in, &call, out);
}

Answer
emit_store_flat_subscript(Interp *in, Value *flat, Value *key, Value *value)
{
    Value *args[3] = {flat->items[0], key, value}, *none;
    WholeCall call = {.callable = calls_object(in, "flat_set"), .nargs = 3, .args = args};
    if (call.callable == NULL) return ANSWER_ERROR;
    call.changes = 1;
    return call_whole(in, &call, &none);
}

/* A call whose result is represented as an object, whatever the trial returns. */
Answer
call_loose(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    if (callable == NULL) return ANSWER_ERROR;
    WholeCall call = {.callable = callable, .nargs = nargs, .args = args, .untyped = true};
    return call_whole(in, &call, out);
}

/* A text that is known only when the plan runs, as the object of a step. */
Answer
loose_text(Interp *in, Value *text, Value **out)
{
    if (text->kind != V_PURE || text->object == NULL || in->loop != NULL) return ANSWER_NO;
    if (text->made == NULL) {
        Answer answer = call_loose(in, text->object, text->nitems, text->items, &text->made);
        if (answer != ANSWER_YES) return answer;
    }
    *out = text->made;
    return ANSWER_YES;
}
