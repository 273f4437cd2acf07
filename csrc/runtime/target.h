/* What the runtime does for each target (graph/targets.def): from a program to code that is loaded,
   and a step's launch.  compile.c and code.c call through the table and name no target. */
#ifndef PYCOMPILE_RUNTIME_TARGET_H
#define PYCOMPILE_RUNTIME_TARGET_H

#include "cache.h"
#include "plan.h"

#include "../codegen/codegen.h"

typedef struct Target {
    /* Tells the graph what lowering asks of the current device; NULL: nothing.  Returns why its
       devices cannot be in one program (a literal), or NULL. */
    const char *(*describe)(Graph *graph);
    /* The source of the program's kernels on this target; *straight is a hint for `compile`, see
       codegen_c. */
    int (*emit)(const Graph *graph, const Program *program, bool comments, Text *out,
                bool *straight);

    /* Sets the key's parts for flags and machine, then that for the compiler.  ANSWER_NO: there is
       no compiler. */
    void (*parts)(KeyParts *parts, bool straight);
    Answer (*identify)(KeyParts *parts);
    /* Compiles to a file in `folder`, whose name is written to `out`.  Releases the GIL. ANSWER_NO:
       it failed (logged, and warned about once). */
    Answer (*compile)(const char *source, bool straight, const char *folder, char out[CACHE_PATH],
                      double *seconds);
    /* As `compile`, by a process that ends by itself, and its end: see toolchain.c.  It has the
       claim, too.  NULL: it is not done in the background. */
    bool (*start)(const char *source, bool straight, const char *folder, int claim);
    Answer (*ended)(const char *source, bool failed, const char *folder, char out[CACHE_PATH],
                    double seconds);
    /* Compilers that have filled the cache, for machines without one; NULL: these find nothing. */
    int (*recorded)(Digest *identities, int room);
    void (*record)(void);
    /* Warn, once, that code would have to be compiled and there is no compiler, or no folder. */
    void (*is_missing)(void);
    void (*has_no_folder)(void);
    const char *(*problem)(
        void); /* why there was no code at the last attempt: a literal, or for ever */

    /* A loaded file; NULL with `*why`. */
    void *(*open)(const char *path, const char **why);
    void *(*symbol)(void *handle, const char *name); /* NULL: none */
    void (*close)(void *handle);

    /* Of a device: launches the kernels of a chain, which are only under way then; ANSWER_NO: deopt
       (run->why).  Frees what it keeps for the next time.  NULL for the host, whose kernels plan.c
       calls. */
    Answer (*launch)(Run *run, Chain *chain);
    void (*forget)(Chain *chain);
} Target;

extern const Target targets[TARGET_COUNT];

bool program_uses(const Program *program, Device device);

#endif
