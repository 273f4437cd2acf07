/* What all files of the folder write with: reasons, arguments, and values as C text. */
#include "write.h"

#include "../capture/capture.h"

#include <stdarg.h>

/* ---- reasons ---- */

int
export_refuse(Export *e, const char *file, int line, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    PyObject *reason = Py_BuildValue("(sis)", file != NULL ? file : "", line, text);
    int status = reason == NULL ? -1 : PySequence_Contains(e->reasons, reason);
    if (status == 0) status = PyList_Append(e->reasons, reason);
    Py_XDECREF(reason);
    return status < 0 ? -1 : 0;
}

int
export_note_loop(Export *e, const Step *step, const char *name)
{
    const char *file = step->line > 0 ? e->graph->files.at[step->file] : NULL;
    PyObject *row =
        Py_BuildValue("(sssisi)", name, "", "", 2, file != NULL ? file : "", step->line);
    int status = row == NULL ? -1 : PyList_Append(e->loops, row);
    Py_XDECREF(row);
    return status;
}

/* ---- sources ---- */

static SourceId
source_root(const Export *e, SourceId source)
{
    while (source != NO_SOURCE && e->capture->sources.at[source].kind != SOURCE_SLOT)
        source = e->capture->sources.at[source].base;
    return source;
}

/* How many arguments are before that of the slot; -1: the caller does not pass it. */
static int
argument_of_slot(const Export *e, int slot)
{
    int before = 0;
    PyObject *names = e->wanted->names;
    if (slot >= PyTuple_GET_SIZE(names) || PyTuple_GET_ITEM(names, slot) == Py_None) return -1;
    for (int i = 0; i < slot; i++) before += PyTuple_GET_ITEM(names, i) != Py_None;
    return before;
}

int
export_argument(const Export *e, SourceId id)
{
    if (id == NO_SOURCE) return -1;
    const Source *source = &e->capture->sources.at[id];
    if (source->kind == SOURCE_CELL) source = &e->capture->sources.at[source->base];
    return source->kind == SOURCE_SLOT ? argument_of_slot(e, source->index) : -1;
}

bool
export_is_passed(const Export *e, SourceId source)
{
    SourceId root = source_root(e, source);
    return root != NO_SOURCE && argument_of_slot(e, e->capture->sources.at[root].index) >= 0;
}

/* ---- text ---- */

void
put_text(Export *e, const char *text)
{
    text_put(&e->out, "\"");
    for (const char *at = text; *at != 0; at++) {
        if (*at == '"' || *at == '\\') text_put(&e->out, "\\");
        text_printf(&e->out, "%c", *at == '\n' ? ' ' : *at);
    }
    text_put(&e->out, "\", ");
}

void
put_ids(Export *e, int count, const int32_t *ids)
{
    if (count == 0) {
        text_put(&e->out, "0, ");
        return;
    }
    text_put(&e->out, "(const int32_t[]){");
    for (int i = 0; i < count; i++) text_printf(&e->out, "%d, ", ids[i]);
    text_put(&e->out, "}, ");
}

void
export_need(Export *e, SizeId size)
{
    if (size != NO_SIZE) e->needed[size] = true;
}

void
put_needed(Export *e, int count, const SizeId *sizes)
{
    for (int i = 0; i < count; i++) export_need(e, sizes[i]);
    put_ids(e, count, sizes);
}

void
put_bytes(Export *e, const char *bytes, size_t count)
{
    text_put(&e->out, "(const uint64_t[]){");
    for (size_t i = 0; i == 0 || i < count; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, count - i < 8 ? count - i : 8);
        text_printf(&e->out, "0x%llxu, ", (unsigned long long)word);
    }
    text_put(&e->out, "}, ");
}

/* As DLDataType has them. */
void
put_dtype(Export *e, const Type *type)
{
    DType dtype = (DType)type->dtype;
    int code = dtype == DT_BOOL          ? 6
               : dtype_is_complex(dtype) ? 5
               : dtype_is_float(dtype)   ? 2
               : dtype_is_signed(dtype)  ? 0
                                         : 1;
    int bytes = (int)dtype_size(dtype);
    text_printf(&e->out, "{%d, %d, %d}, ", code, 8 * bytes, bytes);
}

void
put_place(Export *e, Place place)
{
    if (place.buffer != NO_BUFFER) export_need(e, place.offset);
    text_printf(&e->out, "{%d, %d}, ", place.buffer, place.buffer == NO_BUFFER ? -1 : place.offset);
}
