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

/* ---- cache.c ---- */
enum { CACHE_PATH = 4096 };

/* The folder as it is used now, made if it was missing; NULL when there is none that is ours alone
   (logged).  Never sets an exception. */
const char *cache_folder(void);
/* A fresh folder of our own for one compilation, on the cache's file system where there is one.
   0, or -1; no exception. */
int cache_work_begin(char folder[CACHE_PATH]);
/* Removes it with the files in it. */
void cache_work_end(const char *folder);
/* ANSWER_YES: `path` names a checked entry.  ANSWER_NO: none (a bad one is removed and logged). */
Answer cache_find(const Digest *key, char path[CACHE_PATH]);
/* Seals `file` with key and checksum and moves it into the cache; `path` is then where it lies.
   ANSWER_NO: it stays where it was. */
Answer cache_store(const Digest *key, const char *file, char path[CACHE_PATH]);
/* A small text kept beside the entries, by name. */
Answer cache_read_note(const char *name, char *out, size_t size);
void cache_write_note(const char *name, const char *text);

/* ---- toolchain.c ---- */

/* Adds what decides about the output beside the source: compiler, flags, CPU.  ANSWER_NO: there is
   no compiler (warned once).  ANSWER_ERROR: the warning was made an exception. */
Answer toolchain_identify(Hash *hash);
/* Compiles `source` to `folder`/k.so, whose name goes to `out`.  Releases the GIL.  ANSWER_NO: it
   failed (logged, and warned about once). */
Answer toolchain_compile(const char *source, const char *folder, char out[CACHE_PATH]);

#endif
