/* Values as Builds: how the plan makes each object that leaves the graph.  By kind (`build` of
   value_kinds.def): what is inside is built first. */
#include "control.h"

BuildId
build_add(Interp *in, const Build *build)
{
    Build copy = *build;
    copy.number = in->bottom->number;
    if (VEC_PUSH(in->arena, &in->out->builds, copy) < 0) return NO_BUILD;
    return in->out->builds.len - 1;
}

BuildId
cannot_build(Interp *in, Value *value)
{
    interp_break(in, BREAK_STORE, "%s cannot be made when the graph ends",
                 value_describe(in, value));
    return NO_BUILD;
}

BuildId *
build_all(Interp *in, int n, Value *const *values)
{
    BuildId *args = arena_alloc(in->arena, (size_t)n * sizeof(BuildId));
    for (int i = 0; args != NULL && i < n; i++) {
        args[i] = NO_BUILD;
        if (values[i] == NULL) continue;
        if ((args[i] = build_value(in, values[i])) == NO_BUILD) return NULL;
    }
    return args;
}

static BuildId
build_const(Interp *in, PyObject *object)
{
    Build build = {.kind = BUILD_CONST, .object = object, .node = NO_NODE, .source = NO_SOURCE};
    return build_add(in, &build);
}

BuildId
build_of_kind(Interp *in, BuildKind kind, PyObject *object, int n, Value *const *values)
{
    BuildId *args = build_all(in, n, values);
    if (args == NULL) return NO_BUILD;
    Build build = {.kind = kind,
                   .nargs = n,
                   .args = args,
                   .object = object,
                   .node = NO_NODE,
                   .source = NO_SOURCE};
    return build_add(in, &build);
}

static Value *
builtin(Interp *in, const char *name)
{
    PyObject *object = python_builtin(name);
    return object != NULL ? value_const(in, object) : NULL;
}

static BuildId
build_call(Interp *in, const char *name, int n, Value *const *args)
{
    Value *function = builtin(in, name);
    return function ? build_of_kind(in, BUILD_CALL, function->object, n, args) : NO_BUILD;
}

/* Its items change at commit, after the iterators over it were made and advanced. */
static bool
changes_at_commit(const Value *walked)
{
    if (walked->kind == V_VIEW) walked = walked->dict;
    return walked->source != NO_SOURCE && walked->mutated;
}

/* An object made here of a derived class: build_boxed. */
static bool
is_filled_later(const Value *walked)
{
    if (walked->kind == V_VIEW) walked = walked->dict;
    return walked->box != NULL && walked->source == NO_SOURCE;
}

/* An iterator over the container inside a derived class's object, made by the builtin class's own
   method. */
static BuildId
build_native_call(Interp *in, Value *core, const char *name)
{
    PyTypeObject *type = value_type(in, core);
    PyObject *method;
    if (type == NULL ||
        type_stored(in, type, name ? "__reversed__" : "__iter__", &method) != ANSWER_YES)
        return NO_BUILD;
    return build_of_kind(in, BUILD_CALL, method, 1, &core);
}

