"""Calls of one function in all ways in which it may be called: what warns, how tensors lie."""

import inspect
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pycompile
from pycompile import Array, Dim
from pycompile.exported.wrapper import _Tensor as tensor_type
from pycompile.exported.wrapper import _tensor as tensor

sys.path.insert(0, str(Path(__file__).parent))

from test_export import loaded, same  # noqa: E402


def three_steps(x, y):
    """Three kernels, of which each may raise a flag, and a call that NumPy hides the flags of."""
    centred = x - x.sum()
    best = x.argmax()
    scaled = centred / y.sum()
    return scaled * x.sum(), best, np.exp(scaled.sum())


def halved(x, low):
    """A loop of steps: any of its turns may raise a flag."""
    turns = 0
    while x.sum() > low:
        x = x * 0.5 - x.mean() * 0.1
        turns += 1
    return x, turns, 1 / (x[0] - x[0])


def doubled(x):
    return x * 2


def apart(x, y):
    return x[:, None] * y, x + x.sum()


def angles(x, y):
    return np.radians(x), np.deg2rad(y), np.degrees(y), np.rad2deg(x)


def extremes(x):
    y = x * np.float32(0.5)
    running = np.maximum.accumulate(y), np.minimum.accumulate(y)
    return y.max(), y.min(), np.fmax(y, 1), y.argmax(), *running


def laid(x, y):
    """Of arrays in Fortran's order: how results lie, views, reductions, and a write."""
    y += x.sum(axis=0)[:3].sum()
    return x * 2 + 1, x.T + 1, x[1:] - x[:-1], x.sum(axis=1), x.ravel(), y.max(axis=0)


def extremes_of_rows(x):
    """Beside what a flag tells of: it is watched."""
    top = x.max(axis=1, keepdims=True)
    several = x.max(axis=1) + 1, x - top, x.max() - x.min(), x.mean() + x.max(), np.ptp(x)
    return *several, np.abs(x).max() > 1, np.minimum(x, top) - 1, x.min(0) / 2


def in_order(k, small, x):
    return np.sort(k), np.sort(small, axis=0), x[k > 0]


def between(k, square):
    return np.full(k, 1.5), square + square.T


