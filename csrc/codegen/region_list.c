/* The lists that a kept loop appends to or changes.

   The items of a list are words of 8 bytes, one for each number (two for a complex one), in memory
   of the log's that grows (runtime/plan_region_log.c).  While the loop runs the place of that
   memory, the words used and those that there is room for are variables, with the number of the
   list's array.  The first two are in the array before the loop, of items that it then copies, and
   again behind it, where the plan makes Python's objects of the words (arrays/rows.c).  A run that
   is undone leaves them unused.

   Items that are taken from the front stay where they are: `gone` counts their words.  An append
   that finds no room moves the others there once most of the words are such.  One before the first
   that finds none moves them as far to the back as there are words.

   A dict has an index besides, a table with open addresses: for each item the number of its place's
   word plus one, where the key's hash says or behind that; it is half full at most. */
#include "emit.h"

const char DICT_TEXT[] =
    "static inline uint64_t dict_hash(int64_t key)\n"
    "{\n"
    "    uint64_t mixed = (uint64_t)key ^ (uint64_t)key >> 32; /* of multiples of 2**40, too */\n"
    "    mixed *= 0x9e3779b97f4a7c15ull;\n"
    "    return mixed ^ mixed >> 32;\n"
    "}\n"
    "static inline int64_t dict_find(const char *rows, const int64_t *index, uint64_t mask,\n"
    "                                int64_t key)\n"
    "{\n"
    "    for (uint64_t at = dict_hash(key);; at++) {\n"
    "        const int64_t place = index[at & mask];\n"
    "        int64_t other;\n"
    "        if (!place) return -1;\n"
    "        __builtin_memcpy(&other, rows + 8 * place, 8);\n"
    "        if (other == key) return place - 1;\n"
    "    }\n"
    "}\n"
    "static inline void dict_add(int64_t *index, uint64_t mask, int64_t key, int64_t place)\n"
    "{\n"
    "    uint64_t at = dict_hash(key);\n"
    "    while (index[at & mask]) at++;\n"
    "    index[at & mask] = place + 1;\n"
    "}\n"
    "/* An index of all items, with room for as many more; nonzero: fail. */\n"
    "static int dict_index(KernelLog *log, int64_t list, const char *rows, int64_t used,\n"
    "                      int64_t **index, uint64_t *mask)\n"
    "{\n"
    "    int64_t size = 64, room, key;\n"
    "    while (size < 4 * (used / 3)) size *= 2;\n"
    "    if (!(*index = (int64_t *)log->grow(log, list, size, &room))) return 1;\n"
    "    __builtin_memset(*index, 0, (uint64_t)size * 8);\n"
    "    *mask = (uint64_t)size - 1;\n"
    "    for (int64_t place = 0; place < used; place += 3) {\n"
    "        __builtin_memcpy(&key, rows + 8 * (place + 1), 8);\n"
    "        dict_add(*index, *mask, key, place);\n"
    "    }\n"
    "    return 0;\n"
    "}\n";

static int
words_of(const Emit *e, int32_t at)
{
    return dtype_is_complex(instr_at(e, at)->dtype) ? 2 : 1;
}

/* The number of the list among those of the kernel. */
static int
list_number(const Emit *e, int32_t array)
{
    int number = 0;
    for (int32_t i = 0; i < array; i++) number += e->kernel->region->arrays.at[i].grows;
    return number;
}

void
region_lists(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = 0; i < r->arrays.len; i++) {
        if (!r->arrays.at[i].grows) continue;
        int q = r->arrays.at[i].operand;
        emit_line(e, "char *rows%d = 0;", i);
        emit_line(e, "int64_t used%d = ((const i64 *)q%d)[1], room%d = 0, gone%d = 0;", i, q, i, i);
        emit_line(e, "if (used%d > 0) {", i);
        emit_line(e, "    if (!(rows%d = log->grow(log, %d, used%d, &room%d))) return 1;", i,
                  list_number(e, i), i, i);
        emit_line(e,
                  "    __builtin_memcpy(rows%d, *(const void *const *)q%d, (uint64_t)used%d * 8);",
                  i, q, i);
        emit_line(e, "}");
        if (!r->arrays.at[i].keyed) continue;
        emit_line(e, "int64_t *index%d;", i);
        emit_line(e, "uint64_t mask%d;", i);
        emit_line(e, "if (dict_index(log, %d, rows%d, used%d, &index%d, &mask%d)) return 1;",
                  LOG_ARRAYS + list_number(e, i), i, i, i, i);
    }
}

