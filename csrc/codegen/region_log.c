/* The log of a kept loop, as C: its first room before the loop, an entry before each store. */
#include "emit.h"

/* Repeats runtime/log_abi.h, as codegen/c.c does runtime/kernel_abi.h.  The log's end stays in
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
    "    int64_t logs;\n"
    "    const LogArray *array;\n"
    "    int64_t narrays;\n"
    "    int64_t iterations, entries; /* an estimate, made before the loop */\n"
    "    int (*more)(struct KernelLog *log); /* before the loop, and when at == end; nonzero: fail "
    "*/\n"
    "    int (*stop)(struct KernelLog *log); /* nonzero: a signal came */\n"
    "    int (*range)(struct KernelLog *log, char *first, int64_t step, int64_t count,\n"
    "                 int64_t bytes); /* logs elements; nonzero: fail */\n"
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
    return array->logged || (e->quick && array->stored);
}

/* Stores of the outermost loop alone, per iteration: those of inner loops happen nobody knows how
   often. */
static int
stores_logged(const Emit *e, const RegionBlock *block)
{
    int stores = 0;
    for (int i = 0; i < block->len; i++) {
        if (block->at[i].instr < 0) continue;
        const Instr *v = instr_at(e, block->at[i].instr);
        const RegionLoop *r = e->kernel->region;
        if (v->kind == INSTR_STORE)
            stores += region_logs(e, &r->arrays.at[r->elements.at[v->operand].array]);
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
    emit_line(e, "log->entries = %s * %d;", iterations, stores_logged(e, &r->top->body));
    emit_line(e, "if (log->more(log)) return 1;");
    emit_line(e, "int64_t turns = 0;");
    region_lists(e);
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
