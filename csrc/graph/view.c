/* pycompile.Graph: a graph as a Python object. It is a snapshot, which shares nothing with the
   graph that it was made from and cannot be changed.

   Three record types with named fields: Graph (its nodes are those of the top region), Node,
   Region. A length, stride or offset is an int; where it is not known while compiling it is a str,
   a Python expression over the names in Graph.symbols. */
#include "form.h"

#include <structmember.h>

typedef struct {
    PyObject_VAR_HEAD PyObject *field[1];
} Record;

#define NODE_FIELDS                                                                                \
    FIELD(id, "number, unique in its graph")                                                       \
    FIELD(op, "name of its operation")                                                             \
    FIELD(kind, "what kind of operation: 'pointwise', 'view', ...")                                \
    FIELD(args, "tuple of Nodes")                                                                  \
    FIELD(shape, "tuple of lengths")                                                               \
    FIELD(dtype, "name of its dtype, as numpy.dtype takes it")                                     \
    FIELD(form, "'array', 'scalar' (the library's), 'python' (a number) or 'object'")              \
    FIELD(line, "line of the program, 0 when unknown")                                             \
    FIELD(file, "file of the program")                                                             \
    FIELD(strides, "tuple of strides in bytes")                                                    \
    FIELD(offset, "where in its storage it begins, in bytes")                                      \
    FIELD(storage, "id of the node whose memory it lies in: its own unless it is a view")          \
    FIELD(ints, "axes, permutation or bounds")                                                     \
    FIELD(index, "number of an input or a result; axis of a scan")                                 \
    FIELD(number, "a number that some operations have")                                            \
    FIELD(keepdims, "whether a reduction keeps its axes")                                          \
    FIELD(errors,                                                                                  \
          "its np.errstate: the events (1: divide, 2: over, 4: under, 8: invalid) that are "       \
          "not ignored, and times 16 those that the function itself has set")                      \
    FIELD(object, "constant, ufunc or callable, or None")                                          \
    FIELD(kwnames, "names of the last arguments, or None")                                         \
    FIELD(view, "what a scatter writes: (shape, strides, offset), or None")                        \
    FIELD(regions, "tuple of Regions")                                                             \
    FIELD(type, "its type as printed")                                                             \
    FIELD(text, "its printed line")
#define REGION_FIELDS                                                                              \
    FIELD(params, "tuple of Nodes")                                                                \
    FIELD(nodes, "tuple of Nodes in program order")                                                \
    FIELD(results, "tuple of Nodes")
#define GRAPH_FIELDS                                                                               \
    FIELD(nodes, "tuple of Nodes in program order")                                                \
    FIELD(inputs, "tuple of Nodes")                                                                \
    FIELD(outputs, "tuple of Nodes")                                                               \
    FIELD(symbols, "values seen while capturing of the sizes that are not constant, by name")      \
    FIELD(objects, "tuple of objects that the text names as @n")                                   \
    FIELD(text, "the printed form")

#define FIELD(name, doc) NODE_##name,
enum { NODE_FIELDS NODE_COUNT };
#undef FIELD
#define FIELD(name, doc) REGION_##name,
enum { REGION_FIELDS REGION_COUNT };
#undef FIELD
#define FIELD(name, doc) GRAPH_##name,
enum { GRAPH_FIELDS GRAPH_COUNT };
#undef FIELD

#define PLACE(i) ((Py_ssize_t)(offsetof(Record, field) + (size_t)(i) * sizeof(PyObject *)))
#define FIELD(name, doc) {#name, T_OBJECT, PLACE(NODE_##name), READONLY, doc},
static PyMemberDef node_members[] = {NODE_FIELDS{0}};
#undef FIELD
#define FIELD(name, doc) {#name, T_OBJECT, PLACE(REGION_##name), READONLY, doc},
static PyMemberDef region_members[] = {REGION_FIELDS{0}};
#undef FIELD
#define FIELD(name, doc) {#name, T_OBJECT, PLACE(GRAPH_##name), READONLY, doc},
static PyMemberDef graph_members[] = {GRAPH_FIELDS{0}};
#undef FIELD

/* ---- records ---- */

static int
record_traverse(PyObject *self, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) Py_VISIT(((Record *)self)->field[i]);
    return 0;
}

static int
record_clear(PyObject *self)
{
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) Py_CLEAR(((Record *)self)->field[i]);
    return 0;
}

static void
record_free(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    record_clear(self);
    PyObject_GC_Del(self);
}

static PyObject *
record_field(PyObject *self, int i)
{
    PyObject *value = ((Record *)self)->field[i];
    return value == NULL ? Py_None : value;
}

