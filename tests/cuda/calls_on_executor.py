"""Plans that call CuPy's own functions between kernels that are executed on the CPU (executor.cpp).

test_cuda.py runs this file as it does on_executor.py.  The functions would need a device: NumPy's stand in
for them, on the same memory."""

import operator

import numpy as np
import pytest
from deviceless import breaks, cp, device, host, values
from writes_on_executor import check_writes

import pycompile

CALLS = []


def to_host(thing):
    if isinstance(thing, tuple | list):
        return type(thing)(map(to_host, thing))
    return host(thing) if isinstance(thing, cp.ndarray) else thing


def to_device(thing):
    if hasattr(thing, "_make"):
        return thing._make(map(to_device, thing))
    if isinstance(thing, tuple | list):
        return type(thing)(map(to_device, thing))
    return device(np.asarray(thing))


def by_numpy(name, function):
    def stand_in(*args, **kwargs):
        CALLS.append(name)
        with np.errstate(all="ignore"):  # a device warns of nothing
            return to_device(function(*to_host(args), **{k: to_host(v) for k, v in kwargs.items()}))

    stand_in.__name__, stand_in.__module__ = name.rpartition(".")[2], "cupy"
    return stand_in


FUNCTIONS = """matmul dot concatenate stack einsum tensordot cumsum sort argsort take argmax var median eye ones
zeros full tril linalg.inv linalg.qr linalg.solve linalg.svd fft.fft copy
ascontiguousarray""".split()
for name in FUNCTIONS:
    module = cp
    *folder, last = name.split(".")
    found = np
    for part in folder:
        module, found = getattr(module, part), getattr(found, part)
    setattr(module, last, by_numpy(name, getattr(found, last)))
cp.ndarray.__matmul__ = by_numpy("@", operator.matmul)
for name in "__mul__ __rmul__ __add__ __neg__ __eq__ __pow__ __rpow__ __gt__".split():
    setattr(cp.ndarray, name, by_numpy(name, getattr(np.ndarray, name)))
for name in "cumsum argsort take dot var sum max astype reshape ravel flatten copy".split():
    setattr(cp.ndarray, name, by_numpy("." + name, getattr(np.ndarray, name)))


REPLACED = {}  # what these do, by test; capture knows functions that are there at its first call
cp.tile = lambda x: REPLACED["tile"](x)
cp.linalg.pinv = lambda x: REPLACED["pinv"](x)


def check(function, *args, calls=None):
    """Of function(xp, ...), the second run of its one plan, against NumPy; `calls`: those of the plan."""
    given = [device(a) if isinstance(a, np.ndarray) else a for a in args]
    compiled = pycompile.compile(lambda *args: function(cp, *args), fullgraph=True)
    compiled(*given)
    CALLS.clear()
    made = compiled(*given)
    if calls is not None:
        assert calls == CALLS
    assert compiled.stats()["deopts"] == 0
    wanted = function(np, *args)
    made, wanted = (made, wanted) if isinstance(made, tuple) else ((made,), (wanted,))
    assert len(made) == len(wanted)
    for a, b in zip(made, wanted, strict=True):
        b = np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.size > 1:
            assert a.strides == b.strides
        np.testing.assert_allclose(host(a), b, rtol=1e-12, atol=1e-12)


def layers(xp, x, w, b, v):
    return (x @ w + b) ** 2 @ v


def test_products_and_kernels_are_one_plan():
    args = (
        values((5, 30), "f8"),
        values((30, 40), "f8", 2),
        values((40,), "f8", 3),
        values((40, 6), "f8", 4),
    )
    check(layers, *args, calls=["@", "@"])
    check(lambda xp, x, w, b, v: xp.dot(x, w) * b, *args, calls=["dot"])
    check(lambda xp, x, w, b, v: (x * 2).dot(w) + b, *args, calls=[".dot"])
    check(lambda xp, x, w, b, v: xp.matmul(x, w) - b, *args, calls=["matmul"])
    check(lambda xp, x, w, b, v: w @ (b * 2) + 1, *args, calls=["@"])


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.concatenate([x, x * 2], axis=1) + 1,
        lambda xp, x: xp.stack((x, x - 1)) * 0.5,
        lambda xp, x: xp.einsum("ij,kj->ik", x + 1, x) * 2,
        lambda xp, x: xp.tensordot(x, x, axes=([1], [1])) + x.sum(),
        lambda xp, x: xp.cumsum(x * 2, axis=0) - 1,
        lambda xp, x: (x + 1).cumsum(1) * 3,
        lambda xp, x: xp.sort(x + 1, axis=-1) * 2,
        lambda xp, x: (x * -1).argsort(axis=1) + 1,
        lambda xp, x: xp.take(x + 1, xp.argsort(x.sum(axis=1)), axis=0) * 2,
        lambda xp, x: xp.argmax(x * 2, axis=1) * 2,
        lambda xp, x: x.var(axis=0, ddof=1) * x,
        lambda xp, x: xp.tril(x * 2) + xp.eye(4) + xp.full((4, 4), 2.5) * xp.ones(4),
        lambda xp, x: xp.linalg.inv(x * 2 + xp.eye(4)) * 2,
        lambda xp, x: xp.linalg.solve(x + 1, x * 2) + 1,
        lambda xp, x: xp.median(x * 2, axis=0) + 1,
    ],
)
def test_calls(function):
    check(function, values((4, 4), "f8"))


