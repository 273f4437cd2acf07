/* Side exits: where a branch in the body of a loop goes to what cannot be followed (a print, a call
   of opaque code, a raise that is handled here), the loop is left, CPython does that side, and the
   loop is entered again at the next turn.

   1. An arm breaks while the body is followed: it is noted, and the loop is unrolled, as one of a
      few turns can be (loop_note_side).
   2. Where that comes to an end, too, the sides are taken: capture starts again, and they are exits
      of the loops around them (loop_shape.c), at which the loops' iterators stay on the stack.
   3. The loop carries what these iterators have left: the next item of its own range, and for each
      loop inside start, stop and step, or the next position in what it goes over (Rest).  The graph
      ends behind it, with a way for each exit.
   4. Behind the side, at the head of the loop, capture begins with an iterator on the stack
      (loop_under_way).  What it has left is read as ints (ITERATOR_INTS). */
#include "loop.h"

/* ---- 1. and 2. ---- */

static SideExit *
side_at(Interp *in, int number)
{
    Marks *learn = in->attempt.learn;
    for (int i = 0; i < learn->sides.len; i++)
        if (learn->sides.at[i].number == number) return &learn->sides.at[i];
    return NULL;
}

/* Does the code look at its variables by their names?  Those that nobody else reads are not there
   at a side exit. */
static bool
looks_at_variables(const Decoded *d)
{
    static const char *const names[] = {"locals", "vars", "dir", "eval", "exec"};
    PyObject *all = d->code->co_names;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all); i++)
        for (int k = 0; k < COUNT_OF(names); k++)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(all, i), names[k]) == 0)
                return true;
    return false;
}

/* The innermost loop of the bottom's code around the Instr; *out is NULL where there is none.  0,
   or -1 with the error set. */
static int
innermost_loop(Interp *in, int number, LoopShape **out)
{
    for (int top = number; top >= 0; top--) {
        if (loop_shape(in, in->bottom->decoded, top, out) < 0) return -1;
        if (*out != NULL && (*out)->top == top && number <= (*out)->last && number != (*out)->top)
            return 0;
    }
    *out = NULL;
    return 0;
}

/* Does the body come from `at` to the Instr `to` without going through `without`?
   `to` -1: to the end of the body. */
static bool
finds_way(const Decoded *d, const LoopShape *s, int at, int to, int without, bool *seen)
{
    int next[2];
    for (;;) { /* on straight code, of which there may be much */
        if (at == without || at >= d->count || seen[at]) return false;
        if (at == to) return true;
        if (!s->inside[at]) return false;
        seen[at] = true;
        int ways = instr_successors(d, at, next), ahead = 0;
        for (int k = 0; k < ways; k++) {
            if (next[k] != s->begin &&
                next[k] != s->top) /* a `while` goes from there to its head */
                next[ahead++] = next[k];
            else if (to < 0)
                return true;
        }
        if (ahead == 0) return false;
        if (ahead == 2 && finds_way(d, s, next[1], to, without, seen)) return true;
        at = next[0];
    }
}

/* The same; -1 with the error set. */
static int
comes_to(const Interp *in, const LoopShape *s, int at, int to, int without)
{
    const Decoded *d = in->bottom->decoded;
    bool *seen = arena_alloc(in->arena, (size_t)d->count + 1);
    return seen == NULL ? -1 : finds_way(d, s, at, to, without, seen);
}

static int
begin_of_turn(const LoopShape *shape)
{
    return shape->begin + shape->counts;
}

/* What was found out about the loops and their branches when they were unrolled. */
static void
forget_unrolled(Interp *in, const SideExit *side)
{
    Marks *marks = in->attempt.learn;
    int kept = 0;
    for (int i = 0; i < marks->no_loop.len; i++) {
        const LoopName *name = &marks->no_loop.at[i].loop;
        bool of = name->code == side->code && name->calls == in->bottom->calls;
        if (!of || name->number < side->top || name->number > side->last)
            marks->no_loop.at[kept++] = marks->no_loop.at[i];
    }
    marks->no_loop.len = kept;
    kept = 0;
    for (int i = 0; i < marks->branches.len; i++) {
        const BranchMark *mark = &marks->branches.at[i];
        if (mark->code != side->code || mark->number < side->top || mark->number > side->last)
            marks->branches.at[kept++] = *mark;
    }
    marks->branches.len = kept;
}

