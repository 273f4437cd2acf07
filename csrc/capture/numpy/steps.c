/* Steps: whole calls made by the plan, for every NumPy function whose bits no op has.
   In: a callable and values.  The arguments become a template with holes (pycompile/_calls.py), a
   trial calls the callable on stand-ins (trial.c), and its results become values: fresh arrays and
   numbers are results of one extern node, views of an argument are views in the graph, an argument
   itself is the same value.  Results whose shape is known only when the plan runs are opaque
   (opaque.c).
   Arguments that the callable changes (out=, np.put) are changed in a copy, which becomes the
   array's next version. */
#include "trial.h"

enum { MAX_LEAVES = 60, MAX_DEPTH = 70 };

typedef struct {
    Interp *in;
    int n;
    Value *of[MAX_HOLES];
    NodeId node[MAX_HOLES];
    SizeId length[MAX_HOLES]; /* Attempt.lengths */
    int depth;                /* nesting of containers, which may contain themselves */
    bool nested;              /* a hole lies inside a container */
    bool sized;               /* an unknown int, which may be a length */
    bool placed;              /* WholeCall.placed */
    bool device;              /* arrays on a device may be among them */
} Holes;

/* ---- arguments as templates ---- */

/* What to say of an opaque result: the reason for which an argument is opaque, or else the number
   that decides which part of an array it shows, or its length. */
static BreakCode
why_opaque(Holes *h, bool view)
{
    Interp *in = h->in;
    bool varies = false;
    for (int i = 0; i < h->n; i++) {
        const Opaque *opaque = opaque_of(in, h->node[i]);
        if (opaque != NULL) return opaque->why;
    }
    for (int i = 0; view && i < h->n; i++) {
        if (value_is_array(in, h->of[i])) continue;
        if (break_of_index(in, h->of[i]) == BREAK_DATA_INDEX) return BREAK_DATA_INDEX;
        varies = true;
    }
    return varies ? BREAK_VARIES : BREAK_DATA_SIZE;
}

/* An opaque array shares the memory of this argument. */
static Answer
note_view(Holes *h, int hole, BreakCode why)
{
    Interp *in = h->in;
    Opaque *opaque = opaque_of(in, h->node[hole]);
    if (opaque != NULL) {
        opaque->viewed = true;
        return ANSWER_YES;
    }
    int storage = storage_of(in, h->of[hole]->node);
    if (storage < 0) return ANSWER_ERROR;
    if (in->memory.storages.at[storage].written || input_of(in, h->of[hole]->node) == NULL)
        return interp_break_told(in, BREAK_INDEX, why,
                                 "a view of an array that is made or written here");
    in->memory.storages.at[storage].shown = why;
    return ANSWER_YES;
}

/* np.floating and NumPy's other abstract classes of dtypes. */
static bool
type_is_abstract(PyObject *type)
{
    static const char *const names[] = {
        "generic", "number",   "integer",         "signedinteger", "unsignedinteger",
        "inexact", "floating", "complexfloating", "flexible",      "character"};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (type == numpy_object(names[i])) return true;
    return false;
}

/* Constants that no call can change, and that run no code. */
static bool
is_plain(PyObject *object)
{
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
            if (!is_plain(PyTuple_GET_ITEM(object, i))) return false;
        return true;
    }
    if (PySlice_Check(object)) {
        PySliceObject *slice = (PySliceObject *)object;
        return is_plain(slice->start) && is_plain(slice->stop) && is_plain(slice->step);
    }
    if (object == Py_None || object == Py_Ellipsis || object == numpy_object("_NoValue"))
        return true;
    if (PyType_Check(object)) {
        DType ignored;
        return type_is_abstract(object) || array_dtype_from_object(object, &ignored) == ANSWER_YES;
    }
    if (ufunc_check(object)) return numpy_object(ufunc_name(object)) == object;
    return PyLong_CheckExact(object) || PyBool_Check(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyBytes_CheckExact(object) || PyRange_Check(object) || array_scalar_check(object) ||
           array_is_singleton_dtype(object) || numpy_is_known(object);
}

