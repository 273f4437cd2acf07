/* What keeps a loop from being kept once its body has been followed: it is learnt, and capture
   starts again with the loop unrolled. */
#include "loop.h"

/* A call of a ufunc of NumPy's own: others may raise errors, and hold the GIL for that. */
static bool
is_call(const Graph *g, const Node *node)
{
    if (!node_is_called(g, node)) return false;
    return op_info(node->op)->kind != KIND_UFUNC || ufunc_is_library(node->attrs.object);
}

/* The node itself, or one in its regions. */
static NodeId
odd_node(const Graph *g, NodeId id)
{
    const Node *node = graph_node(g, id);
    switch (op_info(node->op)->kind) {
    case KIND_CONST: return node->type.rank == 0 ? NO_NODE : id;
    case KIND_UFUNC:
    case KIND_POINTWISE:
    case KIND_PYTHON: return node_is_expression(g, node) || is_call(g, node) ? NO_NODE : id;
    case KIND_COPY: return node->type.rank == 0 ? NO_NODE : id;
    case KIND_ELEMENT:
    case KIND_INPUT: return NO_NODE;
    case KIND_RESULT:
        return op_info(graph_node(g, node->args[0])->op)->kind == KIND_REGION ? NO_NODE : id;
    case KIND_REGION:
        for (int r = 0; r < 2; r++) {
            NodeId odd = node->region[r] != NO_REGION ? loop_odd_node(g, node->region[r]) : NO_NODE;
            if (odd != NO_NODE) return odd;
        }
        return NO_NODE;
    default: return id;
    }
}

NodeId
loop_odd_node(const Graph *g, RegionId region)
{
    const Region *body = &g->regions.at[region];
    for (int i = 0; i < body->nodes.len; i++) {
        NodeId odd = odd_node(g, body->nodes.at[i]);
        if (odd != NO_NODE) return odd;
    }
    return NO_NODE;
}

/* The break in the body, in words; of an inner loop that is not kept, what that was refused for. */
static const char *
body_broke(Interp *in, int number)
{
    Arena *arena = in->attempt.learn_arena;
    const Break *broke = &in->told;
    const BreakFrame *at = break_at(broke);
    int line = at->line;
    const char *inner = NULL, *function = text_of_str(in->top->decoded->code->co_qualname);
    if (in->top->number != number && loop_refusal(in, in->top->number, &inner) < 0) return NULL;
    if (inner != NULL) return arena_copy(arena, inner, strlen(inner) + 1);
    const char *of = "";
    if (strcmp(at->function, function) != 0 &&
        (of = arena_printf(arena, " of '%s'", at->function)) == NULL)
        return NULL;
    if (*broke->detail == '\0')
        return arena_printf(arena, "%s, line %d%s", break_text(broke->code), line, of);
    if (broke->code == BREAK_BRANCH)
        return arena_printf(arena, "the branch of line %d%s: %s", line, of, broke->detail);
    return names_line(broke->detail)
               ? arena_copy(arena, broke->detail, strlen(broke->detail) + 1)
               : arena_printf(arena, "%s, line %d%s", broke->detail, line, of);
}

/* A loop that is unrolled can merge branches that one that stays a loop cannot. */
static void
forget_branches(Marks *marks)
{
    int kept = 0;
    for (int i = 0; i < marks->branches.len; i++)
        if (!marks->branches.at[i].in_loop) marks->branches.at[kept++] = marks->branches.at[i];
    marks->branches.len = kept;
}

Answer
loop_unkept(Interp *in, int number, const char *why)
{
    if (why == NULL) return ANSWER_ERROR;
    if (in->attempt.again) return ANSWER_BREAK; /* what an inner loop has learnt comes first */
    forget_branches(in->attempt.learn);
    why = in->break_code != BREAK_NONE ? body_broke(in, number)
                                       : arena_copy(in->attempt.learn_arena, why, strlen(why) + 1);
    if (why == NULL || loop_learn_refusal(in, number, (char *)why) < 0) return ANSWER_ERROR;
    in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

/* A dtype among the node's arguments in which few operations have a native form; NULL: none. */
static const char *
rare_dtype(const Graph *g, const Node *node)
{
    for (int i = 0; i < node->nargs; i++) {
        DType dtype = (DType)graph_node(g, node->args[i])->type.dtype;
        if (dtype != DT_F64 && dtype != DT_I64 && dtype != DT_BOOL && dtype != DT_OBJECT)
            return dtype_long_name(dtype);
    }
    return NULL;
}

/* Are the node's arrays rows, each a whole array?  Of parts of arrays, as v[:] is one, no node is
   made: a loop goes through their elements. */
static bool
takes_whole_rows(const Graph *g, const Node *node)
{
    bool rows = false;
    for (int i = 0; i < node->nargs; i++) {
        const Type *type = &graph_node(g, node->args[i])->type;
        if (type->form != FORM_ARRAY) continue;
        if (type->rank != 1) return false;
        rows = true;
    }
    return rows;
}

/* A function of pycompile's own does for the graph what the line says in other words. */
static bool
is_own_step(PyObject *callable)
{
    PyObject *module = PyObject_GetAttrString(callable, "__module__");
    const char *name = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    bool own = name != NULL && strncmp(name, "pycompile.", strlen("pycompile.")) == 0;
    PyErr_Clear();
    Py_XDECREF(module);
    return own;
}

Answer
loop_learn_odd(Interp *in, int number, NodeId odd)
{
    const Node *node = graph_node(in->graph, odd);
    bool call = op_info(node->op)->kind == KIND_EXTERN;
    Value *called = call ? value_const(in, node->attrs.object) : NULL;
    if (call && called == NULL) return ANSWER_ERROR;
    if (call && is_own_step(node->attrs.object))
        return loop_unkept(in, number,
                           arena_printf(in->arena,
                                        "what line %d computes has no native form in a loop",
                                        (int)node->line));
    const char *rare = rare_dtype(in->graph, node);
    bool ufunc = op_info(node->op)->kind == KIND_UFUNC;
    const char *name = call    ? value_describe(in, called)
                       : ufunc ? ufunc_name(node->attrs.object)
                               : op_info(node->op)->name;
    const char *what = call || ufunc ? "a call of" : "the operation";
    int line = (int)node->line;
    const char *why =
        !call && rare == NULL && takes_whole_rows(in->graph, node)
            ? arena_printf(in->arena,
                           "%s '%s' of whole arrays, line %d, which has no native form in a loop "
                           "(of parts, v[:] for v, + - * / and some functions have)",
                           what, name, line)
            : arena_printf(in->arena, "%s '%s'%s%s, line %d, which has no native form in a loop",
                           what, name, rare ? " on a numpy." : "", rare ? rare : "", line);
    return loop_unkept(in, number, why);
}

Answer
loop_learn_effect(Interp *in, int number, int first, const Turn *turn)
{
    for (int i = first; i < in->writes.effects.len; i++) {
        const Effect *effect = &in->writes.effects.at[i];
        if (effect->what == NULL) continue;
        return loop_unkept(
            in, number,
            arena_printf(in->arena, "a call of '%s', line %d", effect->what, effect->at.line));
    }
    const char *change = turn->change != NULL ? turn->change : "an object other than arrays";
    return loop_unkept(in, number, arena_printf(in->arena, "it changes %s", change));
}
