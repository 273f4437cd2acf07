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
    Value *handled; /* what it handles while it waits; or NULL */
    Value *thrown;  /* what the YIELD at which it waits raises; or NULL */
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

/* Follows it to its next YIELD or to its end. */
static Answer
run_on(Interp *in, Generator *generator, Value **out, bool *returned)
{
    Activation *a = generator->activation;
    Value *handled = in->handled;
    a->result = NULL;
    a->yielded = false;
    if (generator->handled != NULL) in->handled = generator->handled;
    generator->running = true;
    Answer answer = interp_run(in, a, out);
    generator->running = false;
    generator->handled = in->handled != handled ? in->handled : NULL;
    in->handled = handled;
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
    if (in->loop != NULL) return learn_not_made(in, generator, "a generator advanced in a loop");
    iterator->position++; /* seen where a branch is merged: world.c */
    a->slots[a->decoded->nlocalsplus + a->depth++] = sent;
    generator->started = true;
    return run_on(in, generator, out, returned);
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
stop_iteration(Interp *in, Value *returned)
{
    Value *class_ = value_const(in, PyExc_StopIteration), *exception;
    if (class_ == NULL) return ANSWER_ERROR;
    int nargs = returned->kind == V_CONST && returned->object == Py_None ? 0 : 1;
    Answer answer = exception_make(in, class_, nargs, &returned, NULL, &exception);
    return answer == ANSWER_YES ? raise_value(in, exception) : answer;
}

/* ---- exceptions thrown in ---- */

/* An exception at the place where the generator waits. */
static Answer
throw_in(Interp *in, Value *iterator, Value *exception, Value **out, bool *returned)
{
    Generator *generator = iterator->generator;
    Activation *a = generator->activation;
    *returned = true;
    if (generator->running) return raise_new(in, PyExc_ValueError, "generator already executing");
    if (in->region != 0) return learn_not_made(in, generator, "a generator advanced in a loop");
    if (!generator->started) generator->finished = true;
    if (generator->finished) return raise_value(in, exception);
    for (int i = 0; i < a->depth; i++) { /* what it delegates to would get it first */
        const Value *below = a->slots[a->decoded->nlocalsplus + i];
        if (below != NULL && below->kind == V_ITER &&
            a->decoded->instrs[a->number].kind == I_RESUME &&
            (a->decoded->instrs[a->number].arg & 3) == 2)
            return interp_break(in, BREAK_GENERATOR, "an exception thrown into yield from");
    }
    a->number--; /* its YIELD raises it */
    generator->thrown = exception;
    a->thrown = &generator->thrown;
    return run_on(in, generator, out, returned);
}

/* The exception that throw's arguments say: an exception, a class, or both with a traceback. */
static Answer
thrown_exception(Interp *in, int nargs, Value *const *args, Value **out)
{
    Value *first = args[0], *value = nargs > 1 ? args[1] : NULL;
    if (value != NULL && value->exception != NULL) first = value;
    *out = first;
    if (first->exception != NULL) return ANSWER_YES;
    bool nothing = value == NULL || (value->kind == V_CONST && value->object == Py_None);
    if (!nothing || first->kind != V_CONST || !PyExceptionClass_Check(first->object))
        return interp_break(in, BREAK_GENERATOR, "what is thrown into a generator");
    Answer answer = exception_make(in, first, 0, NULL, NULL, out);
    return answer;
}

static Answer
generator_throw(Interp *in, Value *iterator, int nargs, Value *const *args, Value **out)
{
    Value *exception;
    bool returned;
    Answer answer = thrown_exception(in, nargs, args, &exception);
    if (answer == ANSWER_YES) answer = throw_in(in, iterator, exception, out, &returned);
    return answer == ANSWER_YES && returned ? stop_iteration(in, *out) : answer;
}

/* close() of one that has code to run: GeneratorExit is thrown in and must come out. */
static Answer
generator_close(Interp *in, Value *iterator, Value **out)
{
    bool returned;
    Value *class_ = value_const(in, PyExc_GeneratorExit), *exception, *ignored;
    if (class_ == NULL) return ANSWER_ERROR;
    Answer answer = exception_make(in, class_, 0, NULL, NULL, &exception);
    if (answer == ANSWER_YES) answer = throw_in(in, iterator, exception, &ignored, &returned);
    if (answer == ANSWER_YES && !returned)
        return raise_new(in, PyExc_RuntimeError, "generator ignored GeneratorExit");
    if (answer == ANSWER_NO && raised_take(in, PyExc_GeneratorExit) == NULL &&
        raised_take(in, PyExc_StopIteration) == NULL)
        return answer;
    if (answer == ANSWER_ERROR) return answer;
    *out = value_const(in, Py_None);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* PEP 479: StopIteration out of a generator's body is a RuntimeError. */
static Answer
stop_iteration_error(Interp *in, Value *exception)
{
    if (exception->exception == NULL ||
        !PyType_IsSubtype(exception->type, (PyTypeObject *)PyExc_StopIteration))
        return ANSWER_YES;
    Value *class_ = value_const(in, PyExc_RuntimeError), *error;
    Value *text = value_const_new(in, PyUnicode_FromString("generator raised StopIteration"));
    if (class_ == NULL || text == NULL) return ANSWER_ERROR;
    Answer answer = exception_make(in, class_, 1, &text, NULL, &error);
    if (answer != ANSWER_YES) return answer;
    error->exception->cause = error->exception->context = exception;
    error->exception->suppress = true;
    *stack_at(in, 1) = error;
    return ANSWER_YES;
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
        return answer == ANSWER_YES && returned ? stop_iteration(in, *out) : answer;
    }
    if (strcmp(name, "throw") == 0 && nargs > 0 && nargs < 4)
        return generator_throw(in, iterator, nargs, args, out);
    if (strcmp(name, "close") == 0 && nargs == 0 && !generator->running) {
        if (has_cleanup(generator)) return generator_close(in, iterator, out);
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
    if (a->thrown != NULL && *a->thrown != NULL) {
        Value *exception = *a->thrown;
        *a->thrown = NULL;
        return raise_value(in, exception);
    }
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
    case I_STOP_ITERATION_ERROR: return stop_iteration_error(in, value);
    default: return interp_break(in, BREAK_GENERATOR, "an exception thrown into a generator");
    }
}
