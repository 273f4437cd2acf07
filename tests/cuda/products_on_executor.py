"""Products by cuBLASLt, with what is done with their elements, on a cuBLASLt that computes on the CPU
(products.cpp), between kernels on the executor.  test_cuda.py runs this file as it does on_executor.py.
CuPy's own products are NumPy's here (calls_on_executor.py): a plan makes none of them unless a test says so."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from calls_on_executor import CALLS, by_numpy
from deviceless import FOLDER, cp, device, header, host, once, product_number, values
from graphs_on_executor import launches, sets, setting  # noqa: F401

import pycompile
from pycompile import _C

HERE = str(Path(__file__).parent)
BIAS, RELU, GELU = 4, 2, 32
DEFAULT, PEDANTIC, FLOAT32, TF32 = 1, 2, 4, 7
KIND = [None]  # a function that says how CuPy multiplies
cp._core._routines_linalg.get_compute_type = lambda dtype: KIND[0](dtype)
made, asked, epilogue = (product_number(name) for name in ("made", "asked", "epilogue"))


def compute_type(function):
    KIND[0] = function


@pytest.fixture(autouse=True)
def library():
    """cuBLASLt answers; what a test sets is off again after it."""
    names = ("refused", "failing", "wrong", "workspace")
    for name in names:
        product_number(name).value = 0
    compute_type(lambda dtype: DEFAULT)
    yield lambda name, value=1: setattr(product_number(name), "value", value)
    for name in names:
        product_number(name).value = 0


def wide(args):
    return [a.astype("f8") if isinstance(a, np.ndarray) else a for a in args]


def check(function, *args, products=1, epilogues=None, calls=(), given=None):
    """function(xp, …): two runs of its plan against NumPy in float64; `epilogues`: cuBLASLt's number."""
    given = given or [device(a) if isinstance(a, np.ndarray) else a for a in args]
    compiled = once(lambda *args: function(cp, *args))
    compiled(*given)
    with np.errstate(all="ignore"):
        right = function(np, *wide(args))
    for _ in range(2):
        CALLS.clear()
        before = made.value
        result = compiled(*given)
        assert list(calls) == CALLS
        assert made.value - before == products
        if epilogues is not None:
            assert epilogue.value == epilogues
        assert compiled.stats()["deopts"] == 0
        for a, b in zip(
            *(x if isinstance(x, tuple) else (x,) for x in (result, right)), strict=True
        ):
            assert a.shape == b.shape
            assert header(a) == header(cp.ndarray(b.shape, a.dtype))
            error = 2.0**-10 if a.dtype == "f2" else 2.0**-20
            np.testing.assert_allclose(
                host(a).astype("f8"), b, rtol=2 * error, atol=4 * error * (1 + np.abs(b).max())
            )
    return compiled


def factors(dtype, rows=24, inner=16, columns=40):
    return (
        values((rows, inner), dtype),
        values((inner, columns), dtype, 2),
        values((columns,), dtype, 3),
        values((rows, columns), dtype, 4),
    )


def gelu(xp, x):
    return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def gelu_by_powers(xp, x):
    return x * 0.5 * (xp.tanh(math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x**2)) + 1.0)


def gelu_by_exponential(xp, x):
    return x / (1 + xp.exp(-1.5957691216 * (x + 0.044715 * x**3)))


PROGRAMS = [
    (lambda xp, x, w, b, r: x @ w + b, BIAS),
    (lambda xp, x, w, b, r: b + x @ w, BIAS),
    (lambda xp, x, w, b, r: xp.matmul(x, w) + b[None, :], BIAS),
    (lambda xp, x, w, b, r: r + x @ w, 1),
    (lambda xp, x, w, b, r: xp.dot(x, w) + r, 1),
    (lambda xp, x, w, b, r: r + (x @ w + b), BIAS),
    (lambda xp, x, w, b, r: r + x @ w + b, BIAS),
    (lambda xp, x, w, b, r: xp.maximum(x @ w, 0), RELU),
    (lambda xp, x, w, b, r: xp.maximum(0, x @ w + b), RELU | BIAS),
    (lambda xp, x, w, b, r: gelu(xp, x @ w), GELU),
    (lambda xp, x, w, b, r: gelu(xp, x @ w + b), GELU | BIAS),
    (lambda xp, x, w, b, r: gelu_by_powers(xp, x @ w + b), GELU | BIAS),
    (lambda xp, x, w, b, r: gelu_by_exponential(xp, r + x @ w + b), GELU | BIAS),
]


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("program, epilogues", PROGRAMS)
def test_epilogues(program, epilogues, dtype):
    check(program, *factors(dtype), epilogues=epilogues)


