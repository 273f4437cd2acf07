"""CuPy arrays: compiled functions against CuPy itself, on the device.

Elementwise results have CuPy's bits; reductions are compared by their error."""

import gc

import numpy as np
import pytest

import pycompile
from pycompile import _C

cp = pytest.importorskip("cupy")

try:
    cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device", allow_module_level=True)

SHAPES = [(1,), (7,), (1024,), (100003,), (64, 1000), (33, 7), (5, 6, 7), (3, 1, 2049)]


def inputs(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    size = int(np.prod(shape))
    if kind == "b":
        values = rng.integers(0, 2, size).astype(bool)
    elif kind in "iu":
        values = rng.integers(0 if kind == "u" else -50, 100, size).astype(dtype)
    else:
        values = (rng.standard_normal(size) * np.exp(rng.uniform(-3, 3, size))).astype(dtype)
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5], dtype)
        count = min(size // 2, 64)
        values[:count] = rng.choice(special, count)
    return cp.asarray(values.reshape(shape))


def same(made, wanted):
    assert type(made) is type(wanted)
    assert made.dtype == wanted.dtype
    assert made.shape == wanted.shape
    assert made.strides == wanted.strides
    assert made.flags.c_contiguous == wanted.flags.c_contiguous
    assert made.flags.f_contiguous == wanted.flags.f_contiguous
    a, b = (np.ascontiguousarray(part.get()) for part in (made, wanted))
    if a.dtype.name == "bfloat16":
        a, b = a.astype("f4"), b.astype("f4")  # exact
    if a.dtype.kind in "fc":
        a, b = a.view(f"f{a.real.itemsize}"), b.view(f"f{b.real.itemsize}")
        nan = np.isnan(a) & np.isnan(b)
        a, b = np.where(nan, 0, a), np.where(nan, 0, b)
        a, b = a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}")
    assert (a == b).all(), np.flatnonzero(a != b)[:5]


def compiled(function, *args):
    """The result of the compiled function, in one plan whose second run is the answer."""
    whole = pycompile.compile(function, fullgraph=True)
    whole(*args)
    return whole(*args)


UNARY = """sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2
log10 log1p cbrt sqrt floor ceil trunc rint absolute negative positive sign square reciprocal isnan isinf
isfinite signbit degrees radians logical_not""".split()
BINARY = """add subtract multiply divide floor_divide remainder power arctan2 hypot fmod copysign maximum
minimum fmax fmin equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
logaddexp nextafter heaviside""".split()
INTEGER = """add subtract multiply divide floor_divide remainder maximum minimum equal less bitwise_and bitwise_or
bitwise_xor logical_and left_shift right_shift""".split()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    ufunc = getattr(cp, name)
    x = inputs((4096,), dtype, 1)
    same(compiled(lambda x: ufunc(x), x), ufunc(x))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    ufunc = getattr(cp, name)
    x, y = inputs((4096,), dtype, 1), inputs((4096,), dtype, 2)
    same(compiled(lambda x, y: ufunc(x, y), x, y), ufunc(x, y))


def every_half():
    return cp.arange(1 << 16, dtype="u2").view("f2")


@pytest.mark.parametrize("name", UNARY)
def test_unary_of_halves(name):
    ufunc = getattr(cp, name)
    x = every_half()
    same(compiled(lambda x: ufunc(x), x), ufunc(x))


@pytest.mark.parametrize(
    "name", [name for name in BINARY if name not in ("logaddexp", "nextafter")]
)
def test_binary_of_halves(name):
    ufunc = getattr(cp, name)
    x = every_half()
    y = cp.asarray(np.random.default_rng(1).permutation(1 << 16).astype("u2").view("f2"))
    same(compiled(lambda x, y: ufunc(x, y), x, y), ufunc(x, y))


def test_halves_in_chains():
    def chain(x, y, a):
        z = cp.tanh(x * a + y) - y / 3
        return (
            z * z,
            z > 0.5,
            cp.where(z < x, z, -y),
            x.astype("f4") + z,
            z.astype("f8") * 0.1,
            (z * 9).astype("i4"),
        )

    x, y = (cp.random.default_rng(k).standard_normal(10_007).astype("f2") for k in (1, 2))
    for a in (1.7, 2):
        for made, wanted in zip(compiled(chain, x, y, a), chain(x, y, a), strict=True):
            same(made, wanted)
    for dtype in ("f4", "f8", "i1", "i4", "u8", "?"):
        wide = inputs((5000,), dtype, 3) * (3000 if dtype[0] == "f" else 1)
        same(compiled(lambda x: x.astype("f2"), wide), wide.astype("f2"))


