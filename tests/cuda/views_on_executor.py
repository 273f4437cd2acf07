"""Views of CuPy arrays in compiled functions, against CuPy's own, which needs no device for them; what kernels
read through them, against NumPy.

test_cuda.py runs this file in a process of its own, in the folder where it has built the executor."""

import numpy as np
import pytest
from deviceless import breaks, check, cp, device, header, host, once, values

import pycompile


def laid_out(array, order):
    """The same elements with the axes in this order of memory."""
    inverse = sorted(range(array.ndim), key=lambda axis: order[axis])
    return np.ascontiguousarray(array.transpose(order)).transpose(inverse)


def layouts(shape, dtype="f4"):
    """Arrays of one shape in several layouts."""
    x = values(shape, dtype)
    rank = len(shape)
    wide = np.zeros(tuple(2 * n + 3 for n in shape), dtype)
    gaps = wide[tuple(slice(3, 3 + 2 * n, 2) for n in shape)]
    gaps[...] = x
    part = wide.copy()[tuple(slice(1, 1 + n) for n in shape)]
    part[...] = x
    yield x
    yield laid_out(x, range(rank)[::-1])
    yield gaps
    yield part
    yield np.ascontiguousarray(x[(slice(None, None, -1),) * rank])[(slice(None, None, -1),) * rank]
    if rank > 2:
        yield laid_out(x, (1, 0, 2))
        yield laid_out(x, (2, 0, 1))
        yield laid_out(x, (0, 2, 1))


def check_views(function, *args):
    """`function` compiled and plain, both with CuPy: the same headers, bases and addresses."""
    compiled = once(function)
    compiled(*args)
    made, wanted = compiled(*args), function(*args)
    made, wanted = (made, wanted) if isinstance(made, tuple) else ((made,), (wanted,))
    assert len(made) == len(wanted)
    for a, b in zip(made, wanted, strict=True):
        if not isinstance(b, cp.ndarray):
            assert type(a) is type(b)
            assert a == b
            continue
        assert header(a) == header(b)
        assert a.data.ptr == b.data.ptr
        assert a.data.mem is b.data.mem
        assert (a.base is None) == (b.base is None)
        assert a.base is b.base
        assert any(a is arg for arg in args) == any(b is arg for arg in args)
        assert [a is other for other in made] == [b is other for other in wanted]


ONE = np.int64(1)

VIEWS = [
    lambda x: x.T,
    lambda x: x.mT,
    lambda x: (x.T.T, x.T),
    lambda x: x[1],
    lambda x: x[-1],
    lambda x: x[1, 2, 3],
    lambda x: x[..., 1],
    lambda x: x[None],
    lambda x: x[:, None, ::-1, 1:4:2],
    lambda x: x[1, ...],
    lambda x: (x[()], x[...], x[:], x),
    lambda x: (x, x, x[0], x[0]),
    lambda x: x[1, 2, 3, ...],
    lambda x: x[-1:-3:-1],
    lambda x: x[-9:2, 1:99],
    lambda x: x[::-1][::2][1],
    lambda x: x[1][2][3],
    lambda x: x[ONE],
    lambda x: x[0:1, :, None, 2],
    lambda x: x.transpose(),
    lambda x: x.transpose(1, 0, 2),
    lambda x: x.transpose((2, 0, 1)),
    lambda x: x.transpose([0, -1, 1]),
    lambda x: x.transpose(None),
    lambda x: cp.transpose(x),
    lambda x: cp.transpose(x, (1, 0, 2)),
    lambda x: cp.permute_dims(x, axes=(2, 1, 0)),
    lambda x: cp.matrix_transpose(x),
    lambda x: x.swapaxes(0, 2),
    lambda x: cp.swapaxes(x, axis1=-1, axis2=1),
    lambda x: cp.moveaxis(x, 0, -1),
    lambda x: cp.moveaxis(x, 1, 1),
    lambda x: cp.moveaxis(x, (0, 1), (2, 0)),
    lambda x: cp.moveaxis(x, (1,), (1,)),
    lambda x: x.squeeze(),
    lambda x: (x[1:2].squeeze(), x[:, :1].squeeze(1), cp.squeeze(x[..., None], axis=(3,))),
    lambda x: cp.expand_dims(x, 1),
    lambda x: cp.expand_dims(x, -1),
    lambda x: cp.expand_dims(x, (0, -1)),
    lambda x: cp.broadcast_to(x, (2,) + x.shape),
    lambda x: cp.broadcast_to(x[:1], x.shape),
    lambda x: cp.broadcast_to(x[:, :1], x[:, :1].shape),
    lambda x: cp.broadcast_to(x[1, 2, 3], (4, 5)),
    lambda x: cp.flip(x),
    lambda x: cp.flip(x, 1),
    lambda x: cp.flip(x, axis=(0, -1)),
    lambda x: (cp.flipud(x), cp.fliplr(x)),
    lambda x: x.reshape(x.shape),
    lambda x: x[:, :1].reshape(-1, 1, x.shape[2]),
    lambda x: x.reshape((1,) + x.shape + (1,)),
    lambda x: x[0, 0].reshape(-1, 1),
    lambda x: (x[0, 0, :1].ravel("F"), x[1, 2, 3].ravel()),
    lambda x: cp.broadcast_to(x[0, 0, 0], (2, 4)).reshape(-1),
    lambda x: (x.strides, x.T.strides, x[::2].nbytes, x.itemsize, x.ndim, x.T.shape, x[1].size),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(VIEWS)))
