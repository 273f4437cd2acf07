/* Reads what print.c writes; the form is described there. Node ids in the text are kept, so a
   printed graph prints as the same text again; ids that the text skips become nodes that are in no
   region. Errors are ValueErrors that name the line. The graph that is read is not verified. */
#include "form.h"

enum { MAX_ID = 1 << 20 };

typedef struct {
    Graph *g;
    const char *at; /* next character */
    int line;
    bool failed;
    VEC(bool) defined; /* by NodeId */
} Parser;

/* ---- characters and words ---- */

static int
fail(Parser *p, const char *reason)
{
    if (p->failed) return -1;
    p->failed = true;
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "line %d: %s", p->line, reason);
        return -1;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_Format(PyExc_ValueError, "line %d: %s: %S", p->line, reason,
                 value == NULL ? Py_None : value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return -1;
}

static void
blanks(Parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r') p->at++;
}

static bool
accept(Parser *p, const char *token)
{
    blanks(p);
    size_t length = strlen(token);
    if (strncmp(p->at, token, length) != 0) return false;
    p->at += length;
    return true;
}

static int
expect(Parser *p, const char *token)
{
    if (accept(p, token)) return 0;
    char reason[80];
    PyOS_snprintf(reason, sizeof reason, "expected '%s' at '%.20s'", token, p->at);
    return fail(p, reason);
}

static int
number(Parser *p, int64_t *out)
{
    blanks(p);
    char *end;
    *out = strtoll(p->at, &end, 10);
    if (end == p->at) return fail(p, "expected a number");
    p->at = end;
    return 0;
}

/* Letters, digits and _ into `out`; empty when there are none. */
static void
word(Parser *p, char *out, size_t room)
{
    blanks(p);
    size_t n = 0;
    while (Py_ISALNUM(*p->at) || *p->at == '_') {
        if (n + 1 < room) out[n++] = *p->at;
        p->at++;
    }
    out[n] = '\0';
}

static void
end_line(Parser *p)
{
    while (*p->at != '\0' && *p->at != '\n') p->at++;
    if (*p->at == '\n') p->at++;
    p->line++;
}

/* To the next line that is not empty or a comment; false at the end. */
static bool
next_line(Parser *p)
{
    for (;;) {
        blanks(p);
        if (*p->at == '\0') return false;
        if (*p->at != '#' && *p->at != '\n') return true;
        end_line(p);
    }
}

/* The text up to the comma or closing bracket that is not inside quotes or brackets, as a string in
   the arena; NULL after fail. */
static char *
balanced(Parser *p)
{
    blanks(p);
    const char *start = p->at;
    int depth = 0;
    char quote = 0;
    for (; *p->at != '\0' && *p->at != '\n'; p->at++) {
        char c = *p->at;
        if (quote != 0) {
            if (c == '\\' && p->at[1] != '\0')
                p->at++;
            else if (c == quote)
                quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '(' || c == '[') {
            depth++;
        } else if (c == ')' || c == ']') {
            if (depth-- == 0) break;
        } else if (c == ',' && depth == 0) {
            break;
        }
    }
    char *copy = arena_alloc(p->g->arena, (size_t)(p->at - start) + 1);
    if (copy == NULL)
        fail(p, "memory");
    else
        memcpy(copy, start, (size_t)(p->at - start));
    return copy;
}

/* ---- ids ---- */

static NodeId
id(Parser *p)
{
    int64_t value;
    if (expect(p, "%") < 0 || number(p, &value) < 0) return NO_NODE;
    if (value >= 0 && value < MAX_ID) return (NodeId)value;
    fail(p, "node id out of range");
    return NO_NODE;
}

