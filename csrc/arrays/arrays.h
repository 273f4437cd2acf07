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
    ARRAY_ALIGNED_8 = 32,  /* its memory begins at a multiple of 8 */
    ARRAY_ALIGNED_16 = 64, /* … of 16; of arrays on a device only */
} ArrayFlags;

typedef struct {
    char *data;
    int rank;
    DType dtype;
    unsigned flags;
    const int64_t *shape, *stride; /* borrowed from the array, NULL at rank 0; strides in bytes */
    PyObject *base;                /* borrowed, may be NULL */
    int device_number;             /* of several of its kind; not on the host */
} ArrayHeader;

/* ANSWER_NO: not an exact array of this library, or its dtype, byte order or rank is not supported
   (*why then says which, a literal).  Never sets an exception.  Cheap enough for guards. */
Answer array_read(PyObject *object, ArrayHeader *out, const char **why);
/* The properties that an array must have, in a form that array_is_like compares fast. */
typedef struct {
    DType dtype;
    uint8_t rank, known_shape, known_stride; /* the latter two with a bit per axis */
    uint8_t least_shape; /* of known_shape: axes of this length at least; and where there are such,
                            the strides are those of a new array in the order that flags has */
    unsigned flags;      /* ArrayFlags that must be set */
    unsigned own_flags, own_values; /* the library's flags to compare, and their values */
    uintptr_t misaligned;           /* bits of the address that must be 0 */
    const int64_t *shape, *stride;
    uint8_t library;   /* Library; NumPy's are compared by array_is_like */
    int device_number; /* on a device */
} ArrayLike;
/* Fills in the rest from dtype, rank and flags. */
void array_like(ArrayLike *like);
/* Is it an exact array that array_read supports, with these properties? */
bool array_is_like(PyObject *object, const ArrayLike *like);
/* The range of bytes in which the elements lie, [low, high); empty for an array without
   elements. */
void array_extent(const ArrayHeader *header, const char **low, const char **high);
/* Have the two no byte in common?  True without elements; false also where their strides and ranges
   do not tell. */
/* Not even the ranges of memory from the lowest to the highest address interleave. */
bool arrays_ranges_apart(const ArrayHeader *a, const ArrayHeader *b);
bool arrays_apart(const ArrayHeader *a, const ArrayHeader *b);
bool array_repeats(const ArrayHeader *array); /* as type_repeats */
/* How NumPy lays out an exact array, for what each call reads; numpy.c asserts it. */
typedef struct {
    PyObject_HEAD char *data;
    int rank;
    int64_t *shape, *stride;
} NumpyArray;
extern PyTypeObject *numpy_array_type; /* NULL until NumPy is imported */
static inline PyTypeObject *
array_class(void)
{
    return numpy_array_type;
}
static inline bool
array_is_exact(PyObject *object)
{
    return Py_IS_TYPE(object, numpy_array_type);
}
int array_axes(PyObject *array);       /* of an exact array, however many it has */
PyObject *array_base(PyObject *array); /* of an exact array; borrowed; None if it has none */
/* From now on `made` is called whenever anybody has allocated an array object. */
void array_tell_made(void (*made)(void));
/* An array scalar (np.float64(1)): its dtype, and its bytes copied to `bytes` (16 at most). */
Answer array_scalar_read(PyObject *object, DType *dtype, void *bytes);
bool array_scalar_check(PyObject *object); /* any array scalar, supported dtype or not */
bool array_bool_check(PyObject *object);   /* np.True_, np.False_ */
/* One of the library's functions that the program's classes can override (__array_function__). */
bool array_function_check(PyObject *object);
/* How long the Python code of such a function is, in code units; 0: it is written in C. */
int array_function_length(PyObject *function);

/* ---- library.c: the libraries whose arrays are compiled ---- */

