/* The folder of the disk cache: where it is, and whether it can be trusted and written to.
   The folder is used when no one but this user (or root) can write to it; otherwise nothing is
   cached. A read-only folder, such as a part of an image made elsewhere, is read.  A problem is
   reported once, naming the condition that failed, and not before it matters: that a folder is
   read-only is not reported until there is something to store. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef enum { FOLDER_NONE, FOLDER_READ, FOLDER_WRITTEN } Use;

static unsigned long long least_free = 1 << 20; /* bytes on its file system, to store anything */

/* ---- its name ---- */

/* The home folder of the named user, or, for an empty name, of the current one; NULL: unknown. */
static const char *
home_of(const char *user)
{
    const char *home = getenv("HOME");
    if (*user == '\0' && home != NULL && *home == '/') return home;
    const struct passwd *entry = *user != '\0' ? getpwnam(user) : getpwuid(geteuid());
    return entry != NULL ? entry->pw_dir : NULL;
}

enum { REASON = 160 };

/* A leading ~ or ~user is a home folder, as in a shell; where there is none, `why` says so, `out`
   is the name as it was given, and the answer is false. */
static bool
expand(const char *name, char out[CACHE_PATH], char why[REASON])
{
    char user[256] = "";
    const char *home = "";
    size_t length = *name == '~' ? strcspn(name, "/") : 0;
    if (length > 0 && length <= sizeof(user)) {
        snprintf(user, sizeof(user), "%.*s", (int)length - 1, name + 1);
        home = home_of(user);
    }
    bool known = home != NULL && length <= sizeof(user);
    int written =
        snprintf(out, CACHE_PATH, "%s%s", known ? home : "", known ? name + length : name);
    if (!known && *user == '\0' && length == 1)
        snprintf(why, REASON, "HOME is not set, and this user has no home folder");
    else if (!known)
        snprintf(why, REASON, "there is no user %.64s (write ./~ for a folder of that name)", user);
    else if (written >= CACHE_PATH - 128)
        snprintf(why, REASON, "the name is too long");
    return known && written < CACHE_PATH - 128;
}

/* $PYCOMPILE_CACHE_DIR, $XDG_CACHE_HOME/pycompile, ~/.cache/pycompile. */
static bool
folder_name(char out[CACHE_PATH], char why[REASON])
{
    const char *own = getenv("PYCOMPILE_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    char name[CACHE_PATH];
    if (own != NULL && *own != '\0') return expand(own, out, why);
    if (xdg == NULL || *xdg != '/') return expand("~/.cache/pycompile", out, why);
    snprintf(name, sizeof(name), "%s/pycompile", xdg);
    return expand(name, out, why);
}

/* ---- what it is good for ---- */

/* mkdir -p; new folders are private to the user.  On failure errno says why. */
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

/* `why`: the reason why it cannot be written to. */
static Use
judge(const char *name, char why[REASON])
{
    struct stat info;
    if (stat(name, &info) < 0 && (errno == ENOENT || errno == ENOTDIR) && !make_folders(name)) {
        snprintf(why, REASON, "it cannot be made: %s", strerror(errno));
        return FOLDER_NONE;
    }
    if (stat(name, &info) < 0) {
        snprintf(why, REASON, "it cannot be looked at: %s", strerror(errno));
    } else if (!S_ISDIR(info.st_mode)) {
        snprintf(why, REASON, "it is not a directory");
    } else if (info.st_uid != geteuid() && info.st_uid != 0) {
        snprintf(why, REASON, "it belongs to user %u, and this is user %u", (unsigned)info.st_uid,
                 (unsigned)geteuid());
    } else if ((info.st_mode & 022) != 0) {
        snprintf(why, REASON, "others can write to it: its mode is %03o (chmod go-w)",
                 (unsigned)info.st_mode & 0777);
    } else if (faccessat(AT_FDCWD, name, R_OK | X_OK, AT_EACCESS) < 0) {
        snprintf(why, REASON, "it cannot be read: %s", strerror(errno));
    } else if (faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) < 0) {
        snprintf(why, REASON, "it is read-only for this user: %s", strerror(errno));
        return FOLDER_READ;
    } else {
        return FOLDER_WRITTEN;
    }
    return FOLDER_NONE;
}

/* Each folder is reported once in the log, the first in a warning too. */
static void
tell(const char *name, const char *why)
{
    static char told[CACHE_PATH];
    if (strcmp(name, told) == 0) return;
    bool first = *told == '\0';
    snprintf(told, sizeof(told), "%s", name);
    log_emit(LOG_CACHE, "nothing is stored in %s: %s", name, why);
    if (first)
        log_warn("pycompile keeps no compiled code in %s: %s (set PYCOMPILE_CACHE_DIR to another "
                 "folder)",
                 name, why);
}

/* PYCOMPILE_CACHE=0 switches the cache off: nothing is read, nothing is kept. */
static bool
is_off(void)
{
    static int off = -1;
    if (off < 0) off = !bool_from("PYCOMPILE_CACHE", true);
    return off != 0;
}

const char *
cache_folder(void)
{
    static char name[CACHE_PATH];
    char why[REASON];
    if (is_off()) return NULL;
    Use use = folder_name(name, why) ? judge(name, why) : FOLDER_NONE;
    if (use == FOLDER_NONE) tell(name, why);
    return use != FOLDER_NONE ? name : NULL;
}

const char *
cache_folder_to_store(void)
{
    static char name[CACHE_PATH];
    char why[REASON];
    struct statvfs space;
    if (is_off()) return NULL;
    Use use = folder_name(name, why) ? judge(name, why) : FOLDER_NONE;
    if (use == FOLDER_WRITTEN) {
        if (statvfs(name, &space) < 0 ||
            (unsigned long long)space.f_bavail * space.f_frsize >= least_free)
            return name;
        snprintf(why, sizeof(why), "its file system is full (%llu bytes are free)",
                 (unsigned long long)space.f_bavail * space.f_frsize);
    }
    tell(name, why);
    return NULL;
}

/* ---- work folders ---- */

static int
make_work(const char *parent, char folder[CACHE_PATH])
{
    int length = snprintf(folder, CACHE_PATH, "%s/work-XXXXXX", parent);
    return length < CACHE_PATH - 128 && mkdtemp(folder) != NULL ? 0 : -1;
}

int
cache_work_begin(char folder[CACHE_PATH])
{
    const char *parent = cache_folder_to_store(), *temporary = getenv("TMPDIR");
    if (parent != NULL && make_work(parent, folder) == 0) return 0;
    return make_work(temporary != NULL && *temporary != '\0' ? temporary : "/tmp", folder);
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

/* ---- what Python sees ---- */

static PyObject *
py_cache_folder(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("z", cache_folder());
}

/* How many bytes have to be free; what it was before. */
static PyObject *
test_cache_least_free(PyObject *Py_UNUSED(self), PyObject *bytes)
{
    unsigned long long before = least_free, wanted = PyLong_AsUnsignedLongLong(bytes);
    if (PyErr_Occurred()) return NULL;
    least_free = wanted;
    return PyLong_FromUnsignedLongLong(before);
}

PyMethodDef cache_folder_methods[] = {
    {"cache_folder", py_cache_folder, METH_NOARGS, "Where the disk cache is; None: nowhere."},
    {"test_cache_least_free", test_cache_least_free, METH_O, "Bytes to be free for a store."},
    {NULL, NULL, 0, NULL},
};
