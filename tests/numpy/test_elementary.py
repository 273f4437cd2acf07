"""Elementary functions in registers: the bits and flags of NumPy's loops, whose code they are."""

import platform
import warnings

import numpy as np
import pytest
from differential import check
from reports import output_code

import pycompile
from pycompile import _C

RNG = np.random.default_rng(8)
NAMES = (
    "exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan arcsin arccos arctan"
    " sinh cosh tanh arcsinh arccosh arctanh"
).split()
ODD = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 1e-40, 5e-324, 1.0, -1.0]
    + [87.0, 87.01, 88.72283, 88.73, -87.0, -87.34, -103.97, -103.98, -104.0, 3e38, -3e38]
    + [709.78, 709.79, -708.4, -745.2, 1e300, -1e300, 0.70710677, 0.70710685, 1.1754944e-38]
)
#: The functions whose code is known of NumPy's loops for AVX-512, and of those for AVX2, where exp and
#: log of float64 are glibc's, as sin and cos of float64 are everywhere.
SHORT = {"exp", "log", "tanh"}
KNOWN_THERE = {
    ("X86_V4", "f4"): {*SHORT, "log2", "cbrt"},
    ("X86_V4", "f8"): {*SHORT, "log2", "cbrt", "sin", "cos"},
    ("X86_V3", "f4"): SHORT,
    ("X86_V3", "f8"): {*SHORT, "sin", "cos"},
}
#: Where the algorithms change from one formula, table entry or way of rounding to another.
EDGES = [1 - 2**-4, 1 + 0x109 / 4096, 1.0, 0.6875, 1.375, 512.0, 2.0**-54, 2.0**-53, 2.0**-1022]
EDGES += [709.782712893384, 745.1332191019411, 708.3964185322641, 87.0, 88.72284, 103.97208]
EDGES += [1.1754944e-38, 3.4028235e38, 1.7976931348623157e308, 0.0, np.inf]
EDGES += [
    2.0**-300,
    2.0**-27,
    2.0**-26,
    0.126,
    0.85546875,
    float.fromhex("0x1.368fdp1"),
    float.fromhex("0x1.921fbp26"),
]
EDGES += [n * np.pi / 4 for n in (1, 2, 3, 4, 5, 6, 7, 8, 1001, 1002, 99999998)]


def program(name, text="np.{0}(x) * 2.0 + x"):
    scope = {"np": np}
    exec(f"def f(x):\n    return {text.format(name)}", scope)
    return scope["f"]


def compiled(function, **options):
    return pycompile.compile(function, options={"plan_always": True, **options})


def arguments(dtype, n=5003):
    with np.errstate(all="ignore"):
        odd = ODD.astype(dtype)
    scales = RNG.choice([1.0, 1e-4, 3.0, 30.0, 90.0], n)
    x = (RNG.uniform(-1, 1, n) * scales).astype(dtype)
    x[RNG.permutation(n)[: len(odd)]] = odd
    return x


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_bits(name, dtype):
    function = program(name)
    x = arguments(dtype)
    with np.errstate(all="ignore"):
        wanted = function(x)
        for inlines in (True, False):
            made = compiled(function, inline_functions=inlines)
            for _ in range(2):
                assert made(x).tobytes() == wanted.tobytes()
            assert made.stats()["plan_runs"] > 0
        for n in (1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33):  # less than a vector, and what is left over
            made = compiled(program(name))
            assert made(x[:n]).tobytes() == function(x[:n]).tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["exp", "log", "log2", "arctanh", "tanh", "sin", "cos"])
