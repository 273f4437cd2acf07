/* Objects of Python's own plain classes that are known only when the plan runs: the larger of two
   numbers of different classes, text made of array elements, an entry of a table that an array's
   value picks, a set of an array's values.
   Such a value is an opaque object (steps.c) with a sample.  Each operation on one is a step that
   calls Python's own function on the real object; the sample does not tell the class of a number
   that results, until float(), int(), bool() or a store to an array of float64 converts it. */
#include "numbers.h"

enum { MOST_ENTRIES = 256, DEEPEST = 6 };

static bool
is_number(PyObject *object)
{
    return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_CheckExact(object) ||
           array_scalar_check(object);
}

bool
value_is_loose(Interp *in, const Value *value)
{
    return value_is_opaque_object(in, value);
}

/* A number of unknown class, converted to Python's float; other values unchanged. */
static Answer
as_float(Interp *in, Value *value, Value **out)
{
    *out = value;
    if (!value_is_loose(in, value) || !PyFloat_Check(object_sample(in, value))) return ANSWER_YES;
    Answer picked = picked_number(in, value, DT_F64, out);
    if (picked != ANSWER_NO) return picked;
    return call_simple(in, (PyObject *)&PyFloat_Type, 1, &value, out);
}

/* An array of float64 or complex128 converts Python's float and its own scalar alike. */
static bool
takes_floats(Interp *in, const Value *value)
{
    if (!value_is_array(in, value)) return false;
    Type type = node_type(in, value->node);
    return type.dtype == DT_F64 || type.dtype == DT_C128;
}

Answer
loose_operands(Interp *in, Value **left, Value **right)
{
    if (takes_floats(in, *left)) return as_float(in, *right, right);
    if (takes_floats(in, *right)) return as_float(in, *left, left);
    return ANSWER_YES;
}

/* An operator on two numbers, one of which is loose: Python's own, whatever their classes. */
Answer
loose_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    bool any = value_is_loose_number(in, left) || value_is_loose_number(in, right);
    bool numbers = any && (value_is_loose_number(in, left) || value_is_number(in, left)) &&
                   (value_is_loose_number(in, right) || value_is_number(in, right));
    if (!numbers || in->loop != NULL) return ANSWER_NO;
    Value *both[2] = {left, right};
    PyObject *callable = module_kept(in, "operator", operators[operator_].function);
    return callable == NULL ? ANSWER_ERROR : call_simple(in, callable, 2, both, out);
}

Answer
loose_stored(Interp *in, const Value *array, Value **value)
{
    if (!value_is_loose(in, *value) || !takes_floats(in, array)) return ANSWER_YES;
    Answer picked = picked_number(in, *value, DT_F64, value);
    return picked == ANSWER_NO ? ANSWER_YES : picked;
}

/* The names of the special method of an operator, or, from IN_PLACE on, of a comparison, and of the
   reflected method. */
static void
method_names(int operator_, char name[24], char reflected[24])
{
    static const int swapped[6] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
    bool compares = operator_ >= IN_PLACE;
    const char *plain =
        compares ? comparison_names[operator_ - IN_PLACE] : operators[operator_].method;
    const char *other = compares ? comparison_names[swapped[operator_ - IN_PLACE]] : plain;
    snprintf(name, 24, "__%s__", plain);
    snprintf(reflected, 24, compares ? "__%s__" : "__r%s__", other);
}

