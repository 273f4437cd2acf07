/* Names in guard messages, in the user's terms: a source as an expression ("x.shape[0]",
   "self.layers[2]").  An entry of the value stack is named by the source text that made it. */
#include "guards.h"

void
guard_put_name(Text *out, PyObject *name)
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

bool
guard_of_environment(const GuardProgram *program, int number)
{
    for (; number >= 0 && number < program->nsources; number = program->sources[number].base) {
        const GuardSource *source = &program->sources[number];
        bool named = source->kind == SOURCE_ATTR || source->kind == SOURCE_GLOBAL;
        const char *name = named ? key_text(source) : "";
        if (strcmp(name, "environ") == 0 || strcmp(name, "environb") == 0) return true;
        if (source->kind == SOURCE_GLOBAL) return false; /* its base is the dict of the builtins */
    }
    return false;
}

/* os.environ keeps everything in a private dict of bytes. */
static void
put_variable(Text *out, const GuardSource *source)
{
    PyObject *key = source->key;
    text_printf(out, "os.environ['%.*s']", LONGEST_VALUE,
                key != NULL && PyBytes_Check(key) ? PyBytes_AS_STRING(key) : key_text(source));
}

/* An entry of the value stack where the guards are checked, and the instruction that pushed it. */
typedef struct {
    Decoded *decoded;
    const Instr *next, *writer; /* NULL: not known */
    int entry;                  /* from the bottom */
    int which;                  /* which of the entries that the writer pushed */
    bool item;                  /* pushed by a loop or an unpacking */
} StackEntry;

static StackEntry
find_entry(const GuardProgram *program, int entry)
{
    StackEntry found = {.entry = entry, .which = entry};
    found.decoded = program->code ? decode(program->code) : NULL;
    if (found.decoded == NULL || program->entry >= found.decoded->count) return found;
    found.next = &found.decoded->instrs[program->entry];
    int at = stack_writer(found.decoded, program->entry, &found.which);
    found.writer = at >= 0 ? &found.decoded->instrs[at] : NULL;
    if (found.writer == NULL) return found;
    found.item = found.writer->kind == I_FOR_ITER || found.writer->kind == I_UNPACK;
    if (found.writer->kind != I_FOR_ITER) return found;
    /* The object iterated over: the loop's own position may be that of the whole statement. */
    int iterator = found.writer->depth - 1, made = stack_writer(found.decoded, at, &iterator);
    if (made >= 0 && found.decoded->instrs[made].kind == I_GET_ITER)
        made = stack_writer(found.decoded, made, &iterator);
    if (made >= 0) found.writer = &found.decoded->instrs[made];
    return found;
}

/* The expression that was written to the slot; false where it is not known. */
static bool
put_expression(Text *out, const GuardProgram *program, const StackEntry *found, const char *role)
{
    PyObject *name = module_object("pycompile._source", "expression");
    PyObject *text = name != NULL ? PyObject_CallFunction(name, "Ois", program->code,
                                                          (int)found->writer->at, role)
                                  : NULL;
    const char *string = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    bool known = string != NULL && *string != '\0';
    if (known) text_put(out, string);
    Py_XDECREF(text);
    Py_XDECREF(name);
    return known;
}

/* The local to which the entry, or the part of it at `path`, is about to be stored. */
static bool
put_target(Text *out, const GuardProgram *program, const StackEntry *found, const int *path, int n)
{
    int at = found->item ? stack_target(found->decoded, program->entry, found->entry, path, n) : -1;
    if (at < 0) return false;
    guard_put_name(out, code_slot_name(program->code, found->decoded->instrs[at].arg));
    return true;
}

static void
put_stack_entry(Text *out, const GuardProgram *program, int entry)
{
    StackEntry found = find_entry(program, entry);
    bool method = found.writer != NULL && found.writer->kind == I_LOAD_METHOD;
    const char *role = found.item ? "item" : method && found.which > 0 ? "object" : "";
    const Instr *near = found.writer != NULL ? found.writer : found.next;
    if (found.writer == NULL ||
        (!put_target(out, program, &found, NULL, 0) && !put_expression(out, program, &found, role)))
        text_printf(out, "(a value of line %d)", near != NULL ? (int)near->line : 0);
    decoded_free(found.decoded);
}

/* For a part of a loop's item: the name to which it is about to be stored, or that it is the index
   of an enumerate. */
