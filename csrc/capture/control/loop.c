/* `for i in range(…)` with element reads and writes, kept as a loop region instead of unrolled.

   The body must be one straight line of instructions that touch array elements by scalar index and
   scalars; what it stores to locals is carried from iteration to iteration, and so is the version
   of each array that it writes.  Sizes stay symbols and nothing about shapes is guarded, so one
   plan serves every length.

   1. loop_scan looks at the instructions: straight line, which locals and which arrays are stored.
   2. The loop node is made with the values so far; its region's params stand for them.
   3. The body is followed once with the region as the current one.
   4. What the stored locals hold then are the region's results.  A local that changes its type
      (s = 0.0, then an np.float64) is learnt and the whole capture starts again with it converted
      beforehand; anything else that does not fit is learnt too, and the loop is unrolled. */
#include "control.h"

#include <stdio.h>

enum { MOST = 16 };

typedef struct {
    int number, end;               /* Instrs of FOR_ITER and after the loop */
    int nslots, slot[MOST];        /* locals that the body stores */
    int narrays, array_slot[MOST]; /* locals whose array the body writes elements of */
    bool first_is_store[MOST];     /* the body stores it before it reads it */
    int subscripts;
    int refused;     /* the Instr that has not the form, or 0 … */
    const char *why; /* … and the reason, where that is not the Instr itself */
} Scan;

static int
find(const int *at, int n, int what)
{
    for (int i = 0; i < n; i++)
        if (at[i] == what) return i;
    return -1;
}

/* ---- 1. the instructions ---- */

static bool
is_straight(const Instr *instr)
{
    switch (instr->kind) {
    case I_NOP:
    case I_CONST:
    case I_LOAD_LOCAL:
    case I_STORE_LOCAL:
    case I_LOAD_GLOBAL:
    case I_LOAD_DEREF:
    case I_LOAD_ATTR:
    case I_LOAD_METHOD:
    case I_POP:
    case I_COPY:
    case I_SWAP:
    case I_PUSH_NULL:
    case I_UNARY_NEGATIVE:
    case I_UNARY_POSITIVE:
    case I_BINARY:
    case I_SUBSCRIPT:
    case I_STORE_SUBSCRIPT:
    case I_CALL: return true;
    default: return false;
    }
}

/* Is the local loaded anywhere outside the body? */
static bool
loaded_outside(const Decoded *d, const Scan *scan, int slot)
{
    for (int i = 0; i < d->count; i++) {
        if (i >= scan->number && i < scan->end) continue;
        const Instr *instr = &d->instrs[i];
        if ((instr->kind == I_LOAD_LOCAL || instr->kind == I_LOAD_CLEAR ||
             instr->kind == I_DELETE_LOCAL || instr->kind == I_MAKE_CELL) &&
            instr->arg == slot)
            return true;
    }
    return false;
}

static bool
scan_slot(Scan *scan, int slot, bool store)
{
    if (find(scan->slot, scan->nslots, slot) >= 0) return true;
    if (!store) return true;
    if (scan->nslots == MOST) return false;
    scan->slot[scan->nslots++] = slot;
    return true;
}

static bool
scan_refuses(Scan *scan, int at, const char *why)
{
    scan->refused = at;
    scan->why = why;
    return false;
}

