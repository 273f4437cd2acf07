"""C that stands for loops of NumPy's ufuncs in libraries that `pycompile.export` makes."""

from __future__ import annotations

import ctypes
import ctypes.util
from fractions import Fraction
from typing import Any

import numpy as np

CTYPES = {"f64": ("double", ""), "f32": ("float", "f")}
LIBM = {
    **{
        n: n for n in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan")
    },
    **{n: n for n in ("sinh", "cosh", "tanh", "cbrt", "hypot")},
    **{f"arc{n}": f"a{n}" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "atan2",
    "power": "pow",
    "fmod": "fmod",
    "erf": "erf",
    "erfc": "erfc",
}
_BINARY = {"hypot", "arctan2", "power", "fmod"}
_EXPRESSIONS = {
    "maximum": "__builtin_isgreaterequal(a, b) || a != a ? a : b",
    "minimum": "__builtin_islessequal(a, b) || a != a ? a : b",
    "fmax": "__builtin_isgreaterequal(a, b) || b != b ? a : b",
    "fmin": "__builtin_islessequal(a, b) || b != b ? a : b",
    "add": "a + b",
    "multiply": "a * b",
}
_PI = "3.141592653589793238462643383279502884"
_OF_ONE = {  # numpy/npymath/npy_math_internal.h.src
    **dict.fromkeys(("radians", "deg2rad"), f"a * ({_PI}{{0}} / 180.0{{0}})"),
    **dict.fromkeys(("degrees", "rad2deg"), f"a * (180.0{{0}} / {_PI}{{0}})"),
}


def loop_text(loop: str, name: str, taken: str, given: str) -> str | None:
    if taken not in CTYPES or taken != given:
        return None
    c, end = CTYPES[taken]
    binary = name in _BINARY or name in _EXPRESSIONS
    if name in LIBM:
        expression = f"{LIBM[name]}{end}(a{', b' if binary else ''})"
    elif name in _EXPRESSIONS:
        expression = _EXPRESSIONS[name]
    elif name in _OF_ONE:
        expression = _OF_ONE[name].format(end)
    else:
        return None
    last = 2 if binary else 1
    second = f"        const {c} b = *(const {c} *)(data[1] + i * strides[1]);\n" if binary else ""
    declared = ""
    if name in LIBM:
        declared = f"{c} {LIBM[name]}{end}({c}{', ' + c if binary else ''});\n"
    return (
        f"{declared}static int\n{loop}(void *context, char *const *data, const int64_t *dimensions,\n"
        "    const int64_t *strides, void *auxdata)\n{\n    (void)context, (void)auxdata;\n"
        "    for (int64_t i = 0; i < dimensions[0]; i++) {\n"
        f"        const {c} a = *(const {c} *)(data[0] + i * strides[0]);\n{second}"
        f"        *({c} *)(data[{last}] + i * strides[{last}]) = {expression};\n"
        "    }\n    return 0;\n}\n"
    )


# What NumPy's loop for power does where the exponent is one number (loops_umath_fp.dispatch.c.src).
_ONE_EXPONENT = """    const {c} e = *(const {c} *)data[1];
    if (strides[1] == 0 && (e == -1 || e == 0 || e == 0.5 || e == 1 || e == 2)) {{
        for (int64_t i = 0; i < dimensions[0]; i++) {{
            const {c} a = *(const {c} *)(data[0] + i * strides[0]);
            *({c} *)(data[2] + i * strides[2]) =
                e == -1 ? 1 / a : e == 0 ? 1 : e == 0.5 ? __builtin_sqrt{end}(a) : e == 1 ? a : a * a;
        }}
        return 0;
    }}
"""


def vector_loop_text(loop: str, name: str, dtype: str, pointer: str, size: int) -> str:
    """A loop by a function of vectors; those that the last vector lacks are the last element."""
    c, end = CTYPES[dtype]
    letters = "ab" if name in _BINARY else "a"
    vectors = ", ".join(letters)
    loads = "".join(
        f"            {letter}[k] = "
        f"*(const {c} *)(data[{at}] + (i + k < n ? i + k : n - 1) * strides[{at}]);\n"
        for at, letter in enumerate(letters)
    )
    taken = ", ".join([f"vector_{loop}"] * len(letters))
    to = len(letters)
    fast = _ONE_EXPONENT.format(c=c, end=end) if name == "power" else ""
    return (
        f"typedef {c} vector_{loop} __attribute__((vector_size({size})));\n"
        f"extern vector_{loop} (*{pointer})({taken});\nstatic int\n"
        f"{loop}(void *context, char *const *data, const int64_t *dimensions,\n"
        "    const int64_t *strides, void *auxdata)\n{\n    (void)context, (void)auxdata;\n"
        f"    enum {{ LANES = {size} / sizeof({c}) }};\n"
        f"    if (dimensions[0] == 0) return 0;\n{fast}"
        "    for (int64_t i = 0, n = dimensions[0]; i < n; i += LANES) {\n"
        f"        vector_{loop} {vectors};\n"
        f"        for (int64_t k = 0; k < LANES; k++) {{\n{loads}        }}\n"
        f"        a = {pointer}({vectors});\n"
        "        for (int64_t k = 0; k < LANES && i + k < n; k++)\n"
        f"            *({c} *)(data[{to}] + (i + k) * strides[{to}]) = a[k];\n"
        "    }\n    return 0;\n}\n"
    )


def pair_has_numpys_bits(loop: Any, name: str, dtype: str) -> bool:
    """Does the loop of two operands give what NumPy's ufunc gives, odd numbers and single exponents
    among them?"""
    floats = np.float64 if dtype == "f64" else np.float32
    rng = np.random.default_rng(0)
    odd = [0.0, -0.0, 1, -1, 0.5, 2, 3, -2, 1e300, 1e-310, np.inf, -np.inf, np.nan]
    spread = rng.standard_normal(4000) * np.exp2(rng.uniform(-40, 40, 4000))
    with np.errstate(all="ignore"):
        x = np.concatenate([np.repeat(odd, len(odd)), spread, rng.random(4000) * 9]).astype(floats)
        y = np.concatenate([odd * len(odd), spread[::-1], rng.uniform(-9, 9, 4000)]).astype(floats)
        pairs = [(x, y)] + [(x, np.broadcast_to(floats(each), x.shape)) for each in odd]
        return all(
            np.array_equal(getattr(np, name)(a, b).view(np.uint8), _by(loop, a, b).view(np.uint8))
            for a, b in pairs
        )


def _by(loop: Any, a: Any, b: Any) -> Any:
    out = np.empty_like(a)
    data = (ctypes.c_void_p * 3)(a.ctypes.data, b.ctypes.data, out.ctypes.data)
    strides = (ctypes.c_int64 * 3)(a.strides[0], b.strides[0], out.strides[0])
    loop(None, data, ctypes.byref(ctypes.c_int64(len(a))), strides, None)
    return out


def complex_text(loop: str, name: str, taken: str, given: str) -> str | None:
    """A product of complex numbers, whose parts NumPy's vectors round once where they can."""
    if (name, taken, given) != ("multiply", "c128", "c128"):
        return None
    real, imaginary = (
        ("__builtin_fma(a[0], b[0], -(a[1] * b[1]))", "__builtin_fma(a[0], b[1], a[1] * b[0])")
        if _rounds_once()
        else ("a[0] * b[0] - a[1] * b[1]", "a[0] * b[1] + a[1] * b[0]")
    )
    return (
        f"static int\n{loop}(void *context, char *const *data, const int64_t *dimensions,\n"
        "    const int64_t *strides, void *auxdata)\n{\n    (void)context, (void)auxdata;\n"
        "    for (int64_t i = 0; i < dimensions[0]; i++) {\n"
        "        const double *a = (const double *)(data[0] + i * strides[0]);\n"
        "        const double *b = (const double *)(data[1] + i * strides[1]);\n"
        "        double *out = (double *)(data[2] + i * strides[2]);\n"
        f"        const double real = {real};\n"
        f"        const double imaginary = {imaginary};\n"
        "        out[0] = real;\n        out[1] = imaginary;\n    }\n    return 0;\n}\n"
    )


def _rounds_once() -> bool:
    """Does NumPy's product of complex numbers round each part once?"""
    a, b = np.random.default_rng(0).standard_normal((2, 64)).view(np.complex128)
    pairs = list(zip(a.tolist(), b.tolist()))
    once = [
        float(Fraction(x.real) * Fraction(y.real) - Fraction(x.imag * y.imag)) for x, y in pairs
    ]
    return bool(once == (a * b).real.tolist())


def has_numpys_bits(name: str, dtype: str) -> bool:
    """Does NumPy's ufunc give what the C library's function gives, on some thousand numbers?"""
    ufunc = getattr(np, name, None)
    if ufunc is None:
        return False
    floats = np.float64 if dtype == "f64" else np.float32
    kind = ctypes.c_double if dtype == "f64" else ctypes.c_float
    file = ctypes.util.find_library("m")
    if file is None:
        return False
    called = getattr(ctypes.CDLL(file), LIBM[name] + CTYPES[dtype][1])
    arity = 2 if name in _BINARY else 1
    called.restype, called.argtypes = kind, [kind] * arity
    spread = np.random.default_rng(0)
    scale = np.exp2(spread.uniform(-30, 9, 3000))
    given = [(spread.standard_normal(3000) * scale).astype(floats) for _ in range(arity)]
    with np.errstate(all="ignore"):
        wanted = ufunc(*given)
    found = np.array([called(*(x.item() for x in row)) for row in zip(*given)], floats)
    return bool(np.array_equal(wanted, found, equal_nan=True))
