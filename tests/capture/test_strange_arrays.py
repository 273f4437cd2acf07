"""Arrays that are not compiled, mixed with plain ones in one function: a break with a code of its own."""

import contextlib

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


class Tagged(np.ndarray):
    """A subclass that notes where it has been."""

    def __array_finalize__(self, origin):
        self.tag = getattr(origin, "tag", 0) + 1


class Meters:
    """Overrides both protocols."""

    def __init__(self, values):
        self.values = values

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [i.values if isinstance(i, Meters) else i for i in inputs]
        return Meters(getattr(ufunc, method)(*plain, **kwargs))

    def __array_function__(self, function, types, args, kwargs):
        return function.__name__, [type(arg).__name__ for arg in args]


def texts(kind):
    return np.array(["b", "a", "c"], kind)


STRUCTURED = np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")])
DATES = np.array(["2020-01-01", "2021-06-01", "2019-03-01"], "M8[D]")
MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
OBJECTS = np.array([1, 2.5, 3 + 1j], object)

# name: the code, and each with a plain array x: what is done with the strange one, s
CASES = {
    "object": ("PC0033", OBJECTS),
    "str": ("PC0034", texts("U3")),
    "bytes": ("PC0034", texts("S2")),
    "string": ("PC0034", texts(np.dtypes.StringDType())),
    "datetime": ("PC0035", DATES),
    "timedelta": ("PC0035", DATES - DATES[0]),
    "structured": ("PC0036", STRUCTURED),
    "longdouble": ("PC0037", np.array([1, 2, 3], np.longdouble) / 3),
    "clongdouble": ("PC0037", np.array([1, 2j, 3], np.clongdouble) / 3),
    "longlong": ("PC0055", np.array([1, 2, 3], np.longlong)),
    "ulonglong": ("PC0055", np.array([2**63, 2, 3], np.ulonglong)),
    "swapped": ("PC0038", np.array([1.5, 2.5, 3.5], ">f8")),
    "swapped integers": ("PC0038", np.array([1, 2, 3], ">i2")),
    "subclass": ("PC0007", np.array([1.0, 2.0, 3.0]).view(Tagged)),
    "matrix": ("PC0007", np.array([[1.0, 2.0]]).view(np.matrix)),
    "masked": ("PC0039", MASKED),
    "overrides": ("PC0040", Meters(np.arange(3.0))),
}


def operators(x, s):
    y = x * 2 + 1
    z = s == s
    return y + 1, z


def added(x, s):
    y = x[0, :3] * 2 + 1
    return np.add(s, s), y - 1


def with_plain(x, s):
    y = x[0, 0] * 2 + 1
    return y * s, np.exp(x)


def indexed(x, s):
    y = np.sin(x) + 1
    first = s[0]
    rest = s[1:]
    return y.sum(), first, rest


def function(x, s):
    y = x - x.mean()
    return np.concatenate([s, s]), y * 2


def reduced(x, s):
    y = x - x.mean()
    return np.max(s), y * 2


def method(x, s):
    y = x + 1
    return s.copy(), y * 2, s.shape, s.dtype


def iterated(x, s):
    y = x + 1
    return [str(item) for item in s], y * 2


def written(x, s):
    y = x + 1
    s[0] = s[1]
    return y * 2, s


def only_carried(x, s):
    y = np.exp(x) * 2
    return {"s": s, "y": y}, len(s), s is None


USES = [operators, added, with_plain, indexed, function, reduced, method, iterated, written]


@pytest.mark.parametrize("use", [*USES, only_carried])
@pytest.mark.parametrize("name", CASES)
def test_same_as_plain(name, use):
    with np.errstate(all="ignore"):
        check(use, X, CASES[name][1], captured=False)


@pytest.mark.parametrize("name", CASES)
def test_own_code(name):
    """A ufunc names the kind that it is about, also where NumPy will raise."""
    code, strange = CASES[name]
    pycompile.reset()
    compiled = pycompile.compile(added)
    _C.report_begin()
    try:
        with contextlib.suppress(TypeError):
            compiled(X, strange)
    finally:
        records = _C.report_end()
    found = [item["code"] for record in records for item in record.get("breaks") or ()]
    assert code in found, found


def unaligned(a):
    return np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype)


def worked(x, values):
    return np.exp(x * 2 + 1).sum() + values[0] + len(values)


FIRST = {
    **{
        name: (s, [1])
        for name, (_, s) in CASES.items()
        if type(s) is np.ndarray and s.dtype.kind in "fci"
    },
    "unaligned": (unaligned(X), [1]),
    "axes": (np.ones((1,) * 60 + (4,)), [1]),
    "long list": (X, [1] * 20_000),
}


@pytest.mark.parametrize("name", FIRST)
def test_strange_at_first(name):
    """The guard of a break asks what made the argument strange: another one is captured."""
    pycompile.reset()
    compiled = pycompile.compile(worked)
    for _ in range(2):
        assert compiled(*FIRST[name]) == worked(*FIRST[name])
    _C.report_begin()
    try:
        assert compiled(X, [1]) == worked(X, [1])
    finally:
        records = _C.report_end()
    assert [(record["entry"], record["exit"]) for record in records] == [(0, "return")], records


def made_inside(x, kind):
    y = x + 1
    s = y.astype(kind)
    return s + s, y * 2


@pytest.mark.parametrize("kind", ["O", "g", "G", ">f8", "S8", "U4", "m8[s]"])
def test_made_inside(kind):
    check(made_inside, X, np.dtype(kind), captured=False)


def dtypes(x):
    y = x + 1
    return y, np.zeros(3, "g"), np.empty((2,), "M8[s]").shape, np.array(["a"]), np.array([None, 1])


def test_made_by_functions():
    check(dtypes, X, captured=False)
