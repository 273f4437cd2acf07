/* A growing string.  See base.h. */
#include "base.h"

#include <stdio.h>

static bool
text_reserve(Text *text, size_t more)
{
    if (text->failed) return false;
    size_t wanted = text->len + more + 1;
    if (wanted <= text->cap) return true;
    size_t cap = text->cap * 2 > wanted ? text->cap * 2 : wanted + 256;
    char *data = mem_realloc(text->data, cap);
    if (data == NULL) {
        PyErr_Clear(); /* text_finish raises it again */
        text->failed = true;
        return false;
    }
    text->data = data;
    text->cap = cap;
    return true;
}

void
text_put(Text *text, const char *string)
{
    if (string == NULL) { /* another text's, for which there was no memory */
        text->failed = true;
        return;
    }
    size_t length = strlen(string);
    if (!text_reserve(text, length)) return;
    memcpy(text->data + text->len, string, length + 1);
    text->len += length;
}

void
text_vprintf(Text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && text_reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->len, (size_t)length + 1, format, again);
        text->len += (size_t)length;
    }
    va_end(again);
}

void
text_printf(Text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(text, format, args);
    va_end(args);
}

int
text_finish(Text *text)
{
    if (!text->failed) return 0;
    PyErr_NoMemory();
    return -1;
}

PyObject *
text_to_str(Text *text)
{
    if (text_finish(text) < 0) return NULL;
    return PyUnicode_DecodeUTF8(text->data ? text->data : "", (Py_ssize_t)text->len, "replace");
}

void
text_free(Text *text)
{
    mem_free(text->data);
    *text = (Text){0};
}
