/* np.random: draws from generators, in program order, on the real generators.
   A draw is a step whose first argument is a token, the result of the draw before it, and which
   returns a token again.  So no pass can drop a draw, merge two, or change their order; the last
   token is made when the graph ends.  All generators share one chain of tokens, since two may share
   a bit generator.
   A plan that deopts has already drawn, and CPython's rerun draws again.  So the runtime keeps the
   state of each generator from before its first draw (the step's `save`) and restores it, unless
   another thread has drawn from the generator meanwhile (pycompile._calls.Draw).
   Around a kept loop that draws, steps of this kind make a stream of the generator, and put the
   state back that its draws have left (control/loop_draw.c). */
#include "numpy.h"

#include "../../config.h"

static PyObject *
random_object(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "random.%s", name);
    return numpy_object(path);
}

static bool
is_generator(PyObject *object)
{
    return object != NULL && ((PyObject *)Py_TYPE(object) == random_object("Generator") ||
                              (PyObject *)Py_TYPE(object) == random_object("RandomState"));
}

bool
callable_draws(PyObject *callable)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = PyDict_GetItemString(modules, "pycompile._calls");
    PyObject *class_ = module ? PyDict_GetItemString(PyModule_GetDict(module), "DrawCall") : NULL;
    return class_ != NULL && (PyObject *)Py_TYPE(callable) == class_;
}

bool
value_is_random(Interp *in, const Value *value)
{
    if (value->kind == V_OBJECT || value->kind == V_CONST) return is_generator(value->object);
    return value_is_opaque_object(in, value) && is_generator(object_sample(in, value));
}

/* A random.Random, and no instance of a class derived from it. */
static bool
is_python_generator(const Value *value)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "random");
    PyObject *class_ = module ? PyDict_GetItemString(PyModule_GetDict(module), "Random") : NULL;
    return class_ != NULL && (value->kind == V_OBJECT || value->kind == V_CONST) &&
           value->object != NULL && (PyObject *)Py_TYPE(value->object) == class_;
}

DrawClass
draw_class(Interp *in, const Value *value)
{
    if (is_python_generator(value)) return DRAWS_PYTHON;
    if (!value_is_random(in, value)) return DRAWS_NOT;
    PyObject *object = value->kind == V_NODE ? object_sample(in, value) : value->object;
    bool legacy = (PyObject *)Py_TYPE(object) == random_object("RandomState");
    return legacy ? DRAWS_RANDOM_STATE : DRAWS_GENERATOR;
}

bool
value_can_draw(Interp *in, const Value *value)
{
    return draw_class(in, value) != DRAWS_NOT;
}

/* The generator as an argument of steps: a value of FORM_OBJECT with a similar generator as its
   sample. */
static Answer
generator_value(Interp *in, Value *generator, Value **out)
{
    *out = generator;
    if (generator->kind == V_NODE) return ANSWER_YES;
    if ((*out = map_get(&in->memory.objects, generator->object)) != NULL) return ANSWER_YES;
    PyObject *twin = calls_object(in, "generator_like"), *sample = NULL;
    if (twin != NULL) sample = keep(in, PyObject_CallOneArg(twin, generator->object));
    if (sample == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        return interp_break(in, BREAK_NUMPY,
                            "a generator over a bit generator that is not NumPy's");
    }
    if (sample == NULL) return ANSWER_ERROR;
    return object_input(in, generator, sample, out);
}

/* The first argument of a draw: the token of the draw before it. */
static Value *
token_value(Interp *in)
{
    return in->memory.drawn != NULL ? in->memory.drawn : value_const(in, Py_None);
}

