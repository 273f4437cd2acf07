/* Inside arrays/: the functions of the rows of library.c. */
#ifndef PYCOMPILE_ARRAYS_LIBRARY_H
#define PYCOMPILE_ARRAYS_LIBRARY_H

#include "arrays.h"

/* ---- numpy.c ---- */
/* Are an array's lengths and strides, as many as `like` has, as it wants them? */
bool array_lies_like(const int64_t *shape, const int64_t *stride, const ArrayLike *like);

/* ---- cupy.c ---- */
bool cupy_is_exact(PyObject *object);
Answer cupy_read(PyObject *object, ArrayHeader *out, const char **why);
bool cupy_is_like(PyObject *object, const ArrayLike *like);
PyObject *cupy_new(DType dtype, int rank, const int64_t *shape, const int64_t *stride);
PyObject *cupy_view(PyObject *base, DType dtype, int rank, const int64_t *shape,
                    const int64_t *stride, int64_t offset);
char *cupy_data(PyObject *array);
PyObject *cupy_memory(size_t bytes, char **data);
PyObject *cupy_over(PyObject *memory, DType dtype, int rank, const int64_t *shape,
                    const int64_t *stride);
void cupy_name_long_long(PyObject *array);

/* ---- cupy_oracle.c ---- */
Answer cupy_resolve(PyObject *ufunc, int nin, const Type *const *args, DType *in, DType *out);

int cupy_multiplies(DType dtype);

/* ---- cupy_blocks.c ---- */
void cupy_begin(int device);
void cupy_changed(void);
void cupy_end(void);
void *cupy_stream(void);
int cupy_current(void);
int cupy_use(int device);
/* For tests without a device, of which CuPy would ask for the stream: it is this one, and so many
   bytes behind it that of the next device.  What is current is asked of and told to these
   functions; NULL: there is one device.  Blocks are kept whatever the allocator is. */
void cupy_without_device(void *stream, int (*current)(void), int (*use)(int device));

#endif
