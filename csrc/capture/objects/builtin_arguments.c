/* What rules of builtins share: arguments by keyword, texts, and the break of what has no rule. */
#include "builtins.h"

Value *
builtin_keyword(const BuiltinCall *call, const char *name)
{
    for (int i = 0; call->kwnames != NULL && i < PyTuple_GET_SIZE(call->kwnames); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call->kwnames, i), name) == 0)
            return call->args[call->nargs + i];
    return NULL;
}

int
builtin_keywords(const BuiltinCall *call)
{
    return call->kwnames ? (int)PyTuple_GET_SIZE(call->kwnames) : 0;
}

bool
builtin_start(const BuiltinCall *call, Value **out)
{
    Value *named = builtin_keyword(call, "start");
    *out = call->nargs == 2 ? call->args[1] : named;
    return builtin_keywords(call) == (named != NULL) && (named == NULL || call->nargs == 1);
}

Answer
builtin_unknown(const BuiltinCall *call, const char *name)
{
    BreakCode code = call->nargs > 0 ? value_break(call->args[0], BREAK_CALL_C) : BREAK_CALL_C;
    const char *what =
        code == BREAK_ITEMS ? value_describe(call->in, call->args[0]) : "values that are not known";
    return interp_break(call->in, code, "call of '%s' on %s", name, what);
}

Answer
builtin_of_text(const BuiltinCall *call, PyObject *callable)
{
    PyObject *known;
    Interp *in = call->in;
    Answer answer = value_known(in, call->args[0], &known);
    if (answer == ANSWER_YES) return fold_call(in, callable, 1, call->args, call->out);
    if (answer == ANSWER_NO) answer = loose_call(in, callable, 1, call->args, call->out);
    if (answer != ANSWER_NO) return answer;
    return builtin_unknown(call, "text");
}
