/* Where the two ways of a branch meet again: post-dominators of a code's Instrs.

   Ways that end in an exception count for nothing here: where one arm can only raise, the branch
   meets where the other one goes.  Computed once per code and attempt (Interp.joins), and once per
   kept loop: in its body the end of the iteration counts as the exit. */
#include "core.h"

typedef struct {
    const Decoded *d;
    const LoopShape *loop; /* its body alone; NULL: the whole code */
    int n;                 /* Instrs; number n is the exit */
    int *order;    /* by Instr: 1 + its place in postorder of the reversed graph, 0: never leaves */
    int *by_order; /* the same the other way round */
    int *meet;     /* the nearest one that all ways to the exit pass */
} Flow;

int
instr_successors(const Decoded *d, int at, int out[2])
{
    const Instr *instr = &d->instrs[at];
    switch (instr->kind) {
    case I_RETURN: out[0] = d->count; return 1;
    case I_RAISE:
    case I_RERAISE: return 0;
    case I_JUMP: out[0] = instr->target; return 1;
    default: break;
    }
    out[0] = at + 1;
    if (at + 1 >= d->count) return 0;
    if (instr->target < 0) return 1;
    out[1] = instr->target;
    return 2;
}

static int
flow_successors(const Flow *f, int at, int out[2])
{
    int n = 0, to[2];
    if (f->loop == NULL) return instr_successors(f->d, at, out);
    if (!f->loop->inside[at]) return 0;
    for (int k = 0, all = instr_successors(f->d, at, to); k < all; k++) {
        bool next = to[k] == f->loop->begin || to[k] == f->loop->top;
        if (!next && f->loop->inside[to[k]])
            out[n++] = to[k];
        else if (next || loop_is_side(f->loop, to[k]) || !branch_raises(f->d, to[k]))
            out[n++] = f->n;
    }
    return n;
}

/* Numbers what reaches the exit, against the arrows. */
static int
number_back(Interp *in, Flow *f)
{
    int n = f->n, *first = arena_alloc(in->arena, sizeof(int) * (size_t)(n + 2));
    int *before = arena_alloc(in->arena, sizeof(int) * (size_t)(2 * n + 1)), to[2];
    int *stack = arena_alloc(in->arena, sizeof(int) * (size_t)(n + 2));
    int *next = arena_alloc(in->arena, sizeof(int) * (size_t)(n + 2));
    bool *seen = arena_alloc(in->arena, (size_t)(n + 1));
    if (!first || !before || !stack || !next || !seen) return -1;
    for (int i = 0; i < n; i++)
        for (int k = flow_successors(f, i, to); k-- > 0;) first[to[k] + 1]++;
    for (int i = 0; i <= n; i++) first[i + 1] += first[i];
    for (int i = 0; i <= n; i++) next[i] = first[i];
    for (int i = 0; i < n; i++)
        for (int k = flow_successors(f, i, to); k-- > 0;) before[next[to[k]]++] = i;
    for (int i = 0; i <= n; i++) next[i] = first[i];
    int depth = 0, count = 0;
    stack[depth++] = n;
    seen[n] = true;
    while (depth > 0) {
        int at = stack[depth - 1];
        if (next[at] < first[at + 1]) {
            int from = before[next[at]++];
            if (!seen[from]) {
                seen[from] = true;
                stack[depth++] = from;
            }
            continue;
        }
        depth--;
        f->by_order[count++] = at;
        f->order[at] = count;
    }
    return count;
}

static int
common(const Flow *f, int a, int b)
{
    while (a != b) {
        while (f->order[a] < f->order[b]) a = f->meet[a];
        while (f->order[b] < f->order[a]) b = f->meet[b];
    }
    return a;
}

static int *
find_joins(Interp *in, const Decoded *d, const LoopShape *loop)
{
    Flow f = {.d = d, .loop = loop, .n = d->count};
    size_t bytes = sizeof(int) * (size_t)(f.n + 1);
    f.order = arena_alloc(in->arena, bytes);
    f.by_order = arena_alloc(in->arena, bytes);
    f.meet = arena_alloc(in->arena, bytes);
    if (!f.order || !f.by_order || !f.meet) return NULL;
    for (int i = 0; i <= f.n; i++) f.meet[i] = JOIN_NONE;
    int count = number_back(in, &f), to[2];
    if (count < 0) return NULL;
    f.meet[f.n] = f.n;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = count - 2; i >= 0; i--) {
            int at = f.by_order[i], meet = JOIN_NONE;
            for (int k = flow_successors(&f, at, to); k-- > 0;) {
                if (f.meet[to[k]] == JOIN_NONE) continue;
                meet = meet == JOIN_NONE ? to[k] : common(&f, to[k], meet);
            }
            if (meet != f.meet[at]) changed = true;
            f.meet[at] = meet;
        }
    }
    return f.meet;
}

static const int *
joins_of(Interp *in, const Decoded *d)
{
    int *known = map_get(&in->sources.joins, d);
    if (known == NULL && (known = find_joins(in, d, NULL)) != NULL &&
        map_put(in, &in->sources.joins, d, known) < 0)
        return NULL;
    return known;
}

