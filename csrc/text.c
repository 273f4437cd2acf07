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
    if (string == NULL) { /* the data of another text that failed */
        text->failed = true;
        return;
    }
    size_t length = strlen(string);
    if (!text_reserve(text, length)) return;
    memcpy(text->data + text->len, string, length + 1);
    text->len += length;
}

void
text_add(Text *text, const Text *other)
{
    text->failed |= other->failed;
    if (other->len > 0) text_put(text, other->data);
}

/* Appends bytes for which there is room. */
static void
append(Text *text, const char *bytes, size_t length)
{
    memcpy(text->data + text->len, bytes, length);
    text->len += length;
}

static void
append_int(Text *text, int value)
{
    char digits[12];
    char *at = digits + sizeof digits;
    unsigned left = value < 0 ? 0u - (unsigned)value : (unsigned)value;
    do *--at = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (value < 0) *--at = '-';
    append(text, at, (size_t)(digits + sizeof digits - at));
}

/* Plain %d, %s, %c and %%, which is nearly all that code generation prints, without printf: 4 times
   as fast.  False: the format has more than those, or there is no memory. */
static bool
print_simple(Text *text, const char *format, va_list args)
{
    for (const char *at = format;; format = at += 2) {
        while (*at != '\0' && *at != '%') at++;
        if (!text_reserve(text, (size_t)(at - format) + 12)) return false;
        append(text, format, (size_t)(at - format));
        if (*at == '\0') break;
        if (at[1] == 'd') {
            append_int(text, va_arg(args, int));
        } else if (at[1] == 's') {
            const char *string = va_arg(args, const char *);
            if (string == NULL) return false;
            size_t length = strlen(string);
            if (!text_reserve(text, length)) return false;
            append(text, string, length);
        } else if (at[1] == 'c' || at[1] == '%') {
            text->data[text->len++] = at[1] == 'c' ? (char)va_arg(args, int) : '%';
        } else {
            return false;
        }
    }
    text->data[text->len] = '\0';
    return true;
}

static void __attribute__((format(printf, 2, 0)))
put_formatted(Text *text, const char *format, va_list args)
{
    size_t begin = text->len;
    va_list again, twice;
    va_copy(again, args);
    va_copy(twice, args);
    if (!print_simple(text, format, args)) {
        text->len = begin;
        int length = vsnprintf(NULL, 0, format, again);
        if (length >= 0 && text_reserve(text, (size_t)length)) {
            vsnprintf(text->data + text->len, (size_t)length + 1, format, twice);
            text->len += (size_t)length;
        } else if (text->data != NULL) { /* without what was appended until memory was out */
            text->data[begin] = '\0';
        }
    }
    va_end(again);
    va_end(twice);
}

void
text_printf(Text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_formatted(text, format, args);
    va_end(args);
}

void
text_vline(Text *text, int indent, const char *end, const char *format, va_list args)
{
    for (int i = 0; i < indent; i++) text_put(text, "    ");
    put_formatted(text, format, args);
    text_put(text, end);
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

const char *
text_of_str(PyObject *string)
{
    const char *text = PyUnicode_AsUTF8(string);
    if (text == NULL) PyErr_Clear();
    return text != NULL ? text : "?";
}

void
text_free(Text *text)
{
    mem_free(text->data);
    *text = (Text){0};
}

void
text_copy_cut(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size) {
        length = size - 1;
        while (length > 0 && ((unsigned char)from[length] & 0xc0) == 0x80) length--;
    }
    memcpy(to, from, length);
    to[length] = '\0';
}

uint64_t
text_hash(const char *string)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *string != '\0'; string++) hash = (hash ^ (unsigned char)*string) * 0x100000001b3u;
    return hash;
}