static PyObject *
node_str(PyObject *self)
{
    return PyObject_Str(record_field(self, NODE_text));
}

static PyObject *
node_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<Node %S>", record_field(self, NODE_text));
}

static PyObject *
graph_str(PyObject *self)
{
    return PyObject_Str(record_field(self, GRAPH_text));
}

#define RECORD_TYPE(python_name, about, members_)                                                  \
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pycompile." python_name, .tp_doc = about,            \
                                .tp_basicsize = offsetof(Record, field),                           \
                                .tp_itemsize = sizeof(PyObject *),                                 \
                                .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |              \
                                            Py_TPFLAGS_DISALLOW_INSTANTIATION,                     \
                                .tp_traverse = record_traverse, .tp_clear = record_clear,          \
                                .tp_dealloc = record_free, .tp_members = members_

static PyTypeObject NodeView_Type = {
    RECORD_TYPE("Node", "One operation of a graph.", node_members),
    .tp_str = node_str,
    .tp_repr = node_repr,
};

static PyTypeObject RegionView_Type = {
    RECORD_TYPE("Region", "Nodes that a loop or a cond owns.", region_members),
};

/* Steals `fields`, any of which may be NULL with the error set. */
static PyObject *
record_new(PyTypeObject *type, int n, PyObject **fields)
{
    bool failed = PyErr_Occurred() != NULL;
    Record *record = failed ? NULL : PyObject_GC_NewVar(Record, type, n);
    for (int i = 0; i < n; i++)
        if (record != NULL)
            record->field[i] = fields[i];
        else
            Py_XDECREF(fields[i]);
    if (record != NULL) PyObject_GC_Track(record);
    return (PyObject *)record;
}

/* ---- from nodes to records; each NULL with the error set ---- */

typedef struct {
    const Graph *g;
    PyObject **made; /* by NodeId, owned */
} Viewer;

static PyObject *
printed(const Graph *g, const Type *type, NodeId id)
{
    Text text = {0};
    if (type != NULL)
        type_print(g, type, &text);
    else
        node_print(g, id, &text);
    PyObject *string = text_to_str(&text);
    text_free(&text);
    return string;
}

static PyObject *
view_size(const Graph *g, SizeId size)
{
    if (size_is_const(g, size)) return PyLong_FromLongLong(size_value(g, size));
    Text text = {0};
    size_print(g, size, &text);
    PyObject *string = text_to_str(&text);
    text_free(&text);
    return string;
}

PyObject *
graph_view_sizes(const Graph *g, int n, const SizeId *sizes)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple != NULL && i < n; i++) {
        PyObject *size = view_size(g, sizes[i]);
        if (size == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, size);
    }
    return tuple;
}

static PyObject *
view_ids(const Viewer *v, int n, const NodeId *ids)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple != NULL && i < n; i++) {
        PyObject *node = v->made[ids[i]];
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(node == NULL ? Py_None : node));
    }
    return tuple;
}

static PyObject *
view_outputs(const Viewer *v)
{
    PyObject *tuple = PyTuple_New(v->g->outputs.len);
    for (int i = 0; tuple != NULL && i < v->g->outputs.len; i++) {
        PyObject *node = v->made[v->g->outputs.at[i].node];
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(node == NULL ? Py_None : node));
    }
    return tuple;
}

PyObject *
graph_view_ints(const Attrs *attrs)
{
    PyObject *tuple = PyTuple_New(attrs->nints);
    for (int i = 0; tuple != NULL && i < attrs->nints; i++) {
        PyObject *value = PyLong_FromLongLong(attrs->ints[i]);
        if (value == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, value);
    }
    return tuple;
}

static PyObject *
view_written(const Graph *g, const Type *view)
{
    if (view == NULL) return Py_NewRef(Py_None);
    return Py_BuildValue("NNN", graph_view_sizes(g, view->rank, view->shape),
                         graph_view_sizes(g, view->rank, view->stride), view_size(g, view->offset));
}

static const char *
kind_name(OpKind kind)
{
    static const char *const names[] = {
        [KIND_INPUT] = "input",         [KIND_CONST] = "const",
        [KIND_POINTWISE] = "pointwise", [KIND_UFUNC] = "ufunc",
        [KIND_REDUCTION] = "reduction", [KIND_SCAN] = "scan",
        [KIND_VIEW] = "view",           [KIND_COPY] = "copy",
        [KIND_SCATTER] = "scatter",     [KIND_CHOICE] = "choice",
        [KIND_FILL] = "fill",           [KIND_MATMUL] = "matmul",
        [KIND_EXTERN] = "extern",       [KIND_RESULT] = "result",
        [KIND_PYTHON] = "python",       [KIND_ATTENTION] = "attention",
        [KIND_ELEMENT] = "element",     [KIND_REGION] = "region",
        [KIND_JUMP] = "jump",           [KIND_PRODUCT] = "product",
        [KIND_GATHER] = "gather",
    };
    return names[kind];
}

