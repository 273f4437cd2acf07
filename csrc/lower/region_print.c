/* A kept loop's kernel as text: the tree of statements, for logs and golden files. */
#include "region.h"
#include "schedule.h"

static void
put_element(const Kernel *k, int32_t number, Text *out)
{
    const RegionElement *e = &k->region->elements.at[number];
    text_printf(out, " a%d[", e->array);
    for (int i = 0; i < k->region->arrays.at[e->array].rank; i++) {
        text_printf(out, i ? ", v%d" : "v%d", e->index[i]);
        if (e->checked[i] < 0) text_put(out, " checked");
    }
    text_put(out, "]");
    if (e->reuse == REUSE_FIXED) text_put(out, ", once");
    if (e->reuse == REUSE_KEPT) text_put(out, ", in a register");
    if (e->reuse == REUSE_TURN) text_put(out, ", in a register for the iteration");
    if (e->reuse != REUSE_BEFORE) return;
    bool stored = region_is_store(k, &k->region->elements.at[e->source]);
    text_printf(out, ", what the iteration before %s", stored ? "stored" : "loaded");
}

/* What print needs at hand. */
typedef struct {
    const Graph *graph;
    const KernelStep *step;
    const Kernel *kernel;
    Text *out;
} Printer;

static const char *
list_text(Op op)
{
    switch (op) {
    case OP_element_append: return "append to";
    case OP_element_put: return "put into";
    case OP_element_pop: return "pop from";
    case OP_element_shift: return "shift";
    case OP_element_unshift: return "unshift";
    case OP_element_item: return "item of";
    case OP_element_find: return "find in";
    case OP_element_entry: return "entry of";
    case OP_element_set: return "set in";
    default: return "length of";
    }
}

static void
put_instr(const Printer *p, int at, int depth)
{
    const Kernel *k = p->kernel;
    const Instr *v = &k->instrs.at[at];
    Text *out = p->out;
    if (v->kind == INSTR_INDEX) return;
    text_printf(out, "    %*s%-6s v%d: %s =", 2 * depth, "",
                v->level == LEVEL_ONCE ? "once" : "body", at, dtype_name(v->dtype));
    if (v->kind == INSTR_CONST) text_printf(out, " const 0x%llx", (long long)v->bits[0]);
    if (v->kind == INSTR_OP) text_printf(out, " %s", op_info(v->op)->name);
    if (v->kind == INSTR_CALL) {
        const Node *node = graph_node(p->graph, v->node);
        bool named = op_info(node->op)->kind != KIND_UFUNC;
        text_printf(out, " call %s",
                    named ? op_info(node->op)->name : ufunc_name(node->attrs.object));
    }
    if (v->kind == INSTR_CARRIED) text_printf(out, " variable %d", v->operand);
    if (v->kind == INSTR_STORE) text_put(out, " store");
    if (v->kind == INSTR_LIST)
        text_printf(out, " %s a%d", list_text(graph_node(p->graph, v->node)->op), v->operand);
    if (v->kind == INSTR_DRAW) text_printf(out, " draw from a%d", v->operand);
    if (v->kind == INSTR_DOT)
        text_printf(out, " dot a%d a%d of v%d", k->region->dots.at[v->operand].array[0],
                    k->region->dots.at[v->operand].array[1], k->region->dots.at[v->operand].length);
    for (int i = 0; i < v->nargs; i++) text_printf(out, "%sv%d", i ? ", " : " ", v->args[i]);
    if (v->kind == INSTR_LOAD && v->level == LEVEL_ONCE)
        text_printf(out, " load b%d", p->step->places[k->operands.at[v->operand].pointer].buffer);
    if (v->kind == INSTR_STORE) text_put(out, " to");
    if (v->kind == INSTR_LOAD && v->level != LEVEL_ONCE) text_put(out, " load");
    if ((v->kind == INSTR_LOAD || v->kind == INSTR_STORE) && v->level != LEVEL_ONCE)
        put_element(k, v->operand, out);
    if (v->node != NO_NODE && graph_node(p->graph, v->node)->line > 0)
        text_printf(out, "  # line %d", graph_node(p->graph, v->node)->line);
    text_put(out, "\n");
}

static void put_loop(const Printer *p, const RegionFor *loop, int depth);

static void
put_block(const Printer *p, const RegionBlock *block, int depth)
{
    for (int i = 0; i < block->len; i++) {
        const RegionStmt *stmt = &block->at[i];
        if (stmt->instr >= 0) put_instr(p, stmt->instr, depth);
        if (stmt->loop != NULL) put_loop(p, stmt->loop, depth);
        if (stmt->branch == NULL) continue;
        for (int arm = 0; arm < 2; arm++) {
            text_printf(p->out, "    %*s%s v%d\n", 2 * depth, "", arm == 0 ? "if" : "if not",
                        stmt->branch->condition);
            put_block(p, &stmt->branch->arm[arm], depth + 1);
            for (int k = 0; k < stmt->branch->merged.len; k++)
                text_printf(p->out, "    %*svariable %d: v%d\n", 2 * depth + 2, "",
                            stmt->branch->merged.at[k].variable,
                            stmt->branch->merged.at[k].arm[arm]);
        }
    }
}

static void
put_loop(const Printer *p, const RegionFor *loop, int depth)
{
    text_printf(p->out, "    %*sfor v%d in range(v%d, v%d, v%d)%s%s\n", 2 * depth, "", loop->index,
                loop->start, loop->stop, loop->step,
                loop->innermost && loop->independent ? ", independent" : "",
                loop->with != NULL ? ", which has changed places" : "");
    if (loop->together > 0)
        text_printf(p->out, "    %*s%d at a time\n", 2 * depth + 2, "", loop->together);
    if (loop->bits >= 0)
        text_printf(p->out, "    %*scounts the bits of variable %d\n", 2 * depth + 2, "",
                    loop->bits);
    put_block(p, &loop->body, depth + 1);
    if (loop->instead.len > 0) {
        text_printf(p->out, "    %*sin its place, where nothing is odd\n", 2 * depth + 2, "");
        put_block(p, &loop->instead, depth + 2);
    }
    for (int i = 0; i < loop->carried.len; i++) {
        const RegionCarried *c = &loop->carried.at[i];
        text_printf(p->out, "    %*svariable %d: from v%d, then v%d\n", 2 * depth + 2, "",
                    c->variable, c->first, c->next);
    }
    if (loop->folds != OP_input)
        text_printf(p->out, "    %*svariable %d: %s of v%d\n", 2 * depth + 2, "", loop->folded,
                    op_info(loop->folds)->name, loop->each);
    if (loop->leaves >= 0)
        text_printf(p->out, "    %*sends if variable %d\n", 2 * depth + 2, "", loop->leaves);
}

void
region_print(const Graph *g, const KernelStep *step, const Kernel *k, Text *out)
{
    const RegionLoop *r = k->region;
    const Printer p = {.graph = g, .step = step, .kernel = k, .out = out};
    for (int i = 0; i < r->arrays.len; i++) {
        const RegionArray *a = &r->arrays.at[i];
        text_printf(out, "    a%d at b%d%s\n", i,
                    step->places[k->operands.at[a->operand].pointer].buffer,
                    a->logged ? ", written in place, old elements logged" : "");
    }
    for (int at = 0; at < r->body; at++) put_instr(&p, at, 0);
    put_loop(&p, r->top, 0);
}
