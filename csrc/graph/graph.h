/* The graph: nodes in SSA form, grouped in regions. It is pure up to the commit: no node writes
   memory that the program can see. An in-place write is a `scatter` node, which gives a new version
   of the storage; the plan copies the last version out at commit.

   Every array value is (storage, offset, shape, strides) on a device. A view op makes no data: its
   type says where in its storage the value lies. Nothing here knows which array library it is.

   What builders and readers of graphs agree on (graph_verify checks most of it):
   - The arguments of a pointwise op have one dtype, the loop's (`where`: the last two; the first is
     a bool). Where NumPy casts an argument, Python scalars included, there is an explicit `cast`
     node.
   - A node that is no view is its own storage. A view's type is relative to the storage's data
     pointer, not to its argument; a negative stride may reach below it.
   - The array arguments of a node are on the node's device; numbers may be on the host.
   - `scatter`, `element_store` and `element_append` give a new version of the whole storage:
     args[0] is no view, and the result has its type. That of `element_append` is two ints: the
     address of the items that a loop has appended to a list, in the plan's memory, and the number
     of their words (capture/control/loop_append.c).
   - `extern` and `ufunc` with one result have that result's type. With several they have dtype
     OBJECT and form OBJECT, and `result` nodes stand for the results. The last arguments of an
     extern are keywords when attrs.kwnames is set. An argument that is a Python object is a `const`
     of dtype OBJECT.
   - Nodes of a region may use what enclosing regions defined before its owner.
   - `branch`, `otherwise` and `join` stand for a cond whose arms were laid out in the top region
     (passes/arms.c): nested like brackets. `join` has two arguments for each result, the values of
     the two arms; an `empty` stands for no value.
   - attrs.index of `scatter` and `loop` says where they write (`Write`); that of `copy` whether the
     copy must be in memory (COPY_KEPT). Both are set by passes/writes.c. A copy that an arm leaves
     for a write at commit, and the program does not make, is COPY_LEFT:
     capture/control/merge_writes.c. attrs.index of a `where` may say that what it takes of args[2]
     is used by nobody (WHERE_GUARDS): capture/numpy/masked.c.
     That of a `choose` may say that its arrays are versions of one storage, and so is the choice
     (CHOICE_VERSION): capture/control/merge_writes.c; and that it is in the memory of args[2]
     (CHOICE_SAME): passes/arm_writes.c. That of a `commit` is WRITE_AT_COMMIT.
   - attrs.index of `repeat`, `enter` and `again` is how many of the last values that they carry are
     versions of memory that turns write; all other arrays are carried as objects.
   - `loop`: args are start, stop, step (Python ints), then the initial carried values; params are
     the induction variable, then the carried values; results are the carried values for the next
     iteration; `result` i of the node is the final carried value i. `cond`: args are the condition,
     then the params of both arms; region[0] runs when it is true; both arms have the same number of
     results, of equal types.
   - `attention`: region[0] has the element of the first product, the query's and the key's index as
     params, nodes of the scores' shape, and the score as its only result (passes/attention.c). That
     of an `attention_back` has a slope of the score as another param, and the slope of the element
     as another result; attrs.index is an AttentionPart. */
#ifndef PYCOMPILE_GRAPH_H
#define PYCOMPILE_GRAPH_H

#include "../base.h"

enum { MAX_RANK = 8 };

typedef int32_t NodeId;
typedef int32_t RegionId;
typedef int32_t SizeId;
enum { NO_NODE = -1, NO_REGION = -1, NO_SIZE = -1 };

/* ---- types ---- */

typedef enum {
    DT_BOOL,
    DT_I8,
    DT_I16,
    DT_I32,
    DT_I64,
    DT_U8,
    DT_U16,
    DT_U32,
    DT_U64,
    DT_F16,
    DT_F32,
    DT_F64,
    DT_C64,
    DT_C128,
    DT_BF16,   /* of arrays on devices only */
    DT_OBJECT, /* a Python object known while compiling: the argument of an extern call */
    DT_COUNT
} DType;

/* What a value is in Python when it leaves the graph. */
typedef enum {
    FORM_ARRAY,  /* an array of the library, rank 0 included */
    FORM_SCALAR, /* the library's scalar: np.float64(3.0) */
    FORM_PYTHON, /* bool, int, float, complex: dtype BOOL, I64, F64, C128 */
    FORM_OBJECT, /* any object, opaque to the graph */
} Form;

/* Where the memory of a value is.  Scalars and Python's numbers are on the host.  DEVICE_CUDA is
   the device that is current where the graph begins, those behind it are others. */
typedef enum {
#define TARGET(NAME, ...) DEVICE_##NAME,
#include "targets.def"
    TARGET_COUNT
} Device;

enum { MOST_DEVICES = 4, DEVICE_COUNT = DEVICE_CUDA + MOST_DEVICES };

/* The device as a row of targets.def. */
static inline Device
device_target(Device device)
{
    return device > DEVICE_CUDA ? DEVICE_CUDA : device;
}