def test_views(number):
    for array in layouts((4, 3, 5)):
        check_views(VIEWS[number], device(array))
        check_views(VIEWS[number], device(array)[1:][::-1].transpose(0, 1, 2))


CONTIGUOUS = [
    lambda x: x.reshape(12, 5),
    lambda x: x.reshape(-1),
    lambda x: x.reshape((3, 1, -1)),
    lambda x: x.reshape([2, 2, 3, 1, 5], order="C"),
    lambda x: cp.reshape(x, (-1, 4, 1)),
    lambda x: cp.reshape(x, newshape=60),
    lambda x: (x.ravel(), cp.ravel(x), x.ravel(order="A"), x[1, 1].ravel()),
    lambda x: x.T.reshape(60, order="F"),
    lambda x: x.T.ravel("F"),
    lambda x: x.T.reshape(5, 12, order="A"),
    lambda x: x[1:3].reshape(6, 5).T[2],
]


@pytest.mark.parametrize("number", range(len(CONTIGUOUS)))
def test_reshapes(number):
    check_views(CONTIGUOUS[number], device(values((4, 3, 5))))


def test_random_reshapes():
    rng = np.random.default_rng(4)

    def shape_of(size):
        shape = []
        while size > 1:
            shape.append(int(rng.choice([n for n in range(1, size + 1) if size % n == 0])))
            size //= shape[-1]
        return tuple(rng.permutation(shape + [1] * int(rng.integers(0, 3))).tolist())

    compiled = copied = 0
    for _ in range(150):
        lengths = rng.integers(1, 5, rng.integers(1, 4))
        start = device(np.arange(lengths.prod(), dtype="f4").reshape(lengths))
        x = start[
            tuple(slice(None, None, s) for s in rng.choice([1, 1, 2, -1], start.ndim).tolist())
        ]
        x = x.transpose(rng.permutation(x.ndim).tolist())
        shape = shape_of(x.size)
        if len(shape) > 8:
            continue
        try:
            x.reshape(shape)
        except cp.cuda.runtime.CUDARuntimeError:  # a copy: CuPy has no device
            copied += 1
            made = once(lambda x: x.reshape(shape))(x)
            assert header(made) == header(cp.ndarray(shape, "f4"))
            np.testing.assert_array_equal(host(made), host(x).reshape(shape))
        else:
            compiled += 1
            check_views(lambda x: x.reshape(shape), x)
    assert compiled > 50
    assert copied > 10


