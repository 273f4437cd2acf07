/* A captured function as tables: what it is called with, sizes, buffers, steps, results.  The order
   is that of ExportedFunction in pycompile/exported/library.h.  Reasons are gathered to the end, so
   that the user sees all of them at once. */
#include "write.h"

#include "../capture/capture.h"

typedef struct {
    int arguments, checks, numbers, writes;
} Counts;

static int
refuse_build(Export *e, const Build *build, const char *why)
{
    const Decoded *decoded = e->wanted->decoded;
    bool known = build->number >= 0 && build->number < decoded->count;
    return export_refuse(e, text_of_str(decoded->code->co_filename),
                         known ? decoded->instrs[build->number].line : 0, "%s", why);
}

/* ---- sizes ---- */

/* A row of the table, and in the call what finds the size.  What only other sizes are made of stays
   in registers. */
static void
put_size(Export *e, SizeId id, int kind, int a, int b, int64_t value)
{
    bool of_sizes = kind >= SIZE_ADD, of_one = kind == SIZE_NUMBER && b >= 0;
    text_printf(&e->out, "    {%d, %d, %d, %lld},\n", kind, a, b, (long long)value);
    text_printf(&e->finds, "    const int64_t s%d = size_find(&run, &%s_sizes[%d], ", id,
                e->wanted->name, id);
    text_printf(&e->finds, of_sizes ? "s%d, " : "0, ", a);
    text_printf(&e->finds, of_sizes || of_one ? "s%d);\n" : "0);\n", b);
    if (e->needed[id]) text_printf(&e->finds, "    size[%d] = s%d;\n", id, id);
}

static void
put_sizes(Export *e)
{
    const Graph *g = e->graph;
    for (int i = 0; i < e->program->slots[DEVICE_HOST].len; i++)
        export_need(e, e->program->slots[DEVICE_HOST].at[i]);
    text_printf(&e->out, "static const ExportedSize %s_sizes[] = {\n", e->wanted->name);
    for (SizeId id = 0; id < g->sizes.len; id++) {
        const Size *size = &g->sizes.at[id];
        SizeKind kind = size->kind;
        int a = size->a, b = size->b;
        if (kind == SIZE_DIM || kind == SIZE_STRIDE) {
            const Node *node = graph_node(g, size->node);
            const SizeId *of = kind == SIZE_DIM ? node->type.shape : node->type.stride;
            a = export_argument(e, e->capture->input_source.at[node->attrs.index]);
            b = node->type.form == FORM_ARRAY ? size->axis : -1; /* the value of an int */
            if (a < 0 || (b >= 0 && size_is_const(g, of[b]))) kind = SIZE_CONST;
        }
        put_size(e, id, (int)kind, a, b, size->value);
    }
    for (int i = 0; i < e->selected.len; i++) { /* at most what the mask has */
        const ExternStep *selects = &e->program->steps.at[e->selected.at[i]].external;
        put_size(e, g->sizes.len + i, SIZE_NUMBER, -1, selects->arg_types[1].shape[0], 0);
    }
    text_put(&e->out, "    {0},\n};\n");
}

/* ---- buffers ---- */

/* Bytes from the first element to the lowest one, and of all that lies between the ends. */
static void
constant_extent(const ArrayHeader *header, size_t *before, size_t *bytes)
{
    const char *low, *high;
    array_extent(header, &low, &high);
    *before = (size_t)(header->data - low);
    *bytes = (size_t)(high - low);
}

/* An array or a number that is part of the library: where its first element is. */
static int
put_constant(Export *e, PyObject *object, const Type *type)
{
    enum { MOST_BYTES = 1 << 25 };
    ArrayHeader header;
    const char *why;
    char bytes[16] = {0};
    size_t before, count;
    if (array_read(object, &header, &why) == ANSWER_YES) {
        constant_extent(&header, &before, &count);
        if (count > MOST_BYTES)
            return export_refuse(e, NULL, 0, "an array of %zu bytes that is no argument", count);
        text_printf(&e->out, "OF_CONSTANT, 0, 0, 0, %zu, ", before);
        put_bytes(e, header.data - before, count);
        return 0;
    }
    if (constant_read(object, (DType)type->dtype, bytes) < 0) return -1;
    text_put(&e->out, "OF_CONSTANT, 0, 0, 0, 0, ");
    put_bytes(e, bytes, sizeof bytes);
    return 0;
}

