/* The log of a kept loop, as C: its first room before the loop, an entry before each store. */
#include "emit.h"

/* Repeats runtime/log_abi.h, as codegen/c.c does runtime/kernel_abi.h. */
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
    "    int64_t step;\n"
    "    const LogArray *array;\n"
    "    int64_t narrays;\n"
    "    int64_t iterations, entries; /* an estimate, made before the loop */\n"
    "    int (*more)(struct KernelLog *log); /* before the loop, and when at == end; nonzero: fail "
    "*/\n"
    "    int (*stop)(struct KernelLog *log); /* nonzero: a signal came */\n"
    "} KernelLog;\n";

bool
region_logs(const Emit *e, const RegionElement *element)
{
    return instr_at(e, element->instr)->kind == INSTR_STORE &&
           e->kernel->region->arrays.at[element->array].logged;
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
        if (v->kind == INSTR_STORE)
            stores += region_logs(e, &e->kernel->region->elements.at[v->operand]);
    }
    return stores;
}

static bool
has_loop(const RegionBlock *block)
{
    for (int i = 0; i < block->len; i++) {
        const RegionIf *branch = block->at[i].branch;
        if (block->at[i].loop != NULL) return true;
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
        if (!a->logged) continue;
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
    emit_line(e, "log->iterations = count0 * %d;", has_loop(&r->top->body) ? INNER_ITERATIONS : 1);
    emit_line(e, "log->entries = count0 * %d;", stores_logged(e, &r->top->body));
    emit_line(e, "if (log->more(log)) return 1;");
    emit_line(e, "LogEntry *at = log->at, *at_end = log->end;");
    emit_line(e, "int64_t at_step = log->step, segments = 0;");
}

/* Appends what the store is about to overwrite, in words of at most 8 bytes. */
void
region_log_entry(Emit *e, DType dtype, const char *address)
{
    int size = (int)dtype_size(dtype);
    for (int done = 0; done < size; done += 8) {
        int bytes = size < 8 ? size : 8;
        open_block(e, "if (__builtin_expect(at == at_end, 0)) ");
        emit_line(e, "log->at = at;");
        emit_line(e, "if (log->more(log)) goto fail;");
        emit_line(e, "at = log->at;");
        emit_line(e, "at_end = log->end;");
        emit_line(e, "at_step = log->step;");
        close_block(e);
        emit_line(e, "at->place = (uint64_t)(%s + %d) | %dull << 56;", address, done, bytes);
        emit_line(e, "__builtin_memcpy(&at->old, %s + %d, %d);", address, done, bytes);
        emit_line(e, "at += at_step;");
    }
}
