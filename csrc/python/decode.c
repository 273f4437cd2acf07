/* Bytecode of 3.11, 3.12 and 3.13 to the neutral instructions.

   In: a code object; only its clean bytecode (PyCode_GetCode) is read, never the adaptive one. Out:
   a Decoded in one block of memory per array.  Invariants: instrs are in bytecode order; each
   jump's target and each handler's target is an Instr with sub == 0; depth is the value stack's
   depth before the instruction, -1 where it is unreachable (and everywhere in code that is `aside`,
   except generators). */
#include "python.h"

#include <opcode.h>

#include "decode_flow.h"

typedef enum {
    FORM_UNKNOWN,        /* no such opcode: the code is left aside */
    FORM_SKIP,           /* prefixes and caches */
    FORM_ARG,            /* arg unchanged */
    FORM_NO_ARG,         /* arg is dropped */
    FORM_SEND,           /* forward jump */
    FORM_ASIDE,          /* the whole code is left aside */
    FORM_OTHER,          /* I_OTHER; `effect` is its change of the depth */
    FORM_LOCAL_CHECKED,  /* may be unbound */
    FORM_TWO_LOCALS,     /* two slots of 4 bits each */
    FORM_GLOBAL,         /* name << 1 | pair */
    FORM_ATTR,           /* name << 1 | method */
    FORM_SUPER,          /* name << 2 | two-argument << 1 | method */
    FORM_COMPARE,        /* operator shifted by the version's COMPARE_SHIFT */
    FORM_FORWARD,        /* jump */
    FORM_BACKWARD,       /* jump that checks the eval breaker */
    FORM_BACKWARD_QUIET, /* jump that does not */
    FORM_KW_NAMES,       /* begins a call: names for the CALL that follows */
    FORM_PRECALL,        /* begins a call unless KW_NAMES did */
    FORM_CALL,
    FORM_CALL_KW,
    FORM_RETURN_CONST,
    FORM_INTRINSIC_1,
    FORM_INTRINSIC_2,
    FORM_FORMAT_VALUE, /* conversion | has spec << 2 */
    FORM_FORMAT_SIMPLE,
    FORM_FORMAT_SPEC,
    FORM_CONVERT,
} FormKind;

typedef struct {
    uint8_t kind; /* InstrKind */
    uint8_t form; /* FormKind */
    int8_t effect;
} Form;

static const Form forms[256] = {
#include "decode_common.def"
#if PY_VERSION_HEX >= 0x030D0000
#include "decode_313.def"
#elif PY_VERSION_HEX >= 0x030C0000
#include "decode_312.def"
#else
#include "decode_311.def"
#endif
};

enum { COMPARE_SHIFT = PY_VERSION_HEX >= 0x030D0000 ? 5 : PY_VERSION_HEX >= 0x030C0000 ? 4 : 0 };
enum { COMPARE_BOOL = PY_VERSION_HEX >= 0x030D0000 ? 16 : 0 };
enum { SEND_POPS = PY_VERSION_HEX < 0x030C0000 };
enum { INTRINSIC_STOP_ITERATION = 3, INTRINSIC_POSITIVE = 5, INTRINSIC_LIST_TO_TUPLE = 6 };
enum { INTRINSIC_PREP_RERAISE_STAR = 1 }; /* of CALL_INTRINSIC_2 */

/* One pass over the units; `jump` keeps each jump's target idx until all numbers are known. */
typedef struct {
    Decoded *out;
    const uint8_t *bytes;
    int32_t *jump;
    int32_t call_idx; /* where the call began that the next CALL completes, or -1 */
    int32_t kw_names; /* co_consts index, or -1 */
} Decoder;

static Instr *
emit(Decoder *d, InstrKind kind, int32_t arg, int32_t arg2, const Instr *where)
{
    Decoded *out = d->out;
    Instr *instr = &out->instrs[out->count];
    *instr = *where;
    instr->kind = kind;
    instr->arg = arg;
    instr->arg2 = arg2;
    if (out->count > 0 && out->instrs[out->count - 1].idx == where->idx)
        instr->sub = (uint8_t)(out->instrs[out->count - 1].sub + 1);
    else
        out->number_at[where->idx] = out->count;
    d->jump[out->count++] = -1;
    return instr;
}

static void
emit_jump(Decoder *d, InstrKind kind, bool checks, int32_t target, const Instr *where)
{
    emit(d, kind, 0, checks, where);
    d->jump[d->out->count - 1] = target;
}