static Answer
hole(Holes *h, Value *value, NodeId node, PyObject **out)
{
    int number = 0; /* compared by value: a view of a written array is a new node at each use */
    while (number < h->n && h->of[number] != value) number++;
    if (number == MAX_HOLES) return interp_break(h->in, BREAK_NUMPY, "a call of many arguments");
    if (number == h->n) {
        h->of[h->n] = value;
        h->length[h->n] = NO_SIZE;
        h->node[h->n++] = node;
    }
    *out = template_hole(h->in, number);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* An int that is a length: the trials are of several. */
static Answer
length_hole(Holes *h, Value *value, SizeId length, PyObject **out)
{
    TRY(hole(h, value, value->node, out));
    for (int i = 0; i < h->n; i++)
        if (h->of[i] == value) h->length[i] = length;
    return ANSWER_YES;
}

static Answer
node_template(Holes *h, Value *value, PyObject **out)
{
    Interp *in = h->in;
    if (value_is_opaque(in, value)) {
        const Opaque *opaque = opaque_of(in, value->node);
        if (opaque == NULL) return interp_break(in, BREAK_OPERATOR, "an object that is not known");
        if (opaque->of != NULL) TRY(place_taken(in, opaque));
        return hole(h, value, value->node, out);
    }
    Type type = node_type(in, value->node);
    bool integer = type.dtype == DT_BOOL || dtype_is_integer((DType)type.dtype);
    if (type.form == FORM_PYTHON && integer) {
        SizeId length;
        Answer answer = size_of_length(in, value, &length);
        if (answer == ANSWER_YES && !size_is_const(in->graph, length))
            return length_hole(h, value, length, out);
        if (answer_stops(answer)) return answer;
        answer = value_known(in, value, out);
        if (answer != ANSWER_NO) return answer;
    }
    NodeId node;
    TRY(operand(in, value, &node));
    const Node *n = graph_node(in->graph, node);
    if (n->op == OP_const && n->type.rank == 0 && n->type.form != FORM_ARRAY) {
        *out = n->attrs.object;
        return ANSWER_YES;
    }
    if (type.form != FORM_ARRAY && integer) h->sized = true;
    return hole(h, value, node, out);
}

static Answer template_of(Holes *h, Value *value, PyObject **out);

/* A tuple of the templates of a container's items; kept. */
static Answer
items_template(Holes *h, Value *value, PyObject **out)
{
    PyObject *tuple = PyTuple_New(value->nitems);
    if (keep(h->in, tuple) == NULL) return ANSWER_ERROR;
    for (int i = 0; i < value->nitems; i++) {
        Value *item = value_item(h->in, value, i);
        PyObject *object;
        if (item == NULL) return ANSWER_ERROR;
        TRY(template_of(h, item, &object));
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(object));
    }
    *out = tuple;
    return ANSWER_YES;
}

static Answer
container_template(Holes *h, Value *value, PyObject **out)
{
    Interp *in = h->in;
    PyObject *items, *object = NULL;
    int before = h->n;
    if (h->depth == MAX_DEPTH) return interp_break(in, BREAK_NUMPY, "lists so deep in one another");
    h->depth++;
    Answer filled = items_template(h, value, &items);
    h->depth--;
    TRY(filled);
    h->nested = h->nested || h->n > before;
    switch (value->kind) {
    case V_TUPLE: object = Py_NewRef(items); break;
    case V_LIST: object = PySequence_List(items); break;
    case V_RANGE: object = PyObject_Call((PyObject *)&PyRange_Type, items, NULL); break;
    case V_SLICE:
        object = PySlice_New(PyTuple_GET_ITEM(items, 0), PyTuple_GET_ITEM(items, 1),
                             PyTuple_GET_ITEM(items, 2));
        break;
    default: break;
    }
    *out = keep(in, object);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
template_of(Holes *h, Value *value, PyObject **out)
{
    Interp *in = h->in;
    NodeId node;
    switch (value->kind) {
    case V_NODE: return node_template(h, value, out);
    case V_DEVICE:
        if (!h->device) break;
        TRY(device_argument(in, value, &node));
        return hole(h, value, node, out);
    case V_PURE: {
        Value *text;
        Answer made = value_known(in, value, out);
        if (made == ANSWER_NO) made = loose_text(in, value, &text);
        if (made == ANSWER_NO) break;
        if (made != ANSWER_YES || value->kind != V_PURE) return made;
        return node_template(h, text, out);
    }
    case V_TUPLE:
        if (value->type != NULL && value->type != &PyTuple_Type) break;
        return container_template(h, value, out);
    case V_LIST:
    case V_SLICE: return container_template(h, value, out);
    default: break;
    }
    /* Do not guard an object of the program by identity without need: the guard keeps it alive. */
    bool strange = value->kind == V_OBJECT && value->object != NULL && !is_plain(value->object);
    Answer answer = strange ? ANSWER_NO : object_known(in, value, out);
    if (answer_stops(answer)) return answer;
    if (answer == ANSWER_YES && (value->kind == V_RANGE || is_plain(*out))) return ANSWER_YES;
    return interp_break(in, value_break(value, BREAK_NUMPY), "an argument that is not known: %s",
                        value_describe(in, value));
}

/* ---- results ---- */

typedef struct {
    Holes *h;
    int n, taken;
    Type types[MAX_LEAVES];
    NodeId nodes[MAX_LEAVES];
} Leaves;

static bool
is_container(StepForm form)
{
    return form == STEP_TUPLE || form == STEP_LIST || form == STEP_NAMED;
}

static Answer
count_leaves(Leaves *l, PyObject *value)
{
    StepForm form = step_form(value);
    if (is_container(form)) {
        PyObject *items = step_part(value, PART_items);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++)
            TRY(count_leaves(l, PyList_GET_ITEM(items, i)));
        return ANSWER_YES;
    }
    if (form == STEP_HOLE || form == STEP_VIEW || form == STEP_NONE || form == STEP_CONSTANT)
        return ANSWER_YES;
    if (l->n == MAX_LEAVES) return interp_break(l->h->in, BREAK_NUMPY, "a call of many results");
    return trial_type(l->h->in, value, &l->types[l->n++]);
}

