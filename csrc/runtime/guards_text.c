/* The text of a guard: "x.shape[0] == 32, now 64 (file.py:12)".  The sentence is the row's in
   guards.def; for arrays it names the one fact that differs. */
#include "guards.h"

static const char *const templates[] = {
#define GUARD(name, sources, text, given, made) text,
#include "../capture/guards.def"
};

/* ---- arrays ---- */

static void
put_array(Text *out, const GuardCheck *check)
{
    text_put(out, dtype_long_name(check->array.dtype));
    text_put(out, "[");
    for (int i = 0; i < check->array.rank; i++) {
        text_put(out, i ? ", " : "");
        if (check->array.least_shape >> i & 1)
            text_printf(out, "%lld…", (long long)check->array.shape[i]);
        else if (check->array.known_shape >> i & 1)
            text_printf(out, "%lld", (long long)check->array.shape[i]);
        else
            text_put(out, "?");
    }
    text_put(out, "]");
    if (check->array.flags & ARRAY_C_CONTIGUOUS) text_put(out, " C-contiguous");
    if (check->array.flags & ARRAY_F_CONTIGUOUS) text_put(out, " F-contiguous");
    if (check->array.flags & ARRAY_WRITEABLE) text_put(out, " writeable");
    for (int i = 0, first = 1; i < check->array.rank; i++) {
        if (!(check->array.known_stride >> i & 1)) continue;
        text_printf(out, first ? " strides[%d] %lld" : ", [%d] %lld", i,
                    (long long)check->array.stride[i]);
        first = 0;
    }
}

static bool
put_difference(Text *out, const GuardProgram *program, const GuardCheck *check, PyObject *now)
{
    ArrayFact fact;
    if (!guard_array_differs(program, check, now, &fact)) return false;
    guard_put_source(out, program, check->source);
    const char *is = *fact.wanted ? " == " : "";
    text_printf(out, ".%s%s%s, now %s", fact.name, is, fact.wanted, fact.now);
    return true;
}

/* ---- sentences ---- */

/* "<= 3", ">= 5", "== 4", "in [1, 9]": an end of int64 means that there is no bound. */
static void
put_range(Text *out, int64_t low, int64_t high)
{
    if (low > high)
        text_put(out, "fits 64 bits without a sign");
    else if (low == INT64_MIN && high == INT64_MAX)
        text_put(out, "fits 64 bits");
    else if (low == INT64_MIN)
        text_printf(out, "<= %lld", (long long)high);
    else if (high == INT64_MAX)
        text_printf(out, ">= %lld", (long long)low);
    else if (low == high)
        text_printf(out, "== %lld", (long long)low);
    else
        text_printf(out, "in [%lld, %lld]", (long long)low, (long long)high);
}

static void
put_number_types(Text *out, const GuardProgram *program, const GuardCheck *check, PyObject *now)
{
    text_put(out, "type(");
    guard_put_source(out, program, check->source);
    text_printf(out, ") is %s, now %s", guard_number_type(check, now)->tp_name,
                Py_TYPE(now)->tp_name);
}

/* The term before the expression that ends with this one. */
static int
term_before(const GuardCheck *check, int at)
{
    for (int open = 1; open > 0; at--) open += check->sizes[at].kind >= SIZE_ADD ? 1 : -1;
    return at;
}

