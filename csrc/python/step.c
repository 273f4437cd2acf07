/* frame_step: locals, cells, globals, the stack, jumps and iteration; the rest is dispatched. */
#include "step.h"

const StepElision *elision;

void
step_elision(const StepElision *told)
{
    elision = told;
}

StepResult
step_put(Step *s, int n, PyObject *result)
{
    if (result == NULL) return STEP_ERROR;
    /* Bottom to top, as the interpreter drops operands; each is off the stack before it is
       freed. */
    for (int i = n; i > 0; i--) {
        PyObject *old = step_peek(s, i);
        *step_at(s, i) = NULL;
        Py_XDECREF(old);
    }
    s->frame->stacktop -= n;
    step_push(s, result);
    return STEP_NEXT;
}

StepResult
step_drop(Step *s, int n, int failed)
{
    if (failed < 0) return STEP_ERROR;
    for (int i = n; i > 0; i--) {
        PyObject *old = step_peek(s, i);
        *step_at(s, i) = NULL;
        Py_XDECREF(old);
    }
    s->frame->stacktop -= n;
    return STEP_NEXT;
}

StepResult
step_check_breaker(Step *s)
{
    if (breaker_is_set(s->ts) && breaker_serve(s->ts) < 0) return STEP_ERROR;
    return STEP_NEXT;
}

void
step_push_with_null(Step *s, PyObject *owned)
{
    step_push(s, CALL_NULL_FIRST ? NULL : owned);
    step_push(s, CALL_NULL_FIRST ? owned : NULL);
}

static StepResult
push_borrowed(Step *s, PyObject *object)
{
    if (object == NULL) return PyErr_Occurred() ? STEP_ERROR : STEP_CANNOT;
    step_push(s, Py_NewRef(object));
    return STEP_NEXT;
}

static StepResult
step_local(Step *s)
{
    PyObject **slot = &s->frame->localsplus[s->instr->arg];
    PyObject *old = *slot;
    switch (s->instr->kind) {
    case I_LOAD_LOCAL:
    case I_LOAD_CELL: return push_borrowed(s, old);
    case I_LOAD_CLEAR:
        *slot = NULL;
        step_push(s, old);
        return STEP_NEXT;
    case I_STORE_LOCAL:
        *slot = step_pop(s);
        Py_XDECREF(old);
        return STEP_NEXT;
    case I_DELETE_LOCAL:
        if (old == NULL) return STEP_CANNOT;
        *slot = NULL;
        Py_DECREF(old);
        return STEP_NEXT;
    default: { /* MAKE_CELL: an inlined comprehension's variable */
        PyObject *cell = PyCell_New(old);
        if (cell == NULL) return STEP_ERROR;
        *slot = cell;
        Py_XDECREF(old);
        return STEP_NEXT;
    }
    }
}

static StepResult
step_deref(Step *s)
{
    PyObject *cell = s->frame->localsplus[s->instr->arg];
    PyObject *old = PyCell_GET(cell);
    switch (s->instr->kind) {
    case I_LOAD_DEREF: return push_borrowed(s, old);
    case I_STORE_DEREF:
        PyCell_SET(cell, step_pop(s));
        Py_XDECREF(old);
        return STEP_NEXT;
    default:
        if (old == NULL) return STEP_CANNOT;
        PyCell_SET(cell, NULL);
        Py_DECREF(old);
        return STEP_NEXT;
    }
}

static StepResult
load_global(Step *s)
{
    PyObject *globals = s->frame->f_globals, *builtins = s->frame->f_builtins;
    if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(builtins)) return STEP_CANNOT;
    PyObject *value = dict_stored(globals, step_name(s));
    if (value == NULL) value = dict_stored(builtins, step_name(s));
    if (value == NULL || stored_is_untold(value)) return STEP_CANNOT;
    if (s->instr->arg2 & 1)
        step_push_with_null(s, Py_NewRef(value));
    else
        step_push(s, Py_NewRef(value));
    return STEP_NEXT;
}

