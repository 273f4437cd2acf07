/* Builtins on numbers and items that are numbers: abs, min, max, sum, any, all, int, float, bool.
 */
#include "builtins.h"

static Answer
number(const BuiltinCall *call, PyTypeObject *type, DType dtype)
{
    Interp *in = call->in;
    if (call->nargs == 0 || (call->args[0]->kind == V_CONST && !value_is_numpy(in, call->args[0])))
        return fold_call(in, (PyObject *)type, call->nargs, call->args, call->out);
    Value *value = call->args[0];
    if (value_is_loose_number(in, value)) { /* whichever class it has */
        DType own = PyFloat_Check(object_sample(in, value)) ? DT_F64 : DT_I64;
        Answer picked = picked_number(in, value, own, &value);
        if (answer_stops(picked)) return picked;
    }
    if (dtype != DT_BOOL && value->kind == V_PURE) return builtin_of_text(call, (PyObject *)type);
    if (dtype == DT_BOOL) {
        int known;
        Value *node;
        Answer answer = value_truth(in, value, &known, &node);
        if (answer != ANSWER_YES) return answer;
        return known >= 0 ? give_bool(call, known) : give(call, node);
    }
    Answer answer = scalar_convert(in, value, dtype, call->out);
    if (answer != ANSWER_NO) return answer;
    return builtin_unknown(call, type->tp_name);
}

Answer
builtin_abs(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *value = call->args[0];
    PyObject *absolute = python_builtin("abs");
    if (value_is_on_device(value)) return device_ufunc(in, "absolute", 1, call->args, call->out);
    if (value_is_loose(in, value)) return loose_call(in, absolute, 1, call->args, call->out);
    if (value->kind != V_NODE) return fold_call(in, absolute, 1, call->args, call->out);
    Answer complex = complex_absolute(in, value, call->out);
    if (complex != ANSWER_NO) return complex;
    DType dtype = graph_node(in->graph, value->node)->type.dtype;
    if (value_is_numpy(in, value)) return emit_absolute(in, value, call->out);
    if (dtype != DT_I64 && dtype != DT_F64)
        return fold_call(in, absolute, 1, call->args, call->out);
    PyObject *seen = value->object ? PyNumber_Absolute(value->object) : NULL;
    if (value->object != NULL && seen == NULL) return ANSWER_ERROR;
    return give(call, scalar_emit(in, OP_py_abs, dtype, 1, &value, seen));
}

/* min and max with a key or a default, and of no items: done by Python, on stand-ins. */
static Answer
shadow_extreme(const BuiltinCall *call, const char *name)
{
    Interp *in = call->in;
    Value *items = NULL;
    Answer answer = ANSWER_YES;
    if (call->nargs == 1)
        answer = iterate_all(in, call->args[0], V_LIST, &items);
    else if ((items = value_sequence(in, V_LIST, call->nargs, call->args)) == NULL)
        answer = ANSWER_ERROR;
    if (answer != ANSWER_YES) return answer;
    PyObject *named = PyDict_New(), *list = named ? shadow_items(in, items) : NULL;
    PyObject *args = list ? PyTuple_Pack(1, list) : NULL;
    answer = args ? ANSWER_YES : ANSWER_ERROR;
    for (int i = 0; answer == ANSWER_YES && i < builtin_keywords(call); i++) {
        PyObject *key = PyTuple_GET_ITEM(call->kwnames, i);
        Value *value = call->args[call->nargs + i];
        bool called = PyUnicode_CompareWithASCIIString(key, "key") == 0 &&
                      !(value->kind == V_CONST && value->object == Py_None);
        PyObject *object = called ? shadow_token(in, value) : shadow(in, value);
        if (object == NULL || PyDict_SetItem(named, key, object) < 0) answer = ANSWER_ERROR;
        Py_XDECREF(object);
    }
    if (answer == ANSWER_YES) {
        in->writes.dirty = true;
        PyObject *builtin = python_builtin(name);
        answer = shadow_done(in, PyObject_Call(builtin, args, named), call->out);
    }
    Py_XDECREF(args);
    Py_XDECREF(list);
    Py_XDECREF(named);
    return answer;
}

/* Python's number beside NumPy's, as that: a float, or a small int of the code, beside np.float64;
   an int beside an int.  ANSWER_NO: other numbers.  `*ints`: an int, beside a float. */
