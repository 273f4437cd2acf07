"""CuPy arrays on a CUDA device: the time of compiled functions, of CuPy, and of a copy of as many bytes.

    python benchmarks/gpu.py [--peers torch,graphs,jax,fuse]

JAX would take most of the device's memory at its start, unless XLA_PYTHON_CLIENT_PREALLOCATE is false.

gpu_clock.py says what "b2b", "events", "sync" and "host" are; "cold" and "warm": the first call in a
process of its own, with an empty disk cache and with one that has the kernels."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cupy as cp
from cupyx.scipy import special

os.environ.setdefault("PYCOMPILE_WAIT", "1")

import pycompile  # noqa: E402
from benchmarks.gpu_clock import back_to_back, host, times_of
from benchmarks.gpu_peers import PEERS, alternate, time_program


def programs(xp):
    """The workloads, written for an array library with NumPy's names."""

    def gelu(x, b, r):
        y = x + b
        return 0.5 * y * (1 + xp.tanh(0.7978845608 * (y + 0.044715 * y * y * y))) + r

    def softmax(x):
        e = xp.exp(x - xp.amax(x, axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def layernorm(x, w, b):
        d = x - x.mean(axis=1, keepdims=True)
        return d / xp.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + b

    def squares(x):
        return (x * x).sum()

    def columns(x):
        return x.sum(axis=0)

    def rows(x):
        return x.sum(axis=1)

    def add(x, y):
        return x + y

    def turned(x, r):
        return x.T + r

    def small(x):
        for _ in range(50):
            x = x * 0.99 + 0.01
            x = xp.sqrt(x)
        return x

    def add_one(x):
        return x + 1

    def places(x):
        return x.argmax(axis=1)

    def running_rows(x):
        return x.cumsum(axis=1)

    def running_columns(x):
        return x.cumsum(axis=0)

    def adam(params, means, squares, gradients):
        made = []
        for k in range(TENSORS):
            p, m, v, g = params[k], means[k], squares[k], gradients[k]
            m = m * 0.9 + g * 0.1
            v = v * 0.999 + g * g * 0.001
            made += [p - 0.001 * m / (xp.sqrt(v) + 1e-8), m, v]
        return made

    return locals()


def arrays(*shapes):
    """An array for a shape, a list of arrays for a list of shapes."""
    rng = cp.random.default_rng(1)

    def make(shape):
        if isinstance(shape, list):
            return [make(one) for one in shape]
        return abs(rng.standard_normal(shape, dtype="f4"))

    return [make(shape) for shape in shapes]


N = 8192
TENSORS, ELEMENTS = 60, 1 << 16
WORKLOADS = [  # label, program, shapes, float32 elements read and written
    ("gelu + bias + residual 8192^2", "gelu", [(N, N), (N,), (N, N)], 3 * N * N),
    ("softmax 16384x4096", "softmax", [(16384, 4096)], 2 * 16384 * 4096),
    ("softmax 65536x1000", "softmax", [(65536, 1000)], 2 * 65536 * 1000),
    ("layernorm 16384x4096", "layernorm", [(16384, 4096), (4096,), (4096,)], 2 * 16384 * 4096),
    ("sum of squares 8192^2", "squares", [(N, N)], N * N),
    ("column sum 8192^2", "columns", [(N, N)], N * N),
    ("row sum 8192^2", "rows", [(N, N)], N * N),
    ("argmax of rows 8192^2", "places", [(N, N)], N * N),
    ("cumsum of rows 8192^2", "running_rows", [(N, N)], 2 * N * N),
    ("cumsum of columns 8192^2", "running_columns", [(N, N)], 2 * N * N),
    ("x + y 8192^2", "add", [(N, N), (N, N)], 3 * N * N),
    ("x.T + r 8192^2", "turned", [(N, N), (N, N)], 3 * N * N),
    ("150 operations, 1024 elements", "small", [(1024,)], 2 * 1024),
    ("x + 1, one element", "add_one", [(1,)], 2),
    ("Adam, 60 tensors of 64k", "adam", [[(ELEMENTS,)] * TENSORS] * 4, 7 * TENSORS * ELEMENTS),
]


PAGE = """# On a GPU

The same decorator compiles functions of CuPy's arrays (experimental). It needs CuPy 14, a driver for CUDA 12
or later, and NVRTC; `python -m pycompile info` says what is there.

```py
@pycompile.compile
def gelu(x, bias, residual):  # cupy.ndarrays: one CUDA kernel
    y = x + bias
    return 0.5 * y * (1 + cp.tanh(0.7978845608 * (y + 0.044715 * y * y * y))) + residual
```

| what | how |
|---|---|
| elementwise operations, reductions (`argmax` too), cumulative sums and products, views, in-place writes | fused kernels, for any strides; bfloat16 too, by `ml_dtypes` |
| linear algebra, sorting, joining, complex numbers and the like | CuPy's own functions, called between the kernels of a plan |
| matrix products of float32, float16, bfloat16 | cuBLASLt's (of the system, or the package `nvidia-cublas`), with a row or matrix that is added, `maximum(..., 0)` or the gelu with tanh; an element is rounded once, where CuPy rounds float16 after each operation; without cuBLASLt CuPy's. `mode="max-autotune"` times its algorithms and keeps the fastest |
| attention, plainly written: `softmax(q @ k.swapaxes(-1, -2) * s) @ v` in float16 or bfloat16, head size 64, on Hopper also 32 and 128, with any elementwise mask or bias | one kernel, which skips keys that a mask hides as a whole: a NaN among their values does not spread |
| its gradient, with head size 64 (`pycompile.value_and_grad`) | kernels that make the weights again: no matrix of scores is in memory |
| elements by arrays of integers: `x[i]`, `take` | read in the kernels |
| `x[mask] = number` | a kernel |
| `x[i] = v` | the only write of its graph; of several values for one place the last stays, as in NumPy |
| other parts by masks | not compiled yet: CuPy runs them, and the code between them is compiled |

The bits of elementwise results are CuPy's; [inside/why/devices.md](inside/why/devices.md) says what holds for
sums, products and attention.

## Speed

Written by `make bench-gpu`, in microseconds. *cold* and *warm* are the first call in a process whose first
kernel is behind it, with an empty disk cache (NVRTC's own cache is off) and with one that has the kernels;
*b2b* a call in a row of calls, by the device's clock; *of copy* the bytes that have to move, by the bandwidth
of a copy; *events* a call between two events, by the device's clock; *sync* a call with a wait for the device
on both sides, by the host's; *host* how long a short call keeps the host. The peers are torch.compile, by
default and with CUDA graphs (`mode="reduce-overhead"`), JAX's `jit` and, where it can run the program, CuPy's
`fuse`. JAX has streams of its own, so that its times are the host's. Adam takes four lists of 60 arrays and
gives a list of 180. Attention is written plainly, with two products and a softmax; torch's is
`scaled_dot_product_attention`. CuPy has no batched products of bfloat16: the benchmark gives it one, so that
the program can be captured; the compiled one does not call it. The multi-layer perceptron (4096 by 4096, then
16384 and 4096 columns) and the transformer's block are written plainly with matrix products, which are
cuBLASLt's with what is done with their elements; in torch with its functions for layernorm, attention and
gelu. Both timings of them: in a row of calls, and with a wait. *max-autotune* is the `mode` of either
library.
"""

NOTES = """What the host does takes longer on some machines than on others with the same card (torch's and JAX's calls as
well): in ten runs on ten machines `x + 1` had 2.1 to 4.0 us of host time, the 150 operations 2.3 to 4.1 and
Adam 41 to 75. A third of Adam's is in the C library, most of it `malloc` and `free`: we take them for those
of the two vectors that each of CuPy's arrays has. The block was 429 to 456 us in a row of calls, 458 to 492
with a wait: products 304, of which the gelu's 107, attention 92, the two layernorms 24. The block's first
call was 353 to 770 ms with an empty cache, 99 to 171 with a warm one: 85 to 128 of them are cuBLASLt's first
product in a process, measured by itself, whether its heuristic is asked (90 and 3) or the algorithm is known
(0 and 114). First calls with an empty cache of CuPy's own kernels may wait for CuPy, too: it compiles what a
trial call needs ([devices.md](inside/why/devices.md)).

A training step of the block (8 by 1024 by 1024): `value_and_grad` of a mean square and Adam, with torch's by
torch.compile and its fused Adam in turns; microseconds in a row of calls, and with a wait.

```text
NVIDIA H200, CuPy 14.2.0, torch 2.11.0
transformer block 8x1024x1024 f16         default 418.6, 431.4; torch default 473.1, 561.4
training step of the block, Adam, f16     ours 2147.5, 2180.8; torch 2613.7, 2481.7
training step of the block, Adam, bf16    ours 2198.3, 2319.1; torch 3193.2, 3185.0
```
"""


def copy_speed():
    x, y = arrays((N, N), (N, N))
    return 2 * x.nbytes / back_to_back(lambda: cp.copyto(y, x), ()) / 1e3  # GB/s


def attention(q, k, v, causal, xp=cp):
    """Written plainly: 16-bit factors, whatever dtype is between them."""
    s = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        i = xp.arange(s.shape[-1])
        s = xp.where(i[:, None] >= i, s, -xp.inf)
    e = xp.exp(s - s.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(v.dtype) @ v


def bfloat16():
    import ml_dtypes

    return ml_dtypes.bfloat16


def product_of_bfloats(a, b, product=cp.ndarray.__matmul__):
    """What CuPy 14 has for two dimensions only."""
    if a.dtype != bfloat16() or a.ndim <= 2:
        return product(a, b)
    return product(a.astype("f4"), b.astype("f4")).astype(a.dtype)


def tell_attention(tell, causal, head, dtype, peers):
    """TFLOP/s: two products of a multiplication and an addition each, half of them where causal."""
    batch, heads, length = 8, 1024 // head, 1024
    args = [x.astype(dtype) for x in arrays(*[(batch, heads, length, head)] * 3)]
    work = 4 * batch * heads * length * length * head / (2 if causal else 1)
    pycompile.reset()  # of one function, of which more plans than this would not be kept
    compiled = pycompile.compile(lambda q, k, v: attention(q, k, v, causal))
    for _ in range(4):
        compiled(*args)
    ours = back_to_back(compiled, args)
    row = f"{'causal ' if causal else ''}attention 8x{heads}x1024x{head} {name_of(dtype)}"
    row = f"{row:42}{ours:9.1f} us {work / ours / 1e6:7.0f} TFLOP/s"
    if "torch" in peers:
        import torch.nn.functional as functional

        taken = [peers["torch"].take(x) for x in args]
        theirs = back_to_back(
            lambda *a: functional.scaled_dot_product_attention(*a, is_causal=causal), taken
        )
        row += f"; torch {theirs:9.1f} us {work / theirs / 1e6:7.0f} TFLOP/s"
    tell(row)


def name_of(dtype):
    return "f16" if dtype == "f2" else "bf16"


def gelu_of(y, erf, xp=cp):
    if erf is not None:
        return 0.5 * y * (1 + erf(y * 0.7071067811865476))
    return 0.5 * y * (1 + xp.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))


MODES = "default", "max-autotune"


def tell_perceptron(tell, by_erf, peers):
    rows, inner = 4096, 16384
    rng = cp.random.default_rng(1)
    shapes = [(rows, rows), (rows, inner), (inner,), (inner, rows)]
    args = [(0.02 * rng.standard_normal(shape, dtype="f4")).astype(bfloat16()) for shape in shapes]

    def perceptron(x, w, b, v, erf=special.erf if by_erf else None, xp=cp):
        return gelu_of((x @ w + b).astype("f4"), erf, xp).astype(x.dtype) @ v

    entries = [(mode, pycompile.compile(perceptron, mode=mode), args) for mode in MODES]
    if "torch" in peers:
        import torch
        import torch.nn.functional as functional

        kind = "none" if by_erf else "tanh"
        taken = [peers["torch"].take(x) for x in args]

        def other(x, w, b, v):
            return functional.gelu(x @ w + b, approximate=kind) @ v

        for mode in MODES:
            theirs = torch.compile(other, dynamic=False, mode=mode)
            entries.append((f"torch {mode}", theirs, taken))
        ours = torch.from_dlpack(entries[0][1](*args).astype("f4"))
        assert (theirs(*taken).float() - ours).abs().max() < 0.05
    if "jax" in peers:
        from jax.scipy.special import erf

        jax, by = peers["jax"], erf if by_erf else None
        theirs = jax.compile(lambda x, w, b, v: perceptron(x, w, b, v, by, jax.xp))
        entries.append(("jax", theirs, [jax.take(x) for x in args], jax))
    tell(f"{'MLP 4096 bf16, gelu by ' + ('erf' if by_erf else 'tanh'):42}{alternate(entries)}")


HEADS, HEAD = 16, 64


def normalised(x, weight, bias, xp=cp):
    """Rows of 16-bit floats, computed with in float32."""
    wide = x.astype("f4")
    d = wide - wide.mean(axis=-1, keepdims=True)
    made = d / xp.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5) * weight + bias
    return made.astype(x.dtype)


def block(x, w_qkv, w_out, w_up, b_up, w_down, b_down, g1, b1, g2, b2, xp=cp):
    """A transformer's block: attention and two layers, each behind a layernorm, with residuals."""
    batch, length, width = x.shape
    rows = x.reshape(batch * length, width)
    qkv = (normalised(rows, g1, b1, xp) @ w_qkv).reshape(batch, length, 3, HEADS, HEAD)
    q, k, v = (qkv[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
    mixed = attention(q, k, v, False, xp).transpose(0, 2, 1, 3).reshape(batch * length, width)
    rows = rows + mixed @ w_out
    y = (normalised(rows, g2, b2, xp) @ w_up + b_up).astype("f4")
    y = gelu_of(y, None, xp).astype(x.dtype)
    return (rows + y @ w_down + b_down).reshape(batch, length, width)


def torch_block(x, w_qkv, w_out, w_up, b_up, w_down, b_down, g1, b1, g2, b2):
    import torch.nn.functional as functional

    batch, length, width = x.shape
    h = functional.layer_norm(x, (width,), g1.to(x.dtype), b1.to(x.dtype))
    qkv = (h @ w_qkv).reshape(batch, length, 3, HEADS, HEAD)
    q, k, v = (qkv[:, :, part].transpose(1, 2) for part in range(3))
    mixed = functional.scaled_dot_product_attention(q, k, v)
    x = x + mixed.transpose(1, 2).reshape(batch, length, width) @ w_out
    h = functional.layer_norm(x, (width,), g2.to(x.dtype), b2.to(x.dtype))
    y = functional.gelu(h @ w_up + b_up, approximate="tanh")
    return x + y @ w_down + b_down


def block_arguments():
    batch, length, width = BLOCK
    shapes = [(width, 3 * width), (width, width), (width, 4 * width)]
    shapes += [(4 * width,), (4 * width, width), (width,)]
    rng = cp.random.default_rng(1)
    args = [rng.standard_normal((batch, length, width), dtype="f4").astype("f2")]
    args += [(0.02 * rng.standard_normal(shape, dtype="f4")).astype("f2") for shape in shapes]
    return args + [rng.standard_normal(width, dtype="f4") for _ in range(4)]


BLOCK = 8, 1024, HEADS * HEAD


def tell_block(tell, peers, modes=MODES):
    args = block_arguments()
    entries = [(mode, pycompile.compile(block, mode=mode), args) for mode in modes]
    if "torch" in peers:
        import torch

        taken = [torch.from_dlpack(x) for x in args]
        for mode in modes:
            theirs = torch.compile(torch_block, dynamic=False, mode=mode)
            entries.append((f"torch {mode}", theirs, taken))
        made = entries[0][1](*args)
        assert abs(cp.from_dlpack(theirs(*taken).clone()) - made).max() < 0.1
    if "jax" in peers:
        jax = peers["jax"]
        theirs = jax.compile(lambda *args: block(*args, xp=jax.xp))
        entries.append(("jax", theirs, [jax.take(x) for x in args], jax))
    tell(f"{'transformer block {}x{}x{} f16'.format(*BLOCK):42}{alternate(entries)}")


def loss(params, x, target):
    d = block(x, *params).astype("f4") - target
    return (d * d).mean()


def training_step(params, means, squares, x, target):
    """Forward, backward and Adam, whose means are float32."""
    value, gradients = pycompile.value_and_grad(loss)(params, x, target)
    for i in range(len(params)):
        g = gradients[i].astype("f4")
        means[i] *= 0.9
        means[i] += 0.1 * g
        squares[i] *= 0.999
        squares[i] += 0.001 * g * g
        params[i] -= (1e-4 * means[i] / (cp.sqrt(squares[i]) + 1e-8)).astype(params[i].dtype)
    return value


def torch_training_step(x, params, target):
    """The same by torch.compile and torch's fused Adam, and its arguments: none."""
    import torch

    params = [torch.nn.Parameter(each) for each in params]
    adam = torch.optim.Adam(params, lr=1e-4, fused=True)

    def of_block():
        d = torch_block(x, *params).float() - target
        return (d * d).mean()

    compiled = torch.compile(of_block, dynamic=False)

    def step():
        adam.zero_grad(set_to_none=True)
        value = compiled()
        value.backward()
        adam.step()
        return value

    return step, []


def tell_training(tell, dtype, peers):
    kind = cp.dtype(dtype)
    x, *params = [a.astype(kind) if a.dtype == cp.float16 else a for a in block_arguments()]
    target = cp.random.default_rng(3).standard_normal(x.shape, dtype="f4")
    entries = []
    if "torch" in peers:
        take = peers["torch"].take
        taken = [take(each).clone() for each in params]
        entries.append(("torch", *torch_training_step(take(x), taken, take(target))))
    moments = [[cp.zeros(p.shape, "f4") for p in params] for _ in range(2)]
    step = pycompile.compile(training_step, fullgraph=True)
    entries.insert(0, ("ours", step, [params, *moments, x, target]))
    label = "training step of the block, Adam, " + name_of(dtype)
    tell(f"{label:42}{alternate(entries)}")


def tell_store(tell, speed):
    """Rows stored by integers."""
    rows = N // 2
    x, v = arrays((N, N), (rows, N))
    i = cp.random.default_rng(1).integers(0, N, rows)

    def store(x, i, v):
        x[i] = v

    compiled = pycompile.compile(store)
    for _ in range(4):
        compiled(x, i, v)
    ours, theirs = back_to_back(compiled, (x, i, v)), back_to_back(store, (x, i, v))
    share = 2 * v.nbytes / speed / 1e3 / ours
    tell(
        f"{'x[i] = v, 4096 rows of 8192':42}{ours:9.1f} us {share:7.1%} of copy; CuPy {theirs:9.1f} us"
    )


# ---- first calls, in a process of its own ----


def tell_first_calls():
    """The microseconds of each workload's first call and the block's, a line each."""
    x = cp.arange(8, dtype="f4")
    pycompile.compile(lambda x: x + x)(x)
    for label, program, shapes, _ in WORKLOADS:
        args = arrays(*shapes)
        print(first_call(pycompile.compile(programs(cp)[program]), args), label, flush=True)
        del args
        cp.get_default_memory_pool().free_all_blocks()
    print(first_call(pycompile.compile(block), block_arguments()), "block", flush=True)


def first_call(function, args):
    cp.cuda.Device().synchronize()
    start = time.perf_counter()
    function(*args)
    cp.cuda.Device().synchronize()
    return (time.perf_counter() - start) * 1e6


def first_calls():
    """By label: with an empty cache, and with what that has left in it."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYCOMPILE_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "1"}
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-P", __file__, "--first"],
                env=env,
                capture_output=True,
                text=True,
                check=True,
            )
            for line in done.stdout.splitlines():
                time_of, label = line.split(" ", 1)
                found.setdefault(label, []).append(float(time_of))
    return found


def tell_peers(tell, peers):
    """The peers' times of the same programs."""
    if peers:
        tell(
            f"\n{'':32}" + "".join(f"{name + ' b2b':>12}{'events':>9}{'sync':>9}" for name in peers)
        )
    for label, program, shapes, _ in WORKLOADS if peers else ():
        args = arrays(*shapes)
        times = [time_program(peer, programs(peer.xp)[program], args) for peer in peers.values()]
        tell(f"{label:32}" + "".join("{:12.1f}{:9.1f}{:9.1f}".format(*three) for three in times))
        del args
        cp.get_default_memory_pool().free_all_blocks()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default="", help=f"compare with these: {', '.join(PEERS)}")
    parser.add_argument("--first", action="store_true", help="times of first calls alone")
    parser.add_argument("--write", metavar="FILE", help="the table as Markdown")
    options = parser.parse_args()
    if options.first:
        tell_first_calls()
        return
    names = [name for name in options.peers.split(",") if name]
    if unknown := set(names) - set(PEERS):
        parser.error(f"no peers {unknown}: {', '.join(PEERS)}")
    lines = []

    def tell(line):
        print(line, flush=True)
        lines.append(line)

    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    speed = copy_speed()
    first = first_calls()
    tell(f"{name}, CuPy {cp.__version__}, copy {speed:.0f} GB/s; microseconds")
    rows = [
        f"{'':32}{'cold':>9}{'warm':>8}{'b2b':>9}{'of copy':>9}{'events':>9}{'sync':>9}{'host':>7}"
        f"{'CuPy b2b':>12}{'events':>9}{'sync':>9}"
    ]
    for label, program, shapes, elements in WORKLOADS:
        args = arrays(*shapes)
        plain = programs(cp)[program]
        compiled = pycompile.compile(plain)
        for _ in range(12):
            compiled(*args)
        for _ in range(3):
            plain(*args)
        ours, events, sync = times_of(compiled, args)
        cold, warm = first[label]
        share = 4 * elements / speed / 1e3 / ours
        row = f"{label:32}{cold:9.0f}{warm:8.0f}{ours:9.1f}{share:9.1%}{events:9.1f}{sync:9.1f}"
        short = elements < N or program == "adam"
        row += f"{host(compiled, args) if short else 0:7.2f}"
        row += "{:12.1f}{:9.1f}{:9.1f}".format(*times_of(plain, args))
        print(row, flush=True)
        rows.append(row)
        del args
        cp.get_default_memory_pool().free_all_blocks()
    for row in rows:
        tell(row)
    peers = {name: PEERS[name]() for name in names}  # whose threads would disturb the others
    tell_peers(tell, peers)
    tell_store(tell, speed)
    tell_block(tell, peers)
    tell("first call of the block: {:.0f} cold, {:.0f} warm".format(*first["block"]))
    cp.ndarray.__matmul__ = product_of_bfloats
    for dtype in ("f2", bfloat16()):
        tell_training(tell, dtype, peers)
        for head in (64, 128):
            for causal in (False, True):
                tell_attention(tell, causal, head, dtype, peers)
    for by_erf in (False, True):
        tell_perceptron(tell, by_erf, peers)
    if options.write:
        table = "\n".join(line.rstrip() for line in lines)
        page = Path(options.write)
        _, title, behind = page.read_text().partition("\n## Two GPUs\n")  # of gpu_ranks.py
        page.write_text(f"{PAGE}\n```text\n{table}\n```\n\n{NOTES}{title}{behind}")


if __name__ == "__main__":
    main()