static bool
put_part(Text *out, const GuardProgram *program, int number)
{
    enum { DEEPEST = 4 };
    int path[DEEPEST], depth = DEEPEST;
    const GuardSource *source = &program->sources[number];
    for (; source->kind == SOURCE_ITEM; source = &program->sources[source->base]) {
        bool known = source->key == NULL || PyLong_CheckExact(source->key);
        if (depth == 0 || !known) return false;
        path[--depth] = source->key == NULL ? source->index : (int)PyLong_AsLong(source->key);
    }
    PyErr_Clear(); /* an index beyond C's int is beyond every target */
    int nlocals = program->code ? program->code->co_nlocalsplus : 0;
    if (source->kind != SOURCE_SLOT || source->index < nlocals) return false;
    StackEntry found = find_entry(program, source->index - nlocals);
    int n = DEEPEST - depth;
    bool told = found.writer != NULL &&
                (put_target(out, program, &found, path + depth, n) ||
                 (n == 1 && path[depth] == 0 && found.item && found.writer->kind != I_UNPACK &&
                  stack_target(found.decoded, program->entry, found.entry, NULL, 0) < 0 &&
                  put_expression(out, program, &found, "index")));
    decoded_free(found.decoded);
    return told;
}

/* The code object that a guard wants of the function at a source, or NULL. */
static PyObject *
wanted_code(const GuardProgram *program, int function)
{
    for (int i = 0; i < program->nchecks; i++) {
        const GuardCheck *check = &program->checks[i];
        const GuardSource *source = &program->sources[check->source];
        if (source->kind == SOURCE_ATTR && source->base == function && check->object != NULL &&
            PyCode_Check(check->object) && strcmp(key_text(source), "__code__") == 0)
            return check->object;
    }
    return NULL;
}

/* A variable that an inlined function shares with the one around it, by the name that both give it,
   not as an item of __closure__. */
static bool
put_shared(Text *out, const GuardProgram *program, const GuardSource *item)
{
    const GuardSource *closure = &program->sources[item->base];
    if (closure->kind != SOURCE_ATTR || strcmp(key_text(closure), "__closure__") != 0) return false;
    PyObject *code = wanted_code(program, closure->base);
    PyObject *names = code != NULL ? PyObject_GetAttrString(code, "co_freevars") : NULL;
    bool known = names != NULL && item->index >= 0 && item->index < PyTuple_GET_SIZE(names);
    if (known) guard_put_name(out, PyTuple_GET_ITEM(names, item->index));
    PyErr_Clear();
    Py_XDECREF(names);
    return known;
}

void
guard_put_source(Text *out, const GuardProgram *program, int number)
{
    if (number < 0 || number >= program->nsources) return;
    const GuardSource *source = &program->sources[number];
    switch (source->kind) {
    case SOURCE_SLOT: {
        int nlocals = program->code ? program->code->co_nlocalsplus : 0;
        if (source->index < nlocals)
            guard_put_name(out, code_slot_name(program->code, source->index));
        else
            put_stack_entry(out, program, source->index - nlocals);
        break;
    }
    case SOURCE_CELL: guard_put_source(out, program, source->base); break;
    case SOURCE_GLOBAL: guard_put_name(out, source->key); break;
    case SOURCE_ATTR:
        guard_put_source(out, program, source->base);
        if (strcmp(key_text(source), "__code__") == 0) break; /* users know the function */
        text_put(out, ".");
        guard_put_name(out, source->key);
        break;
    case SOURCE_ITEM:
        if (source->key != NULL && guard_of_environment(program, source->base)) {
            put_variable(out, source);
            break;
        }
        if (put_part(out, program, number) || put_shared(out, program, source)) break;
        guard_put_source(out, program, source->base);
        text_put(out, "[");
        if (source->key != NULL)
            guard_put_object(out, source->key);
        else
            text_printf(out, "%d", source->index);
        text_put(out, "]");
        break;
    case SOURCE_CONST: guard_put_object(out, source->object); break;
    case SOURCE_HANDLED: text_put(out, "sys.exception()"); break;
    case SOURCE_SIZE:
        guard_put_source(out, program, source->base);
        text_printf(out, ".shape[%d]", source->index);
        break;
    case SOURCE_REST:
    case SOURCE_WALKED: {
        static const char *const names[ITERATOR_INTS] = {
            [ITERATOR_NEXT] = "next item",
            [ITERATOR_STOP] = "end",
            [ITERATOR_STEP] = "step",
            [ITERATOR_PARTS] = "number of iterators",
        };
        bool walked = source->kind == SOURCE_WALKED;
        text_printf(out, "the %s of ", walked ? "object" : names[source->index]);
        guard_put_source(out, program, source->base);
        break;
    }
    case SOURCE_SERIES:
        text_put(out, "the numbers of ");
        guard_put_source(out, program, source->base);
        break;
    case SOURCE_TYPE:
        text_put(out, "type(");
        guard_put_source(out, program, source->base);
        text_put(out, ")");
        break;
    }
}
