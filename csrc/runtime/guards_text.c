/* What a guard says: "x.shape[0] == 32, now 64 (file.py:12)".  The sentence is the row's in
   guards.def; arrays name the one fact that differs.  Reprs are taken of plain values of Python and
   NumPy only, so that no code of the user's runs, and are cut; what comes out of the environment is
   not shown.  An entry of the value stack is named by the source of what gave it. */
#include "guards.h"

#include <alloca.h>

static const char *const templates[] = {
#define GUARD(name, text, remedy) text,
#include "../capture/guards.def"
#undef GUARD
};

static const char *const remedies[] = {
#define GUARD(name, text, remedy) remedy,
#include "../capture/guards.def"
#undef GUARD
};

/* ---- values ---- */

static bool
is_plain(PyObject *object)
{
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
            if (!is_plain(PyTuple_GET_ITEM(object, i))) return false;
        return true;
    }
    return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
           PyFloat_CheckExact(object) || PyComplex_CheckExact(object) ||
           PyUnicode_CheckExact(object) || PyBytes_CheckExact(object);
}

enum { LONGEST = 60 }; /* bytes of a repr */

/* Without the end of a long one, between two characters. */
static void
put_cut(Text *out, const char *text)
{
    size_t length = strlen(text);
    if (environment_holds(text)) {
        text_put(out, "<a value out of the environment>");
    } else if (length <= LONGEST) {
        text_put(out, text);
    } else {
        length = LONGEST;
        while ((text[length] & 0xc0) == 0x80) length--;
        text_printf(out, "%.*s...", (int)length, text);
    }
}

static bool
is_number_of_arrays(PyObject *object)
{
    DType dtype;
    char bytes[32];
    return array_scalar_read(object, &dtype, bytes) == ANSWER_YES;
}

static void
put_object(Text *out, PyObject *object)
{
    if (object == NULL) {
        text_put(out, "missing");
    } else if (PyType_Check(object)) {
        text_put(out, ((PyTypeObject *)object)->tp_name);
    } else if (is_plain(object) || is_number_of_arrays(object)) {
        PyObject *repr = PyObject_Repr(object);
        const char *string = repr ? PyUnicode_AsUTF8(repr) : NULL;
        put_cut(out, string ? string : "?");
        if (string == NULL) PyErr_Clear();
        Py_XDECREF(repr);
    } else if (PyFunction_Check(object)) {
        const char *name = PyUnicode_AsUTF8(((PyFunctionObject *)object)->func_qualname);
        text_printf(out, "function %s", name ? name : "?");
        if (name == NULL) PyErr_Clear();
    } else if (PyCode_Check(object)) { /* which function it is: see put_source */
        const char *name = PyUnicode_AsUTF8(((PyCodeObject *)object)->co_qualname);
        text_printf(out, "function %s", name ? name : "?");
        if (name == NULL) PyErr_Clear();
    } else if (PyModule_Check(object)) {
        const char *name = PyModule_GetName(object);
        text_printf(out, "module %s", name ? name : "?");
        if (name == NULL) PyErr_Clear();
    } else if (PyMethod_Check(object)) {
        put_object(out, PyMethod_GET_FUNCTION(object));
        text_put(out, " as a method");
    } else if (Py_IS_TYPE(object, &CompiledFunction_Type) ||
               Py_IS_TYPE(object, &DisabledFunction_Type) || PyCFunction_Check(object) ||
               ufunc_check(object) || array_function_check(object)) {
        PyObject *name = PyObject_GetAttrString(object, "__name__");
        const char *string = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        text_printf(out, "function %s", string ? string : "?");
        Py_XDECREF(name);
        PyErr_Clear();
    } else {
        text_printf(out, "<%s object>", Py_TYPE(object)->tp_name);
    }
}

static void
put_name(Text *out, PyObject *name)
{
    const char *string = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (string == NULL) PyErr_Clear();
    text_put(out, string ? string : "?");
}

static const char *
key_text(const GuardSource *source)
{
    const char *text =
        source->key != NULL && PyUnicode_Check(source->key) ? PyUnicode_AsUTF8(source->key) : NULL;
    if (text == NULL) PyErr_Clear();
    return text != NULL ? text : "";
}

/* The dict of os.environ (or of os.environb), or something in it. */
static bool
is_of_environment(const GuardProgram *program, int number)
{
    for (; number >= 0 && number < program->nsources; number = program->sources[number].base) {
        const GuardSource *source = &program->sources[number];
        bool named = source->kind == SOURCE_ATTR || source->kind == SOURCE_GLOBAL;
        const char *name = named ? key_text(source) : "";
        if (strcmp(name, "environ") == 0 || strcmp(name, "environb") == 0) return true;
        if (source->kind == SOURCE_GLOBAL) return false; /* its base are the builtins */
    }
    return false;
}

