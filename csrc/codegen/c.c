/* Loop nest to C.  One function per kernel:

     integers, pointers, values computed once
     the loops: rows (or blocks of one long row), row pointers r0, r1, …
       per stage: values of the row, then the loop over the row, vectors first, then the rest

   Names: n sizes and strides, q operands, r their current row (w: the first of four), t scratch
   rows, s scalars, v values of one element or vector, a accumulators.  */
#include "emit.h"

static const char KERNEL_ABI_TEXT[] =
    "typedef __INT64_TYPE__ int64_t;\n"
    "typedef struct {\n"
    "    int (*call)(void *context, char *const *data, const int64_t *dimensions,\n"
    "                const int64_t *strides, void *auxdata);\n"
    "    void *context, *auxdata;\n"
    "} KernelLoop;\n"
    "typedef struct {\n"
    "    char *const *ptr;       /* pointer arguments, offsets applied */\n"
    "    const int64_t *size;    /* integer arguments */\n"
    "    const KernelLoop *loop; /* block calls */\n"
    "    char *scratch;          /* this thread's, 64-byte aligned */\n"
    "} KernelArgs;\n";

/* Of fast graphs: a product and a sum may be rounded once. */
static const char CONTRACT_TEXT[] = "#ifdef __clang__\n"
                                    "#pragma clang fp contract(fast)\n"
                                    "#else\n"
                                    "#pragma GCC optimize(\"fp-contract=fast\")\n"
                                    "#endif\n";

/* Before the loop over the few elements that fill no vector.  clang vectorises and unrolls it
   otherwise, which is half of its time. */
static const char REST_TEXT[] =
    "#ifdef __clang__\n"
    "#define REST _Pragma(\"clang loop vectorize(disable) interleave(disable) unroll(disable)\")\n"
    "#else\n"
    "#define REST\n"
    "#endif\n";

/* A ufunc's loop may clear floating-point flags that were raised before (those of maximum and of
   the comparisons do), so these are raised again.  On x86-64 the x87 unit has flags of its own,
   which glibc's feraiseexcept sets for an overflow, and so does NumPy for one of float16. */
static const char CALL_LOOP_TEXT[] =
    "static int call_loop(const KernelLoop *loop, char *const *data, const int64_t *dimensions,\n"
    "                     const int64_t *strides)\n"
    "{\n"
    "#if defined(__x86_64__)\n"
    "    __asm__ volatile(\"\" ::: \"memory\");\n"
    "    unsigned short x87;\n"
    "    __asm__ volatile(\"fnstsw %0\" : \"=a\"(x87));\n"
    "    unsigned raised = (__builtin_ia32_stmxcsr() | x87) & 63;\n"
    "    int failed = loop->call(loop->context, data, dimensions, strides, loop->auxdata);\n"
    "    if (raised) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | raised);\n"
    "    return failed;\n"
    "#elif defined(__aarch64__)\n"
    "    __asm__ volatile(\"\" ::: \"memory\");\n"
    "    unsigned raised = (unsigned)__builtin_aarch64_get_fpsr() & 31;\n"
    "    int failed = loop->call(loop->context, data, dimensions, strides, loop->auxdata);\n"
    "    if (raised)\n"
    "        __builtin_aarch64_set_fpsr((unsigned)__builtin_aarch64_get_fpsr() | raised);\n"
    "    return failed;\n"
    "#else\n"
    "    return loop->call(loop->context, data, dimensions, strides, loop->auxdata);\n"
    "#endif\n"
    "}\n";

/* ---- loops ---- */

/* r0 = q0 + i0 * n3 … + at * 4: the indices of the loops [0, count), then the position in the
   row. */
