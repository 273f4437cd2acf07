/* The steps of a program as tables; those that have no C are reasons. */
#include "write.h"

#include "../lower/kernel.h"

static void
put_places(Export *e, int count, const Place *places)
{
    if (count == 0) {
        text_put(&e->out, "0, ");
        return;
    }
    text_put(&e->out, "(const ExportedPlace[]){");
    for (int i = 0; i < count; i++) put_place(e, places[i]);
    text_put(&e->out, "}, ");
}

static const char *
step_file(const Export *e, const Step *step)
{
    return step->line > 0 ? e->graph->files.at[step->file] : NULL;
}

/* ---- loops of ufuncs ---- */

static const char *
instr_name(const Export *e, const Instr *instr)
{
    const Node *node = graph_node(e->graph, instr->node);
    if (node->op == OP_ufunc && node->attrs.object != NULL) return ufunc_name(node->attrs.object);
    Op op = instr->kind == INSTR_OP || instr->kind == INSTR_REDUCE ? instr->op : node->op;
    return op_info(op)->ufunc != NULL ? op_info(op)->ufunc : op_info(op)->name;
}

static const Instr *
caller_of_loop(const Kernel *k, int loop)
{
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *instr = &k->instrs.at[i];
        bool reduces = instr->kind == INSTR_REDUCE &&
                       (instr->order == REDUCE_CALL || instr->order == REDUCE_EXTREME);
        if ((instr->kind == INSTR_CALL || reduces) && instr->loop == loop) return instr;
    }
    return NULL;
}

/* The library's own loop, which stands for NumPy's. */
static int
put_loop(Export *e, const Step *step, const Kernel *k, int loop)
{
    const Instr *instr = caller_of_loop(k, loop);
    if (instr == NULL || k->kind == KERNEL_CALL)
        return export_refuse(e, step_file(e, step), step->line,
                             "a function of NumPy's that the library cannot call");
    const Node *node = graph_node(e->graph, instr->node);
    const char *name = instr_name(e, instr);
    DType from = instr->kind == INSTR_CALL && instr->nargs > 0 ? k->instrs.at[instr->args[0]].dtype
                                                               : instr->dtype;
    PyObject *row =
        Py_BuildValue("(sssisi)", name, dtype_name(from), dtype_name(instr->dtype), instr->nargs,
                      node->line > 0 ? e->graph->files.at[node->file] : "", (int)node->line);
    int status = row == NULL ? -1 : PyList_Append(e->loops, row);
    Py_XDECREF(row);
    if (instr->kind == INSTR_REDUCE)
        text_printf(&e->out, "{loop_%s_%s_%s, 0, 0}, ", name, dtype_name(from), dtype_name(from));
    else
        text_printf(&e->out, "{loop_%s_%s_%s, 0, 0}, ", name, dtype_name(from),
                    dtype_name(instr->dtype));
    return status;
}

static int
put_step_loops(Export *e, const Step *step)
{
    const KernelStep *s = &step->kernel;
    for (int i = 0; i < s->nloops; i++)
        if (put_loop(e, step, e->program->kernels.at[s->kernel], i) < 0) return -1;
    return 0;
}

/* ---- kernels ---- */

/* Which operations may have raised a flag, each with its line. */
static void
put_origins(Export *e, const Kernel *k)
{
    text_put(&e->out, "(const ExportedOrigin[]){");
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *instr = &k->instrs.at[i];
        bool floats = dtype_is_float(instr->dtype) || dtype_is_complex(instr->dtype) ||
                      dtype_is_float(instr->from) || dtype_is_complex(instr->from);
        bool acts =
            instr->kind == INSTR_OP || instr->kind == INSTR_CALL || instr->kind == INSTR_REDUCE;
        if (!acts || (!floats && instr->kind != INSTR_CALL)) continue;
        if (instr->kind == INSTR_OP &&
            (op_info(instr->op)->flags & OPF_NO_FLAGS || op_info(instr->op)->kind == KIND_PYTHON))
            continue;
        text_put(&e->out, "{");
        put_text(e, instr->kind == INSTR_REDUCE ? "reduce" : instr_name(e, instr));
        text_printf(&e->out, "%d}, ", (int)graph_node(e->graph, instr->node)->line);
    }
    text_put(&e->out, "{0}}");
}

