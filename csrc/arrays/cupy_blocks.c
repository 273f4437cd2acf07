/* Memory of small arrays on a device, kept when the arrays die.

   CuPy's allocator takes 550 ns for a block and again about as much when it gets it back; a step of
   an optimiser has some hundred results.  A *block* is CuPy's memory in an object of our own: when
   the last array over it has died, it goes to the *shelf* of its device, stream and size, and the
   next array of that kind takes it: 40 ns.  Mostly nothing but a MemoryPointer refers to it; then
   that stays with the block, which saves a fifth of what an array costs.  As with CuPy's own free
   blocks, the order of the stream makes it right that work on the dead array may still be under
   way.

   CuPy's limits and errors stay: blocks come from CuPy's pool, large ones go back at once, and all
   that are on shelves go back when they would pass a bound, before memory is said to be out, and at
   each full garbage collection, which CuPy itself asks for when memory is short.  Nothing is kept
   where the program could tell: another allocator than CuPy's pool, a pool with a limit, memory
   hooks, a stream that stands for several. */
#include "cupy.h"

#include <stddef.h>

enum {
    UNIT = 512,            /* of sizes, as in CuPy's pool */
    MOST_BLOCK = 1 << 20,  /* bytes: the kernels of larger arrays take longer than the allocator */
    MOST_HELD = 64 << 20,  /* bytes on all shelves */
    SHELVES = 256,         /* slots of a hash table, of which … */
    MOST_SHELVES = 128,    /* … so many are used */
    STREAM_PER_THREAD = 2, /* cudaStreamPerThread: another stream for each thread */
};

typedef struct Block { /* BaseMemory, and what is ours */
    PyObject_HEAD intptr_t data;
    size_t bytes;
    int device;
    void *stream;
    unsigned era;    /* in which it was made */
    PyObject *owner; /* CuPy's pointer to the memory */
    struct Block *next;
    /* On a shelf: the dead MemoryPointer that has the only reference to this block, or NULL, then
       there is no reference. */
    CupyPointer *pointer;
} Block;

typedef struct {
    void *stream;
    size_t bytes; /* 0: a free slot */
    int device;
    Block *first;
} Shelf;

static Shelf shelves[SHELVES];
static int nshelves;
static size_t held;

static PyTypeObject *block_type, *pool_type; /* block_type NULL: nothing is kept */
static PyTypeObject *pointer_type;           /* of CuPy's pointers; of ours to blocks: */
static PyTypeObject *kept_pointer_type;
static PyObject *no_arguments, *out_of_memory;
static PyObject *(*alloc)(PyObject *bytes, int skip_dispatch); /* a MemoryPointer */
static PyObject *(*get_allocator)(int skip_dispatch);
static int (*has_hooks)(int skip_dispatch); /* whether the thread has ever had one */
static PyObject *(*get_hooks)(int skip_dispatch);
static intptr_t (*current_stream)(void);
static int (*get_device)(int skip_dispatch); /* NULL: there is one */
static PyObject *(*set_device)(int device, int skip_dispatch);
static PyObject *accepted; /* the allocator from which the blocks of this era are, or NULL */
static unsigned era;
static bool any_allocator; /* for tests */

/* What is current to this thread during a run; looked up at the first use in it. */
static _Thread_local struct {
    bool runs, known, keeps;
    int device;
    void *stream;
} now;

/* ---- shelves ---- */

/* Frees a block that nobody refers to. */
static void
block_free(Block *b)
{
    PyObject *owner = b->owner;
    if (b->pointer != NULL) {
        PyObject_GC_Del(b->pointer);
        Py_DECREF(block_type);
    }
    PyObject_Free(b);
    Py_XDECREF(owner); /* CuPy's pool gets it back */
}

/* Gives all blocks on shelves back to CuPy. */
static void
give_back(void)
{
    Block *all = NULL;
    if (nshelves == 0) return;
    for (int i = 0; i < SHELVES; i++)
        for (Block *b = shelves[i].first, *next; b != NULL; b = next) {
            next = b->next;
            b->next = all;
            all = b;
        }
    memset(shelves, 0, sizeof shelves);
    nshelves = 0;
    held = 0;
    for (Block *next; all != NULL; all = next) {
        next = all->next;
        block_free(all);
    }
}

