/* The table of the kinds of values: value_kinds.def with the functions of all layers. */
#include "control.h"

const KindOfValue value_kinds[] = {
#define KIND(name, exact, type, describe, known, truth, iterate, next, length, contains,           \
             subscript, attribute, store, call, build, merges, leave, parts)                       \
    [V_##name] = {exact,    type,      describe,  known, truth, iterate, next, length,             \
                  contains, subscript, attribute, store, call,  merges,  parts},
#include "../core/value_kinds.def"
};

const Above things_above = {
    .binary = operator_binary,
    .compare = operator_compare,
    .unary = operator_unary,
    .is = operator_is,
    .hash = special_hash,
    .contains = operator_contains,
    .subscript = operator_subscript,
    .store_subscript = operator_store_subscript,
    .delete_subscript = operator_delete_subscript,
    .no_attribute = no_attribute,
    .cannot_store = cannot_store,
    .run = interp_run,
    .inlined = call_inlined,
    .model_holds = model_holds,
    .condition_of_lengths = condition_of_lengths,
    .model_from_source = model_from_source,
    .series_from_source = series_from_source,
    .dict_of = model_dict,
    .part_length = part_length,
    .build = build_value,
    .append_in_loop = loop_append,
    .list_in_loop = loop_list,
    .draw_in_loop = loop_draw,
    .draw_compiled = loop_draw_compiled,
    .attribute_in_loop = loop_attribute_stored,
};
