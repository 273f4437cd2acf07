/* Loop nests to CUDA C++.  One function per kernel of the device, without headers:

     arguments: p pointers and numbers of the host, m integers, 8 bytes each; for kernels that are
       launched together a table of them, t
     n sizes and strides, in the type of positions
     values computed once
     the loops that lower/cuda.c has laid out

   Names: r an operand's current row, s values that there are once or once per row, v values of one
   element, h those held for a later stage, x and y accesses of several elements, a accumulators. */
#include "cuda_emit.h"

const char *
cuda_index(const CudaEmit *e)
{
    return e->kernel->cuda.wide ? "long long" : "int";
}

/* ---- rows ---- */

void
cuda_outer(CudaEmit *e, int count)
{
    const Kernel *k = e->kernel;
    if (count > 1) cuda_line(e, "%s rest = unit;", cuda_index(e));
    for (int i = count - 1; i > 0; i--) {
        cuda_line(e, "const %s i%d = rest %% n%d;", cuda_index(e), i, k->size[i]);
        cuda_line(e, "rest /= n%d;", k->size[i]);
    }
    if (count > 0) cuda_line(e, "const %s i0 = %s;", cuda_index(e), count > 1 ? "rest" : "unit");
}

void
cuda_pointer(CudaEmit *e, int number, int count)
{
    const Operand *operand = &e->kernel->operands.at[number];
    Text line = {0};
    text_printf(&line, "char *const r%d = p%d", number, operand->pointer);
    for (int i = 0; i < count; i++)
        if (operand->stride[i] != STRIDE_ZERO)
            text_printf(&line, " + i%d * n%d", i, operand->stride[i]);
    cuda_line(e, "%s;", line.data);
    text_free(&line);
}

void
cuda_pointers(CudaEmit *e, int count)
{
    const Kernel *k = e->kernel;
    for (int o = 0; o < k->operands.len; o++)
        if (!k->operands.at[o].by_value && !k->operands.at[o].turned) cuda_pointer(e, o, count);
}

void
cuda_store_level(CudaEmit *e, Level level)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (cuda_is_stored(cuda_instr(e, i)) && cuda_instr(e, i)->level == level) cuda_store(e, i);
}

bool
cuda_stores_level(const CudaEmit *e, Level level)
{
    for (int i = 0; i < e->kernel->instrs.len; i++)
        if (cuda_is_stored(cuda_instr(e, i)) && cuda_instr(e, i)->level == level) return true;
    return false;
}

/* ---- without a reduction ---- */

/* What a thread does with the elements of a pack at `first`, of which there are `first` < n. */
static void
flat_pack(CudaEmit *e)
{
    cuda_declare_packs(e, INSTR_LOAD, 0, 0);
    cuda_move_within(e, INSTR_LOAD, "first");
    cuda_declare_packs(e, INSTR_STORE, 0, 0);
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int e = 0; e < %d; e++)", e->pack);
    cuda_line(e, "const %s j = first + e;", cuda_index(e));
    cuda_body(e, 0);
    cuda_store_elements(e, 0);
    cuda_end(e);
    cuda_move_within(e, INSTR_STORE, "first");
}

/* A thread takes one pack, or `each` elements a block apart. */
static void
emit_flat(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    int each = k->cuda.each, threads = k->cuda.threads;
    const char *index = cuda_index(e);
    if (cuda_stores_level(e, LEVEL_ONCE)) {
        cuda_block(e, "if (blockIdx.x == 0 && threadIdx.x == 0)");
        cuda_store_level(e, LEVEL_ONCE);
        cuda_end(e);
    }
    cuda_packs_begin(e, 0);
    if (!cuda_has_packs(e, INSTR_STORE, 0)) return;
    if (each == e->pack) {
        cuda_line(e, "const %s first = ((%s)blockIdx.x * %d + (int)threadIdx.x) * %d;", index,
                  index, threads, each);
        cuda_line(e, "if (first >= n%d) return;", k->size[0]);
        flat_pack(e);
        return;
    }
    cuda_line(e, "#pragma unroll");
    cuda_block(e, "for (int i = 0; i < %d; i++)", each);
    cuda_line(e, "const %s first = (%s)blockIdx.x * %d + (int)threadIdx.x + i * %d;", index, index,
              threads * each, threads);
    cuda_block(e, "if (first < n%d)", k->size[0]);
    flat_pack(e);
    cuda_end(e);
    cuda_end(e);
}

/* ---- a kernel ---- */

static int
most(int count, int index)
{
    return index >= count ? index + 1 : count;
}

