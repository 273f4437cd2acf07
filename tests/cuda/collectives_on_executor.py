"""Collectives in plans, executed on the CPU (deviceless.py): of one process, whose communicator answers as
if there were another with the same arrays, and notes in which order it is asked."""

import ctypes
import json
import signal
import warnings

import numpy as np
import pytest
from deviceless import cp, device, host, values

import pycompile
from pycompile import _image

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # there is no NCCL
    from cupyx.distributed import NCCLBackend

    from pycompile import _collectives

RANKS = 2


TOLD = []


def sort(array):
    """CuPy's would need a device."""
    TOLD.append("sort")
    return device(np.sort(host(array)))


cp.sort = sort
cp.empty_like = lambda array: device(np.empty(array.shape, array.dtype))
cp.ones = lambda shape, dtype: device(np.ones(shape, dtype))  # for the trial


class Lane:
    stream = "lane"

    @staticmethod
    def begin():
        TOLD.append("begin")

    @staticmethod
    def end():
        return TOLD[-1]

    @staticmethod
    def wait(event):
        TOLD.append(f"wait for {event}")


class Communicator(NCCLBackend):
    """Two ranks that always have the same."""

    rank = 0
    _n_devices = RANKS
    left = 1000  # so many collectives can be

    def __init__(self):
        """There is nobody to find."""

    def _dispatch_arg_type(self, function, args):
        TOLD.append(function)
        *args, stream = args
        assert stream in ("lane", None)
        self.left -= 1
        if self.left < 0:
            raise ValueError("a rank is gone")
        getattr(self, "_" + function)(*args)

    def _all_reduce(self, given, out, op):
        self.in_place = given is out
        x = host(given)
        self.put(out, {"sum": x + x, "prod": x * x, "max": x, "min": x}[op])

    def _all_gather(self, given, out, count):
        self.put(out, np.concatenate([host(given).ravel()[:count]] * RANKS).reshape(out.shape))

    def _reduce_scatter(self, given, out, count, op):
        assert op == "sum"
        self.put(out, 2 * host(given).ravel()[:count].reshape(out.shape))

    def _send(self, array, peer):
        self.sent = host(array)

    def _recv(self, out, peer):
        self.put(out, self.sent)

    @staticmethod
    def put(out, array):
        memory = (ctypes.c_ubyte * out.nbytes).from_address(out.data.ptr)
        np.ndarray(out.shape, out.dtype, memory)[...] = array


def of_communicator(name):
    def method(communicator, *args, **stream):
        return getattr(NCCLBackend, name)(communicator, *args, **stream)

    return method


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(_collectives, "lane", Lane)
    for each in vars(_collectives).values():
        if isinstance(each, _collectives.Collective):
            monkeypatch.setattr(each, "method", of_communicator(each.__name__))
    TOLD.clear()
    return TOLD


def once(function, *args):
    compiled = pycompile.compile(function, fullgraph=True)
    compiled(*args)
    return compiled


def test_a_collective_overlaps_with_what_does_not_read_it(told):
    comm = Communicator()

    def step(x, y):
        g = x * 2
        comm.all_reduce(g, g)
        z = y.sum() + 1
        return g + 1, z, g

    x, y = values((33, 7)), values((100,), "f8")
    compiled = once(step, device(x), device(y))
    del told[:]
    a, z, g = compiled(device(x), device(y))
    assert told == ["begin", "all_reduce", "wait for all_reduce"]
    np.testing.assert_array_equal(host(g), 4 * x)
    np.testing.assert_array_equal(host(a), 4 * x + 1)
    assert comm.in_place
    assert compiled.stats()["plans"] == 1


def test_a_collective_is_on_the_stream_where_nothing_overlaps(told):
    comm = Communicator()

    def step(x):
        y = cp.empty_like(x)
        comm.all_reduce(x * 2, y)
        return y + 1

    x = values((33, 7))
    compiled = once(step, device(x))
    del told[:]
    np.testing.assert_array_equal(host(compiled(device(x))), 4 * x + 1)
    assert told == ["all_reduce"]


def test_a_collective_begins_when_its_array_is_there(told):
    """Those behind it keep their order, which is that of the other processes."""
    comm = Communicator()

    def step(x, y):
        first = x * 2
        second = cp.sort(y) - 1
        comm.all_reduce(first, first)
        comm.all_reduce(second, second, op="max")
        return first.sum() + second

    x, y = values((330, 270)), values((20,))
    compiled = once(step, device(x), device(y))
    del told[:]
    made = compiled(device(x), device(y))
    assert told[:5] == ["begin", "all_reduce", "sort", "begin", "all_reduce"]
    assert told[5:] == ["wait for all_reduce"] * 2
    np.testing.assert_allclose(host(made), (4 * x).sum() + np.sort(y) - 1, rtol=1e-4)


