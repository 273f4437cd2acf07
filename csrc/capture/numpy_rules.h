/* Private to the files of capture/ that know NumPy: rules work on graph nodes, handlers on values.

   Every rule answers ANSWER_NO through interp_break when NumPy would raise or warn, or when the
   rule does not cover the case: the operation then runs in CPython. */
#ifndef PYCOMPILE_CAPTURE_NUMPY_RULES_H
#define PYCOMPILE_CAPTURE_NUMPY_RULES_H

#include "value.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        Answer answer_ = (call);                                                                   \
        if (answer_ != ANSWER_YES) return answer_;                                                 \
    } while (0)
#define TRY_NODE(target, call)                                                                     \
    do {                                                                                           \
        if (((target) = (call)) == NO_NODE) return ANSWER_ERROR;                                   \
    } while (0)

static inline Type
node_type(const Interp *in, NodeId node)
{
    return graph_node(in->graph, node)->type;
}
static inline int64_t
node_extent(const Interp *in, NodeId node, int axis)
{
    return size_value(in->graph, graph_node(in->graph, node)->type.shape[axis]);
}

/* ---- casts.c: dtypes, constants, weak scalars ---- */
bool dtype_can_cast_same_kind(DType from, DType to);
DType dtype_real_of(DType dtype); /* C64 -> F32; others unchanged */
/* A scalar constant of the dtype made from a Python or array scalar as NumPy's item assignment
   makes it. ANSWER_NO (break recorded): out of range, or NumPy would warn. */
Answer node_scalar(Interp *in, PyObject *value, DType dtype, NodeId *out);
/* The object that a scalar node is while capturing: a constant, or an input guarded by value. */
Answer node_known(Interp *in, NodeId node, PyObject **out);
NodeId node_int(Interp *in, int64_t value, DType dtype);
NodeId node_float(Interp *in, double value, DType dtype);
/* A Python object as argument of an extern. */
NodeId node_object(Interp *in, PyObject *object);
/* Casts as `astype` does (fresh array; the same node when nothing changes). */
Answer node_cast(Interp *in, NodeId node, DType dtype, NodeId *out);
/* Same bits with another form: an array of rank 0 as a scalar, a scalar as an array of rank 0. */
Answer node_form(Interp *in, NodeId node, Form form, NodeId *out);
/* A known object: constants as value_known has them, and existing objects guarded by identity. */
Answer object_known(Interp *in, Value *value, PyObject **out);
/* dtype= arguments: NULL or None leave `*out` alone. */
Answer value_as_dtype(Interp *in, Value *value, DType *out);
/* True when the argument was not given or is None. */
bool value_absent(const Value *value);
bool value_is_none(const Value *value);
/* A flag such as keepdims: known bool, `fallback` when not given (None is no flag). */
Answer value_as_flag(Interp *in, Value *value, bool fallback, bool *out);

/* ---- ops.c ---- */
/* A value as what an operation reads: current version of an array, or a scalar. */
Answer operand(Interp *in, Value *value, NodeId *out);
/* The same, but an array or array scalar only. */
Answer array_operand(Interp *in, Value *value, NodeId *out);
Answer node_ufunc(Interp *in, PyObject *ufunc, int nargs, const NodeId *args, int dtype,
                  NodeId *out);
/* By the name of one of NumPy's ufuncs. */
Answer node_named(Interp *in, const char *ufunc, int nargs, const NodeId *args, NodeId *out);
/* ---- numpy_names.c ---- */
/* Borrowed: numpy.NAME (dots allowed; "" is numpy itself), or NULL without an exception.  Imports
   no submodule. */
PyObject *numpy_object(const char *path);
/* Imports the submodule `name` if `module` is numpy, which does so where it is asked for it. */
int numpy_load_submodule(PyObject *module, PyObject *name);

Answer node_matmul(Interp *in, NodeId a, NodeId b, NodeId *out);
/* np.where with three arguments. */
Answer node_where(Interp *in, NodeId condition, NodeId yes, NodeId no, NodeId *out);
Answer push_node(Interp *in, NodeId node, Value **out);
/* np.result_type of the nodes. */
Answer result_dtype(Interp *in, int n, const NodeId *args, DType *out);
/* `result`, computed for an in-place operator or an out= argument, written into `target`. */
Answer write_result(Interp *in, Value *target, NodeId result, Value **out);
/* Writes `value` (cast as item assignment casts, and broadcast) over all that `target` shows. */
Answer node_write(Interp *in, Value *target, NodeId value);

/* ---- temporaries.c ---- */
/* Which of an operator's two operands NumPy writes its result into (*out; -1: none), where that is
   seen: `result` is what the result is otherwise.  Breaks where an object shows what was written;
   *out is the operand then, too. */
Answer operand_elided(Interp *in, int operator_, Value *const *operands, const NodeId *nodes,
                      const Type *result, int *out);
/* An array that owns its memory, is large or of unknown size, and is held by the value stack alone.
 */
Answer operand_spare(Interp *in, Value *array, bool *out);

/* ---- views.c: NodeId-level view makers; types are worked out by NumPy's rules ---- */
Answer node_view(Interp *in, Op op, NodeId array, const Type *type, int nints, const int64_t *ints,
                 NodeId *out);
