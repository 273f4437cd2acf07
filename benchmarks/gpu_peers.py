"""What benchmarks/gpu.py compares with: compilers of other array libraries over the same memory, and CuPy's own
`fuse`, which has elementwise functions and single reductions."""

import statistics
import time

import cupy as cp

from benchmarks.gpu_clock import back_to_back, synchronised, times_of


class Torch:
    """`mode` is torch.compile's: "reduce-overhead" launches CUDA graphs."""

    def __init__(self, mode):
        import torch

        self.xp, self.mode = torch, mode

    def compile(self, function):
        return self.xp.compile(function, dynamic=False, mode=self.mode)

    def take(self, array):
        if array.dtype.kind == "V":  # bfloat16, which DLPack has no name for
            return self.xp.from_dlpack(array.view("u2")).view(self.xp.bfloat16)
        return self.xp.from_dlpack(array)

    def times(self, function, args):
        return times_of(function, args)


class Jax:
    """It launches from a thread and on streams of its own: all its times are the host's."""

    def __init__(self):
        import jax
        import jax.numpy as jnp

        self.jax, self.xp = jax, jnp

    def compile(self, function):
        return self.jax.jit(function)

    def take(self, array):
        return self.xp.asarray(array.get())

    def waiting(self, function):
        """A call that ends when its results are there."""
        return lambda *args: self.jax.block_until_ready(function(*args))

    def back_to_back(self, function, args, rounds=7, calls=10):
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            for _ in range(calls):
                made = function(*args)
            self.jax.block_until_ready(made)
            times.append((time.perf_counter() - start) * 1e6 / calls)
        return statistics.median(times)

    def times(self, function, args):
        sync = synchronised(self.waiting(function), args)
        return self.back_to_back(function, args), float("nan"), sync


class Fuse:
    xp = cp

    def compile(self, function):
        return cp.fuse(function)

    def take(self, array):
        return array

    def times(self, function, args):
        return times_of(function, args)


PEERS = {
    "torch": lambda: Torch("default"),
    "graphs": lambda: Torch("reduce-overhead"),
    "jax": Jax,
    "fuse": Fuse,
}


def time_program(peer, function, args):
    """(back to back, between events, with a wait) in microseconds; NaN where the peer cannot run it."""
    taken = [
        [peer.take(one) for one in array] if isinstance(array, list) else peer.take(array)
        for array in args
    ]
    compiled = peer.compile(function)
    try:
        for _ in range(4):
            compiled(*taken)
    except Exception as error:
        if not isinstance(peer, Fuse):
            raise
        print(f"fuse cannot run {function.__name__}: {error}", flush=True)
        return (float("nan"),) * 3
    return peer.times(compiled, taken)


def alternate(entries, rounds=7):
    """ "label b2b, sync; …" for (label, function, args), or of JAX's (label, function, args, peer), measured
    in turns: long products warm the device, which is then slower."""
    times = {entry[0]: ([], []) for entry in entries}
    for _, function, args, *_ in entries:
        for _ in range(4):
            function(*args)
    for _ in range(rounds):
        for label, function, args, *peer in entries:
            row, wait = back_to_back, function
            if peer:
                row, wait = peer[0].back_to_back, peer[0].waiting(function)
            times[label][0].append(row(function, args, rounds=1))
            times[label][1].append(synchronised(wait, args, rounds=5))
    return "; ".join(
        f"{label} {statistics.median(alone):.1f}, {statistics.median(sync):.1f}"
        for label, (alone, sync) in times.items()
    )
