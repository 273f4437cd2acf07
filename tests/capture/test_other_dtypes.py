"""Memory seen as another dtype: views that are written through, parts of complex numbers, alignment."""

import numpy as np
import pytest
from differential import check
from numpy_cases import function

import pycompile

WRITES = [
    "{v}[...] = 3",
    "{v}[1:3] = {v}[2:4].copy()",
    "{v}[::-2] = 7",
    "{v}[{v} > 2] = 1",
    "{v}[[0, 2]] = 5",
    "{v}[1] += 1",
    "w = {v}\n    w += 1",
    "w = {v}\n    w[:2] = 4\n    w[1:] = w[:-1]",
    "np.add({v}, 1, out={v})",
    "np.copyto({v}[2:], 1)",
    "{v}.fill(2)",
    "{v}.sort()",
    "np.put({v}, [0, 1], 9)",
    "{v}[:] = x.shape[0]",
]
VIEWS = {
    "u1": "x.view('u1')",
    "i4": "x[1:].view('i4')",
    "f4": "x.view('f4')[2:]",
    "u8": "x.view('u8')",
    "f8": "x.view('f8')[::-1]",
    "i2": "y.view('i2')[1:9]",
    "c8": "(x[:2]).view('F')",
}


def program(*lines):
    namespace = {"np": np}
    body = "\n    ".join(lines)
    exec(compile(f"def case(x, y):\n    {body}\n", "<case>", "exec"), namespace)
    return namespace["case"]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f8", "D"])
@pytest.mark.parametrize("view", VIEWS)
def test_writes_through_a_view(view, dtype):
    x, y = np.arange(1, 7).astype(dtype), np.linspace(0.5, 3, 6).astype(dtype)
    for write in WRITES:
        line = write.format(v=VIEWS[view])
        case = program("z = x + 1", line, "return x * 2, y, z, x.view('u1').sum()")
        check(case, x, y, captured=False)
        case = program("x, y = x + y, y * 2", line, "return x * 2, y, x[1:]")
        check(case, x, y, captured=False)


PARTS = [
    "x.real[1:3] = 5",
    "x.imag[::2] *= 2",
    "x.real = y.imag",
    "x.real[x.imag > 1] = 0",
    "x.imag[:] = x.real[::-1]",
    "x[1:].T.imag[0] = -0.0",
    "w = x.imag\n    w -= w.mean()",
    "np.sqrt(abs(x.imag), out=x.real)",
]


@pytest.mark.parametrize("dtype", ["D", "F"])
@pytest.mark.parametrize("line", PARTS)
def test_writes_to_a_part_of_complex_numbers(line, dtype):
    x, y = np.linspace(-1 + 2j, 3 - 1j, 6).astype(dtype), np.linspace(2, 3j, 6).astype(dtype)
    for before in (
        "pass",
        "x = x + y",
        "x = x[::-1]",
        "x = x.copy()[::2]",
        "x = np.array([x, x]).T[:, 0]",
    ):
        check(program(before, line, "return x, x.real, x * 2"), x[: len(y)], y, captured=False)


@pytest.mark.parametrize(
    "lines",
    [
        ("z = x + 1", "z.view('u8')[1:] = 5", "return z, x"),
        ("x.view('i4')[::2] = 7", "return x + 1"),
        ("x.view('u1')[3] += 1", "x[0] = 2", "x.view('u1')[9] = 3", "return x"),
        ("z = x * 1j", "z.real[1:] = y[1:]", "z.imag[0] = 2", "return z"),
    ],
)
def test_they_are_captured(lines):
    x, y = np.linspace(1, 2, 5), np.linspace(2, 3, 5)
    check(program(*lines), x, y, whole=True)


def test_a_value_that_does_not_fit_raises_as_it_does():
    x = np.linspace(1, 2, 5)
    for line in ("x.view('u1')[1] = 300", "x.view('u1')[1] = 'a'", "x.view('u1')[:3] = [1, 2]"):
        check(program("z = x + 1", line, "return z"), x, x, captured=False)


def test_memory_that_is_written_both_ways():
    def case(x, bits):
        bits[1] ^= np.uint64(1) << np.uint64(63)
        return x + 1

    x = np.linspace(1, 2, 5)
    check(case, x, x.view("u8"), captured=False)
    check(case, x, x.view("u8").copy(), captured=False)


# ---- alignment: NumPy computes on elements that are not aligned in pieces ----

UNALIGNED = [
    "x[1:-7].view('f4')",
    "x[2:-6].view('f4')",
    "x[4:-4].view('f4')",
    "x[:-8].view('f8')",
    "x[4:-4].view('f8')",
    "x[3:-5].view('F')[::2]",
    "np.frombuffer(x, 'f4', 10000, 1)",
]


@pytest.mark.parametrize("view", UNALIGNED)
def test_views_that_are_not_aligned(view):
    numbers = (
        np.random.default_rng(0)
        .normal(size=12000)
        .astype("f4" if "F" in view or "f4" in view else "f8")
    )
    memory = np.zeros(40008, np.uint8)
    start = eval(view, {"np": np, "x": memory}).__array_interface__["data"][0]
    start -= memory.__array_interface__["data"][0]
    memory[start : start + 39992] = numbers.view(np.uint8)[:39992]
    x = memory if "frombuffer" not in view else memory
    lines = [
        f"z = {view}",
        "z.sum()",
        "z.mean()",
        "z + 1",
        "z.var()",
        "np.cumsum(z)",
        "np.exp(z)",
        "z.max()",
        "z[:4] @ z[:4]",
    ]
    for shift in (0, 1, 4):
        given = np.zeros(len(x) + 8, np.uint8)[shift : shift + len(x)]
        given[...] = x
        check(function(*lines), given, given, captured=False)


def test_a_view_that_is_aligned_in_one_call_only():
    def case(x):
        return x.view("f8").sum() + 1, x + 1

    numbers = np.random.default_rng(0).normal(size=10000)
    memory = np.zeros(80008, np.uint8)
    compiled = pycompile.compile(case)
    for shift in (0, 1, 0, 4, 3):
        x = memory[shift : shift + 80000]
        x[...] = numbers.view(np.uint8)
        got, wanted = compiled(x), case(x)
        assert got[0] == wanted[0] and (got[1] == wanted[1]).all()
