/* Both arms of a branch in one graph.

   At a branch on the value of an array: one arm is followed into a region of its own until the
   place where both meet (join.c), the interpreter's state is put back (world.c), the other arm is
   followed, and what the two left behind is put together slot by slot (merge_states.c,
   merge_values.c).  Arrays that they wrote have another version where the arm was taken
   (merge_writes.c).

   Whatever does not fit (an effect, a write to memory from before, results of different types, a
   break in an arm) is learnt: capture starts again, and the branch ends the graph there
   (EXIT_BRANCH), or breaks within an inlined function.

   An arm that can only raise is not followed: the plan deopts when it is taken.

   An array that is another object in each arm, and not made in it, is one of two objects: choice.c.
   Interp.aliased lists memory that is chosen, and what is not followed with it: its base, its
   flags. A local that nobody reads after the branch is V_LOST; an exit that has to write it back
   starts again too. */
#include "merge.h"

enum {
    ARM_INSTRUCTIONS = 3000, /* for longer arms, two graphs are better than one */
    FORKS_DEEP = 8,
    LOOP_FORKS_DEEP = 24, /* the rest of an iteration is one side of each `continue` and `break` */
};

/* ---- what an attempt learnt ---- */

static bool
in_try(const Interp *in)
{
    for (const Activation *a = in->top; a != NULL; a = a->caller)
        if (branch_in_try(a->decoded, a->number)) return true;
    return false;
}

/* What is said of a branch in an arm; a line that is named already is that of a branch in that. */
static const char *
of_inner(const Merge *m, const BreakFrame *at, const char *what)
{
    Interp *in = m->in;
    if (what == NULL) return NULL;
    bool here = strcmp(at->function, text_of_str(m->d->code->co_qualname)) == 0;
    bool same = here && at->line == line_at(m->d, m->number); /* a test that is there twice */
    if (same || names_line(what))
        return arena_copy(in->attempt.learn_arena, what, strlen(what) + 1);
    return arena_printf(in->attempt.learn_arena, "one side has the branch of line %d%s%s%s: %s",
                        at->line, here ? "" : " of '", here ? "" : at->function, here ? "" : "'",
                        what);
}

/* What an arm broke at; of a branch in the arm, what was learnt of that.  NULL with the error set.
 */
static const char *
what_broke(const Merge *m)
{
    Interp *in = m->in;
    const Break *told = &in->told;
    if (in->attempt.again) return of_inner(m, &in->attempt.apart_at, in->attempt.apart);
    if (told->code == BREAK_BRANCH && *told->detail != '\0')
        return of_inner(m, break_at(told), told->detail);
    if (told->hint == HINT_DRAWN)
        return arena_printf(in->attempt.learn_arena, "one side draws a random number, line %d",
                            break_at(told)->line);
    bool in_loop = told->code == BREAK_UNROLL; /* the detail is of a loop that was to stay one */
    if (told->code == BREAK_EXCEPTION)
        return arena_printf(in->attempt.learn_arena, "one side raises%s: %s, line %d",
                            in_try(in) ? ", inside a `try` or `with`" : "", told->detail,
                            break_at(told)->line);
    return arena_printf(in->attempt.learn_arena, "one side has %s%s%s, line %d",
                        in_loop ? "" : break_text(told->code),
                        *told->detail && !in_loop ? ": " : "", told->detail, break_at(told)->line);
}

/* The break that kept arms in the body of a loop apart; NULL: none, or the error is set. */
static Break *
broke_in_loop(Interp *in)
{
    if (in->loop == NULL || in->break_code == BREAK_NONE || in->attempt.again) return NULL;
    Break *broke = arena_alloc(in->attempt.learn_arena, sizeof(Break));
    return broke == NULL || break_copy(in->attempt.learn_arena, &in->told, broke) < 0 ? NULL
                                                                                      : broke;
}

/* An arm broke at the test of a loop, and that loop begins in the arm: this branch does not decide
   about it. */
