/* Reaching a source's object and checking one guard.  Neither runs Python code: an object that
   could only be reached by running some (a property, an __eq__) is not reached, so that the guard
   fails. */
#include "guards.h"

static PyObject *
dict_entry(PyObject *dict, PyObject *key)
{
    if (dict == NULL || !PyDict_Check(dict)) return NULL;
    if (key_is_constant(key)) return dict_stored(dict, key);
    Py_ssize_t at = 0; /* an enum member, compared by identity */
    PyObject *found, *item;
    while (PyDict_Next(dict, &at, &found, &item))
        if (found == key) return item;
    return NULL;
}

static PyObject *
item_reach(const GuardSource *source, PyObject *base)
{
    if (PyDict_Check(base)) return source->key != NULL ? dict_entry(base, source->key) : NULL;
    Py_ssize_t n = sequence_length(base);
    if (n >= 0) return sequence_entry(base, source->index < 0 ? source->index + n : source->index);
    return source->key != NULL && lru_check(base) ? lru_find(base, source->key) : NULL;
}

/* Borrowed: a run takes the references that it needs before another can reach the same source. */
static PyObject *
made_int(const GuardSource *source, int64_t number)
{
    PyObject *last = *source->made;
    if (last != NULL && PyLong_AsLongLong(last) == number) return last;
    PyObject *made = PyLong_FromLongLong(number);
    if (made == NULL) {
        PyErr_Clear();
        return NULL;
    }
    *source->made = made;
    Py_XDECREF(last);
    return made;
}

static PyObject *
size_reach(const GuardSource *source, PyObject *base)
{
    ArrayHeader header;
    if (array_header(base, &header) != ANSWER_YES || source->index >= header.rank) return NULL;
    return made_int(source, header.shape[source->index]);
}

static PyObject *
rest_reach(const GuardSource *source, PyObject *base)
{
    int64_t rest[ITERATOR_INTS];
    bool alone = Py_REFCNT(base) == 1; /* else the program would see how far it is */
    return alone && iterator_rest(base, rest) ? made_int(source, rest[source->index]) : NULL;
}

/* Borrowed, too: room that guards_fill writes, which a run that needs it keeps. */
static PyObject *
series_reach(const GuardSource *source, PyObject *base)
{
    PyObject *last = *source->made, *made;
    int64_t length = series_length(base, (DType)source->index);
    ArrayHeader header;
    if (length < 0 || length > source->most) return NULL;
    if (last != NULL && Py_REFCNT(last) == 1 && array_header(last, &header) == ANSWER_YES &&
        header.shape[0] == length)
        return last;
    if ((made = series_array((DType)source->index, length)) == NULL) {
        PyErr_Clear();
        return NULL;
    }
    *source->made = made;
    Py_XDECREF(last);
    return made;
}

PyObject *
source_reach(const GuardSource *source, const Roots *roots, PyObject *const *reached)
{
    PyObject *base = source->base >= 0 ? reached[source->base] : NULL, *value;
    switch (source->kind) {
    case SOURCE_SLOT: return source->index < roots->nslots ? roots->slots[source->index] : NULL;
    case SOURCE_CONST: return source->object;
    case SOURCE_GLOBAL:
        value = dict_entry(source->object, source->key);
        return value != NULL ? value : dict_entry(source->builtins, source->key);
    case SOURCE_CELL: return base != NULL && PyCell_Check(base) ? PyCell_GET(base) : NULL;
    case SOURCE_ATTR:
        if (base == NULL) return NULL;
        if (array_is_exact(base)) return array_base(base); /* no other attribute is a source */
        return source->index == ATTR_OWN ? attribute_own(base, source->key)
                                         : attribute_stored(base, source->key);
    case SOURCE_ITEM: return base != NULL ? item_reach(source, base) : NULL;
    case SOURCE_HANDLED: return handled_exception();
    case SOURCE_SIZE: return base != NULL ? size_reach(source, base) : NULL;
    case SOURCE_REST: return base != NULL ? rest_reach(source, base) : NULL;
    case SOURCE_WALKED: return base != NULL ? iterator_walked(base, source->index) : NULL;
    case SOURCE_SERIES: return base != NULL ? series_reach(source, base) : NULL;
    case SOURCE_TYPE: return base != NULL ? (PyObject *)Py_TYPE(base) : NULL;
    }
    return NULL;
}

