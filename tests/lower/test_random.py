"""Kernels against NumPy: the bits of every output."""

import numpy as np
import pytest
from lower.random_graphs import random_graph, same

from pycompile import _C


@pytest.mark.parametrize("seed", range(60))
def test_random_graph(seed):
    text, inputs, expected = random_graph(seed)
    if not expected:
        return
    with np.errstate(all="ignore"):
        got = _C._run_graph(text, tuple(inputs), False)
    for made, wanted in zip(got, expected, strict=True):
        assert same(made, wanted), text


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_large_random_graph(seed):
    """More than one kernel holds: groups are cut."""
    text, inputs, expected = random_graph(1000 + seed, (150, 400))
    with np.errstate(all="ignore"):
        got = _C._run_graph(text, tuple(inputs), False)
    for made, wanted in zip(got, expected, strict=True):
        assert same(made, wanted), text


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4"])
def test_cast_of_a_cast(dtype):
    """An unsigned number that became a float is out of range, also where the C compiler knows it."""
    name = {"i": "i", "u": "u"}[dtype[0]] + str(8 * int(dtype[1]))
    x = np.array([5, 2**31 + 5, 2**32 - 2] * 7, np.uint32)  # whole vectors and a rest
    text = (
        f"%0: u32[21] = input(0)\n%1: f64[21] = cast(%0)\n%2: {name}[21] = cast(%1)\noutputs %2\n"
    )
    with np.errstate(all="ignore"):
        assert same(_C._run_graph(text, (x,), False)[0], x.astype("f8").astype(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sum_order(dtype):
    """NumPy's pairwise tree, for lengths around its block sizes."""
    rng = np.random.default_rng(3)
    name = {"f4": "f32", "f8": "f64"}[dtype]
    for n in [1, 2, 7, 8, 9, 15, 127, 128, 129, 136, 255, 256, 257, 1000, 1024, 4097, 9999]:
        x = (rng.standard_normal((3, n)) * 10.0 ** rng.integers(-5, 5, (3, n))).astype(dtype)
        text = f"%0: {name}[3,{n}] = input(0)\n%1: {name}[3] = sum(%0, axes=[1])\n"
        text += f"%2: {name} = sum(%0, axes=[0, 1])\n%3: {name}[{n}] = sum(%0, axes=[0])\noutputs %1, %2, %3\n"
        rows, total, columns = _C._run_graph(text, (x,), False)
        assert same(rows, x.sum(axis=1))
        assert same(total, x.sum())
        assert same(columns, x.sum(axis=0))


def test_zero_signs_and_nans():
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, -np.nan])
    a, b = (v.copy().ravel() for v in np.meshgrid(special, special))
    for op in ("maximum", "minimum", "add", "copysign", "less", "less_equal", "equal", "not_equal"):
        kind = "bool" if op in ("less", "less_equal", "equal", "not_equal") else "f64"
        text = f"%0: f64[64] = input(0)\n%1: f64[64] = input(1)\n%2: {kind}[64] = {op}(%0, %1)\noutputs %2\n"
        with np.errstate(all="ignore"):
            assert same(_C._run_graph(text, (a, b), False)[0], getattr(np, op)(a, b)), op


def test_comparisons_of_nan_raise_nothing():
    """A quiet NaN under errstate(all='raise') is no event: a deopt here would be an error."""
    x = np.full(37, np.nan)
    text = "%0: f64[37] = input(0)\n%1: bool[37] = less(%0, %0)\n%2: f64[37] = maximum(%0, %0)\noutputs %1, %2\n"
    with np.errstate(all="raise"):
        less, maximum = _C._run_graph(text, (x,), False)
    assert not less.any() and np.isnan(maximum).all()


def test_flags_are_a_deopt():
    x = np.zeros(5)
    text = "%0: f64[5] = input(0)\n%1: f64[5] = divide(%0, %0)\noutputs %1\n"
    with np.errstate(all="raise"), pytest.raises(RuntimeError, match="deopt"):
        _C._run_graph(text, (x,), False)


def test_casts():
    names = {
        "f4": "f32",
        "f8": "f64",
        "i1": "i8",
        "i2": "i16",
        "i4": "i32",
        "i8": "i64",
        "u1": "u8",
        "u4": "u32",
    }
    values = [
        0.0,
        -0.0,
        1.5,
        -1.5,
        127.9,
        255.5,
        -129.0,
        300.0,
        70000.0,
        2147483520.0,
        3e9,
        -3e9,
        np.inf,
        np.nan,
    ]
    for source in ("f4", "f8", "i8"):
        with np.errstate(all="ignore"):
            x = np.resize(np.array(values).astype(source), 77)
            casts = [to for to in names if to != source]
            lines = [f"%{i}: {names[to]}[77] = cast(%0)" for i, to in enumerate(casts, 1)]
            text = f"%0: {names[source]}[77] = input(0)\n" + "\n".join(lines)
            text += "\noutputs " + ", ".join(f"%{i}" for i in range(1, len(casts) + 1)) + "\n"
            got = _C._run_graph(text, (x,), False)
            for to, made in zip(casts, got, strict=True):
                assert same(made, x.astype(to)), (source, to)


@pytest.mark.parametrize(
    ("op", "a", "b"),
    [
        ("py_add", 3, 4),
        ("py_floordiv", -7, 2),
        ("py_mod", -7, 3),
        ("py_mod", -7.5, 2.0),
        ("py_floordiv", 7.5, -2.0),
        ("py_pow", 3, 20),
        ("py_pow", 2.0, -0.5),
        ("py_div", 7, 2),
        ("py_lt", 2, 2.5),
        ("py_eq", 2.0, 2.0),
    ],
)
def test_python_scalars(op, a, b):
    import operator as o

    plain = {
        "add": o.add,
        "floordiv": o.floordiv,
        "mod": o.mod,
        "pow": o.pow,
        "div": o.truediv,
        "lt": o.lt,
        "eq": o.eq,
    }
    wanted = plain[op[3:]](a, b)
    kinds = [type(v).__name__ for v in (a, b, wanted)]
    text = f"%0: {kinds[0]} = input(0)\n%1: {kinds[1]} = input(1)\n%2: {kinds[2]} = {op}(%0, %1)\noutputs %2\n"
    (got,) = _C._run_graph(text, (a, b), False)
    assert got == wanted and type(got) is type(wanted)


@pytest.mark.parametrize(
    ("op", "a", "b"),
    [
        ("py_add", 2**63 - 1, 1),
        ("py_floordiv", 1, 0),
        ("py_mod", 1.0, 0.0),
        ("py_pow", 10, 30),
        ("py_div", 1.0, 0.0),
    ],
)
def test_python_errors_are_a_deopt(op, a, b):
    kind = type(a).__name__
    text = f"%0: {kind} = input(0)\n%1: {kind} = input(1)\n%2: {kind} = {op}(%0, %1)\noutputs %2\n"
    with pytest.raises(RuntimeError, match="deopt"):
        _C._run_graph(text, (a, b), False)


def test_a_view_of_what_was_joined_shares_its_memory():
    """Both outputs lie in one storage, also when the concatenate has become writes into another."""
    text = """%0: f64[3] = input(0)
%1: f64[6] = concatenate(%0, %0)
%2: f64[2,6]{0,8} = broadcast(%1)
outputs %1, %2
"""
    whole, view = _C._run_graph(text, (np.arange(3.0),), False)
    assert np.shares_memory(whole, view) and view.strides == (0, 8)
