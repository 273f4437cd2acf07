/* In-place writes to arrays from outside.
   A plan commits the last version of each input's storage into the program's array.  That is right
   as long as no other input shares its memory (NO_OVERLAP guards), and the array is writeable. */
#include "numpy.h"

Value *
input_of(Interp *in, NodeId node)
{
    NodeId root = in->memory.storages.at[storage_of(in, node)].root;
    for (int i = 0; i < in->memory.inputs.len; i++)
        if (in->memory.inputs.at[i]->node == root) return in->memory.inputs.at[i];
    return NULL;
}

/* Writes so far are committed before an effect that may read the array: see output.c. */
static Answer
break_shown(Interp *in, int commit)
{
    const Effect *effect = &in->writes.effects.at[commit - 1];
    return interp_break(in, BREAK_OUTPUT,
                        "%s at %s:%d lies between this write to an argument and an earlier one",
                        effect->what, effect->at.file, effect->at.line);
}

/* Inputs overlap, so that none is written. */
static Answer
break_overlap(Interp *in)
{
    const Overlap *both = &in->writes.overlap;
    const OverlapOf *a = &both->of[0], *b = &both->of[1];
    if (a->variable == NULL || b->variable == NULL)
        return break_hinted(in, BREAK_OVERLAP, both->hint,
                            "a write to an array that overlaps another one");
    return break_hinted(in, BREAK_OVERLAP, both->hint, "%s'%s' and %s'%s'",
                        a->inside ? "an array in " : "", a->variable,
                        b->inside ? "an array in " : "", b->variable);
}

Answer
write_allowed(Interp *in, Value *array)
{
    int storage = storage_of(in, array->node);
    if (storage < 0) return ANSWER_ERROR;
    if (in->memory.storages.at[storage].shown)
        return interp_break_told(in, BREAK_INDEX, in->memory.storages.at[storage].shown,
                                 "a write to an array of which there is a view");
    if (in->memory.storages.at[storage].commit)
        return break_shown(in, in->memory.storages.at[storage].commit);
    Answer answer =
        branch_aliased(in, array->node, "one of the arrays that it leaves is written later");
    if (answer != ANSWER_YES) return answer;
    if (graph_view_is_readonly(in->graph, array->node))
        return interp_break(in, BREAK_READONLY, "the array is read-only");
    Value *input = input_of(in, array->node);
    if (input == NULL) return ANSWER_YES;
    if (in->writes.refuse_writes) return break_overlap(in);
    ArrayHeader header;
    if (array_header(input->object, &header) != ANSWER_YES || !(header.flags & ARRAY_WRITEABLE)) {
        if (obstacle_note(in, GUARD_READONLY, input->source, NO_SOURCE) < 0) return ANSWER_ERROR;
        return interp_break(in, BREAK_READONLY, "the array is read-only");
    }
    if (type_repeats(in->graph, &graph_node(in->graph, input->node)->type)) {
        if (obstacle_note(in, GUARD_REPEATS, input->source, NO_SOURCE) < 0) return ANSWER_ERROR;
        return interp_break(in, BREAK_SHARED, "%s", "");
    }
    if (input->guard) in->out->guards.at[input->guard - 1].array.flags |= ARRAY_WRITEABLE;
    return ANSWER_YES;
}

static bool
arrays_overlap(PyObject *a, PyObject *b)
{
    ArrayHeader ha, hb;
    return array_header(a, &ha) != ANSWER_YES || array_header(b, &hb) != ANSWER_YES ||
           !arrays_apart(&ha, &hb);
}

/* What to do about the overlap of two inputs.  In the midst of a function the one may be a view
   that the function has made of the other. */
static BreakHint
overlap_hint(const Interp *in, const Value *a, const Value *b)
{
    const Value *both[2] = {a, b};
    if (in->request->number == 0) return HINT_OF_CODE;
    for (int i = 0; i < 2; i++) {
        const Source *source = &in->out->sources.at[both[i]->source];
        if (source->kind == SOURCE_SLOT &&
            source->index >= in->request->decoded->code->co_nlocalsplus)
            return HINT_LEFT;
    }
    bool view = array_is_exact(a->object) && array_is_exact(b->object) &&
                (array_base(a->object) == b->object || array_base(b->object) == a->object);
    return view ? HINT_TAKEN : HINT_OF_CODE;
}

