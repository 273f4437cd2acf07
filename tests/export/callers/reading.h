/* How a call lies on stdin: of a tensor code, bits, rank and lengths, in int64_t, and its bytes.
   For what has DLTensor already. */
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8 };
typedef int Function(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);

static int64_t
read_number(void)
{
    int64_t number;
    if (fread(&number, sizeof number, 1, stdin) != 1) exit(2);
    return number;
}

static size_t
bytes_of(const DLTensor *t)
{
    size_t bytes = t->dtype.bits / 8;
    for (int i = 0; i < t->ndim; i++) bytes *= (size_t)t->shape[i];
    return bytes;
}

/* `room` gives memory of that many bytes or more. */
static void
read_tensor(DLTensor *t, void *room(size_t))
{
    int64_t code = read_number(), bits = read_number();
    *t = (DLTensor){.device = {1, 0}, .dtype = {(uint8_t)code, (uint8_t)bits, 1}};
    t->ndim = (int32_t)read_number();
    t->shape = malloc(MOST * sizeof *t->shape);
    for (int i = 0; i < t->ndim; i++) t->shape[i] = read_number();
    t->data = room(bytes_of(t) + 1);
    if (fread(t->data, 1, bytes_of(t), stdin) != bytes_of(t)) exit(2);
}