@pytest.mark.parametrize("mode", ["warn", "raise"])
def test_flags(name, dtype, mode):
    """One odd argument among many, anywhere in the vectors."""
    function = program(name)
    made = compiled(function)
    with np.errstate(all="ignore"):
        odd = ODD.astype(dtype)
    for number, value in enumerate(odd):
        x = np.full(67, 0.5, dtype)
        x[number * 5 % 67] = value
        seen = []
        for call in (function, made):
            with np.errstate(all=mode), warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    result = call(x).tobytes()
                except FloatingPointError as error:
                    result = str(error)
            seen.append((result, [str(w.message) for w in told]))
        assert seen[0] == seen[1], value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_where_its_polynomials_meet(dtype):
    """NumPy's intervals begin at numbers with 3 bits, the first of which is implicit."""
    first = np.ldexp([1.0, 1.25, 1.5, 1.75], np.arange(-8, 8)[:, None]).astype(dtype).ravel()
    top = np.ldexp(np.array([0.75, 1.0, 1.25, 1.5], dtype), np.finfo(dtype).maxexp - 1)
    first = np.concatenate([first, top])
    x = np.concatenate([np.nextafter(first, dtype(0)), first, np.nextafter(first, dtype(9e9))])
    x = np.concatenate([x, -x])
    function = program("tanh", "np.{0}(x) * 0.5")
    for _ in range(2):
        assert compiled(function)(x).tobytes() == function(x).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_in_kernels_of_many_shapes(dtype):
    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def mixed(x, y):
        return np.exp(x) * 0.5 + np.log(y) + np.exp(y.astype(np.float32)), np.exp(x).sum(axis=0)

    def masked(x):
        y = np.log(np.where(x > 0, x, 1))
        y[x > 1] = np.exp(x[x > 1])
        return y

    def written(x):
        np.exp(x, out=x)
        x[1:] = np.log(x[1:]) * 0.5
        return x

    for shape in ((300, 10), (40, 47), (30, 1000), (7, 3), (64, 64)):
        x = RNG.standard_normal(shape).astype(dtype)
        check(softmax, x)
        check(softmax, x.T)
        check(mixed, x, np.abs(x).astype("f8") + 0.1)
        check(mixed, x[:, ::2], np.abs(x[:, ::2]).astype("f8") + 0.1)
        check(masked, x)
        check(written, x)


@pytest.mark.slow
@pytest.mark.parametrize("length", [7, 8, 9, 15, 16, 17, 24, 31, 33, 120, 128, 136, 152, 264, 1007])
def test_sums_of_what_is_long_to_compute(length):
    """Of float32 vectors are twice as wide as NumPy's accumulators."""

    def functions(x):
        return np.exp(x).sum(axis=1), (np.exp(x) * np.tanh(x)).mean(axis=1)

    def operations(x):
        y = x * 3 + 1
        y = y * y - np.where(x > 0.5, y, x)
        return y.sum(axis=1), (np.sqrt(np.abs(y)) / x).sum()

    x = RNG.standard_normal((7, length + 3)).astype("f4")
    for function in (functions, operations):
        check(function, x[:, :length].copy())
        check(function, x[:, 3:])
        check(function, x[:, ::-1])
        check(function, x.astype("f8"))
    x[3, length // 2] = np.nan
    x[5, -1] = 200
    check(functions, x)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "cos"])
def test_many_copies_are_calls(name, dtype):
    """Rows of ten elements, whose sums name the function ten times."""
    f, kind = getattr(np, name), {"f4": "f32", "f8": "f64"}[dtype]

    def rows(x):
        return f(x * 0.5).sum(axis=1)

    def once(x):
        return f(x * 0.5) + x

    x, called = abs(np.resize(arguments(dtype, 600), (57, 10))), f"#define {name}_{kind}x"
    with np.errstate(all="ignore"):
        single, many = output_code(compiled(once), x), output_code(compiled(rows), x)
        assert "k0(" in single and called not in single
        if f"of_pycompile_{name}_{kind}x" in single:
            assert f"#define {name}_{kind} called_" in single
            assert called in many
        made = compiled(rows)
        for n in (1, 3, 4, 8, 40, 57):
            for _ in range(2):
                assert made(x[:n]).tobytes() == rows(x[:n]).tobytes()


def test_others_of_the_same_name_and_other_dtypes_are_themselves():
    special = pytest.importorskip("scipy.special")

    def function(x, z, h):
        return special.exp2(x) * 1.0, np.exp(z) * 2.0, np.exp(h) * 2.0

    x = RNG.standard_normal(3001)
    check(function, x, x + 1j * x, x.astype("f2"))


def target():
    """Of NumPy's loops, where their code is known and kernels have vectors as wide."""
    info = np.lib.introspect.opt_func_info(func_name="^tanh$", signature="float64")
    chosen = info.get("tanh", {}).get("dd", {}).get("current", "")
    chosen = "X86_V4" if chosen == "AVX512_SKX" else chosen
    return chosen if np.__version__ >= "2.4" and platform.libc_ver()[0] == "glibc" else ""


def in_registers(name, dtype, **options):
    text = output_code(compiled(program(name), **options), np.full(100, 0.5, dtype))
    assert "k0(" in text
    return "call_loop(loop" not in text


@pytest.mark.skipif(
    (target(), "f4") not in KNOWN_THERE, reason="the code of NumPy's loops is not known"
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(KNOWN_THERE["X86_V4", "f8"]))
def test_they_are_in_registers(name, dtype):
    """Else the tests above compare NumPy's loop with itself."""
    if name not in KNOWN_THERE[target(), dtype]:
        pytest.skip("it calls the C library, or is another loop")
    assert in_registers(name, dtype)
    assert not in_registers(name, dtype, inline_functions=False)


