"""Compiled functions of CuPy arrays whose kernels are executed on the CPU (deviceless.py), against NumPy.

test_cuda.py runs this file in a process of its own, in the folder where it has built the executor."""

import gc
import math
import weakref

import numpy as np
import pytest
from deviceless import allocate, breaks, check, cp, device, host, memory, once, pointer, values

import pycompile
from pycompile import _C

SHAPES = [
    (1,),
    (7,),
    (1023,),
    (1024,),
    (5000,),
    (40_001,),
    (64, 100),
    (33, 7),
    (5, 6, 7),
    (3, 1, 2049),
    (3000, 2),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_arithmetic(shape):
    def function(xp, x, y, a):
        z = x * a + y - y / 3
        return z * z, z > 0.5, xp.where(z < x, z, -y), xp.maximum(x, y), xp.clip(x, -0.5, 1)

    check(function, values(shape), values(shape, seed=2), 1.5)


@pytest.mark.parametrize(
    "name", "exp log1p sin tanh sqrt floor rint absolute cbrt arctan sign reciprocal".split()
)
def test_functions(name):
    check(lambda xp, x: getattr(xp, name)(x), np.abs(values((700,), "f8")) + 0.1, exact=False)


@pytest.mark.parametrize("shape", [(1,), (700,), (40_001,), (7, 90), (300, 200)])
def test_long_bodies(shape):
    def function(xp, x, y):
        for _ in range(30):
            x = xp.sqrt(x * 0.99 + y) + xp.cos(x) * 0.1 + xp.power(x, y) * 1e-3
        return x

    check(function, np.abs(values(shape, "f8")), np.abs(values(shape[-1:], "f8", 2)), exact=False)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_dtypes(dtype):
    def function(xp, x, y):
        return x & y, x | y, ~x, x == y, x <= y, xp.maximum(x, y), x.max(), y.min()

    def floats(xp, x, y):
        return x + y, x * y, -x, x == y, xp.maximum(x, y), x.astype("i4"), x.max(), y.min()

    both = values((500,), dtype), values((500,), dtype, 2)
    check(floats if dtype[0] == "f" else function, *both)


def halves():
    """All finite half floats, and infinities."""
    x = np.arange(1 << 16, dtype="u2").view("f2")
    return x[~np.isnan(x)]


def test_halves():
    """Each operation is done in float32 and rounded, also within a chain."""

    def function(xp, x, y, a):
        z = x * y + a
        return (
            z,
            (x + y) - y,
            x / 3,
            xp.where(z > 1, x, -y) * 0.1,
            xp.maximum(x, y),
            abs(x) > y,
            x.astype("f4") * 2,
            x.astype("f8") + y,
            xp.clip(x, -2, y),
        )

    x = halves()
    y = np.random.default_rng(1).permutation(x[np.abs(x) < 100])
    y = np.resize(y, x.shape)
    with np.errstate(all="ignore"):
        check(function, x, y, 1.5)
        check(lambda xp, x: (x * 2, x + 1), x[:1001])
        check(lambda xp, x: x + 1, x[1:])


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u2", "i8", "?"])
def test_conversions_of_halves(dtype):
    wide = values((5000,), dtype)
    if dtype[0] == "f":
        wide *= np.geomspace(1e-9, 1e6, 5000).astype(dtype)
    with np.errstate(all="ignore"):
        check(lambda xp, x: x.astype("f2"), wide)
        halves_of = np.resize(np.abs(halves()), 5000).clip(0, 100)
        check(lambda xp, x: x.astype(dtype), halves_of)


def moderate_halves():
    x = np.resize(np.abs(halves()), 9001)
    return x[(x > 1e-3) & (x < 9)]


@pytest.mark.parametrize(
    "name", "exp log1p sin tanh sqrt floor rint square reciprocal degrees sign".split()
)
def test_functions_of_halves(name):
    check(lambda xp, x: getattr(xp, name)(x), moderate_halves(), exact=False)


@pytest.mark.parametrize("name", "remainder floor_divide arctan2 hypot fmod heaviside fmax".split())
def test_functions_of_two_halves(name):
    x = moderate_halves()
    check(lambda xp, x, y: getattr(xp, name)(x, y), x, x[::-1].copy(), exact=False)


@pytest.mark.parametrize(
    "shape, axis", [((5000,), None), ((40, 333), 1), ((333, 40), 0), ((4000, 8), 0)]
)
def test_half_reductions(shape, axis):
    def function(xp, x):
        return x.sum(axis=axis), x.mean(axis=axis), x.max(axis=axis), (x > 1).any(axis=axis)

    x = values(shape, "f2")
    compiled = pycompile.compile(lambda x: function(cp, x), fullgraph=True)
    compiled(device(x))
    made = compiled(device(x))
    for a, b in zip(made, function(np, x.astype("f4")), strict=True):
        wanted = b if b.dtype == bool else b.astype("f2")
        assert a.dtype == wanted.dtype
        np.testing.assert_allclose(host(a).astype("f4"), wanted.astype("f4"), rtol=2e-3, atol=1e-3)


def test_integer_arithmetic():
    def function(xp, x, y):
        return (
            x // y,
            x % y,
            x - y * 3,
            x / y,
            x << 2,
            y >> 1,
            x + 1,
            x.astype("f4") * 0.5,
            x**2.0 if False else x * x,
        )

    for dtype in ("i1", "i4", "i8"):
        y = values((300,), dtype, 2)
        y[y == 0] = 7
        check(function, values((300,), dtype), y)


@pytest.mark.parametrize(
    "left, right",
    [
        ((64, 100), (100,)),
        ((64, 1), (1, 33)),
        ((5, 1, 7), (6, 1)),
        ((), (17,)),
        ((), (3, 5)),
        ((400, 3), (3,)),
    ],
)
def test_broadcasting(left, right):
    check(
        lambda xp, x, y: (x * y + x, x - 1), np.asarray(values(left), "f4"), values(right, seed=2)
    )


def test_strided_and_unaligned():
    base = values((10001,))
    for x in (base[1:], base[::2], base[::-1], base[3:1003:3]):
        check(lambda xp, x: x * 2 + 1, x)


REDUCED = [
    ((7,), None), ((1000,), 0), ((100003,), None), ((300_001,), None), ((20, 1000), 1), ((64, 100), 0),
    ((64, 100), None), ((200, 33), 1), ((33, 500), 0), ((2, 70_000), 1), ((10_000, 5), 0), ((1000, 20), 1),
    ((6, 50, 70), (1, 2)), ((6, 50, 70), 1), ((6, 50, 70), (0, 1)), ((3, 9000), 1), ((40, 1), 1), ((9, 40), 1),
]  # fmt: skip


@pytest.mark.parametrize("shape, axis", REDUCED)
def test_reductions(shape, axis):
    if len(shape) == 2 and shape[1] == 1:
        axis = None

    def function(xp, x):
        return (
            x.sum(axis=axis),
            x.max(axis=axis),
            xp.min(x, axis=axis, keepdims=True),
            (x > 0).any(axis=axis),
            (x * 2 + 1).mean(axis=axis),
        )

    check(function, values(shape, "f8"), exact=False)
    check(
        lambda xp, x: (x.sum(axis=axis), x.max(axis=axis), xp.sum(x > 3, axis=axis)),
        values(shape, "i4"),
    )


@pytest.mark.parametrize("shape", [(100_000, 5), (30_000, 70), (400_000, 1, 3)])
def test_columns_are_summed_accurately(shape):
    """As accurately as by CuPy, whose error on a device is 0.8e-7 for the first of these shapes."""
    x = values(shape) + np.float32(0.5)
    compiled = pycompile.compile(lambda x: x.sum(axis=0), fullgraph=True)
    exact = x.astype("f8").sum(axis=0)
    error = np.abs(host(compiled(device(x))) - exact).max() / np.abs(exact).max()
    assert error < 1.5e-7


@pytest.mark.parametrize("shape", [(33, 40), (5, 7), (3000, 24)])
def test_column_sums_of_what_is_also_stored(shape):
    def function(xp, x):
        y = x * 2 + 1
        return y.sum(axis=0), y, y.max(axis=0), x == y

    check(function, values(shape, "i8"))
    check(function, values(shape, "i2"))


@pytest.mark.parametrize(
    "shape", [(64, 100), (100, 40), (5, 4096), (3, 40000), (200, 16), (3, 5, 300), (2, 9000)]
)
def test_softmax(shape):
    def softmax(xp, x):
        e = xp.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    check(softmax, values(shape, "f8"), exact=False)


@pytest.mark.parametrize("shape", [(21, 1000), (5, 768), (3, 4096)])
def test_rows_of_two_dtypes(shape):
    """Several warps share a row, packs are those of the wider dtype."""

    def layernorm(xp, x, w, b):
        d = x.astype("f4")
        d = d - d.mean(axis=1, keepdims=True)
        return (d / xp.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + b).astype("f2")

    args = [values(shape, "f2"), values(shape[1:], "f4", 2), values(shape[1:], "f4", 3)]
    made = host(once(layernorm)(cp, *map(device, args)))
    wanted = layernorm(np, *(a.astype("f8") for a in args))
    np.testing.assert_allclose(made, wanted, rtol=2e-3, atol=2e-3)


def test_layernorm():
    def layernorm(xp, x, w, b):
        d = x - x.mean(axis=1, keepdims=True)
        return d / xp.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + b

    for shape in ((20, 300), (3, 5000), (100, 8)):
        check(
            layernorm,
            values(shape, "f8"),
            values(shape[1:], "f8", 2),
            values(shape[1:], "f8", 3),
            exact=False,
        )


def test_whole_sum_in_a_chain():
    def normalised(xp, x, y):
        return x / xp.sqrt((x * x).sum()) + y.sum(), x.sum() * 2

    for n in (1000, 100_000):
        check(normalised, values((n,), "f8"), values((n,), "f8", 2), exact=False)


def test_numbers_of_the_host():
    def function(xp, x, a, n, b):
        return x * a + n, x * (a * 2 + n), xp.where(x > a, x, b)

    for a, n, b in ((0.5, 3, True), (1.5, -7, False)):
        check(function, values((500,), "f8"), a, n, b)


def test_one_result_twice():
    check(lambda xp, x: (x + 1, x + 1, x - 1), values((50,)))


def test_scalars_stay_arrays():
    total = pycompile.compile(lambda x: x.sum() + 1, fullgraph=True)(device(np.arange(5.0)))
    assert type(total) is cp.ndarray
    assert total.shape == ()
    assert host(total) == 11


def test_guards():
    function = pycompile.compile(lambda x: x * 2 + 1)
    for x in (
        np.ones(5, "f4"),
        np.ones(6, "f4"),
        np.ones(5, "f8"),
        np.ones((2, 3), "f4"),
        np.ones((3, 2), "f4"),
    ):
        for _ in range(2):
            np.testing.assert_array_equal(host(function(device(x))), x * 2 + 1)
    assert (function(np.ones(3)) == 3).all()
    assert function(2.0) == 5


SCALE = 2.5
KEPT = []


class Model:
    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x, bias=None):
        y = x * self.weight
        return y if bias is None else y + bias


