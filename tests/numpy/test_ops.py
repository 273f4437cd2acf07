"""Every operation of csrc/graph/ops.def that is no ufunc, over every dtype and layout, with values at the edges.

test_ufuncs.py has the ufuncs, their methods and the reductions; here is what else makes a node: choice,
casts, views, copies, writes, fills, products, Python's own numbers, elements in loops, branches.  A test
says that no operation of the table is left out of both.
"""

import re
import textwrap
import warnings
from pathlib import Path

import numpy as np
import op_cases
import pytest
from differential import check

import pycompile
from pycompile import _C

TABLE = Path(__file__).resolve().parents[2] / "csrc" / "graph" / "ops.def"
CASTS = "? b H i l L e f d F D".split()

# What each makes: statements over x and y; expressions are results.
CASES = {
    "where": ["np.where(x == y, x, y)", "np.where(x, x, 1)", "np.where(y != y, 0, x)", "np.where(x == x, x, y)[::-1]"],
    "cast": [f"x.astype('{d}')" for d in CASTS] + ["x.astype('d', order='F')", "np.asarray(x, 'D')"],
    "clip": ["np.clip(x, y, y)", "x.clip(0, 5)", "np.clip(x, None, 3)", "np.clip(x, 1, None)"],
    "parts": ["x.real", "x.imag + 0", "x.conj()", "np.real(x) + np.imag(y)", "x.real[::-1]"],
    "views": [
        "x[1:]", "x[::-1]", "x[..., None]", "x[None]", "x[-1:0:-2]", "x.T", "x.reshape(-1)", "x.ravel()", "x.squeeze()",
        "np.broadcast_to(x, (2, *x.shape))", "np.expand_dims(x, -1)", "np.flip(x)", "np.moveaxis(x, 0, -1)", "x[...]",
        "x.diagonal()", "np.swapaxes(x, 0, -1)", "x.T[1:].T[::2]", "x[1:][:-1].reshape(-1)", "x[()]", "x[:0]", "x[0]", "x[:1].squeeze() + 1", "np.flip(x) + 1",
        "np.broadcast_to(x, (2, *x.shape)) + 1",
    ],
    "copies": [
        "x.copy()", "x.copy('F')", "x.copy('K')", "x.copy('A')", "x.flatten()", "np.concatenate([x, y[:1], x])",
        "np.concatenate([x, x], -1)", "np.stack([x, x], 1)", "np.hstack([x, x])", "np.vstack([x, x])",
        "np.concatenate([x, y], axis=None)", "np.concatenate([x.T, x.T])", "np.ascontiguousarray(x.T)",
        "np.array(x)", "np.asarray(x) is x", "np.asfortranarray(x)", "np.array([x, x])", "np.tile(x, 2)", "np.repeat(x, 2)",
    ],
    "writes": [
        "z = x.copy()", "z[1:] = y[:1]", "z", "z = x.copy()", "z[::-1] = z", "z", "z = x.copy()", "z[1:] = z[:-1]", "z",
        "z = x.copy()", "z[...] = 1", "z", "z = x.copy()", "z[z == z] = y.flat[0]", "z", "z = x.T.copy()", "z.T[0] = y[0]", "z",
        "z = x.copy()", "z[[0, -1]] = 3", "z", "z = x + x", "z[:1] *= 2", "z", "z = x.copy('F')", "z += y", "z",
    ],
    "arguments written": ["x[1:] = x[:-1]", "x", "x[::-1] += x", "x", "y[...] = x", "y", "x.fill(3)", "x", "x[0] = y[-1]", "x, y"],
    "fills": [
        "np.zeros_like(x)", "np.ones_like(x, order='F')", "np.full_like(x, 7)", "np.full(x.shape, y.flat[0])",
        "np.zeros(x.shape, x.dtype, 'F')", "np.ones(3, x.dtype)", "np.empty_like(x).shape", "np.empty((0, 3), x.dtype)",
        "np.arange(5, dtype=x.dtype)", "np.arange(3) + x.flat[0]", "np.full((2, 2), x.dtype.type(3))", "np.full(4, 2, x.dtype)",
    ],
    "products": [
        "x.ravel()[:4] @ y.ravel()[:4]", "x.reshape(-1)[:6].reshape(2, 3) @ y.reshape(-1)[:6].reshape(3, 2)",
        "x.ravel()[:4].reshape(2, 2).T @ x.ravel()[:4].reshape(2, 2)", "np.dot(x.ravel()[:3], 2)", "x[:0] @ x[:0].T",
        "np.matmul(x.ravel()[:4].reshape(2, 2)[::-1], y.ravel()[:2])", "np.dot(x, x.T)",
    ],
    "orders": ["x.argmax()", "x.argmin(0)", "np.sort(x)", "np.argsort(x, kind='stable')", "x.cumsum(-1)", "x.cumprod()"],
}  # fmt: skip
NUMBERS = [
    "a = {0}(x.flat[1])", "b = {0}(x.flat[0])", "a + b", "a - b", "a * b", "a / (b or 1)", "a // (b or 1)",
    "a % (b or 1)", "-a", "abs(a)", "a == b", "a != b", "a < b", "a <= b", "bool(a)", "int(a)", "float(b)",
    "x.flat[0].item()", "a ** 2", "a if a > b else b", "min(a, b), max(a, b)", "round(a, 1)",
]  # fmt: skip
PROGRAMS = [
    """
    p = x.argmax()
    if x.sum() > 2:
        x[1] = x[2] * y[0]
        x[[0, p]] = x[[p, 0]]
    return x * 2
    """,
    """
    n = len(x)
    for i in range(n):
        if x[i] > 2:
            n += i << 2
        else:
            n -= (i + 8) >> 1
        y[i] = n
    return y
    """,
    """
    z = np.zeros(len(x), x.dtype)
    for i in range(1, len(x)):
        z[i] = x[i] + z[i - 1] * y[0]
    return z
    """,
    """
    found = []
    for i in range(len(x)):
        if x[i] > y[0]:
            found.append(x[i] * 2)
    return found
    """,
    """
    left = [1, 2]
    for i in range(1000 * len(x)):
        left[i & 1] += left[-1] & 3
        left.append(len(left))
        if i > 5:
            left.pop()
            left.insert(0, left.pop(0))
    return left
    """,
    """
    counts = {}
    for i in range(len(x)):
        counts[i & 1] = counts.get(i & 1, 0) + 1
    return counts
    """,
    """
    rng = np.random.default_rng(5)
    for i in range(len(x)):
        x[i] = rng.integers(9)
    return x
    """,
    """
    n = 0
    for i in range(len(x)):
        if x[i] > y[i]:
            n += 1
    return n, x * 2
    """,
    """
    for i in range(len(x) - 1, 0, -1):
        x[i] = x[i - 1]
    return x
    """,
    """
    for i in range(1, len(x)):
        y[i] = x[:i].sum() + x[:i] @ y[:i]
    return y
    """,
    """
    z, w = np.zeros(20, int), np.arange(20)
    for i in range(1, 20):
        z[:i] = w[:i] * 3 + z[:i] - -w[:i]
    return z
    """,
    """
    while 2 < x.max() < 1000:
        x = x / 2
    return x
    """,
    """
    if x.sum() > y.sum():
        z = x - y
    else:
        z = x + y
    return z * 2
    """,
    """
    if x.sum() > y.sum():
        x = x * (y.sum() / x.sum())
    return x, x + y
    """,
    """
    total = 0.0
    for i in range(3):
        total = total + x[i] * i
    return total, math.sqrt(abs(float(x[0].real))), math.floor(float(y[1].real) % 7)
    """,
    """
    return np.sort(x[x == y]), x[x == x] + y[0]
    """,
    """
    if x[0] == 3:
        raise ValueError("three")
    return x * 2
    """,
    """
    a = float(x[0].real)
    return [f(a % 3) for f in (math.exp, math.sin, math.cos, math.tan, math.atan, math.tanh, math.ceil)], math.log(a * a + 1)
    """,
]  # fmt: skip