/* The index of Graph.device. */
static inline int
device_index(Device device)
{
    return device - DEVICE_CUDA;
}

static inline Device
device_at(int index)
{
    return (Device)(DEVICE_CUDA + index);
}

typedef struct {
    uint8_t dtype;  /* DType */
    uint8_t form;   /* Form */
    uint8_t rank;   /* 0 for scalars */
    uint8_t device; /* Device */
    bool unaligned; /* an input on a device that may begin anywhere: other arrays there begin at a
                       multiple of 16 bytes */
    bool long_long; /* NumPy's `long long`, which differs from `long` by its name alone: what CuPy's
                       arg-reductions give */
    bool frozen;    /* a new array of a step that may not be written */
    SizeId shape[MAX_RANK];
    SizeId stride[MAX_RANK]; /* bytes; may be negative or 0 */
    SizeId offset;           /* bytes from the first byte of the storage; NO_SIZE means 0 */
} Type;

const char *device_name(Device device); /* of its target: "host", "cuda" */
/* A target; -1 when the name is unknown; sets no error. */
int device_from_name(const char *name);

size_t dtype_size(DType dtype);
const char *dtype_name(DType dtype);      /* "f32" */
const char *dtype_long_name(DType dtype); /* "float32", as the array libraries call it */
/* -1 when the name is unknown; sets no error. */
int dtype_from_name(const char *name);
bool dtype_is_float(DType dtype);
bool dtype_is_half(DType dtype); /* 16 bits, computed with as float32 */
/* Between a number and bfloat16, the upper half of a float; rounds to even. */
uint16_t bfloat_bits(double value);
double bfloat_value(uint16_t bits);
bool dtype_is_complex(DType dtype);
bool dtype_is_integer(DType dtype); /* bool excluded */
bool dtype_is_signed(DType dtype);

/* ---- sizes: hash-consed expressions, so equal sizes have equal ids ---- */

typedef enum {
    SIZE_CONST,  /* value */
    SIZE_DIM,    /* shape[axis] of input node `node`, not known while compiling; from `a` to
                    `b`, if these are given */
    SIZE_STRIDE, /* stride[axis] of input node `node` */
    SIZE_NUMBER, /* the int that `measure` node `node` has; from `a` to `b`, if these are given */
    SIZE_ADD,
    SIZE_MUL,
    SIZE_FLOOR_DIV, /* as Python's // and %; by 0 it is 0 */
    SIZE_MOD,
    SIZE_LEAST,
    SIZE_MOST,
    SIZE_SAME, /* 1 where they are equal, else 0 */
} SizeKind;

typedef struct {
    SizeKind kind;
    int64_t value; /* SIZE_CONST: the value; otherwise the value seen while capturing (the hint) */
    NodeId node;
    int32_t axis;
    SizeId a, b;
} Size;

/* ---- ops ---- */

typedef enum {
    KIND_INPUT,     /* a value of the frame; attrs.index numbers the inputs */
    KIND_CONST,     /* a scalar or array known while compiling */
    KIND_POINTWISE, /* one scalar expression per element, broadcasting its arguments */
    KIND_UFUNC,     /* pointwise by a block call into the ufunc in attrs.object */
    KIND_REDUCTION, /* attrs.ints = axes, ascending; attrs.keepdims */
    KIND_SCAN,      /* cumulative along axis attrs.index */
    KIND_VIEW,      /* no data: the type says where in its storage it lies */
    KIND_COPY,      /* a fresh array with the argument's elements */
    KIND_GATHER,    /* elements by an integer for each: made by passes/gathers.c, for a device */
    KIND_SCATTER,   /* args: old version, value; attrs.view says which part is written */
    KIND_CHOICE,    /* no data: the memory of one of two arrays; neither is written afterwards,
                       unless it is a version (CHOICE_VERSION) */
    KIND_FILL,      /* made without an array argument: full, empty, arange */
    KIND_ATTENTION, /* owns a region: made by passes/attention.c, for a device */
    KIND_PRODUCT,   /* of matrices, by a device's library: made by passes/products.c */
    KIND_MATMUL,
    KIND_EXTERN,  /* calls attrs.object with its arguments at run time */
    KIND_RESULT,  /* the attrs.index-th result of an extern or region node */
    KIND_PYTHON,  /* Python's own scalar arithmetic; deopt where Python would raise */
    KIND_ELEMENT, /* one element read or written inside a loop; deopt when out of bounds */
    KIND_REGION,  /* owns regions: loop, repeat, cond */
    KIND_JUMP, /* marks of a cond or repeat that was laid out: branch, otherwise, join; enter, stay,
                  again; and of an int that sizes have: measure */
} OpKind;

typedef enum {
#define OP(name, ...) OP_##name,
#include "ops.def"
    OP_COUNT
} Op;