def test_programs():
    weight, bias = values((4, 5)), values((5,), seed=2)
    model = Model(device(weight))

    def program(x, items, bias):
        if not isinstance(x, cp.ndarray) or x is None or x.ndim != 2:
            return None
        total = 0
        for item in items:
            total = total + item * SCALE
        made = {"y": model(x, bias=bias), "n": len(items), "items": [x, total]}
        KEPT.append(made["y"])
        return made, (x.shape[0] * x.size, x.dtype), x

    x = device(values((4, 5), seed=3))
    items = [device(values((4, 5), seed=k)) for k in (4, 5)]
    compiled = pycompile.compile(program, fullgraph=True)
    scale = np.float32(SCALE)
    for _ in range(3):
        made, facts, same = compiled(x, items, device(bias))
        assert same is x
        assert made["items"][0] is x
        assert made["n"] == 2
        assert facts == (80, np.float32)
        assert KEPT[-1] is made["y"]
        np.testing.assert_array_equal(host(made["y"]), host(x) * weight + bias)
        total = 0 + host(items[0]) * scale + host(items[1]) * scale
        np.testing.assert_array_equal(host(made["items"][1]), total)
    assert len(KEPT) == 3


def test_host_and_device_in_one_plan():
    x, h = values((100,)), values((100,), seed=2)
    compiled = pycompile.compile(lambda x, h: (x * 2, h + 1, x - 1), fullgraph=True)
    for _ in range(2):
        a, b, c = compiled(device(x), h)
        np.testing.assert_array_equal(host(a), x * 2)
        np.testing.assert_array_equal(b, h + 1)
        np.testing.assert_array_equal(host(c), x - 1)


