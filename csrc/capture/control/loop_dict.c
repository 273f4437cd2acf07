/* Dicts from ints to numbers that a kept loop changes: counters, sums by key.

     counts[key] = counts.get(key, 0) + 1
     if key in last: gap += i - last[key]

   The loop carries such a dict as it does a list that it changes (loop_list.c), of items that are
   pairs: the words of an item are its tag, its key and its value.  element_find looks for a key,
   with which the others find the item; codegen/region_list.c has the index for that.  Keys are
   ints of one class, so that equal keys are equal words; keys are never removed.  Behind the loop a
   step makes a dict of the words, and an effect updates the program's dict by it, so that keys keep
   their order and the objects that they are.

   A key that is missing where it must not be ends the run, as an index that is out of bounds does:
   CPython does the loop, and raises. */
#include "loop.h"

#include "../../arrays/arrays.h"

enum { KEY_WORD = 1, VALUE_WORD = 2, DICT_WORDS = 3, VALUE_CLASS = 1 << 1 };

static const char NO_PAIR[] = "keys of a dict that are no ints, or values that are no numbers, of "
                              "one type";

bool
loop_is_dict(const Value *value)
{
    return value->kind == V_GROWN_DICT ||
           (value->kind == V_DICT && value->source == NO_SOURCE && value->owner == NULL);
}

/* ---- forms ---- */

/* The form of a pair of such numbers; false: there is none. */
static bool
pair_form(const RowsForm *key, const RowsForm *value, RowsForm *out)
{
    *out = (RowsForm){.tuple = true, .tagged = true, .keyed = true, .numbers = 2};
    out->number[0] = key->number[0];
    out->number[1] = value->number[0];
    return !key->tuple && !value->tuple && key->number[0].dtype == DT_I64 && loop_form_fits(out);
}

static bool
join(RowsForm *form, const RowsForm *other)
{
    return loop_form_join(form, other) && !form->number[0].either;
}

/* ---- where the loop begins ---- */

/* The pairs of the dict as nodes; NO: one has not the form. */
static Answer
pair_nodes(Interp *in, Value *dict, RowsForm *form, NodeId *nodes)
{
    RowsForm key, value, pair;
    for (int i = 0; i < dict->nitems; i += 2) {
        Value *item = value_item(in, dict, i + 1);
        if (item == NULL) return ANSWER_ERROR;
        TRY(loop_item_nodes(in, dict->items[i], &key, &nodes[i]));
        TRY(loop_item_nodes(in, item, &value, &nodes[i + 1]));
        if (!pair_form(&key, &value, &pair) || !join(form, &pair)) return ANSWER_NO;
    }
    form->tuple = form->keyed = form->tagged = true;
    return ANSWER_YES;
}

Answer
loop_open_dict(Interp *in, Value *dict, RowsForm *form, NodeId *out)
{
    enum { MOST_ARGS = 64 };
    NodeId nodes[MOST_ARGS];
    if (dict->kind != V_DICT || dict->nitems > MOST_ARGS) return ANSWER_NO;
    TRY(pair_nodes(in, dict, form, nodes));
    return loop_object_step(in, array_list_gather_callable(form), dict->nitems, nodes, out);
}

/* ---- behind it ---- */