static PyObject *view_region(Viewer *v, RegionId id);

static PyObject *
view_regions(Viewer *v, const Node *node)
{
    int n = (node->region[0] != NO_REGION) + (node->region[1] != NO_REGION);
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple != NULL && i < n; i++) {
        PyObject *region = view_region(v, node->region[i]);
        if (region == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, region);
    }
    return tuple;
}

static int
view_node(Viewer *v, NodeId id)
{
    static const char *const forms[] = {"array", "scalar", "python", "object"};
    const Graph *g = v->g;
    const Node *node = graph_node(g, id);
    const Type *type = &node->type;
    const Attrs *attrs = &node->attrs;
    PyObject *fields[NODE_COUNT] = {
        [NODE_id] = PyLong_FromLong(id),
        [NODE_op] = PyUnicode_InternFromString(op_info(node->op)->name),
        [NODE_kind] = PyUnicode_InternFromString(kind_name(op_info(node->op)->kind)),
        [NODE_args] = view_ids(v, node->nargs, node->args),
        [NODE_shape] = graph_view_sizes(g, type->rank, type->shape),
        [NODE_dtype] = PyUnicode_InternFromString(dtype_long_name((DType)type->dtype)),
        [NODE_form] = PyUnicode_InternFromString(forms[type->form]),
        [NODE_line] = PyLong_FromLong(node->line),
        [NODE_file] = PyUnicode_DecodeFSDefault(g->files.at[node->file]),
        [NODE_strides] = graph_view_sizes(g, type->rank, type->stride),
        [NODE_offset] = view_size(g, type->offset),
        [NODE_storage] = PyLong_FromLong(node->storage),
        [NODE_ints] = graph_view_ints(attrs),
        [NODE_index] = PyLong_FromLongLong(attrs->index),
        [NODE_number] = PyFloat_FromDouble(attrs->number),
        [NODE_keepdims] = PyBool_FromLong(attrs->keepdims),
        [NODE_errors] = PyLong_FromLong(node->errors),
        [NODE_object] = Py_NewRef(attrs->object == NULL ? Py_None : attrs->object),
        [NODE_kwnames] = Py_NewRef(attrs->kwnames == NULL ? Py_None : attrs->kwnames),
        [NODE_view] = view_written(g, attrs->view),
        [NODE_regions] = view_regions(v, node),
        [NODE_type] = printed(g, type, id),
        [NODE_text] = printed(g, NULL, id),
    };
    v->made[id] = record_new(&NodeView_Type, NODE_COUNT, fields);
    return v->made[id] == NULL ? -1 : 0;
}

static int
view_nodes(Viewer *v, int n, const NodeId *ids)
{
    for (int i = 0; i < n; i++)
        if (view_node(v, ids[i]) < 0) return -1;
    return 0;
}

static PyObject *
view_region(Viewer *v, RegionId id)
{
    const Region *region = &v->g->regions.at[id];
    if (view_nodes(v, region->params.len, region->params.at) < 0) return NULL;
    if (view_nodes(v, region->nodes.len, region->nodes.at) < 0) return NULL;
    PyObject *fields[REGION_COUNT] = {
        [REGION_params] = view_ids(v, region->params.len, region->params.at),
        [REGION_nodes] = view_ids(v, region->nodes.len, region->nodes.at),
        [REGION_results] = view_ids(v, region->results.len, region->results.at),
    };
    return record_new(&RegionView_Type, REGION_COUNT, fields);
}

