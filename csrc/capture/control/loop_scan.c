/* The instructions of a loop: may it be kept, which locals and which arrays does its body store?
   In: the decoded code and the loop's shape.  Out: a Scan. */
#include "loop.h"

/* May the instruction stand in the body of a loop?  Jumps lead to the next iteration, to an exit,
   or to the head of a loop inside. */
bool
loop_follows(const Instr *instr)
{
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
    case I_IS:
    case I_CONTAINS:
    case I_SUBSCRIPT:
    case I_STORE_SUBSCRIPT:
    case I_STORE_ATTR:
    case I_SLICE_LOAD:
    case I_SLICE_STORE:
    case I_BUILD_SLICE:
    case I_BUILD_TUPLE:
    case I_BUILD_LIST:
    case I_BUILD_MAP:
    case I_DICT_MERGE:
    case I_UNPACK:
    case I_CALL:
    case I_CALL_KW:
    case I_CALL_EX:
    case I_LIST_APPEND:
    case I_LIST_EXTEND:
    case I_LIST_TO_TUPLE:
    case I_GET_ITER:
    case I_FOR_ITER:
    case I_END_FOR:
    case I_JUMP:
    case I_JUMP_IF_FALSE:
    case I_JUMP_IF_TRUE:
    case I_JUMP_IF_NONE:
    case I_JUMP_IF_NOT_NONE:
    case I_JUMP_IF_FALSE_OR_POP:
    case I_JUMP_IF_TRUE_OR_POP: return true;
    default: return false;
    }
}

const char loop_without_elements[] = "it reads and writes no element of an array (keep a number of "
                                     "it in one: s = np.zeros(1), s[0])";

static bool
scan_refuses(Scan *scan, int at, const char *why)
{
    scan->refused = at;
    scan->why = why;
    return false;
}

/* Adds to a list of locals. */
static bool
scan_add(int *list, int *len, int most, int slot)
{
    if (find(list, *len, slot) >= 0) return true;
    if (*len == most) return false;
    list[(*len)++] = slot;
    return true;
}

/* Collects what the body stores.  `at`: for each stack entry, the variable from which it was
   loaded; -1: none.  Elements of arrays that are in none are learnt to be stored (loop_written.c).
 */
static bool
scan_instr(const Decoded *d, Scan *scan, int number, int *at)
{
    const Instr *instr = &d->instrs[number];
    int depth = instr->depth;
    switch (instr->kind) {
    case I_LOAD_LOCAL:
    case I_LOAD_DEREF: at[depth] = instr->arg; return true;
    case I_COPY: at[depth] = at[depth - instr->arg]; return true;
    case I_SWAP: {
        int other = at[depth - instr->arg];
        at[depth - instr->arg] = at[depth - 1];
        at[depth - 1] = other;
        return true;
    }
    case I_STORE_LOCAL:
        return scan_add(scan->slot, &scan->nslots, LOCALS, instr->arg) ||
               scan_refuses(scan, 0, "it stores too many variables");
    case I_SLICE_STORE:
    case I_STORE_SUBSCRIPT: {
        int array = at[depth - (instr->kind == I_SLICE_STORE ? 3 : 2)];
        scan->subscripts++;
        int before = scan->narrays;
        if (array >= 0 && !scan_add(scan->array_slot, &scan->narrays, MOST, array))
            return scan_refuses(scan, 0, "it writes too many arrays");
        if (scan->narrays > before) scan->array_at[before] = number;
        return true;
    }
    case I_STORE_ATTR: /* what a global variable holds is not carried: seen before it is followed */
        if (number == 0 || d->instrs[number - 1].kind != I_LOAD_GLOBAL) return true;
        scan->refused = number;
        return false;
    case I_SLICE_LOAD:
    case I_SUBSCRIPT: scan->subscripts++; break;
    case I_GET_ITER: /* of a variable, which may be an array */
        scan->subscripts += at[depth - 1] >= 0;
        break;
    default: break;
    }
    int after = number + 1 < d->count ? d->instrs[number + 1].depth : 0;
    if (after > 0) at[after - 1] = -1;
    return true;
}

/* May the local be read at an exit by which the loop ends before its body has begun? */
static int
reads_at(Interp *in, const Decoded *d, const LoopShape *shape, int slot, int first, int end)
{
    int reads = 0;
    for (int i = first; i < end && reads == 0; i++)
        reads = branch_reads(in, d, shape->exit[i], slot);
    return reads;
}

static int
scan_locals(Interp *in, const Decoded *d, Scan *scan)
{
    const LoopShape *shape = scan->shape;
    int begin = shape->counts ? shape->head + 1 : shape->begin;
    for (int i = 0; i < scan->nslots; i++) {
        int slot = scan->slot[i], first = branch_reads(in, d, begin, slot);
        int end = reads_at(in, d, shape, slot, 0, shape->counts);
        int after = reads_at(in, d, shape, slot, 1, shape->nexits);
        if (first < 0 || end < 0 || after < 0) return -1;
        scan->read_first[i] = first;
        scan->read_end[i] = end;
        scan->read_after[i] = end || after;
    }
    return 1;
}

int
loop_scan_stores(Interp *in, const Decoded *d, LoopShape *shape, Scan *scan)
{
    int at[256];
    *scan = (Scan){.shape = shape, .number = shape->top, .shared = -1};
    if (d->code->co_stacksize >= 250 || shape->nexits < 0 || !shape->inside[shape->head]) return 0;
    for (int i = 0; i < 256; i++) at[i] = -1;
    for (int i = shape->head; i < d->count; i++) {
        if (!shape->inside[i] || (shape->counts && i == shape->head)) continue;
        if (d->instrs[i].kind == I_STORE_DEREF || !scan_instr(d, scan, i, at)) return 0;
    }
    return scan_locals(in, d, scan);
}

int
loop_scan(Interp *in, const Decoded *d, LoopShape *shape, bool reads_items, Scan *scan)
{
    int at[256];
    *scan = (Scan){.shape = shape, .number = shape->top, .shared = -1, .subscripts = reads_items};
    if (d->code->co_stacksize >= 250)
        return scan_refuses(scan, 0, "the function has too many variables");
    if (shape->nexits < 0) return scan_refuses(scan, 0, "it is left in too many ways");
    if (!shape->inside[shape->head])
        return scan_refuses(scan, 0, "its body always leaves it, so it makes one turn at most");
    if (!shape->counts && shape->nexits == 1)
        return scan_refuses(scan, 0, "it ends by an exception alone");
    for (int i = 0; i < 256; i++) at[i] = -1;
    for (int i = shape->head; i < d->count; i++) {
        if (!shape->inside[i] || (shape->counts && i == shape->head)) continue;
        bool shared = d->instrs[i].kind == I_STORE_DEREF;
        if (shared) scan->shared = d->instrs[i].arg;
        if (shared || !loop_follows(&d->instrs[i])) return scan_refuses(scan, i, NULL);
        if (!scan_instr(d, scan, i, at)) return 0;
    }
    int uses = scan->subscripts > 0 || in->loop != NULL ? 1 : loop_calls_use_elements(in, shape);
    if (uses < 0) return -1;
    if (uses == 0 && !loop_is_of_numbers(in, shape->top))
        return scan_refuses(scan, 0, loop_without_elements);
    return scan_locals(in, d, scan);
}
