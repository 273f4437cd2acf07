/* What a plan is worth; see worth.c. */
#ifndef PYCOMPILE_CAPTURE_WORTH_H
#define PYCOMPILE_CAPTURE_WORTH_H

#include "../capture.h"

/* What running the graph as a plan saves per run, in units of about 30 ns; 0 or less: it is left to
   CPython. */
int capture_gain(const Capture *capture, const CaptureRequest *request);
/* The same where plans are made of everything (plan_always, capture_all, backends): what one saves
   by the model all the same, at least 1. */
int capture_saves(const Capture *capture, const CaptureRequest *request);

#endif
