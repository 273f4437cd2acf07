/* The differing fact of a failed guard, and what a program that fails it too often may change: the
   remedy of the guard's row in guards.def; for arrays, that of the fact that varies. */
#include "guards.h"

static const char *const remedies[] = {
#define GUARD(name, text, remedy) remedy,
#include "../capture/guards.def"
#undef GUARD
};

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

static const char fewer_shapes[] = "pad arrays to a few shapes; of a selection x[mask] keep the "
                                   "shape: np.where(mask, x, 0)";
static const char same_shape[] = "keep its shape: np.where(mask, x, 0) in place of a selection "
                                 "x[mask], masks in place of lists of the elements that count";
static const char one_layout[] = "lay arrays out alike: np.ascontiguousarray(x)";

/* Does the array come from outside, as an argument or in an object?  Only then can the caller
   change its shape. */
static bool
is_from_outside(const GuardProgram *program, const GuardSource *source)
{
    if (source->kind != SOURCE_SLOT || program->code == NULL) return true;
    PyCodeObject *code = program->code;
    int flags = code->co_flags;
    int nargs = code->co_argcount + code->co_kwonlyargcount + ((flags & CO_VARARGS) != 0) +
                ((flags & CO_VARKEYWORDS) != 0);
    if (source->index >= nargs) return false;
    Decoded *decoded = decode(code);
    if (decoded == NULL) PyErr_Clear();
    bool stored = false;
    for (int i = 0; decoded != NULL && i < program->entry && i < decoded->count; i++)
        stored |=
            decoded->instrs[i].kind == I_STORE_LOCAL && decoded->instrs[i].arg == source->index;
    decoded_free(decoded);
    return !stored;
}

static void
set_fact(ArrayFact *fact, const char *name, int axis, int64_t wanted, int64_t now)
{
    snprintf(fact->name, sizeof(fact->name), axis < 0 ? "%s" : "%s[%d]", name, axis);
    snprintf(fact->wanted, sizeof(fact->wanted), "%lld", (long long)wanted);
    snprintf(fact->now, sizeof(fact->now), "%lld", (long long)now);
}

bool
guard_array_differs(const GuardProgram *program, const GuardCheck *check, PyObject *now,
                    ArrayFact *fact)
{
    ArrayHeader header;
    const char *why;
    if (now == NULL || array_read(now, &header, &why) != ANSWER_YES) return false;
    unsigned missing = check->array.flags & ~header.flags;
    if (header.dtype != check->array.dtype) {
        fact->remedy = "cast to one dtype: x.astype(np.float64)";
        snprintf(fact->name, sizeof(fact->name), "dtype");
        snprintf(fact->wanted, sizeof(fact->wanted), "%s", dtype_long_name(check->array.dtype));
        snprintf(fact->now, sizeof(fact->now), "%s", dtype_long_name(header.dtype));
        return true;
    }
    if (header.rank != check->array.rank) {
        fact->remedy = "reshape arrays to one number of dimensions";
        set_fact(fact, "ndim", -1, check->array.rank, header.rank);
        return true;
    }
    for (int i = 0; i < header.rank; i++) {
        if (!(check->array.known_shape >> i & 1) || header.shape[i] == check->array.shape[i])
            continue;
        set_fact(fact, "shape", i, check->array.shape[i], header.shape[i]);
        fact->remedy =
            is_from_outside(program, &program->sources[check->source]) ? fewer_shapes : same_shape;
        return true;
    }
    fact->remedy = one_layout;
    if (missing) {
        unsigned first = missing & -missing;
        if (first == ARRAY_WRITEABLE) fact->remedy = "pass arrays that can be written, or a copy";
        if (first == ARRAY_ALIGNED) fact->remedy = "pass aligned arrays: x.copy()";
        snprintf(fact->name, sizeof(fact->name), "flags.%s", flag_name(first));
        *fact->wanted = '\0';
        snprintf(fact->now, sizeof(fact->now), "not");
        return true;
    }
    for (int i = 0; i < header.rank; i++) {
        if (!(check->array.known_stride >> i & 1) || header.stride[i] == check->array.stride[i])
            continue;
        set_fact(fact, "strides", i, check->array.stride[i], header.stride[i]);
        return true;
    }
    return false;
}

/* ---- numbers ---- */

static bool
is_number(PyObject *object)
{
    return object != NULL && (PyLong_Check(object) || PyFloat_Check(object) ||
                              PyComplex_Check(object) || guard_array_scalar(object));
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

const char *
guards_remedy(const GuardProgram *program, int number, const Roots *roots)
{
    if (program->dead || number >= program->nchecks) return "";
    const GuardCheck *check = &program->checks[number];
    PyObject *now = guard_reach(program, number, roots);
    ArrayFact fact;
    const char *remedy = remedies[check->kind];
    if (guard_number_type(check, now) != NULL)
        remedy = "pass numbers of one type";
    else if (check->kind == GUARD_INT_RANGE && check->low == INT64_MIN && check->high == INT64_MAX)
        remedy = "pass ints that fit 64 bits";
    else if (check->kind == GUARD_ARRAY && guard_array_differs(program, check, now, &fact))
        remedy = fact.remedy;
    Py_XDECREF(now);
    return remedy;
}