void
emit_row_pointer(Emit *e, int number, int count, const char *at)
{
    const Kernel *k = e->kernel;
    const Operand *operand = &k->operands.at[number];
    Text line = {0};
    text_printf(&line, "char *const %c%d = q%d", e->pointer, number, number);
    for (int loop = 0; loop < count; loop++)
        if (operand->stride[loop] != STRIDE_ZERO)
            text_printf(&line, " + i%d * n%d", loop, operand->stride[loop]);
    int row = operand->stride[k->nloops - 1];
    if (at != NULL && row == STRIDE_UNIT)
        text_printf(&line, " + %s * %d", at, (int)dtype_size(operand->dtype));
    else if (at != NULL && row != STRIDE_ZERO)
        text_printf(&line, " + %s * n%d", at, row);
    emit_line(e, "%s;", line.data);
    text_free(&line);
}

void
emit_row_pointers(Emit *e, int count, const char *at, bool stored_only)
{
    for (int o = 0; o < e->kernel->operands.len; o++)
        if (!stored_only || e->kernel->operands.at[o].stored) emit_row_pointer(e, o, count, at);
}

static void
emit_flat(Emit *e)
{
    if (e->kernel->block == 0) {
        emit_line(e, "const int64_t base = begin, m = end - begin;");
        emit_row_pointers(e, 0, "base", false);
        emit_span(e);
        return;
    }
    emit_line(e, "for (int64_t base = begin; base < end; base += %d) {", e->kernel->block);
    e->indent++;
    emit_line(e, "const int64_t m = end - base < %d ? end - base : %d;", e->kernel->block,
              e->kernel->block);
    emit_row_pointers(e, 0, "base", false);
    emit_span(e);
    close_block(e);
}

void
emit_row_place(Emit *e)
{
    const Kernel *k = e->kernel;
    int outer = k->nloops - 1;
    if (outer > 1) emit_line(e, "int64_t rest = unit;");
    for (int i = outer - 1; i > 0; i--) {
        emit_line(e, "const int64_t i%d = rest %% n%d;", i, k->size[i]);
        emit_line(e, "rest /= n%d;", k->size[i]);
    }
    if (outer > 0) emit_line(e, "const int64_t i0 = %s;", outer > 1 ? "rest" : "unit");
}

/* Bytes of a row that are done for all units before the next ones, where the kernel's rows are read
   again: a row of a stencil, and those around it, stay in the first-level cache.  Measured on ten
   Jacobi steps of 2048 x 2048 f64 in a wave: 21.7 to 19.3 ms on two cores. */
enum { STRIP_BYTES = 4096 };

static bool
rows_in_strips(const Kernel *k)
{
    if (!k->waved || k->block != 0 || k->nstages != 1) return false;
    for (int i = 0; i < k->instrs.len; i++)
        if (k->instrs.at[i].level == LEVEL_ROW || k->instrs.at[i].kind == INSTR_REDUCE)
            return false;
    return true;
}

static int
widest_bytes(const Kernel *k)
{
    int widest = 1;
    for (int i = 0; i < k->operands.len; i++)
        widest = Py_MAX(widest, (int)dtype_size(k->operands.at[i].dtype));
    return widest;
}

/* Opens a loop over stretches of the row: `base` is where one begins, m its length. */
static void
open_stretches(Emit *e, int64_t length)
{
    int size = e->kernel->size[e->kernel->nloops - 1];
    emit_line(e, "for (int64_t base = 0; base < n%d; base += %d) {", size, (int)length);
    e->indent++;
    emit_line(e, "const int64_t m = n%d - base < %d ? n%d - base : %d;", size, (int)length, size,
              (int)length);
}

static void
emit_rows(Emit *e)
{
    const Kernel *k = e->kernel;
    int outer = k->nloops - 1;
    if (k->parts) {
        emit_parts(e);
        return;
    }
    if (k->tile_rows > 0) {
        emit_tiles(e);
        return;
    }
    if (k->beside) {
        emit_beside(e);
        return;
    }
    bool strips = rows_in_strips(k);
    int64_t length = strips ? STRIP_BYTES / widest_bytes(k) : k->block;
    if (strips) open_stretches(e, length);
    open_block(e, "for (int64_t unit = begin; unit < end; unit++) ");
    emit_row_place(e);
    if (length == 0) emit_line(e, "const int64_t base = 0, m = n%d;", k->size[outer]);
    if (length > 0 && !strips) open_stretches(e, length);
    emit_row_pointers(e, outer, length > 0 ? "base" : NULL, false);
    emit_span(e);
    if (length > 0) close_block(e);
    close_block(e);
}

