"""Views that leave a compiled function: strides (axes of length 1 and 0 too) and write flags."""

import warnings

import numpy as np
import pytest
from differential import check
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy_cases import function

import pycompile

BASE = np.arange(20.0).reshape(4, 5)
READONLY = BASE.copy()
READONLY.flags.writeable = False
ARRAYS = {
    "dense": BASE,
    "readonly": READONLY,
    "turned": BASE.T,
    "strided": BASE[::2, 1:],
    "reversed": BASE[::-1],
    "one row, stride 0": np.arange(5.0)[None],
    "one column of a row": BASE[:1].T,
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
}
VIEWS = [
    "np.broadcast_to(x, (3,) + x.shape)",
    "np.broadcast_to(x, (3,) + x.shape)[1:]",
    "np.diagonal(x)",
    "x.T",
    "x[None, ..., None]",
    "np.expand_dims(x, 0)",
    "np.squeeze(x)",
    "x[:1].squeeze()",
    "x.ravel()",
    "x.reshape(-1, 1)",
    "x.reshape(x.shape)",
    "x[:0].reshape(0, 7)",
    "x[:, :0].reshape(5, 0)",
    "x[:0].T",
    "x[:1].T",
    "x[:, :1].reshape(-1, 1, 1)",
    "x[::2, :1].reshape(1, -1)",
    "x[1:1, ::-1]",
    "x[:1] + 1",
    "x[:, :0].T + 1",
    "x[:, :1].sum(axis=1, keepdims=True)",
    "np.exp(x[:1].T)",
]


def seen(value):
    with warnings.catch_warnings():  # asking for the flag of some views warns
        warnings.simplefilter("ignore")
        writeable = value.flags.writeable
    return value.shape, value.strides, value.dtype, writeable, value.base is None


def same_layout(case, *args):
    plain = case(*args)
    compiled = pycompile.compile(case)
    for _ in range(2):
        for expected, actual in zip(plain, compiled(*args), strict=True):
            assert seen(actual) == seen(expected)
            assert actual.tobytes() == expected.tobytes()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_views_of_inputs_and_of_results(array):
    for view in VIEWS:
        same_layout(function(view, "x * 2"), array, None)
        same_layout(function("x = x * 2", view, "x"), array, None)


def test_rows_of_one_row_arrays_are_told_apart():
    """C-contiguous both, but the first axis has another stride."""
    case = function("x * 2", "x[:1]")
    compiled = pycompile.compile(case)
    for array in (np.ones((1, 5)), np.ones(5)[None], np.ones((1, 5))):
        assert compiled(array, None)[1].strides == array.strides


def test_squeeze_of_nothing_gives_the_array_itself():
    case = function("x * 2", "np.squeeze(x)")
    assert pycompile.compile(case)(BASE, None)[1] is BASE


def test_a_write_through_a_broadcast_view_is_refused():
    case = function("z = x * 2", "np.broadcast_to(z, (3, 4, 5))[0] = 1", "z")
    with pytest.raises(ValueError, match="read-only"):
        pycompile.compile(case)(BASE, None)


def random_layout(seed):
    """An array whose axes lie in any order in memory, some of length 1 or repeated by stride 0."""
    random = np.random.default_rng(seed)
    rank = random.integers(2, 5)
    shape = random.choice([1, 1, 2, 3], rank)
    strides, step = np.zeros(rank, int), 8
    for axis in random.permutation(rank):
        strides[axis], step = step, step * shape[axis]
    strides = np.where(random.random(rank) < 0.2, 0, strides)
    odd = (shape == 1) & (random.random(rank) < 0.3)
    strides = np.where(odd, random.choice([8, 80, 800], rank), strides)
    return as_strided(np.arange(1000.0), shape, strides), tuple(
        int(axis) for axis in np.flatnonzero(random.random(rank) < 0.5)[: rank - 1]
    )


def written_twice(w, y):
    """Where elements share memory, only the last one written is read."""
    w[...] = y
    w *= 2
    return w + 1


def overlapping_view(x, y):
    w = as_strided(x * 2, y.shape, (8, 8))
    return written_twice(w, y), w


