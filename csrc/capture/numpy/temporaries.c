/* Which operands are temporaries, and what NumPy's operators do with them.
   From a certain size on, an operator on arrays that the interpreter calls writes into an operand
   to which only the value stack refers (arrays/elision.c).  The graph is functional, so only two
   consequences remain: the result's layout, which is the temporary's, and the order of the operands
   of a commutative operator.
   The references to an array are counted when they matter: starting from the slots and stacks of
   all activations and from the objects from outside, all that the program can reach is visited, and
   references are counted as CPython would.  That is right because one Value is one object
   (values.h).  CPython's frame differs from the symbolic stack in one place: a call of a Python
   function takes its arguments off the caller's stack (call_keeps_arguments). */
#include <math.h>

#include "numpy.h"

/* ---- counting references ---- */

typedef struct {
    Interp *in;
    const Value *array;
    NodeId root; /* root of its memory */
    bool later;  /* those of objects that are made at commit count, too */
    int round;   /* Value.seen of the values that this walk has visited */
    int stacked; /* references from value stacks */
    int held;    /* all other references */
    VEC(Value *) waiting;
} Walk;

static NodeId
root_of(const Interp *in, NodeId node)
{
    NodeId holder = graph_node(in->graph, node)->storage;
    int storage = storage_find(in, holder);
    return storage >= 0 ? in->memory.storages.at[storage].root : holder;
}

/* A view holds the array that it is a view of. */
static bool
is_view_of(const Walk *w, const Value *value)
{
    return value->kind == V_NODE &&
           graph_node(w->in->graph, value->node)->type.form == FORM_ARRAY &&
           root_of(w->in, value->node) == w->root;
}

/* Counts one reference to `value` in *count. */
static int
refer(Walk *w, Value *value, int *count)
{
    if (value == NULL) return 0;
    if (value == w->array) {
        ++*count;
        return 0;
    }
    if (value->seen == w->round) return 0;
    value->seen = w->round;
    if (is_view_of(w, value)) w->held++;
    return VEC_PUSH(w->in->arena, &w->waiting, value);
}

static int
refer_all(Walk *w, int n, Value *const *values, int *count)
{
    for (int i = 0; values != NULL && i < n; i++)
        if (refer(w, values[i], count) < 0) return -1;
    return 0;
}

/* How many entries at the top of its stack a call in progress has taken: the arguments, and the
   pair below them. */
static int
taken_by_call(const Activation *a, const Activation *called)
{
    if (called == NULL || called->function == NULL) return 0;
    const Instr *instr = &a->decoded->instrs[a->number];
    if ((instr->kind != I_CALL && instr->kind != I_CALL_KW && instr->kind != I_CALL_EX) ||
        call_keeps_arguments(instr->kind))
        return 0;
    bool names = instr->kind == I_CALL_KW && instr->arg2 < 0;
    int n = instr->kind == I_CALL_EX ? 3 + (instr->arg & 1) : instr->arg + 2 + names;
    Value *const *top = a->slots + a->decoded->nlocalsplus + a->depth;
    for (int i = 0; i < 2; i++) {
        const Value *callable = top[i - n];
        if (callable == called->function || (callable != NULL && callable->kind == V_METHOD &&
                                             callable->items[0] == called->function))
            return n;
    }
    return 0; /* called through C: a class, a partial, a builtin */
}

static int
walk_activation(Walk *w, const Activation *a, const Activation *called)
{
    int locals = a->decoded->nlocalsplus;
    if (refer(w, a->function, &w->held) < 0) return -1;
    if (refer_all(w, locals, a->slots, &w->held) < 0) return -1;
    return refer_all(w, a->depth - taken_by_call(a, called), a->slots + locals, &w->stacked);
}

static int
walk_exception(Walk *w, const Exception *e)
{
    Value *parts[] = {e->args, e->cause, e->context, e->message, e->parts};
    return refer_all(w, COUNT_OF(parts), parts, &w->held);
}

/* Counts the references of an object.  Symbolic numbers, and objects made at commit, have none that
   NumPy would see: in CPython they exist already. */
