"""What is said of a backend that fails, and which results it may give."""

import warnings

import numpy as np
import pytest

import pycompile


def roots(x):
    return np.sqrt(x) * 2 + 1


def raises(graph, inputs):
    raise ZeroDivisionError("in the backend")


def raises_when_called(graph, inputs):
    return lambda *arrays: 1 / 0


def gives_no_list(graph, inputs):
    return lambda *arrays: 3


def gives_too_many(graph, inputs):
    return lambda *arrays: [np.zeros(4)] * 2


def gives_another_shape(graph, inputs):
    return lambda *arrays: [np.zeros(3)]


def gives_another_dtype(graph, inputs):
    return lambda x: (np.zeros(x.shape, np.float32),)


def gives_other_strides(graph, inputs):
    return lambda x: [np.zeros(2 * len(x))[::2]]


def gives_an_array(graph, inputs):
    return lambda x: np.zeros(len(x))


def gives_nothing(graph, inputs):
    return lambda x: None


def takes_nothing():
    return None


@pytest.mark.parametrize(
    ("backend", "text"),
    [
        (raises, "backend raises raised ZeroDivisionError: in the backend; the function runs"),
        (takes_nothing, "backend takes_nothing raised TypeError"),
        (raises_when_called, "backend raises_when_called made raised ZeroDivisionError: div"),
        (gives_nothing, "gives_nothing made returned NoneType, not a list of the graph's 1 o"),
        (gives_no_list, "gives_no_list made returned int, not a list of the graph's 1 output;"),
        (gives_an_array, "made returned numpy.ndarray, not a list of the graph's 1 output;"),
        (gives_too_many, "made returned 2 results, and the graph has 1 output;"),
        (
            gives_another_shape,
            "made returned as result 0 float64[3] with strides (8), and that output of the "
            "graph is float64[4] with strides (8);",
        ),
        (gives_another_dtype, "float32[4] with strides (4), and that output of the graph is fl"),
        (gives_other_strides, "float64[4] with strides (16), and that output of the graph is flo"),
    ],
)
def test_backend_that_fails(backend, text):
    f = pycompile.compile(roots, backend=backend)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert (f(np.ones(4)) == 3).all()
        assert (f(np.ones(5)) == 3).all()
    assert [w.category for w in caught] == [pycompile.PycompileWarning]
    assert text in caught[0].message.details
    assert caught[0].filename == __file__


def test_a_backend_may_decline():
    """None leaves the graph to CPython, without a warning, and is not asked again for such calls."""
    asked = []
    f = pycompile.compile(roots, backend=lambda graph, inputs: asked.append(len(inputs)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert (f(np.ones(4)) == 3).all()
    assert asked == [1]
    f = pycompile.compile(roots, backend=lambda graph, inputs: None, fullgraph=True)
    with pytest.raises(pycompile.BackendError, match="declined the graph"):
        f(np.ones(4))


@pytest.mark.parametrize("made", [3, [np.zeros(4)]])
def test_backend_that_makes_nothing_to_call(made):
    f = pycompile.compile(roots, backend=lambda graph, inputs: made)
    for _ in range(2):
        with pytest.raises(
            pycompile.BackendError, match="backend .*<lambda> must return a callable, or None"
        ):
            f(np.ones(4))


def test_what_the_program_raises_is_no_failure_of_a_backend():
    def index(x, i):
        return np.sqrt(x - 2)[i] + x.sum()

    f = pycompile.compile(index, backend="eager")
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", pycompile.PycompileWarning)
        f(np.arange(3.0), np.array([0]))
        with pytest.raises(IndexError):
            f(np.arange(3.0), np.array([7]))
