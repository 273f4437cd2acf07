"""Products on a CUDA device with what is done with their elements, and calls whose time is the host's.

    python -m benchmarks.gpu_products [--torch]

In microseconds, "b2b / sync" as in gpu.py, which has the functions: compiled, then plain CuPy."""

import sys

import cupy as cp

import pycompile
from benchmarks import gpu, gpu_clock
from benchmarks.gpu_peers import PEERS


def gelu(x):
    return 0.5 * x * (1 + cp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


PROGRAMS = {
    "x @ w + b": lambda x, w, b, r: x @ w + b,
    "r + x @ w + b": lambda x, w, b, r: r + x @ w + b,
    "maximum(x @ w + b, 0)": lambda x, w, b, r: cp.maximum(x @ w + b, 0),
    "gelu(x @ w + b)": lambda x, w, b, r: gelu(x @ w + b),
}


def tell(label, function, args):
    compiled = pycompile.compile(function)
    for _ in range(12):
        compiled(*args)
        function(*args)
    times = []
    for f in (compiled, function):
        times += [gpu_clock.back_to_back(f, args), gpu_clock.synchronised(f, args)]
    print(
        f"{label:40}{times[0]:8.1f} /{times[1]:8.1f}   CuPy {times[2]:8.1f} /{times[3]:8.1f}",
        flush=True,
    )


def main():
    rng = cp.random.default_rng(1)
    for dtype, rows, inner, columns in (
        ("f2", 8192, 1024, 4096),
        ("f4", 4096, 1024, 1024),
        ("f2", 256, 256, 256),
    ):
        shapes = [(rows, inner), (inner, columns), (columns,), (rows, columns)]
        args = [(rng.standard_normal(shape, dtype="f4") / 30).astype(dtype) for shape in shapes]
        for name, program in PROGRAMS.items():
            tell(f"{name}, {rows}x{inner}x{columns} {dtype}", program, args)
    peers = {"torch": PEERS["torch"]()} if "--torch" in sys.argv else {}
    gpu.tell_block(print, peers, ["default"])
    for program, shapes in (
        ("small", [(1024,)]),
        ("adam", [[(gpu.ELEMENTS,)] * gpu.TENSORS] * 4),
        ("add_one", [(1,)]),
    ):
        compiled, args = pycompile.compile(gpu.programs(cp)[program]), gpu.arrays(*shapes)
        for _ in range(12):
            compiled(*args)
        times = (
            gpu_clock.back_to_back(compiled, args),
            gpu_clock.synchronised(compiled, args),
            gpu_clock.host(compiled, args),
        )
        print(f"{program:40}{times[0]:8.1f} /{times[1]:8.1f}   host {times[2]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
