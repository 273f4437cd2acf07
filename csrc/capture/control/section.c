/* Sections of arrays in the body of a kept loop, `A[i, k + 1:]`, and what is computed with them.

   A section is its array, the indices of the other axes and the bounds on its own (V_SECTION); no
   view is made.  An operation on sections is kept as it is (V_EXPRESSION), and computed where it is
   stored, element by element, in a loop inside (section_store.c).  Until then none of its arrays
   may be written, and the store is to be done whenever the operation is: NumPy would warn at the
   operation.

   Lengths that differ, and indices out of bounds, are exits: CPython raises NumPy's error. */
#include "section.h"

enum { DEEPEST = 8 };

Answer
section_fails(Interp *in, const char *why)
{
    return interp_break(in, BREAK_UNROLL, "%s", why);
}

Answer
section_repeats(Interp *in, const char *what)
{
    in->loop->repeats = true;
    return section_fails(in, what);
}

static Value *
int_value(Interp *in, int64_t number)
{
    return value_const_new(in, PyLong_FromLongLong(number));
}

static bool
known_int(const Value *value, int64_t *out)
{
    if (value->kind != V_CONST || !PyLong_CheckExact(value->object)) return false;
    int overflow;
    *out = PyLong_AsLongLongAndOverflow(value->object, &overflow);
    return !overflow;
}

/* ---- ints ---- */

/* Does the operation give the same for the same arguments, and read nothing else? */
static bool
is_pure_int(const Node *node)
{
    OpKind kind = op_info(node->op)->kind;
    return (kind == KIND_PYTHON || kind == KIND_POINTWISE) && node->type.rank == 0 &&
           node->attrs.object == NULL && node->attrs.nints == 0;
}

static bool
same_node(const Graph *g, NodeId x, NodeId y, int depth)
{
    if (x == y) return true;
    const Node *a = graph_node(g, x), *b = graph_node(g, y);
    if (depth == DEEPEST || a->op != b->op || a->nargs != b->nargs || a->type.dtype != DT_I64 ||
        b->type.dtype != DT_I64)
        return a->op == OP_py_lt && b->op == OP_py_lt && depth < DEEPEST &&
               same_node(g, a->args[0], b->args[0], depth + 1) &&
               same_node(g, a->args[1], b->args[1], depth + 1);
    if (a->op == OP_const)
        return PyLong_CheckExact(a->attrs.object) && PyLong_CheckExact(b->attrs.object) &&
               PyObject_RichCompareBool(a->attrs.object, b->attrs.object, Py_EQ) == 1;
    if (!is_pure_int(a) || !is_pure_int(b)) return false;
    for (int k = 0; k < a->nargs; k++)
        if (!same_node(g, a->args[k], b->args[k], depth + 1)) return false;
    return true;
}

bool
section_same_int(Interp *in, const Value *a, const Value *b)
{
    int64_t x, y;
    if (a == b) return true;
    if (known_int(a, &x) || known_int(b, &y)) return known_int(a, &x) && known_int(b, &y) && x == y;
    return a->kind == V_NODE && b->kind == V_NODE && same_node(in->graph, a->node, b->node, 0);
}

static bool
node_constant(const Graph *g, NodeId id, int64_t *out)
{
    const Node *node = graph_node(g, id);
    if (node->op != OP_const || !PyLong_CheckExact(node->attrs.object)) return false;
    int overflow;
    *out = PyLong_AsLongLongAndOverflow(node->attrs.object, &overflow);
    return !overflow && *out > -(1 << 20) && *out < 1 << 20;
}

bool
section_offset(Interp *in, const Value *value, NodeId *base, int64_t *offset)
{
    int64_t by;
    *offset = 0;
    *base = NO_NODE;
    if (known_int(value, offset)) return true;
    if (value->kind != V_NODE) return false;
    *base = value->node;
    for (int depth = 0; depth < DEEPEST; depth++) {
        const Node *node = graph_node(in->graph, *base);
        bool sub = node->op == OP_py_sub;
        if ((node->op != OP_py_add && !sub) || node->nargs != 2) return true;
        if (node_constant(in->graph, node->args[1], &by)) {
            *base = node->args[0];
            *offset += sub ? -by : by;
        } else if (!sub && node_constant(in->graph, node->args[0], &by)) {
            *base = node->args[1];
            *offset += by;
        } else
            return true;
    }
    return true;
}

