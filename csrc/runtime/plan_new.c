/* From capture and program to plan: everything that a run needs is copied out of the compile's
   arena into an arena of the plan, and the plan owns every Python object in it.
   Invariant: `builds` holds objects and effects in program order; `effects` lists the latter. */
#include "../codegen/codegen.h"
#include "cuda.h"
#include "target.h"

typedef struct {
    Plan *plan;
    const Capture *capture;
    const Program *program;
    bool sequence; /* of a backend: its call returns the outputs as objects */
} Maker;

/* Keeps an object for the plan; one that is kept weakly is held during runs. */
static int
keep_object(Maker *m, PyObject *object)
{
    Plan *plan = m->plan;
    if (guards_keep(plan->guards, m->capture->keep, object) < 0) return -1;
    return guards_hold_weakly(plan->guards, object) ? VEC_PUSH(plan->memory, &plan->weak, object)
                                                    : 0;
}

static void *
copy_of(Plan *plan, const void *data, size_t size)
{
    return arena_copy(plan->memory, data, size);
}

static int
make_inputs(Maker *m)
{
    Plan *plan = m->plan;
    plan->input_source = copy_of(plan, m->capture->input_source.at,
                                 sizeof(int32_t) * (size_t)m->capture->input_source.len);
    return plan->input_source == NULL ? -1 : 0;
}

/* ---- buffers ---- */

static int
make_constant(PlanBuffer *out)
{
    if (out->type.form == FORM_OBJECT || out->type.dtype == DT_OBJECT) return 0;
    if (array_is_exact(out->object)) {
        out->data = array_data(out->object);
        return 0;
    }
    out->data = out->constant;
    return constant_read(out->object, (DType)out->type.dtype, out->constant);
}

static int
make_buffers(Maker *m)
{
    Plan *plan = m->plan;
    plan->nbuffers = m->program->buffers.len;
    plan->buffers = arena_alloc(plan->memory, sizeof(PlanBuffer) * (size_t)(plan->nbuffers + 1));
    if (plan->buffers == NULL) return -1;
    for (int i = 0; i < plan->nbuffers; i++) {
        const Buffer *from = &m->program->buffers.at[i];
        PlanBuffer *out = &plan->buffers[i];
        out->kind = from->kind;
        out->type = from->type;
        out->index = from->index;
        out->arena_offset = from->arena_offset;
        out->slot = from->slot;
        out->object = from->object;
        if (keep_object(m, out->object) < 0) return -1;
        out->scalar = -1;
        out->is_whole_array = from->type.form == FORM_ARRAY;
        out->written = from->kind == BUFFER_EXTERN && from->written;
        out->born = from->born;
        out->released = from->released;
        if (from->kind == BUFFER_SCALAR || (from->kind == BUFFER_INPUT && !out->is_whole_array) ||
            (from->kind == BUFFER_EXTERN && !out->is_whole_array))
            out->scalar = plan->nscalars++;
        if (from->kind == BUFFER_CONST && make_constant(out) < 0) return -1;
    }
    return 0;
}

/* The buffers ordered by a step number, without those of -1; NULL with the error set. */
static int32_t *
buffers_by_step(Plan *plan, int32_t (*step_of)(const PlanBuffer *), int *count)
{
    size_t nsteps = (size_t)plan->nsteps + 2; /* [steps + 1]: where its buffers begin */
    int32_t *begin = arena_alloc(plan->memory, nsteps * sizeof(int32_t));
    int32_t *order = arena_alloc(plan->memory, ((size_t)plan->nbuffers + 1) * sizeof(int32_t));
    if (begin == NULL || order == NULL) return NULL;
    for (int i = 0; i < plan->nbuffers; i++) {
        int32_t step = step_of(&plan->buffers[i]);
        if (step < 0) continue;
        begin[step + 1]++;
        ++*count;
    }
    for (size_t i = 1; i < nsteps; i++) begin[i] += begin[i - 1];
    for (int i = 0; i < plan->nbuffers; i++) {
        int32_t step = step_of(&plan->buffers[i]);
        if (step >= 0) order[begin[step]++] = i;
    }
    return order;
}

static int32_t
step_born(const PlanBuffer *buffer)
{
    return buffer->kind == BUFFER_OUTPUT ? buffer->born : -1;
}

static int32_t
step_released(const PlanBuffer *buffer)
{
    return buffer->released > 0 ? buffer->released : -1;
}

