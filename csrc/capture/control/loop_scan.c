/* The instructions of a `for` over a range: may it be kept, which locals and which arrays does its
   body store?  In: the decoded code and the FOR_ITER.  Out: a Scan. */
#include "loop.h"

/* May the instruction stand in the body of the loop [number, end)?  Jumps must stay in it, and only
   loops over iterators go back. */
static bool
is_followed(const Decoded *d, const Scan *scan, int at)
{
    const Instr *instr = &d->instrs[at];
    switch (instr->kind) {
    case I_NOP:
    case I_CONST:
    case I_LOAD_LOCAL:
    case I_STORE_LOCAL:
    case I_LOAD_GLOBAL:
    case I_LOAD_DEREF:
    case I_LOAD_ATTR:
    case I_LOAD_METHOD:
    case I_POP:
    case I_COPY:
    case I_SWAP:
    case I_PUSH_NULL:
    case I_UNARY_NEGATIVE:
    case I_UNARY_POSITIVE:
    case I_UNARY_NOT:
    case I_UNARY_INVERT:
    case I_TO_BOOL:
    case I_BINARY:
    case I_COMPARE:
    case I_SUBSCRIPT:
    case I_STORE_SUBSCRIPT:
    case I_BUILD_TUPLE:
    case I_UNPACK:
    case I_CALL:
    case I_GET_ITER:
    case I_END_FOR: return true;
    case I_JUMP:
    case I_JUMP_IF_FALSE:
    case I_JUMP_IF_TRUE:
    case I_JUMP_IF_FALSE_OR_POP:
    case I_JUMP_IF_TRUE_OR_POP:
        if (instr->target > at) return instr->target < scan->end;
        return instr->target >= scan->number && d->instrs[instr->target].kind == I_FOR_ITER;
    case I_FOR_ITER: return instr->target > at && instr->target < scan->end;
    default: return false;
    }
}

static bool
scan_refuses(Scan *scan, int at, const char *why)
{
    scan->refused = at;
    scan->why = why;
    return false;
}

/* Adds to a list of locals. */
static bool
scan_add(int *list, int *len, int slot)
{
    if (find(list, *len, slot) >= 0) return true;
    if (*len == MOST) return false;
    list[(*len)++] = slot;
    return true;
}

/* Collects what the body stores.  `at`: for each stack entry, the local from which it was loaded.
 */
static bool
scan_instr(const Decoded *d, Scan *scan, int number, int *at)
{
    const Instr *instr = &d->instrs[number];
    int depth = instr->depth;
    switch (instr->kind) {
    case I_LOAD_LOCAL: at[depth] = instr->arg; return true;
    case I_COPY: at[depth] = at[depth - instr->arg]; return true;
    case I_SWAP: {
        int other = at[depth - instr->arg];
        at[depth - instr->arg] = at[depth - 1];
        at[depth - 1] = other;
        return true;
    }
    case I_STORE_LOCAL:
        return scan_add(scan->slot, &scan->nslots, instr->arg) ||
               scan_refuses(scan, 0, "it stores too many variables");
    case I_STORE_SUBSCRIPT: {
        int array = at[depth - 2];
        scan->subscripts++;
        if (array < 0)
            return scan_refuses(scan, 0, "it writes into what is not in a local variable");
        return scan_add(scan->array_slot, &scan->narrays, array) ||
               scan_refuses(scan, 0, "it writes too many arrays");
    }
    case I_SUBSCRIPT: scan->subscripts++; break;
    default: break;
    }
    int after = number + 1 < d->count ? d->instrs[number + 1].depth : 0;
    if (after > 0) at[after - 1] = -1;
    return true;
}

int
loop_scan(Interp *in, const Decoded *d, int number, Scan *scan)
{
    int at[256];
    *scan = (Scan){.number = number, .end = d->instrs[number].target};
    if (d->code->co_stacksize >= 250)
        return scan_refuses(scan, 0, "the function has too many variables");
    for (int i = 0; i < 256; i++) at[i] = -1;
    for (int i = number + 1; i < scan->end; i++) {
        if (d->instrs[i].depth < 0) continue; /* nothing leads there */
        if (!is_followed(d, scan, i)) return scan_refuses(scan, i, NULL);
        if (!scan_instr(d, scan, i, at)) return 0;
    }
    if (scan->subscripts == 0)
        return scan_refuses(scan, 0, "it reads and writes no element of an array");
    for (int i = 0; i < scan->nslots; i++) {
        int first = branch_reads(in, d, number + 1, scan->slot[i]);
        int after = branch_reads(in, d, scan->end, scan->slot[i]);
        if (first < 0 || after < 0) return -1;
        scan->read_first[i] = first;
        scan->read_after[i] = after;
    }
    return 1;
}
