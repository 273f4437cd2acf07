"""Writes the tables of docs/numerics.md: the largest error of each elementary function, in units in
the last place, and of sums, as NumPy computes them and under `numerics="fast"`.
`python docs/make_numerics.py`."""

import pathlib

import numpy as np

import pycompile

PAGE = pathlib.Path(__file__).with_name("numerics.md")
BEGIN, END = "<!-- table -->\n", "<!-- end of the table -->\n"
SUMS_BEGIN, SUMS_END = "<!-- sums -->\n", "<!-- end of sums -->\n"
SAMPLES = 200_000

# The arguments: uniform, or with uniform logarithms where the lower bound is positive.
EVERYWHERE, POSITIVE = (-50.0, 50.0), (1e-30, 1e30)
FUNCTIONS = {
    "sin": [EVERYWHERE],
    "cos": [EVERYWHERE],
    "tan": [EVERYWHERE],
    "arcsin": [(-1.0, 1.0)],
    "arccos": [(-1.0, 1.0)],
    "arctan": [EVERYWHERE],
    "sinh": [EVERYWHERE],
    "cosh": [EVERYWHERE],
    "tanh": [(-20.0, 20.0)],
    "arcsinh": [EVERYWHERE],
    "arccosh": [(1.0, 1e6)],
    "arctanh": [(-1.0, 1.0)],
    "exp": [(-80.0, 80.0)],
    "exp2": [(-100.0, 100.0)],
    "expm1": [(-20.0, 80.0)],
    "log": [POSITIVE],
    "log2": [POSITIVE],
    "log10": [POSITIVE],
    "log1p": [(1e-20, 1e20)],
    "cbrt": [EVERYWHERE],
    "power": [(1e-3, 1e3), (-10.0, 10.0)],
    "arctan2": [EVERYWHERE, EVERYWHERE],
    "hypot": [EVERYWHERE, EVERYWHERE],
}


def arguments(name, dtype, samples=SAMPLES):
    """Arrays of the function's arguments, rounded to the dtype."""
    rng = np.random.default_rng(1)

    def draw(low, high):
        if low > 0:
            return np.exp(rng.uniform(np.log(low), np.log(high), samples))
        return rng.uniform(low, high, samples)

    return [draw(*bounds).astype(dtype) for bounds in FUNCTIONS[name]]


def error(name, made, args):
    """The largest error of `made` in units in the last place of its dtype."""
    wide = np.float64 if made.dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(*(arg.astype(wide) for arg in args))
        unit = np.spacing(np.abs(exact).astype(made.dtype)).astype(wide)
        return float(np.nanmax(np.abs(made.astype(wide) - exact) / unit))


def fast(name):
    """The function, by the vector math library, among other operations: it becomes a kernel."""
    function = getattr(np, name)
    return pycompile.compile(
        lambda *args: function(*args) * 1.0,
        numerics="fast",
        fullgraph=True,
        options={"plan_always": True, "recompile_limit": 64, "inline_functions": False},
    )


def table():
    """The rows, as Markdown."""
    rows = ["| function | NumPy float32 | fast float32 | NumPy float64 | fast float64 |"]
    rows.append("|---|---|---|---|---|")
    for name in FUNCTIONS:
        cells = [name]
        for dtype in (np.float32, np.float64):
            args = arguments(name, dtype)
            cells.append(f"{error(name, getattr(np, name)(*args), args):.2f}")
            cells.append(f"{error(name, fast(name)(*args), args):.2f}")
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


SHAPES = [(100_000, 10), (10_000, 100), (1_000, 1_000), (100, 10_000), (1, 1_000_000)]
REDUCTIONS = {
    "sum": lambda x: (x * 1.0).sum(axis=-1),
    "mean": lambda x: (x * 1.0).mean(axis=-1),
    "var": lambda x: (x * 1.0).var(axis=-1),
}


def rows_of(shape, dtype):
    """Rows of numbers of both signs, which nearly cancel."""
    return np.random.default_rng(2).standard_normal(shape).astype(dtype)


def error_of_rows(name, made, x):
    """The largest error in units of the dtype's spacing at 1, relative to the sum of magnitudes: of
    a mean to their mean, of a variance to itself."""
    wide = x.astype(np.longdouble)
    exact = getattr(wide, name)(axis=-1)
    scale = exact if name == "var" else getattr(np.abs(wide), name)(axis=-1)
    return float(np.max(np.abs(made.astype(np.longdouble) - exact) / scale) / np.finfo(x.dtype).eps)


def fast_reduction(name):
    return pycompile.compile(
        REDUCTIONS[name],
        numerics="fast",
        fullgraph=True,
        options={"plan_always": True, "recompile_limit": 64},
    )


def sums_table():
    rows = ["| rows of | NumPy float32 | fast float32 | NumPy float64 | fast float64 |"]
    rows.append("|---|---|---|---|---|")
    for name in REDUCTIONS:
        for shape in SHAPES:
            cells = [f"{name}, {shape[1]:,}"]
            for dtype in (np.float32, np.float64):
                x = rows_of(shape, dtype)
                cells.append(f"{error_of_rows(name, REDUCTIONS[name](x), x):.2f}")
                cells.append(f"{error_of_rows(name, fast_reduction(name)(x), x):.2f}")
            rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def replaced(text, begin, end, table):
    before, rest = text.split(begin)
    return before + begin + table + end + rest.split(end)[1]


def main():
    text = replaced(PAGE.read_text(), BEGIN, END, table())
    PAGE.write_text(replaced(text, SUMS_BEGIN, SUMS_END, sums_table()))


if __name__ == "__main__":
    main()