/* Needs the steps. */
static int
make_lifetimes(Plan *plan)
{
    plan->born = buffers_by_step(plan, step_born, &plan->nborn);
    plan->released = buffers_by_step(plan, step_released, &plan->nreleased);
    return plan->born == NULL || plan->released == NULL ? -1 : 0;
}

/* ---- steps ---- */

static PlanPlace *
make_places(Plan *plan, const Place *from, int count)
{
    PlanPlace *out = arena_alloc(plan->memory, sizeof(PlanPlace) * (size_t)(count + 1));
    for (int i = 0; out != NULL && i < count; i++)
        out[i] = (PlanPlace){.buffer = from[i].buffer, .offset = from[i].offset};
    return out;
}

/* NULL with the error set. */
static void *
find_kernel(Code *code, const char *name)
{
    void *symbol = code != NULL ? code_symbol(code, name) : NULL;
    if (symbol == NULL)
        PyErr_Format(PyExc_SystemError, "kernel %s is missing from the compiled code", name);
    return symbol;
}

/* What a device's launch needs. */
static int
make_launch(Code *code, const KernelStep *from, PlanKernel *out)
{
    char name[24];
    PyOS_snprintf(name, sizeof(name), "k%d", (int)from->kernel);
    if ((out->function[0] = find_kernel(code, name)) == NULL) return -1;
    out->threads = (unsigned)from->threads;
    out->shared = (unsigned)from->shared;
    for (int i = 0; i < 2; i++) out->blocks[i] = from->blocks[i];
    if (from->blocks[1] == NO_SIZE) return 0;
    PyOS_snprintf(name, sizeof(name), "k%d_done", (int)from->kernel);
    return (out->function[1] = find_kernel(code, name)) != NULL ? 0 : -1;
}

/* Of a kernel that is the library's. */
static int
make_product(Maker *m, const KernelStep *from, PlanKernel *out)
{
    out->device = from->device;
    out->product = cuda_product(from->product);
    out->number = from->kernel;
    out->units = from->units;
    out->nplaces = from->nplaces;
    out->places = make_places(m->plan, from->places, from->nplaces);
    if (from->product->dtype != DT_BF16) /* of which the library has one way */
        m->plan->multiplies[from->product->dtype == DT_F32] = 1 + (int)from->product->tf32;
    if (out->product == NULL) PyErr_SetString(PyExc_SystemError, "the device's library is gone");
    return out->product == NULL || out->places == NULL ? -1 : 0;
}

static int
make_kernel(Maker *m, const KernelStep *from, PlanKernel *out)
{
    Plan *plan = m->plan;
    if (from->product != NULL) return make_product(m, from, out);
    out->device = from->device;
    if (from->device != DEVICE_HOST &&
        make_launch(plan->codes.on[device_target(from->device)], from, out) < 0)
        return -1;
    out->nplaces = from->nplaces;
    out->nsizes = from->nsizes;
    out->nloops = from->nloops;
    out->units = from->units;
    out->grain = from->grain > 0 ? from->grain : 1;
    out->unit_ps = from->unit_ps;
    out->scratch_bytes = from->scratch_bytes;
    out->scratch_each = from->scratch_each;
    out->scratch_row = from->scratch_each > 0 ? from->scratch_row : NO_SIZE;
    out->checks_flags = from->checks_flags;
    out->errors = from->errors;
    out->region = from->region;
    out->keeps_log = from->keeps_log;
    out->numpy_ints = from->numpy_ints;
    if (from->region && (out->careful = arena_alloc(plan->memory, sizeof(*out->careful))) == NULL)
        return -1;
    out->number = from->kernel;
    out->parts = from->parts;
    if (from->scratch_bytes > plan->scratch_bytes) plan->scratch_bytes = from->scratch_bytes;
    out->nmaps = from->nmaps;
    out->maps = copy_of(plan, from->maps, sizeof(TensorMap) * (size_t)from->nmaps);
    if (from->nmaps > 0 && out->maps == NULL) return -1;
    out->members = from->members;
    out->table = from->table;
    size_t arguments = (size_t)(step_places(from) + step_sizes(from));
    if (from->members > 0 &&
        (out->table.at = copy_of(plan, from->table.at, sizeof(int32_t) * arguments)) == NULL)
        return -1;
    out->places = make_places(plan, from->places, from->nplaces);
    out->sizes = copy_of(plan, from->sizes, sizeof(SizeId) * (size_t)from->nsizes);
    out->loops = arena_alloc(plan->memory, sizeof(KernelLoop) * (size_t)(from->nloops + 1));
    if (out->places == NULL || out->sizes == NULL || out->loops == NULL) return -1;
    out->silent = from->silent;
    for (int i = 0; i < from->nloops; i++) {
        const UfuncLoop *loop = &m->program->loops.at[from->loops[i]];
        /* It runs in this thread and with the GIL, so that its errors are noticed. */
        if (loop->foreign && !loop->shared) out->grain = INT64_MAX;
        out->foreign = out->foreign || loop->foreign;
        out->silent = out->silent || loop->foreign;
        if (loop->owner != NULL && PyList_Append(plan->owners, loop->owner) < 0) return -1;
        out->loops[i] = (KernelLoop){loop->call, loop->context, loop->auxdata};
    }
    return 0;
}