def test_random_parts():
    rng = np.random.default_rng(5)

    def item(length):
        kind = rng.integers(0, 4)
        if kind == 0:
            return int(rng.integers(-length, length))
        bounds = [None if rng.random() < 0.3 else int(b) for b in rng.integers(-7, 8, 2)]
        return slice(*bounds, [None, 1, 2, -1, -2, 3][rng.integers(0, 6)])

    followed = 0
    for _ in range(200):
        x = device(np.zeros(rng.integers(1, 6, rng.integers(1, 4)), "i2"))
        key = [item(n) for n in x.shape[: rng.integers(0, x.ndim + 1)]]
        for extra in (None, Ellipsis):
            if rng.random() < 0.4:
                key.insert(int(rng.integers(0, len(key) + 1)), extra)
        if Ellipsis not in key or key[-1] is not Ellipsis and key.index(Ellipsis) < len(key) - 1:
            key = [k for k in key if k is not Ellipsis]
        key = tuple(key)
        if x[key].size == 0:
            assert "a part without elements" in breaks(lambda x: x[key], x)
        else:
            followed += 1
            check_views(lambda x: x[key], x)
    assert followed > 80


def test_views_of_results():
    def function(x):
        y = x + 1
        return (
            y.T,
            y,
            y[1],
            y[::-1, 2:],
            y.reshape(-1),
            cp.broadcast_to(y[0], y.shape),
            (x * 2)[1:].T,
        )

    array = values((4, 6))
    compiled = once(function)
    for _ in range(2):
        made = compiled(device(array))
        y = array + 1
        wanted = (
            y.T,
            y,
            y[1],
            y[::-1, 2:],
            y.reshape(-1),
            np.broadcast_to(y[0], y.shape),
            (array * 2)[1:].T,
        )
        for a, b in zip(made, wanted, strict=True):
            assert a.strides == b.strides
            np.testing.assert_array_equal(host(a), b)
        assert made[1].base is None
        for view in (made[0], *made[2:6]):
            assert view.base is made[1]
        assert made[6].base is not None
        assert made[6].base.shape == (4, 6)


def test_the_transpose_of_one_axis_is_the_array():
    for shape in ((), (1,), (5,), (3, 4)):
        x, y = device(np.ones(shape)), device(values((9,)))
        compiled = once(lambda x, y: (x.T, x.transpose(), y + 1))
        made = compiled(x, y)
        assert [a is x for a in made[:2]] == [a is x for a in (x.T, x.transpose())]


def test_base_of_a_view_is_what_owns_the_memory():
    whole = device(values((6, 5)))
    part = whole[1:4]
    inner = pycompile.compile(lambda x: x[1].reshape(5, 1), fullgraph=True)
    for _ in range(2):
        made = inner(part)
        assert made.base is whole
        assert made.data.ptr == whole[2].data.ptr


SHAPES = [(7,), (1000,), (33, 40), (64, 100), (100, 3), (5, 6, 7), (3, 1, 200)]


@pytest.mark.parametrize("shape", SHAPES)
def test_arithmetic_in_any_layout(shape):
    def function(xp, x, y):
        z = x * 2 + y
        return z, z - x, xp.where(x > y, x, y), -x

    for x in layouts(shape):
        check(function, x, values(shape, seed=2))
        check(function, values(shape, seed=2), x)
        check(function, x, x)


def test_dtypes_in_any_layout():
    for dtype in ("?", "i1", "u2", "i4", "i8", "f2", "f8"):
        for x in layouts((9, 14), dtype):
            check(
                lambda xp, x: (
                    x | x.T[:9, :9][0, 0] if x.dtype.kind in "biu" else x + x[0],
                    x == x[:, :1],
                ),
                x,
            )


PARTS = [
    lambda xp, x: x.T + 1,
    lambda xp, x: x[:, 1:] - x[:, :-1],
    lambda xp, x: x[1:-1, 1:-1] * 4 - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2],
    lambda xp, x: (x[None] * x[:, None], x[..., None] + x[0]),
    lambda xp, x: x[0] + x[1, 2],
    lambda xp, x: x[::-1] * x[:, ::-1] + xp.flip(x),
    lambda xp, x: x.reshape(-1)[::3] * 2,
    lambda xp, x: xp.broadcast_to(x[2], x.shape) + x,
    lambda xp, x: xp.swapaxes(x, 0, 1)[3] + xp.moveaxis(x, 0, 1)[2],
    lambda xp, x: (x * 2)[1:] + (x + 1)[:-1],
    lambda xp, x: (x * 2).T + (x + 1).T[:, ::-1],
    lambda xp, x: xp.expand_dims(x, 1) + xp.squeeze(x[None]),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PARTS)))
