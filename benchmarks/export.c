/* What a call of an exported function takes: `export LIBRARY FUNCTION` reads the call as the
   callers of tests/export do, and prints in nanoseconds what loading and the first call take, and
   of later calls the best, of the calling thread's processor time. */
#include "../pycompile/exported/dlpack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 8, ROUNDS = 400, CALLS = 250 };
typedef int Function(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);

static int64_t
read_number(void)
{
    int64_t number;
    if (fread(&number, sizeof number, 1, stdin) != 1) exit(2);
    return number;
}

static void
make_room(DLTensor *t)
{
    size_t bytes = t->dtype.bits / 8;
    for (int i = 0; i < t->ndim; i++) bytes *= (size_t)t->shape[i];
    t->data = aligned_alloc(64, (bytes / 64 + 1) * 64);
}

static void
read_tensor(DLTensor *t)
{
    int64_t code = read_number(), bits = read_number();
    *t = (DLTensor){.device = {1, 0}, .dtype = {(uint8_t)code, (uint8_t)bits, 1}};
    t->ndim = (int32_t)read_number();
    t->shape = calloc(MOST, sizeof *t->shape);
    size_t bytes = (size_t)bits / 8;
    for (int i = 0; i < t->ndim; i++) bytes *= (size_t)(t->shape[i] = read_number());
    make_room(t);
    if (fread(t->data, 1, bytes, stdin) != bytes) exit(2);
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
    for (int i = 0; i < nin; i++) read_tensor(&in[i]);
    for (int i = 0; i < nout; i++)
        out[i] = (DLTensor){.device = {1, 0}, .shape = calloc(MOST, sizeof *out[i].shape)};

    double begun = now(CLOCK_MONOTONIC);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 5;
    double loaded = now(CLOCK_MONOTONIC);
    Function *shapes = (Function *)symbol(library, argv[2], "_shapes");
    Function *call = (Function *)symbol(library, argv[2], "");
    if (shapes(in, nin, out, nout) < 0) return 6;
    for (int i = 0; i < nout; i++) make_room(&out[i]);
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