/* Moves the node that was made last to the id that the text gives it. */
static int
place(Parser *p, NodeId made, NodeId wanted)
{
    Graph *g = p->g;
    if (made == NO_NODE) return fail(p, "node");
    if (wanted < p->defined.len && p->defined.at[wanted]) return fail(p, "node is defined twice");
    Node node = g->nodes.at[made];
    Type nothing = type_scalar(DT_OBJECT, FORM_OBJECT);
    g->nodes.len = made;
    while (g->nodes.len <= wanted)
        if (graph_make(g, OP_const, 0, NULL, &nothing, NULL) == NO_NODE) return fail(p, "node");
    while (p->defined.len <= wanted)
        if (VEC_PUSH(g->arena, &p->defined, false) < 0) return fail(p, "node");
    if (node.storage == made) node.storage = wanted;
    g->nodes.at[wanted] = node;
    p->defined.at[wanted] = true;
    return 0;
}

/* ---- sizes and types ---- */

static SizeId size(Parser *p);

/* d0_1, t0_1, with =hint at the first mention. */
static SizeId
symbol(Parser *p)
{
    SizeKind kind = *p->at == 'd' ? SIZE_DIM : SIZE_STRIDE;
    int64_t node, axis, hint = 0;
    p->at++;
    if (number(p, &node) < 0 || expect(p, "_") < 0 || number(p, &axis) < 0) return NO_SIZE;
    bool known = false, hinted = accept(p, "=");
    if (hinted && number(p, &hint) < 0) return NO_SIZE;
    for (int i = 0; i < p->g->sizes.len && !known; i++) {
        const Size *other = &p->g->sizes.at[i];
        known = other->kind == kind && other->node == node && other->axis == axis;
    }
    if (!known && !hinted) {
        fail(p, "a size's first mention needs its value: d0_0=32");
        return NO_SIZE;
    }
    return kind == SIZE_DIM ? size_dim(p->g, (NodeId)node, (int)axis, hint)
                            : size_stride(p->g, (NodeId)node, (int)axis, hint);
}

/* A bound, which may be missing.  -1 with the error set. */
static int
limit(Parser *p, SizeId *out)
{
    *out = NO_SIZE;
    if (expect(p, ":") < 0) return -1;
    if (strchr(":,]}) ", *p->at) != NULL) return 0;
    return (*out = size(p)) == NO_SIZE ? -1 : 0;
}

/* n7, with =hint:least:most at the first mention. */
static SizeId
measured(Parser *p)
{
    int64_t node, hint = 0;
    SizeId least, most;
    p->at++;
    if (number(p, &node) < 0) return NO_SIZE;
    for (int i = 0; i < p->g->sizes.len; i++)
        if (p->g->sizes.at[i].kind == SIZE_NUMBER && p->g->sizes.at[i].node == node) return i;
    if (!accept(p, "=")) {
        fail(p, "a size's first mention needs its value: n7=32");
        return NO_SIZE;
    }
    if (number(p, &hint) < 0 || limit(p, &least) < 0 || limit(p, &most) < 0) return NO_SIZE;
    return size_number(p->g, (NodeId)node, least, most, hint);
}

/* Two sizes with `between` among them, up to a bracket.  -1 with the error set. */
static int
two_sizes(Parser *p, SizeId *a, SizeKind *kind)
{
    static const struct {
        const char *text;
        SizeKind kind;
    } operators[] = {{"+", SIZE_ADD},
                     {"*", SIZE_MUL},
                     {"//", SIZE_FLOOR_DIV},
                     {"%", SIZE_MOD},
                     {"==", SIZE_SAME}};
    bool known = *kind == SIZE_LEAST || *kind == SIZE_MOST;
    if ((a[0] = size(p)) == NO_SIZE) return -1;
    for (int i = 0; i < COUNT_OF(operators) && !known; i++)
        if ((known = accept(p, operators[i].text))) *kind = operators[i].kind;
    if (*kind == SIZE_LEAST || *kind == SIZE_MOST) known = accept(p, ",");
    if (!known) return fail(p, "two sizes with an operator between them");
    return (a[1] = size(p)) == NO_SIZE ? -1 : expect(p, ")");
}

