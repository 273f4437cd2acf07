/* Inside runtime/: what captures cost and save, kept with the disk cache; see prices.c. */
#ifndef PYCOMPILE_RUNTIME_PRICES_H
#define PYCOMPILE_RUNTIME_PRICES_H

#include "runtime.h"

/* What a former process has noted of the code; false: nothing.  *saved_ns below 0: its captures
   came to nothing.  No exception. */
bool prices_find(PyCodeObject *code, int64_t *price_ns, int64_t *saved_ns);
/* To be written at the end.  Of savings the note keeps half at least: a process that ends early has
   not seen all. */
void prices_put(PyCodeObject *code, int64_t price_ns, int64_t saved_ns);
void prices_write(void);

#endif
