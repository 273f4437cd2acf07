"""One compiled function called by many threads, the first time included."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from differential import compiled_calls

import pycompile


def work(x, scale):
    y = np.tanh(x * scale) + x
    y[0] = 0
    return y, y.sum()


def arguments(i):
    return np.random.default_rng(i).standard_normal((20 + i % 5, 33)), 1.0 + i


def same(a, b):
    return a[0].tobytes() == b[0].tobytes() and a[1].tobytes() == b[1].tobytes()


@pytest.mark.slow
def test_eight_threads_call_one_function():
    wanted = [work(*arguments(i)) for i in range(40)]
    pycompile.reset()
    compiled = pycompile.compile(work)
    barrier = threading.Barrier(8)

    def run(worker):
        barrier.wait()
        return [all(same(compiled(*arguments(i)), wanted[i]) for _ in range(5)) for i in range(40)]

    with ThreadPoolExecutor(8) as pool:
        assert all(all(results) for results in pool.map(run, range(8)))
    assert compiled_calls(compiled) > 0


def test_threads_write_to_their_own_arrays():
    @pycompile.compile
    def accumulate(total, x):
        total += x * 2
        total[0] += 1

    def run(worker):
        total = np.zeros(1000)
        for i in range(50):
            accumulate(total, np.full(1000, float(i)))
        return total

    wanted = np.full(1000, 2.0 * sum(range(50)))
    wanted[0] += 50
    with ThreadPoolExecutor(8) as pool:
        for total in pool.map(run, range(8)):
            assert (total == wanted).all()


def test_exceptions_stay_in_their_thread():
    @pycompile.compile
    def f(x, i):
        y = x + 1
        return y[i]

    def run(i):
        try:
            return f(np.arange(5.0), i)
        except IndexError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(run, [i % 8 for i in range(64)]))
    assert found[:8] == [1.0, 2.0, 3.0, 4.0, 5.0] + [
        f"index {i} is out of bounds for axis 0 with size 5" for i in (5, 6, 7)
    ]
    assert found == found[:8] * 8


@pytest.mark.slow
def test_reset_while_others_run():
    compiled = pycompile.compile(work)
    wanted = [work(*arguments(i)) for i in range(8)]
    stop = threading.Event()
    failures = []

    def run(i):
        while not stop.is_set():
            if not same(compiled(*arguments(i)), wanted[i]):
                failures.append(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        compiled(*arguments(6))
        pycompile.reset()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.slow
def test_everything_at_once():
    """Recompiles for new shapes and dtypes, deopts, exceptions, resets and collections of garbage."""
    import gc

    def mixed(x, y):
        z = x * 2 + y
        if z.sum() > 0:
            z = np.sqrt(z)
        len(str(z.dtype))
        x[0] = 1
        return z[3], z

    compiled = pycompile.compile(mixed)
    failures = []

    def once(function, i):
        x = np.full(3 + i % 4, -1.0 if i % 3 else 2.0, "f4" if i % 2 else "f8")
        try:
            result = function(x, 1)
        except IndexError as error:
            return str(error), x.tobytes()
        return result[0], result[1].tobytes(), x.tobytes()

    def run(worker):
        with np.errstate(all="ignore"):
            for i in range(120):
                if once(compiled, i + worker) != once(mixed, i + worker):
                    failures.append((worker, i))
                if i % 40 == worker:
                    pycompile.reset()
                    gc.collect()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    assert not failures


COUNT = 0


class Tally:
    def __init__(self):
        self.calls = 0


@pytest.mark.parametrize("size", [2000, 200_000])
def test_no_update_of_another_thread_is_lost(size):
    """`count += 1` is one step for other threads, although a plan reads `count` before the sort, or
    a large kernel, in which they run, and stores it afterwards."""
    global COUNT
    tally, numbers, table, results, local = Tally(), [0], {"calls": 0}, [], 0

    def count(x):
        global COUNT
        nonlocal local
        y = np.sort(x * 2 + 1)
        z = y * x - y / 3
        COUNT += 1
        local += 1
        tally.calls += 1
        numbers[0] += 1
        table["calls"] += 1
        results.append(z[0])
        return z

    COUNT = 0
    calls, workers = 24_000_000 // (size * 40), 4
    compiled = pycompile.compile(count)
    x = np.random.default_rng(0).standard_normal(size)
    wanted = np.sort(x * 2 + 1) * x - np.sort(x * 2 + 1) / 3
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:

        def run(worker):
            return all((compiled(x) == wanted).all() for _ in range(calls))

        with ThreadPoolExecutor(workers) as pool:
            assert all(pool.map(run, range(workers)))
    finally:
        sys.setswitchinterval(interval)
    assert compiled_calls(compiled) > 0
    total = calls * workers
    assert (COUNT, local, tally.calls, numbers, table["calls"], len(results)) == (
        (total, total, total, [total], total, total)
    )
