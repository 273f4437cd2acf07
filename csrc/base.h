/* What every folder may use: the arena, growable vectors, text, and the one set of return codes.

   Errors have one idiom everywhere: `int` functions return 0, or -1 with the Python error set;
   pointer functions return NULL likewise.  "Not supported" is an answer, not an error (see
   `Answer`). */
#ifndef PYCOMPILE_BASE_H
#define PYCOMPILE_BASE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The result of a step that may decline:
   YES    it is done, and its results are set;
   NO     it does not apply, or does not hold: nothing was done, and no exception is set;
   ERROR  it failed, with the Python error set;
   BREAK  capture stops here, and has recorded why (interp_break); only steps of capture return it.
 */
typedef enum { ANSWER_ERROR = -1, ANSWER_NO = 0, ANSWER_YES = 1, ANSWER_BREAK = 2 } Answer;

/* What is written and has this many bytes is no longer in the caches when it is read. */
enum { BEYOND_CACHES = 24 << 20 };

/* ---- arena.c: one per compilation, freed at once; holds no counted references ---- */
typedef struct Arena Arena;

/* NULL with MemoryError set. */
Arena *arena_new(void);
void arena_free(Arena *arena);

/* Zeroed memory, aligned to 16 bytes, that lives as long as the arena; NULL with MemoryError set.
 */
void *arena_alloc(Arena *arena, size_t size);
/* Copies of a block or a string into the arena; NULL with MemoryError set. */
void *arena_copy(Arena *arena, const void *data, size_t size);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Makes room for one more element in an arena vector; used through VEC_PUSH. */
int arena_grow(Arena *arena, void **data, int *capacity, int length, size_t element);

/* A vector in an arena:  VEC(Guard) guards;  VEC_PUSH(arena, &c->guards, guard) is 0 or -1. */
#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        int len, cap;                                                                              \
    }
#define VEC_PUSH(arena, vec, ...)                                                                  \
    ((vec)->len < (vec)->cap || arena_grow((arena), (void **)&(vec)->at, &(vec)->cap, (vec)->len,  \
                                           sizeof(*(vec)->at)) == 0                                \
         ? ((vec)->at[(vec)->len++] = __VA_ARGS__, 0)                                              \
         : -1)

/* ---- memory outside the arena (plans, guards, code).  All allocations, arenas included, go
   through here so that a test can make the n-th one fail: `mem_fail_after(n)` arms it; n < 0
   disarms. ---- */
void *mem_alloc(size_t size); /* zeroed; NULL with MemoryError set */
void *mem_realloc(void *old, size_t size);
void mem_free(void *block);
long mem_fail_after(long n); /* returns the count that was left; 0: failures have happened */
/* Counts like an allocation and is true when the count has run out: for failures of other kinds,
   the compiler's, dlopen's and those of what threads allocate. */
bool mem_fault(void);

/* ---- text.c: a growing string, for printers and code generators ---- */
typedef struct {
    char *data; /* NUL-terminated; NULL while empty */
    size_t len, cap;
    bool failed; /* an allocation failed: text_finish reports it, so that callers need not check */
} Text;

/* `string` NULL, the data of a failed text, makes this one fail. */
void text_put(Text *text, const char *string);
/* The other text's contents; fails if that one has. */
void text_add(Text *text, const Text *other);
void text_printf(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of code: indented by four spaces each, and ended by `end`, newline included. */
void text_vline(Text *text, int indent, const char *end, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));
/* 0, or -1 with MemoryError set when any earlier call failed. */
int text_finish(Text *text);
/* A new str with the text's contents; NULL with the error set.  Does not free the text. */
PyObject *text_to_str(Text *text);
/* A str for a message, borrowed from it; "?" if it has no UTF-8 (a file name may have lone
   surrogates).  No error. */
const char *text_of_str(PyObject *string);
void text_free(Text *text);
/* Copies as much of the UTF-8 as fits in `size` bytes, in whole characters, and ends it. */
void text_copy_cut(char *to, size_t size, const char *from);
/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv */
uint64_t text_hash(const char *string);

/* ---- import.c: Python modules, whatever the running frame's builtins are; new references, NULL
   with the error set ---- */
PyObject *module_loaded(const char *module); /* new, or NULL without an error */
PyObject *module_import(const char *module);
PyObject *module_object(const char *module, const char *name); /* module.name */

/* ---- environment.c: values that no message may show ---- */
int environment_init(void); /* copies the variables as they are now; 0, or -1 with the error set */
bool environment_holds(const char *text); /* does it contain the value of a variable? */

/* Of numbers that are not negative; that of 0 and a number is the number. */
static inline int64_t
common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ---- vector_libm.c: elementary functions of vectors ---- */
enum { VECTOR_LIBM_NAME = 32 };
/* Has the library the function, of float and double and for vectors of 16, 32 and 64 bytes? */
bool vector_libm_has(const char *function, int arity);
/* Its name for vectors of so many bytes. */
void vector_libm_name(char out[VECTOR_LIBM_NAME], const char *function, int arity, int bytes,
                      int lanes);

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

#endif
