/* Helpers for elementary functions: NumPy's own vector functions and those of special.h
   (arrays/elementary.c), or in fast graphs those of the vector math library. */
#include "prelude.h"

#include "../arrays/arrays.h"
#include "../elementary.h"
#include "../hyperbolic.h"
#include "../special.h"
#include "codegen.h"

/* The arguments of an elementary function of ops.def; 0: it is none. */
static int
function_arity(const char *name)
{
    char called[OP_FUNCTION_NAME];
    for (int op = 0; op < OP_COUNT; op++)
        if (op_function((Op)op, called) && strcmp(called, name) == 0) return op_info((Op)op)->arity;
    return 0;
}

/* ---- helpers with long texts ---- */

/* Notes such a helper; beyond MAX_BODIES there is no choice. */
static void
note_body(Prelude *p, const char *name, size_t bytes, bool single)
{
    if (p->bodies == MAX_BODIES) return;
    LongHelper *body = &p->body[p->bodies++];
    snprintf(body->name, sizeof body->name, "%s", name);
    body->bytes = bytes;
    body->single = single;
}

/* 0: there is none of this name. */
static size_t
bytes_of_body(const Prelude *p, const char *name)
{
    for (int i = 0; i < p->bodies; i++)
        if (strcmp(p->body[i].name, name) == 0) return p->body[i].bytes;
    return 0;
}

/* ---- elementary.h, hyperbolic.h, libm.h ---- */

/* The texts of a function for vectors of 32 and of 64 bytes, which elementary.h, hyperbolic.h and
   libm.h have. */
#define TEXT(...) #__VA_ARGS__
#define EXPANDED(...) TEXT(__VA_ARGS__)
#define V32(name) name##_32
#define V64(name) name##_64
#define BY_BYTES(NAME, PART) {EXPANDED(NAME##_##PART(V32)), EXPANDED(NAME##_##PART(V64))}
#define TEXTS(NAME) BY_BYTES(NAME, IS_PLAIN), BY_BYTES(NAME, PLAIN), BY_BYTES(NAME, ODD)

typedef struct {
    const char *name;
    DType dtype;
    const char *is_plain[2], *plain[2], *odd[2];
    const char *table;    /* with vectors of 64 bytes; NULL: has none */
    const char *reads[2]; /* what elementary_link sets, by the vector's bytes; NULL: nothing */
} ShortFunction;

static const ShortFunction short_functions[] = {
#if defined(__x86_64__)
    {"exp", DT_F32, TEXTS(EXP_F32), NULL, {NULL, NULL}},
    {"log", DT_F32, TEXTS(LOG_F32), NULL, {NULL, NULL}},
    {"tanh",
     DT_F32,
     TEXTS(TANH_F32),
     EXPANDED(TANH_F32_TABLE),
     {WEAK "const unsigned *of_pycompile_tanh_f32;\n", NULL}},
    {"tanh",
     DT_F64,
     TEXTS(TANH_F64),
     EXPANDED(TANH_F64_TABLE),
     {WEAK "const unsigned long long *of_pycompile_tanh_f64;\n", NULL}},
    {"exp", DT_F64, TEXTS(EXP_F64), NULL, {EXP_F64_READS, EXP_F64_READS}},
    {"log", DT_F64, TEXTS(LOG_F64), NULL, {LOG_F64_READS, LOG_F64_READS}},
    {"sin", DT_F64, TEXTS(SIN_F64), NULL, {SINE_READS, SINE_READS}},
    {"cos", DT_F64, TEXTS(COS_F64), NULL, {SINE_READS, SINE_READS}},
#else
    {.name = ""},
#endif
};

static const ShortFunction *
find_short(const char *name, DType dtype)
{
    for (int i = 0; i < COUNT_OF(short_functions); i++)
        if (short_functions[i].dtype == dtype && strcmp(short_functions[i].name, name) == 0)
            return &short_functions[i];
    return NULL;
}