/* The number of the argument that is returned, or of which a view is returned. */
static int
hole_of(PyObject *value)
{
    return (int)PyLong_AsLong(step_part(value, PART_hole));
}

static int64_t
alignment_of(DType dtype)
{
    return (int64_t)dtype_size(dtype) / (dtype_is_complex(dtype) ? 2 : 1);
}

/* Are the elements of a view, which has another dtype than its memory, aligned?  NumPy copies
   unaligned ones in pieces, which gives other bits. */
static Answer
view_aligned(Interp *in, NodeId of, const Type *view)
{
    ArrayHeader header;
    const char *why;
    int64_t unit = alignment_of((DType)view->dtype);
    bool multiple =
        size_is_const(in->graph, view->offset) && size_value(in->graph, view->offset) % unit == 0;
    for (int i = 0; i < view->rank; i++)
        multiple = multiple && (size_value(in->graph, view->shape[i]) <= 1 ||
                                size_value(in->graph, view->stride[i]) % unit == 0);
    if (storage_of(in, of) < 0) return ANSWER_ERROR;
    Value *input = multiple ? input_of(in, of) : NULL;
    NodeId root = in->memory.storages.at[storage_of(in, of)].root;
    bool kernels = input == NULL && graph_node(in->graph, root)->op != OP_extern &&
                   graph_node(in->graph, root)->op != OP_result;
    if (multiple && (kernels || unit <= alignment_of((DType)node_type(in, root).dtype)))
        return ANSWER_YES;
    if (multiple && input != NULL && input->guard &&
        array_read(input->object, &header, &why) == ANSWER_YES &&
        (header.flags & ARRAY_ALIGNED_8)) {
        in->out->guards.at[input->guard - 1].array.flags |= ARRAY_ALIGNED_8;
        return ANSWER_YES;
    }
    return interp_break(in, BREAK_UNALIGNED, "a view whose elements are not aligned");
}

static Answer
view_value(Leaves *l, PyObject *value, Value **out)
{
    Interp *in = l->h->in;
    NodeId of = l->h->node[hole_of(value)], node;
    Type type;
    TRY(trial_array_type(in, value, &type));
    int64_t offset = PyLong_AsLongLong(step_part(value, PART_offset));
    SizeId within = size_const(in->graph, offset);
    type.offset = size_add(in->graph, node_type(in, of).offset, within);
    if (type.offset == NO_SIZE) return ANSWER_ERROR;
    bool frozen = step_part(value, PART_writeable) == Py_False;
    TRY(view_aligned(in, of, &type));
    TRY(node_view(in, frozen ? OP_broadcast : OP_as_strided, of, &type, 0, NULL, &node));
    TRY(push_node(in, node, out));
    PyObject *maker = step_part(value, PART_maker);
    if (maker == Py_None) return ANSWER_YES;
    return strided_leaves(in, l->h->of[hole_of(value)], keep(in, Py_NewRef(maker)), *out);
}