typedef enum { LIBRARY_NUMPY, LIBRARY_CUPY, LIBRARY_COUNT } Library;
typedef struct {
    const char *name, *array; /* for messages: "CuPy", "a CuPy array" */
    const char *module;
    const char *ufunc; /* the name of the type of its ufuncs */
    Device device;     /* where its arrays are */
    bool (*is_exact)(PyObject *object);
    /* As array_read, array_is_like and array_new. */
    Answer (*read)(PyObject *object, ArrayHeader *out, const char **why);
    bool (*is_like)(PyObject *object, const ArrayLike *like);
    PyObject *(*new_array)(DType dtype, int rank, const int64_t *shape, const int64_t *stride);
    /* As array_view. */
    PyObject *(*view)(PyObject *base, DType dtype, int rank, const int64_t *shape,
                      const int64_t *stride, int64_t offset);
    char *(*data)(PyObject *array);
    /* On a device: memory, owned by the new object that is returned, and the stream on which the
       calling thread's work is ordered. */
    PyObject *(*memory)(size_t bytes, char **data);
    /* An array over the whole of such memory, whose reference it takes, also on failure. */
    PyObject *(*over)(PyObject *memory, DType dtype, int rank, const int64_t *shape,
                      const int64_t *stride);
    /* Names the dtype of an array of int64 `long long`, where that is another one. */
    void (*name_long_long)(PyObject *array);
    void *(*stream)(void);
    /* The number of the thread's current device; and makes another one current.  -1 with the error
       set. */
    int (*current)(void);
    int (*use)(int device);
    /* The thread's run on the device with this number begins and ends.  Meanwhile what is current
       to the thread (stream, allocator) is looked up once, and again after `changed`. */
    void (*begin)(int device);
    void (*changed)(void);
    void (*end)(void);
    /* As ufunc_resolve, of one of its own ufuncs with one result; NULL: as NumPy's. */
    Answer (*resolve)(PyObject *ufunc, int nin, const Type *const *args, DType *in, DType *out);
    /* How its products of matrices of a dtype are to be computed: 0 with float32 arithmetic, 1 with
       factors that may be rounded to TF32, -1 in another way.  NULL on the host. */
    int (*multiplies)(DType dtype);
} ArrayLibrary;
extern const ArrayLibrary array_libraries[];
/* Is it an array of the library that `like` names, with these properties? */
static inline bool
array_agrees(PyObject *object, const ArrayLike *like)
{
    return like->library == LIBRARY_NUMPY ? array_is_like(object, like)
                                          : array_libraries[like->library].is_like(object, like);
}
/* A ufunc of one of the libraries on devices. */
bool array_library_ufunc_check(PyObject *object);
/* The library of an exact array; NULL for any other object. */
const ArrayLibrary *array_library_of(PyObject *object);
const ArrayLibrary *array_library_on(Device device);
/* As array_read, of an array of any library. */
Answer array_header(PyObject *object, ArrayHeader *out);
/* The lengths alone, and how many; NULL: it is no array. */
const int64_t *array_lengths_elsewhere(PyObject *object, int *rank); /* no NumPy array */
static inline const int64_t *
array_lengths(PyObject *object, int *rank)
{
    if (!array_is_exact(object)) return array_lengths_elsewhere(object, rank);
    *rank = ((NumpyArray *)object)->rank;
    return ((NumpyArray *)object)->shape;
}
/* An exact array whose dtype, rank and alignment graphs take. */
bool array_is_input(PyObject *object);
/* The library's function of this name, which may have dots: a new reference; NULL, without an
   error, where it has none. */
PyObject *array_library_function(const ArrayLibrary *library, const char *name);

/* The kind of the dtype of an array or array scalar, or of a dtype or its name.  Never sets an
   error. */
typedef enum {
    KIND_NONE,   /* the object has no dtype */
    KIND_NUMBER, /* bool or number of native byte order, with or without metadata */
    KIND_OBJECT,
    KIND_STRING, /* str, bytes, StringDType */
    KIND_DATE,   /* datetime64, timedelta64 */
    KIND_STRUCTURED,
    KIND_LONG,      /* longdouble, clongdouble */
    KIND_LONG_LONG, /* longlong, ulonglong, where int64 and uint64 are C's long */
    KIND_SWAPPED,
    KIND_OTHER, /* unstructured void, a dtype of a third party */
} ArrayKind;
ArrayKind array_kind(PyObject *object);

/* Fresh array that owns its data; large ones take it from the bounded pool (pool.c).  Dense strides
   are used as they are; others only give the order of the axes in a dense array.  NULL with the
   error set. */
PyObject *array_new(DType dtype, int rank, const int64_t *shape, const int64_t *stride);
/* The library's view of `base`'s memory, with .base set as the library does. */
PyObject *array_view(PyObject *base, DType dtype, int rank, const int64_t *shape,
                     const int64_t *stride, int64_t offset);