@pytest.mark.parametrize(
    "shape, axis", [((100003,), None), ((64, 1000), 1), ((1000, 64), 0), ((100_000, 5), 0)]
)
def test_half_reductions(shape, axis):
    host = np.random.default_rng(1).standard_normal(shape).astype("f2")
    x, exact = cp.asarray(host), host.astype("f8")
    made = compiled(lambda x: (x.sum(axis=axis), x.mean(axis=axis)), x)
    close(made[0], x.sum(axis=axis), exact.sum(axis=axis))
    close(made[1], x.mean(axis=axis), exact.mean(axis=axis))
    made = compiled(lambda x: (x.max(axis=axis), x.min(axis=axis)), x)
    same(made[0], x.max(axis=axis))
    same(made[1], x.min(axis=axis))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("name", INTEGER)
def test_integers(name, dtype):
    ufunc = getattr(cp, name)
    x, y = inputs((999,), dtype, 1), inputs((999,), dtype, 2)
    if "shift" in name:
        y = y % 5
    same(compiled(lambda x, y: ufunc(x, y), x, y), ufunc(x, y))


@pytest.mark.parametrize("shape", SHAPES)
def test_chain(shape):
    def chain(x, y, a):
        z = cp.tanh(x * a + y) - y / 3
        return z * z, z > 0.5, cp.where(z < x, z, -y)

    args = inputs(shape, "f4", 1), inputs(shape, "f4", 2), 1.7
    for made, wanted in zip(compiled(chain, *args), chain(*args), strict=True):
        same(made, wanted)


@pytest.mark.parametrize(
    "left, right",
    [
        ((64, 1000), (1000,)),
        ((64, 1), (1, 33)),
        ((5, 1, 7), (6, 1)),
        ((3, 1), (3, 1)),
        ((), (17,)),
        ((40, 3), (3,)),
    ],
)
def test_broadcasting(left, right):
    args = inputs(left, "f4", 1), inputs(right, "f4", 2)
    same(compiled(lambda x, y: x * y + x, *args), args[0] * args[1] + args[0])


def test_mixed_dtypes():
    def mixed(x, n, b):
        return (
            x + n,
            n * 2,
            n / 4,
            b & (n > 3),
            x**2,
            x**0.5,
            -n,
            ~b,
            x.astype("f8") + 1,
            n.astype("f4") * 0.1,
        )

    args = inputs((2000,), "f4", 1), inputs((2000,), "i4", 2), inputs((2000,), "?", 3)
    for made, wanted in zip(compiled(mixed, *args), mixed(*args), strict=True):
        same(made, wanted)


def test_strided_and_unaligned():
    base = inputs((10001,), "f4", 1)
    for x in (base[1:], base[::2], base[::-1], base[3:1003:3]):
        same(compiled(lambda x: x * 2 + 1, x), x * 2 + 1)


def layouts(shape, dtype):
    """Arrays of one shape in several layouts."""
    x = inputs(shape, dtype, 1)
    rank = len(shape)
    gaps = cp.zeros(tuple(2 * n + 3 for n in shape), dtype)[
        tuple(slice(3, 3 + 2 * n, 2) for n in shape)
    ]
    gaps[...] = x
    back = cp.ascontiguousarray(x[(slice(None, None, -1),) * rank])
    yield x
    yield cp.asfortranarray(x)
    yield gaps
    yield back[(slice(None, None, -1),) * rank]
    if rank > 2:
        yield cp.ascontiguousarray(x.transpose(1, 0, 2)).transpose(1, 0, 2)
        yield cp.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1)


VIEWS = [
    lambda x: (x.T, x[0], x[-1:], x[..., ::2], x[None, 1:], x[:, ::-1], x[0][0]),
    lambda x: (x.transpose(), x.swapaxes(0, 1), cp.moveaxis(x, 0, -1), cp.flip(x), cp.fliplr(x)),
    lambda x: (cp.expand_dims(x, 1), x[:1].squeeze(), cp.broadcast_to(x[0], x.shape), x.reshape((1,) + x.shape)),
    lambda x: (x.T + 1, x[1:] * x[:-1], x[::-1] - x, x[0] + x[:1].T, cp.where(x > 0, x, x[0])),
    lambda x: ((x * 2).T, (x + 1)[1:], x.T * x.T, x[..., 1] + x[..., -1], cp.exp(x[1]), abs(x).T),
    lambda x: (x.astype("f8"), x.T.astype("i4"), x[:, ::2].astype("f8"), x + x.astype("f8")),
    lambda x: cp.broadcast_to(x[0], x.shape).astype("f8"),
]  # fmt: skip


