/* Globals, cells, functions made here, and the instructions that load and store attributes. */
#include "objects.h"

/* Guards that the name is in neither dict. */
static Answer
undefined_name(Interp *in, PyObject *dict, PyObject *builtins, PyObject *name)
{
    if (builtins == NULL)
        return break_raised(in, "name '%s' is not defined", PyUnicode_AsUTF8(name));
    SourceId behind = source_of_const(in, builtins);
    if (behind == NO_SOURCE) return ANSWER_ERROR;
    SourceId source = source_add(in, SOURCE_GLOBAL, behind, 0, name, dict);
    if (source == NO_SOURCE || value_from_source(in, source, NULL) == NULL) return ANSWER_ERROR;
    PyErr_Format(PyExc_NameError, "name '%U' is not defined", name);
    PyObject *error = keep(in, error_take());
    if (error == NULL || PyObject_SetAttrString(error, "name", name) < 0) return ANSWER_ERROR;
    PyErr_SetObject(PyExc_NameError, error);
    return raise_error(in);
}

/* Is the name a variable of the module whose loop is captured, which is in a slot meanwhile? */
static bool
is_in_slot(const Interp *in, PyObject *dict, PyObject *name)
{
    const Decoded *d = in->bottom->decoded;
    for (int slot = d->names_from; dict == in->bottom->globals && slot < d->nlocalsplus; slot++)
        if (PyUnicode_Compare(code_slot_name(d->code, slot), name) == 0) return true;
    return false;
}

/* A name of a module's dict: the value that the program stored there, else the present one,
   watched.  In mappings of other classes CPython looks by their own __getitem__. */
Answer
load_global(Interp *in, PyObject *dict, PyObject *builtins, PyObject *name, Value **out)
{
    PyObject *object;
    if (!PyDict_CheckExact(dict) || (builtins != NULL && !PyDict_CheckExact(builtins)))
        return interp_break(in, BREAK_INSTRUCTION, "a global of a namespace that is no dict");
    if (is_in_slot(in, dict, name))
        return interp_break(in, BREAK_INSTRUCTION, "a variable that the module's loop stores");
    *out = pending_find(in, dict, name);
    bool deleted = *out != NULL && (*out)->kind == V_UNBOUND;
    if (*out != NULL && !deleted) return ANSWER_YES;
    if (deleted && (builtins == NULL || dict_stored(builtins, name) != NULL))
        return interp_break(in, BREAK_STORE, "a global that was deleted");
    Answer answer = entry_stored(in, deleted ? NULL : dict, name, &object);
    if (answer == ANSWER_YES && object == NULL && builtins != NULL) {
        if ((*out = pending_find(in, builtins, name)) != NULL)
            return interp_break(in, BREAK_STORE, "a builtin that was replaced");
        answer = entry_stored(in, builtins, name, &object);
    }
    if (answer != ANSWER_YES) return answer;
    if (object == NULL) return undefined_name(in, dict, builtins, name);
    SourceId behind = builtins ? source_of_const(in, builtins) : NO_SOURCE;
    if (builtins != NULL && behind == NO_SOURCE) return ANSWER_ERROR;
    SourceId source = source_add(in, SOURCE_GLOBAL, behind, 0, name, dict);
    *out = source == NO_SOURCE ? NULL : value_from_source(in, source, object);
    return *out == NULL ? ANSWER_ERROR : ANSWER_YES;
}

