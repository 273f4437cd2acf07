/* The graph: nodes in SSA form, grouped in regions.  Pure up to its commit: no node writes memory
   that the program can see; in-place writes are `scatter` nodes that give a new version of the
   storage, and the plan copies the last version out at commit.

   Every array value is (storage, offset, shape, strides).  A view op makes no data: its type says
   where in its storage the value lies.  Nothing here knows which array library or device it is.

   What builders and readers of graphs agree on (graph_verify holds them to it):
   - The arguments of a pointwise op have one dtype, the loop's (`where`: the last two; a bool
     first); what NumPy casts on the way in is an explicit `cast` node, Python scalars included.
   - A node that is no view is its own storage.  A view's type is relative to the storage's data
     pointer, not to its argument; a negative stride may reach below it.
   - `scatter` and `element_store` give a new version of the whole storage: args[0] is no view, and
     the result has its type.
   - `extern` and `ufunc` with one result have that result's type.  With several they have dtype
     OBJECT and form OBJECT, and `result` nodes pick.  The last arguments of an extern are keywords
     when attrs.kwnames is set.  An argument that is a Python object is a `const` of dtype OBJECT.
   - Nodes of a region may use what enclosing regions defined before its owner.
   - `branch`, `otherwise` and `join` stand for a cond whose arms were laid out in the top region
     (passes/arms.c): nested like brackets.  `join` has two arguments for each result, the value of
     the one arm and that of the other; an `empty` is no value.
   - attrs.index of `scatter` and `loop` says where they write (`Write`), of `copy` whether it is in
     memory whatever reads it (COPY_KEPT): passes/writes.c.
   - `loop`: args start, stop, step (Python ints), then the first carried values; params are the
     induction variable, then the carried values; results are the next carried values; `result` i
     of the node is the last carried value i.  `cond`: args the condition, then params of both
     arms; region[0] when true; both arms have as many results, of equal types. */
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
    DT_OBJECT, /* a Python object known while compiling: the argument of an extern call */
    DT_COUNT
} DType;

/* How a value looks to Python when it leaves the graph. */
typedef enum {
    FORM_ARRAY,  /* an array of the library, rank 0 included */
    FORM_SCALAR, /* the library's scalar: np.float64(3.0) */
    FORM_PYTHON, /* bool, int, float, complex: dtype BOOL, I64, F64, C128 */
    FORM_OBJECT, /* any object, opaque to the graph */
} Form;

typedef struct {
    uint8_t dtype; /* DType */
    uint8_t form;  /* Form */
    uint8_t rank;  /* 0 for scalars */
    SizeId shape[MAX_RANK];
    SizeId stride[MAX_RANK]; /* bytes; may be negative or 0 */
    SizeId offset;           /* bytes from the first byte of the storage; NO_SIZE means 0 */
} Type;

size_t dtype_size(DType dtype);
const char *dtype_name(DType dtype);      /* "f32" */
const char *dtype_long_name(DType dtype); /* "float32", as the array libraries call it */
/* -1 when the name is unknown; sets no error. */
int dtype_from_name(const char *name);
bool dtype_is_float(DType dtype);
bool dtype_is_complex(DType dtype);
bool dtype_is_integer(DType dtype); /* bool excluded */
bool dtype_is_signed(DType dtype);

/* ---- sizes: hash-consed expressions, so equal sizes have equal ids ---- */

typedef enum {
    SIZE_CONST,  /* value */
    SIZE_DIM,    /* shape[axis] of input node `node`, not known while compiling */
    SIZE_STRIDE, /* stride[axis] of input node `node` */
    SIZE_ADD,
    SIZE_MUL,
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
    KIND_VIEW,      /* no data: the type says where it lies in its storage */
    KIND_COPY,      /* a fresh array with the argument's elements */
    KIND_SCATTER,   /* args: old version, value; the view written is described by attrs.view */
    KIND_CHOICE,    /* no data: the memory of one of two arrays, neither written afterwards */
    KIND_FILL,      /* made from nothing: arange, zeros, full */
    KIND_MATMUL,
    KIND_EXTERN,  /* calls attrs.object with its arguments at run time */
    KIND_RESULT,  /* the attrs.index-th result of an extern or region node */
    KIND_PYTHON,  /* Python's own scalar arithmetic; what Python would raise becomes a deopt */
    KIND_ELEMENT, /* one element read or written inside a loop, bounds checked: deopt when out */
    KIND_REGION,  /* owns regions: loop, cond */
    KIND_JUMP,    /* marks between the arms of a cond that is laid out: branch, otherwise, join */
} OpKind;

