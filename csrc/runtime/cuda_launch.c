/* Launches of CUDA kernels: on the library's current stream, without waiting for the device. */
#include "../clock.h"
#include "cuda.h"

Answer
cuda_current(int *device)
{
    const char *why;
    const CudaDriver *driver = cuda_driver(&why);
    void *context = NULL;
    if (driver == NULL || driver->context_current(&context) != 0) return ANSWER_NO;
    if (context == NULL &&
        (driver->context_retain(&context, 0) != 0 || driver->context_set(context) != 0))
        return ANSWER_NO; /* the runtime's default for a thread: the first device */
    return driver->context_device(device) == 0 ? ANSWER_YES : ANSWER_NO;
}

/* A block has 48 KiB of shared memory unless its kernel is allowed more, on each device.  A chain
   is of one. */
static int
allow_shared(const CudaDriver *driver, Chain *chain)
{
    enum { DYNAMIC_SHARED = 8, COMMON = 48 << 10, NO_DEVICE = 100 };
    /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CUDA_ERROR_NO_DEVICE */
    int device, failed = 0;
    if (chain->allowed) return 0;
    if (cuda_current(&device) != ANSWER_YES) return NO_DEVICE;
    for (int i = 0; i < chain->nlaunches && !failed; i++) {
        const PlanKernel *kernel = chain->launches[i].kernel;
        if (kernel->shared > COMMON)
            failed = driver->kernel_set(DYNAMIC_SHARED, (int)kernel->shared, kernel->function[0],
                                        device);
    }
    chain->allowed = !failed;
    return failed;
}

/* The tile's rows are up to 128 bytes, in chunks of 16 that change places from row to row. */
static int
encode_map(const CudaDriver *driver, const TensorMap *map, const MappedPlace *at, void *out)
{
    enum { FLOAT16 = 6, BFLOAT16 = 9, SWIZZLE_64 = 2, SWIZZLE_128 = 3, PROMOTE_256 = 3 };
    uint64_t size[MAP_RANK], stride[MAP_RANK];
    unsigned box[MAP_RANK], step[MAP_RANK];
    for (int i = 0; i < MAP_RANK; i++) {
        size[i] = (uint64_t)at->size[i];
        stride[i] = (uint64_t)at->stride[i];
        box[i] = (unsigned)map->box[i];
        step[i] = 1;
    }
    int swizzle = box[0] * dtype_size(map->dtype) < 128 ? SWIZZLE_64 : SWIZZLE_128;
    return driver->map_encode(out, map->dtype == DT_F16 ? FLOAT16 : BFLOAT16, MAP_RANK, at->address,
                              size, stride + 1, box, step, 0, swizzle, PROMOTE_256, 0);
}

/* Makes the maps of arrays that are elsewhere, or of other lengths, than at the last launch. */
static int
set_maps(const CudaDriver *driver, const Run *run, Chain *chain)
{
    for (int i = 0; i < chain->nlaunches; i++) {
        Launch *launch = &chain->launches[i];
        for (int m = 0; m < launch->kernel->nmaps; m++) {
            const TensorMap *map = &launch->kernel->maps[m];
            MappedPlace *last = &launch->mapped[m], now = {.address = launch->words[map->place]};
            for (int dim = 0; dim < MAP_RANK; dim++) {
                now.size[dim] = run_size(run, map->size[dim]);
                now.stride[dim] = run_size(run, map->stride[dim]);
            }
            if (memcmp(last, &now, sizeof now) == 0) continue;
            int failed = encode_map(driver, map, &now, launch->maps + m * MAP_BYTES);
            launch->changed = true;
            *last = failed ? (MappedPlace){0} : now;
            if (failed) return failed;
        }
    }
    return 0;
}

enum { WAS_TOLD = -1 }; /* a failure */

/* PYCOMPILE_CUDA_DEBUG=1: each kernel is waited for, so that a fault is known to be its own. */
static bool
is_debugged(void)
{
    static int state;
    if (state == 0) {
        const char *value = getenv("PYCOMPILE_CUDA_DEBUG");
        state = value != NULL && value[0] != '\0' && strcmp(value, "0") != 0 ? 1 : -1;
    }
    return state > 0;
}

/* Waits for the launch.  A fault ends all use of the device by this process, and CuPy's next call
   raises it. */
