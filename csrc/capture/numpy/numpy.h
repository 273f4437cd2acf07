/* Inside capture/: the rules for NumPy's functions, methods, operators, indices, views and writes.
   Rules work on graph nodes, handlers on values.

   Every rule breaks (interp_break) when NumPy would raise or warn, or when the
   rule does not cover the case: the operation then runs in CPython. */
#ifndef PYCOMPILE_CAPTURE_NUMPY_H
#define PYCOMPILE_CAPTURE_NUMPY_H

#include "../core/core.h"

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

enum { MAX_ARGS = 12 };

/* What is peculiar about a function: FN_name, bits. */
enum {
#define TRAIT(name, meaning) FN_BIT_##name,
#include "numpy_traits.def"
#undef TRAIT
};
enum {
#define TRAIT(name, meaning) FN_##name = 1 << FN_BIT_##name,
#include "numpy_traits.def"
#undef TRAIT
};

/* How a call is done; see numpy_functions.def. */
typedef enum {
    DONE_BY_RULE,
    DONE_BY_STEP,
    DONE_BY_DECOMPOSED,
    DONE_BY_UFUNC,
    DONE_BY_TEXT,
    DONE_BY_DRAW,
    DONE_BY_PYTHON
} DoneBy;

typedef struct Rule Rule;
/* `args` in the order of the rule's signature; NULL where not given. */
typedef Answer (*RuleHandler)(Interp *in, const Rule *rule, Value *const *args, Value **out);
struct Rule {
    const char *name;  /* numpy.NAME or the method's name */
    const char *kinds; /* "f" function, "m" method, "fm" both, "p" of Python's */
    DoneBy way;
    RuleHandler handler;   /* of DONE_BY_RULE */
    int required;          /* leading arguments that must be given */
    const char *signature; /* names; `|` ends the positional ones, NAME! must be absent */
    const char *data;      /* for handlers that serve several rows */
    unsigned traits;
};

/* The handlers that the rows name. */
#define RULE(name, kinds, handler, ...)                                                            \
    Answer handler(Interp *in, const Rule *rule, Value *const *args, Value **out);
#define STEP(...)
#define DECOMPOSED STEP
#define UFUNC STEP
#define TEXT STEP
#define DRAW STEP
#define PYTHON STEP
#include "numpy_functions.def"
#undef RULE
#undef STEP
#undef DECOMPOSED
#undef UFUNC
#undef TEXT
#undef DRAW
#undef PYTHON

/* ---- numpy_names.c: NumPy's objects by name ---- */
/* Borrowed: numpy.NAME (dots allowed; "" is numpy itself), or NULL without an exception.  Imports
   no submodule. */
PyObject *numpy_object(const char *path);
/* Imports the submodule `name` if `module` is numpy, which does so where it is asked for it. */
int numpy_load_submodule(PyObject *module, PyObject *name);

/* ---- function_table.c: the rows of numpy_functions.def ---- */
/* The row of a function that is a rule or a step; NULL, perhaps with the error set: none. */
const Rule *rule_of_function(PyObject *callable);
/* The row of a method that is a rule or a step; NULL without an error. */
const Rule *rule_of_method(const char *name);
/* FN_... of a function, a method of ndarray or a function of Python's that steps call; 0: nothing
   is known of it. */
unsigned function_traits(PyObject *callable);
/* The name of NumPy's function that the ufunc's `reduce` is, or NULL. */
const char *ufunc_reduction(PyObject *ufunc);
/* The function that is followed in its place, borrowed; NULL, perhaps with the error set: none. */
PyObject *numpy_decomposition(PyObject *callable);
int function_table_module(PyObject *module);
/* Adds the rows' callables to the table of core/callables.c. */
int numpy_callables(void);

/* ---- trial.c: what a call gives, found out by calling it now ---- */
int trial_module(PyObject *module);
/* Known sizes as a tuple, a new reference. */
PyObject *sizes_tuple(Interp *in, int n, const SizeId *sizes);

/* ---- numpy_functions.c: np.sum, np.where …, ndarray methods and attributes ---- */
/* A callable with a row (a Rule).  In calls `nargs` counts positional arguments; those by keyword
   follow them, named by `kwnames` (or NULL). */
Answer follow_numpy(const Call *call, const void *row);
/* One without, by its type: a ufunc or a method of one, a class of numbers, a function that NumPy
   dispatches.  ANSWER_NO: not NumPy's. */
