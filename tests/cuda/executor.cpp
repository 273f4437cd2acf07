// A CUDA driver and an NVRTC that execute on the CPU, for tests: libcuda.so.1 and libnvrtc.so.13 in one.
// NVRTC's part compiles the source as C++ with device.h, the driver's part runs a block at a time, each
// thread a fiber that goes on until it has to wait.  What threads do between barriers is in no order that
// the device would promise, and where all threads wait, the process ends.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#define EXECUTOR_HOST
#include "device.h" // last: __noinline__, which it makes a macro, is an attribute in libstdc++

// ---- a block ----

// A context begins a fiber; it waits and goes on by the compiler's jumps, because swapcontext() calls the
// system and longjmp() looks for what is to be cleaned up.
typedef void *Spot[5];
struct Fiber {
    Spot here;
    bool begun, done;
    ucontext_t context;
};

enum { MOST_THREADS = 1024, STACK = 64 << 10 };
static Spot scheduler;
static Fiber fibers[MOST_THREADS];
static unsigned current, block_threads, threads_left;
static void (*body)(const unsigned long long *);
static const unsigned long long *arguments;

executor::Place executor_thread, executor_block;
unsigned long long executor_lanes[1024];
enum { SHARED = 227 << 10 };
alignas(1024) char executor_shared[SHARED];

// Where neighbouring threads meet: how many are there, and how often they have met.
struct Meeting {
    unsigned arrived, met;
};
static Meeting meetings[3][1024 / 32];
static bool moves; // since the last time that every thread went on

extern "C" void executor_moves() { moves = true; }

// Not in the function that has the spot: GCC would take it for a way within that function.
__attribute__((noinline, noreturn)) static void jump(void **spot) { __builtin_longjmp(spot, 1); }

extern "C" void executor_wait()
{
    unsigned me = current, next = me + 1;
    if (__builtin_setjmp(fibers[me].here) == 0) {
        while (next < block_threads && fibers[next].done) next++;
        if (next < block_threads && fibers[next].begun) jump(fibers[next].here);
        jump(scheduler);
    }
    executor_thread.x = current = me;
}

static void meet(Meeting *meeting, unsigned threads)
{
    unsigned met = meeting->met;
    moves = true;
    if (++meeting->arrived == threads) {
        meeting->arrived = 0;
        meeting->met++;
    } else
        while (meeting->met == met) executor_wait();
}

extern "C" void executor_barrier() { meet(&meetings[0][0], block_threads); }
extern "C" void executor_meet(unsigned threads) { meet(&meetings[threads == 32 ? 1 : 2][current / threads], threads); }

// A fiber is one of each block.
static void fiber_main()
{
    for (;;) {
        body(arguments);
        fibers[current].done = moves = true;
        threads_left--;
        executor_wait();
    }
}

