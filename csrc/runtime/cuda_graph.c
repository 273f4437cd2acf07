/* A chain of kernels as a CUDA graph, launched at once: 1.3 us on the host for up to 60 kernels,
   and 0.2 for each whose arguments have changed, where a launch of one kernel takes 3.2 (H200).

   The nodes are in the chain's order: kernels that depend on nothing of one another are one kernel,
   or one launch, already (lower/together.c).

   The driver copies arguments when a node gets them, and launches that are under way keep theirs.
   Launches of one graph wait for one another, even on different streams, so a graph belongs to a
   stream; on others its kernels are launched one by one, and after a few of these it is made again
   for the new stream.  It also belongs to the context in which its kernels are loaded.  While the
   stream is being captured into a graph of the program's, kernels are launched one by one, so that
   they become nodes of that graph.

   A product is a graph of its own in the chain's: what cuBLASLt launches is recorded when there is
   a graph, and again when an address has changed (5 us).

   Where a graph costs more than its kernels' launches is found by the first launches of a process,
   a few of each kind, which are timed. */
#include "../clock.h"
#include "cuda.h"
#include "hooks.h"

#include <unistd.h>

enum {
    SAMPLES = 4,           /* timed launches of each kind */
    MOVES = 16,            /* launches on another stream after which a graph moves there */
    RELAXED = 2,           /* CU_STREAM_CAPTURE_MODE_RELAXED */
    STREAM_PER_THREAD = 2, /* CU_STREAM_PER_THREAD: another stream for each thread */
};

typedef struct CudaGraph {
    void *graph, *exec, *context;
    const void *stream; /* on which it is launched: see stream_key */
    pid_t process;      /* that made it; CUDA is not to be used after a fork */
    int elsewhere;      /* launches on another stream since the last on this one */
} CudaGraph;

/* ---- graph, or kernel by kernel? ---- */

static struct {
    int64_t kernel, set,
        graph;           /* ns of a kernel's launch, of setting a node, of a graph's launch */
    int kernels, graphs; /* how many were timed */
    int forced;          /* for tests: 1: graphs, -1: none */
} costs = {.kernel = INT64_MAX, .set = INT64_MAX, .graph = INT64_MAX};

static void
keep_least(int64_t *least, int64_t ns)
{
    if (ns < *least) *least = ns;
}

static bool
has_products(const Chain *chain)
{
    for (int i = 0; i < chain->nlaunches; i++)
        if (chain->launches[i].kernel->product != NULL) return true;
    return false;
}

static int
count_nodes(const Chain *chain)
{
    int count = 0;
    for (int i = 0; i < chain->nlaunches; i++)
        count += chain->launches[i].kernel->function[1] != NULL ? 2 : 1;
    return count;
}

/* The first launch of a chain loads its kernels, and a chain that is launched once needs no
   graph.  A product's launch takes longer than a kernel's, so that it is no sample. */
CudaWay
cuda_way(const Chain *chain)
{
    if (chain->no_graph || costs.forced < 0) return (CudaWay){false, false};
    if (costs.forced > 0) return (CudaWay){true, false};
    if (!chain->launched) return (CudaWay){false, false};
    if (has_products(chain)) return (CudaWay){costs.graph <= costs.kernel, false};
    if (costs.kernels < SAMPLES) return (CudaWay){false, true};
    if (costs.graphs < SAMPLES) return (CudaWay){true, true};
    int nodes = count_nodes(chain);
    int64_t set = costs.set == INT64_MAX ? 0 : costs.set; /* no argument has changed so far */
    return (CudaWay){costs.graph + nodes * set < nodes * costs.kernel, false};
}

void
cuda_way_timed(const Chain *chain, int64_t ns)
{
    costs.kernels++;
    keep_least(&costs.kernel, ns / count_nodes(chain));
}

/* ---- a graph ---- */

