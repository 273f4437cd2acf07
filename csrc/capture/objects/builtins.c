/* Calls of Python's builtin functions and types on symbolic values. */
#include "objects.h"
#include "builtins.h"

/* ---- sizes ---- */

/* A C class; methods of Python classes are followed elsewhere. */
static bool
type_has_length(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 ||
           (type->tp_as_sequence != NULL && type->tp_as_sequence->sq_length != NULL) ||
           (type->tp_as_mapping != NULL && type->tp_as_mapping->mp_length != NULL);
}

/* ANSWER_NO: not an array. */
static Answer
length_of_array(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *value = call->args[0];
    Answer selected = masked_selected(in, value, &value);
    if (answer_stops(selected)) return selected;
    if (selected == ANSWER_NO && value_is_opaque(in, value)) {
        TRY(call_simple(in, python_builtin("len"), 1, &value, call->out));
        if (opaque_sample(in, value) == NULL) return ANSWER_YES;
        return note_data_length(in, *call->out) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    if (value->kind == V_SERIES) value = value->of;
    if (value->kind == V_PART) return in->above->part_length(in, value, call->out);
    if (array_is_unpinned(in, value)) return array_size(in, value, 0, call->out);
    NodeId node = value->node;
    if (!value_is_on_device(value)) {
        if (!value_is_array(in, value)) return ANSWER_NO;
        VARYING(in, answer, value_as_node(in, value, &node));
        if (answer != ANSWER_YES) return answer;
    }
    const Type *type = &graph_node(in->graph, node)->type;
    if (type->rank == 0) return raise_new(in, PyExc_TypeError, "len() of unsized object");
    return number_of_size(in, type->shape[0], call->out);
}

Answer
builtin_len(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *value = call->args[0];
    if (value->kind == V_PURE) return builtin_of_text(call, python_builtin("len"));
    if (value->kind == V_CONST)
        return fold_call(in, python_builtin("len"), 1, call->args, call->out);
    if (value->kind == V_NODE || value->kind == V_PART || value->kind == V_SERIES ||
        value_is_on_device(value)) {
        Answer answer = length_of_array(call);
        if (answer != ANSWER_NO) return answer;
    }
    if (value->kind == V_GROWN || value->kind == V_GROWN_DICT || value->kind == V_OBJECT) {
        ListUse use = {.does = LIST_LENGTH, .list = value};
        Answer answer = in->above->list_in_loop(in, &use, call->out);
        if (answer != ANSWER_NO) return answer;
    }
    int64_t length = container_length(in, value);
    if (length >= 0) return give(call, value_const_new(in, PyLong_FromLongLong(length)));
    PyTypeObject *type = value_type(in, value);
    if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    if (type == NULL || type_has_length(type)) return builtin_unknown(call, "len");
    return raise_new(in, PyExc_TypeError, "object of type '%.200s' has no len()", type->tp_name);
}

/* An end of a range that is a NumPy integer: the range holds a Python int.  Outside of a kept loop
   it has to be known. */
static Answer
range_end(Interp *in, Value *value, Value **out)
{
    int64_t number;
    NodeId node;
    Answer answer = value_as_int(in, value, &number);
    if (answer == ANSWER_YES) {
        *out = value_const_new(in, PyLong_FromLongLong(number));
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (answer != ANSWER_NO || in->loop == NULL) return answer;
    answer = value_as_node(in, value, &node);
    if (answer != ANSWER_YES) return answer;
    Type type = graph_node(in->graph, node)->type;
    bool fits = dtype_is_integer((DType)type.dtype) && type.dtype != DT_U64;
    if (type.form != FORM_SCALAR || !fits) return ANSWER_NO;
    if (type.dtype != DT_I64) {
        type.dtype = DT_I64;
        TRY_NODE(node, graph_add(in->graph, in->region, OP_cast, 1, &node, &type, NULL));
    }
    TRY(node_form(in, node, FORM_PYTHON, &node));
    *out = value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
builtin_range(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *items[3] = {value_const_new(in, PyLong_FromLong(0)), call->args[0],
                       value_const_new(in, PyLong_FromLong(1))};
    if (items[0] == NULL || items[2] == NULL) return ANSWER_ERROR;
    if (call->nargs > 1) {
        items[0] = call->args[0];
        items[1] = call->args[1];
    }
    if (call->nargs == 3) items[2] = call->args[2];
    for (int i = 0; i < 3; i++) {
        PyTypeObject *type = value_type(in, items[i]);
        if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
        if (type == &PyLong_Type || type == &PyBool_Type) continue;
        Answer answer = range_end(in, items[i], &items[i]);
        if (answer == ANSWER_NO && items[i]->kind == V_NODE && value_is_number(in, items[i]))
            return break_unknown_number(in, BREAK_CALL_C, items[i], "an end of a range");
        if (answer != ANSWER_YES)
            return answer == ANSWER_NO ? builtin_unknown(call, "range") : answer;
    }
    int64_t step = 1;
    Answer known = call->nargs == 3 ? value_as_int(in, items[2], &step) : ANSWER_YES;
    if (known == ANSWER_NO && in->loop != NULL) known = ANSWER_YES; /* the loop checks it */
    if (known != ANSWER_YES) return known == ANSWER_NO ? builtin_unknown(call, "range") : known;
    if (step == 0) return raise_new(in, PyExc_ValueError, "range() arg 3 must not be zero");
    return give(call, value_sequence(in, V_RANGE, 3, items));
}

/* ---- classes ---- */

Answer
builtin_type(const BuiltinCall *call)
{
    PyTypeObject *type = value_type(call->in, call->args[0]);
    if (type == NULL) return PyErr_Occurred() ? ANSWER_ERROR : builtin_unknown(call, "type");
    if (note_class_asked(call->in, call->args[0]) < 0) return ANSWER_ERROR;
    return give(call, value_const(call->in, (PyObject *)type));
}

Answer
builtin_callable(const BuiltinCall *call)
{
    ValueKind kind = call->args[0]->kind;
    if (kind == V_FUNCTION || kind == V_METHOD || kind == V_BUILTIN_METHOD)
        return give_bool(call, true);
    PyTypeObject *type = value_type(call->in, call->args[0]);
    if (type == NULL) return PyErr_Occurred() ? ANSWER_ERROR : builtin_unknown(call, "callable");
    PyObject *ignored;
    Answer answer = type_lookup_text(call->in, type, "__call__", &ignored);
    return answer == ANSWER_YES ? give_bool(call, type->tp_call != NULL) : answer;
}

/* ---- iterators and containers ---- */

static Value *
iterator_new(const BuiltinCall *call, const char *name, int n)
{
    Value *iterator = value_sequence(call->in, V_ITER, n, NULL);
    if (iterator != NULL) iterator->name = name;
    return iterator;
}

Answer
builtin_enumerate(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *iterator = iterator_new(call, "enumerate", 0);
    Value *start;
    if (iterator == NULL) return ANSWER_ERROR;
    if (!builtin_start(call, &start)) return ANSWER_NO;
    Answer answer = ANSWER_YES;
    if (start != NULL) answer = value_as_int(in, start, &iterator->position);
    if (answer == ANSWER_NO) return builtin_unknown(call, "enumerate");
    if (answer == ANSWER_YES) answer = iterator_of(in, call->args[0], &iterator->walked);
    return answer == ANSWER_YES ? give(call, iterator) : answer;
}

Answer
builtin_reversed(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *of = call->args[0];
    if (of->kind == V_OBJECT || of->kind == V_INSTANCE)
        return iterator_backwards(in, of, call->out);
    if (of->kind == V_RANGE) {
        Value *backwards;
        Answer answer = range_backwards(in, of, &backwards);
        if (answer == ANSWER_NO) return builtin_unknown(call, "reversed");
        return answer == ANSWER_YES ? iterator_of(in, backwards, call->out) : answer;
    }
    if (of->kind == V_CONST && PyUnicode_CheckExact(of->object)) {
        of = value_const_new(in, PySequence_Tuple(of->object));
        if (of == NULL) return ANSWER_ERROR;
    }
    bool array = value_is_array(in, of) && graph_node(in->graph, of->node)->type.rank > 0;
    /* Gone through by a kept loop, which knows its length. */
    bool part = of->kind == V_PART || of->kind == V_SERIES;
    if (!array && !part && of->kind != V_TUPLE && of->kind != V_LIST && of->kind != V_DICT &&
        of->kind != V_VIEW)
        return builtin_unknown(call, "reversed");
    Value *iterator = iterator_new(call, "reversed", 0);
    if (iterator == NULL) return ANSWER_ERROR;
    iterator->walked = of;
    if (!part) iterator->length = container_length(in, of);
    return give(call, iterator);
}

Answer
builtin_filter(const BuiltinCall *call)
{
    Value *iterator = iterator_new(call, "filter", 2);
    if (iterator == NULL) return ANSWER_ERROR;
    iterator->items[0] = call->args[0];
    Answer answer = iterator_of(call->in, call->args[1], &iterator->items[1]);
    return answer == ANSWER_YES ? give(call, iterator) : answer;
}

Answer
builtin_zip(const BuiltinCall *call)
{
    Value *iterator = iterator_new(call, "zip", call->nargs);
    Answer answer = iterator == NULL ? ANSWER_ERROR : ANSWER_YES;
    for (int i = 0; answer == ANSWER_YES && i < call->nargs; i++)
        answer = iterator_of(call->in, call->args[i], &iterator->items[i]);
    return answer == ANSWER_YES ? give(call, iterator) : answer;
}

/* iter(x), and iter(function, sentinel). */
Answer
builtin_iter(const BuiltinCall *call)
{
    if (call->nargs == 1) return iterator_of(call->in, call->args[0], call->out);
    Value *iterator = iterator_new(call, "calls", 2);
    if (iterator == NULL) return ANSWER_ERROR;
    iterator->items[0] = call->args[0];
    iterator->items[1] = call->args[1];
    return give(call, iterator);
}

static Answer
sequence(const BuiltinCall *call, ValueKind kind)
{
    Value *items;
    if (call->nargs == 0) return give(call, value_sequence(call->in, kind, 0, NULL));
    if (kind == V_TUPLE && call->args[0]->kind == V_TUPLE &&
        value_type(call->in, call->args[0]) == &PyTuple_Type)
        return give(call, call->args[0]);
    Answer answer = iterate_sized(call->in, call->args[0], kind, &items);
    return answer == ANSWER_YES ? give(call, items) : answer;
}

Answer
builtin_dict(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *dict = value_sequence(in, V_DICT, 0, NULL);
    if (dict == NULL) return ANSWER_ERROR;
    if (call->nargs == 1 && !builtin_keywords(call) && call->args[0]->kind == V_ITER) {
        Value *pairs;
        Answer listed = iterate_all(in, call->args[0], V_LIST, &pairs);
        if (listed == ANSWER_YES)
            listed = loose_gather(in, (PyObject *)&PyDict_Type, 1, &pairs, call->out);
        if (listed != ANSWER_NO) return listed;
        listed = dict_update(in, dict, pairs);
        return listed == ANSWER_YES ? give(call, dict) : listed;
    }
    Answer answer = call->nargs ? dict_update(in, dict, call->args[0]) : ANSWER_YES;
    for (int i = 0; answer == ANSWER_YES && i < builtin_keywords(call); i++)
        answer =
            dict_store(in, dict, PyTuple_GET_ITEM(call->kwnames, i), call->args[call->nargs + i]);
    return answer == ANSWER_YES ? give(call, dict) : answer;
}

Answer
builtin_slice(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *none = value_const(in, Py_None);
    if (none == NULL) return ANSWER_ERROR;
    Value *items[3] = {none, call->args[0], none};
    for (int i = 0; call->nargs > 1 && i < call->nargs; i++) items[i] = call->args[i];
    return give(call, value_sequence(in, V_SLICE, 3, items));
}

Answer
builtin_next(const BuiltinCall *call)
{
    Interp *in = call->in;
    Value *item;
    Value *iterator = call->args[0], *none = value_const(in, Py_None);
    if (none == NULL) return ANSWER_ERROR;
    if (call->nargs == 1 && value_is_generator(iterator)) /* StopIteration carries its value */
        return generator_method(in, iterator, "send", 1, &none, call->out);
    Answer answer = iterator_next(in, iterator, &item);
    if (answer != ANSWER_YES) return answer;
    if (item != NULL) return give(call, item);
    return call->nargs == 2 ? give(call, call->args[1]) : raise_stop(in, NULL);
}

Answer
builtin_sorted(const BuiltinCall *call)
{
    Value *items;
    Answer answer = iterate_sized(call->in, call->args[0], V_LIST, &items);
    Value *reverse = builtin_keyword(call, "reverse");
    bool backwards = reverse != NULL && reverse->object == Py_True;
    if (answer == ANSWER_YES && builtin_keywords(call) == (reverse != NULL) &&
        (reverse == NULL || backwards || reverse->object == Py_False)) {
        answer = numbers_sorted(call->in, items, backwards, call->out);
        if (answer != ANSWER_NO) return answer;
        answer = ANSWER_YES;
    }
    if (answer == ANSWER_YES) answer = list_sort(call->in, items, 0, call->args + 1, call->kwnames);
    return answer == ANSWER_YES ? give(call, items) : answer;
}

/* ---- rows that share a handler ---- */

Answer
builtin_list(const BuiltinCall *call)
{
    return sequence(call, V_LIST);
}

Answer
builtin_tuple(const BuiltinCall *call)
{
    return sequence(call, V_TUPLE);
}

Answer
builtin_set(const BuiltinCall *call)
{
    return set_make(call->in, &PySet_Type, call->nargs ? call->args[0] : NULL, call->out);
}

Answer
builtin_frozenset(const BuiltinCall *call)
{
    return set_make(call->in, &PyFrozenSet_Type, call->nargs ? call->args[0] : NULL, call->out);
}

Answer
builtin_globals(const BuiltinCall *call)
{
    PyObject *globals = call->in->top->globals;
    if (code_stands_in(call->in->bottom->decoded->code)) /* its variables are in slots */
        return interp_break(call->in, BREAK_LOCALS, "globals()");
    SourceId source = source_of_const(call->in, globals);
    return give(call, source == NO_SOURCE ? NULL : value_object(call->in, globals, source));
}

Answer
builtin_print(const BuiltinCall *call)
{
    return output_print(call->in, call->callable, call->nargs, call->args, call->kwnames,
                        call->out);
}

/* ---- dispatch ---- */

enum { MANY = 1000000 };

typedef enum { ROW_ABOUT, ROW_OBJECT, ROW_VALUE } RowKind;

typedef struct {
    RowKind kind;
    const char *name;
    PyTypeObject *type;
    Answer (*handler)(const BuiltinCall *);
    int least, most;
    bool keywords;
} Row;

static const Row rows[] = {
#define ABOUT(name, handler, least, most) {ROW_ABOUT, name, NULL, handler, least, most, false},
#define ABOUT_TYPE(type, handler, least, most) {ROW_ABOUT, "", &type, handler, least, most, false},
#define OBJECT(name, handler, least, most) {ROW_OBJECT, name, NULL, handler, least, most, false},
#define OBJECT_TYPE(type, handler, least, most)                                                    \
    {ROW_OBJECT, "", &type, handler, least, most, false},
#define VALUE(name, handler, ...) {ROW_VALUE, name, NULL, handler, __VA_ARGS__},
#define VALUE_TYPE(type, handler, ...) {ROW_VALUE, "", &type, handler, __VA_ARGS__},
#include "builtins.def"
};

/* list(), set() … of an object known only when the plan runs. */
static Answer
collect(const BuiltinCall *call)
{
    static const char *const names[] = {"max", "min", "sum", "any", "all", "sorted"};
    for (int i = 0; i < COUNT_OF(names) && call->name != NULL && !builtin_keywords(call); i++)
        if (strcmp(call->name, names[i]) == 0)
            return loose_collect(call->in, call->callable, call->nargs, call->args, call->out);
    return ANSWER_NO;
}

/* ANSWER_NO: there is no row, or the row does not take the call. */
static Answer
call_row(const BuiltinCall *call, const Row *row)
{
    if (row == NULL || call->nargs < row->least || call->nargs > row->most ||
        (builtin_keywords(call) > 0 && !row->keywords))
        return ANSWER_NO;
    Answer loose = row->kind == ROW_VALUE ? collect(call) : ANSWER_NO;
    return loose != ANSWER_NO ? loose : row->handler(call);
}

/* Numbers out of arrays as arguments. */
static Answer
call_on_scalars(const BuiltinCall *call, const char *module)
{
    if (PyType_Check(call->callable))
        return scalar_type_call(call->in, (PyTypeObject *)call->callable, call->nargs, call->args,
                                call->out);
    if (module == NULL) return ANSWER_NO;
    return scalar_call(call->in, call->callable, module,
                       ((PyCFunctionObject *)call->callable)->m_ml->ml_name, call->nargs,
                       call->args, call->out);
}

/* The module of a C function; NULL without an error when it has none. */
static const char *
module_of(PyObject *callable)
{
    PyObject *module =
        PyCFunction_Check(callable) ? ((PyCFunctionObject *)callable)->m_module : NULL;
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    if (name == NULL) PyErr_Clear();
    return name;
}

/* The rows of one callable, by RowKind. */
typedef struct {
    const Row *of[ROW_VALUE + 1];
} Rows;

Answer
follow_builtin(const Call *c, const void *row)
{
    static const Rows none;
    const Rows *own = row != NULL ? row : &none;
    const char *module = module_of(c->object);
    BuiltinCall call = {.in = c->in,
                        .callable = c->object,
                        .nargs = c->nargs,
                        .args = c->args,
                        .kwnames = c->kwnames,
                        .out = c->out};
    if (own->of[ROW_VALUE] != NULL && own->of[ROW_VALUE]->type == NULL)
        call.name = own->of[ROW_VALUE]->name;
    Answer answer = call_row(&call, own->of[ROW_ABOUT]);
    if (answer != ANSWER_NO) return answer;
    if (c->nargs > 0 && value_is_object(c->args[0])) answer = call_row(&call, own->of[ROW_OBJECT]);
    if (answer != ANSWER_NO) return answer;
    if (c->kwnames == NULL) answer = call_on_scalars(&call, module);
    if (answer != ANSWER_NO) return answer;
    answer = call_pure(c->in, c->object, c->nargs, c->args, c->kwnames, c->out);
    return answer != ANSWER_NO ? answer : call_row(&call, own->of[ROW_VALUE]);
}

Answer
call_builtin(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
             Value **out)
{
    Call call = {
        .in = in, .object = callable, .nargs = nargs, .args = args, .kwnames = kwnames, .out = out};
    const Follower *own = callable_follower(callable, follow_builtin);
    if (own == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    return follow_builtin(&call, own == NULL ? NULL : own->row);
}

/* Python's own function of that name, which the program may have replaced; borrowed; NULL without
   an error where it does not exist. */
static PyObject *
own_builtin(const char *name)
{
    PyObject *builtins = PyImport_AddModule("builtins");
    PyObject *found = builtins ? PyDict_GetItemString(PyModule_GetDict(builtins), name) : NULL;
    const char *module = found != NULL ? module_of(found) : NULL;
    bool own = module != NULL && strcmp(module, "builtins") == 0 &&
               strcmp(((PyCFunctionObject *)found)->m_ml->ml_name, name) == 0;
    PyErr_Clear();
    return own ? found : NULL;
}

static Answer
follow_gather(const Call *c, const void *Py_UNUSED(row))
{
    return c->kwnames != NULL ? ANSWER_NO
                              : loose_gather(c->in, c->object, c->nargs, c->args, c->out);
}

static Answer
follow_warn(const Call *c, const void *Py_UNUSED(row))
{
    return output_warn(c->in, c->object, c->nargs, c->args, c->kwnames, c->out);
}

static Answer
follow_handled(const Call *c, const void *Py_UNUSED(row))
{
    return c->kwnames != NULL ? ANSWER_NO : handled_call(c->in, c->object, c->nargs, c->out);
}

static Answer
follow_wrapper(const Call *c, const void *Py_UNUSED(row))
{
    return wrapper_call(c->in, c->nargs, c->args, c->kwnames, c->out);
}

static int
add_rows(void)
{
    static Rows all[COUNT_OF(rows)]; /* indexed by the first of a callable's rows */
    for (int i = 0; i < COUNT_OF(rows); i++) {
        PyObject *callable = rows[i].type ? (PyObject *)rows[i].type : own_builtin(rows[i].name);
        if (callable == NULL) continue;
        Rows *own = &all[i];
        for (int k = i - 1; k >= 0; k--)
            if (rows[k].type == rows[i].type && strcmp(rows[k].name, rows[i].name) == 0)
                own = &all[k];
        own->of[rows[i].kind] = &rows[i];
        if (callable_add(callable, RANK_BUILTIN, follow_builtin, own) < 0) return -1;
    }
    return 0;
}

int
object_callables(void)
{
    static NamedCallable named[] = {
        {"_warnings", "warn", RANK_OWN, follow_warn, false},
        {"sys", "exc_info", RANK_OWN, follow_handled, false},
        {"sys", "exception", RANK_OWN, follow_handled, false},
        {"collections", "Counter", RANK_OWN, follow_gather, false},
        {"functools", "update_wrapper", RANK_PYTHON, follow_wrapper, false},
    };
    static PyTypeObject *const gathered[] = {&PyDict_Type, &PySet_Type, &PyFrozenSet_Type,
                                             &PyList_Type, &PyTuple_Type};
    static bool begun;
    for (int i = 0; !begun && i < COUNT_OF(gathered); i++)
        if (callable_add((PyObject *)gathered[i], RANK_OWN, follow_gather, NULL) < 0) return -1;
    if (!begun && add_rows() < 0) return -1;
    begun = true;
    return callables_add_named(COUNT_OF(named), named);
}
