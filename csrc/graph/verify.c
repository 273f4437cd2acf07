/* What a well-formed graph is. The message of a broken rule names the node, its file and line, and
   the rule. */
#include "form.h"

typedef struct {
    const Graph *g;
    uint8_t *visible; /* by NodeId: defined before the node that is checked, and in scope */
    uint8_t *placed;  /* by NodeId: has a place in a region */
} Check;

static int
broken(const Check *c, NodeId id, const char *rule)
{
    const Node *node = graph_node(c->g, id);
    const char *file =
        node->file >= 0 && node->file < c->g->files.len ? c->g->files.at[node->file] : "?";
    PyErr_Format(PyExc_SystemError, "graph: %%%d (%s, %s:%d): %s", id, op_info(node->op)->name,
                 file, node->line, rule);
    return -1;
}

#define RULE(holds, text)                                                                          \
    if (!(holds)) return broken(c, id, text)

static bool
size_exists(const Graph *g, SizeId size)
{
    return size >= 0 && size < g->sizes.len;
}

/* Are the numbers in it known where the node is? */
static bool
size_is_measured(const Check *c, SizeId id)
{
    const Graph *g = c->g;
    if (size_is_const(g, id)) return true;
    const Size *size = &g->sizes.at[id];
    if (size->kind == SIZE_NUMBER)
        return c->visible[size->node] && graph_node(g, size->node)->op == OP_measure;
    if (size->kind < SIZE_ADD) return true;
    return size_is_measured(c, size->a) && size_is_measured(c, size->b);
}

/* ---- types ---- */

static int
check_layout(const Check *c, NodeId id, const Type *type)
{
    const Graph *g = c->g;
    RULE(type->dtype < DT_COUNT, "unknown dtype");
    RULE(type->rank <= MAX_RANK, "too many axes");
    for (int i = 0; i < type->rank; i++) {
        RULE(size_exists(g, type->shape[i]), "an axis has no length");
        RULE(size_exists(g, type->stride[i]), "an axis has no stride");
        RULE(size_is_measured(c, type->shape[i]) && size_is_measured(c, type->stride[i]),
             "a size has a number that is not measured before it");
        RULE(size_value(g, type->shape[i]) >= 0, "a length is negative");
    }
    RULE(type->offset == NO_SIZE || size_exists(g, type->offset), "the offset is no size");
    RULE(size_is_measured(c, type->offset),
         "the offset has a number that is not measured before it");
    return 0;
}

static int
check_type(const Check *c, NodeId id)
{
    const Type *type = &graph_node(c->g, id)->type;
    if (check_layout(c, id, type) < 0) return -1;
    RULE(type->form == FORM_ARRAY || type->rank == 0, "only arrays have axes");
    RULE((type->form == FORM_OBJECT) == (type->dtype == DT_OBJECT),
         "dtype object and form object go together");
    if (type->form == FORM_PYTHON)
        RULE(type->dtype == DT_BOOL || type->dtype == DT_I64 || type->dtype == DT_U64 ||
                 type->dtype == DT_F64 || type->dtype == DT_C128,
             "Python has no number of this dtype");
    return 0;
}

static const Type *
arg_type(const Check *c, const Node *node, int i)
{
    return &graph_node(c->g, node->args[i])->type;
}

/* ---- kinds ---- */

static int
check_elementwise(const Check *c, NodeId id, const Node *node)
{
    for (int i = 0; i < node->nargs; i++) {
        RULE(arg_type(c, node, i)->dtype != DT_OBJECT, "an argument is no number");
        RULE(node->type.dtype == DT_OBJECT ||
                 type_broadcasts(c->g, arg_type(c, node, i), &node->type),
             "an argument does not broadcast to the result");
    }
    return 0;
}

static int
check_pointwise(const Check *c, NodeId id, const Node *node)
{
    const OpInfo *info = op_info(node->op);
    int first = node->op == OP_where ? 1 : 0;
    RULE(node->type.dtype != DT_OBJECT, "the result is no number");
    for (int i = first + 1; i < node->nargs; i++)
        RULE(arg_type(c, node, i)->dtype == arg_type(c, node, first)->dtype,
             "the arguments differ in dtype: casts are nodes");
    if (node->op == OP_where) {
        RULE(arg_type(c, node, 0)->dtype == DT_BOOL, "the condition is no bool");
        RULE(arg_type(c, node, 1)->dtype == node->type.dtype, "the result has another dtype");
    }
    if (info->flags & OPF_COMPARES) RULE(node->type.dtype == DT_BOOL, "the result is no bool");
    return check_elementwise(c, id, node);
}

