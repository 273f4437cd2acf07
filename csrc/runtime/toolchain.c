/* The system compiler: found once, asked for its version once per machine, run without a shell.

   1. $CC (which may hold arguments), cc, gcc, clang: the first that PATH has.  Looked for again
   when $CC has changed.
   2. Its version comes from a note in the cache folder, made under the file's path, size, inode and
      time; only where there is none it is run with --version.  Note and version are the compiler's
      part of the key, so that what it made is found by them where there is no compiler at all.
   3. A compile gets its source and gives its output in a work folder, its words in a file there.
   4. When a compile fails, a trivial one tells whether the compiler or the source is to blame.  A
      compiler that cannot do that is not asked again; the user is warned once in either case, with
      the first line of what the compiler says.  `python -m pycompile info` does the same.

   A long file of several kernels is compiled in parts, by as many processes as threads are allowed
   and processors idle.
   Objects, also that of a short file, are linked by `ld` itself where PATH has it: by way of the
   compiler, which starts a process that starts the linker with a plugin, linking takes twice the
   time.

   Output depends on source, compiler, flags, CPU and options; all go into the key. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cache.h"
#include "compile.h"
#include "../clock.h"
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE "-march=native"
#else
#define NATIVE "-mcpu=native"
#endif

extern char **environ;

/* Bits as NumPy's: no contraction, wrapping integers; -fno-math-errno lets sqrt be an instruction.
   No libc start files, no unwind tables, no ident: a third of the linker's time. */
static const char *const flags[] = {
    "-x",
    "c",
    "-std=gnu11",
    "-O2",
    NATIVE,
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-pipe",
    "-w",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=default",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-ident",
    "-fno-plt",
};

/* What follows them for straight code, with gcc alone (clang lacks these flags, and its -Og is
   another thing): 0.45 of the time for loops that are no longer.  The flags of gcc's that -Og
   leaves out: vzeroupper is with -fexpensive-optimizations (without it the library functions that
   are called between the loops ran 19 times slower), caller-saves keeps in registers what a rare
   call after the loop would spill, the others keep invariants out of the loops. */
#if defined(__x86_64__)
static const char *const straight_flags[] = {
    "-Og",
    "-fexpensive-optimizations",
    "-fcaller-saves",
    "-fmove-loop-invariants",
    "-fif-conversion",
    "-ftree-sra",
    "-ftree-dse",
    "-fschedule-insns2",
    "-falign-loops",
    "-falign-jumps",
    "-falign-functions",
};
enum { STRAIGHT_FLAGS = COUNT_OF(straight_flags) };
#else
static const char *const straight_flags[1] = {0};
enum { STRAIGHT_FLAGS = 0 };
#endif

enum { MAX_ARGUMENTS = 120, WORDS = 4096, OBJECT_PATH = CACHE_PATH + 16 };

typedef struct {
    char words[WORDS];             /* the command, split into words in place */
    char *argument[MAX_ARGUMENTS]; /* the command's own words; [0] is a full path */
    int arguments;
    char path[CACHE_PATH];
    char linker[CACHE_PATH]; /* for files in parts; empty: the compiler links them */
    char version[NOTE_BYTES];
    char file_id[128];   /* size, inode and time of the file */
    CacheNoteName note;  /* the note with its version */
    char described[256]; /* command and version, for people */
} Compiler;

static Compiler compiler;
static enum { UNKNOWN, FOUND, NONE } state;
static bool warned;
static bool from_cc;      /* the compiler is the one that $CC names */
static char asked[WORDS]; /* $CC when the compiler was looked for */
static int running;       /* compiles that are waited for without the GIL, and read `compiler` */
static char broken[1024]; /* why the compiler that was found cannot compile; empty: not known */
static bool no_folder;    /* no folder to compile in was writable at the last attempt */
static struct {
    long long compiled, failed;
    double seconds;
} counts;

/* ---- running it ---- */

typedef enum { RUN_OK, RUN_FAILED, RUN_NOT_STARTED, RUN_TOO_LONG } RunResult;

/* Starts the compiler with stdout in the file `words` and stderr in `errors`, which may be NULL: in
   the same.  It alone inherits the descriptor `claim`, if that is one; other threads may start
   processes meanwhile.  It gets a process group of its own, so that a Ctrl-C meant for the program
   does not reach it.  Does not need the GIL, which compiles release. */
