/* The disk cache: shared objects by content, in a folder that is the user's alone.

   An entry is `KEY.so`: a shared object with a seal behind it (the loader ignores what follows).

       | ELF image ... | magic 16 | key 16 | checksum of image, magic and key 16 |

   Entries come into being by rename, so that a reader sees all or nothing, and are checked whole
   before they are loaded; what does not check is removed and logged.  A hit refreshes the entry's
   time, and when the folder passes its size limit the entries that were not used for longest go.
   Nothing here sets an exception: without a cache everything is compiled. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
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

/* ---- the folder ---- */

/* $PYCOMPILE_CACHE_DIR, $XDG_CACHE_HOME/pycompile, ~/.cache/pycompile. */
static bool
folder_name(char *out)
{
    const char *own = getenv("PYCOMPILE_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (own != NULL && *own != '\0') {
        length = snprintf(out, CACHE_PATH, "%s", own);
    } else if (xdg != NULL && *xdg == '/') {
        length = snprintf(out, CACHE_PATH, "%s/pycompile", xdg);
    } else {
        struct passwd *user = home == NULL || *home != '/' ? getpwuid(geteuid()) : NULL;
        if (user != NULL) home = user->pw_dir;
        if (home != NULL) length = snprintf(out, CACHE_PATH, "%s/.cache/pycompile", home);
    }
    return length > 0 && length < CACHE_PATH - 128;
}

/* mkdir -p; the folders made are the user's alone. */
static bool
make_folders(const char *name)
{
    char path[CACHE_PATH];
    snprintf(path, sizeof(path), "%s", name);
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/') continue;
        *at = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return false;
        *at = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool
folder_is_ours(const char *name)
{
    struct stat info;
    if (stat(name, &info) < 0 || !S_ISDIR(info.st_mode)) return false;
    return info.st_uid == geteuid() && (info.st_mode & 022) == 0 &&
           access(name, R_OK | W_OK | X_OK) == 0;
}

const char *
cache_folder(void)
{
    static char name[CACHE_PATH], refused[CACHE_PATH];
    if (!folder_name(name)) return NULL;
    if (folder_is_ours(name) || (make_folders(name) && folder_is_ours(name))) return name;
    if (strcmp(name, refused) != 0) {
        bool first = *refused == '\0';
        memcpy(refused, name, sizeof(name));
        log_emit(LOG_CACHE, "%s is not used: not a folder that only this user can write to", name);
        if (first)
            log_warn("pycompile keeps no compiled code: %s is not a folder that only this user can "
                     "write to ($PYCOMPILE_CACHE_DIR names another)",
                     refused);
    }
    return NULL;
}

/* ---- work folders ---- */

int
cache_work_begin(char folder[CACHE_PATH])
{
    const char *parent = cache_folder();
    if (parent == NULL) parent = getenv("TMPDIR");
    if (parent == NULL || *parent == '\0') parent = "/tmp";
    int length = snprintf(folder, CACHE_PATH, "%s/work-XXXXXX", parent);
    return length < CACHE_PATH - 128 && mkdtemp(folder) != NULL ? 0 : -1;
}

void
cache_work_end(const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) return;
    for (struct dirent *item; (item = readdir(dir)) != NULL;)
        unlinkat(dirfd(dir), item->d_name, 0); /* fails for . and .. */
    closedir(dir);
    rmdir(folder);
}

/* ---- entries ---- */

static int64_t
cache_limit(void)
{
    const char *text = getenv("PYCOMPILE_CACHE_BYTES");
    long long limit = text != NULL ? strtoll(text, NULL, 10) : 0;
    return limit > 0 ? limit : default_limit;
}

static bool
is_entry(const char *name)
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

/* The whole of a regular file of ours, allocated; NULL if it is not one. */
static char *
read_file(int fd, size_t *size)
{
    struct stat info;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid()) return NULL;
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

