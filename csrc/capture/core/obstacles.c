/* Facts about inputs for which an instruction is not followed: a written array is read-only, or
   shares memory with another one.  They are guarded: for arrays without the obstacle capture would
   follow the instruction, so what it made now is not for them.
   The attempt that meets an obstacle is seldom the one whose capture is kept, and that one may end
   before it reads these inputs; so an obstacle is noted in Marks, with the paths to its inputs. */
#include "core.h"

int
obstacle_note(Interp *in, GuardKind kind, SourceId source, SourceId other)
{
    Guard guard = {.kind = kind, .source = source, .other = other};
    if (guard_add(in, &guard) < 0) return -1;
    Obstacle obstacle = {
        .kind = kind, .path = path_note(in, source), .other = path_note(in, other)};
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
                       .source = path_source(in, obstacle->path),
                       .other = path_source(in, obstacle->other)};
        if (guard.source == NO_SOURCE || (guard.other == NO_SOURCE && obstacle->other != NO_SOURCE))
            return -1;
        if (guard_add(in, &guard) < 0) return -1;
    }
    return 0;
}
