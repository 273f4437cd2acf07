"""functions: elementary functions become operations in registers, in fast graphs by libmvec."""

import pytest

from pycompile._C import Graph, graph_pass

TEXT = """%0: f32[100] = input(0)
%1: f32[100] = ufunc(%0, object=numpy.{name})
outputs %1
"""


def ops(text):
    return [node.op for node in graph_pass(text, "functions").nodes]


@pytest.mark.parametrize("name", ["sin", "arcsin", "exp", "exp2", "log1p", "cbrt", "tanh"])
def test_elementary_functions(name):
    text = TEXT.format(name=name)
    assert ops(text.replace("outputs", "numerics fast\noutputs")) == ["input", name]
    assert str(graph_pass(text, "functions")) == str(Graph.parse(text))


@pytest.mark.parametrize("name", ["spacing", "deg2rad", "fabs"])
def test_others_are_the_ufuncs(name):
    text = TEXT.format(name=name).replace("outputs", "numerics fast\noutputs")
    assert ops(text) == ["input", "ufunc"]
