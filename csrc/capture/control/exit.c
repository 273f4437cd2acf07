/* How capture ends: values as Builds, effects in program order, the frame's changed slots. */
#include "control.h"

/* NO_BUILD: error set, or in->break_code set. */
static BuildId build_value(Interp *in, Value *value);

static BuildId
build_add(Interp *in, const Build *build)
{
    Build copy = *build;
    copy.number = in->bottom->number;
    if (VEC_PUSH(in->arena, &in->out->builds, copy) < 0) return NO_BUILD;
    return in->out->builds.len - 1;
}

static BuildId
cannot_build(Interp *in, Value *value)
{
    interp_break(in, BREAK_STORE, "%s cannot be made when the graph ends",
                 value_describe(in, value));
    return NO_BUILD;
}

/* Builds of `n` values, some of which may be NULL (absent); NULL when one fails. */
static BuildId *
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

static BuildId
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

/* The current contents of an array made here.  A view that shows all of the written memory is
   another object. */
static NodeId
current_object(Interp *in, NodeId node)
{
    NodeId now = array_current(in, node);
    if (now == NO_NODE || now == node) return now;
    if (op_info(graph_node(in->graph, node)->op)->kind != KIND_VIEW ||
        op_info(graph_node(in->graph, now)->op)->kind == KIND_VIEW)
        return now;
    Type type = graph_node(in->graph, node)->type;
    return graph_add(in->graph, in->region, OP_as_strided, 1, &now, &type, NULL);
}

/* The part of the chosen `array` that `view` is of its memory. */
static Value *
same_part(Interp *in, NodeId view, Value *array)
{
    Graph *g = in->graph;
    Type type = graph_node(g, view)->type;
    SizeId within = graph_node(g, array->node)->type.offset;
    if (type.offset == NO_SIZE)
        type.offset = within;
    else if (within != NO_SIZE && (type.offset = size_add(g, type.offset, within)) == NO_SIZE)
        return NULL;
    Op op = graph_view_is_readonly(g, view) ? OP_broadcast : OP_as_strided;
    NodeId node = graph_add(g, in->region, op, 1, &array->node, &type, NULL);
    return node == NO_NODE ? NULL : value_node(in, node);
}

/* A view of a chosen array: of the one or of the other, as the condition says. */
static BuildId
build_chosen_view(Interp *in, NodeId view, const Value *choice)
{
    Value *parts[3] = {choice->items[0], same_part(in, view, choice->items[1]),
                       same_part(in, view, choice->items[2])};
    if (parts[1] == NULL || parts[2] == NULL) return NO_BUILD;
    return build_of_kind(in, BUILD_CHOOSE, NULL, 3, parts);
}

/* A node as an object.  A view of an input is a view of the input's own memory, which is written at
   commit; memory made here has its last version. */