/* Capture starts again, and leaves the loops at the side. */
static void
take_side(Interp *in, SideExit *side)
{
    side->taken = true;
    forget_unrolled(in, side);
    in->attempt.again = true;
    if (in->break_code == BREAK_NONE) in->break_code = BREAK_UNROLL;
}

/* The side begins at `start`, in the loop that `outermost` is, or in one inside of it. */
static int
note_side(Interp *in, const LoopShape *outermost, int start, const Break *why)
{
    const Decoded *d = in->bottom->decoded;
    LoopShape *shape;
    if (start <= 0 || side_at(in, start) != NULL || looks_at_variables(d)) return 0;
    if (innermost_loop(in, start, &shape) < 0) return -1;
    if (shape == NULL || d->instrs[start].depth != shape->base + shape->counts ||
        d->instrs[start].sub != 0 || shape->base - outermost->base > LOOP_DEEP)
        return 0;
    int beside = comes_to(in, shape, begin_of_turn(shape), -1, start);
    if (beside <= 0) return beside;
    const Marks *learn = in->attempt.learn;
    for (int i = 0; i < learn->sides.len; i++) { /* a side in this one is enough */
        if (learn->sides.at[i].taken) continue;
        int inside = comes_to(in, shape, start, learn->sides.at[i].number, -1);
        if (inside != 0) return Py_MIN(inside, 0);
    }
    SideExit side = {
        .code = d->code, .number = start, .top = outermost->top, .last = outermost->last};
    if (break_copy(in->attempt.learn_arena, why, &side.why) < 0 ||
        VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->sides, side) < 0)
        return -1;
    for (int i = 0; i < learn->sides.len; i++) { /* the loop has others, and cannot be unrolled */
        if (!learn->sides.at[i].taken || learn->sides.at[i].top != side.top) continue;
        take_side(in, &in->attempt.learn->sides.at[learn->sides.len - 1]);
        break;
    }
    return 0;
}

int
loop_note_side(Interp *in, int start, const Break *why)
{
    const Turn *turn = in->turn;
    if (in->loop == NULL || turn == NULL || turn->of != in->bottom || in->top != in->bottom)
        return 0;
    while (turn->around != NULL) turn = turn->around;
    return note_side(in, turn->shape, start, why);
}

int
loop_note_side_of(Interp *in, const LoopShape *shape, int number, const char *why)
{
    const Decoded *d = in->top->decoded;
    int next[2], begin = begin_of_turn(shape), side = -1;
    if (in->loop != NULL || in->top != in->bottom) return 0;
    for (int at = shape->head; at <= number; at++) {
        if (!shape->inside[at] || instr_successors(d, at, next) != 2) continue;
        for (int k = 0; k < 2; k++) {
            if (next[k] <= side || next[k] > number || !shape->inside[next[k]]) continue;
            int without = comes_to(in, shape, begin, number, next[k]);
            int beside = comes_to(in, shape, begin, -1, next[k]);
            if (without < 0 || beside < 0) return -1;
            if (!without && beside) side = next[k];
        }
    }
    if (side < 0) return 0;
    BreakFrame at;
    Break broke = {.code = BREAK_SIDE, .detail = (char *)why, .nframes = 1, .frames = &at};
    return break_frame(in->arena, d, number, &at) < 0 ? -1 : note_side(in, shape, side, &broke);
}

Answer
loop_learn_sides(Interp *in)
{
    Marks *learn = in->attempt.learn;
    int number = in->bottom->number;
    bool learnt = false;
    if (in->loop != NULL || learn->stop_at == 0) return ANSWER_NO; /* nothing is to be followed */
    for (int i = 0; i < learn->sides.len; i++) {
        SideExit *side = &learn->sides.at[i];
        if (side->taken || number < side->top || number > side->last) continue;
        take_side(in, side);
        learnt = true;
    }
    return learnt ? ANSWER_BREAK : ANSWER_NO;
}

/* ---- 3. what is carried ---- */

