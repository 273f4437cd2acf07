"""Plans that use two devices, executed on the CPU (deviceless.py): the executor pretends that there are
two, each with memory and a stream of its own, and refuses a launch with an address or a stream of the other."""

import ctypes
import os
import re
import types

os.environ["EXECUTOR_DEVICES"] = "2"  # read when the driver is asked

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from device_pairs import Program  # noqa: E402
from deviceless import FOLDER, cp, host, memory, product_number, values  # noqa: E402

import pycompile  # noqa: E402
from pycompile import _C  # noqa: E402

EXECUTOR = ctypes.CDLL(os.path.join(FOLDER, "libcuda.so.1"))
ARENAS = [np.zeros(64 << 20, "u1") for _ in range(2)]
TAKEN = [0, 0]


def current():
    return EXECUTOR.executor_current()


def allocate(size):
    number = current()
    at = TAKEN[number]
    TAKEN[number] = at + (size + 511) // 256 * 256
    assert TAKEN[number] <= ARENAS[number].nbytes
    owner = ARENAS[number]
    made = memory.UnownedMemory(owner.ctypes.data + at, size, owner, number)
    return memory.MemoryPointer(made, 0)


class Device:
    """CuPy's needs the runtime's library."""

    def __init__(self, number):
        self.id, self.before = number, []

    def __enter__(self):
        self.before.append(current())
        if EXECUTOR.executor_use(self.id) < 0:
            raise RuntimeError(f"there is no device {self.id}")
        return self

    def __exit__(self, *args):
        EXECUTOR.executor_use(self.before.pop())


def on(number, array):
    """A CuPy array of the device with these elements."""
    array = np.asarray(array)
    with Device(number):
        made = cp.ndarray(array.shape, array.dtype, allocate(array.nbytes))
    (ctypes.c_ubyte * array.nbytes).from_address(made.data.ptr)[:] = array.tobytes()
    return made


COPIES = []


def asarray(array):
    """CuPy's, of an array."""
    if array.data.device_id == current():
        return array
    COPIES.append((array.data.device_id, current()))
    return on(current(), host(array))


for k, arena in enumerate(ARENAS):
    begin = ctypes.c_ulonglong(arena.ctypes.data)
    EXECUTOR.executor_owns(k, begin, ctypes.c_ulonglong(begin.value + arena.nbytes))
cp.cuda.set_allocator(allocate)
cp.cuda.Device = Device
cp.asarray = asarray
FUNCTIONS = [
    ctypes.cast(getattr(EXECUTOR, f"executor_{name}"), ctypes.c_void_p)
    for name in ("current", "use")
]
_C.test_cupy_without_device(on(0, np.ones(1)), 64, *(f.value for f in FUNCTIONS))
cp._core._routines_linalg.get_compute_type = lambda dtype: 1  # the default
SECOND = Device(1)


@pytest.fixture(autouse=True)
def first_device_stays():
    COPIES.clear()
    yield
    assert current() == 0


def once(function, *args, plans=1):
    """Of the second call in the one plan; each array with the number of its device."""
    compiled = pycompile.compile(function, fullgraph=True)
    compiled(*args)
    COPIES.clear()
    made = compiled(*args)
    assert compiled.stats()["plans"] == plans
    return [(a.data.device_id, host(a)) for a in (made if isinstance(made, tuple) else (made,))]