static int
wait_for(const CudaDriver *driver, const Launch *launch, void *stream)
{
    int capturing = 0, failed;
    const PlanStep *step = launch->step;
    if (!driver->has_products || driver->stream_capturing(stream, &capturing) != 0 || capturing)
        return 0;
    if ((failed = driver->stream_wait(stream)) == 0) return 0;
    int device = -1;
    cuda_current(&device);
    if (step != NULL && step->file != NULL)
        log_warn("the CUDA kernel k%d of lines %d to %d of %s failed on device %d: %s",
                 launch->kernel->number, step->line, step->last_line, step->file, device,
                 cuda_error(failed));
    else
        log_warn("the CUDA kernel k%d, which writes arrays, failed on device %d: %s",
                 launch->kernel->number, device, cuda_error(failed));
    return WAS_TOLD;
}

static int
launch_each(const CudaDriver *driver, const Chain *chain, void *stream)
{
    for (int i = 0; i < chain->nlaunches; i++) {
        const Launch *launch = &chain->launches[i];
        const PlanKernel *kernel = launch->kernel;
        if (kernel->product != NULL && cuda_multiply(kernel->product, launch->words, stream) != 0)
            return WAS_TOLD;
        for (int part = 0; part < 2 && kernel->function[part] != NULL; part++) {
            int failed = driver->launch(kernel->function[part], launch->blocks[part],
                                        cuda_rows(kernel), 1, kernel->threads, 1, 1, kernel->shared,
                                        stream, launch->arguments, NULL);
            if (failed) return failed;
        }
        if (is_debugged() && wait_for(driver, launch, stream) != 0) return WAS_TOLD;
    }
    return 0;
}

Answer
cuda_launch(Run *run, Chain *chain)
{
    const char *why;
    const CudaDriver *driver = cuda_driver(&why);
    void *stream = array_library_on(chain->device)->stream(); /* may run other code, thus first */
    if (PyErr_Occurred()) return ANSWER_ERROR;                /* the library has no device */
    chain_fill(run, chain);
    CudaWay way = is_debugged() ? (CudaWay){false, false} : cuda_way(chain);
    int64_t began = way.timed ? clock_ns() : 0;
    int failed = allow_shared(driver, chain);
    if (!failed) failed = set_maps(driver, run, chain);
    if (!failed && way.graph && cuda_graph_launch(driver, chain, stream, way.timed))
        return ANSWER_YES;
    if (!failed) failed = launch_each(driver, chain, stream);
    if (way.timed && !way.graph) cuda_way_timed(chain, clock_ns() - began);
    chain->launched = true;
    if (!failed) return ANSWER_YES;
    run->why = "a CUDA kernel or a product that failed";
    if (failed == WAS_TOLD) return ANSWER_NO;
    log_emit(LOG_PERF_HINTS, "a CUDA kernel could not be launched on device %d: %s",
             run->plan->device[run->current], cuda_error(failed));
    run->why = "a CUDA kernel that could not be launched";
    return ANSWER_NO;
}

static bool
is_dense(const Run *run, const Type *type)
{
    int64_t step = (int64_t)dtype_size((DType)type->dtype);
    for (int axis = type->rank; axis-- > 0;) {
        if (run_size(run, type->shape[axis]) != 1 && run_size(run, type->stride[axis]) != step)
            return false;
        step *= run_size(run, type->shape[axis]);
    }
    return true;
}

PyObject *
cuda_copy(Run *run, const PlanBox *box)
{
    const char *why;
    const CudaDriver *driver = cuda_driver(&why);
    const ArrayLibrary *library = array_library_on((Device)box->type.device);
    int64_t shape[MAX_RANK], stride[MAX_RANK];
    size_t bytes = dtype_size((DType)box->type.dtype);
    if (!is_dense(run, &box->type)) {
        PyErr_SetString(PyExc_NotImplementedError, "a copy of a view on a device");
        return NULL;
    }
    run_type(run, &box->type, shape, stride);
    for (int i = 0; i < box->type.rank; i++) bytes *= (size_t)shape[i];
    PyObject *array = library->new_array((DType)box->type.dtype, box->type.rank, shape, stride);
    if (array == NULL) return NULL;
    const char *from = run->data[box->place.buffer] + run_size(run, box->place.offset);
    int failed = driver->copy((uint64_t)(uintptr_t)library->data(array), (uint64_t)(uintptr_t)from,
                              bytes, library->stream());
    if (failed == 0 && box->type.long_long) library->name_long_long(array);
    if (failed == 0) return array;
    PyErr_Format(PyExc_RuntimeError, "%s", cuda_error(failed));
    Py_DECREF(array);
    return NULL;
}
