/* CUDA: the driver and NVRTC by dlopen, the code of device kernels, launches.  Where something is
   missing there is one line that says what; nothing of CUDA is needed to build or to import. */
#ifndef PYCOMPILE_RUNTIME_CUDA_H
#define PYCOMPILE_RUNTIME_CUDA_H

#include "cache.h"
#include "plan.h"

/* ---- cuda_library.c ---- */

typedef struct { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    void *function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
    void **arguments, **extra;
    void *kernel, *context; /* instead of a function */
} CudaNode;

typedef struct { /* CUgraphEdgeData */
    uint8_t from_port, to_port, type, reserved[5];
} CudaEdge;

typedef struct { /* of libcuda.so.1; results: 0 is success */
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*device_count)(int *count);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*device_name)(char *name, int size, int device);
    int (*context_current)(void **context);
    int (*context_set)(void *context);
    int (*context_device)(int *device);
    int (*context_retain)(void **context, int device);
    /* A library's kernels can be launched on each device; it is loaded there at the first launch.
     */
    int (*library_load)(void **library, const void *image, void *jit, void **jit_values,
                        unsigned njit, void *options, void **values, unsigned count);
    int (*library_kernel)(void **kernel, void *library, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                  void *stream, void **arguments, void **extra);
    int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
    int (*kernel_set)(int attribute, int value, void *kernel, int device);
    int (*map_encode)(void *map, int dtype, unsigned rank, uint64_t address, const uint64_t *size,
                      const uint64_t *stride, const unsigned *box, const unsigned *step,
                      int interleave, int swizzle, int promotion, int fill);
    bool has_graphs; /* the rest is there */
    int (*kernel_function)(void **function, void *kernel);
    int (*graph_create)(void **graph, unsigned flags);
    int (*graph_add)(void **node, void *graph, void *const *after, size_t nafter,
                     const CudaNode *kernel);
    int (*graph_instantiate)(void **exec, void *graph, unsigned long long flags);
    int (*graph_set)(void *exec, void *node, const CudaNode *kernel);
    int (*graph_launch)(void *exec, void *stream);
    int (*graph_destroy)(void *graph);
    int (*exec_destroy)(void *exec);
    int (*stream_capturing)(void *stream, int *status);
    int (*capture_mode)(int *mode); /* exchanges the thread's */
    /* Dependencies with what kind each is (12.3); NULL: there are none but plain ones. */
    int (*graph_depend)(void *graph, void *const *from, void *const *to, const CudaEdge *kinds,
                        size_t count);
    bool has_products; /* the rest is there, and graphs */
    int (*graph_add_child)(void **node, void *graph, void *const *after, size_t nafter,
                           void *child);
    int (*graph_set_child)(void *exec, void *node, void *child);
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **graph);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*memory_take)(uint64_t *memory, size_t bytes);
    int (*memory_give)(uint64_t memory);
    int (*memory_set)(uint64_t memory, unsigned word, size_t count, void *stream);
    int (*copy_to_device)(uint64_t to, const void *from, size_t bytes, void *stream);
    int (*copy_to_host)(void *to, uint64_t from, size_t bytes, void *stream);
    int (*error_name)(int error, const char **name);
} CudaDriver;

typedef struct { /* of libnvrtc */
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int nheaders,
                  const char *const *headers, const char *const *names);
    int (*compile)(void *program, int noptions, const char *const *options);
    int (*cubin_size)(void *program, size_t *size);
    int (*cubin)(void *program, char *out);
    int (*ptx_size)(void *program, size_t *size);
    int (*ptx)(void *program, char *out);
    int (*log_size)(void *program, size_t *size);
    int (*log)(void *program, char *out);
    int (*destroy)(void **program);
} Nvrtc;

typedef struct { /* of libcublasLt; results: 0 is success */
    size_t (*version)(void);
    int (*create)(void **handle);
    int (*desc_create)(void **desc, int compute, int scale);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
    int (*desc_destroy)(void *desc);
    int (*layout_create)(void **layout, int dtype, uint64_t rows, uint64_t columns, int64_t lead);
    int (*layout_set)(void *layout, int attribute, const void *value, size_t bytes);
    int (*layout_destroy)(void *layout);
    int (*preference_create)(void **preference);
    int (*preference_set)(void *preference, int attribute, const void *value, size_t bytes);
    int (*preference_destroy)(void *preference);
    int (*algorithms)(void *handle, void *desc, void *a, void *b, void *c, void *d,
                      void *preference, int room, void *found, int *count);
    int (*multiply)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                    const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                    void *d, void *d_layout, const void *algorithm, void *workspace, size_t bytes,
                    void *stream);
} CublasLt;

