/* The loops of a code: where they are entered, what is in them, where they are left.

   CPython 3.11 to 3.13 compile `while test: body` with the test twice (Python/compile.c,
   compiler_while), and `continue` jumps to the first:

       top:    test, to the end if false
       head:   body
       begin:  test, to the end if false, else to `head`
       end:

   An iteration that begins with the second test is the loop as it is written, so the loop is
   entered as if at `begin`.  That both tests are the same is checked Instr by Instr.  `while True`
   has no test: top, head and begin are one. */
#include "core.h"

enum {
    TEST_LONG = 100, /* Instrs of a test, at most */
    EXIT_LONG = 16,  /* Instrs that CPython repeats where a loop is left */
};

/* ---- Instrs that do the same ---- */

/* The next Instr that does something. */
static int
skip(const Decoded *d, int at)
{
    for (int i = 0; i < d->count && at < d->count; i++) {
        InstrKind kind = d->instrs[at].kind;
        if (kind == I_JUMP)
            at = d->instrs[at].target;
        else if (kind == I_NOP || kind == I_END_FOR)
            at++;
        else
            break;
    }
    return at;
}

/* Where a branch goes: if true, if false.  False: it is none. */
static bool
ways(const Decoded *d, int at, int to[2])
{
    const Instr *instr = &d->instrs[at];
    bool on_true = instr->kind == I_JUMP_IF_TRUE || instr->kind == I_JUMP_IF_NONE;
    if (!on_true && instr->kind != I_JUMP_IF_FALSE && instr->kind != I_JUMP_IF_NOT_NONE)
        return false;
    to[!on_true] = instr->target;
    to[on_true] = at + 1;
    return true;
}

static bool
asks_for_none(InstrKind kind)
{
    return kind == I_JUMP_IF_NONE || kind == I_JUMP_IF_NOT_NONE;
}

/* Two Instrs of one place in the source, that do the same but for where they go. */
static bool
alike(const Decoded *d, int p, int q)
{
    const Instr *a = &d->instrs[p], *b = &d->instrs[q];
    return a->kind == b->kind && a->arg == b->arg && a->arg2 == b->arg2 && a->line == b->line;
}

/* Does the code from `p` on do the same as that from `q` on, until both go to one Instr? */
static bool
same_until_they_meet(const Decoded *d, int p, int q, int *budget)
{
    int a[2], b[2];
    for (;;) {
        p = skip(d, p);
        q = skip(d, q);
        if (p == q) return true;
        if (p >= d->count || q >= d->count || --*budget < 0) return false;
        if (ways(d, p, a) && ways(d, q, b)) {
            if (asks_for_none(d->instrs[p].kind) != asks_for_none(d->instrs[q].kind) ||
                !same_until_they_meet(d, a[0], b[0], budget))
                return false;
            p = a[1];
            q = b[1];
            continue;
        }
        if (!alike(d, p, q)) return false;
        if (d->instrs[p].kind == I_RETURN) return true;
        if (d->instrs[p].target >= 0 &&
            !same_until_they_meet(d, d->instrs[p].target, d->instrs[q].target, budget))
            return false;
        p++;
        q++;
    }
}

/* ---- finding a `while` ---- */

static bool
goes_back_to(const Decoded *d, int at, int head)
{
    return d->instrs[at].target == head && head <= at && d->instrs[at].depth >= 0;
}

/* Per Instr: the last one that jumps back to it; 0: none. */
static int *
last_jumps(Interp *in, const Decoded *d)
{
    int *last = arena_alloc(in->arena, sizeof(int) * ((size_t)d->count + 1));
    for (int at = 0; last != NULL && at < d->count; at++)
        if (d->instrs[at].target >= 0 && goes_back_to(d, at, d->instrs[at].target))
            last[d->instrs[at].target] = at;
    return last;
}

/* Finds the two tests of the loop whose last Instr `last` jumps back to `head`; false: it has not
   that form. */
static bool
find_tests(const Decoded *d, int head, int last, int *top, int *begin)
{
    int to[2], depth = d->instrs[head].depth;
    *top = *begin = head;
    if (head == 0 || !ways(d, head - 1, to)) return false;
    for (int p = head - 1; p >= 0 && head - p < TEST_LONG; p--)
        for (int q = last; q > head && d->instrs[p].depth == depth; q--) {
            int budget = TEST_LONG;
            if (d->instrs[q].depth != depth || d->instrs[p].line != d->instrs[q].line ||
                !same_until_they_meet(d, p, q, &budget))
                continue;
            *top = p;
            *begin = q;
            break;
        }
    return *top != head;
}

/* ---- what is inside ---- */

static bool
enters(const LoopShape *s, int at)
{
    return at == s->head || at == s->top;
}

/* Is the Instr where the loops around it are left for CPython? */
static bool
is_side(const Interp *in, const Decoded *d, int at)
{
    const Marks *marks = in->attempt.marks;
    for (int i = 0; i < marks->sides.len && d == in->bottom->decoded; i++)
        if (marks->sides.at[i].taken && marks->sides.at[i].number == at) return true;
    return false;
}