static bool
start(char *const *arguments, const char *words, const char *errors, int claim, pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    if (claim >= 0) /* another number: dup2 to the same one may leave it to be closed */
        posix_spawn_file_actions_adddup2(&files, claim, claim == 3 ? 4 : 3);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, words, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (errors != NULL)
        posix_spawn_file_actions_addopen(&files, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    else
        posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failed = posix_spawn(child, arguments[0], &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return !failed;
}

int64_t
toolchain_timeout(void)
{
    static int64_t seconds;
    if (seconds == 0) seconds = number_from("PYCOMPILE_COMPILE_TIMEOUT", 60, 1, 1 << 20, false);
    return seconds;
}

/* Has the child, which leads a process group, not ended in time?  Then the group is killed.  Waits
   for ever where the system knows no descriptors of processes (before Linux 5.3). */
static bool
outlasts(pid_t child)
{
    int fd = (int)syscall(SYS_pidfd_open, child, 0), ready;
    if (fd < 0) return false;
    double until = clock_seconds() + (double)toolchain_timeout();
    struct pollfd poll_for = {.fd = fd, .events = POLLIN};
    do {
        double left = until - clock_seconds();
        ready = poll(&poll_for, 1, left > 0 ? (int)(left * 1e3) + 1 : 0);
    } while (ready < 0 && errno == EINTR);
    close(fd);
    if (ready == 0) kill(-child, SIGKILL);
    return ready == 0;
}

static RunResult
wait_for(pid_t child)
{
    int status = 0;
    pid_t ended;
    bool killed = outlasts(child);
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
    /* With SIGCHLD ignored the system keeps no status: what the child made tells (run_for). */
    if (killed) return RUN_TOO_LONG;
    if (ended < 0) return RUN_OK;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? RUN_OK : RUN_FAILED;
}

static RunResult
run(char *const *arguments, const char *words, const char *errors)
{
    pid_t child;
    return start(arguments, words, errors, CLAIM_NONE, &child) ? wait_for(child) : RUN_NOT_STARTED;
}

/* The first `size - 1` bytes of a file as a string; empty if there is none. */
static void
read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, out, size - 1) : 0;
    if (fd >= 0) close(fd);
    out[length > 0 ? length : 0] = '\0';
}

static bool
write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t part = write(fd, text, left);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) break;
        text += part;
        left -= (size_t)part;
    }
    return close(fd) == 0 && left == 0;
}

/* ---- finding it ---- */

/* The executable file for `name`, found as a shell does. */
static bool
find_program(const char *name, char *out)
{
    struct stat info;
    const char *path = strchr(name, '/') != NULL ? "" : getenv("PATH");
    if (path == NULL) return false;
    for (bool more = true; more;) {
        size_t length = strcspn(path, ":");
        snprintf(out, CACHE_PATH, "%.*s%s%s", (int)length, path, length ? "/" : "", name);
        if (access(out, X_OK) == 0 && stat(out, &info) == 0 && S_ISREG(info.st_mode)) return true;
        more = path[length] == ':';
        path += length + more;
    }
    return false;
}

