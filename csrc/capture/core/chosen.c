/* Chosen values: which of several values a branch, or a call such as max(), gives is known only
   when the plan runs. */
#include "core.h"

Value *
choice_new(Interp *in, Value *test, Value *if_so, Value *if_not)
{
    Value *items[3] = {test, if_so, if_not};
    return value_sequence(in, V_CHOICE, 3, items);
}

Answer
choice_asked(Interp *in, const Value *value)
{
    if (value->kind != V_CHOICE) return ANSWER_YES;
    return branch_learn(in, (PyCodeObject *)value->object, (int)value->position, BRANCH_APART,
                        "it leaves one of two objects of different types, which is used");
}

Value *
choice_of(const Interp *in, NodeId node)
{
    NodeId root = graph_node(in->graph, node)->storage;
    int number = storage_find(in, root);
    if (number >= 0) root = in->memory.storages.at[number].root;
    for (int i = 0; i < in->memory.chosen.len; i++)
        if (in->memory.chosen.at[i]->node == root) return in->memory.chosen.at[i]->leaves_as;
    return NULL;
}

BranchMark *
branch_mark(Interp *in, const Decoded *d, int number)
{
    for (int i = 0; i < in->attempt.learn->branches.len; i++) {
        BranchMark *mark = &in->attempt.learn->branches.at[i];
        if (mark->code == d->code && mark->number == number) return mark;
    }
    return NULL;
}

Answer
branch_learn(Interp *in, PyCodeObject *code, int number, int level, const char *why)
{
    if (in->break_code == BREAK_NONE) in->break_code = BREAK_BRANCH;
    if (!in->attempt.again)
        in->attempt.learn->stop_at = -1; /* its steps were counted along the old path */
    in->attempt.again = true;
    for (int i = 0; i < in->attempt.learn->branches.len; i++) {
        BranchMark *mark = &in->attempt.learn->branches.at[i];
        if (mark->code != code || mark->number != number) continue;
        mark->level = level;
        mark->why = why;
        mark->in_turns = false;
        return ANSWER_BREAK;
    }
    BranchMark mark = {.code = code, .number = number, .level = level, .why = why};
    return VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->branches, mark) < 0 ? ANSWER_ERROR
                                                                                     : ANSWER_BREAK;
}

Answer
branch_wants(Interp *in, const Value *lost)
{
    return branch_learn(in, (PyCodeObject *)lost->object, (int)lost->position, (int)lost->nitems,
                        NULL);
}

/* Compared by the storage's root, since a write before the branch made another version of it. */
const Aliased *
branch_find_aliased(const Interp *in, NodeId node)
{
    NodeId storage = graph_node(in->graph, node)->storage;
    int number = storage_find(in, storage);
    if (number >= 0) storage = in->memory.storages.at[number].root;
    for (int i = 0; i < in->memory.aliased.len; i++)
        if (in->memory.aliased.at[i].root == storage) return &in->memory.aliased.at[i];
    return NULL;
}

Answer
branch_aliased(Interp *in, NodeId node, const char *why)
{
    if (in->memory.aliased.len == 0) return ANSWER_YES;
    const Aliased *a = branch_find_aliased(in, node);
    if (a != NULL) in->memory.met = a->root;
    return a != NULL ? branch_learn(in, a->code, a->number, BRANCH_APART, why) : ANSWER_YES;
}

Answer
branch_identity(Interp *in, const Value *left, const Value *right)
{
    static const char why[] = "which of two objects it leaves is asked for";
    Answer answer = choice_asked(in, left);
    if (answer == ANSWER_YES) answer = choice_asked(in, right);
    if (answer == ANSWER_YES && left->kind == V_NODE) answer = branch_aliased(in, left->node, why);
    if (answer == ANSWER_YES && right->kind == V_NODE)
        answer = branch_aliased(in, right->node, why);
    return answer;
}

int
branch_note(Interp *in, NodeId node, PyCodeObject *code, int number)
{
    Aliased a = {.root = graph_node(in->graph, node)->storage, .code = code, .number = number};
    return VEC_PUSH(in->arena, &in->memory.aliased, a);
}

int
branch_chosen(Interp *in, NodeId number)
{
    return branch_note(in, number, in->top->decoded->code, in->top->number);
}

bool
branch_apart(Interp *in)
{
    const BranchMark *mark = branch_mark(in, in->top->decoded, in->top->number);
    return mark != NULL && mark->level == BRANCH_APART;
}

/* Is the number an object that exists already? */
bool
branch_holds(const Value *number)
{
    return number->source != NO_SOURCE || number->kind == V_CONST ||
           (number->leaves_as != NULL && number->leaves_as->kind == V_CHOICE);
}

Answer
branch_keeps(Interp *in, Value *number, Value *if_so, Value *if_not, Value *test)
{
    if (!branch_holds(if_so) && !branch_holds(if_not)) return ANSWER_YES;
    number->leaves_as = choice_new(in, test, if_so, if_not);
    return number->leaves_as == NULL ? ANSWER_ERROR : ANSWER_YES;
}
