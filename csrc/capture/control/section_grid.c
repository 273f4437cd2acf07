/* Statements over slices of both axes in the body of a kept loop:

     a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])

   Such a part, and operations on it, are kept as they are (V_GRID), like those of one axis.  The
   store is a loop inside over the target's rows, the body of which is a statement over one row
   (section_store.c).  What it reads of the target's own array must be of the row that it stores, or
   of a row that none of them is. */
#include "section.h"

enum { GRID_OUTER = -3 };

static bool
is_operation(const Value *value)
{
    return value->kind == V_GRID && value->of == NULL;
}

Answer
grid_take(Interp *in, Value *array, Value *const *keys, Value **out)
{
    Value *first = value_const_new(in, PyLong_FromLong(0)), *items[2];
    if (first == NULL) return ANSWER_ERROR;
    Value *down[2] = {keys[0], first}, *along[2] = {first, keys[1]};
    if (keys[0]->kind != V_SLICE || keys[1]->kind != V_SLICE)
        return section_fails(in, "a slice of several axes");
    TRY(section_new(in, array, 2, down, 0, &items[0]));
    TRY(section_new(in, array, 2, along, 1, &items[1]));
    for (int axis = 0; axis < 2; axis++) {
        int64_t step;
        if (value_as_int(in, section_part(items[axis], SECTION_STEP), &step) == ANSWER_YES &&
            step < 0)
            return section_fails(in, "slices of both axes, one of which goes backwards");
    }
    *out = value_sequence(in, V_GRID, 2, items);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->of = array;
    (*out)->type = array_class();
    (*out)->node = NO_NODE;
    return ANSWER_YES;
}

/* ---- operations ---- */

/* Its section down the rows, and that of a row. */
static Value *
shape_of(Value *value, int axis)
{
    if (is_operation(value) && value->position == GRID_OUTER) return value->items[axis];
    if (!is_operation(value)) return value->items[axis];
    for (int i = 0; i < value->nitems; i++)
        if (value->items[i]->kind == V_GRID) return shape_of(value->items[i], axis);
    return NULL;
}

static Answer
consume(Interp *in, Value *value)
{
    if (!is_operation(value)) return ANSWER_YES;
    if (value->length != in->region)
        return section_fails(in, "rows that are computed, and used under a condition");
    if (!value->mutated) in->loop->pending--;
    value->mutated = true;
    return ANSWER_YES;
}

static Answer
operation_new(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *items[2] = {left, right};
    *out = value_sequence(in, V_GRID, 2, items);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->type = array_class();
    (*out)->position = operator_;
    (*out)->length = in->region;
    in->loop->pending++;
    return ANSWER_YES;
}

/* An operand: with both axes, a row for each row, or a number. */
static Answer
operand_of(Interp *in, Value *with, Value *value, Value **out)
{
    *out = value;
    if (value->kind != V_GRID) {
        TRY(section_operand(in, value, out));
        if (*out == NULL) {
            *out = value;
            return ANSWER_YES;
        }
        if ((*out)->kind != V_SECTION)
            return section_fails(in, "a row that is computed together with several rows");
        TRY(section_agrees(in, shape_of(with, 1), *out));
        return section_read_now(in, *out, out);
    }
    TRY(consume(in, value));
    for (int axis = 0; axis < 2 && value != with; axis++)
        TRY(section_agrees(in, shape_of(with, axis), shape_of(value, axis)));
    return section_read_now(in, value, out);
}

Answer
grid_binary(Interp *in, int operator_, Value *left, Value *right, Value **out)
{
    Value *with = left->kind == V_GRID ? left : right;
    if (!section_arithmetic(operator_ % IN_PLACE))
        return section_fails(in, "an operator on several rows other than + - * /");
    if (operator_ >= IN_PLACE && left->kind == V_GRID && !is_operation(left)) {
        *out = left;
        return grid_store(in, left, operator_ % IN_PLACE, right);
    }
    if (operator_ >= IN_PLACE)
        return section_fails(in, "an operator in place on rows that are no array's");
    TRY(operand_of(in, with, left, &left));
    TRY(operand_of(in, with, right, &right));
    return operation_new(in, operator_, left, right, out);
}

Answer
grid_outer(Interp *in, Value *left, Value *right, Value **out)
{
    Value *both[2] = {left, right};
    for (int i = 0; i < 2; i++) {
        TRY(section_operand(in, both[i], &both[i]));
        if (both[i] == NULL || both[i]->kind != V_SECTION)
            return section_fails(in, "an outer product of rows that are computed");
        TRY(section_read_now(in, both[i], &both[i]));
    }
    return operation_new(in, GRID_OUTER, both[0], both[1], out);
}

/* ---- a row ---- */

/* Where the rows that the target stores are looked for in another array's or the same. */
static Answer
position_in(Interp *in, Value *target, Value *down, Value *position, Value **out)
{
    Value *start = section_part(down, SECTION_START);
    Value *to = section_part(target->items[0], SECTION_START), *apart;
    *out = position;
    if (section_same_int(in, start, to)) return ANSWER_YES;
    TRY(operate_binary(in, OPERATOR_SUB, start, to, &apart));
    return operate_binary(in, OPERATOR_ADD, position, apart, out);
}

/* The part's row at the position, which the loop gives. */
static Answer
row_at(Interp *in, Value *part, Value *position, Value **out)
{
    Value *along = part->items[1];
    *out = value_sequence(in, V_SECTION, along->nitems, along->items);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->items[0] = position;
    (*out)->of = part->of;
    (*out)->type = part->type;
    (*out)->position = 1;
    (*out)->node = NO_NODE;
    return ANSWER_YES;
}