static int
has_loop_inside(const Merge *m)
{
    LoopTest test;
    LoopShape *shape;
    if (branch_loop(m->in, m->d, m->number, &test) < 0) return -1;
    for (int top = 0; top <= m->number && test == TEST_NONE; top++) {
        if (loop_shape(m->in, m->d, top, &shape) < 0) return -1;
        if (shape != NULL && m->number < shape->head)
            return 0; /* the test at which it is entered */
    }
    return test == TEST_NONE;
}

/* What to do about arms that do not come together; `ends`: one broke where a loop may end. */
static BreakHint
hint_of_arms(const Merge *m, bool ends)
{
    const Interp *in = m->in;
    if (in->break_code == BREAK_NONE) return m->writes ? HINT_SIDE_WRITES : m->hint;
    const Break *told = &in->told;
    if (in->attempt.again && !ends) return in->attempt.apart_hint;
    bool within = told->code == BREAK_BRANCH || told->code == BREAK_UNROLL; /* told with its own */
    if (ends || within || told->hint == HINT_DRAWN) return told->hint;
    return told->code != BREAK_EXCEPTION ? HINT_SIDE_BREAKS
           : in_try(in)                  ? HINT_RAISES
                                         : HINT_OF_CODE;
}

bool
branch_hint_ends_loop(BreakHint hint)
{
    return hint == HINT_LOOP_TEST || hint == HINT_LOOP_CALLED || hint == HINT_TURN_CHANGES ||
           hint == HINT_LEFT_BEFORE;
}

static Answer
merge_refuse(Merge *m)
{
    Interp *in = m->in;
    Break *broke = broke_in_loop(in);
    bool ends = in->break_code != BREAK_NONE && in->told.code == BREAK_BRANCH &&
                (branch_hint_ends_loop(in->told.hint) || in->told.hint == HINT_NEXT_TURN);
    BreakHint hint = hint_of_arms(m, ends);
    int inside = ends ? has_loop_inside(m) : 0;
    if (inside < 0) return ANSWER_ERROR;
    if (in->break_code != BREAK_NONE) m->what = what_broke(m);
    if (inside > 0 && branch_hint_ends_loop(in->told.hint)) {
        m->what = arena_printf(in->attempt.learn_arena,
                               "one side has a loop that ends by the value of an array, line %d",
                               break_at(&in->told)->line);
        hint = HINT_BEFORE_LOOP;
    }
    if (PyErr_Occurred()) return ANSWER_ERROR;
    in->attempt.apart = m->what;
    if (break_frame(in->attempt.learn_arena, m->d, m->number, &in->attempt.apart_at) < 0)
        return ANSWER_ERROR;
    in->attempt.apart_hint = hint;
    Answer answer = branch_learn(in, m->d->code, m->number, BRANCH_APART, NULL);
    if (answer == ANSWER_ERROR) return answer;
    BranchMark *mark = branch_mark(in, m->d, m->number);
    mark->what = m->what;
    mark->hint = hint;
    mark->in_loop = in->loop != NULL;
    mark->in_turns = in->loop == NULL && in->fork != NULL;
    mark->broke = broke;
    return answer;
}

const char *
branch_why(Interp *in)
{
    const BranchMark *mark = branch_mark(in, in->top->decoded, in->top->number);
    return mark != NULL ? mark->why : NULL;
}

const char *
branch_what(Interp *in, BreakHint *hint)
{
    const BranchMark *mark = branch_mark(in, in->top->decoded, in->top->number);
    if (mark != NULL && mark->hint != HINT_OF_CODE) *hint = mark->hint;
    return mark != NULL ? mark->what : NULL;
}

const Break *
branch_broke(Interp *in, bool ends)
{
    const BranchMark *mark = branch_mark(in, in->top->decoded, in->top->number);
    const Break *broke = mark != NULL && in->loop != NULL ? mark->broke : NULL;
    bool of_loop =
        broke != NULL && (ends || broke->code == BREAK_UNROLL || broke->code == BREAK_BRANCH);
    return of_loop ? broke : NULL;
}

Answer
merge_apart(Merge *m, const char *what)
{
    if (m->what == NULL) m->what = what;
    return ANSWER_NO;
}

