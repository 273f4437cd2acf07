/* What a status says: the text of warnings and of exceptions. */

static const struct {
    unsigned flag;
    const char *text;
} flag_texts[] = {{FLAG_DIVIDE, "divide by zero"},
                  {FLAG_OVERFLOW, "overflow"},
                  {FLAG_UNDERFLOW, "underflow"},
                  {FLAG_INVALID, "invalid value"}};

static int
may_divide(const char *operation)
{
    static const char *const names[] = {"divide", "floor_divide", "reciprocal", "power",
                                        "float_power", "log", "log2", "log10", "log1p", "arctanh",
                                        "remainder", "fmod", NULL};
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], operation) == 0) return 1;
    return 0;
}

/* "divide by zero encountered in divide (file.py:12)": where several operations of the kernel may
   have raised it, all are named. */
static int
warn(const Run *run)
{
    error_told = 1;
    const ExportedKernel *kernel = run->warned_kernel;
    size_t at = 0, room = sizeof error_text;
    const char *file = run->warned_call ? run->warned_call->file : NULL;
    int line = file != NULL ? run->warned_call->line : 0;
    for (int i = 0; i < 4; i++) {
        if (!(run->warned & flag_texts[i].flag) || at >= room) continue;
        at += (size_t)snprintf(error_text + at, room - at, "%s%s encountered",
                               at > 0 ? "; " : "", flag_texts[i].text);
        const char *before = " in ";
        int lines[2] = {0, 0};
        for (const ExportedOrigin *o = kernel ? kernel->origins : NULL; o && o->operation; o++) {
            int named = 0;
            if (flag_texts[i].flag == FLAG_DIVIDE && !may_divide(o->operation)) continue;
            for (const ExportedOrigin *p = kernel->origins; p < o; p++)
                named |= strcmp(p->operation, o->operation) == 0;
            if (lines[0] == 0 || o->line < lines[0]) lines[0] = o->line;
            if (o->line > lines[1]) lines[1] = o->line;
            if (named || at >= room) continue;
            at += (size_t)snprintf(error_text + at, room - at, "%s%s", before, o->operation);
            before = " or ";
        }
        if (at < room && file != NULL)
            at += (size_t)snprintf(error_text + at, room - at, " in %s (%s:%d)",
                                   run->warned_call->operation, file, line);
        if (at < room && lines[0] > 0)
            at += (size_t)snprintf(error_text + at, room - at,
                                   lines[0] == lines[1] ? " (%s:%d)" : " (%s:%d-%d)", kernel->file,
                                   lines[0], lines[1]);
    }
    return CALL_WARNED;
}

static int
raised(const Run *run)
{
    if (run->status != CALL_DONE) return run->status; /* of memory */
    const ExportedStep *step = run->drive.step < 0 ? NULL : &run->f->steps[run->drive.step];
    const ExportedKernel *kernel = step != NULL ? step->kernel : NULL;
    if (step != NULL && step->call != NULL)
        return fail(CALL_RAISED, "%s:%d: what NumPy raises here, of an index out of bounds, an array without "
                                 "elements, or a matrix that is singular or not positive",
                    step->call->file, (int)step->call->line);
    return fail(CALL_RAISED,
                "%s:%d: what the program raises here: an exception, an index out of bounds, a "
                "division by zero or an int beyond 64 bits",
                kernel != NULL ? kernel->file : "?", kernel != NULL ? (int)kernel->line : 0);
}
