"""Of numpy.linalg: Giles, An extended collection of matrix derivative results (2008), and its sources."""

import numpy as np

from pycompile.derivatives._pieces import most_back, unspread
from pycompile.derivatives.rules._table import NoRule, rule


def _t(a):
    return np.swapaxes(a, -1, -2)


def _column(b, a):
    """NumPy 2 takes a b of one axis as a vector."""
    return b.ndim == 1


@rule(np.linalg.inv, "a")
def inv_a(g, o, a):
    return -(_t(o) @ g @ _t(o))


@rule(np.linalg.solve, "a")
def solve_a(g, o, a, b):
    if b.ndim == 1:
        back = np.linalg.solve(_t(a), g)
        return unspread(-(np.expand_dims(back, -1) * np.expand_dims(o, -2)), a.shape)
    back = np.linalg.solve(_t(a), g)
    return unspread(-(back @ _t(o)), a.shape)


@rule(np.linalg.solve, "b")
def solve_b(g, o, a, b):
    return unspread(np.linalg.solve(_t(a), g), b.shape)


@rule(np.linalg.det, "a")
def det_a(g, o, a):
    return np.reshape(g * o, (*np.shape(o), 1, 1)) * _t(np.linalg.inv(a))


@rule(np.linalg.slogdet, "a")
def slogdet_a(g, o, a):
    return np.reshape(g[1], (*np.shape(g[1]), 1, 1)) * _t(np.linalg.inv(a))


def _lower_half(x):
    """The lower triangle, of the diagonal half."""
    n = x.shape[-1]
    return np.tril(x) * (1.0 - 0.5 * np.eye(n, dtype=x.dtype))


@rule(np.linalg.cholesky, "a")
def cholesky_a(g, o, a, *, upper=False):
    low, g = (np.conjugate(_t(o)), np.conjugate(_t(g))) if upper else (o, g)
    middle = _lower_half(_t(low) @ np.tril(g))
    inverse = np.linalg.inv(low)
    back = _of_triangle(_t(inverse) @ middle @ np.conjugate(inverse), False)
    return np.conjugate(_t(back)) if upper else back


def _of_triangle(back, upper):
    """Of a symmetric (Hermitian) matrix, of which one triangle is read: that of the triangle."""
    both = back + np.conjugate(_t(back))
    both = both - 0.5 * np.eye(back.shape[-1], dtype=back.dtype) * both
    return np.triu(both) if upper else np.tril(both)


def _gaps(w):
    """1 / (w[j] - w[i]), 0 on the diagonal."""
    gaps = np.expand_dims(w, -2) - np.expand_dims(w, -1)
    same = np.eye(w.shape[-1], dtype=bool)
    return np.where(same, 0.0, 1.0 / np.where(same, 1.0, gaps))


@rule(np.linalg.eigh, "a")
def eigh_a(g, o, a, UPLO="L"):
    w, v = o[0], o[1]
    middle = np.zeros(a.shape, a.dtype)
    if g[0] is not None:
        middle = middle + np.expand_dims(g[0], -2) * np.eye(w.shape[-1], dtype=w.dtype)
    if g[1] is not None:
        middle = middle + _gaps(w) * (_t(v) @ g[1])
    return _of_triangle(np.conjugate(v) @ middle @ _t(v), UPLO in ("U", "u"))


@rule(np.linalg.eigvalsh, "a")
def eigvalsh_a(g, o, a, UPLO="L"):
    v = np.linalg.eigh(a, UPLO)[1]
    back = (np.conjugate(v) * np.expand_dims(g, -2)) @ _t(v)
    return _of_triangle(back, UPLO in ("U", "u"))


@rule(np.linalg.eig, "a")
def eig_a(g, o, a):
    """Boeddeker et al., On the computation of complex-valued gradients (2017), of unit vectors."""
    w, v = o[0], o[1]
    same = np.eye(w.shape[-1], dtype=w.dtype)
    middle = np.zeros(v.shape, v.dtype)
    if g[0] is not None:
        middle = middle + np.expand_dims(g[0], -2) * same
    if g[1] is not None:
        inner = _t(v) @ g[1]
        unit = (_t(v) @ np.conjugate(v)) @ (np.real(inner) * same)
        middle = middle + _gaps(w) * (inner - unit)
    back = np.linalg.solve(_t(v), middle @ _t(v))
    return back if a.dtype.kind == "c" else np.real(back)