static int
check_reduction(const Check *c, NodeId id, const Node *node)
{
    const Type *from = arg_type(c, node, 0);
    const Attrs *attrs = &node->attrs;
    for (int i = 0; i < attrs->nints; i++) {
        RULE(attrs->ints[i] >= 0 && attrs->ints[i] < from->rank, "an axis is out of range");
        RULE(i == 0 || attrs->ints[i - 1] < attrs->ints[i], "the axes are not ascending");
    }
    int rank = attrs->keepdims ? from->rank : from->rank - attrs->nints;
    RULE(node->type.rank == rank, "the result's rank is wrong");
    for (int axis = 0, k = 0, to = 0; axis < from->rank; axis++) {
        bool reduced = k < attrs->nints && attrs->ints[k] == axis;
        if (reduced) k++;
        if (reduced && attrs->keepdims) {
            RULE(size_is_one(c->g, node->type.shape[to]), "a kept axis is not 1 long");
        }
        if (!reduced)
            RULE(node->type.shape[to] == from->shape[axis], "the result's shape is wrong");
        if (!reduced || attrs->keepdims) to++;
    }
    return 0;
}

static int
check_view(const Check *c, NodeId id, const Node *node)
{
    const Node *base = graph_node(c->g, node->args[0]);
    RULE(node->storage == base->storage, "a view lies in its argument's storage");
    RULE(node->type.dtype == base->type.dtype || node->op == OP_as_strided,
         "a view has its argument's dtype");
    RULE(node->type.form == FORM_ARRAY, "a view is an array");
    RULE(base->type.form == FORM_ARRAY, "only arrays have views");
    return 0;
}

static int
check_scatter(const Check *c, NodeId id, const Node *node)
{
    const Node *old = graph_node(c->g, node->args[0]);
    const Type *view = node->attrs.view;
    RULE(old->storage == node->args[0], "what is written must be a whole storage");
    RULE(view != NULL, "no view says what is written");
    RULE(node->op != OP_commit || type_same_shape(&node->type, view),
         "what is committed has not its part's shape");
    RULE(node->op == OP_commit || type_same_layout(&old->type, &node->type),
         "the new version has another type than the old");
    if (check_layout(c, id, view) < 0) return -1;
    RULE(arg_type(c, node, 1)->dtype == node->type.dtype, "the value has another dtype");
    RULE(type_broadcasts(c->g, arg_type(c, node, 1), view),
         "the value does not broadcast to the view");
    return 0;
}

static int
check_choice(const Check *c, NodeId id, const Node *node)
{
    const Type *condition = arg_type(c, node, 0);
    RULE(condition->dtype == DT_BOOL && condition->rank == 0, "the condition is no bool");
    for (int i = 1; i < 3; i++)
        RULE(type_same_layout(arg_type(c, node, i), &node->type), "a choice has another type");
    return 0;
}

static int
check_result(const Check *c, NodeId id, const Node *node)
{
    const Node *of = graph_node(c->g, node->args[0]);
    int64_t index = node->attrs.index;
    OpKind kind = op_info(of->op)->kind;
    if (node->op == OP_attention_sums) {
        RULE(of->op == OP_attention && node->type.dtype == DT_F32 &&
                 node->type.rank == of->type.rank - 1,
             "the sums are no attention's");
        return 0;
    }
    bool turns = of->op == OP_enter || of->op == OP_again;
    RULE(kind == KIND_EXTERN || kind == KIND_UFUNC || kind == KIND_REGION || of->op == OP_join ||
             turns,
         "the argument has no results");
    RULE(of->type.dtype == DT_OBJECT, "the argument is its own result");
    RULE(index >= 0, "a result's number is negative");
    if (of->op == OP_join) {
        RULE(2 * index < of->nargs, "the join has fewer results");
        RULE(type_same_kind(&graph_node(c->g, of->args[2 * index])->type, &node->type),
             "the result's type is wrong");
    }
    if (turns) {
        index += of->op == OP_again; /* behind the condition */
        RULE(index < of->nargs, "the mark carries less");
        RULE(type_same_kind(arg_type(c, of, (int)index), &node->type),
             "the result's type is wrong");
    }
    if (kind != KIND_REGION) return 0;
    const Region *region = &c->g->regions.at[of->region[0]];
    RULE(index < region->results.len, "the region has fewer results");
    NodeId from =
        of->op == OP_loop || of->op == OP_repeat ? of->args[3 + index] : region->results.at[index];
    RULE(type_same_kind(&graph_node(c->g, from)->type, &node->type), "the result's type is wrong");
    return 0;
}