Answer
loop_fill_dict(Interp *in, Value *dict, Value *items)
{
    PyObject *update = keep(in, PyUnicode_InternFromString("update"));
    Value *all[2] = {dict, items};
    if (update == NULL) return ANSWER_ERROR;
    int failed = effect_add(in, EFFECT_METHOD, update, NO_SOURCE, 2, all);
    return failed < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- in its body ---- */

typedef struct {
    int number;       /* of the dict, in the loop */
    NodeId key, item; /* `item`: what is stored, or given where there is no such key */
    NodeId place;     /* of the pair with the key */
    int64_t classes;  /* the tag of the item */
} Entry;

/* The words of the pair, after which the dict has a form for it, if there is an item.  May start
   capture again. */
static Answer
pair_words(Interp *in, const ListUse *use, Entry *e)
{
    const RowsForm *own = &in->loop->form[e->number];
    RowsForm key, value = {.numbers = 1}, pair, joined = *own;
    Answer answer = loop_item_nodes(in, use->key, &key, &e->key);
    if (answer == ANSWER_YES && use->item != NULL)
        answer = loop_item_nodes(in, use->item, &value, &e->item);
    else
        value.number[0] = own->number[1];
    if (answer == ANSWER_ERROR) return answer;
    if (own->numbers == 0 && use->item == NULL) value.number[0].dtype = DT_I64;
    if (answer != ANSWER_YES || !pair_form(&key, &value, &pair) || !join(&joined, &pair))
        return interp_break(in, BREAK_UNROLL, "%s", NO_PAIR);
    if (use->item == NULL && own->numbers == 0) return ANSWER_YES;
    if (memcmp(&joined, own, sizeof joined) != 0)
        return loop_learn_change(in, in->loop->list[e->number], &joined);
    e->classes = own->number[1].either && !pair.number[1].python ? VALUE_CLASS : 0;
    return ANSWER_YES;
}

static Answer
dict_node(Interp *in, const Entry *e, Op op, int nargs, NodeId *args, const Type *type, int word,
          NodeId *out)
{
    const int64_t ints[2] = {DICT_WORDS, word};
    Attrs attrs = {.nints = op == OP_element_entry ? 2 : 1,
                   .ints = arena_copy(in->arena, ints, sizeof ints)};
    args[0] = in->loop->version[e->number];
    if (attrs.ints == NULL) return ANSWER_ERROR;
    TRY_NODE(*out, graph_add(in->graph, in->region, op, nargs, args, type, &attrs));
    return ANSWER_YES;
}

static const Type PYTHON_INT = {.dtype = DT_I64, .form = FORM_PYTHON, .offset = NO_SIZE};

static Answer
find_place(Interp *in, Entry *e)
{
    NodeId args[2] = {0, e->key};
    return dict_node(in, e, OP_element_find, 2, args, &PYTHON_INT, 0, &e->place);
}

/* A word of the entry; `otherwise`: what is given where there is none; NO_NODE: the run ends. */
static Answer
entry_word(Interp *in, const Entry *e, int word, const Type *type, NodeId otherwise, Value **out)
{
    NodeId args[3] = {0, e->place, otherwise}, node;
    TRY(dict_node(in, e, OP_element_entry, 2 + (otherwise != NO_NODE), args, type, word, &node));
    *out = value_node(in, node);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
entry(Interp *in, const Entry *e, Value **out)
{
    Loop *loop = in->loop;
    const RowsForm *form = &loop->form[e->number];
    bool either = form->number[1].either, python = form->number[1].python && !either;
    DType dtype = form->numbers > 0 ? (DType)form->number[1].dtype : DT_I64;
    Type type = {.dtype = dtype, .offset = NO_SIZE};
    Value *tag;
    type.form = python || form->numbers == 0 ? FORM_PYTHON : FORM_SCALAR;
    TRY(entry_word(in, e, VALUE_WORD, &type, e->item, out));
    SeriesItem read = {.node = (*out)->node, .changes = true};
    if (!loop->fresh[e->number] && VEC_PUSH(in->arena, &in->items, read) < 0) return ANSWER_ERROR;
    if (!either) return ANSWER_YES;
    NodeId classes = e->item != NO_NODE ? node_int(in, e->classes, DT_I64) : NO_NODE;
    TRY(entry_word(in, e, 0, &PYTHON_INT, classes, &tag));
    return loop_note_class(in, *out, tag, 1, dtype);
}

static Answer
store(Interp *in, const Entry *e)
{
    NodeId args[5] = {0, e->place, node_int(in, e->classes, DT_I64), e->key, e->item};
    Type type = graph_node(in->graph, in->loop->version[e->number])->type;
    if (args[2] == NO_NODE) return ANSWER_ERROR;
    return dict_node(in, e, OP_element_set, 5, args, &type, 0, &in->loop->version[e->number]);
}

static Answer
contains(Interp *in, const Entry *e, Value **out)
{
    Value *place = value_node(in, e->place), *zero = value_const_new(in, PyLong_FromLong(0));
    if (place == NULL || zero == NULL) return ANSWER_ERROR;
    return operate_compare(in, Py_GE, place, zero, out);
}

Answer
loop_dict(Interp *in, int number, const ListUse *use, Value **out)
{
    Entry e = {.number = number, .item = NO_NODE};
    TRY(pair_words(in, use, &e));
    TRY(find_place(in, &e));
    switch (use->does) {
    case LIST_STORE: return store(in, &e);
    case LIST_HAS: return contains(in, &e, out);
    default: return entry(in, &e, out);
    }
}