/* True when the loop has the form. */
static bool
loop_scan(const Decoded *d, int number, Scan *scan)
{
    int at[256]; /* for each stack entry, the local from which it was loaded */
    bool read[256] = {false};
    *scan = (Scan){.number = number, .end = d->instrs[number].target};
    if (d->nlocalsplus > 256 || d->code->co_stacksize >= 250)
        return scan_refuses(scan, 0, "the function has too many variables");
    for (int i = 0; i < 256; i++) at[i] = -1;
    for (int i = number + 1; i < d->count; i++) {
        const Instr *instr = &d->instrs[i];
        int depth = instr->depth;
        if (instr->kind == I_JUMP) {
            if (instr->target != number) return scan_refuses(scan, i, NULL);
            return scan->subscripts > 0 ||
                   scan_refuses(scan, 0, "it reads and writes no element of an array");
        }
        if (!is_straight(instr) || depth < 0) return scan_refuses(scan, i, NULL);
        switch (instr->kind) {
        case I_LOAD_LOCAL:
            at[depth] = instr->arg;
            read[instr->arg] = true;
            continue;
        case I_COPY: at[depth] = at[depth - instr->arg]; continue;
        case I_SWAP: {
            int other = at[depth - instr->arg];
            at[depth - instr->arg] = at[depth - 1];
            at[depth - 1] = other;
            continue;
        }
        case I_STORE_LOCAL: {
            int before = scan->nslots;
            if (!scan_slot(scan, instr->arg, true))
                return scan_refuses(scan, 0, "it stores too many variables");
            if (scan->nslots > before) scan->first_is_store[before] = !read[instr->arg];
            continue;
        }
        case I_STORE_SUBSCRIPT: {
            int array = at[depth - 2];
            if (array < 0)
                return scan_refuses(scan, 0, "it writes into what is not in a local variable");
            if (find(scan->array_slot, scan->narrays, array) < 0) {
                if (scan->narrays == MOST)
                    return scan_refuses(scan, 0, "it writes too many arrays");
                scan->array_slot[scan->narrays++] = array;
            }
            scan->subscripts++;
            continue;
        }
        case I_SUBSCRIPT: scan->subscripts++; break;
        default: break;
        }
        if (i + 1 < d->count && d->instrs[i + 1].depth > 0) at[d->instrs[i + 1].depth - 1] = -1;
    }
    return false;
}

/* ---- elements, while the body is followed ---- */

/* The array's version inside the loop, or NULL when the loop does not write it. */
static NodeId *
loop_version(Interp *in, Value *array)
{
    for (int i = 0; i < in->loop->narrays; i++)
        if (in->loop->array[i] == array) return &in->loop->version[i];
    return NULL;
}

static Answer
not_a_loop(Interp *in, const char *why)
{
    return interp_break(in, BREAK_UNROLL, "%s", why);
}

static Answer
element_args(Interp *in, Value *array, Value *key, NodeId *args)
{
    if (!value_is_array(in, array) || graph_node(in->graph, array->node)->type.rank != 1)
        return not_a_loop(in, "a subscript of something that is no one-dimensional array");
    NodeId *version = loop_version(in, array);
    Answer answer = ANSWER_YES;
    if (version != NULL) {
        args[0] = *version;
    } else {
        int storage = storage_of(in, array->node);
        if (storage < 0) return ANSWER_ERROR;
        for (int i = 0; i < in->loop->narrays; i++)
            if (storage_of(in, in->loop->array[i]->node) == storage)
                return not_a_loop(in, "a view of an array that it writes");
        answer = value_as_loose_node(in, array, &args[0]);
    }
    if (answer == ANSWER_YES) answer = value_as_loose_node(in, key, &args[1]);
    if (answer == ANSWER_ERROR) return answer;
    if (answer == ANSWER_NO) return not_a_loop(in, "an index that is no int");
    const Type *type = &graph_node(in->graph, args[1])->type;
    if (type->dtype != DT_I64 || type->rank != 0 || type->form == FORM_ARRAY)
        return not_a_loop(in, "an index that is no int");
    return ANSWER_YES;
}

