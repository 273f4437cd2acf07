/* Lines, handlers and stack depths of the decoded instructions.

   The depth before an instruction is found by following the code from its first instruction; a
   handler is entered with depth + lasti + 1 (the exception). */
#include "decode_flow.h"

/* ---- lines: co_linetable, entries of 1 to 8 units ---- */

static int32_t
line_varint(const uint8_t **at, const uint8_t *end)
{
    uint32_t value = 0;
    for (int shift = 0; *at < end; shift += 6) {
        uint8_t byte = *(*at)++;
        value |= (uint32_t)(byte & 0x3f) << shift;
        if (!(byte & 0x40)) break;
    }
    return (int32_t)value;
}

static int32_t
line_signed_varint(const uint8_t **at, const uint8_t *end)
{
    int32_t value = line_varint(at, end);
    return value & 1 ? -(value >> 1) : value >> 1;
}

static int32_t
line_delta(int form, const uint8_t **at, const uint8_t *end)
{
    switch (form) {
    case 15: /* no position */ return 0;
    case 14: /* line, end line, columns */
    case 13: /* line */ return line_signed_varint(at, end);
    case 12:
    case 11:
    case 10: return form - 10;
    default: /* same line, columns only */ return 0;
    }
}

void
code_lines(PyCodeObject *code, int32_t *lines, int nunits)
{
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);
    const uint8_t *end = at + PyBytes_GET_SIZE(code->co_linetable);
    int32_t line = code->co_firstlineno;
    int unit = 0;
    while (at < end && unit < nunits) {
        uint8_t first = *at++;
        int form = (first >> 3) & 15, length = (first & 7) + 1;
        line += line_delta(form, &at, end);
        while (at < end && !(*at & 0x80)) at++; /* columns */
        for (; length > 0 && unit < nunits; length--) lines[unit++] = form == 15 ? 0 : line;
    }
}

/* ---- handlers ---- */

const Handler *
handler_at(const Decoded *decoded, int32_t at)
{
    for (int i = 0; i < decoded->nhandlers; i++)
        if (decoded->handlers[i].start <= at && at < decoded->handlers[i].end)
            return &decoded->handlers[i];
    return NULL;
}

/* ---- depths ---- */

int
instr_effect(const Instr *instr, bool jumps)
{
    const int n = instr->arg;
    switch (instr->kind) {
    case I_CONST:
    case I_LOAD_LOCAL:
    case I_LOAD_CLEAR:
    case I_LOAD_CELL:
    case I_LOAD_DEREF:
    case I_LOAD_NAME:
    case I_LOAD_METHOD:
    case I_COPY:
    case I_PUSH_NULL:
    case I_GET_LEN:
    case I_MATCH_KEYS:
    case I_MATCH_MAPPING:
    case I_MATCH_SEQUENCE:
    case I_PUSH_EXC_INFO:
    case I_LOAD_ASSERTION_ERROR:
    case I_BEFORE_WITH:
    case I_WITH_EXCEPT_START:
    case I_IMPORT_FROM:
    case I_RETURN_GENERATOR:
    case I_LOAD_BUILD_CLASS: return 1;
    case I_LOAD_GLOBAL: return 1 + instr->arg2;
    case I_LOAD_SUPER_ATTR: return -2 + (instr->arg2 & 1);
    case I_STORE_LOCAL:
    case I_STORE_DEREF:
    case I_STORE_GLOBAL:
    case I_STORE_NAME:
    case I_DELETE_ATTR:
    case I_POP:
    case I_BINARY:
    case I_COMPARE:
    case I_IS:
    case I_CONTAINS:
    case I_SUBSCRIPT:
    case I_LIST_EXTEND:
    case I_SET_UPDATE:
    case I_DICT_UPDATE:
    case I_DICT_MERGE:
    case I_LIST_APPEND:
    case I_SET_ADD:
    case I_SET_FUNCTION_ATTRIBUTE:
    case I_JUMP_IF_FALSE:
    case I_JUMP_IF_TRUE:
    case I_JUMP_IF_NONE:
    case I_JUMP_IF_NOT_NONE:
    case I_POP_EXCEPT:
    case I_RERAISE:
    case I_PREP_RERAISE_STAR:
    case I_IMPORT_NAME:
    case I_END_SEND:
    case I_CLEANUP_THROW:
    case I_RETURN: return -1;
    case I_STORE_ATTR:
    case I_DELETE_SUBSCRIPT:
    case I_SLICE_LOAD:
    case I_MAP_ADD:
    case I_MATCH_CLASS: return -2;
    case I_STORE_SUBSCRIPT: return -3;
    case I_SLICE_STORE: return -4;
    case I_BUILD_TUPLE:
    case I_BUILD_LIST:
    case I_BUILD_SET:
    case I_BUILD_STRING:
    case I_BUILD_SLICE: return 1 - n;
    case I_BUILD_MAP: return 1 - 2 * n;
    case I_BUILD_MAP_KEYS: return -n;
    case I_FORMAT: return instr->arg2 == 1 ? -1 : 0;
    case I_UNPACK: return n - 1;
    case I_UNPACK_EX: return (n & 0xff) + (n >> 8);
    case I_CALL: return -(n + 1);
    case I_CALL_KW: return -(n + 1) - (instr->arg2 < 0);
    case I_CALL_EX: return -2 - (n & 1);
    case I_MAKE_FUNCTION: return -((n & 1) + (n >> 1 & 1) + (n >> 2 & 1) + (n >> 3 & 1));
    case I_JUMP_IF_FALSE_OR_POP:
    case I_JUMP_IF_TRUE_OR_POP: return jumps ? 0 : -1;
    case I_FOR_ITER: return jumps ? -1 : 1;
    case I_SEND: return jumps ? -instr->arg2 : 0;
    case I_RAISE: return -n;
    case I_OTHER: return instr->arg2;
    default: return 0;
    }
}

