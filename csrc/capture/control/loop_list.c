/* Lists of numbers, and of tuples of numbers, that a kept loop changes: as tables, as stacks.

     while stack: at = stack.pop(); …; stack.append(target[k])
     ways[total] = (ways[total] + ways[total - coin]) % m

   As of a list to which a loop only appends (loop_append.c), the loop carries an array of two ints,
   of which element_append, element_put and element_pop make new versions.  Here the words of all
   items are in its memory, from before the loop on: steps read the program's list and make the
   first version (array_list_opened in arrays/rows.c), and behind the loop a step makes the list
   that it is then, with the objects themselves of items that were there before.  An effect gives
   the program's list these items, so that nothing is seen of a run that is undone.

   A word before an item's numbers, its tag, says which object it was, and of which class numbers
   are that may be Python's or NumPy's (`stack = [0]`, to which elements are appended): such a
   number is one of loop_either.c.  An item that is read and stored in the same list takes the tag
   with it.  One that leaves otherwise as an object has to be that object: then loops leave lists
   alone (Marks.no_lists).

   That a list changes otherwise than by appends is found where that is done, or where an item is
   read at an index that only the run tells, and learnt; the next attempt carries it. */
#include "loop.h"

#include "../../arrays/arrays.h"
#include "../../config.h"

static const char NO_NUMBERS[] = "items of a list that are no numbers of one type";

/* ---- forms ---- */

bool
loop_form_join(RowsForm *form, const RowsForm *other)
{
    if (other->numbers == 0) return true;
    if (form->numbers == 0) {
        *form = *other;
        return true;
    }
    if (form->tuple != other->tuple || form->numbers != other->numbers) return false;
    for (int i = 0; i < form->numbers; i++) {
        bool either = form->number[i].either || other->number[i].either ||
                      form->number[i].python != other->number[i].python;
        if (form->number[i].dtype != other->number[i].dtype) return false;
        form->number[i].either = either;
        form->number[i].python |= other->number[i].python;
    }
    return true;
}

bool
loop_form_fits(const RowsForm *form)
{
    for (int i = 0; i < form->numbers; i++) {
        DType dtype = (DType)form->number[i].dtype;
        if (dtype_is_complex(dtype) || dtype_size(dtype) > 8 ||
            (form->number[i].python && dtype != DT_I64 && dtype != DT_F64))
            return false;
    }
    return true;
}

static bool
is_from_outside(const Value *list)
{
    return list->source != NO_SOURCE && !list->mutated && list->object != NULL &&
           (PyList_CheckExact(list->object) || deque_check(list->object));
}

/* The form of what is in the list where the loop begins; NO: it has none. */
static Answer
form_of_list(Interp *in, Value *list, RowsForm *out)
{
    RowsForm form;
    NodeId nodes[ROWS_NUMBERS];
    bool outside = is_from_outside(list);
    PyObject *items = outside ? keep(in, PySequence_Tuple(list->object)) : NULL;
    if (outside && items == NULL) return ANSWER_ERROR;
    Py_ssize_t count = outside ? PyTuple_GET_SIZE(items) : list->nitems;
    if (!outside && list->kind != V_LIST) return ANSWER_NO;
    for (Py_ssize_t i = 0; i < count; i++) {
        Value *item = outside ? NULL : value_item(in, list, (int)i);
        if (!outside && item == NULL) return ANSWER_ERROR;
        if (outside || item->kind == V_CONST) {
            PyObject *known = outside ? PyTuple_GET_ITEM(items, i) : item->object;
            if (!array_rows_form_of(known, &form)) return ANSWER_NO;
        } else {
            TRY(loop_item_nodes(in, item, &form, nodes));
        }
        if (!loop_form_fits(&form) || !loop_form_join(out, &form)) return ANSWER_NO;
    }
    out->tagged = true;
    return ANSWER_YES;
}

/* ---- where the loop begins ---- */

/* Is the object the only one of its value, as far as the program can tell? */
static bool
is_small_int(PyObject *object)
{
    int overflow = 0;
    long number = PyLong_CheckExact(object) ? PyLong_AsLongAndOverflow(object, &overflow) : 1000;
    return overflow == 0 && number >= -5 && number <= 256;
}

