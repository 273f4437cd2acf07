/* Varying values of which only the outcomes of comparisons with constants are guarded.
   A text argument whose guard has failed, and which the function only compares with constants,
   stays a known object without a guard of its own; each comparison adds a guard of its outcome.
   An int argument whose guard has failed is symbolic; where a branch asks whether it equals a
   constant, the outcome is guarded. */
#include "core.h"

static bool
is_text_const(const Decoded *d, int number)
{
    if (number < 0 || number >= d->count || d->instrs[number].kind != I_CONST) return false;
    return PyUnicode_CheckExact(PyTuple_GET_ITEM(d->code->co_consts, d->instrs[number].arg));
}

static bool
is_equality(const Decoded *d, int number)
{
    if (number >= d->count || d->instrs[number].kind != I_COMPARE) return false;
    return d->instrs[number].arg == Py_EQ || d->instrs[number].arg == Py_NE;
}

/* The value loaded from the slot at `number` is compared with a constant by the next
   instructions. */
static bool
compares(const Decoded *d, int number)
{
    if (is_text_const(d, number + 1) && is_equality(d, number + 2)) return true;
    return is_text_const(d, number - 1) && is_equality(d, number + 1);
}

static bool
touches(const Instr *instr, int slot)
{
    switch (instr->kind) {
    case I_LOAD_LOCAL:
    case I_LOAD_CELL:
    case I_LOAD_CLEAR:
    case I_DELETE_LOCAL:
    case I_MAKE_CELL: return instr->arg == slot;
    default: return false;
    }
}

bool
text_is_compared(Interp *in, SourceId id)
{
    const Decoded *d = in->bottom->decoded;
    const Source *source = &in->out->sources.at[id];
    bool found = false;
    if (source->kind != SOURCE_SLOT || source->index >= d->nlocalsplus ||
        (code_slot_kind(d->code, source->index) & (SLOT_CELL | SLOT_FREE)) != 0 ||
        source_varied(in, id) == NULL)
        return false;
    for (int i = 0; i < d->count; i++) {
        if (!touches(&d->instrs[i], source->index)) continue;
        if (d->instrs[i].kind != I_LOAD_LOCAL || !compares(d, i)) return false;
        found = true;
    }
    return found;
}

static int
guard_outcome(Interp *in, const Value *value, PyObject *constant, bool equal)
{
    return guard_simple(in, equal ? GUARD_VALUE : GUARD_NOT_VALUE, value->source, constant);
}

/* The text is compared with something else after all, since another path led here by a jump. */
static int
guard_whole(Interp *in, Value *value)
{
    if (!value->compared) return 0;
    value->compared = false;
    return guard_simple(in, GUARD_VALUE, value->source, value->object);
}

/* ANSWER_NO: both are guarded by value, like other texts. */
Answer
outcome_compare(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *text = left->compared ? left : right, *constant = left->compared ? right : left;
    if (!text->compared || constant->kind != V_CONST || constant->compared ||
        !PyUnicode_CheckExact(constant->object))
        return guard_whole(in, left) < 0 || guard_whole(in, right) < 0 ? ANSWER_ERROR : ANSWER_NO;
    int equal = PyObject_RichCompareBool(text->object, constant->object, Py_EQ);
    if (equal < 0 || guard_outcome(in, text, constant->object, equal) < 0) return ANSWER_ERROR;
    *out = value_const(in, (operator_ == Py_EQ) == equal ? Py_True : Py_False);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* An int input whose guard has failed. */
static bool
is_varied_int(Interp *in, const Value *value)
{
    return value->kind == V_NODE && value->nitems == 0 && value->sized == NULL &&
           value->source != NO_SOURCE && value->object != NULL &&
           PyLong_CheckExact(value->object) && source_varied(in, value->source) != NULL;
}

Answer
outcome_condition(Interp *in, const Value *condition, bool *out)
{
    if (condition->object == NULL || condition->nitems == 0) return ANSWER_NO;
    Op op = graph_node(in->graph, condition->node)->op;
    Value *symbol = condition->items[0], *constant;
    bool is_true = condition->object == Py_True, unequal = op == OP_py_bool || op == OP_py_ne;
    if (op == OP_py_bool) {
        constant = value_const_new(in, PyLong_FromLong(0));
        if (constant == NULL) return ANSWER_ERROR;
    } else {
        if (condition->nitems != 2 || (op != OP_py_eq && op != OP_py_ne)) return ANSWER_NO;
        constant = condition->items[1];
        if (symbol->kind == V_CONST) {
            constant = symbol;
            symbol = condition->items[1];
        }
    }
    if (!is_varied_int(in, symbol) || constant->kind != V_CONST ||
        !PyLong_CheckExact(constant->object))
        return ANSWER_NO;
    *out = is_true;
    return guard_outcome(in, symbol, constant->object, is_true != unequal) < 0 ? ANSWER_ERROR
                                                                               : ANSWER_YES;
}

/* A bool that depends on inputs only: for a comparison of an int argument with a constant, a range
   guard is enough; other inputs are guarded by value. */
Answer
condition_known(Interp *in, Value *condition, bool *out)
{
    PyObject *object;
    Answer outcome = outcome_condition(in, condition, out);
    if (outcome != ANSWER_NO) return outcome;
    if (condition->object != NULL && condition->nitems == 2) {
        Op op = graph_node(in->graph, condition->node)->op;
        bool is_true = condition->object == Py_True;
        for (int side = 0; side < 2; side++) {
            Value *symbol = condition->items[side], *bound = condition->items[!side];
            int64_t limit;
            if (symbol->kind != V_NODE || bound->kind != V_CONST ||
                !PyLong_CheckExact(bound->object) || value_as_int(in, bound, &limit) != ANSWER_YES)
                continue;
            if (limit < -(1LL << 60) || limit > 1LL << 60 || (op != OP_py_lt && op != OP_py_le))
                continue;
            int64_t low = INT64_MIN, high = INT64_MAX;
            bool strict = (op == OP_py_lt) == is_true;
            /* symbol < limit when it is the left side and the test holds, or the right and it fails
             */
            if ((side == 0) == is_true)
                high = limit - strict;
            else
                low = limit + strict;
            Answer answer = value_in_range(in, symbol, low, high);
            if (answer_stops(answer)) return answer;
            if (answer == ANSWER_NO) continue;
            *out = is_true;
            return ANSWER_YES;
        }
    }
    *out = condition->object == Py_True;
    Answer answer = in->above->condition_of_lengths(in, condition);
    if (answer != ANSWER_NO) return answer;
    answer = value_known(in, condition, &object);
    if (answer == ANSWER_YES) *out = object == Py_True;
    return answer;
}
