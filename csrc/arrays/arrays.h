/* What an array is, how to read its header, how to make one.  One file per library (numpy.c);
   no other folder includes a NumPy header. */
#ifndef PYCOMPILE_ARRAYS_H
#define PYCOMPILE_ARRAYS_H

#include "../base.h"
#include "../graph/graph.h"

int arrays_init(void); /* imports NumPy's C API; -1 with ImportError */

typedef enum {
    ARRAY_C_CONTIGUOUS = 1,
    ARRAY_F_CONTIGUOUS = 2,
    ARRAY_WRITEABLE = 4,
    ARRAY_ALIGNED = 8,
    ARRAY_OWNS = 16,
    ARRAY_ALIGNED_8 = 32, /* its memory begins at a multiple of 8 */
} ArrayFlags;

typedef struct {
    char *data;
    int rank;
    DType dtype;
    unsigned flags;
    const int64_t *shape, *stride; /* borrowed from the array, NULL at rank 0; strides in bytes */
    PyObject *base;                /* borrowed, may be NULL */
} ArrayHeader;

/* ANSWER_NO: not an exact array of this library, or a dtype, byte order or rank we do not take
   (`*why` then says which, static text).  Never sets an exception.  Cheap: fit for guards. */
Answer array_read(PyObject *object, ArrayHeader *out, const char **why);
/* What an array has to be: all that array_read would tell, in the form in which it is looked at. */
typedef struct {
    DType dtype;
    uint8_t rank, known_shape, known_stride; /* the latter two with a bit per axis */
    unsigned flags;                          /* ArrayFlags that must be set */
    unsigned own_flags, own_values;          /* those of the library's that tell, see array_like */
    uintptr_t misaligned;                    /* bits of the address that must be 0 */
    const int64_t *shape, *stride;
} ArrayLike;
/* Fills in the rest from dtype, rank and flags. */
void array_like(ArrayLike *like);
/* Is it an exact array that array_read takes and that is like that? */
bool array_is_like(PyObject *object, const ArrayLike *like);
/* The bytes that the elements lie in, [low, high); empty for an array without elements. */
void array_extent(const ArrayHeader *header, const char **low, const char **high);
bool array_is_exact(PyObject *object);
int array_axes(PyObject *array);       /* of an exact array, however many it has */
PyObject *array_base(PyObject *array); /* of an exact array; borrowed; None where it has none */
PyTypeObject *array_class(void);       /* numpy.ndarray */
/* `made` is called whenever an array object has been allocated, by anybody; for ever. */
void array_tell_made(void (*made)(void));
/* An array scalar (np.float64(1)): its dtype, and its bytes copied to `bytes` (16 at most). */
Answer array_scalar_read(PyObject *object, DType *dtype, void *bytes);
bool array_scalar_check(PyObject *object); /* any array scalar, supported dtype or not */
bool array_bool_check(PyObject *object);   /* np.True_, np.False_ */
/* One of the library's functions that classes of the program can take over (__array_function__). */
bool array_function_check(PyObject *object);

/* Of an array, array scalar, dtype or what names one: the kind of its dtype.  Never sets an error.
 */
typedef enum {
    KIND_NONE,   /* it is none of these */
    KIND_NUMBER, /* bool or number, native; with metadata also */
    KIND_OBJECT,
    KIND_STRING, /* str, bytes, StringDType */
    KIND_DATE,   /* datetime64, timedelta64 */
    KIND_STRUCTURED,
    KIND_LONG, /* longdouble, clongdouble */
    KIND_SWAPPED,
    KIND_OTHER, /* unstructured void, a dtype of a third party */
} ArrayKind;
ArrayKind array_kind(PyObject *object);

/* Fresh array that owns its data; large ones come from the bounded pool (pool.c).  Dense strides
   are taken as they are; others give the axis order only (NumPy makes it dense).  NULL with the
   error set. */
