/* A program as text: for PYCOMPILE_LOGS=schedule, golden files and people. */
#include "schedule.h"

static const char *const buffer_names[] = {
    [BUFFER_INPUT] = "input",   [BUFFER_CONST] = "const", [BUFFER_OUTPUT] = "output",
    [BUFFER_EXTERN] = "extern", [BUFFER_TEMP] = "temp",   [BUFFER_SCALAR] = "scalar",
    [BUFFER_CHOSEN] = "chosen",
};
static const char *const kind_names[] = {
    [KERNEL_FLAT] = "flat",     [KERNEL_ROWS] = "rows",           [KERNEL_COLUMNS] = "columns",
    [KERNEL_REGION] = "region", [KERNEL_ATTENTION] = "attention", [KERNEL_PRODUCT] = "product",
    [KERNEL_SCAN] = "scan",     [KERNEL_CALL] = "call",
};

static void
put_size(const Graph *g, SizeId id, Text *out)
{
    text_printf(out, "%lld%s", (long long)size_value(g, id), size_is_const(g, id) ? "" : "?");
}

static void
put_place(const Graph *g, const Place *p, Text *out)
{
    text_printf(out, "b%d", p->buffer);
    if (!size_is_const(g, p->offset) || size_value(g, p->offset) != 0) {
        text_put(out, "+");
        put_size(g, p->offset, out);
    }
}

static void
put_buffer(const Graph *g, const Program *p, BufferId id, Text *out)
{
    const Buffer *b = &p->buffers.at[id];
    text_printf(out, "  b%d %s", id, buffer_names[b->kind]);
    if (b->type.device != DEVICE_HOST) {
        text_put(out, " on ");
        device_print(g, (Device)b->type.device, out);
    }
    if (b->kind == BUFFER_INPUT) text_printf(out, " %d", b->index);
    text_printf(out, ": %s[", dtype_name(b->type.dtype));
    for (int axis = 0; axis < b->type.rank; axis++) {
        if (axis) text_put(out, ",");
        put_size(g, b->type.shape[axis], out);
    }
    text_put(out, "]");
    if (b->kind == BUFFER_TEMP)
        text_printf(out, ", arena %lld, %lld bytes", (long long)b->arena_offset,
                    (long long)size_value(g, b->bytes));
    text_put(out, "\n");
}

static void
put_operand(const Graph *g, const KernelStep *step, const Kernel *k, int32_t number, Text *out)
{
    const Operand *o = &k->operands.at[number];
    put_place(g, &step->places[o->pointer], out);
    text_put(out, o->turned ? "{turned " : "{");
    for (int i = 0; i < k->nloops; i++) {
        if (i) text_put(out, ",");
        if (o->stride[i] == STRIDE_ZERO)
            text_put(out, "0");
        else if (o->stride[i] == STRIDE_UNIT)
            text_put(out, "unit");
        else
            put_size(g, step->sizes[o->stride[i]], out);
    }
    text_put(out, "}");
}

