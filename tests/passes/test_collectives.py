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


def test_the_order_of_collectives_stays():
    second = """%11: object = collective(%1, %0, %0, %6, object=pycompile._collectives.all_reduce)
%12: f32@cuda[33,7] = arrive(%11, %0, %0, object=pycompile._collectives.arrived)
outputs %12, %9"""
    names, after = operations(TEXT.replace("outputs %9", second))
    assert names.count("collective") == 2
    assert after.index("%7: object = collective") < after.index("%11: object = collective")