static BuildId
build_iterator(Interp *in, Value *iterator)
{
    const char *name = iterator->name;
    if (value_is_generator(iterator)) {
        generator_leaves(in, iterator);
        return NO_BUILD;
    }
    if (name == NULL || strcmp(name, "reversed") == 0) {
        Value *walked = iterator->walked;
        bool keyed = walked->kind == V_DICT || walked->kind == V_VIEW || walked->kind == V_SET;
        if (changes_at_commit(walked) || is_filled_later(walked) ||
            (keyed && !iterator->mutated && /* it raises at the next item */
             container_length(in, iterator->walked) != iterator->length))
            return cannot_build(in, iterator);
        BuildId of = walked->box != NULL ? build_native_call(in, walked, name) : NO_BUILD;
        if (walked->box == NULL)
            of = name ? build_call(in, name, 1, &walked) : build_value(in, walked);
        BuildId *args = arena_alloc(in->arena, 2 * sizeof(BuildId));
        if (of == NO_BUILD || args == NULL) return NO_BUILD;
        args[0] = of;
        if (iterator->at != NULL && (args[1] = build_value(in, iterator->at)) == NO_BUILD)
            return NO_BUILD;
        Build build = {.kind = BUILD_ITER,
                       .nargs = 1 + (iterator->at != NULL),
                       .args = args,
                       .index = (int32_t)iterator->position + iterator->mutated,
                       .node = NO_NODE,
                       .source = NO_SOURCE};
        return build_add(in, &build);
    }
    if (strcmp(name, "zip") == 0) return build_call(in, name, iterator->nitems, iterator->items);
    if (strcmp(name, "enumerate") == 0) {
        Value *position = iterator->at;
        if (position == NULL)
            position = value_const_new(in, PyLong_FromLongLong(iterator->position));
        Value *args[2] = {iterator->walked, position};
        return position ? build_call(in, name, 2, args) : NO_BUILD;
    }
    return cannot_build(in, iterator);
}

/* An exception that was raised has a traceback that only CPython can make. */
static BuildId
build_exception(Interp *in, Value *value)
{
    const Exception *e = value->exception;
    PyTypeObject *type = value->type;
    bool plain = !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
                 type->tp_new == ((PyTypeObject *)PyExc_Exception)->tp_new &&
                 type->tp_init == ((PyTypeObject *)PyExc_Exception)->tp_init;
    if (plain && e->raised < 0 && value->attributes == NULL && e->cause == NULL && !e->suppress &&
        e->args->object == NULL)
        return build_of_kind(in, BUILD_CALL, (PyObject *)type, e->args->nitems, e->args->items);
    int since = exception_step(value);
    if (e->raised < 0 && e->made < since) since = e->made;
    if (in->raising.unbuilt == 0 || since + 1 < in->raising.unbuilt)
        in->raising.unbuilt = since + 1;
    interp_break(in, BREAK_EXCEPTION, "%s leaves the graph", value->type->tp_name);
    return NO_BUILD;
}

/* Stores the named values of a V_DICT, or of an instance's items, on `object`, which is being
   built. */
static int
build_attributes(Interp *in, Value *object, Value *pairs)
{
    for (int i = 0; pairs != NULL && i + 1 < pairs->nitems; i += 2) {
        Value *args[2] = {object, value_item(in, pairs, i + 1)};
        PyObject *name = pairs->items[i]->object;
        if (args[1] == NULL) return -1;
        if (args[1]->kind == V_UNBOUND) continue;
        if (!PyUnicode_CheckExact(name)) {
            cannot_build(in, object);
            return -1;
        }
        if (build_of_kind(in, EFFECT_STORE_ATTR, name, 2, args) == NO_BUILD) return -1;
    }
    return 0;
}

/* The real object for which a model stands.  A dict inside it is not an object of its own. */
static BuildId
build_model(Interp *in, Value *instance)
{
    PyObject *maker;
    Value *parts = model_parts(in, instance, &maker);
    if (parts == NULL) return PyErr_Occurred() ? NO_BUILD : cannot_build(in, instance);
    BuildId *args = arena_alloc(in->arena, (size_t)parts->nitems * sizeof(BuildId));
    for (int i = 0; args != NULL && i < parts->nitems; i++) {
        Value *part = parts->items[i];
        bool inside = part->kind == V_DICT && part->owner == instance;
        args[i] = inside ? build_of_kind(in, BUILD_DICT, NULL, part->nitems, part->items)
                         : build_value(in, part);
        if (args[i] == NO_BUILD) return NO_BUILD;
    }
    if (args == NULL) return NO_BUILD;
    Build build = {.kind = BUILD_CALL,
                   .nargs = parts->nitems,
                   .args = args,
                   .object = maker,
                   .node = NO_NODE,
                   .source = NO_SOURCE};
    return build_add(in, &build);
}

