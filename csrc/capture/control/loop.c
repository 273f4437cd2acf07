/* `for` over ranges and arrays (loop_items.c) and `while`, with element reads and writes, kept as a
   loop region instead of unrolled.

   The body may hold branches, and loops of the same kind.  What it stores to locals is carried from
   iteration to iteration, and so is the version of each array that it writes.  Sizes stay symbols
   and nothing about shapes is guarded, so one plan serves every length.  A loop that can be left
   from inside carries the number of the exit, too (attrs.ints[0] of the node), and ends when that
   is not 0; a `while` goes over a range without end.

   1. loop_scan looks at the instructions: which locals and which arrays are stored.
   2. The loop node is made with the values so far; its region's params stand for them.
   3. The body is followed once with the region as the current one.
   4. What the stored locals hold then are the region's results.  A local that changes its type
      (s = 0.0, then an np.float64) is learnt and the whole capture starts again with it converted
      beforehand; anything else that does not fit is learnt too, and the loop is unrolled.

   In the first turn, and where an inner loop makes none, such a local has the type that it had
   before.  The value is the same number in both types, and may be used where the type makes no
   difference (Loop.either). */
#include "loop.h"

#include <stdio.h>

/* ---- 2. before the body ---- */

static bool
same_scalar(const Type *a, const Type *b)
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

static const char *
slot_text(Interp *in, int slot)
{
    return text_of_str(code_slot_name(in->top->decoded->code, slot));
}

static Answer
not_a_number(Interp *in, const Scan *scan, int slot)
{
    return loop_not_kept(in, scan->number, "it stores '%s', which holds no number before it",
                         slot_text(in, slot));
}

/* A loop while it is captured. */
typedef struct {
    Scan scan;
    const Value *iterator; /* NULL: a `while` */
    Loop *loop;            /* of the outermost loop */
    NodeId node;
    RegionId region, outer;
    NodeId args[4 + 2 * MOST];       /* start, stop, step; what is carried; versions of arrays */
    int ncarried, carried[MOST + 1]; /* locals; -1: the number of the exit */
    bool keeps_type[MOST + 1];       /* without a turn the carried local has another type … */
    bool keeps_int[MOST + 1];        /* … an int in place of a float, or the reverse */
    bool was_weak[MOST + 1];         /* … and was Python's number */
    LoopClass class[MOST + 1];
    bool leaves;
    int narrays, array[MOST]; /* indices into loop->array */
    bool needs_a_turn;
} Body;

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
    if (to == DT_F32) return from == DT_F64 || from == DT_I64;
    return to == DT_F64 || to == DT_BOOL ||
           (dtype_is_integer(to) && (from == DT_I64 || to == DT_I64));
}

/* A carried local has another type after the body than before it. */
static Answer
learn_type(Interp *in, int number, int slot, const Type *from, const Type *type)
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

