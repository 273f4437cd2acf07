/* Graphs as text, read back by parse.c.  One line per node, in program order:

       %0: f32[4,5] = input(0)
       %1: f32[5]{20}+8 = slice(%0, ints=[1])  # model.py:12
       %2: f32[5] = add(%1, %1)  # model.py:13
       outputs %2

   - types: f32[4,5] is an array, f32@cuda[4,5] one on a device, f32 an array scalar (bool_ for
     bool), int, float, complex and bool are Python's own, object is anything else;
   - layout: {strides} in bytes where they are not those of a fresh array in C order, +offset in
     bytes from the storage's data; `longlong` is NumPy's other int64, `frozen` an array that may
     not be written;
   - sizes: numbers, or expressions over d0_1 (length of input %0 along axis 1) and t0_1 (its stride
     there); the first mention gives the value seen while capturing: d0_1=100;
   - nodes: arguments, then attributes by name.  A node with regions ends in `{`; its regions
   follow, separated by `} else {`, each with its `params`, nodes and `results`.  `errstate=`
   follows the parentheses where NumPy's error state is not the caller's;
   - outputs: ids.  Where the nodes no longer say what the output is to the program, parentheses do:
     the root of its storage, and which of fresh, view, frozen, input it is;
   - `numerics fast` before the outputs: the bits need not be NumPy's;
   - `sizes change` there: another plan of the place did not hold, so its sizes may go on changing;
   - comments: `# file:line` at the end of a node's line is its position; lines that begin with #
   are skipped. */
#include "form.h"

typedef struct {
    const Graph *g;
    Text *out;
    uint8_t *hinted; /* by SizeId: its hint was printed; NULL: print no hints */
} Printer;

/* The printed names of attrs.ints and attrs.index for an op. */
static const char *
ints_name(Op op)
{
    OpKind kind = op_info(op)->kind;
    if (op == OP_loop || op == OP_repeat) return "leaves";
    return kind == KIND_REDUCTION || op == OP_transpose ? "axes" : "ints";
}

static const char *
index_name(Op op)
{
    if (op_info(op)->kind == KIND_SCATTER || op == OP_loop) return "write";
    if (op == OP_copy) return "kept";
    if (op == OP_repeat || op == OP_enter || op == OP_again) return "versions";
    if (op == OP_product) return "epilogue";
    if (op == OP_choose) return "version";
    return op_info(op)->kind == KIND_SCAN || op == OP_concatenate ? "axis" : "index";
}

static void put_size(Printer *p, SizeId id);

/* At its first mention with its hint, and a number with its bounds. */
static void
put_symbol(Printer *p, SizeId id)
{
    const Size *size = &p->g->sizes.at[id];
    if (size->kind == SIZE_NUMBER)
        text_printf(p->out, "n%d", size->node);
    else
        text_printf(p->out, "%c%d_%d", size->kind == SIZE_DIM ? 'd' : 't', size->node, size->axis);
    if (p->hinted == NULL || p->hinted[id]) return;
    p->hinted[id] = 1;
    text_printf(p->out, "=%lld", (long long)size->value);
    if (size->kind != SIZE_NUMBER) return;
    text_put(p->out, ":");
    if (size->a != NO_SIZE) put_size(p, size->a);
    text_put(p->out, ":");
    if (size->b != NO_SIZE) put_size(p, size->b);
}

static void
put_size(Printer *p, SizeId id)
{
    if (size_is_const(p->g, id)) {
        text_printf(p->out, "%lld", (long long)size_value(p->g, id));
        return;
    }
    const Size *size = &p->g->sizes.at[id];
    if (size->kind < SIZE_ADD) {
        put_symbol(p, id);
        return;
    }
    static const char *const names[] = {
        [SIZE_ADD] = " + ",  [SIZE_MUL] = "*",   [SIZE_FLOOR_DIV] = " // ", [SIZE_MOD] = " % ",
        [SIZE_LEAST] = ", ", [SIZE_MOST] = ", ", [SIZE_SAME] = " == "};
    text_put(p->out, size->kind == SIZE_LEAST ? "min(" : size->kind == SIZE_MOST ? "max(" : "(");
    put_size(p, size->a);
    text_put(p->out, names[size->kind]);
    put_size(p, size->b);
    text_put(p->out, ")");
}

