/* Numbers that follow from the sizes of the program's arrays: the count that a mean divides by, the
   end of a range over an array.  A graph for arrays of one size has them as constants; in a
   kernel's text they would make it another one for each size, which the compiler has to see, where
   everything else in it is the same.  So they are arguments.

   What always holds: the argument is the graph's own constant, whatever it is taken for.  So this
   decides about speed, and never about a result.

   Where a constant came from is not known any more; it is recognised by its value, which is that of
   a size, or close to it: an axis of an input, two of its axes together, or all.  One that is alike
   by chance becomes an argument, too, and the compiler cannot make use of its value; one that is
   not recognised, since it is another function of a size, costs a compile for each size.  The
   answer depends on nothing but the graph, so that equal graphs have equal texts.

   Small sizes are mostly axes of a few elements and loops that are unrolled, which are better left
   in the text.  Once another plan of the place did not hold, which the graph tells, a small size is
   likelier a length that changes: then those from 2 on count. */
#include "schedule.h"

enum {
    LEAST_SIZE = 32,
    LEAST_CHANGING = 2,
    MOST_SIZES = 256,
};

static int64_t
least_size(const Lowering *lw)
{
    return lw->graph->sizes_change ? LEAST_CHANGING : LEAST_SIZE;
}

static int
add_size(Lowering *lw, int64_t size)
{
    if (size < least_size(lw) || lw->array_sizes.len == MOST_SIZES) return 0;
    for (int i = 0; i < lw->array_sizes.len; i++)
        if (lw->array_sizes.at[i] == size) return 0;
    return VEC_PUSH(lw->arena, &lw->array_sizes, size);
}

int
sized_find(Lowering *lw)
{
    const Graph *g = lw->graph;
    for (int number = 0; number < g->inputs.len; number++) {
        const Type *type = &graph_node(g, g->inputs.at[number])->type;
        if (type->form != FORM_ARRAY) continue;
        int64_t all = 1;
        bool known = true;
        for (int i = 0; i < type->rank; i++) {
            known = known && size_is_const(g, type->shape[i]);
            int64_t size = size_is_const(g, type->shape[i]) ? size_value(g, type->shape[i]) : 0;
            if (add_size(lw, size) < 0) return -1;
            if (__builtin_mul_overflow(all, size, &all)) known = false;
            for (int k = 0; k < i && type->rank > 2 && known; k++) {
                int64_t both = size * size_value(g, type->shape[k]);
                if (add_size(lw, both) < 0) return -1;
            }
        }
        if (known && add_size(lw, all) < 0) return -1;
    }
    return 0;
}

static bool
constant_int(const Node *node, int64_t *out)
{
    uint64_t bits[2]; /* constant_read takes room for the widest dtype */
    double wide;
    float narrow;
    DType dtype = (DType)node->type.dtype;
    if (dtype != DT_I64 && dtype != DT_F64 && dtype != DT_F32) return false;
    if (constant_read(node->attrs.object, dtype, bits) < 0) return false;
    memcpy(out, bits, sizeof *out);
    if (dtype == DT_I64) return true;
    memcpy(&wide, bits, sizeof wide);
    memcpy(&narrow, bits, sizeof narrow);
    if (dtype == DT_F32) wide = narrow;
    if (!(wide >= 0 && wide <= 0x1p62)) return false;
    *out = (int64_t)wide;
    return (double)*out == wide;
}

bool
is_sized(const Lowering *lw, const Node *node)
{
    enum { BELOW = 2, ABOVE = 1 }; /* range(1, n - 1), n - ddof, n + 1 */
    int64_t number;
    if (lw->array_sizes.len == 0 || node->op != OP_const || node->type.rank != 0) return false;
    bool is_int = constant_int(node, &number);
    PyErr_Clear();
    if (!is_int || number < least_size(lw) - BELOW) return false;
    for (int i = 0; i < lw->array_sizes.len; i++)
        if (number >= lw->array_sizes.at[i] - BELOW && number <= lw->array_sizes.at[i] + ABOVE)
            return true;
    return false;
}