static int
put_input(Export *e, const Buffer *b)
{
    SourceId source = e->capture->input_source.at[b->index];
    int argument = export_argument(e, source);
    const Source *from = &e->capture->sources.at[source];
    if (argument >= 0) {
        text_printf(&e->out, "OF_ARGUMENT, %d, 0, 0, 0, 0, ", argument);
        return 0;
    }
    if (from->kind == SOURCE_SIZE && (argument = export_argument(e, from->base)) >= 0) {
        text_printf(&e->out, "OF_LENGTH, %d, 0, 0, %d, 0, ", argument, from->index);
        return 0;
    }
    if (export_is_passed(e, source))
        return export_refuse(e, NULL, 0, "an argument is neither an array nor a number");
    if (b->type.form == FORM_OBJECT) {
        text_put(&e->out, "OF_CONSTANT, 0, 0, 0, 0, 0, ");
        return 0; /* the steps that take it are refused */
    }
    return put_constant(e, e->reached[source], &b->type);
}

static int
put_buffer(Export *e, BufferId id, int *nnumbers)
{
    const Buffer *b = &e->program->buffers.at[id];
    int status = 0;
    bool made = false;
    text_put(&e->out, "    {");
    if (b->kind == BUFFER_INPUT)
        status = put_input(e, b);
    else if (b->kind == BUFFER_CONST && b->type.dtype != DT_OBJECT && b->type.form != FORM_OBJECT)
        status = put_constant(e, b->object, &b->type);
    else if (b->kind == BUFFER_SCALAR)
        text_printf(&e->out, "OF_NUMBER, %d, 0, 0, 0, 0, ", (*nnumbers)++);
    else if (b->kind == BUFFER_EXTERN && b->type.form != FORM_ARRAY && b->type.form != FORM_OBJECT)
        text_printf(&e->out, "OF_NUMBER, %d, 0, 0, 0, 0, ", (*nnumbers)++);
    else if (b->kind == BUFFER_TEMP)
        text_printf(&e->out, "OF_ARENA, 0, %d, 0, %lld, 0, ", b->slot, (long long)b->arena_offset);
    else {
        made = true;
        text_printf(&e->out, "%s, 0, 0, %d, 0, 0, ",
                    b->kind == BUFFER_CHOSEN ? "OF_CHOICE" : "OF_RESULT", b->pooled);
    }
    put_dtype(e, &b->type);
    text_printf(&e->out, "%d, ", b->type.rank);
    (made ? put_needed : put_ids)(e, b->type.rank, b->type.shape);
    (made ? put_needed : put_ids)(e, b->type.rank, b->type.stride);
    bool compact = b->type.form == FORM_ARRAY && type_is_contiguous(e->graph, &b->type);
    text_printf(&e->out, "%d, %d},\n", compact, export_placed(e, id));
    return status;
}

static int
put_buffers(Export *e, int *nnumbers)
{
    text_printf(&e->out, "static const ExportedBuffer %s_buffers[] = {\n", e->wanted->name);
    for (BufferId id = 0; id < e->program->buffers.len; id++)
        if (put_buffer(e, id, nnumbers) < 0) return -1;
    text_put(&e->out, "    {0},\n};\n");
    return 0;
}

/* ---- results and writes ---- */

static void
put_located(Export *e, const Located *at, int offset, const Type *to, int argument, bool done,
            int when)
{
    text_put(&e->out, "    {");
    put_place(e, at->place);
    put_dtype(e, &at->type);
    text_printf(&e->out, "%d, ", at->type.rank);
    put_needed(e, at->type.rank, at->type.shape);
    put_needed(e, at->type.rank, at->type.stride);
    text_printf(&e->out, "%d, ", offset);
    export_need(e, offset);
    put_needed(e, to != NULL ? to->rank : 0, to != NULL ? to->stride : NULL);
    text_printf(&e->out, "%d, %d, %d, %d},\n", argument, done,
                type_is_contiguous(e->graph, &at->type), when);
}

/* The buffer of the bool under which an effect is done, + 1. */
static int
effect_condition(Export *e, const Build *build)
{
    if (build->when == 0) return 0;
    const Build *when = &e->capture->builds.at[build->when - 1];
    if (when->kind != BUILD_BOX) return -1;
    const Place *place = &e->program->located.at[when->output].place;
    bool begins = place->offset == NO_SIZE || (size_is_const(e->graph, place->offset) &&
                                               size_value(e->graph, place->offset) == 0);
    return begins ? place->buffer + 1 : -1;
}

