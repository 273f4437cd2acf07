"""Each rule that test_rule_table.py does not list has a case: elementwise rows, Python's operations on
numbers, what moves elements, and what fills arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from differences import check

from pycompile import _calls, _steps, grad
from pycompile.derivatives._elementwise import COMPLEX_ROWS, MATH, ROWS
from pycompile.derivatives.rules import _table as rules
from tests.derivatives import test_rules
from tests.derivatives.test_rule_table import DTYPES, LAYOUTS, variant

# Of two numbers a, b of Python's.
NUMBERS = {
    "py_add": "a + b",
    "py_sub": "a - b",
    "py_mul": "a * b",
    "py_div": "a / b",
    "py_floordiv": "a + b // a",
    "py_mod": "b % a",
    "py_pow": "a ** b",
    "py_neg": "-a",
    "py_abs": "abs(a - b)",
    "py_float": "float(a)",
    "py_item": "np.float64(a).item() * b",
    "py_int": "a + int(b)",
}
FUNCTIONS = {
    math.acosh: "math.acosh(1 + a)",
    math.log: "math.log(a) + math.log(a, b) + math.log(b, 10) + math.log(2, b)",
    math.pow: "math.pow(a, b) + math.pow(a, 2) + math.pow(2, a)",
    math.atan2: "math.atan2(a, b) + math.atan2(a, 1)",
    math.hypot: "math.hypot(a) * math.hypot(a, b) + math.hypot(a, 2.0, b)",
    math.ldexp: "math.ldexp(a, 3)",
    math.floor: "a + math.floor(b)",
    math.ceil: "a + math.ceil(b)",
    math.trunc: "a + math.trunc(b)",
    math.copysign: "math.copysign(a, -b)",
    math.fmod: "math.fmod(b, a)",
    math.remainder: "math.remainder(b, a)",
}
# Of a vector v, a matrix x, a square one s, a number f, as in test_rule_table.py.
MOVES = {
    "stack": "np.stack([x, x * 2], axis={axis})",
    "vstack": "np.vstack([x, x])",
    "hstack": "np.hstack([x, x * 2])",
    "dstack": "np.dstack([x, x])",
    "column_stack": "np.column_stack([v, v * 2])",
    "concatenate": "np.concatenate([x, x * 2], axis={axis})",
    "append": "np.append(x, f)",
    "block": "np.block([[x, x * 2]])",
    "insert": "np.insert(v, 0, f)",
    "delete": "np.delete(v, 0) * 2",
    "compress": "np.compress(v.real > 0.4, v)",
    "extract": "np.extract(x.real > 0.4, x)",
    "resize": "np.resize(x, (5, 3))",
    "choose": "np.choose([0, 1], [v[:1], f])",
    "flip": "np.flip(x, {axis})",
    "fliplr": "np.fliplr(x)",
    "flipud": "np.flipud(x)",
    "ravel": "np.ravel(x)",
    "reshape": "np.reshape(x, -1)",
    "transpose": "np.transpose(x)",
    "swapaxes": "np.swapaxes(x, 0, 1)",
    "moveaxis": "np.moveaxis(x, 0, 1)",
    "rollaxis": "np.rollaxis(x, 1)",
    "squeeze": "np.squeeze(x[None])",
    "expand_dims": "np.expand_dims(x, {axis})",
    "atleast_1d": "np.atleast_1d(f)",
    "atleast_2d": "np.atleast_2d(v)",
    "atleast_3d": "np.atleast_3d(x)",
    "diagonal": "np.diagonal(s, 1)",
    "copy": "np.copy(x)",
    "asarray": "np.asarray(x)",
    "array": "np.array([f, f * 2, 1.0])",
    "ascontiguousarray": "np.ascontiguousarray(x)",
    "asfortranarray": "np.asfortranarray(x)",
    "join_rows": "np.r_[v, f, v]",
    "join_columns": "np.c_[x, x]",
}
FILLS = {
    "copyto": "filled(lambda y: np.copyto(y, v[-1]), x)",
    "put": "filled(lambda y: np.put(y, [0], v[:1]), x)",
    "putmask": "filled(lambda y: np.putmask(y, x.real > 0.4, v), x)",
    "place": "filled(lambda y: np.place(y, x.real > 0.4, v), x)",
    "put_along_axis": "filled(lambda y: np.put_along_axis(y, np.array([[0]]), v[:1], 0), x)",
    "fill_diagonal": "filled(lambda y: np.fill_diagonal(y, f), s)",
    "fill": "filled(lambda y: y[:1].fill(f), x)",
    "flat_set": "filled(lambda y: set_flat(y, f), x)",
}


def names(functions: Any) -> set[str]:
    return {function.__name__ for function in functions}


def test_each_rule_has_a_case():
    tested = {*test_rules.UNARY, *test_rules.BINARY, *EXTRA, "where", "clip"}
    assert {ROWS[name] for name in tested & {*ROWS}} == {
        row for name, row in ROWS.items() if not name.startswith("py_")
    }
    assert tested >= {*COMPLEX_ROWS}
    assert {*NUMBERS} == {
        name
        for name in ROWS
        if name.startswith("py_") and name[3:] not in names(f for f, _ in MATH)
    } | {"py_pow"}
    assert {*MOVES} == names(rules.MOVES)
    assert {*FILLS} == names(rules.FILLS)
    assert rules.MOVES >= {_steps.concatenate, _calls.join_rows}


def test_numbers():
    for expression in NUMBERS.values():
        check(test_rules.function_of(expression, "a, b"), 0.7, 1.9)


@pytest.mark.parametrize("of", ("numbers", "an array's elements"))
def test_functions_of_math(of):
    calls = [FUNCTIONS.get(f, f"math.{f.__name__}({'a, b'[: 3 * n - 2]})") for f, n in MATH]
    f = test_rules.function_of(f"[{', '.join(dict.fromkeys(calls))}]", "a, b")
    if of == "numbers":
        check(f, 0.7, 1.9, h=0.01)
    else:
        check(lambda x: f(x[0], x[1]), np.array([0.7, 1.9]), h=0.01)


ENDS = {
    "math.hypot(x, 0.0)": "np.hypot(x, 0.0)",
    "math.hypot(x, 0.0, x)": "np.hypot(x, x)",
    "math.atan2(x, 0.0)": "np.arctan2(x, 0.0)",
    "math.atan2(0.0, x)": "np.arctan2(0.0, x)",
    "math.pow(x, 0.5)": "np.power(x, 0.5)",
    "x ** 0.25": "np.power(x, 0.25)",
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_without_a_derivative_have_that_of_arrays():
    for of_number, of_array in ENDS.items():
        made = grad(test_rules.function_of(of_number, "x"))(0.0)
        wanted = grad(test_rules.function_of(f"({of_array})[0]", "x"))(np.zeros(1))
        np.testing.assert_array_equal(made, wanted[0], of_number)


def filled(fill, x):
    y = x * 2
    fill(y)
    return y


def set_flat(y, f):
    y.flat[0] = f


SCOPE = {"np": np, "filled": filled, "set_flat": set_flat}


@pytest.mark.parametrize("name", [*MOVES, *FILLS])
def test_what_moves(name):
    tested = 0
    for axis in ("0", "1") if "{axis}" in (MOVES | FILLS)[name] else ("",):
        f = eval(f"lambda x, v, s, f: {(MOVES | FILLS)[name].format(axis=axis)}", SCOPE)
        tested += sum(variant(f, dtype, layout) for dtype in DTYPES for layout in LAYOUTS)
    assert tested


# Of x in (0, 1), and y.
EXTRA = {
    "arccosh": "np.arccosh(1 + x)",
    "heaviside": "np.heaviside(np.floor(x), y)",
    "nextafter": "np.nextafter(x, y)",
    "ldexp": "np.ldexp(x, 3)",
    "mod": "np.mod(x, y)",
    "true_divide": "np.true_divide(x, y)",
}


@pytest.mark.parametrize("name", EXTRA)
def test_row(name):
    f = test_rules.function_of(EXTRA[name], "x, y")
    for layout in LAYOUTS.values():
        x = layout(0.15 + 0.1 * np.arange(6.0).reshape(2, 3))
        check(f, x, 0.43, h=0.02)
