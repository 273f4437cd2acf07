/* Which instruction put an entry on the value stack, and which stores it in a local: messages name
   the entry by these. */
#include "decode_flow.h"

/* The number of entries on top of the stack that the instruction has written. */
static int
entries_pushed(const Instr *instr)
{
    switch (instr->kind) {
    case I_LOAD_METHOD:
    case I_BEFORE_WITH: return 2;
    case I_LOAD_GLOBAL:
    case I_LOAD_SUPER_ATTR: return 1 + (instr->arg2 & 1);
    case I_UNPACK: return instr->arg;
    case I_UNPACK_EX: return (instr->arg & 0xff) + (instr->arg >> 8) + 1;
    case I_CONST:
    case I_LOAD_LOCAL:
    case I_LOAD_CLEAR:
    case I_LOAD_DEREF:
    case I_LOAD_NAME:
    case I_LOAD_ATTR:
    case I_UNARY_POSITIVE:
    case I_UNARY_NEGATIVE:
    case I_UNARY_NOT:
    case I_UNARY_INVERT:
    case I_TO_BOOL:
    case I_BINARY:
    case I_COMPARE:
    case I_IS:
    case I_CONTAINS:
    case I_SUBSCRIPT:
    case I_SLICE_LOAD:
    case I_BUILD_TUPLE:
    case I_BUILD_LIST:
    case I_BUILD_SET:
    case I_BUILD_MAP:
    case I_BUILD_MAP_KEYS:
    case I_BUILD_STRING:
    case I_BUILD_SLICE:
    case I_LIST_TO_TUPLE:
    case I_FORMAT:
    case I_CALL:
    case I_CALL_KW:
    case I_CALL_EX:
    case I_MAKE_FUNCTION:
    case I_GET_ITER:
    case I_FOR_ITER:
    case I_IMPORT_NAME:
    case I_IMPORT_FROM: return 1;
    default: return 0;
    }
}

int
stack_writer(const Decoded *decoded, int number, int *entry)
{
    for (int i = number - 1; i >= 0; i--) {
        const Instr *instr = &decoded->instrs[i];
        if (instr->depth < 0) continue;
        int top = instr->depth + instr_effect(instr, false);
        if (instr->kind == I_SWAP && (*entry == top - 1 || *entry == top - instr->arg)) {
            *entry = 2 * top - 1 - instr->arg - *entry;
        } else if (instr->kind == I_COPY && *entry == top - 1) {
            *entry = top - 1 - instr->arg;
        } else if (*entry < top && *entry >= top - entries_pushed(instr)) {
            *entry -= top - entries_pushed(instr);
            return i;
        }
    }
    return -1;
}

/* The number of the instruction after those that store the top entry in locals, unpacked or not; -1
   if other instructions consume it.  Sets *found to the store of the part that `path` leads to. */
static int
skip_target(const Decoded *decoded, int number, const int *path, int n, int *found)
{
    if (number < 0 || number >= decoded->count) return -1;
    const Instr *instr = &decoded->instrs[number];
    if (instr->kind == I_STORE_LOCAL) {
        if (n == 0) *found = number;
        return number + 1;
    }
    if (instr->kind != I_UNPACK) return -1;
    int next = number + 1;
    for (int i = 0; i < instr->arg; i++) {
        bool on_path = n > 0 && path[0] == i;
        next = skip_target(decoded, next, on_path ? path + 1 : NULL, on_path ? n - 1 : -1, found);
        if (next < 0 || (on_path && *found >= 0)) return next;
    }
    return next;
}

int
stack_target(const Decoded *decoded, int number, int entry, const int *path, int n)
{
    int found = -1;
    for (int above = decoded->instrs[number].depth - 1 - entry; above > 0 && number >= 0; above--)
        number = skip_target(decoded, number, NULL, -1, &found);
    skip_target(decoded, number, path, n, &found);
    return found;
}
