"""Operators, ufuncs and reductions over dtypes: bits, dtypes and layouts are NumPy's."""

import warnings

import numpy as np
import pytest
from differential import check
from numpy_cases import array, function

DTYPES = ["?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "F", "D"]


# expressions -> the dtypes that NumPy takes them for
CASES = {
    ("x + y", "x * y", "x * 2", "2.5 - x if x.dtype.kind != 'b' else x"): DTYPES,
    ("x - 1 if x.dtype.kind != 'b' else x + 1", "x / y if x.dtype.kind != 'b' else x"): DTYPES,
    ("x ** 2", "x ** 2.0", "x ** 3", "np.square(x) if x.dtype != bool else x"): DTYPES,
    ("x // y", "x % y", "-x", "abs(x)"): ["i1", "i4", "i8", "f2", "f4", "f8"],
    ("~x", "x & y", "x | y", "x ^ y"): ["?", "i1", "i4", "i8", "u1", "u8"],
    ("x << 1", "x >> 1"): ["i1", "i4", "i8", "u1"],
    ("x == y", "x != 2", "np.logical_not(x)", "np.logical_and(x, y)"): DTYPES,
    ("x > y", "x <= 2", "np.maximum(x, y)", "np.minimum(x, 1)"): [
        t for t in DTYPES if t not in "FD"
    ],
    ("np.sqrt(x)", "np.exp(x)", "np.sin(x)"): ["i4", "f2", "f4", "f8", "F", "D"],
    ("np.floor(x)", "np.rint(x)", "np.sign(x)", "np.arctan2(x, y)"): ["i4", "f2", "f4", "f8"],
    ("np.where(x > y, x, y)", "np.where(x > y, x, 0)", "np.where(x == y, 1.5, x)"): DTYPES,
    ("np.clip(x, 1, 3)", "x.clip(2)", "np.round(x, 1)"): ["i4", "i8", "f4", "f8"],
    ("x.sum()", "x.sum(axis=0)", "x.sum(axis=1, keepdims=True)", "x.prod(axis=1)"): DTYPES,
    ("x.mean(axis=0)", "x.mean(axis=1, keepdims=True)"): DTYPES,
    ("x.var(axis=1)", "x.std(axis=0, ddof=1)"): DTYPES,
    ("x.max()", "x.min(axis=0)", "x.any()", "x.all(axis=1)"): DTYPES,
    ("x.argmax(axis=0)", "x.argmin()", "x.cumsum(axis=0)", "np.cumsum(x)"): DTYPES,
    ("x.astype(np.float64)", "x.astype('i2')", "x.astype(bool)", "x.astype('F')"): DTYPES[:9],
    ("x @ y.T", "np.dot(x, y.T)", "np.conjugate(x)"): ["i4", "f4", "f8", "D"],
    ("np.add(x, y, dtype=np.float64)", "np.ptp(x, axis=1)"): ["i4", "f4", "f8"],
    ("x += y", "x", "x.sum()"): DTYPES[1:],
    ("x *= 2", "y -= x", "x", "y"): DTYPES[1:],
    ("x[1] = y[0]", "x[:, 0] = 3", "x"): DTYPES,
    ("x[x == y] = 1", "x"): DTYPES,
    ("z = np.zeros_like(x)", "z[0] = x[1]", "z", "np.ones((2, 2), x.dtype)"): DTYPES,
}


@pytest.mark.slow
@pytest.mark.parametrize("expressions", CASES, ids=lambda e: e[0])
def test_expressions_over_dtypes(expressions):
    for dtype in CASES[expressions]:
        x, y = array(dtype), array(dtype, seed=1)
        check(function(*expressions), x, y, whole=True)


PAIRS = [
    ("f4", "f8"),
    ("i4", "f4"),
    ("u1", "i1"),
    ("i8", "u4"),
    ("?", "i4"),
    ("f4", "D"),
    ("f2", "f4"),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_mixed_dtypes(first, second):
    case = function("x + y", "x * y", "x == y", "np.where(x == y, x, y)")
    check(case, array(first), array(second), whole=True)


@pytest.mark.parametrize(
    "statement",
    [
        "x + 300",  # out of int8: OverflowError
        "x ** -1",  # integers to negative powers
        "x + np.zeros(5)",  # shapes that do not broadcast
        "x.sum(axis=7)",
        "x[9]",
        "x.reshape(5, 5)",
        "x.astype(complex).astype(float)",  # ComplexWarning
        "x // 0",
        "x[0, 0] + x[0, 0] * 100",  # scalar overflow warns
    ],
)
def test_what_numpy_refuses_or_warns_about_is_left_to_it(statement):
    x = array("i1")
    check(function("x * 2", statement), x, x, captured=False)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_items_of_scalars(dtype):
    check(function("x.item()", "y * 2"), array(dtype)[1, 2], array("f8"), captured=False)


def test_signs_and_nans_of_powers():
    x = np.array([-0.0, 0.0, 2.0, 0.25, 9.0])
    check(function("x ** 0.5", "x ** 2", "x ** 1", "x ** 0", "np.power(x, 0.5)"), x, x, whole=True)


def test_symbolic_python_scalars_stay_weak():
    case = function("x + y", "x * y", "np.maximum(x, y)")
    x = array("f4")
    check(case, x, 1.5, also=((x, -2.25), (x, 7.0)), whole=True)
    x = array("u1")
    check(case, x, 3, also=((x, 4), (x, 200)), whole=True)


CLIPS = [
    "{0}, 5",
    "{0}, None",
    "None, {0}",
    "-1, {0}",
    "y, 5",
    "{0}, y",
    "y, y",
    "y[:1], {0}",
    "y[:1], y[:1]",
    "y[0], y[1]",
]
CLIPS += [
    "np.nan, {0}",
    "{0}, np.nan",
    "y[:, None][:1], 5",
    "5, 2",
    "np.array({0}), np.float64(2)",
    "y[2], np.inf",
    "x, x",
]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "F", "i4", "?"])
def test_clip_at_zeros_of_both_signs_and_nans(dtype):
    values = [-0.0, 0.0, 1, 7, -3, np.nan, -np.nan, np.inf, -np.inf, 5]
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = np.array(values * 3).astype(dtype)
        y = np.array([0.0, -0.0, np.nan, 1, 2] * 6).astype(dtype)
    for some in (
        slice(None),
        slice(0, 1),
        slice(None, None, 2),
        slice(None, None, -3),
        slice(5, 7),
    ):
        lines = [
            f"np.clip(x, {bounds.format(zero)})" for bounds in CLIPS for zero in ("0.0", "-0.0")
        ]
        lines += [
            "x.clip(0, 5) + 1",
            "x[0].clip(0, 1)",
            "np.clip(x[0], -0.0, 0.0)",
            "np.clip(x[0], y, y)",
        ]
        a, b = x[some], np.concatenate([y[some], y])[: len(x[some])]
        good = []
        for line in lines:
            try:
                eval(line, {"np": np, "x": a, "y": b})
                good.append(line)
            except (IndexError, TypeError, OverflowError):
                continue
        check(function(*good), a, b)