static PyObject *
view_symbols(const Graph *g)
{
    PyObject *symbols = PyDict_New();
    for (int i = 0; symbols != NULL && i < g->sizes.len; i++) {
        const Size *size = &g->sizes.at[i];
        if (size->kind == SIZE_CONST || size->kind >= SIZE_ADD) continue;
        PyObject *name = view_size(g, i), *value = PyLong_FromLongLong(size->value);
        if (name == NULL || value == NULL || PyDict_SetItem(symbols, name, value) < 0)
            Py_CLEAR(symbols);
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    return symbols;
}

static PyObject *
view_text(const Graph *g)
{
    Text text = {0};
    PyObject *string = graph_print(g, &text) < 0 ? NULL : text_to_str(&text);
    text_free(&text);
    return string;
}

/* The objects of the region's nodes.  `keep` has more: whatever capture has met, which a graph that
   a backend keeps would keep alive. */
static int
list_objects(const Graph *g, RegionId id, PyObject *list)
{
    const Region *region = &g->regions.at[id];
    for (int i = 0; i < region->nodes.len; i++) {
        const Node *node = graph_node(g, region->nodes.at[i]);
        if (node->attrs.object != NULL && PyList_Append(list, node->attrs.object) < 0) return -1;
        for (int k = 0; k < 2; k++)
            if (node->region[k] != NO_REGION && list_objects(g, node->region[k], list) < 0)
                return -1;
    }
    return 0;
}

PyObject *
graph_view(const Graph *of)
{
    Graph named = *of, *g = &named;
    if ((named.keep = PyList_New(0)) == NULL) return NULL;
    Viewer v = {g, mem_alloc(sizeof(PyObject *) * (size_t)(g->nodes.len + 1))};
    PyObject *graph = NULL, *top = NULL;
    if (v.made != NULL && list_objects(g, 0, named.keep) == 0) top = view_region(&v, 0);
    if (top != NULL) {
        PyObject *fields[GRAPH_COUNT] = {
            [GRAPH_nodes] = Py_NewRef(record_field(top, REGION_nodes)),
            [GRAPH_inputs] = view_ids(&v, g->inputs.len, g->inputs.at),
            [GRAPH_outputs] = view_outputs(&v),
            [GRAPH_symbols] = view_symbols(g),
            [GRAPH_objects] = PyList_AsTuple(g->keep),
            [GRAPH_text] = view_text(g),
        };
        graph = record_new(&GraphView_Type, GRAPH_COUNT, fields);
    }
    Py_XDECREF(top);
    for (int i = 0; v.made != NULL && i < g->nodes.len; i++) Py_XDECREF(v.made[i]);
    mem_free(v.made);
    Py_DECREF(named.keep);
    return graph;
}

PyObject *
graph_view_node(const Graph *g, NodeId id)
{
    Viewer v = {g, mem_alloc(sizeof(PyObject *) * (size_t)(g->nodes.len + 1))};
    if (v.made == NULL) return NULL;
    const Node *node = graph_node(g, id);
    PyObject *view = NULL;
    int status = 0;
    for (int i = 0; i < node->nargs && status == 0; i++)
        if (graph_node(g, node->args[i])->op == OP_const && v.made[node->args[i]] == NULL)
            status = view_node(&v, node->args[i]);
    if (status == 0 && view_node(&v, id) == 0) view = Py_NewRef(v.made[id]);
    for (int i = 0; i < node->nargs; i++) Py_CLEAR(v.made[node->args[i]]);
    Py_CLEAR(v.made[id]);
    mem_free(v.made);
    return view;
}

Graph *
graph_from_view(Arena *arena, PyObject *keep, PyObject *view)
{
    PyObject *text = view;
    if (Py_IS_TYPE(view, &GraphView_Type)) {
        text = record_field(view, GRAPH_text);
        Py_ssize_t end = PyList_GET_SIZE(keep);
        if (PyList_SetSlice(keep, end, end, record_field(view, GRAPH_objects)) < 0) return NULL;
    }
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "expected a Graph or its text");
        return NULL;
    }
    const char *string = PyUnicode_AsUTF8(text);
    return string == NULL ? NULL : graph_parse(arena, keep, string);
}

/* ---- methods ---- */

static PyObject *
graph_parse_method(PyObject *cls, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"text", "objects", NULL};
    PyObject *text, *objects = NULL, *view = NULL;
    (void)cls;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|O", names, &text, &objects)) return NULL;
    PyObject *keep = objects == NULL ? PyList_New(0) : PySequence_List(objects);
    Arena *arena = keep == NULL ? NULL : arena_new();
    Graph *g = arena == NULL ? NULL : graph_from_view(arena, keep, text);
    if (g != NULL && graph_verify(g) == 0) view = graph_view(g);
    arena_free(arena);
    Py_XDECREF(keep);
    return view;
}

/* Calls `visit` on all nodes in program order, those of inner regions included.  0 or -1. */
static int
walk(PyObject *nodes, int depth, int (*visit)(PyObject *node, int depth, void *context),
     void *context)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(nodes); i++) {
        PyObject *node = PyTuple_GET_ITEM(nodes, i), *regions = record_field(node, NODE_regions);
        if (visit(node, depth, context) < 0) return -1;
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(regions); k++) {
            PyObject *region = PyTuple_GET_ITEM(regions, k);
            if (walk(record_field(region, REGION_params), depth + 1, visit, context) < 0 ||
                walk(record_field(region, REGION_nodes), depth + 1, visit, context) < 0)
                return -1;
        }
    }
    return 0;
}