/* Writes the expression that ends with this term, and returns the term before it. */
static int
put_sizes(Text *out, const GuardProgram *program, const GuardCheck *check, int at)
{
    static const char *const signs[] = {[SIZE_ADD] = " + ",
                                        [SIZE_MUL] = " * ",
                                        [SIZE_FLOOR_DIV] = " // ",
                                        [SIZE_MOD] = " % ",
                                        [SIZE_SAME] = " == "};
    const SizeTerm *term = &check->sizes[at];
    if (term->kind == SIZE_CONST) {
        text_printf(out, "%lld", (long long)term->value);
        return at - 1;
    }
    if (term->kind == SIZE_DIM) {
        guard_put_source(out, program, check->group[term->value]);
        if (term->axis != OF_INT) text_printf(out, ".shape[%d]", term->axis);
        return at - 1;
    }
    bool call = term->kind == SIZE_LEAST || term->kind == SIZE_MOST;
    int right = at - 1, left = term_before(check, right);
    text_put(out, !call ? "(" : term->kind == SIZE_LEAST ? "min(" : "max(");
    int before = put_sizes(out, program, check, left);
    text_put(out, call ? ", " : signs[term->kind]);
    put_sizes(out, program, check, right);
    text_put(out, ")");
    return before;
}

/* Part of a sum: what it is of ends with the term `end`, or is a number (-1). */
typedef struct {
    int64_t factor;
    int end;
} Addend;

static int
collect_addends(const GuardCheck *check, int at, Addend *out, int n)
{
    const SizeTerm *term = &check->sizes[at];
    int left = term->kind >= SIZE_ADD ? term_before(check, at - 1) : -1;
    if (term->kind == SIZE_ADD)
        return collect_addends(check, at - 1, out, collect_addends(check, left, out, n));
    out[n] = (Addend){1, at};
    if (term->kind == SIZE_CONST) out[n] = (Addend){term->value, -1};
    if (term->kind == SIZE_MUL && check->sizes[left].kind == SIZE_CONST)
        out[n] = (Addend){check->sizes[left].value, at - 1};
    return n + 1;
}

/* Writes those whose factor has this sign; "0" where there are none. */
static void
put_side(Text *out, const GuardProgram *program, const GuardCheck *check, const Addend *addends,
         int n, int sign)
{
    bool first = true;
    for (int i = 0; i < n; i++) {
        int64_t factor = addends[i].factor * sign;
        if (factor <= 0) continue;
        if (!first) text_put(out, " + ");
        first = false;
        if (addends[i].end < 0 || factor != 1) text_printf(out, "%lld", (long long)factor);
        if (addends[i].end < 0) continue;
        if (factor != 1) text_put(out, " * ");
        put_sizes(out, program, check, addends[i].end);
    }
    if (first) text_put(out, "0");
}

/* "x.shape[0] == y.shape[0] + 1", "x.shape[1] <= 4096": the sum of the check, compared with 0. */
static void
put_comparison(Text *out, const GuardProgram *program, const GuardCheck *check)
{
    enum { MOST_TERMS = 64 };
    Addend addends[MOST_TERMS];
    bool turned = true; /* there is no length on the left */
    if (check->nsizes > MOST_TERMS) {
        put_sizes(out, program, check, check->nsizes - 1);
        text_put(out, check->low ? " == 0" : " >= 0");
        return;
    }
    int n = collect_addends(check, check->nsizes - 1, addends, 0);
    for (int i = 0; i < n; i++)
        if (addends[i].end >= 0 && addends[i].factor > 0) turned = false;
    put_side(out, program, check, addends, n, turned ? -1 : 1);
    text_put(out, check->low ? " == " : turned ? " <= " : " >= ");
    put_side(out, program, check, addends, n, turned ? 1 : -1);
}

static void
put_same_size(Text *out, const GuardProgram *program, const GuardCheck *check)
{
    guard_put_source(out, program, check->other);
    text_printf(out, ".shape[%lld] == ", (long long)check->high);
    guard_put_source(out, program, check->source);
    text_printf(out, ".shape[%lld]", (long long)check->low);
}

