"""The layout and the flags of what NumPy's functions make of arrays in all layouts: some keep their
argument's order, some give C order, and `round` does either."""

import numpy as np
import pytest

import pycompile
from tests.differential import differences, observe


def layouts():
    a = np.random.default_rng(0).random((6, 4, 5))
    yield a
    yield np.asfortranarray(a)
    yield np.asfortranarray(a)[::2]
    yield a.transpose(1, 0, 2)
    yield a.transpose(2, 0, 1)[:, ::2]
    yield a[::-1]
    yield np.asfortranarray(a)[:, :, ::-1]
    yield (a + 1j * a).real
    yield (a.transpose(2, 1, 0) + 1j).real
    yield np.broadcast_to(a[0], (6, 4, 5))
    yield np.broadcast_to(a[:, :1, None, 0], (6, 4, 5))
    yield np.broadcast_to(a[0, 0], (6, 4, 5))[::-1]


FUNCTIONS = [
    lambda x: np.round(x, 3),
    lambda x: np.clip(x, 0.2, 0.7),
    lambda x: x.clip(0.2),
    lambda x: np.nan_to_num(x),
    lambda x: np.sign(x),
    lambda x: np.where(x > 0.5, x, 0),
    lambda x: np.select([x > 0.5], [x], 0.0),
    lambda x: np.cumsum(x, axis=1),
    lambda x: np.diff(x, axis=1),
    lambda x: np.flip(x, 1),
    lambda x: np.roll(x, 1, axis=0),
    lambda x: np.rot90(x),
    lambda x: np.gradient(x, axis=0),
    lambda x: np.real(x),
    lambda x: np.conj(x),
    lambda x: np.angle(x + 1j),
    lambda x: np.interp(x, [0, 1], [0, 2]),
    lambda x: np.digitize(x, [0.3, 0.6]),
    lambda x: np.sort(x, axis=0),
    lambda x: x.astype("f4"),
    lambda x: x.copy(),
    lambda x: np.copy(x),
    lambda x: np.array(x, dtype="f4"),
    lambda x: np.array(x, dtype="f4", order="A"),
    lambda x: np.array(x, dtype="f4", order="F"),
    lambda x: np.array(x, order="A"),
    lambda x: np.asarray(x, "f4"),
    lambda x: np.ascontiguousarray(x, "f4"),
    lambda x: np.float32(x),
    lambda x: np.float64(x),
    lambda x: np.int64(x * 9),
    lambda x: x.astype("i8", order="A"),
    lambda x: np.require(x, "f4", "C"),
    lambda x: np.asfortranarray(x, "f4"),
    lambda x: np.array(x),
    lambda x: np.zeros_like(x),
    lambda x: np.full_like(x, 2.0),
    lambda x: x.mean(axis=1),
    lambda x: x.std(axis=0),
    lambda x: x.sum(axis=(0, 2)),
    lambda x: x.max(axis=2),
    lambda x: np.median(x, axis=0),
    lambda x: np.fmod(x, 0.3),
    lambda x: np.divmod(x, 0.3)[0],
    lambda x: x**2,
    lambda x: np.stack([x, x]),
    lambda x: np.concatenate([x, x], axis=1),
    lambda x: np.tile(x, (1, 2, 1)),
    lambda x: np.repeat(x, 2, axis=1),
    lambda x: np.pad(x, 1),
    lambda x: np.take(x, [0, 1], axis=1),
    lambda x: x[:, [0, 1]],
    lambda x: x[x > 0.5],
    lambda x: np.square(x),
    lambda x: np.hypot(x, x),
    lambda x: np.trapezoid(x, axis=0),
    lambda x: np.ptp(x, axis=0),
    lambda x: np.argmax(x, axis=1),
    lambda x: np.unwrap(x, axis=0),
    lambda x: np.fix(x),
    lambda x: np.isclose(x, 0.5),
    lambda x: np.sinc(x),
    lambda x: np.heaviside(x - 0.5, 0.5),
    lambda x: np.extract(x > 0.5, x),
    lambda x: np.cov(x[0]),
    lambda x: np.einsum("ijk->kij", x),
    lambda x: np.moveaxis(x, 0, 1) * 2,
    lambda x: np.swapaxes(x, 0, 1) + 1,
    lambda x: np.einsum("ijk,ijk->ijk", x, x),
    lambda x: np.multiply.outer(x[0], [1.0, 2.0]),
    lambda x: np.ceil(x),
    lambda x: np.ldexp(x, 2),
    lambda x: np.frexp(x)[0],
    lambda x: np.modf(x)[1],
    lambda x: np.percentile(x, 30, axis=1),
    lambda x: np.average(x, axis=0),
    lambda x: np.nanmean(x, axis=0),
    lambda x: np.nanmax(x, axis=1),
    lambda x: np.clip(x, x.mean(), None),
    lambda x: np.linspace(x, x + 1, 3),
    lambda x: np.cumprod(x, axis=0),
    lambda x: np.tril(x),
    lambda x: np.broadcast_to(x, (2,) + x.shape) * 1.0,
    lambda x: np.expand_dims(x, 1) * 2,
    lambda x: np.squeeze(x[:, :1]) * 2,
    lambda x: np.delete(x, 1, axis=1),
    lambda x: np.insert(x, 1, 0, axis=1),
    lambda x: np.append(x, x, axis=0),
    lambda x: np.resize(x, (3, 3)),
    lambda x: x.reshape(-1, 5) * 2,
    lambda x: x.ravel() * 2,
    lambda x: np.apply_along_axis(np.sum, 0, x),
    lambda x: np.kron(x, x[:1, :1]),
    lambda x: np.piecewise(x, [x < 0.5], [0, 1]),
    lambda x: np.copysign(x, -1),
    lambda x: np.nextafter(x, 1),
    lambda x: np.i0(x),
    lambda x: np.convolve(x.ravel(), [1, 2]),
    lambda x: np.correlate(x.ravel(), [1, 2, 3]),
    lambda x: np.argsort(x, axis=1),
    lambda x: np.partition(x, 2, axis=1),
]


@pytest.mark.parametrize("dtype", ["f2", "c8"])
def test_strides_of_axes_of_one_element(dtype):
    def f(x):
        return x[None].mean(-1, dtype=dtype), x[None].mean(0), np.swapaxes(x, 0, 1)[None].mean(1)

    compiled = pycompile.compile(f, options={"plan_always": True})
    x = np.arange(24).reshape(2, 3, 4).astype(dtype).copy("F")
    assert not differences(observe(f, (x,), {}), observe(compiled, (x,), {}))
    assert compiled.stats()["plan_runs"] == 1


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_layouts(number):
    function = FUNCTIONS[number]
    compiled = pycompile.compile(function, options={"recompile_limit": 100})
    for x in layouts():
        assert not differences(observe(function, (x,), {}), observe(compiled, (x,), {}))
