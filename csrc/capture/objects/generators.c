/* Generators made inside: a V_ITER named "generator" owns a suspended activation.
   RETURN_GENERATOR ends the call that binds the arguments; each resumption follows the activation
   to the next YIELD or to its end, with the caller above it as for any call.  The neutral stack is
   CPython's: a resumed activation finds the sent value on top.
   A generator never leaves the graph: where one would have to, or where following it breaks,
   capture starts again and leaves the call that made it to CPython (`born`). */
#include "objects.h"

/* Starts again; the generator is not made inside then. */
static Answer
learn_hinted(Interp *in, const Generator *generator, BreakHint hint, const char *why)
{
    BreakFrame born;
    Break made = {.code = BREAK_GENERATOR, .hint = hint, .nframes = 1, .frames = &born}, inner;
    const char *name = text_of_str(generator->activation->decoded->code->co_qualname);
    made.detail = arena_printf(in->arena, "'%s', %s", name, why);
    if (made.detail == NULL ||
        break_frame(in->arena, in->bottom->decoded, generator->born, &born) < 0 ||
        break_copy(in->attempt.learn_arena, &made, &inner) < 0 ||
        VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->no_inline, generator->born) < 0 ||
        VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->inner, inner) < 0)
        return ANSWER_ERROR;
    in->attempt.again = true;
    return interp_break(in, BREAK_GENERATOR, "%s", why);
}

static Answer
learn_not_made(Interp *in, const Generator *generator, const char *why)
{
    return learn_hinted(in, generator, HINT_OF_CODE, why);
}

Answer
generator_leaves(Interp *in, Value *iterator)
{
    const Break *told = &in->told;
    if (in->out->exit.kind == EXIT_RETURN || told->code == BREAK_NONE)
        return learn_not_made(in, iterator->generator,
                              "a generator that leaves the graph unfinished");
    const char *why = arena_printf(
        in->arena, "a generator that is in use where the graph ends, line %d: %s%s%s",
        break_at(told)->line, break_text(told->code), *told->detail ? ": " : "", told->detail);
    return why == NULL ? ANSWER_ERROR : learn_hinted(in, iterator->generator, HINT_IN_USE, why);
}

static Value *
generator_new(Interp *in, Activation *activation)
{
    Value *value = value_new(in, V_ITER);
    Generator *generator = arena_alloc(in->arena, sizeof(Generator));
    if (value == NULL || generator == NULL) return NULL;
    generator->activation = activation;
    generator->born = in->bottom->number;
    generator->library = code_is_model(activation);
    value->name = "generator";
    value->type = generator->library ? NULL : &PyGen_Type; /* an iterator of a C class */
    value->generator = generator;
    value->guarded = true;
    return VEC_PUSH(in->arena, &in->writes.generators, value) < 0 ? NULL : value;
}

/* ---- generators that are not finished ---- */

/* It is suspended where closing it would run code of the program: in a try with finally or except,
   or in a with. */
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
        bool end = target->kind == I_COPY && target[1].kind == I_POP_EXCEPT; /* of a handler */
        if (target->kind != I_CLEANUP_THROW && !end) return true;
        at = target->at; /* the enclosing handler */
        i = -1;
    }
    return false;
}

Answer
generators_settle(Interp *in)
{
    for (int i = 0; i < in->writes.generators.len; i++) {
        const Generator *generator = in->writes.generators.at[i]->generator;
        if (has_cleanup(generator))
            return learn_not_made(in, generator, "a generator left inside a try or with block");
    }
    return ANSWER_YES;
}

/* ---- StopIteration ---- */

static Value *
is_raised(Interp *in, PyObject *type)
{
    Value *raised = in->attempt.again ? NULL : in->raising.raised;
    return raised && PyErr_GivenExceptionMatches((PyObject *)raised->type, type) ? raised : NULL;
}

/* The RuntimeError that replaces a StopIteration raised in a generator's code. */
static Answer
converted(Interp *in, Value *stop, Value **out)
{
    Value *class_ = value_const(in, PyExc_RuntimeError);
    Value *text = value_const_new(in, PyUnicode_FromString("generator raised StopIteration"));
    if (class_ == NULL || text == NULL) return ANSWER_ERROR;
    Answer answer = exception_make(in, class_, 1, &text, NULL, out);
    if (answer != ANSWER_YES) return answer;
    (*out)->exception->cause = (*out)->exception->context = stop;
    (*out)->exception->suppress = true;
    return ANSWER_YES;
}