static int
put_kernel(Export *e, const Step *step, const char *what, int number)
{
    const KernelStep *s = &step->kernel;
    const char *name = e->wanted->name;
    if (s->device != DEVICE_HOST)
        return export_refuse(e, step_file(e, step), step->line, "an array on a device");
    const Kernel *k = e->program->kernels.at[s->kernel];
    text_printf(&e->out, "int %s_k%d(const KernelArgs *, int64_t, int64_t);\n", name, s->kernel);
    if (s->bounded)
        text_printf(&e->out, "int %s_k%d_bounded(const KernelArgs *, int64_t, int64_t);\n", name,
                    s->kernel);
    if (s->region)
        text_printf(&e->out, "int %s_careful_k%d(const KernelArgs *, int64_t, int64_t);\n", name,
                    s->kernel);
    text_printf(&e->out, "static const KernelLoop %s_%s%d_loops[] = {", name, what, number);
    if (put_step_loops(e, step) < 0) return -1;
    text_printf(&e->out, "{0}};\nstatic const ExportedKernel %s_%s%d = {\n    %s_k%d, ", name, what,
                number, name, s->kernel);
    if (s->bounded)
        text_printf(&e->out, "%s_k%d_bounded, ", name, s->kernel);
    else
        text_put(&e->out, "0, ");
    if (s->region)
        text_printf(&e->out, "%s_careful_k%d, ", name, s->kernel);
    else
        text_put(&e->out, "0, ");
    text_printf(&e->out, "%d, %d, ", s->nplaces, s->nsizes);
    put_places(e, s->nplaces, s->places);
    put_needed(e, s->nsizes, s->sizes);
    export_need(e, s->units);
    if (s->scratch_each > 0) export_need(e, s->scratch_row);
    text_printf(&e->out, "%s_%s%d_loops, %d, %lld, %lld, %lld, %lld, %d,\n    %d, %d, %d, %d, %d, ",
                name, what, number, s->units, (long long)(s->grain > 0 ? s->grain : 1),
                (long long)s->unit_ps, (long long)s->scratch_bytes, (long long)s->scratch_each,
                s->scratch_each > 0 ? s->scratch_row : NO_SIZE, s->checks_flags, s->errors >> 4,
                s->errors & 15, s->region, s->parts);
    put_text(e, step_file(e, step) != NULL ? step_file(e, step) : "");
    text_printf(&e->out, "%d, ", step->line);
    put_origins(e, k);
    text_put(&e->out, "};\n");
    return 0;
}

/* ---- steps ---- */

static void
put_choose(Export *e, const ChooseStep *c)
{
    text_put(&e->out, "    {STEP_CHOOSE, 0, ");
    put_place(e, c->condition);
    text_put(&e->out, "2, 0, 0, 0, 0, ");
    put_places(e, 2, c->of);
    put_ids(e, 1, &c->to);
    text_put(&e->out, "0, 0, 0, 0, 0},\n");
}

static bool
pool_is_alike(const Export *e, const CarryStep *c)
{
    const Buffer *buffers = e->program->buffers.at;
    bool alike = true;
    for (int i = 0; i < c->nfresh * c->npool; i++) {
        const Type *one = &buffers[c->fresh[i % c->nfresh]].type;
        const Type *other = &buffers[c->pool[i / c->nfresh]].type;
        alike &= one->dtype == other->dtype && type_same_layout(one, other);
    }
    return alike;
}

static void
put_carry(Export *e, const CarryStep *c)
{
    text_put(&e->out, "    {STEP_CARRY, 0, ");
    put_place(e, c->condition);
    text_printf(&e->out, "%d, %d, %d, %d, %d, ", c->nmoves, c->nfresh, c->npool, c->ndropped,
                pool_is_alike(e, c));
    put_places(e, c->nmoves, c->from);
    put_ids(e, c->nmoves, c->to);
    put_ids(e, c->nfresh, c->fresh);
    put_ids(e, c->npool, c->pool);
    put_ids(e, c->ndropped, c->dropped);
    text_put(&e->out, "0, 0},\n");
}

/* The size that is known now, and those that have it, in their order. */
static int
put_measure(Export *e, const MeasureStep *m)
{
    const Graph *g = e->graph;
    int32_t *ids = arena_alloc(g->arena, sizeof(int32_t) * (size_t)(g->sizes.len + 1));
    bool *has = arena_alloc(g->arena, (size_t)g->sizes.len + 1);
    int count = 0;
    if (ids == NULL || has == NULL) return -1;
    for (SizeId id = 0; id < g->sizes.len; id++) {
        const Size *size = &g->sizes.at[id];
        bool is = size->kind == SIZE_NUMBER && size->node == m->node;
        if (!is && !(size->kind >= SIZE_ADD && (has[size->a] || has[size->b]))) continue;
        has[id] = true;
        ids[count++] = id;
        if (is) continue;
        export_need(e, size->a);
        export_need(e, size->b);
    }
    text_put(&e->out, "    {STEP_MEASURE, 0, {-1, -1}, ");
    text_printf(&e->out, "1, %d, 0, 0, 0, ", m->fresh.len);
    put_places(e, 1, &m->from);
    text_put(&e->out, "0, ");
    put_ids(e, m->fresh.len, m->fresh.at);
    text_printf(&e->out, "0, 0, %d, ", count);
    put_needed(e, count, ids);
    text_put(&e->out, "},\n");
    return 0;
}