Answer follow_numpy_type(const Call *call, const void *none);
/* By what decomposes it, a function; ANSWER_NO: a call for follow_numpy_type. */
Answer follow_decomposed(const Call *call, const void *function);
Answer array_method(Interp *in, Value *array, const char *name, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);
bool array_has_method(const char *name);
/* A function of NumPy's own that takes arrays: it runs no code but NumPy's on arrays. */
bool numpy_is_known(PyObject *callable);
/* The argument of that name; NULL when not given. */
Value *rule_arg(const Rule *rule, Value *const *args, const char *name);

/* ---- numpy_python.c: what of NumPy is Python code ---- */
/* An object of np.finfo, or one of np.iinfo made here. */
bool value_is_limits(const Value *value);
/* A function of NumPy's module; ANSWER_NO: it is followed like any other. */
Answer numpy_python_call(Interp *in, PyObject *function, const char *module, int nargs,
                         Value *const *args, Value **out);
Answer limits_made(Interp *in, PyObject *class_, PyObject *argument, PyObject **out);

/* ---- ops.c: array semantics on values ---- */
/* Ufunc application with NumPy's dtype resolution, broadcasting, scalar results; nodes or weak
   Python scalars as arguments. `dtype` -1: as NumPy decides. */
Answer emit_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, int dtype,
                  Value **out);
Answer emit_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer emit_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer emit_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer emit_absolute(Interp *in, Value *value, Value **out);
/* array op= value: writes through to the storage. */
Answer emit_inplace(Interp *in, int operator_, Value *array, Value *value, Value **out);
/* A value as what an operation reads: current version of an array, or a scalar. */
Answer operand(Interp *in, Value *value, NodeId *out);
/* The same, but an array or array scalar only. */
Answer array_operand(Interp *in, Value *value, NodeId *out);
/* By the name of one of NumPy's ufuncs. */
Answer node_named(Interp *in, const char *ufunc, int nargs, const NodeId *args, NodeId *out);
/* np.where with three arguments. */
Answer node_where(Interp *in, NodeId condition, NodeId yes, NodeId no, NodeId *out);
Answer push_node(Interp *in, NodeId node, Value **out);
/* np.result_type of the nodes. */
Answer result_dtype(Interp *in, int n, const NodeId *args, DType *out);
/* `result`, computed for an in-place operator or an out= argument, written into `target`. */
Answer write_result(Interp *in, Value *target, NodeId result, Value **out);

/* ---- casts.c: dtypes, constants, weak scalars ---- */
bool dtype_can_cast_same_kind(DType from, DType to);
DType dtype_real_of(DType dtype); /* C64 -> F32; others unchanged */
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

/* ---- index.c ---- */
Answer emit_subscript(Interp *in, Value *array, Value *key, Value **out);
Answer emit_store_subscript(Interp *in, Value *array, Value *key, Value *value);
/* Writes `value` (cast as item assignment casts, and broadcast) over all that `target` shows. */
Answer node_write(Interp *in, Value *target, NodeId value);
/* pycompile._steps.NAME, borrowed; NULL with the error set. */
PyObject *numpy_step(Interp *in, const char *name);

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
/* Shapes broadcast together; ANSWER_NO when they do not. */
Answer shapes_broadcast(const Graph *g, int n, const Type *const *types, int *rank, SizeId *shape);
bool shapes_equal(const Type *a, const Type *b);

/* ---- writes.c: in-place writes to arrays from outside ---- */
/* May the array be written?  Breaks when its memory is read-only or overlaps itself; guards that it
   is writeable.  Ask before each storage_write. */
Answer write_allowed(Interp *in, Value *array);
/* The input whose memory `node` lies in; NULL when the memory was made here. */
Value *input_of(Interp *in, NodeId node);
/* EFFECT_WRITE of what is committed at this place (Storage.commit). */
int writes_commit(Interp *in, int place);
/* At the end: NO_OVERLAP guards and the other EFFECT_WRITEs.  ANSWER_NO: inputs overlap now. */
Answer writes_finish(Interp *in);

/* ---- reductions.c ---- */
/* Axis arguments: absent or None, an int, or a tuple of ints; normalised, unsorted.  *n is -1 for
   None. */
Answer value_as_axes(Interp *in, Value *value, int rank, int *n, int *axes);
Answer value_as_axis(Interp *in, Value *value, int rank, int *axis);

/* ---- products.c ---- */
Answer node_matmul(Interp *in, NodeId a, NodeId b, NodeId *out);

/* ---- shape_functions.c ---- */
/* A shape: int or tuple of ints; -1 is passed on. */
Answer value_as_shape(Interp *in, Value *value, int *rank, int64_t *shape);