static int
check_dot(const Check *c, NodeId id, const Node *node)
{
    int at = 0;
    RULE(node->attrs.nints == 5, "a product has two axes and two steps, and is of one kind");
    for (int k = 0; k < 2; k++) {
        RULE(at < node->nargs && arg_type(c, node, at)->form == FORM_ARRAY, "a vector of no array");
        int rank = arg_type(c, node, at)->rank;
        RULE(arg_type(c, node, at)->dtype == node->type.dtype, "a vector has another dtype");
        RULE(node->attrs.ints[2 * k] >= 0 && node->attrs.ints[2 * k] < rank, "no such axis");
        at += 1 + rank;
    }
    RULE(node->nargs == at + 1, "a product has the indices of two elements and a length");
    for (int k = 0; k < node->nargs; k++)
        RULE(arg_type(c, node, k)->form == FORM_ARRAY ||
                 (arg_type(c, node, k)->dtype == DT_I64 && arg_type(c, node, k)->rank == 0),
             "an index or the length is no int");
    return 0;
}

static int
check_element(const Check *c, NodeId id, const Node *node)
{
    bool store = node->op == OP_element_store;
    RULE(node->nargs >= 2 && arg_type(c, node, 0)->form == FORM_ARRAY, "only arrays have elements");
    int rank = arg_type(c, node, 0)->rank;
    RULE(node->nargs == 1 + rank + store, "an element has an index for each axis");
    for (int k = 1; k <= rank; k++)
        RULE(arg_type(c, node, k)->dtype == DT_I64 && arg_type(c, node, k)->rank == 0,
             "the index is no int");
    if (!store) {
        RULE(node->type.rank == 0, "an element has no axes");
        RULE(node->type.dtype == arg_type(c, node, 0)->dtype, "the element has another dtype");
        return 0;
    }
    const Type *value = arg_type(c, node, 1 + rank);
    RULE(type_same_layout(arg_type(c, node, 0), &node->type), "the new version has another type");
    RULE(value->rank == 0, "the value is no scalar");
    RULE(value->dtype == node->type.dtype, "the value has another dtype");
    return 0;
}

static int
check_append(const Check *c, NodeId id, const Node *node)
{
    RULE(node->nargs >= 2 && arg_type(c, node, 0)->form == FORM_ARRAY, "only rows are appended to");
    const Type *rows = arg_type(c, node, 0);
    RULE(rows->rank == 1 && rows->dtype == DT_I64, "rows are two ints");
    RULE(type_same_layout(rows, &node->type), "the new version has another type");
    for (int k = 1; k < node->nargs; k++)
        RULE(arg_type(c, node, k)->rank == 0 && arg_type(c, node, k)->dtype != DT_OBJECT,
             "what is appended is no number");
    return 0;
}

/* What is done with a list that changes; see ops.def. */
static int
check_list(const Check *c, NodeId id, const Node *node)
{
    const Type *rows = arg_type(c, node, 0);
    if (node->op == OP_element_append) return check_append(c, id, node);
    RULE(rows->rank == 1 && rows->dtype == DT_I64 && rows->form == FORM_ARRAY, "rows are two ints");
    bool item = node->op == OP_element_item || node->op == OP_element_entry;
    bool put = node->op == OP_element_put, entry = node->op == OP_element_entry;
    bool unshift = node->op == OP_element_unshift;
    RULE(node->attrs.nints == 1 + item && node->attrs.ints[0] > 0, "an item has no words");
    RULE(!item || (node->attrs.ints[1] >= 0 && node->attrs.ints[1] < node->attrs.ints[0]),
         "an item has fewer words");
    RULE(!put || node->nargs == 2 + node->attrs.ints[0], "an item has another number of words");
    RULE(!op_is_of_dict(node->op) || node->attrs.ints[0] == 3, "an item of a dict has three words");
    RULE(node->op != OP_element_set || node->nargs == 5, "a pair has another number of words");
    RULE(!entry || node->nargs == 2 || node->nargs == 3, "an entry has a place");
    RULE(!unshift || node->nargs == 1 + node->attrs.ints[0], "an item has another number of words");
    RULE(!op_writes_element(node->op) || type_same_layout(rows, &node->type),
         "the new version has another type");
    RULE(op_writes_element(node->op) || node->type.rank == 0, "a number has no axes");
    for (int k = 1; k < node->nargs; k++)
        RULE(arg_type(c, node, k)->rank == 0 && arg_type(c, node, k)->dtype != DT_OBJECT,
             "an index, or what is stored, is no number");
    RULE(node->nargs < 2 || unshift || arg_type(c, node, 1)->dtype == DT_I64,
         "the index is no int");
    return 0;
}

