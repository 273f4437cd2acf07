"""erf, erfc and ndtr of scipy.special in registers: the bits of SciPy's own loops, and no flags."""

import ctypes
import decimal
import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from differential import check
from reports import output_code

import pycompile
from pycompile import _C

special = pytest.importorskip("scipy.special")

NAMES = ["erf", "erfc", "ndtr"]
RNG = np.random.default_rng(13)
#: Where one formula ends and another begins, where results become subnormal, and what is no number.
EDGES = [
    0.0,
    1.0,
    2**0.5,
    8.0,
    11.25,
    8 * 2**0.5,
    512**0.5,
    708.39641853**0.5,
    709.782712893384**0.5,
]
EDGES += [26.5, 26.543258, 26.615718, 26.64, 37.5, 37.519379347, 37.6774, 38.0, 38.48, 1e3, np.inf]
EDGES += [
    2.0**-500,
    1.5 * 2.0**-501,
    1e-150,
    1e-170,
    2.3e-308,
    1e-310,
    5e-324,
    1e300,
    1.7e308,
    3.4e38,
]
EDGES += [1e-38, 1e-45, 7.07, 12.9, 14.2, 9.19, 10.05]


@pytest.fixture(autouse=True)
def as_found():
    state = special.geterr()
    yield
    special.seterr(**state)


def with_flags():
    """The CPU of a glibc whose exp is the variant for FMA, with a SciPy whose code is known."""
    return platform.machine() == "x86_64" and sys.platform == "linux"


def edges(dtype):
    x = np.array(EDGES)
    near = (1 + np.arange(-3, 4) * 2.0**-52)[:, None]
    floats = (1 + np.arange(-3, 4) * 2.0**-23)[:, None]
    with np.errstate(all="ignore"):
        x = np.concatenate([(x * near).ravel(), (x * floats).ravel()]).astype(dtype)
        return np.concatenate([x, -x, nans(dtype)])


def nans(dtype):
    """Quiet and signalling, of both signs, with payloads."""
    if dtype == "f8":
        bits = np.array([0x7FF8000000000000, 0x7FF8000000012345, 0x7FF0000000000001], "u8")
        return np.concatenate([bits, bits | np.uint64(1 << 63)]).view("f8")
    bits = np.array([0x7FC00000, 0x7FC12345, 0x7F800001], "u4")
    return np.concatenate([bits, bits | np.uint32(1 << 31)]).view("f4")


def arguments(dtype, n):
    """All regimes, by turns within vectors and for whole vectors."""
    some = [RNG.standard_normal(n), RNG.standard_normal(n) * 8, RNG.uniform(-40, 40, n)]
    some += [RNG.uniform(-1, 1, n), RNG.uniform(1.5, 7.9, n), RNG.uniform(-27, -22, n)]
    some += [-RNG.uniform(37, 38.6, n), RNG.uniform(13, 14.5, n) * RNG.choice([-1, 1], n)]
    some += [10.0 ** RNG.uniform(-320, 10, n) * RNG.choice([-1, 1], n)]
    bits = "u8" if dtype == "f8" else "u4"
    with np.errstate(all="ignore"):
        some = [s.astype(dtype) for s in some]
    some += [RNG.integers(0, 1 << np.dtype(bits).itemsize * 8, n, dtype=bits).view(dtype)]
    mixed = RNG.permutation(np.concatenate([*some, edges(dtype)]))
    return np.concatenate([*some, edges(dtype), mixed, np.repeat(edges(dtype), 16)])


