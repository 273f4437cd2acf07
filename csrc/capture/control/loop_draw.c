/* Draws of random numbers in a kept loop: rng.normal(), np.random.randint(n), random.random().

   The loop carries a stream for each generator, a copy of its state (arrays/streams.c): a step
   before the outermost loop makes it, element_draw makes its next version, of which element_drawn
   is the number, and a step behind the loop puts the state into the generator (numpy/draws.c).  As
   a list to which a loop appends, a generator is found at the first draw, and is learnt
   (loop_written.c).

   Methods of NumPy's generators with a row in arrays/draws.def are followed; Python's are in
   loop_draw_python.c. */
#include "loop.h"

#include "../../arrays/arrays.h"

#include <math.h>

/* ---- the stream ---- */

static int
number_of(const Loop *loop, const Value *generator)
{
    for (int i = 0; i < loop->narrays; i++)
        if (loop->list[i] != NULL && loop_is_same(loop->list[i], generator)) return i;
    return -1;
}

/* The generator of the stream that is a constant is from outside here, or the reverse. */
static int
guard_same(Interp *in, const Value *generator, const Value *carried)
{
    const Value *outside = generator->kind == V_OBJECT ? generator : carried;
    if (generator->kind == carried->kind || outside->source == NO_SOURCE) return 0;
    return guard_there(in, outside->source, outside->object);
}

Answer
loop_draw_number(Interp *in, Value *generator, ArrayDraw function, int n, const NodeId *numbers,
                 Form form, Value **out)
{
    TRY(loop_writes(in, generator));
    Loop *loop = in->loop;
    int number = number_of(loop, generator);
    if (guard_same(in, generator, loop->list[number]) < 0) return ANSWER_ERROR;
    NodeId args[1 + DRAW_NUMBERS] = {loop->version[number]};
    for (int i = 0; i < n; i++) args[1 + i] = numbers[i];
    Attrs attrs = {.index = function};
    Type version = graph_node(in->graph, args[0])->type;
    Type type = {.dtype = array_draw_dtype(function), .form = form, .offset = NO_SIZE};
    NodeId node, drawn;
    TRY_NODE(node,
             graph_add(in->graph, in->region, OP_element_draw, 1 + n, args, &version, &attrs));
    TRY_NODE(drawn, graph_add(in->graph, in->region, OP_element_drawn, 1, &node, &type, &attrs));
    loop->version[number] = node;
    *out = value_node(in, drawn);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* A number as an argument of a draw: the kernel converts it as C does, which is as NumPy does. */
static Answer
number_node(Interp *in, Value *number, ArrayDraw function, NodeId *out)
{
    if (!value_is_number(in, number)) return ANSWER_NO;
    TRY(value_as_unpinned_node(in, number, out));
    const Type *type = &graph_node(in->graph, *out)->type;
    DType dtype = (DType)type->dtype;
    if (type->rank != 0 || type->form == FORM_ARRAY) return ANSWER_NO;
    if (dtype_is_integer(dtype)) return dtype == DT_U64 ? ANSWER_NO : ANSWER_YES;
    bool floats = !array_draw_takes_ints(function) && (dtype == DT_F64 || dtype == DT_F32);
    return floats ? ANSWER_YES : ANSWER_NO;
}

/* ---- NumPy's methods ---- */

typedef struct {
    DrawClass class;
    const char *name, *parameters;
    double otherwise[DRAW_NUMBERS];
    ArrayDraw function;
    Form form;
} DrawMethod;

static const DrawMethod methods[] = {
#define DRAW(...)
#define METHOD(class, name, parameters, first, second, function, form)                             \
    {DRAWS_##class, #name, parameters, {first, second}, DRAW_##function, form},
#include "../../arrays/draws.def"
};

static const DrawMethod *
method_named(DrawClass class, const char *name)
{
    for (int i = 0; i < COUNT_OF(methods); i++)
        if (methods[i].class == class && strcmp(methods[i].name, name) == 0) return &methods[i];
    return NULL;
}

/* The place of the name among the blank-separated ones; -1: it is none. */
static int
parameter_named(const char *parameters, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; *parameters != '\0'; i++) {
        size_t n = strcspn(parameters, " ");
        if (n == length && strncmp(parameters, name, n) == 0) return i;
        parameters += n + (parameters[n] == ' ');
    }
    return -1;
}

static int
count_of(const char *parameters)
{
    int n = *parameters != '\0';
    for (; *parameters != '\0'; parameters++) n += *parameters == ' ';
    return n;
}

/* The arguments by place, NULL where none is given.  NO: others are given, as a size. */
static Answer
place_arguments(const DrawMethod *m, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    int count = count_of(m->parameters), nkw = kwnames ? (int)PyTuple_GET_SIZE(kwnames) : 0;
    if (nargs > count) return ANSWER_NO;
    for (int i = 0; i < nargs; i++) out[i] = args[i];
    for (int i = 0; i < nkw; i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, i));
        if (name == NULL) return ANSWER_ERROR;
        int at = parameter_named(m->parameters, name);
        if (at < 0 || out[at] != NULL) return ANSWER_NO;
        out[at] = args[nargs + i];
    }
    return ANSWER_YES;
}