Answer
loose_member(Interp *in, int operator_, Value *other, Value **value)
{
    const Value *member = *value;
    if (member->kind != V_CONST || !is_enum_member(member->object) ||
        !PyLong_Check(member->object) || !takes_floats(in, other))
        return ANSWER_YES;
    PyTypeObject *type = Py_TYPE(member->object);
    Answer answer = enum_is_plain(in, type, "__int__", "__index__");
    char name[24], reflected[24];
    method_names(operator_, name, reflected);
    if (answer == ANSWER_YES) answer = enum_is_plain(in, type, name, reflected);
    if (answer != ANSWER_YES) return answer == ANSWER_NO ? ANSWER_YES : answer;
    *value = value_const_new(in, PyNumber_Long(member->object));
    return *value == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* What to write in place of values of two classes. */
static const char *
one_class(const char *one, const char *other)
{
    static const char *const wider[] = {"complex", "float", "int"};
    if (strcmp(one, "NoneType") == 0 || strcmp(other, "NoneType") == 0)
        return "use a number in place of None";
    if (strcmp(one, "str") == 0 || strcmp(other, "str") == 0) return "use numbers alone";
    bool numpy = strchr(one, '.') != NULL || strchr(other, '.') != NULL;
    for (int i = 0; i < COUNT_OF(wider) && !numpy; i++)
        if (strcmp(one, wider[i]) == 0 || strcmp(other, wider[i]) == 0)
            return i == 0   ? "make it complex(...) on each way"
                   : i == 1 ? "make it float(...) on each way"
                            : "make it int(...) on each way";
    return "make it one of the two on each way: bool(...), int(...), float(...)";
}

Answer
loose_choice(Interp *in, Value *pair, Value *test, const char *name, int line, Value **out)
{
    if (in->loop != NULL) {
        const char *one = value_describe(in, pair->items[1]);
        const char *other = value_describe(in, pair->items[0]), *remedy = one_class(one, other);
        if (name == NULL)
            return interp_break(in, BREAK_UNROLL,
                                "a value that is %s after some branches and %s after others (%s)",
                                one, other, remedy);
        return interp_break(
            in, BREAK_UNROLL,
            "%s, which is %s on one side and %s on the other of the branch of line %d (%s)", name,
            one, other, line, remedy);
    }
    Value *args[3] = {pair->items[0], pair->items[1], test};
    PyObject *pick = module_kept(in, "pycompile._C", "_pick");
    Answer answer = pick ? call_loose(in, pick, 3, args, out) : ANSWER_ERROR;
    if (answer == ANSWER_YES) graph_node(in->graph, (*out)->node)->op = OP_pick;
    return answer;
}

/* max and min of numbers of several classes; `test`: is the last one beyond those before it?  Of
   two in a turn, which may be the bounds of a slice, the number is known by that. */
Answer
loose_extreme(Interp *in, const char *name, Value *items, Value *test, Value **out)
{
    bool unknown = false;
    if (items->nitems < 2 || items->nitems > 32) return ANSWER_NO;
    for (int i = 0; i < items->nitems; i++) {
        Value *item = items->items[i];
        bool scalar = value_is_python_scalar(in, item) ||
                      (value_is_numpy(in, item) && !value_is_array(in, item) &&
                       opaque_sample(in, item) == NULL) ||
                      (value_is_loose(in, item) && is_number(object_sample(in, item)));
        if (!scalar) return ANSWER_NO;
        unknown = unknown || item->kind == V_NODE;
    }
    if (!unknown) return ANSWER_NO;
    if (branch_apart(in)) return break_choice(in, name);
    if (in->loop != NULL)
        return interp_break(in, BREAK_UNROLL,
                            "a call of '%s' whose numbers are not all of one type (make them so: "
                            "np.float64(...))",
                            name);
    Answer answer = items->nitems == 2 && sizes_may_vary(in)
                        ? loose_choice(in, items, test, NULL, 0, out)
                        : call_loose(in, python_builtin(name), items->nitems, items->items, out);
    if (answer == ANSWER_YES && (*out)->kind == V_NODE && branch_chosen(in, (*out)->node) < 0)
        return ANSWER_ERROR;
    return answer;
}

/* The arguments, with texts that are not known as objects; *any: there was such a text, or an
   object. */
static Answer
loosened(Interp *in, int nargs, Value *const *args, Value **all, bool *any)
{
    *any = false;
    for (int i = 0; i < nargs; i++) {
        all[i] = args[i];
        if (args[i]->kind == V_PURE) {
            Answer answer = loose_text(in, args[i], &all[i]);
            if (answer != ANSWER_YES) return answer;
        }
        *any = *any || value_is_loose(in, all[i]);
    }
    return ANSWER_YES;
}

/* A pure function of Python that takes such values; ANSWER_NO: no argument is one. */
Answer
loose_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    Value *all[4];
    bool any;
    if (nargs == 0 || nargs > COUNT_OF(all)) return ANSWER_NO;
    Answer answer = loosened(in, nargs, args, all, &any);
    if (answer != ANSWER_YES || !any) return answer == ANSWER_YES ? ANSWER_NO : answer;
    return call_simple(in, callable, nargs, all, out);
}

/* sorted(), list(), set() … of such values: the result's length is not known. */
Answer
loose_collect(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    if (nargs != 1 || !value_is_loose(in, args[0])) return ANSWER_NO;
    PyObject *sample = object_sample(in, args[0]);
    if (!PyAnySet_Check(sample) && !PyList_Check(sample) && !PyDict_Check(sample) &&
        !PyTuple_Check(sample) && !PyUnicode_Check(sample))
        return ANSWER_NO;
    return call_loose(in, callable, nargs, args, out);
}

