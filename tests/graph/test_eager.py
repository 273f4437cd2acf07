"""The reference executor: each kind of node gives what NumPy and Python give."""

import numpy as np
import pytest

import pycompile
from pycompile import _eager
from pycompile._C import Graph


def run(text, *inputs):
    return _eager.run(Graph.parse(text), list(inputs))


def same(got, expected):
    assert type(got) is type(expected)
    if isinstance(expected, np.ndarray | np.generic):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        assert got.tobytes() == expected.tobytes()
    else:
        assert repr(got) == repr(expected)


def test_forms():
    x = np.array([1.5, 2.5], np.float32)
    array, scalar, python, rank0 = run(
        """%0: f32[2] = input(0)
%1: f32[2] = negative(%0)
%2: f32 = sum(%0, axes=[0])
%3: float = py_item(%2)
%4: f32[] = sum(%0, axes=[0])
outputs %1, %2, %3, %4""",
        x,
    )
    same(array, -x)
    same(scalar, x.sum())
    same(python, 4.0)
    same(rank0, np.array(4, np.float32))


def test_views_and_scatters():
    x = np.arange(20.0).reshape(4, 5)
    new, column, flipped = run(
        """%0: f64[4,5] = input(0)
%1: f64[4]{40}+8 = slice(%0)
%2: f64[4] = sqrt(%1)
%3: f64[4,5] = scatter(%0, %2, view=[4]{-40}+136)
%4: f64[4]{40}+16 = slice(%3)
%5: f64[5,4]{-8,-40}+152 = flip(%3)
outputs %3, %4, %5""",
        x,
    )
    expected = x.copy()
    expected[::-1, 2] = np.sqrt(x[:, 1])
    same(new, expected)
    same(np.array(column), expected[:, 2].copy())
    same(np.array(flipped), np.array(expected[::-1, ::-1].T))
    assert np.shares_memory(column, new) and not np.shares_memory(new, x)


def test_inputs_with_gaps_are_copied_with_them():
    base = np.arange(24.0).reshape(4, 6)
    x = base[:, ::2]
    new, total = run(
        """%0: f64[4,3]{48,16} = input(0)
%1: f64 = const(-1.0)
%2: f64[4,3]{48,16} = scatter(%0, %1, view=[4]{48}+16)
%3: f64[3] = sum(%2, axes=[0])
outputs %2, %3""",
        x,
    )
    expected = x.copy()
    expected[:, 1] = -1
    assert new.strides == x.strides and (new == expected).all()
    same(total, expected.sum(axis=0))
    assert base[0, 2] == 2


def test_reductions_scans_fills_and_calls():
    x = np.random.default_rng(0).random((3, 4))
    got = run(
        """%0: f64[3,4] = input(0)
%1: f64[3,1] = max(%0, axes=[1], keepdims)
%2: i64 = argmax(%0, axes=[0, 1])
%3: i64[4] = argmin(%0, axes=[0])
%4: f64[3,4] = cumsum(%0, axis=1)
%5: bool_ = all(%0, axes=[0, 1])
%6: f64[4,3]{8,32} = transpose(%0)
%7: f64[3,3] = matmul(%0, %6)
%8: object = ufunc(%0, object=numpy.modf)
%9: f64[3,4] = result(%8, index=1)
%10: object = const('C')
%11: f64[12] = extern(%0, %10, kwnames=(order), object=numpy.ravel)
%12: int = const(3)
%13: int = const(2)
%14: i64[5] = arange(%12, %13)
%15: f64[7,4] = concatenate(%0, %0, %1)
outputs %1, %2, %3, %4, %5, %7, %9, %11, %14
""".replace("%15: f64[7,4] = concatenate(%0, %0, %1)\n", "%15: f64[6,4] = concatenate(%0, %0)\n"),
        x,
    )
    expected = [
        x.max(axis=1, keepdims=True),
        x.argmax(),
        x.argmin(axis=0),
        x.cumsum(axis=1),
        np.bool_(x.all()),
        x @ x.T,
        np.modf(x)[1],
        x.ravel(),
        np.arange(3, 13, 2),
    ]
    for a, b in zip(got, expected, strict=True):
        same(a, b)


@pytest.mark.parametrize(
    "op, a, b", [("add", 3, 4), ("floordiv", -7, 2), ("mod", -7, 2), ("pow", 3, 4)]
)
def test_python_arithmetic(op, a, b):
    function = {
        "add": int.__add__,
        "floordiv": int.__floordiv__,
        "mod": int.__mod__,
        "pow": int.__pow__,
    }
    (got,) = run(
        f"%0: int = input(0)\n%1: int = input(1)\n%2: int = py_{op}(%0, %1)\noutputs %2", a, b
    )
    same(got, function[op](a, b))


def test_python_errors_are_python_errors():
    with pytest.raises(ZeroDivisionError):
        run("%0: int = input(0)\n%1: float = py_div(%0, %0)\noutputs %1", 0)


RECURRENCE = """\
%0: f64[d0_0=10]{t0_0=8} = input(0)
%1: f64[d1_0=10]{t1_0=8} = input(1)
%2: int = input(2)
%3: int = const(1)
%4: f64 = const(0.5)
%5: object = loop(%3, %2, %3, %1, %4) {
  params %6: int, %7: f64[d1_0]{t1_0}, %15: f64
  %8: int = py_sub(%6, %3)
  %9: f64 = element_load(%7, %8)
  %10: f64 = multiply(%4, %9)
  %11: f64 = element_load(%0, %6)
  %12: f64 = add(%10, %11)
  %13: f64[d1_0]{t1_0} = element_store(%7, %6, %12)
  %16: f64 = maximum(%15, %12)
  results %13, %16
}
%14: f64[d1_0]{t1_0} = result(%5, index=0)
%17: f64 = result(%5, index=1)
outputs %14, %17
"""