/* An int of the program as Python's. */
static Answer
python_int(Interp *in, Value *value, Value **out)
{
    NodeId node;
    int64_t ignored;
    *out = value;
    if (known_int(value, &ignored)) return ANSWER_YES;
    TRY(loop_index(in, value, &node));
    Value *index = value_node(in, node);
    return index == NULL ? ANSWER_ERROR : scalar_convert(in, index, DT_I64, out);
}

static Answer
sum_of(Interp *in, bool minus, Value *a, Value *b, Value **out)
{
    int64_t zero;
    *out = a;
    if (known_int(b, &zero) && zero == 0) return ANSWER_YES;
    return operate_binary(in, minus ? OPERATOR_SUB : OPERATOR_ADD, a, b, out);
}

/* The smaller or the larger one. */
static Answer
extreme(Interp *in, bool largest, Value *a, Value *b, Value **out)
{
    int64_t x, y;
    if (known_int(a, &x) && known_int(b, &y)) {
        *out = (x < y) == largest ? b : a;
        return ANSWER_YES;
    }
    Value *both[2] = {b, a}, *test = scalar_emit(in, OP_py_lt, DT_BOOL, 2, both, NULL);
    Value *all[3] = {test, largest ? a : b, largest ? b : a};
    *out = test == NULL ? NULL : scalar_emit(in, OP_where, DT_I64, 3, all, NULL);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- bounds ---- */

/* A bound as slice.indices gives it; the step is positive. */
static Answer
clamped(Interp *in, Value *bound, Value *length, bool stops, Value **out)
{
    int64_t number;
    Value *zero = int_value(in, 0), *wrapped;
    if (zero == NULL) return ANSWER_ERROR;
    *out = stops ? length : zero;
    if (bound->kind == V_CONST && bound->object == Py_None) return ANSWER_YES;
    if (known_int(bound, &number)) {
        *out = bound;
        if (number == 0) return ANSWER_YES;
        if (number > 0) return extreme(in, false, bound, length, out);
        TRY(operate_binary(in, OPERATOR_ADD, length, bound, &wrapped));
        return extreme(in, true, wrapped, zero, out);
    }
    TRY(operate_binary(in, OPERATOR_ADD, bound, length, &wrapped));
    Value *both[2] = {bound, zero}, *test = scalar_emit(in, OP_py_lt, DT_BOOL, 2, both, NULL);
    Value *all[3] = {test, wrapped, bound};
    wrapped = test == NULL ? NULL : scalar_emit(in, OP_where, DT_I64, 3, all, NULL);
    if (wrapped == NULL) return ANSWER_ERROR;
    TRY(extreme(in, true, wrapped, zero, &wrapped));
    return extreme(in, false, wrapped, length, out);
}

/* A bound as slice.indices gives it where the step is negative. */
static Answer
clamped_back(Interp *in, Value *bound, Value *length, bool stops, Value **out)
{
    int64_t number;
    Value *minus = int_value(in, -1), *last, *wrapped = bound;
    if (minus == NULL) return ANSWER_ERROR;
    TRY(operate_binary(in, OPERATOR_ADD, length, minus, &last));
    *out = stops ? minus : last;
    if (bound->kind == V_CONST && bound->object == Py_None) return ANSWER_YES;
    bool known = known_int(bound, &number);
    if (known && number < 0)
        TRY(operate_binary(in, OPERATOR_ADD, length, bound, &wrapped));
    else if (!known) {
        Value *zero = int_value(in, 0);
        if (zero == NULL) return ANSWER_ERROR;
        TRY(operate_binary(in, OPERATOR_ADD, bound, length, &wrapped));
        Value *both[2] = {bound, zero}, *test = scalar_emit(in, OP_py_lt, DT_BOOL, 2, both, NULL);
        Value *all[3] = {test, wrapped, bound};
        wrapped = test == NULL ? NULL : scalar_emit(in, OP_where, DT_I64, 3, all, NULL);
        if (wrapped == NULL) return ANSWER_ERROR;
    }
    TRY(extreme(in, true, wrapped, minus, &wrapped));
    return extreme(in, false, wrapped, last, out);
}

/* How many elements there are; *out is None where the step is not known. */
static Answer
count(Interp *in, Value *const ends[3], Value **out)
{
    int64_t step;
    Value *zero = int_value(in, 0);
    if (zero == NULL) return ANSWER_ERROR;
    *out = value_const(in, Py_None);
    if (!known_int(ends[2], &step)) return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    TRY(sum_of(in, true, ends[step > 0], ends[step < 0], out));
    if (step != 1 && step != -1) {
        Value *more = int_value(in, llabs(step) - 1), *by = int_value(in, llabs(step));
        if (more == NULL || by == NULL) return ANSWER_ERROR;
        TRY(sum_of(in, false, *out, more, out));
        TRY(operate_binary(in, OPERATOR_FLOORDIV, *out, by, out));
    }
    return extreme(in, true, *out, zero, out);
}

static Answer
bounds(Interp *in, Value *key, Value *length, Value **start, Value *ends[3])
{
    int64_t step = 1;
    Value *given[3];
    for (int i = 0; i < 3; i++) {
        given[i] = key->items[i];
        if (given[i] == NULL) return ANSWER_ERROR;
        if (given[i]->kind == V_CONST && given[i]->object == Py_None) continue;
        TRY(python_int(in, given[i], &given[i]));
        in->loop->moves |= given[i]->kind == V_NODE && given[i]->node > in->loop->top;
    }
    bool plain = given[2]->kind == V_CONST && given[2]->object == Py_None;
    ends[2] = plain ? int_value(in, 1) : given[2];
    if (ends[2] == NULL) return ANSWER_ERROR;
    if (known_int(ends[2], &step) && (step == 0 || llabs(step) > 1 << 20))
        return section_fails(in, "a slice with such a step");
    Value *zero = int_value(in, 0);
    if (zero == NULL) return ANSWER_ERROR;
    if (ends[2]->kind != V_CONST) TRY(scalar_assert(in, OP_py_lt, zero, ends[2]));
    if (step < 0) {
        TRY(clamped_back(in, given[0], length, false, &ends[0]));
        *start = ends[0];
        return clamped_back(in, given[1], length, true, &ends[1]);
    }
    *start = given[0]->kind == V_CONST && given[0]->object == Py_None ? zero : given[0];
    TRY(clamped(in, given[0], length, false, &ends[0]));
    return clamped(in, given[1], length, true, &ends[1]);
}

/* ---- sections ---- */

/* Is one of the slice's bounds computed in the loop? */
static void
note_moves(Interp *in, const Value *slice)
{
    for (int i = 0; i < 3 && slice->items != NULL; i++)
        in->loop->moves |= slice->items[i] != NULL && slice->items[i]->kind == V_NODE &&
                           slice->items[i]->node > in->loop->top;
}

static Answer
axis_length(Interp *in, Value *array, int axis, Value **out)
{
    Value shown = {.kind = V_PART, .of = array, .nitems = axis};
    return part_length(in, &shown, out);
}

Answer
section_index(Interp *in, Value *array, int axis, Value *index, Value **out)
{
    int64_t number = 0;
    Value *length, *low, *zero = int_value(in, 0);
    if (zero == NULL) return ANSWER_ERROR;
    TRY(python_int(in, index, out));
    in->loop->moves |= (*out)->kind == V_NODE && (*out)->node > in->loop->top;
    TRY(axis_length(in, array, axis, &length));
    if (known_int(*out, &number) && number < 0)
        TRY(operate_binary(in, OPERATOR_ADD, length, *out, out));
    TRY(scalar_assert(in, OP_py_lt, *out, length));
    if (number < 0) return scalar_assert(in, OP_py_le, zero, *out);
    if ((*out)->kind == V_CONST) return ANSWER_YES;
    TRY(operate_unary(in, I_UNARY_NEGATIVE, length, &low));
    return scalar_assert(in, OP_py_le, low, *out);
}

Answer
section_new(Interp *in, Value *array, int n, Value *const *keys, int axis, Value **out)
{
    Value *items[LOOP_RANK + SECTION_PARTS], *length;
    for (int k = 0; k < n; k++)
        if (k != axis) TRY(section_index(in, array, k, keys[k], &items[k]));
    TRY(axis_length(in, array, axis, &length));
    TRY(bounds(in, keys[axis], length, &items[axis], items + n));
    TRY(count(in, items + n, &items[n + SECTION_LENGTH]));
    if (items[n + SECTION_LENGTH] == NULL) return ANSWER_ERROR;
    *out = value_sequence(in, V_SECTION, n + SECTION_PARTS, items);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->of = array;
    (*out)->type = array_class();
    (*out)->position = axis;
    (*out)->node = NO_NODE;
    in->loop->parts = true;
    return ANSWER_YES;
}

static Value *
whole_axis(Interp *in)
{
    Value *none = value_const(in, Py_None), *ends[3] = {none, none, none};
    return none == NULL ? NULL : value_sequence(in, V_SLICE, 3, ends);
}

bool
key_has_slice(const Value *key)
{
    if (key->kind == V_SLICE) return true;
    for (int i = 0; key->kind == V_TUPLE && i < key->nitems; i++)
        if (key->items != NULL && key->items[i] != NULL && key->items[i]->kind == V_SLICE)
            return true;
    return false;
}

Answer
section_take(Interp *in, Value *array, Value *key, Value **out)
{
    Value *keys[LOOP_RANK], *whole = part_whole(array), *index = NULL;
    int before = part_axis(array), rank = before + part_rank(in, array), axis = -1;
    bool several = false;
    int given = key == NULL ? 0 : key->kind == V_TUPLE ? key->nitems : 1, n = before + given;
    if (rank > LOOP_RANK || n > rank)
        return section_fails(in, "a subscript of an array with other axes");
    for (int k = 0; k < rank; k++) {
        keys[k] = k < before             ? array->items[k]
                  : k >= n               ? whole_axis(in)
                  : key->kind == V_TUPLE ? value_item(in, key, k - before)
                                         : key;
        if (keys[k] == NULL) return ANSWER_ERROR;
        if (keys[k]->kind != V_SLICE) {
            index = keys[k];
            continue;
        }
        note_moves(in, keys[k]);
        several |= axis >= 0;
        axis = k;
    }
    if (several && index != NULL) /* a plane, which may be another one in each turn */
        in->loop->moves |= index->kind == V_NODE && index->node > in->loop->top;
    if (several) return section_fails(in, "a slice of several axes");
    if (axis < 0) return section_fails(in, "a subscript that gives no part of one axis");
    return section_new(in, whole, rank, keys, axis, out);
}

/* ---- operations ---- */

Value *
section_length(const Value *value)
{
    return value->kind == V_SECTION ? section_part(value, SECTION_LENGTH)
                                    : value->items[value->nitems - 1];
}

static bool
is_expression(const Value *value)
{
    return value->kind == V_SECTION || value->kind == V_EXPRESSION;
}

bool
value_is_section(Interp *in, Value *value)
{
    return is_expression(value) || (value->kind == V_PART && part_rank(in, value) == 1);
}

Answer
section_operand(Interp *in, Value *value, Value **out)
{
    *out = value;
    if (is_expression(value)) return ANSWER_YES;
    if (part_rank(in, value) == 1) return section_take(in, value, NULL, out);
    *out = NULL;
    bool number =
        value_is_python_scalar(in, value) ||
        (value_is_numpy(in, value) && !value_is_array(in, value) && !value_is_opaque(in, value));
    if (number) return ANSWER_YES;
    return part_rank(in, value) > 1
               ? break_hinted(in, BREAK_UNROLL, HINT_TURNS, "a row together with a whole array")
               : section_fails(in, "a row together with what is no row or number");
}

/* The same part, not read yet. */
static Value *
copied(Interp *in, const Value *part)
{
    Value *copy = value_sequence(in, (ValueKind)part->kind, part->nitems, part->items);
    if (copy == NULL) return NULL;
    copy->of = part->of;
    copy->type = part->type;
    copy->position = part->position;
    copy->node = NO_NODE;
    return copy;
}

Answer
section_read_now(Interp *in, Value *part, Value **out)
{
    *out = part;
    if (part->of == NULL || part->node != NO_NODE) return ANSWER_YES;
    if ((*out = copied(in, part)) == NULL) return ANSWER_ERROR;
    return loop_array_now(in, part->of, &(*out)->node);
}

/* Takes the value as part of another one, or of a store. */
Answer
section_consume(Interp *in, Value *value)
{
    if (value->kind != V_EXPRESSION) return ANSWER_YES;
    if (value->length != in->region)
        return section_fails(in, "rows that are computed, and used under a condition");
    if (!value->mutated) in->loop->pending--;
    value->mutated = true;
    return ANSWER_YES;
}

Answer
section_agrees(Interp *in, Value *a, Value *b)
{
    Value *both[2] = {section_length(a), section_length(b)};
    for (int i = 0; i < 2; i++)
        if (both[i]->kind == V_CONST && both[i]->object == Py_None)
            return section_fails(in, "a slice whose step is not a constant, as an operand");
    if (section_same_int(in, both[0], both[1])) return ANSWER_YES;
    int64_t x, y;
    if (known_int(both[0], &x) && known_int(both[1], &y))
        return section_fails(in, "rows of different lengths");
    return scalar_assert(in, OP_py_eq, both[0], both[1]);
}

Answer
section_expression(Interp *in, int operator_, int n, Value *const *operands, Value **out)
{
    Value *items[4], *length = NULL, *with = NULL;
    for (int i = 0; i < n; i++) {
        Value *operand;
        TRY(section_operand(in, operands[i], &operand));
        items[i] = operand != NULL ? operand : operands[i];
        if (operand == NULL) continue;
        if (with != NULL) TRY(section_agrees(in, with, operand));
        with = operand;
        length = section_length(operand);
        TRY(section_consume(in, operand));
        TRY(section_read_now(in, operand, &items[i]));
    }
    items[n] = length;
    *out = value_sequence(in, V_EXPRESSION, n + 1, items);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->type = array_class();
    (*out)->position = operator_;
    (*out)->length = in->region;
    in->loop->pending++;
    return ANSWER_YES;
}

bool
section_arithmetic(int operator_)
{
    return operator_ == OPERATOR_ADD || operator_ == OPERATOR_SUB || operator_ == OPERATOR_MUL ||
           operator_ == OPERATOR_DIV;
}

Answer
section_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *both[2] = {left, right};
    if (!value_is_section(in, left) && !value_is_section(in, right)) return ANSWER_NO;
    if (operator_ == OPERATOR_MATMUL) return section_product(in, true, left, right, out);
    int64_t power;
    if (operator_ == OPERATOR_POW && value_is_section(in, left) && known_int(right, &power) &&
        power == 2) {
        both[1] = left;
        return section_expression(in, OPERATOR_MUL, 2, both, out); /* as NumPy does */
    }
    int plain = operator_ % IN_PLACE;
    bool logic = plain == OPERATOR_AND || plain == OPERATOR_OR || plain == OPERATOR_XOR;
    if (!section_arithmetic(plain) && !logic)
        return section_fails(in, "an operator on rows other than + - * / & | ^ @ **2");
    if (operator_ < IN_PLACE || !(value_is_section(in, left) || value_is_array(in, left)))
        return section_expression(in, plain, 2, both, out);
    Value *target;
    TRY(section_operand(in, left, &target));
    if (target->kind == V_EXPRESSION)
        return section_fails(in, "an operator in place on rows that are no array's");
    *out = left;
    return section_store(in, target, plain, right);
}