/* Are the items such, or made by the graph? */
static bool
is_fresh(const Value *list)
{
    for (int i = 0; i < list->nitems; i++) {
        const Value *item = list->items[i];
        if (item->kind == V_TUPLE) return false;
        if (item->kind == V_CONST ? !is_small_int(item->object) : item->source != NO_SOURCE)
            return false;
    }
    return true;
}

static bool
is_const(const Value *item)
{
    for (int i = 0; item->kind == V_TUPLE && i < item->nitems; i++)
        if (item->items[i] == NULL || item->items[i]->kind != V_CONST) return false;
    return item->kind == V_TUPLE || item->kind == V_CONST;
}

/* How often the value is among those. */
static int
count_of(const Value *value, int count, Value *const *among)
{
    int found = 0;
    for (int i = 0; i < count; i++) found += among[i] == value;
    return found;
}

/* Is the tuple, which the graph makes, nowhere but in the list? */
static bool
is_alone(const Interp *in, const Value *tuple)
{
    int found = 0;
    for (const Activation *a = in->top; a != NULL; a = a->caller)
        if (a->slots != NULL)
            found += 2 * count_of(tuple, a->decoded->nlocalsplus + a->depth, a->slots);
    for (int i = 0; i < in->attempt.values.len; i++) {
        const Value *value = in->attempt.values.at[i];
        if (value->items != NULL) found += count_of(tuple, value->nitems, value->items);
        found += 2 * (value->of == tuple);
    }
    for (int i = 0; i < in->writes.effects.len; i++) {
        const Effect *effect = &in->writes.effects.at[i];
        found += 2 * count_of(tuple, effect->nargs, effect->args);
    }
    return tuple->source == NO_SOURCE && found == 1;
}

/* The items as a tuple; NULL: not all are known, or the error is set. */
static PyObject *
known_items(Interp *in, const Value *list)
{
    PyObject *items = keep(in, PyTuple_New(list->nitems));
    for (int i = 0; items != NULL && i < list->nitems; i++) {
        PyObject *known;
        if (!is_const(list->items[i]) || value_known(in, list->items[i], &known) != ANSWER_YES)
            return NULL;
        PyTuple_SET_ITEM(items, i, Py_NewRef(known));
    }
    return items;
}

Answer
loop_object_step(Interp *in, PyObject *callable, int nargs, const NodeId *args, NodeId *out)
{
    Type type = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    if (keep(in, callable) == NULL) return ANSWER_ERROR;
    return node_extern(in, callable, nargs, args, &type, out);
}

static Answer
open_outside(Interp *in, Value *list, const RowsForm *form, NodeId *out)
{
    Value *object;
    PyObject *sample = keep(in, PyList_New(0));
    if (sample == NULL) return ANSWER_ERROR;
    TRY(object_input(in, list, sample, &object));
    return loop_object_step(in, array_list_open_callable(form), 1, &object->node, out);
}

/* A list that the graph makes, or has changed. */
static Answer
open_made(Interp *in, Value *list, const RowsForm *form, NodeId *out)
{
    enum { MOST_ARGS = 64 };
    NodeId nodes[MOST_ARGS];
    RowsForm ignored;
    PyObject *items = known_items(in, list);
    if (items != NULL) {
        PyObject *opened = keep(in, array_list_opened(form, items));
        if (opened == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            return ANSWER_NO;
        }
        *out = opened != NULL ? node_object(in, opened) : NO_NODE;
        return *out == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
    }
    if (PyErr_Occurred()) return ANSWER_ERROR;
    int count = list->nitems * form->numbers;
    if (count > MOST_ARGS) return ANSWER_NO;
    for (int i = 0; i < list->nitems; i++) {
        if (form->tuple && !is_alone(in, list->items[i])) return ANSWER_NO;
        TRY(loop_item_nodes(in, list->items[i], &ignored, &nodes[i * form->numbers]));
    }
    return loop_object_step(in, array_list_gather_callable(form), count, nodes, out);
}

