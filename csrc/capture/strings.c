/* Strings: made while capturing where all that goes into them is known, else a V_PURE, a call that
   is made at commit.  So text of array values can be returned, stored and printed; what would look
   into it breaks, unless it depends on arguments alone, which are then guarded by value. */
#include "numpy_rules.h"
#include "objects.h"

/* A method of str, or another attribute of a builtin type; borrowed for ever. */
static PyObject *
type_method(Interp *in, PyTypeObject *type, const char *name)
{
    PyObject *key = keep(in, PyUnicode_InternFromString(name));
    PyObject *found = key ? _PyType_Lookup(type, key) : NULL;
    if (found == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_SystemError, "%s has no %s", type->tp_name, name);
    return found;
}

enum { DEEPEST = 24 }; /* containers within containers; one may hold itself */

/* Nothing remains to be guarded or computed. */
static bool
is_settled(Interp *in, Value *value, int depth)
{
    if (value->kind == V_CONST) return true;
    if (value->kind != V_TUPLE && value->kind != V_LIST && value->kind != V_DICT) return false;
    if (depth == DEEPEST) return false;
    for (int i = 0; i < value->nitems; i++) {
        Value *item = value_item(in, value, i);
        if (item == NULL || !is_settled(in, item, depth + 1)) return false;
    }
    return true;
}

/* The value as it is at this moment, made of what prints without code of the program's.  NULL
   without an error: not so. */
static Value *
snapshot(Interp *in, Value *value, int depth)
{
    if (depth == DEEPEST) return NULL;
    switch (value->kind) {
    case V_CONST:
        return object_is_plain(value->object) || array_scalar_check(value->object) ||
                       array_dtype_check(value->object)
                   ? value
                   : NULL;
    case V_PURE: return value;
    case V_NODE:
        if (value_is_array(in, value) && freeze_array(in, value, &value) != ANSWER_YES) return NULL;
        return value;
    case V_TUPLE:
        if (value->type != NULL && value->type != &PyTuple_Type) return NULL;
        break;
    case V_LIST:
    case V_DICT: break;
    case V_SLICE:
    case V_RANGE: break;
    default: return NULL;
    }
    Value *copy = value_sequence(in, value->kind, value->nitems, NULL);
    for (int i = 0; copy != NULL && i < value->nitems; i++) {
        Value *item = value->items[i] ? value->items[i] : value_item(in, value, i);
        if (item == NULL) return NULL;
        copy->items[i] = snapshot(in, item, depth + 1);
        if (copy->items[i] == NULL) return NULL;
    }
    return copy;
}

/* Text that a pure callable makes of the arguments: now, or at commit. */
Answer
text_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    bool settled = true;
    if (callable == NULL) return ANSWER_ERROR;
    if (nargs == 1 && args[0]->exception != NULL && callable != python_builtin("ascii"))
        return exception_text(in, args[0], callable == python_builtin("repr"), out);
    for (int i = 0; i < nargs; i++) settled = settled && is_settled(in, args[i], 0);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    Value *pure = value_sequence(in, V_PURE, nargs, args);
    if (pure == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nargs; i++) {
        if ((pure->items[i] = snapshot(in, args[i], 0)) != NULL) continue;
        if (PyErr_Occurred()) return ANSWER_ERROR;
        return interp_break(in, value_break(args[i], BREAK_OPERATOR), "text of %s",
                            value_describe(in, args[i]));
    }
    if (settled && nargs == 1 && args[0]->kind == V_CONST && array_dtype_check(args[0]->object)) {
        PyObject *text = PyObject_CallOneArg(callable, args[0]->object);
        *out = value_const_new(in, text);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (settled) return fold_call(in, callable, nargs, pure->items, out);
    if (keep(in, Py_NewRef(callable)) == NULL) return ANSWER_ERROR;
    pure->object = callable;
    pure->type = &PyUnicode_Type;
    *out = pure;
    return VEC_PUSH(in->arena, &in->texts, pure) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
text_numpy(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
           Value **out)
{
    static const char *const names[] = {"array2string",
                                        "array_str",
                                        "array_repr",
                                        "format_float_positional",
                                        "format_float_scientific",
                                        "base_repr",
                                        "binary_repr"};
    bool found = false;
    if (nargs == 0 || !PyCallable_Check(callable)) return ANSWER_NO;
    for (int i = 0; !found && i < COUNT_OF(names); i++) found = callable == numpy_object(names[i]);
    if (!found) return ANSWER_NO;
    PyObject *keywords = keep(in, PyDict_New()), *known;
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    if (keywords == NULL) return ANSWER_ERROR;
    for (int i = 0; i < nkw; i++) {
        Answer answer = value_known(in, args[nargs + i], &known);
        if (answer == ANSWER_ERROR) return answer;
        if (answer == ANSWER_NO || !object_is_plain(known))
            return interp_break(in, BREAK_NUMPY, "text of an array with arguments not known");
        if (PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, i), known) < 0) return ANSWER_ERROR;
    }
    if (nkw > 0) {
        PyObject *maker = module_kept(in, "pycompile._calls", "Keywords");
        callable = maker ? PyObject_CallFunctionObjArgs(maker, callable, keywords, NULL) : NULL;
        if (keep(in, callable) == NULL) return ANSWER_ERROR;
    }
    return text_call(in, callable, nargs, args, out);
}