/* Splits `command` at blanks and looks its program up. */
static bool
take_command(const char *command)
{
    compiler.arguments = 0;
    if (strlen(command) >= sizeof(compiler.words)) return false;
    strcpy(compiler.words, command);
    char *rest = NULL;
    for (char *word = strtok_r(compiler.words, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (compiler.arguments == MAX_ARGUMENTS / 2) return false;
        compiler.argument[compiler.arguments++] = word;
    }
    if (compiler.arguments == 0 || !find_program(compiler.argument[0], compiler.path)) return false;
    compiler.argument[0] = compiler.path;
    return true;
}

static void
identify_file(void)
{
    struct stat info = {0};
    stat(compiler.path, &info);
    snprintf(compiler.file_id, sizeof(compiler.file_id), "%lld %lld %lld.%09ld",
             (long long)info.st_size, (long long)info.st_ino, (long long)info.st_mtim.tv_sec,
             info.st_mtim.tv_nsec);
}

/* The first line of what --version says; complaints about $CC's options are none of it. */
static bool
ask_version(void)
{
    char folder[CACHE_PATH], words[CACHE_PATH + 16];
    char *arguments[MAX_ARGUMENTS];
    no_folder = cache_work_begin(folder) < 0;
    if (no_folder) return false;
    snprintf(words, sizeof(words), "%s/words", folder);
    memcpy(arguments, compiler.argument, sizeof(arguments));
    arguments[compiler.arguments] = "--version";
    arguments[compiler.arguments + 1] = NULL;
    RunResult result = run(arguments, words, "/dev/null");
    read_text(words, compiler.version, sizeof(compiler.version));
    cache_work_end(folder);
    compiler.version[strcspn(compiler.version, "\n")] = '\0';
    return result == RUN_OK;
}

/* Gets the version from the note, or from the compiler itself. */
static bool
learn_version(void)
{
    Hash hash;
    char hex[DIGEST_HEX];
    identify_file();
    hash_begin(&hash);
    for (int i = 0; i < compiler.arguments; i++) hash_add_string(&hash, compiler.argument[i]);
    hash_add_string(&hash, compiler.file_id);
    Digest digest = hash_end(&hash);
    digest_hex(&digest, hex);
    snprintf(compiler.note, sizeof(compiler.note), COMPILER_NOTES "%s", hex);
    if (cache_read_sealed(compiler.note, compiler.version) == ANSWER_YES) return true;
    if (!ask_version()) return false;
    cache_write_sealed(compiler.note, compiler.version);
    return true;
}

static void
describe_compiler(void)
{
    int used = 0;
    for (int i = 0; i < compiler.arguments && used < (int)sizeof(compiler.described) - 1; i++)
        used += snprintf(compiler.described + used, sizeof(compiler.described) - (size_t)used,
                         "%s ", compiler.argument[i]);
    if (used < (int)sizeof(compiler.described) - 1)
        snprintf(compiler.described + used, sizeof(compiler.described) - (size_t)used, "(%s)",
                 compiler.version);
}

/* $CC, or NULL where it is not set or blank. */
static const char *
named_compiler(void)
{
    const char *own = getenv("CC");
    return own != NULL && own[strspn(own, " \t")] != '\0' ? own : NULL;
}

/* Unless it has been looked for, with the $CC of now. */
static void
find_compiler(void)
{
    const char *own = named_compiler();
    const char *const candidates[] = {own != NULL ? own : "", "cc", "gcc", "clang"};
    bool there = false; /* the program that $CC names */
    if (state != UNKNOWN && (running > 0 || strncmp(asked, candidates[0], WORDS - 1) == 0)) return;
    snprintf(asked, sizeof(asked), "%s", candidates[0]);
    broken[0] = '\0';
    for (int i = 0; i < COUNT_OF(candidates); i++) {
        bool found = take_command(candidates[i]);
        if (i == 0) there = found;
        if (!found || !learn_version()) continue;
        state = FOUND;
        from_cc = i == 0;
        /* $CC with arguments may be for another machine, or ask for libraries. */
        if (compiler.arguments > 1 || !find_program("ld", compiler.linker))
            compiler.linker[0] = '\0';
        describe_compiler();
        log_emit(LOG_CACHE, "compiler: %s (%s)", compiler.path, compiler.version);
        if (own != NULL && i > 0)
            log_warn("CC=%s is no C compiler that works (%s): pycompile uses %s", own,
                     there ? "it fails with --version" : "there is no such program", compiler.path);
        return;
    }
    state = NONE;
}

/* Warns once per process. */
static void
warn_once(const char *text)
{
    if (!warned) log_warn("%s", text);
    warned = true;
}

/* ---- the parts of the key ---- */

void
toolchain_parts(KeyParts *parts, bool straight)
{
    char cpu[128];
    Hash hash;
    hash_begin(&hash);
    for (int i = 0; i < COUNT_OF(flags); i++) hash_add_string(&hash, flags[i]);
    for (int i = 0; straight && i < STRAIGHT_FLAGS; i++) hash_add_string(&hash, straight_flags[i]);
    parts->digest[PART_FLAGS] = hash_end(&hash);
    cpu_words(cpu, sizeof(cpu));
    hash_begin(&hash);
    hash_add_string(&hash, cpu);
    parts->digest[PART_CPU] = hash_end(&hash);
    parts->compiler = "no compiler";
}

/* A compiler's identity is that of the note about it, which is valid also where the compiler is not
   installed. */
static Digest
identity_of(const char *note, const char *version)
{
    Hash hash;
    hash_begin(&hash);
    hash_add_string(&hash, note);
    hash_add_string(&hash, version);
    return hash_end(&hash);
}

Answer
toolchain_identify(KeyParts *parts)
{
    find_compiler();
    if (state == NONE) return ANSWER_NO;
    parts->digest[PART_COMPILER] = identity_of(compiler.note, compiler.version);
    parts->compiler = compiler.described;
    return ANSWER_YES;
}

void
toolchain_record(void)
{
    char version[sizeof(compiler.version)];
    if (cache_read_sealed(compiler.note, version) != ANSWER_YES)
        cache_write_sealed(compiler.note, compiler.version);
}

int
toolchain_recorded(Digest *identities, int room)
{
    CacheNoteName names[MAX_RECORDED_COMPILERS];
    int count = cache_list_notes(COMPILER_NOTES, names, Py_MIN(room, MAX_RECORDED_COMPILERS)),
        known = 0;
    for (int i = 0; i < count; i++) {
        char version[sizeof(compiler.version)];
        if (cache_read_sealed(names[i], version) == ANSWER_YES)
            identities[known++] = identity_of(names[i], version);
    }
    return known;
}

void
toolchain_is_missing(void)
{
    if (no_folder)
        toolchain_has_no_folder();
    else
        warn_once("pycompile found no working C compiler ($CC, cc, gcc, clang): what is not in the "
                  "cache already runs in plain Python");
}

void
toolchain_has_no_folder(void)
{
    no_folder = true;
    warn_once("pycompile can write no folder to compile in, neither its cache nor $TMPDIR (set "
              "PYCOMPILE_CACHE_DIR or TMPDIR to one that can be written): what is not in the cache "
              "already runs in plain Python");
}

const char *
toolchain_problem(void)
{
    if (no_folder) return "no folder to compile in can be written";
    if (*broken) return broken;
    return state == NONE ? "no C compiler was found that works" : "the C compiler failed";
}

/* ---- compiling ---- */

/* The command that compiles a file, but for its end; returns how many arguments there are. */
static int
begin_command(char *arguments[MAX_ARGUMENTS], bool straight)
{
    int n = compiler.arguments;
    _Static_assert(COUNT_OF(flags) + STRAIGHT_FLAGS + 8 + MAX_PARTS < MAX_ARGUMENTS / 2,
                   "room for the command, the flags and the files");
    memcpy(arguments, compiler.argument, sizeof(compiler.argument));
    for (int i = 0; i < COUNT_OF(flags); i++) arguments[n++] = (char *)flags[i];
    for (int i = 0; straight && i < STRAIGHT_FLAGS; i++) arguments[n++] = (char *)straight_flags[i];
    return n;
}

static void
end_command(char **arguments, const char *out)
{
    *arguments++ = "-o";
    *arguments++ = (char *)out;
    *arguments = NULL;
}

/* The command that compiles a file. */
static void
put_command(char *arguments[MAX_ARGUMENTS], const char *in, bool straight, const char *out)
{
    int n = begin_command(arguments, straight);
    arguments[n++] = (char *)in;
    end_command(arguments + n, out);
}

static bool
is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && info.st_size > 0;
}

