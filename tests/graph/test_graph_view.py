"""pycompile.Graph: what a backend or a curious user finds in it."""

import gc
import weakref

import numpy as np

from pycompile._C import Graph, op_table, op_ufuncs

TEXT = """\
%0: f32[4,5] = input(0)
%1: int = const(0)
%2: int = const(3)
%3: int = const(1)
%4: f32[4,5]{4,16}+8 = transpose(%0, axes=[1, 0])  # dir/model.py:12
%5: object = loop(%1, %2, %3, %0) {
  params %6: int, %7: f32[4,5]
  %8: f32[4,5] = negative(%7)  # dir/model.py:13
  results %8
}
%9: f32[4,5] = result(%5, index=0)
%10: f32[5] = sum(%9, axes=[0])
%11: f32[4,5] = scatter(%9, %10, view=[5]+20)
outputs %11, %4
"""


def test_nodes():
    graph = Graph.parse(TEXT)
    view, loop, total, scatter = (graph.nodes[i] for i in (4, 5, 7, 8))
    assert (view.op, view.kind, view.args) == ("transpose", "view", (graph.nodes[0],))
    assert (view.shape, view.strides, view.offset, view.storage) == ((4, 5), (4, 16), 8, 0)
    assert (view.dtype, view.form, view.ints) == ("float32", "array", (1, 0))
    assert (view.file, view.line) == ("dir/model.py", 12)
    assert str(view) == "%4: f32[4,5]{4,16}+8 = transpose(%0, axes=[1, 0])"
    (body,) = loop.regions
    assert [node.op for node in body.nodes] == ["negative"]
    assert body.results == (body.nodes[0],) and body.params[1] is body.nodes[0].args[0]
    assert total.ints == (0,) and total.keepdims is False
    assert scatter.view == ((5,), (4,), 20)
    assert graph.outputs == (scatter, view) and graph.inputs == (graph.nodes[0],)
    assert graph.nodes[2].object == 3 and graph.nodes[2].form == "python"


def test_str_reads_back():
    assert str(Graph.parse(TEXT)) == TEXT


def test_print_tabular(capsys):
    assert Graph.parse(TEXT).print_tabular() is None
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["node", "op", "type", "args", "line"]
    assert lines[5].split() == "%4 transpose f32[4,5]{4,16}+8 (%0, axes=[1, 0]) model.py:12".split()
    assert lines[8].startswith("  %7")
    assert len(lines) == 13


def test_to_dot():
    dot = Graph.parse(TEXT).to_dot()
    assert dot.startswith("digraph {") and dot.endswith("}\n")
    assert "n0 -> n4;" in dot and "n11 [peripheries=2];" in dot
    assert 'n4 [label="%4: f32[4,5]{4,16}+8 = transpose(%0, axes=[1, 0])"];' in dot


def test_a_graph_in_a_cycle_is_collected():
    class Holder:
        pass

    holder = Holder()
    holder.graph = Graph.parse("%0: object = const(@0)\noutputs", [holder])
    seen = weakref.ref(holder)
    del holder
    gc.collect()
    assert seen() is None


def test_op_table_names_ufuncs_that_numpy_has():
    table = op_table()
    assert op_ufuncs() == {row["name"]: row["ufunc"] for row in table if row["ufunc"]}
    assert len(table) >= 80 and len({row["name"] for row in table}) == len(table)
    for row in table:
        if row["ufunc"] and row["name"] != "clip":
            assert isinstance(getattr(np, row["ufunc"]), np.ufunc)
