/* Collectives: calls of a communicator's methods (cupyx.distributed.NCCLBackend) on arrays of a
   device, as steps of a plan.

   A collective is two nodes.  OP_collective begins it, with the communicator, which is an input,
   and the arrays; OP_arrive gives the array that it has written, in new memory, and is scheduled
   where that is read first (passes/collectives.c).  The program's array is written as by any other
   write (device_writes.c).

   Both are calls of pycompile/_collectives.py.  No trial is made: other processes would wait for
   it. What has been sent cannot be taken back, so that a run that fails behind one raises
   (runtime/plan.c). */
#include "numpy.h"

/* The parameters behind the communicator, but for the last one, `stream`: an array, or what has to
   be known, perhaps with its default. */
typedef struct {
    const char *name, *parameters[4];
} Collective;

enum { MOST_PARAMETERS = COUNT_OF(((Collective *)0)->parameters) };

static const Collective collectives[] = {
    {"all_reduce", {"in_array", "out_array", "op=sum"}},
    {"reduce", {"in_array", "out_array", "root=0", "op=sum"}},
    {"broadcast", {"in_out_array", "root=0"}},
    {"reduce_scatter", {"in_array", "out_array", "count", "op=sum"}},
    {"all_gather", {"in_array", "out_array", "count"}},
    {"send", {"array", "peer"}},
    {"recv", {"out_array", "peer"}},
    {"send_recv", {"in_array", "out_array", "peer"}},
    {"scatter", {"in_array", "out_array", "root=0"}},
    {"gather", {"in_array", "out_array", "root=0"}},
    {"all_to_all", {"in_array", "out_array"}},
};

static bool
is_array(const char *parameter)
{
    return strstr(parameter, "array") != NULL;
}

static int
count_of(const Collective *collective)
{
    int n = 0;
    while (n < MOST_PARAMETERS && collective->parameters[n] != NULL) n++;
    return n;
}

static bool
has_parameter(const Collective *collective, const char *beginning)
{
    for (int i = 0; i < count_of(collective); i++)
        if (strncmp(collective->parameters[i], beginning, strlen(beginning)) == 0) return true;
    return false;
}

/* ---- arguments ---- */

/* The number of the parameter; `stream` is behind the others; -1: there is none of this name. */
static int
parameter_of(const Collective *collective, PyObject *keyword)
{
    int n = count_of(collective);
    if (PyUnicode_CompareWithASCIIString(keyword, "stream") == 0) return n;
    const char *name = PyUnicode_AsUTF8(keyword);
    for (int i = 0; name != NULL && i < n; i++) {
        const char *parameter = collective->parameters[i];
        size_t length = strcspn(parameter, "=");
        if (strncmp(name, parameter, length) == 0 && name[length] == '\0') return i;
    }
    PyErr_Clear();
    return -1;
}

/* The argument for each parameter, NULL where it is absent.  False: the call is another. */
static bool
bind(const Call *call, const Collective *collective, Value **bound)
{
    int nkw = call->kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(call->kwnames);
    int n = count_of(collective);
    if (call->nargs - 1 > n + 1) return false;
    for (int i = 0; i < call->nargs - 1; i++) bound[i] = call->args[i + 1];
    for (int k = 0; k < nkw; k++) {
        int i = parameter_of(collective, PyTuple_GET_ITEM(call->kwnames, k));
        if (i < 0 || bound[i] != NULL) return false;
        bound[i] = call->args[call->nargs + k];
    }
    for (int i = 0; i < n; i++) {
        const char *parameter = collective->parameters[i];
        if (bound[i] == NULL && strchr(parameter, '=') == NULL) return false;
        if (is_array(parameter) && bound[i]->kind != V_DEVICE) return false;
    }
    return true;
}

typedef struct {
    Interp *in;
    const Collective *collective;
    PyObject *callable;
    NodeId nodes[MOST_PARAMETERS + 1]; /* the communicator and the arguments */
    int n, arrays;                     /* how many there are, and how many of them are arrays */
    Value *written;                    /* the program's array, or NULL */
} Sent;

static Answer
take_array(Sent *s, Value *value, NodeId *out)
{
    TRY(device_argument(s->in, value, out));
    Type type = node_type(s->in, *out);
    s->arrays++;
    return type_is_contiguous(s->in->graph, &type)
               ? ANSWER_YES
               : device_break(s->in, value, "a collective, not in C order,");
}

static Answer
take_known(Sent *s, Value *value, NodeId *out)
{
    PyObject *object;
    Answer answer = object_known(s->in, value, &object);
    if (answer == ANSWER_NO)
        return interp_break(s->in, BREAK_DEVICE, "'%s' with an argument that is not known",
                            s->collective->name);
    if (answer_stops(answer)) return answer;
    TRY_NODE(*out, node_object(s->in, object));
    return ANSWER_YES;
}

/* The parameter's default. */
static Answer
take_default(Sent *s, const char *parameter, NodeId *out)
{
    const char *text = strchr(parameter, '=') + 1;
    PyObject *object = strcmp(text, "0") == 0 ? PyLong_FromLong(0) : PyUnicode_FromString(text);
    if (keep(s->in, object) == NULL) return ANSWER_ERROR;
    TRY_NODE(*out, node_object(s->in, object));
    return ANSWER_YES;
}