def many_arguments(name, dtype, n=1 << 16):
    """All regimes, by turns within vectors and for whole vectors."""
    some = [RNG.standard_normal(n), RNG.uniform(-800, 800, n), RNG.uniform(-25, 25, n)]
    some += [1 + RNG.uniform(-0.07, 0.07, n), np.exp(RNG.uniform(-700, 700, n))]
    some += [np.ldexp(RNG.uniform(-1, 1, n), RNG.integers(-60, 30, n)), RNG.uniform(-2.5, 2.5, n)]
    some += [np.arange(n) * (np.pi / 4), np.repeat(RNG.uniform(-9, 9, n // 16), 16)]
    bits = np.dtype(dtype).str.replace("f", "u")
    with np.errstate(all="ignore"):
        some = [s.astype(dtype) for s in some]
        edges = np.array(EDGES).astype(dtype)
        near = edges.view(bits)[:, None] + np.arange(-40, 41).astype(bits)
    some += [near.view(dtype).ravel(), -near.view(dtype).ravel()]
    some += [RNG.integers(0, 1 << np.dtype(bits).itemsize * 8, n, dtype=bits).view(dtype)]
    if name == "log":  # else half of them is one vector's worth of NaNs after another
        some += [np.abs(s) for s in some]
    x = np.concatenate(some)
    return np.concatenate([x, RNG.permutation(x), ODD.astype(dtype)])


@pytest.mark.parametrize("bytes_", [32, 64])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "cos"])
def test_loops(name, dtype, bytes_):
    """With vectors of either width, also where kernels have the wider."""
    if not in_registers(name, dtype):
        pytest.skip("not on this machine, or with this NumPy")
    if name in ("exp", "log") and dtype == "f8" and target() == "X86_V4":
        pytest.skip("NumPy calls SVML")
    with np.errstate(all="ignore"):
        x = many_arguments(name, dtype)
        x = x[: len(x) // 16 * 16].copy()
        found, wanted = np.full_like(x, 7), getattr(np, name)(x)
    if _C.test_vector_loop(name, x, found, bytes_) is None:
        pytest.skip("no vectors for it")
    different = found.view(f"u{x.itemsize}") != wanted.view(f"u{x.itemsize}")
    assert not different.any(), (x[different][:5], found[different][:5])
    told = []
    for part in np.split(x[: len(x) // 1024 * 1024], len(x) // 1024):
        # of vectors in which lanes go different ways
        part = np.where(RNG.random(1024) < 0.2, np.array(0.99, dtype), np.abs(part))
        flags = _C.test_vector_loop(name, part, np.empty_like(part), bytes_)
        with np.errstate(all="call", call=lambda _, flag: told.append(flag)):
            getattr(np, name)(part)
        assert flags == sum(set(told)), part
        told.clear()


#: The sixteenths of all float32 that have one result after another: of the others exp is 1, infinite or 0,
#: tanh its argument or 1, log NaN; there each 61st is asked.
VARIED = {"exp": (3, 4, 11, 12), "log": range(8), "tanh": (3, 4, 11, 12)}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
@pytest.mark.parametrize("name", VARIED)
def test_every_float32(name, part):
    function = program(name, "np.{0}(x) * np.float32(1)")
    made = compiled(function)
    step, calls = (1, 256) if part in VARIED[name] else (61, 5)
    bits = np.arange(1 << 20, dtype=np.uint32) * np.uint32(step) + np.uint32(part << 28)
    with np.errstate(all="ignore"):
        for _ in range(calls):
            x = bits.view(np.float32)
            assert np.array_equal(made(x).view(np.uint32), function(x).view(np.uint32)), bits[0]
            bits += np.uint32(step << 20)
    assert bits[0] >> 28 == (part + 1) % 16
    assert made.stats()["plan_runs"] >= calls - 3


def test_a_patched_numpy(monkeypatch):
    """The name may be another function's, or gone, when the plan is made."""
    exp = np.exp

    def function(x):
        return exp(x) * 2.0

    x = RNG.standard_normal(1000)
    wanted = function(x)
    monkeypatch.setattr(np, "exp", len)
    assert compiled(function)(x).tobytes() == wanted.tobytes()
    monkeypatch.delattr(np, "exp")
    scope = {"exp": exp}
    exec("def f(x):\n    return exp(x) * 2.0", scope)
    assert compiled(scope["f"])(x).tobytes() == wanted.tobytes()