@pytest.mark.parametrize("n", [1, 2, 20])
def test_loops(n):
    rng = np.random.default_rng(0)
    x, y = rng.random(20), rng.random(40)[::2]
    before = y.copy()
    got, top = run(RECURRENCE, x, y, n)
    assert (y == before).all()
    expected, most = y.copy(), np.float64(0.5)
    for i in range(1, n):
        expected[i] = 0.5 * expected[i - 1] + x[i]
        most = np.maximum(most, expected[i])
    assert (got == expected).all()
    same(top, most)


def first_above(x, limit):
    found = -1
    for i in range(len(x)):
        if x[i] > limit:
            found = i
            break
        x[i] = 0.0
    return found


def halvings(x, limit):
    n = 0
    while x[0] > limit:
        x[0] = x[0] / 2
        n += 1
    return n


@pytest.mark.parametrize("function", [first_above, halvings])
def test_loops_that_are_left(function):
    compiled = pycompile.compile(function, backend="eager", options={"plan_always": True})
    for limit in (0.5, 3.5, 100.0):
        x, y = np.arange(8.0) + 1, np.arange(8.0) + 1
        same(compiled(x, limit), function(y, limit))
        same(x, y)
    assert compiled.stats()["plan_runs"] > 0


def test_a_loop_that_reads_an_older_version():
    (got,) = run(
        """%0: f64[4] = input(0)
%1: int = const(0)
%2: int = const(2)
%3: int = const(1)
%4: f64 = const(7.0)
%5: object = loop(%1, %2, %3, %0) {
  params %6: int, %7: f64[4]
  %8: f64[4] = element_store(%7, %6, %4)
  %9: f64 = element_load(%7, %6)
  %10: f64[4] = element_store(%8, %3, %9)
  results %10
}
%11: f64[4] = result(%5, index=0)
outputs %11""",
        np.arange(4.0),
    )
    # i=0: a[0] = 7, a[1] = old a[0] = 0; i=1: a[1] = 7, a[1] = old a[1] = 0
    assert got.tolist() == [7.0, 0.0, 2.0, 3.0]


@pytest.mark.parametrize("flag", [True, False])
def test_conds(flag):
    (got,) = run(
        """%0: bool = input(0)
%1: int = const(5)
%2: object = cond(%0, %1) {
  params %3: int
  %4: int = py_neg(%3)
  results %4
} else {
  params %5: int
  results %5
}
%6: int = result(%2, index=0)
outputs %6""",
        flag,
    )
    same(got, -5 if flag else 5)


def test_a_wrong_prediction_is_an_error():
    with pytest.raises(TypeError, match="predicted"):
        run(
            "%0: f64[3] = input(0)\n%1: f64[3] = extern(%0, object=numpy.diff)\noutputs %1",
            np.ones(3),
        )


# ---- what a result owns and what it is a view of, through both backends ----


def empty_slice(x):
    return x[5:5], np.sqrt(x) + 1


def slices(x):
    return x[1:], x[::-1], x[1:][1:], x[...], x.T, x[None], x.reshape(-1), np.sqrt(x)


def broadcast(x):
    return np.broadcast_to(x, (3, *x.shape)), np.sqrt(x)


def views_of_what_was_made(x):
    y = np.sqrt(x) + 1
    return y, y[1:], y[2:][1:], y[1:1], y.T, y.T[::-1], y[None]


def copies(x):
    return x.copy(), x.flatten(), np.ravel(x), x.astype(np.float32), np.abs(x), x.T.copy()


def empty_results(x):
    return np.abs(x[:0]), np.abs(x[:0].T) + 1, np.concatenate([x[:0], x[:0]]), np.zeros((3, 0))


def written(x):
    y = np.sqrt(x) + 1
    view = y[1:]
    view[...] = 3.0
    return view, y, x.copy()[::2]


def loop_over_a_copy(x):
    y = x.copy()
    for i in range(len(y)):
        y[i] = y[i] * 2 + 1
    return y, y[1:1]


def loop_over_nothing(x):
    y = np.zeros(0)
    for i in range(len(y)):
        y[i] = 1.0
    return y, np.sqrt(x)


def looked_at(results, x):
    """Of each result: layout, flags, and which array its base is."""
    known = [x, x.base, *results]
    return [
        (
            result.shape,
            result.strides,
            str(result.flags),
            type(result.base),
            [result.base is other for other in known if other is not None],
        )
        for result in results
    ]


ARRAYS = {
    "c": np.arange(48.0).reshape(8, 6).copy(),
    "one axis": np.arange(9.0),
    "reversed": np.arange(9.0)[::-1],
    "fortran": np.asfortranarray(np.arange(48.0).reshape(8, 6)),
    "with gaps": np.arange(48.0).reshape(8, 6)[1:, ::2],
    "empty": np.empty((0, 4)),
    "empty inside": np.empty((6, 0, 3)),
    "empty view": np.arange(48.0).reshape(8, 6)[8:],
}


@pytest.mark.parametrize("backend", ["c", "eager"])
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize(
    "function",
    [
        empty_slice,
        slices,
        broadcast,
        views_of_what_was_made,
        copies,
        empty_results,
        written,
        loop_over_a_copy,
        loop_over_nothing,
    ],
)
def test_results_are_views_of_what_they_are_in_numpy(function, array, backend):
    x = ARRAYS[array]
    expected = function(x)
    compiled = pycompile.compile(function, backend=backend, options={"plan_always": True})
    for _ in range(2):
        got = compiled(x)
        assert looked_at(got, x) == looked_at(expected, x)
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    if "empty" not in array or function is not loop_over_a_copy:
        assert compiled.stats()["plan_runs"] >= 1
