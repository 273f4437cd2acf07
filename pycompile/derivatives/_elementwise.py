"""The derivatives of elementwise operations and of reductions: one row each.

A row gives, for each argument, the text of what a cotangent of the result adds to that argument's: {g}
the cotangent, {x} {y} {z} the arguments, {o} the result.  ZERO: by definition, or since the argument is
a condition.  Conventions at ties and kinks are JAX's: docs/derivatives.md.
"""

from __future__ import annotations

import math
from typing import Any

ZERO = None
DIVISOR = "-({g} * {x} / ({y} * {y}))"
DIVISOR_IN_TURNS = "-({g} * ({x} / {y} / {y}))"  # {g}, for which a turn waits, is not divided

_TIE = "np.where({0} {1} {2}, {{g}}, np.where({0} == {2}, 0.5 * {{g}}, 0.0))"


def _larger(one: str, other: str) -> str:
    return _TIE.format(one, ">", other)


def _smaller(one: str, other: str) -> str:
    return _TIE.format(one, "<", other)


_SIGNS = "np.where(np.signbit({x}) == np.signbit({y}), {g}, -{g})"
_CLAMP = (
    "clamp_x({g}, {x}, {y}, {z})",
    "clamp_low({g}, {x}, {y}, {z})",
    "clamp_high({g}, {x}, {y}, {z})",
)
_POWER = (
    "{g} * ({y} * {x} ** np.where({y} == 0.0, 1.0, {y} - 1.0))",
    "{g} * (np.log(np.where({x} == 0.0, 1.0, {x})) * {o})",
)

# By the name of the operation or of the ufunc.
ROWS: dict[str, tuple[str | None, ...]] = {
    "add": ("{g}", "{g}"),
    "subtract": ("{g}", "-{g}"),
    "multiply": ("{g} * {y}", "{g} * {x}"),
    "divide": ("{g} / {y}", DIVISOR),
    "true_divide": ("{g} / {y}", DIVISOR),
    "floor_divide": (ZERO, ZERO),
    "remainder": ("{g}", "-({g} * np.floor({x} / {y}))"),
    "mod": ("{g}", "-({g} * np.floor({x} / {y}))"),
    "fmod": ("{g}", "-({g} * np.trunc({x} / {y}))"),
    "negative": ("-{g}",),
    "positive": ("{g}",),
    "absolute": ("{g} * np.sign({x})",),
    "fabs": ("{g} * np.sign({x})",),
    "sign": (ZERO,),
    "square": ("{g} * (2.0 * {x})",),
    "reciprocal": ("-({g} * {o} * {o})",),
    "sqrt": ("{g} * 0.5 / {o}",),
    "cbrt": ("{g} / (3.0 * {o} * {o})",),
    "floor": (ZERO,),
    "ceil": (ZERO,),
    "trunc": (ZERO,),
    "rint": (ZERO,),
    "copysign": (_SIGNS, ZERO),
    "maximum": (_larger("{x}", "{y}"), _larger("{y}", "{x}")),
    "minimum": (_smaller("{x}", "{y}"), _smaller("{y}", "{x}")),
    "fmax": (
        "np.where(({x} > {y}) | np.isnan({y}), {g}, 0.0)",
        "np.where(({x} > {y}) | np.isnan({y}), 0.0, {g})",
    ),
    "fmin": (
        "np.where(({x} < {y}) | np.isnan({y}), {g}, 0.0)",
        "np.where(({x} < {y}) | np.isnan({y}), 0.0, {g})",
    ),
    "clip": _CLAMP,
    "clamp": _CLAMP,
    "degrees": (f"{{g}} * {180 / math.pi!r}",),
    "rad2deg": (f"{{g}} * {180 / math.pi!r}",),
    "radians": (f"{{g}} * {math.pi / 180!r}",),
    "deg2rad": (f"{{g}} * {math.pi / 180!r}",),
    "heaviside": (ZERO, "np.where({x} == 0.0, {g}, 0.0)"),
    "conjugate": ("np.conjugate({g})",),
    "sin": ("{g} * np.cos({x})",),
    "cos": ("-({g} * np.sin({x}))",),
    "tan": ("{g} * (1.0 + {o} * {o})",),
    "arcsin": ("{g} / np.sqrt(1.0 - {x} * {x})",),
    "arccos": ("-({g} / np.sqrt(1.0 - {x} * {x}))",),
    "arctan": ("{g} / (1.0 + {x} * {x})",),
    "arctan2": (
        "{g} * ({y} / ({x} * {x} + {y} * {y}))",
        "-({g} * ({x} / ({x} * {x} + {y} * {y})))",
    ),
    "sinh": ("{g} * np.cosh({x})",),
    "cosh": ("{g} * np.sinh({x})",),
    "tanh": ("{g} * (1.0 - {o} * {o})",),
    "arcsinh": ("{g} / np.sqrt({x} * {x} + 1.0)",),
    "arccosh": ("{g} / (np.sqrt({x} - 1.0) * np.sqrt({x} + 1.0))",),
    "arctanh": ("{g} / (1.0 - {x} * {x})",),
    "exp": ("{g} * {o}",),
    "exp2": (f"{{g}} * ({{o}} * {math.log(2)!r})",),
    "expm1": ("{g} * ({o} + 1.0)",),
    "log": ("{g} / {x}",),
    "log2": (f"{{g}} / ({{x}} * {math.log(2)!r})",),
    "log10": (f"{{g}} / ({{x}} * {math.log(10)!r})",),
    "log1p": ("{g} / (1.0 + {x})",),
    "power": _POWER,
    "float_power": _POWER,
    "hypot": ("{g} * ({x} / {o})", "{g} * ({y} / {o})"),
    "logaddexp": ("{g} * np.exp({x} - {o})", "{g} * np.exp({y} - {o})"),
    "logaddexp2": ("{g} * np.exp2({x} - {o})", "{g} * np.exp2({y} - {o})"),
    "where": (ZERO, "np.where({x}, {g}, 0.0)", "np.where({x}, 0.0, {g})"),
    "nextafter": ("{g}", ZERO),
    "ldexp": ("np.ldexp({g}, {y})", ZERO),
    # Python's operations on numbers.  A cotangent is NumPy's number, which may be divided by zero; by
    # another result of Python's, np.divide does.
    "py_add": ("{g}", "{g}"),
    "py_sub": ("{g}", "-{g}"),
    "py_mul": ("{g} * {y}", "{g} * {x}"),
    "py_div": ("{g} / {y}", DIVISOR),
    "py_floordiv": (ZERO, ZERO),
    "py_mod": ("{g}", "-({g} * np.floor({x} / {y}))"),
    "py_pow": (
        "{g} * power_base({x}, {y})",
        "{g} * power_exponent({x}, {y}, {o})",
    ),
    "py_neg": ("-{g}",),
    "py_abs": ("{g} * np.sign({x})",),
    "py_float": ("{g}",),
    "py_item": ("{g}",),
    "py_int": (ZERO,),
    "py_floor": (ZERO,),
    "py_ceil": (ZERO,),
    "py_sqrt": ("{g} * 0.5 / {o}",),
    "py_cbrt": ("{g} / (3.0 * {o} * {o})",),
    "py_exp": ("{g} * {o}",),
    "py_expm1": ("{g} * ({o} + 1.0)",),
    "py_log": ("{g} / {x}",),
    "py_log2": (f"{{g}} / ({{x}} * {math.log(2)!r})",),
    "py_log10": (f"{{g}} / ({{x}} * {math.log(10)!r})",),
    "py_log1p": ("{g} / (1.0 + {x})",),
    "py_sin": ("{g} * np.cos({x})",),
    "py_cos": ("-({g} * np.sin({x}))",),
    "py_tan": ("{g} * (1.0 + {o} * {o})",),
    "py_asin": ("{g} / np.sqrt(1.0 - {x} * {x})",),
    "py_acos": ("-({g} / np.sqrt(1.0 - {x} * {x}))",),
    "py_atan": ("{g} / (1.0 + {x} * {x})",),
    "py_atan2": (
        "{g} * np.divide({y}, {x} * {x} + {y} * {y})",
        "-({g} * np.divide({x}, {x} * {x} + {y} * {y}))",
    ),
    "py_sinh": ("{g} * np.cosh({x})",),
    "py_cosh": ("{g} * np.sinh({x})",),
    "py_tanh": ("{g} * (1.0 - {o} * {o})",),
    "py_asinh": ("{g} / np.sqrt({x} * {x} + 1.0)",),
    "py_acosh": ("{g} / np.sqrt(({x} - 1.0) * ({x} + 1.0))",),
    "py_atanh": ("{g} / (1.0 - {x} * {x})",),
    "py_fmod": ("{g}", "-({g} * np.trunc({x} / {y}))"),
    "py_copysign": (_SIGNS, ZERO),
}

