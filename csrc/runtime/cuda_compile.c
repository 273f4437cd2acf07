/* CUDA source to cubins by NVRTC.  It compiles one kernel after the other, 28 to 60 ms each, so
   that several threads, each with some of the kernels, are done sooner. */
#include "cuda.h"
#include "runtime.h"

#include <pthread.h>
#include <signal.h>

/* CuPy's arithmetic: subnormal floats are zero.  Its kernels are compiled with contraction, but
   each of them is one operation; ours are many, which must not be contracted with one another. */
static const char *const options[] = {"-ftz=true", "-fmad=false", "--std=c++17", "-minimal", "-w"};

/* ---- images: cubins at multiples of 64 bytes, behind a header ---- */

#define MARK "cubins 2"

typedef struct {
    char mark[sizeof MARK - 1];
    int64_t count, at[CUDA_PARTS];
    char padding[128 - (sizeof MARK - 1) - (1 + CUDA_PARTS) * sizeof(int64_t)];
} Header;

int
cuda_image_parts(const char *image, size_t bytes, const char *cubin[CUDA_PARTS])
{
    Header header;
    if (bytes < sizeof header) return 0;
    memcpy(&header, image, sizeof header);
    if (memcmp(header.mark, MARK, sizeof header.mark) != 0) return 0;
    if (header.count < 1 || header.count > CUDA_PARTS) return 0;
    for (int64_t i = 0; i < header.count; i++) {
        if (header.at[i] < (int64_t)sizeof header || (size_t)header.at[i] >= bytes) return 0;
        cubin[i] = image + header.at[i];
    }
    return (int)header.count;
}

Digest
cuda_options(void)
{
    Hash hash;
    hash_begin(&hash);
    hash_add_string(&hash, MARK);
    for (int i = 0; i < COUNT_OF(options); i++) hash_add_string(&hash, options[i]);
    return hash_end(&hash);
}

/* ---- programs ---- */

typedef struct {
    const Nvrtc *nvrtc;
    const char *arch;
    Text source;
    void *program; /* NULL: not made */
    int failed;
    size_t size; /* of the cubin */
} Part;

/* Returns 0, or NVRTC's error.  `more`: an option; NULL: none. */
static int
compile_with(Part *part, const char *more)
{
    const char *all[COUNT_OF(options) + 2];
    char target[48];
    int count = COUNT_OF(options);
    snprintf(target, sizeof target, "--gpu-architecture=%s", part->arch);
    for (int i = 0; i < count; i++) all[i] = options[i];
    all[count++] = target;
    if (more != NULL) all[count++] = more;
    if (part->program != NULL) part->nvrtc->destroy(&part->program);
    int failed =
        part->nvrtc->create(&part->program, part->source.data, "kernels.cu", 0, NULL, NULL);
    if (failed) part->program = NULL;
    return failed ? failed : part->nvrtc->compile(part->program, count, all);
}

/* Whether the cubin may lack a minus (cuda_ptx.c); true where that is not known. */
static bool
may_lack_minus(const Part *part)
{
    int major = 0, minor = 0;
    size_t size = 0;
    part->nvrtc->version(&major, &minor);
    if (major > 13 || (major == 13 && minor >= 4) || atoi(part->arch + strlen("sm_")) < 90)
        return false;
    char *ptx = part->nvrtc->ptx_size(part->program, &size) == 0 ? malloc(size + 1) : NULL;
    bool may = ptx == NULL || part->nvrtc->ptx(part->program, ptx) != 0;
    if (!may) ptx[size] = '\0';
    may = may || cuda_minus_may_go(ptx);
    free(ptx);
    return may;
}

/* Called without the GIL. */
static void *
compile_part(void *context)
{
    Part *part = context;
    part->failed = compile_with(part, NULL);
    if (!part->failed && may_lack_minus(part))
        part->failed = compile_with(part, "--ptxas-options=-O0");
    if (!part->failed) part->failed = part->nvrtc->cubin_size(part->program, &part->size);
    return NULL;
}

/* The first by the caller, each other by a thread, which takes no signals. */
static void
compile_parts(Part *parts, int count)
{
    pthread_t threads[CUDA_PARTS];
    bool started[CUDA_PARTS] = {false};
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (int i = 1; i < count; i++)
        started[i] = pthread_create(&threads[i], NULL, compile_part, &parts[i]) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    for (int i = 0; i < count; i++)
        if (!started[i]) compile_part(&parts[i]);
    for (int i = 1; i < count; i++)
        if (started[i]) pthread_join(threads[i], NULL);
}

