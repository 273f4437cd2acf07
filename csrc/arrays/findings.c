/* What probes have shown, in this process or in one before it on the same machine.

   A probe compares code of ours with NumPy's (elementary.c), when a process first asks; what it
   shows follows from files and from the processor alone.  So findings are kept under a name that
   tells of all of these: NumPy's library, the features of the processor that its loops are chosen
   by, the functions of the C library that they call, Python, and pycompile itself.  Where a finding
   is kept is not this folder's affair: `findings_kept_by` says who reads and writes it.  Whatever
   goes wrong there, the probe is made. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "numpy_api.h"

#include <inttypes.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MOST = 80 };

typedef struct {
    char name[FINDING_NAME];
    int64_t value;
} Finding;

static const FindingsKeeper *keeper;
static bool off; /* for tests */
static Finding findings[MOST];
static int count;
static bool read_before, unkept;
static Text own_key; /* of this process; empty: not known */

void
findings_kept_by(const FindingsKeeper *by)
{
    keeper = by;
}

/* ---- what findings depend on ---- */

typedef struct {
    const char *what;
    uintptr_t address, base; /* base 0: it is in no library */
    const char *file;
} Place;
typedef struct {
    Place *at;
    int n;
} Places;

/* Which of the addresses are in this library?  (dladdr would search its symbols for each.) */
static int
look_into(struct dl_phdr_info *library, size_t size, void *context)
{
    const Places *places = context;
    (void)size;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        for (int k = 0; k < places->n && part->p_type == PT_LOAD; k++) {
            Place *place = &places->at[k];
            if (place->address - library->dlpi_addr - part->p_vaddr >= part->p_memsz) continue;
            place->base = library->dlpi_addr;
            place->file = *library->dlpi_name != '\0' ? library->dlpi_name : "/proc/self/exe";
        }
    }
    return 0;
}

/* A line for each: the file that it is in, as that is now, and where; "?": in none. */
static void
put_places(Text *out, Place *places, int n)
{
    struct stat file = {0};
    const char *before = ""; /* the file that `file` tells of */
    dl_iterate_phdr(look_into, &(Places){places, n});
    for (int i = 0; i < n; i++) {
        const Place *own = &places[i];
        if (own->file == NULL || (own->file != before && stat(own->file, &file) < 0)) {
            text_printf(out, "%s ?\n", own->what);
            before = "";
            continue;
        }
        before = own->file;
        text_printf(out, "%s %s %lld %lld %lld.%09ld +%" PRIxPTR "\n", own->what, own->file,
                    (long long)file.st_size, (long long)file.st_ino, (long long)file.st_mtim.tv_sec,
                    file.st_mtim.tv_nsec, own->address - own->base);
    }
}

/* The features that NumPy has found, or was told not to use. */
static void
put_features(Text *out)
{
    PyObject *features = module_object("numpy._core._multiarray_umath", "__cpu_features__");
    PyObject *name, *has;
    Py_ssize_t at = 0;
    text_put(out, "features");
    if (features == NULL || !PyDict_CheckExact(features)) text_put(out, NULL);
    while (!out->failed && PyDict_Next(features, &at, &name, &has))
        if (has == Py_True && PyUnicode_Check(name)) text_printf(out, " %s", text_of_str(name));
    text_put(out, "\n");
    Py_XDECREF(features);
    PyErr_Clear();
}

/* The C library chooses among several versions of its functions when they are first linked: where
   in its file a function lies tells which it is. */
int
findings_key(Text *out)
{
    Place places[] = {
        {.what = "pycompile", .address = (uintptr_t)findings_kept_by},
        {.what = "numpy", .address = (uintptr_t)PyArray_API[0]},
        {.what = "python", .address = (uintptr_t)PyNumber_Add},
        {.what = "libc", .address = (uintptr_t)getenv},
        {.what = "exp", .address = (uintptr_t)(double (*)(double))exp},
        {.what = "log", .address = (uintptr_t)(double (*)(double))log},
        {.what = "sin", .address = (uintptr_t)(double (*)(double))sin},
        {.what = "cos", .address = (uintptr_t)(double (*)(double))cos},
        {.what = "atan", .address = (uintptr_t)(double (*)(double))atan},
        {.what = "expf", .address = (uintptr_t)(float (*)(float))expf},
        {.what = "logf", .address = (uintptr_t)(float (*)(float))logf},
    };
    Text lines = {0};
    put_places(&lines, places, COUNT_OF(places));
    put_features(&lines);
    text_printf(out, "of %s %s\n", places[0].file ? places[0].file : "?",
                places[1].file ? places[1].file : "?");
    text_put(out, lines.data);
    text_free(&lines);
    return text_finish(out);
}

/* Which library's ufunc it is: a number for the file of its loops; 0: not known. */
uint64_t
finding_of_file(PyObject *ufunc)
{
    const PyUFuncObject *own = (const PyUFuncObject *)ufunc;
    Text text = {0};
    uint64_t hash = 0;
    if (own->functions == NULL || own->ntypes < 1) return 0;
    Place loops = {.what = "loops", .address = (uintptr_t)own->functions[0]};
    put_places(&text, &loops, 1);
    if (text_finish(&text) < 0)
        PyErr_Clear();
    else if (strstr(text.data, "?") == NULL)
        hash = text_hash(text.data);
    text_free(&text);
    return hash;
}

/* ---- finding and noting them ---- */

static Finding *
finding_named(const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(findings[i].name, name) == 0) return &findings[i];
    return NULL;
}

static void
set_finding(const char *name, int64_t value)
{
    Finding *own = finding_named(name);
    if (own == NULL && (count == MOST || strlen(name) >= FINDING_NAME)) return;
    if (own == NULL) strcpy((own = &findings[count++])->name, name);
    own->value = value;
}

/* Lines of a name, which has no blanks, and a number. */
static void
take_lines(const char *text)
{
    for (; *text != '\0'; text += strcspn(text, "\n"), text += *text == '\n') {
        size_t length = strcspn(text, " \n");
        char name[FINDING_NAME];
        if (length >= sizeof name || text[length] != ' ') continue;
        memcpy(name, text, length);
        name[length] = '\0';
        if (finding_named(name) == NULL) set_finding(name, strtoll(text + length + 1, NULL, 10));
    }
}

/* The key is made once: a file that is replaced later is not what this process has loaded. */
static void
read_findings(void)
{
    char text[FINDINGS_TEXT];
    if (read_before || keeper == NULL || off) return;
    read_before = true;
    if (findings_key(&own_key) < 0) {
        PyErr_Clear();
        text_free(&own_key);
    } else if (keeper->read(own_key.data, text))
        take_lines(text);
}

bool
finding_known(const char *name, int64_t *value)
{
    read_findings();
    const Finding *own = finding_named(name);
    if (own != NULL) *value = own->value;
    return own != NULL;
}

void
finding_note(const char *name, int64_t value)
{
    set_finding(name, value);
    unkept = true;
}

void
findings_keep(void)
{
    Text text = {0};
    if (!unkept || keeper == NULL || off || own_key.data == NULL) return;
    unkept = false;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    for (int i = 0; i < count; i++)
        text_printf(&text, "%s %" PRId64 "\n", findings[i].name, findings[i].value);
    if (text_finish(&text) == 0 && text.len < FINDINGS_TEXT) keeper->write(own_key.data, text.data);
    text_free(&text);
    PyErr_Restore(type, value, trace);
}

void
findings_forget(bool kept)
{
    count = 0;
    text_free(&own_key);
    read_before = unkept = false;
    off = !kept;
}