/* How many pointers and integers the kernel's text names: those of the step come in this order. */
static void
count_arguments(const Kernel *k, int *pointers, int *sizes)
{
    *pointers = *sizes = 0;
    for (int i = 0; i < k->nloops; i++) *sizes = most(*sizes, k->size[i]);
    *sizes = most(*sizes, k->cuda.units);
    if (k->cuda.parts >= 0) {
        *sizes = most(*sizes, k->cuda.parts);
        *pointers = most(*pointers, k->cuda.partial);
    }
    for (int o = 0; o < k->operands.len; o++) {
        *pointers = most(*pointers, k->operands.at[o].pointer);
        if (k->operands.at[o].turned) *sizes = most(*sizes, k->operands.at[o].across);
        for (int i = 0; i < k->nloops; i++) *sizes = most(*sizes, k->operands.at[o].stride[i]);
    }
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = &k->instrs.at[i];
        if (v->kind == INSTR_CONST && v->argument > 0) *sizes = most(*sizes, v->argument - 1);
        if (v->kind != INSTR_GATHER) continue;
        for (int part = 0; part < 2; part++) *sizes = most(*sizes, (int)v->bits[part]);
    }
}

static bool
is_value(const Kernel *k, int pointer)
{
    for (int o = 0; o < k->operands.len; o++)
        if (k->operands.at[o].pointer == pointer) return k->operands.at[o].by_value;
    return false;
}

static bool
reduces(const Kernel *k)
{
    for (int i = 0; i < k->instrs.len; i++)
        if (k->instrs.at[i].kind == INSTR_REDUCE) return true;
    return false;
}

/* Which computed values of elements a later stage reads.  What was loaded stays in its packs. */
static void
find_held(CudaEmit *e)
{
    const Kernel *k = e->kernel;
    for (int i = 0; i < k->instrs.len; i++) {
        const Instr *v = cuda_instr(e, i);
        for (int a = 0; a < v->nargs; a++) {
            const Instr *arg = cuda_instr(e, v->args[a]);
            if (k->cuda.each > 0 && arg->stage < v->stage && arg->level == LEVEL_ELEMENT &&
                arg->kind != INSTR_REDUCE && arg->kind != INSTR_LOAD)
                e->held[v->args[a]] = true;
        }
    }
}

static const char *
pointer_type(const Kernel *k, int pointer)
{
    return is_value(k, pointer) ? "long long " : "char *__restrict__ ";
}

/* "const __grid_constant__ TensorMap map0, …, char *__restrict__ p0, …, long long m0, …" */
static void
put_parameters(CudaEmit *e, int maps, int pointers, int sizes)
{
    for (int i = 0; i < maps; i++)
        text_printf(e->out, "%sconst __grid_constant__ TensorMap map%d", i ? ", " : "", i);
    for (int i = 0; i < pointers; i++)
        text_printf(e->out, "%s%sp%d", i || maps ? ", " : "", pointer_type(e->kernel, i), i);
    for (int i = 0; i < sizes; i++)
        text_printf(e->out, "%slong long m%d", i || maps || pointers ? ", " : "", i);
}

/* Of kernels that are launched together.  The grid's second index is the kernel's. */
static void
put_table(CudaEmit *e, const KernelStep *step)
{
    text_printf(e->out, "const __grid_constant__ Table<%d> t",
                step->table.shared + step->table.own * step->members);
}

static void
take_from_table(CudaEmit *e, const KernelStep *step, int pointers, int sizes)
{
    const LaunchTable *table = &step->table;
    int places = step_places(step), count = places + step_sizes(step);
    cuda_line(e, "const long long *const own = t.at + %d + blockIdx.y * %d;", table->shared,
              table->own);
    for (int i = 0; i < count; i++) {
        bool shared = table_shares(table, i);
        int at = shared ? table->at[i] : table->at[i] - table->shared;
        const char *from = shared ? "t.at" : "own";
        if (i < places && i < pointers && !is_value(e->kernel, i))
            cuda_line(e, "char *__restrict__ const p%d = (char *)%s[%d];", i, from, at);
        else if (i < places ? i < pointers : i - places < sizes)
            cuda_line(e, "const long long %s%d = %s[%d];", i < places ? "p" : "m",
                      i < places ? i : i - places, from, at);
    }
}

/* On a multiprocessor: a thread has at most half of the registers. */
static bool
has_two_blocks(const Kernel *k)
{
    return k->kind == KERNEL_ATTENTION && k->cuda.stages > 0 && k->cuda.head <= BOX_COLUMNS;
}