/* As many elements as when it was captured, where the number varies. */
static bool
is_large(const Maker *m, const Type *type)
{
    return type->form == FORM_ARRAY && type_elements(m->capture->graph, type) >=
                                           POOL_SMALLEST / (int64_t)dtype_size((DType)type->dtype);
}

/* The callable, or what does the same with several threads: pycompile/_divided.py.  A ufunc and a
   function in C (a ufunc's method) are never among the functions divided there. */
static int
divide_extern(Maker *m, PlanExtern *out)
{
    if (ufunc_check(out->callable) || PyCFunction_Check(out->callable)) return 0;
    PyObject *divide = module_object("pycompile._divided", "divided_step");
    PyObject *made = divide == NULL ? NULL : PyObject_CallOneArg(divide, out->callable);
    Py_XDECREF(divide);
    if (made == NULL) return -1;
    out->callable = made;
    int failed = keep_object(m, made);
    Py_DECREF(made);
    return failed;
}

/* Calls an attribute of the callable instead. */
static int
use_attribute(Maker *m, PlanExtern *out, const char *name)
{
    out->callable = PyObject_GetAttrString(out->callable, name);
    int failed = out->callable == NULL ? -1 : keep_object(m, out->callable);
    Py_XDECREF(out->callable); /* it is kept */
    return failed;
}

/* The COLLECTIVE_ bits of the step that is being made.  Behind another one there is nothing new on
   the program's stream for it to wait for; new memory could be what another thread gave back. */
static int
how_it_begins(const Maker *m, const ExternStep *step)
{
    if (step->how != COLLECTIVE_IN_PLACE || m->plan->nsteps < 2) return step->how;
    const Step *before = &m->program->steps.at[m->plan->nsteps - 2];
    bool begun = before->kind == STEP_EXTERN && before->external.sends &&
                 !(before->external.how & COLLECTIVE_AWAITED);
    return begun ? step->how | COLLECTIVE_BEHIND : step->how;
}

static int
make_extern(Maker *m, const ExternStep *from, PlanExtern *out)
{
    static const char *const ways[] = {
        [COLLECTIVE_AWAITED] = "awaited",
        [COLLECTIVE_IN_PLACE] = "in_place",
        [COLLECTIVE_AWAITED | COLLECTIVE_IN_PLACE] = "awaited_in_place",
        [COLLECTIVE_IN_PLACE | COLLECTIVE_BEHIND] = "in_place_behind"};
    Plan *plan = m->plan;
    int how = how_it_begins(m, from);
    out->callable = from->callable;
    out->kwnames = from->kwnames;
    out->backend = from->backend;
    out->sends = from->sends;
    out->current = from->current;
    if (how != 0 && use_attribute(m, out, ways[how]) < 0) return -1;
    if (keep_object(m, out->callable) < 0 || keep_object(m, out->kwnames) < 0) return -1;
    out->errors = from->errors;
    out->appended = array_rows_form(from->callable);
    if (callable_draws(from->callable) &&
        (out->save = PyObject_GetAttrString(from->callable, "save")) == NULL)
        return -1;
    out->nargs = from->nargs;
    out->nresults = from->nresults;
    out->numbers = true;
    for (int i = 0; i < from->nargs; i++) {
        out->numbers = out->numbers && from->arg_types[i].form == FORM_PYTHON;
        out->large = out->large || is_large(m, &from->arg_types[i]);
    }
    for (int i = 0; i < from->nresults; i++) {
        const Type *type =
            from->results[i] == NO_BUFFER ? NULL : &m->program->buffers.at[from->results[i]].type;
        out->numbers = out->numbers && type != NULL && type->form == FORM_PYTHON;
        out->large = out->large || (type != NULL && is_large(m, type));
    }
    out->numbers = out->numbers || callable_picks(out->callable);
    out->large = out->large && from->backend == NULL; /* the call runs code of the program */
    if (out->large && divide_extern(m, out) < 0) return -1;
    out->sequence = m->sequence || from->nresults > 1;
    out->args = make_places(plan, from->args, from->nargs);
    out->arg_types = copy_of(plan, from->arg_types, sizeof(Type) * (size_t)from->nargs);
    out->results = copy_of(plan, from->results, sizeof(int32_t) * (size_t)from->nresults);
    return out->args == NULL || out->arg_types == NULL || out->results == NULL ? -1 : 0;
}

