/* Inside capture/: classes, instances, functions, exceptions, generators, iteration, and Python's
   builtins and methods as rules. */
#ifndef PYCOMPILE_CAPTURE_OBJECTS_H
#define PYCOMPILE_CAPTURE_OBJECTS_H

#include "../containers/containers.h"

typedef enum { DECORATED_NOT, DECORATED_COMPILED, DECORATED_DISABLED } Decorated;

/* ---- iterate.c ---- */
bool type_is_no_iterable(const PyTypeObject *type);
/* reversed() of an object of the program's classes. */
Answer iterator_backwards(Interp *in, Value *object, Value **out);
/* __next__ of an object of the program's classes: *out is NULL when exhausted, and *returned the
   value of the StopIteration. */
Answer object_next_value(Interp *in, Value *object, Value **out, Value **returned);
/* Number of items, or -1 when not known. */
int64_t range_length(Interp *in, Value *range);
/* The range's items in reverse; ANSWER_NO where they are not known. */
Answer range_backwards(Interp *in, Value *range, Value **out);
Answer iterate_itself(Interp *in, Value *iterable, Value **out);
Answer iterate_items(Interp *in, Value *iterable, Value **out);
Answer iterate_set(Interp *in, Value *set, Value **out);
Answer iterate_const(Interp *in, Value *iterable, Value **out);
Answer iterate_node(Interp *in, Value *iterable, Value **out);
Answer iterate_pure(Interp *in, Value *iterable, Value **out);
Answer object_iterator(Interp *in, Value *object, Value **out);
Answer object_next(Interp *in, Value *object, Value **out);
/* iterate_all as list(), tuple() and list.extend() do it: they ask for a length first, so the
   class's own __len__ runs. */
Answer iterate_sized(Interp *in, Value *iterable, ValueKind kind, Value **out);
/* The remaining items as a list, made as by PySequence_List: the class's own __iter__ is called
   again, on the iterator, and so is its __len__. */
Answer iterate_list(Interp *in, Value *iterable, Value *iterator, Value **out);
Answer next_of_iterator(Interp *in, Value *iterator, Value **out);
/* In the body of a kept loop: is it the iterator of a `for` over few items that is unrolled there?
 */
bool iterator_unrolls(Interp *in, const Value *iterator);

