"""Products on a CUDA device with what is done with their elements, and calls whose time is the host's.

    python -m benchmarks.gpu_products [--torch | --tf32]

In microseconds, "b2b / sync" as in gpu.py, which has the functions: compiled, then plain CuPy.  With --tf32
products of float32 by TF32 alone, of weights in both orders and of a training step's gradients: a plan
copies weights for them where that pays (passes/k_major.c), CuPy does not."""

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


LAYOUTS = {  # with a row that is added: a product alone is no plan
    "x @ w + b": lambda x, y, w, v, b: x @ w + b,
    "x @ v.T + b": lambda x, y, w, v, b: x @ v.T + b,
    "x.T @ y + b": lambda x, y, w, v, b: x.T @ y + b,
}


def tell_tf32():
    linalg = cp._core._routines_linalg
    linalg.set_compute_type(cp.dtype("f4"), linalg.COMPUTE_TYPE_TF32)
    for rows, inner, columns in (
        (32768, 4096, 4096),
        (16384, 4096, 4096),
        (4096, 16384, 4096),
        (8192, 4096, 4096),
        (4096, 4096, 4096),
        (2048, 4096, 4096),
        (16384, 1024, 1024),
        (65536, 512, 512),
        (8192, 1024, 16384),
        (16384, 16384, 16384),
    ):
        shapes = (rows, inner), (rows, columns), (inner, columns), (columns, inner), (columns,)
        args = [cp.random.standard_normal(shape, dtype="f4") for shape in shapes]
        for name, program in LAYOUTS.items():
            pycompile.reset()  # lengths that vary would be symbols
            tell(f"{name}, {rows}x{inner}x{columns} TF32", program, args)


def main():
    if "--tf32" in sys.argv:
        tell_tf32()
        return
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
