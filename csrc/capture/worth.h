/* What a plan is worth; see worth.c. */
#ifndef PYCOMPILE_CAPTURE_WORTH_H
#define PYCOMPILE_CAPTURE_WORTH_H

#include "capture.h"

/* What running the graph as a plan saves per run, in units of about 30 ns; 0 or less: it is left to
   CPython. */
int capture_gain(const Capture *capture, const CaptureRequest *request);

#endif
