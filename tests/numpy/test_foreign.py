"""Ufuncs of other libraries in kernels of several threads."""

import re
from pathlib import Path

import numpy as np
import pytest
from differential import check

import pycompile

special = pytest.importorskip("scipy.special")

TABLE = Path(__file__).parents[2] / "csrc" / "arrays" / "foreign.def"
NAMES = re.findall(r'^FOREIGN\("scipy.special", "(\w+)"\)', TABLE.read_text(), re.M)
RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def as_found():
    state = special.geterr()
    yield
    special.seterr(**state)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_each_has_its_own_bits(name, dtype):
    ufunc = getattr(special, name)
    args = [RNG.uniform(-3, 3, 60_000).astype(dtype) for _ in range(ufunc.nin)]
    for x in args:
        x[:5] = 0.0, -0.0, np.inf, -np.inf, np.nan

    def function(*args):
        return ufunc(*args) * 2.0 + args[0]

    with np.errstate(all="ignore"):
        check(function, *args)


@pytest.mark.parametrize("action", ["ignore", "warn", "raise"])
def test_what_the_library_reports(action):
    """In a thread of the pool it would have other settings, and nobody to tell; a plan has no line
    to warn at."""

    def function(x):
        return special.ndtr(x * 1.0) + special.gammaln(x)

    x = RNG.uniform(1, 3, 200_000)
    special.seterr(all=action)
    check(function, x, captured=action == "ignore")
    for at in (0, 100_000, 199_999):
        x[at] = -1.0  # a singularity of gammaln
        compiled = pycompile.compile(function)
        for _ in range(3):
            if action == "raise":
                with pytest.raises(special.SpecialFunctionError):
                    function(x)
                with pytest.raises(special.SpecialFunctionError):
                    compiled(x)
            elif action == "warn":
                assert check(function, x, captured=False).warned
            else:
                assert compiled(x).tobytes() == function(x).tobytes()
        x[at] = 1.0


def test_flags_of_numpy_are_kept_beside_a_library_that_clears_them():
    def function(x):
        return special.ndtr(np.log(x)) * 2.0

    x = RNG.uniform(0.5, 3, 200_000)
    check(function, x)
    x[150_000] = 0.0
    compiled = pycompile.compile(function)
    for _ in range(2):
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            compiled(x)
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
            compiled(x)
