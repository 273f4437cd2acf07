"""torch.compile and pycompile in one process: both use the frame evaluation hook."""

import numpy as np
import pytest

import pycompile

torch = pytest.importorskip("torch")


def ours(x):
    return np.tanh(x * 2) + 1


def theirs(x):
    return torch.sin(x * 2) + 1


def both(x):
    inner = torch.from_numpy(ours(x))
    return theirs(inner).numpy()


X = np.linspace(0.0, 1.0, 50)


def test_each_on_its_own():
    one, two = pycompile.compile(ours), torch.compile(theirs, backend="eager")
    for _ in range(3):
        assert one(X).tobytes() == ours(X).tobytes()
        assert torch.equal(two(torch.from_numpy(X)), theirs(torch.from_numpy(X)))


def test_ours_calls_theirs():
    inner = torch.compile(theirs, backend="eager")

    @pycompile.compile
    def f(x):
        y = x * 2 + 1
        return inner(torch.from_numpy(y)).numpy() + 1

    wanted = theirs(torch.from_numpy(X * 2 + 1)).numpy() + 1
    for _ in range(3):
        assert f(X).tobytes() == wanted.tobytes()


def test_theirs_calls_ours():
    inner = pycompile.compile(ours)

    @torch.compile(backend="eager")
    def f(x):
        return torch.from_numpy(inner(x.numpy())) * 2

    # torch.compile looks through functions, and np.tanh becomes torch.tanh.
    @torch.compile(backend="eager")
    def plain(x):
        return torch.from_numpy(ours(x.numpy())) * 2

    wanted = plain(torch.from_numpy(X))
    for _ in range(3):
        assert torch.equal(f(torch.from_numpy(X)), wanted)


def test_ours_still_compiles_after_theirs():
    from differential import compiled_calls

    torch.compile(theirs, backend="eager")(torch.from_numpy(X))
    pycompile.reset()
    one = pycompile.compile(ours)
    one(X)
    one(X)
    assert compiled_calls(one) > 0
