/* Trial calls: the callable is called while capturing, on stand-ins for values that are known only
   when the plan runs, and pycompile/_trials.py describes what it returned.  step_values.def defines
   the descriptions in both directions. */
#include "trial.h"

#include "../../config.h"

static PyStructSequence_Field value_fields[] = {
#define FORM(name, meaning)
#define FIELD(name, meaning) {#name, meaning},
#define ASKED FORM
#include "step_values.def"
    {NULL, NULL},
};
static PyStructSequence_Field asked_fields[] = {
#define FORM(name, meaning)
#define FIELD FORM
#define ASKED(name, meaning) {#name, meaning},
#include "step_values.def"
    {NULL, NULL},
};
static PyStructSequence_Desc value_description = {
    "pycompile._C.StepValue", "An argument or a result of a step, as its trial has it.",
    value_fields, COUNT_OF(value_fields) - 1};
static PyStructSequence_Desc asked_description = {"pycompile._C.Trial",
                                                  "A call that is tried while capturing.",
                                                  asked_fields, COUNT_OF(asked_fields) - 1};
static PyTypeObject *step_value_type, *asked_type;

/* A new struct sequence of these parts, which it steals; None stands for NULL, unless the error is
   set. */
static PyObject *
sequence_new(PyTypeObject *type, int n, PyObject *const *parts)
{
    PyObject *made = PyErr_Occurred() ? NULL : PyStructSequence_New(type);
    for (int i = 0; i < n; i++)
        if (made != NULL)
            PyStructSequence_SetItem(made, i, parts[i] != NULL ? parts[i] : Py_NewRef(Py_None));
        else
            Py_XDECREF(parts[i]);
    return made;
}

/* ---- describing the arguments ---- */

/* Of symbols, what they are in this trial. */
static PyObject *
lengths_now(const Graph *g, int rank, const SizeId *sizes)
{
    PyObject *tuple = PyTuple_New(rank);
    for (int i = 0; tuple != NULL && i < rank; i++) {
        PyObject *length = PyLong_FromLongLong(size_value(g, sizes[i]));
        if (length == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, length);
    }
    return tuple;
}

/* NO_SIZE: it is no int that is a length. */
static SizeId
length_of_hole(const Attempt *attempt, int number)
{
    return attempt->lengths != NULL ? attempt->lengths[number] : NO_SIZE;
}

/* The graph's description of a hole; a new reference. */
static PyObject *
value_of(Interp *in, const Attempt *attempt, int number)
{
    enum { COUNT = COUNT_OF(value_fields) - 1 };
    PyObject *parts[COUNT] = {NULL};
    StepForm form = STEP_OPAQUE;
    NodeId node = attempt->holes[number];
    SizeId length = length_of_hole(attempt, number);
    if (length != NO_SIZE) parts[PART_sample] = PyLong_FromLongLong(size_value(in->graph, length));
    const Opaque *opaque = opaque_of(in, node);
    Type type = node_type(in, node);
    if (opaque != NULL) {
        parts[PART_sample] = Py_NewRef(opaque->sample);
    } else {
        parts[PART_dtype] = array_dtype_object((DType)type.dtype);
        form = type.device != DEVICE_HOST ? STEP_DEVICE
               : type.form == FORM_ARRAY  ? STEP_ARRAY
               : type.form == FORM_PYTHON ? STEP_PYTHON
                                          : STEP_SCALAR;
    }
    if (form == STEP_ARRAY || form == STEP_DEVICE) {
        parts[PART_shape] = lengths_now(in->graph, type.rank, type.shape);
        parts[PART_strides] = lengths_now(in->graph, type.rank, type.stride);
    }
    if (form == STEP_ARRAY)
        parts[PART_writeable] = PyBool_FromLong(!graph_view_is_readonly(in->graph, node));
    parts[PART_form] = PyLong_FromLong(form);
    return sequence_new(step_value_type, COUNT, parts);
}