static int
check_draw(const Check *c, NodeId id, const Node *node)
{
    const Type *stream = arg_type(c, node, 0);
    RULE(node->nargs >= 1 && stream->form == FORM_ARRAY, "only streams are drawn from");
    RULE(stream->rank == 1 && stream->dtype == DT_U64, "streams are words");
    if (node->op == OP_element_drawn) {
        RULE(graph_node(c->g, node->args[0])->op == OP_element_draw, "nothing has been drawn");
        RULE(node->type.rank == 0, "a number that is drawn has no axes");
        return 0;
    }
    RULE(type_same_layout(stream, &node->type), "the new version has another type");
    for (int k = 1; k < node->nargs; k++)
        RULE(arg_type(c, node, k)->rank == 0 && arg_type(c, node, k)->dtype != DT_OBJECT,
             "a draw takes what is no number");
    return 0;
}

/* That marks are nested like brackets is checked by check_marks. */
static int
check_jump(const Check *c, NodeId id, const Node *node)
{
    RULE(node->type.dtype == DT_OBJECT, "a mark has no value");
    RULE(node->op != OP_measure ||
             (arg_type(c, node, 0)->dtype == DT_I64 && arg_type(c, node, 0)->form == FORM_PYTHON),
         "what is measured is no int");
    if (node->op == OP_branch || node->op == OP_stay || node->op == OP_again)
        RULE(node->nargs > 0 && arg_type(c, node, 0)->dtype == DT_BOOL, "the condition is no bool");
    RULE(node->op != OP_join || node->nargs % 2 == 0, "a result has a value in one arm only");
    for (int i = 0; node->op == OP_join && i < node->nargs; i += 2)
        RULE(type_same_kind(arg_type(c, node, i), arg_type(c, node, i + 1)),
             "the arms' values differ in type");
    return 0;
}

/* Each device computes with its own memory. */
static int
check_device(const Check *c, NodeId id, const Node *node)
{
    OpKind kind = op_info(node->op)->kind;
    bool array = node->type.form == FORM_ARRAY;
    RULE(node->type.device < DEVICE_COUNT, "its device is unknown");
    RULE(array || node->type.device == DEVICE_HOST, "only arrays are on a device");
    if (kind == KIND_EXTERN || kind == KIND_JUMP || kind == KIND_REGION) return 0;
    for (int i = 0; i < node->nargs; i++)
        RULE(arg_type(c, node, i)->form != FORM_ARRAY ||
                 arg_type(c, node, i)->device == node->type.device,
             "an argument is on another device");
    return 0;
}

static int
check_product(const Check *c, NodeId id, const Node *node)
{
    int64_t flags = node->attrs.index;
    Product product;
    RULE(flags >= 0 && flags < 2 * PRODUCT_GELU &&
             (flags & (PRODUCT_RELU | PRODUCT_GELU)) != (PRODUCT_RELU | PRODUCT_GELU),
         "an unknown epilogue");
    RULE(node->nargs == 2 + !!(flags & PRODUCT_BIAS) + !!(flags & PRODUCT_RESIDUAL),
         "the number of arguments is wrong");
    for (int i = 0; i < node->nargs; i++)
        RULE(arg_type(c, node, i)->dtype == node->type.dtype, "its arguments have other dtypes");
    RULE(!(flags & PRODUCT_BIAS) || product_has_bias(c->g, node->args[2], &node->type),
         "its row cannot be added to each row");
    RULE(product_of_node(c->g, id, &product), "its matrices lie as no library takes them");
    return 0;
}

