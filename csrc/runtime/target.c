/* The targets, a row each. */
#include "cuda.h"
#include "target.h"

#include <dlfcn.h>

/* ---- the host ---- */

/* Makes the C library's mathematics visible to kernels, which name its functions without a
   library. */
static void
offer_libm(void)
{
    static bool done;
    if (!done) dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    done = true;
}

static void *
host_open(const char *path, const char **why)
{
    offer_libm();
    void *handle = mem_fault() ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        *why = dlerror();
    else
        elementary_link(dlsym, handle);
    return handle;
}

static void *
host_symbol(void *handle, const char *name)
{
    return dlsym(handle, name);
}

static void
host_close(void *handle)
{
    dlclose(handle);
}

/* ---- the table ---- */

const Target targets[] = {
    [DEVICE_HOST] = {NULL, codegen_c, toolchain_parts, toolchain_identify, toolchain_compile,
                     toolchain_start, toolchain_ended, toolchain_recorded, toolchain_record,
                     toolchain_is_missing, toolchain_has_no_folder, toolchain_problem, host_open,
                     host_symbol, host_close, NULL, NULL},
    [DEVICE_CUDA] = {cuda_describe, codegen_cuda, cuda_parts, cuda_identify, cuda_compile_file,
                     NULL, NULL, NULL, NULL, cuda_is_missing, toolchain_has_no_folder, cuda_problem,
                     cuda_open, cuda_symbol, cuda_close, cuda_launch, cuda_forget},
};

bool
program_uses(const Program *program, Device device)
{
    for (int i = 0; i < program->kernels.len; i++)
        if (device_target(kernel_device(program->kernels.at[i])) == device &&
            kernel_has_text(program->kernels.at[i]))
            return true;
    return false;
}
