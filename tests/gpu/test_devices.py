"""Compiled functions of arrays on several devices, against CuPy."""

import threading
import warnings

import numpy as np
import pytest

import pycompile

cp = pytest.importorskip("cupy")

try:
    COUNT = cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    COUNT = 0
if COUNT < 2:
    pytest.skip("fewer than two CUDA devices", allow_module_level=True)


def arrays(number, dtype="f4"):
    with cp.cuda.Device(number):
        rng = np.random.default_rng(number)
        made = [cp.asarray(rng.standard_normal((64, 64)).astype(dtype)) for _ in range(3)]
        cp.cuda.Device(
            number
        ).synchronize()  # the other device's stream does not wait for these copies
        return made


PROGRAMS = {
    "elements": lambda x, y, z: (x * 2 + y.T, cp.sqrt(cp.absolute(z))),
    "reductions": lambda x, y, z: (x.sum(), y.max(axis=0), z.mean(axis=1) + 1),
    "products": lambda x, y, z: x @ y + z,
    "scans": lambda x, y, z: (x.cumsum(axis=1), y.argmax(axis=0), z[x.argmax(axis=1)]),
    "in place": lambda x, y, z: x.__iadd__(y * z),
}


def check(compiled, plain, number):
    with cp.cuda.Device(number):
        wanted, made = plain(*arrays(number)), compiled(*arrays(number))
        if not isinstance(wanted, tuple):
            wanted, made = (wanted,), (made,)
        for a, b in zip(made, wanted, strict=True):
            assert a.device.id == b.device.id == number
            np.testing.assert_allclose(a.get(), b.get(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("program", PROGRAMS)
def test_devices_take_turns(program):
    plain = PROGRAMS[program]
    compiled = pycompile.compile(plain)
    for turn in range(12):
        check(compiled, plain, turn % 2)
    assert compiled.stats()["plans"] >= 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_thread_for_each_device(program):
    plain = PROGRAMS[program]
    compiled = pycompile.compile(plain)
    failures = []

    def work(number):
        try:
            for _ in range(20):
                check(compiled, plain, number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def outcome(function, args):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            made = function(*args)
            made = [made.device.id, made.get()]
        except Exception as error:
            made = [type(error), str(error)]
    return made, [(w.category, str(w.message)) for w in told]


def test_arrays_of_another_device_than_the_current_one():
    """CuPy reads them where devices can, and warns of it."""

    def add(x, y):
        return x + y * 2

    pairs = [(0, 0), (1, 1), (0, 1), (1, 0)]
    compiled = pycompile.compile(add)
    for _ in range(3):
        for current in (0, 1):
            for first, second in pairs:
                args = arrays(first)[0], arrays(second)[1]
                with cp.cuda.Device(current):
                    plain, ours = outcome(add, args), outcome(compiled, args)
                assert plain[1] == ours[1]
                assert plain[0][0] == ours[0][0]
                np.testing.assert_array_equal(plain[0][1], ours[0][1])


def test_the_device_changes_within_a_call():
    def function(x, other):
        y = x * 2 + 1
        with cp.cuda.Device(1):
            z = other * 3 - 1
        return y, z

    compiled = pycompile.compile(function)
    for _ in range(3):
        x, other = arrays(0)[0], arrays(1)[0]
        for a, b in zip(compiled(x, other), function(x, other), strict=True):
            assert a.device.id == b.device.id
            np.testing.assert_array_equal(a.get(), b.get())
