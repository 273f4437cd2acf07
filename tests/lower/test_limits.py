"""Programs beyond what one kernel can hold: none is left to CPython for that."""

import math

import numpy as np
import pytest

import pycompile
from pycompile import _C
from tests.differential import check

RNG = np.random.default_rng(3)


def program(lines, arguments="x", **names):
    """`def f(arguments)` of these lines."""
    namespace = {"np": np, "math": math, **names}
    exec(f"def f({arguments}):\n    " + "\n    ".join(lines), namespace)
    return namespace["f"]


# ---- array code ----


def rows_of_exp(a, out):
    for i in range(len(a)):
        out[i] = np.exp(-(a[i] ** 2))


@pytest.mark.parametrize("shape", [(80, 5000), (70, 33), (3, 4)])
def test_a_row_at_a_time(shape):
    check(rows_of_exp, RNG.standard_normal(shape), np.zeros(shape), whole=True)


@pytest.mark.parametrize("count", [63, 64, 65, 150, 400])
def test_many_calls_with_live_results(count):
    """Each result of a call rests in scratch until the last statement reads it."""
    lines = [f"v{i} = np.exp(x * {i / count})" for i in range(count)]
    total = " + ".join(f"v{i}" for i in range(count))
    check(program([*lines, f"return {total}"]), RNG.standard_normal(100), whole=True)


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [63, 65])
def test_many_reductions_of_one_array(count, axis):
    lines = [f"v{i} = (x + {i}).max(axis={axis})" for i in range(count)]
    outputs = ", ".join(f"v{i}" for i in range(count))
    check(program([*lines, f"return {outputs}"]), RNG.standard_normal((7, 40)), whole=True)


@pytest.mark.parametrize("count", [100, 300])
def test_many_outputs(count):
    lines = [f"v{i} = x * {i} + 1" for i in range(count)]
    outputs = ", ".join(f"v{i}" for i in range(count))
    check(program([*lines, f"return {outputs}"]), RNG.standard_normal(33), whole=True)


@pytest.mark.parametrize("count", [40, 300])
def test_many_inputs(count):
    names = [f"x{i}" for i in range(count)]
    lines = [f"y = {' + '.join(names)}", f"return y, {' * '.join(names)}"]
    check(program(lines, ", ".join(names)), *RNG.standard_normal((count, 20)), whole=True)


