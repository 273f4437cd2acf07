/* Loaded code by content: in memory, on disk, or compiled now.
   The key is a digest of the source and of everything else that determines the output.  Equal
   sources share one Code, which is unloaded when its last user releases it.  Everything runs under
   the GIL, which is released while the compiler runs: afterwards the table is searched again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../clock.h"
#include "target.h"

struct Code {
    Digest key;
    const Target *target;
    void *handle;
    long users;
    Code *next; /* in its bucket */
};

enum { BUCKETS = 256 };
static Code *table[BUCKETS];
static long long memory_hits, loaded;
static const char *found_in = "memory";

static Code **
bucket_of(const Digest *key)
{
    return &table[key->bytes[0]];
}

static Code *
find_loaded(const Digest *key)
{
    for (Code *code = *bucket_of(key); code != NULL; code = code->next)
        if (memcmp(&code->key, key, sizeof(*key)) == 0) return code;
    return NULL;
}

/* Options that change generated code are part of the key. */
static Digest
options_digest(const Config *config)
{
    Hash hash;
    char text[64];
    hash_begin(&hash);
    if (config == NULL) return hash_end(&hash);
#define KEY_true(...) __VA_ARGS__
#define KEY_false(...)
#define ADD_BOOL(name) snprintf(text, sizeof(text), #name "=%d", config->name)
#define ADD_INT(name) snprintf(text, sizeof(text), #name "=%lld", (long long)config->name)
#define ADD_STRING(name) snprintf(text, sizeof(text), #name "=%s", config->name)
#define ADD_CHOICE(name) ADD_STRING(name)
#define OPTION(name, type, default_, variable, in_key, ...)                                        \
    KEY_##in_key(ADD_##type(name); hash_add_string(&hash, text);)
#include "../config.def"
    return hash_end(&hash);
}

/* All parts but the compiler. */
static void
describe_parts(const Target *target, const char *source, bool straight, const Config *config,
               KeyParts *parts)
{
    Hash hash;
    hash_begin(&hash);
    hash_add_string(&hash, source);
    parts->digest[PART_SOURCE] = hash_end(&hash);
    parts->digest[PART_OPTIONS] = options_digest(config);
    target->parts(parts, straight);
}

/* Loads a file into the table.  ANSWER_NO: it cannot be loaded (logged). */
static Answer
load(const Target *target, const Digest *key, const char *path, Code **out)
{
    const char *why = NULL;
    void *handle = target->open(path, &why);
    if (handle == NULL) {
        log_emit(LOG_CACHE, "cannot load %s: %s", path, why != NULL ? why : "?");
        return ANSWER_NO;
    }
    Code *code = mem_alloc(sizeof(Code));
    if (code == NULL) {
        target->close(handle);
        return ANSWER_ERROR;
    }
    *code = (Code){
        .key = *key, .target = target, .handle = handle, .users = 1, .next = *bucket_of(key)};
    *bucket_of(key) = code;
    loaded++;
    *out = code;
    return ANSWER_YES;
}

static Answer
use_loaded(const Digest *key, Code **out)
{
    Code *code = find_loaded(key);
    if (code == NULL) return ANSWER_NO;
    code->users++;
    memory_hits++;
    found_in = "memory";
    *out = code;
    return ANSWER_YES;
}

/* Looks in memory, then on disk.  ANSWER_NO: in neither. */
static Answer
find(const Target *target, const Digest *key, const CodeOrigin *origin, Code **out)
{
    char path[CACHE_PATH];
    if (use_loaded(key, out) == ANSWER_YES) return ANSWER_YES;
    if (cache_find(key, path) != ANSWER_YES) return ANSWER_NO;
    Answer answer = load(target, key, path, out);
    if (answer != ANSWER_YES) return answer;
    log_emit(LOG_CACHE, "hit: %s (%s:%d): %s", origin->function, origin->file, origin->line, path);
    cache_hit(key);
    found_in = "disk";
    return ANSWER_YES;
}

/* Without a compiler, searches for code of any compiler that has filled the cache. */
static Answer
find_of_others(const Target *target, KeyParts *parts, const CodeOrigin *origin, Code **out)
{
    Digest known[MAX_RECORDED_COMPILERS];
    int count = target->recorded == NULL ? 0 : target->recorded(known, MAX_RECORDED_COMPILERS);
    for (int i = 0; i < count; i++) {
        parts->digest[PART_COMPILER] = known[i];
        Digest key = cache_key(parts);
        Answer answer = find(target, &key, origin, out);
        if (answer != ANSWER_NO) return answer;
    }
    return ANSWER_NO;
}

