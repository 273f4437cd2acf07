/* Calls of NumPy's functions that have a C form in pycompile/exported/calls.c: by name and
 * arguments. */
#include "write.h"

#include "../capture/capture.h"

static bool
is_const(const Export *e, BufferId id)
{
    const Buffer *b = &e->program->buffers.at[id];
    return b->kind == BUFFER_CONST && (b->type.form == FORM_OBJECT || b->type.dtype == DT_OBJECT);
}

/* The axis that argument `number` gives; None is the only axis, of an array that has no other.
   False: it gives none. */
static bool
axis_of(const Export *e, const ExternStep *x, int number, int *axis)
{
    int rank = x->arg_types[0].rank;
    PyObject *object = Py_None;
    if (number < x->nargs) {
        if (!is_const(e, x->args[number].buffer)) return false;
        object = e->program->buffers.at[x->args[number].buffer].object;
    }
    *axis = 0;
    if (object == NULL || object == Py_None) return rank == 1;
    if (!PyLong_CheckExact(object)) return false;
    long value = PyLong_AsLong(object);
    *axis = (int)(value < 0 ? value + rank : value);
    return *axis >= 0 && *axis < rank;
}

/* "add" of np.add.accumulate; NULL: it is none. */
static const char *
accumulated(PyObject *callable)
{
    PyObject *self = PyObject_GetAttrString(callable, "__self__");
    const char *name = self != NULL && ufunc_check(self) ? ufunc_name(self) : NULL;
    if (self == NULL) PyErr_Clear();
    Py_XDECREF(self);
    static const char *const known[] = {"add", "multiply", "maximum", "minimum"};
    for (int i = 0; name != NULL && i < COUNT_OF(known); i++)
        if (strcmp(name, known[i]) == 0) return known[i];
    return NULL;
}

/* Is this the only argument that is given by its name? */
static bool
names_only(PyObject *kwnames, const char *name)
{
    return PyTuple_Check(kwnames) && PyTuple_GET_SIZE(kwnames) == 1 &&
           PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), name) == 0;
}

/* The side of a search; NULL: it is not known. */
static const char *
side_of(const Export *e, const ExternStep *x)
{
    if (x->nargs == 2) return "left";
    if (x->nargs != 3 || !is_const(e, x->args[2].buffer)) return NULL;
    PyObject *side = e->program->buffers.at[x->args[2].buffer].object;
    if (side == NULL || !PyUnicode_Check(side)) return NULL;
    if (PyUnicode_CompareWithASCIIString(side, "left") == 0) return "left";
    return PyUnicode_CompareWithASCIIString(side, "right") == 0 ? "right" : NULL;
}

/* The points of an FFT along the last axis: known, and products of 2, 3 and 5; else 0. */
static int64_t
points_of(const Export *e, const ExternStep *x, bool forward)
{
    const Type *arg = &x->arg_types[0];
    SizeId last = arg->rank > 0 ? arg->shape[arg->rank - 1] : NO_SIZE;
    if (x->nargs > 2 || last == NO_SIZE || !size_is_const(e->graph, last)) return 0;
    int64_t n = size_value(e->graph, last);
    if (!forward) n = 2 * (n - 1);
    if (x->nargs == 2) {
        PyObject *object = is_const(e, x->args[1].buffer)
                               ? e->program->buffers.at[x->args[1].buffer].object
                               : NULL;
        if (object == NULL || (object != Py_None && !PyLong_CheckExact(object))) return 0;
        if (object != Py_None) n = PyLong_AsLongLong(object);
    }
    int64_t rest = n;
    for (int prime = 2; n > 0 && prime <= 5; prime++)
        while (rest % prime == 0) rest /= prime;
    return rest == 1 && size_value(e->graph, last) > 0 ? n : 0;
}

/* Is it another library's, such as SciPy's, whose functions have the same names? */
static bool
is_foreign(PyObject *callable, const char *name)
{
    PyObject *module = PyObject_GetAttrString(callable, "__module__");
    if (module == NULL) PyErr_Clear();
    const char *text = module != NULL && PyUnicode_Check(module) ? text_of_str(module) : "numpy";
    bool foreign = strncmp(text, "numpy", 5) != 0 && strcmp(name, "array_select") != 0;
    Py_XDECREF(module);
    return foreign;
}