PyObject *array_new(DType dtype, int rank, const int64_t *shape, const int64_t *stride);
/* The library's view of `base`'s memory, with .base chained as the library chains it. */
PyObject *array_view(PyObject *base, DType dtype, int rank, const int64_t *shape,
                     const int64_t *stride, int64_t offset);
/* Makes a fresh view read-only. */
void array_freeze(PyObject *view);
char *array_data(PyObject *array);
/* A boxed scalar: array scalar (python false) or bool, int, float, complex (python true). */
PyObject *array_box(DType dtype, const void *bytes, bool python);
/* dst[...] = src for arrays of equal shape and dtype, overlap allowed (to a temporary if needed).
 */
int array_copy_strided(char *dst, const int64_t *dst_stride, const char *src,
                       const int64_t *src_stride, int rank, const int64_t *shape, DType dtype);

/* ---- elision.c: operators that write into a temporary operand ---- */

/* The bytes from which an operator called by the interpreter writes into an operand that nothing
   else holds; INT64_MAX: this NumPy never does.  Asked of NumPy itself, once; runs Python. */
int64_t array_elision_bytes(void);
typedef enum {
    ELIDES_NOTHING,
    ELIDES_LEFT,
    ELIDES_INEXACT, /* the left operand, of floats and complex numbers */
    ELIDES_EITHER,  /* the left operand, else the right one as though they stood the other way */
} OperatorElision;
typedef struct {
    const char *ufunc;
    OperatorElision elides;
    bool overflows;
} ArrayOperator;
extern const ArrayOperator array_operators[]; /* see operators.def */
/* No value is lost in the cast, whatever it is. */
bool dtype_can_cast_safely(DType from, DType to);
/* One reference, and so its holder's alone; it owns its memory and may be written. */
bool array_is_spare(PyObject *object);
/* Which operand of these, held by the interpreter's stack alone where nothing else has them,
   NumPy's operator, or one in place, would write into if the interpreter called it: 0, 1, or -1 for
   none.  Never sets an error. */
int array_elided_operand(int operator_, PyObject *left, PyObject *right);
/* NumPy would write into the exact array `array` if that were a temporary. */
bool array_operand_fits(int operator_, PyObject *array, PyObject *other);
/* The C function is one that calls operators (sum, functools.reduce, those of `operator`), and an
   argument, or what a list or tuple among them has, is an array that is large enough. */
bool array_call_elides(PyObject *callable, PyObject *const *args, Py_ssize_t nargs);

/* ---- NumPy as the oracle; these run Python and are for compile time only ---- */

/* A dtype of NumPy's own, whose text and comparison run no code of the program's. */
bool array_dtype_check(PyObject *object);
bool array_any_dtype_check(PyObject *object); /* third parties' and StringDType, too */
/* The library's dtype object for it, a new reference. */
PyObject *array_dtype_object(DType dtype);
/* ANSWER_NO for dtypes we do not take.  `object` is anything np.dtype accepts. */
Answer array_dtype_from_object(PyObject *object, DType *out);
/* A dtype object that is there once: no parameters, nothing of the program's in it. */
bool array_is_singleton_dtype(PyObject *object);

/* What ufunc(args…) would compute in and return.  An argument's form says whether it is weak
   (FORM_PYTHON).  `in` gets the dtypes the loop takes, `out` those it gives.  ANSWER_NO when NumPy
   would raise, or has no loop for these: capture then breaks and lets NumPy say so itself.  */
Answer ufunc_resolve(PyObject *ufunc, int nin, const Type *const *args, int nout, DType *in,
                     DType *out);

/* A ufunc's own strided inner loop (ufunc._resolve_dtypes_and_context, _get_strided_loop). */
typedef int (*StridedLoop)(void *context, char *const *data, const int64_t *dimensions,
                           const int64_t *strides, void *auxdata);
