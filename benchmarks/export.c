/* What a call of an exported function takes: `export LIBRARY FUNCTION` reads the call as the
   callers of tests/export do, and prints in nanoseconds what loading and the first call take, and
   of later calls the best, of the calling thread's processor time. */
#include "../pycompile/exported/dlpack.h"

#include "../tests/export/callers/reading.h"

#include <dlfcn.h>
#include <time.h>

enum { ROUNDS = 400, CALLS = 250 };

static void *
room(size_t bytes)
{
    return aligned_alloc(64, (bytes / 64 + 1) * 64);
}

static double
now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *
symbol(void *library, const char *name, const char *rest)
{
    char text[100];
    snprintf(text, sizeof text, "%s%s", name, rest);
    void *found = dlsym(library, text);
    if (found == NULL) exit(3);
    return found;
}

int
main(int argc, char **argv)
{
    DLTensor in[MOST], out[MOST];
    if (argc < 3) return 4;
    read_number(); /* of the function */
    int nin = (int)read_number(), nout = (int)read_number();
    for (int i = 0; i < nin; i++) read_tensor(&in[i], room);
    for (int i = 0; i < nout; i++)
        out[i] = (DLTensor){.device = {1, 0}, .shape = calloc(MOST, sizeof *out[i].shape)};

    double begun = now(CLOCK_MONOTONIC);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 5;
    double loaded = now(CLOCK_MONOTONIC);
    Function *shapes = (Function *)symbol(library, argv[2], "_shapes");
    Function *call = (Function *)symbol(library, argv[2], "");
    if (shapes(in, nin, out, nout) < 0) return 6;
    for (int i = 0; i < nout; i++) out[i].data = room(bytes_of(&out[i]));
    double first = now(CLOCK_MONOTONIC);
    if (call(in, nin, out, nout) < 0) return 7;
    double called = now(CLOCK_MONOTONIC), best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        double before = now(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < CALLS; i++) call(in, nin, out, nout);
        double took = (now(CLOCK_THREAD_CPUTIME_ID) - before) / CALLS;
        if (took < best) best = took;
    }
    printf("%.0f %.0f %.1f\n", loaded - begun, called - first, best);
    return 0;
}