/* A new reference. */
static PyObject *
asked_new(Interp *in, const Attempt *attempt)
{
    PyObject *values = PyList_New(attempt->n);
    for (int i = 0; values != NULL && i < attempt->n; i++) {
        PyObject *value = value_of(in, attempt, i);
        if (value == NULL)
            Py_CLEAR(values);
        else
            PyList_SET_ITEM(values, i, value);
    }
    if (values == NULL) return NULL;
    PyObject *parts[] = {Py_NewRef(attempt->callable),
                         PyLong_FromUnsignedLong(function_traits(attempt->callable)),
                         Py_NewRef(attempt->args),
                         Py_NewRef(attempt->kwargs),
                         values,
                         Py_NewRef(attempt->changed),
                         PyBool_FromLong(attempt->opaque),
                         PyBool_FromLong(attempt->untyped),
                         PyBool_FromLong(attempt->direct),
                         PyBool_FromLong(attempt->fresh)};
    _Static_assert(COUNT_OF(parts) == COUNT_OF(asked_fields) - 1,
                   "in the order of step_values.def");
    return sequence_new(asked_type, COUNT_OF(parts), parts);
}

PyObject *
template_hole(Interp *in, int number)
{
    static PyObject *first[16]; /* for the life of the process: a Hole never changes */
    bool few = number < COUNT_OF(first);
    if (few && first[number] != NULL) return first[number];
    PyObject *type = calls_object(in, "Hole");
    PyObject *hole = type == NULL ? NULL : PyObject_CallFunction(type, "i", number);
    return few ? (first[number] = hole) : keep(in, hole);
}

/* ---- the trial ---- */

/* NumPy rejects the call: its error is raised in the program. */
static Answer
raise_refused(Interp *in, PyObject *refused)
{
    PyObject *args = keep(in, PyObject_GetAttrString(refused, "args"));
    if (args == NULL) return ANSWER_ERROR;
    PyObject *error = PyTuple_GET_ITEM(args, 0);
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    return raise_error(in);
}

/* Has an argument a shape, or is it an object, that is known only when the plan runs? */
static bool
has_assumed(Interp *in, const Attempt *attempt)
{
    for (int i = 0; i < attempt->n; i++)
        if (opaque_of(in, attempt->holes[i]) != NULL) return true;
    return false;
}

/* Is an argument a number that is known only when the plan runs? */
static bool
has_number(Interp *in, const Attempt *attempt)
{
    for (int i = 0; i < attempt->n; i++) {
        Type type = node_type(in, attempt->holes[i]);
        if (type.rank == 0 && type.form != FORM_ARRAY && type.form != FORM_OBJECT) return true;
    }
    return false;
}

/* Why the trial found nothing: its own message, or an exception of the library.  The exception may
   depend on the elements, which stand-ins do not have; of a number or an assumed shape that may be
   what the library refuses, it is not told. */
static Answer
break_untold(Interp *in, const Attempt *attempt, PyObject *error)
{
    PyObject *unexpected = calls_object(in, "Unexpected");
    if (unexpected == NULL) return ANSWER_ERROR;
    bool raised = (PyObject *)Py_TYPE(error) != unexpected;
    if (raised && has_assumed(in, attempt))
        return interp_break(in, BREAK_NUMPY,
                            "a call whose result cannot be told beforehand: what its arguments "
                            "are, or their shapes, is only known when it runs");
    if (raised && has_number(in, attempt))
        return interp_break(in, BREAK_NUMPY,
                            "a call whose result cannot be told beforehand: it depends on a number "
                            "that is only known when it runs");
    PyObject *text = PyObject_Str(error);
    const char *why = text == NULL ? NULL : PyUnicode_AsUTF8(text);
    PyErr_Clear();
    if (why == NULL || environment_holds(why)) why = "it raised";
    Text detail = {0};
    if (raised)
        text_printf(&detail, "%s: %s", Py_TYPE(error)->tp_name, why);
    else
        text_printf(&detail, "a call whose result cannot be told beforehand: %s", why);
    Answer answer = interp_break_told(in, BREAK_NUMPY, raised ? BREAK_SHAPE : BREAK_NUMPY,
                                      detail.data != NULL ? detail.data : "");
    text_free(&detail);
    Py_XDECREF(text);
    return answer;
}