/* Raises StopIteration with a generator's return value. */
Answer
raise_stop(Interp *in, Value *value)
{
    Value *class_ = value_const(in, PyExc_StopIteration), *exception;
    if (class_ == NULL) return ANSWER_ERROR;
    bool none = value == NULL || (value->kind == V_CONST && value->object == Py_None);
    Answer answer = exception_make(in, class_, none ? 0 : 1, &value, NULL, &exception);
    return answer == ANSWER_YES ? raise_value(in, exception) : answer;
}

/* ---- resuming ---- */

/* Follows the activation, which is ready to resume, to its next YIELD or to its end. */
static Answer
run_on(Interp *in, Generator *generator, Value **out, bool *returned)
{
    Activation *a = generator->activation;
    Value *handled = in->raising.handled;
    if (generator->handled != NULL) in->raising.handled = generator->handled;
    generator->handled = NULL;
    a->result = NULL;
    a->yielded = false;
    generator->started = generator->running = true;
    Answer answer = in->above->run(in, a, out);
    generator->running = false;
    if (answer == ANSWER_BREAK) {
        in->raising.handled = handled;
        generator->finished = true;
        in->attempt.blame = 1 + generator->born;
        Value *stop = generator->library ? NULL : is_raised(in, PyExc_StopIteration), *error;
        if (stop == NULL) return answer;
        raised_take(in, PyExc_StopIteration); /* 3.11 has no handler for it */
        answer = converted(in, stop, &error);
        return answer == ANSWER_YES ? raise_again(in, error) : answer;
    }
    in->writes.dirty = true;
    *returned = generator->finished = !a->yielded;
    if (in->raising.handled != handled) {
        generator->handled = in->raising.handled;
        in->raising.handled = handled;
    }
    return answer;
}

static bool
is_none(const Value *value)
{
    return value->kind == V_CONST && value->object == Py_None;
}

/* ANSWER_YES: it can be advanced or ended. */
static Answer
may_change(Interp *in, const Generator *generator)
{
    if (generator->running) return raise_new(in, PyExc_ValueError, "generator already executing");
    if (in->loop != NULL) return learn_not_made(in, generator, "a generator advanced in a loop");
    return ANSWER_YES;
}

/* ANSWER_YES: it can be resumed. */
static Answer
may_resume(Interp *in, const Generator *generator)
{
    Answer answer = may_change(in, generator);
    if (answer != ANSWER_YES) return answer;
    if (in->raising.handled != NULL && generator->handled != NULL)
        return learn_not_made(in, generator, "a generator resumed where an exception is handled");
    return ANSWER_YES;
}

/* Follows it to its next value, or to its end: then *returned is set, and *out is its return
   value. */
static Answer
generator_resume(Interp *in, Value *iterator, Value *sent, Value **out, bool *returned)
{
    Generator *generator = iterator->generator;
    Activation *a = generator->activation;
    *returned = true;
    Answer answer = may_resume(in, generator);
    if (answer != ANSWER_YES) return answer;
    if (generator->finished) {
        *out = value_const(in, Py_None);
        return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
    }
    if (!generator->started && !is_none(sent))
        return raise_new(in, PyExc_TypeError,
                         "can't send non-None value to a just-started generator");
    iterator->position++; /* a change that world.c finds, for merged branches and kept loops */
    a->slots[a->decoded->nlocalsplus + a->depth++] = sent;
    return run_on(in, generator, out, returned);
}

Answer
generator_next(Interp *in, Value *iterator, Value **out)
{
    bool returned;
    Value *none = value_const(in, Py_None);
    if (none == NULL) return ANSWER_ERROR;
    Answer answer = generator_resume(in, iterator, none, out, &returned);
    if (answer == ANSWER_BREAK && iterator->generator->library &&
        raised_take(in, PyExc_StopIteration) != NULL) {
        *out = NULL; /* an exception of the program's function ends the iterator */
        return ANSWER_YES;
    }
    if (answer == ANSWER_YES && returned) *out = NULL;
    return answer;
}

