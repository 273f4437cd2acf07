/* A kept loop of the program, with the loops and branches in it: what lowering hands to
   codegen/region.c besides the instructions of the kernel.

   The body is a tree of statements.  Instructions before `body` are executed once, before the
   loop; the others stand in the tree, each at one place and in the order of their numbers:
   INSTR_INDEX is the induction variable of the loop around it, INSTR_CARRIED reads a variable,
   INSTR_LOAD and INSTR_STORE at element level touch element `operand` of `elements`.  A variable
   holds what a loop carries from iteration to iteration, or what the arms of a branch give.

   Loops are at depths: the outermost one at 0.  What is found about the values (region_bounds.c,
   region_reuse.c) is for the quick variant of the code, which gives up where an assumption of its
   own does not hold; the careful one then does the loop. */
#ifndef PYCOMPILE_REGION_H
#define PYCOMPILE_REGION_H

#include "kernel.h"

enum { ELEMENT_RANK = MAX_RANK };

typedef struct {
    int32_t operand; /* of the kernel: pointer to the first element */
    int32_t rank;
    int32_t length[ELEMENT_RANK], stride[ELEMENT_RANK]; /* indices into KernelArgs.size */
    bool stored; /* the loop writes it; the quick variant logs old elements */
    bool logged; /* an input's memory, written in place: the careful one logs them, too */
    bool grows;  /* it is what the loop has of a list: element_append in graph/graph.h */
    bool keyed;  /* … of a dict */
    bool draws;  /* it is a stream of random numbers */
    bool unit;   /* in the array seen, the elements of a row lie side by side: assumed of others */
} RegionArray;

typedef struct {
    DType dtype;
    int32_t operand; /* where the last value goes, or -1 */
} RegionVariable;

typedef struct RegionFor RegionFor;
typedef struct RegionIf RegionIf;

/* One of the three; the others are NULL, `instr` then being -1. */
typedef struct {
    int32_t instr;
    RegionFor *loop;
    RegionIf *branch;
} RegionStmt;

typedef VEC(RegionStmt) RegionBlock;

typedef struct {
    int32_t variable;
    int32_t first, next; /* instructions: before the loop, and at the end of an iteration */
    bool counts;         /* an int that moves by constants: region_carried.c … */
    bool continues;      /* … and begins as one that the loop around carries */
    int64_t each;        /* what it moves by for each bit: region_bits.c */
    bool ahead;          /* becomes (factor * it + term) & mask: region_modulo.c */
    uint64_t factor, term, mask;
} RegionCarried;

struct RegionFor {
    int32_t number, depth;
    RegionFor *around; /* NULL: it is the outermost one */
    RegionFor *with;   /* the loop with which it has changed places (region_order.c); NULL */
    bool innermost;    /* has neither a loop, a product nor an append in it */
    bool independent;  /* no iteration needs what another one stores: region_reuse.c */
    int64_t by;        /* its step, where that is a constant, else 0 */
    int32_t start, stop, step, index; /* instructions */
    bool endless;    /* a `while`: start and step are 0 and 1, and there is no stop */
    int32_t leaves;  /* variable: ends the loop where it is not 0 at an iteration's end; or -1 */
    bool ends_below; /* a negative number in `shrinks` ends it, too */
    int32_t shrinks; /* variable: has fewer bits after each iteration, and 0 ends the loop; or -1 */
    int32_t bits;    /* variable: the loop counts its bits, and does no more; or -1 */
    int32_t width;   /* of ints that are looked at, which are numbers of so many bits; 0: none … */
    VEC(int32_t) looked; /* … among them these from outside */
    VEC(RegionCarried) carried;
    Op folds; /* OP_loop_sum …: `folded` has that reduction of what `each` is in each iteration */
    int32_t each, folded; /* instruction, variable */
    RegionBlock body;
    int32_t together;    /* so many iterations are done at a time (region_lanes.c) … */
    RegionBlock lanes;   /* … as this says, in the quick variant; 0: they are not */
    bool few;            /* it turns a few times only, at most */
    RegionBlock instead; /* what the quick variant does in its place: region_split.c */
};