/* os.environ keeps everything in a dict of bytes that the program does not name. */
static void
put_variable(Text *out, const GuardSource *source)
{
    PyObject *key = source->key;
    text_printf(out, "os.environ['%.*s']", LONGEST,
                key != NULL && PyBytes_Check(key) ? PyBytes_AS_STRING(key) : key_text(source));
}

/* By the source of what put it on the stack; `entry` counts from the bottom. */
static void
put_stack_entry(Text *out, const GuardProgram *program, int entry)
{
    Decoded *decoded = program->code ? decode(program->code) : NULL;
    int which = entry, at = -1;
    if (decoded != NULL && program->entry < decoded->count)
        at = stack_writer(decoded, program->entry, &which);
    const Instr *writer = at >= 0 ? &decoded->instrs[at] : NULL;
    const Instr *next = decoded ? &decoded->instrs[program->entry] : NULL;
    bool item = writer != NULL && (writer->kind == I_FOR_ITER || writer->kind == I_UNPACK);
    bool method = writer != NULL && writer->kind == I_LOAD_METHOD;
    PyObject *text = NULL;
    if (item && next->kind == I_STORE_LOCAL && entry == next->depth - 1) {
        text = Py_XNewRef(code_slot_name(program->code, next->arg)); /* about to be its name */
    } else if (writer != NULL) {
        PyObject *name = module_object("pycompile._source", "expression");
        const char *role = item ? "item" : method && which > 0 ? "object" : "";
        if (name != NULL)
            text = PyObject_CallFunction(name, "Ois", program->code, (int)writer->at, role);
        Py_XDECREF(name);
    }
    const char *string = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    if (string != NULL && *string != '\0')
        text_put(out, string);
    else
        text_printf(out, "(a value of line %d)",
                    (int)(writer ? writer->line
                          : next ? next->line
                                 : 0));
    Py_XDECREF(text);
    decoded_free(decoded);
}

static void
put_source(Text *out, const GuardProgram *program, int number)
{
    if (number < 0 || number >= program->nsources) return;
    const GuardSource *source = &program->sources[number];
    switch (source->kind) {
    case SOURCE_SLOT: {
        int nlocals = program->code ? program->code->co_nlocalsplus : 0;
        if (source->index < nlocals)
            put_name(out, code_slot_name(program->code, source->index));
        else
            put_stack_entry(out, program, source->index - nlocals);
        break;
    }
    case SOURCE_CELL: put_source(out, program, source->base); break;
    case SOURCE_GLOBAL: put_name(out, source->key); break;
    case SOURCE_ATTR:
        put_source(out, program, source->base);
        if (strcmp(key_text(source), "__code__") == 0) break; /* users know the function */
        text_put(out, ".");
        put_name(out, source->key);
        break;
    case SOURCE_ITEM:
        if (source->key != NULL && is_of_environment(program, source->base)) {
            put_variable(out, source);
            break;
        }
        put_source(out, program, source->base);
        text_put(out, "[");
        if (source->key != NULL)
            put_object(out, source->key);
        else
            text_printf(out, "%d", source->index);
        text_put(out, "]");
        break;
    case SOURCE_CONST: put_object(out, source->object); break;
    case SOURCE_HANDLED: text_put(out, "sys.exception()"); break;
    case SOURCE_SIZE:
        put_source(out, program, source->base);
        text_printf(out, ".shape[%d]", source->index);
        break;
    case SOURCE_TYPE:
        text_put(out, "type(");
        put_source(out, program, source->base);
        text_put(out, ")");
        break;
    }
}

/* ---- arrays ---- */

static void
put_array(Text *out, const GuardCheck *check)
{
    text_put(out, dtype_long_name(check->array.dtype));
    text_put(out, "[");
    for (int i = 0; i < check->array.rank; i++) {
        text_put(out, i ? ", " : "");
        if (check->array.known_shape >> i & 1)
            text_printf(out, "%lld", (long long)check->array.shape[i]);
        else
            text_put(out, "?");
    }
    text_put(out, "]");
    if (check->array.flags & ARRAY_C_CONTIGUOUS) text_put(out, " C-contiguous");
    if (check->array.flags & ARRAY_WRITEABLE) text_put(out, " writeable");
    for (int i = 0, first = 1; i < check->array.rank; i++) {
        if (!(check->array.known_stride >> i & 1)) continue;
        text_printf(out, first ? " strides[%d] %lld" : ", [%d] %lld", i,
                    (long long)check->array.stride[i]);
        first = 0;
    }
}

