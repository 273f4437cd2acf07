/* Loops of steps that a compiled function drives (lower/drive.c).  It works on the run's own state,
   so that any step, and what comes behind the loop, can be done as if the plan had come there. */
#include "plan.h"

typedef struct {
    KernelDrive seen; /* by the function */
    Run *run;
    Answer answer;
    PyThreadState *thread;
} Driven;

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
    if (!signal_is_pending(d->thread)) return 0;
    d->run->interrupted = true;
    d->run->why = "a signal";
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
    run->step = (int)d->seen.step;
    if (d->seen.raised & d->seen.told) {
        note_flags(run, d->seen.raised & d->seen.told);
        return report_flags(run, d->seen.raised & d->seen.told);
    }
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
                         .scratch = run->arena + run->plan->arena_bytes,
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
