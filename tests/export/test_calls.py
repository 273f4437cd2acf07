"""Calls of one function in all ways in which it may be called: what warns, how tensors lie."""

import inspect
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pycompile
from pycompile import Array

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


def apart(x, y):
    return x[:, None] * y, x + x.sum()


def angles(x, y):
    return np.radians(x), np.deg2rad(y), np.degrees(y), np.rad2deg(x)


def extremes(x):
    y = x * np.float32(0.5)
    running = np.maximum.accumulate(y), np.minimum.accumulate(y)
    return y.max(), y.min(), np.fmax(y, 1), y.argmax(), *running


WHOLE = {
    "angles": (angles, (Array("n"), Array("n", np.float32))),
    "three_steps": (three_steps, (Array("n"), Array("n"))),
    "halved": (halved, (Array("n"), float)),
    "extremes_f8": (extremes, (Array("n"),)),
    "extremes_f4": (extremes, (Array("n", np.float32),)),
    "apart": (apart, (Array("n"), Array("m"))),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", str(Path(__file__).parent.parent / "quick_cc.sh"))
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
    with pytest.raises(ValueError, match="argument y lies in another way along axis 0: -8 bytes"):
        library.apart(x, y[::-1])


def test_angles_have_numpys_bits(library):
    x = np.random.default_rng(3).standard_normal(1000) * 200
    assert same(library.angles(x, x.astype(np.float32)), angles(x, x.astype(np.float32)))