/* A run that writes `out`: where SIGCHLD is ignored, the file alone tells whether it worked. */
static RunResult
run_for(const char *out, char *const *arguments, const char *words)
{
    RunResult result = run(arguments, words, NULL);
    return result == RUN_OK && !is_there(out) ? RUN_FAILED : result;
}

static RunResult
compile_file(const char *in, bool straight, const char *words, const char *out)
{
    char *arguments[MAX_ARGUMENTS];
    put_command(arguments, in, straight, out);
    return run_for(out, arguments, words);
}

/* Are there flags for straight code that the compiler may know? */
static bool
knows_straight(void)
{
    return STRAIGHT_FLAGS > 0 && strstr(compiler.version, "clang") == NULL;
}

/* Among how many compilers the source is divided: each begins anew, which is a loss where another
   process has the processor. */
static int
parts_of(const char *source)
{
    int parts = 0, most = threads_idle();
    if (most > MAX_PARTS) most = MAX_PARTS;
    for (const char *at = source; parts < most && (at = strstr(at, PART_MARK)) != NULL; at++)
        parts++;
    return parts;
}

/* Links the objects without the compiler; false: it does that. */
static bool
link_parts(char object[MAX_PARTS][OBJECT_PATH], int parts, const char *words, const char *out)
{
#if defined(__linux__) && defined(__x86_64__)
    char *arguments[MAX_PARTS + 10];
    int n = 0;
    if (compiler.linker[0] == '\0') return false;
    arguments[n++] = compiler.linker;
    arguments[n++] = "-shared";
    arguments[n++] = "--hash-style=gnu";
    arguments[n++] = "-z"; /* 5 KB instead of 13, which each process checks, and fewer mappings */
    arguments[n++] = "noseparate-code";
    for (int i = 0; i < parts; i++) arguments[n++] = object[i];
    end_command(arguments + n, out);
    return run_for(out, arguments, words) == RUN_OK;
#else
    (void)object, (void)parts, (void)words, (void)out;
    return false;
#endif
}