/* The number in a word of the item at a place, `offset` words in. */
static void
put_word(Emit *e, int list, const char *place, int offset, int32_t at)
{
    char name[16];
    region_name(e, at, name, sizeof name);
    emit_line(e, "__builtin_memcpy(rows%d + 8 * (%s + %d), &%s, sizeof %s);", list, place, offset,
              name, name);
}

/* The arguments from number `first` on are the item's words. */
static void
emit_append(Emit *e, const Instr *v, int first)
{
    int words = 0, list = v->operand;
    char place[16];
    snprintf(place, sizeof place, "used%d", list);
    for (int k = first; k < v->nargs; k++) words += words_of(e, v->args[k]);
    emit_line(e, "if (RARELY(used%d + %d > room%d) && gone%d > used%d / 4 * 3) {", list, words,
              list, list, list);
    emit_line(e, "    used%d -= gone%d;", list, list);
    emit_line(e, "    __builtin_memmove(rows%d, rows%d + 8 * gone%d, (uint64_t)used%d * 8);", list,
              list, list, list);
    emit_line(e, "    gone%d = 0;", list);
    emit_line(e, "}");
    emit_line(e, "if (RARELY(used%d + %d > room%d) &&", list, words, list);
    emit_line(e, "    !(rows%d = log->grow(log, %d, used%d + %d, &room%d))) %s", list,
              list_number(e, list), list, words, list, REGION_FAIL);
    for (int k = first, word = 0; k < v->nargs; word += words_of(e, v->args[k++]))
        put_word(e, list, place, word, v->args[k]);
    emit_line(e, "used%d += %d;", list, words);
}

/* As emit_append, before the first item. */
static void
emit_unshift(Emit *e, const Instr *v, int64_t words)
{
    int list = v->operand;
    char place[16];
    emit_line(e, "if (RARELY(gone%d < %d)) {", list, (int)words);
    emit_line(e, "    const i64 more = used%d - gone%d + 64;", list, list);
    emit_line(e, "    if (!(rows%d = log->grow(log, %d, used%d + more, &room%d))) %s", list,
              list_number(e, list), list, list, REGION_FAIL);
    emit_line(e, "    __builtin_memmove(rows%d + 8 * (gone%d + more), rows%d + 8 * gone%d,", list,
              list, list, list);
    emit_line(e, "                      (uint64_t)(used%d - gone%d) * 8);", list, list);
    emit_line(e, "    used%d += more;", list);
    emit_line(e, "    gone%d += more;", list);
    emit_line(e, "}");
    emit_line(e, "gone%d -= %d;", list, (int)words);
    snprintf(place, sizeof place, "gone%d", list);
    for (int k = 0; k < v->nargs; k++) put_word(e, list, place, k, v->args[k]);
}

static void
emit_find(Emit *e, const Instr *v, int32_t at)
{
    char key[16];
    region_name(e, v->args[0], key, sizeof key);
    emit_line(e, "const i64 v%d = dict_find(rows%d, index%d, mask%d, %s);", at, v->operand,
              v->operand, v->operand, key);
}

static void
emit_entry(Emit *e, int32_t at, int64_t word)
{
    const Instr *v = instr_at(e, at);
    char place[16], otherwise[16];
    region_name(e, v->args[0], place, sizeof place);
    emit_line(e, "%s v%d;", dtype_name(v->dtype), at);
    if (v->nargs > 1) {
        region_name(e, v->args[1], otherwise, sizeof otherwise);
        emit_line(e, "if (%s < 0) v%d = %s; else", place, at, otherwise);
    } else {
        emit_line(e, "if (RARELY(%s < 0)) %s", place, REGION_FAIL);
    }
    emit_line(e, "__builtin_memcpy(&v%d, rows%d + 8 * (%s + %d), sizeof v%d);", at, v->operand,
              place, (int)word, at);
}

