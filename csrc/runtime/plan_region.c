/* Kernels of kept loops, which may write an input's memory in place (plan_region_log.c).

   A kernel has two variants (codegen/region.c).  Where the quick one fails, or raises a flag that
   the program would be told of (perhaps for nothing), all is undone and the careful one runs, which
   is compiled then.  A plan for which that happens again and again starts with the careful one, for
   more and more calls. */
#include "hooks.h"
#include "plan_region_log.h"

#include <alloca.h>

enum {
    MOST_CAREFUL_CALLS = 64, /* between two tries of the quick variant */
    STARTED_NS = 120,        /* what a kept loop takes before and after its turns, at least */
};

/* For tests: what is done with each loop, whatever comes of its quick variant. */
static enum {
    VARIANTS_USUAL,
    VARIANTS_BOTH, /* the quick one, which is undone, and the careful one */
    VARIANTS_CAREFUL,
    VARIANTS_NONE, /* the quick one, which is undone: CPython does the loop */
    VARIANTS_END,
} wanted_variants;

/* One of the variants; ANSWER_YES: it has done the loop, and the flags that it raised are added. */
static Answer
run_variant(const PlanKernel *kernel, KernelFn call, KernelArgs *args, RegionLog *log,
            unsigned *flags)
{
    region_log_empty(log);
    if (kernel->checks_flags) fp_flags_clear();
    int failed = call(args, 0, 1);
    if (kernel->checks_flags && !failed) *flags |= flags_of(kernel, fp_flags_read());
    if (log->released) PyEval_RestoreThread(log->thread);
    log->released = false;
    return failed ? ANSWER_NO : ANSWER_YES;
}

/* The careful variant, compiled at first use; ANSWER_NO: the C compiler failed, or is not done. */
static Answer
careful_call(Plan *plan, const PlanKernel *kernel, KernelFn *out)
{
    char name[24];
    if (plan->careful == NULL) {
        CodeTicket ticket;
        CodeHow how = !stance_is_default()   ? CODE_FOUND
                      : plan->compiles_later ? CODE_LATER
                                             : CODE_COMPILED;
        Code *code = NULL; /* another thread may load it, too, while the compiler runs */
        Answer answer = code_load(DEVICE_HOST, plan->careful_source, false, NULL,
                                  &plan->careful_origin, how, &ticket, &code);
        if (answer != ANSWER_YES) return answer;
        if (plan->careful == NULL)
            plan->careful = code;
        else
            code_release(code);
        log_emit(LOG_OUTPUT_CODE, "careful variant:\n%s", plan->careful_source);
    }
    PyOS_snprintf(name, sizeof(name), "k%d", (int)kernel->number);
    *out = code_symbol(plan->careful, name);
    return *out != NULL ? ANSWER_YES : ANSWER_NO;
}

static Answer
run_variants(Plan *plan, const PlanKernel *kernel, KernelArgs *args, RegionLog *log,
             unsigned *flags)
{
    KernelFn careful;
    struct Careful *often = kernel->careful;
    if (often->calls == 0 && wanted_variants != VARIANTS_CAREFUL) {
        unsigned raised = 0, told;
        Answer answer = run_variant(kernel, kernel->call, args, log, &raised);
        if (flags_told(raised, &told) < 0) return ANSWER_ERROR;
        if (wanted_variants == VARIANTS_NONE) return ANSWER_NO;
        bool done = answer == ANSWER_YES && told == 0 && wanted_variants == VARIANTS_USUAL;
        if (done || log->interrupted) {
            often->next = 0;
            return answer;
        }
        region_log_undo(log);
        log->seen.at = NULL;
        often->next = Py_MIN(2 * often->next + 1, MOST_CAREFUL_CALLS);
        often->calls = often->next;
    } else if (often->calls > 0)
        often->calls--;
    Answer answer = careful_call(plan, kernel, &careful);
    return answer != ANSWER_YES ? answer : run_variant(kernel, careful, args, log, flags);
}

