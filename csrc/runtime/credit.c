/* Whether another plan at an entry pays.

   A plan has a debt: PAYS times what its making has cost, less what its runs have saved.  Plans
   whose debt is paid off do not count; of the others, and of those that went before they had paid,
   there may be `limit` (the option recompile_limit).  Then the place is given up: a plan takes the
   place of the one that was hit longest ago, of those whose runs have not even saved what making
   them again would cost, and only where it has been earned,

     - by a call that is likely to save the cost at once, because its arrays are that much larger
       than those of the last try, or that are far larger than in any try, or
     - by calls with the same shapes, which have come so often that a plan would have saved the cost
       by now, or
     - bit by bit: by a share of what the calls without a plan would have saved with one, and of
       what plans save.  What that has to come to doubles with each try until a plan pays again.

   Stepping from a refusal to what may be worth a plan is judged likewise: where it has paid
   nothing a few times in a row, CPython runs such calls, until one has far more work, or waits that
   double are over.

   So trying never costs more than a fraction of what it may gain, small calls do not use up the
   chances of large ones, and a place that was given up gets others later.  All of it is counted in
   the units of capture/control/worth.c, and so the same in every run. */
#include "entry.h"

enum {
    PAYS = 2,
    MISSED_SHARE = 4,
    MOST_BACKOFF = 12,
    MOST_RATIO = 20, /* in bits */
    FAR_LARGER = 2,  /* in bits: allows another try where nothing was worth a plan; twice as much
                        where something was */
    ITEMS_WATCHED = 8,
    FIRST_WAIT = 8, /* calls before stepping that has paid nothing is tried again */
    MOST_REFUSAL_WAIT = 1 << 20,
};

int
credit_unpaid(const Entry *entry)
{
    int unpaid = 0;
    for (int i = 0; i < entry->nplans; i++) unpaid += entry->plans[i]->debt > 0;
    return unpaid;
}

static bool
is_past_limit(const Entry *entry, int64_t limit)
{
    return credit_unpaid(entry) + entry->credit.lost >= limit ||
           (entry->credit.refused >= MAX_REFUSED && entry->credit.refused >= limit);
}

/* ---- the size of a call ---- */

static int64_t
elements_of(PyObject *object)
{
    ArrayHeader header;
    const char *why;
    if (!array_is_exact(object) || array_read(object, &header, &why) != ANSWER_YES) return 0;
    int64_t elements = 1;
    for (int i = 0; i < header.rank; i++) elements *= header.shape[i];
    return elements;
}

int64_t
credit_elements(PyObject *object)
{
    if (object == NULL) return 0;
    if (PyCell_Check(object)) object = PyCell_GET(object);
    if (object == NULL) return 0;
    Py_ssize_t length = sequence_length(object);
    if (length < 0) return elements_of(object);
    int64_t elements = 0;
    for (Py_ssize_t i = 0; i < length && i < ITEMS_WATCHED; i++)
        elements += elements_of(sequence_entry(object, i));
    return length > ITEMS_WATCHED ? elements / ITEMS_WATCHED * length : elements;
}

static int
bits(int64_t number)
{
    return number > 0 ? 64 - __builtin_clzll((uint64_t)number) : 0;
}

static int64_t
elements_of_call(const Roots *roots)
{
    int64_t elements = 0;
    for (int i = 0; i < roots->nslots && i < SLOTS_WATCHED; i++)
        elements += credit_elements(roots->slots[i]);
    return elements;
}

/* By how many bits the call's arrays are larger than in any try. */
static int
largest_by(const Credit *credit, const Roots *roots)
{
    return bits(elements_of_call(roots)) - credit->most;
}

/* By how many bits the most grown array is larger than for the last plan; negative where none has
   grown: by how many it is smaller. */