/* ---- the file ---- */

static void
emit_arguments(Emit *e)
{
    const Kernel *k = e->kernel;
    int nsizes = 0;
    for (int i = 0; i < k->nloops; i++)
        if (k->size[i] >= nsizes) nsizes = k->size[i] + 1;
    for (int o = 0; o < k->operands.len; o++)
        for (int i = 0; i < k->nloops; i++)
            if (k->operands.at[o].stride[i] >= nsizes) nsizes = k->operands.at[o].stride[i] + 1;
    for (int o = 0; o < k->operands.len; o++)
        if (k->operands.at[o].turned && k->operands.at[o].across >= nsizes)
            nsizes = k->operands.at[o].across + 1;
    if (k->parts && k->nparts >= nsizes) nsizes = k->nparts + 1;
    for (int i = 0; i < nsizes; i++) emit_line(e, "const int64_t n%d = args->size[%d];", i, i);
    for (int o = 0; o < k->operands.len; o++)
        emit_line(e, "char *const q%d = args->ptr[%d];", o, k->operands.at[o].pointer);
    for (int t = 0; t < k->nslots; t++) {
        int bytes = t > 0 ? k->slot_bytes[t - 1] : 0;
        if (t == 0)
            emit_line(e, "char *const t0 = args->scratch;");
        else if (k->block)
            emit_line(e, "char *const t%d = t%d + %d;", t, t - 1,
                      (k->block * bytes + 63) / 64 * 64 + SLOT_GAP);
        else if (k->beside)
            emit_line(e, "char *const t%d = t%d + %d;", t, t - 1, k->beside * 64 + SLOT_GAP);
        else
            emit_line(e, "char *const t%d = t%d + (n%d * %d + 63) / 64 * 64 + %d;", t, t - 1,
                      k->row_scratch, bytes, SLOT_GAP);
    }
}

static void
emit_once(Emit *e)
{
    for (int i = 0; i < e->kernel->instrs.len; i++) {
        const Instr *v = instr_at(e, i);
        if (v->level != LEVEL_ONCE || v->kind == INSTR_REDUCE) continue;
        if (v->kind == INSTR_CALL)
            emit_call(e, i);
        else
            scalar_value(e, i);
    }
}

/* The body of the kernel's function. */
static void
emit_kernel(Emit *e)
{
    e->indent = 1;
    if (e->kernel->kind == KERNEL_REGION) {
        emit_region(e);
        return;
    }
    emit_arguments(e);
    if (e->kernel->kind == KERNEL_CALL) {
        emit_bare(e);
        return;
    }
    emit_once(e);
    if (e->bounds) {
        emit_by_bounds(e);
        return;
    }
    Text body = {0}, *out = begin_divisors(e, &body);
    emit_stream_sizes(e);
    switch (e->kernel->kind) {
    case KERNEL_FLAT: emit_flat(e); break;
    case KERNEL_COLUMNS: emit_columns(e); break;
    default: emit_rows(e); break;
    }
    emit_stream_end(e);
    emit_line(e, "return 0;");
    end_divisors(e, out, true);
}