/* Makes a fresh view read-only. */
void array_freeze(PyObject *view);
static inline char *
array_data(PyObject *array)
{
    return ((NumpyArray *)array)->data;
}
/* A boxed scalar: array scalar (python false) or bool, int, float, complex (python true). */
PyObject *array_box(DType dtype, const void *bytes, bool python);

/* ---- rows.c ---- */

/* What a kept loop appends to a list: a number, or a tuple of so many. */
enum { ROWS_NUMBERS = 8 };
typedef struct {
    bool tuple;
    bool tagged; /* before the numbers of an item is a word with its tag */
    bool keyed;  /* the items are those of a dict, each a key and its value */
    uint8_t numbers;
    struct {
        uint8_t dtype;
        bool python; /* a bool, int, float or complex; else a scalar of NumPy's */
        bool either; /* … or the one or the other, as the tag says */
    } number[ROWS_NUMBERS];
} RowsForm;
/* A tag: a bit for each number of the item that is NumPy's, and above these the number, from 1 on,
   of the item from before the loop that it is; 0: of none. */
enum { TAG_CLASSES = ROWS_NUMBERS };
/* The number of words of an item. */
int64_t array_rows_words(const RowsForm *form);
/* A callable that makes a list of what element_append leaves.  NULL with the error set. */
PyObject *array_rows_callable(const RowsForm *form);
/* What that callable makes its lists of; NULL: it is another one. */
const RowsForm *array_rows_form(PyObject *callable);
/* The list itself, of the array's two ints. */
PyObject *array_rows_list(const RowsForm *form, const int64_t *rows);

/* A list that a loop changes, as a plan has it: its items, and their words.  `items`: a tuple of
   what is in it; NULL with the error set, with TypeError where an item has not the form. */
PyObject *array_list_opened(const RowsForm *form, PyObject *items);
/* The form of a number or tuple of numbers, tagged; false: it is none of those. */
bool array_rows_form_of(PyObject *item, RowsForm *out);
/* Callables: what array_list_opened makes of a list; … of the arguments as items; the array of two
   ints of what that is; the list, or dict, that is in the end in such an array: of (opened,
   array). */
PyObject *array_list_open_callable(const RowsForm *form);
PyObject *array_list_gather_callable(const RowsForm *form);
PyObject *array_list_begin_callable(void);
PyObject *array_list_close_callable(const RowsForm *form);

/* ---- series.c: the numbers of a list, of bytes or of text ---- */

/* Is it a list that begins with a number, bytes or a str?  *out: that of its array. */
bool series_dtype(PyObject *object, DType *out);
/* Are the items of such a list, as far as is looked, of one class? */
bool series_is_even(PyObject *object, DType dtype);
/* How many numbers it has; -1: it is no series of this dtype. */
int64_t series_length(PyObject *object, DType dtype);
/* Room for so many, with anything in it. */
PyObject *series_array(DType dtype, int64_t length);
/* Reads them; false: they are not of one class, or not as many as the array has. */
bool series_fill(PyObject *object, PyObject *array);
/* Has it the numbers that are in the array? */
bool series_is(PyObject *object, PyObject *array);

/* ---- streams.c: draws of random numbers in kept loops ---- */

typedef enum {
#define DRAW(function, result) DRAW_##function,
#define METHOD(...)
#include "draws.def"
    DRAW_COUNT
} ArrayDraw;

typedef enum { DRAWS_NOT, DRAWS_GENERATOR, DRAWS_RANDOM_STATE, DRAWS_PYTHON } DrawClass;

enum { DRAW_NUMBERS = 2 }; /* the most that a draw takes */
const char *array_draw_name(ArrayDraw draw);
/* Of what it gives. */
DType array_draw_dtype(ArrayDraw draw);
/* Does it take ints, as well as give such?  Else floats. */
bool array_draw_takes_ints(ArrayDraw draw);

/* ---- copy.c ---- */

/* Calls `part` for ranges that together are [0, units), from several threads if that pays; a unit
   is of so many bytes. */
typedef void (*CopyPart)(const void *context, int64_t begin, int64_t end);
typedef void (*CopyShare)(CopyPart part, const void *context, int64_t units, int64_t unit_bytes);
/* dst[...] = src for arrays of equal shape and dtype, overlap allowed (to a temporary if needed).
   Much is divided by `share`. */
