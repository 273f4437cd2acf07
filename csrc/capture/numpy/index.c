/* Subscripts of arrays that are read.
   Basic indexing (ints, slices, Ellipsis, None) is a view; ints for all axes give an array scalar.
   Reads with integer arrays or masks are calls of NumPy when the plan runs; the shape of a masked
   result depends on the data. */
#include "index.h"

/* An index of integers, some of which are not known: it gives a view, where it does not name one
   element.  The first such integer; NULL: it is another index. */
static Value *
unknown_place(Interp *in, const Type *from, const Item *items, int n)
{
    Value *first = NULL;
    int taken = 0;
    for (int i = 0; i < n; i++) {
        bool number = items[i].kind == ITEM_ARRAY && value_is_number(in, items[i].value);
        if (items[i].kind >= ITEM_MASK && !number) return NULL;
        if (number && first == NULL) first = items[i].value;
        taken += number || items[i].kind == ITEM_INT;
    }
    return taken < from->rank ? first : NULL;
}

static Answer
told_mask(Interp *in)
{
    Answer answer = interp_break_told(in, BREAK_INDEX, BREAK_DATA_SIZE, "a mask as index");
    if (in->told.code == BREAK_DATA_SIZE) in->told.hint = HINT_MASK;
    return answer;
}

/* In a turn: array[index], of memory in NumPy's order, the layout that NumPy's result has then. It
   may be as long as turns make it.  ANSWER_NO: another index, or another layout. */
static Answer
taken(Interp *in, NodeId array, const Item *items, int n, NodeId *out)
{
    Graph *g = in->graph;
    if (!sizes_may_vary(in) || n != 1) return ANSWER_NO;
    NodeId args[2] = {array};
    TRY(operand(in, items[0].value, &args[1]));
    Type from = node_type(in, array), by = node_type(in, args[1]), type;
    if (from.device != DEVICE_HOST || by.form != FORM_ARRAY || by.dtype == DT_U64) return ANSWER_NO;
    TRY(node_cast(in, args[1], DT_I64, &args[1]));
    by = node_type(in, args[1]);
    bool dense = type_is_contiguous(g, &by) && (from.rank == 1 || type_is_contiguous(g, &from));
    if (!dense || by.rank + from.rank - 1 > MAX_RANK) return ANSWER_NO;
    SizeId shape[2 * MAX_RANK];
    for (int i = 0; i < by.rank; i++) shape[i] = by.shape[i];
    for (int i = 1; i < from.rank; i++) {
        bool some = size_is_const(g, from.shape[i]) && size_value(g, from.shape[i]) > 0;
        if (!some) return ANSWER_NO; /* of rows without elements NumPy looks at no index */
        shape[by.rank + i - 1] = from.shape[i];
    }
    Attrs attrs = {.object = module_kept(in, "pycompile._C", "array_select")};
    if (attrs.object == NULL ||
        type_contiguous(g, &type, (DType)from.dtype, by.rank + from.rank - 1, shape) < 0)
        return ANSWER_ERROR;
    TRY_NODE(*out, graph_add(g, in->region, OP_take, 2, args, &type, &attrs));
    return ANSWER_YES;
}

static Answer
advanced_read(Interp *in, NodeId array, Value *key, const Item *items, int n, NodeId *out)
{
    for (int i = 0; i < n; i++)
        if (items[i].kind == ITEM_MASK) return told_mask(in);
    Answer by_rows = taken(in, array, items, n, out);
    if (by_rows != ANSWER_NO) return by_rows;
    Type from = node_type(in, array);
    Value *number = unknown_place(in, &from, items, n);
    if (number != NULL)
        return interp_break_told(in, BREAK_INDEX, break_of_index(in, number),
                                 "a view of an array that is made or written here");
    NodeId args[MAX_ITEMS + 2];
    PyObject *template;
    int narrays;
    TRY(key_template(in, key, items, n, &template, &narrays, args + 2));
    PyObject *function = numpy_step(in, "take");
    if (function == NULL) return ANSWER_ERROR;
    TRY_NODE(args[0], node_object(in, template));
    args[1] = array;
    return node_trial(in, function, narrays + 2, args, NULL, out);
}