static Answer
call_draw(Interp *in, const char *class_, const char *name, Value *generator, Value **args,
          WholeCall *call, Value **out)
{
    Value *both;
    PyObject *made = calls_object(in, class_), *draw = NULL;
    if (made != NULL)
        draw = keep(in, name != NULL ? PyObject_CallFunction(made, "s", name)
                                     : PyObject_CallNoArgs(made));
    if (draw == NULL || (args[0] = token_value(in)) == NULL) return ANSWER_ERROR;
    TRY(generator_value(in, generator, &args[1]));
    call->callable = draw;
    TRY(call_whole(in, call, &both));
    in->memory.drawn = value_item(in, both, 0);
    *out = value_item(in, both, 1);
    return in->memory.drawn == NULL || *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
draws_open(Interp *in, Value *generator, Value **out)
{
    const Config *config = in->request->config;
    if (config != NULL && config->backend_call != NULL)
        return interp_break(in, BREAK_NUMPY, "a draw, with another backend");
    Value *args[2];
    WholeCall call = {.nargs = 2, .args = args};
    return call_draw(in, "OpenStream", NULL, generator, args, &call, out);
}

Answer
draws_close(Interp *in, Value *generator, Value *stream)
{
    Value *args[3] = {NULL, NULL, stream}, *none;
    WholeCall call = {.nargs = 3, .args = args};
    return call_draw(in, "CloseStream", NULL, generator, args, &call, &none);
}

Answer
draw_method(Interp *in, Value *generator, const char *name, int nargs, Value *const *args,
            PyObject *kwnames, Value **out)
{
    enum { MOST = 40 };
    const Config *config = in->request->config;
    Value *all[MOST + 2];
    int nkw = kwnames == NULL ? 0 : (int)PyTuple_GET_SIZE(kwnames);
    Answer answer = in->above->draw_in_loop(in, generator, name, nargs, args, kwnames, out);
    if (answer != ANSWER_NO) return answer;
    if (in->region != 0 || in->loop != NULL)
        return break_hinted(in, BREAK_CLOCK, HINT_DRAWN, "a draw of a random number");
    if (config != NULL && config->backend_call != NULL)
        return interp_break(in, BREAK_NUMPY, "a draw, with another backend");
    if (nargs + nkw > MOST) return interp_break(in, BREAK_NUMPY, "%s of many arguments", name);
    if (strcmp(name, "spawn") == 0)
        return interp_break(in, BREAK_NUMPY, "spawn: it changes more than the generator's state");
    for (int i = 0; i < nargs + nkw; i++) all[i + 2] = args[i];
    WholeCall call = {.nargs = nargs + 2, .args = all, .kwnames = kwnames};
    if (strcmp(name, "shuffle") == 0) {
        if (nargs < 1 || !value_is_array(in, args[0]))
            return interp_break(in, BREAK_NUMPY, "shuffle of what is no array");
        call.changes = 1 << 2;
    }
    return call_draw(in, "Draw", name, generator, all, &call, out);
}

/* np.random.normal and others: methods of the generator behind the module, or functions that draw
   from it. */
Answer
draw_function(Interp *in, const char *method, int nargs, Value *const *args, PyObject *kwnames,
              Value **out)
{
    PyObject *generator = random_object("mtrand._rand");
    Value *value = generator ? value_const(in, generator) : NULL;
    if (value == NULL) return PyErr_Occurred() ? ANSWER_ERROR : ANSWER_NO;
    return draw_method(in, value, method, nargs, args, kwnames, out);
}

/* A bound method of a generator, stored by the program or by the module. */
Answer
draw_bound(Interp *in, Value *method, int nargs, Value *const *args, PyObject *kwnames, Value **out)
{
    PyObject *function;
    TRY(object_known(in, method->items[0], &function));
    PyObject *name = keep(in, PyObject_GetAttrString(function, "__name__"));
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text == NULL) return ANSWER_ERROR;
    PyObject *type = (PyObject *)Py_TYPE(method->items[1]->object);
    PyObject *own = keep(in, PyObject_GetAttrString(type, text));
    if (own != function) {
        PyErr_Clear();
        return interp_break(in, BREAK_CALL_C, "call of a method of a generator");
    }
    return draw_method(in, method->items[1], text, nargs, args, kwnames, out);
}

Answer
draw_attribute(Interp *in, Value *generator, const char *name, Value **out)
{
    PyObject *random = random_object("Generator"), *sample = generator->object;
    if (generator->kind == V_NODE) sample = object_sample(in, generator);
    PyObject *found = PyObject_GetAttrString((PyObject *)Py_TYPE(sample), name);
    bool method = found != NULL && PyCallable_Check(found) && random != NULL && name[0] != '_';
    Py_XDECREF(found);
    PyErr_Clear();
    if (!method) return interp_break(in, BREAK_ATTRIBUTE, "attribute '%s' of a generator", name);
    *out = value_sequence(in, V_BUILTIN_METHOD, 1, &generator);
    if (*out == NULL) return ANSWER_ERROR;
    (*out)->name = name;
    return ANSWER_YES;
}