def test_the_fastest_algorithm_is_kept():
    """With mode="max-autotune", for each shape; another process knows it from the cache folder."""
    names = ("offered", "best", "algorithm")
    offered, best, algorithm = (product_number(name) for name in names)
    made_before = made.value
    offered.value, best.value = 5, 3
    try:
        for mode, wanted in (("default", 0), ("max-autotune", 3), (None, 0)):
            args = [device(a) for a in factors("f4", 40, 24, 8)]
            compiled = pycompile.compile(lambda x, w, b, r: r + x @ w + b, mode=mode)
            for _ in range(3):
                made_of = compiled(*args)
            assert algorithm.value == wanted
            np.testing.assert_allclose(
                host(made_of),
                (lambda x, w, b, r: r + x @ w + b)(*map(host, args)),
                rtol=1e-4,
                atol=1e-5,
            )
        assert made.value > made_before + 5
        code = CHILD.format(here=HERE)
        for expected in (3, 3):
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=False
            )
            assert done.stdout.split() == [str(expected)], done.stdout + done.stderr
    finally:
        offered.value, best.value = 1, 0


CHILD = """
import sys
sys.path.insert(0, {here!r})
from products_on_executor import *
offered, best, algorithm = (product_number(name) for name in ("offered", "best", "algorithm"))
product_number("refused").value = 0
compute_type(lambda dtype: DEFAULT)
offered.value, best.value = 5, 99  # all are slow: what is kept is what was noted
args = [device(a) for a in factors("f4", 40, 24, 8)]
compiled = pycompile.compile(lambda x, w, b, r: r + x @ w + b, mode="max-autotune")
for _ in range(3):
    compiled(*args)
print(algorithm.value)
"""