/* ---- throwing ---- */

/* The generator to which it delegates with yield from, or NULL. */
static Value *
delegate_of(const Generator *generator)
{
    const Activation *a = generator->activation;
    if (!generator->started || generator->finished || a->number < 2 ||
        a->decoded->instrs[a->number - 2].kind != I_SEND)
        return NULL;
    return a->slots[a->decoded->nlocalsplus + a->depth - 1];
}

/* The exception is raised at the YIELD where the generator is suspended. */
static Answer
throw_here(Interp *in, Generator *generator, Value *exception, Value **out, bool *returned)
{
    Activation *a = generator->activation, *caller = in->top;
    if (generator->finished || !generator->started) {
        generator->started = generator->finished = true;
        return raise_value(in, exception);
    }
    a->number--;
    Answer answer = raise_value(in, exception);
    in->top = a;
    if (answer == ANSWER_BREAK && in->raising.raised != NULL) answer = raised_unwind(in, a);
    in->top = caller;
    if (answer == ANSWER_BREAK) generator->finished = true;
    return answer == ANSWER_YES ? run_on(in, generator, out, returned) : answer;
}

/* The generator to which it delegates has returned: continues behind the yield from. */
static Answer
delegate_returned(Interp *in, Generator *generator, Value *value, Value **out, bool *returned)
{
    Activation *a = generator->activation;
    const Instr *send = &a->decoded->instrs[a->number - 2];
    if (send->arg2) a->depth--;
    a->slots[a->decoded->nlocalsplus + a->depth++] = value;
    a->number = send->target;
    return run_on(in, generator, out, returned);
}

static Answer generator_close(Interp *in, Value *iterator);

static Answer
generator_throw(Interp *in, Value *iterator, Value *exception, Value **out, bool *returned)
{
    Generator *generator = iterator->generator;
    Answer answer = may_resume(in, generator);
    if (answer != ANSWER_YES) return answer;
    iterator->position++; /* for a generator that may be ended but not advanced */
    Value *delegate = delegate_of(generator);
    *returned = true;
    if (delegate != NULL && !value_is_generator(delegate) && delegate->kind != V_ITER)
        return learn_not_made(in, generator, "an exception thrown into what is not a generator");
    if (delegate == NULL || !value_is_generator(delegate))
        return throw_here(in, generator, exception, out, returned);
    if (PyErr_GivenExceptionMatches((PyObject *)exception->type, PyExc_GeneratorExit)) {
        answer = generator_close(in, delegate);
        return answer == ANSWER_YES ? throw_here(in, generator, exception, out, returned) : answer;
    }
    answer = generator_throw(in, delegate, exception, out, returned);
    if (answer == ANSWER_YES && !*returned) return answer;
    if (answer == ANSWER_YES) return delegate_returned(in, generator, *out, out, returned);
    Value *raised = answer == ANSWER_BREAK ? is_raised(in, PyExc_BaseException) : NULL;
    if (raised == NULL) return answer;
    raised_take(in, PyExc_BaseException);
    return throw_here(in, generator, raised, out, returned);
}

static Answer
generator_close(Interp *in, Value *iterator)
{
    Generator *generator = iterator->generator;
    Value *delegate = delegate_of(generator), *class_, *exit, *out;
    bool returned;
    if (generator->finished) return ANSWER_YES;
    if (!has_cleanup(generator) && (delegate == NULL || delegate->kind == V_ITER)) {
        Answer may = may_change(in, generator);
        if (may != ANSWER_YES) return may;
        if (delegate != NULL && value_is_generator(delegate)) {
            Answer answer = generator_close(in, delegate);
            if (answer != ANSWER_YES) return answer;
        }
        iterator->position++;
        generator->finished = true;
        return ANSWER_YES;
    }
    if ((class_ = value_const(in, PyExc_GeneratorExit)) == NULL) return ANSWER_ERROR;
    Answer answer = exception_make(in, class_, 0, NULL, NULL, &exit);
    if (answer == ANSWER_YES) answer = generator_throw(in, iterator, exit, &out, &returned);
    if (answer == ANSWER_YES && !returned)
        return raise_new(in, PyExc_RuntimeError, "generator ignored GeneratorExit");
    if (answer == ANSWER_YES && !is_none(out))
        return learn_not_made(in, generator, "a generator that returns a value when it is closed");
    if (answer == ANSWER_BREAK && (raised_take(in, PyExc_GeneratorExit) != NULL ||
                                   raised_take(in, PyExc_StopIteration) != NULL))
        return ANSWER_YES;
    return answer;
}

