/* The loop over instructions: one activation at a time, inlined functions by recursion.

   An instruction's handler looks at its operands on the stack and takes them off only when it has
   succeeded, so that a break leaves the frame as it was before the instruction. */
#include "../../clock.h"
#include "control.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { INLINE_DEPTH = 160 };

/* ---- activations ---- */

Activation *
activation_new(Interp *in, const Decoded *decoded)
{
    Activation *activation = arena_alloc(in->arena, sizeof(Activation));
    if (activation == NULL) return NULL;
    int nslots = decoded->nlocalsplus + decoded->code->co_stacksize + 2;
    activation->decoded = decoded;
    activation->slots = arena_alloc(in->arena, (size_t)nslots * sizeof(Value *));
    activation->file = graph_file(in->graph, text_of_str(decoded->code->co_filename));
    return activation->slots == NULL || activation->file < 0 ? NULL : activation;
}

static void
decoded_capsule_free(PyObject *capsule)
{
    decoded_free(PyCapsule_GetPointer(capsule, NULL));
}

const Decoded *
decoded_for(Interp *in, PyCodeObject *code)
{
    Decoded *decoded = map_get(&in->sources.decoded, code);
    if (decoded != NULL) return decoded;
    decoded = decode(code);
    if (decoded == NULL) return NULL;
    PyObject *capsule = PyCapsule_New(decoded, NULL, decoded_capsule_free);
    if (capsule == NULL) {
        decoded_free(decoded);
        return NULL;
    }
    if (keep(in, capsule) == NULL || keep(in, Py_NewRef((PyObject *)code)) == NULL) return NULL;
    return map_put(in, &in->sources.decoded, code, decoded) < 0 ? NULL : decoded;
}

/* ---- one instruction ---- */