typedef enum {
#define OP(name, ...) OP_##name,
#include "ops.def"
#undef OP
    OP_COUNT
} Op;

typedef struct {
    const char *name;
    int8_t arity; /* -1: any */
    OpKind kind;
    const char *ufunc; /* NumPy ufunc that has these very bits, or NULL */
    const char *c;     /* C expression with $0 $1 $2 for arguments, $T for the result's C type */
    const char *exact; /* dtypes for which `c` has NumPy's bits: letters, see ops.def */
    unsigned flags;    /* OPF_* */
} OpInfo;

enum {
    OPF_COMMUTES = 1, /* swapping the arguments keeps the bits */
    OPF_FALLIBLE = 2, /* may deopt */
    OPF_NO_FLAGS = 4, /* never raises a floating-point flag that NumPy would report */
    OPF_COMPARES = 8, /* result is bool whatever the arguments */
};

const OpInfo *op_info(Op op);
/* The op's C expression gives NumPy's bits for this dtype. */
bool op_is_exact(Op op, DType dtype);
int op_from_name(const char *name); /* -1 when unknown */
/* The pointwise op with the bits of this ufunc for this loop, or -1: then a block call it is. */
int op_from_ufunc(const char *ufunc_name);

/* ---- nodes ---- */

typedef struct {
    PyObject *object;  /* borrowed from Graph.keep: constant, ufunc, callable */
    PyObject *kwnames; /* borrowed from Graph.keep: tuple of str, or NULL (extern) */
    int64_t *ints;     /* axes, permutation, slice bounds: for the printed form and for passes */
    int nints;
    int64_t index;
    double number;
    bool keepdims;
    Type *view; /* KIND_SCATTER: offset, shape, stride of what is written, within the storage */
} Attrs;

/* Where a scatter or a loop writes. */
typedef enum {
    WRITE_UNDECIDED,  /* it gives a new version, and leaves the old one alone */
    WRITE_AT_COMMIT,  /* the value goes into the input's memory, at commit */
    WRITE_IN_PLACE,   /* the memory of the old version becomes that of the new one */
    WRITE_IMPOSSIBLE, /* a loop over an array whose old elements are wanted later */
} Write;

enum { COPY_KEPT = 1 };

typedef struct {
    Op op;
    int nargs;
    NodeId *args;
    Type type;
    NodeId storage; /* the node whose buffer holds this value: itself, or a view's origin */
    Attrs attrs;
    RegionId region[2]; /* KIND_REGION: loop body; cond's arms */
    uint8_t errors;     /* ErrorState under which it is computed */
    int32_t line;       /* the user's line, 0 when unknown */
    int32_t file;       /* index into Graph.files */
} Node;

typedef struct {
    VEC(NodeId) params;  /* loop: induction variable first, then the carried values */
    VEC(NodeId) nodes;   /* in program order */
    VEC(NodeId) results; /* loop: carried values for the next iteration */
    NodeId owner;        /* NO_NODE for the top region */
} Region;

/* What the plan must produce: a boxed result, a written value, a condition.  What it is to the
   program was found when it was captured (output.c) and outlives what passes make of the node. */
typedef struct {
    NodeId node;
    NodeId root;  /* of its storage, writes seen through: outputs of one root share memory */
    bool fresh;   /* the storage was made by the graph */
    bool view;    /* an array object of its own over its root's memory */
    bool frozen;  /* a view that may not be written through */
    bool input;   /* an input itself: the very object */
    bool at_once; /* it is written into an input, with nothing of the program's before it and the
                     first such write; false: not known */
} Output;

typedef struct Graph {
    Arena *arena;   /* borrowed */
    PyObject *keep; /* borrowed list: keeps alive every object that a node mentions */
    VEC(Node) nodes;
    VEC(Size) sizes;
    int32_t *size_slot;  /* the hash table of sizes: id + 1 */
    int32_t size_slots;  /* its length, a power of two */
    VEC(Region) regions; /* 0 is the top */
    VEC(const char *) files;
    VEC(NodeId) inputs; /* attrs.index order */
    VEC(Output) outputs;
    VEC(NodeId) roots;  /* by storage, as far as outputs were added: output.c */
    int32_t file, line; /* position that new nodes take */
    uint8_t errors;     /* and their ErrorState */
} Graph;

/* ---- build.c ---- */

