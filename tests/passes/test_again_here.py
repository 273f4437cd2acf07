"""again_here: on the host, what kernels far apart read of much smaller arrays is computed again."""

import numpy as np
import pytest
from differential import check

from pycompile._C import Graph, graph_pass

TEXT = """%0: f64[200,3] = input(0)
%1: f64[200,1,3]{24,0,8} = slice(%0, ints=[0, 200, 1, 0, 3, 1])
%2: f64[200,200,3] = subtract(%1, %0)
%3: f64[200,200] = sum(%2, axes=[2])
%4: f64[200,200,1] = reshape(%3, ints=[200, 200, 1])
%5: f64[200,200,3] = multiply(%4, %2)
outputs %5
"""


def test_each_reader_computes_it():
    assert str(graph_pass(TEXT, "again_here")).count("subtract(%1, %0)") == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("200", "20"),  # small
        ("outputs %5", "outputs %2, %5"),  # in memory anyway
        ("subtract(%1, %0)", "divide(%1, %0)"),  # dear
        ("multiply(%4, %2)", "multiply(%2, %2)"),  # one kernel
        ("subtract(%1, %0)", "subtract(%9, %0)"),  # of as many bytes
    ],
)
def test_what_stays(old, new):
    text = TEXT.replace(old, new).replace(
        "%1: f64[200,1", "%9: f64[200,200,3] = input(1)\n%1: f64[200,1"
    )
    assert old in TEXT and str(graph_pass(text, "again_here")) == str(Graph.parse(text))


def forces(x):
    d = x[:, None, :] - x
    r = np.sqrt((d * d).sum(axis=2) + 0.01)
    x[0] = 3.0
    return (d / r[:, :, None]).sum(axis=0), (d * r[:, :, None]).max(axis=(0, 1))


def test_values_and_flags():
    points = np.random.default_rng(0).normal(size=(60, 3))
    check(forces, points)
    check(forces, points * 1e308)  # overflow: a warning of the difference