static void
put_sizes(Printer *p, const char *open, int n, const SizeId *sizes, const char *close)
{
    text_put(p->out, open);
    for (int i = 0; i < n; i++) {
        if (i > 0) text_put(p->out, ",");
        put_size(p, sizes[i]);
    }
    text_put(p->out, close);
}

/* [shape]{strides}+offset */
static void
put_layout(Printer *p, const Type *type)
{
    put_sizes(p, "[", type->rank, type->shape, "]");
    if (!type_is_natural(p->g, type)) put_sizes(p, "{", type->rank, type->stride, "}");
    if (size_is_const(p->g, type->offset) && size_value(p->g, type->offset) == 0) return;
    text_put(p->out, "+");
    put_size(p, type->offset);
}

void
device_print(const Graph *g, Device device, Text *out)
{
    text_put(out, device_name(device));
    if (device > DEVICE_CUDA) text_printf(out, ":%d", g->device[device_index(device)]);
}

static void
put_type(Printer *p, const Type *type)
{
    DType dtype = (DType)type->dtype;
    switch ((Form)type->form) {
    case FORM_ARRAY:
        text_put(p->out, dtype_name(dtype));
        if (type->device != DEVICE_HOST) {
            text_put(p->out, "@");
            device_print(p->g, (Device)type->device, p->out);
            text_put(p->out, type->unaligned ? "~" : "");
        }
        put_layout(p, type);
        if (type->long_long) text_put(p->out, " longlong");
        if (type->frozen) text_put(p->out, " frozen");
        break;
    case FORM_SCALAR: text_put(p->out, dtype == DT_BOOL ? "bool_" : dtype_name(dtype)); break;
    case FORM_PYTHON:
        text_put(p->out, dtype == DT_BOOL          ? "bool"
                         : dtype == DT_U64         ? "uint"
                         : dtype_is_integer(dtype) ? "int"
                         : dtype_is_complex(dtype) ? "complex"
                                                   : "float");
        break;
    case FORM_OBJECT: text_put(p->out, "object"); break;
    }
}

static void
put_ids(Printer *p, int n, const NodeId *ids)
{
    for (int i = 0; i < n; i++) text_printf(p->out, "%s%%%d", i > 0 ? ", " : "", ids[i]);
}

static void
put_kwnames(Printer *p, PyObject *kwnames)
{
    text_put(p->out, "kwnames=(");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, i));
        if (name == NULL) PyErr_Clear();
        text_printf(p->out, "%s%s", i > 0 ? ", " : "", name == NULL ? "?" : name);
    }
    text_put(p->out, ")");
}

/* Puts ", " unless it would be the first thing in the parentheses. */
static void
put_comma(Printer *p)
{
    if (p->out->len > 0 && p->out->data[p->out->len - 1] != '(') text_put(p->out, ", ");
}

static void
put_attrs(Printer *p, const Node *node)
{
    const Attrs *attrs = &node->attrs;
    if (attrs->nints > 0) {
        put_comma(p);
        text_printf(p->out, "%s=[", ints_name(node->op));
        for (int i = 0; i < attrs->nints; i++)
            text_printf(p->out, "%s%lld", i > 0 ? ", " : "", (long long)attrs->ints[i]);
        text_put(p->out, "]");
    }
    if (attrs->index != 0 || node->op == OP_result || op_info(node->op)->kind == KIND_SCAN) {
        put_comma(p);
        text_printf(p->out, "%s=%lld", index_name(node->op), (long long)attrs->index);
    }
    if (attrs->number != 0) {
        char *digits = PyOS_double_to_string(attrs->number, 'r', 0, 0, NULL);
        put_comma(p);
        text_printf(p->out, "number=%s", digits == NULL ? "nan" : digits);
        PyMem_Free(digits);
    }
    if (attrs->keepdims) {
        put_comma(p);
        text_put(p->out, "keepdims");
    }
    if (attrs->view != NULL) {
        put_comma(p);
        text_put(p->out, "view=");
        put_layout(p, attrs->view);
    }
    if (attrs->kwnames != NULL) {
        put_comma(p);
        put_kwnames(p, attrs->kwnames);
    }
    if (attrs->object != NULL) {
        put_comma(p);
        text_put(p->out, "object=");
        object_print(p->g, attrs->object, p->out);
    }
}

