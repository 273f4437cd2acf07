"""Python's scalar arithmetic in generated code: CPython's result to the bit, or a deopt.

A deopt is right wherever CPython raises or leaves int64; on ordinary operands it is a defect.
"""

import itertools
import random
import struct

import pytest

from pycompile import _C, _eager

INTS = [0, 1, -1, 2, -3, 7, 10, 63, -64, 2**31, -(2**53), 2**53 + 1, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, -1.5, 2.5, -7.0, 1e-300, 5e-324, 1e308, -1e308]
FLOATS += [float("inf"), -float("inf"), float("nan")]
ORDINARY = {0, 1, -1, 2, -3, 7, 10, 63, -64, -1.5, 2.5, -7.0}
BINARY = ["py_add", "py_sub", "py_mul", "py_div", "py_floordiv", "py_mod", "py_pow"]
BINARY += ["py_eq", "py_ne", "py_lt", "py_le"]
SHIFTS = ["py_lshift", "py_rshift"]  # of ints
UNARY = ["py_neg", "py_abs", "py_bool", "py_int", "py_float"]
ROUNDING = ["py_floor", "py_ceil", "py_round"]  # of floats: an int is its own
MATH = ["py_sqrt", "py_exp", "py_log", "py_sin", "py_cos", "py_tan", "py_atan", "py_tanh"]
MATH += ["py_asin", "py_acos", "py_sinh", "py_cosh", "py_asinh", "py_acosh", "py_atanh"]
MATH += ["py_log2", "py_log10", "py_log1p", "py_expm1", "py_cbrt"]
MATH_OF_TWO = ["py_atan2", "py_fmod", "py_copysign", "py_hypot"]
OF_INTS = ["py_gcd", "py_isqrt"]
CONVERTED = {"py_bool": bool, "py_int": int, "py_float": float, "py_floor": int, "py_ceil": int}
CONVERTED |= {"py_round": int, "py_gcd": int, "py_isqrt": int}


def result_type(op, operands):
    if op in CONVERTED:
        return CONVERTED[op]
    if op in ("py_eq", "py_ne", "py_lt", "py_le"):
        return bool
    return (
        float if op in MATH + MATH_OF_TWO or op == "py_div" or float in map(type, operands) else int
    )


def compiled(op, operands):
    """What the kernel gives; None: a deopt."""
    kinds = [type(value).__name__ for value in operands]
    lines = [f"%{i}: {kind} = input({i})" for i, kind in enumerate(kinds)]
    names = ", ".join(f"%{i}" for i in range(len(operands)))
    last = f"%{len(operands)}"
    lines.append(f"{last}: {result_type(op, operands).__name__} = {op}({names})")
    try:
        (result,) = _C._run_graph("\n".join([*lines, f"outputs {last}"]) + "\n", operands, False)
    except RuntimeError as error:
        assert "deopt" in str(error)
        return None
    return result


def plain(op, operands):
    """CPython's result; None: it raises, or leaves what a kernel can hold."""
    if (
        op == "py_pow"
        and type(operands[1]) is int
        and operands[1] > 63
        and type(operands[0]) is int
        and abs(operands[0]) > 1
    ):
        return None  # a number that takes minutes to compute
    if op == "py_lshift" and operands[0] != 0 and operands[1] > 63:
        return None  # a number that takes all memory
    try:
        result = _eager.PYTHON[op](*operands)
    except (ArithmeticError, ValueError):
        return None
    if type(result) is not result_type(op, operands):  # 2 ** -1, (-1.5) ** 0.5
        return None
    return None if type(result) is int and not -(2**63) <= result < 2**63 else result


def bits(value):
    return (float, struct.pack("d", value)) if type(value) is float else (type(value), value)


def compare(op, operands):
    got, wanted = compiled(op, operands), plain(op, operands)
    if got is None:
        assert wanted is None or not set(operands) <= ORDINARY, f"{op}{operands}: a needless deopt"
    elif wanted != wanted:
        assert got != got, f"{op}{operands}"
    else:
        assert bits(got) == bits(wanted), f"{op}{operands}"


@pytest.mark.parametrize("op", BINARY)
def test_two_operands(op):
    for operands in itertools.chain(
        itertools.product(INTS, INTS), itertools.product(FLOATS, FLOATS)
    ):
        compare(op, operands)


@pytest.mark.parametrize("op", SHIFTS)
def test_shifts(op):
    for operands in itertools.product(INTS, INTS):
        compare(op, operands)


@pytest.mark.parametrize("op", ["py_add", "py_div", "py_pow", "py_lt", "py_eq"])
def test_an_int_and_a_float(op):
    for a, b in itertools.product([0, 1, -3, 7, 2**31], FLOATS):
        compare(op, (a, b))
        compare(op, (b, a))


@pytest.mark.parametrize("op", UNARY)
def test_one_operand(op):
    for operand in INTS + FLOATS:
        compare(op, (operand,))


@pytest.mark.parametrize("op", MATH + ROUNDING)
def test_functions_of_math(op):
    for operand in FLOATS:
        compare(op, (operand,))


