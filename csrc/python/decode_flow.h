/* Private to python/: the parts of decoding beside decode.c. */
#ifndef PYCOMPILE_DECODE_FLOW_H
#define PYCOMPILE_DECODE_FLOW_H

#include "python.h"

/* decode_flow.c: the line of each unit, 0 where there is none. */
void code_lines(PyCodeObject *code, int32_t *lines, int nunits);
/* decode_flow.c: fills Instr.depth by following the code from its start and into its handlers.
   Sets `aside` if two paths disagree.  -1 with MemoryError set. */
int decode_depths(Decoded *decoded);
/* decode_flow.c: what the instruction adds to the depth; `jumps`: when it takes its jump. */
int instr_effect(const Instr *instr, bool jumps);

#endif