/* The types that the texts name, and the table that they have with vectors of 64 bytes. */
static void
put_short_types(const ShortFunction *f, int bytes, Text *out)
{
    const char *integer = f->dtype == DT_F32 ? "int" : "long long";
    text_printf(out,
                "    typedef %sx%d T;\n"
                "    typedef %s B __attribute__((vector_size(%d), unused));\n"
                "    typedef unsigned %s U __attribute__((vector_size(%d), unused));\n",
                dtype_name(f->dtype), bytes / (int)dtype_size(f->dtype), integer, bytes, integer,
                bytes);
}

static void
put_short_table(const ShortFunction *f, int bytes, Text *out)
{
    if (bytes != 64 || f->table == NULL) return;
    text_printf(out,
                "static const unsigned %s %s_%s_table[] __attribute__((aligned(64))) = {\n    ",
                f->dtype == DT_F32 ? "int" : "long long", f->name, dtype_name(f->dtype));
    text_put(out, f->table);
    text_put(out, "};\n");
}

/* A function whose text is ours, for vectors of 32 or 64 bytes.  Odd arguments, such as NaN and
   those whose results are no normal numbers, should be rare: the extension module has their code,
   and that of the whole function for kernels that call it (see LongHelper). */
static void
define_short(Prelude *p, const ShortFunction *f, int lanes)
{
    const char *t = dtype_name(f->dtype);
    int bytes = lanes * (int)dtype_size(f->dtype), wide = bytes == 64;
    char name[32], vector[16];
    prelude_define_type(p, f->dtype, lanes);
    put_short_table(f, bytes, p->head);
    if (f->reads[wide] != NULL && prelude_first(p, f->reads[wide]))
        text_put(p->head, f->reads[wide]);
    snprintf(name, sizeof name, "%s_%sx%d", f->name, t, lanes);
    snprintf(vector, sizeof vector, "%sx%d", t, lanes);
    text_printf(p->head, WEAK "%s (*of_pycompile_%s)(%s);\n", vector, name, vector);
    text_printf(p->head, "INLINE %s called_%s(%s a) { return of_pycompile_%s(a); }\n", vector, name,
                vector, name);
    text_printf(p->head, "INLINE %s %s(%s a)\n{\n", vector, name, vector);
    put_short_types(f, bytes, p->head);
    text_put(p->head, "    if (__builtin_expect(!");
    text_put(p->head, f->is_plain[wide]);
    text_printf(p->head, ", 0)) return of_pycompile_%s(a);\n    ", name);
    text_put(p->head, f->plain[wide]);
    text_put(p->head, "\n}\n");
    note_body(p, name, strlen(f->plain[wide]), false);
}

/* ---- the same for a library without Python ---- */

typedef struct {
    const char *name;
    const void *there;
} TableAsked;

static void *
place_of_table(void *context, const char *name)
{
    TableAsked *asked = context;
    return strcmp(asked->name, name) == 0 ? &asked->there : NULL;
}

/* The pointer `name` to a table, and the table; false: it is none. */
static bool
put_table_text(const char *name, Text *out)
{
    static const struct {
        const char *name;
        int count, bytes; /* of numbers of so many bytes */
        const char *type;
    } tables[] = {{"of_pycompile_exp_table", 256, 8, "unsigned long long"},
                  {"of_pycompile_log_table", 256, 8, "double"},
                  {"of_pycompile_sine_table", 440, 8, "double"},
                  {"of_pycompile_tanh_f32", 256, 4, "unsigned"},
                  {"of_pycompile_tanh_f64", 512, 8, "unsigned long long"}};
    for (int i = 0; i < COUNT_OF(tables); i++) {
        if (strcmp(tables[i].name, name) != 0) continue;
        TableAsked asked = {name, NULL};
        elementary_link(place_of_table, &asked);
        if (asked.there == NULL) return false;
        text_printf(out, "static const unsigned %s in_%s[] __attribute__((aligned(64))) = {\n",
                    tables[i].bytes == 8 ? "long long" : "int", name);
        for (int k = 0; k < tables[i].count; k++) {
            uint64_t bits = 0; /* little-endian, as all that has these functions */
            memcpy(&bits, (const char *)asked.there + k * tables[i].bytes, (size_t)tables[i].bytes);
            text_printf(out, "0x%llx, ", (unsigned long long)bits);
        }
        text_printf(out, "};\nconst %s *%s = (const %s *)in_%s;\n", tables[i].type, name,
                    tables[i].type, name);
        return true;
    }
    return false;
}