static Answer
follow_operator(Interp *in, const Instr *instr)
{
    Value *right = top_value(in, 1), *left = NULL, *result = NULL;
    int operands = instr->kind == I_BINARY || instr->kind == I_COMPARE ? 2 : 1;
    if (right == NULL || (operands == 2 && (left = top_value(in, 2)) == NULL)) return ANSWER_ERROR;
    Answer answer;
    if (instr->kind == I_BINARY) {
        answer = operate_binary(in, instr->arg, left, right, &result);
    } else if (instr->kind == I_COMPARE) {
        answer = operate_compare(in, instr->arg, left, right, &result);
        if (answer == ANSWER_YES && instr->arg2 == 1) {
            int known;
            Value *node;
            answer = value_truth(in, result, &known, &node);
            if (answer == ANSWER_YES)
                result = known >= 0 ? value_const(in, known ? Py_True : Py_False) : node;
        }
    } else {
        answer = operate_unary(in, instr->kind, right, &result);
    }
    if (answer != ANSWER_YES) return answer;
    in->top->depth -= operands;
    return push(in, result) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
follow_test(Interp *in, const Instr *instr)
{
    Value *right = top_value(in, 1), *left = top_value(in, 2);
    if (right == NULL || left == NULL) return ANSWER_ERROR;
    bool result;
    if (instr->kind == I_CONTAINS) {
        Value *found;
        ListUse use = {.does = LIST_HAS, .list = right, .key = left};
        Answer loose = right->kind == V_GROWN_DICT ? loop_list(in, &use, &found)
                                                   : loose_contains(in, left, right, &found);
        if (loose == ANSWER_YES && instr->arg != 0)
            loose = operate_unary(in, I_UNARY_NOT, found, &found);
        if (loose != ANSWER_NO) {
            if (loose == ANSWER_YES) in->top->depth -= 2;
            return loose == ANSWER_YES && push(in, found) < 0 ? ANSWER_ERROR : loose;
        }
    }
    bool loose = instr->kind == I_IS && (value_is_loose(in, left) || value_is_loose(in, right));
    if (loose && (left->object == Py_None || right->object == Py_None)) {
        Value *both[2] = {left, right}, *same;
        PyObject *is = module_kept(in, "operator", instr->arg != 0 ? "is_not" : "is_");
        Answer asked = is ? loose_call(in, is, 2, both, &same) : ANSWER_ERROR;
        if (asked != ANSWER_YES) return asked;
        in->top->depth -= 2;
        return push(in, same) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    Answer answer = instr->kind == I_IS ? operate_is(in, left, right, &result)
                                        : operate_contains(in, left, right, &result);
    if (answer != ANSWER_YES) return answer;
    in->top->depth -= 2;
    Value *value = value_const(in, result != (instr->arg != 0) ? Py_True : Py_False);
    return push(in, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
follow_subscript(Interp *in, const Instr *instr)
{
    bool slice = instr->kind == I_SLICE_LOAD || instr->kind == I_SLICE_STORE;
    int operands = slice ? 2 : 1; /* of the key */
    Value *key = top_value(in, 1), *object = top_value(in, operands + 1), *result = NULL;
    if (key == NULL || object == NULL) return ANSWER_ERROR;
    if (slice) {
        Value *items[3] = {top_value(in, 2), key, value_const(in, Py_None)};
        if (items[0] == NULL || items[2] == NULL) return ANSWER_ERROR;
        key = value_sequence(in, V_SLICE, 3, items);
        if (key == NULL) return ANSWER_ERROR;
    }
    Answer answer;
    if (instr->kind == I_SUBSCRIPT || instr->kind == I_SLICE_LOAD) {
        answer = operate_subscript(in, object, key, &result);
        if (answer != ANSWER_YES) return answer;
        in->top->depth -= operands + 1;
        return push(in, result) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
    if (instr->kind == I_DELETE_SUBSCRIPT) {
        answer = operate_delete_subscript(in, object, key);
        if (answer == ANSWER_YES) in->top->depth -= 2;
        return answer;
    }
    Value *value = top_value(in, operands + 2);
    if (value == NULL) return ANSWER_ERROR;
    answer = operate_store_subscript(in, object, key, value);
    if (answer == ANSWER_YES) in->top->depth -= operands + 2;
    return answer;
}

/* ANSWER_YES, or it breaks.  Sets the activation's result at a RETURN. */
static Answer
follow(Interp *in, const Instr *instr)
{
    Activation *a = in->top;
    switch (instr->kind) {
    case I_NOP:
    case I_RESUME:
    case I_END_FOR: return ANSWER_YES;
    case I_CONST:
    case I_LOAD_LOCAL:
    case I_LOAD_CLEAR:
    case I_STORE_LOCAL:
    case I_DELETE_LOCAL:
    case I_POP:
    case I_COPY:
    case I_SWAP:
    case I_PUSH_NULL:
    case I_BUILD_TUPLE:
    case I_BUILD_LIST:
    case I_BUILD_SET:
    case I_BUILD_MAP:
    case I_BUILD_MAP_KEYS:
    case I_BUILD_STRING:
    case I_BUILD_SLICE:
    case I_LIST_EXTEND:
    case I_SET_UPDATE:
    case I_DICT_UPDATE:
    case I_DICT_MERGE:
    case I_LIST_APPEND:
    case I_SET_ADD:
    case I_MAP_ADD:
    case I_LIST_TO_TUPLE:
    case I_FORMAT:
    case I_UNPACK:
    case I_UNPACK_EX: return follow_stack(in, instr);
    case I_GET_LEN:
    case I_MATCH_CLASS:
    case I_MATCH_KEYS:
    case I_MATCH_MAPPING:
    case I_MATCH_SEQUENCE: return follow_match(in, instr);
    case I_MAKE_CELL:
    case I_COPY_FREE_VARS:
    case I_LOAD_CELL:
    case I_LOAD_DEREF:
    case I_STORE_DEREF:
    case I_DELETE_DEREF:
    case I_LOAD_GLOBAL:
    case I_STORE_GLOBAL:
    case I_DELETE_GLOBAL:
    case I_LOAD_ATTR:
    case I_LOAD_METHOD:
    case I_STORE_ATTR:
    case I_DELETE_ATTR:
    case I_MAKE_FUNCTION:
    case I_SET_FUNCTION_ATTRIBUTE:
    case I_LOAD_ASSERTION_ERROR: return follow_name(in, instr);
    case I_UNARY_POSITIVE:
    case I_UNARY_NEGATIVE:
    case I_UNARY_NOT:
    case I_UNARY_INVERT:
    case I_TO_BOOL:
    case I_BINARY:
    case I_COMPARE: return follow_operator(in, instr);
    case I_IS:
    case I_CONTAINS: return follow_test(in, instr);
    case I_SUBSCRIPT:
    case I_STORE_SUBSCRIPT:
    case I_DELETE_SUBSCRIPT:
    case I_SLICE_LOAD:
    case I_SLICE_STORE: return follow_subscript(in, instr);
    case I_CALL:
    case I_CALL_KW:
    case I_CALL_EX: return follow_call(in, instr);
    case I_JUMP:
    case I_JUMP_IF_FALSE:
    case I_JUMP_IF_TRUE:
    case I_JUMP_IF_NONE:
    case I_JUMP_IF_NOT_NONE:
    case I_JUMP_IF_FALSE_OR_POP:
    case I_JUMP_IF_TRUE_OR_POP:
    case I_GET_ITER:
    case I_FOR_ITER: return follow_jump(in, instr);
    case I_RETURN:
        if (code_stands_in(a->decoded->code)) /* its variables are stored before */
            return interp_break(in, BREAK_INSTRUCTION, "the end of the module");
        a->result = top_value(in, 1);
        return a->result == NULL ? ANSWER_ERROR : ANSWER_YES;
    case I_RETURN_GENERATOR:
    case I_YIELD:
    case I_GET_YIELD_FROM:
    case I_SEND:
    case I_END_SEND:
    case I_CLEANUP_THROW:
    case I_STOP_ITERATION_ERROR: return follow_generator(in, instr);
    case I_RAISE:
    case I_RERAISE:
    case I_PUSH_EXC_INFO:
    case I_POP_EXCEPT:
    case I_CHECK_EXC_MATCH:
    case I_CHECK_EG_MATCH:
    case I_PREP_RERAISE_STAR: return follow_handler(in, instr);
    case I_BEFORE_WITH:
    case I_WITH_EXCEPT_START: return follow_with(in, instr);
    case I_LOAD_BUILD_CLASS:
    case I_LOAD_SUPER_ATTR:
    case I_IMPORT_NAME:
    case I_IMPORT_FROM: return follow_name(in, instr);
    default: return interp_break(in, BREAK_INSTRUCTION, "%s", instr_name(instr->kind));
    }
}

enum { LOOK_AFTER = 64 }; /* instructions between two looks for a signal, and at the clock */

/* A break: a signal has come.  Where it takes too long, no instruction may be followed any more. */
static Answer
look_up(Interp *in)
{
    if (signal_is_pending(PyThreadState_Get())) {
        in->attempt.learn->interrupted = true;
        return interp_break(in, BREAK_TOO_LONG, "a signal came");
    }
    int64_t until = in->request->until;
    if (until > 0 && clock_ran_ns() > until) in->attempt.budget = 0;
    return ANSWER_YES;
}

/* Counts the budget, stops where earlier attempts said so or a signal has come, and sets the
   position for nodes and guards. */
static Answer
before(Interp *in, const Instr *instr)
{
    Activation *a = in->top;
    if (instr->line > 0 && instr->line != in->attempt.line) {
        in->attempt.line = instr->line;
        if (a->caller == NULL || !code_is_ours(a)) /* else it stays the caller's */
            graph_set_position(in->graph, a->file, instr->line);
    }
    in->out->ninstructions++;
    if (a == in->bottom) {
        in->writes.dirty = in->writes.dirty_before = false;
        TRY(end_alone(in, a->number));
        if (in->attempt.first_step[a->number] == 0)
            in->attempt.first_step[a->number] = 1 + in->attempt.steps;
        if (in->attempt.steps++ == in->attempt.marks->stop_at && instr->sub == 0) {
            const Break *stop = &in->attempt.marks->stop;
            return interp_break_as(in, stop->code, stop);
        }
    } else {
        in->writes.dirty_before = in->writes.dirty_before || in->writes.dirty;
        in->writes.dirty = false;
        TRY(end_alone(in, a->number));
    }
    if (in->attempt.budget % LOOK_AFTER == 0) TRY(look_up(in));
    if (--in->attempt.budget >= 0) return ANSWER_YES;
    in->attempt.learn->recurses = in->attempt.learn->recurses || is_recursion(a);
    return instructions_spent(in);
}

/* The end of what the Instr has taken off the frame's stack runs code: it was followed in vain. */
static Answer
after(Interp *in, const Instr *instr, int number)
{
    if (in->top != in->bottom || in->request->depth == 0 || in->top->result != NULL)
        return ANSWER_YES;
    int next = in->bottom->number;
    in->bottom->number = number;
    Answer answer = stack_goes(in, instr);
    if (answer == ANSWER_YES)
        in->bottom->number = next;
    else
        in->writes.dirty = true;
    return answer;
}

static Answer
follow_one(Interp *in, Activation *activation)
{
    int number = activation->number, depth = activation->depth;
    const Instr *instr = &activation->decoded->instrs[number];
    Answer answer = before(in, instr);
    bool whole = false; /* it was the first of a loop, which is followed */
    if (answer == ANSWER_YES) answer = follow_while(in, &whole);
    if (answer == ANSWER_YES && !whole) answer = follow(in, instr);
    if (answer == ANSWER_YES) answer = after(in, instr, number);
    assert(answer_agrees(in, answer));
    if (in->attempt.again && in->break_code != BREAK_NONE && answer != ANSWER_ERROR)
        answer = ANSWER_BREAK; /* a fact that was learnt in passing */
    assert(answer != ANSWER_NO);
    if (answer != ANSWER_YES)
        activation->depth = depth;
    else if (instr->kind != I_RETURN && activation->number == number)
        activation->number++;
    return answer;
}

/* Has the iteration that is followed come to its end? */
static Answer
look_for_end(Interp *in)
{
    Turn *turn = in->turn;
    if (turn == NULL || in->top != turn->of || turn->leaves != NULL) return ANSWER_YES;
    const LoopShape *shape = turn->shape;
    int number = in->top->number, leaves = 0;
    if (number != shape->begin && number != shape->top) {
        if (shape->inside[number]) return ANSWER_YES;
        leaves = loop_exit_number(shape, turn->of->decoded, number);
        if (leaves < 0) return interp_break(in, BREAK_UNROLL, "a way out that is not known");
        if (loop_is_side(shape, number)) TRY(loop_at_side(in, turn, number));
    }
    in->top->depth = shape->base;
    turn->leaves = value_const_new(in, PyLong_FromLong(leaves));
    return turn->leaves == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static bool
at_end(const Interp *in)
{
    return in->turn != NULL && in->top == in->turn->of && in->turn->leaves != NULL;
}

Answer
interp_until(Interp *in, int number)
{
    Answer answer = look_for_end(in);
    while (answer == ANSWER_YES && in->top->number != number && in->top->result == NULL &&
           !at_end(in)) {
        answer = follow_one(in, in->top);
        if (answer == ANSWER_YES) answer = look_for_end(in);
    }
    return answer;
}

Answer
interp_turn(Interp *in)
{
    Answer answer = follow_one(in, in->top); /* it begins where it ends */
    return answer == ANSWER_YES ? interp_until(in, JOIN_NONE) : answer;
}

/* Of the calls that are followed. */
static uint64_t
digest_of_calls(const Activation *caller)
{
    if (caller == NULL) return 0;
    uint64_t calls = caller->calls ^ (uint64_t)(uintptr_t)caller->decoded->code;
    return (calls + (uint64_t)caller->number + 1) * 0x9E3779B97F4A7C15u;
}

Answer
interp_run(Interp *in, Activation *activation, Value **out)
{
    activation->caller = in->top;
    activation->calls = digest_of_calls(in->top);
    if (in->top != NULL) {
        if (in->inlined >= INLINE_DEPTH)
            return interp_break(in, BREAK_CALL_PYTHON, "functions inlined too deep");
        in->inlined++;
    }
    int line = in->attempt.line, graph_file = in->graph->file, graph_line = in->graph->line;
    bool adds_up = in->temporaries.adds_up;
    in->temporaries.adds_up = false;
    in->top = activation;
    Answer answer = ANSWER_YES;
    while (answer == ANSWER_YES && activation->result == NULL) {
        answer = follow_one(in, activation);
        if (answer == ANSWER_BREAK && in->raising.raised != NULL && !in->attempt.again)
            answer = raised_unwind(in, activation);
    }
    *out = activation->result;
    in->temporaries.adds_up = adds_up;
    if (activation->caller != NULL) {
        if (answer == ANSWER_BREAK && in->raising.raised != NULL)
            in->raising.raised->exception->part_of = NULL;
        in->inlined--;
        in->writes.dirty = true; /* the caller's instruction may still break */
        in->top = activation->caller;
        in->attempt.line = line;
        graph_set_position(in->graph, graph_file, graph_line);
    }
    return answer;
}