/* The real object's own method. */
static BuildId
build_model_method(Interp *in, Value *method)
{
    PyObject *name;
    if (model_method(method, &name) == NULL) return cannot_build(in, method);
    Value *args[2] = {method->items[1], value_const(in, name)};
    return args[1] ? build_call(in, "getattr", 2, args) : NO_BUILD;
}

/* An object of a class derived from a builtin container: made empty, then filled without the
   class's methods. */
static BuildId
build_boxed(Interp *in, Value *instance)
{
    const Value *core = instance->core;
    PyTypeObject *base = box_base(instance);
    PyObject *maker = base ? PyObject_GetAttrString((PyObject *)base, "__new__") : NULL;
    PyObject *name = interned(in, core->kind == V_LIST ? "extend" : "update");
    Value *class_ = value_const(in, (PyObject *)instance->type);
    if (keep(in, maker) == NULL || name == NULL || class_ == NULL) return NO_BUILD;
    BuildId made = build_of_kind(in, BUILD_CALL, maker, 1, &class_);
    if (made == NO_BUILD) return NO_BUILD;
    instance->built = made + 1; /* a cycle may lead from its contents back to it */
    if (core->nitems > 0) {
        Value *args[2] = {instance, value_sequence(in, core->kind, core->nitems, core->items)};
        if (args[1] == NULL || build_of_kind(in, EFFECT_METHOD, name, 2, args) == NO_BUILD)
            return NO_BUILD;
    }
    if (build_attributes(in, instance, instance) < 0) return NO_BUILD;
    return build_attributes(in, instance, instance->attributes) < 0 ? NO_BUILD : made;
}

static BuildId
build_instance(Interp *in, Value *instance)
{
    if (value_is_error_state(instance)) return cannot_build(in, instance);
    if (instance->exception != NULL) return build_exception(in, instance);
    if (instance->type == &PyTraceBack_Type) {
        if (in->raising.unbuilt == 0) in->raising.unbuilt = 1;
        interp_break(in, BREAK_EXCEPTION, "a traceback leaves the graph");
        return NO_BUILD;
    }
    if (model_real(instance) != NULL) return build_model(in, instance);
    if (instance->core != NULL) return build_boxed(in, instance);
    BuildId made = build_of_kind(in, BUILD_INSTANCE, (PyObject *)instance->type, 0, NULL);
    if (made == NO_BUILD) return NO_BUILD;
    instance->built = made + 1; /* a cycle may lead from its attributes back to it */
    if (build_attributes(in, instance, instance) < 0) return NO_BUILD;
    return build_attributes(in, instance, instance->attributes) < 0 ? NO_BUILD : made;
}

/* What pycompile.grad gives, of what the function that was followed in its place has in its cells.
 */
static BuildId
build_derivative(Interp *in, Value *function)
{
    PyObject *maker = module_kept(in, "pycompile.derivatives._followed", "left");
    const Value *closure = function->items[3];
    Value *parts[4] = {0};
    for (int i = 0; i < Py_MIN(closure->nitems, COUNT_OF(parts)); i++)
        parts[i] = closure->items[i]->items[0];
    BuildId made = maker ? build_of_kind(in, BUILD_CALL, maker, closure->nitems, parts) : NO_BUILD;
    if (made == NO_BUILD) return NO_BUILD;
    function->built = made + 1;
    return build_attributes(in, function, function->attributes) < 0 ? NO_BUILD : made;
}

/* The closure may contain the function itself: such a cell is made empty and filled afterwards. */
static BuildId
build_function(Interp *in, Value *function)
{
    if (function_is_derivative(function)) return build_derivative(in, function);
    Value *args[6] = {function->globals_of, function->items[0], function->items[1],
                      function->items[2], function->items[3]};
    int nargs = 5;
    if (dict_named(function->globals_of->object, "__builtins__") == NULL &&
        (args[nargs++] = value_const(in, function->builtins)) == NULL)
        return NO_BUILD;
    BuildId made = build_of_kind(in, BUILD_FUNCTION, function->object, nargs, args);
    if (made == NO_BUILD) return NO_BUILD;
    function->built = made + 1;
    return build_attributes(in, function, function->attributes) < 0 ? NO_BUILD : made;
}