/* Equal and of one exact type, floats by their bits; builtin immutable types only. */
static bool
constants_equal(PyObject *a, PyObject *b)
{
    if (a == b) return true;
    if (Py_TYPE(a) != Py_TYPE(b)) return false;
    if (PyFloat_CheckExact(a)) {
        double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
        return memcmp(&x, &y, sizeof(x)) == 0;
    }
    if (PyComplex_CheckExact(a)) {
        Py_complex x = ((PyComplexObject *)a)->cval, y = ((PyComplexObject *)b)->cval;
        return memcmp(&x, &y, sizeof(x)) == 0;
    }
    if (PyTuple_CheckExact(a)) {
        if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++)
            if (!constants_equal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
        return true;
    }
    if (PySlice_Check(a)) {
        PySliceObject *x = (PySliceObject *)a, *y = (PySliceObject *)b;
        return constants_equal(x->start, y->start) && constants_equal(x->stop, y->stop) &&
               constants_equal(x->step, y->step);
    }
    if (PyAnySet_CheckExact(a)) return set_same_layout(a, b, constants_equal);
    if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a)) {
        int equal = PyObject_RichCompareBool(a, b, Py_EQ);
        if (equal < 0) PyErr_Clear();
        return equal > 0;
    }
    return false;
}

static bool
int_in_range(const GuardCheck *check, PyObject *object)
{
    int overflow;
    if (!PyLong_CheckExact(object)) return false;
    if (check->low > check->high) { /* 64 bits without a sign */
        (void)PyLong_AsUnsignedLongLong(object);
        bool fits = PyErr_Occurred() == NULL;
        PyErr_Clear();
        return fits;
    }
    int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow && value >= check->low && value <= check->high;
}

static Py_ssize_t
length_of(PyObject *object)
{
    Py_ssize_t length = sequence_length(object);
    if (length >= 0) return length;
    if (PyDict_Check(object)) return PyDict_GET_SIZE(object);
    if (PyAnySet_Check(object)) return PySet_GET_SIZE(object);
    if (PyUnicode_Check(object)) return PyUnicode_GET_LENGTH(object);
    if (PyBytes_Check(object)) return PyBytes_GET_SIZE(object);
    return -1;
}

/* False where one is not a readable array. */
static bool
both_read(PyObject *a, PyObject *b, ArrayHeader *ha, ArrayHeader *hb)
{
    return a != NULL && b != NULL && array_header(a, ha) == ANSWER_YES &&
           array_header(b, hb) == ANSWER_YES;
}

static bool
apart(PyObject *a, PyObject *b)
{
    ArrayHeader ha, hb;
    return both_read(a, b, &ha, &hb) && arrays_apart(&ha, &hb);
}

static bool
ranges_apart(PyObject *a, PyObject *b)
{
    ArrayHeader ha, hb;
    return both_read(a, b, &ha, &hb) && arrays_ranges_apart(&ha, &hb);
}

static bool
ranges_meet(PyObject *a, PyObject *b)
{
    ArrayHeader ha, hb;
    return both_read(a, b, &ha, &hb) && !arrays_ranges_apart(&ha, &hb);
}

static bool
overlapping(PyObject *a, PyObject *b)
{
    ArrayHeader ha, hb;
    return both_read(a, b, &ha, &hb) && !arrays_apart(&ha, &hb);
}

static bool
repeats_agree(PyObject *array, bool wanted)
{
    ArrayHeader header;
    return array_header(array, &header) == ANSWER_YES && array_repeats(&header) == wanted;
}

static bool
is_readonly(PyObject *object)
{
    ArrayHeader header;
    const char *why;
    return array_read(object, &header, &why) == ANSWER_YES && !(header.flags & ARRAY_WRITEABLE);
}

/* Is the range of memory, number `last` in their order, apart from those before it, as far as one
   of the two is written?  The ranges may interleave. */
static bool
apart_from_earlier(const GuardCheck *check, PyObject *const *reached, int last)
{
    const struct MemoryRange *range = &check->ranges[last];
    for (int i = 0; i < last; i++) {
        const struct MemoryRange *other = &check->ranges[i];
        if (other->high <= range->low || other->low == other->high ||
            (range->member >= check->nwritten && other->member >= check->nwritten))
            continue;
        if (!apart(reached[check->group[range->member]], reached[check->group[other->member]]))
            return false;
    }
    return true;
}

/* Nearly sorted already: the order of the last check is kept. */
static void
sort_by_address(struct MemoryRange *ranges, int count)
{
    for (int i = 1; i < count; i++) {
        struct MemoryRange range = ranges[i];
        int k = i;
        for (; k > 0 && ranges[k - 1].low > range.low; k--) ranges[k] = ranges[k - 1];
        ranges[k] = range;
    }
}

static bool
all_differ(const GuardCheck *check, PyObject *const *reached)
{
    struct MemoryRange *ranges = check->ranges;
    for (int i = 0; i < check->ngroup; i++)
        ranges[i].low = (const char *)reached[check->group[ranges[i].member]];
    sort_by_address(ranges, check->ngroup);
    for (int i = 1; i < check->ngroup; i++)
        if (ranges[i].low == ranges[i - 1].low) return false;
    return true;
}