/* `out` gets the text of kernel number `number`. */
static int
write_kernel(Emit *e, int number, bool comments, Text *out)
{
    e->kernel = e->program->kernels.at[number];
    size_t n = (size_t)e->kernel->instrs.len + 1;
    e->mark = mem_alloc(n * sizeof(int32_t));
    e->mask_bytes = mem_alloc(n);
    e->needs = mem_alloc(n);
    e->divides = mem_alloc(n * sizeof(bool));
    e->streams = mem_alloc((size_t)e->kernel->operands.len + 1);
    e->body = 0;
    e->comments = comments;
    e->out = out;
    bool ready = e->mark != NULL && e->mask_bytes != NULL && e->needs != NULL &&
                 e->divides != NULL && e->streams != NULL;
    if ((ready = ready && find_streams(e) == 0)) {
        find_flags(e);
        find_needs(e);
        emit_kernel(e);
    }
    mem_free(e->mark);
    mem_free(e->mask_bytes);
    mem_free(e->needs);
    mem_free(e->divides);
    mem_free(e->streams);
    return ready ? text_finish(out) : -1;
}

/* ---- kernels with the same text ---- */

/* A kernel's text, if it has one of its own: each text is compiled once. */
typedef struct {
    uint64_t shape, hash;      /* hashes of the kernel and of its text */
    Text text;                 /* of the kernel's body */
    Text code;                 /* all that is printed of it, aliases of it among that */
    int next_shape, next_text; /* an earlier kernel in the same bucket, + 1 */
    int same;                  /* the kernel whose text this one shares; itself */
    size_t weight;             /* how much there is to compile, in bytes of text */
    unsigned called;           /* a bit for each body of the prelude that it calls */
    uint32_t parts;            /* see number_parts */
} Written;

typedef struct {
    Written *kernel;
    int *shapes, *texts; /* buckets, as many as kernels: the newest kernel, + 1 */
    Written **order;     /* room for as many */
    Turned *turned;      /* by kernel */
    bool parted;         /* the file can be compiled in parts */
} AllWritten;

/* The first kernel that is alike, or `number`. */
static int
first_alike(const Program *p, AllWritten *all, int number)
{
    Written *written = &all->kernel[number];
    written->shape = kernel_hash(p->kernels.at[number]);
    int *bucket = &all->shapes[written->shape % (unsigned)p->kernels.len];
    for (int i = *bucket; i != 0; i = all->kernel[i - 1].next_shape)
        if (all->kernel[i - 1].shape == written->shape &&
            kernel_alike(p->kernels.at[i - 1], p->kernels.at[number]))
            return all->kernel[i - 1].same;
    written->next_shape = *bucket;
    *bucket = number + 1;
    return number;
}

/* The first kernel with this text, or `number`. */
static int
first_text(const Program *p, AllWritten *all, int number)
{
    Written *written = &all->kernel[number];
    written->hash = text_hash(written->text.data);
    int *bucket = &all->texts[written->hash % (unsigned)p->kernels.len];
    for (int i = *bucket; i != 0; i = all->kernel[i - 1].next_text) {
        const Written *other = &all->kernel[i - 1];
        if (p->kernels.at[i - 1]->bounded == p->kernels.at[number]->bounded &&
            other->hash == written->hash && other->text.len == written->text.len &&
            memcmp(other->text.data, written->text.data, written->text.len) == 0)
            return i - 1;
    }
    written->next_text = *bucket;
    *bucket = number + 1;
    return number;
}

/* gcc's -O2 makes vectors of a loop only if its length is known, and computes both sides of a
   choice only if that raises no flag.  clang does both anyway. */
static const char KEPT_LOOP_TEXT[] =
    "#ifdef __clang__\n"
    "#define KEPT_LOOP\n"
    "#define GUESSING_LOOP\n"
    "#else\n"
    "#define KEPT_LOOP __attribute__((optimize(\"vect-cost-model=dynamic\")))\n"
    "#define GUESSING_LOOP \\\n"
    "    __attribute__((optimize(\"vect-cost-model=dynamic\", \"no-trapping-math\")))\n"
    "#endif\n";

/* The function that is called first where a kernel only looks for flags. */
static int
emit_bounded_kernel(Emit *e, int number, Text *body)
{
    text_printf(body, "\nint\nk%d_bounded(const KernelArgs *args, int64_t begin, int64_t end)\n{\n",
                number);
    e->bounds = true;
    int status = write_kernel(e, number, false, body);
    e->bounds = false;
    text_printf(body, "    return k%d(args, begin, end);\n}\n", number);
    return status;
}