static void
put_instr(const Graph *g, const KernelStep *step, const Kernel *k, int32_t at, Text *out)
{
    static const char *const kinds[] = {
        [INSTR_LOAD] = "load",       [INSTR_CONST] = "const",
        [INSTR_INDEX] = "index",     [INSTR_OP] = "",
        [INSTR_GATHER] = "gather",   [INSTR_CALL] = "call ",
        [INSTR_REDUCE] = "reduce ",  [INSTR_STORE] = "store ",
        [INSTR_CARRIED] = "carried", [INSTR_CHECK] = "check",
        [INSTR_PRODUCT] = "product", [INSTR_LIST] = "list",
        [INSTR_DRAW] = "draw",
    };
    static const char *const levels[] = {"once", "row", "element"};
    const Instr *v = &k->instrs.at[at];
    text_printf(out, "    %-7s %d  v%d: %s = %s", levels[v->level], v->stage, at,
                dtype_name(v->dtype), kinds[v->kind]);
    if (v->kind == INSTR_OP || v->kind == INSTR_CALL || v->kind == INSTR_REDUCE)
        text_put(out, op_info(v->op)->name);
    for (int a = 0; a < v->nargs; a++) text_printf(out, "%sv%d", a ? ", " : " ", v->args[a]);
    if (v->kind == INSTR_INDEX && v->operand > 0) text_put(out, " of the loop before the row");
    if (v->kind == INSTR_CONST)
        text_printf(out, " 0x%llx%s",
                    v->argument ? (long long)size_value(g, step->sizes[v->argument - 1])
                                : (long long)v->bits[0],
                    v->argument ? ", an argument" : "");
    if (v->kind == INSTR_GATHER)
        text_printf(out, " of %lld, %lld apart, of",
                    (long long)size_value(g, step->sizes[v->bits[0]]),
                    (long long)size_value(g, step->sizes[v->bits[1]]));
    if (v->kind == INSTR_LOAD || v->kind == INSTR_STORE || v->kind == INSTR_GATHER) {
        text_put(out, v->kind == INSTR_STORE ? " to " : " ");
        put_operand(g, step, k, v->operand, out);
    }
    if (v->kind == INSTR_REDUCE && k->device == DEVICE_HOST)
        text_put(out, v->order == REDUCE_PAIRWISE  ? " (pairwise)"
                      : v->order == REDUCE_CALL    ? " (the ufunc's loop)"
                      : v->order == REDUCE_EXTREME ? " (any order, or the ufunc's loop)"
                                                   : " (any order)");
    if (v->home == HOME_SCRATCH) text_printf(out, " -> scratch %d", v->slot);
    if (v->home == HOME_OPERAND) text_put(out, " -> memory");
    if (v->node != NO_NODE && graph_node(g, v->node)->line > 0)
        text_printf(out, "  # line %d", graph_node(g, v->node)->line);
    text_put(out, "\n");
}

static void
put_host(const Graph *g, const KernelStep *s, const Kernel *k, Text *out)
{
    text_put(out, "], units ");
    put_size(g, s->units, out);
    text_printf(out, ", grain %lld", (long long)s->grain);
    if (k->parts) text_put(out, ", parts of one row");
    if (k->beside) text_put(out, k->upright ? ", eight rows together" : ", rows side by side");
    if (k->block) text_printf(out, ", blocks of %d", k->block);
    if (s->scratch_bytes) text_printf(out, ", scratch %lld", (long long)s->scratch_bytes);
}

static void
put_cuda(const Graph *g, const KernelStep *s, const Kernel *k, Text *out)
{
    const CudaKernel *c = &k->cuda;
    text_put(out, "] on cuda, ");
    put_size(g, s->blocks[0], out);
    text_printf(out, " blocks of %d", c->threads);
    if (s->members > 0) text_printf(out, ", %d launched together", s->members);
    if (k->kind != KERNEL_FLAT) text_printf(out, ", %d lanes", c->lanes);
    if (c->each)
        text_printf(out, ", %d %s a thread", c->each,
                    k->kind == KERNEL_ROWS && k->nstages == 1 ? "rows" : "elements");
    if (c->pack > 1) text_printf(out, ", packs of %d", c->pack);
    if (c->side > 0)
        text_printf(out, ", tiles of %d along loop %d in packs of %d", c->side, c->along,
                    c->turned_pack);
    if (c->parts >= 0) {
        text_put(out, ", ");
        put_size(g, s->sizes[c->parts], out);
        text_put(out, " parts, combined by ");
        put_size(g, s->blocks[1], out);
        text_put(out, " blocks");
    }
    if (c->wide) text_put(out, ", 64-bit indices");
    if (s->nmaps > 0)
        text_printf(out, ", tiles of %d keys by the copy engine, %d at once, shared %d", KEY_TILE,
                    c->stages, s->shared);
}