/* Stores what the compiler made, and loads it. */
static Answer
keep_and_load(const CodeWanted *w, const char *file, double seconds, Code **out)
{
    char path[CACHE_PATH];
    Answer answer = use_loaded(&w->key, out);
    if (answer != ANSWER_NO) return answer;
    bool stored = cache_keep(w, file, seconds, path);
    return load(w->target, &w->key, stored ? path : file, out);
}

static Answer
compile_now(const CodeWanted *w, Code **out)
{
    char folder[CACHE_PATH], file[CACHE_PATH];
    double seconds = 0;
    if (cache_work_begin(folder) < 0) {
        w->target->has_no_folder();
        return ANSWER_NO;
    }
    Answer answer = w->target->compile(w->source, w->straight, folder, file, &seconds);
    if (answer == ANSWER_YES) answer = keep_and_load(w, file, seconds, out);
    cache_work_end(folder);
    found_in = "compiler";
    return answer;
}

/* With the claim, what another process has brought meanwhile. */
static Answer
find_claimed(const CodeWanted *w, int claim, Code **out)
{
    Answer answer = claim >= 0 ? find(w->target, &w->key, &w->origin, out) : ANSWER_NO;
    if (answer == ANSWER_YES) claim_end(&w->key);
    return answer;
}

/* Claims what is neither in memory nor on disk, or waits for a process that has; ANSWER_YES: that
   one has brought it.  *claim is to be released; CLAIM_TAKEN: a signal came, whose handler has to
   run first. */
static Answer
wait_for_claim(const CodeWanted *w, int *claim, Code **out)
{
    const double until = clock_seconds() + (double)toolchain_timeout();
    while ((*claim = claim_take(&w->key)) == CLAIM_TAKEN && clock_seconds() < until) {
        if (signal_is_pending(PyThreadState_Get())) return ANSWER_NO;
        claim_pause();
        Answer answer = find(w->target, &w->key, &w->origin, out);
        if (answer != ANSWER_NO) return answer;
    }
    if (*claim == CLAIM_TAKEN) *claim = CLAIM_NONE;
    return find_claimed(w, *claim, out);
}

/* What another process has had compiled, and not fetched. */
static Answer
take_left(const CodeWanted *w, int claim, Code **out)
{
    char file[CACHE_PATH];
    if (!claim_left(claim, file)) return ANSWER_NO;
    found_in = "background";
    return keep_and_load(w, file, 0, out);
}

static Answer
compile_and_load(const CodeWanted *w, Code **out)
{
    int claim;
    Answer answer = wait_for_claim(w, &claim, out);
    if (answer == ANSWER_NO) answer = take_left(w, claim, out);
    if (answer == ANSWER_NO && claim != CLAIM_TAKEN) {
        cache_missed(&w->origin, &w->parts);
        answer = compile_now(w, out);
    }
    claim_release(claim);
    return answer;
}

/* Starts the compiler, which has the claim until it ends. */
static void
start_claimed(const CodeWanted *w, int claim, CodeTicket *ticket)
{
    char folder[CACHE_PATH];
    cache_missed(&w->origin, &w->parts);
    if (cache_work_begin(folder) < 0) {
        w->target->has_no_folder();
        return;
    }
    claim_name(claim, folder);
    if (w->target->start(w->source, w->straight, folder, claim))
        *ticket = background_add(w, folder);
    if (*ticket == 0)
        cache_work_end(folder);
    else
        log_emit(LOG_CACHE, "compiled in the background: %s (%s:%d)", w->origin.function,
                 w->origin.file, w->origin.line);
}

/* Starts the compiler, unless another process has. */
static Answer
start_later(const CodeWanted *w, CodeTicket *ticket, Code **out)
{
    *ticket = NO_ROOM;
    if (!background_has_room()) return ANSWER_NO;
    *ticket = 0;
    int claim = claim_take(&w->key);
    Answer answer = find_claimed(w, claim, out);
    if (answer == ANSWER_NO) answer = take_left(w, claim, out);
    if (answer == ANSWER_NO && claim == CLAIM_TAKEN)
        *ticket = background_add(w, "");
    else if (answer == ANSWER_NO)
        start_claimed(w, claim, ticket);
    claim_leave(claim);
    return answer;
}