static Answer
opaque_result(Leaves *l, NodeId node, PyObject *value, Value **out)
{
    PyObject *views = step_part(value, PART_views);
    bool view = PyList_GET_SIZE(views) > 0;
    BreakCode why = why_opaque(l->h, view);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(views) && !l->h->placed; i++)
        TRY(note_view(l->h, (int)PyLong_AsLong(PyList_GET_ITEM(views, i)), why));
    TRY(opaque_value(l->h->in, node, step_part(value, PART_sample), view, out));
    opaque_of(l->h->in, node)->why = why;
    return ANSWER_YES;
}

static Answer make_value(Leaves *l, PyObject *value, Value **out);

static Answer
make_container(Leaves *l, StepForm form, PyObject *value, Value **out)
{
    PyObject *items = step_part(value, PART_items);
    int n = (int)PyList_GET_SIZE(items);
    *out = value_sequence(l->h->in, form == STEP_LIST ? V_LIST : V_TUPLE, n, NULL);
    if (*out == NULL) return ANSWER_ERROR;
    if (form == STEP_NAMED) (*out)->type = (PyTypeObject *)step_part(value, PART_type);
    for (int i = 0; i < n; i++) TRY(make_value(l, PyList_GET_ITEM(items, i), &(*out)->items[i]));
    return ANSWER_YES;
}

static Answer
make_value(Leaves *l, PyObject *value, Value **out)
{
    Interp *in = l->h->in;
    StepForm form = step_form(value);
    if (is_container(form)) return make_container(l, form, value, out);
    if (form == STEP_NONE) return given(out, value_const(in, Py_None));
    if (form == STEP_CONSTANT) {
        PyObject *made = step_part(value, PART_sample); /* a tuple that is new at each run */
        return given(out, Py_REFCNT(made) == 1 ? unshadow(in, made) : value_const(in, made));
    }
    if (form == STEP_HOLE) return given(out, l->h->of[hole_of(value)]);
    if (form == STEP_VIEW) return view_value(l, value, out);
    NodeId node = l->nodes[l->taken++];
    if (form == STEP_OPAQUE || form == STEP_OBJECT) return opaque_result(l, node, value, out);
    if (form == STEP_ARRAY && step_part(value, PART_owns) == Py_False &&
        VEC_PUSH(in->arena, &in->memory.borrowers, node) < 0)
        return ANSWER_ERROR;
    TRY(push_node(in, node, out));
    if (form == STEP_DEVICE) (*out)->kind = V_DEVICE;
    return ANSWER_YES;
}

/* Makes the next versions of the arrays that the call changes; the first of them is the result. */
static Answer
write_each(Leaves *l, PyObject *changed)
{
    Interp *in = l->h->in;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(changed); i++) {
        Value *target = l->h->of[PyLong_AsLong(PyTuple_GET_ITEM(changed, i))];
        NodeId node = l->nodes[l->taken++];
        if (value_is_opaque(in, target)) {
            Opaque opaque = *opaque_of(in, target->node);
            opaque.node = target->node = node;
            opaque.whole = opaque.mask = NO_NODE;
            if (VEC_PUSH(in->arena, &in->memory.opaques, opaque) < 0) return ANSWER_ERROR;
        } else {
            for (int k = 0; k < l->h->n; k++)
                if (l->h->of[k] != target) TRY(write_beside(in, target->node, l->h->node[k]));
            TRY(node_write(in, target, node));
        }
        in->writes.dirty = true;
    }
    return ANSWER_YES;
}

static Answer
write_changed(Leaves *l, PyObject *changed)
{
    uint8_t *varies = &l->h->in->memory.varies, outer = *varies;
    if (outer == VARIES_NOT) *varies = VARIES_SYMBOLS;
    Answer answer = write_each(l, changed);
    *varies = outer;
    return answer;
}

static Answer
changed_types(Leaves *l, PyObject *changed)
{
    Interp *in = l->h->in;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(changed); i++) {
        int number = (int)PyLong_AsLong(PyTuple_GET_ITEM(changed, i));
        Type type = node_type(in, l->h->node[number]);
        Type *out = &l->types[l->n++];
        *out = type;
        if (type.form == FORM_ARRAY) TRY(fresh_type(in, out, (DType)type.dtype, &type, 'K'));
    }
    return ANSWER_YES;
}

