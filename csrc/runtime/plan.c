/* Running a plan: sizes, inputs, outputs, kernels and extern calls, then objects, then effects.

     guards held ──► sizes ──► inputs ──► steps ──► flags ──► objects ──► effects ──► exit values
                     └────────── may fail: deopt, nothing was seen ─────┘  └── commit ──┘

   State of a run lives on the C stack (in one block when large), so that threads and reentrant
   calls share nothing but the plan, and of that only what is kept for the next run (memory, chains)
   changes, under the GIL.  The GIL is released around a kernel only when it has work for more than
   one thread.  A signal of the
   program's ends the run between two steps, without a trace, so that its handler need not wait. */
#include "cuda.h"
#include "target.h"

#include <alloca.h>

enum {
    STACK_BYTES = 8192,      /* a run's state above this goes to the heap */
    ALIGNMENT = 64,          /* of the arena and of scratch */
    STACK_ARENA_BYTES = 4096 /* an arena up to this is on the stack */
};

/* ---- inputs ---- */

void
run_type(const Run *run, const Type *type, int64_t *shape, int64_t *stride)
{
    for (int i = 0; i < type->rank; i++) {
        shape[i] = run_size(run, type->shape[i]);
        stride[i] = run_size(run, type->stride[i]);
    }
}

Answer
run_read_scalar(PyObject *object, const Type *type, char *out)
{
    if (type->form == FORM_SCALAR) {
        DType dtype;
        Answer answer = array_scalar_read(object, &dtype, out);
        return answer == ANSWER_YES && dtype != (DType)type->dtype ? ANSWER_NO : answer;
    }
    switch ((DType)type->dtype) {
    case DT_BOOL:
        if (!PyBool_Check(object)) return ANSWER_NO;
        *out = object == Py_True;
        return ANSWER_YES;
    case DT_F64: {
        if (!PyFloat_CheckExact(object)) return ANSWER_NO;
        double number = PyFloat_AS_DOUBLE(object);
        memcpy(out, &number, sizeof(number));
        return ANSWER_YES;
    }
    case DT_I64: {
        if (!PyLong_CheckExact(object)) return ANSWER_NO;
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow) return ANSWER_NO;
        memcpy(out, &number, sizeof(number));
        return ANSWER_YES;
    }
    case DT_U64: {
        if (!PyLong_CheckExact(object)) return ANSWER_NO;
        unsigned long long number = PyLong_AsUnsignedLongLong(object);
        bool fits = PyErr_Occurred() == NULL;
        PyErr_Clear();
        if (!fits) return ANSWER_NO;
        memcpy(out, &number, sizeof(number));
        return ANSWER_YES;
    }
    case DT_C128: {
        if (!PyComplex_CheckExact(object)) return ANSWER_NO;
        Py_complex number = PyComplex_AsCComplex(object);
        memcpy(out, &number, sizeof(number));
        return ANSWER_YES;
    }
    default: return ANSWER_NO;
    }
}

static char *
device_data(const Type *type, PyObject *array)
{
    return array_library_on((Device)type->device)->data(array);
}

Answer
run_use(Run *run, int index)
{
    if (run->current == index) return ANSWER_YES;
    const ArrayLibrary *library = array_library_on(DEVICE_CUDA);
    int number = run->plan->device[index];
    if (library->use(number) < 0) return ANSWER_ERROR;
    library->begin(number);
    run->current = index;
    return ANSWER_YES;
}

/* Memory for an output; its object is made when it is asked for, which is while the device works
   already: it takes longer than the launch. */
static Answer
take_memory(Run *run, int index)
{
    const Type *type = &run->plan->buffers[index].type;
    size_t bytes = dtype_size((DType)type->dtype);
    for (int i = 0; i < type->rank; i++) bytes *= (size_t)run_size(run, type->shape[i]);
    if (run_use(run, device_index((Device)type->device)) != ANSWER_YES) return ANSWER_ERROR;
    run->memory[index] = array_library_on((Device)type->device)->memory(bytes, &run->data[index]);
    return run->memory[index] != NULL ? ANSWER_YES : ANSWER_ERROR;
}

Answer
run_make_array(Run *run, int index)
{
    const Type *type = &run->plan->buffers[index].type;
    int64_t shape[MAX_RANK], stride[MAX_RANK];
    run_type(run, type, shape, stride);
    PyObject *array = array_new((DType)type->dtype, type->rank, shape, stride);
    if (array == NULL) return ANSWER_ERROR;
    run->object[index] = array;
    run->data[index] = array_data(array);
    return ANSWER_YES;
}

