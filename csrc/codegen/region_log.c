/* The log of a kept loop, as C: its first room before the loop, an entry before each store. */
#include "emit.h"

/* Repeats runtime/log_abi.h, as codegen/file.c does runtime/kernel_abi.h.  The log's end stays in
   memory: loops need their registers, and log no more once the arrays are copied.

   What is merely not expected gcc takes to happen in one of ten iterations, so that it keeps values
   of the loop on the stack because of the calls that are made then. */
const char LOG_ABI_TEXT[] =
    "typedef __UINT64_TYPE__ uint64_t;\n"
    "typedef struct {\n"
    "    char *data;\n"
    "    int64_t bytes, rank; /* of an element; axes */\n"
    "    int64_t length[4], stride[4];\n"
    "} LogArray;\n"
    "typedef struct {\n"
    "    uint64_t place, old;\n"
    "} LogEntry;\n"
    "typedef struct KernelLog {\n"
    "    LogEntry *at, *end;\n"
    "    LogEntry *from; /* the first entry: it moves as the log grows */\n"
    "    int64_t logs;\n"
    "    const LogArray *array;\n"
    "    int64_t narrays;\n"
    "    int64_t iterations, entries; /* an estimate, made before the loop */\n"
    "    int64_t alongs; /* its stores that are logged by `along`, beside these */\n"
    "    int (*more)(struct KernelLog *log); /* before the loop, and when at == end; nonzero: fail "
    "*/\n"
    "    int (*stop)(struct KernelLog *log); /* nonzero: a signal came */\n"
    "    int (*range)(struct KernelLog *log, char *first, int64_t step, int64_t count,\n"
    "                 int64_t bytes); /* logs elements; nonzero: fail */\n"
    "    /* Room for elements that the loop logs itself, one before each store: the number of the\n"
    "       first entry for them.  Behind them is the entry in whose place the loop counts them.\n"
    "       -1: not to be logged; -2: fail */\n"
    "    int64_t (*along)(struct KernelLog *log, char *first, int64_t step, int64_t count,\n"
    "                     int64_t bytes);\n"
    "    char *(*grow)(struct KernelLog *log, int64_t list, int64_t words,\n"
    "                  int64_t *room); /* more for a list's items; NULL: fail */\n"
    "} KernelLog;\n"
    "#define RARELY(x) __builtin_expect_with_probability((x) != 0, 0, 0.9999)\n"
    "#define LOG_ENTRY(address, bytes) \\\n"
    "    if (RARELY(log->logs)) { \\\n"
    "        if (log->at == log->end && log->more(log)) goto fail; \\\n"
    "        log->at->place = (uint64_t)(address) | bytes##ull << 56; \\\n"
    "        __builtin_memcpy(&log->at->old, address, bytes); \\\n"
    "        log->at++; \\\n"
    "    }\n"
    "#define LOG_RANGE(address, step, count, bytes) \\\n"
    "    if (log->logs && RARELY(log->range(log, address, step, count, bytes))) goto fail;\n";

bool
region_logs(const Emit *e, const RegionArray *array)
{
    return !array->draws && (array->logged || (e->quick && array->stored));
}

/* Stores of the outermost loop alone, per iteration: those of inner loops happen nobody knows how
   often. */
static int
stores_logged(const Emit *e, bool along)
{
    const RegionLoop *r = e->kernel->region;
    int stores = 0;
    for (int i = 0; i < r->top->body.len; i++) {
        int32_t at = r->top->body.at[i].instr;
        if (at < 0 || instr_at(e, at)->kind != INSTR_STORE) continue;
        const RegionElement *element = &r->elements.at[instr_at(e, at)->operand];
        stores += region_logs(e, &r->arrays.at[element->array]) &&
                  region_logs_along(e, element, r->top) == along;
    }
    return stores;
}

static bool
has_loop(const RegionBlock *block)
{
    for (int i = 0; i < block->len; i++) {
        const RegionIf *branch = block->at[i].branch;
        if (block->at[i].loop != NULL && block->at[i].loop->bits < 0) return true;
        if (branch != NULL && (has_loop(&branch->arm[0]) || has_loop(&branch->arm[1]))) return true;
    }
    return false;
}

/* Inner loops are taken to be long when the GIL is at stake. */
enum { INNER_ITERATIONS = 256 };

void
region_log(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    int count = 0;
    emit_line(e, "KernelLog *const log = (KernelLog *)args->scratch;");
    emit_line(e, "const LogArray logged[] = {");
    for (int i = 0; i < r->arrays.len; i++) {
        const RegionArray *a = &r->arrays.at[i];
        if (!region_logs(e, a)) continue;
        Text lengths = {0}, strides = {0};
        for (int axis = 0; axis < a->rank; axis++) {
            text_printf(&lengths, axis ? ", n%d" : "n%d", a->length[axis]);
            text_printf(&strides, axis ? ", n%d" : "n%d", a->stride[axis]);
        }
        emit_line(e, "    {q%d, %d, %d, {%s}, {%s}},", a->operand,
                  (int)dtype_size(e->kernel->operands.at[a->operand].dtype), a->rank, lengths.data,
                  strides.data);
        text_free(&lengths);
        text_free(&strides);
        count++;
    }
    emit_line(e, count > 0 ? "};" : "    {0}};");
    emit_line(e, "log->array = logged;");
    emit_line(e, "log->narrays = %d;", count);
    const char *iterations = r->top->endless ? "0" : "count0";
    emit_line(e, "log->iterations = %s * %d;", iterations,
              has_loop(&r->top->body) ? INNER_ITERATIONS : 1);
    emit_line(e, "log->entries = %s * %d;", iterations, stores_logged(e, false));
    emit_line(e, "log->alongs = %d;", stores_logged(e, true));
    emit_line(e, "if (log->more(log)) return 1;");
    emit_line(e, "int64_t turns = 0;");
    region_lists(e);
    region_streams(e);
}

