/* Elements of arrays in kept loops, as C: addresses, checks of indices, loads and stores, and what
   goes from iteration to iteration in registers (lower/region_reuse.c). */
#include "emit.h"

const char *
region_memory_type(Emit *e, DType dtype, Text *out)
{
    out->len = 0;
    prelude_memory(e->prelude, dtype, 1, out);
    return out->data ? out->data : "";
}

static const RegionArray *
array_of(const Emit *e, const RegionElement *element)
{
    return &e->kernel->region->arrays.at[element->array];
}

/* " * 8" or " * n3": from one element of the axis to the next. */
static void
put_stride(const Emit *e, const RegionArray *array, int axis, Text *out)
{
    if (e->quick && array->unit && axis == array->rank - 1)
        text_printf(out, " * %d", (int)dtype_size(e->kernel->operands.at[array->operand].dtype));
    else
        text_printf(out, " * n%d", array->stride[axis]);
}

/* ---- where it is used ---- */

/* One index, checked unless that was done before; what the address takes of it in `out`. */
static void
emit_index(Emit *e, const RegionElement *element, int axis, char *out, size_t size)
{
    int number = instr_at(e, element->instr)->operand;
    const Instr *v = instr_at(e, element->index[axis]);
    int32_t length = array_of(e, element)->length[axis];
    region_name(e, element->index[axis], out, size);
    if (e->quick && element->checked[axis] >= 0) {
        if (v->kind == INSTR_CONST && (int64_t)v->bits[0] < 0)
            snprintf(out, size, "(n%d - %lld)", length, -(long long)v->bits[0]);
        return;
    }
    if (!e->quick) {
        emit_line(e, "const int64_t k%d_%d = %s < 0 ? %s + n%d : %s;", number, axis, out, out,
                  length, out);
        snprintf(out, size, "k%d_%d", number, axis);
    }
    emit_line(e, "if (RARELY((uint64_t)%s >= (uint64_t)n%d)) %s", out, length, REGION_FAIL);
}

/* The address of an element. */
static void
emit_address(Emit *e, const RegionElement *element, Text *out)
{
    const RegionArray *array = array_of(e, element);
    char index[48];
    text_printf(out, "q%d", array->operand);
    for (int axis = 0; axis < array->rank; axis++) {
        emit_index(e, element, axis, index, sizeof index);
        text_printf(out, " + %s", index);
        put_stride(e, array, axis, out);
    }
}

static void
emit_load(Emit *e, const RegionElement *element, const char *left, const char *address)
{
    DType dtype = instr_at(e, element->instr)->dtype;
    Text type = {0};
    emit_line(e, "%s = *(const %s *)(%s)%s;", left, region_memory_type(e, dtype, &type), address,
              dtype == DT_BOOL ? " != 0" : "");
    text_free(&type);
}

static void
emit_store(Emit *e, const RegionElement *element, const char *address, const char *value)
{
    Text type = {0};
    const char *t = region_memory_type(e, instr_at(e, element->instr)->dtype, &type);
    emit_line(e, "*(%s *)(%s) = %s;", t, address, value);
    text_free(&type);
}

/* The register that has an element in the quick variant; false: it is in memory. */
static bool
register_of(const Emit *e, const RegionElement *element, char *out, size_t size)
{
    int number = instr_at(e, element->instr)->operand;
    if (!e->quick || element->reuse == REUSE_NONE) return false;
    if (element->reuse == REUSE_KEPT || element->reuse == REUSE_TURN) number = element->source;
    char kind = element->reuse == REUSE_BEFORE ? 'p' : element->reuse == REUSE_TURN ? 'r' : 'g';
    snprintf(out, size, "%c%d", kind, number);
    return true;
}

/* Is the store logged before the iterations, with those of the other iterations? */
static bool
logged_before(const Emit *e, const RegionElement *element, const RegionFor *loop)
{
    return e->quick && loop->innermost && element->hoisted;
}

/* The number must be small: lower/region_small.c. */
static void
emit_look(Emit *e, const RegionFor *loop, const char *number)
{
    emit_line(e, "wide%d |= (uint64_t)%s + (1ull << %d);", loop->number, number, loop->width);
}

static bool
looks_at_numbers(const Emit *e, const RegionFor *loop)
{
    return loop->width > 0 && region_notes(e, loop);
}