static SizeId
size(Parser *p)
{
    SizeId of[2] = {NO_SIZE, NO_SIZE};
    blanks(p);
    SizeKind kind = accept(p, "min(") ? SIZE_LEAST : accept(p, "max(") ? SIZE_MOST : SIZE_CONST;
    if (kind != SIZE_CONST || accept(p, "(")) {
        if (two_sizes(p, of, &kind) < 0) return NO_SIZE;
        switch (kind) {
        case SIZE_ADD: return size_add(p->g, of[0], of[1]);
        case SIZE_MUL: return size_mul(p->g, of[0], of[1]);
        case SIZE_LEAST:
        case SIZE_MOST: return size_extreme(p->g, kind, of[0], of[1]);
        case SIZE_SAME: return size_if_same(p->g, of[0], of[1]);
        default: return size_quotient(p->g, kind, of[0], of[1]);
        }
    }
    if (*p->at == 'n') return measured(p);
    if (*p->at == 'd' || *p->at == 't') return symbol(p);
    int64_t value;
    return number(p, &value) < 0 ? NO_SIZE : size_const(p->g, value);
}

SizeId
size_parse(Graph *g, const char *text)
{
    return size(&(Parser){.g = g, .at = text});
}

/* Sizes up to `close`, behind the opening bracket; returns how many, or -1. */
static int
sizes(Parser *p, SizeId *out, const char *close)
{
    int n = 0;
    if (accept(p, close)) return 0;
    do {
        if (n == MAX_RANK) return fail(p, "too many axes");
        if ((out[n++] = size(p)) == NO_SIZE) return fail(p, "bad size");
    } while (accept(p, ","));
    return expect(p, close) < 0 ? -1 : n;
}

static int
layout(Parser *p, DType dtype, Type *out)
{
    SizeId shape[MAX_RANK], stride[MAX_RANK];
    if (expect(p, "[") < 0) return -1;
    int rank = sizes(p, shape, "]");
    if (rank < 0 || type_contiguous(p->g, out, dtype, rank, shape) < 0) return fail(p, "bad type");
    if (accept(p, "{")) {
        if (sizes(p, stride, "}") != rank) return fail(p, "as many strides as axes");
        memcpy(out->stride, stride, sizeof(SizeId) * (size_t)rank);
    }
    if (accept(p, "+") && (out->offset = size(p)) == NO_SIZE) return fail(p, "bad offset");
    return 0;
}

/* "cuda", or "cuda:1" of another device than the first. */
static int
device_named(Parser *p, int *out)
{
    char name[16];
    int64_t number_ = 0;
    word(p, name, sizeof name);
    if ((*out = device_from_name(name)) < 0) return fail(p, "unknown device");
    if (*out == DEVICE_HOST || !accept(p, ":")) return 0;
    if (p->g->ndevices == 0) p->g->device[p->g->ndevices++] = -1;
    if (number(p, &number_) < 0) return -1;
    int index = graph_device(p->g, (int)number_);
    if (index < 0) return fail(p, "too many devices");
    *out = device_at(index);
    return 0;
}

static int
type(Parser *p, Type *out)
{
    static const struct {
        const char *name;
        DType dtype;
        Form form;
    } forms[] = {
        {"int", DT_I64, FORM_PYTHON},       {"uint", DT_U64, FORM_PYTHON},
        {"float", DT_F64, FORM_PYTHON},     {"complex", DT_C128, FORM_PYTHON},
        {"bool", DT_BOOL, FORM_PYTHON},     {"bool_", DT_BOOL, FORM_SCALAR},
        {"object", DT_OBJECT, FORM_OBJECT},
    };
    char name[16];
    word(p, name, sizeof name);
    int dtype = dtype_from_name(name);
    int device = DEVICE_HOST;
    bool unaligned = false;
    if (accept(p, "@")) {
        if (device_named(p, &device) < 0) return -1;
        unaligned = accept(p, "~");
    }
    if (*p->at == '[') {
        if (dtype < 0) return fail(p, "unknown dtype");
        if (layout(p, (DType)dtype, out) < 0) return -1;
        out->device = (uint8_t)device;
        out->unaligned = unaligned;
        out->long_long = accept(p, "longlong");
        out->frozen = accept(p, "frozen");
        return 0;
    }
    for (int i = 0; i < COUNT_OF(forms); i++)
        if (strcmp(forms[i].name, name) == 0) {
            *out = type_scalar(forms[i].dtype, forms[i].form);
            return 0;
        }
    if (dtype < 0) return fail(p, "unknown type");
    *out = type_scalar((DType)dtype, FORM_SCALAR);
    return 0;
}

