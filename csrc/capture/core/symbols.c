/* Lengths of arrays from outside, and ints from outside that are lengths or places, which stay
   symbols of the graph, so that a plan serves all of them.

   Which ones the option `dynamic` says: all, those that differed in a call for which no plan held,
   or those that the program declares (dims.c).  An array has symbols where it is laid out as a new
   one in C order and has elements; those that are declared, in Fortran order too.  Where NumPy
   treats axes of one element in ways of their own, what is captured asks for two: length_is_some.
   An int is 0 or more, or negative, as in the call; what it is used for narrows that.

   What cannot take a symbol makes it known, by `sizes_specialise`.  That is learnt: capture starts
   again, and the array is pinned accordingly (value_pin).  Where that takes many attempts, all are
   known.  What needs two lengths to be equal asks `symbols_unite`. */
#include "core.h"

#include "../../config.h"

/* Length in the call: a view of one element may be another than those of more. */
enum { LEAST_SEEN = 2 };

bool
symbols_in_use(const Interp *in)
{
    const Config *config = in->request->config;
    return config != NULL && !in->request->known &&
           (config->backend_call == NULL || config->backend_lengths) &&
           config->dynamic != DYNAMIC_NEVER && in->attempt.marks->symbol_tries < MOST_TRIES;
}

uint64_t
size_path(uint64_t array, int axis)
{
    return source_path(array + (uint64_t)axis + 1, SOURCE_SIZE, 0, NULL);
}

static bool
has_varied(const Interp *in, uint64_t path)
{
    return varied_at(in, path) != NULL;
}

static bool
is_fixed(const Interp *in, uint64_t path)
{
    const Marks *marks = in->attempt.marks;
    for (int i = 0; i < marks->fixed.len; i++)
        if (marks->fixed.at[i] == path) return true;
    return false;
}

/* Is it laid out as NumPy lays out a new array, in C or in Fortran order, that has elements? */
static bool
is_natural(const ArrayHeader *header, bool fortran)
{
    int64_t stride = (int64_t)dtype_size(header->dtype);
    for (int i = 0; i < header->rank; i++) {
        int axis = fortran ? i : header->rank - 1 - i;
        if (header->shape[axis] < LEAST_SYMBOL || header->stride[axis] != stride) return false;
        stride *= header->shape[axis];
    }
    return true;
}

unsigned
symbols_of(Interp *in, const Value *array, const ArrayHeader *header)
{
    unsigned axes = 0;
    if (!symbols_in_use(in) || in->loop != NULL || array->source == NO_SOURCE) return 0;
    bool natural = is_natural(header, false);
    if (!natural && (array->kind == V_DEVICE || !is_natural(header, true))) return 0;
    bool all = natural && in->request->config->dynamic == DYNAMIC_AT_ONCE;
    uint64_t path = source_path_of(in, array->source);
    for (int axis = 0; axis < header->rank; axis++) {
        uint64_t own = size_path(path, axis);
        Dim dim;
        if (header->shape[axis] < LEAST_SEEN || is_fixed(in, own)) continue;
        bool open = dim_of(in, array, axis, &dim) ? dim_allows(&dim, header->shape[axis])
                                                  : all || (natural && has_varied(in, own));
        if (open) axes |= 1u << axis;
    }
    return axes;
}

/* The symbol that the path has, or NO_SIZE. */
static const Symbol *
symbol_at(const Interp *in, uint64_t path)
{
    for (int i = 0; i < in->memory.symbols.len; i++)
        if (in->memory.symbols.at[i].path == path) return &in->memory.symbols.at[i];
    return NULL;
}

/* The first symbol that has to be this one, by its name. */
static const Symbol *
united_with(const Interp *in, const Dim *dim, int64_t hint)
{
    for (int i = 0; i < in->memory.symbols.len; i++)
        if (dim_is_same(dim, &in->memory.symbols.at[i].dim) &&
            size_value(in->graph, in->memory.symbols.at[i].size) == hint)
            return &in->memory.symbols.at[i];
    return NULL;
}

/* Guards what is declared of the symbol. */
static Answer
dim_guard(Interp *in, SizeId symbol, const Dim *dim)
{
    Graph *g = in->graph;
    Answer answer = ANSWER_YES;
    bool outer = in->memory.numpys;
    in->memory.numpys = true;
    if (dim->most != INT64_MAX)
        answer = size_guard(in, size_sub(g, size_const(g, dim->most), symbol), false);
    if (answer == ANSWER_YES && dim->divisor > 1)
        answer =
            size_guard(in, size_quotient(g, SIZE_MOD, symbol, size_const(g, dim->divisor)), true);
    in->memory.numpys = outer;
    return answer;
}

