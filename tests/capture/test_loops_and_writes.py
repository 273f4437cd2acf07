"""Writes of whole arrays before and behind kept loops that write in place what these read."""

import numpy as np
import pytest
from differential import check, differences, observe

import pycompile
from pycompile import _C

LOOPS = {
    "row": "for j in range(n): a[1, j] *= 2.0",
    "grid": "for i in range(n):\n        for j in range(n): a[i, j] += i * 0.5 + a[i, j - 1]",
    "while": "j = 0\n    while j < n:\n        a[j, 1] -= 3.0\n        j += 1",
    "both": "for j in range(n):\n        a[1, j] *= 2.0\n        b[j, 0] = a[2, j]",
}
WRITES = [
    "b[k] = a[k]",
    "b[:] = a",
    "a[k] = a[1]",
    "a[:, 0] = b[:, 1]",
    "b[k] = a[k] + 1",
    "b[1:, :] = a[:-1, :]",
    "a[1:, :] = a[:-1, :]",
    "b[k] = a[:, 1][:6]",
    "b[:], a[:] = a, b",
    "b[k, 1] = a[k, 2]",
    "a[a > 5] = 0.0",
    "b += a",
    "b[:] = a[::-1]",
    "np.copyto(b, a)",
    "b[k] = a[k]; a[k] = 7.0; b[0] = a[k]",
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("order", ["loop, write", "write, loop, write, loop"])
@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_writes_beside_a_loop(loop, order, write):
    body = [loop if part == "loop" else write for part in order.split(", ")]
    names = {"np": np}
    exec("\n    ".join(["def f(a, b, n, k):", *body, "return a, b"]), names)
    rng = np.random.default_rng(3)
    a, b = rng.random((2, 7, 6))
    for n in (0, 1, 6, 7):  # 7 is out of bounds
        check(names["f"], a.copy(), b.copy(), n, 2, calls=2, captured=False)


def begins(a, n):
    a[0] *= 2.0
    a[-1], a[3:7] = n, a[7:11]
    s = a.sum()
    a[5] = s
    for i in range(1, n):
        a[i] = a[i - 1] * 0.5 + a[i]
    a[2] = a[n // 2]
    return s, a[:3] + a[5]


@pytest.mark.parametrize("dynamic", [None, True])
def test_small_parts_are_written_in_place(dynamic):
    """The whole array is not copied, and an IndexError behind the writes finds them undone."""
    compiled = pycompile.compile(begins, dynamic=dynamic)
    _C.report_begin()
    for n, size, step in (
        (50, 4000, 1),
        (70, 6000, 1),
        (3001, 3000, 1),
        (90, 9000, -3),
        (90, 12, 1),
    ):
        args = [(np.arange(size)[::step] / 7.0, n) for _ in range(2)]
        assert not differences(observe(begins, args[0], {}), observe(compiled, args[1], {}))
    assert all(record.get("bytes_made", 0) < 1000 for record in _C.report_end())
    assert compiled.stats()["plan_runs"] >= 2
