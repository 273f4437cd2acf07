/* What is known of a cache entry, as text beside it: `KEY.txt`.

       function: gelu
       file: /home/me/model.py
       line: 12
       shapes: f32[512,512], f32[512]
       made: 1763807112                     (seconds since 1970)
       seconds: 0.081                       (of the C compiler's)
       source: 5d41402abc4b2a76b9719d911017c592
       compiler: ... cc (Debian 14.2.0-19) 14.2.0
       flags: ...
       cpu: ... AMD EPYC 7B13: x86-64 with avx2 fma
       options: ...
       hits: 40 ...

   The parts' digests say in which of them a miss differs from what is kept for the function.  Each
   use adds one dot at the end, which many processes can do at once; a long row of dots is added to
   the number before them.  Records are for people: an entry without one, or with one that cannot be
   read, is as good.  Equal kernels of several functions are one entry, named after the first. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RECORD_BYTES = 16384, FOLD_BYTES = 8192, FIELD = 1024, NONE = 2 * PART_COUNT };
static const char *const part_names[PART_COUNT] = {"source", "compiler", "flags", "cpu", "options"};

typedef struct {
    char function[FIELD], file[FIELD], shapes[FIELD];
    int line;
    long long made, hits;
    double seconds;
    char digest[PART_COUNT][DIGEST_HEX];
    char text[PART_COUNT][256]; /* the part in words, where that is useful */
} Record;

static void
record_name(const Digest *key, char out[DIGEST_HEX + 4])
{
    digest_hex(key, out);
    strcpy(out + DIGEST_HEX - 1, ".txt");
}

/* ---- text and back ---- */

/* The text as one line: characters that would end the line become question marks. */
static void
put_field(Text *text, const char *name, const char *value)
{
    char clean[FIELD];
    snprintf(clean, sizeof(clean), "%s", value);
    for (char *at = clean; *at != '\0'; at++)
        if ((unsigned char)*at < ' ') *at = '?';
    text_printf(text, "%s: %s\n", name, clean);
}

static void
put_record(Text *text, const Record *record)
{
    put_field(text, "function", record->function);
    put_field(text, "file", record->file);
    put_field(text, "shapes", record->shapes);
    text_printf(text, "line: %d\nmade: %lld\nseconds: %.3f\n", record->line, record->made,
                record->seconds);
    for (int i = 0; i < PART_COUNT; i++)
        text_printf(text, "%s: %s%s%s\n", part_names[i], record->digest[i],
                    *record->text[i] ? " " : "", record->text[i]);
    text_printf(text, "hits: %lld ", record->hits);
}

static void
parse_part(const char *value, char digest[DIGEST_HEX], char text[256])
{
    size_t length = strcspn(value, " ");
    snprintf(digest, DIGEST_HEX, "%.*s", (int)length, value);
    snprintf(text, 256, "%s", value[length] ? value + length + 1 : "");
}

static void
parse_hits(const char *value, long long *hits)
{
    char *rest;
    *hits = strtoll(value, &rest, 10);
    for (; *rest != '\0'; rest++) *hits += *rest == '.';
}

static void
parse_field(Record *record, const char *name, const char *value)
{
    if (strcmp(name, "function") == 0)
        snprintf(record->function, FIELD, "%s", value);
    else if (strcmp(name, "file") == 0)
        snprintf(record->file, FIELD, "%s", value);
    else if (strcmp(name, "shapes") == 0)
        snprintf(record->shapes, FIELD, "%s", value);
    else if (strcmp(name, "line") == 0)
        record->line = (int)strtol(value, NULL, 10);
    else if (strcmp(name, "made") == 0)
        record->made = strtoll(value, NULL, 10);
    else if (strcmp(name, "seconds") == 0)
        record->seconds = strtod(value, NULL);
    else if (strcmp(name, "hits") == 0)
        parse_hits(value, &record->hits);
    for (int i = 0; i < PART_COUNT; i++)
        if (strcmp(name, part_names[i]) == 0) parse_part(value, record->digest[i], record->text[i]);
}

