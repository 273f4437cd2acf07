/* Binding the arguments of a call to the signature of a rule. */
#include "numpy.h"

/* Reads the signature's next name, without its marks, or `|` or `/`; false at its end.  *mark is
   '!' where the argument must be absent or its default, '*' where it takes the rest, else 0. */
static bool
next_name(const char **at, const char **name, size_t *length, char *mark)
{
    const char *p = *at;
    while (*p == ' ') p++;
    if (*p == '\0') return false;
    *mark = 0;
    if (*p == '*') {
        *mark = '*';
        p++;
    }
    *name = p;
    *length = strcspn(p, " !");
    p += *length;
    if (*p == '!') {
        *mark = '!';
        p += strcspn(p, " ");
    }
    *at = p;
    return true;
}

static bool
is_divider(const char *name, size_t length)
{
    return length == 1 && (name[0] == '|' || name[0] == '/');
}

static int
rule_index(const Rule *rule, const char *wanted)
{
    const char *at = rule->signature, *name;
    size_t length;
    char mark;
    for (int i = 0; next_name(&at, &name, &length, &mark);) {
        if (is_divider(name, length)) continue;
        if (strlen(wanted) == length && strncmp(name, wanted, length) == 0) return i;
        i++;
    }
    return -1;
}

Value *
rule_arg(const Rule *rule, Value *const *args, const char *name)
{
    int index = rule_index(rule, name);
    return index < 0 ? NULL : args[index];
}

static bool
is_named(const char *name, size_t length, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strlen(*names) == length && strncmp(name, *names, length) == 0) return true;
    return false;
}

bool
value_is_default(const Value *value, const char *name, size_t length, const char *text)
{
    static const char *const by_none[] = {"axis",   "copy", "device", "dtype", "kind",
                                          "like",   "mean", "order",  "out",   "shape",
                                          "stable", "min",  "max",    NULL};
    static const char *const by_true[] = {"where", "subok", NULL};
    if (value == NULL) return true;
    if (value_is_none(value)) return is_named(name, length, by_none);
    if (value_absent(value)) return true;
    if (value->kind != V_CONST) return false;
    if (value->object == Py_True) return is_named(name, length, by_true);
    if (!PyUnicode_Check(value->object)) return false;
    const char *given = PyUnicode_AsUTF8(value->object);
    if (given == NULL) return PyErr_Clear(), false;
    size_t end = strcspn(text, " ");
    return end > 0 && strlen(given) == end && strncmp(given, text, end) == 0;
}

static Answer
check_bound(Interp *in, const Rule *rule, Value **bound)
{
    const char *at = rule->signature, *name;
    size_t length;
    char mark;
    for (int i = 0; next_name(&at, &name, &length, &mark);) {
        if (is_divider(name, length)) continue;
        if (i < rule->required && bound[i] == NULL)
            return interp_break(in, BREAK_SHAPE, "%s without its arguments", rule->name);
        if (mark == '!' && !value_is_default(bound[i], name, length, name + length + 1))
            return interp_break(in, BREAK_NUMPY, "%s with %.*s=", rule->name, (int)length, name);
        i++;
    }
    return ANSWER_YES;
}

Answer
rule_bind(Interp *in, const Rule *rule, int nargs, Value *const *args, PyObject *kwnames,
          Value **bound)
{
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames), npos = nargs, taken = 0;
    const char *at = rule->signature, *name;
    size_t length;
    char mark;
    memset(bound, 0, MAX_ARGS * sizeof *bound);
    bool positional = true;
    int named = 0; /* index of the first argument that may come by keyword */
    for (int i = 0; next_name(&at, &name, &length, &mark);) {
        if (is_divider(name, length)) {
            if (name[0] == '/')
                named = i;
            else
                positional = false;
            continue;
        }
        if (mark == '*') {
            bound[i] = value_sequence(in, V_TUPLE, npos - taken, args + taken);
            if (bound[i] == NULL) return ANSWER_ERROR;
            taken = npos;
            positional = false;
        } else if (positional && taken < npos) {
            bound[i] = args[taken++];
        }
        i++;
    }
    if (taken < npos) return interp_break(in, BREAK_NUMPY, "%s called this way", rule->name);
    for (int k = 0; k < nkw; k++) {
        const char *key = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, k));
        if (key == NULL) return ANSWER_ERROR;
        int index = rule_index(rule, key);
        if (index < named || bound[index] != NULL)
            return interp_break(in, BREAK_NUMPY, "%s with %s=", rule->name, key);
        bound[index] = args[npos + k];
    }
    return check_bound(in, rule, bound);
}

unsigned
rule_changes(const Rule *rule)
{
    int index = rule_index(rule, "out");
    bool out = index >= 0 && index < 32 && strchr(rule->signature, '*') == NULL;
    return (rule->traits & FN_CHANGES ? 1 : 0) | (out ? 1u << index : 0);
}
