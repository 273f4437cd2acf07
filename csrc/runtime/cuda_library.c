/* The driver (libcuda.so.1), NVRTC and cuBLASLt by dlopen.  The last two are taken where they are
   loaded already, from the folders of NVIDIA's packages (for CUDA 13 or 12), or from the system. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cuda.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

enum {
    LEAST_DRIVER = 12000, /* CUDA 12.0 */
    LEAST_NVRTC = 12,
};

typedef struct {
    const char *name;
    void **slot;
} Symbol;

static const char *
take_symbols(void *handle, const Symbol *symbols, int count)
{
    for (int i = 0; i < count; i++)
        if ((*symbols[i].slot = dlsym(handle, symbols[i].name)) == NULL) return symbols[i].name;
    return NULL;
}

/* ---- the driver ---- */

static CudaDriver driver;
static char driver_problem[160];
static pid_t driver_process;
static int driver_state; /* 0: not tried, 1: there, -1: missing */

static void
open_driver(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const Symbol symbols[] = {
        {"cuInit", (void **)&driver.init},
        {"cuDriverGetVersion", (void **)&driver.driver_version},
        {"cuDeviceGetCount", (void **)&driver.device_count},
        {"cuDeviceGetAttribute", (void **)&driver.device_attribute},
        {"cuDeviceGetName", (void **)&driver.device_name},
        {"cuCtxGetCurrent", (void **)&driver.context_current},
        {"cuCtxSetCurrent", (void **)&driver.context_set},
        {"cuCtxGetDevice", (void **)&driver.context_device},
        {"cuDevicePrimaryCtxRetain", (void **)&driver.context_retain},
        {"cuLibraryLoadData", (void **)&driver.library_load},
        {"cuLibraryGetKernel", (void **)&driver.library_kernel},
        {"cuLaunchKernel", (void **)&driver.launch},
        {"cuMemcpyDtoDAsync_v2", (void **)&driver.copy},
        {"cuKernelSetAttribute", (void **)&driver.kernel_set},
        {"cuTensorMapEncodeTiled", (void **)&driver.map_encode},
        {"cuGetErrorName", (void **)&driver.error_name},
    };
    const Symbol graphs[] = {
        {"cuKernelGetFunction", (void **)&driver.kernel_function},
        {"cuGraphCreate", (void **)&driver.graph_create},
        {"cuGraphAddKernelNode_v2", (void **)&driver.graph_add},
        {"cuGraphInstantiateWithFlags", (void **)&driver.graph_instantiate},
        {"cuGraphExecKernelNodeSetParams_v2", (void **)&driver.graph_set},
        {"cuGraphLaunch", (void **)&driver.graph_launch},
        {"cuGraphDestroy", (void **)&driver.graph_destroy},
        {"cuGraphExecDestroy", (void **)&driver.exec_destroy},
        {"cuStreamIsCapturing", (void **)&driver.stream_capturing},
        {"cuThreadExchangeStreamCaptureMode", (void **)&driver.capture_mode},
    };
    const Symbol products[] = {
        {"cuGraphAddChildGraphNode", (void **)&driver.graph_add_child},
        {"cuGraphExecChildGraphNodeSetParams", (void **)&driver.graph_set_child},
        {"cuStreamBeginCapture_v2", (void **)&driver.capture_begin},
        {"cuStreamEndCapture", (void **)&driver.capture_end},
        {"cuStreamCreate", (void **)&driver.stream_create},
        {"cuStreamSynchronize", (void **)&driver.stream_wait},
        {"cuMemAlloc_v2", (void **)&driver.memory_take},
        {"cuMemFree_v2", (void **)&driver.memory_give},
        {"cuMemsetD32Async", (void **)&driver.memory_set},
        {"cuMemcpyHtoDAsync_v2", (void **)&driver.copy_to_device},
        {"cuMemcpyDtoHAsync_v2", (void **)&driver.copy_to_host},
    };
    int version = 0, count = 0, failed;
    const char *missing;
    driver_state = -1;
    driver_process = getpid();
    if (handle == NULL)
        snprintf(driver_problem, sizeof driver_problem,
                 "no CUDA driver: libcuda.so.1 is not there");
    else if ((missing = take_symbols(handle, symbols, COUNT_OF(symbols))) != NULL)
        snprintf(driver_problem, sizeof driver_problem, "a CUDA driver without %s", missing);
    else if ((failed = driver.init(0)) != 0)
        snprintf(driver_problem, sizeof driver_problem, "the CUDA driver does not start: error %d",
                 failed);
    else if (driver.driver_version(&version) != 0 || version < LEAST_DRIVER)
        snprintf(driver_problem, sizeof driver_problem,
                 "a CUDA driver for CUDA %d.%d: 12.0 or later is needed", version / 1000,
                 version % 1000 / 10);
    else if (driver.device_count(&count) != 0 || count == 0)
        snprintf(driver_problem, sizeof driver_problem, "no CUDA device");
    else
        driver_state = 1;
    driver.has_graphs = driver_state > 0 && take_symbols(handle, graphs, COUNT_OF(graphs)) == NULL;
    if (driver.has_graphs) /* not part of each driver that is new enough */
        *(void **)&driver.graph_depend = dlsym(handle, "cuGraphAddDependencies_v2");
    driver.has_products =
        driver.has_graphs && take_symbols(handle, products, COUNT_OF(products)) == NULL;
}

