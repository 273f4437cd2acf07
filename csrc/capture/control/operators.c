/* Operators on any two values: decides whether NumPy, Python's scalars, containers or the program's
   classes define the result. */
#include "control.h"

static bool
is_exact_tuple(const Value *value)
{
    return value->kind == V_TUPLE && (value->type == NULL || value->type == &PyTuple_Type);
}

static Answer
concatenate(Interp *in, Value *left, Value *right, Value **out)
{
    if (is_exact_tuple(left) && is_exact_tuple(right) && (!left->nitems || !right->nitems)) {
        *out = left->nitems ? left : right; /* the operand itself, as in CPython */
        return ANSWER_YES;
    }
    Value *joined = value_sequence(in, left->kind, 0, NULL);
    Value *parts[2] = {left, right};
    for (int p = 0; joined != NULL && p < 2; p++)
        for (int i = 0; i < parts[p]->nitems; i++) {
            Value *item = value_item(in, parts[p], i);
            if (item == NULL || value_append(in, joined, item) < 0) return ANSWER_ERROR;
        }
    *out = joined;
    return joined == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
repeat(Interp *in, Value *sequence, Value *count, Value **out)
{
    int64_t n;
    Answer answer = value_as_int(in, count, &n);
    if (answer == ANSWER_NO)
        return break_unknown_number(in, BREAK_OPERATOR, count, "how often a sequence is repeated");
    if (answer != ANSWER_YES) return answer;
    if (n == 1 && is_exact_tuple(sequence)) {
        *out = sequence;
        return ANSWER_YES;
    }
    if (n > 0 && sequence->nitems > 0 && n > 10000 / sequence->nitems)
        return break_hinted(in, BREAK_UNROLL, HINT_SEQUENCE, "a sequence of more than 10000 items");
    Value *repeated = value_sequence(in, sequence->kind, 0, NULL);
    for (int64_t k = 0; repeated != NULL && sequence->nitems > 0 && k < n; k++)
        for (int i = 0; i < sequence->nitems; i++) {
            Value *item = value_item(in, sequence, i);
            if (item == NULL || value_append(in, repeated, item) < 0) return ANSWER_ERROR;
        }
    *out = repeated;
    return repeated == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A sequence times a number of NumPy, which defers to sequences: repeated as by an int.  ANSWER_NO:
   other operands. */
static Answer
repeat_by_scalar(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *sequence = value_is_sequence(left) ? left : right,
          *count = value_is_sequence(left) ? right : left;
    int64_t ignored;
    if (operator_ % IN_PLACE != OPERATOR_MUL || !value_is_sequence(sequence) ||
        !value_is_numpy(in, count) || value_is_array(in, count) || value_is_opaque(in, count))
        return ANSWER_NO;
    Answer answer = value_as_int(in, count, &ignored);
    if (answer == ANSWER_NO)
        return break_unknown_number(in, BREAK_OPERATOR, count, "how often a sequence is repeated");
    if (answer != ANSWER_YES) return answer;
    if (operator_ == IN_PLACE + OPERATOR_MUL && left->kind == V_LIST)
        return sequence_method(in, left, "__imul__", 1, &right, NULL, out);
    return repeat(in, sequence, count, out);
}

/* np.float64 is a subclass of float: a complex of Python on the left treats it as one. */
static Answer
float_of_complex(Interp *in, Value *left, Value **right)
{
    PyTypeObject *type = value_type(in, left);
    if (type != &PyComplex_Type) return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_YES;
    DType dtype = DT_OBJECT;
    char bytes[16];
    Value *value = *right;
    if (value->kind == V_CONST && array_scalar_check(value->object)) {
        if (array_scalar_read(value->object, &dtype, bytes) == ANSWER_ERROR) return ANSWER_ERROR;
    } else if (value->kind == V_NODE) {
        const Type *scalar = &graph_node(in->graph, value->node)->type;
        if (scalar->form == FORM_SCALAR) dtype = (DType)scalar->dtype;
    }
    return dtype == DT_F64 ? scalar_convert(in, value, DT_F64, right) : ANSWER_YES;
}

/* Is it one of int | A, for a class A whose metaclass has type's operator? */
static Answer
class_unites(Interp *in, PyObject *object)
{
    if (operand_is_plain(object) || typing_is_union(object)) return ANSWER_YES;
    if (!PyType_Check(object)) return ANSWER_NO;
    Answer answer = type_inherits(in, Py_TYPE(object), "__or__", &PyType_Type);
    return answer == ANSWER_YES ? type_inherits(in, Py_TYPE(object), "__ror__", &PyType_Type)
                                : answer;
}

static Answer container_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);

Answer
operator_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    int plain = operator_ % IN_PLACE;
    bool named = false;
    if (in->loop != NULL) {
        Answer section = section_binary(in, operator_, left, right, out);
        if (section != ANSWER_NO) return section;
    }
    if (value_is_on_device(left) || value_is_on_device(right))
        return device_operator(in, operator_, left, right, out);
    Answer member = loose_member(in, plain, left, &right);
    if (member == ANSWER_YES) member = loose_member(in, plain, right, &left);
    if (member != ANSWER_YES) return member;
    if (value_is_named(left) || value_is_named(right)) {
        Answer answer = special_for_named(in, plain, left, right, &named);
        if (answer != ANSWER_YES) return answer;
    }
    if (named || value_is_object(left) || value_is_object(right)) {
        Value *both[2];
        Answer plainly = special_for_boxes(in, operator_, false, left, right, both);
        if (plainly == ANSWER_NO) return special_binary(in, operator_, left, right, out);
        if (plainly != ANSWER_YES) return plainly;
        plainly = operator_binary(in, operator_, both[0], both[1], out);
        if (plainly == ANSWER_YES && *out == left->core && both[0] != left) *out = left;
        return plainly;
    }
    if (value_is_loose(in, left) || value_is_loose(in, right)) {
        Answer loose = loose_operands(in, &left, &right);
        if (loose == ANSWER_YES) loose = loose_binary(in, plain, left, right, out);
        if (loose != ANSWER_NO) return loose;
    }
    bool complexes = plain == OPERATOR_ADD || plain == OPERATOR_SUB || plain == OPERATOR_MUL ||
                     plain == OPERATOR_DIV || plain == OPERATOR_POW;
    Answer real = complexes ? float_of_complex(in, left, &right) : ANSWER_YES;
    if (real == ANSWER_YES) real = complex_binary(in, plain, left, right, out);
    if (real != ANSWER_NO) return real;
    if ((value_is_array(in, left) || value_is_opaque(in, left)) && operator_ >= IN_PLACE)
        return emit_inplace(in, plain, left, right, out);
    if (plain == OPERATOR_MOD && value_is_numpy(in, right)) { /* "%g" % x[0] */
        Answer text = text_binary(in, plain, left, right, out);
        if (text != ANSWER_NO) return text;
    }
    Answer repeated = repeat_by_scalar(in, operator_, left, right, out);
    if (repeated != ANSWER_NO) return repeated;
    bool objects = value_is_opaque_object(in, left) || value_is_opaque_object(in, right);
    if (objects || value_is_numpy(in, left) || value_is_numpy(in, right)) {
        if (in->loop != NULL && plain == OPERATOR_DIV) TRY(loop_divides(in, right));
        return emit_binary(in, plain, left, right, out);
    }
    if (value_is_python_scalar(in, left) && value_is_python_scalar(in, right) &&
        (left->kind == V_NODE || right->kind == V_NODE)) {
        Answer answer = scalar_binary(in, plain, left, right, out);
        if (answer == ANSWER_NO) answer = scalar_operator_step(in, plain, left, right, out);
        if (answer != ANSWER_NO) return answer;
    }
    Answer answer = container_binary(in, operator_, left, right, out);
    if (answer != ANSWER_NO) return answer;
    if (value_is_sequence(left) && left->kind == right->kind && operator_ == OPERATOR_ADD)
        return concatenate(in, left, right, out);
    if (operator_ == OPERATOR_MUL && value_is_sequence(left) && value_is_python_scalar(in, right))
        return repeat(in, left, right, out);
    if (operator_ == OPERATOR_MUL && value_is_sequence(right) && value_is_python_scalar(in, left))
        return repeat(in, right, left, out);
    if (operator_ == IN_PLACE + OPERATOR_ADD && left->kind == V_LIST) {
        Value *items;
        answer = iterate_sized(in, right, V_LIST, &items);
        if (answer == ANSWER_YES) answer = container_changes(in, left);
        if (answer != ANSWER_YES) return answer;
        if (left->source != NO_SOURCE) {
            Value *args[2] = {left, items};
            PyObject *name = keep(in, PyUnicode_InternFromString("extend"));
            if (name == NULL || effect_add(in, EFFECT_METHOD, name, NO_SOURCE, 2, args) < 0)
                return ANSWER_ERROR;
        }
        for (int i = 0; i < items->nitems; i++)
            if (value_append(in, left, items->items[i]) < 0) return ANSWER_ERROR;
        *out = left;
        return ANSWER_YES;
    }
    if (operator_ == IN_PLACE + OPERATOR_ADD && left->kind == V_TUPLE && right->kind == V_TUPLE)
        return concatenate(in, left, right, out);
    PyObject *a, *b;
    bool lists = left->kind == V_LIST || right->kind == V_LIST || left->kind == V_DICT ||
                 right->kind == V_DICT || left->kind == V_SET || right->kind == V_SET;
    answer = lists ? ANSWER_NO : value_known(in, left, &a);
    if (answer == ANSWER_YES) answer = value_known(in, right, &b);
    if (answer_stops(answer)) return answer;
    bool plainly = answer == ANSWER_YES && operand_is_plain(a) && operand_is_plain(b);
    if (answer == ANSWER_YES && !plainly && plain == OPERATOR_OR) {
        answer = class_unites(in, a);
        if (answer == ANSWER_YES) answer = class_unites(in, b);
        if (answer == ANSWER_ERROR) return answer;
        plainly = answer == ANSWER_YES;
    }
    if (!plainly) return special_binary(in, operator_, left, right, out);
    return operator_result(in, binary_function(plain)(a, b), out);
}

