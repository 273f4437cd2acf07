/* `items.append(x)` in a kept loop, of numbers and of tuples of numbers, to lists from before it.

   The loop carries an array of two ints for each such list, which element_append makes new versions
   of (graph/graph.h).  What is appended is known behind the loop alone: a step of the plan makes a
   list of it, and an effect extends the program's list by that, at commit.  From the loop on
   nothing is known of the list's items (V_GROWN): whatever else the program does with it ends the
   graph.

   As an array that a called function writes, a list is found at the first append, and is learnt;
   the next attempt carries it (loop_written.c). */
#include "loop.h"

#include "../../arrays/arrays.h"
#include "../../config.h"

static const int64_t MANY = INT64_C(1) << 40;

bool
loop_is_list(Interp *in, Value *value)
{
    return value->kind == V_LIST || value->kind == V_GROWN ||
           (value->kind == V_OBJECT &&
            (value_type(in, value) == &PyList_Type || deque_check(value->object)));
}

/* ---- where the loop begins ---- */

int
loop_list_number(const Loop *loop, const Value *list)
{
    for (int i = 0; i < loop->narrays; i++)
        if (loop->list[i] != NULL && loop_is_same(loop->list[i], list)) return i;
    return -1;
}

/* The array of a list of which nothing has been appended. */
static Answer
empty_rows(Interp *in, Value **out)
{
    Type type;
    SizeId two = size_const(in->graph, 2);
    NodeId zero = node_int(in, 0, DT_I64), node;
    if (two == NO_SIZE || zero == NO_NODE || type_contiguous(in->graph, &type, DT_I64, 1, &two) < 0)
        return ANSWER_ERROR;
    node = graph_add(in->graph, in->region, OP_full, 1, &zero, &type, NULL);
    *out = node == NO_NODE ? NULL : value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A few turns are unrolled: what is in the list is known then. */
static bool
is_short(Interp *in, const Value *iterator)
{
    enum { FEW = 32 };
    int64_t ends[3];
    if (iterator == NULL || !loop_is_range(iterator)) return false;
    for (int i = 0; i < 3; i++)
        if (iterator->walked->items[i]->kind != V_CONST ||
            value_as_int(in, iterator->walked->items[i], &ends[i]) != ANSWER_YES)
            return false;
    return ends[2] != 0 && ends[0] > -MANY && ends[0] < MANY && ends[1] > -MANY && ends[1] < MANY &&
           (ends[1] - ends[0]) / ends[2] <= FEW;
}

/* May the list get longer?  A deque that is not opened, by the guard. */
static Answer
is_open_ended(Interp *in, const Value *list)
{
    Guard guard = {.kind = GUARD_MOST, .source = list->source, .other = NO_SOURCE, .low = -1};
    if (list->kind != V_OBJECT || !deque_check(list->object)) return ANSWER_YES;
    if (deque_most(list->object) >= 0) return ANSWER_NO;
    return guard_add(in, &guard) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* The items are values of a graph that is differentiated: what a list of words hands on is known to
   no tape. */
static bool
items_are_values(const Interp *in)
{
    const Config *config = in->request->config;
    return config != NULL && config->capture_all && config->backend_call != NULL;
}

Answer
loop_carry_list(Interp *in, Body *b, Value *list, const LoopWrite *learnt)
{
    Loop *loop = b->loop;
    int number = loop_list_number(loop, list);
    if (number >= 0 && find(b->array, b->narrays, number) >= 0) return ANSWER_YES;
    if (b->narrays == MOST || loop->narrays == LOOP_ARRAYS)
        return loop_not_kept(in, b->scan.number, "it writes too many arrays and lists");
    if (number < 0) {
        if (in->loop != NULL) return loop_not_kept(in, b->scan.number, "it makes a list longer");
        if (items_are_values(in))
            return loop_not_kept(in, b->scan.number, "it makes a list longer, in a derivative");
        if (is_short(in, b->iterator))
            return loop_not_kept(in, b->scan.number, "it makes a list longer, by a few turns");
        Answer answer = is_open_ended(in, list);
        if (answer == ANSWER_ERROR) return answer;
        if (answer == ANSWER_NO)
            return loop_not_kept(in, b->scan.number, "it changes a deque that has a maxlen");
        number = loop->narrays;
        loop->list[number] = list;
        memset(&loop->form[number], 0, sizeof(RowsForm));
        TRY(container_resizes(in, list));
        answer = learnt->changes ? loop_open_list(in, loop, number, list, learnt)
                                 : empty_rows(in, &loop->array[number]);
        if (answer == ANSWER_NO)
            return loop_not_kept(in, b->scan.number,
                                 "it changes a list of what are no numbers of one type");
        if (answer != ANSWER_YES) return answer;
        TRY(container_changes(in, list));
        loop->version[number] = loop->array[number]->node;
        loop->narrays++;
    }
    b->args[3 + b->ncarried + b->narrays] = loop->version[number];
    b->array[b->narrays++] = number;
    return ANSWER_YES;
}

Answer
loop_carry_stream(Interp *in, Body *b, Value *generator)
{
    Loop *loop = b->loop;
    int number = loop_list_number(loop, generator);
    if (number >= 0 && find(b->array, b->narrays, number) >= 0) return ANSWER_YES;
    if (b->narrays == MOST || loop->narrays == LOOP_ARRAYS)
        return loop_not_kept(in, b->scan.number, "it writes too many arrays and draws");
    if (number < 0) {
        if (in->loop != NULL) return loop_not_kept(in, b->scan.number, "it draws random numbers");
        number = loop->narrays;
        TRY(draws_open(in, generator, &loop->array[number]));
        loop->list[number] = generator;
        loop->version[number] = loop->array[number]->node;
        loop->narrays++;
    }
    b->args[3 + b->ncarried + b->narrays] = loop->version[number];
    b->array[b->narrays++] = number;
    return ANSWER_YES;
}

Answer
loop_close_streams(Interp *in, const Loop *loop, StreamsClosed *closed)
{
    enum { FEW = 16, FEW_OF_PYTHON = 96 }; /* turns in which CPython draws a number */
    for (int i = 0; i < loop->narrays; i++) {
        if (loop->list[i] == NULL || !value_can_draw(in, loop->list[i])) continue;
        Value *stream = value_node(in, loop->version[i]);
        if (stream == NULL) return ANSWER_ERROR;
        TRY(draws_close(in, loop->list[i], stream));
        closed->count++;
        closed->few += draw_class(in, loop->list[i]) == DRAWS_PYTHON ? FEW_OF_PYTHON : FEW;
    }
    return ANSWER_YES;
}

void
loop_lists_grow(const Body *b)
{
    for (int i = 0; i < b->narrays; i++) {
        Value *list = b->loop->list[b->array[i]];
        bool changes = b->loop->form[b->array[i]].tagged;
        bool object = list != NULL && list->kind == V_OBJECT && !deque_check(list->object);
        if (list != NULL && list->kind == V_DICT) list->kind = V_GROWN_DICT;
        if (list != NULL && (list->kind == V_LIST || (changes && object))) list->kind = V_GROWN;
    }
}

/* ---- in its body ---- */

static Answer
not_appended(Interp *in, const char *why)
{
    return interp_break(in, BREAK_UNROLL, "%s", why);
}

/* Was the list made before the outermost loop? */
bool
loop_is_from_before(const Interp *in, const Value *list)
{
    const Turn *turn = in->turn;
    while (turn->around != NULL) turn = turn->around;
    if (list->source != NO_SOURCE || list->kind == V_GROWN || list->kind == V_GROWN_DICT)
        return true;
    for (int i = 0; i < turn->made; i++)
        if (in->attempt.values.at[i] == list) return true;
    return false;
}

Answer
loop_item_nodes(Interp *in, Value *item, RowsForm *form, NodeId *nodes)
{
    Value *number[ROWS_NUMBERS] = {item};
    *form = (RowsForm){.tuple = item->kind == V_TUPLE, .numbers = 1};
    if (form->tuple) {
        if (item->type != NULL && item->type != &PyTuple_Type) return ANSWER_NO;
        if (item->nitems < 1 || item->nitems > ROWS_NUMBERS || item->items == NULL)
            return ANSWER_NO;
        form->numbers = (uint8_t)item->nitems;
        for (int i = 0; i < item->nitems; i++)
            if ((number[i] = value_item(in, item, i)) == NULL) return ANSWER_ERROR;
    }
    for (int i = 0; i < form->numbers; i++) {
        if (!value_is_number(in, number[i])) return ANSWER_NO;
        TRY(value_as_unpinned_node(in, number[i], &nodes[i]));
        const Type *type = &graph_node(in->graph, nodes[i])->type;
        if (type->rank != 0 || type->form == FORM_ARRAY || type->dtype == DT_OBJECT)
            return ANSWER_NO;
        form->number[i].dtype = type->dtype;
        form->number[i].python = type->form == FORM_PYTHON;
    }
    return ANSWER_YES;
}

static const char *
form_text(Interp *in, const RowsForm *form)
{
    if (form->tuple) return arena_printf(in->arena, "a tuple of %d numbers", form->numbers);
    const char *name = dtype_long_name((DType)form->number[0].dtype);
    return arena_printf(in->arena, "%s%s", form->number[0].python ? "Python's " : "numpy.", name);
}

/* The words of an item of a list to which the loop only appends. */
static Answer
plain_words(Interp *in, int number, const RowsForm *form)
{
    RowsForm *of_list = &in->loop->form[number];
    if (of_list->numbers == 0) *of_list = *form;
    if (memcmp(of_list, form, sizeof *form) == 0) return ANSWER_YES;
    return interp_break(in, BREAK_UNROLL,
                        "it appends items of different types to one list: %s and %s",
                        form_text(in, of_list), form_text(in, form));
}

Answer
loop_append(Interp *in, Value *list, Value *item)
{
    NodeId args[2 + ROWS_NUMBERS];
    RowsForm form;
    bool moved = false;
    if (!loop_is_list(in, list)) return ANSWER_NO;
    if (!loop_is_from_before(in, list))
        return not_appended(in, "it makes a list longer that it has made itself");
    Answer answer = loop_item_nodes(in, item, &form, args + 1);
    if (answer == ANSWER_NO)
        return not_appended(in, "it appends what is no number, or tuple of a few, to a list");
    if (answer != ANSWER_YES) return answer;
    TRY(loop_writes(in, list));
    Loop *loop = in->loop;
    int number = loop_list_number(loop, list);
    bool tagged = loop->form[number].tagged;
    TRY(tagged ? loop_list_words(in, number, item, args + 1, &moved)
               : plain_words(in, number, &form));
    args[0] = loop->version[number];
    Type type = graph_node(in->graph, args[0])->type;
    NodeId node = graph_add(in->graph, in->region, OP_element_append, 1 + tagged + form.numbers,
                            args, &type, NULL);
    if (node == NO_NODE || (moved && VEC_PUSH(in->arena, &loop->moved, node) < 0))
        return ANSWER_ERROR;
    loop->version[number] = node;
    return ANSWER_YES;
}

/* ---- behind the outermost one ---- */

/* What loops have appended becomes objects. */
static Answer
appended_leave(Interp *in, const Loop *loop)
{
    for (NodeId id = 0; id < in->graph->nodes.len; id++) {
        const Node *node = graph_node(in->graph, id);
        bool adds = op_is_of_list(node->op) && op_writes_element(node->op);
        for (int k = 1; adds && !loop_moves(loop, id) && k < node->nargs; k++)
            TRY(series_item_leaves(in, node->args[k]));
    }
    return ANSWER_YES;
}

static Answer
extend_list(Interp *in, const Loop *loop, int number)
{
    Type type = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    PyObject *sample = keep(in, PyList_New(0)),
             *name = keep(in, PyUnicode_InternFromString("extend"));
    PyObject *callable = keep(in, array_rows_callable(&loop->form[number]));
    Value *args[2] = {model_holder(in, loop->list[number])};
    NodeId node;
    if (sample == NULL || name == NULL || callable == NULL) return ANSWER_ERROR;
    TRY(node_extern(in, callable, 1, &loop->version[number], &type, &node));
    TRY(object_value(in, node, sample, &args[1]));
    return effect_add(in, EFFECT_METHOD, name, NO_SOURCE, 2, args) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static bool
has_loops(const Graph *g, RegionId id)
{
    const Region *body = &g->regions.at[id];
    for (int i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->op == OP_loop) return true;
        for (int r = 0; r < 2; r++)
            if (node->region[r] != NO_REGION && has_loops(g, node->region[r])) return true;
    }
    return false;
}

/* CPython appends a few items in less time than a plan takes to make lists of them, and draws a few
   numbers in less than the state of the generator is copied: it is guarded whether the turns are
   few. */
static Answer
tell_few(Interp *in, const Body *b, int lists, const StreamsClosed *closed)
{
    enum { FEW = 4, FEW_FOR_ANOTHER = 12 };
    int64_t step;
    bool many = true;
    Value *range, *more, *test;
    long turns = closed->few + (lists > 0 ? FEW + FEW_FOR_ANOTHER * (lists - 1) : 0);
    if (turns == 0 || b->iterator == NULL || has_loops(in->graph, b->region)) return ANSWER_YES;
    TRY(loop_range(in, b->iterator, &range));
    Answer answer = value_as_int(in, range->items[2], &step);
    if (answer != ANSWER_YES || step != 1) return answer == ANSWER_ERROR ? answer : ANSWER_YES;
    more = value_const_new(in, PyLong_FromLong(turns));
    if (more == NULL) return ANSWER_ERROR;
    TRY(operate_binary(in, OPERATOR_ADD, range->items[0], more, &more));
    TRY(operate_compare(in, Py_LT, more, range->items[1], &test));
    answer = condition_known(in, test, &many);
    FewTurns few = {.loop = b->node, .lists = lists + closed->count};
    return answer == ANSWER_ERROR ||
                   (answer == ANSWER_YES && !many && VEC_PUSH(in->arena, &in->out->few, few) < 0)
               ? ANSWER_ERROR
               : ANSWER_YES;
}

Answer
loop_extend_lists(Interp *in, const Body *b, const StreamsClosed *closed)
{
    const Loop *loop = b->loop;
    int lists = 0;
    for (int i = 0; i < loop->narrays; i++) {
        if (loop->list[i] == NULL || (loop->form[i].numbers == 0 && !loop->form[i].tagged))
            continue;
        if (loop->form[i].numbers == 0)
            return loop_unkept(in, b->scan.number, "it takes items of an empty list");
        if (lists == 0) TRY(appended_leave(in, loop));
        TRY(loop->form[i].tagged ? loop_close_list(in, loop, i) : extend_list(in, loop, i));
        lists++;
    }
    return tell_few(in, b, lists, closed);
}