/* Addresses of all buffers that exist before the first step. */
static Answer
place_buffers(Run *run)
{
    const Plan *plan = run->plan;
    for (int i = 0; i < plan->nbuffers; i++) {
        const PlanBuffer *buffer = &plan->buffers[i];
        PyObject *object;
        switch (buffer->kind) {
        case BUFFER_INPUT:
            object = run->reached[plan->input_source[buffer->index]];
            if (object == NULL) return ANSWER_NO;
            run->object[i] = Py_NewRef(object);
            if (buffer->is_whole_array) {
                run->data[i] = buffer->type.device == DEVICE_HOST
                                   ? array_data(object)
                                   : device_data(&buffer->type, object);
            } else if (buffer->type.form != FORM_OBJECT) {
                run->data[i] = run->scalars + (size_t)buffer->scalar * BOX_BYTES;
                Answer answer = run_read_scalar(object, &buffer->type, run->data[i]);
                if (answer != ANSWER_YES) return answer;
            }
            break;
        case BUFFER_CONST: run->data[i] = buffer->data; break;
        case BUFFER_TEMP:
            run->data[i] = (buffer->type.device == DEVICE_HOST
                                ? run->arena
                                : run->device_arena[device_index((Device)buffer->type.device)]) +
                           (buffer->slot > 0 ? run->slot[buffer->slot - 1] : buffer->arena_offset);
            break;
        case BUFFER_SCALAR: run->data[i] = run->scalars + (size_t)buffer->scalar * BOX_BYTES; break;
        case BUFFER_OUTPUT: /* by make_arrays */
        case BUFFER_CHOSEN:
        case BUFFER_EXTERN: break;
        }
    }
    return ANSWER_YES;
}

/* Drops the objects that no step from number `step` on needs.  Objects whose destruction would
   run code of the program are kept to the end of the run, since that code must not run among the
   steps. */
static void
release_arrays(Run *run, int step)
{
    const Plan *plan = run->plan;
    for (; run->released < plan->nreleased; run->released++) {
        int index = plan->released[run->released];
        if (plan->buffers[index].released > step) break;
        if (run->object[index] != NULL && array_ends_quietly(run->object[index]))
            Py_CLEAR(run->object[index]);
        if (run->memory != NULL) Py_CLEAR(run->memory[index]);
    }
}

/* Makes the arrays that are needed from step `step` on; on a device, takes their memory.  A jump
   may have skipped all steps that need some of them. */
static Answer
make_arrays(Run *run, int step)
{
    const Plan *plan = run->plan;
    for (; run->born < plan->nborn; run->born++) {
        int index = plan->born[run->born];
        const PlanBuffer *buffer = &plan->buffers[index];
        if (buffer->born > step) break;
        if (buffer->released > 0 && buffer->released <= step) continue;
        Answer answer = buffer->type.device == DEVICE_HOST ? run_make_array(run, index)
                                                           : take_memory(run, index);
        if (answer != ANSWER_YES) return answer;
    }
    return ANSWER_YES;
}

/* ---- steps ---- */

void
kernel_arguments(const Run *run, const PlanKernel *kernel, char **pointers, int64_t *sizes)
{
    for (int i = 0; i < kernel->nplaces; i++)
        pointers[i] = run->data[kernel->places[i].buffer] + run_size(run, kernel->places[i].offset);
    for (int i = 0; i < kernel->nsizes; i++) sizes[i] = run->size[kernel->sizes[i]];
}

bool
loops_failed(Run *run, const PlanKernel *kernel)
{
    if (kernel->nloops == 0 || PyErr_Occurred() == NULL) return false;
    PyErr_Clear();
    run->why = "an error or a warning of NumPy's in an operation on elements";
    return true;
}

/* Combines the parts' results, which may raise further flags. */
static int
finish_parts(const PlanKernel *kernel, const KernelArgs *args, unsigned *raised)
{
    fp_flags_clear();
    int failed = kernel->call(args, PARTS_DONE, 0);
    *raised |= fp_flags_read();
    return failed;
}

const char fails_by_itself[] = "what Python raises or warns of, or an int beyond 64 bits";

/* Would the program be told of an underflow? */
static bool
underflow_counts(const PlanKernel *kernel)
{
    int mask = array_error_mask();
    if (mask < 0) PyErr_Clear();
    return mask < 0 || (errors_mask(kernel->errors, (unsigned)mask) & FP_UNDERFLOW);
}

KernelFn
kernel_call(const PlanKernel *kernel)
{
    return kernel->bounded != NULL && !underflow_counts(kernel) ? kernel->bounded : kernel->call;
}

