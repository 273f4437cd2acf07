/* Lengths of results as expressions of the arguments' lengths, for trials with symbols among these:
   the call is tried for several values of them, and a length is the simplest expression that agrees
   with all trials.

   That is a guess, which the plan checks: a result of another shape is left to CPython. */
#include "trial.h"

enum { LARGE = 1000, MIDDLE = 400 };

void
length_varies(Lengths *t, SizeId id)
{
    const Size *size = &t->graph->sizes.at[id];
    if (size->kind >= SIZE_ADD) {
        length_varies(t, size->a);
        length_varies(t, size->b);
    } else if (size->kind == SIZE_DIM) {
        t->varies[id] = true;
    }
}

void
length_note(Lengths *t, SizeId size)
{
    for (int i = 0; i < t->n; i++)
        if (t->known[i].size == size) return;
    length_varies(t, size);
    if (t->n < MOST_KNOWN && !size_is_const(t->graph, size)) t->known[t->n++].size = size;
}

/* Another length for symbol number `i`: near the one of this call, which what has been decided
   fits, but of no more elements than needed.  Sums of two of the steps are all different (a Sidon
   set), so that the length of a join is no other's double. */
static int64_t
another_length(const Graph *g, const Size *symbol, int64_t length, int i, int trial)
{
    int64_t least = size_value(g, symbol->a);
    if (length > LARGE && least < MIDDLE) length = MIDDLE;
    static const int slope[TRIALS] = {0, 2, 5, 11}, more[TRIALS] = {0, 1, 2, 6};
    static const int apart[] = {0, 1, 3, 7, 12, 20, 30, 44};
    int last = COUNT_OF(apart) - 1, step = i <= last ? apart[i] : apart[last] + 17 * (i - last);
    return length + slope[trial] * step + more[trial];
}

/* Of the symbols only those count that the call's lengths are made of: a graph has dozens, and a
   call of lengths in the hundreds may take seconds. */
void
lengths_set(Graph *g, const int64_t *kept, int nsizes, int trial, const bool *varies)
{
    int symbols = 0;
    for (SizeId id = 0; id < nsizes; id++) {
        Size *size = &g->sizes.at[id];
        size->value = kept[id];
        if (trial == 0) continue;
        if (size->kind == SIZE_DIM && size->a != NO_SIZE && (varies == NULL || varies[id]))
            size->value = another_length(g, size, kept[id], symbols++, trial);
        else if (size->kind >= SIZE_ADD)
            size->value = size_apply(size->kind, size_value(g, size->a), size_value(g, size->b));
    }
}

/* ---- one length ---- */

static bool
is_at(const int64_t *wanted, const int64_t *found)
{
    return memcmp(wanted, found, sizeof(int64_t) * TRIALS) == 0;
}

/* times * known + rest, or rest + known / 2, or rest + (known + 1) / 2 */
static bool
follows_one(Lengths *t, const int64_t *wanted, const KnownSize *known, SizeId *out)
{
    Graph *g = t->graph;
    int64_t line[TRIALS], half[2][TRIALS], rest[2];
    int64_t more = known->at[1] - known->at[0];
    int64_t times = more != 0 ? (wanted[1] - wanted[0]) / more : 1;
    for (int k = 0; k < TRIALS; k++)
        line[k] = times * known->at[k] + wanted[0] - times * known->at[0];
    for (int up = 0; up < 2; up++) {
        rest[up] = wanted[0] - (known->at[0] + up) / 2;
        for (int k = 0; k < TRIALS; k++) half[up][k] = rest[up] + (known->at[k] + up) / 2;
    }
    if (is_at(wanted, line)) {
        *out = size_add(g, size_mul(g, size_const(g, times), known->size),
                        size_const(g, wanted[0] - times * known->at[0]));
        return true;
    }
    for (int up = 0; up < 2; up++) {
        if (!is_at(wanted, half[up])) continue;
        SizeId whole = size_add(g, known->size, size_const(g, up));
        *out = size_add(g, size_quotient(g, SIZE_FLOOR_DIV, whole, size_const(g, 2)),
                        size_const(g, rest[up]));
        return true;
    }
    return false;
}

/* (a * known * known + b * known + c) / 2, as the elements of a triangle are counted */
static bool
follows_square(Lengths *t, const int64_t *wanted, const KnownSize *known, SizeId *out)
{
    Graph *g = t->graph;
    const int64_t *x = known->at;
    if (x[1] == x[0] || x[2] == x[1] || x[2] == x[0]) return false;
    int64_t first = 2 * (wanted[1] - wanted[0]) / (x[1] - x[0]);
    int64_t a = (2 * (wanted[2] - wanted[1]) / (x[2] - x[1]) - first) / (x[2] - x[0]);
    int64_t b = first - a * (x[0] + x[1]), c = 2 * wanted[0] - (a * x[0] + b) * x[0];
    for (int k = 0; k < TRIALS; k++)
        if ((a * x[k] + b) * x[k] + c != 2 * wanted[k]) return false;
    SizeId twice = size_add(g, size_mul(g, size_const(g, a), known->size), size_const(g, b));
    twice = size_add(g, size_mul(g, twice, known->size), size_const(g, c));
    *out = size_quotient(g, SIZE_FLOOR_DIV, twice, size_const(g, 2));
    return true;
}

/* a * b, or a + times * b + rest */
static bool
follows_two(Lengths *t, const int64_t *wanted, const KnownSize *a, const KnownSize *b, SizeId *out)
{
    Graph *g = t->graph;
    static const int times[] = {1, -1, 2, -2};
    int64_t product[TRIALS];
    for (int k = 0; k < TRIALS; k++) product[k] = a->at[k] * b->at[k];
    if (is_at(wanted, product)) {
        *out = size_mul(g, a->size, b->size);
        return true;
    }
    for (int i = 0; i < COUNT_OF(times); i++) {
        int64_t sum[TRIALS], rest = wanted[0] - a->at[0] - times[i] * b->at[0];
        for (int k = 0; k < TRIALS; k++) sum[k] = a->at[k] + times[i] * b->at[k] + rest;
        if (!is_at(wanted, sum)) continue;
        *out = size_add(g, size_add(g, a->size, size_const(g, rest)),
                        size_mul(g, size_const(g, times[i]), b->size));
        return true;
    }
    return false;
}

/* ANSWER_NO: it follows from nothing that is known here. */
Answer
length_follows(Lengths *t, const int64_t *wanted, SizeId *out)
{
    const int64_t same[TRIALS] = {wanted[0], wanted[0], wanted[0], wanted[0]};
    bool found = is_at(wanted, same);
    if (found) *out = size_const(t->graph, wanted[0]);
    for (int i = 0; i < t->n && !found; i++) {
        found = is_at(wanted, t->known[i].at);
        if (found) *out = t->known[i].size;
    }
    for (int i = 0; i < t->n && !found; i++) found = follows_one(t, wanted, &t->known[i], out);
    for (int i = 0; i < t->n && !found; i++)
        for (int k = 0; k < t->n && !found; k++)
            found = follows_two(t, wanted, &t->known[i], &t->known[k], out);
    for (int i = 0; i < t->n && !found; i++) found = follows_square(t, wanted, &t->known[i], out);
    return !found ? ANSWER_NO : *out == NO_SIZE ? ANSWER_ERROR : ANSWER_YES;
}
