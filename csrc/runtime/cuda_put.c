/* x[i] = v for an array of integers i, at commit, by kernels of ours.

   Of several values for one place the last is stored, as NumPy does; which one CuPy stores depends
   on its launch.  Three launches: each place among the integers forgets what it had, then keeps the
   number of the last integer that names it, then takes the value of that one.  So nothing is done
   for the places that no integer names.

   An integer beyond the axis is taken modulo its length, as CuPy's.  Elements are moved as bytes,
   16 at a time where all rows allow that; a row that is the same for all integers has a step of 0.
 */
#include "cuda.h"
#include "runtime.h"

enum {
    THREADS = 256,
    AHEAD = 4, /* units of a row that a thread moves */
    WIDE = 16, /* bytes of the longest unit */
};

typedef struct {
    uint64_t array, index, value, winners;
    int64_t count, length, units, row, step; /* integers; the axis; units of a row; bytes between */
    int unit, item; /* rows and units of the values; of a unit; an integer */
    bool is_signed;
} Put;

static const char text[] =
    "struct alignas(16) Wide { unsigned at[4]; };\n"
    "typedef %s Unit;\n"
    "typedef %s Index;\n"
    "static __device__ __forceinline__ long long place(const char *index, long long k, long long "
    "n)\n"
    "{\n"
    "    long long i = (long long)((const Index *)index)[k];\n"
    "    if (i >= 0 && i < n) return i;\n"
    "    i %%= n;\n"
    "    return i < 0 ? i + n : i;\n"
    "}\n"
    "\n"
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "k0(char *index, char *winners, long long count, long long n)\n"
    "{\n"
    "    const long long k = (long long)blockIdx.x * 256 + (int)threadIdx.x;\n"
    "    if (k < count) ((int *)winners)[place(index, k, n)] = -1;\n"
    "}\n"
    "\n"
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "k1(char *index, char *winners, long long count, long long n)\n"
    "{\n"
    "    const long long k = (long long)blockIdx.x * 256 + (int)threadIdx.x;\n"
    "    if (k < count) atomicMax((int *)winners + place(index, k, n), (int)k);\n"
    "}\n"
    "\n"
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "k2(char *array, char *index, char *value, char *winners, long long count, long long n, long "
    "long units, "
    "long long row, long long step, long long chunks)\n"
    "{\n"
    "    long long k = (long long)blockIdx.x * 256 + (int)threadIdx.x, first = 0;\n"
    "    if (chunks > 0) {\n"
    "        k = (long long)blockIdx.x / chunks;\n"
    "        first = ((long long)blockIdx.x - k * chunks) * 1024 + (int)threadIdx.x;\n"
    "    } else if (units > 1) {\n"
    "        first = k %% units;\n"
    "        k /= units;\n"
    "    }\n"
    "    if (k >= count) return;\n"
    "    const long long to = place(index, k, n);\n"
    "    if (((const int *)winners)[to] != (int)k) return;\n"
    "    for (int i = 0; i < (chunks > 0 ? 4 : 1); i++, first += 256)\n"
    "        if (first < units)\n"
    "            ((Unit *)array)[to * units + first] = *(const Unit *)(value + k * row + first * "
    "step);\n"
    "}\n";

static const char *
unit_name(int bytes)
{
    switch (bytes) {
    case 1: return "unsigned char";
    case 2: return "unsigned short";
    case 4: return "unsigned int";
    case 8: return "unsigned long long";
    default: return "Wide";
    }
}

static const char *
index_name(const Put *p)
{
    switch (p->item) {
    case 1: return p->is_signed ? "signed char" : "unsigned char";
    case 2: return p->is_signed ? "short" : "unsigned short";
    case 4: return p->is_signed ? "int" : "unsigned int";
    default: return "long long";
    }
}

static int64_t
elements(const ArrayHeader *header)
{
    int64_t count = 1;
    for (int i = 0; i < header->rank; i++) count *= header->shape[i];
    return count;
}