def same(made, *wanted, tolerance=0):
    assert [number for number, _ in made] == [number for number, _ in wanted]
    for (_, a), (_, b) in zip(made, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_a_block_of_another_device():
    def function(x, other):
        y = x * 2 + 1
        with cp.cuda.Device(1):
            z = other * 3 - 1
        return y, z, y * y

    x, other = values((33, 7)), values((100,), seed=2)
    y = x * 2 + 1
    same(once(function, on(0, x), on(1, other)), (0, y), (1, other * 3 - 1), (0, y * y))


def test_copies_are_calls_of_the_graph():
    def function(x, other):
        y = x * 2
        with cp.cuda.Device(1):
            z = cp.asarray(y) + other
            total = (z * z).sum(axis=0)
        return cp.asarray(total) - x[0], z

    x, other = values((33, 64)), values((33, 64), seed=2)
    z = x * 2 + other
    made = once(function, on(0, x), on(1, other))
    same(made, (0, (z * z).sum(axis=0) - x[0]), (1, z), tolerance=1e-5)
    assert COPIES == [(0, 1), (1, 0)]
    text = str(pycompile.explain(function)(on(0, x), on(1, other)).graphs[0])
    assert "f32@cuda:1[33,64] = extern(" in text
    assert " on cuda:1" in text


@pytest.mark.parametrize("way", ["number", "array's", "global", "named", "nested"])
def test_ways_to_name_a_device(way):
    def function(x, other):
        if way == "number":
            with cp.cuda.Device(1):
                other = other + 1
        elif way == "array's":
            with other.device:
                other = other + 1
        elif way == "global":
            with SECOND:
                other = other + 1
        elif way == "named":
            with cp.cuda.Device(1) as device, device:
                other = other + 1
        else:
            with other.device:
                with x.device:
                    x = x + 1
                other = other + 1
        return x * 2, other

    x, other = values((40,)), values((50,), seed=2)
    changed = x + 1 if way == "nested" else x
    same(once(function, on(0, x), on(1, other)), (0, changed * 2), (1, other + 1))


def test_a_return_and_an_exception_within_a_block():
    def returns(x, other):
        with cp.cuda.Device(1):
            if x.ndim == 1:
                return other * 2 + 1
        return x

    def raises(x, other):
        try:
            with cp.cuda.Device(1):
                z = other * 2
                if x.ndim == 1:
                    raise ValueError("in the block")
        except ValueError:
            z = x + 1
        return z * 2

    x, other = values((40,)), values((50,), seed=2)
    same(once(returns, on(0, x), on(1, other)), (1, other * 2 + 1))
    same(once(raises, on(0, x), on(1, other)), (0, (x + 1) * 2))


def test_the_plan_of_the_second_device():
    def function(x, other):
        with cp.cuda.Device(0):
            y = x * 2 + 1
        return y, other * 3

    x, other = values((40,)), values((50,), seed=2)
    with Device(1):
        made = once(function, on(0, x), on(1, other))
        assert current() == 1
    same(made, (0, x * 2 + 1), (1, other * 3))


def test_writes_on_both_devices():
    def function(x, other):
        x += 1
        with cp.cuda.Device(1):
            out = other * 0
            out[...] = x
            other[3:] = 2 * other[0]
        return out

    x, other = values((40,)), values((40,), seed=2)
    given = on(0, x), on(1, other)
    made = once(function, *given)
    same(made, (1, x + 1 + 1))
    np.testing.assert_array_equal(host(given[0]), x + 1 + 1)
    wanted = values((40,), seed=2)
    for _ in range(2):
        wanted[3:] = 2 * wanted[0]
    np.testing.assert_array_equal(host(given[1]), wanted)


def test_products_on_both_devices():
    def function(x, w, other):
        y = x @ w + x[0]
        with cp.cuda.Device(1):
            z = cp.maximum(other @ cp.asarray(y), 0)
        return y, z, cp.asarray(z) @ y

    product_number("refused").value = 0
    try:
        x, other = values((32, 32)), values((32, 32), seed=2)
        w = values((32, 32), seed=3)
        y = x @ w + x[0]
        z = np.maximum(other @ y, 0)
        before = product_number("made").value
        made = once(function, on(0, x), on(0, w), on(1, other))
        same(made, (0, y), (1, z), (0, z @ y), tolerance=1e-3)
        assert product_number("made").value - before >= 6
    finally:
        product_number("refused").value = 1


def test_many_kernels_and_temporaries():
    """Each device's arena, and kernels whose launches are shared on one device only."""

    def function(xs, others):
        sums, scaled = [], []
        for x, other in zip(xs, others):
            sums.append((x - x.mean(axis=1, keepdims=True)).sum(axis=0) * 2)
            with cp.cuda.Device(1):
                scaled.append((other - other.max(axis=1, keepdims=True)) * other.sum())
        return (*sums, *scaled)

    xs = [values((5, 64), "f8", seed) for seed in range(4)]
    others = [values((6, 32), "f8", 10 + seed) for seed in range(4)]
    made = once(function, [on(0, x) for x in xs], [on(1, x) for x in others])
    wanted = [(0, (x - x.mean(axis=1, keepdims=True)).sum(axis=0) * 2) for x in xs]
    wanted += [(1, (x - x.max(axis=1, keepdims=True)) * x.sum()) for x in others]
    same(made, *wanted, tolerance=1e-12)


def test_lengths_that_vary():
    def function(x, other):
        with cp.cuda.Device(1):
            z = (cp.asarray(x) * other).sum(axis=1) + other[:, 0]
        return z, x.max(axis=0)

    compiled = pycompile.compile(function, fullgraph=True, dynamic=True)
    for n in (5, 6, 9, 17):
        x, other = values((n, 30), "f8", n), values((n, 30), "f8", n + 1)
        z, most = compiled(on(0, x), on(1, other))
        assert (z.data.device_id, most.data.device_id) == (1, 0)
        np.testing.assert_allclose(host(z), (x * other).sum(axis=1) + other[:, 0], rtol=1e-12)
        np.testing.assert_array_equal(host(most), x.max(axis=0))
    assert compiled.stats()["plans"] <= 2


def broken(function, *args):
    with pytest.raises(pycompile.GraphBreakError) as caught:
        pycompile.compile(function, fullgraph=True)(*args)
    return str(caught.value)


def test_what_the_library_warns_of_is_a_break():
    """Operands, outputs and results of another device."""

    def kernel(x, other):
        return x + other

    def reduction(x, other):
        return other.sum()

    def write(x, other):
        other += 1

    def store(x, other):
        other[1:] = 0

    def other_order(x, other):
        return cp.asarray(other[::2])

    def store_elsewhere(x, other):
        x[::2] = other[::2]

    x, other = on(0, values((40,))), on(1, values((40,), seed=2))
    for function in (kernel, reduction, write, store, store_elsewhere):
        assert "an array of another device than the current one" in broken(function, x, other)
    assert "a copy to another device, not in C order" in broken(other_order, x, other)


def test_a_break_within_a_block():
    """Capture stops in front of the block, and goes on within it."""

    def function(x, other):
        y = x * 2 + 1
        with cp.cuda.Device(1):
            z = other * 3 - 1
            pycompile.graph_break()
            w = z * other + 2
        return y * y, w

    compiled = pycompile.compile(function)
    x, other = values((40,)), values((50,), seed=2)
    y = x * 2 + 1
    for _ in range(3):
        a, b = compiled(on(0, x), on(1, other))
        assert (a.data.device_id, b.data.device_id, current()) == (0, 1, 0)
        np.testing.assert_array_equal(host(a), y * y)
        np.testing.assert_array_equal(host(b), (other * 3 - 1) * other + 2)


def test_a_call_that_fails_leaves_the_current_device():
    def function(x):
        with cp.cuda.Device(1):
            z = cp.asarray(x)
        return z

    compiled = pycompile.compile(function, fullgraph=True)
    x = on(0, values((40,)))
    assert compiled(x).data.device_id == 1
    whole, TAKEN[1] = TAKEN[1], ARENAS[1].nbytes
    try:
        with pytest.raises(AssertionError):
            compiled(x)
    finally:
        TAKEN[1] = whole
    assert current() == 0
    assert compiled(x).data.device_id == 1


def test_a_device_that_is_not_there():
    def function(x):
        with cp.cuda.Device(7):
            return x

    x = on(0, values((40,)))
    with pytest.raises(RuntimeError, match="no device 7"):
        pycompile.compile(function)(x)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed):
    program = Program(seed)
    plain = re.sub(r"with .*:", "if True:", program.source)
    names = {"cp": types.SimpleNamespace(**vars(np) | {"asarray": np.array})}
    exec(plain, names)
    given = program.inputs()
    wanted = names["function"](*(array.copy() for _, array in given))
    made = once(program.function(cp), *(on(number, array) for number, array in given))
    same(made, *zip(program.devices(), wanted, strict=True))