Answer
merge_changes(Merge *m, const char *whose, Value *changed)
{
    Interp *in = m->in;
    if (m->what != NULL) return ANSWER_NO;
    const char *object = changed != NULL ? value_named(in, changed) : "";
    if (object == NULL) return ANSWER_ERROR;
    m->writes = changed != NULL && value_is_array(in, changed);
    m->what = arena_printf(in->attempt.learn_arena, "%s an object from before the branch%s%s",
                           whose, *object != '\0' ? ": " : "", object);
    return m->what == NULL ? ANSWER_ERROR : ANSWER_NO;
}

/* One is a number of Python's, the other one of NumPy's: the latter's name in NumPy; else NULL. */
static const char *
numpy_number(const char *one, const char *other)
{
    static const char *const plain[] = {"int", "float", "complex", "bool"}, module[] = "numpy.";
    const char *names[2] = {one, other};
    size_t length = sizeof(module) - 1;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < COUNT_OF(plain); i++)
            if (strcmp(names[k], plain[i]) == 0 && strncmp(names[1 - k], module, length) == 0)
                return names[1 - k] + length;
    return NULL;
}

/* Could nobody choose between the two? */
static bool
is_apart(Interp *in, Value *x, Value *y)
{
    if (strcmp(value_describe(in, x), value_describe(in, y)) != 0) return true;
    if (value_is_loose(in, x) || value_is_loose(in, y)) return true;
    if (!value_is_array(in, x) || !value_is_array(in, y)) return false;
    Type one = node_type(in, x->node), other = node_type(in, y->node);
    return one.dtype != other.dtype || one.rank != other.rank ||
           memcmp(one.shape, other.shape, sizeof(SizeId) * one.rank) != 0;
}

/* The first items in which the tuples differ take their place, and the name says which they are.
   NULL: no memory. */
static const char *
differing_items(Interp *in, const char *name, Value **x, Value **y)
{
    Value *const *a = (*x)->items, *const *b = (*y)->items;
    if ((*x)->kind != V_TUPLE || (*y)->kind != V_TUPLE || (*x)->nitems != (*y)->nitems) return name;
    for (int i = 0; i < (*x)->nitems; i++) {
        if (a[i] == NULL || b[i] == NULL || a[i] == b[i] || !is_apart(in, a[i], b[i])) continue;
        *x = a[i];
        *y = b[i];
        return arena_printf(in->attempt.learn_arena, "item %d of %s", i, name);
    }
    return name;
}

/* Is it what the turn began with? */
static bool
began_turn(const Merge *m, const Value *value)
{
    return value->kind == V_NODE &&
           op_info(graph_node(m->in->graph, value->node)->op)->kind == KIND_INPUT;
}

/* A variable of a loop over whole arrays: one arm ends the loop and the other one the turn. */
static Answer
differ_in_turns(Merge *m, const char *name, Value *x, Value *y)
{
    Interp *in = m->in;
    bool unset = x->kind == V_UNBOUND || x->kind == V_LOST;
    if (unset != (y->kind == V_UNBOUND || y->kind == V_LOST)) {
        m->hint = HINT_LEFT_BEFORE;
        m->what = repeat_leaves_unset(in->attempt.learn_arena, name);
        return m->what == NULL ? ANSWER_ERROR : ANSWER_NO;
    }
    bool first = began_turn(m, x);
    if (first == began_turn(m, y)) return ANSWER_NO;
    const char *one = value_describe(in, first ? x : y), *other = value_describe(in, first ? y : x);
    if (numpy_number(one, other) == NULL) return ANSWER_NO;
    m->hint = HINT_TURN_CHANGES;
    m->what = repeat_changes(in->attempt.learn_arena, name, one, other);
    return m->what == NULL ? ANSWER_ERROR : ANSWER_NO;
}