static Value *
turns_of(Interp *in, const Value *iterator)
{
    for (int i = 0; i < in->turns_made.len; i++)
        if (in->turns_made.at[i].iterator == iterator) return (Value *)in->turns_made.at[i].turns;
    return NULL;
}

Answer
loop_at_side(Interp *in, Turn *turn, int number)
{
    const Activation *a = turn->of;
    int first = turn->shape->base + turn->shape->counts, depth = a->decoded->instrs[number].depth;
    for (int i = first; i < depth; i++) {
        const Value *iterator = a->slots[a->decoded->nlocalsplus + i];
        if (i - first >= LOOP_DEEP || iterator == NULL || iterator->kind != V_ITER)
            return interp_break(in, BREAK_UNROLL, "it is left out of too many loops");
        Rest *rest = &turn->rest[i - first];
        Answer answer = ANSWER_YES;
        if (loop_is_range(iterator))
            memcpy(rest->part, iterator->walked->items, 3 * sizeof(Value *));
        else
            answer = loop_iterator_left(in, iterator, rest);
        if (answer == ANSWER_NO)
            return interp_break(in, BREAK_UNROLL,
                                "it is left out of a loop over neither a range nor whole arrays");
        if (answer != ANSWER_YES) return answer;
        rest->part[REST_TURNS] = turns_of(in, iterator);
    }
    return ANSWER_YES;
}

Value *
loop_no_rest(Interp *in, int part)
{
    return value_const_new(in, PyLong_FromLong(part == 2)); /* the step */
}