static BuildId
build_cell(Interp *in, Value *cell)
{
    BuildId made = build_of_kind(in, BUILD_CELL, NULL, 0, NULL);
    if (made == NO_BUILD) return NO_BUILD;
    cell->built = made + 1;
    if (cell->items[0] == NULL || cell->items[0]->kind == V_UNBOUND) return made;
    Value *args[2] = {cell, cell->items[0]};
    return build_of_kind(in, EFFECT_STORE_CELL, NULL, 2, args) == NO_BUILD ? NO_BUILD : made;
}

/* A dict; the __dict__ of an instance made here is the instance's own. */
static BuildId
build_dict(Interp *in, Value *dict)
{
    if (dict->owner == NULL) return build_of_kind(in, BUILD_DICT, NULL, dict->nitems, dict->items);
    if (model_real(dict->owner) != NULL) return build_value(in, dict->owner);
    Value *name = value_const_new(in, PyUnicode_InternFromString("__dict__"));
    Value *args[2] = {dict->owner, name};
    return name ? build_call(in, "getattr", 2, args) : NO_BUILD;
}

/* A named tuple: tuple.__new__, which runs no code of the class. */
static BuildId
build_named(Interp *in, Value *value)
{
    PyObject *maker = keep(in, PyObject_GetAttrString((PyObject *)&PyTuple_Type, "__new__"));
    Value *items, *args[2] = {value_const(in, (PyObject *)value->type), NULL};
    if (maker == NULL || args[0] == NULL || named_items(in, value, &items) != ANSWER_YES)
        return NO_BUILD;
    args[1] = items;
    return build_of_kind(in, BUILD_CALL, maker, 2, args);
}

static BuildId
build_set(Interp *in, Value *set)
{
    PyObject *template;
    int since = set_hashed(set);
    if (since > 0) {
        if (in->raising.unbuilt == 0 || since < in->raising.unbuilt) in->raising.unbuilt = since;
        return cannot_build(in, set);
    }
    PyObject *maker = set_maker(in, set, &template);
    if (maker == NULL) {
        if (PyErr_Occurred()) return NO_BUILD;
        Value **items = set_in_order(in, set);
        if (items == NULL && set->nitems > 0) return NO_BUILD;
        return build_of_kind(in, BUILD_SET, NULL, set->nitems, items);
    }
    Value *from = value_const(in, template);
    return from ? build_of_kind(in, BUILD_CALL, maker, 1, &from) : NO_BUILD;
}

static BuildId
build_view(Interp *in, Value *view)
{
    PyTypeObject *model = view->dict->owner ? model_real(view->dict->owner) : NULL;
    if (model != NULL && strcmp(model->tp_name, "collections.OrderedDict") == 0)
        return cannot_build(in, view); /* its views are of classes of their own */
    PyObject *method;
    if (type_stored(in, &PyDict_Type, view->name, &method) != ANSWER_YES) return NO_BUILD;
    return build_of_kind(in, BUILD_CALL, method, 1, &view->dict);
}

/* A method of C code, bound. */
static bool
is_of_c(const Value *method)
{
    const PyObject *function = method->items[0]->object;
    return function != NULL &&
           (Py_TYPE(function) == &PyMethodDescr_Type || Py_TYPE(function) == &PyWrapperDescr_Type);
}

static BuildId
build_bound(Interp *in, Value *method)
{
    PyObject *get;
    PyTypeObject *type = Py_TYPE(method->items[0]->object);
    if (type_stored(in, type, "__get__", &get) != ANSWER_YES) return NO_BUILD;
    /* Bound with the class, too: descrobject.c, method_get uses it for methods that take their
       class. */
    PyTypeObject *owner = value_type(in, method->items[1]);
    Value *class_ = owner != NULL ? value_const(in, (PyObject *)owner) : NULL;
    if (class_ == NULL) return PyErr_Occurred() ? NO_BUILD : cannot_build(in, method);
    Value *args[3] = {method->items[0], method->items[1], class_};
    return build_of_kind(in, BUILD_CALL, get, 3, args);
}