typedef struct {
    const char *name;
    int8_t arity; /* -1: any */
    OpKind kind;
    const char *ufunc; /* the NumPy ufunc whose bits it has, or NULL */
    const char *c;     /* C expression with $0 $1 $2 for arguments, $T for the result's C type */
    const char *exact; /* dtypes for which `c` has NumPy's bits: letters, see ops.def */
    const char *cuda;  /* CUDA expression, likewise */
    const char *on;    /* dtypes that `cuda` is for */
    unsigned flags;    /* OPF_* */
} OpInfo;

enum {
    OPF_COMMUTES = 1, /* swapping the arguments keeps the bits */
    OPF_FALLIBLE = 2, /* may deopt */
    OPF_NO_FLAGS = 4, /* never raises a floating-point flag that NumPy would report */
    OPF_COMPARES = 8, /* result is bool whatever the arguments */
    OPF_DEVICE = 16,  /* on the host the ufunc is another node, `ufunc`, until passes/functions.c */
    OPF_LONG = 32,    /* its CUDA function has some hundreds of instructions in any dtype */
    OPF_SPECIAL =
        64, /* scipy.special's ufunc of the op's name, which reports errors to its library:
               on the host it is an operation only while the library tells nobody of them */
};

enum { OP_FUNCTION_NAME = 16 };
const OpInfo *op_info(Op op);
/* Is the C expression of an elementary function (OPF_DEVICE) a call?  `name` is the function's. */
bool op_function(Op op, char name[OP_FUNCTION_NAME]);
/* Does the op's C expression give NumPy's bits for this dtype? */
bool op_is_exact(Op op, DType dtype);
/* Has it an expression for this dtype on the device? */
bool op_is_on(Op op, DType dtype, Device device);
int op_from_name(const char *name); /* -1 when unknown */
/* Does it give the place of what it finds? */
static inline bool
op_finds(Op op)
{
    return op == OP_argmax || op == OP_argmin;
}
/* One that gives a new version of an array's storage, in a loop. */
static inline bool
op_writes_element(Op op)
{
    return op == OP_element_store || op == OP_element_append || op == OP_element_put ||
           op == OP_element_pop || op == OP_element_shift || op == OP_element_unshift ||
           op == OP_element_set || op == OP_element_draw;
}
/* One that looks for a key. */
static inline bool
op_is_of_dict(Op op)
{
    return op == OP_element_find || op == OP_element_entry || op == OP_element_set;
}
/* One that reads or changes what a loop has of a list, or a dict. */
static inline bool
op_is_of_list(Op op)
{
    return op == OP_element_append || op == OP_element_put || op == OP_element_pop ||
           op == OP_element_shift || op == OP_element_unshift || op == OP_element_item ||
           op == OP_element_length || op_is_of_dict(op);
}
/* A loop that gives the sum of what its iterations leave. */
static inline bool
op_folds(Op op)
{
    return op == OP_loop_sum;
}
/* The pointwise op of the ufunc with this name on the device, or -1. */
int op_from_ufunc(const char *ufunc_name, Device device);

/* ---- nodes ---- */

typedef struct {
    PyObject *object;  /* borrowed from Graph.keep: constant, ufunc, callable */
    PyObject *kwnames; /* borrowed from Graph.keep: tuple of str, or NULL (extern) */
    int64_t *ints;     /* axes, permutation, slice bounds */
    int nints;
    int64_t index;
    double number;
    bool keepdims;
    Type *view; /* KIND_SCATTER: offset, shape, strides of the part that is written */
} Attrs;

/* Where a scatter or a loop writes; decided by passes/writes.c. */
typedef enum {
    WRITE_UNDECIDED,  /* not decided yet: it gives a new version, and the old one stays */
    WRITE_AT_COMMIT,  /* the value goes into the input's memory, at commit */
    WRITE_IN_PLACE,   /* the memory of the old version becomes that of the new one */
    WRITE_IMPOSSIBLE, /* a loop over an array that would have to be copied and cannot be */
} Write;

/* Elements of a row of an attention's arguments q and v, and of its result: on every device.  The
   kernel for Hopper has heads of 32 and 128, too. */
enum { ATTENTION_HEAD = 64 };
/* What of an attention's gradient a node makes. */
typedef enum { ATTENTION_DQ, ATTENTION_DK, ATTENTION_DV } AttentionPart;

/* attrs.index of a `collective`, bits */
enum {
    COLLECTIVE_AWAITED = 1,  /* nothing is between it and its `arrive` that it could overlap with */
    COLLECTIVE_IN_PLACE = 2, /* nobody else uses the memory of its arrays, so it writes there */
    COLLECTIVE_BEHIND = 4,   /* of steps: in place, and directly behind another that has begun */
};

/* attrs.index of a `product`: what is done with an element before it is rounded and stored.  The
   last two exclude one another. */
enum {
    PRODUCT_BIAS = 1,     /* an element of a row is added, the same for each row … */
    PRODUCT_RESIDUAL = 2, /* … and one of a matrix … */
    PRODUCT_RELU = 4,     /* … then it is at least 0 */
    PRODUCT_GELU = 8,     /* … then x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))) */
};

