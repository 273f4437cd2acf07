"""overwritten: versions whose elements later writes replace are not made."""

import numpy as np
import pytest
from differential import check
from passes.rewritten import graph, ops

WHOLE, ROWS, ROW, COLUMN = "view=[4,3]", "view=[2,3]{24,8}+24", "view=[3]+24", "view=[4]{24}+8"


def versions(*lines, outputs):
    """What makes versions, behind `overwritten`."""
    text = graph("f64[4,3] = input(0)", "f64 = input(1)", *lines, outputs=outputs)
    return [op for op in ops(text, "forward", "overwritten") if op in ("scatter", "full", "empty")]


def two_writes(root, first, second, *reads, outputs="%4"):
    return versions(
        "f64[4,3] = negative(%0)",
        f"f64[4,3] = scatter({root}, %1, {first})",
        f"f64[4,3] = scatter(%3, %1, {second})",
        *reads,
        outputs=outputs,
    )


@pytest.mark.parametrize("root", ["%0", "%2"])
@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        (ROW, ROW, 1),
        (ROW, ROWS, 1),
        (ROWS, WHOLE, 1),
        (ROWS, ROW, 2),  # a row of the first write stays
        (ROW, COLUMN, 2),
        (COLUMN, WHOLE, 1),
    ],
)
def test_a_write_that_another_covers(root, first, second, count):
    assert two_writes(root, first, second).count("scatter") == count


def test_what_is_read_in_between_is_made():
    read = "f64[4,3] = sqrt(%3)"
    assert two_writes("%2", ROW, ROWS, read, outputs="%4, %5") == ["scatter"] * 2


def test_the_whole_of_a_fresh_array():
    """A new array, whatever the value is computed from."""
    lines = [
        "f64[4,3] = full(%1)",
        f"f64[4,3] = scatter(%2, %1, {ROW})",
        "f64[4,3] = add(%3, %0)",
        f"f64[4,3] = scatter(%3, %4, {WHOLE})",
    ]
    made = ["full", "scatter", "empty", "scatter"]
    assert versions(*lines, outputs="%5") == made
    again = ["f64[4,3] = add(%5, %0)", f"f64[4,3] = scatter(%5, %6, {WHOLE})"]
    assert versions(*lines, *again, outputs="%7") == made


def counter(a):
    """Each version is replaced as a whole."""
    n = np.zeros(a.shape, np.int64)
    for k in range(6):
        n[a > k] += 1
    return n


def rows_again(a):
    b = np.empty_like(a)
    b[:] = 3.0
    b[1:] = a[1:] * 2
    b[0] = 1.0
    b[:] = b * b + a
    b[1:3] = 0.0
    b[1:4] = a[:3]
    return b, b[::-1]


def argument(a, b):
    a[1:3] = b[1:3]
    a[1:4] = b[:3] + 1
    a[:] = a * b
    t = a[2] + 1
    a[:] = b
    return t


def half(a, b):
    """A write in an arm of a branch."""
    c = a + 1.0
    if b.sum() > 0:
        c[:] = b
    c[:2] = a[:2]
    c[:] = c * 2
    return c


@pytest.mark.parametrize("shape", [(5, 4), (200, 300)])
@pytest.mark.parametrize("function", [counter, rows_again, argument, half])
def test_programs(function, shape):
    random = np.random.default_rng(0)
    arrays = random.normal(3, 2, (function.__code__.co_argcount, *shape))
    for dtype in ("f4", "f8"):
        check(function, *arrays.astype(dtype))
