/* From source to loaded code: what hash.c, cache.c, toolchain.c and code.c share. */
#ifndef PYCOMPILE_CACHE_H
#define PYCOMPILE_CACHE_H

#include "hooks.h"

/* ---- hash.c: BLAKE2s with a digest of 16 bytes (RFC 7693) ---- */
typedef struct {
    uint32_t state[8];
    uint64_t count;
    uint8_t buffer[64];
    size_t filled;
} Hash;
typedef struct {
    uint8_t bytes[16];
} Digest;
void hash_begin(Hash *hash);
void hash_add(Hash *hash, const void *data, size_t size);
/* The string and its terminating NUL, so that neighbours cannot run together. */
void hash_add_string(Hash *hash, const char *string);
Digest hash_end(Hash *hash);
enum { DIGEST_HEX = 33 };
void digest_hex(const Digest *digest, char out[DIGEST_HEX]);

/* ---- cpu.c ---- */
void cpu_words(char *out, size_t size);    /* CPU features that the compiler may use */
void cpu_describe(char *out, size_t size); /* name and main features, for people */

/* The parts on which an entry depends; the key is a digest of the parts' digests. */
typedef enum {
    PART_SOURCE,
    PART_COMPILER,
    PART_FLAGS,
    PART_CPU,
    PART_OPTIONS,
    PART_COUNT,
} KeyPart;
typedef struct {
    Digest digest[PART_COUNT];
    const char *compiler; /* its name, for people; not owned, never NULL */
} KeyParts;

Digest cache_key(const KeyParts *parts); /* hash.c */

/* What is compiled, and for whom. */
typedef struct {
    Digest key;
    KeyParts parts;
    CodeOrigin origin;
    const struct Target *target;
    const char *source;
    bool straight;
} CodeWanted;

enum { CACHE_PATH = 4096, CACHE_ABI = 2 /* what kernels expect of the runtime */ };

/* ---- cache_folder.c: never set an exception ---- */

/* The folder as it is used now, created if it was missing; NULL when there is none that can be
   trusted (reported once). */
const char *cache_folder(void);
/* As cache_folder, if something can be stored in it; NULL also when it is read-only or full
   (reported once). */
const char *cache_folder_to_store(void);
/* Creates a folder for one compilation, on the cache's file system where there is one. 0, or -1; no
   exception. */
int cache_work_begin(char folder[CACHE_PATH]);
/* Removes it with the files in it. */
void cache_work_end(const char *folder);

/* ---- cache.c ---- */

/* Is the file whole, and sealed with this key? */
bool cache_file_is_good(const char *path, const Digest *key);
/* Removes the seal at the file's end, which is there. */
bool cache_unseal(const char *path);

/* ANSWER_YES: `path` names a checked entry.  ANSWER_NO: none (a bad one is removed and logged). */
Answer cache_find(const Digest *key, char path[CACHE_PATH]);
/* Counts, and logs, that an entry was used, or that there was none, and why. */
void cache_hit(const Digest *key);
void cache_missed(const CodeOrigin *origin, const KeyParts *parts);
/* Seals `file` with key and checksum and moves it into the cache; `path` is then its place there.
   ANSWER_NO: it was not moved. */
Answer cache_store(const Digest *key, const char *file, char path[CACHE_PATH]);
bool cache_is_entry(const char *name);
bool digest_parse(const char *hex, Digest *out); /* of digest_hex; false: it is none */
/* A small text kept beside the entries, by name. */
Answer cache_read_note(const char *name, char *out, size_t size);
void cache_write_note(const char *name, const char *text);
enum { NOTE_BYTES = 2048 };
/* As cache_read_note and cache_write_note, with a seal, so that what is damaged or not ours is
   taken for none. */
Answer cache_read_sealed(const char *name, char out[NOTE_BYTES]);
void cache_write_sealed(const char *name, const char *text);
bool cache_note_path(const char *name, char path[CACHE_PATH]);
typedef char CacheNoteName[64];
/* What their names begin with. */
#define COMPILER_NOTES "compiler-"
#define PRODUCT_NOTES "product-"
#define PROBE_NOTES "probes-"
#define WAKE_UP_NOTES "wake-up-"
#define PRICE_NOTES "prices-"
/* The notes whose names begin with `prefix`, in no order; returns how many. */
int cache_list_notes(const char *prefix, CacheNoteName *names, int room);

