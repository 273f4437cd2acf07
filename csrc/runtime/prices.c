/* What captures of a function have cost and its plans have saved, kept with the disk cache: a new
   process makes those plans at once that paid in a former one, and does not try anew what came to
   nothing there.

   A function is known by its file, name and lines.  The notes are a few, each with the functions
   whose digests have the same remainder, the last ones first; they are read when the first of these
   functions is called, and written when the process ends.  A wrong record costs a capture at most,
   which the account has to afford as any other. */
#include "prices.h"

#include "cache.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    NOTES = 16,
    RECORDS = 48, /* in a note: lines of at most 37 bytes */
    MOST_US = 999999999,
};

typedef struct {
    uint64_t code;
    int64_t price_us, saved_us;
} Price;

typedef struct {
    bool read, changed;
    int n;
    Price at[RECORDS];
} PriceNote;

static PriceNote notes[NOTES];

static void
name_of(int number, CacheNoteName name)
{
    snprintf(name, sizeof(CacheNoteName), PRICE_NOTES "%d", number);
}

/* The note is read up to the first line that is none. */
static PriceNote *
note_at(uint64_t code)
{
    int number = (int)(code % NOTES);
    PriceNote *note = &notes[number];
    if (note->read) return note;
    note->read = true;
    CacheNoteName name;
    char text[NOTE_BYTES];
    name_of(number, name);
    if (cache_folder() == NULL || cache_read_sealed(name, text) != ANSWER_YES) return note;
    for (const char *line = text; note->n < RECORDS; note->n++) {
        Price *price = &note->at[note->n];
        int length = 0;
        if (sscanf(line, "%" SCNx64 " %" SCNd64 " %" SCNd64 "%n", &price->code, &price->price_us,
                   &price->saved_us, &length) != 3 ||
            price->price_us < 0 || price->saved_us < -1 || line[length] != '\n')
            break;
        line += length + 1;
    }
    return note;
}

static Price *
find(PriceNote *note, uint64_t code)
{
    for (int i = 0; i < note->n; i++)
        if (note->at[i].code == code) return &note->at[i];
    return NULL;
}

static uint64_t
digest_of(PyCodeObject *code)
{
    Hash hash;
    uint64_t number;
    hash_begin(&hash);
    hash_add_string(&hash, text_of_str(code->co_filename));
    hash_add_string(&hash, text_of_str(code->co_qualname));
    hash_add(&hash, PyBytes_AS_STRING(code->co_linetable),
             (size_t)PyBytes_GET_SIZE(code->co_linetable));
    Digest digest = hash_end(&hash);
    memcpy(&number, digest.bytes, sizeof(number));
    return number;
}

bool
prices_find(PyCodeObject *code, int64_t *price_ns, int64_t *saved_ns)
{
    uint64_t number = digest_of(code);
    const Price *price = find(note_at(number), number);
    if (price == NULL) return false;
    *price_ns = price->price_us * 1000;
    *saved_ns = price->saved_us * 1000;
    return true;
}

void
prices_put(PyCodeObject *code, int64_t price_ns, int64_t saved_ns)
{
    uint64_t number = digest_of(code);
    PriceNote *note = note_at(number);
    Price *price = find(note, number);
    int64_t saved_us = saved_ns < 0 ? -1 : Py_MIN(saved_ns / 1000, MOST_US);
    if (price != NULL && saved_us >= 0) saved_us = Py_MAX(saved_us, price->saved_us / 2);
    if (price == NULL) {
        note->n = Py_MIN(note->n + 1, RECORDS);
        price = &note->at[note->n - 1];
    }
    memmove(note->at + 1, note->at, (size_t)((char *)price - (char *)note->at));
    note->at[0] = (Price){number, Py_MIN(price_ns / 1000, MOST_US), saved_us};
    note->changed = true;
}

void
prices_write(void)
{
    for (int i = 0; i < NOTES; i++) {
        CacheNoteName name;
        Text text = {0};
        if (!notes[i].changed || cache_folder_to_store() == NULL) continue;
        for (int k = 0; k < notes[i].n; k++)
            text_printf(&text, "%" PRIx64 " %" PRId64 " %" PRId64 "\n", notes[i].at[k].code,
                        notes[i].at[k].price_us, notes[i].at[k].saved_us);
        name_of(i, name);
        if (!text.failed) cache_write_sealed(name, text.data);
        text_free(&text);
        notes[i].changed = false;
    }
}
