/* Strings: made while capturing where all parts are known, else a V_PURE, a call that is made at
   commit.  So text of array values can be returned, stored and printed; an operation that reads the
   text breaks, unless the text depends on arguments alone, which are then guarded by value. */
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

/* ---- instructions ---- */

/* text_call; for an exception made here, the text that its class gives. */
Answer
text_of_value(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    if (nargs == 1 && args[0]->exception != NULL && callable != python_builtin("ascii"))
        return exception_text(in, args[0], callable == python_builtin("repr"), out);
    return text_call(in, callable, nargs, args, out);
}

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
                     : text_of_value(in, convert, 1, &value, &value);
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

/* text + text, text % values, text * n of a text that is not known yet; ANSWER_NO for others. */
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

/* Methods of strings whose result is a string that can be made at commit; ANSWER_NO for others. */
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