static int
larger_by(const Credit *credit, const Roots *roots)
{
    int up = 0, down = 0;
    for (int i = 0; i < roots->nslots && i < SLOTS_WATCHED; i++) {
        int change = bits(credit_elements(roots->slots[i])) - credit->sizes[i];
        if (change > up) up = change;
        if (change < down) down = change;
    }
    if (up == 0) return down;
    return up < MOST_RATIO ? up : MOST_RATIO;
}

/* The saving of a plan for this call, estimated: larger for larger arrays. */
static int64_t
promised(const Credit *credit, const Roots *roots)
{
    bool none = credit->gain == 0;
    int larger = none ? largest_by(credit, roots) : larger_by(credit, roots);
    int64_t gain = none ? 1 : credit->gain;
    gain = larger >= 0 ? gain << larger : gain >> -larger;
    return Py_MAX(gain, none ? 1 : LEAST_SAVED);
}

/* ---- calls that recur ---- */

static uint64_t
mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

/* Types, shapes and strides of arrays, values of ints: what most guards look at. */
static uint64_t
kind_of(const Roots *roots)
{
    uint64_t hash = 1;
    for (int i = 0; i < roots->nslots && i < SLOTS_WATCHED; i++) {
        PyObject *object = roots->slots[i];
        ArrayHeader header;
        const char *why;
        if (object == NULL) continue;
        if (PyCell_Check(object) && (object = PyCell_GET(object)) == NULL) continue;
        hash = mixed(hash, (uint64_t)i << 56 ^ (uint64_t)(uintptr_t)Py_TYPE(object));
        if (PyLong_CheckExact(object)) hash = mixed(hash, (uint64_t)PyObject_Hash(object));
        if (!array_is_exact(object) || array_read(object, &header, &why) != ANSWER_YES) continue;
        hash = mixed(hash, (uint64_t)header.dtype);
        for (int axis = 0; axis < header.rank; axis++) {
            hash = mixed(hash, (uint64_t)header.shape[axis]);
            hash = mixed(hash, (uint64_t)header.stride[axis]);
        }
    }
    return hash;
}

/* The calls of this kind; NULL: there were none, or they are forgotten.  `make`: in place of those
   that have missed least, in turn where several have, so that kinds that are new do not drive out
   one another; NULL then without memory. */
static Recurring *
recurring_of(Credit *credit, uint64_t kind, bool make)
{
    if (credit->recurring == NULL && make &&
        (credit->recurring = mem_alloc(sizeof(Recurring) * RECURRING)) == NULL)
        PyErr_Clear();
    if (credit->recurring == NULL) return NULL;
    Recurring *least = NULL;
    for (int i = 0; i < RECURRING; i++) {
        Recurring *at = &credit->recurring[(credit->next_recurring + i) % RECURRING];
        if (at->kind == kind) return at;
        if (least == NULL || at->missed < least->missed) least = at;
    }
    if (!make) return NULL;
    credit->next_recurring = (uint8_t)((least - credit->recurring + 1) % RECURRING);
    *least = (Recurring){.kind = kind};
    return least;
}

/* They have been made often enough for a plan that holds for them alone.  Calls that come a few
   times each and never again must not have one plan after the other. */
static bool
has_recurred(const Credit *credit, const Recurring *calls)
{
    return calls != NULL && calls->calls > 1 && calls->missed >= credit->price << credit->doubts;
}

static bool
recurs(Credit *credit, const Roots *roots, int64_t gain)
{
    Recurring *calls = recurring_of(credit, kind_of(roots), true);
    if (calls == NULL) return false;
    if (calls->calls < INT32_MAX) calls->calls++;
    calls->missed += gain;
    return has_recurred(credit, calls);
}

/* ---- the account ---- */