/* NULL: there is none, and none is made. */
static Shelf *
shelf_of(void *stream, size_t bytes, int device, bool make)
{
    uint64_t hash = ((uintptr_t)stream ^ bytes << 16 ^ (unsigned)device) * 0x9E3779B97F4A7C15u;
    for (unsigned at = (unsigned)(hash >> 32) % SHELVES;; at = (at + 1) % SHELVES) {
        Shelf *s = &shelves[at];
        if (s->bytes == bytes && s->stream == stream && s->device == device) return s;
        if (s->bytes != 0) continue;
        if (!make) return NULL;
        nshelves++;
        *s = (Shelf){.stream = stream, .bytes = bytes, .device = device};
        return s;
    }
}

static void
put_on_shelf(Block *b)
{
    if (held + b->bytes > MOST_HELD || nshelves >= MOST_SHELVES) give_back();
    Shelf *s = shelf_of(b->stream, b->bytes, b->device, true);
    b->next = s->first;
    s->first = b;
    held += b->bytes;
}

static bool
may_be_kept(const Block *b)
{
    return b->era == era && accepted != NULL;
}

static void
block_dealloc(PyObject *object)
{
    Block *b = (Block *)object;
    if (may_be_kept(b))
        put_on_shelf(b);
    else
        block_free(b);
    Py_DECREF(block_type);
}

static void
pointer_dealloc(PyObject *object)
{
    CupyPointer *pointer = (CupyPointer *)object;
    Block *b = (Block *)pointer->memory;
    if (Py_IS_TYPE(pointer->memory, block_type) && Py_REFCNT(b) == 1 && may_be_kept(b) &&
        pointer->data == b->data) {
        PyObject_GC_UnTrack(object);
        b->pointer = pointer;
        put_on_shelf(b);
    } else {
        pointer_type->tp_dealloc(object);
    }
    Py_DECREF(kept_pointer_type);
}

/* In gc.callbacks: (phase, info). */
static PyObject *
collected(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *generation =
        nargs == 2 && PyDict_Check(args[1]) ? PyDict_GetItemString(args[1], "generation") : NULL;
    if (generation != NULL && PyLong_Check(generation) && PyLong_AsLong(generation) == 2)
        give_back();
    Py_RETURN_NONE;
}

/* ---- may blocks be kept? ---- */

static bool
has_limit(PyObject *pool)
{
    PyObject *limit = PyObject_CallMethod(pool, "get_limit", NULL);
    bool none = limit != NULL && PyLong_Check(limit) && PyLong_AsLongLong(limit) == 0;
    Py_XDECREF(limit);
    PyErr_Clear();
    return !none;
}

static bool
is_pool(PyObject *allocator)
{
    if (any_allocator) return true;
    PyObject *pool = PyCFunction_Check(allocator) ? PyCFunction_GET_SELF(allocator) : NULL;
    return pool != NULL && Py_TYPE(pool) == pool_type &&
           strcmp(((PyCFunctionObject *)allocator)->m_ml->ml_name, "malloc") == 0 &&
           !has_limit(pool);
}

/* From now on blocks are of this allocator, if it is CuPy's pool without a limit. */
static bool
accept(PyObject *allocator)
{
    bool pool = is_pool(allocator);
    PyObject *before = accepted;
    era++; /* first: freeing lets other threads run, which shelve blocks of the old allocator */
    accepted = pool ? Py_NewRef(allocator) : NULL;
    give_back();
    Py_XDECREF(before);
    return pool;
}

static bool
is_hooked(void)
{
    PyObject *hooks = has_hooks(0) ? get_hooks(0) : NULL;
    bool hooked = hooks != NULL && (!PyDict_Check(hooks) || PyDict_GET_SIZE(hooks) > 0);
    Py_XDECREF(hooks);
    PyErr_Clear();
    return hooked;
}

static void
look_up(void)
{
    now.known = true;
    now.stream = (void *)current_stream();
    now.keeps = false;
    if (block_type == NULL || now.stream == (void *)STREAM_PER_THREAD || is_hooked()) return;
    PyObject *allocator = get_allocator(0);
    if (allocator == NULL)
        PyErr_Clear();
    else
        now.keeps = allocator == accepted || accept(allocator);
    Py_XDECREF(allocator);
}

void
cupy_begin(int device)
{
    now.runs = true;
    now.known = false;
    now.device = device;
}

void
cupy_changed(void)
{
    now.known = false;
}

void
cupy_end(void)
{
    now.runs = false;
}