static int
put_write(Export *e, const Build *build, int *nwrites)
{
    const Located *at = &e->program->located.at[build->output];
    int argument = export_argument(e, build->source), when = effect_condition(e, build);
    if (argument < 0) return refuse_build(e, build, "it writes an array that is no argument");
    if (when < 0) return refuse_build(e, build, "it writes an argument in one of two branches");
    const Node *input = NULL;
    for (int i = 0; i < e->graph->inputs.len && input == NULL; i++)
        if (export_argument(e, e->capture->input_source.at[i]) == argument)
            input = graph_node(e->graph, e->graph->inputs.at[i]);
    const Type *to = at->written ? &at->view : input != NULL ? &input->type : &at->type;
    put_located(e, at, at->written ? at->view.offset : NO_SIZE, to, argument, at->in_place, when);
    ++*nwrites;
    return 0;
}

/* Steps that ask only whether an effect may be done are none. */
static int
put_writes(Export *e, int *nwrites)
{
    text_printf(&e->out, "static const ExportedResult %s_writes[] = {\n", e->wanted->name);
    for (int i = 0; i < e->capture->builds.len; i++) {
        const Build *build = &e->capture->builds.at[i];
        if (build->kind < EFFECT_STORE_ATTR) continue;
        int status = build->kind == EFFECT_WRITE
                         ? put_write(e, build, nwrites)
                         : refuse_build(e, build,
                                        build->kind == EFFECT_CALL
                                            ? "it prints, logs or warns"
                                            : "it changes an object that is no array argument");
        if (status < 0) return -1;
    }
    text_put(&e->out, "    {0},\n};\n");
    return 0;
}

/* Does the run tell one of its lengths? */
static bool
varies(const Graph *g, SizeId id)
{
    const Size *size = &g->sizes.at[id];
    if (size->kind == SIZE_NUMBER) return true;
    return size->kind >= SIZE_ADD && (varies(g, size->a) || varies(g, size->b));
}

/* Of `array[mask]` the first axis has a size that the step finds, which no graph has.  It is
   compact: no strides. */
static void
put_selected(Export *e, const Located *at, const ExternStep *selection)
{
    Type type = selection->arg_types[0];
    type.shape[0] = export_selected(e, at->place.buffer);
    text_put(&e->out, "    {");
    put_place(e, (Place){at->place.buffer, NO_SIZE});
    put_dtype(e, &type);
    text_printf(&e->out, "%d, ", type.rank);
    put_needed(e, type.rank, type.shape);
    text_put(&e->out, "0, -1, 0, -1, 0, 1, 1},\n");
}

static void
put_results(Export *e)
{
    text_printf(&e->out, "static const ExportedResult %s_results[] = {\n", e->wanted->name);
    for (int i = 0; i < e->results.len; i++) {
        int output = e->capture->builds.at[e->results.at[i]].output;
        const Located *at = &e->program->located.at[output];
        const ExternStep *selection = export_selection(e, at->place.buffer);
        if (selection != NULL) {
            put_selected(e, at, selection);
            continue;
        }
        bool own = e->program->buffers.at[at->place.buffer].kind == BUFFER_INPUT;
        bool any = false;
        for (int axis = 0; axis < at->type.rank; axis++)
            any = any || varies(e->graph, at->type.shape[axis]);
        put_located(e, at, NO_SIZE, NULL, -1, own && !e->graph->outputs.at[output].fresh, any);
    }
    text_put(&e->out, "    {0},\n};\n");
}

/* The lengths of a result for the header: "d0_1, 3", where d0_1 is an axis of an input. */
static PyObject *
describe_shape(const Export *e, const Type *type, bool selected)
{
    Text text = {0};
    for (int i = 0; i < type->rank; i++) {
        if (selected && i == 0) text_put(&text, "up to ");
        size_print(e->graph, type->shape[i], &text);
        text_put(&text, i + 1 < type->rank ? ", " : "");
    }
    PyObject *shape = text_finish(&text) < 0 ? NULL : text_to_str(&text);
    text_free(&text);
    return shape;
}