static StepResult
step_global(Step *s)
{
    PyObject *globals = s->frame->f_globals;
    switch (s->instr->kind) {
    case I_LOAD_GLOBAL: return load_global(s);
    case I_STORE_GLOBAL:
        return step_drop(s, 1, PyDict_SetItem(globals, step_name(s), step_peek(s, 1)));
    default: {
        if (dict_told(globals, step_name(s)) == NULL) return STEP_CANNOT;
        return step_drop(s, 0, PyDict_DelItem(globals, step_name(s)));
    }
    }
}

static StepResult
step_stack(Step *s)
{
    const int n = s->instr->arg;
    switch (s->instr->kind) {
    case I_CONST: return push_borrowed(s, PyTuple_GET_ITEM(s->decoded->code->co_consts, n));
    case I_POP: Py_XDECREF(step_pop(s)); return STEP_NEXT;
    case I_COPY: step_push(s, Py_XNewRef(step_peek(s, n))); return STEP_NEXT;
    case I_SWAP: {
        PyObject *top = step_peek(s, 1);
        *step_at(s, 1) = step_peek(s, n);
        *step_at(s, n) = top;
        return STEP_NEXT;
    }
    case I_PUSH_NULL: step_push(s, NULL); return STEP_NEXT;
    default: /* LOAD_ASSERTION_ERROR */ return push_borrowed(s, PyExc_AssertionError);
    }
}

/* Is the jump taken? -1 with the error set. */
static int
condition_holds(Step *s)
{
    PyObject *value = step_peek(s, 1);
    switch (s->instr->kind) {
    case I_JUMP_IF_NONE: return value == Py_None;
    case I_JUMP_IF_NOT_NONE: return value != Py_None;
    case I_JUMP_IF_TRUE:
    case I_JUMP_IF_TRUE_OR_POP: return PyObject_IsTrue(value);
    default: {
        int truth = PyObject_IsTrue(value);
        return truth < 0 ? -1 : !truth;
    }
    }
}

static StepResult
step_jump(Step *s)
{
    const Instr *instr = s->instr;
    if (instr->kind == I_JUMP) {
        s->next = instr->target;
        return instr->arg2 ? step_check_breaker(s) : STEP_NEXT;
    }
    int taken = condition_holds(s);
    if (taken < 0) return STEP_ERROR;
    bool keeps = instr->kind == I_JUMP_IF_FALSE_OR_POP || instr->kind == I_JUMP_IF_TRUE_OR_POP;
    if (!(taken && keeps)) Py_DECREF(step_pop(s));
    if (!taken) return STEP_NEXT;
    s->next = instr->target;
    return instr->arg2 ? step_check_breaker(s) : STEP_NEXT;
}

static StepResult
step_iterate(Step *s)
{
    PyObject *top = step_peek(s, 1);
    if (s->instr->kind == I_GET_ITER) return step_put(s, 1, PyObject_GetIter(top));
    PyObject *value = Py_TYPE(top)->tp_iternext(top);
    if (value != NULL) {
        step_push(s, value);
        return STEP_NEXT;
    }
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return STEP_ERROR;
        PyErr_Clear();
    }
    s->next = s->instr->target;
    return step_drop(s, 1, 0);
}

