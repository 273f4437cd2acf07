"""Array programs of calls from all of NumPy's sections over half floats, complex64, uint8 and bools."""

import numpy as np
import pytest
from differential import check

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def solve_with_residual(x, y):
    a = x[:4, :4] + 4 * np.eye(4)
    b = np.linalg.solve(a, y[:4, :1])
    return b, np.linalg.norm(a @ b - y[:4, :1]), np.linalg.inv(a) @ a, np.linalg.det(a)


@program
def decompositions(x, y):
    q, r = np.linalg.qr(x[:4] @ x[:4].T + np.eye(4))
    w, v = np.linalg.eigh(q @ q.T + r.T @ r)
    return q * 2, np.abs(r), w, np.linalg.svd(x, compute_uv=False), np.linalg.matrix_rank(x)


@program
def filter_by_fft(x, y):
    f = np.fft.rfft(x, axis=-1)
    f[..., 3:] = 0
    back = np.fft.irfft(f, n=x.shape[-1], axis=-1)
    return back - x.mean(), np.abs(np.fft.fft2(y))[0], np.fft.fftshift(np.fft.fftfreq(6, 0.5)) * 2


@program
def spectrum(x, y):
    w = np.hanning(x.shape[-1]) * x
    p = np.abs(np.fft.fft(w)) ** 2
    return p / p.max(), np.angle(np.fft.ifft(w))[0], np.unwrap(np.angle(w.astype("F")))


@program
def draws(x, y):
    rng = np.random.default_rng(5)
    noise = rng.normal(size=x.shape).astype(x.dtype)
    order = rng.permutation(len(x))
    return x[order] + noise, rng.integers(0, 9, 3), rng.choice(y.ravel(), 4), rng.random()


@program
def ranks(x, y):
    flat = x.ravel()
    order = np.argsort(flat, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return (
        rank * 2,
        flat[order][::-1],
        np.searchsorted(np.sort(flat), y[0]),
        np.partition(flat, 3)[:3],
    )


@program
def sets(x, y):
    values, inverse, counts = np.unique(x.astype("i4"), return_inverse=True, return_counts=True)
    both = np.intersect1d(values, y.astype("i4"))
    return (
        values * 2,
        counts / counts.sum(),
        np.isin(values, both),
        np.union1d(values, both),
        inverse.sum(),
    )


@program
def polynomials(x, y):
    p = np.polyfit(np.arange(6.0), x[0, :6].astype(float), 2)
    roots = np.roots([1, -3, 2])
    cheb = np.polynomial.chebyshev.chebval(x[1].astype("f4"), [1, 2, 3])
    return np.polyval(p, y[0]), np.polyder(p), roots, cheb + 1, np.convolve(p, p)


@program
def histograms(x, y):
    counts, edges = np.histogram(x.astype("f8"), bins=5, range=(0, 8))
    where = np.digitize(y.ravel(), edges[1:-1])
    return (
        counts / max(counts.sum(), 1),
        np.bincount(where, minlength=6) * 2,
        np.cumsum(counts),
        edges,
    )


@program
def interpolation(x, y):
    grid = np.linspace(0, 5, 11)
    values = np.interp(grid, np.arange(6), x[0, :6].real)
    return values * 2, np.gradient(values, 0.5), np.trapezoid(values, grid), np.diff(values, 2)


@program
def convolutions(x, y):
    kernel = np.array([1, 2, 1], x.dtype)
    rows = [np.convolve(row, kernel, "same") for row in x[:3]]
    return (
        np.stack(rows) + 1,
        np.correlate(x[0], y[0], "full")[:4],
        np.convolve(x[0], kernel, "valid") * 2,
    )


@program
def padding(x, y):
    p = np.pad(x, ((1, 1), (2, 0)), mode="edge")
    q = np.pad(x, 1, mode="constant", constant_values=1)
    return (
        p[1:-1] + p[2:],
        np.pad(x[0], 2, "reflect") * 2,
        q.sum(0),
        np.pad(x, ((0, 1), (1, 0)), "wrap"),
    )


@program
def windows(x, y):
    view = np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)
    return (
        view.sum(-1),
        view.max(axis=-1) + 1,
        view[..., 0] * np.bartlett(4),
        np.mean(view, axis=(0, 2)),
    )


@program
def einsums(x, y):
    return (
        np.einsum("ij,kj->ik", x, y) + 1,
        np.einsum("ij->j", x),
        np.einsum("ij,ij->i", x, y, optimize=True),
        np.tensordot(x, y, axes=([1], [1])),
        np.kron(x[:2, :2], y[:2, :2]),
    )


@program
def masked_writes(x, y):
    z = x.copy()
    z[z > y] = 1
    z[1:][y[1:] == 0] += 2
    np.putmask(z, y > 3, 4)
    np.copyto(z, y, where=x == y)
    return z * 2, np.where(z > 2, z, y), np.place(z, z == 2, [5, 6]), z


