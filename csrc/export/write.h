/* Inside export/: what its files share. */
#ifndef PYCOMPILE_EXPORT_WRITE_H
#define PYCOMPILE_EXPORT_WRITE_H

#include "export.h"

typedef struct {
    const ExportWanted *wanted;
    const struct Capture *capture;
    const Graph *graph;
    Program *program;
    PyObject *const *reached;
    PyObject *reasons, *loops; /* lists of tuples */
    PyObject *arguments;       /* list of (is it written, least lengths) */
    VEC(int32_t)
    results; /* builds of kind BUILD_BOX, in the order in which the library gives them */
    VEC(int32_t) selected; /* steps that select by a mask */
    Text out;              /* the tables, and the call */
    bool *needed;          /* by size: the call keeps it in memory */
    Text finds;            /* the sizes that a call begins with */
} Export;

/* ---- write.c ---- */
/* Notes why it cannot be exported; `file` may be NULL.  0, or -1 with the error set. */
int export_refuse(Export *e, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The argument of the library that the source is, or -1. */
int export_argument(const Export *e, int32_t source);
/* Is the source part of what the caller passes? */
bool export_is_passed(const Export *e, int32_t source);

/* Notes that the library needs the loop, or product, of this name.  0 or -1. */
int export_note_loop(Export *e, const Step *step, const char *name);
void put_place(Export *e, Place place);
void put_ids(Export *e, int count, const int32_t *ids);
/* Sizes that a call needs. */
void put_needed(Export *e, int count, const SizeId *sizes);
void export_need(Export *e, SizeId size);
void put_dtype(Export *e, const Type *type);
void put_text(Export *e, const char *text);
/* The bytes as a constant's address. */
void put_bytes(Export *e, const char *bytes, size_t count);

/* ---- checks.c ---- */
/* The tables of arguments and checks.  0, or -1 with the error set. */
int export_checks(Export *e, int *narguments, int *nchecks);

/* ---- steps.c ---- */
/* "(const ExportedStep[]){…}" and its kin, into e->out; reasons for those that have no C. */
int export_steps(Export *e);
int export_commits(Export *e);

/* ---- calls.c ---- */
/* A call that has a C form, by the callable's name.  1: it is put; 0: it has none; -1. */
int export_call(Export *e, const Step *step, const char *name);
int export_find_selected(Export *e);
/* The call that makes the buffer by a mask, or NULL; the size that is how many it selects. */
const ExternStep *export_selection(const Export *e, BufferId id);
int32_t export_selected(const Export *e, BufferId id);
/* 1 + the first result that is the whole of the buffer, or 0. */
int export_placed(const Export *e, BufferId id);

#endif