/* A kernel with enough work for more than one thread is also worth a GIL release. */
static Answer
run_kernel(Run *run, const PlanKernel *kernel, unsigned *flags)
{
    char **pointers = alloca(sizeof(char *) * (size_t)(kernel->nplaces + 1));
    int64_t *sizes = alloca(sizeof(int64_t) * (size_t)(kernel->nsizes + 1));
    kernel_arguments(run, kernel, pointers, sizes);
    int64_t units = run_size(run, kernel->units);
    if (units == 0) return ANSWER_YES; /* not even work done once: arguments may be empty */
    if (kernel->silent && !foreign_is_silent()) { /* it would warn at no line of the program's */
        run->why = "a library's loop that may warn";
        return ANSWER_NO;
    }
    KernelArgs args = {
        .ptr = pointers,
        .size = sizes,
        .loop = kernel->loops,
        .scratch = run->scratch,
    };
    KernelFn call = kernel_call(kernel);
    int failed;
    if (units > kernel->grain || kernel->parts) {
        unsigned raised = 0;
        uint64_t states = kernel->foreign ? thread_states_made() : 0;
        run->yielded = run->yielded || !thread_is_alone();
        PyThreadState *thread = PyEval_SaveThread();
        failed = threads_run(call, &args, kernel_scratch(run, kernel), units, kernel->grain,
                             kernel->unit_ps, &raised);
        if (kernel->parts && !failed) failed = finish_parts(kernel, &args, &raised);
        PyEval_RestoreThread(thread);
        if (kernel->foreign && (states == 0 || thread_states_made() != states + 1)) failed = 1;
        if (kernel->checks_flags) *flags |= flags_of(kernel, raised);
    } else if (kernel->checks_flags) {
        fp_flags_clear();
        failed = call(&args, 0, units);
        *flags |= flags_of(kernel, fp_flags_read());
    } else {
        failed = call(&args, 0, units);
    }
    if (failed) run->why = kernel->foreign ? "what a library's loop has reported" : fails_by_itself;
    return failed || loops_failed(run, kernel) ? ANSWER_NO : ANSWER_YES;
}

static Answer
host_launch(Run *run, const PlanKernel *kernel, unsigned *flags)
{
    return kernel->region ? run_region(run, kernel, flags) : run_kernel(run, kernel, flags);
}

/* The commits before number `end`, the newest first, that can be one job. */
static int
gather_commits(const Plan *plan, int end, const PlanKernel **kernels)
{
    int count = 0, words = 0;
    while (count < end && count < MOST_BATCHED && plan->commit_chains[end - 1 - count] == NULL &&
           batch_takes(&plan->commits[end - 1 - count], &words)) {
        kernels[count] = &plan->commits[end - 1 - count];
        count++;
    }
    return count;
}

static Answer
launch_chain(Run *run, Chain *chain)
{
    if (run_use(run, device_index(chain->device)) != ANSWER_YES) return ANSWER_ERROR;
    return targets[device_target(chain->device)].launch(run, chain);
}

int
run_commits(Run *run)
{
    unsigned flags = 0; /* checked before */
    const PlanKernel *kernels[MOST_BATCHED];
    /* the newest first: the data that it reads is still in the caches */
    for (int i = run->plan->ncommits; i-- > 0;) {
        const PlanKernel *kernel = &run->plan->commits[i];
        Chain *chain = run->plan->commit_chains[i];
        int together = gather_commits(run->plan, i + 1, kernels);
        Answer answer;
        if (together >= FEW_BATCHED) {
            answer = batch_run(run, kernels, together, NULL) < 0 ? ANSWER_YES : ANSWER_NO;
            i -= together - 1;
        } else
            answer = chain == NULL ? run_kernel(run, kernel, &flags) : launch_chain(run, chain);
        if (chain != NULL) i -= chain->nlaunches - 1;
        if (answer == ANSWER_YES) continue;
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_SystemError, "a kernel of the commit has failed");
        return -1;
    }
    return run_use(run, 0) == ANSWER_YES ? 0 : -1; /* code of the program may follow */
}

/* Sizes that have the int at the place get their values of now. */
static Answer
run_measure(Run *run, const PlanMeasure *step)
{
    const Plan *plan = run->plan;
    int64_t *value = run->measured;
    if (step->id == NO_SIZE) return ANSWER_YES; /* no size has it any more */
    memcpy(&value[step->id], run->data[step->from.buffer] + run_size(run, step->from.offset),
           sizeof(int64_t));
    for (int i = 0; i < step->nsizes; i++) {
        const PlanSize *size = &plan->dynamic[step->sizes[i]];
        value[size->id] = size_apply(size->kind, value[size->a], value[size->b]);
    }
    for (int i = 0; i < step->nfresh; i++) {
        Py_CLEAR(run->object[step->fresh[i]]);
        Answer made = run_make_array(run, step->fresh[i]);
        if (made != ANSWER_YES) return made;
    }
    return ANSWER_YES;
}

