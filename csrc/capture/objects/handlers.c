/* Raising, the exception table, and the instructions of handlers.
   The handled exception is in->raising.handled; those before it are on the symbolic stack, as in
   CPython.  The frame is never left while an exception that was raised here is live in it, since
   the object and its traceback would be missing: capture then stops before the raise, and CPython
   raises and handles it. */
#include "objects.h"

#include <limits.h>

Answer
raised_unwind(Interp *in, Activation *a)
{
    int32_t at = a->decoded->instrs[a->number].at;
    const Handler *handler = handler_at(a->decoded, at);
    if (handler == NULL || in->top != a) return ANSWER_BREAK;
    Value *exception = in->raising.raised;
    in->raising.raised = NULL;
    break_take(in);
    in->attempt.blame = 0;
    a->depth = handler->depth;
    a->number = handler->target;
    if (handler->lasti && push(in, value_const_new(in, PyLong_FromLong(at))) < 0)
        return ANSWER_ERROR;
    return pushed(in, exception);
}

/* ---- raise ---- */

/* The operand of raise: an exception, or an exception class, which is called. */
static Answer
instantiate(Interp *in, Value *operand, const char *otherwise, Value **out)
{
    if (operand->kind == V_CONST && PyExceptionClass_Check(operand->object)) {
        Answer answer = exception_make(in, operand, 0, NULL, NULL, out);
        if (answer != ANSWER_YES || (*out)->exception != NULL) return answer;
    } else if (operand->exception != NULL) {
        *out = operand;
        return ANSWER_YES;
    }
    PyTypeObject *type = value_type(in, operand);
    if (type == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    if (type == NULL || PyExceptionClass_Check(type) || PyType_IsSubtype(type, &PyType_Type))
        return break_raised(in, "%s is raised here", value_describe(in, operand));
    return raise_new(in, PyExc_TypeError, "%s", otherwise);
}

static Answer
raise_(Interp *in, int operands)
{
    if (operands == 0) {
        if (in->raising.handled != NULL) return raise_again(in, in->raising.handled);
        Answer nothing = handled_nothing(in);
        if (nothing != ANSWER_YES) return nothing;
        return raise_new(in, PyExc_RuntimeError, "No active exception to reraise");
    }
    Value *operand = top_value(in, operands), *exception, *cause = NULL;
    if (operand == NULL) return ANSWER_ERROR;
    Answer answer =
        instantiate(in, operand, "exceptions must derive from BaseException", &exception);
    if (answer != ANSWER_YES) return answer;
    if (operands == 2) {
        if ((operand = top_value(in, 1)) == NULL) return ANSWER_ERROR;
        if (operand->kind == V_OBJECT && PyExceptionInstance_Check(operand->object) &&
            operand->exception == NULL)
            return break_raised(in, "%s is raised here from an exception that was raised before",
                                exception->type->tp_name);
        if (operand->kind != V_CONST || operand->object != Py_None)
            answer =
                instantiate(in, operand, "exception causes must derive from BaseException", &cause);
        if (answer != ANSWER_YES) return answer;
        exception->exception->cause = cause;
        exception->exception->suppress = true;
    }
    return raise_value(in, exception);
}

/* ---- handlers ---- */

Answer
handler_classes(Interp *in, Value *classes, PyObject **out)
{
    Answer answer = value_known(in, classes, out);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_NO)
        return break_hinted(in, BREAK_EXCEPTION, HINT_HANDLER,
                            "an except clause for what is not known");
    Py_ssize_t n = PyTuple_Check(*out) ? PyTuple_GET_SIZE(*out) : 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *class_ = PyTuple_Check(*out) ? PyTuple_GET_ITEM(*out, i) : *out;
        if (!PyExceptionClass_Check(class_))
            return raise_new(in, PyExc_TypeError,
                             "catching classes that do not inherit from BaseException is not "
                             "allowed");
    }
    return ANSWER_YES;
}