Answer
loop_open_list(Interp *in, Loop *loop, int number, Value *list, const LoopWrite *learnt)
{
    RowsForm *form = &loop->form[number];
    Type type;
    SizeId two = size_const(in->graph, 2);
    NodeId node;
    const Config *config = in->request->config;
    if (config != NULL && config->backend_call != NULL) return ANSWER_NO;
    *form = learnt->form;
    bool dict = loop_is_dict(list);
    Answer answer =
        dict ? loop_open_dict(in, list, form, &loop->opened[number]) : form_of_list(in, list, form);
    if (answer == ANSWER_YES && !dict)
        answer = is_from_outside(list) ? open_outside(in, list, form, &loop->opened[number])
                                       : open_made(in, list, form, &loop->opened[number]);
    if (answer != ANSWER_YES) return answer;
    loop->fresh[number] = !is_from_outside(list) && is_fresh(list);
    PyObject *begin = keep(in, array_list_begin_callable());
    if (begin == NULL || two == NO_SIZE || type_contiguous(in->graph, &type, DT_I64, 1, &two) < 0)
        return ANSWER_ERROR;
    TRY(node_extern(in, begin, 1, &loop->opened[number], &type, &node));
    loop->array[number] = value_node(in, node);
    return loop->array[number] == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- behind it ---- */

/* At commit: list[:] = items. */
static Answer
fill_list(Interp *in, Value *list, Value *items)
{
    Value *none = value_const(in, Py_None), *bounds[3] = {none, none, none};
    Value *all[3] = {list, none != NULL ? value_sequence(in, V_SLICE, 3, bounds) : NULL, items};
    if (all[1] == NULL) return ANSWER_ERROR;
    int failed = effect_add(in, EFFECT_STORE_ITEM, NULL, NO_SOURCE, 3, all);
    return failed < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* At commit: deque.clear(), deque.extend(items).  One that the graph makes is made empty. */
static Answer
fill_deque(Interp *in, Value *deque, Value *items)
{
    PyObject *clear = keep(in, PyUnicode_InternFromString("clear")),
             *extend = keep(in, PyUnicode_InternFromString("extend"));
    Value *all[2] = {deque, items};
    if (clear == NULL || extend == NULL) return ANSWER_ERROR;
    int failed = effect_add(in, EFFECT_METHOD, clear, NO_SOURCE, 1, all) < 0 ||
                 effect_add(in, EFFECT_METHOD, extend, NO_SOURCE, 2, all) < 0;
    return failed ? ANSWER_ERROR : ANSWER_YES;
}

/* At commit the list, or the deque whose items it is, gets what is in it then. */
Answer
loop_close_list(Interp *in, const Loop *loop, int number)
{
    Type type = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    PyObject *sample = keep(in, PyList_New(0));
    PyObject *close = keep(in, array_list_close_callable(&loop->form[number]));
    NodeId args[2] = {loop->opened[number], loop->version[number]}, node;
    Value *list = loop->list[number], *holder = model_holder(in, list), *items;
    if (sample == NULL || close == NULL) return ANSWER_ERROR;
    TRY(node_extern(in, close, 2, args, &type, &node));
    TRY(object_value(in, node, sample, &items));
    if (list->kind == V_GROWN_DICT) return loop_fill_dict(in, list, items);
    if (list->source == NO_SOURCE) list->nitems = 0; /* it is made without those of before */
    bool deque = holder != list || deque_check(list->object);
    return deque ? fill_deque(in, holder, items) : fill_list(in, list, items);
}

/* ---- in its body ---- */

/* The tag of the item, if it is one of the list as it was read; NO_NODE: it is none. */
static NodeId
tag_of_moved(const Loop *loop, int number, const Value *item)
{
    for (int i = loop->items.len - 1; i >= 0; i--) {
        const LoopItem *read = &loop->items.at[i];
        bool same = read->item == item || (item->kind == V_NODE && read->item->kind == V_NODE &&
                                           read->item->node == item->node);
        if (same && read->list == number) return read->tag;
    }
    return NO_NODE;
}

Answer
loop_list_words(Interp *in, int number, Value *item, NodeId *words, bool *moved)
{
    RowsForm *own = &in->loop->form[number], form, joined = *own;
    int64_t classes = 0;
    Answer answer = loop_item_nodes(in, item, &form, words + 1);
    if (answer == ANSWER_NO || !loop_form_fits(&form))
        return interp_break(in, BREAK_UNROLL, "%s", NO_NUMBERS);
    if (answer != ANSWER_YES) return answer;
    words[0] = tag_of_moved(in->loop, number, item);
    *moved = words[0] != NO_NODE;
    if (*moved) return ANSWER_YES;
    if (!loop_form_join(&joined, &form)) return interp_break(in, BREAK_UNROLL, "%s", NO_NUMBERS);
    joined.tagged = true;
    if (memcmp(&joined, own, sizeof joined) != 0)
        return loop_learn_change(in, in->loop->list[number], &joined);
    for (int i = 0; i < form.numbers; i++)
        if (own->number[i].either && !form.number[i].python) classes |= INT64_C(1) << i;
    words[0] = node_int(in, classes, DT_I64);
    return words[0] == NO_NODE ? ANSWER_ERROR : ANSWER_YES;
}

static int64_t *
ints_of(Interp *in, int64_t words, int64_t word)
{
    const int64_t ints[2] = {words, word};
    return arena_copy(in->arena, ints, sizeof ints);
}

/* Word number `word` of the item at the index. */
static Answer
item_word(Interp *in, int number, NodeId index, int word, DType dtype, Form form, Value **out)
{
    const Loop *loop = in->loop;
    NodeId args[2] = {loop->version[number], index}, node;
    Type type = {.dtype = dtype, .form = form, .offset = NO_SIZE};
    Attrs attrs = {.nints = 2, .ints = ints_of(in, array_rows_words(&loop->form[number]), word)};
    if (attrs.ints == NULL) return ANSWER_ERROR;
    TRY_NODE(node, graph_add(in->graph, in->region, OP_element_item, 2, args, &type, &attrs));
    *out = value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
loop_note_class(Interp *in, Value *number, Value *tag, int place, DType dtype)
{
    Value *bit = value_const_new(in, PyLong_FromLong(1L << place)),
          *zero = value_const_new(in, PyLong_FromLong(0));
    LoopPick pick = {.number = number, .python = dtype};
    if (bit == NULL || zero == NULL) return ANSWER_ERROR;
    TRY(operate_binary(in, OPERATOR_AND, tag, bit, &bit));
    TRY(operate_compare(in, Py_NE, bit, zero, &pick.is_numpy));
    if (loop_note_either(in, in->loop, number->node, false) < 0) return ANSWER_ERROR;
    return VEC_PUSH(in->arena, &in->loop->starts, pick) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
item_number(Interp *in, int number, NodeId index, Value *tag, int i, Value **out)
{
    Loop *loop = in->loop;
    const RowsForm *form = &loop->form[number];
    DType dtype = (DType)form->number[i].dtype;
    bool either = form->number[i].either, python = form->number[i].python && !either;
    TRY(item_word(in, number, index, 1 + i, dtype, python ? FORM_PYTHON : FORM_SCALAR, out));
    SeriesItem read = {.node = (*out)->node, .changes = true};
    if (!loop->fresh[number] && VEC_PUSH(in->arena, &in->items, read) < 0) return ANSWER_ERROR;
    return either ? loop_note_class(in, *out, tag, i, dtype) : ANSWER_YES;
}

/* Of a list that is empty before the loop, and to which nothing has been appended so far, an item
   is followed as an int: what is appended behind it tells the form, and capture starts again. */
static Answer
list_item(Interp *in, int number, NodeId index, Value **out)
{
    const RowsForm *form = &in->loop->form[number];
    Value *tag, *numbers[ROWS_NUMBERS];
    if (form->numbers == 0) return item_word(in, number, index, 0, DT_I64, FORM_PYTHON, out);
    TRY(item_word(in, number, index, 0, DT_I64, FORM_PYTHON, &tag));
    for (int i = 0; i < form->numbers; i++)
        TRY(item_number(in, number, index, tag, i, &numbers[i]));
    *out = form->tuple ? value_sequence(in, V_TUPLE, form->numbers, numbers) : numbers[0];
    LoopItem item = {.item = *out, .tag = tag->node, .list = number};
    return *out == NULL || VEC_PUSH(in->arena, &in->loop->items, item) < 0 ? ANSWER_ERROR
                                                                           : ANSWER_YES;
}

/* A new version of the list. */
static Answer
change(Interp *in, int number, Op op, int nargs, NodeId *args, bool moved)
{
    Loop *loop = in->loop;
    args[0] = loop->version[number];
    Type type = graph_node(in->graph, args[0])->type;
    Attrs attrs = {.nints = 1, .ints = ints_of(in, array_rows_words(&loop->form[number]), 0)};
    NodeId node;
    if (attrs.ints == NULL) return ANSWER_ERROR;
    TRY_NODE(node, graph_add(in->graph, in->region, op, nargs, args, &type, &attrs));
    loop->version[number] = node;
    return moved && VEC_PUSH(in->arena, &loop->moved, node) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
list_store(Interp *in, int number, Value *key, Value *item)
{
    NodeId args[3 + ROWS_NUMBERS];
    bool moved;
    TRY(loop_index(in, key, &args[1]));
    TRY(loop_list_words(in, number, item, args + 2, &moved));
    return change(in, number, OP_element_put, 3 + in->loop->form[number].numbers, args, moved);
}

/* The item comes before the first one. */
static Answer
list_unshift(Interp *in, int number, Value *item)
{
    NodeId args[2 + ROWS_NUMBERS];
    bool moved;
    TRY(loop_list_words(in, number, item, args + 1, &moved));
    return change(in, number, OP_element_unshift, 2 + in->loop->form[number].numbers, args, moved);
}

/* The last item leaves the list, or the first one. */
static Answer
list_pop(Interp *in, int number, bool first, Value **out)
{
    NodeId args[1], index = node_int(in, first ? 0 : -1, DT_I64);
    if (index == NO_NODE) return ANSWER_ERROR;
    TRY(list_item(in, number, index, out));
    return change(in, number, first ? OP_element_shift : OP_element_pop, 1, args, false);
}

static Answer
list_length(Interp *in, int number, Value **out)
{
    Type type = {.dtype = DT_I64, .form = FORM_PYTHON, .offset = NO_SIZE};
    Attrs attrs = {.nints = 1, .ints = ints_of(in, array_rows_words(&in->loop->form[number]), 0)};
    NodeId node;
    if (attrs.ints == NULL) return ANSWER_ERROR;
    TRY_NODE(node, graph_add(in->graph, in->region, OP_element_length, 1,
                             &in->loop->version[number], &type, &attrs));
    *out = value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
loop_list(Interp *in, const ListUse *use, Value **out)
{
    Value *list = use->list;
    NodeId index;
    bool dict = loop_is_dict(list);
    const RowsForm unknown = {.tagged = true, .tuple = dict, .keyed = dict};
    bool series = list->kind == V_SERIES && list->type == &PyList_Type;
    if (in->loop == NULL || in->attempt.marks->no_lists ||
        !(series || dict || loop_is_list(in, list)) || !loop_is_from_before(in, list))
        return ANSWER_NO;
    int number = loop_list_number(in->loop, list);
    if (number < 0 || !in->loop->form[number].tagged || !loop_carries(in, list)) {
        if (series && series_open(in, list) < 0) return ANSWER_ERROR;
        return loop_learn_change(in, list, &unknown);
    }
    if (dict && use->does != LIST_LENGTH) return loop_dict(in, number, use, out);
    switch (use->does) {
    case LIST_LENGTH: return list_length(in, number, out);
    case LIST_UNSHIFT: return list_unshift(in, number, use->item);
    case LIST_STORE: return list_store(in, number, use->key, use->item);
    case LIST_POP:
    case LIST_SHIFT: return list_pop(in, number, use->does == LIST_SHIFT, out);
    default: break;
    }
    TRY(loop_index(in, use->key, &index));
    return list_item(in, number, index, out);
}