@rule(np.linalg.svd, "a")
def svd_a(g, o, a, full_matrices=True, compute_uv=True, hermitian=False):
    """Wan & Zhang, Automatic differentiation for complex valued SVD (2019); in it cotangents are the
    conjugates of ours."""
    if not compute_uv:
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        return np.conjugate((u * np.expand_dims(g, -2)) @ vt)
    k = min(a.shape[-2:])
    u, s, vt = o[0][..., :k], o[1], o[2][..., :k, :]
    ut, v = np.conjugate(_t(u)), np.conjugate(_t(vt))
    gaps = _gaps(s * s)
    wide = np.expand_dims(s, -2)
    middle = np.zeros((*a.shape[:-2], k, k), a.dtype)
    rest = np.zeros(a.shape, a.dtype)
    if g[1] is not None:
        middle = middle + np.expand_dims(g[1], -2) * np.eye(k, dtype=s.dtype)
    if g[0] is not None:
        gu = np.conjugate(g[0][..., :k])
        inner = ut @ gu
        turned = gaps * inner
        middle = middle + (turned + np.conjugate(_t(turned))) * wide
        if a.dtype.kind == "c":
            middle = middle + 1j * np.imag(inner) * np.eye(k, dtype=s.dtype) / wide
        if a.shape[-2] > k:
            left = gu / wide
            rest = rest + (left - u @ (ut @ left)) @ vt
    if g[2] is not None:
        gv = _t(g[2][..., :k, :])
        turned = gaps * (vt @ gv)
        middle = middle + np.expand_dims(s, -1) * (turned + np.conjugate(_t(turned)))
        if a.shape[-1] > k:
            right = gv / wide
            rest = rest + u @ np.conjugate(_t(right - v @ (vt @ right)))
    return np.conjugate(u @ middle @ vt + rest)


@rule(np.linalg.qr, "a")
def qr_a(g, o, a, mode="reduced"):
    m, n = a.shape[-2:]
    if np.iscomplexobj(a):
        raise NoRule("np.linalg.qr of complex numbers")
    if mode not in ("reduced", "complete") or (mode == "complete" and m > n):
        raise NoRule(f"np.linalg.qr in mode {mode!r}")
    if not a.size:
        return np.zeros(a.shape, a.dtype)
    q, r = o[0], o[1]
    gq = g[0] if g[0] is not None else np.zeros(q.shape, q.dtype)
    gr = np.triu(g[1]) if g[1] is not None else np.zeros(r.shape, r.dtype)
    if m >= n:
        return _square_qr(gq, gr, q, r)
    # The columns behind the square ones are q times theirs of r.
    gq = gq + a[..., m:] @ _t(gr[..., m:])
    left = _square_qr(gq, gr[..., :m], q, r[..., :m])
    return np.concatenate([left, q @ gr[..., m:]], axis=-1)


def _square_qr(gq, gr, q, r):
    middle = r @ _t(gr) - _t(gq) @ q
    low = np.tril(middle, -1)
    middle = low + _t(low) + np.eye(r.shape[-1], dtype=r.dtype) * middle
    return _t(np.linalg.solve(r, _t(gq + q @ middle)))


@rule(np.linalg.pinv, "a")
def pinv_a(g, o, a, rcond=None, hermitian=False):
    m, n = a.shape[-2:]
    gt, oh = _t(g), np.conjugate(_t(o))
    left = (np.eye(m, dtype=a.dtype) - a @ o) @ gt @ o @ oh
    right = oh @ o @ gt @ (np.eye(n, dtype=a.dtype) - o @ a)
    return np.conjugate(left + right) - _t(o) @ g @ _t(o)


@rule(np.linalg.lstsq, "a")
def lstsq_a(g, o, a, b, rcond=None):
    """Of the solution alone, as of the pseudo-inverse times b."""
    if g[0] is None or g[1] is not None or g[3] is not None:
        raise NoRule("np.linalg.lstsq by other results than the solution")
    column = b.ndim == 1
    gs, bs = (g[0][:, None], b[:, None]) if column else (g[0], b)
    return pinv_a(gs @ _t(bs), np.linalg.pinv(a), a)