enum { COPY_KEPT = 1, COPY_LEFT = 2 };
enum { WHERE_GUARDS = 1 };
enum { CHOICE_VERSION = 1, CHOICE_SAME = 2 };

typedef struct {
    Op op;
    int nargs;
    NodeId *args;
    Type type;
    NodeId storage; /* the node whose buffer holds this value: itself, or a view's origin */
    Attrs attrs;
    RegionId region[2]; /* KIND_REGION: loop body; cond's arms; of an attention its scores */
    uint8_t errors;     /* ErrorState under which it is computed */
    uint8_t current;    /* index of the device that is current then, in Graph.device */
    int32_t line;       /* the user's line, 0 when unknown */
    int32_t file;       /* index into Graph.files */
} Node;

typedef struct {
    VEC(NodeId) params;  /* loop: induction variable first, then the carried values */
    VEC(NodeId) nodes;   /* in program order */
    VEC(NodeId) results; /* loop: carried values for the next iteration */
    NodeId owner;        /* NO_NODE for the top region */
} Region;

/* The first place of an `enter`, `again` or `repeat` that carries a version of memory, which turns
   write; the number of places where there is none. */
static inline int
node_versions_from(const Node *node)
{
    int before = node->op == OP_repeat ? 3 : node->op == OP_again;
    return node->nargs - before - (int)node->attrs.index;
}

/* What the plan must produce: a boxed result, a written value, a condition. What the output is to
   the program was found when it was captured (output.c) and stays, whatever passes make of the
   node. */
typedef struct {
    NodeId node;
    NodeId root;  /* the first version of its storage: outputs of one root share memory */
    bool fresh;   /* the storage was made by the graph */
    bool view;    /* an array object of its own over its root's memory */
    bool frozen;  /* the program may not write into it */
    bool input;   /* an input itself: the same object */
    bool written; /* into an input, and else nothing: it need be no array object */
    bool at_once; /* written into an input, and no code of the program runs between the first such
                     write and this one; false: not known */
} Output;

/* A product as its library is told: matrices of one dtype in C order, of which the factors may be
   turned (their columns lie side by side).  Lengths and distances are in elements.  It has no gaps,
   so that two can be compared by their bytes. */
enum { PRODUCT_LEFT, PRODUCT_RIGHT, PRODUCT_RESULT, PRODUCT_ADDED, PRODUCT_MATRICES };
typedef struct {
    int64_t dtype, flags; /* PRODUCT_BIAS, … */
    int64_t tf32;         /* float32 factors may be rounded to 10 digits: set by the library */
    int64_t tuned;        /* the library's algorithms are timed */
    int64_t device;       /* another one than the first, by its number; else -1 */
    int64_t rows, columns, inner, batch;
    int64_t turned[2];                                      /* the factors */
    int64_t lead[PRODUCT_MATRICES], step[PRODUCT_MATRICES]; /* from row to row; in the batch */
    int64_t aligned[PRODUCT_MATRICES]; /* each matrix begins at a multiple of these bytes */
} Product;

/* Has the device's library the product?  Sets what `Product` says, and the bytes of memory that it
   needs besides. */
typedef bool (*TakesProduct)(Product *product, int64_t *workspace);

typedef struct {
    SizeId symbol, is;
} SizeEqual;

typedef struct Graph {
    Arena *arena;   /* borrowed */
    PyObject *keep; /* borrowed list: keeps alive every object that a node mentions */
    VEC(Node) nodes;
    VEC(Size) sizes;
    VEC(SizeEqual) equals; /* symbols that are other sizes: unite.c */
    bool united;           /* there are some, or bounds are not what they were */
    bool loose;            /* there are sizes of SIZE_SAME */
    int32_t *size_slot;    /* the hash table of sizes: id + 1 */
    int32_t size_slots;    /* its length, a power of two */
    VEC(Region) regions;   /* 0 is the top */
    VEC(const char *) files;
    VEC(NodeId) inputs; /* attrs.index order */
    VEC(Output) outputs;
    VEC(NodeId) roots;          /* per storage, filled as outputs are added: output.c */
    int32_t file, line;         /* position that new nodes take */
    uint8_t errors;             /* and their ErrorState */
    uint8_t current;            /* and the index of the device that is current */
    int ndevices;               /* 0: none is met yet */
    int device[MOST_DEVICES];   /* their numbers, DEVICE_CUDA's first; -1: not known */
    bool fast;                  /* the bits need not be NumPy's: docs/numerics.md */
    bool tunes;                 /* products are tried out for the fastest way */
    bool saves;                 /* inputs may be written before all is done that can fail, once
                                   their elements are saved */
    bool exported;              /* for a library without Python */
    bool sizes_change;          /* another plan of the place did not hold */
    bool inlines;               /* elementary functions may be computed in registers, with
                                   NumPy's bits */
    int32_t capability;         /* of the device that code is made for, 90 for 9.0; 0: of any */
    TakesProduct takes_product; /* NULL: products are calls of the array library */
} Graph;