def same(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("bytes_", [32, 64])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_loops(name, dtype, bytes_):
    """With vectors of either width, also where kernels have the wider."""
    x = arguments(dtype, 30_000)
    x = x[: len(x) // 16 * 16].copy()
    found = np.full_like(x, 7)
    flags = _C.test_vector_loop(name, x, found, bytes_)
    if flags is None or not in_registers():
        pytest.skip("not on this machine, or with this SciPy")
    assert flags == 0
    with np.errstate(all="ignore"):
        wanted = getattr(special, name)(x)
    assert same(found, wanted)


def compiled(function, **options):
    return pycompile.compile(function, options={"plan_always": True, **options})


def program(name, text="special.{0}(x) * 2"):
    scope = {"np": np, "special": special}
    exec(f"def f(x):\n    return {text.format(name)}", scope)
    return scope["f"]


def in_registers(name="ndtr", dtype="f8"):
    text = output_code(compiled(program(name)), np.ones(100, dtype))
    assert "k0(" in text
    return "call_loop(loop" not in text


def exp_table():
    """2**(k / 128) less the nearest double, by that, and the double's bits less k << 45."""
    with decimal.localcontext(prec=60):
        exact = [decimal.Decimal(2) ** (decimal.Decimal(k) / 128) for k in range(128)]
        rest = [float(e / decimal.Decimal(float(e)) - 1) for e in exact]
    bits = np.array([float(e) for e in exact]).view("u8") - (
        np.arange(128, dtype="u8") << np.uint64(45)
    )
    return np.stack([np.array(rest).view("u8"), bits], axis=1).ravel()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="vectors of x86-64")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_kernels_for_avx2(name, dtype, tmp_path):
    """As a machine without AVX-512 has them."""
    if not in_registers(name, dtype):
        pytest.skip("not on this machine, or with this SciPy")
    x = arguments(dtype, 5003)
    x = np.concatenate([x, x[:7], x[:1]])
    n, kind = len(x), {"f4": "f32", "f8": "f64"}[dtype]
    graph = f"%0: {kind}[{n}] = input(0)\n%1: {kind}[{n}] = {name}(%0)\noutputs %1\n"
    text = _C.lower_graph(graph, [], False, 32)[1]
    source, library = tmp_path / "k.c", tmp_path / "k.so"
    source.write_text(text)
    flags = "-std=gnu11 -O2 -march=haswell -ffp-contract=off -fwrapv -fPIC -shared -w"
    subprocess.run([_C.toolchain_info()["compiler"], *flags.split(), source, "-o", library], check=True)  # fmt: skip
    code, table, found = ctypes.CDLL(str(library)), exp_table(), np.zeros_like(x)
    for place, address in _C.test_vector_links().items():
        if place in text:
            ctypes.c_void_p.in_dll(code, place).value = address
    ctypes.c_void_p.in_dll(code, "of_pycompile_exp_table").value = table.ctypes.data
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, found.ctypes.data)
    sizes = (ctypes.c_int64 * 4)(n, n, n, n)
    arguments_ = (ctypes.c_void_p * 4)(ctypes.addressof(pointers), ctypes.addressof(sizes))
    assert code.k0(arguments_, ctypes.c_int64(0), ctypes.c_int64(n)) == 0
    with np.errstate(all="ignore"):
        assert same(found, getattr(special, name)(x))


@pytest.mark.skipif(not with_flags(), reason="nothing is known of this SciPy's code")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_they_are_in_registers(name, dtype):
    """Else the tests here compare SciPy's loop with itself."""
    if _C.test_vector_loop(name, np.ones(16), np.ones(16), 32) is None:
        pytest.skip("no vectors for it")
    x = np.ones(100, dtype)
    assert "call_loop(loop" not in output_code(compiled(program(name)), x)
    assert "call_loop(loop" in output_code(compiled(program(name), inline_functions=False), x)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_bits(name, dtype):
    function = program(name)
    x = arguments(dtype, 5003)
    with np.errstate(all="ignore"):
        made, wanted = compiled(function), function(x)
        for _ in range(2):
            assert same(made(x), wanted)
        assert made.stats()["plan_runs"] > 0
        for n in (1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33):  # less than a vector, and what is left over
            made = compiled(program(name))
            for start in range(0, len(x) - n, 9973):
                assert same(made(x[start : start + n]), wanted[start : start + n])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_layouts_and_neighbours(name, dtype):
    f = getattr(special, name)

    def mixed(x, y):
        return f(x) * 0.5 + np.exp(y) + f(y.astype(np.float32)), f(x).sum(axis=0), f(y).max()

    def twice(x):
        return f(f(x) - x) + np.float32(1), f(-x).mean(axis=-1)

    def written(x):
        f(x, out=x)
        x[1:] = f(x[1:]) * 0.5
        np.multiply(f(x), 2, out=x)
        return x

    def masked(x):
        y = np.where(x > 0, f(x), x)
        y[x > 1] = f(x[x > 1]) + 1
        return y

    def whole(i):
        return f(i) * 2, f(i % 2 == 0) + 1

    for shape in ((300, 5), (40, 47), (30, 1000), (7, 3), (64, 64), (3, 8, 33)):
        x = (RNG.standard_normal(shape) * 4).astype(dtype)
        views = (x[:, ::2], x[::-1, ::-1], np.asfortranarray(x))  # of a long shape and a deep one
        for view in (x, x.T, *(views if shape in ((30, 1000), (3, 8, 33)) else ())):
            check(mixed, view, np.abs(view).astype("f8"))
            check(twice, view)
            check(masked, view)
        check(written, x)
        check(written, x.T)
    check(whole, np.arange(-50, 50))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_no_flags(name, dtype):
    """What SciPy's loops raise they clear; a neighbour's flags are reported."""
    f = getattr(special, name)

    def function(x, y):
        return f(x) + np.log(y)

    x = edges(dtype)
    y = np.ones_like(x)
    with np.errstate(all="raise"):
        made = compiled(function)
        for _ in range(2):
            assert same(made(x, y), function(x, y))
        assert made.stats()["deopts"] == 0
        for value in x:
            z = np.full(19, value, dtype)
            assert same(made(z, y[:19]), function(z, y[:19]))
        y[5] = 0
        for call in (function, made, made):
            with pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
                call(x, y)


