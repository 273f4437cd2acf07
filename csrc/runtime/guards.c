/* One flat guard program per plan.

     watch holds? ──yes──► fixed objects, slots, other sources ──► the checks that nothing covers
          │ no
          ▼
     every source and every check anew; if all hold, watch again

   One check of an array costs about a nanosecond, of a watched global nothing. */
#include "guards.h"

#include <alloca.h>

/* ---- making ---- */

static int
make_source(GuardProgram *program, const Capture *capture, const Source *from, GuardSource *out)
{
    *out = (GuardSource){.kind = from->kind, .base = from->base, .index = from->index};
    out->key = from->key;
    out->object = from->object;
    if (from->kind == SOURCE_SLOT && from->index > program->last_slot)
        program->last_slot = from->index;
    if (from->kind == SOURCE_GLOBAL && from->base != NO_SOURCE) {
        out->builtins = program->sources[from->base].object;
        out->base = NO_SOURCE;
    }
    if (from->kind == SOURCE_ITEM && from->key != NULL && PyLong_CheckExact(from->key)) {
        int overflow;
        long index = PyLong_AsLongAndOverflow(from->key, &overflow);
        out->index =
            overflow || index > INT32_MAX || index < INT32_MIN ? INT32_MAX : (int32_t)index;
    }
    if (from->kind == SOURCE_SERIES) out->most = capture->most_items;
    if (!source_is_made(from->kind)) return 0;
    out->made = arena_alloc(program->memory, sizeof(PyObject *));
    return out->made == NULL ? -1 : 0;
}

int
guard_group(GuardProgram *program, GuardCheck *check, const int32_t *members, int count)
{
    check->ngroup = count;
    check->group = arena_copy(program->memory, members, (size_t)count * sizeof(int32_t));
    check->ranges = arena_alloc(program->memory, (size_t)count * sizeof(struct MemoryRange));
    if (check->group == NULL || check->ranges == NULL) return -1;
    for (int32_t i = 0; i < count; i++) check->ranges[i].member = i;
    return 0;
}

static int
make_check(GuardProgram *program, const Guard *from, GuardCheck *out)
{
    *out = (GuardCheck){
        .kind = from->kind,
        .source = from->source,
        .other = guard_has_other(from->kind) ? from->other : NO_SOURCE,
        .object =
            from->kind == GUARD_NAMESPACE ? PyFunction_GET_GLOBALS(from->object) : from->object,
        .low = from->low,
        .high = from->high,
        .array = {.dtype = from->array.dtype,
                  .rank = from->array.rank,
                  .known_shape = from->array.known_shape,
                  .known_stride = from->array.known_stride,
                  .least_shape = from->array.least_shape,
                  .flags = from->array.flags,
                  .library = from->array.library,
                  .device_number = from->array.device_number},
        .file = from->file,
        .line = from->line,
    };
    if (from->kind == GUARD_DISJOINT) {
        out->nwritten = from->nwritten;
        if (guard_group(program, out, from->group, from->ngroup) < 0) return -1;
    }
    if (from->kind == GUARD_SIZES) {
        size_t terms = sizeof(SizeTerm) * (size_t)from->nsizes;
        out->nsizes = from->nsizes;
        out->sizes = arena_copy(program->memory, from->sizes, terms);
        if (out->sizes == NULL || guard_group(program, out, from->group, from->ngroup) < 0 ||
            guard_sum(program, out) < 0)
            return -1;
    }
    if (from->kind != GUARD_ARRAY) return 0;
    size_t size = sizeof(int64_t) * from->array.rank;
    out->array.shape = arena_copy(program->memory, from->array.shape, size);
    out->array.stride = arena_copy(program->memory, from->array.stride, size);
    array_like(&out->array);
    return out->array.shape == NULL || out->array.stride == NULL ? -1 : 0;
}

static void
take(GuardProgram *program, SourceId number)
{
    GuardSource *source = &program->sources[number];
    source->used = true;
    /* The int of a size is made anew each time; its array is taken. */
    source->taken = !source_is_made(source->kind) || source->kind == SOURCE_SERIES;
    program->fills |= source->kind == SOURCE_SERIES;
}

