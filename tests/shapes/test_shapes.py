"""Lengths that vary: one plan serves them, with NumPy's bits, layouts and errors for each.

A length of 0 or 1 has a plan of its own, and so has a layout that only such a length has.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _C

RNG = np.random.default_rng(7)
PRIMES_AND_POWERS = (2, 3, 4, 5, 7, 8, 13, 16, 31, 32, 64, 97, 127, 128, 256, 257)
SIZES = [(n, m) for n in PRIMES_AND_POWERS[::2] for m in PRIMES_AND_POWERS[1::3]]
SIZES += [tuple(int(i) for i in RNG.integers(2, 200, 2)) for _ in range(100 - len(SIZES))]
SMALL = [(1, 9), (9, 1), (1, 1), (0, 3), (3, 0), (2, 5)]

PLANS = {"options": {"plan_always": True}}


def vector(n, m):
    return RNG.standard_normal(n)


def row(n, m):
    return RNG.standard_normal(m)


def matrix(n, m):
    return RNG.standard_normal((n, m))


def floats(n, m):
    return RNG.standard_normal((n, m)).astype(np.float32)


def cube(n, m):
    return RNG.standard_normal((n, m, 3))


def integers(n, m):
    return RNG.integers(-9, 9, n)


def elementwise(x, y):
    return np.sqrt(x * x + y * y) - 2 * y


def broadcast(x, b, c):
    return np.tanh(x + b) * c[:, None]


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x):
    mean = x.mean(axis=-1, keepdims=True)
    square = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(square + 1e-5)


def reductions(x):
    return x.sum(), x.sum(axis=0), x.sum(axis=1), x.max(axis=0), x.mean(axis=0), x.std(axis=1)


def transposed(x):
    return x.T * 2 + 1, (x.T + 1).sum(axis=0)


def slices(x):
    turned = np.full(x.shape, 0.5)
    turned[::-1] = x * 0.5
    return x[1:] - x[:-1], x[::-1] + 1, x[::2] * 2, turned


def views(x):
    y = x + 1
    return y[1::2], y[3:]


def products(a, b):
    return a.T @ b, (a * b).sum()


def reshaped(x):
    copies = (
        x.transpose(0, 2, 1).reshape(len(x), -1),
        x.T.ravel(),
        x.transpose(1, 0, 2).reshape(-1, x.shape[2]),
    )
    return x.reshape(-1) * 2, x.reshape(x.shape[0], -1) + 1, *copies, (x[1:] + 1).reshape(-1)


def created(x):
    out = np.zeros(len(x))
    out[:] = x * 2
    return out, np.empty_like(x), np.arange(len(x)) * x, np.full(x.shape, 2.0) + x


def joined(x, y):
    return np.concatenate([x[:2], x + 1]), np.stack([x, y]) + 1


def numbers(x):
    n, m = x.shape
    return x / n + m * len(x) + x.size


def in_place(x):
    x += 1
    x[0] = 0.0
    return x * 2


def selected(x):
    y = x.copy()
    y[y < 0] = 0
    return np.where(y > 1, y, -y), np.clip(x, -1, 1), np.cumsum(x)


def loop(x):
    y = x * 2
    for i in range(1, len(y)):
        y[i] += y[i - 1]
    return y


def sections(x):
    y = x * 2
    sums = np.empty(len(y))
    for i in range(len(y)):
        y[i:] *= 0.5
        y[i * i :: i + 1] += 1
        sums[i] = y[-i:].sum() + x[i : i + 2].sum()
    return y, sums


def extremes(x):
    total = 0.0
    for i, value in enumerate(x[::-1], 3):
        total += value * i
    sums = np.empty(max(len(x) - 2, 0), x.dtype)
    for i in range(len(sums)):
        sums[i] = x[i : i + 3].sum()
    return total, sums, np.ones(min(50, len(x), 2 * len(x) - 1))


def largest(x):
    y = x * 2
    found = np.empty(len(y))
    for i in range(len(y)):
        y[i:] *= 0.5
        found[i] = y[i:].max() + x[: i + 1].mean()
    return y, found


def smoothed(x):
    for _ in range(5):
        y = x.copy()
        y[1:-1] = 0.5 * x[1:-1] + 0.25 * (x[2:] + x[:-2])
        x = y
    return x


def settled(x):
    y = np.abs(x)
    while True:
        halved = np.where(y > 1, y - 1, y * 0.5)
        if halved.max() < 0.25:
            return halved, y
        y = halved


def either(x):
    if x[0] > 0:
        y = x * 2
    else:
        y = x - 1
    return y + 1, x[::-1] if x[-1] > 0 else y


def distances(a, b):
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1))


def changed_by_calls(x, y):
    out, rest = np.zeros(x.shape), y * 2
    np.add.at(out, np.array([0, 1, 0]), x[:1])
    np.put(rest, [0, 1], 3.0)
    np.copyto(out[1:], x[:-1] * 3)
    return out, rest, np.zeros(x.shape, np.result_type(x))


def of_ints(x):
    return (x * 3 + 1).sum(), x // 2, x % 3


CASES = [
    (elementwise, (vector, vector)),
    (broadcast, (matrix, row, vector)),
    (softmax, (matrix,)),
    (layer_norm, (floats,)),
    (reductions, (matrix,)),
    (transposed, (matrix,)),
    (slices, (vector,)),
    (views, (vector,)),
    (products, (matrix, matrix)),
    (reshaped, (cube,)),
    (created, (vector,)),
    (joined, (vector, vector)),
    (numbers, (matrix,)),
    (in_place, (vector,)),
    (selected, (vector,)),
    (loop, (vector,)),
    (sections, (vector,)),
    (extremes, (vector,)),
    (largest, (vector,)),
    (smoothed, (vector,)),
    (settled, (vector,)),
    (either, (vector,)),
    (distances, (floats, floats)),
    (of_ints, (integers,)),
    (changed_by_calls, (matrix, vector)),
]


def seen(value):
    if isinstance(value, tuple):
        return [seen(item) for item in value]
    if isinstance(value, np.ndarray):
        data = b"" if value.base is None and not value.flags.c_contiguous else value.tobytes()
        return value.dtype, value.shape, value.strides, value.flags.owndata, data
    return type(value), np.asarray(value).tobytes()


def outcome(function, args):
    try:
        result = seen(function(*args))
        return result if function_has_bits(function) else [item[:4] for item in result]
    except Exception as error:
        return type(error), str(error)


def function_has_bits(function):
    return getattr(function, "__name__", "") != "created"


def agree(function, compiled, makers, sizes):
    for n, m in sizes:
        args = [make(n, m) for make in makers]
        ours = [arg.copy() for arg in args]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert outcome(function, args) == outcome(compiled, ours), (n, m)
        assert [seen(arg) for arg in args] == [seen(arg) for arg in ours], (n, m)


@pytest.mark.parametrize("function", [softmax, layer_norm])
def test_rows_whose_length_is_a_symbol_stay_in_one_kernel(function):
    """Their scratch is as long as the run tells, also where the row of the capture was far shorter."""
    compiled = pycompile.compile(function, dynamic=True, **PLANS)
    _C.report_begin()
    for shape in ((50, 40), (3, 70_001), (700, 3), (1, 5000), (40, 1)):
        x = RNG.standard_normal(shape)
        assert compiled(x).tobytes() == function(x).tobytes()
    assert compiled.stats()["plans"] == 1
    assert [record["kernels"] for record in _C.report_end()] == [1]


def test_symbolic_columns_are_read_through_tiles():
    def function(x, y):
        return np.sqrt(x.T) * y

    compiled = pycompile.compile(function, dynamic=True, **PLANS)
    _C.report_begin()
    for n, m in ((40, 50), (8, 3), (3, 8), (9, 170), (2, 2), (200, 2), (100, 129)):
        x, y = RNG.random((m, n)), RNG.random((n, m))
        assert compiled(x, y).tobytes() == function(x, y).tobytes()
    assert ["turned" in record["schedule"] for record in _C.report_end()] == [True]


@pytest.mark.parametrize(("function", "makers"), CASES, ids=[case[0].__name__ for case in CASES])
def test_one_plan_for_all_lengths(function, makers):
    pycompile.reset()
    compiled = pycompile.compile(function, dynamic=True, **PLANS)
    agree(function, compiled, makers, SIZES)
    stats = compiled.stats()
    assert (stats["plans"], stats["plan_runs"]) == (1, len(SIZES)), stats
    agree(function, compiled, makers, SMALL)


@pytest.mark.parametrize("function", [softmax, reductions, numbers])
def test_what_varies_is_learnt_from_the_second_call(function):
    compiled = pycompile.compile(function, **PLANS)
    agree(function, compiled, (matrix,), [(5, 6), (7, 8), *SIZES[:20], (5, 6), *SMALL])
    assert compiled.stats()["plan_runs"] >= 23
    pycompile.reset()
    compiled = pycompile.compile(function, **PLANS)
    agree(function, compiled, (matrix,), [(n, 6) for n in (5, 7, 9, 11)])
    assert compiled.stats()["plans"] == 2  # … and only that axis
    agree(function, compiled, (matrix,), [(n, m) for n in (5, 7) for m in (4, 9, 20)])
    assert compiled.stats()["plans"] == 3


def test_none_is_dynamic_where_it_is_off():
    pycompile.reset()
    compiled = pycompile.compile(elementwise, dynamic=False, **PLANS)
    agree(elementwise, compiled, (vector, vector), [(n, 0) for n in (5, 6, 7)])
    assert compiled.stats()["plans"] == 3


def test_what_decides_is_guarded_or_known():
    def by_length(x):
        return x * 2 if len(x) > 50 else np.sort(x) + 1

    compiled = pycompile.compile(by_length, dynamic=True, **PLANS)
    agree(by_length, compiled, (vector,), [(n, 0) for n in (60, 70, 99, 100)])
    assert compiled.stats()["plans"] == 1
    agree(by_length, compiled, (vector,), [(n, 0) for n in (9, 10, 60)])
    assert compiled.stats()["plans"] == 2


def test_what_is_for_nothing_is_python_s():
    """Whichever plan was used last."""
    compiled = pycompile.compile(transposed, dynamic=True, **PLANS)
    for n, m in ((5, 6), (1, 9), (9, 1)):
        agree(transposed, compiled, (matrix,), [(n, m), (0, 3), (3, 0), (0, 0), (0, 1)])
    assert compiled.stats()["plans"] == 1


def test_an_order_is_that_of_rows_of_one_element():
    """Where they make an array of rows one of columns, too, that is another plan's."""

    def ordered(x):
        turned = np.concatenate([x.T, x.T]).strides, x.T.flags.c_contiguous, x.flags.fnc
        same = np.ascontiguousarray(x.T).base is x, x.astype(x.dtype, "F", copy=False) is x
        return np.asarray(turned[0]), *same, *turned[1:], np.asfortranarray(x) is x, x * 2

    compiled = pycompile.compile(ordered, dynamic=True, **PLANS)
    agree(ordered, compiled, (matrix,), [*SIZES[:3], *SMALL])