static StepResult
dispatch(Step *s)
{
    switch (s->instr->kind) {
    case I_NOP:
    case I_END_FOR: return STEP_NEXT;
    case I_RESUME: return step_check_breaker(s);
    case I_LOAD_LOCAL:
    case I_LOAD_CELL:
    case I_LOAD_CLEAR:
    case I_STORE_LOCAL:
    case I_DELETE_LOCAL:
    case I_MAKE_CELL: return step_local(s);
    case I_LOAD_DEREF:
    case I_STORE_DEREF:
    case I_DELETE_DEREF: return step_deref(s);
    case I_LOAD_GLOBAL:
    case I_STORE_GLOBAL:
    case I_DELETE_GLOBAL: return step_global(s);
    case I_CONST:
    case I_POP:
    case I_COPY:
    case I_SWAP:
    case I_PUSH_NULL:
    case I_LOAD_ASSERTION_ERROR: return step_stack(s);
    case I_LOAD_ATTR:
    case I_LOAD_METHOD:
    case I_STORE_ATTR:
    case I_DELETE_ATTR: return step_attribute(s);
    case I_UNARY_POSITIVE:
    case I_UNARY_NEGATIVE:
    case I_UNARY_NOT:
    case I_UNARY_INVERT:
    case I_TO_BOOL:
    case I_BINARY:
    case I_COMPARE:
    case I_IS:
    case I_CONTAINS: return step_operator(s);
    case I_SUBSCRIPT:
    case I_STORE_SUBSCRIPT:
    case I_DELETE_SUBSCRIPT:
    case I_SLICE_LOAD:
    case I_SLICE_STORE: return step_subscript(s);
    case I_BUILD_TUPLE:
    case I_BUILD_LIST:
    case I_BUILD_SET:
    case I_BUILD_MAP:
    case I_BUILD_MAP_KEYS:
    case I_BUILD_STRING:
    case I_BUILD_SLICE:
    case I_LIST_TO_TUPLE: return step_build(s);
    case I_LIST_EXTEND:
    case I_SET_UPDATE:
    case I_DICT_UPDATE:
    case I_DICT_MERGE:
    case I_LIST_APPEND:
    case I_SET_ADD:
    case I_MAP_ADD: return step_extend(s);
    case I_FORMAT: return step_format(s);
    case I_UNPACK:
    case I_UNPACK_EX: return step_unpack(s);
    case I_GET_LEN:
    case I_MATCH_MAPPING:
    case I_MATCH_SEQUENCE: return step_match(s);
    case I_CALL:
    case I_CALL_KW:
    case I_CALL_EX: return step_call(s);
    case I_MAKE_FUNCTION:
    case I_SET_FUNCTION_ATTRIBUTE: return step_function(s);
    case I_LOAD_SUPER_ATTR: return step_super(s);
    case I_JUMP:
    case I_JUMP_IF_FALSE:
    case I_JUMP_IF_TRUE:
    case I_JUMP_IF_NONE:
    case I_JUMP_IF_NOT_NONE:
    case I_JUMP_IF_FALSE_OR_POP:
    case I_JUMP_IF_TRUE_OR_POP: return step_jump(s);
    case I_GET_ITER:
    case I_FOR_ITER: return step_iterate(s);
    case I_BEFORE_WITH: return step_with(s);
    case I_IMPORT_NAME:
    case I_IMPORT_FROM:
    case I_LOAD_BUILD_CLASS: return step_import(s);
    case I_RAISE:
    case I_RERAISE:
    case I_PUSH_EXC_INFO:
    case I_POP_EXCEPT:
    case I_CHECK_EXC_MATCH:
    case I_WITH_EXCEPT_START: return step_handler(s);
    default: /* exception groups, returns, names in class bodies, instructions of one version */
        return STEP_CANNOT;
    }
}

/* Can all parts of the bytecode instruction be stepped? Not those of RETURN_CONST. */
static bool
is_whole(const Decoded *decoded, int number)
{
    const Instr *part = &decoded->instrs[number + 1];
    return number + 1 >= decoded->count || part->sub == 0 || part->kind != I_RETURN;
}

StepResult
frame_step(PyThreadState *ts, Frame *frame, const Decoded *decoded, int number, StepCall call,
           int *next)
{
    if (number < decoded->first_traceable) {
        *next = decoded->first_traceable;
        return frame_prologue(frame, decoded) < 0 ? STEP_ERROR : STEP_NEXT;
    }
    if (!is_whole(decoded, number)) return STEP_CANNOT;
    Step s = {.ts = ts, .frame = frame, .decoded = decoded, .call = call};
    StepResult result;
    FrameLink link;
    frame_link(ts, frame, decoded->instrs[number].at, &link);
    do {
        s.instr = &decoded->instrs[number];
        s.next = number + 1;
        result = dispatch(&s);
        number = s.next;
    } while (result == STEP_NEXT && number < decoded->count && decoded->instrs[number].sub != 0);
    frame_unlink(ts, frame, &link);
    *next = number;
    return result;
}