Answer
loop_element_load(Interp *in, Value *array, Value *key, Value **out)
{
    NodeId args[2];
    Answer answer = element_args(in, array, key, args);
    if (answer != ANSWER_YES) return answer;
    Type type = {.dtype = graph_node(in->graph, args[0])->type.dtype,
                 .form = FORM_SCALAR,
                 .offset = NO_SIZE};
    NodeId node = graph_add(in->graph, in->region, OP_element_load, 2, args, &type, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
loop_element_store(Interp *in, Value *array, Value *key, Value *value)
{
    NodeId args[3];
    Answer answer = element_args(in, array, key, args);
    if (answer == ANSWER_YES) answer = value_as_loose_node(in, value, &args[2]);
    if (answer_stops(answer)) return answer;
    NodeId *version = loop_version(in, array);
    if (answer == ANSWER_NO || version == NULL) return not_a_loop(in, "a store of no scalar");
    Type type = graph_node(in->graph, args[0])->type;
    Type from = graph_node(in->graph, args[2])->type;
    if (from.rank != 0 || from.form == FORM_ARRAY) return not_a_loop(in, "a store of an array");
    if (from.dtype != type.dtype) {
        bool widens =
            dtype_is_float(type.dtype) &&
            (dtype_is_float(from.dtype) || dtype_is_integer(from.dtype) || from.dtype == DT_BOOL);
        if (!widens) return not_a_loop(in, "a store that converts");
        Type scalar = {.dtype = type.dtype, .form = FORM_SCALAR, .offset = NO_SIZE};
        args[2] = graph_add(in->graph, in->region, OP_cast, 1, &args[2], &scalar, NULL);
        if (args[2] == NO_NODE) return ANSWER_ERROR;
    }
    NodeId node = graph_add(in->graph, in->region, OP_element_store, 3, args, &type, NULL);
    if (node == NO_NODE) return ANSWER_ERROR;
    *version = node;
    return ANSWER_YES;
}

/* ---- 2. before the body ---- */

static bool
same_scalar(const Type *a, const Type *b)
{
    return a->dtype == b->dtype && a->form == b->form && a->rank == 0 && b->rank == 0;
}

static const LoopType *
learnt_type(const Marks *marks, int number, int slot)
{
    for (int i = 0; i < marks->loop_types.len; i++) {
        const LoopType *type = &marks->loop_types.at[i];
        if (type->number == number && type->slot == slot) return type;
    }
    return NULL;
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

/* The initial value of a carried local, as a node of the type that the local keeps. */
static Answer
carried_start(Interp *in, const Scan *scan, int i, bool *needs_a_turn, NodeId *out)
{
    int slot = scan->slot[i];
    const LoopType *learnt = learnt_type(in->attempt.marks, scan->number, slot);
    Value *value = in->top->slots[slot];
    if (value == NULL && (value = slot_load(in, in->top, slot)) == NULL) return ANSWER_ERROR;
    bool absent = value->kind == V_UNBOUND;
    if (absent) { /* stored before it is read: its initial value is not used */
        if (!scan->first_is_store[i]) return not_a_number(in, scan, slot);
        *needs_a_turn = true;
        value = value_const_new(in, PyLong_FromLong(0));
        if (value == NULL) return ANSWER_ERROR;
    }
    if (value_is_array(in, value)) return not_a_number(in, scan, slot);
    Answer answer = value_as_loose_node(in, value, out);
    if (answer == ANSWER_NO) return not_a_number(in, scan, slot);
    if (answer != ANSWER_YES || learnt == NULL) return answer;
    Type type = {.dtype = learnt->dtype, .form = learnt->form, .offset = NO_SIZE};
    if (same_scalar(&type, &graph_node(in->graph, *out)->type)) return ANSWER_YES;
    /* The first operation of NumPy's scalars, and of Python's with a narrow operand, computes in
       another type. */
    if (!scan->first_is_store[i] && graph_node(in->graph, *out)->type.form == FORM_SCALAR)
        return loop_not_kept(in, scan->number, "'%s' changes its type in it", slot_text(in, slot));
    *needs_a_turn = true;
    Op op = type.form == FORM_SCALAR ? OP_cast : type.dtype == DT_F64 ? OP_py_float : OP_py_int;
    *out = graph_add(in->graph, in->region, op, 1, out, &type, NULL);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* Guards that the loop runs at least once. */
static Answer
runs_once(Interp *in, const Scan *scan, Value *range)
{
    int64_t step;
    Answer answer = value_as_int(in, range->items[2], &step);
    if (answer != ANSWER_YES) return answer;
    Value *test;
    answer = operate_compare(in, step > 0 ? Py_LT : Py_GT, range->items[0], range->items[1], &test);
    bool holds = false;
    if (answer == ANSWER_YES) answer = condition_known(in, test, &holds);
    if (answer != ANSWER_YES) return answer;
    return holds ? ANSWER_YES : loop_not_kept(in, scan->number, "it makes no turn");
}

static Answer
bounds(Interp *in, Value *range, NodeId *args)
{
    for (int i = 0; i < 3; i++) {
        Answer answer = value_as_loose_node(in, range->items[i], &args[i]);
        if (answer != ANSWER_YES) return answer;
        if (graph_node(in->graph, args[i])->type.dtype != DT_I64) return ANSWER_NO;
    }
    int64_t step;
    Answer answer = value_as_int(in, range->items[2], &step);
    if (answer == ANSWER_YES && step == 0) answer = ANSWER_NO;
    return answer;
}

/* Every known container that the body subscripts must be a vector. */
static Answer
arrays_ready(Interp *in, const Scan *scan, Loop *loop, NodeId *args)
{
    for (int i = 0; i < scan->narrays; i++) {
        Value *array = slot_load(in, in->top, scan->array_slot[i]);
        if (array == NULL) return ANSWER_ERROR;
        const Node *node = value_is_array(in, array) ? graph_node(in->graph, array->node) : NULL;
        const char *why = node == NULL                   ? "is no array"
                          : node->type.rank != 1         ? "is not one-dimensional"
                          : node->storage != array->node ? "is a view"
                          : find(scan->slot, scan->nslots, scan->array_slot[i]) >= 0
                              ? "becomes another object in it"
                              : NULL;
        if (why != NULL)
            return loop_not_kept(in, scan->number, "it writes elements of '%s', which %s",
                                 slot_text(in, scan->array_slot[i]), why);
        Answer answer = write_allowed(in, array);
        if (answer != ANSWER_YES) return answer;
        bool known = false;
        for (int k = 0; k < loop->narrays; k++) known |= loop->array[k] == array;
        if (known) continue;
        loop->array[loop->narrays] = array;
        args[loop->narrays] = array_current(in, array->node);
        if (args[loop->narrays++] == NO_NODE) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* ---- 3 and 4. the body and what comes out ---- */

static bool
element_is_vectors(const Graph *g, const Node *node)
{
    if (graph_node(g, node->args[0])->type.rank != 1) return false;
    for (int k = 1; k < node->nargs; k++)
        if (graph_node(g, node->args[k])->type.rank != 0) return false;
    return true;
}

static bool
is_scalar_node(const Graph *g, const Node *node)
{
    switch (op_info(node->op)->kind) {
    case KIND_CONST: return node->type.rank == 0;
    case KIND_POINTWISE:
    case KIND_PYTHON: return node_is_expression(g, node);
    case KIND_ELEMENT: return element_is_vectors(g, node);
    case KIND_INPUT: return true;
    default: return false;
    }
}

/* The region must contain only element accesses and operations with a C expression: its first node
   that is something else, or NO_NODE. */
static NodeId
not_scalar(Interp *in, RegionId region)
{
    const Region *body = &in->graph->regions.at[region];
    for (int i = 0; i < body->nodes.len; i++)
        if (!is_scalar_node(in->graph, graph_node(in->graph, body->nodes.at[i])))
            return body->nodes.at[i];
    return NO_NODE;
}

/* The loop node was made before its body: moves inputs that the body added before the node. */
static void
move_to_end(Graph *g, NodeId loop)
{
    Region *top = &g->regions.at[0];
    int at = 0;
    while (top->nodes.at[at] != loop) at++;
    memmove(&top->nodes.at[at], &top->nodes.at[at + 1],
            (size_t)(top->nodes.len - at - 1) * sizeof(NodeId));
    top->nodes.at[top->nodes.len - 1] = loop;
}

/* `why`: unless something in the body broke, which then is the reason. */
static Answer
learn_no_loop(Interp *in, int number, const char *why)
{
    const Break *broke = in->break_code != BREAK_NONE ? &in->told : NULL;
    if (broke != NULL)
        why = arena_printf(in->attempt.learn_arena, "%s, line %d",
                           *broke->detail ? broke->detail : break_text(broke->code),
                           broke->frames[0].line);
    else
        why = arena_copy(in->attempt.learn_arena, why, strlen(why) + 1);
    if (why == NULL || VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->no_loop, number) < 0 ||
        VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->no_loop_why, (char *)why) < 0)
        return ANSWER_ERROR;
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

/* An operation of the body has no native form. */
static Answer
learn_odd(Interp *in, int number, NodeId odd)
{
    const Node *node = graph_node(in->graph, odd);
    bool call = op_info(node->op)->kind == KIND_EXTERN;
    Value *called = call ? value_const(in, node->attrs.object) : NULL;
    if (call && called == NULL) return ANSWER_ERROR;
    char why[160];
    snprintf(why, sizeof(why), "%s '%s', line %d, which has no native form in a loop",
             call ? "a call of" : "the operation",
             call ? value_describe(in, called) : op_info(node->op)->name, (int)node->line);
    return learn_no_loop(in, number, why);
}

/* A carried local has another type after the body than before it. */
static Answer
learn_type(Interp *in, const Scan *scan, int slot, const Type *type)
{
    bool known = learnt_type(in->attempt.marks, scan->number, slot) != NULL;
    bool exact = type->dtype == DT_F64 || type->dtype == DT_I64 || type->dtype == DT_BOOL;
    if (known || !exact || type->rank != 0)
        return learn_no_loop(in, scan->number, "a variable changes its type in it");
    LoopType learnt = {
        .number = scan->number, .slot = slot, .dtype = type->dtype, .form = type->form};
    if (VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->loop_types, learnt) < 0)
        return ANSWER_ERROR;
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

/* A weak number was made a scalar before the loop, and meets a narrower operand: the first
   iteration would have computed in the narrow type. */
static bool
start_was_weak(Interp *in, const Scan *scan, RegionId region)
{
    bool learnt = false;
    for (int i = 0; i < in->attempt.marks->loop_types.len; i++) {
        const LoopType *type = &in->attempt.marks->loop_types.at[i];
        learnt = learnt || (type->number == scan->number && type->form == FORM_SCALAR);
    }
    const Region *body = &in->graph->regions.at[region];
    for (int i = 0; learnt && i < body->nodes.len; i++) {
        DType dtype = (DType)graph_node(in->graph, body->nodes.at[i])->type.dtype;
        if (dtype != DT_F64 && dtype != DT_I64 && dtype != DT_BOOL && dtype != DT_OBJECT)
            return true;
    }
    return false;
}

static Answer
body_results(Interp *in, const Scan *scan, const Loop *loop, int ncarried, const int *carried,
             const NodeId *starts, RegionId region)
{
    for (int i = 0; i < ncarried; i++) {
        Value *value = in->top->slots[carried[i]];
        NodeId node;
        Answer answer = value ? value_as_loose_node(in, value, &node) : ANSWER_NO;
        if (answer == ANSWER_ERROR) return answer;
        if (answer == ANSWER_NO)
            return learn_no_loop(in, scan->number, "it stores what is no number");
        const Type *type = &graph_node(in->graph, node)->type;
        if (!same_scalar(type, &graph_node(in->graph, starts[i])->type))
            return learn_type(in, scan, carried[i], type);
        if (start_was_weak(in, scan, region))
            return learn_no_loop(in, scan->number, "a number changes its dtype in it");
        if (VEC_PUSH(in->graph->arena, &in->graph->regions.at[region].results, node) < 0)
            return ANSWER_ERROR;
    }
    for (int i = 0; i < loop->narrays; i++)
        if (VEC_PUSH(in->graph->arena, &in->graph->regions.at[region].results, loop->version[i]) <
            0)
            return ANSWER_ERROR;
    return ANSWER_YES;
}

static Answer
loop_result(Interp *in, NodeId loop, int index, NodeId like, NodeId *out)
{
    Type type = graph_node(in->graph, like)->type;
    Attrs attrs = {.index = index};
    *out = graph_add(in->graph, in->region, OP_result, 1, &loop, &type, &attrs);
    return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

/* Follows the body; the locals then hold the values of one iteration, in terms of the params. */
static Answer
follow_body(Interp *in, const Scan *scan, Loop *loop, int ncarried, const int *carried,
            const NodeId *starts, NodeId node, RegionId *region)
{
    Graph *g = in->graph;
    Activation *a = in->top;
    Type index_type = {.dtype = DT_I64, .form = FORM_PYTHON, .offset = NO_SIZE};
    if ((*region = graph_region(g, node)) == NO_REGION) return ANSWER_ERROR;
    graph_node(g, node)->region[0] = *region;
    NodeId index = graph_input(g, *region, &index_type);
    Value *item = index == NO_NODE ? NULL : value_node(in, index);
    if (item == NULL) return ANSWER_ERROR;
    for (int i = 0; i < ncarried + loop->narrays; i++) {
        Type type = graph_node(g, starts[i])->type;
        NodeId param = graph_input(g, *region, &type);
        if (param == NO_NODE) return ANSWER_ERROR;
        if (i >= ncarried)
            loop->version[i - ncarried] = param;
        else if ((a->slots[carried[i]] = value_node(in, param)) == NULL)
            return ANSWER_ERROR;
    }
    for (int i = 0; i < scan->nslots; i++) /* stored before read: none from outside */
        if (find(carried, ncarried, scan->slot[i]) < 0) a->slots[scan->slot[i]] = in->unbound;
    RegionId outer = in->region;
    in->region = *region;
    in->loop = loop;
    a->number = scan->number + 1;
    Answer answer = push(in, item) < 0 ? ANSWER_ERROR : interp_until(in, scan->number);
    in->region = outer;
    in->loop = NULL;
    return answer;
}

Answer
capture_loop(Interp *in, Value *iterator)
{
    Activation *a = in->top;
    Scan scan;
    if (a != in->bottom || in->region != 0 || in->loop != NULL) return ANSWER_NO;
    if (find(in->attempt.marks->no_loop.at, in->attempt.marks->no_loop.len, a->number) >= 0)
        return ANSWER_NO;
    if (!loop_scan(a->decoded, a->number, &scan))
        return scan.why == NULL ? loop_has(in, a->number, scan.refused)
                                : loop_not_kept(in, a->number, "%s", scan.why);
    NodeId args[3 + 2 * MOST], *starts = args + 3;
    int carried[MOST], ncarried = 0;
    bool needs_a_turn = false;
    Loop loop = {0};
    Answer answer = bounds(in, iterator->walked, args);
    if (answer == ANSWER_NO) return loop_not_kept(in, a->number, "its range is none of plain ints");
    for (int i = 0; answer == ANSWER_YES && i < scan.nslots; i++) {
        int slot = scan.slot[i];
        bool temporary = scan.first_is_store[i] && !loaded_outside(a->decoded, &scan, slot);
        if (temporary) continue;
        carried[ncarried] = slot;
        answer = carried_start(in, &scan, i, &needs_a_turn, &starts[ncarried++]);
    }
    if (answer == ANSWER_YES) answer = arrays_ready(in, &scan, &loop, starts + ncarried);
    if (answer == ANSWER_YES && needs_a_turn) answer = runs_once(in, &scan, iterator->walked);
    if (answer != ANSWER_YES) return answer;
    Type none = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    int ncarries = ncarried + loop.narrays, effects = in->writes.effects.len;
    NodeId node = graph_add(in->graph, in->region, OP_loop, 3 + ncarries, args, &none, NULL);
    RegionId region;
    World before;
    if (node == NO_NODE || world_save(in, &before) < 0) return ANSWER_ERROR;
    answer = follow_body(in, &scan, &loop, ncarried, carried, starts, node, &region);
    if (answer == ANSWER_ERROR) return answer;
    if (answer != ANSWER_YES || in->writes.effects.len != effects || !world_is_same(&before))
        return learn_no_loop(in, scan.number, "it changes an object other than arrays");
    NodeId odd = not_scalar(in, region);
    if (odd != NO_NODE) return learn_odd(in, scan.number, odd);
    in->region = region;
    answer = body_results(in, &scan, &loop, ncarried, carried, starts, region);
    in->region = 0;
    if (answer != ANSWER_YES) return answer;
    move_to_end(in->graph, node);
    for (int i = 0; i < scan.nslots; i++)
        a->slots[scan.slot[i]] = in->unbound; /* temporaries are not kept */
    for (int i = 0; i < ncarries; i++) {
        NodeId result;
        if (loop_result(in, node, i, starts[i], &result) != ANSWER_YES) return ANSWER_ERROR;
        if (i >= ncarried) {
            if (storage_write(in, loop.array[i - ncarried]->node, result) < 0) return ANSWER_ERROR;
        } else if ((a->slots[carried[i]] = value_node(in, result)) == NULL) {
            return ANSWER_ERROR;
        }
    }
    a->depth--;
    a->number = scan.end;
    return ANSWER_YES;
}
