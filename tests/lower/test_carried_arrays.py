"""A repeat carries arrays as objects, from a graph's text: lower/repeat.c, runtime/plan_carry.c."""

import numpy as np
import pytest

from pycompile import _C
from pycompile._C import Graph, graph_pass
from pycompile._eager import run

TEXT = """%0: f64[100] = input(0)
%1: int = input(1)
%2: float = input(2)
%3: int = const(0)
%4: int = const(1)
%5: object = repeat(%3, %1, %4, %0, %0, %3, leaves=[2]) {
  params %6: int, %7: f64[100], %8: f64[100], %9: int
  %10: f64[100] = add(%7, %7)
  %11: f64 = sum(%10, axes=[0])
  %12: bool_ = greater(%11, %2)
  %13: bool = py_bool(%12)
  %14: int = const(1)
  %15: int = const(0)
  %16: int = where(%13, %14, %15)
  results %10, %7, %16
}
%17: f64[100] = result(%5, index=0)
%18: f64[100] = result(%5, index=1)
outputs %17, %18
"""


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 50])
@pytest.mark.parametrize("limit", [-1.0, 500.0, 1e300])
def test_turns(turns, limit):
    x = np.ones(100)
    last, before = _C._run_graph(TEXT, (x, turns, limit), False)
    made = turns if limit == 1e300 else min(turns, 3 if limit > 0 else 1)
    assert (last == 2.0**made).all() and (before == 2.0 ** max(made - 1, 0)).all()
    assert (last is x) == (made == 0) and (before is x) == (made < 2)
    assert (x == 1).all()
    for mine, other in zip((last, before), run(Graph.parse(TEXT), [x, turns, limit]), strict=True):
        assert (mine == other).all()


def test_marks():
    text = str(graph_pass(TEXT, "arms"))
    order = [line.split(" = ")[1].split("(")[0] for line in text.splitlines() if " = " in line]
    marks = [name for name in order if name in ("enter", "stay", "again", "repeat")]
    assert marks == ["enter", "stay", "again"]
    assert str(Graph.parse(text)) == text