enum { CAPABILITY_HOPPER = 90 };

enum { SAVED_AXES = 4 }; /* arrays with more are not saved */
/* Is the part of an input, an array of the host, so much smaller that it is saved where it is
   written, and no copy is made of the whole? */
bool write_is_saved(const Graph *g, const Type *whole, const Type *part);

/* ---- build.c ---- */

/* NULL with the error set.  `keep` is a borrowed list. */
Graph *graph_new(Arena *arena, PyObject *keep);
static inline Node *
graph_node(const Graph *g, NodeId id)
{
    return &g->nodes.at[id];
}

/* Each returns NO_NODE with the error set on failure. A node takes the graph's current position.
   Arguments and attributes are copied, objects are added to `keep`, and `storage` is set by the
   op's kind. */
/* In a region other than the top: the region's next parameter. */
NodeId graph_input(Graph *g, RegionId region, const Type *type);
NodeId graph_const(Graph *g, RegionId region, PyObject *value, const Type *type);
NodeId graph_add(Graph *g, RegionId region, Op op, int nargs, const NodeId *args, const Type *type,
                 const Attrs *attrs);
/* As graph_add, without a place in a region. */
NodeId graph_make(Graph *g, Op op, int nargs, const NodeId *args, const Type *type,
                  const Attrs *attrs);
void graph_set_position(Graph *g, int file, int line);
/* The index of the device with this number, which may be a new one; -1: there is no room. */
int graph_device(Graph *g, int number);
int graph_file(Graph *g, const char *name); /* index, or -1 with the error set */
/* A new region, the owner's next one; with NO_NODE detached, until graph_own gives it an owner. */
RegionId graph_region(Graph *g, NodeId owner);
void graph_own(Graph *g, NodeId owner, RegionId region);
/* Replaces every use of node `i` by instead[i], repeatedly, outputs included; views of a replaced
   node become views of its replacement, which must have the same layout. `instead` has `count`
   entries; graph_same makes one in the arena that replaces nothing, or returns NULL. */
NodeId *graph_same(const Graph *g);
/* The attributes of two nodes of one operation are the same; objects are compared by identity. */
bool attrs_same(const Graph *g, const Attrs *a, const Attrs *b);
void graph_replace(Graph *g, const NodeId *instead, int count);
/* A view that the program may not write through: a broadcast view, or a view of one. */
bool graph_view_is_readonly(const Graph *g, NodeId id);
/* Does its place in the storage tell which elements a view has?  Not where an input's elements
   share places: its derivative is of each element. */
bool graph_view_is_place(const Graph *g, const Node *view);

/* ---- output.c ---- */
/* Adds an output: its position in Graph.outputs, or -1 with the error set. */
int graph_output(Graph *g, NodeId node);
/* The storage of which `storage` is a version; `storage` itself where it is not a version. */
NodeId storage_first(const Graph *g, NodeId storage);
/* Would the graph as it is now give the same output? Then the text need not say it. */
bool output_is_evident(const Graph *g, const Output *output);

/* ---- live.c ---- */
/* By node: somebody needs it.  NULL with the error set. */
uint8_t *graph_live(const Graph *g);

/* ---- size.c ---- */
/* NO_SIZE with the error set on failure; an argument that is NO_SIZE counts as 0. */
SizeId size_const(Graph *g, int64_t value);
SizeId size_dim(Graph *g, NodeId node, int axis, int64_t hint);
SizeId size_stride(Graph *g, NodeId node, int axis, int64_t hint);
/* What a `measure` node has; `least` and `most` are bounds, or NO_SIZE. */
SizeId size_number(Graph *g, NodeId node, SizeId least, SizeId most, int64_t hint);
SizeId size_add(Graph *g, SizeId a, SizeId b);
SizeId size_sub(Graph *g, SizeId a, SizeId b);
SizeId size_mul(Graph *g, SizeId a, SizeId b);
SizeId size_quotient(Graph *g, SizeKind kind, SizeId a, SizeId b); /* FLOOR_DIV, MOD */
/* a // b for a b that divides a and is not 0. */
SizeId size_ratio(Graph *g, SizeId a, SizeId b);
/* id is *quotient * by + *rest: each term is divided by itself.  False: not known. */
bool size_split(Graph *g, SizeId id, int64_t by, SizeId *quotient, SizeId *rest);
SizeId size_extreme(Graph *g, SizeKind kind, SizeId a, SizeId b); /* MIN, MAX */
/* 1 where they are equal, else 0. */
SizeId size_if_same(Graph *g, SizeId a, SizeId b);
/* An expression of this kind of two values. */
int64_t size_apply(SizeKind kind, int64_t a, int64_t b);
/* A bound that follows from the bounds of symbols; false: none is known. */
bool size_lower(Graph *g, SizeId id, int64_t *out);
bool size_upper(Graph *g, SizeId id, int64_t *out);
/* The most that it can be, as the beginning of the run knows it; NO_SIZE: that is not known. */
SizeId size_ceiling(Graph *g, SizeId id);
/* Is there a length of an input that is bounded, not known? */
bool graph_has_symbols(const Graph *g);
/* Has it a number that only a step of the run tells? */
bool size_varies_in_run(const Graph *g, SizeId id);
/* Is it 1, of what only the run tells whatever that is?  A length of an input that has no bound is
   as it was seen. */