int
cupy_current(void)
{
    return get_device != NULL ? get_device(0) : 0;
}

int
cupy_use(int device)
{
    PyObject *none = set_device != NULL ? set_device(device, 0) : NULL;
    if (set_device == NULL)
        PyErr_Format(PyExc_RuntimeError, "the CUDA device %d cannot be made current", device);
    Py_XDECREF(none);
    return none == NULL ? -1 : 0;
}

/* ---- for tests ---- */

enum { STREAM_OF_NEXT = 1 << 16 };

static intptr_t stream_of_test;
static int (*current_of_test)(void);
static int (*use_of_test)(int device);

static intptr_t
test_stream(void)
{
    return stream_of_test + (intptr_t)cupy_current() * STREAM_OF_NEXT;
}

static int
test_get_device(int Py_UNUSED(skip_dispatch))
{
    return current_of_test();
}

static PyObject *
test_set_device(int device, int Py_UNUSED(skip_dispatch))
{
    if (use_of_test(device) == 0) return Py_NewRef(Py_None);
    PyErr_Format(PyExc_RuntimeError, "there is no device %d", device);
    return NULL;
}

void
cupy_without_device(void *stream, int (*current)(void), int (*use)(int device))
{
    stream_of_test = (intptr_t)stream;
    any_allocator = true;
    current_stream = test_stream;
    current_of_test = current;
    use_of_test = use;
    get_device = current != NULL ? test_get_device : NULL;
    set_device = use != NULL ? test_set_device : NULL;
}

void *
cupy_stream(void)
{
    if (!now.runs) return (void *)current_stream();
    if (!now.known) look_up();
    return now.stream;
}

/* ---- taking ---- */

/* Where memory is out, what is kept here may be what is missing. */
static PyObject *
take_from_cupy(size_t bytes)
{
    PyObject *size = PyLong_FromSize_t(bytes);
    PyObject *pointer = size == NULL ? NULL : alloc(size, 0);
    if (pointer == NULL && size != NULL && held > 0 && out_of_memory != NULL &&
        PyErr_ExceptionMatches(out_of_memory)) {
        PyErr_Clear();
        give_back();
        pointer = alloc(size, 0);
    }
    Py_XDECREF(size);
    return pointer;
}

static PyObject *
pointer_to(Block *b)
{
    CupyPointer *pointer =
        (CupyPointer *)pointer_type->tp_new(kept_pointer_type, no_arguments, NULL);
    if (pointer == NULL) {
        Py_DECREF(b);
        return NULL;
    }
    pointer->data = b->data;
    pointer->device = b->device;
    Py_XSETREF(pointer->memory, (PyObject *)b);
    PyObject_GC_UnTrack(pointer); /* a block refers to nothing that could refer to its pointer */
    return (PyObject *)pointer;
}

/* From a shelf. */
static PyObject *
revive(Block *b)
{
    CupyPointer *pointer = b->pointer;
    if (pointer == NULL) return pointer_to((Block *)PyObject_Init((PyObject *)b, block_type));
    b->pointer = NULL;
    PyObject_Init((PyObject *)pointer, kept_pointer_type);
    return (PyObject *)pointer;
}

PyObject *
cupy_blocks_take(size_t bytes)
{
    if (now.runs && !now.known) look_up();
    if (!now.runs || !now.keeps || bytes == 0 || bytes > MOST_BLOCK) return take_from_cupy(bytes);
    size_t rounded = (bytes + UNIT - 1) / UNIT * UNIT;
    Shelf *s = shelf_of(now.stream, rounded, now.device, false);
    Block *b = s != NULL ? s->first : NULL;
    if (b != NULL) {
        s->first = b->next;
        held -= rounded;
        return revive(b);
    }
    unsigned begun = era;
    PyObject *owner = take_from_cupy(rounded);
    if (owner == NULL || accepted == NULL) return owner;
    if (!is_pool(accepted)) { /* it has got a limit */
        accept(accepted);
        return owner;
    }
    if ((b = PyObject_New(Block, block_type)) == NULL) {
        Py_DECREF(owner);
        return NULL;
    }
    b->data = ((CupyPointer *)owner)->data;
    b->device = ((CupyPointer *)owner)->device;
    b->bytes = rounded;
    b->stream = now.stream;
    b->era = begun;
    b->owner = owner;
    b->pointer = NULL;
    return pointer_to(b);
}

