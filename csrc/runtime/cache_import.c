/* Entries of the disk cache that another machine of this kind has made (pycompile/_cache.py).

   A compiler's identity contains its file's, which is another one on each machine.  An entry that
   the same compiler has made elsewhere gets the key that it has here, and a new seal. */
#include "cache.h"

#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The key that a file is named after. */
static bool
key_of_file(const char *path, Digest *key)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    return cache_is_entry(name) && digest_parse(name, key);
}

/* The parts of this machine's keys.  ANSWER_NO: there is no compiler. */
static Answer
parts_here(KeyParts *parts)
{
    targets[DEVICE_HOST].parts(parts, false);
    return targets[DEVICE_HOST].identify(parts);
}

/* cache_kind() -> dict: what machines have in common whose entries serve one another. */
static PyObject *
cache_kind(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    KeyParts parts = {0};
    char cpu[DIGEST_HEX], flags[DIGEST_HEX], text[256];
    bool compiles = parts_here(&parts) == ANSWER_YES;
    digest_hex(&parts.digest[PART_CPU], cpu);
    digest_hex(&parts.digest[PART_FLAGS], flags);
    cpu_describe(text, sizeof(text));
    return Py_BuildValue("{s:i,s:s,s:s,s:s,s:z}", "abi", CACHE_ABI, "flags", flags, "cpu", cpu,
                         "cpu_text", text, "compiler", compiles ? parts.compiler : NULL);
}

static PyObject *
cache_check(PyObject *Py_UNUSED(self), PyObject *path)
{
    Digest key;
    const char *text = PyUnicode_Check(path) ? PyUnicode_AsUTF8(path) : NULL;
    if (text == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "a path is a str, not %R", path);
    if (text == NULL) return NULL;
    return PyBool_FromLong(key_of_file(text, &key) && cache_file_is_good(text, &key));
}

/* cache_take(path, record, /) -> whether it was not there yet.  Moves a file that cache_check has
   found good into the cache. */
static PyObject *
cache_take(PyObject *Py_UNUSED(self), PyObject *args)
{
    const char *path, *record;
    Py_ssize_t length;
    char place[CACHE_PATH];
    Digest key, theirs;
    KeyParts here = {0};
    if (!PyArg_ParseTuple(args, "sy#", &path, &record, &length)) return NULL;
    bool compiles = parts_here(&here) == ANSWER_YES;
    if (!key_of_file(path, &theirs) ||
        !cache_record_key(record, compiles ? &here : NULL, &theirs, &key))
        return PyErr_Format(PyExc_ValueError, "%s is not what its record says", path);
    if (cache_find(&key, place) == ANSWER_YES) Py_RETURN_FALSE;
    if (!cache_unseal(path) || cache_store(&key, path, place) != ANSWER_YES)
        return PyErr_Format(PyExc_OSError, "%s cannot be stored in the cache", path);
    cache_record_keep(record, compiles ? &here : NULL, &key);
    Py_RETURN_TRUE;
}

PyMethodDef cache_import_methods[] = {
    {"cache_kind", cache_kind, METH_NOARGS, "Of this machine, for exports of the cache."},
    {"cache_check", cache_check, METH_O, "Is the file a whole entry, of the key in its name?"},
    {"cache_take", cache_take, METH_VARARGS, "Moves an entry and its record into the cache."},
    {NULL, NULL, 0, NULL},
};
