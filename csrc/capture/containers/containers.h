/* Inside capture/: lists, dicts and sets: their contents and changes of them. */
#ifndef PYCOMPILE_CAPTURE_CONTAINERS_H
#define PYCOMPILE_CAPTURE_CONTAINERS_H

#include "../numbers/numbers.h"

/* ---- containers.c: each ANSWER_NO where it is not concerned ---- */
Answer container_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
/* The object at the source loses a reference: breaks where its destruction runs code, else guards
   that it does not. */
Answer object_goes(Interp *in, SourceId source, PyObject *object);
/* As object_goes, and something else is stored at the source, or nothing any more. */
Answer place_goes(Interp *in, SourceId source, PyObject *object);
/* At the end of capture: how many references are dropped in all, for the guards. */
void quiet_settle(Interp *in);
/* As object_goes, for an item that a container loses (in a dict the value's position), and for all
   items. */
Answer item_goes(Interp *in, Value *container, int position);
Answer items_go(Interp *in, Value *container);
int64_t length_of_items(Interp *in, Value *value);
int64_t length_of_dict(Interp *in, Value *value);
int64_t length_of_view(Interp *in, Value *value);
Answer contained_in_const(Interp *in, Value *item, Value *container, bool *out);
Answer contained_in_sequence(Interp *in, Value *item, Value *sequence, bool *out);
Answer contained_in_dict(Interp *in, Value *item, Value *dict, bool *out);
Answer contained_in_set(Interp *in, Value *item, Value *set, bool *out);
Answer contained_in_view(Interp *in, Value *item, Value *view, bool *out);
Answer contained_in_object(Interp *in, Value *item, Value *object, bool *out);

/* ---- lists.c ---- */
Answer sequence_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                       PyObject *kwnames, Value **out);
Answer list_sort(Interp *in, Value *items, int nargs, Value *const *args, PyObject *kwnames);
/* list[slice] = items, where `items` is a list, or del list[slice] where it is NULL. */
Answer list_store_slice(Interp *in, Value *list, Value *key, Value *items);

/* ---- dicts.c ---- */
/* Index (in items) of the value of a constant key in a V_DICT, or -1; -2 with the error set. */
int dict_find(Interp *in, Value *dict, PyObject *key);
Answer dict_store(Interp *in, Value *dict, PyObject *key, Value *value);
/* The value as a key: known, and hashed without running code of the program; breaks otherwise. */
Answer dict_key(Interp *in, Value *key, PyObject **out);
Answer raise_key_error(Interp *in, PyObject *key);
Answer dict_update(Interp *in, Value *dict, Value *from);
Answer dict_fromkeys(Interp *in, int nargs, Value *const *args, Value **out);
Answer dict_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                   PyObject *kwnames, Value **out);
Answer dict_or(Interp *in, Value *left, Value *right, bool in_place, Value **out);
Answer dict_equal(Interp *in, Value *left, Value *right, bool *out);
Answer view_entry(Interp *in, Value *view, int64_t position, Value **out);
Answer view_contains(Interp *in, Value *view, Value *item, bool *out);
PyTypeObject *type_of_view(Interp *in, Value *view);

/* ---- open_dicts.c: dicts from outside whose entries are guarded one by one ---- */
bool dict_is_apart(const Value *value);
Answer apart_subscript(Interp *in, Value *dict, Value *key, Value **out);
Answer apart_contains(Interp *in, Value *dict, Value *key, bool *out);
Answer apart_store(Interp *in, Value *dict, Value *key, Value *value);
Answer apart_method(Interp *in, Value *dict, const char *name, int nargs, Value *const *args,
                    Value **out);

/* ---- sets.c: the set or frozenset at `source`; an opaque object where its entries are not plain
   ---- */
Answer set_walk(Interp *in, Value *set); /* breaks where the order of iteration is not known */
Answer set_method(Interp *in, Value *self, const char *name, int nargs, Value *const *args,
                  PyObject *kwnames, Value **out);
Answer set_make(Interp *in, PyTypeObject *type, Value *from, Value **out);
Answer set_add(Interp *in, Value *set, Value *item);
/* ANSWER_NO: not of sets. */
Answer set_binary(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer set_compare(Interp *in, int operator_, Value *left, Value *right, Value **out);
Answer set_contains(Interp *in, Value *set, Value *item, bool *out);
PyObject *set_maker(Interp *in, Value *set, PyObject **template);
/* The entries in an order in which adding them builds the same table, where one was found. */
Value **set_in_order(Interp *in, Value *set);
/* 1 + the step at which the first `__hash__` of the program's was followed for an entry; 0: none.
 */
int set_hashed(const Value *set);
Answer known_set(Interp *in, Value *set, PyObject **out);

#endif