static const char *
flag_name(unsigned flag)
{
    return flag == ARRAY_C_CONTIGUOUS   ? "c_contiguous"
           : flag == ARRAY_F_CONTIGUOUS ? "f_contiguous"
           : flag == ARRAY_WRITEABLE    ? "writeable"
           : flag == ARRAY_ALIGNED      ? "aligned"
           : flag == ARRAY_ALIGNED_8    ? "aligned to 8 bytes"
                                        : "owndata";
}

/* One fact of an array, as it was wanted and as it came, and what to do where it varies. */
typedef struct {
    char name[32];
    char wanted[24], now[24]; /* `wanted`: empty of a flag */
    const char *remedy;
} Fact;

static const char fewer_shapes[] = "pad arrays to a few shapes; of a selection x[mask] keep the "
                                   "shape: np.where(mask, x, 0)";
static const char same_shape[] = "keep its shape: np.where(mask, x, 0) in place of a selection "
                                 "x[mask], masks in place of lists of the elements that count";
static const char one_layout[] = "lay arrays out alike: np.ascontiguousarray(x)";

/* Whether the array comes from outside, as an argument or in an object: only then can the caller
   give it another shape. */
static bool
is_from_outside(const GuardProgram *program, const GuardSource *source)
{
    if (source->kind != SOURCE_SLOT || program->code == NULL) return true;
    PyCodeObject *code = program->code;
    int flags = code->co_flags;
    int nargs = code->co_argcount + code->co_kwonlyargcount + ((flags & CO_VARARGS) != 0) +
                ((flags & CO_VARKEYWORDS) != 0);
    if (source->index >= nargs) return false;
    Decoded *decoded = decode(code);
    if (decoded == NULL) PyErr_Clear();
    bool stored = false;
    for (int i = 0; decoded != NULL && i < program->entry && i < decoded->count; i++)
        stored |=
            decoded->instrs[i].kind == I_STORE_LOCAL && decoded->instrs[i].arg == source->index;
    decoded_free(decoded);
    return !stored;
}

static void
set_fact(Fact *fact, const char *name, int axis, int64_t wanted, int64_t now)
{
    snprintf(fact->name, sizeof(fact->name), axis < 0 ? "%s" : "%s[%d]", name, axis);
    snprintf(fact->wanted, sizeof(fact->wanted), "%lld", (long long)wanted);
    snprintf(fact->now, sizeof(fact->now), "%lld", (long long)now);
}

/* The first fact of an array that differs.  False: the array as a whole. */
static bool
find_difference(const GuardProgram *program, const GuardCheck *check, PyObject *now, Fact *fact)
{
    ArrayHeader header;
    const char *why;
    if (now == NULL || array_read(now, &header, &why) != ANSWER_YES) return false;
    unsigned missing = check->array.flags & ~header.flags;
    if (header.dtype != check->array.dtype) {
        fact->remedy = "cast to one dtype: x.astype(np.float64)";
        snprintf(fact->name, sizeof(fact->name), "dtype");
        snprintf(fact->wanted, sizeof(fact->wanted), "%s", dtype_long_name(check->array.dtype));
        snprintf(fact->now, sizeof(fact->now), "%s", dtype_long_name(header.dtype));
        return true;
    }
    if (header.rank != check->array.rank) {
        fact->remedy = "reshape arrays to one number of dimensions";
        set_fact(fact, "ndim", -1, check->array.rank, header.rank);
        return true;
    }
    for (int i = 0; i < header.rank; i++) {
        if (!(check->array.known_shape >> i & 1) || header.shape[i] == check->array.shape[i]) continue;
        set_fact(fact, "shape", i, check->array.shape[i], header.shape[i]);
        fact->remedy =
            is_from_outside(program, &program->sources[check->source]) ? fewer_shapes : same_shape;
        return true;
    }
    fact->remedy = one_layout;
    if (missing) {
        unsigned first = missing & -missing;
        if (first == ARRAY_WRITEABLE) fact->remedy = "pass arrays that can be written, or a copy";
        if (first == ARRAY_ALIGNED) fact->remedy = "pass aligned arrays: x.copy()";
        snprintf(fact->name, sizeof(fact->name), "flags.%s", flag_name(first));
        *fact->wanted = '\0';
        snprintf(fact->now, sizeof(fact->now), "not");
        return true;
    }
    for (int i = 0; i < header.rank; i++) {
        if (!(check->array.known_stride >> i & 1) || header.stride[i] == check->array.stride[i]) continue;
        set_fact(fact, "strides", i, check->array.stride[i], header.stride[i]);
        return true;
    }
    return false;
}