/* The C library is what NumPy's loop calls for odd arguments. */
static void
put_short_text(const ShortFunction *f, int bytes, Text *out)
{
    const char *t = dtype_name(f->dtype), *c = f->dtype == DT_F32 ? "float" : "double";
    int lanes = bytes / (int)dtype_size(f->dtype), wide = bytes == 64;
    text_printf(out, "typedef %s %sx%d __attribute__((vector_size(%d)));\n", c, t, lanes, bytes);
    if (f->reads[wide] != NULL) text_printf(out, "extern %s", f->reads[wide] + sizeof WEAK - 1);
    if (f->dtype == DT_F64 && strcmp(f->name, "tanh") != 0)
        text_printf(out, "double %s(double);\n#define of_pycompile_%s %s\n", f->name, f->name,
                    f->name);
    put_short_table(f, bytes, out);
    text_printf(out, "static %sx%d whole_%s_%sx%d(%sx%d a)\n{\n", t, lanes, f->name, t, lanes, t,
                lanes);
    put_short_types(f, bytes, out);
    text_put(out, "    if (!");
    text_put(out, f->is_plain[wide]);
    text_put(out, ") {\n    ");
    text_put(out, f->odd[wide]);
    text_put(out, "\n    }\n    ");
    text_put(out, f->plain[wide]);
    text_printf(out, "\n}\n%sx%d (*of_pycompile_%s_%sx%d)(%sx%d) = whole_%s_%sx%d;\n", t, lanes,
                f->name, t, lanes, t, lanes, f->name, t, lanes);
}

bool
codegen_function_text(const char *pointer, Text *out)
{
    if (put_table_text(pointer, out)) return true;
    for (int i = 0; i < COUNT_OF(short_functions); i++)
        for (int bytes = 32; bytes <= 64; bytes *= 2) {
            const ShortFunction *f = &short_functions[i];
            char name[40];
            snprintf(name, sizeof name, "of_pycompile_%s_%sx%d", f->name, dtype_name(f->dtype),
                     bytes / (int)dtype_size(f->dtype));
            if (strcmp(name, pointer) != 0) continue;
            put_short_text(f, bytes, out);
            return true;
        }
    return false;
}

bool
codegen_function_pointer(const char *name, DType dtype, char out[40], int *bytes)
{
    const char *symbol = elementary_symbol(name, dtype);
    if (symbol == NULL) return false;
    *bytes = symbol[0] != '\0' ? 64 : 32;
    if (symbol[0] != '\0')
        snprintf(out, 40, "of_numpy%s", symbol);
    else
        snprintf(out, 40, "of_pycompile_%s_%sx%d", name, dtype_name(dtype),
                 *bytes / (int)dtype_size(dtype));
    return symbol[0] != '\0' || find_short(name, dtype) != NULL;
}

/* ---- of fewer lanes ---- */

/* The function by one of more lanes, which repeat those that there are: they raise no other
   flags. */
static void
put_by_wider(Prelude *p, const char *before, const char *name, DType dtype, int lanes, int wide)
{
    const char *t = dtype_name(dtype);
    char called[40];
    Text text = {0};
    snprintf(called, sizeof called, "%s%s", before, name);
    prelude_signature(p, &text, called, 1, false, dtype, lanes);
    text_printf(&text, " { const %sx%d r = %s", t, wide, before);
    prelude_use(p, name, dtype, wide, &text);
    text_printf(&text, "((%sx%d){", t, wide);
    for (int i = 0; i < wide; i++)
        text_printf(&text, lanes == 1 ? "%sa" : "%sa[%d]", i ? ", " : "", i % lanes);
    text_put(&text, lanes == 1 ? "}); return r[0]; }\n" : "}); return (");
    if (lanes > 1) text_printf(&text, "%sx%d){", t, lanes);
    for (int i = 0; lanes > 1 && i < lanes; i++) text_printf(&text, "%sr[%d]", i ? ", " : "", i);
    if (lanes > 1) text_put(&text, "}; }\n");
    text_add(p->head, &text);
    text_free(&text);
}