static int
walk_parts(Walk *w, const Value *value)
{
    if (value->kind == V_NODE || (value->kind == V_PURE && !w->later)) return 0;
    Value *others[] = {value->of, value->core, value->box};
    if (refer_all(w, value->nitems, value->items, &w->held) < 0) return -1;
    if (refer_all(w, COUNT_OF(others), others, &w->held) < 0) return -1;
    if (value->exception != NULL && walk_exception(w, value->exception) < 0) return -1;
    const Activation *suspended = generator_suspended(value);
    return suspended != NULL ? walk_activation(w, suspended, NULL) : 0;
}

static int
walk_roots(Walk *w)
{
    Interp *in = w->in;
    const Activation *called = NULL;
    for (const Activation *a = in->top; a != NULL; called = a, a = a->caller)
        if (walk_activation(w, a, called) < 0) return -1;
    for (int i = 0; i < in->writes.stored_globals.len; i++)
        if (refer(w, in->writes.stored_globals.at[i].value, &w->held) < 0) return -1;
    for (int i = 0; i < in->writes.effects.len; i++)
        if (refer_all(w, in->writes.effects.at[i].nargs, in->writes.effects.at[i].args, &w->held) <
            0)
            return -1;
    for (int i = 0; i < in->sources.outside.len; i++) /* the array itself may be one of them */
        if (in->sources.outside.at[i] != w->array &&
            refer(w, in->sources.outside.at[i], &w->held) < 0)
            return -1;
    return refer(w, in->raising.handled, &w->held);
}

int
value_references(Interp *in, const Value *value, int *stacked, int *held)
{
    Walk w = {
        .in = in, .array = value, .root = NO_NODE, .later = true, .round = ++in->temporaries.walks};
    if (walk_roots(&w) < 0) return -1;
    for (int i = 0; i < w.waiting.len; i++)
        if (walk_parts(&w, w.waiting.at[i]) < 0) return -1;
    *stacked = w.stacked;
    *held = w.held;
    return 0;
}

/* Is the array's only reference the value stack's, or, where C code in Python calls the operator,
   that of the C code?  ANSWER_BREAK: it is in the argument tuple of a call, where NumPy writes into
   it all the same, and the tuple shows it. */
static Answer
held_by_stack(Interp *in, const Value *array, bool *out)
{
    Walk w = {.in = in,
              .array = array,
              .root = root_of(in, array->node),
              .round = ++in->temporaries.walks};
    if (walk_roots(&w) < 0) return ANSWER_ERROR;
    for (int i = 0; i < w.waiting.len && w.held + w.stacked < 2; i++)
        if (walk_parts(&w, w.waiting.at[i]) < 0) return ANSWER_ERROR;
    *out = in->temporaries.adds_up ? w.held + w.stacked == 0 : w.held == 0 && w.stacked == 1;
    if (in->temporaries.adds_up || w.held != 1 || w.stacked != 0) return ANSWER_YES;
    return interp_break(in, BREAK_OPERATOR, "NumPy writes into an operand that a tuple holds");
}

/* NumPy examines ten return addresses: enough for C functions that use an operator, and for
   functools.reduce calling one of `operator`, but not for deeper calls. */
static Answer
called_directly(Interp *in)
{
    const Decoded *decoded = in->top->decoded;
    bool used = decoded->instrs[in->top->number].kind == I_BINARY;
    if (used || !code_is_model(in->top) ||
        PyUnicode_CompareWithASCIIString(decoded->code->co_name, "reduce") == 0)
        return ANSWER_YES;
    return interp_break(in, BREAK_OPERATOR, "a function of C calls an operator on a temporary");
}

/* ---- which arrays may be written into ---- */

