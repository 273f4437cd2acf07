/* What a call of an exported function checks: the guards of its arguments.  Guards of all else hold
   since they were checked at export, and what they are of is part of the library. */
#include "write.h"

#include "../capture/capture.h"

static const char *const guard_names[] = {
#define GUARD(name, ...) [GUARD_##name] = #name,
#include "../capture/guards.def"
};

/* The guard of an argument's array, or NULL. */
static const Guard *
array_guard(const Export *e, int argument)
{
    for (int i = 0; i < e->capture->guards.len; i++) {
        const Guard *guard = &e->capture->guards.at[i];
        if (guard->kind == GUARD_ARRAY && export_argument(e, guard->source) == argument)
            return guard;
    }
    return NULL;
}

static bool
is_written(const Export *e, int argument)
{
    for (int i = 0; i < e->capture->builds.len; i++) {
        const Build *build = &e->capture->builds.at[i];
        if (build->kind == EFFECT_WRITE && export_argument(e, build->source) == argument)
            return true;
    }
    return false;
}

static void
put_lengths(Export *e, int rank, const int64_t *lengths)
{
    text_put(&e->out, "{");
    for (int i = 0; i < rank; i++) text_printf(&e->out, "%lld, ", (long long)lengths[i]);
    text_put(&e->out, rank > 0 ? "}, " : "0}, ");
}

/* Is it written, and the least that its lengths are; of one that is known -1. */
static int
note_argument(Export *e, bool written, const Type *type, const Guard *guard)
{
    PyObject *least = PyTuple_New(type->rank), *row;
    for (int i = 0; least != NULL && i < type->rank; i++) {
        bool known = guard != NULL && guard->array.known_shape >> i & 1;
        bool open = known && guard->array.least_shape >> i & 1;
        PyObject *length = PyLong_FromLongLong(open ? guard->array.shape[i] : known ? -1 : 0);
        if (length == NULL)
            Py_CLEAR(least);
        else
            PyTuple_SET_ITEM(least, i, length);
    }
    row = least == NULL ? NULL : Py_BuildValue("(ON)", written ? Py_True : Py_False, least);
    int status = row == NULL ? -1 : PyList_Append(e->arguments, row);
    Py_XDECREF(row);
    return status;
}

static int
put_argument(Export *e, int argument, PyObject *name, PyObject *value)
{
    ArrayHeader header;
    const char *why;
    Type type = {.form = FORM_PYTHON};
    const Guard *guard = array_guard(e, argument);
    bool written = is_written(e, argument);
    DType dtype;
    char bytes[16];
    if (array_read(value, &header, &why) == ANSWER_YES) {
        type.dtype = (uint8_t)header.dtype;
        type.rank = (uint8_t)header.rank;
    } else if (PyBool_Check(value))
        type.dtype = DT_BOOL;
    else if (PyLong_Check(value))
        type.dtype = DT_I64;
    else if (PyFloat_Check(value))
        type.dtype = DT_F64;
    else if (PyComplex_Check(value))
        type.dtype = DT_C128;
    else if (array_scalar_read(value, &dtype, bytes) == ANSWER_YES)
        type.dtype = (uint8_t)dtype;
    else
        return export_refuse(e, NULL, 0, "argument '%s' is neither an array nor a number",
                             text_of_str(name));
    if (note_argument(e, written, &type, guard) < 0) return -1;
    text_put(&e->out, "    {");
    put_text(e, text_of_str(name));
    put_dtype(e, &type);
    text_printf(&e->out, "%d, ", type.rank);
    if (guard == NULL) {
        text_printf(&e->out, "0, 0, 0, 0, %d, {0}, {0}},\n", written);
        return 0;
    }
    unsigned flags = guard->array.flags;
    const char *order = flags & ARRAY_C_CONTIGUOUS   ? "ORDER_C"
                        : flags & ARRAY_F_CONTIGUOUS ? "ORDER_FORTRAN"
                                                     : "ORDER_ANY";
    text_printf(&e->out, "%d, %d, %d, %s, %d, ",
                guard->array.known_shape & ~guard->array.least_shape, guard->array.least_shape,
                flags & ARRAY_C_CONTIGUOUS ? 0 : guard->array.known_stride, order, written);
    put_lengths(e, type.rank, guard->array.shape);
    put_lengths(e, type.rank, guard->array.stride);
    text_put(&e->out, "},\n");
    return 0;
}

/* ---- what else was relied on ---- */

static const char *
guard_file(const Export *e, const Guard *guard)
{
    return guard->line > 0 ? e->graph->files.at[guard->file] : NULL;
}

static int
refuse_guard(Export *e, const Guard *guard, const char *why)
{
    return export_refuse(e, guard_file(e, guard), guard->line, "%s", why);
}

static void
put_check(Export *e, const char *kind, int argument, int axis, int other, int other_axis)
{
    text_printf(&e->out, "    {%s, %d, %d, %d, %d, ", kind, argument, axis, other, other_axis);
}

static void
put_check_end(Export *e, int64_t low, int64_t high)
{
    text_printf(&e->out, "%s%lld, %lld},\n", low == INT64_MIN ? "-1 + " : "",
                (long long)(low == INT64_MIN ? low + 1 : low), (long long)high);
}

