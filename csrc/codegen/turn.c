/* Kernels that are parts of driven loops (drive.c): inline functions that have their arguments as
   parameters.  From arrays in memory the C compiler would not make variables where assembler
   statements look for flags. */
#include "emit.h"

/* `args->ptr[2]` is ptr2 there, `args->size[0]` size0, `args->loop` loops. */
static const char *
put_argument(const char *at, Turned *turned, Text *out)
{
    static const char *const array[] = {"ptr[", "size["};
    int32_t *const counts[] = {&turned->places, &turned->sizes};
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(array[i]);
        if (strncmp(at, array[i], length) != 0) continue;
        char *end;
        int number = (int)strtol(at + length, &end, 10);
        text_printf(out, "%.*s%d", (int)length - 1, array[i], number);
        *counts[i] = Py_MAX(*counts[i], number + 1);
        return end + 1;
    }
    if (strncmp(at, "loop", 4) != 0) return at;
    text_put(out, "loops");
    return at + 4;
}

static void
put_body(const char *text, Turned *turned, Text *out)
{
    static const char args[] = "args->";
    for (const char *at; (at = strstr(text, args)) != NULL;) {
        text_printf(out, "%.*s", (int)(at - text), text);
        text = put_argument(at + sizeof args - 1, turned, out);
    }
    text_put(out, text);
}

void
turn_write(const Text *body, int number, Turned *turned, Text *out)
{
    Text direct = {0};
    *turned = (Turned){.kernel = number};
    put_body(body->data, turned, &direct);
    text_printf(out, "\nINLINE int\nturn%d(", number);
    for (int i = 0; i < turned->places; i++) text_printf(out, "char *const ptr%d, ", i);
    for (int i = 0; i < turned->sizes; i++) text_printf(out, "const int64_t size%d, ", i);
    text_put(out, "const KernelLoop *loops,\n    char *scratch, int64_t begin, int64_t end)\n{\n");
    text_add(out, &direct);
    text_printf(out,
                "}\n\nint\nk%d(const KernelArgs *args, int64_t begin, int64_t end)\n{\n"
                "    return turn%d(",
                number, number);
    for (int i = 0; i < turned->places; i++) text_printf(out, "args->ptr[%d], ", i);
    for (int i = 0; i < turned->sizes; i++) text_printf(out, "args->size[%d], ", i);
    text_put(out, "args->loop, args->scratch, begin, end);\n}\n");
    text_free(&direct);
}