static void
make_choice(const ChooseStep *from, PlanChoice *out)
{
    const Place *places[3] = {&from->condition, &from->of[0], &from->of[1]};
    PlanPlace *to[3] = {&out->condition, &out->of[0], &out->of[1]};
    for (int i = 0; i < 3; i++)
        *to[i] = (PlanPlace){.buffer = places[i]->buffer, .offset = places[i]->offset};
    out->to = from->to;
    out->object = from->object;
}

static int
make_carry(Plan *plan, const CarryStep *from, PlanCarry *out)
{
    *out = (PlanCarry){.nmoves = from->nmoves,
                       .nfresh = from->nfresh,
                       .npool = from->npool,
                       .ndropped = from->ndropped,
                       .condition = {from->condition.buffer, from->condition.offset},
                       .target = from->target};
    out->from = arena_alloc(plan->memory, sizeof(PlanPlace) * (size_t)(from->nmoves + 1));
    out->to = copy_of(plan, from->to, sizeof(int32_t) * (size_t)from->nmoves);
    out->fresh = copy_of(plan, from->fresh, sizeof(int32_t) * (size_t)from->nfresh);
    out->pool = copy_of(plan, from->pool, sizeof(int32_t) * (size_t)from->npool);
    out->dropped = copy_of(plan, from->dropped, sizeof(int32_t) * (size_t)from->ndropped);
    if (!out->from || !out->to || !out->fresh || !out->pool || !out->dropped) return -1;
    for (int i = 0; i < from->nmoves; i++)
        out->from[i] = (PlanPlace){from->from[i].buffer, from->from[i].offset};
    return 0;
}

static int
make_save(Plan *plan, const SaveStep *from, PlanSave *out)
{
    size_t bytes = sizeof(SavedPart) * (size_t)from->nparts;
    *out = (PlanSave){from->nparts, copy_of(plan, from->parts, bytes)};
    return out->parts == NULL ? -1 : 0;
}

static int32_t
number_of(const Graph *g, NodeId node)
{
    for (int32_t i = 0; i < g->sizes.len; i++)
        if (g->sizes.at[i].kind == SIZE_NUMBER && g->sizes.at[i].node == node) return i;
    return NO_SIZE;
}

/* Sizes come behind those that they are of. */
static int
make_measure(Maker *m, const MeasureStep *from, PlanMeasure *out)
{
    Plan *plan = m->plan;
    const Graph *g = m->capture->graph;
    bool *has = arena_alloc(plan->memory, (size_t)(plan->nsizes + 1));
    *out = (PlanMeasure){
        .from = {from->from.buffer, from->from.offset},
        .id = number_of(g, from->node),
        .nfresh = from->fresh.len,
        .fresh = copy_of(plan, from->fresh.at, sizeof(int32_t) * (size_t)from->fresh.len)};
    out->sizes = arena_alloc(plan->memory, sizeof(int32_t) * (size_t)(plan->ndynamic + 1));
    if (has == NULL || out->fresh == NULL || out->sizes == NULL) return -1;
    if (out->id == NO_SIZE) return 0;
    has[out->id] = true;
    for (int i = 0; i < plan->ndynamic; i++) {
        const PlanSize *size = &plan->dynamic[i];
        if (size->kind < SIZE_ADD || !(has[size->a] || has[size->b])) continue;
        has[size->id] = true;
        out->sizes[out->nsizes++] = i;
    }
    return 0;
}

/* Sets the line that is reported for a run that this step undoes. */
static int
make_place(Maker *m, const Step *from, PlanStep *out)
{
    const char *file = m->capture->graph->files.at[from->file];
    out->line = from->line;
    out->last_line = from->last_line;
    if (from->line == 0) return 0;
    for (const PlanStep *step = m->plan->steps; step < out && out->file == NULL; step++)
        if (step->file != NULL && strcmp(step->file, file) == 0) out->file = step->file;
    if (out->file == NULL) out->file = arena_copy(m->plan->memory, file, strlen(file) + 1);
    return out->file == NULL ? -1 : 0;
}