/* NULL with the error set.  `keep` is a borrowed list. */
Graph *graph_new(Arena *arena, PyObject *keep);
static inline Node *
graph_node(const Graph *g, NodeId id)
{
    return &g->nodes.at[id];
}

/* Each returns NO_NODE with the error set.  A node takes the graph's current position.  What a node
   names is copied, objects are added to `keep`, and `storage` is set by the op's kind. */
/* In a region other than the top: the region's next parameter. */
NodeId graph_input(Graph *g, RegionId region, const Type *type);
NodeId graph_const(Graph *g, RegionId region, PyObject *value, const Type *type);
NodeId graph_add(Graph *g, RegionId region, Op op, int nargs, const NodeId *args, const Type *type,
                 const Attrs *attrs);
/* The same without a place in a region. */
NodeId graph_make(Graph *g, Op op, int nargs, const NodeId *args, const Type *type,
                  const Attrs *attrs);
void graph_set_position(Graph *g, int file, int line);
int graph_file(Graph *g, const char *name); /* index, or -1 with the error set */
/* A new region, the owner's next one; with NO_NODE detached, until graph_own gives it an owner. */
RegionId graph_region(Graph *g, NodeId owner);
void graph_own(Graph *g, NodeId owner, RegionId region);
/* Replaces every use of node `i` by instead[i], and so on from that one, outputs included; views of
   what is replaced become views of what stands for it, which must be laid out alike.  `instead` has
   `count` entries; graph_same makes one in the arena that replaces nothing, or NULL. */
NodeId *graph_same(const Graph *g);
void graph_replace(Graph *g, const NodeId *instead, int count);
/* A view that the program may not write through: what was broadcast, and views of that. */
bool graph_view_is_readonly(const Graph *g, NodeId id);

/* ---- output.c ---- */
/* Adds an output: its position in Graph.outputs, or -1 with the error set. */
int graph_output(Graph *g, NodeId node);
/* What the first version of the storage was made as: the storage itself where it is no version. */
NodeId storage_first(const Graph *g, NodeId storage);
/* The graph as it stands now says the same of the output. */
bool output_is_evident(const Graph *g, const Output *output);

/* ---- size.c ---- */
/* NO_SIZE with the error set; an argument that is NO_SIZE counts as 0. */
SizeId size_const(Graph *g, int64_t value);
SizeId size_dim(Graph *g, NodeId node, int axis, int64_t hint);
SizeId size_stride(Graph *g, NodeId node, int axis, int64_t hint);
SizeId size_add(Graph *g, SizeId a, SizeId b);
SizeId size_mul(Graph *g, SizeId a, SizeId b);
bool size_same(const Graph *g, SizeId a, SizeId b); /* one id, or one known value */
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

/* ---- type.c: shape and stride rules, on expressions ---- */
/* Fresh array, C order. */
int type_contiguous(Graph *g, Type *out, DType dtype, int rank, const SizeId *shape);
/* Fresh result of a pointwise op in NumPy's 'K' order over its arguments' strides (axes sorted as
   nditer sorts them).  `ins`: what the loop takes, NULL where that is what the arguments are.
   ANSWER_NO: shapes do not broadcast (no exception set). */
Answer type_broadcast(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args,
                      const DType *ins);
/* The same without the ufuncs' shortcut for operands of equal shape, which shows in the strides of
   axes of length 1: np.where and whatever else hands its operands straight to nditer. */
Answer type_iterated(Graph *g, Type *out, DType dtype, int nargs, const NodeId *args);
/* Fresh result of a reduction of `from` over the axes that `reduced` marks: dense, its axes nested
   as nditer sorts those of `from`, the reduced ones among them.  -1 with an exception. */
int type_reduced(Graph *g, Type *out, DType dtype, const Type *from, const bool *reduced,
                 bool keepdims);
/* Fresh array laid out like `like` in 'K' order: copy(order="K"), astype, empty_like. */
int type_like(Graph *g, Type *out, DType dtype, const Type *like);
/* A scalar of this form. */
Type type_scalar(DType dtype, Form form);
bool type_same_shape(const Type *a, const Type *b);
bool type_same_kind(const Type *a, const Type *b);   /* dtype, form, shape */
bool type_same_layout(const Type *a, const Type *b); /* and strides */
/* dtype, shape, strides and offset, whatever the form */
bool type_same_place(const Graph *g, const Type *a, const Type *b);
/* `from` broadcasts to the shape of `to`. */
bool type_broadcasts(const Graph *g, const Type *from, const Type *to);
/* Shape and strides are known, and none is negative: a new array can lie like that. */
bool type_is_copyable(const Graph *g, const Type *type);
bool type_has_negative_stride(const Graph *g, const Type *type);
bool type_is_contiguous(const Graph *g, const Type *type);  /* C order, dense */
bool type_runs_backwards(const Graph *g, const Type *type); /* along an axis longer than 1 */
/* The last two axes are the other's, turned: BLAS multiplies a matrix by its own transpose in
   another way than by another's, with other bits. */
