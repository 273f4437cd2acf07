/* Waves: kernels that go over the same memory one after the other, run tile by tile, so that what
   one stores is still in the level-2 cache when the next one reads it.  Ten steps of a stencil over
   a grid that is larger than the caches read it from memory once instead of ten times.

   Kernels do their units in *strips*: turns of the outermost loop, or as many elements of a flat
   kernel as lie in such a turn.  In tile t a member does the strips [t * tile - lag, (t + 1) * tile
   - lag).  Its lag is such that all strips of earlier members with which one of these conflicts
   are done by then, in this tile or before it: time skewing (Song and Li, PLDI 1999; Wonnacott,
   IPDPS 2000).

       strips ->   0   1   2   3   4   5   6   7   8        tile 3, lags 0, 1, 2
       step 1                      [t=2: 3][t=3: 4]            a step reads the strips before,
       step 2                  [      ][  3 ]                  at and behind its own
       step 3              [      ][  3 ]

   Where memory is written again (two grids that take turns), a store must not overtake a read, nor
   a store: any two accesses conflict of which one is a store.  Conflicts are found by addresses, so
   that it does not matter which temporaries share memory in the arena.

   Small kernels in between (the copies of a grid's border) have strips, too, or are done before the
   wave where they have nothing to do with its members. */
#include "kernel.h"
#include "schedule.h"

enum {
    WAVE_BYTES = 640 << 10, /* what the strips of a tile may take of the level-2 cache */
    LEAST_STORED = 2 << 20, /* bytes that the first member stores: less stays cached anyway */
    MOST_MEMBERS = 64,
    LEAST_TILE = 2,
    FLAT_STRIP = 16 << 10, /* bytes of a strip, where all members are flat */
};
static int64_t least_stored = LEAST_STORED, wave_bytes = WAVE_BYTES;

/* The memory of an operand, strip by strip. */
typedef struct {
    BufferId buffer;
    bool arena;
    int64_t at, end; /* of the first strip; in the arena, or from the buffer's beginning */
    int64_t step;    /* from a strip to the next */
    bool stored;
} Track;

typedef struct {
    int step; /* index into Program.steps */
    int64_t strips, pace, lag;
    int32_t ntracks;
    Track *tracks;
} Member;

typedef struct {
    Lowering *lw;
    Member members[MOST_MEMBERS];
    int nmembers;
    bool apart;   /* no strip conflicts with another one: tiles may be done in any order */
    bool flows;   /* some member reads what another one stores */
    bool *target; /* per step: a jump leads to it */
} Search;

/* ---- the memory of a kernel ---- */

static bool
all_known(const Graph *g, const KernelStep *step)
{
    for (int i = 0; i < step->nsizes; i++)
        if (!size_is_const(g, step->sizes[i])) return false;
    for (int i = 0; i < step->nplaces; i++)
        if (!size_is_const(g, step->places[i].offset)) return false;
    return size_is_const(g, step->units);
}

static bool
has_strips(const Graph *g, const Kernel *k, const KernelStep *step)
{
    if (step->device != DEVICE_HOST || step->region || step->parts || !all_known(g, step))
        return false;
    if (k->tile_rows > 0 || step->members > 0) return false;
    return k->kind == KERNEL_FLAT || (k->kind == KERNEL_ROWS && k->nloops > 1);
}

static int64_t
stride_of(const Graph *g, const KernelStep *step, const Operand *o, int loop)
{
    if (o->stride[loop] == STRIDE_ZERO) return 0;
    if (o->stride[loop] == STRIDE_UNIT) return (int64_t)dtype_size(o->dtype);
    return size_value(g, step->sizes[o->stride[loop]]);
}