static int
put_sizes_check(Export *e, const Guard *guard)
{
    put_check(e, "CHECK_SIZES", 0, 0, 0, 0);
    text_printf(&e->out, "%d, (const ExportedSize[]){", guard->nsizes);
    for (int i = 0; i < guard->nsizes; i++) {
        const SizeTerm *term = &guard->sizes[i];
        int argument = -1;
        if (term->kind == SIZE_DIM) {
            argument = export_argument(e, guard->group[term->value]);
            if (argument < 0) return refuse_guard(e, guard, "a length of what is no argument");
        }
        text_printf(&e->out, "{%d, %d, %d, %lld}, ", (int)term->kind, argument, term->axis,
                    (long long)term->value);
    }
    text_put(&e->out, "}, ");
    put_check_end(e, guard->low, 0);
    return 1;
}

static const char decides[] =
    "an argument's value decides what is computed: give the value itself, instead of its type";

/* An int in a range, which is a length or an argument. */
static int
put_range_check(Export *e, const Guard *guard, int64_t low, int64_t high)
{
    const Source *source = &e->capture->sources.at[guard->source];
    if (source->kind == SOURCE_SIZE) {
        int argument = export_argument(e, source->base);
        if (argument < 0 || (low <= 0 && high == INT64_MAX)) return 0;
        put_check(e, "CHECK_LENGTH", argument, source->index, 0, 0);
        text_put(&e->out, "0, 0, ");
        put_check_end(e, low, high);
        return 1;
    }
    bool length = guard->array.least_shape != 0; /* the number is one, which has a least value */
    if (!length && (low > 1 || high < INT8_MAX)) /* else a dtype's */
        return refuse_guard(e, guard, decides);
    put_check(e, "CHECK_NUMBER", export_argument(e, guard->source), 0, 0, 0);
    text_put(&e->out, "0, 0, ");
    put_check_end(e, low, high);
    return 1;
}

/* A length is compared; a number that decides must be given. */
static int
put_value_check(Export *e, const Guard *guard)
{
    if (e->capture->sources.at[guard->source].kind == SOURCE_SIZE &&
        PyLong_CheckExact(guard->object)) {
        long long value = PyLong_AsLongLong(guard->object);
        return put_range_check(e, guard, value, value);
    }
    return refuse_guard(e, guard, decides);
}

/* Two arrays, in one of the ways in which they may lie to each other. */
static int
put_apart_check(Export *e, const Guard *guard)
{
    int one = export_argument(e, guard->source), other = export_argument(e, guard->other);
    if (one < 0 || other < 0) return 0; /* they are told apart by the overlap of what is written */
    put_check(e, "CHECK_APART", one, 0, other, 0);
    text_put(&e->out, "0, 0, ");
    put_check_end(e, 0, 0);
    return 1;
}

/* 1: the table has a check more; 0: none is needed; -1: the error is set. */
static int
put_guard(Export *e, const Guard *guard)
{
    bool two = guard_has_other(guard->kind);
    bool passed = guard->kind == GUARD_SIZES || guard->kind == GUARD_DISJOINT ||
                  guard->kind == GUARD_DIFFERENT || export_is_passed(e, guard->source) ||
                  (two && export_is_passed(e, guard->other));
    if (!passed) return 0;
    switch (guard->kind) {
    case GUARD_ARRAY:
        return export_argument(e, guard->source) >= 0
                   ? 0
                   : refuse_guard(e, guard, "an array within an argument: pass it by itself");
    case GUARD_TYPE:
    case GUARD_SCALAR:
    case GUARD_IS: /* of its class */
    case GUARD_QUIET:
    case GUARD_BARE:
    case GUARD_ATTR_ABSENT:
    case GUARD_DIFFERENT:
    case GUARD_NO_REPEATS:
    case GUARD_DISJOINT: return 0; /* the library compares dtypes, and what is written */
    case GUARD_SAME_SIZE: {
        int one = export_argument(e, guard->source), other = export_argument(e, guard->other);
        if (one < 0 || other < 0) return refuse_guard(e, guard, "a length of what is no argument");
        put_check(e, "CHECK_SAME_LENGTH", one, (int)guard->low, other, (int)guard->high);
        text_put(&e->out, "0, 0, ");
        put_check_end(e, 0, 0);
        return 1;
    }
    case GUARD_SIZES: return put_sizes_check(e, guard);
    case GUARD_INT_RANGE: return put_range_check(e, guard, guard->low, guard->high);
    case GUARD_VALUE: return put_value_check(e, guard);
    case GUARD_NOT_SAME:
    case GUARD_NO_OVERLAP:
    case GUARD_RANGES_APART: return put_apart_check(e, guard);
    default:
        return export_refuse(e, guard_file(e, guard), guard->line,
                             "it depends on more of an argument than a library can check (%s)",
                             guard_names[guard->kind]);
    }
}

int
export_checks(Export *e, int *narguments, int *nchecks)
{
    PyObject *names = e->wanted->names;
    *narguments = *nchecks = 0;
    text_printf(&e->out, "static const ExportedArgument %s_arguments[] = {\n", e->wanted->name);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (name == Py_None) continue;
        PyObject *value = PyTuple_GET_ITEM(e->wanted->values, i);
        if (put_argument(e, (*narguments)++, name, value) < 0) return -1;
    }
    text_printf(&e->out, "    {0},\n};\nstatic const ExportedCheck %s_checks[] = {\n",
                e->wanted->name);
    for (int i = 0; i < e->capture->guards.len; i++) {
        int put = put_guard(e, &e->capture->guards.at[i]);
        if (put < 0) return -1;
        *nchecks += put;
    }
    text_put(&e->out, "    {0},\n};\n");
    return 0;
}