def test_small_kernels_between_calls_are_worth_a_plan():
    compiled = pycompile.compile(lambda x, b: (x @ x + b) @ x)
    for _ in range(3):
        compiled(device(values((4, 4))), device(values((4,))))
    assert compiled.stats()["plan_runs"] == 3


def test_several_results():
    def svd(xp, x):
        u, s, v = xp.linalg.svd(x * 2, full_matrices=False)
        return u, s * 2, v

    def qr(xp, x):
        q, r = xp.linalg.qr(x + 1)
        return q + 0, r * 2, r

    check(svd, values((6, 4), "f8"), calls=["linalg.svd"])
    check(qr, values((6, 4), "f8"))


def test_results_leave_as_they_are():
    x = device(values((4, 4), "f8"))
    compiled = pycompile.compile(lambda x: (x @ x, (x + 1) @ x, x * 2), fullgraph=True)
    for _ in range(2):
        a, b, c = map(host, compiled(x))
        np.testing.assert_array_equal(a, host(x) @ host(x))
        np.testing.assert_array_equal(b, (host(x) + 1) @ host(x))
        np.testing.assert_array_equal(c, host(x) * 2)


def test_what_has_no_kernel_is_called():
    x = values((3, 4, 5), "f8")
    check(lambda xp, x: x.sum(axis=(0, 2)) * 2, x, calls=[".sum"])
    check(lambda xp, x: (x * 2).sum(axis=1, dtype="f4") + 1, x, calls=[".sum"])
    check(lambda xp, x: x.astype("f8") + 1, x, calls=[".astype"])
    check(lambda xp, x: (x.max(axis=-1), x.max(axis=(0, 2)) + 1), x, calls=[".max"])
    z = x + 1j
    check(lambda xp, z, x: (z**3 + z, x + 1), z, x, calls=["__pow__"])
    check(lambda xp, z, x: (z > -z, 2**z, x + 1), z, x, calls=["__gt__", "__rpow__"])


def test_a_copy_that_is_written_and_its_view_share_memory():
    def written(x):
        a = x.ravel()  # of an array in Fortran order
        b = a[::-1]
        a += 1
        return a, b

    compiled = pycompile.compile(written, fullgraph=True)
    for _ in range(2):
        a, b = compiled(device(np.asfortranarray(values((3, 4), "f8"))))
        assert b.base is a
        assert a.base is None
        assert a.data.mem is b.data.mem


def test_the_array_itself():
    compiled = pycompile.compile(
        lambda x: (cp.asarray(x), cp.ascontiguousarray(x) * 2), fullgraph=True
    )
    x = device(values((4, 4)))
    for _ in range(2):
        same, twice = compiled(x)
        assert same is x
        np.testing.assert_array_equal(host(twice), host(x) * 2)
    with pytest.raises(pycompile.GraphBreakError, match="PC0051"):
        pycompile.compile(lambda x: cp.asarray(x, "f8") + 1, fullgraph=True)(x)


def test_an_array_in_another_order_is_copied_by_a_kernel():
    x = values((48, 70))
    check(lambda xp, x: xp.ascontiguousarray(x.T) * 2, x, calls=[])
    check(lambda xp, x: xp.ascontiguousarray(x[:, ::2]).reshape(-1) + 1, x, calls=[])