@pytest.mark.parametrize("length", [300, 900])
def test_long_chain(length):
    step = ["y = y * 1.0001 + x", "y = np.tanh(y)", "y = np.where(y > 2, y / 2, y)"]
    lines = ["y = x", *(step * (length // 3)), "return y"]
    check(program(lines), RNG.standard_normal(50), whole=True)


def test_long_chain_of_numbers():
    """Python's arithmetic is computed where it is used, but for what is long."""
    lines = ["b = a", *("b = b * 0.5 + a" for _ in range(900)), "return x * b, b"]
    check(program(lines, "x, a"), RNG.standard_normal(50), 1.25, whole=True)


@pytest.mark.slow
def test_long_chain_of_array_scalars():
    lines = ["b = x[0]", *("b = b * 0.5 + x[1]" for _ in range(900)), "return x * b, b"]
    check(program(lines), RNG.standard_normal(50), whole=True)


@pytest.mark.parametrize("rank", range(1, 11))
def test_rank(rank):
    x = RNG.standard_normal((2,) * rank)
    function = program(["y = np.exp(x) + x.T", "return y, y.sum(axis=-1), y.max(axis=0), y.sum()"])
    check(function, x, captured=rank <= 8)


@pytest.mark.parametrize("dtype", "? i1 u8 f2 f4 f8 c8 c16".split())
def test_values_that_do_not_vary(dtype):
    """Reductions, calls and writes of what has no memory."""

    def f(x, a):
        full = np.full((3, 5), a, x.dtype)
        zeros = np.zeros_like(x)
        zeros[1:] = a
        x[:2] = full[0, 0]
        return full.max(), full.sum(axis=0), (full + x[0]).prod(axis=1), np.exp(full), zeros

    x = RNG.integers(0, 2, 5).astype(dtype)
    check(f, x, 1.5, also=((x, 2),), captured=False)


def test_writes_into_many_parts():
    """Copies that writes need are nodes that lowering adds."""
    lines = ["y = np.concatenate([x] * 70)"]
    lines += [f"v{i} = y[{i}:{i} + 9].copy(); y[{i}:{i} + 3] = x[:3] * {i}" for i in range(60)]
    outputs = ", ".join(f"v{i}" for i in range(60))
    check(program([*lines, f"return y, {outputs}"]), RNG.standard_normal(9), whole=True)


def test_a_call_of_many_results():
    def f(x):
        parts = np.split(x, 90)
        return [p * 2 for p in parts]

    check(f, RNG.standard_normal(180), captured=False)


# ---- kept loops ----

NUMBERS = """
math.sqrt(x[i]) | math.exp(x[i]) + math.sin(i) | math.log(x[i]) | math.tanh(x[i]) | math.floor(x[i])
float(x[i]) ** 2 | float(x[i]) ** 2.5 | float(x[i]) // 0.7 | float(x[i]) % 0.7 | float(x[i]) / 3
int(x[i]) ** 2 | int(x[i]) // 3 | int(x[i]) % 3 | i ** 2 | 2.0 ** i | (i - 5) // -1 | (i - 5) % -1
i < float(x[i]) | i == 3.0 | float(x[i]) * i | i / (i + 1) | abs(i - 3) | x[i] * i | -x[i] | i * 0.5
np.fmax(x[i], y[i]) | np.copysign(x[i], y[i]) | np.sqrt(x[i]) | np.exp(x[i]) | x[i] // y[i]
x[i] + 1 | x[i].item() | np.float32(x[i]) | x[i].conjugate() | z + x[i] | y[i] * a | np.isnan(x[i])
""".replace("\n", "|").split("|")


@pytest.mark.parametrize("expression", [e.strip() for e in NUMBERS if e.strip()])
def test_every_operation_in_a_loop(expression):
    """A kept loop has a form for it, or the loop is not kept."""
    lines = ["for i in range(len(x)):", f"    out[i] = {expression}"]
    function = program(lines, "x, y, z, a, out")
    for dtype, result in (("f8", "f8"), ("f4", "f4"), ("i8", "f8"), ("f2", "f8"), ("c16", "c16")):
        x, y = (RNG.random((2, 7)) * 3 + 1).astype(dtype)
        args = (x, y, np.array(2.5), 1.5, np.zeros(7, result))
        check(function, *args, captured=False)


def square_roots(x, y):
    for i in range(len(x)):
        y[i] = math.sqrt(x[i])


def test_math_in_a_loop_is_native():
    x = RNG.random(40)
    x[3] = np.inf
    y = RNG.random(90)
    check(square_roots, x, np.zeros(40), also=((y, np.zeros(90)),), whole=True)
    compiled = pycompile.compile(square_roots)
    for values in (x, y):
        compiled(values, np.zeros(len(values)))
    assert compiled.stats()["compiles"] == 1 and compiled.stats()["deopts"] == 0


@pytest.mark.parametrize("at", [0, 17, 39])
def test_math_in_a_loop_raises_where_it_would(at):
    """The elements before the one that is refused are written."""
    x, bad = RNG.random(40), RNG.random(40)
    bad[at] = -1
    check(square_roots, x, np.zeros(40), also=((bad, np.zeros(40)),))


@pytest.mark.parametrize("value", [0.0, -1.0, 1e5, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", "sqrt exp sin cos tan atan tanh log floor ceil".split())
def test_corner_cases_of_math_in_a_loop(name, value):
    lines = ["for i in range(len(x)):", f"    y[i] = math.{name}(x[i])"]
    x, odd = RNG.random(9) + 0.5, RNG.random(9) + 0.5
    odd[5] = value
    check(program(lines, "x, y"), x, np.zeros(9), also=((odd, np.zeros(9)),))


INTEGERS = [-(2**63), -(2**53) - 1, -7, -1, 0, 1, 3, 2**53 + 1, 2**62, 2**63 - 1]


@pytest.mark.parametrize("operator", "+ - * / // % ** < == !=".split())
def test_python_ints_in_a_loop(operator):
    """Overflow, division by zero and -1, ints that no double holds."""
    lines = ["for i in range(len(x)):", f"    y[i] = int(x[i]) {operator} int(z[i])"]
    lines += [f"    w[i] = int(x[i]) {operator} float(z[i])"]
    function = program(lines, "x, z, y, w")
    make = lambda a, b: (np.array(a), np.array(b), np.zeros(len(a)), np.zeros(len(a)))
    also = [make([5, a, 5], [2, b, 2]) for a in INTEGERS for b in INTEGERS[2:7]]
    check(function, *make([1, 2, 3], [3, 2, 1]), also=tuple(also))


@pytest.mark.parametrize("count", [100, 400])
def test_long_body(count):
    lines = ["for i in range(1, len(x)):", "    t = x[i]"]
    lines += ["    t = t * 0.99 + y[i - 1]"] * count
    function = program([*lines, "    y[i] = t"], "x, y")
    check(function, RNG.standard_normal(20), RNG.standard_normal(20), whole=True)


@pytest.mark.parametrize("count", [15, 17, 40])
def test_many_carried_values_and_arrays(count):
    """More locals than a kept loop carries: it is not kept."""
    arrays = [f"a{k}" for k in range(count)]
    lines = [f"s{k} = 0.0" for k in range(count)]
    lines += ["for i in range(len(x)):"]
    lines += [f"    s{k} = s{k} + x[i] * {k}" for k in range(count)]
    lines += [f"    {a}[i] = s{k}" for k, a in enumerate(arrays)]
    lines += ["return " + ", ".join(f"s{k}" for k in range(count))]
    function = program(lines, "x, " + ", ".join(arrays))
    args = (RNG.standard_normal(6), *np.zeros((count, 6)))
    check(function, *args, captured=False)


@pytest.mark.slow
def test_old_elements_wanted_after_a_loop():
    """What a loop writes over is read elsewhere, in all orders."""

    def f(x, y, n):
        before = y[0] + y[n - 1]
        old = y.copy()
        view = y[1:]
        for i in range(1, n):
            y[i] = y[i - 1] + x[i]
        for i in range(1, n):
            y[i] = y[i] * y[i - 1]
        return before, old, view, y.sum()

    def fresh(x, n):
        y = np.zeros(n)
        z = np.empty_like(x)
        for i in range(1, n):
            y[i] = y[i - 1] + x[i]
            z[i] = x[i - 1]
        z[0] = 1
        return y, z, y[n - 1]

    for function, args in (
        (f, (RNG.random(9), RNG.random(9), 9)),
        (fresh, (RNG.random(9), 9)),
    ):
        check(function, *args, captured=False)


def place(rng, length):
    """A slice of `length` elements, now and then of every second or third one, or backwards."""
    size = int(rng.integers(1, 9))
    start = int(rng.integers(0, length - 3 * size))
    step = int(rng.choice([1, 1, 1, 2, 3]))
    if rng.random() < 0.2:
        return f"{start + size * step - 1}:{start - 1 if start else ''}:{-step}", size
    return f"{start}:{start + size * step}:{step}", size


@pytest.mark.parametrize("seed", range(6))
def test_hundreds_of_writes(seed):
    """In order, at random, through views: each read has what was written to its place last."""
    rng = np.random.default_rng(seed)
    lines = ["kept = []", "y = x.copy()"]
    for k in range(150):
        array = rng.choice(["x", "y"])
        to, size = place(rng, 90)
        of = int(rng.integers(0, 90 - size))
        value = rng.choice(
            [f"{k}.5", f"{array}[{of}:{of + size}] * {k % 7}.25", f"y[{of}:{of + size}] + 1"]
        )
        if rng.random() < 0.5:
            to, value = f"{k % 80}:{k % 80 + 2}", f"{array}[{k % 80 + 2}:{k % 80 + 4}] - 0.5"
        lines.append(f"{array}[{to}] = {value}")
        if rng.random() < 0.1:
            lines.append(f"kept.append({array}[{of}:{of + size}] * 2)")
        if rng.random() < 0.1:
            lines += [f"v = {array}[{of}:{of + size}]", "v += 0.25"]
    check(program([*lines, "return y, kept, x.sum()"]), rng.random(90))


def test_hundreds_of_columns():
    """Writes that lie within one another in memory, each apart from all others."""
    lines = [f"x[:, {k * 7 % 60}] = x[:, {(k * 7 + 1) % 60}] * {k}.5" for k in range(120)]
    check(program([*lines, "return x[:, ::3].sum(axis=0)"]), RNG.random((5, 60)))


def test_more_groups_than_a_node_looks_at():
    lines = [f"a{k} = np.cumsum(x * {k}.5)" for k in range(300)]
    lines += ["b = x + 1", "c = a299 + b", "d = a0 * c"]
    check(program([*lines, "return b, c, d, a150"]), RNG.random(17))


def test_equal_outputs_are_objects_of_their_own():
    lines = ["out = [x * 2 + 1 for k in range(40)]", "return out, (x * 2 + 1).sum(), x * 2"]
    check(program(lines), RNG.random(11))


def test_concatenations_of_concatenations():
    lines = ["a = np.concatenate([x, x * 2])", "b = np.concatenate([a, a + 1, x])"]
    lines += [f"b = np.concatenate([b[{k}:], a])" for k in range(1, 30)]
    check(program([*lines, "b[3:9] = a[:6]", "return a, b"]), RNG.random(6))


def schedule_of(function, *args):
    """The text of the schedule of a function that has no plan yet."""
    _C.report_begin()
    pycompile.compile(function)(*args)
    return next(record["schedule"] for record in _C.report_end() if "schedule" in record)


def test_many_values_alive_are_one_kernel():
    """Splitting would join the parts by temporaries as large as the arrays."""
    lines = [f"a{k} = (x * {k}.5 + y) * z" for k in range(150)]
    lines.append("return 1.0 + " + " + ".join(f"a{k} * {k}.25" for k in range(150)))
    text = schedule_of(program(lines, "x, y, z"), *RNG.random((3, 40)))
    check(program(lines, "x, y, z"), *RNG.random((3, 40)))
    assert "temp" not in text
    assert text.count("kernel ") == 1, text


@pytest.mark.slow
def test_too_much_for_one_kernel_is_cut_where_little_crosses():
    lines = []
    for part in range(8):
        lines += [f"a{part}_{k} = (x * {part * 100 + k}.5 + y) * z" for k in range(60)]
        lines.append(f"b{part} = " + " + ".join(f"a{part}_{k} * {k}.25" for k in range(60)))
    lines.append("return " + " + ".join(f"b{part}" for part in range(8)))
    text = schedule_of(program(lines, "x, y, z"), *RNG.random((3, 40)))
    check(program(lines, "x, y, z"), *RNG.random((3, 40)))
    assert 2 <= text.count("kernel ") <= 6, text
    assert text.count(" temp: ") <= 12, text


def test_many_outputs_are_several_kernels():
    """Too many streams at once are slower than reading the argument again."""
    lines = ["return [" + ", ".join(f"x * {k}.5 + 1" for k in range(100)) + "]"]
    text = schedule_of(program(lines), RNG.random(40))
    check(program(lines), RNG.random(40))
    assert 6 <= text.count("kernel ") <= 7, text
    assert "temp" not in text


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
def test_many_reductions_are_several_kernels(axis):
    """A compiler takes more than twice as long for twice as many accumulators in one loop."""
    lines = [f"s{k} = (x + {k}).sum(axis={axis})" for k in range(100)]
    lines.append("return " + " + ".join(f"s{k}" for k in range(100)))
    text = schedule_of(program(lines), RNG.random((40, 50)))
    check(program(lines), RNG.random((40, 50)), whole=True)
    kernels = text.split("kernel ")[1:]
    assert max(kernel.count("= reduce") for kernel in kernels) <= 16, text
    assert len(kernels) <= 8, text


def sums_of_slices(x):
    total = 0.0
    for i in range(len(x) - 3):
        total += x[i : i + 3].sum()
    return total


def test_sums_of_slices_are_several_kernels():
    text = schedule_of(sums_of_slices, RNG.random(120))
    check(sums_of_slices, RNG.random(120), whole=True)
    assert max(kernel.count("= reduce") for kernel in text.split("kernel ")) <= 16, text
