/* The report of a run that was undone and left to CPython: why, and at which line of the user's
   code. For a kernel of several lines, the first and the last possible line. */
#include "plan.h"

static char undone_why[DEOPT_WHY];

/* "what.py:12: ValueError: text"; values out of the environment are not shown. */
static void
put_reason(Text *out, const Run *run, PyObject *type, PyObject *value)
{
    const PlanStep *step = run->step < run->plan->nsteps ? &run->plan->steps[run->step] : NULL;
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *what = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    if (what != NULL && environment_holds(what)) what = NULL;
    if (type != NULL && PyErr_GivenExceptionMatches(type, PyExc_FloatingPointError))
        text_printf(out, "what NumPy warns of or raises%s%s", what ? ": " : "", what ? what : "");
    else if (type != NULL)
        text_printf(out, "%s%s%s", ((PyTypeObject *)type)->tp_name, what ? ": " : "",
                    what ? what : "");
    else
        text_put(out, run->why ? run->why : "its inputs");
    if (step != NULL && step->file != NULL) {
        const char *slash = strrchr(step->file, '/');
        text_printf(out, ", at %s:%d", slash ? slash + 1 : step->file, step->line);
        if (step->last_line > step->line) text_printf(out, " to %d", step->last_line);
    }
    Py_XDECREF(text);
}

void
run_undone(const Run *run)
{
    if (!runs_are_told && (run->interrupted || !log_enabled(LOG_PERF_HINTS))) return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Text text = {0};
    put_reason(&text, run, type, value);
    const char *reason = text.data != NULL ? text.data : "?";
    text_copy_cut(undone_why, sizeof(undone_why), reason);
    text_free(&text);
    PyErr_Restore(type, value, trace);
}

const char *
plan_deopt_why(void)
{
    return undone_why;
}