static int
check_kind(const Check *c, NodeId id, const Node *node)
{
    switch (op_info(node->op)->kind) {
    case KIND_INPUT: RULE(node->attrs.index >= 0, "an input has no number"); return 0;
    case KIND_CONST: RULE(node->attrs.object != NULL, "a constant has no value"); return 0;
    case KIND_POINTWISE: return check_pointwise(c, id, node);
    case KIND_UFUNC:
        RULE(node->attrs.object != NULL, "no ufunc");
        return check_elementwise(c, id, node);
    case KIND_REDUCTION: return check_reduction(c, id, node);
    case KIND_SCAN:
        RULE(node->attrs.index >= 0 && node->attrs.index < arg_type(c, node, 0)->rank,
             "the axis is out of range");
        RULE(type_same_shape(arg_type(c, node, 0), &node->type), "the result's shape is wrong");
        return 0;
    case KIND_VIEW: return check_view(c, id, node);
    case KIND_COPY:
        RULE(node->op != OP_copy || type_same_shape(arg_type(c, node, 0), &node->type),
             "the copy has another shape");
        RULE(node->type.offset == NO_SIZE || size_is_zero(c->g, node->type.offset),
             "the copy begins behind its start");
        for (int i = 0; i < node->nargs; i++)
            RULE(arg_type(c, node, i)->dtype == node->type.dtype, "the copy has another dtype");
        return 0;
    case KIND_GATHER:
        RULE(type_same_shape(arg_type(c, node, 0), &node->type), "the view has another shape");
        RULE(arg_type(c, node, 0)->dtype == node->type.dtype, "the view has another dtype");
        RULE(dtype_is_integer(arg_type(c, node, 1)->dtype), "its index is no integer");
        RULE(node->attrs.nints == 2 && node->attrs.ints[0] > 0, "no axis is indexed");
        return 0;
    case KIND_SCATTER: return check_scatter(c, id, node);
    case KIND_CHOICE: return check_choice(c, id, node);
    case KIND_FILL: return 0;
    case KIND_ATTENTION: return 0; /* check_attention */
    case KIND_PRODUCT: return check_product(c, id, node);
    case KIND_MATMUL:
        RULE(arg_type(c, node, 0)->dtype == node->type.dtype &&
                 arg_type(c, node, 1)->dtype == node->type.dtype,
             "the factors have other dtypes");
        return 0;
    case KIND_EXTERN: RULE(node->attrs.object != NULL, "nothing to call"); return 0;
    case KIND_RESULT: return check_result(c, id, node);
    case KIND_PYTHON:
        RULE(node->type.form == FORM_PYTHON, "Python's arithmetic gives Python's numbers");
        for (int i = 0; i < node->nargs; i++)
            RULE(arg_type(c, node, i)->rank == 0 && arg_type(c, node, i)->dtype != DT_OBJECT,
                 "an argument is no scalar");
        return 0;
    case KIND_ELEMENT:
        if (op_is_of_list(node->op)) return check_list(c, id, node);
        if (node->op == OP_element_draw || node->op == OP_element_drawn)
            return check_draw(c, id, node);
        return node->op == OP_element_dot ? check_dot(c, id, node) : check_element(c, id, node);
    case KIND_REGION: return 0; /* check_regions */
    case KIND_JUMP: return check_jump(c, id, node);
    }
    return broken(c, id, "unknown kind");
}

/* ---- nodes and regions ---- */

static int check_region(Check *c, RegionId id);

static int
check_carried(const Check *c, NodeId id, const Node *node)
{
    const Region *body = &c->g->regions.at[node->region[0]];
    int carried = node->nargs - 3;
    RULE(carried >= 0, "a loop needs start, stop and step");
    RULE(body->params.len == carried + 1, "a loop's params are its variable and what it carries");
    RULE(body->results.len == carried, "a loop gives as much as it carries");
    for (int i = 0; i < 3; i++)
        RULE(arg_type(c, node, i)->dtype == DT_I64 && arg_type(c, node, i)->rank == 0,
             "start, stop and step are ints");
    RULE(node->attrs.nints <= 1, "a loop leaves by one number");
    for (int i = 0; i < node->attrs.nints; i++)
        RULE(node->attrs.ints[i] >= 0 && node->attrs.ints[i] < carried &&
                 arg_type(c, node, 3 + (int)node->attrs.ints[i])->dtype == DT_I64,
             "the number by which it leaves is no int that is carried");
    for (int i = 0; i < carried; i++) {
        const Type *first = arg_type(c, node, 3 + i);
        RULE(type_same_kind(first, &graph_node(c->g, body->params.at[1 + i])->type),
             "a carried value's param has another type");
        RULE(type_same_kind(first, &graph_node(c->g, body->results.at[i])->type),
             "a carried value changes its type");
    }
    return 0;
}

