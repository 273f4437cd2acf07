/* Who compiles what, of the processes that share a cache: each kernel is compiled by one of them.

   The claim on a key is a lock on the file `claim-KEY` beside the entries, which the system takes
   from a process that ends, on this machine or another.  In the background it is the compiler that
   has the lock, and the file names the folder that it works in: whoever gets the claim next takes
   what it has made, even if the process that started it has never come back.  Where locks are not
   known, and when a claim is older than a compiler may be, everybody compiles for himself: entries
   come by rename.  The file goes when its entry has come; after a failure it is swept. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool
claim_path(const Digest *key, char path[CACHE_PATH])
{
    char name[sizeof(CLAIMS) + DIGEST_HEX] = CLAIMS;
    digest_hex(key, name + sizeof(CLAIMS) - 1);
    return cache_note_path(name, path);
}

/* Does the compiler take longer than it may? */
static bool
is_old(int fd)
{
    struct stat info;
    return fstat(fd, &info) < 0 || time(NULL) - info.st_mtime > toolchain_timeout();
}

/* Is it still the file of that name? */
static bool
is_at(int fd, const char *path)
{
    struct stat own, there;
    return fstat(fd, &own) == 0 && stat(path, &there) == 0 && own.st_ino == there.st_ino &&
           own.st_dev == there.st_dev;
}

/* Locks the file; CLAIM_TAKEN or CLAIM_NONE: it is closed. */
static int
lock(int fd)
{
    if (fd < 0) return CLAIM_NONE;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    bool taken = errno == EWOULDBLOCK && !is_old(fd);
    close(fd);
    return taken ? CLAIM_TAKEN : CLAIM_NONE;
}

int
claim_take(const Digest *key)
{
    char path[CACHE_PATH];
    if (cache_folder_to_store() == NULL || !claim_path(key, path)) return CLAIM_NONE;
    for (;;) {
        int claim = lock(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (claim < 0) return claim;
        if (is_at(claim, path)) {
            futimens(claim, NULL);
            return claim;
        }
        close(claim);
    }
}

bool
claim_is_taken(const Digest *key)
{
    char path[CACHE_PATH];
    int claim = claim_path(key, path) ? lock(open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) : -1;
    claim_release(claim);
    return claim == CLAIM_TAKEN;
}

void
claim_pause(void)
{
    static const struct timespec pause = {.tv_nsec = 3000000};
    Py_BEGIN_ALLOW_THREADS nanosleep(&pause, NULL);
    Py_END_ALLOW_THREADS
}

void
claim_leave(int claim)
{
    if (claim >= 0) close(claim);
}

void
claim_release(int claim)
{
    if (claim >= 0) flock(claim, LOCK_UN); /* a forked process has the descriptor, too */
    claim_leave(claim);
}

void
claim_give(int claim, const char *folder)
{
    const char *name = strrchr(folder, '/') + 1;
    if (claim < 0) return;
    if (ftruncate(claim, 0) == 0 && pwrite(claim, name, strlen(name), 0) >= 0)
        fcntl(claim, F_SETFD, 0);
}

bool
claim_left(int claim, char file[CACHE_PATH])
{
    char name[32] = "", path[CACHE_PATH], text[4];
    if (claim < 0 || pread(claim, name, sizeof(name) - 1, 0) <= 0 || strchr(name, '/') != NULL)
        return false;
    snprintf(path, sizeof(path), "%s/ended", name);
    if (cache_read_note(path, text, sizeof(text)) != ANSWER_YES || strcmp(text, "0\n") != 0)
        return false;
    snprintf(path, sizeof(path), "%s/k.so", name);
    return cache_note_path(path, file) && access(file, R_OK) == 0;
}

void
claim_end(const Digest *key)
{
    char path[CACHE_PATH];
    if (claim_path(key, path)) unlink(path);
}