/* ---- at the first array ---- */

static PyMethodDef collected_method = {"pycompile_give_back",
                                       (PyCFunction)(void (*)(void))collected, METH_FASTCALL, NULL};

static bool
watch_collections(void)
{
    PyObject *gc = PyImport_ImportModule("gc"), *callbacks = NULL, *callback = NULL;
    bool done = gc != NULL && (callbacks = PyObject_GetAttrString(gc, "callbacks")) != NULL &&
                PyList_Check(callbacks) &&
                (callback = PyCFunction_New(&collected_method, NULL)) != NULL &&
                PyList_Append(callbacks, callback) == 0;
    Py_XDECREF(callback);
    Py_XDECREF(callbacks);
    Py_XDECREF(gc);
    PyErr_Clear();
    return done;
}

/* A subclass that differs in how its objects end; NULL without an error. */
static PyTypeObject *
subclass(PyType_Spec *spec, PyTypeObject *base)
{
    PyObject *bases = PyTuple_Pack(1, base);
    PyObject *made = bases != NULL ? PyType_FromSpecWithBases(spec, bases) : NULL;
    Py_XDECREF(bases);
    PyErr_Clear();
    return (PyTypeObject *)made;
}

static void
block_type_make(void)
{
    static PyType_Slot pointer_slots[] = {{Py_tp_dealloc, pointer_dealloc}, {0, NULL}};
    static PyType_Spec pointer_spec = {"pycompile.Pointer", sizeof(CupyPointer), 0,
                                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                       pointer_slots};
    static PyType_Slot slots[] = {{Py_tp_dealloc, block_dealloc}, {0, NULL}};
    static PyType_Spec spec = {"pycompile.Block", sizeof(Block), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    PyTypeObject *base = cupy_type_named("cupy.cuda.memory", "BaseMemory");
    pool_type = cupy_type_named("cupy.cuda.memory", "MemoryPool");
    get_allocator = (PyObject * (*)(int))
        cupy_offered("cupy.cuda.memory", "get_allocator", "PyObject *(int __pyx_skip_dispatch)");
    has_hooks = (int (*)(int))cupy_offered("cupy.cuda.memory_hook", "_has_memory_hooks",
                                           "int (int __pyx_skip_dispatch)");
    get_hooks = (PyObject * (*)(int)) cupy_offered("cupy.cuda.memory_hook", "get_memory_hooks",
                                                   "PyObject *(int __pyx_skip_dispatch)");
    if (base == NULL || pool_type == NULL || get_allocator == NULL || has_hooks == NULL ||
        get_hooks == NULL || PyType_IS_GC(base) || !PyType_IS_GC(pointer_type) ||
        base->tp_basicsize != offsetof(Block, stream) || !watch_collections())
        return;
    kept_pointer_type = subclass(&pointer_spec, pointer_type);
    if (kept_pointer_type != NULL) block_type = subclass(&spec, base);
}

bool
cupy_blocks_find(PyTypeObject *pointer)
{
    pointer_type = pointer;
    alloc = (PyObject * (*)(PyObject *, int))
        cupy_offered("cupy.cuda.memory", "alloc",
                     "struct __pyx_obj_4cupy_4cuda_6memory_MemoryPointer *(PyObject *, int "
                     "__pyx_skip_dispatch)");
    current_stream = (intptr_t (*)(void))cupy_offered("cupy.cuda.stream", "get_current_stream_ptr",
                                                      "intptr_t (void)");
    int (*count)(int) = (int (*)(int))cupy_offered(
        "cupy_backends.cuda.api.runtime", "getDeviceCount", "int (int __pyx_skip_dispatch)");
    get_device = (int (*)(int))cupy_offered("cupy_backends.cuda.api.runtime", "getDevice",
                                            "int (int __pyx_skip_dispatch)");
    set_device = (PyObject * (*)(int, int)) cupy_offered(
        "cupy_backends.cuda.api.runtime", "setDevice", "PyObject *(int, int __pyx_skip_dispatch)");
    if (count != NULL && count(0) <= 1) get_device = NULL;
    PyErr_Clear();
    no_arguments = PyTuple_New(0);
    out_of_memory = (PyObject *)cupy_type_named("cupy.cuda.memory", "OutOfMemoryError");
    if (alloc == NULL || current_stream == NULL || no_arguments == NULL) return false;
    block_type_make();
    return true;
}