def test_a_double_s_decimals():
    rng = random.Random(3)
    numbers = [
        *FLOATS,
        *ORDINARY,
        2.675,
        0.5,
        1.5,
        0.05,
        0.15,
        1e15 + 0.3,
        2**52 + 1.0,
        4503599627370497.5,
    ]
    numbers += [rng.uniform(-100, 100) for _ in range(300)]
    numbers += [rng.randrange(-(10**6), 10**6) / 1000 + 0.0005 for _ in range(300)]
    numbers += [rng.randrange(-999, 999) / 2 ** rng.randrange(1, 12) for _ in range(300)]
    for number in map(float, numbers):
        compare("py_round", (number,))
        for digits in (0, 1, 2, 3, 7, 22, 23, -1, -400, 2**40):
            if number in ORDINARY and not 0 <= digits <= 22:
                continue
            compare("py_round_to", (number, digits))
    kept = sum(compiled("py_round_to", (n, 2)) is not None for n in map(float, numbers))
    assert kept > 0.99 * len(numbers)


def test_hypot():
    rng = random.Random(4)
    for _ in range(3000):
        a, b = (rng.gauss(0, 1) * 2.0 ** rng.randrange(-30, 30) for _ in range(2))
        compare("py_hypot", (a, b))
        compare("py_hypot", (float(rng.randrange(500)), float(rng.randrange(500))))


def test_functions_of_ints():
    for operands in itertools.product(INTS, INTS):
        compare("py_gcd", operands)
    roots = [n * n + d for n in (1, 2, 94906265, 94906267, 3037000499) for d in (-1, 0, 1)]
    for operand in (*INTS, *roots):
        compare("py_isqrt", (operand,))


PARTS = [0.0, -0.0, 1.0, -1.5, 3e-200, 1e200, float("inf"), -float("inf"), float("nan")]
COMPLEX = [complex(a, b) for a in PARTS for b in PARTS]
OF_COMPLEX = {"py_abs": float, "py_real": float, "py_imag": float, "py_eq": bool, "py_ne": bool}


def of_complex(op, operands):
    """The kernel's result and CPython's; None: a deopt, an exception."""
    result = OF_COMPLEX.get(op, complex)
    lines = [f"%{i}: {type(v).__name__} = input({i})" for i, v in enumerate(operands)]
    names = ", ".join(f"%{i}" for i in range(len(operands)))
    lines += [f"%9: {result.__name__} = {op}({names})", "outputs %9"]
    try:
        (ours,) = _C._run_graph("\n".join(lines) + "\n", operands, False)
    except RuntimeError as error:
        assert "deopt" in str(error)
        ours = None
    try:
        expected = _eager.PYTHON[op](*operands)
    except (ZeroDivisionError, OverflowError):
        expected = None
    return ours, expected


def parts(value):
    """Bits, with one NaN: which of two a sum keeps is the C compiler's choice."""
    numbers = (value.real, value.imag) if isinstance(value, complex) else (float(value),)
    return [b"nan" if number != number else struct.pack("d", number) for number in numbers]


@pytest.mark.parametrize("op", ["py_add", "py_sub", "py_mul", "py_div", "py_eq", "py_ne"])
def test_operations_on_two_complex_numbers(op):
    for operands in itertools.product(COMPLEX[::2], COMPLEX[::5]):
        ours, expected = of_complex(op, operands)
        of_nan = any(operand != operand for operand in operands)
        assert (ours is None) == (expected is None) or (ours is None and of_nan), (op, operands)
        assert ours is None or parts(ours) == parts(expected), (op, operands, ours, expected)


@pytest.mark.parametrize("op", ["py_neg", "py_abs", "py_real", "py_imag"])
def test_operations_on_a_complex_number(op):
    for operand in COMPLEX:
        ours, expected = of_complex(op, (operand,))
        assert (ours is None) == (expected is None), (op, operand, ours, expected)
        assert ours is None or parts(ours) == parts(expected), (op, operand, ours, expected)


def test_powers_of_complex_numbers():
    for operand in COMPLEX:
        for exponent in (1, 2, 3, 7, 20):
            ours, expected = of_complex("py_pow", (operand, complex(exponent)))
            assert ours is None or parts(ours) == parts(expected), (operand, exponent, ours)
            assert ours is not None or expected is None or operand - operand != 0, operand


def test_complex_numbers_of_their_parts():
    for operands in itertools.product(PARTS, PARTS):
        ours, expected = of_complex("py_complex", operands)
        assert parts(ours) == parts(expected)


@pytest.mark.parametrize("op", MATH_OF_TWO)
def test_functions_of_math_of_two(op):
    for operands in itertools.product(FLOATS, FLOATS):
        compare(op, operands)


def test_every_operation_of_python_is_here():
    there = {row["name"] for row in _C.op_table() if row["name"].startswith("py_")}
    assert there - {*BINARY, *SHIFTS, *UNARY, *ROUNDING, *MATH, *MATH_OF_TWO, *OF_INTS} == {
        "py_round_to",
        "py_assert",
        "py_item",
        "py_complex",
        "py_real",
        "py_imag",
    }