static Answer
as_other(Interp *in, NodeId *number, NodeId beside, bool *ints)
{
    const Node *node = graph_node(in->graph, *number);
    Type other = graph_node(in->graph, beside)->type, from = node->type;
    int overflow = 0;
    long long value = 0;
    if (from.form != FORM_PYTHON || other.form != FORM_SCALAR || other.rank != 0) return ANSWER_NO;
    if (from.dtype == DT_I64 && dtype_is_integer((DType)other.dtype))
        return node_weak(in, *number, (DType)other.dtype, number);
    *ints = from.dtype == DT_I64;
    if (*ints && node->op == OP_const)
        value = PyLong_AsLongLongAndOverflow(node->attrs.object, &overflow);
    bool fits = *ints && node->op == OP_const && overflow == 0 && llabs(value) < 1LL << 52;
    if (other.dtype != DT_F64 || (from.dtype != DT_F64 && !fits)) return ANSWER_NO;
    *number = graph_add(in->graph, in->region, *ints ? OP_cast : OP_copy, 1, number, &other, NULL);
    return *number == NO_NODE || VEC_PUSH(in->arena, &in->loop->python, *number) < 0 ? ANSWER_ERROR
                                                                                     : ANSWER_YES;
}

/* In a kept loop: `item` where the condition holds, else `best`, of NumPy's scalars of one dtype;
   or one of them NumPy's and one Python's, which may be used where that makes no difference
   (control/loop_either.c). */