/* operator.lt …; NULL with the error set. */
static PyObject *
comparison_function(Interp *in, int operator_)
{
    return module_kept(in, "operator", comparison_names[operator_]);
}

Answer
operator_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    if (in->loop != NULL && (value_is_section(in, left) || value_is_section(in, right)))
        return section_repeats(in, "a comparison of rows");
    Answer letters = letter_compare(in, operator_, left, right, out);
    if (letters != ANSWER_NO) return letters;
    if (value_is_on_device(left) || value_is_on_device(right))
        return device_comparison(in, operator_, left, right, out);
    if (left->compared || right->compared) {
        Answer outcome = outcome_compare(in, operator_, left, right, out);
        if (outcome != ANSWER_NO) return outcome;
    }
    Answer member = loose_member(in, IN_PLACE + operator_, left, &right);
    if (member == ANSWER_YES) member = loose_member(in, IN_PLACE + operator_, right, &left);
    if (member != ANSWER_YES) return member;
    Value *both[2] = {left, right};
    if (value_is_object(left) || value_is_object(right)) {
        Answer plainly = special_for_boxes(in, operator_, true, left, right, both);
        if (plainly == ANSWER_NO) return special_compare(in, operator_, left, right, out);
        if (plainly != ANSWER_YES) return plainly;
        return operator_compare(in, operator_, both[0], both[1], out);
    }
    if (value_is_loose(in, left) || value_is_loose(in, right)) {
        Answer loose = loose_operands(in, &left, &right);
        if (loose != ANSWER_YES) return loose;
    }
    bool equality = operator_ == Py_EQ || operator_ == Py_NE;
    Answer real = equality ? float_of_complex(in, left, &right) : ANSWER_YES;
    if (real == ANSWER_YES) real = complex_compare(in, operator_, left, right, out);
    if (real != ANSWER_NO) return real;
    if (value_is_numpy(in, left) || value_is_numpy(in, right) || any_opaque(in, 2, both))
        return emit_compare(in, operator_, left, right, out);
    if (value_is_python_scalar(in, left) && value_is_python_scalar(in, right) &&
        (left->kind == V_NODE || right->kind == V_NODE)) {
        Answer answer = scalar_compare(in, operator_, left, right, out);
        if (answer == ANSWER_NO) answer = scalar_compare_step(in, operator_, left, right, out);
        if (answer != ANSWER_NO) return answer;
    }
    Answer answer = loop_compare_tuples(in, operator_, left, right, out);
    if (answer == ANSWER_NO) answer = container_compare(in, operator_, left, right, out);
    if (answer != ANSWER_NO) return answer;
    PyObject *a, *b;
    answer = value_known(in, left, &a);
    if (answer == ANSWER_YES) answer = value_known(in, right, &b);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_YES &&
        ((operand_is_plain(a) && operand_is_plain(b)) ||
         (left->kind == V_CONST && right->kind == V_CONST && Py_TYPE(a)->tp_richcompare == NULL)))
        return operator_result(in, PyObject_RichCompare(a, b, operator_), out);
    if (answer == ANSWER_YES && array_dtype_check(a) &&
        (PyType_Check(b) || PyUnicode_CheckExact(b) || Py_TYPE(a)->tp_base == Py_TYPE(b)->tp_base))
        return operator_result(in, PyObject_RichCompare(a, b, operator_), out);
    if (answer == ANSWER_NO && (left->kind == V_PURE || right->kind == V_PURE)) {
        answer = loose_call(in, comparison_function(in, operator_), 2, both, out);
        if (answer != ANSWER_NO) return answer;
    }
    return interp_break(in, value_break(left, value_break(right, BREAK_OPERATOR)),
                        "comparison of %s and %s", value_describe(in, left),
                        value_describe(in, right));
}

