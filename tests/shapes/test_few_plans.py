"""What NumPy decides by lengths without the program's seeing it, and calls and expressions whose
lengths follow from others: one plan for all lengths, with plain's results for 0, 1, 2, 3, primes."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from differential import differences, observe
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import pycompile

LENGTHS = (9, 5, 2, 13, 3, 1, 8, 0, 31)
SEVERAL = ((9, 4), (5, 7), (13, 8), (31, 5), (8, 13))
PLANS = {"options": {"plan_always": True, "recompile_limit": 100}}


def array(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def square(n):
    return (array(n, n),)


def matrices():
    return [(array(n, m),) for n, m in zip(LENGTHS, (*LENGTHS[4:], *LENGTHS[:4]))]


def vectors():
    return [(array(n),) for n in LENGTHS]


def plans_of(function, calls, dynamic=True):
    pycompile.reset()
    compiled = pycompile.compile(function, dynamic=dynamic, **PLANS)
    for args in calls:
        plain = observe(function, copy.deepcopy(args), {})
        assert differences(plain, observe(compiled, args, {})) == [], [np.shape(a) for a in args]
    return compiled.stats()["plans"]


# ---- reshapes that are views for one element, and copies from two on ----


def merged(x):
    y = (x * 2).reshape(*x.shape, 1).repeat(3, 2).transpose(1, 0, 2)
    return y.reshape(y.shape[0], -1) + 1


def heads(x):
    return (x + 1).transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1) * 2


def columns(x):
    return x.T.reshape(-1) * 2, x.T.ravel() + 1


def test_a_copy_that_nobody_tells_from_a_view_has_one_plan():
    assert plans_of(columns, matrices()) == 1
    assert plans_of(heads, [(array(b, 4, n, 2),) for b, n in zip(LENGTHS, LENGTHS[::-1])]) == 1
    assert plans_of(merged, matrices()) <= 2


# ---- sums of columns, which NumPy adds pairwise where there is one alone ----


def sums(x):
    y = np.exp(x)
    return x.sum(axis=0), (x.T * 2 + 1).sum(axis=1), x.mean(axis=0, keepdims=True), y, y.sum(axis=0)


def test_one_column_alone_is_summed_in_numpys_order():
    shapes = [(300, 4), (9, 3), *((n, 1) for n in (1, 7, 8, 129, 1031, 3000)), (1, 1), (1031, 2)]
    for dtype in ("f8", "f4"):
        assert plans_of(sums, [(array(*shape).astype(dtype),) for shape in shapes]) == 1
    assert plans_of(sums, [(array(*shape) * -0.0,) for shape in shapes]) == 1


def rows_of_one(x, b, c):
    return x - b, (x > b) & (x < c), (x * c).sum(axis=0)


def test_rows_of_one_element_are_done_as_one_row():
    shapes = [(9, 4), (5, 3), (1, 1), (1031, 1), (0, 1), (7, 1), (3, 5)]
    assert plans_of(rows_of_one, [(array(n, m), array(m), array(n, 1)) for n, m in shapes]) == 1


# ---- rows that are none ----


def differences_of_rows(x):
    return np.diff(x, axis=0) * 2, (x[1:] * 2).sum(axis=0), np.sort(x[1:] + 1, axis=0)


def test_a_first_axis_of_no_rows_has_the_same_plan():
    shapes = [(5, 4), (9, 6), (1, 4), (0, 3), (1, 1), (2, 3), (2, 2), (1, 0)]
    assert plans_of(differences_of_rows, [(array(n, m),) for n, m in shapes]) == 1


# ---- results that have gaps ----


def places(i):
    rows, columns = np.unravel_index(i, (6, 7))
    return rows * 2 + columns, rows


def test_strides_of_a_result_follow_from_the_trials():
    assert plans_of(places, [(np.arange(n) % 42,) for n in LENGTHS]) == 1


def items(x):
    return x.item(1) + x.item(-1), (x * 2).item((0,)), x[:1].sum(axis=1).item()


def test_an_item_by_a_flat_index_has_one_plan():
    shapes = [(5, 4), (9, 6), (1, 4), (0, 3), (1, 1), (2, 1), (3, 2)]
    assert plans_of(items, [(array(n, m),) for n, m in shapes]) == 1


# ---- what is told of a copy ----


def shown(x):
    return x.T.reshape(-1), x.T.ravel(), x * 2


def written(x):
    y = x.T.reshape(-1)
    y[:1] = 5
    return x * 2


def written_before(x):
    y = x.T.ravel()
    x[:1] = 7
    return y * 2


def kept(x):
    y = x + 1
    z = y.T.reshape(-1)
    return {"z": [z], "sum": z.sum()}


def asked(x):
    y = x.T.reshape(-1)
    return y.base is x, y.flags.owndata, y.strides, np.shares_memory(x, y), y * 2


def chosen(x):
    y = x.T.reshape(-1) if x.sum() > 0 else x.reshape(-1)
    y[-1:] = 0
    return x + 1


@pytest.mark.parametrize("function", [shown, written, written_before, kept, asked, chosen])
def test_a_copy_that_the_program_tells_from_a_view(function):
    for dynamic in (True, None):
        plans_of(function, matrices(), dynamic)


def folded(x, n, m):
    return x.transpose(0, 2, 1).reshape(n * m, 3) * 2, x.transpose(2, 0, 1).reshape(m, -1) + 1


def test_lengths_that_a_reshape_compares():
    calls = [(array(n, 3, m), n, m) for n, m in zip(LENGTHS, LENGTHS[::-1])]
    assert plans_of(folded, [(array(n, 3, m), n, m) for n, m in SEVERAL]) == 1
    plans_of(folded, calls)
    plans_of(folded, calls, None)


# ---- steps and bits ----


def stepped(x):
    n = len(x)
    y = x * 2
    y[:: n // 4 + 1] += 1
    return x[:: n // 3 + 1] * 2, y[n // 2 :: -(n // 5 + 1)] - 1, y


def strided(x, k):
    return x[::k] * 2, x[:, ::k] + 1


def bits(x):
    n = len(x)
    half = (x[: n >> 1] * 2, np.zeros(n << 1), x[: n & ~3].reshape(-1, 4).sum(axis=1))
    return half if n & 1 == 0 and -n & 3 < 4 else (x + (n & 7), *half)


def test_steps_and_bits_of_lengths():
    assert plans_of(stepped, [call for call in vectors() if len(call[0])]) == 1
    plans_of(stepped, vectors(), None)
    assert plans_of(bits, [(array(n),) for n in (9, 13, 31, 97, 5)]) == 1
    plans_of(bits, vectors(), None)


def test_steps_that_are_ints():
    calls = [(array(7, 11), k) for k in (2, 3, 5, 8, 100, 2**40)]
    assert plans_of(strided, calls) <= 2
    for dynamic in (True, None):
        plans_of(strided, [*calls, *((array(7, 11), k) for k in (1, 0, -1, -3, True))], dynamic)


# ---- calls that write ----


def changed(x, y):
    np.copyto(x, y * 2)
    np.fill_diagonal(x, 1.5)
    z = np.around(y, 1)
    np.put(z, [0, -1], [7, 8])
    y.sort(axis=0)
    z[1:].fill(3)
    return z, x.sum(axis=1)


def test_what_calls_write_has_one_plan():
    calls = [(array(n, m), array(n, m) + 1) for n, m in SEVERAL]
    assert plans_of(changed, calls) == 1
    calls += [(array(n, m), array(n, m) + 1) for n, m in ((1, 4), (4, 1), (0, 3), (3, 0), (2, 3))]
    for dynamic in (True, None):
        plans_of(changed, calls, dynamic)
    plans_of(changed, [(array(4, 3), array(3)), (array(5, 3), array(3, 1)), *calls[:3]])


# ---- parts and diagonals ----


def parts(x):
    first, second, third = np.array_split(x, 3)
    left, right = np.hsplit(x[:, : x.shape[1] // 2 * 2], 2)
    head, rest = np.split(x, [len(x) // 3])
    ends = np.array_split(x, (-1, 2), 1)
    halves = np.vsplit(x[: len(x) // 2 * 2], 2)
    return first * 2, second + 1, third.sum(), left + right, halves, head, rest - 1, ends


def test_parts_have_one_plan():
    assert plans_of(parts, [(array(*shape),) for shape in SEVERAL]) == 1
    for dynamic in (True, None):
        plans_of(parts, matrices(), dynamic)


def diagonals(x):
    above = np.diagonal(x, 1)
    return (
        x.diagonal(-1) + 1,
        above,
        above.flags.writeable,
        np.trace(x) + x.T.diagonal(),
        np.diag(x) * 2,
        np.diag(x, -1),
        np.diag(x[0] + 1, 1),
    )


def corner(x):
    y = x.diagonal(0, 1, 0)
    x[0] = 3
    return y * 2, y, x[:, :, None].diagonal(axis1=-1, axis2=0)


def wrong(x):
    x.diagonal()[0] = 3


def test_diagonals_are_views():
    squares = [square(n) for n in (9, 5, 13, 31, 3, 2)]
    assert plans_of(diagonals, squares) == 1
    for function in (diagonals, corner, wrong):
        for dynamic in (True, None):
            plans_of(function, [*squares, square(1), square(0), *matrices()], dynamic)


# ---- views whose strides are given ----


def windows(x):
    rows = sliding_window_view(x[0], 3)
    tiles = sliding_window_view(x, (2, 3))
    return rows.sum(axis=1), rows @ np.ones(3), tiles.mean(axis=(2, 3)), (tiles + 1).max(axis=0)


def windows_left(x):
    tiles = sliding_window_view(x, 2, axis=1)
    thrice = sliding_window_view(x.T, (2, 2), (1, 1), writeable=True)
    return tiles, tiles[1:, ::-1], thrice, thrice * 2, tiles.flags.writeable


def windows_of(x, k):
    return sliding_window_view(x, k).max(axis=1), sliding_window_view(x, (k,))[::2] * 2


def test_windows_have_one_plan():
    shapes = [(array(n, m),) for n, m in SEVERAL]
    assert plans_of(windows, shapes) == plans_of(windows_left, shapes) == 1
    assert plans_of(windows_of, [(array(n), k) for n, k in ((9, 4), (5, 5), (31, 2), (13, 7))]) == 1
    for dynamic in (True, None):
        for function in (windows, windows_left):
            plans_of(function, matrices(), dynamic)
        plans_of(windows_of, [(array(n), k) for n in (7, 2, 1, 0) for k in (3, 1, 0, -1)], dynamic)


def given_strides(x):
    n, m = x.shape
    pairs = as_strided(x, (n * m - 1, 2), (8, 8))
    band = as_strided(x, (min(n, m),), (8 * m + 8,), writeable=False)
    tiles = as_strided(x, (n - 1, m - 1, 2, 2), x.strides * 2)
    return pairs * 2, band, band + 1, tiles.sum(axis=(2, 3)), pairs, pairs[1:]


def written_strides(x, k):
    y = x * 2
    pairs = as_strided(y, (len(x) // 4, 2), (8 * k, 8))
    pairs[:] = 1
    pairs += 1
    return y, pairs, as_strided(y, (len(x) - k + 1, k), (8, 8), writeable=False) + 1


def turned_strides(x, k):
    return as_strided(x, (2, 2), (8 * k, 16)) + 1, as_strided(x[::-1], (2, 2), (-8 * k, -8)) * 2


def test_given_strides_have_one_plan():
    assert plans_of(given_strides, [(array(n, m),) for n, m in SEVERAL]) == 1
    for dynamic in (True, None):
        plans_of(given_strides, [call for call in matrices() if min(call[0].shape) > 1], dynamic)
        calls = [(array(n), k) for n in (9, 13, 31) for k in (2, 3, 1, 4)]
        plans_of(written_strides, calls, dynamic)
        plans_of(turned_strides, calls, dynamic)


def ordered(x):
    y = x[:, ::2]
    return y.T + 1, y.T.copy("K"), sliding_window_view(y, (3, 1)) * 2, y.T[:, :, None] - 1


def test_a_length_of_one_tells_no_order_of_axes():
    calls = [(array(n, m),) for n, m in ((9, 2), (8, 2), (8, 5), (7, 3), (5, 1), (3, 8))]
    for dynamic in (True, None):
        plans_of(ordered, calls, dynamic)


# ---- items of arrays, and what calls make of ints ----


def grids(x):
    i, j = np.indices(x.shape)
    k, width = np.mgrid[: len(x), 1 : x.shape[1] + 1]
    both = np.stack([x, x + 1])
    return i * j + k, [y * width for y in both], np.ogrid[: x.shape[1]] * 2, np.sum([*both], axis=0)


def triangles(x):
    rows, columns = np.triu_indices(len(x), 1)
    below = x[np.tril_indices(len(x))]
    return x[rows, columns] * 2, below + 1, (x * 2 if x.size * len(x) else x)


def drawn(x):
    rng = np.random.default_rng(3)
    order = rng.permutation(len(x))
    kept = rng.random(x.shape) < 0.5
    return x[order] * kept + rng.normal(size=x.shape[1])


def grouped(x):
    labels = (x[:, 0] * 3).astype(int)
    found, each = np.unique(labels, return_inverse=True)
    return np.bincount(each, weights=x[:, 0]) / np.bincount(each), found * 2


def test_items_draws_and_groups_have_one_plan():
    for function in (grids, drawn, grouped):
        assert plans_of(function, [(array(n, m),) for n, m in (*SEVERAL, (2, 3), (0, 3))]) == 1
    assert plans_of(triangles, [square(n) for n in (9, 5, 13, 31, 2, 0)]) == 1


# ---- loops whose turns vary ----


def of_items(arrays):
    total = 0.0
    for x in arrays:
        total = total + (x * 2).max()
    return total


def of_rows(x):
    state = np.zeros(x.shape[1])
    for row in x:
        state = np.tanh(row + state)
    return state * 2


def of_the_first(x):
    return [x[i] * 2 for i in range(min(3, len(x)))]


def test_loops_whose_turns_vary_have_few_plans():
    lists = [([array(n + k) for k in range(n % 5)],) for n in range(4, 40, 3)]
    rows = [(array(n, 4),) for n in (*range(3, 30, 3), 5, 1, 2)]
    firsts = [(array(n, 4),) for n in (9, 5, 3, 31, 2, 1, 7)]
    assert plans_of(of_items, lists, True) <= 6
    assert plans_of(of_rows, rows, None) <= 5
    assert plans_of(of_the_first, firsts, True) <= 3


# ---- views alone ----


def view_alone(x, n):
    return x[:: n // 3 + 1]


def test_a_view_alone_has_no_plan():
    assert plans_of(view_alone, [(array(n, 4), n) for n in (9, 13, 31)]) == 0


# ---- axes of one element, which lie as the others are nested ----


def turned(x):
    y = x.T * 2
    return y, y[None, ::-1].T, y.strides, np.rot90(x) + 1, np.where(x.T > 0, x.T, 0)


def turned_twice(t):
    u = t.transpose(2, 0, 1)
    return u + 1, t.transpose(2, 1, 0) * 2, np.zeros_like(u), u.max(axis=0, keepdims=True)


def mixed(t):
    return t[:, 0].T[:, :, None] + t.transpose(2, 0, 1), t.transpose(1, 2, 0).astype(np.float32)


def spread(x):
    return np.broadcast_to(x, (2, *x.shape)), np.broadcast_to(x[:, :1], x.shape) * x.T[:1].T


def test_strides_of_one_element_follow_the_lengths():
    assert plans_of(turned, matrices()) == 1
    cubes = [(array(n, k, m),) for n, m in zip(LENGTHS, LENGTHS[4:] + LENGTHS[:4]) for k in (3, 1)]
    assert plans_of(turned_twice, cubes) == 1
    assert plans_of(mixed, cubes) == 1
    assert plans_of(spread, matrices()) <= 3


def joined(x, y):
    both = np.stack([x, y]), np.concatenate([x.T, y.T]), np.stack([x, y], axis=-1) * 2
    return *both, np.concatenate([x[:, ::2], y[:, ::2]])


def test_arrays_in_fortran_order_are_joined_for_declared_lengths():
    axes = {0: "n", 1: "m"}
    calls = [(np.asfortranarray(array(n, m)),) * 2 for n, m in SEVERAL]
    assert plans_of(joined, calls, {"x": axes, "y": axes}) == 1
    assert plans_of(joined, [(a, a) for (a,) in matrices()]) <= 4


# ---- slices that become empty ----


def reduced(x, a):
    y = x[a:] * 2
    return y.sum(), y.prod(), y.any(), y.all(), y.mean(), x[a:].prod() + 1


def greatest(x, a):
    return (x[a:] * 2).max() - x[a:].min()


def reduced_in_a_loop(x, places):
    out = np.zeros(len(places))
    for i in range(len(places) - 1):
        part = x[places[i] : places[i + 1]] * x[[0]]
        out[i] = part.prod() + part.sum()
    return out


@pytest.mark.parametrize("dtype", [float, np.float32, np.int16])
def test_reductions_of_slices_that_become_empty(dtype):
    x = (array(9) * 4).astype(dtype)
    for function in (reduced, greatest):
        plans_of(function, [(x, a) for a in (1, 3, 8, 9, 12)])
    plans_of(
        reduced_in_a_loop, [(x, np.array(at)) for at in ([0, 3, 5, 9], [0, 4, 4, 8], [2, 2, 2, 2])]
    )