typedef struct {
    int32_t variable;
    int32_t arm[2]; /* instructions: its value at the end of each arm */
} RegionMerged;

struct RegionIf {
    int32_t condition; /* instruction */
    VEC(RegionMerged) merged;
    RegionBlock arm[2];
};

/* How a load gets its value in the quick variant of an innermost loop. */
typedef enum {
    REUSE_NONE,
    REUSE_FIXED,  /* read once, before the iterations */
    REUSE_KEPT,   /* the element is in a register during the iterations, stores to it, too */
    REUSE_BEFORE, /* what element `source` loaded or stored in the iteration before */
    REUSE_TURN,   /* in a register from the beginning of each iteration to its end */
} Reuse;

/* When it is seen to that an int is small: region_small.c. */
typedef enum {
    LOOKED_NOT,
    LOOKED_EACH,  /* in each iteration */
    LOOKED_ONCE,  /* before them */
    LOOKED_EARLY, /* the first `early` ones, before them: others have been read by then */
} Looked;

typedef struct {
    int32_t instr, array;
    int32_t index[ELEMENT_RANK];   /* instructions */
    bool in_arm;                   /* of a branch in its loop */
    int32_t checked[ELEMENT_RANK]; /* the depth of the loop before which the index is checked; -1:
                                      where it is used */
    bool hoisted; /* all indices are checked before the loop, in which they are linear */
    Reuse reuse;
    int32_t source; /* an index into `elements`: see Reuse; of REUSE_KEPT and REUSE_TURN the first
                       of them */
    Looked looked;
    int32_t early;
    int32_t twin; /* the first store of the loop with the same indices; -1: it is it, or none is */
} RegionElement;

/* The product of two vectors, by what NumPy calls for it. */
typedef struct {
    int32_t array[2], length;       /* the latter an instruction, as are … */
    int32_t index[2][ELEMENT_RANK]; /* … the first elements' indices, of which … */
    int32_t axis[2];                /* … that of this axis moves, … */
    int64_t step[2];                /* … by this */
    bool matmul;                    /* of the operator; else of np.dot */
    int32_t loop;                   /* an index into KernelArgs.loop */
} RegionDot;

/* An index in its loop's variable i: slope * i + base - minus + offset, `base` and `minus` being
   instructions before the loop, or -1. */
typedef struct {
    int64_t slope, offset;
    int32_t base, minus;
} RegionLinear;

/* What has been asked of an instruction.  Values are made of others that several have in common, as
   `k = k + k` again and again: a question goes to each once. */
typedef struct {
    int32_t mark[3];            /* the question by which it was reached; see RegionLoop.questions */
    const RegionFor *linear_in; /* the loop for which `linear` is known; NULL: none */
    RegionLinear linear;
    bool is_linear;
} RegionAsked;

struct RegionLoop {
    int32_t body;
    int32_t nloops;
    bool guesses; /* the quick variant may compute both arms of a branch: flags are no proof then */
    RegionFor *top;
    RegionFor **loop; /* by number */
    int32_t *home;    /* per instruction: the number of the loop in whose body it is; -1: none */
    int32_t *ranged;  /* per instruction: the depth of the outermost loop before which bounds of its
                         values can be computed; for one deeper than its home's it is itself known */
    RegionAsked *asked; /* per instruction */
    int32_t questions;  /* their number so far */
    int split;          /* statements that region_split.c has added */
    bool side_by_side;  /* a body stores several elements of one array */
    bool *steady;       /* per instruction: a sum that cannot overflow where counters are small */
    bool *small;        /* per instruction: a sum that cannot overflow where such ints are small */
    bool *modular;      /* per instruction: a Python int of which only the lowest bits matter */
    VEC(RegionArray) arrays;
    VEC(RegionVariable) variables;
    VEC(RegionElement) elements;
    VEC(RegionDot) dots;
};

