/* The differing fact of a failed guard, and what a program that fails it too often may change: the
   remedy of the guard's row in guards.def; for arrays, that of the fact that varies. */
#include "guards.h"

/* By kind: of what is passed to the function, and of all else. */
static const char *const remedies[][2] = {
#define GUARD(name, sources, text, given, made) {given, made},
#include "../capture/guards.def"
};

/* ---- where it comes from ---- */

/* May the Instr at `from` be followed by the code's entry, through a loop around both? */
static bool
comes_again(const Decoded *decoded, int entry, int from)
{
    for (int i = from; i < decoded->count; i++)
        if (decoded->instrs[i].target >= 0 && decoded->instrs[i].target <= entry) return true;
    return false;
}

static int
argument_slots(const PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
           ((code->co_flags & CO_VARKEYWORDS) != 0);
}

/* The code of a function stands for that in messages. */
static bool
is_code(const GuardSource *source)
{
    return source->kind == SOURCE_ATTR && source->key != NULL && PyUnicode_Check(source->key) &&
           PyUnicode_CompareWithASCIIString(source->key, "__code__") == 0;
}

/* Is it an argument, or an item of one, to which the function has assigned nothing? */
static bool
is_given(const GuardProgram *program, int number)
{
    const GuardSource *source = &program->sources[number];
    while (source->kind == SOURCE_ITEM || source->kind == SOURCE_SIZE ||
           source->kind == SOURCE_TYPE || source->kind == SOURCE_CELL || is_code(source))
        source = &program->sources[source->base];
    if (program->code == NULL) return true;
    if (source->kind != SOURCE_SLOT || source->index >= argument_slots(program->code)) return false;
    Decoded *decoded = decode(program->code);
    if (decoded == NULL) {
        PyErr_Clear();
        return false;
    }
    bool given = true;
    for (int i = 0; i < decoded->count && given; i++) {
        const Instr *instr = &decoded->instrs[i];
        bool stores = (instr->kind == I_STORE_LOCAL || instr->kind == I_STORE_DEREF) &&
                      instr->arg == source->index;
        given = !stores || (i >= program->entry && !comes_again(decoded, program->entry, i));
    }
    decoded_free(decoded);
    return given;
}

/* ---- arrays ---- */

static const char *
flag_name(unsigned flag)
{
    return flag == ARRAY_C_CONTIGUOUS   ? "c_contiguous"
           : flag == ARRAY_F_CONTIGUOUS ? "f_contiguous"
           : flag == ARRAY_WRITEABLE    ? "writeable"
           : flag == ARRAY_ALIGNED      ? "aligned"
           : flag == ARRAY_ALIGNED_8    ? "aligned to 8 bytes"
                                        : "owndata";
}

static const char fewer_shapes[] = "pad arrays to a few shapes; if one is a selection x[mask], "
                                   "keep the shape: np.where(mask, x, 0)";
static const char same_shape[] = "keep its shape: np.where(mask, x, 0) in place of a selection "
                                 "x[mask]; masks in place of lists of the elements that count";
static const char shapes_of_items[] =
    "give the arrays that the loop goes through a few shapes: pad "
    "them; or put those of one shape into one array";
static const char made_shape[] = "make it of arguments of a few shapes; if it is a selection "
                                 "x[mask], keep the shape: np.where(mask, x, 0)";
static const char slice_shape[] =
    "take slices of a few lengths; or compute with the whole array and "
    "take the slice at the end";
const char guard_of_turns[] =
    "keep an array of one length and write into slices of it (x[:m] = ...); that is, where the "
    "loop "
    "itself changes the shape from turn to turn, or, if only the loop's length breaks it (PC0013), "
    "raise options={'unroll': ...}; where others pass the shape, pad arrays to a few shapes";
static const char one_layout[] = "lay arrays out alike: np.ascontiguousarray(x)";

/* The Instr before the code's entry that stored the local last; -1: none did, it is an argument
   still. */
