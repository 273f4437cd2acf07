/* Where a program goes that is exported: to export/, in the place of code generation and a plan. */
#include "compile.h"

#include "../export/export.h"

#include <alloca.h>

Answer
stage_export(Job *job)
{
    ExportWanted *wanted = job->patience.exports;
    const Roots roots = {job->request->slots, job->request->decoded->nlocalsplus};
    PyObject **reached = alloca(sizeof(PyObject *) * (size_t)(guards_sources(job->guards) + 1));
    int failed;
    if (!guards_check(job->guards, &roots, reached, &failed)) {
        PyErr_SetString(PyExc_SystemError, "the guards of an export do not hold for it");
        return ANSWER_ERROR;
    }
    wanted->decoded = job->request->decoded;
    wanted->made = export_program(wanted, job->capture, job->program, reached);
    return wanted->made == NULL ? ANSWER_ERROR : ANSWER_NO;
}