/* Loaded at first use; NULL where it is missing, with *why a line that says what (for ever). */
const CudaDriver *cuda_driver(const char **why);
const Nvrtc *cuda_nvrtc(const char **why);
const CublasLt *cuda_cublaslt(const char **why);
/* Warns, once, where the process was forked after the driver was opened: CUDA fails in it. */
void cuda_tell_fork(void);
/* "CUDA_ERROR_OUT_OF_MEMORY" */
const char *cuda_error(int error);

/* ---- cuda_compile.c ---- */

enum { CUDA_PARTS = 8 }; /* of an image, at most: each is compiled by a thread */

/* Compiles for `arch` ("sm_90") in up to `most` parts, without the GIL: a new bytes object, the
   image, or None with the compiler's messages in *log (a new str); NULL with the error set. */
PyObject *cuda_compile(const char *source, const char *arch, int most, PyObject **log);

/* Whether an assembler that forgets a minus (cuda_compile.c) may do so here. */
bool cuda_minus_may_go(const char *ptx);
/* The cubins of an image; returns how many, 0 where it is none. */
int cuda_image_parts(const char *image, size_t bytes, const char *cubin[CUDA_PARTS]);
Digest cuda_options(void); /* of the compiler and of the image */

/* ---- cuda_code.c: the target's row (target.h) up to loaded code ---- */

/* Of the calling thread's device, 90 for 9.0; 0: there is none. */
int cuda_capability(void);
void cuda_parts(KeyParts *parts, bool straight);
Answer cuda_identify(KeyParts *parts);
const char *cuda_describe(Graph *graph);
Answer cuda_compile_file(const char *source, bool straight, const char *folder,
                         char out[CACHE_PATH], double *seconds);
void cuda_is_missing(void);
const char *cuda_problem(void);
void *cuda_open(const char *path, const char **why);
void *cuda_symbol(void *handle, const char *name);
void cuda_close(void *handle);

/* ---- cuda_launch.c ---- */

/* Sets *device to the number of the calling thread's device, whose context is made current where
   the thread has none.  ANSWER_NO: there is none. */
Answer cuda_current(int *device);
/* Launches the kernels on the library's current stream.  ANSWER_NO: one failed (run->why). */
Answer cuda_launch(Run *run, Chain *chain);
/* run_copy for an output on the device. */
PyObject *cuda_copy(Run *run, const PlanBox *box);
/* The second dimension of a launch's grid. */
static inline unsigned
cuda_rows(const PlanKernel *kernel)
{
    return kernel->members > 0 ? (unsigned)kernel->members : 1;
}

/* ---- cuda_product.c: products by cuBLASLt ---- */

/* Graph.takes_product for the calling thread's device: an algorithm is chosen, and kept with the
   product for ever. */
bool cuda_takes_product(Product *product, int64_t *workspace);
/* What was chosen; NULL: nothing. */
struct CudaProduct *cuda_product(const Product *product);
/* Multiplies on the stream; `words`: addresses, by the places of lower.h.  Returns 0, or what
   cuBLASLt answers, after which it is not asked for this product any more. */
int cuda_multiply(struct CudaProduct *product, const uint64_t *words, void *stream);
/* As cuda_multiply, but the product becomes a new graph of its own. */
int cuda_product_graph(const CudaDriver *driver, struct CudaProduct *product, const uint64_t *words,
                       void **graph);

/* ---- cuda_put.c ---- */

/* array[key] = value, for arrays on a device, of which the key's are integers; by kernels.  False:
   nothing was done, or, after a fault of the device, it is not known what.  Sets no error. */
bool cuda_put(PyObject *array, PyObject *key, PyObject *value);

/* ---- cuda_graph.c ---- */

/* How a chain is launched: as a graph, or kernel by kernel; measured while that is not decided. */
typedef struct {
    bool graph, timed;
} CudaWay;
CudaWay cuda_way(const Chain *chain);
/* What a launch of the chain kernel by kernel took. */
void cuda_way_timed(const Chain *chain, int64_t ns);
/* Launches the chain, whose words are set, as a graph.  False: nothing was launched. */
bool cuda_graph_launch(const CudaDriver *driver, Chain *chain, void *stream, bool timed);
void cuda_forget(Chain *chain);

#endif
