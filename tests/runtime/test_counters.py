"""pycompile.counters, and what the log says of recompiles."""

import logging

import numpy as np

import pycompile
from pycompile import counters


def scaled(x, k):
    return x * k + 1


def test_reads_as_a_dict_and_resets():
    f = pycompile.compile(scaled)
    counters.reset()
    assert not any(dict(counters).values()), counters
    for x in (np.ones(3), np.ones(3, np.float32), np.ones(3, np.int16)):
        f(x, 2.5)
    found = dict(counters)
    assert repr(counters) == repr(found) and set(counters) == set(found)
    assert (found["compiles"], found["plans"], found["graph_breaks"]) == (3, 3, {})
    (reason,) = found["recompiles"]
    assert reason.startswith("scaled: x.dtype (") and found["recompiles"][reason] == 2
    assert found["cache_hits"] + found["cache_misses"] == 3 and found["seconds"] > 0
    counters.reset()
    assert counters["compiles"] == 0 and counters["recompiles"] == {}
    pycompile.reset()
    f(np.ones(3), 2.5)
    assert counters["compiles"] == 1


def test_graph_breaks_by_code():
    @pycompile.compile
    def broken(x):
        y = x * 2
        pycompile.graph_break()
        return y + 1

    counters.reset()
    broken(np.ones(3))
    assert list(counters["graph_breaks"].items()) == [("PC0005: pycompile.graph_break()", 1)]


def test_the_log_says_what_to_change_once(caplog):
    f = pycompile.compile(scaled)
    with pycompile.set_logs("recompiles"), caplog.at_level(logging.INFO):
        for x in (np.ones(3), np.ones(3, np.float32), np.ones(3, np.int16)):
            f(x, 2.5)
    first, second = (record.getMessage() for record in caplog.records)
    line = scaled.__code__.co_firstlineno
    head, hint = first.split("\n  hint: ")
    assert head.startswith(
        f"scaled ({__file__}:{line}): recompiled because x.dtype == float64, now "
    )
    assert head.endswith(f"float32 (test_counters.py:{line + 1})") and hint
    assert second.endswith(f"hint: as for scaled ({__file__}:{line})")