/* False: of unknown memory, or stored where an order of strips says nothing. */
static bool
track(const Search *s, const Kernel *k, const KernelStep *step, const Operand *o, Track *out)
{
    const Graph *g = s->lw->graph;
    const Place *place = &step->places[o->pointer];
    const Buffer *b = &s->lw->program->buffers.at[place->buffer];
    switch (b->kind) {
    case BUFFER_INPUT:
    case BUFFER_CONST:
    case BUFFER_SCALAR:
        if (o->stored) return false;
        break;
    case BUFFER_OUTPUT:
    case BUFFER_TEMP: break;
    case BUFFER_EXTERN: /* may be the memory of another buffer */
    case BUFFER_CHOSEN: return false;
    }
    *out = (Track){.buffer = place->buffer, .arena = b->kind == BUFFER_TEMP, .stored = o->stored};
    out->at = size_value(g, place->offset) + (out->arena ? b->arena_offset : 0);
    out->end = out->at + (int64_t)dtype_size(o->dtype);
    out->step = stride_of(g, step, o, 0);
    for (int loop = 1; loop < k->nloops; loop++) {
        int64_t length = size_value(g, step->sizes[k->size[loop]]);
        int64_t reach = (length - 1) * stride_of(g, step, o, loop);
        *(reach < 0 ? &out->at : &out->end) += reach;
    }
    return out->step > 0 || (out->step == 0 && !o->stored);
}

/* ANSWER_NO: the kernel can be in no wave. */
static Answer
member_of(const Search *s, int at, int64_t strip_bytes, Member *out)
{
    const Program *p = s->lw->program;
    const Graph *g = s->lw->graph;
    const Step *step = &p->steps.at[at];
    const KernelStep *ks = &step->kernel;
    if (step->kind != STEP_KERNEL || !has_strips(g, p->kernels.at[ks->kernel], ks))
        return ANSWER_NO;
    const Kernel *k = p->kernels.at[ks->kernel];
    *out = (Member){.step = at, .pace = 1, .ntracks = k->operands.len};
    out->tracks = arena_alloc(s->lw->arena, sizeof(Track) * (size_t)(k->operands.len + 1));
    if (out->tracks == NULL) return ANSWER_ERROR;
    int64_t longest = 1;
    for (int i = 0; i < k->operands.len; i++) {
        if (!track(s, k, ks, &k->operands.at[i], &out->tracks[i])) return ANSWER_NO;
        longest = Py_MAX(longest, out->tracks[i].step);
    }
    if (k->kind == KERNEL_FLAT) {
        out->pace = Py_MAX(strip_bytes / longest, 1);
        for (int i = 0; i < k->operands.len; i++) {
            Track *t = &out->tracks[i];
            t->end += (out->pace - 1) * t->step;
            t->step *= out->pace;
        }
    }
    for (int loop = 1; loop < k->nloops - 1; loop++)
        out->pace *= size_value(g, ks->sizes[k->size[loop]]);
    int64_t units = size_value(g, ks->units);
    out->strips = (units + out->pace - 1) / out->pace;
    return units > 0 ? ANSWER_YES : ANSWER_NO;
}

/* ---- conflicts ---- */

static int64_t
floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t
track_end(const Track *t, int64_t strips)
{
    return t->end + t->step * (strips - 1);
}

static bool
same_memory(const Track *a, const Track *b)
{
    return (a->arena && b->arena) || a->buffer == b->buffer;
}

/* Do any strips of the two conflict? */
static bool
meet(const Track *a, int64_t a_strips, const Track *b, int64_t b_strips)
{
    return (a->stored || b->stored) && same_memory(a, b) && a->at < track_end(b, b_strips) &&
           b->at < track_end(a, a_strips);
}

/* How far the strips of a with which a strip of b conflicts are behind it at most, and at least:
   straight lines in the strip's number, so that its first and last one decide. */