/* Turns the set error, with which a trial failed, into a break. */
static Answer
no_answer(Interp *in, const Attempt *attempt)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_Occurred() == PyExc_MemoryError)
        return ANSWER_ERROR; /* memory of pycompile's own; a too large array raises another class */
    PyObject *error = keep(in, error_take()),
             *refused = module_kept(in, "pycompile._trials", "Refused");
    if (error == NULL || refused == NULL) return ANSWER_ERROR;
    if (attempt->fresh)
        return interp_break(in, BREAK_NUMPY, "a call whose result cannot be told beforehand");
    if ((PyObject *)Py_TYPE(error) == refused) return raise_refused(in, error);
    return break_untold(in, attempt, error);
}

/* With the device current that is current to the program there. */
static PyObject *
call_on_device(Interp *in, PyObject *trial, PyObject *asked)
{
    const ArrayLibrary *library = array_library_on(DEVICE_CUDA);
    const Graph *g = in->graph;
    if (g->current == 0) return PyObject_CallOneArg(trial, asked);
    if (library->use(g->device[g->current]) < 0) return NULL;
    PyObject *pair = PyObject_CallOneArg(trial, asked), *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (library->use(g->device[0]) < 0) Py_CLEAR(pair);
    if (type != NULL) PyErr_Restore(type, value, trace);
    return pair;
}

/* The trial as lengths are now: a pair of both, kept; ANSWER_NO with the error set that it raised.
 */