void
cuda_forget(Chain *chain)
{
    const char *why;
    CudaGraph *g = chain->graph;
    if (g == NULL) return;
    const CudaDriver *driver = cuda_driver(&why);
    bool ours = g->process == getpid();
    if (ours && g->exec != NULL) driver->exec_destroy(g->exec); /* under way: freed at its end */
    if (ours && g->graph != NULL) driver->graph_destroy(g->graph);
    mem_free(g);
    chain->graph = NULL;
}

/* The same for all launches that are on one stream. */
static const void *
stream_key(const void *stream)
{
    static _Thread_local char own;
    return stream == (const void *)STREAM_PER_THREAD ? &own : stream;
}

static CudaNode
node_of(const Launch *launch, int part)
{
    const PlanKernel *kernel = launch->kernel;
    return (CudaNode){
        .grid_x = launch->blocks[part],
        .grid_y = cuda_rows(kernel),
        .grid_z = 1,
        .block_x = kernel->threads,
        .block_y = 1,
        .block_z = 1,
        .shared = kernel->shared,
        .arguments = launch->arguments,
    };
}

/* Adds the product to the graph `to`, or sets its node there. */
static int
put_product(const CudaDriver *driver, Launch *launch, void *to, void *const *before, void *exec)
{
    void *child = NULL;
    int failed = cuda_product_graph(driver, launch->kernel->product, launch->words, &child);
    if (failed) return failed;
    failed = exec != NULL
                 ? driver->graph_set_child(exec, launch->node[0], child)
                 : driver->graph_add_child(&launch->node[0], to, before, *before != NULL, child);
    driver->graph_destroy(child);
    return failed;
}

/* The second launch of a kernel in parts begins while the first is under way, and waits in the
   kernel itself (codegen/cuda.c): 1 us less between the two.  Devices before 9.0 cannot. */
static int
add_done(const CudaDriver *driver, CudaGraph *g, void *before, const CudaNode *node, void **out)
{
    static const CudaEdge programmatic = {.from_port = 1, .type = 1}, plain;
    int failed = driver->graph_add(out, g->graph, NULL, 0, node);
    if (failed) return failed;
    failed = driver->graph_depend(g->graph, &before, out, &programmatic, 1);
    return failed ? driver->graph_depend(g->graph, &before, out, &plain, 1) : 0;
}

static int
add_nodes(const CudaDriver *driver, CudaGraph *g, Chain *chain)
{
    void *before = NULL;
    bool overlaps = driver->graph_depend != NULL && cuda_capability() >= CAPABILITY_HOPPER;
    for (int i = 0; i < chain->nlaunches; i++) {
        Launch *launch = &chain->launches[i];
        if (launch->kernel->product != NULL) {
            int failed = put_product(driver, launch, g->graph, &before, NULL);
            if (failed) return failed;
            before = launch->node[0];
        }
        for (int part = 0; part < 2 && launch->kernel->function[part] != NULL; part++) {
            CudaNode node = node_of(launch, part);
            int failed =
                driver->kernel_function(&launch->function[part], launch->kernel->function[part]);
            node.function = launch->function[part];
            if (!failed && part == 1 && overlaps)
                failed = add_done(driver, g, before, &node, &launch->node[part]);
            else if (!failed)
                failed = driver->graph_add(&launch->node[part], g->graph, &before, before != NULL,
                                           &node);
            if (failed) return failed;
            before = launch->node[part];
        }
        launch->changed = false;
    }
    return 0;
}

/* The thread may be part of a capture on another stream, which this does not belong to. */
static int
instantiate(const CudaDriver *driver, CudaGraph *g)
{
    int mode = RELAXED;
    int failed = driver->capture_mode(&mode);
    if (failed) return failed;
    failed = driver->graph_instantiate(&g->exec, g->graph, 0);
    driver->capture_mode(&mode);
    return failed;
}

