/* Inside capture/: the rules for NumPy's functions, methods, operators, indices, views and writes.
   Rules work on graph nodes, handlers on values.  Every rule breaks (interp_break) where NumPy
   would raise or warn, or where the rule does not cover the case: CPython then executes the
   operation. */
#ifndef PYCOMPILE_CAPTURE_NUMPY_H
#define PYCOMPILE_CAPTURE_NUMPY_H

#include "../core/core.h"

enum { MAX_HOLES = 48 }; /* arguments, those within containers included */

typedef struct {
    PyObject *callable;
    int nargs; /* positional; those by keyword follow */
    Value *const *args;
    PyObject *kwnames;
    unsigned changes; /* bit per positional argument that it changes; out= always is */
    bool opaque;      /* the result's shape depends on values */
    bool untyped;     /* its results' types depend on values */
    bool device;      /* its arguments may be arrays on a device */
    bool placed;      /* its result is a view of the first argument: places.c */
    bool fixed;       /* its results' shapes do not depend on numbers among the arguments */
} WholeCall;

enum { MAX_ARGS = 12 };

/* Traits of functions, FN_name: bits. */
enum {
#define TRAIT(name, meaning) FN_BIT_##name,
#include "numpy_traits.def"
};
enum {
#define TRAIT(name, meaning) FN_##name = 1 << FN_BIT_##name,
#include "numpy_traits.def"
};

/* How a call is captured; see numpy_functions.def. */
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
    const char *kinds; /* "f" function, "m" method, "fm" both, "p" a function of Python's library */
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

/* ---- numpy_names.c: NumPy's objects by name ---- */
/* Borrowed: numpy.NAME (dots allowed; "" is numpy itself), or NULL without an exception.  Never
   imports a submodule. */
PyObject *numpy_object(const char *path);
/* Imports the submodule `name` if `module` is numpy, as NumPy itself does when the attribute is
   read. */
int numpy_load_submodule(PyObject *module, PyObject *name);

/* ---- function_table.c: the rows of numpy_functions.def ---- */
/* The row of a function that is a rule or a step; NULL where there is none, perhaps with the error
   set. */
const Rule *rule_of_function(PyObject *callable);
/* The row of a method that is a rule or a step; NULL without an error. */
const Rule *rule_of_method(const char *name);
/* The traits (FN_...) of a function, a method of ndarray or a function of Python's library that
   steps call; 0 for others. */
unsigned function_traits(PyObject *callable);
/* The name of the NumPy function that equals the ufunc's `reduce`, or NULL. */
const char *ufunc_reduction(PyObject *ufunc);
/* The Python function that decomposes the callable, borrowed; NULL where there is none, perhaps
   with the error set. */
PyObject *numpy_decomposition(PyObject *callable);
int function_table_module(PyObject *module);
/* Adds the rows' callables to the table of core/callables.c. */
int numpy_callables(void);

/* ---- trial.c: the type of a call's result, found by calling it while capturing ---- */
int trial_module(PyObject *module);

/* ---- numpy_functions.c: np.sum, np.where …, ndarray methods and attributes ---- */
/* Follows a callable with a row (a Rule).  In calls, `nargs` counts positional arguments; keyword
   arguments follow them, named by `kwnames` (or NULL). */
Answer follow_numpy(const Call *call, const void *row);
/* Follows a callable without a row by its type: a ufunc or a method of one, a class of numbers, a
   function that NumPy dispatches.  ANSWER_NO: not NumPy's. */
Answer follow_numpy_type(const Call *call, const void *none);
/* Follows the decomposition `function`; ANSWER_NO: a call for follow_numpy_type. */
Answer follow_decomposed(const Call *call, const void *function);
Answer array_method(Interp *in, Value *array, const char *name, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);
bool array_has_method(const char *name);
/* A function of NumPy that takes arrays and runs no code outside NumPy on them. */
bool numpy_is_known(PyObject *callable);
/* Binds the arguments as the rule's signature says and calls its handler; a call that it does not
   follow is a step of `callable`, unless that is NULL. */