static Answer
load_later(const CodeWanted *w, CodeTicket *ticket, Code **out)
{
    char folder[CACHE_PATH], file[CACHE_PATH];
    double seconds = 0;
    int claim;
    BackgroundState state = background_take(&w->key, folder, &seconds, ticket, &claim);
    if (state == BACKGROUND_RUNS) return ANSWER_NO;
    if (state == BACKGROUND_NONE) return start_later(w, ticket, out);
    *ticket = 0;
    Answer answer = find_claimed(w, claim, out);
    if (answer == ANSWER_NO && state == BACKGROUND_FAILED && w->straight) {
        answer = compile_now(w, out); /* its flags may be unknown to the compiler */
    } else if (answer == ANSWER_NO) {
        found_in = "background";
        answer = w->target->ended(w->source, state == BACKGROUND_FAILED, folder, file, seconds);
        if (answer == ANSWER_YES) answer = keep_and_load(w, file, seconds, out);
    }
    claim_release(claim);
    cache_work_end(folder);
    return answer;
}

const char *
code_found_in(void)
{
    return found_in;
}

Answer
code_load(Device device, const char *source, bool straight, const Config *config,
          const CodeOrigin *origin, CodeHow how, CodeTicket *ticket, Code **out)
{
    const Target *target = &targets[device];
    CodeWanted w = {.target = target, .source = source, .straight = straight, .origin = *origin};
    *ticket = 0;
    threads_recall();
    describe_parts(target, source, straight, config, &w.parts);
    bool compiles = target->identify(&w.parts) == ANSWER_YES;
    w.key = cache_key(&w.parts); /* used with a compiler only */
    Answer answer = compiles ? find(target, &w.key, origin, out)
                             : find_of_others(target, &w.parts, origin, out);
    if (answer != ANSWER_NO) return answer;
    if (how == CODE_LATER && compiles && target->start != NULL) return load_later(&w, ticket, out);
    if (how != CODE_FOUND && compiles) return compile_and_load(&w, out);
    cache_missed(origin, &w.parts);
    if (how != CODE_FOUND) target->is_missing();
    return ANSWER_NO;
}

void *
code_symbol(Code *code, const char *name)
{
    return code->target->symbol(code->handle, name);
}

void
code_release(Code *code)
{
    if (code == NULL || --code->users > 0) return;
    Code **at = bucket_of(&code->key);
    while (*at != code) at = &(*at)->next;
    *at = code->next;
    code->target->close(code->handle);
    mem_free(code);
}

void
codes_release(Codes *codes)
{
    for (int device = 0; device < TARGET_COUNT; device++) code_release(codes->on[device]);
    *codes = (Codes){{NULL}};
}

/* ---- hooks ---- */

/* Compiles `source` and returns the result of its function k0 called without arguments; None for
   ANSWER_NO. */
static PyObject *
test_code_run(PyObject *Py_UNUSED(self), PyObject *args)
{
    const char *source;
    int straight = 0;
    Code *code;
    if (!PyArg_ParseTuple(args, "s|p", &source, &straight)) return NULL;
    const CodeOrigin origin = {"test", "test", 0, NULL};
    CodeTicket ticket;
    Answer answer =
        code_load(DEVICE_HOST, source, straight, NULL, &origin, CODE_COMPILED, &ticket, &code);
    if (answer == ANSWER_ERROR) return NULL;
    if (answer == ANSWER_NO) Py_RETURN_NONE;
    KernelFn fn = (KernelFn)(uintptr_t)code_symbol(code, "k0");
    KernelArgs none = {0};
    PyObject *result = fn != NULL ? PyLong_FromLong(fn(&none, 0, 0)) : Py_NewRef(Py_None);
    code_release(code);
    return result;
}

static int
add_entry(PyObject *list, const Code *code)
{
    char name[DIGEST_HEX + 3];
    digest_hex(&code->key, name);
    PyObject *entry = PyUnicode_FromFormat("%s.so", name);
    int status = entry != NULL ? PyList_Append(list, entry) : -1;
    Py_XDECREF(entry);
    return status;
}

static PyObject *
code_info(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    long held = 0;
    PyObject *entries = PyList_New(0);
    for (int i = 0; entries != NULL && i < BUCKETS; i++)
        for (Code *code = table[i]; entries != NULL && code != NULL; code = code->next) {
            held++;
            if (add_entry(entries, code) < 0) Py_CLEAR(entries);
        }
    if (entries == NULL) return NULL;
    return Py_BuildValue("{s:l,s:L,s:L,s:N}", "held", held, "loaded", loaded, "memory_hits",
                         memory_hits, "entries", entries);
}

PyMethodDef code_methods[] = {
    {"test_code_run", test_code_run, METH_VARARGS, "Compiles C and calls its k0."},
    {"code_info", code_info, METH_NOARGS, "Loaded shared objects, and what the cache calls them."},
    {NULL, NULL, 0, NULL},
};