static bool
is_one_object(PyObject *object) /* an object that is equal only to itself */
{
    return object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented ||
           PyBool_Check(object) || PyType_Check(object) || PyModule_Check(object) ||
           PyFunction_Check(object) || PyCFunction_Check(object) || is_enum_member(object) ||
           (PyObject *)Py_TYPE(object) == numpy_object("finfo");
}

/* np.True_ and np.False_ are one object each. */
static bool
is_numpy_bool(Interp *in, const Value *value)
{
    if (value->kind == V_NODE) {
        const Type *type = &graph_node(in->graph, value->node)->type;
        return type->form == FORM_SCALAR && type->dtype == DT_BOOL;
    }
    PyObject *object = value->object;
    bool known = value->kind == V_CONST || value->kind == V_OBJECT;
    return known && object != NULL && array_bool_check(object);
}

/* A bool that the graph has as NumPy's and that an arm of a branch may have left as Python's
   (loop_either.c). */
static bool
is_chosen_bool(Interp *in, Value *value)
{
    if (value_is_loose(in, value)) return true;
    if (value->kind != V_NODE || !is_numpy_bool(in, value)) return false;
    const Node *node = graph_node(in->graph, value->node);
    OpKind kind = op_info(node->op)->kind;
    return node->op == OP_where || node->op == OP_cast || kind == KIND_RESULT ||
           kind == KIND_COPY || kind == KIND_INPUT;
}