def test_those_that_begin_together_wait_for_the_stream_once(told):
    """Where memory is the plan's own; new memory may be what another thread gave back just now."""
    comm = Communicator()

    def step(x, y):
        made = [x * k for k in (2.0, 3.0, 4.0)]
        for each in made:
            comm.all_reduce(each, each)
        comm.all_reduce(x, x)
        return [each + y for each in made]

    x, y = values((33, 7)), values((33, 7), seed=2)
    compiled = once(step, device(x.copy()), device(y))
    del told[:]
    given = device(x.copy())
    made = compiled(given, device(y))
    begun = [*["begin"], *["all_reduce"] * 3, *["begin", "all_reduce"]]
    assert told == [*begun, *["wait for all_reduce"] * 4]
    for k, each in zip((4.0, 6.0, 8.0), made, strict=True):
        np.testing.assert_array_equal(host(each), k * x + y)
    np.testing.assert_array_equal(host(given), 2 * x)


def test_memory_that_others_see_is_kept(told):
    comm = Communicator()

    def read(x):
        y = x * 2
        z = cp.empty_like(x)
        comm.all_reduce(y, z)
        return y, z

    def view(x):
        y = x * 2
        part = y[1:]
        comm.all_reduce(y, y)
        return part, y + 0

    def written(x):
        y = x * 2
        comm.all_reduce(y, y)
        y += x
        y[0] = 3
        return y

    x = values((33, 7))
    y = 4 * x + x
    y[0] = 3
    for function, wanted in (read, (2 * x, 4 * x)), (view, (4 * x[1:], 4 * x)), (written, (y,)):
        compiled = once(function, device(x))
        made = compiled(device(x))
        for a, b in zip(made if isinstance(made, tuple) else (made,), wanted, strict=True):
            np.testing.assert_array_equal(host(a), b)
        assert compiled.stats()["deopts"] == 0


def test_arrays_from_outside_are_written(told):
    comm = Communicator()

    def step(x, y):
        comm.all_reduce(x, y, "prod")
        comm.all_reduce(x, x)
        return x + y

    x = values((50, 40))
    a, b = device(x.copy()), device(np.zeros_like(x))
    compiled = once(step, device(x.copy()), device(x.copy()))
    made = compiled(a, b)
    np.testing.assert_array_equal(host(a), x + x)
    np.testing.assert_array_equal(host(b), x * x)
    np.testing.assert_array_equal(host(made), x + x + x * x)
    assert compiled.stats()["plans"] == 1


def test_a_method_that_overrides_one_runs_once(told):
    class Halving(Communicator):
        def all_reduce(self, given, out, op="sum", stream=None):
            super().all_reduce(given * 0.5, out, op, stream)

    comm = Halving()

    def step(x):
        y = x * 2
        comm.all_reduce(y, y)
        return y + 1

    x = values((33, 7))
    compiled = once(step, device(x))
    del told[:]
    np.testing.assert_array_equal(host(compiled(device(x))), 2 * x + 1)
    assert told == ["all_reduce"]
    assert compiled.stats()["plans"] == 1


def test_parts_of_an_array(told):
    comm = Communicator()

    def step(x, out, part):
        comm.all_gather(x * 2, out, x.size)
        comm.reduce_scatter(out, part, part.size, op="sum")
        comm.send(out, 1)
        comm.recv(out, peer=1)
        return out.sum()

    x = values((6, 4), "f8")
    out, part = device(np.zeros((12, 4))), device(np.zeros((3, 4)))
    compiled = once(step, device(x), out, part)
    compiled(device(x), out, part)
    np.testing.assert_array_equal(host(out), np.concatenate([2 * x, 2 * x]))
    np.testing.assert_array_equal(host(part), 4 * x[:3])
    assert compiled.stats()["plans"] == 1


def test_a_failure_behind_a_collective_is_not_run_again(told):
    comm = Communicator()

    def step(x, y):
        comm.all_reduce(x, x)
        comm.all_reduce(y, y)
        return x + y

    x, y = device(values((9,))), device(values((9,)))
    compiled = once(step, x, y)
    del told[:]
    comm.left, kept = 1, host(x)
    with pytest.raises(ValueError, match="a rank is gone"):
        compiled(x, y)
    assert told.count("all_reduce") == 2
    np.testing.assert_array_equal(host(x), kept)