static void
emit_function(CudaEmit *e, const KernelStep *step, int number, bool done)
{
    const Kernel *k = e->kernel;
    int pointers, sizes;
    count_arguments(k, &pointers, &sizes);
    text_printf(e->out, "\nextern \"C\" __global__ void __launch_bounds__(%d%s)\nk%d%s(",
                k->cuda.threads, has_two_blocks(k) ? ", 2" : "", number, done ? "_done" : "");
    if (step->members > 0)
        put_table(e, step);
    else
        put_parameters(e, step->nmaps, pointers, sizes);
    text_put(e->out, ")\n{\n");
    e->tables |= step->members > 0;
    e->indent = 1;
    if (step->members > 0) take_from_table(e, step, pointers, sizes);
    for (int i = 0; i < sizes; i++)
        cuda_line(e, "const %s n%d = (%s)m%d;", cuda_index(e), i, cuda_index(e), i);
    if (k->cuda.parts >= 0) {
        cuda_helper(e, "parts", strlen("parts"));
        cuda_line(e, done ? "wait_for_parts();" : "let_done_begin();");
    }
    if (k->kind == KERNEL_SCAN) {
        if (k->nloops == 1) cuda_pointers(e, 0);
        cuda_scan(e, done);
    } else if (done) {
        cuda_done(e);
    } else {
        if (k->nloops == 1 || k->kind == KERNEL_FLAT) cuda_pointers(e, 0);
        cuda_scalars(e, LEVEL_ONCE, 0);
        if (k->kind == KERNEL_ATTENTION)
            cuda_attention(e);
        else if (k->kind == KERNEL_FLAT)
            emit_flat(e);
        else if (k->kind == KERNEL_COLUMNS)
            cuda_columns(e);
        else if (reduces(k))
            cuda_reduced_rows(e);
        else if (k->cuda.side > 0)
            cuda_tiles(e);
        else
            cuda_rows(e);
    }
    text_put(e->out, "}\n");
}

static int
emit_kernel(CudaEmit *e, const Program *program, const KernelStep *step)
{
    int number = step->kernel;
    e->kernel = program->kernels.at[number];
    size_t n = (size_t)e->kernel->instrs.len + 1;
    e->mark = mem_alloc(n * sizeof(int32_t));
    e->held = mem_alloc(n);
    e->needed = mem_alloc(n * sizeof(int32_t));
    e->body = 0;
    e->position = "j";
    e->pack = e->kernel->cuda.pack;
    e->read = e->written = ".at[e]";
    e->sum = "";
    e->walks = false;
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        DType dtype = cuda_instr(e, i)->dtype;
        const char *name = cuda_type(dtype);
        if (dtype_is_half(dtype) || dtype_is_complex(dtype))
            cuda_helper(e, name, strcspn(name, "<"));
    }
    if (e->kernel->kind == KERNEL_ATTENTION) {
        cuda_helper(e, "Half", strlen("Half"));
        cuda_helper(e, "BFloat", strlen("BFloat"));
        cuda_helper(e, "attention", strlen("attention"));
        if (e->kernel->cuda.stages > 0) cuda_helper(e, "hopper", strlen("hopper"));
        if (e->kernel->cuda.part >= 0) cuda_helper(e, "attention_back", strlen("attention_back"));
    }
    bool ready = e->mark != NULL && e->held != NULL && e->needed != NULL;
    if (ready) {
        cuda_count_uses(e);
        find_held(e);
        emit_function(e, step, number, false);
        if (e->kernel->cuda.parts >= 0) emit_function(e, step, number, true);
    }
    mem_free(e->mark);
    mem_free(e->held);
    mem_free(e->needed);
    return ready ? 0 : -1;
}

int
codegen_cuda(const Graph *graph, const Program *program, bool comments, Text *out, bool *straight)
{
    if (straight != NULL) *straight = false;
    Text body = {0};
    CudaEmit e = {.graph = graph, .out = &body, .comments = comments};
    int status = 0;
    for (int i = 0; i < program->steps.len + program->commits.len && status == 0; i++) {
        const Step *step = i < program->steps.len ? &program->steps.at[i]
                                                  : &program->commits.at[i - program->steps.len];
        if (step->kind == STEP_KERNEL && step->kernel.device != DEVICE_HOST &&
            step->kernel.product == NULL)
            status = emit_kernel(&e, program, &step->kernel);
    }
    if (status == 0) {
        cuda_prelude(e.helpers, e.tables, out);
        if (e.functions.data != NULL) text_put(out, e.functions.data);
        if (body.data != NULL) text_put(out, body.data);
        status = text_finish(&body) < 0 || text_finish(&e.functions) < 0 || text_finish(out) < 0
                     ? -1
                     : 0;
    }
    text_free(&body);
    text_free(&e.functions);
    return status;
}