int array_copy_strided(char *dst, const int64_t *dst_stride, const char *src,
                       const int64_t *src_stride, int rank, const int64_t *shape, DType dtype,
                       CopyShare share);

/* ---- select.c ---- */

/* array[by], and array[by] = value where their memory is apart; a new reference, 0 or -1.  A large
   selection is divided by `share`. */
PyObject *array_select(PyObject *array, PyObject *by, CopyShare share);
int array_store(PyObject *array, PyObject *by, PyObject *value);

/* ---- elision.c: operators that write into a temporary operand ---- */

/* The size in bytes from which an operator called by the interpreter writes into an operand that
   nothing else holds; INT64_MAX: this NumPy never does.  Found once by trying NumPy; runs
   Python. */
int64_t array_elision_bytes(void);
typedef enum {
    ELIDES_NOTHING,
    ELIDES_LEFT,
    ELIDES_INEXACT, /* the left operand, of floats and complex numbers */
    ELIDES_EITHER,  /* the left operand, or else the right one, with the operands swapped */
} OperatorElision;
typedef struct {
    const char *ufunc;
    OperatorElision elides;
    bool overflows;
} ArrayOperator;
extern const ArrayOperator array_operators[]; /* see operators.def */
/* Does the cast keep every value? */
bool dtype_can_cast_safely(DType from, DType to);
/* An array with one reference, which owns its memory and may be written. */
bool array_is_spare(PyObject *object);
/* The operand that NumPy's operator (in place from IN_PLACE on) would write into if the interpreter
   called it: 0, 1, or -1 for none.  An operand with one reference counts as held by the
   interpreter's stack alone.  Never sets an error. */
int array_elided_operand(int operator_, PyObject *left, PyObject *right);
/* Would NumPy write into the exact array `array` if that were a temporary? */
bool array_operand_fits(int operator_, PyObject *array, PyObject *other);
/* Is the callable a C function that calls operators (sum, functools.reduce, those of `operator`),
   and is an argument, or an item of a list or tuple among them, an array large enough for
   elision? */
bool array_call_elides(PyObject *callable, PyObject *const *args, Py_ssize_t nargs);

/* ---- NumPy as the oracle; these run Python and are for compile time only ---- */

/* A dtype of NumPy's own: its text and comparisons run no code of the program's. */
bool array_dtype_check(PyObject *object);
bool array_any_dtype_check(PyObject *object); /* also StringDType and those of third parties */
/* The library's dtype object of this dtype, a new reference. */
PyObject *array_dtype_object(DType dtype);
/* ANSWER_NO for unsupported dtypes.  `object` is anything that np.dtype accepts. */
Answer array_dtype_from_object(PyObject *object, DType *out);
/* As array_dtype_from_object, of arrays on devices, which have bfloat16, too. */
Answer array_device_dtype(PyObject *object, DType *out);
/* A dtype object of which there is only one: it has no parameters and holds nothing of the
   program's. */
bool array_is_singleton_dtype(PyObject *object);

/* The dtypes in which ufunc(args…) would compute and that it would return.  An argument's form says
   whether it is weak (FORM_PYTHON).  `in` gets the loop's input dtypes, `out` its output dtypes.
   ANSWER_NO when NumPy would raise, or has no loop for these: capture then breaks, and NumPy
   reports it. */
Answer ufunc_resolve(PyObject *ufunc, int nin, const Type *const *args, int nout, DType *in,
                     DType *out);

/* A ufunc's own strided inner loop (ufunc._resolve_dtypes_and_context, _get_strided_loop). */
typedef int (*StridedLoop)(void *context, char *const *data, const int64_t *dimensions,
                           const int64_t *strides, void *auxdata);
typedef struct {
    StridedLoop call;
    void *context, *auxdata;
    bool needs_api;      /* must hold the GIL: then the op runs as an extern call */
    bool no_float_error; /* floating-point flags need not be checked */
    bool foreign;        /* not the library's own: it may set a Python error */
    bool shared;         /* foreign, but several threads may run it while foreign_is_silent */
    PyObject *owner;     /* keeps the rest alive; a new reference */
} UfuncLoop;
/* What multiplies two vectors in NumPy, with data, strides and one dimension as of a loop; it has
   no owner.  0 or -1. */