/* The argument of each input, by its node; -1: none. */
static PyObject *
describe_inputs(const Export *e)
{
    PyObject *inputs = PyDict_New();
    for (int i = 0; inputs != NULL && i < e->graph->inputs.len; i++) {
        PyObject *node = PyLong_FromLong(e->graph->inputs.at[i]);
        PyObject *argument = PyLong_FromLong(export_argument(e, e->capture->input_source.at[i]));
        if (node == NULL || argument == NULL || PyDict_SetItem(inputs, node, argument) < 0)
            Py_CLEAR(inputs);
        Py_XDECREF(node);
        Py_XDECREF(argument);
    }
    return inputs;
}

/* What the function returns: ("result", number), ("argument", number), ("constant", object), or
   ("tuple" or "list", its items).  A new reference; NULL with the error set. */
static PyObject *
describe_value(Export *e, BuildId id)
{
    const Build *build = &e->capture->builds.at[id];
    int argument;
    if (build->kind == BUILD_BOX) {
        const Located *at = &e->program->located.at[build->output];
        const ExternStep *selection = export_selection(e, at->place.buffer);
        const Type *type = selection != NULL ? &selection->arg_types[0] : &at->type;
        bool called = e->program->buffers.at[at->place.buffer].kind == BUFFER_EXTERN;
        if (type->form == FORM_OBJECT && !called && /* else the call is the reason */
            export_refuse(e, NULL, 0, "it returns an object that is neither array nor number") < 0)
            return NULL;
        if (VEC_PUSH(e->graph->arena, &e->results, id) < 0) return NULL;
        PyObject *shape = describe_shape(e, type, selection != NULL);
        return shape == NULL
                   ? NULL
                   : Py_BuildValue("(siisiN)", "result", e->results.len - 1, (int)type->form,
                                   dtype_long_name((DType)type->dtype), (int)type->rank, shape);
    }
    if (build->kind == BUILD_CONST) return Py_BuildValue("(sO)", "constant", build->object);
    if (build->kind == BUILD_SOURCE && (argument = export_argument(e, build->source)) >= 0)
        return Py_BuildValue("(si)", "argument", argument);
    if (build->kind == BUILD_TUPLE || build->kind == BUILD_LIST) {
        PyObject *items = PyList_New(0);
        for (int i = 0; items != NULL && i < build->nargs; i++) {
            PyObject *item = describe_value(e, build->args[i]);
            if (item == NULL || PyList_Append(items, item) < 0) Py_CLEAR(items);
            Py_XDECREF(item);
        }
        return items == NULL
                   ? NULL
                   : Py_BuildValue("(sN)", build->kind == BUILD_TUPLE ? "tuple" : "list", items);
    }
    if (refuse_build(e, build, "it returns what is no array, number, tuple or list of these") < 0)
        return NULL;
    return Py_BuildValue("(sO)", "constant", Py_None);
}

/* ---- the whole ---- */

/* Scratch that kernels have at least, and those of which it grows with a size. */
static int64_t
put_scratch(Export *e, int *nrows)
{
    const Program *p = e->program;
    int64_t scratch = 0;
    *nrows = 0;
    text_printf(&e->out, "static const ExportedKernel *const %s_rows[] = {", e->wanted->name);
    for (int i = 0; i < p->steps.len; i++) {
        const KernelStep *step = &p->steps.at[i].kernel;
        if (p->steps.at[i].kind != STEP_KERNEL) continue;
        if (step->scratch_bytes > scratch) scratch = step->scratch_bytes;
        if (step->scratch_each == 0) continue;
        text_printf(&e->out, "&%s_kernel%d, ", e->wanted->name, i);
        ++*nrows;
    }
    for (int i = 0; i < p->commits.len; i++)
        if (p->commits.at[i].kernel.scratch_bytes > scratch)
            scratch = p->commits.at[i].kernel.scratch_bytes;
    text_put(&e->out, "0};\n");
    return scratch;
}

/* Flags of calls are looked at with those of kernels, or put back as they were. */
static bool
looks_once(const Export *e)
{
    bool once = codegen_looks_once(e->program);
    for (int i = 0; i < e->program->steps.len; i++) {
        const Step *step = &e->program->steps.at[i];
        once = once && (step->kind != STEP_EXTERN || step->external.errors == 0);
    }
    return once;
}