/* The part of a node's text after the `=`. */
static const char *
call_text(PyObject *node)
{
    const char *text = PyUnicode_AsUTF8(record_field(node, NODE_text));
    const char *equals = text == NULL ? NULL : strstr(text, " = ");
    return equals == NULL ? text : equals + 3;
}

static int
put_row(PyObject *node, int depth, void *context)
{
    Text *out = context;
    char name[32], where[64];
    const char *type = PyUnicode_AsUTF8(record_field(node, NODE_type));
    const char *file = PyUnicode_AsUTF8(record_field(node, NODE_file));
    const char *op = PyUnicode_AsUTF8(record_field(node, NODE_op)), *call = call_text(node);
    if (type == NULL || file == NULL || op == NULL || call == NULL) return -1;
    const char *slash = strrchr(file, '/');
    long line = PyLong_AsLong(record_field(node, NODE_line));
    PyOS_snprintf(name, sizeof name, "%*s%%%ld", 2 * depth, "",
                  PyLong_AsLong(record_field(node, NODE_id)));
    PyOS_snprintf(where, sizeof where, "%.40s:%ld", slash == NULL ? file : slash + 1, line);
    text_printf(out, "%-8s  %-13s  %-24s  %-40s  %s\n", name, op, type, call + strlen(op),
                line == 0 ? "" : where);
    return 0;
}

/* Prints like torch.fx's method of this name. */
static PyObject *
graph_print_tabular(PyObject *self, PyObject *unused)
{
    Text out = {0};
    PyObject *string = NULL, *file = PySys_GetObject("stdout");
    (void)unused;
    text_printf(&out, "%-8s  %-13s  %-24s  %-40s  %s\n", "node", "op", "type", "args", "line");
    if (walk(record_field(self, GRAPH_nodes), 0, put_row, &out) == 0) string = text_to_str(&out);
    text_free(&out);
    if (string == NULL) return NULL;
    int status =
        file == NULL || file == Py_None ? 0 : PyFile_WriteObject(string, file, Py_PRINT_RAW);
    Py_DECREF(string);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

static int
put_dot(PyObject *node, int depth, void *context)
{
    Text *out = context;
    (void)depth;
    const char *text = PyUnicode_AsUTF8(record_field(node, NODE_text));
    long id = PyLong_AsLong(record_field(node, NODE_id));
    if (text == NULL) return -1;
    text_printf(out, "  n%ld [label=\"", id);
    for (const char *c = text; *c != '\0'; c++)
        text_printf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    text_put(out, "\"];\n");
    PyObject *args = record_field(node, NODE_args);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        text_printf(out, "  n%ld -> n%ld;\n",
                    PyLong_AsLong(record_field(PyTuple_GET_ITEM(args, i), NODE_id)), id);
    return 0;
}

static PyObject *
graph_to_dot(PyObject *self, PyObject *unused)
{
    Text out = {0};
    PyObject *string = NULL, *outputs = record_field(self, GRAPH_outputs);
    (void)unused;
    text_put(&out, "digraph {\n  node [shape=box, fontname=monospace];\n");
    int status = walk(record_field(self, GRAPH_nodes), 0, put_dot, &out);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); i++)
        text_printf(&out, "  n%ld [peripheries=2];\n",
                    PyLong_AsLong(record_field(PyTuple_GET_ITEM(outputs, i), NODE_id)));
    text_put(&out, "}\n");
    if (status == 0) string = text_to_str(&out);
    text_free(&out);
    return string;
}

static PyMethodDef graph_methods[] = {
    {"parse", (PyCFunction)(void (*)(void))graph_parse_method,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "parse(text, objects=())\n--\n\nThe graph that a text says; @n in it is objects[n]."},
    {"print_tabular", graph_print_tabular, METH_NOARGS, "Prints the nodes as a table."},
    {"to_dot", graph_to_dot, METH_NOARGS, "The graph in Graphviz' language."},
    {0},
};

PyTypeObject GraphView_Type = {
    RECORD_TYPE(
        "Graph",
        "A captured graph: nodes in SSA form, with inputs and outputs.  str() gives a text\n"
        "that Graph.parse reads back.",
        graph_members),
    .tp_str = graph_str,
    .tp_methods = graph_methods,
};

int
graph_view_init(PyObject *module)
{
    PyTypeObject *types[] = {&NodeView_Type, &RegionView_Type, &GraphView_Type};
    for (int i = 0; i < COUNT_OF(types); i++)
        if (PyModule_AddType(module, types[i]) < 0) return -1;
    return 0;
}
