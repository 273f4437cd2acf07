/* Launches of CUDA kernels: on the library's current stream, without waiting for the device. */
#include "clock.h"
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

static int
launch_each(const CudaDriver *driver, const Chain *chain, void *stream)
{
    for (int i = 0; i < chain->nlaunches; i++) {
        const Launch *launch = &chain->launches[i];
        const PlanKernel *kernel = launch->kernel;
        for (int part = 0; part < 2 && kernel->function[part] != NULL; part++) {
            int failed =
                driver->launch(kernel->function[part], kernel->blocks[part], cuda_rows(kernel), 1,
                               kernel->threads, 1, 1, 0, stream, launch->arguments, NULL);
            if (failed) return failed;
        }
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
    CudaWay way = cuda_way(chain);
    int64_t began = way.timed ? clock_ns() : 0;
    if (way.graph && cuda_graph_launch(driver, chain, stream, way.timed)) return ANSWER_YES;
    int failed = launch_each(driver, chain, stream);
    if (way.timed && !way.graph) cuda_way_timed(chain, clock_ns() - began);
    chain->launched = true;
    if (!failed) return ANSWER_YES;
    log_emit(LOG_PERF_HINTS, "a CUDA kernel could not be launched: %s", cuda_error(failed));
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
    if (failed == 0) return array;
    PyErr_Format(PyExc_RuntimeError, "%s", cuda_error(failed));
    Py_DECREF(array);
    return NULL;
}
