/* NumPy's C API for the files of this folder, and what they share: the table of dtypes. */
#ifndef PYCOMPILE_NUMPY_API_H
#define PYCOMPILE_NUMPY_API_H

#include "arrays.h"

#define PY_ARRAY_UNIQUE_SYMBOL pycompile_ARRAY_API
#define PY_UFUNC_UNIQUE_SYMBOL pycompile_UFUNC_API
#ifndef NUMPY_API_OWNER
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>
#pragma GCC diagnostic pop

/* Flag of the arrays that broadcast_arrays returns: a write warns.  It is private in NumPy 2.0
   ndarraytypes.h (1 << 31). */
#define WARN_ON_WRITE (1u << 31)

/* NumPy's own descriptor of each DType; immortal references made by arrays_init.  That of bfloat16
   is NULL until numpy_bfloat16 has found it; that returns NULL, without an
   error, while the program has not imported it. */
extern PyArray_Descr *numpy_descr[DT_COUNT];
PyArray_Descr *numpy_bfloat16(void);

/* The DType of a descriptor of native byte order, without metadata and of a supported type number;
   else -1 with *why. */
int numpy_dtype_from_descr(PyArray_Descr *descr, const char **why);

static inline size_t
numpy_itemsize(DType dtype)
{
    return (size_t)PyDataType_ELSIZE(numpy_descr[dtype]);
}

int numpy_errors_init(void); /* errors.c */

/* select.c: those of `n` dense elements, of `item` bytes, whose byte of the mask is 1.  False: not
   so many, or the mask has other bytes */
bool select_dense(const char *from, const char *mask, npy_intp n, char *to, size_t item,
                  npy_intp count);

/* findings.c: a name has no blanks */
bool finding_known(const char *name, int64_t *value);
void finding_note(const char *name, int64_t value);
uint64_t finding_of_file(PyObject *ufunc);
int findings_key(Text *out); /* 0, or -1 with the error set */

/* elementary.c: the bytes of vectors in which kernels compute elementary functions, as in
   codegen/file.c, machine_vector_bytes; 0: in none. */
int elementary_bytes(void);

/* y = f(x) for `n` elements, a multiple of those in a vector of 32 or of 64 bytes, which the
   machine must have: elementary_loop gives one of these two.  NULL: none of this name. */
typedef void (*VectorLoop)(const void *x, void *y, int n);
VectorLoop short_loop(const char *function, DType dtype, int bytes);   /* short.c */
VectorLoop special_loop(const char *function, DType dtype, int bytes); /* special.c */
VectorLoop elementary_loop(const char *function, DType dtype, int bytes);
/* short.c: the first time, this is the loop of NumPy's that computes for odd arguments. */
void short_by_loop(const char *function, DType dtype, const UfuncLoop *loop);
/* Sets the pointers to tables and functions that a kernel's file has, as elementary_link does. */
typedef struct {
    const char *name;
    const void *there;
} Link;
typedef void *(*LinkPlace)(void *context, const char *name);
void short_link(LinkPlace place, void *context);   /* short.c */
void special_link(LinkPlace place, void *context); /* special.c */
/* libm_tables.c, on x86-64 alone */
extern const uint64_t libm_exp_table[256];
/* In the C library; NULL: not found. */
const double *libm_log_table(void);
const double *libm_sine_table(void);

int pool_init(void); /* pool.c */

/* Memory from the pool: `array_new` hands it to an array together with the handler. */
void *pool_take(size_t bytes); /* NULL: no memory; no error set */
void pool_give(void *data);
/* NumPy's data-memory handler for blocks of the pool: a borrowed, immortal capsule. */
PyObject *pool_handler(void);
/* False if the program has set a data-memory handler of its own, which must then be used. */
bool pool_is_welcome(void);

/* streams.c: functions of the module */
PyObject *py_stream_open(PyObject *self, PyObject *args);
PyObject *py_stream_state(PyObject *self, PyObject *array);
PyObject *py_stream_close(PyObject *self, PyObject *args);
PyObject *py_stream_restore(PyObject *self, PyObject *args);

#endif