@pytest.mark.parametrize(
    "shape", [(5, 6), (64, 100), (1000, 33), (129, 257), (4, 5, 6), (30, 1, 40)]
)
@pytest.mark.parametrize("number", range(len(VIEWS)))
def test_views(number, shape):
    for x in layouts(shape, "f4"):
        made, wanted = compiled(VIEWS[number], x), VIEWS[number](x)
        made, wanted = (made, wanted) if isinstance(made, tuple) else ((made,), (wanted,))
        for a, b in zip(made, wanted, strict=True):
            same(a, b)
            assert (a.base is None) == (b.base is None)
            if b.base is x or b.base is x.base is not None:
                assert a.base is b.base
                assert a.data.ptr == b.data.ptr


def test_views_share_memory():
    def function(x):
        y = x + 1
        return y, y.T, y[1:], x[::2]

    x = inputs((6, 7), "f4", 1)
    y, transposed, rest, part = compiled(function, x)
    assert transposed.base is y
    assert rest.base is y
    assert part.base is x
    y[1, 2] = 77
    assert float(transposed[2, 1]) == 77
    assert float(rest[0, 2]) == 77


def adds(x, y):
    x += y
    x *= 0.5
    return x, x + 1


def parts(x, y):
    x[1:] -= y[:-1] * 2
    y[:, ::2] = 7
    return y


def shifted(x, y):
    x[1:] += x[:-1]
    y[...] = y[::-1]


def exchanged(x, y):
    t = x + 0
    x[...] = y
    y[...] = t
    return t


def transposed(x, y):
    x.T[1:] = y.T[:-1]
    y.T[...] += 1


def outputs(x, y):
    z = cp.add(x, y, out=x)
    cp.exp(y[:, 1:], out=y[:, 1:])
    return z


def numbers(x, y):
    x[0] = 1.5
    y.fill(-0.0)


def zeros(x, y):
    x[1:] = -0.0
    y[:, 1:] = -0.0


def reduced(x, y):
    x -= x.max(axis=1, keepdims=True)
    y[0] = y.max(axis=0)


def differences(x, y):
    x *= 2
    y[1:] -= cp.diff(x, axis=0)
    x += 1
    return cp.diff(x), cp.diff(x, n=2)


def fresh(x, y):
    z = x + y
    z[1:] = 5
    w = x * y
    w += x
    w[0] = z[1]
    return z, w, z.T, w[1:]


@pytest.mark.parametrize(
    "function",
    [
        adds,
        parts,
        shifted,
        exchanged,
        transposed,
        outputs,
        numbers,
        zeros,
        reduced,
        differences,
        fresh,
    ],
)
def test_writes(function):
    """Against CuPy on copies of the same layout; memory between the elements stays as it is."""
    for shape in ((5, 6), (64, 100), (1000, 33)):
        for dtype in ("f4", "f8"):
            for x, y in zip(layouts(shape, dtype), list(layouts(shape, dtype))[::-1], strict=True):
                twice = []
                for _ in range(2):
                    bases = [a if a.base is None else a.base for a in (x, y)]
                    copies = [
                        cp.ndarray(b.shape, b.dtype, cp.empty(b.nbytes, "u1").data, b.strides)
                        for b in bases
                    ]
                    for copy, base in zip(copies, bases, strict=True):
                        copy[...] = base
                    given = [
                        cp.ndarray(a.shape, a.dtype, c.data + (a.data.ptr - b.data.ptr), a.strides)
                        for a, b, c in zip((x, y), bases, copies, strict=True)
                    ]
                    twice.append((given, copies))
                whole = pycompile.compile(
                    function, fullgraph=True, options={"recompile_limit": 100}
                )
                for _ in range(2):
                    made, wanted = whole(*twice[0][0]), function(*twice[1][0])
                    for a, b in zip(
                        *(r if isinstance(r, tuple) else (r,) for r in (made, wanted)), strict=True
                    ):
                        if b is not None:
                            same(a, b)
                            assert [a is g for g in twice[0][0]] == [b is g for g in twice[1][0]]
                    for a, b in zip(twice[0][1], twice[1][1], strict=True):
                        same(a, b)


