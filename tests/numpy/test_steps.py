"""Calls that are steps of the plan: functions without ops, arrays whose shape the run tells."""

import numpy as np
import pytest
from differential import check
from numpy_cases import array, function

SHAPES_FROM_VALUES = [
    ("x[x > y]",),
    ("z = x[x > y]", "z * 2 + 1", "z.sum()", "z.size", "z.shape", "len(z)", "z.dtype", "z.ndim"),
    ("z = x[x > y]", "z *= 2", "z[0] = 5", "z"),
    ("x[x > y] = y[x > y]", "x"),
    ("x[x > y] += 1", "x"),
    ("np.nonzero(x > y)", "np.flatnonzero(x)", "np.argwhere(x > y)", "np.where(x > y)"),
    ("np.unique(x)", "np.extract(x > y, y)", "np.compress(x[:, 0] > y[:, 0], x, axis=0)"),
    ("x[:, x[0] > y[0]]", "x[x[:, 0] > y[:, 0], 1]"),
    ("z = x[x > y]", "np.concatenate([z, z])", "np.zeros(z.size)", "z.reshape(-1, 1) * z"),
    ("k = np.nonzero(x > y)", "x[k]", "x[k] = 1", "x"),
    ("z = x[x > y]", "z[1:]", "z.T", "z[0]"),
]

WRITES = [
    ("np.put(x, [1, 2], 5)", "x"),
    ("np.place(x, x > y, [1, 2])", "x"),
    ("np.putmask(x, x > y, y)", "x"),
    ("np.copyto(x, y, where=x > y)", "x"),
    ("np.fill_diagonal(x, 3)", "x"),
    ("np.put_along_axis(x, np.argmax(y, axis=1, keepdims=True), 9, axis=1)", "x"),
    ("np.add.at(x, (0, 1), 2)", "x"),
    ("x.flat[3] = 2", "x", "x.flat[1:4]", "x.flat = 3", "x"),
    ("x.partition(2, axis=1)", "x"),
    ("np.add(x, y, out=x, where=x > y)", "x"),
    ("np.divmod(x, y, out=(x, y))", "x", "y"),
    ("np.add(x[1:], x[:-1], out=x[1:])", "x"),
    ("np.cumsum(x, axis=0, out=y)", "y"),
    ("x[[0, 1]] += 1", "x", "x[[0, 2], [1, 3]] = y[0, :2]", "x"),
]


@pytest.mark.parametrize("dtype", ["i4", "f8"])
@pytest.mark.parametrize("lines", SHAPES_FROM_VALUES + WRITES, ids=lambda lines: lines[0])
def test_steps(lines, dtype):
    x, y = array(dtype), array(dtype, seed=1)
    more = (array(dtype, seed=2), array(dtype, seed=3))
    check(function(*lines), x, y, also=(more,), whole=True)


# NumPy stores by a mask as it goes, without a copy of what shares the array's memory.
STORES_BY_MASK_OF_THEMSELVES = [
    "x[m] = x.ravel()[:7]",
    "x[m] = x.ravel()[::-1][:7]",
    "x[m] = x.reshape(-1)[5:]",
    "x[m,] = x.ravel()[::-1][:7]",
    "x[::-1][m] = x.ravel()[:7]",
    "x[m] = x.view('f4').ravel()[::-1][:7]",
    "x[m] = x.view('i8').ravel()[::-1][:7]",
    "x.view('i8')[m] = x.ravel()[::-1][:7]",
    "x[m] = x[:1, 0]",
    "x[m] = x[1, 3:].reshape(())",
    "x[m] = x.view('f4')[1, 1:2].reshape(())",
    "b[b[::-1]] = False",
    "b[b[:, ::-1]] = True",
    "b[1:][b[:-1]] = True",
    "b[b[::-1]] = x[0, 0] > 0",
    "b[b] = b[1, 2:3]",
    "b.view('u1')[b[::-1]] = 0",
]

# It copies for every other index, and these read nothing that the store changes.
STORES_THAT_READ_FIRST = [
    "x[m] = x[1, 3]",
    "x[m] = x[::-1][m]",
    "x[m] += x[::-1][m]",
    "x[m] = np.flip(x * 2).ravel()[:7]",
    "x[m, ...] = x.ravel()[::-1][:7]",
    "x[m[:, 0]] = x[:1]",
    "x[k] = x[::-1]",
    "x[k, 1:] = x[:, :-1]",
    "k[k] = k[::-1]",
    "b[b] = False",
    "b[::-1][b[::-1]] = False",
    "b[b[::-1].copy()] = False",
    "b[b[:, 0]] = b[0]",
]