static bool
has_sides(const Interp *in, const Decoded *d)
{
    const Marks *marks = in->attempt.marks;
    for (int i = 0; i < marks->sides.len && d == in->bottom->decoded; i++)
        if (marks->sides.at[i].taken) return true;
    return false;
}

/* The Instrs from which an iteration comes to its end: backwards from the jumps to the head, and
   from those to the first test, all of which stand before `last`: that Instr may be the head of a
   loop around this one, too.  `leaves`: side exits are none of them. */
static void
mark_inside(const Interp *in, const Decoded *d, LoopShape *s, int last, bool leaves)
{
    int to[2];
    bool more = false;
    for (int at = s->head; at < d->count; at++) {
        int target = d->instrs[at].target;
        bool again = target == s->head || (target == s->top && at < last);
        if (d->instrs[at].depth >= 0 && target >= 0 && target <= at && again &&
            !(leaves && is_side(in, d, at)))
            s->inside[at] = more = true;
    }
    while (more) {
        more = false;
        for (int at = d->count; at-- > s->head;) {
            if (s->inside[at] || d->instrs[at].depth < 0) continue;
            if (leaves && is_side(in, d, at)) continue;
            for (int k = instr_successors(d, at, to); k-- > 0;)
                if (to[k] < d->count && s->inside[to[k]] && !enters(s, to[k]))
                    s->inside[at] = more = true;
        }
    }
    for (int at = s->head; at < d->count; at++)
        if (s->inside[at]) s->inside[s->head] = true;
}

/* Leaves those that an iteration comes to without an exception: the handlers of a `try` in the body
   are CPython's, which then does the whole loop. */
static int
drop_handlers(Interp *in, const Decoded *d, LoopShape *s)
{
    bool *reached = arena_alloc(in->arena, (size_t)d->count + 1);
    if (reached == NULL) return -1;
    int to[2];
    reached[s->head] = s->inside[s->head];
    reached[s->begin] = s->inside[s->begin];
    for (bool more = true; more;) {
        more = false;
        for (int at = s->head; at < d->count; at++) {
            if (!reached[at]) continue;
            for (int k = instr_successors(d, at, to); k-- > 0;)
                if (to[k] < d->count && s->inside[to[k]] && !reached[to[k]])
                    reached[to[k]] = more = true;
        }
    }
    s->inside = reached;
    return 0;
}

/* ---- exits ---- */

/* Behind the Instrs that drop what the loop itself has on the stack. */
static int
behind_drops(const LoopShape *s, const Decoded *d, int at)
{
    while (at < d->count && (d->instrs[at].kind == I_NOP ||
                             (d->instrs[at].kind == I_POP && d->instrs[at].depth > s->base)))
        at++;
    return at;
}

bool
loop_is_side(const LoopShape *s, int number)
{
    for (int i = 1; i < s->nexits; i++)
        if ((s->sides >> i & 1) != 0 && s->exit[i] == number) return true;
    return false;
}

int
loop_exit_number(const LoopShape *s, const Decoded *d, int number)
{
    if (loop_is_side(s, number)) {
        int i = 1;
        while (s->exit[i] != number) i++;
        return i;
    }
    number = behind_drops(s, d, number);
    for (int i = 1; i < s->nexits && number < d->count; i++) {
        int budget = EXIT_LONG;
        if (s->sides >> i & 1) continue;
        if (d->instrs[s->exit[i]].depth == d->instrs[number].depth &&
            same_until_they_meet(d, s->exit[i], number, &budget))
            return i;
    }
    return -1;
}

static void
find_exits(const Interp *in, const Decoded *d, LoopShape *s, const bool *whole)
{
    int to[2];
    s->nexits = 1;
    s->exit[0] = s->counts ? d->instrs[s->head].target : -1;
    s->left[0] = s->head;
    for (int at = s->head; at < d->count; at++) {
        if (!s->inside[at] || (s->counts && at == s->head)) continue;
        for (int k = instr_successors(d, at, to); k-- > 0;) {
            if (to[k] >= d->count || s->inside[to[k]] || enters(s, to[k])) continue;
            bool side = is_side(in, d, to[k]) || whole[to[k]]; /* all ways from it lead to one */
            if (side ? loop_is_side(s, to[k])
                     : branch_raises(d, to[k]) || loop_exit_number(s, d, to[k]) >= 0)
                continue;
            int above = d->instrs[to[k]].depth - s->base - s->counts;
            bool item = d->instrs[at].kind == I_FOR_ITER && to[k] == at + 1; /* on the stack */
            if (s->nexits == LOOP_EXITS || item ||
                (side && (above < 0 || above > LOOP_DEEP || d->instrs[to[k]].sub != 0))) {
                s->nexits = -1;
                return;
            }
            if (side) {
                s->sides |= 1u << s->nexits;
                s->deep = Py_MAX(s->deep, above);
            }
            s->left[s->nexits] = at;
            s->exit[s->nexits++] = side ? to[k] : behind_drops(s, d, to[k]);
        }
    }
    for (int i = 1; i < s->nexits && s->counts; i++) {
        int budget = EXIT_LONG;
        if ((s->sides >> i & 1) == 0 && d->instrs[s->exit[i]].depth == s->base &&
            same_until_they_meet(d, s->exit[0], s->exit[i], &budget))
            s->breaks = i;
    }
}

