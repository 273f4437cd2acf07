/* Factors along whose inner axis elements do not lie side by side, for Hopper's products by TF32.
   Its tensor cores read 16-bit elements in either order, TF32 along the inner axis alone (K-major),
   so that the library's algorithms for other orders are slower.  In: products, and calls of the
   array library's for lengths that are not known.  Out: those where it pays take transposed copies
   of such factors, one for all products that follow one another.

   On an H200 [16384,4096] by [4096,4096] is 1,655 us where both lie in rows, 1,377 where the second
   lies in columns, and the copy is 35.  Where both lie otherwise it is 2,270, and copies of both
   are 270. */
#include "../arrays/arrays.h"
#include "rewrite.h"

enum {
    FLOPS_PER_NS = 400000, /* of a K-major product by TF32 */
    BYTES_PER_NS = 3000,   /* of a copy, where memory is slower: H100 */
    LAUNCH_NS = 4000,
    SAVED_OF_ONE = 20,  /* percent of a K-major product that one takes longer with one factor … */
    SAVED_OF_BOTH = 60, /* … or both in another order */
    LEAST_SIDE = 512,   /* of narrower products the memory is what limits them */
    ALIGNED = 16,       /* bytes, without which there are no fast algorithms */
};

typedef struct {
    NodeId of, is;
} Copied;

typedef struct {
    Graph *g;
    Multiplying multiplying;
    bool rounds;        /* the library multiplies by TF32 */
    VEC(Copied) copied; /* since the last jump */
    Region top;         /* as it becomes */
} KMajor;

/* ---- the price ---- */

static double
copy_ns(const Graph *g, NodeId factor)
{
    double bytes = (double)type_elements(g, &graph_node(g, factor)->type) * sizeof(float);
    return 2 * bytes / BYTES_PER_NS + LAUNCH_NS;
}

/* Half more than the `ns` that the copies take: what a product saves was measured for few shapes.
 */
static bool
pays(const Product *p, double ns)
{
    double flops = 2 * (double)p->rows * (double)p->inner * (double)p->columns * (double)p->batch;
    bool both = p->turned[PRODUCT_LEFT] && !p->turned[PRODUCT_RIGHT];
    if (p->rows < LEAST_SIDE || p->inner < LEAST_SIDE || p->columns < LEAST_SIDE) return false;
    return flops / FLOPS_PER_NS * (both ? SAVED_OF_BOTH : SAVED_OF_ONE) / 100 > 1.5 * ns;
}

/* ---- the copies ---- */

/* The last two axes change places. */
static void
turn(Type *type)
{
    int last = type->rank - 1;
    SizeId length = type->shape[last], stride = type->stride[last];
    type->shape[last] = type->shape[last - 1];
    type->stride[last] = type->stride[last - 1];
    type->shape[last - 1] = length;
    type->stride[last - 1] = stride;
}

static NodeId
known_copy(const KMajor *m, NodeId of)
{
    for (int i = 0; i < m->copied.len; i++)
        if (m->copied.at[i].of == of) return m->copied.at[i].is;
    return NO_NODE;
}

static NodeId
add_view(Graph *g, NodeId of, Type type)
{
    turn(&type);
    if (type.offset == NO_SIZE && (type.offset = size_const(g, 0)) == NO_SIZE) return NO_NODE;
    return graph_make(g, OP_as_strided, 1, &of, &type, NULL);
}

/* A copy whose rows are the factor's, or the second factor's columns, and a view of it with the
   factor's shape.  They are in no region yet. */
static NodeId
make_copy(Graph *g, NodeId of, bool second)
{
    Type type;
    if (second && (of = add_view(g, of, graph_node(g, of)->type)) == NO_NODE) return NO_NODE;
    Type from = graph_node(g, of)->type;
    if (type_contiguous(g, &type, (DType)from.dtype, from.rank, from.shape) < 0) return NO_NODE;
    type.device = from.device;
    NodeId copy = graph_make(g, OP_copy, 1, &of, &type, NULL);
    return copy == NO_NODE || !second ? copy : add_view(g, copy, type);
}

/* ---- products ---- */

static bool
is_k_major(const Product *p, int which)
{
    return p->turned[which] == (which == PRODUCT_RIGHT);
}

static bool
is_aligned(const Product *p)
{
    for (int i = 0; i < PRODUCT_MATRICES; i++)
        if (p->aligned[i] < ALIGNED || p->lead[i] * (int64_t)sizeof(float) % ALIGNED != 0)
            return false;
    return true;
}

/* Has the library the product, and is it by TF32? */
static bool
is_rounded(const Graph *g, NodeId id, Product *out)
{
    int64_t workspace;
    return product_of_node(g, id, out) && g->takes_product(out, &workspace) &&
           out->dtype == DT_F32 && out->tf32;
}

/* A matrix whose elements lie side by side along one axis, by hints where lengths are not known; of
   what would have to be copied they are. */