static void
put_call(Printer *p, const Node *node)
{
    text_printf(p->out, "%s(", op_info(node->op)->name);
    if (node->op == OP_input) {
        text_printf(p->out, "%lld", (long long)node->attrs.index);
    } else if (node->op == OP_const) {
        constant_print(p->g, node, p->out);
    } else {
        put_ids(p, node->nargs, node->args);
        put_attrs(p, node);
    }
    text_put(p->out, ")");
}

static void put_region(Printer *p, RegionId region, int depth);

static void
put_line(Printer *p, NodeId id)
{
    const Node *node = graph_node(p->g, id);
    text_printf(p->out, "%%%d: ", id);
    put_type(p, &node->type);
    text_put(p->out, " = ");
    put_call(p, node);
}

static void
put_node(Printer *p, NodeId id, int depth)
{
    const Node *node = graph_node(p->g, id);
    text_printf(p->out, "%*s", 2 * depth, "");
    put_line(p, id);
    if (node->errors != 0) text_printf(p->out, " errstate=%d", node->errors);
    if (node->current > 0 && op_info(node->op)->kind == KIND_EXTERN) {
        text_put(p->out, " on ");
        device_print(p->g, device_at(node->current), p->out);
    }
    if (node->region[0] != NO_REGION) text_put(p->out, " {");
    if (node->line != 0 || node->file != 0)
        text_printf(p->out, "  # %s:%d", p->g->files.at[node->file], node->line);
    text_put(p->out, "\n");
    for (int i = 0; i < 2 && node->region[i] != NO_REGION; i++) {
        if (i > 0) text_printf(p->out, "%*s} else {\n", 2 * depth, "");
        put_region(p, node->region[i], depth + 1);
    }
    if (node->region[0] != NO_REGION) text_printf(p->out, "%*s}\n", 2 * depth, "");
}

static void
put_region(Printer *p, RegionId id, int depth)
{
    const Region *region = &p->g->regions.at[id];
    if (region->params.len > 0) text_printf(p->out, "%*sparams ", 2 * depth, "");
    for (int i = 0; i < region->params.len; i++) {
        text_printf(p->out, "%s%%%d: ", i > 0 ? ", " : "", region->params.at[i]);
        put_type(p, &graph_node(p->g, region->params.at[i])->type);
    }
    if (region->params.len > 0) text_put(p->out, "\n");
    for (int i = 0; i < region->nodes.len; i++) put_node(p, region->nodes.at[i], depth);
    if (region->results.len > 0) {
        text_printf(p->out, "%*sresults ", 2 * depth, "");
        put_ids(p, region->results.len, region->results.at);
        text_put(p->out, "\n");
    }
}

static void
put_output(Printer *p, const Output *output)
{
    text_printf(p->out, "%%%d", output->node);
    if (output_is_evident(p->g, output)) return;
    text_printf(p->out, "(root=%%%d", output->root);
    const char *const names[] = {"fresh", "view", "frozen", "input"};
    const bool is[] = {output->fresh, output->view, output->frozen, output->input};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (is[i]) text_printf(p->out, ", %s", names[i]);
    text_put(p->out, ")");
}

int
graph_print(const Graph *g, Text *out)
{
    uint8_t *hinted = mem_alloc((size_t)g->sizes.len + 1);
    if (hinted == NULL) return -1;
    Printer p = {g, out, hinted};
    put_region(&p, 0, 0);
    if (g->fast) text_put(out, "numerics fast\n");
    if (g->sizes_change) text_put(out, "sizes change\n");
    text_put(out, "outputs");
    for (int i = 0; i < g->outputs.len; i++) {
        text_put(out, i > 0 ? ", " : " ");
        put_output(&p, &g->outputs.at[i]);
    }
    text_put(out, "\n");
    mem_free(hinted);
    return text_finish(out);
}

void
type_print(const Graph *g, const Type *type, Text *out)
{
    put_type(&(Printer){g, out, NULL}, type);
}

void
size_print(const Graph *g, SizeId size, Text *out)
{
    put_size(&(Printer){g, out, NULL}, size);
}

void
node_print(const Graph *g, NodeId id, Text *out)
{
    put_line(&(Printer){g, out, NULL}, id);
}
