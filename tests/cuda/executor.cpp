// A CUDA driver and an NVRTC that execute on the CPU, for tests: libcuda.so.1 and libnvrtc.so.13 in one.
// NVRTC's part compiles the source as C++ with device.h, the driver's part runs a block at a time, each
// thread a fiber that goes on until a barrier.  What threads do between barriers is in no order that
// the device would promise, and a barrier that not all threads reach ends the process.
#include "device.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

// ---- a block ----

struct Fiber {
    ucontext_t context;
    bool done;
};

static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static std::vector<char> stacks;
static unsigned current;
static void (*body)(const unsigned long long *);
static const unsigned long long *arguments;

executor::Place executor_thread, executor_block;
unsigned long long executor_lanes[1024];

extern "C" void executor_barrier()
{
    unsigned me = current;
    swapcontext(&fibers[me].context, &scheduler);
    executor_thread.x = current = me;
}

static void fiber_main()
{
    body(arguments);
    fibers[current].done = true;
    swapcontext(&fibers[current].context, &scheduler);
}

static void run_block(unsigned threads)
{
    enum { STACK = 64 << 10 };
    fibers.resize(threads);
    stacks.resize((size_t)threads * STACK);
    for (unsigned i = 0; i < threads; i++) {
        getcontext(&fibers[i].context);
        fibers[i].context.uc_stack.ss_sp = &stacks[(size_t)i * STACK];
        fibers[i].context.uc_stack.ss_size = STACK;
        fibers[i].context.uc_link = nullptr;
        fibers[i].done = false;
        makecontext(&fibers[i].context, fiber_main, 0);
    }
    for (unsigned left = threads; left > 0;) {
        unsigned ran = 0, ended = 0;
        for (unsigned i = 0; i < threads; i++) {
            if (fibers[i].done) continue;
            executor_thread.x = current = i;
            swapcontext(&scheduler, &fibers[i].context);
            ran++;
            ended += fibers[i].done;
        }
        if (ended != 0 && ended != ran) {
            fprintf(stderr, "executor: a barrier that not all threads of the block reach\n");
            abort();
        }
        left -= ended;
    }
}

// ---- NVRTC: a "cubin" is the path of a shared object, and the number of arguments of each kernel ----

struct Program {
    std::string source, cubin, log;
};

static std::string folder()
{
    static char name[] = "/tmp/pycompile-cuda-XXXXXX";
    static const std::string made = mkdtemp(name); // programs are compiled by several threads
    return made;
}

static std::string kernels_of(const std::string &source)
{
    std::ostringstream out;
    size_t at = 0;
    while ((at = source.find("__launch_bounds__(", at)) != std::string::npos) {
        size_t name = source.find('\n', at) + 1, open = source.find('(', name), close = source.find(')', open);
        int count = 1;
        for (size_t i = open; i < close; i++) count += source[i] == ',';
        size_t table = source.find("Table<", open); // the number of its words, below 0
        if (table < close) count = -atoi(source.c_str() + table + 6);
        out << source.substr(name, open - name) << " " << count << "\n";
        at = close;
    }
    return out.str();
}

#define API extern "C" __attribute__((visibility("default"))) int

API nvrtcVersion(int *major, int *minor) { *major = 13, *minor = 0; return 0; }
API nvrtcCreateProgram(void **out, const char *source, const char *, int, const char *const *, const char *const *)
{
    *out = new Program{source, "", ""};
    return 0;
}
API nvrtcCompileProgram(void *program, int, const char *const *)
{
    Program *p = (Program *)program;
    static std::atomic<int> number;
    std::string base = folder() + "/k" + std::to_string(number++);
    std::ofstream text(base + ".cpp");
    text << "#include \"" EXECUTOR_FOLDER "/device.h\"\n" << p->source;
    std::istringstream names(kernels_of(p->source));
    std::string name, count;
    while (names >> name >> count)
        text << "extern \"C\" __global__ void " << name << "_words(const unsigned long long *words)\n{\n    call_words("
             << name << ", words);\n}\n";
    text.close();
    std::string command = "g++ -std=c++17 -O1 -w -fPIC -shared -ffp-contract=off -o " + base + ".so " + base +
                          ".cpp 2> " + base + ".log";
    int failed = system(command.c_str());
    std::stringstream log;
    log << std::ifstream(base + ".log").rdbuf();
    p->log = log.str();
    p->cubin = base + ".so\n" + kernels_of(p->source);
    return failed != 0;
}
API nvrtcGetCUBINSize(void *p, size_t *size) { *size = ((Program *)p)->cubin.size() + 1; return 0; }
API nvrtcGetCUBIN(void *p, char *out) { strcpy(out, ((Program *)p)->cubin.c_str()); return 0; }
API nvrtcGetProgramLogSize(void *p, size_t *size) { *size = ((Program *)p)->log.size() + 1; return 0; }
API nvrtcGetProgramLog(void *p, char *out) { strcpy(out, ((Program *)p)->log.c_str()); return 0; }
API nvrtcDestroyProgram(void **p) { delete (Program *)*p; *p = nullptr; return 0; }

// ---- the driver ----

struct Library {
    void *handle;
    std::map<std::string, int> arguments;
};
struct Function {
    void (*call)(const unsigned long long *);
    int arguments;
};