// Returns when a fiber waits behind which, in this round, is none that has begun.
static void go_on(unsigned i)
{
    static char *stacks = (char *)mmap(nullptr, (size_t)MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    executor_thread.x = current = i;
    if (__builtin_setjmp(scheduler) != 0) return;
    Fiber *fiber = &fibers[i];
    if (fiber->begun) jump(fiber->here);
    fiber->begun = true;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
    fiber->context.uc_stack.ss_size = STACK;
    makecontext(&fiber->context, fiber_main, 0);
    setcontext(&fiber->context);
}

static void run_block(unsigned threads)
{
    block_threads = threads;
    for (unsigned i = 0; i < threads; i++) fibers[i].done = false;
    memset(meetings, 0, sizeof meetings);
    memset(executor_shared, 0x7e, sizeof executor_shared); // NaN
    for (threads_left = threads; threads_left > 0;) {
        moves = false;
        for (unsigned i = 0; i < threads; i++) {
            if (fibers[i].done) continue;
            go_on(i);
            i = current; // the last that went on
        }
        if (!moves) {
            fprintf(stderr, "executor: a barrier that not all threads of the block reach\n");
            abort();
        }
    }
}

// ---- NVRTC: a "cubin" is the path of a shared object, and the words of each kernel's arguments ----

struct Program {
    std::string source, cubin, log;
};

// EXECUTOR_KERNELS keeps what was compiled for other processes; it is of one device.h.
static std::string folder()
{
    static char name[] = "/tmp/pycompile-cuda-XXXXXX";
    static const char *kept = getenv("EXECUTOR_KERNELS");
    static const std::string made = kept ? kept : mkdtemp(name); // programs are compiled by several threads
    return made;
}

static std::string contents(const std::string &path)
{
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

static std::string kernels_of(const std::string &source)
{
    std::ostringstream out;
    size_t at = 0;
    while ((at = source.find("__launch_bounds__(", at)) != std::string::npos) {
        size_t name = source.find('\n', at) + 1, open = source.find('(', name), close = source.find(')', open);
        out << source.substr(name, open - name);
        for (size_t from = open + 1; from < close;) {
            size_t to = std::min(source.find(',', from), close);
            std::string one = source.substr(from, to - from);
            size_t table = one.find("Table<");
            out << " " << (table != std::string::npos ? atoi(one.c_str() + table + 6) : one.find("TensorMap") != std::string::npos ? 16 : 1);
            from = to + 1;
        }
        out << "\n";
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
    std::ostringstream text;
    text << p->source;
    std::istringstream names(kernels_of(p->source));
    std::string line;
    while (std::getline(names, line)) {
        std::string name = line.substr(0, line.find(' '));
        text << "extern \"C\" __global__ void " << name << "_words(const unsigned long long *words)\n{\n    call_words("
             << name << ", words);\n}\n";
    }
    std::string base = folder() + "/k" + std::to_string(std::hash<std::string>()(text.str()));
    if (contents(base + ".cpp") != text.str()) {
        static std::atomic<int> number;
        std::string mine = base + "-" + std::to_string(getpid()) + "-" + std::to_string(number++);
        std::ofstream(mine + ".cpp") << text.str();
        // The products of matrices are what runs longer than it is compiled.
        const char *more = text.str().find("mma") != std::string::npos ? " -O1" : "";
        std::string command = "g++ " EXECUTOR_OPTIONS + std::string(more) + " -shared -I" EXECUTOR_FOLDER " -include device.h -o " + mine +
                              ".so " + mine + ".cpp 2> " + mine + ".log";
        int failed = system(command.c_str());
        p->log = contents(mine + ".log");
        remove((mine + ".log").c_str());
        if (failed) return 1;
        // The text comes last: where it is, the object is whole.
        rename((mine + ".so").c_str(), (base + ".so").c_str());
        rename((mine + ".cpp").c_str(), (base + ".cpp").c_str());
    }
    p->cubin = base + ".so\n" + kernels_of(p->source);
    return 0;
}
API nvrtcGetCUBINSize(void *p, size_t *size) { *size = ((Program *)p)->cubin.size() + 1; return 0; }
API nvrtcGetCUBIN(void *p, char *out) { strcpy(out, ((Program *)p)->cubin.c_str()); return 0; }
API nvrtcGetPTXSize(void *, size_t *size) { *size = 1; return 0; }
API nvrtcGetPTX(void *, char *out) { *out = 0; return 0; }
API nvrtcGetProgramLogSize(void *p, size_t *size) { *size = ((Program *)p)->log.size() + 1; return 0; }
API nvrtcGetProgramLog(void *p, char *out) { strcpy(out, ((Program *)p)->log.c_str()); return 0; }
API nvrtcDestroyProgram(void **p) { delete (Program *)*p; *p = nullptr; return 0; }

// ---- the driver ----

struct Library {
    void *handle;
    std::map<std::string, std::vector<int>> arguments;
};
struct Function {
    void (*call)(const unsigned long long *);
    std::vector<int> arguments; // the words of each
    int shared;                 // the most that a block may have
};
typedef std::vector<unsigned long long> Words;

static Words words_of(const Function *function, void **arguments)
{
    Words all;
    for (int count : function->arguments) {
        const unsigned long long *words = (const unsigned long long *)*arguments++;
        all.insert(all.end(), words, words + count);
    }
    return all;
}

API cuInit(unsigned) { return 0; }
API cuDriverGetVersion(int *version) { *version = 13000; return 0; }

// Several devices, EXECUTOR_DEVICES of them, where a test asks for them: the thread has a current one, whose
// context is 1 + its number.  A launch fails whose stream, or an address among whose words, is another's.
enum { STREAM_OF_NEXT = 1 << 16, MOST_DEVICES = 4 };
static thread_local int current_device;
static struct { unsigned long long begin, end; } memory_of[MOST_DEVICES];
static int device_count()
{
    const char *count = getenv("EXECUTOR_DEVICES");
    return count ? atoi(count) : 1;
}
extern "C" {
__attribute__((visibility("default"))) int executor_current() { return current_device; }
__attribute__((visibility("default"))) int executor_use(int device)
{
    if (device < 0 || device >= device_count()) return -1;
    current_device = device;
    return 0;
}
__attribute__((visibility("default"))) void executor_owns(int device, unsigned long long begin, unsigned long long end)
{
    memory_of[device] = {begin, end};
}
}
static bool is_of_current(const Words &words)
{
    for (unsigned long long word : words)
        for (int device = 0; device < MOST_DEVICES; device++)
            if (device != current_device && word >= memory_of[device].begin && word < memory_of[device].end) return false;
    return true;
}
static bool is_own(void *stream)
{
    size_t number = (size_t)stream / STREAM_OF_NEXT;
    return device_count() == 1 || number >= MOST_DEVICES || (int)number == current_device;
}
extern "C" __attribute__((visibility("default"))) bool executor_is_here(const void *at)
{
    return is_of_current({(unsigned long long)at});
}
API cuDeviceGetCount(int *count) { *count = device_count(); return 0; }
API cuDeviceGetAttribute(int *value, int attribute, int)
{
    const char *capability = getenv("EXECUTOR_CAPABILITY");
    int number = capability ? atoi(capability) : 90;
    *value = attribute == 75 ? number / 10 : number % 10;
    return 0;
}
API cuDeviceGetName(char *name, int size, int) { snprintf(name, size, "executor"); return 0; }
extern "C" int executor_forked;
API cuCtxGetCurrent(void **context) { *context = (void *)(size_t)(1 + current_device); return executor_forked ? 3 : 0; }
API cuCtxSetCurrent(void *context) { return executor_use((int)(size_t)context - 1); }
API cuCtxGetDevice(int *device) { *device = current_device; return 0; }
API cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)(size_t)(1 + device); return 0; }
API cuGetErrorName(int, const char **name) { *name = "an error of the executor"; return 0; }
API cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *)
{
    memcpy((void *)to, (void *)from, bytes);
    return 0;
}
API cuLibraryLoadData(void **out, const void *image, void *, void **, unsigned, void *, void **, unsigned)
{
    std::istringstream text((const char *)image);
    std::string path, line, name;
    std::getline(text, path);
    Library *library = new Library{dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), {}};
    if (library->handle == nullptr) {
        fprintf(stderr, "executor: %s\n", dlerror());
        return 1;
    }
    while (std::getline(text, line)) {
        std::istringstream words(line);
        words >> name;
        for (int count; words >> count;) library->arguments[name].push_back(count);
    }
    *out = library;
    return 0;
}
API cuLibraryGetKernel(void **out, void *handle, const char *name)
{
    Library *library = (Library *)handle;
    void *symbol = dlsym(library->handle, (std::string(name) + "_words").c_str());
    if (symbol == nullptr) return 1;
    *out = new Function{(void (*)(const unsigned long long *))symbol, library->arguments[name], 48 << 10};
    return 0;
}
API cuKernelSetAttribute(int attribute, int value, void *kernel, int)
{
    if (attribute != 8 || value > SHARED) return 1;
    ((Function *)kernel)->shared = value;
    return 0;
}
__attribute__((visibility("default"))) int executor_maps; // that were made: read by the tests
API cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *at, const unsigned long long *size,
                           const unsigned long long *stride, const unsigned *box, const unsigned *step, int, int swizzle,
                           int, int)
{
    if ((size_t)map % 64 || (size_t)at % 16 || rank != 5 || (type != 6 && type != 9) || box[0] * 2 != (swizzle == 3 ? 128 : 64))
        return 1;
    Tiles tiles = {(const char *)at};
    for (unsigned i = 0; i < rank; i++) {
        tiles.size[i] = size[i];
        tiles.box[i] = box[i];
        if (i > 0) tiles.stride[i] = stride[i - 1];
        if (tiles.stride[i] % 16 || step[i] != 1 || box[i] > 256 || (i > 1 && box[i] != 1)) return 1;
    }
    tiles.swizzle = swizzle == 3 ? 7 : 3;
    static_assert(sizeof tiles <= 128, "a map");
    memcpy(map, &tiles, sizeof tiles);
    executor_maps++;
    return 0;
}
API cuLaunchKernel(void *handle, unsigned blocks, unsigned rows, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned shared, void *stream, void **words, void **)
{
    Function *function = (Function *)handle;
    if ((int)shared > function->shared) return 1;
    Words values = words_of(function, words);
    if (!is_of_current(values) || !is_own(stream)) return 400;
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
    Words words;
    std::vector<void *> arguments;
    void (*call)(const void *); // instead of a kernel, with `bytes`: a library's
    std::string bytes;
};
typedef std::vector<Kept *> Graph;