static bool
is_python_bool(Interp *in, Value *value)
{
    if (value->kind == V_CONST) return PyBool_Check(value->object);
    return value->kind == V_NODE && value_is_python_scalar(in, value) &&
           scalar_dtype(in, value) == DT_BOOL;
}

static bool
is_text(const Value *value)
{
    return value->kind == V_PURE && value->type == &PyUnicode_Type;
}

/* One represents a container from outside: the other can be the same object only if it is such a
   container. */
static bool
may_be_model(const Value *left, const Value *right)
{
    return (left->kind == V_INSTANCE || left->kind == V_OBJECT) &&
           (right->kind == V_INSTANCE || right->kind == V_OBJECT);
}

Answer
operator_is(Interp *in, Value *left, Value *right, bool *out)
{
    if (left == right) {
        *out = true;
        return ANSWER_YES;
    }
    if (left->kind == V_LETTER || right->kind == V_LETTER)
        return interp_break(in, BREAK_OPERATOR, "identity of a letter of a str");
    Answer asked = choice_asked(in, left);
    if (asked == ANSWER_YES) asked = choice_asked(in, right);
    if (asked != ANSWER_YES) return asked;
    if (is_numpy_bool(in, left) && is_numpy_bool(in, right))
        return interp_break(in, BREAK_OPERATOR, "identity of bools from arrays");
    if ((is_chosen_bool(in, left) && is_python_bool(in, right)) ||
        (is_chosen_bool(in, right) && is_python_bool(in, left)))
        return interp_break(in, BREAK_OPERATOR, "identity of a bool that may be Python's");
    if ((left->kind == V_INSTANCE && left->source == NO_SOURCE) ||
        (right->kind == V_INSTANCE && right->source == NO_SOURCE)) { /* one made here, one not */
        *out = false;
        return ANSWER_YES;
    }
    if ((left->kind == V_INSTANCE || right->kind == V_INSTANCE) && !may_be_model(left, right)) {
        *out = left->object == right->object && left->object != NULL;
        return ANSWER_YES;
    }
    if (left->kind == V_CONST && right->kind == V_CONST &&
        (is_one_object(left->object) || is_one_object(right->object))) {
        *out = left->object == right->object;
        return ANSWER_YES;
    }
    Value *constant = left->kind == V_CONST ? left : right;
    Value *other = constant == left ? right : left;
    PyObject *object;
    if (constant->kind == V_CONST && is_one_object(constant->object)) {
        if (other->kind == V_NODE && PyBool_Check(constant->object) &&
            value_is_python_scalar(in, other) && scalar_dtype(in, other) == DT_BOOL) {
            Answer answer = value_known(in, other, &object);
            if (answer == ANSWER_NO)
                return interp_break(in, BREAK_OPERATOR, "identity of a bool from an array");
            *out = answer == ANSWER_YES && object == constant->object;
            return answer;
        }
        if (other->kind == V_OBJECT && value_guard_type(in, other) < 0) return ANSWER_ERROR;
        if (value_is_loose(in, other))
            return interp_break(in, BREAK_OPERATOR,
                                "identity of an object that only the run makes");
        if (other->kind != V_OBJECT || Py_TYPE(other->object) != Py_TYPE(constant->object)) {
            *out = false;
            return ANSWER_YES;
        }
    }
    Answer apart =
        branch_identity(in, left, right); /* either result of a branch may be the other operand */
    if (apart != ANSWER_YES) return apart;
    if (is_text(left) || is_text(right)) /* made, or chosen, when the plan ends */
        return interp_break(in, BREAK_OPERATOR, "identity of text that only the run makes");
    bool made = (left->source == NO_SOURCE && left->kind != V_CONST) ||
                (right->source == NO_SOURCE && right->kind != V_CONST);
    bool scalars = value_is_python_scalar(in, left) || value_is_python_scalar(in, right) ||
                   left->kind == V_CONST || right->kind == V_CONST || left->kind == V_TUPLE ||
                   right->kind == V_TUPLE;
    if (!scalars && made) {
        *out = false;
        return ANSWER_YES;
    }
    if (!scalars && left->source != NO_SOURCE && right->source != NO_SOURCE) {
        Guard guard = {.kind = GUARD_NOT_SAME, .source = left->source, .other = right->source};
        *out = false;
        return guard_add(in, &guard) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    return interp_break(in, BREAK_OPERATOR, "identity of %s and %s", value_describe(in, left),
                        value_describe(in, right));
}

Answer
operator_contains(Interp *in, Value *item, Value *container, bool *out)
{
    PyObject *key, *object;
    if (value_is_object(container)) {
        Value *result_, *node;
        int known;
        Answer asked = special_call(in, container, "__contains__", 1, &item, &result_);
        if (asked == ANSWER_YES && result_ == NULL)
            return interp_break(in, value_break(container, BREAK_OPERATOR), "membership in %s",
                                value_describe(in, container));
        if (asked == ANSWER_YES) asked = value_truth(in, result_, &known, &node);
        if (asked != ANSWER_YES) return asked;
        if (known >= 0) {
            *out = known;
            return ANSWER_YES;
        }
        asked = condition_known(in, node, out);
        return asked == ANSWER_NO ? interp_break(in, BREAK_OPERATOR, "membership from an array")
                                  : asked;
    }
    if (container->kind == V_CONST && is_enum_class(container->object) && item->kind == V_CONST &&
        is_enum_member(item->object))
        return enum_contains(in, container, item->object, out);
    Answer answer = container_contains(in, item, container, out);
    if (answer != ANSWER_NO) return answer;
    answer = value_known(in, item, &key);
    if (answer == ANSWER_YES) answer = value_known(in, container, &object);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO || !operand_is_plain(key) ||
        !(operand_is_plain(object) || PySet_CheckExact(object)))
        return interp_break(in, value_break(container, BREAK_OPERATOR), "membership in %s",
                            value_describe(in, container));
    int found = PySequence_Contains(object, key);
    if (found < 0) return raise_error(in);
    *out = found;
    return ANSWER_YES;
}