static bool
jump_is_taken(const Run *run, const PlanJump *jump)
{
    if (jump->condition.buffer == NO_BUFFER) return true;
    return !run->data[jump->condition.buffer][run_size(run, jump->condition.offset)];
}

static bool
carry_goes_back(const Run *run, const PlanCarry *carry)
{
    const PlanPlace *condition = &carry->condition;
    return condition->buffer != NO_BUFFER &&
           *(run->data[condition->buffer] + run_size(run, condition->offset));
}

static bool
has_layout(PyObject *array, int rank, const int64_t *shape, const int64_t *stride)
{
    ArrayHeader header;
    const char *why;
    size_t size = sizeof(int64_t) * (size_t)rank;
    return array_read(array, &header, &why) == ANSWER_YES && header.rank == rank &&
           memcmp(header.shape, shape, size) == 0 && memcmp(header.stride, stride, size) == 0;
}

/* Picks the memory of one of two arrays, and the array object where it is needed. */
static Answer
run_choose(Run *run, const PlanChoice *step)
{
    bool holds = *(run->data[step->condition.buffer] + run_size(run, step->condition.offset));
    const PlanPlace *of = &step->of[holds ? 0 : 1];
    const PlanBuffer *to = &run->plan->buffers[step->to];
    int64_t offset = run_size(run, of->offset), shape[MAX_RANK], stride[MAX_RANK];
    run->data[step->to] = run->data[of->buffer] + offset;
    if (!step->object) return ANSWER_YES;
    PyObject *base = run_buffer_object(run, of->buffer);
    if (base == NULL) return ANSWER_ERROR;
    const PlanBuffer *from = &run->plan->buffers[of->buffer];
    bool ours = from->kind == BUFFER_OUTPUT || from->kind == BUFFER_CHOSEN;
    bool same = offset == 0 && ours && type_same_layout(&from->type, &to->type);
    run_type(run, &to->type, shape, stride);
    PyObject *array =
        same || (offset == 0 && has_layout(base, to->type.rank, shape, stride))
            ? Py_NewRef(base)
            : array_view(base, (DType)to->type.dtype, to->type.rank, shape, stride, offset);
    Py_XSETREF(run->object[step->to], array);
    return array == NULL ? ANSWER_ERROR : ANSWER_YES;
}

void
note_flags(Run *run, unsigned flags)
{
    for (; flags != 0; flags &= flags - 1) run->met[__builtin_ctz(flags)] = run->step;
}

int
flags_told(unsigned flags, unsigned *told)
{
    *told = flags & FLAGS_REPORTED;
    if (*told != 0 || flags == 0) return 0;
    int mask = array_error_mask();
    *told = flags & (unsigned)mask;
    return mask < 0 ? -1 : 0;
}

Answer
report_flags(Run *run, unsigned flags)
{
    static const char *const events[] = {
        "a division by zero, which NumPy warns of or raises",
        "an overflow, which NumPy warns of or raises",
        "an underflow, which NumPy warns of or raises",
        "an invalid value, which NumPy warns of or raises",
    };
    unsigned told;
    if (flags_told(flags, &told) < 0) return ANSWER_ERROR;
    if (told == 0) return ANSWER_YES;
    int event = __builtin_ctz(told);
    run->why = events[event % COUNT_OF(events)];
    run->step = run->met[event];
    return ANSWER_NO;
}

/* What other threads did while a step was without the GIL must not be lost: `count += 1` is one
   step of the program for them, since CPython switches threads only at jumps and calls, and the
   plan has read `count` long before it stores it. */
static bool
is_current(Run *run)
{
    if (!run->yielded) return true;
    if (guards_hold_still(run->plan->guards, run->roots, run->reached)) return true;
    run->why = "another thread has changed what the call had read";
    return false;
}

/* What the library's function did may have been to the current stream, or to the allocator. */
static Answer
run_library(Run *run, const PlanExtern *step, unsigned flags)
{
    if (step->sends && !run->sent) {
        if (!is_current(run)) return ANSWER_NO;
        Answer answer = report_flags(run, flags);
        if (answer != ANSWER_YES) return answer;
        run->sent = true;
    }
    if (run->plan->ndevices > 1 && run_use(run, step->current) != ANSWER_YES) return ANSWER_ERROR;
    Answer answer = run_extern(run, step);
    if (run->plan->uses_device) array_library_on(DEVICE_CUDA)->changed();
    return answer;
}

