/* The passes in order, and how each is run. */
#include "passes.h"

static const Pass pipeline[] = {
    /* name      function */
    {"fold", pass_fold},       /* operations on constants, by NumPy itself */
    {"forward", pass_forward}, /* reads of what was just written */
    {"algebra", pass_algebra}, /* identities that keep the bits */
    {"cse", pass_cse},         /* each computation once */
    {"dce", pass_dce},         /* drops unused nodes */
};

/* What lowering relies on afterwards: every node that has a place is live, no cond is left in the
   top region, and each write says where it goes. */
static const Pass preparation[] = {
    {"functions", pass_functions},     /* elementary functions in registers */
    {"loops", pass_loops},             /* that repeat one before them */
    {"moves", pass_moves},             /* copies of what nobody else has */
    {"overwritten", pass_overwritten}, /* versions that later writes replace */
    {"again_here", pass_again_here},   /* what kernels far apart read, on the host */
    {"arms", pass_arms},               /* conditional regions become jumps */
    {"concatenate", pass_concatenate}, /* parts are written one by one */
    {"writes", pass_writes},           /* in place, into a copy, or at commit */
    {"attention", pass_attention},     /* two products and a softmax, on a device */
    {"products", pass_products},       /* by the device's library, with their epilogues */
    {"gathers", pass_gathers},         /* elements by integers, by kernels */
    {"scans", pass_scans},             /* by kernels, on a device */
    {"copies", pass_copies},           /* by kernels, on a device */
    {"again", pass_again},             /* what kernels far apart read, on a device */
    {"k_major", pass_k_major},         /* factors in the order that tensor cores take */
    {"collectives", pass_collectives}, /* early, and their results late */
};

/* Called before the first pass, so that no pass is blamed for a graph that was broken before, and
   after each. */
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

static int
run_all(const Pass *passes, int count, Graph *graph, Dump dump, void *context)
{
    if (verify(graph) < 0) return -1;
    for (int i = 0; i < count; i++) {
        if (run_one(&passes[i], graph) < 0) return -1;
        if (dump != NULL) dump(context, passes[i].name, graph);
    }
    return 0;
}

int
run_passes(Graph *graph, Dump dump, void *context)
{
    return run_all(pipeline, COUNT_OF(pipeline), graph, dump, context);
}

int
run_preparation(Graph *graph, Dump dump, void *context)
{
    return run_all(preparation, COUNT_OF(preparation), graph, dump, context);
}

const char *
pass_name(int i)
{
    int behind = i - COUNT_OF(pipeline);
    if (i < COUNT_OF(pipeline)) return pipeline[i].name;
    return behind < COUNT_OF(preparation) ? preparation[behind].name : NULL;
}

int
pass_count(void)
{
    return COUNT_OF(pipeline);
}

int
run_pass(Graph *graph, const char *name)
{
    for (int i = 0; i < COUNT_OF(pipeline); i++)
        if (strcmp(pipeline[i].name, name) == 0) return run_one(&pipeline[i], graph);
    for (int i = 0; i < COUNT_OF(preparation); i++)
        if (strcmp(preparation[i].name, name) == 0) return run_one(&preparation[i], graph);
    PyErr_Format(PyExc_ValueError, "no pass is called '%s'", name);
    return -1;
}