/* 3.12 and 3.13: an exhausted FOR_ITER skips END_FOR (and 3.13's POP_TOP after it). */
static int32_t
after_end_for(const Decoder *d, int32_t idx)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (idx < d->out->nunits && d->bytes[2 * idx] == END_FOR)
        idx += PY_VERSION_HEX >= 0x030D0000 ? 2 : 1;
#endif
    (void)d;
    return idx;
}

static void
set_aside(Decoder *d, const char *reason)
{
    if (d->out->aside == NULL) d->out->aside = reason;
}

static void
decode_call(Decoder *d, FormKind form, int32_t arg, Instr *where)
{
    if (form == FORM_KW_NAMES) {
        d->call_idx = where->idx;
        d->kw_names = arg;
    } else if (form == FORM_PRECALL) {
        if (d->call_idx < 0) d->call_idx = where->idx;
    } else {
        if (d->call_idx >= 0) where->idx = d->call_idx;
        emit(d, d->kw_names >= 0 ? I_CALL_KW : I_CALL, arg, d->kw_names >= 0 ? d->kw_names : 0,
             where);
        d->call_idx = d->kw_names = -1;
    }
}

static void
decode_format(Decoder *d, FormKind form, int32_t arg, const Instr *where)
{
    switch (form) {
    case FORM_FORMAT_VALUE: emit(d, I_FORMAT, arg & 3, (arg & 4) ? 1 : 0, where); break;
    case FORM_FORMAT_SPEC: emit(d, I_FORMAT, 0, 1, where); break;
    case FORM_CONVERT: emit(d, I_FORMAT, arg, 2, where); break;
    default: emit(d, I_FORMAT, 0, 0, where);
    }
}

static void
decode_one(Decoder *d, int opcode, int32_t arg, Instr *where)
{
    const Form form = forms[opcode];
    const InstrKind kind = form.kind;
    switch ((FormKind)form.form) {
    case FORM_SKIP: break;
    case FORM_ARG: emit(d, kind, arg, 0, where); break;
    case FORM_NO_ARG: emit(d, kind, 0, 0, where); break;
    case FORM_SEND: emit_jump(d, kind, SEND_POPS, where->next + arg, where); break;
    case FORM_UNKNOWN:
        set_aside(d, "an instruction that is not known");
        emit(d, I_OTHER, opcode, 0, where);
        break;
    case FORM_ASIDE:
        set_aside(d, "a coroutine or a class body");
        emit(d, I_OTHER, opcode, 0, where);
        break;
    case FORM_OTHER: emit(d, I_OTHER, opcode, form.effect, where); break;
    case FORM_LOCAL_CHECKED: emit(d, kind, arg, 1, where); break;
    case FORM_TWO_LOCALS: {
        bool loads = false;
#if PY_VERSION_HEX >= 0x030D0000
        loads = opcode != STORE_FAST_STORE_FAST;
#endif
        emit(d, kind, arg >> 4, 0, where);
        emit(d, loads ? I_LOAD_LOCAL : I_STORE_LOCAL, arg & 15, 0, where);
        break;
    }
    case FORM_GLOBAL: emit(d, kind, arg >> 1, arg & 1, where); break;
    case FORM_ATTR: emit(d, (arg & 1) ? I_LOAD_METHOD : I_LOAD_ATTR, arg >> 1, 0, where); break;
    case FORM_SUPER: emit(d, kind, arg >> 2, arg & 3, where); break;
    case FORM_COMPARE: emit(d, kind, arg >> COMPARE_SHIFT, (arg & COMPARE_BOOL) != 0, where); break;
    case FORM_FORWARD:
        emit_jump(d, kind, false,
                  kind == I_FOR_ITER ? after_end_for(d, where->next + arg) : where->next + arg,
                  where);
        break;
    case FORM_BACKWARD:
    case FORM_BACKWARD_QUIET:
        emit_jump(d, kind, form.form == FORM_BACKWARD, where->next - arg, where);
        break;
    case FORM_KW_NAMES:
    case FORM_PRECALL:
    case FORM_CALL: decode_call(d, form.form, arg, where); break;
    case FORM_CALL_KW: emit(d, kind, arg, -1, where); break;
    case FORM_RETURN_CONST:
        emit(d, I_CONST, arg, 0, where);
        emit(d, I_RETURN, 0, 0, where);
        break;
    case FORM_INTRINSIC_1:
        if (arg == INTRINSIC_POSITIVE)
            emit(d, I_UNARY_POSITIVE, 0, 0, where);
        else if (arg == INTRINSIC_STOP_ITERATION)
            emit(d, I_STOP_ITERATION_ERROR, 0, 0, where);
        else if (arg == INTRINSIC_LIST_TO_TUPLE)
            emit(d, I_LIST_TO_TUPLE, 0, 0, where);
        else
            emit(d, I_OTHER, opcode, 0, where);
        break;
    case FORM_INTRINSIC_2:
        if (arg == INTRINSIC_PREP_RERAISE_STAR)
            emit(d, I_PREP_RERAISE_STAR, 0, 0, where);
        else
            emit(d, I_OTHER, opcode, form.effect, where);
        break;
    case FORM_FORMAT_VALUE:
    case FORM_FORMAT_SIMPLE:
    case FORM_FORMAT_SPEC:
    case FORM_CONVERT: decode_format(d, form.form, arg, where); break;
    }
}