static void
put_wanted(Text *out, const GuardProgram *program, const GuardCheck *check)
{
    if (check->kind == GUARD_SAME_SIZE) {
        put_same_size(out, program, check);
        return;
    }
    if (guard_has_other(check->kind)) {
        guard_put_source(out, program, check->other);
        return;
    }
    switch (check->kind) {
    case GUARD_INT_RANGE: put_range(out, check->low, check->high); break;
    case GUARD_MOST:
    case GUARD_FILLING:
    case GUARD_LONGER:
    case GUARD_LENGTH: text_printf(out, "%lld", (long long)check->low); break;
    case GUARD_ARRAY: put_array(out, check); break;
    case GUARD_SIZES: put_comparison(out, program, check); break;
    case GUARD_SCALAR: text_printf(out, "a numpy.%s", dtype_long_name(check->array.dtype)); break;
    case GUARD_DISJOINT: text_put(out, "share no memory where one is written"); break;
    case GUARD_DIFFERENT:
        text_printf(out, "objects (%d) were different ones", check->ngroup);
        break;
    case GUARD_ATTR_ABSENT: guard_put_name(out, check->object); break;
    case GUARD_SPARE:
        text_put(out, check->low ? "an array that nothing else holds" : "held elsewhere too");
        break;
    case GUARD_VALUE:
        if (guard_of_environment(program, check->source)) {
            text_put(out, "what it was");
            break;
        }
        /* fall through */
    default: guard_put_object(out, check->object); break;
    }
}

/* The keys of a dict as a tuple, "('a', 'b')", or how many where they are no plain values. */
static void
put_keys(Text *out, PyObject *wanted, PyObject *dict)
{
    bool ours = PyDict_CheckExact(dict) || PyODict_CheckExact(dict);
    PyObject *list = ours ? PyDict_Keys(dict) : NULL; /* iterating an OrderedDict hashes its keys */
    PyObject *keys = list ? PyList_AsTuple(list) : NULL;
    if (keys != NULL && value_is_plain(keys))
        guard_put_other(out, wanted, keys);
    else
        text_printf(out, "%zd other%s", PyDict_GET_SIZE(dict),
                    PyDict_GET_SIZE(dict) == 1 ? "" : "s");
    PyErr_Clear();
    Py_XDECREF(list);
    Py_XDECREF(keys);
}

static void
put_now(Text *out, const GuardProgram *program, const GuardCheck *check, PyObject *now)
{
    Py_ssize_t length = -1;
    if (now != NULL && (check->kind == GUARD_LENGTH || check->kind == GUARD_LONGER))
        length = sequence_length(now);
    if (now != NULL && check->kind == GUARD_MOST && deque_check(now))
        length = (Py_ssize_t)deque_most(now);
    if (length >= 0)
        text_printf(out, "%zd", length);
    else if (now != NULL && check->kind == GUARD_NAMESPACE && PyFunction_Check(now))
        text_put(out, PyFunction_GET_GLOBALS(now) == check->object
                          ? "its builtins are another dict"
                          : "its globals are another dict");
    else if (now != NULL && check->kind == GUARD_TYPE)
        guard_put_other(out, check->object, (PyObject *)Py_TYPE(now));
    else if (now != NULL && check->kind == GUARD_KEYS && PyDict_Check(now))
        put_keys(out, check->object, now);
    else if (now != NULL && check->kind != GUARD_TYPE &&
             guard_of_environment(program, check->source))
        text_put(out, "another");
    else if (now != NULL &&
             (check->kind == GUARD_IS || check->kind == GUARD_GLOBAL || check->kind == GUARD_VALUE))
        guard_put_other(out, check->object, now);
    else
        guard_put_object(out, now);
}

static void
put_sentence(Text *out, const GuardProgram *program, const GuardCheck *check, bool failed,
             PyObject *now)
{
    const char *at = templates[check->kind];
    const char *end = failed ? NULL : strstr(at, ", now");
    for (; *at && at != end; at++) {
        if (at[0] == '$' && at[1] == 's') {
            guard_put_source(out, program, check->source);
        } else if (at[0] == '$' && at[1] == 'w') {
            put_wanted(out, program, check);
        } else if (at[0] == '$' && at[1] == 'g') {
            put_now(out, program, check, now);
        } else {
            text_printf(out, "%c", *at);
            continue;
        }
        at++;
    }
}