/* Is it array[index] by ints, as capture makes it a step? */
static bool
is_gather(const Export *e, const ExternStep *x, const char *name)
{
    PyObject *module = PyObject_GetAttrString(x->callable, "__module__");
    if (module == NULL) PyErr_Clear();
    bool ours = module != NULL && PyUnicode_Check(module) &&
                PyUnicode_CompareWithASCIIString(module, "pycompile._steps") == 0;
    Py_XDECREF(module);
    if (!ours || strcmp(name, "take") != 0 || x->nargs != 3 || x->nresults != 1) return false;
    if (!is_const(e, x->args[0].buffer) || x->results[0] == NO_BUFFER) return false;
    PyObject *template = e->program->buffers.at[x->args[0].buffer].object;
    const Type *array = &x->arg_types[1], *index = &x->arg_types[2];
    return template != NULL && PyTuple_CheckExact(template) && PyTuple_GET_SIZE(template) == 1 &&
           array->form == FORM_ARRAY && array->rank > 0 && array->dtype != DT_OBJECT &&
           index->form != FORM_OBJECT && dtype_is_integer((DType)index->dtype);
}

/* Which function of calls.c it is: false, none.  *axis is set. */
static bool
find_call(const Export *e, const ExternStep *x, const char *name, char call[40], int *axis,
          int64_t *points)
{
    const Type *arg = &x->arg_types[0];
    bool forward = strcmp(name, "rfft") == 0, transforms = forward || strcmp(name, "irfft") == 0;
    *axis = 0;
    *points = -1;
    if (is_gather(e, x, name)) {
        snprintf(call, 40, "call_take");
        return true;
    }
    if (is_foreign(x->callable, name)) return false;
    bool searches = strcmp(name, "searchsorted") == 0, sorts = strcmp(name, "sort") == 0;
    const char *named = transforms ? "n" : searches ? "side" : sorts ? "axis" : "";
    if (x->kwnames != NULL && !names_only(x->kwnames, named)) return false;
    if (x->backend != NULL || x->nresults != 1 || x->nargs == 0) return false;
    if (arg->form != FORM_ARRAY || x->results[0] == NO_BUFFER) return false;
    const char *t = dtype_name((DType)arg->dtype);
    const Type *result = &e->program->buffers.at[x->results[0]].type;
    bool real = (DType)arg->dtype != DT_F16 && !dtype_is_complex((DType)arg->dtype);
    if (transforms) {
        snprintf(call, 40, "call_%s", name);
        *points = points_of(e, x, forward);
        return arg->dtype == (forward ? DT_F64 : DT_C128) && *points > 0;
    }
    if (strcmp(name, "argmax") == 0 || strcmp(name, "argmin") == 0) {
        snprintf(call, 40, "call_%s_%s", name, t);
        return real && x->nargs <= 2 && axis_of(e, x, 1, axis);
    }
    if (searches && side_of(e, x) != NULL) {
        snprintf(call, 40, "call_search_%s_%s", side_of(e, x), t);
        return real && arg->dtype != DT_BOOL && arg->rank == 1 &&
               x->arg_types[1].dtype == arg->dtype && x->arg_types[1].form != FORM_OBJECT;
    }
    if (sorts) {
        snprintf(call, 40, "call_sort_%s", t);
        *axis = arg->rank - 1;
        return dtype_is_integer((DType)arg->dtype) && arg->rank > 0 &&
               (x->nargs == 1 || (x->nargs == 2 && axis_of(e, x, 1, axis)));
    }
    if (strcmp(name, "solve") == 0 || strcmp(name, "inv") == 0 || strcmp(name, "cholesky") == 0) {
        bool solves = name[0] == 's';
        const Type *other = &x->arg_types[x->nargs - 1];
        snprintf(call, 40, "call_%s", name);
        return x->nargs == 1 + solves && arg->rank == 2 && arg->dtype == DT_F64 &&
               other->dtype == DT_F64 && other->form == FORM_ARRAY &&
               (other->rank == 1 || other->rank == 2);
    }
    if (strcmp(name, "matmul") == 0) {
        snprintf(call, 40, "call_matmul_%s", t);
        return x->nargs == 2 + x->out && (arg->dtype == DT_F64 || arg->dtype == DT_F32) &&
               x->arg_types[1].dtype == arg->dtype && result->dtype == arg->dtype &&
               x->arg_types[1].form == FORM_ARRAY && arg->rank >= 1 && x->arg_types[1].rank >= 1;
    }
    const char *ufunc = strcmp(name, "accumulate") == 0 ? accumulated(x->callable) : NULL;
    if (ufunc != NULL) {
        snprintf(call, 40, "call_accumulate_%s_%s", ufunc, t);
        return real && arg->dtype == result->dtype && arg->dtype != DT_BOOL &&
               axis_of(e, x, 1, axis);
    }
    snprintf(call, 40, "call_select");
    return strcmp(name, "array_select") == 0 && x->nargs == 2 && x->arg_types[1].dtype == DT_BOOL &&
           x->arg_types[1].rank == 1 && arg->rank >= 1;
}