Answer
loose_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
             PyObject *kwnames, Value **out)
{
    Value *text, *all[8];
    bool ignored;
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    if (self->kind != V_PURE || nargs + nkw > COUNT_OF(all)) return ANSWER_NO;
    Answer answer = loose_text(in, self, &text);
    if (answer == ANSWER_YES) answer = loosened(in, nargs + nkw, args, all, &ignored);
    return answer == ANSWER_YES ? object_method(in, text, name, nargs, all, kwnames, out) : answer;
}

/* ---- tables of constants, with an entry that an array's value picks ---- */

/* Numbers and text, and tuples of them. */
static bool
is_entry(PyObject *object, int depth)
{
    if (PyTuple_CheckExact(object) && depth < DEEPEST) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
            if (!is_entry(PyTuple_GET_ITEM(object, i), depth + 1)) return false;
        return true;
    }
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) || object == Py_None ||
           PyBytes_CheckExact(object);
}

/* The table with all its contents known, and guarded where it came from outside; kept. */
static Answer
known_table(Interp *in, Value *table, PyObject **out)
{
    if (table->kind == V_CONST) {
        *out = table->object;
        return PyFrozenSet_CheckExact(*out) || is_entry(*out, 0) ? ANSWER_YES : ANSWER_NO;
    }
    bool fits = table->kind == V_LIST || table->kind == V_DICT || table->kind == V_SET ||
                (table->kind == V_TUPLE && (table->type == NULL || table->type == &PyTuple_Type));
    if (!fits || table->nitems > MOST_ENTRIES) return ANSWER_NO;
    PyObject *items = keep(in, PyTuple_New(table->nitems));
    if (items == NULL) return ANSWER_ERROR;
    for (int i = 0; i < table->nitems; i++) {
        Value *item = value_item(in, table, i);
        PyObject *object;
        if (item == NULL) return ANSWER_ERROR;
        if (item->kind != V_CONST && item->kind != V_TUPLE && !value_is_python_scalar(in, item))
            return ANSWER_NO;
        Answer answer = value_known(in, item, &object);
        if (answer == ANSWER_YES && !is_entry(object, 0)) answer = ANSWER_NO;
        if (answer != ANSWER_YES) return answer;
        PyTuple_SET_ITEM(items, i, Py_NewRef(object));
    }
    PyObject *dict = NULL;
    switch (table->kind) {
    case V_TUPLE: *out = items; return ANSWER_YES;
    case V_LIST: *out = keep(in, PySequence_List(items)); break;
    case V_SET: *out = keep(in, PyFrozenSet_New(items)); break;
    default:
        dict = keep(in, PyDict_New());
        for (int i = 0; dict != NULL && i + 1 < table->nitems; i += 2)
            if (PyDict_SetItem(dict, PyTuple_GET_ITEM(items, i), PyTuple_GET_ITEM(items, i + 1)))
                return ANSWER_ERROR;
        *out = dict;
    }
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* The key that comes out of an array: a number that is not one of the plan's inputs, or an object
   of unknown class. */
static Answer
picks(Interp *in, Value *key, Value **out)
{
    *out = key;
    if (key->kind == V_PURE) return loose_text(in, key, out);
    bool number = value_is_unknown_scalar(in, key) && !value_is_array(in, key);
    return number || value_is_loose(in, key) ? ANSWER_YES : ANSWER_NO;
}

/* FUNCTION(table, key, …) of pycompile/_calls.py, to which the table is a constant. */
static Answer
call_table(Interp *in, const char *function, PyObject *table, int nargs, Value *const *args,
           bool typed, Value **out)
{
    PyObject *maker = module_kept(in, "pycompile._calls", function);
    PyObject *callable = maker ? keep(in, PyObject_CallOneArg(maker, table)) : NULL;
    if (callable == NULL) return ANSWER_ERROR;
    return typed ? call_simple(in, callable, nargs, args, out)
                 : call_loose(in, callable, nargs, args, out);
}

/* No number is in an empty container, whatever the number is. */
static bool
is_empty(PyObject *table)
{
    bool container = PyList_CheckExact(table) || PyTuple_CheckExact(table) ||
                     PyDict_CheckExact(table) || PyFrozenSet_CheckExact(table);
    return container && PyObject_Size(table) == 0;
}

/* All entries are of one class of Python's numbers. */
static bool
is_uniform(PyObject *table)
{
    PyTypeObject *type = NULL;
    PyObject *values = PyDict_CheckExact(table) ? PyDict_Values(table) : PySequence_Fast(table, "");
    bool same = values != NULL;
    for (Py_ssize_t i = 0; same && i < PySequence_Fast_GET_SIZE(values); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(values, i);
        same = (type == NULL || Py_TYPE(item) == type) && is_number(item);
        type = Py_TYPE(item);
    }
    PyErr_Clear();
    Py_XDECREF(values);
    return same && type != NULL;
}

Answer
loose_lookup(Interp *in, Value *table, Value *key, Value *otherwise, Value **out)
{
    PyObject *object, *last;
    Value *args[1];
    if (in->loop != NULL) return ANSWER_NO;
    Answer answer = picks(in, key, &args[0]);
    if (answer == ANSWER_YES) answer = known_table(in, table, &object);
    if (answer != ANSWER_YES || PyAnySet_Check(object))
        return answer == ANSWER_YES ? ANSWER_NO : answer;
    if (is_empty(object)) {
        *out = otherwise;
        return otherwise != NULL ? ANSWER_YES : ANSWER_NO;
    }
    bool typed = is_uniform(object);
    if (otherwise == NULL) return call_table(in, "Lookup", object, 1, args, typed, out);
    answer = value_known(in, otherwise, &last);
    if (answer == ANSWER_YES && !is_entry(last, 0)) answer = ANSWER_NO;
    if (answer != ANSWER_YES) return answer;
    PyObject *both = keep(in, PyTuple_Pack(2, object, last)), *values;
    if (both == NULL || (values = PyDict_Values(object)) == NULL) return ANSWER_ERROR;
    typed = typed && Py_TYPE(last) == Py_TYPE(PyList_GET_ITEM(values, 0));
    Py_DECREF(values);
    return call_table(in, "Get", both, 1, args, typed, out);
}

/* key in table, as a bool that is known only when the plan runs. */
Answer
loose_contains(Interp *in, Value *key, Value *table, Value **out)
{
    PyObject *object;
    Value *args[2];
    if (in->loop != NULL) return ANSWER_NO;
    if (table->kind == V_PURE || value_is_loose(in, table)) {
        Value *both[2] = {table, key};
        PyObject *function = module_kept(in, "operator", "contains");
        return function ? loose_call(in, function, 2, both, out) : ANSWER_ERROR;
    }
    Answer answer = picks(in, key, &args[0]);
    if (answer == ANSWER_YES) answer = known_table(in, table, &object);
    if (answer != ANSWER_YES) return answer;
    if (is_empty(object) && value_is_number(in, key)) {
        *out = value_const(in, Py_False);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    return call_table(in, "Contains", object, 1, args, true, out);
}

/* ---- sets, counters and dicts of what is in arrays ---- */

/* Numbers that are known only when the plan runs, in a list or tuple. */
static bool
are_numbers(Interp *in, Value *items)
{
    bool unknown = false;
    if (items->kind != V_LIST && items->kind != V_TUPLE) return false;
    for (int i = 0; i < items->nitems; i++) {
        const Value *item = items->items[i];
        if (item == NULL) return false;
        bool number = item->kind == V_CONST
                          ? is_number(item->object)
                          : item->kind == V_NODE && !value_is_array(in, item) &&
                                (value_is_python_scalar(in, item) || value_is_numpy(in, item));
        if (!number) return false;
        unknown = unknown || value_is_unknown_scalar(in, item);
    }
    return unknown;
}

/* Pairs of such numbers, or of a text and such a number. */
static bool
are_pairs(Interp *in, Value *items)
{
    bool unknown = false;
    if (items->kind != V_LIST && items->kind != V_TUPLE) return false;
    for (int i = 0; i < items->nitems; i++) {
        Value *pair = items->items[i];
        if (pair == NULL || pair->kind != V_TUPLE || pair->nitems != 2 || pair->object != NULL)
            return false;
        Value *key = pair->items[0], *value = pair->items[1];
        bool number = key != NULL && key->kind == V_NODE && value_is_unknown_scalar(in, key);
        bool plain = value != NULL && ((value->kind == V_CONST && is_entry(value->object, 0)) ||
                                       value_is_unknown_scalar(in, value));
        if (!number || !plain) return false;
        unknown = true;
    }
    return unknown;
}

Answer
loose_gather(Interp *in, PyObject *type, int nargs, Value *const *args, Value **out)
{
    if (nargs != 1 || in->loop != NULL) return ANSWER_NO;
    bool pairs = type == (PyObject *)&PyDict_Type;
    bool listed = type == (PyObject *)&PyList_Type || type == (PyObject *)&PyTuple_Type;
    if (value_is_loose(in, args[0])) return loose_collect(in, type, 1, args, out);
    if (listed) return ANSWER_NO;
    Value *items = args[0];
    if (pairs ? are_pairs(in, items) : are_numbers(in, items))
        return call_loose(in, type, 1, &items, out);
    return ANSWER_NO;
}
