/* Reads calls of the library's functions, asks for the shapes of results, makes the calls, and writes
   what came of them.  A tensor is code, bits, rank and lengths, in int64_t, and its bytes. */
#include "twelve.h"

#include <stdio.h>
#include <stdlib.h>

typedef int Function(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);
static Function *const functions[][2] = {
#define F(NAME) {NAME, NAME##_shapes},
#include "names.h"
};
enum { MOST = 8 };

static int64_t
read_number(void)
{
    int64_t number;
    if (fread(&number, sizeof number, 1, stdin) != 1) exit(2);
    return number;
}

static void
write_number(int64_t number)
{
    fwrite(&number, sizeof number, 1, stdout);
}

static size_t
bytes_of(const DLTensor *t)
{
    size_t bytes = t->dtype.bits / 8;
    for (int i = 0; i < t->ndim; i++) bytes *= (size_t)t->shape[i];
    return bytes;
}

static void
read_tensor(DLTensor *t)
{
    int64_t code = read_number(), bits = read_number();
    *t = (DLTensor){.device = {1, 0}, .dtype = {(uint8_t)code, (uint8_t)bits, 1}};
    t->ndim = (int32_t)read_number();
    t->shape = malloc(MOST * sizeof *t->shape);
    for (int i = 0; i < t->ndim; i++) t->shape[i] = read_number();
    t->data = malloc(bytes_of(t) + 1);
    if (fread(t->data, 1, bytes_of(t), stdin) != bytes_of(t)) exit(2);
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

static int
make_call(Function *const function[2])
{
    DLTensor in[MOST], out[MOST];
    int nin = (int)read_number(), nout = (int)read_number();
    for (int i = 0; i < nin; i++) read_tensor(&in[i]);
    for (int i = 0; i < nout; i++)
        out[i] = (DLTensor){.device = {1, 0}, .shape = malloc(MOST * sizeof *out[i].shape)};
    int status = function[1](in, nin, out, nout);
    for (int i = 0; i < nout && status >= 0; i++) out[i].data = malloc(bytes_of(&out[i]) + 1);
    if (status >= 0) status = function[0](in, nin, out, nout);
    write_number(status);
    for (int i = 0; i < nout && status >= 0; i++) write_tensor(&out[i]);
    free_tensors(in, nin);
    free_tensors(out, nout);
    return status;
}

int
main(void)
{
    for (int64_t calls = read_number(); calls > 0; calls--)
        if (make_call(functions[read_number()]) < 0) {
            fprintf(stderr, "%s\n", twelve_error());
            return 1;
        }
    return 0;
}
