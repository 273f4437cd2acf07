/* The types of what a kept loop carries from turn to turn.

   A local whose type a turn changes begins with a number of the type that it then has: which one is
   learnt from the attempt before. */
#include "loop.h"

#include <math.h>

bool
loop_same_scalar(const Type *a, const Type *b)
{
    return a->dtype == b->dtype && a->form == b->form && a->rank == 0 && b->rank == 0;
}

/* Both floats, or both ints: they agree about the sign of zero. */
static bool
same_kind(DType a, DType b)
{
    return a == b || (dtype_is_float(a) && dtype_is_float(b)) ||
           (dtype_is_integer(a) && dtype_is_integer(b));
}

/* The first Instr of the loop's body that stores the local. */
static int
first_store(const Interp *in, const Scan *scan, int slot)
{
    const Decoded *d = in->top->decoded;
    int at = scan->shape->head;
    while (at < d->count - 1 && !(scan->shape->inside[at] && d->instrs[at].arg == slot &&
                                  d->instrs[at].kind == I_STORE_LOCAL))
        at++;
    return at;
}

/* An array, of whatever shape. */
static bool
holds_array(Interp *in, const Value *value)
{
    return value_is_array(in, value) ||
           (value_is_opaque(in, value) && opaque_sample(in, value) != NULL);
}

/* Where one side of a branch alone stores it, that may become a side exit. */
static Answer
not_a_number(Interp *in, const Scan *scan, int slot, Value *value)
{
    if (slot >= LOOP_ATTRIBUTE)
        return loop_not_kept(in, scan->number, "it stores the attribute '%s', which holds %s",
                             loop_slot_text(in, slot), value_describe(in, value));
    int at = first_store(in, scan, slot);
    const Instr *made = &in->top->decoded->instrs[at - 1]; /* by what the stored value is made */
    if (holds_array(in, value) && made->kind == I_BINARY && made->arg >= IN_PLACE)
        return loop_of_arrays(in, scan->number, HINT_TURNS,
                              "it changes '%s', an array, as a whole, line %d",
                              loop_slot_text(in, slot), line_at(in->top->decoded, at));
    const char *holds =
        holds_array(in, value) ? "holds an array before it, another one behind each turn"
        : value->kind == V_UNBOUND || value->kind == V_LOST
            ? "has no value before it"
            : arena_printf(in->arena, "holds no number before it (%s)", value_describe(in, value));
    if (holds == NULL) return ANSWER_ERROR;
    const char *why = arena_printf(in->arena, "it stores '%s', which %s, line %d",
                                   loop_slot_text(in, slot), holds, line_at(in->top->decoded, at));
    if (why == NULL || loop_note_side_of(in, scan->shape, at, why) < 0) return ANSWER_ERROR;
    if (!holds_array(in, value)) return loop_not_kept(in, scan->number, "%s", why);
    bool computed = made->kind == I_BINARY || made->kind == I_CALL || made->kind == I_CALL_KW ||
                    made->kind == I_CALL_EX;
    return loop_of_arrays(in, scan->number, computed ? HINT_TURNS : HINT_LOOP_ARRAYS, "%s", why);
}

static Answer
changes_type(Interp *in, const Scan *scan, int slot, const Type *from, const Type *to)
{
    const char *why = loop_type_changes(in, slot, from, to);
    return why == NULL ? ANSWER_ERROR : loop_not_kept(in, scan->number, "%s", why);
}

/* A dtype that Python's number of dtype `from` may become in a loop. */
static bool
may_become(DType from, DType to)
{
    if (from == to || to == DT_C128) return true;
    if (to == DT_F32) return from == DT_F64 || from == DT_I64;
    return to == DT_F64 || to == DT_BOOL ||
           (dtype_is_integer(to) && (from == DT_I64 || to == DT_I64));
}

static bool
is_unsigned_int(const Type *type)
{
    return type->form == FORM_PYTHON && type->dtype == DT_U64;
}

static bool
is_int(const Type *type)
{
    return type->form == FORM_PYTHON && type->dtype == DT_I64;
}