Answer
global_store(Interp *in, PyObject *dict, PyObject *name, Value *value)
{
    PyObject *before;
    SourceId source = source_of_const(in, dict);
    if (source == NO_SOURCE) return ANSWER_ERROR;
    if (is_in_slot(in, dict, name))
        return interp_break(in, BREAK_STORE, "a variable that the module's loop stores");
    TRY(entry_stored(in, dict, name, &before));
    if (code_stands_in(in->bottom->decoded->code) && before == NULL)
        return interp_break(in, BREAK_STORE, "a variable that is new in the module");
    if (in->writes.refuse_writes) return break_of_overlap(in);
    change_count(in, NULL);
    if (change_note(in, NULL, "the global variable '%s'", text_of_str(name)) < 0)
        return ANSWER_ERROR;
    if (pending_find(in, dict, name) == NULL) {
        SourceId place = source_add(in, SOURCE_GLOBAL, NO_SOURCE, 0, name, dict);
        if (place == NO_SOURCE) return ANSWER_ERROR;
        TRY(place_goes(in, place, before));
    }
    BuildKind kind = value == in->unbound ? EFFECT_DELETE_GLOBAL : EFFECT_STORE_GLOBAL;
    if (effect_add(in, kind, name, source, value != in->unbound, &value) < 0) return ANSWER_ERROR;
    return pending_store(in, dict, name, value) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

/* ---- cells ---- */

Answer
cell_load(Interp *in, Value *cell, Value **out)
{
    if (cell->items[0] == NULL) {
        SourceId source = source_add(in, SOURCE_CELL, cell->source, 0, NULL, NULL);
        if (source == NO_SOURCE) return ANSWER_ERROR;
        cell->items[0] = value_from_source(in, source, PyCell_GET(cell->object));
        if (cell->items[0] == NULL) return ANSWER_ERROR;
    }
    *out = cell->items[0];
    return ANSWER_YES;
}

/* `value` may be in->unbound. */
static Answer
cell_store(Interp *in, Value *cell, Value *value)
{
    if (cell->source != NO_SOURCE) {
        SourceId place = source_add(in, SOURCE_CELL, cell->source, 0, NULL, NULL);
        if (place == NO_SOURCE) return ANSWER_ERROR;
        if (!cell->mutated) TRY(place_goes(in, place, PyCell_GET(cell->object)));
        Value *args[2] = {cell, value != in->unbound ? value : NULL};
        if (effect_add(in, EFFECT_STORE_CELL, NULL, NO_SOURCE, 2, args) < 0) return ANSWER_ERROR;
        cell->mutated = true;
    }
    cell->items[0] = value;
    return ANSWER_YES;
}

static Answer
follow_cell(Interp *in, const Instr *instr)
{
    Activation *a = in->top;
    Value *cell = slot_load(in, a, instr->arg), *value = NULL;
    if (cell == NULL) return ANSWER_ERROR;
    if (instr->kind == I_MAKE_CELL) {
        Value *made = value_sequence(in, V_CELL, 1, &cell);
        if (made == NULL) return ANSWER_ERROR;
        a->slots[instr->arg] = made;
        return ANSWER_YES;
    }
    if (instr->kind == I_LOAD_CELL) return pushed(in, cell);
    if (cell->kind != V_CELL) /* the cell of an inlined comprehension, not made yet */
        return interp_break(in, BREAK_CLOSURE, "a cell that is not there");
    if (instr->kind == I_LOAD_DEREF) {
        Answer answer = cell_load(in, cell, &value);
        if (answer != ANSWER_YES) return answer;
        if (value->kind == V_UNBOUND)
            return raise_new(
                in,
                code_slot_kind(a->decoded->code, instr->arg) & SLOT_FREE ? PyExc_NameError
                                                                         : PyExc_UnboundLocalError,
                code_slot_kind(a->decoded->code, instr->arg) & SLOT_FREE
                    ? "cannot access free variable '%U' where it is not associated with a value in "
                      "enclosing scope"
                    : "cannot access local variable '%U' where it is not associated with a value",
                code_slot_name(a->decoded->code, instr->arg));
        return pushed(in, value);
    }
    change_count(in, cell);
    if (change_note(in, cell, "the variable '%s' of an enclosing function",
                    text_of_str(code_slot_name(a->decoded->code, instr->arg))) < 0)
        return ANSWER_ERROR;
    if (instr->kind == I_DELETE_DEREF) {
        Answer answer = cell_load(in, cell, &value);
        if (answer != ANSWER_YES) return answer;
        if (value->kind == V_UNBOUND) return break_raised(in, "NameError is raised here");
        return cell_store(in, cell, in->unbound);
    }
    value = top_value(in, 1);
    Answer answer = value ? cell_store(in, cell, value) : ANSWER_ERROR;
    if (answer == ANSWER_YES) a->depth--;
    return answer;
}

/* The free variables of an inlined function, from its closure. */
static Answer
copy_free_vars(Interp *in, int count)
{
    Activation *a = in->top;
    int first = a->decoded->nlocalsplus - count;
    Value *function = a->function;
    for (int i = 0; i < count; i++) {
        Value *cell = NULL;
        if (function->kind == V_FUNCTION) {
            Value *closure = function->items[3];
            if (closure != NULL) cell = value_item(in, closure, i);
        } else {
            PyObject *object = PyTuple_GET_ITEM(PyFunction_GET_CLOSURE(function->object), i);
            SourceId source = function->source != NO_SOURCE ? function->source
                                                            : source_of_const(in, function->object);
            PyObject *name = interned(in, "__closure__");
            PyObject *index = keep(in, PyLong_FromLong(i));
            if (name == NULL || index == NULL) return ANSWER_ERROR;
            if (source != NO_SOURCE) source = source_add(in, SOURCE_ATTR, source, 0, name, NULL);
            if (source != NO_SOURCE) source = source_add(in, SOURCE_ITEM, source, i, index, NULL);
            if (source == NO_SOURCE) return ANSWER_ERROR;
            cell = value_from_source(in, source, object);
        }
        if (cell == NULL) return ANSWER_ERROR;
        a->slots[first + i] = cell;
    }
    return ANSWER_YES;
}

/* ---- functions ---- */

/* items: defaults, kwdefaults, annotations, closure. */
static Answer
make_function(Interp *in, const Instr *instr)
{
    static const int flags[4] = {1, 2, 4, 8};
    Value *code = top_value(in, 1), *function = value_sequence(in, V_FUNCTION, 4, NULL);
    if (code == NULL || function == NULL) return ANSWER_ERROR;
    function->object = code->object;
    int used = 1;
    for (int i = 3; i >= 0; i--) {
        if (!(instr->arg & flags[i])) continue;
        if ((function->items[i] = top_value(in, ++used)) == NULL) return ANSWER_ERROR;
    }
    Value *globals = value_const(in, in->top->globals);
    if (globals == NULL) return ANSWER_ERROR;
    globals->source = in->top == in->bottom ? NO_SOURCE : globals->source;
    function->globals_of = globals;
    function->builtins = in->top->builtins;
    in->top->depth -= used;
    return pushed(in, function);
}

static Answer
set_function_attribute(Interp *in, const Instr *instr)
{
    Value *function = top_value(in, 1), *part = top_value(in, 2);
    if (function == NULL || part == NULL) return ANSWER_ERROR;
    if (function->kind != V_FUNCTION) /* made before the capture began */
        return interp_break(in, BREAK_INSTRUCTION, "a function that is still being made");
    for (int i = 0; i < 4; i++)
        if (instr->arg == 1 << i) function->items[i] = part;
    in->top->depth -= 2;
    return pushed(in, function);
}

/* ---- attributes ---- */

/* Pushes what LOAD_METHOD pushes: [function, self], or one callable with a NULL. */
static Answer
push_pair(Interp *in, Value *value)
{
    Value *low = value, *high = in->null;
    if (value->kind == V_METHOD && value->source == NO_SOURCE && !is_model_method(value)) {
        low = value->items[0];
        high = value->items[1];
    } else if (CALL_NULL_FIRST) {
        low = in->null;
        high = value;
    }
    if (push(in, low) < 0) return ANSWER_ERROR;
    return pushed(in, high);
}

static Answer
follow_attribute(Interp *in, const Instr *instr)
{
    Value *object = top_value(in, 1), *value;
    PyObject *name = code_name(in, instr->arg);
    if (object == NULL) return ANSWER_ERROR;
    if (instr->kind == I_STORE_ATTR) {
        Value *stored = top_value(in, 2);
        Answer answer = stored ? attribute_store(in, object, name, stored) : ANSWER_ERROR;
        if (answer == ANSWER_YES) in->top->depth -= 2;
        return answer;
    }
    if (instr->kind == I_DELETE_ATTR) {
        Answer answer = attribute_delete(in, object, name);
        if (answer == ANSWER_YES) in->top->depth--;
        return answer;
    }
    Answer answer = attribute_load(in, object, name, &value);
    if (answer != ANSWER_YES) return answer;
    in->top->depth--;
    if (instr->kind != I_LOAD_METHOD) return pushed(in, value);
    value->paired = value->kind == V_BUILTIN_METHOD && value->items[0] == object;
    return push_pair(in, value);
}

/* Would `from module import names` import something: a submodule that is not imported yet? */
static bool
lacks_names(PyObject *module, Value *fromlist)
{
    if (fromlist->object == NULL || !PyTuple_CheckExact(fromlist->object)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fromlist->object); i++)
        if (attribute_stored(module, PyTuple_GET_ITEM(fromlist->object, i)) == NULL) return true;
    return false;
}

