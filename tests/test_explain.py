"""explain(): what it counts and shows, as text, as a dict and as HTML."""

import json

import numpy as np
import pytest

import pycompile

X = np.linspace(0.0, 1.0, 12).reshape(3, 4)


def one_graph(x, bias):
    return np.tanh(x + bias).sum(axis=1)


def with_break(x):
    y = x * 2
    print("inside")
    return y + 1


def test_one_graph():
    found = pycompile.explain(one_graph)(X, X[0])
    assert len(found.graphs) == 1 and found.breaks == [] and found.error is None
    text = str(found)
    assert text.startswith("one_graph: 1 graph, 0 breaks, ")
    assert "tanh" in str(found.graphs[0]) and "tanh" in text
    assert found.guards and any("x" in guard for guard in found.guards)
    assert found.kernels >= 1


def test_breaks_name_the_line(capsys):
    found = pycompile.explain(with_break)(X)
    assert capsys.readouterr().out == "inside\n"
    assert len(found.breaks) == 1
    item = found.breaks[0]
    line = with_break.__code__.co_firstlineno + 2
    assert item["line"] == line and item["file"] == __file__
    assert item["code"].startswith("PC") and item["text"]
    assert f"{__file__}:{line}" in str(found) and item["code"] in str(found)


def test_as_a_dict():
    found = pycompile.explain(with_break)(X).to_dict()
    assert found["function"] == "with_break" and found["graphs"] >= 1
    json.dumps(found)


def test_as_html():
    html = pycompile.explain(lambda x: x + (x < 1))(X)._repr_html_()
    assert "<details>" in html and "&lt;lambda&gt;" in html


def test_an_exception_is_kept():
    def f(x):
        y = x + 1
        raise ValueError("here", y.shape)

    found = pycompile.explain(f)(X)
    assert isinstance(found.error, ValueError)
    assert "raised ValueError: ('here', (3, 4))" in str(found)


def test_compiled_functions_and_methods():
    compiled = pycompile.compile(one_graph)
    assert len(pycompile.explain(compiled)(X, X[0]).graphs) == 1
    assert (compiled(X, X[0]) == one_graph(X, X[0])).all()


def test_unknown_settings():
    with pytest.raises(TypeError):
        pycompile.explain(one_graph, colour="red")(X, X)


def test_a_recompile_names_its_guard():
    compiled = pycompile.compile(one_graph)
    compiled(X, X[0])
    pycompile._C.report_begin()
    compiled(X[:2, :3], X[0, :3])
    records = pycompile._C.report_end()
    assert records and "x" in records[0]["recompile"] and "now" in records[0]["recompile"]


def test_why_there_is_nothing():
    @pycompile.disable
    def left(x):
        return x + 1

    def generator(x):
        yield x

    for function, text in (
        (left, "pycompile.disable"),
        (generator, "generator"),
        (len, "bytecode"),
    ):
        assert text in str(pycompile.explain(function)([1.0] if function is len else 1.0))