static bool
put_difference(Text *out, const GuardProgram *program, const GuardCheck *check, PyObject *now)
{
    Fact fact;
    if (!find_difference(program, check, now, &fact)) return false;
    put_source(out, program, check->source);
    const char *is = *fact.wanted ? " == " : "";
    text_printf(out, ".%s%s%s, now %s", fact.name, is, fact.wanted, fact.now);
    return true;
}

/* ---- sentences ---- */

/* "<= 3", ">= 5", "== 4", "in [1, 9]": the ends of int64 are no numbers of the program's. */
static void
put_range(Text *out, int64_t low, int64_t high)
{
    if (low == INT64_MIN && high == INT64_MAX)
        text_put(out, "fits 64 bits");
    else if (low == INT64_MIN)
        text_printf(out, "<= %lld", (long long)high);
    else if (high == INT64_MAX)
        text_printf(out, ">= %lld", (long long)low);
    else if (low == high)
        text_printf(out, "== %lld", (long long)low);
    else
        text_printf(out, "in [%lld, %lld]", (long long)low, (long long)high);
}

static bool
is_number(PyObject *object)
{
    return object != NULL && (PyLong_Check(object) || PyFloat_Check(object) ||
                              PyComplex_Check(object) || is_number_of_arrays(object));
}

/* The type of the number that was wanted where a number of another type came; NULL otherwise. */
static PyTypeObject *
wanted_number_type(const GuardCheck *check, PyObject *now)
{
    PyTypeObject *wanted = check->kind == GUARD_INT_RANGE ? &PyLong_Type
                           : check->kind == GUARD_VALUE && is_number(check->object)
                               ? Py_TYPE(check->object)
                               : NULL;
    return wanted != NULL && is_number(now) && Py_TYPE(now) != wanted ? wanted : NULL;
}

static void
put_number_types(Text *out, const GuardProgram *program, const GuardCheck *check, PyObject *now)
{
    text_put(out, "type(");
    put_source(out, program, check->source);
    text_printf(out, ") is %s, now %s", wanted_number_type(check, now)->tp_name,
                Py_TYPE(now)->tp_name);
}

static void
put_wanted(Text *out, const GuardProgram *program, const GuardCheck *check)
{
    switch (check->kind) {
    case GUARD_INT_RANGE: put_range(out, check->low, check->high); break;
    case GUARD_MOST:
    case GUARD_FILLING:
    case GUARD_LENGTH: text_printf(out, "%lld", (long long)check->low); break;
    case GUARD_ARRAY: put_array(out, check); break;
    case GUARD_SCALAR: text_printf(out, "a numpy.%s", dtype_long_name(check->array.dtype)); break;
    case GUARD_SAME:
    case GUARD_NOT_SAME:
    case GUARD_NO_OVERLAP:
    case GUARD_NOT_DICT: put_source(out, program, check->other); break;
    case GUARD_DISJOINT: text_put(out, "share no memory where one is written"); break;
    case GUARD_ATTR_ABSENT: put_name(out, check->object); break;
    case GUARD_SPARE:
        text_put(out, check->low ? "an array that nothing else holds" : "held elsewhere too");
        break;
    case GUARD_VALUE:
        if (is_of_environment(program, check->source)) {
            text_put(out, "what it was");
            break;
        }
        /* fall through */
    default: put_object(out, check->object); break;
    }
}

/* Another object than `wanted`, also where both are called the same. */
static void
put_other(Text *out, PyObject *wanted, PyObject *now)
{
    Text before = {0}, after = {0};
    put_object(&before, wanted);
    put_object(&after, now);
    bool same = before.data != NULL && after.data != NULL && strcmp(before.data, after.data) == 0;
    text_printf(out, "%s%s", same ? "another " : "", after.data ? after.data : "?");
    text_free(&before);
    text_free(&after);
}

static void
put_now(Text *out, const GuardProgram *program, const GuardCheck *check, PyObject *now)
{
    Py_ssize_t length = -1;
    if (now != NULL && check->kind == GUARD_LENGTH) length = sequence_length(now);
    if (now != NULL && check->kind == GUARD_MOST && deque_check(now))
        length = (Py_ssize_t)deque_most(now);
    if (length >= 0)
        text_printf(out, "%zd", length);
    else if (now != NULL && check->kind == GUARD_TYPE)
        text_put(out, Py_TYPE(now)->tp_name);
    else if (now != NULL && check->kind == GUARD_KEYS && PyDict_Check(now))
        text_printf(out, "%zd other keys", PyDict_GET_SIZE(now));
    else if (now != NULL && check->kind != GUARD_TYPE && is_of_environment(program, check->source))
        text_put(out, "another");
    else if (now != NULL && (check->kind == GUARD_IS || check->kind == GUARD_GLOBAL))
        put_other(out, check->object, now);
    else
        put_object(out, now);
}

