/* What functions of NumPy that give a number, or numbers, of many elements do on bare memory:
   bare_number.c, beside bare_loop of arrays.h, with data, strides and dimensions like it. */
#ifndef PYCOMPILE_BARE_H
#define PYCOMPILE_BARE_H

#include "arrays.h"

typedef enum {
    BARE_MEDIAN = 1, /* of rows and columns; scratch for so many of 8 bytes */
    BARE_MAX,        /* of rows and columns, as is the next; no scratch */
    BARE_MIN,
    BARE_SCAN, /* running sums of a vector; no scratch */
} BareNumber;
/* ANSWER_NO: not for this dtype.  The loop fails where NumPy's result depends on an order. */
Answer bare_number_loop(BareNumber bare, DType dtype, UfuncLoop *out);

#endif