static void
decode_units(Decoder *d, const int32_t *lines)
{
    Decoded *out = d->out;
    int32_t idx = 0;
    while (idx < out->nunits) {
        Instr where = {.idx = idx, .target = -1, .depth = -1};
        int32_t arg = d->bytes[2 * idx + 1];
        while (d->bytes[2 * idx] == EXTENDED_ARG && idx + 1 < out->nunits) {
            idx++;
            arg = (int32_t)((uint32_t)arg << 8) | d->bytes[2 * idx + 1];
        }
        where.at = idx;
        where.line = lines[idx];
        int opcode = d->bytes[2 * idx++];
        while (idx < out->nunits && d->bytes[2 * idx] == CACHE) idx++;
        where.next = idx;
        decode_one(d, opcode, arg, &where);
    }
}

/* 3.13 has no LOAD_CLOSURE: a LOAD_FAST of a slot that always holds a cell takes its place. */
static void
mark_cell_loads(Decoded *out)
{
#if PY_VERSION_HEX >= 0x030D0000
    for (int i = out->first_traceable; i < out->count; i++) {
        Instr *load = &out->instrs[i];
        if (load->kind != I_LOAD_LOCAL) continue;
        bool cell = (code_slot_kind(out->code, load->arg) & SLOT_FREE) != 0;
        for (int j = 0; j < out->first_traceable && !cell; j++)
            cell = out->instrs[j].kind == I_MAKE_CELL && out->instrs[j].arg == load->arg;
        if (cell) load->kind = I_LOAD_CELL;
    }
#else
    (void)out;
#endif
}

static int32_t
number_of(Decoder *d, int32_t idx)
{
    int32_t number = idx >= 0 && idx < d->out->nunits ? d->out->number_at[idx] : -1;
    if (number < 0) set_aside(d, "a jump into an instruction");
    return number;
}

static void
resolve_jumps(Decoder *d)
{
    for (int i = 0; i < d->out->count; i++)
        if (d->jump[i] >= 0) d->out->instrs[i].target = number_of(d, d->jump[i]);
}

static int32_t
read_varint(const uint8_t **at, const uint8_t *end)
{
    int32_t value = 0;
    while (*at < end) {
        uint8_t byte = *(*at)++;
        value = (value << 6) | (byte & 0x3f);
        if (!(byte & 0x40)) break;
    }
    return value;
}

int
code_handler(PyCodeObject *code, int32_t at)
{
    const uint8_t *byte = (const uint8_t *)PyBytes_AS_STRING(code->co_exceptiontable);
    const uint8_t *end = byte + PyBytes_GET_SIZE(code->co_exceptiontable);
    while (byte < end) {
        int32_t start = read_varint(&byte, end), stop = start + read_varint(&byte, end);
        int32_t target = read_varint(&byte, end);
        read_varint(&byte, end); /* depth */
        if (start <= at && at < stop) return target;
    }
    return -1;
}

static int
decode_handlers(Decoder *d)
{
    Decoded *out = d->out;
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(out->code->co_exceptiontable);
    const uint8_t *end = at + PyBytes_GET_SIZE(out->code->co_exceptiontable);
    int entries = 0;
    for (const uint8_t *byte = at; byte < end; byte++)
        entries += *byte >> 7; /* the first byte of an entry is marked */
    out->handlers = mem_alloc((size_t)entries * sizeof(Handler));
    if (out->handlers == NULL) return -1;
    while (at < end && out->nhandlers < entries) {
        Handler *handler = &out->handlers[out->nhandlers++];
        handler->start = read_varint(&at, end);
        handler->end = handler->start + read_varint(&at, end);
        handler->target = number_of(d, read_varint(&at, end));
        int32_t depth_lasti = read_varint(&at, end);
        handler->depth = depth_lasti >> 1;
        handler->lasti = depth_lasti & 1;
    }
    return 0;
}

