"""concatenate: an empty array whose parts are written, with the eager executor's bits."""

import numpy as np
import pytest

from pycompile import _eager
from pycompile._C import Graph, graph_pass


@pytest.mark.parametrize("axis", [0, 1])
def test_parts(axis):
    shape, part = ("[6,3]", "[4,3]") if axis == 0 else ("[2,9]", "[2,6]")
    text = f"""%0: f32[2,3] = input(0)
%1: f32{part} = concatenate(%0, %0, axis={axis})
%2: f32{shape} = concatenate(%1, %0, axis={axis})
%3: f32{shape} = negative(%2)
outputs %3, %2
"""
    after = graph_pass(text, "concatenate")
    assert [node.op for node in after.nodes] == [
        *("input", "empty", "scatter", "scatter", "empty", "scatter", "scatter", "negative")
    ]
    x = np.arange(6, dtype="f4").reshape(2, 3)
    joined = np.concatenate([x, x, x], axis)
    for got, expected in zip(_eager.run(after, [x]), (-joined, joined), strict=True):
        assert got.tobytes() == expected.tobytes() and got.shape == expected.shape


def test_without_one_nothing_changes():
    text = "%0: f64[4] = input(0)\n%1: f64[4] = negative(%0)\noutputs %1\n"
    assert str(graph_pass(text, "concatenate")) == str(Graph.parse(text))