API cuInit(unsigned) { return 0; }
API cuDriverGetVersion(int *version) { *version = 13000; return 0; }
API cuDeviceGetCount(int *count) { *count = 1; return 0; }
API cuDeviceGetAttribute(int *value, int attribute, int) { *value = attribute == 75 ? 9 : 0; return 0; }
API cuDeviceGetName(char *name, int size, int) { snprintf(name, size, "executor"); return 0; }
API cuCtxGetCurrent(void **context) { *context = (void *)1; return 0; }
API cuCtxSetCurrent(void *) { return 0; }
API cuCtxGetDevice(int *device) { *device = 0; return 0; }
API cuDevicePrimaryCtxRetain(void **context, int) { *context = (void *)1; return 0; }
API cuGetErrorName(int, const char **name) { *name = "an error of the executor"; return 0; }
API cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *)
{
    memcpy((void *)to, (void *)from, bytes);
    return 0;
}
API cuLibraryLoadData(void **out, const void *image, void *, void **, unsigned, void *, void **, unsigned)
{
    std::istringstream text((const char *)image);
    std::string path, name;
    int count;
    std::getline(text, path);
    Library *library = new Library{dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), {}};
    if (library->handle == nullptr) {
        fprintf(stderr, "executor: %s\n", dlerror());
        return 1;
    }
    while (text >> name >> count) library->arguments[name] = count;
    *out = library;
    return 0;
}
API cuLibraryGetKernel(void **out, void *handle, const char *name)
{
    Library *library = (Library *)handle;
    void *symbol = dlsym(library->handle, (std::string(name) + "_words").c_str());
    if (symbol == nullptr) return 1;
    *out = new Function{(void (*)(const unsigned long long *))symbol, library->arguments[name]};
    return 0;
}
API cuLaunchKernel(void *handle, unsigned blocks, unsigned rows, unsigned, unsigned threads, unsigned, unsigned, unsigned,
                   void *, void **words, void **)
{
    Function *function = (Function *)handle;
    std::vector<unsigned long long> values(abs(function->arguments));
    for (int i = 0; i < function->arguments; i++) values[i] = *(unsigned long long *)words[i];
    if (function->arguments < 0) memcpy(values.data(), words[0], values.size() * sizeof values[0]);
    body = function->call;
    arguments = values.data();
    for (executor_block.y = 0; executor_block.y < rows; executor_block.y++)
        for (executor_block.x = 0; executor_block.x < blocks; executor_block.x++) run_block(threads);
    return 0;
}

// ---- graphs: nodes in a chain, whose arguments are copied when they are set ----

struct Node { // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
};
struct Kept {
    Node node;
    std::vector<unsigned long long> words;
    std::vector<void *> arguments;
};
typedef std::vector<Kept *> Graph;

// What has happened, and what is to fail: read and set by the tests.
extern "C" {
__attribute__((visibility("default"))) int executor_capturing, executor_refuses; // to be set
__attribute__((visibility("default"))) int executor_graphs, executor_launches, executor_sets;
}

static void keep(Kept *kept, const Node *node)
{
    int count = ((Function *)node->function)->arguments;
    kept->node = *node;
    kept->words.resize(abs(count));
    kept->arguments.resize(abs(count));
    for (int i = 0; i < count; i++) kept->words[i] = *(unsigned long long *)node->arguments[i];
    if (count < 0) memcpy(kept->words.data(), node->arguments[0], kept->words.size() * sizeof kept->words[0]);
    for (int i = 0; i < abs(count); i++) kept->arguments[i] = &kept->words[i];
}
API cuKernelGetFunction(void **function, void *kernel) { *function = kernel; return 0; }
API cuGraphCreate(void **graph, unsigned) { *graph = new Graph; return 0; }
API cuGraphAddKernelNode_v2(void **out, void *graph, void *const *after, size_t count, const Node *node)
{
    Graph *g = (Graph *)graph;
    if (count != !g->empty() || (count && *after != g->back())) return 1; // a chain
    Kept *kept = new Kept;
    keep(kept, node);
    g->push_back(kept);
    *out = kept;
    return 0;
}
API cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long)
{
    if (executor_refuses) return 801;
    Graph *made = new Graph; // with arguments of its own; [i] is of the graph's node [i]
    for (Kept *kept : *(Graph *)graph) {
        Kept *copy = new Kept{kept->node, kept->words, {}};
        for (auto &word : copy->words) copy->arguments.push_back(&word);
        made->push_back(copy);
    }
    *exec = new std::pair<Graph *, Graph *>((Graph *)graph, made);
    executor_graphs++;
    return 0;
}
API cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const Node *params)
{
    auto *pair = (std::pair<Graph *, Graph *> *)exec;
    executor_sets++;
    for (size_t i = 0; i < pair->first->size(); i++)
        if ((*pair->first)[i] == node) {
            keep((*pair->second)[i], params);
            return 0;
        }
    return 1;
}
API cuGraphLaunch(void *exec, void *stream)
{
    if (executor_capturing || executor_refuses) return 900;
    executor_launches++;
    for (Kept *kept : *((std::pair<Graph *, Graph *> *)exec)->second)
        cuLaunchKernel(kept->node.function, kept->node.grid[0], kept->node.grid[1], 1, kept->node.block[0], 1, 1, 0,
                       stream, kept->arguments.data(), nullptr);
    return 0;
}
static void drop(Graph *graph)
{
    for (Kept *kept : *graph) delete kept;
    delete graph;
}
API cuGraphDestroy(void *graph) { drop((Graph *)graph); return 0; }
API cuGraphExecDestroy(void *exec)
{
    auto *pair = (std::pair<Graph *, Graph *> *)exec;
    drop(pair->second);
    delete pair;
    executor_graphs--;
    return 0;
}
API cuStreamIsCapturing(void *, int *status) { *status = executor_capturing; return 0; }
API cuThreadExchangeStreamCaptureMode(int *) { return 0; }
