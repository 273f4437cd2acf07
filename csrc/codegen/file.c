/* One file of all kernels of a program: what is alike once, copies of helpers, parts that several
   compilers may take, and what stands at its top. */
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
   the comparisons do), so these are raised again: those that NumPy tells of, which are rare;
   inexact is raised by nearly every operation, and to write flags takes longer than an exp.  On
   x86-64 the x87 unit has flags of its own, which glibc's feraiseexcept sets for an overflow, and
   so does NumPy for one of float16. */
static const char CALL_LOOP_TEXT[] =
    "static int call_loop(const KernelLoop *loop, char *const *data, const int64_t *dimensions,\n"
    "                     const int64_t *strides)\n"
    "{\n"
    "#if defined(__x86_64__)\n"
    "    __asm__ volatile(\"\" ::: \"memory\");\n"
    "    unsigned short x87;\n"
    "    __asm__ volatile(\"fnstsw %0\" : \"=a\"(x87));\n"
    "    unsigned raised = (__builtin_ia32_stmxcsr() | x87) & 29;\n"
    "    int failed = loop->call(loop->context, data, dimensions, strides, loop->auxdata);\n"
    "    if (raised) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | raised);\n"
    "    return failed;\n"
    "#elif defined(__aarch64__)\n"
    "    __asm__ volatile(\"\" ::: \"memory\");\n"
    "    unsigned raised = (unsigned)__builtin_aarch64_get_fpsr() & 15;\n"
    "    int failed = loop->call(loop->context, data, dimensions, strides, loop->auxdata);\n"
    "    if (raised)\n"
    "        __builtin_aarch64_set_fpsr((unsigned)__builtin_aarch64_get_fpsr() | raised);\n"
    "    return failed;\n"
    "#else\n"
    "    return loop->call(loop->context, data, dimensions, strides, loop->auxdata);\n"
    "#endif\n"
    "}\n";

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
    int status = emit_kernel_text(e, number, false, body);
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
        if (emit_kernel_text(e, number, false, text) < 0) return -1;
        same = first_text(p, all, number);
    }
    all->kernel[number].same = same;
    all->turned[number] = same != number ? all->turned[same] : (Turned){.kernel = -1};
    if (same != number) {
        emit_alias(k, same, number, &all->kernel[same].code);
        return 0;
    }
    Text body = {0};
    int status = comments ? emit_kernel_text(e, number, true, &body) : 0;
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

/* Does a kept loop change a dict? */
static bool
has_dict(const Program *program)
{
    for (int i = 0; i < program->kernels.len; i++) {
        const RegionLoop *region = program->kernels.at[i]->region;
        for (int k = 0; region != NULL && k < region->arrays.len; k++)
            if (region->arrays.at[k].keyed) return true;
    }
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
    if (has_dict(program)) text_put(out, DICT_TEXT);
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

void
codegen_abi(Text *out)
{
    text_put(out, KERNEL_ABI_TEXT);
    text_put(out, LOG_ABI_TEXT);
    text_put(out, DRIVE_ABI_TEXT);
}

int
codegen_careful(const Graph *graph, const Program *program, int vector_bytes, Text *out)
{
    return write_file(graph, program, false, vector_bytes, false, out, NULL);
}
