"""What a mask selects, computed on and stored back through the same mask: without an array of the
selected elements where that is cheap, and told by nothing but the time."""

import warnings

import numpy as np
import pytest
from differential import check

import pycompile

DTYPES = ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SHARES = {"none": 0.0, "one": None, "few": 0.05, "half": 0.5, "all": 1.1}


def numbers(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 3
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.abs(x).astype(dtype) if np.dtype(dtype).kind == "u" else x.astype(dtype)


def mask(shape, share, seed=3):
    m = (
        np.random.default_rng(seed).random(shape) < SHARES[share]
        if SHARES[share] is not None
        else None
    )
    if m is None:
        m = np.zeros(shape, bool)
        m.flat[m.size // 2 : m.size // 2 + 1] = True
    return m


def made(*lines, args):
    """def program(args): lines; return the arguments and what the last line, `r = ...`, gave."""
    body = "".join(f"    {line}\n" for line in lines)
    names = {"np": np}
    exec(f"def program({args}):\n    r = None\n{body}    return r, {args}\n", names)
    return names["program"]


STATEMENTS = [
    "x[m] = x[m] + y[m]",
    "x[m] = x[m] * x[m] - y[m] * 2",
    "x[m] = x[m] ** 2 + y[m]",
    "x[m] += y[m]",
    "x[m] *= 2",
    "x[m] -= y[m] * x[m]",
    "x[m] = y[m]",
    "x[m] = -y[m]",
    "x[m] = abs(y[m])",
    "x[m] = np.where(m, x, y)[m] + 1",
    "r = x[m] * y[m] + x[m]",
    "t = x[m]; t += y[m]; u = t; u *= 2; x[m] = t; r = u",
    "t = x[m]; x[m] = y[m]; y[m] = t",
    "t = x[m]; x[m] = t + 1; y[m] = t + x[m]",
    "t = x[m]; v = t[1:]; t = t * 2; r = v, t",
    "r = (x[m] == y[m]), (x[m] != 0)",
    "x[m] = (x[m] + y[m])[::-1]",
    "r = np.sort((x[m] + y[m]).real)",
    "x[m] = np.square(x[m]); y[~m] = np.add(x[~m], y[~m])",
    "x[x == y] = x[x == y] + y[x == y]",
    "x[m] = y[m]; x[m] = x[m] + y[m]; m[2:5] = True; x[m] = x[m] + y[m]",
]


@pytest.mark.parametrize("line", STATEMENTS)
def test_statements(line):
    x, y = numbers("f8", 37), numbers("f8", 37, 1)
    also = tuple((x, y, mask(37, share)) for share in SHARES)
    with np.errstate(all="ignore"):
        check(made(*line.split("; "), args="x, y, m"), *also[3], also=also, whole=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("line", STATEMENTS)
def test_dtypes(line, dtype):
    x, y, m = numbers(dtype, 70), numbers(dtype, 70, 1), mask(70, "half")
    with np.errstate(all="ignore"):
        check(made(*line.split("; "), args="x, y, m"), x, y, m, calls=1, captured=False)


@pytest.mark.parametrize("other", ["?", "i4", "f4", "f8", "c16"])
@pytest.mark.parametrize("dtype", ["i2", "i8", "f4", "f8", "c8"])
@pytest.mark.parametrize(
    "line", ["x[m] = y[m]", "x[m] += y[m]", "x[m] = x[m] * y[m]", "r = x[m] + y[m]"]
)
def test_casts(line, dtype, other):
    x, y, m = numbers(dtype, 70), numbers(other, 70, 1), mask(70, "half")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(made(line, args="x, y, m"), x, y, m, calls=1, captured=False)


def reversed_(x):
    return x[::-1]


def fortran(x):
    return np.asfortranarray(x)


def strided(x):
    return np.repeat(x, 2, -1)[..., ::2]


LAYOUTS = [reversed_, fortran, strided, np.transpose]


@pytest.mark.parametrize("shape", [(5, 8), (6, 6), (1, 1), (0, 4), (3, 0), (1, 7)])
@pytest.mark.parametrize("line", [STATEMENTS[0], STATEMENTS[3], *STATEMENTS[10:13]])
def test_planes(line, shape):
    x, y, m = numbers("f8", shape), numbers("f8", shape, 1), mask(shape, "half")
    check(made(*line.split("; "), args="x, y, m"), x, y, m, captured=x.size > 0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("line", [STATEMENTS[1], STATEMENTS[2], *STATEMENTS[10:13]])
def test_layouts(line, dtype, layout):
    shape = (6, 6)
    x, y, m = numbers(dtype, shape), numbers(dtype, shape, 1), mask(shape, "half")
    for arrays in ((layout(x), y, m), (x, layout(y), m), (x, y, layout(m)), map(layout, (x, y, m))):
        check(made(*line.split("; "), args="x, y, m"), *arrays, calls=1, captured=False)


@pytest.mark.parametrize(
    "line",
    [
        "x[m] = x[m] * 2 + v",
        "x[m] += v",
        "x[m] += w",
        "r = x[m] - v, x[m] * 2",
        "x[m] = x[m] + x[m][:, :1]",
        "x[m] = v",
    ],
)
def test_masks_of_rows(line):
    x, v, w = numbers("f8", (9, 3)), numbers("f8", 3, 1), numbers("f8", (1,), 2)
    also = tuple((x, v, w, mask(9, share)) for share in SHARES)
    check(made(line, args="x, v, w, m"), *also[3], also=also, whole=True)


def test_numbers_beside_what_is_selected():
    def program(x, m, k, a):
        x[m] = x[m] * k + a
        x[m] -= x[0]
        return x[m] > k

    for k in (2, 2.5, np.float32(3)):
        check(program, numbers("f8", 50), mask(50, "half"), k, np.array(1.5), whole=True)


def test_numbers_stored_by_masks_of_some_axes():
    program = made(
        "x[..., m] = 0",
        "x[1:, p] = 1.5",
        "x[::-2, 1:, m] = x[0, 0, 0]",
        "x[0, ..., m] = 2",
        "x[None, :, p] += 3",
        "x[:, p[:, 0], ...] = 3",
        "x[::-1, p[:, 1], 2] = x.max()",
        "x[:, x[0] > 0.5] = 0",
        "x.T[m, 1:] = 7",
        args="x, m, p",
    )
    for dtype in ("f8", "i4"):
        check(program, numbers(dtype, (3, 4, 5)), mask(5, "half"), mask((4, 5), "few"), whole=True)


# ---- what NumPy reports is of selected elements only ----


def inverse(x, m):
    x[m] = 1 / x[m]
    return x


def grown(x, m):
    x[m] = x[m] * 1e200 * x[m]
    return x


def narrowed(x, m):
    y = np.zeros(len(x), "f4")
    y[m] = x[m] * 1e100
    return y


def to_integers(x, m):
    y = np.zeros(len(x), "i4")
    y[m] = x[m] + 1
    return y


def divided(x, m):
    y = (x * 4).astype("i8")
    y[m] = 7 // y[m]
    return y


@pytest.mark.parametrize("program", [inverse, grown, narrowed, to_integers, divided])
def test_errors_of_selected_elements(program):
    bad = np.array([1.0, 0.0, np.nan, np.inf, 1e200, -2.0] * 20)
    chosen = np.isin(bad, (1.0, -2.0))
    options = {"also": ((bad, ~chosen), (np.ones(120), chosen), (bad, chosen))}
    with np.errstate(all="warn"):
        check(program, bad, chosen, captured=False, **options)
    with np.errstate(all="raise"):
        check(program, bad, chosen, captured=False, **options)


@pytest.mark.parametrize("program", [inverse, grown, narrowed, to_integers])
def test_what_is_not_selected_undoes_no_plan(program):
    bad = np.array([1.0, 0.0, np.inf, 1e300, -2.0, -0.0] * 20)
    chosen = np.isin(bad, (1.0, -2.0))
    if program is narrowed:
        bad = np.where(chosen, bad * 1e-100, bad)
    if program is grown:
        bad = np.where(chosen, bad * 1e-200, bad)
    compiled = pycompile.compile(program, options={"plan_always": True})
    for _ in range(4):
        compiled(bad.copy(), chosen)
    assert compiled.stats()["plan_runs"] >= 3
    assert compiled.stats()["deopts"] == 0


# ---- what NumPy refuses ----


@pytest.mark.parametrize(
    "line",
    [
        "x[m] = x[k] + 1",
        "x[m] += x[k]",
        "x[m[:5]] = 1",
        "r = x[m[:5]] + 1",
        "r = x[m] + y",
        "x[m] = y",
        "x[m] ^= y[m]",
        "i[m] += x[m]",
        "i[m] /= 2",
        "x[m] = x[m] @ y[m]",
        "i[m] = i[m] ** -1",
    ],
)
def test_refusals(line):
    x, y = numbers("f8", 40), numbers("f8", 40, 1)
    m = mask(40, "half")
    k = np.roll(m, 1) | (np.arange(40) < 30)
    check(made(line, args="x, y, i, m, k"), x, y, np.arange(40), m, k, captured=False)


# ---- masks that change, and branches ----


def orbit(z, c, n):
    for _ in range(6):
        m = np.abs(z) <= 2
        z[m] = z[m] ** 2 + c[m]
        n[m] += 1
    return m.sum()


def orbit_of_reals(x, y, a, b, n):
    for _ in range(6):
        m = x * x + y * y <= 4
        t = x[m] ** 2 - y[m] ** 2 + a[m]
        y[m] = 2 * x[m] * y[m] + b[m]
        x[m] = t
        n[m] += 1
    return m.sum()


@pytest.mark.parametrize("size", [1, 2, 5, 3000])
def test_escape_times(size):
    z, c = numbers("c16", size) / 3, numbers("c16", size, 1) / 5
    n = np.zeros(size, int)
    check(orbit, z, c, n)
    parts = [part.copy() for part in (z.real, z.imag, c.real, c.imag)]
    check(orbit_of_reals, *parts, n, whole=True)


def changed_in_an_arm(x, y, m):
    t = x[m]
    if y.sum() > 0:
        t += 1
        x[m] = t
    else:
        t *= 2
    y[m] += t
    return t * 3


def test_branches():
    x, y, m = numbers("f8", 30), numbers("f8", 30, 1), mask(30, "half")
    check(changed_in_an_arm, x, np.abs(y), m, also=((x, -np.abs(y), m),))


def leaves(x, m, box):
    t = x[m]
    box.append(t)
    t += 1
    return t, t * 2


def test_what_leaves_is_one_object():
    check(leaves, numbers("f8", 30), mask(30, "half"), [])


def large_temporaries(x, y, m):
    """NumPy writes the sums into what it has read."""
    x[m] = (x[m] + 1) * y[m] + x[m]
    return (x[m] * 2 + y[m]).sum()


def test_temporaries_large_enough_to_be_written():
    size = 90_000
    check(large_temporaries, numbers("f8", size), numbers("f8", size, 1), mask(size, "all"))
    check(
        large_temporaries,
        numbers("?", size),
        numbers("?", size, 1),
        mask(size, "all"),
        captured=False,
    )


# ---- stretches where nothing is selected ----

STRETCHES = {
    "clusters": np.arange(700) % 200 < 37,
    "one": np.arange(700) == 401,
    "none": np.zeros(700, bool),
    "the end": np.arange(700) > 695,
    "all": np.ones(700, bool),
}


@pytest.mark.parametrize("dtype", ["i1", "i8", "f4", "f8", "c16"])
@pytest.mark.parametrize("line", ["x[m] += y[m]", "x[m] = y[m]", "x[m] = 3", "x[m] = x[m] * x[m]"])
def test_stretches(line, dtype):
    x, y = numbers(dtype, 700), numbers(dtype, 700, 1)
    also = tuple((x, y, m) for m in STRETCHES.values())
    with np.errstate(all="ignore"):
        check(made(line, args="x, y, m"), *also[0], also=also, captured=dtype != "c16")


def quotients(x, s, m):
    """What it divides by s it divides everywhere, so that NumPy warns of s = 0 whatever m is."""
    x[...] = np.where(m, np.where(m, x, 1.0) / s, x)
    return x


def roots(x, s, m):
    x[...] = np.where(m, np.sqrt(x + s), x)
    return x


@pytest.mark.parametrize("program", [quotients, roots])
@pytest.mark.parametrize("stretch", STRETCHES)
def test_reports_of_a_choice_by_np_where_are_of_all_elements(program, stretch):
    x, m = np.linspace(-3, 3, 700), STRETCHES[stretch]
    with np.errstate(all="warn"):
        check(program, x, np.zeros(700), m, also=((x, np.full(700, 9.0), m),), captured=False)
        check(program, x, 0.0, m, also=((x, 9.0, m),), captured=False)


def test_what_no_mask_selects_reports_nothing():
    x = np.zeros(700)
    m = np.arange(700) < 3
    x[m] = 2.0
    compiled = pycompile.compile(inverse)
    with np.errstate(all="raise"):
        for _ in range(4):
            assert compiled(x.copy(), m)[0] == 0.5
    assert compiled.stats()["deopts"] == 0


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "?", "f4"])
@pytest.mark.parametrize("number", [2.5, -14.0, 300.7, 3e10, 1e30, float("nan"), float("inf")])
def test_numbers_stored_by_masks_are_in_range(dtype, number):
    """NumPy stores a float in integers by way of a Python int, whether the mask selects or not."""

    def program(x, a, m):
        s = float(a.sum())
        x[m] = s
        return x

    x = np.arange(6).astype(dtype)
    for m in (x > 2, x < 0):
        also = ((x, np.array([number, 0.0]), m),)
        check(program, x, np.array([1.0, 2.0]), m, also=also, captured=False)
