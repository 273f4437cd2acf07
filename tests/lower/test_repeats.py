"""What an unrolled loop repeats: kernels with one text, and chains of scalars that many readers share."""

import numpy as np
import pytest
from differential import check

from pycompile import _C

X = np.linspace(0.25, 1.75, 37)


def squares(x):
    s = x.sum() / 40
    for _ in range(40):
        s = s * s - s
    return x * s, s


def python_squares(x):
    s = float(x.sum()) / 40
    for _ in range(40):
        s = s * s - s
    return x * s, s


def integers(x):
    s = (x * 4).astype(np.int64).max()
    for k in range(30):
        s = s * s + s - k
    return x + s, s


def intercept(x):
    b = 0.0
    for _ in range(30):
        b -= 0.1 * (x + b).mean()
    return x + b, b


def two_chains(x):
    a, b = x.min(), x.max()
    for _ in range(25):
        a, b = a * b - a, np.sqrt(np.abs(a + b)) + b
    return x[:5] * a + b


def branches(x):
    s = x.mean()
    for _ in range(12):
        s = s * s - 0.5 if s > 0 else s + 0.75
        x = x + s
    return x, s


def half(x):
    s = x.astype(np.float32).sum()
    for k in range(20):
        s = s / np.float32(3) + x[k]
    return s


def half_weak(x):
    s, y = 3, x.astype(np.float32)
    for k in range(20):
        s = s * y[k] + x[k]
    return s


@pytest.mark.parametrize(
    "function",
    [half_weak, squares, python_squares, integers, intercept, two_chains, branches, half],
)
@pytest.mark.filterwarnings("ignore:.*encountered")
def test_chains_of_scalars(function):
    for x in (X, X * 1e200, X - 1, X[::-1]):
        check(function, x, captured=False)


def overflows(x):
    s = x.sum()
    for _ in range(12):
        s = s * s
    return x - s


def test_chains_that_are_reported():
    assert check(overflows, X, captured=False).warned


SUMS = """\
%0: f64[64,8] = input(0)
%1: f64[64,8] = input(1)
%2: f64[64] = sum(%0, axes=[1])
%3: f64[64] = sum(%1, axes=[1])
outputs %2, %3
"""


def test_kernels_with_one_text_are_compiled_once():
    for comments in (True, False):
        schedule, source = _C.lower_graph(SUMS, [], comments)
        kernels = schedule.count("kernel k")
        assert source.count("\nk") + source.count("alias(") == kernels


def test_an_unrolled_loop_has_few_texts():
    lines = [f"%{k}: f64[{64 + k},8] = input({k})" for k in range(20)]
    lines += [f"%{20 + k}: f64[{64 + k}] = sum(%{k}, axes=[1])" for k in range(20)]
    lines.append("outputs " + ", ".join(f"%{20 + k}" for k in range(20)))
    schedule, source = _C.lower_graph("\n".join(lines) + "\n")
    assert schedule.count("kernel k") == 20
    assert source.count("\nk") <= 3 and source.count("\nk") + source.count("alias(") == 20


NUMBERS = {
    "d": [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, 5e-324, 1e300, 3.0, -7.5],
    "f": [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, 1e-45, 1e37, 3.0, -7.5],
    "l": [0, 1, -1, 2, 7, 2**62, -(2**62), 100, 3, -5, 11, 12],
    "H": [0, 1, 255, 2, 7, 65535, 256, 100, 3, 5, 11, 12],
    "b": [0, 1, -1, 2, 7, 127, -128, 100, 3, -5, 11, 12],
    "?": [True, False] * 6,
}


def turns(x, numbers):
    return [np.maximum(np.arange(x.size, dtype=x.dtype) * x, k).sum() for k in numbers]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_turns_that_differ_in_a_number_are_one_kernel(dtype):
    numbers = [np.dtype(dtype).type(k) for k in NUMBERS[dtype]]
    x = np.array([1, 0, 2, 1, 1, 0, 3, 1, 9], "?" if dtype == "?" else dtype)

    def function(x):
        return turns(x, numbers) if dtype != "?" else [(x ^ k).sum() for k in numbers]

    check(function, x)


def test_a_number_is_an_argument_in_long_programs_only():
    texts = {}
    for count in (3, 20):
        lines = [f"%{k}: f64[{64 + k}] = input({k})" for k in range(count)]
        for k in range(count):
            lines.append(f"%{count + 3 * k}: f64 = const({k}.5)")
            lines.append(f"%{count + 3 * k + 1}: f64[{64 + k}] = multiply(%{k}, %{count + 3 * k})")
            lines.append(f"%{count + 3 * k + 2}: f64 = sum(%{count + 3 * k + 1}, axes=[0])")
        lines.append("outputs " + ", ".join(f"%{count + 3 * k + 2}" for k in range(count)))
        texts[count] = _C.lower_graph("\n".join(lines) + "\n")
    assert texts[3][1].count("\nk") == 3 and "an argument" not in texts[3][0]
    assert texts[20][1].count("\nk") <= 3 and texts[20][0].count("an argument") == 20


def descent(steps):
    """A scalar less the sum of x beside it, `steps` times: each kernel reads all sums before it."""
    lines = ["%0: f64[64] = input(0)", "%1: f64 = sum(%0, axes=[0])"]
    scalar, at = 1, 2
    for _ in range(steps):
        lines.append(f"%{at}: f64[64] = add(%0, %{scalar})")
        lines.append(f"%{at + 1}: f64 = sum(%{at}, axes=[0])")
        lines.append(f"%{at + 2}: f64 = subtract(%{scalar}, %{at + 1})")
        scalar, at = at + 2, at + 3
    return "\n".join([*lines, f"outputs %{scalar}\n"])


def test_a_scalar_that_kernels_share_is_not_made_by_each():
    short, long = (len(_C.lower_graph(descent(steps))[1]) for steps in (40, 80))
    assert long < 2.3 * short  # in proportion, not as the square


def test_a_chain_with_one_reader_is_one_kernel():
    links = "\n".join(f"%{k + 2}: f64 = multiply(%{k + 1}, %1)" for k in range(40))
    graph = f"%0: f64[64] = input(0)\n%1: f64 = sum(%0, axes=[0])\n{links}\noutputs %41\n"
    assert _C.lower_graph(graph)[0].count("kernel k") == 2
