/* Guards that relate lengths.  What they compute is most often a sum of lengths, each times a
   constant: that is evaluated as it is, anything else by the terms (size_terms_value). */
#include "guards.h"

enum { FORMS = 1 + MOST_SIZED }; /* the constant, and the factor of each length */

typedef struct {
    int64_t factor[FORMS];
} LinearSize;

static int64_t
wrapped(int64_t a, int64_t b, bool product)
{
    return (int64_t)(product ? (uint64_t)a * (uint64_t)b : (uint64_t)a + (uint64_t)b);
}

static bool
is_constant(const LinearSize *form)
{
    for (int i = 1; i < FORMS; i++)
        if (form->factor[i] != 0) return false;
    return true;
}

/* a becomes a sum or product of the two; false: that has no such form. */
static bool
join(LinearSize *a, const LinearSize *b, SizeKind kind)
{
    if (kind != SIZE_ADD && kind != SIZE_MUL) return false;
    bool product = kind == SIZE_MUL;
    LinearSize other = *b;
    if (product && !is_constant(&other)) {
        other = *a;
        *a = *b;
    }
    if (product && !is_constant(&other)) return false;
    for (int i = 0; i < FORMS; i++)
        a->factor[i] = wrapped(a->factor[i], other.factor[product ? 0 : i], product);
    return true;
}

/* The place of the length among those found so far; -1: there are too many. */
static int
length_number(SizeLength *found, int *count, const SizeTerm *term)
{
    int i = 0;
    int32_t axis = Py_MAX(term->axis, 0);
    while (i < *count && (found[i].member != term->value || found[i].axis != axis)) i++;
    if (i == MOST_SIZED) return -1;
    if (i == *count) found[(*count)++] = (SizeLength){(int32_t)term->value, axis, 0};
    return i;
}

int
guard_sum(GuardProgram *program, GuardCheck *check)
{
    SizeLength found[MOST_SIZED];
    LinearSize forms[SIZE_DEPTH];
    int count = 0, n = 0;
    for (int i = 0; i < check->nsizes; i++) {
        const SizeTerm *term = &check->sizes[i];
        if (term->kind >= SIZE_ADD) {
            n--;
            if (!join(&forms[n - 1], &forms[n], term->kind)) return 0;
            continue;
        }
        int at = term->kind == SIZE_CONST ? 0 : 1 + length_number(found, &count, term);
        if (term->kind != SIZE_CONST && at == 0) return 0;
        forms[n] = (LinearSize){{0}};
        forms[n++].factor[at] = term->kind == SIZE_CONST ? term->value : 1;
    }
    for (int i = 0; i < count; i++) found[i].factor = forms[0].factor[1 + i];
    check->constant = forms[0].factor[0];
    check->nlengths = count;
    check->lengths = arena_copy(program->memory, found, sizeof(SizeLength) * (size_t)count);
    return check->lengths == NULL ? -1 : 0;
}

/* Is all that is asked that two lengths are equal? */
static bool
asks_equal(const GuardCheck *check, AxisPair *out)
{
    const SizeLength *length = check->lengths;
    if (check->kind == GUARD_SAME_SIZE) {
        *out = (AxisPair){.array = {check->source, check->other},
                          .axis = {(int32_t)check->low, (int32_t)check->high}};
        return true;
    }
    if (check->kind != GUARD_SIZES || length == NULL || check->nlengths != 2 || !check->low ||
        check->constant != 0 || length[0].factor + length[1].factor != 0 ||
        Py_ABS(length[0].factor) != 1)
        return false;
    *out = (AxisPair){.array = {check->group[length[0].member], check->group[length[1].member]},
                      .axis = {length[0].axis, length[1].axis}};
    return true;
}

int
guard_pairs(GuardProgram *program)
{
    uint8_t *rank = arena_alloc(program->memory, (size_t)program->nsources + 1); /* seen so far */
    if (rank == NULL) return -1;
    for (int i = 0; i < program->nchecks; i++) {
        GuardCheck *check = &program->checks[i];
        AxisPair pair;
        if (check->kind == GUARD_ARRAY && check->array.library == LIBRARY_NUMPY)
            rank[check->source] = check->array.rank;
        if (!asks_equal(check, &pair) || pair.axis[0] >= rank[pair.array[0]] ||
            pair.axis[1] >= rank[pair.array[1]])
            continue;
        check->equal = pair;
        check->equal.known = true;
    }
    return 0;
}

/* ---- in a check ---- */

bool
guard_same_size(const GuardCheck *check, PyObject *a, PyObject *b)
{
    int rank_a, rank_b;
    const int64_t *shape_a = a != NULL ? array_lengths(a, &rank_a) : NULL;
    const int64_t *shape_b = b != NULL ? array_lengths(b, &rank_b) : NULL;
    return shape_a != NULL && shape_b != NULL && check->low < rank_a && check->high < rank_b &&
           shape_a[check->low] == shape_b[check->high];
}

/* What lengths are read of: those of an array, or the int itself; NULL: there is no such. */
static inline const int64_t *
lengths_of(PyObject *object, int64_t *number, int *rank)
{
    int overflow;
    if (object == NULL) return NULL;
    if (!PyLong_CheckExact(object)) return array_lengths(object, rank);
    *number = PyLong_AsLongLongAndOverflow(object, &overflow);
    *rank = 1;
    return overflow ? NULL : number;
}

static bool
sum_agrees(const GuardCheck *check, PyObject *const *reached)
{
    int64_t value = check->constant;
    for (int i = 0; i < check->nlengths; i++) {
        const SizeLength *length = &check->lengths[i];
        int64_t number;
        int rank;
        const int64_t *of = lengths_of(reached[check->group[length->member]], &number, &rank);
        if (of == NULL || length->axis >= rank) return false;
        value = wrapped(value, wrapped(of[length->axis], length->factor, true), false);
    }
    return check->low ? value == 0 : value >= 0;
}

bool
guard_sizes_agree(const GuardCheck *check, PyObject *const *reached)
{
    const int64_t *shapes[MOST_SIZED];
    int64_t ints[MOST_SIZED];
    if (check->lengths != NULL) return sum_agrees(check, reached);
    for (int i = 0; i < check->ngroup; i++) {
        int rank;
        shapes[i] = lengths_of(reached[check->group[i]], &ints[i], &rank);
        if (shapes[i] == NULL) return false;
        for (int k = 0; k < check->nsizes; k++) {
            const SizeTerm *term = &check->sizes[k];
            if (term->kind == SIZE_DIM && term->value == i && term->axis >= rank) return false;
        }
    }
    int64_t value = size_terms_value(check->sizes, check->nsizes, shapes);
    return check->low ? value == 0 : value >= 0;
}