/* The start of a local that the body makes a number of another type. */
static Answer
converted_start(Interp *in, Body *b, const LoopType *learnt, int i, NodeId *start)
{
    int slot = b->scan.slot[i];
    bool read_first = b->scan.read_first[i], seen = read_first || b->scan.read_end[i];
    const Type *from = &graph_node(in->graph, *start)->type;
    Type type = {.dtype = learnt->dtype, .form = learnt->form, .offset = NO_SIZE};
    if (same_scalar(&type, from)) return ANSWER_YES;
    bool elsewhere = learnt->loop.calls != in->top->calls;
    if (elsewhere && from->form == FORM_SCALAR) return ANSWER_YES;
    /* The first operation of NumPy's scalars, and of Python's with a narrow operand, computes in
       another type. */
    if (read_first && from->form == FORM_SCALAR)
        return changes_type(in, &b->scan, slot, from, &type);
    bool fits = loop_const_fits(graph_node(in->graph, *start), type.dtype);
    bool number = fits || type.dtype == DT_F64 || (type.dtype == DT_I64 && from->dtype != DT_F64);
    bool large =
        from->dtype == DT_I64 && type.dtype == DT_F64 && from->form == FORM_PYTHON && !fits;
    if (seen && (large || !number)) TRY(learn_around(in, b, *start, &type));
    if (large && seen)
        return loop_not_kept(in, b->scan.number,
                             "'%s' is an int before it and a float in it (begin with a float)",
                             slot_text(in, slot));
    if (seen && in->loop == NULL && b->scan.shape->counts) b->needs_a_turn = true;
    b->keeps_type[b->ncarried] = number && seen;
    b->keeps_int[b->ncarried] = number && seen && !same_kind(type.dtype, from->dtype);
    if (seen && !number && (read_first || !b->needs_a_turn))
        return changes_type(in, &b->scan, slot, from, &type);
    Op op = type.form == FORM_SCALAR ? OP_cast : type.dtype == DT_F64 ? OP_py_float : OP_py_int;
    bool python = from->form == FORM_PYTHON;
    b->was_weak[b->ncarried] = python && type.form == FORM_SCALAR;
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
    Answer answer = value_as_loose_node(in, pick->number, start);
    NodeId flag;
    if (answer == ANSWER_YES) answer = value_as_loose_node(in, pick->is_numpy, &flag);
    if (answer != ANSWER_YES) return answer;
    b->keeps_type[b->ncarried] = true;
    b->keeps_int[b->ncarried] =
        !same_kind(pick->python, (DType)graph_node(in->graph, *start)->type.dtype);
    b->needs_a_turn |= seen && b->scan.shape->counts;
    return VEC_PUSH(in->arena, &b->loop->starts, *pick) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* The initial value of a carried local, as a node of the type that the local keeps. */
static Answer
carried_start(Interp *in, Body *b, int i)
{
    int slot = b->scan.slot[i];
    NodeId *start = &b->args[3 + b->ncarried];
    LoopName loop = loop_name(in->top, b->scan.number);
    const LoopType *learnt = loop_learnt_type(in, &loop, slot);
    Value *value = in->top->slots[slot];
    if (value == NULL && (value = slot_load(in, in->top, slot)) == NULL) return ANSWER_ERROR;
    if (value->kind == V_UNBOUND || value->kind == V_LOST) {
        /* stored before it is read: its initial value is not used */
        if (b->scan.read_first[i] || (b->scan.read_end[i] && in->loop != NULL))
            return not_a_number(in, &b->scan, slot);
        b->needs_a_turn |= b->scan.read_end[i];
        value = value_const_new(in, PyLong_FromLong(0));
        if (value == NULL) return ANSWER_ERROR;
    }
    if (value_is_array(in, value)) return not_a_number(in, &b->scan, slot);
    const LoopPick *pick = picked_before(in, value);
    Answer answer =
        pick != NULL ? picked_start(in, b, pick, i, start) : value_as_loose_node(in, value, start);
    if (answer == ANSWER_NO) return not_a_number(in, &b->scan, slot);
    if (answer == ANSWER_YES && graph_node(in->graph, *start)->type.dtype == DT_OBJECT)
        return loop_not_kept(
            in, b->scan.number,
            "what '%s' holds before it is of a class known only when the code runs",
            slot_text(in, slot));
    if (answer == ANSWER_YES && learnt != NULL) answer = converted_start(in, b, learnt, i, start);
    b->class[b->ncarried] = (LoopClass){.place = b->ncarried, .wanted = b->scan.read_after[i]};
    b->carried[b->ncarried++] = slot;
    return answer;
}

/* Guards that the loop runs at least once. */
static Answer
runs_once(Interp *in, const Body *b)
{
    bool holds = false;
    Answer answer = loop_makes_a_turn(in, b->iterator, &holds);
    if (answer != ANSWER_YES) return answer;
    return holds ? ANSWER_YES : loop_not_kept(in, b->scan.number, "it makes no turn");
}

/* A constant int as a node. */
static Answer
int_node(Interp *in, long long number, NodeId *out)
{
    Value *value = value_const_new(in, PyLong_FromLongLong(number));
    return value == NULL ? ANSWER_ERROR : value_as_loose_node(in, value, out);
}

/* `range` is NULL for a loop without end. */
static Answer
bounds(Interp *in, Value *range, NodeId *args)
{
    const long long endless[3] = {0, INT64_MAX, 1};
    for (int i = 0; i < 3 && range == NULL; i++)
        if (int_node(in, endless[i], &args[i]) != ANSWER_YES) return ANSWER_ERROR;
    if (range == NULL) return ANSWER_YES;
    for (int i = 0; i < 3; i++) {
        Answer answer = value_as_loose_node(in, range->items[i], &args[i]);
        if (answer != ANSWER_YES) return answer;
        if (graph_node(in->graph, args[i])->type.dtype != DT_I64) return ANSWER_NO;
    }
    int64_t step;
    Answer answer = value_as_int(in, range->items[2], &step);
    if (answer == ANSWER_NO && in->loop != NULL) return ANSWER_YES; /* checked when it runs */
    return answer == ANSWER_YES && step == 0 ? ANSWER_NO : answer;
}

/* Why elements of the local cannot be written in the loop, or NULL. */
static const char *
unfit_array(Interp *in, const Scan *scan, int slot, const Value *array)
{
    if (value_is_opaque(in, array)) return "has a shape that is only known when the code runs";
    if (!value_is_array(in, array)) return "is no array";
    const Node *node = graph_node(in->graph, array->node);
    if (node->type.rank < 1) return "has no axes";
    if (node->type.rank > LOOP_RANK) return "has too many axes";
    if (node->storage != array->node) return "is a view";
    return find(scan->slot, scan->nslots, slot) >= 0 ? "becomes another object in it" : NULL;
}

/* ANSWER_YES: it cannot begin a graph of its own, to which the array's shape would be no matter. */
static Answer
may_begin_graph(Interp *in, const LoopShape *shape, Value *array, int slot)
{
    if (opaque_sample(in, array) == NULL) return ANSWER_YES;
    const char *name =
        slot < 0 ? value_describe(in, array) : arena_printf(in->arena, "'%s'", slot_text(in, slot));
    Answer answer = name == NULL ? ANSWER_ERROR : loop_begins_graph(in, shape, name);
    return answer == ANSWER_NO ? ANSWER_YES : answer;
}

/* The loop carries the array.  `slot`: the variable that has it, or -1. */
static Answer
carry_array(Interp *in, Body *b, Value *array, int slot)
{
    Loop *loop = b->loop;
    const char *why = unfit_array(in, &b->scan, slot, array);
    if (value_is_opaque(in, array)) TRY(may_begin_graph(in, b->scan.shape, array, slot));
    if (why != NULL && slot < 0)
        return loop_not_kept(in, b->scan.number, "it writes elements of %s, which %s",
                             value_describe(in, array), why);
    if (why != NULL)
        return loop_not_kept(in, b->scan.number, "it writes elements of '%s', which %s",
                             slot_text(in, slot), why);
    TRY(write_allowed(in, array));
    if (in->loop != NULL) TRY(loop_writes(in, array));
    int number = 0;
    while (number < loop->narrays && loop->array[number] != array) number++;
    if (find(b->array, b->narrays, number) >= 0) return ANSWER_YES;
    if (b->narrays == MOST) return loop_not_kept(in, b->scan.number, "it writes too many arrays");
    if (number == loop->narrays) { /* an inner loop's arrays are the outer one's */
        loop->array[loop->narrays] = array;
        loop->version[loop->narrays] = array_current(in, array->node);
        if (loop->version[loop->narrays++] == NO_NODE) return ANSWER_ERROR;
    }
    b->args[3 + b->ncarried + b->narrays] = loop->version[number];
    b->array[b->narrays++] = number;
    return ANSWER_YES;
}

static Answer
arrays_ready(Interp *in, Body *b)
{
    Value *learnt[MOST];
    for (int i = 0; i < b->scan.narrays; i++) {
        int slot = b->scan.array_slot[i], stored = find(b->scan.slot, b->scan.nslots, slot);
        if (stored >= 0 && !b->scan.read_first[stored]) continue; /* learnt at the store */
        Value *array = slot_load(in, in->top, slot);
        if (array != NULL && array->kind == V_CELL) TRY(cell_load(in, array, &array));
        if (array == NULL) return ANSWER_ERROR;
        array = part_whole(array);
        TRY(carry_array(in, b, array, slot));
    }
    int n = loop_written(in, b->scan.number, learnt);
    if (n < 0) return ANSWER_ERROR;
    for (int i = 0; i < n; i++) TRY(carry_array(in, b, learnt[i], -1));
    return ANSWER_YES;
}

/* ---- 3 and 4. the body and what comes out ---- */

static NodeId not_scalar(const Graph *g, RegionId region);

/* The node, or one in its regions, that has no native form in a loop; NO_NODE: all have. */
static NodeId
odd_node(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    switch (op_info(node->op)->kind) {
    case KIND_CONST: return node->type.rank == 0 ? NO_NODE : id;
    case KIND_POINTWISE:
    case KIND_PYTHON: return node->type.rank == 0 && node_is_expression(g, node) ? NO_NODE : id;
    case KIND_COPY: return node->type.rank == 0 ? NO_NODE : id;
    case KIND_ELEMENT:
    case KIND_INPUT: return NO_NODE;
    case KIND_RESULT:
        return op_info(graph_node(g, node->args[0])->op)->kind == KIND_REGION ? NO_NODE : id;
    case KIND_REGION:
        for (int r = 0; r < 2; r++) {
            NodeId odd = node->region[r] != NO_REGION ? not_scalar(g, node->region[r]) : NO_NODE;
            if (odd != NO_NODE) return odd;
        }
        return NO_NODE;
    default: return id;
    }
}

static NodeId
not_scalar(const Graph *g, RegionId region)
{
    const Region *body = &g->regions.at[region];
    for (int i = 0; i < body->nodes.len; i++) {
        NodeId odd = odd_node(g, body->nodes.at[i]);
        if (odd != NO_NODE) return odd;
    }
    return NO_NODE;
}

void
loop_to_end(Graph *g, RegionId region, NodeId loop)
{
    Region *outer = &g->regions.at[region];
    int at = 0;
    while (outer->nodes.at[at] != loop) at++;
    memmove(&outer->nodes.at[at], &outer->nodes.at[at + 1],
            (size_t)(outer->nodes.len - at - 1) * sizeof(NodeId));
    outer->nodes.at[outer->nodes.len - 1] = loop;
}

/* Does the text name a line already, as that of an inner loop does? */
static bool
names_line(const char *text)
{
    const char *at = strstr(text, "line ");
    return at != NULL && at[5] >= '0' && at[5] <= '9';
}

/* The break in the body, in words; of an inner loop that is not kept, what that was refused for. */
static const char *
body_broke(Interp *in, int number)
{
    Arena *arena = in->attempt.learn_arena;
    const Break *broke = &in->told;
    const BreakFrame *at = &broke->frames[0];
    int line = at->line;
    const char *inner = NULL, *function = text_of_str(in->top->decoded->code->co_qualname);
    if (in->top->number != number && loop_refusal(in, in->top->number, &inner) < 0) return NULL;
    if (inner != NULL) return arena_copy(arena, inner, strlen(inner) + 1);
    const char *of = "";
    if (strcmp(at->function, function) != 0 &&
        (of = arena_printf(arena, " of '%s'", at->function)) == NULL)
        return NULL;
    if (*broke->detail == '\0')
        return arena_printf(arena, "%s, line %d%s", break_text(broke->code), line, of);
    if (broke->code == BREAK_BRANCH)
        return arena_printf(arena, "the branch of line %d%s: %s", line, of, broke->detail);
    return names_line(broke->detail)
               ? arena_copy(arena, broke->detail, strlen(broke->detail) + 1)
               : arena_printf(arena, "%s, line %d%s", broke->detail, line, of);
}

/* A loop that is unrolled can merge branches that one that stays a loop cannot. */
static void
forget_branches(Marks *marks)
{
    int kept = 0;
    for (int i = 0; i < marks->branches.len; i++)
        if (!marks->branches.at[i].in_loop) marks->branches.at[kept++] = marks->branches.at[i];
    marks->branches.len = kept;
}

Answer
loop_unkept(Interp *in, int number, const char *why)
{
    if (why == NULL) return ANSWER_ERROR;
    if (in->attempt.again) return ANSWER_BREAK; /* what an inner loop has learnt comes first */
    forget_branches(in->attempt.learn);
    why = in->break_code != BREAK_NONE ? body_broke(in, number)
                                       : arena_copy(in->attempt.learn_arena, why, strlen(why) + 1);
    if (why == NULL || loop_learn_refusal(in, number, (char *)why) < 0) return ANSWER_ERROR;
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

/* A dtype among the node's arguments in which few operations have a native form; NULL: none. */
static const char *
rare_dtype(const Graph *g, const Node *node)
{
    for (int i = 0; i < node->nargs; i++) {
        DType dtype = (DType)graph_node(g, node->args[i])->type.dtype;
        if (dtype != DT_F64 && dtype != DT_I64 && dtype != DT_BOOL && dtype != DT_OBJECT)
            return dtype_long_name(dtype);
    }
    return NULL;
}

/* An operation of the body has no native form. */
static Answer
learn_odd(Interp *in, int number, NodeId odd)
{
    const Node *node = graph_node(in->graph, odd);
    bool call = op_info(node->op)->kind == KIND_EXTERN;
    Value *called = call ? value_const(in, node->attrs.object) : NULL;
    if (call && called == NULL) return ANSWER_ERROR;
    const char *rare = rare_dtype(in->graph, node);
    bool ufunc = op_info(node->op)->kind == KIND_UFUNC;
    const char *name = call    ? value_describe(in, called)
                       : ufunc ? ufunc_name(node->attrs.object)
                               : op_info(node->op)->name;
    return loop_unkept(in, number,
                       arena_printf(in->arena,
                                    "%s '%s'%s%s, line %d, which has no native form in a loop",
                                    call || ufunc ? "a call of" : "the operation", name,
                                    rare ? " on a numpy." : "", rare ? rare : "", (int)node->line));
}

/* The body prints, stores an attribute (effects from number `first` on), or changes a list that was
   made before (`changed`, else NULL). */
static Answer
learn_effect(Interp *in, int number, int first, Value *changed)
{
    for (int i = first; i < in->writes.effects.len; i++) {
        const Effect *effect = &in->writes.effects.at[i];
        if (effect->what == NULL) continue;
        return loop_unkept(
            in, number,
            arena_printf(in->arena, "a call of '%s', line %d", effect->what, effect->at.line));
    }
    const char *object = changed != NULL ? value_named(in, changed) : "";
    if (object == NULL) return ANSWER_ERROR;
    return loop_unkept(in, number,
                       arena_printf(in->arena, "it changes an object other than arrays%s%s",
                                    *object != '\0' ? ": " : "", object));
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
            return learn_type(in, in->turn->shape->top, slot, &param->type, type);
    }
    return ANSWER_YES;
}

/* Is there a value of a dtype in which Python's number `weak` (DT_F64 or DT_I64) would be computed
   with in fewer bits? */
static bool
has_narrow(const Graph *g, RegionId region, DType weak)
{
    const Region *body = &g->regions.at[region];
    for (int i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        DType dtype = (DType)node->type.dtype;
        bool wide = dtype == DT_F64 || dtype == DT_I64 || dtype == DT_BOOL || dtype == DT_OBJECT ||
                    (weak == DT_F64 && dtype_is_integer(dtype));
        if (!wide) return true;
        for (int r = 0; r < 2; r++)
            if (node->region[r] != NO_REGION && has_narrow(g, node->region[r], weak)) return true;
    }
    return false;
}

/* A weak number was made a scalar before the loop, and meets a narrower operand: the first
   iteration would have computed in the narrow type.  Its place in what is carried, or -1. */
static int
start_was_weak(Interp *in, const Body *b)
{
    for (int i = 0; i < b->ncarried; i++) {
        DType dtype = (DType)graph_node(in->graph, b->args[3 + i])->type.dtype;
        bool wide = dtype == DT_F64 || dtype == DT_I64;
        if (b->was_weak[i] && wide && has_narrow(in->graph, b->region, dtype)) return i;
    }
    return -1;
}

static Answer
meets_narrow(Interp *in, const Body *b, int i)
{
    const char *name = dtype_long_name((DType)graph_node(in->graph, b->args[3 + i])->type.dtype);
    return loop_unkept(in, b->scan.number,
                       arena_printf(in->arena,
                                    "'%s' begins as Python's number and meets numbers of fewer "
                                    "bits than numpy.%s (begin with np.%s(...))",
                                    slot_text(in, b->carried[i]), name, name));
}

/* What is carried to the next turn cannot be. */
static Answer
no_number(Interp *in, const Body *b, int i, Value *value)
{
    const char *what = value != NULL ? value_describe(in, value) : "nothing";
    if (b->carried[i] < 0) return loop_unkept(in, b->scan.number, "it stores what is no number");
    return loop_unkept(in, b->scan.number,
                       arena_printf(in->arena, "'%s' is no number after a turn, but %s",
                                    slot_text(in, b->carried[i]), what));
}

static Answer
body_results(Interp *in, const Body *b, Value *leaves)
{
    Graph *g = in->graph;
    for (int i = 0; i < b->ncarried; i++) {
        Value *value = b->carried[i] < 0 ? leaves : in->top->slots[b->carried[i]];
        NodeId node;
        Answer answer = value ? value_as_loose_node(in, value, &node) : ANSWER_NO;
        if (answer == ANSWER_ERROR) return answer;
        if (answer == ANSWER_NO) return no_number(in, b, i, value);
        const Type *type = &graph_node(g, node)->type;
        if (!same_scalar(type, &graph_node(g, b->args[3 + i])->type))
            return learn_type(in, b->scan.number, b->carried[i],
                              &graph_node(g, b->args[3 + i])->type, type);
        if (VEC_PUSH(g->arena, &g->regions.at[b->region].results, node) < 0) return ANSWER_ERROR;
    }
    int weak = start_was_weak(in, b);
    if (weak >= 0) return meets_narrow(in, b, weak);
    for (int i = 0; i < b->narrays; i++)
        if (VEC_PUSH(g->arena, &g->regions.at[b->region].results, b->loop->version[b->array[i]]) <
            0)
            return ANSWER_ERROR;
    return ANSWER_YES;
}

static int
note_local(Interp *in, const Body *b, int i, NodeId node)
{
    LoopLocal local = {.node = node,
                       .loop = loop_name(in->top, b->scan.number),
                       .slot = b->carried[i],
                       .name = slot_text(in, b->carried[i])};
    return VEC_PUSH(in->arena, &b->loop->locals, local);
}

static int
note_either(Interp *in, const Body *b, int i, NodeId node)
{
    return loop_note_either(in, b->loop, node, b->keeps_int[i]);
}

/* Makes the params that stand for what is carried. */
static Answer
make_params(Interp *in, Body *b, Value **item)
{
    Graph *g = in->graph;
    Activation *a = in->top;
    Type index_type = {.dtype = DT_I64, .form = FORM_PYTHON, .offset = NO_SIZE};
    NodeId index = graph_input(g, b->region, &index_type);
    *item = index == NO_NODE ? NULL : value_node(in, index);
    if (*item == NULL) return ANSWER_ERROR;
    for (int i = 0; i < b->ncarried + b->narrays; i++) {
        Type type = graph_node(g, b->args[3 + i])->type;
        NodeId param = graph_input(g, b->region, &type);
        if (param == NO_NODE) return ANSWER_ERROR;
        if (i >= b->ncarried)
            b->loop->version[b->array[i - b->ncarried]] = param;
        else if (b->carried[i] >= 0 && ((a->slots[b->carried[i]] = value_node(in, param)) == NULL ||
                                        note_local(in, b, i, param) < 0 ||
                                        (b->keeps_type[i] && note_either(in, b, i, param) < 0)))
            return ANSWER_ERROR;
    }
    for (int i = 0; i < b->scan.nslots; i++) /* stored before read: none from outside */
        if (find(b->carried, b->ncarried, b->scan.slot[i]) < 0)
            a->slots[b->scan.slot[i]] = in->unbound;
    return ANSWER_YES;
}

/* Follows the body; the locals then hold the values of one iteration, in terms of the params, and
 *leaves the number of the exit. */
static Answer
follow_body(Interp *in, Body *b, Value **leaves)
{
    Value *item;
    if ((b->region = graph_region(in->graph, b->node)) == NO_REGION) return ANSWER_ERROR;
    graph_node(in->graph, b->node)->region[0] = b->region;
    Answer answer = make_params(in, b, &item);
    if (answer != ANSWER_YES) return answer;
    Loop *outer = in->loop;
    const LoopShape *shape = b->scan.shape;
    Turn turn = {
        .shape = b->scan.shape, .of = in->top, .made = in->attempt.values.len, .around = in->turn};
    for (int i = 0; i < b->narrays; i++) turn.writes |= 1u << b->array[i];
    in->region = b->region;
    in->loop = b->loop;
    in->turn = &turn;
    in->top->number = shape->begin + shape->counts;
    if (shape->counts) answer = loop_item(in, b->iterator, item, &item);
    if (answer == ANSWER_YES && shape->counts && push(in, item) < 0) answer = ANSWER_ERROR;
    if (answer == ANSWER_YES) answer = interp_turn(in);
    in->region = b->outer;
    in->loop = outer;
    in->turn = turn.around;
    *leaves = turn.leaves;
    return answer;
}

static Answer
loop_result(Interp *in, const Body *b, int index, NodeId *out)
{
    Type type = graph_node(in->graph, b->args[3 + index])->type;
    Attrs attrs = {.index = index};
    *out = graph_add(in->graph, b->outer, OP_result, 1, &b->node, &type, &attrs);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* The number that the outermost loop carried in place `i`, of the class that it has. */
static Answer
take_class(Interp *in, const Body *b, int i, Value **number)
{
    const LoopClass *class = &b->class[i];
    if (b->carried[i] < 0 || !class->wanted || class->flag < 0) return ANSWER_YES;
    Type type = {.dtype = DT_BOOL, .form = FORM_PYTHON, .offset = NO_SIZE};
    Attrs attrs = {.index = class->flag};
    NodeId flag = graph_add(in->graph, b->outer, OP_result, 1, &b->node, &type, &attrs);
    Value *is_numpy = flag == NO_NODE ? NULL : value_node(in, flag);
    LoopPick pick = {.number = *number, .is_numpy = is_numpy, .python = class->python};
    if (is_numpy == NULL) return ANSWER_ERROR;
    Answer answer = loop_pick_class(in, *number, is_numpy, class->python, &pick.picked);
    *number = pick.picked;
    return answer == ANSWER_YES && VEC_PUSH(in->arena, &in->picks, pick) < 0 ? ANSWER_ERROR
                                                                             : answer;
}

/* What is carried, after the loop; *leaves: the number of the exit. */
static Answer
take_results(Interp *in, Body *b, Value **leaves)
{
    Activation *a = in->top;
    Loop *loop = b->loop;
    for (int i = 0; i < b->scan.nslots; i++)
        a->slots[b->scan.slot[i]] = in->unbound; /* temporaries are not kept */
    for (int i = 0; i < b->ncarried + b->narrays; i++) {
        NodeId result;
        if (loop_result(in, b, i, &result) != ANSWER_YES) return ANSWER_ERROR;
        if (i < b->ncarried) {
            Value **to = b->carried[i] < 0 ? leaves : &a->slots[b->carried[i]];
            if ((*to = value_node(in, result)) == NULL) return ANSWER_ERROR;
            Answer answer = in->loop == NULL ? take_class(in, b, i, to) : ANSWER_YES;
            if (answer != ANSWER_YES) return answer;
            if (b->keeps_type[i] && in->loop != NULL && note_either(in, b, i, result) < 0)
                return ANSWER_ERROR;
            continue;
        }
        int number = b->array[i - b->ncarried];
        loop->version[number] = result;
        if (in->loop == NULL && storage_write(in, loop->array[number]->node, result) < 0)
            return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* The loop node with what comes before the body. */
static Answer
begin_loop(Interp *in, Body *b)
{
    Value *range = NULL;
    Answer answer = b->iterator != NULL ? loop_range(in, b->iterator, &range) : ANSWER_YES;
    if (answer == ANSWER_YES) answer = bounds(in, range, b->args);
    if (answer == ANSWER_NO)
        return loop_not_kept(in, b->scan.number, "its range is none of plain ints");
    for (int i = 0; answer == ANSWER_YES && i < b->scan.nslots; i++)
        if (b->scan.read_first[i] || b->scan.read_after[i]) answer = carried_start(in, b, i);
    b->leaves = b->scan.shape->nexits > 1;
    if (answer == ANSWER_YES && b->leaves) {
        b->carried[b->ncarried] = -1;
        answer = int_node(in, 0, &b->args[3 + b->ncarried++]);
    }
    if (answer == ANSWER_YES) answer = arrays_ready(in, b);
    if (answer == ANSWER_YES && b->needs_a_turn) answer = runs_once(in, b);
    if (answer != ANSWER_YES) return answer;
    Type none = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    int nargs = 3 + b->ncarried + b->narrays;
    Attrs attrs = {.nints = b->leaves};
    int64_t last = b->ncarried - 1;
    if (b->leaves && (attrs.ints = arena_copy(in->arena, &last, sizeof last)) == NULL)
        return ANSWER_ERROR;
    b->node = graph_add(in->graph, b->outer, OP_loop, nargs, b->args, &none, &attrs);
    if (in->loop == NULL) b->loop->top = b->node;
    return b->node == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* Follows the body and closes the region. */
static Answer
end_loop(Interp *in, Body *b)
{
    int number = b->scan.number, effects = in->writes.effects.len;
    World before;
    Value *leaves = NULL;
    if (world_save(in, &before) < 0) return ANSWER_ERROR;
    Answer answer = follow_body(in, b, &leaves);
    if (answer == ANSWER_ERROR) return answer;
    Value *changed = world_changed(&before);
    if (answer != ANSWER_YES || in->writes.effects.len != effects || changed != NULL)
        return learn_effect(in, number, effects, changed);
    NodeId odd = not_scalar(in->graph, b->region);
    if (odd != NO_NODE) return learn_odd(in, number, odd);
    in->region = b->region;
    answer = body_results(in, b, leaves);
    in->region = b->outer;
    if (answer != ANSWER_YES) return answer;
    const char *apart = in->loop == NULL ? section_turns_apart(in, b->loop, b->args) : NULL;
    if (apart != NULL) return loop_unkept(in, number, apart);
    if (in->loop == NULL) answer = either_is_harmless(in, b->loop, b->node);
    if (in->loop == NULL && answer == ANSWER_YES)
        answer = loop_classes(in, b->loop, b->node, b->ncarried, b->class);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO) return loop_unkept(in, number, loop_either_why(in, b->loop));
    loop_to_end(in->graph, b->outer, b->node);
    answer = take_results(in, b, &leaves);
    return answer == ANSWER_YES ? loop_leave(in, b->scan.shape, leaves) : answer;
}

/* `iterator` is NULL for a `while`. */
static Answer
keep_loop(Interp *in, LoopShape *shape, const Value *iterator)
{
    Loop loop = {0};
    Body b = {.loop = in->loop != NULL ? in->loop : &loop, .outer = in->region};
    bool reads_items = iterator != NULL && loop_reads_items(in, iterator);
    b.iterator = iterator;
    if (in->region != 0 && in->loop == NULL) return ANSWER_NO;
    if (loop_refused(in, shape->top) != NULL) return ANSWER_NO;
    bool reached = false;
    if (iterator != NULL) TRY(loop_iterator_is_reached(in, iterator, &reached));
    if (reached) return loop_not_kept(in, shape->top, "its iterator is in a variable");
    int fits = loop_scan(in, in->top->decoded, shape, reads_items, &b.scan);
    if (fits < 0) return ANSWER_ERROR;
    if (!fits) return loop_has(in, &b.scan);
    Answer answer = begin_loop(in, &b);
    return answer == ANSWER_YES ? end_loop(in, &b) : answer;
}

/* Loops of pycompile's own code that stands for library functions are unrolled. */
static bool
may_stay(const Interp *in)
{
    return in->top == in->bottom || (!in->top->decoded->generator && !code_is_ours(in->top));
}

Answer
capture_loop(Interp *in, Value *iterator)
{
    LoopShape *shape;
    if (!may_stay(in)) return ANSWER_NO;
    if (loop_shape(in, in->top->decoded, in->top->number, &shape) < 0) return ANSWER_ERROR;
    if (shape == NULL) return ANSWER_NO;
    Answer answer = repeat_keep(in, shape, iterator);
    return answer == ANSWER_NO ? keep_loop(in, shape, iterator) : answer;
}

Answer
follow_while(Interp *in, bool *whole)
{
    LoopShape *shape;
    *whole = false;
    if (loop_shape(in, in->top->decoded, in->top->number, &shape) < 0) return ANSWER_ERROR;
    bool begun = in->turn != NULL && in->turn->shape == shape && in->turn->of == in->top;
    if (shape == NULL || shape->counts || begun || !may_stay(in)) return ANSWER_YES;
    Answer answer = repeat_keep(in, shape, NULL);
    if (answer == ANSWER_NO) answer = keep_loop(in, shape, NULL);
    *whole = answer == ANSWER_YES;
    if (answer == ANSWER_NO && in->loop != NULL) return inner_loop_unkept(in, shape->head);
    return answer == ANSWER_NO ? ANSWER_YES : answer;
}
