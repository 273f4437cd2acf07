"""collectives: early, their results late; in place where the memory is of no other use."""

import pytest

from pycompile._C import graph_pass

pytest.importorskip("cupy")

TEXT = """%0: f32@cuda[33,7] = input(0)
%1: object = input(1)
%2: f64@cuda[100] = input(2)
%3: f32 = const(2.0)
%4: f32@cuda[33,7] = multiply(%0, %3)
%5: f64@cuda[100] = square(%2)
%6: object = const('sum')
%7: object = collective(%1, %4, %4, %6, object=pycompile._collectives.all_reduce)
%8: f32@cuda[33,7] = arrive(%7, %4, %4, object=pycompile._collectives.arrived)
%9: f64@cuda[100] = sqrt(%5)
%10: f32@cuda[33,7] = square(%8)
outputs %9, %10
"""


def operations(text):
    after = str(graph_pass(text, "collectives"))
    return [line.partition(" = ")[2].partition("(")[0] for line in after.splitlines()[:-1]], after


def test_work_that_reads_nothing_of_it_is_between():
    names, after = operations(TEXT)
    at = names.index
    assert at("multiply") < at("collective") < at("square") < at("sqrt") < at("arrive")
    assert at("arrive") == len(names) - 2
    assert "arrive(%7, object" in after  # in place


def test_memory_with_another_reader_is_not_written():
    _, after = operations(TEXT.replace("outputs %9", "outputs %4, %9"))
    assert "arrive(%7, %4, %4, object" in after


def of_two(shape):
    """Sums of two arrays, and work that needs the second one before work that needs the first."""
    return operations(
        f"""%0: f32@cuda[{shape}] = input(0)
%1: object = input(1)
%2: object = const('sum')
%3: f32@cuda[{shape}] = square(%0)
%4: object = collective(%1, %3, %3, %2, object=pycompile._collectives.all_reduce)
%5: f32@cuda[{shape}] = arrive(%4, %3, %3, object=pycompile._collectives.arrived)
%6: f32@cuda[{shape}] = sqrt(%0)
%7: object = collective(%1, %6, %6, %2, object=pycompile._collectives.all_reduce)
%8: f32@cuda[{shape}] = arrive(%7, %6, %6, object=pycompile._collectives.arrived)
%9: f32@cuda[{shape}] = negative(%8)
%10: f32@cuda[{shape}] = exp(%5)
%11: f32@cuda[{shape}] = log(%0)
outputs %9, %10, %11
"""
    )[0]


def test_what_needs_the_last_collective_comes_last():
    names = of_two("300,300")
    assert names[3:] == "square collective sqrt collective log arrive exp arrive negative".split()


def test_a_small_collective_begins_with_the_next_one():
    names = of_two("30,30")
    assert names[3:] == "square sqrt collective collective log arrive exp arrive negative".split()


def test_a_small_collective_that_is_read_first_begins_at_once():
    names, _ = operations(
        TEXT.replace(
            "outputs %9",
            """%11: f32@cuda[33,7] = sqrt(%10)
%12: object = collective(%1, %11, %11, %6, object=pycompile._collectives.all_reduce)
%13: f32@cuda[33,7] = arrive(%12, %11, %11, object=pycompile._collectives.arrived)
outputs %9, %13""",
        )
    )
    assert names.index("collective") < names.index("arrive") < names.index("square", 8)


def test_the_order_of_collectives_stays():
    second = """%11: object = collective(%1, %0, %0, %6, object=pycompile._collectives.all_reduce)
%12: f32@cuda[33,7] = arrive(%11, %0, %0, object=pycompile._collectives.arrived)
outputs %12, %9"""
    names, after = operations(TEXT.replace("outputs %9", second))
    assert names.count("collective") == 2
    assert after.index("%7: object = collective") < after.index("%11: object = collective")


@pytest.mark.parametrize(("other", "awaited"), [("%1", 3), ("%2", 2)])
def test_a_collective_beside_one_of_another_communicator_is_on_their_stream(other, awaited):
    """Two kernels of NCCL that are under way at once may wait for each other."""
    _, after = operations(
        f"""%0: f32@cuda[300,300] = input(0)
%1: object = input(1)
%2: object = input(2)
%3: object = const('sum')
%4: f32@cuda[300,300] = square(%0)
%5: object = collective(%1, %4, %4, %3, object=pycompile._collectives.all_reduce)
%6: f32@cuda[300,300] = arrive(%5, %4, %4, object=pycompile._collectives.arrived)
%7: f32@cuda[300,300] = sqrt(%0)
%8: object = collective({other}, %7, %7, %3, object=pycompile._collectives.all_reduce)
%9: f32@cuda[300,300] = arrive(%8, %7, %7, object=pycompile._collectives.arrived)
%10: f32@cuda[300,300] = extern(%9, object=numpy.sort)
outputs %10, %6
"""
    )
    assert "%5: object = collective(%1, %4, %4, %3, index=2" in after
    assert f"%8: object = collective({other}, %7, %7, %3, index={awaited}" in after