static int
make_steps(Maker *m)
{
    Plan *plan = m->plan;
    plan->steps = arena_alloc(plan->memory, sizeof(PlanStep) * (size_t)(m->program->steps.len + 1));
    if (plan->steps == NULL) return -1;
    for (int i = 0; i < m->program->steps.len; i++) {
        const Step *from = &m->program->steps.at[i];
        PlanStep *out = &plan->steps[i];
        out->kind = from->kind;
        plan->nsteps = i + 1; /* so that a failure releases what the step already owns */
        if (make_place(m, from, out) < 0) return -1;
        int failed = 0;
        if (from->kind == STEP_JUMP)
            out->jump =
                (PlanJump){.condition = {from->jump.condition.buffer, from->jump.condition.offset},
                           .target = from->jump.target};
        else if (from->kind == STEP_CHOOSE)
            make_choice(&from->choose, &out->choose);
        else if (from->kind == STEP_CARRY)
            failed = make_carry(plan, &from->carry, &out->carry);
        else if (from->kind == STEP_SAVE)
            failed = make_save(plan, &from->save, &out->save);
        else if (from->kind == STEP_MEASURE)
            failed = make_measure(m, &from->measure, &out->measure);
        else
            failed = from->kind == STEP_KERNEL ? make_kernel(m, &from->kernel, &out->kernel)
                                               : make_extern(m, &from->external, &out->external);
        if (failed) return -1;
    }
    return 0;
}

/* Loops of other libraries need what plan.c does around each kernel. */
static bool
has_foreign(const PlanStep *steps, int count)
{
    for (int i = 0; i < count; i++)
        if (steps[i].kernel.foreign) return true;
    return false;
}

static int
make_waves(Maker *m)
{
    for (int i = 0; i < m->program->waves.len; i++) {
        const Wave *from = &m->program->waves.at[i];
        if (has_foreign(&m->plan->steps[from->first], from->count)) continue;
        Wave *wave = copy_of(m->plan, from, sizeof(*from));
        WaveMember *members =
            copy_of(m->plan, from->members, sizeof(*members) * (size_t)from->count);
        if (wave == NULL || members == NULL) return -1;
        wave->members = members;
        m->plan->steps[from->first].wave = wave;
    }
    return 0;
}

static int
make_commits(Maker *m)
{
    Plan *plan = m->plan;
    int count = m->program->commits.len;
    plan->commits = arena_alloc(plan->memory, sizeof(PlanKernel) * (size_t)(count + 1));
    if (plan->commits == NULL) return -1;
    for (; plan->ncommits < count; plan->ncommits++)
        if (make_kernel(m, &m->program->commits.at[plan->ncommits].kernel,
                        &plan->commits[plan->ncommits]) < 0)
            return -1;
    return 0;
}

/* ---- outputs ---- */

/* Another output with a storage of its own shares the buffer, since a pass found the two equal. */
static bool
buffer_is_shared(const Maker *m, int output)
{
    const Program *p = m->program;
    const Output *outputs = m->capture->graph->outputs.at;
    for (int i = 0; i < output; i++)
        if (p->located.at[i].place.buffer == p->located.at[output].place.buffer &&
            outputs[i].root != outputs[output].root)
            return true;
    return false;
}

static BoxKind
box_kind(const Maker *m, int output)
{
    const Located *at = &m->program->located.at[output];
    const Output *to = &m->capture->graph->outputs.at[output];
    const PlanBuffer *buffer = &m->plan->buffers[at->place.buffer];
    if (at->type.form == FORM_SCALAR || at->type.form == FORM_PYTHON)
        return buffer->kind == BUFFER_EXTERN && !buffer->is_whole_array ? BOX_WHOLE : BOX_SCALAR;
    if (at->type.form == FORM_OBJECT) return BOX_WHOLE;
    if (!buffer->is_whole_array || buffer->kind == BUFFER_TEMP || buffer->kind == BUFFER_SCALAR)
        return BOX_COPY;
    if (to->fresh && (buffer->kind == BUFFER_INPUT || buffer->kind == BUFFER_CONST ||
                      buffer_is_shared(m, output)))
        return BOX_COPY;
    if (m->sequence) return BOX_WHOLE;
    if (to->view) return BOX_VIEW;
    bool whole =
        (at->place.offset == NO_SIZE || (size_is_const(m->capture->graph, at->place.offset) &&
                                         size_value(m->capture->graph, at->place.offset) == 0)) &&
        (to->input || type_same_layout(&at->type, &buffer->type));
    return whole ? BOX_WHOLE : to->fresh ? BOX_COPY : BOX_VIEW;
}

