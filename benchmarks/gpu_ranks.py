"""Two CUDA devices, a process each: all-reduce within a plan, and a training step.

    python benchmarks/gpu_ranks.py [--torch]

An all-reduce is timed as what a plan takes longer with it than without, beside NCCL's own by itself, by turns;
COUNT small ones, too, beside NCCL's one by one and in one group.  The training step is that of
tests/gpu/ranks.py, with a batch on each of two devices, and one of twice the size on one; products are TF32.
torch's is the same model by DistributedDataParallel and torch.compile, with its fused Adam; both compile for
each batch (`dynamic=False`), as for a program that has one.  Times are of the host around CALLS calls, in
microseconds, the median of ROUNDS."""

import functools
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

WIDTH, LAYERS, BATCHES = 4096, 4, (8192, 16384)
CALLS, ROUNDS = 10, 9
SIZES = [1 << n for n in range(20, 31, 2)]
COUNT, SMALL = 60, 1 << 16


def times_of(functions, wait, together, calls=CALLS):
    """The time of a call of each, by turns, where both ranks begin `together`."""
    times = [[] for _ in functions]
    for function in functions * 3:
        function()
    for _ in range(ROUNDS):
        for function, told in zip(functions, times, strict=True):
            wait()
            together()
            begin = time.perf_counter()
            for _ in range(calls):
                function()
            wait()
            told.append((time.perf_counter() - begin) * 1e6 / calls)
    return [statistics.median(told) for told in times]


def time_of(function, wait, together):
    return times_of([function], wait, together)[0]


def tell_step(tell, whose, batch, two, one, rest=""):
    tell(
        f"training step, {whose:5}   two devices, {batch:5} each {two:9.1f}   one, {2 * batch:5} "
        f"{one:9.1f}: {one / two:.2f} times{rest}"
    )


# ---- ours ----


def tell_sizes(comm, tell):
    import cupy as cp

    import pycompile

    def with_it(x):
        y = -x
        comm.all_reduce(y, y)
        return y

    def without(x):
        return -x

    wait = cp.cuda.Device().synchronize
    compiled = [pycompile.compile(f, fullgraph=True) for f in (with_it, without)]
    token = cp.zeros(1, "f4")
    for size in SIZES:
        x = cp.ones(size // 4, "f4")
        y = cp.empty_like(x)
        calls = 200 if size < 1 << 24 else CALLS
        functions = [
            lambda x=x, y=y: comm.all_reduce(x, y),
            lambda x=x: compiled[0](x),
            lambda x=x: compiled[1](x),
        ]
        together = functools.partial(comm.all_reduce, token, token)
        nccl, plan, alone = times_of(functions, wait, together, calls)
        plan -= alone
        tell(
            f"all-reduce {size >> 20:5} MiB   NCCL {nccl:8.1f}   in a plan {plan:8.1f}, "
            f"{nccl / plan:6.1%} of its rate"
        )


def tell_small(comm, tell):
    """A plan groups none: ranks whose calls run in Python send them one by one."""
    import cupy as cp
    from cupy.cuda import nccl

    import pycompile

    def with_them(xs):
        ys = [-x for x in xs]
        for y in ys:
            comm.all_reduce(y, y)
        return ys

    def without(xs):
        return [-x for x in xs]

    def one_by_one():
        for x in xs:
            comm.all_reduce(x, x)

    def in_a_group():
        nccl.groupStart()
        one_by_one()
        nccl.groupEnd()

    xs = [cp.zeros(SMALL // 4, "f4") for _ in range(COUNT)]
    compiled = [pycompile.compile(f, fullgraph=True) for f in (with_them, without)]
    functions = [one_by_one, in_a_group, *(lambda f=f: f(xs) for f in compiled)]
    together = functools.partial(comm.all_reduce, xs[0], xs[0])
    wait = cp.cuda.Device().synchronize
    single, group, plan, alone = times_of(functions, wait, together, 50)
    tell(
        f"{COUNT} all-reduces of {SMALL >> 10} KiB   NCCL {single:8.1f}, in a group {group:8.1f}   "
        f"in a plan {plan - alone:8.1f}, {single / (plan - alone):6.1%} of its rate"
    )


def step_time(reduce, batch, wait, together):
    import cupy as cp
    import ranks

    import pycompile

    params = ranks.weights([WIDTH] * (LAYERS + 1))
    state = [params, *([cp.zeros_like(w) for w in params] for _ in range(2))]
    data = [ranks.values(batch, WIDTH, seed=n) for n in range(2)]
    step = pycompile.compile(ranks.training_step(reduce), fullgraph=True, dynamic=False)
    return time_of(lambda: step(*state, *data), wait, together)


def ours(rank, port):
    import cupy as cp
    from cupyx.distributed import NCCLBackend

    cp.cuda.Device(rank).use()
    comm = NCCLBackend(2, rank, port=port)
    tell = print if rank == 0 else lambda text: None
    wait = cp.cuda.Device().synchronize
    token = cp.zeros(1, "f4")
    tell_sizes(comm, tell)
    tell_small(comm, tell)

    def together():
        comm.all_reduce(token, token)
        wait()

    for batch in BATCHES:
        two = step_time(lambda g: comm.all_reduce(g, g), batch, wait, together)
        none = step_time(lambda g: None, batch, wait, together)
        one = step_time(lambda g: None, 2 * batch, wait, together)
        tell_step(tell, "ours", batch, two, one, f"   without all-reduce {none:9.1f}")
    comm.barrier()


# ---- torch's ----


def torchs(rank, port):
    import torch
    from torch import distributed, nn
    from torch.nn.parallel import DistributedDataParallel

    torch.backends.cuda.matmul.allow_tf32 = True
    torch.cuda.set_device(rank)
    address = f"tcp://127.0.0.1:{port}"
    distributed.init_process_group("nccl", init_method=address, rank=rank, world_size=2)

    class Perceptron(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, False) for _ in range(LAYERS))

        def forward(self, x):
            for layer in self.layers[:-1]:
                x = torch.tanh(layer(x))
            return self.layers[-1](x)

    def timed(model, batch):
        model = torch.compile(model, dynamic=False)
        adam = torch.optim.Adam(model.parameters(), 0.01, fused=True)
        x, y = torch.randn(2, batch, WIDTH, device="cuda")

        def step():
            adam.zero_grad(set_to_none=True)
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            adam.step()
            return loss

        return time_of(step, torch.cuda.synchronize, distributed.barrier)

    for batch in BATCHES:
        two = timed(DistributedDataParallel(Perceptron().cuda(), device_ids=[rank]), batch)
        one = timed(Perceptron().cuda(), 2 * batch)
        tell_step(print if rank == 0 else lambda text: None, "torch", batch, two, one)
    distributed.barrier()
    distributed.destroy_process_group()


def spawn(which):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "PYCOMPILE_WAIT": "1", "CUPY_TF32": "1"}
    command = [sys.executable, "-P", __file__, which, str(port)]
    ranks = [subprocess.Popen([*command, str(rank)], env=env) for rank in (0, 1)]
    for rank in ranks:
        rank.wait()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "gpu"))  # for ranks
    if len(sys.argv) == 4:
        {"ours": ours, "torch": torchs}[sys.argv[1]](int(sys.argv[3]), int(sys.argv[2]))
    else:
        spawn("ours")
        if "--torch" in sys.argv:
            spawn("torch")