def test_overlapping_arguments():
    def function(x, y):
        x += y

    whole = inputs((1000,), "f8", 1)
    other = whole.copy()
    compiled_function = pycompile.compile(function)
    for _ in range(3):
        compiled_function(whole[1:], whole[:-1])
        function(other[1:], other[:-1])
        same(whole, other)


def test_casts_of_writes():
    def function(x, n):
        n[...] = x
        x += n

    for dtype in ("i1", "i4", "?", "f8", "u2"):
        host = np.random.default_rng(1).standard_normal((40, 30)) * 20
        x, n = cp.asarray(abs(host).astype("f4")), cp.zeros((40, 30), dtype)
        x_, n_ = x.copy(), n.copy()
        compiled(function, x, n)
        function(x_, n_)
        function(x_, n_)
        same(x, x_)
        same(n, n_)


def test_errors_of_writes_are_cupys():
    def into_integers(n):
        n += 1.5

    def misfit(n):
        n[0] += n

    n = cp.arange(6).reshape(2, 3)
    for function in (into_integers, misfit):
        with pytest.raises(Exception) as plain:
            function(n)
        with pytest.raises(type(plain.value)):
            pycompile.compile(function)(n)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
def test_reductions_in_any_layout(axis):
    for shape in ((33, 40), (300, 1000), (5, 6, 7), (20, 3, 500)):
        for x in layouts(shape, "i8"):
            function = lambda x: (x.sum(axis=axis), x.max(axis=axis, keepdims=True))  # noqa: B023, E731
            for made, wanted in zip(pycompile.compile(function)(x), function(x), strict=True):
                same(made, wanted)


def test_softmax_of_views():
    def softmax(x):
        e = cp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    host = np.random.default_rng(1).standard_normal((700, 300)).astype("f4")
    for view in (lambda x: x.T, lambda x: x[::2, 1:], lambda x: x[::-1, ::-1]):
        exact = view(np.exp(host.astype("f8")))
        exact = exact / exact.sum(axis=1, keepdims=True)
        function = lambda x: softmax(view(x))  # noqa: B023, E731
        x = cp.asarray(host)
        close(compiled(function, x), function(x), exact)


def close(made, wanted, exact):
    assert made.dtype == wanted.dtype
    assert made.shape == wanted.shape
    assert made.strides == wanted.strides
    if made.dtype.kind != "f":
        assert (made.get() == wanted.get()).all()
        return
    scale = np.abs(exact).max() + 1e-30
    error = np.abs(made.get().astype("f8") - exact).max() / scale
    theirs = np.abs(wanted.get().astype("f8") - exact).max() / scale
    assert error <= max(2 * theirs, 4 * np.finfo(made.dtype).eps), (error, theirs)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "?"])
@pytest.mark.parametrize(
    "shape, axis",
    [
        ((7,), None), ((1000,), 0), ((100003,), None), ((3_000_001,), None), ((64, 1000), 1), ((64, 1000), 0),
        ((64, 1000), None), ((2000, 33), 1), ((33, 5000), 0), ((5, 100_000), 1), ((100_000, 5), 0),
        ((1000, 40), 1), ((6, 50, 70), (1, 2)), ((6, 50, 70), 1), ((6, 50, 70), (0, 1)), ((20, 9000), 1),
    ],
)  # fmt: skip
def test_sums(shape, axis, dtype):
    rng = np.random.default_rng(1)
    host = rng.standard_normal(shape) + 0.5
    host = (host > 0) if dtype == "?" else (host * (100 if dtype == "i4" else 1)).astype(dtype)
    x = cp.asarray(host)
    made = compiled(lambda x: (x.sum(axis=axis), x.mean(axis=axis, keepdims=True)), x)
    close(made[0], x.sum(axis=axis), host.astype("f8").sum(axis=axis))
    close(
        made[1], x.mean(axis=axis, keepdims=True), host.astype("f8").mean(axis=axis, keepdims=True)
    )
    made = compiled(lambda x: (x.max(axis=axis), cp.min(x, axis=axis)), x)
    same(made[0], x.max(axis=axis))
    same(made[1], x.min(axis=axis))