Answer rule_call(Interp *in, const Rule *rule, PyObject *callable, int nargs, Value *const *args,
                 PyObject *kwnames, Value **out);
/* The rule's own nodes; whether it takes arrays whose lengths change from turn to turn, it says. */
Answer rule_apply(Interp *in, const Rule *rule, Value *const *bound, Value **out);
/* May another way of capturing the call be tried after this break?  Not where NumPy itself would
   refuse it. */
bool break_is_ours(BreakCode code);

/* ---- signature.c: arguments by a rule's signature ---- */
/* The argument of that name; NULL when not given. */
Value *rule_arg(const Rule *rule, Value *const *args, const char *name);
/* Binds the arguments as the rule's signature says. */
Answer rule_bind(Interp *in, const Rule *rule, int nargs, Value *const *args, PyObject *kwnames,
                 Value **bound);
/* The argument, which a rule does not use, has its default value.  `text`: the default up to the
   next space, where it is a text. */
bool value_is_default(const Value *value, const char *name, size_t length, const char *text);
/* The arguments that the function changes, a bit each: the first, and out where all arguments of
   the signature may be positional. */
unsigned rule_changes(const Rule *rule);

/* ---- ufunc_calls.c ---- */
Answer call_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
Answer call_ufunc_method(Interp *in, PyObject *method, int nargs, Value *const *args,
                         PyObject *kwnames, Value **out);

/* ---- device_calls.c: functions of a device's library that a plan calls as they are ---- */
bool device_calls_method(const char *name);
/* A call of the library's method of this name, which device_calls_method has; `args` begins with
   the array. */
Answer device_call_method(Interp *in, const char *name, int nargs, Value *const *args,
                          PyObject *kwnames, Value **out);
/* array[key] by the library's `take`.  ANSWER_NO: the key is another than an array of integers
   beside whole slices. */
Answer device_take(Interp *in, Value *array, Value *key, Value **out);
/* What a rule has answered, or where it broke for want of a kernel, a call of the library's own
   function, which takes `most` positional arguments before its `out`. */
Answer device_or_call(Interp *in, Answer answer, const char *name, int most, PyObject *callable,
                      int nargs, Value *const *args, PyObject *kwnames, Value **out);
/* As device_or_call, for a function or method with a row. */
Answer device_rule_or_call(Interp *in, const Rule *rule, PyObject *callable, int nargs,
                           Value *const *args, PyObject *kwnames, Value **out);