/* ---- truth.c: truth ---- */
Answer truth_of_const(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_node(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_object(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_grown(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_items(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_view(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_pure(Interp *in, Value *value, int *known, Value **node);
Answer truth_of_range(Interp *in, Value *value, int *known, Value **node);
Answer truth_always(Interp *in, Value *value, int *known, Value **node);

/* ---- subscript.c ---- */
Answer subscript_of_const(Interp *in, Value *object, Value *key, Value **out);
Answer subscript_of_object(Interp *in, Value *object, Value *key, Value **out);
Answer subscript_of_grown(Interp *in, Value *list, Value *key, Value **out);
Answer subscript_of_sequence(Interp *in, Value *sequence, Value *key, Value **out);
Answer subscript_of_dict(Interp *in, Value *dict, Value *key, Value **out);
Answer subscript_of_known(Interp *in, Value *object, Value *key, Value **out);
Answer subscript_by_method(Interp *in, Value *object, Value *key, Value **out);
Answer sequence_position(Interp *in, Value *sequence, Value *key, bool store, int *out);
Answer dict_position(Interp *in, Value *dict, Value *key, PyObject **object, int *out);
Answer item_by_method(Interp *in, const char *name, int nargs, Value *const *args, Value **out);

/* ---- boxes.c: objects of classes derived from builtin containers ---- */
/* The builtin class from which the value's class derives, where such values are followed. */
PyTypeObject *box_base(const Value *object);
/* Its contents as a container of the builtin kind; *out NULL: it has none that is known. */
Answer box_core(Interp *in, Value *object, Value **out);
/* As box_core, where the class inherits the builtin class's method of that name, guarded; else
   NULL. */
Answer box_inherits(Interp *in, Value *object, const char *name, Value **core);
/* Calls the builtin class's method on the object. */
Answer box_method(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
                  PyObject *kwnames, Value **out);
/* The operands as containers of the builtin kinds, where their classes inherit the builtin methods
   under all of these names; ANSWER_NO: an operand is another object. */
Answer box_operands(Interp *in, int n, const char (*names)[24], Value *left, Value *right,
                    Value *both[2]);
/* box_is_new: list.__new__ or dict.__new__; box_new: the object that it makes for a class. */
bool box_is_new(PyObject *found);
Answer box_new(Interp *in, PyObject *new, PyTypeObject *type, Value **out);

/* ---- named.c: tuples of the program's classes ---- */
Answer named_make(Interp *in, Value *class_, Value *iterable, Value **out);
Answer named_items(Interp *in, Value *named, Value **out);
Answer named_find(Interp *in, Value *named, PyObject *name, Value **out);
Answer named_operates(Interp *in, const Value *value, const char *prefix, const char *operator_,
                      bool *out);

/* ---- globals.c: globals, cells ---- */
Answer follow_name(Interp *in, const Instr *instr);
Answer load_global(Interp *in, PyObject *dict, PyObject *builtins, PyObject *name, Value **out);
Answer cell_load(Interp *in, Value *cell, Value **out);
Answer global_store(Interp *in, PyObject *dict, PyObject *name, Value *value);

/* ---- attributes.c ---- */
Answer attribute_load(Interp *in, Value *object, PyObject *name, Value **out);
/* An attribute of an instance of the program's class. */
Answer instance_attribute(Interp *in, Value *object, PyObject *name, Value **out);
/* The function of a special method, looked up on the type; *out NULL when there is none. */
Answer special_method(Interp *in, Value *object, const char *name, Value **out);
/* As attribute_load, but *out NULL when there is no such attribute (guarded). */
Answer attribute_find(Interp *in, Value *object, PyObject *name, Value **out);
/* object.__getattribute__ on an instance; *out NULL when there is nothing. */
Answer generic_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer no_attribute(Interp *in, Value *object, PyObject *name);
/* AttributeError, as CPython would word it. */
Answer attribute_missing(Interp *in, Value *object, PyObject *name);
Answer builtin_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer const_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer object_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer made_instance_find(Interp *in, Value *object, PyObject *name, Value **out);
Answer method_find(Interp *in, Value *object, PyObject *name, Value **out);

/* ---- attribute_store.c ---- */
Answer attribute_store(Interp *in, Value *object, PyObject *name, Value *value);
Answer attribute_delete(Interp *in, Value *object, PyObject *name);
/* object.__setattr__ and __delattr__ (value NULL). */
Answer generic_store(Interp *in, Value *object, PyObject *name, Value *value);
Answer const_store(Interp *in, Value *object, PyObject *name, Value *value);
Answer object_store(Interp *in, Value *object, PyObject *name, Value *value);
Answer made_instance_store(Interp *in, Value *object, PyObject *name, Value *value);
Answer cannot_store(Interp *in, Value *object, PyObject *name);

/* ---- decorated.c: what pycompile.compile and pycompile.disable made ---- */
Decorated decorated_kind(PyObject *object);
/* Does a tape run, so that what is captured is differentiated itself?  -1 with the error set. */
int tape_runs(void);
/* Was the function made here in place of what pycompile.grad gives? */
bool function_is_derivative(const Value *function);
/* For a V_OBJECT that is one. */
Answer decorated_call(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                      Value **out);

/* ---- classes.c: contents of classes ---- */
/* type_lookup in the class's own dict only. */
Answer type_own_lookup(Interp *in, PyTypeObject *type, PyObject *name, PyObject **out);
/* Is it a subclass, by its MRO?  Guarded, since the program may set other bases. */
Answer type_derives(Interp *in, PyTypeObject *type, PyTypeObject *from, bool *out);
/* Guards, once, that a module or a class keeps its own class, since the program may set another. 0
   or -1. */
int guard_class(Interp *in, PyObject *object);
/* An object whose identity is guarded already: found on a class, a default. */
Value *value_of_const(Interp *in, PyObject *object);
Value *bound_method(Interp *in, Value *function, Value *self);
/* The result of reading `found`, an entry of the class `owner`, through `object`, or through the
   class itself (NULL). */
Answer descriptor_get(Interp *in, PyObject *found, Value *object, Value *owner, PyObject *name,
                      Value **out);
/* Does `found` take precedence over the instance's own dict? */
Answer descriptor_is_data(Interp *in, PyObject *found, bool *out);
/* An attribute of a class; *out NULL when there is none. */
Answer class_find(Interp *in, Value *class_, PyObject *name, Value **out);
/* A number that the code being followed counts up on the class: an input, while other attributes
   are guarded not to change; *out NULL when it is none. */
Answer class_counted(Interp *in, PyTypeObject *type, PyObject *name, Value **out);
Answer class_store(Interp *in, Value *class_, PyObject *name, Value *value);
/* The value that the program itself stored on `type` or a class that it inherits from; *out NULL
   for none. */
Answer class_pending(Interp *in, PyTypeObject *type, PyObject *name, Value **out);

/* ---- instances.c: instances made here, methods of `object` and `type` ---- */
/* Its instances are destroyed in the way of Python classes, not by C code of their own. */
bool type_has_python_end(const PyTypeObject *type);
Answer class_call(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* Calls of unbound methods of builtin types: object.__setattr__(…), str.upper(…), list.append(…).
   ANSWER_NO: another callable. */
Answer call_descriptor(Interp *in, Value *descriptor, int nargs, Value *const *args,
                       PyObject *kwnames, Value **out);

/* ---- instance_dict.c: where an instance keeps its attributes ---- */
/* The entry of the slot or of the object's own dict; *out NULL when there is none. */
Answer own_find(Interp *in, Value *object, PyObject *name, bool slot, bool guard_absence,
                Value **out);
/* What the object, or class, has under the name of its own loses a reference: see object_goes. */
Answer attribute_goes(Interp *in, const Value *object, PyObject *name);
/* `value` NULL deletes. */
/* The same without an effect: in a kept loop that carries the attribute. */
Answer own_put(Interp *in, Value *object, PyObject *name, bool slot, Value *value);
Answer own_store(Interp *in, Value *object, PyObject *name, bool slot, Value *value);
/* object.__dict__ as a dict. */
Answer own_dict(Interp *in, Value *object, Value **out);

/* ---- function_objects.c: functions' own attributes ---- */
Answer function_find(Interp *in, Value *function, PyObject *name, Value **out);
Answer function_store(Interp *in, Value *function, PyObject *name, Value *value);

/* ---- super.c ---- */
Answer super_new(Interp *in, int nargs, Value *const *args, Value **out);
Answer super_find(Interp *in, Value *super, PyObject *name, Value **out);

/* ---- enums.c: members are constants ---- */
Answer enum_call(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out);
/* The members in order, as a tuple. */
/* The member under a key, a constant, in a map of the class, guarded; *out NULL: none. */
Answer enum_entry(Interp *in, PyTypeObject *type, const char *map, PyObject *key, PyObject **out);
Answer enum_count(Interp *in, PyTypeObject *type, int *out); /* how many members it has, guarded */
Answer enum_members(Interp *in, PyObject *class_, Value **out);
/* `member`: of this enum or of another one. */
Answer enum_contains(Interp *in, Value *class_, PyObject *member, bool *out);

/* ---- special.c: operators through special methods ---- */
/* type(object).name(object, args…), bound as Python binds it; *out NULL when there is no such
   method, or the class only inherits C code that every object has. */
Answer special_call(Interp *in, Value *object, const char *name, int nargs, Value *const *args,
                    Value **out);
/* NO: the class has no Python function for it, or the int that it returns is not known. */
Answer special_hash(Interp *in, Value *object, Py_hash_t *out);
Answer special_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
/* box_operands by an operator's methods. */
Answer special_for_boxes(Interp *in, int operator_, bool compare, Value *left, Value *right,
                         Value *both[2]);
/* Is one of them a named tuple whose class defines the operator? */
Answer special_for_named(Interp *in, int operator_, Value *left, Value *right, bool *out);
Answer special_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);

/* ---- models.c: classes of the library that are written in C ---- */
/* The class for which a V_INSTANCE of a model stands; NULL for other values. */
PyTypeObject *model_real(const Value *value);
/* A bound method of a model, which the program sees as the real class's. */
bool is_model_method(const Value *value);
/* What the real class stores for such a method, and under which name; NULL: nothing.  Borrowed. */
PyObject *model_method(const Value *method, PyObject **name);
/* Calls of a modelled type, and the value of an object of one from outside; ANSWER_NO: no model. */
Answer model_make(Interp *in, PyObject *type, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
Answer model_open(Interp *in, Value *object, Value **out);
/* A container of collections that a model can represent with its contents; may set the error. */
bool model_holds(PyObject *object);
/* The value of one from outside: a V_INSTANCE of the model, with a source, whose data is a
   container from outside.  A V_OBJECT where it is not opened. */
Value *model_from_source(Interp *in, SourceId source, PyObject *object);
/* A model's code reads an attribute that only models have, from an object of a class derived from
   the modelled one. */
bool model_asks(Interp *in, PyObject *name);
/* *out: the program sees the attribute, if the model has it; breaks where only the real class has
   it. */
Answer model_shows(Interp *in, Value *object, PyObject *name, bool *out);
Answer model_stores(Interp *in, Value *object, PyObject *name);
/* The dict inside a model of a class derived from dict; any other value itself. */
Value *model_dict(Interp *in, Value *value);
/* Of the model of a deque from outside the list of its items, else the value. */
Value *model_list(Interp *in, Value *value);
/* The model of a deque whose items the list is, else the list. */
Value *model_holder(Interp *in, Value *list);
/* The maker of the real object and its arguments, as a tuple; NULL: it has none, or the error is
   set. */
Value *model_parts(Interp *in, Value *object, PyObject **maker);
PyTypeObject *type_of_method(Interp *in, Value *value);
PyTypeObject *type_of_instance(Interp *in, Value *value);

/* ---- partials.c ---- */
bool type_is_partial(const PyTypeObject *type); /* exactly functools.partial */
Answer partial_make(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out);
/* Calls a V_PARTIAL, or one from outside. */
Answer partial_call(Interp *in, Value *partial, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out);
Answer partial_find(Interp *in, Value *partial, PyObject *name, Value **out);
/* functools.update_wrapper; ANSWER_NO: it is followed like any function. */
Answer wrapper_call(Interp *in, int nargs, Value *const *args, PyObject *kwnames, Value **out);

/* ---- lru.c: calls of functools.lru_cache's wrappers from outside ---- */
Answer lru_call(Interp *in, Value *callable, int nargs, Value *const *args, PyObject *kwnames,
                Value **out);

/* ---- exceptions.c: exceptions as values ---- */
/* An operation that raises in the program breaks with BREAK_EXCEPTION and in->raising.raised; the
   loop in interp.c looks for the handler.  An exception without a handler is a break like any
   other, and CPython raises it itself. */
/* Calls of exception classes. */
Answer exception_make(Interp *in, Value *class_, int nargs, Value *const *args, PyObject *kwnames,
                      Value **out);
Answer exception_attribute(Interp *in, Value *exception, PyObject *name, Value **out);
/* *done: the attribute is one of BaseException's own. */
Answer exception_attribute_store(Interp *in, Value *exception, PyObject *name, Value *value,
                                 bool *done);
Answer exception_method(Interp *in, Value *exception, const char *name, int nargs,
                        Value *const *args, PyObject *kwnames, Value **out);
/* str(e), or repr(e). */
Answer exception_text(Interp *in, Value *exception, bool repr, Value **out);
/* The earliest step at which it, or one of its causes, was raised; INT_MAX: never. */
int exception_step(const Value *exception);
/* Guards that no exception is handled where the plan begins; breaks if one is. */
Answer handled_nothing(Interp *in);
/* sys.exc_info() and sys.exception(); ANSWER_NO: with arguments. */
Answer handled_call(Interp *in, PyObject *callable, int nargs, Value **out);
/* The exception's traceback: it can be compared with None, but never leaves. */
Value *exception_traceback(Interp *in, Value *exception);

/* ---- groups.c: exception groups, except ---- */
bool type_is_group(const PyTypeObject *type); /* exactly one of the two builtin classes */
Answer group_make(Interp *in, PyTypeObject *type, int nargs, Value *const *args, Value **out);
/* split and subgroup of a group made here; ANSWER_NO: another method. */
Answer group_method(Interp *in, Value *group, const char *name, int nargs, Value *const *args,
                    Value **out);
PyObject *group_text(const Value *group); /* str() of it; NULL with the error set */
Answer group_match(Interp *in);           /* CHECK_EG_MATCH */
Answer group_raise_rest(Interp *in);      /* PREP_RERAISE_STAR */

/* ---- handlers.c: the exception table ---- */
/* The classes that an except clause names: borrowed; raises CPython's error for anything else. */
Answer handler_classes(Interp *in, Value *classes, PyObject **out);
Answer follow_handler(Interp *in, const Instr *instr);
/* Continues in the handler of in->raising.raised; ANSWER_BREAK when the activation has none. */
Answer raised_unwind(Interp *in, Activation *activation);
/* For a break in the bottom activation while an exception that was raised here is live in the
   frame: the step before which capture must stop instead; -1: the break can stay. */
int handlers_alive_since(Interp *in);

/* ---- generators.c ---- */
Answer follow_generator(Interp *in, const Instr *instr);
/* *out is NULL when exhausted. */
Answer generator_next(Interp *in, Value *iterator, Value **out);
Answer generator_method(Interp *in, Value *iterator, const char *name, int nargs,
                        Value *const *args, Value **out);
/* Raises StopIteration; value: what a generator returned, or NULL. */
Answer raise_stop(Interp *in, Value *value);
/* The generator would have to be an object: starts again without making it. */
Answer generator_leaves(Interp *in, Value *iterator);
/* At the end: breaks when an unfinished generator would run code of the program on destruction. */
Answer generators_settle(Interp *in);

/* ---- with.c ---- */
Answer follow_with(Interp *in, const Instr *instr);

/* ---- match.c ---- */
Answer follow_match(Interp *in, const Instr *instr);

/* ---- typings.c: objects of the typing module ---- */
/* value_known, extended to these objects. */
Answer typing_known(Interp *in, Value *value, PyObject **out);
/* Union[int, float] …; ANSWER_NO: another object. */
Answer typing_subscript(Interp *in, Value *object, Value *key, Value **out);
/* The class that isinstance checks for typing.List and the like; other values unchanged. */
Answer typing_class(Interp *in, Value *value, Value **out);

/* ---- refusals.c: errors in CPython's own words ---- */
/* The call of a Python function with arguments that do not fit its parameters. */
Answer raise_arguments(Interp *in, Value *function, int nargs, PyObject *kwnames);
Answer raise_abstract(Interp *in, PyTypeObject *type);
Answer raise_empty_slot(Interp *in, PyTypeObject *type, PyObject *name);
/* A property without a getter (`get`), a setter, or, where `value` is NULL, a deleter. */
Answer raise_property(Interp *in, PyObject *property, PyTypeObject *type, bool get,
                      PyObject *value);
/* An instance's attribute that object.__setattr__ refuses to store, or (`value` NULL) to delete. */
Answer raise_attribute(Interp *in, PyTypeObject *type, PyObject *name, PyObject *value);

/* ---- class_builtins.c ---- */
/* str() or repr(), and format(), of an object of a class of the program. */
Answer object_text(Interp *in, Value *object, bool repr, Value **out);
Answer object_format(Interp *in, Value *object, Value *spec, Value **out);

/* ---- builtins.c: len, range, isinstance, float …; methods of list, dict, str, tuple ---- */
Answer call_builtin(Interp *in, PyObject *callable, int nargs, Value *const *args,
                    PyObject *kwnames, Value **out);
/* Follows a callable by its rows of builtins.def, or, where `rows` is NULL, by its type. */
Answer follow_builtin(const Call *call, const void *rows);
/* Adds what this layer follows by identity to the table of core/callables.c. */
int object_callables(void);

/* ---- methods.c: methods of the builtin containers ---- */
Answer builtin_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                      PyObject *kwnames, Value **out);

/* ---- strings.c ---- */
Answer format_value(Interp *in, const Instr *instr);
Answer build_string(Interp *in, int n);
/* ANSWER_NO: no operand is a text that is not known yet. */
Answer text_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer text_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                   PyObject *kwnames, Value **out);
/* text_call; for an exception made here, the text that its class gives. */
Answer text_of_value(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out);

/* ---- folds.c ---- */
/* Pure functions, types and methods of the library; ANSWER_NO: another callable. */
Answer call_pure(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                 Value **out);

/* ---- output.c: print, loggers, warnings ---- */
Answer output_print(Interp *in, PyObject *print, int nargs, Value *const *args, PyObject *kwnames,
                    Value **out);
/* ANSWER_NO: no method of a logger. */
Answer output_log(Interp *in, Value *function, int nargs, Value *const *args, PyObject *kwnames,
                  Value **out);
/* write and flush of sys.stdout and sys.stderr; ANSWER_NO: another method. */
Answer output_write(Interp *in, PyObject *method, int nargs, Value *const *args, Value **out);
/* warnings.warn; ANSWER_NO: the class of the warning is not known. */
Answer output_warn(Interp *in, PyObject *callable, int nargs, Value *const *args, PyObject *kwnames,
                   Value **out);

#endif
