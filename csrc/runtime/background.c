/* Compiles that nobody waits for (the option `background`).

   1. The first who wants the code starts the compiler and goes on without it; each who wants it
      later looks whether it has ended.  As many compilers run at once as kernels may have threads;
   code for which there was no room is started when it is wanted again, so that hot functions come
   first.
   2. The compiler is no child of this process: a shell, which is waited for, starts it and ends at
      once.  The program's own os.wait() never sees it, unless the program adopts orphans (as
   process 1 of a container does).  Its exit status appears as a file in the work folder.
   3. What another process compiles is waited for in the same way (cache_claim.c).
   4. At exit nothing waits: what has been compiled is stored in the cache, and the work folders are
      removed, so that a compiler that still runs fails.  A forked process knows of its parent's
      compiles what any process does.

   Everything runs under the GIL. */
#include "compile.h"
#include "target.h"

#include "../clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_EVERY = 1000000 };

typedef struct Running Running;
struct Running {
    CodeWanted wanted; /* without the source; its texts are in `texts` */
    CodeTicket ticket;
    double began;
    int64_t looked_ns;       /* when it was found running; 0: not yet */
    int ended;               /* 1 and the status that it ended with; 0: it was not found so */
    char *folder, *texts[3]; /* folder: "" while another process compiles it */
    Running *next;
};

static Running *running;
static pid_t owner;
static CodeTicket last_ticket;

static void
forget(Running *r)
{
    mem_free(r->folder);
    for (int i = 0; i < COUNT_OF(r->texts); i++) mem_free(r->texts[i]);
    mem_free(r);
}

/* After a fork the list is the parent's. */
static void
check_owner(void)
{
    if (owner == getpid()) return;
    while (running != NULL) {
        Running *next = running->next;
        forget(running);
        running = next;
    }
    owner = getpid();
}

static Running **
find_key(const Digest *key)
{
    Running **at = &running;
    while (*at != NULL && memcmp(&(*at)->wanted.key, key, sizeof(*key)) != 0) at = &(*at)->next;
    return at;
}

/* It has taken too long: the shell, which has ended, was the leader of the compiler's group. */
static void
end_group(const Running *r)
{
    char path[CACHE_PATH + 16], text[16] = {0};
    snprintf(path, sizeof(path), "%s/group", r->folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0) close(fd);
    pid_t group = length > 0 ? (pid_t)atoi(text) : 0;
    if (group > 1 && kill(-group, SIGKILL) == 0) toolchain_outlasted();
}

/* The compiler's exit status, or -1 while it runs; 1 where it had to be ended. */
static int
status_now(const Running *r)
{
    char path[CACHE_PATH + 16], text[16] = {0};
    if (*r->folder == '\0') return claim_is_taken(&r->wanted.key) ? -1 : 0;
    snprintf(path, sizeof(path), "%s/ended", r->folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0) close(fd);
    if (length > 0 && text[length - 1] == '\n') return atoi(text);
    if (clock_seconds() - r->began < (double)toolchain_timeout()) return -1;
    end_group(r);
    return 1;
}

/* The same.  Functions that wait for it ask at each of their calls, and a file is opened to know.
 */
static int
status_of(Running *r)
{
    int64_t now = r->ended ? 0 : clock_ns();
    if (r->ended || now - r->looked_ns < LOOK_EVERY) return r->ended - 1;
    int status = status_now(r);
    r->looked_ns = now;
    r->ended = status + 1;
    return status;
}

bool
background_has_room(void)
{
    int count = 0;
    if (running == NULL) return true;
    check_owner();
    for (Running *r = running; r != NULL; r = r->next) count += *r->folder && status_of(r) < 0;
    return count < threads_count();
}

static char *
copy_of(const char *text)
{
    char *copy = mem_alloc(strlen(text) + 1);
    return copy != NULL ? strcpy(copy, text) : NULL;
}

/* Has background_end called at exit; once. */
static int
end_at_exit(void)
{
    static bool done;
    PyObject *end = done ? NULL : module_object("pycompile._C", "background_end");
    PyObject *at_exit = end ? module_object("atexit", "register") : NULL;
    PyObject *result = at_exit ? PyObject_CallOneArg(at_exit, end) : NULL;
    done = done || result != NULL;
    Py_XDECREF(end);
    Py_XDECREF(at_exit);
    Py_XDECREF(result);
    return done ? 0 : -1;
}

CodeTicket
background_add(const CodeWanted *wanted, const char *folder)
{
    check_owner();
    Running *r = end_at_exit() == 0 ? mem_alloc(sizeof(Running)) : NULL;
    if (r != NULL) {
        CodeOrigin *origin = &r->wanted.origin;
        r->wanted = *wanted;
        r->wanted.source = NULL;
        r->folder = copy_of(folder);
        origin->function = r->texts[0] = copy_of(wanted->origin.function);
        origin->file = r->texts[1] = copy_of(wanted->origin.file);
        origin->shapes = r->texts[2] = copy_of(wanted->origin.shapes ? wanted->origin.shapes : "");
    }
    if (r == NULL || r->folder == NULL || r->texts[0] == NULL || r->texts[1] == NULL ||
        r->texts[2] == NULL) {
        PyErr_Clear();
        if (r != NULL) forget(r);
        return 0;
    }
    r->ticket = ++last_ticket;
    r->began = clock_seconds();
    r->next = running;
    running = r;
    return r->ticket;
}

