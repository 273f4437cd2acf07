"""CuPy arrays on a CUDA device: the time of compiled functions, of CuPy, and of a copy of as many bytes.

    python benchmarks/gpu.py

"b2b": median over ten calls back to back between two events, so the kernels alone where these take
longer than the host; "sync": a call and a synchronisation; "host": the time of a call on the host,
for one element."""

import statistics
import time

import cupy as cp
import numpy as np

import pycompile


def gelu(x, b, r):
    y = x + b
    return 0.5 * y * (1 + cp.tanh(0.7978845608 * (y + 0.044715 * y * y * y))) + r


def softmax(x):
    e = cp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(x, w, b):
    d = x - x.mean(axis=1, keepdims=True)
    return d / cp.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + b


def squares(x):
    return (x * x).sum()


def columns(x):
    return x.sum(axis=0)


def rows(x):
    return x.sum(axis=1)


def arrays(*shapes):
    rng = cp.random.default_rng(1)
    return [rng.standard_normal(shape, dtype="f4") for shape in shapes]


N = 8192
WORKLOADS = [
    ("gelu + bias + residual 8192^2", gelu, arrays((N, N), (N,), (N, N)), 3 * N * N),
    ("softmax 16384x4096", softmax, arrays((16384, 4096)), 2 * 16384 * 4096),
    ("softmax 65536x1000", softmax, arrays((65536, 1000)), 2 * 65536 * 1000),
    ("layernorm 16384x4096", layernorm, arrays((16384, 4096), (4096,), (4096,)), 2 * 16384 * 4096),
    ("sum of squares 8192^2", squares, arrays((N, N)), N * N),
    ("column sum 8192^2", columns, arrays((N, N)), N * N),
    ("row sum 8192^2", rows, arrays((N, N)), N * N),
    ("x + y 8192^2", lambda x, y: x + y, arrays((N, N), (N, N)), 3 * N * N),
]


def back_to_back(function, args, rounds=7, calls=10):
    times = []
    for _ in range(rounds):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        for _ in range(calls):
            function(*args)
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end) * 1e3 / calls)
    return statistics.median(times)


def synchronised(function, args, rounds=30):
    times = []
    for _ in range(rounds):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        function(*args)
        cp.cuda.Device().synchronize()
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


def host(function, args, calls=200, rounds=15):
    times = []
    for _ in range(rounds):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            function(*args)
        times.append((time.perf_counter() - start) * 1e6 / calls)
    return statistics.median(times)


def copy_speed():
    x, y = arrays((N, N), (N, N))
    return 2 * x.nbytes / back_to_back(lambda: cp.copyto(y, x), ()) / 1e3  # GB/s


def main():
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    speed = copy_speed()
    print(f"{name}, CuPy {cp.__version__}, copy {speed:.0f} GB/s; microseconds")
    print(f"{'':32}{'first':>10}{'b2b':>9}{'of copy':>9}{'sync':>9}{'CuPy b2b':>10}{'sync':>9}")
    for label, function, args, elements in WORKLOADS:
        compiled = pycompile.compile(function)
        start = time.perf_counter()
        compiled(*args)
        cp.cuda.Device().synchronize()
        first = (time.perf_counter() - start) * 1e6
        floor = 4 * elements / speed / 1e3
        for _ in range(3):
            compiled(*args)
            function(*args)
        ours = back_to_back(compiled, args)
        print(
            f"{label:32}{first:10.0f}{ours:9.1f}{floor / ours:9.1%}{synchronised(compiled, args):9.1f}"
            f"{back_to_back(function, args):10.1f}{synchronised(function, args):9.1f}"
        )
        cp.get_default_memory_pool().free_all_blocks()
    x = cp.zeros(1, "f4")
    for label, function, args in [
        ("x + 1, one element: host", lambda x: x + 1, (x,)),
        (
            "x * y + z, 1000 elements: host",
            lambda x, y, z: x * y + z,
            arrays((1000,), (1000,), (1000,)),
        ),
    ]:
        compiled = pycompile.compile(function)
        for _ in range(50):
            compiled(*args)
            function(*args)
        print(f"{label:42}{host(compiled, args):9.2f}{'CuPy':>10}{host(function, args):9.2f}")
    np.testing.assert_allclose(softmax(x[None]).get(), 1)


if __name__ == "__main__":
    main()
