/* The functions that drive loops of steps, as they are written: drive.c, drive_local.c. */
#ifndef PYCOMPILE_DRIVE_H
#define PYCOMPILE_DRIVE_H

#include "emit.h"

typedef struct {
    const Graph *graph;
    const Program *program;
    Text *out;
    int number; /* of the drive */
    int first, last;
    const Turned *turned; /* by kernel */
    int32_t *first_loop;  /* by step of the program */
    bool *labelled;       /* by step: one goes to it */
    bool by_plan;         /* some steps are always done by the plan, which may change places */
    bool *left;           /* by buffer: a step that is done by the plan has it */
    bool *local, *fixed;  /* … it is a C variable; its place is */
    bool *measured;       /* by size: the drive's steps make it known; the plan's are not current */
    bool *used;           /* … it is a C variable */
    int flagged;          /* the first step whose flags are looked at later; -1: none is */
    bool looks_later;     /* flags of all kernels mean the same */
} DriveText;

/* Is there any measured size? */
bool drive_measures(const DriveText *d);

void drive_locals_find(DriveText *d);
/* The variables, with what is in the plan's memory; and back. */
void drive_locals_begin(const DriveText *d);
void drive_locals_end(const DriveText *d);
void drive_put_buffer(const DriveText *d, BufferId id);
void drive_put_place(const DriveText *d, Place place);
/* Operations of the step are done before it, though only variables have their results; those that
   come behind, behind it, if variables are all that they need. */
void drive_put_anchor(DriveText *d, const Step *step);
void drive_put_anchors(DriveText *d);
/* The variables that the step has, to the plan's memory, or back. */
void drive_put_shared(const DriveText *d, const Step *step, bool back);

#endif