static int
last_store(const Decoded *decoded, int entry, int slot)
{
    int at = -1;
    for (int i = 0; i < entry && i < decoded->count; i++)
        if (decoded->instrs[i].kind == I_STORE_LOCAL && decoded->instrs[i].arg == slot) at = i;
    return at;
}

/* The Instr that made what the slot holds at the code's entry; -1: not known.  *outside: nothing
   in this code did. */
static int
slot_maker(const GuardProgram *program, const Decoded *decoded, int slot, bool *outside)
{
    const PyCodeObject *code = program->code;
    if (slot >= code->co_nlocalsplus) {
        int entry = slot - code->co_nlocalsplus;
        return stack_writer(decoded, program->entry, &entry);
    }
    int store = last_store(decoded, program->entry, slot);
    *outside = store < 0 && slot < argument_slots(code);
    if (store < 0) return -1;
    int entry = decoded->instrs[store].depth - 1;
    int maker = stack_writer(decoded, store, &entry);
    if (maker < 0 || decoded->instrs[maker].kind != I_UNPACK) return maker;
    entry = decoded->instrs[maker].depth - 1; /* for i, x in enumerate(xs) */
    return stack_writer(decoded, maker, &entry);
}

/* Does the Instr take a slice? */
static bool
takes_slice(const Decoded *decoded, int at)
{
    return decoded->instrs[at].kind == I_SLICE_LOAD ||
           (decoded->instrs[at].kind == I_SUBSCRIPT && at > 0 &&
            decoded->instrs[at - 1].kind == I_BUILD_SLICE);
}

/* Does the loop from `head` to `end` read the local before it assigns another value to it, so that
   each turn hands one to the next?  A selection that is assigned is told as one. */
static bool
hands_on(const Decoded *decoded, int head, int end, int slot)
{
    bool read = false;
    for (int i = head; i <= end; i++) {
        const Instr *instr = &decoded->instrs[i];
        if (instr->arg != slot) continue;
        read |= instr->kind == I_LOAD_LOCAL;
        if (instr->kind != I_STORE_LOCAL) continue;
        int entry = instr->depth - 1, maker = stack_writer(decoded, i, &entry);
        bool selects = maker >= 0 && decoded->instrs[maker].kind == I_SUBSCRIPT;
        return read && !(selects && !takes_slice(decoded, maker));
    }
    return false;
}

/* … of any loop around the code's entry. */
static bool
is_handed_on(const GuardProgram *program, const Decoded *decoded, int slot)
{
    for (int i = program->entry; i < decoded->count; i++) {
        int head = decoded->instrs[i].target;
        if (head >= 0 && head <= program->entry && hands_on(decoded, head, i, slot)) return true;
    }
    return false;
}

/* What to change where an array's shape varies: by where the array comes from. */
static const char *
shape_remedy(const GuardProgram *program, const GuardSource *source)
{
    if (source->kind != SOURCE_SLOT || program->code == NULL) return fewer_shapes;
    Decoded *decoded = decode(program->code);
    if (decoded == NULL) {
        PyErr_Clear();
        return fewer_shapes;
    }
    bool outside = false;
    int maker = slot_maker(program, decoded, source->index, &outside);
    InstrKind kind = maker >= 0 ? decoded->instrs[maker].kind : I_NOP;
    bool slice = maker >= 0 && takes_slice(decoded, maker);
    bool turns = is_handed_on(program, decoded, source->index);
    decoded_free(decoded);
    return turns                 ? guard_of_turns
           : outside             ? fewer_shapes
           : slice               ? slice_shape
           : kind == I_SUBSCRIPT ? same_shape
           : kind == I_FOR_ITER  ? shapes_of_items
                                 : made_shape;
}

static void
set_fact(ArrayFact *fact, const char *name, int axis, int64_t wanted, int64_t now)
{
    snprintf(fact->name, sizeof(fact->name), axis < 0 ? "%s" : "%s[%d]", name, axis);
    snprintf(fact->wanted, sizeof(fact->wanted), "%lld", (long long)wanted);
    snprintf(fact->now, sizeof(fact->now), "%lld", (long long)now);
}