def overlapping_windows(x, y):
    w = sliding_window_view(x * 2, 2, writeable=True)
    w[...] = 3
    w *= y[:, :1]
    return w + 1


@pytest.mark.parametrize("length", [6, 300, 20000])
def test_writes_to_arrays_that_overlap_themselves(length):
    x, y = np.arange(length + 1.0), np.arange(2.0 * length).reshape(length, 2)
    check(written_twice, as_strided(x, y.shape, (8, 8)), y, captured=False)
    check(written_twice, as_strided(x[-2::-1], y.shape, (-8, 8)), y, captured=False)
    check(overlapping_view, x, y, captured=False)
    check(overlapping_windows, x, y, captured=False)


@pytest.mark.parametrize("strides", [(8, 24), (-8, 24), (48, 16), (16, -48)])
def test_writes_to_arrays_with_gaps(strides):
    x, y = np.arange(100.0), np.arange(6.0).reshape(3, 2)
    check(written_twice, as_strided(x[50:], y.shape, strides), y)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_axes_of_a_reduction_in_the_iterators_order(seed, keepdims):
    x, axes = random_layout(seed)

    def reduce(x):
        y = x * 1.0
        return x.max(axis=axes, keepdims=keepdims), (x + y).sum(axis=axes, keepdims=keepdims)

    check(reduce, x)


def test_rows_picked_of_an_array_with_a_new_axis():
    def pick(x):
        wide = x[..., None, :]
        rows = wide[np.array([0, 0, -1])]
        return rows, rows[..., None, :], wide[[1]], np.take(wide, [0, 1], axis=0)[..., None]

    check(pick, np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_scans_of_an_array_with_a_new_axis(dtype):
    def scan(x):
        wide = x[..., None, :]
        return wide.cumprod(axis=-1)[-1], wide.cumsum(axis=0)[..., None], np.cumsum(wide)

    x = np.arange(12).reshape(3, 4).astype(dtype)
    for array in (x, x[::-1], x.T, x[:1]):
        check(scan, array)


@pytest.mark.parametrize("array", [BASE[:, :0], BASE[:0], BASE[:0].T, BASE[:, ::2][2:2]])
def test_a_write_to_no_elements_leaves_the_strides(array):
    for view in ("np.tile(x, 1)", "np.tile(x, 2)", "x.T", "x[:1]", "np.ravel(x, 'K')"):
        same_layout(function("x[:] = 2", view, "x"), array, None)
        same_layout(function("x[:1] = 2", view, "x", "x + 1"), array, None)


LATER = [  # what passes make read `a` behind the write to it
    ("b = a.copy()", "b + 1"),
    ("b = +a", "np.exp(b)"),
    ("b = a.astype('i4')", "b.astype('f8')"),
    ("b = a[1:].astype('i4')", "b.astype('f8')", "b"),
    ("b = a.T.copy()", "c = a.copy()", "a[1] = 0", "d = +a", "b * c.T", "d - 1"),
    ("b = +a", "z = b * 2 if x.sum() > 0 else b - 1", "z"),
]


@pytest.mark.parametrize("lines", LATER)
@pytest.mark.parametrize(
    "made", ["np.tile(np.uint8(x > 2), 2)", "np.tile(x, (2, 1))", "np.kron(x, x)"]
)
def test_results_of_the_library_stay_themselves_when_written(made, lines):
    before = [line for line in lines if " = " in line]
    after = [line for line in lines if " = " not in line]
    case = function(f"a = {made}", *before, "a[0] = 1", "a", *after)
    same_layout(case, BASE, None)
    same_layout(case, -BASE, None)


@pytest.mark.parametrize("rank", [(1, 4), (2, 4)])
def test_joins_with_parts_of_no_elements(rank):
    whole = np.arange(8.0).reshape(2, 4)[: rank[0]]
    empty = np.broadcast_to(whole[:1], (5, 4))[:0]
    for part in (empty, whole[:0], whole[:0].astype("f2"), np.zeros((4, 0)).T):
        for lines in (["np.vstack([x, y])", "np.concatenate([y, x])"], ["np.vstack([y, y])"]):
            same_layout(function(*lines, "x * 2"), whole, part)