def test_many_outputs_and_kernels():
    def many(xp, x):
        made = [x]
        for k in range(40):
            made.append(made[-1] * 0.5 + k)
        return tuple(made[1:]) + tuple(part.sum() for part in made[1:4])

    check(many, values((300,), "f8"), exact=False)


class Allocator:
    """Counts the blocks that it has given and not got back; a limit in bytes, as a pool's."""

    def __init__(self, limit=1 << 40):
        self.given = self.used = 0
        self.limit = limit

    def __call__(self, size):
        if self.used + size > self.limit:
            raise memory.OutOfMemoryError(size, self.used, self.limit)
        owner = np.zeros(size + 64, "u1")
        self.given += 1
        self.used += size
        weakref.finalize(owner, self.free, size)
        return pointer(owner, owner.ctypes.data + -owner.ctypes.data % 64, size)

    def free(self, size):
        self.used -= size


@pytest.fixture
def allocator():
    made = Allocator()
    cp.cuda.set_allocator(made)
    yield made
    cp.cuda.set_allocator(allocate)
    _C.test_cupy_without_device(device(np.ones(1)))


def plus_one(size):
    options = {"recompile_limit": 1000}
    function = pycompile.compile(lambda x: x + 1, fullgraph=True, options=options)
    x = device(np.zeros(size, "f4"))
    return lambda: function(x)