/* The string behind a V_PURE, where it depends on arguments alone: they are guarded, and it is a
   constant from here on. */
Answer
pure_known(Interp *in, Value *pure, PyObject **out)
{
    PyObject *args = PyTuple_New(pure->nitems), *object;
    Answer answer = args ? ANSWER_YES : ANSWER_ERROR;
    for (int i = 0; answer == ANSWER_YES && i < pure->nitems; i++) {
        answer = value_known(in, pure->items[i], &object);
        if (answer == ANSWER_YES) PyTuple_SET_ITEM(args, i, Py_NewRef(object));
    }
    if (answer == ANSWER_YES) {
        *out = keep(in, PyObject_Call(pure->object, args, NULL));
        if (*out == NULL) {
            PyErr_Clear(); /* a deopt will raise it */
            answer = ANSWER_NO;
        } else {
            pure->kind = V_CONST;
            pure->object = *out;
            pure->items = NULL;
            pure->nitems = 0;
        }
    }
    Py_XDECREF(args);
    return answer;
}

/* ---- instructions ---- */

Answer
format_value(Interp *in, const Instr *instr)
{
    bool has_spec = instr->arg2 == 1;
    Value *value = top_value(in, has_spec ? 2 : 1), *spec = has_spec ? top_value(in, 1) : NULL;
    if (value == NULL || (has_spec && spec == NULL)) return ANSWER_ERROR;
    Answer answer = ANSWER_YES;
    if (instr->arg != 0) {
        PyObject *convert = instr->arg == 1   ? (PyObject *)&PyUnicode_Type
                            : instr->arg == 2 ? python_builtin("repr")
                                              : python_builtin("ascii");
        answer = value_is_object(value) && instr->arg != 3
                     ? object_text(in, value, instr->arg == 2, &value)
                     : text_call(in, convert, 1, &value, &value);
    }
    if (answer == ANSWER_YES && instr->arg2 != 2 && value_is_object(value)) {
        if (!has_spec && (spec = value_const_new(in, PyUnicode_FromString(""))) == NULL)
            return ANSWER_ERROR;
        answer = object_format(in, value, spec, &value);
    } else if (answer == ANSWER_YES && instr->arg2 != 2) {
        Value *args[2] = {value, spec};
        bool is_text = value_type(in, value) == &PyUnicode_Type && !has_spec;
        if (PyErr_Occurred()) return ANSWER_ERROR;
        if (!is_text)
            answer = text_call(in, python_builtin("format"), has_spec ? 2 : 1, args, &value);
    }
    if (answer != ANSWER_YES) return answer;
    in->top->depth -= has_spec ? 2 : 1;
    return push(in, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
build_string(Interp *in, int n)
{
    Value *args[2] = {value_const_new(in, PyUnicode_FromString("")),
                      value_sequence(in, V_TUPLE, n, NULL)};
    Value *text;
    if (args[0] == NULL || args[1] == NULL) return ANSWER_ERROR;
    for (int i = 0; i < n; i++)
        if ((args[1]->items[i] = top_value(in, n - i)) == NULL) return ANSWER_ERROR;
    Answer answer = text_call(in, type_method(in, &PyUnicode_Type, "join"), 2, args, &text);
    if (answer != ANSWER_YES) return answer;
    in->top->depth -= n;
    return push(in, text) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- operators and methods ---- */

static bool
is_text(Interp *in, Value *value)
{
    return value->kind == V_PURE ||
           (value->kind == V_CONST && PyUnicode_CheckExact(value->object) && in != NULL);
}

/* text + text, text % values, text * n of what is not known yet; ANSWER_NO without a break: not. */
Answer
text_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *args[2] = {left, right};
    if (left->kind == V_CONST && right->kind == V_CONST) return ANSWER_NO;
    if (operator_ == OPERATOR_MOD && is_text(in, left))
        return text_call(in, type_method(in, &PyUnicode_Type, "__mod__"), 2, args, out);
    if (operator_ == OPERATOR_ADD && is_text(in, left) && is_text(in, right))
        return text_call(in, type_method(in, &PyUnicode_Type, "__add__"), 2, args, out);
    if (operator_ == OPERATOR_MUL && is_text(in, right) && value_type(in, left) == &PyLong_Type) {
        args[0] = right;
        args[1] = left;
        return text_binary(in, operator_, right, left, out);
    }
    if (operator_ == OPERATOR_MUL && is_text(in, left) && value_type(in, right) == &PyLong_Type)
        return text_call(in, type_method(in, &PyUnicode_Type, "__mul__"), 2, args, out);
    return ANSWER_NO;
}

/* Methods of strings that give a string and may wait until commit; ANSWER_NO without a break. */
Answer
text_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
            PyObject *kwnames, Value **out)
{
    static const char *const names[] = {
        "format", "join",       "ljust",      "rjust",        "center",       "zfill",
        "upper",  "lower",      "strip",      "lstrip",       "rstrip",       "replace",
        "title",  "capitalize", "expandtabs", "removesuffix", "removeprefix", "swapcase"};
    bool known = false, settled = self->kind == V_CONST;
    for (int i = 0; i < COUNT_OF(names); i++) known = known || strcmp(name, names[i]) == 0;
    if (!known || !is_text(in, self)) return ANSWER_NO;
    int nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    if (nkw > 0 && (strcmp(name, "format") != 0 || nargs > 0)) return ANSWER_NO;
    for (int i = 0; i < nargs + nkw; i++) settled = settled && is_settled(in, args[i], 0);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    Value **all = arena_alloc(in->arena, sizeof(Value *) * (size_t)(nargs + 2)), *items;
    if (all == NULL) return ANSWER_ERROR;
    all[0] = self;
    for (int i = 0; i < nargs; i++) all[i + 1] = args[i];
    if (nkw > 0) { /* format(a=…) as format_map({"a": …}) */
        if (settled) return ANSWER_NO;
        all[1] = value_sequence(in, V_DICT, 0, NULL);
        for (int i = 0; all[1] != NULL && i < nkw; i++) {
            Answer answer = dict_store(in, all[1], PyTuple_GET_ITEM(kwnames, i), args[i]);
            if (answer != ANSWER_YES) return answer;
        }
        return all[1] == NULL
                   ? ANSWER_ERROR
                   : text_call(in, type_method(in, &PyUnicode_Type, "format_map"), 2, all, out);
    }
    if (strcmp(name, "join") == 0 && nargs == 1) {
        Answer answer = iterate_all(in, args[0], V_LIST, &items);
        if (answer != ANSWER_YES) return answer;
        all[1] = items;
    } else if (settled) {
        return ANSWER_NO;
    }
    return text_call(in, type_method(in, &PyUnicode_Type, name), nargs + 1, all, out);
}
