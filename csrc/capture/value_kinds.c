/* The table of the kinds of values: value_kinds.def with the functions of all layers. */
#include "branch.h"
#include "numpy_rules.h"
#include "objects.h"

const KindOfValue value_kinds[] = {
#define KIND(name, exact, type, describe, known, truth, iterate, next, length, contains, subscript, \
             attribute, store, call, build, merges)                                                 \
    [V_##name] = {exact, type,     describe,  known,     truth, iterate, next,                      \
                  length, contains, subscript, attribute, store, call,    merges},
#include "value_kinds.def"
#undef KIND
};
