/* Loaded code by content: in memory, on disk, or compiled now.
   The key is a digest of the source and of everything else that determines the output.  Equal
   sources share one Code, which is unloaded when its last user releases it.  Everything runs under
   the GIL, which is released while the compiler runs: afterwards the table is searched again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cache.h"

#include <dlfcn.h>

struct Code {
    Digest key;
    void *handle;
    long users;
    Code *next; /* in its bucket */
};

enum { BUCKETS = 256, ABI_VERSION = 2 };
static Code *table[BUCKETS];
static long long memory_hits, loaded;

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
#define OPTION(name, type, default_, variable, in_key, ...)                                        \
    KEY_##in_key(ADD_##type(name); hash_add_string(&hash, text);)
#include "../config.def"
#undef OPTION
    return hash_end(&hash);
}

/* All parts but the compiler. */
static void
describe_parts(const char *source, bool straight, const Config *config, KeyParts *parts)
{
    Hash hash;
    hash_begin(&hash);
    hash_add_string(&hash, source);
    parts->digest[PART_SOURCE] = hash_end(&hash);
    parts->digest[PART_OPTIONS] = options_digest(config);
    toolchain_parts(parts, straight);
}

static Digest
key_of(const KeyParts *parts)
{
    Hash hash;
    int abi = ABI_VERSION;
    hash_begin(&hash);
    hash_add(&hash, &abi, sizeof(abi));
    hash_add(&hash, parts->digest, sizeof(parts->digest));
    return hash_end(&hash);
}

/* Makes the C library's mathematics visible to kernels, which name its functions without a
   library. */
static void
offer_libm(void)
{
    static bool done;
    if (!done) dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    done = true;
}

/* Loads a file into the table.  ANSWER_NO: it cannot be loaded (logged). */
static Answer
load(const Digest *key, const char *path, Code **out)
{
    offer_libm();
    void *handle = mem_fault() ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *error = dlerror();
        log_emit(LOG_CACHE, "cannot load %s: %s", path, error != NULL ? error : "?");
        return ANSWER_NO;
    }
    Code *code = mem_alloc(sizeof(Code));
    if (code == NULL) {
        dlclose(handle);
        return ANSWER_ERROR;
    }
    *code = (Code){.key = *key, .handle = handle, .users = 1, .next = *bucket_of(key)};
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
    *out = code;
    return ANSWER_YES;
}

/* Looks in memory, then on disk.  ANSWER_NO: in neither. */
static Answer
find(const Digest *key, const CodeOrigin *origin, Code **out)
{
    char path[CACHE_PATH];
    if (use_loaded(key, out) == ANSWER_YES) return ANSWER_YES;
    if (cache_find(key, path) != ANSWER_YES) return ANSWER_NO;
    Answer answer = load(key, path, out);
    if (answer != ANSWER_YES) return answer;
    log_emit(LOG_CACHE, "hit: %s (%s:%d): %s", origin->function, origin->file, origin->line, path);
    cache_hit(key);
    return ANSWER_YES;
}

/* Without a compiler, searches for code of any compiler that has filled the cache. */
static Answer
find_of_others(KeyParts *parts, const CodeOrigin *origin, Code **out)
{
    Digest known[MAX_RECORDED_COMPILERS];
    int count = toolchain_recorded(known, MAX_RECORDED_COMPILERS);
    for (int i = 0; i < count; i++) {
        parts->digest[PART_COMPILER] = known[i];
        Digest key = key_of(parts);
        Answer answer = find(&key, origin, out);
        if (answer != ANSWER_NO) return answer;
    }
    return ANSWER_NO;
}

static Answer
compile_and_load(const Digest *key, const char *source, bool straight, const KeyParts *parts,
                 const CodeOrigin *origin, Code **out)
{
    char folder[CACHE_PATH], file[CACHE_PATH], path[CACHE_PATH];
    double seconds = 0;
    if (cache_work_begin(folder) < 0) {
        toolchain_has_no_folder();
        return ANSWER_NO;
    }
    Answer answer = toolchain_compile(source, straight, folder, file, &seconds);
    if (answer == ANSWER_YES) {
        answer = use_loaded(key, out);
        if (answer == ANSWER_NO) {
            bool stored = cache_store(key, file, path) == ANSWER_YES;
            if (stored) {
                cache_record_made(key, origin, parts, seconds);
                toolchain_record();
            }
            answer = load(key, stored ? path : file, out);
        }
    }
    cache_work_end(folder);
    return answer;
}

Answer
code_load(const char *source, bool straight, const Config *config, const CodeOrigin *origin,
          bool cached, Code **out)
{
    KeyParts parts = {0};
    describe_parts(source, straight, config, &parts);
    bool compiles = toolchain_identify(&parts) == ANSWER_YES;
    Digest key = key_of(&parts); /* used with a compiler only */
    Answer answer = compiles ? find(&key, origin, out) : find_of_others(&parts, origin, out);
    if (answer != ANSWER_NO) return answer;
    cache_missed(origin, &parts);
    if (!cached && !compiles) toolchain_is_missing();
    if (cached || !compiles) return ANSWER_NO;
    return compile_and_load(&key, source, straight, &parts, origin, out);
}

KernelFn
code_symbol(Code *code, const char *name)
{
    return (KernelFn)(uintptr_t)dlsym(code->handle, name);
}

void
code_release(Code *code)
{
    if (code == NULL || --code->users > 0) return;
    Code **at = bucket_of(&code->key);
    while (*at != code) at = &(*at)->next;
    *at = code->next;
    dlclose(code->handle);
    mem_free(code);
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
    const CodeOrigin origin = {"test", "test", 0};
    Answer answer = code_load(source, straight, NULL, &origin, false, &code);
    if (answer == ANSWER_ERROR) return NULL;
    if (answer == ANSWER_NO) Py_RETURN_NONE;
    KernelFn fn = code_symbol(code, "k0");
    KernelArgs none = {0};
    PyObject *result = fn != NULL ? PyLong_FromLong(fn(&none, 0, 0)) : Py_NewRef(Py_None);
    code_release(code);
    return result;
}

static PyObject *
code_info(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    long held = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (Code *code = table[i]; code != NULL; code = code->next) held++;
    return Py_BuildValue("{s:l,s:L,s:L}", "held", held, "loaded", loaded, "memory_hits",
                         memory_hits);
}

PyMethodDef code_methods[] = {
    {"test_code_run", test_code_run, METH_VARARGS, "Compiles C and calls its k0."},
    {"code_info", code_info, METH_NOARGS, "Loaded shared objects."},
    {NULL, NULL, 0, NULL},
};