def program(text):
    names = {"np": np, "math": __import__("math")}
    body = textwrap.indent(textwrap.dedent(text), "    ")
    exec(compile(f"def case(x, y):{body}", "<case>", "exec"), names)
    return names["case"]


def is_statement(line):
    return bool(re.match(r"[a-z]\w*(\[.*\])? [-+*/]?= ", line)) or ".fill(" in line


def statements(lines):
    body, results = [], []
    for line in lines:
        if is_statement(line):
            body.append(line)
        else:
            results.append(f"r{len(results)}")
            body.append(f"{results[-1]} = {line}")
    return program("\n" + "\n".join([*body, f"return {', '.join(results)},"]))


def _layouts(some):
    names = list(op_cases.LAYOUTS)
    return [
        (dtype, name)
        for i, dtype in enumerate(op_cases.DTYPES)
        for k, name in enumerate(names)
        if (k + 3 * i) % len(names) < some
    ]


def fitting(lines, x, y):
    """The lines that NumPy does not refuse in this order."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", op_cases.ComplexWarning)
        warnings.simplefilter("error", RuntimeWarning)
        writeable = x.flags.writeable, y.flags.writeable
        names = {"np": np, "x": x.copy(), "y": y.copy()}
        names["x"].flags.writeable, names["y"].flags.writeable = writeable
        found = []
        for line in lines:
            try:
                exec(line, names)
            except (
                TypeError,
                ValueError,
                IndexError,
                OverflowError,
                RuntimeWarning,
                NameError,
                ZeroDivisionError,
            ):
                continue
            found.append(line)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "layout"), _layouts(2))
def test_operations(dtype, layout):
    for name, lines in CASES.items():
        x, y = op_cases.operands(dtype, layout)
        lines = fitting(lines, x, y)
        if not lines:
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", op_cases.ComplexWarning)
            sure = layout not in ("unaligned", "zero-dimensional") and name in ("where", "clip")
            check(statements(lines), x, y, calls=2, captured=sure)


@pytest.mark.parametrize("dtype", op_cases.DTYPES)
def test_numbers(dtype):
    x = np.array([3, 2, 1], dtype)
    for kind in ("int", "float", "complex"):
        lines = fitting([line.format(kind) for line in NUMBERS], x, x)
        check(statements(lines), x, x, captured=False)


@pytest.mark.parametrize("dtype", op_cases.DTYPES)
@pytest.mark.parametrize("text", PROGRAMS)
def test_loops_and_branches(text, dtype):
    names = [
        "contiguous",
        "strided",
        "reversed",
        "read-only",
        "one array twice",
        "overlapping",
        "unaligned",
    ]
    # Each program and each dtype meets each layout.
    layout = names[(2 * op_cases.DTYPES.index(dtype) + PROGRAMS.index(text)) % len(names)]
    x, y = (
        array[:9] if layout != "read-only" else array for array in op_cases.operands(dtype, layout)
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # what is left of the two NaNs that a complex product may add: docs/limits.md
        check(program(text), x, y, calls=2, captured=False, one_nan=dtype in "FD")


def _operations(function, *args):
    pycompile.reset()
    _C.report_begin()
    try:
        pycompile.compile(function)(*args)
    except Exception:
        pass
    finally:
        records = _C.report_end()
    return {
        op for record in records for op in re.findall(r"= (\w+)[\[({]", record.get("graph") or "")
    }


#: Made by a graph that is parsed, or by the passes that prepare lowering; not by capture.
# `attention` is of devices alone; `erf`, `erfc` and `ndtr` are captured as ufuncs of SciPy's; complex numbers are computed with in kept loops alone; `measure` and `take` are of loops, `pick` of branches
NOT_CAPTURED = {
    "py_complex", "py_real", "py_imag", "py_asin", "py_acos", "py_sinh", "py_cosh", "py_asinh", "py_acosh", "py_atanh",
    "py_log2", "py_log10", "py_log1p", "py_expm1", "py_cbrt", "py_atan2", "py_fmod", "py_copysign",
    "py_hypot", "py_round", "py_round_to", "py_gcd", "py_isqrt",
    "real", "imag", "diagonal", "branch", "otherwise", "join", "enter", "stay", "again", "measure", "take", "pick", "attention", "attention_sums", "gather", "product",
    "attention_back", "collective", "arrive",
    "erf", "erfc", "ndtr",
}  # fmt: skip


@pytest.mark.slow
def test_no_operation_is_left_out():
    rows = set(re.findall(r"^OP\((\w+),", TABLE.read_text(), re.M)) - {"OP_COUNT"}
    made = set(op_cases.UFUNCS) | NOT_CAPTURED
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in "dD":
            x, y = np.arange(1, 13).reshape(3, 4).astype(dtype), np.ones((3, 4), dtype)
            for lines in (
                *CASES.values(),
                ["x.sum()", "x.prod(0)", "x.max()", "x.min()", "x.any()", "x.all()"],
            ):
                for line in fitting([line for line in lines if not is_statement(line)], x, y):
                    made |= _operations(statements([line]), x, y)
            for kind in ("int", "float"):
                lines = fitting([line.format(kind) for line in NUMBERS], x, y)
                made |= _operations(statements(lines), x, y)
            for text in PROGRAMS:
                made |= _operations(program(text), x[0], y[0])
    assert rows - made == set()


def test_half_floats_read_across():
    """Where a kernel's rows lie across an array, NumPy's loop for half floats would see a stride."""

    def both(x, y):
        return (x.T * y.T) + 1.0, np.cos(x), np.sin(x)

    rng = np.random.default_rng(173)
    x = rng.standard_normal((182, 182)).astype("f2")
    check(both, x, rng.standard_normal((182, 182)))
    check(both, x, np.asfortranarray(rng.standard_normal((182, 182))))


@pytest.mark.parametrize("name", ["expm1", "exp", "log1p", "sinh", "arcsin", "cbrt"])
def test_one_element_with_a_negative_stride(name):
    ufunc = getattr(np, name)
    for start in (1.0, 0.3, 0.7):
        check(lambda x: ufunc(np.cumsum(x[::-1])[::-1]), np.array([start]))
        check(lambda x: ufunc(x[::-1]), np.array([start]))
