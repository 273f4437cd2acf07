/* Operators on objects of the program's classes: which special method is tried when, as in
   CPython's Objects/abstract.c and typeobject.c (slot_nb_*, slot_tp_richcompare), and NumPy's rule
   for when an array defers to the other operand (numpy/_core/src/common/binop_override.h). */
#include "objects.h"

static const char *const compare_names[6] = {"__lt__", "__le__", "__eq__",
                                             "__ne__", "__gt__", "__ge__"};
static const int swapped[6] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};

static bool
has_methods(const Value *value)
{
    return value_is_object(value) || value_is_named(value);
}

static bool
is_not_implemented(const Value *value)
{
    return value->kind == V_CONST && value->object == Py_NotImplemented;
}

static Answer
cannot(Interp *in, const char *what, Value *left, Value *right)
{
    return break_hinted(in, value_break(left, value_break(right, BREAK_OPERATOR)),
                        value_is_wide(left) || value_is_wide(right) ? HINT_WIDE : HINT_OF_CODE,
                        "%s %s and %s", what, value_describe(in, left), value_describe(in, right));
}

/* Python's ints, whose sum, difference or product does not fit int64. */
static int
is_wide_result(int operator_, const Value *left, const Value *right)
{
    PyObject *a = scalar_seen(left), *b = scalar_seen(right);
    int plain = operator_ % IN_PLACE, overflow = 0;
    bool small = plain == OPERATOR_ADD || plain == OPERATOR_SUB || plain == OPERATOR_MUL;
    if (!small || a == NULL || b == NULL || !PyLong_CheckExact(a) || !PyLong_CheckExact(b))
        return 0;
    PyObject *result = binary_function(plain)(a, b);
    if (result == NULL) return -1;
    (void)PyLong_AsLongLongAndOverflow(result, &overflow);
    Py_DECREF(result);
    return overflow != 0;
}

static Answer
cannot_operate(Interp *in, int operator_, Value *left, Value *right)
{
    int wide = is_wide_result(operator_, left, right);
    if (wide < 0) return ANSWER_ERROR;
    if (wide && !value_is_wide(left) && !value_is_wide(right))
        return break_hinted(in, BREAK_OPERATOR, HINT_WIDE,
                            "operator on int and int, whose result does not fit int64");
    return cannot(in, "operator on", left, right);
}

/* type(object).name(object, args…); *out NULL: there is no such method, or it is C code. */
Answer
special_call(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
             Value **out)
{
    PyObject *found, *key = interned(in, name);
    *out = NULL;
    if (key == NULL) return ANSWER_ERROR;
    if (!has_methods(object) || !type_is_heap(object->type)) return ANSWER_YES;
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    Answer answer = type_lookup(in, object->type, key, &found);
    if (answer != ANSWER_YES || found == NULL) return answer;
    if (found == Py_None) /* the class blocks it: CPython raises, or has a rule for it */
        return interp_break(in, BREAK_OPERATOR, "%s of %s, which is None", name,
                            value_describe(in, object));
    if (Py_TYPE(found) == &PyWrapperDescr_Type || Py_TYPE(found) == &PyMethodDescr_Type) {
        Value *core = NULL;
        if (PyDescr_TYPE(found) == box_base(object)) answer = box_core(in, object, &core);
        if (answer != ANSWER_YES || core == NULL) return answer;
        return box_method(in, object, name, nargs, args, NULL, out);
    }
    Value *owner = value_const(in, (PyObject *)object->type), *method;
    if (owner == NULL) return ANSWER_ERROR;
    answer = descriptor_get(in, found, object, owner, key, &method);
    return answer == ANSWER_YES ? call_value(in, method, nargs, args, NULL, out) : answer;
}

Answer
special_hash(Interp *in, Value *object, Py_hash_t *out)
{
    Value *result;
    PyObject *known;
    if (object->kind == V_CONST) return ANSWER_NO;
    TRY(special_call(in, object, "__hash__", 0, NULL, &result));
    if (result == NULL) return ANSWER_NO;
    TRY(value_known(in, result, &known));
    if (!PyLong_CheckExact(known)) return ANSWER_NO;
    /* As slot_tp_hash: an int that fits is the hash, except -1. */
    *out = PyLong_AsSsize_t(known);
    if (*out == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        *out = PyObject_Hash(known);
    }
    if (*out == -1) *out = -2;
    return ANSWER_YES;
}