def test_order_of_complex_scalars_has_no_rule_for_nans():
    numbers = [complex(a, b) for a in (0.0, 1, np.nan, -np.inf) for b in (-0.0, 2, np.nan, np.inf)]
    comparisons = "x[0] > y[1], x[0] <= y[1], x[0] == y[1], x[0] < 0, x[0] >= 1j, x.sum() > y.sum()"
    for a in numbers:
        x, y = np.array([a, 1]), np.array([numbers[5], numbers[3]])
        check(function(comparisons, "x > y, x <= 1", "x * 2"), x, y, captured=False)
        check(function("x[0] < y[0], y[1] > x[0]", "x + y"), x, y.astype("F"), captured=False)


@pytest.mark.parametrize("dtype", DTYPES[:9])
def test_fresh_arrays_of_an_order_with_axes_of_one_element(dtype):
    x = array(dtype, (9, 1))
    lines = [f"x.astype('{to}', order='{order}')" for to in "efdlD" for order in "CFAK"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(function(*lines, "x.T.astype('e', 'F')", "x + x"), x, array("f2", (3, 4)))
        check(function("x.astype('d', 'F') + 1", "y.astype('d', 'F')"), x, array("f2", (3, 4)))


@pytest.mark.parametrize(
    "values", [[1.5, 2, 0, -3], [np.nan, 3, -0.0, 1], [np.inf, 0, 1, 2], [0.1, -7.7, 6e-8, 65504]]
)
def test_half_numbers_as_pythons(values):
    def total(x, y):
        total = 0.0
        for i in range(len(x)):
            total += float(x[i])
        return (total, x * 2) if x[0] > 0.5 and x[1] else (x, max(float(x[0]), 1.0))

    x = np.array(values, "f2")
    with np.errstate(all="ignore"):
        check(
            function("float(x[0]) + 1, bool(x[2]), x[1].item() * 2, x.sum() * 2.0", "x * 2"), x, x
        )
        check(
            function("int(x[1]), round(float(x[0]), 2), f'{float(x[1]):.2f}'", "x * 2"),
            x,
            x,
            captured=False,
        )
        check(total, x, x, captured=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_dtypes_alone_tell(dtype):
    lines = [
        "t = np.result_type(x, y)",
        "u = np.result_type(x, 3.0, np.int8)",
        "np.zeros(3, t), t, u, np.result_type(x, float(y[0, 0])), np.result_type(x[x == x], y)",
        "np.can_cast(x, t), np.can_cast(x.dtype, 'f4'), np.common_type(y)",
        "x.astype(u) + 1, np.iscomplexobj(x), np.isrealobj(y)",
    ]
    for other in ("f2", "i8", "f8", "u1"):
        check(function(*lines), array(dtype), array(other), captured=False)
    check(
        function("z = x.astype(np.result_type(x, np.float16)) + 1", "z"),
        array(dtype),
        array("f4"),
        whole=True,
    )


def _apart(x, y):
    a, b = x * 2, x * 2
    return a @ b.T, a.T @ b


def _apart_inline(x, y):
    return (x - 1.5) @ (x - 1.5).T, np.matmul((y + x).T, y + x)


def _absolute_twice(x, y):
    a = np.abs(x)
    return a @ np.abs(a).T


def _written(x, y):
    a, b = np.empty_like(x), np.empty_like(y)
    a[...] = x
    b[:] = y + 1
    return a @ x.T, x @ a.T, a @ a.T, b @ b.T, b.T @ b


def _chosen(x, y):
    z = y if x.sum() > 0 else x
    return z @ y.T, x @ z.T, z @ z.T, z + 1


def _chosen_dot(x, y):
    z = y if x.sum() > 0 else x
    return z.dot(y.T), np.dot(x, z.T), z.dot(z.T), z + 1


def _chosen_steps(x, y):
    z = y if x.sum() > 0 else x
    return (
        np.inner(z, y),
        np.tensordot(x, z, ((1,), (1,))),
        np.einsum("ij,kj->ik", z, y, optimize=True),
        np.linalg.multi_dot([y, z.T]),
        z + 1,
    )


def _chosen_stacked(x, y):
    z = y if x.sum() > 0 else x
    return z.reshape(4, 25, 20) @ y.reshape(4, 25, 20).transpose(0, 2, 1), z + 1


def _same(x, y):
    a = x * 2
    b = a
    c = x.reshape(-1).reshape(100, 20)
    return a @ b.T, c @ x.T, x.copy() @ x.T, y.T @ y


@pytest.mark.parametrize(
    "f",
    [
        _apart,
        _apart_inline,
        _absolute_twice,
        _written,
        _chosen,
        _chosen_dot,
        _chosen_steps,
        _chosen_stacked,
        _same,
    ],
)
def test_a_matrix_times_the_transpose_of_another_is_not_times_its_own(f):
    """BLAS does the two in different ways, with different bits."""
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((100, 20)), rng.standard_normal((100, 20))
    x = x - x.mean() + 0.1
    options = {"options": {"plan_always": True}}
    check(f, x, y, also=((-x, y), (x, x), (-x, -x), (x, y)), options=options)