int array_dot_loop(DType dtype, UfuncLoop *out);
/* bare.c: what a function of NumPy does, on bare memory; the loop has no owner.  Data are operands,
   result, scratch; strides one for each operand, the result among them, and dimension.
   ANSWER_NO: not for this dtype. */
typedef enum {
    BARE_DOT,     /* of vectors of n; scratch for two */
    BARE_VECTORS, /* as `@` of vectors of n; no scratch */
    BARE_MATMUL,  /* rows, what is summed, columns; no scratch */
    BARE_ARGMAX,  /* of a vector of n; scratch for one.  It fails where that is empty */
    BARE_ARGMIN,
    BARE_SELECT, /* of dense n those with a true byte, of which there are as many as the second
                    dimension says; no scratch */
    BARE_TAKE,   /* of n rows those that ints name, as many as the second dimension says, one after
                    the other; no scratch.  It fails where there is no such row */
} Bare;
Answer bare_loop(Bare bare, DType dtype, UfuncLoop *out);
/* `dtypes` has nin + nout entries.  ANSWER_NO: there is no such loop, or it cannot be found this
   way. */
Answer ufunc_loop(PyObject *ufunc, int nin, int nout, const DType *dtypes, UfuncLoop *out);
bool ufunc_check(PyObject *object);
const char *ufunc_name(PyObject *ufunc);
PyObject *ufunc_made_of(PyObject *ufunc); /* as the function of frompyfunc; borrowed, or NULL */
int ufunc_arity(PyObject *ufunc);         /* numbers of inputs and of outputs, as one */
bool ufunc_is_library(PyObject *ufunc);   /* NumPy's own: found in NumPy under its name */

/* ---- foreign.c: ufuncs of other libraries ---- */
bool foreign_is_shared(PyObject *ufunc); /* a row of foreign.def */
/* Do the libraries of foreign.def report no errors in this thread now, but for want of memory? Asks
   them, which takes about a microsecond.  Never sets an error. */
bool foreign_is_silent(void);

/* ---- findings.c: what probes have shown, kept from one process to the next ---- */
enum { FINDING_NAME = 48, FINDINGS_TEXT = 2048 };
/* `key` is a text that tells of all that findings depend on but the processor; its first line tells
   whose they are, and stays the same when a library is replaced by another version.  Neither sets
   an error; `read` gives false where there is nothing, or nothing that can be trusted. */
typedef struct {
    bool (*read)(const char *key, char text[FINDINGS_TEXT]);
    void (*write)(const char *key, const char *text);
} FindingsKeeper;
void findings_kept_by(const FindingsKeeper *by);
/* Writes what was noted since the last time; never sets an error. */
void findings_keep(void);
/* For tests: as though the process began; where they are not kept, they are not read, either. */
void findings_forget(bool kept);

/* ---- elementary.c: vector functions that have the bits of NumPy's loops, or SciPy's ---- */

enum { ELEMENTARY_SYMBOL = 24 };
/* Is the code of the ufunc's loop known, of C's name for the function? True only where vectors have
   64 bytes, or 32 where its text is ours.  Tried when first asked, but not while SciPy would report
   errors; runs Python.  Never sets an error. */
bool elementary_is_known(const char *function, PyObject *ufunc, DType dtype);
/* Its symbol in NumPy's library, "" for a text of ours; NULL: not known, so far. */
const char *elementary_symbol(const char *function, DType dtype);
/* Sets the pointers of_numpySYMBOL and those of short_link and special_link that a kernel's file
   has; `place` finds one or gives NULL. */
void elementary_link(void *(*place)(void *context, const char *name), void *context);
/* For tests: forgets all that is known; how many probes were made so far. */
void elementary_forget(void);
int elementary_probes(void);
/* For tests: probes try the code of this function; "": the right one. */
void elementary_pretend(const char *function);

/* ---- gufunc.c: calls of gufuncs, divided among threads ---- */

/* A call of a gufunc whose loop treats each row by itself.  A unit is some rows. */
typedef struct Gufunc Gufunc;
/* Calls gufunc_part for ranges that together are [0, units), from several threads if that pays;
   `scratch` of so many bytes is the thread's own.  FP_* bits of the flags raised, or -1 where a
   part has failed. */
typedef int (*GufuncShare)(const Gufunc *call, int64_t units, int64_t unit_ps,
                           int64_t scratch_bytes);
