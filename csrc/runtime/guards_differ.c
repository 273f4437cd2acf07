/* All that keeps plans from holding for the values that are there now: each fact (an argument's
   dtype, an axis of its shape, a number), with the values that the plans wanted.  For messages. */
#include "guards.h"

enum {
    FACTS = 16,      /* that are collected */
    FACTS_TOLD = 5,  /* … and shown, those with the most values first: a few lines, not a screen */
    MOST_MORE = 256, /* … and counted beyond those collected */
    VALUES_TOLD = 5,
    MOST_VALUES = 64,
};

/* One fact. */
typedef struct {
    Text name, now, place;   /* "x.shape[0] ==", "64", " (file.py:12)" */
    Text value[MOST_VALUES]; /* without repetitions; none where the name says it all */
    int nvalues;
    const char *remedy; /* a literal */
} Fact;

struct GuardFacts {
    Fact fact[FACTS];
    int nfacts, nmore;
    uint64_t more[MOST_MORE]; /* hashes of the names of facts for which there was no room */
};

GuardFacts *
guards_facts_new(void)
{
    return mem_alloc(sizeof(GuardFacts));
}

void
guards_facts_free(GuardFacts *facts)
{
    if (facts == NULL) return;
    for (int i = 0; i < facts->nfacts; i++) {
        Fact *fact = &facts->fact[i];
        text_free(&fact->name);
        text_free(&fact->now);
        text_free(&fact->place);
        for (int k = 0; k < fact->nvalues; k++) text_free(&fact->value[k]);
    }
    mem_free(facts);
}

static bool
same_text(const Text *a, const Text *b)
{
    const char *left = a->data ? a->data : "", *right = b->data ? b->data : "";
    return strcmp(left, right) == 0;
}

/* A fact for which there is no room, of one plan or of several. */
static void
count_more(GuardFacts *facts, const Text *name)
{
    uint64_t hash = text_hash(name->data != NULL ? name->data : "");
    for (int i = 0; i < facts->nmore; i++)
        if (facts->more[i] == hash) return;
    if (facts->nmore < MOST_MORE) facts->more[facts->nmore++] = hash;
}

static Fact *
fact_for(GuardFacts *facts, GuardSaid *said)
{
    for (int i = 0; i < facts->nfacts; i++)
        if (same_text(&facts->fact[i].name, &said->name)) return &facts->fact[i];
    if (facts->nfacts == FACTS) {
        count_more(facts, &said->name);
        return NULL;
    }
    Fact *fresh = &facts->fact[facts->nfacts++];
    *fresh =
        (Fact){.name = said->name, .now = said->now, .place = said->place, .remedy = said->remedy};
    said->name = said->now = said->place = (Text){0};
    return fresh;
}

/* Takes the texts over. */
static void
add(GuardFacts *facts, GuardSaid *said)
{
    Fact *fact = fact_for(facts, said);
    bool known = fact == NULL || said->value.data == NULL || fact->nvalues == MOST_VALUES;
    for (int i = 0; !known && i < fact->nvalues; i++)
        known = same_text(&fact->value[i], &said->value);
    if (!known) {
        fact->value[fact->nvalues++] = said->value;
        said->value = (Text){0};
    }
    said_free(said);
}

/* ---- one plan ---- */

/* A guard on this source failed, or on one through which it is reached: what else is wrong with it
   is a consequence. */
static bool
is_odd(const GuardProgram *program, const bool *odd, int source)
{
    for (; source >= 0; source = program->sources[source].base)
        if (odd[source]) return true;
    return false;
}

static void
add_failure(GuardFacts *facts, GuardProgram *program, const GuardCheck *check, PyObject *now)
{
    ArrayFact fact[ARRAY_FACTS];
    int n = check->kind == GUARD_ARRAY ? guard_array_facts(program, check, now, fact) : 0;
    for (int i = 0; i < n; i++) {
        GuardSaid said = {.remedy = fact[i].remedy};
        guard_say_array(program, check, &fact[i], &said);
        add(facts, &said);
    }
    if (n > 0) return;
    GuardSaid said = {0};
    guard_say(program, check, now, &said);
    add(facts, &said);
}