STORES_THAT_NUMPY_ORDERS = [
    "np.putmask(x, m, x[::-1])",
    "np.putmask(b, b[::-1], False)",
    "np.copyto(x, x[::-1], where=m)",
    "np.copyto(b, False, where=b[::-1])",
    "np.place(x, m, x[::-1])",
    "np.put(x, [3, 1, 2], x[::-1])",
    "np.fill_diagonal(x, x[::-1, 1])",
    "np.add(b, 1, out=b, where=b[::-1])",
    "x.flat = x[::-1]",
]


def run_store(line, fresh, **how):
    rng = np.random.default_rng(5)
    x, m = rng.standard_normal((3, 4)), rng.permutation(12).reshape(3, 4) < 7
    b = rng.integers(0, 2, (3, 4)) > 0
    k = np.array([2, 0, 1])
    start = ["x = x * 1", "b = b | False", "k = k + 0"] if fresh else []
    check(function(*start, line, "x", "b", "k", args="x, m, b, k"), x, m, b, k, **how)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("line", STORES_BY_MASK_OF_THEMSELVES + STORES_THAT_NUMPY_ORDERS)
def test_a_store_of_what_shares_its_memory(line, fresh):
    run_store(line, fresh, captured=False)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("line", STORES_THAT_READ_FIRST)
def test_a_store_that_reads_before_it_writes(line, fresh):
    run_store(line, fresh, whole=True)


def test_a_mask_that_is_all_false():
    case = function("z = x[x > y]", "z * 2", "z.sum()", "x[x > y] = 0", "x")
    check(case, array("f8"), array("f8") + 10.0, whole=True)


def test_an_opaque_view_of_an_argument_bars_writes_to_it():
    case = function("n = int(y[0, 0])", "z = x[:n]", "z + 1", "x[0] = 3", "z", "x")
    check(case, array("f8"), array("f8") + 1)


def test_a_write_to_an_opaque_array_with_views_is_left_to_numpy():
    case = function("z = x[x > y]", "w = z[1:]", "z[1] = 7", "w", "z", "x * 2")
    check(case, array("f8"), array("f8", seed=1))


def test_shapes_that_do_not_fit_raise_as_they_do():
    case = function("x * 2", "x[x > y] + x[x < y]")
    check(case, array("f8"), array("f8", seed=1), captured=False)


@pytest.mark.parametrize(
    "line",
    ["np.nanmean(x, axis=0)", "np.nanmax(x, axis=1)", "np.mean(x[:0])", "np.sqrt(x[x != 2])"],
)
def test_warnings_are_given_at_the_programs_line(line):
    x = np.full((3, 4), np.nan)
    x[1] = -1
    check(function("y * 2", line), x, array("f8"), captured=False)


def test_user_code_is_not_called_by_a_trial():
    calls = []
    twice = np.frompyfunc(lambda v: calls.append(v) or v * 2, 1, 1)

    def case(x):
        return twice(x), x * 2

    check(case, array("f8"), captured=False)
    assert len(calls) == 12 * 4  # plain and compiled, twice each


def test_flags():
    case = function(
        "x.flags.c_contiguous, x.T.flags.c_contiguous, x.T.flags.f_contiguous, x.flags.writeable",
        "x.flags['F_CONTIGUOUS'], x.flags.forc, x[:0].flags.fnc, np.broadcast_to(x, (2, 3, 4)).flags.writeable",
        "x[:, ::2].flags.contiguous",
        "x + y",
    )
    frozen = array("f8")
    frozen.flags.writeable = False
    check(case, array("f8"), array("f8", seed=1), whole=True)
    check(case, frozen, array("f8"))
    check(case, array("f8"), array("f8"), also=((frozen, array("f8")),))


def test_a_range_that_is_not_known_breaks_with_its_reason():
    def f(x):
        return x.take(range(int(x.sum()) - 40))

    check(f, np.arange(10.0), breaks=["PC0015"])