/* ---- nodes ---- */

typedef VEC(NodeId) Ids;

static int
ids(Parser *p, Ids *out)
{
    blanks(p);
    while (*p->at == '%') {
        NodeId one = id(p);
        if (one == NO_NODE || VEC_PUSH(p->g->arena, out, one) < 0) return fail(p, "bad id");
        const char *before = p->at;
        if (!accept(p, ",")) break;
        blanks(p);
        if (*p->at != '%') p->at = before; /* the comma belongs to what follows */
    }
    return 0;
}

static int
attr_ints(Parser *p, Attrs *attrs)
{
    VEC(int64_t) ints = {0};
    int64_t value;
    if (expect(p, "[") < 0) return -1;
    while (!accept(p, "]")) {
        if (number(p, &value) < 0) return -1;
        if (VEC_PUSH(p->g->arena, &ints, value) < 0) return fail(p, "memory");
        accept(p, ",");
    }
    attrs->ints = ints.at;
    attrs->nints = ints.len;
    return 0;
}

/* Adds `object` (stolen) to keep and returns it, borrowed; NULL after fail. */
static PyObject *
kept(Parser *p, PyObject *object)
{
    if (object == NULL || PyList_Append(p->g->keep, object) < 0) {
        Py_XDECREF(object);
        fail(p, "bad object");
        return NULL;
    }
    Py_DECREF(object);
    return object;
}

static int
attr_kwnames(Parser *p, Attrs *attrs)
{
    PyObject *names = PyList_New(0);
    char name[256];
    if (names == NULL || expect(p, "(") < 0) goto failed;
    while (!accept(p, ")")) {
        word(p, name, sizeof name);
        PyObject *string = PyUnicode_InternFromString(name);
        if (name[0] == '\0' || string == NULL || PyList_Append(names, string) < 0) {
            Py_XDECREF(string);
            goto failed;
        }
        Py_DECREF(string);
        accept(p, ",");
    }
    attrs->kwnames = kept(p, PyList_AsTuple(names));
    Py_DECREF(names);
    return attrs->kwnames == NULL ? -1 : 0;
failed:
    Py_XDECREF(names);
    return fail(p, "bad keyword names");
}

static int
attr_value(Parser *p, const char *name, DType dtype, Attrs *attrs)
{
    if (strcmp(name, "ints") == 0 || strcmp(name, "axes") == 0 || strcmp(name, "leaves") == 0)
        return attr_ints(p, attrs);
    if (strcmp(name, "index") == 0 || strcmp(name, "axis") == 0 || strcmp(name, "write") == 0 ||
        strcmp(name, "versions") == 0 || strcmp(name, "kept") == 0 ||
        strcmp(name, "epilogue") == 0 || strcmp(name, "version") == 0)
        return number(p, &attrs->index);
    if (strcmp(name, "kwnames") == 0) return attr_kwnames(p, attrs);
    if (strcmp(name, "view") == 0) {
        attrs->view = arena_alloc(p->g->arena, sizeof(Type));
        return attrs->view == NULL ? fail(p, "memory") : layout(p, dtype, attrs->view);
    }
    char *text = balanced(p);
    if (text == NULL) return -1;
    if (strcmp(name, "number") == 0) {
        attrs->number = PyOS_string_to_double(text, NULL, NULL);
        return PyErr_Occurred() ? fail(p, "bad number") : 0;
    }
    if (strcmp(name, "object") == 0) {
        attrs->object = kept(p, object_parse(p->g, text));
        return attrs->object == NULL ? -1 : 0;
    }
    return fail(p, "unknown attribute");
}