Answer
operator_unary(Interp *in, InstrKind operator_, Value *operand, Value **out)
{
    if (operator_ == I_UNARY_NOT || operator_ == I_TO_BOOL) {
        int known;
        Value *node;
        Answer answer = value_truth(in, operand, &known, &node);
        if (answer != ANSWER_YES) return answer;
        if (known >= 0) {
            bool is_true = known == (operator_ == I_TO_BOOL);
            return operator_result(in, Py_NewRef(is_true ? Py_True : Py_False), out);
        }
        *out = node;
        if (operator_ == I_TO_BOOL) return ANSWER_YES;
        PyObject *seen = scalar_seen(node);
        if (seen != NULL) seen = Py_NewRef(seen == Py_True ? Py_False : Py_True);
        *out = scalar_emit(in, OP_logical_not, DT_BOOL, 1, &node, seen);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (in->loop != NULL) {
        Answer section = section_unary(in, operator_, operand, out);
        if (section == ANSWER_NO) section = complex_unary(in, operator_, operand, out);
        if (section != ANSWER_NO) return section;
    }
    if (value_is_on_device(operand)) return device_unary_operator(in, operator_, operand, out);
    if (value_is_numpy(in, operand)) return emit_unary(in, operator_, operand, out);
    PyObject *object, *seen = NULL;
    if (operand->kind == V_NODE && value_is_python_scalar(in, operand)) {
        DType dtype = scalar_dtype(in, operand);
        if (operator_ == I_UNARY_NEGATIVE && dtype != DT_BOOL && dtype != DT_C128) {
            object = scalar_seen(operand);
            if (object != NULL && (seen = PyNumber_Negative(object)) == NULL) return ANSWER_ERROR;
            *out = scalar_emit(in, OP_py_neg, dtype, 1, &operand, seen);
            return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
        }
        if (operator_ == I_UNARY_POSITIVE && dtype != DT_BOOL) {
            *out = operand;
            return ANSWER_YES;
        }
    }
    if (value_is_loose(in, operand)) {
        const char *name = operator_ == I_UNARY_NEGATIVE   ? "neg"
                           : operator_ == I_UNARY_POSITIVE ? "pos"
                                                           : "invert";
        return call_simple(in, module_kept(in, "operator", name), 1, &operand, out);
    }
    Answer step = scalar_unary_step(in, operator_, operand, out);
    if (step != ANSWER_NO) return step;
    if (value_is_object(operand) || value_is_named(operand)) {
        const char *name = operator_ == I_UNARY_NEGATIVE   ? "__neg__"
                           : operator_ == I_UNARY_POSITIVE ? "__pos__"
                                                           : "__invert__";
        Answer plain =
            operand->kind == V_CONST ? enum_is_plain(in, operand->type, name, NULL) : ANSWER_NO;
        if (plain == ANSWER_ERROR) return plain;
        if (plain == ANSWER_NO) {
            Answer answer = special_call(in, operand, name, 0, NULL, out);
            if (answer != ANSWER_YES || *out != NULL) return answer;
        }
    }
    Answer answer = value_known(in, operand, &object);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO || !(operand_is_plain(object) || is_enum_member(object)))
        return interp_break(in, value_break(operand, BREAK_OPERATOR), "operator on %s",
                            value_describe(in, operand));
    if (operator_ == I_UNARY_INVERT && PyBool_Check(object)) /* from 3.12 on */
        return interp_break(in, BREAK_OPERATOR, "'~' of a bool, of which Python warns");
    return operator_result(in,
                           operator_ == I_UNARY_NEGATIVE   ? PyNumber_Negative(object)
                           : operator_ == I_UNARY_POSITIVE ? PyNumber_Positive(object)
                                                           : PyNumber_Invert(object),
                           out);
}

