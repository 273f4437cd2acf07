/* Arrays and numbers of the graph as Builds: which memory an object shows, and what its base is. */
#include "control.h"

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
    if (place_leaves(in, value) != ANSWER_YES) return NO_BUILD;
    if (series_item_leaves(in, node) != ANSWER_YES) return NO_BUILD;
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
sizes_tuple(Interp *in, int n, const SizeId *sizes)
{
    Value *tuple = value_sequence(in, V_TUPLE, n, NULL);
    for (int i = 0; tuple != NULL && i < n; i++)
        if (number_of_size(in, sizes[i], &tuple->items[i]) != ANSWER_YES) return NULL;
    return tuple;
}

/* What `maker` makes of these; a value that is NULL cannot be built. */
static BuildId
build_made(Interp *in, Value *view, PyObject *maker, int n, Value *const *args)
{
    for (int i = 0; i < n; i++)
        if (args[i] == NULL) return PyErr_Occurred() ? NO_BUILD : cannot_build(in, view);
    return maker == NULL ? NO_BUILD : build_of_kind(in, BUILD_CALL, maker, n, args);
}

/* A view of its own kind: as_strided makes it of the array. */
static BuildId
build_window(Interp *in, Value *view)
{
    Type type = graph_node(in->graph, view->node)->type;
    bool frozen = graph_view_is_readonly(in->graph, view->node);
    Value *args[5] = {
        view->leaves_as->items[0],
        sizes_tuple(in, type.rank, type.shape),
        sizes_tuple(in, type.rank, type.stride),
        value_const(in, Py_False),
        value_const(in, frozen ? Py_False : Py_True),
    };
    return build_made(in, view, view->leaves_as->object, COUNT_OF(args), args);
}

/* A view of `window`, a view of its own kind: its base is that one, not the memory's owner. */
static BuildId
build_part(Interp *in, Value *view, Value *window)
{
    Graph *g = in->graph;
    Type whole = graph_node(g, window->node)->type, type = graph_node(g, view->node)->type;
    SizeId offset = size_sub(g, type.offset, whole.offset);
    bool frozen = graph_view_is_readonly(g, view->node);
    Value *args[6] = {
        window,
        value_const_new(in, array_dtype_object((DType)type.dtype)),
        sizes_tuple(in, type.rank, type.shape),
        sizes_tuple(in, type.rank, type.stride),
    };
    if (offset == NO_SIZE || number_of_size(in, offset, &args[4]) == ANSWER_ERROR) return NO_BUILD;
    args[5] = value_const(in, frozen ? Py_False : Py_True);
    return build_made(in, view, module_kept(in, "pycompile._calls", "part_of"), COUNT_OF(args),
                      args);
}

BuildId
build_node(Interp *in, Value *value)
{
    const Value *leaves = value->leaves_as;
    if (leaves != NULL && leaves->kind == V_CHOICE) return build_value(in, value->leaves_as);
    if (leaves != NULL && leaves->kind == V_PURE) return build_window(in, value);
    Value *window = window_of(in, value->node);
    return window != NULL ? build_part(in, value, window) : build_box(in, value);
}
