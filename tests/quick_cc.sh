#!/bin/sh
# The C compiler without optimisation: for tests of many programs (test_loop_fuzz.py).
exec "${QUICK_CC:-cc}" "$@" -O0