Answer
run_region(Run *run, const PlanKernel *kernel, unsigned *flags)
{
    char **pointers = alloca(sizeof(char *) * (size_t)(kernel->nplaces + 1));
    int64_t *sizes = alloca(sizeof(int64_t) * (size_t)(kernel->nsizes + 1));
    kernel_arguments(run, kernel, pointers, sizes);
    RegionLog *log = region_log_take(run->plan);
    if (log == NULL) return ANSWER_ERROR;
    log->sent = run->sent;
    KernelArgs args = {
        .ptr = pointers, .size = sizes, .loop = kernel->loops, .scratch = (char *)&log->seen};
    run->why =
        kernel->numpy_ints
            ? "what Python raises or warns of, an index out of bounds, an int beyond 64 bits "
              "or an integer of NumPy's that wraps round, in a loop (within "
              "np.errstate(over='ignore') in the function, all but np.int64 may wrap round)"
            : "what Python raises or warns of, an index out of bounds or an int beyond 64 "
              "bits, in a loop";
    run->yielded = run->yielded || !thread_is_alone(); /* a long loop lets others run */
    bool timed = call_is_timed || loops_timed > 0;
    int64_t began = timed ? clock_ns() : 0;
    Answer answer = run_variants(run->plan, kernel, &args, log, flags);
    if (timed) {
        timed_loops.ns += Py_MAX(clock_ns() - began - STARTED_NS, 0);
        timed_loops.saved += run->plan->gain;
    }
    if (answer != ANSWER_YES) {
        if (log->interrupted) {
            run->interrupted = true;
            run->why = "a signal";
        }
        region_log_undo(log);
        region_log_give(run->plan, log);
        return answer;
    }
    run->why = NULL;
    if (!kernel->keeps_log || region_log_is_empty(log)) {
        region_log_give(run->plan, log);
    } else {
        log->next = run->logs;
        run->logs = log;
    }
    return loops_failed(run, kernel) ? ANSWER_NO : ANSWER_YES;
}

_Static_assert(SAVED_AXES == COUNT_OF(((LogArray *)0)->length), "a log has room for them");

static void
saved_array(const Run *run, const SavedPart *part, LogArray *out)
{
    const Type *type = &part->type;
    *out = (LogArray){.data = run->data[part->buffer] + run_size(run, type->offset),
                      .bytes = (int64_t)dtype_size((DType)type->dtype),
                      .rank = type->rank};
    run_type(run, type, out->length, out->stride);
}

Answer
run_save(Run *run, const PlanSave *save)
{
    LogArray arrays[LOG_ARRAYS];
    for (int done = 0, count; done < save->nparts; done += count) {
        count = Py_MIN(save->nparts - done, LOG_ARRAYS);
        for (int i = 0; i < count; i++) saved_array(run, &save->parts[done + i], &arrays[i]);
        RegionLog *log = region_log_take(run->plan);
        if (log == NULL) return ANSWER_ERROR;
        if (region_log_save(log, count, arrays) < 0) {
            region_log_give(run->plan, log);
            PyErr_NoMemory();
            return ANSWER_ERROR;
        }
        log->next = run->logs;
        run->logs = log;
    }
    return ANSWER_YES;
}

void
plan_compile_later(Plan *plan)
{
    plan->compiles_later = true;
}

void
run_regions_end(Run *run, bool undone)
{
    for (RegionLog *log = run->logs, *next; log != NULL; log = next) {
        next = log->next;
        if (undone) region_log_undo(log);
        region_log_give(run->plan, log);
    }
    run->logs = NULL;
}

/* ---- what Python sees ---- */

/* test_variants(which): what is done with each loop, as in the enum above. */
static PyObject *
hook_variants(PyObject *self, PyObject *which)
{
    (void)self;
    long wanted = PyLong_AsLong(which);
    if (wanted == -1 && PyErr_Occurred()) return NULL;
    if (wanted < VARIANTS_USUAL || wanted >= VARIANTS_END)
        return PyErr_Format(PyExc_ValueError, "no such way: %ld", wanted);
    wanted_variants = wanted;
    Py_RETURN_NONE;
}

PyMethodDef region_methods[] = {
    {"test_variants", hook_variants, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
