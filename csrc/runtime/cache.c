/* The disk cache: shared objects by content, in a folder that is the user's alone (cache_folder.c).

   What is known of an entry is text beside it (cache_record.c).  An entry is `KEY.so`: a shared
   object with a seal behind it (the loader ignores what follows).

       | ELF image ... | magic 16 | key 16 | checksum of image, magic and key 16 |

   Entries come into being by rename, so that a reader sees all or nothing, and are checked whole
   before they are loaded; what does not check is removed and logged.  A hit refreshes the entry's
   time, and when the folder passes its size limit the entries that were not used for longest go.
   Nothing here sets an exception: without a cache everything is compiled. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    char magic[16];
    Digest key, checksum;
} Seal;

static const char magic[16] = "pycompile-seal-1";
enum { STORES_PER_SWEEP = 32, STALE_WORK_SECONDS = 3600 };
static const int64_t default_limit = (int64_t)256 << 20;

static struct {
    long long hits, misses, rejected, stored, evicted;
} counts;

/* ---- entries ---- */

static int64_t
cache_limit(void)
{
    return number_from("PYCOMPILE_CACHE_BYTES", default_limit, 1, INT64_MAX, false);
}

bool
cache_is_entry(const char *name)
{
    return strlen(name) == DIGEST_HEX - 1 + 3 && strcmp(name + DIGEST_HEX - 1, ".so") == 0;
}

static bool
entry_path(const Digest *key, char path[CACHE_PATH])
{
    char hex[DIGEST_HEX];
    const char *folder = cache_folder();
    if (folder == NULL) return false;
    digest_hex(key, hex);
    return snprintf(path, CACHE_PATH, "%s/%s.so", folder, hex) < CACHE_PATH;
}

static Digest
checksum(const void *image, size_t size, const Seal *seal)
{
    Hash hash;
    hash_begin(&hash);
    hash_add(&hash, image, size);
    hash_add(&hash, seal, offsetof(Seal, checksum));
    return hash_end(&hash);
}

/* The whole contents of a regular file that belongs to the user or root, allocated; NULL for other
   files. */
static char *
read_file(int fd, size_t *size)
{
    struct stat info;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) return NULL;
    if (info.st_uid != geteuid() && info.st_uid != 0) return NULL;
    if (info.st_size <= 0 || info.st_size > 1 << 28) return NULL;
    *size = (size_t)info.st_size;
    char *data = malloc(*size);
    size_t done = 0;
    while (data != NULL && done < *size) {
        ssize_t part = read(fd, data + done, *size - done);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) break;
        done += (size_t)part;
    }
    if (data != NULL && done == *size) return data;
    free(data);
    return NULL;
}

static bool
entry_is_good(int fd, const Digest *key)
{
    size_t size;
    Seal seal;
    char *data = read_file(fd, &size);
    if (data == NULL || size <= sizeof(seal)) {
        free(data);
        return false;
    }
    size -= sizeof(seal);
    memcpy(&seal, data + size, sizeof(seal));
    Digest sum = checksum(data, size, &seal);
    free(data);
    return memcmp(seal.magic, magic, sizeof(magic)) == 0 &&
           memcmp(&seal.key, key, sizeof(*key)) == 0 &&
           memcmp(&seal.checksum, &sum, sizeof(sum)) == 0;
}

bool
cache_file_is_good(const char *path, const Digest *key)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    bool good = entry_is_good(fd, key);
    close(fd);
    return good;
}

bool
cache_unseal(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && truncate(path, info.st_size - (off_t)sizeof(Seal)) == 0;
}

Answer
cache_find(const Digest *key, char path[CACHE_PATH])
{
    int fd = entry_path(key, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0) return ANSWER_NO;
    bool good = entry_is_good(fd, key);
    if (good) futimens(fd, NULL);
    close(fd);
    if (good) return ANSWER_YES;
    counts.rejected++;
    log_emit(LOG_CACHE, "%s is damaged or not ours: removed", path);
    unlink(path);
    return ANSWER_NO;
}

void
cache_hit(const Digest *key)
{
    counts.hits++;
    cache_record_hit(key);
}