/* Reads the three arrays; what capture has seen of them holds.  False: no kernel takes them. */
static bool
describe(PyObject *array, PyObject *key, PyObject *value, Put *p)
{
    ArrayHeader to, index, from;
    if (array_header(array, &to) != ANSWER_YES || array_header(key, &index) != ANSWER_YES ||
        array_header(value, &from) != ANSWER_YES || to.rank == 0 || to.dtype != from.dtype ||
        !(to.flags & index.flags & from.flags & ARRAY_C_CONTIGUOUS))
        return false;
    int64_t inner = elements(&to) / Py_MAX(to.shape[0], 1), bytes, given = elements(&from);
    int size = (int)dtype_size(to.dtype);
    *p = (Put){.array = (uint64_t)(uintptr_t)to.data,
               .index = (uint64_t)(uintptr_t)index.data,
               .value = (uint64_t)(uintptr_t)from.data,
               .count = elements(&index),
               .length = to.shape[0],
               .item = (int)dtype_size(index.dtype),
               .is_signed = dtype_is_signed(index.dtype)};
    bytes = inner * size;
    if (p->count == 0 || p->count > INT32_MAX || inner == 0 || given == 0) return false;
    if (given != 1 && given != inner && given != p->count * inner) return false;
    p->row = given == p->count * inner ? bytes : 0;
    p->unit =
        given != 1 && ((p->array | p->value | (uint64_t)bytes) & (WIDE - 1)) == 0 ? WIDE : size;
    p->units = bytes / p->unit;
    p->step = given == 1 && p->count * inner > 1 ? 0 : p->unit;
    return true;
}

enum { KERNELS = 3, MOST_NUMBERS = 64 };

/* Kept for ever: they may be under way. */
typedef struct {
    bool tried;
    void *kernel[KERNELS]; /* the last is NULL where there are none */
} Kernels;

static void
load(const Put *p, Kernels *out)
{
    static const char *const names[KERNELS] = {"k0", "k1", "k2"};
    char source[sizeof text + 64];
    const CodeOrigin origin = {"x[integers] = values", "cuda_put.c", 0, NULL};
    CodeTicket ticket;
    Code *code;
    snprintf(source, sizeof source, text, unit_name(p->unit), index_name(p));
    Answer answer =
        code_load(DEVICE_CUDA, source, false, NULL, &origin, CODE_COMPILED, &ticket, &code);
    /* A signal ends the wait for another process's compiler: that tells nothing. */
    out->tried = answer != ANSWER_NO || !signal_is_pending(PyThreadState_Get());
    if (answer == ANSWER_YES)
        for (int i = 0; i < KERNELS; i++)
            if ((out->kernel[i] = code_symbol(code, names[i])) == NULL) break;
    PyErr_Clear();
}

static int
exponent(int bytes)
{
    int two = 0;
    while (bytes > 1) bytes /= 2, two++;
    return two;
}

static Kernels *
kernels_for(const Put *p)
{
    static Kernels all[MOST_NUMBERS][5][4][2];
    int device;
    if (cuda_current(&device) != ANSWER_YES || device >= MOST_NUMBERS) return NULL;
    Kernels *found = &all[device][exponent(p->unit)][exponent(p->item)][p->is_signed];
    if (!found->tried) load(p, found);
    return found->kernel[KERNELS - 1] != NULL ? found : NULL;
}

static int
launch(const CudaDriver *driver, const Put *p, void *const *kernel, void *stream)
{
    Put put = *p;
    int64_t per_block = (int64_t)THREADS * AHEAD;
    int64_t chunks = put.units >= THREADS ? (put.units + per_block - 1) / per_block : 0;
    int64_t few = (put.count + THREADS - 1) / THREADS;
    int64_t all = chunks > 0 ? put.count * chunks : (put.count * put.units + THREADS - 1) / THREADS;
    void *places[] = {&put.index, &put.winners, &put.count, &put.length};
    void *moves[] = {&put.array,  &put.index, &put.value, &put.winners, &put.count,
                     &put.length, &put.units, &put.row,   &put.step,    &chunks};
    enum { TOO_MANY = 1 }; /* CUDA_ERROR_INVALID_VALUE */
    if (all > INT32_MAX) return TOO_MANY;
    for (int i = 0; i < 2; i++) {
        int failed =
            driver->launch(kernel[i], (unsigned)few, 1, 1, THREADS, 1, 1, 0, stream, places, NULL);
        if (failed) return failed;
    }
    return driver->launch(kernel[2], (unsigned)all, 1, 1, THREADS, 1, 1, 0, stream, moves, NULL);
}

bool
cuda_put(PyObject *array, PyObject *key, PyObject *value)
{
    const ArrayLibrary *library = array_library_on(DEVICE_CUDA);
    const char *why;
    char *winners;
    Put put;
    const CudaDriver *driver = cuda_driver(&why);
    if (driver == NULL || !describe(array, key, value, &put)) return false;
    const Kernels *kernels = kernels_for(&put);
    if (kernels == NULL) return false;
    PyObject *memory = library->memory((size_t)put.length * sizeof(int32_t), &winners);
    int failed = -1;
    if (memory != NULL) {
        put.winners = (uint64_t)(uintptr_t)winners;
        failed = launch(driver, &put, kernels->kernel, library->stream());
    }
    Py_XDECREF(memory);
    PyErr_Clear();
    return failed == 0;
}
