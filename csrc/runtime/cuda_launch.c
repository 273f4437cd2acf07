/* Launches of CUDA kernels: on the library's current stream, without waiting for the device. */
#include "cuda.h"

#include <alloca.h>

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

/* A pointer, or the bytes of a number of the host. */
static uint64_t
place_word(const Run *run, const PlanPlace *place)
{
    const PlanBuffer *buffer = &run->plan->buffers[place->buffer];
    const char *at = run->data[place->buffer] + run_size(run, place->offset);
    uint64_t word = 0;
    if (buffer->type.device != DEVICE_HOST) return (uint64_t)(uintptr_t)at;
    memcpy(&word, at, dtype_size((DType)buffer->type.dtype));
    return word;
}

/* The kernel's arguments, 8 bytes each: places, then integers. */
static void
fill_arguments(const Run *run, const PlanKernel *kernel, uint64_t *words)
{
    for (int i = 0; i < kernel->nplaces; i++) words[i] = place_word(run, &kernel->places[i]);
    for (int i = 0; i < kernel->nsizes; i++)
        words[kernel->nplaces + i] = (uint64_t)run->size[kernel->sizes[i]];
}

/* The same of kernels that are launched together. */
static void
fill_table(const Run *run, const PlanKernel *kernel, uint64_t *words)
{
    const LaunchTable *table = &kernel->table;
    int places = kernel->nplaces / kernel->members, sizes = kernel->nsizes / kernel->members;
    for (int m = 0; m < kernel->members; m++, words += table->own) {
        for (int i = 0; i < places; i++)
            if (m == 0 || !table_shares(table, i))
                words[table->at[i]] = place_word(run, &kernel->places[m * places + i]);
        for (int i = 0; i < sizes; i++)
            if (m == 0 || !table_shares(table, places + i))
                words[table->at[places + i]] = (uint64_t)run->size[kernel->sizes[m * sizes + i]];
    }
}

Answer
cuda_launch(Run *run, const PlanKernel *kernel, unsigned *Py_UNUSED(flags))
{
    const char *why;
    const CudaDriver *driver = cuda_driver(&why);
    int count = kernel->nplaces + kernel->nsizes, failed = 0;
    uint64_t *words = alloca(sizeof(uint64_t) * (size_t)(count + 1));
    void **arguments = alloca(sizeof(void *) * (size_t)(count + 1));
    if (kernel->members > 0)
        fill_table(run, kernel, words);
    else
        fill_arguments(run, kernel, words);
    for (int i = 0; i < count; i++) arguments[i] = &words[i]; /* a table is the first one */
    void *stream = array_library_on(kernel->device)->stream();
    if (PyErr_Occurred()) return ANSWER_ERROR; /* the library has no device */
    for (int i = 0; i < 2 && kernel->function[i] != NULL && !failed; i++)
        failed = driver->launch(kernel->function[i], kernel->blocks[i],
                                kernel->members > 0 ? (unsigned)kernel->members : 1, 1,
                                kernel->threads, 1, 1, 0, stream, arguments, NULL);
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