static void
add_failures(GuardFacts *facts, GuardProgram *program, PyObject *const *reached, bool *odd)
{
    for (int i = 0; i < program->nchecks && !program->dead; i++) {
        const GuardCheck *check = &program->checks[i];
        if (is_odd(program, odd, check->source) ||
            (check->other >= 0 && is_odd(program, odd, check->other)) ||
            (check->kind == GUARD_DISJOINT && facts->nfacts > 0) || guard_holds(check, reached))
            continue;
        odd[check->source] = true;
        PyObject *wanted = Py_XNewRef(check->object); /* it may be held weakly */
        add_failure(facts, program, check, reached[check->source]);
        Py_XDECREF(wanted);
    }
}

/* Making a text may run Python code: all that was reached is held. */
void
guards_facts_add(GuardFacts *facts, GuardProgram *program, const Roots *roots)
{
    size_t n = (size_t)program->nsources + 1;
    if (program->dead) return;
    PyObject **reached = mem_alloc(sizeof(PyObject *) * n);
    bool *odd = mem_alloc(n);
    if (reached != NULL && odd != NULL) {
        for (int i = 0; i < program->nsources; i++)
            reached[i] = source_reach(&program->sources[i], roots, reached);
        for (int i = 0; i < program->nsources; i++) Py_XINCREF(reached[i]);
        add_failures(facts, program, reached, odd);
        for (int i = 0; i < program->nsources; i++) Py_XDECREF(reached[i]);
    }
    PyErr_Clear();
    mem_free(reached);
    mem_free(odd);
}

int
guards_facts_count(const GuardFacts *facts)
{
    return facts->nfacts + facts->nmore;
}

/* ---- the message ---- */

/* Facts in a row that have the same place have it once, behind the last. */
static void
put_fact(Text *out, const Fact *fact, const Fact *next)
{
    text_put(out, fact->name.data ? fact->name.data : "?");
    for (int i = 0; i < fact->nvalues && i < VALUES_TOLD; i++)
        text_printf(out, "%s%s", i ? ", " : " ", fact->value[i].data);
    if (fact->nvalues > VALUES_TOLD) text_printf(out, " and %d more", fact->nvalues - VALUES_TOLD);
    if (fact->now.data != NULL) text_printf(out, ", now %s", fact->now.data);
    bool later = next != NULL && same_text(&fact->place, &next->place);
    if (fact->place.data != NULL && !later) text_put(out, fact->place.data);
}

/* The facts that are shown, those with the most values first. */
static int
order(const GuardFacts *facts, int *at)
{
    for (int i = 0; i < facts->nfacts; i++) {
        int k = i;
        for (; k > 0 && facts->fact[at[k - 1]].nvalues < facts->fact[i].nvalues; k--)
            at[k] = at[k - 1];
        at[k] = i;
    }
    return Py_MIN(facts->nfacts, FACTS_TOLD);
}

bool
guards_facts_put(const GuardFacts *facts, Text *because, Text *remedies)
{
    int at[FACTS], told = order(facts, at);
    for (int i = 0; i < told; i++) {
        const Fact *fact = &facts->fact[at[i]];
        text_put(because, i ? "; " : "");
        put_fact(because, fact, i + 1 < told ? &facts->fact[at[i + 1]] : NULL);
        bool given = fact->remedy == NULL || *fact->remedy == '\0';
        for (int k = 0; k < i; k++) given |= facts->fact[at[k]].remedy == fact->remedy;
        if (!given) text_printf(remedies, "%s%s", remedies->len ? "; " : "", fact->remedy);
    }
    int more = facts->nfacts - told + facts->nmore;
    if (more > 0) text_printf(because, "; and %d more", more);
    return told > 0;
}