static void
emit_alias(const Kernel *k, int same, int number, Text *body)
{
    static const char *const ends[] = {"", "_bounded"};
    for (int i = 0; i <= k->bounded; i++)
        text_printf(body, "%sextern __typeof__(k%d) k%d%s __attribute__((alias(\"k%d%s\")));\n",
                    i == 0 ? "\n" : "", same, number, ends[i], same, ends[i]);
}

/* More text than this is called from driven loops (drive.c), less is a part of them. */
enum { TURNED_BYTES = 4000 };

/* Is it a part of driven loops? */
static bool
is_turned(const Emit *e, const Kernel *k, const Text *text)
{
    return e->quick && e->program->drives.len > 0 && k->kind != KERNEL_REGION && !k->bounded &&
           text->len <= TURNED_BYTES;
}

static void
put_function(const Emit *e, int number, const Text *body, Text *code)
{
    const struct RegionLoop *loop = e->quick ? e->kernel->region : NULL;
    text_printf(code, "\n%sint\nk%d(const KernelArgs *args, int64_t begin, int64_t end)\n{\n%s}\n",
                loop == NULL    ? ""
                : loop->guesses ? "GUESSING_LOOP "
                                : "KEPT_LOOP ",
                number, body->data);
}

/* Writes the kernel's functions, unless an earlier one has the same text. */
static int
emit_code(Emit *e, AllWritten *all, int number, bool comments)
{
    const Program *p = e->program;
    const Kernel *k = p->kernels.at[number];
    Text *text = &all->kernel[number].text, *code = &all->kernel[number].code;
    int same = first_alike(p, all, number);
    if (same == number) {
        if (write_kernel(e, number, false, text) < 0) return -1;
        same = first_text(p, all, number);
    }
    all->kernel[number].same = same;
    all->turned[number] = same != number ? all->turned[same] : (Turned){.kernel = -1};
    if (same != number) {
        emit_alias(k, same, number, &all->kernel[same].code);
        return 0;
    }
    Text body = {0};
    int status = comments ? write_kernel(e, number, true, &body) : 0;
    const Text *written = comments ? &body : text;
    if (status == 0 && is_turned(e, k, text))
        turn_write(written, number, &all->turned[number], code);
    else if (status == 0)
        put_function(e, number, written, code);
    text_free(&body);
    if (status < 0) return -1;
    return k->bounded ? emit_bounded_kernel(e, number, code) : 0;
}

/* ---- copies of helpers ---- */

/* Copies of a helper of so much text in all are compiled into a kernel.  A call makes a loop over a
   short helper a fifth slower, over a long one a tenth; a copy takes the compiler 2 to 3 ms for
   1,000 bytes. */
enum { COPIED_BYTES = 8000 };

static bool
is_in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static int
count_calls(const Text *code, const char *name)
{
    size_t length = strlen(name);
    int count = 0;
    for (const char *at = code->data; at != NULL && (at = strstr(at, name)) != NULL; at += length)
        count += at[length] == '(' && at > code->data && !is_in_name(at[-1]);
    return count;
}

/* Decides which helpers the kernel calls that it would else contain: those of which there would be
   many copies, and those for the rest of a loop over vectors. */
static void
choose_calls(Emit *e, const Kernel *k, Written *written)
{
    const Prelude *p = e->prelude;
    written->weight = written->code.len;
    for (int i = 0; i < p->bodies; i++) {
        const LongHelper *body = &p->body[i];
        int count = count_calls(&written->code, body->name);
        bool rest = body->single && k->kind != KERNEL_REGION;
        if (count > 0 && (rest || (count > 1 && (size_t)count * body->bytes > COPIED_BYTES)))
            written->called |= 1u << i;
        else
            written->weight += (size_t)count * body->bytes;
    }
}