def test_a_result_that_is_not_aligned():
    def off(x):
        memory = np.zeros(x.size + 1, x.dtype)
        memory[1:] = host(x).ravel()
        return device(memory[1:].reshape(x.shape))

    aligned = []

    def sometimes(x):
        return off(x) if not aligned else to_device(host(x))

    REPLACED["tile"] = sometimes
    compiled = pycompile.compile(lambda x: cp.tile(x * 2) + 1)
    x = values((4, 8))
    for state in ([], [1], [], [1]):
        aligned[:] = state
        np.testing.assert_array_equal(host(compiled(device(x))), x * 2 + 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: x.T @ x[::-1] + x[0],
        lambda xp, x: (x * 2).T @ x[:, None, 1:].squeeze(),
        lambda xp, x: ((x @ x)[1:] * 2, (x @ x).T, xp.dot(x, x)[0]),
        lambda xp, x: xp.concatenate([x[1:], (x + 1)[:1], x.T[::2]])[1:] * 2,
        lambda xp, x: xp.cumsum(x.reshape(2, 8).T[::-1], axis=0)[-1] + 1,
        lambda xp, x: xp.linalg.qr(x.T + 1)[1].T @ x,
        lambda xp, x: (x[0] @ x.T, x[:, 1] @ x[1], xp.sort(x[:, ::-1], axis=0)),
    ],
)
def test_views_to_and_from_calls(function):
    check(function, np.rint(values((4, 4), "f8") * 8))


def written_before(xp, x, w):
    x += 1
    return x @ w, x


def written_between(xp, x, w):
    before = x @ w
    x *= 2
    after = x @ w
    x -= w
    return before, after, x @ w


def written_in_part(xp, x, w):
    part = x[1:]
    part -= w[1:]
    return part @ w, x[1:] @ w + 1


def written_by_out(xp, x, w):
    xp.add(x, w, out=x)
    return xp.sort(x, axis=0), xp.concatenate([x, w])


def written_with_results(xp, x, w):
    x += x @ w
    w[1:] = xp.sort(w + 1, axis=0)[:-1]


def written_to_results(xp, x, w):
    y = x @ w
    y += 1
    y[1:] = 0
    y[:, 1] -= x[:, 0]
    return y, y @ w, y.T


@pytest.mark.parametrize(
    "function",
    [
        written_before,
        written_between,
        written_in_part,
        written_by_out,
        written_with_results,
        written_to_results,
    ],
)
def test_writes_and_calls(function):
    x, w = (np.rint(values((4, 4), "f8", seed) * 8) for seed in (1, 2))
    check_writes(function, x, w)


def test_a_written_result_that_is_an_argument():
    itself = []

    def sometimes(x):
        return x if itself else to_device(host(x))

    def function(x):
        y = cp.tile(x)
        y[1:] = 0
        return y

    x = values((4, 8))
    given, before = device(x), x.copy()
    REPLACED["tile"] = sometimes
    compiled = pycompile.compile(function)
    for _ in range(2):
        made = host(compiled(given))
        np.testing.assert_array_equal(made[:1], before[:1])
        assert (made[1:] == 0).all()
    itself.append(1)
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError):  # of CuPy's own write, no device
        compiled(given)
    assert (compiled.stats()["plan_runs"], compiled.stats()["deopts"]) == (2, 1)
    np.testing.assert_array_equal(x, before)


def test_errors_are_the_librarys():
    fails = []

    def inverse(x):
        if fails:
            raise np.linalg.LinAlgError("singular")
        return to_device(np.linalg.inv(host(x)))

    REPLACED["pinv"] = inverse
    compiled = pycompile.compile(lambda x: cp.linalg.pinv(x * 2) + 1)
    x = values((4, 4), "f8")
    np.testing.assert_allclose(host(compiled(device(x))), np.linalg.inv(x * 2) + 1)
    fails.append(1)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        compiled(device(x))


def stored_and_read(x):
    x[0] = 1
    return cp.sort(x)


def written_in_fortran_order(x):
    y = x.T
    y += 1
    return cp.sort(y)


@pytest.mark.parametrize(
    "function, told",
    [
        (lambda x: cp.dot(x, x, out=x), "'dot' with out="),
        (lambda x: cp.median(x, overwrite_input=True), "'median' with overwrite_input="),
        (lambda x: cp.dot(x, x, x), "'dot' of 3 arguments"),
        (lambda x: cp.unique(x), "PC00"),
        (lambda x: x.sum(0, None, x), "PC0051"),
        (lambda x: cp.where(x), "where called this way"),
        (lambda x: cp.add(x, x, out=(x,)), "add called this way"),
        (lambda x: cp.logaddexp2(x, x, x), "'cupy_logaddexp2' of 3 arguments"),
        (lambda x: cp.logaddexp2(x, x, out=x), "'cupy_logaddexp2' with out="),
        (lambda x: cp.take(x, np.argsort), "an argument that is not known"),
        (lambda x: cp.matmul(x, "a"), "PC00"),
        (stored_and_read, "a read, where another part was written, of a CuPy array"),
        (written_in_fortran_order, "a call with what was written, not in C order, of a CuPy array"),
        (lambda x: x.fill(x[0, 0]), "fill of a CuPy array"),
    ],
)
def test_breaks(function, told):
    assert told in breaks(function, device(values((4, 4))))
