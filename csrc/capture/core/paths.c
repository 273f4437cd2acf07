/* Paths to inputs that outlive an attempt: sources copied into Marks, and found again. */
#include "core.h"

SourceId
path_note(Interp *in, SourceId id)
{
    Marks *marks = in->attempt.learn;
    if (id == NO_SOURCE) return NO_SOURCE;
    Source source = in->out->sources.at[id];
    if (source.base != NO_SOURCE && (source.base = path_note(in, source.base)) == NO_SOURCE)
        return NO_SOURCE;
    if ((source.key != NULL && PyList_Append(marks->keep, source.key) < 0) ||
        (source.object != NULL && PyList_Append(marks->keep, source.object) < 0) ||
        VEC_PUSH(in->attempt.learn_arena, &marks->paths, source) < 0)
        return NO_SOURCE;
    return marks->paths.len - 1;
}

SourceId
path_source(Interp *in, SourceId path)
{
    if (path == NO_SOURCE) return NO_SOURCE;
    Source source = in->attempt.marks->paths.at[path];
    if (source.base != NO_SOURCE && (source.base = path_source(in, source.base)) == NO_SOURCE)
        return NO_SOURCE;
    return source_add(in, source.kind, source.base, source.index, source.key, source.object);
}