/* Appends what the store is about to overwrite, in words of at most 8 bytes. */
void
region_log_entry(Emit *e, DType dtype, const char *address)
{
    int size = (int)dtype_size(dtype);
    for (int done = 0; done < size; done += 8)
        emit_line(e, "LOG_ENTRY(%s + %d, %d)", address, done, size < 8 ? size : 8);
}

void
region_log_range(Emit *e, DType dtype, const char *address, const char *step, const char *count)
{
    int size = (int)dtype_size(dtype);
    for (int done = 0; done < size; done += 8)
        emit_line(e, "LOG_RANGE(%s + %d, %s, %s, %d)", address, done, step, count,
                  size < 8 ? size : 8);
}

/* ---- along with the iterations ---- */

/* Does an iteration wait for a float of the one before? */
static bool
is_chain(const Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = 0; i < loop->carried.len; i++)
        if (dtype_is_float(instr_at(e, loop->carried.at[i].first)->dtype)) return true;
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *element = &r->elements.at[i];
        if (r->home[element->instr] == loop->number && element->reuse == REUSE_BEFORE &&
            dtype_is_float(instr_at(e, element->instr)->dtype) &&
            region_is_store(e->kernel, &r->elements.at[element->source]))
            return true;
    }
    return false;
}

/* Is a store of the loop logged at its place?  For that the log may be moved. */
static bool
logs_at_places(const Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *element = &r->elements.at[i];
        if (r->home[element->instr] == loop->number && region_is_store(e->kernel, element) &&
            region_logs(e, &r->arrays.at[element->array]) && !element->hoisted)
            return true;
    }
    return false;
}

/* Do all iterations store, and each another element, which no other store touches? */
static bool
stores_once(const Emit *e, const RegionElement *element, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    bool moves = false;
    for (int axis = 0; axis < r->arrays.at[element->array].rank; axis++) {
        RegionLinear form;
        if (!region_linear(e->kernel, r, loop, element->index[axis], &form)) return false;
        moves |= form.slope != 0;
    }
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *other = &r->elements.at[i];
        if (other != element && other->array == element->array &&
            region_is_store(e->kernel, other) && r->home[other->instr] == loop->number)
            return false;
    }
    return moves && !element->in_arm;
}

/* A loop whose iterations wait for one another has time to log what they overwrite, while the
   element is at hand: a copy before them takes half as long as the loop, and fetches its array
   twice.  Measured, y[i] = a * y[i - 1] + x[i], 1e6 times: f64 3.01 to 2.26 ms, f32 2.49 to 2.15.
 */
bool
region_logs_along(const Emit *e, const RegionElement *element, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    return e->quick && loop != NULL && loop->innermost && loop->around == NULL && !loop->endless &&
           loop->shrinks < 0 && loop->together == 0 && element->hoisted && element->twin < 0 &&
           element->reuse == REUSE_NONE && dtype_size(instr_at(e, element->instr)->dtype) <= 8 &&
           r->home[element->instr] == loop->number &&
           region_logs(e, &r->arrays.at[element->array]) && stores_once(e, element, loop) &&
           !logs_at_places(e, loop) && is_chain(e, loop);
}

void
region_log_along(Emit *e, DType dtype, int number, const char *address, const char *step,
                 const char *count)
{
    emit_line(e, "const int64_t along%d = log->logs ? log->along(log, %s, %s, %s, %d) : -1;",
              number, address, step, count, (int)dtype_size(dtype));
    emit_line(e, "if (RARELY(along%d == -2)) goto fail;", number);
}

/* Once all that is logged before the iterations has its place.  What is not to be logged goes to a
   cell that nobody reads. */
void
region_log_along_begin(Emit *e, DType dtype, int number, const char *count)
{
    int n = number, size = (int)dtype_size(dtype);
    emit_line(e, "LogEntry cell%d;", n);
    emit_line(e, "LogEntry *const room%d = along%d < 0 ? &cell%d : log->from + along%d;", n, n, n,
              n);
    emit_line(e, "const int64_t each%d = along%d < 0 ? 0 : %d;", n, n, size);
    emit_line(e, "char *restrict const old%d = (char *)room%d;", n, n);
    emit_line(e, "uint64_t *restrict const done%d =", n);
    emit_line(e,
              "    along%d < 0 ? &cell%d.old : &room%d[((%s) * %d + sizeof(LogEntry) - 1) / "
              "sizeof(LogEntry)].place;",
              n, n, n, count, size);
}

void
region_log_along_each(Emit *e, DType dtype, int number, const RegionFor *loop, const char *address)
{
    int k = loop->number;
    emit_line(e, "__builtin_memcpy(old%d + (t%d - from%d) * each%d, %s, %d);", number, k, k, number,
              address, (int)dtype_size(dtype));
    emit_line(e, "*done%d = (uint64_t)(t%d - from%d + 1);", number, k, k);
}