/* Does the check fail where there is no object? */
static bool
finds_object(const GuardCheck *check)
{
    bool identity = check->kind == GUARD_IS || check->kind == GUARD_GLOBAL;
    return check->kind == GUARD_TYPE || check->kind == GUARD_STRANGE ||
           check->kind == GUARD_LONGER || (identity && check->object != NULL);
}

/* What the code has found must be there, which a guard on it may check already. */
static void
mark_found(GuardProgram *program, const Capture *capture)
{
    for (int i = 0; i < program->nsources; i++)
        program->sources[i].used = capture->sources.at[i].found;
    for (int i = 0; i < program->nchecks; i++)
        if (finds_object(&program->checks[i]))
            program->sources[program->checks[i].source].used = false;
}

/* A source whose object the plan uses must exist; a guard on it already checks that. */
static void
mark_sources(GuardProgram *program, const Capture *capture)
{
    for (int i = 0; i < capture->input_source.len; i++) take(program, capture->input_source.at[i]);
    for (int i = 0; i < capture->builds.len; i++) {
        const Build *build = &capture->builds.at[i];
        if (build_holds_source(build->kind) && build->source != NO_SOURCE)
            take(program, build->source);
    }
}

static int
keep_all(GuardProgram *program, const Capture *capture)
{
    PyObject *keep = capture->keep;
    for (int i = 0; i < program->nsources; i++)
        if (guards_keep_mortal(program, keep, program->sources[i].object) < 0) return -1;
    for (int i = 0; i < program->nchecks; i++)
        if (guards_keep_mortal(program, keep, program->checks[i].object) < 0) return -1;
    if (guards_keep_namespaces(program, capture) < 0) return -1;
    for (int i = 0; i < program->nsources; i++) {
        GuardSource *source = &program->sources[i];
        if (guards_keep_value(program, keep, &source->key) < 0 ||
            guards_keep(program, keep, source->object) < 0 ||
            guards_keep(program, keep, source->builtins) < 0)
            return -1;
    }
    for (int i = 0; i < program->nchecks; i++)
        if (guards_keep_wanted(program, keep, &program->checks[i]) < 0) return -1;
    return 0;
}

static int32_t
last_source(const GuardCheck *check)
{
    int32_t last = Py_MAX(check->source, check->other);
    for (int i = 0; i < check->ngroup; i++) last = Py_MAX(last, check->group[i]);
    return last;
}

static int
make_program(GuardProgram *program, const Capture *capture)
{
    Arena *memory = program->memory;
    size_t nsources = (size_t)capture->sources.len + 1;
    size_t nchecks = (size_t)capture->guards.len + nsources + 1; /* guards_find_again adds some */
    program->sources = arena_alloc(memory, nsources * sizeof(GuardSource));
    program->checks = arena_alloc(memory, nchecks * sizeof(GuardCheck));
    program->fixed = arena_alloc(memory, nsources * sizeof(int32_t));
    program->reach = arena_alloc(memory, nsources * sizeof(int32_t));
    program->needed = arena_alloc(memory, nsources * sizeof(int32_t));
    program->slots = arena_alloc(memory, nsources * sizeof(SlotRead));
    program->run = arena_alloc(memory, nchecks * sizeof(int32_t));
    program->files = arena_alloc(memory, ((size_t)capture->graph->files.len + 1) * sizeof(char *));
    if (!program->sources || !program->checks || !program->fixed || !program->reach ||
        !program->needed || !program->slots || !program->run || !program->files)
        return -1;
    for (int i = 0; i < capture->graph->files.len; i++, program->nfiles++)
        if ((program->files[i] = arena_printf(memory, "%s", capture->graph->files.at[i])) == NULL)
            return -1;
    for (int i = 0; i < capture->sources.len; i++, program->nsources++)
        if (make_source(program, capture, &capture->sources.at[i], &program->sources[i]) < 0)
            return -1;
    for (int i = 0; i < capture->guards.len; i++, program->nchecks++)
        if (make_check(program, &capture->guards.at[i], &program->checks[i]) < 0) return -1;
    mark_found(program, capture);
    mark_sources(program, capture);
    if (guards_find_again(program) < 0 || guard_pairs(program) < 0) return -1;
    for (int i = 0; i < program->nchecks; i++)
        program->checks[i].last = last_source(&program->checks[i]);
    return keep_all(program, capture);
}