/* Kernels that are launched together; *number becomes that of the last one. */
static Answer
run_chain(Run *run, int *number)
{
    Chain *chain = run->plan->steps[*number].chain;
    for (int i = 1; i < chain->nlaunches; i++)
        if (make_arrays(run, ++*number) != ANSWER_YES) return ANSWER_ERROR;
    return launch_chain(run, chain);
}

/* A wave of kernels; *number becomes that of the last one. */
static Answer
run_waved(Run *run, int *number, unsigned *flags)
{
    const Wave *wave = run->plan->steps[*number].wave;
    unsigned *raised = alloca(sizeof(unsigned) * (size_t)wave->count);
    for (int m = 1; m < wave->count; m++)
        if (make_arrays(run, wave->first + m) != ANSWER_YES) return ANSWER_ERROR;
    Answer answer = run_wave(run, wave, raised);
    if (answer != ANSWER_YES) return answer;
    for (int m = 0; m < wave->count; m++) {
        unsigned fresh = flags_of(&run->plan->steps[wave->first + m].kernel, raised[m]) & ~*flags;
        run->step = wave->first + m;
        note_flags(run, fresh);
        *flags |= fresh;
    }
    *number += wave->count - 1;
    return ANSWER_YES;
}

/* The steps from number `first` on that only look for flags. */
static int
gather_checks(const Plan *plan, int first, const PlanKernel **kernels)
{
    int count = 0, words = 0;
    for (int i = first; i < plan->nsteps && count < MOST_BATCHED; i++) {
        const PlanStep *step = &plan->steps[i];
        if (step->kind != STEP_KERNEL || step->chain != NULL || step->kernel.bounded == NULL ||
            !batch_takes(&step->kernel, &words))
            break;
        kernels[count++] = &step->kernel;
    }
    return count;
}

/* Does so many steps from number `first` on, which only look for flags. */
static Answer
run_checks(Run *run, int first, int count, const PlanKernel *const *kernels, unsigned *flags)
{
    unsigned raised[MOST_BATCHED];
    int failed = batch_run(run, kernels, count, raised);
    for (int i = 0; i < count && (failed < 0 || i <= failed); i++) {
        unsigned before = *flags;
        run->step = first + i;
        *flags |= flags_of(kernels[i], raised[i]);
        if (*flags != before) note_flags(run, *flags & ~before);
    }
    if (failed >= 0) run->why = fails_by_itself;
    return failed < 0 ? ANSWER_YES : ANSWER_NO;
}

Answer
run_step(Run *run, int number, unsigned *flags)
{
    const PlanStep *step = &run->plan->steps[number];
    unsigned before = *flags;
    Answer answer = ANSWER_YES;
    run->step = number;
    switch (step->kind) {
    case STEP_JUMP: return ANSWER_YES;
    case STEP_MEASURE: return run_measure(run, &step->measure);
    case STEP_SAVE: return run_save(run, &step->save);
    case STEP_CHOOSE: return run_choose(run, &step->choose);
    case STEP_CARRY:
        answer = before == 0 ? ANSWER_YES : report_flags(run, before);
        return answer == ANSWER_YES ? run_carry(run, &step->carry) : answer;
    case STEP_EXTERN: answer = run_library(run, &step->external, before); break;
    case STEP_KERNEL: answer = host_launch(run, &step->kernel, flags); break;
    }
    if (answer == ANSWER_YES && *flags != before) note_flags(run, *flags & ~before);
    return answer;
}

/* Does step number *at, or several together; *at becomes the last that is done. */
static Answer
run_next(Run *run, int *at, unsigned *flags)
{
    const PlanKernel *kernels[MOST_BATCHED];
    const PlanStep *step = &run->plan->steps[*at];
    int checks = gather_checks(run->plan, *at, kernels);
    if (checks >= FEW_BATCHED) { /* they need no arrays that are not there yet */
        Answer answer = run_checks(run, *at, checks, kernels, flags);
        *at += checks - 1;
        return answer;
    }
    if (step->drive != NULL) {
        if (make_arrays(run, step->drive->last) != ANSWER_YES) return ANSWER_ERROR;
        *at = step->drive->last;
        return run_drive(run, step->drive, flags);
    }
    if (step->kind == STEP_KERNEL && step->chain != NULL) return run_chain(run, at);
    if (step->wave != NULL && wave_pays(step->wave)) return run_waved(run, at, flags);
    Answer answer = run_step(run, *at, flags);
    if (step->kind == STEP_JUMP && jump_is_taken(run, &step->jump)) *at = step->jump.target - 1;
    if (step->kind == STEP_CARRY && answer == ANSWER_YES && carry_goes_back(run, &step->carry))
        *at = step->carry.target - 1;
    return answer;
}