def test_sums_are_the_same_each_time():
    x = cp.asarray(np.random.default_rng(1).standard_normal((3000, 4000), dtype="f4"))
    function = pycompile.compile(lambda x: (x.sum(), x.sum(axis=0), x.sum(axis=1)))
    first = [part.get() for part in function(x)]
    for _ in range(5):
        for part, again in zip(first, function(x), strict=True):
            assert (part == again.get()).all()


@pytest.mark.parametrize(
    "shape", [(64, 1000), (1000, 40), (16, 4096), (3, 70000), (5, 33000), (200, 16)]
)
def test_softmax(shape):
    def softmax(x):
        e = cp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    host = np.random.default_rng(1).standard_normal(shape).astype("f4")
    x = cp.asarray(host)
    exact = np.exp(host.astype("f8") - host.max(axis=1, keepdims=True))
    close(compiled(softmax, x), softmax(x), exact / exact.sum(axis=1, keepdims=True))


def test_whole_sum_in_a_chain():
    def normalised(x):
        return x / cp.sqrt((x * x).sum()) + x.mean()

    for n in (1000, 2_000_000):
        host = np.random.default_rng(1).standard_normal(n).astype("f4")
        x, wide = cp.asarray(host), host.astype("f8")
        close(
            compiled(normalised, x),
            normalised(x),
            wide / np.sqrt((wide * wide).sum()) + wide.mean(),
        )


def test_results_stay_on_the_device():
    total = compiled(lambda x: x.sum() * 2, cp.arange(10, dtype="f4"))
    assert type(total) is cp.ndarray
    assert total.shape == ()
    assert float(total) == 90


def test_current_stream_and_threads():
    import threading

    function = pycompile.compile(lambda x: cp.exp(x) + x.sum())
    host = np.random.default_rng(1).standard_normal(100_000).astype("f4")
    wanted = function(cp.asarray(host)).get()
    failed = []

    def work():
        with cp.cuda.Stream(non_blocking=True) as stream:
            x = cp.asarray(host)
            for _ in range(50):
                y = function(x)
            stream.synchronize()
            if not (y.get() == wanted).all():
                failed.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_guards():
    function = pycompile.compile(lambda x: x * 2 + 1)
    for x in (
        cp.ones(5, "f4"),
        cp.ones(6, "f4"),
        cp.ones(5, "f8"),
        cp.ones((2, 3), "f4"),
        np.ones(5),
        3.0,
    ):
        wanted = x * 2 + 1
        for _ in range(2):
            assert type(function(x)) is type(wanted)
            assert (
                np.asarray(wanted.get() if hasattr(wanted, "get") else wanted) == 3
            ).all() or x == 3.0


def test_what_is_not_compiled_is_cupys():
    def broken(x):
        y = cp.exp(x)
        y[y > 3] = 5
        z = y[y > 1]
        return (y * 2 + y).sum(), z, y @ x

    x = cp.arange(5, dtype="f4")
    explained = pycompile.explain(broken)(x)
    assert {item["code"] for item in explained.breaks} == {"PC0051"}
    made, wanted = pycompile.compile(broken)(x), broken(x)
    for a, b in zip(made, wanted, strict=True):
        assert np.allclose(a.get(), b.get(), rtol=1e-6)