def test_arithmetic_of_parts(number):
    for shape in ((6, 7), (64, 96)):
        x = values(shape)
        check(PARTS[number], x)
        check(lambda xp, x: PARTS[number](xp, x[1:]), np.concatenate([x[:1], x]))


def test_transposed_and_large():
    for shape in ((129, 65), (300, 200), (64, 64), (1000, 17)):
        x = values(shape)
        check(lambda xp, x, y: (x.T + y, x.T * 2 - y), x, values(shape[::-1], seed=2))


REDUCED = [
    ((33, 40), None), ((33, 40), 0), ((33, 40), 1), ((5, 6, 7), (0, 1)), ((5, 6, 7), (1, 2)), ((5, 6, 7), 1),
    ((5, 6, 7), 0), ((5, 6, 7), 2), ((5, 6, 7), (0, 2)), ((300, 70), 0), ((300, 70), 1), ((2, 5000), 1), ((1, 9), 1),
]  # fmt: skip


@pytest.mark.parametrize("shape, axis", REDUCED)
def test_reductions_in_any_layout(shape, axis):
    followed = 0
    for x in layouts(shape, "i8"):
        given = device(x)
        first = axis in (0, (0, 1))
        if axis == 0 and x.ndim > 2 and given.flags.f_contiguous:
            assert "in Fortran order" in breaks(lambda x: x.sum(axis=axis), given)
            continue
        if axis == (0, 2) and given.flags.c_contiguous:
            assert "over axes that are apart" in breaks(lambda x: x.sum(axis=axis), given)
            continue
        try:
            check(
                lambda xp, x: (x.sum(axis=axis), (x * 2).max(axis=axis), (x > 3).any(axis=axis)), x
            )
        except pycompile.GraphBreakError as error:
            assert axis == (0, 2)
            assert "over axes that are apart" in str(error)
            continue
        followed += 1
        check(lambda xp, x: x.sum(axis=axis), x)
        check(lambda xp, x: xp.exp(x * 0.01).mean(axis=axis), x, exact=False)
        if not (first and given.flags.f_contiguous and not given.flags.c_contiguous):
            check(lambda xp, x: (x - x.min(axis=axis, keepdims=True)).sum(axis=axis), x)
    assert followed >= 1 or axis == (0, 2)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_variances(axis, dtype):
    x = values((6, 50), dtype)
    check(lambda xp, x: xp.var(x + x, axis=axis), x, exact=False)
    check(lambda xp, x: x.std(axis, ddof=1, keepdims=True) + x, x, exact=False)
    check(lambda xp, x: x.T.var(axis=axis), x, exact=False)
    if dtype not in "u1?":
        check(lambda xp, x: x.ptp(axis=axis) if xp is not np else np.ptp(x, axis), x)


@pytest.mark.parametrize("dtype", ["f4", "i8", "u1", "?"])
def test_differences(dtype):
    x = values((6, 50), dtype)
    check(lambda xp, x: (xp.diff(x), xp.diff(x, axis=0), xp.diff(x, 3, 1), xp.diff(x.T, n=2)), x)
    check(lambda xp, x: xp.diff(x[:, 1]), x)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers(dtype):
    x, y = values((7, 33), "i2").astype(dtype), values((33,), "i2", 2).astype(dtype)
    x += 1j * values((7, 33), "i1", 3)
    y -= 2j * values((33,), "i1", 4) - 3
    r = values((7, 33), "f4", 5)
    check(lambda xp, x, y: (x + y, x - y, x * y, -x, +x, x * (2 - 1j) + 1), x, y)
    check(lambda xp, x, y: ((x.T * 2).T.conj() * y, xp.square(x), x == y, x != x), x, y)
    check(lambda xp, x, r: (xp.where(r > 1, x, r), x * r, r + 1j), x, r, exact=False)
    check(lambda xp, x, y: (x / y, abs(x), xp.absolute(x) * 2, 1 / y), x, y, exact=False)
    check(lambda xp, x: (x.sum(), x.sum(axis=0), x.mean(axis=1), (x * 2).T.sum(0)), x, exact=False)
    check(lambda xp, x: x.astype("c16" if dtype == "c8" else "c8") * 1j, x)


