/* with: __enter__ and __exit__ are looked up on the manager's class, as CPython does, and followed.
   The bound __exit__ is on the stack while the body runs, so a break in the body leaves the frame
   with the block entered, and CPython continues in it. */
#include "objects.h"

/* __enter__ or __exit__ bound to the manager. */
static Answer
bound_special(Interp *in, Value *manager, const char *name, Value **out)
{
    Value *method;
    Answer answer = special_method(in, manager, name, &method);
    if (answer != ANSWER_YES) return answer;
    if (method == NULL)
        return interp_break(in, BREAK_WITH, "a with block of %s", value_describe(in, manager));
    Value *items[2] = {method, manager};
    *out = value_sequence(in, V_METHOD, 2, items);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
with_device(Interp *in, Value *device)
{
    Value *exit = value_sequence(in, V_BUILTIN_METHOD, 1, &device);
    if (exit == NULL) return ANSWER_ERROR;
    exit->name = "__exit__";
    TRY(device_enter(in, device));
    in->top->depth--;
    if (push(in, exit) < 0) return ANSWER_ERROR;
    return push(in, device) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
before_with(Interp *in)
{
    Value *manager = top_value(in, 1), *enter, *exit, *result;
    if (manager == NULL) return ANSWER_ERROR;
    if (value_is_device(manager)) return with_device(in, manager);
    Answer answer = bound_special(in, manager, "__enter__", &enter);
    if (answer == ANSWER_YES) answer = bound_special(in, manager, "__exit__", &exit);
    if (answer == ANSWER_YES) answer = call_value(in, enter, 0, NULL, NULL, &result);
    if (answer != ANSWER_YES) return answer;
    in->top->depth--;
    if (push(in, exit) < 0) return ANSWER_ERROR;
    return push(in, result) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* The handler of a with block: exit(type, value, traceback) on top of [exit, lasti, prev, exc]. */
static Answer
except_start(Interp *in)
{
    Value *exception = top_value(in, 1), *exit = top_value(in, 4), *result;
    if (exception == NULL || exit == NULL) return ANSWER_ERROR;
    if (exception->exception == NULL)
        return interp_break(in, BREAK_WITH, "an exception that was raised before");
    Value *args[3] = {value_const(in, (PyObject *)exception->type), exception,
                      exception_traceback(in, exception)};
    if (args[0] == NULL || args[2] == NULL) return ANSWER_ERROR;
    Answer answer = call_value(in, exit, 3, args, NULL, &result);
    if (answer != ANSWER_YES) return answer;
    return push(in, result) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
follow_with(Interp *in, const Instr *instr)
{
    return instr->kind == I_BEFORE_WITH ? before_with(in) : except_start(in);
}
