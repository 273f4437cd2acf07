/* The printed form of decoded bytecode: golden files and PYCOMPILE_LOGS=bytecode. */
#include "internal.h"

#include "decode_flow.h"

static const struct {
    const char *name, *arg, *arg2;
} names[] = {
#define INSTR(name, arg, arg2, stack) {#name, arg, arg2},
#include "instructions.def"
};

const char *
instr_name(InstrKind kind)
{
    return (unsigned)kind < I_COUNT ? names[kind].name : "?";
}

int
code_slot_kind(PyCodeObject *code, int slot)
{
    if (slot < 0 || slot >= code->co_nlocalsplus) return 0;
    unsigned char kind = (unsigned char)PyBytes_AS_STRING(code->co_localspluskinds)[slot];
    return ((kind & CO_FAST_LOCAL) ? SLOT_LOCAL : 0) | ((kind & CO_FAST_CELL) ? SLOT_CELL : 0) |
           ((kind & CO_FAST_FREE) ? SLOT_FREE : 0);
}

PyObject *
code_slot_name(PyCodeObject *code, int slot)
{
    return PyTuple_GET_ITEM(code->co_localsplusnames, slot);
}

static void
print_object(Text *out, PyObject *object)
{
    PyObject *repr = PyCode_Check(object)
                         ? PyUnicode_FromFormat("<code %U>", ((PyCodeObject *)object)->co_name)
                         : PyObject_Repr(object);
    const char *text = repr ? PyUnicode_AsUTF8(repr) : NULL;
    if (text == NULL) PyErr_Clear();
    text_put(out, text ? text : "?");
    Py_XDECREF(repr);
}

static void
print_name(Text *out, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) PyErr_Clear();
    text_put(out, text ? text : "?");
}

static void
print_arg(const Decoded *decoded, const Instr *instr, Text *out)
{
    const char *meaning = names[instr->kind].arg;
    PyCodeObject *code = decoded->code;
    if (meaning[0] == '\0') return;
    text_put(out, " ");
    if (instr->kind == I_BINARY && instr->arg < 2 * IN_PLACE)
        text_printf(out, "%s%s", operators[instr->arg % IN_PLACE].symbol,
                    instr->arg >= IN_PLACE ? "=" : "");
    else if (instr->kind == I_COMPARE && instr->arg < COUNT_OF(comparison_symbols))
        text_put(out, comparison_symbols[instr->arg]);
    else if (strcmp(meaning, "slot") == 0 && instr->arg < code->co_nlocalsplus)
        print_name(out, code_slot_name(code, instr->arg));
    else if (strcmp(meaning, "name") == 0 && instr->arg < PyTuple_GET_SIZE(code->co_names))
        print_name(out, PyTuple_GET_ITEM(code->co_names, instr->arg));
    else if (instr->kind == I_CONST)
        print_object(out, PyTuple_GET_ITEM(code->co_consts, instr->arg));
    else
        text_printf(out, "%d", instr->arg);
    if (instr->kind == I_CALL_KW && instr->arg2 >= 0) {
        text_put(out, " ");
        print_object(out, PyTuple_GET_ITEM(code->co_consts, instr->arg2));
    } else if (names[instr->kind].arg2[0] != '\0' && instr->arg2 != 0) {
        text_printf(out, " (%d)", instr->arg2);
    }
}

static void
print_instr(const Decoded *decoded, int number, Text *out)
{
    const Instr *instr = &decoded->instrs[number];
    int line = instr->line ? instr->line - decoded->code->co_firstlineno : -1;
    text_printf(out, "%4d %4d.%d", number, instr->idx, instr->sub);
    text_printf(out, line < 0 ? "     -" : "  %+4d", line);
    text_printf(out, instr->depth < 0 ? "  -" : " %2d", instr->depth);
    text_printf(out, "  %s", instr_name(instr->kind));
    print_arg(decoded, instr, out);
    if (instr->kind == I_JUMP && instr->arg2) text_put(out, " (1)");
    if (instr->target >= 0) text_printf(out, " -> %d", instr->target);
    text_put(out, "\n");
}

int
decoded_print(const Decoded *decoded, Text *out)
{
    text_put(out, "code ");
    print_name(out, decoded->code->co_qualname);
    text_printf(out, ": %d slots, %d arguments\n", decoded->nlocalsplus, decoded->argcount);
    if (decoded->aside != NULL) text_printf(out, "aside: %s\n", decoded->aside);
    for (int i = 0; i < decoded->count; i++) print_instr(decoded, i, out);
    for (int i = 0; i < decoded->nhandlers; i++) {
        const Handler *handler = &decoded->handlers[i];
        text_printf(out, "handler %d..%d -> %d depth %d%s\n", handler->start, handler->end,
                    handler->target, handler->depth, handler->lasti ? " lasti" : "");
    }
    return text_finish(out);
}