void
region_element(Emit *e, int32_t at, const RegionFor *loop)
{
    const Instr *v = instr_at(e, at);
    const RegionElement *element = &e->kernel->region->elements.at[v->operand];
    char left[48], name[32], value[16] = "";
    Text address = {0};
    bool store = v->kind == INSTR_STORE;
    if (store) region_name(e, v->args[0], value, sizeof value);
    snprintf(left, sizeof left, "const %s v%d", dtype_name(v->dtype), at);
    if (register_of(e, element, name, sizeof name)) {
        if (store)
            emit_line(e, "%s = %s;", name, value);
        else
            emit_line(e, "%s = %s;", left, name);
    } else {
        emit_address(e, element, &address);
        if (store && region_logs(e, array_of(e, element)) && !logged_before(e, element, loop))
            region_log_entry(e, v->dtype, address.data);
        if (store && region_logs_along(e, element, loop))
            region_log_along_each(e, v->dtype, v->operand, loop, address.data);
        if (store)
            emit_store(e, element, address.data, value);
        else
            emit_load(e, element, left, address.data);
    }
    if (element->looked == LOOKED_EACH && looks_at_numbers(e, loop)) {
        region_name(e, at, name, sizeof name);
        emit_look(e, loop, name);
    }
    e->mark[at] = e->body;
    text_free(&address);
}

/* ---- around the iterations ---- */

/* The address of an element where the loop's variable is called NAME and the loop's number, and
   bytes to the next. */
static void
address_at(Emit *e, const char *name, const RegionElement *element, const RegionFor *loop,
           Text *out, Text *step)
{
    const RegionArray *array = array_of(e, element);
    char base[16];
    text_printf(out, "q%d", array->operand);
    for (int axis = 0; axis < array->rank; axis++) {
        RegionLinear form;
        int32_t at = element->index[axis];
        if (!region_linear(e->kernel, e->kernel->region, loop, at, &form)) continue;
        text_put(out, " + (");
        if (form.slope != 0)
            text_printf(out, "%lld * %s%d + ", (long long)form.slope, name, loop->number);
        if (form.base >= 0) {
            region_name(e, form.base, base, sizeof base);
            text_printf(out, "%s + ", base);
        } else if (form.slope == 0 && form.minus < 0 && form.offset < 0)
            text_printf(out, "n%d + ", array->length[axis]);
        if (form.minus >= 0) {
            region_name(e, form.minus, base, sizeof base);
            text_printf(out, "-%s + ", base);
        }
        text_printf(out, "%lld)", (long long)form.offset);
        put_stride(e, array, axis, out);
        text_printf(step, "%s%lld * step%d", axis ? " + " : "", (long long)form.slope,
                    loop->number);
        put_stride(e, array, axis, step);
    }
}

/* In the first iteration of a strip. */
static void
first_address(Emit *e, const RegionElement *element, const RegionFor *loop, Text *out, Text *step)
{
    address_at(e, "first", element, loop, out, step);
}

static bool
is_here(const Emit *e, const RegionElement *element, const RegionFor *loop)
{
    return e->kernel->region->home[element->instr] == loop->number;
}

/* Does the register take the element from memory first?  Of those kept the first has it. */
static bool
begins_register(const RegionElement *element, int number)
{
    return element->reuse == REUSE_FIXED || element->reuse == REUSE_BEFORE ||
           (element->reuse == REUSE_KEPT && element->source == number);
}

static bool
is_stored(const Emit *e, int number)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = number; i < r->elements.len; i++) {
        const RegionElement *other = &r->elements.at[i];
        if ((other->reuse == REUSE_KEPT || other->reuse == REUSE_TURN) && other->source == number &&
            instr_at(e, other->instr)->kind == INSTR_STORE)
            return true;
    }
    return false;
}

static void
emit_before(Emit *e, const RegionFor *loop, int number)
{
    const RegionElement *element = &e->kernel->region->elements.at[number];
    DType dtype = instr_at(e, element->instr)->dtype;
    bool begins = begins_register(element, number);
    bool stores = element->reuse == REUSE_KEPT ? begins && is_stored(e, number)
                                               : instr_at(e, element->instr)->kind == INSTR_STORE;
    bool logs = stores && region_logs(e, array_of(e, element)) && element->twin < 0;
    if (!element->hoisted || (!begins && !logs)) return;
    Text address = {0}, step = {0};
    char count[64], left[64];
    first_address(e, element, loop, &address, &step);
    snprintf(count, sizeof count, "to%d - from%d", loop->number, loop->number);
    if (logs && element->reuse == REUSE_KEPT)
        region_log_entry(e, dtype, address.data);
    else if (logs && region_logs_along(e, element, loop))
        region_log_along(e, dtype, number, address.data, step.data, count);
    else if (logs)
        region_log_range(e, dtype, address.data, step.data, count);
    if (begins) {
        snprintf(left, sizeof left, "%s %c%d", dtype_name(dtype),
                 element->reuse == REUSE_BEFORE ? 'p' : 'g', number);
        emit_load(e, element, left, address.data);
    }
    text_free(&address);
    text_free(&step);
}

