"""arms: conds of the top region become marks, in a graph that is verified and parses back."""

import numpy as np
import pytest
from passes.rewritten import ops

from pycompile import _C
from pycompile._C import Graph, graph_pass

NESTED = """%0: f64[4] = input(0)
%1: bool = input(1)
%2: bool = input(2)
%3: object = cond(%1, %0) {
  params %4: f64[4]
  %5: object = cond(%2) {
    %6: f64[4] = negative(%4)
    results %6
  } else {
    %7: f64[4] = add(%4, %4)
    results %7
  }
  %8: f64[4] = result(%5, index=0)
  results %8
} else {
  params %9: f64[4]
  results %9
}
%10: f64[4] = result(%3, index=0)
outputs %10
"""


def test_nested():
    assert ops(NESTED, "arms") == [
        *("branch", "branch", "negative", "copy", "otherwise", "add", "copy", "join", "result"),
        *("copy", "otherwise", "copy", "join", "result"),
    ]
    assert str(Graph.parse(str(graph_pass(NESTED, "arms")))) == str(graph_pass(NESTED, "arms"))


@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize("inner", [True, False])
def test_the_arm_that_is_taken(outer, inner):
    x = np.arange(4.0)
    (got,) = _C._run_graph(NESTED, (x, outer, inner), False)
    assert got.tobytes() == ((-x if inner else x + x) if outer else x).tobytes()


@pytest.mark.parametrize(
    "marks, told",
    [
        ("%2: object = join()", "no other arm is before it"),
        ("%2: object = otherwise()", "no branch is before it"),
        ("%2: object = branch(%1)", "a branch has no join"),
        ("%2: object = branch(%1)\n%3: object = join()", "no other arm is before it"),
        (
            "%2: object = branch(%1)\n%3: object = otherwise()\n%4: object = otherwise()",
            "no branch is before it",
        ),
        (
            "%2: object = branch(%1)\n%3: object = otherwise()\n%4: object = join(%0)",
            "a result has a value in one arm only",
        ),
    ],
)
def test_marks_are_nested_like_brackets(marks, told):
    with pytest.raises(SystemError, match=told):
        Graph.parse(f"%0: f64[4] = input(0)\n%1: bool = input(1)\n{marks}\noutputs %0\n")
