/* Private to the files about classes, instances and functions as objects. */
#ifndef PYCOMPILE_OBJECTS_H
#define PYCOMPILE_OBJECTS_H

#include "interp.h"

static inline bool
type_is_heap(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

/* ---- classes.c: what is stored on classes ---- */
/* type_lookup by text: what the class's MRO holds, raw and guarded; *out NULL when nothing. */
Answer type_lookup_text(Interp *in, PyTypeObject *type, const char *name, PyObject **out);
/* The same in the class's own dict only. */
Answer type_own_lookup(Interp *in, PyTypeObject *type, PyObject *name, PyObject **out);
/* ANSWER_YES: what the class has under the name is what `object` has there, C code therefore. */
Answer type_inherits(Interp *in, PyTypeObject *type, const char *name, PyTypeObject *from);
/* Is it a subclass, by its MRO?  Guarded: another base may be set. */
Answer type_derives(Interp *in, PyTypeObject *type, PyTypeObject *from, bool *out);
/* Guards, once, that a module or a class stays of its own class: another may be set.  0 or -1. */
int guard_class(Interp *in, PyObject *object);
/* An object whose identity is guarded: found on a class, a default. */
Value *value_of_const(Interp *in, PyObject *object);
Value *bound_method(Interp *in, Value *function, Value *self);
/* What `found`, which the class `owner` has, gives when read through `object`, or through the class
   itself (NULL). */
Answer descriptor_get(Interp *in, PyObject *found, Value *object, Value *owner, PyObject *name,
                      Value **out);
/* Whether `found` comes before the instance's own dict. */
Answer descriptor_is_data(Interp *in, PyObject *found, bool *out);
/* An attribute of a class; *out NULL when there is none. */
Answer class_find(Interp *in, Value *class_, PyObject *name, Value **out);
/* A number that the code being followed counts up on the class: an input, where others are guarded
   to stay; *out NULL when it is none. */
Answer class_counted(Interp *in, PyTypeObject *type, PyObject *name, Value **out);
Answer class_store(Interp *in, Value *class_, PyObject *name, Value *value);
/* What the program itself stored on a class that `type` inherits from; *out NULL for nothing. */
Value *class_pending(Interp *in, PyTypeObject *type, PyObject *name);

/* ---- refusals.c: errors in CPython's own words ---- */
Answer raise_abstract(Interp *in, PyTypeObject *type);
Answer raise_empty_slot(Interp *in, PyTypeObject *type, PyObject *name);
/* A property without a getter (`get`), a setter, or (`value` NULL) a deleter. */
Answer raise_property(Interp *in, PyObject *property, PyTypeObject *type, bool get,
                      PyObject *value);
/* An instance's attribute that object.__setattr__ refuses to store, or (`value` NULL) to delete. */
Answer raise_attribute(Interp *in, PyTypeObject *type, PyObject *name, PyObject *value);
/* A keyword that the ufunc of `nargs` operands has not.  NO without a break: it may
   have it. */
Answer raise_keyword(Interp *in, PyObject *ufunc, int nargs, PyObject *name);

/* ---- globals.c: what the program stored on a namespace, class or function from outside ---- */
Value *pending_find(Interp *in, PyObject *holder, PyObject *name); /* NULL: nothing */
int pending_store(Interp *in, PyObject *holder, PyObject *name, Value *value);
Answer global_store(Interp *in, PyObject *dict, PyObject *name, Value *value);

/* ---- attributes.c ---- */
/* As attribute_load, but *out NULL when there is no such attribute (guarded). */
Answer attribute_find(Interp *in, Value *object, PyObject *name, Value **out);
/* object.__getattribute__ on an instance; *out NULL when there is nothing. */
Answer generic_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer no_attribute(Interp *in, Value *object, PyObject *name);
/* AttributeError, as CPython would word it. */
Answer attribute_missing(Interp *in, Value *object, PyObject *name);
PyObject *interned(Interp *in, const char *text); /* borrowed */
/* What the class or a base stores under the name, NULL where nothing; no guard. */
Answer type_stored(Interp *in, PyTypeObject *type, const char *name, PyObject **out);

/* ---- instance_dict.c: where an instance keeps its attributes ---- */
/* The slot's or own dict's entry; *out NULL when there is none. */
Answer own_find(Interp *in, Value *object, PyObject *name, bool slot, bool guard_absence,
                Value **out);
/* `value` NULL deletes. */
Answer own_store(Interp *in, Value *object, PyObject *name, bool slot, Value *value);
/* object.__dict__ as a dict. */
Answer own_dict(Interp *in, Value *object, Value **out);
bool type_has_dict(const PyTypeObject *type);

/* ---- attribute_store.c ---- */
Answer attribute_delete(Interp *in, Value *object, PyObject *name);
/* object.__setattr__ and __delattr__ (value NULL). */
Answer generic_store(Interp *in, Value *object, PyObject *name, Value *value);

/* ---- instances.c: instances made here, methods of `object` and `type` ---- */
/* Its instances end as those of classes of Python code do. */
bool type_has_python_end(const PyTypeObject *type);
Answer class_call(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* Calls of unbound methods of builtin types: object.__setattr__(…), str.upper(…), list.append(…).
   ANSWER_NO with BREAK_NONE: none of them. */
Answer call_descriptor(Interp *in, Value *descriptor, int nargs, Value *const *args,
                       PyObject *kwnames, Value **out);

/* ---- super.c ---- */
Answer super_new(Interp *in, int nargs, Value *const *args, Value **out);
Answer super_find(Interp *in, Value *super, PyObject *name, Value **out);

/* ---- special.c: operators through special methods ---- */
/* Is it an object whose operators are looked up on its class? */
bool value_is_object(const Value *value);
/* type(object).name(object, args…), bound as Python binds it; *out NULL when there is no such
   method, or one of C code that every object has. */
Answer special_call(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
                    Value **out);
Answer special_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
/* box_operands by an operator's methods. */
Answer special_for_boxes(Interp *in, int operator_, bool compare, Value *left, Value *right,
                         Value *both[2]);
/* Is one of them a named tuple whose class brings the operator? */
Answer special_for_named(Interp *in, int operator_, Value *left, Value *right, bool *out);
Answer special_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);

/* ---- class_builtins.c ---- */
/* str() or repr(), and format(), of an object of a class of the program's. */
Answer object_text(Interp *in, Value *object, bool repr, Value **out);
Answer object_format(Interp *in, Value *object, Value *spec, Value **out);

/* ---- enums.c: members are constants ---- */
bool is_enum_class(PyObject *object);
bool is_enum_member(PyObject *object);
/* The class's methods of these names (`other` may be NULL) are enum's own or of C, guarded: folding
   runs none of the program's. */
Answer enum_is_plain(Interp *in, PyTypeObject *type, const char *name, const char *other);
Answer enum_call(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out);
/* The members in order, as a tuple. */
Answer enum_members(Interp *in, PyObject *class_, Value **out);

/* ---- named.c: tuples of the program's classes ---- */
bool value_is_named(const Value *value);
bool type_is_named(PyTypeObject *type);
bool named_opens(Interp *in, PyTypeObject *type);
Answer named_make(Interp *in, Value *class_, Value *iterable, Value **out);
Answer named_items(Interp *in, Value *named, Value **out);
Answer named_find(Interp *in, Value *named, PyObject *name, Value **out);
Answer named_operates(Interp *in, const Value *value, const char *prefix, const char *operator_,
                      bool *out);

/* ---- partials.c ---- */
bool type_is_partial(const PyTypeObject *type); /* exactly functools.partial */
Answer partial_make(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out);
/* Of a V_PARTIAL, or of one from outside. */
Answer partial_call(Interp *in, Value *partial, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out);
Answer partial_find(Interp *in, Value *partial, PyObject *name, Value **out);
/* functools.update_wrapper; ANSWER_NO without a break: it is followed like any function. */
Answer wrapper_call(Interp *in, PyObject *callable, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);

/* ---- numpy_python.c: what of NumPy is Python code ---- */
/* An object of np.finfo, or one of np.iinfo made here. */
bool value_is_limits(const Value *value);
Answer limits_attribute(Interp *in, Value *limits, PyObject *name, Value **out);
/* A function of NumPy's module; ANSWER_NO without a break: it is followed like any other. */
Answer numpy_python_call(Interp *in, PyObject *function, const char *module, int nargs,
                         Value *const *args, Value **out);

/* ---- call.c ---- */
int guard_there(Interp *in, SourceId source, PyObject *object); /* it is this object; once */

/* ---- subscript.c ---- */
/* The object at the source is let go: a break where it runs code then, else a guard that it does
   not. */
Answer object_goes(Interp *in, SourceId source, PyObject *object);
/* The same of an item that a container loses (of a dict the value's place), and of all. */
Answer item_goes(Interp *in, Value *container, int position);
Answer items_go(Interp *in, Value *container);

/* ---- dicts.c ---- */
bool object_has_nan(PyObject *object); /* which equals itself by identity only */

/* ---- lru.c: calls of functools.lru_cache's wrappers from outside ---- */
Answer lru_call(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                Value **out);

/* ---- decorated.c: what pycompile.compile and pycompile.disable made ---- */
typedef enum { DECORATED_NOT, DECORATED_COMPILED, DECORATED_DISABLED } Decorated;
Decorated decorated_kind(PyObject *object);
/* Of a V_OBJECT that is one. */
Answer decorated_call(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                      Value **out);

/* ---- models.c: classes of the library that are written in C ---- */
PyObject *model_for(PyTypeObject *type); /* the class that stands for it, or NULL; borrowed */
/* The class that a V_INSTANCE of a model stands for; NULL for other values. */
PyTypeObject *model_real(const Value *value);
/* A bound method of one, which the program takes for the real class's. */
bool is_model_method(const Value *value);
/* What the real class stores for such a method, and under which name; NULL: nothing.  Borrowed. */
PyObject *model_method(const Value *method, PyObject **name);
/* type(…), and what stands for one from outside; ANSWER_NO without a break: no model. */
Answer model_make(Interp *in, PyObject *type, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
Answer model_open(Interp *in, Value *object, Value **out);
/* Of collections' containers, which models can stand for with what they hold; may set the error. */
bool model_holds(PyObject *object);
/* One from outside: a V_INSTANCE of the model, with a source, whose data is a container from
   outside.  A V_OBJECT where it is not opened. */
Value *model_from_source(Interp *in, SourceId source, PyObject *object);
/* Is it code of pycompile.decompositions: a model's, or of a function that stands for NumPy's? */
bool code_is_model(const Activation *a);
/* A model's code asks another object, which is of a class derived from the modelled one, for what
   only models have. */
bool model_asks(Interp *in, PyObject *name);
/* *out: the program sees the attribute, if the model has it; breaks where only the real has. */
Answer model_shows(Interp *in, Value *object, PyObject *name, bool *out);
Answer model_stores(Interp *in, Value *object, PyObject *name);
/* The dict within a model of a class derived from dict; any other value itself. */
Value *model_dict(Interp *in, Value *value);
/* The maker of the real object and its arguments, as a tuple; NULL: it has none, or an error. */
Value *model_parts(Interp *in, Value *object, PyObject **maker);

/* ---- boxes.c: objects of classes derived from builtin containers ---- */
/* The builtin class that the value's class derives from, where such values are followed. */
PyTypeObject *box_base(const Value *object);
/* The container that it is; *out NULL: none that is known. */
Answer box_core(Interp *in, Value *object, Value **out);
/* The same where the class has the builtin class's own method of that name, guarded; else NULL. */
Answer box_inherits(Interp *in, Value *object, const char *name, Value **core);
/* The builtin class's method, called on the object. */
Answer box_method(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
                  PyObject *kwnames, Value **out);
/* The operands as the builtin kinds, where their classes have the builtin methods under all the
   names; ANSWER_NO without a break: an operand is another object. */
Answer box_operands(Interp *in, int n, const char (*names)[24], Value *left, Value *right,
                    Value *both[2]);
/* list.__new__ or dict.__new__, and what it makes of a class. */
bool box_is_new(PyObject *found);
Answer box_new(Interp *in, PyObject *new, PyTypeObject *type, Value **out);

/* ---- open_dicts.c: dicts from outside of which single entries are guarded ---- */
bool dict_is_apart(const Value *value);
Answer apart_subscript(Interp *in, Value *dict, Value *key, Value **out);
Answer apart_contains(Interp *in, Value *dict, Value *key, bool *out);
Answer apart_store(Interp *in, Value *dict, Value *key, Value *value);
Answer apart_method(Interp *in, Value *dict, const char *name, int nargs, Value *const *args,
                    Value **out);

/* ---- typings.c: objects of the typing module ---- */
/* As value_known, of these too. */
Answer typing_known(Interp *in, Value *value, PyObject **out);
/* Union[int, float] …; ANSWER_NO without a break: another object. */
Answer typing_subscript(Interp *in, Value *object, Value *key, Value **out);
bool typing_is_union(PyObject *object); /* int | float */
/* What isinstance asks in place of typing.List; other values as they are. */
Answer typing_class(Interp *in, Value *value, Value **out);

/* ---- function_objects.c: functions' own attributes ---- */
Answer function_find(Interp *in, Value *function, PyObject *name, Value **out);
Answer function_store(Interp *in, Value *function, PyObject *name, Value *value);

/* ---- functions of value_kinds.def's columns ---- */
PyTypeObject *type_of_const(Interp *in, Value *value);
PyTypeObject *type_of_object(Interp *in, Value *value);
PyTypeObject *type_of_node(Interp *in, Value *value);
PyTypeObject *type_of_tuple(Interp *in, Value *value);
PyTypeObject *type_of_iterator(Interp *in, Value *value);
PyTypeObject *type_of_method(Interp *in, Value *value);
PyTypeObject *type_of_instance(Interp *in, Value *value);
PyTypeObject *type_of_view(Interp *in, Value *view);
PyTypeObject *type_recorded(Interp *in, Value *value);
PyTypeObject *type_of_choice(Interp *in, Value *value);
const char *describe_nothing(Interp *in, Value *value);
const char *describe_iterator(Interp *in, Value *value);
const char *describe_name(Interp *in, Value *value);
const char *describe_object(Interp *in, Value *value);
const char *describe_const(Interp *in, Value *value);
Answer known_const(Interp *in, Value *value, PyObject **out);
Answer known_scalar(Interp *in, Value *value, PyObject **out);
Answer known_tuple(Interp *in, Value *value, PyObject **out);
Answer known_container(Interp *in, Value *value, PyObject **out);
Answer known_set(Interp *in, Value *set, PyObject **out);
Answer truth_of_const(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_node(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_object(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_items(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_view(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_pure(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_range(Interp *in, Value *value, int *known, Value **node);
Answer truth_always(Interp *in, Value *value, int *known, Value **node);
Answer iterate_itself(Interp *in, Value *iterable, Value **out);
Answer iterate_items(Interp *in, Value *iterable, Value **out);
Answer iterate_set(Interp *in, Value *set, Value **out);
Answer iterate_const(Interp *in, Value *iterable, Value **out);
Answer iterate_node(Interp *in, Value *iterable, Value **out);
Answer iterate_pure(Interp *in, Value *iterable, Value **out);
Answer object_iterator(Interp *in, Value *object, Value **out);
Answer object_next(Interp *in, Value *object, Value **out);
Answer next_of_iterator(Interp *in, Value *iterator, Value **out);
int64_t length_of_items(Interp *in, Value *value);
int64_t length_of_dict(Interp *in, Value *value);
int64_t length_of_view(Interp *in, Value *value);
Answer contained_in_const(Interp *in, Value *item, Value *container, bool *out);
Answer contained_in_sequence(Interp *in, Value *item, Value *sequence, bool *out);
Answer contained_in_dict(Interp *in, Value *item, Value *dict, bool *out);
Answer contained_in_set(Interp *in, Value *item, Value *set, bool *out);
Answer contained_in_view(Interp *in, Value *item, Value *view, bool *out);
Answer contained_in_object(Interp *in, Value *item, Value *object, bool *out);
Answer subscript_of_const(Interp *in, Value *object, Value *key, Value **out);
Answer subscript_of_object(Interp *in, Value *object, Value *key, Value **out);
Answer subscript_of_sequence(Interp *in, Value *sequence, Value *key, Value **out);
Answer subscript_of_dict(Interp *in, Value *dict, Value *key, Value **out);
Answer subscript_of_known(Interp *in, Value *object, Value *key, Value **out);
Answer subscript_by_method(Interp *in, Value *object, Value *key, Value **out);
Answer builtin_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer instance_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer const_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer object_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer made_instance_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer method_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer const_store(Interp *in, Value *object, PyObject *name, Value *value);
Answer object_store(Interp *in, Value *object, PyObject *name, Value *value);
Answer made_instance_store(Interp *in, Value *object, PyObject *name, Value *value);
Answer cannot_store(Interp *in, Value *object, PyObject *name);
Answer call_const(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
Answer call_method(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);
Answer call_builtin_method(Interp *in, Value *method, int nargs, Value *const *args,
                           PyObject *kwnames, Value **out);
Answer call_object(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);
Answer call_node(Interp *in, Value *node, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out);
/* ---- kinds.c: by kind ---- */
Answer value_subscript(Interp *in, Value *object, Value *key, Value **out);
Answer value_attribute(Interp *in, Value *object, PyObject *name, Value **out);
Answer value_store(Interp *in, Value *object, PyObject *name, Value *stored);

#endif
