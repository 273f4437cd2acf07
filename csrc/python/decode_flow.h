/* Private to python/: the parts of decoding outside decode.c. */
#ifndef PYCOMPILE_DECODE_FLOW_H
#define PYCOMPILE_DECODE_FLOW_H

#include "python.h"

/* decode_flow.c: the line of each unit, 0 if it has none. */
void code_lines(PyCodeObject *code, int32_t *lines, int nunits);
/* decode_flow.c: fills Instr.depth by following the code from its start and into its handlers.
   Sets `aside` if two paths disagree.  -1 with MemoryError set. */
int decode_depths(Decoded *decoded);
/* decode_flow.c: the instruction's change of the depth; `jumps`: if it takes its jump. */
int instr_effect(const Instr *instr, bool jumps);

#endif