const CudaDriver *
cuda_driver(const char **why)
{
    if (driver_state == 0) open_driver();
    *why = driver_problem;
    return driver_state > 0 ? &driver : NULL;
}

void
cuda_tell_fork(void)
{
    static bool told;
    if (told || driver_state <= 0 || getpid() == driver_process) return;
    told = true;
    log_warn("CUDA does not work in a process that was forked after it was used: start processes "
             "with multiprocessing's \"spawn\" or \"forkserver\", or before CUDA is used");
}

const char *
cuda_error(int error)
{
    const char *name = NULL;
    if (driver_state <= 0 || driver.error_name(error, &name) != 0 || name == NULL)
        return "an unknown CUDA error";
    return name;
}

/* ---- libraries of the toolkit ---- */

static const char *const versions[] = {"13", "12"};

/* One that is a system library, or part of a package: `folders` by version. */
typedef struct {
    const char *name, *part; /* "libnvrtc"; a second half that is not found by itself, or NULL */
    const char *folders[COUNT_OF(versions)];
    char path[4096]; /* where it was found */
} Toolkit;

static void *
open_at(Toolkit *t, const char *path, int flags)
{
    void *handle = dlopen(path, flags);
    if (handle != NULL) snprintf(t->path, sizeof t->path, "%s", path);
    return handle;
}

/* The package's library finds its second half only where that is loaded already. */
static void *
open_in_folder(Toolkit *t, const char *folder, const char *version)
{
    char path[4096];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s.so.%s*", folder, t->part != NULL ? t->part : "-", version);
    if (t->part != NULL && glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
        globfree(&found);
    }
    snprintf(path, sizeof path, "%s/%s.so.%s", folder, t->name, version);
    return open_at(t, path, RTLD_NOW | RTLD_LOCAL);
}

static void *
open_by_name(Toolkit *t, int flags)
{
    void *handle = NULL;
    for (int i = 0; i < COUNT_OF(versions) && handle == NULL; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.so.%s", t->name, versions[i]);
        handle = open_at(t, name, flags);
    }
    return handle;
}

/* In the folders in which Python looks for packages. */
static void *
open_in_packages(Toolkit *t)
{
    PyObject *paths = PySys_GetObject("path"); /* borrowed */
    void *handle = NULL;
    for (Py_ssize_t i = 0; paths != NULL && PyList_Check(paths) && i < PyList_GET_SIZE(paths);
         i++) {
        PyObject *path = PyList_GET_ITEM(paths, i);
        const char *text = PyUnicode_Check(path) ? PyUnicode_AsUTF8(path) : NULL;
        for (int k = 0; text != NULL && handle == NULL && k < COUNT_OF(versions); k++) {
            char folder[3072];
            snprintf(folder, sizeof folder, "%s/%s", text, t->folders[k]);
            handle = open_in_folder(t, folder, versions[k]);
        }
    }
    PyErr_Clear();
    return handle;
}

static void *
open_toolkit(Toolkit *t)
{
    void *handle = open_by_name(t, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == NULL) handle = open_in_packages(t);
    if (handle == NULL) handle = open_by_name(t, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < COUNT_OF(versions) && handle == NULL; i++)
        handle = open_in_folder(t, "/usr/local/cuda/lib64", versions[i]);
    return handle;
}