# Of the functions of `math`, by how many arguments they are given.
MATH: dict[tuple[Any, int], tuple[str | None, ...]] = {
    (getattr(math, name[3:]), len(row)): row
    for name, row in ROWS.items()
    if name.startswith("py_") and hasattr(math, name[3:])
}
MATH |= {
    (getattr(math, name), len(row)): row
    for name, row in {
        "fabs": ROWS["absolute"],
        "degrees": ROWS["degrees"],
        "radians": ROWS["radians"],
        "exp2": ROWS["exp2"],
        "trunc": (ZERO,),
        "ulp": (ZERO,),
        "nextafter": ROWS["nextafter"],
        "ldexp": ROWS["ldexp"],
        "remainder": ("{g}", "-({g} * np.rint({x} / {y}))"),
        "erf": (f"{{g}} * ({2 / math.sqrt(math.pi)!r} * np.exp(-{{x}} * {{x}}))",),
        "erfc": (f"-({{g}} * ({2 / math.sqrt(math.pi)!r} * np.exp(-{{x}} * {{x}})))",),
    }.items()
}
MATH[math.log, 2] = (
    "{g} / ({x} * np.log({y}))",
    "-({g} * {o} / ({y} * np.log({y})))",
)
MATH |= {
    (math.hypot, n): tuple(f"{{g}} * np.divide({{{x}}}, {{o}})" for x in "xyz"[:n])
    for n in (1, 2, 3)
}

# Of complex numbers and those of which the kind is not known, where it is another expression.  A cotangent of a complex number is such that
# the derivative of a real function is JAX's: the conjugate of the direction of steepest ascent.
COMPLEX_ROWS: dict[str, tuple[str | None, ...]] = {
    "sign": ("({g} - np.real({g} * {o}) * np.conjugate({o})) / np.absolute({x})",),
    "absolute": ("{g} * np.conjugate({x}) / np.where({o} == 0.0, 1.0, {o})",),
}

# What has no derivative but zero because its result is no real number.
DISCRETE = frozenset(
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "logical_not isnan isinf isfinite signbit bitwise_and bitwise_or bitwise_xor invert left_shift "
    "right_shift all any argmax argmin py_eq py_ne py_lt py_le py_bool py_assert".split()
)
