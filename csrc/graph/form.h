/* Private to graph/: what print.c and parse.c share. */
#ifndef PYCOMPILE_GRAPH_FORM_H
#define PYCOMPILE_GRAPH_FORM_H

#include "graph.h"

enum { LITERAL_PRINTED = 400 };   /* longest literal, in bytes; none that shows the environment */
enum { CONSTANT_PRINTED = 1024 }; /* longest array constant that is printed by its elements */

/* The strides that a type without printed ones has: NumPy's for a fresh array in C order. */
bool type_is_natural(const Graph *g, const Type *type);

/* ---- constant.c ---- */
void constant_print(const Graph *g, const Node *node, Text *out);
/* A new reference to the constant that `text` says; NULL with ValueError set. */
PyObject *constant_parse(const Graph *g, const Type *type, const char *text);

/* ---- object.c: Python objects by a literal, an importable name, or their place in keep ---- */
void object_print(const Graph *g, PyObject *object, Text *out);
PyObject *object_parse(const Graph *g, const char *text);
/* `@n` in any case. */
void object_print_place(const Graph *g, PyObject *object, Text *out);

/* ---- view.c ---- */
int graph_view_init(PyObject *module);

#endif