bool size_is_single(const Graph *g, SizeId id);
/* Is it a symbol's, more than 1 as it was seen, and may be 1 in another call? */
bool size_may_be_single(Graph *g, SizeId id);
/* The upper bound; INT64_MAX: there is none. */
int64_t size_most(Graph *g, SizeId id);
/* Is it the product, whatever the symbols are?  False: not known. */
bool size_is_times(const Graph *g, SizeId id, SizeId a, SizeId b);
/* Is a <= b whatever the symbols are?  False: not known. */
bool size_at_most(Graph *g, SizeId a, SizeId b);
/* Does the power of two divide the size, whatever its symbols are? */
bool size_divides(const Graph *g, int64_t by, SizeId id);
bool size_same(const Graph *g, SizeId a, SizeId b); /* one id, or one known value */

/* ---- unite.c: what is found out of sizes later ---- */
/* The size in the form that it has now. */
SizeId size_now(Graph *g, SizeId id);
/* The size where the symbol is that size. */
SizeId size_where(Graph *g, SizeId id, SizeId symbol, SizeId is);
/* A stride, or place, but where an axis of one element has another (layout.c): what is the same for
   all elements that there are. */
SizeId size_walked(const Graph *g, SizeId id);
int type_now(Graph *g, Type *type);
/* The node's type, and the place that it writes.  0 or -1. */
int node_sizes_now(Graph *g, Node *node);
/* Brings the types of all nodes to that form, after a bound has been raised.  0 or -1. */
int sizes_refresh(Graph *g);
/* The symbol is that size.  0 or -1. */
int size_unite(Graph *g, SizeId symbol, SizeId with);
/* A symbol, and what it is where `zero` is 0. */
bool size_solved(Graph *g, SizeId zero, SizeId *symbol, SizeId *is);
static inline bool
size_is_const(const Graph *g, SizeId id)
{
    return id == NO_SIZE || g->sizes.at[id].kind == SIZE_CONST;
}
/* The value of a constant, the hint of anything else; NO_SIZE is 0. */
static inline int64_t
size_value(const Graph *g, SizeId id)
{
    return id == NO_SIZE ? 0 : g->sizes.at[id].value;
}

/* Proved to be 1: a symbolic length that happens to be 1 is not. */
static inline bool
size_is_one(const Graph *g, SizeId id)
{
    return size_is_const(g, id) && size_value(g, id) == 1;
}

static inline bool
size_is_zero(const Graph *g, SizeId id)
{
    return size_is_const(g, id) && size_value(g, id) == 0;
}

/* ---- type.c, layout.c: shape and stride rules, on expressions ---- */
/* Is a length known to be 0? */
bool shape_is_empty(const Graph *g, int rank, const SizeId *shape);
/* Fresh array, C order. */
int type_contiguous(Graph *g, Type *out, DType dtype, int rank, const SizeId *shape);
/* The same, or in Fortran order. */
int type_dense(Graph *g, Type *out, DType dtype, int rank, const SizeId *shape, bool c_order);
/* Fresh result of a pointwise op in NumPy's 'K' order over its arguments' strides (axes sorted as
   nditer sorts them). `ins`: the loop's input dtypes; NULL where they are the arguments' own.
   ANSWER_NO: shapes do not broadcast (no exception set). */
Answer type_broadcast(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args,
                      const DType *ins);
/* The device of the arguments' arrays; the host where there is none. */
Device device_of(const Graph *g, int nargs, const NodeId *args);
/* As type_broadcast, without the ufuncs' shortcut for operands of equal shape, which affects the
   strides of axes of length 1: for np.where and other functions that pass their operands to nditer
   directly. */
Answer type_iterated(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args);
/* Fresh result of a reduction of `from` over the axes that `reduced` marks: dense, its axes nested
   as nditer sorts those of `from`, the reduced ones among them.  -1 with an exception. */
int type_reduced(Graph *g, Type *out, DType dtype, const Type *from, const bool *reduced,
                 bool keepdims);
/* Fresh result of joining arrays of the host along the axis, which has this length then. ANSWER_NO:
   too many, or spread ones. */
Answer type_joined(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args, int axis,
                   SizeId length);