/* A field that is missing or malformed stays empty.  Changes `data`. */
static void
parse_record(char *data, Record *record)
{
    char *rest = NULL;
    *record = (Record){0};
    for (char *line = strtok_r(data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *colon = strstr(line, ": ");
        if (colon == NULL) continue;
        *colon = '\0';
        parse_field(record, line, colon + 2);
    }
}

/* False: there is no record. */
static bool
read_record(const char *name, Record *record)
{
    char data[RECORD_BYTES] = "";
    bool there = cache_read_note(name, data, sizeof(data)) == ANSWER_YES;
    if (!there) *data = '\0';
    parse_record(data, record);
    return there;
}

static void
write_record(const char *name, const Record *record)
{
    Text text = {0};
    put_record(&text, record);
    if (!text.failed) cache_write_note(name, text.data);
    text_free(&text);
}

/* ---- an entry's life ---- */

void
cache_record_made(const CodeWanted *wanted, double seconds)
{
    const CodeOrigin *origin = &wanted->origin;
    const KeyParts *parts = &wanted->parts;
    char name[DIGEST_HEX + 4];
    Record record = {.line = origin->line, .made = time(NULL), .seconds = seconds};
    snprintf(record.function, FIELD, "%s", origin->function);
    snprintf(record.file, FIELD, "%s", origin->file);
    snprintf(record.shapes, FIELD, "%s", origin->shapes ? origin->shapes : "");
    for (int i = 0; i < PART_COUNT; i++) digest_hex(&parts->digest[i], record.digest[i]);
    snprintf(record.text[PART_COMPILER], 256, "%s", parts->compiler);
    cpu_describe(record.text[PART_CPU], 256);
    record_name(&wanted->key, name);
    write_record(name, &record);
}

void
cache_record_hit(const Digest *key)
{
    char name[DIGEST_HEX + 4], path[CACHE_PATH];
    Record record;
    struct stat info;
    record_name(key, name);
    if (!cache_note_path(name, path)) return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    bool long_row = write(fd, ".", 1) == 1 && fstat(fd, &info) == 0 && info.st_size > FOLD_BYTES;
    close(fd);
    if (long_row && read_record(name, &record)) write_record(name, &record);
}

/* ---- from another machine ---- */

/* The record of a text, whose compiler is this machine's if it is described alike. */
static void
read_text(const char *text, const KeyParts *here, Record *record)
{
    char data[RECORD_BYTES];
    snprintf(data, sizeof(data), "%s", text);
    parse_record(data, record);
    record->hits = 0;
    if (here != NULL && strcmp(record->text[PART_COMPILER], here->compiler) == 0)
        digest_hex(&here->digest[PART_COMPILER], record->digest[PART_COMPILER]);
}

/* False: a digest is missing. */
static bool
key_of(const Record *record, Digest *key)
{
    KeyParts parts = {0};
    for (int i = 0; i < PART_COUNT; i++)
        if (!digest_parse(record->digest[i], &parts.digest[i])) return false;
    *key = cache_key(&parts);
    return true;
}

bool
cache_record_key(const char *text, const KeyParts *here, const Digest *sealed, Digest *key)
{
    Record record;
    Digest theirs;
    read_text(text, NULL, &record);
    if (!key_of(&record, &theirs) || memcmp(&theirs, sealed, sizeof(theirs)) != 0) return false;
    read_text(text, here, &record);
    return key_of(&record, key);
}

void
cache_record_keep(const char *text, const KeyParts *here, const Digest *key)
{
    char name[DIGEST_HEX + 4];
    Record record;
    read_text(text, here, &record);
    record_name(key, name);
    write_record(name, &record);
}

/* ---- all of them ---- */

/* Calls `visit` for each entry's record; an unreadable record counts as empty. */
static void
visit_records(void (*visit)(const char *name, const Record *record, void *context), void *context)
{
    const char *folder = cache_folder();
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    if (dir == NULL) return;
    for (struct dirent *item; (item = readdir(dir)) != NULL;) {
        char name[DIGEST_HEX + 4];
        Record record;
        if (!cache_is_entry(item->d_name)) continue;
        snprintf(name, sizeof(name), "%.*s.txt", DIGEST_HEX - 1, item->d_name);
        read_record(name, &record);
        visit(item->d_name, &record, context);
    }
    closedir(dir);
}

/* ---- why a miss ---- */

typedef struct {
    const CodeOrigin *origin;
    char digest[PART_COUNT][DIGEST_HEX];
    Record nearest;
    int differing; /* NONE: there is no entry of this function */
    char name[DIGEST_HEX + 4];
} Search;

static void
look_at(const char *name, const Record *record, void *context)
{
    Search *search = context;
    int differing = 0;
    if (strcmp(record->function, search->origin->function) != 0 ||
        strcmp(record->file, search->origin->file) != 0)
        return;
    for (int i = 0; i < PART_COUNT; i++)
        if (strcmp(record->digest[i], search->digest[i]) != 0)
            differing += i == PART_SOURCE ? PART_COUNT : 1; /* other shapes: far off */
    if (differing > search->differing ||
        (differing == search->differing && record->made < search->nearest.made))
        return;
    search->differing = differing;
    search->nearest = *record;
    snprintf(search->name, sizeof(search->name), "%s", name);
}

/* ": compiler (then cc 13.2, now cc 14.2), cpu (…)" */
static void
put_differences(Text *text, const Search *search, const KeyParts *parts)
{
    const char *separator = "";
    for (int i = 0; i < PART_COUNT; i++) {
        char now[FIELD] = "";
        const char *then = i == PART_SOURCE ? search->nearest.shapes : search->nearest.text[i];
        if (strcmp(search->nearest.digest[i], search->digest[i]) == 0) continue;
        if (i == PART_SOURCE && *then != '\0' && search->origin->shapes != NULL)
            snprintf(now, sizeof(now), "%s", search->origin->shapes);
        else if (i == PART_SOURCE)
            then = "";
        if (i == PART_COMPILER) snprintf(now, sizeof(now), "%s", parts->compiler);
        if (i == PART_CPU) cpu_describe(now, sizeof(now));
        text_printf(text, "%s%s", separator, part_names[i]);
        if (strcmp(now, then) != 0) text_printf(text, " (then %s, now %s)", then, now);
        separator = ", ";
    }
}

void
cache_record_missed(const CodeOrigin *origin, const KeyParts *parts)
{
    if (!log_enabled(LOG_CACHE)) return;
    Search search = {.origin = origin, .differing = NONE};
    Text text = {0};
    for (int i = 0; i < PART_COUNT; i++) digest_hex(&parts->digest[i], search.digest[i]);
    visit_records(look_at, &search);
    text_printf(&text, "miss: %s (%s:%d): ", origin->function, origin->file, origin->line);
    if (search.differing == NONE) {
        text_put(&text, "nothing is kept of this function");
    } else {
        text_printf(&text, "the nearest of this function, %s, differs in ", search.name);
        put_differences(&text, &search, parts);
    }
    if (!text.failed) log_emit(LOG_CACHE, "%s", text.data);
    text_free(&text);
}

/* ---- what users see ---- */

static void
add_entry(const char *name, const Record *record, void *context)
{
    PyObject **list = context;
    const char *folder = cache_folder();
    char path[CACHE_PATH];
    struct stat info;
    if (*list == NULL || folder == NULL ||
        snprintf(path, sizeof(path), "%s/%s", folder, name) >= CACHE_PATH || stat(path, &info) < 0)
        return;
    bool known = record->made != 0;
    PyObject *function = PyUnicode_DecodeFSDefault(record->function);
    PyObject *file = PyUnicode_DecodeFSDefault(record->file);
    PyObject *entry = NULL;
    if (function != NULL && file != NULL)
        entry = Py_BuildValue(
            "{s:s,s:O,s:O,s:s,s:i,s:L,s:L,s:L,s:L,s:d,s:s}", "name", name, "function",
            known ? function : Py_None, "file", known ? file : Py_None, "shapes", record->shapes,
            "line", record->line, "made", known ? record->made : (long long)info.st_mtim.tv_sec,
            "used", (long long)info.st_mtim.tv_sec, "bytes", (long long)info.st_size, "hits",
            record->hits, "seconds", record->seconds, "compiler", record->text[PART_COMPILER]);
    if (entry == NULL || PyList_Append(*list, entry) < 0) Py_CLEAR(*list);
    Py_XDECREF(function);
    Py_XDECREF(file);
    Py_XDECREF(entry);
}

static PyObject *
py_cache_entries(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);
    if (list != NULL) visit_records(add_entry, &list);
    return list;
}

PyMethodDef cache_record_methods[] = {
    {"cache_entries", py_cache_entries, METH_NOARGS,
     "cache_entries() -> list of dict\n\nWhat the disk cache holds, of which function."},
    {NULL, NULL, 0, NULL},
};