// What has happened, and what is to fail: read and set by the tests.
extern "C" {
__attribute__((visibility("default"))) int executor_capturing, executor_refuses; // to be set
__attribute__((visibility("default"))) int executor_graphs, executor_launches, executor_sets;
}

static void point(Kept *kept)
{
    size_t at = 0;
    kept->arguments.clear();
    for (int count : ((Function *)kept->node.function)->arguments) {
        kept->arguments.push_back(kept->words.data() + at);
        at += count;
    }
}
static void keep(Kept *kept, const Node *node)
{
    kept->node = *node;
    kept->words = words_of((Function *)node->function, node->arguments);
    point(kept);
}
static void *executor_loose; // the node before one that was added without what it depends on
API cuKernelGetFunction(void **function, void *kernel) { *function = kernel; return 0; }
API cuGraphCreate(void **graph, unsigned) { *graph = new Graph; return 0; }
API cuGraphAddKernelNode_v2(void **out, void *graph, void *const *after, size_t count, const Node *node)
{
    Graph *g = (Graph *)graph;
    if (count != !g->empty()) executor_loose = g->back(); // until it gets its dependency
    if (count && *after != g->back()) return 1; // a chain
    Kept *kept = new Kept{};
    keep(kept, node);
    g->push_back(kept);
    *out = kept;
    return 0;
}
struct Edge {
    unsigned char from_port, to_port, type, reserved[5];
};
API cuGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const Edge *edge, size_t count)
{
    if (count != 1 || *from != executor_loose || *to != ((Graph *)graph)->back() || edge->type != 1 || edge->from_port != 1)
        return 1;
    executor_loose = nullptr;
    return 0;
}
API cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long)
{
    if (executor_refuses || executor_loose) return 801;
    Graph *made = new Graph; // with arguments of its own; [i] is of the graph's node [i]
    for (Kept *kept : *(Graph *)graph) {
        Kept *copy = new Kept{kept->node, kept->words, {}, kept->call, kept->bytes};
        if (!copy->call) point(copy);
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
        if (kept->call)
            kept->call(kept->bytes.data());
        else
            cuLaunchKernel(kept->node.function, kept->node.grid[0], kept->node.grid[1], 1, kept->node.block[0], 1, 1, kept->node.shared,
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

// ---- what a library launches on a stream, recorded ----

struct Stream {
    Graph *recorded; // while it is captured
};
static std::vector<Stream *> streams;

extern "C" {
__attribute__((visibility("default"))) int executor_recorded; // calls: read by the tests
}
// Is the stream captured?  Then the call is kept.
extern "C" __attribute__((visibility("default"))) bool executor_record(void *stream, void (*call)(const void *),
                                                                       const void *bytes, size_t count)
{
    for (Stream *known : streams)
        if (known == stream && known->recorded) {
            known->recorded->push_back(new Kept{{}, {}, {}, call, std::string((const char *)bytes, count)});
            executor_recorded++;
            return true;
        }
    return false;
}
API cuStreamCreate(void **out, unsigned)
{
    streams.push_back(new Stream{});
    *out = streams.back();
    return 0;
}
extern "C" {
__attribute__((visibility("default"))) int executor_faults, executor_forked; // to be set: what fails from then on
}
API cuStreamSynchronize(void *) { return executor_faults ? 700 : 0; }
API cuStreamBeginCapture_v2(void *stream, int)
{
    ((Stream *)stream)->recorded = new Graph;
    return 0;
}
API cuStreamEndCapture(void *stream, void **graph)
{
    *graph = ((Stream *)stream)->recorded;
    ((Stream *)stream)->recorded = nullptr;
    return 0;
}
// A child of one call is that call.
API cuGraphAddChildGraphNode(void **out, void *graph, void *const *after, size_t count, void *child)
{
    Graph *g = (Graph *)graph, *c = (Graph *)child;
    if (count != !g->empty() || (count && *after != g->back()) || c->size() != 1) return 1;
    g->push_back(new Kept(*c->front()));
    *out = g->back();
    return 0;
}
API cuGraphExecChildGraphNodeSetParams(void *exec, void *node, void *child)
{
    auto *pair = (std::pair<Graph *, Graph *> *)exec;
    Graph *c = (Graph *)child;
    executor_sets++;
    for (size_t i = 0; i < pair->first->size(); i++)
        if ((*pair->first)[i] == node && c->size() == 1) {
            (*pair->second)[i]->bytes = c->front()->bytes;
            return 0;
        }
    return 1;
}
API cuMemAlloc_v2(unsigned long long *out, size_t bytes)
{
    *out = (unsigned long long)aligned_alloc(256, (bytes + 255) / 256 * 256);
    return *out == 0;
}
API cuMemFree_v2(unsigned long long at) { free((void *)at); return 0; }
API cuMemsetD32Async(unsigned long long at, unsigned word, size_t count, void *)
{
    std::fill_n((unsigned *)at, count, word);
    return 0;
}
API cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *)
{
    memcpy((void *)to, from, bytes);
    return 0;
}
API cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *)
{
    memcpy(to, (void *)from, bytes);
    return 0;
}
