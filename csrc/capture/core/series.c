/* Lists of numbers, bytes and text from outside that a loop reads at indices that are known only
   when the code runs, or goes through.

     for i in range(1, len(a) + 1): ... a[i - 1] ...

   By itself a list is opened, under guards on its length and on each item that is read, and bytes
   and text are guarded by value.  Where a loop needs more, that is noted (Marks.series), and the
   next attempt has a V_SERIES in its place: an array that is made of the numbers when the plan
   begins (SOURCE_SERIES), of any length.  What else the program does with it ends the graph; so an
   attempt without one is compared with that where it does not reach the end (capture.c). */
#include "core.h"

/* Shorter ones, gone through, are few items that differ: each turn may be another kernel. */
enum { LONG = 64 };

bool
series_is_noted(Interp *in, SourceId source)
{
    const Marks *marks = in->attempt.marks;
    if (marks->series.len == 0) return false;
    uint64_t path = source_path_of(in, source);
    for (int i = 0; i < marks->series.len; i++)
        if (marks->series.at[i] == path) return true;
    return false;
}

Answer
series_learn(Interp *in, const Value *value)
{
    DType dtype;
    bool fits = value->source != NO_SOURCE && !value->mutated && value->object != NULL &&
                !in->attempt.marks->no_series && series_dtype(value->object, &dtype);
    if (!fits || series_is_noted(in, value->source)) return ANSWER_NO;
    Marks *marks = in->attempt.learn;
    uint64_t path = source_path_of(in, value->source);
    if (VEC_PUSH(in->attempt.learn_arena, &marks->series, path) < 0) return ANSWER_ERROR;
    marks->had_series = in->attempt.again = true;
    in->break_code = BREAK_UNROLL;
    return ANSWER_BREAK;
}

Answer
series_learn_index(Interp *in, const Value *value)
{
    return in->turn != NULL ? series_learn(in, value) : ANSWER_NO;
}

Answer
series_learn_walk(Interp *in, const Value *iterator)
{
    if (iterator->kind != V_ITER || iterator->position != 0) return ANSWER_NO;
    for (int i = 0; i < iterator->nitems && iterator->items != NULL; i++) {
        Answer answer = series_learn_walk(in, iterator->items[i]);
        if (answer != ANSWER_NO) return answer;
    }
    const Value *walked = iterator->generator == NULL ? iterator->walked : NULL;
    if (walked == NULL || walked->kind == V_ITER)
        return walked == NULL ? ANSWER_NO : series_learn_walk(in, walked);
    bool bytes = walked->kind == V_CONST && PyBytes_CheckExact(walked->object);
    bool text = walked->kind == V_CONST && PyUnicode_CheckExact(walked->object) &&
                PyUnicode_GET_LENGTH(walked->object) >= LONG;
    bool list = walked->kind == V_LIST && walked->nitems >= LONG;
    return bytes || text || list ? series_learn(in, walked) : ANSWER_NO;
}