def test_bfloat16(monkeypatch):
    """CuPy multiplies matrices of it, and has no setting for how.  NumPy's product of them is of float32."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    product = by_numpy("@", lambda a, b: (a.astype("f4") @ b.astype("f4")).astype(a.dtype))
    monkeypatch.setattr(cp.ndarray, "__matmul__", product)
    compute_type(lambda dtype: TF32 if dtype == "f4" else 1 / 0)
    x, w, b, r = (a.astype(ml_dtypes.bfloat16) for a in factors("f4"))

    def program(x, w, b, r):
        y = (x @ w + b).astype("f4")
        return gelu(cp, y).astype(b.dtype), x @ w + r

    compiled = once(program)
    given = [device(a) for a in (x, w, b, r)]
    compiled(*given)
    before = made.value
    results = compiled(*given)
    assert made.value - before == 2
    assert compiled.stats()["deopts"] == 0
    x, w, b, r = (a.astype("f8") for a in (x, w, b, r))
    for a, right in zip(results, (gelu(np, x @ w + b), x @ w + r), strict=True):
        assert a.dtype == ml_dtypes.bfloat16
        right = right.astype(ml_dtypes.bfloat16).astype("f8")
        np.testing.assert_allclose(host(a).astype("f8"), right, rtol=2.0**-7, atol=1e-6)


def test_an_element_is_rounded_once():
    """The sum and the gelu of float32 values, where CuPy rounds to 16 bits between them."""
    x, w, b, _ = factors("f2")
    compiled = once(lambda x, w, b: gelu(cp, (x @ w + b).astype("f4")).astype("f2"))
    compiled(*map(device, (x, w, b)))
    wanted = gelu(np, x.astype("f8") @ w.astype("f8") + b).astype("f2")
    np.testing.assert_array_equal(host(compiled(*map(device, (x, w, b)))), wanted)


def chain(xp, x, w, b, v, c):
    h = gelu(xp, (x - x.mean(axis=-1, keepdims=True)) @ w + b)
    return (h @ v + c) * 2


def test_products_and_kernels_are_one_launch():
    args = [values(s, "f4", i) for i, s in enumerate([(24, 16), (16, 40), (40,), (40, 8), (8,)])]
    compiled = check(chain, *args, products=2)
    given = [device(a) for a in args]
    compiled(*given)
    compiled(*given)
    assert launches.during(lambda: compiled(*given)) == 1
    assert sets.during(lambda: compiled(*given)) == 0
    kept = compiled(*given)
    moved = [device(a + 1) for a in args]
    assert (
        launches.during(
            lambda: np.testing.assert_allclose(
                host(compiled(*moved)),
                chain(np, *(a + 1 for a in wide(args))),
                rtol=1e-3,
                atol=1e-3,
            )
        )
        == 1
    )
    np.testing.assert_allclose(host(kept), chain(np, *wide(args)), rtol=1e-3, atol=1e-3)


def test_memory_that_the_library_needs_is_nobody_elses(library):
    library("workspace", 4096)
    args = [values(s, "f4", i) for i, s in enumerate([(21, 17), (17, 43), (43,), (43, 9), (9,)])]
    check(chain, *args, products=2)
    assert asked.value > 0


def test_other_streams_and_captures(setting):  # noqa: F811
    args = [values(s, "f4", i) for i, s in enumerate([(22, 16), (16, 40), (40,), (40, 8), (8,)])]
    compiled = check(chain, *args, products=2)
    given, wanted = [device(a) for a in args], chain(np, *wide(args))
    _C.test_cupy_without_device(given[0], 64)
    for _ in range(20):
        np.testing.assert_allclose(host(compiled(*given)), wanted, rtol=1e-3, atol=1e-3)
    _C.test_cupy_without_device(given[0], 0)
    setting("capturing", 1)
    np.testing.assert_allclose(host(compiled(*given)), wanted, rtol=1e-3, atol=1e-3)
    setting("capturing", 0)
    setting("refuses", 1)
    np.testing.assert_allclose(host(compiled(*given)), wanted, rtol=1e-3, atol=1e-3)
    assert compiled.stats()["deopts"] == 0


LAYOUTS = {
    "columns side by side": lambda x, w: (x.T.copy().T, w.T.copy().T),
    "the second turned": lambda x, w: (x, w.T.copy().T),
    "parts of rows": lambda x, w: (np.hstack([x, x])[:, : x.shape[1]], np.hstack([w, w])[:, 8:]),
    "not aligned": lambda x, w: (np.hstack([x, x])[:, 1 : 1 + x.shape[1]], w),
    "one row": lambda x, w: (x[:1], w),
    "one column": lambda x, w: (x, w[:, :1]),
    "one of each": lambda x, w: (x[:1], w[:, 3:4]),
    "an outer product": lambda x, w: (x[:, :1], w[:1]),
}


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, dtype):
    x, w, *_ = factors(dtype)
    x, w = LAYOUTS[layout](x, w)
    check(lambda xp, x, w: (x @ w) * 2, x, w)


def test_a_residual_of_another_layout():
    x, w, b, r = factors("f4")
    wider = np.hstack([r, r])
    check(lambda xp, x, w, b, r: r[:, : w.shape[1]] + x @ w + b, x, w, b, wider, epilogues=BIAS)
    check(lambda xp, x, w, b, r: r.T + x @ w + b, x, w, b, r.T.copy(), epilogues=1)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize(
    "left, right",
    [
        ((3, 24, 16), (3, 16, 40)),
        ((2, 3, 24, 16), (2, 3, 16, 40)),
        ((3, 24, 16), (16, 40)),
        ((2, 3, 24, 16), (16, 40)),
        ((24, 16), (3, 16, 40)),
        ((3, 1, 16), (3, 16, 40)),
        ((1, 24, 16), (3, 16, 40)),
        ((2, 1, 24, 16), (1, 16, 40)),
    ],
)
def test_batches(left, right, dtype):
    x, w, b = values(left, dtype), values(right, dtype, 2), values((40,), dtype, 3)
    shape = np.broadcast_shapes(left[:-2], right[:-2]) + (left[-2], 40)
    r = values(shape, dtype, 4)
    check(lambda xp, x, w, b, r: gelu(xp, r + (x @ w + b)), x, w, b, r, epilogues=GELU | BIAS)
    check(lambda xp, x, w, b, r: x @ w * 2, x, w, b, r, epilogues=1)


def test_batches_that_no_distance_walks_stay_calls():
    x, w = values((2, 1, 24, 16), "f4"), values((1, 3, 16, 40), "f4", 2)
    check(lambda xp, x, w: x @ w + 1, x, w, products=0, calls=["@"])


def test_turned_batches_and_heads():
    q, k = values((2, 24, 3, 16), "f4"), values((2, 40, 3, 16), "f4", 2)
    program = lambda xp, q, k: xp.maximum(
        q.transpose(0, 2, 1, 3)[1] @ k.transpose(0, 2, 3, 1)[1], 0
    )  # noqa: E731
    check(program, q, k, epilogues=RELU)


@pytest.mark.parametrize(
    "program, calls",
    [
        (lambda xp, x, w: x.astype("f8") @ w.astype("f8") + 1, ["@"]),
        (lambda xp, x, w: x[0] @ w + 1, ["@"]),
        (lambda xp, x, w: (x @ w[:, 0]) + 1, ["@"]),
        (lambda xp, x, w: x[::-1] @ w + 1, ["@"]),
        (lambda xp, x, w: x[:, ::2] @ w[::2] + 1, ["@"]),
    ],
)
def test_what_stays_a_call(program, calls):
    x, w, *_ = factors("f4")
    check(program, x, w, products=0, calls=calls)


def other_use(xp, x, w, b, r):
    p = x @ w
    return p + b, p * 2


def use_within(xp, x, w, b, r):
    h = x @ w + b
    return gelu(xp, h), h.sum()


def not_gelu(xp, x, w, b, r):
    h = x @ w + b
    return 0.5 * h * (1 + xp.tanh(0.79 * (h + 0.044715 * h * h * h)))


def sigmoid(xp, x, w, b, r):
    h = x @ w + b
    return h / (1 + xp.exp(-h))


def other_maximum(xp, x, w, b, r):
    return xp.maximum(x @ w + b, 0.5)


def column(xp, x, w, b, r):
    return x @ w + r[:, :1]


@pytest.mark.parametrize(
    "program, epilogues",
    [
        (other_use, 1),
        (use_within, BIAS),
        (not_gelu, BIAS),
        (sigmoid, BIAS),
        (other_maximum, BIAS),
        (column, 1),
    ],
)
def test_what_is_no_epilogue(program, epilogues):
    check(program, *factors("f4"), epilogues=epilogues)


def test_two_products_are_added():
    check(lambda xp, x, w, b, r: (x @ w) + (x * 2) @ w + b, *factors("f4"), products=2)


def test_a_residual_that_is_written_afterwards():
    def step(x, w, r):
        y = r + x @ w
        r *= 2
        return y + 1

    x, w, _, r = factors("f4")
    compiled = once(step)
    for _ in range(3):
        given = device(r.copy())
        result = compiled(device(x), device(w), given)
        np.testing.assert_allclose(host(result), r + x @ w + 1, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(host(given), r * 2)


def test_a_product_is_the_result():
    check(lambda xp, x, w, b, r: (x @ w + b, r * 2), *factors("f4"), epilogues=BIAS)
    check(lambda xp, x, w, b, r: x @ w + b, *factors("f4"), epilogues=BIAS)


def test_products_of_an_attention_that_is_none():
    """Heads of 16."""

    def attend(xp, q, k, v):
        s = q @ k.swapaxes(-1, -2) * 0.25
        e = xp.exp(s - s.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)) @ v

    q, k, v = (values((2, 24, 16), "f4", i) for i in range(3))
    check(attend, q, k, v, products=2)


def test_tf32_only_when_it_is_asked_for():
    tf32 = product_number("tf32")
    compute_type(lambda dtype: DEFAULT)
    x, w, b, _ = factors("f4", 25)
    compiled = pycompile.compile(lambda x, w, b: x @ w + b)
    given = [device(a) for a in (x, w, b)]
    wanted = x @ w + b
    for kind, rounds, error in ((DEFAULT, 0, 1e-6), (TF32, 1, 1e-2), (FLOAT32, 0, 1e-6)):
        compute_type(lambda dtype, kind=kind: kind)
        pycompile.reset()
        compiled(*given)
        before = made.value
        result = host(compiled(*given))
        assert made.value > before
        assert tf32.value == rounds
        np.testing.assert_allclose(result, wanted, rtol=error, atol=error)
        assert (abs(result - wanted).max() > 1e-5) == rounds


def test_factors_lie_along_the_inner_axis_for_tf32(caplog):
    """By copies in the plan, where the products are as large as pays; nothing is computed here."""
    shapes = (16384, 4096), (4096, 2048), (16384, 4096)
    args = [device(np.empty(shape, "f4")) for shape in shapes]
    rows = {"x": {0: "rows"}, "y": {0: "rows"}}
    for kind, dynamic, copies in (
        (DEFAULT, None, 0),
        (TF32, None, 3),  # of w, and of both factors of x.T @ y
        (TF32, rows, 1),  # of w
        (DEFAULT, rows, 0),
        (TF32, True, 0),
    ):
        compute_type(lambda dtype, kind=kind: kind)
        pycompile.reset()
        compiled = pycompile.compile(
            lambda x, w, y: ((x @ w) @ w.T + y, x.T @ y), dynamic=dynamic, fullgraph=True
        )
        caplog.clear()
        with pycompile.set_logs("schedule"), caplog.at_level("DEBUG"):
            assert compiled.precompile(*args)
        assert caplog.text.count("{turned 4,unit}") == copies
        assert caplog.text.count("by [4096,2048] turned") == (copies == 3)


def test_a_product_of_a_transposed_copy():
    """As such a plan has it, of parts of arrays, and with an epilogue."""
    compute_type(lambda dtype: TF32)
    x, w, b, _ = factors("f4", 24, 48, 80)
    given = [device(np.hstack([a, a])) for a in (x, w)]

    def function(x, w, b):
        x, w = x[:, 4:52], w[:, 8:88]
        return cp.maximum(x @ cp.ascontiguousarray(w.T).T + b, 0)

    compiled = once(function)
    wanted = np.maximum(np.hstack([x, x])[:, 4:52] @ np.hstack([w, w])[:, 8:88] + b, 0)
    for _ in range(3):
        before = made.value
        np.testing.assert_allclose(host(compiled(*given, device(b))), wanted, rtol=1e-2, atol=0.05)
    assert made.value == before + 1
    assert compiled.stats()["deopts"] == 0


def test_how_cupy_multiplies_is_asked_at_each_call():
    x, w, b, _ = factors("f4", 26)
    compiled = once(lambda x, w, b: x @ w + b)
    given = [device(a) for a in (x, w, b)]
    compiled(*given)
    compiled(*given)
    for kind in (PEDANTIC, TF32):
        compute_type(lambda dtype, kind=kind: kind)
        before = compiled.stats()["deopts"]
        CALLS.clear()
        compiled(*given)
        assert CALLS[0] == "@"
        assert compiled.stats()["deopts"] == before + 1


def test_a_library_that_refuses(library):
    library("refused")
    check(lambda xp, x, w, b, r: x @ w + b, *factors("f4", 31), products=0, calls=["@"])


def test_a_product_that_fails_is_cupys(library):
    """The call is; the next plan asks for no such product."""
    x, w, b, _ = factors("f4", 33)
    given = [device(a) for a in (x, w, b)]
    compiled = pycompile.compile(lambda x, w, b: x @ w + b)
    compiled(*given)
    library("failing")
    for _ in range(3):
        moved = [device(a.copy()) for a in (x, w, b)]
        np.testing.assert_allclose(host(compiled(*moved)), x @ w + b, rtol=1e-5, atol=1e-5)
    assert compiled.stats()["deopts"] > 0
    library("failing", 0)
    check(lambda xp, x, w, b: x @ w + b, x, w, b, epilogues=1)


def test_an_epilogue_that_answers_something_else_is_not_used(tmp_path):
    """In a process of its own, since an epilogue is tried once: relu loses NaN, gelu is not exact."""
    code = """
from products_on_executor import *
library = product_number("wrong")
product_number("refused").value = 0
library.value = 1
compute_type(lambda dtype: DEFAULT)
x, w, *_ = factors("f4")
for program in (lambda x, w: cp.maximum(x @ w, 0), lambda x, w: gelu(cp, x @ w), lambda x, w: x @ w * 2):
    compiled = once(program)
    compiled(device(x), device(w))
    compiled(device(x), device(w))
    assert epilogue.value == 1, epilogue.value
    assert made.value > 0
"""
    env = {**os.environ, "PYCOMPILE_CACHE_DIR": str(tmp_path)}  # where no choice is noted
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=FOLDER, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_capture_knows_what_products_give():
    """CuPy's own product is not tried, nor needed: that starts a library."""
    for function in (lambda xp, x, w: x @ w, lambda xp, x, w: xp.matmul(x, w)):
        for dtype in ("f4", "f2"):
            x, w = values((32, 16), dtype), values((16, 24), dtype)
            CALLS.clear()
            compiled = once(lambda *args, function=function: function(cp, *args))
            made = compiled(device(x), device(w))
            assert [] == CALLS
            assert header(made) == header(cp.ndarray((32, 24), x.dtype))
