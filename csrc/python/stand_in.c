/* The code of a module, with the variables that its loops store as locals.

   A module's variables are entries of its dict.  Capture knows locals: that they are carried by
   loops, and stored where the frame is left.  So it gets a code object with the same instructions
   at the same places, in which LOAD_NAME and STORE_NAME of such a variable are LOAD_FAST and
   STORE_FAST.  It is never run.  Its locals are those of the module (3.12: of inlined
   comprehensions), then one without a use that divides them from the variables. */
#include "internal.h"

#include <opcode.h>

#include "python.h"

static const char divider[] = ".";
enum {
    STANDS_IN = 1 << 28, /* a flag that CPython does not use */
    MOST_NAMES = 128
};

bool
code_stands_in(PyCodeObject *code)
{
    return (code->co_flags & STANDS_IN) != 0;
}

int
stand_in_names(PyCodeObject *code)
{
    if (!code_stands_in(code)) return code->co_nlocalsplus;
    int slot = 0;
    while (PyUnicode_CompareWithASCIIString(code_slot_name(code, slot), divider) != 0) slot++;
    return slot + 1;
}

typedef struct {
    uint8_t *units;
    int count;
    int nnames;
    int *slot;   /* by name: stored in a loop, 0 or 1; then the slot */
    bool *apart; /* by name: it is deleted, or declared global */
} Rewrite;

/* The next instruction with an argument; false: there are no more.  Caches are zero, as CACHE. */
static bool
next_unit(const Rewrite *r, int *at, int *opcode, int *arg)
{
    int high = 0;
    for (int i = *at + 1; i < r->count; i++) {
        *opcode = r->units[2 * i];
        *arg = high << 8 | r->units[2 * i + 1];
        if (*opcode != EXTENDED_ARG) {
            *at = i;
            return true;
        }
        high = *arg;
    }
    return false;
}

static void
mark_stored(Rewrite *r, int from, int to)
{
    int opcode, arg;
    for (int at = from - 1; next_unit(r, &at, &opcode, &arg) && at < to;)
        if (opcode == STORE_NAME) r->slot[arg] = 1;
}

static void
mark(Rewrite *r)
{
    int opcode, arg;
    for (int at = -1; next_unit(r, &at, &opcode, &arg);) {
        int next = at + 1 + (PY_VERSION_HEX >= 0x030D0000);
        if (opcode == JUMP_BACKWARD && next - arg >= 0) mark_stored(r, next - arg, at);
        if (opcode == DELETE_NAME || opcode == STORE_GLOBAL || opcode == DELETE_GLOBAL)
            r->apart[arg] = true;
        if (opcode == LOAD_GLOBAL) r->apart[arg >> 1] = true;
    }
}

static PyObject *
take_names(Rewrite *r, PyCodeObject *code)
{
    PyObject *names = PyList_New(0);
    for (int i = 0; names != NULL && i < r->nnames; i++) {
        bool taken = r->slot[i] == 1 && !r->apart[i];
        r->slot[i] = taken ? code->co_nlocalsplus + 1 + (int)PyList_GET_SIZE(names) : -1;
        if (taken && PyList_Append(names, PyTuple_GET_ITEM(code->co_names, i)) < 0) Py_CLEAR(names);
    }
    if (names == NULL) return NULL;
    PyObject *tuple = PyList_AsTuple(names);
    Py_DECREF(names);
    return tuple;
}

static void
put_locals(Rewrite *r)
{
#if PY_VERSION_HEX >= 0x030C0000
    const int load = LOAD_FAST_CHECK;
#else
    const int load = LOAD_FAST;
#endif
    int opcode, arg;
    for (int at = -1; next_unit(r, &at, &opcode, &arg);) {
        if ((opcode != LOAD_NAME && opcode != STORE_NAME) || r->slot[arg] < 0) continue;
        r->units[2 * at] = (uint8_t)(opcode == LOAD_NAME ? load : STORE_FAST);
        r->units[2 * at + 1] = (uint8_t)r->slot[arg];
        for (int i = at - 1; i >= 0 && r->units[2 * i] == EXTENDED_ARG; i--)
            r->units[2 * i + 1] = 0;
    }
}

static PyObject *
local_names(PyCodeObject *code, PyObject *names)
{
    PyObject *own = PyObject_GetAttrString((PyObject *)code, "co_varnames");
    PyObject *between = own ? Py_BuildValue("(s)", divider) : NULL;
    PyObject *first = between ? PySequence_Concat(own, between) : NULL;
    PyObject *all = first ? PySequence_Concat(first, names) : NULL;
    Py_XDECREF(own);
    Py_XDECREF(between);
    Py_XDECREF(first);
    return all;
}

static PyObject *
replaced(PyCodeObject *code, const Rewrite *r, PyObject *names)
{
    PyObject *locals = local_names(code, names), *result = NULL;
    PyObject *replace = PyObject_GetAttrString((PyObject *)code, "replace");
    PyObject *none = PyTuple_New(0);
    PyObject *changes =
        locals && replace && none
            ? Py_BuildValue("{s:y#,s:O,s:n,s:i}", "co_code", (const char *)r->units,
                            (Py_ssize_t)r->count * 2, "co_varnames", locals, "co_nlocals",
                            PyTuple_GET_SIZE(locals), "co_flags",
                            code->co_flags | CO_OPTIMIZED | CO_NEWLOCALS | STANDS_IN)
            : NULL;
    if (changes != NULL) result = PyObject_Call(replace, none, changes);
    Py_XDECREF(changes);
    Py_XDECREF(none);
    Py_XDECREF(replace);
    Py_XDECREF(locals);
    return result;
}

PyCodeObject *
code_stand_in(PyCodeObject *code, PyObject **names)
{
    *names = NULL;
    const int never = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    if ((code->co_flags & never) != 0 || code->co_ncellvars + code->co_nfreevars > 0) return NULL;
    PyObject *bytes = PyCode_GetCode(code), *result = NULL;
    if (bytes == NULL) return NULL;
    Rewrite r = {.count = (int)(PyBytes_GET_SIZE(bytes) / 2),
                 .nnames = (int)PyTuple_GET_SIZE(code->co_names)};
    r.units = mem_alloc((size_t)r.count * 2 + 1);
    r.slot = mem_alloc(sizeof(int) * ((size_t)r.nnames + 1));
    r.apart = mem_alloc((size_t)r.nnames + 1);
    if (r.units != NULL && r.slot != NULL && r.apart != NULL) {
        memcpy(r.units, PyBytes_AS_STRING(bytes), (size_t)r.count * 2);
        mark(&r);
        *names = take_names(&r, code);
        if (*names != NULL && code->co_nlocalsplus + PyTuple_GET_SIZE(*names) < MOST_NAMES) {
            put_locals(&r);
            result = replaced(code, &r, *names);
        }
    }
    if (result == NULL) Py_CLEAR(*names);
    mem_free(r.units);
    mem_free(r.slot);
    mem_free(r.apart);
    Py_DECREF(bytes);
    return (PyCodeObject *)result;
}