/* import of a module that is imported already: the entry of sys.modules, watched like a global. */
static Answer
import_name(Interp *in, PyObject *name)
{
    Value *fromlist = top_value(in, 1), *level = top_value(in, 2), *module;
    if (fromlist == NULL || level == NULL) return ANSWER_ERROR;
    PyObject *import = dict_named(in->top->builtins, "__import__");
    bool plain = import != NULL && PyCFunction_Check(import);
    bool absolute = level->kind == V_CONST && PyObject_IsTrue(level->object) == 0;
    bool top = fromlist->kind == V_CONST && fromlist->object == Py_None;
    if (!plain || !absolute) return interp_break(in, BREAK_IMPORT, "an import");
    Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1);
    if (top && dot > 0) { /* import a.b binds a; both must be imported already */
        if (PyDict_GetItemWithError(PyImport_GetModuleDict(), name) == NULL)
            return interp_break(in, BREAK_IMPORT, "an import");
        PyObject *head = PyUnicode_Substring(name, 0, dot);
        if (head != NULL) PyUnicode_InternInPlace(&head);
        if ((name = keep(in, head)) == NULL) return ANSWER_ERROR;
    }
    PyObject *found = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
    if (found == NULL || !PyModule_CheckExact(found) || lacks_names(found, fromlist))
        return interp_break(in, BREAK_IMPORT, "import of '%s'", PyUnicode_AsUTF8(name));
    Answer answer = load_global(in, PyImport_GetModuleDict(), NULL, name, &module);
    if (answer != ANSWER_YES) return answer;
    in->top->depth -= 2;
    return pushed(in, module);
}