bool
views_apart(const Graph *g, const Type *a, const Type *b)
{
    const Type *both[2] = {a, b};
    int64_t low[2], high[2];
    for (int i = 0; i < 2; i++) {
        if (!type_is_known(g, both[i]) || !size_is_const(g, both[i]->offset)) return false;
        if (type_elements(g, both[i]) == 0) return true;
        low[i] = high[i] = size_value(g, both[i]->offset);
        for (int axis = 0; axis < both[i]->rank; axis++) {
            int64_t reach =
                size_value(g, both[i]->stride[axis]) * (size_value(g, both[i]->shape[axis]) - 1);
            *(reach < 0 ? &low[i] : &high[i]) += reach;
        }
    }
    int64_t size = (int64_t)dtype_size((DType)a->dtype);
    return a->dtype == b->dtype && (high[0] + size <= low[1] || high[1] + size <= low[0]);
}

static bool
has_rounding(const Type *type)
{
    return dtype_is_float((DType)type->dtype) || dtype_is_complex((DType)type->dtype);
}

/* Once for two arrays, however many operations have them. */
static int
guard_ranges_apart(Interp *in, SourceId a, SourceId b)
{
    for (int i = 0; i < in->writes.apart.len; i++)
        if (in->writes.apart.at[i].a == a && in->writes.apart.at[i].b == b) return 0;
    Guard guard = {.kind = GUARD_RANGES_APART, .source = a, .other = b};
    return guard_add(in, &guard) < 0 ? -1
                                     : VEC_PUSH(in->arena, &in->writes.apart, ((SourcePair){a, b}));
}