/* Compiles the file in parts, of which there may be one, at the same time, then links them.  What
   it says is lost: a caller whose compile fails compiles the file as a whole. */
static RunResult
compile_parts(const char *in, bool straight, int parts, const char *folder, const char *out)
{
    char object[MAX_PARTS][OBJECT_PATH], words[CACHE_PATH + 16], of[32], part[32];
    char *arguments[MAX_ARGUMENTS];
    pid_t child[MAX_PARTS];
    int started = 0;
    bool worked = true, too_long = false;
    int n = begin_command(arguments, straight);
    arguments[n] = "-c";
    arguments[n + 1] = of;
    arguments[n + 2] = part;
    arguments[n + 3] = (char *)in;
    snprintf(of, sizeof(of), "-DPARTS=%d", parts);
    while (worked && started < parts) {
        snprintf(object[started], sizeof(object[0]), "%s/k%d.o", folder, started);
        snprintf(words, sizeof(words), "%s/words%d", folder, started);
        snprintf(part, sizeof(part), "-DPART=%d", started);
        end_command(arguments + n + 4, object[started]);
        worked = start(arguments, words, NULL, CLAIM_NONE, &child[started]);
        if (worked) started++;
    }
    for (int i = 0; i < started; i++) {
        RunResult result = wait_for(child[i]);
        worked = worked && result == RUN_OK;
        too_long = too_long || result == RUN_TOO_LONG;
    }
    if (!worked) return too_long ? RUN_TOO_LONG : RUN_FAILED;
    if (link_parts(object, parts, words, out)) return RUN_OK;
    n = begin_command(arguments, straight);
    arguments[n++] = "-x"; /* the files are objects, not C */
    arguments[n++] = "none";
    for (int i = 0; i < parts; i++) arguments[n++] = object[i];
    end_command(arguments + n, out);
    return run_for(out, arguments, words);
}

/* Compiles the source to `folder`/k.so, with the compiler's messages in `folder`/words. */
static RunResult
compile_in(const char *source, bool straight, const char *folder, char out[CACHE_PATH])
{
    char in[CACHE_PATH + 16], words[CACHE_PATH + 16];
    RunResult result = RUN_FAILED;
    snprintf(in, sizeof(in), "%s/k.c", folder);
    snprintf(words, sizeof(words), "%s/words", folder);
    if (snprintf(out, CACHE_PATH, "%s/k.so", folder) >= CACHE_PATH) return RUN_NOT_STARTED;
    if (!write_text(in, source)) return RUN_NOT_STARTED;
    int parts = Py_MAX(parts_of(source), 1);
    straight = straight && knows_straight();
    if (parts > 1 || compiler.linker[0] != '\0')
        result = compile_parts(in, straight, parts, folder, out);
    if (result == RUN_NOT_STARTED) result = RUN_FAILED;
    if (result == RUN_FAILED && straight) result = compile_file(in, true, words, out);
    /* A compiler that knows no such flags gets on without them. */
    if (result == RUN_FAILED) result = compile_file(in, false, words, out);
    return result;
}