@program
def at_and_reduceat(x, y):
    z = x.copy()
    np.add.at(z, ([0, 1, 0], [1, 1, 1]), 2)
    np.maximum.at(z, (slice(None), 0), y[:, 0])
    return z + 1, np.add.reduceat(x, [0, 2, 3], axis=1), np.maximum.reduceat(y, [0, 1]), z


@program
def accumulate_and_outer(x, y):
    out = np.zeros(x.shape, np.result_type(x, np.int8))
    np.add.accumulate(x, axis=1, out=out)
    return (
        out,
        np.maximum.accumulate(x, 0),
        np.multiply.outer(x[0], y[0]) + 1,
        np.subtract.outer(y[0], x[0]).sum(0) if x.dtype != bool else out,
    )


@program
def reductions_with_where(x, y):
    big = y > 2
    return (
        np.add.reduce(x, axis=1, where=big),
        x.sum(where=big, initial=3),
        np.max(x, axis=0, where=big, initial=0),
        np.mean(x, where=y < 9),
        np.std(x, axis=1, ddof=1),
        np.prod(x, axis=0, dtype="D"),
    )


@program
def ufuncs_with_out_and_where(x, y):
    out = np.full(x.shape, 7, np.result_type(x, y, np.float16))
    np.add(x, y, out=out, where=x > 1)
    np.multiply(out, 2, out=out)
    np.sqrt(out, out=out, where=out > 3)
    return out, np.divide(x, y, where=y != 0, out=np.ones_like(out)), np.add(x, y, dtype=out.dtype)


@program
def statistics(x, y):
    return (
        np.median(x, axis=0) + 1,
        np.percentile(x, [10, 90]),
        np.average(x, weights=y + 1, axis=1),
        np.cov(x[0], y[0]),
        np.corrcoef(x[0], y[1] + np.arange(6))[0, 1],
        np.ptp(x, axis=1),
        np.nanmean(np.where(y > 3, np.nan, x), axis=0),
    )


@program
def standardise(x, y):
    z = (x - x.mean(axis=0)) / (x.std(axis=0) + 1)
    return z.astype("e"), np.clip(z, -1, 1), (z**2).sum(1), z.argmax(axis=0), np.sign(z)


@program
def softmax(x, y):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p, -(p * np.log(p)).sum(-1), p.argmax(-1), np.take_along_axis(p, p.argsort(-1), -1)


@program
def bits_of_an_image(x, y):
    b = x.astype("u1")
    packed = np.packbits(b > 2, axis=-1)
    return (
        np.unpackbits(packed, axis=-1, count=6) + b,
        (b << 2) | (b >> 3),
        b ^ 255,
        np.bitwise_count(b),
        ~b,
    )


@program
def uint8_arithmetic(x, y):
    a, b = x.astype("u1"), y.astype("u1")
    return (
        a + b,
        a - b,
        a * b,
        (a.astype("i2") - b).clip(0, 255).astype("u1"),
        a // (b + 1),
        a % 7,
        -a,
        abs(a.astype("b")),
    )


@program
def half_sums(x, y):
    h = x.real.astype("e")
    return (
        h.sum(),
        h.mean(0),
        h.cumsum(1),
        (h * h).sum(dtype="f4"),
        h @ y.real.astype("e").T,
        np.exp(h),
        h.var(),
    )


@program
def complex_fields(x, y):
    z = (x + 1j * y).astype("F")
    z.real[0] = 0
    z.imag[:, 1:] *= 2
    return (
        np.abs(z),
        np.angle(z),
        z.conj() * z,
        np.exp(z),
        z.sum(0),
        np.sort(z, axis=None),
        z.real.max(),
        z**2,
    )


@program
def logic(x, y):
    m = (x > 1) & ~(y > 4) | (x == y)
    return (
        m.sum(axis=0),
        m.any(1),
        np.logical_xor(m, y > 2),
        np.flatnonzero(m),
        x[m].sum(),
        m.mean(),
        np.count_nonzero(m, 1),
    )


@program
def histogram_equalise(x, y):
    im = (x.real * 30).astype("u1")
    counts = np.bincount(im.ravel(), minlength=256)
    cdf = counts.cumsum()
    table = ((cdf - cdf.min()) * 255 / (cdf.max() - cdf.min() + 1)).astype("u1")
    return table[im], np.take(table, im[0]), im.std()


@program
def index_tricks(x, y):
    i, j = np.ogrid[: x.shape[0], : x.shape[1]]
    ring = np.hypot(i - 2, j - 2) < 2
    z = np.where(ring, x, 0)
    return (
        z,
        np.r_[x[0], 0, y[0]] * 2,
        np.c_[x[0], y[0]],
        x[np.ix_([0, 2], [1, 3])],
        np.triu(x, 1),
        np.diag(x),
    )