def test_blocks_of_dead_arrays_are_taken_again(allocator):
    run = plus_one(1000)
    first, second = run(), run()
    assert allocator.given == 2
    assert first.data.ptr != second.data.ptr
    address = first.data.ptr
    assert first.data.mem.size == 4096
    part = first.data + 8
    del first
    third = run()
    assert allocator.given == 3  # `part` is of the memory
    assert third.data.ptr not in (address, second.data.ptr)
    del part
    assert run().data.ptr == address
    assert plus_one(900)().data.ptr == address  # of the same size, rounded up
    assert plus_one(10)().data.ptr != address
    assert allocator.given == 4
    assert (host(third) == 1).all()


def test_pointers_to_blocks(allocator):
    """CuPy's pointer object stays with a dead array's block, unless the program has the block."""
    run = plus_one(1000)
    pointer_class = type(run().data)
    assert issubclass(pointer_class, memory.MemoryPointer)
    result = run()
    block, address, last = result.data.mem, result.data.ptr, result.data
    del result
    assert run().data.ptr != address
    assert (last.ptr, last.mem, last.device_id) == (address, block, 0)
    del last
    assert run().data.ptr != address
    assert block.ptr == address
    del block
    assert {run().data.ptr for _ in range(3)} == {address}
    result = run()
    loop = [result.data]
    loop.append(loop)
    del loop, result
    gc.collect()  # also of what the blocks have
    assert allocator.used == 0
    assert (host(run()) == 1).all()


