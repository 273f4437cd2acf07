/* CUDA source to loaded code: what cuda_compile.c makes for the current device, kept in the disk
   cache as the host's code is, and loaded by the driver. */
#include "cuda.h"
#include "runtime.h"
#include "../clock.h"

static char problem[256] = "CUDA kernels could not be compiled";

static int
capability_of(int device)
{
    enum { MAJOR = 75, MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_… */
    const char *why;
    const CudaDriver *driver = cuda_driver(&why);
    int major = 0, minor = 0;
    if (driver == NULL || driver->device_attribute(&major, MAJOR, device) != 0 ||
        driver->device_attribute(&minor, MINOR, device) != 0)
        return 0;
    return major * 10 + minor;
}

int
cuda_capability(void)
{
    int device;
    return cuda_current(&device) == ANSWER_YES ? capability_of(device) : 0;
}

/* Hopper's products of several warps are in no architecture that later devices would take over. */
static int
current_arch(char out[16])
{
    int capability = cuda_capability();
    if (capability == 0) return -1;
    snprintf(out, 16, "sm_%d%s", capability, capability == CAPABILITY_HOPPER ? "a" : "");
    return 0;
}

const char *
cuda_describe(Graph *graph)
{
    graph->capability = cuda_capability();
    graph->takes_product = cuda_takes_product;
    for (int i = 1; i < graph->ndevices; i++)
        if (capability_of(graph->device[i]) != graph->capability)
            return "devices of different capabilities"; /* a program has one text */
    return NULL;
}

/* ---- the key ---- */

void
cuda_parts(KeyParts *parts, bool Py_UNUSED(straight))
{
    char arch[16] = "none";
    Hash hash;
    parts->digest[PART_FLAGS] = cuda_options();
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
    PyObject *image =
        mem_fault() ? Py_NewRef(Py_None) : cuda_compile(source, arch, threads_count(), &log);
    if (image == NULL) return ANSWER_ERROR;
    bool made = image != Py_None && snprintf(out, CACHE_PATH, "%s/k.cubin", folder) < CACHE_PATH &&
                write_file(out, image);
    if (!made) {
        snprintf(problem, sizeof problem, "NVRTC failed to compile a kernel");
        log_emit(LOG_CACHE, "NVRTC failed:\n%s",
                 log != NULL && PyUnicode_AsUTF8(log) != NULL ? PyUnicode_AsUTF8(log) : "");
    }
    *seconds = clock_seconds() - start;
    Py_DECREF(image);
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

/* The loaded cubins of a file. */
typedef struct {
    int count;
    void *library[];
} Cubins;

static char *
read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    long size = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *image = size > 0 ? mem_alloc((size_t)size) : NULL;
    if (image != NULL &&
        (fseek(file, 0, SEEK_SET) != 0 || fread(image, 1, (size_t)size, file) != (size_t)size)) {
        mem_free(image);
        image = NULL;
    }
    if (file != NULL) fclose(file);
    *bytes = image != NULL ? (size_t)size : 0;
    return image;
}

static bool
load(const CudaDriver *driver, Cubins *cubins, const char *const *cubin, const char **why)
{
    for (int i = 0; i < cubins->count; i++) {
        int failed =
            driver->library_load(&cubins->library[i], cubin[i], NULL, NULL, 0, NULL, NULL, 0);
        if (failed) *why = cuda_error(failed);
        if (failed) return false;
    }
    return true;
}

void *
cuda_open(const char *path, const char **why)
{
    const CudaDriver *driver = cuda_driver(why);
    if (driver == NULL || mem_fault()) return NULL;
    size_t bytes;
    char *image = read_file(path, &bytes);
    const char *cubin[CUDA_PARTS];
    int count = image != NULL ? cuda_image_parts(image, bytes, cubin) : 0;
    Cubins *cubins = count > 0 ? mem_alloc(sizeof(Cubins) + (size_t)count * sizeof(void *)) : NULL;
    *why = "it cannot be read";
    if (cubins != NULL) {
        cubins->count = count;
        if (!load(driver, cubins, cubin, why)) {
            mem_free(cubins);
            cubins = NULL;
        }
    }
    PyErr_Clear();
    mem_free(image);
    return cubins;
}

void *
cuda_symbol(void *handle, const char *name)
{
    const char *why;
    const Cubins *cubins = handle;
    void *kernel = NULL;
    for (int i = 0; i < cubins->count; i++)
        if (cuda_driver(&why)->library_kernel(&kernel, cubins->library[i], name) == 0)
            return kernel;
    return NULL;
}

/* Its kernels may still be under way, and nothing waits for them: the cubins stay loaded. */
void
cuda_close(void *handle)
{
    mem_free(handle);
}