bool
credit_allows(Entry *entry, int64_t limit, const Roots *roots, int64_t calls)
{
    Credit *credit = &entry->credit;
    if (!is_past_limit(entry, limit)) return true;
    if (limit == 0) return false;
    int64_t gain = promised(credit, roots);
    if (largest_by(credit, roots) >= (credit->gain == 0 ? FAR_LARGER : 2 * FAR_LARGER)) return true;
    if (gain >= PAYS * credit->price << credit->misjudged) return true;
    credit->earned += (gain / MISSED_SHARE + 1) * calls;
    if (credit->gain > 0 && recurs(credit, roots, gain)) return true;
    return credit->earned >= credit->price << credit->backoff;
}

/* What a plan was seen to save is what the next ones are expected to.  One that saves far less than
   expected may be of another kind: of complex numbers, or of no turns. */
static void
note_gain(Credit *credit, const Roots *roots, int64_t saves, int64_t expected)
{
    credit->gain = Py_MAX(saves, credit->gain == 0 ? 0 : expected / 2);
    for (int i = 0; i < roots->nslots && i < SLOTS_WATCHED; i++)
        credit->sizes[i] = (uint8_t)bits(credit_elements(roots->slots[i]));
}

void
credit_tried(Entry *entry, int64_t limit, const Roots *roots, const CompileNote *note, Plan *plan)
{
    Credit *credit = &entry->credit;
    bool compiled = note->text != 0 && note->text != credit->text;
    Recurring *recurring = recurring_of(credit, kind_of(roots), false);
    bool recurred = has_recurred(credit, recurring);
    int64_t gain = promised(credit, roots);
    if (recurred) {
        recurring->missed = 0;
        if (credit->doubts < MOST_BACKOFF) credit->doubts++;
    } else if (is_past_limit(entry, limit)) {
        if (credit->backoff < MOST_BACKOFF) credit->backoff++;
        if (note->saves < gain / MISSED_SHARE && credit->misjudged < MOST_BACKOFF)
            credit->misjudged++;
    }
    if (!recurred) credit->earned = 0;
    credit->price = note->cost + (compiled ? COMPILE_COST : 0);
    if (note->text != 0) credit->text = note->text;
    if (note->useful) note_gain(credit, roots, note->saves, gain);
    credit->most = (uint8_t)Py_MAX(credit->most, bits(elements_of_call(roots)));
    if (plan != NULL) {
        plan->debt = PAYS * credit->price;
        plan->used_at = plan->debt - note->cost;
        balance_begin(plan);
    } else if (note->useful)
        credit->lost++;
    else
        credit->refused++;
}

void
credit_paid(Entry *entry)
{
    Credit *credit = &entry->credit;
    credit->backoff = credit->misjudged = credit->doubts = 0;
    if (credit->lost > 0) credit->lost--;
}

/* ---- stepping from a refusal ---- */

/* An int may be how often a loop runs: each doubling counts as one of an array does. */
int
credit_work(const Roots *roots)
{
    int64_t turns = 0;
    for (int i = 0; i < roots->nslots && i < SLOTS_WATCHED; i++) {
        PyObject *object = roots->slots[i];
        int overflow;
        if (object != NULL && PyLong_CheckExact(object))
            turns = Py_MAX(turns, PyLong_AsLongLongAndOverflow(object, &overflow));
    }
    return bits(elements_of_call(roots)) + bits(turns);
}

bool
credit_leaves(Refusal *refusal, const Roots *roots)
{
    if (refusal->until < 0) return true;
    if (refusal->wait == 0) return false;
    bool larger = credit_work(roots) >= refusal->work + FAR_LARGER;
    if (--refusal->wait > 0 && !larger) return true;
    refusal->passed = larger ? 0 : refusal->rest;
    refusal->wait = 0;
    return false;
}

void
credit_rest(Refusal *refusal, int work)
{
    refusal->rest = refusal->rest == 0 ? FIRST_WAIT : Py_MIN(2 * refusal->rest, MOST_REFUSAL_WAIT);
    refusal->wait = refusal->rest;
    refusal->work = (uint8_t)Py_MAX(work, refusal->work);
}