/* Lists the work of a check.  The program may have run since capture, in the collector: the first
   check looks at everything, and watches then. */
static int
make_first_lists(GuardProgram *program)
{
    PyObject **reached = mem_alloc(sizeof(PyObject *) * (size_t)(program->nsources + 1));
    if (reached == NULL) return -1;
    Roots none = {NULL, 0}; /* sources that need a frame are never steady */
    bool collects = PyGC_Disable() != 0;
    for (int i = 0; i < program->nsources; i++)
        reached[i] = source_reach(&program->sources[i], &none, reached);
    int failed = guards_watch(program, reached);
    guards_unwatch(program);
    if (collects) PyGC_Enable();
    mem_free(reached);
    return failed;
}

GuardProgram *
guards_new(const Capture *capture, PyCodeObject *code)
{
    GuardProgram *program = mem_alloc(sizeof(GuardProgram));
    if (program == NULL) return NULL;
    program->last_slot = -1;
    program->code = code;
    program->entry = capture->entry;
    program->globals = capture->globals;
    program->builtins = capture->builtins;
    if ((program->memory = arena_new()) != NULL && make_program(program, capture) == 0 &&
        make_first_lists(program) == 0)
        return program;
    guards_free(program);
    return NULL;
}

void
guards_free(GuardProgram *program)
{
    if (program == NULL) return;
    guards_let_go(program);
    for (int i = 0; i < program->nsources; i++)
        if (program->sources[i].made != NULL) Py_XDECREF(*program->sources[i].made);
    arena_free(program->memory);
    mem_free(program);
}

int
guards_sources(const GuardProgram *program)
{
    return program->nsources;
}

int
guards_last_slot(const GuardProgram *program)
{
    return program->last_slot;
}

static uint64_t
path_of(const GuardProgram *program, int source)
{
    if (source < 0) return 0;
    const GuardSource *s = &program->sources[source];
    return source_path(path_of(program, s->base), s->kind, s->index, s->key);
}

/* The path (source_path) of the source whose value, length or keys the guard compares, or 0. */
static uint64_t
varied_path(const GuardProgram *program, int number)
{
    if (number < 0 || number >= program->nchecks) return 0;
    const GuardCheck *check = &program->checks[number];
    switch (check->kind) {
    case GUARD_VALUE:
    case GUARD_LENGTH:
    case GUARD_KEYS: return path_of(program, check->source);
    default: return 0;
    }
}