static int
check_folded(const Check *c, NodeId id, const Node *node)
{
    const Region *body = &c->g->regions.at[node->region[0]];
    RULE(body->params.len == 1 && body->results.len == 1 && node->nargs == 3,
         "a reduction goes over a range and leaves a number in each iteration");
    for (int i = 0; i < 3; i++)
        RULE(arg_type(c, node, i)->dtype == DT_I64 && arg_type(c, node, i)->rank == 0,
             "start, stop and step are ints");
    return 0;
}

static int
check_arms(const Check *c, NodeId id, const Node *node)
{
    RULE(node->region[1] != NO_REGION, "a cond has two arms");
    RULE(node->nargs >= 1 && arg_type(c, node, 0)->dtype == DT_BOOL, "the condition is no bool");
    const Region *yes = &c->g->regions.at[node->region[0]];
    const Region *no = &c->g->regions.at[node->region[1]];
    RULE(yes->params.len == node->nargs - 1 && no->params.len == node->nargs - 1,
         "an arm's params are the cond's arguments");
    RULE(yes->results.len == no->results.len, "the arms differ in results");
    for (int i = 0; i < yes->results.len; i++)
        RULE(type_same_kind(&graph_node(c->g, yes->results.at[i])->type,
                            &graph_node(c->g, no->results.at[i])->type),
             "the arms' results differ in type");
    return 0;
}

static int
check_regions(Check *c, NodeId id, const Node *node)
{
    RULE(node->region[0] != NO_REGION, "it owns no region");
    RULE(node->type.dtype == DT_OBJECT, "its values are had by result nodes");
    for (int i = 0; i < 2 && node->region[i] != NO_REGION; i++) {
        RULE(node->region[i] > 0 && node->region[i] < c->g->regions.len, "no such region");
        RULE(c->g->regions.at[node->region[i]].owner == id, "its region has another owner");
        if (check_region(c, node->region[i]) < 0) return -1;
    }
    if (op_folds(node->op)) return check_folded(c, id, node);
    return node->op == OP_cond ? check_arms(c, id, node) : check_carried(c, id, node);
}

static int
check_attention(Check *c, NodeId id, const Node *node)
{
    bool back = node->op == OP_attention_back;
    int factors = back ? 4 : 3, rows = back ? 2 : 0;
    RULE(node->nargs >= factors + rows, "an attention has queries, keys and values");
    for (int i = factors; i < factors + rows; i++)
        RULE(arg_type(c, node, i)->dtype == DT_F32 &&
                 arg_type(c, node, i)->rank == node->type.rank - 1,
             "a gradient reads two numbers of each query");
    for (int i = 0; i < factors; i++)
        RULE(arg_type(c, node, i)->rank == node->type.rank &&
                 dtype_is_half(arg_type(c, node, i)->dtype),
             "its factors are not 16-bit arrays of its rank");
    RULE(attention_has_head(c->g, arg_type(c, node, 0), arg_type(c, node, 1), arg_type(c, node, 2)),
         "there is no kernel for its heads");
    RULE(node->region[0] > 0 && node->region[0] < c->g->regions.len, "it owns no region");
    const Region *scores = &c->g->regions.at[node->region[0]];
    RULE(scores->owner == id, "its region has another owner");
    RULE(scores->params.len == 3 + back && scores->results.len == 1 + back,
         "its region makes a score of an element and two indices");
    return check_region(c, node->region[0]);
}

