/* The CPU as the compiler sees it: words for the cache's key, and a text for people. */
#include "cache.h"

#include <stdio.h>

static char pretended[64]; /* a feature that a test pretends */

#if defined(__x86_64__)
#include <cpuid.h>

static void
own_words(char *out, size_t size)
{
    unsigned a = 0, b = 0, c = 0, d = 0, model = 0, ext_b = 0, ext_c = 0, ext_d = 0, more = 0;
    unsigned amd_c = 0, amd_d = 0, top = 0, unused1 = 0, unused2 = 0, xcr = 0, xcr_high = 0;
    __get_cpuid(1, &model, &b, &c, &d);
    __get_cpuid_count(7, 0, &top, &ext_b, &ext_c, &ext_d);
    __get_cpuid_count(7, 1, &more, &b, &unused1, &unused2);
    __get_cpuid(0x80000001, &a, &b, &amd_c, &amd_d);
    if (c & bit_OSXSAVE) __asm__ volatile("xgetbv" : "=a"(xcr), "=d"(xcr_high) : "c"(0));
    snprintf(out, size, "x86-64 %08x %08x %08x %08x %08x %08x %08x %08x %08x %x", model, c, d,
             ext_b, ext_c, ext_d, more, amd_c, amd_d, xcr);
}

/* The processor's own name without surrounding blanks; empty where it has none. */
static void
brand(char out[49])
{
    unsigned word[12] = {0};
    for (unsigned i = 0; i < 3; i++)
        __get_cpuid(0x80000002 + i, &word[4 * i], &word[4 * i + 1], &word[4 * i + 2],
                    &word[4 * i + 3]);
    char text[49] = {0};
    memcpy(text, word, 48);
    const char *start = text + strspn(text, " ");
    size_t length = strlen(start);
    while (length > 0 && start[length - 1] == ' ') length--;
    snprintf(out, 49, "%.*s", (int)length, start);
}

void
cpu_describe(char *out, size_t size)
{
    char name[49], features[160] = "";
    brand(name);
    __builtin_cpu_init();
#define FEATURE(feature)                                                                           \
    if (__builtin_cpu_supports(feature)) strcat(strcat(features, " "), feature);
    FEATURE("sse4.2")
    FEATURE("avx")
    FEATURE("avx2")
    FEATURE("fma")
    FEATURE("bmi2")
    FEATURE("avx512f")
    FEATURE("avx512bw")
    FEATURE("avx512dq")
    FEATURE("avx512vl")
#undef FEATURE
    snprintf(out, size, "%s: x86-64 with%s", *name ? name : "unnamed",
             *features ? features : " no more than SSE2");
}
#else
#include <sys/auxv.h>

static void
own_words(char *out, size_t size)
{
    snprintf(out, size, "hwcap %lx %lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}

void
cpu_describe(char *out, size_t size)
{
    unsigned long has = getauxval(AT_HWCAP);
    snprintf(out, size, "AArch64 with%s%s%s", has & 1UL << 1 ? " asimd" : "",
             has & 1UL << 10 ? " asimdhp" : "", has & 1UL << 22 ? " sve" : "");
}
#endif

void
cpu_words(char *out, size_t size)
{
    own_words(out, size);
    size_t length = strlen(out);
    snprintf(out + length, size - length, "%s", pretended);
}

/* ---- hooks ---- */

static PyObject *
test_cpu(PyObject *Py_UNUSED(self), PyObject *feature)
{
    const char *text = PyUnicode_AsUTF8(feature);
    if (text == NULL) return NULL;
    snprintf(pretended, sizeof(pretended), "%s", text);
    Py_RETURN_NONE;
}

PyMethodDef cpu_methods[] = {
    {"test_cpu", test_cpu, METH_O, "Pretends that the CPU has one more feature, of that name."},
    {NULL, NULL, 0, NULL},
};