/* Numbers that are looked at before the iterations. */
static void
emit_early(Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    char name[32];
    emit_line(e, "uint64_t wide%d = 0;", loop->number);
    for (int i = 0; i < loop->looked.len; i++) {
        region_name(e, loop->looked.at[i], name, sizeof name);
        emit_look(e, loop, name);
    }
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *element = &r->elements.at[i];
        if (!is_here(e, element, loop)) continue;
        if (element->looked == LOOKED_ONCE) {
            snprintf(name, sizeof name, "g%d", i);
            emit_look(e, loop, name);
        }
        if (element->looked != LOOKED_EARLY || element->early == 0) continue;
        Text address = {0}, step = {0}, type = {0};
        first_address(e, element, loop, &address, &step);
        const char *t = region_memory_type(e, DT_I64, &type);
        emit_line(e, "for (int64_t j = 0; j < %d; j++)", (int)element->early);
        emit_line(e, "    wide%d |= (uint64_t)*(const %s *)(%s + j * (%s)) + (1ull << %d);",
                  loop->number, t, address.data, step.data, loop->width);
        text_free(&address);
        text_free(&step);
        text_free(&type);
    }
}

void
region_before_iterations(Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    char start[16], count[64];
    region_name(e, loop->start, start, sizeof start);
    emit_line(e, "const i64 first%d = %s + from%d * step%d;", loop->number, start, loop->number,
              loop->number);
    if (region_notes(e, loop)) emit_line(e, "i64 over%d = 0;", loop->number);
    for (int i = 0; i < loop->carried.len; i++)
        if (loop->carried.at[i].ahead) region_look_ahead(e, &loop->carried.at[i], false);
    for (int i = 0; i < r->elements.len; i++)
        if (is_here(e, &r->elements.at[i], loop)) emit_before(e, loop, i);
    snprintf(count, sizeof count, "to%d - from%d", loop->number, loop->number);
    for (int i = 0; i < r->elements.len; i++)
        if (region_is_store(e->kernel, &r->elements.at[i]) &&
            region_logs_along(e, &r->elements.at[i], loop))
            region_log_along_begin(e, instr_at(e, r->elements.at[i].instr)->dtype, i, count);
    if (looks_at_numbers(e, loop)) emit_early(e, loop);
}

static bool
begins_turn(const Emit *e, const RegionFor *loop, int number)
{
    const RegionElement *element = &e->kernel->region->elements.at[number];
    return is_here(e, element, loop) && element->reuse == REUSE_TURN && element->source == number;
}

/* Elements that are in a register for the iteration. */
void
region_begin_turn(Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    bool first = true;
    for (int i = 0; i < r->elements.len; i++) {
        if (!begins_turn(e, loop, i)) continue;
        const RegionElement *element = &r->elements.at[i];
        DType dtype = instr_at(e, element->instr)->dtype;
        Text address = {0}, step = {0};
        char start[16], left[32];
        region_name(e, loop->start, start, sizeof start);
        if (first)
            emit_line(e, "const i64 turn%d = %s + t%d * step%d;", loop->number, start, loop->number,
                      loop->number);
        first = false;
        address_at(e, "turn", element, loop, &address, &step);
        emit_line(e, "char *const a%d = %s;", i, address.data);
        snprintf(left, sizeof left, "%s r%d", dtype_name(dtype), i);
        snprintf(start, sizeof start, "a%d", i);
        emit_load(e, element, left, start);
        text_free(&address);
        text_free(&step);
    }
}

void
region_end_turn(Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    for (int i = 0; i < r->elements.len; i++) {
        if (!begins_turn(e, loop, i)) continue;
        char address[16], name[16];
        snprintf(address, sizeof address, "a%d", i);
        snprintf(name, sizeof name, "r%d", i);
        emit_store(e, &r->elements.at[i], address, name);
    }
}

void
region_after_iteration(Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    char name[16];
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *element = &r->elements.at[i];
        if (!is_here(e, element, loop) || element->reuse != REUSE_BEFORE) continue;
        const RegionElement *from = &r->elements.at[element->source];
        bool store = instr_at(e, from->instr)->kind == INSTR_STORE;
        region_name(e, store ? instr_at(e, from->instr)->args[0] : from->instr, name, sizeof name);
        emit_line(e, "p%d = %s;", i, name);
    }
}

void
region_after_iterations(Emit *e, const RegionFor *loop)
{
    const RegionLoop *r = e->kernel->region;
    if (region_notes(e, loop))
        emit_line(e, "if (RARELY(over%d < 0)) %s", loop->number, REGION_FAIL);
    if (looks_at_numbers(e, loop))
        emit_line(e, "if (RARELY(wide%d >> %d)) %s", loop->number, loop->width + 1, REGION_FAIL);
    for (int i = 0; i < r->elements.len; i++) {
        const RegionElement *element = &r->elements.at[i];
        if (!is_here(e, element, loop) || element->reuse != REUSE_KEPT || element->source != i ||
            !is_stored(e, i))
            continue;
        Text address = {0}, step = {0};
        char name[16];
        snprintf(name, sizeof name, "g%d", i);
        first_address(e, element, loop, &address, &step);
        emit_store(e, element, address.data, name);
        text_free(&address);
        text_free(&step);
    }
}