/* The flag that is missing, or the strides that differ. */
static int
layout_facts(const GuardCheck *check, const ArrayHeader *header, ArrayFact *facts)
{
    unsigned missing = check->array.flags & ~header->flags, first = missing & -missing;
    ArrayFact *fact = facts;
    fact->remedy = one_layout;
    if (missing) {
        if (first == ARRAY_WRITEABLE) fact->remedy = "take arrays that can be written, or a copy";
        if (first == ARRAY_ALIGNED) fact->remedy = "take aligned arrays: x.copy()";
        snprintf(fact->name, sizeof(fact->name), "flags.%s", flag_name(first));
        *fact->wanted = '\0';
        snprintf(fact->now, sizeof(fact->now), "not");
        return 1;
    }
    for (int i = 0; i < header->rank; i++) {
        if (!(check->array.known_stride >> i & 1) || header->stride[i] == check->array.stride[i])
            continue;
        set_fact(fact, "strides", i, check->array.stride[i], header->stride[i]);
        return 1;
    }
    return 0;
}

int
guard_array_facts(const GuardProgram *program, const GuardCheck *check, PyObject *now,
                  ArrayFact facts[ARRAY_FACTS])
{
    ArrayHeader header;
    if (now == NULL || array_header(now, &header) != ANSWER_YES) return 0;
    int n = 0;
    if (header.dtype != check->array.dtype) {
        ArrayFact *fact = &facts[n++];
        fact->remedy = "cast to one dtype (astype)";
        snprintf(fact->name, sizeof(fact->name), "dtype");
        snprintf(fact->wanted, sizeof(fact->wanted), "%s", dtype_long_name(check->array.dtype));
        snprintf(fact->now, sizeof(fact->now), "%s", dtype_long_name(header.dtype));
    }
    if (header.rank != check->array.rank) {
        facts[n].remedy = "reshape arrays to one number of dimensions";
        set_fact(&facts[n++], "ndim", -1, check->array.rank, header.rank);
        return n;
    }
    for (int i = 0; i < header.rank; i++) {
        bool least = check->array.least_shape >> i & 1;
        if (!(check->array.known_shape >> i & 1) || header.shape[i] == check->array.shape[i] ||
            (least && header.shape[i] > check->array.shape[i]))
            continue;
        facts[n].remedy = shape_remedy(program, &program->sources[check->source]);
        set_fact(&facts[n++], "shape", i, check->array.shape[i], header.shape[i]);
    }
    return n > 0 ? n : layout_facts(check, &header, facts);
}

bool
guard_array_differs(const GuardProgram *program, const GuardCheck *check, PyObject *now,
                    ArrayFact *fact)
{
    ArrayFact facts[ARRAY_FACTS];
    int n = guard_array_facts(program, check, now, facts);
    if (n > 0) *fact = facts[0];
    return n > 0;
}

/* What to change about something that is no array of those that are compiled. */
static const char *
uncompiled_remedy(PyObject *now, bool made)
{
    ArrayHeader header;
    const char *why = "";
    if (now == NULL || array_read(now, &header, &why) == ANSWER_YES)
        return remedies[GUARD_ARRAY][made];
    return strcmp(why, "foreign byte order") == 0
               ? "take arrays in the machine's byte order: x.astype(x.dtype.newbyteorder('='))"
               : remedies[GUARD_ARRAY][made];
}

/* ---- numbers ---- */

static bool
is_number(PyObject *object)
{
    return object != NULL && (PyLong_Check(object) || PyFloat_Check(object) ||
                              PyComplex_Check(object) || guard_array_scalar(object));
}