static Answer
check_match(Interp *in)
{
    Value *classes = top_value(in, 1), *exception = top_value(in, 2);
    PyObject *known;
    if (classes == NULL || exception == NULL) return ANSWER_ERROR;
    Answer answer = handler_classes(in, classes, &known);
    if (answer != ANSWER_YES) return answer;
    PyTypeObject *type = value_type(in, exception);
    bool ignored;
    if (type == NULL || type_derives(in, type, &PyBaseObject_Type, &ignored) != ANSWER_YES)
        return ANSWER_ERROR;
    int match = PyErr_GivenExceptionMatches((PyObject *)type, known);
    in->top->depth--;
    return pushed(in, value_const(in, match ? Py_True : Py_False));
}

static Answer
push_info(Interp *in)
{
    Value *exception = top_value(in, 1);
    Value *before = in->raising.handled != NULL ? in->raising.handled : value_const(in, Py_None);
    if (exception == NULL || before == NULL) return ANSWER_ERROR;
    if (exception->exception == NULL)
        return break_hinted(in, BREAK_EXCEPTION, HINT_HANDLER,
                            "an exception that was raised before");
    in->top->depth--;
    if (push(in, before) < 0) return ANSWER_ERROR;
    in->raising.handled = exception;
    return pushed(in, exception);
}

static Answer
pop_info(Interp *in)
{
    Value *before = top_value(in, 1);
    if (before == NULL) return ANSWER_ERROR;
    if (in->raising.handled == NULL) {
        if (in->top != in->bottom)
            return break_hinted(in, BREAK_EXCEPTION, HINT_HANDLER,
                                "the end of a handler of another frame");
        SourceId source = source_add(in, SOURCE_HANDLED, NO_SOURCE, 0, NULL, NULL);
        if (source == NO_SOURCE) return ANSWER_ERROR;
        TRY(place_goes(in, source, handled_exception()));
        if (effect_add(in, EFFECT_POP_EXCEPT, NULL, NO_SOURCE, 1, &before) < 0) return ANSWER_ERROR;
        in->top->depth--;
        return ANSWER_YES;
    }
    in->raising.handled = before->exception != NULL ? before : NULL;
    in->top->depth--;
    return ANSWER_YES;
}

Answer
follow_handler(Interp *in, const Instr *instr)
{
    Value *exception;
    switch (instr->kind) {
    case I_RAISE: return raise_(in, instr->arg);
    case I_RERAISE:
        if ((exception = top_value(in, 1)) == NULL) return ANSWER_ERROR;
        if (exception->exception == NULL)
            return break_hinted(in, BREAK_EXCEPTION, HINT_HANDLER,
                                "an exception that was raised before");
        return raise_again(in, exception);
    case I_PUSH_EXC_INFO: return push_info(in);
    case I_POP_EXCEPT: return pop_info(in);
    case I_CHECK_EXC_MATCH: return check_match(in);
    case I_CHECK_EG_MATCH: return group_match(in);
    default: return group_raise_rest(in);
    }
}

/* ---- leaving ---- */

int
handlers_alive_since(Interp *in)
{
    Activation *a = in->bottom;
    int now = in->attempt.steps - 1 - a->decoded->instrs[a->number].sub;
    int since = INT_MAX, n = a->decoded->nlocalsplus + a->depth;
    if (in->errstate.depth > 0) since = in->errstate.step;
    if (in->devices.depth > 0 && in->devices.step < since) since = in->devices.step;
    if (in->raising.handled != NULL && exception_step(in->raising.handled) < since)
        since = exception_step(in->raising.handled);
    if (in->raising.raised != NULL && exception_step(in->raising.raised) < since)
        since = exception_step(in->raising.raised);
    for (int i = 0; i < n; i++) {
        const Value *value = a->slots[i];
        if (value == NULL || value->exception == NULL) continue;
        int step = exception_step(value);
        if (step < since) since = step;
        if (step == now) value->exception->raised = -1; /* CPython raises it when it comes here */
    }
    return since < now ? since : -1;
}