static RunResult
compile_waiting(const char *source, bool straight, const char *folder, char out[CACHE_PATH])
{
    RunResult result;
    running++;
    Py_BEGIN_ALLOW_THREADS result = compile_in(source, straight, folder, out);
    Py_END_ALLOW_THREADS running--;
    return result;
}

/* The first line of the compiler's words, cut between two characters; "no output" for none. */
static void
first_line(const char *words, char *out, size_t size)
{
    words += strspn(words, " \t\r\n");
    size_t length = strcspn(words, "\r\n"), whole = length;
    if (length >= size) length = size - 1;
    while (length > 0 && length < whole && (words[length] & 0xc0) == 0x80) length--;
    snprintf(out, size, "%.*s", (int)length, length > 0 ? words : "");
}

/* Says in `broken` what the compiler, which cannot compile the trivial source, answered. */
static void
note_broken(const char *words)
{
    char said[300];
    const char *own = from_cc ? named_compiler() : NULL;
    first_line(words, said, sizeof(said));
    snprintf(broken, sizeof(broken), "%s%.400s cannot compile%s%s",
             own != NULL ? "CC=" : "the C compiler ", own != NULL ? own : compiler.path,
             *said ? ": " : ", and does not say why", said);
}

/* Does the compiler compile the trivial source?  Where it does not, `broken` says why and it is not
   asked again.  Uses up `folder`. */
static bool
compiler_works(const char *folder)
{
    char out[CACHE_PATH], path[CACHE_PATH + 16], words[2048];
    RunResult result = compile_waiting("int k0(void) { return 0; }\n", false, folder, out);
    if (result == RUN_TOO_LONG) toolchain_outlasted();
    if (result != RUN_FAILED) return result != RUN_TOO_LONG;
    snprintf(path, sizeof(path), "%s/words", folder);
    read_text(path, words, sizeof(words));
    note_broken(words);
    state = NONE;
    return false;
}

static void
warn_broken(void)
{
    if (!warned)
        log_warn("%s (%sPYCOMPILE_LOGS=cache shows all it says): functions run in plain Python",
                 broken, from_cc ? "correct or unset CC; " : "");
    warned = true;
}

/* A compiler that hangs counts as none. */
void
toolchain_outlasted(void)
{
    const char *own = from_cc ? named_compiler() : NULL;
    snprintf(broken, sizeof(broken), "%s%.400s was ended after %lld s (PYCOMPILE_COMPILE_TIMEOUT)",
             own != NULL ? "CC=" : "the C compiler ", own != NULL ? own : compiler.path,
             (long long)toolchain_timeout());
    state = NONE;
    counts.failed++;
    warn_broken();
}

static Answer
report_failure(const char *source, const char *folder)
{
    char path[CACHE_PATH + 16], words[2048];
    if (state == NONE) return ANSWER_NO; /* that was told */
    snprintf(path, sizeof(path), "%s/words", folder);
    read_text(path, words, sizeof(words));
    log_emit(LOG_CACHE, "%s failed:\n%s", compiler.path, words);
    log_emit(LOG_OUTPUT_CODE, "not compiled:\n%s", source);
    counts.failed++;
    if (!compiler_works(folder)) {
        warn_broken();
    } else {
        warn_once("the C compiler refused a kernel of pycompile's (PYCOMPILE_LOGS=cache,"
                  "output_code shows it): the function runs in plain Python");
    }
    return ANSWER_NO;
}

Answer
toolchain_compile(const char *source, bool straight, const char *folder, char out[CACHE_PATH],
                  double *seconds)
{
    RunResult result = RUN_NOT_STARTED;
    double start = clock_seconds();
    if (state == NONE) return ANSWER_NO;
    no_folder = false; /* this folder is writable */
    if (!mem_fault()) result = compile_waiting(source, straight, folder, out);
    if (result == RUN_FAILED) return report_failure(source, folder);
    if (result == RUN_TOO_LONG) {
        toolchain_outlasted();
        return ANSWER_NO;
    }
    if (result == RUN_NOT_STARTED) { /* no process or no space: may work next time */
        log_emit(LOG_CACHE, "%s could not be run", compiler.path);
        counts.failed++;
        return ANSWER_NO;
    }
    counts.compiled++;
    *seconds = clock_seconds() - start;
    counts.seconds += *seconds;
    return ANSWER_YES;
}