static Answer
container_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Answer answer = text_binary(in, operator_ % IN_PLACE, left, right, out);
    if (answer != ANSWER_NO) return answer;
    if (operator_ % IN_PLACE == OPERATOR_OR)
        answer = dict_or(in, left, right, operator_ >= IN_PLACE, out);
    if (answer == ANSWER_NO) answer = set_binary(in, operator_, left, right, out);
    if (operator_ == IN_PLACE + OPERATOR_MUL && left->kind == V_LIST &&
        (value_is_python_scalar(in, right)))
        answer = sequence_method(in, left, "__imul__", 1, &right, NULL, out);
    return answer;
}

Answer
operator_subscript(Interp *in, Value *object, Value *key, Value **out)
{
    if (in->loop != NULL && part_rank(in, object) > 0)
        return loop_element_load(in, object, key, out);
    if (in->loop != NULL && value_is_opaque(in, object) && opaque_sample(in, object) != NULL) {
        Answer begins = loop_begins_graph(in, NULL, value_describe(in, object));
        if (begins != ANSWER_NO) return begins;
    }
    if (value_is_numpy(in, object)) {
        Answer listed = index_list_read(in, object, key, out);
        return listed == ANSWER_NO ? emit_subscript(in, object, key, out) : listed;
    }
    if (value_is_opaque_object(in, object)) {
        Value *both[2] = {object, key};
        return call_simple(in, module_kept(in, "operator", "getitem"), 2, both, out);
    }
    if (value_is_flat(in, object)) return emit_flat_subscript(in, object, key, out);
    if (value_is_flags(in, object) && key->kind == V_CONST && PyUnicode_Check(key->object))
        return emit_flag(in, object, key->object, true, out);
    Answer alias = typing_subscript(in, object, key, out);
    if (alias != ANSWER_NO) return alias;
    Answer picked = loose_lookup(in, object, key, NULL, out);
    if (picked != ANSWER_NO) return picked;
    return value_subscript(in, object, key, out);
}