static void
put_kernel(const Prelude *p, const Written *written, Text *out)
{
    for (int i = 0; i < p->bodies; i++)
        if (written->called >> i & 1)
            text_printf(out, "\n#define %s called_%s", p->body[i].name, p->body[i].name);
    if (written->called != 0) text_put(out, "\n");
    text_add(out, &written->code);
    for (int i = 0; i < p->bodies; i++)
        if (written->called >> i & 1) text_printf(out, "#undef %s\n", p->body[i].name);
}

/* ---- files in parts ---- */

/* Below so much text of kernels a second compiler would take longer to start than it saves. */
enum { PARTED_BYTES = 6000 };

static const char PARTS_TEXT[] = "#ifndef PARTS /* of PARTS compilers each takes a part */\n"
                                 "#define PARTS 1\n"
                                 "#define PART 0\n"
                                 "#endif\n"
                                 "/* which part it is in, 4 bits for each number of parts */\n"
                                 "#define HERE(parts) ((parts >> 4 * (PARTS - 1) & 15) == PART)\n";

static int
by_weight(const void *left, const void *right)
{
    const Written *a = *(Written *const *)left, *b = *(Written *const *)right;
    if (a->weight != b->weight) return a->weight < b->weight ? 1 : -1;
    return (a > b) - (a < b);
}

/* Divides the kernels among `parts` compilers: the heaviest first, each to the one that has least
   to do so far. */
static void
divide(Written *const *order, int count, int parts, size_t first)
{
    size_t load[MAX_PARTS] = {first};
    for (int i = 0; i < count; i++) {
        int least = 0;
        for (int part = 1; part < parts; part++)
            if (load[part] < load[least]) least = part;
        load[least] += order[i]->weight;
        order[i]->parts |= (uint32_t)least << 4 * (parts - 1);
    }
}

/* Divides the kernels that have code among any number of compilers: the text is the same on
   machines with few processors and with many.  Those that are in driven loops are where these
   are. */
static void
number_parts(AllWritten *all, int kernels)
{
    Written **order = all->order;
    size_t bytes = 0, turned = 0;
    int count = 0;
    for (int i = 0; i < kernels; i++) {
        Written *kernel = &all->kernel[i];
        bytes += kernel->weight;
        if (all->turned[i].kernel == i)
            turned += 2 * kernel->weight;
        else if (kernel->code.len > 0)
            order[count++] = kernel;
    }
    if (count < 2 || bytes < PARTED_BYTES) return;
    qsort(order, (size_t)count, sizeof(*order), by_weight);
    for (int parts = 2; parts <= MAX_PARTS; parts++) divide(order, count, parts, turned);
    all->parted = true;
}

static int
emit_kernels(Emit *e, AllWritten *all, bool comments, Text *body)
{
    const Program *p = e->program;
    for (int i = 0; i < p->kernels.len; i++) {
        const Kernel *k = p->kernels.at[i];
        if (k->device != DEVICE_HOST || (!e->quick && k->kind != KERNEL_REGION)) continue;
        if (emit_code(e, all, i, comments) < 0) return -1;
    }
    for (int i = 0; i < p->kernels.len; i++) choose_calls(e, p->kernels.at[i], &all->kernel[i]);
    number_parts(all, p->kernels.len);
    for (int i = 0; i < p->kernels.len; i++) {
        const Written *kernel = &all->kernel[i];
        bool parted = all->parted && kernel->code.len > 0;
        if (parted) text_printf(body, PART_MARK "0x%x)", kernel->parts);
        put_kernel(e->prelude, kernel, body);
        if (parted) text_put(body, "#endif\n");
    }
    return 0;
}

/* Behind the kernels, with the first part. */
static int
emit_drives(const Emit *e, const AllWritten *all, Text *body)
{
    bool parted = all->parted && e->program->drives.len > 0;
    if (parted) text_put(body, PART_MARK "0x0)");
    if (drive_write(e->graph, e->program, all->turned, body) < 0) return -1;
    if (parted) text_put(body, "#endif\n");
    return 0;
}

