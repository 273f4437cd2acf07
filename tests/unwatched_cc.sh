#!/bin/sh
# The C compiler outside of the sanitizer that watches the process, in which each compile takes twice the time.
# Without optimisation: that is another half of it, and no access is optimised away before it is looked at.
unset LD_PRELOAD
exec "${UNWATCHED_CC:-cc}" "$@" -O0
