/* Private to index*.c: what a key is made of. */
#ifndef PYCOMPILE_CAPTURE_INDEX_H
#define PYCOMPILE_CAPTURE_INDEX_H

#include "numpy.h"

typedef struct {
    Type type;    /* type of the view */
    bool element; /* ints for all axes and no Ellipsis: an array scalar */
    bool known;   /* it is of known numbers only */
    int nints;    /* start, stop, step per axis of the argument, for the printed form */
    int64_t ints[3 * MAX_RANK];
} BasicIndex;

typedef enum { ITEM_INT, ITEM_SLICE, ITEM_NEW, ITEM_ELLIPSIS, ITEM_MASK, ITEM_ARRAY } ItemKind;

typedef struct {
    ItemKind kind;
    SizeId start, stop, step; /* NO_SIZE: not given */
    Value *value;             /* ITEM_MASK, ITEM_ARRAY */
} Item;

enum { MAX_ITEMS = 2 * MAX_RANK + 2 };

/* The items of a key; *advanced is set where it contains masks or arrays. */
Answer key_parse(Interp *in, Value *key, Item *items, int *n, bool *advanced);
/* The view that items without masks and arrays give. */
Answer key_view(Interp *in, const Type *from, const Item *items, int n, BasicIndex *out);
/* The only item of a key, where it is a mask that is an array. */
Answer key_mask(Interp *in, const Item *items, int n, NodeId *out);
/* The index as a step's argument: a tuple of the known items, with `_steps.HOLE` in the place of
   each array. */
Answer key_template(Interp *in, Value *key, const Item *items, int n, PyObject **out, int *narrays,
                    NodeId *arrays);
/* The type of the view that a key of integers and slices names.  *placed: but for its place, which
   only the run tells.  ANSWER_NO: it is another key. */
Answer key_placed_view(Interp *in, Value *array, Value *key, bool *placed, Type *part);

#endif