def test_lengths_that_have_to_be_equal():
    compiled = pycompile.compile(elementwise, dynamic=True, **PLANS)
    for n, m in ((5, 5), (7, 7), (1, 6), (6, 1), (4, 5), (8, 8)):
        args = RNG.standard_normal(n), RNG.standard_normal(m)
        assert outcome(elementwise, args) == outcome(compiled, args)
    with pytest.raises(ValueError, match="could not be broadcast"):
        compiled(np.ones(3), np.ones(4))


def test_arrays_with_gaps_have_known_lengths():
    def doubled(x):
        return x * 2 + 1

    compiled = pycompile.compile(doubled, dynamic=True, **PLANS)
    for n in (4, 5, 9):
        for x in (RNG.standard_normal((n, 6))[::2], RNG.standard_normal((n, 4)).T):
            assert seen(doubled(x)) == seen(compiled(x))


def test_the_guards_are_told():
    def quarter(x):
        return x[: len(x) // 4].copy()

    told = pycompile.explain(quarter, dynamic=True, options={"plan_always": True})(np.ones((8, 2)))
    assert told.guards[0].startswith("x: float64[4…, 1…] C-contiguous") and len(told.guards) == 2


# ---- ints from outside ----


def filled(n, m):
    x = np.zeros((n, m))
    x += np.arange(m)
    return np.concatenate([x, np.ones((1, m))]) * 2


def turned(x, k):
    return np.concatenate([x[k:], x[:k]])


def folded(x, k):
    return x.reshape(k, -1).sum(axis=1), x.reshape(-1, k) * 2


def beside(x, k):
    return x * np.ones(k) + k, np.full(k, 2.0)[: len(x)] - x


COUNTS = (3, 5, 8, 17, 4, 33, 2, 12, 40, 1, 7)


def of_count(function, n):
    if function is filled:
        return n, n + 3
    return (RNG.standard_normal({turned: 50, folded: 6 * n, beside: n}[function]), n)


@pytest.mark.parametrize("function", [filled, turned, folded, beside])
def test_ints_are_lengths(function):
    for dynamic, plans in ((True, 1), (None, 2)):
        pycompile.reset()
        compiled = pycompile.compile(function, dynamic=dynamic, **PLANS)
        for n in COUNTS:
            args = of_count(function, n)
            assert outcome(function, args) == outcome(compiled, args), n
        stats = compiled.stats()
        assert (stats["plans"], stats["plan_runs"]) == (plans, len(COUNTS)), stats
        for n in (0, -1, -7, 51, True, 2**33, 2**62, 2**70):
            args = (n, n) if function is filled else (RNG.standard_normal(60), n)
            assert outcome(function, args) == outcome(compiled, args), n


# ---- what only the run decides ----


def onto(x, y):
    return x + y * 2 + x * y


def test_which_operand_is_written_is_found_when_the_plan_runs():
    """NumPy writes into the right operand from 256 KiB on, where it decides which NaN results."""
    compiled = pycompile.compile(onto, dynamic=True, **PLANS)
    agree(onto, compiled, (vector, vector), [(n, 0) for n in (8, 40_000, 32_760, 32_768, 16)])
    assert compiled.stats()["plans"] == 1


def shifted(u, before):
    before[1:-1] = u[:-2] + u[2:] - before[1:-1]
    u[1:-1] = before[:-2] + before[2:] - u[1:-1]
    return u[1:-1] + before[1:-1]


def test_lengths_that_follow_from_equal_ones_are_equal():
    """Not only for one another: kernels of both fuse."""
    pycompile.reset()
    compiled = pycompile.compile(shifted, dynamic=True, **PLANS)
    agree(shifted, compiled, (matrix, matrix), [(n + 1, m) for n, m in SIZES[:20]])
    assert compiled.stats()["plans"] == 1
    x = np.ones((9, 7))
    known, open_ = (
        pycompile.explain(shifted, dynamic=dynamic, options={"plan_always": True})(x, x.copy())
        for dynamic in (False, True)
    )
    assert known.kernels == open_.kernels


def test_a_write_before_its_length_is_found_to_be_another():
    """The place that was written is of the length that is found afterwards."""

    def scaled(a, b):
        b[1:] = b[1:] * 2
        return a + b, a - 1

    compiled = pycompile.compile(scaled, dynamic=True, **PLANS)
    for n in (5, 9, 33):
        a, b = np.arange(float(n)), np.ones(n)
        written = b.copy()
        for made, wanted in zip(compiled(a, b), scaled(a, written), strict=True):
            np.testing.assert_array_equal(made, wanted)
        np.testing.assert_array_equal(b, written)
    assert compiled.stats()["compiles"] == 1


def test_nothing_is_compiled_again_after_the_first_calls():
    def ragged(x, lengths):
        inside = np.arange(x.shape[1]) < lengths[:, None]
        kept = x[inside] * 0.5
        return kept - kept.sum(), np.where(inside, x, 0).sum(axis=1), filled(len(x), 3)

    compiled = pycompile.compile(ragged, **PLANS)
    for number in range(100):
        n, m = (int(i) for i in RNG.integers(1, 30, 2))
        args = RNG.standard_normal((n, m)), RNG.integers(0, m + 1, n)
        with pycompile.set_stance("default" if number < 10 else "fail_on_recompile"):
            assert outcome(ragged, args) == outcome(compiled, args), (n, m)


# ---- lengths that are one in the first call ----


def halved(x):
    half = len(x) // 2
    pairs = x[: 2 * half].reshape(half, 2)
    return pairs.sum(axis=1), np.arange(half) * 2.5, pairs[:, ::-1] + x[0], (x[:half] * 1j) ** 2


def test_a_length_that_is_one_in_the_first_call_is_not_one_in_all():
    for first in (2, 3):
        pycompile.reset()
        compiled = pycompile.compile(halved, dynamic=True, **PLANS)
        agree(halved, compiled, (vector,), [(n, 0) for n in (first, 8, 3, 2, 31)])
        assert compiled.stats()["plans"] == 1


def squared(x):
    half = len(x) // 2
    z = x[:half] + 1j * x[half : 2 * half]
    z *= z
    return z


def test_one_complex_number_in_place_has_a_plan_of_its_own():
    """NumPy rounds its product in another way than those of several."""
    for first in (8, 2, 1, 0):
        pycompile.reset()
        compiled = pycompile.compile(squared, dynamic=True, **PLANS)
        for n in (first, 8, *(2, 3) * 8, 9):
            args = (vector(n, 0),)
            assert outcome(squared, args) == outcome(compiled, args), (first, n)


def test_a_length_that_follows_one_argument_is_no_multiple_of_another():
    compiled = pycompile.compile(spectrum, **PLANS)
    agree(spectrum, compiled, (matrix,), [(3, 4), (4, 5), (5, 6), (6, 7), (9, 4)])
    assert compiled.stats()["plans"] == 2 and compiled.stats()["deopts"] == 0


def spectrum(x):
    return np.fft.rfft2(x) * 2


def test_lengths_that_come_again():
    compiled = pycompile.compile(broadcast, dynamic=True, **PLANS)
    for n, m in [(5, 7), (5, 7), (7, 5), (5, 7), (7, 7), (5, 5), (5, 7)]:
        args = matrix(n, m), row(n, m), vector(n, m)
        assert compiled(*args).tobytes() == broadcast(*args).tobytes()
    assert compiled.stats()["plans"] == 1