/* The same, and by the called one if there is one. */
static void
define_by_wider(Prelude *p, const char *name, DType dtype, int lanes, int wide)
{
    char own[40], other[40];
    prelude_define_type(p, dtype, wide);
    put_by_wider(p, "", name, dtype, lanes, wide);
    snprintf(other, sizeof other, "%s_%sx%d", name, dtype_name(dtype), wide);
    size_t bytes = bytes_of_body(p, other);
    if (bytes == 0) return;
    put_by_wider(p, "called_", name, dtype, lanes, wide);
    if (lanes > 1)
        snprintf(own, sizeof own, "%s_%sx%d", name, dtype_name(dtype), lanes);
    else
        snprintf(own, sizeof own, "%s_%s", name, dtype_name(dtype));
    note_body(p, own, bytes, lanes == 1);
}

/* ---- special.h ---- */

#if defined(__x86_64__)

#define SPECIAL(name, NAME)                                                                        \
    {                                                                                              \
        name, BY_BYTES(NAME, PLAIN),                                                               \
            {EXPANDED(IS_ODD_32(a, NAME##_LIMIT)), EXPANDED(IS_ODD_64(a, NAME##_LIMIT))},          \
        {                                                                                          \
            EXPANDED(IS_ODD_F32_16(a, NAME##_LIMIT)), EXPANDED(IS_ODD_F32_32(a, NAME##_LIMIT)),    \
                EXPANDED(IS_ODD_F32_64(a, NAME##_LIMIT))                                           \
        }                                                                                          \
    }

static const struct {
    const char *name;
    const char *plain[2];                /* by the vector's bytes, 32 or 64 */
    const char *odd_f64[2], *odd_f32[3]; /* of floats also 16 */
} special_functions[] = {SPECIAL("erf", ERF), SPECIAL("erfc", ERFC), SPECIAL("ndtr", NDTR)};

static const char *const lower_text[2] = {EXPANDED(V32(LOWER)(a)), EXPANDED(V64(LOWER)(a))};
static const char *const upper_text[2] = {EXPANDED(V32(UPPER)(a)), EXPANDED(V64(UPPER)(a))};
static const char *const joined_text[2] = {EXPANDED(V32(JOINED)(low, high)),
                                           EXPANDED(V64(JOINED)(low, high))};
static const char *const narrowed_text[2] = {EXPANDED(V32(NARROWED)(low)),
                                             EXPANDED(V64(NARROWED)(low))};
static const char kept_text[] = EXPANDED(FLAGS_KEPT(a)), again_text[] = EXPANDED(FLAGS_AGAIN(r));

static int
find_special(const char *name)
{
    for (int i = 0; i < COUNT_OF(special_functions); i++)
        if (strcmp(special_functions[i].name, name) == 0) return i;
    return -1;
}

/* The names that texts of special.h have for types: of doubles, and of floats where there are
   `floats`. */
static void
put_special_types(Prelude *p, Text *out, int floats)
{
    int bytes = p->vector_bytes;
    text_printf(out, "    typedef f64x%d T;\n", bytes / 8);
    text_printf(out, "    typedef long long B __attribute__((vector_size(%d), unused));\n", bytes);
    if (floats == 0) return;
    text_printf(out, "    typedef f32x%d S;\n", floats);
    text_printf(out, "    typedef int K __attribute__((vector_size(%d), unused));\n", floats * 4);
}

/* PART_NAME, which calls a function of the extension module. */
static void
put_special_pointer(Prelude *p, const char *part, const char *there, const char *name)
{
    int lanes = p->vector_bytes / 8;
    text_printf(p->head, WEAK "f64x%d (*of_pycompile_%s_%s_f64x%d)(f64x%d);\n", lanes, there, name,
                lanes, lanes);
    text_printf(p->head, "INLINE f64x%d %s_%s(f64x%d a) { return of_pycompile_%s_%s_f64x%d(a); }\n",
                lanes, part, name, lanes, there, name, lanes);
}

/* plain_NAME and any_NAME of a vector of doubles, and called_NAME, which is plain_NAME in the
   extension module. */
static void
define_special_parts(Prelude *p, int at)
{
    char key[32];
    const char *name = special_functions[at].name;
    int lanes = p->vector_bytes / 8, wide = p->vector_bytes == 64;
    snprintf(key, sizeof key, "special_%s", name);
    if (!prelude_first(p, key)) return;
    prelude_define_type(p, DT_F64, lanes);
    if (prelude_first(p, EXP_TABLE_READS)) text_put(p->head, EXP_TABLE_READS);
    text_printf(p->head, "INLINE f64x%d plain_%s(f64x%d a)\n{\n", lanes, name, lanes);
    put_special_types(p, p->head, 0);
    text_printf(p->head, "    ");
    text_put(p->head, special_functions[at].plain[wide]);
    text_put(p->head, "\n}\n");
    put_special_pointer(p, "any", "any", name);
    put_special_pointer(p, "called", "plain", name);
}

/* The text of `part`_NAME of all lanes of `a`, into r. */
static void
put_special_call(Prelude *p, int at, const char *part, DType dtype, int lanes)
{
    const char *name = special_functions[at].name;
    int wide = p->vector_bytes == 64;
    bool both = lanes > p->vector_bytes / 8;
    if (dtype == DT_F64) {
        text_printf(p->head, "    T r = %s_%s(a);\n", part, name);
        return;
    }
    text_printf(p->head, "    T low = %s_%s(", part, name);
    text_put(p->head, lower_text[wide]);
    if (both) text_printf(p->head, "), high = %s_%s(", part, name);
    if (both) text_put(p->head, upper_text[wide]);
    text_put(p->head, ");\n    S r = ");
    text_put(p->head, both ? joined_text[wide] : narrowed_text[wide]);
    text_put(p->head, ";\n");
}

/* The function itself, whose usual arguments are for `part`_NAME. */
static void
put_special(Prelude *p, int at, const char *before, const char *part, DType dtype, int lanes)
{
    const char *name = special_functions[at].name, *t = dtype_name(dtype);
    int bytes = lanes * (int)dtype_size(dtype), floats = dtype == DT_F32 ? lanes : 0;
    const char *is_odd = dtype == DT_F64 ? special_functions[at].odd_f64[bytes / 64]
                                         : special_functions[at].odd_f32[bytes / 32];
    text_printf(p->head, "INLINE %sx%d %s%s_%sx%d(%sx%d a)\n{\n", t, lanes, before, name, t, lanes,
                t, lanes);
    put_special_types(p, p->head, floats);
    text_put(p->head, "    if (__builtin_expect(");
    text_put(p->head, is_odd);
    text_printf(p->head, " != 0, 0)) return odd_%s_%sx%d(a);\n", name, t, lanes);
    put_special_call(p, at, part, dtype, lanes);
    text_put(p->head, "    return r;\n}\n");
}

/* Doubles that fill a vector, or floats that fill one or half of one. */
static void
define_special(Prelude *p, int at, DType dtype, int lanes)
{
    const char *name = special_functions[at].name, *t = dtype_name(dtype);
    int floats = dtype == DT_F32 ? lanes : 0;
    char called[40];
    prelude_define_type(p, dtype, lanes);
    define_special_parts(p, at);
    text_printf(p->head, "static __attribute__((noinline, cold)) %sx%d odd_%s_%sx%d(%sx%d a)\n{\n",
                t, lanes, name, t, lanes, t, lanes);
    put_special_types(p, p->head, floats);
    text_printf(p->head, "    ");
    text_put(p->head, kept_text);
    text_put(p->head, "\n");
    put_special_call(p, at, "any", dtype, lanes);
    text_put(p->head, "    ");
    text_put(p->head, again_text);
    text_put(p->head, "\n    return r;\n}\n");
    put_special(p, at, "", "plain", dtype, lanes);
    put_special(p, at, "called_", "called", dtype, lanes);
    snprintf(called, sizeof called, "%s_%sx%d", name, t, lanes);
    note_body(p, called, strlen(special_functions[at].plain[p->vector_bytes == 64]), false);
}

static bool
define_as_special(Prelude *p, const char *name, DType dtype, int lanes)
{
    int at = find_special(name), own = p->vector_bytes / 8;
    if (at < 0 || elementary_symbol(name, dtype) == NULL || own < 4) return false;
    if (lanes * (int)dtype_size(dtype) > p->vector_bytes)
        prelude_lanewise(p, name, 1, dtype, lanes);
    else if (lanes < own)
        define_by_wider(p, name, dtype, lanes, own);
    else
        define_special(p, at, dtype, lanes);
    return true;
}

#else

static bool
define_as_special(Prelude *p, const char *name, DType dtype, int lanes)
{
    (void)p, (void)name, (void)dtype, (void)lanes;
    return false;
}

#endif

/* ---- all of them ---- */

/* A function that has NumPy's bits: arrays/elementary.c. */
static bool
define_elementary(Prelude *p, const char *name, DType dtype, int lanes)
{
    const char *symbol = elementary_symbol(name, dtype), *t = dtype_name(dtype);
    int size = (int)dtype_size(dtype), own = p->vector_bytes / size;
    const ShortFunction *text = find_short(name, dtype);
    bool short_text = symbol != NULL && symbol[0] == '\0' && text != NULL;
    if (symbol == NULL || p->vector_bytes < (short_text ? 32 : 64)) return false;
    if (lanes > own) {
        prelude_lanewise(p, name, 1, dtype, lanes);
        return true;
    }
    if (short_text && lanes <= 32 / size) own = 32 / size;
    if (lanes != own) {
        define_by_wider(p, name, dtype, lanes, own);
    } else if (short_text) {
        define_short(p, text, lanes);
    } else {
        prelude_define_type(p, dtype, lanes);
        text_printf(p->head, WEAK "%sx%d (*of_numpy%s)(%sx%d);\n", t, lanes, symbol, t, lanes);
        text_printf(p->head, "INLINE %sx%d %s_%sx%d(%sx%d a) { return of_numpy%s(a); }\n", t, lanes,
                    name, t, lanes, t, lanes, symbol);
    }
    return true;
}

/* A function of the math library, or of its vectors. */
bool
prelude_function(Prelude *p, const char *name, DType dtype, int lanes)
{
    int arity = function_arity(name), bytes = lanes * (int)dtype_size(dtype);
    char called[VECTOR_LIBM_NAME];
    if (arity == 0 || !dtype_is_float(dtype)) return false;
    if (p->own && define_as_special(p, name, dtype, lanes)) return true;
    if (p->own && define_elementary(p, name, dtype, lanes)) return true;
    if (!p->fast) return false;
    if (lanes > 1 && (bytes < 16 || bytes > p->vector_bytes)) {
        prelude_lanewise(p, name, arity, dtype, lanes);
        return true;
    }
    if (lanes > 1)
        vector_libm_name(called, name, arity, bytes, lanes);
    else
        snprintf(called, sizeof called, "__builtin_%s%s", name, dtype == DT_F32 ? "f" : "");
    Text text = {0};
    prelude_define_type(p, dtype, lanes);
    if (lanes > 1) {
        prelude_type(p, dtype, lanes, &text);
        text_printf(&text, " %s(", called);
        prelude_type(p, dtype, lanes, &text);
        if (arity == 2) text_put(&text, ", ");
        if (arity == 2) prelude_type(p, dtype, lanes, &text);
        text_put(&text, ");\n");
    }
    prelude_signature(p, &text, name, arity, false, dtype, lanes);
    text_printf(&text, " { return %s(%s); }\n", called, arity == 2 ? "a, b" : "a");
    text_add(p->head, &text);
    text_free(&text);
    return true;
}