def test_a_network_is_one_plan():
    def network(x, w, b, v):
        return cp.tanh(x @ w + b) @ v

    for dtype in ("f4", "f8"):
        args = (
            inputs((64, 300), dtype, 1),
            inputs((300, 128), dtype, 2),
            inputs((128,), dtype, 3),
            inputs((128, 10), dtype, 4),
        )
        args = [cp.where(cp.isfinite(a), a, 1) for a in args]
        pycompile.reset()
        whole = pycompile.compile(network, fullgraph=True)
        whole(*args)
        same(whole(*args), network(*args))
        assert whole.stats()["plans"] == 1


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "?", "c8"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_variances(axis, dtype):
    x = (cp.random.default_rng(3).random((300, 70)) * 5).astype(dtype)
    for function in (
        lambda x: x.var(axis=axis),
        lambda x: cp.std(x.T, axis, ddof=2, keepdims=True),
        lambda x: x.var(axis, ddof=30_000),  # NaN
        lambda x: x.var(axis, dtype="f8"),
    ):
        made, wanted = compiled(function, x), function(x)
        assert (made.dtype, made.shape, made.strides) == (
            wanted.dtype, wanted.shape, wanted.strides,
        )  # fmt: skip
        epsilon = float(cp.finfo(wanted.dtype).eps)
        cp.testing.assert_allclose(made, wanted, rtol=64 * epsilon)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers(dtype):
    rng = cp.random.default_rng(5)
    x = (rng.random((300, 70)) - 0.5 + 1j * rng.random((300, 70))).astype(dtype)
    y, r = x[::-1] * 3 - 1, rng.random((70,)).astype("f4")
    for function in (
        lambda x, y, r: (x + y, x - y, x * y, x / y, -x, x == y, x != x),
        lambda x, y, r: (abs(x), cp.square(x), x.conj() * y.T.T, x * 2j + 1, 1 / x, 2 - x.T),
        lambda x, y, r: (x * r, r + 1j, cp.where(r > 0.5, x, y), x * 2.5 + r, cp.conj(x)[::2]),
    ):
        for made, wanted in zip(compiled(function, x, y, r), function(x, y, r), strict=True):
            assert (made.dtype, made.shape, made.strides) == (
                wanted.dtype, wanted.shape, wanted.strides,
            )  # fmt: skip
            assert made.get().tobytes() == wanted.get().tobytes()
    for axis in (None, 0, 1):
        made = compiled(lambda x: (x.sum(axis=axis), x.mean(axis=axis)), x)
        cp.testing.assert_allclose(made[0], x.sum(axis=axis), rtol=1e-4)
        cp.testing.assert_allclose(made[1], x.mean(axis=axis), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "u1", "?"])
def test_differences_and_ranges(dtype):
    x = (cp.random.default_rng(3).random((300, 70)) * 250).astype(dtype)
    functions = [
        lambda x: cp.diff(x, axis=0),
        lambda x: cp.diff(x.T, 3),
        lambda x: cp.diff(x[1], 2),
    ]
    if dtype != "?":
        functions += [
            lambda x: x.ptp(),
            lambda x: cp.ptp(x, 0),
            lambda x: x.T.ptp(1, keepdims=True),
        ]
    for function in functions:
        made, wanted = compiled(function, x), function(x)
        assert (made.dtype, made.shape, made.strides) == (
            wanted.dtype, wanted.shape, wanted.strides,
        )  # fmt: skip
        cp.testing.assert_array_equal(made, wanted)