static void
reach(const Member *a, const Track *x, const Member *b, const Track *y, int64_t *most,
      int64_t *least)
{
    *most = INT64_MIN;
    *least = INT64_MAX;
    for (int last = 0; last < 2; last++) {
        int64_t strip = last ? b->strips - 1 : 0, high = a->strips - 1, low = 0;
        if (x->step > 0) {
            high = floor_div(y->end + y->step * strip - x->at - 1, x->step);
            low = floor_div(y->at + y->step * strip - x->end, x->step) + 1;
        }
        *most = Py_MAX(*most, high - strip);
        *least = Py_MIN(*least, low - strip);
    }
}

/* Sets the lag of a member behind all that are in the wave. */
static void
find_lag(Search *s, Member *b)
{
    int64_t most, least;
    for (int m = 0; m < s->nmembers; m++) {
        const Member *a = &s->members[m];
        for (int i = 0; i < a->ntracks; i++)
            for (int j = 0; j < b->ntracks; j++) {
                const Track *x = &a->tracks[i], *y = &b->tracks[j];
                if (!meet(x, a->strips, y, b->strips)) continue;
                reach(a, x, b, y, &most, &least);
                b->lag = Py_MAX(b->lag, a->lag + most);
                s->apart = s->apart && most <= 0 && least >= 0;
                s->flows = s->flows || (x->stored && !y->stored);
            }
    }
    s->apart = s->apart && b->lag == 0;
}

/* ---- the tile ---- */

/* The strips of a tile, so that what members share stays in the cache; 0: it does not. */
static int64_t
tile_of(const Search *s)
{
    int64_t per_strip = 0, held = 0;
    for (int m = 0; m < s->nmembers; m++)
        for (int i = 0; i < s->members[m].ntracks; i++) {
            const Track *t = &s->members[m].tracks[i];
            int64_t lowest = s->members[m].lag, highest = lowest, step = t->step;
            bool first = true; /* a buffer counts where it is met first */
            for (int o = 0; o < s->nmembers; o++)
                for (int j = 0; j < s->members[o].ntracks; j++) {
                    const Track *other = &s->members[o].tracks[j];
                    if (other->buffer != t->buffer) continue;
                    first = first && (o > m || (o == m && j >= i));
                    lowest = Py_MIN(lowest, s->members[o].lag);
                    highest = Py_MAX(highest, s->members[o].lag);
                    step = Py_MAX(step, other->step);
                }
            if (!first) continue;
            per_strip += step;
            held += step * (highest - lowest);
        }
    int64_t tile = (wave_bytes - held) / Py_MAX(per_strip, 1);
    return tile >= LEAST_TILE ? tile : 0;
}

/* The most memory that the member stores in one operand. */
static int64_t
stored_bytes(const Member *member)
{
    int64_t most = 0;
    for (int i = 0; i < member->ntracks; i++) {
        const Track *t = &member->tracks[i];
        if (t->stored) most = Py_MAX(most, track_end(t, member->strips) - t->at);
    }
    return most;
}

/* Is something that the member stores accessed by another one? */
static bool
shares(const Search *s, int m)
{
    for (int i = 0; i < s->members[m].ntracks; i++) {
        const Track *t = &s->members[m].tracks[i];
        for (int o = 0; t->stored && o < s->nmembers; o++)
            for (int j = 0; o != m && j < s->members[o].ntracks; j++)
                if (s->members[o].tracks[j].buffer == t->buffer) return true;
    }
    return false;
}

/* ---- finding waves ---- */

/* The bytes of a strip of flat kernels: those of the first kernel of rows from here on. */
static Answer
strip_bytes_from(const Search *s, int first, int64_t *bytes)
{
    const Program *p = s->lw->program;
    Member member;
    *bytes = FLAT_STRIP;
    for (int at = first; at < p->steps.len && at < first + MOST_MEMBERS; at++) {
        Answer answer = member_of(s, at, FLAT_STRIP, &member);
        if (answer == ANSWER_ERROR) return ANSWER_ERROR;
        if (answer == ANSWER_NO) break;
        if (p->kernels.at[p->steps.at[at].kernel.kernel]->kind != KERNEL_ROWS) continue;
        *bytes = 1;
        for (int i = 0; i < member.ntracks; i++) *bytes = Py_MAX(*bytes, member.tracks[i].step);
        break;
    }
    return ANSWER_YES;
}