int
branch_join(Interp *in, const Decoded *d, int number, int *out)
{
    const Turn *turn = in->turn;
    bool inside = turn != NULL && turn->of == in->top && turn->of->decoded == d &&
                  turn->shape->inside[number];
    if (!inside) {
        const int *joins = joins_of(in, d);
        if (joins == NULL) return -1;
        *out = joins[number];
        return 0;
    }
    LoopShape *shape = turn->shape;
    if (shape->joins == NULL && (shape->joins = find_joins(in, d, shape)) == NULL) return -1;
    *out = shape->joins[number] == d->count ? JOIN_TURN : shape->joins[number];
    return 0;
}

/* ---- raising ---- */

static bool
only_raises(const Decoded *d, int at, int *budget)
{
    int to[2];
    if (--*budget < 0 || at >= d->count || d->instrs[at].kind == I_RETURN) return false;
    if (d->instrs[at].kind == I_RAISE) return true;
    int n = instr_successors(d, at, to);
    for (int k = 0; k < n; k++)
        if (to[k] <= at || !only_raises(d, to[k], budget)) return false;
    return n > 0;
}

bool
branch_raises(const Decoded *d, int at)
{
    int budget = 200;
    return only_raises(d, at, &budget);
}

/* ---- loops ---- */

/* Is there a path from `at` to `head` that does not go through the head of a loop further out? */
static bool
comes_to(const Decoded *d, int at, int head, int *stack, bool *seen)
{
    int depth = 0, to[2];
    if (at == head) return true;
    memset(seen, 0, (size_t)d->count + 1);
    for (stack[depth++] = at; depth > 0;) {
        at = stack[--depth];
        if (at >= d->count || seen[at]) continue;
        seen[at] = true;
        for (int k = instr_successors(d, at, to); k-- > 0;) {
            if (to[k] == head) return true;
            if (to[k] > head) stack[depth++] = to[k];
        }
    }
    return false;
}

static bool
is_head(const Decoded *d, int head)
{
    for (int i = head; i < d->count; i++)
        if (d->instrs[i].target == head) return true;
    return false;
}

/* `continue`, with what is stored before it: a straight line to the head. */
static bool
goes_at_once(const Decoded *d, int at, int head)
{
    enum { FEW = 12 }; /* Instrs */
    int to[2];
    for (int i = 0; i < FEW && at < d->count; i++, at = to[0]) {
        if (at == head) return true;
        if (instr_successors(d, at, to) != 1) return false;
    }
    return false;
}

int
branch_loop(Interp *in, const Decoded *d, int number, LoopTest *out)
{
    int *stack = arena_alloc(in->arena, sizeof(int) * (2 * (size_t)d->count + 2)), to[2], join;
    bool *seen = arena_alloc(in->arena, (size_t)d->count + 1);
    *out = TEST_NONE;
    if (stack == NULL || seen == NULL || branch_join(in, d, number, &join) < 0) return -1;
    if (instr_successors(d, number, to) < 2) return 0;
    for (int head = number; head >= 0; head--) {
        if (!is_head(d, head)) continue;
        bool one = comes_to(d, to[0], head, stack, seen);
        bool other = comes_to(d, to[1], head, stack, seen);
        if (one != other) *out = TEST_ENDS;
        if (one && other && join == head &&
            (goes_at_once(d, to[0], head) != goes_at_once(d, to[1], head)))
            *out = TEST_SKIPS;
        if (one || other) return 0;
    }
    return 0;
}

/* ---- locals that nobody reads any more ---- */

static bool
handled(const Decoded *d, int at, int *target)
{
    int32_t idx = d->instrs[at].idx;
    for (int i = 0; i < d->nhandlers; i++)
        if (d->handlers[i].start <= idx && idx < d->handlers[i].end) {
            *target = d->handlers[i].target;
            return true;
        }
    return false;
}

/* A generator's own handler, which makes a RuntimeError of StopIteration, is none. */
bool
branch_in_try(const Decoded *d, int at)
{
    int target;
    return handled(d, at, &target) && d->instrs[target].kind != I_STOP_ITERATION_ERROR;
}

bool
branch_in_comprehension(const Decoded *d, int at)
{
    int target;
    return handled(d, at, &target) && d->instrs[target].kind == I_SWAP;
}

static bool
read_from(const Decoded *d, int at, int slot, bool *seen)
{
    int to[3];
    for (;;) {
        if (at >= d->count || seen[at]) return false;
        seen[at] = true;
        const Instr *instr = &d->instrs[at];
        switch (instr->kind) {
        case I_LOAD_LOCAL:
        case I_LOAD_CLEAR:
        case I_DELETE_LOCAL:
        case I_MAKE_CELL:
            if (instr->arg == slot) return true;
            break;
        case I_STORE_LOCAL:
            if (instr->arg == slot) return false;
            break;
        default: break;
        }
        int n = instr_successors(d, at, to);
        if (handled(d, at, &to[n])) n++;
        if (n == 0) return false;
        for (int k = 1; k < n; k++)
            if (read_from(d, to[k], slot, seen)) return true;
        at = to[0];
    }
}

int
branch_reads(Interp *in, const Decoded *d, int at, int slot)
{
    if (at >= d->count) return 0;
    if (slot >= d->names_from) return 1; /* a module's, which anybody may read */
    if (slot >= d->nlocalsplus || code_slot_kind(d->code, slot) != SLOT_LOCAL) return 1;
    bool *seen = arena_alloc(in->arena, (size_t)d->count);
    return seen == NULL ? -1 : read_from(d, at, slot, seen);
}