bool
run_is_interrupted(Run *run, PyThreadState *thread)
{
    if (run->sent || !signal_is_pending(thread)) return false;
    run->interrupted = true;
    run->why = "a signal";
    return true;
}

static Answer
run_steps(Run *run)
{
    const Plan *plan = run->plan;
    unsigned flags = 0;
    for (int i = 0; i < plan->nsteps; i++) {
        run->step = i;
        if (i > 0 && run_is_interrupted(run, PyThreadState_Get())) return ANSWER_NO;
        release_arrays(run, i);
        if (make_arrays(run, i) != ANSWER_YES) return ANSWER_ERROR;
        Answer answer = run_next(run, &i, &flags);
        if (answer != ANSWER_YES) return answer;
    }
    release_arrays(run, plan->nsteps);
    run->step = plan->nsteps;
    if (make_arrays(run, plan->nsteps) != ANSWER_YES) return ANSWER_ERROR;
    return flags == 0 ? ANSWER_YES : report_flags(run, flags);
}

/* ---- objects of outputs ---- */

static PyObject *
object_over_memory(Run *run, int index)
{
    const Type *type = &run->plan->buffers[index].type;
    int64_t shape[MAX_RANK], stride[MAX_RANK];
    PyObject *memory = run->memory[index];
    const ArrayLibrary *library = array_library_on((Device)type->device);
    run->memory[index] = NULL;
    run_type(run, type, shape, stride);
    run->object[index] = library->over(memory, (DType)type->dtype, type->rank, shape, stride);
    if (type->long_long && run->object[index] != NULL) library->name_long_long(run->object[index]);
    return run->object[index];
}

PyObject *
run_buffer_object(Run *run, int index)
{
    const PlanBuffer *buffer = &run->plan->buffers[index];
    if (run->object[index] != NULL) return run->object[index];
    if (run->memory != NULL && run->memory[index] != NULL) return object_over_memory(run, index);
    if (buffer->kind == BUFFER_CONST) return run->object[index] = Py_NewRef(buffer->object);
    PyErr_SetString(PyExc_SystemError, "a buffer has no object");
    return NULL;
}

PyObject *
run_new_array(DType dtype, int rank, const int64_t *shape, const int64_t *stride, const char *data)
{
    ArrayHeader header;
    const char *why;
    PyObject *array = array_new(dtype, rank, shape, stride);
    if (array == NULL) return NULL;
    if (array_read(array, &header, &why) == ANSWER_YES &&
        array_copy_strided(header.data, header.stride, data, stride, rank, shape, dtype,
                           threads_share) == 0)
        return array;
    Py_DECREF(array);
    return NULL;
}

PyObject *
run_copy(Run *run, int number)
{
    const PlanBox *box = &run->plan->boxes[number];
    if (box->type.device != DEVICE_HOST) {
        Answer used = run_use(run, device_index((Device)box->type.device));
        return used == ANSWER_YES ? cuda_copy(run, box) : NULL;
    }
    int64_t shape[MAX_RANK], stride[MAX_RANK];
    const char *data = run->data[box->place.buffer] + run_size(run, box->place.offset);
    run_type(run, &box->type, shape, stride);
    return run_new_array((DType)box->type.dtype, box->type.rank, shape, stride, data);
}

PyObject *
run_box(Run *run, int number)
{
    const PlanBox *box = &run->plan->boxes[number];
    DType dtype = (DType)box->type.dtype;
    int64_t shape[MAX_RANK], stride[MAX_RANK], offset = run_size(run, box->place.offset);
    char *data = run->data[box->place.buffer];
    switch (box->kind) {
    case BOX_WHOLE: return Py_XNewRef(run_buffer_object(run, box->place.buffer));
    case BOX_SCALAR: return array_box(dtype, data + offset, box->type.form == FORM_PYTHON);
    case BOX_VIEW: {
        PyObject *base = run_buffer_object(run, box->place.buffer);
        if (base == NULL) return NULL;
        run_type(run, &box->type, shape, stride);
        PyObject *view = array_library_on((Device)box->type.device)
                             ->view(base, dtype, box->type.rank, shape, stride, offset);
        if (view != NULL && box->frozen) array_freeze(view);
        return view;
    }
    case BOX_COPY: return run_copy(run, number);
    }
    Py_UNREACHABLE();
}

/* ---- the whole ---- */

