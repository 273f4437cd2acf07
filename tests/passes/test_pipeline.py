"""The pipeline, and each pass by its name."""

from pathlib import Path

import pytest
from passes.rewritten import graph

from pycompile._C import Graph, graph_pass, pass_names

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("name", pass_names() + pass_names(True))
def test_every_pass_has_its_file_of_tests(name):
    assert (HERE / f"test_{name}.py").exists()
    assert (HERE.parent / "golden" / f"pass-{name}.txt").exists()


def test_all_is_one_after_another():
    text = graph(
        "i64[4] = input(0)",
        "i64 = const(2)",
        "i64 = const(-1)",
        "i64 = add(%1, %2)",
        "i64[4] = multiply(%0, %3)",
        "i64[4] = square(%4)",
        "i64[4] = square(%0)",
        "i64[4] = subtract(%5, %6)",
        outputs="%7",
    )
    each = Graph.parse(text)
    for name in pass_names():
        each = graph_pass(each, name)
    assert str(graph_pass(text, "all")) == str(each)
    assert [node.op for node in each.nodes] == ["input", "square", "subtract"]


def test_an_unknown_pass():
    with pytest.raises(ValueError, match="no pass is called 'vectorize'"):
        graph_pass(graph("f64[4] = input(0)", outputs="%0"), "vectorize")


def test_the_preparation_comes_behind():
    assert pass_names(True) == [
        "functions",
        "loops",
        "moves",
        "overwritten",
        "again_here",
        "arms",
        "concatenate",
        "writes",
        "attention",
        "products",
        "gathers",
        "scans",
        "copies",
        "again",
        "k_major",
        "collectives",
    ]
    assert not set(pass_names()) & set(pass_names(True))