static Answer
trial_ask(Interp *in, const Attempt *attempt, PyObject **pair)
{
    PyObject *trial = module_kept(in, "pycompile._trials", "trial");
    PyObject *asked = trial == NULL ? NULL : asked_new(in, attempt);
    if (asked == NULL) return ANSWER_ERROR;
    *pair = call_on_device(in, trial, asked);
    Py_DECREF(asked);
    if (*pair == NULL) return ANSWER_NO;
    return keep(in, *pair) == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- trials with symbols among the lengths ---- */

typedef struct {
    Interp *in;
    const Attempt *attempt;
    Lengths lengths;
    PyObject *value[TRIALS];
} Trials;

static int
note_lengths(Trials *t)
{
    const Graph *g = t->in->graph;
    t->lengths.varies = arena_alloc(t->in->arena, (size_t)g->sizes.len);
    if (t->lengths.varies == NULL) return -1;
    for (int i = 0; i < t->attempt->n; i++) {
        Type type = node_type(t->in, t->attempt->holes[i]);
        if (length_of_hole(t->attempt, i) != NO_SIZE)
            length_note(&t->lengths, length_of_hole(t->attempt, i));
        if (type.form != FORM_ARRAY) continue;
        for (int axis = 0; axis < type.rank; axis++) {
            length_note(&t->lengths, type.shape[axis]);
            length_varies(&t->lengths, type.stride[axis]);
        }
        SizeId all = type_count(t->in->graph, &type);
        if (all == NO_SIZE) return -1;
        length_note(&t->lengths, all);
    }
    return 0;
}

/* The StepValue with one other part; kept. */
static PyObject *
trial_value_with(Interp *in, PyObject *value, StepPart part, PyObject *object)
{
    PyObject *parts[COUNT_OF(value_fields) - 1];
    if (object == NULL) return NULL;
    for (int i = 0; i < COUNT_OF(parts); i++)
        parts[i] = Py_NewRef(i == (int)part ? object : PyStructSequence_GetItem(value, i));
    return keep(in, sequence_new(step_value_type, COUNT_OF(parts), parts));
}

static bool
lies_natural(PyObject *value, bool c_order, int64_t bytes)
{
    PyObject *shape = step_part(value, PART_shape), *strides = step_part(value, PART_strides);
    Py_ssize_t rank = PyTuple_GET_SIZE(shape);
    for (Py_ssize_t i = 0; i < rank; i++) {
        Py_ssize_t axis = c_order ? rank - 1 - i : i;
        if (PyLong_AsLongLong(PyTuple_GET_ITEM(strides, axis)) != bytes) return false;
        bytes *= PyLong_AsLongLong(PyTuple_GET_ITEM(shape, axis));
    }
    return true;
}

/* Lengths in tuples stand for sizes of the graph: see trial_array_type. */
static PyObject *
tuple_of_sizes(int rank, const SizeId *sizes)
{
    PyObject *tuple = PyTuple_New(rank);
    for (int i = 0; tuple != NULL && i < rank; i++) {
        PyObject *size = Py_BuildValue("(i)", (int)sizes[i]);
        if (size == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, size);
    }
    return tuple;
}

static Answer
dtype_of_part(PyObject *value, DType *out)
{
    PyObject *dtype = step_part(value, PART_dtype);
    return step_form(value) == STEP_DEVICE ? array_device_dtype(dtype, out)
                                           : array_dtype_from_object(dtype, out);
}

/* Lengths, or strides, of an array. */
static Answer
part_follows(Trials *t, PyObject *const *values, StepPart part, int rank, SizeId *out)
{
    for (int i = 0; i < rank; i++) {
        int64_t wanted[TRIALS];
        for (int k = 0; k < TRIALS; k++)
            wanted[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(step_part(values[k], part), i));
        TRY(length_follows(&t->lengths, wanted, &out[i]));
    }
    return ANSWER_YES;
}

/* Those of an array that lies in one order in all trials, else what follows from the lengths. */
static Answer
strides_follow(Trials *t, PyObject *const *values, DType dtype, int rank, const SizeId *shape,
               SizeId *out)
{
    Type type;
    SizeId turned[MAX_RANK];
    bool c = true, fortran = true;
    for (int k = 0; k < TRIALS; k++) {
        c = c && lies_natural(values[k], true, (int64_t)dtype_size(dtype));
        fortran = fortran && lies_natural(values[k], false, (int64_t)dtype_size(dtype));
    }
    if (!c && !fortran) return part_follows(t, values, PART_strides, rank, out);
    for (int i = 0; i < rank; i++) turned[rank - 1 - i] = shape[i];
    if (type_contiguous(t->in->graph, &type, dtype, rank, c ? shape : turned) < 0)
        return ANSWER_ERROR;
    for (int i = 0; i < rank; i++) out[i] = type.stride[c ? i : rank - 1 - i];
    return ANSWER_YES;
}

static Answer
array_follows(Trials *t, PyObject *const *values, PyObject **out)
{
    SizeId shape[MAX_RANK], stride[MAX_RANK];
    DType dtype;
    int rank = (int)PyTuple_GET_SIZE(step_part(values[0], PART_shape));
    if (dtype_of_part(values[0], &dtype) != ANSWER_YES || rank > MAX_RANK) return ANSWER_NO;
    for (int k = 0; k < TRIALS; k++)
        if (PyTuple_GET_SIZE(step_part(values[k], PART_shape)) != rank) return ANSWER_NO;
    TRY(part_follows(t, values, PART_shape, rank, shape));
    TRY(strides_follow(t, values, dtype, rank, shape, stride));
    PyObject *sizes = tuple_of_sizes(rank, shape), *strides = tuple_of_sizes(rank, stride);
    *out = trial_value_with(t->in, values[0], PART_shape, sizes);
    if (*out != NULL) *out = trial_value_with(t->in, *out, PART_strides, strides);
    Py_XDECREF(sizes);
    Py_XDECREF(strides);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer value_follows(Trials *t, PyObject *const *values, PyObject **out);

static Answer
items_follow(Trials *t, PyObject *const *values, PyObject **out)
{
    PyObject *items = step_part(values[0], PART_items), *made = PyList_New(0);
    if (keep(t->in, made) == NULL) return ANSWER_ERROR;
    for (int k = 1; k < TRIALS; k++)
        if (PyList_GET_SIZE(step_part(values[k], PART_items)) != PyList_GET_SIZE(items))
            return ANSWER_NO;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++) {
        PyObject *each[TRIALS], *item;
        for (int k = 0; k < TRIALS; k++)
            each[k] = PyList_GET_ITEM(step_part(values[k], PART_items), i);
        TRY(value_follows(t, each, &item));
        if (PyList_Append(made, item) < 0) return ANSWER_ERROR;
    }
    *out = trial_value_with(t->in, values[0], PART_items, made);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* Is this part the same in all trials? */
static Answer
part_is_steady(PyObject *const *values, StepPart part)
{
    for (int k = 1; k < TRIALS; k++) {
        int same =
            PyObject_RichCompareBool(step_part(values[0], part), step_part(values[k], part), Py_EQ);
        if (same <= 0) return same < 0 ? ANSWER_ERROR : ANSWER_NO;
    }
    return ANSWER_YES;
}

/* Is it of one class in all trials?  Nothing else is known of what comes when the plan runs. */
static Answer
object_is_steady(PyObject *const *values)
{
    for (int k = 1; k < TRIALS; k++)
        if (Py_TYPE(step_part(values[0], PART_sample)) !=
            Py_TYPE(step_part(values[k], PART_sample)))
            return ANSWER_NO;
    return ANSWER_YES;
}

/* Is it the same object in all trials: a dtype, say? */
static Answer
constant_is_steady(PyObject *const *values)
{
    for (int k = 1; k < TRIALS; k++)
        if (step_part(values[0], PART_sample) != step_part(values[k], PART_sample))
            return ANSWER_NO;
    return ANSWER_YES;
}

static Answer
value_follows(Trials *t, PyObject *const *values, PyObject **out)
{
    TRY(part_is_steady(values, PART_form));
    TRY(part_is_steady(values, PART_dtype));
    TRY(part_is_steady(values, PART_owns));
    TRY(part_is_steady(values, PART_aligned));
    TRY(part_is_steady(values, PART_hole));
    TRY(part_is_steady(values, PART_views));
    *out = values[0];
    switch (step_form(values[0])) {
    case STEP_ARRAY:
    case STEP_DEVICE: return array_follows(t, values, out);
    case STEP_TUPLE:
    case STEP_LIST:
    case STEP_NAMED: return items_follow(t, values, out);
    case STEP_SCALAR:
    case STEP_PYTHON:
    case STEP_OPAQUE:
    case STEP_HOLE:
    case STEP_NONE: return ANSWER_YES;
    case STEP_CONSTANT: return constant_is_steady(values);
    case STEP_OBJECT: return object_is_steady(values);
    default: return ANSWER_NO;
    }
}

static Answer
try_lengths(Trials *t, int trial, PyObject **callable)
{
    PyObject *pair;
    Answer answer = trial_ask(t->in, t->attempt, &pair);
    if (answer == ANSWER_NO && PyErr_ExceptionMatches(PyExc_Exception) &&
        PyErr_Occurred() != PyExc_MemoryError)
        PyErr_Clear();
    if (PyErr_Occurred()) return ANSWER_ERROR;
    TRY(answer);
    t->value[trial] = PyTuple_GET_ITEM(pair, 0);
    if (trial == 0) *callable = PyTuple_GET_ITEM(pair, 1);
    return ANSWER_YES;
}

/* Does the plan find out all lengths of the result, and what is a number is one for all lengths? */
static bool
has_no_length(PyObject *value)
{
    StepForm form = step_form(value);
    bool several = form == STEP_TUPLE || form == STEP_LIST || form == STEP_NAMED;
    PyObject *items = several ? step_part(value, PART_items) : NULL;
    for (Py_ssize_t i = 0; several && i < PyList_GET_SIZE(items); i++)
        if (!has_no_length(PyList_GET_ITEM(items, i))) return false;
    return several || form == STEP_OPAQUE || form == STEP_NONE;
}

/* The trial for all lengths that symbols may have.  ANSWER_NO: the result's do not follow from
   those of the arguments. */
static Answer
trial_of_symbols(Interp *in, const Attempt *attempt, PyObject **value, PyObject **callable)
{
    Graph *g = in->graph;
    Trials t = {.in = in, .attempt = attempt, .lengths.graph = g};
    Answer answer = ANSWER_YES;
    if (note_lengths(&t) < 0) return ANSWER_ERROR;
    int nsizes = g->sizes.len;
    int64_t *kept = arena_alloc(in->arena, sizeof(int64_t) * (size_t)nsizes);
    if (kept == NULL) return ANSWER_ERROR;
    for (SizeId id = 0; id < nsizes; id++) kept[id] = g->sizes.at[id].value;
    for (int k = 0; k < TRIALS && answer == ANSWER_YES; k++) {
        lengths_set(g, kept, nsizes, k, t.lengths.varies);
        for (int i = 0; i < t.lengths.n; i++)
            t.lengths.known[i].at[k] = size_value(g, t.lengths.known[i].size);
        answer = try_lengths(&t, k, callable);
    }
    lengths_set(g, kept, nsizes, 0, NULL);
    if (answer == ANSWER_NO && t.value[0] != NULL && has_assumed(in, attempt) &&
        has_no_length(t.value[0])) {
        *value = t.value[0]; /* what stands for an array that a mask selects has one length only */
        return ANSWER_YES;
    }
    TRY(answer);
    return value_follows(&t, t.value, value);
}

/* One length, for which expressions of one form are made of what is one: guarding that n // 4 and m
   // 4 are equal would leave them two. */
static Answer
unite_alike(Interp *in, SizeId a, SizeId b)
{
    Graph *g = in->graph;
    if ((a = size_now(g, a)) == NO_SIZE || (b = size_now(g, b)) == NO_SIZE) return ANSWER_ERROR;
    if (size_same(g, a, b)) return ANSWER_YES;
    const Size one = g->sizes.at[a], other = g->sizes.at[b];
    if (one.kind != other.kind || one.kind < SIZE_ADD ||
        size_value(g, one.a) != size_value(g, other.a) ||
        size_value(g, one.b) != size_value(g, other.b))
        return symbols_unite(in, a, b);
    TRY(unite_alike(in, one.a, other.a));
    return unite_alike(in, one.b, other.b);
}

/* Lengths of arguments that are equal in this call, and no numbers, become one: many calls take no
   others (a square matrix, factors of a product).  *any: some have. */
static Answer
unite_equal_lengths(Interp *in, const Attempt *attempt, bool *any)
{
    SizeId seen[MOST_KNOWN];
    int count = 0;
    for (int i = 0; i < attempt->n; i++)
        for (int axis = 0; axis < node_type(in, attempt->holes[i]).rank; axis++) {
            SizeId length = node_type(in, attempt->holes[i]).shape[axis];
            if (size_is_const(in->graph, length) || symbol_dim(in, length) != NULL) continue;
            int k = 0;
            while (k < count && size_value(in->graph, seen[k]) != size_value(in->graph, length))
                k++;
            if (k == count && count < MOST_KNOWN) seen[count++] = length;
            if (k == count || size_now(in->graph, seen[k]) == size_now(in->graph, length)) continue;
            TRY(unite_alike(in, seen[k], length));
            *any = true;
        }
    return ANSWER_YES;
}

/* Are lengths of its arguments no numbers? */
static bool
attempt_varies(const Interp *in, const Attempt *attempt)
{
    bool varies = false;
    for (int i = 0; i < attempt->n; i++) {
        Type type = node_type(in, attempt->holes[i]);
        varies = varies || type_varies(in, &type) || length_of_hole(attempt, i) != NO_SIZE;
    }
    return varies;
}

/* Lengths that are no numbers become some: capture starts again. */
static Answer
know_lengths(Interp *in, const Attempt *attempt)
{
    for (int i = 0; i < attempt->n; i++) {
        static const char why[] = "an argument of a call that is tried";
        Type given = node_type(in, attempt->holes[i]);
        SizeId length = length_of_hole(attempt, i);
        Answer answer = ANSWER_NO;
        if (length != NO_SIZE) answer = size_specialise(in, length, why);
        if (answer == ANSWER_NO && type_varies(in, &given))
            answer = sizes_specialise(in, &given, why);
        if (answer != ANSWER_NO) return answer;
    }
    return break_length(in);
}

Answer
trial_run(Interp *in, const Attempt *attempt, PyObject **value, PyObject **callable)
{
    PyObject *pair;
    if (attempt_varies(in, attempt)) {
        const Config *config = in->request->config;
        bool checked = config == NULL || config->backend_call == NULL; /* by plans alone */
        bool open = checked && in->loop == NULL && in->turn == NULL, united = false;
        Answer answer = open ? trial_of_symbols(in, attempt, value, callable) : ANSWER_NO;
        if (answer == ANSWER_NO && open) TRY(unite_equal_lengths(in, attempt, &united));
        if (united) answer = trial_of_symbols(in, attempt, value, callable);
        return answer != ANSWER_NO ? answer : know_lengths(in, attempt);
    }
    Answer answer = trial_ask(in, attempt, &pair);
    if (answer == ANSWER_NO) return no_answer(in, attempt);
    TRY(answer);
    *value = PyTuple_GET_ITEM(pair, 0);
    *callable = PyTuple_GET_ITEM(pair, 1);
    return ANSWER_YES;
}

/* ---- reading the result ---- */

/* Numbers, or sizes of the graph, which come in tuples (trial_sizes.c). */
static Answer
read_sizes(Interp *in, PyObject *tuple, SizeId *out)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *size = PyTuple_GET_ITEM(tuple, i);
        if (PyTuple_Check(size))
            out[i] = (SizeId)PyLong_AsLong(PyTuple_GET_ITEM(size, 0));
        else
            out[i] = size_const(in->graph, PyLong_AsLongLong(size));
        if (out[i] == NO_SIZE) return ANSWER_ERROR;
    }
    return ANSWER_YES;
}