static int
make_boxes(Maker *m)
{
    Plan *plan = m->plan;
    plan->nboxes = m->program->located.len;
    plan->boxes = arena_alloc(plan->memory, sizeof(PlanBox) * (size_t)(plan->nboxes + 1));
    if (plan->boxes == NULL) return -1;
    if (plan->nboxes != m->capture->graph->outputs.len) {
        PyErr_SetString(PyExc_SystemError, "the program locates other outputs than the graph has");
        return -1;
    }
    for (int i = 0; i < plan->nboxes; i++) {
        const Located *from = &m->program->located.at[i];
        plan->boxes[i] = (PlanBox){
            .kind = box_kind(m, i),
            .place = {from->place.buffer, from->place.offset},
            .type = from->type,
            .partial = from->written,
            .view = from->view,
            .in_place = from->in_place,
            .frozen = m->capture->graph->outputs.at[i].frozen,
        };
    }
    return 0;
}

/* ---- builds ---- */

/* By output: the last one of the same node, whose box is the object of them all. */
static int32_t *
shared_boxes(const Maker *m)
{
    const Graph *g = m->capture->graph;
    int32_t *last = arena_alloc(m->capture->arena, sizeof(int32_t) * (size_t)g->nodes.len);
    int32_t *box = arena_alloc(m->capture->arena, sizeof(int32_t) * (size_t)(g->outputs.len + 1));
    if (last == NULL || box == NULL) return NULL;
    for (int i = 0; i < g->outputs.len; i++) last[g->outputs.at[i].node] = i;
    for (int i = 0; i < g->outputs.len; i++) box[i] = last[g->outputs.at[i].node];
    return box;
}

static int
make_builds(Maker *m)
{
    Plan *plan = m->plan;
    int count = m->capture->builds.len;
    plan->nbuilds = count;
    plan->builds = arena_alloc(plan->memory, sizeof(PlanBuild) * (size_t)(count + 1));
    plan->effects = arena_alloc(plan->memory, sizeof(int32_t) * (size_t)(count + 1));
    const int32_t *boxes = shared_boxes(m);
    if (plan->builds == NULL || plan->effects == NULL || boxes == NULL) return -1;
    for (int i = 0; i < count; i++) {
        const Build *from = &m->capture->builds.at[i];
        PlanBuild *out = &plan->builds[i];
        out->kind = from->kind;
        out->nargs = from->nargs;
        out->args = copy_of(plan, from->args, sizeof(int32_t) * (size_t)from->nargs);
        if (out->args == NULL) return -1;
        out->object = from->object;
        if (keep_object(m, out->object) < 0) return -1;
        bool boxed = from->kind == BUILD_BOX || from->kind == EFFECT_WRITE;
        out->box = boxed ? boxes[from->output] : -1;
        out->source = from->source;
        out->index = from->index;
        out->number = from->number;
        out->when = from->when;
        out->snapshot = -1;
        if (from->kind >= EFFECT_STORE_ATTR) plan->effects[plan->neffects++] = i;
        if (build_holds_source(from->kind)) plan->holds_sources = true;
    }
    return 0;
}

/* Two arrays may be written with each other's old contents (x[:], y[:] = y, x): data read from an
   input's own memory is then copied before the first write. */
static void
make_snapshots(Plan *plan)
{
    int writes = 0;
    for (int i = 0; i < plan->nbuilds; i++)
        writes += plan->builds[i].kind == EFFECT_WRITE || plan->builds[i].kind == EFFECT_STORE_PART;
    for (int i = 0; writes > 1 && i < plan->nbuilds; i++) {
        PlanBuild *build = &plan->builds[i];
        if (build->kind != EFFECT_WRITE || plan->boxes[build->box].in_place) continue;
        if (plan->buffers[plan->boxes[build->box].place.buffer].kind == BUFFER_INPUT)
            build->snapshot = plan->nsnapshots++;
    }
}

static int
make_exit(Maker *m)
{
    Plan *plan = m->plan;
    const Exit *from = &m->capture->exit;
    plan->exit = *from;
    plan->exit.slot_index = copy_of(plan, from->slot_index, sizeof(int32_t) * (size_t)from->nslots);
    plan->exit.slot_value = copy_of(plan, from->slot_value, sizeof(BuildId) * (size_t)from->nslots);
    plan->exit.way = copy_of(plan, from->way, sizeof(ExitWay) * (size_t)from->nways);
    return plan->exit.slot_index == NULL || plan->exit.slot_value == NULL || plan->exit.way == NULL
               ? -1
               : 0;
}