Answer
cache_find(const Digest *key, char path[CACHE_PATH])
{
    int fd = entry_path(key, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0) {
        counts.misses++;
        return ANSWER_NO;
    }
    bool good = entry_is_good(fd, key);
    if (good) futimens(fd, NULL);
    close(fd);
    if (good) {
        counts.hits++;
        return ANSWER_YES;
    }
    counts.misses++;
    counts.rejected++;
    log_emit(LOG_CACHE, "%s is damaged or not ours: removed", path);
    unlink(path);
    return ANSWER_NO;
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

/* A work folder that its process left behind. */
static void
remove_if_stale(const char *folder, const char *name, const struct stat *info)
{
    char path[CACHE_PATH];
    if (strncmp(name, "work-", 5) != 0 || !S_ISDIR(info->st_mode)) return;
    if (time(NULL) - info->st_mtime < STALE_WORK_SECONDS) return;
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) < CACHE_PATH) cache_work_end(path);
}

/* The entries of the folder, allocated (to be freed), and their bytes; stale work folders go. */
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
        if (!is_entry(item->d_name)) continue;
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
    char path[CACHE_PATH];
    if (snprintf(path, sizeof(path), "%s/%s", folder, entry->name) < CACHE_PATH) unlink(path);
}

static void
sweep(const char *folder)
{
    int count;
    int64_t bytes, limit = cache_limit();
    Entry *entries = list_entries(folder, &count, &bytes);
    if (bytes > limit) qsort(entries, (size_t)count, sizeof(Entry), by_use);
    for (int i = 0; i < count && bytes > limit; i++) {
        remove_entry(folder, &entries[i]);
        bytes -= entries[i].bytes;
        counts.evicted++;
    }
    free(entries);
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
    if (!entry_path(key, path) || !seal_file(key, file)) return ANSWER_NO;
    if (rename(file, path) < 0) {
        log_emit(LOG_CACHE, "cannot store %s: %s", path, strerror(errno));
        return ANSWER_NO;
    }
    if (counts.stored++ % STORES_PER_SWEEP == 0) sweep(cache_folder());
    return ANSWER_YES;
}

/* ---- notes ---- */

static bool
note_path(const char *name, char path[CACHE_PATH])
{
    const char *folder = cache_folder();
    return folder != NULL && snprintf(path, CACHE_PATH, "%s/%s", folder, name) < CACHE_PATH;
}

Answer
cache_read_note(const char *name, char *out, size_t size)
{
    char path[CACHE_PATH];
    int fd = note_path(name, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0) return ANSWER_NO;
    size_t length;
    char *data = read_file(fd, &length);
    close(fd);
    bool good = data != NULL && length < size;
    if (good) {
        memcpy(out, data, length);
        out[length] = '\0';
    }
    free(data);
    return good ? ANSWER_YES : ANSWER_NO;
}

void
cache_write_note(const char *name, const char *text)
{
    char path[CACHE_PATH], temporary[CACHE_PATH + 32];
    if (!note_path(name, path)) return;
    snprintf(temporary, sizeof(temporary), "%s.%ld", path, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    size_t length = strlen(text);
    bool good = write(fd, text, length) == (ssize_t)length;
    if (close(fd) != 0 || !good || rename(temporary, path) < 0) unlink(temporary);
}

/* ---- what users see ---- */

PyObject *
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

void
cache_clear(void)
{
    const char *folder = cache_folder();
    if (folder == NULL) return;
    int count;
    int64_t bytes;
    Entry *entries = list_entries(folder, &count, &bytes);
    for (int i = 0; i < count; i++) remove_entry(folder, &entries[i]);
    free(entries);
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
test_cache_sweep(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    const char *folder = cache_folder();
    if (folder != NULL) sweep(folder);
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
    {"test_cache_sweep", test_cache_sweep, METH_NOARGS, "Applies the size limit now."},
    {"test_hash", test_hash, METH_VARARGS, "BLAKE2s, 16 bytes, in hex."},
    {NULL, NULL, 0, NULL},
};
