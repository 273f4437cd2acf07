"""One small call of every public function, attribute and method of NumPy.

docs/make_numpy_coverage.py compiles each call and says on docs/numpy-coverage.md how it is done;
tests/test_numpy_calls.py runs each plain and compiled and compares all that can be seen.  Line by
line: the call, preceded by `name =` where the name cannot be read off it (the first dotted name behind
`np.`).  `NATURE` names what is no array computation, and why.  The arguments are those of `arguments`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np


def arguments() -> dict[str, Any]:
    """Fresh arguments for the calls, by name."""
    make = np.random.default_rng(7)
    x = make.uniform(0.5, 4.0, (4, 4))
    return {
        "x": x,
        "y": make.uniform(0.5, 4.0, (4, 4)),
        "v": make.uniform(0.1, 0.9, 6),
        "w": make.uniform(0.1, 0.9, 6),
        "s": np.array([0.0, 0.5, 1.0, 2.0, 3.5, 9.0]),
        "p": x @ x.T + 4 * np.eye(4),
        "i": np.array([3, 1, 2, 3, 0, 5]),
        "j": np.array([1, 2, 3, 1, 2, 2]),
        "b": np.array([True, False, True, True, False, True]),
        "d": np.array([[True, False, True, False]] * 4),
        "c": make.uniform(0.5, 4.0, 6) + 1j * make.uniform(0.5, 4.0, 6),
        "h": np.array([1, 200, 3, 0, 17, 255], np.uint8),
        "t": make.uniform(0.5, 4.0, (2, 3, 4)),
        "e": np.float64(2.5),
        "k": np.int64(6),
        "q": np.complex128(1 + 2j),
        "rng": np.random.default_rng(11),
        "rs": np.random.RandomState(11),
    }


UFUNCS = """
np.abs(x)
np.absolute(x)
np.acos(v)
np.acosh(x + 1)
np.add(x, y)
np.arccos(v)
np.arccosh(x + 1)
np.arcsin(v)
np.arcsinh(v)
np.arctan(v)
np.arctan2(v, w)
np.arctanh(v)
np.asin(v)
np.asinh(v)
np.atan(v)
np.atan2(v, w)
np.atanh(v)
np.bitwise_and(i, j)
np.bitwise_count(i)
np.bitwise_invert(i)
np.bitwise_left_shift(i, j)
np.bitwise_not(i)
np.bitwise_or(i, j)
np.bitwise_right_shift(i, j)
np.bitwise_xor(i, j)
np.cbrt(v)
np.ceil(x)
np.conj(c)
np.conjugate(c)
np.copysign(x, y)
np.cos(x)
np.cosh(x)
np.deg2rad(x)
np.degrees(x)
np.divide(x, y)
np.divmod(x, y)
np.equal(x, y)
np.exp(x)
np.exp2(x)
np.expm1(x)
np.fabs(x)
np.float_power(x, y)
np.floor(x)
np.floor_divide(x, y)
np.fmax(x, y)
np.fmin(x, y)
np.fmod(x, y)
np.frexp(x)
np.gcd(i, j)
np.greater(x, y)
np.greater_equal(x, y)
np.heaviside(x, y)
np.hypot(x, y)
np.invert(i)
np.isfinite(x)
np.isinf(x)
np.isnan(x)
np.isnat(x.astype("datetime64[s]"))
np.lcm(i, j)
np.ldexp(v, j)
np.left_shift(i, j)
np.less(x, y)
np.less_equal(x, y)
np.log(x)
np.log10(x)
np.log1p(x)
np.log2(x)
np.logaddexp(x, y)
np.logaddexp2(x, y)
np.logical_and(x, y)
np.logical_not(x)
np.logical_or(x, y)
np.logical_xor(x, y)
np.matmul(x, y)
np.matvec(x, y[0])
np.maximum(x, y)
np.minimum(x, y)
np.mod(x, y)
np.modf(x)
np.multiply(x, y)
np.negative(x)
np.nextafter(x, y)
np.not_equal(x, y)
np.positive(x)
np.pow(x, y)
np.power(x, y)
np.rad2deg(x)
np.radians(x)
np.reciprocal(x)
np.remainder(x, y)
np.right_shift(i, j)
np.rint(x)
np.sign(x)
np.signbit(x)
np.sin(x)
np.sinh(x)
np.spacing(x)
np.sqrt(x)
np.square(x)
np.subtract(x, y)
np.tan(x)
np.tanh(x)
np.true_divide(x, y)
np.trunc(x)
np.vecdot(x, y)
np.vecmat(x[0], y)
ufunc.reduce = np.add.reduce(x)
ufunc.accumulate = np.add.accumulate(v)
ufunc.reduceat = np.add.reduceat(v, [0, 2, 4])
ufunc.outer = np.add.outer(v, w)
ufunc.at = (np.add.at(v, j, 1.0), v)[1]
"""

FUNCTIONS = """
np.all(d)
np.allclose(x, y)
np.amax(x)
np.amin(x)
np.angle(c)
np.any(d)
np.append(v, w)
np.apply_along_axis(np.sum, 0, x)
np.apply_over_axes(np.sum, t, [0, 2])
np.arange(6)
np.argmax(x)
np.argmin(x)
np.argpartition(v, 2)
np.argsort(v)
np.argwhere(v > 0.5)
np.around(x, 1)
np.array([1.0, 2.0, 3.0])
np.array_equal(x, y)
np.array_equiv(x, y)
np.array_split(v, 4)
np.asanyarray(x)
np.asarray(x)
np.asarray_chkfinite(x)
np.ascontiguousarray(x.T)
np.asfortranarray(x)
np.astype(x, np.float32)
np.atleast_1d(x)
np.atleast_2d(v)
np.atleast_3d(x)
np.average(x, axis=0, weights=y[0])
np.bartlett(5)
np.bincount(i)
np.blackman(5)
np.block([[x, y], [y, x]])
np.broadcast_arrays(x, y[0])
np.broadcast_shapes((3, 1), (1, 4))
np.broadcast_to(y[0], (4, 4))
np.can_cast(np.int32, np.float64)
np.choose(i % 2, [v, w])
np.clip(x, 1, 2)
np.column_stack((v, w))
np.common_type(x, y)
np.compress(b, v)
np.concat((x, y))
np.concatenate((x, y))
np.convolve(v, w)
np.copy(x)
copyto = (np.copyto(x, y), x)[1]
np.corrcoef(x)
np.correlate(v, w)
np.count_nonzero(d)
np.cov(x)
np.cross(x[0, :3], y[0, :3])
np.cumprod(v)
np.cumsum(v)
np.cumulative_prod(v)
np.cumulative_sum(v)
np.delete(v, 1)
np.diag(x)
np.diag_indices(4)
np.diag_indices_from(x)
np.diagflat(v)
np.diagonal(x)
np.diff(v)
np.digitize(v, s)
np.dot(x, y)
np.dsplit(t, 2)
np.dstack((v, w))
np.ediff1d(v)
np.einsum("ij,jk->ik", x, y)
np.einsum_path("ij,jk,kl->il", x, y, x)
np.empty(0)
np.empty_like(x[:0])
np.expand_dims(v, 0)
np.extract(b, v)
np.eye(3)
fill_diagonal = (np.fill_diagonal(x, 1.5), x)[1]
np.fix(x)
np.flatnonzero(v > 0.5)
np.flip(v)
np.fliplr(x)
np.flipud(x)
np.from_dlpack(x)
np.frombuffer(b"abcd", np.uint8)
np.fromfunction(lambda a, o: a + o, (3, 3))
np.fromiter((n * n for n in range(4)), np.float64)
np.fromstring("1 2 3", sep=" ")
np.full((2, 3), 1.5)
np.full_like(x, 1.5)
np.geomspace(1, 8, 4)
np.gradient(v)
np.hamming(5)
np.hanning(5)
np.histogram(v, 3)
np.histogram2d(v, w, 3)
np.histogram_bin_edges(v, 3)
np.histogramdd(x, 2)
np.hsplit(x, 2)
np.hstack((v, w))
np.i0(v)
np.identity(3)
np.imag(c)
np.indices((2, 3))
np.inner(v, w)
np.insert(v, 1, 5.0)
np.interp(v, s, w)
np.intersect1d(i, j)
np.isclose(x, y)
np.iscomplex(c)
np.iscomplexobj(c)
np.isdtype(np.dtype(float), "real floating")
np.isfortran(x)
np.isin(i, j)
np.isneginf(x)
np.isposinf(x)
np.isreal(c)
np.isrealobj(x)
np.isscalar(1.5)
np.issubdtype(np.float64, np.floating)
np.iterable(x)
np.ix_(i, j)
np.kaiser(5, 14.0)
np.kron(v, w)
np.lexsort((v, w))
np.linspace(0, 1, 5)
np.logspace(0, 1, 5)
np.mask_indices(3, np.triu)
np.matrix_transpose(x)
np.max(x)
np.may_share_memory(x, y)
np.mean(x)
np.median(x)
np.meshgrid(v, w)
np.min(x)
np.min_scalar_type(10)
np.mintypecode(["d", "f"])
np.moveaxis(t, 0, 2)
np.nan_to_num(x)
np.nanargmax(x)
np.nanargmin(x)
np.nancumprod(v)
np.nancumsum(v)
np.nanmax(x)
np.nanmean(x)
np.nanmedian(x)
np.nanmin(x)
np.nanpercentile(x, 30)
np.nanprod(x)
np.nanquantile(x, 0.3)
np.nanstd(x)
np.nansum(x)
np.nanvar(x)
np.ndim(x)
np.nonzero(v > 0.5)
np.ones(3)
np.ones_like(x)
np.outer(v, w)
np.packbits(h > 3)
np.pad(v, 2)
np.partition(v, 2)
np.percentile(x, 30)
np.permute_dims(t, (2, 0, 1))
np.piecewise(v, [v < 0.5, v >= 0.5], [-1.0, 1.0])
place = (np.place(v, b, w), v)[1]
np.poly(v)
np.polyadd(v, w)
np.polyder(v)
np.polydiv(v, w)
np.polyfit(s, v, 2)
np.polyint(v)
np.polymul(v, w)
np.polysub(v, w)
np.polyval(v, w)
np.prod(x)
np.promote_types("f4", "i8")
np.ptp(x)
put = (np.put(v, i, w), v)[1]
put_along_axis = (np.put_along_axis(v, i, w, 0), v)[1]
putmask = (np.putmask(v, b, w), v)[1]
np.quantile(x, 0.3)
np.ravel(x)
np.ravel_multi_index((i, j), (6, 6))
np.real(c)
np.real_if_close(c)
np.repeat(v, 2)
np.require(x, requirements="C")
np.reshape(x, (2, 8))
np.resize(v, (3, 4))
np.result_type(x, 1)
np.roll(v, 2)
np.rollaxis(t, 2)
np.roots(v)
np.rot90(x)
np.round(x, 1)
np.searchsorted(s, v)
np.select([v < 0.3, v < 0.6], [v, w], 0.0)
np.setdiff1d(i, j)
np.setxor1d(i, j)
np.shape(x)
np.shares_memory(x, y)
np.sinc(x)
np.size(x)
np.sort(v)
np.sort_complex(v)
np.split(v, 3)
np.squeeze(x[None])
np.stack((v, w))
np.std(x)
np.sum(x)
np.swapaxes(t, 0, 1)
np.take(v, i)
np.take_along_axis(v, i, 0)
np.tensordot(x, y)
np.tile(v, 2)
np.trace(x)
np.transpose(x)
np.trapezoid(v)
np.tri(3)
np.tril(x)
np.tril_indices(4)
np.tril_indices_from(x)
np.trim_zeros(i)
np.triu(x)
np.triu_indices(4)
np.triu_indices_from(x)
np.union1d(i, j)
np.unique(i)
np.unique_all(i)
np.unique_counts(i)
np.unique_inverse(i)
np.unique_values(i)
np.unpackbits(h)
np.unravel_index(i, (6, 6))
np.unstack(x)
np.unwrap(v * 9)
np.vander(v)
np.var(x)
np.vdot(v, w)
np.vsplit(x, 2)
np.vstack((v, w))
np.where(v > 0.5, v, w)
np.zeros(3)
np.zeros_like(x)
np.float32(e)
np.float64(k)
np.int64(e)
np.complex128(e)
np.bool_(e)
np.c_[v, w]
np.r_[v, w]
np.s_[1:3]
np.index_exp[1:3]
np.mgrid[0:3, 0:2]
np.ogrid[0:3, 0:2]
np.finfo(np.float64).eps
np.iinfo(np.int32).max
np.dtype("f4")
np.poly1d(v)(w)
np.vectorize(lambda a: a * 2)(v)
np.frompyfunc(lambda a: a * 2, 1, 1)(v)
np.ndindex = [at for at in np.ndindex(2, 2)]
np.ndenumerate = [value for _, value in np.ndenumerate(v)]
np.lib.stride_tricks.as_strided(v, (3,), (16,))
np.lib.stride_tricks.sliding_window_view(v, 3)
np.emath.sqrt(x)
np.emath.log(x)
np.emath.log2(x)
np.emath.logn(2, x)
np.emath.log10(x)
np.emath.power(x, 2)
np.emath.arccos(v)
np.emath.arcsin(v)
np.emath.arctanh(v)
"""

METHODS = """
ndarray.T = x.T
ndarray.all = d.all()
ndarray.any = d.any()
ndarray.argmax = x.argmax()
ndarray.argmin = x.argmin()
ndarray.argpartition = v.argpartition(2)
ndarray.argsort = v.argsort()
ndarray.astype = x.astype(np.float32)
ndarray.base = x.base
ndarray.byteswap = i.byteswap()
ndarray.choose = (i % 2).choose([v, w])
ndarray.clip = x.clip(1, 2)
ndarray.compress = v.compress(b)
ndarray.conj = c.conj()
ndarray.conjugate = c.conjugate()
ndarray.copy = x.copy()
ndarray.cumprod = v.cumprod()
ndarray.cumsum = v.cumsum()
ndarray.device = x.device
ndarray.diagonal = x.diagonal()
ndarray.dot = x.dot(y)
ndarray.dtype = x.dtype
ndarray.dumps = x.dumps()
ndarray.fill = (x.fill(2.0), x)[1]
ndarray.flags = x.flags.c_contiguous
ndarray.flat = x.flat[3]
ndarray.flatten = x.flatten()
ndarray.getfield = i.getfield(np.int32)
ndarray.imag = c.imag
ndarray.item = x.item(1)
ndarray.itemsize = x.itemsize
ndarray.mT = x.mT
ndarray.max = x.max()
ndarray.mean = x.mean()
ndarray.min = x.min()
ndarray.nbytes = x.nbytes
ndarray.ndim = x.ndim
ndarray.nonzero = b.nonzero()
ndarray.partition = (v.partition(2), v)[1]
ndarray.prod = x.prod()
ndarray.put = (v.put(i, w), v)[1]
ndarray.ravel = x.ravel()
ndarray.real = c.real
ndarray.repeat = v.repeat(2)
ndarray.reshape = x.reshape(2, 8)
ndarray.round = x.round(1)
ndarray.searchsorted = s.searchsorted(v)
ndarray.shape = x.shape
ndarray.size = x.size
ndarray.sort = (v.sort(), v)[1]
ndarray.squeeze = x.squeeze()
ndarray.std = x.std()
ndarray.strides = x.strides
ndarray.sum = x.sum()
ndarray.swapaxes = t.swapaxes(0, 1)
ndarray.take = v.take(i)
ndarray.to_device = x.to_device("cpu")
ndarray.tobytes = x.tobytes()
ndarray.tolist = x.tolist()
ndarray.trace = x.trace()
ndarray.transpose = x.transpose()
ndarray.var = x.var()
ndarray.view = x.view(np.int64)
scalar.T = e.T
scalar.all = e.all()
scalar.any = e.any()
scalar.argmax = e.argmax()
scalar.argmin = e.argmin()
scalar.argsort = e.argsort()
scalar.as_integer_ratio = e.as_integer_ratio()
scalar.astype = e.astype(np.float32)
scalar.base = e.base
scalar.bit_count = k.bit_count()
scalar.byteswap = k.byteswap()
scalar.clip = e.clip(1, 2)
scalar.conj = q.conj()
scalar.conjugate = q.conjugate()
scalar.copy = e.copy()
scalar.cumprod = e.cumprod()
scalar.cumsum = e.cumsum()
scalar.dtype = e.dtype
scalar.flatten = e.flatten()
scalar.hex = e.hex()
scalar.imag = q.imag
scalar.is_integer = e.is_integer()
scalar.item = e.item()
scalar.itemsize = e.itemsize
scalar.max = e.max()
scalar.mean = e.mean()
scalar.min = e.min()
scalar.nbytes = e.nbytes
scalar.ndim = e.ndim
scalar.nonzero = e.reshape(1).nonzero()
scalar.prod = e.prod()
scalar.ravel = e.ravel()
scalar.real = q.real
scalar.repeat = e.repeat(2)
scalar.reshape = e.reshape(1, 1)
scalar.round = e.round()
scalar.shape = e.shape
scalar.size = e.size
scalar.squeeze = e.squeeze()
scalar.std = e.std()
scalar.strides = e.strides
scalar.sum = e.sum()
scalar.take = e.take([0])
scalar.tobytes = e.tobytes()
scalar.tolist = e.tolist()
scalar.transpose = e.transpose()
scalar.var = e.var()
scalar.view = e.view(np.int64)
"""

LINALG = """
np.linalg.cholesky(p)
np.linalg.cond(p)
np.linalg.cross(x[0, :3], y[0, :3])
np.linalg.det(p)
np.linalg.diagonal(x)
np.linalg.eig(p)
np.linalg.eigh(p)
np.linalg.eigvals(p)
np.linalg.eigvalsh(p)
np.linalg.inv(p)
np.linalg.lstsq(p, v[:4])
np.linalg.matmul(x, y)
np.linalg.matrix_norm(x)
np.linalg.matrix_power(x, 3)
np.linalg.matrix_rank(p)
np.linalg.matrix_transpose(x)
np.linalg.multi_dot([x, y, x])
np.linalg.norm(x)
np.linalg.outer(v, w)
np.linalg.pinv(p)
np.linalg.qr(p)
np.linalg.slogdet(p)
np.linalg.solve(p, v[:4])
np.linalg.svd(p)
np.linalg.svdvals(p)
np.linalg.tensordot(x, y)
np.linalg.tensorinv(p.reshape(4, 2, 2), 1)
np.linalg.tensorsolve(p, v[:4])
np.linalg.trace(x)
np.linalg.vecdot(v, w)
np.linalg.vector_norm(v)
"""

FFT = """
np.fft.fft(v)
np.fft.fft2(x)
np.fft.fftfreq(6)
np.fft.fftn(x)
np.fft.fftshift(v)
np.fft.hfft(c)
np.fft.ifft(c)
np.fft.ifft2(x)
np.fft.ifftn(x)
np.fft.ifftshift(v)
np.fft.ihfft(v)
np.fft.irfft(c)
np.fft.irfft2(x)
np.fft.irfftn(x)
np.fft.rfft(v)
np.fft.rfft2(x)
np.fft.rfftfreq(6)
np.fft.rfftn(x)
"""

# METHOD(ARGUMENTS): of a Generator that is an argument.
DRAWS = """
beta(2.0, 3.0, 5)
binomial(10, 0.3, 5)
bytes(4)
chisquare(2.0, 5)
choice(v)
dirichlet(w)
exponential(1.5, 5)
f(2.0, 3.0, 5)
gamma(2.0, 1.5, 5)
geometric(0.3, 5)
gumbel(0.0, 1.0, 5)
hypergeometric(5, 6, 7, 5)
laplace(0.0, 1.0, 5)
logistic(0.0, 1.0, 5)
lognormal(0.0, 1.0, 5)
logseries(0.5, 5)
multinomial(20, [0.2, 0.3, 0.5])
multivariate_normal([0.0, 1.0], [[1.0, 0.2], [0.2, 1.0]], 5)
negative_binomial(5, 0.4, 5)
noncentral_chisquare(2.0, 3.0, 5)
noncentral_f(2.0, 3.0, 1.0, 5)
normal(0.0, 1.0, (2, 3))
pareto(2.0, 5)
permutation(v)
poisson(3.0, 5)
power(2.0, 5)
random(5)
rayleigh(2.0, 5)
shuffle(v)
standard_cauchy(5)
standard_exponential(5)
standard_gamma(2.0, 5)
standard_normal(5)
standard_t(3.0, 5)
triangular(0.0, 1.0, 3.0, 5)
uniform(0.0, 2.0, 5)
vonmises(0.0, 1.0, 5)
wald(1.0, 2.0, 5)
weibull(2.0, 5)
zipf(3.0, 5)
"""

RANDOM = """
Generator.bit_generator = rng.bit_generator
Generator.integers = rng.integers(0, 9, 5)
Generator.multivariate_hypergeometric = rng.multivariate_hypergeometric([3, 4, 5], 4)
Generator.permuted = rng.permuted(v)
Generator.spawn = rng.spawn(2)[0].random()
np.random.default_rng(5).normal(size=3)
np.random.Generator(np.random.PCG64(3)).random(3)
np.random.RandomState(5).normal(size=3)
RandomState.rand = rs.rand(3)
RandomState.randint = rs.randint(0, 9, 5)
RandomState.randn = rs.randn(3)
RandomState.random_integers = rs.random_integers(3, size=2)
RandomState.random_sample = rs.random_sample(3)
RandomState.tomaxint = rs.tomaxint(3)
RandomState.seed = (rs.seed(4), rs.rand(3))[1]
RandomState.get_state = rs.get_state()[1]
RandomState.set_state = (rs.set_state(rs.get_state()), rs.rand(3))[1]
np.random.rand(3)
np.random.randint(0, 9, 5)
np.random.randn(3)
np.random.random_integers(3, size=2)
np.random.random_sample(3)
np.random.ranf(3)
np.random.sample(3)
np.random.seed(4)
np.random.get_state()[1]
random.set_state = (np.random.set_state(np.random.get_state()), np.random.rand(3))[1]
"""

SHARED = {
    f"random.{name}"
    for name in "rand randint randn random_integers random_sample ranf sample".split()
}
SHARED |= {"random.get_state", "random.set_state"}

# BASE stands for poly, cheb, leg, herm, herme, lag and their modules.
POLYNOMIALS = """
BASEadd(v, w)
BASEcompanion(v)
BASEder(v)
BASEdiv(v, w[:3])
BASEfit(s, v, 2)
BASEfromroots(v[:4])
BASEgrid2d(v, w, x)
BASEgrid3d(v, w, v, t)
BASEint(v)
BASEline(1.0, 2.0)
BASEmul(v, w)
BASEmulx(v)
BASEpow(v[:3], 2)
BASEroots(v)
BASEsub(v, w)
BASEtrim(i)
BASEval(v, w)
BASEval2d(v, w, x)
BASEval3d(v, w, v, t)
BASEvander(v, 3)
BASEvander2d(v, w, [1, 2])
BASEvander3d(v, w, v, [1, 1, 1])
"""

MORE_POLYNOMIALS = """
np.polynomial.polynomial.polyvalfromroots(v, w)
np.polynomial.chebyshev.cheb2poly(v)
np.polynomial.chebyshev.poly2cheb(v)
np.polynomial.chebyshev.chebgauss(4)
np.polynomial.chebyshev.chebweight(v)
np.polynomial.chebyshev.chebpts1(4)
np.polynomial.chebyshev.chebpts2(4)
np.polynomial.chebyshev.chebinterpolate(np.exp, 3)
np.polynomial.hermite.herm2poly(v)
np.polynomial.hermite.poly2herm(v)
np.polynomial.hermite.hermgauss(4)
np.polynomial.hermite.hermweight(v)
np.polynomial.hermite_e.herme2poly(v)
np.polynomial.hermite_e.poly2herme(v)
np.polynomial.hermite_e.hermegauss(4)
np.polynomial.hermite_e.hermeweight(v)
np.polynomial.laguerre.lag2poly(v)
np.polynomial.laguerre.poly2lag(v)
np.polynomial.laguerre.laggauss(4)
np.polynomial.laguerre.lagweight(v)
np.polynomial.legendre.leg2poly(v)
np.polynomial.legendre.poly2leg(v)
np.polynomial.legendre.leggauss(4)
np.polynomial.legendre.legweight(v)
np.polynomial.Polynomial(v)(w)
np.polynomial.Chebyshev(v)(w)
np.polynomial.Legendre(v)(w)
np.polynomial.Hermite(v)(w)
np.polynomial.HermiteE(v)(w)
np.polynomial.Laguerre(v)(w)
"""

BASES = {
    "poly": "polynomial",
    "cheb": "chebyshev",
    "leg": "legendre",
    "herm": "hermite",
    "herme": "hermite_e",
    "lag": "laguerre",
}

# What is left out, and why.  Names apart by blanks.
NATURE = {
    "reads or writes files": "fromfile fromregex genfromtxt load loadtxt save savetxt savez savez_compressed "
    "memmap ndarray.dump ndarray.tofile scalar.dump scalar.tofile",
    "makes text": "array2string array_repr array_str base_repr binary_repr format_float_positional "
    "format_float_scientific",
    "sets or tells how NumPy works": "get_include get_printoptions getbufsize geterr geterrcall info "
    "printoptions set_printoptions setbufsize seterr seterrcall show_config show_runtime test errstate linalg.test fft.test random.test "
    "polynomial.set_default_printstyle",
    "dates": "busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday datetime64 "
    "timedelta64",
    "makes a matrix or a record array": "asmatrix bmat matrix recarray record",
    "a type, not a function": "bytes_ character clongdouble complex256 complexfloating flatiter flexible "
    "float128 floating generic inexact integer longdouble ndarray number object_ signedinteger str_ ufunc "
    "unsignedinteger void random.BitGenerator linalg.LinAlgError",
    "iterates with a state of its own": "broadcast nditer nested_iters",
    "seeds a generator": "random.MT19937 random.PCG64 random.PCG64DXSM random.Philox random.SFC64 "
    "random.SeedSequence random.get_bit_generator random.set_bit_generator",
    "text": "strings.* char.*",
    "memory itself": "ndarray.ctypes ndarray.data ndarray.resize ndarray.setfield ndarray.setflags scalar.data "
    "scalar.setfield scalar.setflags",
    "a method of an array that a scalar has only by name": "scalar.argpartition scalar.choose scalar.compress "
    "scalar.device scalar.diagonal scalar.dumps scalar.fill scalar.flags scalar.flat scalar.fromhex "
    "scalar.getfield scalar.mT scalar.partition scalar.ptp scalar.put scalar.resize scalar.searchsorted "
    "scalar.sort scalar.swapaxes scalar.to_device scalar.trace scalar.newbyteorder scalar.dot "
    "scalar.bit_length",
}

# Not in every version of NumPy that is supported, or not on every machine.
NOT_EVERYWHERE = {
    "row_stack",
    "typename",
    "float128",
    "complex256",
    "polynomial.set_default_printstyle",
}
NOT_EVERYWHERE |= {"trapz", "in1d", "scalar.newbyteorder", "scalar.ptp"}

NAME = re.compile(r"np\.([A-Za-z_0-9.]+)")


def _named(lines: str) -> dict[str, str]:
    found = {}
    for line in lines.strip().splitlines():
        name, equals, call = line.partition(" = ")
        if not equals:
            name, call = NAME.match(line).group(1), line  # type: ignore[union-attr]
        found[name.removeprefix("np.")] = call
    return found


def _polynomials() -> dict[str, str]:
    found = {}
    for base, module in BASES.items():
        for line in POLYNOMIALS.strip().splitlines():
            call = line.replace("BASE", base)
            found[f"polynomial.{module}.{call.split('(')[0]}"] = f"np.polynomial.{module}.{call}"
    return found | _named(MORE_POLYNOMIALS)


def _draws(prefix: str, of: str) -> dict[str, str]:
    found = {}
    for line in DRAWS.strip().splitlines():
        name, call = line.split("(")[0], f"{of}.{line}"
        call = f"({call}, v)[1]" if name == "shuffle" else call
        found[prefix + name] = call if of != "np.random" else _seeded(call)
    return found


def _seeded(call: str) -> str:
    """So that the two that are compared begin alike."""
    return f"(np.random.seed(3), {call})[1]"


SECTIONS: dict[str, dict[str, str]] = {
    "Ufuncs": _named(UFUNCS),
    "Functions": _named(FUNCTIONS),
    "Attributes and methods": _named(METHODS),
    "numpy.linalg": _named(LINALG),
    "numpy.fft": _named(FFT),
    "numpy.random": _draws("Generator.", "rng")
    | _draws("RandomState.", "rs")
    | _draws("random.", "np.random")
    | {name: _seeded(call) if name in SHARED else call for name, call in _named(RANDOM).items()},
    "numpy.polynomial": _polynomials(),
}


def function(call: str) -> Any:
    """The call as a function of all the arguments."""
    namespace: dict[str, Any] = {"np": np}
    text = f"def call({', '.join(arguments())}):\n    return {call}\n"
    exec(compile(text, "<call>", "exec"), namespace)
    return namespace["call"]


def exists(name: str) -> bool:
    """Whether this NumPy has it."""
    roots = {
        "ndarray": np.ndarray,
        "ufunc": np.ufunc,
        "Generator": np.random.Generator,
        "RandomState": np.random.RandomState,
    }
    if name.startswith("scalar."):
        return any(hasattr(kind, name[7:]) for kind in (np.float64, np.int64, np.complex128))
    first, *rest = name.split(".")
    at = roots.get(first) if rest else None
    parts = rest if at is not None else [first, *rest]
    at = np if at is None else at
    for part in parts:
        at = getattr(at, part, None)
    return at is not None or name == "ndarray.base"