Answer
trial_array_type(Interp *in, PyObject *value, Type *out)
{
    DType number;
    PyObject *shape = step_part(value, PART_shape);
    if (dtype_of_part(value, &number) != ANSWER_YES)
        return break_dtype(in, step_part(value, PART_dtype));
    if (PyTuple_GET_SIZE(shape) > MAX_RANK)
        return interp_break(in, BREAK_RANK, "more than 8 dimensions");
    *out = type_scalar(number, FORM_ARRAY);
    out->rank = (uint8_t)PyTuple_GET_SIZE(shape);
    TRY(read_sizes(in, shape, out->shape));
    return read_sizes(in, step_part(value, PART_strides), out->stride);
}

Answer
trial_type(Interp *in, PyObject *value, Type *out)
{
    DType dtype;
    StepForm form = step_form(value);
    switch (form) {
    case STEP_ARRAY:
        TRY(trial_array_type(in, value, out));
        out->frozen = step_part(value, PART_writeable) == Py_False;
        return ANSWER_YES;
    case STEP_DEVICE:
        TRY(trial_array_type(in, value, out));
        out->device = (uint8_t)device_at(in->graph->current);
        out->unaligned = step_part(value, PART_aligned) == Py_False;
        return ANSWER_YES;
    case STEP_SCALAR:
    case STEP_PYTHON:
        if (array_dtype_from_object(step_part(value, PART_dtype), &dtype) != ANSWER_YES)
            return break_dtype(in, step_part(value, PART_dtype));
        *out = type_scalar(dtype, form == STEP_SCALAR ? FORM_SCALAR : FORM_PYTHON);
        return ANSWER_YES;
    default: *out = type_scalar(DT_OBJECT, FORM_OBJECT); return ANSWER_YES;
    }
}

/* ---- the module ---- */

static int
add_type(PyObject *module, PyTypeObject **type, PyStructSequence_Desc *description,
         const char *name)
{
    if (*type == NULL) *type = PyStructSequence_NewType(description);
    return *type == NULL ? -1 : PyModule_AddObjectRef(module, name, (PyObject *)*type);
}

int
trial_module(PyObject *module)
{
    static const char *const forms[] = {
#define FORM(name, meaning) #name,
#define FIELD(name, meaning)
#define ASKED FIELD
#include "step_values.def"
    };
    if (add_type(module, &step_value_type, &value_description, "StepValue") < 0) return -1;
    for (int i = 0; i < COUNT_OF(forms); i++) {
        PyObject *number = PyLong_FromLong(i);
        int failed = number == NULL
                         ? -1
                         : PyObject_SetAttrString((PyObject *)step_value_type, forms[i], number);
        Py_XDECREF(number);
        if (failed < 0) return -1;
    }
    return add_type(module, &asked_type, &asked_description, "Trial");
}