static Answer
without_sign(Interp *in, NodeId *number)
{
    Type type = type_scalar(DT_U64, FORM_PYTHON);
    *number = graph_add(in->graph, in->region, OP_py_int, 1, number, &type, NULL);
    return *number == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

Answer
loop_widened(Interp *in, NodeId carried, NodeId *number)
{
    bool widens = is_unsigned_int(&graph_node(in->graph, carried)->type) &&
                  is_int(&graph_node(in->graph, *number)->type);
    return widens ? without_sign(in, number) : ANSWER_YES;
}

/* A carried local has another type after the body than before it. */
Answer
loop_changes_type(Interp *in, int number, int slot, const Type *from, const Type *type)
{
    LoopName loop = loop_name(in->top, number);
    Answer learnt = may_become(from->dtype, type->dtype) && type->rank == 0
                        ? loop_learn_type(in, &loop, slot, type)
                        : ANSWER_NO;
    if (learnt == ANSWER_ERROR) return learnt;
    if (learnt == ANSWER_NO)
        return loop_unkept(in, number, loop_type_changes(in, slot, from, type));
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

/* The start is what a loop around this one carries, and would be exact as that one's start. */
static Answer
learn_around(Interp *in, const Body *b, NodeId start, const Type *to)
{
    const LoopLocal *local = NULL;
    const Type *from = &graph_node(in->graph, start)->type;
    if (in->loop == NULL || from->form != FORM_PYTHON || !may_become(from->dtype, to->dtype))
        return ANSWER_YES;
    for (int i = 0; i < b->loop->locals.len; i++)
        if (b->loop->locals.at[i].node == start) local = &b->loop->locals.at[i];
    if (local == NULL || loop_learnt_type(in, &local->loop, local->slot) != NULL) return ANSWER_YES;
    if (loop_learn_type(in, &local->loop, local->slot, to) != ANSWER_YES) return ANSWER_ERROR;
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

static bool
is_zero(const Node *node)
{
    PyObject *object = node->op == OP_const ? node->attrs.object : NULL;
    if (object == NULL) return false;
    if (PyLong_CheckExact(object)) return PyObject_Not(object) == 1;
    return PyFloat_CheckExact(object) && PyFloat_AS_DOUBLE(object) == 0 &&
           !signbit(PyFloat_AS_DOUBLE(object));
}

/* The same where that is complex: nothing but 0 is exactly that as a complex number, too
   (loop_either.c). */
static Answer
complex_start(Interp *in, Body *b, const Type *type, int i, NodeId *start)
{
    int slot = b->scan.slot[i];
    bool seen = b->scan.read_first[i] || b->scan.read_end[i];
    const Node *first = graph_node(in->graph, *start);
    bool behind = b->scan.read_after[i] && !b->scan.shape->counts;
    if (seen && (!is_zero(first) || behind))
        return changes_type(in, &b->scan, slot, &first->type, type);
    if (seen && in->loop == NULL && b->scan.shape->counts) b->needs_a_turn = true;
    b->is_zero[b->ncarried] = seen;
    Value *zero = value_const_new(in, PyComplex_FromDoubles(0, 0));
    if (zero == NULL || value_as_unpinned_node(in, zero, start) != ANSWER_YES) return ANSWER_ERROR;
    if (type->form == FORM_PYTHON) return ANSWER_YES;
    *start = graph_add(in->graph, in->region, OP_copy, 1, start, type, NULL);
    return *start == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* The start of a local that the body makes a number of another type. */
static Answer
converted_start(Interp *in, Body *b, const LoopType *learnt, int i, NodeId *start)
{
    int slot = b->scan.slot[i];
    bool read_first = b->scan.read_first[i], seen = read_first || b->scan.read_end[i];
    const Type *from = &graph_node(in->graph, *start)->type;
    Type type = {.dtype = learnt->dtype, .form = learnt->form, .offset = NO_SIZE};
    if (loop_same_scalar(&type, from)) return ANSWER_YES;
    if (is_unsigned_int(&type) && is_int(from)) return without_sign(in, start);
    if (type.dtype == DT_C128 && from->dtype != DT_C128)
        return complex_start(in, b, &type, i, start);
    bool elsewhere = learnt->loop.calls != in->top->calls;
    if (elsewhere && from->form == FORM_SCALAR) return ANSWER_YES;
    /* The first operation of NumPy's scalars, and of Python's with a narrow operand, computes in
       another type. */
    if (read_first && from->form == FORM_SCALAR)
        return changes_type(in, &b->scan, slot, from, &type);
    bool fits = loop_const_fits(graph_node(in->graph, *start), type.dtype);
    bool was_complex = dtype_is_complex(from->dtype) && !dtype_is_complex(type.dtype);
    bool number =
        fits || type.dtype == from->dtype ||
        (!was_complex && (type.dtype == DT_F64 || (type.dtype == DT_I64 && from->dtype != DT_F64)));
    bool large =
        from->dtype == DT_I64 && type.dtype == DT_F64 && from->form == FORM_PYTHON && !fits;
    if (seen && (large || !number)) TRY(learn_around(in, b, *start, &type));
    if (large && seen)
        return loop_not_kept(in, b->scan.number,
                             "'%s' is an int before it and a float in it (begin with a float)",
                             loop_slot_text(in, slot));
    if (seen && in->loop == NULL && b->scan.shape->counts) b->needs_a_turn = true;
    b->keeps_type[b->ncarried] = number && seen;
    b->keeps_int[b->ncarried] = number && seen && !same_kind(type.dtype, from->dtype);
    if (seen && !number && (read_first || !b->needs_a_turn))
        return changes_type(in, &b->scan, slot, from, &type);
    Op op = type.form == FORM_SCALAR ? OP_cast : python_conversion(type.dtype);
    bool python = from->form == FORM_PYTHON;
    b->was_weak[b->ncarried] = python && type.form == FORM_SCALAR;
    if (was_complex) { /* never read, and no conversion takes it */
        Value *zero = value_const_new(in, PyLong_FromLong(0));
        if (zero == NULL || value_as_unpinned_node(in, zero, start) != ANSWER_YES)
            return ANSWER_ERROR;
    }
    *start = graph_add(in->graph, in->region, op, 1, start, &type, NULL);
    return *start == NO_NODE || (python && VEC_PUSH(in->arena, &b->loop->python, *start) < 0)
               ? ANSWER_ERROR
               : ANSWER_YES;
}

/* The number that an earlier loop has left of one class or the other; NULL: it is no such number.
   The class is carried with it. */
static const LoopPick *
picked_before(Interp *in, const Value *value)
{
    for (int i = 0; in->loop == NULL && i < in->picks.len; i++)
        if (in->picks.at[i].picked == value) return &in->picks.at[i];
    return NULL;
}

static Answer
picked_start(Interp *in, Body *b, const LoopPick *pick, int i, NodeId *start)
{
    bool seen = b->scan.read_first[i] || b->scan.read_end[i];
    Answer answer = value_as_unpinned_node(in, pick->number, start);
    NodeId flag;
    if (answer == ANSWER_YES) answer = value_as_unpinned_node(in, pick->is_numpy, &flag);
    if (answer != ANSWER_YES) return answer;
    b->keeps_type[b->ncarried] = true;
    b->keeps_int[b->ncarried] =
        !same_kind(pick->python, (DType)graph_node(in->graph, *start)->type.dtype);
    b->needs_a_turn |= seen && b->scan.shape->counts;
    return VEC_PUSH(in->arena, &b->loop->starts, *pick) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* The initial value of a carried local, as a node of the type that the local keeps. */
Answer
loop_carried_start(Interp *in, Body *b, int i)
{
    int slot = b->scan.slot[i];
    NodeId *start = &b->args[3 + b->ncarried];
    LoopName loop = loop_name(in->top, b->scan.number);
    const LoopType *learnt = loop_learnt_type(in, &loop, slot);
    const LoopAttribute *attribute = loop_attribute(b, slot);
    Value *value = attribute != NULL ? attribute->start : in->top->slots[slot];
    if (value == NULL && (value = slot_load(in, in->top, slot)) == NULL) return ANSWER_ERROR;
    if (value->kind == V_UNBOUND || value->kind == V_LOST) {
        /* Stored before it is read: its initial value is not used.  What seems to be read first may
           be the variable of a loop inside, which makes a turn. */
        bool inner = b->scan.read_end[i] && in->loop != NULL;
        if (inner && !b->scan.shape->counts) return not_a_number(in, &b->scan, slot, value);
        b->hides[b->ncarried] = b->scan.read_first[i];
        b->unset[b->ncarried] = true;
        b->asserts_a_turn |= inner;
        b->needs_a_turn |= b->scan.read_end[i] && !inner;
        value = value_const_new(in, PyLong_FromLong(0));
        if (value == NULL) return ANSWER_ERROR;
    }
    if (holds_array(in, value)) return not_a_number(in, &b->scan, slot, value);
    const LoopPick *pick = picked_before(in, value);
    Answer answer =
        pick != NULL ? picked_start(in, b, pick, i, start) : value_wide_node(in, value, start);
    if (answer == ANSWER_NO) answer = value_as_unpinned_node(in, value, start);
    if (answer == ANSWER_NO) return not_a_number(in, &b->scan, slot, value);
    if (answer == ANSWER_YES && graph_node(in->graph, *start)->type.dtype == DT_OBJECT)
        return loop_not_kept(
            in, b->scan.number,
            "what '%s' holds before it is of a class known only when the code runs",
            loop_slot_text(in, slot));
    if (answer == ANSWER_YES && learnt != NULL) answer = converted_start(in, b, learnt, i, start);
    b->class[b->ncarried] = (LoopClass){.place = b->ncarried, .wanted = b->scan.read_after[i]};
    b->carried[b->ncarried++] = slot;
    return answer;
}

Answer
loop_slot_changes(Interp *in, int slot, const Value *x, const Value *y)
{
    LoopName loop = loop_name(in->top, in->turn->shape->top);
    const Value *both[2] = {x, y};
    for (int i = 0; i < 2; i++) {
        if (both[i]->kind != V_NODE || both[1 - i]->kind != V_NODE) continue;
        const Node *param = graph_node(in->graph, both[i]->node);
        const Type *type = &graph_node(in->graph, both[1 - i]->node)->type;
        DType from = (DType)param->type.dtype, to = (DType)type->dtype;
        bool carried = param->op == OP_input && param->type.form == FORM_PYTHON;
        bool becomes = (from == DT_I64 && to != DT_I64 && to != DT_BOOL) || to == DT_F32;
        if (carried && type->form == FORM_SCALAR && becomes && may_become(from, to) &&
            loop_learnt_type(in, &loop, slot) == NULL)
            return loop_changes_type(in, in->turn->shape->top, slot, &param->type, type);
    }
    return ANSWER_YES;
}

/* A value of a dtype in which Python's number `weak` (DT_F64 or DT_I64) would be computed with in
   fewer bits; NULL: there is none. */
static const Node *
narrow_node(const Graph *g, RegionId region, DType weak)
{
    const Region *body = &g->regions.at[region];
    for (int i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        DType dtype = (DType)node->type.dtype;
        bool wide = dtype == DT_F64 || dtype == DT_I64 || dtype == DT_BOOL || dtype == DT_OBJECT ||
                    (weak == DT_F64 && dtype_is_integer(dtype));
        if (!wide) return node;
        for (int r = 0; r < 2; r++) {
            const Node *inner =
                node->region[r] != NO_REGION ? narrow_node(g, node->region[r], weak) : NULL;
            if (inner != NULL) return inner;
        }
    }
    return NULL;
}

/* A weak number was made a scalar before the loop, and meets a narrower operand: the first
   iteration would have computed in the narrow type.  Its place in what is carried, and that
   operand; or -1. */
static int
start_was_weak(Interp *in, const Body *b, const Node **narrow)
{
    for (int i = 0; i < b->ncarried; i++) {
        DType dtype = (DType)graph_node(in->graph, b->args[3 + i])->type.dtype;
        bool wide = dtype == DT_F64 || dtype == DT_I64;
        if (b->was_weak[i] && wide && (*narrow = narrow_node(in->graph, b->region, dtype)) != NULL)
            return i;
    }
    return -1;
}

Answer
loop_meets_narrow(Interp *in, const Body *b)
{
    const Node *narrow;
    int i = start_was_weak(in, b, &narrow);
    if (i < 0) return ANSWER_YES;
    const char *name = dtype_long_name((DType)graph_node(in->graph, b->args[3 + i])->type.dtype);
    return loop_unkept(in, b->scan.number,
                       arena_printf(in->arena,
                                    "'%s' begins as Python's number and becomes a numpy.%s, in a "
                                    "loop that computes with numpy.%s, too, line %d (begin with "
                                    "np.%s(...))",
                                    loop_slot_text(in, b->carried[i]), name,
                                    dtype_long_name((DType)narrow->type.dtype), (int)narrow->line,
                                    name));
}