static bool
is_number_type(PyObject *object)
{
    PyTypeObject *const python[] = {&PyLong_Type, &PyFloat_Type, &PyComplex_Type};
    if (object == NULL || !PyType_Check(object)) return false;
    for (int i = 0; i < 3; i++)
        if (PyType_IsSubtype((PyTypeObject *)object, python[i])) return true;
    return strncmp(((PyTypeObject *)object)->tp_name, "numpy.", strlen("numpy.")) == 0;
}

PyTypeObject *
guard_number_type(const GuardCheck *check, PyObject *now)
{
    PyTypeObject *wanted = check->kind == GUARD_INT_RANGE ? &PyLong_Type
                           : check->kind == GUARD_VALUE && is_number(check->object)
                               ? Py_TYPE(check->object)
                               : NULL;
    return wanted != NULL && is_number(now) && Py_TYPE(now) != wanted ? wanted : NULL;
}

/* ---- remedies ---- */

/* A value that has to be the same each time: only with a number can be computed instead. */
static const char *
value_remedy(PyObject *wanted, bool made)
{
    if (is_number(wanted) && !PyBool_Check(wanted)) return remedies[GUARD_VALUE][made];
    if (PyUnicode_Check(wanted) || (PyBytes_Check(wanted) && !made))
        return "use fewer texts, or do what depends on the text outside of the function";
    return made ? "compile, in place of this, a function of the array code that does without it"
                : "pass fewer different values";
}

/* A number that is of another type at times. */
static const char *
type_remedy(bool made)
{
    return made
               ? "give it one type from its first value on; np.float64(0) where numbers of NumPy's "
                 "are added to it, or convert these: float(x)"
               : "pass numbers of one type";
}

/* A number in a class or a module is taken for a constant; in an instance or argument it is not. */
static const char number_of_place[] =
    "set it once, before the calls, or pass it as an argument or in an instance; numbers that are "
    "only computed with may differ there";

const char guard_counted[] =
    "change what breaks in the loop that gives it (PYCOMPILE_LOGS=graph_breaks); Python runs it";

/* Is it the item of a `for` loop that Python runs? */
static bool
is_loop_item(const GuardProgram *program, const GuardSource *source)
{
    if (source->kind != SOURCE_SLOT || program->code == NULL) return false;
    Decoded *decoded = decode(program->code);
    if (decoded == NULL) {
        PyErr_Clear();
        return false;
    }
    bool outside = false;
    int maker = slot_maker(program, decoded, source->index, &outside);
    bool item = maker >= 0 && decoded->instrs[maker].kind == I_FOR_ITER;
    decoded_free(decoded);
    return item;
}

const char *
guard_remedy(const GuardProgram *program, const GuardCheck *check, PyObject *now)
{
    ArrayFact fact;
    bool by_value = check->kind == GUARD_VALUE || check->kind == GUARD_INT_RANGE;
    if (by_value && is_loop_item(program, &program->sources[check->source])) return guard_counted;
    if (check->kind == GUARD_IS && check->object != NULL && now != NULL &&
        is_enum_member(check->object) && is_enum_member(now))
        return "pass fewer members, or do what depends on them outside of the function";
    bool by_place = check->kind == GUARD_IS || check->kind == GUARD_GLOBAL;
    if (by_place && is_number(check->object) && is_number(now) && !PyBool_Check(now))
        return number_of_place;
    bool made = !is_given(program, check->source);
    if (guard_number_type(check, now) != NULL ||
        (check->kind == GUARD_TYPE && is_number(now) && is_number_type(check->object)))
        return type_remedy(made);
    if (check->kind == GUARD_INT_RANGE && check->low == INT64_MIN && check->high == INT64_MAX)
        return made ? "keep it within 64 bits" : "pass ints that fit 64 bits";
    if (check->kind == GUARD_VALUE && check->object != NULL)
        return value_remedy(check->object, made);
    if (check->kind == GUARD_ARRAY)
        return guard_array_differs(program, check, now, &fact) ? fact.remedy
                                                               : uncompiled_remedy(now, made);
    return remedies[check->kind][made];
}