/* ---- NVRTC ---- */

static Nvrtc nvrtc;
static char nvrtc_problem[200];
static int nvrtc_state;
static Toolkit nvrtc_place = {
    "libnvrtc", "libnvrtc-builtins", {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"}, ""};

static void
open_nvrtc(void)
{
    void *handle = open_toolkit(&nvrtc_place);
    const Symbol symbols[] = {
        {"nvrtcVersion", (void **)&nvrtc.version},
        {"nvrtcCreateProgram", (void **)&nvrtc.create},
        {"nvrtcCompileProgram", (void **)&nvrtc.compile},
        {"nvrtcGetCUBINSize", (void **)&nvrtc.cubin_size},
        {"nvrtcGetCUBIN", (void **)&nvrtc.cubin},
        {"nvrtcGetPTXSize", (void **)&nvrtc.ptx_size},
        {"nvrtcGetPTX", (void **)&nvrtc.ptx},
        {"nvrtcGetProgramLogSize", (void **)&nvrtc.log_size},
        {"nvrtcGetProgramLog", (void **)&nvrtc.log},
        {"nvrtcDestroyProgram", (void **)&nvrtc.destroy},
    };
    int major = 0, minor = 0;
    const char *missing;
    nvrtc_state = -1;
    if (handle == NULL)
        snprintf(nvrtc_problem, sizeof nvrtc_problem,
                 "no NVRTC: pip install nvidia-cuda-nvrtc (for drivers of CUDA 12: "
                 "nvidia-cuda-nvrtc-cu12)");
    else if ((missing = take_symbols(handle, symbols, COUNT_OF(symbols))) != NULL)
        snprintf(nvrtc_problem, sizeof nvrtc_problem, "an NVRTC without %s", missing);
    else if (nvrtc.version(&major, &minor) != 0 || major < LEAST_NVRTC)
        snprintf(nvrtc_problem, sizeof nvrtc_problem, "NVRTC %d.%d: 12.0 or later is needed", major,
                 minor);
    else
        nvrtc_state = 1;
}

const Nvrtc *
cuda_nvrtc(const char **why)
{
    if (nvrtc_state == 0) open_nvrtc();
    *why = nvrtc_problem;
    return nvrtc_state > 0 ? &nvrtc : NULL;
}

/* ---- cuBLASLt ---- */

static CublasLt cublaslt;
static char cublaslt_problem[200];
static int cublaslt_state;
static Toolkit cublaslt_place = {"libcublasLt", NULL, {"nvidia/cu13/lib", "nvidia/cublas/lib"}, ""};

static void
open_cublaslt(void)
{
    enum { LEAST_CUBLASLT = 12000 }; /* 12.0; of 13: 130000 */
    void *handle = open_toolkit(&cublaslt_place);
    const Symbol symbols[] = {
        {"cublasLtGetVersion", (void **)&cublaslt.version},
        {"cublasLtCreate", (void **)&cublaslt.create},
        {"cublasLtMatmulDescCreate", (void **)&cublaslt.desc_create},
        {"cublasLtMatmulDescSetAttribute", (void **)&cublaslt.desc_set},
        {"cublasLtMatmulDescDestroy", (void **)&cublaslt.desc_destroy},
        {"cublasLtMatrixLayoutCreate", (void **)&cublaslt.layout_create},
        {"cublasLtMatrixLayoutSetAttribute", (void **)&cublaslt.layout_set},
        {"cublasLtMatrixLayoutDestroy", (void **)&cublaslt.layout_destroy},
        {"cublasLtMatmulPreferenceCreate", (void **)&cublaslt.preference_create},
        {"cublasLtMatmulPreferenceSetAttribute", (void **)&cublaslt.preference_set},
        {"cublasLtMatmulPreferenceDestroy", (void **)&cublaslt.preference_destroy},
        {"cublasLtMatmulAlgoGetHeuristic", (void **)&cublaslt.algorithms},
        {"cublasLtMatmul", (void **)&cublaslt.multiply},
    };
    const char *missing;
    cublaslt_state = -1;
    if (handle == NULL)
        snprintf(cublaslt_problem, sizeof cublaslt_problem,
                 "no cuBLASLt: pip install nvidia-cublas (for drivers of CUDA 12: "
                 "nvidia-cublas-cu12)");
    else if ((missing = take_symbols(handle, symbols, COUNT_OF(symbols))) != NULL)
        snprintf(cublaslt_problem, sizeof cublaslt_problem, "a cuBLASLt without %s", missing);
    else if (cublaslt.version() < LEAST_CUBLASLT)
        snprintf(cublaslt_problem, sizeof cublaslt_problem,
                 "cuBLASLt %zu: that of CUDA 12 or later is needed", cublaslt.version());
    else
        cublaslt_state = 1;
}

const CublasLt *
cuda_cublaslt(const char **why)
{
    if (cublaslt_state == 0) open_cublaslt();
    *why = cublaslt_problem;
    return cublaslt_state > 0 ? &cublaslt : NULL;
}

/* ---- what Python sees ---- */

static PyObject *
device_row(int number)
{
    char name[128] = "?";
    int major = 0, minor = 0;
    enum { MAJOR = 75, MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_… */
    driver.device_name(name, sizeof name, number);
    driver.device_attribute(&major, MAJOR, number);
    driver.device_attribute(&minor, MINOR, number);
    return Py_BuildValue("(si)", name, major * 10 + minor);
}

/* cuda_info() -> {"driver": version or None, "nvrtc": …, "problems": […], "devices": […]} */
static PyObject *
py_cuda_info(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    const char *why;
    int version = 0, count = 0, major = 0, minor = 0;
    PyObject *problems = PyList_New(0), *devices = PyList_New(0), *text = NULL;
    if (problems == NULL || devices == NULL) goto fail;
    if (cuda_driver(&why) == NULL) {
        if ((text = PyUnicode_FromString(why)) == NULL || PyList_Append(problems, text) < 0)
            goto fail;
        Py_CLEAR(text);
    } else {
        driver.driver_version(&version);
        driver.device_count(&count);
    }
    for (int i = 0; i < count; i++) {
        if ((text = device_row(i)) == NULL || PyList_Append(devices, text) < 0) goto fail;
        Py_CLEAR(text);
    }
    if (cuda_nvrtc(&why) == NULL) {
        if ((text = PyUnicode_FromString(why)) == NULL || PyList_Append(problems, text) < 0)
            goto fail;
        Py_CLEAR(text);
    } else {
        nvrtc.version(&major, &minor);
    }
    return Py_BuildValue("{s:i,s:(ii),s:s,s:N,s:N}", "driver", version, "nvrtc", major, minor,
                         "path", nvrtc_place.path, "problems", problems, "devices", devices);
fail:
    Py_XDECREF(text);
    Py_XDECREF(problems);
    Py_XDECREF(devices);
    return NULL;
}

/* cublaslt_info() -> (version or 0, where it is, or what is missing) */
static PyObject *
py_cublaslt_info(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    const char *why;
    const CublasLt *found = cuda_cublaslt(&why);
    return found != NULL ? Py_BuildValue("(ns)", (Py_ssize_t)found->version(), cublaslt_place.path)
                         : Py_BuildValue("(is)", 0, why);
}

/* cuda_compile(source, arch, parts=1) -> (image or None, messages) */
static PyObject *
py_cuda_compile(PyObject *Py_UNUSED(self), PyObject *args)
{
    const char *source, *arch;
    PyObject *log = NULL;
    int parts = 1;
    if (!PyArg_ParseTuple(args, "ss|i", &source, &arch, &parts)) return NULL;
    PyObject *image = cuda_compile(source, arch, parts, &log);
    if (image == NULL) return NULL;
    return Py_BuildValue("(NN)", image, log != NULL ? log : Py_NewRef(Py_None));
}

static PyObject *
py_cuda_minus_may_go(PyObject *Py_UNUSED(self), PyObject *ptx)
{
    const char *text = PyUnicode_AsUTF8(ptx);
    return text == NULL ? NULL : PyBool_FromLong(cuda_minus_may_go(text));
}

PyMethodDef cuda_methods[] = {
    {"cuda_info", py_cuda_info, METH_NOARGS, "What is there of CUDA."},
    {"cublaslt_info", py_cublaslt_info, METH_NOARGS, "What is there of cuBLASLt."},
    {"cuda_compile", py_cuda_compile, METH_VARARGS, "CUDA to cubins, for tests."},
    {"cuda_minus_may_go", py_cuda_minus_may_go, METH_O, "Whether PTX has it so, for tests."},
    {NULL, NULL, 0, NULL},
};