CALLS = [
    lambda x: cp.dot(x, x) + 1,
    lambda x: (x * 2).dot(x) * x,
    lambda x: cp.concatenate([x, x * 2], axis=1) + 1,
    lambda x: cp.stack((x, x - 1)) * 0.5,
    lambda x: cp.einsum("ij,kj->ik", x + 1, x) * 2,
    lambda x: cp.tensordot(x, x, axes=([1], [1])) + 1,
    lambda x: cp.cumsum(x * 2, axis=0) - 1,
    lambda x: (x + 1).cumsum(1) * 3,
    lambda x: cp.sort(x + 1, axis=-1) * 2,
    lambda x: (-x).argsort(axis=1) + 1,
    lambda x: cp.take(x + 1, cp.argsort(x.max(axis=1)), axis=0) * 2,
    lambda x: (x * 2).var(axis=0, ddof=1),
    lambda x: cp.tril(x * 2) + cp.eye(6, dtype="f4") + cp.full((6, 6), 2.5) * cp.ones(6),
    lambda x: cp.linalg.inv(x * 2 + cp.eye(6, dtype="f4")) * 2,
    lambda x: cp.linalg.solve(x + 1, x * 2) + 1,
    lambda x: cp.linalg.norm(x * 2) + x,
    lambda x: cp.linalg.svd(x * 2)[1] * 2,
    lambda x: cp.linalg.qr(x * 2)[0],
    lambda x: cp.linalg.eigh(x * x)[0] * 2,
    lambda x: cp.median(x * 2, axis=0) + 1,
    lambda x: cp.fft.rfft(x * 2, axis=1),
    lambda x: cp.zeros_like(x) + cp.arange(6) * x,
    lambda x: (x + 1).copy() * 2,
    lambda x: (x * 2).sum(axis=0, dtype="f8"),
    lambda x: x.astype("f4") + 1,
    lambda x: (x + 1j) * (x * 2) + 1,
    lambda x: cp.exp(1j * x) + x.max(),
    lambda x: cp.logaddexp2(x * 2, x) + 1,
    lambda x: cp.modf(x * 2)[0] + 1,
    lambda x: cp.add(x * 2, 1, dtype="f8") * 2,
    lambda x: (x * 3).astype("i8") ** 2 + 1,
    lambda x: cp.ascontiguousarray(x.T) + 1,
    lambda x: x * np.float64(2) + 1,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_calls(number):
    function = CALLS[number]
    x = cp.asarray(np.random.default_rng(1).standard_normal((6, 6)).astype("f4"))
    same(compiled(function, x), function(x))


def test_indices_of_extremes_are_cupys():
    """They are of `long long`, which is not `long` though both have 64 bits."""

    def largest(x):
        return cp.argmax(x * 2, axis=1) * 2

    x = cp.asarray(np.random.default_rng(1).standard_normal((6, 6)).astype("f4"))
    functions = (
        largest,
        lambda x: cp.argmin(x + 1, axis=0),
        lambda x: (x * 2).argmax(),
        lambda x: (x * 2).argmax(axis=1)[1:3],
        lambda x: (x * 2).argmax(axis=1).reshape(2, 3),
        lambda x: (x * 2).argmax(axis=1, keepdims=True) + x,
    )
    for function in functions:
        made = compiled(function, x)
        same(made, function(x))
        assert made.dtype.char == function(x).dtype.char


def test_memory_is_cupys():
    pool = cp.get_default_memory_pool()
    function = pycompile.compile(lambda x: x + 1)
    x = cp.zeros(1 << 20, "f4")
    function(x)
    before = pool.used_bytes()
    y = function(x)
    assert pool.used_bytes() - before == 4 << 20
    del y
    assert pool.used_bytes() == before


def test_memory_of_small_arrays():
    function = pycompile.compile(lambda x: x + 1)
    x = cp.zeros(1000, "f4")
    for _ in range(3):
        y = function(x)
    assert isinstance(y.data.mem, cp.cuda.memory.BaseMemory)
    assert (y.data.mem.size, y.data.device_id) == (4096, x.device.id)
    pool = cp.get_default_memory_pool()
    del y
    gc.collect()
    before = pool.used_bytes()
    y = function(x)
    assert pool.used_bytes() == before + 4096
    address = y.data.ptr
    del y
    assert function(x).data.ptr == address
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        z = function(x)
    assert z.data.ptr != address
    stream.synchronize()
    del z
    gc.collect()
    assert pool.used_bytes() == before


def test_memory_within_a_limit():
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        function = pycompile.compile(lambda x: (x + 1, x * 2))
        x = cp.zeros(1 << 16, "f4")
        pool.set_limit(size=pool.total_bytes() + (1 << 20))
        for _ in range(5):
            made = function(x)
            assert (made[1] == 0).all()
            del made
            gc.collect()
        with pytest.raises(cp.cuda.memory.OutOfMemoryError):
            assert len([function(x) for _ in range(3)]) == 0
        pool.set_limit(size=0)
        assert (function(x)[0] == 1).all()


def test_memory_that_is_short():
    """Blocks that are kept go back when the device has no more memory."""
    function = pycompile.compile(lambda x: x + 1)
    x = cp.zeros(1 << 18, "f4")
    many = [function(x) for _ in range(60)]
    del many
    free = cp.cuda.runtime.memGetInfo()[0]
    cp.get_default_memory_pool().free_all_blocks()
    with pytest.raises(cp.cuda.memory.OutOfMemoryError):
        cp.zeros(free + (1 << 30), "u1")
    assert (function(x) == 1).all()


@pytest.mark.parametrize("shapes", [[(1 << 16,)] * 60, [(300, 40), (5000,), (7,)] * 5])
def test_kernels_launched_together(shapes):
    def step(rate, *arrays):
        made = []
        for k in range(len(shapes)):
            p, m, g = arrays[k], arrays[len(shapes) + k], arrays[2 * len(shapes) + k]
            m = m * 0.9 + g * 0.1
            made += [p - rate * m / (cp.sqrt(cp.abs(m)) + 1e-8), m]
        return made

    args = [inputs(shape, "f4", seed) for seed in range(3) for shape in shapes]
    for made, wanted in zip(compiled(step, 0.01, *args), step(0.01, *args), strict=True):
        same(made, wanted)


@pytest.mark.parametrize("shape", [(1,), (1000,), (1_000_003,), (700, 300)])
def test_long_kernels(shape):
    def long(x, y):
        for _ in range(40):
            x = cp.sqrt(x * 0.99 + y) + cp.cos(x) * 0.1 - cp.power(y, x) / 7
            x = cp.abs(x)
        return x

    args = inputs(shape, "f4", 1), cp.abs(inputs(shape[-1:], "f4", 2))
    same(compiled(long, *args), long(*args))


def test_read_from_the_header():
    x = cp.ones((3, 4), "f8")[:, 1:]
    name, dtype, shape, strides, _, address, device = _C.library_read(x)
    assert (name, dtype, shape, strides) == ("CuPy", "float64", x.shape, x.strides)
    assert (address, device) == (x.data.ptr, x.device.id)


def bfloat16():
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)