static void
put_operand(Export *e, Place place, const Type *type)
{
    text_put(&e->out, "{");
    put_place(e, place);
    put_dtype(e, type);
    text_printf(&e->out, "%d, ", type->rank);
    put_needed(e, type->rank, type->shape);
    put_needed(e, type->rank, type->stride);
    text_put(&e->out, "}, ");
}

int
export_call(Export *e, const Step *step, const char *name)
{
    const ExternStep *x = &step->external;
    char call[40];
    int axis;
    int64_t points;
    if (!find_call(e, x, name, call, &axis, &points)) return 0;
    bool selects = strcmp(name, "array_select") == 0;
    const Type *result = &e->program->buffers.at[x->results[0]].type;
    bool multiplies = strcmp(name, "matmul") == 0, solves = strcmp(name, "solve") == 0;
    int first = strcmp(call, "call_take") == 0; /* behind the form of the index */
    int second = first + (first || multiplies || solves || strcmp(name, "searchsorted") == 0);
    bool needs = multiplies || solves || points > 0 || strcmp(name, "inv") == 0 ||
                 strcmp(name, "cholesky") == 0; /* a text that is there for it alone */
    text_printf(&e->out, "    {STEP_CALL, .call = &(const ExportedCall){%s, ", call);
    put_operand(e, x->args[first], &x->arg_types[first]);
    put_operand(e, x->args[second], &x->arg_types[second]);
    if (needs && export_note_loop(e, step, call) < 0) return -1;
    if (selects) {
        put_operand(e, x->args[1], &x->arg_types[1]);
        text_printf(&e->out, "%d, 0, %d, 0, 0, ", x->results[0], export_selected(e, x->results[0]));
        if (export_placed(e, x->results[0]) == 0) /* there is no room for all */
            return export_refuse(
                       e, step->line > 0 ? e->graph->files.at[step->file] : NULL, step->line,
                       "what array[mask] selects has to be returned: the library has no room "
                       "for an array whose length only the call tells") < 0
                       ? -1
                       : 1;
    } else {
        put_operand(e, (Place){x->results[0], NO_SIZE}, result);
        bool warns = points > 0 || multiplies || strcmp(name, "accumulate") == 0;
        text_printf(&e->out, "%d, %d, %lld, %d, %d, ", x->results[0], axis, (long long)points,
                    warns ? x->errors >> 4 : 15, warns ? x->errors & 15 : 0);
    }
    put_text(e, strcmp(name, "rfft") != 0 ? name : points % 2 ? "rfft_n_odd" : "rfft_n_even");
    put_text(e, step->line > 0 ? e->graph->files.at[step->file] : "");
    text_printf(&e->out, "%d}},\n", step->line);
    return 1;
}

/* ---- what a mask selects ---- */

int
export_find_selected(Export *e)
{
    const Program *p = e->program;
    for (int i = 0; i < p->steps.len; i++) {
        const ExternStep *x = &p->steps.at[i].external;
        if (p->steps.at[i].kind != STEP_EXTERN) continue;
        PyObject *name = PyObject_GetAttrString(x->callable, "__name__");
        bool is = name != NULL && PyUnicode_Check(name) &&
                  strcmp(text_of_str(name), "array_select") == 0 && x->nargs == 2 &&
                  x->nresults == 1 && x->arg_types[1].rank == 1 && x->arg_types[0].rank >= 1;
        if (name == NULL) PyErr_Clear();
        Py_XDECREF(name);
        if (is && VEC_PUSH(e->graph->arena, &e->selected, i) < 0) return -1;
    }
    return 0;
}

const ExternStep *
export_selection(const Export *e, BufferId id)
{
    for (int i = 0; i < e->selected.len; i++) {
        const ExternStep *x = &e->program->steps.at[e->selected.at[i]].external;
        if (x->results[0] == id) return x;
    }
    return NULL;
}

int32_t
export_selected(const Export *e, BufferId id)
{
    for (int i = 0; i < e->selected.len; i++)
        if (e->program->steps.at[e->selected.at[i]].external.results[0] == id)
            return e->graph->sizes.len + i;
    return -1;
}

int
export_placed(const Export *e, BufferId id)
{
    const Buffer *b = &e->program->buffers.at[id];
    bool selected = export_selection(e, id) != NULL;
    if ((b->kind != BUFFER_OUTPUT && b->kind != BUFFER_EXTERN) || b->pooled) return 0;
    for (int i = 0; i < e->results.len; i++) {
        const Located *at = &e->program->located.at[e->capture->builds.at[e->results.at[i]].output];
        bool begins = at->place.offset == NO_SIZE || (size_is_const(e->graph, at->place.offset) &&
                                                      size_value(e->graph, at->place.offset) == 0);
        if (at->place.buffer == id &&
            (selected || (begins && type_same_layout(&at->type, &b->type))))
            return i + 1;
    }
    return 0;
}
