"""f.precompile: the plan of a call that is not made."""

import numpy as np
import pytest

import pycompile
from pycompile import Array, counters, set_stance

DEFAULT = {"wait": False, "sample": True, "plan_always": False}


@pytest.fixture(autouse=True)
def _default():
    yield
    set_stance("default")


def check(function, given, real, whole=True, **settings):
    """The function is compiled for `given`, and the call with `real`, which is plain's, compiles nothing."""
    pycompile.reset()
    compiled = pycompile.compile(function, **settings)
    assert compiled.precompile(*given) is whole
    counters.reset()
    with set_stance("fail_on_recompile"):
        found, wanted = compiled(*real), function(*real)
    assert np.array_equal(found, wanted) and found.dtype == wanted.dtype
    assert compiled.stats()["plan_runs"] == 1 and counters["compiles"] == 0
    return compiled


def scaled(x, k):
    return np.sqrt(x) * k + 1


X = np.arange(600.0).reshape(20, 30)


def test_examples_and_arrays():
    check(scaled, (X, 2.0), (X + 1, 3.0))
    check(scaled, (Array((20, 30), float), 2.0), (X, 3.0))
    check(scaled, (Array((4, 8), "f4", "F"), 2.0), (np.ones((8, 4), "f4").T, 3.0))
    check(scaled, (Array((10, 15), float, X[::2, ::2].strides), 2.0), (X[::2, ::2], 3.0))
    check(scaled, (Array((30,), float, (-8,)), 2.0), (X[0, ::-1], 3.0))
    check(scaled, (Array(7, "i8"), 2.0), (np.arange(7), 3.0))


def test_in_the_default_mode_it_is_compiled_at_once():
    big = np.ones((300, 300))
    compiled = check(scaled, (Array(big.shape), 2.0), (big, 3.0), options=DEFAULT)
    assert compiled.stats()["compiles"] == 1


def test_it_waits_in_the_background_mode():
    check(scaled, (Array((31, 7)), 2.0), (np.ones((31, 7)), 3.0), mode="background")


def test_nothing_of_the_function_runs():
    seen = []

    def noisy(x, into):
        seen.append(1)
        into[0] = 5
        return x * 2

    compiled = pycompile.compile(noisy)
    into = np.zeros(3)
    assert compiled.precompile(np.ones(3), into) is True
    assert not seen and not into.any() and compiled.stats()["plan_runs"] == 0


def test_an_exception_of_the_functions_own_does_not_come():
    def failing(x, k):
        if k > 1:
            raise LookupError(k)
        return x * k

    compiled = pycompile.compile(failing)
    assert compiled.precompile(np.ones(3), 2) in (True, False)
    with pytest.raises(LookupError):
        compiled(np.ones(3), 2)


def test_behind_a_break():
    def broken(x):
        y = x * 2
        pycompile.graph_break()
        return y + 1

    compiled = pycompile.compile(broken)
    assert compiled.precompile(X) is False
    assert compiled.stats()["compiles"] == 1
    assert np.array_equal(compiled(X), broken(X)) and compiled.stats()["compiles"] == 2


def test_all_kinds_of_arguments():
    def many(x, /, y, *rest, k=3.0, **more):
        def inner():
            return x + y  # both are cells

        return inner() * k + sum(rest) + more["z"]

    given = (Array(4), Array(4), Array(4), Array(4))
    compiled = pycompile.compile(many)
    assert compiled.precompile(*given, z=Array(4)) is True
    real = [np.arange(4.0) * n for n in range(5)]
    with set_stance("fail_on_recompile"):
        found = compiled(*real[:4], z=real[4])
    assert np.array_equal(found, many(*real[:4], z=real[4]))
    for wrong in ((), (1, 2, 3)):
        with pytest.raises(TypeError, match="argument"):
            pycompile.compile(scaled).precompile(*wrong)


def test_arrays_in_containers_and_twice():
    def total(pairs, table):
        return sum(a * b for a, b in pairs) + table["bias"]

    x = np.arange(5.0)
    given = ([(Array(5), Array(5)) for _ in range(2)], {"bias": Array(5)})
    check(total, given, ([(x, x + 1), (x + 2, x + 3)], {"bias": x * 2}))

    def both(x, y):
        x[0] = 7
        return y + 1

    one = Array(5)
    compiled = pycompile.compile(both)
    assert compiled.precompile(one, one) is True
    with set_stance("fail_on_recompile"):
        assert compiled(x, x)[0] == 8


def test_methods_take_the_instance():
    class Model:
        def __init__(self):
            self.weight = np.ones(4)

        @pycompile.compile
        def forward(self, x):
            return x * self.weight

    model = Model()
    assert Model.forward.precompile(model, Array(4)) is True
    with set_stance("fail_on_recompile"):
        assert model.forward(np.ones(4)).sum() == 4


def test_what_is_not_compiled():
    assert pycompile.disable(scaled).precompile(X, 2.0) is False
    small = pycompile.compile(lambda a, b: a + b, options=DEFAULT)
    assert small.precompile(1, 2) is False and small(1, 2) == 3
    with pytest.raises(pycompile.GraphBreakError):
        pycompile.compile(lambda x: id(x), fullgraph=True).precompile(X)
    again = pycompile.compile(scaled)
    assert [again.precompile(X, 2.0) for _ in range(2)] == [True, True]
    assert again.stats()["compiles"] == 1


def test_recompiles_are_told_and_counted():
    f = pycompile.compile(scaled)
    f.precompile(X, 2.0)
    f.precompile(X.astype("f4"), 2.0)
    assert f.stats()["recompiles"] == 1 and f.stats()["plans"] == 2


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (((2.5,),), TypeError),
        ((None,), TypeError),
        ((-1,), ValueError),
        ((3, "no dtype"), TypeError),
        ((3, float, "A"), ValueError),
        (((3, 4), float, (8,)), ValueError),
    ],
)
def test_arrays_that_are_none(wrong, error):
    with pytest.raises(error):
        Array(*wrong)


def test_arrays_as_text():
    assert repr(Array((2, 3), "f4", "F")) == "pycompile.Array((2, 3), 'float32', layout='F')"