def test_what_fails_on_the_host_does_so_before_a_collective(told):
    comm = Communicator()

    def divided(x, y, n):
        comm.all_reduce(x, x)
        return 1.0 / y + n

    def summed(x, y, n):
        comm.all_reduce(x, x)
        s = 0.0
        for i in range(n):
            s += 1.0 / y[i]
        return s

    def of_numbers(x, y, n):
        z = y * 2
        comm.all_reduce(x, x)
        return z, 1.0 / (n - 5)

    def sorted_first(x, y, n):
        comm.all_reduce(x, x)
        z = np.sort(y)
        z[0] = n
        return 1.0 / z

    def run(function, y, n):
        x = device(values((9,)))
        del told[:]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = function(x, y, n)
            except ZeroDivisionError as error:
                made = str(error)
        assert told.count("all_reduce") == 1
        return host(x), made, [(str(w.message), w.lineno) for w in caught]

    for function in divided, summed, of_numbers, sorted_first:
        ones = np.ones(6)
        compiled = once(function, device(values((9,))), ones, 6)
        assert compiled.stats()["plan_runs"] == 1
        for args in (np.array([1.0, 2, 0, 0, 1, 2]), 6), (ones, 5):
            for got, wanted in zip(run(compiled, *args), run(function, *args), strict=True):
                np.testing.assert_equal(got, wanted)


def test_a_signal_behind_a_collective_waits_for_the_end(told):
    seen = []

    class Late(Communicator):
        def put(self, out, array):
            super().put(out, array)
            signal.setitimer(signal.ITIMER_REAL, 0.001)

    comm = Late()

    def kept(x, y, n):
        g = x * 2
        comm.all_reduce(g, g)
        g, y = cp.sort(g), np.sort(y)  # which keep their order
        s = 0.0
        for i in range(n):
            s = s * 0.5 + y[i % 7]
        return g, s

    def of_rows(x, y, n):
        g = x * 2
        comm.all_reduce(g, g)
        g, z = cp.sort(g), np.sort(y)
        for _ in range(n // 100):
            z = z * 0.5 + y
        return g, z[0]

    comm, x, y, n = Late(), values((9,)), np.arange(7.0), 4_000_000
    before = signal.signal(signal.SIGALRM, lambda *unused: seen.append(1))
    try:
        for function in kept, of_rows:
            compiled = once(function, device(x), y, n)
            g, s = compiled(device(x), y, n)
            np.testing.assert_array_equal(host(g), np.sort(4 * x))
            assert compiled.stats()["plans"] == 1
        assert len(seen) == 4
    finally:
        signal.signal(signal.SIGALRM, before)


def test_what_is_left_to_cupy(told):
    comm = Communicator()
    x = device(values((4, 6)))

    def on_a_stream(x):
        comm.all_reduce(x, x, "sum", cp.cuda.get_current_stream())

    def columns(x):
        comm.all_reduce(x.T, x.T)

    for function in (on_a_stream, columns):
        with pytest.raises(pycompile.GraphBreakError):
            pycompile.compile(function, fullgraph=True)(x)
    assert told == []


def test_ranks_compare_what_they_compile(told, monkeypatch):
    comm = Communicator()
    texts = []  # of other ranks

    def gather(communicator, text):
        return [text, *texts]

    def image_of(function, *args):
        image = pycompile.Image()
        image.precompile(pycompile.compile(function), *args)
        return image

    def step(x):
        comm.all_reduce(x, x, op="max")
        return x + 1

    x = device(values((8, 3)))
    text = json.dumps(image_of(step, x)._told()).encode()
    other = text.replace(b"'max'", b"'min'")
    assert other != text
    monkeypatch.setattr(_image, "_of_all_ranks", gather)
    for texts[:] in [], [text], [text, text]:
        image_of(step, x).agree(comm)
    texts[:] = [text, other]
    with pytest.raises(
        pycompile.JobError, match="rank 2.* compiles .*step otherwise than rank 0"
    ) as e:
        image_of(step, x).agree(comm)
    assert "there `%" in e.value.difference and "'min'" in e.value.difference

    def other_step(x):
        comm.all_reduce(x, x)
        return x * 3

    texts[:] = [json.dumps(image_of(other_step, x)._told()).encode()]
    with pytest.raises(pycompile.JobError, match="compiles its calls otherwise") as e:
        image_of(step, x).agree(comm)
    assert "other_step" in e.value.difference