/* Does the index contain a boolean array, whose number of true elements is the result's length? A
   list that contains itself does not. */
static bool
key_has_mask(Interp *in, Value *key, int depth)
{
    if (depth > MAX_RANK) return false;
    if (key->kind == V_TUPLE || key->kind == V_LIST) {
        for (int i = 0; i < key->nitems; i++) {
            Value *item = value_item(in, key, i);
            if (item != NULL && key_has_mask(in, item, depth + 1)) return true;
        }
        return false;
    }
    return key->kind == V_NODE && node_type(in, key->node).dtype == DT_BOOL;
}

/* A mask has the lengths of the axes that it selects from. */
static Answer
mask_fits(Interp *in, NodeId array, NodeId mask)
{
    Type from = node_type(in, array), by = node_type(in, mask);
    for (int i = 0; i < by.rank && i < from.rank; i++)
        if (!size_is_const(in->graph, from.shape[i]) || !size_is_const(in->graph, by.shape[i]))
            TRY(sizes_assert_same(in, from.shape[i], by.shape[i]));
    return ANSWER_YES;
}

static Answer
subscript_node(Interp *in, Value *array, Value *key, Value **out)
{
    NodeId node, result;
    TRY(array_operand(in, array, &node));
    if (node_type(in, node).form != FORM_ARRAY)
        return interp_break(in, BREAK_INDEX, "a subscript of a scalar");
    bool element;
    Answer answer = node_index(in, node, key, &element, &result);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_YES) {
        if (element) TRY(node_form(in, result, FORM_SCALAR, &result));
        return push_node(in, result, out);
    }
    Item items[MAX_ITEMS];
    NodeId mask;
    int n;
    bool advanced;
    TRY(key_parse(in, key, items, &n, &advanced));
    answer = key_mask(in, items, n, &mask);
    if (answer == ANSWER_YES) TRY(mask_fits(in, node, mask));
    if (answer == ANSWER_YES) answer = masked_read(in, node, mask, out);
    if (answer != ANSWER_NO) return answer;
    TRY(advanced_read(in, node, key, items, n, &result));
    return push_node(in, result, out);
}

Answer
key_placed_view(Interp *in, Value *array, Value *key, bool *placed, Type *part)
{
    if (!value_is_array(in, array)) return ANSWER_NO;
    NodeId node;
    TRY(array_operand(in, array, &node));
    Type from = node_type(in, node);
    Item items[MAX_ITEMS];
    BasicIndex index;
    int n;
    bool advanced;
    TRY(key_parse(in, key, items, &n, &advanced));
    *placed = unknown_place(in, &from, items, n) != NULL;
    if (advanced && (!*placed || !type_is_known(in->graph, &from))) return ANSWER_NO;
    for (int i = 0; i < n; i++)
        if (items[i].kind == ITEM_ARRAY)
            items[i] = (Item){.kind = ITEM_INT, .start = size_const(in->graph, 0)};
    TRY(key_view(in, &from, items, n, &index));
    *part = index.type;
    if (*placed) part->offset = NO_SIZE;
    return ANSWER_YES;
}

Answer
emit_subscript(Interp *in, Value *array, Value *key, Value **out)
{
    VARYING(in, made, subscript_node(in, array, key, out));
    if (made != ANSWER_BREAK) return made;
    Answer answer;
    Value *args[2] = {array, key};
    WholeCall call = {.callable = module_kept(in, "operator", "getitem"), .nargs = 2, .args = args};
    if (call.callable == NULL) return ANSWER_ERROR;
    call.opaque = key_has_mask(in, key, 0);
    Type part;
    BreakNote note = break_take(in);
    in->memory.varies = VARIES_SYMBOLS; /* it only looks */
    bool placed;
    Answer view = key_placed_view(in, array, key, &placed, &part);
    in->memory.varies = varied_;
    if (view == ANSWER_ERROR) return view;
    break_take(in);
    call.placed = view == ANSWER_YES && placed;
    call.fixed = key_gathers(in, key);
    break_put(in, &note);
    answer = call_whole_instead(in, &call, out);
    if (answer == ANSWER_YES && call.placed && place_note(in, *out, array, key, &part) < 0)
        return ANSWER_ERROR;
    return answer;
}