static Answer
take_arguments(Sent *s, Value **bound)
{
    for (int i = 0; i < count_of(s->collective); i++) {
        const char *parameter = s->collective->parameters[i];
        NodeId *out = &s->nodes[s->n++];
        if (bound[i] == NULL)
            TRY(take_default(s, parameter, out));
        else
            TRY((is_array(parameter) ? take_array : take_known)(s, bound[i], out));
    }
    return ANSWER_YES;
}

/* ---- the nodes ---- */

/* An array that the graph has made, and is all of its memory, is what has arrived. */
static Answer
write_arrived(Interp *in, Value *array, NodeId arrived)
{
    int storage = storage_of(in, array->node);
    if (storage < 0) return ANSWER_ERROR;
    Type type = node_type(in, array->node);
    Type whole = node_type(in, in->memory.storages.at[storage].version);
    if (input_of(in, array->node) != NULL || !type_same_place(in->graph, &type, &whole))
        return device_write_result(in, array, arrived, &array);
    TRY(write_allowed(in, array));
    return storage_write(in, array->node, arrived) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
emit(Sent *s)
{
    Interp *in = s->in;
    NodeId sent, arrived;
    Type type = type_scalar(DT_OBJECT, FORM_OBJECT);
    Attrs begins = {.object = s->callable};
    Attrs ends = {.object = module_kept(in, "pycompile._collectives", "arrived")};
    if (ends.object == NULL) return ANSWER_ERROR;
    TRY_NODE(sent, graph_add(in->graph, in->region, OP_collective, s->n, s->nodes, &type, &begins));
    if (s->written != NULL) {
        Type like = node_type(in, s->written->node);
        TRY(fresh_type(in, &type, (DType)like.dtype, &like, 'C'));
    }
    s->nodes[0] = sent; /* with the arrays, whose memory stays as it is until then */
    TRY_NODE(arrived,
             graph_add(in->graph, in->region, OP_arrive, 1 + s->arrays, s->nodes, &type, &ends));
    return s->written == NULL ? ANSWER_YES : write_arrived(in, s->written, arrived);
}

/* NCCL takes the dtype and, of a reduction of whole arrays, the length of what it reads for both.
 */
static bool
output_suits(const Sent *s)
{
    Interp *in = s->in;
    Type from = node_type(in, s->nodes[1]), to = node_type(in, s->nodes[s->arrays]);
    bool reduced = has_parameter(s->collective, "op=") && !has_parameter(s->collective, "count");
    return from.dtype == to.dtype &&
           (!reduced || type_elements(in->graph, &from) == type_elements(in->graph, &to));
}

/* The argument that it writes; NULL: none. */
static Value *
written_of(const Collective *collective, Value *const *bound)
{
    for (int i = 0; i < count_of(collective); i++)
        if (strstr(collective->parameters[i], "out_array") != NULL) return bound[i];
    return NULL;
}

static Answer
follow_collective(const Call *call, const void *row)
{
    Interp *in = call->in;
    Value *bound[MOST_PARAMETERS + 1] = {NULL}, *communicator;
    Sent s = {.in = in, .collective = row, .n = 1};
    const char *name = s.collective->name;
    if (call->nargs == 0 || call->args[0]->object == NULL || !bind(call, row, bound))
        return ANSWER_NO;
    if (in->graph->current != 0)
        return interp_break(in, BREAK_DEVICE, "'%s' in a block of a device", name);
    if (in->region != 0 || in->loop != NULL)
        return interp_break(in, BREAK_DEVICE, "'%s' in a branch or a loop", name);
    const Value *stream = bound[count_of(row)];
    if (stream != NULL && !value_is_none(stream))
        return interp_break(in, BREAK_DEVICE, "'%s' with a stream", name);
    s.callable = module_kept(in, "pycompile._collectives", name);
    if (s.callable == NULL) return ANSWER_ERROR;
    s.written = written_of(row, bound);
    TRY(take_arguments(&s, bound));
    if (!output_suits(&s))
        return interp_break(in, BREAK_DEVICE, "'%s' into another dtype or length", name);
    TRY(object_input(in, call->args[0], Py_None, &communicator));
    s.nodes[0] = communicator->node;
    TRY(emit(&s));
    return given(call->out, value_const(in, Py_None));
}

int
collective_callables(void)
{
    PyObject *module = module_loaded("cupyx.distributed._nccl_comm");
    PyObject *class_ = module ? PyObject_GetAttrString(module, "NCCLBackend") : NULL;
    int failed = 0;
    Py_XDECREF(module);
    for (int i = 0; class_ != NULL && i < COUNT_OF(collectives) && !failed; i++) {
        PyObject *method = PyObject_GetAttrString(class_, collectives[i].name);
        if (method != NULL)
            failed = callable_add(method, RANK_PYTHON, follow_collective, &collectives[i]);
        Py_XDECREF(method);
    }
    Py_XDECREF(class_);
    PyErr_Clear(); /* a CuPy without them */
    return failed;
}