static void
put_function(Export *e, const Counts *n)
{
    const char *name = e->wanted->name;
    const Program *p = e->program;
    int nrows;
    int64_t scratch = put_scratch(e, &nrows);
    bool once = looks_once(e), again = false;
    for (int i = 0; i < p->steps.len; i++)
        again |= p->steps.at[i].kind == STEP_CARRY || p->steps.at[i].kind == STEP_MEASURE;
    text_printf(&e->out,
                "int %s_drive(KernelDrive *drive);\n"
                "static int %s_plan(KernelDrive *drive, int64_t step);\n",
                name, name);
    text_printf(&e->out,
                "const ExportedFunction %s_function = {\n"
                "    \"%s\", %d, %d, %d, %d, %d, %d, %d, %d, %d, %d,\n"
                "    %s_arguments, %s_checks, %s_sizes, %s_buffers, %s_steps, %s_results,\n"
                "    %s_writes, %s_commits, ",
                name, e->wanted->told, n->arguments, n->checks,
                e->graph->sizes.len + e->selected.len, p->buffers.len, p->steps.len, e->results.len,
                n->writes, p->commits.len, p->slots[DEVICE_HOST].len, n->numbers, name, name, name,
                name, name, name, name, name);
    put_ids(e, p->slots[DEVICE_HOST].len, p->slots[DEVICE_HOST].at);
    text_printf(
        &e->out,
        "%s_grains, %s_loops, %lld, %lld, %d, %s_rows, %d, %d, %s_drive,\n    %s_plan,\n};\n", name,
        name, (long long)p->arena_bytes[DEVICE_HOST], (long long)scratch, nrows, name, once, again,
        name, name);
}

/* A line of the call for each row of a table, in which $ is the row's number. */
static void
put_each(Export *e, int count, const char *line)
{
    for (int i = 0; i < count; i++) {
        text_put(&e->out, "    ");
        for (const char *at = line; *at != 0; at++)
            if (*at == '$')
                text_printf(&e->out, "%d", i);
            else if (*at == '@')
                text_put(&e->out, e->wanted->name);
            else
                text_printf(&e->out, "%c", *at);
        text_put(&e->out, "\n");
    }
}

/* What a step does. */
static void
put_plan(Export *e)
{
    text_printf(&e->out,
                "static int\n%s_plan(KernelDrive *drive, int64_t step)\n{\n    switch (step) {\n",
                e->wanted->name);
    put_each(e, e->program->steps.len, "case $: return step_run(drive, &@_function, $);");
    text_put(&e->out, "    }\n    return -1;\n}\n");
}

/* What a call does, with all rows as constants. */
static void
put_call(Export *e, const Counts *n)
{
    const Program *p = e->program;
    text_printf(&e->out,
                "int\n%s_call(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout)\n{\n"
                "    Layout layout[%d];\n    char *data[%d], *block[%d];\n"
                "    int64_t size[%d], slot[%d];\n"
                "    alignas(NUMBER_BYTES) char numbers[%d] = {0};\n"
                "    alignas(ALIGNMENT) char frame[FRAME_BYTES];\n    Run run;\n    int exact = 0, "
                "status;\n",
                e->wanted->name, n->arguments + e->results.len + 1, p->buffers.len + 1,
                p->buffers.len + 1, e->graph->sizes.len + e->selected.len + 1,
                p->slots[DEVICE_HOST].len + 1, 16 * n->numbers + 1);
    put_each(e, 1, "const ExportedFunction *const f = &@_function;");
    put_each(e, 1, "if (counts_differ(f, in, nin, out, nout)) goto wrong;");
    put_each(e, n->arguments,
             "if (check_argument(&in[$], &@_arguments[$], &layout[$], 0)) goto wrong;");
    put_each(e, n->checks, "if (check_relation(f, &@_checks[$], in, layout, 0)) goto wrong;");
    put_each(e, n->arguments,
             "if (@_arguments[$].written && check_written(f, $, in, layout, 0)) goto wrong;");
    put_each(e, 1, "again:");
    put_each(e, 1, "run_begin(&run, f, in, out, layout, data, block, size, numbers, frame);");
    text_add(&e->out, &e->finds);
    put_each(e, e->results.len, "if (check_result(&run, f, $, layout, 0)) goto wrong;");
    put_each(e, 1, "if (memory_begin(&run, f, slot)) return call_give_up(&run);");
    put_each(e, p->buffers.len,
             "if (buffer_place(&run, f, &@_buffers[$], $)) return call_give_up(&run);");
    text_put(&e->out, "    status = call_end(&run, f, exact);\n"
                      "    if (status != CALL_AGAIN) return status;\n"
                      "    exact = 1;\n    goto again;\nwrong:\n"
                      "    return call_refuse(f, in, nin, out, nout);\n}\n");
}

