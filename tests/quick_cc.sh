#!/bin/sh
# The C compiler without optimisation: for tests that do not ask about kernels (conftest.py), and for many
# programs (test_loop_fuzz.py).
exec "${QUICK_CC:-cc}" "$@" -O0
