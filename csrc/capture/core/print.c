/* Capture as text: graph, guards, breaks, builds and exit, for logs and golden tests. */
#include "core.h"

static const char *const guard_names[] = {
#define GUARD(name, ...) #name,
#include "../guards.def"
};

static const char *const build_names[] = {
    [BUILD_SOURCE] = "source",
    [BUILD_CONST] = "const",
    [BUILD_BOX] = "box",
    [BUILD_NULL] = "null",
    [BUILD_TUPLE] = "tuple",
    [BUILD_LIST] = "list",
    [BUILD_SET] = "set",
    [BUILD_DICT] = "dict",
    [BUILD_SLICE] = "slice",
    [BUILD_CELL] = "cell",
    [BUILD_FUNCTION] = "function",
    [BUILD_METHOD] = "method",
    [BUILD_ITER] = "iter",
    [BUILD_RANGE] = "range",
    [BUILD_INSTANCE] = "instance",
    [BUILD_CALL] = "call",
    [BUILD_CHOOSE] = "choose",
    [EFFECT_STORE_ATTR] = "store_attr",
    [EFFECT_DELETE_ATTR] = "delete_attr",
    [EFFECT_STORE_ITEM] = "store_item",
    [EFFECT_DELETE_ITEM] = "delete_item",
    [EFFECT_STORE_GLOBAL] = "store_global",
    [EFFECT_DELETE_GLOBAL] = "delete_global",
    [EFFECT_STORE_CELL] = "store_cell",
    [EFFECT_POP_EXCEPT] = "pop_except",
    [EFFECT_METHOD] = "method_call",
    [EFFECT_CALL] = "call",
    [EFFECT_WRITE] = "write",
    [EFFECT_STORE_PART] = "store_part",
};

static void
print_object(PyObject *object, Text *out)
{
    PyObject *repr = NULL;
    if (PyFunction_Check(object) || PyType_Check(object) || PyCFunction_Check(object))
        repr = PyObject_GetAttrString(object, "__qualname__");
    else if (PyModule_Check(object))
        repr = PyObject_GetAttrString(object, "__name__");
    else if (PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object) ||
             PyTuple_Check(object) || object == Py_None || PyComplex_Check(object))
        repr = PyObject_Repr(object);
    else if (PyCode_Check(object))
        repr = Py_NewRef(((PyCodeObject *)object)->co_qualname);
    const char *text = repr && PyUnicode_Check(repr) ? PyUnicode_AsUTF8(repr) : NULL;
    PyErr_Clear();
    text_put(out, text ? text : Py_TYPE(object)->tp_name);
    Py_XDECREF(repr);
}

static void
print_source(const Capture *c, SourceId id, Text *out)
{
    if (id == NO_SOURCE) return;
    const Source *s = &c->sources.at[id];
    switch (s->kind) {
    case SOURCE_SLOT: text_printf(out, "slot%d", s->index); break;
    case SOURCE_CELL:
        print_source(c, s->base, out);
        text_put(out, ".cell");
        break;
    case SOURCE_GLOBAL: text_printf(out, "global %s", text_of_str(s->key)); break;
    case SOURCE_ATTR:
        print_source(c, s->base, out);
        text_printf(out, s->index == ATTR_OWN ? ".own %s" : ".%s", text_of_str(s->key));
        break;
    case SOURCE_ITEM:
        print_source(c, s->base, out);
        text_put(out, "[");
        print_object(s->key, out);
        text_put(out, "]");
        break;
    case SOURCE_CONST:
        text_put(out, "const ");
        print_object(s->object, out);
        break;
    case SOURCE_HANDLED: text_put(out, "handled"); break;
    case SOURCE_SIZE:
        print_source(c, s->base, out);
        text_printf(out, ".shape[%d]", s->index);
        break;
    case SOURCE_REST:
        print_source(c, s->base, out);
        text_printf(out, ".rest[%d]", s->index);
        break;
    case SOURCE_WALKED:
        print_source(c, s->base, out);
        text_put(out, ".walked");
        break;
    case SOURCE_SERIES:
        print_source(c, s->base, out);
        text_put(out, ".numbers");
        break;
    case SOURCE_TYPE:
        text_put(out, "type ");
        print_source(c, s->base, out);
        break;
    }
}

