"""attention: products around a softmax on a device become one node; anything else stays as it is."""

import pytest

from pycompile._C import Graph, graph_pass

TEXT = """%0: f16@cuda[2,128,64] = input(0)
%1: f16@cuda[2,256,64] = input(1)
%2: f16@cuda[2,256,64] = input(2)
%3: f16@cuda[2,64,256]{32768,2,128} = transpose(%1, axes=[0, 2, 1])
%4: f16@cuda[2,128,256] = extern(%0, %3, object=_operator.matmul)
%5: f16 = const(0.125)
%6: f16@cuda[2,128,256] = multiply(%4, %5)
%7: f16@cuda[2,128] = max(%6, axes=[2])
%8: f16@cuda[2,128,1] = expand_dims(%7, axes=[2])
%9: f16@cuda[2,128,256] = subtract(%6, %8)
%10: f16@cuda[2,128,256] = exp(%9)
%11: f16@cuda[2,128] = sum(%10, axes=[2])
%12: f16@cuda[2,128,1] = expand_dims(%11, axes=[2])
%13: f16@cuda[2,128,256] = divide(%10, %12)
%14: f16@cuda[2,128,64] = extern(%13, %2, object=_operator.matmul)
outputs %14
"""


def test_the_score_is_a_region_in_single_precision():
    after = str(graph_pass(TEXT, "attention"))
    assert [node.op for node in graph_pass(TEXT, "attention").nodes] == [
        *("input", "input", "input", "transpose", "const", "attention")
    ]
    assert "attention(%0, %3, %2, %5) {" in after
    assert "f32@cuda[2,128,256] = multiply(%15, %18)" in after


@pytest.mark.parametrize(
    "old, new",
    {
        "another axis": ("sum(%10, axes=[2])", "sum(%10, axes=[1])"),
        "another maximum": ("max(%6, axes=[2])", "max(%4, axes=[2])"),
        "the weights are wanted": ("outputs %14", "outputs %14, %13"),
        "no softmax": ("divide(%10, %12)", "multiply(%10, %12)"),
        "another function": ("%13, %2, object=_operator.matmul", "%13, %2, object=_operator.add"),
        "the host": ("@cuda", ""),
    }.values(),
)
def test_what_stays(old, new):
    text = TEXT.replace(old, new)
    if old.startswith("sum"):
        text = text.replace("%11: f16@cuda[2,128]", "%11: f16@cuda[2,256]")
        text = text.replace(
            "%12: f16@cuda[2,128,1] = expand_dims(%11, axes=[2])",
            "%12: f16@cuda[2,1,256] = expand_dims(%11, axes=[1])",
        )
    assert text != TEXT
    assert str(graph_pass(text, "attention")) == str(Graph.parse(text))
