/* Is array code left behind the Instr at which capture stops?  For hints: moving what stops it
   behind the array code is no advice where it is there already. */
#include "core.h"

/* It calls `print`, which computes nothing. */
static bool
calls_print(const Decoded *d, int number)
{
    const Instr *call = &d->instrs[number];
    if (call->kind != I_CALL && call->kind != I_CALL_KW) return false;
    int names = call->kind == I_CALL_KW && call->arg2 < 0; /* on the stack */
    int callee = call->depth - names - call->arg - 2 + CALL_NULL_FIRST;
    int writer = stack_writer(d, number, &callee);
    if (writer < 0) return false;
    const Instr *load = &d->instrs[writer];
    if (load->kind != I_LOAD_GLOBAL && load->kind != I_LOAD_NAME) return false;
    PyObject *name = PyTuple_GET_ITEM(d->code->co_names, load->arg);
    return PyUnicode_CompareWithASCIIString(name, "print") == 0;
}

/* An Instr that has no work for a graph: it moves values, shows them, or leaves the function. */
static bool
is_idle(const Decoded *d, int number)
{
    switch (d->instrs[number].kind) {
    case I_NOP:
    case I_CONST:
    case I_LOAD_LOCAL:
    case I_LOAD_CLEAR:
    case I_STORE_LOCAL:
    case I_DELETE_LOCAL:
    case I_LOAD_DEREF:
    case I_STORE_DEREF:
    case I_LOAD_GLOBAL:
    case I_STORE_GLOBAL:
    case I_LOAD_NAME:
    case I_STORE_NAME:
    case I_LOAD_ATTR:
    case I_POP:
    case I_COPY:
    case I_SWAP:
    case I_PUSH_NULL:
    case I_IS:
    case I_TO_BOOL:
    case I_BUILD_TUPLE:
    case I_BUILD_LIST:
    case I_BUILD_MAP:
    case I_BUILD_MAP_KEYS:
    case I_BUILD_STRING:
    case I_FORMAT:
    case I_JUMP:
    case I_JUMP_IF_FALSE:
    case I_JUMP_IF_TRUE:
    case I_JUMP_IF_NONE:
    case I_JUMP_IF_NOT_NONE:
    case I_JUMP_IF_FALSE_OR_POP:
    case I_JUMP_IF_TRUE_OR_POP:
    case I_GET_ITER:
    case I_FOR_ITER:
    case I_END_FOR:
    case I_RETURN: return true;
    case I_CALL:
    case I_CALL_KW: return calls_print(d, number);
    default: return false;
    }
}

/* Is every Instr idle that comes after this one, whichever way the branches go?  `seen` and `todo`
   have room for each. */
static bool
ends_idly(const Decoded *d, int number, bool *seen, int *todo)
{
    int n = 0;
    for (todo[n++] = number + 1; n > 0;) {
        int at = todo[--n];
        if (at >= d->count || seen[at]) continue;
        const Instr *instr = &d->instrs[at];
        seen[at] = true;
        if (!is_idle(d, at)) return false;
        if (instr->target >= 0 && !seen[instr->target]) todo[n++] = instr->target;
        if (instr->kind != I_RETURN && instr->kind != I_JUMP) todo[n++] = at + 1;
    }
    return true;
}

bool
work_is_behind(const Interp *in)
{
    for (const Activation *a = in->top; a != NULL; a = a->caller) {
        size_t count = (size_t)a->decoded->count + 2;
        bool *seen = arena_alloc(in->arena, count);
        int *todo = arena_alloc(in->arena, 2 * count * sizeof(int));
        if (seen == NULL || todo == NULL) PyErr_Clear(); /* only a message is the poorer */
        if (seen == NULL || todo == NULL || !ends_idly(a->decoded, a->number, seen, todo))
            return true;
    }
    return false;
}