static int
check_node(Check *c, NodeId id)
{
    const Graph *g = c->g;
    const Node *node = graph_node(g, id);
    RULE(node->op < OP_COUNT, "unknown op");
    const OpInfo *info = op_info(node->op);
    RULE(!c->placed[id], "it stands in two places");
    c->placed[id] = 1;
    RULE(info->arity < 0 || info->arity == node->nargs, "the number of arguments is wrong");
    for (int i = 0; i < node->nargs; i++) {
        RULE(node->args[i] >= 0 && node->args[i] < g->nodes.len, "an argument does not exist");
        RULE(c->visible[node->args[i]], "an argument is not defined before it");
    }
    RULE(node->storage >= 0 && node->storage < g->nodes.len, "its storage does not exist");
    RULE(info->kind == KIND_VIEW || node->storage == id, "only a view lies in another's storage");
    RULE(node->file >= 0 && node->file < g->files.len, "its file does not exist");
    if (check_type(c, id) < 0 || check_device(c, id, node) < 0 || check_kind(c, id, node) < 0)
        return -1;
    if (info->kind == KIND_REGION) return check_regions(c, id, node);
    if (info->kind == KIND_ATTENTION) return check_attention(c, id, node);
    RULE(node->region[0] == NO_REGION, "only loop and cond own regions");
    return 0;
}

static int
check_region(Check *c, RegionId id)
{
    const Region *region = &c->g->regions.at[id];
    for (int i = 0; i < region->params.len; i++) {
        NodeId param = region->params.at[i];
        if (graph_node(c->g, param)->attrs.index != i) return broken(c, param, "misnumbered param");
        if (check_node(c, param) < 0) return -1;
        c->visible[param] = 1;
    }
    for (int i = 0; i < region->nodes.len; i++) {
        if (check_node(c, region->nodes.at[i]) < 0) return -1;
        const Node *node = graph_node(c->g, region->nodes.at[i]);
        if (id != 0 && op_info(node->op)->kind == KIND_JUMP && node->op != OP_measure)
            return broken(c, region->nodes.at[i], "arms are laid out in the top region only");
        c->visible[region->nodes.at[i]] = 1;
    }
    for (int i = 0; i < region->results.len; i++)
        if (!c->visible[region->results.at[i]])
            return broken(c, region->results.at[i], "a result is not defined in its region");
    if (id == 0) return 0; /* check_ends still needs the top region's nodes */
    for (int i = 0; i < region->params.len; i++) c->visible[region->params.at[i]] = 0;
    for (int i = 0; i < region->nodes.len; i++) c->visible[region->nodes.at[i]] = 0;
    return 0;
}

/* branch … otherwise … join and enter … stay … again, nested like brackets. `placed` is not needed
   any more and serves as the stack. */
static int
check_marks(const Check *c)
{
    const Region *top = &c->g->regions.at[0];
    uint8_t *arm = c->placed;
    int depth = 0;
    for (int i = 0; i < top->nodes.len; i++) {
        NodeId id = top->nodes.at[i];
        Op op = graph_node(c->g, id)->op;
        if (op == OP_branch) arm[depth++] = 0;
        if (op == OP_otherwise) RULE(depth > 0 && arm[depth - 1]++ == 0, "no branch is before it");
        if (op == OP_join) RULE(depth > 0 && arm[--depth] == 1, "no other arm is before it");
        if (op == OP_enter) arm[depth++] = 2;
        if (op == OP_stay) RULE(depth > 0 && arm[depth - 1]++ == 2, "no loop is entered before it");
        if (op == OP_again) RULE(depth > 0 && arm[--depth] == 3, "no stay is before it");
    }
    return depth == 0 ? 0
                      : broken(c, top->nodes.at[top->nodes.len - 1],
                               "a branch has no join, or a loop no end");
}

static int
check_ends(const Check *c)
{
    const Graph *g = c->g;
    for (int i = 0; i < g->inputs.len; i++) {
        NodeId id = g->inputs.at[i];
        RULE(c->visible[id], "an input is not in the top region");
        RULE(graph_node(g, id)->op == OP_input, "an input is no input node");
        RULE(graph_node(g, id)->attrs.index == i, "an input is misnumbered");
    }
    for (int i = 0; i < g->outputs.len; i++) {
        NodeId id = g->outputs.at[i].node;
        RULE(id >= 0 && id < g->nodes.len && c->visible[id], "an output is not in the top region");
        NodeId root = g->outputs.at[i].root;
        RULE(root >= 0 && root < g->nodes.len, "an output's root does not exist");
    }
    return 0;
}

int
graph_verify(const Graph *g)
{
    Check c = {g, mem_alloc((size_t)g->nodes.len + 1), mem_alloc((size_t)g->nodes.len + 1)};
    int status = c.visible == NULL || c.placed == NULL ? -1 : check_region(&c, 0);
    if (status == 0) status = check_ends(&c);
    if (status == 0) status = check_marks(&c);
    mem_free(c.visible);
    mem_free(c.placed);
    return status;
}