/* A plan runs on the devices that its capture has met, else on the one that is current now. */
static int
make_device(Maker *m)
{
    Plan *plan = m->plan;
    for (int i = 0; i < m->program->kernels.len; i++)
        plan->uses_device =
            plan->uses_device || kernel_device(m->program->kernels.at[i]) != DEVICE_HOST;
    const Graph *g = m->capture->graph;
    plan->uses_device = plan->uses_device || g->ndevices > 1;
    plan->ndevices = Py_MAX(g->ndevices, 1);
    memcpy(plan->device, g->device, sizeof plan->device);
    bool known = g->ndevices > 0 && g->device[0] >= 0;
    if (!plan->uses_device || known || cuda_current(&plan->device[0]) == ANSWER_YES) return 0;
    PyErr_SetString(PyExc_SystemError, "the CUDA device is gone");
    return -1;
}

/* The careful variants of kept loops are compiled when one is needed. */
static int
make_careful(Maker *m, const CodeOrigin *origin)
{
    Plan *plan = m->plan;
    Text text = {0};
    int status = 0;
    if (!codegen_has_region(m->program)) return 0;
    status = codegen_careful(m->capture->graph, m->program, 0, &text);
    if (status == 0) {
        plan->careful_source = copy_of(plan, text.data, text.len + 1);
        plan->careful_origin = (CodeOrigin){
            arena_printf(plan->memory, "%s, loops by Python's rules", origin->function),
            copy_of(plan, origin->file, strlen(origin->file) + 1), origin->line, NULL};
        bool made = plan->careful_source != NULL && plan->careful_origin.function != NULL;
        status = made && plan->careful_origin.file != NULL ? 0 : -1;
    }
    text_free(&text);
    return status;
}

/* Memory of which the beginning of a run tells the size. */
static int
make_slots(Maker *m)
{
    Plan *plan = m->plan;
    int first[DEVICE_COUNT] = {0};
    for (int on = 0; on < DEVICE_COUNT; on++) {
        if (on > 0) first[on] = first[on - 1] + plan->nslots[on - 1];
        plan->nslots[on] = m->program->slots[on].len;
        plan->slots[on] =
            copy_of(plan, m->program->slots[on].at, sizeof(SizeId) * (size_t)plan->nslots[on]);
        if (plan->slots[on] == NULL) return -1;
    }
    for (int i = 0; i < plan->nbuffers; i++)
        if (plan->buffers[i].slot > 0) plan->buffers[i].slot += first[plan->buffers[i].type.device];
    plan->nreaches = m->program->reaches.len;
    plan->reaches = copy_of(plan, m->program->reaches.at, sizeof(SizeId) * (size_t)plan->nreaches);
    plan->rows = arena_alloc(plan->memory, sizeof(plan->rows[0]) * (size_t)(plan->nsteps + 1));
    if (plan->reaches == NULL || plan->rows == NULL) return -1;
    for (int i = 0; i < plan->nsteps; i++)
        if (plan->steps[i].kind == STEP_KERNEL && plan->steps[i].kernel.scratch_each > 0)
            plan->rows[plan->nrows++] = &plan->steps[i].kernel;
    return 0;
}

/* Texts for messages about the plan. */
static int
make_told(Maker *m)
{
    const char *unkept = m->capture->unkept;
    if (unkept == NULL) return 0;
    m->plan->unkept = arena_copy(m->plan->memory, unkept, strlen(unkept) + 1);
    return m->plan->unkept == NULL ? -1 : 0;
}

/* ---- the code on the host ---- */

static int
link_kernel(Code *code, PlanKernel *kernel)
{
    char name[24];
    if (kernel->device != DEVICE_HOST) return 0;
    PyOS_snprintf(name, sizeof(name), "k%d", (int)kernel->number);
    if ((kernel->call = (KernelFn)(uintptr_t)find_kernel(code, name)) == NULL) return -1;
    PyOS_snprintf(name, sizeof(name), "k%d_bounded", (int)kernel->number);
    kernel->bounded = (KernelFn)(uintptr_t)code_symbol(code, name);
    return 0;
}

static int
link_all(Plan *plan)
{
    Code *code = plan->codes.on[DEVICE_HOST];
    for (int i = 0; i < plan->nsteps; i++)
        if (plan->steps[i].kind == STEP_KERNEL && link_kernel(code, &plan->steps[i].kernel) < 0)
            return -1;
    for (int i = 0; i < plan->ncommits; i++)
        if (link_kernel(code, &plan->commits[i]) < 0) return -1;
    return link_drives(plan, code);
}