static void
put_product(const Graph *g, const KernelStep *s, Text *out)
{
    const Product *p = s->product;
    text_printf(out, "product k%d", s->kernel);
    for (int i = 0; i < s->nplaces; i++) {
        text_put(out, i == PRODUCT_RESULT  ? " -> "
                      : i == PRODUCT_FIXED ? "; "
                      : i > 0              ? ", "
                                           : " ");
        put_place(g, &s->places[i], out);
    }
    text_printf(out, ", %lld of [%lld,%lld]%s by [%lld,%lld]%s", (long long)p->batch,
                (long long)p->rows, (long long)p->inner, p->turned[0] ? " turned" : "",
                (long long)p->inner, (long long)p->columns, p->turned[1] ? " turned" : "");
    static const char *const names[] = {"row added", "matrix added", "relu", "gelu"};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (p->flags >> i & 1) text_printf(out, ", %s", names[i]);
    if (s->workspace > 0) text_printf(out, ", %lld bytes besides", (long long)s->workspace);
    text_put(out, "\n");
}

static void
put_kernel(const Graph *g, const Program *p, const Step *step, Text *out)
{
    const KernelStep *s = &step->kernel;
    const Kernel *k = p->kernels.at[s->kernel];
    if (k->kind == KERNEL_PRODUCT) {
        put_product(g, s, out);
        return;
    }
    text_printf(out, "kernel k%d, %s [", s->kernel, kind_names[k->kind]);
    for (int i = 0; i < k->nloops; i++) {
        if (i) text_put(out, ",");
        put_size(g, s->sizes[k->size[i]], out);
    }
    if (k->device != DEVICE_HOST)
        put_cuda(g, s, k, out);
    else
        put_host(g, s, k, out);
    text_printf(out, "%s%s\n",
                s->bounded        ? ", flags by bounds"
                : s->checks_flags ? ", flags"
                                  : "",
                s->fallible ? ", fallible" : "");
    if (k->kind == KERNEL_REGION) {
        region_print(g, s, k, out);
        return;
    }
    for (int i = 0; i < k->instrs.len; i++) put_instr(g, s, k, i, out);
}

static void
put_external(const Graph *g, const Step *step, Text *out)
{
    const ExternStep *s = &step->external;
    PyObject *name = PyObject_GetAttrString(s->callable, "__name__");
    PyObject *owner = PyObject_GetAttrString(s->callable, "__self__");
    PyObject *owner_name = owner == NULL ? NULL : PyObject_GetAttrString(owner, "__name__");
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "callable";
    const char *prefix =
        owner_name != NULL && PyUnicode_Check(owner_name) ? PyUnicode_AsUTF8(owner_name) : NULL;
    PyErr_Clear();
    text_printf(out, "extern %s%s%s(", prefix ? prefix : "", prefix ? "." : "", text);
    for (int i = 0; i < s->nargs; i++) {
        if (i) text_put(out, ", ");
        put_place(g, &s->args[i], out);
    }
    text_put(out, s->out ? ", out last)" : ")");
    for (int i = 0; i < s->nresults; i++)
        text_printf(out, "%sb%d", i ? ", " : " -> ", s->results[i]);
    text_put(out, "\n");
    Py_XDECREF(name);
    Py_XDECREF(owner);
    Py_XDECREF(owner_name);
}

/* Steps are numbered from 0 in the order of the text. */
static void
put_jump(const Graph *g, int at, const JumpStep *jump, Text *out)
{
    text_printf(out, "step %d: jump to step %d", at, jump->target);
    if (jump->condition.buffer != NO_BUFFER) {
        text_put(out, " unless ");
        put_place(g, &jump->condition, out);
    }
    text_put(out, "\n");
}

static void
put_choice(const Graph *g, int at, const ChooseStep *choose, Text *out)
{
    text_printf(out, "step %d: b%d is ", at, choose->to);
    put_place(g, &choose->of[0], out);
    text_put(out, " if ");
    put_place(g, &choose->condition, out);
    text_put(out, " else ");
    put_place(g, &choose->of[1], out);
    text_put(out, "\n");
}

static void
put_buffers(const char *before, int count, const BufferId *buffers, Text *out)
{
    for (int i = 0; i < count; i++) text_printf(out, "%sb%d", i == 0 ? before : ", ", buffers[i]);
}