/* ---- all of a code ---- */

/* Does a turn come to its end without an exception?  Code after a `with` or a `try` is no loop,
   though the handler jumps back to it. */
static bool
comes_back(const Decoded *d, const LoopShape *s)
{
    for (int at = s->head; at < d->count; at++) {
        int target = d->instrs[at].target;
        if (s->inside[at] && target <= at && (target == s->head || target == s->top)) return true;
    }
    return false;
}

/* NULL without an error: it is none. */
static LoopShape *
shape_new(Interp *in, const Decoded *d, int head, int last, int top, int begin)
{
    LoopShape *s = arena_alloc(in->arena, sizeof(LoopShape));
    if (s == NULL || (s->inside = arena_alloc(in->arena, (size_t)d->count + 1)) == NULL)
        return NULL;
    s->head = head;
    s->top = top;
    s->begin = begin;
    s->last = last;
    s->counts = d->instrs[head].kind == I_FOR_ITER;
    s->base = d->instrs[head].depth - s->counts;
    bool *whole = arena_alloc(in->arena, (size_t)d->count + 1), *inside = s->inside;
    if (whole == NULL) return NULL;
    if (has_sides(in, d)) {
        s->inside = whole;
        mark_inside(in, d, s, last, false);
        s->inside = inside;
    }
    mark_inside(in, d, s, last, true);
    if (drop_handlers(in, d, s) < 0) return NULL;
    if (!comes_back(d, s)) {
        if (!s->counts) return NULL;
        s->inside[s->head] = false;
    }
    find_exits(in, d, s, whole);
    return s;
}

/* All loops of a code, by the Instr where they are entered. */
typedef struct {
    LoopShape **at;
    int *before; /* the nearest Instr before this one where a loop is entered; -1: none */
} Loops;

static LoopShape **
find_shapes(Interp *in, const Decoded *d)
{
    LoopShape **all = arena_alloc(in->arena, sizeof(LoopShape *) * ((size_t)d->count + 1));
    bool *known = arena_alloc(in->arena, (size_t)d->count + 1);
    const int *last_jump = last_jumps(in, d);
    if (all == NULL || known == NULL || last_jump == NULL) return NULL;
    for (int rotated = 1; rotated >= 0; rotated--) /* a test that `continue` goes to is no head */
        for (int head = 0; head < d->count; head++) {
            int top = head, begin = head, last = last_jump[head];
            if (last == 0 || known[head]) continue;
            bool counts = d->instrs[head].kind == I_FOR_ITER;
            bool tests = !counts && find_tests(d, head, last, &top, &begin);
            if (tests != (rotated == 1)) continue;
            all[top] = shape_new(in, d, head, last, top, begin);
            if (all[top] == NULL && PyErr_Occurred()) return NULL;
            known[head] = known[top] = true;
        }
    return all;
}

static const Loops *
loops_of(Interp *in, const Decoded *d)
{
    Loops *loops = map_get(&in->sources.loops, d);
    if (loops != NULL) return loops;
    if ((loops = arena_alloc(in->arena, sizeof *loops)) == NULL ||
        (loops->at = find_shapes(in, d)) == NULL ||
        (loops->before = arena_alloc(in->arena, sizeof(int) * ((size_t)d->count + 1))) == NULL)
        return NULL;
    int before = -1;
    for (int at = 0; at < d->count; at++) {
        loops->before[at] = before;
        if (loops->at[at] != NULL) before = at;
    }
    return map_put(in, &in->sources.loops, d, loops) < 0 ? NULL : loops;
}

int
loop_shape(Interp *in, const Decoded *d, int number, LoopShape **out)
{
    const Loops *loops = loops_of(in, d);
    if (loops == NULL) return -1;
    *out = loops->at[number];
    return 0;
}

int
loop_before(Interp *in, const Decoded *d, int *number, LoopShape **out)
{
    const Loops *loops = loops_of(in, d);
    if (loops == NULL) return -1;
    *number = loops->before[*number];
    *out = *number >= 0 ? loops->at[*number] : NULL;
    return 0;
}

int
loop_first_test(const Decoded *d, int head)
{
    int last = 0, top, begin;
    for (int at = head; at < d->count; at++)
        if (d->instrs[at].target >= 0 && goes_back_to(d, at, head)) last = at;
    if (last == 0) return -1;
    return find_tests(d, head, last, &top, &begin) ? top : head;
}

int
loop_reads(Interp *in, const LoopShape *s, const Decoded *d, int slot)
{
    int reads = branch_reads(in, d, s->begin, slot);
    for (int i = s->counts; i < s->nexits && reads == 0; i++)
        if (s->exit[i] >= 0) reads = branch_reads(in, d, s->exit[i], slot);
    return reads;
}