/* Takes the step into the wave if its tiles still fit the cache. */
static bool
join(Search *s, Member *member)
{
    bool apart = s->apart, flows = s->flows;
    if (s->nmembers == MOST_MEMBERS) return false;
    find_lag(s, member);
    s->members[s->nmembers++] = *member;
    if (tile_of(s) > 0) return true;
    s->nmembers--;
    s->apart = apart;
    s->flows = flows;
    return false;
}

/* The longest wave that begins with the step, if it is one at all: its members are in s. */
static Answer
grow(Search *s, int first)
{
    const Program *p = s->lw->program;
    int64_t strip_bytes;
    Member member;
    s->nmembers = 0;
    s->apart = true;
    s->flows = false;
    Answer large = member_of(s, first, FLAT_STRIP, &member);
    if (large != ANSWER_YES) return large;
    if (stored_bytes(&member) < least_stored) return ANSWER_NO;
    if (strip_bytes_from(s, first, &strip_bytes) != ANSWER_YES) return ANSWER_ERROR;
    for (int at = first; at < p->steps.len; at++) {
        if (at > first && s->target[at]) break;
        Answer answer = member_of(s, at, strip_bytes, &member);
        if (answer == ANSWER_ERROR) return ANSWER_ERROR;
        if (answer == ANSWER_NO || !join(s, &member)) break;
    }
    return s->nmembers > 1 && s->flows ? ANSWER_YES : ANSWER_NO;
}

static int
mark_targets(Search *s)
{
    const Program *p = s->lw->program;
    s->target = arena_alloc(s->lw->arena, (size_t)p->steps.len + 1);
    if (s->target == NULL) return -1;
    for (int i = 0; i < p->steps.len; i++) {
        const Step *step = &p->steps.at[i];
        if (step->kind == STEP_JUMP) s->target[step->jump.target] = true;
        if (step->kind == STEP_CARRY) s->target[step->carry.target] = true;
    }
    return 0;
}

static int
add_wave(Search *s)
{
    Program *p = s->lw->program;
    Wave wave = {.first = s->members[0].step, .count = s->nmembers, .tile = tile_of(s)};
    wave.apart = s->apart;
    wave.members = arena_alloc(s->lw->arena, sizeof(WaveMember) * (size_t)s->nmembers);
    if (wave.members == NULL) return -1;
    for (int m = 0; m < s->nmembers; m++) {
        const Member *member = &s->members[m];
        wave.members[m] = (WaveMember){.pace = member->pace, .lag = member->lag};
        int64_t tiles = (member->strips + member->lag + wave.tile - 1) / wave.tile;
        wave.tiles = Py_MAX(wave.tiles, tiles);
        Kernel *kernel = p->kernels.at[p->steps.at[member->step].kernel.kernel];
        kernel->waved = true;
        kernel->read_soon = shares(s, m);
    }
    return VEC_PUSH(s->lw->arena, &p->waves, wave);
}

int
waves_find(Lowering *lw)
{
    Search s = {.lw = lw};
    if (mark_targets(&s) < 0) return -1;
    for (int at = 0; at < lw->program->steps.len; at++) {
        Answer answer = grow(&s, at);
        if (answer == ANSWER_ERROR) return -1;
        if (answer == ANSWER_NO) continue;
        if (add_wave(&s) < 0) return -1;
        at += s.nmembers - 1;
    }
    return 0;
}

void
waves_set_sizes(int64_t stored, int64_t cache)
{
    least_stored = stored > 0 ? stored : LEAST_STORED;
    wave_bytes = cache > 0 ? cache : WAVE_BYTES;
}