/* The vector width of this machine, for which code is compiled. */
static int
machine_vector_bytes(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return 64;
    if (__builtin_cpu_supports("avx2")) return 32;
#endif
    return 16;
}

bool
codegen_has_region(const Program *program)
{
    for (int i = 0; i < program->kernels.len; i++)
        if (program->kernels.at[i]->kind == KERNEL_REGION) return true;
    return false;
}

/* `quick`: all kernels; else the careful variants of kept loops alone. */
static int
write_file(const Graph *graph, const Program *program, bool comments, int vector_bytes, bool quick,
           Text *out, bool *straight)
{
    Text head = {0}, body = {0};
    if (vector_bytes == 0) vector_bytes = machine_vector_bytes();
    Prelude prelude = {.head = &head,
                       .vector_bytes = vector_bytes,
                       .own = graph->inlines || !graph->fast,
                       .fast = graph->fast};
    int status = -1;
    Emit e = {.graph = graph,
              .program = program,
              .prelude = &prelude,
              .vector_bytes = prelude.vector_bytes,
              .ways = 1,
              .position = "j",
              .quick = quick,
              .pointer = 'r'};
    prelude_begin(&prelude);
    size_t count = (size_t)program->kernels.len + 1;
    AllWritten all = {mem_alloc(sizeof(Written) * count), mem_alloc(sizeof(int) * count),
                      mem_alloc(sizeof(int) * count),     mem_alloc(sizeof(Written *) * count),
                      mem_alloc(sizeof(Turned) * count),  false};
    if (all.kernel == NULL || all.shapes == NULL || all.texts == NULL || all.order == NULL ||
        all.turned == NULL || emit_kernels(&e, &all, comments, &body) < 0 ||
        (quick && emit_drives(&e, &all, &body) < 0))
        goto done;
    if (prelude.missing[0] != 0) {
        PyErr_Format(PyExc_SystemError, "code generation has no helper %s", prelude.missing);
        goto done;
    }
    text_printf(out, "/* vectors of %d bytes */\n", prelude.vector_bytes);
    if (graph->fast) text_put(out, CONTRACT_TEXT);
    text_put(out, KERNEL_ABI_TEXT);
    if (codegen_has_region(program)) text_put(out, LOG_ABI_TEXT);
    if (codegen_has_region(program) && quick) text_put(out, KEPT_LOOP_TEXT);
    text_put(out, REST_TEXT);
    if (quick) drive_head(program, all.turned, out);
    if (program->loops.len > 0) text_put(out, CALL_LOOP_TEXT);
    if (all.parted) text_put(out, PARTS_TEXT);
    text_add(out, &head);
    text_add(out, &body);
    if (text_finish(&prelude.done) == 0) status = text_finish(out);
    /* what is asked for straight code leaves contraction out */
    if (straight != NULL) *straight = !graph->fast && is_straight(&e);
done:
    for (size_t i = 0; all.kernel != NULL && i < count; i++) {
        text_free(&all.kernel[i].text);
        text_free(&all.kernel[i].code);
    }
    mem_free(all.turned);
    mem_free(all.order);
    mem_free(all.kernel);
    mem_free(all.shapes);
    mem_free(all.texts);
    text_free(&head);
    text_free(&body);
    prelude_end(&prelude);
    return status;
}

int
codegen_c(const Graph *graph, const Program *program, bool comments, Text *out, bool *straight)
{
    return codegen_c_for(graph, program, comments, 0, out, straight);
}

int
codegen_c_for(const Graph *graph, const Program *program, bool comments, int vector_bytes,
              Text *out, bool *straight)
{
    return write_file(graph, program, comments, vector_bytes, true, out, straight);
}

int
codegen_careful(const Graph *graph, const Program *program, int vector_bytes, Text *out)
{
    return write_file(graph, program, false, vector_bytes, false, out, NULL);
}