static void
print_guard(const Capture *c, const Guard *guard, Text *out)
{
    text_printf(out, "%s ", guard_names[guard->kind]);
    print_source(c, guard->source, out);
    if (guard_has_other(guard->kind) && guard->other != NO_SOURCE) {
        text_put(out, ", ");
        print_source(c, guard->other, out);
    }
    if (guard->object != NULL) {
        text_put(out, " = ");
        print_object(guard->object, out);
    }
    if (guard->kind == GUARD_LENGTH || guard->kind == GUARD_LONGER || guard->kind == GUARD_MOST ||
        guard->kind == GUARD_FILLING)
        text_printf(out, " = %lld", (long long)guard->low);
    if (guard->kind == GUARD_INT_RANGE && (guard->low != INT64_MIN || guard->high != INT64_MAX))
        text_printf(out, " in [%lld, %lld]", (long long)guard->low, (long long)guard->high);
    if (guard->kind == GUARD_ARRAY) {
        text_printf(out, " %s[", dtype_name(guard->array.dtype));
        for (int i = 0; i < guard->array.rank; i++) {
            if (guard->array.known_shape >> i & 1)
                text_printf(out, "%s%lld%s", i ? "," : "", (long long)guard->array.shape[i],
                            guard->array.least_shape >> i & 1 ? "…" : "");
            else
                text_put(out, i ? ",?" : "?");
        }
        text_put(out, "]");
        if (guard->array.flags & ARRAY_C_CONTIGUOUS) text_put(out, " C");
        if (guard->array.flags & ARRAY_F_CONTIGUOUS) text_put(out, " F");
        if (guard->array.flags & ARRAY_WRITEABLE) text_put(out, " W");
        for (int i = 0; guard->array.known_stride && i < guard->array.rank; i++)
            text_printf(out, " %lld", (long long)guard->array.stride[i]);
    }
    if (guard->kind == GUARD_SCALAR) text_printf(out, " %s", dtype_name(guard->array.dtype));
    text_put(out, "\n");
}

static void
print_build(const Capture *c, int number, Text *out)
{
    const Build *build = &c->builds.at[number];
    text_printf(out, "b%d = %s", number, build_names[build->kind]);
    if (build->node != NO_NODE && (build->kind == BUILD_BOX || build->kind == EFFECT_WRITE))
        text_printf(out, " %%%d", build->node);
    if (build->source != NO_SOURCE) {
        text_put(out, " ");
        print_source(c, build->source, out);
    }
    if (build->object != NULL) {
        text_put(out, " ");
        print_object(build->object, out);
    }
    if (build->when > 0) text_printf(out, " if b%d", build->when - 1);
    for (int i = 0; i < build->nargs; i++) {
        if (build->args[i] == NO_BUILD)
            text_put(out, " -");
        else
            text_printf(out, " b%d", build->args[i]);
    }
    if (build->index) text_printf(out, " @%d", build->index);
    text_put(out, "\n");
}

static void
print_exit(const Exit *exit, Text *out)
{
    static const char *const names[] = {"return", "break", "branch", "ways"};
    text_printf(out, "exit %s", names[exit->kind]);
    if (exit->kind == EXIT_BRANCH)
        text_printf(out, " if b%d then @%d else @%d", exit->condition, exit->number, exit->other);
    else if (exit->kind != EXIT_RETURN && exit->kind != EXIT_WAYS)
        text_printf(out, " @%d", exit->number);
    if (exit->kind == EXIT_WAYS) text_printf(out, " b%d:", exit->condition);
    for (int i = 0; i < exit->nways; i++)
        text_printf(out, " @%d/%d", exit->way[i].number, exit->way[i].depth);
    for (int i = 0; i < exit->nslots; i++) {
        if (exit->kind != EXIT_RETURN) text_printf(out, " slot%d :=", exit->slot_index[i]);
        if (exit->slot_value[i] == NO_BUILD)
            text_put(out, " unbound");
        else
            text_printf(out, " b%d", exit->slot_value[i]);
    }
    text_put(out, "\n");
}

int
capture_print(const Capture *c, Text *out)
{
    text_put(out, "--- graph\n");
    if (graph_print(c->graph, out) < 0) return -1;
    text_put(out, "--- guards\n");
    for (int i = 0; i < c->guards.len; i++) print_guard(c, &c->guards.at[i], out);
    if (c->breaks.len != 0) text_put(out, "--- breaks\n");
    for (int i = 0; i < c->breaks.len; i++) {
        const Break *item = &c->breaks.at[i];
        text_printf(out, "%s%s%s\n", break_code(item->code), *item->detail ? " " : "",
                    item->detail);
    }
    text_put(out, "--- builds\n");
    for (int i = 0; i < c->builds.len; i++) print_build(c, i, out);
    print_exit(&c->exit, out);
    return text_finish(out);
}