static int
attributes(Parser *p, DType dtype, Attrs *attrs)
{
    while (!accept(p, ")")) {
        char name[32];
        accept(p, ",");
        word(p, name, sizeof name);
        if (strcmp(name, "keepdims") == 0) {
            attrs->keepdims = true;
            continue;
        }
        if (expect(p, "=") < 0 || attr_value(p, name, dtype, attrs) < 0) return -1;
    }
    return 0;
}

/* The text in the parentheses, the closing one included. */
static int
call(Parser *p, Op op, const Type *of, Ids *args, Attrs *attrs)
{
    if (op == OP_input) return number(p, &attrs->index) < 0 ? -1 : expect(p, ")");
    if (op == OP_const) {
        char *text = balanced(p);
        if (text == NULL) return -1;
        attrs->object = kept(p, constant_parse(p->g, of, text));
        return attrs->object == NULL ? -1 : expect(p, ")");
    }
    return ids(p, args) < 0 ? -1 : attributes(p, (DType)of->dtype, attrs);
}

/* `# file:line` and the end of the line. */
static int
position(Parser *p, int *file, int *line)
{
    *file = *line = 0;
    blanks(p);
    if (*p->at == '#') {
        const char *start = p->at + 1, *end = start, *colon = NULL;
        while (*start == ' ') start++;
        for (end = start; *end != '\0' && *end != '\n'; end++)
            if (*end == ':') colon = end;
        if (colon != NULL && Py_ISDIGIT(colon[1])) {
            char *name = arena_copy(p->g->arena, start, (size_t)(colon - start) + 1);
            if (name == NULL) return fail(p, "memory");
            name[colon - start] = '\0';
            *line = atoi(colon + 1);
            if ((*file = graph_file(p->g, name)) < 0) return fail(p, "memory");
        }
        p->at = end;
    }
    if (*p->at != '\n' && *p->at != '\0') return fail(p, "text after the node");
    end_line(p);
    return 0;
}

static int region(Parser *p, RegionId id_);

/* The regions of a node: one, or the two arms of a cond. */
static int
regions(Parser *p, NodeId owner)
{
    for (int i = 0; i < 2; i++) {
        RegionId inner = graph_region(p->g, owner);
        if (inner == NO_REGION || region(p, inner) < 0) return fail(p, "region");
        if (expect(p, "}") < 0) return -1;
        if (!accept(p, "else {")) break;
        end_line(p);
    }
    end_line(p);
    return 0;
}

static int
node(Parser *p, RegionId in)
{
    Graph *g = p->g;
    Type of;
    char name[32];
    Ids args = {0};
    Attrs attrs = {0};
    NodeId wanted = id(p);
    if (wanted == NO_NODE || expect(p, ":") < 0 || type(p, &of) < 0 || expect(p, "=") < 0)
        return -1;
    word(p, name, sizeof name);
    int op = op_from_name(name), file, line;
    if (op < 0) return fail(p, "unknown op");
    if (expect(p, "(") < 0 || call(p, (Op)op, &of, &args, &attrs) < 0) return -1;
    int64_t errors = 0;
    int current = DEVICE_CUDA;
    if (accept(p, "errstate=") && number(p, &errors) < 0) return -1;
    if (accept(p, "on ") && device_named(p, &current) < 0) return -1;
    bool opens = accept(p, "{");
    if (position(p, &file, &line) < 0) return -1;
    for (int i = 0; i < args.len; i++)
        if (args.at[i] >= p->defined.len || !p->defined.at[args.at[i]]) {
            p->line--;
            return fail(p, "an argument is not defined yet");
        }
    graph_set_position(g, file, line);
    g->errors = (uint8_t)errors;
    g->current = (uint8_t)device_index((Device)current);
    if (op == OP_input && attrs.index != g->inputs.len) return fail(p, "inputs out of order");
    NodeId made = graph_make(g, (Op)op, args.len, args.at, &of, &attrs);
    if (place(p, made, wanted) < 0) return -1;
    if (op == OP_input && VEC_PUSH(g->arena, &g->inputs, wanted) < 0) return fail(p, "memory");
    if (VEC_PUSH(g->arena, &g->regions.at[in].nodes, wanted) < 0) return fail(p, "memory");
    return opens ? regions(p, wanted) : 0;
}

