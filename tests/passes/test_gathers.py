"""gathers: elements by arrays of integers, which the array library would take, are taken by kernels."""

import pytest

from pycompile._C import Graph, graph_pass

pytest.importorskip("cupy")

TEXT = """%0: f32@cuda[5,6,8] = input(0)
%1: i32@cuda[3,4] = input(1)
%2: int = const(1)
%3: f32@cuda[5,3,4,8] = extern(%0, %1, %2, object=cupy.take)
%4: f32@cuda[5,3,4,8] = sqrt(%3)
outputs %4
"""
FLAT = """%0: f32@cuda[5,6] = input(0)
%1: i32@cuda[7] = input(1)
%2: f32@cuda[7] = extern(%0, %1, object=cupy.take)
%3: f32@cuda[7] = sqrt(%2)
outputs %3
"""


def test_an_axis():
    after = str(graph_pass(TEXT, "gathers"))
    assert "%5: f32@cuda[5,3,4,8]{192,0,0,4} = as_strided(%0)" in after
    assert "%6: i32@cuda[3,4,1] = as_strided(%1)" in after
    assert "gather(%5, %6, ints=[6, 32])" in after


def test_all_elements_in_a_row():
    after = str(graph_pass(FLAT, "gathers"))
    assert "f32@cuda[7]{0} = as_strided(%0)" in after
    assert ", %1, ints=[30, 4])" in after


@pytest.mark.parametrize(
    "old, new",
    {
        "another function": ("cupy.take", "cupy.choose"),
        "the host": ("@cuda", ""),
        "an axis that is computed": ("%2: int = const(1)", "%2: int = input(2)"),
        "integers that may not fit": ("i32", "u64"),
    }.values(),
)
def test_what_stays(old, new):
    text = TEXT.replace(old, new)
    assert text != TEXT
    assert str(graph_pass(text, "gathers")) == str(Graph.parse(text))


def test_of_an_array_that_is_written():
    text = FLAT.replace(
        "outputs %3",
        "%4: f32@cuda[5,6] = sqrt(%0)\n%5: f32@cuda[5,6] = scatter(%0, %4, view=[5,6])\noutputs %3, %5",
    )
    assert str(graph_pass(text, "gathers")) == str(Graph.parse(text))


def test_rows_backwards_are_taken_row_by_row_only():
    text = FLAT.replace("f32@cuda[5,6] =", "f32@cuda[5,6]{-24,4}+96 =")
    assert str(graph_pass(text, "gathers")) == str(Graph.parse(text))
