/* Reads calls of the library's functions, asks for the shapes of results, makes the calls, and writes
   what came of them, as reading.h has tensors.

   `caller COUNT` makes COUNT wrong calls before each: one thing of the call is another.  They have to
   be refused, and change nothing. */
#include "twelve.h"

#include "reading.h"

#include <stdbool.h>
#include <string.h>

static Function *const functions[][2] = {
#define F(NAME) {NAME, NAME##_shapes},
#include "names.h"
};

static void
write_number(int64_t number)
{
    fwrite(&number, sizeof number, 1, stdout);
}

static void
write_tensor(const DLTensor *t)
{
    write_number(t->ndim);
    for (int i = 0; i < t->ndim; i++) write_number(t->shape[i]);
    fwrite(t->data, 1, bytes_of(t), stdout);
}

static void
free_tensors(DLTensor *t, int count)
{
    for (int i = 0; i < count; i++) {
        free(t[i].data);
        free(t[i].shape);
    }
}

/* ---- wrong calls ---- */

static uint64_t
any_below(uint64_t count)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % count;
}

/* A call whose tensors are copies, so that the right one stays. */
typedef struct {
    DLTensor tensor[2 * MOST];
    int64_t shape[2 * MOST][MOST], strides[2 * MOST][MOST];
    int32_t nin, nout;
    bool no_arguments;
} Call;

static void
copy_call(Call *call, const DLTensor *in, int nin, const DLTensor *out, int nout)
{
    memset(call, 0, sizeof *call);
    call->nin = nin;
    call->nout = nout;
    for (int i = 0; i < nin + nout; i++) {
        DLTensor *t = &call->tensor[i];
        *t = i < nin ? in[i] : out[i - nin];
        int64_t stride = 1;
        for (int axis = t->ndim; axis-- > 0; stride *= t->shape[axis])
            call->strides[i][axis] = stride;
        memcpy(call->shape[i], t->shape, (size_t)t->ndim * sizeof *t->shape);
        t->shape = call->shape[i];
        t->strides = call->strides[i];
    }
}

static bool
has_elements(const DLTensor *t)
{
    return bytes_of(t) > 0;
}

/* Another length: none that can be, or a result's, or that of the first argument, which decides what
   the results' are. */
static bool
change_length(DLTensor *t, bool decides)
{
    static const int64_t never[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 45};
    if (t->ndim == 0) return false;
    int64_t *length = &t->shape[decides ? 0 : any_below((uint64_t)t->ndim)];
    uint64_t way = any_below(decides ? 6 : 4);
    *length = way < 4 ? never[way] : *length + (way == 4 ? 1 : -1);
    return true;
}

/* Changes one thing.  False: it is none that can be changed here. */
static bool
change(Call *call)
{
    int count = call->nin + call->nout, number = (int)any_below((uint64_t)count);
    DLTensor *t = &call->tensor[number];
    DLTensor *out = &call->tensor[call->nin + (int)any_below((uint64_t)call->nout)];
    DLTensor *other = &call->tensor[any_below((uint64_t)count)];
    int axis = t->ndim > 0 ? (int)any_below((uint64_t)t->ndim) : 0;
    switch (any_below(13)) {
    case 0: t->dtype.bits = t->dtype.bits == 8 ? 16 : t->dtype.bits / 2; return true;
    case 1: t->dtype.code = (uint8_t)(t->dtype.code + 1); return true;
    case 2: t->dtype.lanes = (uint16_t)(2 * any_below(2)); return true;
    case 3: t->ndim += any_below(2) ? 1 : -1; return true;
    case 4: return change_length(t, number == 0 || number >= call->nin);
    case 5: t->shape = NULL; return t->ndim > 0;
    case 6: /* vectors may have strides, and results, but no two elements of one in one place */
        if (number < call->nin && t->ndim < 2) return false;
        call->strides[number][axis] *= number < call->nin ? any_below(2) ? 2 : -1 : 0;
        return t->ndim > 0 && t->shape[axis] > 1 && has_elements(t);
    case 7: t->strides[axis] = INT64_MAX / 2; return t->ndim > 0;
    case 8: t->data = NULL; return has_elements(t);
    case 9: t->byte_offset = 1; return t->dtype.bits > 8 && has_elements(t);
    case 10: t->device.device_type = 2; return true;
    case 11:
        call->no_arguments = any_below(4) == 0;
        *(any_below(2) ? &call->nin : &call->nout) += any_below(2) ? 1 : -1;
        return true;
    default: /* a result in the memory of another tensor */
        out->data = other->data;
        return out != other && has_elements(out) && has_elements(other);
    }
}