static char *
aligned(char *block)
{
    return (char *)(((uintptr_t)block + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

/* Takes references to the objects that must stay alive while other code may run: a kernel without
   the GIL, an extern, a destructor. */
static Answer
hold_sources(Run *run)
{
    const Plan *plan = run->plan;
    for (int i = 0; plan->holds_sources && i < plan->nbuilds; i++) {
        const PlanBuild *build = &plan->builds[i];
        if (!build_holds_source(build->kind)) continue;
        if (run->reached[build->source] == NULL) return ANSWER_NO;
        run->built[i] = Py_NewRef(run->reached[build->source]);
    }
    return ANSWER_YES;
}

/* CPython's rerun will raise an exception again that a plan met before its commit; one that came
   from outside the program must not be lost.  A rerun would send again what a plan has sent. */
static PlanResult
deopt_or_error(const Run *run)
{
    bool error = PyErr_Occurred() != NULL;
    if (run != NULL && run->sent) {
        if (!error)
            PyErr_Format(PyExc_RuntimeError, "behind a collective, which cannot be undone: %s",
                         run->why);
        return PLAN_ERROR;
    }
    if (error && !PyErr_ExceptionMatches(PyExc_Exception)) return PLAN_ERROR;
    if (run != NULL) run_undone(run);
    PyErr_Clear();
    return PLAN_DEOPT;
}

static void
fill_outcome(Run *run, PlanOutcome *outcome)
{
    const Exit *leave = &run->plan->exit;
    for (int i = 0; i < leave->nslots; i++) {
        BuildId value = leave->slot_value[i];
        outcome->value[i] = value == NO_BUILD ? NULL : Py_XNewRef(run->built[value]);
    }
    if (leave->kind == EXIT_BRANCH) outcome->condition = run->built[leave->condition] == Py_True;
    if (leave->kind != EXIT_WAYS) return;
    outcome->way = (int)PyLong_AsLong(run->built[leave->condition]);
    outcome->turns = PyLong_AsLongLong(run->built[leave->turns]);
}

/* The thread's device must be the plan's, and its arena is there. */
static Answer
begin_device(Run *run)
{
    const Plan *plan = run->plan;
    const ArrayLibrary *library = array_library_on(DEVICE_CUDA);
    int number;
    if (cuda_current(&number) != ANSWER_YES) {
        run->why = "CUDA fails here, as it does in a process after a fork";
        cuda_tell_fork();
        return ANSWER_NO;
    }
    if (number != plan->device[0]) {
        run->why = "another current device";
        return ANSWER_NO;
    }
    for (int i = 0; i < 2; i++) {
        if (plan->multiplies[i] == 0) continue;
        if (plan->multiplies[i] == 1 + library->multiplies(i == 0 ? DT_F16 : DT_F32)) continue;
        run->why = "the array library multiplies in another way than before";
        return ANSWER_NO;
    }
    run->yielded = !thread_is_alone(); /* the library's allocator may let other threads run */
    library->begin(number);
    for (int i = 0; i < plan->ndevices; i++) {
        if (run->room.device_bytes[i] == 0) continue;
        if (run_use(run, i) != ANSWER_YES) return ANSWER_ERROR;
        run->device_memory[i] =
            library->memory((size_t)run->room.device_bytes[i], &run->device_arena[i]);
        if (run->device_memory[i] == NULL) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

/* Each plan leaves the device that it has found; keeps a set exception. */
static void
end_devices(Run *run)
{
    PyObject *type, *value, *trace;
    for (int i = 0; i < MOST_DEVICES; i++) Py_XDECREF(run->device_memory[i]);
    if (run->current != 0) {
        PyErr_Fetch(&type, &value, &trace);
        if (run_use(run, 0) != ANSWER_YES) PyErr_WriteUnraisable(NULL);
        PyErr_Restore(type, value, trace);
    }
    array_library_on(DEVICE_CUDA)->end();
}

/* What lists and text have is read before the first step, and timed. */
static Answer
fill_arrays(Run *run, PlanOutcome *outcome)
{
    const GuardProgram *guards = run->plan->guards;
    if (!guards_have_fills(guards)) return ANSWER_YES;
    int64_t began = clock_ns();
    if (!guards_fill(guards, run->reached)) {
        run->why = "items of a list that are not of one class, or beyond 64 bits";
        return ANSWER_NO;
    }
    outcome->filled_at = clock_ns();
    outcome->filled_ns = outcome->filled_at - began;
    return ANSWER_YES;
}

static PlanResult
run_all(Run *run, PlanOutcome *outcome)
{
    if (fill_arrays(run, outcome) != ANSWER_YES || hold_sources(run) != ANSWER_YES ||
        (run->plan->uses_device && begin_device(run) != ANSWER_YES) ||
        place_buffers(run) != ANSWER_YES || run_steps(run) != ANSWER_YES || run_builds(run) < 0 ||
        run_use(run, 0) != ANSWER_YES)
        return deopt_or_error(run);
    if (run->plan->neffects != 0) {
        if (!is_current(run)) return deopt_or_error(run);
        if (run_effects(run, outcome) < 0) return PLAN_ERROR;
    }
    fill_outcome(run, outcome);
    return PLAN_DONE;
}

static void
drop_objects(PyObject **objects, int count)
{
    for (int i = 0; i < count; i++) Py_XDECREF(objects[i]);
}

/* Allocating it each time would have malloc put all small blocks together that were freed since. */
static char *
state_take(Plan *plan)
{
    char *state = plan->spare_state;
    plan->spare_state = NULL;
    return state != NULL ? state : mem_alloc(plan->state_bytes);
}

static void
state_give(Plan *plan, char *state)
{
    mem_free(plan->spare_state); /* another thread's, or a recursive call's */
    plan->spare_state = state;
}

PlanResult
plan_run(Plan *plan, PyObject *const *reached, PlanOutcome *outcome)
{
    outcome->number = -1;
    outcome->interrupted = false;
    outcome->filled_at = outcome->filled_ns = 0;
    bool on_heap = plan->state_bytes > STACK_BYTES;
    char *state = on_heap ? state_take(plan) : alloca(plan->state_bytes + BOX_BYTES);
    if (state == NULL) return deopt_or_error(NULL);
    Run run = {.plan = plan, .reached = reached, .size = plan->size_values};
    run.roots = outcome->roots;
    run.scalars = state;
    run.data = (char **)(state + (size_t)plan->nscalars * BOX_BYTES);
    run.object = (PyObject **)(run.data + plan->nbuffers);
    run.built = run.object + plan->nbuffers;
    int nobjects = plan->nbuffers + plan->nbuilds + plan->nsnapshots;
    if (plan->uses_device) {
        run.memory = run.object + nobjects;
        nobjects += plan->nbuffers;
    }
    run.room = plan->room;
    if (plan->ndynamic != 0 && run_sizes(&run, (int64_t *)(run.object + nobjects)) != ANSWER_YES) {
        if (on_heap) state_give(plan, state);
        return deopt_or_error(NULL);
    }
    char *block = NULL;
    int64_t block_bytes = run.room.bytes + 2 * ALIGNMENT;
    if (run.room.bytes <= STACK_ARENA_BYTES) {
        run.arena = aligned(alloca((size_t)run.room.bytes + ALIGNMENT));
    } else if ((block = spare_take(&plan->spare_arena, &block_bytes)) != NULL) {
        run.arena = aligned(block);
    } else {
        if (run.keeps_sizes) plan->kept.taken = false;
        if (on_heap) state_give(plan, state);
        return deopt_or_error(NULL);
    }
    run.scratch = run.arena + run.room.scratch_at;
    plan_acquire(plan);
    for (int i = 0; i < plan->weak.len; i++) Py_INCREF(plan->weak.at[i]);
    memset(run.object, 0, sizeof(PyObject *) * (size_t)nobjects);
    PlanResult result = run_all(&run, outcome);
    if (plan->uses_device) end_devices(&run);
    bool undo = result != PLAN_DONE && !run.committed && !run.sent;
    if (run.saved != NULL && undo) run_saved_restore(&run);
    Py_XDECREF(run.saved);
    if (run.logs != NULL) run_regions_end(&run, undo);
    drop_objects(run.object, nobjects);
    if (run.keeps_sizes) plan->kept.taken = false;
    if (block != NULL) spare_give(&plan->spare_arena, block, block_bytes);
    if (on_heap) state_give(plan, state);
    for (int i = 0; i < plan->weak.len; i++) Py_DECREF(plan->weak.at[i]);
    outcome->interrupted = run.interrupted;
    plan_release(plan);
    return result;
}

/* Leaving a loop and entering it again takes the time of some six plain turns. */
bool
plan_left_early(Plan *plan, int64_t turns)
{
    enum { COST = 8, MOST_TURNS = 100, FIRST = 100, MOST = 1000 };
    if (plan->turns_saved == 0) plan->turns_saved = FIRST;
    turns = Py_MIN(turns < 0 ? -turns : turns, MOST_TURNS);
    plan->turns_saved = Py_MIN(plan->turns_saved + (int)turns - COST, MOST);
    return plan->turns_saved <= 0;
}