COLUMNS = Array(("r", Dim("c", min=3)), float, "F"), Array(("r", 3), np.float32, "F")
WHOLE = {
    "laid": (laid, COLUMNS),
    "angles": (angles, (Array("n"), Array("n", np.float32))),
    "three_steps": (three_steps, (Array("n"), Array("n"))),
    "halved": (halved, (Array("n"), float)),
    "extremes_f8": (extremes, (Array("n"),)),
    "extremes_of_rows_f8": (extremes_of_rows, (Array(("r", "c")),)),
    "extremes_of_rows_f4": (extremes_of_rows, (Array(("r", "c"), np.float32),)),
    "in_order": (in_order, (Array("n", int), Array(("r", "c"), np.int8), Array("n", complex))),
    "between": (between, (int, Array(("n", "n")))),
    "extremes_f4": (extremes, (Array("n", np.float32),)),
    "apart": (apart, (Array("n"), Array("m"))),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", str(Path(__file__).parent / "quick_cc.sh"))
        first = WHOLE["apart"]
        name = str(tmp_path_factory.mktemp("calls") / "calls")
        path = pycompile.export(first[0], name, first[1], functions=WHOLE)
    return loaded(path)


def lines(function, said):
    """The numbers of the function's lines that have the text."""
    source, first = inspect.getsourcelines(function)
    return [first + i for i, line in enumerate(source) if said in line]


def told(function, *args):
    """What it gives, and the texts of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return function(*args), [str(each.message) for each in caught]


@pytest.mark.parametrize(("last", "said"), [(0, "divide by zero"), (-1e-6, "overflow")])
def test_the_step_that_warns_is_told(library, last, said):
    """Of few bytes a call is made again to find the step, of many each step is looked at."""
    texts = []
    for n in (5, 9000):
        x, y = np.linspace(1, 2, n), np.zeros(n)
        y[-1] = last
        found, known = told(library.three_steps, x, y)
        assert same(found, told(three_steps, x, y)[0])
        assert len(known) == 1 and said in known[0]
        texts.append(known[0])
    assert texts[0] == texts[1]


def test_flags_that_numpy_hides_warn_of_nothing(library):
    x = np.array([1.0, np.nan, 3.0])
    found, texts = told(library.three_steps, x, np.ones(3))
    assert same(found, told(three_steps, x, np.ones(3))[0]) and texts == []


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_extremes_of_nans_warn_of_nothing(library, dtype):
    """The products are watched, and NumPy's comparisons raise nothing."""
    exported = getattr(library, f"extremes_{dtype}")
    for n in (1, 3, 8, 40):
        x = np.ones(n, dtype)
        x[n // 2 :] = np.nan
        found, texts = told(exported, x)
        wanted, nothing = told(extremes, x)
        assert same(found, wanted) and texts == nothing == []


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_extremes_of_rows_with_nans_warn_of_nothing(library, dtype):
    exported = getattr(library, f"extremes_of_rows_{dtype}")
    for shape in ((2, 2), (3, 5), (7, 40)):
        x = np.ones(shape, dtype)
        x[1:, ::2] = np.nan
        found, texts = told(exported, x)
        wanted, nothing = told(extremes_of_rows, x)
        assert same(found, wanted) and texts == nothing == []


def test_ints_in_order_whatever_they_were(library):
    rng = np.random.default_rng(7)
    for n in (2, 17, 300, 4000):
        x = rng.standard_normal(2 * n).view(complex)
        small = rng.integers(-99, 99, (n, 3)).astype("i1")
        teeth = np.arange(n) * (n // 2 + 1) % n  # few are in order
        for k in (rng.integers(-n, n, n), np.arange(n)[::-1].copy(), teeth, teeth % 3):
            assert same(library.in_order(k, small, x), in_order(k, small, x))


def test_texts_say_what_is_wanted_and_what_came(library):
    square = np.ones((3, 3))
    for args, text in (
        ((-5, square), "argument k is -5, not 0 or more"),
        ((2, np.ones((3, 4))), "square has the length 4 along axis 1, and square 3 along axis 0"),
        ((2, np.ones((0, 0))), "square has the length 0 along axis 0, not 1 at least"),
    ):
        with pytest.raises(ValueError, match=text):
            library.between(*args)
    with pytest.raises(ValueError, match="x has the length 0 along axis 0, not 2 at least"):
        library.laid(np.ones((0, 3)), np.ones((0, 3), "f4"))


def test_the_header_says_how_arguments_and_results_lie(library):
    text = Path(library.__file__).with_suffix(".h").read_text()
    laid = text[text.index("float64[r, c], Fortran order") : text.index("calls_laid(")]
    for line in (
        "1 y: float32[r, 3], Fortran order, written",
        "Lengths: r 2 or more, c 3 or more",
        "0 float64[r, c]",
        "1 float64[c, r]",
        "2 float64[r - 1, c]",
        "4 float64[r*c]",
    ):
        assert f"   {line}" in laid, laid
    assert "0 int64[n]" in text and "2 complex128[up to n]" in text and "0 float64[k]" in text


def test_an_offset_does_not_wrap(library):
    x, y = np.ones(4), np.ones(3)
    tensors = (tensor_type * 2)(tensor(x), tensor(y))
    tensors[0].data += 8
    tensors[0].byte_offset = 2**64 - 8
    out = (tensor_type * 2)(tensor(np.zeros((4, 3))), tensor(np.zeros(4)))
    assert library.apart._call(tensors, 2, out, 2) == -1
    assert b"byte_offset of 18446744073709551608" in library.apart._error()


@pytest.mark.parametrize("low", [1e-3, 1e-300])
def test_loops_of_few_and_of_many_turns_tell_their_line(library, low):
    x = np.array([1.0, 2.0, 4.0])
    found, texts = told(library.halved, x, low)
    assert same(found, told(halved, x, low)[0])
    assert len(texts) == 1 and f":{lines(halved, 'x[0] - x[0]')[0]}" in texts[0]


def test_a_warning_leaves_nothing_for_the_next_call(library):
    x, y = np.ones(4), np.ones(4)
    assert told(library.three_steps, x, y * 0)[1]
    assert library.apart(x, y)[0].shape == (4, 4)
    assert library.apart._error() == b""


@pytest.mark.parametrize("n", [1, 4])
def test_strides_of_c_order_are_told_or_not(library, n):
    """As NumPy has them, and with any for an axis of one element."""
    x, y = np.arange(1.0, n + 1), np.arange(3.0)
    odd = np.lib.stride_tricks.as_strided(x, (n,), (8 if n > 1 else 800,))
    assert same(library.apart(odd, y), apart(x, y))
    with pytest.raises(
        ValueError, match="y is not in C order: its stride along axis 0 is -1 el.*, not 1"
    ):
        library.apart(x, y[::-1])


def test_angles_have_numpys_bits(library):
    x = np.random.default_rng(3).standard_normal(1000) * 200
    assert same(library.angles(x, x.astype(np.float32)), angles(x, x.astype(np.float32)))


def test_lengths_with_names_in_fortrans_order(library):
    rng = np.random.default_rng(4)
    for shape in ((64, 72), (3, 3), (5, 4)):
        x = rng.random(shape).copy("F")
        y = rng.random((shape[0], 3)).astype("f4", order="F")
        plain = y.copy("F")
        assert same(library.laid(x, y), laid(x, plain)) and same(y, plain), shape
    with pytest.raises(ValueError, match="argument x is not in Fortran's order"):
        library.laid(x.repeat(5, 0), y)


def test_what_an_example_has_by_chance_is_no_promise():
    """Strides that lengths do not tell."""
    for shape, strides in ((("n",), (16,)), (("n", 4), (64, 8)), ((4, "n"), (8, 32))):
        with pytest.raises(pycompile.ExportError, match="layout"):
            pycompile.export(halved, "/nowhere/none", (Array(shape, float, strides), float))


def test_a_length_that_has_to_be_known_is_a_reason():
    with pytest.raises(
        pycompile.ExportError, match="length 'n' of argument 'x' has to be a number"
    ):
        pycompile.export(doubled, "/nowhere/none", (Array(("n", 0)),))


@pytest.mark.parametrize("elementary", [None, "libm"])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tanh"])
def test_functions_of_complex_numbers_are_reasons(name, elementary):
    ufunc = getattr(np, name)
    for dtype in (np.complex64, complex):
        with pytest.raises(pycompile.ExportError, match=f"np.{name} of c.* has no C form"):
            pycompile.export(
                lambda z: ufunc(z), "/nowhere/none", (Array(3, dtype),), elementary=elementary
            )