/* Fresh array laid out like `like` in 'K' order: copy(order="K"), astype, empty_like. */
int type_like(Graph *g, Type *out, DType dtype, const Type *like);
/* Do strides of fresh arrays say what they are where the length, which may be 1, is that? */
bool single_is_told(Graph *g, SizeId length);
/* A scalar of this form. */
Type type_scalar(DType dtype, Form form);
bool type_same_shape(const Type *a, const Type *b);
bool type_same_kind(const Type *a, const Type *b);   /* dtype, form, shape */
bool type_same_layout(const Type *a, const Type *b); /* and strides */
/* And offset: of a view of a whole storage it is 0, the storage itself has none. */
bool type_same_array(const Type *a, const Type *b);
/* dtype, shape, strides and offset, whatever the form */
bool type_same_place(const Graph *g, const Type *a, const Type *b);
/* One shape, and from the first element on each element of `a` lies as far as that of `b`: strides
   of axes of one element do not count. */
bool type_walks_alike(const Graph *g, const Type *a, const Type *b);
/* `from` broadcasts to the shape of `to`. */
bool type_broadcasts(const Graph *g, const Type *from, const Type *to);
/* The common shape. ANSWER_NO: there is none, or symbolic sizes cannot be proved equal. */
Answer type_common_shape(const Graph *g, int n, const Type *const *types, int *rank, SizeId *shape);
bool type_is_known(const Graph *g, const Type *type); /* shape and strides are constants */
/* They are known when a run begins, and no stride is negative: a new array can have this layout. */
bool type_is_copyable(const Graph *g, const Type *type);
bool type_has_negative_stride(const Graph *g, const Type *type);
bool type_is_contiguous(const Graph *g, const Type *type);  /* C order, dense */
bool type_is_fortran(const Graph *g, const Type *type);     /* Fortran order, dense */
bool type_runs_backwards(const Graph *g, const Type *type); /* along an axis longer than 1 */
bool type_is_spread(const Graph *g, const Type *type);      /* all elements share one place */
/* May elements share memory?  False only where each axis steps past all that the axes of smaller
   strides reach.  The axes are those of more than one element. */
bool axes_repeat(int n, const int64_t *length, const int64_t *stride, DType dtype);
/* Of all axes; by hints where symbolic. */
bool type_repeats(const Graph *g, const Type *type);
/* 'C' or 'F' where these are the strides that NumPy gives a fresh array of that order, axes of one
   element included; else, and without elements, 'K'. */
char type_order(const Graph *g, const Type *type);
/* The axes that are not of length 1, by falling stride: how many, or -1 where the strides do not
   tell (zero, negative or equal ones).  By hints where symbolic, like the next two. */
int type_axes(const Graph *g, const Type *type, int *axes);
/* One step along `outer` is all steps along `inner`. */
bool type_axis_follows(const Graph *g, const Type *type, int outer, int inner);
/* type_axes where there are elements, which cover their memory once and without gaps; else -1. */
int type_dense_axes(const Graph *g, const Type *type, int *axes);
/* type_is_copyable, and the elements cover their memory once and without gaps. */
bool type_is_compact(const Graph *g, const Type *type);
/* The last two axes of one are those of the other, swapped. BLAS multiplies a matrix by its own
   transpose with another routine, and other bits, than by an equal array of other memory. */
bool type_is_transpose(const Type *a, const Type *b);
int64_t type_elements(const Graph *g, const Type *type); /* by hints where symbolic */
SizeId type_count(Graph *g, const Type *type);           /* the same as a size; or NO_SIZE */
bool type_is_single(const Graph *g, const Type *type);   /* of one element, whatever symbols are */
bool type_has_as_many(Graph *g, const Type *a, const Type *b); /* elements, for all symbols */

/* ---- constant.c: values known while compiling ---- */
/* The bytes (16 at most) of a scalar of this dtype: from a Python number, converted as C does it,
   or from an array scalar or rank-0 array that has the dtype. -1 with an exception set. */
int constant_read(PyObject *value, DType dtype, void *bytes);

/* ---- ops.c: what a node's row of ops.def says of it ---- */
/* May raise a floating-point flag that NumPy would report. */
bool node_may_report(const Graph *g, const Node *node);
/* NumPy warns when this operation overflows on integer scalars (arrays wrap in silence). */
bool op_may_overflow(Op op, DType dtype);
/* The dtype that a pointwise node computes in. */
DType node_loop_dtype(const Graph *g, const Node *node);

/* ---- way.c: how an elementwise operation is done ---- */
typedef enum {
    WAY_NONE,       /* not an elementwise operation: its kind says how it is done */
    WAY_EXPRESSION, /* the op's expression, in registers */
    WAY_BLOCKS,     /* the ufunc's own loop, called for blocks of a kernel's elements */
    WAY_CALL,       /* the library's function, called for the whole array */
} Way;
Way node_way(const Graph *g, const Node *node);
/* Does the expression of this op (-1: none) have the ufunc's bits for a loop of this dtype? */
bool ufunc_has_expression(int op, DType loop);
/* The ufunc's bits depend on the layout of the operands `args` together with NumPy's casting of
   them: only the library's own call has them. `cast`: the operands after casting, the same nodes
   where nothing is cast. */