Answer
merge_differ(Merge *m, const char *name, Value *x, Value *y)
{
    Interp *in = m->in;
    if (m->what != NULL) return ANSWER_NO;
    if ((name = differing_items(in, name, &x, &y)) == NULL) return ANSWER_ERROR;
    const char *one = value_describe(in, x), *other = value_describe(in, y), *by;
    if (m->turn != NULL && in->loop == NULL && m->join == JOIN_TURN) {
        Answer told = differ_in_turns(m, name, x, y);
        if (told == ANSWER_ERROR || m->what != NULL) return told;
    }
    bool loose = value_is_loose(in, x) || value_is_loose(in, y); /* earlier branches decide */
    bool array = strcmp(one, "an array") == 0;
    m->what =
        loose && numpy_number("float", one) != NULL
            ? arena_printf(
                  in->attempt.learn_arena,
                  "after some branches %s is Python's number, after others a %s (begin with "
                  "np.%s(...))",
                  name, one, numpy_number("float", one))
        : loose && strcmp(one, other) == 0
            ? arena_printf(in->attempt.learn_arena,
                           "after some branches %s is %s, after others it is of another class",
                           name, one)
        : strcmp(one, other) == 0
            ? arena_printf(in->attempt.learn_arena,
                           "%s is %s on both sides, but not the same one%s", name, one,
                           array ? ", or not of one dtype and shape" : "")
        : (by = numpy_number(one, other)) != NULL
            ? arena_printf(in->attempt.learn_arena,
                           "%s is %s on one side and %s on the other (make it np.%s(...) on both)",
                           name, one, other, by)
            : arena_printf(in->attempt.learn_arena, "%s is %s on one side and %s on the other",
                           name, one, other);
    return m->what == NULL ? ANSWER_ERROR : ANSWER_NO;
}

/* ---- the node ---- */

static bool
region_matters(const Graph *g, RegionId region)
{
    const Region *r = &g->regions.at[region];
    for (int i = 0; i < r->nodes.len; i++) {
        const Node *node = graph_node(g, r->nodes.at[i]);
        if (op_info(node->op)->flags & OPF_FALLIBLE || node_may_report(g, node)) return true;
    }
    return false;
}