Answer node_reshape(Interp *in, NodeId array, int rank, const SizeId *shape, NodeId *out);
Answer node_transpose(Interp *in, NodeId array, const int *permutation, NodeId *out);
Answer node_broadcast(Interp *in, NodeId array, int rank, const SizeId *shape, NodeId *out);
/* Fresh copy; order 'C', 'F', 'K' or 'A'. */
Answer node_copy(Interp *in, NodeId array, char order, NodeId *out);
/* Type of a fresh array of this dtype laid out like `like` by order 'C', 'F', 'A' or 'K'. */
Answer fresh_type(Interp *in, Type *out, DType dtype, const Type *like, char order);
bool type_is_fortran(const Graph *g, const Type *type);
/* Shapes broadcast together; ANSWER_NO without a break when they do not. */
Answer shapes_broadcast(const Graph *g, int n, const Type *const *types, int *rank, SizeId *shape);
bool shapes_equal(const Type *a, const Type *b);

/* ---- externs.c ---- */
/* Calls `callable` at run time on `args`; one result of the given type. */
Answer node_extern(Interp *in, PyObject *callable, int nargs, const NodeId *args, const Type *type,
                   NodeId *out);

/* The last arguments by keyword; `kwnames` is a tuple of str or NULL. */
Answer node_extern_kw(Interp *in, PyObject *callable, int nargs, const NodeId *args,
                      PyObject *kwnames, const Type *type, NodeId *out);

/* The same; the result's type is what the callable gives for zeros of the arguments' types
   (constants as they are).  Break: it raised, its result is no array or scalar, or shares memory
   with an argument, or the arguments are too large to try. */
Answer node_trial(Interp *in, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames,
                  NodeId *out);

/* pycompile._steps.NAME, borrowed; NULL with the error set. */
PyObject *numpy_step(Interp *in, const char *name);

/* ---- opaque.c ---- */
/* What is known of an opaque node, in the arena until another is added; or NULL. */
Opaque *opaque_of(Interp *in, NodeId node);
/* `viewed`: it shows the memory of an argument. */
Answer opaque_value(Interp *in, NodeId node, PyObject *sample, bool viewed, Value **out);

/* ---- steps.c: whole calls at run time ---- */
enum { MAX_HOLES = 48 }; /* arguments, those within containers included */
typedef struct {
    PyObject *callable;
    int nargs; /* positional; those by keyword follow */
    Value *const *args;
    PyObject *kwnames;
    unsigned changes; /* bit per positional argument: the callable changes it; out= always is */
    bool opaque;      /* the result's shape depends on values */
    bool untyped;     /* its results' types depend on values */
} WholeCall;
/* Calls it in the plan; its result by trial.  The callable runs no user code. */
Answer call_whole(Interp *in, const WholeCall *call, Value **out);
/* The same after another rule has broken: the first break stays when this breaks too. */
Answer call_whole_instead(Interp *in, const WholeCall *call, Value **out);
/* operator.attrgetter(name), kept; NULL with the error set. */
PyObject *attribute_getter(Interp *in, const char *name);
/* A function of NumPy's own that takes arrays: it runs no code but NumPy's on arrays. */
bool numpy_is_known(PyObject *callable);
/* Known sizes as a tuple, a new reference. */
PyObject *sizes_tuple(Interp *in, int n, const SizeId *sizes);
/* pycompile._calls.NAME, borrowed; NULL with the error set. */
PyObject *calls_object(Interp *in, const char *name);
/* A break that may yet be taken back. */
typedef struct {
    BreakCode code;
    Break told;
    bool inlined;
} BreakNote;
BreakNote break_take(Interp *in);
void break_put(Interp *in, const BreakNote *note);

/* ---- numpy_functions.c: the table of rules ---- */
enum { MAX_ARGS = 12 };
typedef struct Rule Rule;
/* `args` in the order of the rule's signature; NULL where not given. */
typedef Answer (*RuleHandler)(Interp *in, const Rule *rule, Value *const *args, Value **out);
struct Rule {
    const char *name;  /* numpy.NAME or the method's name */
    const char *kinds; /* "f" function, "m" method, "fm" both */
    RuleHandler handler;
    int required;          /* leading arguments that must be given */
    const char *signature; /* names; `|` ends the positional ones, NAME! must be absent */
    const char *data;      /* for handlers that serve several rows */
};

/* The argument of that name; NULL when not given. */
Value *rule_arg(const Rule *rule, Value *const *args, const char *name);
/* Axis arguments: absent or None, an int, or a tuple of ints; normalised, unsorted.  *n is -1 for
   None. */
Answer value_as_axes(Interp *in, Value *value, int rank, int *n, int *axes);
Answer value_as_axis(Interp *in, Value *value, int rank, int *axis);
/* A shape: int or tuple of ints; -1 is passed on. */
Answer value_as_shape(Interp *in, Value *value, int *rank, int64_t *shape);
/* order=: 'C', 'F', 'A' or 'K'; `fallback` when absent. */
Answer value_as_order(Interp *in, Value *value, char fallback, char *out);
static inline bool
value_is_sequence(const Value *value)
{
    return value->kind == V_TUPLE || value->kind == V_LIST;
}
/* One element as Python's own number: item(), and what float(x), int(x), bool(x) are made of. */
Answer node_item(Interp *in, NodeId node, NodeId *out);

#define HANDLER(name) Answer name(Interp *in, const Rule *rule, Value *const *args, Value **out);
#include "numpy_handlers.def"
#undef HANDLER

#endif