static BuildId
build_box(Interp *in, Value *value)
{
    NodeId node = value->node;
    if (graph_node(in->graph, node)->type.form == FORM_ARRAY) {
        Value *choice = choice_of(in, node);
        if (choice != NULL) return build_chosen_view(in, node, choice);
        if (storage_of(in, node) < 0) return NO_BUILD;
        Value *input = input_of(in, node);
        if (input == NULL)
            node = current_object(in, node);
        else if (graph_node(in->graph, node)->storage != input->node) {
            Type type = graph_node(in->graph, node)->type;
            Op op = graph_view_is_readonly(in->graph, node) ? OP_broadcast : OP_as_strided;
            node = graph_add(in->graph, in->region, op, 1, &input->node, &type, NULL);
        }
        if (node == NO_NODE) return NO_BUILD;
    }
    Build build = {.kind = BUILD_BOX, .node = node, .source = NO_SOURCE};
    if ((build.output = graph_output(in->graph, node)) < 0) return NO_BUILD;
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
        BuildId *args = arena_alloc(in->arena, sizeof(BuildId));
        if (of == NO_BUILD || args == NULL) return NO_BUILD;
        *args = of;
        Build build = {.kind = BUILD_ITER,
                       .nargs = 1,
                       .args = args,
                       .index = (int32_t)iterator->position + iterator->mutated,
                       .node = NO_NODE,
                       .source = NO_SOURCE};
        return build_add(in, &build);
    }
    if (strcmp(name, "zip") == 0) return build_call(in, name, iterator->nitems, iterator->items);
    if (strcmp(name, "enumerate") == 0) {
        Value *position = value_const_new(in, PyLong_FromLongLong(iterator->position));
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

/* The closure may contain the function itself: such a cell is made empty and filled afterwards. */
static BuildId
build_function(Interp *in, Value *function)
{
    Value *args[5] = {function->globals_of, function->items[0], function->items[1],
                      function->items[2], function->items[3]};
    BuildId made = build_of_kind(in, BUILD_FUNCTION, function->object, 5, args);
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
build_node(Interp *in, Value *value)
{
    if (value->leaves_as != NULL &&
        (value->leaves_as->kind == V_PURE || value->leaves_as->kind == V_CHOICE))
        return build_value(in, value->leaves_as);
    return build_box(in, value);
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
#undef KIND
};

static BuildId
build_made(Interp *in, Value *value)
{
    return builders[value->kind] ? builders[value->kind](in, value) : cannot_build(in, value);
}

static BuildId
build_value(Interp *in, Value *value)
{
    if (value->built > 0) return value->built - 1;
    if (value->built < 0) return cannot_build(in, value); /* it contains itself */
    if (value->box != NULL && value->source == NO_SOURCE) return build_value(in, value->box);
    BuildId build;
    if (value->source != NO_SOURCE && in->out->sources.at[value->source].kind != SOURCE_CONST) {
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

/* ---- effects ---- */

static Answer
failed(Interp *in)
{
    return PyErr_Occurred() || in->break_code == BREAK_NONE ? ANSWER_ERROR : ANSWER_BREAK;
}

static Answer
guard_differs(Interp *in, GuardKind kind, SourceId source, SourceId other)
{
    Guard guard = {.kind = kind, .source = source, .other = other};
    return other == NO_SOURCE || guard_add(in, &guard) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Guards that a dict from outside is not the __dict__ of an object whose attributes were read,
   where either was changed. */
static Answer
guard_not_dict(Interp *in, const Value *dict)
{
    for (int i = 0; i < in->sources.outside.len; i++) {
        const Value *object = in->sources.outside.at[i];
        if (object->kind != V_OBJECT || !(object->mutated || dict->mutated) ||
            object->attributes != NULL || object->type == NULL || !type_has_dict(object->type))
            continue;
        if (instance_dict(object->object) == dict->object) return ANSWER_NO;
        Answer answer = guard_differs(in, GUARD_NOT_DICT, dict->source, object->source);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* The same for a namespace that was read, and for the dicts that a function keeps. */
static Answer
guard_not_namespace(Interp *in, const Value *dict)
{
    for (int i = 0; i < in->writes.stored_globals.len; i++) {
        PyObject *holder = in->writes.stored_globals.at[i].dict;
        bool known = false;
        for (int k = 0; k < i; k++) known = known || in->writes.stored_globals.at[k].dict == holder;
        if (known || PyType_Check(holder)) continue;
        if (holder == dict->object) return ANSWER_NO;
        Answer answer = guard_differs(in, PyDict_Check(holder) ? GUARD_NOT_SAME : GUARD_NOT_DICT,
                                      dict->source, source_of_const(in, holder));
        if (answer != ANSWER_YES) return answer;
    }
    if (!dict->mutated) return ANSWER_YES;
    for (int i = 0, n = in->out->sources.len; i < n; i++) {
        Source source = in->out->sources.at[i];
        bool known = source.kind != SOURCE_GLOBAL;
        for (int k = 0; !known && k < i; k++)
            known = in->out->sources.at[k].kind == SOURCE_GLOBAL &&
                    in->out->sources.at[k].object == source.object;
        if (known) continue;
        if (source.object == dict->object) return ANSWER_NO;
        Answer answer =
            guard_differs(in, GUARD_NOT_SAME, dict->source, source_of_const(in, source.object));
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* Guards that a changed container from outside is not another one that was read. */
static Answer
guard_distinct(Interp *in)
{
    for (int i = 0; i < in->sources.outside.len; i++) {
        if (in->sources.outside.at[i]->kind != V_DICT && !dict_is_apart(in->sources.outside.at[i]))
            continue;
        Answer answer = guard_not_dict(in, in->sources.outside.at[i]);
        if (answer == ANSWER_YES) answer = guard_not_namespace(in, in->sources.outside.at[i]);
        if (answer != ANSWER_YES) return answer;
    }
    for (int i = 0; i < in->sources.outside.len; i++) {
        Value *value = in->sources.outside.at[i];
        if (!value->mutated) continue;
        for (int k = 0; k < in->sources.outside.len; k++) {
            Value *other = in->sources.outside.at[k];
            if (other == value || other->type != value->type || (other->mutated && k < i) ||
                other == value->core || other == value->box)
                continue;
            Guard guard = {.kind = GUARD_NOT_SAME, .source = value->source, .other = other->source};
            if (guard_add(in, &guard) < 0) return ANSWER_ERROR;
        }
    }
    return ANSWER_YES;
}

/* A store to a cell that this call of the function made, when the function returns: it is visible
   only if an object that holds the cell leaves. */
static bool
stores_own_cell(const Interp *in, const Effect *effect)
{
    if (effect->kind != EFFECT_STORE_CELL || in->out->exit.kind != EXIT_RETURN ||
        in->request->number != in->request->decoded->first_traceable)
        return false;
    const Source *source = &in->out->sources.at[effect->args[0]->source];
    return source->kind == SOURCE_SLOT &&
           !(code_slot_kind(in->request->decoded->code, source->index) & SLOT_FREE);
}

static Answer
build_effect(Interp *in, const Effect *effect)
{
    BuildId *args = build_all(in, effect->nargs, effect->args);
    if (args == NULL) return failed(in);
    Build build = {.kind = effect->kind,
                   .nargs = effect->nargs,
                   .args = args,
                   .object = effect->object,
                   .node = NO_NODE,
                   .source = effect->source};
    build.number = effect->number;
    if (effect->when != NULL && !(effect->kind == EFFECT_CALL && effect->nargs == 0)) {
        BuildId when = build_value(in, effect->when);
        if (when == NO_BUILD) return failed(in);
        build.when = when + 1;
    }
    return VEC_PUSH(in->arena, &in->out->builds, build) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Builds the stores to those cells that leave; building one may let another leave. */
static Answer
build_own_cells(Interp *in)
{
    bool *done = arena_alloc(in->arena, (size_t)in->writes.effects.len + 1);
    if (done == NULL) return ANSWER_ERROR;
    memset(done, 0, (size_t)in->writes.effects.len + 1);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < in->writes.effects.len; i++) {
            const Effect *effect = &in->writes.effects.at[i];
            if (done[i] || !stores_own_cell(in, effect) || effect->args[0]->built <= 0) continue;
            done[i] = more = true;
            Answer answer = build_effect(in, effect);
            if (answer != ANSWER_YES) return answer;
        }
    }
    return ANSWER_YES;
}

static Answer
build_effects(Interp *in)
{
    if (in->memory.drawn != NULL && build_value(in, in->memory.drawn) == NO_BUILD)
        return failed(in);
    for (int i = 0; i < in->writes.texts.len; i++)
        if (in->writes.texts.at[i]->kind == V_PURE &&
            build_value(in, in->writes.texts.at[i]) == NO_BUILD)
            return failed(in);
    Answer settled = generators_settle(in);
    if (settled != ANSWER_YES) return settled;
    for (int i = 0; i < in->writes.effects.len; i++) {
        Effect *effect = &in->writes.effects.at[i];
        if (writes_commit(in, i + 1) < 0) return ANSWER_ERROR;
        if (stores_own_cell(in, effect)) continue;
        Answer built = build_effect(in, effect);
        if (built != ANSWER_YES) return built;
    }
    Answer own = build_own_cells(in);
    if (own != ANSWER_YES) return own;
    Answer answer = guard_distinct(in);
    return answer == ANSWER_YES ? writes_finish(in) : answer;
}

/* ---- exits ---- */

/* The frame can be left: no state is in force that only CPython can establish. */
static Answer
exit_is_plain(Interp *in)
{
    int since = handlers_alive_since(in);
    if (since < 0) return ANSWER_YES;
    in->raising.unbuilt = since + 1;
    return interp_break(in, BREAK_WITH, "a handler or an error state that was entered here");
}

Answer
exit_return(Interp *in, Value *result)
{
    Exit *exit = &in->out->exit;
    if (in->errstate.depth > 0) {
        Answer plain = exit_is_plain(in);
        if (plain != ANSWER_YES) return plain;
    }
    exit->kind = EXIT_RETURN;
    exit->number = in->bottom->number;
    exit->nslots = 1;
    exit->slot_index = arena_alloc(in->arena, sizeof(int32_t));
    exit->slot_value = arena_alloc(in->arena, sizeof(BuildId));
    if (exit->slot_index == NULL || exit->slot_value == NULL) return ANSWER_ERROR;
    BuildId build = build_value(in, result);
    if (build == NO_BUILD) return failed(in);
    exit->slot_value[0] = build;
    return build_effects(in);
}

/* Methods in C that are on the stack, waiting to be called: an error names the class only where
   CPython has the function and the object, as after LOAD_METHOD. */
static int
split_methods(Interp *in, Value **stack, int depth)
{
    for (int i = 0; i < depth; i++) {
        Value *method = stack[i];
        int low = CALL_NULL_FIRST ? i - 1 : i, null = CALL_NULL_FIRST ? low : i + 1;
        if (method == NULL || method->kind != V_BUILTIN_METHOD || !method->paired || null < 0 ||
            null >= depth || stack[null] != in->null)
            continue;
        PyTypeObject *type = value_type(in, method->items[0]);
        PyObject *name = interned(in, method->name);
        PyObject *found = type != NULL && name != NULL ? _PyType_Lookup(type, name) : NULL;
        if (PyErr_Occurred()) return -1;
        if (found == NULL || type_is_heap(type) ||
            !PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR))
            continue;
        stack[low + 1] = method->items[0];
        if ((stack[low] = value_const(in, found)) == NULL) return -1;
    }
    return 0;
}

static Answer
exit_state(Interp *in, Exit *exit)
{
    Answer plain = exit_is_plain(in);
    if (plain != ANSWER_YES) return plain;
    Activation *a = in->bottom;
    int nlocals = a->decoded->nlocalsplus, n = nlocals + a->depth;
    exit->depth = a->depth;
    exit->slot_index = arena_alloc(in->arena, (size_t)n * sizeof(int32_t));
    exit->slot_value = arena_alloc(in->arena, (size_t)n * sizeof(BuildId));
    Value **slots = arena_copy(in->arena, a->slots, (size_t)n * sizeof(Value *));
    if (exit->slot_index == NULL || exit->slot_value == NULL || slots == NULL) return ANSWER_ERROR;
    if (split_methods(in, slots + nlocals, a->depth) < 0) return ANSWER_ERROR;
    for (int slot = 0; slot < n; slot++) {
        Value *value = slots[slot];
        if (value == NULL || value == a->initial[slot]) continue;
        BuildId build = NO_BUILD;
        if (value->kind == V_LOST) return branch_wants(in, value);
        if (value->kind != V_UNBOUND && (build = build_value(in, value)) == NO_BUILD)
            return failed(in);
        exit->slot_index[exit->nslots] = slot;
        exit->slot_value[exit->nslots++] = build;
    }
    return build_effects(in);
}

Answer
exit_break(Interp *in, int number)
{
    in->out->exit =
        (Exit){.kind = EXIT_BREAK, .number = number, .at = number, .condition = NO_BUILD};
    return exit_state(in, &in->out->exit);
}

Answer
exit_branch(Interp *in, Value *condition, int on_true, int on_false)
{
    in->out->exit = (Exit){.kind = EXIT_BRANCH, .number = on_true, .other = on_false};
    in->out->exit.at = in->bottom->number;
    BuildId build = build_value(in, condition);
    if (build == NO_BUILD) return failed(in);
    in->out->exit.condition = build;
    return exit_state(in, &in->out->exit);
}