/* Sorts by address, then one sweep. */
static bool
disjoint(const GuardCheck *check, PyObject *const *reached)
{
    struct MemoryRange *ranges = check->ranges;
    for (int i = 0; i < check->ngroup; i++) {
        PyObject *object = reached[check->group[ranges[i].member]];
        ArrayHeader header;
        if (object == NULL || array_header(object, &header) != ANSWER_YES) return false;
        array_extent(&header, &ranges[i].low, &ranges[i].high);
    }
    sort_by_address(ranges, check->ngroup);
    const char *end = NULL, *end_written = NULL; /* of all memory so far, of written */
    for (int i = 0; i < check->ngroup; i++) {
        const struct MemoryRange *range = &ranges[i];
        if (range->low == range->high) continue;
        bool written = range->member < check->nwritten;
        if (range->low < (written ? end : end_written) && !apart_from_earlier(check, reached, i))
            return false;
        if (range->high > end) end = range->high;
        if (written && range->high > end_written) end_written = range->high;
    }
    return true;
}

static bool
scalar_is(PyObject *object, DType wanted)
{
    DType dtype;
    _Alignas(16) char bytes[16];
    return array_scalar_read(object, &dtype, bytes) == ANSWER_YES && dtype == wanted;
}

bool
guard_holds(const GuardCheck *check, PyObject *const *reached)
{
    PyObject *object = reached[check->source];
    if (object == NULL) return check->kind == GUARD_UNBOUND || check->kind == GUARD_QUIET;
    PyObject *other = check->other >= 0 ? reached[check->other] : NULL;
    switch (check->kind) {
    case GUARD_TYPE: return (PyObject *)Py_TYPE(object) == check->object;
    case GUARD_STRANGE:
        return (PyObject *)Py_TYPE(object) == check->object && array_kind(object) == check->low &&
               !array_is_input(object);
    case GUARD_IS:
    case GUARD_GLOBAL:
        if (check->parts != NULL) return guards_has_parts(check, object);
        return object == check->object;
    case GUARD_NAMESPACE:
        return PyFunction_Check(object) && PyFunction_GET_GLOBALS(object) == check->object &&
               ((PyFunctionObject *)object)->func_builtins == other;
    case GUARD_VALUE: return constants_equal(object, check->object);
    case GUARD_NOT_VALUE:
        return Py_TYPE(object) == Py_TYPE(check->object) && !constants_equal(object, check->object);
    case GUARD_INT_RANGE: return int_in_range(check, object);
    case GUARD_LENGTH: return length_of(object) == check->low;
    case GUARD_LONGER:
        return (PyObject *)Py_TYPE(object) == check->object && sequence_length(object) > check->low;
    case GUARD_MOST: return deque_check(object) && deque_most(object) == check->low;
    case GUARD_FILLING: return deque_check(object) && sequence_length(object) < check->low;
    case GUARD_BARE: return instance_is_bare(object);
    case GUARD_KEYS: return dict_keys_are(object, check->object, constants_equal);
    case GUARD_ARRAY: return array_agrees(object, &check->array);
    case GUARD_SCALAR: return scalar_is(object, check->array.dtype);
    case GUARD_SAME: return object == other;
    case GUARD_NOT_SAME: return object != other;
    case GUARD_SAME_SIZE: return guard_same_size(check, object, other);
    case GUARD_SIZES: return guard_sizes_agree(check, reached);
    case GUARD_NO_OVERLAP: return apart(object, other);
    case GUARD_RANGES_APART: return ranges_apart(object, other);
    case GUARD_RANGES_MEET: return ranges_meet(object, other);
    case GUARD_OVERLAP: return overlapping(object, other);
    case GUARD_NO_REPEATS: return repeats_agree(object, false);
    case GUARD_REPEATS: return repeats_agree(object, true);
    case GUARD_READONLY: return is_readonly(object);
    case GUARD_DISJOINT: return disjoint(check, reached);
    case GUARD_DIFFERENT: return all_differ(check, reached);
    case GUARD_UNBOUND: return false;
    case GUARD_QUIET: return object_ends_quietly(object, check->low, NULL);
    case GUARD_ATTR_ABSENT: return attribute_stored(object, check->object) == NULL;
    case GUARD_REGISTERED: return abstract_token() == check->low;
    case GUARD_NOT_DICT: return other != NULL && instance_dict(other) != object;
    case GUARD_SPARE: return array_is_spare(object) == (check->low != 0);
    case GUARD_COUNT: break;
    }
    return false;
}

PyObject *
guard_reach(const GuardProgram *program, int number, const Roots *roots)
{
    if (program->dead) return NULL; /* what its sources begin with may be gone */
    PyObject **reached = mem_alloc(sizeof(PyObject *) * (size_t)(program->nsources + 1));
    if (reached == NULL) {
        PyErr_Clear();
        return NULL;
    }
    for (int i = 0; i < program->nsources; i++)
        reached[i] = source_reach(&program->sources[i], roots, reached);
    PyObject *now = Py_XNewRef(reached[program->checks[number].source]);
    mem_free(reached);
    return now;
}