/* The exception that throw()'s arguments mean: an exception, a class, or both with a traceback. */
static Answer
thrown(Interp *in, int nargs, Value *const *args, Value **out)
{
    Value *first = args[0], *value = nargs > 1 ? args[1] : NULL;
    if (value != NULL && value->exception != NULL) first = value;
    *out = first;
    if (first->exception != NULL) return ANSWER_YES;
    bool nothing = value == NULL || is_none(value);
    if (nothing && first->kind == V_CONST && PyExceptionClass_Check(first->object)) {
        Answer answer = exception_make(in, first, 0, NULL, NULL, out);
        if (answer != ANSWER_YES || (*out)->exception != NULL) return answer;
    }
    return interp_break(in, BREAK_GENERATOR, "what is thrown into a generator");
}

/* send, throw and close of a generator. */
Answer
generator_method(Interp *in, Value *iterator, const char *name, int nargs, Value *const *args,
                 Value **out)
{
    bool returned;
    Value *exception;
    if (strcmp(name, "send") == 0 && nargs == 1) {
        Answer answer = generator_resume(in, iterator, args[0], out, &returned);
        return answer == ANSWER_YES && returned ? raise_stop(in, *out) : answer;
    }
    if (strcmp(name, "throw") == 0 && nargs > 0 && nargs < 4) {
        Answer answer = thrown(in, nargs, args, &exception);
        if (answer == ANSWER_YES) answer = generator_throw(in, iterator, exception, out, &returned);
        return answer == ANSWER_YES && returned ? raise_stop(in, *out) : answer;
    }
    if (strcmp(name, "close") == 0 && nargs == 0) {
        Answer answer = generator_close(in, iterator);
        *out = value_const(in, Py_None);
        return *out == NULL ? ANSWER_ERROR : answer;
    }
    return interp_break(in, BREAK_GENERATOR, "method '%s' of a generator", name);
}

/* ---- the instructions ---- */

static Answer
send(Interp *in, const Instr *instr)
{
    Value *value = top_value(in, 1), *receiver = top_value(in, 2), *item, *last = NULL;
    if (value == NULL || receiver == NULL) return ANSWER_ERROR;
    bool returned;
    Answer answer;
    if (value_is_generator(receiver)) {
        answer = generator_resume(in, receiver, value, &item, &returned);
    } else if (is_none(value)) {
        bool object = receiver->kind == V_OBJECT || receiver->kind == V_INSTANCE;
        answer = object ? object_next_value(in, receiver, &item, &last)
                        : iterator_next(in, receiver, &item);
        returned = answer == ANSWER_YES && item == NULL;
        if (returned) item = last != NULL ? last : value_const(in, Py_None);
        if (returned && item == NULL) return ANSWER_ERROR;
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
    case I_STOP_ITERATION_ERROR: {
        bool stop = value->exception != NULL &&
                    PyErr_GivenExceptionMatches((PyObject *)value->type, PyExc_StopIteration);
        if (!stop || code_is_model(a)) return ANSWER_YES;
        Value *error;
        Answer answer = converted(in, value, &error);
        if (answer == ANSWER_YES) *stack_at(in, 1) = error;
        return answer;
    }
    default: /* CLEANUP_THROW */
        if (value->exception == NULL)
            return interp_break(in, BREAK_GENERATOR, "an exception thrown into a generator");
        if (!PyErr_GivenExceptionMatches((PyObject *)value->type, PyExc_StopIteration))
            return raise_again(in, value);
        Value *args = value->exception->args, *none = value_const(in, Py_None);
        Value *item = args->nitems ? value_item(in, args, 0) : none;
        if (none == NULL || item == NULL) return ANSWER_ERROR;
        a->depth -= 3;
        return push(in, none) < 0 || push(in, item) < 0 ? ANSWER_ERROR : ANSWER_YES;
    }
}
