"""Errors known while capturing, with the text that NumPy and CPython give them, followed into a handler."""

import abc
import warnings

import numpy as np
import pytest
from differential import check

import pycompile

X = np.arange(12.0).reshape(3, 4)
I = np.arange(12)


class Slots:
    __slots__ = ("a",)


class Property:
    @property
    def p(self):
        return 1

    q = property(None, None)


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self): ...


class NoBool:
    def __bool__(self):
        return 3


class Plain:
    pass


class OwnInit:
    def __init__(self):
        pass


def two(a, b, *, c=1):
    return a + b * c


BODIES = {
    "add": "z = x + y[:, :3]",
    "iadd": "x += y[0, :2]",
    "mm": "z = x @ y",
    "mmi": "x @= y",
    "cmp": "z = x < y[:2, :3]",
    "ufn": "z = np.add(x, y[0, :2])",
    "out": "np.add(x, 1, out=y[:2])",
    "resh": "z = x.reshape(5, 5)",
    "nresh": "z = np.reshape(x, (7,))",
    "cat": "z = np.concatenate([x, y[:, :2]])",
    "stack": "z = np.stack([x, y[0]])",
    "idx": "z = x[7]",
    "idx2": "z = x[0, 0, 0]",
    "idxf": "z = x[1.5]",
    "setidx": "x[5] = 1",
    "setshape": "x[0] = y[:, 0]",
    "axis": "z = x.sum(axis=3)",
    "naxis": "z = np.sum(x, axis=(0, 0))",
    "emax": "z = x[:0].max()",
    "eargmax": "z = np.argmax(x[:0])",
    "dot": "z = np.dot(x, y)",
    "bcast": "z = np.broadcast_to(x, (2, 2))",
    "tr": "z = x.transpose(0, 0)",
    "tr2": "z = np.transpose(x, (0, 1, 2))",
    "sq": "z = np.squeeze(x, axis=0)",
    "ein": "z = np.einsum('ij,jk->ik', x, y)",
    "whr": "z = np.where(x > 1, x, y[0, :2])",
    "negdim": "z = np.zeros((-1, 2))",
    "bits": "z = x & y",
    "inv": "z = ~x",
    "iaddi": "i += 1.5",
    "powi": "z = i ** -1",
    "split": "z = np.split(x, 5)",
    "item": "z = x.item()",
    "ffloat": "z = float(x)",
    "truth": "z = 1 if x else 2",
    "ln": "z = len(x[0, 0])",
    "expand": "z = np.expand_dims(x, 5)",
    "itr": "a, b = x",
    "iter0": "for q in x[0, 0]: pass",
    "vst": "z = np.vstack([x, y[:, :2]])",
    "matmul1": "z = np.matmul(x, y)",
    "tens": "z = np.tensordot(x, y, axes=1)",
    "mn": "z = min([])",
    "idxl": "z = [1, 2].index(3)",
    "rem": "z = [1, 2].remove(3)",
    "dpop": "z = {}.pop('k')",
    "dpopitem": "{}.popitem()",
    "lpop": "[].pop()",
    "args1": "z = two(1)",
    "args2": "z = two(1, 2, 3)",
    "args3": "z = two(1, 2, d=3)",
    "args4": "z = two(1, 2, a=3)",
    "args5": "z = two()",
    "args6": "z = two(*[1], **{'c': 2})",
    "name": "z = nowhere",
    "unp": "a, b = [1, 2, 3]",
    "unp2": "a, *b, c = [1]",
    "toint": "z = int('x')",
    "tofloat": "z = float('x y')",
    "attr": "z = Plain().a",
    "slot": "z = Slots().a",
    "slotset": "Slots().b = 1",
    "dela": "del Plain().a",
    "prop": "z = Property().q",
    "propset": "Property().p = 1",
    "propdel": "del Property().p",
    "abst": "z = Abstract()",
    "bl": "z = 1 if NoBool() else 2",
    "ex": "z = Plain(1)",
    "ex3": "z = OwnInit(1)",
    "ordr": "z = Plain() < Plain()",
    "tadd": "z = 1 + 'a'",
    "none": "z = None + 1",
    "call": "z = (3)()",
    "sub": "z = (3)[0]",
    "key": "z = {'a': 1}['b']",
    "lidx": "z = [1][4]",
    "tidx": "z = (1,)['a']",
    "nxt": "z = next(iter([]))",
    "attrm": "z = [].foo",
    "attrs": "z = 'a'.foo",
    "arrattr": "z = x.foo",
    "rng": "z = range(1, 2, 0)",
    "chrr": "z = chr(-1)",
    "zero": "z = 1 / 0",
    "zerom": "z = 1 % 0",
    "shift": "z = 1 << -1",
    "dec": "z = b'\\xff'.decode()",
    "fmt": "z = '{}'.format()",
    "fmt2": "z = '%d' % 'a'",
    "fmt3": "z = f'{1:q}'",
    "uns": "z = {[]: 1}",
    "sset": "{1}.remove(2)",
    "srt": "z = sorted([1, 'a'])",
    "sm": "z = sum(['a'])",
    "iterr": "z = iter(3)",
    "ln2": "z = len(3)",
    "ga": "z = getattr(3, 'foo')",
}


def raises(body):
    """A function over arrays in which `body` raises and a handler goes on."""
    lines = [
        "def function(x, y, i):",
        "    z = x * 2 + 1",
        "    try:",
        f"        {body}",
        "    except Exception as e:",
        "        z = z - 1",
        "        return z, type(e).__name__, str(e)",
        "    return z",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile("\n".join(lines), __file__, "exec"), globals(), names := {})
    return names["function"]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_handled(body):
    check(raises(body), X, X + 1, I, whole=True)


def uses_late(x):
    y = x * 2 + 1
    try:
        return y + late
    except NameError as e:
        return y - 1, e.name


def test_a_name_that_comes_later():
    check(uses_late, X, whole=True)
    function = raises("return late + x")
    compiled = pycompile.compile(function)
    assert compiled(X, X, I)[1] == "NameError"
    assert compiled(X, X, I)[1] == "NameError"
    function.__globals__["late"] = 5
    try:
        np.testing.assert_array_equal(compiled(X, X, I), X + 5)
    finally:
        del function.__globals__["late"]
    assert compiled(X, X, I)[1] == "NameError"


def shape_or_not(x, y):
    try:
        z = x + y
    except ValueError as e:
        z = x * 2
        return z, str(e)
    return z * 3


def test_other_shapes():
    check(shape_or_not, X, X, also=((X, X[:2]), (X[:2], X[:2]), (X, X[0])), whole=True)


def index_or_not(x, i):
    try:
        return x[i] * 2
    except IndexError:
        return x * 0


def test_other_indices():
    check(index_or_not, X, 1, also=((X, 3), (X, -3), (X, -4), (X[:1], 1)))


def uncaught(x, y):
    z = x * 2 + 1
    return z + y


def test_uncaught():
    check(uncaught, X, X[:, :3])


def values(x, p):
    """What depends on elements is not told by stand-ins."""
    y = x * 2 + 1
    try:
        y = y + np.linalg.inv(p)[0, 0]
    except np.linalg.LinAlgError:
        y = y - 1
    return y


def test_errors_of_elements():
    check(values, X, np.eye(3), also=((X, np.ones((3, 3))),))


def test_args_of_two_errors_are_two_tuples():
    def f(x):
        seen = []
        for name in ("a", "a"):
            try:
                {}[name]
            except KeyError as e:
                seen.append((e, e.args))
            x = x * 2
        return x, [args for _, args in seen]

    check(f, np.arange(3.0))
