/* for over a range, kept as a loop region. */
#include "interp.h"

Answer
capture_loop(Interp *in, Value *iterator)
{
    (void)in;
    (void)iterator;
    return ANSWER_NO;
}
