/* Findings of probes (arrays/findings.c) as a note in the cache folder.

   Its name tells whose they are and on which processor, so that a new version's note takes the
   place of the old one's.  Its first line is a digest of the whole key; a note with another is
   none. */
#include "cache.h"

/* Of the processor and so many bytes of the key. */
static void
digest_of(const char *key, size_t length, char hex[DIGEST_HEX])
{
    Hash hash;
    char cpu[128];
    cpu_words(cpu, sizeof(cpu));
    hash_begin(&hash);
    hash_add_string(&hash, cpu);
    hash_add(&hash, key, length);
    Digest digest = hash_end(&hash);
    digest_hex(&digest, hex);
}

static void
name_of(const char *key, CacheNoteName name)
{
    char hex[DIGEST_HEX];
    digest_of(key, strcspn(key, "\n"), hex);
    snprintf(name, sizeof(CacheNoteName), PROBE_NOTES "%s", hex);
}

static bool
read_note(const char *key, char text[FINDINGS_TEXT])
{
    CacheNoteName name;
    char note[NOTE_BYTES], hex[DIGEST_HEX];
    name_of(key, name);
    digest_of(key, strlen(key), hex);
    if (cache_read_sealed(name, note) != ANSWER_YES) return false;
    if (strncmp(note, hex, DIGEST_HEX - 1) != 0 || note[DIGEST_HEX - 1] != '\n') return false;
    snprintf(text, FINDINGS_TEXT, "%s", note + DIGEST_HEX);
    return true;
}

static void
write_note(const char *key, const char *text)
{
    CacheNoteName name;
    Text note = {0};
    char hex[DIGEST_HEX];
    name_of(key, name);
    digest_of(key, strlen(key), hex);
    text_printf(&note, "%s\n%s", hex, text);
    if (!note.failed && note.len < NOTE_BYTES && cache_folder_to_store() != NULL)
        cache_write_sealed(name, note.data);
    text_free(&note);
}

const FindingsKeeper findings_note_keeper = {read_note, write_note};
