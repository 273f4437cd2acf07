"""Unpacking rows that are computed, and slices, in kept loops."""

import numpy as np
import pytest

from tests.differential import check
from tests.reports import stays

NODES = np.random.default_rng(0).normal(size=(50, 2))
ENDS = np.arange(400) * 7 % 50
WIDE = np.random.default_rng(1).normal(size=(400, 6))


def length_of_edges(nodes, ends):
    total = 0.0
    for k in range(len(ends) - 1):
        x, y = nodes[ends[k + 1]] - nodes[ends[k]]
        total += np.sqrt(x * x + y * y)
    return total


def by_counters(nodes, n):
    total = 0.0
    for i in range(n):
        a, b = i % 7, i % 3
        c, s = nodes[b] - nodes[a]
        total += c * s
    return total


def squares(nodes, ends):
    total = 0.0
    for k in range(len(ends) - 1):
        x, y = (nodes[ends[k + 1]] - nodes[ends[k]]) ** 2
        total += x + y
    return total


def scaled(nodes, ends, factor):
    out = np.zeros(len(ends))
    for k in range(len(ends)):
        x, y = -nodes[ends[k]] * factor + 1.5
        out[k] = x / (y * y + 1)
    return out


def slices(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        p, q = a[i, 1:3]
        r, s = a[i, 2:4] + a[i, 4:]
        t, u = a[i, ::3] * 2
        out[i] = p * q + r - s + t / u
    return out


def writes_what_it_reads(a):
    for i in range(1, len(a)):
        x, y = a[i, :2] + a[i - 1, :2]
        a[i, 0] = y
        a[i, 1] = x * 0.5
    return a


def falls_between(points):
    n = 0
    for i in range(len(points) - 1):
        x, y = points[i + 1] - points[i]
        if x > y:
            u, v = points[i] + points[i + 1]
            if u > v:
                n += 1
    return n


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_are_computed(dtype):
    nodes, wide = NODES.astype(dtype), WIDE.astype(dtype)
    check(length_of_edges, nodes, ENDS, whole=True)
    check(by_counters, nodes, 3000, whole=True)
    check(squares, nodes, ENDS, whole=True)
    check(scaled, nodes, ENDS, 0.3, whole=True)
    check(scaled, nodes, ENDS, dtype(0.3), whole=True)
    check(slices, wide, whole=True)
    check(writes_what_it_reads, wide, whole=True)
    check(falls_between, nodes, whole=True)


def of_ints(a):
    total = 0
    for i in range(len(a) - 1):
        x, y = a[i + 1] - a[i]
        total += int(x) * int(y)
    return total


def slices_of_ints(a):
    total = 0
    for i in range(len(a)):
        x, y = a[i, :2]
        total += int(x) * int(y)
    return total


@pytest.mark.slow
def test_rows_of_ints():
    a = (NODES * 100).astype(np.int32)
    check(of_ints, a)
    check(slices_of_ints, a, whole=True)


def of_functions(a):
    total = 0.0
    for i in range(len(a)):
        x, y = np.exp(a[i])
        total += x - y
    return total


def test_functions_of_rows():
    check(of_functions, NODES)


def of_three(a):
    total = 0.0
    for i in range(len(a) - 1):
        x, y, z = a[i + 1] - a[i]
        total += x * y * z
    return total


def test_another_number_of_elements():
    check(of_three, NODES, captured=False)
    check(of_three, WIDE[:, :3], also=[(WIDE[:, :4],), (WIDE[:, 1:4],)], whole=True)


def divides(a, b):
    total = 0.0
    for i in range(len(a)):
        x, _ = a[i] / b[i]
        total += x
    return total


def test_floating_point_flags_of_all_elements():
    b = np.ones_like(NODES)
    check(divides, NODES, b, whole=True)
    b[20, 1] = 0
    check(divides, NODES, b)
    b[20, 0] = 0
    check(divides, NODES, b)


def takes_one(nodes, ends):
    total = 0.0
    for k in range(len(ends) - 1):
        d = nodes[ends[k + 1]] - nodes[ends[k]]
        total += d[0] * d[1]  # here
    return total


def test_a_subscript_of_a_computed_row():
    stays(takes_one, NODES, ENDS)
