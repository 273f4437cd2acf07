/* Generators made inside: a V_ITER named "generator" owns a suspended activation.

   RETURN_GENERATOR ends the call that binds the arguments; each resumption follows the activation
   on to the next YIELD or to its end, with the caller above it as for any call.  The neutral stack
   is CPython's: a resumed activation finds the value sent on top.

   A generator never leaves the graph: where one would have to, or where following it breaks,
   capture starts again with the call that made it left to CPython (`born`). */
#include "interp.h"

struct Generator {
    Activation *activation;
    int born; /* the bottom's Instr in which it was made */
    bool started, running, finished;
};

/* Next time the generator is not made inside. */
static Answer
learn_not_made(Interp *in, const Generator *generator, const char *why)
{
    Break inner = {.code = BREAK_GENERATOR, .line = in->line};
    inner.detail = arena_copy(in->learn_arena, why, strlen(why) + 1);
    if (inner.detail == NULL ||
        VEC_PUSH(in->learn_arena, &in->learn->no_inline, generator->born) < 0 ||
        VEC_PUSH(in->learn_arena, &in->learn->inner, inner) < 0)
        return ANSWER_ERROR;
    in->again = true;
    return interp_break(in, BREAK_GENERATOR, "%s", why);
}

Answer
generator_leaves(Interp *in, Value *iterator)
{
    return learn_not_made(in, iterator->generator, "a generator that leaves the graph unfinished");
}

static Value *
generator_new(Interp *in, Activation *activation)
{
    Value *value = value_new(in, V_ITER);
    Generator *generator = arena_alloc(in->arena, sizeof(Generator));
    if (value == NULL || generator == NULL) return NULL;
    generator->activation = activation;
    generator->born = in->bottom->number;
    value->name = "generator";
    value->type = &PyGen_Type;
    value->generator = generator;
    value->guarded = true;
    return VEC_PUSH(in->arena, &in->generators, value) < 0 ? NULL : value;
}

bool
value_is_generator(const Value *value)
{
    return value->kind == V_ITER && value->generator != NULL;
}

/* ---- what is left behind ---- */

/* Suspended where closing it would run code of the program: a finally, an except, a with. */
static bool
has_cleanup(const Generator *generator)
{
    if (!generator->started || generator->finished) return false;
    const Decoded *decoded = generator->activation->decoded;
    int32_t at = decoded->instrs[generator->activation->number - 1].at;
    for (int i = 0; i < decoded->nhandlers; i++) {
        const Handler *handler = &decoded->handlers[i];
        if (at < handler->start || at >= handler->end) continue;
        const Instr *target = &decoded->instrs[handler->target];
        if (target->kind == I_STOP_ITERATION_ERROR) return false;
        if (target->kind != I_CLEANUP_THROW) return true;
        at = target->at; /* of a yield from: what is around it */
        i = -1;
    }
    return false;
}

Answer
generators_settle(Interp *in)
{
    for (int i = 0; i < in->generators.len; i++) {
        const Generator *generator = in->generators.at[i]->generator;
        if (has_cleanup(generator))
            return learn_not_made(in, generator, "a generator left inside a try or with block");
    }
    return ANSWER_YES;
}

/* ---- resuming ---- */

Answer
generator_resume(Interp *in, Value *iterator, Value *sent, Value **out, bool *returned)
{
    Generator *generator = iterator->generator;
    Activation *a = generator->activation;
    *returned = true;
    if (generator->running) {
        PyErr_SetString(PyExc_ValueError, "generator already executing");
        return break_raises(in);
    }
    if (generator->finished) {
        *out = value_const(in, Py_None);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (!generator->started && !(sent->kind == V_CONST && sent->object == Py_None)) {
        PyErr_SetString(PyExc_TypeError, "can't send non-None value to a just-started generator");
        return break_raises(in);
    }
    if (in->region != 0) return learn_not_made(in, generator, "a generator advanced in a loop");
    a->slots[a->decoded->nlocalsplus + a->depth++] = sent;
    a->result = NULL;
    a->yielded = false;
    generator->started = generator->running = true;
    Answer answer = interp_run(in, a, out);
    generator->running = false;
    if (answer == ANSWER_NO) {
        generator->finished = true;
        in->blame = 1 + generator->born;
        return answer;
    }
    in->dirty = true;
    *returned = generator->finished = !a->yielded;
    return answer;
}

Answer
generator_next(Interp *in, Value *iterator, Value **out)
{
    bool returned;
    Value *none = value_const(in, Py_None);
    if (none == NULL) return ANSWER_ERROR;
    Answer answer = generator_resume(in, iterator, none, out, &returned);
    if (answer == ANSWER_YES && returned) *out = NULL;
    return answer;
}

static Answer
stop_iteration(Interp *in)
{
    PyErr_SetNone(PyExc_StopIteration);
    return break_raises(in);
}

/* send, close, __next__ and __iter__ of a generator. */
Answer
generator_method(Interp *in, Value *iterator, const char *name, int nargs, Value *const *args,
                 Value **out)
{
    Generator *generator = iterator->generator;
    bool returned;
    if (strcmp(name, "send") == 0 && nargs == 1) {
        Answer answer = generator_resume(in, iterator, args[0], out, &returned);
        return answer == ANSWER_YES && returned ? stop_iteration(in) : answer;
    }
    if (strcmp(name, "close") == 0 && nargs == 0 && !generator->running &&
        !has_cleanup(generator)) {
        generator->finished = true;
        *out = value_const(in, Py_None);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    return interp_break(in, BREAK_GENERATOR, "method '%s' of a generator", name);
}

/* ---- the instructions ---- */

static Answer
send(Interp *in, const Instr *instr)
{
    Value *value = top_value(in, 1), *receiver = top_value(in, 2), *item;
    if (value == NULL || receiver == NULL) return ANSWER_ERROR;
    bool returned, nothing = value->kind == V_CONST && value->object == Py_None;
    Answer answer;
    if (value_is_generator(receiver)) {
        answer = generator_resume(in, receiver, value, &item, &returned);
    } else if (nothing) {
        answer = iterator_next(in, receiver, &item);
        returned = answer == ANSWER_YES && item == NULL;
        if (returned && (item = value_const(in, Py_None)) == NULL) return ANSWER_ERROR;
    } else {
        return interp_break(in, BREAK_GENERATOR, "a value sent to %s",
                            value_describe(in, receiver));
    }
    if (answer != ANSWER_YES) return answer;
    in->top->depth -= returned && instr->arg2 ? 2 : 1;
    if (returned) in->top->number = instr->target;
    return push(in, item) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
follow_generator(Interp *in, const Instr *instr)
{
    Activation *a = in->top;
    Value *value = NULL;
    if (instr->kind != I_RETURN_GENERATOR && (value = top_value(in, 1)) == NULL)
        return ANSWER_ERROR;
    switch (instr->kind) {
    case I_RETURN_GENERATOR:
        a->result = generator_new(in, a);
        return a->result == NULL ? ANSWER_ERROR : ANSWER_YES;
    case I_YIELD:
        a->depth--;
        a->yielded = true;
        a->result = value;
        return ANSWER_YES;
    case I_GET_YIELD_FROM: {
        Value *iterator;
        Answer answer = iterator_of(in, value, &iterator);
        if (answer == ANSWER_YES) *stack_at(in, 1) = iterator;
        return answer;
    }
    case I_SEND: return send(in, instr);
    case I_END_SEND: a->depth -= 2; return push(in, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
    default: return interp_break(in, BREAK_GENERATOR, "an exception thrown into a generator");
    }
}