/* Names that have no slot are looked up as by functions of the module. */
static void
globals_by_name(Decoded *out)
{
    for (int i = 0; code_stands_in(out->code) && i < out->count; i++) {
        Instr *instr = &out->instrs[i];
        if (instr->kind == I_LOAD_NAME) instr->kind = I_LOAD_GLOBAL;
        if (instr->kind == I_STORE_NAME) instr->kind = I_STORE_GLOBAL;
    }
}

static void
find_marks(Decoder *d)
{
    Decoded *out = d->out;
    out->first_traceable = number_of(d, out->code->_co_firsttraceable);
    if (out->first_traceable < 0) out->first_traceable = 0;
    out->return_number = -1;
    for (int i = out->count - 1; i >= 0; i--)
        if (out->instrs[i].kind == I_RETURN && out->instrs[i].sub == 0) out->return_number = i;
}

static const char *
aside_by_flags(int flags)
{
    if (flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)) return "a coroutine";
    if (flags & CO_ASYNC_GENERATOR) return "an asynchronous generator";
    if ((flags & (CO_OPTIMIZED | CO_NEWLOCALS)) != (CO_OPTIMIZED | CO_NEWLOCALS))
        return "a class body, a module or exec'd code";
    return NULL;
}

static int
decode_into(Decoder *d, PyCodeObject *code)
{
    Decoded *out = d->out;
    int result = -1;
    int32_t *lines = NULL;
    PyObject *bytes = PyCode_GetCode(code);
    if (bytes == NULL) goto done;
    d->bytes = (const uint8_t *)PyBytes_AS_STRING(bytes);
    out->nunits = (int)(PyBytes_GET_SIZE(bytes) / 2);
    size_t room = (size_t)out->nunits * 2 + 1; /* no unit becomes more than two */
    out->instrs = mem_alloc(room * sizeof(Instr));
    out->number_at = mem_alloc(((size_t)out->nunits + 1) * sizeof(int32_t));
    d->jump = mem_alloc(room * sizeof(int32_t));
    lines = mem_alloc(((size_t)out->nunits + 1) * sizeof(int32_t));
    if (!out->instrs || !out->number_at || !d->jump || !lines) goto done;
    for (int i = 0; i <= out->nunits; i++) out->number_at[i] = -1;
    code_lines(code, lines, out->nunits);
    decode_units(d, lines);
    resolve_jumps(d);
    if (decode_handlers(d) < 0) goto done;
    find_marks(d);
    mark_cell_loads(out);
    globals_by_name(out);
    result = out->aside == NULL ? decode_depths(out) : 0;
done:
    mem_free(lines);
    mem_free(d->jump);
    Py_XDECREF(bytes);
    return result;
}

Decoded *
decode(PyCodeObject *code)
{
    Decoded *out = mem_alloc(sizeof(Decoded));
    if (out == NULL) return NULL;
    out->code = code;
    out->nlocalsplus = code->co_nlocalsplus;
    out->names_from = stand_in_names(code);
    out->argcount = code->co_argcount;
    out->kwonly = code->co_kwonlyargcount;
    out->varargs = (code->co_flags & CO_VARARGS) != 0;
    out->varkeywords = (code->co_flags & CO_VARKEYWORDS) != 0;
    out->aside = aside_by_flags(code->co_flags);
    Decoder decoder = {.out = out, .call_idx = -1, .kw_names = -1};
    if (decode_into(&decoder, code) < 0) {
        decoded_free(out);
        return NULL;
    }
    out->generator = out->aside == NULL && (code->co_flags & CO_GENERATOR);
    if (out->generator) out->aside = "a generator";
    return out;
}

void
decoded_free(Decoded *decoded)
{
    if (decoded == NULL) return;
    mem_free(decoded->instrs);
    mem_free(decoded->handlers);
    mem_free(decoded->number_at);
    mem_free(decoded);
}

bool
function_is_of_module(PyObject *function, const char *name)
{
    PyObject *module = PyFunction_Check(function) ? PyFunction_GetModule(function) : NULL;
    return module != NULL && PyUnicode_Check(module) &&
           PyUnicode_CompareWithASCIIString(module, name) == 0;
}

int
code_length(PyCodeObject *code)
{
    return (int)Py_SIZE(code);
}