static void
put_carry(const Graph *g, int at, const CarryStep *carry, Text *out)
{
    text_printf(out, "step %d: carry ", at);
    for (int i = 0; i < carry->nmoves; i++) {
        text_put(out, i > 0 ? ", " : "");
        put_place(g, &carry->from[i], out);
        text_printf(out, " to b%d", carry->to[i]);
    }
    put_buffers("; let go of ", carry->ndropped, carry->dropped, out);
    put_buffers("; ", carry->nfresh, carry->fresh, out);
    put_buffers(" of ", carry->npool, carry->pool, out);
    if (carry->condition.buffer != NO_BUFFER) {
        text_printf(out, "; go to step %d if ", carry->target);
        put_place(g, &carry->condition, out);
    }
    text_put(out, "\n");
}

static void
put_save(const Graph *g, int at, const SaveStep *save, Text *out)
{
    text_printf(out, "step %d: save", at);
    for (int i = 0; i < save->nparts; i++) {
        text_printf(out, "%s b%d: ", i > 0 ? "," : "", save->parts[i].buffer);
        type_print(g, &save->parts[i].type, out);
    }
    text_put(out, "\n");
}

static void
put_measure(const Graph *g, int at, const MeasureStep *measure, Text *out)
{
    text_printf(out, "step %d: measure %%%d, which is ", at, measure->node);
    put_place(g, &measure->from, out);
    put_buffers("; make ", measure->fresh.len, measure->fresh.at, out);
    text_put(out, "\n");
}

static void
put_wave(const Program *p, const Wave *wave, Text *out)
{
    text_printf(out, "wave of %d kernels, %lld tiles of %lld strips%s:", wave->count,
                (long long)wave->tiles, (long long)wave->tile, wave->apart ? ", apart" : "");
    for (int i = 0; i < wave->count; i++) {
        const WaveMember *member = &wave->members[i];
        text_printf(out, "%s k%d", i > 0 ? "," : "", p->steps.at[wave->first + i].kernel.kernel);
        if (member->pace != 1) text_printf(out, " by %lld", (long long)member->pace);
        if (member->lag != 0) text_printf(out, " lag %lld", (long long)member->lag);
    }
    text_put(out, "\n");
}

int
program_print(const Graph *graph, const Program *program, Text *out)
{
    text_printf(out, "buffers, arena %lld bytes", (long long)program->arena_bytes[DEVICE_HOST]);
    for (int device = DEVICE_HOST + 1; device < DEVICE_COUNT; device++)
        if (program->arena_bytes[device] > 0) {
            text_put(out, ", on ");
            device_print(graph, (Device)device, out);
            text_printf(out, " %lld", (long long)program->arena_bytes[device]);
        }
    text_put(out, "\n");
    for (BufferId id = 0; id < program->buffers.len; id++) put_buffer(graph, program, id, out);
    for (int i = 0; i < program->steps.len; i++) {
        const Step *step = &program->steps.at[i];
        if (step->kind == STEP_KERNEL)
            put_kernel(graph, program, step, out);
        else if (step->kind == STEP_JUMP)
            put_jump(graph, i, &step->jump, out);
        else if (step->kind == STEP_CHOOSE)
            put_choice(graph, i, &step->choose, out);
        else if (step->kind == STEP_CARRY)
            put_carry(graph, i, &step->carry, out);
        else if (step->kind == STEP_SAVE)
            put_save(graph, i, &step->save, out);
        else if (step->kind == STEP_MEASURE)
            put_measure(graph, i, &step->measure, out);
        else
            put_external(graph, step, out);
    }
    for (int i = 0; i < program->drives.len; i++)
        text_printf(out, "drive of steps %d to %d\n", program->drives.at[i].first,
                    program->drives.at[i].last);
    for (int i = 0; i < program->waves.len; i++) put_wave(program, &program->waves.at[i], out);
    if (program->commits.len > 0) text_put(out, "at commit:\n");
    for (int i = 0; i < program->commits.len; i++)
        put_kernel(graph, program, &program->commits.at[i], out);
    for (int i = 0; i < program->located.len; i++) {
        const Located *at = &program->located.at[i];
        text_printf(out, "%%%d is at ", at->node);
        put_place(graph, &at->place, out);
        text_put(out, at->written ? ", to be written into its input\n" : "\n");
    }
    return text_finish(out);
}