Answer
write_beside(Interp *in, NodeId target, NodeId operand)
{
    Type to = node_type(in, target), from = node_type(in, operand);
    if (from.form != FORM_ARRAY || !has_rounding(&to) || !has_rounding(&from)) return ANSWER_YES;
    int written = storage_of(in, target), read = storage_of(in, operand);
    if (written < 0 || read < 0) return ANSWER_ERROR;
    if (written == read) {
        /* of one complex number NumPy rounds the product otherwise in place */
        if (dtype_is_complex((DType)to.dtype)) {
            if (type_elements(in->graph, &to) == 1)
                return interp_break(in, BREAK_NUMPY, "an operation in place on one complex number");
            SizeId count = type_count(in->graph, &to);
            if (count == NO_SIZE) return ANSWER_ERROR;
            if (!size_is_const(in->graph, count)) TRY(length_is_some(in, count, 2));
        }
        if ((type_same_layout(&to, &from) && to.offset == from.offset) ||
            views_apart(in->graph, &to, &from))
            return ANSWER_YES;
        return interp_break(in, BREAK_NUMPY,
                            "an operation in place on a view that the memory of "
                            "its other operand reaches into");
    }
    Value *a = input_of(in, target), *b = input_of(in, operand);
    if (a == NULL || b == NULL) return ANSWER_YES;
    ArrayHeader ha, hb;
    const char *why;
    if (array_read(a->object, &ha, &why) != ANSWER_YES ||
        array_read(b->object, &hb, &why) != ANSWER_YES || !arrays_ranges_apart(&ha, &hb)) {
        if (obstacle_note(in, GUARD_RANGES_MEET, a->source, b->source) < 0) return ANSWER_ERROR;
        return break_hinted(in, BREAK_OVERLAP, overlap_hint(in, a, b),
                            "an operation in place with an array whose memory interleaves");
    }
    return guard_ranges_apart(in, a->source, b->source) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* The variable through which the array is reached; one without a name is left as it is. */
static void
name_variable(const Interp *in, SourceId source, OverlapOf *out)
{
    PyCodeObject *code = in->request->decoded->code;
    const Source *at = &in->out->sources.at[source];
    for (; at->base != NO_SOURCE; at = &in->out->sources.at[at->base]) out->inside = true;
    if (at->kind == SOURCE_SLOT && at->index < code->co_nlocalsplus)
        out->variable = text_of_str(code_slot_name(code, at->index));
}

/* Up to this many pairs get a guard each; more are guarded as a group. */
enum { PAIRS = 12 };

static bool
is_array_input(Interp *in, const Value *value)
{
    return graph_node(in->graph, value->node)->type.form == FORM_ARRAY;
}

/* One guard for the whole group: the written inputs, then those that are only read. */
static int
guard_group(Interp *in, Value *const *group, int nwritten, int n)
{
    Guard guard = {.kind = GUARD_DISJOINT, .source = group[0]->source, .other = NO_SOURCE};
    guard.ngroup = n;
    guard.nwritten = nwritten;
    guard.group = arena_alloc(in->arena, (size_t)n * sizeof(SourceId));
    for (int i = 0; guard.group != NULL && i < n; i++) guard.group[i] = group[i]->source;
    return guard.group == NULL ? -1 : guard_add(in, &guard);
}

static Answer
guard_apart(Interp *in, Value *const *group, int nwritten, int n)
{
    for (int i = 0; i < nwritten; i++)
        for (int k = i + 1; k < n; k++)
            if (arrays_overlap(group[i]->object, group[k]->object)) {
                SourceId source = group[i]->source, other = group[k]->source;
                in->writes.overlap = (Overlap){.hint = overlap_hint(in, group[i], group[k])};
                name_variable(in, source, &in->writes.overlap.of[0]);
                name_variable(in, other, &in->writes.overlap.of[1]);
                return obstacle_note(in, GUARD_OVERLAP, source, other) < 0 ? ANSWER_ERROR
                                                                           : ANSWER_NO;
            }
    if (nwritten == 0 || n < 2) return ANSWER_YES;
    if (nwritten * n > PAIRS)
        return guard_group(in, group, nwritten, n) < 0 ? ANSWER_ERROR : ANSWER_YES;
    for (int i = 0; i < nwritten; i++)
        for (int k = i + 1; k < n; k++) {
            Guard guard = {
                .kind = GUARD_NO_OVERLAP, .source = group[i]->source, .other = group[k]->source};
            if (guard_add(in, &guard) < 0) return ANSWER_ERROR;
        }
    return ANSWER_YES;
}

/* Of strides that are no symbols the array's own guard tells. */
static int
guard_no_repeats(Interp *in, const Value *input)
{
    const Type *type = &graph_node(in->graph, input->node)->type;
    bool open = false;
    for (int axis = 0; axis < type->rank; axis++)
        open = open || in->graph->sizes.at[type->stride[axis]].kind == SIZE_STRIDE;
    return open && guard_simple(in, GUARD_NO_REPEATS, input->source, NULL) < 0 ? -1 : 0;
}

/* `when`: the bool under which it is done; NULL: always. */
static int
commit_version(Interp *in, const Value *input, NodeId version, Value *when)
{
    BuildId condition = when != NULL ? in->above->build(in, when) : NO_BUILD;
    if (when != NULL && condition == NO_BUILD) return -1;
    Build effect = {.kind = EFFECT_WRITE,
                    .node = version,
                    .source = input->source,
                    .number = in->bottom->number,
                    .when = condition + 1,
                    .output = graph_output(in->graph, version)};
    return effect.output < 0 ? -1 : VEC_PUSH(in->arena, &in->out->builds, effect);
}

/* The array stores it itself. */
static int
commit_key(Interp *in, const Value *input, const ArrayWrite *write)
{
    BuildId condition = write->when != NULL ? in->above->build(in, write->when) : NO_BUILD;
    BuildId *args = arena_alloc(in->arena, 2 * sizeof(BuildId));
    if (args == NULL || (args[0] = in->above->build(in, write->key)) == NO_BUILD ||
        (args[1] = in->above->build(in, write->stored)) == NO_BUILD ||
        (write->when != NULL && condition == NO_BUILD))
        return -1;
    Build effect = {.kind = EFFECT_STORE_PART,
                    .nargs = 2,
                    .args = args,
                    .node = NO_NODE,
                    .source = input->source,
                    .number = in->bottom->number,
                    .when = condition + 1};
    return VEC_PUSH(in->arena, &in->out->builds, effect);
}

static int
commit_part(Interp *in, const Value *input, const ArrayWrite *write)
{
    if (write->key != NULL) return commit_key(in, input, write);
    if (write->value == NULL) return commit_version(in, input, write->version, write->when);
    NodeId args[2] = {input->node, write->value->node};
    Type view = write->place, part;
    Attrs attrs = {.view = &view, .index = WRITE_AT_COMMIT};
    if (type_contiguous(in->graph, &part, (DType)view.dtype, view.rank, view.shape) < 0) return -1;
    part.form = FORM_ARRAY;
    NodeId node = graph_add(in->graph, in->region, OP_commit, 2, args, &part, &attrs);
    return node == NO_NODE ? -1 : commit_version(in, input, node, write->when);
}

/* One of the two holds. */
static Value *
either(Interp *in, Value *one, Value *other)
{
    NodeId args[2] = {one->node, other->node};
    Type type = node_type(in, one->node);
    NodeId node = graph_add(in->graph, in->region, OP_logical_or, 2, args, &type, NULL);
    return node == NO_NODE ? NULL : value_node(in, node);
}

enum { MOST_WRITES = 16 }; /* of one storage, that are effects of their own */

/* Are all writes of the storage to small parts of a large array?  Its last version would be a copy
   of all of it. */
static bool
writes_small_parts(const Interp *in, int number)
{
    enum { SMALL = 4096, SHARE = 16 }; /* of fewer elements the last version takes less */
    const Graph *g = in->graph;
    const Type *whole = &graph_node(g, in->memory.storages.at[number].root)->type;
    int64_t elements = type_is_known(g, whole) ? type_elements(g, whole) : 0, written = 0;
    if (whole->device != DEVICE_HOST || elements < SMALL) return false;
    for (int i = 0; i < in->memory.writes.len; i++) {
        const ArrayWrite *write = &in->memory.writes.at[i];
        if (write->storage != number) continue;
        if (write->value == NULL || !type_is_known(g, &write->place)) return false;
        written += type_elements(g, &write->place);
    }
    return written < elements / SHARE;
}

/* What arms of branches wrote is written only where the arm was taken, and nothing else is, so each
   write is one effect; of many the last version is, if any was done.  Likewise what was stored by
   keys, for which a copy of all of the array was changed, and in several small parts. */
static int
commit_storage(Interp *in, int number)
{
    const Storage *storage = &in->memory.storages.at[number];
    const Value *input = input_of(in, storage->root);
    int writes = 0, always = 0, keys = 0;
    for (int i = 0; i < in->memory.writes.len; i++) {
        bool of = in->memory.writes.at[i].storage == number;
        writes += of;
        always += of && in->memory.writes.at[i].when == NULL;
        keys += of && in->memory.writes.at[i].key != NULL;
    }
    bool parts = writes > 1 && writes <= MOST_WRITES && writes_small_parts(in, number);
    if ((always == writes && keys == 0 && !parts) || (writes > MOST_WRITES && always > 0))
        return commit_version(in, input, storage->version, NULL);
    Value *any = NULL;
    for (int i = 0; i < in->memory.writes.len; i++) {
        const ArrayWrite *write = &in->memory.writes.at[i];
        if (write->storage != number) continue;
        if (writes <= MOST_WRITES && commit_part(in, input, write) < 0) return -1;
        if (writes <= MOST_WRITES) continue;
        if ((any = any == NULL ? write->when : either(in, any, write->when)) == NULL) return -1;
    }
    return any == NULL ? 0 : commit_version(in, input, storage->version, any);
}

int
writes_commit(Interp *in, int place)
{
    for (int i = 0; i < in->memory.storages.len; i++)
        if (in->memory.storages.at[i].commit == place && commit_storage(in, i) < 0) return -1;
    return 0;
}

/* Storing the value runs no code of the program. */
static bool
is_quiet(BuildKind kind)
{
    return kind >= EFFECT_STORE_ATTR && kind <= EFFECT_STORE_CELL;
}

/* Notes which of the graph's outputs are written (Output.written, at_once).  All effects are built.
 */
static void
note_written(Interp *in)
{
    const Capture *out = in->out;
    bool wrote = false, over = false;
    for (int i = 0; i < out->builds.len; i++) {
        const Build *build = &out->builds.at[i];
        if (build->kind < EFFECT_STORE_ATTR) continue;
        if (build->kind == EFFECT_STORE_PART) wrote = true;
        if (build->kind == EFFECT_STORE_PART) continue;
        if (build->kind != EFFECT_WRITE) {
            over = over || (wrote && !is_quiet(build->kind));
            continue;
        }
        Output *output = &in->graph->outputs.at[build->output];
        output->written = true;
        output->at_once = !over && build->when == 0;
        wrote = true;
    }
}

Answer
writes_finish(Interp *in)
{
    int n = 0, nwritten;
    Value **group = arena_alloc(in->arena, ((size_t)in->memory.inputs.len + 1) * sizeof(Value *));
    if (group == NULL) return ANSWER_ERROR;
    for (int i = 0; i < in->memory.storages.len; i++) {
        Storage *storage = &in->memory.storages.at[i];
        Value *input = storage->written ? input_of(in, storage->root) : NULL;
        if (input == NULL) continue;
        group[n++] = input;
        if (guard_no_repeats(in, input) < 0) return ANSWER_ERROR;
        if (storage->commit == 0 && commit_storage(in, i) < 0) /* or a key cannot be built */
            return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_BREAK;
    }
    note_written(in);
    nwritten = n;
    for (int i = 0; nwritten > 0 && i < in->memory.inputs.len; i++) {
        Value *input = in->memory.inputs.at[i];
        bool listed = !is_array_input(in, input);
        for (int k = 0; k < nwritten && !listed; k++) listed = group[k] == input;
        if (!listed) group[n++] = input;
    }
    return guard_apart(in, group, nwritten, n);
}
