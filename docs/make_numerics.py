"""Writes the table of docs/numerics.md: the largest error of each elementary function, in units in
the last place, as NumPy computes it and under `numerics="fast"`.  `python docs/make_numerics.py`."""

import pathlib

import numpy as np

import pycompile

PAGE = pathlib.Path(__file__).with_name("numerics.md")
BEGIN, END = "<!-- table -->\n", "<!-- end of the table -->\n"
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
    """The function of two or more operations, so that it becomes a kernel of its own."""
    function = getattr(np, name)
    return pycompile.compile(
        lambda *args: function(*args) * 1.0,
        numerics="fast",
        fullgraph=True,
        options={"plan_always": True, "recompile_limit": 64},
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


def main():
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