@rule(np.linalg.lstsq, "b")
def lstsq_b(g, o, a, b, rcond=None):
    if g[0] is None or g[1] is not None or g[3] is not None:
        raise NoRule("np.linalg.lstsq by other results than the solution")
    return _t(np.linalg.pinv(a)) @ g[0]


@rule(np.linalg.matrix_power, "a")
def matrix_power_a(g, o, a, n):
    if n == 0:
        return np.zeros(a.shape, a.dtype)
    back = np.zeros(a.shape, a.dtype)
    if n < 0:
        base = np.linalg.inv(a)
        for i in range(-n):
            inner = _t(np.linalg.matrix_power(base, i)) @ g
            back = back + inner @ _t(np.linalg.matrix_power(base, -n - 1 - i))
        return -(_t(base) @ back @ _t(base))
    for i in range(n):
        back = back + _t(np.linalg.matrix_power(a, i)) @ g @ _t(
            np.linalg.matrix_power(a, n - 1 - i)
        )
    return back


@rule(np.linalg.norm, "x")
def norm_x(g, o, x, ord=None, axis=None, keepdims=False):
    if axis is None and ord is not None and x.ndim == 2:
        axis = (0, 1)
    over = tuple(range(x.ndim)) if axis is None else axis
    over = (over,) if isinstance(over, int) else tuple(over)
    over = tuple(i % x.ndim for i in over)
    shape = tuple(1 if i in over else n for i, n in enumerate(x.shape))
    g, o = np.reshape(g, shape), np.reshape(o, shape)
    if ord is None or ord == "fro" or (len(over) == 1 and ord == 2):
        return g * (np.conjugate(x) / o)
    if len(over) == 1:
        if ord in (np.inf, -np.inf):
            return most_back(g, np.abs(x), o, over) * np.conjugate(np.sign(x))
        if ord == 1:
            return g * np.conjugate(np.sign(x))
        if ord == 0:
            return np.zeros(x.shape, x.dtype)
        return g * (np.conjugate(x) * np.abs(x) ** (ord - 2.0) / o ** (ord - 1.0))
    if ord in (1, -1, np.inf, -np.inf):
        along, other = over if ord in (1, -1) else (over[1], over[0])
        sums = np.abs(x).sum(axis=along, keepdims=True)
        return most_back(g, sums, o, (other,)) * np.conjugate(np.sign(x))
    turned = np.moveaxis(x, over, (-2, -1))
    g = np.moveaxis(g, over, (-2, -1))
    u, s, vt = np.linalg.svd(turned, full_matrices=False)
    if ord != "nuc":
        i = 0 if ord == 2 else s.shape[-1] - 1
        u, vt = u[..., i : i + 1], vt[..., i : i + 1, :]
    return np.moveaxis(g * np.conjugate(u @ vt), (-2, -1), over)


@rule(np.linalg.cond, "x")
def cond_x(g, o, x, p=None):
    if p not in (None, 2):
        raise NoRule(f"np.linalg.cond with p={p!r}")
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    most, least = s[..., :1], s[..., -1:]
    ends = np.eye(s.shape[-1], dtype=s.dtype)
    parts = ends[0] / least - ends[-1] * most / (least * least)
    return np.reshape(g, (*np.shape(g), 1, 1)) * np.conjugate((u * parts[..., None, :]) @ vt)


@rule(np.trace, "a")
def trace_a(g, o, a, offset=0, axis1=0, axis2=1):
    eye = np.eye(a.shape[axis1], a.shape[axis2], offset, dtype=a.dtype)
    rest = np.reshape(g, (*np.shape(g), 1, 1)) * eye
    return np.moveaxis(rest, (-2, -1), (axis1, axis2))


@rule(np.linalg.eigvals, "a")
def eigvals_a(g, o, a):
    vectors = np.linalg.eig(a)[1]
    return _t(np.linalg.inv(vectors)) @ (g[..., None] * _t(vectors))