Answer
section_unary(Interp *in, InstrKind operator_, Value *operand, Value **out)
{
    if (!value_is_section(in, operand)) return ANSWER_NO;
    if (operator_ != I_UNARY_NEGATIVE)
        return section_fails(in, "an operator on a row other than + - * /");
    return section_expression(in, -1, 1, &operand, out);
}

/* ---- the loop ---- */

bool
section_few_turns(Interp *in, const NodeId *range)
{
    enum { FEW = 8 };
    int64_t ends[2];
    for (int i = 0; i < 2; i++)
        if (!node_constant(in->graph, range[i], &ends[i])) return false;
    return ends[1] > ends[0] ? ends[1] - FEW <= ends[0] : ends[0] - FEW <= ends[1];
}

const char *
section_turns_apart(Interp *in, const Loop *loop, const NodeId *range)
{
    if (loop->pending > 0) return "rows are computed in it, and not used";
    if (!loop->sections) return NULL;
    if (!loop->moves) return "all slices in it are the same in each turn";
    if (loop->long_rows) return "the rows that it writes are long";
    return section_few_turns(in, range) ? "it makes a few turns that compute with rows" : NULL;
}

/* ---- as values ---- */

const char *
describe_section(Interp *Py_UNUSED(in), Value *value)
{
    return value->of != NULL ? "a part of an array" : "rows that are computed";
}

Answer
subscript_of_section(Interp *in, Value *value, Value *Py_UNUSED(key), Value **Py_UNUSED(out))
{
    return interp_break(in, BREAK_UNROLL, "a subscript of %s%s", describe_section(in, value),
                        value->of != NULL ? "" : " (unpack a short row: x, y = a[i] - a[j])");
}
