"""copies: what the array library would copy on a device is copied by a kernel, or stored so at once."""

import pytest

from pycompile._C import Graph, graph_pass

pytest.importorskip("cupy")

TEXT = """%0: f32@cuda[2,3,4] = input(0)
%1: f32@cuda[4,2,3]{4,48,16} = transpose(%0, axes=[2, 0, 1])
%2: i64 = const(24)
%3: f32@cuda[24] = extern(%1, %2, object=cupy.reshape)
%4: f32@cuda[8]+16 = slice(%3, ints=[4, 12, 1])
%5: f32@cuda[8] = sqrt(%4)
outputs %3, %5
"""


def test_a_reshape_is_a_view_of_a_copy():
    after = str(graph_pass(TEXT, "copies"))
    assert "f32@cuda[4,2,3] = copy(%1)" in after
    assert "%3: f32@cuda[24] = reshape(%6" in after


def test_the_graph_is_as_before_where_orders_are_asked_for():
    text = TEXT.replace("%2: i64 = const(24)", "%2: i64 = const(24)\n%6: object = const('F')")
    text = text.replace("extern(%1, %2,", "extern(%1, %2, %6,")
    assert str(graph_pass(text, "copies")) == str(Graph.parse(text))


@pytest.mark.parametrize(
    "old, new",
    {
        "another function": ("cupy.reshape", "cupy.sort"),
        "the host": ("@cuda", ""),
        "a shape that is computed": ("%2: i64 = const(24)", "%2: i64 = input(1)"),
    }.values(),
)
def test_what_stays(old, new):
    text = TEXT.replace(old, new)
    assert text != TEXT
    assert str(graph_pass(text, "copies")) == str(Graph.parse(text))
