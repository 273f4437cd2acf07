/* What a plan is worth; see worth.c. */
#ifndef PYCOMPILE_CAPTURE_WORTH_H
#define PYCOMPILE_CAPTURE_WORTH_H

#include "../capture.h"

/* The saving per run if the graph is run as a plan, in units of about 30 ns; 0 or less: it is left
   to CPython, and Capture.left says why. */
int capture_gain(Capture *capture, const CaptureRequest *request);
/* Is there anything of the array library to compute? */
bool capture_has_numpy(const Capture *capture);
/* The saving by the model, at least 1, where plans are made of everything (plan_always,
   capture_all, backends). */
int capture_saves(const Capture *capture, const CaptureRequest *request);
/* What its loops alone save in this call, as far as it is known how often they turn. */
int capture_certain(Capture *capture);
/* A call of np.median in a turn: no more than that, and arrays/bare_number.c does it. */
bool node_is_median(const Node *node);
/* How many items of a list may be read for that: half of it, at most. */
int64_t capture_most_items(const Capture *capture);

#endif