static Answer row_of(Interp *in, Value *target, Value *value, Value *position, Value **out);

/* A number for each row times a row. */
static Answer
row_of_outer(Interp *in, Value *target, Value *value, Value *position, Value **out)
{
    Value *down = value->items[0], *key, *number, *row;
    TRY(position_in(in, target, down, position, &position));
    TRY(section_key(in, down, position, &key));
    TRY(loop_element_load(in, down->of, key, &number));
    TRY(row_of(in, target, value->items[1], position, &row));
    return section_binary(in, OPERATOR_MUL, number, row, out);
}

/* A row's value in the loop over the target's rows. */
static Answer
row_of(Interp *in, Value *target, Value *value, Value *position, Value **out)
{
    Value *rows[2];
    *out = value;
    if (value->kind == V_SECTION) { /* the array's version in the loop is another */
        *out = section_copy(in, value);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (value->kind != V_GRID) return ANSWER_YES;
    if (!is_operation(value)) {
        TRY(position_in(in, target, value->items[0], position, &position));
        return row_at(in, value, position, out);
    }
    if (value->position == GRID_OUTER) return row_of_outer(in, target, value, position, out);
    for (int i = 0; i < 2; i++) TRY(row_of(in, target, value->items[i], position, &rows[i]));
    return section_binary(in, (int)value->position, rows[0], rows[1], out);
}

/* ---- the store ---- */

/* Is it the section of the rows that are stored? */
static bool
is_down(Interp *in, const Value *target, const Value *section)
{
    return section_same_int(in, section_part(section, SECTION_START),
                            section_part(target->items[0], SECTION_START));
}

/* A row of the target's own array: none of those that are stored. */
static Answer
row_is_apart(Interp *in, const Value *target, const Value *row)
{
    NodeId base[2];
    int64_t offset[2];
    const Value *down = target->items[0];
    Value *zero = value_const_new(in, PyLong_FromLong(0));
    if (zero == NULL) return ANSWER_ERROR;
    if (section_axis(row) != 1 || !section_offset(in, row->items[0], &base[0], &offset[0]) ||
        !section_offset(in, down->items[0], &base[1], &offset[1]) || base[0] != base[1] ||
        offset[0] >= offset[1] || (base[0] == NO_NODE && offset[0] < 0))
        return section_fails(in, "rows that are computed from others of their array");
    if (base[0] == NO_NODE) return ANSWER_YES;
    return loop_assert(in, OP_py_le, zero, row->items[0]); /* so is where the rows begin */
}

/* What the value reads is as it was, and what it reads of the target's own array does no harm.
 *nread rows are read before: an operation that is used twice is followed twice. */
static Answer
check_reads(Interp *in, Value *target, Value *value, bool down, int *nread)
{
    NodeId now;
    if (value->of == NULL) {
        if (value->kind != V_GRID) return ANSWER_YES;
        bool outer = value->position == GRID_OUTER;
        TRY(check_reads(in, target, value->items[0], outer, nread));
        return check_reads(in, target, value->items[1], false, nread);
    }
    if (!down && (*nread)++ == SECTION_READS)
        return section_fails(in, "a statement of too many rows");
    TRY(loop_array_now(in, value->of, &now));
    if (value->node != NO_NODE && value->node != now)
        return section_fails(in, "rows that are computed from an array that is then written");
    const Value *rows = value->kind == V_GRID ? value->items[0] : down ? value : NULL;
    if (rows != NULL && !section_same_int(in, section_part(rows, SECTION_STEP),
                                          section_part(target->items[0], SECTION_STEP)))
        return section_fails(in, "slices of different steps in one statement");
    if (value->of != target->of) return ANSWER_YES;
    if (rows == NULL) return row_is_apart(in, target, value);
    return section_axis(rows) == 0 && is_down(in, target, rows)
               ? ANSWER_YES
               : section_fails(in, "rows that are computed from others of their array");
}

/* The statement over the row at `position`. */
static Answer
store_row(Interp *in, Value *target, int operator_, Value *value, Value *position)
{
    Value *to, *row;
    TRY(row_at(in, target, position, &to));
    TRY(row_of(in, target, value, position, &row));
    return section_store(in, to, operator_, row);
}

static Answer
emit_rows(Interp *in, Value *target, int operator_, Value *value)
{
    Value *ends[3];
    SectionReads reads = {.origin = target->items[0]};
    StoreLoop loop;
    for (int i = 0; i < 3; i++) ends[i] = section_part(target->items[0], SECTION_START + i);
    TRY(section_loop_begin(in, target->of, ends, &reads, &loop));
    return section_loop_end(in, &loop, store_row(in, target, operator_, value, reads.position));
}

/* Is the value the target itself, as it is after an operator in place? */
static bool
is_itself(Interp *in, const Value *target, const Value *value)
{
    if (value->kind != V_GRID || value->of != target->of) return false;
    for (int axis = 0; axis < 2; axis++)
        for (int i = 0; i < SECTION_PARTS; i++)
            if (!section_same_int(in, section_part(target->items[axis], i),
                                  section_part(value->items[axis], i)))
                return false;
    return true;
}

Answer
grid_store(Interp *in, Value *target, int operator_, Value *value)
{
    int nread = 0;
    if (operator_ < 0 && is_itself(in, target, value)) return ANSWER_YES;
    TRY(loop_writes(in, target->of));
    TRY(operand_of(in, target, value, &value));
    TRY(check_reads(in, target, value, false, &nread));
    return emit_rows(in, target, operator_, value);
}