typedef struct {
    Decoded *decoded;
    int32_t *pending;
    int count;
} Flow;

/* Notes that the instruction can be reached with this depth. */
static void
flow_to(Flow *flow, int number, int depth)
{
    Decoded *decoded = flow->decoded;
    if (number < 0 || number >= decoded->count || depth < 0) {
        decoded->aside = "control flow that leaves the code";
        return;
    }
    Instr *instr = &decoded->instrs[number];
    if (instr->depth < 0) {
        instr->depth = (int16_t)depth;
        flow->pending[flow->count++] = number; /* at most once per instruction */
    } else if (instr->depth != depth) {
        decoded->aside = "a stack depth that depends on the path";
    }
}

static void
flow_follow(Flow *flow, int number)
{
    const Instr *instr = &flow->decoded->instrs[number];
    const Handler *handler = handler_at(flow->decoded, instr->at);
    if (handler != NULL) flow_to(flow, handler->target, handler->depth + handler->lasti + 1);
    if (instr->target >= 0) flow_to(flow, instr->target, instr->depth + instr_effect(instr, true));
    if (instr->kind != I_JUMP && instr->kind != I_RETURN && instr->kind != I_RAISE &&
        instr->kind != I_RERAISE)
        flow_to(flow, number + 1, instr->depth + instr_effect(instr, false));
}

int
decode_depths(Decoded *decoded)
{
    Flow flow = {.decoded = decoded};
    flow.pending = mem_alloc((size_t)decoded->count * sizeof(int32_t));
    if (flow.pending == NULL) return -1;
    flow_to(&flow, 0, 0);
    while (flow.count > 0 && decoded->aside == NULL) flow_follow(&flow, flow.pending[--flow.count]);
    mem_free(flow.pending);
    return 0;
}

int
line_at(const Decoded *decoded, int number)
{
    while (number > 0 && decoded->instrs[number].line == 0) number--;
    return decoded->instrs[number].line;
}

CodePlace
decoded_place(const Decoded *decoded)
{
    CodePlace place = {decoded->code->co_firstlineno, -1, -1};
    for (int i = decoded->first_traceable; i < decoded->count; i++) {
        int line, column, end_line, end_column;
        if (decoded->instrs[i].kind == I_RESUME ||
            !PyCode_Addr2Location(decoded->code, 2 * (int)decoded->instrs[i].at, &line, &column,
                                  &end_line, &end_column) ||
            line < place.head || column < 0)
            continue;
        place.line = line;
        place.column = column;
        break;
    }
    return place;
}
