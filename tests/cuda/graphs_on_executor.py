"""Chains of kernels launched as graphs, on the executor (executor.cpp).  test_cuda.py runs this file as it
does on_executor.py."""

import ctypes
import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from deviceless import FOLDER, device, host, once, values

import pycompile
from pycompile import _C

DRIVER = ctypes.CDLL(FOLDER + "/libcuda.so.1")


class Counter:
    """One of the executor's numbers."""

    def __init__(self, name):
        self.cell = ctypes.c_int.in_dll(DRIVER, "executor_" + name)

    def __int__(self):
        return self.cell.value

    def during(self, function):
        before = self.cell.value
        function()
        return self.cell.value - before


launches, sets, graphs = Counter("launches"), Counter("sets"), Counter("graphs")


@pytest.fixture
def setting():
    """Sets one of the executor's switches; all are off again after the test."""
    used = []

    def put(name, value):
        used.append(ctypes.c_int.in_dll(DRIVER, "executor_" + name))
        used[-1].value = value

    yield put
    for cell in used:
        cell.value = 0
    _C.test_cuda_graphs(1)
    _C.test_cupy_without_device(device(np.ones(1)), 0)


def sums(x):
    """Three kernels in a row; the sum of many elements is two."""
    y = x - x.sum()
    return y / abs(y).max()


def plain_sums(x):
    y = x - x.sum()
    return y / np.abs(y).max()


def compiled_sums(x):
    function = once(sums)
    np.testing.assert_allclose(host(function(device(x))), plain_sums(x), rtol=1e-12, atol=1e-12)
    return function


@pytest.mark.parametrize("size", [100, 100_000])
def test_a_chain_is_one_launch(size):
    x = values((size,), "f8")
    function = compiled_sums(x)
    given = device(x)
    for _ in range(3):
        assert launches.during(lambda: function(given)) == 1
    np.testing.assert_allclose(host(function(given)), plain_sums(x), rtol=1e-12, atol=1e-12)


def test_only_what_has_changed_is_set():
    function = once(lambda x: x + 1)
    x, y = device(np.zeros(9)), device(np.ones(9))
    function(x)
    function(x)
    assert sets.during(lambda: function(x)) == 0  # the result's memory is that of the dead one
    assert sets.during(lambda: function(y)) == 1
    kept = function(y)
    assert sets.during(lambda: function(y)) == 1
    assert (host(kept) == 2).all()
    assert (host(function(x)) == 1).all()


def test_numbers_of_the_host_are_set():
    function = once(lambda x, a: (x * a).sum() + a)
    x = device(np.ones(5))
    for a in (1.5, 2.5, 2.5, -3.0):
        assert host(function(x, a)) == 6 * a


def test_other_streams(setting):
    x = values((50,), "f8")
    function = compiled_sums(x)
    given = device(x)
    _C.test_cupy_without_device(given, 64)
    assert sum(launches.during(lambda: function(given)) for _ in range(15)) == 0
    made = function(given)  # the graph has moved
    assert launches.during(lambda: function(given)) == 1
    _C.test_cupy_without_device(given, 0)
    other = values((50,), "f8", 5)
    assert launches.during(lambda: function(device(other))) == 0
    np.testing.assert_allclose(
        host(function(device(other))), plain_sums(other), rtol=1e-12, atol=1e-12
    )
    _C.test_cupy_without_device(given, 64)
    assert launches.during(lambda: function(given)) == 1  # its arguments are those of the other run
    for result in (made, function(given)):
        np.testing.assert_allclose(host(result), plain_sums(x), rtol=1e-12, atol=1e-12)


def test_a_stream_that_is_captured_gets_kernels(setting):
    x = values((50,), "f8")
    function = compiled_sums(x)
    given = device(x)
    setting("capturing", 1)
    made = []
    assert launches.during(lambda: made.append(function(given))) == 0
    setting("capturing", 0)
    assert launches.during(lambda: made.append(function(given))) == 1
    for result in made:
        np.testing.assert_allclose(host(result), plain_sums(x), rtol=1e-12, atol=1e-12)


def test_graphs_that_cannot_be_made_or_launched(setting):
    x = values((60,), "f8")
    made_before = compiled_sums(x)
    setting("refuses", 1)
    for function in (made_before, once(sums)):
        for _ in range(3):
            np.testing.assert_allclose(
                host(function(device(x))), plain_sums(x), rtol=1e-12, atol=1e-12
            )
    setting("refuses", 0)
    assert launches.during(lambda: made_before(device(x))) == 0  # not tried again
    assert made_before.stats()["deopts"] == 0


def test_graphs_end_with_their_plans():
    gc.collect()
    before = int(graphs)
    function = compiled_sums(values((70,), "f8"))
    assert int(graphs) > before
    del function
    pycompile.reset()
    gc.collect()
    assert int(graphs) <= before


def test_the_way_is_measured(setting):
    _C.test_cuda_graphs(0)
    function = once(sums)
    x = values((80,), "f8")
    for _ in range(30):
        np.testing.assert_allclose(host(function(device(x))), plain_sums(x), rtol=1e-12, atol=1e-12)
    assert min(_C.test_cuda_graphs(0)[:2]) > 0
    _C.test_cuda_graphs(-1)
    assert launches.during(lambda: function(device(x))) == 0


def test_writes_at_commit():
    def step(x, y):
        x += y.sum()
        y *= 2
        return x - 1

    function = once(step)
    x, y = values((90,), "f8"), values((90,), "f8", 2)
    for _ in range(3):
        a, b = device(x.copy()), device(y.copy())
        made = function(a, b)
        np.testing.assert_allclose(host(made), x + y.sum() - 1, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(host(a), x + y.sum(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(host(b), y * 2)


def run_apart(code, **variables):
    """In a process of its own: what it prints."""
    code = (
        "from graphs_on_executor import *\nfault, forked = (ctypes.c_int.in_dll(DRIVER, f'executor_{name}') for name in ('faults', 'forked'))\n"
        + code
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


FAULT = """
def faulty(x):
    y = x.sum()
    return x / y

function = pycompile.compile(faulty)
x = device(np.ones(50))
function(x)
fault.value = 1
try:
    function(x)
except Exception as error:  # CuPy's own, in the program's place
    pass
"""


def test_a_fault_is_told_with_the_kernel_and_the_lines():
    told = run_apart(FAULT, PYCOMPILE_CUDA_DEBUG="1")
    assert (
        "the CUDA kernel k0 of lines 5 to 5 of <string> failed on device 0: an error of the executor"
        in told
    )
    assert "failed" not in run_apart(FAULT, PYCOMPILE_CUDA_DEBUG="0")


def test_a_fork_is_told():
    code = """
function = pycompile.compile(lambda x: x + 1)
x = device(np.ones(50))
function(x)
forked.value = 1
for _ in range(2):
    try:
        function(x)
    except Exception:
        pass
"""
    assert "forked" not in run_apart(code)
    told = run_apart(code.replace("for _", "if os.fork():\n    os._exit(os.wait()[1])\nfor _"))
    assert told.count("CUDA does not work in a process that was forked after it was used") == 1
