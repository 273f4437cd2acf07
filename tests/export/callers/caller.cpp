// As caller.c, found by CMake's find_package.
#include "twelve.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

using Function = int(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);
struct Exported {
    Function *call, *shapes;
};
static const Exported functions[] = {
#define F(NAME) {NAME, NAME##_shapes},
#include "names.h"
};

static int64_t
read_number()
{
    int64_t number;
    if (std::fread(&number, sizeof number, 1, stdin) != 1) std::exit(2);
    return number;
}

static void
write_number(int64_t number)
{
    std::fwrite(&number, sizeof number, 1, stdout);
}

struct Tensor {
    std::vector<int64_t> shape;
    std::vector<char> data;
    DLDataType dtype;

    std::size_t bytes() const
    {
        std::size_t bytes = dtype.bits / 8;
        for (int64_t length : shape) bytes *= static_cast<std::size_t>(length);
        return bytes;
    }
    DLTensor view()
    {
        return {data.data(), {1, 0}, static_cast<int32_t>(shape.size()), dtype, shape.data(), nullptr, 0};
    }
};

static Tensor
read_tensor()
{
    Tensor t;
    t.dtype.code = static_cast<uint8_t>(read_number());
    t.dtype.bits = static_cast<uint8_t>(read_number());
    t.dtype.lanes = 1;
    t.shape.resize(static_cast<std::size_t>(read_number()));
    for (int64_t &length : t.shape) length = read_number();
    t.data.resize(t.bytes() + 1);
    if (std::fread(t.data.data(), 1, t.bytes(), stdin) != t.bytes()) std::exit(2);
    return t;
}

static int
make_call(const Exported &function)
{
    const auto nin = static_cast<int32_t>(read_number()), nout = static_cast<int32_t>(read_number());
    std::vector<Tensor> given, made(static_cast<std::size_t>(nout));
    std::vector<DLTensor> in, out;
    for (int32_t i = 0; i < nin; i++) given.push_back(read_tensor());
    for (Tensor &t : given) in.push_back(t.view());
    for (Tensor &t : made) {
        t.shape.resize(8);
        out.push_back(t.view());
    }
    int status = function.shapes(in.data(), nin, out.data(), nout);
    for (std::size_t i = 0; i < out.size() && status >= 0; i++) {
        made[i].dtype = out[i].dtype;
        made[i].shape.resize(static_cast<std::size_t>(out[i].ndim));
        made[i].data.resize(made[i].bytes() + 1);
        out[i] = made[i].view();
    }
    if (status >= 0) status = function.call(in.data(), nin, out.data(), nout);
    write_number(status);
    for (std::size_t i = 0; i < out.size() && status >= 0; i++) {
        write_number(out[i].ndim);
        for (int64_t length : made[i].shape) write_number(length);
        std::fwrite(made[i].data.data(), 1, made[i].bytes(), stdout);
    }
    return status;
}

int
main()
{
    for (int64_t calls = read_number(); calls > 0; calls--)
        if (make_call(functions[read_number()]) < 0) {
            std::fprintf(stderr, "%s\n", twelve_error());
            return 1;
        }
}