bool ufunc_minds_casts(const Graph *g, int op, int nargs, const NodeId *args, const NodeId *cast);
/* The ufunc's bits depend on the layout of the array that it writes into and of its operands beside
   that: only the library's own call has them. */
bool ufunc_minds_target(const Graph *g, int op, DType loop, int nargs, const NodeId *args,
                        const Type *target);
/* Two ufuncs whose loops look at the strides of an operand.  WAY_EXPRESSION: *op is set to what has
   the bits of the loop that NumPy takes; WAY_BLOCKS: the ufunc's own loop has them for a block;
   WAY_CALL: only the whole call has. */
/* `exponent`: one number for all elements, or NULL; *op takes the first operand alone. */
Way power_way(DType loop, PyObject *exponent, int *op);
Way clip_way(const Graph *g, DType loop, NodeId low, NodeId high, int *op);
/* A pointwise or Python operation on numbers whose C expression, conversions of its arguments
   included, gives the bits of the array library or of Python. */
bool node_is_expression(const Graph *g, const Node *node);
/* A number that a ufunc's own loop gives when it is called for one element. */
enum { MAX_CALLED = 3 };
bool node_is_called(const Graph *g, const Node *node);

/* ---- attention.c ---- */
/* Do q, k^T and v go to the kernel for Hopper? */
bool attention_on_hopper(const Graph *g, const Type *q, const Type *k, const Type *v);
/* Are the heads of a size for which there is a kernel? */
bool attention_has_head(const Graph *g, const Type *q, const Type *k, const Type *v);

/* ---- product.c ---- */
/* The product of `left` and `right`, with a matrix `added` to it or NO_NODE, as a library is told.
   False: the arrays do not lie as it needs them. */
bool product_of(const Graph *g, NodeId left, NodeId right, NodeId added, int flags,
                const Type *result, Product *out);
/* That of a `product` node. */
bool product_of_node(const Graph *g, NodeId id, Product *out);
/* Is `row` something that can be added to each row of a product of this type? */
bool product_has_bias(const Graph *g, NodeId row, const Type *result);

/* ---- virtual.c: values that need no memory ---- */
typedef struct {
    const Graph *graph;
    bool mixed;     /* nodes that may report run under several error states */
    bool *anchored; /* per node: rank-0 arithmetic that is computed once and stored */
    int count;      /* length of `anchored`; later nodes have no entry */
} Virtuals;
/* `live`: per node, whether anything depends on it.  0 or -1. */
int virtuals_find(Virtuals *v, const Graph *g, const bool *live);
/* A constant, a fill or rank-0 arithmetic that every kernel which uses it computes for itself. */
bool node_is_virtual(const Virtuals *v, NodeId id);

/* ---- print.c, parse.c, verify.c ---- */
/* As device_name; "cuda:1" of another device than the first. */
void device_print(const Graph *g, Device device, Text *out);
/* One line per node: `%3: f32[4,5] = add(%1, %2)  # file.py:12`.  Free of addresses; parses back.
   The form is described at the top of print.c. */
int graph_print(const Graph *g, Text *out);
/* One node without its position and its regions. */
void node_print(const Graph *g, NodeId id, Text *out);
void type_print(const Graph *g, const Type *type, Text *out);
/* An expression in Python's syntax: d0_1 is the length of input %0 along axis 1, t0_1 its stride.
 */
void size_print(const Graph *g, SizeId size, Text *out);
/* NULL with ValueError (line and reason) or MemoryError set.  `@n` in the text is keep[n]. */
Graph *graph_parse(Arena *arena, PyObject *keep, const char *text);
/* A size of which the graph has the symbols; NO_SIZE with the error set. */
SizeId size_parse(Graph *g, const char *text);
/* 0, or -1 with SystemError naming the node and the broken rule. */
int graph_verify(const Graph *g);

/* ---- part.c ---- */
/* The nodes of a region from `first` on, as a graph of these inputs, which are among them, and of
   what they read from outside; in the arena of `of`.  NULL with the error set. */
Graph *graph_part(const Graph *of, RegionId region, NodeId first, int ninputs, const NodeId *inputs,
                  int noutputs, const NodeId *outputs);

/* ---- view.c: pycompile.Graph, the Python object ---- */
extern PyTypeObject GraphView_Type;
/* A new reference to a snapshot that owns what it needs; NULL with the error set. */
PyObject *graph_view(const Graph *g);
/* A snapshot of one node; arguments that are not constants are None. */
PyObject *graph_view_node(const Graph *g, NodeId id);
/* Sizes, and attrs.ints, as a tuple: new references. */
PyObject *graph_view_sizes(const Graph *g, int n, const SizeId *sizes);
PyObject *graph_view_ints(const Attrs *attrs);
/* The graph of a snapshot, or of a str with its text, read back; NULL with the error set. */
Graph *graph_from_view(Arena *arena, PyObject *keep, PyObject *view);

/* ---- module_graph.c: adds this folder's types and functions to the module; 0 or -1 ---- */
int graph_module(PyObject *module);

#endif
