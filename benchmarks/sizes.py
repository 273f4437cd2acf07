"""How many plans functions need for a hundred sizes, and whether each size has NumPy's bits:
python -m benchmarks.sizes [--calls] [--only NAME] [--first SEED] [--why] [--steady CALLS] [--new].

The sizes are the same for all functions: 0, 1, primes, powers of two and random ones, two for each
call.  Columns: plans with `dynamic=None`, plans with `dynamic=True`, and how many of the calls ran
one.  With --why, a plan more than 2 and 1 is listed with what it was made for.  With --calls, one-line
functions (size_calls.py).  With --steady, calls of random sizes after 30 others, of which none may
compile anything.  With --new, how long the first call of a size takes, after 30 of others, beside the
next one, on other arrays of that size: medians over 200 sizes, with both values of `dynamic`."""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")
os.environ.setdefault("PYCOMPILE_WAIT", "1")
os.environ.setdefault("PYCOMPILE_SAMPLE", "0")
os.environ.setdefault("PYCOMPILE_RECOMPILE_LIMIT", "1000")

import numpy as np

import pycompile
from benchmarks import cases, size_calls

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import network
import options
import photo
import terrain
from timing import plain_of, same_bits

Make = Callable[[np.random.Generator, int, int], tuple[Any, ...]]
MOST = {None: 2, True: 1}
COUNT = 100
WARM = 30  # calls before those that may compile nothing
NEW = 200  # sizes of which the first call is timed
MOST_NEW = 2.0  # of the next call's time


def sizes(seed: int) -> list[tuple[int, int]]:
    """Pairs of lengths: each of the special ones with a random one, and random ones."""
    rng = np.random.default_rng(seed)
    special = (0, 1, 2, 3, 5, 7, 13, 31, 97, 127, 4, 8, 16, 32, 64, 128, 256)
    pairs = [(n, int(rng.integers(2, 60))) for n in special]
    pairs += [(int(rng.integers(2, 60)), m) for m in special]
    pairs += [(int(n), int(m)) for n, m in rng.integers(2, 60, (COUNT - len(pairs), 2))]
    rng.shuffle(pairs)
    return pairs


# ---- programs that people run with sizes that vary ----