def test_blocks_of_another_stream_are_not_taken(allocator):
    run = plus_one(1000)
    address = run().data.ptr
    _C.test_cupy_without_device(device(np.ones(1)), 64)
    other = run().data.ptr
    assert other != address
    assert run().data.ptr == other
    _C.test_cupy_without_device(device(np.ones(1)), 0)
    assert run().data.ptr == address
    assert allocator.given == 2
    _C.test_cupy_without_device(device(np.ones(1)), 2)  # a stream for each thread
    for given in (3, 4):
        run()
        assert allocator.given == given


def test_blocks_are_given_back(allocator):
    run, large = plus_one(1000), plus_one(1 << 20)
    run()
    large()
    assert allocator.used == 4096  # a large one at once
    gc.collect(1)
    assert allocator.used == 4096
    gc.collect()
    assert allocator.used == 0
    kept = run()
    other = Allocator()
    with cp.cuda.using_allocator(other):
        run()
        assert (allocator.used, other.used) == (4096, 4096)
    del kept
    assert allocator.used == 0  # of an allocator that is no longer in use
    run()
    assert other.used == 0


def test_blocks_are_bounded(allocator):
    runs = [plus_one(size) for size in (1 << 18, 100_000, 90_000)]
    for run in runs:
        many = [run() for _ in range(300)]
        del many
        assert 0 < allocator.used <= 64 << 20
    sizes = [plus_one(128 * k) for k in range(1, 150)]
    for run in sizes:
        run()
    assert 0 < allocator.used <= 64 << 20


def test_blocks_and_a_limit(allocator):
    allocator.limit = 8192
    run, twice = plus_one(1000), plus_one(2000)
    for _ in range(3):
        assert (host(run()) == 1).all()
        assert (host(twice()) == 1).all()  # what `run` left is given back
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError):  # of CuPy's own try, without a device
        plus_one(3000)()
    assert allocator.used <= 8192


def test_nothing_is_kept_under_a_memory_hook(allocator):
    class Hook(cp.cuda.MemoryHook):
        name = "hook"

    run = plus_one(1000)
    with Hook():
        for given in (1, 2, 3):
            run()
            assert allocator.given == given
    for _ in range(3):
        run()
    assert allocator.given == 4


@pytest.mark.parametrize(
    "function, args, told",
    [
        (lambda x: x.nonzero(), 1, "'nonzero' of a CuPy array"),
        (lambda x: float(x.sum()), 1, "PC00"),
        (lambda x: 1 if x.sum() > 0 else 2, 1, "truth of a CuPy array"),
        (lambda x: [v for v in x], 1, "iteration over a CuPy array"),  # noqa: C416
        (lambda x, y: x + y, 2, "no array of the device"),
        (lambda x, y: np.add(x, y), 2, "PC00"),
        (lambda x, y: x < y, 2, "no array of the device"),
        (lambda x: np.sin(x), 1, "PC00"),
        (lambda x: np.sum(x), 1, "NumPy's sum of a CuPy array"),
        (lambda x: np.transpose(x), 1, "NumPy's transpose of a CuPy array"),
        (lambda x: np.ravel(a=x), 1, "NumPy's ravel of a CuPy array"),
        (lambda x: cp.cumsum(x, out=x), 1, "PC0051"),
        (lambda x: cp.sin(x, out=(x,)), 1, "called this way"),
        (lambda x: x.sum(out=x), 1, "PC00"),
        (lambda x: cp.add(x, 1, dtype="f8"), 1, "called this way"),
    ],
)  # fmt: skip
def test_breaks(function, args, told):
    given = [device(values((4, 4)))] + [values((4, 4))] * (args - 1)
    assert told in breaks(function, *given)