static void
put_place(Text *out, const GuardProgram *program, const GuardCheck *check)
{
    if (check->line <= 0 || check->file < 0 || check->file >= program->nfiles) return;
    const char *file = program->files[check->file], *slash = strrchr(file, '/');
    text_printf(out, " (%s:%d)", slash ? slash + 1 : file, check->line);
}

int
guards_explain(GuardProgram *program, int number, const Roots *roots, Text *out)
{
    if (program->dead) {
        text_put(out, "an object that was relied on is gone");
        return text_finish(out);
    }
    if (number >= program->nchecks) {
        guard_put_source(out, program, number - program->nchecks);
        text_put(out, " is there, now missing");
        return text_finish(out);
    }
    const GuardCheck *check = &program->checks[number];
    PyObject *wanted = Py_XNewRef(check->object); /* it may be held weakly */
    PyObject *now = roots != NULL ? guard_reach(program, number, roots) : NULL;
    if (guard_number_type(check, now) != NULL)
        put_number_types(out, program, check, now);
    else if (check->kind != GUARD_ARRAY || !put_difference(out, program, check, now))
        put_sentence(out, program, check, roots != NULL, now);
    put_place(out, program, check);
    Py_XDECREF(now);
    Py_XDECREF(wanted);
    return text_finish(out);
}

/* ---- the parts of a text ---- */

void
guard_say_array(const GuardProgram *program, const GuardCheck *check, const ArrayFact *fact,
                GuardSaid *out)
{
    guard_put_source(&out->name, program, check->source);
    text_printf(&out->name, ".%s%s", fact->name, *fact->wanted ? " ==" : "");
    if (*fact->wanted) text_put(&out->value, fact->wanted);
    text_put(&out->now, fact->now);
    put_place(&out->place, program, check);
}

/* The text up to the wanted value: "type(x) is". */
static void
put_subject(Text *out, const GuardProgram *program, const GuardCheck *check)
{
    const char *at = templates[check->kind], *end = strstr(at, " $w");
    for (; at != end; at++) {
        if (at[0] == '$' && at[1] == 's') {
            guard_put_source(out, program, check->source);
            at++;
        } else {
            text_printf(out, "%c", *at);
        }
    }
}

void
guard_say(const GuardProgram *program, const GuardCheck *check, PyObject *now, GuardSaid *out)
{
    const char *text = templates[check->kind];
    PyTypeObject *type = guard_number_type(check, now);
    out->remedy = guard_remedy(program, check, now);
    put_place(&out->place, program, check);
    if (type != NULL) {
        text_put(&out->name, "type(");
        guard_put_source(&out->name, program, check->source);
        text_put(&out->name, ") is");
        text_put(&out->value, type->tp_name);
        text_put(&out->now, Py_TYPE(now)->tp_name);
    } else if (strstr(text, " $w") != NULL && strstr(text, ", now $g") != NULL) {
        put_subject(&out->name, program, check);
        put_wanted(&out->value, program, check);
        put_now(&out->now, program, check, now);
    } else {
        put_sentence(&out->name, program, check, true, now);
    }
}

void
guards_say(GuardProgram *program, int number, const Roots *roots, GuardSaid *out)
{
    ArrayFact fact;
    if (program->dead || number >= program->nchecks) return;
    const GuardCheck *check = &program->checks[number];
    PyObject *wanted = Py_XNewRef(check->object); /* it may be held weakly */
    PyObject *now = guard_reach(program, number, roots);
    if (check->kind == GUARD_ARRAY && guard_array_differs(program, check, now, &fact)) {
        out->remedy = fact.remedy;
        guard_say_array(program, check, &fact, out);
    } else {
        guard_say(program, check, now, out);
    }
    Py_XDECREF(now);
    Py_XDECREF(wanted);
}

void
said_free(GuardSaid *said)
{
    text_free(&said->name);
    text_free(&said->value);
    text_free(&said->now);
    text_free(&said->place);
}