static Answer
extreme_in_loop(Interp *in, Value *condition, Value *item, Value *best, Value **out)
{
    Value *operands[3] = {condition, item, best};
    NodeId nodes[3];
    for (int i = 0; i < 3; i++) {
        Answer answer = value_as_node(in, operands[i], &nodes[i]);
        if (answer != ANSWER_YES) return answer;
    }
    bool ints = false, either = false;
    for (int i = 1; i < 3 && !either; i++) {
        Answer answer = as_other(in, &nodes[i], nodes[3 - i], &ints);
        if (answer_stops(answer)) return answer;
        either = answer == ANSWER_YES;
    }
    Type type = graph_node(in->graph, nodes[1])->type;
    Type other = graph_node(in->graph, nodes[2])->type;
    if (type.form != FORM_SCALAR || other.form != FORM_SCALAR || type.dtype != other.dtype)
        return ANSWER_NO;
    NodeId node = graph_add(in->graph, in->region, OP_where, 3, nodes, &type, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    if (*out == NULL || (either && VEC_PUSH(in->arena, &in->loop->either, node) < 0) ||
        (either && ints && VEC_PUSH(in->arena, &in->loop->either_int, node) < 0))
        return ANSWER_ERROR;
    return ANSWER_YES;
}

/* min and max: the first of equal items, chosen by < and > as Python does. */
static Answer
extreme(const BuiltinCall *call, const char *name, int operator_)
{
    Interp *in = call->in;
    Value *items;
    if (builtin_keywords(call)) return shadow_extreme(call, name);
    if (call->nargs == 1) {
        Answer whole = numbers_of_array(in, name, call->args[0], call->out);
        if (whole != ANSWER_NO) return whole;
        Answer answer = iterate_all(in, call->args[0], V_LIST, &items);
        if (answer != ANSWER_YES) return answer;
    } else if ((items = value_sequence(in, V_LIST, call->nargs, call->args)) == NULL) {
        return ANSWER_ERROR;
    }
    if (items->nitems == 0) return shadow_extreme(call, name);
    Value *best = items->items[0];
    for (int i = 1; i < items->nitems; i++) {
        Value *item = items->items[i], *test, *node;
        int known;
        Answer answer = operate_compare(in, operator_, item, best, &test);
        if (answer == ANSWER_YES) answer = value_truth(in, test, &known, &node);
        if (answer != ANSWER_YES) return answer;
        if (known >= 0) {
            if (known) best = item;
            continue;
        }
        PyTypeObject *type = value_type(in, item), *other = value_type(in, best);
        if (type != NULL && type == other && value_is_python_scalar(in, item)) {
            if (branch_apart(in)) return break_choice(in, name);
            DType dtype = scalar_dtype(in, item), other_dtype = scalar_dtype(in, best);
            if (dtype != other_dtype) { /* ints, one of which is large */
                dtype = DT_U64;
                TRY(scalar_as(in, item, dtype, true, &item));
                TRY(scalar_as(in, best, dtype, true, &best));
            }
            Value *operands[3] = {node, item, best};
            PyObject *seen = node->object == Py_True ? item->object : best->object;
            if (node->object == NULL || item->object == NULL || best->object == NULL) seen = NULL;
            Value *chosen = scalar_emit(in, OP_where, dtype, 3, operands, Py_XNewRef(seen));
            if (chosen == NULL || branch_chosen(in, chosen->node) < 0 ||
                branch_keeps(in, chosen, item, best, node) == ANSWER_ERROR)
                return ANSWER_ERROR;
            best = chosen;
            continue;
        }
        if (in->loop != NULL) {
            answer = extreme_in_loop(in, node, item, best, &best);
            if (answer == ANSWER_YES) continue;
            if (answer != ANSWER_NO) return answer;
        }
        PyObject *object;
        answer = value_known(in, node, &object);
        if (answer == ANSWER_NO) {
            answer = numbers_extreme(in, name, items, call->out);
            if (answer == ANSWER_NO) answer = loose_extreme(in, name, items, node, call->out);
            if (answer != ANSWER_NO) return answer;
            return builtin_unknown(call, name);
        }
        if (answer != ANSWER_YES) return answer;
        if (object == Py_True) best = item;
    }
    return give(call, best);
}

static bool
is_python_number(Interp *in, Value *value, bool *inexact)
{
    const PyTypeObject *type = value_type(in, value);
    bool exact = type == &PyLong_Type || type == &PyBool_Type;
    *inexact = type == &PyFloat_Type || type == &PyComplex_Type;
    return exact || *inexact;
}

/* From 3.12 on, sum() adds floats with compensation, unlike +; but from the first item on that is
   no number of Python's it adds. */
static Answer
sum_of_python(Interp *in, Value *items, int *first, Value **total)
{
    bool inexact = false, any = false;
    int n = is_python_number(in, *total, &inexact) ? 0 : items->nitems;
    while (n < items->nitems && is_python_number(in, items->items[n], &inexact)) {
        any = any || inexact;
        n++;
    }
    if (!any) return ANSWER_YES;
    Value *python = value_sequence(in, V_LIST, n, items->items), *start = *total;
    if (python == NULL) return ANSWER_ERROR;
    *first = n;
    Answer answer = numbers_sum(in, python, start, total);
    if (answer != ANSWER_NO) return answer;
    Value *args[2] = {python, start};
    return fold_call(in, python_builtin("sum"), 2, args, total);
}

Answer
builtin_sum(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *start, *items;
    if (!builtin_start(call, &start)) return ANSWER_NO;
    Answer answer = iterate_all(in, call->args[0], V_LIST, &items);
    if (answer != ANSWER_YES) return answer;
    Value *total = start ? start : value_const_new(in, PyLong_FromLong(0));
    if (total == NULL) return ANSWER_ERROR;
    int first = 0;
    TRY(sum_of_python(in, items, &first, &total));
    if (first == items->nitems) return give(call, total);
    in->temporaries.adds_up = true;
    for (int i = first; i < items->nitems && answer == ANSWER_YES; i++)
        answer = operate_binary(in, 0, total, items->items[i], &total);
    in->temporaries.adds_up = false;
    if (answer != ANSWER_YES) return answer;
    return give(call, total);
}

static Answer
any_all(const BuiltinCall *call, bool any)
{
    Interp *in = call->in;
    Value *iterator, *item, *node;
    Answer answer = numbers_of_array(in, any ? "any" : "all", call->args[0], call->out);
    if (answer != ANSWER_NO) return answer;
    answer = iterator_of(in, call->args[0], &iterator);
    while (answer == ANSWER_YES) {
        int known;
        answer = iterator_next(in, iterator, &item);
        if (answer != ANSWER_YES) return answer;
        if (item == NULL) return give_bool(call, !any);
        in->writes.dirty = true;
        answer = value_truth(in, item, &known, &node);
        if (answer != ANSWER_YES) return answer;
        if (known < 0) {
            PyObject *object;
            answer = value_known(in, node, &object);
            if (answer == ANSWER_NO) return builtin_unknown(call, any ? "any" : "all");
            if (answer != ANSWER_YES) return answer;
            known = object == Py_True;
        }
        if (known == any) return give_bool(call, any);
    }
    return answer;
}

Answer
builtin_min(const BuiltinCall *call)
{
    return extreme(call, "min", Py_LT);
}

Answer
builtin_max(const BuiltinCall *call)
{
    return extreme(call, "max", Py_GT);
}

Answer
builtin_any(const BuiltinCall *call)
{
    return any_all(call, true);
}

Answer
builtin_all(const BuiltinCall *call)
{
    return any_all(call, false);
}

Answer
builtin_float(const BuiltinCall *call)
{
    return number(call, &PyFloat_Type, DT_F64);
}

Answer
builtin_int(const BuiltinCall *call)
{
    return number(call, &PyLong_Type, DT_I64);
}

Answer
builtin_bool(const BuiltinCall *call)
{
    return number(call, &PyBool_Type, DT_BOOL);
}