bool
background_runs(CodeTicket ticket)
{
    if (ticket == NO_ROOM) return !background_has_room();
    if (running == NULL) return false;
    check_owner();
    Running **at = &running, *r;
    while ((r = *at) != NULL && r->ticket != ticket) at = &r->next;
    if (r == NULL) return false;
    bool runs = status_of(r) < 0;
    if (!runs && *r->folder == '\0') {
        *at = r->next;
        forget(r);
    }
    return runs;
}

BackgroundState
background_take(const Digest *key, char folder[CACHE_PATH], double *seconds, CodeTicket *ticket)
{
    check_owner();
    Running **at = find_key(key), *r = *at;
    if (r == NULL) return BACKGROUND_NONE;
    int status = status_of(r);
    *ticket = r->ticket;
    if (status < 0) return BACKGROUND_RUNS;
    *seconds = clock_seconds() - r->began;
    snprintf(folder, CACHE_PATH, "%s", r->folder);
    *at = r->next;
    forget(r);
    if (*folder == '\0') return BACKGROUND_NONE; /* it is in the cache now, or nowhere */
    return status == 0 ? BACKGROUND_DONE : BACKGROUND_FAILED;
}

static PyObject *
background_end(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    check_owner();
    for (const Running *r = running; r != NULL; r = r->next) {
        char file[CACHE_PATH + 16], path[CACHE_PATH];
        if (*r->folder == '\0') continue;
        snprintf(file, sizeof(file), "%s/k.so", r->folder);
        if (status_now(r) == 0) code_store(&r->wanted, file, clock_seconds() - r->began, path);
        cache_work_end(r->folder);
    }
    Py_RETURN_NONE;
}

/* ---- plans that wait for their code ---- */

/* A capture is paid for once: its plan is made at once, without its code, and waits at its entry.
   The first look at the entry after the compiler's end loads the code.  Whether the plan is for the
   values of that call its guards say, as of any plan: what has varied since is seen there. */
struct Waiting {
    Plan *plan;
    CompileNote note;
    const Config *config;
    LaterCode later;
};

Waiting *
waiting_new(Job *job, Plan *plan, const CompileNote *note)
{
    Waiting *w = mem_alloc(sizeof(Waiting));
    if (w == NULL) {
        plan_release(plan);
        return NULL;
    }
    *w = (Waiting){.plan = plan, .note = *note, .config = job->config, .later = job->later};
    job->later = (LaterCode){0};
    return w;
}

void
waiting_free(Waiting *w)
{
    if (w == NULL) return;
    text_free(&w->later.source);
    text_free(&w->later.shapes);
    if (w->plan != NULL) plan_release(w->plan);
    mem_free(w);
}

void
entry_waits(Entry *entry, Waiting *waiting)
{
    Waiting *before = entry->waiting;
    if (waiting == NULL) return;
    entry->waiting = waiting;
    waiting_free(before);
}

CodeTicket
waiting_ticket(const Waiting *w)
{
    return w != NULL ? w->later.ticket : 0;
}

static Answer
load_waiting(Waiting *w)
{
    LaterCode *later = &w->later;
    Code *code = NULL;
    CodeOrigin origin = later->origin;
    origin.shapes = later->shapes.data;
    Answer answer = code_load(DEVICE_HOST, later->source.data, later->straight, w->config, &origin,
                              CODE_LATER, &later->ticket, &code);
    if (answer == ANSWER_YES && plan_link(w->plan, code) < 0) answer = ANSWER_ERROR;
    if (answer == ANSWER_ERROR && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        answer = ANSWER_NO;
    }
    return answer;
}

/* There will be no code: what was captured is refused. */
static void
refuse_waiting(Waiting *w)
{
    log_emit(LOG_PERF_HINTS, "%s (%s:%d): left to CPython: compile: %s", w->later.origin.function,
             w->later.origin.file, w->later.origin.line, targets[DEVICE_HOST].problem());
    w->note.guards = w->plan->guards;
    w->plan->guards = NULL;
}

Answer
waiting_take(Waiting **at, Plan **plan, CompileNote *note)
{
    Waiting *w = *at;
    int64_t began = clock_ran_ns();
    *at = NULL; /* other threads may run meanwhile */
    Answer answer = load_waiting(w);
    if (answer == ANSWER_NO && w->later.ticket != 0) {
        if (*at == NULL)
            *at = w;
        else /* another thread's waits there now */
            waiting_free(w);
        return ANSWER_NO;
    }
    if (answer == ANSWER_YES) {
        *plan = w->plan;
        w->plan = NULL;
    } else if (answer == ANSWER_NO) {
        refuse_waiting(w);
    }
    *note = w->note;
    waiting_free(w);
    account_lost(clock_ran_ns() - began);
    return answer == ANSWER_ERROR ? ANSWER_ERROR : ANSWER_YES;
}

PyMethodDef background_methods[] = {
    {"background_end", background_end, METH_NOARGS,
     "Stores what was compiled in the background and not fetched; called at exit."},
    {NULL, NULL, 0, NULL},
};