static int
params(Parser *p, RegionId in)
{
    do {
        Type of;
        NodeId wanted = id(p);
        if (wanted == NO_NODE || expect(p, ":") < 0 || type(p, &of) < 0) return -1;
        Attrs attrs = {.index = p->g->regions.at[in].params.len};
        NodeId made = graph_make(p->g, OP_input, 0, NULL, &of, &attrs);
        if (place(p, made, wanted) < 0) return -1;
        if (VEC_PUSH(p->g->arena, &p->g->regions.at[in].params, wanted) < 0)
            return fail(p, "memory");
    } while (accept(p, ","));
    end_line(p);
    return 0;
}

static bool
is_defined(const Parser *p, NodeId node_)
{
    return node_ < p->defined.len && p->defined.at[node_];
}

static int
list_end(Parser *p)
{
    blanks(p);
    if (*p->at != '\n' && *p->at != '\0' && *p->at != '#') return fail(p, "text after the list");
    end_line(p);
    return 0;
}

/* Ids to the end of the line, all defined. */
static int
list(Parser *p, Ids *out)
{
    if (ids(p, out) < 0) return -1;
    for (int i = 0; i < out->len; i++)
        if (!is_defined(p, out->at[i])) return fail(p, "a result is not defined");
    return list_end(p);
}

/* The text in parentheses behind an output. */
static int
output_note(Parser *p, Output *out)
{
    *out = (Output){.node = out->node};
    if (expect(p, "root=") < 0 || (out->root = id(p)) == NO_NODE) return -1;
    if (out->root >= p->g->nodes.len) return fail(p, "an output's root is no node");
    while (accept(p, ",")) {
        char name[16];
        word(p, name, sizeof name);
        bool *is = strcmp(name, "fresh") == 0    ? &out->fresh
                   : strcmp(name, "view") == 0   ? &out->view
                   : strcmp(name, "frozen") == 0 ? &out->frozen
                   : strcmp(name, "input") == 0  ? &out->input
                                                 : NULL;
        if (is == NULL) return fail(p, "unknown word of an output");
        *is = true;
    }
    return expect(p, ")");
}

static int
outputs(Parser *p)
{
    blanks(p);
    while (*p->at == '%') {
        NodeId one = id(p);
        if (one == NO_NODE) return -1;
        if (!is_defined(p, one)) return fail(p, "a result is not defined");
        int number_ = graph_output(p->g, one);
        if (number_ < 0) return fail(p, "memory");
        if (accept(p, "(") && output_note(p, &p->g->outputs.at[number_]) < 0) return -1;
        if (!accept(p, ",")) break;
        blanks(p);
    }
    return list_end(p);
}

static int
region(Parser *p, RegionId in)
{
    while (next_line(p)) {
        Ids results = {0};
        if (*p->at == '}' || (in == 0 && strncmp(p->at, "outputs", 7) == 0)) break;
        if (in == 0 && accept(p, "numerics fast")) {
            p->g->fast = true;
            continue;
        }
        if (in == 0 && accept(p, "sizes change")) {
            p->g->sizes_change = true;
            continue;
        }
        if (accept(p, "params")) {
            if (params(p, in) < 0) return -1;
        } else if (accept(p, "results")) {
            if (list(p, &results) < 0) return -1;
            Region *r = &p->g->regions.at[in];
            r->results.at = results.at;
            r->results.len = results.len;
            r->results.cap = results.cap;
        } else if (node(p, in) < 0) {
            return -1;
        }
    }
    return 0;
}

Graph *
graph_parse(Arena *arena, PyObject *keep, const char *text)
{
    Graph *g = graph_new(arena, keep);
    if (g == NULL) return NULL;
    Parser p = {.g = g, .at = text, .line = 1};
    if (region(&p, 0) < 0) return NULL;
    if (expect(&p, "outputs") < 0 || outputs(&p) < 0) return NULL;
    if (next_line(&p)) {
        fail(&p, "text after the outputs");
        return NULL;
    }
    graph_set_position(g, 0, 0);
    return g;
}
