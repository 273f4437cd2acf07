"""forward: what was just written is read as the value; what was not touched, from the input."""

import pytest
from passes.rewritten import graph, ops

from pycompile._C import graph_pass


def written(read, outputs="%4"):
    """x[:, 0] = v; then a view of the result as `read` says, under a square root."""
    return graph(
        "f64[4,3] = input(0)",
        "f64[4] = input(1)",
        "f64[4,3] = scatter(%0, %1, view=[4]{24})",
        read,
        "f64[4] = sqrt(%3)",
        outputs=outputs,
    )


def argument(text, of="sqrt"):
    after = graph_pass(text, "forward")
    line = next(line for line in str(after).splitlines() if f"= {of}(" in line)
    return line.partition("(")[2].partition(")")[0]


def test_the_very_place_is_the_value():
    assert argument(written("f64[4]{24} = slice(%2)")) == "%1"


def test_another_column_is_the_inputs():
    text = written("f64[4]{24}+8 = slice(%2)")
    assert argument(text) == "%3"
    assert "%3: f64[4]{24}+8 = as_strided(%0)" in str(graph_pass(text, "forward"))
    assert "scatter" not in ops(text, "forward")


@pytest.mark.parametrize(
    "read",
    [
        "f64[4] = slice(%2)",  # the first four elements: one of them was written
        "f64[4]{8}+8 = slice(%2)",
        "f64[4]{-24}+72 = slice(%2)",  # the same elements, backwards
    ],
)
def test_what_crosses_the_write_reads_the_new_version(read):
    text = written(read)
    assert argument(text) == "%3"
    assert "scatter" in ops(text, "forward")


def test_a_view_that_is_given_stays_one():
    text = written("f64[4]{24}+8 = slice(%2)", outputs="%3, %4")
    assert "%3: f64[4]{24}+8 = slice(%2)" in str(graph_pass(text, "forward"))


def test_older_versions_of_fresh_memory_are_not_kept_alive():
    text = graph(
        "f64[4] = input(0)",
        "f64 = const(0.0)",
        "f64[4,3] = full(%1)",
        "f64[4,3] = scatter(%2, %0, view=[4]{24})",
        "f64[4]{24}+8 = slice(%3)",
        "f64[4] = sqrt(%4)",
        outputs="%5",
    )
    assert "scatter" in ops(text, "forward")


def test_of_two_writes_to_one_place_the_first_goes():
    text = graph(
        "f64[4] = input(0)",
        "f64[4] = input(1)",
        "f64[4] = scatter(%0, %1, view=[4])",
        "f64[4] = scatter(%2, %1, view=[4])",
        outputs="%3",
    )
    assert ops(text, "forward") == ["scatter"]


def test_of_two_writes_to_two_places_both_stay():
    text = graph(
        "f64[4] = input(0)",
        "f64[2] = input(1)",
        "f64[4] = scatter(%0, %1, view=[2])",
        "f64[4] = scatter(%2, %1, view=[2]+16)",
        outputs="%3",
    )
    assert ops(text, "forward") == ["scatter", "scatter"]


@pytest.mark.parametrize("writes", [1, 2, 3, 7, 8, 20, 63, 64, 100])
@pytest.mark.parametrize("hit", [False, True])
def test_past_many_versions(writes, hit):
    """A row that none of the writes touched is read from the input; one that any of them did, not."""
    lines = [f"f64[{writes + 1},3] = input(0)", "f64[3] = input(1)"]
    lines += [
        f"f64[{writes + 1},3] = scatter(%{k + 1 if k else 0}, %1, view=[3]+{24 * k})"
        for k in range(writes)
    ]
    for row in range(writes) if hit else [writes]:
        read = [f"f64[2]+{24 * row} = slice(%{writes + 1})", f"f64[2] = sqrt(%{writes + 2})"]
        text = graph(*lines, *read, outputs=f"%{writes + 3}")
        after = str(graph_pass(text, "forward"))
        assert ("as_strided(%0)" in after) is not hit, row
