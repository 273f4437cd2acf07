#!/bin/sh
# The C compiler outside of the sanitizer that watches the process: in it each compile takes twice the time.
unset LD_PRELOAD
exec "${UNWATCHED_CC:-cc}" "$@"