int
symbol_make(Interp *in, const Value *array, int axis, int64_t hint, SizeId *out)
{
    uint64_t path = size_path(source_path_of(in, array->source), axis);
    Symbol symbol = {.path = path, .array = array->source, .axis = axis};
    if (!dim_of(in, array, axis, &symbol.dim) || !dim_allows(&symbol.dim, hint))
        symbol.dim.name = NULL;
    const Symbol *with = united_with(in, &symbol.dim, hint);
    if (with != NULL) {
        *out = symbol.size = with->size;
        if (symbols_guard_same(in, &symbol, with) < 0) return -1;
    } else {
        *out = symbol.size = size_dim(in->graph, array->node, axis, hint);
        bool declared = symbol.dim.name != NULL;
        int64_t bound = declared ? Py_MAX(symbol.dim.least, LEAST_SYMBOL) : LEAST_SYMBOL;
        in->attempt.learn->declared |= declared;
        bool bounded = declared && symbol.dim.most != INT64_MAX;
        SizeId least = size_const(in->graph, bound);
        SizeId most = bounded ? size_const(in->graph, symbol.dim.most) : NO_SIZE;
        if (*out == NO_SIZE || least == NO_SIZE || (bounded && most == NO_SIZE)) return -1;
        in->graph->sizes.at[*out].a = least;
        if (bounded) in->graph->sizes.at[*out].b = most;
    }
    if (VEC_PUSH(in->arena, &in->memory.symbols, symbol) < 0) return -1;
    return with != NULL || symbol.dim.name == NULL ||
                   dim_guard(in, *out, &symbol.dim) != ANSWER_ERROR
               ? 0
               : -1;
}

/* ---- ints ---- */

/* Behind a graph break the int is likely a loop's, with views of its lengths on the stack, which
   have gaps and would be known: then it is learnt as a number. */
bool
int_is_open(Interp *in, const Value *value)
{
    if (!symbols_in_use(in) || in->loop != NULL || in->request->number != 0 ||
        value->kind != V_NODE || value->nitems != 0 || value->sized != NULL ||
        value->source == NO_SOURCE || value->guard == 0 || value->object == NULL ||
        !PyLong_CheckExact(value->object) || source_is_stacked(in, value->source) ||
        in->out->guards.at[value->guard - 1].kind != GUARD_INT_RANGE ||
        graph_node(in->graph, value->node)->type.dtype != DT_I64)
        return false;
    uint64_t path = source_path_of(in, value->source);
    int64_t seen = PyLong_AsLongLong(value->object);
    if ((seen < LEAST_SEEN && seen > -LEAST_SEEN) || is_fixed(in, path)) return false;
    return in->request->config->dynamic == DYNAMIC_AT_ONCE || has_varied(in, path);
}

