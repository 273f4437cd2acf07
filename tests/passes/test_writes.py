"""writes: each scatter and each loop says where it writes, behind copies of what is read later."""

import numpy as np
import pytest
from passes.rewritten import graph

from pycompile import _C
from pycompile._C import graph_pass

AT_COMMIT, IN_PLACE, IMPOSSIBLE = "write=1", "write=2", "write=3"


def lines(text):
    return str(graph_pass(text, "writes")).splitlines()


@pytest.mark.parametrize(
    "reads, where, copied",
    [
        ((), AT_COMMIT, False),
        (("f64[4] = add(%2, %2)",), IN_PLACE, True),  # the version is read: it needs memory
    ],
)
def test_an_input(reads, where, copied):
    rest = ["f64[4] = negative(%0)", "f64[4] = scatter(%0, %1, view=[4])", *reads]
    text = graph("f64[4] = input(0)", *rest, outputs=", ".join(["%2", "%3"][: 1 + len(reads)]))
    made = lines(text)
    assert [where in line for line in made if "scatter" in line] == [True]
    assert any("= empty()" in line for line in made) is copied  # the whole is written: no copy


@pytest.mark.parametrize("later", [True, False])
def test_fresh_memory(later):
    """In place unless the old version is read further on."""
    rest = ["f64[4] = add(%1, %1)"] if later else []
    text = graph(
        "f64[4] = input(0)",
        "f64[4] = negative(%0)",
        "f64[2] = slice(%0, ints=[0, 2, 1])",
        "f64[4] = scatter(%1, %2, view=[2]+8)",
        *rest,
        outputs="%3, %4" if later else "%3",
    )
    made = lines(text)
    assert any("copy(%1)" in line for line in made) is later
    assert sum(IN_PLACE in line for line in made) == 1
    x = np.arange(4.0)
    new = -x
    new[1:3] = x[:2]
    got = _C._run_graph(text, (x,), False)
    assert got[0].tobytes() == new.tobytes()
    if later:
        assert got[1].tobytes() == (-x + -x).tobytes()


def test_what_the_library_gave_is_written_itself_and_what_is_read_later_is_copied():
    text = graph(
        "f64[4] = input(0)",
        "f64[4] = extern(%0, object=numpy.sort)",
        "f64[2] = slice(%0, ints=[0, 2, 1])",
        "f64[4] = scatter(%1, %2, view=[2]+8)",
        "f64[4] = negative(%1)",
        outputs="%3, %4",
    )
    made = lines(text)
    copy = next(line for line in made if "copy(%1, kept=1)" in line)
    assert f"negative({copy.split(':')[0]})" in next(line for line in made if "negative" in line)
    x = np.array([3.0, 1, 2, 0])
    new = np.sort(x)
    new[1:3] = x[:2]
    got = _C._run_graph(text, (x,), False)
    assert got[0].tobytes() == new.tobytes() and got[1].tobytes() == (-np.sort(x)).tobytes()


LOOP = """%0: f64[d0_0=4] = input(0)
%1: int = const(0)
%2: int = const(4)
%3: int = const(1)
%4: object = loop(%1, %2, %3, %0) {
  params %5: int, %6: f64[d0_0]
  %7: float = const(2.0)
  %8: f64 = cast(%7)
  %9: f64[d0_0] = element_store(%6, %5, %8)
  results %9
}
%10: f64[d0_0] = result(%4, index=0)
"""


@pytest.mark.parametrize(
    "rest, where", [("outputs %10\n", IN_PLACE), ("outputs %10, %0\n", IMPOSSIBLE)]
)
def test_a_loop_over_an_array_of_unknown_size(rest, where):
    """It is written in place, or not at all: nobody knows how large a copy would be."""
    assert [where in line for line in lines(LOOP + rest) if "loop(" in line] == [True]
    if where == IMPOSSIBLE:
        with pytest.raises(NotImplementedError, match="old elements are wanted later"):
            _C.lower_graph(LOOP + rest)
    else:
        _C.lower_graph(LOOP + rest)


def test_a_loop_over_a_copy():
    text = LOOP.replace("d0_0=4", "4").replace("d0_0", "4") + "outputs %10, %0\n"
    made = lines(text)
    assert any("copy(%0)" in line for line in made) and any(IN_PLACE in line for line in made)