@program
def shapes(x, y):
    z = np.stack([x, y], axis=-1).transpose(2, 0, 1)
    a, b = np.split(z, 2)
    return (
        np.concatenate([a, b], axis=1)[0] + 1,
        np.roll(z, (1, 2), axis=(1, 2)),
        np.rot90(x),
        np.tile(x, (1, 2))[:, ::2],
        np.moveaxis(z, 0, -1).reshape(-1, 2),
        np.repeat(x, [1, 2, 0, 1, 1], axis=0),
        np.block([[x, y], [y, x]]),
        z.swapaxes(0, 2).strides,
    )


@program
def choose_and_select(x, y):
    k = np.minimum(x.real.astype("i8") % 3, 2)
    return (
        np.choose(k, [x, y, 1]),
        np.select([x > 3, y > 3], [x, y], default=0),
        np.take(x, k, axis=1)[0],
        np.compress(k[:, 0] > 0, y, axis=0),
    )


@program
def life(x, y):
    b = x.real.astype("u1") % 2
    for _ in range(3):
        n = sum(np.roll(np.roll(b, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) - b
        b = ((n == 3) | ((b == 1) & (n == 2))).astype("u1")
    return b, b.sum(), np.argwhere(b)


@program
def smooth_in_place(x, y):
    z = x.astype(np.result_type(x, np.float16))
    for _ in range(4):
        z[1:-1, 1:-1] = (z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:]) / 4
    y[0] = z[0].astype(y.dtype)
    return z, y


@program
def distances(x, y):
    d = np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))
    near = d.argmin(1)
    return d, near, y[near] - x, np.bincount(near, minlength=len(y)), d.min(0)


@program
def running(x, y):
    c = np.cumsum(np.insert(x.ravel(), 0, 0))
    mean = (c[4:] - c[:-4]) / 4
    return (
        mean,
        np.maximum.accumulate(mean),
        np.delete(mean, [0, 1])[:3],
        np.append(x[0], y[0]),
        np.ediff1d(x[0]),
    )


@program
def number_out_of_arrays(x, y):
    top = x.max()
    n = int(top.real) + 1
    return (
        np.arange(n) * 2,
        float(y.real.sum()) + 1,
        top.item(),
        np.full(3, top),
        round(float(x.real.mean()), 2),
        x[0, 0] + y[0, 0],
    )


@program
def special_functions(x, y):
    z = x.real + 0.5
    return (
        np.log1p(z),
        np.expm1(-z),
        np.sinc(z),
        np.i0(z),
        np.arctan2(z, y.real),
        np.hypot(z, y.real),
        np.nan_to_num(z / y.real),
        np.cbrt(z),
    )


@program
def floats_taken_apart(x, y):
    z = x.real.astype("f4") + np.float32(0.25)
    m, e = np.frexp(z)
    w, f = np.divmod(z, 2)
    return (
        m * 2,
        np.ldexp(m, e),
        w,
        np.modf(z)[0],
        np.nextafter(z, 9),
        np.spacing(z),
        np.signbit(-z),
        np.copysign(z, f - 0.5),
        f,
    )


@program
def integers_of_many_kinds(x, y):
    a, b = x.real.astype("i1"), y.real.astype("u2") + np.uint16(1)
    return (
        np.gcd(a, b),
        np.lcm(a.astype("i8"), 4),
        a // b,
        np.power(b, 2),
        np.left_shift(b, 3),
        a.astype("u1"),
        np.floor_divide(-a, 2),
        np.fmod(-a, 3),
    )


@program
def warnings_on_the_way(x, y):
    z = x / (y - y)
    w = np.log(x - x)
    return z * 2, w, np.sqrt(-x), np.nanmax(z * np.nan), (x * 1e30).astype("e")


@program
def errors_that_are_handled(x, y):
    try:
        z = x @ y
    except ValueError:
        z = x @ y.T
    try:
        x[9] = 1
    except IndexError as e:
        return z, str(e)
    return z


DTYPES = {"e": "half", "F": "complex64", "B": "uint8", "?": "bool", "f": "float32", "h": "int16"}


@pytest.mark.parametrize("dtype", DTYPES, ids=DTYPES.get)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, dtype):
    rng = np.random.default_rng(list(PROGRAMS).index(name))
    x, y = (rng.integers(0, 7, (5, 6)).astype(dtype) for _ in range(2))
    if dtype in "ef":
        x, y = x * x.dtype.type(0.75), y
    if dtype == "F":
        x.imag = rng.integers(-3, 4, x.shape)
    check(PROGRAMS[name], x, y, calls=2, captured=False)