/* Enum members on both sides, or one and a plain constant: *out NULL where code of the program
   might run. */
static Answer
fold_enums(Interp *in, int operator_, bool compare, Value *left, Value *right, Value **out)
{
    char name[24], reflected[24];
    Value *both[2] = {left, right};
    PyObject *objects[2];
    *out = NULL;
    if (compare) {
        snprintf(name, sizeof(name), "%s", compare_names[operator_]);
        snprintf(reflected, sizeof(reflected), "%s", compare_names[swapped[operator_]]);
    } else {
        snprintf(name, sizeof(name), "__%s__", operators[operator_ % IN_PLACE].method);
        snprintf(reflected, sizeof(reflected), "__r%s__", operators[operator_ % IN_PLACE].method);
    }
    for (int i = 0; i < 2; i++) {
        if (both[i]->kind != V_CONST) return ANSWER_YES;
        objects[i] = both[i]->object;
        PyTypeObject *type = Py_TYPE(objects[i]);
        if (is_enum_member(objects[i])) {
            Answer plain = enum_is_plain(in, type, name, reflected);
            if (plain != ANSWER_YES) return plain == ANSWER_NO ? ANSWER_YES : plain;
        } else if (type_is_heap(type) || value_is_numpy(in, both[i])) {
            return ANSWER_YES;
        }
    }
    PyObject *result = compare ? PyObject_RichCompare(objects[0], objects[1], operator_)
                               : binary_function(operator_)(objects[0], objects[1]);
    if (result == NULL) return raise_error(in);
    *out = value_const_new(in, result);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- binary operators ---- */

/* Does an array on the left defer to the object? */
static Answer
array_gives_way(Interp *in, Value *object, bool *out)
{
    PyObject *found;
    *out = false;
    if (value_guard_type(in, object) < 0) return ANSWER_ERROR;
    Answer answer = type_lookup_text(in, object->type, "__array_ufunc__", &found);
    if (answer != ANSWER_YES) return answer;
    if (found != NULL) {
        *out = found == Py_None;
        return ANSWER_YES;
    }
    answer = type_lookup_text(in, object->type, "__array_priority__", &found);
    if (answer != ANSWER_YES || found == NULL) return answer;
    double priority = PyFloat_CheckExact(found)  ? PyFloat_AS_DOUBLE(found)
                      : PyLong_CheckExact(found) ? PyLong_AsDouble(found)
                                                 : 0.0;
    PyErr_Clear();
    *out = priority > 0.0;
    return ANSWER_YES;
}

/* Does a value of a builtin type on the left return NotImplemented for such an object on the right,
   or have no such operator? */
static Answer
left_gives_way(Interp *in, int operator_, Value *left, Value *right, bool *out)
{
    if (value_is_numpy(in, left)) return array_gives_way(in, right, out);
    PyTypeObject *type = value_type(in, left);
    if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    *out = type != NULL && !type_is_heap(type);
    if (type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyByteArray_Type)
        *out = strcmp(operators[operator_].method, "mod") != 0;
    if (*out && right->type != NULL && PyType_IsSubtype(right->type, type)) *out = false;
    return ANSWER_YES;
}

/* right.__rop__(left), where right's class has one. */
static Answer
reflected(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    char name[24];
    snprintf(name, sizeof(name), "__r%s__", operators[operator_].method);
    return special_call(in, right, name, 1, &left, out);
}

/* Does right's class, derived from left's, define its own __rop__? */
static Answer
overrides(Interp *in, int operator_, Value *left, Value *right, bool *out)
{
    char name[24];
    PyObject *mine, *yours;
    bool derives;
    *out = false;
    Answer answer = type_derives(in, right->type, left->type, &derives);
    if (answer != ANSWER_YES || left->type == right->type || !derives) return answer;
    snprintf(name, sizeof(name), "__r%s__", operators[operator_].method);
    answer = type_lookup_text(in, left->type, name, &mine);
    if (answer == ANSWER_YES) answer = type_lookup_text(in, right->type, name, &yours);
    *out = answer == ANSWER_YES && yours != NULL && mine != yours;
    return answer;
}

static Answer
of_two(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    char name[24];
    bool first = false, tried = false;
    Answer answer;
    if (has_methods(left) && has_methods(right)) {
        answer = overrides(in, operator_, left, right, &first);
        if (answer != ANSWER_YES) return answer;
    }
    if (!has_methods(left)) {
        answer = left_gives_way(in, operator_, left, right, &first);
        if (answer != ANSWER_YES) return answer;
        if (!first) return cannot_operate(in, operator_, left, right);
    }
    if (first) {
        answer = reflected(in, operator_, left, right, out);
        if (answer != ANSWER_YES || (*out != NULL && !is_not_implemented(*out))) return answer;
        tried = true;
    }
    snprintf(name, sizeof(name), "__%s__", operators[operator_].method);
    answer = special_call(in, left, name, 1, &right, out);
    if (answer != ANSWER_YES || (*out != NULL && !is_not_implemented(*out))) return answer;
    if (!tried && has_methods(right) && left->type != right->type) {
        answer = reflected(in, operator_, left, right, out);
        if (answer != ANSWER_YES || (*out != NULL && !is_not_implemented(*out))) return answer;
    }
    return cannot_operate(in, operator_, left, right);
}

Answer
special_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    char name[24];
    int plain = operator_ % IN_PLACE;
    Answer answer = fold_enums(in, plain, false, left, right, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    if (!has_methods(left) && !has_methods(right))
        return cannot_operate(in, operator_, left, right);
    if (operator_ >= IN_PLACE) {
        if (value_is_array(in, left)) return cannot_operate(in, operator_, left, right);
        snprintf(name, sizeof(name), "__i%s__", operators[plain].method);
        answer = special_call(in, left, name, 1, &right, out);
        if (answer != ANSWER_YES || (*out != NULL && !is_not_implemented(*out))) return answer;
    }
    return of_two(in, plain, left, right, out);
}

Answer
special_for_boxes(Interp *in, int operator_, bool compare, Value *left, Value *right,
                  Value *both[2])
{
    char names[5][24];
    const char *name = compare ? NULL : operators[operator_ % IN_PLACE].method;
    snprintf(names[0], 24, compare ? "%s" : "__%s__", compare ? compare_names[operator_] : name);
    snprintf(names[1], 24, compare ? "%s" : "__r%s__",
             compare ? compare_names[swapped[operator_]] : name);
    snprintf(names[2], 24, "__iter__"); /* the operator may iterate over it */
    snprintf(names[3], 24, "__i%s__", name ? name : "");
    snprintf(names[4], 24, "__len__"); /* list += asks for its length */
    int n = compare ? 2 : operator_ < IN_PLACE ? 3 : 5;
    return box_operands(in, n, names, left, right, both);
}

Answer
special_for_named(Interp *in, int operator_, Value *left, Value *right, bool *out)
{
    const char *name = operators[operator_ % IN_PLACE].method;
    Answer answer = named_operates(in, left, "", name, out);
    if (answer == ANSWER_YES && !*out) answer = named_operates(in, right, "r", name, out);
    return answer;
}

/* ---- comparison ---- */

/* object's own == and !=: NotImplemented except for an object and itself. */
static Answer
default_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    *out = NULL;
    if (operator_ == Py_EQ) {
        if (left != right) return ANSWER_YES;
        *out = value_const(in, Py_True);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (operator_ != Py_NE) return ANSWER_YES;
    PyObject *found;
    Answer answer = type_lookup_text(in, left->type, "__eq__", &found);
    if (answer != ANSWER_YES) return answer;
    bool own = found != _PyType_Lookup(&PyBaseObject_Type, interned(in, "__eq__"));
    answer = own ? special_call(in, left, "__eq__", 1, &right, out)
                 : default_compare(in, Py_EQ, left, right, out);
    if (answer == ANSWER_YES && own && *out == NULL)
        return cannot(in, "comparison of", left, right);
    if (answer != ANSWER_YES || *out == NULL || is_not_implemented(*out)) return answer;
    return operate_unary(in, I_UNARY_NOT, *out, out);
}

/* left.__op__(right): *out NULL or NotImplemented when the method does not decide. */
static Answer
one_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    PyObject *found, *key = interned(in, compare_names[operator_]);
    *out = NULL;
    if (!value_is_object(left)) { /* a builtin type compares itself with objects of classes that
                                     derive from it */
        PyTypeObject *mine = value_type(in, left), *yours = value_type(in, right);
        if (mine == NULL || yours == NULL || PyType_IsSubtype(yours, mine))
            return PyErr_Occurred() ? ANSWER_ERROR : cannot(in, "comparison of", left, right);
        return ANSWER_YES;
    }
    if (key == NULL || value_guard_type(in, left) < 0) return ANSWER_ERROR;
    Answer answer = type_lookup(in, left->type, key, &found);
    if (answer != ANSWER_YES) return answer;
    if (found == _PyType_Lookup(&PyBaseObject_Type, key))
        return default_compare(in, operator_, left, right, out);
    if (found == NULL || !type_is_heap(left->type) || Py_TYPE(found) == &PyWrapperDescr_Type)
        return cannot(in, "comparison of", left, right);
    return special_call(in, left, compare_names[operator_], 1, &right, out);
}

