"""again: what kernels far apart read is computed again, on a device, where that moves fewer bytes."""

import pytest

from pycompile._C import Graph, graph_pass

pytest.importorskip("cupy")

TEXT = """%0: f16@cuda[1024,1024] = input(0)
%1: f16@cuda[1024,1024] = input(1)
%2: f16@cuda[1024,1024] = extern(%0, %1, object=_operator.matmul)
%3: f32@cuda[1024,1024] = cast(%2)
%4: f32@cuda[1024,1024] = tanh(%3)
%5: f16@cuda[1024,1024] = cast(%4)
%6: f16@cuda[1024,1024] = extern(%5, %1, object=_operator.matmul)
%7: f32@cuda[1024,1024] = cast(%6)
%8: f32@cuda[1024,1024] = multiply(%7, %4)
%9: f32@cuda[1024,1024] = add(%8, %3)
outputs %9
"""


def test_it_is_made_of_what_is_in_memory():
    after = str(graph_pass(TEXT, "again"))
    assert "%10: f32@cuda[1024,1024] = cast(%2)\n%11: f32@cuda[1024,1024] = tanh(%10)" in after
    assert "multiply(%7, %11)" in after and "add(%8, %10)" in after


SCATTER = "%5: f16@cuda[1024,1024] = scatter(%2, %1, view=[1024,1024])"


@pytest.mark.parametrize(
    "old, new",
    [
        ("extern(%5, %1, object=_operator.matmul)", "multiply(%5, %1)"),  # one kernel
        ("@cuda", ""),  # the host
        ("1024", "64"),  # small
        ("outputs %9", "outputs %3, %4, %9"),  # kept anyway
        ("= tanh(%3)", "= multiply(%3, %10)"),  # of more bytes
        ("%5: f16@cuda[1024,1024] = cast(%4)", SCATTER),  # overwritten
    ],
)
def test_what_stays(old, new):
    text = TEXT.replace(old, new)
    text = text.replace("add(%8, %3)", "add(%8, %8)")
    text = text.replace("%2: f16", "%10: f32@cuda[1024,1024] = input(2)\n%2: f16")
    assert old in TEXT
    assert str(graph_pass(text, "again")) == str(Graph.parse(text))