def every_bfloat():
    return cp.arange(1 << 16, dtype="u2").view(bfloat16())


@pytest.mark.parametrize("name", UNARY)
def test_unary_of_bfloats(name):
    ufunc = getattr(cp, name)
    x = every_bfloat()
    same(compiled(lambda x: ufunc(x), x), ufunc(x))


@pytest.mark.parametrize(
    "name", [name for name in BINARY if name not in ("logaddexp", "nextafter")]
)
def test_binary_of_bfloats(name):
    ufunc = getattr(cp, name)
    x = every_bfloat()
    y = cp.asarray(np.random.default_rng(1).permutation(1 << 16).astype("u2")).view(bfloat16())
    same(compiled(lambda x, y: ufunc(x, y), x, y), ufunc(x, y))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i2", "i4", "u4", "i8", "?"])
def test_bfloats_and_other_dtypes(dtype):
    kind = bfloat16()
    x, other = inputs((5000,), kind, 1), inputs((5000,), dtype, 3)
    same(compiled(lambda x: x.astype(kind), other), other.astype(kind))
    for function in (lambda x, y: x + y, lambda x, y: y * x, lambda x, y: cp.where(y > 0, x, y)):
        same(compiled(function, x, other), function(x, other))
    small = cp.asarray(np.random.default_rng(1).uniform(0, 100, 5000).astype(kind))
    same(compiled(lambda x: x.astype(dtype), small), small.astype(dtype))


def test_bfloats_in_chains():
    def chain(x, y, a):
        z = cp.tanh(x * a + y) - y / 3
        return (
            z * z,
            z > 0.5,
            cp.where(z < x, z, -y),
            cp.clip(x, -1, y),
            cp.floor(x * 3),
            x.astype("f4") + z,
            (z * 9).astype("i4"),
            x**2,
            x @ x,
            x.mean(),
        )

    x, y = (inputs((10_007,), bfloat16(), k)[100:] for k in (1, 2))
    for a in (1.7, 2, True):
        for made, wanted in zip(compiled(chain, x, y, a), chain(x, y, a), strict=True):
            same(made, wanted)


@pytest.mark.parametrize(
    "shape, axis", [((100003,), None), ((64, 1000), 1), ((1000, 64), 0), ((100_000, 5), 0)]
)
def test_bfloat_reductions(shape, axis):
    host = np.random.default_rng(1).standard_normal(shape).astype(bfloat16())
    x, exact = cp.asarray(host), host.astype("f8")
    made = compiled(lambda x: x.sum(axis=axis), x)
    wanted = x.sum(axis=axis)
    assert made.dtype == wanted.dtype
    ours, theirs = (abs(part.get().astype("f8") - exact.sum(axis=axis)) for part in (made, wanted))
    assert np.max(ours) <= max(np.max(theirs), 2.0**-8 * np.max(abs(exact.sum(axis=axis))))
    made = compiled(lambda x: (x.max(axis=axis), x.min(axis=axis)), x)
    same(made[0], x.max(axis=axis))
    same(made[1], x.min(axis=axis))


def test_writes_of_bfloats():
    def function(x, y):
        x += y * 2
        x *= 3

    x, y = (inputs((64, 1000), bfloat16(), k) for k in (1, 2))
    plain = x.copy()
    pycompile.compile(function)(x, y)
    function(plain, y)
    same(x, plain)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
@pytest.mark.parametrize("name", ["erf", "erfc", "gammaln", "expit"])
def test_special_functions(name, dtype):
    special = pytest.importorskip("cupyx.scipy.special")
    function = getattr(special, name)
    x = inputs((4096,), dtype, 1)
    same(compiled(lambda x: function(x) * 2 + x, x), function(x) * 2 + x)