Answer
symbol_of_int(Interp *in, Value *value, SizeId *out)
{
    if (!int_is_open(in, value)) return ANSWER_NO;
    uint64_t path = source_path_of(in, value->source);
    const Symbol *known = symbol_at(in, path);
    if (known != NULL) {
        *out = known->size;
        return ANSWER_YES;
    }
    int64_t hint = PyLong_AsLongLong(value->object), reach = INT64_MAX >> 1;
    TRY(value_in_range(in, value, hint < 0 ? -reach : 0, hint < 0 ? -1 : reach));
    in->out->guards.at[value->guard - 1].array.least_shape = 1;
    Symbol symbol = {.path = path, .array = value->source, .axis = OF_INT};
    *out = symbol.size = size_dim(in->graph, value->node, 0, hint);
    SizeId least = size_const(in->graph, hint < 0 ? -reach : 0);
    SizeId most = hint < 0 ? size_const(in->graph, -1) : NO_SIZE;
    if (*out == NO_SIZE || least == NO_SIZE || (hint < 0 && most == NO_SIZE)) return ANSWER_ERROR;
    in->graph->sizes.at[*out].a = least;
    in->graph->sizes.at[*out].b = most;
    return VEC_PUSH(in->arena, &in->memory.symbols, symbol) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- what is learnt ---- */

static Answer
refuse_number(Interp *in, const Dim *dim, SizeId size, const char *why)
{
    char what[160];
    snprintf(what, sizeof(what), "is needed as a number, %lld in this call: %s",
             (long long)size_value(in->graph, size), why);
    return dim_refuse(in, dim, what, NULL);
}

Answer
symbols_again(Interp *in, const char *why)
{
    if (!in->attempt.again) in->attempt.learn->symbol_tries++;
    in->attempt.again = true;
    return interp_break(in, BREAK_SHAPE, "%s", why);
}

static int
note_fixed(Interp *in, uint64_t path, const char *why)
{
    Marks *learn = in->attempt.learn;
    const Graph *g = in->graph;
    const char *file = g->files.at[g->file], *slash = strrchr(file, '/');
    if (learn->fixed_why == NULL)
        learn->fixed_why = arena_printf(in->attempt.learn_arena, "%s (%s:%d)", why,
                                        slash != NULL ? slash + 1 : file, (int)g->line);
    if (learn->fixed_why == NULL) return -1;
    return VEC_PUSH(in->attempt.learn_arena, &learn->fixed, path);
}

Answer
symbols_fix(Interp *in, SizeId id, const char *why, bool *found)
{
    if (size_is_const(in->graph, id)) return ANSWER_YES;
    Size size = in->graph->sizes.at[id];
    if (size.kind >= SIZE_ADD) {
        TRY(symbols_fix(in, size.a, why, found));
        return symbols_fix(in, size.b, why, found);
    }
    const Dim *dim = symbol_dim(in, id);
    if (dim != NULL && !in->attempt.again) return refuse_number(in, dim, id, why);
    for (int i = 0; i < in->memory.symbols.len; i++) {
        if (in->memory.symbols.at[i].size != id) continue;
        *found = true;
        if (in->attempt.again) return ANSWER_YES; /* this attempt is not followed any more */
        if (note_fixed(in, in->memory.symbols.at[i].path, why) < 0) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

Answer
size_specialise(Interp *in, SizeId size, const char *why)
{
    bool found = false;
    TRY(symbols_fix(in, size, why, &found));
    return found ? symbols_again(in, why) : ANSWER_NO;
}

/* Is it among those whose guards kept failing?  Then no graph with the number is tried instead. */
static bool
is_unsteady(Interp *in, SizeId id)
{
    const Size *size = &in->graph->sizes.at[id];
    const Config *config = in->request->config;
    if (config == NULL || config->fullgraph) return false;
    if (size->kind >= SIZE_ADD) return is_unsteady(in, size->a) || is_unsteady(in, size->b);
    for (int i = 0; i < in->memory.symbols.len; i++) {
        const Symbol *symbol = &in->memory.symbols.at[i];
        const VariedPath *varied = symbol->size == id ? varied_at(in, symbol->path) : NULL;
        if (varied == NULL || !varied->unsteady || varied_is_planned(in, varied)) continue;
        in->attempt.learn->left_open = true;
        return true;
    }
    return false;
}

Answer
size_counted(Interp *in, SizeId size, int64_t *out)
{
    Graph *g = in->graph;
    SizeKind kind = g->sizes.at[size].kind;
    *out = size_value(g, size);
    if (size_is_const(g, size)) return ANSWER_YES;
    if (kind != SIZE_LEAST && kind != SIZE_MOST && is_unsteady(in, size)) return ANSWER_NO;
    bool guarded = kind >= SIZE_ADD && size_of_symbols(g, size);
    Answer answer =
        guarded ? size_guard(in, size_sub(g, size, size_const(g, *out)), true) : ANSWER_NO;
    return answer != ANSWER_NO ? answer : size_specialise(in, size, "how often a loop turns");
}

Answer
sizes_specialise(Interp *in, const Type *type, const char *why)
{
    bool found = false;
    for (int i = 0; i < type->rank; i++) {
        TRY(symbols_fix(in, type->shape[i], why, &found));
        TRY(symbols_fix(in, type->stride[i], why, &found));
    }
    TRY(symbols_fix(in, type->offset, why, &found));
    return found ? symbols_again(in, why) : ANSWER_NO;
}

bool
size_of_symbols(const Graph *g, SizeId id)
{
    if (size_is_const(g, id)) return true;
    const Size *size = &g->sizes.at[id];
    if (size->kind < SIZE_ADD) return size->kind == SIZE_DIM;
    return size_of_symbols(g, size->a) && size_of_symbols(g, size->b);
}

bool
type_is_measured(const Interp *in, const Type *type)
{
    if (type->form != FORM_ARRAY) return false;
    for (int i = 0; i < type->rank; i++)
        if (!size_of_symbols(in->graph, type->shape[i]) ||
            !size_of_symbols(in->graph, type->stride[i]))
            return true;
    return false;
}