static void
emit_set(Emit *e, const Instr *v)
{
    enum { PLACE, TAG, KEY, VALUE };
    int list = v->operand;
    char place[16], key[16];
    region_name(e, v->args[PLACE], place, sizeof place);
    region_name(e, v->args[KEY], key, sizeof key);
    emit_line(e, "if (%s >= 0) {", place);
    put_word(e, list, place, 0, v->args[TAG]);
    put_word(e, list, place, 2, v->args[VALUE]);
    emit_line(e, "} else {");
    emit_append(e, v, TAG);
    emit_line(e, "if ((uint64_t)used%d / 3 * 2 <= mask%d)", list, list);
    emit_line(e, "    dict_add(index%d, mask%d, %s, used%d - 3);", list, list, key, list);
    emit_line(e, "else if (dict_index(log, %d, rows%d, used%d, &index%d, &mask%d)) %s",
              LOG_ARRAYS + list_number(e, list), list, list, list, list, REGION_FAIL);
    emit_line(e, "}");
}

/* Declares `w`, with the instruction's number: where the item at the index begins. */
static void
find_item(Emit *e, const Instr *v, int32_t at, int64_t words)
{
    char index[16];
    region_name(e, v->args[0], index, sizeof index);
    emit_line(e, "const i64 n_%d = (i64)((uint64_t)(used%d - gone%d) / %d);", at, v->operand,
              v->operand, (int)words);
    emit_line(e, "const i64 w_%d = %s < 0 ? %s + n_%d : %s;", at, index, index, at, index);
    emit_line(e, "if (RARELY((uint64_t)w_%d >= (uint64_t)n_%d)) %s", at, at, REGION_FAIL);
}

static void
emit_item(Emit *e, int32_t at, const int64_t *ints)
{
    const Instr *v = instr_at(e, at);
    find_item(e, v, at, ints[0]);
    emit_line(e, "%s v%d;", dtype_name(v->dtype), at);
    emit_line(e, "__builtin_memcpy(&v%d, rows%d + 8 * (gone%d + w_%d * %d + %d), sizeof v%d);", at,
              v->operand, v->operand, at, (int)ints[0], (int)ints[1], at);
}

static void
emit_put(Emit *e, int32_t at, const int64_t *ints)
{
    const Instr *v = instr_at(e, at);
    char place[64];
    find_item(e, v, at, ints[0]);
    snprintf(place, sizeof place, "gone%d + w_%d * %d", v->operand, at, (int)ints[0]);
    for (int k = 1; k < v->nargs; k++) put_word(e, v->operand, place, k - 1, v->args[k]);
}

void
region_list(Emit *e, int32_t at)
{
    const Instr *v = instr_at(e, at);
    const Node *node = graph_node(e->graph, v->node);
    const int64_t *ints = node->attrs.ints;
    switch (node->op) {
    case OP_element_append: emit_append(e, v, 0); break;
    case OP_element_find: emit_find(e, v, at); break;
    case OP_element_entry: emit_entry(e, at, ints[1]); break;
    case OP_element_set: emit_set(e, v); break;
    case OP_element_unshift: emit_unshift(e, v, ints[0]); break;
    case OP_element_put: emit_put(e, at, ints); break;
    case OP_element_item: emit_item(e, at, ints); break;
    case OP_element_pop:
    case OP_element_shift:
        emit_line(e, "if (RARELY(used%d == gone%d)) %s", v->operand, v->operand, REGION_FAIL);
        if (node->op == OP_element_pop)
            emit_line(e, "used%d -= %d;", v->operand, (int)ints[0]);
        else
            emit_line(e, "gone%d += %d;", v->operand, (int)ints[0]);
        break;
    default:
        emit_line(e, "const i64 v%d = (i64)((uint64_t)(used%d - gone%d) / %d);", at, v->operand,
                  v->operand, (int)ints[0]);
    }
    e->mark[at] = e->body;
}

void
region_lists_end(Emit *e)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = 0; i < r->arrays.len; i++) {
        if (!r->arrays.at[i].grows) continue;
        int q = r->arrays.at[i].operand;
        emit_line(e, "((i64 *)q%d)[0] = (i64)rows%d + 8 * gone%d;", q, i, i);
        emit_line(e, "((i64 *)q%d)[1] = used%d - gone%d;", q, i, i);
    }
}
