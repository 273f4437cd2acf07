"""scans: cumulative sums and products, which the array library would compute, are computed by kernels."""

import pytest

from pycompile._C import Graph, graph_pass

pytest.importorskip("cupy")

TEXT = """%0: i16@cuda[5,6,8] = input(0)
%1: int = const(1)
%2: i64@cuda[5,6,8] = extern(%0, %1, object=cupy.cumsum)
%3: i64@cuda[5,6,8] = square(%2)
outputs %3
"""
FLAT = """%0: f32@cuda[5,6]{4,20} = input(0)
%1: f32@cuda[30] = extern(%0, object=cupy.cumprod)
outputs %1
"""


def test_an_axis():
    after = graph_pass(TEXT, "scans")
    assert [node.op for node in after.nodes] == ["input", "const", "cumsum", "square"]
    assert "%2: i64@cuda[5,6,8] = cumsum(%0, axis=1)" in str(after)
    assert "cumsum(%0, axis=2)" in str(graph_pass(TEXT.replace("const(1)", "const(-1)"), "scans"))
    named = TEXT.replace("%1, object", "%1, kwnames=(axis), object")
    assert "cumsum(%0, axis=1)" in str(graph_pass(named, "scans"))


def test_all_elements_in_a_row():
    after = str(graph_pass(FLAT, "scans"))
    assert "f32@cuda[5,6] = copy(%0)" in after
    assert "reshape(%2" in after
    assert "%1: f32@cuda[30] = cumprod(%3, axis=0)" in after
    assert "copy" not in str(graph_pass(FLAT.replace("{4,20}", ""), "scans"))


def test_a_result_whose_axis_is_the_last_in_memory():
    text = TEXT.replace("%2: i64@cuda[5,6,8]", "%2: i64@cuda[5,6,8]{384,8,48}")
    assert "i64@cuda[5,6,8]{384,8,48} = cumsum(%0, axis=1)" in str(graph_pass(text, "scans"))


@pytest.mark.parametrize(
    "old, new",
    {
        "another function": ("cupy.cumsum", "cupy.diff"),
        "the host": ("@cuda", ""),
        "an axis that is computed": ("%1: int = const(1)", "%1: int = input(1)"),
        "another argument by name": ("%1, object", "%1, kwnames=(dtype), object"),
        "a result in another layout": ("%2: i64@cuda[5,6,8]", "%2: i64@cuda[5,6,8]{8,40,240}"),
        "numbers without a kernel": ("i64@cuda", "c128@cuda"),
    }.values(),
)
def test_what_stays(old, new):
    text = TEXT.replace(old, new)
    assert text != TEXT
    assert str(graph_pass(text, "scans")) == str(Graph.parse(text))