/* An array that was made here and owns its memory. */
static bool
node_owns(const Interp *in, NodeId id)
{
    const Graph *g = in->graph;
    const Node *node = graph_node(g, id);
    OpKind kind = op_info(node->op)->kind;
    if (node->storage != id || kind == KIND_INPUT || kind == KIND_CONST) return false;
    for (int i = 0; i < in->memory.borrowers.len; i++)
        if (in->memory.borrowers.at[i] == id) return false;
    const Node *of = kind == KIND_RESULT ? graph_node(g, node->args[0]) : NULL;
    if (of == NULL || op_info(of->op)->kind != KIND_REGION) return true;
    for (int i = 0; i < 2 && of->region[i] != NO_REGION; i++)
        if (!node_owns(in, g->regions.at[of->region[i]].results.at[node->attrs.index]))
            return false;
    return true;
}

/* An array that the frame's value stack held where capture began: a guard says whether it was a
   temporary then. */
static Answer
stacked_is_spare(Interp *in, const Value *array, bool *out)
{
    *out = source_is_spare(in, array->source);
    Guard guard = {.kind = GUARD_SPARE, .source = array->source, .other = NO_SOURCE, .low = *out};
    return guard_add(in, &guard) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Where lengths change from turn to turn: in any of them. */
static bool
is_large(const Interp *in, const Type *type)
{
    int64_t bytes = (int64_t)dtype_size((DType)type->dtype);
    for (int i = 0; i < type->rank; i++)
        if (__builtin_mul_overflow(bytes, size_most(in->graph, type->shape[i]), &bytes))
            return true;
    return bytes >= array_elision_bytes();
}

static SizeId
bytes_of(Interp *in, const Type *type)
{
    return size_mul(in->graph, type_count(in->graph, type),
                    size_const(in->graph, (int64_t)dtype_size((DType)type->dtype)));
}

/* Only the run shows whether NumPy writes into it: by lengths of arrays from outside, of which it
   is guarded that they decide as in this call; *large says how. */
static Answer
decide_large(Interp *in, const Type *type, bool *large)
{
    bool small;
    *large = true;
    if (!type_varies(in, type)) return ANSWER_YES;
    if (!type_is_measured(in, type)) {
        SizeId least = size_const(in->graph, array_elision_bytes());
        bool outer = in->memory.numpys;
        in->memory.numpys = true;
        Answer answer = size_decide(in, size_sub(in->graph, bytes_of(in, type), least), &small);
        in->memory.numpys = outer;
        *large = !small;
        return answer;
    }
    return interp_break(in, BREAK_OPERATOR, "a temporary into which NumPy writes in some turns");
}

/* The conditions on ownership, size and the other operand; the references are not counted. */
static bool
may_take(Interp *in, const Value *array, NodeId node, NodeId other)
{
    Type type = node_type(in, node), fits = node_type(in, other);
    if (type.form != FORM_ARRAY || !is_large(in, &type)) return false;
    bool stacked = source_is_stacked(in, array->source);
    if (!stacked && !node_owns(in, array->node)) return false;
    if (fits.rank > 0 && !type_same_shape(&fits, &type)) return false;
    return dtype_can_cast_safely((DType)fits.dtype, (DType)type.dtype);
}

static Answer
is_temporary(Interp *in, const Value *array, bool *out)
{
    *out = false;
    TRY(held_by_stack(in, array, out));
    if (*out) TRY(branch_aliased(in, array->node, "an operator would write into what it leaves"));
    if (*out) TRY(called_directly(in));
    bool stacked = source_is_stacked(in, array->source);
    return *out && stacked ? stacked_is_spare(in, array, out) : ANSWER_YES;
}

/* Would the result be of another dtype or layout if the operator wrote into this operand? */
static bool
is_laid_out(Interp *in, const Value *array, const Type *result)
{
    Type type = node_type(in, array->node);
    return type.dtype != result->dtype || /* NumPy cannot cast the result back */
           memcmp(type.stride, result->stride, sizeof(SizeId) * type.rank) != 0;
}

/* Would the result differ if the operator wrote into this operand? */
static bool
is_seen(Interp *in, const Value *array, const Value *other, const Type *result, bool swaps)
{
    Type type = node_type(in, array->node);
    bool number = other->kind == V_CONST && PyFloat_CheckExact(other->object) &&
                  !isnan(PyFloat_AS_DOUBLE(other->object));
    number = number || (other->kind == V_CONST && PyLong_CheckExact(other->object));
    if (swaps && number && dtype_is_float((DType)type.dtype))
        swaps = false; /* of the two only one can be a NaN */
    if (swaps && (dtype_is_float((DType)type.dtype) || dtype_is_complex((DType)type.dtype)))
        return true; /* it decides which of two NaNs results, or how a product is rounded */
    return is_laid_out(in, array, result);
}

/* Whether NumPy writes into the operand, as a number that the run computes, where nothing but the
   order of the operands shows it; else the lengths are guarded. */
static Answer
test_large(Interp *in, const Value *array, const Type *result, bool *large, NodeId *test)
{
    bool selects = result->dtype == DT_F64 || result->dtype == DT_F32;
    SizeId least = size_const(in->graph, array_elision_bytes());
    if (!selects || !type_varies(in, result) || is_laid_out(in, array, result))
        return decide_large(in, result, large);
    return sizes_compare(in, OP_py_le, least, bytes_of(in, result), test);
}

Answer
operand_elided(Interp *in, int operator_, Value *const *operands, const NodeId *nodes,
               const Type *result, int *out, NodeId *test)
{
    *out = -1;
    *test = NO_NODE;
    OperatorElision elides = array_operators[operator_].elides;
    if (elides == ELIDES_NOTHING || in->loop != NULL || !is_large(in, result)) return ANSWER_YES;
    for (int i = 0; i < (elides == ELIDES_EITHER ? 2 : 1); i++) {
        DType dtype = (DType)node_type(in, nodes[i]).dtype;
        if (elides == ELIDES_INEXACT && !dtype_is_float(dtype) && !dtype_is_complex(dtype))
            continue;
        if (!may_take(in, operands[i], nodes[i], nodes[1 - i])) continue;
        bool last = i == 1 || !may_take(in, operands[1], nodes[1], nodes[0]);
        if (last && !is_seen(in, operands[i], operands[1 - i], result, i == 1)) continue;
        bool temporary;
        *out = i;
        TRY(is_temporary(in, operands[i], &temporary));
        bool large = temporary;
        bool seen = temporary && is_seen(in, operands[i], operands[1 - i], result, i == 1);
        if (seen) TRY(test_large(in, operands[i], result, &large, test));
        if (large) return ANSWER_YES;
        *out = -1;
    }
    return ANSWER_YES;
}

Answer
sole_operand_elided(Interp *in, const Value *operand, NodeId node, const Type *result, bool *out)
{
    Type type = node_type(in, node);
    *out = false;
    bool may = in->loop == NULL && type.dtype == result->dtype && may_take(in, operand, node, node);
    if (!may || memcmp(type.stride, result->stride, sizeof(SizeId) * type.rank) == 0)
        return ANSWER_YES;
    TRY(is_temporary(in, operand, out));
    return *out ? decide_large(in, result, out) : ANSWER_YES;
}

/* The operator's result shows the layout or the order of its operands. */
static bool
is_told(PyObject *sample)
{
    ArrayHeader header;
    const char *why;
    return sample != NULL && array_read(sample, &header, &why) == ANSWER_YES &&
           (header.flags & ARRAY_OWNS) && (header.rank > 1 || dtype_is_complex(header.dtype));
}

Answer
operand_spare(Interp *in, Value *array, bool *out)
{
    NodeId node;
    *out = false;
    if (value_is_opaque(in, array)) {
        Opaque *opaque = opaque_of(in, array->node);
        bool may = opaque != NULL && !opaque->viewed && is_told(opaque_sample(in, array));
        return may ? is_temporary(in, array, out) : ANSWER_YES;
    }
    if (!value_is_array(in, array)) return ANSWER_YES;
    VARYING(in, answer, operand(in, array, &node));
    if (answer != ANSWER_YES) return answer;
    Type type = node_type(in, node);
    bool stacked = source_is_stacked(in, array->source);
    if (!is_large(in, &type) || (!stacked && !node_owns(in, array->node))) return ANSWER_YES;
    return is_temporary(in, array, out);
}
