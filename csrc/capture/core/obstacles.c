/* Facts about inputs for which an instruction is not followed: a written array is read-only, or
   shares memory with another one.  They are guarded: for arrays without the obstacle capture would
   follow the instruction, so what it made now is not for them.
   The attempt that meets an obstacle is seldom the one whose capture is kept, and that one may end
   before it reads these inputs; so an obstacle is noted in Marks, with the paths to its inputs. */
#include "core.h"

/* Copies the path from one list of sources to another. */
static SourceId
path_of(Interp *in, SourceId id)
{
    Marks *marks = in->attempt.learn;
    if (id == NO_SOURCE) return NO_SOURCE;
    Source source = in->out->sources.at[id];
    if (source.base != NO_SOURCE && (source.base = path_of(in, source.base)) == NO_SOURCE)
        return NO_SOURCE;
    if ((source.key != NULL && PyList_Append(marks->keep, source.key) < 0) ||
        (source.object != NULL && PyList_Append(marks->keep, source.object) < 0) ||
        VEC_PUSH(in->attempt.learn_arena, &marks->paths, source) < 0)
        return NO_SOURCE;
    return marks->paths.len - 1;
}

static SourceId
source_at(Interp *in, SourceId path)
{
    if (path == NO_SOURCE) return NO_SOURCE;
    Source source = in->attempt.marks->paths.at[path];
    if (source.base != NO_SOURCE && (source.base = source_at(in, source.base)) == NO_SOURCE)
        return NO_SOURCE;
    return source_add(in, source.kind, source.base, source.index, source.key, source.object);
}

int
obstacle_note(Interp *in, GuardKind kind, SourceId source, SourceId other)
{
    Guard guard = {.kind = kind, .source = source, .other = other};
    if (guard_add(in, &guard) < 0) return -1;
    Obstacle obstacle = {.kind = kind, .path = path_of(in, source), .other = path_of(in, other)};
    if (obstacle.path == NO_SOURCE || (obstacle.other == NO_SOURCE && other != NO_SOURCE))
        return -1;
    return VEC_PUSH(in->attempt.learn_arena, &in->attempt.learn->obstacles, obstacle);
}

int
obstacles_guard(Interp *in)
{
    for (int i = 0; i < in->attempt.nobstacles; i++) {
        const Obstacle *obstacle = &in->attempt.marks->obstacles.at[i];
        Guard guard = {.kind = obstacle->kind,
                       .source = source_at(in, obstacle->path),
                       .other = source_at(in, obstacle->other)};
        if (guard.source == NO_SOURCE || (guard.other == NO_SOURCE && obstacle->other != NO_SOURCE))
            return -1;
        if (guard_add(in, &guard) < 0) return -1;
    }
    return 0;
}