int
plan_link(Plan *plan, Code *code)
{
    plan->codes.on[DEVICE_HOST] = code;
    return link_all(plan);
}

Plan *
plan_new(const Capture *capture, const Program *program, Codes codes, GuardProgram *guards,
         const CodeOrigin *origin, bool whole, bool sequence)
{
    Plan *plan = mem_alloc(sizeof(Plan));
    if (plan == NULL) {
        codes_release(&codes);
        guards_free(guards);
        return NULL;
    }
    plan->references = 1;
    plan->codes = codes;
    plan->guards = guards;
    plan->whole = whole;
    plan->gain = capture->gain;
    plan->saves = capture->saves;
    Maker maker = {plan, capture, program, sequence};
    if ((plan->memory = arena_new()) == NULL || (plan->owners = PyList_New(0)) == NULL ||
        make_device(&maker) < 0 || plan_sizes(plan, capture->graph) < 0 ||
        make_inputs(&maker) < 0 || make_buffers(&maker) < 0 || make_steps(&maker) < 0 ||
        make_waves(&maker) < 0 || plan_drives(plan, program) < 0 || make_commits(&maker) < 0 ||
        make_lifetimes(plan) < 0 || plan_chains(plan) < 0 || make_boxes(&maker) < 0 ||
        make_builds(&maker) < 0 || make_exit(&maker) < 0 || make_slots(&maker) < 0 ||
        plan_need_sizes(plan) < 0 || make_careful(&maker, origin) < 0 || make_told(&maker) < 0 ||
        (!sequence && guards_verify_kept(guards) < 0) ||
        (codes.on[DEVICE_HOST] != NULL && link_all(plan) < 0)) {
        plan_release(plan);
        return NULL;
    }
    make_snapshots(plan);
    plan->room.scratch_at = program->arena_bytes[DEVICE_HOST];
    plan->room.bytes = plan->room.scratch_at + plan->scratch_bytes;
    memcpy(plan->room.device_bytes, &program->arena_bytes[DEVICE_CUDA],
           sizeof plan->room.device_bytes);
    plan->state_bytes =
        (size_t)plan->nscalars * BOX_BYTES +
        (size_t)(plan->nbuffers * (plan->uses_device ? 3 : 2) + plan->nbuilds + plan->nsnapshots) *
            sizeof(void *) +
        (plan->ndynamic ? (size_t)plan_run_sizes(plan) * sizeof(int64_t) : 0);
    return plan;
}

Plan *
plan_acquire(Plan *plan)
{
    plan->references++;
    return plan;
}

static void
release_objects(Plan *plan)
{
    for (int i = 0; i < plan->nsteps; i++) {
        if (plan->steps[i].kind != STEP_EXTERN) continue;
        Py_XDECREF(plan->steps[i].external.save);
    }
}

void
plan_release(Plan *plan)
{
    if (plan == NULL || --plan->references > 0) return;
    PyObject *type, *value, *trace; /* destructors must not disturb a pending error */
    PyErr_Fetch(&type, &value, &trace);
    trace_rest(plan);
    release_objects(plan);
    for (Chain *chain = plan->chains; chain != NULL; chain = chain->next)
        targets[device_target(chain->device)].forget(chain);
    twins_free(plan->twins);
    codes_release(&plan->codes);
    if (plan->careful != NULL) code_release(plan->careful);
    guards_free(plan->guards);
    Py_XDECREF(plan->owners);
    spare_drop(&plan->spare_arena);
    mem_free(plan->spare_state);
    region_log_free(plan);
    arena_free(plan->memory);
    mem_free(plan);
    PyErr_Restore(type, value, trace);
}

GuardProgram *
plan_guards(Plan *plan)
{
    return plan->guards;
}

void
plan_trim(Plan *plan)
{
    spare_drop(&plan->spare_arena);
    mem_free(plan->spare_state);
    plan->spare_state = NULL;
    region_log_free(plan);
}

int
plan_gain(const Plan *plan)
{
    return plan->gain;
}

bool
plan_is_whole(const Plan *plan)
{
    return plan->whole;
}

bool
plan_turns_in_regions(const Plan *plan)
{
    for (int i = 0; i < plan->nsteps; i++) {
        const PlanStep *step = &plan->steps[i];
        if (step->kind == STEP_EXTERN) return false;
        if (step->kind == STEP_KERNEL && !step->kernel.region) return false;
    }
    return true;
}

const Exit *
plan_exit(const Plan *plan)
{
    return &plan->exit;
}