bool type_is_transpose(const Type *a, const Type *b);
int64_t type_elements(const Graph *g, const Type *type); /* by hints where symbolic */

/* ---- constant.c: values known while compiling ---- */
/* The bytes (16 at most) of a scalar of this dtype: from a Python number, converted as C does it,
   or from an array scalar or rank-0 array that has the dtype.  -1 with TypeError set. */
int constant_read(PyObject *value, DType dtype, void *bytes);

/* ---- ops.c: what a node's row of ops.def says of it ---- */
/* May raise a floating-point flag that NumPy would report. */
bool node_may_report(const Graph *g, const Node *node);
/* The dtype that a pointwise node computes in. */
DType node_loop_dtype(const Graph *g, const Node *node);

/* ---- way.c: how an elementwise operation is done ---- */
typedef enum {
    WAY_NONE,       /* no elementwise operation: its kind says how it is done */
    WAY_EXPRESSION, /* the op's expression, in registers */
    WAY_BLOCKS,     /* the ufunc's own loop, called for blocks of a kernel's elements */
    WAY_CALL,       /* the library's function, called for the whole */
} Way;
Way node_way(const Graph *g, const Node *node);
/* Of an op (-1: none) whose loop has this dtype: its expression has the ufunc's bits. */
bool ufunc_has_expression(int op, DType loop);
/* Its bits depend on how the operands `args` lie that NumPy casts itself, here to `cast` (which are
   the same nodes where it casts nothing): only the library can do that. */
bool ufunc_minds_casts(const Graph *g, int op, int nargs, const NodeId *args, const NodeId *cast);
/* Its bits depend on how the array lies that it writes into: only the library can do that. */
bool ufunc_minds_target(const Graph *g, int op, DType loop, const Type *target);
/* A pointwise or Python operation on numbers whose C expression, conversions of its arguments
   included, gives the bits of the array library or of Python. */
bool node_is_expression(const Graph *g, const Node *node);

/* ---- virtual.c: values that need no memory ---- */
typedef struct {
    const Graph *graph;
    bool mixed;     /* nodes under several error states */
    bool *anchored; /* per node: rank-0 arithmetic that is made once, and not where it is used */
    int count;      /* of `anchored`: nodes that are made later are not known */
} Virtuals;
/* `live`: per node, whether anything depends on it.  0 or -1. */
int virtuals_find(Virtuals *v, const Graph *g, const bool *live);
/* A constant, a fill or rank-0 arithmetic, made again in every kernel that uses it. */
bool node_is_virtual(const Virtuals *v, NodeId id);

/* ---- print.c, parse.c, verify.c ---- */
/* One line per node: `%3: f32[4,5] = add(%1, %2)  # file.py:12`.  Free of addresses; parses back.
   The form is described at the top of print.c. */
int graph_print(const Graph *g, Text *out);
/* One node without its position and regions. */
void node_print(const Graph *g, NodeId id, Text *out);
void type_print(const Graph *g, const Type *type, Text *out);
/* An expression in Python's syntax: d0_1 is the length of input %0 along axis 1, t0_1 its stride.
 */
void size_print(const Graph *g, SizeId size, Text *out);
/* NULL with ValueError (line and reason) or MemoryError set.  `@n` in the text is keep[n]. */
Graph *graph_parse(Arena *arena, PyObject *keep, const char *text);
/* 0, or -1 with SystemError naming the node and the broken rule. */
int graph_verify(const Graph *g);

/* ---- view.c: pycompile.Graph, the Python object ---- */
extern PyTypeObject GraphView_Type;
/* A new reference to a snapshot that owns what it needs; NULL with the error set. */
PyObject *graph_view(const Graph *g);
/* The same of one node whose arguments are constants (None stands for any other argument). */
PyObject *graph_view_node(const Graph *g, NodeId id);
/* The graph that a snapshot (or a str) shows, read from its text; NULL with the error set. */
Graph *graph_from_view(Arena *arena, PyObject *keep, PyObject *view);

/* ---- module_graph.c: adds what Python sees of this folder; 0 or -1 ---- */
int graph_module(PyObject *module);

#endif
