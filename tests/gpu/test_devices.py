"""Compiled functions of arrays on several devices, against CuPy."""

import os
import sys
import threading
import warnings
from pathlib import Path

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

sys.path.insert(0, str(Path(__file__).parents[1] / "cuda"))
from device_pairs import Program  # noqa: E402


@pytest.fixture(autouse=True)
def _first_device(_device):
    """The programs are written for the first one as the current device."""
    with cp.cuda.Device(0):
        yield


def arrays(number, dtype="f4"):
    with cp.cuda.Device(number):
        rng = np.random.default_rng(number)
        made = [cp.asarray(rng.standard_normal((64, 64)).astype(dtype)) for _ in range(3)]
        cp.cuda.Device(number).synchronize()  # the other device's stream does not wait for it
        return made


def on(number, array):
    with cp.cuda.Device(number):
        made = cp.asarray(array)
        cp.cuda.Device(number).synchronize()
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


def blocks(x, other):
    y = x * 2 + 1
    with cp.cuda.Device(1):
        z = other * 3 - 1
    return y, z, y * y


def copies(x, other):
    y = x * 2
    with cp.cuda.Device(1):
        z = cp.asarray(y) + other
        total = (z * z).sum(axis=0)
    return cp.asarray(total) - x[0], z, other.T


def nested(x, other):
    with other.device:
        other = other + 1
        with x.device:
            x = cp.sqrt(cp.absolute(x))
        other = other * cp.asarray(x).mean(axis=1, keepdims=True)
    return x, other


def products(x, other):
    y = x @ x + x[0]
    with cp.cuda.Device(1):
        z = cp.maximum(other @ cp.asarray(y), 0)
    return y, z, cp.asarray(z) @ y


def writes(x, other):
    x += 1
    with cp.cuda.Device(1):
        out = other * 0
        out[...] = x
        other[3:] = 2 * other[0]
    return out, x * 1


def in_exception(x, other):
    try:
        with cp.cuda.Device(1):
            z = other * 2
            if x.ndim == 2:
                raise ValueError("in the block")
    except ValueError:
        z = x + 1
    return z * 2, other


TWO_DEVICES = [blocks, copies, nested, products, writes, in_exception]


def both_outcomes(compiled, function, dtype="f4"):
    for made in (compiled, function):
        args = arrays(0, dtype)[0], arrays(1, dtype)[0]
        results = made(*args)
        yield [(a.device.id, a.get()) for a in (*results, *args)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", TWO_DEVICES, ids=lambda function: function.__name__)
def test_one_plan_of_two_devices(function, dtype):
    compiled = pycompile.compile(function, fullgraph=True)
    for _ in range(6):  # launched one by one, and as graphs
        ours, plain = both_outcomes(compiled, function, dtype)
        assert cp.cuda.Device().id == 0
        for (at, a), (wanted_at, b) in zip(ours, plain, strict=True):
            assert at == wanted_at
            np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)
    assert compiled.stats()["plans"] == 1


def test_two_devices_on_streams_of_their_own():
    """Nothing but the order in which CuPy's copies are issued orders the streams: the function waits."""
    compiled = pycompile.compile(blocks, fullgraph=True)
    streams = []
    for number in (0, 1):
        with cp.cuda.Device(number):
            streams.append(cp.cuda.Stream(non_blocking=True))
    for _ in range(6):
        x, other = arrays(0)[0], arrays(1)[0]
        plain = blocks(x, other)
        for number in (0, 1):
            cp.cuda.Device(number).synchronize()
        with cp.cuda.Device(1):
            streams[1].use()
        try:
            with streams[0]:
                ours = compiled(x, other)
        finally:
            with cp.cuda.Device(1):
                cp.cuda.Stream.null.use()
        for stream in streams:
            stream.synchronize()
        for a, b in zip(ours, plain, strict=True):
            assert a.device.id == b.device.id
            np.testing.assert_array_equal(a.get(), b.get())
    assert compiled.stats()["plans"] == 1


def test_memory_of_two_devices_comes_from_their_pools():
    compiled = pycompile.compile(copies, fullgraph=True)
    x, other = arrays(0)[0], arrays(1)[0]
    row, matrix, _ = compiled(x, other)
    pool = cp.get_default_memory_pool()

    def used():
        counts = []
        for number in (0, 1):
            with cp.cuda.Device(number):
                counts.append(pool.used_bytes())
        return counts

    before = used()
    kept = [compiled(x, other) for _ in range(20)]
    first = used()
    del kept
    kept = [compiled(x, other) for _ in range(20)]
    assert used() == first
    of_rows, of_matrices = (now - then for now, then in zip(first, before, strict=True))
    assert 20 * row.nbytes <= of_rows < 20 * matrix.nbytes <= of_matrices


def test_a_break_within_a_block():
    def function(x, other):
        y = x * 2 + 1
        with cp.cuda.Device(1):
            z = other * 3 - 1
            pycompile.graph_break()
            w = z * other + 2
        return y * y, w

    compiled = pycompile.compile(function)
    for _ in range(4):
        ours, plain = both_outcomes(compiled, function)
        assert cp.cuda.Device().id == 0
        for (at, a), (wanted_at, b) in zip(ours, plain, strict=True):
            assert at == wanted_at
            np.testing.assert_array_equal(a, b)


PAIRS = int(os.environ.get("PYCOMPILE_FUZZ", "40"))


@pytest.mark.parametrize("first", range(0, PAIRS, 20))
def test_random_programs_of_two_devices(first):
    for seed in range(first, min(first + 20, PAIRS)):
        program = Program(seed)
        function = program.function(cp)
        compiled = pycompile.compile(function, fullgraph=True)
        for _ in range(3):
            ours, plain = (
                made(*(on(number, array) for number, array in program.inputs()))
                for made in (compiled, function)
            )
            assert [a.device.id for a in ours] == program.devices()
            for a, b in zip(ours, plain, strict=True):
                assert a.device.id == b.device.id
                np.testing.assert_array_equal(a.get(), b.get(), err_msg=program.source)
        assert compiled.stats()["plans"] == 1
