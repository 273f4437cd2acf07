"""products: calls that multiply matrices on a device take with them what is done with each element."""

import pytest

from pycompile._C import Graph, graph_pass

BIAS, RESIDUAL, RELU, GELU = 1, 2, 4, 8
INPUTS = """%0: f16@cuda[24,16] = input(0)
%1: f16@cuda[16,40] = input(1)
%2: f16@cuda[40] = input(2)
%3: f16@cuda[24,40] = input(3)
%4: f16@cuda[24,40] = extern(%0, %1, object=_operator.matmul)
"""
SUMS = (
    INPUTS
    + """%5: f16@cuda[24,40] = add(%4, %2)
%6: f16@cuda[24,40] = add(%3, %5)
"""
)
GELU_OF_6 = """%7: f16 = const(0.5)
%8: f16 = const(0.7978845608)
%9: f16 = const(0.044715)
%10: f16 = const(3)
%11: f16 = const(1)
%12: f16@cuda[24,40] = power(%6, %10)
%13: f16@cuda[24,40] = multiply(%12, %9)
%14: f16@cuda[24,40] = add(%6, %13)
%15: f16@cuda[24,40] = multiply(%14, %8)
%16: f16@cuda[24,40] = tanh(%15)
%17: f16@cuda[24,40] = add(%16, %11)
%18: f16@cuda[24,40] = multiply(%6, %7)
%19: f16@cuda[24,40] = multiply(%18, %17)
"""


def products(text):
    """Of each product its arguments and its epilogue."""
    made = []
    for line in str(graph_pass(text, "products")).splitlines():
        if " = product(" in line:
            inside = line[line.index("(") + 1 : line.index(")")].split(", ")
            flags = [int(part[9:]) for part in inside if part.startswith("epilogue=")]
            made.append((" ".join(part for part in inside if part[0] == "%"), *(flags or [0])))
    return made


def ops(text):
    return [
        node.op for node in graph_pass(text, "products").nodes if node.op not in ("input", "const")
    ]


def test_addends():
    assert products(INPUTS + "outputs %4\n") == [("%0 %1", 0)]
    assert products(SUMS + "outputs %6\n") == [("%0 %1 %2 %3", BIAS | RESIDUAL)]
    assert ops(SUMS + "outputs %6\n") == ["product"]
    assert products(SUMS.replace("add(%4, %2)", "add(%2, %4)") + "outputs %5\n") == [
        ("%0 %1 %2", BIAS)
    ]
    # a second addend of a kind is a kernel's
    twice = SUMS + "%7: f16@cuda[24,40] = add(%6, %3)\noutputs %7\n"
    assert products(twice) == [("%0 %1 %2 %3", BIAS | RESIDUAL)]
    assert ops(twice) == ["product", "add"]


def test_gelu():
    text = SUMS + GELU_OF_6 + "outputs %19\n"
    assert products(text) == [("%0 %1 %2 %3", BIAS | RESIDUAL | GELU)]
    assert ops(text) == ["product"]


@pytest.mark.parametrize(
    "old, new",
    {
        "another factor": ("const(0.7978845608)", "const(0.79)"),
        "another coefficient": ("const(0.044715)", "const(0.047)"),
        "another power": ("const(3)", "const(2)"),
        "another function": ("tanh(%15)", "sin(%15)"),
        "half of it": ("multiply(%18, %17)", "multiply(%6, %17)"),
        "its argument is wanted": ("outputs %19", "outputs %19, %6"),
        "a value between is wanted": ("outputs %19", "outputs %19, %16"),
    }.values(),
)
def test_what_is_no_gelu(old, new):
    text = (SUMS + GELU_OF_6 + "outputs %19\n").replace(old, new)
    assert old not in text.replace(new, "")
    assert products(text) == [("%0 %1 %2 %3", BIAS | RESIDUAL)]


def test_relu():
    zero = "%7: f16 = const(0)\n%8: f16@cuda[24,40] = maximum(%6, %7)\noutputs %8\n"
    assert products(SUMS + zero) == [("%0 %1 %2 %3", BIAS | RESIDUAL | RELU)]
    assert products(SUMS + zero.replace("maximum", "minimum")) == [("%0 %1 %2 %3", BIAS | RESIDUAL)]
    assert products(SUMS + zero.replace("(0)", "(0.5)")) == [("%0 %1 %2 %3", BIAS | RESIDUAL)]


@pytest.mark.parametrize(
    "old, new",
    {
        "another function": ("_operator.matmul", "_operator.add"),
        "the host": ("@cuda", ""),
        "of which the library has none": ("f16@", "f64@"),
        "rows backwards": ("@cuda[24,16] =", "@cuda[24,16]{-32,2} ="),
        "gaps in rows": ("@cuda[24,16] =", "@cuda[24,16]{64,4} ="),
    }.values(),
)
def test_what_stays(old, new):
    text = SUMS.replace(old, new) + "outputs %6\n"
    assert old not in text
    assert str(graph_pass(text, "products")) == str(Graph.parse(text))


def test_a_product_that_is_wanted_takes_nothing_with_it():
    assert products(SUMS + "outputs %6, %4\n") == [("%0 %1", 0)]