/* Makes the nodes of the results, and of the values that wait for them. */
static Answer
merge_finish(Merge *m, NodeId cond)
{
    Graph *g = m->in->graph;
    for (int i = 0; i < m->waiting.len; i++) {
        Waiting *w = &m->waiting.at[i];
        if (w->op != OP_result) {
            Answer answer = w->op == OP_extern    ? merge_finish_loose(m, w)
                            : w->op == OP_scatter ? writes_meet(m, w)
                                                  : choice_finish(m, w);
            if (answer != ANSWER_YES) return answer;
            continue;
        }
        Type type = graph_node(g, m->result[0].at[w->index])->type;
        if (m->in->loop == NULL) type.offset = NO_SIZE;
        Attrs attrs = {.index = w->index};
        NodeId node = graph_add(g, m->outer, OP_result, 1, &cond, &type, &attrs);
        if (node == NO_NODE) return ANSWER_ERROR;
        w->value->node = node;
        if (w->either && loop_note_either(m->in, m->in->loop, node, w->ints) < 0)
            return ANSWER_ERROR;
        if (type.form != FORM_ARRAY && branch_note(m->in, node, m->d->code, m->number) < 0)
            return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

static Answer
make_cond(Merge *m)
{
    Graph *g = m->in->graph;
    if (m->result[0].len == 0 && !region_matters(g, m->arm[0]) && !region_matters(g, m->arm[1]))
        return merge_finish(m, NO_NODE);
    Type none = {.dtype = DT_OBJECT, .form = FORM_OBJECT, .offset = NO_SIZE};
    NodeId cond = graph_add(g, m->outer, OP_cond, 1, &m->condition, &none, NULL);
    if (cond == NO_NODE) return ANSWER_ERROR;
    for (int arm = 0; arm < 2; arm++) {
        graph_own(g, cond, m->arm[arm]);
        for (int i = 0; i < m->result[arm].len; i++)
            if (VEC_PUSH(g->arena, &g->regions.at[m->arm[arm]].results, m->result[arm].at[i]) < 0)
                return ANSWER_ERROR;
    }
    return merge_finish(m, cond);
}

/* ---- following ---- */

/* The arm that begins there is not followed in a loop's body. */
static int
note_side(Merge *m, int start, const char *why)
{
    Interp *in = m->in;
    if (start < 0 || in->loop == NULL || in->attempt.again) return 0;
    if (in->break_code != BREAK_NONE) return loop_note_side(in, start, &in->told);
    BreakFrame at;
    Break broke = {.code = BREAK_SIDE, .detail = (char *)why, .nframes = 1, .frames = &at};
    return break_frame(in->arena, m->d, start, &at) < 0 ? -1 : loop_note_side(in, start, &broke);
}

/* The first effect that the arm has had, in words; NULL: it has had none, or the error is set. */
static const char *
effect_in_words(Interp *in, int first)
{
    for (int i = first; i < in->writes.effects.len; i++) {
        const Effect *effect = &in->writes.effects.at[i];
        if (effect->what != NULL)
            return arena_printf(in->arena, "a call of '%s', line %d", effect->what,
                                effect->at.line);
    }
    return in->writes.effects.len > first ? "a change of an object other than arrays" : NULL;
}

static Answer
follow_arm(Merge *m, int which, int start, int depth)
{
    Interp *in = m->in;
    Activation *a = in->top;
    int from = in->out->ninstructions;
    bool turns = m->join == JOIN_TURN;
    m->first[which] = in->graph->nodes.len;
    a->depth = depth;
    in->region = m->arm[which];
    const Leaving *leaving = in->leaving;
    Answer answer = ANSWER_YES;
    if (start < 0)
        answer = loop_leave_from(in, -start);
    else
        a->number = start;
    in->leaving = NULL;
    if (answer == ANSWER_YES) answer = interp_until(in, m->join);
    in->leaving = leaving;
    in->region = m->outer;
    m->end = in->graph->nodes.len;
    if (answer != ANSWER_YES) return answer;
    if (in->out->ninstructions - from > ARM_INSTRUCTIONS) return merge_apart(m, "one side is long");
    bool returns = m->join == m->d->count, ends = m->turn != NULL && m->turn->leaves != NULL;
    return !a->yielded && (a->result != NULL) == returns && ends == turns
               ? ANSWER_YES
               : merge_apart(m, "one side returns or yields");
}

/* Versions of the arrays that a kept loop writes, where the arms wrote them. */
static Answer
merge_versions(Merge *m, const Loop *before, const Loop arms[2], Value **merged)
{
    for (int i = 0; i < before->narrays; i++) {
        NodeId both[2] = {arms[0].version[i], arms[1].version[i]};
        if (both[0] == both[1]) continue;
        Answer answer = merge_result(m, both, &merged[i]);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* How the arms end the iteration. */
static Answer
merge_leaves(Merge *m, Value *const leaves[2])
{
    NodeId nodes[2];
    if (m->join != JOIN_TURN) return ANSWER_YES;
    m->turn->leaves = leaves[0];
    if (leaves[0]->kind == V_CONST && leaves[1]->kind == V_CONST &&
        merge_same_constant(leaves[0], leaves[1]))
        return ANSWER_YES;
    if (m->in->loop == NULL && merge_is_outer(m, leaves[0]) && merge_is_outer(m, leaves[1]))
        return merge_scalars(m, leaves[0], leaves[1], &m->turn->leaves);
    for (int arm = 0; arm < 2; arm++) {
        Answer answer = merge_node(m, m->arm[arm], leaves[arm], &nodes[arm]);
        if (answer != ANSWER_YES) return answer;
    }
    return merge_result(m, nodes, &m->turn->leaves);
}

/* What is left of the iterators of loops inside, where one of the arms left those for CPython. */
static Answer
merge_rests(Merge *m, Rest (*rest)[LOOP_DEEP])
{
    for (int at = 0; at < LOOP_DEEP; at++) {
        const Rest *one = &rest[0][at], *other = &rest[1][at];
        bool both = one->part[REST_NEXT] != NULL && other->part[REST_NEXT] != NULL;
        if (both && !loop_goes_over_same(one->over, other->over))
            return merge_apart(m, "loops over different things are left for what is not followed");
        m->turn->rest[at].over = one->part[REST_NEXT] != NULL ? one->over : other->over;
    }
    for (int i = 0; i < REST_PARTS * LOOP_DEEP; i++) {
        int at = i / REST_PARTS, part = i % REST_PARTS;
        Value **to = &m->turn->rest[at].part[part], *both[2];
        for (int arm = 0; arm < 2; arm++) both[arm] = rest[arm][at].part[part];
        if (both[0] == both[1]) {
            *to = both[0];
            continue;
        }
        for (int arm = 0; arm < 2; arm++) /* it is not looked at */
            if (both[arm] == NULL && (both[arm] = loop_no_rest(m->in, part)) == NULL)
                return ANSWER_ERROR;
        NodeId nodes[2];
        for (int arm = 0; arm < 2; arm++) TRY(merge_node(m, m->arm[arm], both[arm], &nodes[arm]));
        TRY(merge_result(m, nodes, to));
    }
    return ANSWER_YES;
}

/* The arms of a branch in a kept loop's body. */
static Answer
close_in_loop(Merge *m, const Loop *before, const Loop arms[2], Value *const leaves[2],
              Rest (*rest)[LOOP_DEEP])
{
    Loop *loop = m->in->loop; /* NULL in a repeat */
    Value *merged[LOOP_ARRAYS] = {NULL};
    Answer answer = merge_versions(m, before, arms, merged);
    if (answer == ANSWER_YES) answer = merge_leaves(m, leaves);
    if (answer == ANSWER_YES && m->join == JOIN_TURN) answer = merge_rests(m, rest);
    if (answer == ANSWER_YES) answer = make_cond(m);
    for (int i = 0; i < before->narrays && answer == ANSWER_YES; i++)
        loop->version[i] = merged[i] != NULL ? merged[i]->node : arms[0].version[i];
    return answer;
}

static Answer
follow_arms(Merge *m, const int start[2], const int depth[2])
{
    Interp *in = m->in;
    Activation *a = in->top;
    World before, arms[2];
    Loop versions = {0}, left[2];
    Value *result[2], *leaves[2] = {NULL, NULL};
    Rest rest[2][LOOP_DEEP];
    if (world_save(in, &before) < 0) return ANSWER_ERROR;
    if (in->loop != NULL) versions = *in->loop;
    m->made = in->attempt.values.len;
    for (int arm = 0; arm < 2; arm++) {
        Answer answer = follow_arm(m, arm, start[arm], depth[arm]);
        Value *changed = NULL;
        const char *effect = answer == ANSWER_YES ? effect_in_words(in, before.neffects) : NULL;
        if (answer == ANSWER_YES && !world_is_pure(in, &before, true, &changed))
            answer = merge_changes(m, "one side changes", changed);
        in->top = a;
        bool side = effect != NULL || answer == ANSWER_BREAK || answer == ANSWER_NO;
        if (side && note_side(m, start[arm], effect != NULL ? effect : m->what) < 0)
            return ANSWER_ERROR;
        if (answer != ANSWER_YES) return answer;
        if (in->loop != NULL) {
            left[arm] = *in->loop;
            memcpy(in->loop->version, versions.version, sizeof(versions.version));
        }
        result[arm] = a->result;
        a->result = NULL;
        if (m->turn != NULL) {
            leaves[arm] = m->turn->leaves;
            memcpy(rest[arm], m->turn->rest, sizeof(rest[arm]));
            memset(m->turn->rest, 0, sizeof(m->turn->rest));
            m->turn->leaves = NULL;
        }
        if (world_take_back(in, &before, &arms[arm]) < 0) return ANSWER_ERROR;
    }
    Answer answer = merge_writes(m, &before, arms);
    if (answer == ANSWER_NO) answer = merge_changes(m, "its sides write", NULL);
    if (answer == ANSWER_YES) answer = merge_changed(m, &before, arms);
    if (answer == ANSWER_NO) answer = merge_changes(m, "its sides change", NULL);
    if (m->join == m->d->count) {
        if (answer == ANSWER_YES) {
            answer = merge_value(m, result[0], result[1], &a->result);
            if (answer == ANSWER_NO)
                answer = merge_differ(m, "what is returned", result[0], result[1]);
        }
    } else if (answer == ANSWER_YES) {
        answer = merge_slots(m, arms);
        a->number = m->join == JOIN_TURN ? m->turn->shape->begin : m->join;
    }
    if (answer == ANSWER_YES) answer = merge_effects(m, arms);
    if (answer != ANSWER_YES) return answer;
    return in->loop != NULL || m->turn != NULL ? close_in_loop(m, &versions, left, leaves, rest)
                                               : make_cond(m);
}

/* One arm only raises: the plan assumes that it is not taken. */
static Answer
expect(Interp *in, Value *condition, bool expected, int number, int depth)
{
    Value *test = condition, *ignored;
    if (!expected && (test = scalar_emit(in, OP_logical_not, DT_BOOL, 1, &condition, NULL)) == NULL)
        return ANSWER_ERROR;
    if ((ignored = scalar_emit(in, OP_py_assert, DT_BOOL, 1, &test, NULL)) == NULL)
        return ANSWER_ERROR;
    in->top->number = number;
    in->top->depth = depth;
    return ANSWER_YES;
}

static bool
forked_here(const Interp *in, const Merge *m)
{
    int deep = 0;
    for (const Fork *fork = in->fork; fork != NULL; fork = fork->outer, deep++)
        if (fork->code == m->d->code && fork->number == m->number) return true;
    return deep >= (in->loop != NULL ? LOOP_FORKS_DEEP : FORKS_DEEP);
}

Answer
branch_merge(Interp *in, int on_true, int on_false, Value *condition, int depth_true,
             int depth_false)
{
    Activation *a = in->top;
    Merge m = {
        .in = in, .d = a->decoded, .number = a->number, .outer = in->region, .test = condition};
    if (in->turn != NULL && in->turn->of == a) m.turn = in->turn;
    const BranchMark *mark = branch_mark(in, m.d, m.number);
    bool others = mark != NULL && mark->in_turns && in->loop != NULL; /* a loop's arms are others */
    if (mark != NULL && mark->level == BRANCH_APART && !others) return ANSWER_NO;
    m.keep = mark != NULL;
    if (on_false >= 0 && branch_raises(m.d, on_true) != branch_raises(m.d, on_false) && !in_try(in))
        return branch_raises(m.d, on_true) ? expect(in, condition, false, on_false, depth_false)
                                           : expect(in, condition, true, on_true, depth_true);
    if (branch_join(in, m.d, m.number, &m.join) < 0) return ANSWER_ERROR;
    while (in->leaving != NULL && m.join >= 0 && m.join < m.d->count &&
           in->leaving->shape->inside[m.join]) /* behind the loop, where its exits meet */
        if (branch_join(in, m.d, m.join, &m.join) < 0) return ANSWER_ERROR;
    if (m.join == JOIN_NONE || forked_here(in, &m)) return ANSWER_NO;
    Answer answer = value_as_node(in, condition, &m.condition);
    if (answer != ANSWER_YES) return answer;
    int start[2] = {on_true, on_false}, depth[2] = {depth_true, depth_false};
    for (int arm = 0; arm < 2; arm++)
        if ((m.arm[arm] = graph_region(in->graph, NO_NODE)) == NO_REGION) return ANSWER_ERROR;
    Fork fork = {.code = m.d->code,
                 .number = m.number,
                 .neffects = in->writes.effects.len,
                 .outer = in->fork};
    in->fork = &fork;
    answer = follow_arms(&m, start, depth);
    in->fork = fork.outer;
    in->region = m.outer;
    bool loops = in->loop != NULL || in->turn != NULL || in->attempt.repeats;
    if (answer == ANSWER_BREAK && loops && in->attempt.again)
        return answer; /* a loop has learnt something: the branch is tried again with that */
    return answer == ANSWER_YES || answer == ANSWER_ERROR ? answer : merge_refuse(&m);
}