/* ---- array_attributes.c ---- */
/* x.flat and x.flags are V_BUILTIN_METHODs of these names. */
bool value_is_flags(Interp *in, const Value *value);
Answer emit_flag(Interp *in, Value *flags, const char *name, Value **out);
Answer array_attribute(Interp *in, Value *array, const char *name, Value **out);
Answer array_set_attribute(Interp *in, Value *array, const char *name, Value *value);
/* operator.attrgetter(name), kept; NULL with the error set. */
PyObject *attribute_getter(Interp *in, const char *name);

/* ---- array_methods.c ---- */
/* order=: 'C', 'F', 'A' or 'K'; `fallback` when absent. */
Answer value_as_order(Interp *in, Value *value, char fallback, char *out);

/* ---- temporaries.c: operands that NumPy writes into ---- */
/* Which of an operator's two operands NumPy writes its result into (*out; -1: none), where that is
   seen: `result` is what the result is otherwise.  Breaks where an object shows what was written;
   *out is the operand then, too. */
Answer operand_elided(Interp *in, int operator_, Value *const *operands, const NodeId *nodes,
                      const Type *result, int *out);
/* An array that owns its memory, is large or of unknown size, and is held by the value stack alone.
 */
Answer operand_spare(Interp *in, Value *array, bool *out);

/* ---- externs.c ---- */
/* Calls `callable` at run time on `args`; one result of the given type. */
Answer node_extern(Interp *in, PyObject *callable, int nargs, const NodeId *args, const Type *type,
                   NodeId *out);
/* The last arguments by keyword; `kwnames` is a tuple of str or NULL. */
Answer node_extern_kw(Interp *in, PyObject *callable, int nargs, const NodeId *args,
                      PyObject *kwnames, const Type *type, NodeId *out);
/* The same of a callable that gives a new array or number; its type by trial (constants as they
   are).  Break: it raised, it gave something else, or the arguments are too large to try. */
Answer node_trial(Interp *in, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames,
                  NodeId *out);

/* ---- steps.c: whole calls at run time ---- */
/* A call at run time of `callable`, which is pure and never NULL but with the error set. */
Answer call_simple(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* Calls it in the plan; its result by trial.  The callable runs no user code. */
Answer call_whole(Interp *in, const WholeCall *call, Value **out);
/* The same after another rule has broken: the first break stays when this breaks too. */
Answer call_whole_instead(Interp *in, const WholeCall *call, Value **out);
/* pycompile._calls.NAME, borrowed; NULL with the error set. */
PyObject *calls_object(Interp *in, const char *name);

/* ---- opaque.c: arrays whose shape is known at run time only ---- */
bool any_opaque(const Interp *in, int n, Value *const *values);
Answer object_attribute(Interp *in, Value *object, const char *name, Value **out);
Answer object_method(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
                     PyObject *kwnames, Value **out);
Answer object_value(Interp *in, NodeId node, PyObject *sample, Value **out);
bool value_is_flat(const Interp *in, const Value *value);
Answer emit_flat_subscript(Interp *in, Value *flat, Value *key, Value **out);
Answer emit_store_flat_subscript(Interp *in, Value *flat, Value *key, Value *value);
/* `viewed`: it shows the memory of an argument. */
Answer opaque_value(Interp *in, NodeId node, PyObject *sample, bool viewed, Value **out);

/* ---- draws.c: np.random ---- */
bool value_is_random(Interp *in, const Value *value);
Answer draw_attribute(Interp *in, Value *generator, const char *name, Value **out);
Answer draw_method(Interp *in, Value *generator, const char *name, int nargs, Value *const *args,
                   PyObject *kwnames, Value **out);
Answer draw_bound(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* By a method of the generator behind the module. */
Answer draw_function(Interp *in, const char *method, int nargs, Value *const *args,
                     PyObject *kwnames, Value **out);

/* ---- errstate.c ---- */
/* The call of what makes NumPy's error states, and of methods of the variable that holds one. */
Answer errstate_make(Interp *in, int nargs, Value *const *args, PyObject *kwnames, Value **out);
Answer errstate_method(Interp *in, const char *name, int nargs, Value *const *args, Value **out);
bool value_is_error_state(const Value *value);

/* ---- texts.c: text of values ---- */
/* np.array2string and the like; ANSWER_NO: without an argument. */
Answer text_numpy(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* Text that is not known before the run, as an object. */
Answer loose_text(Interp *in, Value *text, Value **out);
/* A copy of an array as it is now, for what shows it when the plan commits. */
Answer freeze_array(Interp *in, Value *value, Value **out);
Answer text_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* A call whose result is an object, whatever a trial gives. */
Answer call_loose(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* Nothing of it changes any more, nor depends on an array: it can be made now. */
bool is_settled(Interp *in, Value *value, int depth);
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

#endif
