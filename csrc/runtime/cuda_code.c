/* CUDA source to loaded code: the current device's cubin by NVRTC, kept in the disk cache as the
   host's code is, and loaded by the driver. */
#include "cuda.h"
#include "clock.h"

/* CuPy's arithmetic: subnormal floats are zero.  Its kernels are compiled with contraction, but
   each of them is one operation; ours are many, which must not be contracted with one another. */
static const char *const options[] = {"-ftz=true", "-fmad=false", "--std=c++17", "-minimal", "-w"};

static char problem[256] = "CUDA kernels could not be compiled";

static int
current_arch(char out[16])
{
    enum { MAJOR = 75, MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_… */
    const char *why;
    const CudaDriver *driver = cuda_driver(&why);
    int device, major = 0, minor = 0;
    if (driver == NULL || cuda_current(&device) != ANSWER_YES ||
        driver->device_attribute(&major, MAJOR, device) != 0 ||
        driver->device_attribute(&minor, MINOR, device) != 0)
        return -1;
    snprintf(out, 16, "sm_%d%d", major, minor);
    return 0;
}

/* ---- the key ---- */

void
cuda_parts(KeyParts *parts, bool Py_UNUSED(straight))
{
    char arch[16] = "none";
    Hash hash;
    hash_begin(&hash);
    for (int i = 0; i < COUNT_OF(options); i++) hash_add_string(&hash, options[i]);
    parts->digest[PART_FLAGS] = hash_end(&hash);
    current_arch(arch);
    hash_begin(&hash);
    hash_add_string(&hash, arch);
    parts->digest[PART_CPU] = hash_end(&hash);
    parts->compiler = "no NVRTC";
}

Answer
cuda_identify(KeyParts *parts)
{
    static char described[32];
    const char *why;
    int major, minor;
    Hash hash;
    if (cuda_driver(&why) == NULL) return ANSWER_NO;
    const Nvrtc *nvrtc = cuda_nvrtc(&why);
    if (nvrtc == NULL || nvrtc->version(&major, &minor) != 0) return ANSWER_NO;
    snprintf(described, sizeof described, "NVRTC %d.%d", major, minor);
    hash_begin(&hash);
    hash_add_string(&hash, described);
    parts->digest[PART_COMPILER] = hash_end(&hash);
    parts->compiler = described;
    return ANSWER_YES;
}

/* ---- compiling ---- */

static PyObject *
log_of(const Nvrtc *nvrtc, void *program)
{
    size_t size = 0;
    if (nvrtc->log_size(program, &size) != 0 || size == 0) return PyUnicode_FromString("");
    char *text = mem_alloc(size + 1);
    if (text == NULL) return NULL;
    bool read = nvrtc->log(program, text) == 0;
    PyObject *log = PyUnicode_FromString(read ? text : "");
    mem_free(text);
    return log;
}

static PyObject *
cubin_of(const Nvrtc *nvrtc, void *program)
{
    size_t size = 0;
    if (nvrtc->cubin_size(program, &size) != 0 || size == 0) Py_RETURN_NONE;
    PyObject *cubin = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (cubin != NULL && nvrtc->cubin(program, PyBytes_AS_STRING(cubin)) != 0)
        Py_SETREF(cubin, Py_NewRef(Py_None));
    return cubin;
}

PyObject *
cuda_compile(const char *source, const char *arch, PyObject **log)
{
    const char *why, *all[COUNT_OF(options) + 1];
    char target[48];
    const Nvrtc *nvrtc = cuda_nvrtc(&why);
    void *program = NULL;
    int failed;
    *log = NULL;
    if (nvrtc == NULL) {
        *log = PyUnicode_FromString(why);
        return *log == NULL ? NULL : Py_NewRef(Py_None);
    }
    snprintf(target, sizeof target, "--gpu-architecture=%s", arch);
    for (int i = 0; i < COUNT_OF(options); i++) all[i] = options[i];
    all[COUNT_OF(options)] = target;
    if (nvrtc->create(&program, source, "kernels.cu", 0, NULL, NULL) != 0) return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS failed = nvrtc->compile(program, COUNT_OF(all), all);
    Py_END_ALLOW_THREADS PyObject *cubin = failed ? Py_NewRef(Py_None) : cubin_of(nvrtc, program);
    if (cubin != NULL) *log = log_of(nvrtc, program);
    nvrtc->destroy(&program);
    if (*log == NULL) Py_CLEAR(cubin);
    return cubin;
}

static bool
write_file(const char *path, PyObject *bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) return false;
    size_t size = (size_t)PyBytes_GET_SIZE(bytes);
    bool written = fwrite(PyBytes_AS_STRING(bytes), 1, size, file) == size;
    return fclose(file) == 0 && written;
}

Answer
cuda_compile_file(const char *source, bool Py_UNUSED(straight), const char *folder,
                  char out[CACHE_PATH], double *seconds)
{
    char arch[16];
    PyObject *log = NULL;
    double start = clock_seconds();
    if (current_arch(arch) < 0) return ANSWER_NO;
    PyObject *cubin = mem_fault() ? Py_NewRef(Py_None) : cuda_compile(source, arch, &log);
    if (cubin == NULL) return ANSWER_ERROR;
    bool made = cubin != Py_None && snprintf(out, CACHE_PATH, "%s/k.cubin", folder) < CACHE_PATH &&
                write_file(out, cubin);
    if (!made) {
        snprintf(problem, sizeof problem, "NVRTC failed to compile a kernel");
        log_emit(LOG_CACHE, "NVRTC failed:\n%s",
                 log != NULL && PyUnicode_AsUTF8(log) != NULL ? PyUnicode_AsUTF8(log) : "");
    }
    *seconds = clock_seconds() - start;
    Py_DECREF(cubin);
    Py_XDECREF(log);
    return made ? ANSWER_YES : ANSWER_NO;
}

void
cuda_is_missing(void)
{
    static bool warned;
    const char *why = "";
    if (cuda_driver(&why) != NULL) cuda_nvrtc(&why);
    snprintf(problem, sizeof problem, "%s", why);
    if (!warned) log_warn("pycompile leaves CuPy's arrays to CuPy: %s", why);
    warned = true;
}

const char *
cuda_problem(void)
{
    return problem;
}

/* ---- loading ---- */

void *
cuda_open(const char *path, const char **why)
{
    const CudaDriver *driver = cuda_driver(why);
    void *library = NULL;
    if (driver == NULL || mem_fault()) return NULL;
    FILE *file = fopen(path, "rb");
    long size = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *image = size > 0 ? mem_alloc((size_t)size) : NULL;
    *why = "it cannot be read";
    if (image != NULL && fseek(file, 0, SEEK_SET) == 0 &&
        fread(image, 1, (size_t)size, file) == (size_t)size) {
        int failed = driver->library_load(&library, image, NULL, NULL, 0, NULL, NULL, 0);
        if (failed) *why = cuda_error(failed);
    }
    PyErr_Clear();
    mem_free(image);
    if (file != NULL) fclose(file);
    return library;
}

void *
cuda_symbol(void *handle, const char *name)
{
    const char *why;
    void *kernel = NULL;
    return cuda_driver(&why)->library_kernel(&kernel, handle, name) == 0 ? kernel : NULL;
}

/* Its kernels may still be under way, and nothing waits for them: the library stays loaded. */
void
cuda_close(void *Py_UNUSED(handle))
{
}