Answer
operator_store_subscript(Interp *in, Value *object, Value *key, Value *value)
{
    if (in->loop != NULL && part_rank(in, object) > 0)
        return loop_element_store(in, object, key, value);
    if (value_is_on_device(object)) return device_store(in, object, key, value);
    TRY(loose_stored(in, object, &value));
    if (value_is_numpy(in, object)) {
        Answer listed = index_list_write(in, object, key, value);
        return listed == ANSWER_NO ? emit_store_subscript(in, object, key, value) : listed;
    }
    if (value_is_flat(in, object)) return emit_store_flat_subscript(in, object, key, value);
    int position;
    PyObject *name;
    Answer answer;
    if (dict_is_apart(object)) return apart_store(in, object, key, value);
    ListUse use = {.does = LIST_STORE, .list = object, .key = key, .item = value};
    answer = key->kind != V_SLICE ? loop_list(in, &use, &value) : ANSWER_NO;
    if (answer != ANSWER_NO) return answer;
    if (object->kind == V_LIST && key->kind != V_SLICE) {
        answer = sequence_position(in, object, key, true, &position);
        if (answer == ANSWER_YES) answer = item_goes(in, object, position);
        if (answer == ANSWER_YES) answer = container_changes(in, object);
        if (answer != ANSWER_YES) return answer;
        object->items[position] = value;
    } else if (object->kind == V_LIST) {
        Value *iterator;
        TRY(iterator_of(in, value, &iterator));
        TRY(iterate_list(in, value, iterator, &value));
        return list_store_slice(in, object, key, value);
    } else if (object->kind == V_DICT) {
        answer = dict_position(in, object, key, &name, &position);
        if (answer == ANSWER_YES && position >= 0) answer = item_goes(in, object, position);
        if (answer == ANSWER_YES) answer = container_changes(in, object);
        if (answer == ANSWER_YES) answer = dict_store(in, object, name, value);
        if (answer != ANSWER_YES) return answer;
    } else {
        Value *args[3] = {object, key, value}, *ignored;
        return item_by_method(in, "__setitem__", 3, args, &ignored);
    }
    if (object->source == NO_SOURCE) return ANSWER_YES;
    Value *constant = key;
    PyObject *known;
    if (key->kind != V_OBJECT) { /* the key is guarded to be this object */
        if (value_known(in, key, &known) != ANSWER_YES) return ANSWER_ERROR;
        constant = value_const(in, known);
    }
    Value *args[3] = {object, constant, value};
    if (constant == NULL) return ANSWER_ERROR;
    return effect_add(in, EFFECT_STORE_ITEM, NULL, NO_SOURCE, 3, args) < 0 ? ANSWER_ERROR
                                                                           : ANSWER_YES;
}