static int
put_tables(Export *e)
{
    Counts n = {0};
    if (export_checks(e, &n.arguments, &n.checks) < 0) return -1;
    if (put_buffers(e, &n.numbers) < 0 || export_steps(e) < 0 || export_commits(e) < 0) return -1;
    put_results(e);
    if (put_writes(e, &n.writes) < 0) return -1;
    put_sizes(e);
    put_function(e, &n);
    put_plan(e);
    put_call(e, &n);
    return text_finish(&e->finds) < 0 ? -1 : text_finish(&e->out);
}

/* The generated function drive0 does all steps. */
static int
drive_all(const Export *e)
{
    Drive all = {.first = 0, .last = e->program->steps.len - 1, .exact = true};
    e->program->drives.len = 0;
    return VEC_PUSH(e->graph->arena, &e->program->drives, all);
}

static PyObject *
kernels_text(const Export *e, bool careful)
{
    Text text = {0};
    int bytes = e->wanted->vector_bytes;
    int status = careful ? codegen_careful(e->graph, e->program, bytes, &text)
                         : codegen_c_for(e->graph, e->program, false, bytes, &text, NULL);
    PyObject *made = status < 0 ? NULL : text_to_str(&text);
    text_free(&text);
    return made;
}

static int
put_code(const Export *e, PyObject *made)
{
    Text abi = {0};
    codegen_abi(&abi);
    PyObject *types = text_finish(&abi) < 0 ? NULL : text_to_str(&abi);
    int put = types == NULL ? -1 : PyDict_SetItemString(made, "abi", types);
    text_free(&abi);
    Py_XDECREF(types);
    if (put < 0) return -1;
    for (int careful = 0; careful <= codegen_has_region(e->program); careful++) {
        PyObject *text = kernels_text(e, careful);
        int status =
            text == NULL ? -1 : PyDict_SetItemString(made, careful ? "careful" : "kernels", text);
        Py_XDECREF(text);
        if (status < 0) return -1;
    }
    return 0;
}

PyObject *
export_program(const ExportWanted *wanted, const struct Capture *capture, Program *program,
               PyObject *const *reached)
{
    Export e = {.wanted = wanted,
                .capture = capture,
                .graph = capture->graph,
                .program = program,
                .reached = reached,
                .reasons = PyList_New(0),
                .loops = PyList_New(0),
                .arguments = PyList_New(0)};
    PyObject *made = NULL, *value = NULL, *tables = NULL, *inputs = NULL;
    if (e.reasons == NULL || e.loops == NULL || e.arguments == NULL) goto done;
    if (export_find_selected(&e) < 0) goto done;
    int nsizes = e.graph->sizes.len + e.selected.len;
    e.needed = arena_alloc(e.graph->arena, (size_t)nsizes + 1);
    if (e.needed == NULL) goto done;
    if ((value = describe_value(&e, capture->exit.slot_value[0])) == NULL) goto done;
    if ((inputs = describe_inputs(&e)) == NULL) goto done;
    program->quiet = true;
    if (drive_all(&e) < 0 || put_tables(&e) < 0) goto done;
    if ((tables = text_to_str(&e.out)) == NULL) goto done;
    made = Py_BuildValue("{sOsOsOsOsOsO}", "reasons", e.reasons, "loops", e.loops, "arguments",
                         e.arguments, "value", value, "tables", tables, "inputs", inputs);
    if (made != NULL && PyList_GET_SIZE(e.reasons) == 0 && put_code(&e, made) < 0) Py_CLEAR(made);
done:
    Py_XDECREF(e.reasons);
    Py_XDECREF(e.loops);
    Py_XDECREF(e.arguments);
    Py_XDECREF(value);
    Py_XDECREF(tables);
    Py_XDECREF(inputs);
    text_free(&e.out);
    text_free(&e.finds);
    return made;
}