static Answer
add_nodes(Leaves *l, PyObject *callable, int nargs, const NodeId *args, PyObject *kwnames)
{
    Interp *in = l->h->in;
    NodeId whole;
    if (l->n == 0) return ANSWER_YES; /* all results are arguments or views, so nothing is called */
    Type several = type_scalar(DT_OBJECT, FORM_OBJECT);
    TRY(node_extern_kw(in, callable, nargs, args, kwnames, l->n == 1 ? &l->types[0] : &several,
                       &whole));
    l->nodes[0] = whole;
    for (int i = 0; l->n > 1 && i < l->n; i++) {
        Attrs attrs = {.index = i};
        TRY_NODE(l->nodes[i],
                 graph_add(in->graph, in->region, OP_result, 1, &whole, &l->types[i], &attrs));
    }
    return ANSWER_YES;
}

/* ---- the whole call ---- */

/* May the value be changed by a step? */
static Answer
may_change(Holes *h, int number, bool overlaps_are_seen)
{
    Interp *in = h->in;
    Value *target = h->of[number];
    Opaque *opaque = opaque_of(in, h->node[number]);
    if (opaque != NULL && opaque->viewed)
        return interp_break_told(in, BREAK_INDEX, opaque->why,
                                 "a write to an array that is a view, or has one");
    if (opaque != NULL) return ANSWER_YES;
    if (!value_is_array(in, target))
        return interp_break(in, BREAK_NUMPY, "an output that is no array");
    int storage = storage_of(in, target->node);
    if (storage < 0) return ANSWER_ERROR;
    for (int i = 0; i < h->n; i++)
        if (!overlaps_are_seen && i != number && value_is_array(in, h->of[i]) &&
            storage_of(in, h->of[i]->node) == storage)
            return break_hinted(in, BREAK_OVERLAP, HINT_COPY,
                                "an output that overlaps an argument");
    return write_allowed(in, target);
}

/* The numbers of the holes of out= and of the arguments that the row says are changed. */
static Answer
changed_holes(Holes *h, const WholeCall *call, int npos, PyObject **out)
{
    Value *targets[MAX_LEAVES];
    int n = 0, nkw = call->kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(call->kwnames);
    for (int i = 0; i < npos && n < MAX_LEAVES; i++)
        if (call->changes >> i & 1 && !value_absent(call->args[i])) targets[n++] = call->args[i];
    for (int k = 0; k < nkw; k++) {
        Value *value = call->args[npos + k];
        PyObject *name = PyTuple_GET_ITEM(call->kwnames, k);
        if (PyUnicode_CompareWithASCIIString(name, "out") != 0 || value_absent(value)) continue;
        if (value->kind == V_TUPLE) {
            for (int i = 0; i < value->nitems && n < MAX_LEAVES; i++)
                if (!value_absent(value->items[i])) targets[n++] = value->items[i];
        } else if (n < MAX_LEAVES) {
            targets[n++] = value;
        }
    }
    PyObject *tuple = PyTuple_New(n);
    if (keep(h->in, tuple) == NULL) return ANSWER_ERROR;
    for (int i = 0; i < n; i++) {
        int number = 0;
        while (number < h->n && h->of[number] != targets[i]) number++;
        if (number == h->n) return interp_break(h->in, BREAK_NUMPY, "an output that is no array");
        TRY(may_change(h, number, ufunc_check(call->callable)));
        PyTuple_SET_ITEM(tuple, i, PyLong_FromLong(number));
    }
    *out = tuple;
    return ANSWER_YES;
}

/* Argument `i` as a node; the call has no nested holes. */
static Answer
direct_argument(Holes *h, PyObject *object, NodeId *out)
{
    if (PyObject_TypeCheck(object, (PyTypeObject *)calls_object(h->in, "Hole"))) {
        PyObject *number = PyObject_GetAttrString(object, "number");
        if (number == NULL) return ANSWER_ERROR;
        *out = h->node[PyLong_AsLong(number)];
        Py_DECREF(number);
        return ANSWER_YES;
    }
    TRY_NODE(*out, node_object(h->in, object));
    return ANSWER_YES;
}

/* The callable of the step: the function itself with all its arguments, or a `Call` with the
   holes. */
static Answer
emit_call(Leaves *l, const WholeCall *call, PyObject *callable, PyObject *const *objects, int all)
{
    Holes *h = l->h;
    if (callable != call->callable) return add_nodes(l, callable, h->n, h->node, NULL);
    NodeId args[MAX_HOLES];
    for (int i = 0; i < all; i++) TRY(direct_argument(h, objects[i], &args[i]));
    return add_nodes(l, callable, all, args, call->kwnames);
}