/* Operators of which an operand is on a device. */
Answer device_operator(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer device_comparison(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer device_unary_operator(Interp *in, int operator_, Value *operand, Value **out);
/* Adds the functions to the table of core/callables.c. */
int device_call_callables(void);

/* ---- collectives.c: calls of a communicator ---- */
int collective_callables(void);

/* ---- device.c: arrays of a library whose memory is a device's ---- */
bool value_is_on_device(const Value *value);
/* For messages: what the array is of. */
const ArrayLibrary *device_library(const Interp *in, const Value *value);
/* PC0051: "`what` of a CuPy array". */
Answer device_break(Interp *in, const Value *value, const char *what);
/* The operand's node: the elements of an array, or a Python number. */
Answer device_operand(Interp *in, Value *value, NodeId *out);
/* The row of a method that is followed, or NULL. */
const Rule *device_method_rule(const char *name);
/* A call of a function or method by its row. */
Answer device_rule(Interp *in, const Rule *rule, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);
PyTypeObject *type_of_device(Interp *in, Value *value);
const char *describe_device(Interp *in, Value *value);
/* The library's ufunc of this name (NumPy's). */
Answer device_ufunc(Interp *in, const char *ufunc, int nargs, Value *const *args, Value **out);
Answer device_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer device_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer device_unary(Interp *in, int operator_, Value *operand, Value **out);
Answer device_method(Interp *in, Value *array, const char *name, int nargs, Value *const *args,
                     PyObject *kwnames, Value **out);
/* Adds the libraries' functions to the table of core/callables.c. */
int device_callables(void);

/* The node cast to the dtype; bfloat16 is of devices only, where a number of the host becomes an
   array of rank 0. */
Answer device_cast(Interp *in, NodeId node, DType dtype, Device device, NodeId *out);
/* The ufunc of this name on nodes; of bools, sums and products are logic. */
Answer device_named(Interp *in, const char *ufunc, int nargs, const NodeId *args, NodeId *out);

/* ---- device_reduce.c: rules of device.c ---- */
/* sum, prod, max, min, all, any: `data` is the op's name; mean. */
Answer device_reduce(Interp *in, const Rule *rule, Value *const *args, Value **out);
Answer device_var(Interp *in, const Rule *rule, Value *const *args, Value **out);
Answer device_ptp(Interp *in, const Rule *rule, Value *const *args, Value **out);
Answer device_arg_reduce(Interp *in, const Rule *rule, Value *const *args, Value **out);

/* ---- device_writes.c: in-place writes to them ---- */
/* The array's node, of which views are made. */
Answer device_array(Interp *in, Value *value, NodeId *out);
/* As device_contents, of any device. */
Answer device_elements(Interp *in, Value *value, NodeId *out);
/* The number where the mask holds, elsewhere the array's elements, in its dtype. */
Answer device_chosen(Interp *in, NodeId mask, NodeId number, NodeId array, NodeId *out);
/* The node of its elements as they are now. */
Answer device_contents(Interp *in, Value *value, NodeId *out);
/* As device_contents, with the array's own layout, as the library's functions get it. */
Answer device_argument(Interp *in, Value *value, NodeId *out);
/* Writes the result of a ufunc into the array. */
Answer device_write_result(Interp *in, Value *target, NodeId result, Value **out);
/* array[key] = value */
Answer device_store(Interp *in, Value *array, Value *key, Value *value);
Answer device_fill(Interp *in, const Rule *rule, Value *const *args, Value **out);

/* ---- device_views.c: their attributes and parts ---- */
Answer device_find(Interp *in, Value *array, PyObject *name, Value **out);
/* The view array[key] of basic indexing. */
Answer device_part(Interp *in, Value *array, Value *key, NodeId *out);
Answer subscript_of_device(Interp *in, Value *array, Value *key, Value **out);

/* ---- limits.c: np.finfo, np.iinfo ---- */
/* The result of np.finfo, or one of np.iinfo that was made here. */
bool value_is_limits(const Value *value);
Answer limits_made(Interp *in, PyObject *class_, PyObject *argument, PyObject **out);

/* ---- numpy_python.c: NumPy's functions and classes written in Python ---- */
/* Calls a function of NumPy's module; ANSWER_NO: it is followed like any other. */
Answer numpy_python_call(Interp *in, PyObject *function, const char *module, int nargs,
                         Value *const *args, Value **out);

/* ---- operands.c ---- */
/* A number whose class is known only when the plan runs. */
bool value_is_loose_number(Interp *in, const Value *value);
/* The operand's node: the current version of an array, or a scalar. */
Answer operand(Interp *in, Value *value, NodeId *out);
/* As operand, for an array or array scalar only. */
Answer array_operand(Interp *in, Value *value, NodeId *out);
/* The node's lengths, where it is no axis of one element, are those of `with`, which may be others
   afterwards: guarded or asserted; and the node is then a view that has them. */
Answer lengths_fit(Interp *in, NodeId *node, Type *with);
/* The same of all operands of an operation. */
Answer lengths_agree(Interp *in, int nargs, NodeId *args);
Answer push_node(Interp *in, NodeId node, Value **out);

/* ---- ufuncs.c: ufuncs as nodes ---- */
/* Applies a ufunc with NumPy's dtype resolution, broadcasting and scalar results; arguments are
   nodes or weak Python scalars.  `dtype` -1: as NumPy decides. */
Answer emit_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, int dtype,
                  Value **out);
/* Applies the ufunc to nodes, which are read as they are: not in their storage's current version.
   `dtype` -1: as NumPy decides. */
Answer node_ufunc(Interp *in, PyObject *ufunc, int nargs, const NodeId *args, int dtype,
                  NodeId *out);
/* As node_ufunc, by the ufunc's name. */
Answer node_named(Interp *in, const char *ufunc, int nargs, const NodeId *args, NodeId *out);
/* As node_named, of elements of rows, in a kept loop: ints wrap round, as those of arrays do. */
Answer node_of_rows(Interp *in, const char *ufunc, int nargs, const NodeId *args, NodeId *out);
/* np.where with three arguments. */
Answer node_where(Interp *in, NodeId condition, NodeId yes, NodeId no, NodeId *out);
/* np.result_type of the nodes. */
Answer result_dtype(Interp *in, int n, const NodeId *args, DType *out);
bool nodes_are_scalars(const Interp *in, int n, const NodeId *args); /* none is an array */
/* The steps of node_ufunc: the dtypes that NumPy takes, with those of the loop in `ins`; the same,
   and the type of the result as a new array; and the node.  `whole` is called by the plan where
   neither a kernel nor a block call has the ufunc's bits. */
Answer ufunc_dtypes(Interp *in, PyObject *ufunc, int nargs, const NodeId *args, int dtype,
                    DType *ins, DType *out);
Answer ufunc_types(Interp *in, PyObject *ufunc, int nargs, NodeId *args, int dtype, DType *ins,
                   Type *type);
Answer node_typed_ufunc(Interp *in, PyObject *ufunc, PyObject *whole, int nargs, const NodeId *args,
                        int dtype, const DType *ins, Type type, NodeId *out);
/* The op that has the bits of NumPy's own ufunc, or -1. */
int ufunc_op(PyObject *ufunc, DType dtype);

/* ---- ops.c: operators ---- */
Answer emit_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer emit_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer emit_unary(Interp *in, InstrKind operator_, Value *operand, Value **out);
Answer emit_absolute(Interp *in, Value *value, Value **out);
/* array op= value: a write to the storage. */
Answer emit_inplace(Interp *in, int operator_, Value *array, Value *value, Value **out);
/* Writes `result`, computed for an in-place operator or an out= argument, to `target`. */
Answer write_result(Interp *in, Value *target, NodeId result, Value **out);

/* ---- casts.c: dtypes, constants, weak scalars ---- */
bool dtype_can_cast_same_kind(DType from, DType to);
DType dtype_real_of(DType dtype); /* C64 -> F32; others unchanged */
/* The object of a scalar node: a constant, or an input, which is then guarded by value. */
Answer node_known(Interp *in, NodeId node, PyObject **out);
/* int_bounds.c: is Python's int that the graph computes in the range, whatever the values are? */
bool node_in_range(const Interp *in, NodeId node, int64_t low, int64_t high);
/* A scalar constant of the dtype, converted from a Python or array scalar as item assignment does.
   ANSWER_BREAK: out of range, or NumPy would warn. */
Answer node_scalar(Interp *in, PyObject *value, DType dtype, NodeId *out);
NodeId node_int(Interp *in, int64_t value, DType dtype);
NodeId node_float(Interp *in, double value, DType dtype);
/* A Python object as argument of an extern. */
NodeId node_object(Interp *in, PyObject *object);
/* Casts as `astype` does (fresh array; the same node when nothing changes). */
Answer node_cast(Interp *in, NodeId node, DType dtype, NodeId *out);
/* Before a comparison: Python's int and NumPy's narrower one as int64, unless the former fits the
   latter's dtype: NumPy compares the numbers. */
Answer nodes_widen(Interp *in, NodeId *args);
/* In a kept loop Python's int as NumPy's scalar of the dtype, which it must fit, else the loop is
   left: one of two numbers whose classes differ (Loop.python). */
Answer node_weak(Interp *in, NodeId number, DType dtype, NodeId *out);
/* A cast to a fresh array in this order, as `astype` makes it: what an operation would make of the
   same strides differs where some are 0. */
Answer cast_fresh(Interp *in, NodeId node, DType dtype, char order, NodeId *out);
/* The node's bits in another form: an array of rank 0 as a scalar, or a scalar as an array of rank
   0. */
Answer node_form(Interp *in, NodeId node, Form form, NodeId *out);
/* A known object: constants as in value_known, and existing objects guarded by identity. */
Answer object_known(Interp *in, Value *value, PyObject **out);
/* dtype= arguments: NULL or None leave `*out` alone. */
Answer value_as_dtype(Interp *in, Value *value, DType *out);
/* As value_as_dtype, where an array of a device is made, which may be of bfloat16. */
Answer value_as_device_dtype(Interp *in, Value *value, DType *out);
/* True when the argument was not given or is None. */
bool value_absent(const Value *value);
bool value_is_none(const Value *value);
/* A flag such as keepdims: known bool, `fallback` when not given (None is no flag). */
Answer value_as_flag(Interp *in, Value *value, bool fallback, bool *out);

/* ---- index.c, index_key.c, index_store.c ---- */
/* The view array[key] of ints, slices, Ellipsis and None; *element is set where it is one element.
   ANSWER_NO: the key has masks or arrays. */
Answer node_index(Interp *in, NodeId array, Value *key, bool *element, NodeId *out);
Answer emit_subscript(Interp *in, Value *array, Value *key, Value **out);
Answer emit_store_subscript(Interp *in, Value *array, Value *key, Value *value);
/* Writes `value`, cast as by item assignment and broadcast, over all elements of `target`. */
Answer node_write(Interp *in, Value *target, NodeId value);
/* Is what the cast of the value gives what NumPy stores in elements of the dtype? */
bool stores_as_cast(Interp *in, NodeId value, DType to);
/* pycompile._steps.NAME, which performs a kind of subscript when the plan runs: borrowed; NULL with
   the error set. */
PyObject *numpy_step(Interp *in, const char *name);

/* ---- index_list.c: ANSWER_NO where the key is no short list of ints that a turn computes ---- */
Answer index_list_read(Interp *in, Value *array, Value *key, Value **out);
Answer index_list_write(Interp *in, Value *array, Value *key, Value *value);

/* ---- views.c: views as nodes; their types follow NumPy's rules, on a device CuPy's ---- */
Answer node_view(Interp *in, Op op, NodeId array, const Type *type, int nints, const int64_t *ints,
                 NodeId *out);
Answer node_reshape(Interp *in, NodeId array, int rank, const SizeId *shape, NodeId *out);
Answer node_transpose(Interp *in, NodeId array, const int *permutation, NodeId *out);
Answer node_broadcast(Interp *in, NodeId array, int rank, const SizeId *shape, NodeId *out);
/* No axis steps further than the one before it, whatever the lengths are. */
bool axes_are_nested(const Graph *g, const Type *type);
/* A length that is computed, and 1 in this call, has told nothing of the order of axes: where that
   could be another than as they come, the length is known, or 2 or more. */
Answer order_is_seen(Interp *in, const Type *type, int nargs, const Type *args);
/* Fresh copy; order 'C', 'F', 'K' or 'A'. */
Answer node_copy(Interp *in, NodeId array, char order, NodeId *out);
/* The type of a fresh array of this dtype with the layout that order 'C', 'F', 'A' or 'K' gives for
   `like`. */
Answer fresh_type(Interp *in, Type *out, DType dtype, const Type *like, char order);
/* Of a shape as creating functions take it. */
Answer shape_sizes(Interp *in, Value *value, int *rank, SizeId *sizes);
/* A list of numbers as an array node; for `dtype` NULL, NumPy chooses. */
Answer array_from_list(Interp *in, Value *value, const DType *dtype, NodeId *out);

/* ---- writes.c: in-place writes to arrays from outside ---- */
/* May the array be written?  Breaks where its memory is read-only or overlaps itself; guards that
   it is writeable.  Ask before each storage_write. */
Answer write_allowed(Interp *in, Value *array);
/* The input whose memory `node` lies in; NULL when the memory was made here. */
Value *input_of(Interp *in, NodeId node);
/* Adds the EFFECT_WRITE of each storage that is committed before this effect (Storage.commit). */
int writes_commit(Interp *in, int place);
/* The target of a write and an operand of NumPy's loop that writes it: breaks, or guards, where the
   operand is another view whose memory reaches into the target's. */
Answer write_beside(Interp *in, NodeId target, NodeId operand);
/* Are two views of one storage known to share nothing? */
bool views_apart(const Graph *g, const Type *a, const Type *b);
/* At the end, when the other effects are built: adds NO_OVERLAP guards and the other EFFECT_WRITEs,
   and tells the graph which outputs they are.  ANSWER_NO: inputs overlap now. */
Answer writes_finish(Interp *in);

/* ---- crossing.c: copies between views of one array ---- */
typedef struct {
    NodeId target, value; /* in whose memory they lie */
    Type to, from;
    bool placed; /* only the run tells where: places.c */
} Copy;
/* Breaks, guards or asserts where NumPy reads elements of the value that it has written. */
Answer copy_allowed(Interp *in, const Copy *copy);

/* ---- reductions.c ---- */
/* Axis arguments: absent or None, an int, or a tuple of ints; normalised, unsorted.  *n is -1 for
   None. */
Answer value_as_axes(Interp *in, Value *value, int rank, int *n, int *axes);
Answer value_as_axis(Interp *in, Value *value, int rank, int *axis);

/* ---- products.c ---- */
Answer node_matmul(Interp *in, NodeId a, NodeId b, NodeId *out);

/* ---- shape_functions.c ---- */
/* A shape: int or tuple of ints; -1 is passed on. */
Answer value_as_shape(Interp *in, Value *value, int *rank, SizeId *shape);
/* The arrays, which get the axis; their nodes change. */
Answer nodes_stack(Interp *in, int axis, int n, NodeId *nodes, NodeId *out);

/* ---- strided.c ---- */
/* Where the view of the array leaves the graph, `maker` (borrowed, kept) makes it of that, so that
   its base is as in NumPy. */
Answer strided_leaves(Interp *in, Value *of, PyObject *maker, Value *view);

/* ---- array_attributes.c ---- */
/* The values of x.flat and x.flags: V_BUILTIN_METHODs of these names. */
bool value_is_flags(Interp *in, const Value *value);
/* May the array be written?  A break for a read-only one from outside, since no guard says that it
   stays read-only. */
Answer array_known_writeable(Interp *in, Value *array, bool *out);
/* `flags.name`, or with `key` `flags[name]`. */
Answer emit_flag(Interp *in, Value *flags, PyObject *name, bool key, Value **out);
Answer array_attribute(Interp *in, Value *array, const char *name, Value **out);
Answer array_set_attribute(Interp *in, Value *array, const char *name, Value *value);
/* operator.attrgetter(name), kept; NULL with the error set. */
PyObject *attribute_getter(Interp *in, const char *name);

/* ---- array_methods.c ---- */
/* order=: 'C', 'F', 'A' or 'K'; `fallback` when absent. */
Answer value_as_order(Interp *in, Value *value, char fallback, char *out);

/* ---- temporaries.c: operands whose memory NumPy reuses ---- */
/* *out: the one of an operator's two operands into which NumPy writes the result, where that is
   visible, else -1; `result` is the result without it.  Breaks where another object shows that
   memory; *out is the operand then, too.  *test: it does so where this node is true, and only the
   order of the operands shows it; NO_NODE: always. */
Answer operand_elided(Interp *in, int operator_, Value *const *operands, const NodeId *nodes,
                      const Type *result, int *out, NodeId *test);
/* The references of the program to an object: from value stacks, and all others; 0 or -1. */
int value_references(Interp *in, const Value *value, int *stacked, int *held);
/* Does NumPy write the result of this operator, of one operand, into it? It is asked only where
   that changes the result's layout. */
Answer sole_operand_elided(Interp *in, const Value *operand, NodeId node, const Type *result,
                           bool *out);
/* An array that owns its memory, is large or of unknown size, and to which only the value stack
   refers. */
Answer operand_spare(Interp *in, Value *array, bool *out);

/* ---- externs.c ---- */
/* Breaks: the call cannot take an array whose length changes. */
Answer break_length(Interp *in);
/* Calls `callable` on `args` when the plan runs; one result of the given type. */
Answer node_extern(Interp *in, PyObject *callable, int nargs, const NodeId *args, const Type *type,
                   NodeId *out);
/* As node_extern, with the last arguments passed by keyword; `kwnames` is a tuple of str or NULL.
 */
Answer node_extern_kw(Interp *in, PyObject *callable, int nargs, const NodeId *args,
                      PyObject *kwnames, const Type *type, NodeId *out);
/* As node_extern_kw, for a callable that returns a new array or number whose type a trial finds
   (constants are passed as they are).  Breaks where it raised or returned anything else, or where
   the arguments are too large for a trial. */
Answer node_trial(Interp *in, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames,
                  NodeId *out);

/* ---- steps.c: whole calls at run time ---- */
/* A step that calls `callable`, which is pure.  NULL for `callable`: the error is set. */
Answer call_simple(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* A step of a whole call; its result's type is found by trial.  The callable runs no code of the
   program. */
Answer call_whole(Interp *in, const WholeCall *call, Value **out);
/* As call_whole, after another rule broke: where this breaks too, the first break is reported. */
Answer call_whole_instead(Interp *in, const WholeCall *call, Value **out);
/* pycompile._calls.NAME, borrowed; NULL with the error set. */
PyObject *calls_object(Interp *in, const char *name);

/* ---- places.c: views at places that only the run tells ---- */
/* The opaque value is array[key], and has the shape of `part`.  -1 with the error set. */
int place_note(Interp *in, const Value *view, Value *array, Value *key, const Type *part);
/* What such a view shows now, in a new array.  ANSWER_NO: it is no such view. */
Answer place_copy(Interp *in, const Value *view, NodeId *out);
/* The same of a small one that an operator, or a matrix product, reads alike in C order; ANSWER_NO:
   it is none. */
Answer place_read(Interp *in, const Value *view, bool product, NodeId *out);
/* A step takes the view itself. */
Answer place_taken(Interp *in, const Opaque *view);
/* Is the key made of lists of integers, with integers and slices?  What it reads has a shape that
   the lengths of the lists decide. */
bool key_gathers(Interp *in, Value *key);
/* Before the store array[key] = value: *at and *stored are these as they are now, and a step raises
   what the store would.  ANSWER_NO: it is a store of another kind. */
Answer open_store(Interp *in, Value *array, Value *key, Value *value, Value **at, Value **stored);
/* Behind it. */
void open_stored(Interp *in, Value *at, Value *stored);
/* Can the view leave the graph as an object?  ANSWER_BREAK: not this one. */
Answer place_leaves(Interp *in, const Value *view);

/* ---- opaque.c: arrays and objects that are known only when the plan runs ---- */
bool any_opaque(const Interp *in, int n, Value *const *values);
/* Of one of two numbers of several classes (OP_pick), which both are of the dtype, the number as
   Python's.  ANSWER_NO: it is another value. */
Answer picked_number(Interp *in, const Value *value, DType dtype, Value **out);
Answer object_attribute(Interp *in, Value *object, const char *name, Value **out);
Answer object_method(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
                     PyObject *kwnames, Value **out);
Answer object_value(Interp *in, NodeId node, PyObject *sample, Value **out);
/* The program's object as an argument of steps, where it is not changed but by them. */
Answer object_input(Interp *in, Value *object, PyObject *sample, Value **out);
/* A call whose result is represented as an object, whatever the trial returns. */
Answer call_loose(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* A text that is known only when the plan runs, as an opaque object. */
Answer loose_text(Interp *in, Value *text, Value **out);
bool value_is_flat(const Interp *in, const Value *value);
Answer emit_flat_subscript(Interp *in, Value *flat, Value *key, Value **out);
Answer emit_store_flat_subscript(Interp *in, Value *flat, Value *key, Value *value);
/* `viewed`: it shares the memory of an argument. */
Answer opaque_value(Interp *in, NodeId node, PyObject *sample, bool viewed, Value **out);

/* ---- masked.c: what a mask selects of an array ---- */
/* array[mask], of a mask that fits the array.  ANSWER_NO: it does not. */
Answer masked_read(Interp *in, NodeId array, NodeId mask, Value **out);
/* The array of which the value is what a mask selects; NO_NODE: it is another value. */
/* In a turn of a repeat: what the mask selects, as an array whose length is a size of the turn. */
Answer masked_selected(Interp *in, Value *value, Value **out);
NodeId masked_whole(Interp *in, const Value *value);
/* The ufunc of operands of which some are read through one mask, as one over all elements under
   that mask, where that is cheap.  ANSWER_NO: a step does it. */
Answer masked_ufunc(Interp *in, PyObject *ufunc, int nargs, Value *const *args, int dtype,
                    Value **out);
/* As masked_ufunc, written to the operand `target`, which was read through the mask. */
Answer masked_inplace(Interp *in, PyObject *ufunc, int nargs, Value *const *args, Value *target,
                      Value **out);
/* The elements, over all of its array, of a value that was read through this very mask, to be cast
   to `dtype`.  ANSWER_NO: it is no such value. */
Answer masked_elements(Interp *in, const Value *value, NodeId mask, DType dtype, NodeId *out);
/* The mask with axes of length 1 behind it: `rank` axes in all. */
Answer mask_widened(Interp *in, NodeId mask, int rank, NodeId *out);

/* ---- draws.c: np.random ---- */
bool value_is_random(Interp *in, const Value *value);
/* Can a kept loop draw from it: a generator of NumPy's, or a random.Random? */
bool value_can_draw(Interp *in, const Value *value);
DrawClass draw_class(Interp *in, const Value *value);
/* A step that makes a stream of it, and one that puts the state back. */
Answer draws_open(Interp *in, Value *generator, Value **out);
Answer draws_close(Interp *in, Value *generator, Value *stream);
Answer draw_attribute(Interp *in, Value *generator, const char *name, Value **out);
Answer draw_method(Interp *in, Value *generator, const char *name, int nargs, Value *const *args,
                   PyObject *kwnames, Value **out);
Answer draw_bound(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* A draw by a method of the generator behind the module. */
Answer draw_function(Interp *in, const char *method, int nargs, Value *const *args,
                     PyObject *kwnames, Value **out);

/* ---- errstate.c ---- */
/* Follows a call that makes one of NumPy's error states, or of a method of the variable that holds
   one. */
Answer errstate_make(Interp *in, int nargs, Value *const *args, PyObject *kwnames, Value **out);
Answer errstate_method(Interp *in, const char *name, int nargs, Value *const *args, Value **out);
bool value_is_error_state(const Value *value);

/* ---- devices.c: the current device ---- */
/* Is it one of the library's devices? */
bool value_is_device(const Value *value);
/* The device with this index of Graph.device, as an object of the library. */
Answer device_object(Interp *in, int index, Value **out);
/* Enters a with block of the device. */
Answer device_enter(Interp *in, Value *device);
/* A method of it: __enter__ or __exit__. */
Answer device_block_method(Interp *in, Value *device, const char *name, Value **out);
/* Breaks where the array, or a result, is elsewhere: the library warns of such operations. */
Answer device_is_current(Interp *in, const Type *type);
bool device_is_elsewhere(const Interp *in, const Value *value);
/* The elements of an array of another device in a new array of the current one, by a call of
   `callable`, which is one that copies. */
Answer device_move(Interp *in, PyObject *callable, Value *value, Value **out);
int device_class_callables(void);

/* ---- texts.c: text of values ---- */
/* np.array2string and the like; ANSWER_NO where no argument is given. */
Answer text_numpy(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* A copy of an array with its present contents, for an effect that shows it at commit. */
Answer freeze_array(Interp *in, Value *value, Value **out);
Answer text_call(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);
/* The value neither changes any more nor depends on an array: its object can be made now. */
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