def adam(xp, parameters, moments, squares, gradients, rate, first, second, epsilon):
    made = []
    for k in range(len(parameters)):
        g = gradients[k]
        m = moments[k] * first + g * (1 - first)
        v = squares[k] * second + g * g * (1 - second)
        made += [parameters[k] - rate * m / (xp.sqrt(v) + epsilon), m, v]
    return tuple(made)


def optimised(shapes):
    """A step of an optimiser, compiled and plain; returns the function."""
    lists = [
        [np.abs(values(shape, "f8", 10 * k + j)) for j, shape in enumerate(shapes)]
        for k in range(4)
    ]
    numbers = 0.01, 0.9, 0.99, 1e-8
    pycompile.reset()  # so that the lists' lengths are known
    compiled = pycompile.compile(
        lambda p, m, v, g, rate, first, second, small: adam(
            cp, p, m, v, g, rate, first, second, small
        ),
        fullgraph=True,
    )
    given = [[device(a) for a in part] for part in lists]
    for _ in range(2):
        made = compiled(*given, *numbers)
    for a, b in zip(made, adam(np, *lists, *numbers), strict=True):
        np.testing.assert_allclose(host(a), b, rtol=1e-14)


def test_kernels_of_one_text_are_launched_together():
    mixed = [(700,), (9,), (2000,), (3, 5)] * 3
    for shapes in ([(40, 3)] * 9, mixed, [(64,)] * 2, [(k,) for k in range(1, 61)]):
        optimised(shapes)


def test_reductions_launched_together():
    def function(xp, *arrays):
        return tuple((x * 2).sum(axis=-1) - x.max() for x in arrays)

    check(function, *(values((k, 50), "f8", k) for k in range(2, 9)), exact=False)
    check(function, *(values((6, 50), "f8", k) for k in range(7)), exact=False)


def test_numbers_of_the_host_of_kernels_launched_together():
    def function(xp, a, b, *arrays):
        made = []
        for k, x in enumerate(arrays):
            y = x * a + k
            a = a * b  # of the host: there before the last of the kernels
            made.append(y * a)
        return tuple(made)

    check(function, 1.5, 0.5, *(values((100,), "f8", k) for k in range(6)))


def test_an_array_that_many_read():
    def function(xp, scale, mask, *arrays):
        return tuple(xp.where(mask, x * scale, -x) for x in arrays)

    arrays = [values((90,), "f8", k) for k in range(5)]
    check(function, np.asarray(2.0), values((90,), "?"), *arrays)
    check(function, np.asarray(2.0), values((1,), "?"), *arrays)


def test_error_functions():
    """cupyx.scipy.special's, which may be imported after other functions were compiled."""
    from cupyx.scipy import special

    for name in ("erf", "erfc"):
        function = getattr(special, name)
        for dtype, error in (("f4", 1e-6), ("f8", 1e-14)):
            x = values((300,)).astype(dtype)
            compiled = once(lambda x, function=function: function(x * 2) + 1)
            compiled(device(x))
            made = compiled(device(x))
            wanted = np.vectorize(getattr(math, name))((x * 2).astype("f8")) + 1
            assert made.dtype == dtype
            np.testing.assert_allclose(host(made), wanted, rtol=error, atol=error)


def test_what_varies_is_named():
    """CuPy runs what no plan holds for, which it cannot without a device."""
    x = values((30, 40))
    compiled = pycompile.compile(lambda x: (x * 2 + 1) * 3)
    with pytest.warns(pycompile.PycompileWarning, match="was compiled") as told:
        for n in range(1, 40):
            try:
                compiled(device(x)[:, ::n])
            except cp.cuda.runtime.CUDARuntimeError:
                break
    text = told[0].message.details
    assert "ndarray object" not in text
    assert "x.shape[1]" in text