def transformer_block(x, wq, wk, wv, wo, w1, w2, gain):
    def normalized(y):
        y = y - y.mean(axis=-1, keepdims=True)
        return y / np.sqrt((y * y).mean(axis=-1, keepdims=True) + 1e-5) * gain

    def heads(y):
        return y.reshape(*y.shape[:2], 4, y.shape[2] // 4).transpose(0, 2, 1, 3)

    y = normalized(x)
    q, k, v = heads(y @ wq), heads(y @ wk), heads(y @ wv)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores = scores / scores.sum(axis=-1, keepdims=True)
    x = x + (scores @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ wo
    return x + np.maximum(normalized(x) @ w1, 0) @ w2


def ragged(x, lengths):
    """Rows of which only the first so many elements count."""
    inside = np.arange(x.shape[1]) < lengths[:, None]
    kept = x[inside]
    kept = (kept - kept.sum() / max(kept.size, 1)) * 0.5
    total = np.where(inside, x, 0).sum(axis=1)
    full = np.nonzero(lengths == x.shape[1])[0]
    return kept, total / np.maximum(lengths, 1), total[full]


def smoothed(x, factor):
    """A loop that stays a loop."""
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = factor * y[i - 1] + (1 - factor) * x[i]
    return y


def made(n, m):
    """Lengths that are ints of the program's."""
    x = np.zeros((n, m))
    x += np.arange(m)
    return np.concatenate([x, np.ones((1, m))]) * 2


def of_loops(x, n):
    total = np.zeros(n)
    for i in range(n):
        total[i] = x[i] * i + n
    return total.sum()


def sorted_rows(x):
    return np.sort(x, axis=1)[:, ::-1] * 2 + 1


def halves(x):
    n = len(x) // 2
    return x[:n] + x[n : 2 * n]


def _cases() -> dict[str, tuple[Callable[..., Any], Make]]:
    def matrix(rng, n, m):
        return (rng.standard_normal((n, m)),)

    def block(rng, n, m):
        weights = [rng.standard_normal((16, 16)) / 4 for _ in range(4)]
        wide = rng.standard_normal((16, 32)) / 4, rng.standard_normal((32, 16)) / 4
        return (rng.standard_normal((n % 20, m, 16)), *weights, *wide, np.ones(16))

    def steps(rng, n, m):
        x = rng.standard_normal((n, 64))
        wanted = np.eye(10)[rng.integers(0, 10, n)]
        return (x, wanted, *network.weights(16), 0.5)

    def grid(rng, n, m):
        return (rng.random((n + 3, m + 3)),)

    def some(count):
        return lambda rng, n, m: tuple(rng.random((count, n)))

    def strikes(rng, n, m):
        return rng.uniform(1, 2, (n, 1)), rng.uniform(1, 2, (n, m)), 0.5, 0.04, rng.random((n, 1))

    def image(rng, n, m):
        return (rng.random((n + 3, m + 3, 3)).astype(np.float32),)

    def blending(rng, n, m):
        z = rng.random((n + 3, m + 3))
        return z[1:-1, 1:-1].copy(), z, terrain.LOW, terrain.HIGH

    def layers(rng, n, m):
        shapes = [(n, m), (m,), (m, 4)]
        return (*([rng.random(s) for s in shapes] for _ in range(4)), 1e-3, 10)

    def complex_plane(rng, n, m):
        return rng.uniform(-2, 0.6, (n, m)), rng.uniform(-1.3, 1.3, (n, m))

    found: dict[str, tuple[Callable[..., Any], Make]] = {
        "photo.tone_map": (photo.tone_map, lambda r, n, m: (*image(r, n, m), 1.1, 2.0, 1.2)),
        "photo.sharpen": (photo.sharpen, lambda r, n, m: (*image(r, n, m), 1.5)),
        "terrain.hill_shade": (
            terrain.hill_shade,
            lambda r, n, m: (*grid(r, n, m), 30.0, 30.0, 315.0, 45.0, 2.0),
        ),
        "terrain.blend": (terrain.blend, blending),
        "options.volatility": (options.volatility, lambda r, n, m: (1 + r.random(n + 30), 0.94)),
        "options.black_scholes": (options.black_scholes, strikes),
        "network.train_step": (network.train_step, steps),
        "network.predict": (
            network.predict,
            lambda r, n, m: (steps(r, n, m)[0], *network.weights(16)),
        ),
        "chain": (
            cases.chain,
            lambda r, n, m: (r.random((n, m)), r.random(m), r.random((n, m))),
        ),
        "layernorm": (
            cases.layernorm,
            lambda r, n, m: (r.random((n, m)), r.random(m), r.random(m)),
        ),
        "transpose_add": (cases.transpose_add, lambda r, n, m: (r.random((n, n)),)),
        "mlp": (
            cases.mlp,
            lambda r, n, m: (
                r.random((n, 8)),
                r.random((8, m)),
                r.random(m),
                r.random((m, 4)),
                np.ones(4),
            ),
        ),
        "small_150": (cases.small_150, some(4)),
        "tiny": (cases.tiny, some(2)),
        "jacobi": (cases.jacobi, grid),
        "jacobi_ten": (cases.jacobi_ten, grid),
        "wave_ten": (cases.wave_ten, lambda r, n, m: (*grid(r, n, m), *grid(r, n, m), 0.1)),
        "state": (cases.state, some(2)),
        "spectral": (
            cases.spectral,
            lambda r, n, m: (r.random((n + 1, m + 1)), r.random((n + 1, m + 1)), 2),
        ),
        "pairwise": (cases.pairwise, lambda r, n, m: (r.random((n, 3)), r.random((m, 3)))),
        "adam": (cases.adam, layers),
        "escape": (cases.escape, complex_plane),
        "recurrence": (cases.recurrence, lambda r, n, m: (r.random(n), np.zeros(n), 0.99, n)),
        "transformer_block": (transformer_block, block),
        "ragged": (
            ragged,
            lambda r, n, m: (r.random((n, m)), r.integers(0, m + 1, n)),
        ),
        "smoothed": (smoothed, lambda r, n, m: (r.random(n), 0.9)),
        "made": (made, lambda r, n, m: (n, m)),
        "of_loops": (of_loops, lambda r, n, m: (r.random(n), n)),
        "sorted_rows": (sorted_rows, matrix),
        "halves": (halves, lambda r, n, m: (r.random(n),)),
    }
    for each in ("softmax", "sum_all", "max_all", "mean_all", "masked_sums", "column_sum"):
        found[each] = (getattr(cases, each), matrix)
    return found


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    arrays = [arg for arg in args if isinstance(arg, np.ndarray | list)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args), arrays
        except Exception as error:
            return repr(error), arrays


def tried(name: str, dynamic: bool | None, pairs: list[tuple[int, int]]) -> tuple[Any, int]:
    """The compiled function after all calls, and how many of them differed."""
    plain, make = plain_of(CASES[name][0]), CASES[name][1]
    compiled = pycompile.compile(plain, dynamic=dynamic)
    differ = 0
    for number, (n, m) in enumerate(pairs):
        args = make(np.random.default_rng(number), n, m)
        mine = copy.deepcopy(args)
        if not same_bits(outcome(plain, args), outcome(compiled, mine)):
            differ += 1
            print(f"    {name} differs for {(n, m)}")
    return compiled, differ


def row(name: str, pairs: list[tuple[int, int]], why: bool) -> bool:
    cells, good = [], True
    for dynamic, most in MOST.items():
        pycompile.reset()
        pycompile.counters.reset()
        compiled, differ = tried(name, dynamic, pairs)
        stats = compiled.stats()
        good = good and not differ and stats["plans"] <= most
        cells.append(f"{stats['plans']:>6}{stats['plan_runs']:>6}")
        if why and stats["plans"] > most:
            for text, count in pycompile.counters["recompiles"].items():
                print(f"    {dynamic}: {count} x {text}")
    print(f"{name:<24}{''.join(cells)}{'' if good else '   *'}", flush=True)
    return good


def steady(name: str, calls: int) -> bool:
    """Do plans hold, or Python run what is empty, in all calls after the first ones?"""
    plain, make = plain_of(CASES[name][0]), CASES[name][1]
    pycompile.reset()
    compiled = pycompile.compile(plain)
    rng = np.random.default_rng(calls)
    failed = 0
    for number in range(WARM + calls):
        n, m = (int(i) for i in rng.integers(0, 60, 2))
        args = make(rng, n, m)
        mine = copy.deepcopy(args)
        with pycompile.set_stance("default" if number < WARM else "fail_on_recompile"):
            ours = outcome(compiled, mine)
        failed += not same_bits(outcome(plain, args), ours)
    stats = compiled.stats()
    print(f"{name:<24}{stats['plans']:>6}{stats['plan_runs']:>8}{failed:>8}", flush=True)
    return failed == 0


def timed(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    began = time.perf_counter()
    function(*args)
    return time.perf_counter() - began


def new_sizes(name: str, dynamic: bool | None) -> tuple[float, float]:
    """Seconds of the first call of a size, and of the next one: medians."""
    plain, make = plain_of(CASES[name][0]), CASES[name][1]
    pycompile.reset()
    compiled = pycompile.compile(plain, dynamic=dynamic)
    rng = np.random.default_rng(NEW)
    pairs = rng.permutation([(n, m) for n in range(4, 44) for m in range(4, 44)])
    calls = [(make(rng, int(n), int(m)), make(rng, int(n), int(m))) for n, m in pairs[: NEW + WARM]]
    for args, _ in calls[:WARM]:
        compiled(*args)
    times = [[timed(compiled, args) for args in both] for both in calls[WARM:]]
    first, second = (statistics.median(column) for column in zip(*times))
    return first, second


def new_row(name: str) -> bool:
    cells, good = [], True
    for dynamic in MOST:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = new_sizes(name, dynamic)
        good = good and first <= MOST_NEW * second
        cells.append(f"{first * 1e6:>9.1f}{second * 1e6:>9.1f}{first / second:>7.2f}")
    print(f"{name:<24}{''.join(cells)}{'' if good else '   *'}", flush=True)
    return good


CASES = _cases()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", action="store_true", help="one-line functions")
    parser.add_argument("--only", nargs="*", help="names of functions")
    parser.add_argument("--first", type=int, default=0, help="the seed of the sizes")
    parser.add_argument("--why", action="store_true", help="list the recompiles")
    parser.add_argument("--steady", type=int, default=0, help="calls that compile nothing")
    parser.add_argument("--new", action="store_true", help="time the first call of a size")
    asked = parser.parse_args()
    if asked.calls:
        CASES.clear()
        CASES.update(size_calls.cases())
    asked.only = asked.only or list(CASES)
    if asked.steady:
        print(f"{'function':<24}{'plans':>6}{'runs':>8}{'failed':>8}")
        bad = sum(not steady(name, asked.steady) for name in asked.only)
        print(f"{bad} of {len(asked.only)} functions were to be compiled again")
        return bad > 0
    if asked.new:
        both = f"{'first us':>9}{'next us':>9}{'ratio':>7}"
        print(f"{'function':<24}{both}{both}")
        bad = sum(not new_row(name) for name in asked.only)
        print(f"{bad} of {len(asked.only)} functions take more than {MOST_NEW} times as long")
        return bad > 0
    print(f"{'function':<24}{'None':>6}{'runs':>6}{'True':>6}{'runs':>6}")
    bad = sum(not row(name, sizes(asked.first), asked.why) for name in asked.only)
    print(f"{bad} of {len(asked.only)} functions need more plans, or have other bits")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
