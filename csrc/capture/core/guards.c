/* Guards and sources: what a plan asks of an object, and the path by which it finds it again. */
#include "../../config.h"
#include "core.h"

void
guard_place(const Interp *in, Guard *guard)
{
    const Activation *a = in->top;
    guard->file = a != NULL ? a->file : 0;
    guard->line = in->attempt.line;
    if (a == NULL || a->caller == NULL || !code_is_ours(a)) return;
    while (a->caller != NULL && code_is_ours(a)) a = a->caller;
    guard->file = a->file;
    guard->line = line_at(a->decoded, a->number);
}

int
guard_add(Interp *in, const Guard *guard)
{
    Guard copy = *guard;
    guard_place(in, &copy);
    if (VEC_PUSH(in->arena, &in->out->guards, copy) < 0) return -1;
    return in->out->guards.len - 1;
}

bool
guard_has_other(GuardKind kind)
{
    enum { ONE, TWO };
    static const uint8_t sources[] = {
#define GUARD(name, sources, ...) sources,
#include "../guards.def"
    };
    return sources[kind] == TWO;
}

int
guard_simple(Interp *in, GuardKind kind, SourceId source, PyObject *object)
{
    Guard guard = {.kind = kind, .source = source, .other = NO_SOURCE, .object = object};
    return guard_add(in, &guard);
}

SourceId
source_add(Interp *in, SourceKind kind, SourceId base, int index, PyObject *key, PyObject *object)
{
    for (int i = in->out->sources.len - 1, n = 0; i >= 0 && n < 64; i--, n++) {
        const Source *s = &in->out->sources.at[i];
        if (s->kind == kind && s->base == base && s->index == index && s->key == key &&
            s->object == object)
            return i;
    }
    if (key != NULL && keep(in, Py_NewRef(key)) == NULL) return NO_SOURCE;
    if (object != NULL && keep(in, Py_NewRef(object)) == NULL) return NO_SOURCE;
    Source source = {.kind = kind, .base = base, .index = index, .key = key, .object = object};
    if (VEC_PUSH(in->arena, &in->out->sources, source) < 0) return NO_SOURCE;
    return in->out->sources.len - 1;
}

SourceId
source_of_const(Interp *in, PyObject *object)
{
    return source_add(in, SOURCE_CONST, NO_SOURCE, 0, NULL, object);
}

bool
source_is_stacked(const Interp *in, SourceId id)
{
    if (id == NO_SOURCE) return false;
    const Source *source = &in->out->sources.at[id];
    return source->kind == SOURCE_SLOT && source->index >= in->bottom->decoded->nlocalsplus;
}

bool
source_is_spare(const Interp *in, SourceId id)
{
    if (!source_is_stacked(in, id)) return false;
    int entry = in->out->sources.at[id].index - in->bottom->decoded->nlocalsplus;
    return entry < 64 && (in->temporaries.spare_slots >> entry & 1) != 0;
}

int
value_guard_type(Interp *in, Value *value)
{
    if (value->guarded || value->source == NO_SOURCE) return 0;
    value->guarded = true;
    if (source_kind(in, value->source) == SOURCE_CONST &&
        !(Py_TYPE(value->object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) /* its class cannot be set */
        return 0;
    int guard = guard_simple(in, GUARD_TYPE, value->source, (PyObject *)Py_TYPE(value->object));
    if (guard < 0) return -1;
    value->guard = guard + 1;
    return 0;
}

uint64_t
source_path_of(Interp *in, SourceId id)
{
    if (id == NO_SOURCE) return 0;
    const Source *source = &in->out->sources.at[id];
    uint64_t base = source->kind == SOURCE_GLOBAL ? 0 : source_path_of(in, source->base);
    return source_path(base, source->kind, source->index, source->key);
}

const VariedPath *
varied_at(const Interp *in, uint64_t path)
{
    const CaptureRequest *request = in->request;
    for (int i = 0; i < request->nvaried; i++)
        if (request->varied[i].path == path) return &request->varied[i];
    return NULL;
}

const VariedPath *
source_varied(Interp *in, SourceId id)
{
    if (in->request->nvaried == 0 || id == NO_SOURCE) return NULL;
    return varied_at(in, source_path_of(in, id));
}

/* Under capture_all, where what is not captured may have no other way to run, the first values that
   a guard fails for have plans of their own. */
bool
varied_is_planned(const Interp *in, const VariedPath *varied)
{
    enum { MOST_VALUES = 512 };
    const Config *config = in->request->config;
    return config != NULL && config->capture_all && varied->failed <= MOST_VALUES;
}

Answer
guard_is(Interp *in, Value *value)
{
    if (value->source == NO_SOURCE) return ANSWER_YES;
    return guard_simple(in, GUARD_IS, value->source, value->object) < 0 ? ANSWER_ERROR : ANSWER_YES;
}

static const void *
source_key(SourceId source)
{
    return (const void *)(((uintptr_t)source + 1) << 4);
}

Value *
value_of_source(const Interp *in, SourceId source)
{
    return map_get(&in->sources.by_source, source_key(source));
}

int
source_has_value(Interp *in, SourceId source, Value *value)
{
    return map_put(in, &in->sources.by_source, source_key(source), value);
}