Answer
operator_delete_subscript(Interp *in, Value *object, Value *key)
{
    int position, width = object->kind == V_DICT ? 2 : 1;
    PyObject *name;
    Answer answer;
    if (object->kind == V_LIST && key->kind != V_SLICE) {
        answer = sequence_position(in, object, key, true, &position);
        if (answer == ANSWER_YES) answer = item_goes(in, object, position);
    } else if (object->kind == V_LIST) {
        return list_store_slice(in, object, key, NULL);
    } else if (object->kind == V_DICT) {
        answer = dict_position(in, object, key, &name, &position);
        if (answer == ANSWER_YES && position < 0) return raise_key_error(in, name);
        if (answer == ANSWER_YES) answer = item_goes(in, object, position);
        position--; /* the key's */
        if (answer == ANSWER_YES) answer = container_resizes(in, object);
    } else if (value_is_object(object)) {
        Value *args[2] = {object, key}, *ignored;
        return item_by_method(in, "__delitem__", 2, args, &ignored);
    } else {
        return interp_break(in, BREAK_STORE, "del of an item of %s", value_describe(in, object));
    }
    if (answer == ANSWER_YES) answer = container_moves(in, object);
    if (answer != ANSWER_YES) return answer;
    for (int i = position; i + width < object->nitems; i++)
        object->items[i] = object->items[i + width];
    object->nitems -= width;
    if (object->source == NO_SOURCE) return ANSWER_YES;
    Value *args[2] = {object, key};
    return effect_add(in, EFFECT_DELETE_ITEM, NULL, NO_SOURCE, 2, args) < 0 ? ANSWER_ERROR
                                                                            : ANSWER_YES;
}
