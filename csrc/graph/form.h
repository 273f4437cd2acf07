/* Private to graph/: what print.c and parse.c share. */
#ifndef PYCOMPILE_GRAPH_FORM_H
#define PYCOMPILE_GRAPH_FORM_H

#include "graph.h"

enum { LITERAL_PRINTED = 400 };   /* longest literal printed, in bytes */
enum { CONSTANT_PRINTED = 1024 }; /* longest array constant that is printed by its elements */

/* Whether the strides are NumPy's for a fresh array in C order; these are not printed. */
bool type_is_natural(const Graph *g, const Type *type);

/* ---- constant.c ---- */
void constant_print(const Graph *g, const Node *node, Text *out);
/* A new reference to the constant that `text` describes; NULL with an exception set. */
PyObject *constant_parse(const Graph *g, const Type *type, const char *text);

/* ---- object.c: Python objects by a literal, an importable name, or their place in keep ---- */
void object_print(const Graph *g, PyObject *object, Text *out);
PyObject *object_parse(const Graph *g, const char *text);
/* Prints `@n`, the object's place in keep, even if it has a literal or a name. */
void object_print_place(const Graph *g, PyObject *object, Text *out);

/* ---- view.c ---- */
int graph_view_init(PyObject *module);

#endif