/* The attribute as a str, or NULL without an error. */
static PyObject *
name_of(PyObject *object, const char *attribute)
{
    PyObject *name = PyObject_GetAttrString(object, attribute);
    if (name == NULL || !PyUnicode_Check(name)) Py_CLEAR(name);
    PyErr_Clear();
    return name;
}

/* What the program called, as its user knows it: "np.add.reduce", and of a step of ours what it
   calls. A new reference; NULL with the error set. */
static PyObject *
name_told(PyObject *callable)
{
    PyObject *inner = PyObject_GetAttrString(callable, "function");
    PyObject *self = inner == NULL ? PyObject_GetAttrString(callable, "__self__") : NULL, *told;
    PyErr_Clear();
    PyObject *name = name_of(inner != NULL ? inner : callable, "__name__");
    if (name == NULL) name = name_of(inner != NULL ? inner : callable, "name");
    if (name == NULL)
        told = PyUnicode_FromString(Py_TYPE(callable)->tp_name);
    else if (self != NULL && ufunc_check(self))
        told = PyUnicode_FromFormat("np.%s.%U", ufunc_name(self), name);
    else if (PyUnicode_CompareWithASCIIString(name, "array_select") == 0)
        told = PyUnicode_FromString("array[mask]");
    else
        told = Py_NewRef(name);
    Py_XDECREF(name);
    Py_XDECREF(self);
    Py_XDECREF(inner);
    return told;
}

static int
put_call(Export *e, const Step *step)
{
    PyObject *callable = step->external.callable;
    PyObject *name = callable != NULL ? name_of(callable, "__name__") : NULL, *told = NULL;
    int status = export_call(e, step, name != NULL ? text_of_str(name) : "");
    if (status == 0 && (callable == NULL || (told = name_told(callable)) != NULL))
        status = export_refuse(e, step_file(e, step), step->line,
                               "%s is a call of a function of NumPy's or Python's, "
                               "which has no C form here",
                               told != NULL ? text_of_str(told) : "this");
    else if (status == 0)
        status = -1;
    Py_XDECREF(name);
    Py_XDECREF(told);
    return status < 0 ? -1 : 0;
}

static int
put_step(Export *e, int number)
{
    const Step *step = &e->program->steps.at[number];
    switch (step->kind) {
    case STEP_KERNEL:
        text_printf(&e->out, "    {STEP_KERNEL, &%s_kernel%d, {-1, -1}},\n", e->wanted->name,
                    number);
        return 0;
    case STEP_CHOOSE: put_choose(e, &step->choose); return 0;
    case STEP_CARRY: put_carry(e, &step->carry); return 0;
    case STEP_MEASURE: return put_measure(e, &step->measure);
    case STEP_EXTERN: return put_call(e, step);
    case STEP_SAVE:
    case STEP_JUMP: break;
    }
    text_put(&e->out, "    {STEP_DRIVEN},\n");
    return 0;
}

/* By step: of how many units a kernel is divided among threads; and the loops of all. */
static int
put_grains(Export *e)
{
    const Program *p = e->program;
    text_printf(&e->out, "static const int64_t %s_grains[] = {", e->wanted->name);
    for (int i = 0; i < p->steps.len; i++) {
        int64_t grain = p->steps.at[i].kind == STEP_KERNEL ? p->steps.at[i].kernel.grain : 0;
        text_printf(&e->out, "%lld, ", (long long)(grain > 0 ? grain : 1));
    }
    text_printf(&e->out, "0};\nstatic const KernelLoop %s_loops[] = {", e->wanted->name);
    for (int i = 0; i < p->steps.len; i++)
        if (p->steps.at[i].kind == STEP_KERNEL && put_step_loops(e, &p->steps.at[i]) < 0) return -1;
    text_put(&e->out, "{0}};\n");
    return 0;
}

int
export_steps(Export *e)
{
    const Program *p = e->program;
    for (int i = 0; i < p->steps.len; i++)
        if (p->steps.at[i].kind == STEP_KERNEL && put_kernel(e, &p->steps.at[i], "kernel", i) < 0)
            return -1;
    text_printf(&e->out, "static const ExportedStep %s_steps[] = {\n", e->wanted->name);
    for (int i = 0; i < p->steps.len; i++)
        if (put_step(e, i) < 0) return -1;
    text_put(&e->out, "    {0},\n};\n");
    return put_grains(e);
}

int
export_commits(Export *e)
{
    const Program *p = e->program;
    for (int i = 0; i < p->commits.len; i++)
        if (put_kernel(e, &p->commits.at[i], "commit", i) < 0) return -1;
    text_printf(&e->out, "static const ExportedKernel *const %s_commits[] = {", e->wanted->name);
    for (int i = 0; i < p->commits.len; i++)
        text_printf(&e->out, "&%s_commit%d, ", e->wanted->name, i);
    text_put(&e->out, "0};\n");
    return 0;
}