/* False: there is none, and there will be none. */
static bool
make_graph(const CudaDriver *driver, Chain *chain, const void *key, void *context)
{
    int failed = 0;
    cuda_forget(chain);
    CudaGraph *g = chain->graph = driver->has_graphs ? mem_alloc(sizeof(CudaGraph)) : NULL;
    chain->no_graph = true;
    if (g == NULL) {
        PyErr_Clear();
        return false;
    }
    *g = (CudaGraph){.context = context, .stream = key, .process = getpid()};
    if ((failed = driver->graph_create(&g->graph, 0)) == 0 &&
        (failed = add_nodes(driver, g, chain)) == 0 && (failed = instantiate(driver, g)) == 0) {
        chain->no_graph = false;
        return true;
    }
    log_emit(LOG_PERF_HINTS, "kernels are launched one by one: a CUDA graph could not be made: %s",
             cuda_error(failed));
    cuda_forget(chain);
    return false;
}

/* Is the chain's graph there, for this stream and context?  False: not for this launch. */
static bool
take_graph(const CudaDriver *driver, Chain *chain, void *stream)
{
    const void *key = stream_key(stream);
    CudaGraph *g = chain->graph;
    void *context = NULL;
    int capturing = 0;
    if (!driver->has_graphs || driver->context_current(&context) != 0 ||
        driver->stream_capturing(stream, &capturing) != 0 || capturing != 0)
        return false;
    if (g == NULL || g->context != context) return make_graph(driver, chain, key, context);
    if (g->stream == key)
        g->elsewhere = 0;
    else if (++g->elsewhere < MOVES)
        return false;
    else
        return make_graph(driver, chain, key, context);
    return true;
}

static int
set_nodes(const CudaDriver *driver, Chain *chain, int *count)
{
    for (int i = 0; i < chain->nlaunches; i++) {
        Launch *launch = &chain->launches[i];
        if (launch->kernel->product != NULL) {
            int failed =
                launch->changed ? put_product(driver, launch, NULL, NULL, chain->graph->exec) : 0;
            if (failed) return failed;
            launch->changed = false;
            continue;
        }
        for (int part = 0; part < 2 && launch->changed && launch->node[part] != NULL; part++) {
            CudaNode node = node_of(launch, part);
            node.function = launch->function[part];
            int failed = driver->graph_set(chain->graph->exec, launch->node[part], &node);
            if (failed) return failed;
            ++*count;
        }
        launch->changed = false;
    }
    return 0;
}

bool
cuda_graph_launch(const CudaDriver *driver, Chain *chain, void *stream, bool timed)
{
    int nset = 0;
    if (!take_graph(driver, chain, stream)) return false;
    int64_t began = timed ? clock_ns() : 0;
    int failed = set_nodes(driver, chain, &nset);
    int64_t set = timed ? clock_ns() : 0;
    if (!failed) failed = driver->graph_launch(chain->graph->exec, stream);
    if (failed) {
        cuda_forget(chain);
        chain->no_graph = true;
        return false;
    }
    if (timed) {
        costs.graphs++;
        keep_least(&costs.graph, clock_ns() - set);
        if (nset > 0) keep_least(&costs.set, (set - began) / nset);
    }
    return true;
}

/* ---- for tests ---- */

/* test_cuda_graphs(force) -> (ns of a kernel's launch, of a graph's launch, of setting a node); 0:
   not measured. */
static PyObject *
py_test_cuda_graphs(PyObject *Py_UNUSED(self), PyObject *args)
{
    if (!PyArg_ParseTuple(args, "|i", &costs.forced)) return NULL;
    return Py_BuildValue("(LLL)", costs.kernels ? (long long)costs.kernel : 0,
                         costs.graphs ? (long long)costs.graph : 0,
                         costs.set != INT64_MAX ? (long long)costs.set : 0);
}

PyMethodDef cuda_graph_methods[] = {
    {"test_cuda_graphs", py_test_cuda_graphs, METH_VARARGS,
     "Chains of kernels are launched as graphs (1), never (-1), or as is faster (0)."},
    {NULL, NULL, 0, NULL},
};
