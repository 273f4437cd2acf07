/* The passes in order, and the one way to run one. */
#include "passes.h"

static const Pass pipeline[] = {
    /* name      function */
    {"fold", pass_fold},       /* operations on constants, by NumPy itself */
    {"forward", pass_forward}, /* reads of what was just written */
    {"algebra", pass_algebra}, /* identities that keep the bits */
    {"cse", pass_cse},         /* equal computations once */
    {"dce", pass_dce},         /* nothing that nobody uses */
};

/* Before the first pass, so that a broken graph is blamed on who made it, and after each. */
static int
verify(const Graph *graph)
{
#ifndef NDEBUG
    return graph_verify(graph);
#else
    (void)graph;
    return 0;
#endif
}

static int
run_one(const Pass *pass, Graph *graph)
{
    return pass->run(graph) < 0 ? -1 : verify(graph);
}

int
run_passes(Graph *graph, void (*dump)(void *context, const char *pass, const Graph *graph),
           void *context)
{
    if (verify(graph) < 0) return -1;
    for (int i = 0; i < COUNT_OF(pipeline); i++) {
        if (run_one(&pipeline[i], graph) < 0) return -1;
        if (dump != NULL) dump(context, pipeline[i].name, graph);
    }
    return 0;
}

int
run_pass(Graph *graph, const char *name)
{
    for (int i = 0; i < COUNT_OF(pipeline); i++)
        if (strcmp(pipeline[i].name, name) == 0) return run_one(&pipeline[i], graph);
    PyErr_Format(PyExc_ValueError, "no pass is called '%s'", name);
    return -1;
}

const char *
pass_name(int i)
{
    return i >= 0 && i < COUNT_OF(pipeline) ? pipeline[i].name : NULL;
}