/* ---- findings_note.c ---- */
extern const FindingsKeeper findings_note_keeper;

/* ---- cache_record.c: the text about an entry; never set an exception ---- */
void cache_record_made(const CodeWanted *wanted, double seconds);
void cache_record_hit(const Digest *key);
/* The key that an entry has here whose record that is, and which was sealed with `sealed`; `here`:
   the parts of a machine with a compiler, or NULL.  False: it is another entry's record. */
bool cache_record_key(const char *text, const KeyParts *here, const Digest *sealed, Digest *key);
/* Keeps it for the entry of that key. */
void cache_record_keep(const char *text, const KeyParts *here, const Digest *key);
void cache_record_missed(const CodeOrigin *origin, const KeyParts *parts);

/* ---- cache_claim.c: never set an exception ---- */
#define CLAIMS "claim-"
enum {
    CLAIM_NONE = -1,  /* there is nothing to claim it with */
    CLAIM_TAKEN = -2, /* another process, or thread, compiles it */
};
/* The right to compile what has that key: a descriptor, or one of those. */
int claim_take(const Digest *key);
bool claim_is_taken(const Digest *key);
void claim_release(int claim); /* any of them */
void claim_leave(int claim);   /* likewise, but to a process that it was given to */
/* Lets the next process that is started have the claim, too; it compiles in that folder. */
void claim_give(int claim, const char *folder);
/* The file that a compiler has made which had the claim before; false: none. */
bool claim_left(int claim, char file[CACHE_PATH]);
void claim_pause(void);            /* a while without the GIL */
void claim_end(const Digest *key); /* its entry has come */

/* ---- code.c ---- */
/* Moves what was compiled into the cache, with all that is kept about it. */
bool code_store(const CodeWanted *w, const char *file, double seconds, char path[CACHE_PATH]);

/* ---- background.c: compiles that nobody waits for ---- */
typedef enum {
    BACKGROUND_NONE,   /* none of this key was started */
    BACKGROUND_RUNS,   /* *ticket is its ticket */
    BACKGROUND_DONE,   /* `folder` is now the caller's, with what the compiler made, … */
    BACKGROUND_FAILED, /* … or said */
} BackgroundState;
bool background_has_room(void);
/* Takes over a folder in which toolchain_start has been called; "": another process compiles it. 0:
   no memory (no exception). */
CodeTicket background_add(const CodeWanted *wanted, const char *folder);
BackgroundState background_take(const Digest *key, char folder[CACHE_PATH], double *seconds,
                                CodeTicket *ticket);

/* ---- toolchain.c ---- */

/* Sets the parts for flags and CPU. */
void toolchain_parts(KeyParts *parts, bool straight);
/* Sets the part for the compiler.  ANSWER_NO: there is none. */
Answer toolchain_identify(KeyParts *parts);
/* Notes the compiler in the cache folder, which may have changed since the start. */
void toolchain_record(void);
enum { MAX_RECORDED_COMPILERS = 64 };
/* The compilers that have filled the cache, whether installed here or not; returns how many. */
int toolchain_recorded(Digest *identities, int room);
/* Why the toolchain gave no code at its last attempt: a literal. */
const char *toolchain_problem(void);
/* Warns, once, that code would have to be compiled and there is no compiler. */
void toolchain_is_missing(void);
/* Warns, once, that there is no folder in which code could be compiled. */
void toolchain_has_no_folder(void);
/* Compiles `source` to `folder`/k.so, whose name is written to `out`.  Releases the GIL. ANSWER_NO:
   it failed (logged, and warned about once). */
Answer toolchain_compile(const char *source, bool straight, const char *folder,
                         char out[CACHE_PATH], double *seconds);
/* Starts that as a process that ends by itself, with its exit status in `folder`/ended.  False: it
   could not be started. */
bool toolchain_start(const char *source, bool straight, const char *folder);
int64_t toolchain_timeout(void); /* seconds that the compiler may take */
void toolchain_outlasted(void); /* it took longer and was ended: there is no compiler from now on */
/* The end of such a compile: the file's name in `out`; ANSWER_NO as above. */
Answer toolchain_ended(const char *source, bool failed, const char *folder, char out[CACHE_PATH],
                       double seconds);

#endif