def told(call, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = [np.asarray(r).tobytes() for r in call(*args)]
        except Exception as error:
            result = [type(error), str(error)]
    return result, [(str(w.message), w.category, w.lineno) for w in caught]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("action", ["ignore", "warn", "raise"])
def test_errors_of_the_library(name, action):
    """NaN is out of the domain, and erfc underflows; also where nobody reads the result."""
    f = getattr(special, name)

    def function(x, out):
        f(x * 2)
        np.add(f(x), 1, out=out)
        return f(x) * 2, x + 1

    for first in ("ignore", action):  # the plan is made in the one, and runs in the other
        made = compiled(function)
        for value in (0.5, np.nan, 40.0, -40.0, 1e-310):
            x = np.full(100, 0.25)
            x[50] = value
            special.seterr(all=first)
            told(made, np.full(100, 0.25), np.zeros(100))
            special.seterr(all=action)
            outs = np.zeros(100), np.zeros(100)
            for _ in range(2):
                assert told(made, x, outs[0]) == told(function, x, outs[1])
                assert same(*outs)
        with special.errstate(all="ignore"):
            assert told(made, x, outs[0]) == told(function, x, outs[1])


@pytest.mark.slow
def test_what_is_first_used_while_the_library_reports():
    """In another process: what is known of the loops is kept."""
    code = """
import warnings
import numpy as np, pycompile
from scipy import special
def f(x): return special.ndtr(x) * 2
made = pycompile.compile(f, options={"plan_always": True})
x = np.linspace(-3, 3, 1000)
with special.errstate(all="raise"):
    assert made(x).tobytes() == f(x).tobytes()
with special.errstate(all="warn"), warnings.catch_warnings():
    warnings.simplefilter("error")
    assert made(x).tobytes() == f(x).tobytes()
assert made(x).tobytes() == f(x).tobytes()
"""
    subprocess.run([sys.executable, "-P", "-c", code], check=True, env=environment())


def environment(**more):
    return os.environ | {"PYTHONPATH": str(Path(pycompile.__file__).parents[1])} | more


@pytest.mark.slow
@pytest.mark.skipif(not with_flags(), reason="glibc has no such variants")
def test_another_exp_in_the_c_library():
    """Without FMA glibc's exp has other last bits: then the library's loop is called."""
    code = """
import logging, sys
import numpy as np, pycompile
from scipy import special
texts = []
handler = logging.Handler()
handler.emit = lambda record: texts.append(record.getMessage())
logging.getLogger("pycompile.output_code").addHandler(handler)
x = np.random.default_rng(0).standard_normal(200_000) * 3
for name in ("erf", "erfc", "ndtr"):
    for y in (x, x.astype("f4")):
        f = getattr(special, name)
        made = pycompile.compile(lambda y: f(y) * 2, options={"plan_always": True})
        with pycompile.set_logs("output_code"):
            assert made(y).tobytes() == (f(y) * 2).tobytes(), name
print(sum("call_loop(loop" in text for text in texts))
"""
    hwcaps = "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-FMA4,-FMA4_Usable"
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], check=True, env=environment(GLIBC_TUNABLES=hwcaps),
        capture_output=True, text=True,
    )  # fmt: skip
    assert int(run.stdout) == 6


def test_others_are_themselves(monkeypatch):
    """Other dtypes, arguments and names, and what only has the name."""
    x = RNG.standard_normal(3001)

    def others(x):
        return special.ndtr(x.astype("f2")) * 2, special.erf(x + 1j * x) * 2, special.erfcx(x) * 2

    def arguments(x, z):
        special.erf(x, z)
        return (
            special.ndtr(x, dtype="f8") * 2,
            z + special.erfc(0.5),
            special.ndtr(np.float32(2)) + x,
        )

    check(others, x, captured=False)
    check(arguments, x, np.zeros(3001), captured=False)
    ndtr = special.ndtr
    monkeypatch.setattr(special, "ndtr", special.ndtri)
    check(lambda x: ndtr(x) * 2, x)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_float32_of_all_magnitudes(name):
    """One in 61 of all; PYCOMPILE_TEST_EVERY_FLOAT=1 takes each, in some ten minutes."""
    function = program(name, "special.{0}(x) * np.float32(1)")
    made = compiled(function)
    every = 1 if os.environ.get("PYCOMPILE_TEST_EVERY_FLOAT") == "1" else 61
    with np.errstate(all="ignore"):
        for first in range(0, 1 << 32, every << 20):
            bits = np.arange(first, min(first + (every << 20), 1 << 32), every, dtype=np.uint32)
            x = bits.view(np.float32)
            assert np.array_equal(made(x).view("u4"), function(x).view("u4")), first
