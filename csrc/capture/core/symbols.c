/* Lengths of arrays from outside, and ints from outside that are lengths or places, which stay
   symbols of the graph, so that a plan serves all of them.

   Which ones the option `dynamic` says: all, those that differed in a call for which no plan held,
   or those that the program declares (dims.c).  An array has symbols where it is laid out as a new
   one in C order and has elements.  Where NumPy treats axes of one element in ways of their own,
   what is captured asks for two: length_is_some.  An int is 0 or more; what it is used for raises
   that.

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
    return config != NULL && !in->request->known && config->backend_call == NULL &&
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
    const CaptureRequest *request = in->request;
    for (int i = 0; i < request->nvaried; i++)
        if (request->varied[i].path == path) return true;
    return false;
}

static bool
is_fixed(const Interp *in, uint64_t path)
{
    const Marks *marks = in->attempt.marks;
    for (int i = 0; i < marks->fixed.len; i++)
        if (marks->fixed.at[i] == path) return true;
    return false;
}

/* Is it laid out as NumPy lays out a new array that has elements? */
static bool
is_natural(const ArrayHeader *header)
{
    int64_t stride = (int64_t)dtype_size(header->dtype);
    for (int axis = header->rank - 1; axis >= 0; axis--) {
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
    if (source_is_stacked(in, array->source) || !is_natural(header)) return 0;
    bool all = in->request->config->dynamic == DYNAMIC_AT_ONCE;
    uint64_t path = source_path_of(in, array->source);
    for (int axis = 0; axis < header->rank; axis++) {
        uint64_t own = size_path(path, axis);
        Dim dim;
        if (header->shape[axis] < LEAST_SEEN || is_fixed(in, own)) continue;
        bool open = dim_of(in, array, axis, &dim) ? dim_allows(&dim, header->shape[axis])
                                                  : all || has_varied(in, own);
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

const Dim *
symbol_dim(const Interp *in, SizeId size)
{
    for (int i = 0; i < in->memory.symbols.len; i++)
        if (in->memory.symbols.at[i].size == size && in->memory.symbols.at[i].dim.name != NULL)
            return &in->memory.symbols.at[i].dim;
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

/* Guards that the symbol is the other one. */
static int
guard_united(Interp *in, const Symbol *symbol, const Symbol *with)
{
    Guard guard = {.kind = GUARD_SAME_SIZE,
                   .source = symbol->array,
                   .other = with->array,
                   .low = symbol->axis,
                   .high = with->axis};
    SizeTerm terms[] = {{SIZE_DIM, 0, symbol->axis},
                        {SIZE_CONST, -1, 0},
                        {SIZE_DIM, 1, with->axis},
                        {SIZE_MUL, 0, 0},
                        {SIZE_ADD, 0, 0}};
    SourceId sources[] = {symbol->array, with->array};
    if (symbol->axis != OF_INT && with->axis != OF_INT) return guard_add(in, &guard) < 0 ? -1 : 0;
    guard = (Guard){.kind = GUARD_SIZES,
                    .source = symbol->array,
                    .other = NO_SOURCE,
                    .low = 1,
                    .ngroup = COUNT_OF(sources),
                    .group = arena_copy(in->arena, sources, sizeof sources),
                    .nsizes = COUNT_OF(terms),
                    .sizes = arena_copy(in->arena, terms, sizeof terms)};
    if (guard.group == NULL || guard.sizes == NULL) return -1;
    return guard_add(in, &guard) < 0 ? -1 : 0;
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
        if (guard_united(in, &symbol, with) < 0) return -1;
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
    if (PyLong_AsLongLong(value->object) < LEAST_SEEN || is_fixed(in, path)) return false;
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
    int64_t hint = PyLong_AsLongLong(value->object);
    TRY(value_in_range(in, value, 0, INT64_MAX >> 1));
    in->out->guards.at[value->guard - 1].array.least_shape = 1;
    Symbol symbol = {.path = path, .array = value->source, .axis = OF_INT};
    *out = symbol.size = size_dim(in->graph, value->node, 0, hint);
    SizeId least = size_const(in->graph, 0);
    if (*out == NO_SIZE || least == NO_SIZE) return ANSWER_ERROR;
    in->graph->sizes.at[*out].a = least;
    return VEC_PUSH(in->arena, &in->memory.symbols, symbol) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- what is declared ---- */

/* The innermost line that is the program's. */
static void
put_line(const Interp *in, Text *out)
{
    const Activation *a = in->top;
    int line = in->attempt.line;
    for (; a != NULL && a->caller != NULL && code_is_ours(a); a = a->caller)
        line = line_at(a->caller->decoded, a->caller->number);
    const char *file = a == NULL ? NULL : PyUnicode_AsUTF8(a->decoded->code->co_filename);
    text_printf(out, "%s:%d", file != NULL ? file : "?", line);
}

/* Raises DimensionError of a text that begins with the line. */
static void
raise_here(Interp *in, Text *text)
{
    PyObject *class = module_kept(in, "pycompile._errors", "DimensionError");
    if (class != NULL)
        PyErr_SetString(class, text->data != NULL ? text->data : "a declared length");
    text_free(text);
}

Answer
dim_refuse(Interp *in, const Dim *dim, const char *what, const Dim *other)
{
    Text text = {0};
    put_line(in, &text);
    text_put(&text, ": the length ");
    dim_put(&text, dim);
    text_printf(&text, " %s", what);
    if (other != NULL) text_put(&text, " ");
    if (other != NULL) dim_put(&text, other);
    text_put(&text, other != NULL ? "; give both one name, or take one out of `dynamic`"
                                  : "; change the code, or take the name out of `dynamic`");
    raise_here(in, &text);
    return ANSWER_ERROR;
}

int
dims_require(Interp *in, const Value *array, int rank)
{
    const char *name;
    long axis = dim_beyond(in, array, rank, &name);
    if (axis < 0) return 0;
    Text text = {0};
    put_line(in, &text);
    text_printf(&text, ": `dynamic` names axis %ld of '%s', an array of %d dimensions", axis, name,
                rank);
    raise_here(in, &text);
    return -1;
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

static Answer
start_again(Interp *in, const char *why)
{
    if (!in->attempt.again) in->attempt.learn->symbol_tries++;
    in->attempt.again = true;
    return interp_break(in, BREAK_SHAPE, "%s", why);
}

static Answer
fix_symbols(Interp *in, SizeId id, const char *why, bool *found)
{
    if (size_is_const(in->graph, id)) return ANSWER_YES;
    Size size = in->graph->sizes.at[id];
    if (size.kind >= SIZE_ADD) {
        TRY(fix_symbols(in, size.a, why, found));
        return fix_symbols(in, size.b, why, found);
    }
    const Dim *dim = symbol_dim(in, id);
    if (dim != NULL && !in->attempt.again) return refuse_number(in, dim, id, why);
    for (int i = 0; i < in->memory.symbols.len; i++) {
        if (in->memory.symbols.at[i].size != id) continue;
        *found = true;
        if (in->attempt.again) return ANSWER_YES; /* this attempt is not followed any more */
        if (VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->fixed,
                     in->memory.symbols.at[i].path) < 0)
            return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

Answer
size_specialise(Interp *in, SizeId size, const char *why)
{
    bool found = false;
    TRY(fix_symbols(in, size, why, &found));
    return found ? start_again(in, why) : ANSWER_NO;
}

Answer
sizes_specialise(Interp *in, const Type *type, const char *why)
{
    bool found = false;
    for (int i = 0; i < type->rank; i++) {
        TRY(fix_symbols(in, type->shape[i], why, &found));
        TRY(fix_symbols(in, type->stride[i], why, &found));
    }
    TRY(fix_symbols(in, type->offset, why, &found));
    return found ? start_again(in, why) : ANSWER_NO;
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

/* ---- guards ---- */

int64_t
size_terms_value(const SizeTerm *terms, int count, const int64_t *const *shapes)
{
    int64_t values[SIZE_DEPTH];
    int n = 0;
    for (int i = 0; i < count; i++) {
        const SizeTerm *term = &terms[i];
        if (term->kind < SIZE_ADD) {
            values[n++] =
                term->kind == SIZE_CONST ? term->value : shapes[term->value][Py_MAX(term->axis, 0)];
        } else {
            n--;
            values[n - 1] = size_apply(term->kind, values[n - 1], values[n]);
        }
    }
    return values[0];
}

typedef struct {
    VEC(SizeTerm) terms;
    VEC(SourceId) arrays;
    int waiting;
} SizeCode;

static Answer
put_symbol(Interp *in, SizeId id, SizeCode *code)
{
    const Symbol *symbol = NULL;
    for (int i = 0; i < in->memory.symbols.len && symbol == NULL; i++)
        if (in->memory.symbols.at[i].size == id) symbol = &in->memory.symbols.at[i];
    if (symbol == NULL) return ANSWER_NO;
    int at = 0;
    while (at < code->arrays.len && code->arrays.at[at] != symbol->array) at++;
    if (at == MOST_SIZED) return ANSWER_NO;
    SizeTerm term = {.kind = SIZE_DIM, .value = at, .axis = symbol->axis};
    if ((at == code->arrays.len && VEC_PUSH(in->arena, &code->arrays, symbol->array) < 0) ||
        VEC_PUSH(in->arena, &code->terms, term) < 0)
        return ANSWER_ERROR;
    return ANSWER_YES;
}

static Answer
put_size(Interp *in, SizeId id, SizeCode *code)
{
    Size size = in->graph->sizes.at[id];
    SizeTerm term = {.kind = size.kind, .value = size.value};
    if (size.kind >= SIZE_ADD) {
        TRY(put_size(in, size.a, code));
        TRY(put_size(in, size.b, code));
        code->waiting -= 2;
    }
    if (++code->waiting > SIZE_DEPTH) return ANSWER_NO;
    if (size.kind == SIZE_DIM) return put_symbol(in, id, code);
    if (size.kind == SIZE_NUMBER || size.kind == SIZE_STRIDE) return ANSWER_NO;
    return VEC_PUSH(in->arena, &code->terms, term) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* Does what is declared say that the number divides the symbol, or the product of symbols? */
static bool
is_multiple(const Interp *in, SizeId id, int64_t by)
{
    const Size *size = &in->graph->sizes.at[id];
    if (size->kind == SIZE_MUL) return is_multiple(in, size->a, by) || is_multiple(in, size->b, by);
    const Dim *dim = symbol_dim(in, id);
    return dim != NULL && by > 0 && dim->divisor % by == 0;
}

/* Adds how often the size, or where that leaves nothing a part of it, is in a sum.  False: other
   things are in it. */
static bool
add_multiples(Interp *in, SizeId id, int64_t factor, SizeId *of, int64_t *times)
{
    const Size *size = &in->graph->sizes.at[id];
    if (size->kind == SIZE_ADD)
        return add_multiples(in, size->a, factor, of, times) &&
               add_multiples(in, size->b, factor, of, times);
    if (size->kind == SIZE_MUL && size_is_const(in->graph, size->a))
        return add_multiples(in, size->b, factor * size_value(in->graph, size->a), of, times);
    bool divided = size->kind == SIZE_FLOOR_DIV && size_is_const(in->graph, size->b);
    SizeId whole = divided ? size->a : id;
    int64_t by = divided ? size_value(in->graph, size->b) : 1;
    if ((*of != NO_SIZE && *of != whole) || !is_multiple(in, whole, by) || factor % by != 0)
        return false;
    *of = whole;
    *times += factor / by;
    return true;
}

static bool
is_declared_zero(Interp *in, SizeId size)
{
    SizeId of = NO_SIZE;
    int64_t times = 0;
    return add_multiples(in, size, 1, &of, &times) && times == 0;
}

/* The code may not decide by a declared length, but by what is declared. */
static Answer
dims_allow(Interp *in, SizeId part, SizeId whole, bool zero)
{
    Size size = in->graph->sizes.at[part];
    if (size_is_const(in->graph, part)) return ANSWER_YES;
    const Dim *dim = symbol_dim(in, size.kind == SIZE_MOD ? size.a : part);
    if (size.kind == SIZE_MOD && part == whole && zero && dim != NULL &&
        size_is_const(in->graph, size.b) && dim->divisor % size_value(in->graph, size.b) == 0)
        return ANSWER_YES;
    if (size.kind >= SIZE_ADD) {
        TRY(dims_allow(in, size.a, whole, zero));
        return dims_allow(in, size.b, whole, zero);
    }
    if (dim == NULL) return ANSWER_YES;
    size = in->graph->sizes.at[whole];
    char what[96] = "has to be related to others as in this call";
    if (!zero && size.kind == SIZE_ADD && size.a == part && size_is_const(in->graph, size.b))
        snprintf(what, sizeof(what), "has to be %lld or more (a `Dim` says so)",
                 -(long long)size_value(in->graph, size.b));
    return dim_refuse(in, dim, what, NULL);
}

/* The guard of what has the symbol has this bound from now on. */
static bool
symbol_is_raised(Interp *in, SizeId symbol, int64_t least)
{
    for (int i = 0; i < in->memory.symbols.len; i++) {
        const Symbol *at = &in->memory.symbols.at[i];
        if (at->size != symbol) continue;
        Value *array = value_of_source(in, at->array);
        if (array == NULL || array->guard == 0) return false;
        Guard *guard = &in->out->guards.at[array->guard - 1];
        int64_t *guarded = at->axis == OF_INT ? &guard->low : &guard->array.shape[at->axis];
        SizeId bound = size_const(in->graph, Py_MAX(least, *guarded));
        if (bound == NO_SIZE) return false;
        in->graph->sizes.at[symbol].a = bound;
        *guarded = Py_MAX(least, *guarded);
        return sizes_refresh(in->graph) == 0;
    }
    return false;
}

/* Where that the size is `least` or more says the same of symbols alone, their guards say it. */
static bool
bound_is_raised(Interp *in, SizeId id, int64_t least)
{
    const Size size = in->graph->sizes.at[id];
    if (size.kind < SIZE_ADD) return symbol_is_raised(in, id, least);
    bool known[2] = {size_is_const(in->graph, size.a), size_is_const(in->graph, size.b)};
    int64_t a = size_value(in->graph, size.a), b = size_value(in->graph, size.b);
    switch (size.kind) {
    case SIZE_ADD: return known[1] && bound_is_raised(in, size.a, least - b);
    case SIZE_MOST:
        if (known[0] && a < least) return bound_is_raised(in, size.b, least);
        return known[1] && b < least && bound_is_raised(in, size.a, least);
    case SIZE_FLOOR_DIV:
        return known[1] && b > 0 && b < INT32_MAX && least > 0 && least < INT32_MAX &&
               bound_is_raised(in, size.a, least * b);
    case SIZE_MUL:
        if (known[0] && a > 0 && least > 0) return bound_is_raised(in, size.b, (least - 1) / a + 1);
        return least == 1 && size_lower(in->graph, size.a, &a) && a >= 0 &&
               size_lower(in->graph, size.b, &b) && b >= 0 && bound_is_raised(in, size.a, 1) &&
               bound_is_raised(in, size.b, 1);
    default: return false;
    }
}

/* Is the same guarded already? */
static bool
is_guarded(const Interp *in, const SizeCode *code, bool zero)
{
    for (int i = 0; i < in->out->guards.len; i++) {
        const Guard *guard = &in->out->guards.at[i];
        bool same = guard->kind == GUARD_SIZES && guard->low == zero &&
                    guard->nsizes == code->terms.len && guard->ngroup == code->arrays.len;
        for (int k = 0; same && k < code->arrays.len; k++)
            same = guard->group[k] == code->arrays.at[k];
        for (int k = 0; same && k < code->terms.len; k++) {
            const SizeTerm *a = &guard->sizes[k], *b = &code->terms.at[k];
            same = a->kind == b->kind && a->value == b->value && a->axis == b->axis;
        }
        if (same) return true;
    }
    return false;
}

Answer
size_guard(Interp *in, SizeId size, bool zero)
{
    SizeCode code = {.waiting = 0};
    int64_t hint = size_value(in->graph, size);
    if (size == NO_SIZE) return ANSWER_ERROR;
    if (zero ? hint != 0 : hint < 0) return ANSWER_NO;
    if (zero && is_declared_zero(in, size)) return ANSWER_YES;
    if (!in->memory.numpys) TRY(dims_allow(in, size, size, zero));
    if (!zero && bound_is_raised(in, size, 0)) return ANSWER_YES;
    if (PyErr_Occurred()) return ANSWER_ERROR;
    TRY(put_size(in, size, &code));
    if (code.arrays.len == 0) return ANSWER_NO;
    if (is_guarded(in, &code, zero)) return ANSWER_YES;
    Guard guard = {.kind = GUARD_SIZES,
                   .source = code.arrays.at[0],
                   .other = NO_SOURCE,
                   .low = zero,
                   .ngroup = code.arrays.len,
                   .group = code.arrays.at,
                   .nsizes = code.terms.len,
                   .sizes = code.terms.at};
    return guard_add(in, &guard) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- lengths that must be equal ---- */

static Symbol *
symbol_of_size(Interp *in, SizeId size)
{
    for (int i = 0; i < in->memory.symbols.len; i++)
        if (in->memory.symbols.at[i].size == size) return &in->memory.symbols.at[i];
    return NULL;
}

/* The first symbol is the other one, a declared one the one that stays. */
static Answer
unite_symbols(Interp *in, Symbol *a, Symbol *b)
{
    if (guard_united(in, a, b) < 0) return ANSWER_ERROR;
    bool first = a->dim.name != NULL || (b->dim.name == NULL && a < b);
    SizeId kept = first ? a->size : b->size, other = first ? b->size : a->size;
    int64_t least = size_value(in->graph, in->graph->sizes.at[other].a);
    if (least > size_value(in->graph, in->graph->sizes.at[kept].a))
        in->graph->sizes.at[kept].a = in->graph->sizes.at[other].a;
    for (int i = 0; i < in->memory.symbols.len; i++)
        if (in->memory.symbols.at[i].size == other) in->memory.symbols.at[i].size = kept;
    return size_unite(in->graph, other, kept) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static bool
is_declared(const Interp *in, SizeId id)
{
    const Size *size = &in->graph->sizes.at[id];
    if (size->kind >= SIZE_ADD) return is_declared(in, size->a) || is_declared(in, size->b);
    return symbol_dim(in, id) != NULL;
}

/* Extremes in the size are what they are in this call, where bounds of symbols say so. */
static void
decide_extremes(Interp *in, SizeId id)
{
    const Size size = in->graph->sizes.at[id];
    if (size.kind < SIZE_ADD) return;
    decide_extremes(in, size.a);
    decide_extremes(in, size.b);
    if (size.kind != SIZE_LEAST && size.kind != SIZE_MOST) return;
    SizeId more = size_sub(in->graph, size.a, size.b), less = size_sub(in->graph, size.b, size.a);
    if (more != NO_SIZE && less != NO_SIZE)
        (void)bound_is_raised(in, size_value(in->graph, more) >= 0 ? more : less, 0);
}

/* A symbol in what is guarded to be 0 becomes what it is then. */
static Answer
unite_solved(Interp *in, SizeId zero)
{
    SizeId symbol, is;
    if (is_declared(in, zero)) return ANSWER_YES;
    bool solved = size_solved(in->graph, zero, &symbol, &is);
    if (!solved) decide_extremes(in, zero);
    if (!solved && (zero = size_now(in->graph, zero)) != NO_SIZE)
        solved = size_solved(in->graph, zero, &symbol, &is);
    if (PyErr_Occurred()) return ANSWER_ERROR;
    if (!solved) return ANSWER_YES;
    return size_unite(in->graph, symbol, is) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

Answer
symbols_unite(Interp *in, SizeId a, SizeId b)
{
    static const char why[] = "a length that must be equal to another";
    Graph *g = in->graph;
    a = size_now(g, a);
    b = size_now(g, b);
    if (a == NO_SIZE || b == NO_SIZE) return ANSWER_ERROR;
    if (size_same(g, a, b)) return ANSWER_YES;
    Symbol *one = symbol_of_size(in, a), *other = symbol_of_size(in, b);
    bool found = false, known = size_is_const(g, a) || size_is_const(g, b);
    if (one != NULL && other != NULL && one->dim.name != NULL && other->dim.name != NULL)
        return dim_refuse(in, &one->dim, "has to be equal to", &other->dim);
    if (size_value(g, a) == size_value(g, b) && one != NULL && other != NULL)
        return unite_symbols(in, one, other);
    SizeId zero = size_sub(g, a, b);
    Answer answer = known ? ANSWER_NO : size_guard(in, zero, true);
    if (answer == ANSWER_YES) return unite_solved(in, zero);
    if (answer != ANSWER_NO) return answer;
    TRY(fix_symbols(in, a, why, &found));
    TRY(fix_symbols(in, b, why, &found));
    return found ? start_again(in, why) : ANSWER_NO;
}

Answer
size_decide(Interp *in, SizeId size, bool *negative)
{
    int64_t bound;
    *negative = false;
    if (size == NO_SIZE) return ANSWER_ERROR;
    if (size_lower(in->graph, size, &bound) && bound >= 0) return ANSWER_YES;
    *negative = size_value(in->graph, size) < 0;
    if (size_is_const(in->graph, size)) return ANSWER_YES;
    SizeId holds = size; /* … < 0: -1 - … >= 0 */
    if (*negative) holds = size_sub(in->graph, size_const(in->graph, -1), size);
    Answer answer = size_guard(in, holds, false);
    return answer != ANSWER_NO ? answer
                               : size_specialise(in, size, "a length that decides what is done");
}

Answer
length_is_some(Interp *in, SizeId size, int64_t least)
{
    bool less, outer = in->memory.numpys;
    in->memory.numpys = true;
    Answer decided =
        size_decide(in, size_sub(in->graph, size, size_const(in->graph, least)), &less);
    in->memory.numpys = outer;
    TRY(decided);
    if (!less) return ANSWER_YES;
    Answer answer = size_specialise(in, size, "an axis of no or one element");
    return answer == ANSWER_NO ? ANSWER_YES : answer;
}

Answer
lengths_are_some(Interp *in, int rank, const SizeId *shape)
{
    for (int i = 0; i < rank && rank > 1; i++)
        if (!size_is_const(in->graph, shape[i])) TRY(length_is_some(in, shape[i], 1));
    return ANSWER_YES;
}

Answer
lengths_are_several(Interp *in, const Type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (!size_is_const(in->graph, type->shape[i])) TRY(length_is_some(in, type->shape[i], 2));
    return ANSWER_YES;
}

Answer
layout_is_fixed(Interp *in, const Type *type)
{
    if (type->rank < 2 || !type_varies(in, type) || type_is_measured(in, type)) return ANSWER_YES;
    return type_is_contiguous(in->graph, type) ? lengths_are_some(in, type->rank, type->shape)
                                               : lengths_are_several(in, type);
}

Answer
size_is_more(Interp *in, SizeId a, SizeId b, bool *more)
{
    Graph *g = in->graph;
    *more = size_value(g, a) > size_value(g, b);
    SizeId most = *more ? a : b, least = *more ? b : a;
    int64_t bound;
    if (size_lower(g, size_sub(g, most, least), &bound) && bound > 0) return ANSWER_YES;
    SizeId ratio = size_ratio(g, most, least);
    if (ratio == NO_SIZE) return ANSWER_ERROR;
    if (size_value(g, ratio) < 2 || !size_is_times(g, most, ratio, least)) return ANSWER_NO;
    return length_is_some(in, ratio, 2);
}

Answer
layout_has_order(Interp *in, const Type *type, char order, bool *has)
{
    Graph *g = in->graph;
    SizeId step = size_const(g, (int64_t)dtype_size((DType)type->dtype));
    *has = order == 'C' ? type_is_contiguous(g, type) : type_is_fortran(g, type);
    if (*has || type_is_measured(in, type)) return ANSWER_YES;
    for (int i = 0; i < type->rank; i++) {
        int axis = order == 'C' ? type->rank - 1 - i : i;
        SizeId length = type->shape[axis], stride = type->stride[axis];
        bool more;
        if (size_is_const(g, length) && size_value(g, length) == 1) continue;
        if (!size_same(g, stride, step)) {
            TRY(length_is_some(in, length, 2));
            Answer answer = size_is_more(in, stride, step, &more);
            return answer == ANSWER_NO ? lengths_are_several(in, type) : answer;
        }
        step = size_mul(g, step, length);
    }
    return ANSWER_YES;
}
