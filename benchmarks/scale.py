"""A function over chunks in Dask, with 1, 2 and more workers: plain, compiled, with an image, Numba.

    python -m benchmarks.scale [--workers 1 2] [--chunks 64] [--rows 2000]

Workers are new for each row and have one empty cache folder.  `first` is the first pass over the chunks,
which lie in the workers' memory, `later` the best of five more.  `lost` is what the workers, all together,
have spent in compiles during the first pass and before it, waiting for each other included; `compiles` are
the runs of the C compiler among them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from time import perf_counter
from typing import Any

import numpy as np

import pycompile
from benchmarks.__main__ import amount

COLUMNS = 64


def plain(x: Any) -> Any:
    y = np.log1p(x * x) * 0.5 + np.sqrt(np.abs(x))
    y = (y - y.mean(axis=1, keepdims=True)) / (y.std(axis=1, keepdims=True) + 1.0)
    return np.tanh(y) * np.exp(-x) + y


compiled = pycompile.compile(plain)


def with_numba() -> Any:
    """The loops that a user of Numba writes for it; None without Numba."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit
    def loops(x: Any) -> Any:
        out = np.empty_like(x)
        for i in range(x.shape[0]):
            total = squares = 0.0
            for j in range(x.shape[1]):
                out[i, j] = np.log1p(x[i, j] * x[i, j]) * 0.5 + np.sqrt(np.abs(x[i, j]))
                total += out[i, j]
            mean = total / x.shape[1]
            for j in range(x.shape[1]):
                squares += (out[i, j] - mean) ** 2
            for j in range(x.shape[1]):
                y = (out[i, j] - mean) / (np.sqrt(squares / x.shape[1]) + 1.0)
                out[i, j] = np.tanh(y) * np.exp(-x[i, j]) + y
        return out

    return loops


def spent() -> tuple[float, int]:
    """Of a worker: seconds in compiles, and runs of the C compiler."""
    return pycompile.counters["seconds"], pycompile.counters["compiler_runs"]


def measure(function: Any, workers: int, chunks: int, rows: int, image: bool) -> dict[str, Any]:
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from pycompile.dask import PycompilePlugin

    with tempfile.TemporaryDirectory() as folder:
        env = {"PYCOMPILE_CACHE_DIR": folder}
        os.environ |= env  # of forks, and of what the image is made with
        pycompile.reset()  # what is loaded is in another folder
        made = pycompile.Image()
        if image:
            made.precompile(function, pycompile.Array((rows, COLUMNS)))
            env = {"PYCOMPILE_CACHE_DIR": folder + "/workers"}
        one: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1}
        dask.config.set(
            {"distributed.scheduler.work-stealing": False}
        )  # chunks stay where they are
        with (
            LocalCluster(**one, env=env, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            shape = (chunks * rows, COLUMNS)
            x = client.persist(da.random.default_rng(0).random(shape, chunks=(rows, COLUMNS)))
            wait(x)
            began = perf_counter()
            if image:
                client.register_plugin(PycompilePlugin(made))
            passes = []
            for _ in range(6):
                y = x.map_blocks(function, dtype=float, meta=np.empty((0, 0))).sum()
                y.compute()
                passes.append(perf_counter() - began)
                if len(passes) == 1:
                    each = list(client.run(spent).values())
                began = perf_counter()
    lost, compiles = map(sum, zip(*each))
    return {"first": passes[0], "later": min(passes[1:]), "lost": lost, "compiles": compiles}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--chunks", type=int, default=64)
    parser.add_argument("--rows", type=int, default=2000)
    chosen = parser.parse_args()
    contenders = [
        ("plain", plain, False),
        ("pycompile", compiled, False),
        ("with an image", compiled, True),
        ("numba", with_numba(), False),
    ]
    print(f"{'workers':>7}  {'':<14}{'first':>9}{'later':>9}{'lost':>9}{'compiles':>10}")
    for workers in chosen.workers:
        for name, function, image in contenders:
            if function is None:
                continue
            row = measure(function, workers, chosen.chunks, chosen.rows, image)
            times = "".join(f"{amount(row[key] or None):>9}" for key in ("first", "later", "lost"))
            print(f"{workers:>7}  {name:<14}{times}{row['compiles']:>10}", flush=True)


if __name__ == "__main__":
    main()
