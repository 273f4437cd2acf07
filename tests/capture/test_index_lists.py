"""Lists of ints as indices in loops: a[[k, p]] = a[[p, k]]."""

import numpy as np
import pytest

from tests.differential import check

RNG = np.random.default_rng(2)
H = RNG.integers(0, 7, 12)


def swaps_rows(a, h):
    for i in range(len(h) - 1):
        a[[i % 3, h[i]]] = a[[h[i], i % 3]]
        a[i % 3, 0] += 1


def swaps_elements(x, h):
    for i in range(len(h) - 1):
        p, q = h[i], h[i + 1]
        x[[p, q]] = x[[q, p]]


def turns_three(x, h):
    for i in range(len(h) - 2):
        x[[h[i], h[i + 1], h[i + 2]]] = x[[h[i + 1], h[i + 2], h[i]]]


def of_another(a, b, h):
    for i in range(len(h)):
        a[[i % 4, -1]] = b[[h[i], 0]]


def held(a, h):
    for i in range(len(h)):
        rows = a[[h[i], 0]]
        if h[i] > 2:
            a[[0, h[i]]] = rows


def written_between(a, h):
    for i in range(len(h)):
        rows = a[[h[i], 0]]
        a[0, 0] = i
        a[[0, h[i]]] = rows


def read_only(a, h):
    s = 0.0
    for i in range(len(h)):
        rows = a[[h[i], 0]]
        s += rows.sum() + len(rows)
    return s


def one_for_two(a, h):
    for i in range(len(h)):
        a[[h[i], 0]] = a[[h[i]]]


def bools(x, h):
    for i in range(len(h)):
        x[[True, False]] = x[[i, 0]]


def lu(a, pivots):
    n = a.shape[0]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        pivots[k] = p
        if p != k:
            a[[k, p]] = a[[p, k]]
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]


def parts_of_rows(a, h):
    for i in range(len(h) - 1):
        p, q = h[i], h[i + 1]
        a[[p, q], i % 3 :] = a[[q, p], i % 3 :]
        a[[p, 0, p]] = a[:3] + a[[q, q, 1]]


def converted(x, y, h):
    for i in range(len(h)):
        x[[h[i], 0]] = y[[0, h[i]]]


def grid(rows=7, columns=5, dtype="f8"):
    return RNG.standard_normal((rows, columns)).astype(dtype)


def beyond(at):
    h = H.copy()
    h[at] = 7
    return h


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_rows(dtype):
    a, b = (RNG.integers(-9, 9, (2, 7, 5)) * 1.5).astype(dtype)
    also = [(a.T.copy().T, H), (a[::-1], H), (a[:, :0], H), (a, H - 7), (a, beyond(4)), (a[:2], H)]
    check(swaps_rows, a, H, also=also[:1], captured=dtype != "i4")
    check(swaps_rows, a, H, also=also, captured=False)
    check(of_another, a, b, H, whole=True, also=((a, b[:, :3], H), (a, a, H), (a, b, beyond(5))))
    check(held, a, H, also=((a, beyond(3)),))


def test_elements():
    x = RNG.standard_normal(7)
    for function in (swaps_elements, turns_three):
        check(
            function, x, H, whole=True, also=((x[:0], H), (x, beyond(6)), (x, H - 7), (x[::-1], H))
        )


def test_parts_of_rows():
    """Overlapping values, the same row twice, other layouts."""
    a = grid()
    also = ((a[::-1], H), (a.T.copy().T, H), (a, H - 7), (a, beyond(11)), (a[:, ::2], H))
    check(parts_of_rows, a, H, whole=True, also=also)


def test_other_values_and_other_lists():
    check(written_between, grid(), H, whole=True)
    check(read_only, grid(), H, captured=False, also=((grid(), beyond(2)),))
    check(one_for_two, grid(), H, captured=False)
    check(bools, grid()[0], H[:4] % 4, captured=False)
    for dtypes in ("i4", "f8"), ("f8", "f4"), ("u1", "i8"):
        x, y = (grid()[0].astype(dtype) for dtype in dtypes)
        check(converted, x, y, H % 5, captured=False)


def test_lu_is_one_plan():
    check(lu, grid(9, 9), np.zeros(9, int), whole=True)