Answer
loop_beside(Interp *in, const Body *b, int carried, Value **out)
{
    if (carried == CARRIED_NEXT) {
        Value *step = value_node(in, b->args[2]);
        return step == NULL ? ANSWER_ERROR
                            : operate_binary(in, OPERATOR_ADD, b->position, step, out);
    }
    int at = CARRIED_REST - carried, part = at % REST_PARTS;
    *out = b->turn->rest[at / REST_PARTS].part[part];
    if (*out == NULL) *out = loop_no_rest(in, part);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
carry_one(Body *b, int carried, NodeId start)
{
    b->args[3 + b->ncarried] = start;
    b->carried[b->ncarried++] = carried;
    return start == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

Answer
loop_carry_beside(Interp *in, Body *b)
{
    if (b->iterator != NULL && !loop_can_go_on(in, b->iterator))
        return loop_not_kept(
            in, b->scan.number,
            "it is left for what is not followed, and goes over neither a range nor "
            "whole arrays");
    TRY(carry_one(b, CARRIED_NEXT, b->args[0]));
    for (int i = 0; i < REST_PARTS * b->scan.shape->deep; i++) {
        Value *none = loop_no_rest(in, i % REST_PARTS);
        NodeId node;
        if (none == NULL) return ANSWER_ERROR;
        TRY(value_as_unpinned_node(in, none, &node));
        TRY(carry_one(b, CARRIED_REST - i, node));
    }
    return ANSWER_YES;
}

void
loop_take_beside(int carried, Value *value, Leaving *leaving)
{
    int at = CARRIED_REST - carried;
    if (carried == CARRIED_NEXT)
        leaving->next = value;
    else
        leaving->rest[at / REST_PARTS].part[at % REST_PARTS] = value;
}

/* ---- 3. the exit ---- */

/* The turns that the loop itself has made, as far as the step of its range is known. */
static Answer
turns_made(Interp *in, const Leaving *leaving, Value **out)
{
    Value *start = NULL;
    bool range = leaving->iterator != NULL && loop_is_range(leaving->iterator);
    if (range)
        start = leaving->iterator->walked->items[0];
    else if (leaving->iterator != NULL)
        TRY(loop_first_position(in, leaving->iterator, &start));
    if (start == NULL && (start = loop_no_rest(in, 0)) == NULL) return ANSWER_ERROR;
    TRY(operate_binary(in, OPERATOR_SUB, leaving->next, start, out));
    int64_t step = 1;
    Value *by = range ? leaving->iterator->walked->items[2] : NULL;
    if (by == NULL || by->kind != V_CONST || value_as_int(in, by, &step) != ANSWER_YES ||
        step == 1 || step == 0)
        return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_YES;
    return operate_binary(in, OPERATOR_FLOORDIV, *out, by, out);
}

static Answer
put_iterator(Interp *in, const Rest *rest, int entry)
{
    Activation *a = in->top;
    Value *const *part = rest->part, *iterator;
    if (rest->over != NULL) {
        TRY(loop_iterator_at(in, rest->over, part[REST_NEXT], part[REST_NUMBER], &iterator));
    } else {
        Value *range = value_sequence(in, V_RANGE, 3, (Value **)part);
        if (range == NULL) return ANSWER_ERROR;
        TRY(iterate_items(in, range, &iterator));
    }
    a->slots[a->decoded->nlocalsplus + entry] = iterator;
    TurnsMade made = {.iterator = iterator, .turns = part[REST_TURNS]};
    return VEC_PUSH(in->arena, &in->turns_made, made) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* The loop's own. */
static Answer
put_own(Interp *in, const Leaving *leaving)
{
    Rest rest = {.part = {leaving->next}};
    if (loop_is_range(leaving->iterator))
        memcpy(&rest.part[1], &leaving->iterator->walked->items[1], 2 * sizeof(Value *));
    else
        rest.over = leaving->iterator;
    TRY(turns_made(in, leaving, &rest.part[REST_TURNS]));
    return put_iterator(in, &rest, leaving->shape->base);
}

Answer
loop_put_iterators(Interp *in, const Leaving *leaving, int number)
{
    const LoopShape *shape = leaving->shape;
    int depth = in->top->decoded->instrs[number].depth, own = shape->base + shape->counts;
    if (shape->counts) TRY(put_own(in, leaving));
    for (int i = own; i < depth; i++) TRY(put_iterator(in, &leaving->rest[i - own], i));
    return ANSWER_YES;
}

/* The first side exit, which says why the graph ends. */
static const SideExit *
side_of(Interp *in, const LoopShape *shape)
{
    const Marks *marks = in->attempt.marks;
    const SideExit *found = NULL;
    for (int i = 0; i < marks->sides.len; i++) {
        const SideExit *side = &marks->sides.at[i];
        bool inside = side->number >= shape->top && side->number <= shape->last;
        if (side->taken && (inside || found == NULL)) found = side;
        if (side->taken && inside) break;
    }
    return found; /* the loop has exits of this kind where one is taken */
}

/* Behind a side exit, and in a turn of a loop in whose midst capture began, there are no numbers by
   which a graph would hold again: the turn is stepped. */
static int
find_loops_around(Interp *in, const LoopShape *shape, bool is_side, ExitWay *way)
{
    int begun = in->request->number;
    const SideExit *side = side_of(in, shape);
    for (int top = way->number - 1; top >= side->top && way->nloops < MOST_AROUND; top--) {
        LoopShape *around;
        if (loop_shape(in, in->bottom->decoded, top, &around) < 0) return -1;
        if (around == NULL || around->top != top || way->number > around->last) continue;
        if (around->last > side->last || (!is_side && (begun < top || begun > around->last)))
            continue;
        way->loop[way->nloops].again = around->begin;
        way->loop[way->nloops].first = top;
        way->loop[way->nloops++].last = around->last;
    }
    return 0;
}

/* Has its body loops?  Then a turn is as many turns of those. */
static int
has_loops(Interp *in, const LoopShape *shape)
{
    for (int top = shape->head; top <= shape->last; top++) {
        LoopShape *inner;
        if (loop_shape(in, in->bottom->decoded, top, &inner) < 0) return -1;
        if (inner != NULL && inner->top == top && inner->head != shape->head && shape->inside[top])
            return 1;
    }
    return 0;
}

static Answer
build_turns(Interp *in, const Leaving *leaving, BuildId *out)
{
    enum { TURNS_INSIDE = 16 };
    Value *turns, *inside;
    TRY(turns_made(in, leaving, &turns));
    int nested = has_loops(in, leaving->shape);
    if (nested < 0 || (inside = value_const_new(in, PyLong_FromLong(TURNS_INSIDE))) == NULL)
        return ANSWER_ERROR;
    if (nested) TRY(operate_binary(in, OPERATOR_MUL, turns, inside, &turns));
    for (int i = 0; i < leaving->shape->deep; i++)
        TRY(operate_binary(in, OPERATOR_ADD, turns, leaving->rest[i].part[REST_TURNS], &turns));
    *out = in->above->build(in, turns);
    return *out == NO_BUILD ? ANSWER_BREAK : ANSWER_YES;
}

Answer
loop_exit_ways(Interp *in, const Leaving *leaving)
{
    const LoopShape *shape = leaving->shape;
    const Decoded *d = in->top->decoded;
    ExitWay ways[LOOP_EXITS];
    int deepest = 0, depth_of_all = 0;
    if (interp_break_as(in, BREAK_SIDE, &side_of(in, shape)->why) == ANSWER_ERROR)
        return ANSWER_ERROR;
    in->told.code = BREAK_SIDE;
    in->told.hint = HINT_OF_CODE;
    in->break_code = BREAK_NONE; /* building may break for its own reason */
    for (int i = 0; i < shape->nexits; i++) {
        int number = shape->exit[i] >= 0 ? shape->exit[i] : shape->exit[1];
        int depth = i == 0 && shape->counts ? shape->base : d->instrs[number].depth;
        ways[i] = (ExitWay){.number = number, .depth = depth};
        depth_of_all = Py_MAX(depth_of_all, depth);
        bool side = (shape->sides >> i & 1) != 0;
        if (find_loops_around(in, shape, side, &ways[i]) < 0) return ANSWER_ERROR;
        if (!side) continue;
        if (deepest == 0 || depth > ways[deepest].depth) deepest = i;
    }
    TRY(loop_put_iterators(in, leaving, shape->exit[deepest]));
    /* A `return` from a loop further inside drops iterators that no side needs. */
    TRY(loop_put_ended(in, ways[deepest].depth, depth_of_all));
    in->top->depth = depth_of_all;
    BuildId turns = NO_BUILD;
    Answer answer = build_turns(in, leaving, &turns);
    if (answer == ANSWER_YES) answer = exit_ways(in, leaving, shape->nexits, ways, turns);
    if (answer_stops(answer)) return answer;
    in->break_code = BREAK_SIDE;
    in->branched = answer == ANSWER_YES;
    return ANSWER_BREAK;
}

/* ---- 4. ---- */

static Value *
rest_part(Interp *in, const Value *iterator, const int64_t *rest, int i)
{
    PyObject *number = keep(in, PyLong_FromLongLong(rest[i]));
    SourceId source = source_add(in, SOURCE_REST, iterator->source, i, NULL, NULL);
    return number == NULL || source == NO_SOURCE ? NULL : value_from_source(in, source, number);
}

static Answer
range_under_way(Interp *in, const Value *iterator, const int64_t *rest, Value **out)
{
    Value *ends[3], *range;
    for (int i = 0; i < 3; i++)
        if ((ends[i] = rest_part(in, iterator, rest, i)) == NULL) return ANSWER_ERROR;
    if ((range = value_sequence(in, V_RANGE, 3, ends)) == NULL) return ANSWER_ERROR;
    return iterate_items(in, range, out);
}

static Value *
walked_of(Interp *in, const Value *iterator, int part)
{
    PyObject *object = iterator_walked(iterator->object, part);
    SourceId source = source_add(in, SOURCE_WALKED, iterator->source, part, NULL, NULL);
    return object == NULL || source == NO_SOURCE ? NULL : value_from_source(in, source, object);
}

/* Of a range in a zip or an enumerate: one from 0, as those are that loop_items.c knows. */
static Answer
part_of_range(Interp *in, const Value *iterator, const int64_t *rest, Value *out)
{
    int64_t step;
    Value *by = rest_part(in, iterator, rest, ITERATOR_STEP);
    if (by == NULL) return ANSWER_ERROR;
    TRY(value_as_int(in, by, &step));
    Value *ends[3] = {loop_no_rest(in, 0), rest_part(in, iterator, rest, ITERATOR_STOP),
                      loop_no_rest(in, 2)};
    if (ends[0] == NULL || ends[1] == NULL || ends[2] == NULL) return ANSWER_ERROR;
    out->walked = value_sequence(in, V_RANGE, 3, ends);
    if (out->walked == NULL) return ANSWER_ERROR;
    return step == 1 ? ANSWER_YES : ANSWER_NO;
}

static Answer part_under_way(Interp *in, Value *iterator, Value **out);

/* All of its iterators are at one position. */
static Answer
zip_under_way(Interp *in, Value *iterator, const int64_t *rest, Value *out)
{
    int64_t n;
    Value *parts = rest_part(in, iterator, rest, ITERATOR_PARTS), *first, *other;
    if (parts == NULL) return ANSWER_ERROR;
    TRY(value_as_int(in, parts, &n));
    if (n < 1 || n > INT16_MAX) return ANSWER_NO;
    out->name = "zip";
    out->nitems = (int)n;
    out->items = arena_alloc(in->arena, (size_t)n * sizeof(Value *));
    if (out->items == NULL) return ANSWER_ERROR;
    for (int i = 0; i < n; i++) {
        Value *part = walked_of(in, iterator, i);
        if (part == NULL) return ANSWER_ERROR;
        TRY(part_under_way(in, part, &out->items[i]));
        TRY(loop_first_position(in, out->items[i], i == 0 ? &first : &other));
        if (i > 0) TRY(scalar_assert(in, OP_py_eq, first, other));
    }
    return ANSWER_YES;
}

/* Of arrays, and of what zip, reversed and enumerate make of such. */
static Answer
part_under_way(Interp *in, Value *iterator, Value **out)
{
    PyTypeObject *type = iterator->type;
    int64_t rest[ITERATOR_INTS];
    if (iterator->kind != V_OBJECT || !iterator_rest(iterator->object, rest)) return ANSWER_NO;
    Value *copy = *out = value_new(in, V_ITER);
    if (copy == NULL || value_guard_type(in, iterator) < 0) return ANSWER_ERROR;
    copy->guarded = true;
    if (type == &PyZip_Type) return zip_under_way(in, iterator, rest, copy);
    if ((copy->at = rest_part(in, iterator, rest, ITERATOR_NEXT)) == NULL) return ANSWER_ERROR;
    if (type == &PyRangeIter_Type) return part_of_range(in, iterator, rest, copy);
    if ((copy->walked = walked_of(in, iterator, 0)) == NULL) return ANSWER_ERROR;
    copy->name = type == &PyEnum_Type ? "enumerate" : type == &PyReversed_Type ? "reversed" : NULL;
    if (type == &PyEnum_Type) return part_under_way(in, copy->walked, &copy->walked);
    return value_is_array(in, copy->walked) ? ANSWER_YES : ANSWER_NO;
}

Answer
loop_under_way(Interp *in, Value *iterator, Value **out)
{
    int64_t rest[ITERATOR_INTS];
    LoopShape *shape;
    if (in->loop != NULL || in->top != in->bottom || in->region != 0) return ANSWER_NO;
    if (loop_shape(in, in->top->decoded, in->top->number, &shape) < 0) return ANSWER_ERROR;
    if (iterator->kind != V_OBJECT || !source_is_spare(in, iterator->source) ||
        !iterator_rest(iterator->object, rest) || shape == NULL ||
        loop_refused(in, shape->top) != NULL)
        return ANSWER_NO;
    if (Py_TYPE(iterator->object) != &PyRangeIter_Type) return part_under_way(in, iterator, out);
    if (value_guard_type(in, iterator) < 0) return ANSWER_ERROR;
    return range_under_way(in, iterator, rest, out);
}

int
loop_begins_turn(Interp *in, LoopShape **out)
{
    int number = in->top->number, begun = in->request->number;
    *out = NULL;
    if (in->loop != NULL || in->top != in->bottom || in->region != 0 ||
        in->attempt.first_step[number] != in->attempt.steps)
        return 0;
    /* asked at each Instr: of a long code not all others are looked at */
    int top = number;
    for (;;) {
        if (loop_before(in, in->top->decoded, &top, out) < 0) return -1;
        if (*out == NULL) return 0;
        bool midst = !(*out)->counts && (*out)->begin == number && begun >= (*out)->top &&
                     begun <= (*out)->last;
        if (midst) return 0;
    }
}
