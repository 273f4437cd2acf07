"""The comparison itself: it must see each kind of difference."""

import warnings

import numpy as np
import pytest
from differential import copied, differences, observe


def seen(function, *args):
    return observe(function, *copied((args, {}), {}))


def lines(first, second, *args):
    return "\n".join(differences(seen(first, *args), seen(second, *args)))


def test_equal_functions_do_not_differ():
    def f(x, box):
        box.append(x[1:])
        return x.T, box, float(x.sum()), {"a": x}

    assert lines(f, f, np.arange(6.0).reshape(2, 3), [1]) == ""


def test_nan_payloads_and_signed_zeros_are_seen():
    other = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert "bits" in lines(lambda: np.array([np.nan]), lambda: other)
    assert "bits" in lines(lambda: 0.0, lambda: -0.0)


def test_layout_is_seen():
    x = np.ones((4, 4))
    assert "strides" in lines(lambda x: x + 1, lambda x: (x + 1).T.copy().T, x)
    assert "OWNDATA" in lines(lambda x: x.copy(), lambda x: x.copy()[:], x)
    assert "dtype" in lines(lambda x: x, lambda x: x.astype(np.float32), x)


def test_aliasing_is_seen():
    x = np.ones(4)
    assert "identity" in lines(lambda x: x, lambda x: x.copy(), x)
    assert "memory shared" in lines(lambda x: x[:3], lambda x: x[1:], x)


def test_mutation_and_order_of_keys_are_seen():
    def plus(x):
        x += 1

    assert "arguments" in lines(plus, lambda x: None, np.ones(3))
    assert "keys" in lines(lambda: {"a": 1, "b": 2}, lambda: {"b": 2, "a": 1})


def test_exceptions_are_seen_with_their_lines():
    def early(x):
        raise ValueError("no")

    def late(x):
        x += 1
        raise ValueError("no")

    found = lines(early, late, 1)
    assert "traceback" in found and "text" not in found


def test_warnings_and_output_are_seen():
    def loud():
        warnings.warn("w", stacklevel=1)
        print("p")

    found = lines(loud, lambda: None)
    assert "warnings" in found and "stdout" in found


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(24).reshape(2, 3, 4)[:, ::-1, 1:3],
        lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        lambda: np.frombuffer(b"abcdefgh", np.int32),
        lambda: np.zeros((0, 3)),
        lambda: np.array(3.0),
        lambda: np.zeros(33, np.uint8)[1:].view(np.float64),
        lambda: np.broadcast_to(np.arange(3), (4, 3)),
    ],
)
def test_copies_keep_the_layout(make):
    x = make()
    y, z = copied((x, x), {})
    assert y is z and y is not x
    assert y.strides == x.strides and y.dtype == x.dtype
    assert y.flags.writeable == x.flags.writeable and y.flags.aligned == x.flags.aligned
    assert y.tobytes() == x.tobytes() and not np.shares_memory(x, y)


def test_copies_keep_who_shares_what():
    x = np.arange(10.0)
    y, z = copied((x[1:], x[:-1]), {})
    assert np.shares_memory(y, z)
    y[0] = 100.0
    assert z[1] == 100.0 and x[1] == 1.0