/* The int there, in the place of one that is known or is a length; false: there is none. */
static bool
int_there(const GuardCheck *check, PyObject *object, int64_t *out)
{
    int overflow;
    bool asked = check->kind == GUARD_VALUE ? PyLong_CheckExact(check->object)
                                            : check->kind == GUARD_INT_RANGE;
    if (!asked || !PyLong_CheckExact(object)) return false;
    *out = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

/* Calls `note` for the axes of known or bounded length of arrays that are there, and for ints. */
static void
each_length(const GuardProgram *program, const Roots *roots,
            void (*note)(void *of, const GuardCheck *check, int axis, int64_t length), void *of)
{
    if (program->dead) return; /* what its sources begin with may be gone */
    PyObject **reached = mem_alloc(sizeof(PyObject *) * (size_t)(program->nsources + 1));
    if (reached == NULL) {
        PyErr_Clear();
        return;
    }
    for (int i = 0; i < program->nsources; i++)
        reached[i] = source_reach(&program->sources[i], roots, reached);
    for (int i = 0; i < program->nchecks; i++) {
        const GuardCheck *check = &program->checks[i];
        ArrayHeader header;
        PyObject *object = reached[check->source];
        int64_t number;
        if (object != NULL && int_there(check, object, &number)) note(of, check, 0, number);
        if (check->kind != GUARD_ARRAY || object == NULL ||
            array_header(object, &header) != ANSWER_YES || header.rank != check->array.rank)
            continue;
        for (int axis = 0; axis < header.rank; axis++)
            if (check->array.known_shape >> axis & 1) note(of, check, axis, header.shape[axis]);
    }
    mem_free(reached);
}

typedef struct {
    const GuardProgram *program;
    const GuardCheck *failed;
    bool ints;
    void (*note)(void *of, uint64_t path, bool failed);
    void *of;
} VariedSizes;

static void
note_varied_length(void *of, const GuardCheck *check, int axis, int64_t length)
{
    const VariedSizes *to = of;
    uint64_t path = path_of(to->program, check->source);
    int64_t known;
    if (check->kind == GUARD_ARRAY && length != check->array.shape[axis])
        to->note(to->of, size_path(path, axis), true);
    if (to->ints && check->kind == GUARD_VALUE && check != to->failed &&
        (!int_there(check, check->object, &known) || known != length))
        to->note(to->of, path, false);
}

void
guards_varied(const GuardProgram *program, int failed, bool ints, const Roots *roots,
              void (*note)(void *of, uint64_t path, bool failed), void *of)
{
    bool is_check = failed >= 0 && failed < program->nchecks;
    VariedSizes to = {program, is_check ? &program->checks[failed] : NULL, ints, note, of};
    note(of, varied_path(program, failed), true);
    each_length(program, roots, note_varied_length, &to);
}

static void
note_empty(void *of, const GuardCheck *check, int axis, int64_t length)
{
    bool counts = check->kind == GUARD_ARRAY || check->low > 0;
    if (length == 0 && counts && (check->array.least_shape >> axis & 1)) *(bool *)of = true;
}

bool
guards_meet_empty(const GuardProgram *program, const Roots *roots)
{
    bool found = false;
    each_length(program, roots, note_empty, &found);
    return found;
}

int
guards_count(const GuardProgram *program)
{
    return program->nchecks;
}

/* ---- checking ---- */

static bool
is_present(const GuardProgram *program, PyObject *const *reached, int *failed)
{
    for (int i = 0; i < program->nneeded; i++) {
        if (reached[program->needed[i]] != NULL) continue;
        *failed = program->nchecks + program->needed[i];
        return false;
    }
    return true;
}

/* The same object in the other dict is watched there. */
static bool
is_where_it_was(const GuardSource *source, PyObject *object)
{
    return object == source->seen && source->behind == source_is_behind(source);
}

/* True: another object is there than the watch has seen. */
static bool
reach_anew(GuardSource *source, const Roots *roots, PyObject **reached, int number)
{
    reached[number] = source_reach(source, roots, reached);
    if (!source->steady || is_where_it_was(source, reached[number])) return false;
    if (source->moves < MOST_MOVES) source->moves++;
    return true;
}

/* A watched object has changed: checks everything, and watches again if all still holds. */
static bool
check_all(GuardProgram *program, const Roots *roots, PyObject **reached, int *failed)
{
    bool moved = false;
    int next = 0;
    for (int i = 0; i < program->nchecks; i++) {
        for (; next <= program->checks[i].last; next++)
            moved |= reach_anew(&program->sources[next], roots, reached, next);
        if (guard_holds(&program->checks[i], reached)) continue;
        *failed = i;
        return false;
    }
    for (; next < program->nsources; next++)
        moved |= reach_anew(&program->sources[next], roots, reached, next);
    if (!is_present(program, reached, failed)) return false;
    if (!moved && program->watch != NULL && watch_rearm(program->watch) == ANSWER_YES) return true;
    /* Other objects pass the same guards, or one cannot be watched again.  With nothing watched the
       next check looks at everything, too. */
    PyErr_Clear();
    if (guards_watch(program, reached) < 0) PyErr_Clear();
    return true;
}

/* The collector must not run: what it frees, and the code of the program that it runs, would change
   what is being checked.  Nothing else is freed meanwhile. */
static bool
check_anew(GuardProgram *program, const Roots *roots, PyObject **reached, int *failed)
{
    bool collects = PyGC_Disable() != 0;
    bool holds = check_all(program, roots, reached, failed);
    if (collects) PyGC_Enable();
    return holds;
}

/* Reaches the sources that are not there yet up to `last`; `next`: of those in program->reach. */
static inline int
reach_to(const GuardProgram *program, int next, int32_t last, const Roots *roots,
         PyObject **reached)
{
    for (; next < program->nreach && program->reach[next] <= last; next++) {
        int32_t number = program->reach[next];
        reached[number] = source_reach(&program->sources[number], roots, reached);
    }
    return next;
}

static inline bool
same_length(const AxisPair *pair, PyObject *const *reached)
{
    const NumpyArray *a = (const NumpyArray *)reached[pair->array[0]];
    const NumpyArray *b = (const NumpyArray *)reached[pair->array[1]];
    return a->shape[pair->axis[0]] == b->shape[pair->axis[1]];
}

bool
guards_check(GuardProgram *program, const Roots *roots, PyObject **reached, int *failed)
{
    *failed = 0;
    if (program->dead) return false;
    if (program->watch == NULL || !watch_holds(program->watch))
        return check_anew(program, roots, reached, failed);
    for (int i = 0; i < program->nfixed; i++)
        reached[program->fixed[i]] = program->sources[program->fixed[i]].seen;
    for (int i = 0; i < program->nslots; i++) {
        SlotRead read = program->slots[i];
        reached[read.source] = read.slot < roots->nslots ? roots->slots[read.slot] : NULL;
    }
    int next = 0;
    for (int i = 0; i < program->nrun; i++) {
        const GuardCheck *check = &program->checks[program->run[i]];
        next = reach_to(program, next, check->last, roots, reached);
        PyObject *object = reached[check->source];
        bool holds = check->kind == GUARD_ARRAY
                         ? object != NULL && array_agrees(object, &check->array)
                     : check->equal.known ? same_length(&check->equal, reached)
                                          : guard_holds(check, reached);
        if (holds) continue;
        *failed = program->run[i];
        return false;
    }
    reach_to(program, next, program->nsources, roots, reached);
    return is_present(program, reached, failed);
}

bool
guards_fill(const GuardProgram *program, PyObject *const *reached)
{
    for (int i = 0; program->fills && i < program->nneeded; i++) {
        int number = program->needed[i];
        const GuardSource *source = &program->sources[number];
        if (source->kind == SOURCE_SERIES && !series_fill(reached[source->base], reached[number]))
            return false;
    }
    return true;
}

bool
guards_have_fills(const GuardProgram *program)
{
    return program->fills;
}

void
guards_filled(GuardProgram *program, bool in_vain)
{
    enum { FEW = 1 << 10, LARGE = 1 << 19 };
    for (int i = 0; i < program->nneeded; i++) {
        GuardSource *source = &program->sources[program->needed[i]];
        ArrayHeader header;
        if (source->kind != SOURCE_SERIES || *source->made == NULL ||
            array_header(*source->made, &header) != ANSWER_YES)
            continue;
        int64_t length = header.shape[0];
        if (in_vain && length > FEW) source->most = length / 2;
        if (length > LARGE) Py_CLEAR(*source->made);
    }
}

/* The object at the source, once more.  Of what a run has made of the program's object: that, if it
   would be made again. */
static PyObject *
reach_again(const GuardSource *source, const Roots *roots, PyObject *const *now, PyObject *made)
{
    if (source->kind != SOURCE_SERIES) return source_reach(source, roots, now);
    PyObject *base = now[source->base];
    return base != NULL && series_is(base, made) ? made : NULL;
}

bool
guards_hold_still(const GuardProgram *program, const Roots *roots, PyObject *const *reached)
{
    PyObject **now = alloca(sizeof(PyObject *) * (size_t)(program->nsources + 1));
    if (program->dead) return false;
    for (int i = 0; i < program->nsources; i++) {
        now[i] = reach_again(&program->sources[i], roots, now, reached[i]);
        if (program->sources[i].taken && now[i] != reached[i]) return false;
    }
    for (int i = 0; i < program->nchecks; i++) {
        const GuardCheck *check = &program->checks[i];
        /* the run itself holds references by now */
        if (check->kind != GUARD_SPARE && !guard_holds(check, now)) return false;
    }
    return true;
}