static int
add_log(const Part *part, Text *out)
{
    size_t size = 0;
    if (part->program == NULL || part->nvrtc->log_size(part->program, &size) != 0 || size == 0)
        return 0;
    char *text = mem_alloc(size + 1);
    if (text == NULL) return -1;
    if (part->nvrtc->log(part->program, text) == 0) text_put(out, text);
    mem_free(text);
    return 0;
}

static PyObject *
log_of(const Part *parts, int count)
{
    Text all = {0};
    int failed = 0;
    for (int i = 0; i < count && !failed; i++)
        if (parts[i].failed) failed = add_log(&parts[i], &all);
    PyObject *log = failed ? NULL : PyUnicode_FromString(all.data != NULL ? all.data : "");
    text_free(&all);
    return log;
}

static int64_t
place_after(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* None where a cubin cannot be had. */
static PyObject *
image_of(Part *parts, int count)
{
    Header header = {.count = count};
    int64_t bytes = sizeof header;
    memcpy(header.mark, MARK, sizeof header.mark);
    for (int i = 0; i < count; i++) {
        header.at[i] = bytes;
        bytes = place_after(bytes + (int64_t)parts[i].size);
    }
    PyObject *image = PyBytes_FromStringAndSize(NULL, bytes);
    if (image == NULL) return NULL;
    char *out = PyBytes_AS_STRING(image);
    memset(out, 0, (size_t)bytes);
    memcpy(out, &header, sizeof header);
    for (int i = 0; i < count; i++)
        if (parts[i].nvrtc->cubin(parts[i].program, out + header.at[i]) != 0) {
            Py_SETREF(image, Py_NewRef(Py_None));
            break;
        }
    return image;
}

static bool
any_failed(const Part *parts, int count)
{
    for (int i = 0; i < count; i++)
        if (parts[i].failed) return true;
    return false;
}

/* Divides the source: what stands before the first kernel goes to each part, the kernels are dealt
   out.  Returns the number of parts; -1 with the error set. */
static int
divide(const char *source, Part *parts, int most)
{
    static const char KERNEL[] = "\nextern \"C\" __global__ ";
    const char *first = strstr(source, KERNEL);
    int kernels = 0;
    for (const char *at = first; at != NULL; at = strstr(at + 1, KERNEL)) kernels++;
    int count = Py_MAX(Py_MIN(kernels, most), 1), number = 0;
    size_t head = first != NULL ? (size_t)(first - source) : strlen(source);
    for (int i = 0; i < count; i++) text_printf(&parts[i].source, "%.*s", (int)head, source);
    for (const char *at = first, *next; at != NULL; at = next) {
        next = strstr(at + 1, KERNEL);
        size_t length = next != NULL ? (size_t)(next - at) : strlen(at);
        text_printf(&parts[number++ % count].source, "%.*s", (int)length, at);
    }
    for (int i = 0; i < count; i++)
        if (text_finish(&parts[i].source) < 0) count = -1;
    return count;
}

PyObject *
cuda_compile(const char *source, const char *arch, int most, PyObject **log)
{
    const char *why;
    const Nvrtc *nvrtc = cuda_nvrtc(&why);
    Part parts[CUDA_PARTS] = {{0}};
    PyObject *image = NULL;
    *log = NULL;
    if (nvrtc == NULL) {
        *log = PyUnicode_FromString(why);
        return *log == NULL ? NULL : Py_NewRef(Py_None);
    }
    int count = divide(source, parts, Py_MIN(most, CUDA_PARTS));
    for (int i = 0; i < count; i++) parts[i].nvrtc = nvrtc, parts[i].arch = arch;
    if (count > 0) {
        Py_BEGIN_ALLOW_THREADS compile_parts(parts, count);
        Py_END_ALLOW_THREADS *log = log_of(parts, count);
    }
    if (*log != NULL)
        image = any_failed(parts, count) ? Py_NewRef(Py_None) : image_of(parts, count);
    for (int i = 0; i < CUDA_PARTS; i++) {
        if (parts[i].program != NULL) nvrtc->destroy(&parts[i].program);
        text_free(&parts[i].source);
    }
    if (image == NULL) Py_CLEAR(*log);
    return image;
}