def test_reductions_of_views():
    x = values((20, 30), "i4")
    check(
        lambda xp, x: (
            x.T.sum(axis=0),
            x.T.sum(axis=1),
            x[::2, 1:].sum(axis=1),
            x[:, 3].max(),
            x[4].min(),
        ),
        x,
    )
    check(
        lambda xp, x: (
            x[::-1].sum(axis=0),
            xp.broadcast_to(x[0], (5, 30)).sum(axis=0),
            x[:, ::-1].sum(),
        ),
        x,
    )
    check(lambda xp, x: (x[1:] - x[:-1]).sum(axis=1), x)


def test_softmax_of_a_transpose():
    def softmax(xp, x):
        e = xp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    for shape in ((40, 33), (700, 20)):
        check(lambda xp, x: softmax(xp, x.T), values(shape, "f8"), exact=False)
        check(lambda xp, x: softmax(xp, x[::2, 1:]), values(shape, "f8"), exact=False)


def test_astype_keeps_the_layout():
    """As cupy.empty_like, which CuPy lays out by the same function."""
    for x in layouts((4, 3, 5)):
        for view in (
            lambda x: x,
            lambda x: x.T,
            lambda x: x[:, ::2],
            lambda x: cp.broadcast_to(x[0], (4, 3, 5)),
        ):
            given = device(x)
            compiled = once(lambda x: view(x).astype("f8"))
            for _ in range(2):
                made = compiled(given)
            assert header(made) == header(cp.empty_like(view(given), dtype="f8"))
            np.testing.assert_array_equal(host(made), host(view(given)))


def test_guards_of_strides():
    compiled = pycompile.compile(lambda x: x * 2 + 1)
    base = values((12, 12))
    for view in (
        base[:6, :6],
        base[::2, ::2],
        base[:6, :6].T,
        base[6:, 6:],
        np.ascontiguousarray(base[:6, :6]),
    ):
        for _ in range(2):
            np.testing.assert_array_equal(host(compiled(device(view))), view * 2 + 1)


@pytest.mark.parametrize(
    "function, told",
    [
        (lambda x: x[x > 0], "a part, not by known numbers and slices, of a CuPy array"),
        (lambda x: x[0, x.sum(axis=1)], "a part, not by known numbers and slices, of a CuPy array"),
        (lambda x: x.T.ravel(), "a reshape that makes a copy"),
        (lambda x: x[2:2], "a part without elements of a CuPy array"),
        (lambda x: x[9], "out of bounds"),
        (lambda x: x[[0, 1]], "PC00"),
        (lambda x: x[True], "PC00"),
        (lambda x: x.ravel("K"), "ravel in order K"),
        (lambda x: x[0, ::2].ravel(), "a ravel that makes a copy"),
        (lambda x: x.squeeze([0]), "squeeze of a list"),
        (lambda x: x.flatten(), "'flatten' of a CuPy array"),
        (lambda x: cp.broadcast_to(x, (3, 3)), "PC00"),
        (lambda x: x.reshape(5), "PC00"),
        (lambda x: x.transpose(0), "PC00"),
        (lambda x: x.view("i4"), "'view' of a CuPy array"),
        (lambda x: x.base, "'base' of a CuPy array"),
    ],
)  # fmt: skip
def test_breaks(function, told):
    assert told in breaks(function, device(values((4, 4))))


@pytest.mark.parametrize("key", [np.s_[1:, :0], np.s_[1:1, ::-1], np.s_[:, :1], np.s_[:1, ::2]])
def test_strides_of_axes_without_length(key):
    """A layout that is contiguous, since nothing lies between elements, has any strides there."""
    a, y = device(values((3, 4)))[key], device(values((5,)))

    def views(a, y):
        y += 1
        return a.T, cp.expand_dims(a, 1), a.swapaxes(0, 1)

    compiled = once(views)
    compiled(a, y)
    plain = a.T, cp.expand_dims(a, 1), a.swapaxes(0, 1)
    assert [(v.shape, v.strides) for v in compiled(a, y)] == [(v.shape, v.strides) for v in plain]
