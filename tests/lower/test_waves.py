"""Kernels over the same memory that run tile by tile, each some strips behind the one before."""

import random
import re
import threading

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C


@pytest.fixture
def small_waves():
    """Arrays of a few hundred bytes make waves, of tiles of a few strips."""
    _C.test_wave_sizes(64, 4096)
    yield
    _C.test_wave_sizes(0, 0)


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    _C.threads_set_count(request.param)
    yield request.param
    _C.threads_set_count(0)


def waves(function, *args):
    """What the schedules of the function's plans say about waves."""
    _C.report_begin()
    pycompile.compile(function)(*args)
    text = "\n".join(record.get("schedule", "") for record in _C.report_end())
    return re.findall(r"^wave .*", text, re.MULTILINE)


def grid(n, m, dtype=np.float64, number=0):
    return np.random.default_rng(number).standard_normal((n, m)).astype(dtype)


def jacobi(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def two_grids(u, before, speed, steps):
    for _ in range(steps):
        bend = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        before[1:-1, 1:-1] = 2 * u[1:-1, 1:-1] - before[1:-1, 1:-1] + speed * bend
        u, before = before, u


def blurred(x):
    """Rows of results: each is smoothed, normalised and smoothed again."""
    y = x[:-2] + 2 * x[1:-1] + x[2:]
    z = y - y.max(axis=1, keepdims=True)
    w = np.exp(z[:-4] * 0.01) + z[4:]
    return w[1:] / (1 + np.abs(w[:-1])), y


def cube(u):
    for _ in range(3):
        u[1:-1, 1:-1, 1:-1] = (
            u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
        ) * 0.2 + u[1:-1, 1:-1, 2:]


# ---- large arrays ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(900, 700), (2003, 301), (5, 200_000), (300_000, 3)])
def test_stencils(threads, dtype, shape):
    check(jacobi, grid(*shape, dtype), 4)
    check(two_grids, grid(*shape, dtype), grid(*shape, dtype, 1), dtype(0.1), 3)


def test_steps_of_a_stencil_are_one_wave():
    (wave,) = waves(jacobi, grid(900, 700), 6)
    assert re.search(r"lag 1, k\d+ lag 2, k\d+ lag 3, k\d+ lag 4, k\d+ lag 5$", wave)


def test_steps_over_small_arrays_are_none():
    assert waves(jacobi, grid(90, 70), 6) == []


def test_rows_too_long_for_the_cache_are_none():
    assert waves(jacobi, grid(5, 200_000), 3) == []


@pytest.mark.slow
def test_fortran_order(threads):
    check(jacobi, np.asfortranarray(grid(900, 700)), 4)
    check(two_grids, np.asfortranarray(grid(900, 700)), grid(900, 700, number=1), 0.1, 3)


def test_three_axes(threads):
    check(cube, np.random.default_rng(0).standard_normal((70, 80, 90)))


@pytest.mark.slow
def test_reductions_of_rows_and_outputs(threads):
    check(blurred, grid(2000, 300))
    check(blurred, grid(2000, 300, np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("row", [1, 450, 898])
@pytest.mark.parametrize("step", [1, 3])
def test_flags_are_told_at_their_statement(threads, row, step):
    """A value that becomes too large in one of the steps: NumPy's warning, and its traceback."""

    def grows(u, v):
        v[1:-1] = u[:-2] + u[2:]
        u[1:-1] = v[:-2] * u[1:-1]
        v[1:-1] = u[:-2] * 1.5
        u[1:-1] = v[:-2] * u[1:-1]
        return u.sum()

    u, v = grid(900, 700), grid(900, 700, number=1)
    u[row, 5] = 1e200 if step == 1 else 1e120
    with np.errstate(all="ignore"):
        check(grows, u, v)
    check(grows, u, v)
    with np.errstate(over="raise"):
        check(grows, u, v)
    u[row, 5] = np.inf
    check(grows, u, v)


# ---- small ones ----

OFFSETS = (-2, -1, 0, 1, 2)


def random_chain(number):
    """Statements that read slices of the grids and write one of them; what is fresh is one, too."""
    choose = random.Random(number)
    lines, names = ["def f(a, b, c):"], ["a", "b", "c"]

    def part(name, edge):
        """The grid without its edges, moved."""
        down, right = (choose.choice(OFFSETS) if choose.random() < 0.7 else 0 for _ in "dr")
        rows = f"{2 + down}:{down - 2 or None}" if edge else "2:-2"
        columns = f"{2 + right}:{right - 2 or None}" if edge else "2:-2"
        return f"{name}[{rows}, {columns}]"

    for line in range(choose.randint(3, 9)):
        terms = [part(choose.choice(names), True) for _ in range(choose.randint(1, 3))]
        value = f" {choose.choice('+-*')} ".join(terms)
        kind = choose.random()
        if kind < 0.6:
            lines.append(f"    {part(choose.choice(names), False)} = {value}")
        elif kind < 0.75:
            lines.append(f"    {part(choose.choice(names), False)} += {value}")
        elif kind < 0.9:
            lines.append(f"    g{line} = np.full_like(a, {line})")
            lines.append(f"    g{line}[2:-2, 2:-2] = {value}")
            names.append(f"g{line}")
        else:
            name = choose.choice(names)
            lines.append(f"    {name}[3:] = {name}[:-3] - {name}[3:].sum(axis=1, keepdims=True)")
    lines.append(f"    return {', '.join(names)}")
    return "\n".join(lines)


def compiled_text(text):
    space = {"np": np}
    exec(compile(text, "<chain>", "exec"), space)
    return space["f"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_chains(small_waves, first):
    seen = 0
    for number in range(first, first + 20):
        f = compiled_text(random_chain(number))
        args = [grid(23, 17, number=number + k) for k in range(3)]
        with np.errstate(all="ignore"):
            seen += len(waves(f, *(a.copy() for a in args)))
            check(f, *args)
    assert seen > 5


def normed(x):
    """A row is kept in scratch between its sum and what is divided by it."""
    y = x[:-1] * 0.5 + x[1:]
    z = np.exp(y * 0.01 - y.max(axis=1, keepdims=True))
    z /= z.sum(axis=1, keepdims=True)
    return z[:-1] - z[1:]


@pytest.mark.parametrize("count", [1, 2])
def test_memory_is_short(small_waves, count):
    """Threads without scratch: CPython computes what the wave cannot."""
    _C.threads_set_count(count)
    x, compiled = grid(4000, 60), pycompile.compile(normed)
    plain = normed(x)
    assert len(waves(normed, x)) > 0
    compiled(x)

    def call(n):
        _C.test_fail_after(n)
        try:
            results.append(compiled(x).tobytes())
        except MemoryError:
            results.append(plain.tobytes())
        finally:
            left.append(_C.test_fail_after(-1))

    results, left = [], [0]
    try:
        for n in range(100):
            if left[-1] > 0:
                break
            thread = threading.Thread(target=call, args=(n,))  # of which none has scratch yet
            thread.start()
            thread.join()
    finally:
        _C.threads_set_count(0)
    assert left[-1] > 0 and set(results) == {plain.tobytes()}
    assert compiled.stats()["deopts"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("number", range(100, 112))
def test_random_chains_of_large_grids(threads, number):
    f = compiled_text(random_chain(number))
    with np.errstate(all="ignore"):
        check(f, *(grid(611, 513, number=number + k) for k in range(3)))
