#!/bin/sh
# The C compiler with little optimisation: of an exported library's code it takes a third of the time that it takes
# without any, where each function that is inlined makes variables of its own.
exec "${QUICK_CC:-cc}" "$@" -Og