/* super().name: makes the super object as its call would. */
static Answer
load_super(Interp *in, const Instr *instr)
{
    Value *super = top_value(in, 3), *cls = top_value(in, 2), *self = top_value(in, 1), *value;
    if (super == NULL || cls == NULL || self == NULL) return ANSWER_ERROR;
    Value *pair[2] = {cls, self}, *made;
    Answer answer = super->kind == V_CONST && super->object == (PyObject *)&PySuper_Type
                        ? super_new(in, 2, pair, &made)
                        : interp_break(in, BREAK_INSTRUCTION, "super()");
    if (answer == ANSWER_YES) answer = attribute_load(in, made, code_name(in, instr->arg), &value);
    if (answer != ANSWER_YES) return answer;
    in->top->depth -= 3;
    return instr->arg2 & 1 ? push_pair(in, value) : pushed(in, value);
}

/* The function that runs a class body: its call is the break. */
static Answer
build_class(Interp *in)
{
    PyObject *name = keep(in, PyUnicode_InternFromString("__build_class__"));
    Value *value;
    if (name == NULL) return ANSWER_ERROR;
    Answer answer = load_global(in, in->top->builtins, NULL, name, &value);
    return answer == ANSWER_YES ? pushed(in, value) : answer;
}

Answer
follow_name(Interp *in, const Instr *instr)
{
    Value *value;
    Answer answer;
    switch (instr->kind) {
    case I_LOAD_GLOBAL:
        answer =
            load_global(in, in->top->globals, in->top->builtins, code_name(in, instr->arg), &value);
        if (answer != ANSWER_YES) return answer;
        if (instr->arg2 & 1) {
            if (push(in, CALL_NULL_FIRST ? in->null : value) < 0) return ANSWER_ERROR;
            if (!CALL_NULL_FIRST) value = in->null;
        }
        return pushed(in, value);
    case I_STORE_GLOBAL:
        value = top_value(in, 1);
        answer = value ? global_store(in, in->top->globals, code_name(in, instr->arg), value)
                       : ANSWER_ERROR;
        if (answer == ANSWER_YES) in->top->depth--;
        return answer;
    case I_DELETE_GLOBAL:
        answer = load_global(in, in->top->globals, NULL, code_name(in, instr->arg), &value);
        if (answer != ANSWER_YES) return answer;
        return global_store(in, in->top->globals, code_name(in, instr->arg), in->unbound);
    case I_COPY_FREE_VARS: return copy_free_vars(in, instr->arg);
    case I_MAKE_CELL:
    case I_LOAD_CELL:
    case I_LOAD_DEREF:
    case I_STORE_DEREF:
    case I_DELETE_DEREF: return follow_cell(in, instr);
    case I_MAKE_FUNCTION: return make_function(in, instr);
    case I_SET_FUNCTION_ATTRIBUTE: return set_function_attribute(in, instr);
    case I_LOAD_ATTR:
    case I_LOAD_METHOD:
    case I_STORE_ATTR:
    case I_DELETE_ATTR: return follow_attribute(in, instr);
    case I_IMPORT_NAME: return import_name(in, code_name(in, instr->arg));
    case I_IMPORT_FROM: {
        Value *module = top_value(in, 1);
        if (module == NULL) return ANSWER_ERROR;
        answer = attribute_load(in, module, code_name(in, instr->arg), &value);
        return answer == ANSWER_YES ? pushed(in, value) : answer;
    }
    case I_LOAD_BUILD_CLASS: return build_class(in);
    case I_LOAD_SUPER_ATTR: return load_super(in, instr);
    case I_LOAD_ASSERTION_ERROR: return pushed(in, value_const(in, PyExc_AssertionError));
    default: return interp_break(in, BREAK_INSTRUCTION, "%s", instr_name(instr->kind));
    }
}