typedef struct {
    StridedLoop call;
    void *context, *auxdata;
    bool needs_api;      /* must hold the GIL: then the op is run as an extern */
    bool no_float_error; /* loop's flags need not be checked */
    bool foreign;        /* not the library's own: it may leave a Python error behind */
    PyObject *owner;     /* keeps it all alive: a new reference */
} UfuncLoop;
/* `dtypes` are nin + nout of them.  ANSWER_NO: no such loop, or it cannot be had this way. */
Answer ufunc_loop(PyObject *ufunc, int nin, int nout, const DType *dtypes, UfuncLoop *out);
bool ufunc_check(PyObject *object);
const char *ufunc_name(PyObject *ufunc);
bool ufunc_is_library(PyObject *ufunc); /* NumPy's own, found there under its name */

/* Which floating-point events the current np.errstate does anything about: FP_* bits. */
enum { FP_DIVIDE = 1, FP_OVERFLOW = 2, FP_UNDERFLOW = 4, FP_INVALID = 8 };
/* -1 with the error set.  Reads NumPy's context variable: tens of ns, so plans call it only after
   a flag was seen, and deopt if the event is one that is reported. */
int array_error_mask(void);
/* An errstate as a change of the caller's: in bits 4 to 7 the events (FP_*) whose mode is known, in
   bits 0 to 3 those of them that are not ignored.  0: the caller's own. */
typedef uint8_t ErrorState;
/* Of the events in `mask`, as the caller has it, those that this state does anything about. */
static inline unsigned
errors_mask(ErrorState errors, unsigned mask)
{
    return (mask & ~(unsigned)(errors >> 4)) | (errors & 15u);
}
/* Around a call of NumPy from a plan: for the running context, events that the program would be
   told about in any way raise FloatingPointError, which becomes a deopt.  `begin` gives a token, or
   NULL with the error set; `end` takes it over, keeps a set exception, and is 0 or -1. */
PyObject *array_errors_raise_begin(ErrorState errors);
int array_errors_raise_end(PyObject *token);
/* NumPy's own: the context variable that holds the errstate, and what makes a value for it. */
PyObject *array_errors_variable(void); /* borrowed */
PyObject *array_errors_maker(void);    /* borrowed */
/* What make(**keywords) changes of the state `base`; ANSWER_NO with the error that NumPy raises. */
Answer array_errors_change(ErrorState base, PyObject *keywords, ErrorState *out);
/* Hardware flags, for threads of ours: clear, and read as FP_* bits. */
void fp_flags_clear(void);
unsigned fp_flags_read(void);

/* ---- warnings.c ---- */
/* Around a call of a library function: warnings given in this thread are raised, or not given at
   all.  `begin` gives what `end` takes over, or NULL with the error set; `end` keeps a set
   exception. */
typedef enum { WARNINGS_RAISE, WARNINGS_IGNORE } ArrayWarnings;
PyObject *array_warnings_begin(ArrayWarnings mode);
void array_warnings_end(ArrayWarnings mode, PyObject *filters);
bool array_warnings_active(ArrayWarnings mode);

/* ---- ends.c ---- */
/* No code but NumPy's and Python's own runs when this reference is given up, be it the last.  Never
   sets an error. */
bool array_ends_quietly(PyObject *object);

/* ---- pool.c: memory of large outputs, behind NumPy's data-memory handler ---- */
enum { POOL_SMALLEST = 256 << 10 }; /* bytes of the smallest array that is from it */
/* Around a call of a library function: the arrays that NumPy makes meanwhile are from the pool.
   `begin` gives what `end` takes over; NULL, without an error, where the program has a data-memory
   handler of its own: then there is nothing to end.  `end` keeps a set exception. */
PyObject *pool_serve_begin(void);
void pool_serve_end(PyObject *handler);
void pool_set_limit(size_t bytes);
size_t pool_held(void);
void pool_clear(void);

/* ---- module_arrays.c: adds what Python sees of this folder; 0 or -1 ---- */
int arrays_module(PyObject *module);

#endif