void gufunc_part(const Gufunc *call, char *scratch, int64_t begin, int64_t end);
/* gufunc(*args, **kwargs), the same bits: divided by `share` where the arguments are as those of
   NumPy's own calls, and the results are given, else by the gufunc itself.  A new reference. */
PyObject *gufunc_call(PyObject *gufunc, PyObject *args, PyObject *kwargs, GufuncShare share);

/* The floating-point events that the current np.errstate does not ignore: FP_* bits. */
enum { FP_DIVIDE = 1, FP_OVERFLOW = 2, FP_UNDERFLOW = 4, FP_INVALID = 8 };
/* -1 with the error set.  Reads NumPy's context variable, which takes tens of ns, so plans call it
   only after a flag was raised; they deopt if the event is reported. */
int array_error_mask(void);
/* An errstate as a change to the caller's: bits 4 to 7 are the events (FP_*) whose mode is set,
   bits 0 to 3 those of them that are not ignored.  0: the caller's own. */
typedef uint8_t ErrorState;
/* Does the program itself ignore overflows? */
static inline bool
errors_ignore_overflow(ErrorState errors)
{
    return (errors >> 4 & FP_OVERFLOW) != 0 && (errors & FP_OVERFLOW) == 0;
}
/* The events that this state does not ignore; `mask`: those that the caller's does not. */
static inline unsigned
errors_mask(ErrorState errors, unsigned mask)
{
    return (mask & ~(unsigned)(errors >> 4)) | (errors & 15u);
}
/* Around a call of NumPy from a plan: in the running context, events that the program does not
   ignore raise FloatingPointError, which becomes a deopt.  `begin` returns a token, or NULL with
   the error set; `end` steals it, keeps a set exception, and returns 0 or -1. */
PyObject *array_errors_raise_begin(ErrorState errors);
int array_errors_raise_end(PyObject *token);
/* NumPy's context variable that holds the errstate, and the function that makes a value for it. */
PyObject *array_errors_variable(void); /* borrowed */
PyObject *array_errors_maker(void);    /* borrowed */
/* The state `base` changed as np.errstate(**keywords) would; ANSWER_NO with the error that NumPy
   raises. */
Answer array_errors_change(ErrorState base, PyObject *keywords, ErrorState *out);
/* The calling thread's hardware flags: cleared, and read as FP_* bits. */
void fp_flags_clear(void);
unsigned fp_flags_read(void);

/* ---- warnings.c ---- */
/* Around a call of a library function: warnings in this thread are raised as errors, or ignored.
   `begin` returns what `end` steals, or NULL with the error set; `end` keeps a set exception. */
typedef enum { WARNINGS_RAISE, WARNINGS_IGNORE } ArrayWarnings;
PyObject *array_warnings_begin(ArrayWarnings mode);
void array_warnings_end(ArrayWarnings mode, PyObject *filters);
bool array_warnings_active(ArrayWarnings mode);

/* ---- ends.c ---- */
/* Does the end of an object that loses up to `drops` references run no code of the program's: no
   __del__, no callback of a weak reference, of what dies with it neither?  An object whose end does
   counts even where others hold it; references of `kept` (a list, or NULL) do not.  Never sets an
   error, and releases and makes nothing. */
bool object_ends_quietly(PyObject *object, Py_ssize_t drops, PyObject *kept);
/* Does dropping this reference, even if it is the last, run no code but NumPy's and Python's own?
   Never sets an error. */
bool array_ends_quietly(PyObject *object);

/* ---- pool.c: memory of large outputs, behind NumPy's data-memory handler ---- */
enum { POOL_SMALLEST = 256 << 10 }; /* bytes of the smallest array that uses it */
/* Around a call of a library function: arrays that NumPy makes in between use the pool.  `begin`
   returns what `end` steals; NULL, without an error, if the program has a data-memory handler of
   its own: then there is nothing to end.  `end` keeps a set exception. */
PyObject *pool_serve_begin(void);
void pool_serve_end(PyObject *handler);
void pool_set_limit(size_t bytes);
size_t pool_held(void);
/* Gives all of it back where nothing was taken or given since *seen was set, which this call sets
   anew (UINT64_MAX: the first call).  True: nothing is kept, and the program has nothing of the
   pool's. */
bool pool_rests(uint64_t *seen);
void pool_clear(void);

/* ---- module_arrays.c: adds this folder's functions to the module; 0 or -1 ---- */
int arrays_module(PyObject *module);

#endif