static bool
says(const Value *value)
{
    return value != NULL && !is_not_implemented(value);
}

static Answer
by_identity(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    bool same;
    if (operator_ != Py_EQ && operator_ != Py_NE) {
        PyTypeObject *a = value_type(in, left), *b = value_type(in, right);
        if (a == NULL || b == NULL)
            return break_raised(in, "TypeError: %s and %s have no order", value_describe(in, left),
                                value_describe(in, right));
        return raise_new(in, PyExc_TypeError,
                         "'%s' not supported between instances of '%.100s' and '%.100s'",
                         comparison_symbols[operator_], a->tp_name, b->tp_name);
    }
    Answer answer = ANSWER_YES;
    if (value_type(in, left) != value_type(in, right))
        same = false;
    else
        answer = operate_is(in, left, right, &same);
    if (answer != ANSWER_YES) return answer;
    *out = value_const(in, same == (operator_ == Py_EQ) ? Py_True : Py_False);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
special_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    bool tried = false, gives_way;
    Answer answer = fold_enums(in, operator_, true, left, right, out);
    if (answer != ANSWER_YES || *out != NULL) return answer;
    if (value_is_numpy(in, left) || value_is_numpy(in, right)) {
        Value *object = value_is_numpy(in, left) ? right : left;
        if (!value_is_object(object)) return cannot(in, "comparison of", left, right);
        if (object == right) {
            answer = array_gives_way(in, object, &gives_way);
            if (answer != ANSWER_YES) return answer;
            if (!gives_way) return cannot(in, "comparison of", left, right);
        }
        answer = object == right ? one_compare(in, swapped[operator_], right, left, out)
                                 : one_compare(in, operator_, left, right, out);
        if (answer != ANSWER_YES || says(*out)) return answer;
        return cannot(in, "comparison of", left, right);
    }
    PyTypeObject *mine = value_type(in, left), *yours = value_type(in, right);
    if (mine == NULL || yours == NULL)
        return PyErr_Occurred() ? ANSWER_ERROR : cannot(in, "comparison of", left, right);
    bool derives;
    if ((answer = type_derives(in, yours, mine, &derives)) != ANSWER_YES) return answer;
    if (mine != yours && derives) {
        answer = one_compare(in, swapped[operator_], right, left, out);
        if (answer != ANSWER_YES || says(*out)) return answer;
        tried = true;
    }
    answer = one_compare(in, operator_, left, right, out);
    if (answer != ANSWER_YES || says(*out)) return answer;
    if (!tried) {
        answer = one_compare(in, swapped[operator_], right, left, out);
        if (answer != ANSWER_YES || says(*out)) return answer;
    }
    return by_identity(in, operator_, left, right, out);
}