static Answer
default_value(Interp *in, const DrawMethod *m, int i, Value **out)
{
    if (isnan(m->otherwise[i])) return ANSWER_NO;
    *out = value_const_new(in, PyFloat_FromDouble(m->otherwise[i]));
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

/* integers(n) is integers(0, n). */
static Answer
bounds_from_zero(Interp *in, Value **number)
{
    bool none = number[1] == NULL || value_is_none(number[1]);
    if (number[0] == NULL) return ANSWER_NO;
    if (!none) return ANSWER_YES;
    number[1] = number[0];
    number[0] = value_const_new(in, PyLong_FromLong(0));
    return number[0] == NULL ? ANSWER_ERROR : ANSWER_YES;
}

static Answer
draw_numbers(Interp *in, const DrawMethod *m, Value **number, NodeId *nodes)
{
    int count = count_of(m->parameters);
    if (array_draw_takes_ints(m->function)) TRY(bounds_from_zero(in, number));
    for (int i = 0; i < count; i++) {
        if (number[i] == NULL) TRY(default_value(in, m, i, &number[i]));
        TRY(number_node(in, number[i], m->function, &nodes[i]));
    }
    return ANSWER_YES;
}

/* standard_exponential of RandomState is exponential(1). */
static Answer
fill_up(Interp *in, const DrawMethod *m, NodeId *nodes, int *count)
{
    *count = count_of(m->parameters);
    if (m->function != DRAW_legacy_exponential || *count > 0) return ANSWER_YES;
    Value *one = value_const_new(in, PyFloat_FromDouble(1.0));
    *count = 1;
    return one == NULL ? ANSWER_ERROR : value_as_unpinned_node(in, one, &nodes[0]);
}

/* Outside a kept loop: one around that has no elements may be kept for its draws. */
static Answer
learn_numbers(Interp *in, const DrawMethod *m, int nargs, Value *const *args, PyObject *kwnames)
{
    Value *number[DRAW_NUMBERS] = {NULL};
    TRY(place_arguments(m, nargs, args, kwnames, number));
    return loop_learn_numbers(in);
}

/* `array[i]` of a drawn i, or i itself of an int: choice(array) */
static Answer
draw_choice(Interp *in, Value *generator, DrawClass class, Value *from, Value **out)
{
    Value *length = from, *zero = value_const_new(in, PyLong_FromLong(0)), *at;
    bool array = part_rank(in, from) == 1;
    if (zero == NULL) return ANSWER_ERROR;
    if (array) TRY(part_length(in, from, &length));
    Value *args[2] = {zero, length};
    const DrawMethod *m = method_named(class, class == DRAWS_GENERATOR ? "integers" : "randint");
    NodeId nodes[DRAW_NUMBERS];
    TRY(draw_numbers(in, m, args, nodes));
    TRY(loop_draw_number(in, generator, m->function, 2, nodes, m->form, &at));
    *out = at;
    return array ? loop_element_load(in, from, at, out) : ANSWER_YES;
}

Answer
loop_draw(Interp *in, Value *generator, const char *name, int nargs, Value *const *args,
          PyObject *kwnames, Value **out)
{
    if (name == NULL) return loop_draw_python(in, generator, nargs, args, kwnames, out);
    DrawClass class = draw_class(in, generator);
    Value *number[DRAW_NUMBERS] = {NULL};
    NodeId nodes[DRAW_NUMBERS];
    int count;
    const DrawMethod *m = method_named(class, name);
    bool choice = strcmp(name, "choice") == 0 && nargs == 1 && kwnames == NULL;
    if (m == NULL && !choice) return ANSWER_NO;
    if (in->loop == NULL) return choice ? ANSWER_NO : learn_numbers(in, m, nargs, args, kwnames);
    if (choice) return draw_choice(in, generator, class, args[0], out);
    TRY(place_arguments(m, nargs, args, kwnames, number));
    TRY(draw_numbers(in, m, number, nodes));
    TRY(fill_up(in, m, nodes, &count));
    return loop_draw_number(in, generator, m->function, count, nodes, m->form, out);
}