static void
put_sentence(Text *out, const GuardProgram *program, const GuardCheck *check,
             PyObject *const *reached)
{
    const char *at = templates[check->kind];
    const char *end = reached == NULL ? strstr(at, ", now") : NULL;
    for (; *at && at != end; at++) {
        if (at[0] == '$' && at[1] == 's') {
            put_source(out, program, check->source);
        } else if (at[0] == '$' && at[1] == 'w') {
            put_wanted(out, program, check);
        } else if (at[0] == '$' && at[1] == 'g') {
            put_now(out, program, check, reached[check->source]);
        } else {
            text_printf(out, "%c", *at);
            continue;
        }
        at++;
    }
}

static void
put_place(Text *out, const GuardProgram *program, const GuardCheck *check)
{
    if (check->line <= 0 || check->file < 0 || check->file >= program->nfiles) return;
    const char *file = program->files[check->file], *slash = strrchr(file, '/');
    text_printf(out, " (%s:%d)", slash ? slash + 1 : file, check->line);
}

int
guards_explain(GuardProgram *program, int number, const Roots *roots, Text *out)
{
    PyObject **reached = NULL;
    if (program->dead) {
        text_put(out, "an object that was relied on is gone");
        return text_finish(out);
    }
    if (roots != NULL) {
        reached = mem_alloc(sizeof(PyObject *) * (size_t)(program->nsources + 1));
        if (reached == NULL) return -1;
        for (int i = 0; i < program->nsources; i++)
            reached[i] = source_reach(&program->sources[i], roots, reached);
    }
    if (number >= program->nchecks) {
        put_source(out, program, number - program->nchecks);
        text_put(out, " is there, now missing");
    } else {
        const GuardCheck *check = &program->checks[number];
        PyObject *now = reached != NULL ? reached[check->source] : NULL;
        if (wanted_number_type(check, now) != NULL)
            put_number_types(out, program, check, now);
        else if (check->kind != GUARD_ARRAY || !put_difference(out, program, check, now))
            put_sentence(out, program, check, reached);
        put_place(out, program, check);
    }
    mem_free(reached);
    return text_finish(out);
}

/* What is behind the source of the check `number`; NULL: nothing, or no memory to look with. */
static PyObject *
reach_checked(const GuardProgram *program, int number, const Roots *roots)
{
    PyObject **reached = mem_alloc(sizeof(PyObject *) * (size_t)(program->nsources + 1));
    if (reached == NULL) {
        PyErr_Clear();
        return NULL;
    }
    for (int i = 0; i < program->nsources; i++)
        reached[i] = source_reach(&program->sources[i], roots, reached);
    PyObject *now = reached[program->checks[number].source];
    mem_free(reached);
    return now;
}

bool
guards_put_value(GuardProgram *program, int number, const Roots *roots, Text *name, Text *value)
{
    if (program->dead || number >= program->nchecks) return false;
    const GuardCheck *check = &program->checks[number];
    PyObject *now = reach_checked(program, number, roots);
    if (wanted_number_type(check, now) != NULL) return false; /* not told by their values */
    put_source(name, program, check->source);
    if (check->kind == GUARD_VALUE || check->kind == GUARD_LENGTH) {
        put_wanted(value, program, check);
        return true;
    }
    Fact fact;
    if (check->kind != GUARD_ARRAY || !find_difference(program, check, now, &fact)) return false;
    text_printf(name, ".%s", fact.name);
    text_put(value, fact.wanted);
    return *fact.wanted != '\0';
}

const char *
guards_remedy(const GuardProgram *program, int number, const Roots *roots)
{
    if (program->dead || number >= program->nchecks) return "";
    const GuardCheck *check = &program->checks[number];
    PyObject *now = reach_checked(program, number, roots);
    Fact fact;
    if (wanted_number_type(check, now) != NULL) return "pass numbers of one type";
    if (check->kind == GUARD_INT_RANGE && check->low == INT64_MIN && check->high == INT64_MAX)
        return "pass ints that fit 64 bits";
    if (check->kind == GUARD_ARRAY && find_difference(program, check, now, &fact))
        return fact.remedy;
    return remedies[check->kind];
}