/* Sums, differences, products and negations, of Python's ints or NumPy's. */
static inline bool
region_is_arithmetic(Op op)
{
    return op == OP_add || op == OP_subtract || op == OP_multiply || op == OP_negative ||
           op == OP_py_add || op == OP_py_sub || op == OP_py_mul || op == OP_py_neg;
}

typedef struct RegionLoop RegionLoop;

/* Are bounds of an int known before the loop that its instruction is in? */
static inline bool
region_bounded(const RegionLoop *r, int32_t at)
{
    return r->home[at] >= 0 && r->ranged[at] <= r->loop[r->home[at]]->depth;
}

/* Can it be said before the loop that the int does not overflow? */
static inline bool
region_fits(const RegionLoop *r, int32_t at)
{
    return r->modular[at] || r->steady[at] || region_bounded(r, at);
}

/* region_order.c: which loops in this one change places; before the others. */
void region_order(const Kernel *k, RegionLoop *r, RegionFor *loop);

/* The most that an iteration adds to a counter, or a bit that is counted. */
enum { REGION_STEP = 1 << 20 };

/* region_bits.c: loops in this one, and itself, that only count bits. */
void region_bits(const Kernel *k, RegionFor *loop);

/* Is the int the smaller (or the larger) one of its second and third argument? */
bool region_extreme(const Kernel *k, int32_t at, bool *largest);

/* region_bounds.c: finds out the above about loops, instructions and indices.  0 or -1. */
int region_bounds(Arena *arena, const Kernel *k, RegionLoop *r);

/* Is the instruction in the loop, or in one in it? */
static inline bool
region_within(const RegionLoop *r, const RegionFor *loop, int32_t at)
{
    const RegionFor *inner = r->home[at] < 0 ? NULL : r->loop[r->home[at]];
    while (inner != NULL && inner != loop) inner = inner->around;
    return inner != NULL;
}

/* The int, if it is a constant. */
static inline bool
region_constant(const Kernel *k, int32_t at, int64_t *out)
{
    const Instr *v = &k->instrs.at[at];
    if (v->kind != INSTR_CONST || v->dtype != DT_I64) return false;
    memcpy(out, v->bits, sizeof *out);
    return true;
}

/* region_carried.c: ints among what is carried that cannot overflow.  0 or -1. */
int region_carried(Arena *arena, const Kernel *k, RegionLoop *r);

/* region_modulo.c: ints of which only the lowest bits matter.  0 or -1. */
int region_modulo(Arena *arena, const Graph *g, const Kernel *k, RegionLoop *r);

/* region_small.c: sums of small ints, after region_reuse.  0 or -1. */
int region_small(Arena *arena, const Kernel *k, RegionLoop *r);

/* region_reuse.c: which elements need not go through memory, and which loops are independent. */
void region_reuse(const Kernel *k, RegionLoop *r);
/* Does the int depend on the value `on`, other than through a load? */
bool region_depends(const Kernel *k, RegionLoop *r, int32_t at, int32_t on);
/* False: the index is not linear in the loop's variable with a known slope. */
bool region_linear(const Kernel *k, const RegionLoop *r, const RegionFor *loop, int32_t at,
                   RegionLinear *out);
bool region_is_store(const Kernel *k, const RegionElement *e);
/* Are the two indices of an axis different in any two iterations of the loop, whatever loops are in
   it? */
bool region_apart(const Kernel *k, const RegionLoop *r, const RegionFor *loop, int32_t a,
                  int32_t b);

/* region_split.c: loops that become two or three where a condition says from which iteration on it
   holds.  *any: there is one, and as below.  0 or -1. */
int region_split(Arena *arena, Kernel *k, RegionLoop *r, bool *any);

/* region_lanes.c: outer loops of which some iterations are done together.  *any: there is one, and
   what the others found out is to be found for it, too.  0 or -1. */
int region_lanes(Arena *arena, Kernel *k, RegionLoop *r, bool *any);

#endif