static void
fail(const char *why, const Call *call)
{
    fprintf(stderr, "a wrong call of %d and %d: %s\n", (int)call->nin, (int)call->nout, why);
    exit(3);
}

/* The bytes of all tensors; of results any. */
static char *
all_bytes(const DLTensor *in, int nin, const DLTensor *out, int nout, size_t *bytes)
{
    *bytes = 0;
    for (int i = 0; i < nin + nout; i++) *bytes += bytes_of(i < nin ? &in[i] : &out[i - nin]);
    char *all = malloc(*bytes + 1), *at = all;
    for (int i = 0; i < nin + nout; i++) {
        const DLTensor *t = i < nin ? &in[i] : &out[i - nin];
        memcpy(at, t->data, bytes_of(t));
        at += bytes_of(t);
    }
    return all;
}

static void
make_wrong_calls(Function *call, const DLTensor *in, int nin, DLTensor *out, int nout, int count)
{
    size_t bytes;
    for (int i = 0; i < nout; i++) memset(out[i].data, 0x5a, bytes_of(&out[i]));
    char *before = all_bytes(in, nin, out, nout, &bytes);
    while (count > 0) {
        Call wrong, same;
        copy_call(&wrong, in, nin, out, nout);
        if (!change(&wrong)) continue;
        memcpy(&same, &wrong, sizeof same);
        int status = call(wrong.no_arguments ? NULL : wrong.tensor, wrong.nin, wrong.tensor + nin,
                          wrong.nout);
        char *after = all_bytes(in, nin, out, nout, &bytes);
        if (status != TWELVE_WRONG || twelve_error()[0] == 0) fail("it is not refused", &wrong);
        if (memcmp(&same, &wrong, sizeof same) != 0) fail("it changes a tensor", &wrong);
        if (memcmp(before, after, bytes) != 0) fail("it changes elements", &wrong);
        free(after);
        count--;
    }
    free(before);
}

/* ---- calls ---- */

static int
make_call(Function *const function[2], int wrong)
{
    DLTensor in[MOST], out[MOST];
    int nin = (int)read_number(), nout = (int)read_number();
    for (int i = 0; i < nin; i++) read_tensor(&in[i], malloc);
    for (int i = 0; i < nout; i++)
        out[i] = (DLTensor){.device = {1, 0}, .shape = malloc(MOST * sizeof *out[i].shape)};
    int status = function[1](in, nin, out, nout);
    for (int i = 0; i < nout && status >= 0; i++) out[i].data = malloc(bytes_of(&out[i]) + 1);
    if (status >= 0) make_wrong_calls(function[0], in, nin, out, nout, wrong);
    if (status >= 0) status = function[0](in, nin, out, nout);
    write_number(status);
    for (int i = 0; i < nout && status >= 0; i++) write_tensor(&out[i]);
    free_tensors(in, nin);
    free_tensors(out, nout);
    return status;
}

int
main(int argc, char **argv)
{
    int wrong = argc > 1 ? atoi(argv[1]) : 0;
    for (int64_t calls = read_number(); calls > 0; calls--)
        if (make_call(functions[read_number()], wrong) < 0) {
            fprintf(stderr, "%s\n", twelve_error());
            return 1;
        }
    return 0;
}