static BuildId
build_null(Interp *in, Value *Py_UNUSED(value))
{
    Build build = {.kind = BUILD_NULL, .node = NO_NODE, .source = NO_SOURCE};
    return build_add(in, &build);
}

static BuildId
build_known(Interp *in, Value *value)
{
    return build_const(in, value->object);
}

static BuildId
build_choice(Interp *in, Value *value)
{
    return build_of_kind(in, BUILD_CHOOSE, NULL, 3, value->items);
}

static BuildId
build_tuple(Interp *in, Value *value)
{
    if (value->object != NULL) return build_const(in, value->object);
    if (value->type != NULL && value->type != &PyTuple_Type) return build_named(in, value);
    return build_of_kind(in, BUILD_TUPLE, NULL, value->nitems, value->items);
}

static BuildId
build_list(Interp *in, Value *value)
{
    return build_of_kind(in, BUILD_LIST, NULL, value->nitems, value->items);
}

static BuildId
build_pure(Interp *in, Value *value)
{
    return build_of_kind(in, BUILD_CALL, value->object, value->nitems, value->items);
}

static BuildId
build_slice(Interp *in, Value *value)
{
    return build_of_kind(in, BUILD_SLICE, NULL, 3, value->items);
}

static BuildId
build_range(Interp *in, Value *value)
{
    return build_of_kind(in, BUILD_RANGE, NULL, 3, value->items);
}

static BuildId
build_method(Interp *in, Value *value)
{
    if (is_model_method(value)) return build_model_method(in, value);
    if (is_of_c(value)) return build_bound(in, value);
    return build_of_kind(in, BUILD_METHOD, NULL, 2, value->items);
}

static BuildId
build_partial(Interp *in, Value *value)
{
    PyObject *maker = module_kept(in, "pycompile._calls", "partial");
    return maker ? build_of_kind(in, BUILD_CALL, maker, 3, value->items) : NO_BUILD;
}

static BuildId
build_super(Interp *in, Value *value)
{
    return build_of_kind(in, BUILD_CALL, (PyObject *)&PySuper_Type, 2, value->items);
}

static BuildId
build_builtin_method(Interp *in, Value *value)
{
    Value *name = value_const_new(in, PyUnicode_InternFromString(value->name));
    Value *args[2] = {value->items[0], name};
    return name ? build_call(in, "getattr", 2, args) : NO_BUILD;
}

/* By kind; NULL: it never leaves. */
static BuildId (*const builders[])(Interp *, Value *) = {
#define KIND(name, exact, type, describe, known, truth, iterate, next, length, contains,           \
             subscript, attribute, store, call, build, merges, leave, parts)                       \
    [V_##name] = build,
#include "../core/value_kinds.def"
};

static BuildId
build_made(Interp *in, Value *value)
{
    return builders[value->kind] ? builders[value->kind](in, value) : cannot_build(in, value);
}

BuildId
build_value(Interp *in, Value *value)
{
    if (value->built > 0) return value->built - 1;
    if (value->built < 0) return cannot_build(in, value); /* it contains itself */
    if (value->box != NULL && value->source == NO_SOURCE) return build_value(in, value->box);
    BuildId build;
    bool constant =
        value->source != NO_SOURCE && in->out->sources.at[value->source].kind == SOURCE_CONST;
    if (value->source != NO_SOURCE && !(constant && value->kind == V_CONST)) {
        Build source = {.kind = BUILD_SOURCE, .source = value->source, .node = NO_NODE};
        build = build_add(in, &source);
    } else if (value->source != NO_SOURCE) {
        build = build_const(in, in->out->sources.at[value->source].object);
    } else {
        value->built = -1;
        build = build_made(in, value);
    }
    value->built = build + 1;
    return build;
}
