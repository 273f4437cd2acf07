/* Rows of arrays in the body of a kept loop, and larger parts: a[i] of an array of two axes or
   more.

   Such a part is its array with the indices so far (V_PART), no view is made.  Its elements are
   elements of the array; it has a length, can be gone through and unpacked, and be given to
   functions.  All else that is done with it ends the loop's capture.

   Python checks an index when the part is made.  Where the next thing that is done with it loads or
   stores an element, that is the check; else the loop checks it. */
#include "loop.h"

static Value *
part_new(Interp *in, Value *array, int n, Value *const *indices)
{
    Value *part = value_sequence(in, V_PART, n, indices);
    if (part == NULL) return NULL;
    part->of = array;
    part->type = array_class();
    in->loop->parts = true;
    return part;
}

Value *
part_whole(Value *array)
{
    return array->kind == V_PART ? array->of : array;
}

int
part_axis(const Value *array)
{
    return array->kind == V_PART ? array->nitems : 0;
}

int
part_rank(Interp *in, Value *array)
{
    Value *whole = part_whole(array);
    if (!value_is_array(in, whole)) return 0;
    return graph_node(in->graph, whole->node)->type.rank - part_axis(array);
}

Answer
part_length(Interp *in, Value *array, Value **out)
{
    Value *whole = part_whole(array);
    int axis = part_axis(array);
    if (array_is_unpinned(in, whole)) return array_size(in, whole, axis, out);
    return number_of_size(in, array_length(in, whole, axis), out);
}

/* ---- the check of an index ---- */

/* The Instr that takes what the current one leaves on the stack. */
static const Instr *
taker(const Activation *a)
{
    const Decoded *d = a->decoded;
    int entry = d->instrs[a->number + 1].depth - 1, at = a->number + 1;
    while (at + 1 < d->count && d->instrs[at + 1].depth > entry) at++;
    return &d->instrs[at];
}

/* Is an element of the part read or written whatever happens, so that the index is checked then? */
static bool
is_checked_later(const Interp *in, int rank)
{
    const Activation *a = in->top;
    const Instr *instr = &a->decoded->instrs[a->number];
    if (instr->kind != I_SUBSCRIPT || a->number + 1 >= a->decoded->count) return false;
    instr = taker(a);
    int entry = a->decoded->instrs[a->number + 1].depth - 1;
    if (instr->kind == I_UNPACK) return instr->arg > 0 && rank == 1;
    /* for a[i][j] += v the value is below the part and its key */
    bool stores = instr->kind == I_STORE_SUBSCRIPT;
    return ((stores || instr->kind == I_SUBSCRIPT) && instr->depth - 2 == entry) ||
           (stores && instr->depth - 3 == entry);
}

Answer
part_index_checked(Interp *in, Value *array, int axis, NodeId index)
{
    Value shown = {.kind = V_PART, .of = array, .nitems = axis};
    Value *size, *low, *at = value_node(in, index);
    TRY(part_length(in, &shown, &size));
    TRY(operate_unary(in, I_UNARY_NEGATIVE, size, &low));
    if (at == NULL) return ANSWER_ERROR;
    TRY(scalar_assert(in, OP_py_lt, at, size));
    return scalar_assert(in, OP_py_le, low, at);
}

/* ---- making ---- */

Answer
part_take(Interp *in, Value *array, int n, Value *const *indices, const NodeId *nodes, bool checked,
          Value **out)
{
    int rank = graph_node(in->graph, array->node)->type.rank - n;
    *out = part_new(in, array, n, indices);
    if (*out == NULL) return ANSWER_ERROR;
    for (int axis = 0; axis < n && !checked && !is_checked_later(in, rank); axis++)
        TRY(part_index_checked(in, array, axis, nodes[axis]));
    return ANSWER_YES;
}

/* ---- as a value ---- */

const char *
describe_part(Interp *in, Value *part)
{
    return part_rank(in, part) == 1 ? "a row of an array" : "a part of an array";
}

Answer
part_find(Interp *in, Value *part, PyObject *name, Value **out)
{
    return section_find(in, part, name, out);
}

Answer
iterate_part(Interp *in, Value *part, Value **out)
{
    *out = value_new(in, V_ITER);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->walked = part;
    (*out)->guarded = true;
    return ANSWER_YES;
}

/* The items in the place of what is unpacked. */
static Answer
push_items(Interp *in, Value *const *items, int n)
{
    in->top->depth--;
    while (n > 0)
        if (push(in, items[--n]) < 0) return ANSWER_ERROR;
    return ANSWER_YES;
}

Answer
part_unpack(Interp *in, Value *part, int n)
{
    Value *length, *number = value_const_new(in, PyLong_FromLong(n)), *items[UCHAR_MAX];
    if (number == NULL) return ANSWER_ERROR;
    if (n >= UCHAR_MAX) return interp_break(in, BREAK_UNROLL, "an assignment that unpacks");
    if (part->kind != V_PART) {
        TRY(section_unpack(in, part, n, items));
        return push_items(in, items, n);
    }
    TRY(part_length(in, part, &length));
    TRY(scalar_assert(in, OP_py_eq, length, number));
    for (int i = 0; i < n; i++) {
        Value *at = value_const_new(in, PyLong_FromLong(i));
        if (at == NULL) return ANSWER_ERROR;
        TRY(loop_item_at(in, part, at, &items[i]));
    }
    return push_items(in, items, n);
}