/* ---- compiling without waiting ---- */

bool
toolchain_start(const char *source, bool straight, const char *folder, int claim)
{
    /* $0: the folder; $@: the command.  The braces run on when the shell has ended. */
    static const char script[] = "echo $$ >\"$0/group\"; "
                                 "{ \"$@\" >\"$0/words\" 2>&1; echo $? >\"$0/ended\"; } "
                                 "</dev/null >/dev/null 2>&1 &";
    char in[CACHE_PATH + 16], words[CACHE_PATH + 16], out[CACHE_PATH + 16];
    pid_t shell;
    char *arguments[MAX_ARGUMENTS + 4] = {"/bin/sh", "-c", (char *)script, (char *)folder};
    snprintf(in, sizeof(in), "%s/k.c", folder);
    snprintf(words, sizeof(words), "%s/shell", folder);
    snprintf(out, sizeof(out), "%s/k.so", folder);
    if (!write_text(in, source)) return false;
    put_command(arguments + 4, in, straight && knows_straight(), out);
    return start(arguments, words, NULL, claim, &shell) && wait_for(shell) == RUN_OK;
}

Answer
toolchain_ended(const char *source, bool failed, const char *folder, char out[CACHE_PATH],
                double seconds)
{
    if (snprintf(out, CACHE_PATH, "%s/k.so", folder) >= CACHE_PATH) failed = true;
    if (failed || !is_there(out)) return report_failure(source, folder);
    counts.compiled++;
    counts.seconds += seconds;
    return ANSWER_YES;
}

/* ---- what users see ---- */

/* The arguments in $CC, and ours behind them. */
static PyObject *
flags_list(void)
{
    PyObject *list = PyList_New(0);
    int own = state == FOUND ? compiler.arguments - 1 : 0;
    for (int i = 0; list != NULL && i < own + COUNT_OF(flags); i++) {
        PyObject *flag =
            PyUnicode_DecodeFSDefault(i < own ? compiler.argument[1 + i] : flags[i - own]);
        if (flag == NULL || PyList_Append(list, flag) < 0) Py_CLEAR(list);
        Py_XDECREF(flag);
    }
    return list;
}

/* Words of the system's, in whatever encoding; None for NULL. */
static PyObject *
words_object(const char *words)
{
    if (words == NULL) return Py_NewRef(Py_None);
    return PyUnicode_DecodeUTF8(words, (Py_ssize_t)strlen(words), "replace");
}

/* Compiler path and version, flags, CPU, cache folder, counts: a new dict.  "compiler" is None, and
   "broken" says why, after it was found not to work. */
static PyObject *
toolchain_info(void)
{
    char cpu[256];
    find_compiler();
    cpu_describe(cpu, sizeof(cpu));
    PyObject *list = flags_list();
    if (list == NULL) return NULL;
    bool found = state == FOUND;
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:s,s:N,s:i,s:L,s:L,s:d}", "compiler",
                         words_object(found ? compiler.path : NULL), "version",
                         words_object(found ? compiler.version : NULL), "broken",
                         words_object(*broken ? broken : NULL), "flags", list, "cpu", cpu,
                         "cache_folder", words_object(cache_folder()), "threads", threads_count(),
                         "compiled", counts.compiled, "failed", counts.failed, "seconds",
                         counts.seconds);
}

static PyObject *
py_toolchain_info(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return toolchain_info();
}

/* Tries the compiler: None where it works, else why not, as text. */
static PyObject *
py_toolchain_try(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    char folder[CACHE_PATH];
    find_compiler();
    if (state == FOUND) {
        no_folder = cache_work_begin(folder) < 0;
        bool works = !no_folder && compiler_works(folder);
        if (!no_folder) cache_work_end(folder);
        if (works) Py_RETURN_NONE;
    }
    return words_object(toolchain_problem());
}

PyMethodDef toolchain_methods[] = {
    {"toolchain_try", py_toolchain_try, METH_NOARGS, "None: the compiler works; else why not."},
    {"toolchain_info", py_toolchain_info, METH_NOARGS, "Compiler, flags, CPU, cache folder."},
    {NULL, NULL, 0, NULL},
};