void
cache_missed(const CodeOrigin *origin, const KeyParts *parts)
{
    counts.misses++;
    cache_record_missed(origin, parts);
}

/* ---- size limit ---- */

typedef struct {
    char name[DIGEST_HEX + 3];
    struct timespec used;
    int64_t bytes;
} Entry;

static int
by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const Entry *)a)->used, *y = &((const Entry *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* Removes the record of an entry that is gone. */
static void
remove_if_orphan(int folder, const char *name)
{
    char entry[DIGEST_HEX + 3];
    if (strlen(name) != DIGEST_HEX - 1 + 4 || strcmp(name + DIGEST_HEX - 1, ".txt") != 0) return;
    snprintf(entry, sizeof(entry), "%.*s.so", DIGEST_HEX - 1, name);
    if (faccessat(folder, entry, F_OK, 0) < 0) unlinkat(folder, name, 0);
}

/* Removes a work folder that its process left behind, or a claim. */
static void
remove_if_stale(const char *folder, const char *name, const struct stat *info)
{
    char path[CACHE_PATH];
    bool claim = strncmp(name, CLAIMS, strlen(CLAIMS)) == 0;
    if (!claim && (strncmp(name, "work-", 5) != 0 || !S_ISDIR(info->st_mode))) return;
    if (time(NULL) - info->st_mtime < STALE_WORK_SECONDS) return;
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= CACHE_PATH) return;
    if (claim)
        unlink(path);
    else
        cache_work_end(path);
}

/* The entries of the folder, allocated (to be freed), and their total size; removes stale work
   folders. */
static Entry *
list_entries(const char *folder, int *count, int64_t *bytes)
{
    Entry *entries = NULL;
    int room = 0;
    *count = 0;
    *bytes = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL) return NULL;
    for (struct dirent *item; (item = readdir(dir)) != NULL;) {
        struct stat info;
        if (fstatat(dirfd(dir), item->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) continue;
        remove_if_stale(folder, item->d_name, &info);
        remove_if_orphan(dirfd(dir), item->d_name);
        if (!cache_is_entry(item->d_name)) continue;
        if (*count == room) {
            room = room ? room * 2 : 64;
            Entry *more = realloc(entries, (size_t)room * sizeof(Entry));
            if (more == NULL) break;
            entries = more;
        }
        Entry *entry = &entries[(*count)++];
        snprintf(entry->name, sizeof(entry->name), "%.*s", (int)sizeof(entry->name) - 1,
                 item->d_name);
        entry->used = info.st_mtim;
        entry->bytes = info.st_size;
        *bytes += info.st_size;
    }
    closedir(dir);
    return entries;
}

static void
remove_entry(const char *folder, const Entry *entry)
{
    char path[CACHE_PATH + 2];
    if (snprintf(path, CACHE_PATH, "%s/%s", folder, entry->name) >= CACHE_PATH) return;
    unlink(path);
    strcpy(path + strlen(path) - 2, "txt");
    unlink(path);
}

static void
sweep(const char *folder, int64_t limit)
{
    int count;
    int64_t bytes;
    Entry *entries = list_entries(folder, &count, &bytes);
    if (bytes > limit) qsort(entries, (size_t)count, sizeof(Entry), by_use);
    for (int i = 0; i < count && bytes > limit; i++) {
        remove_entry(folder, &entries[i]);
        bytes -= entries[i].bytes;
        __atomic_add_fetch(&counts.evicted, 1, __ATOMIC_RELAXED);
    }
    free(entries);
}

typedef struct {
    int64_t limit;
    char folder[CACHE_PATH];
} Sweep;

static void *
sweep_beside(void *argument)
{
    Sweep *wanted = argument;
    sweep(wanted->folder, wanted->limit);
    free(wanted);
    return NULL;
}

/* Nobody waits for it: to look at a file takes 3 us, and a full folder has tens of thousands. */
static void
sweep_later(void)
{
    const char *folder = cache_folder();
    Sweep *wanted = folder != NULL ? malloc(sizeof(Sweep)) : NULL;
    if (wanted == NULL) return;
    wanted->limit = cache_limit();
    snprintf(wanted->folder, sizeof(wanted->folder), "%s", folder);
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's threads' */
    pthread_t thread;
    if (pthread_create(&thread, NULL, sweep_beside, wanted) == 0)
        pthread_detach(thread);
    else
        free(wanted);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- storing ---- */

static bool
seal_file(const Digest *key, const char *file)
{
    size_t size;
    bool good = false;
    int fd = open(file, O_RDWR | O_CLOEXEC | O_APPEND);
    if (fd < 0) return false;
    char *data = read_file(fd, &size);
    if (data != NULL) {
        Seal seal = {.key = *key};
        memcpy(seal.magic, magic, sizeof(magic));
        seal.checksum = checksum(data, size, &seal);
        good = write(fd, &seal, sizeof(seal)) == sizeof(seal);
        free(data);
    }
    return close(fd) == 0 && good;
}

Answer
cache_store(const Digest *key, const char *file, char path[CACHE_PATH])
{
    if (cache_folder_to_store() == NULL || !entry_path(key, path) || !seal_file(key, file))
        return ANSWER_NO;
    if (rename(file, path) < 0) {
        log_emit(LOG_CACHE, "cannot store %s: %s", path, strerror(errno));
        return ANSWER_NO;
    }
    /* Most processes store little: which store it is differs from one to the next. */
    if (counts.stored++ % STORES_PER_SWEEP == getpid() % STORES_PER_SWEEP) sweep_later();
    return ANSWER_YES;
}

bool
cache_keep(const CodeWanted *w, const char *file, double seconds, char path[CACHE_PATH])
{
    if (cache_store(&w->key, file, path) != ANSWER_YES) return false;
    cache_record_made(w, seconds);
    claim_end(&w->key);
    if (w->target->record != NULL) w->target->record();
    return true;
}

/* ---- notes ---- */

bool
cache_note_path(const char *name, char path[CACHE_PATH])
{
    const char *folder = cache_folder();
    return folder != NULL && snprintf(path, CACHE_PATH, "%s/%s", folder, name) < CACHE_PATH;
}

static Answer
read_note(const char *name, char *out, size_t size, size_t *length)
{
    char path[CACHE_PATH];
    int fd = cache_note_path(name, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0) return ANSWER_NO;
    char *data = read_file(fd, length);
    close(fd);
    bool good = data != NULL && *length < size;
    if (good) {
        memcpy(out, data, *length);
        out[*length] = '\0';
    }
    free(data);
    return good ? ANSWER_YES : ANSWER_NO;
}

static void
write_note(const char *name, const char *data, size_t length)
{
    char path[CACHE_PATH], temporary[CACHE_PATH + 32];
    if (!cache_note_path(name, path)) return;
    snprintf(temporary, sizeof(temporary), "%s.%ld", path, (long)getpid()); /* the GIL is held */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    bool good = write(fd, data, length) == (ssize_t)length;
    if (close(fd) != 0 || !good || rename(temporary, path) < 0) unlink(temporary);
}

Answer
cache_read_note(const char *name, char *out, size_t size)
{
    size_t length;
    return read_note(name, out, size, &length);
}

void
cache_write_note(const char *name, const char *text)
{
    write_note(name, text, strlen(text));
}

/* Behind the text and its NUL: a digest of name and text. */
static int
put_sealed(const char *name, const char *text, char out[NOTE_BYTES + DIGEST_HEX])
{
    Hash hash;
    char hex[DIGEST_HEX];
    hash_begin(&hash);
    hash_add_string(&hash, name);
    hash_add_string(&hash, text);
    Digest digest = hash_end(&hash);
    digest_hex(&digest, hex);
    return snprintf(out, NOTE_BYTES + DIGEST_HEX, "%s%c%s", text, '\0', hex);
}

Answer
cache_read_sealed(const char *name, char out[NOTE_BYTES])
{
    char data[NOTE_BYTES + DIGEST_HEX], good[NOTE_BYTES + DIGEST_HEX];
    size_t length;
    if (read_note(name, data, sizeof(data), &length) != ANSWER_YES) return ANSWER_NO;
    text_copy_cut(out, NOTE_BYTES, data);
    if (put_sealed(name, out, good) == (int)length && memcmp(data, good, length) == 0)
        return ANSWER_YES;
    log_emit(LOG_CACHE, "%s/%s is damaged or not ours: ignored", cache_folder(), name);
    return ANSWER_NO;
}

void
cache_write_sealed(const char *name, const char *text)
{
    char data[NOTE_BYTES + DIGEST_HEX];
    int length = put_sealed(name, text, data);
    if (length < (int)sizeof(data)) write_note(name, data, (size_t)length);
}

int
cache_list_notes(const char *prefix, CacheNoteName *names, int room)
{
    const char *folder = cache_folder();
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    int count = 0;
    if (dir == NULL) return 0;
    for (struct dirent *item; count < room && (item = readdir(dir)) != NULL;)
        if (strncmp(item->d_name, prefix, strlen(prefix)) == 0 &&
            strlen(item->d_name) < sizeof(CacheNoteName))
            strcpy(names[count++], item->d_name);
    closedir(dir);
    return count;
}

/* ---- what users see ---- */

static PyObject *
cache_info(void)
{
    const char *folder = cache_folder();
    int count = 0;
    int64_t bytes = 0;
    if (folder != NULL) free(list_entries(folder, &count, &bytes));
    return Py_BuildValue("{s:z,s:i,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "folder", folder, "entries",
                         count, "bytes", (long long)bytes, "limit", (long long)cache_limit(),
                         "hits", counts.hits, "misses", counts.misses, "rejected", counts.rejected,
                         "stored", counts.stored, "evicted", counts.evicted);
}

static void
remove_notes(void)
{
    static const char *const kinds[] = {COMPILER_NOTES, PRODUCT_NOTES, PROBE_NOTES,
                                        WAKE_UP_NOTES,  PRICE_NOTES,   CLAIMS};
    enum { ROOM = 64 };
    CacheNoteName names[ROOM];
    for (int kind = 0; kind < (int)COUNT_OF(kinds); kind++) {
        int count = cache_list_notes(kinds[kind], names, ROOM);
        for (int i = 0; i < count; i++) {
            char path[CACHE_PATH];
            if (cache_note_path(names[i], path)) unlink(path);
        }
    }
}

static void
cache_clear(void)
{
    const char *folder = cache_folder();
    if (folder == NULL) return;
    int count;
    int64_t bytes;
    Entry *entries = list_entries(folder, &count, &bytes);
    for (int i = 0; i < count; i++) remove_entry(folder, &entries[i]);
    free(entries);
    remove_notes();
}

static PyObject *
py_cache_info(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return cache_info();
}

static PyObject *
py_cache_clear(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    cache_clear();
    Py_RETURN_NONE;
}

static PyObject *
cache_sweep(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    const char *folder = cache_folder();
    if (folder != NULL) sweep(folder, cache_limit());
    Py_RETURN_NONE;
}

static PyObject *
test_hash(PyObject *Py_UNUSED(self), PyObject *args)
{
    Py_buffer data;
    Hash hash;
    char hex[DIGEST_HEX];
    if (!PyArg_ParseTuple(args, "y*", &data)) return NULL;
    hash_begin(&hash);
    hash_add(&hash, data.buf, (size_t)data.len);
    Digest digest = hash_end(&hash);
    PyBuffer_Release(&data);
    digest_hex(&digest, hex);
    return PyUnicode_FromString(hex);
}

PyMethodDef cache_methods[] = {
    {"cache_info", py_cache_info, METH_NOARGS, "Folder, entries, bytes, hits and misses."},
    {"cache_clear", py_cache_clear, METH_NOARGS, "Removes all entries from the disk cache."},
    {"cache_sweep", cache_sweep, METH_NOARGS, "Applies the size limit now; removes leftovers."},
    {"test_hash", test_hash, METH_VARARGS, "BLAKE2s, 16 bytes, in hex."},
    {NULL, NULL, 0, NULL},
};
