/* glibc's vector math library, libmvec: elementary functions of vectors, within 4 ulp.  Its names
   are those of the vector function ABI of x86-64 (gcc's libmvec-abi): _ZGV, a letter for the
   registers, N for no mask, the lanes, a v for each argument, the scalar function's name. */
#include "base.h"

#include <dlfcn.h>
#include <stdio.h>

#if defined(__x86_64__) && defined(__GLIBC__)
static void *
library(void)
{
    static void *opened;
    static bool tried;
    /* generated code finds the functions in what is loaded for all */
    if (!tried && dlopen("libm.so.6", RTLD_LAZY | RTLD_GLOBAL) != NULL)
        opened = dlopen("libmvec.so.1", RTLD_LAZY | RTLD_GLOBAL);
    tried = true;
    return opened;
}

void
vector_libm_name(char out[VECTOR_LIBM_NAME], const char *function, int arity, int bytes, int lanes)
{
    char registers = bytes == 64 ? 'e' : bytes == 32 ? 'd' : 'b';
    bool single = bytes / lanes == 4;
    snprintf(out, VECTOR_LIBM_NAME, "_ZGV%cN%d%s_%s%s", registers, lanes, arity == 2 ? "vv" : "v",
             function, single ? "f" : "");
}

bool
vector_libm_has(const char *function, int arity)
{
    char name[VECTOR_LIBM_NAME];
    for (int bytes = 16; bytes <= 64; bytes *= 2)
        for (int single = 0; single < 2; single++) {
            vector_libm_name(name, function, arity, bytes, bytes / (single ? 4 : 8));
            if (library() == NULL || dlsym(library(), name) == NULL) return false;
        }
    return true;
}
#else
void
vector_libm_name(char out[VECTOR_LIBM_NAME], const char *function, int arity, int bytes, int lanes)
{
    (void)arity, (void)bytes, (void)lanes;
    snprintf(out, VECTOR_LIBM_NAME, "%s", function);
}

bool
vector_libm_has(const char *function, int arity)
{
    (void)function, (void)arity;
    return false;
}
#endif