static bool
read_factor(const Graph *g, NodeId id, int which, Product *out)
{
    const Type *type = &graph_node(g, id)->type;
    if (type->form != FORM_ARRAY || type->rank != 2 || type->dtype != DT_F32 ||
        type->device == DEVICE_HOST || !size_is_const(g, type->offset))
        return false;
    bool rows =
        size_is_const(g, type->stride[1]) && size_value(g, type->stride[1]) == sizeof(float);
    out->turned[which] = !rows;
    if (!rows &&
        !(size_is_const(g, type->stride[0]) && size_value(g, type->stride[0]) == sizeof(float)))
        return false;
    out->lead[which] = size_value(g, type->stride[!rows]) / (int64_t)sizeof(float);
    bool unaligned = graph_node(g, graph_node(g, id)->storage)->type.unaligned;
    out->aligned[which] = unaligned || size_value(g, type->offset) % ALIGNED ? 1 : ALIGNED;
    return is_k_major(out, which) || type_is_known(g, type);
}

/* A call that multiplies matrices by TF32. */
static bool
read_call(const KMajor *m, NodeId id, Product *out)
{
    const Graph *g = m->g;
    const Node *node = graph_node(g, id);
    *out = (Product){.dtype = DT_F32, .tf32 = true, .batch = 1};
    if (!m->rounds || !call_multiplies(&m->multiplying, g, node) ||
        !read_factor(g, node->args[0], PRODUCT_LEFT, out) ||
        !read_factor(g, node->args[1], PRODUCT_RIGHT, out))
        return false;
    const Type *left = &graph_node(g, node->args[0])->type;
    out->rows = size_value(g, left->shape[0]);
    out->inner = size_value(g, left->shape[1]);
    out->columns = size_value(g, graph_node(g, node->args[1])->type.shape[1]);
    for (int i = PRODUCT_RESULT; i < PRODUCT_MATRICES; i++)
        out->lead[i] = out->columns, out->aligned[i] = ALIGNED;
    return true;
}

static bool
read_product(const KMajor *m, NodeId id, Product *out)
{
    if (graph_node(m->g, id)->op == OP_product) return is_rounded(m->g, id, out);
    return read_call(m, id, out);
}

/* What copies of the factors take that lie otherwise. */
static double
copies_ns(const KMajor *m, const Node *node, const Product *p)
{
    double ns = 0;
    for (int which = 0; which < 2; which++)
        if (!is_k_major(p, which) && known_copy(m, node->args[which]) == NO_NODE)
            ns += copy_ns(m->g, node->args[which]);
    return ns;
}

/* The factor along whose inner axis elements lie side by side: itself or a copy. */
static NodeId
in_order(const KMajor *m, const Node *node, const Product *p, int which)
{
    NodeId factor = node->args[which], known = known_copy(m, factor);
    if (is_k_major(p, which)) return factor;
    return known != NO_NODE ? known : make_copy(m->g, factor, which == PRODUCT_RIGHT);
}

static int
keep_copies(KMajor *m, NodeId first, const NodeId *of, const NodeId *is)
{
    for (NodeId id = first; id < m->g->nodes.len; id++)
        if (top_put(m->g, &m->top, id) < 0) return -1;
    for (int which = 0; which < 2; which++) {
        Copied copied = {of[which], is[which]};
        if (is[which] >= first && VEC_PUSH(m->g->arena, &m->copied, copied) < 0) return -1;
    }
    return 0;
}

static int
visit(void *context, NodeId id)
{
    KMajor *m = context;
    Graph *g = m->g;
    const Node before = *graph_node(g, id);
    NodeId first = g->nodes.len;
    Product product;
    if (op_info(before.op)->kind == KIND_JUMP) m->copied.len = 0;
    if (!read_product(m, id, &product)) return 0;
    if ((is_k_major(&product, 0) && is_k_major(&product, 1)) ||
        !pays(&product, copies_ns(m, &before, &product)))
        return 0;
    NodeId *args = arena_copy(g->arena, before.args, sizeof(NodeId) * (size_t)before.nargs);
    if (args == NULL) return -1;
    graph_set_position(g, before.file, before.line);
    for (int which = 0; which < 2; which++)
        if ((args[which] = in_order(m, &before, &product, which)) == NO_NODE) return -1;
    graph_node(g, id)->args = args;
    if (read_product(m, id, &product) && is_aligned(&product))
        return keep_copies(m, first, before.args, args);
    graph_node(g, id)->args = before.args;
    return 0;
}

int
pass_k_major(Graph *g)
{
    KMajor m = {.g = g};
    if (g->takes_product == NULL || g->capability != CAPABILITY_HOPPER) return 0;
    m.rounds = array_library_on(DEVICE_CUDA)->multiplies(DT_F32) == 1;
    if (multiplying_find(&m.multiplying) < 0) return -1;
    int failed = top_rebuild(g, &m.top, visit, &m);
    multiplying_give_back(&m.multiplying);
    return failed;
}
