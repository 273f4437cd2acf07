/* Loops of steps that a compiled function drives (lower/drive.c).  It works on the run's own state,
   so that any step, and what comes behind the loop, can be done as if the plan had come there. */
#include "plan.h"

typedef struct {
    KernelDrive seen; /* by the function */
    Run *run;
    Answer answer;
    PyThreadState *thread;
} Driven;

/* Turns let others run where CPython would. */
static void
yield_if_asked(Driven *d)
{
    if (!gil_is_wanted(d->thread)) return;
    d->run->yielded = true;
    PyEval_RestoreThread(PyEval_SaveThread());
}

static int
do_step(KernelDrive *drive, int64_t number)
{
    Driven *d = (Driven *)drive;
    d->answer = run_step(d->run, (int)number, &drive->raised);
    return d->answer != ANSWER_YES;
}

static int
stop(KernelDrive *drive)
{
    Driven *d = (Driven *)drive;
    yield_if_asked(d);
    if (!run_is_interrupted(d->run, d->thread)) return 0;
    d->answer = ANSWER_NO;
    return 1;
}

/* What a flag must be for the program to be told of it; -1 with the error set. */
static int
told_flags(unsigned *told)
{
    int mask = array_error_mask();
    *told = FLAGS_REPORTED | (unsigned)mask;
    return mask < 0 ? -1 : 0;
}

/* Why the function has failed, if none of what it called has said so. */
static Answer
failed(Driven *d)
{
    Run *run = d->run;
    if (d->answer != ANSWER_YES) return d->answer;
    unsigned told = d->seen.raised & d->seen.told;
    if (d->seen.step >= 0) { /* else a step that the plan has done has noted them */
        run->step = (int)d->seen.step;
        note_flags(run, told);
    }
    if (told != 0) return report_flags(run, told);
    run->why = fails_by_itself;
    return ANSWER_NO;
}

Answer
run_drive(Run *run, const PlanDrive *drive, unsigned *flags)
{
    Driven d = {.seen = {.data = run->data,
                         .size = (int64_t *)(uintptr_t)run->size,
                         .grain = drive->grains,
                         .loop = drive->loops,
                         .scratch = run->scratch,
                         .raised = *flags,
                         .step = -1,
                         .plan = do_step,
                         .stop = stop,
                         .clear = fp_flags_clear,
                         .read = fp_flags_read},
                .run = run,
                .answer = ANSWER_YES,
                .thread = PyThreadState_Get()};
    if (told_flags(&d.seen.told) < 0) return ANSWER_ERROR;
    fp_flags_clear();
    if (drive->call(&d.seen)) return failed(&d);
    *flags = d.seen.raised;
    if (PyErr_Occurred() == NULL) return ANSWER_YES;
    PyErr_Clear();
    run->why = "an error or a warning of NumPy's in an operation on elements";
    return ANSWER_NO;
}

/* ---- making them ---- */

static int
make_drive(Plan *plan, const Drive *from, PlanDrive *out)
{
    int count = 0;
    out->last = from->last;
    for (int i = from->first; i <= from->last; i++)
        if (plan->steps[i].kind == STEP_KERNEL) count += plan->steps[i].kernel.nloops;
    KernelLoop *loops = arena_alloc(plan->memory, sizeof(KernelLoop) * (size_t)(count + 1));
    if (loops == NULL) return -1;
    out->loops = loops;
    for (int i = from->first; i <= from->last; i++) {
        const PlanStep *step = &plan->steps[i];
        for (int k = 0; step->kind == STEP_KERNEL && k < step->kernel.nloops; k++)
            *loops++ = step->kernel.loops[k];
    }
    plan->steps[from->first].drive = out;
    return 0;
}

int
plan_drives(Plan *plan, const Program *program)
{
    int count = program->drives.len;
    if (count == 0) return 0;
    PlanDrive *drives = arena_alloc(plan->memory, sizeof(PlanDrive) * (size_t)count);
    int64_t *grains = arena_alloc(plan->memory, sizeof(int64_t) * (size_t)plan->nsteps);
    if (drives == NULL || grains == NULL) return -1;
    for (int i = 0; i < plan->nsteps; i++)
        if (plan->steps[i].kind == STEP_KERNEL) grains[i] = plan->steps[i].kernel.grain;
    for (int i = 0; i < count; i++) {
        drives[i].grains = grains;
        if (make_drive(plan, &program->drives.at[i], &drives[i]) < 0) return -1;
    }
    plan->drives = drives;
    plan->ndrives = count;
    return 0;
}

int
link_drives(Plan *plan, Code *code)
{
    for (int i = 0; i < plan->ndrives; i++) {
        char name[24];
        PyOS_snprintf(name, sizeof(name), "drive%d", i);
        plan->drives[i].call = (int (*)(KernelDrive *))(uintptr_t)code_symbol(code, name);
        if (plan->drives[i].call == NULL) {
            PyErr_Format(PyExc_SystemError, "%s is missing", name);
            return -1;
        }
    }
    return 0;
}