/* The same, noting an out= among the positional arguments. */
static Answer
with_out(Interp *in, const WholeCall *given, WholeCall *call)
{
    *call = *given;
    PyObject *function =
        given->nargs < 2 ? NULL : module_kept(in, "pycompile._trials", "out_position");
    if (function == NULL) return given->nargs < 2 ? ANSWER_YES : ANSWER_ERROR;
    PyObject *answer = PyObject_CallOneArg(function, given->callable);
    if (answer == NULL && !PyErr_ExceptionMatches(PyExc_TypeError)) return ANSWER_ERROR;
    PyErr_Clear(); /* not hashable: no function of NumPy's */
    long position = answer == NULL ? -1 : PyLong_AsLong(answer);
    Py_XDECREF(answer);
    if (position > 0 && position < given->nargs && position < 32) call->changes |= 1u << position;
    return ANSWER_YES;
}

Answer
call_whole(Interp *in, const WholeCall *given, Value **out)
{
    WholeCall noted;
    const WholeCall *call = &noted;
    TRY(with_out(in, given, &noted));
    Holes h = {.in = in, .device = call->device, .placed = call->placed};
    int nkw = call->kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(call->kwnames);
    int all = call->nargs + nkw;
    PyObject *objects[MAX_HOLES], *value = NULL, *callable = NULL;
    if (all > MAX_HOLES) return interp_break(in, BREAK_NUMPY, "a call of many arguments");
    if (in->loop != NULL) {
        Value *called = value_const(in, call->callable);
        if (called == NULL) return ANSWER_ERROR;
        return interp_break(in, BREAK_NUMPY, "a call of '%s'", value_describe(in, called));
    }
    Answer made = ANSWER_YES;
    uint8_t outer = in->memory.varies;
    in->memory.varies = VARIES_SYMBOLS;
    for (int i = 0; i < all && made == ANSWER_YES; i++)
        made = template_of(&h, call->args[i], &objects[i]);
    in->memory.varies = outer;
    TRY(made);
    Attempt attempt = {.callable = call->callable,
                       .args = keep(in, PyTuple_New(call->nargs)),
                       .kwargs = keep(in, PyDict_New()),
                       .opaque = call->opaque || (h.sized && !call->fixed),
                       .untyped = call->untyped,
                       .direct = !h.nested};
    if (attempt.args == NULL || attempt.kwargs == NULL) return ANSWER_ERROR;
    for (int i = 0; i < call->nargs; i++) PyTuple_SET_ITEM(attempt.args, i, Py_NewRef(objects[i]));
    for (int k = 0; k < nkw; k++)
        if (PyDict_SetItem(attempt.kwargs, PyTuple_GET_ITEM(call->kwnames, k),
                           objects[call->nargs + k]) < 0)
            return ANSWER_ERROR;
    TRY(changed_holes(&h, call, call->nargs, &attempt.changed));
    attempt.n = h.n;
    attempt.holes = h.node;
    attempt.lengths = h.length;
    TRY(trial_run(in, &attempt, &value, &callable));
    Leaves leaves = {.h = &h};
    TRY(changed_types(&leaves, attempt.changed));
    TRY(count_leaves(&leaves, value));
    TRY(emit_call(&leaves, call, callable, objects, all));
    TRY(write_changed(&leaves, attempt.changed));
    return make_value(&leaves, value, out);
}

/* ---- for other files ---- */

Answer
call_simple(Interp *in, PyObject *callable, int nargs, Value *const *args, Value **out)
{
    if (callable == NULL) return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    WholeCall call = {.callable = callable, .nargs = nargs, .args = args};
    return call_whole(in, &call, out);
}

PyObject *
calls_object(Interp *in, const char *name)
{
    static PyObject *module; /* for the life of the process */
    if (module == NULL && (module = module_import("pycompile._calls")) == NULL) return NULL;
    return keep(in, PyObject_GetAttrString(module, name));
}

Answer
call_whole_instead(Interp *in, const WholeCall *call, Value **out)
{
    if (in->writes.dirty || in->raising.raised != NULL || in->attempt.again) return ANSWER_BREAK;
    BreakNote note = break_take(in);
    Answer answer = call_whole(in, call, out);
    /* An error that the library raised is more informative than the first break. */
    if (answer == ANSWER_BREAK && in->told.code == BREAK_SHAPE) return answer;
    return break_unless(in, answer, &note);
}
