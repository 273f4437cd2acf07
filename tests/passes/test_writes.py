"""writes: each scatter and each loop says where it writes, behind copies of what is read later."""

import numpy as np
import pytest
from passes.rewritten import graph

from pycompile import _C
from pycompile._C import graph_pass

AT_COMMIT, IN_PLACE = "write=1", "write=2"


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


def test_what_the_library_gave_is_copied_before_it_is_written_where_it_goes_into_an_input():
    """On a device the input itself cannot be copied instead: only kernels at commit write it."""
    text = graph(
        "f64[4] = input(0)",
        "f64[4] = extern(%0, object=numpy.sort)",
        "f64[4] = scatter(%0, %1, view=[4])",
        "f64[4] = negative(%0)",
        "f64[4] = scatter(%1, %3, view=[4])",
        outputs="%2, %4",
    )
    made = lines(text)
    copy = next(line for line in made if "copy(%1, kept=1)" in line).split(":")[0]
    stores = [line for line in made if "scatter" in line]
    assert f"(%0, {copy}, {AT_COMMIT}" in stores[0] and IN_PLACE in stores[1]


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


@pytest.mark.parametrize("outputs, copied", [("%10", False), ("%10, %0", True)])
def test_a_loop_over_an_array_of_unknown_size(outputs, copied):
    """Where its elements are wanted later it is copied: the beginning of the run tells how large it is."""
    text = LOOP + f"outputs {outputs}\n"
    made = lines(text)
    assert [IN_PLACE in line for line in made if "loop(" in line] == [True]
    assert any("copy(%0)" in line for line in made) is copied
    for n in (4, 7):
        x = np.arange(float(n))
        new, *old = _C._run_graph(text, (x,), False)
        assert new.tolist() == [2.0] * 4 + list(range(4, n))
        assert all(array.tolist() == list(range(n)) for array in old)


def test_a_loop_over_a_copy():
    text = LOOP.replace("d0_0=4", "4").replace("d0_0", "4") + "outputs %10, %0\n"
    made = lines(text)
    assert any("copy(%0)" in line for line in made) and any(IN_PLACE in line for line in made)


# ---- large arrays: only what the scatter leaves out is copied ----

ROWS, COLUMNS = 96, 112  # more than 64 KiB


def stencil(root, index):
    """A graph that writes twice a box of the input into a version, which is read; and the box."""
    view = root[index]
    layout = f"[{','.join(map(str, view.shape))}]{{{','.join(map(str, view.strides))}}}"
    offset = view.ctypes.data - root.ctypes.data
    shape = f"f64[{','.join(map(str, root.shape))}]"
    strided = f"{shape}{{{','.join(map(str, root.strides))}}}"
    inner = f"f64[{','.join(map(str, view.shape))}]"
    text = graph(
        f"{strided} = input(0)",
        f"f64{layout}+{offset} = as_strided(%0)",
        f"{inner} = add(%1, %1)",
        f"{strided} = scatter(%0, %2, view={layout}+{offset})",
        f"{strided} = negative(%3)",
        outputs="%3, %4",
    )
    return text, view


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("index", "parts"),
    [
        (np.s_[1:-1, 1:-1], 4),
        (np.s_[:, 3:], 1),
        (np.s_[2:, :], 1),
        (np.s_[5:90, :], 2),
        (np.s_[:-1, 1:], 2),
        (np.s_[::-1, 1:-1], 2),
        (np.s_[1:-1, -2:0:-1], 4),
    ],
)
def test_parts_of_a_large_array_are_copied(order, index, parts):
    x = np.asarray(np.random.default_rng(0).standard_normal((ROWS, COLUMNS)), order=order)
    text, view = stencil(x, index)
    made = lines(text)
    assert sum(IN_PLACE in line for line in made) == parts + 1
    assert not any("copy(" in line for line in made)
    expected = x.copy(order="K")
    expected[index] = view + view
    first, second = _C._run_graph(text, (x,), False)
    assert first.tobytes("A") == expected.tobytes("A")
    assert second.tobytes("A") == (-expected).tobytes("A")


@pytest.mark.parametrize(
    "index",
    [
        np.s_[::2, :],  # no box
        np.s_[:40, :],  # less than half: a copy of the whole is one kernel
    ],
)
def test_a_large_array_that_is_copied_whole(index):
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS))
    text, view = stencil(x, index)
    made = lines(text)
    assert sum(IN_PLACE in line for line in made) == 1
    assert sum("= copy(%0)" in line for line in made) == 1
    expected = x.copy()
    expected[index] = view + view
    assert _C._run_graph(text, (x,), False)[0].tobytes() == expected.tobytes()


def test_parts_are_copied_in_front_of_the_value():
    """So that the value's kernel can store into the copy."""
    text, _ = stencil(np.zeros((ROWS, COLUMNS)), np.s_[1:-1, 1:-1])
    found = [line.split(" = ")[1].split("(")[0] for line in lines(text)[:-1]]
    assert found.index("empty") < found.index("scatter") < found.index("add")
